/*
 * cuBLAS and cuSOLVER for the fake driver: libcublas.so.12 and libcusolver.so.11.
 * Plain loops over matrices by columns, carried out in the order of the stream.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

typedef struct {
	CUstream stream;
	int set;
} handle;

typedef struct {
	enum { GEMM, SYRK, TRSM, POTRF } what;
	int type; /* bytes of an element */
	int side, fill, opa, opb, unit, m, n, k, lda, ldb, ldc;
	double alpha, beta;
	char *a, *b, *c;
	int *info;
} call;

static int check_handle(handle *h) { return h && h->set ? 0 : 1; } /* not initialized */

int cublasCreate_v2(handle **h) {
	*h = calloc(1, sizeof **h);
	return 0;
}
int cublasDestroy_v2(handle *h) { free(h); return 0; }
int cublasSetStream_v2(handle *h, CUstream s) { h->stream = s; h->set = 1; return 0; }
int cusolverDnCreate(handle **h) { return cublasCreate_v2(h); }
int cusolverDnDestroy(handle *h) { return cublasDestroy_v2(h); }
int cusolverDnSetStream(handle *h, CUstream s) { return cublasSetStream_v2(h, s); }

#define GET(t, p, i) ((t) == 4 ? (double)((float *)(p))[i] : ((double *)(p))[i])
static void put(int t, char *p, size_t i, double v) {
	if (t == 4)
		((float *)p)[i] = v;
	else
		((double *)p)[i] = v;
}

/* Element (i, j) of op of a matrix by columns. */
static double at(const call *c, const char *p, int ld, int op, size_t i, size_t j) { return op ? GET(c->type, p, j + i * ld) : GET(c->type, p, i + j * ld); }

/* The elements of op of a matrix row by row: what is added up lies side by side. */
static double *packed(const call *c, const char *p, int ld, int op, int rows, int cols) {
	double *all = malloc(((size_t)rows * cols + 1) * sizeof *all);
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++)
			all[(size_t)i * cols + j] = at(c, p, ld, op, i, j);
	return all;
}

#define SIDE_BY_SIDE 4 /* sums that do not wait for each other; the order of each stays */

static void gemm(const call *c) {
	int k = c->k;
	double *a = packed(c, c->a, c->lda, c->opa, c->m, k);
	double *b = c->what == SYRK ? a : packed(c, c->b, c->ldb, !c->opb, c->n, k);
	for (int j = 0; j < c->n; j++)
		for (int i = 0; i < c->m; i += SIDE_BY_SIDE) {
			int most = c->m - i < SIDE_BY_SIDE ? c->m - i : SIDE_BY_SIDE;
			const double *y = b + (size_t)j * k, *x[SIDE_BY_SIDE];
			double s[SIDE_BY_SIDE] = {0};
			for (int r = 0; r < SIDE_BY_SIDE; r++)
				x[r] = a + (size_t)(i + (r < most ? r : 0)) * k;
			for (int l = 0; l < k; l++)
				for (int r = 0; r < SIDE_BY_SIDE; r++)
					s[r] += x[r][l] * y[l];
			for (int r = 0; r < most; r++) {
				if (c->what == SYRK && (c->fill ? i + r > j : i + r < j))
					continue;
				size_t e = i + r + (size_t)j * c->ldc;
				put(c->type, c->c, e, c->alpha * s[r] + (c->beta == 0 ? 0 : c->beta * GET(c->type, c->c, e)));
			}
		}
	if (b != a)
		free(b);
	free(a);
}

static void trsm(const call *c) {
	int n = c->side ? c->n : c->m, sides = c->side ? c->m : c->n;
	/* on the right the equations are those of the transposes */
	int op = c->side ? !c->opa : c->opa;
	int lower = op ? c->fill : !c->fill;
	double *a = packed(c, c->a, c->lda, op, n, n), *x = malloc((n + 1) * sizeof *x);
	for (int s = 0; s < sides; s++) {
#define B(i) (c->side ? s + (size_t)(i) * c->ldb : (i) + (size_t)s * c->ldb)
		for (int l = 0; l < n; l++) {
			int i = lower ? l : n - 1 - l;
			double v = c->alpha * GET(c->type, c->b, B(i));
			for (int j = lower ? 0 : i + 1; j < (lower ? i : n); j++)
				v -= a[(size_t)i * n + j] * x[j];
			put(c->type, c->b, B(i), c->unit ? v : v / a[(size_t)i * n + i]);
			x[i] = GET(c->type, c->b, B(i));
		}
	}
	free(x);
	free(a);
}

static void run(void *data) {
	call *c = data;
	switch (c->what) {
	case GEMM:
	case SYRK:
		gemm(c);
		break;
	case TRSM:
		trsm(c);
		break;
	case POTRF:
		*c->info = 0;
		for (int k = 0; k < c->n && !*c->info; k++) {
#define A(i, j) (c->fill ? (j) + (size_t)(i) * c->lda : (i) + (size_t)(j) * c->lda)
			double d = GET(c->type, c->a, A(k, k));
			for (int j = 0; j < k; j++)
				d -= GET(c->type, c->a, A(k, j)) * GET(c->type, c->a, A(k, j));
			if (!(d > 0)) {
				*c->info = k + 1;
				break;
			}
			put(c->type, c->a, A(k, k), sqrt(d));
			for (int i = k + 1; i < c->n; i++) {
				double v = GET(c->type, c->a, A(i, k));
				for (int j = 0; j < k; j++)
					v -= GET(c->type, c->a, A(i, j)) * GET(c->type, c->a, A(k, j));
				put(c->type, c->a, A(i, k), v / sqrt(d));
			}
		}
		break;
	}
	free(c);
}

static int begin(handle *h, call c) {
	if (check_handle(h))
		return 1;
	call *p = malloc(sizeof *p);
	*p = c;
	if (cuLaunchHostFunc(h->stream, run, p) != CUDA_SUCCESS) {
		free(p);
		return 13; /* execution failed */
	}
	return 0;
}

#define INVALID 7

#define CALLS(L, T)                                                                                                                     \
	int cublas##L##gemm_v2(handle *h, int opa, int opb, int m, int n, int k, const T *alpha, void *a, int lda, void *b, int ldb,        \
	                       const T *beta, void *c, int ldc) {                                                                           \
		if (lda < (opa ? k : m) || ldb < (opb ? n : k) || ldc < m || opa > 1 || opb > 1)                                                \
			return INVALID;                                                                                                             \
		return begin(h, (call){.what = GEMM, .type = sizeof(T), .opa = opa, .opb = opb, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, \
		                       .ldc = ldc, .alpha = *alpha, .beta = *beta, .a = fake_find((CUdeviceptr)a, 1),                           \
		                       .b = fake_find((CUdeviceptr)b, 1), .c = fake_find((CUdeviceptr)c, 1)});                                  \
	}                                                                                                                                   \
	int cublas##L##syrk_v2(handle *h, int fill, int op, int n, int k, const T *alpha, void *a, int lda, const T *beta, void *c,         \
	                       int ldc) {                                                                                                   \
		if (lda < (op ? k : n) || ldc < n || fill > 1 || op > 1)                                                                        \
			return INVALID;                                                                                                             \
		return begin(h, (call){.what = SYRK, .type = sizeof(T), .fill = fill, .opa = op, .m = n, .n = n, .k = k, .lda = lda,            \
		                       .ldc = ldc, .alpha = *alpha, .beta = *beta, .a = fake_find((CUdeviceptr)a, 1),                           \
		                       .c = fake_find((CUdeviceptr)c, 1)});                                                                     \
	}                                                                                                                                   \
	int cublas##L##trsm_v2(handle *h, int side, int fill, int op, int unit, int m, int n, const T *alpha, void *a, int lda, void *b,    \
	                       int ldb) {                                                                                                   \
		if (lda < (side ? n : m) || ldb < m || side > 1 || fill > 1 || op > 1 || unit > 1)                                              \
			return INVALID;                                                                                                             \
		return begin(h, (call){.what = TRSM, .type = sizeof(T), .side = side, .fill = fill, .opa = op, .unit = unit, .m = m, .n = n,    \
		                       .lda = lda, .ldb = ldb, .alpha = *alpha, .a = fake_find((CUdeviceptr)a, 1),                              \
		                       .b = fake_find((CUdeviceptr)b, 1)});                                                                     \
	}                                                                                                                                   \
	int cusolverDn##L##potrf_bufferSize(handle *h, int fill, int n, void *a, int lda, int *elements) {                                  \
		(void)fill;                                                                                                                     \
		(void)a;                                                                                                                        \
		if (lda < n)                                                                                                                    \
			return INVALID;                                                                                                             \
		*elements = n * 4;                                                                                                              \
		return check_handle(h);                                                                                                         \
	}                                                                                                                                   \
	int cusolverDn##L##potrf(handle *h, int fill, int n, void *a, int lda, void *work, int elements, int *info) {                       \
		if (lda < n || elements < n * 4 || !fake_find((CUdeviceptr)work, (size_t)elements * sizeof(T)))                                 \
			return INVALID;                                                                                                             \
		return begin(h, (call){.what = POTRF, .type = sizeof(T), .fill = fill, .n = n, .lda = lda, .a = fake_find((CUdeviceptr)a, 1),   \
		                       .info = (int *)fake_find((CUdeviceptr)info, 4)});                                                        \
	}
CALLS(S, float)
CALLS(D, double)
