// Package sim is devices that do not exist: processors with a memory of their
// own, bounded and apart from main memory, that run the CPU implementations of
// codelets there. A copy that is missing is wrong data, on any machine.
package sim

import (
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// Poison is what every byte of new memory holds.
const Poison = 0xa5

// Options describe a device.
type Options struct {
	Name     string // "" means "sim"
	Capacity int64  // of its memory, in bytes
	Units    int    // kernels that it can run at the same time; 0 means 1
}

// New makes a device. It returns an error when an option makes no sense.
func New(o Options) (accel.Device, error) {
	if o.Name == "" {
		o.Name = "sim"
	}
	if o.Units == 0 {
		o.Units = 1
	}
	if o.Capacity < 0 || o.Units < 0 {
		return nil, fmt.Errorf("sim: a device with %d bytes and %d units", o.Capacity, o.Units)
	}
	return &device{units: o.Units, mem: memory{accel.NewHeap(o.Name, o.Capacity)}}, nil
}

type device struct {
	units int
	mem   memory
}

func (d *device) Name() string         { return d.mem.Name() }
func (d *device) Arch() string         { return "cpu" }
func (d *device) Units() int           { return d.units }
func (d *device) Memory() accel.Memory { return d.mem }

// NewStream implements accel.Device.
func (d *device) NewStream() (accel.Stream, error) { return accel.HostStream{}, nil }

// Reaches implements accel.Device.
func (d *device) Reaches(m accel.Memory) bool { return m != nil && m.Host() }

// Close implements accel.Device.
func (d *device) Close() error { return nil }

// memory takes blocks from the Go heap. They are poisoned when they are given
// out and when they come back, so that a kernel that reads what nobody brought
// there, or what has gone, does not find the right value by chance.
type memory struct{ *accel.Heap }

func (m memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	p, err := m.Heap.Alloc(bytes)
	if err == nil {
		poison(p, bytes)
	}
	return p, err
}

func (m memory) Free(p unsafe.Pointer, bytes int64) {
	poison(p, bytes)
	m.Heap.Free(p, bytes)
}

func poison(p unsafe.Pointer, bytes int64) {
	if p == nil {
		return
	}
	b := unsafe.Slice((*byte)(p), bytes)
	for i := range b {
		b[i] = Poison
	}
}
