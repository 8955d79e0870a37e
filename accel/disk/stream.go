package disk

// Streams: queues of copies and events, each with a goroutine that does them.

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/starpush/starpush/accel"
)

// stream implements accel.Stream.
type stream struct {
	d    *Device
	done chan struct{} // closed when the goroutine has ended
	mu   struct {
		sync.Mutex
		change *sync.Cond // of what follows
		queue  []op       // begun, and the goroutine has not got them
		begun  int64      // operations so far
		ended  int64      // of them
		err    error      // of the first that failed, until Sync returns it
		closed bool
	}
}

// op is one operation: a copy, an event to wait for, or one to record.
type op struct {
	copy   *accel.Copy
	wait   *event
	record *event
}

// event implements accel.Event.
type event struct {
	d        *Device
	happened chan struct{} // closed when it has; then the fields below are valid
	err      error
	time     time.Duration
}

func newStream(d *Device) *stream {
	s := &stream{d: d, done: make(chan struct{})}
	s.mu.change = sync.NewCond(&s.mu.Mutex)
	go s.loop()
	return s
}

// loop does one operation after another until the stream is closed.
func (s *stream) loop() {
	defer close(s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.mu.queue) == 0 && !s.mu.closed {
			s.mu.change.Wait()
		}
		if len(s.mu.queue) == 0 {
			return
		}
		o := s.mu.queue[0]
		s.mu.queue[0] = op{} // keeps nothing
		s.mu.queue = s.mu.queue[1:]
		s.mu.Unlock()
		var err error
		switch {
		case o.copy != nil:
			err = s.d.mem.copy(o.copy)
		case o.wait != nil:
			<-o.wait.happened
		}
		s.mu.Lock()
		if s.mu.err == nil {
			s.mu.err = err
		}
		if e := o.record; e != nil {
			e.err, e.time = s.mu.err, time.Since(s.d.began)
			close(e.happened)
		}
		s.mu.ended++
		s.mu.change.Broadcast()
	}
}

func (s *stream) begin(o op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return accel.ErrClosed
	}
	s.mu.begun++
	s.mu.queue = append(s.mu.queue, o)
	s.mu.change.Broadcast()
	return nil
}

// Copy implements accel.Stream.
func (s *stream) Copy(c *accel.Copy) error {
	if err := c.Check(); err != nil {
		return err
	}
	m := s.d.mem
	ours := func(o accel.Memory) bool { return o == accel.Memory(m) }
	if !ours(c.Dst.Mem) && !(ours(c.Src.Mem) && c.Dst.Mem.Host()) || !ours(c.Src.Mem) && !c.Src.Mem.Host() {
		return fmt.Errorf("disk: %s does not copy between %s and %s", s.d.name, c.Src.Mem.Name(), c.Dst.Mem.Name())
	}
	if err := m.inside(c); err != nil {
		return err
	}
	keep := *c
	return s.begin(op{copy: &keep})
}

// Do implements accel.Stream.
func (s *stream) Do(accel.Work, func() error) error { return accel.ErrNotHere }

// Record implements accel.Stream.
func (s *stream) Record() (accel.Event, error) {
	e := &event{d: s.d, happened: make(chan struct{})}
	if err := s.begin(op{record: e}); err != nil {
		return nil, err
	}
	return e, nil
}

// Wait implements accel.Stream.
func (s *stream) Wait(a accel.Event) error {
	e, ok := a.(*event)
	if !ok {
		return errors.New("disk: a stream can wait for events of disks only")
	}
	return s.begin(op{wait: e})
}

// Sync implements accel.Stream.
func (s *stream) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.mu.begun; s.mu.ended < n; {
		s.mu.change.Wait()
	}
	err := s.mu.err
	s.mu.err = nil
	return err
}

// Close implements accel.Stream.
func (s *stream) Close() error {
	s.mu.Lock()
	s.mu.closed = true
	s.mu.change.Broadcast()
	s.mu.Unlock()
	<-s.done
	return s.Sync()
}

// Done implements accel.Event.
func (e *event) Done() (bool, error) {
	select {
	case <-e.happened:
		return true, e.err
	default:
		return false, nil
	}
}

// Sync implements accel.Event.
func (e *event) Sync() error {
	<-e.happened
	return e.err
}

// Since implements accel.Event.
func (e *event) Since(a accel.Event) (time.Duration, bool) {
	o, ok := a.(*event)
	if !ok || o.d != e.d {
		return 0, false
	}
	for _, x := range []*event{e, o} {
		if done, _ := x.Done(); !done {
			return 0, false
		}
	}
	return e.time - o.time, true
}
