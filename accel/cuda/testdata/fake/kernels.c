/* The kernels of starpush as C, and how their threads run: one after the other, each
 * on a stack of its own, so that they can meet. A stack is begun once by each thread of
 * this process and serves block after block, and threads take turns by _longjmp, which
 * asks nothing of the system, as swapcontext does: where threads meet often that is what
 * a kernel takes its time for. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "fake.h"

#define STARPUSH_HOST
#include "builtin.cu"

__thread struct thread_index me;

#define THREADS 1024
#define STACK (32 << 10)

enum { RUNS, MEETS, ENDED };
static __thread struct {
	jmp_buf scheduler, thread[THREADS];
	struct thread_index at[THREADS];
	int state[THREADS], now;
	int begun; /* how many stacks are */
	char *stacks;
	const struct CUfunc_st *f;
	void *params[64];
} run;

/* Lets the scheduler go on. */
static void leave(int state) {
	run.state[run.now] = state;
	if (!_setjmp(run.thread[run.now]))
		_longjmp(run.scheduler, 1);
}

void sync_threads(void) { leave(MEETS); }

static void enter(void) {
	for (;;) {
		run.f->thread(run.params);
		leave(ENDED);
	}
}

/* Lets thread i go on until it leaves. */
static __attribute__((noinline)) void resume(int i) {
	if (_setjmp(run.scheduler))
		return;
	if (i < run.begun)
		_longjmp(run.thread[i], 1);
	run.begun = i + 1;
	ucontext_t first;
	getcontext(&first);
	first.uc_stack.ss_sp = run.stacks + (size_t)i * STACK;
	first.uc_stack.ss_size = STACK;
	first.uc_link = NULL;
	makecontext(&first, enter, 0);
	setcontext(&first);
}

static void run_block(int n) {
	for (int i = 0; i < n; i++)
		run.state[i] = RUNS;
	for (int left = n; left > 0;) {
		int met = 0;
		for (int i = 0; i < n; i++) {
			if (run.state[i] == ENDED)
				continue;
			run.state[i] = RUNS;
			run.now = i;
			me = run.at[i];
			resume(i);
			if (run.state[i] == ENDED)
				left--;
			else
				met++;
		}
		if (met && met < left) {
			fprintf(stderr, "fake cuda: %s: %d of %d threads meet\n", run.f->name, met, n);
			abort();
		}
	}
}

void fake_run(const launch *l, const struct CUfunc_st *f, uint64_t *boxes) {
	for (int i = 0; i < f->n; i++)
		run.params[i] = &boxes[i];
	int n = l->block[0] * l->block[1] * l->block[2];
	if (!run.stacks)
		run.stacks = malloc((size_t)THREADS * STACK);
	run.f = f;
	for (unsigned z = 0; z < l->grid[2]; z++)
		for (unsigned y = 0; y < l->grid[1]; y++)
			for (unsigned x = 0; x < l->grid[0]; x++) {
				for (int i = 0; i < n; i++)
					run.at[i] = (struct thread_index){
						{i % l->block[0], i / l->block[0] % l->block[1], i / l->block[0] / l->block[1]},
						{x, y, z},
						{l->block[0], l->block[1], l->block[2]},
						{l->grid[0], l->grid[1], l->grid[2]},
					};
				run_block(n);
			}
}

#define P(i, type) (*(type *)p[i])
#define BITS(N, E)                                                                                                                     \
	static void call_fill_##N(void **p) { fill_##N(P(0, E), P(1, i64), P(2, i64), P(3, E *), P(4, i64)); }                             \
	static void call_copy_##N(void **p) { copy_##N(P(0, i64), P(1, i64), P(2, E *), P(3, i64), P(4, E *), P(5, i64)); }                \
	static void call_swap_##N(void **p) { swap_##N(P(0, i64), P(1, i64), P(2, E *), P(3, i64), P(4, E *), P(5, i64)); }                \
	static void call_transpose_##N(void **p) { transpose_##N(P(0, i64), P(1, i64), P(2, E *), P(3, i64), P(4, E *), P(5, i64)); }
BITS(b8, u8)
BITS(b16, u16)
BITS(b32, u32)
BITS(b64, u64)
#define FLOATS(N, T)                                                                                                                   \
	static void call_scal_##N(void **p) { scal_##N(P(0, T), P(1, i64), P(2, i64), P(3, T *), P(4, i64)); }                             \
	static void call_axpy_##N(void **p) { axpy_##N(P(0, T), P(1, i64), P(2, i64), P(3, T *), P(4, i64), P(5, T *), P(6, i64)); }       \
	static void call_dot_##N(void **p) { dot_##N(P(0, i64), P(1, T *), P(2, T *), P(3, double *)); }                                   \
	static void call_asum_##N(void **p) { asum_##N(P(0, i64), P(1, T *), P(2, double *)); }                                            \
	static void call_sum_##N(void **p) { sum_##N(P(0, i64), P(1, i64), P(2, T *), P(3, i64), P(4, double *)); }                        \
	static void call_reduce_last_##N(void **p) { reduce_last_##N(P(0, i64), P(1, double *), P(2, T *)); }                              \
	static void call_gemv_##N(void **p) {                                                                                              \
		gemv_##N(P(0, i64), P(1, i64), P(2, T), P(3, T *), P(4, i64), P(5, i64), P(6, T *), P(7, T), P(8, T *));                       \
	}                                                                                                                                  \
	static void call_ger_##N(void **p) { ger_##N(P(0, i64), P(1, i64), P(2, T), P(3, T *), P(4, T *), P(5, T *), P(6, i64)); }         \
	static void call_gemm_##N(void **p) {                                                                                              \
		gemm_##N(P(0, i64), P(1, i64), P(2, i64), P(3, T), P(4, T *), P(5, i64), P(6, i64), P(7, T *), P(8, i64), P(9, i64), P(10, T), \
		         P(11, T *), P(12, i64), P(13, i64));                                                                                  \
	}                                                                                                                                  \
	static void call_trsm_##N(void **p) {                                                                                              \
		trsm_##N(P(0, i64), P(1, i64), P(2, i64), P(3, i64), P(4, T), P(5, T *), P(6, i64), P(7, i64), P(8, T *), P(9, i64), P(10, i64)); \
	}                                                                                                                                  \
	static void call_potrf_##N(void **p) { potrf_##N(P(0, i64), P(1, T *), P(2, i64), P(3, i64), P(4, i64 *)); }                       \
	static void call_full_##N(void **p) { full_##N(P(0, i64), P(1, i64), P(2, T *), P(3, i64), P(4, T *)); }                              \
	static void call_trmm_##N(void **p) {                                                                                                 \
		trmm_##N(P(0, i64), P(1, i64), P(2, i64), P(3, i64), P(4, T), P(5, T *), P(6, i64), P(7, i64), P(8, T *), P(9, i64), P(10, i64), \
		         P(11, T *), P(12, i64), P(13, i64));\
	}                                                                                                                                     \
	static void call_trsv_##N(void **p) { trsv_##N(P(0, i64), P(1, i64), P(2, i64), P(3, T *), P(4, i64), P(5, i64), P(6, T *)); }        \
	static void call_getrf_##N(void **p) { getrf_##N(P(0, i64), P(1, i64), P(2, T *), P(3, i64), P(4, i64), P(5, i64 *)); }               \
	static void call_uniform_##N(void **p) {                                                                                           \
		uniform_##N(P(0, i64), P(1, i64), P(2, T *), P(3, i64), P(4, i64), P(5, i64), P(6, i64), P(7, i64), P(8, double),              \
		            P(9, double), P(10, T));                                                                                           \
	}
FLOATS(f32, float)
FLOATS(f64, double)

#define ENTRY(name, kinds) {#name, call_##name, sizeof(kinds) - 1, kinds}
#define BITS_ENTRIES(N) ENTRY(fill_##N, "viipi"), ENTRY(copy_##N, "iipipi"), ENTRY(swap_##N, "iipipi"), ENTRY(transpose_##N, "iipipi")
#define FLOAT_ENTRIES(N)                                                                                                                \
	ENTRY(scal_##N, "viipi"), ENTRY(axpy_##N, "viipipi"), ENTRY(dot_##N, "ippp"), ENTRY(asum_##N, "ipp"), ENTRY(sum_##N, "iipip"),     \
		ENTRY(reduce_last_##N, "ipp"), ENTRY(gemv_##N, "iivpiipvp"), ENTRY(ger_##N, "iivpppi"), ENTRY(gemm_##N, "iiivpiipiivpii"),     \
		ENTRY(trsm_##N, "iiiivpiipii"), ENTRY(potrf_##N, "ipiip"), ENTRY(uniform_##N, "iipiiiiivvv"),                             \
		ENTRY(full_##N, "iipip"), ENTRY(trmm_##N, "iiiivpiipiipii"), ENTRY(trsv_##N, "iiipiip"), ENTRY(getrf_##N, "iipiip")

static const struct CUfunc_st kernels[] = {
	BITS_ENTRIES(b8), BITS_ENTRIES(b16), BITS_ENTRIES(b32), BITS_ENTRIES(b64), FLOAT_ENTRIES(f32), FLOAT_ENTRIES(f64),
};

const struct CUfunc_st *fake_kernel(const char *name) {
	for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	return NULL;
}
