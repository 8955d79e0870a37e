package elementary

import "math"

// Functions of complex numbers, made of operations that are rounded correctly and of the functions
// of this package. Package lower builds the same operations into bodies, and TestComplexFunctions
// compares the bits of both.

// AbsComplex returns the absolute value of z: that of its larger part, times the root of 1 plus the
// square of the quotient of both, so that it overflows only where the result does.
func AbsComplex(z complex128) float64 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	m, n := max(x, y), min(x, y)
	if m == 0 || m == math.Inf(1) {
		return m
	}
	r := n / m
	return m * math.Sqrt(1+float64(r*r))
}

// SqrtComplex returns the root of z whose real part is not negative. The signs of zeros do not
// matter.
func SqrtComplex(z complex128) complex128 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	t := math.Sqrt(float64(0.5*x) + float64(0.5*AbsComplex(z)))
	u := y / (t + t)
	if t == 0 {
		u = 0
	}
	if real(z) < 0 {
		t, u = u, t
	}
	if imag(z) < 0 {
		u = -u
	}
	return complex(t, u)
}

// ExpComplex returns e to the power z.
func ExpComplex(z complex128) complex128 {
	r := Exp(real(z))
	return complex(r*Cos(imag(z)), r*Sin(imag(z)))
}

// LogComplex returns the logarithm of z whose imaginary part is from -π to π.
func LogComplex(z complex128) complex128 {
	return complex(Log(AbsComplex(z)), ArgComplex(z))
}

// Coefficients of the arc tangent, from Cephes: x + x·z·P(z)/Q(z) with z = x², up to 0.66. The
// leading coefficient of Q is 1.
var (
	AtanP = [5]float64{-8.750608600031904122785e-01, -1.615753718733365076637e+01, -7.500855792314704667340e+01, -1.228866684490136173410e+02, -6.485021904942025371773e+01}
	AtanQ = [5]float64{+2.485846490142306297962e+01, +1.650270098316988542046e+02, +4.328810604912902668951e+02, +4.853903996359136964868e+02, +1.945506571482613964425e+02}
)

// ArgComplex returns the angle of z, from -π to π; that of 0 is 0. The signs of zeros do not matter.
func ArgComplex(z complex128) float64 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	q := min(x, y) / max(x, y)
	if max(x, y) == 0 {
		q = 0
	}
	if min(x, y) == math.Inf(1) {
		q = 1
	}
	t := q
	if q > 0.66 {
		t = (q - 1) / (q + 1)
	}
	s := t * t
	p, d := AtanP[0], s+AtanQ[0]
	for k := 1; k < 5; k++ {
		p = float64(p*s) + AtanP[k]
		d = float64(d*s) + AtanQ[k]
	}
	a := float64(t*(s*p/d)) + t
	if q > 0.66 {
		a = math.Pi/4 + a
	}
	if y > x {
		a = math.Pi/2 - a
	}
	if real(z) < 0 {
		a = math.Pi - a
	}
	if imag(z) < 0 {
		a = -a
	}
	return a
}
