package perf

// What was measured for one footprint.

import "math"

// MaxDeviation is how far a measurement may be from the mean, as a share of the
// smaller of the two, before it counts as an outlier. StarPU's default.
const MaxDeviation = 0.5

// Moments are count, mean and spread of measurements, in seconds.
type Moments struct {
	N    int64
	Mean float64
	M2   float64 // sum of squared distances from the mean
	Min  float64
	Max  float64
}

// none reports whether m says nothing: a file may hold NaN.
func (m *Moments) none() bool { return m.N == 0 || math.IsNaN(m.Mean) || math.IsInf(m.Mean, 0) }

// add counts one more measurement (Welford's algorithm).
func (m *Moments) add(x float64) {
	if m.none() {
		*m = Moments{N: 1, Mean: x, Min: x, Max: x}
		return
	}
	m.N++
	d := x - m.Mean
	m.Mean += d / float64(m.N)
	m.M2 += d * (x - m.Mean)
	m.Min, m.Max = min(m.Min, x), max(m.Max, x)
}

// merge counts the measurements of o as well (Chan, Golub and LeVeque 1979).
func (m *Moments) merge(o Moments) {
	if o.none() {
		return
	}
	if m.none() {
		*m = o
		return
	}
	n, d := float64(m.N+o.N), o.Mean-m.Mean
	m.M2 += o.M2 + d*d*float64(m.N)*float64(o.N)/n
	m.Mean += d * float64(o.N) / n
	m.N += o.N
	m.Min, m.Max = min(m.Min, o.Min), max(m.Max, o.Max)
}

// Variance is the sample variance in square seconds; 0 for fewer than two.
func (m *Moments) Variance() float64 {
	if m.N < 2 {
		return 0
	}
	return max(0, m.M2/float64(m.N-1))
}

// StdDev is the standard deviation of one measurement in seconds.
func (m *Moments) StdDev() float64 { return math.Sqrt(m.Variance()) }

// RelError is the standard error of the mean as a share of the mean.
func (m *Moments) RelError() float64 {
	if m.N == 0 || m.Mean <= 0 {
		return math.Inf(1)
	}
	if m.N == 1 {
		return 1 // one measurement says nothing of its spread
	}
	return m.StdDev() / math.Sqrt(float64(m.N)) / m.Mean
}

// Entry is what was measured for one footprint. Measurements far from the mean
// are kept apart, as in StarPU's history models; when they agree with each other
// and are as many, the mean was wrong, and the two change places. So a first run
// on cold caches does not stay. What is far from both is only counted.
type Entry struct {
	Moments          // the typical measurements
	Outliers Moments // others, which are like each other
	Odd      int64   // the number of those that are like neither
}

// Samples is the number of all measurements.
func (e *Entry) Samples() int64 { return e.N + e.Outliers.N + e.Odd }

// far reports whether x is too far from the mean of m to belong to it.
func (m *Moments) far(x float64) bool {
	return !m.none() && (x > m.Mean*(1+MaxDeviation) || m.Mean > x*(1+MaxDeviation))
}

// Add counts a measurement of the given number of seconds.
func (e *Entry) Add(seconds float64) {
	if !e.Moments.far(seconds) {
		e.Moments.add(seconds)
		return
	}
	e.Merge(&Entry{Moments: Moments{N: 1, Mean: seconds, Min: seconds, Max: seconds}})
}

// Merge counts the measurements of o as well.
func (e *Entry) Merge(o *Entry) {
	e.Odd += o.Odd
	for _, m := range []Moments{o.Moments, o.Outliers} {
		switch {
		case m.N == 0:
		case !e.Moments.far(m.Mean):
			e.Moments.merge(m)
		default:
			e.outlier(m)
		}
	}
}

// outlier counts measurements that are far from the mean. What is like neither it
// nor the other outliers takes as many votes from those (Boyer and Moore's
// majority vote), so a new habit is found after any old one.
func (e *Entry) outlier(m Moments) {
	out := &e.Outliers
	switch {
	case !out.far(m.Mean):
		out.merge(m)
	case m.N >= out.N:
		e.Odd += out.N
		*out = m
	default:
		out.M2 *= float64(out.N-m.N) / float64(out.N)
		out.N -= m.N
		e.Odd += 2 * m.N
	}
	if out.N >= e.N {
		e.Moments, e.Outliers = e.Outliers, e.Moments
	}
}
