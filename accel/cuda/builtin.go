//go:build cuda

package cuda

// The kernels of this package: what std/blas, std/reduce and std/random compute,
// on the memory of a device. All of them begin on a stream and return; matrices are
// row-major.

import (
	_ "embed"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel/cpu/blas"
)

//go:generate sh kernels/gen.sh

//go:embed kernels/builtin.ptx
var builtinPTX string

// Matrix is a matrix in the memory of a device, with LD elements from a row to the
// next. A vector is a matrix of one row.
type Matrix struct {
	Ptr            unsafe.Pointer
	Rows, Cols, LD int
}

// Vector is a vector of n elements side by side.
func Vector(p unsafe.Pointer, n int) Matrix { return Matrix{p, 1, n, n} }

// turned is the shape of op(m), and the elements from a row of it to the next and
// from a column to the next.
func (m Matrix) turned(t blas.Trans) (rows, cols int, row, col uint64) {
	if t == blas.Transposed {
		return m.Cols, m.Rows, 1, uint64(m.LD)
	}
	return m.Rows, m.Cols, uint64(m.LD), 1
}

// kernels are the functions of builtin.ptx on one device, each looked up once.
type kernels struct {
	mu struct {
		sync.Mutex
		module *Module
		err    error
		byName map[string]*Function
	}
}

func (d *Device) kernel(name string) (*Function, error) {
	k := &d.kernels
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.mu.byName[name]; f != nil {
		return f, nil
	}
	if k.mu.module == nil {
		m, err := d.Load(builtinPTX)
		if err != nil {
			return nil, fmt.Errorf("cuda: the kernels of starpush: %w", err)
		}
		k.mu.module, k.mu.byName = m, map[string]*Function{}
	}
	f, err := k.mu.module.Function(name)
	if err == nil {
		k.mu.byName[name] = f
	}
	return f, err
}

// run launches a kernel of this package.
func (s *Stream) run(name string, grid, block [3]int, params ...uint64) error {
	f, err := s.dev.kernel(name)
	if err != nil {
		return err
	}
	return s.Launch(f, Launch{Grid: grid, Block: block}, params...)
}

const threads = 256 // of a block

// spread is a grid for n independent elements: enough blocks to fill the device a
// few times over; each thread takes several elements when there are more.
func (d *Device) spread(n int) [3]int {
	return [3]int{max(1, min((n+threads-1)/threads, 16*d.processors))}
}

func addr(p unsafe.Pointer) uint64 { return address(p) }
func num(n int) uint64             { return uint64(int64(n)) }

// bits is a number as a parameter.
func bits[T blas.Float](v T) uint64 {
	switch v := any(v).(type) {
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	}
	panic("unreachable")
}

// of is the name of a kernel for an element type.
func of[T blas.Float](kernel string) string {
	if unsafe.Sizeof(T(0)) == 4 {
		return kernel + "_f32"
	}
	return kernel + "_f64"
}

// sized is the name of a kernel for elements of a size.
func sized(kernel string, size int) (string, error) {
	switch size {
	case 1, 2, 4, 8:
		return fmt.Sprintf("%s_b%d", kernel, 8*size), nil
	}
	return "", fmt.Errorf("cuda: %s of elements of %d bytes", kernel, size)
}

func sameShape(what string, x, y Matrix) error {
	if x.Rows != y.Rows || x.Cols != y.Cols {
		return fmt.Errorf("cuda: %s of %d x %d and %d x %d elements", what, x.Rows, x.Cols, y.Rows, y.Cols)
	}
	return nil
}

// Fill sets all elements, of size bytes, to value.
func (s *Stream) Fill(size int, value uint64, x Matrix) error {
	name, err := sized("fill", size)
	if err != nil || x.Rows*x.Cols == 0 {
		return err
	}
	return s.run(name, s.dev.spread(x.Rows*x.Cols), [3]int{threads}, value, num(x.Rows), num(x.Cols), addr(x.Ptr), num(x.LD))
}

// CopyElems copies x to y, both in the device's memory.
func (s *Stream) CopyElems(size int, x, y Matrix) error { return s.pair("copy", size, x, y) }

// SwapElems exchanges x and y.
func (s *Stream) SwapElems(size int, x, y Matrix) error { return s.pair("swap", size, x, y) }

func (s *Stream) pair(kernel string, size int, x, y Matrix) error {
	name, err := sized(kernel, size)
	if err == nil {
		err = sameShape(kernel, x, y)
	}
	if err != nil || x.Rows*x.Cols == 0 {
		return err
	}
	return s.run(name, s.dev.spread(x.Rows*x.Cols), [3]int{threads}, num(x.Rows), num(x.Cols), addr(x.Ptr), num(x.LD), addr(y.Ptr), num(y.LD))
}

// Transpose sets b to the transpose of a.
func (s *Stream) Transpose(size int, a, b Matrix) error {
	name, err := sized("transpose", size)
	switch {
	case err != nil:
		return err
	case a.Rows != b.Cols || a.Cols != b.Rows:
		return fmt.Errorf("cuda: transpose of %d x %d to %d x %d elements", a.Rows, a.Cols, b.Rows, b.Cols)
	case a.Rows*a.Cols == 0:
		return nil
	}
	tiles := (a.Rows + 31) / 32 * ((a.Cols + 31) / 32)
	return s.run(name, [3]int{min(tiles, 64*s.dev.processors)}, [3]int{32, 8}, num(a.Rows), num(a.Cols), addr(a.Ptr), num(a.LD), addr(b.Ptr), num(b.LD))
}

// Uniform fills x with numbers of std/random: lo <= x < hi. Element (i, j) is element
// base + i row + j col of the root datum.
func Uniform[T blas.Float](s *Stream, x Matrix, base, row, col int, seed int64, lo, hi float64) error {
	if x.Rows*x.Cols == 0 {
		return nil
	}
	var below uint64
	if unsafe.Sizeof(T(0)) == 4 {
		below = bits(math.Nextafter32(float32(hi), float32(lo)))
	} else {
		below = bits(math.Nextafter(hi, lo))
	}
	return s.run(of[T]("uniform"), s.dev.spread(x.Rows*x.Cols), [3]int{threads}, num(x.Rows), num(x.Cols), addr(x.Ptr), num(x.LD),
		num(base), num(row), num(col), uint64(seed), bits(lo), bits(hi), below)
}
