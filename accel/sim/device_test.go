package sim

import (
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
)

// faults are those of a device, for the kit.
func faults(d accel.Device) acceltest.Faults {
	s := d.(*Device)
	return acceltest.Faults{
		Alloc:  func() { s.FailAlloc(Next()) },
		Copy:   func() { s.FailCopy(Next()) },
		Kernel: func() { s.FailKernel(Next()) },
		Lose:   s.Lose,
	}
}

// kinds of devices: names tell what is special about them.
var kinds = map[string]func() Options{
	"Immediate": func() Options { return Options{} },
	"Async":     func() Options { return Options{Async: true} },
	"Late":      func() Options { return Options{Async: true, Late: 1} },
	"SometimesLate": func() Options {
		return Options{Async: true, Late: 0.5, Jitter: 0.5, Seed: 7}
	},
	"Virtual": func() Options {
		return Options{Async: true, Late: 0.2, Main: Link{10 * time.Microsecond, 12e9}, Kernel: Cost{5 * time.Microsecond, 500e9, 1e12}, Clock: Virtual()}
	},
	"VirtualImmediate": func() Options {
		return Options{Main: Link{10 * time.Microsecond, 12e9}, Kernel: Cost{Fixed: time.Second}, Jitter: 0.1}
	},
	"Real": func() Options {
		return Options{Async: true, Main: Link{time.Microsecond, 20e9}, Kernel: Cost{Fixed: time.Microsecond}, Clock: Real()}
	},
	"RealImmediate": func() Options {
		return Options{Main: Link{time.Microsecond, 20e9}, Clock: Real()}
	},
}

// TestDevice holds devices of all kinds against what any device must do: two that
// reach each other, and one that reaches main memory only.
func TestDevice(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			acceltest.Run(t, func() ([]accel.Device, error) {
				a := kind()
				a.Name, a.Capacity, a.Peers = "a", 1<<20, map[string]Link{"b": {time.Microsecond, 50e9}}
				b, c := a, a
				b.Name, b.Units, b.Peers = "b", 3, map[string]Link{"a": {}}
				c.Name, c.Peers = "c", nil
				var all []accel.Device
				for _, o := range []Options{a, b, c} {
					d, err := New(o)
					if err != nil {
						return nil, err
					}
					all = append(all, d)
				}
				return all, nil
			}, acceltest.Options{Faults: faults})
		})
	}
}
