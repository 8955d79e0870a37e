//go:build cuda

package cuda

// Streams.

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
)

// Stream is a stream of a device.
type Stream struct {
	dev     *Device
	s       cu.Stream
	closed  bool
	chunk   unsafe.Pointer     // pinned memory for staged copies; nil before the first
	pending []*event           // recorded, and perhaps not settled
	params  *[maxParams]uint64 // of the kernel that is being launched
	work    scratch            // of the kernels under way
	answer  scratch            // of a kernel whose answer is waited for

	cublas, cusolver uintptr // handles; 0 before the first call

	last [2]unsafe.Pointer // of the last copy: what is kept here is not on a stack, which moves
}

// NewStream implements accel.Device.
func (d *Device) NewStream() (accel.Stream, error) {
	s := &Stream{dev: d, params: new([maxParams]uint64)}
	err := d.with(func() (err error) {
		s.s, err = cu.MakeStream(cu.NonBlocking)
		return d.check("cuStreamCreate", err)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Device returns the stream's device.
func (s *Stream) Device() *Device { return s.dev }

// begin calls fn on the device's context.
func (s *Stream) begin(fn func() error) error {
	if s.closed {
		return accel.ErrClosed
	}
	return s.dev.with(fn)
}

// kernel is begin for what a kernel needs and is.
func (s *Stream) kernel(name string, fn func() error) error {
	err := s.begin(fn)
	var lost *accel.LostError
	if err == nil || errors.As(err, &lost) || errors.Is(err, accel.ErrClosed) {
		return err
	}
	return &accel.KernelError{Device: s.dev.name, Kernel: name, Err: err}
}

// Do implements accel.Stream.
func (s *Stream) Do(accel.Work, func() error) error {
	if s.closed {
		return accel.ErrClosed
	}
	return accel.ErrNotHere
}

// Copy implements accel.Stream.
func (s *Stream) Copy(c *accel.Copy) error {
	if err := c.Check(); err != nil {
		return err
	}
	d := s.dev
	dst, src := d.side(c.Dst), d.side(c.Src)
	s.last = [2]unsafe.Pointer{c.Dst.Ptr, c.Src.Ptr}
	switch {
	case dst.ctx != d.handle() && src.ctx != d.handle():
		return fmt.Errorf("cuda: a copy from %s to %s by %s", c.Src.Mem.Name(), c.Dst.Mem.Name(), d.name)
	case !d.Reaches(c.Dst.Mem) || !d.Reaches(c.Src.Mem):
		return fmt.Errorf("cuda: %s does not reach both %s and %s", d.name, c.Src.Mem.Name(), c.Dst.Mem.Name())
	}
	err := s.begin(func() error {
		if c.Total() == 0 {
			return nil
		}
		if err := peersAlive(c); err != nil {
			return err
		}
		r := makeRows(c)
		if dst.host && !r.pinnedAt(dst.addr, true) || src.host && !r.pinnedAt(src.addr, false) {
			return s.stage(&r, dst, src)
		}
		return s.direct(&r, dst, src)
	})
	return s.dev.copyFailed(c, err)
}

// side describes a place to the driver.
func (d *Device) side(p accel.Place) side {
	if m, ok := p.Mem.(*Memory); ok {
		return side{addr: address(p.Ptr), ctx: m.dev.handle()}
	}
	return side{host: true, addr: address(p.Ptr)}
}

// handle names the device's context.
func (d *Device) handle() uintptr { return contextHandle(d.ctx) }

// peersAlive returns an error when a memory of c is that of a device that is gone:
// its errors must not become those of the stream's device.
func peersAlive(c *accel.Copy) error {
	for _, p := range []accel.Place{c.Dst, c.Src} {
		if m, ok := p.Mem.(*Memory); ok {
			if lost := m.dev.lost.Load(); lost != nil {
				return lost.Err
			}
			if m.dev.closed.Load() {
				return accel.ErrClosed
			}
		}
	}
	return nil
}

// copyFailed makes an error of a copy, unless the device is gone.
func (d *Device) copyFailed(c *accel.Copy, err error) error {
	var lost *accel.LostError
	if err == nil || errors.As(err, &lost) || errors.Is(err, accel.ErrClosed) {
		return err
	}
	return &accel.CopyError{From: c.Src.Mem.Name(), To: c.Dst.Mem.Name(), Bytes: c.Total(), Err: err}
}

// direct begins a copy that the device carries out alone.
func (s *Stream) direct(r *rows, dst, src side) error {
	return r.boxes(s.dev.pitch, func(b *box) error {
		return s.dev.check("", copyBox(s.s, dst, src, b))
	})
}

// prune is the number of events from which a stream looks which have happened.
const prune = 64

// Record implements accel.Stream.
func (s *Stream) Record() (accel.Event, error) {
	e := &event{dev: s.dev}
	err := s.begin(func() error {
		ev, err := s.dev.takeEvent()
		if err != nil {
			return err
		}
		if err := ev.Record(s.s); err != nil {
			s.dev.giveEvent(ev)
			return s.dev.check("cuEventRecord", err)
		}
		e.mu.ev = ev
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(s.pending) >= prune {
		s.settle()
	}
	s.pending = append(s.pending, e)
	return e, nil
}

// settle drops the events that have happened, so that events that are never polled
// become free as well.
func (s *Stream) settle() {
	for i, e := range s.pending {
		if done, _ := e.Done(); !done {
			s.pending = append(s.pending[:0], s.pending[i:]...) // in order: the rest has not
			return
		}
	}
	s.pending = s.pending[:0]
}

// Wait implements accel.Stream.
func (s *Stream) Wait(of accel.Event) error {
	e, ok := of.(*event)
	if !ok {
		return fmt.Errorf("cuda: a stream of %s cannot wait for an event of another driver", s.dev.name)
	}
	return s.begin(func() error {
		// Under the lock the driver's event is still this one's. The driver remembers
		// what it stood for when the call returns.
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.mu.settled {
			return nil
		}
		return s.dev.check("cuStreamWaitEvent", s.s.Wait(e.mu.ev, 0))
	})
}

// Sync implements accel.Stream. It sleeps in an event, because
// cuStreamSynchronize keeps a processor busy unless the shared context has a flag against it.
func (s *Stream) Sync() error {
	e, err := s.Record()
	if err != nil {
		return err
	}
	return e.Sync()
}

// Close implements accel.Stream.
func (s *Stream) Close() error {
	if s.closed {
		return nil
	}
	err := s.Sync()
	s.settle()
	s.closed = true
	if s.chunk != nil {
		s.dev.giveChunk(s.chunk)
	}
	return errors.Join(err, s.dev.with(func() error {
		return errors.Join(s.closeLibraries(), s.freeWork(), s.dev.check("cuStreamDestroy", s.s.Destroy()))
	}))
}
