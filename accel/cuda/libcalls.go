//go:build cuda

package cuda

// Calls of cuBLAS and cuSOLVER. They take matrices by columns: what they see is the
// transpose of what is meant, so operands change places and triangles sides.

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/accel/dynlib"
)

// The enumerations of cuBLAS.
func opOf(t blas.Trans) uintptr { return flag(t == blas.Transposed) }

// fillOf is the triangle of the transpose.
func fillOf(u blas.Uplo) uintptr { return flag(u == blas.Lower) }

// sideOf is the side in the transposed product.
func sideOf(s blas.Side) uintptr { return flag(s == blas.Left) }
func diagOf(d blas.Diag) uintptr { return flag(d == blas.Unit) }

func flag(b bool) uintptr { return uintptr(truth(b)) }

func flip(t blas.Trans) blas.Trans { return blas.Transposed - t }

// typed is the name of a function for an element type: typed[float64]("cublas",
// "gemm_v2") is cublasDgemm_v2.
func typed[T blas.Float](library, name string) string {
	if unsafe.Sizeof(T(0)) == 4 {
		return library + "S" + name
	}
	return library + "D" + name
}

// library calls a function on the device's context. A variable x
// passed as uintptr(unsafe.Pointer(&x)), in the call itself, does not move: the directive
// puts x on the heap.
//
//go:uintptrescapes
func (s *Stream) library(table map[string]uintptr, name string, args ...uintptr) error {
	if r := dynlib.Call(table[name], args...); int32(r) != 0 {
		// when the device is lost, say that
		if err := s.s.Query(); err != nil && code(err) != notReady {
			if err := s.dev.check("cuStreamQuery", err); sticky[code(err)] || s.dev.lost.Load() != nil {
				return err
			}
		}
		return &LibraryError{name, int(int32(r))}
	}
	return nil
}

// handle returns *h, which create makes when the stream has none yet.
func (s *Stream) handle(h *uintptr, table map[string]uintptr, create, setStream string) (uintptr, error) {
	if *h != 0 {
		return *h, nil
	}
	made := new(uintptr)
	if err := s.library(table, create, uintptr(unsafe.Pointer(made))); err != nil {
		return 0, err
	}
	*h = *made
	return *h, s.library(table, setStream, *h, uintptr(streamHandle(s.s)))
}

func (s *Stream) cublasHandle(l *libraries) (uintptr, error) {
	return s.handle(&s.cublas, l.cublas, "cublasCreate_v2", "cublasSetStream_v2")
}

func (s *Stream) cusolverHandle(l *libraries) (uintptr, error) {
	return s.handle(&s.cusolver, l.cusolver, "cusolverDnCreate", "cusolverDnSetStream")
}

// closeLibraries gives up the handles, on the device's context.
func (s *Stream) closeLibraries() error {
	l := s.dev.libs()
	if s.cublas != 0 {
		if err := s.library(l.cublas, "cublasDestroy_v2", s.cublas); err != nil {
			return err
		}
	}
	if s.cusolver != 0 {
		return s.library(l.cusolver, "cusolverDnDestroy", s.cusolver)
	}
	return nil
}

// ints turns sizes into arguments; the functions take them as 32 bits.
func ints(n ...int) error {
	for _, v := range n {
		if v > math.MaxInt32 {
			return fmt.Errorf("cuda: a matrix with a size of %d", v)
		}
	}
	return nil
}

func gemmLibrary[T blas.Float](s *Stream, l *libraries, ta, tb blas.Trans, m, n, k int, alpha T, a, b Matrix, beta T, c Matrix) error {
	if err := ints(m, n, k, a.LD, b.LD, c.LD); err != nil {
		return err
	}
	return s.kernel(of[T]("gemm"), func() error {
		h, err := s.cublasHandle(l)
		if err != nil {
			return err
		}
		return s.library(l.cublas, typed[T]("cublas", "gemm_v2"), h, opOf(tb), opOf(ta), uintptr(n), uintptr(m), uintptr(k),
			uintptr(unsafe.Pointer(&alpha)), uintptr(b.Ptr), uintptr(b.LD), uintptr(a.Ptr), uintptr(a.LD), uintptr(unsafe.Pointer(&beta)), uintptr(c.Ptr), uintptr(c.LD))
	})
}

func syrkLibrary[T blas.Float](s *Stream, l *libraries, uplo blas.Uplo, ta blas.Trans, n, k int, alpha T, a Matrix, beta T, c Matrix) error {
	if err := ints(n, k, a.LD, c.LD); err != nil {
		return err
	}
	return s.kernel(of[T]("syrk"), func() error {
		h, err := s.cublasHandle(l)
		if err != nil {
			return err
		}
		return s.library(l.cublas, typed[T]("cublas", "syrk_v2"), h, fillOf(uplo), opOf(flip(ta)), uintptr(n), uintptr(k),
			uintptr(unsafe.Pointer(&alpha)), uintptr(a.Ptr), uintptr(a.LD), uintptr(unsafe.Pointer(&beta)), uintptr(c.Ptr), uintptr(c.LD))
	})
}

func trsmLibrary[T blas.Float](s *Stream, l *libraries, side blas.Side, uplo blas.Uplo, ta blas.Trans, diag blas.Diag, alpha T, a, b Matrix) error {
	if err := ints(b.Rows, b.Cols, a.LD, b.LD); err != nil {
		return err
	}
	return s.kernel(of[T]("trsm"), func() error {
		h, err := s.cublasHandle(l)
		if err != nil {
			return err
		}
		return s.library(l.cublas, typed[T]("cublas", "trsm_v2"), h, sideOf(side), fillOf(uplo), opOf(ta), diagOf(diag),
			uintptr(b.Cols), uintptr(b.Rows), uintptr(unsafe.Pointer(&alpha)), uintptr(a.Ptr), uintptr(a.LD), uintptr(b.Ptr), uintptr(b.LD))
	})
}

func potrfLibrary[T blas.Float](s *Stream, l *libraries, uplo blas.Uplo, a Matrix, info unsafe.Pointer) error {
	if err := ints(a.Rows, a.LD); err != nil {
		return err
	}
	// cuSOLVER writes an int32: the lower half
	if err := s.Fill(8, 0, Vector(info, 1)); err != nil {
		return err
	}
	return s.kernel(of[T]("potrf"), func() error {
		h, err := s.cusolverHandle(l)
		if err != nil {
			return err
		}
		elements := new(int32)
		err = s.library(l.cusolver, typed[T]("cusolverDn", "potrf_bufferSize"), h, fillOf(uplo), uintptr(a.Rows), uintptr(a.Ptr), uintptr(a.LD), uintptr(unsafe.Pointer(elements)))
		if err != nil {
			return err
		}
		if err := s.needWork(int64(*elements) * int64(unsafe.Sizeof(T(0)))); err != nil {
			return err
		}
		return s.library(l.cusolver, typed[T]("cusolverDn", "potrf"), h, fillOf(uplo), uintptr(a.Rows), uintptr(a.Ptr), uintptr(a.LD),
			uintptr(s.work.ptr), uintptr(*elements), uintptr(info))
	})
}
