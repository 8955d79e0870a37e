package opencl

import (
	"errors"
	"sync"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// Stream is a command queue of a device; it implements accel.Stream.
type Stream struct {
	dev   *Device
	queue clQueue
	mu    struct {
		sync.Mutex
		closed  bool
		pending []*op // begun, and not known to have ended, in order
		// held is what waits behind an event that means nothing to the driver. While
		// feeding, a goroutine begins it, and everything new goes to its end.
		held    []*op
		feeding bool
		err     error // the first error, until Sync has returned it
	}
	feeder sync.WaitGroup

	// Memory for kernels of the stream; the last one is in use. They are its user's.
	scratch     []clMem
	scratchSize int64
}

// op is something begun on a stream. An op of Record is an accel.Event. Fields
// that change are guarded by the stream's mutex.
type op struct {
	s *Stream
	// begin hands the command over; nil for a Wait of the feeder.
	begin func() (clEvent, error)
	wait  accel.Event
	what  failure // how its error is worded; nil: it has none of its own
	keep  any     // main memory in use until it has ended; what the Go heap holds does not move

	begun  chan struct{} // closed when it was begun; nil: it was begun at once
	handle clEvent       // 0: not begun, failed to begin, or ended
	ended  bool
	err    error  // of itself, and when it ended the first one of the stream until then
	clock  uint64 // when it ended; 0: unknown
}

// failure makes what the driver said an error.
type failure interface{ failed(error) error }

// newQueue makes a command queue that executes in order.
func (d *Device) newQueue() (clQueue, error) {
	var c int32
	q := clQueue(dynlib.Call(d.api.createCommandQueue, uintptr(d.ctx), uintptr(d.info.id), queueProfiling, uintptr(ptr(&c))))
	return q, d.failed(code(c), "clCreateCommandQueue", false)
}

// NewStream implements accel.Device; the stream is a *Stream.
func (d *Device) NewStream() (accel.Stream, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	q, err := d.newQueue()
	if err != nil {
		return nil, err
	}
	return &Stream{dev: d, queue: q}, nil
}

// Device returns the stream's device.
func (s *Stream) Device() *Device { return s.dev }

// Do implements accel.Stream: functions of this process do not run here.
func (s *Stream) Do(accel.Work, func() error) error { return accel.ErrNotHere }

// usable returns why nothing can be begun, or nil.
func (s *Stream) usable() error {
	if err := s.dev.usable(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return accel.ErrClosed
	}
	return nil
}

// submit begins o, now or when everything held before it was begun. The error is
// that of beginning it now.
func (s *Stream) submit(o *op) error {
	o.s = s
	s.mu.Lock()
	if s.mu.feeding {
		o.begun = make(chan struct{})
		s.mu.held = append(s.mu.held, o)
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	return s.start(o, false)
}

// start hands o to the driver. Only one goroutine does so at a time: the feeder,
// or without one the user of the stream. Late means that
// the call that began o has returned, so an error becomes one of the stream.
func (s *Stream) start(o *op, late bool) error {
	handle, err := o.begin()
	o.begin = nil
	if err != nil && o.what != nil {
		err = s.dev.worded(o.what, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !late {
		return err
	}
	o.handle, o.err = handle, err
	s.mu.pending = append(s.mu.pending, o)
	if o.begun != nil {
		close(o.begun)
	}
	return nil
}

// worded makes err an error of an operation, unless the device is lost: that
// matters more than what it was doing.
func (d *Device) worded(what failure, err error) error {
	var lost *accel.LostError
	if errors.As(err, &lost) {
		return lost
	}
	return what.failed(err)
}

// hold makes what follows wait for e, by a goroutine.
func (s *Stream) hold(e accel.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.held = append(s.mu.held, &op{s: s, wait: e})
	if !s.mu.feeding {
		s.mu.feeding = true
		s.feeder.Go(s.feed)
	}
}

// feed begins what is held, until nothing is left.
func (s *Stream) feed() {
	for {
		s.mu.Lock()
		if len(s.mu.held) == 0 {
			s.mu.held = nil
			s.mu.feeding = false
			s.mu.Unlock()
			dynlib.Call(s.dev.api.flush, uintptr(s.queue))
			return
		}
		o := s.mu.held[0]
		s.mu.held = s.mu.held[1:]
		s.mu.Unlock()
		if o.wait != nil {
			_ = o.wait.Sync() // its errors are for those who asked for that work
			continue
		}
		_ = s.start(o, true)
	}
}

// Wait implements accel.Stream. An event of any driver will do.
func (s *Stream) Wait(e accel.Event) error {
	if err := s.usable(); err != nil {
		return err
	}
	if e == nil {
		return errors.New("opencl: waiting for no event")
	}
	o, ok := e.(*op)
	if ok && o.s == s {
		return nil // a stream is in order
	}
	if !ok || o.s.dev != s.dev {
		if done, _ := e.Done(); !done {
			s.hold(e)
		}
		return nil
	}
	s.mu.Lock()
	feeding := s.mu.feeding
	s.mu.Unlock()
	handle, ended := o.retain()
	switch {
	case ended:
		return nil
	case handle == 0 || feeding: // not begun, or it would have to be kept
		if handle != 0 {
			dynlib.Call(s.dev.api.releaseEvent, uintptr(handle))
		}
		s.hold(e)
		return nil
	}
	defer dynlib.Call(s.dev.api.releaseEvent, uintptr(handle))
	return s.submit(&op{begin: func() (clEvent, error) {
		var ev clEvent
		c := dynlib.Call(s.dev.api.barrier, uintptr(s.queue), 1, uintptr(ptr(&handle)), uintptr(ptr(&ev)))
		return ev, s.dev.failed(code(int32(c)), "clEnqueueBarrierWithWaitList", false)
	}})
}

// Sync implements accel.Stream.
func (s *Stream) Sync() error {
	s.feeder.Wait()
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return nil
	}
	busy := len(s.mu.pending) > 0
	s.mu.Unlock()
	if busy {
		s.finish()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.mu.err
	s.mu.err = nil
	if l := s.dev.lost.Load(); l != nil {
		return l
	}
	return err
}

// finish waits until everything has ended.
func (s *Stream) finish() {
	c := code(int32(dynlib.Call(s.dev.api.finish, uintptr(s.queue))))
	if err := c.err("clFinish"); err != nil {
		s.dev.lose(err)
	}
	for {
		s.mu.Lock()
		s.settleLocked(nil)
		if len(s.mu.pending) == 0 {
			s.mu.Unlock()
			return
		}
		o := s.mu.pending[0]
		s.mu.Unlock()
		o.await()
	}
}

// Close implements accel.Stream.
func (s *Stream) Close() error {
	err := s.Sync()
	s.mu.Lock()
	closed := s.mu.closed
	s.mu.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	for _, m := range s.scratch {
		dynlib.Call(s.dev.api.releaseMemObject, uintptr(m))
	}
	if c := code(int32(dynlib.Call(s.dev.api.releaseCommandQueue, uintptr(s.queue)))); err == nil {
		err = c.err("clReleaseCommandQueue")
	}
	return err
}
