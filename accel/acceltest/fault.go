package acceltest

// Faults: errors that come once, and those that stay.

import (
	"errors"
	"slices"
	"sync"

	"github.com/starpush/starpush/accel"
)

func (k *kit) allocFails() {
	k.each(func(d accel.Device) {
		f, m := k.faults(d), d.Memory()
		if f.Alloc == nil {
			k.Skip("nothing makes an allocation fail")
		}
		f.Alloc()
		p, err := m.Alloc(100)
		k.full(m, 100, p, err)
		if m.Allocated() != 0 {
			k.Errorf("%s: %d bytes are in use after an allocation that failed", m.Name(), m.Allocated())
		}
		k.roundTrip(d, k.stream(d), 100)
	})
}

// failing begins a copy that fails, and returns its error.
func (k *kit) failing(s accel.Stream, c *accel.Copy) error {
	k.Helper()
	if err := s.Copy(c); err != nil {
		return err
	}
	return s.Sync()
}

// copyError checks the error of a copy.
func (k *kit) copyError(err error, c *accel.Copy) {
	k.Helper()
	var bad *accel.CopyError
	var lost *accel.LostError
	switch {
	case !errors.As(err, &bad) || errors.As(err, &lost):
		k.Errorf("a copy that fails: %v", err)
	case bad.From != c.Src.Mem.Name() || bad.To != c.Dst.Mem.Name() || bad.Bytes != c.Total() || bad.Err == nil:
		k.Errorf("a copy of %d bytes from %s to %s that fails: %v", c.Total(), c.Src.Mem.Name(), c.Dst.Mem.Name(), err)
	}
}

func (k *kit) copyFails() {
	k.each(func(d accel.Device) {
		f := k.faults(d)
		if f.Copy == nil {
			k.Skip("nothing makes a copy fail")
		}
		s, other := k.stream(d), k.stream(d)
		h := k.filled(3000)
		want := slices.Clone(h.host())
		b := k.put(s, h, d.Memory())
		// in each direction: an error once, and the source as before
		x := k.alloc(d.Memory(), 3000)
		for _, c := range []*accel.Copy{row(x.Place, h.Place, 1000), row(k.alloc(k.main, 3000).Place, b.Place, 1001), row(x.Place, b.Place, 1002)} {
			f.Copy()
			k.copyError(k.failing(s, c), c)
			if err := s.Sync(); err != nil {
				k.Errorf("%s: Sync returns an error again: %v", d.Name(), err)
			}
			if err := other.Sync(); err != nil {
				k.Errorf("%s: the error of a stream comes from another: %v", d.Name(), err)
			}
		}
		k.same(h.host(), want, "%s: main memory after a copy from there failed", d.Name())
		k.same(k.get(s, b), want, "%s: a device after a copy from there failed", d.Name())

		// an event tells, and of two errors the first
		one, two := row(x.Place, h.Place, 1), row(x.at(1), h.Place, 2)
		f.Copy()
		if s.Copy(one) != nil {
			return // found out at once: there is nothing to remember
		}
		e := k.record(s)
		k.copyError(e.Sync(), one)
		f.Copy()
		k.begin(s, two)
		e = k.record(s)
		k.copyError(e.Sync(), one)
		done, err := e.Done()
		k.copyError(err, one)
		if !done {
			k.Errorf("%s: an event after a failed copy never happens", d.Name())
		}
		if done, err := k.record(other).Done(); done && err != nil {
			k.Errorf("%s: the error of a stream is in events of another: %v", d.Name(), err)
		}
		k.copyError(s.Sync(), one)
		if err := s.Sync(); err != nil {
			k.Errorf("%s: Sync returns an error again: %v", d.Name(), err)
		}
		if err := k.record(s).Sync(); err != nil {
			k.Errorf("%s: an event has an error that Sync had returned: %v", d.Name(), err)
		}
		k.roundTrip(d, s, 1000)
	})
}

func (k *kit) kernelFails() {
	k.each(func(d accel.Device) {
		f := k.faults(d)
		if f.Kernel == nil || d.Arch() != "cpu" {
			k.Skip("nothing makes a kernel fail")
		}
		s := k.stream(d)
		f.Kernel()
		if err := s.Do(accel.Work{Name: "bad"}, func() error { return nil }); err == nil {
			k.Errorf("%s: a kernel does not fail", d.Name())
		}
		called := false
		if err := s.Do(accel.Work{Name: "good"}, func() error { called = true; return nil }); err != nil || !called {
			k.Errorf("%s: the kernel after one that failed: %v, called: %v", d.Name(), err, called)
		}
		if err := s.Sync(); err != nil {
			k.Errorf("%s: the error of a kernel comes again: %v", d.Name(), err)
		}
		k.roundTrip(d, s, 100)
	})
}

// isLost checks that err says that d is lost.
func (k *kit) isLost(what string, d accel.Device, err error) {
	k.Helper()
	var lost *accel.LostError
	if !errors.As(err, &lost) || lost.Device != d.Name() || lost.Err == nil {
		k.Errorf("%s, which is lost: %s: %v", d.Name(), what, err)
	}
}

// lost loses the first device: all that is done with it is an error that stays,
// and the others go on.
func (k *kit) lost() {
	d := k.devs[0]
	f := k.faults(d)
	if f.Lose == nil {
		k.Skip("nothing loses a device")
	}
	s, untouched := k.stream(d), k.stream(d)
	h := k.filled(1000)
	b := k.put(s, h, d.Memory())
	before := k.record(s)
	k.begin(s, row(b.Place, h.Place, 1000))
	k.begin(s, row(h.Place, b.Place, 1000))
	f.Lose()
	k.lose[d] = true

	p, err := d.Memory().Alloc(8)
	k.isLost("Alloc", d, err)
	if p != nil {
		k.Errorf("%s, which is lost, gives memory", d.Name())
	}
	_, err = d.NewStream()
	k.isLost("NewStream", d, err)
	for range 2 {
		for _, s := range []accel.Stream{s, untouched} {
			k.isLost("a copy", d, k.failing(s, row(b.Place, h.Place, 8)))
			k.isLost("Sync", d, s.Sync())
			if d.Arch() == "cpu" {
				k.isLost("Do", d, s.Do(accel.Work{}, func() error { k.Error("a kernel runs on a device that is lost"); return nil }))
			}
			e, err := s.Record()
			if err == nil {
				var done bool
				if done, err = e.Done(); !done {
					k.Errorf("%s, which is lost: an event has not happened", d.Name())
				}
				k.isLost("Event.Sync", d, e.Sync())
			}
			k.isLost("an event", d, err)
			s.Wait(before)
		}
	}
	before.Done()
	before.Sync() // it had happened or had not
	before.Since(before)

	for _, o := range k.devs[1:] {
		s := k.stream(o)
		k.roundTrip(o, s, 1000)
		if o.Reaches(d.Memory()) { // what is between them fails, and the other is as before
			x := k.alloc(o.Memory(), 8)
			if err := k.failing(s, row(x.Place, b.Place, 8)); err == nil {
				k.Errorf("%s copies from %s, which is lost", o.Name(), d.Name())
			}
			s.Sync()
			k.roundTrip(o, s, 1000)
		}
	}
}

// lostAtWork loses a device while goroutines use it.
func (k *kit) lostAtWork() {
	d := k.devs[0]
	f := k.faults(d)
	if f.Lose == nil {
		k.Skip("nothing loses a device")
	}
	k.lose[d] = true
	var all sync.WaitGroup
	begun := make(chan bool, 4)
	for g := range cap(begun) {
		all.Go(func() {
			s, err := d.NewStream()
			if err != nil {
				k.Errorf("%s: NewStream: %v", d.Name(), err)
				begun <- true
				return
			}
			for i := 0; err == nil; i++ { // until it is lost: nothing else ends this
				err = k.work(d, s, byte(g+i))
				if i == 2 || i < 2 && err != nil {
					begun <- true
				}
			}
			k.isLost("work", d, err)
			k.isLost("Sync", d, s.Sync())
			s.Close()
		})
	}
	for range cap(begun) {
		<-begun
	}
	f.Lose()
	all.Wait()
	for _, o := range k.devs[1:] {
		if err := k.work(o, k.stream(o), 7); err != nil {
			k.Errorf("%s, when %s is lost: %v", o.Name(), d.Name(), err)
		}
	}
}
