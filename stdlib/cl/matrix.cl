// Products and triangular systems. Element (i, j) of an operand is
// x[x0 + i * xr + j * xc], so a transposed one is one with its steps exchanged.

#define TILE 64  // of C, for a work-group
#define DEEP 16  // of the sum, at a time
#define SIDE 16  // work-items along each side of a work-group
#define EACH (TILE / SIDE)

// What is read of an operand.
#define GENERAL 0
#define SYM_LOWER 1 // the other triangle is its mirror image
#define SYM_UPPER 2

T element(global const T *x, long xr, long xc, int kind, long i, long j) {
	const int mirror = kind == SYM_LOWER && i < j || kind == SYM_UPPER && i > j;
	return mirror ? x[j * xr + i * xc] : x[i * xr + j * xc];
}

// C = alpha * A * B + beta * C; A is m x k, B is k x n. part 0: all of C, 1: its
// lower triangle, 2: its upper triangle.
//
// A work-group keeps DEEP columns of A and rows of B in local memory; a work-item
// makes EACH x EACH elements, SIDE apart from each other.
__attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
kernel void gemm(long m, long n, long k, global const T *a, long a0, long ar, long ac, int akind,
		global const T *b, long b0, long br, long bc, int bkind, global T *c, long c0, long cr, long cc, T alpha, T beta, int part) {
	local T at[DEEP][TILE + 1], bt[DEEP][TILE + 1];
	const long i0 = get_group_id(1) * TILE, j0 = get_group_id(0) * TILE;
	if (part == 1 && i0 + TILE <= j0 || part == 2 && j0 + TILE <= i0) return;
	const int u = get_local_id(0), v = get_local_id(1), id = v * SIDE + u;
	a += a0;
	b += b0;
	c += c0;
	T sum[EACH][EACH];
	for (int p = 0; p < EACH; p++) for (int q = 0; q < EACH; q++) sum[p][q] = 0;
	for (long k0 = 0; k0 < k; k0 += DEEP) {
		// Neighbours read what lies side by side.
		for (int e = id; e < TILE * DEEP; e += SIDE * SIDE) {
			const int i = ac == 1 ? e / DEEP : e % TILE, l = ac == 1 ? e % DEEP : e / TILE;
			at[l][i] = i0 + i < m && k0 + l < k ? element(a, ar, ac, akind, i0 + i, k0 + l) : 0;
			const int j = bc == 1 ? e % TILE : e / DEEP, w = bc == 1 ? e / TILE : e % DEEP;
			bt[w][j] = j0 + j < n && k0 + w < k ? element(b, br, bc, bkind, k0 + w, j0 + j) : 0;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int l = 0; l < DEEP; l++) {
			T x[EACH], y[EACH];
			for (int p = 0; p < EACH; p++) { x[p] = at[l][v + p * SIDE]; y[p] = bt[l][u + p * SIDE]; }
			for (int p = 0; p < EACH; p++) for (int q = 0; q < EACH; q++) sum[p][q] += x[p] * y[q];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (int p = 0; p < EACH; p++) for (int q = 0; q < EACH; q++) {
		const long i = i0 + v + p * SIDE, j = j0 + u + q * SIDE;
		if (i >= m || j >= n || part == 1 && i < j || part == 2 && i > j) continue;
		global T *at = c + i * cr + j * cc;
		*at = (k == 0 ? 0 : alpha * sum[p][q]) + (beta == 0 ? 0 : beta * *at);
	}
}

// The same for devices whose work-groups are small: a work-item for each element.
kernel void gemm_plain(long m, long n, long k, global const T *a, long a0, long ar, long ac, int akind,
		global const T *b, long b0, long br, long bc, int bkind, global T *c, long c0, long cr, long cc, T alpha, T beta, int part) {
	const long i = get_global_id(1), j = get_global_id(0);
	if (i >= m || j >= n || part == 1 && i < j || part == 2 && i > j) return;
	T sum = 0;
	for (long l = 0; l < k; l++) sum += element(a + a0, ar, ac, akind, i, l) * element(b + b0, br, bc, bkind, l, j);
	global T *at = c + c0 + i * cr + j * cc;
	*at = (k == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * *at);
}

// Solves A * X = alpha * B for a triangle of m rows; X replaces B. A work-item has
// a column. The host calls it for small triangles and leaves the rest to gemm.
kernel void trsm(long m, long n, global const T *a, long a0, long ar, long ac, int upper, int unit_,
		global T *b, long b0, long br, long bc, T alpha) {
	const long j = get_global_id(0);
	if (j >= n) return;
	a += a0;
	b += b0 + j * bc;
	for (long s = 0; s < m; s++) {
		const long i = upper ? m - 1 - s : s;
		T v = alpha * b[i * br];
		for (long p = 0; p < s; p++) {
			const long k = upper ? m - 1 - p : p;
			v -= a[i * ar + k * ac] * b[k * br];
		}
		b[i * br] = unit_ ? v : v / a[i * ar + i * ac];
	}
}

// B = alpha * A * B for a triangle of m rows; a work-item has a column. Rows are
// made in the order in which none is needed any more.
kernel void trmm(long m, long n, global const T *a, long a0, long ar, long ac, int upper, int unit_,
		global T *b, long b0, long br, long bc, T alpha) {
	const long j = get_global_id(0);
	if (j >= n) return;
	a += a0;
	b += b0 + j * bc;
	for (long s = 0; s < m; s++) {
		const long i = upper ? s : m - 1 - s;
		T v = unit_ ? b[i * br] : a[i * ar + i * ac] * b[i * br];
		const long from = upper ? i + 1 : 0, to = upper ? m : i;
		for (long k = from; k < to; k++) v += a[i * ar + k * ac] * b[k * br];
		b[i * br] = alpha * v;
	}
}
