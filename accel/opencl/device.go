package opencl

import (
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// Device is a device of an OpenCL driver; it implements accel.Device.
type Device struct {
	api  *api
	info Info
	ctx  clContext
	mem  *memory
	lost atomic.Pointer[accel.LostError]
	mu   struct {
		sync.Mutex
		closed   bool
		programs map[programKey]*buildOnce
	}
}

// open makes a context on a device.
func (a *api) open(in *Info, capacity int64) (*Device, error) {
	const contextPlatform = 0x1084
	properties := [3]uintptr{contextPlatform, uintptr(in.platform), 0}
	var c int32
	ctx := clContext(dynlib.Call(a.createContext, uintptr(ptr(&properties[0])), 1, uintptr(ptr(&in.id)), 0, 0, uintptr(ptr(&c))))
	if err := code(c).err("clCreateContext"); err != nil {
		return nil, err
	}
	d := &Device{api: a, info: *in, ctx: ctx}
	d.mu.programs = map[programKey]*buildOnce{}
	var err error
	if d.mem, err = newMemory(d, capacity); err != nil {
		dynlib.Call(a.releaseContext, uintptr(ctx))
		return nil, err
	}
	return d, nil
}

// Name implements accel.Device.
func (d *Device) Name() string { return d.info.Name }

// Arch implements accel.Device.
func (d *Device) Arch() string { return "opencl" }

// Units implements accel.Device. It is 1: one kernel fills the compute units of a
// device, and drivers run those of one context one after the other.
func (d *Device) Units() int { return 1 }

// Memory implements accel.Device.
func (d *Device) Memory() accel.Memory { return d.mem }

// Model returns the name that the driver gives to the device.
func (d *Device) Model() string { return d.info.Model }

// Info returns the properties of the device.
func (d *Device) Info() Info { return d.info }

// Reaches implements accel.Device: its own memory and main memory.
func (d *Device) Reaches(m accel.Memory) bool {
	return m != nil && (m == accel.Memory(d.mem) || m.Host())
}

// Close implements accel.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.mu.closed {
		d.mu.Unlock()
		return nil
	}
	d.mu.closed = true
	programs := d.mu.programs
	d.mu.programs = nil
	d.mu.Unlock()
	for _, b := range programs {
		b.release()
	}
	d.mem.close()
	return code(int32(dynlib.Call(d.api.releaseContext, uintptr(d.ctx)))).err("clReleaseContext")
}

// usable returns why nothing can be begun on the device, or nil.
func (d *Device) usable() error {
	if l := d.lost.Load(); l != nil {
		return l
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return accel.ErrClosed
	}
	return nil
}

// lose notes that the device does not answer any more, and returns the first
// reason for that.
func (d *Device) lose(err error) *accel.LostError {
	d.lost.CompareAndSwap(nil, &accel.LostError{Device: d.info.Name, Err: err})
	return d.lost.Load()
}

// failed makes an error of what a function of the library returned; nil when it
// did not fail. ended: it is the result of a command, not of handing it over.
func (d *Device) failed(c code, call string, ended bool) error {
	err := c.err(call)
	if err != nil && c.lost(ended) {
		return d.lose(err)
	}
	return err
}
