/* peerbench: the workloads of starpush's runtime benchmarks, on StarPU's C API.
 *
 * usage: peerbench WORKLOAD [key=value ...]
 *   independent  n=            n empty tasks, no data
 *   chain        n=            n empty tasks, all RW on one 16-element vector
 *   fanout       n=            1 writer and 63 readers of one vector, repeated
 *   random       n= h=         n empty tasks, each R,R,RW on three of h handles (fixed LCG)
 *   commute      n=            n tasks adding 1 to one variable, RW|COMMUTE
 *   redux        n=            n tasks adding 1 into one REDUX variable
 *   stencil      w= t= ns=     Task Bench stencil_1d: w points, t steps, each task spins ns nanoseconds
 *   cholesky     nb= b= p=s|d  tiled Cholesky of an (nb*b)^2 matrix, tile b, OpenBLAS kernels
 *   gemm         nb= b= p=s|d  tiled C+=A*B of (nb*b)^2 matrices
 * It prints one line of JSON: seconds from the first submission to the end of the last task.
 */
#define _GNU_SOURCE
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <math.h>
#include <stdint.h>
#ifdef WITH_BLAS
#include <cblas.h>
#include <lapacke.h>
extern void openblas_set_num_threads(int);
#endif

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static int argc_; static char **argv_;
static long arg(const char *k, long d) {
	size_t n = strlen(k);
	for (int i = 2; i < argc_; i++) if (!strncmp(argv_[i], k, n) && argv_[i][n] == '=') return atol(argv_[i] + n + 1);
	return d;
}
static int argis(const char *k, const char *v) {
	size_t n = strlen(k);
	for (int i = 2; i < argc_; i++) if (!strncmp(argv_[i], k, n) && argv_[i][n] == '=') return !strcmp(argv_[i] + n + 1, v);
	return 0;
}
/* draws makes the operands of random: n triples of different numbers below h. Nobody's time includes it. */
static long *draws(long n, long h) {
	long *xs = malloc(3 * n * sizeof *xs); uint64_t s = 12345;
	for (long i = 0; i < n; i++) { long *x = xs + 3 * i; for (int k = 0; k < 3; k++) { again: s = s * 6364136223846793005ULL + 1442695040888963407ULL; x[k] = (s >> 33) % h; for (int q = 0; q < k; q++) if (x[q] == x[k]) goto again; } }
	return xs;
}
/* spin works for ns nanoseconds by rounds of a loop, not by a clock, which would go on while the kernel does not run. */
static volatile uint64_t sink; static long spin_rounds;
static void rounds(long n) { uint64_t x = n; for (long i = 0; i < n; i++) x = x * 6364136223846793005ULL + 1442695040888963407ULL; if (!x) sink = x; }
static void spin_set(long ns) {
	if (!ns) return;
	double best = 1; for (int k = 0; k < 200; k++) { double t = now(); rounds(10000); t = now() - t; if (t > 0 && t < best) best = t; }
	spin_rounds = (long)(ns * 1e-9 * 10000 / best + 0.5);
}
static void die(const char *m) { fprintf(stderr, "peerbench: %s\n", m); exit(1); }
#define CK(x) do { if ((x) != 0) die(#x); } while (0)

static void empty(void *b[], void *a) { (void)b; (void)a; }
static void add1(void *b[], void *a) { (void)a; double *v = (double *)STARPU_VARIABLE_GET_PTR(b[0]); *v += 1; }
static void init0(void *b[], void *a) { (void)a; *(double *)STARPU_VARIABLE_GET_PTR(b[0]) = 0; }
static void sum2(void *b[], void *a) { (void)a; *(double *)STARPU_VARIABLE_GET_PTR(b[0]) += *(double *)STARPU_VARIABLE_GET_PTR(b[1]); }
static void spin(void *b[], void *a) { (void)b; (void)a; rounds(spin_rounds); }

static struct starpu_codelet cl0 = { .cpu_funcs = { empty }, .nbuffers = 0, .name = "empty0" };
static struct starpu_codelet clrw = { .cpu_funcs = { empty }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "rw" };
static struct starpu_codelet clr = { .cpu_funcs = { empty }, .nbuffers = 1, .modes = { STARPU_R }, .name = "r" };
static struct starpu_codelet clw = { .cpu_funcs = { empty }, .nbuffers = 1, .modes = { STARPU_W }, .name = "w" };
static struct starpu_codelet cl3 = { .cpu_funcs = { empty }, .nbuffers = 3, .modes = { STARPU_R, STARPU_R, STARPU_RW }, .name = "rrw" };
static struct starpu_codelet clc = { .cpu_funcs = { add1 }, .nbuffers = 1, .modes = { STARPU_RW | STARPU_COMMUTE }, .name = "commute" };
static struct starpu_codelet clx = { .cpu_funcs = { add1 }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "redux" };
static struct starpu_codelet clinit = { .cpu_funcs = { init0 }, .nbuffers = 1, .modes = { STARPU_W }, .name = "init0" };
#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION > 3
#define SUM_MODE (STARPU_RW | STARPU_COMMUTE)
#else
#define SUM_MODE STARPU_RW
#endif
static struct starpu_codelet clsum = { .cpu_funcs = { sum2 }, .nbuffers = 2, .modes = { SUM_MODE, STARPU_R }, .name = "sum2" };
static struct starpu_codelet cls = { .cpu_funcs = { spin }, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "stencil" };

static void emit(const char *w, long tasks, double s, double extra) {
	printf("{\"runtime\":\"starpu-%d.%d.%d\",\"workload\":\"%s\",\"workers\":%u,\"tasks\":%ld,\"seconds\":%.6f,\"us_per_task\":%.4f,\"extra\":%.6g}\n",
		STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION, STARPU_RELEASE_VERSION, w, starpu_worker_get_count(), tasks, s, s / tasks * 1e6, extra);
}

#ifdef WITH_BLAS
static int dbl; static int B;
static void k_potrf(void *b[], void *a) { (void)a; void *p = (void *)STARPU_MATRIX_GET_PTR(b[0]); if (dbl) LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', B, p, B); else LAPACKE_spotrf(LAPACK_COL_MAJOR, 'L', B, p, B); }
static void k_trsm(void *b[], void *a) { (void)a; void *l = (void *)STARPU_MATRIX_GET_PTR(b[0]), *x = (void *)STARPU_MATRIX_GET_PTR(b[1]);
	if (dbl) cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, B, B, 1, l, B, x, B); else cblas_strsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, B, B, 1, l, B, x, B); }
static void k_syrk(void *b[], void *a) { (void)a; void *x = (void *)STARPU_MATRIX_GET_PTR(b[0]), *c = (void *)STARPU_MATRIX_GET_PTR(b[1]);
	if (dbl) cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, B, B, -1, x, B, 1, c, B); else cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, B, B, -1, x, B, 1, c, B); }
static void gemm(void *b[], int tb, double al) { void *x = (void *)STARPU_MATRIX_GET_PTR(b[0]), *y = (void *)STARPU_MATRIX_GET_PTR(b[1]), *c = (void *)STARPU_MATRIX_GET_PTR(b[2]);
	if (dbl) cblas_dgemm(CblasColMajor, CblasNoTrans, tb ? CblasTrans : CblasNoTrans, B, B, B, al, x, B, y, B, 1, c, B); else cblas_sgemm(CblasColMajor, CblasNoTrans, tb ? CblasTrans : CblasNoTrans, B, B, B, al, x, B, y, B, 1, c, B); }
static void k_gemm_nt(void *b[], void *a) { (void)a; gemm(b, 1, -1); }
static void k_gemm_nn(void *b[], void *a) { (void)a; gemm(b, 0, 1); }
static struct starpu_perfmodel m_potrf = { .type = STARPU_HISTORY_BASED, .symbol = "pb_potrf" }, m_trsm = { .type = STARPU_HISTORY_BASED, .symbol = "pb_trsm" }, m_syrk = { .type = STARPU_HISTORY_BASED, .symbol = "pb_syrk" }, m_gemm = { .type = STARPU_HISTORY_BASED, .symbol = "pb_gemm" };
static struct starpu_codelet potrf = { .cpu_funcs = { k_potrf }, .nbuffers = 1, .modes = { STARPU_RW }, .model = &m_potrf, .name = "potrf" };
static struct starpu_codelet trsm = { .cpu_funcs = { k_trsm }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .model = &m_trsm, .name = "trsm" };
static struct starpu_codelet syrk = { .cpu_funcs = { k_syrk }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .model = &m_syrk, .name = "syrk" };
static struct starpu_codelet gemmnt = { .cpu_funcs = { k_gemm_nt }, .nbuffers = 3, .modes = { STARPU_R, STARPU_R, STARPU_RW }, .model = &m_gemm, .name = "gemm" };
static struct starpu_codelet gemmnn = { .cpu_funcs = { k_gemm_nn }, .nbuffers = 3, .modes = { STARPU_R, STARPU_R, STARPU_RW }, .model = &m_gemm, .name = "gemm" };
static starpu_data_handle_t *tiles(long nb, int sym) {
	starpu_data_handle_t *h = calloc(nb * nb, sizeof *h); size_t es = dbl ? 8 : 4;
	for (long j = 0; j < nb; j++) for (long i = sym ? j : 0; i < nb; i++) {
		void *p; CK(starpu_malloc(&p, es * B * B));
		for (long y = 0; y < B; y++) for (long x = 0; x < B; x++) {
			long gi = i * B + x, gj = j * B + y; double v = 1.0 / (1 + labs(gi - gj)) + (gi == gj ? nb * B : 0);
			if (dbl) ((double *)p)[y * B + x] = v; else ((float *)p)[y * B + x] = v;
		}
		starpu_matrix_data_register(&h[j * nb + i], STARPU_MAIN_RAM, (uintptr_t)p, B, B, B, es);
	}
	return h;
}
#endif

int main(int argc, char **argv) {
	if (argc < 2) die("workload missing");
	argc_ = argc; argv_ = argv; const char *w = argv[1];
	struct starpu_conf c; starpu_conf_init(&c); c.ncuda = 0; c.nopencl = 0; c.ncpus = arg("workers", 2);
	if (!getenv("STARPU_SCHED")) c.sched_policy_name = "lws";
	CK(starpu_init(&c));
	long n = arg("n", 100000); double t, extra = 0; long tasks = n;
	static float buf[16]; starpu_data_handle_t v;
	if (!strcmp(w, "independent")) {
		t = now(); for (long i = 0; i < n; i++) CK(starpu_task_insert(&cl0, 0)); starpu_task_wait_for_all(); t = now() - t;
	} else if (!strcmp(w, "chain")) {
		starpu_vector_data_register(&v, STARPU_MAIN_RAM, (uintptr_t)buf, 16, 4);
		t = now(); for (long i = 0; i < n; i++) CK(starpu_task_insert(&clrw, STARPU_RW, v, 0)); starpu_task_wait_for_all(); t = now() - t; starpu_data_unregister(v);
	} else if (!strcmp(w, "fanout")) {
		starpu_vector_data_register(&v, STARPU_MAIN_RAM, (uintptr_t)buf, 16, 4);
		t = now(); for (long i = 0; i < n; i++) CK(i % 64 ? starpu_task_insert(&clr, STARPU_R, v, 0) : starpu_task_insert(&clw, STARPU_W, v, 0)); starpu_task_wait_for_all(); t = now() - t; starpu_data_unregister(v);
	} else if (!strcmp(w, "random")) {
		long h = arg("h", 1024); starpu_data_handle_t *hs = calloc(h, sizeof *hs); float *bs = calloc(16 * h, 4);
		for (long i = 0; i < h; i++) starpu_vector_data_register(&hs[i], STARPU_MAIN_RAM, (uintptr_t)(bs + 16 * i), 16, 4);
		long *xs = draws(n, h); t = now();
		for (long *x = xs; x < xs + 3 * n; x += 3)
			CK(starpu_task_insert(&cl3, STARPU_R, hs[x[0]], STARPU_R, hs[x[1]], STARPU_RW, hs[x[2]], 0));
		starpu_task_wait_for_all(); t = now() - t; for (long i = 0; i < h; i++) starpu_data_unregister(hs[i]);
	} else if (!strcmp(w, "commute") || !strcmp(w, "redux")) {
		int rx = !strcmp(w, "redux"); static double x = 0; starpu_variable_data_register(&v, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
		if (rx) starpu_data_set_reduction_methods(v, &clsum, &clinit);
		t = now(); for (long i = 0; i < n; i++) CK(rx ? starpu_task_insert(&clx, STARPU_REDUX, v, 0) : starpu_task_insert(&clc, STARPU_RW | STARPU_COMMUTE, v, 0));
		CK(starpu_data_acquire(v, STARPU_R)); t = now() - t; extra = x; starpu_data_release(v); starpu_data_unregister(v); if (extra != n) die("wrong sum");
	} else if (!strcmp(w, "stencil")) {
		long W = arg("w", 16), T = arg("t", 1000), ns = arg("ns", 0); spin_set(ns); tasks = W * T;
		starpu_data_handle_t *hs[2]; float *bs = calloc(2 * W * 16, 4);
		for (int k = 0; k < 2; k++) { hs[k] = calloc(W, sizeof(**hs)); for (long i = 0; i < W; i++) starpu_vector_data_register(&hs[k][i], STARPU_MAIN_RAM, (uintptr_t)(bs + 16 * (k * W + i)), 16, 4); }
		t = now();
		for (long s = 0; s < T; s++) for (long i = 0; i < W; i++) { starpu_data_handle_t *a = hs[s & 1], *b = hs[1 - (s & 1)];
			struct starpu_data_descr d[4]; int k = 0; d[k].handle = b[i]; d[k++].mode = STARPU_W;
			if (i > 0) { d[k].handle = a[i - 1]; d[k++].mode = STARPU_R; }
			d[k].handle = a[i]; d[k++].mode = STARPU_R;
			if (i < W - 1) { d[k].handle = a[i + 1]; d[k++].mode = STARPU_R; }
			CK(starpu_task_insert(&cls, STARPU_DATA_MODE_ARRAY, d, k, 0)); }
		starpu_task_wait_for_all(); t = now() - t;
		extra = ns * 1e-9 * tasks / starpu_worker_get_count() / t; /* efficiency */
		for (int k = 0; k < 2; k++) for (long i = 0; i < W; i++) starpu_data_unregister(hs[k][i]);
#ifdef WITH_BLAS
	} else if (!strcmp(w, "cholesky") || !strcmp(w, "gemm")) {
		openblas_set_num_threads(1); long nb = arg("nb", 16); B = arg("b", 320); dbl = !argis("p", "s"); tasks = 0; double N = (double)nb * B;
		if (!strcmp(w, "cholesky")) {
			starpu_data_handle_t *A = tiles(nb, 1);
			t = now();
			for (long k = 0; k < nb; k++) {
				CK(starpu_task_insert(&potrf, STARPU_RW, A[k * nb + k], STARPU_PRIORITY, STARPU_MAX_PRIO, 0)); tasks++;
				for (long i = k + 1; i < nb; i++) { CK(starpu_task_insert(&trsm, STARPU_R, A[k * nb + k], STARPU_RW, A[k * nb + i], 0)); tasks++; }
				for (long i = k + 1; i < nb; i++) { CK(starpu_task_insert(&syrk, STARPU_R, A[k * nb + i], STARPU_RW, A[i * nb + i], 0)); tasks++;
					for (long j = k + 1; j < i; j++) { CK(starpu_task_insert(&gemmnt, STARPU_R, A[k * nb + i], STARPU_R, A[k * nb + j], STARPU_RW, A[j * nb + i], 0)); tasks++; } }
			}
			starpu_task_wait_for_all(); t = now() - t; extra = N * N * N / 3 / t / 1e9;
			for (long j = 0; j < nb; j++) for (long i = j; i < nb; i++) starpu_data_unregister(A[j * nb + i]);
		} else {
			starpu_data_handle_t *A = tiles(nb, 0), *Bm = tiles(nb, 0), *C = tiles(nb, 0);
			t = now();
			for (long j = 0; j < nb; j++) for (long i = 0; i < nb; i++) for (long k = 0; k < nb; k++) { CK(starpu_task_insert(&gemmnn, STARPU_R, A[k * nb + i], STARPU_R, Bm[j * nb + k], STARPU_RW, C[j * nb + i], 0)); tasks++; }
			starpu_task_wait_for_all(); t = now() - t; extra = 2 * N * N * N / t / 1e9;
			for (long i = 0; i < nb * nb; i++) { starpu_data_unregister(A[i]); starpu_data_unregister(Bm[i]); starpu_data_unregister(C[i]); }
		}
#endif
	} else { die("no such workload"); return 1; }
	emit(w, tasks, t, extra);
	starpu_shutdown();
	return 0;
}
