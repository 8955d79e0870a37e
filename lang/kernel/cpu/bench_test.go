package cpu

// Bodies compared with the same loops written by hand in Go.
//
//	go test -bench . ./lang/kernel/cpu
//
// Each benchmark has a "body" and a "go" case over the same data; their ratio is
// the cost of a codelet.

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

func benchBody(b *testing.B, bytes int, src string, list []*iface.Buffer, args []iface.Scalar, byHand func()) {
	b.Helper()
	p := compileOne(b, src, map[byte]iface.Elem{'T': iface.F64})
	b.Run("body", func(b *testing.B) {
		b.SetBytes(int64(bytes))
		b.ReportAllocs()
		ctx := context.Background()
		for b.Loop() {
			if err := p.Run(ctx, list, args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go", func(b *testing.B) {
		b.SetBytes(int64(bytes))
		for b.Loop() {
			byHand()
		}
	})
}

// forSizes runs f for data that fits a cache and for data that does not.
func forSizes(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range []int{1 << 12, 1 << 21} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { f(b, n) })
	}
}

func ramp(n int) []float64 {
	x := make([]float64, n)
	for k := range x {
		x[k] = float64(k%100)/100 + 0.5
	}
	return x
}

func BenchmarkScale(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		v, a := ramp(n), 1.0000001
		benchBody(b, 16*n, "codelet scal(v: RW vector[T], factor: T) { each i in v { v[i] *= factor } }",
			kerneltest.Buffers(kerneltest.VectorOf(v)), []iface.Scalar{iface.Float(a)}, func() {
				for k := range v {
					v[k] *= a
				}
			})
	})
}

func BenchmarkAxpy(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		x, y, a := ramp(n), ramp(n), 1e-9
		benchBody(b, 24*n, "codelet axpy(a: f64, x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] += a * x[i] } }",
			kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)), []iface.Scalar{iface.Float(a)}, func() {
				y := y[:len(x)]
				for k := range x {
					y[k] += a * x[k]
				}
			})
	})
}

func BenchmarkCopy(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		x, y := ramp(n), ramp(n)
		benchBody(b, 16*n, "codelet copy(x: R vector[f64], y: W vector[f64]) { each i in y { y[i] = x[i] } }",
			kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)), nil, func() { copy(y, x) })
	})
}

func BenchmarkFill(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		y := ramp(n)
		benchBody(b, 8*n, "codelet fill(y: W vector[f64], v: f64) { each i in y { y[i] = v } }",
			kerneltest.Buffers(kerneltest.VectorOf(y)), []iface.Scalar{iface.Float(2)}, func() {
				for k := range y {
					y[k] = 2
				}
			})
	})
}

func BenchmarkDot(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		x, y, acc := ramp(n), ramp(n), 0.0
		benchBody(b, 16*n, "codelet dot(x: R vector[f64], y: R vector[f64], acc: RW variable[f64]) { acc += sum i in x { x[i] * y[i] } }",
			kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y), kerneltest.VariableOf(&acc)), nil, func() {
				s, y := 0.0, y[:len(x)]
				for k := range x {
					s += x[k] * y[k]
				}
				acc += s
			})
	})
}

func BenchmarkStencil(b *testing.B) {
	const rows, cols = 512, 1024
	u, v := ramp((rows+2)*cols), ramp(rows*cols)
	benchBody(b, 16*rows*cols, `codelet sweep(u: R matrix[f64], v: RW matrix[f64]) {
    each i, j in 0..v.rows, 1..v.cols - 1 {
        v[i, j] = 0.25 * (u[i, j] + u[i + 2, j] + u[i + 1, j - 1] + u[i + 1, j + 1])
    }
}`, kerneltest.Buffers(kerneltest.MatrixOf(u, rows+2, cols, cols), kerneltest.MatrixOf(v, rows, cols, cols)), nil, func() {
		for i := range rows {
			d, up, mid, down := v[i*cols:][:cols], u[i*cols:][:cols], u[(i+1)*cols:][:cols], u[(i+2)*cols:][:cols]
			for j := 1; j < cols-1; j++ {
				d[j] = 0.25 * (up[j] + down[j] + mid[j-1] + mid[j+1])
			}
		}
	})
}

func BenchmarkGemm(b *testing.B) {
	const n = 192
	x, y, c := ramp(n*n), ramp(n*n), ramp(n*n)
	benchBody(b, 2*n*n*n, "codelet gemm(A: R matrix[f64], B: R matrix[f64], C: RW matrix[f64]) { each i, j in C { C[i, j] += sum k in 0..A.cols { A[i, k] * B[k, j] } } }",
		kerneltest.Buffers(kerneltest.MatrixOf(x, n, n, n), kerneltest.MatrixOf(y, n, n, n), kerneltest.MatrixOf(c, n, n, n)), nil, func() {
			for i := range n {
				d := c[i*n:][:n]
				for k := range n {
					a, row := x[i*n+k], y[k*n:][:n]
					for j := range d {
						d[j] += a * row[j]
					}
				}
			}
		})
}

// BenchmarkLoops is a matrix product of three loops, the innermost a sum in order or a row.
func BenchmarkLoops(b *testing.B) {
	const n = 192
	x, y, c := ramp(n*n), ramp(n*n), ramp(n*n)
	const head = "codelet gemm(A: R matrix[f64], B: R matrix[f64], C: RW matrix[f64]) { "
	for name, body := range map[string]string{
		"ijk": "for i in 0..C.rows { for j in 0..C.cols { let s = 0.0\n for k in 0..A.cols { s += A[i, k] * B[k, j] }\n C[i, j] += s } } }",
		"ikj": "for i in 0..C.rows { for k in 0..A.cols { for j in 0..C.cols { C[i, j] += A[i, k] * B[k, j] } } } }",
	} {
		b.Run(name, func(b *testing.B) {
			benchBody(b, 2*n*n*n, head+body,
				kerneltest.Buffers(kerneltest.MatrixOf(x, n, n, n), kerneltest.MatrixOf(y, n, n, n), kerneltest.MatrixOf(c, n, n, n)), nil, func() {
					for i := range n {
						for j := range n {
							s := 0.0
							for k := range n {
								s += x[i*n+k] * y[k*n+j]
							}
							c[i*n+j] += s
						}
					}
				})
		})
	}
}

// BenchmarkSweep is a Gauss-Seidel sweep: each element depends on earlier ones, so rounds
// run one at a time.
func BenchmarkSweep(b *testing.B) {
	const n = 256
	x := ramp(n * n)
	benchBody(b, 8*n*n, "codelet sweep(A: RW matrix[f64]) { for i in 1..A.rows - 1 { for j in 1..A.cols - 1 { A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) } } }",
		kerneltest.Buffers(kerneltest.MatrixOf(x, n, n, n)), nil, func() {
			for i := 1; i < n-1; i++ {
				for j := 1; j < n-1; j++ {
					x[i*n+j] = 0.25 * (x[(i-1)*n+j] + x[(i+1)*n+j] + x[i*n+j-1] + x[i*n+j+1])
				}
			}
		})
}

// BenchmarkOrdered is the sum of a `for`, in order.
func BenchmarkOrdered(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		x, y, v := ramp(n), ramp(n), 0.0
		benchBody(b, 16*n, "codelet dot(x: R vector[f64], y: R vector[f64], v: RW variable[f64]) { for i in 0..x.n { v += x[i] * y[i] } }",
			kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y), kerneltest.VariableOf(&v)), nil, func() {
				for k := range x {
					v += x[k] * y[k]
				}
			})
	})
}

func BenchmarkGemv(b *testing.B) {
	const n = 1024
	a, x, y := ramp(n*n), ramp(n), ramp(n)
	benchBody(b, 8*n*n, "codelet gemv(A: R matrix[f64], x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] += sum j in x { A[i, j] * x[j] } } }",
		kerneltest.Buffers(kerneltest.MatrixOf(a, n, n, n), kerneltest.VectorOf(x), kerneltest.VectorOf(y)), nil, func() {
			for i := range n {
				s, row := 0.0, a[i*n:][:n]
				for j, v := range x {
					s += row[j] * v
				}
				y[i] += s
			}
		})
}

// BenchmarkCallPrice prices options: many operations for each element.
func BenchmarkCallPrice(b *testing.B) {
	const n = 4096
	s, k, t, price := ramp(n), ramp(n), ramp(n), ramp(n)
	benchBody(b, 32*n, callPrice, kerneltest.Buffers(kerneltest.VectorOf(s), kerneltest.VectorOf(k), kerneltest.VectorOf(t), kerneltest.VectorOf(price)),
		[]iface.Scalar{iface.Float(0.02), iface.Float(0.3)}, func() {
			for i := range price {
				price[i] = priceOf(s[i], k[i], t[i], 0.02, 0.3)
			}
		})
}

const callPrice = `codelet call_price(s: R vector[f64], k: R vector[f64], t: R vector[f64],
                   price: W vector[f64], rate: f64, vol: f64) {
    each i in price {
        let v = vol * sqrt(t[i])
        let d1 = (log(s[i] / k[i]) + (rate + 0.5 * vol * vol) * t[i]) / v
        let d2 = d1 - v
        let n1 = 0.5 * (1.0 + erf(d1 / sqrt(2.0)))
        let n2 = 0.5 * (1.0 + erf(d2 / sqrt(2.0)))
        price[i] = if t[i] <= 0.0 then max(s[i] - k[i], 0.0)
                   else s[i] * n1 - k[i] * exp(-rate * t[i]) * n2
    }
}`

func priceOf(s, k, t, rate, vol float64) float64 {
	v := vol * math.Sqrt(t)
	d1 := (math.Log(s/k) + (rate+0.5*vol*vol)*t) / v
	d2 := d1 - v
	n1 := 0.5 * (1.0 + math.Erf(d1/math.Sqrt(2.0)))
	n2 := 0.5 * (1.0 + math.Erf(d2/math.Sqrt(2.0)))
	if t <= 0 {
		return max(s-k, 0)
	}
	return s*n1 - k*math.Exp(-rate*t)*n2
}

// BenchmarkElementary has one function for each element, beside that of package math.
func BenchmarkElementary(b *testing.B) {
	const n = 4096
	x, y := ramp(n), ramp(n)
	x32, y32 := make([]float32, n), make([]float32, n)
	for k, v := range x {
		x[k] = 4 * v
		x32[k] = float32(x[k])
	}
	for _, f := range []struct {
		name, expr string
		std        func(x float64) float64
	}{
		{"exp", "exp(x[i])", math.Exp}, {"log", "log(x[i])", math.Log}, {"log2", "log2(x[i])", math.Log2}, {"sin", "sin(x[i])", math.Sin},
		{"cos", "cos(x[i])", math.Cos}, {"tan", "tan(x[i])", math.Tan}, {"tanh", "tanh(x[i])", math.Tanh}, {"erf", "erf(x[i])", math.Erf},
		{"cbrt", "cbrt(x[i])", math.Cbrt}, {"pow", "x[i] ** 1.7", func(x float64) float64 { return math.Pow(x, 1.7) }},
	} {
		b.Run(f.name+"/f64", func(b *testing.B) {
			benchBody(b, 8*n, "codelet f(x: R vector[f64], y: W vector[f64]) { each i in y { y[i] = "+f.expr+" } }",
				kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)), nil, func() {
					for k, v := range x {
						y[k] = f.std(v)
					}
				})
		})
		b.Run(f.name+"/f32", func(b *testing.B) {
			benchBody(b, 4*n, "codelet f(x: R vector[f32], y: W vector[f32]) { each i in y { y[i] = "+f.expr+" } }",
				kerneltest.Buffers(kerneltest.VectorOf(x32), kerneltest.VectorOf(y32)), nil, func() {
					for k, v := range x32 {
						y32[k] = float32(f.std(float64(v)))
					}
				})
		})
	}
}

// BenchmarkPolynomial has arithmetic only: eight operations for each element.
func BenchmarkPolynomial(b *testing.B) {
	const n = 4096
	x, y := ramp(n), ramp(n)
	benchBody(b, 16*n, "codelet p(x: R vector[f64], y: W vector[f64]) { each i in y { y[i] = (((x[i] * 0.5 + 1.0) * x[i] - 3.0) * x[i] + 2.0) * x[i] - 1.0 } }",
		kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)), nil, func() {
			for k, v := range x {
				y[k] = (((v*0.5+1)*v-3)*v+2)*v - 1
			}
		})
}

// BenchmarkScan runs one round at a time, without strips.
func BenchmarkScan(b *testing.B) {
	const n = 4096
	x := ramp(n)
	benchBody(b, 16*n, "codelet scan(x: RW vector[f64]) { for i in 1..x.n { x[i] = 0.5 * x[i] + 0.5 * x[i - 1] } }",
		kerneltest.Buffers(kerneltest.VectorOf(x)), nil, func() {
			for k := 1; k < len(x); k++ {
				x[k] = 0.5*x[k] + 0.5*x[k-1]
			}
		})
}

// BenchmarkSmall is the cost of a call.
func BenchmarkSmall(b *testing.B) {
	v, a := ramp(4), 1.0000001
	benchBody(b, 64, "codelet scal(v: RW vector[T], factor: T) { each i in v { v[i] *= factor } }",
		kerneltest.Buffers(kerneltest.VectorOf(v)), []iface.Scalar{iface.Float(a)}, func() {
			for k := range v {
				v[k] *= a
			}
		})
}
