// Package disk is memory in a file: where data goes for which main memory has no
// room. A disk runs no kernels, and copies to and from main memory only:
//
//	rest, err := disk.Open("/var/tmp")
//	defer rest.Close()                                               // after the runtime
//	rt, err := engine.New(engine.Options{RAM: 4 << 30, Disk: rest})
//
// All data of a device lies in one file of the folder it is given. Where the system
// allows, the file loses its name as soon as it is open, so nothing is left of it
// however the process ends. Elsewhere, and if the process ends before that, the
// file is no longer locked, and the next device in that folder removes it. So any number
// of processes can share a folder.
package disk

import (
	"math/bits"
	"sync"
	"time"

	"github.com/starpush/starpush/accel"
)

// Options say how a disk is used. The zero value is the default.
type Options struct {
	// Name is the name of the device and its memory; "" means "disk".
	Name string
	// Capacity bounds the bytes that can be allocated; 0 means as many as are free
	// in the folder when the device is made.
	Capacity int64
	// Wrap, if it is not nil, is given the file and returns what is used instead:
	// tests put something in between that fails.
	Wrap func(File) File
}

// File is the file of a device, as far as the device uses it. Calls with ranges that do
// not overlap may come at the same time.
type File interface {
	ReadAt(b []byte, at int64) (int, error)
	WriteAt(b []byte, at int64) (int, error)
	Truncate(size int64) error
}

// Device is a disk. It implements accel.Device.
type Device struct {
	name  string
	dir   string
	mem   *memory
	began time.Time
	mu    struct {
		sync.Mutex
		file   *slab // nil once the device is closed
		closed bool
	}
}

// Open makes a device of a folder. An error is an *accel.UnavailableError.
func Open(dir string, options ...Options) (*Device, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if o.Name == "" {
		o.Name = "disk"
	}
	if bits.UintSize < 64 { // needs a range of addresses that nothing else uses
		return nil, &accel.UnavailableError{Driver: "disk", Reason: "this processor has too few addresses"}
	}
	sweep(dir)
	file, err := create(dir)
	if err != nil {
		return nil, err
	}
	if o.Capacity <= 0 {
		if o.Capacity = free(dir); o.Capacity <= 0 {
			file.close()
			return nil, &accel.UnavailableError{Driver: "disk", Reason: "no space is left in " + dir, Remedy: "make room there, or name another folder"}
		}
	}
	d := &Device{name: o.Name, dir: dir, began: time.Now()}
	d.mu.file = file
	d.mem = &memory{Usage: accel.NewUsage(o.Name, o.Capacity), d: d, file: file.f, punch: file.punch}
	if o.Wrap != nil {
		d.mem.file = o.Wrap(file.f)
	}
	return d, nil
}

// Name implements accel.Device.
func (d *Device) Name() string { return d.name }

// Dir is the folder.
func (d *Device) Dir() string { return d.dir }

// Arch implements accel.Device: no kernel is written for a disk.
func (d *Device) Arch() string { return "disk" }

// Units implements accel.Device: a disk runs no kernels.
func (d *Device) Units() int { return 0 }

// Memory implements accel.Device.
func (d *Device) Memory() accel.Memory { return d.mem }

// Reaches implements accel.Device.
func (d *Device) Reaches(m accel.Memory) bool { return m != nil && m.Host() }

// NewStream implements accel.Device. A stream has a goroutine, which works until the
// stream is closed.
func (d *Device) NewStream() (accel.Stream, error) {
	if d.closed() {
		return nil, accel.ErrClosed
	}
	return newStream(d), nil
}

func (d *Device) closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.closed
}

// Close implements accel.Device: the file is gone.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return nil
	}
	d.mu.closed = true
	d.mem.closeOrigins()
	return d.mu.file.close()
}
