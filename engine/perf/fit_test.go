package perf

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// near reports whether got is within the share tol of want.
func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*math.Abs(want) }

// noisy measures y(size) n times for each size, with relative noise.
func noisy(r *rand.Rand, n int, noise float64, sizes []float64, y func(float64) float64) []*Sized {
	var out []*Sized
	for i, s := range sizes {
		e := &Sized{Footprint: Footprint(i), Size: s}
		for range n {
			e.Add(y(s) * (1 + noise*r.NormFloat64()))
		}
		out = append(out, e)
	}
	return out
}

func TestFitsRecoverParameters(t *testing.T) {
	sizes := []float64{1 << 10, 1 << 12, 3 << 13, 1 << 16, 5 << 16, 1 << 20, 1 << 22}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := math.Exp(-18+4*r.Float64()), 0.5+2*r.Float64()

		f := fitEntries(Regression, noisy(r, 50, 0.05, sizes, func(n float64) float64 { return a * math.Pow(n, b) }), nil, 0, 10)
		if f.Err != nil || !near(f.B, b, 0.02) || math.Abs(math.Log(f.A/a)) > 0.15 || f.C != 0 {
			t.Errorf("seed %d: regression of %g·n^%g gives %g·n^%g + %g, %v", seed, a, b, f.A, f.B, f.C, f.Err)
		}
		if f.RelError > 0.05 || f.Samples != 350 {
			t.Errorf("seed %d: relative error %g of %d samples", seed, f.RelError, f.Samples)
		}

		// the start-up time counts as much as the smallest sizes take
		c := a * math.Pow(1<<14, b)
		y := func(n float64) float64 { return a*math.Pow(n, b) + c }
		f = fitEntries(NonLinear, noisy(r, 50, 0.02, sizes, y), nil, 0, 10)
		if f.Err != nil || !near(f.B, b, 0.05) || !near(f.C, c, 0.1) {
			t.Errorf("seed %d: non-linear fit of %g·n^%g + %g gives %g·n^%g + %g, %v", seed, a, b, c, f.A, f.B, f.C, f.Err)
		}
		for _, n := range []float64{2 << 10, 1 << 18, 3 << 20} {
			if got := f.At(n, nil, nil); !near(got, y(n), 0.05) {
				t.Errorf("seed %d: at %g the fit says %g instead of %g", seed, n, got, y(n))
			}
		}
	}
}

func TestFitOfTermsRecoversFactors(t *testing.T) {
	terms := [][]float64{{0, 0, 0}, {1, 1, 0}, {1, 1, 1}, {0, 0, 2}}
	want := []float64{3e-6, 2e-9, 1e-10, 5e-9}
	r := rand.New(rand.NewPCG(7, 7))
	var entries []*Sized
	for i := range 60 {
		p := []float64{float64(8 + r.IntN(200)), float64(8 + r.IntN(200)), float64(8 + r.IntN(200))}
		e := &Sized{Footprint: Footprint(i), Params: p}
		y := 0.0
		for k, term := range terms {
			y += want[k] * monomial(term, p)
		}
		for range 30 {
			e.Add(y * (1 + 0.01*r.NormFloat64()))
		}
		entries = append(entries, e)
	}
	f := fitEntries(Multiple, entries, terms, 3, 10)
	if f.Err != nil {
		t.Fatal(f.Err)
	}
	for k := range want {
		if !near(f.Coef[k], want[k], 0.1) {
			t.Errorf("term %v: %g instead of %g", terms[k], f.Coef[k], want[k])
		}
	}
	if f.RelError > 0.01 {
		t.Errorf("relative error %g", f.RelError)
	}
	if !f.covers(0, []float64{100, 100, 100}) || f.covers(0, []float64{100, 1000, 100}) {
		t.Error("the curve covers something else than what was measured")
	}
}

func TestFitsThatCannotBe(t *testing.T) {
	one := func(n float64) float64 { return n }
	r := rand.New(rand.NewPCG(1, 1))
	at := func(sizes ...float64) []*Sized { return noisy(r, 10, 0, sizes, one) }
	same := at(3, 4, 5)
	for _, e := range same {
		e.Params = []float64{2, 2}
	}
	for _, c := range []struct {
		name    string
		kind    Kind
		entries []*Sized
		terms   [][]float64
		want    error
	}{
		{"nothing", Regression, nil, nil, errFewPoints},
		{"one size", Regression, at(100), nil, errFewPoints},
		{"close sizes", Regression, at(100, 105), nil, errSpread},
		{"two sizes for three numbers", NonLinear, at(100, 200), nil, errFewPoints},
		{"close sizes", NonLinear, at(100, 101, 102), nil, errSpread},
		{"equal parameters", Multiple, same, [][]float64{{1, 0}, {0, 1}}, errSingular},
		{"more terms than entries", Multiple, same[:1], [][]float64{{1, 0}, {0, 1}}, errFewPoints},
		{"sizes of 0", Regression, at(0, 0, 0), nil, errFewPoints},
	} {
		f := fitEntries(c.kind, c.entries, c.terms, 2, 1)
		if !errors.Is(f.Err, c.want) {
			t.Errorf("%s, %v: %v instead of %v", c.name, c.kind, f.Err, c.want)
		}
		if c.kind != Multiple && !math.IsNaN(f.A) {
			t.Errorf("%s: a curve without reason: %v", c.name, f)
		}
	}
}

func TestLeastSquaresAgainstNormalEquations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		m := 3 + r.IntN(20)
		rows, rhs := make([][]float64, m), make([]float64, m)
		var aa, ab, bb, ay, by float64
		for i := range rows {
			x, z := r.NormFloat64(), 1e6*r.NormFloat64()
			y := r.NormFloat64()
			rows[i], rhs[i] = []float64{x, z}, y
			aa, ab, bb, ay, by = aa+x*x, ab+x*z, bb+z*z, ay+x*y, by+z*y
		}
		det := aa*bb - ab*ab
		want := []float64{(ay*bb - by*ab) / det, (aa*by - ab*ay) / det}
		got, ok := leastSquares(rows, rhs)
		if !ok || len(got) != 2 || !near(got[0], want[0], 1e-6) || !near(got[1], want[1], 1e-6) {
			t.Fatalf("%v instead of %v (%v)", got, want, ok)
		}
	}
}
