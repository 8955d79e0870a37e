package perf

// Curves through the entries of a table.

import (
	"errors"
	"math"
)

// MinSpread is the least relative difference between the largest and the smallest size
// for which a curve is fitted, as in StarPU.
const MinSpread = 0.1

// Fit is a fitted curve. Without one Err says why, and numbers are NaN.
type Fit struct {
	Kind Kind
	// A·n^B + C for Regression (C is 0) and NonLinear, in seconds.
	A, B, C float64
	// Coef are the factors of the terms of a Multiple model.
	Coef []float64
	// RelError is the typical distance of the entries from the curve, as a
	// share of the curve: the root of the weighted mean square.
	RelError float64
	Samples  int64 // measurements behind the fit
	// MinSize and MaxSize bound the sizes that were measured; MinParams and
	// MaxParams the parameters of a Multiple model.
	MinSize, MaxSize     float64
	MinParams, MaxParams []float64
	Err                  error
}

// The reasons for having no curve.
var (
	errNoCurve   = errors.New("models of this kind have none")
	errFewPoints = errors.New("too few sizes are known")
	errSpread    = errors.New("the sizes that are known differ by less than 10 %")
	errSingular  = errors.New("the measurements do not tell the terms from each other")
	errNotRising = errors.New("the times do not follow such a curve")
)

// point is an entry as a fit sees it.
type point struct {
	size   float64
	params []float64
	y      float64 // mean, seconds
	n      int64
}

// weight is what a point counts for: its number of measurements, but no more
// than 100, so that one size measured a million times does not bend the curve
// for all others.
func (p *point) weight() float64 { return float64(min(p.n, 100)) }

func noFit(k Kind, err error) Fit {
	nan := math.NaN()
	return Fit{Kind: k, A: nan, B: nan, C: nan, RelError: nan, MinSize: nan, MaxSize: nan, Err: err}
}

// fit fits a curve of the given kind; terms are those of a Multiple model.
func fit(k Kind, pts []point, terms [][]float64) Fit {
	var f Fit
	switch k {
	case Regression:
		f = fitPower(pts)
	case NonLinear:
		f = fitPowerPlus(pts)
	case Multiple:
		f = fitTerms(pts, terms)
	default:
		f.Err = errNoCurve
	}
	if f.Err != nil {
		return noFit(k, f.Err)
	}
	f.Kind = k
	f.bounds(pts)
	var ss, sw float64
	for i := range pts {
		p := &pts[i]
		r := p.y/f.At(p.size, p.params, terms) - 1
		ss += p.weight() * r * r
		sw += p.weight()
		f.Samples += p.n
	}
	f.RelError = math.Sqrt(ss / sw)
	if math.IsNaN(f.RelError) || math.IsInf(f.RelError, 0) {
		return noFit(k, errNotRising)
	}
	return f
}

// bounds sets the ranges that were measured.
func (f *Fit) bounds(pts []point) {
	f.MinSize, f.MaxSize = pts[0].size, pts[0].size
	for i := range pts {
		p := &pts[i]
		f.MinSize, f.MaxSize = min(f.MinSize, p.size), max(f.MaxSize, p.size)
		if f.Kind != Multiple {
			continue
		}
		if f.MinParams == nil {
			f.MinParams, f.MaxParams = append([]float64(nil), p.params...), append([]float64(nil), p.params...)
		}
		for k, v := range p.params {
			f.MinParams[k], f.MaxParams[k] = min(f.MinParams[k], v), max(f.MaxParams[k], v)
		}
	}
}

// At is the height of the curve in seconds, where the model has these terms; NaN
// when there is no curve, or not as many parameters as it should have.
func (f *Fit) At(size float64, params []float64, terms [][]float64) float64 {
	if f.Kind != Multiple {
		return f.A*math.Pow(size, f.B) + f.C
	}
	if len(f.Coef) == 0 || len(f.Coef) != len(terms) || len(params) != len(terms[0]) {
		return math.NaN()
	}
	y := 0.0
	for i, t := range terms {
		y += f.Coef[i] * monomial(t, params)
	}
	return y
}

// covers reports whether a call lies where was measured, give or take 10 %.
func (f *Fit) covers(size float64, params []float64) bool {
	within := func(x, lo, hi float64) bool {
		slack := MinSpread * max(math.Abs(lo), math.Abs(hi))
		if f.Kind != Multiple { // a power law is about ratios
			return x >= lo*(1-MinSpread) && x <= hi*(1+MinSpread)
		}
		return x >= lo-slack && x <= hi+slack
	}
	if f.Kind != Multiple {
		return within(size, f.MinSize, f.MaxSize)
	}
	for k, v := range params {
		if k >= len(f.MinParams) || !within(v, f.MinParams[k], f.MaxParams[k]) {
			return false
		}
	}
	return true
}

// spread checks that pts hold enough different sizes.
func spread(pts []point, atLeast int) error {
	if len(pts) == 0 {
		return errFewPoints
	}
	sizes := map[float64]bool{}
	lo, hi := pts[0].size, pts[0].size
	for i := range pts {
		sizes[pts[i].size] = true
		lo, hi = min(lo, pts[i].size), max(hi, pts[i].size)
	}
	if len(sizes) > 1 && hi < lo*(1+MinSpread) {
		return errSpread
	}
	if len(sizes) < atLeast {
		return errFewPoints
	}
	return nil
}

// fitPower fits a·n^b: a line through (log n, log y) by weighted least squares.
// Distances are relative, so microseconds count as much as seconds.
func fitPower(pts []point) Fit {
	if err := spread(pts, 2); err != nil {
		return Fit{Err: err}
	}
	var sw, sx, sy float64
	for i := range pts {
		w := pts[i].weight()
		sw += w
		sx += w * math.Log(pts[i].size)
		sy += w * math.Log(pts[i].y)
	}
	mx, my := sx/sw, sy/sw
	var sxx, sxy float64
	for i := range pts {
		w, dx := pts[i].weight(), math.Log(pts[i].size)-mx
		sxx += w * dx * dx
		sxy += w * dx * (math.Log(pts[i].y) - my)
	}
	b := sxy / sxx
	return Fit{A: math.Exp(my - b*mx), B: b}
}

// fitPowerPlus fits a·n^b + c with a > 0, b > 0 and c ≥ 0. For a given b the rest is
// linear: a and c minimise the weighted sum of squared relative distances ((a·n^b + c -
// y) / y)². The remaining function of b alone is searched on a grid from 0.05 to 6, then
// by golden section around the best point of the grid (variable projection, Golub and
// Pereyra 1973).
func fitPowerPlus(pts []point) Fit {
	if err := spread(pts, 3); err != nil {
		return Fit{Err: err}
	}
	// sizes as multiples of the largest, so that powers stay near 1
	scale := 0.0
	for i := range pts {
		scale = max(scale, pts[i].size)
	}
	left := func(b float64) float64 { _, _, r := projectPower(pts, scale, b); return r }
	const step = 0.05
	best := step
	for k := 1; k <= 120; k++ {
		if b := float64(k) * step; left(b) < left(best) {
			best = b
		}
	}
	lo, hi := max(best-step, step/10), best+step
	const golden = 0.6180339887498949
	for range 60 {
		l, r := hi-golden*(hi-lo), lo+golden*(hi-lo)
		if left(l) < left(r) {
			hi = r
		} else {
			lo = l
		}
	}
	b := (lo + hi) / 2
	a, c, rest := projectPower(pts, scale, b)
	if !(a > 0) || math.IsInf(rest, 1) {
		return Fit{Err: errNotRising}
	}
	return Fit{A: a / math.Pow(scale, b), B: b, C: c}
}

// projectPower computes the best a and c for a·(n/scale)^b + c and what is left.
func projectPower(pts []point, scale, b float64) (a, c, left float64) {
	var uu, uv, vv, u1, v1 float64 // of u = x^b/y, v = 1/y against 1
	for i := range pts {
		p := &pts[i]
		w, x := p.weight(), math.Pow(p.size/scale, b)
		u, v := x/p.y, 1/p.y
		uu, uv, vv = uu+w*u*u, uv+w*u*v, vv+w*v*v
		u1, v1 = u1+w*u, v1+w*v
	}
	if det := uu*vv - uv*uv; det > 1e-13*uu*vv {
		a, c = (u1*vv-v1*uv)/det, (uu*v1-uv*u1)/det
	}
	if !(a > 0) || c < 0 {
		a, c = u1/uu, 0
	}
	for i := range pts {
		p := &pts[i]
		r := (a*math.Pow(p.size/scale, b)+c)/p.y - 1
		left += p.weight() * r * r
	}
	if math.IsNaN(left) {
		left = math.Inf(1)
	}
	return a, c, left
}

// monomial is the product of the parameters to the exponents of t.
func monomial(t, params []float64) float64 {
	y := 1.0
	for k, e := range t {
		switch e {
		case 0:
		case 1:
			y *= params[k]
		default:
			y *= math.Pow(params[k], e)
		}
	}
	return y
}

// fitTerms fits the factors of the monomials by least squares of relative
// distances, through a QR decomposition.
func fitTerms(pts []point, terms [][]float64) Fit {
	if len(pts) < len(terms) || len(terms) == 0 {
		return Fit{Err: errFewPoints}
	}
	rows, rhs := make([][]float64, len(pts)), make([]float64, len(pts))
	for i := range pts {
		p := &pts[i]
		w := math.Sqrt(p.weight())
		row := make([]float64, len(terms))
		for k, t := range terms {
			row[k] = w * monomial(t, p.params) / p.y
			if math.IsNaN(row[k]) || math.IsInf(row[k], 0) {
				return Fit{Err: errSingular}
			}
		}
		rows[i], rhs[i] = row, w
	}
	coef, ok := leastSquares(rows, rhs)
	if !ok {
		return Fit{Err: errSingular}
	}
	return Fit{Coef: coef, A: math.NaN(), B: math.NaN(), C: math.NaN()}
}

// leastSquares solves rows·x ≈ rhs by Householder reflections; both are used up.
// Columns are scaled to length 1 first, as monomials differ by many powers of
// ten. It reports false when a column is a combination of the others.
func leastSquares(rows [][]float64, rhs []float64) ([]float64, bool) {
	m, n := len(rows), len(rows[0])
	scale := make([]float64, n)
	for k := range n {
		for i := range m {
			scale[k] = math.Hypot(scale[k], rows[i][k])
		}
		if scale[k] == 0 {
			return nil, false
		}
		for i := range m {
			rows[i][k] /= scale[k]
		}
	}
	for k := range n {
		norm := 0.0
		for i := k; i < m; i++ {
			norm = math.Hypot(norm, rows[i][k])
		}
		if norm < 1e-10 {
			return nil, false
		}
		alpha := -math.Copysign(norm, rows[k][k])
		v := make([]float64, m) // the reflection's normal, from k on
		vv := 0.0
		for i := k; i < m; i++ {
			v[i] = rows[i][k]
			if i == k {
				v[i] -= alpha
			}
			vv += v[i] * v[i]
		}
		reflect := func(get func(int) *float64) {
			dot := 0.0
			for i := k; i < m; i++ {
				dot += v[i] * *get(i)
			}
			for i := k; i < m; i++ {
				*get(i) -= 2 * dot / vv * v[i]
			}
		}
		for c := k; c < n; c++ {
			reflect(func(i int) *float64 { return &rows[i][c] })
		}
		reflect(func(i int) *float64 { return &rhs[i] })
	}
	x := make([]float64, n)
	for k := n - 1; k >= 0; k-- {
		s := rhs[k]
		for c := k + 1; c < n; c++ {
			s -= rows[k][c] * x[c]
		}
		x[k] = s / rows[k][k]
		if math.IsNaN(x[k]) || math.IsInf(x[k], 0) {
			return nil, false
		}
	}
	for k := range x {
		x[k] /= scale[k]
	}
	return x, true
}
