package sim

// Streams: queues of copies and events. A stream that is not asynchronous does
// what is begun at once.

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/starpush/starpush/accel"
)

// stream implements accel.Stream.
//
// An operation is begun by the user of the stream, which plans its time, and done
// by the stream's goroutine, or at once. Locks: that of a stream is taken before
// that of a device or clock, and none is held over a copy, a kernel or a wait.
type stream struct {
	d    *Device
	done chan struct{} // closed when the goroutine has ended
	mu   struct {
		sync.Mutex
		change *sync.Cond // of what follows
		queue  []*op      // begun and not done
		begun  int64      // operations so far
		ended  int64      // of them
		wanted int64      // callers wait for those up to this one
		err    error      // of the first operation that failed, until Sync returns it
		closed bool
		now    time.Duration // when the last operation ends
		rng    *rand.Rand    // of Late and Jitter; nil: not needed
	}
}

// op is one operation of a stream: a copy, an event to wait for, or one to record.
type op struct {
	n      int64 // it is the nth of its stream
	copy   *accel.Copy
	fault  *FaultError // of the copy
	wait   *event
	record *event
	end    time.Duration // planned
	late   bool
	yields int // before it is done
}

func newStream(d *Device, number uint64) *stream {
	s := &stream{d: d, done: make(chan struct{})}
	s.mu.change = sync.NewCond(&s.mu.Mutex)
	if d.o.Late > 0 || d.o.Jitter > 0 {
		s.mu.rng = rand.New(rand.NewPCG(d.o.Seed, number))
	}
	if d.o.Async {
		go s.loop()
	} else {
		close(s.done)
	}
	return s
}

// loop is the stream's goroutine: it does one operation after another until the
// stream is closed.
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
		for o.late && s.mu.wanted < o.n {
			s.mu.change.Wait()
		}
		s.mu.queue = s.mu.queue[1:]
		s.mu.Unlock()
		err := s.do(o)
		s.mu.Lock()
		s.endLocked(o, err)
	}
}

// do does o and returns its error.
func (s *stream) do(o *op) error {
	for range o.yields {
		runtime.Gosched()
	}
	switch {
	case o.wait != nil:
		o.wait.stream.want(o.wait.n)
		<-o.wait.happened
	case o.copy != nil:
		s.d.clock.sleep(o.end, s.d.gone)
		return s.d.copy(o)
	}
	return nil
}

// endLocked ends o. An event returns the error of the stream so far.
func (s *stream) endLocked(o *op, err error) {
	if s.mu.err == nil {
		s.mu.err = err
	}
	if e := o.record; e != nil {
		e.err = s.mu.err
		if l := s.d.lost.Load(); l != nil {
			e.err = l
		}
		e.time = o.end
		if c := s.d.clock; c == nil || c.real {
			e.time = time.Since(epoch)
		}
		close(e.happened)
	}
	s.mu.ended = o.n
	s.mu.change.Broadcast()
}

// epoch is when time began, for devices without a virtual clock.
var epoch = time.Now()

// usableLocked returns why nothing can be begun, or nil.
func (s *stream) usableLocked() error {
	if l := s.d.lost.Load(); l != nil {
		return l
	}
	if s.mu.closed {
		return accel.ErrClosed
	}
	return nil
}

// beginLocked begins o, and does it when the stream is not asynchronous.
func (s *stream) beginLocked(o *op) {
	s.mu.begun++
	o.n = s.mu.begun
	if !s.d.o.Async {
		s.mu.Unlock()
		err := s.do(o)
		s.mu.Lock()
		s.endLocked(o, err)
		return
	}
	if r := s.mu.rng; r != nil {
		o.late = r.Float64() < s.d.o.Late
		if s.d.o.Jitter > 0 {
			o.yields = r.IntN(4)
		}
	}
	s.mu.queue = append(s.mu.queue, o)
	s.mu.change.Broadcast()
}

// jitterLocked returns a time made longer at random, by Options.Jitter at most.
func (s *stream) jitterLocked(t time.Duration) time.Duration {
	if s.mu.rng == nil || s.d.o.Jitter == 0 {
		return t
	}
	return time.Duration(min(float64(t)*(1+s.d.o.Jitter*s.mu.rng.Float64()), 1<<62))
}

// Copy implements accel.Stream.
func (s *stream) Copy(c *accel.Copy) error {
	if err := c.Check(); err != nil {
		return err
	}
	link, err := s.d.between(c.Dst.Mem, c.Src.Mem)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	if err := inside(c); err != nil {
		return err
	}
	keep := *c
	o := &op{copy: &keep}
	from, to, bytes := c.Src.Mem.Name(), c.Dst.Mem.Name(), c.Total()
	if o.fault, err = s.d.ask(Op{Kind: Copy, Bytes: bytes, From: from, To: to}); err != nil {
		return err
	}
	if clock := s.d.clock; clock != nil {
		s.mu.now = clock.copy(way{from, to}, bytes, s.jitterLocked(link.Time(bytes)), s.mu.now)
		o.end = s.mu.now
	}
	s.beginLocked(o)
	return nil
}

// between returns the link between two memories; one of them is the device's.
func (d *Device) between(a, b accel.Memory) (Link, error) {
	if b == d.mem {
		a, b = b, a
	}
	if a == d.mem {
		if b == d.mem { // within it: at the speed of kernels
			return Link{0, d.o.Kernel.Bandwidth}, nil
		}
		if l, ok := d.link(b); ok {
			return l, nil
		}
	}
	return Link{}, fmt.Errorf("sim: the device %s does not copy between %s and %s", d.o.Name, a.Name(), b.Name())
}

// copy carries out a copy.
func (d *Device) copy(o *op) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	c := o.copy
	fail := func(err error) error {
		return &accel.CopyError{From: c.Src.Mem.Name(), To: c.Dst.Mem.Name(), Bytes: c.Total(), Err: err}
	}
	for _, m := range []accel.Memory{c.Dst.Mem, c.Src.Mem} {
		if p, ok := m.(*memory); ok && p.d != d { // a peer, which can be lost alone
			if err := p.d.enter(); err != nil {
				return fail(err)
			}
			defer p.d.leave()
		}
	}
	if err := inside(c); err != nil { // it was when the copy was begun
		return fail(err)
	}
	if o.fault != nil {
		poisonRows(c)
		return fail(o.fault)
	}
	accel.CopyHost(c)
	return nil
}

// poisonRows is what a copy that fails does to its destination.
func poisonRows(c *accel.Copy) {
	row := make([]byte, c.Bytes)
	for i := range row {
		row[i] = Poison
	}
	bad := *c
	bad.Src, bad.SrcStep = accel.Place{Mem: c.Dst.Mem, Ptr: ptr(row)}, [accel.MaxCounts]int64{}
	accel.CopyHost(&bad)
}

// Do implements accel.Stream.
func (s *stream) Do(w accel.Work, fn func() error) error {
	s.mu.Lock()
	if err := s.usableLocked(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.drainLocked()
	var start, end time.Duration
	fault, err := s.d.ask(Op{Kind: Kernel, Bytes: w.Bytes, Name: w.Name})
	if err == nil && s.d.clock != nil {
		start, end = s.d.clock.kernel(s.d.kernels, s.jitterLocked(s.d.o.Kernel.Time(w.Bytes, w.Flops)), s.mu.now)
		s.mu.now = end
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if fault != nil {
		return &accel.KernelError{Device: s.d.o.Name, Kernel: w.Name, Err: fault}
	}
	s.d.clock.sleep(start, s.d.gone)
	if err := s.d.enter(); err != nil {
		return err
	}
	defer s.d.leave() // also when the kernel ends the goroutine
	err = fn()
	s.d.clock.sleep(end, s.d.gone)
	if l := s.d.lost.Load(); l != nil {
		return l
	}
	return err
}

// want asks for all operations up to the nth.
func (s *stream) want(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wantLocked(n)
}

func (s *stream) wantLocked(n int64) {
	if s.mu.wanted < n {
		s.mu.wanted = n
		s.mu.change.Broadcast()
	}
}

// drainLocked returns when everything begun has ended.
func (s *stream) drainLocked() {
	n := s.mu.begun
	s.wantLocked(n)
	for s.mu.ended < n {
		s.mu.change.Wait()
	}
}

// Sync implements accel.Stream.
func (s *stream) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drainLocked()
	err := s.mu.err
	s.mu.err = nil
	if l := s.d.lost.Load(); l != nil {
		return l
	}
	return err
}

// Close implements accel.Stream.
func (s *stream) Close() error {
	s.mu.Lock()
	first := !s.mu.closed
	s.mu.closed = true
	s.drainLocked()
	s.mu.change.Broadcast()
	s.mu.Unlock()
	<-s.done
	if !first {
		return nil
	}
	s.d.mu.Lock()
	delete(s.d.mu.streams, s)
	s.d.mu.Unlock()
	return s.Sync()
}
