package perf

// Measurements of one footprint.

import (
	"math"
	"slices"
)

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

// MaxRecent is the number of recent measurements that an entry keeps.
const MaxRecent = 64

// enoughRecent is the number of recent measurements from which their median stands for an
// entry that has older ones, too.
const enoughRecent = 5

// Entry holds the measurements of one footprint. The estimate is the median of the recent
// measurements: a few long ones (a first run on cold caches, another program on the
// machine) do not move it, and a new habit is the median once it has half of them. All
// measurements count, and none is set aside.
type Entry struct {
	Moments            // of all measurements
	Recent   []float64 // the last of them, in seconds, at most MaxRecent, the newest last
	quartile [3]float64
}

// Samples is the number of all measurements.
func (e *Entry) Samples() int64 { return e.N }

// Median is the median of the recent measurements, in seconds; the mean of all where
// recent ones are not known, as in files of version 1. It is what an entry predicts.
func (e *Entry) Median() float64 {
	if e.few() {
		return e.Mean
	}
	return e.quartile[1]
}

// Expectation is what a task takes in the mean, in seconds: many tasks together take their number times that, while a single one more often
// takes the median. It is the mean of all measurements, and of the recent ones where that would be an outlier among them: there is a new habit.
func (e *Entry) Expectation() float64 {
	if e.few() || !e.outlier(e.Mean) {
		return e.Mean
	}
	sum := 0.0
	for _, x := range e.Recent {
		sum += x
	}
	return sum / float64(len(e.Recent))
}

// Quartiles are the seconds below which a quarter and three quarters of the recent
// measurements lie: the middle half of them.
func (e *Entry) Quartiles() (low, high float64) {
	if e.few() {
		d := 0.6745 * e.StdDev() // of a normal distribution
		return max(e.Mean-d, min(e.Min, e.Mean)), min(e.Mean+d, max(e.Max, e.Mean))
	}
	return e.quartile[0], e.quartile[2]
}

// few reports whether there are older measurements and too few recent ones.
func (e *Entry) few() bool {
	n := len(e.Recent)
	return n == 0 || n < enoughRecent && int64(n) < e.N
}

// Scattered reports whether the middle half of the measurements is wider than half the
// median, so that an estimate says little.
func (e *Entry) Scattered() bool {
	low, high := e.Quartiles()
	return e.N > 1 && high-low > e.Median()/2
}

// Outliers returns the number of recent measurements that lie further from the middle
// half than one and a half times its width. They count like the others.
func (e *Entry) Outliers() (n int) {
	for _, x := range e.Recent {
		if e.outlier(x) {
			n++
		}
	}
	return n
}

func (e *Entry) outlier(x float64) bool {
	low, high := e.Quartiles()
	width := high - low
	return x < low-1.5*width || x > high+1.5*width
}

// RelError is the standard error of the median as a share of it.
func (e *Entry) RelError() float64 {
	m := e.Median()
	if e.N == 0 || m <= 0 {
		return math.Inf(1)
	}
	if e.N == 1 {
		return 1 // one measurement says nothing of its spread
	}
	low, high := e.Quartiles()
	n := float64(len(e.Recent))
	if e.few() {
		n = float64(e.N)
	}
	return 0.929 * (high - low) / math.Sqrt(n) / m // of a normal distribution
}

// Add counts a measurement of the given number of seconds.
func (e *Entry) Add(seconds float64) {
	e.collect(seconds)
	e.sort()
}

// collect is Add without the quartiles.
func (e *Entry) collect(seconds float64) {
	if e.none() {
		e.clear()
	}
	e.Moments.add(seconds)
	e.keep(seconds)
}

// Merge counts the measurements of o as well, as the newer ones.
func (e *Entry) Merge(o *Entry) {
	if o.none() {
		return
	}
	if e.none() {
		e.clear()
	}
	e.Moments.merge(o.Moments)
	e.keep(o.Recent...)
	e.sort()
}

// keep appends to the recent measurements, and drops the oldest where they are too many.
func (e *Entry) keep(xs ...float64) {
	xs = xs[max(0, len(xs)-MaxRecent):]
	if n := len(e.Recent) + len(xs) - MaxRecent; n > 0 {
		e.Recent = e.Recent[:copy(e.Recent, e.Recent[n:])]
	}
	e.Recent = append(e.Recent, xs...)
}

// clear forgets the measurements and keeps the room for them.
func (e *Entry) clear() { *e = Entry{Recent: e.Recent[:0]} }

// sort finds the quartiles.
func (e *Entry) sort() {
	n := len(e.Recent)
	if n == 0 {
		return
	}
	var room [MaxRecent]float64
	xs := room[:copy(room[:], e.Recent)]
	slices.Sort(xs)
	for k := range e.quartile {
		at := float64(n-1) * float64(k+1) / 4
		i := int(at)
		e.quartile[k] = xs[i]
		if i+1 < n {
			e.quartile[k] += (at - float64(i)) * (xs[i+1] - xs[i])
		}
	}
}
