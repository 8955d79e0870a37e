//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

// A C library with the Fortran interface of BLAS and LAPACK, found at run
// time and called without cgo. That interface takes everything by reference
// and is column-major: a row-major matrix is the transpose of the column-major
// one in the same memory, so operands, sides and triangles are exchanged and
// nothing is copied.
//
// The systems of the build tag are little-endian: an integer stored in 64 bits
// reads the same for libraries with 32-bit and with 64-bit integers.

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// libraryNames are tried in this order.
func libraryNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{
			"libopenblas.dylib", "libopenblas.0.dylib",
			"/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
			"/usr/local/opt/openblas/lib/libopenblas.dylib",
		}
	}
	return []string{"libopenblas.so.0", "libopenblas.so"}
}

// OpenBLAS loads the library of the given path, or looks for OpenBLAS when the
// path is empty. A library stays loaded until the process ends.
func OpenBLAS(path string) (Provider, error) {
	names := []string{path}
	if path == "" {
		names = libraryNames()
	}
	var failed []string
	for _, name := range names {
		h, err := open(name)
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		return newLibrary(name, h)
	}
	return nil, errors.New(strings.Join(failed, "; "))
}

// library is a loaded library.
type library struct {
	name string
	f32  *libRoutines[float32]
	f64  *libRoutines[float64]
	c64  ComplexRoutines[complex64]
	c128 ComplexRoutines[complex128]
}

func (l *library) Name() string               { return l.name }
func (l *library) Float32() Routines[float32] { return l.f32 }
func (l *library) Float64() Routines[float64] { return l.f64 }

func (l *library) Complex64() ComplexRoutines[complex64]   { return l.c64 }
func (l *library) Complex128() ComplexRoutines[complex128] { return l.c128 }

func newLibrary(path string, handle uintptr) (*library, error) {
	l := &library{name: path}
	callers := 64
	if fn, err := dynlib.Symbol(handle, "openblas_get_config"); err == nil {
		r := dynlib.Call(fn)
		l.name, callers = parseConfig(cString(r), callers)
		l.name += " (" + path + ")"
	}
	if fn, err := dynlib.Symbol(handle, "openblas_set_num_threads"); err == nil {
		dynlib.Call(fn, 1)
	}
	slots := newSlots(callers)
	var err error
	if l.f32, err = newRoutines(handle, "s", slots, gonum32); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if l.f64, err = newRoutines(handle, "d", slots, gonum64); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l.c64, l.c128 = newComplex(handle, "c", slots, gonumC64), newComplex(handle, "z", slots, gonumC128)
	core := coreName(handle)
	l.f64.cuts = core == "SkylakeX" || core == "Cooperlake" // the same kernels, as far as f64 goes
	if l.f64.cuts || core == "SapphireRapids" {
		l.f32.leaf, l.f64.leaf = leafWide, leafWide
	}
	return l, nil
}

// parseConfig takes apart what openblas_get_config returns, such as
// "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64".
func parseConfig(config string, callers int) (name string, maxCallers int) {
	var words []string
	for _, w := range strings.Fields(config) {
		if n, ok := strings.CutPrefix(w, "MAX_THREADS="); ok {
			if v, err := strconv.Atoi(n); err == nil && v > 0 {
				callers = v
			}
			continue
		}
		if len(words) < 2 || w != strings.ToUpper(w) { // name, version, processor
			words = append(words, w)
		}
	}
	return strings.Join(words, " "), callers
}

// cString copies a C string of at most 1 KiB.
func cString(p uintptr) string {
	if p == 0 {
		return ""
	}
	// p is memory of the library, so no Go pointer is made up here.
	b := unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), 1<<10)
	n := 0
	for n < len(b) && b[n] != 0 {
		n++
	}
	return string(b[:n])
}

// libRoutines holds the functions of a library for one element type.
type libRoutines[T Float] struct {
	*gonumRoutines[T] // what is done in Go: reductions of vectors, tiny sizes, huge sizes

	scal, axpy, gemv, ger, trsv, gemm, symm, syrk, trmm, trsm, potrf uintptr

	// slots bounds the calls that run at once: OpenBLAS has work space for as
	// many threads as it was built for, and ends the process beyond. Calls on
	// vectors need no work space.
	slots *slots
	pool  sync.Pool // of *libArgs[T]

	cuts   bool      // products of some sizes go to the library in blocks
	blocks sync.Pool // of *block[T]
	leaf   int       // the order up to which it solves triangular systems itself
}

// libArgs is what one call passes by reference.
type libArgs[T Float] struct {
	m, n, k, lda, ldb, ldc, one, info int64
	alpha, beta                       T
	side, uplo, ta, tb, diag          byte
	work                              int // multiplications since the last yield, up to long for each call
}

func newRoutines[T Float](handle uintptr, prefix string, slots *slots, g *gonumRoutines[T]) (*libRoutines[T], error) {
	r := &libRoutines[T]{gonumRoutines: g, slots: slots, leaf: leafNarrow}
	r.pool.New = func() any { return new(libArgs[T]) }
	r.blocks.New = func() any { return new(block[T]) }
	for _, s := range []struct {
		name string
		to   *uintptr
	}{
		{"scal", &r.scal}, {"axpy", &r.axpy}, {"gemv", &r.gemv}, {"ger", &r.ger}, {"trsv", &r.trsv},
		{"gemm", &r.gemm}, {"symm", &r.symm}, {"syrk", &r.syrk}, {"trmm", &r.trmm}, {"trsm", &r.trsm}, {"potrf", &r.potrf},
	} {
		fn, err := dynlib.Symbol(handle, prefix+s.name+"_")
		if err != nil {
			return nil, fmt.Errorf("not a BLAS and LAPACK library: %w", err)
		}
		*s.to = fn
	}
	return r, nil
}

// get takes an argument block.
func (r *libRoutines[T]) get() *libArgs[T] {
	c := r.pool.Get().(*libArgs[T])
	c.one, c.info = 1, 0
	return c
}

// begin takes a slot and an argument block; the caller defers end. work is the
// number of multiplications.
func (r *libRoutines[T]) begin(work int) *libArgs[T] {
	r.slots.take()
	c := r.get()
	c.work += min(work, long)
	return c
}

func (r *libRoutines[T]) end(c *libArgs[T]) {
	if c.work >= long {
		c.work = 0
		runtime.Gosched()
	}
	r.pool.Put(c)
	r.slots.give()
}

// long is the work, of one call or of several, after which a goroutine yields: some
// tens of microseconds. Go's monitor thread looks every 20 of them for goroutines
// that have been running for 10 ms, as one seems to be that goes from call to call,
// takes the processor away, and goes on looking that often because it found one:
// 7 000 context switches a second, and threads that change cores and lose their
// caches. After a yield it sees a new slice of time, and soon sleeps for 10 ms at
// a time: products of 320 by 320 then run at 0.92 instead of 0.84 times the
// speed that threads of C reach, and a Cholesky of tiles of 64, whose calls yield only
// together, at 1.40 instead of 1.19 times that of StarPU.
const long = 128 * 128 * 128

// tiny is the work below which the call into the library costs more than it gains.
const tiny = 16 * 16 * 16

// fits reports whether the library's integers hold all of v.
func fits(v ...int) bool {
	for _, x := range v {
		if x > math.MaxInt32 {
			return false
		}
	}
	return true
}

func flip(u Uplo) byte {
	if u == Lower {
		return 'U'
	}
	return 'L'
}

func otherSide(s Side) byte {
	if s == Left {
		return 'R'
	}
	return 'L'
}

func transFlag(t Trans) byte {
	if t == Transposed {
		return 'T'
	}
	return 'N'
}

func flipTrans(t Trans) byte {
	if t == Transposed {
		return 'N'
	}
	return 'T'
}

func diagFlag(d Diag) byte {
	if d == Unit {
		return 'U'
	}
	return 'N'
}

// addr is the address of a slice's memory. Its callers convert in the argument
// list of dynlib.Call, which keeps the memory where it is.
func addr[E any](x []E) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// volume is m·n·k, or more than long when that is large.
func volume(m, n, k int) int {
	if m > long/max(n, 1) {
		return math.MaxInt
	}
	return m * n * min(k, math.MaxInt/long)
}
