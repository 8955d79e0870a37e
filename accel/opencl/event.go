package opencl

// Events: what is known about operations that were begun.

import (
	"math"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// Record implements accel.Stream.
func (s *Stream) Record() (accel.Event, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	o := &op{}
	o.begin = func() (clEvent, error) {
		a := s.dev.api
		var ev clEvent
		c := code(int32(dynlib.Call(a.marker, uintptr(s.queue), 0, 0, uintptr(ptr(&ev)))))
		if err := s.dev.failed(c, "clEnqueueMarkerWithWaitList", false); err != nil {
			return 0, err
		}
		// Flush, so that everything begun so far makes progress while the caller polls.
		c = code(int32(dynlib.Call(a.flush, uintptr(s.queue))))
		if err := s.dev.failed(c, "clFlush", false); err != nil {
			dynlib.Call(a.releaseEvent, uintptr(ev))
			return 0, err
		}
		return ev, nil
	}
	if err := s.submit(o); err != nil {
		return nil, err
	}
	return o, nil
}

// Done implements accel.Event.
func (o *op) Done() (bool, error) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if !o.ended && !o.s.settleLocked(o) {
		return false, nil
	}
	return true, o.err
}

// Sync implements accel.Event.
func (o *op) Sync() error {
	for {
		done, err := o.Done()
		if done {
			return err
		}
		o.await()
	}
}

// Since implements accel.Event.
func (o *op) Since(e accel.Event) (time.Duration, bool) {
	from, ok := e.(*op)
	if !ok || from.s.dev != o.s.dev {
		return 0, false
	}
	a, b := from.end(), o.end()
	if a == 0 || b == 0 {
		return 0, false
	}
	return time.Duration(int64(b - a)), true
}

// end is the device's clock when o ended; 0: it has not, or the time is unknown.
func (o *op) end() uint64 {
	if done, _ := o.Done(); !done {
		return 0
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	return o.clock
}

// retain returns the driver's event, which the caller releases; 0: o was not
// begun, or has ended.
func (o *op) retain() (handle clEvent, ended bool) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if o.handle != 0 {
		dynlib.Call(o.s.dev.api.retainEvent, uintptr(o.handle))
	}
	return o.handle, o.ended
}

// await waits until the driver says that everything up to o has ended.
func (o *op) await() {
	if o.begun != nil {
		<-o.begun
	}
	s := o.s
	// Operations before o end before it unless o failed, so wait for each.
	s.mu.Lock()
	first := o
	if len(s.mu.pending) > 0 && !o.ended {
		if s.statusLocked(o) <= eventComplete {
			first = s.mu.pending[0]
		}
	}
	s.mu.Unlock()
	handle, _ := first.retain()
	if handle == 0 {
		return
	}
	a := s.dev.api
	c := code(int32(dynlib.Call(a.waitForEvents, 1, uintptr(ptr(&handle)))))
	if c < 0 && c != waitListFailed { // which says that the event has an error
		s.dev.lose(c.err("clWaitForEvents"))
	}
	dynlib.Call(a.releaseEvent, uintptr(handle))
}

// statusLocked asks the driver how far o is: negative is an error.
func (s *Stream) statusLocked(o *op) code {
	if o.handle == 0 {
		return eventComplete // it failed to begin
	}
	status := int32(math.MaxInt32)
	c := code(int32(dynlib.Call(s.dev.api.getEventInfo, uintptr(o.handle), eventExecutionStatus, 4, uintptr(ptr(&status)), 0)))
	if c < 0 {
		return c
	}
	return code(status)
}

// settleLocked looks at the operations that may have ended, up to last or all
// of them (nil), and reports whether last has.
func (s *Stream) settleLocked(last *op) bool {
	lost := s.dev.lost.Load() != nil
	for len(s.mu.pending) > 0 && (last == nil || !last.ended) {
		o := s.mu.pending[0]
		c := s.statusLocked(o)
		if c > eventComplete && !lost {
			return false
		}
		s.mu.pending[0] = nil
		s.mu.pending = s.mu.pending[1:]
		s.endLocked(o, min(c, 0))
	}
	return last != nil && last.ended
}

// endLocked notes that o has ended. A lost device ends everything.
func (s *Stream) endLocked(o *op, c code) {
	a, d := s.dev.api, s.dev
	if o.err == nil && c < 0 {
		err := d.failed(c, "a command", true)
		switch {
		case o.what != nil:
			o.err = d.worded(o.what, err)
		case c != waitListFailed: // else it says that something before failed
			o.err = err
		}
	}
	if l := d.lost.Load(); l != nil {
		o.err = l
	}
	if s.mu.err == nil {
		s.mu.err = o.err
	}
	o.err = s.mu.err
	if o.handle != 0 {
		if c == 0 && o.what == nil {
			var t uint64
			if dynlib.Call(a.getProfiling, uintptr(o.handle), profilingEnd, 8, uintptr(ptr(&t)), 0) == 0 {
				o.clock = t
			}
		}
		dynlib.Call(a.releaseEvent, uintptr(o.handle))
	}
	o.handle, o.keep, o.ended = 0, nil, true
}
