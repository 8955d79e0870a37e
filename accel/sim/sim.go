// Package sim is machines that do not exist: devices with a memory of their own,
// bounded and apart from main memory, that run the CPU implementations of codelets
// there. They really carry out all operations, so a program has the results that
// it would have on such a machine, and a mistake shows in its results:
//
//   - a copy that is missing leaves poison where data should be;
//   - asynchronous devices do their work later, on request as late as they can, so
//     a wait that is missing is wrong data;
//   - copies outside of allocated memory are errors;
//   - allocations, copies and kernels fail, and devices are lost, on demand, by plan
//     or by chance.
//
// Links and kernels have costs, on a clock that is real, or virtual: then nothing
// sleeps, and events tell the simulated time. Every choice that is random comes from
// a seed.
//
// Preset makes machines that are useful to have, by name.
package sim

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/accel"
)

// Options describe a device. The zero value of what follows Units is a device whose
// work ends in the call that begins it and takes no time.
type Options struct {
	Name     string // "" means "sim"
	Capacity int64  // of its memory, in bytes
	Units    int    // kernels that it can run at the same time; 0 means 1
	NUMA     int    // not 0: the device is the NUMA node with this number, and its units are CPUs

	// Async makes streams do their work on goroutines of their own, which end when
	// the streams are closed.
	Async bool
	// Late is the part of the asynchronous work, from 0 to 1, that is not begun before a
	// caller waits for it, or asks whether it has ended.
	Late float64

	Main   Link            // to and from main memory
	Peers  map[string]Link // to and from devices that it reaches, by name
	Kernel Cost            // of kernels
	Jitter float64         // everything takes up to this share longer: 0.1 is a tenth
	Clock  *Clock          // of the costs, shared by devices of a machine; nil: a virtual one
	Seed   uint64          // of Late and Jitter

	Faults Faults // from the beginning
}

// Device is a simulated device.
type Device struct {
	o       Options
	mem     *memory
	clock   *Clock // nil: nothing costs anything
	kernels lanes  // one for each unit
	lost    atomic.Pointer[accel.LostError]
	gone    chan struct{} // closed when it is lost
	mu      struct {
		sync.Mutex
		closed   bool
		streams  map[*stream]bool // open
		made     uint64           // streams so far
		running  int              // copies and kernels at work in its memory
		poisoned bool             // its memory, since it is lost
		faults   Faults
		count    [numKinds]int64
	}
}

// New makes a device. It returns an error when an option makes no sense.
func New(o Options) (*Device, error) {
	if o.Name == "" {
		o.Name = "sim"
	}
	if o.Units == 0 {
		o.Units = 1
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	d := &Device{o: o, clock: o.Clock, gone: make(chan struct{})}
	if d.clock == nil && o.costs() {
		d.clock = Virtual()
	}
	d.mem = &memory{Heap: accel.NewHeap(o.Name, o.Capacity), d: d}
	d.kernels = make(lanes, o.Units)
	d.mu.streams = map[*stream]bool{}
	d.mu.faults = o.Faults
	return d, nil
}

func (o *Options) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("sim: the device %s: "+format, append([]any{o.Name}, args...)...)
	}
	switch {
	case o.NUMA < 0:
		return bad("NUMA node %d: node 0 is main memory, others have higher numbers", o.NUMA)
	case o.Capacity < 0 || o.Units < 0:
		return bad("%d bytes and %d units", o.Capacity, o.Units)
	case !(o.Late >= 0 && o.Late <= 1):
		return bad("Late is %v: it is a part, from 0 to 1", o.Late)
	case o.Late > 0 && !o.Async:
		return bad("work that is not Async cannot be Late")
	case !(o.Jitter >= 0 && o.Jitter <= 1e6):
		return bad("Jitter is %v", o.Jitter)
	case !o.Main.ok():
		return bad("a link with %v", o.Main)
	case o.Kernel.Fixed < 0 || !(o.Kernel.Bandwidth >= 0) || !(o.Kernel.Flops >= 0):
		return bad("kernels cost %v", o.Kernel)
	}
	for name, l := range o.Peers {
		if !l.ok() || name == o.Name {
			return bad("a link to %s with %v", name, l)
		}
	}
	return nil
}

// costs reports whether anything takes time.
func (o *Options) costs() bool {
	for _, l := range o.Peers {
		if l != (Link{}) {
			return true
		}
	}
	return o.Main != Link{} || o.Kernel != Cost{}
}

// Name implements accel.Device.
func (d *Device) Name() string { return d.o.Name }

// Arch implements accel.Device.
func (d *Device) Arch() string { return "cpu" }

// Model tells its links: to those who keep what they measured, devices with others
// are others.
func (d *Device) Model() string {
	text := fmt.Sprintf("simulated: %v", d.o.Main)
	for _, name := range slices.Sorted(maps.Keys(d.o.Peers)) {
		text += fmt.Sprintf("; to %s %v", name, d.o.Peers[name])
	}
	return text
}

// NUMA implements accel.CPUs.
func (d *Device) NUMA() (number int, ok bool) { return d.o.NUMA, d.o.NUMA != 0 }

// Processors implements accel.CPUs: simulated ones have no numbers.
func (d *Device) Processors() []int { return nil }

// Units implements accel.Device.
func (d *Device) Units() int { return d.o.Units }

// Memory implements accel.Device.
func (d *Device) Memory() accel.Memory { return d.mem }

// Clock is the clock of the costs; nil when nothing costs anything.
func (d *Device) Clock() *Clock { return d.clock }

// Reaches implements accel.Device.
func (d *Device) Reaches(m accel.Memory) bool {
	_, ok := d.link(m)
	return ok
}

// link is how the device reaches a memory other than its own.
func (d *Device) link(m accel.Memory) (Link, bool) {
	switch m := m.(type) {
	case nil:
		return Link{}, false
	case *memory:
		l, ok := d.o.Peers[m.Name()]
		return l, ok || m == d.mem
	}
	return d.o.Main, m.Host()
}

// NewStream implements accel.Device.
func (d *Device) NewStream() (accel.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usableLocked(); err != nil {
		return nil, err
	}
	d.mu.made++
	s := newStream(d, d.mu.made)
	d.mu.streams[s] = true
	return s, nil
}

// usableLocked returns why nothing new can be asked of the device, or nil.
func (d *Device) usableLocked() error {
	if l := d.lost.Load(); l != nil {
		return l
	}
	if d.mu.closed {
		return accel.ErrClosed
	}
	return nil
}

// Close implements accel.Device. Streams that are still open are closed, which is
// an error.
func (d *Device) Close() error {
	d.mu.Lock()
	d.mu.closed = true
	var open []*stream
	for s := range d.mu.streams {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		s.Close()
	}
	if len(open) > 0 && d.lost.Load() == nil {
		return fmt.Errorf("sim: the device %s is closed with %d streams open", d.o.Name, len(open))
	}
	return nil
}

// enter says that something is about to work in the device's memory.
func (d *Device) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.lost.Load(); l != nil {
		return l
	}
	d.mu.running++
	return nil
}

// leave is the end of what enter began. The last operation to leave a lost device
// poisons its memory, because no other one works there any more.
func (d *Device) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.running--
	d.poisonLocked()
}

func (d *Device) poisonLocked() {
	if d.lost.Load() != nil && d.mu.running == 0 && !d.mu.poisoned {
		d.mu.poisoned = true
		d.mem.poisonAll()
	}
}
