package elementary

// Powers and the cube root.
//
// Pow follows pow.c of ARM's optimized-routines (S. Nagy): exp(y log|x|) with the logarithm
// in two parts, about 68 bits.

// Pow returns x to the power of y, with the special cases of math.Pow. A square is one product.
// The error is below 0.7 ulp, and below 1 ulp if the result is subnormal.
func Pow(x, y float64) float64 {
	a := abs(x)
	k, r, c, tail := logParts(a)
	t, e1 := fastSum(fma(k, logLn2Hi, c), r)
	half := -0.5 * r
	square := float64(half * r)
	h, e2 := fastSum(t, square)
	low := fma(k, logLn2Lo, tail) + e1 + fma(half, r, -square) + e2 + logPoly(r)
	lh, ll := fastSum(h, low)

	lh = powLog(a, lh)
	ph := float64(y * lh)
	pl := fma(y, ll, fma(y, lh, -ph))
	pl = sel(abs(ph) < 800, pl, 0)
	ph = sel(ph > 800, 800, ph)
	ph = sel(ph < -800, -800, ph)
	ph = sel(a == 1, 0, ph)
	shifted, eh, q := expReduced(ph, pl)
	return powSpecial(x, y, scale(onePlus(eh, q), shifted))
}

// powLog returns the logarithm l of a, or that of 0 and +Inf.
func powLog(a, l float64) float64 {
	l = sel(a < infinity(), l, infinity())
	return sel(a == 0, -infinity(), l)
}

// powSpecial returns the result p, which is |x| to the power of y, with its sign, or that of
// special arguments.
func powSpecial(x, y, p float64) float64 {
	ay := abs(y)
	// floats of 2^52 and more are integers, those of 2^53 and more are even
	moved := ay + 0x1p52
	isInt := ay >= 0x1p52 || moved-0x1p52 == ay
	isOdd := isInt && ay < 0x1p53 && toBits(sel(ay < 0x1p52, moved, ay))&1 != 0
	p = fromBits(toBits(p) | sel(isOdd, toBits(x)&signBit, 0))
	p = sel(x < 0 && !isInt && x > -infinity(), nan(), p)
	p = sel(y == 2, x*x, p)
	p = sel(x != x || y != y, nan(), p)
	return sel(x == 1 || y == 0, 1, p)
}

// PowF32 is Pow for float32: 2 to the power of y log2|x| in float64. The error is below
// 0.51 ulp: that of the logarithm is 2^-45, that of the power 2^-34.
//
//	fpminimax(log((1+x)/(1-x))/log(2), [|1,3,5,7,9,11|], [|D...|], [1b-20;0.17158], relative);
//	fpminimax(2^x, [|1,2,3,4,5,6,7|], [|D...|], [-0.5005;0.5005], absolute, 1);
func PowF32(x, y float32) float32 {
	v, w := float64(x), float64(y)
	a := abs(v)
	k, s := log32Parts(a)
	s2 := float64(s * s)
	p := fma(s2, 0x1.21b0d94fe5af2p-2, 0x1.4795573b8ca1cp-2)
	p = fma(s2, p, 0x1.a61a2ec4cf2a2p-2)
	p = fma(s2, p, 0x1.2776c2934237ap-1)
	p = fma(s2, p, 0x1.ec709dc53c683p-1)
	p = fma(s2, p, 0x1.71547652b8251p1)
	l := powLog(a, fma(s, p, k))

	e := float64(w * l)
	e = sel(e > 200, 200, e)
	e = sel(e < -200, -200, e)
	e = sel(a == 1, 0, e)
	shifted := e + magic
	r := e - (shifted - magic)
	r2 := float64(r * r)
	p0 := fma(r, 0x1.ebfbe07b81229p-3, 0x1.62e42fef7b12p-1)
	p2 := fma(r, 0x1.3b29f0330cf7ap-7, 0x1.c6b08df52a1f1p-5)
	p4 := fma(r, 0x1.445f197c12ad7p-13, 0x1.5d8722c62061cp-10)
	q := fma(r2, fma(r2, fma(r2, 0x1.00f1be0da4ab3p-16, p4), p2), p0)
	return float32(powSpecial(v, w, addExponent(fma(r, q, 1), shifted)))
}

// The cube root follows s_cbrt.c of FreeBSD (fdlibm; B. D. Evans' revision): a third of the
// exponent's bits is an estimate of 5 bits, a polynomial makes it 23 bits, a step of Newton's
// method the rest.

// cbrtEstimate returns the cube root of a, which is positive and finite, with an error of
// less than 2^-23.
func cbrtEstimate(a float64) float64 {
	small := a < 0x1p-1022
	b := toBits(sel(small, a*0x1p54, a))
	third := (b >> 32) * 0xaaaaaaab >> 33
	t := fromBits((third + sel(small, 696219795, uint64(715094163))) << 32)
	r := float64(t*t) * (t / a)
	p := fma(r, 1.621429720105354466140, -1.88497979543377169875)
	p = fma(r, p, 1.87595182427177009643)
	q := fma(r, 0.145996192886612446982, -0.758397934778766047437)
	return float64(t * fma(float64(float64(r*r)*r), q, p))
}

// Cbrt returns the cube root of x. The error is below 0.67 ulp.
func Cbrt(x float64) float64 {
	a := abs(x)
	// t has 23 bits: its square is exact
	t := fromBits((toBits(cbrtEstimate(a)) + 0x80000000) & 0xffffffffc0000000)
	r := a / float64(t*t)
	r = (r - t) / (t + t + r)
	return cbrtSpecial(x, withSign(fma(t, r, t), x))
}

// cbrtSpecial returns the cube root y of x, or that of 0, infinities and NaN.
func cbrtSpecial(x, y float64) float64 {
	a := abs(x)
	return sel(a > 0 && a < infinity(), y, x)
}

// CbrtF32 is Cbrt for float32. The error is below 0.51 ulp.
func CbrtF32(x float32) float32 {
	v := float64(x)
	a := abs(v)
	t := cbrtEstimate(a)
	t = fma(a/float64(t*t)-t, 0x1.5555555555555p-2, t)
	return float32(cbrtSpecial(v, withSign(t, v)))
}
