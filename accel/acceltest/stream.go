package acceltest

// Streams and events: what happens in order, and what waits for what.

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/starpush/starpush/accel"
)

const (
	rounds = 50  // of copies that only their order makes right
	piece  = 300 // bytes of each
)

// order sends many pieces through the same two places of a device, without
// waiting in between.
func (k *kit) order() {
	k.each(func(d accel.Device) {
		s := k.stream(d)
		in, out := k.filled(rounds*piece), k.alloc(k.main, rounds*piece)
		x, y := k.alloc(d.Memory(), piece), k.alloc(d.Memory(), piece)
		for i := range int64(rounds) {
			k.begin(s, row(x.Place, in.at(i*piece), piece))
			k.begin(s, row(y.Place, x.Place, piece))
			k.begin(s, row(out.at(i*piece), y.Place, piece))
		}
		k.sync(s)
		k.same(out.host(), in.host(), "%s: one stream", d.Name())
	})
}

// waitAcross sends pieces through one place by two streams that wait for each
// other.
func (k *kit) waitAcross() {
	k.each(func(d accel.Device) {
		up, down := k.stream(d), k.stream(d)
		in, out := k.filled(rounds*piece), k.alloc(k.main, rounds*piece)
		x := k.alloc(d.Memory(), piece)
		for i := range int64(rounds) {
			k.begin(up, row(x.Place, in.at(i*piece), piece))
			k.await(down, k.record(up))
			k.begin(down, row(out.at(i*piece), x.Place, piece))
			k.await(up, k.record(down))
		}
		k.sync(down)
		k.same(out.host(), in.host(), "%s: two streams", d.Name())
	})
}

// waitDevices is waitAcross with the streams of two devices and a place in main
// memory between them.
func (k *kit) waitDevices() {
	for i, d := range k.devs {
		o := k.devs[(i+1)%len(k.devs)]
		if d == o {
			continue
		}
		a, b := k.stream(d), k.stream(o)
		in, out := k.filled(rounds*piece), k.alloc(k.main, rounds*piece)
		x, between, y := k.alloc(d.Memory(), piece), k.alloc(k.main, piece), k.alloc(o.Memory(), piece)
		for i := range int64(rounds) {
			k.begin(a, row(x.Place, in.at(i*piece), piece))
			k.begin(a, row(between.Place, x.Place, piece))
			k.await(b, k.record(a))
			k.begin(b, row(y.Place, between.Place, piece))
			k.await(a, k.record(b))
			k.begin(b, row(out.at(i*piece), y.Place, piece))
		}
		k.sync(b)
		k.same(out.host(), in.host(), "%s and %s", d.Name(), o.Name())
	}
}

// foreign is an event that no device recorded.
type foreign struct{}

func (foreign) Done() (bool, error)                     { return true, nil }
func (foreign) Sync() error                             { return nil }
func (foreign) Since(accel.Event) (time.Duration, bool) { return 0, false }

func (k *kit) events() {
	k.each(func(d accel.Device) {
		s := k.stream(d)
		first := k.record(s) // of a stream that has done nothing
		in, out := k.filled(rounds*piece), k.alloc(k.main, rounds*piece)
		x := k.alloc(d.Memory(), rounds*piece)
		var passed []accel.Event
		for i := range int64(rounds) {
			k.begin(s, row(x.at(i*piece), in.at(i*piece), piece))
			k.begin(s, row(out.at(i*piece), x.at(i*piece), piece))
			passed = append(passed, k.record(s))
		}
		if err := first.Sync(); err != nil {
			k.Errorf("%s: an event of an idle stream: %v", d.Name(), err)
		}
		for i := range int64(rounds) {
			e := passed[i]
			if i%2 == 0 { // both ways to find out
				if err := e.Sync(); err != nil {
					k.Errorf("%s: Sync of an event: %v", d.Name(), err)
				}
			}
			k.poll(d, e)
			k.same(out.host()[i*piece:(i+1)*piece], in.host()[i*piece:(i+1)*piece], "%s: after event %d", d.Name(), i)
		}
		k.sync(s)
		all := append([]accel.Event{first}, passed...)
		for i, e := range all {
			if done, err := e.Done(); !done || err != nil {
				k.Errorf("%s: event %d of a stream that has ended: %v, %v", d.Name(), i, done, err)
			}
			if t, ok := e.Since(e); ok && t != 0 {
				k.Errorf("%s: an event since itself: %v", d.Name(), t)
			}
			if _, ok := e.Since(foreign{}); ok {
				k.Errorf("%s: Since accepts an event of another driver", d.Name())
			}
			for _, o := range all[:i] {
				t, ok := e.Since(o)
				back, okBack := o.Since(e)
				if ok != okBack || ok && (t < 0 || back != -t) {
					k.Errorf("%s: event %d since one before: %v, %v; and back: %v, %v", d.Name(), i, t, ok, back, okBack)
				}
			}
		}
	})
}

// poll asks whether e has happened until it has.
func (k *kit) poll(d accel.Device, e accel.Event) {
	k.Helper()
	for {
		done, err := e.Done()
		if err != nil {
			k.Errorf("%s: Done: %v", d.Name(), err)
		}
		if done || err != nil {
			return
		}
		runtime.Gosched()
	}
}

// eventsConcurrently lets many goroutines ask for the same events.
func (k *kit) eventsConcurrently() {
	k.each(func(d accel.Device) {
		s := k.stream(d)
		in, out := k.filled(rounds*piece), k.alloc(k.main, rounds*piece)
		x := k.alloc(d.Memory(), piece)
		var all sync.WaitGroup
		for i := range int64(rounds) {
			k.begin(s, row(x.Place, in.at(i*piece), piece))
			k.begin(s, row(out.at(i*piece), x.Place, piece))
			e := k.record(s)
			for g := range 3 {
				all.Go(func() {
					if g == 0 {
						k.poll(d, e)
					} else if err := e.Sync(); err != nil {
						k.Errorf("%s: Sync of an event: %v", d.Name(), err)
					}
					if got := out.host()[i*piece : (i+1)*piece]; !slices.Equal(got, in.host()[i*piece:(i+1)*piece]) {
						k.Errorf("%s: the copy before event %d has not ended when the event has happened", d.Name(), i)
					}
					e.Since(e)
				})
			}
		}
		all.Wait()
		k.sync(s)
	})
}

// concurrently lets many goroutines work with streams of their own.
func (k *kit) concurrently() {
	var all sync.WaitGroup
	for g := range 8 {
		d := k.devs[g%len(k.devs)]
		all.Go(func() {
			s, err := d.NewStream()
			if err != nil {
				k.Errorf("%s: NewStream: %v", d.Name(), err)
				return
			}
			for i := range 40 {
				if err := k.work(d, s, byte(g*40+i)); err != nil {
					k.Errorf("%s: %v", d.Name(), err)
					break
				}
			}
			if err := s.Close(); err != nil {
				k.Errorf("%s: Close: %v", d.Name(), err)
			}
		})
	}
	all.Wait()
}

// work sends a few bytes to a device, works on them where the kit can, and gets
// them back. It may be called by any goroutine. Errors of the device are returned.
func (k *kit) work(d accel.Device, s accel.Stream, first byte) error {
	const n = 1000
	m := d.Memory()
	in, out := make([]byte, n), make([]byte, n)
	for i := range in {
		in[i] = first + byte(i)
	}
	p, err := m.Alloc(n)
	if err != nil {
		return err
	}
	defer m.Free(p, n)
	defer s.Sync() // nothing uses the memory when it goes
	at := accel.Place{Mem: m, Ptr: p}
	if err := s.Copy(row(at, k.place(in), n)); err != nil {
		return err
	}
	if d.Arch() == "cpu" {
		err := s.Do(accel.Work{Name: "add", Bytes: n, Flops: n}, func() error {
			for i, b := range bytesAt(at, n) {
				bytesAt(at, n)[i] = b + 1
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := range in {
			in[i]++
		}
	}
	if err := s.Copy(row(k.place(out), at, n)); err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	if !slices.Equal(in, out) {
		k.Errorf("%s: what came back is not what was sent", d.Name())
	}
	return nil
}
