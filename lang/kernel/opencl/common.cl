// Operations of bodies, for every type. Operations with exact results have those of the CPU:
// a product and a sum are not fused to one operation.
#pragma OPENCL FP_CONTRACT OFF

ulong trips(long lo, long hi, int closed) {
	ulong n = (ulong)hi - (ulong)lo;
	return closed ? (lo <= hi ? n + 1 : 0) : (lo < hi ? n : 0);
}

// Elements of 16 bits, with no arithmetic of floats below the smallest normal one, which devices may
// not have.
float fromf16(ushort h) {
	uint u = (h & 0x7fffu) << 13, sign = (h & 0x8000u) << 16;
	if (u < 1u << 23) return as_float(as_uint((float)(h & 0x3ff) * 0x1p-24f) | sign);
	return as_float((u >= 0x7c00u << 13 ? u | 0x7f800000u : u + (112u << 23)) | sign);
}
float frombf16(ushort h) { return as_float((uint)h << 16); }
ushort tof16(float x) {
	uint b = as_uint(x), sign = b >> 16 & 0x8000u, u = b & 0x7fffffffu;
	uint r = u > 0x7f800000u ? 0x7e00u | (u >> 13 & 0x3ffu) : u >= 0x477ff000u ? 0x7c00u :
		u < 0x38800000u ? as_uint(as_float(u) + 0.5f) - 0x3f000000u : (u - (112u << 23) + 0xfffu + (u >> 13 & 1u)) >> 13;
	return (ushort)(r | sign);
}
ushort tobf16(float x) {
	uint b = as_uint(x);
	return (ushort)((b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

#define WHOLE(T, W) \
T pow_##T(T x, T y) { W r = 1, b = (W)x; for (;;) { if (y & 1) r *= b; y >>= 1; if (y == 0) return (T)r; b *= b; } } \
T min_##T(T x, T y) { return x < y ? x : y; } \
T max_##T(T x, T y) { return x > y ? x : y; } \
T shl_##T(T x, T n) { return (ulong)n < sizeof(T) * 8 ? (T)((W)x << n) : (T)0; } \
T shr_##T(T x, T n) { return (ulong)n < sizeof(T) * 8 ? (T)(x >> n) : x < 0 ? (T)-1 : (T)0; }

#define SIGNED(T, W) WHOLE(T, W) \
T floordiv_##T(T x, T y) { \
	if (y == -1) return (T)(0 - (W)x); \
	T q = x / y; \
	return (T)(x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q); \
} \
T mod_##T(T x, T y) { \
	if (y == -1) return 0; \
	T r = x % y; \
	return (T)(r != 0 && (r < 0) != (y < 0) ? r + y : r); \
} \
T abs_##T(T x) { return x < 0 ? (T)(0 - (W)x) : x; }

#define UNSIGNED(T, W) WHOLE(T, W) \
T floordiv_##T(T x, T y) { return x / y; } \
T mod_##T(T x, T y) { return x % y; } \
T abs_##T(T x) { return x; }

#define FLOAT(T) \
T pow_##T(T x, T y) { return y == 2 ? x * x : pow(x, y); } \
T min_##T(T x, T y) { return isnan(x) || isnan(y) ? (T)NAN : x < y ? x : y < x ? y : signbit(x) ? x : y; } \
T max_##T(T x, T y) { return isnan(x) || isnan(y) ? (T)NAN : x > y ? x : y > x ? y : signbit(x) ? y : x; } \
T floordiv_##T(T x, T y) { return floor(x / y); } \
T mod_##T(T x, T y) { T r = fmod(x, y); return r != 0 && (r < 0) != (y < 0) ? r + y : r; }

SIGNED(char, uint)
SIGNED(short, uint)
SIGNED(int, uint)
SIGNED(long, ulong)
UNSIGNED(uchar, uint)
UNSIGNED(ushort, uint)
UNSIGNED(uint, uint)
UNSIGNED(ulong, ulong)
FLOAT(float)
#ifdef DOUBLES
FLOAT(double)
#endif

