//go:build cuda

package cuda

import (
	"context"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// BenchmarkBodies times bodies on a device, with their operands in its memory. testdata/peers.cu
// times the same loops in CUDA C.
func BenchmarkBodies(b *testing.B) {
	s := openStream(b)
	const n, m, q, p, options = 1 << 25, 4096, 2048, 16384, 4 << 20
	x, k := make([]float64, n), make([]int64, n)
	for i := range x {
		x[i], k[i] = 1+float64(i*7%1009)/1009, int64(i*40503%n)
	}
	vector := func(n int) *iface.Buffer { return kerneltest.VectorOf(x[:n]) }
	matrix := func(n int) *iface.Buffer { return kerneltest.MatrixOf(x[:n*n], n, n, n) }
	v := 0.0
	rows := []struct {
		name, source string
		list         []*iface.Buffer
		args         []iface.Scalar
	}{
		{"triad", "codelet c(x: R vector[f64], y: R vector[f64], z: W vector[f64]) { each i in z { z[i] = x[i] * 2.5 + y[i] } }",
			[]*iface.Buffer{vector(n), vector(n), vector(n)}, nil},
		{"gather", "codelet c(x: R vector[f64], k: R vector[i64], z: W vector[f64]) { each i in z { z[i] = x[k[i]] } }",
			[]*iface.Buffer{vector(n), kerneltest.VectorOf(k), vector(n)}, nil},
		{"stencil", "codelet c(u: R matrix[f64], v: RW matrix[f64]) { each i, j in 1..v.rows - 1, 1..v.cols - 1 { v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]) } }",
			[]*iface.Buffer{matrix(m), matrix(m)}, nil},
		{"sum", "codelet c(x: R vector[f64], v: W variable[f64]) { v = sum i in x { x[i] * x[i] } }",
			[]*iface.Buffer{vector(n), kerneltest.VariableOf(&v)}, nil},
		{"matmul", "codelet c(A: R matrix[f64], B: R matrix[f64], C: RW matrix[f64]) { each i, j in C { let s = 0.0\n for k in 0..A.cols { s += A[i, k] * B[k, j] }\n C[i, j] += s } }",
			[]*iface.Buffer{matrix(q), matrix(q), matrix(q)}, nil},
		{"nbody", "codelet c(x: R vector[f64], y: R vector[f64], z: R vector[f64], ax: W vector[f64]) { each i in ax { let a = 0.0\n for j in 0..x.n { let dx = x[j] - x[i]\n let dy = y[j] - y[i]\n let dz = z[j] - z[i]\n let r2 = dx*dx + dy*dy + dz*dz + 0.01\n a += dx / (r2 * sqrt(r2)) }\n ax[i] = a } }",
			[]*iface.Buffer{vector(p), vector(p), vector(p), vector(p)}, nil},
		{"price", "codelet c(s: R vector[f64], k: R vector[f64], t: R vector[f64], c: W vector[f64], r: f64, v: f64) { each i in c { let w = v * sqrt(t[i])\n let d1 = (log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / w\n let d2 = d1 - w\n c[i] = s[i] * 0.5 * (1.0 + erf(d1 * 0.7071067811865476)) - k[i] * exp(-r * t[i]) * 0.5 * (1.0 + erf(d2 * 0.7071067811865476)) } }",
			[]*iface.Buffer{vector(options), vector(options), vector(options), vector(options)}, []iface.Scalar{iface.Float(0.02), iface.Float(0.3)}},
		{"mandel", "codelet c(img: W matrix[i32], maxit: int) { each i, j in img { let cr = -2.0 + 3.0 * float(j) / float(img.cols)\n let ci = -1.5 + 3.0 * float(i) / float(img.rows)\n let zr = 0.0\n let zi = 0.0\n let k = 0\n for t in 0..maxit { if zr*zr + zi*zi <= 4.0 { let nr = zr*zr - zi*zi + cr\n zi = 2.0*zr*zi + ci\n zr = nr\n k = k + 1 } }\n img[i, j] = k } }",
			[]*iface.Buffer{kerneltest.MatrixOf(make([]int32, m*m), m, m, m)}, []iface.Scalar{iface.Int(200)}},
	}
	for _, r := range rows {
		b.Run(r.name, func(b *testing.B) {
			k, err := New(kerneltest.Lowered(b, r.source, nil), llvm.NewCache(""))
			if err != nil {
				b.Fatal(err)
			}
			err = kerneltest.OnDevice(s, s.Device().Memory(), r.list, func(list []*iface.Buffer) error {
				task := &kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: r.args}
				if err := k.Run(s, task); err != nil { // it is compiled
					return err
				}
				if err := s.Sync(); err != nil {
					return err
				}
				b.ResetTimer()
				for range b.N {
					if err := k.Run(s, task); err != nil {
						return err
					}
				}
				err := s.Sync()
				b.StopTimer()
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
