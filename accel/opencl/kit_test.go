package opencl

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
	"github.com/starpush/starpush/accel/dynlib"
)

// faulty makes calls of a device fail, by functions that wrap those of the driver.
type faulty struct {
	mu    sync.Mutex
	real  api
	late  bool // copies fail when they have ended, not when they are handed over
	alloc bool // the next allocation fails
	copy  bool // the next copy fails
	lost  bool
	bad   map[clEvent]int // commands that failed, and how many hold their events
}

// breakable puts functions before the driver's that fail on demand. A command of
// a device that is lost has ended when the driver says so: it must not be at work
// in memory that the test gave back.
func breakable(d *Device, late bool) *faulty {
	f := &faulty{real: *d.api, late: late, bad: map[clEvent]int{}}
	a := f.real
	d.api = &a
	a.createBuffer = dynlib.Callback(func(ctx, flags, size, host uintptr, c *int32) uintptr {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.lost || f.alloc {
			if *c = int32(allocationFailure); f.lost {
				*c = int32(deviceNotAvailable)
			}
			f.alloc = false
			return 0
		}
		return dynlib.Call(f.real.createBuffer, ctx, flags, size, host, uintptr(unsafe.Pointer(c)))
	})
	a.createCommandQueue = dynlib.Callback(func(ctx, id, flags uintptr, c *int32) uintptr {
		if f.isLost() {
			*c = int32(deviceNotAvailable)
			return 0
		}
		return dynlib.Call(f.real.createCommandQueue, ctx, id, flags, uintptr(unsafe.Pointer(c)))
	})
	copies := func(fn uintptr) uintptr {
		return dynlib.Callback(func(q, x, y, z, u, v, n, wait uintptr, ev *clEvent) uintptr {
			return f.command(ev, func() uintptr { return dynlib.Call(fn, q, x, y, z, u, v, n, wait, uintptr(unsafe.Pointer(ev))) })
		})
	}
	a.read, a.write, a.copy = copies(f.real.read), copies(f.real.write), copies(f.real.copy)
	a.marker = dynlib.Callback(func(q, n, wait uintptr, ev *clEvent) uintptr {
		if f.isLost() {
			return code32(invalidQueue)
		}
		return dynlib.Call(f.real.marker, q, n, wait, uintptr(unsafe.Pointer(ev)))
	})
	a.finish = dynlib.Callback(func(q uintptr) uintptr {
		c := dynlib.Call(f.real.finish, q)
		if f.isLost() {
			return code32(invalidQueue)
		}
		return c
	})
	a.getEventInfo = dynlib.Callback(func(ev clEvent, what, size uintptr, status *int32, n uintptr) uintptr {
		f.mu.Lock()
		bad, lost := f.bad[ev] > 0, f.lost
		f.mu.Unlock()
		if lost {
			dynlib.Call(f.real.waitForEvents, 1, uintptr(unsafe.Pointer(&ev)))
			*status = int32(deviceNotAvailable)
			return 0
		}
		c := dynlib.Call(f.real.getEventInfo, uintptr(ev), what, size, uintptr(unsafe.Pointer(status)), n)
		if bad && *status == 0 {
			*status = int32(outOfHostMemory)
		}
		return c
	})
	a.retainEvent = dynlib.Callback(func(ev clEvent) uintptr {
		f.mu.Lock()
		if f.bad[ev] > 0 {
			f.bad[ev]++
		}
		f.mu.Unlock()
		return dynlib.Call(f.real.retainEvent, uintptr(ev))
	})
	a.releaseEvent = dynlib.Callback(func(ev clEvent) uintptr {
		f.mu.Lock()
		if f.bad[ev]--; f.bad[ev] <= 0 {
			delete(f.bad, ev) // its address may be that of another
		}
		f.mu.Unlock()
		return dynlib.Call(f.real.releaseEvent, uintptr(ev))
	})
	return f
}

// code32 is what a C function returns for c.
func code32(c code) uintptr { return uintptr(uint32(c)) }

func (f *faulty) isLost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// command hands over a copy, or not.
func (f *faulty) command(ev *clEvent, real func() uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	bad := f.copy
	f.copy = false
	switch {
	case f.lost:
		return code32(invalidQueue)
	case bad && !f.late:
		return code32(outOfResources)
	}
	c := real()
	if bad {
		f.bad[*ev] = 1
	}
	return c
}

func (f *faulty) set(what *bool) func() {
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		*what = true
	}
}

func (f *faulty) faults() acceltest.Faults {
	return acceltest.Faults{Alloc: f.set(&f.alloc), Copy: f.set(&f.copy), Lose: f.set(&f.lost)}
}

// TestKit runs what any driver must pass: with the driver as it is, with a memory
// that can be filled, and with one that fails.
func TestKit(t *testing.T) {
	open(t, Driver{})
	t.Run("all", func(t *testing.T) { acceltest.Run(t, Driver{}.Open) })
	t.Run("small", func(t *testing.T) {
		acceltest.Run(t, Driver{Capacity: 16 << 20}.Open, acceltest.Options{Large: 1 << 20})
	})
	for name, late := range map[string]bool{"faults begin": false, "faults end": true} {
		t.Run(name, func(t *testing.T) {
			broken := map[accel.Device]*faulty{}
			acceltest.Run(t, func() ([]accel.Device, error) {
				devs, err := Driver{}.Open()
				for _, d := range devs {
					broken[d] = breakable(d.(*Device), late)
				}
				return devs, err
			}, acceltest.Options{Faults: func(d accel.Device) acceltest.Faults { return broken[d].faults() }, Large: 1 << 20})
		})
	}
}
