package cl

// std/random.

import (
	"math"

	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
)

// generate launches a kernel that makes an element from its place in the root.
func generate(s *opencl.Stream, name string, x *iface.Buffer, seed int64, args ...any) error {
	if x.Len() == 0 {
		return nil
	}
	var defines []string
	if x.Elem == iface.F32 {
		defines = []string{"SINGLE"}
	}
	f, err := find(s, name, randomText, name, x.Elem, defines...)
	if err != nil {
		return err
	}
	base, step := x.Number()
	n, ld, down, right := sheet{1, x.Dim[0]}, int64(x.Dim[0]), 0, step[0]
	if x.Rank == 2 {
		n, ld, down, right = sheet{x.Dim[0], x.Dim[1]}, matrixStep(x), step[0], step[1]
	}
	return n.cover(s, f, append([]any{buf(x), ld, int64(base), int64(down), int64(right), uint64(seed)}, args...)...)
}

// uniform(x, seed, lo, hi)
func uniform(s *opencl.Stream, k Operands) error {
	x, lo, hi := k.Buffer(0), k.Arg(1).Float(), k.Arg(2).Float()
	below := any(math.Nextafter(hi, lo))
	if x.Elem == iface.F32 {
		below = math.Nextafter32(float32(hi), float32(lo))
	}
	return generate(s, "uniform", x, k.Arg(0).Int(), lo, hi, below)
}

// normal(x, seed, mean, sd)
func normal(s *opencl.Stream, k Operands) error {
	return generate(s, "normal", k.Buffer(0), k.Arg(0).Int(), k.Arg(1).Float(), k.Arg(2).Float())
}
