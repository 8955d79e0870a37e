//go:build linux && amd64

package llvm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// sparse is data for bodies over the rows of a sparse matrix.
type sparse struct {
	ptr, col []int32
	a, x, y  []float64
	u        []uint8
}

// newSparse returns a matrix of some rows with up to longest entries each.
func newSparse(r *rand.Rand, rows, longest int) *sparse {
	d := &sparse{ptr: []int32{0}}
	for range rows {
		d.ptr = append(d.ptr, d.ptr[len(d.ptr)-1]+int32(r.IntN(longest+1)))
	}
	n := int(d.ptr[rows])
	d.col, d.a, d.u = make([]int32, n), make([]float64, n), make([]uint8, max(rows, 1))
	d.x, d.y = make([]float64, max(rows, 1)), make([]float64, max(rows, 1))
	for k := range n {
		d.col[k], d.a[k] = int32(r.IntN(len(d.x))), r.Float64()
	}
	for i := range d.x {
		d.x[i], d.y[i] = r.Float64(), float64(i)
	}
	return d
}

// spoil changes the matrix so that some bodies fail.
func (d *sparse) spoil(r *rand.Rand) {
	wrong := []int32{-1, int32(len(d.x)), math.MinInt32, math.MaxInt32}
	for range 1 + r.IntN(3) {
		switch i := r.IntN(len(d.ptr)); r.IntN(5) {
		case 0:
			d.ptr[i] = wrong[r.IntN(4)]
		case 1:
			d.ptr[i] = int32(len(d.col)) + int32(r.IntN(3))
		case 2:
			d.ptr[i] += int32(r.IntN(9) - 4)
		default:
			if len(d.col) > 0 {
				d.col[r.IntN(len(d.col))] = wrong[r.IntN(4)]
			}
		}
	}
}

// run runs a body on a copy of the data, in memory with guard pages, and returns the values or the fault.
func (d *sparse) run(t *testing.T, way func(task *kerneltest.Task) error) (values []uint64, fault string) {
	t.Helper()
	list := kerneltest.Buffers(kerneltest.VectorOf(append([]int32(nil), d.ptr...)), kerneltest.VectorOf(append([]int32(nil), d.col...)), kerneltest.VectorOf(d.a),
		kerneltest.VectorOf(d.x), kerneltest.VectorOf(append([]float64(nil), d.y...)), kerneltest.VectorOf(append([]uint8(nil), d.u...)))
	for _, b := range list {
		guarded(t, b, true)
	}
	err := way(&kerneltest.Task{Ctx: context.Background(), Bufs: list})
	if err != nil {
		fault = err.Error()
		var f *cpu.Fault
		if errors.As(err, &f) {
			fault += " " + kerneltest.At(f.Span) + " " + f.Index
		}
		return nil, fault
	}
	for _, b := range list {
		for k := range b.Dim[0] {
			values = append(values, bitsAt(b, k))
		}
	}
	return values, ""
}

// bitsAt returns element k of a vector.
func bitsAt(b *iface.Buffer, k int) uint64 {
	switch b.Elem {
	case iface.F64:
		return math.Float64bits(iface.Slice[float64](b)[k])
	case iface.I32:
		return uint64(iface.Slice[int32](b)[k])
	}
	return uint64(iface.Slice[uint8](b)[k])
}

// TestChecksOfSeveralRounds runs loops whose indices or ranges data choose, right ones and wrong ones, and compares the values
// or the first fault with those of strips.
func TestChecksOfSeveralRounds(t *testing.T) {
	bodies := []string{
		// ranges of inner loops
		"each i in y { let s = 0.0\n for k in ptr[i]..ptr[i + 1] { s += a[k] * x[col[k]] }\n y[i] = s }",
		"for i in 0..y.n { let s = y[i]\n for k in ptr[i]..ptr[i + 1] { s += a[k] * x[col[k]] }\n y[i] = s }",
		"each i in y { let s = 0.0\n let first = ptr[i]\n let last = ptr[i + 1]\n for k in first..last { s += a[k] * x[col[k]] }\n y[i] = s * float(last - first) }",
		"for i in 0..y.n { for k in ptr[i]..ptr[i + 1] { y[col[k]] += a[k] * x[i] } }",
		"for i in 0..y.n { for k in ptr[i]..ptr[i + 1] { y[i] += a[k]\n u[col[k]] = i % 200 } }",
		"each i in y { let s = 0.0\n for k in ptr[i]..ptr[i + 1] { s += a[k] }\n for k in ptr[i]..ptr[i + 1] { s -= x[col[k]] }\n y[i] = s }",
		"each i in y { let s = 0.0\n for k in ptr[i]..ptr[i + 1] { if a[k] > 0.5 { s += x[col[k]] } }\n y[i] = s }",
		"each i in y { let s = 0.0\n for k in ptr[i]..=ptr[i + 1] - 1 { s += a[k] * x[col[k]] }\n y[i] = s }",
		"each i in y { let s = 0.0\n for k in ptr[y.n - 1 - i]..ptr[y.n - i] { s += a[k] }\n y[i] = s }",
		"each i in y { let s = 0.0\n for k in i..ptr[i + 1] { s += a[k] }\n y[i] = s }",
		"for i in 1..y.n { for k in ptr[i]..ptr[i + 1] { ptr[i - 1] += 1\n y[i] += a[k] } }", // the ranges change
		"for i in 0..y.n { for k in ptr[i]..ptr[i + 1] { col[k] = (col[k] + i) % 290\n y[i] += x[col[k]] } }",
		"for i in 2..y.n { let s = 0.0\n for k in ptr[i - 2]..ptr[i] { s += a[k] * y[col[k] // 2] }\n y[i] = s * 0.25 }",
		"let last = 0\n for i in 0..y.n { for k in last..ptr[i + 1] { y[i] += a[k] }\n last = ptr[i + 1] }", // each begins where the last ended
		"for i in 0..y.n { if u[i] == 0 { for k in ptr[i]..ptr[i + 1] { y[i] += a[k] } } }",
		"for j in 0..2 { each i in y { for k in ptr[i]..ptr[i + 1] { y[i] += a[k] * x[col[k]] } } }",
		// indices in rounds
		"for k in 0..col.n { y[col[k]] = a[k] }",
		"for k in 0..col.n { u[col[k]] = k % 100 }",
		"for k in 3..col.n { y[col[k]] += 1.0 }",
		"for k in -3..col.n - 5 { y[col[k + 3]] = x[col[k + 5]] }",
		"for k in 0..col.n - 2 { y[col[k]] = x[col[k + 2]] }",
		"for k in 0..min(y.n, col.n - 2) { y[k] = x[col[k]] + x[col[k + 2]] }",
		"for k in 0..min(y.n, col.n - 2) { y[k] = x[col[k + 2]]\n u[k] = col[col[k]] % 7 }",
		"for k in 0..min(y.n, col.n - 2) { y[k] = float(9 // (col[k + 2] - 1)) * x[col[k]] }",
		"for k in 0..col.n - 2 { y[col[k]] += x[col[k + 2]] }",
		"for k in 0..col.n - 2 { y[col[k + 2]] += x[col[k]] }",
		"for k in 0..col.n - 2 { y[col[k + 2]] = y[col[k]] }",

		"for k in 0..col.n { let j = col[k]\n y[j] = y[j] * 0.5 + a[k] }",
		"for k in 0..col.n { let j = col[k]\n let l = j // 3\n y[l + 1] = y[j] + a[k] }",
		"for k in 0..col.n { y[col[k]] += x[ptr[col[k]] % x.n] }",
		"for k in 0..col.n { y[x.n // (col[k] - 2) % x.n] += 1.0 }",
		"for k in 0..col.n { y[x.n - 1 - col[col.n - 1 - k]] += a[k] }",
		"for k in 0..col.n { if a[k] < 0.5 { y[col[k]] += a[k] } }",
		"for k in 0..col.n { y[if a[k] < 0.5 then col[k] else 0] += a[k] }",
		"for k in 0..col.n { col[k] = (col[k] + 1) % 8\n y[col[k]] += 1.0 }",
		"let at = 0\n for k in 0..col.n { y[at] += a[k]\n at = col[k] }",
		"for k in 0..col.n { y[2 * (k % 3)] += x[col[k]] }",
	}
	for i, body := range bodies {
		source := fmt.Sprintf("codelet c(ptr: RW vector[i32], col: RW vector[i32], a: R vector[f64], x: R vector[f64], y: RW vector[f64], u: RW vector[u8]) {\n %s\n}\n", body)
		t.Run(fmt.Sprint(i), func(t *testing.T) { checkRounds(t, source) })
	}
}

// checkRounds compares a body with strips.
func checkRounds(t *testing.T, source string) {
	k, p := compiled(t, source)
	faults := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := []int{0, 1, 7, 63, 64, 65, 127, 128, 129, 200, 300}[r.IntN(11)]
		d := newSparse(r, rows, []int{1, 3, 4, 9, 9, 9, 20, 600}[r.IntN(8)])
		if seed%3 > 0 {
			d.spoil(r)
		}
		want, fault := d.run(t, func(task *kerneltest.Task) error { return p.RunTask(task, nil) })
		got, gotFault := d.run(t, func(task *kerneltest.Task) error { return k.Run(task) })
		if fault != "" {
			faults++
		}
		if fault != gotFault {
			t.Fatalf("%sseed %d, %d rows: %q, and in strips %q", source, seed, rows, gotFault, fault)
		}
		for i, v := range want {
			if got[i] != v {
				t.Fatalf("%sseed %d, %d rows: value %d is %x, and in strips %x", source, seed, rows, i, got[i], v)
			}
		}
	}
	if faults < 4 || faults > 56 {
		t.Errorf("%s%d of 60 runs failed", source, faults)
	}
}

// TestRangesOfData runs loops whose ranges end before they begin, or are as far apart as the numbers go, in some of the rounds that are
// checked at once.
func TestRangesOfData(t *testing.T) {
	t.Run("i64", func(t *testing.T) { checkRanges[int64](t, "i64", math.MinInt64, math.MaxInt64) })
	t.Run("i32", func(t *testing.T) { checkRanges[int32](t, "i32", math.MinInt32, math.MaxInt32) })
}

func checkRanges[T int32 | int64](t *testing.T, typ string, least, most T) {
	source := "codelet c(lo: R vector[" + typ + "], hi: R vector[" + typ + "], x: R vector[f64], y: W vector[f64]) {\n each i in y { let s = 0.0\n for k in lo[i]..hi[i] { s += x[k % 7] }\n y[i] = s }\n}\n"
	k, p := compiled(t, source)
	r := rand.New(rand.NewPCG(1, 1))
	x := []float64{1, 2, 4, 8, 16, 32, 64}
	for range 200 {
		n := 1 + r.IntN(200)
		lo, hi := make([]T, n), make([]T, n)
		for i := range lo {
			lo[i] = T(r.IntN(9))
			hi[i] = lo[i] + T(r.IntN(9))
		}
		for range r.IntN(3) {
			i, far := r.IntN(n), []T{least, most, -5, 0}
			hi[i] = []T{least, least + 3, -9, 0}[r.IntN(4)]
			lo[i] = max(far[r.IntN(4)], hi[i])
		}
		var got [2][]float64
		for way, run := range []func(task *kerneltest.Task) error{func(task *kerneltest.Task) error { return p.RunTask(task, nil) }, func(task *kerneltest.Task) error { return k.Run(task) }} {
			got[way] = make([]float64, n)
			if err := run(&kerneltest.Task{Ctx: context.Background(), Bufs: kerneltest.Buffers(kerneltest.VectorOf(lo), kerneltest.VectorOf(hi), kerneltest.VectorOf(x), kerneltest.VectorOf(got[way]))}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got[0], got[1]) {
			t.Fatalf("from %v to %v: %v, and in strips %v", lo, hi, got[1], got[0])
		}
	}
}
