// Operations of bodies, for every type. Operations with exact results have those of the CPU:
// a product and a sum are not fused to one operation.
#pragma OPENCL FP_CONTRACT OFF

ulong trips(long lo, long hi, int closed) {
	ulong n = (ulong)hi - (ulong)lo;
	return closed ? (lo <= hi ? n + 1 : 0) : (lo < hi ? n : 0);
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

