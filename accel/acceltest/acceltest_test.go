package acceltest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
)

// recorder is a test whose failure is wanted.
type recorder struct {
	testing.TB
	failed, skipped atomic.Bool
	ends            []func()
	mu              struct {
		sync.Mutex
		log []string
	}
}

func (r *recorder) Helper()           {}
func (r *recorder) Failed() bool      { return r.failed.Load() }
func (r *recorder) Cleanup(fn func()) { r.ends = append(r.ends, fn) }
func (r *recorder) Skip(...any)       { r.skipped.Store(true); runtime.Goexit() }
func (r *recorder) Error(args ...any) { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.note(fmt.Sprintf(format, args...))
}
func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) note(text string) {
	r.failed.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.log = append(r.mu.log, text)
}

// run runs fn like a test, in a goroutine that it may end.
func (r *recorder) run(fn func(testing.TB)) {
	for _, f := range []func(){func() { fn(r) }, func() {
		for _, end := range slices.Backward(r.ends) {
			end()
		}
	}} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
}

// device is a right device that can be made wrong in one way.
type device struct {
	*sim.Device
	fault string
	mem   *memory
}

type memory struct {
	accel.Memory
	d *device
}

type stream struct {
	accel.Stream
	d    *device
	last error // that Sync returned
}

type event struct {
	accel.Event
	d *device
}

// is reports whether the device has a fault.
func (d *device) is(fault string) bool { return d.fault == fault }

func open(fault string) func() ([]accel.Device, error) {
	return func() ([]accel.Device, error) {
		var all []accel.Device
		for _, name := range []string{"a", "b", "c"} {
			o := sim.Options{Name: name, Capacity: 1 << 20, Async: true, Late: 0.8, Clock: sim.Virtual(),
				Main: sim.Link{Latency: time.Microsecond, Bandwidth: 1e9}}
			if name == "a" {
				o.Peers = map[string]sim.Link{"b": {Latency: time.Microsecond}}
			}
			s, err := sim.New(o)
			if err != nil {
				return nil, err
			}
			d := &device{Device: s, fault: fault}
			d.mem = &memory{s.Memory(), d}
			all = append(all, d)
		}
		return all, nil
	}
}

func faultsOf(d accel.Device) Faults {
	s := d.(*device)
	return Faults{
		Alloc:  func() { s.FailAlloc(sim.Next()) },
		Copy:   func() { s.FailCopy(sim.Next()) },
		Kernel: func() { s.FailKernel(sim.Next()) },
		Lose: func() {
			if !s.is("is never lost") {
				s.Lose()
			}
		},
	}
}

// below is the memory that m stands for.
func below(m accel.Memory) accel.Memory {
	if b, ok := m.(*memory); ok {
		return b.Memory
	}
	return m
}

func (d *device) Memory() accel.Memory { return d.mem }

func (d *device) Name() string {
	if d.is("names are alike") {
		return "device"
	}
	return d.Device.Name()
}

func (d *device) Reaches(m accel.Memory) bool {
	return d.Device.Reaches(below(m)) && !(d.is("main memory is not reached") && m != nil && m.Host())
}

func (d *device) NewStream() (accel.Stream, error) {
	s, err := d.Device.NewStream()
	if err != nil && d.is("a closed device makes streams") {
		return accel.HostStream{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &stream{Stream: s, d: d}, nil
}

func (d *device) Close() error {
	if d.is("Close fails") {
		return errors.New("oops")
	}
	return d.Device.Close()
}

func (m *memory) Alloc(n int64) (unsafe.Pointer, error) {
	if m.d.is("memory is not bounded") && n > m.Capacity() {
		n = 1
	}
	p, err := m.Memory.Alloc(n)
	if m.d.is("memory is not aligned") && err == nil {
		return unsafe.Add(p, 8), nil
	}
	var none *accel.NoMemoryError
	if errors.As(err, &none) {
		switch m.d.fault {
		case "wrong node":
			none.Node = "x"
		case "wrong capacity":
			none.Capacity++
		case "another error":
			return p, errors.New("no memory")
		}
	}
	return p, err
}

func (m *memory) Free(p unsafe.Pointer, n int64) {
	switch {
	case m.d.is("memory is not aligned"):
		p = unsafe.Add(p, -8)
	case m.d.is("nothing is freed"):
		return
	}
	m.Memory.Free(p, n)
}

func (m *memory) Allocated() int64 {
	if m.d.is("nothing is counted") {
		return 0
	}
	return m.Memory.Allocated()
}

func (m *memory) Peak() int64 {
	if m.d.is("the peak is what is allocated") {
		return m.Memory.Allocated()
	}
	return m.Memory.Peak()
}

func (s *stream) Copy(c *accel.Copy) error {
	b := *c
	b.Dst.Mem, b.Src.Mem = below(b.Dst.Mem), below(b.Src.Mem)
	switch s.d.fault {
	case "the last axis is not copied":
		b.Count[len(b.Count)-1] = min(b.Count[len(b.Count)-1], 1)
	case "steps of the source are those of the destination":
		b.SrcStep = b.DstStep
		if b.Src.Mem != nil && b.Src.Mem.Host() {
			b.SrcStep = c.SrcStep // or it would read what is not there
		}
	case "a byte is missing":
		if b.Bytes > 256 {
			b.Bytes--
		}
	case "copies within a device are not":
		if b.Dst.Mem == b.Src.Mem {
			return nil
		}
	case "copies to peers are not":
		if d := s.d.Memory(); c.Dst.Mem != d && !c.Dst.Mem.Host() && c.Dst.Mem != nil {
			return nil
		}
	case "copies that make no sense are none":
		if c.Check() != nil {
			return nil
		}
	case "closed streams copy":
		if err := s.Stream.Copy(&b); !errors.Is(err, accel.ErrClosed) {
			return err
		}
		return nil
	}
	return s.Stream.Copy(&b)
}

func (s *stream) Do(w accel.Work, fn func() error) error {
	switch s.d.fault {
	case "kernels run elsewhere":
		done := make(chan error, 1)
		return s.Stream.Do(w, func() error {
			go func() { done <- fn() }()
			return <-done
		})
	case "kernels do not wait":
		return fn()
	case "kernels run twice":
		return s.Stream.Do(w, func() error { fn(); return fn() })
	case "errors of kernels are forgotten":
		s.Stream.Do(w, fn)
		return nil
	}
	return s.Stream.Do(w, fn)
}

func (s *stream) Wait(e accel.Event) error {
	if s.d.is("streams do not wait") {
		return nil
	}
	if w, ok := e.(*event); ok {
		e = w.Event
	}
	return s.Stream.Wait(e)
}

func (s *stream) Sync() error {
	if s.d.is("Sync does not wait") {
		return nil
	}
	err := s.Stream.Sync()
	var bad *accel.CopyError
	var lost *accel.LostError
	switch {
	case s.d.is("errors come again and again"):
		if err == nil {
			err = s.last
		}
		s.last = err
	case s.d.is("errors of copies are forgotten") && errors.As(err, &bad):
		return nil
	case s.d.is("errors tell no size") && errors.As(err, &bad):
		bad.Bytes = 0
	case s.d.is("losses are returned once") && errors.As(err, &lost):
		err, s.last = s.last, err
		if err == nil {
			err = s.last
		} else {
			err = nil
		}
	}
	return err
}

func (s *stream) Close() error {
	if s.d.is("streams cannot be closed twice") {
		if err := s.Stream.Close(); err != nil {
			return err
		}
		_, err := s.Stream.Record()
		s.last, err = err, s.last
		return err
	}
	return s.Stream.Close()
}

func (s *stream) Record() (accel.Event, error) {
	e, err := s.Stream.Record()
	if err != nil {
		return nil, err
	}
	return &event{e, s.d}, nil
}

func (e *event) Done() (bool, error) {
	if e.d.is("events have happened at once") {
		return true, nil
	}
	return e.Event.Done()
}

func (e *event) Sync() error {
	switch {
	case e.d.is("events are not waited for"):
		return nil
	case e.d.is("events tell no error"):
		e.Event.Sync()
		return nil
	}
	return e.Event.Sync()
}

func (e *event) Since(o accel.Event) (time.Duration, bool) {
	w, ok := o.(*event)
	switch {
	case !ok:
		return 0, e.d.is("Since accepts any event")
	case e.d.is("time goes back"):
		return w.Event.Since(e.Event)
	}
	return e.Event.Since(w.Event)
}

// TestFaultsAreFound makes devices wrong in one way each; a test must tell.
func TestFaultsAreFound(t *testing.T) {
	for _, c := range []struct{ fault, test string }{
		{"", ""},
		{"names are alike", "Devices"},
		{"main memory is not reached", "Devices"},
		{"memory is not aligned", "Memory"},
		{"memory is not bounded", "Exhaustion"},
		{"wrong node", "Exhaustion"},
		{"wrong capacity", "Exhaustion"},
		{"another error", "Exhaustion"},
		{"nothing is freed", "Memory"},
		{"nothing is counted", "Memory"},
		{"the peak is what is allocated", "Memory"},
		{"the last axis is not copied", "Copies"},
		{"steps of the source are those of the destination", "Copies"},
		{"a byte is missing", "Copies"},
		{"copies within a device are not", "WithinOneAllocation"},
		{"copies to peers are not", "Copies"},
		{"copies that make no sense are none", "Misuse"},
		{"kernels run elsewhere", "Do"},
		{"kernels do not wait", "Do"},
		{"kernels run twice", "Do"},
		{"errors of kernels are forgotten", "Do"},
		{"streams do not wait", "WaitAcrossStreams"},
		{"streams do not wait", "WaitAcrossDevices"},
		{"Sync does not wait", "Copies"},
		{"events have happened at once", "Events"},
		{"events are not waited for", "EventsConcurrently"},
		{"events tell no error", "CopyFails"},
		{"Since accepts any event", "Events"},
		{"time goes back", "Events"},
		{"errors come again and again", "CopyFails"},
		{"errors of copies are forgotten", "CopyFails"},
		{"errors tell no size", "CopyFails"},
		{"losses are returned once", "Lost"},
		{"is never lost", "Lost"},
		{"closed streams copy", "Closed"},
		{"a closed device makes streams", "Closed"},
		{"Close fails", "Devices"},
		{"streams cannot be closed twice", "Order"},
	} {
		name := c.fault
		if name == "" {
			name = "nothing"
		}
		t.Run(name, func(t *testing.T) {
			if raceOn && slices.Contains(races, c.fault) {
				t.Skip("the race detector finds it first")
			}
			found := false
			for _, k := range tests {
				if c.test != "" && c.test != k.name {
					continue
				}
				found = true
				r := &recorder{}
				r.run(func(t testing.TB) { k.test(newKit(t, open(c.fault), Options{Faults: faultsOf})) })
				switch {
				case r.skipped.Load():
					t.Errorf("%s is skipped", k.name)
				case r.failed.Load() != (c.fault != ""):
					t.Errorf("%s: failed: %v; it says %q", k.name, r.failed.Load(), r.mu.log)
				}
			}
			if !found {
				t.Errorf("there is no test %s", c.test)
			}
		})
	}
}

// races are the faults that let memory be read while it is written.
var races = []string{"kernels do not wait", "streams do not wait", "Sync does not wait", "events have happened at once", "events are not waited for"}

// A driver without devices is skipped, one that says nothing fails.
func TestUnavailable(t *testing.T) {
	for _, c := range []struct {
		err           error
		skips, failed bool
	}{
		{&accel.UnavailableError{Driver: "x", Reason: "y"}, true, false},
		{fmt.Errorf("wrapped: %w", &accel.UnavailableError{Driver: "x"}), true, false},
		{errors.New("oops"), false, true},
		{nil, false, true},
	} {
		r := &recorder{}
		r.run(func(t testing.TB) { newKit(t, func() ([]accel.Device, error) { return nil, c.err }, Options{}) })
		if r.skipped.Load() != c.skips || r.failed.Load() != c.failed {
			t.Errorf("%v: skipped: %v, failed: %v", c.err, r.skipped.Load(), r.failed.Load())
		}
	}
}
