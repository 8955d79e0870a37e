package stdlib

import (
	"math"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestPhilox: the known answers that the authors publish with Random123.
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(c.ctr, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.ctr, c.key, got, c.want)
		}
	}
}

// TestUniformBits: the first elements follow from the known answer for counter
// and key 0, by the documented rule.
func TestUniformBits(t *testing.T) {
	x := make([]float64, 2)
	must(t, "std/random", "uniform", bufs(vec(x)), whole(0), num(0), num(1))
	for i, w := range []uint64{0xe169c58d_6627e8d5, 0x9b00dbd8_bc57ac4c} {
		if want := math.Ldexp(float64(w>>11), -53); x[i] != want {
			t.Errorf("element %d is %v, want %v", i, x[i], want)
		}
	}
	f := make([]float32, 2)
	must(t, "std/random", "uniform", bufs(vec(f)), whole(0), num(0), num(1))
	if want := float32(math.Ldexp(float64(uint32(0xe169c58d)>>8), -24)); f[0] != want {
		t.Errorf("f32 element is %v, want %v", f[0], want)
	}
}

var parameters = map[string][]iface.Scalar{
	"uniform": {whole(42), num(-1), num(3)},
	"normal":  {whole(42), num(1), num(2)},
}

// TestSplitting: the content is the same however the data is cut, and whatever
// lies between the rows.
func TestSplitting(t *testing.T) {
	for name, args := range parameters {
		const n = 37
		want := make([]float64, n)
		must(t, "std/random", name, bufs(vec(want)), args...)
		for _, p := range []int{2, 5, n} {
			got := make([]float64, n)
			for i := range p {
				b, back := part[float64](t, filter.Blocks(p), vec(got), i)
				must(t, "std/random", name, bufs(b), args...)
				back()
			}
			expect(t, name, got, want)
		}
		got := make([]float64, 5*8)
		square := make([]float64, 5*7)
		must(t, "std/random", name, bufs(dense(5, 7, 7, square)), args...)
		expect(t, name+": a matrix is filled row by row", square, want[:35])
		for _, f := range []filter.Filter{filter.Rows(3, 0), filter.Cols(3, 0), filter.Tiles(2, 3, 0), filter.Pick(0), filter.Pick(1), filter.Rows(2, 1)} {
			clear(got)
			m := dense(5, 7, 8, got)
			s, err := f.Split(m.Desc)
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Parts {
				b, back := part[float64](t, f, m, i)
				must(t, "std/random", name, bufs(b), args...)
				back()
			}
			for i := range 5 {
				expect(t, name+" by "+f.Name(), got[i*8:i*8+7], square[i*7:i*7+7])
				if got[i*8+7] != 0 {
					t.Errorf("%s by %s wrote between the rows", name, f.Name())
				}
			}
		}
	}
}

// TestDistributions: moments of many numbers, for fixed seeds.
func TestDistributions(t *testing.T) {
	const n = 200_000
	for seed := range int64(3) {
		distributions[float32](t, seed, n)
		distributions[float64](t, seed-1, n)
	}
}

func distributions[T float32 | float64](t *testing.T, seed int64, n int) {
	x := make([]T, n)
	moments := func() (mean, variance, lag float64) {
		for _, v := range x {
			mean += float64(v)
		}
		mean /= float64(n)
		for i, v := range x {
			variance += (float64(v) - mean) * (float64(v) - mean)
			if i > 0 {
				lag += (float64(v) - mean) * (float64(x[i-1]) - mean)
			}
		}
		return mean, variance / float64(n), lag / variance
	}
	must(t, "std/random", "uniform", bufs(vec(x)), whole(seed), num(2), num(4))
	for i, v := range x {
		if v < 2 || v >= 4 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	if m, v, lag := moments(); math.Abs(m-3) > 0.01 || math.Abs(v-4./12) > 0.01 || math.Abs(lag) > 0.01 {
		t.Errorf("uniform, seed %d: mean %v, variance %v, correlation %v", seed, m, v, lag)
	}
	must(t, "std/random", "normal", bufs(vec(x)), whole(seed), num(-1), num(3))
	within := 0
	for _, v := range x {
		if math.Abs(float64(v)+1) < 3 {
			within++
		}
	}
	if m, v, lag := moments(); math.Abs(m+1) > 0.03 || math.Abs(v-9) > 0.1 || math.Abs(lag) > 0.01 {
		t.Errorf("normal, seed %d: mean %v, variance %v, correlation %v", seed, m, v, lag)
	}
	if p := float64(within) / float64(n); math.Abs(p-0.6827) > 0.01 {
		t.Errorf("normal, seed %d: %v of the numbers within one standard deviation", seed, p)
	}
}

// TestUniformBounds: the upper bound is never reached, also where rounding
// would; equal bounds give that number.
func TestUniformBounds(t *testing.T) {
	x := make([]float32, 5000)
	lo, hi := float64(float32(1)), float64(math.Nextafter32(1, 2))
	must(t, "std/random", "uniform", bufs(vec(x)), whole(7), num(lo), num(hi))
	for i, v := range x {
		if v != 1 {
			t.Fatalf("element %d is %v: not below the upper bound", i, v)
		}
	}
	must(t, "std/random", "uniform", bufs(vec(x[:3])), whole(7), num(5), num(5))
	expect(t, "equal bounds", x[:3], []float32{5, 5, 5})
	must(t, "std/random", "normal", bufs(vec(x[:3])), whole(7), num(5), num(0))
	expect(t, "no deviation", x[:3], []float32{5, 5, 5})
}

func TestSeeds(t *testing.T) {
	a, b := make([]float64, 100), make([]float64, 100)
	for name := range parameters {
		must(t, "std/random", name, bufs(vec(a)), whole(1), num(0), num(1))
		must(t, "std/random", name, bufs(vec(b)), whole(2), num(0), num(1))
		for i := range a {
			if a[i] == b[i] {
				t.Errorf("%s: seeds 1 and 2 agree at %d", name, i)
			}
		}
	}
}

func BenchmarkUniform(b *testing.B) {
	x := make([]float64, 1<<14)
	e := lookup(b, "std/random", "uniform")
	k := &task{bufs(vec(x)), []iface.Scalar{whole(1), num(0), num(1)}}
	b.SetBytes(int64(len(x)) * 8)
	for b.Loop() {
		if err := e.kernel(k); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkShapeGemm(b *testing.B) {
	e := lookup(b, "std/blas", "gemm")
	m := dense[float64](64, 64, 64, make([]float64, 64*64)).Desc
	ops, args := []iface.Desc{m, m, m}, []iface.Scalar{num(1), num(1), str("n"), str("n")}
	b.ReportAllocs()
	for b.Loop() {
		if err := e.check(ops, args); err != nil {
			b.Fatal(err)
		}
	}
}
