/* mpibench: the workloads of `bench ranks` on StarPU-MPI, one process of several that mpirun starts.
 *
 * usage: mpibench WORKLOAD [key=value ...]
 *   cholesky  nt= nb= p= q=        Cholesky of an (nt*nb)^2 matrix, lower part, tiles dealt to a grid of p x q ranks
 *   heat      n= nb= t=            t Jacobi sweeps of an n x n plate in nb bands of rows
 *   cg        n= nb= t=            t iterations of conjugate gradient, an n x n matrix in nb x nb tiles
 *   chain     n= bytes=            n tasks, all RW on one vector, in turn on two ranks
 *   pruned    n=                   n empty tasks R,R,RW of rank 1: what submitting them costs rank 0
 * All take workers= (of a rank), check=0, which leaves the checksum and its messages out, and bind=CORES, which binds the worker
 * and the thread for MPI of rank r to core r modulo CORES.
 *
 * Rank 0 prints one line of JSON: seconds from the first submission to the end of the last task on all ranks, and as extra a
 * checksum of the result. Tiles, owners, order and priorities are those of tests/bench/scripts/ranks_*.spu.
 *
 * The headers of BLAS and LAPACK are not needed: their prototypes are below, and libopenblas.so.0 is linked by name.
 */
#define _GNU_SOURCE
#include <starpu_mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, LOWER = 122, NON_UNIT = 131, RIGHT = 142 };
extern void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
extern void cblas_dsyrk(int, int, int, int, int, double, const double *, int, double, double *, int);
extern void cblas_dtrsm(int, int, int, int, int, int, int, double, const double *, int, double *, int);
extern void cblas_dgemv(int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
extern void dpotrf_(const char *, const int *, double *, const int *, int *);
extern void openblas_set_num_threads(int);

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static void die(const char *m) { fprintf(stderr, "mpibench: %s\n", m); MPI_Abort(MPI_COMM_WORLD, 1); }
#define CK(x) do { if ((x) != 0) die(#x " failed"); } while (0)

static int argc_; static char **argv_;
static long arg(const char *key, long def) {
	size_t n = strlen(key);
	for (int i = 2; i < argc_; i++) if (!strncmp(argv_[i], key, n) && argv_[i][n] == '=') return atol(argv_[i] + n + 1);
	return def;
}

static int rank, size, check;
static starpu_mpi_tag_t next_tag = 1;

/* share registers the handle that this rank has just made, or that has no memory here, as data of owner. */
static void share(starpu_data_handle_t h, int owner) { starpu_mpi_data_register(h, next_tag++, owner); }

/* matrix returns a handle for rows x cols elements of a rank, in p, which only that rank gives. */
static starpu_data_handle_t matrix(double *p, long rows, long cols, int owner) {
	starpu_data_handle_t h;
	int here = owner == rank;
	starpu_matrix_data_register(&h, here ? STARPU_MAIN_RAM : -1, here ? (uintptr_t)p : 0, cols, cols, rows, sizeof(double));
	share(h, owner);
	return h;
}
static starpu_data_handle_t vector(double *p, long n, int owner) {
	starpu_data_handle_t h;
	int here = owner == rank;
	starpu_vector_data_register(&h, here ? STARPU_MAIN_RAM : -1, here ? (uintptr_t)p : 0, n, sizeof(double));
	share(h, owner);
	return h;
}
/* room returns cleared memory on the rank that owns it, and nothing on the others. */
static double *room(long n, int owner) {
	double *p = NULL;
	if (owner == rank && (posix_memalign((void **)&p, 64, n * sizeof *p) || !memset(p, 0, n * sizeof *p))) die("no memory");
	return p;
}

/* begin and end enclose what is measured: all ranks begin together, and all tasks of all ranks have ended at the end. */
static double began;
static void begin(void) { starpu_task_wait_for_all(); starpu_mpi_barrier(MPI_COMM_WORLD); began = now(); }
static double end(void) { starpu_mpi_wait_for_all(MPI_COMM_WORLD); starpu_mpi_barrier(MPI_COMM_WORLD); return now() - began; }

/* total adds up what the ranks have. */
static double total(double x) { double s = 0; MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); return s; }

/* weight makes a checksum notice elements that have changed places. */
static double weight(long i, long j) { return 1 + (i * 7 + j * 3) % 64; }
static double weigh(const double *p, long rows, long cols, long row0, long col0, int lower) {
	double s = 0;
	for (long i = 0; i < rows; i++) for (long j = 0; j < cols; j++) if (!lower || col0 + j <= row0 + i) s += p[i * cols + j] * weight(row0 + i, col0 + j);
	return s;
}
/* own returns the memory of data on its owner, after end. */
static double *own(starpu_data_handle_t h) { CK(starpu_data_acquire(h, STARPU_R)); return starpu_data_get_local_ptr(h); }

#define MAT(b, i) ((double *)STARPU_MATRIX_GET_PTR((b)[i]))
#define VEC(b, i) ((double *)STARPU_VECTOR_GET_PTR((b)[i]))
#define LEN(b, i) ((long)STARPU_VECTOR_GET_NX((b)[i]))

/* ---- Cholesky: rows of a tile lie behind each other, as in starpush. ---- */

static int B; /* rows of a tile */
static void k_potrf(void *b[], void *a) { (void)a; int info; dpotrf_("U", &B, MAT(b, 0), &B, &info); if (info) die("the matrix is not positive definite"); }
static void k_trsm(void *b[], void *a) { (void)a; cblas_dtrsm(ROW_MAJOR, RIGHT, LOWER, TRANS, NON_UNIT, B, B, 1, MAT(b, 0), B, MAT(b, 1), B); }
static void k_syrk(void *b[], void *a) { (void)a; cblas_dsyrk(ROW_MAJOR, LOWER, NO_TRANS, B, B, -1, MAT(b, 0), B, 1, MAT(b, 1), B); }
static void k_gemm(void *b[], void *a) { (void)a; cblas_dgemm(ROW_MAJOR, NO_TRANS, TRANS, B, B, B, -1, MAT(b, 0), B, MAT(b, 1), B, 1, MAT(b, 2), B); }
static struct starpu_codelet potrf = { .cpu_funcs = { k_potrf }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "potrf" };
static struct starpu_codelet trsm = { .cpu_funcs = { k_trsm }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "trsm" };
static struct starpu_codelet syrk = { .cpu_funcs = { k_syrk }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "syrk" };
static struct starpu_codelet gemm = { .cpu_funcs = { k_gemm }, .nbuffers = 3, .modes = { STARPU_R, STARPU_R, STARPU_RW }, .name = "gemm" };

static double cholesky(long *tasks, double *sum) {
	long nt = arg("nt", 20), p = arg("p", 1), q = arg("q", 1);
	B = arg("nb", 256);
	if (p * q != size) die("p * q is not the number of ranks");
	starpu_data_handle_t *t = calloc(nt * nt, sizeof *t);
	for (long i = 0; i < nt; i++) for (long j = 0; j <= i; j++) {
		int owner = i % p * q + j % q;
		double *x = room((long)B * B, owner);
		for (long k = 0; x && k < B; k++) for (long l = 0; l < B; l++) {
			long r = i * B + k, c = j * B + l;
			x[k * B + l] = 1.0 / (1 + labs(r - c)) + (r == c ? nt * B : 0);
		}
		t[i * nt + j] = matrix(x, B, B, owner);
	}
#define T(i, j) t[(i) * nt + (j)]
	begin();
	for (long k = 0; k < nt; k++) {
		CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &potrf, STARPU_RW, T(k, k), STARPU_PRIORITY, (int)(3 * (nt - k)), 0));
		for (long m = k + 1; m < nt; m++)
			CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &trsm, STARPU_R, T(k, k), STARPU_RW, T(m, k), STARPU_PRIORITY, (int)(2 * (nt - k) - m), 0));
		for (long m = k + 1; m < nt; m++) {
			CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &syrk, STARPU_R, T(m, k), STARPU_RW, T(m, m), STARPU_PRIORITY, (int)(2 * (nt - m)), 0));
			for (long j = k + 1; j < m; j++)
				CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &gemm, STARPU_R, T(m, k), STARPU_R, T(j, k), STARPU_RW, T(m, j), 0));
		}
	}
	double s = end();
	*tasks = nt * (nt + 1) * (nt + 2) / 6;
	if (check) {
		double mine = 0;
		for (long i = 0; i < nt; i++) for (long j = 0; j <= i; j++) if (starpu_mpi_data_get_rank(T(i, j)) == rank) {
			mine += weigh(own(T(i, j)), B, B, i * B, j * B, 1);
			starpu_data_release(T(i, j));
		}
		*sum = total(mine);
	}
	for (long i = 0; i < nt; i++) for (long j = 0; j <= i; j++) starpu_data_unregister(T(i, j));
	return s;
#undef T
}

/* ---- Heat: a band is its first row, the rows between and its last row, behind each other in the memory of its owner, so that
 * a neighbour gets one row. ---- */

static long W; /* columns */
static void line(const double *up, const double *mid, const double *down, double *restrict to) {
	for (long j = 1; j < W - 1; j++) to[j] = 0.25 * (up[j] + down[j] + mid[j - 1] + mid[j + 1]);
	to[0] = mid[0];
	to[W - 1] = mid[W - 1];
}
/* k_sweep has the row above, the first row, those between, the last row and the row below, then the three of the result. */
static void k_sweep(void *b[], void *a) {
	(void)a;
	const double *above = VEC(b, 0), *in = VEC(b, 1), *below = VEC(b, 4);
	double *out = VEC(b, 5);
	long rows = STARPU_MATRIX_GET_NY(b[2]) + 2;
	for (long i = 0; i < rows; i++)
		line(i ? in + (i - 1) * W : above, in + i * W, i < rows - 1 ? in + (i + 1) * W : below, out + i * W);
}
static struct starpu_codelet sweep = { .cpu_funcs = { k_sweep }, .nbuffers = 8, .name = "sweep",
	.modes = { STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_W, STARPU_W, STARPU_W } };

static double heat(long *tasks, double *sum) {
	long n = arg("n", 4096), nb = arg("nb", 8), sweeps = arg("t", 60), rows = n / nb;
	if (n % nb || rows < 3) die("n has to be a multiple of nb, and bands need 3 rows");
	W = n;
	/* the plate twice; band b of each is first, middle, last. The fixed rows at its ends belong to the ranks that read them. */
	starpu_data_handle_t *h[2], edge[2];
	for (int e = 0; e < 2; e++) {
		double *x = room(W, e ? size - 1 : 0);
		for (long j = 0; x && j < W; j++) x[j] = 1;
		edge[e] = vector(x, W, e ? size - 1 : 0);
	}
	for (int k = 0; k < 2; k++) {
		h[k] = calloc(3 * nb, sizeof **h);
		for (long b = 0; b < nb; b++) {
			int owner = b * size / nb;
			double *x = room(rows * W, owner);
			h[k][3 * b] = vector(x, W, owner);
			h[k][3 * b + 1] = matrix(x ? x + W : x, rows - 2, W, owner);
			h[k][3 * b + 2] = vector(x ? x + (rows - 1) * W : x, W, owner);
		}
	}
	begin();
	for (long s = 0; s < sweeps; s++) for (long b = 0; b < nb; b++) {
		starpu_data_handle_t *u = h[s % 2], *v = h[1 - s % 2];
		CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &sweep, STARPU_R, b ? u[3 * b - 1] : edge[0], STARPU_R, u[3 * b], STARPU_R, u[3 * b + 1], STARPU_R, u[3 * b + 2],
			STARPU_R, b < nb - 1 ? u[3 * b + 3] : edge[1], STARPU_W, v[3 * b], STARPU_W, v[3 * b + 1], STARPU_W, v[3 * b + 2], STARPU_EXECUTE_ON_NODE, (int)(b * size / nb), 0));
	}
	double s = end();
	*tasks = sweeps * nb;
	if (check) {
		double mine = 0;
		for (long b = 0; b < nb; b++) if (b * size / nb == rank) {
			starpu_data_handle_t *u = h[sweeps % 2] + 3 * b;
			mine += weigh(own(u[0]), 1, W, b * rows, 0, 0) + weigh(own(u[1]), rows - 2, W, b * rows + 1, 0, 0) + weigh(own(u[2]), 1, W, (b + 1) * rows - 1, 0, 0);
			for (int k = 0; k < 3; k++) starpu_data_release(u[k]);
		}
		*sum = total(mine);
	}
	for (int k = 0; k < 2; k++) {
		for (long i = 0; i < 3 * nb; i++) starpu_data_unregister(h[k][i]);
		starpu_data_unregister(edge[k]);
	}
	return s;
}

/* ---- Conjugate gradient: sums of scalar products are made on each rank, and those of the ranks added on rank 0. ---- */

static void k_zero(void *b[], void *a) { (void)a; memset(VEC(b, 0), 0, LEN(b, 0) * sizeof(double)); }
static void k_gemv(void *b[], void *a) { (void)a; int n = LEN(b, 1), m = LEN(b, 2); cblas_dgemv(ROW_MAJOR, NO_TRANS, m, n, 1, MAT(b, 0), n, VEC(b, 1), 1, 1, VEC(b, 2), 1); }
static void k_dot(void *b[], void *a) {
	(void)a;
	const double *x = VEC(b, 0), *y = VEC(b, 1);
	double s = 0;
	long n = LEN(b, 0);
#pragma omp simd reduction(+ : s)
	for (long i = 0; i < n; i++) s += x[i] * y[i];
	*VEC(b, 2) += s;
}
static void k_norm(void *b[], void *a) { void *all[3] = { b[0], b[0], b[1] }; k_dot(all, a); }
static void k_add(void *b[], void *a) { (void)a; *VEC(b, 1) += *VEC(b, 0); }
/* k_step adds a multiple of y to x: rr/pq, with the sign of the argument. */
static void step(void *b[], double sign) {
	double alpha = sign * (*VEC(b, 0) / *VEC(b, 1));
	const double *y = VEC(b, 2);
	double *x = VEC(b, 3);
	for (long i = 0, n = LEN(b, 3); i < n; i++) x[i] += alpha * y[i];
}
static void k_xstep(void *b[], void *a) { (void)a; step(b, 1); }
static void k_rstep(void *b[], void *a) { (void)a; step(b, -1); }
static void k_pstep(void *b[], void *a) {
	(void)a;
	double beta = *VEC(b, 1) / *VEC(b, 0);
	const double *r = VEC(b, 2);
	double *p = VEC(b, 3);
	for (long i = 0, n = LEN(b, 3); i < n; i++) p[i] = r[i] + beta * p[i];
}
#define CODELET(name_, f, n, ...) static struct starpu_codelet name_ = { .cpu_funcs = { f }, .nbuffers = n, .modes = { __VA_ARGS__ }, .name = #name_ }
CODELET(zero, k_zero, 1, STARPU_W);
CODELET(gemv, k_gemv, 3, STARPU_R, STARPU_R, STARPU_RW);
CODELET(dot, k_dot, 3, STARPU_R, STARPU_R, STARPU_RW);
CODELET(norm, k_norm, 2, STARPU_R, STARPU_RW);
CODELET(add, k_add, 2, STARPU_R, STARPU_RW);
CODELET(xstep, k_xstep, 4, STARPU_R, STARPU_R, STARPU_R, STARPU_RW);
CODELET(rstep, k_rstep, 4, STARPU_R, STARPU_R, STARPU_R, STARPU_RW);
CODELET(pstep, k_pstep, 4, STARPU_R, STARPU_R, STARPU_R, STARPU_RW);

/* scalar is a number of rank 0, and what each rank adds to it. */
struct scalar { starpu_data_handle_t sum, *part; };
static struct scalar scalar(void) {
	struct scalar s = { vector(room(1, 0), 1, 0), calloc(size, sizeof(starpu_data_handle_t)) };
	for (int r = 0; r < size; r++) s.part[r] = vector(room(1, r), 1, r);
	return s;
}
static void scalar_clear(struct scalar *s) {
	CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &zero, STARPU_W, s->sum, 0));
	for (int r = 0; r < size; r++) CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &zero, STARPU_W, s->part[r], 0));
}
static void scalar_sum(struct scalar *s) {
	for (int r = 0; r < size; r++) CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &add, STARPU_R, s->part[r], STARPU_RW, s->sum, 0));
}
static void scalar_free(struct scalar *s) {
	starpu_data_unregister(s->sum);
	for (int r = 0; r < size; r++) starpu_data_unregister(s->part[r]);
}

static double cg(long *tasks, double *sum) {
	long n = arg("n", 4096), nb = arg("nb", 8), iterations = arg("t", 40), m = n / nb;
	if (n % nb) die("n has to be a multiple of nb");
	starpu_data_handle_t *A = calloc(nb * nb, sizeof *A), *v[4]; /* x, r, p, q */
	for (long i = 0; i < nb; i++) for (long j = 0; j < nb; j++) {
		int owner = i * size / nb;
		double *a = room(m * m, owner);
		for (long k = 0; a && k < m; k++) for (long l = 0; l < m; l++) {
			long d = labs(i * m + k - j * m - l);
			a[k * m + l] = d == 0 ? 2.01 : d == 1 ? -1 : 0;
		}
		A[i * nb + j] = matrix(a, m, m, owner);
	}
	for (int k = 0; k < 4; k++) {
		v[k] = calloc(nb, sizeof **v);
		for (long i = 0; i < nb; i++) {
			int owner = i * size / nb;
			double *x = room(m, owner);
			for (long l = 0; x && (k == 1 || k == 2) && l < m; l++) x[l] = 1 + (i * m + l) % 7;
			v[k][i] = vector(x, m, owner);
		}
	}
	starpu_data_handle_t *x = v[0], *r = v[1], *p = v[2], *q = v[3];
	struct scalar pq = scalar(), rr[2] = { scalar(), scalar() };
#define OWNER(i) ((i) * size / nb)
	begin();
	scalar_clear(&rr[0]);
	for (long i = 0; i < nb; i++) CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &norm, STARPU_R, r[i], STARPU_RW, rr[0].part[OWNER(i)], 0));
	scalar_sum(&rr[0]);
	for (long k = 0; k < iterations; k++) {
		struct scalar *cur = &rr[k % 2], *nxt = &rr[(k + 1) % 2];
		scalar_clear(&pq);
		scalar_clear(nxt);
		for (long i = 0; i < nb; i++) CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &zero, STARPU_W, q[i], 0));
		for (long i = 0; i < nb; i++) for (long j = 0; j < nb; j++)
			CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &gemv, STARPU_R, A[i * nb + j], STARPU_R, p[j], STARPU_RW, q[i], 0));
		for (long i = 0; i < nb; i++) CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &dot, STARPU_R, p[i], STARPU_R, q[i], STARPU_RW, pq.part[OWNER(i)], 0));
		scalar_sum(&pq);
		for (long i = 0; i < nb; i++) {
			CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &xstep, STARPU_R, cur->sum, STARPU_R, pq.sum, STARPU_R, p[i], STARPU_RW, x[i], 0));
			CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &rstep, STARPU_R, cur->sum, STARPU_R, pq.sum, STARPU_R, q[i], STARPU_RW, r[i], 0));
			CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &norm, STARPU_R, r[i], STARPU_RW, nxt->part[OWNER(i)], 0));
		}
		scalar_sum(nxt);
		for (long i = 0; i < nb; i++) CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &pstep, STARPU_R, cur->sum, STARPU_R, nxt->sum, STARPU_R, r[i], STARPU_RW, p[i], 0));
	}
	double s = end();
	*tasks = 1 + 2 * size + nb + iterations * (2 * (1 + 2 * size) + nb * nb + 6 * nb);
	if (check) {
		double mine = 0;
		for (long i = 0; i < nb; i++) if (OWNER(i) == rank) { mine += weigh(own(x[i]), 1, m, 0, i * m, 0); starpu_data_release(x[i]); }
		*sum = total(mine);
	}
	for (long i = 0; i < nb * nb; i++) starpu_data_unregister(A[i]);
	for (int k = 0; k < 4; k++) for (long i = 0; i < nb; i++) starpu_data_unregister(v[k][i]);
	scalar_free(&pq); scalar_free(&rr[0]); scalar_free(&rr[1]);
	return s;
#undef OWNER
}

/* ---- One task after the other, and tasks of the other rank. ---- */

static void k_count(void *b[], void *a) { (void)a; *VEC(b, 0) += 1; }
static void k_empty(void *b[], void *a) { (void)b; (void)a; }
CODELET(count, k_count, 1, STARPU_RW);
CODELET(product, k_empty, 3, STARPU_R, STARPU_R, STARPU_RW);

static double chain(long *tasks, double *sum) {
	long n = arg("n", 300), elements = arg("bytes", 8) / sizeof(double);
	starpu_data_handle_t h = vector(room(elements, 0), elements, 0);
	begin();
	for (long k = 0; k < n; k++) CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &count, STARPU_RW, h, STARPU_EXECUTE_ON_NODE, (int)(k % 2 % size), 0));
	double s = end();
	*tasks = n;
	if (check) {
		double mine = rank == 0 ? *own(h) : 0;
		if (rank == 0) starpu_data_release(h);
		*sum = total(mine);
	}
	starpu_data_unregister(h);
	return s;
}

/* pruned returns how long rank 0 was in the calls that insert tasks of rank 1, a product of matrices in tiles. */
static double pruned(long *tasks, double *sum) {
	enum { N = 14 };
	long n = arg("n", 19600);
	starpu_data_handle_t h[3][N * N];
	for (int k = 0; k < 3; k++) for (int i = 0; i < N * N; i++) h[k][i] = vector(room(1, size - 1), 1, size - 1);
	double s = 0;
	for (int again = 0; again < 2; again++) { /* the first time looks all of it up */
		long at = 0;
		begin();
		for (long k = 0; k < n; k++, at = (at + 1) % (N * N * N)) {
			int i = at / N % N, l = at % N, m = at / (N * N);
			CK(starpu_mpi_task_insert(MPI_COMM_WORLD, &product, STARPU_R, h[0][i * N + m], STARPU_R, h[1][m * N + l], STARPU_RW, h[2][i * N + l], 0));
		}
		s = now() - began;
		end();
	}
	*tasks = n;
	*sum = n;
	for (int k = 0; k < 3; k++) for (int i = 0; i < N * N; i++) starpu_data_unregister(h[k][i]);
	return s;
}

int main(int argc, char **argv) {
	if (argc < 2) { fprintf(stderr, "usage: mpibench cholesky|heat|cg|chain|pruned [key=value ...]\n"); return 2; }
	argc_ = argc; argv_ = argv;
	check = arg("check", 1);
	int level;
	if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level)) die("MPI_Init_thread failed");
	struct starpu_conf c;
	starpu_conf_init(&c);
	c.ncuda = c.nopencl = 0;
	c.ncpus = arg("workers", 2);
	if (!getenv("STARPU_SCHED")) c.sched_policy_name = "lws";
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (arg("bind", 0) > 0 && size > 1) {
		char core[16];
		snprintf(core, sizeof core, "%ld", rank % arg("bind", 0));
		setenv("STARPU_WORKERS_CPUID", core, 0);
		setenv("STARPU_MPI_THREAD_CPUID", core, 0);
	}
	CK(starpu_init(&c));
	CK(starpu_mpi_init_comm(NULL, NULL, 0, MPI_COMM_WORLD));
	openblas_set_num_threads(1);

	static const struct { const char *name; double (*run)(long *, double *); } all[] = { { "cholesky", cholesky }, { "heat", heat }, { "cg", cg }, { "chain", chain }, { "pruned", pruned } };
	double (*run)(long *, double *) = NULL;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) if (!strcmp(argv_[1], all[i].name)) run = all[i].run;
	if (!run) die("no such workload");
	long tasks;
	double sum = 0, seconds = run(&tasks, &sum);
	if (rank == 0)
		printf("{\"runtime\":\"starpu-mpi-%d.%d.%d\",\"workload\":\"%s\",\"workers\":%u,\"tasks\":%ld,\"seconds\":%.9f,\"us_per_task\":%.6f,\"extra\":%.17g}\n",
			STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION, STARPU_RELEASE_VERSION, argv_[1], starpu_worker_get_count(), tasks, seconds, seconds / tasks * 1e6, sum);
	fflush(stdout);
	starpu_mpi_shutdown();
	starpu_shutdown();
	MPI_Finalize();
	return 0;
}
