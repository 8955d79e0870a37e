package acceltest

// Copies: every byte where it belongs, and no other touched.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/accel"
)

// direction is a way that data can take on streams of a device.
type direction struct {
	dev      accel.Device
	src, dst accel.Memory
}

func (w direction) String() string {
	return fmt.Sprintf("%s: from %s to %s", w.dev.Name(), w.src.Name(), w.dst.Name())
}

// directions are all that a device has.
func (k *kit) directions(d accel.Device) []direction {
	m := d.Memory()
	all := []direction{{d, k.main, m}, {d, m, k.main}, {d, m, m}}
	for _, o := range k.devs {
		if o != d && d.Reaches(o.Memory()) {
			all = append(all, direction{d, m, o.Memory()}, direction{d, o.Memory(), m})
		}
	}
	return all
}

// owner is the device of a memory; that of main memory is d.
func (k *kit) owner(m accel.Memory, d accel.Device) accel.Device {
	for _, o := range k.devs {
		if o.Memory() == m {
			return o
		}
	}
	return d
}

// shape is one side of a copy: steps, where it begins, and how long it is.
func (k *kit) shape(c *accel.Copy, step *[accel.MaxCounts]int64) (offset, extent int64) {
	inner := c.Bytes
	for _, a := range k.rng.Perm(accel.MaxCounts) {
		if c.Count[a] == 1 {
			step[a] = -12345 // unused
			continue
		}
		step[a] = inner + k.rng.Int64N(10)
		inner = step[a] * c.Count[a]
	}
	offset = k.rng.Int64N(50)
	return offset, offset + inner + k.rng.Int64N(20)
}

// model carries out c between two slices.
func model(c *accel.Copy, dst, src []byte) {
	rows := int64(1)
	for _, n := range c.Count {
		rows *= n
	}
	for i := range rows {
		var to, from int64
		for a := accel.MaxCounts - 1; a >= 0; a-- {
			if n := i % c.Count[a]; n > 0 {
				to += n * c.DstStep[a]
				from += n * c.SrcStep[a]
			}
			i /= c.Count[a]
		}
		copy(dst[to:to+c.Bytes], src[from:from+c.Bytes])
	}
}

// copies makes copies of 0 to 8 counts, of short, long and odd rows, in every
// direction.
func (k *kit) copies() {
	k.each(func(d accel.Device) {
		for _, w := range k.directions(d) {
			s := k.stream(d)
			from, to := k.stream(k.owner(w.src, d)), k.stream(k.owner(w.dst, d))
			for axes := range accel.MaxCounts + 1 {
				for _, bytes := range []int64{1, 8, 3, 13, 64, 257} {
					k.copyOnce(w, axes, bytes, s, from, to)
				}
			}
		}
	})
}

func (k *kit) copyOnce(w direction, axes int, bytes int64, s, from, to accel.Stream) {
	k.Helper()
	base, mark := k.main, len(k.used)
	c := &accel.Copy{Bytes: bytes, Count: accel.Counts()}
	for _, a := range k.rng.Perm(accel.MaxCounts)[:axes] {
		c.Count[a] = 2
		if axes <= 4 { // else there are rows enough
			c.Count[a] += k.rng.Int64N(3)
		}
	}
	so, sn := k.shape(c, &c.SrcStep)
	do, dn := k.shape(c, &c.DstStep)
	source, target := k.filled(sn), k.filled(dn)
	want := slices.Clone(target.host())
	model(c, want[do:], source.host()[so:])
	src, dst := source, target
	if w.src != base {
		src = k.put(from, source, w.src)
	}
	if w.dst != base {
		dst = k.put(to, target, w.dst)
	}
	c.Src, c.Dst = src.at(so), dst.at(do)
	k.begin(s, c)
	k.sync(s)
	got := dst.host
	if w.dst != base {
		got = func() []byte { return k.get(to, dst) }
	}
	k.same(got(), want, "%v, %d of %d bytes", w, c.Count, bytes)
	if w.src != base {
		k.same(k.get(from, src), source.host(), "%v: the source", w)
	}
	for _, b := range k.used[mark:] {
		b.Mem.Free(b.Ptr, b.n)
	}
	k.used = k.used[:mark]
}

// within copies from one part of an allocation to another.
func (k *kit) within() {
	k.each(func(d accel.Device) {
		s := k.stream(d)
		h := k.filled(1000)
		b := k.put(s, h, d.Memory())
		want := slices.Clone(h.host())
		copy(want[500:807], want[100:407])
		k.begin(s, row(b.at(500), b.at(100), 307))
		k.sync(s)
		k.same(k.get(s, b), want, "%s: within one allocation", d.Name())
	})
}

// large copies what takes a device some time, contiguous and as every other row.
func (k *kit) large() {
	k.each(func(d accel.Device) {
		n := min(k.o.Large, d.Memory().Capacity()/4) &^ 1023
		if n == 0 {
			return
		}
		s := k.stream(d)
		k.roundTrip(d, s, n)
		h, b := k.filled(n), k.alloc(d.Memory(), n/2)
		c := row(b.Place, h.Place, 512)
		c.Count[1], c.DstStep[1], c.SrcStep[1] = n/1024, 512, 1024
		k.begin(s, c)
		k.sync(s)
		want := make([]byte, n/2)
		model(c, want, h.host())
		k.same(k.get(s, b), want, "%s: every other row of %d bytes", d.Name(), n)
	})
}

// nothing copies nothing, in all the ways in which that can be said.
func (k *kit) nothing() {
	k.each(func(d accel.Device) {
		for _, w := range k.directions(d) {
			s := k.stream(d)
			to := k.stream(k.owner(w.dst, d))
			h := k.filled(64)
			src, dst := k.alloc(w.src, 64), h
			if w.dst != k.main {
				dst = k.put(to, h, w.dst)
			}
			want := slices.Clone(h.host())
			none := []*accel.Copy{row(dst.Place, src.Place, 0)}
			for a := range accel.MaxCounts {
				c := row(dst.Place, src.Place, 8)
				c.Count[a], c.SrcStep[a], c.DstStep[a] = 0, 8, 8
				none = append(none, c)
			}
			for _, c := range none {
				k.begin(s, c)
			}
			k.sync(s)
			got := dst.host()
			if w.dst != k.main {
				got = k.get(to, dst)
			}
			k.same(got, want, "%v: copies of nothing", w)
		}
	})
}
