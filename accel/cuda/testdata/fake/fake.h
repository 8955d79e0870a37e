/* What the parts of the fake driver share. */
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdint.h>
#include "cuda.h"

typedef struct block {
	CUdeviceptr at;
	size_t size;
	struct block *next; /* by address */
} block;

typedef struct CUctx_st {
	int index, retained, sticky;
	char *far, *near; /* where the device and where this file sees its memory */
	size_t span, total, used;
	block *blocks;
	int fail_alloc, fail_copy, fail_launch, crash;
	unsigned peers; /* devices whose memory it may use */
} device;

/* The number of threads and of blocks of a launch, and what it runs on. */
typedef struct {
	unsigned grid[3], block[3], shared;
	device *dev;
} launch;

struct CUfunc_st {
	const char *name;
	void (*thread)(void **params); /* of one thread of the device */
	int n;                         /* parameters */
	const char *kinds;             /* 'p': an address */
};

/* Runs all threads of a launch. params are boxes of 8 bytes. */
void fake_run(const launch *l, const struct CUfunc_st *f, uint64_t *params);

/* The kernel with a name, or NULL. */
const struct CUfunc_st *fake_kernel(const char *name);

/* The address at which this process sees device memory, or NULL. */
char *fake_near(device *d, CUdeviceptr p, size_t n);
/* The same for memory of any device, for who does not hold the lock. */
char *fake_find(CUdeviceptr p, size_t n);

#endif
