// From many elements to one number, in two steps: each work-group leaves a part
// in memory of the stream, and one work-item puts the parts together. Which
// element goes into which part depends on their number only.
//
// Element i of n lies at row i / cols; data without gaps comes as one row.
// ACC is the type of the parts.

#define AT(x, i) x[x##0 + (i) / cols * x##ld + (i) % cols]

#define EACH(i) for (long i = get_global_id(0); i < n; i += get_global_size(0))

// Combines the values of a work-group in tmp[0].
#define TREE(combine) \
	tmp[get_local_id(0)] = v; \
	for (int h = get_local_size(0) / 2; h > 0; h /= 2) { \
		barrier(CLK_LOCAL_MEM_FENCE); \
		if (get_local_id(0) < h) { \
			const ACC a = tmp[get_local_id(0)], b = tmp[get_local_id(0) + h]; \
			tmp[get_local_id(0)] = combine; \
		} \
	} \
	if (get_local_id(0) == 0) parts[get_group_id(0)] = tmp[0]

#define X long n, long cols, global const T *x, long x0, long xld
#define PARTS global ACC *parts, local ACC *tmp

#ifdef SUMS // ACC holds sums and products of T

kernel void sum(X, PARTS) {
	ACC v = 0;
	EACH(i) v += (ACC)AT(x, i);
	TREE(a + b);
}

kernel void prod(X, PARTS) {
	ACC v = 1;
	EACH(i) v *= (ACC)AT(x, i);
	TREE(a * b);
}

kernel void sum_end(long groups, global T *acc, long acc0, global const ACC *parts) {
	ACC v = 0;
	for (long i = 0; i < groups; i++) v += parts[i];
	acc[acc0] = (T)((ACC)acc[acc0] + v);
}

kernel void prod_end(long groups, global T *acc, long acc0, global const ACC *parts) {
	ACC v = 1;
	for (long i = 0; i < groups; i++) v *= parts[i];
	acc[acc0] = (T)((ACC)acc[acc0] * v);
}

#ifdef FLOATS

kernel void products(X, global const T *y, long y0, PARTS) {
	ACC v = 0;
	EACH(i) v += (ACC)x[x0 + i] * (ACC)y[y0 + i];
	TREE(a + b);
}

kernel void asum(X, PARTS) {
	ACC v = 0;
	EACH(i) v += fabs((ACC)x[x0 + i]);
	TREE(a + b);
}

#endif
#endif

#ifdef ORDERED // ACC is T

// A NaN wins, and 0 is above -0.
#ifdef FLOATS
#define LESS(a, b) (isnan(a) || !isnan(b) && ((a) < (b) || (a) == (b) && signbit(a) > signbit(b)))
#define MORE(a, b) (isnan(a) || !isnan(b) && ((a) > (b) || (a) == (b) && signbit(a) < signbit(b)))
#else
#define LESS(a, b) ((a) < (b))
#define MORE(a, b) ((a) > (b))
#endif

kernel void min_(X, PARTS) {
	ACC v = x[x0];
	EACH(i) { const ACC a = AT(x, i); if (LESS(a, v)) v = a; }
	TREE(LESS(a, b) ? a : b);
}

kernel void max_(X, PARTS) {
	ACC v = x[x0];
	EACH(i) { const ACC a = AT(x, i); if (MORE(a, v)) v = a; }
	TREE(MORE(a, b) ? a : b);
}

kernel void min_end(long groups, global T *acc, long acc0, global const ACC *parts) {
	ACC v = acc[acc0];
	for (long i = 0; i < groups; i++) { const ACC a = parts[i]; if (LESS(a, v)) v = a; }
	acc[acc0] = v;
}

kernel void max_end(long groups, global T *acc, long acc0, global const ACC *parts) {
	ACC v = acc[acc0];
	for (long i = 0; i < groups; i++) { const ACC a = parts[i]; if (MORE(a, v)) v = a; }
	acc[acc0] = v;
}

// The place of the largest element, or of the largest magnitude; of two that are
// equal the first. places and parts have one entry for each group.
#ifdef FLOATS
#define BEFORE(va, ia, vb, ib) ((isnan(va) && !isnan(vb)) || (isnan(va) == isnan(vb) && ((va) > (vb) || (!((vb) > (va)) && (ia) < (ib)))))
#define SIZE(v) (magnitude ? fabs(v) : (v))
#else
#define BEFORE(va, ia, vb, ib) ((va) > (vb) || ((va) == (vb) && (ia) < (ib)))
#define SIZE(v) (v)
#endif

kernel void argmax(X, int magnitude, global long *places, local T *tmp, local long *tmpat) {
	global T *parts = (global T *)(places + get_num_groups(0));
	const int l = get_local_id(0);
	T v = SIZE(x[x0]);
	long at = 0;
	EACH(i) { const T a = SIZE(AT(x, i)); if (BEFORE(a, i, v, at)) { v = a; at = i; } }
	tmp[l] = v;
	tmpat[l] = at;
	for (int h = get_local_size(0) / 2; h > 0; h /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < h && BEFORE(tmp[l + h], tmpat[l + h], tmp[l], tmpat[l])) { tmp[l] = tmp[l + h]; tmpat[l] = tmpat[l + h]; }
	}
	if (l == 0) { parts[get_group_id(0)] = tmp[0]; places[get_group_id(0)] = tmpat[0]; }
}

// The place is counted in the root datum: element (r, c) is base + r * down + c * right.
kernel void argmax_end(long groups, long cols, global long *out, long out0, long base, long down, long right, global long *places) {
	global const T *parts = (global const T *)(places + groups);
	T v = parts[0];
	long at = places[0];
	for (long i = 1; i < groups; i++) if (BEFORE(parts[i], places[i], v, at)) { v = parts[i]; at = places[i]; }
	out[out0] = base + at / cols * down + at % cols * right;
}

#endif

#ifdef COUNTS // ACC is ulong

kernel void count(X, T want, PARTS) {
	ACC v = 0;
	EACH(i) v += AT(x, i) == want;
	TREE(a + b);
}

#ifdef DOUBLES

// As for processors: the last bin that begins at v or below, by a guess that is wrong
// beside edges, and where the bins in a unit are no number.
#define EDGE(i) (lo + width * (wide)(i) / (wide)bins * down)

kernel void histogram(X, wide lo, wide hi, long bins, global uint *counts) {
	const wide down = isinf((hi - lo) * (wide)bins) ? 0x1p64 : 1, width = (hi - lo) / down;
	const wide scale = fmin((wide)bins / (hi - lo), DBL_MAX);
	EACH(i) {
		const wide v = (wide)AT(x, i);
		if (!(v >= lo && v < hi)) continue;
		long j = min((long)((v - lo) * scale), bins - 1);
		if (v < EDGE(j) || j < bins - 1 && v >= EDGE(j + 1)) {
			long end = bins - 1; // the bin is one of j to end
			for (j = 0; j < end;) {
				const long h = (j + end) / 2;
				if (v < EDGE(h + 1)) end = h; else j = h + 1;
			}
		}
		atomic_inc(counts + j);
	}
}

#endif

#endif

#ifdef COUNTED // T is the type of what is counted in

kernel void count_end(long groups, global T *acc, long acc0, global const ACC *parts) {
	ACC v = 0;
	for (long i = 0; i < groups; i++) v += parts[i];
	acc[acc0] = acc[acc0] + (T)v;
}

kernel void histogram_begin(global uint *counts, long bins) {
	const long i = get_global_id(0);
	if (i < bins) counts[i] = 0;
}

kernel void histogram_end(global T *acc, long acc0, long bins, global const uint *counts) {
	const long i = get_global_id(0);
	if (i < bins && counts[i] != 0) acc[acc0 + i] = acc[acc0 + i] + (T)counts[i];
}

#endif

#ifdef NORM // ACC is T

// A part is a scale, the largest magnitude, and the sum of squares of what is
// divided by it: nothing overflows that does not have to.
void join(ACC *scale, ACC *sum, ACC s, ACC q) {
	if (isnan(*scale) || isnan(s)) { *scale = NAN; *sum = 1; return; }
	if (s == 0) return;
	if (*scale == 0) { *scale = s; *sum = q; return; }
	if (isinf(*scale) || isinf(s)) { *scale = INFINITY; *sum = 1; return; }
	if (*scale >= s) { *sum += q * (s / *scale) * (s / *scale); return; }
	*sum = q + *sum * (*scale / s) * (*scale / s);
	*scale = s;
}

kernel void nrm2(X, global ACC *parts, local ACC *tmp) {
	const int l = get_local_id(0), w = get_local_size(0);
	ACC scale = 0, sum = 0;
	EACH(i) join(&scale, &sum, fabs((ACC)x[x0 + i]), 1);
	tmp[2 * l] = scale;
	tmp[2 * l + 1] = sum;
	for (int h = w / 2; h > 0; h /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < h) {
			scale = tmp[2 * l];
			sum = tmp[2 * l + 1];
			join(&scale, &sum, tmp[2 * (l + h)], tmp[2 * (l + h) + 1]);
			tmp[2 * l] = scale;
			tmp[2 * l + 1] = sum;
		}
	}
	if (l == 0) { parts[2 * get_group_id(0)] = tmp[0]; parts[2 * get_group_id(0) + 1] = tmp[1]; }
}

kernel void nrm2_end(long groups, global T *out, long out0, global const ACC *parts) {
	ACC scale = 0, sum = 0;
	for (long i = 0; i < groups; i++) join(&scale, &sum, parts[2 * i], parts[2 * i + 1]);
	out[out0] = scale == 0 ? 0 : (T)(scale * sqrt(sum));
}

#endif
