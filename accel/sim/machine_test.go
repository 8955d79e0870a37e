package sim

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/accel/acceltest"
)

func TestPresets(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Presets() {
		t.Run(m.Title, func(t *testing.T) {
			if m.Title == "" || m.About == "" || m.Workers < 1 || seen[m.Title] {
				t.Errorf("%+v", m)
			}
			seen[m.Title] = true
			p, err := Preset(m.Title)
			must(t, err)
			if p.Name() != "sim" || len(p.Devices) != len(m.Devices) {
				t.Errorf("%+v", p)
			}
			devs, err := p.Open()
			must(t, err)
			if len(devs) != len(m.Devices) {
				t.Fatalf("%d devices", len(devs))
			}
			if len(devs) == 0 {
				return
			}
			for _, d := range devs {
				if d.(*Device).Clock() != devs[0].(*Device).Clock() {
					t.Errorf("%s has a clock of its own", d.Name())
				}
				for _, o := range devs {
					if !d.Reaches(o.Memory()) {
						t.Errorf("%s does not reach %s", d.Name(), o.Name())
					}
				}
				must(t, d.Close())
			}
			acceltest.Run(t, p.Open, acceltest.Options{Faults: faults, Large: 1 << 20})
		})
	}
	m, err := Preset("gpu4MiB")
	must(t, err)
	if m.Devices[0].Capacity != 4<<20 {
		t.Errorf("%d bytes", m.Devices[0].Capacity)
	}
	// a preset is not changed by what is done to what Preset returned
	m.Devices[0].Capacity = 1
	if m, _ = Preset("gpu4MiB"); m.Devices[0].Capacity != 4<<20 {
		t.Error("a preset changes")
	}
}

func TestParse(t *testing.T) {
	m, err := Parse("sim:cpu2gpu1")
	must(t, err)
	if m.Title != "cpu2gpu1" || m.Workers != 2 || len(m.Devices) != 1 || m.Real {
		t.Errorf("%+v", m)
	}
	m, err = Parse("sim:cpu8gpu4:seed=3,late=0.5,jitter=0.25,clock=real,memory=4096")
	must(t, err)
	if o := m.Devices[3]; o.Seed != 3003 || o.Late != 0.5 || o.Jitter != 0.25 || !m.Real || o.Capacity != 4096 {
		t.Errorf("%+v", o)
	}
	m, err = Parse("sim:cpu4:clock=virtual")
	must(t, err)
	if m.Real {
		t.Errorf("%+v", m)
	}
	for text, want := range map[string]string{
		"sim:nosuch":                "there are cpu4, cpu2gpu1, cpu8gpu4, numa2, gpu4MiB",
		"sim":                       "there are cpu4",
		"sim:":                      "there are cpu4",
		"cpu4":                      "sim:NAME",
		"":                          "sim:NAME",
		"sim:cpu4:":                 `no setting ""; there are seed`,
		"sim:cpu4:x=1":              `no setting "x"; there are seed`,
		"sim:cpu2gpu1:seed=-1":      `seed cannot be "-1"`,
		"sim:cpu2gpu1:late":         `late cannot be ""`,
		"sim:cpu2gpu1:late=2":       "Late is 2",
		"sim:cpu2gpu1:jitter=NaN":   "Jitter is NaN",
		"sim:cpu2gpu1:clock=sun":    `clock cannot be "sun"`,
		"sim:cpu2gpu1:memory=-4096": "-4096 bytes",
		"sim:cpu2gpu1:memory=1e3":   `memory cannot be "1e3"`,
	} {
		if m, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, m, err, want)
		}
	}
}
