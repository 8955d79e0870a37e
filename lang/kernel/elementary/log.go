package elementary

// Logarithms.
//
// The float64 functions follow P. Tang, "Table-driven implementation of the logarithm function
// in IEEE floating-point arithmetic" (1990), in the form of ARM's optimized-routines (S. Nagy,
// pow.c): x = 2^k z, and a table has for each part of the range of z a number c' near 1/z with
// so few bits that r = z c' - 1 is exact. Then log(x) = k ln2 - log(c') + log(1+r), and
// log(1+r) is a polynomial. c' is 1 around 1, so that small results are exact to the last place.
//
// The float32 functions compute in float64: log(z) = 2 artanh(s) with s = (z-1)/(z+1), as in
// fdlibm (K. C. Ng), without a table.

const (
	logOff = 0x3fe6955500000000 // z begins here: 1 lies within a part, not between two

	// ln2 with its last 11 bits 0: its product with k is exact, and so is the sum with an
	// entry of the table.
	logLn2Hi = 0x1.62e42fefa3800p-1
	logLn2Lo = 0x1.ef35793c76730p-45
)

// logParts returns k and r of x, which is positive and finite, and -log(c') in two parts.
func logParts(x float64) (k, r, c, tail float64) {
	b := toBits(x)
	b = sel(x < 0x1p-1022, toBits(x*0x1p52)-52<<52, b)
	t := b - logOff
	i := (t >> 45 & 127) * 3
	z := fromBits(b - t&(0xfff<<52))
	k = float64(int64(t) >> 52)
	r = fma(z, logTable[i], -1)
	return k, r, logTable[i+1], logTable[i+2]
}

// logPoly returns log(1+r) - r + r*r/2 for |r| < 0.0072. The error is below 2^-74.
//
//	fpminimax(log(1+x), [|3,...,8|], [|D...|], [-0.0072;0.0072], absolute, x-x^2/2);
func logPoly(r float64) float64 {
	r2 := float64(r * r)
	p0 := fma(r, -0x1.0000000000078p-2, 0x1.555555555559bp-2)
	p2 := fma(r, -0x1.55555543cc8c6p-3, 0x1.9999998c36e77p-3)
	p4 := fma(r, -0x1.0006946263679p-3, 0x1.2498793fb71e3p-3)
	return float64(float64(r2*r) * fma(fma(p4, r2, p2), r2, p0))
}

// logSpecial returns the result y of a logarithm of x, or that of an x without one.
func logSpecial(x, y float64) float64 {
	y = sel(x < infinity(), y, x) // +Inf and NaN
	y = sel(x < 0, nan(), y)
	return sel(x == 0, -infinity(), y)
}

// Log returns the natural logarithm of x. The error is below 0.52 ulp.
func Log(x float64) float64 {
	k, r, c, tail := logParts(x)
	h, e := fastSum(fma(k, logLn2Hi, c), r)
	low := fma(k, logLn2Lo, tail) + logPoly(r)
	return logSpecial(x, h+(e+fma(-0.5*r, r, low)))
}

// Log2 returns the binary logarithm of x, which is exact for powers of two. The error is below
// 0.52 ulp.
func Log2(x float64) float64 {
	k, r, c, tail := logParts(x)
	h, e := fastSum(c, r)
	e += fma(-0.5*r, r, tail+logPoly(r))
	// (h + e) / ln2
	ph := float64(h * invLn2)
	pl := fma(h, invLn2, -ph)
	pl = fma(h, invLn2Lo, fma(e, invLn2, pl))
	sh, sl := fastSum(k, ph)
	return logSpecial(x, sh+(sl+pl))
}

const (
	invLn2Lo = 0x1.777d0ffda0d24p-56

	log32Off = 0x3fe6a09e667f3bcd // the square root of 1/2
)

// log32Parts returns k and s of x, which is positive, finite and normal.
func log32Parts(x float64) (k, s float64) {
	b := toBits(x)
	t := b - log32Off
	z := fromBits(b - t&(0xfff<<52))
	return float64(int64(t) >> 52), (z - 1) / (z + 1)
}

// LogF32 is Log for float32. The error is below 0.51 ulp: that of the polynomial is 2^-37.6.
//
//	fpminimax(log((1+x)/(1-x)), [|3,5,7,9|], [|D...|], [-0.17158;0.17158], relative, 2*x);
func LogF32(x float32) float32 {
	v := float64(x)
	k, s := log32Parts(v)
	s2 := float64(s * s)
	p := fma(s2, 0x1.e2f371fb2922fp-3, 0x1.2438ed768f99ep-2)
	p = fma(s2, p, 0x1.999a7a28cd0a6p-2)
	p = fma(s2, p, 0x1.555554fddb45p-1)
	y := fma(float64(s*s2), p, 2*s)
	return float32(logSpecial(v, fma(k, ln2Hi, y)))
}

// Log2F32 is Log2 for float32. The error is below 0.51 ulp: that of the polynomial is 2^-37.8.
//
//	fpminimax(log((1+x)/(1-x))/log(2), [|1,3,5,7,9|], [|D...|], [1b-20;0.17158], relative);
func Log2F32(x float32) float32 {
	v := float64(x)
	k, s := log32Parts(v)
	s2 := float64(s * s)
	p := fma(s2, 0x1.5ce84309092a4p-2, 0x1.a58d89b135d68p-2)
	p = fma(s2, p, 0x1.27777fe6aa749p-1)
	p = fma(s2, p, 0x1.ec709d12d1d7ap-1)
	p = fma(s2, p, 0x1.71547652bedf1p1)
	return float32(logSpecial(v, fma(s, p, k)))
}

// logTable has c', -log(c') as a multiple of 2^-42, and the rest of -log(c'), for each of the
// 128 parts of the range of z.
var logTable = [128 * 3]float64{
	0x1.6a00000000000p+0, -0x1.62c82f2b9c000p-2, -0x1.e54bdbd7c8a98p-44,
	0x1.6800000000000p+0, -0x1.5d1bdbf581000p-2, 0x1.8d6bdc9c7c238p-44,
	0x1.6600000000000p+0, -0x1.5767717456000p-2, 0x1.64ead9524d7cap-44,
	0x1.6400000000000p+0, -0x1.51aad872e0000p-2, 0x1.f4bd8db0a7cc1p-44,
	0x1.6200000000000p+0, -0x1.4be5f95778000p-2, 0x1.d7c92cd9ad824p-44,
	0x1.6000000000000p+0, -0x1.4618bc21c6000p-2, 0x1.3d82f484c84ccp-46,
	0x1.5e00000000000p+0, -0x1.404308686a000p-2, -0x1.f8ef43049f7d3p-44,
	0x1.5c00000000000p+0, -0x1.3a64c55694000p-2, -0x1.7a71cbcd735d0p-44,
	0x1.5a00000000000p+0, -0x1.347dd9a988000p-2, 0x1.5594dd4c58092p-45,
	0x1.5800000000000p+0, -0x1.2e8e2bae12000p-2, 0x1.67b1e99b72bd8p-45,
	0x1.5600000000000p+0, -0x1.2895a13de8000p-2, -0x1.a8d7ad24c13f0p-44,
	0x1.5600000000000p+0, -0x1.2895a13de8000p-2, -0x1.a8d7ad24c13f0p-44,
	0x1.5400000000000p+0, -0x1.22941fbcf8000p-2, 0x1.a6976f5eb0963p-44,
	0x1.5200000000000p+0, -0x1.1c898c169a000p-2, 0x1.81410e5c62affp-44,
	0x1.5000000000000p+0, -0x1.1675cababa000p-2, -0x1.8380e731f55c4p-44,
	0x1.4e00000000000p+0, -0x1.1058bf9ae5000p-2, 0x1.4ab9d817d52cdp-44,
	0x1.4c00000000000p+0, -0x1.0a324e2739000p-2, -0x1.c6bee7ef4030ep-47,
	0x1.4a00000000000p+0, -0x1.0402594b4d000p-2, -0x1.036b89ef42d7fp-48,
	0x1.4a00000000000p+0, -0x1.0402594b4d000p-2, -0x1.036b89ef42d7fp-48,
	0x1.4800000000000p+0, -0x1.fb9186d5e4000p-3, 0x1.d572aab993c87p-47,
	0x1.4600000000000p+0, -0x1.ef0adcbdc6000p-3, 0x1.b26b79c86af24p-45,
	0x1.4400000000000p+0, -0x1.e27076e2b0000p-3, 0x1.a342c2af0003cp-44,
	0x1.4200000000000p+0, -0x1.d5c216b4fc000p-3, 0x1.1ba91bbca681bp-45,
	0x1.4000000000000p+0, -0x1.c8ff7c79aa000p-3, 0x1.7794f689f8434p-45,
	0x1.4000000000000p+0, -0x1.c8ff7c79aa000p-3, 0x1.7794f689f8434p-45,
	0x1.3e00000000000p+0, -0x1.bc286742d8000p-3, -0x1.9ac53f39d121cp-44,
	0x1.3c00000000000p+0, -0x1.af3c94e80c000p-3, 0x1.a4e633fcd9066p-52,
	0x1.3a00000000000p+0, -0x1.a23bc1fe2c000p-3, 0x1.539cd91dc9f0bp-44,
	0x1.3a00000000000p+0, -0x1.a23bc1fe2c000p-3, 0x1.539cd91dc9f0bp-44,
	0x1.3800000000000p+0, -0x1.9525a9cf46000p-3, 0x1.297137d9f158fp-44,
	0x1.3600000000000p+0, -0x1.87fa06520c000p-3, -0x1.22120401202fcp-44,
	0x1.3400000000000p+0, -0x1.7ab890210e000p-3, 0x1.bdb9072534a58p-45,
	0x1.3400000000000p+0, -0x1.7ab890210e000p-3, 0x1.bdb9072534a58p-45,
	0x1.3200000000000p+0, -0x1.6d60fe719e000p-3, 0x1.bc6e557134767p-44,
	0x1.3000000000000p+0, -0x1.5ff3070a7a000p-3, 0x1.8586f183bebf2p-44,
	0x1.3000000000000p+0, -0x1.5ff3070a7a000p-3, 0x1.8586f183bebf2p-44,
	0x1.2e00000000000p+0, -0x1.526e5e3a1c000p-3, 0x1.790ba37fc5238p-44,
	0x1.2c00000000000p+0, -0x1.44d2b6ccb8000p-3, 0x1.70cc16135783cp-46,
	0x1.2c00000000000p+0, -0x1.44d2b6ccb8000p-3, 0x1.70cc16135783cp-46,
	0x1.2a00000000000p+0, -0x1.371fc201e8000p-3, -0x1.ee8779b2d8abcp-44,
	0x1.2800000000000p+0, -0x1.29552f8200000p-3, 0x1.5b967f4471dfcp-44,
	0x1.2600000000000p+0, -0x1.1b72ad52f6000p-3, -0x1.e80a41811a396p-45,
	0x1.2600000000000p+0, -0x1.1b72ad52f6000p-3, -0x1.e80a41811a396p-45,
	0x1.2400000000000p+0, -0x1.0d77e7cd08000p-3, -0x1.cb2cd2ee2f482p-44,
	0x1.2400000000000p+0, -0x1.0d77e7cd08000p-3, -0x1.cb2cd2ee2f482p-44,
	0x1.2200000000000p+0, -0x1.fec9131dc0000p-4, 0x1.54555d1ae6607p-44,
	0x1.2000000000000p+0, -0x1.e27076e2b0000p-4, 0x1.a342c2af0003cp-45,
	0x1.2000000000000p+0, -0x1.e27076e2b0000p-4, 0x1.a342c2af0003cp-45,
	0x1.1e00000000000p+0, -0x1.c5e548f5bc000p-4, -0x1.d0c57585fbe06p-46,
	0x1.1c00000000000p+0, -0x1.a926d3a4ac000p-4, -0x1.563650bd22a9cp-44,
	0x1.1c00000000000p+0, -0x1.a926d3a4ac000p-4, -0x1.563650bd22a9cp-44,
	0x1.1a00000000000p+0, -0x1.8c345d6318000p-4, -0x1.b20f5acb42a66p-44,
	0x1.1a00000000000p+0, -0x1.8c345d6318000p-4, -0x1.b20f5acb42a66p-44,
	0x1.1800000000000p+0, -0x1.6f0d28ae58000p-4, 0x1.4b4641b664613p-44,
	0x1.1600000000000p+0, -0x1.51b073f060000p-4, -0x1.83f69278e686ap-44,
	0x1.1600000000000p+0, -0x1.51b073f060000p-4, -0x1.83f69278e686ap-44,
	0x1.1400000000000p+0, -0x1.341d7961bc000p-4, -0x1.1d09299837610p-44,
	0x1.1400000000000p+0, -0x1.341d7961bc000p-4, -0x1.1d09299837610p-44,
	0x1.1200000000000p+0, -0x1.16536eea38000p-4, 0x1.47c5e768fa309p-46,
	0x1.1000000000000p+0, -0x1.f0a30c0118000p-5, 0x1.d599e83368e91p-45,
	0x1.1000000000000p+0, -0x1.f0a30c0118000p-5, 0x1.d599e83368e91p-45,
	0x1.0e00000000000p+0, -0x1.b42dd71198000p-5, 0x1.c827ae5d6704cp-46,
	0x1.0e00000000000p+0, -0x1.b42dd71198000p-5, 0x1.c827ae5d6704cp-46,
	0x1.0c00000000000p+0, -0x1.77458f6330000p-5, 0x1.181dce586af09p-44,
	0x1.0c00000000000p+0, -0x1.77458f6330000p-5, 0x1.181dce586af09p-44,
	0x1.0a00000000000p+0, -0x1.39e87b9fe8000p-5, -0x1.eafd480ad9015p-44,
	0x1.0a00000000000p+0, -0x1.39e87b9fe8000p-5, -0x1.eafd480ad9015p-44,
	0x1.0800000000000p+0, -0x1.f829b0e780000p-6, -0x1.980267c7e09e4p-45,
	0x1.0800000000000p+0, -0x1.f829b0e780000p-6, -0x1.980267c7e09e4p-45,
	0x1.0600000000000p+0, -0x1.7b91b07d60000p-6, 0x1.3b955b602ace4p-44,
	0x1.0400000000000p+0, -0x1.fc0a8b0fc0000p-7, -0x1.f1e7cf6d3a69cp-50,
	0x1.0400000000000p+0, -0x1.fc0a8b0fc0000p-7, -0x1.f1e7cf6d3a69cp-50,
	0x1.0200000000000p+0, -0x1.fe02a6b100000p-8, -0x1.9e23f0dda40e4p-46,
	0x1.0200000000000p+0, -0x1.fe02a6b100000p-8, -0x1.9e23f0dda40e4p-46,
	0x1.0000000000000p+0, 0x0.0p+0, 0x0.0p+0,
	0x1.0000000000000p+0, 0x0.0p+0, 0x0.0p+0,
	0x1.fc00000000000p-1, 0x1.0101575880000p-7, 0x1.bce251998b506p-44,
	0x1.f800000000000p-1, 0x1.0205658930000p-6, 0x1.611d27c8e8417p-44,
	0x1.f400000000000p-1, 0x1.8492528c90000p-6, -0x1.aa0ba325a0c34p-45,
	0x1.f000000000000p-1, 0x1.0415d89e78000p-5, -0x1.dddc7f461c516p-44,
	0x1.ec00000000000p-1, 0x1.466aed42e0000p-5, -0x1.c167375bdfd28p-45,
	0x1.e800000000000p-1, 0x1.894aa149f8000p-5, 0x1.9a19a8be97661p-44,
	0x1.e400000000000p-1, 0x1.ccb73cddd8000p-5, 0x1.965c36e09f5fep-44,
	0x1.e200000000000p-1, 0x1.eea31c0068000p-5, 0x1.c3dd83606d891p-44,
	0x1.de00000000000p-1, 0x1.1973bd1464000p-4, 0x1.566d154f930b3p-44,
	0x1.da00000000000p-1, 0x1.3bdf5a7d20000p-4, -0x1.19bd0ad125895p-44,
	0x1.d600000000000p-1, 0x1.5e95a4d978000p-4, 0x1.1cb7ce1d17171p-44,
	0x1.d400000000000p-1, 0x1.700d30aeac000p-4, 0x1.c1e8da99ded32p-49,
	0x1.d000000000000p-1, 0x1.9335e5d594000p-4, 0x1.3115c3abd47dap-45,
	0x1.cc00000000000p-1, 0x1.b6ac88dad4000p-4, 0x1.b1bdff50225c7p-44,
	0x1.ca00000000000p-1, 0x1.c885801bc4000p-4, 0x1.646d1c65aacd3p-45,
	0x1.c600000000000p-1, 0x1.ec739830a0000p-4, 0x1.11fcba80cdd10p-44,
	0x1.c400000000000p-1, 0x1.fe89139dbc000p-4, 0x1.56594d82f7a82p-44,
	0x1.c000000000000p-1, 0x1.1178e8227e000p-3, 0x1.1ef78ce2d07f2p-45,
	0x1.be00000000000p-1, 0x1.1aa2b7e240000p-3, -0x1.1ac38dde3b366p-44,
	0x1.ba00000000000p-1, 0x1.2d1610c868000p-3, 0x1.39d6ccb81b4a1p-47,
	0x1.b800000000000p-1, 0x1.365fcb015a000p-3, -0x1.fd3a0afb9691bp-44,
	0x1.b400000000000p-1, 0x1.4913d8333c000p-3, -0x1.53e43558124c4p-44,
	0x1.b200000000000p-1, 0x1.527e5e4a1c000p-3, -0x1.4e60b8d4b411dp-44,
	0x1.ae00000000000p-1, 0x1.6574ebe8c2000p-3, -0x1.98c1d34f0f462p-44,
	0x1.ac00000000000p-1, 0x1.6f0128b756000p-3, 0x1.577390d31ef0fp-44,
	0x1.aa00000000000p-1, 0x1.7898d85444000p-3, 0x1.8e67be3dbaf3fp-44,
	0x1.a600000000000p-1, 0x1.8beafeb390000p-3, -0x1.73d54aae92cd1p-47,
	0x1.a400000000000p-1, 0x1.95a5adcf70000p-3, 0x1.7f22858a0ff6fp-47,
	0x1.a000000000000p-1, 0x1.a93ed3c8ae000p-3, -0x1.8724350562169p-45,
	0x1.9e00000000000p-1, 0x1.b31d8575bc000p-3, 0x1.c794e562a63cbp-44,
	0x1.9c00000000000p-1, 0x1.bd087383be000p-3, -0x1.d4bc4595412b6p-45,
	0x1.9a00000000000p-1, 0x1.c6ffbc6f00000p-3, 0x1.ee138d3a69d43p-44,
	0x1.9600000000000p-1, 0x1.db13db0d48000p-3, 0x1.2806a847527e6p-44,
	0x1.9400000000000p-1, 0x1.e530effe72000p-3, -0x1.fdbdbb13f7c18p-44,
	0x1.9200000000000p-1, 0x1.ef5ade4dd0000p-3, -0x1.a211565bb8e11p-51,
	0x1.9000000000000p-1, 0x1.f991c6cb3c000p-3, -0x1.90d04cd7cc834p-44,
	0x1.8c00000000000p-1, 0x1.07138604d6000p-2, -0x1.e76324e912b17p-44,
	0x1.8a00000000000p-1, 0x1.0c42d67616000p-2, 0x1.7188b163ceae9p-45,
	0x1.8800000000000p-1, 0x1.1178e8227e000p-2, 0x1.1ef78ce2d07f2p-44,
	0x1.8600000000000p-1, 0x1.16b5ccbad0000p-2, -0x1.23299042d74bfp-44,
	0x1.8400000000000p-1, 0x1.1bf99635a7000p-2, -0x1.1ac89575c2125p-44,
	0x1.8200000000000p-1, 0x1.214456d0ec000p-2, -0x1.caf0428b728a3p-44,
	0x1.7e00000000000p-1, 0x1.2bef07cdc9000p-2, 0x1.a9cfa4a5004f4p-45,
	0x1.7c00000000000p-1, 0x1.314f1e1d36000p-2, -0x1.8e27ad3213cb8p-45,
	0x1.7a00000000000p-1, 0x1.36b6776be1000p-2, 0x1.16ecdb0f177c8p-46,
	0x1.7800000000000p-1, 0x1.3c25277333000p-2, 0x1.83b54b606bd5cp-46,
	0x1.7600000000000p-1, 0x1.419b423d5f000p-2, -0x1.ce379226de3ecp-44,
	0x1.7400000000000p-1, 0x1.4718dc271c000p-2, 0x1.06c18fb4c14c5p-44,
	0x1.7200000000000p-1, 0x1.4c9e09e173000p-2, -0x1.e20891b0ad8a4p-45,
	0x1.7000000000000p-1, 0x1.522ae0738a000p-2, 0x1.ebe708164c759p-45,
	0x1.6e00000000000p-1, 0x1.57bf753c8d000p-2, 0x1.fadedee5d40efp-46,
	0x1.6c00000000000p-1, 0x1.5d5bddf596000p-2, -0x1.a0b2a08a465dcp-47,
}
