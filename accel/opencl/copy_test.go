package opencl

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flat is a copy of bytes without steps.
func flat(dst, src accel.Place, n int) *accel.Copy {
	return &accel.Copy{Dst: dst, Src: src, Bytes: int64(n), Count: accel.Counts()}
}

// alloc takes memory of a device until the test ends.
func alloc(t testing.TB, d *Device, n int) accel.Place {
	t.Helper()
	p, err := d.mem.Alloc(int64(n))
	must(t, err)
	t.Cleanup(func() { d.mem.Free(p, int64(n)) })
	return accel.Place{Mem: d.mem, Ptr: p}
}

func host(b []byte) accel.Place { return accel.Place{Mem: ram, Ptr: at(b)} }

func put(t testing.TB, s *Stream, to accel.Place, b []byte) {
	t.Helper()
	must(t, s.Copy(flat(to, host(b), len(b))))
	must(t, s.Sync())
}

func get(t testing.TB, s *Stream, from accel.Place, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	must(t, s.Copy(flat(host(b), from, n)))
	must(t, s.Sync())
	return b
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// strided makes steps for counts in some order of axes, with gaps, some of them
// negative, and returns the bytes that they span and the offset of row 0.
func strided(r *rand.Rand, row int64, count [accel.MaxCounts]int64) (step [accel.MaxCounts]int64, span, zero int64) {
	span = row
	for _, i := range r.Perm(4) {
		if count[i] == 1 {
			step[i] = int64(r.IntN(1000)) // not used
			continue
		}
		step[i] = span
		if r.IntN(3) > 0 {
			step[i] += int64(r.IntN(9))
		}
		if r.IntN(3) == 0 { // where a rectangle wants it
			step[i] = (step[i] + row - 1) / row * row
		}
		span = step[i]*(count[i]-1) + span
		if r.IntN(4) == 0 {
			zero += step[i] * (count[i] - 1)
			step[i] = -step[i]
		}
	}
	return step, span, zero
}

// randomCopy makes a copy between a place of each size, from offset 0.
func randomCopy(r *rand.Rand) (c accel.Copy, dst, src, dst0, src0 int64) {
	c.Bytes = 1 + int64(r.IntN(9))
	for i := range c.Count {
		c.Count[i] = 1 + int64(r.IntN(4))
		if r.IntN(3) == 0 {
			c.Count[i] = 1
		}
	}
	c.DstStep, dst, dst0 = strided(r, c.Bytes, c.Count)
	c.SrcStep, src, src0 = strided(r, c.Bytes, c.Count)
	if r.IntN(3) == 0 { // the same on both sides: axes that can be merged
		c.SrcStep, src, src0 = c.DstStep, dst, dst0
	}
	return c, dst, src, dst0, src0
}

// TestPlan holds the rectangles against a copy element by element.
func TestPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		c, nd, ns, d0, s0 := randomCopy(r)
		src := random(r, int(ns))
		want, got := make([]byte, nd), make([]byte, nd)
		c.Dst, c.Src = accel.Place{Ptr: at(want[d0:])}, accel.Place{Ptr: at(src[s0:])}
		accel.CopyHost(&c)
		rows := r.IntN(4) == 0
		commands := 0
		must(t, plan(&c, rows, func(q *rect) error {
			commands++
			if rows && !q.flat() {
				t.Errorf("%+v: not a row", q)
			}
			for k := range q.size[2] {
				for j := range q.size[1] {
					d := d0 + q.dst.offset + j*q.dst.row + k*q.dst.slice
					s := s0 + q.src.offset + j*q.src.row + k*q.src.slice
					copy(got[d:d+q.size[0]], src[s:s+q.size[0]])
				}
			}
			return nil
		}))
		if !bytes.Equal(got, want) {
			t.Fatalf("%+v: %d wrong", c, commands)
		}
		if first, n := extent(&c, &c.DstStep); first != -d0 || n != nd {
			t.Errorf("%+v: extent %d, %d instead of %d, %d", c, first, n, -d0, nd)
		}
	}
}

// TestPlanOneCommand: what a rectangle can express is one command.
func TestPlanOneCommand(t *testing.T) {
	for _, c := range []struct {
		what     string
		bytes    int64
		count    [accel.MaxCounts]int64
		dst, src [accel.MaxCounts]int64
		want     int
	}{
		{"a row", 8, accel.Counts(), [accel.MaxCounts]int64{}, [accel.MaxCounts]int64{}, 1},
		{"adjacent rows", 8, accel.Counts(4, 5), [accel.MaxCounts]int64{40, 8}, [accel.MaxCounts]int64{40, 8}, 1},
		{"a tile", 32, accel.Counts(16), [accel.MaxCounts]int64{32}, [accel.MaxCounts]int64{800}, 1},
		{"a column", 8, accel.Counts(100), [accel.MaxCounts]int64{8}, [accel.MaxCounts]int64{800}, 1},
		{"a block", 32, accel.Counts(4, 16), [accel.MaxCounts]int64{512, 32}, [accel.MaxCounts]int64{80000, 800}, 1},
		{"a block, axes the other way", 32, accel.Counts(16, 4), [accel.MaxCounts]int64{32, 512}, [accel.MaxCounts]int64{800, 80000}, 1},
		{"upside down", 32, accel.Counts(16), [accel.MaxCounts]int64{-32}, [accel.MaxCounts]int64{-800}, 1},
		{"turned over", 32, accel.Counts(16), [accel.MaxCounts]int64{32}, [accel.MaxCounts]int64{-800}, 16},
		{"four axes", 8, accel.Counts(3, 4, 5), [accel.MaxCounts]int64{1600, 320, 16}, [accel.MaxCounts]int64{8000, 800, 16}, 3},
		{"nothing", 8, accel.Counts(3, 0, 5), [accel.MaxCounts]int64{1600, 320, 16}, [accel.MaxCounts]int64{8000, 800, 16}, 0},
	} {
		n := 0
		must(t, plan(&accel.Copy{Bytes: c.bytes, Count: c.count, DstStep: c.dst, SrcStep: c.src}, false, func(*rect) error { n++; return nil }))
		if n != c.want {
			t.Errorf("%s: %d commands instead of %d", c.what, n, c.want)
		}
	}
}

// TestCopies sends strided copies to a device, inside it and back.
func TestCopies(t *testing.T) {
	d := first(t)
	s := stream(t, d)
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		for way := range 4 {
			c, nd, ns, d0, s0 := randomCopy(r)
			src, want := random(r, int(ns)), random(r, int(nd))
			dst := bytes.Clone(want)
			c.Dst, c.Src = host(want[d0:]), host(src[s0:])
			accel.CopyHost(&c)

			c.Dst, c.Src = host(dst[d0:]), host(src[s0:])
			both := alloc(t, d, int(nd+ns))
			behind := accel.Place{Mem: d.mem, Ptr: unsafe.Add(both.Ptr, nd)}
			devDst, devSrc := alloc(t, d, int(nd)), behind
			if way == 3 { // inside one allocation
				devDst = both
			}
			put(t, s, devDst, dst)
			put(t, s, devSrc, src)
			if way != 0 {
				c.Src = accel.Place{Mem: d.mem, Ptr: unsafe.Add(devSrc.Ptr, s0)}
			}
			if way != 1 {
				c.Dst = accel.Place{Mem: d.mem, Ptr: unsafe.Add(devDst.Ptr, d0)}
			}
			must(t, s.Copy(&c))
			must(t, s.Sync())
			if way != 1 {
				dst = get(t, s, devDst, len(dst))
			}
			if !bytes.Equal(dst, want) {
				t.Fatalf("way %d: %+v is wrong", way, c)
			}
		}
	}
}
