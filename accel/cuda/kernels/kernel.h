/*
 * What kernels are written with: a subset of CUDA C that is C as well. clang makes
 * PTX of it, without CUDA's own headers; the tests compile it as C and run its
 * threads one after the other.
 */
#ifndef STARPUSH_KERNEL_H
#define STARPUSH_KERNEL_H

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

#ifdef STARPUSH_HOST

#include <math.h>

struct thread_index {
	u32 tid[3], block[3], dim[3], grid[3];
};
extern __thread struct thread_index me;
void sync_threads(void);

#define KERNEL void
#define SHARED static __thread
#define FUNCTION static inline
#define SQRT_F32 sqrtf
#define SQRT_F64 sqrt
#define TID_X ((int)me.tid[0])
#define TID_Y ((int)me.tid[1])
#define BLOCK_X ((i64)me.block[0])
#define BLOCK_Y ((i64)me.block[1])
#define DIM_X ((i64)me.dim[0])
#define DIM_Y ((i64)me.dim[1])
#define GRID_X ((i64)me.grid[0])
#define GRID_Y ((i64)me.grid[1])

#else

#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
#define FUNCTION static inline __attribute__((device)) __attribute__((always_inline))
#define SQRT_F32 __nvvm_sqrt_rn_f
#define SQRT_F64 __nvvm_sqrt_rn_d
#define TID_X ((int)__nvvm_read_ptx_sreg_tid_x())
#define TID_Y ((int)__nvvm_read_ptx_sreg_tid_y())
#define BLOCK_X ((i64)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCK_Y ((i64)__nvvm_read_ptx_sreg_ctaid_y())
#define DIM_X ((i64)__nvvm_read_ptx_sreg_ntid_x())
#define DIM_Y ((i64)__nvvm_read_ptx_sreg_ntid_y())
#define GRID_X ((i64)__nvvm_read_ptx_sreg_nctaid_x())
#define GRID_Y ((i64)__nvvm_read_ptx_sreg_nctaid_y())
#define sync_threads() __nvvm_bar_sync(0)

#endif

/* The number of a thread among all, and how many there are. */
#define FIRST (BLOCK_X * DIM_X + TID_X)
#define STRIDE (GRID_X * DIM_X)

#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)

#endif
