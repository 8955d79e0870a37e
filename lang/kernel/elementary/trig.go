package elementary

// Sine, cosine and tangent.
//
// Arguments below 2^32 (2^28 for float32) are reduced by Cody and Waite's method: x = n pi/2 +
// r with |r| <= pi/4, pi/2 in three parts. As in exp.go a fused multiply-add makes the first
// step exact. Larger arguments are reduced by M. Payne and R. Hanek's method ("Radian
// reduction for trigonometric functions", 1983) with integers, which is exact enough for all of
// them. The polynomials are evaluated as in k_sin.c and k_cos.c of fdlibm.

const (
	twoOverPi = 0x1.45f306dc9c883p-1
	halfPi1   = 0x1.921fb54442d18p0
	halfPi2   = 0x1.1a62633145c07p-54
	halfPi3   = -0x1.f1976b7ed8fbcp-110
)

// reduce returns n mod 4 in the low bits, and r in two parts. 0 <= a < 2^32.
func reduce(a float64) (n uint64, h, l float64) {
	shifted := fma(a, twoOverPi, magic)
	k := shifted - magic
	h = fma(-k, halfPi1, a)
	p := float64(k * halfPi2)
	e := fma(k, halfPi2, -p)
	s := h - p
	// exact even if h is the smaller of the two, since it has few bits then
	l = (h - s) - p - e
	return toBits(shifted), s, fma(-k, halfPi3, l)
}

// reduceHuge is reduce for a >= 2^28. It returns some values if a is infinite or NaN.
//
// a is m 2^e with an integer m. Of the bits of 2/pi it takes the 192 that begin with weight
// 2^(1-e): earlier ones contribute multiples of 4 to a 2/pi, later ones less than 2^-135.
func reduceHuge(a float64) (n uint64, h, l float64) {
	b := toBits(a)
	m := b&(1<<52-1) | 1<<52
	at := b>>52 - 1013 // the first bit, in twoOverPiBits
	i := at >> 6 & 31
	s := at & 63
	t0, t1, t2, t3 := twoOverPiBits[i], twoOverPiBits[i+1], twoOverPiBits[i+2], twoOverPiBits[i+3]
	w0 := t0<<s | t1>>1>>(63-s)
	w1 := t1<<s | t2>>1>>(63-s)
	w2 := t2<<s | t3>>1>>(63-s)
	// the first 128 bits of the product of m and the 192 bits, mod 2^192
	low := m*w1 + mulHigh(m, w2)
	high := m*w0 + mulHigh(m, w1) + sel(low < m*w1, 1, uint64(0))
	// two bits of n, and a fraction that is a signed number of 128 bits, -1/2 <= f < 1/2
	f := high<<2 | low>>62
	n = high>>62 + f>>63
	low <<= 2
	h, l = fastSum(float64(float64(int64(f)>>32)*0x1p-32), float64(float64(int64(f&0xffffffff))*0x1p-64))
	l += float64(float64(int64(low>>32))*0x1p-96) + float64(float64(int64(low&0xffffffff))*0x1p-128)
	h, l = fastSum(h, l)
	p := float64(h * halfPi1)
	l = fma(l, halfPi1, fma(h, halfPi2, fma(h, halfPi1, -p)))
	return n, p, l
}

// sinParts returns the sine of h+l, |h| <= pi/4, as a sum of h and a small rest.
//
//	fpminimax(sin(x), [|3,5,7,9,11,13|], [|D...|], [-0.7863;0.7863], relative, x);
func sinParts(h, l float64) (rest float64) {
	z := float64(h * h)
	z2 := float64(z * z)
	p0 := fma(z, 0x1.111111110f74ap-7, -0x1.5555555555548p-3)
	p2 := fma(z, 0x1.71de355acff1dp-19, -0x1.a01a019bee4efp-13)
	p4 := fma(z, 0x1.5d8cf886b20ecp-33, -0x1.ae5e509d678f1p-26)
	p := fma(fma(p4, z2, p2), z2, p0)
	return fma(float64(z*h), p, fma(-0.5*z, l, l))
}

// cosParts returns the cosine of h+l as a sum of two floats.
//
//	fpminimax(cos(x), [|4,6,8,10,12,14|], [|D...|], [-0.7863;0.7863], absolute, 1-x^2/2);
func cosParts(h, l float64) (one, rest float64) {
	z := float64(h * h)
	zl := fma(h, h, -z)
	z2 := float64(z * z)
	p0 := fma(z, -0x1.6c16c16c15212p-10, 0x1.555555555554cp-5)
	p2 := fma(z, -0x1.27e4f8106f4d7p-22, 0x1.a01a019cbd175p-16)
	p4 := fma(z, -0x1.8fb0092dcf05cp-37, 0x1.1ee9ef6924ee1p-29)
	p := fma(fma(p4, z2, p2), z2, p0)
	one, e := fastSum(1, float64(-0.5*z))
	return one, e + fma(z2, p, fma(-h, l, -0.5*zl))
}

// sinOf returns the sine of n pi/2 + h + l, with its sign changed if the bits of sign are set.
func sinOf(n, sign uint64, h, l float64) float64 {
	s := h + sinParts(h, l)
	c1, c2 := cosParts(h, l)
	y := pick(n&1 != 0, c1+c2, s)
	return fromBits(toBits(y) ^ sign ^ n<<62&signBit)
}

// tanOf returns the tangent of n pi/2 + h + l, with its sign changed if the bits of sign are set.
func tanOf(n, sign uint64, h, l float64) float64 {
	s1, s2 := fastSum(h, sinParts(h, l))
	c1, c2 := cosParts(h, l)
	c1, c2 = fastSum(c1, c2)
	odd := n&1 != 0
	y := quotient(pick(odd, c1, s1), pick(odd, c2, s2), pick(odd, s1, c1), pick(odd, s2, c2))
	return fromBits(toBits(y) ^ sign ^ n<<63)
}

// Sin returns the sine of x radians. The error is below 0.75 ulp.
func Sin(x float64) float64 {
	a := abs(x)
	if !(a < 0x1p32) {
		return sinHuge(x)
	}
	n, h, l := reduce(a)
	return sinOf(n, toBits(x)&signBit, h, l)
}

func sinHuge(x float64) float64 {
	a := abs(x)
	n, h, l := reduceHuge(a)
	return sel(a < infinity(), sinOf(n, toBits(x)&signBit, h, l), nan())
}

// Cos returns the cosine of x radians. The error is below 0.75 ulp.
func Cos(x float64) float64 {
	a := abs(x)
	if !(a < 0x1p32) {
		return cosHuge(x)
	}
	n, h, l := reduce(a)
	return sinOf(n+1, 0, h, l)
}

func cosHuge(x float64) float64 {
	a := abs(x)
	n, h, l := reduceHuge(a)
	return sel(a < infinity(), sinOf(n+1, 0, h, l), nan())
}

// Tan returns the tangent of x radians. The error is below 0.85 ulp.
func Tan(x float64) float64 {
	a := abs(x)
	if !(a < 0x1p32) {
		return tanHuge(x)
	}
	n, h, l := reduce(a)
	return tanOf(n, toBits(x)&signBit, h, l)
}

func tanHuge(x float64) float64 {
	a := abs(x)
	n, h, l := reduceHuge(a)
	return sel(a < infinity(), tanOf(n, toBits(x)&signBit, h, l), nan())
}

// reduce32 is reduce for float32: r is wrong by less than 2^-78. 0 <= a < 2^28.
func reduce32(a float64) (n uint64, r float64) {
	shifted := fma(a, twoOverPi, magic)
	k := shifted - magic
	return toBits(shifted), fma(-k, halfPi2, fma(-k, halfPi1, a))
}

// sinCos32 returns sine and cosine of r for float32.
//
//	fpminimax(sin(x), [|3,5,7,9|], [|D...|], [-0.7863;0.7863], relative, x);
//	fpminimax(cos(x), [|2,4,6,8,10|], [|D...|], [-0.7863;0.7863], absolute, 1);
func sinCos32(r float64) (sin, cos float64) {
	z := float64(r * r)
	p := fma(z, 0x1.6ccefb8d3767dp-19, -0x1.a00f72c30f0ep-13)
	p = fma(z, p, 0x1.1111085b062adp-7)
	p = fma(z, p, -0x1.5555554c5cb6ap-3)
	q := fma(z, -0x1.23d5bcbb5afap-22, 0x1.a00f053a6858bp-16)
	q = fma(z, q, -0x1.6c16b3e9a1c5fp-10)
	q = fma(z, q, 0x1.55555546d3cf3p-5)
	q = fma(z, q, -0x1.ffffffffebc3ap-2)
	return fma(float64(z*r), p, r), fma(z, q, 1)
}

func sinOf32(n, sign uint64, r float64) float32 {
	s, c := sinCos32(r)
	return float32(fromBits(toBits(pick(n&1 != 0, c, s)) ^ sign ^ n<<62&signBit))
}

func tanOf32(n, sign uint64, r float64) float32 {
	s, c := sinCos32(r)
	odd := n&1 != 0
	return float32(fromBits(toBits(pick(odd, c, s)/pick(odd, s, c)) ^ sign ^ n<<63))
}

// SinF32 is Sin for float32. The error is below 0.51 ulp.
func SinF32(x float32) float32 {
	v := float64(x)
	a := abs(v)
	if !(a < 0x1p28) {
		return sinHugeF32(x)
	}
	n, r := reduce32(a)
	return sinOf32(n, toBits(v)&signBit, r)
}

func sinHugeF32(x float32) float32 {
	v := float64(x)
	a := abs(v)
	n, r, _ := reduceHuge(a)
	r = sel(a < infinity(), r, nan())
	return sinOf32(n, toBits(v)&signBit, r)
}

// CosF32 is Cos for float32. The error is below 0.51 ulp.
func CosF32(x float32) float32 {
	a := abs(float64(x))
	if !(a < 0x1p28) {
		return cosHugeF32(x)
	}
	n, r := reduce32(a)
	return sinOf32(n+1, 0, r)
}

func cosHugeF32(x float32) float32 {
	a := abs(float64(x))
	n, r, _ := reduceHuge(a)
	r = sel(a < infinity(), r, nan())
	return sinOf32(n+1, 0, r)
}

// TanF32 is Tan for float32. The error is below 0.51 ulp.
func TanF32(x float32) float32 {
	v := float64(x)
	a := abs(v)
	if !(a < 0x1p28) {
		return tanHugeF32(x)
	}
	n, r := reduce32(a)
	return tanOf32(n, toBits(v)&signBit, r)
}

func tanHugeF32(x float32) float32 {
	v := float64(x)
	a := abs(v)
	n, r, _ := reduceHuge(a)
	r = sel(a < infinity(), r, nan())
	return tanOf32(n, toBits(v)&signBit, r)
}

// twoOverPiBits has 64 bits of 0, and then the bits of 2/pi behind the point.
var twoOverPiBits = [35]uint64{
	0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
	0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
	0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
	0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
	0xf0cfbc209af4361d, 0xa9e391615ee61b08, 0x6599855f14a06840, 0x8dffd8804d732731,
	0x06061556ca73a8c9, 0x60e27bc08c6b47c4, 0x19c367cddce8092a, 0x8359c4768b961ca6,
	0xddaf44d15719053e, 0xa5ff07053f7e33e8, 0x32c2de4f98327dbb, 0xc33d26ef6b1e5ef8,
	0x9f3a1f35caf27f1d, 0x87f121907c7c246a, 0xfa6ed5772d30433b,
}
