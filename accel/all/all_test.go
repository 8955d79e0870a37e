package all

import (
	"errors"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/accel/sim"
)

// Each driver has devices, or says what is missing.
func TestDrivers(t *testing.T) {
	names := map[string]bool{}
	for _, v := range Drivers() {
		if v.Name() == "" || names[v.Name()] {
			t.Errorf("the name %q, twice: %v", v.Name(), names[v.Name()])
		}
		names[v.Name()] = true
		devices, err := v.Open()
		var none *accel.UnavailableError
		if err != nil && (!errors.As(err, &none) || none.Driver != v.Name() || none.Reason == "") {
			t.Errorf("%s: %v", v.Name(), err)
		}
		if (err == nil) != (len(devices) > 0) {
			t.Errorf("%s: %d devices, %v", v.Name(), len(devices), err)
		}
		t.Logf("%s: %d devices, %v", v.Name(), len(devices), err)
		for _, d := range devices {
			if !strings.HasPrefix(d.Name(), v.Name()+" ") {
				t.Errorf("%s has the device %s", v.Name(), d.Name())
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if !names["opencl"] {
		t.Errorf("%v", names)
	}
}

// driver is devices, or an error.
type driver struct {
	devices []accel.Device
	err     error
}

func (driver) Name() string                    { return "x" }
func (v driver) Open() ([]accel.Device, error) { return v.devices, v.err }

// A driver without devices does not hide those of other drivers.
func TestOpen(t *testing.T) {
	a, err := sim.New(sim.Options{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sim.New(sim.Options{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	oops := &accel.UnavailableError{Driver: "x", Reason: "none"}
	devices, without := open([]accel.Driver{driver{[]accel.Device{a}, nil}, driver{nil, oops}, driver{[]accel.Device{b}, nil}})
	if len(devices) != 2 || devices[0] != a || devices[1] != b {
		t.Errorf("%v", devices)
	}
	if len(without) != 1 || !errors.Is(without[0], oops) {
		t.Errorf("%v", without)
	}
	for vendor, ok := range map[string]bool{"NVIDIA Corporation": false, "GenuineIntel": true} {
		if notNVIDIA(&opencl.Info{Vendor: vendor}) != ok {
			t.Error(vendor)
		}
	}
}
