package perf

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMomentsAgainstTwoPasses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var whole Moments
		parts := make([]Moments, 1+r.IntN(5))
		var xs []float64
		for range 2 + r.IntN(100) {
			x := 1e-3 * (1 + 0.3*r.NormFloat64())
			xs = append(xs, x)
			whole.add(x)
			parts[r.IntN(len(parts))].add(x)
		}
		var merged Moments
		for _, p := range parts {
			merged.merge(p)
		}
		sum, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
		for _, x := range xs {
			sum, lo, hi = sum+x, min(lo, x), max(hi, x)
		}
		mean, ss := sum/float64(len(xs)), 0.0
		for _, x := range xs {
			ss += (x - mean) * (x - mean)
		}
		for _, m := range []Moments{whole, merged} {
			if m.N != int64(len(xs)) || m.Min != lo || m.Max != hi || !near(m.Mean, mean, 1e-12) ||
				!near(m.Variance(), ss/float64(len(xs)-1), 1e-9) {
				t.Fatalf("%+v; mean %g, sum of squares %g", m, mean, ss)
			}
		}
	}
}

// A few long measurements, such as the first one on cold caches, do not move what an entry
// predicts, and are counted like the others.
func TestFewLongMeasurements(t *testing.T) {
	var e Entry
	e.Add(10)
	for i := range 20 {
		e.Add(1 + 0.01*float64(i%3))
	}
	if e.Median() != 1.01 || e.N != 21 || e.Max != 10 || e.Outliers() != 1 || e.Scattered() || len(e.Recent) != 21 || e.Recent[0] != 10 {
		t.Errorf("median %g, %d outliers, %+v", e.Median(), e.Outliers(), e)
	}
}

// TestExpectation: long measurements move the mean, also if they are too few to be among the recent ones; a new habit replaces it.
func TestExpectation(t *testing.T) {
	var e Entry
	for k := range 2000 {
		switch {
		case k%100 == 50:
			e.Add(10)
		default:
			e.Add(1 + 0.1*float64(k%4))
		}
	}
	if got := e.Expectation(); e.Median() > 1.2 || math.Abs(got-e.Mean) > 1e-12 || math.Abs(got-1.2385) > 1e-3 {
		t.Errorf("median %g, mean %g; want 1.15 and 1.2385", e.Median(), got)
	}
	for range MaxRecent {
		e.Add(2)
	}
	if got := e.Expectation(); got != 2 {
		t.Errorf("after a new habit %g, want 2", got)
	}
	old := Entry{Moments: e.Moments} // of a file without recent ones
	if got := old.Expectation(); got != old.Mean {
		t.Errorf("without recent measurements %g, want %g", got, old.Mean)
	}
}

// TestNewHabit: predictions follow recent measurements, whatever was measured before.
func TestNewHabit(t *testing.T) {
	var e Entry
	for range 1000 {
		e.Add(1)
	}
	for range MaxRecent/2 - 1 {
		e.Add(3)
	}
	if e.Median() != 1 {
		t.Errorf("after less than half: %g", e.Median())
	}
	for range 2 {
		e.Add(3)
	}
	if e.Median() != 3 || !e.Scattered() {
		t.Errorf("after more than half: %g, scattered %v", e.Median(), e.Scattered())
	}
	for range MaxRecent {
		e.Add(3)
	}
	if low, high := e.Quartiles(); low != 3 || high != 3 || e.Scattered() || e.RelError() != 0 || e.N != 1000+MaxRecent/2+1+MaxRecent {
		t.Errorf("at the end: %g to %g, %d measurements", low, high, e.N)
	}
}

// Measurements that agree on nothing are called scattered; none is set aside.
func TestScattered(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var close, apart Entry
	for range 50 {
		close.Add(1e-3 * (1 + 0.05*r.NormFloat64()))
		apart.Add(1e-3 * math.Exp(r.NormFloat64()))
	}
	if close.Scattered() || !apart.Scattered() {
		t.Errorf("scattered: %v for 5 %%, %v for a factor of e", close.Scattered(), apart.Scattered())
	}
	if len(apart.Recent) != 50 || apart.Samples() != 50 || apart.RelError() < 5*close.RelError() {
		t.Errorf("%d of %d measurements, errors %g and %g", len(apart.Recent), apart.Samples(), close.RelError(), apart.RelError())
	}
	if one := (&Entry{}); one.Scattered() || !math.IsInf(one.RelError(), 1) {
		t.Error("an entry of nothing is scattered, or exact")
	}
}

// The quartiles are those of the sorted measurements, however they came.
func TestQuartiles(t *testing.T) {
	for n := 1; n <= 3*MaxRecent; n += 7 {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		var one, merged Entry
		part := &Entry{}
		var xs []float64
		for i := range n {
			x := 1 + r.Float64()
			xs = append(xs, x)
			one.Add(x)
			if part.Add(x); i%5 == 4 || i == n-1 {
				merged.Merge(part)
				part.clear()
			}
		}
		last := slices.Sorted(slices.Values(xs[max(0, n-MaxRecent):]))
		at := func(q float64) float64 {
			k := q * float64(len(last)-1)
			i := int(k)
			return last[i] + (k-float64(i))*(last[min(i+1, len(last)-1)]-last[i])
		}
		for name, e := range map[string]*Entry{"one by one": &one, "in parts": &merged} {
			low, high := e.Quartiles()
			if !near(low, at(0.25), 1e-12) || !near(e.Median(), at(0.5), 1e-12) || !near(high, at(0.75), 1e-12) || len(e.Recent) != len(last) || e.N != int64(n) {
				t.Errorf("%d measurements %s: %g %g %g of %d, want %g %g %g", n, name, low, e.Median(), high, e.N, at(0.25), at(0.5), at(0.75))
			}
		}
	}
}

func TestMergeLosesNoSample(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var all Entry
		total := int64(0)
		for range 1 + r.IntN(6) {
			var e Entry
			for range r.IntN(40) {
				e.Add(math.Exp(r.NormFloat64()))
				total++
			}
			all.Merge(&e)
		}
		if all.Samples() != total {
			t.Fatalf("%d samples instead of %d", all.Samples(), total)
		}
	}
}

func TestNaNEntrySaysNothing(t *testing.T) {
	e := Entry{Moments: Moments{N: 4, Mean: math.NaN()}}
	e.Add(2)
	if e.Mean != 2 || e.N != 1 {
		t.Errorf("%+v", e)
	}
}
