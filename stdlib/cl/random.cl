// Random numbers: Philox4x32-10. Element (r, c) is number base + r * down + c * right
// of the root datum. The numbers 2b and 2b+1 are halves of block b.

uint4 philox(ulong block, uint kind, ulong seed) {
	uint4 c = (uint4)((uint)block, (uint)(block >> 32), kind, 0);
	uint2 k = (uint2)((uint)seed, (uint)(seed >> 32));
	for (int i = 0; i < 10; i++) {
		const uint h0 = mul_hi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
		const uint h1 = mul_hi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
		c = (uint4)(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
		k += (uint2)(0x9E3779B9u, 0xBB67AE85u);
	}
	return c;
}

#define HALF(w, second) (second ? (ulong)w.z | (ulong)w.w << 32 : (ulong)w.x | (ulong)w.y << 32)

#define HERE \
	const long c = get_global_id(0), r = get_global_id(1); \
	if (c >= cols) return; \
	const ulong n = (ulong)(base + r * down + c * right)

#define WHERE long rows, long cols, global T *x, long x0, long xld, long base, long down, long right, ulong seed

// below is the largest number that may be stored.
kernel void uniform(WHERE, double lo, double hi, T below) {
	HERE;
	const uint4 w = philox(n / 2, 0, seed);
	const ulong bits = HALF(w, n % 2);
#ifdef SINGLE
	const T v = (T)(lo + (double)(bits >> 40) * 0x1p-24 * (hi - lo));
#else
	const T v = lo + (double)(bits >> 11) * 0x1p-53 * (hi - lo);
#endif
	x[x0 + r * xld + c] = v >= (T)hi ? below : v;
}

kernel void normal(WHERE, double mean, double sd) {
	HERE;
	const uint4 w = philox(n / 2, 1, seed);
	const double u = (double)((HALF(w, 0) >> 11) + 1) * 0x1p-53; // 0 < u <= 1
	const double angle = 2 * M_PI * ((double)(HALF(w, 1) >> 11) * 0x1p-53), far = sd * sqrt(-2 * log(u));
	x[x0 + r * xld + c] = (T)(mean + far * (n % 2 ? sin(angle) : cos(angle)));
}
