package bus

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machine makes devices on one virtual clock.
func machine(t testing.TB, options ...sim.Options) []accel.Device {
	t.Helper()
	m := sim.Machine{Devices: options}
	devices, err := m.Open()
	must(t, err)
	t.Cleanup(func() {
		for _, d := range devices {
			d.Close()
		}
	})
	return devices
}

// three returns three devices; two of them reach each other.
func three(capacity int64) []sim.Options {
	link := func(latency time.Duration, bandwidth float64) sim.Link {
		return sim.Link{Latency: latency, Bandwidth: bandwidth}
	}
	return []sim.Options{
		{Name: "a", Capacity: capacity, Async: true, Late: 0.5, Main: link(10*time.Microsecond, 1e9), Peers: map[string]sim.Link{"b": link(time.Microsecond, 5e8)}},
		{Name: "b", Capacity: capacity, Main: link(20*time.Microsecond, 1e8)},
		{Name: "c", Capacity: capacity, Main: link(0, 2.5e8)},
	}
}

// main is main memory.
func main() accel.Memory { return accel.NewHeap("ram", 1<<40) }

func TestMeasure(t *testing.T) {
	for _, capacity := range []int64{1 << 30, 4 << 10} {
		devices := machine(t, three(capacity)...)
		here := cpu.New(1 << 30) // the machine itself, when it is among them, has no link
		table, err := Measure("m", here.Memory(), append(devices, here))
		must(t, err)
		want := []Link{
			{"a", "b", time.Microsecond, 5e8},
			{"a", "ram", 10 * time.Microsecond, 1e9},
			{"b", "a", time.Microsecond, 5e8},
			{"b", "ram", 20 * time.Microsecond, 1e8},
			{"c", "ram", 0, 2.5e8},
			{"ram", "a", 10 * time.Microsecond, 1e9},
			{"ram", "b", 20 * time.Microsecond, 1e8},
			{"ram", "c", 0, 2.5e8},
		}
		if !slices.Equal(table.Links, want) {
			t.Errorf("with %d bytes: %v", capacity, table.Links)
		}
		for _, d := range devices {
			if m := d.Memory(); m.Allocated() != 0 {
				t.Errorf("%d bytes are left on %s", m.Allocated(), m.Name())
			}
		}
		if table.Machine != "m" || table.Main != "ram" || len(table.Devices) != 4 || table.Devices[0].Name != "a" || table.Devices[0].Arch != "cpu" || table.Devices[0].Memory != "a" || table.Devices[0].Model == "" || table.Devices[3] != (Device{"cpu", "cpu", "", "ram"}) {
			t.Errorf("%+v", table)
		}
	}
}

// On a device without a clock of its own our clock tells, and whatever it says makes
// sense.
func TestMeasureOurClock(t *testing.T) {
	for _, o := range []sim.Options{{Capacity: 1 << 20}, {Capacity: 1 << 20, Async: true}, {Capacity: 8}, {Capacity: 64}} {
		d, err := sim.New(o)
		must(t, err)
		table, err := Measure("m", main(), []accel.Device{d})
		must(t, err)
		if len(table.Links) != 2 {
			t.Errorf("%v", table.Links)
		}
		for _, l := range table.Links {
			if l.Latency < 0 || !(l.Bandwidth >= 0) || l.Time(1<<62) < 0 {
				t.Errorf("%v", l)
			}
		}
		must(t, d.Close())
	}
}

// A device that fails is missing, and the others are there.
func TestMeasureFails(t *testing.T) {
	for _, c := range []struct {
		what  string
		wound func(*sim.Device)
		links int // that are left
		way   string
	}{
		{"lost", (*sim.Device).Lose, 4, "from ram to a"},
		{"a copy", func(d *sim.Device) { d.FailCopy(sim.Nth(3)) }, 7, "from ram to a"},
		{"an allocation", func(d *sim.Device) { d.FailAlloc(sim.Next()) }, 7, "from ram to a"},
		{"lost meanwhile", func(d *sim.Device) { d.LoseWhen(sim.After(20)) }, 5, "from a to ram"},
	} {
		devices := machine(t, three(1<<20)...)
		c.wound(devices[0].(*sim.Device))
		table, err := Measure("m", main(), devices)
		if err == nil || !strings.Contains(err.Error(), c.way) || len(table.Links) != c.links {
			t.Errorf("%s: %v, %v", c.what, table.Links, err)
		}
		for _, d := range devices {
			if n := d.Memory().Allocated(); n != 0 {
				t.Errorf("%s: %d bytes are left on %s", c.what, n, d.Name())
			}
		}
	}
}

func TestTime(t *testing.T) {
	table, err := Measure("m", main(), machine(t, three(1<<20)...))
	must(t, err)
	for _, c := range []struct {
		from, to string
		bytes    int64
		want     time.Duration
		ok       bool
	}{
		{"ram", "ram", 1000, 0, true},
		{"ram", "a", 0, 10 * time.Microsecond, true},
		{"ram", "a", 1000, 11 * time.Microsecond, true},
		{"a", "b", 1000, 3 * time.Microsecond, true},
		{"b", "c", 1000, 34 * time.Microsecond, true}, // by way of main memory
		{"b", "x", 1000, 0, false},
		{"x", "b", 1000, 0, false},
	} {
		if got, ok := table.Time(c.from, c.to, c.bytes); got != c.want || ok != c.ok {
			t.Errorf("%d bytes from %s to %s: %v, %v; want %v", c.bytes, c.from, c.to, got, ok, c.want)
		}
	}
	l, _ := table.Link("ram", "b")
	if got := l.String(); got != "ram to b: 20µs, 95.4 MiB/s" {
		t.Error(got)
	}
	if got := (Link{From: "x", To: "y", Latency: 5}).String(); got != "x to y: 5ns" {
		t.Error(got)
	}
}

// modelled is a device that tells its model.
type modelled struct {
	accel.Device
	model string
}

func (m modelled) Model() string { return m.model }

func TestDescribe(t *testing.T) {
	d := machine(t, sim.Options{Capacity: 100})[0]
	s, err := NewStore(t.TempDir(), "m")
	must(t, err)
	paths := map[string]bool{s.Path(main(), []accel.Device{d}): true}
	for _, model := range []string{"x", "y"} {
		paths[s.Path(main(), []accel.Device{modelled{d, model}})] = true
	}
	paths[s.Path(main(), machine(t, sim.Options{Capacity: 100, Main: sim.Link{Latency: 1}}))] = true
	paths[s.Path(main(), machine(t, sim.Options{Capacity: 101}))] = true // as the first
	paths[s.Path(main(), nil)] = true
	s, err = NewStore(t.TempDir(), "m")
	must(t, err)
	paths[s.Path(main(), []accel.Device{d})] = true
	if len(paths) != 6 {
		t.Errorf("%v", paths)
	}
	if err := errors.Unwrap(&FileError{Err: ErrNewer}); err != ErrNewer {
		t.Error(err)
	}
}
