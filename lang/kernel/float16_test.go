package kernel

import (
	"context"
	"math"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// TestFloat16 runs bodies on every value of f16 and of bf16, in strips, as machine code and one round at a
// time: what they load, and what they store of a float half way between two values and beside that.
func TestFloat16(t *testing.T) {
	const n = 1 << 16
	bits, halves := make([]uint16, n), make([]float32, 3*n)
	for i := range bits {
		bits[i] = uint16(i)
	}
	for _, typ := range []struct {
		elem iface.Elem
		from func(uint16) float32
		to   func(float32) uint16
	}{{iface.F16, iface.F16FromBits, iface.F16Bits}, {iface.BF16, iface.BF16FromBits, iface.BF16Bits}} {
		for i := range bits {
			v := typ.from(bits[i])
			h := v + (typ.from(bits[i]+1)-v)/2
			copy(halves[3*i:], []float32{h, math.Nextafter32(h, 0), math.Nextafter32(h, float32(math.Inf(1)))})
		}
		f, cs := kerneltest.Codelets(t, "t.spu", `codelet together(a: T, x: R vector[T], w: W vector[f32], h: R vector[f32], z: W vector[T]) {
    each i in x { w[i] = x[i] * 1.0 }
    each i in h { z[i] = h[i] }
    z[0] += a
}
codelet ordered(a: T, x: R vector[T], w: W vector[f32], h: R vector[f32], z: W vector[T]) {
    let t = array[T](2, fill = 0.1)
    for i in 0..x.n {
        t[i % 2] = x[i]
        w[i] = t[i % 2]
    }
    for i in 0..h.n { z[i] = h[i] }
    z[0] += a
}`)
		targs := map[byte]iface.Elem{'T': typ.elem}
		for _, mode := range []Mode{Strips, Native} {
			if _, err := llvm.Open(); mode == Native && err != nil {
				continue
			}
			for k, c := range cs {
				values, stored := make([]float32, n), make([]uint16, 3*n)
				x, z := kerneltest.VectorOf(bits), kerneltest.VectorOf(stored)
				x.Elem, z.Elem = typ.elem, typ.elem
				p, err := Compile(f, c, kerneltest.Signature(c), targs, Options{Mode: mode})
				if err == nil {
					_, err = p.RunTask(&kerneltest.Task{Ctx: context.Background(), Scalars: []iface.Scalar{iface.Float(0.1)},
						Bufs: []*iface.Buffer{x, kerneltest.VectorOf(values), kerneltest.VectorOf(halves), z}}, nil)
				}
				if err != nil {
					t.Fatalf("%v in %v, codelet %d: %v", typ.elem, mode, k, err)
				}
				for i, got := range values {
					if want := typ.from(bits[i]); math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
						t.Fatalf("%v in %v, codelet %d: %#04x is loaded as %v, want %v", typ.elem, mode, k, i, got, want)
					}
				}
				for i, got := range stored {
					want := typ.to(halves[i])
					if i == 0 {
						want = typ.to(typ.from(want) + float32(typ.elem.Round(0.1)))
					}
					if v, w := typ.from(got), typ.from(want); got != want && (v == v || w == w) {
						t.Fatalf("%v in %v, codelet %d: %v is stored as %#04x, want %#04x", typ.elem, mode, k, halves[i], got, want)
					}
				}
			}
		}
	}
}
