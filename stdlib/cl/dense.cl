// Element by element: one work-item for each, columns along dimension 0.

#define HERE \
	const long c = get_global_id(0), r = get_global_id(1); \
	if (c >= cols) return

kernel void fill(long rows, long cols, global T *x, long x0, long xld, T v) {
	HERE;
	x[x0 + r * xld + c] = v;
}

kernel void copy(long rows, long cols, global const T *x, long x0, long xld, global T *y, long y0, long yld) {
	HERE;
	y[y0 + r * yld + c] = x[x0 + r * xld + c];
}

kernel void swap(long rows, long cols, global T *x, long x0, long xld, global T *y, long y0, long yld) {
	HERE;
	const T v = x[x0 + r * xld + c];
	x[x0 + r * xld + c] = y[y0 + r * yld + c];
	y[y0 + r * yld + c] = v;
}

kernel void scal(long rows, long cols, global T *x, long x0, long xld, T alpha) {
	HERE;
	x[x0 + r * xld + c] *= alpha;
}

// beta 0 overwrites what cannot be computed with.
kernel void clear(long rows, long cols, global T *x, long x0, long xld) {
	HERE;
	x[x0 + r * xld + c] = 0;
}

kernel void axpy(long rows, long cols, global const T *x, long x0, long xld, global T *y, long y0, long yld, T alpha) {
	HERE;
	y[y0 + r * yld + c] += alpha * x[x0 + r * xld + c];
}

kernel void ger(long rows, long cols, global const T *x, long x0, global const T *y, long y0, global T *a, long a0, long lda, T alpha) {
	HERE;
	a[a0 + r * lda + c] += alpha * x[x0 + r] * y[y0 + c];
}

// y is x transposed. A work-group of SIDE x SIDE turns a square in local memory, so
// that both are walked along their rows.
kernel void transpose(long rows, long cols, global const T *x, long x0, long xld, global T *y, long y0, long yld, local T *square) {
	const int n = get_local_size(0), i = get_local_id(0), j = get_local_id(1);
	long c = get_group_id(0) * n + i, r = get_group_id(1) * n + j;
	if (r < rows && c < cols) square[j * (n + 1) + i] = x[x0 + r * xld + c];
	barrier(CLK_LOCAL_MEM_FENCE);
	c = get_group_id(1) * n + i;
	r = get_group_id(0) * n + j;
	if (r < cols && c < rows) y[y0 + r * yld + c] = square[i * (n + 1) + j];
}

// y = alpha * A * x + beta * y, a work-group for each row.
kernel void gemv_rows(long rows, long cols, global const T *a, long a0, long lda, global const T *x, long x0,
		global T *y, long y0, T alpha, T beta, local T *tmp) {
	const int i = get_local_id(0), n = get_local_size(0);
	const long r = get_group_id(0);
	T sum = 0;
	for (long c = i; c < cols; c += n) sum += a[a0 + r * lda + c] * x[x0 + c];
	tmp[i] = sum;
	for (int h = n / 2; h > 0; h /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < h) tmp[i] += tmp[i + h];
	}
	if (i == 0) y[y0 + r] = alpha * tmp[0] + (beta == 0 ? 0 : beta * y[y0 + r]);
}

// y = alpha * transposed(A) * x + beta * y, a work-item for each column.
kernel void gemv_cols(long rows, long cols, global const T *a, long a0, long lda, global const T *x, long x0,
		global T *y, long y0, T alpha, T beta) {
	const long c = get_global_id(0);
	if (c >= cols) return;
	T sum = 0;
	for (long r = 0; r < rows; r++) sum += a[a0 + r * lda + c] * x[x0 + r];
	y[y0 + c] = alpha * sum + (beta == 0 ? 0 : beta * y[y0 + c]);
}
