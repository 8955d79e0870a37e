package kernel

import (
	"bytes"
	"context"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// TestBool runs bodies on bools of any byte, in strips and as machine code, together and one round at a time: a byte
// other than 0 is true, and 0 or 1 is stored.
func TestBool(t *testing.T) {
	const n = 1000
	f, cs := kerneltest.Codelets(t, "t.spu", `codelet together(a: bool, x: R vector[bool], v: R vector[f64], y: RW vector[bool], w: W vector[i32], z: W vector[T]) {
    each i in x {
        y[i] = x[i] and not y[i] or v[i] > 0.5 and a
        w[i] = if x[i] == y[i] then 1 else -1
        z[i] = x[i]
    }
}
codelet ordered(a: bool, x: R vector[bool], v: R vector[f64], y: RW vector[bool], w: W vector[i32], z: W vector[T]) {
    let t = array[T](2, fill = false)
    for i in 0..x.n {
        t[i % 2] = x[i]
        let held = t[i % 2] and not y[i]
        y[i] = held or v[i] > 0.5 and a
        w[i] = if t[i % 2] != y[i] then -1 else 1
        z[i] = t[i % 2]
    }
}
codelet gather(a: bool, x: R vector[bool], v: R vector[f64], y: RW vector[bool], w: W vector[i32], z: W vector[T]) {
    each i in x {
        let at = (i * 7) % x.n
        if x[at] { z[at] = true } else { z[at] = false }
    }
    for i in 0..x.n { y[i] = x[i] and not y[i] or v[i] > 0.5 and a }
    each i in x { w[i] = if x[i] and y[i] or not x[i] and not y[i] then 1 else -1 }
}`)
	targs := map[byte]iface.Elem{'T': iface.B8}
	for _, mode := range []Mode{Strips, Native} {
		if _, err := llvm.Open(); mode == Native && err != nil {
			continue
		}
		for k, c := range cs {
			for _, a := range []bool{false, true} {
				x, y, z := make([]byte, n), make([]byte, n), bytes.Repeat([]byte{9}, n)
				v, w := make([]float64, n), make([]int32, n)
				for i := range x {
					x[i], y[i], v[i] = byte(i%3*i), byte(i%5/2*3), float64(i%7)/6
				}
				wantY, wantW, wantZ := make([]byte, n), make([]int32, n), make([]byte, n)
				for i := range x {
					if x[i] != 0 {
						wantZ[i] = 1
					}
					if wantW[i] = -1; x[i] != 0 && y[i] == 0 || v[i] > 0.5 && a {
						wantY[i] = 1
					}
					if wantY[i] == wantZ[i] {
						wantW[i] = 1
					}
				}
				bufs := []*iface.Buffer{kerneltest.VectorOf(x), kerneltest.VectorOf(v), kerneltest.VectorOf(y), kerneltest.VectorOf(w), kerneltest.VectorOf(z)}
				for _, k := range []int{0, 2, 4} {
					bufs[k].Elem = iface.B8
				}
				p, err := Compile(f, c, kerneltest.Signature(c), targs, Options{Mode: mode})
				if err == nil {
					_, err = p.RunTask(&kerneltest.Task{Ctx: context.Background(), Scalars: []iface.Scalar{iface.Bool(a)}, Bufs: bufs}, nil)
				}
				if err != nil {
					t.Fatalf("%v, codelet %d: %v", mode, k, err)
				}
				for i := range x {
					if y[i] != wantY[i] || w[i] != wantW[i] || z[i] != wantZ[i] {
						t.Fatalf("%v, codelet %d, a %v, x %d: element %d is %d, %d and %d, want %d, %d and %d", mode, k, a, x[i], i, y[i], w[i], z[i], wantY[i], wantW[i], wantZ[i])
					}
				}
			}
		}
	}
}
