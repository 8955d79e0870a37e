package acceltest

// Misuse: an error, and never a crash.

import "github.com/starpush/starpush/accel"

// misuse begins copies that make no sense, and then one that does.
func (k *kit) misuse() {
	k.each(func(d accel.Device) {
		s := k.stream(d)
		h, b := k.filled(100), k.alloc(d.Memory(), 100)
		bad := map[string]*accel.Copy{
			"no memory":        {Bytes: 8, Count: accel.Counts()},
			"no source":        row(b.Place, accel.Place{}, 8),
			"no destination":   row(accel.Place{}, b.Place, 8),
			"rows of -1 bytes": row(b.Place, h.Place, -1),
		}
		for a := range accel.MaxCounts {
			c := row(b.Place, h.Place, 8)
			c.Count[a] = -1
			bad["-1 rows of axis "+string(rune('0'+a))] = c
		}
		over := row(b.Place, h.Place, 1<<32)
		over.Count = accel.Counts(1<<32, 1<<32)
		bad["a total that overflows"] = over
		if !d.Memory().Host() {
			bad["from main memory to main memory"] = row(h.at(50), h.Place, 8)
		}
		for _, o := range k.devs {
			if o != d && !d.Reaches(o.Memory()) {
				x := k.alloc(o.Memory(), 100)
				bad["from "+o.Memory().Name()+", which it does not reach"] = row(b.Place, x.Place, 8)
				bad["to "+o.Memory().Name()+", which it does not reach"] = row(x.Place, b.Place, 8)
			}
		}
		for what, c := range bad {
			err := s.Copy(c)
			if err == nil {
				err = s.Sync()
			}
			if err == nil {
				k.Errorf("%s: a copy with %s is no error", d.Name(), what)
			}
			s.Sync()
		}
		if d.Reaches(nil) {
			k.Errorf("%s reaches no memory", d.Name())
		}
		s.Wait(foreign{}) // an error or nothing
		s.Wait(nil)
		s.Sync()
		k.roundTrip(d, s, 100)
	})
}

// closed uses streams, and then devices, that are closed.
func (k *kit) closed() {
	k.each(func(d accel.Device) {
		s, err := d.NewStream()
		if err != nil {
			k.Fatalf("%s: NewStream: %v", d.Name(), err)
		}
		other := k.stream(d)
		in, out := k.filled(piece), k.alloc(k.main, piece)
		b := k.alloc(d.Memory(), piece)
		k.begin(s, row(b.Place, in.Place, piece))
		k.begin(s, row(out.Place, b.Place, piece))
		e := k.record(s)
		for range 2 {
			if err := s.Close(); err != nil {
				k.Errorf("%s: Close: %v", d.Name(), err)
			}
		}
		k.same(out.host(), in.host(), "%s: Close waits", d.Name())
		if done, err := e.Done(); !done || err != nil {
			k.Errorf("%s: an event of a closed stream: %v, %v", d.Name(), done, err)
		}
		if err := e.Sync(); err != nil {
			k.Errorf("%s: an event of a closed stream: %v", d.Name(), err)
		}
		e.Since(e)
		k.await(other, e)
		k.roundTrip(d, other, piece)
		k.useClosed(d, s, b)
	})
	for _, s := range k.open {
		s.Close()
	}
	for _, b := range k.used {
		b.Mem.Free(b.Ptr, b.n)
	}
	k.open, k.used = nil, nil
	k.each(func(d accel.Device) {
		if err := d.Close(); err != nil {
			k.Errorf("%s: Close: %v", d.Name(), err)
		}
		_, err := d.NewStream()
		if err == nil && !k.o.Endless {
			k.Errorf("%s makes a stream after Close", d.Name())
		}
		p, err := d.Memory().Alloc(8)
		switch {
		case err != nil:
		case !k.o.Endless:
			k.Errorf("%s allocates memory after Close", d.Name())
		default:
			d.Memory().Free(p, 8)
		}
		if d.Name() == "" || d.Arch() == "" || d.Units() < 0 || d.Memory().Name() == "" || d.Memory().Capacity() < 0 {
			k.Errorf("a closed device is %s with %d units for %s", d.Name(), d.Units(), d.Arch())
		}
		d.Reaches(k.main)
	})
}

// useClosed does with a closed stream what can be done with one.
func (k *kit) useClosed(d accel.Device, s accel.Stream, b buffer) {
	h, e := k.filled(piece), k.record(k.stream(d))
	bad := map[string]error{
		"Copy": s.Copy(row(b.Place, h.Place, piece)),
		"Do":   s.Do(accel.Work{}, func() error { return nil }),
		"Wait": s.Wait(e),
	}
	_, bad["Record"] = s.Record()
	for what, err := range bad {
		if err == nil && !k.o.Endless {
			k.Errorf("%s: %s of a closed stream is no error", d.Name(), what)
		}
	}
	s.Sync()
	s.Close()
}
