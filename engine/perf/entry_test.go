package perf

import (
	"math"
	"math/rand/v2"
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

// The first measurement pays for cold caches and must not stay in the mean.
func TestFirstOutlierIsForgotten(t *testing.T) {
	var e Entry
	e.Add(10)
	for range 20 {
		e.Add(1)
	}
	if e.Mean != 1 || e.N != 20 || e.Outliers.N != 1 || e.Samples() != 21 {
		t.Errorf("%+v", e)
	}
}

func TestOutliersTakeOverWhenTheyAreMore(t *testing.T) {
	var e Entry
	for range 30 {
		e.Add(1)
	}
	for i := range 29 {
		e.Add(3)
		if e.Mean != 1 {
			t.Fatalf("the mean moved after %d outliers: %+v", i+1, e)
		}
	}
	e.Add(3)
	if e.Mean != 3 || e.Samples() != 60 {
		t.Errorf("after as many: %+v", e)
	}
}

// A third habit is found, too, although others were there before.
func TestThirdHabit(t *testing.T) {
	var e Entry
	for range 20 {
		e.Add(1)
	}
	for range 10 {
		e.Add(5)
	}
	for range 40 {
		e.Add(25)
		e.Add(25)
		e.Add(25)
		e.Add(100)
	}
	if e.Mean != 25 || e.Samples() != 190 {
		t.Errorf("%+v", e)
	}
}

// Times that are like nothing else never become the mean.
func TestScatteredOutliers(t *testing.T) {
	var e Entry
	for i := range 100 {
		e.Add(1)
		e.Add(float64(2 + 4*i)) // as many, but no two alike for long
	}
	if e.Mean != 1 || e.N != 100 || e.Samples() != 200 || e.Odd == 0 {
		t.Errorf("%+v", e)
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
