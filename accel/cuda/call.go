//go:build cuda

package cuda

// The functions of the driver that gorgonia.org/cu lacks. Addresses cross as
// numbers: the memory is the caller's until the work on it has ended.

/*
#cgo CFLAGS: -I${SRCDIR}/include
#include <stdint.h>
#include <string.h>
#include "cuda.h"

enum { HOST, DEVICE };

typedef struct {
	int dst_kind, src_kind;
	uint64_t dst, src;
	size_t width, height, depth, dst_pitch, src_pitch, dst_slice, src_slice;
} sp_box;

static CUmemorytype kind(int k) { return k == HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; }

static CUresult sp_copy(const sp_box *b, uintptr_t stream) {
	CUstream s = (CUstream)stream;
	if (b->depth > 1) {
		CUDA_MEMCPY3D c;
		memset(&c, 0, sizeof c);
		c.srcMemoryType = kind(b->src_kind);
		c.dstMemoryType = kind(b->dst_kind);
		c.srcHost = (const void *)b->src;
		c.srcDevice = b->src;
		c.dstHost = (void *)b->dst;
		c.dstDevice = b->dst;
		c.srcPitch = b->src_pitch;
		c.srcHeight = b->src_slice;
		c.dstPitch = b->dst_pitch;
		c.dstHeight = b->dst_slice;
		c.WidthInBytes = b->width;
		c.Height = b->height;
		c.Depth = b->depth;
		return cuMemcpy3DAsync(&c, s);
	}
	if (b->height > 1) {
		CUDA_MEMCPY2D c;
		memset(&c, 0, sizeof c);
		c.srcMemoryType = kind(b->src_kind);
		c.dstMemoryType = kind(b->dst_kind);
		c.srcHost = (const void *)b->src;
		c.srcDevice = b->src;
		c.dstHost = (void *)b->dst;
		c.dstDevice = b->dst;
		c.srcPitch = b->src_pitch;
		c.dstPitch = b->dst_pitch;
		c.WidthInBytes = b->width;
		c.Height = b->height;
		return cuMemcpy2DAsync(&c, s);
	}
	if (b->src_kind == HOST)
		return cuMemcpyHtoDAsync(b->dst, (const void *)b->src, b->width, s);
	if (b->dst_kind == HOST)
		return cuMemcpyDtoHAsync((void *)b->dst, b->src, b->width, s);
	return cuMemcpyDtoDAsync(b->dst, b->src, b->width, s);
}

static CUresult sp_copy_peer(const sp_box *b, uintptr_t dst_ctx, uintptr_t src_ctx, uintptr_t stream) {
	if (b->height == 1 && b->depth == 1)
		return cuMemcpyPeerAsync(b->dst, (CUcontext)dst_ctx, b->src, (CUcontext)src_ctx, b->width, (CUstream)stream);
	CUDA_MEMCPY3D_PEER c;
	memset(&c, 0, sizeof c);
	c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = b->src;
	c.dstDevice = b->dst;
	c.srcContext = (CUcontext)src_ctx;
	c.dstContext = (CUcontext)dst_ctx;
	c.srcPitch = b->src_pitch;
	c.srcHeight = b->depth > 1 ? b->src_slice : b->height;
	c.dstPitch = b->dst_pitch;
	c.dstHeight = b->depth > 1 ? b->dst_slice : b->height;
	c.WidthInBytes = b->width;
	c.Height = b->height;
	c.Depth = b->depth;
	return cuMemcpy3DPeerAsync(&c, (CUstream)stream);
}

// A copy within main memory, as part of a stream. Threads of the driver carry it
// out, which may not call Go.
typedef struct {
	uint64_t dst, src;
	size_t bytes;
	int axes;
	int64_t count[8], dst_step[8], src_step[8]; // accel.MaxCounts
} sp_rows;

static void copy_axis(const sp_rows *r, int k, char *dst, const char *src) {
	if (k < 0) {
		memcpy(dst, src, r->bytes);
		return;
	}
	for (int64_t i = 0; i < r->count[k]; i++)
		copy_axis(r, k - 1, dst + i * r->dst_step[k], src + i * r->src_step[k]);
}

static void run_rows(void *p) {
	sp_rows *r = p;
	copy_axis(r, r->axes - 1, (char *)r->dst, (const char *)r->src);
	free(r);
}

static CUresult sp_copy_rows(const sp_rows *rows, uintptr_t stream) {
	sp_rows *r = malloc(sizeof *r);
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*r = *rows;
	CUresult e = cuLaunchHostFunc((CUstream)stream, run_rows, r);
	if (e != CUDA_SUCCESS)
		free(r);
	return e;
}

static CUresult sp_launch(uintptr_t f, const unsigned *grid, const unsigned *block, unsigned shared, uintptr_t stream, uint64_t *params, int n) {
	void *p[256]; // maxParams
	for (int i = 0; i < n; i++)
		p[i] = &params[i];
	return cuLaunchKernel((CUfunction)f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, (CUstream)stream, p, NULL);
}

static CUresult sp_load(CUmodule *m, const char *image, char *log, unsigned size) {
	CUjit_option o[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *v[] = {log, (void *)(uintptr_t)size};
	log[0] = 0;
	return cuModuleLoadDataEx(m, image, 2, o, v);
}

static CUresult sp_host_alloc(uint64_t *p, size_t n) {
	void *v = NULL;
	CUresult r = cuMemHostAlloc(&v, n, CU_MEMHOSTALLOC_PORTABLE);
	*p = (uint64_t)v;
	return r;
}

static CUresult sp_host_free(uint64_t p) { return cuMemFreeHost((void *)p); }
static CUresult sp_host_register(uint64_t p, size_t n) { return cuMemHostRegister((void *)p, n, CU_MEMHOSTREGISTER_PORTABLE); }
static CUresult sp_host_unregister(uint64_t p) { return cuMemHostUnregister((void *)p); }
static CUresult sp_func_static(uintptr_t f, int *bytes) { return cuFuncGetAttribute(bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, (CUfunction)f); }
static CUresult sp_func_shared(uintptr_t f, int bytes) { return cuFuncSetAttribute((CUfunction)f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes); }
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// address is p as a number.
func address(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// pointer is an address outside the Go heap as a pointer.
func pointer(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// The handles of cu are structs of one pointer each.
func streamHandle(s cu.Stream) C.uintptr_t    { return C.uintptr_t(uintptr(unsafe.Pointer(s.C()))) }
func contextHandle(c cu.CUContext) uintptr    { return *(*uintptr)(unsafe.Pointer(&c)) }
func functionHandle(f cu.Function) uintptr    { return *(*uintptr)(unsafe.Pointer(&f)) }
func makeModule(m C.CUmodule) (out cu.Module) { *(*C.CUmodule)(unsafe.Pointer(&out)) = m; return out }

// side is one side of a copy.
type side struct {
	host bool
	addr uint64
	ctx  uintptr // of a device
}

// copyBox begins a copy on the current context.
func copyBox(s cu.Stream, dst, src side, b *box) error {
	c := C.sp_box{
		dst_kind: C.DEVICE, src_kind: C.DEVICE,
		dst: C.uint64_t(dst.addr + uint64(b.dst)), src: C.uint64_t(src.addr + uint64(b.src)),
		width: C.size_t(b.width), height: C.size_t(b.height), depth: C.size_t(b.depth),
		dst_pitch: C.size_t(b.dstPitch), src_pitch: C.size_t(b.srcPitch),
		dst_slice: C.size_t(b.dstSlice), src_slice: C.size_t(b.srcSlice),
	}
	if dst.host {
		c.dst_kind = C.HOST
	}
	if src.host {
		c.src_kind = C.HOST
	}
	if !dst.host && !src.host && dst.ctx != src.ctx {
		return failed("cuMemcpyPeerAsync", C.sp_copy_peer(&c, C.uintptr_t(dst.ctx), C.uintptr_t(src.ctx), streamHandle(s)))
	}
	return failed("cuMemcpyAsync", C.sp_copy(&c, streamHandle(s)))
}

// copyRows begins a copy within main memory on a stream.
func copyRows(s cu.Stream, dst, src uint64, r *rows) error {
	c := C.sp_rows{dst: C.uint64_t(dst), src: C.uint64_t(src), bytes: C.size_t(r.bytes), axes: C.int(r.n)}
	for i, a := range r.axes[:r.n] {
		c.count[i], c.dst_step[i], c.src_step[i] = C.int64_t(a.count), C.int64_t(a.dst), C.int64_t(a.src)
	}
	return failed("cuLaunchHostFunc", C.sp_copy_rows(&c, streamHandle(s)))
}

// maxParams is the number of parameters of a kernel.
const maxParams = 256

func launch(s cu.Stream, f uintptr, grid, block [3]C.uint, shared int, params *[maxParams]uint64, n int) error {
	return failed("cuLaunchKernel", C.sp_launch(C.uintptr_t(f), &grid[0], &block[0], C.uint(shared), streamHandle(s), (*C.uint64_t)(&params[0]), C.int(n)))
}

// dims makes sizes for launch.
func dims(d [3]int) (c [3]C.uint) {
	for i := range d {
		c[i] = C.uint(max(1, d[i]))
	}
	return c
}

// loadModule compiles PTX. The text is what the compiler said.
func loadModule(image string) (cu.Module, string, error) {
	text := C.CString(image)
	defer C.free(unsafe.Pointer(text))
	const size = 8 << 10
	log := (*C.char)(C.calloc(1, size))
	defer C.free(unsafe.Pointer(log))
	var m C.CUmodule
	err := failed("cuModuleLoadDataEx", C.sp_load(&m, text, log, size))
	return makeModule(m), C.GoString(log), err
}

// staticShared returns the bytes of shared memory that a kernel declares.
func staticShared(f uintptr) (int, error) {
	var n C.int
	err := failed("cuFuncGetAttribute", C.sp_func_static(C.uintptr_t(f), &n))
	return int(n), err
}

func setShared(f uintptr, bytes int) error {
	return failed("cuFuncSetAttribute", C.sp_func_shared(C.uintptr_t(f), C.int(bytes)))
}

func hostAlloc(bytes int64) (uint64, error) {
	var p C.uint64_t
	err := failed("cuMemHostAlloc", C.sp_host_alloc(&p, C.size_t(bytes)))
	return uint64(p), err
}

func hostFree(p uint64) error { return failed("cuMemFreeHost", C.sp_host_free(C.uint64_t(p))) }

func hostRegister(p uint64, bytes int64) error {
	return failed("cuMemHostRegister", C.sp_host_register(C.uint64_t(p), C.size_t(bytes)))
}

func hostUnregister(p uint64) error {
	return failed("cuMemHostUnregister", C.sp_host_unregister(C.uint64_t(p)))
}

// failed makes an error of a result.
func failed(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return &Error{Call: call, Code: int(r)}
}

// resultText is what the driver says about a result.
func resultText(code int) string {
	var s *C.char
	if C.cuGetErrorString(C.CUresult(code), &s) != C.CUDA_SUCCESS || s == nil {
		return "unknown error"
	}
	return C.GoString(s)
}

// busID is the place of a device on the machine's bus: "0000:65:00.0".
func busID(d cu.Device) (string, error) {
	var b [32]C.char
	err := failed("cuDeviceGetPCIBusId", C.cuDeviceGetPCIBusId(&b[0], C.int(len(b)), C.CUdevice(d)))
	return C.GoString(&b[0]), err
}
