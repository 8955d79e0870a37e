//go:build cuda

package cuda

// Kernels and library calls against gonum, and against plain loops.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu/blas"
)

// bench is a stream with memory that comes and goes by slices.
type bench struct {
	testing.TB
	d   *Device
	s   *Stream
	rng *rand.Rand
}

// eachWay runs a test with kernels of this package, and with libraries.
func eachWay(t *testing.T, f32, f64 func(b *bench)) {
	for _, way := range []string{"kernels", "libraries"} {
		for i, fn := range []func(b *bench){f32, f64} {
			t.Run(fmt.Sprintf("%s/f%d", way, 32<<i), func(t *testing.T) {
				d := open(t)[0]
				d.noLibs = way == "kernels"
				if l := d.libs(); !d.noLibs && (l.cublas == nil || l.cusolver == nil) {
					t.Skipf("libraries: %v", l.names)
				}
				fn(&bench{t, d, newStream(t, d), rand.New(rand.NewPCG(1, 2))})
			})
		}
	}
}

// put sends a slice to the device.
func put[T any](b *bench, v []T) unsafe.Pointer {
	b.Helper()
	n := int64(len(v)) * int64(unsafe.Sizeof(*new(T)))
	p := alloc(b, b.d, n)
	if n > 0 {
		ok(b, b.s.Copy(row(p, accel.Place{Mem: ram, Ptr: unsafe.Pointer(unsafe.SliceData(v))}, n)))
		ok(b, b.s.Sync()) // v may change from now on
	}
	return p.Ptr
}

// get waits for the stream and returns n elements.
func get[T any](b *bench, p unsafe.Pointer, n int) []T {
	b.Helper()
	v := make([]T, n)
	if n > 0 {
		ok(b, b.s.Copy(row(accel.Place{Mem: ram, Ptr: unsafe.Pointer(unsafe.SliceData(v))}, accel.Place{Mem: b.d.Memory(), Ptr: p}, int64(n)*int64(unsafe.Sizeof(*new(T))))))
	}
	ok(b, b.s.Sync())
	return v
}

// matrix makes a random matrix with gaps between rows.
func matrix[T blas.Float](b *bench, rows, cols int) ([]T, int) {
	ld := cols + b.rng.IntN(4)
	v := make([]T, max(1, rows*ld))
	for i := range v {
		v[i] = T(b.rng.Float64()*2 - 1)
	}
	return v, max(1, ld)
}

// near compares what the device made with what it should be.
func near[T blas.Float](b *bench, what string, got, want []T) {
	b.Helper()
	eps := 1e-12
	if unsafe.Sizeof(T(0)) == 4 {
		eps = 2e-4
	}
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= eps*max(1, math.Abs(float64(want[i])))) {
			b.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func transes() []blas.Trans { return []blas.Trans{blas.NoTrans, blas.Transposed} }

func TestGemm(t *testing.T) { eachWay(t, gemmTest[float32], gemmTest[float64]) }

func gemmTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	for _, size := range [][3]int{{1, 1, 1}, {3, 5, 7}, {64, 64, 16}, {65, 70, 33}, {5, 130, 0}} {
		m, n, k := size[0], size[1], size[2]
		for _, ta := range transes() {
			for _, tb := range transes() {
				for _, alpha := range []T{0, 1, -0.5} {
					beta := []T{0, 1, 2}[b.rng.IntN(3)]
					ar, ac, br, bc := m, k, k, n
					if ta == blas.Transposed {
						ar, ac = ac, ar
					}
					if tb == blas.Transposed {
						br, bc = bc, br
					}
					x, ldx := matrix[T](b, ar, ac)
					y, ldy := matrix[T](b, br, bc)
					c, ldc := matrix[T](b, m, n)
					p := put(b, c)
					ok(b, Gemm(b.s, ta, tb, alpha, Matrix{put(b, x), ar, ac, ldx}, Matrix{put(b, y), br, bc, ldy}, beta, Matrix{p, m, n, ldc}))
					ref.Gemm(ta, tb, m, n, k, alpha, x, ldx, y, ldy, beta, c, ldc)
					near(b, fmt.Sprint("gemm ", size, ta, tb, alpha, beta), get[T](b, p, len(c)), c)
				}
			}
		}
	}
	if err := Gemm[T](b.s, blas.NoTrans, blas.NoTrans, 1, Matrix{nil, 2, 3, 3}, Matrix{nil, 4, 2, 2}, 0, Matrix{nil, 2, 2, 2}); err == nil {
		b.Error("2 x 3 times 4 x 2 is no error")
	}
}

func TestSyrk(t *testing.T) { eachWay(t, syrkTest[float32], syrkTest[float64]) }

func syrkTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	for _, size := range [][2]int{{1, 1}, {5, 3}, {70, 20}, {130, 5}, {4, 0}} {
		n, k := size[0], size[1]
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			for _, ta := range transes() {
				ar, ac := n, k
				if ta == blas.Transposed {
					ar, ac = k, n
				}
				x, ldx := matrix[T](b, ar, ac)
				c, ldc := matrix[T](b, n, n)
				p := put(b, c)
				ok(b, Syrk(b.s, uplo, ta, T(2), Matrix{put(b, x), ar, ac, ldx}, -1, Matrix{p, n, n, ldc}))
				ref.Syrk(uplo, ta, n, k, 2, x, ldx, -1, c, ldc)
				near(b, fmt.Sprint("syrk ", size, uplo, ta), get[T](b, p, len(c)), c)
			}
		}
	}
}

func TestTrsm(t *testing.T) { eachWay(t, trsmTest[float32], trsmTest[float64]) }

func trsmTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	for _, size := range [][2]int{{1, 1}, {7, 4}, {20, 33}} {
		for flags := range 16 {
			side, uplo, ta, diag := blas.Side(flags&1), blas.Uplo(flags>>1&1), blas.Trans(flags>>2&1), blas.Diag(flags>>3)
			m, n := size[0], size[1]
			order := m
			if side == blas.Right {
				order = n
			}
			a, lda := matrix[T](b, order, order)
			for i := range order {
				a[i*lda+i] = T(order) // well conditioned
				for j := range i {
					a[i*lda+j] /= T(order)
					a[j*lda+i] /= T(order)
				}
			}
			c, ldc := matrix[T](b, m, n)
			p := put(b, c)
			ok(b, Trsm(b.s, side, uplo, ta, diag, T(-2), Matrix{put(b, a), order, order, lda}, Matrix{p, m, n, ldc}))
			ref.Trsm(side, uplo, ta, diag, m, n, -2, a, lda, c, ldc)
			near(b, fmt.Sprint("trsm ", size, side, uplo, ta, diag), get[T](b, p, len(c)), c)
		}
	}
}

func TestTriangular(t *testing.T) { eachWay(t, triangularTest[float32], triangularTest[float64]) }

// triangularTest tests Trmm and Trsv.
func triangularTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	for _, size := range [][2]int{{0, 3}, {1, 1}, {7, 4}, {20, 33}, {300, 1}} {
		for flags := range 16 {
			side, uplo, ta, diag := blas.Side(flags&1), blas.Uplo(flags>>1&1), blas.Trans(flags>>2&1), blas.Diag(flags>>3)
			m, n := size[0], size[1]
			order := m
			if side == blas.Right {
				order = n
			}
			a, lda := matrix[T](b, order, order)
			for i := range a {
				a[i] /= T(order)
			}
			for i := range order {
				a[i*lda+i] = 2
			}
			pa := Matrix{put(b, a), order, order, lda}
			for _, alpha := range []T{0, -2} {
				c, ldc := matrix[T](b, m, n)
				p := put(b, c)
				ok(b, Trmm(b.s, side, uplo, ta, diag, alpha, pa, Matrix{p, m, n, ldc}))
				ref.Trmm(side, uplo, ta, diag, m, n, alpha, a, lda, c, ldc)
				near(b, fmt.Sprint("trmm ", size, side, uplo, ta, diag, alpha), get[T](b, p, len(c)), c)
			}
			x, _ := matrix[T](b, 1, order)
			p := put(b, x)
			ok(b, Trsv[T](b.s, uplo, ta, diag, pa, p))
			ref.Trsv(uplo, ta, diag, order, a, lda, x[:order])
			near(b, fmt.Sprint("trsv ", order, uplo, ta, diag), get[T](b, p, len(x)), x)
		}
	}
}

func TestSymm(t *testing.T) { eachWay(t, symmTest[float32], symmTest[float64]) }

func symmTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	for _, size := range [][2]int{{0, 3}, {1, 1}, {7, 4}, {65, 33}} {
		for flags := range 4 {
			side, uplo := blas.Side(flags&1), blas.Uplo(flags>>1)
			m, n := size[0], size[1]
			order := m
			if side == blas.Right {
				order = n
			}
			a, lda := matrix[T](b, order, order)
			x, ldx := matrix[T](b, m, n)
			for _, alpha := range []T{0, -2} {
				c, ldc := matrix[T](b, m, n)
				p := put(b, c)
				beta := []T{0, 1, 2}[b.rng.IntN(3)]
				ok(b, Symm(b.s, side, uplo, alpha, Matrix{put(b, a), order, order, lda}, Matrix{put(b, x), m, n, ldx}, beta, Matrix{p, m, n, ldc}))
				ref.Symm(side, uplo, m, n, alpha, a, lda, x, ldx, beta, c, ldc)
				near(b, fmt.Sprint("symm ", size, side, uplo, alpha, beta), get[T](b, p, len(c)), c)
			}
		}
	}
}

func TestLU(t *testing.T) { eachWay(t, luTest[float32], luTest[float64]) }

func luTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	const order = 130
	for _, zero := range []int{1, 64, 70, order} {
		d := make([]T, order*order) // diagonal
		for i := range order {
			d[i*order+i] = 2
		}
		d[(zero-1)*(order+1)] = 0
		got, err := GetrfNoPiv[T](b.s, Matrix{put(b, d), order, order, order})
		ok(b, err)
		if got != zero {
			b.Errorf("getrf: pivot %d, want %d", got, zero)
		}
	}
	for _, size := range [][2]int{{0, 0}, {1, 1}, {5, 9}, {9, 5}, {63, 63}, {64, 64}, {65, 65}, {130, 70}, {70, 131}} {
		m, n := size[0], size[1]
		a, lda := matrix[T](b, m, n)
		for i := range min(m, n) {
			a[i*lda+i] = T(max(m, n))
		}
		bad := []int{-1}
		if m > 0 {
			bad = append(bad, 0, min(m, n)-1)
		}
		for _, at := range bad {
			c, want := slices.Clone(a), 0
			if at >= 0 {
				c[at*lda+at], want = T(math.NaN()), -(at + 1)
			}
			p := Matrix{put(b, c), m, n, lda}
			got, err := GetrfNoPiv[T](b.s, p)
			ok(b, err)
			if got != want {
				b.Fatalf("getrf %v: pivot %d, want %d", size, got, want)
			}
			if want != 0 {
				continue
			}
			blas.GetrfNoPiv(ref, m, n, c, lda)
			near(b, fmt.Sprint("getrf ", size), get[T](b, p.Ptr, len(c)), c)
			if m == n {
				x, ldx := matrix[T](b, n, 3)
				px := put(b, x)
				ok(b, GetrsNoPiv[T](b.s, p, Matrix{px, n, 3, ldx}))
				blas.GetrsNoPiv(ref, n, 3, c, lda, x, ldx)
				near(b, fmt.Sprint("getrs ", size), get[T](b, px, len(x)), x)
			}
		}
	}
}

func TestPotrf(t *testing.T) { eachWay(t, potrfTest[float32], potrfTest[float64]) }

func potrfTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	for _, n := range []int{1, 2, 9, 40} {
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			a, lda := matrix[T](b, n, n)
			for i := range n {
				for j := range i {
					a[i*lda+j] = a[j*lda+i] // symmetric
				}
				a[i*lda+i] = T(n + 1)
			}
			for _, bad := range []int{-1, n / 2} {
				if bad >= 0 {
					a[bad*lda+bad] = -1
				}
				bad, err := Factor[T](b.s, uplo, Matrix{put(b, a), n, n, lda})
				ok(b, err)
				p, info := put(b, a), put(b, []int64{-1})
				ok(b, Potrf[T](b.s, uplo, Matrix{p, n, n, lda}, info))
				got := get[int64](b, info, 1)[0]
				c := slices.Clone(a)
				want := ref.Potrf(uplo, n, c, lda)
				if got != int64(want) || bad != want {
					b.Fatalf("potrf %d %d: info %d, and %d from Factor; want %d", n, uplo, got, bad, want)
				}
				if want == 0 {
					near(b, fmt.Sprint("potrf ", n, uplo), get[T](b, p, len(c)), c)
				}
			}
		}
	}
}

// TestVectors has one way only: no library does these.
func TestVectors(t *testing.T) {
	for name, fn := range map[string]func(b *bench){"f32": vectorTest[float32], "f64": vectorTest[float64]} {
		t.Run(name, func(t *testing.T) {
			d := open(t)[0]
			fn(&bench{t, d, newStream(t, d), rand.New(rand.NewPCG(1, 2))})
		})
	}
}

func vectorTest[T blas.Float](b *bench) {
	ref := blas.For[T](blas.Gonum())
	for _, n := range []int{0, 1, 255, 2100} {
		x, _ := matrix[T](b, 1, n)
		y, _ := matrix[T](b, 1, n)
		x, y = x[:n], y[:n]
		px, py := put(b, x), put(b, y)
		ok(b, Scal(b.s, T(3), Vector(px, n)))
		ref.Scal(3, x)
		ok(b, Axpy(b.s, T(-2), Vector(px, n), Vector(py, n)))
		ref.Axpy(-2, x, y)
		near(b, fmt.Sprint("axpy ", n), get[T](b, py, n), y)
		sum := 0.0
		for _, v := range x {
			sum += float64(v)
		}
		acc := put(b, []T{1, 2, 3})
		ok(b, Dot[T](b.s, n, px, py, acc))
		ok(b, Asum[T](b.s, n, px, unsafe.Add(acc, unsafe.Sizeof(T(0)))))
		ok(b, Sum[T](b.s, Vector(px, n), unsafe.Add(acc, 2*unsafe.Sizeof(T(0)))))
		near(b, fmt.Sprint("reductions of ", n), get[T](b, acc, 3), []T{1 + ref.Dot(x, y), 2 + ref.Asum(x), T(3 + sum)})
	}
	const m, n = 12, 300 // more columns than threads
	for _, ta := range transes() {
		for _, beta := range []T{0, 2} {
			rows, cols := m, n
			if ta == blas.Transposed {
				rows, cols = n, m
			}
			a, lda := matrix[T](b, rows, cols)
			x, _ := matrix[T](b, 1, n)
			y, _ := matrix[T](b, 1, m)
			p := put(b, y[:m])
			ok(b, Gemv(b.s, ta, T(2), Matrix{put(b, a), rows, cols, lda}, put(b, x[:n]), beta, p))
			ref.Gemv(ta, rows, cols, 2, a, lda, x[:n], beta, y[:m])
			near(b, fmt.Sprint("gemv ", ta, beta), get[T](b, p, m), y[:m])
		}
	}
	a, lda := matrix[T](b, 20, 30)
	x, _ := matrix[T](b, 1, 30)
	p := put(b, a)
	ok(b, Ger(b.s, T(2), put(b, x[:20]), put(b, x[:30]), Matrix{p, 20, 30, lda}))
	ref.Ger(20, 30, 2, x[:20], x[:30], a, lda)
	near(b, "ger", get[T](b, p, len(a)), a)
}

// TestElements moves elements of each size, with gaps between rows.
func TestElements(t *testing.T) {
	d := open(t)[0]
	b := &bench{t, d, newStream(t, d), rand.New(rand.NewPCG(3, 4))}
	for _, size := range []int{1, 2, 4, 8} {
		for _, shape := range [][2]int{{1, 1}, {1, 1000}, {33, 65}, {70, 40}} {
			rows, cols := shape[0], shape[1]
			ldx, ldy := cols+3, cols
			x, y := make([]byte, rows*ldx*size), make([]byte, rows*ldy*size)
			for i := range x {
				x[i] = byte(b.rng.Uint32())
			}
			px, py := put(b, x), put(b, y)
			ok(b, b.s.CopyElems(size, Matrix{px, rows, cols, ldx}, Matrix{py, rows, cols, ldy}))
			at := func(v []byte, i, j, ld int) string { return string(v[(i*ld+j)*size:][:size]) }
			got := get[byte](b, py, len(y))
			turned := put(b, y)
			ok(b, b.s.Transpose(size, Matrix{px, rows, cols, ldx}, Matrix{turned, cols, rows, rows}))
			back := get[byte](b, turned, len(y))
			ok(b, b.s.Fill(size, 0x0102030405060708, Matrix{py, rows, cols, ldy}))
			ok(b, b.s.SwapElems(size, Matrix{px, rows, cols, ldx}, Matrix{py, rows, cols, ldy}))
			left, right := get[byte](b, px, len(x)), get[byte](b, py, len(y))
			for i := range rows {
				for j := range cols {
					want := at(x, i, j, ldx)
					if at(got, i, j, ldy) != want || at(back, j, i, rows) != want || at(right, i, j, ldy) != want {
						t.Fatalf("element %d, %d of %v, %d bytes", i, j, shape, size)
					}
					if at(left, i, j, ldx) != string([]byte{8, 7, 6, 5, 4, 3, 2, 1}[:size]) {
						t.Fatalf("element %d, %d of %v, %d bytes is % x after fill", i, j, shape, size, at(left, i, j, ldx))
					}
				}
				if at(left, i, cols, ldx) != at(x, i, cols, ldx) {
					t.Fatalf("the gap after row %d was written", i)
				}
			}
		}
	}
	if err := b.s.Fill(3, 0, Matrix{}); err == nil || !strings.Contains(err.Error(), "3 bytes") {
		t.Errorf("elements of 3 bytes: %v", err)
	}
}

// TestUniform: the bits of std/random.
func TestUniform(t *testing.T) {
	d := open(t)[0]
	b := &bench{t, d, newStream(t, d), nil}
	// Philox4x32-10 of counter 0 and key 0, from the paper's test vectors: words
	// 6627e8d5 e169c58d bc57ac4c 9b00dbd8
	p := put(b, make([]float64, 4))
	ok(b, Uniform[float64](b.s, Vector(p, 2), 0, 0, 1, 0, 0, 1))
	got := get[float64](b, p, 2)
	for i, w := range []uint64{0xe169c58d6627e8d5, 0x9b00dbd8bc57ac4c} {
		if want := float64(w>>11) * 0x1p-53; got[i] != want {
			t.Errorf("number %d is %v, want %v", i, got[i], want)
		}
	}
	// parts of a matrix hold what the whole does
	whole := put(b, make([]float32, 20*30))
	ok(b, Uniform[float32](b.s, Matrix{whole, 20, 30, 30}, 0, 30, 1, -77, -2, 5))
	part := put(b, make([]float32, 7*9))
	ok(b, Uniform[float32](b.s, Matrix{part, 7, 8, 9}, 5*30+11, 30, 1, -77, -2, 5))
	all, some := get[float32](b, whole, 600), get[float32](b, part, 63)
	for i := range 7 {
		for j := range 8 {
			if v := some[i*9+j]; v != all[(5+i)*30+11+j] || v < -2 || v >= 5 {
				t.Fatalf("element %d, %d of the part is %v, and of the whole %v", i, j, v, all[(5+i)*30+11+j])
			}
		}
		if some[i*9+8] != 0 {
			t.Fatal("a gap was written")
		}
	}
	// never hi, however it rounds
	ok(b, Uniform[float32](b.s, Vector(whole, 600), 0, 0, 1, 3, 1, 1+0x1p-22))
	for _, v := range get[float32](b, whole, 600) {
		if v < 1 || v >= 1+0x1p-22 {
			t.Fatalf("%v", v)
		}
	}
}
