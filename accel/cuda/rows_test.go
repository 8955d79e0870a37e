package cuda

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// randomCopy makes a copy between two slices, and what dst must hold after it.
func randomCopy(rng *rand.Rand) (c *accel.Copy, dst, src, want []byte) {
	c = &accel.Copy{Bytes: 1 + rng.Int64N(20)}
	side := func(step *[accel.MaxCounts]int64) int64 {
		inner := c.Bytes
		for _, a := range rng.Perm(accel.MaxCounts) {
			step[a] = inner + rng.Int64N(3)*rng.Int64N(5)
			inner = step[a] * c.Count[a]
		}
		return inner
	}
	for a := range c.Count {
		c.Count[a] = 1 + rng.Int64N(2+rng.Int64N(3)) // often 1: there are eight
	}
	dst, src = make([]byte, side(&c.DstStep)), make([]byte, side(&c.SrcStep))
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	want = make([]byte, len(dst))
	place := func(b []byte) accel.Place { return accel.Place{Ptr: unsafe.Pointer(unsafe.SliceData(b))} }
	model := *c
	model.Dst, model.Src = place(want), place(src)
	accel.CopyHost(&model)
	return c, dst, src, want
}

// carry out b as the driver does.
func (b *box) carryOut(dst, src []byte) {
	for z := range b.depth {
		for y := range b.height {
			d, s := b.dst+(z*b.dstSlice+y)*b.dstPitch, b.src+(z*b.srcSlice+y)*b.srcPitch
			copy(dst[d:d+b.width], src[s:s+b.width])
		}
	}
}

func TestBoxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var one, two, three int
	for i := range 3000 {
		c, dst, src, want := randomCopy(rng)
		r := makeRows(c)
		if r.total() != c.Total() {
			t.Fatalf("%+v: %d bytes, not %d", r, r.total(), c.Total())
		}
		limit := int64(1 << 31)
		if i%3 == 0 {
			limit = 64 // no longer pitches
		}
		r.boxes(limit, func(b *box) error {
			if b.height > 1 && (b.dstPitch < b.width || b.srcPitch < b.width || max(b.dstPitch, b.srcPitch) > limit) {
				t.Fatalf("%+v", b)
			}
			if b.depth > 1 && (b.dstSlice < b.height || b.srcSlice < b.height) {
				t.Fatalf("%+v", b)
			}
			switch {
			case b.depth > 1:
				three++
			case b.height > 1:
				two++
			default:
				one++
			}
			b.carryOut(dst, src)
			return nil
		})
		if !bytes.Equal(dst, want) {
			t.Fatalf("%+v: boxes of %+v put other bytes there", c, r)
		}
	}
	if min(one, two, three) < 100 {
		t.Errorf("%d, %d and %d boxes of 1, 2 and 3 dimensions", one, two, three)
	}
}

// TestPieces copies through a buffer that is too small.
func TestPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		c, dst, src, want := randomCopy(rng)
		r, limit := makeRows(c), 1+rng.Int64N(100)
		buffer := make([]byte, limit)
		r.pieces(limit, func(p *rows, d, s int64) error {
			in, out := p.packed(true), p.packed(false)
			if p.total() > limit || p.total() == 0 {
				t.Fatalf("a piece of %d bytes, limit %d", p.total(), limit)
			}
			in.boxes(1<<31, func(b *box) error { b.carryOut(buffer, src[s:]); return nil })
			out.boxes(1<<31, func(b *box) error { b.carryOut(dst[d:], buffer); return nil })
			return nil
		})
		if !bytes.Equal(dst, want) {
			t.Fatalf("%+v: pieces of at most %d bytes put other bytes there", c, limit)
		}
	}
}

// TestFewAxes: what is contiguous is one row, however it was described.
func TestFewAxes(t *testing.T) {
	c := &accel.Copy{Bytes: 8, Count: accel.Counts(3, 5, 1, 7), DstStep: [accel.MaxCounts]int64{8, 24, -1, 120}, SrcStep: [accel.MaxCounts]int64{8, 24, -1, 120}}
	if r := makeRows(c); r.n != 0 || r.bytes != 8*3*5*7 {
		t.Errorf("contiguous: %+v", r)
	}
	c.SrcStep = [accel.MaxCounts]int64{16, 48, -1, 240}
	if r := makeRows(c); r.n != 1 || r.bytes != 8 || r.axes[0] != (axis{105, 8, 16}) {
		t.Errorf("every other: %+v", r)
	}
	c = &accel.Copy{Bytes: 8, Count: accel.Counts(4), DstStep: [accel.MaxCounts]int64{-16}, SrcStep: [accel.MaxCounts]int64{8}}
	r := makeRows(c)
	if first, end := r.extent(true); first != -48 || end != 8 {
		t.Errorf("backwards: from %d to %d", first, end)
	}
	n := 0
	r.boxes(1<<31, func(b *box) error { n++; return nil })
	if n != 4 {
		t.Errorf("backwards: %d boxes", n)
	}
}
