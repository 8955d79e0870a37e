/* peerbench: the data-dependency workloads of starpush's runtime benchmarks on OpenMP tasks (gcc's libgomp).
 * usage: peerbench WORKLOAD [n=] [h=] [w=] [t=] [ns=]   with OMP_NUM_THREADS workers
 * Workloads independent, chain, fanout, random, stencil: as in ../starpu/peerbench.c. One line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <time.h>
#include <omp.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static int argc_; static char **argv_;
static long arg(const char *k, long d) { size_t n = strlen(k); for (int i = 2; i < argc_; i++) if (!strncmp(argv_[i], k, n) && argv_[i][n] == '=') return atol(argv_[i] + n + 1); return d; }
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
int main(int argc, char **argv) {
	argc_ = argc; argv_ = argv; const char *w = argc > 1 ? argv[1] : ""; long n = arg("n", 100000), tasks = n; double t = 0, extra = 0; int nt = 0;
	#pragma omp parallel
	#pragma omp single
	{
		nt = omp_get_num_threads();
		if (!strcmp(w, "independent")) {
			t = now(); for (long i = 0; i < n; i++) {
				#pragma omp task
				{ sink = 1; }
			}
			#pragma omp taskwait
			t = now() - t;
		} else if (!strcmp(w, "chain")) {
			static float v[16]; t = now(); for (long i = 0; i < n; i++) {
				#pragma omp task depend(inout: v[0])
				{ sink = 1; }
			}
			#pragma omp taskwait
			t = now() - t;
		} else if (!strcmp(w, "fanout")) {
			static float v[16]; t = now(); for (long i = 0; i < n; i++) {
				if (i % 64) {
					#pragma omp task depend(in: v[0])
					{ sink = 1; }
				} else {
					#pragma omp task depend(out: v[0])
					{ sink = 1; }
				}
			}
			#pragma omp taskwait
			t = now() - t;
		} else if (!strcmp(w, "random")) {
			long h = arg("h", 1024); float *b = calloc(16 * h, 4); long *xs = draws(n, h); t = now();
			for (long i = 0; i < n; i++) { long *x = xs + 3 * i;
				float *p = b + 16 * x[0], *q = b + 16 * x[1], *r = b + 16 * x[2];
				#pragma omp task depend(in: *p, *q) depend(inout: *r)
				{ sink = 1; }
			}
			#pragma omp taskwait
			t = now() - t;
		} else if (!strcmp(w, "stencil")) {
			long W = arg("w", 16), T = arg("t", 1000), ns = arg("ns", 0); tasks = W * T; float *b = calloc(2 * (W + 2) * 16, 4); spin_set(ns); t = now();
			for (long s = 0; s < T; s++) for (long i = 0; i < W; i++) { float *a = b + 16 * ((s & 1) * (W + 2) + i + 1), *c = b + 16 * ((1 - (s & 1)) * (W + 2) + i + 1);
				#pragma omp task depend(in: a[-16], a[0], a[16]) depend(out: c[0])
				rounds(spin_rounds);
			}
			#pragma omp taskwait
			t = now() - t; extra = ns * 1e-9 * tasks / nt / t;
		} else { fprintf(stderr, "peerbench: no such workload\n"); exit(1); }
	}
	printf("{\"runtime\":\"openmp-gcc\",\"workload\":\"%s\",\"workers\":%d,\"tasks\":%ld,\"seconds\":%.6f,\"us_per_task\":%.4f,\"extra\":%.6g}\n", w, nt, tasks, t, t / tasks * 1e6, extra);
}
