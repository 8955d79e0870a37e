package sim

// Events: moments in streams.

import (
	"errors"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// event implements accel.Event.
type event struct {
	stream   *stream
	n        int64         // it is the nth operation of the stream
	at       time.Duration // planned
	happened chan struct{} // closed when it has; then the fields below are valid
	err      error
	time     time.Duration // on the clock that Since reads
}

// Record implements accel.Stream.
func (s *stream) Record() (accel.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return nil, err
	}
	e := &event{stream: s, n: s.mu.begun + 1, at: s.mu.now, happened: make(chan struct{})}
	s.beginLocked(&op{record: e, end: e.at})
	return e, nil
}

// Wait implements accel.Stream.
func (s *stream) Wait(a accel.Event) error {
	e, ok := a.(*event)
	if !ok {
		return errors.New("sim: a stream can wait for events of simulated devices only")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	if s.d.clock != nil && e.stream.d.clock == s.d.clock {
		s.mu.now = max(s.mu.now, e.at)
	}
	s.beginLocked(&op{wait: e})
	return nil
}

// Done implements accel.Event.
func (e *event) Done() (bool, error) {
	select {
	case <-e.happened:
		return true, e.err
	default:
		e.stream.want(e.n)
		return false, nil
	}
}

// Sync implements accel.Event.
func (e *event) Sync() error {
	e.stream.want(e.n)
	<-e.happened
	return e.err
}

// Since implements accel.Event.
func (e *event) Since(a accel.Event) (time.Duration, bool) {
	o, ok := a.(*event)
	if !ok || o.stream.d != e.stream.d {
		return 0, false
	}
	for _, x := range []*event{e, o} {
		select {
		case <-x.happened:
		default:
			return 0, false
		}
	}
	return e.time - o.time, true
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
