package elementary

// The exponential function and the hyperbolic tangent.
//
// exp reduces its argument by Cody and Waite's method ("Software Manual for the Elementary
// Functions", 1980): x = k ln2 + r with |r| <= ln2/2, ln2 in two parts. A fused multiply-add
// makes the first step exact: k times the first part and x are multiples of 2^-54, and
// their difference is below 1/2. exp(r) is a polynomial. It has no table, so that vectors need
// no gather.

const (
	invLn2 = 0x1.71547652b82fep0
	ln2Hi  = 0x1.62e42fefa39efp-1 // ln2 to 53 bits
	ln2Lo  = 0x1.abc9e3b39803fp-56
)

// expReduced returns an integer k, as the float k + magic, and h and q with
// exp(x+tail) = 2^k (1 + h + q). |h| is at most ln2/2, and q about h*h/2. tail is below 2^-40
// and x below 2^40.
//
// The polynomial, found with Sollya, is wrong by at most 2^-63.8:
//
//	fpminimax(exp(x), [|3,...,12|], [|D...|], [-0.34715;0.34715], absolute, 1+x+x^2/2);
func expReduced(x, tail float64) (shifted, h, q float64) {
	shifted = fma(x, invLn2, magic)
	k := shifted - magic
	h = fma(-k, ln2Hi, x)
	low := fma(-k, ln2Lo, tail)
	r := h + low
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	p0 := fma(r, 0x1.555555555555cp-3, 0.5)
	p2 := fma(r, 0x1.111111110e9d5p-7, 0x1.555555555555ap-5)
	p4 := fma(r, 0x1.a01a01b45bd1fp-13, 0x1.6c16c16c141ecp-10)
	p6 := fma(r, 0x1.71ddee2b2a196p-19, 0x1.a01a01b1d3805p-16)
	p8 := fma(r, 0x1.af6f0e44c7aa3p-26, 0x1.27e4c31204a74p-22)
	p8 = fma(r2, 0x1.1f994e876fb5dp-29, p8)
	p := fma(fma(p8, r4, fma(p6, r2, p4)), r4, fma(p2, r2, p0))
	return shifted, h, fma(r2, p, low)
}

// onePlus returns 1 + h + q for the h and q of expReduced.
func onePlus(h, q float64) float64 {
	s, e := fastSum(1, h)
	return s + (e + q)
}

// scale returns y times 2^k, for k + magic, |k| < 2000 and y between 1/2 and 2. It multiplies
// twice, since 2^k may be out of range where the product is not.
func scale(y, shifted float64) float64 {
	k := int64(toBits(shifted) - magicBits)
	half := k >> 1
	return y * fromBits(uint64(half+1023)<<52) * fromBits(uint64(k-half+1023)<<52)
}

// Exp returns e to the power of x. The error is below 0.7 ulp, and below 1 ulp if the result is
// subnormal.
func Exp(x float64) float64 {
	x = sel(x > 720, 720, x)
	x = sel(x < -760, -760, x)
	shifted, h, q := expReduced(x, 0)
	return scale(onePlus(h, q), shifted)
}

// exp32Reduced is expReduced for float32: exp(x) = 2^k (1 + q), where 1 + q is wrong by at most
// 2^-33.2. |x| is below 2^20.
//
//	fpminimax(exp(x), [|3,4,5,6,7|], [|D...|], [-0.34715;0.34715], absolute, 1+x+x^2/2);
func exp32Reduced(x float64) (shifted, q float64) {
	shifted = fma(x, invLn2, magic)
	r := fma(-(shifted - magic), ln2Hi, x)
	r2 := float64(r * r)
	p0 := fma(r, 0x1.5555558550c54p-3, 0.5)
	p2 := fma(r, 0x1.1110937e1629bp-7, 0x1.5554e568419aep-5)
	p4 := fma(r, 0x1.a19d5ffeab7b3p-13, 0x1.6d4fe4181b894p-10)
	return shifted, fma(r2, fma(fma(p4, r2, p2), r2, p0), r)
}

// addExponent returns y times 2^k, for k + magic. y and the product are normal.
func addExponent(y, shifted float64) float64 {
	return fromBits(toBits(y) + toBits(shifted)<<52)
}

// ExpF32 is Exp for float32. The error is below 0.51 ulp.
func ExpF32(x float32) float32 {
	v := float64(x)
	v = sel(v > 100, 100, v)
	v = sel(v < -120, -120, v)
	shifted, q := exp32Reduced(v)
	return float32(addExponent(1+q, shifted))
}

// Tanh returns the hyperbolic tangent of x: m/(m+2) for m = exp(2|x|) - 1, with numerator and
// denominator in two parts each. The error is below 0.9 ulp.
func Tanh(x float64) float64 {
	a := abs(x)
	a = sel(a > 22, 22, a) // there the result is 1
	shifted, h, q := expReduced(2*a, 0)
	power := fromBits((toBits(shifted) - magicBits + 1023) << 52) // 2^k, 0 <= k < 64
	// m = (2^k - 1) + 2^k (h + q). The first term is 0 or larger than the second.
	sh, sl := fastSum(h, q)
	mh, ml := fastSum(power-1, float64(power*sh))
	ml = fma(power, sl, ml)
	dh, dl := exactSum(mh, 2)
	return withSign(quotient(mh, ml, dh, dl+ml), x)
}

// TanhF32 is Tanh for float32. The error is below 0.51 ulp.
func TanhF32(x float32) float32 {
	v := float64(x)
	a := abs(v)
	a = sel(a > 10, 10, a)
	shifted, q := exp32Reduced(2 * a)
	power := fromBits((toBits(shifted) - magicBits + 1023) << 52)
	m := fma(power, q, power-1)
	return float32(withSign(m/(m+2), v))
}
