// Package cpu is the machine's own processors and main memory. Every runtime
// has them; the package is for programs that call devices directly.
package cpu

import (
	"runtime"

	"github.com/starpush/starpush/accel"
)

// New returns the machine as a device. capacity bounds its memory in bytes; 0
// means what the machine has: memory and swap, as far as a control group lets the
// process have it, on Linux, and 1 TiB elsewhere. Memory comes from the Go heap and is
// aligned to 64 bytes; Close does nothing.
func New(capacity int64) accel.Device {
	if capacity <= 0 {
		capacity = physical()
	}
	return &device{mem: accel.NewHeap("ram", capacity)}
}

type device struct{ mem *accel.Heap }

func (d *device) Name() string         { return "cpu" }
func (d *device) Arch() string         { return "cpu" }
func (d *device) Units() int           { return runtime.GOMAXPROCS(0) }
func (d *device) Memory() accel.Memory { return d.mem }

// NewStream implements accel.Device.
func (d *device) NewStream() (accel.Stream, error) { return accel.HostStream{}, nil }

// Reaches implements accel.Device.
func (d *device) Reaches(m accel.Memory) bool { return m != nil && m.Host() }

// Close implements accel.Device.
func (d *device) Close() error { return nil }
