/*
 * A driver without a device, for tests: libcuda.so.1. Device memory is memory of
 * this process at an address that faults when the program follows it. It is
 * poisoned, bounded, and checked at its edges. A thread for each stream carries out
 * what is queued, so all that is asynchronous is. Contexts are per thread and
 * checked, as the real ones are.
 *
 *	FAKE_CUDA_DEVICES   how many, 2
 *	FAKE_CUDA_MEMORY    bytes of each, 48 MiB
 *
 * cuCtxSetLimit(200, what) breaks the current device: see the enum below. cuCtxGetLimit
 * says how much of that is still to happen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

#define DEVICES 8
#define DECLARED_SHARED 16384 /* bytes of shared memory that every kernel declares */
#define EDGE 256 /* bytes before and behind an allocation that nobody may write */

enum { MEND = 0, FAIL_ALLOC = 1, FAIL_COPY = 2, LOSE = 3, FAIL_LAUNCH = 4, CRASH = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static device devices[DEVICES];
static int count, initialized;
static __thread device *current;

struct CUevent_st {
	device *dev;
	uint64_t recorded, happened; /* how often */
	struct timespec at;
};

typedef struct op {
	enum { COPY, HOSTFN, KERNEL, RECORD, WAIT } kind;
	struct op *next;
	/* COPY */
	char *dst;
	const char *src;
	size_t width, height, depth, dst_pitch, src_pitch, dst_slice, src_slice;
	/* HOSTFN */
	CUhostFn fn;
	void *data;
	/* KERNEL */
	launch launch;
	CUfunction function;
	uint64_t params[256];
	/* RECORD, WAIT */
	CUevent event;
	uint64_t number;
} op;

struct CUstream_st {
	device *dev;
	pthread_t thread;
	op *first, **last;
	int busy, closing;
	CUstream next; /* of all */
};
static CUstream streams;

/* What a stream of a lost device does not take back ends with the device's context. */
static void close_streams(device *d) {
	for (CUstream s = streams; s; s = s->next)
		if (s->dev == d)
			s->closing = 1;
	pthread_cond_broadcast(&changed);
}
static void forget_stream(CUstream s) {
	CUstream *at = &streams;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

static long env(const char *name, long otherwise) {
	const char *s = getenv(name);
	return s && *s ? atol(s) : otherwise;
}

CUresult cuInit(unsigned int flags) {
	(void)flags;
	if (env("FAKE_CUDA_INIT", 0))
		return env("FAKE_CUDA_INIT", 0);
	pthread_mutex_lock(&lock);
	if (!initialized) {
		count = env("FAKE_CUDA_DEVICES", 2);
		for (int i = 0; i < count && i < DEVICES; i++) {
			device *d = &devices[i];
			d->index = i;
			d->total = env("FAKE_CUDA_MEMORY", 48 << 20);
			d->span = 4 * d->total + (64 << 20); /* edges and holes are extra */
			int fd = memfd_create("device", 0);
			if (fd < 0 || ftruncate(fd, d->span))
				return CUDA_ERROR_OPERATING_SYSTEM;
			d->near = mmap(NULL, d->span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			d->far = mmap(NULL, d->span, PROT_NONE, MAP_SHARED, fd, 0);
			close(fd);
			if (d->near == MAP_FAILED || d->far == MAP_FAILED)
				return CUDA_ERROR_OPERATING_SYSTEM;
		}
		initialized = 1;
	}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult r, const char **s) {
	*s = "FAKE";
	return r == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult r, const char **s) {
	switch ((int)r) {
	case CUDA_ERROR_OUT_OF_MEMORY: *s = "out of memory"; break;
	case CUDA_ERROR_NO_DEVICE: *s = "no CUDA-capable device is detected"; break;
	case CUDA_ERROR_INVALID_PTX: *s = "a PTX JIT compilation failed"; break;
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: *s = "too many resources requested for launch"; break;
	case CUDA_ERROR_LAUNCH_FAILED: *s = "unspecified launch failure"; break;
	default: *s = "some error"; break;
	}
	return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *v) { *v = 12000; return CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int *n) {
	*n = count;
	return count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
static device *dev_of(CUdevice i) { return i >= 0 && i < count ? &devices[i] : NULL; }
CUresult cuDeviceGet(CUdevice *d, int i) {
	if (!dev_of(i))
		return CUDA_ERROR_INVALID_DEVICE;
	*d = i;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int len, CUdevice d) {
	if (!dev_of(d))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, len, "Fake Device");
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice d) {
	snprintf(id, len, "0000:%02x:00.0", d + 1);
	return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) { *n = devices[d].total; return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
	if (!dev_of(d))
		return CUDA_ERROR_INVALID_DEVICE;
	switch ((int)a) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 7; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = 5; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 4; break;
	case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *v = 2147483647; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 65536; break;
	default: *v = 0; break;
	}
	return CUDA_SUCCESS;
}

/* Peers: neighbours with numbers that differ by one can. */
CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
	*can = a / 2 == b / 2 && a != b;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice i) {
	device *d = dev_of(i);
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (d->retained++ == 0)
		d->sticky = d->fail_alloc = d->fail_copy = d->fail_launch = d->crash = d->peers = 0;
	pthread_mutex_unlock(&lock);
	*c = d;
	return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice i) {
	device *d = dev_of(i);
	pthread_mutex_lock(&lock);
	int ok = d && d->retained > 0;
	if (ok && --d->retained == 0) {
		close_streams(d);
		while (d->blocks) {
			block *b = d->blocks;
			d->used -= b->size;
			d->blocks = b->next;
			free(b);
		}
	}
	pthread_mutex_unlock(&lock);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxSetCurrent(CUcontext c) { current = c; return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext *c) { *c = current; return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *d) {
	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	*d = current->index;
	return CUDA_SUCCESS;
}

/* Returns from the caller when there is no context, or it does not work any more.
 * The lock is held after it. */
#define ENTER                                      \
	if (!current || !current->retained)            \
		return CUDA_ERROR_INVALID_CONTEXT;         \
	pthread_mutex_lock(&lock);                     \
	if (current->sticky) {                         \
		int sticky_ = current->sticky;             \
		pthread_mutex_unlock(&lock);               \
		return sticky_;                            \
	}
#define LEAVE(r)                        \
	do {                                \
		CUresult r_ = (r);              \
		pthread_mutex_unlock(&lock);    \
		return r_;                      \
	} while (0)

static void stick(device *d, int code) {
	if (!d->sticky)
		d->sticky = code;
	pthread_cond_broadcast(&changed);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t what) {
	ENTER;
	if ((int)limit != 200)
		LEAVE(CUDA_ERROR_UNSUPPORTED_LIMIT);
	switch (what) {
	case MEND: current->fail_alloc = current->fail_copy = current->fail_launch = current->crash = 0; break;
	case FAIL_ALLOC: current->fail_alloc++; break;
	case FAIL_COPY: current->fail_copy++; break;
	case LOSE: stick(current, CUDA_ERROR_LAUNCH_FAILED); break;
	case FAIL_LAUNCH: current->fail_launch++; break;
	case CRASH: current->crash++; break;
	}
	LEAVE(CUDA_SUCCESS);
}
CUresult cuCtxGetLimit(size_t *left, CUlimit limit) {
	ENTER;
	if ((int)limit != 200)
		LEAVE(CUDA_ERROR_UNSUPPORTED_LIMIT);
	*left = current->fail_alloc + current->fail_copy + current->fail_launch + current->crash;
	LEAVE(CUDA_SUCCESS);
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
	(void)flags;
	ENTER;
	unsigned bit = 1u << peer->index;
	if (current->peers & bit)
		LEAVE(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	current->peers |= bit;
	LEAVE(CUDA_SUCCESS);
}

/* Memory. */
CUresult cuMemGetInfo_v2(size_t *free_, size_t *total) {
	ENTER;
	*free_ = current->total - current->used;
	*total = current->total;
	LEAVE(CUDA_SUCCESS);
}
static size_t padded(size_t n) { return ((n + 255) & ~(size_t)255) + 2 * EDGE; }
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	ENTER;
	device *d = current;
	if (n == 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (d->fail_alloc > 0) {
		d->fail_alloc--;
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	if (n > d->total - d->used)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	CUdeviceptr at = (CUdeviceptr)d->far;
	block **b = &d->blocks;
	for (; *b && (*b)->at - EDGE - at < padded(n); b = &(*b)->next)
		at = (*b)->at - EDGE + padded((*b)->size);
	if (at + padded(n) > (CUdeviceptr)d->far + d->span)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	block *new = malloc(sizeof *new);
	*new = (block){at + EDGE, n, *b};
	*b = new;
	d->used += n;
	char *mem = d->near + (new->at - (CUdeviceptr)d->far);
	memset(mem - EDGE, 0xED, padded(n));
	memset(mem, 0xCB, n); /* nobody may count on it */
	*p = new->at;
	LEAVE(CUDA_SUCCESS);
}
CUresult cuMemFree_v2(CUdeviceptr p) {
	ENTER;
	device *d = current;
	for (block **b = &d->blocks; *b; b = &(*b)->next)
		if ((*b)->at == p) {
			block *old = *b;
			unsigned char *mem = (unsigned char *)d->near + (p - (CUdeviceptr)d->far) - EDGE;
			size_t all = padded(old->size);
			for (size_t i = 0; i < all; i++)
				if ((i < EDGE || i >= EDGE + old->size) && mem[i] != 0xED) {
					fprintf(stderr, "fake cuda: byte %ld of an allocation of %zu was written\n", (long)i - EDGE, old->size);
					abort();
				}
			memset(mem, 0xDD, all);
			d->used -= old->size;
			*b = old->next;
			free(old);
			LEAVE(CUDA_SUCCESS);
		}
	LEAVE(CUDA_ERROR_INVALID_VALUE);
}
static device *owner(CUdeviceptr p) {
	for (int i = 0; i < count; i++)
		if (p >= (CUdeviceptr)devices[i].far && p < (CUdeviceptr)devices[i].far + devices[i].span)
			return &devices[i];
	return NULL;
}
char *fake_near(device *d, CUdeviceptr p, size_t n) {
	for (block *b = d->blocks; b; b = b->next)
		if (p >= b->at && p + n <= b->at + b->size)
			return d->near + (p - (CUdeviceptr)d->far);
	return NULL;
}

char *fake_find(CUdeviceptr p, size_t n) {
	pthread_mutex_lock(&lock);
	device *d = owner(p);
	char *at = d ? fake_near(d, p, n) : NULL;
	pthread_mutex_unlock(&lock);
	return at;
}

/* Pinned memory. */
#define PINNED 1024
static struct { char *at; size_t size; int registered; } pinned[PINNED];
static int is_pinned(const void *p, size_t n) {
	for (int i = 0; i < PINNED; i++)
		if (pinned[i].at && (char *)p >= pinned[i].at && (char *)p + n <= pinned[i].at + pinned[i].size)
			return 1;
	return 0;
}
static CUresult pin(void *p, size_t n, int registered) {
	for (int i = 0; i < PINNED; i++)
		if (!pinned[i].at) {
			pinned[i].at = p;
			pinned[i].size = n;
			pinned[i].registered = registered;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_OUT_OF_MEMORY;
}
static CUresult unpin(void *p, int registered) {
	for (int i = 0; i < PINNED; i++)
		if (pinned[i].at == p && pinned[i].registered == registered) {
			pinned[i].at = NULL;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemHostAlloc(void **p, size_t n, unsigned int flags) {
	(void)flags;
	ENTER;
	*p = aligned_alloc(4096, (n + 4095) & ~(size_t)4095);
	memset(*p, 0xCB, n);
	LEAVE(pin(*p, n, 0));
}
CUresult cuMemFreeHost(void *p) {
	ENTER;
	CUresult r = unpin(p, 0);
	if (r == CUDA_SUCCESS)
		free(p);
	LEAVE(r);
}
CUresult cuMemHostRegister_v2(void *p, size_t n, unsigned int flags) {
	(void)flags;
	ENTER;
	if (is_pinned(p, 1))
		LEAVE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	LEAVE(pin(p, n, 1));
}
CUresult cuMemHostUnregister(void *p) {
	ENTER;
	CUresult r = unpin(p, 1);
	LEAVE(r == CUDA_SUCCESS ? r : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* Streams. */
static void carry_out(op *o, device *d) {
	switch (o->kind) {
	case COPY:
		for (size_t z = 0; z < o->depth; z++)
			for (size_t y = 0; y < o->height; y++)
				memmove(o->dst + (z * o->dst_slice + y) * o->dst_pitch, o->src + (z * o->src_slice + y) * o->src_pitch, o->width);
		break;
	case HOSTFN:
		current = NULL; /* it may not call the driver */
		o->fn(o->data);
		break;
	case KERNEL:
		fake_run(&o->launch, o->function, o->params);
		break;
	default:
		break;
	}
	(void)d;
}

/* Makes the addresses among the parameters those of this process. */
static int addresses(op *o) {
	for (int i = 0; i < o->function->n; i++)
		if (o->function->kinds[i] == 'p' && !(o->params[i] = (uint64_t)fake_near(o->launch.dev, o->params[i], 1)))
			return 0;
	return 1;
}

static void *work(void *p) {
	CUstream s = p;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!s->first && !s->closing)
			pthread_cond_wait(&changed, &lock);
		if (!s->first)
			break;
		op *o = s->first;
		s->busy = 1;
		if (o->kind == WAIT)
			while (o->event->happened < o->number && !s->dev->sticky && !o->event->dev->sticky)
				pthread_cond_wait(&changed, &lock);
		if (o->kind == KERNEL && !s->dev->sticky && (s->dev->crash > 0 || !addresses(o))) {
			s->dev->crash = 0;
			stick(s->dev, CUDA_ERROR_ILLEGAL_ADDRESS);
		}
		if (o->kind != WAIT && o->kind != RECORD && !s->dev->sticky) {
			pthread_mutex_unlock(&lock);
			carry_out(o, s->dev);
			pthread_mutex_lock(&lock);
		}
		if (o->kind == RECORD) {
			o->event->happened = o->number;
			clock_gettime(CLOCK_MONOTONIC, &o->event->at);
		}
		s->first = o->next;
		if (!s->first)
			s->last = &s->first;
		s->busy = 0;
		free(o);
		pthread_cond_broadcast(&changed);
	}
	forget_stream(s);
	pthread_mutex_unlock(&lock);
	free(s);
	return NULL;
}

CUresult cuStreamCreate(CUstream *s, unsigned int flags) {
	(void)flags;
	ENTER;
	*s = calloc(1, sizeof **s);
	(*s)->dev = current;
	(*s)->last = &(*s)->first;
	if (pthread_create(&(*s)->thread, NULL, work, *s)) {
		free(*s);
		LEAVE(CUDA_ERROR_OPERATING_SYSTEM);
	}
	pthread_detach((*s)->thread);
	(*s)->next = streams;
	streams = *s;
	LEAVE(CUDA_SUCCESS);
}
CUresult cuStreamDestroy_v2(CUstream s) {
	ENTER;
	if (s->dev != current)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	s->closing = 1;
	pthread_cond_broadcast(&changed);
	LEAVE(CUDA_SUCCESS);
}
static CUresult enqueue(CUstream s, op o) {
	if (!s || s->dev != current || s->closing)
		return CUDA_ERROR_INVALID_HANDLE;
	op *p = malloc(sizeof *p);
	*p = o;
	p->next = NULL;
	*s->last = p;
	s->last = &p->next;
	pthread_cond_broadcast(&changed);
	return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream s) {
	ENTER;
	LEAVE(s->first ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}
CUresult cuStreamSynchronize(CUstream s) {
	ENTER;
	while (s->first && !current->sticky)
		pthread_cond_wait(&changed, &lock);
	LEAVE(current->sticky);
}
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned int flags) {
	(void)flags;
	ENTER;
	if (!e)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	LEAVE(enqueue(s, (op){.kind = WAIT, .event = e, .number = e->recorded}));
}
CUresult cuLaunchHostFunc(CUstream s, CUhostFn fn, void *data) {
	ENTER;
	LEAVE(enqueue(s, (op){.kind = HOSTFN, .fn = fn, .data = data}));
}

/* Events. */
CUresult cuEventCreate(CUevent *e, unsigned int flags) {
	(void)flags;
	ENTER;
	*e = calloc(1, sizeof **e);
	(*e)->dev = current;
	LEAVE(CUDA_SUCCESS);
}
CUresult cuEventDestroy_v2(CUevent e) {
	ENTER;
	free(e);
	LEAVE(CUDA_SUCCESS);
}
CUresult cuEventRecord(CUevent e, CUstream s) {
	ENTER;
	if (!e || e->dev != current)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	e->recorded++;
	if (!s) {
		e->happened = e->recorded;
		clock_gettime(CLOCK_MONOTONIC, &e->at);
		LEAVE(CUDA_SUCCESS);
	}
	LEAVE(enqueue(s, (op){.kind = RECORD, .event = e, .number = e->recorded}));
}
CUresult cuEventQuery(CUevent e) {
	ENTER;
	LEAVE(e->happened < e->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}
CUresult cuEventSynchronize(CUevent e) {
	ENTER;
	uint64_t number = e->recorded;
	device *d = current;
	while (e->happened < number && !d->sticky)
		pthread_cond_wait(&changed, &lock);
	LEAVE(d->sticky);
}
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
	ENTER;
	if (!a->recorded || !b->recorded)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (a->happened < a->recorded || b->happened < b->recorded)
		LEAVE(CUDA_ERROR_NOT_READY);
	*ms = (b->at.tv_sec - a->at.tv_sec) * 1e3f + (b->at.tv_nsec - a->at.tv_nsec) * 1e-6f;
	LEAVE(CUDA_SUCCESS);
}

/* Copies. */
static CUresult copy(CUstream s, op o, CUmemorytype dst_type, CUdeviceptr dst, CUmemorytype src_type, CUdeviceptr src) {
	if (current->fail_copy > 0) {
		current->fail_copy--;
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!o.width || !o.height || !o.depth)
		return CUDA_ERROR_INVALID_VALUE;
	if ((o.height > 1 && (o.dst_pitch < o.width || o.src_pitch < o.width)) || (o.depth > 1 && (o.dst_slice < o.height || o.src_slice < o.height)))
		return CUDA_ERROR_INVALID_VALUE;
	CUdeviceptr *addr[] = {&dst, &src};
	CUmemorytype type[] = {dst_type, src_type};
	size_t pitch[] = {o.dst_pitch, o.src_pitch}, slice[] = {o.dst_slice, o.src_slice};
	char *at[2];
	for (int i = 0; i < 2; i++) {
		size_t n = (o.depth - 1) * slice[i] * pitch[i] + (o.height - 1) * pitch[i] + o.width;
		if (type[i] == CU_MEMORYTYPE_HOST) {
			at[i] = (char *)*addr[i];
			if (!is_pinned(at[i], n)) {
				fprintf(stderr, "fake cuda: an asynchronous copy of main memory that is not pinned\n");
				abort(); /* the real driver would wait */
			}
			continue;
		}
		device *d = owner(*addr[i]);
		if (!d || (d != current && !(current->peers & 1u << d->index)))
			return CUDA_ERROR_INVALID_VALUE;
		if (d->sticky)
			return d->sticky;
		if (!(at[i] = fake_near(d, *addr[i], n))) {
			fprintf(stderr, "fake cuda: a copy of %zu bytes leaves its allocation\n", n);
			abort();
		}
	}
	o.kind = COPY;
	o.dst = at[0];
	o.src = at[1];
	return enqueue(s, o);
}
#define ROW(n) (op){.width = n, .height = 1, .depth = 1}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream s) {
	ENTER;
	LEAVE(copy(s, ROW(n), CU_MEMORYTYPE_DEVICE, dst, CU_MEMORYTYPE_HOST, (CUdeviceptr)src));
}
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream s) {
	ENTER;
	LEAVE(copy(s, ROW(n), CU_MEMORYTYPE_HOST, (CUdeviceptr)dst, CU_MEMORYTYPE_DEVICE, src));
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s) {
	ENTER;
	LEAVE(copy(s, ROW(n), CU_MEMORYTYPE_DEVICE, dst, CU_MEMORYTYPE_DEVICE, src));
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dc, CUdeviceptr src, CUcontext sc, size_t n, CUstream s) {
	ENTER;
	if (owner(dst) != dc || owner(src) != sc)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	LEAVE(copy(s, ROW(n), CU_MEMORYTYPE_DEVICE, dst, CU_MEMORYTYPE_DEVICE, src));
}
#define ADDR(c, side) ((c)->side##MemoryType == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(c)->side##Host : (c)->side##Device)
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream s) {
	ENTER;
	op o = {.width = c->WidthInBytes, .height = c->Height, .depth = 1, .dst_pitch = c->dstPitch, .src_pitch = c->srcPitch};
	LEAVE(copy(s, o, c->dstMemoryType, ADDR(c, dst), c->srcMemoryType, ADDR(c, src)));
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream s) {
	ENTER;
	op o = {.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth, .dst_pitch = c->dstPitch, .src_pitch = c->srcPitch, .dst_slice = c->dstHeight, .src_slice = c->srcHeight};
	LEAVE(copy(s, o, c->dstMemoryType, ADDR(c, dst), c->srcMemoryType, ADDR(c, src)));
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream s) {
	ENTER;
	if (owner(c->dstDevice) != c->dstContext || owner(c->srcDevice) != c->srcContext)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	op o = {.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth, .dst_pitch = c->dstPitch, .src_pitch = c->srcPitch, .dst_slice = c->dstHeight, .src_slice = c->srcHeight};
	LEAVE(copy(s, o, c->dstMemoryType, ADDR(c, dst), c->srcMemoryType, ADDR(c, src)));
}

/* Modules: the text is looked at only for the names of its kernels, which are in C
 * here. */
struct CUmod_st {
	char *text;
};
CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned int n, CUjit_option *o, void **v) {
	ENTER;
	const char *text = image;
	if (strncmp(text, "//", 2) || !strstr(text, ".version") || strstr(text, "no PTX")) {
		for (unsigned i = 0; i < n; i++)
			if (o[i] == CU_JIT_ERROR_LOG_BUFFER)
				strcpy(v[i], "ptxas fake, line 1; fatal   : Parsing error");
		LEAVE(CUDA_ERROR_INVALID_PTX);
	}
	*m = malloc(sizeof **m);
	(*m)->text = strdup(text);
	LEAVE(CUDA_SUCCESS);
}
CUresult cuModuleUnload(CUmodule m) {
	ENTER;
	free(m->text);
	free(m);
	LEAVE(CUDA_SUCCESS);
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	ENTER;
	char entry[128];
	snprintf(entry, sizeof entry, ".entry %s(", name);
	*f = (CUfunction)fake_kernel(name);
	LEAVE(*f && strstr(m->text, entry) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
	(void)f;
	ENTER;
	*v = DECLARED_SHARED;
	LEAVE(a == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
	(void)f;
	ENTER;
	LEAVE(a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && v <= 65536 - DECLARED_SHARED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params, void **extra) {
	(void)extra;
	ENTER;
	if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || bx * by * bz > 1024 || shared > 65536)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (current->fail_launch > 0) {
		current->fail_launch--;
		LEAVE(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	}
	op o = {.kind = KERNEL, .launch = {{gx, gy, gz}, {bx, by, bz}, shared, current}, .function = f};
	for (int i = 0; i < f->n; i++)
		memcpy(&o.params[i], params[i], 8);
	LEAVE(enqueue(s, o));
}
