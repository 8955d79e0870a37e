//go:build cuda

package cuda

// Events, and the clock of a device.
//
// An event of the driver is reused as soon as it is known to have happened, because an
// accel.Event has no method that gives it up. The time when it happened is kept as a
// number.

import (
	"sync"
	"time"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
)

type event struct {
	dev *Device

	mu struct {
		sync.Mutex
		ev      cu.Event
		users   int  // calls that wait for ev without the lock
		settled bool // it has happened; the rest is known
		err     error
		at      time.Duration
		known   bool // at is
	}
}

// takeEvent returns an unused event, on the device's context.
func (d *Device) takeEvent() (cu.Event, error) {
	d.mu.Lock()
	if n := len(d.mu.events); n > 0 {
		ev := d.mu.events[n-1]
		d.mu.events = d.mu.events[:n-1]
		d.mu.Unlock()
		return ev, nil
	}
	d.mu.Unlock()
	// a waiting thread sleeps instead of spinning
	ev, err := cu.MakeEvent(cu.BlockingSyncEvent)
	return ev, d.check("cuEventCreate", err)
}

func (d *Device) giveEvent(ev cu.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.events = append(d.mu.events, ev)
}

// settleLocked notes that e has happened, with what the driver returned.
func (e *event) settleLocked(err error) {
	if !e.mu.settled {
		e.mu.settled, e.mu.err = true, err
		if err == nil {
			e.mu.at, e.mu.known, e.mu.ev = e.dev.clock.read(e.mu.ev)
		}
	}
	if e.mu.users == 0 && e.mu.ev != (cu.Event{}) {
		e.dev.giveEvent(e.mu.ev)
		e.mu.ev = cu.Event{}
	}
}

// Done implements accel.Event.
func (e *event) Done() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.settled {
		return true, e.mu.err
	}
	pending := false
	err := e.dev.with(func() error {
		err := e.mu.ev.Query()
		if pending = err != nil && code(err) == notReady; pending {
			return nil
		}
		err = e.dev.check("cuEventQuery", err)
		e.settleLocked(err)
		return err
	})
	switch {
	case pending:
		return false, nil
	case err != nil && !e.mu.settled:
		e.settleLocked(err) // the device was lost or closed before the question
	}
	return true, err
}

// Sync implements accel.Event.
func (e *event) Sync() error {
	e.mu.Lock()
	if e.mu.settled {
		defer e.mu.Unlock()
		return e.mu.err
	}
	e.mu.users++
	ev := e.mu.ev
	e.mu.Unlock()
	err := e.dev.with(func() error {
		err := e.dev.check("cuEventSynchronize", ev.Synchronize())
		e.mu.Lock()
		defer e.mu.Unlock()
		e.mu.users--
		e.settleLocked(err)
		return e.mu.err
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.mu.settled {
		e.mu.users--
		e.settleLocked(err)
	}
	return e.mu.err
}

// resolution is that of the device's clock, about.
const resolution = time.Microsecond / 2

// Since implements accel.Event.
func (e *event) Since(o accel.Event) (time.Duration, bool) {
	b, ok := o.(*event)
	if !ok || b.dev != e.dev {
		return 0, false
	}
	at, ok := e.when()
	from, okFrom := b.when()
	d := at - from
	if d > -resolution && d < resolution {
		d = 0 // two readings of the clock can differ by that in either direction
	}
	return d, ok && okFrom
}

func (e *event) when() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.at, e.mu.known
}

// clock tells when events happened, as the time since the device was opened. The
// driver measures between two events, in a float32: a base that moves along keeps
// the distances short and the times exact.
type clock struct {
	dev *Device

	mu struct {
		sync.Mutex
		base cu.Event
		at   time.Duration // of base
		far  time.Duration // an event that far from it is the next base
	}
}

// rebase is the distance from which an event is the next base: float32 tells 60 ns
// apart at one second.
const rebase = 100 * time.Millisecond

// start makes the first base, on the device's context.
func (c *clock) start(d *Device) error {
	c.dev = d
	ev, err := cu.MakeEvent(cu.BlockingSyncEvent)
	if err != nil {
		return d.check("cuEventCreate", err)
	}
	c.mu.base, c.mu.far = ev, rebase
	if err := ev.Record(cu.NoStream); err != nil {
		return d.check("cuEventRecord", err)
	}
	return d.check("cuEventSynchronize", ev.Synchronize())
}

// read returns when ev happened, and an event for ev's owner to keep: ev, or the
// old base when ev is the new one.
func (c *clock) read(ev cu.Event) (at time.Duration, ok bool, keep cu.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ms, err := c.mu.base.Elapsed(ev)
	if err != nil {
		return 0, false, ev
	}
	d := time.Duration(ms * float64(time.Millisecond))
	at = c.mu.at + d
	if d > c.mu.far {
		c.mu.base, c.mu.at, ev = ev, at, c.mu.base
	}
	return at, true, ev
}

// stop returns the last base.
func (c *clock) stop() []cu.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.base == (cu.Event{}) {
		return nil
	}
	base := c.mu.base
	c.mu.base = cu.Event{}
	return []cu.Event{base}
}
