package tests

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/stdlib"
)

// bodyRun compares the codelets of a module with their bodies.
type bodyRun struct {
	*testing.T
	rt  *engine.Runtime
	job *engine.Job
	rng *rand.Rand
}

// bytesOf returns the memory of a buffer, from its first element to the last.
func bytesOf(b *iface.Buffer) []byte {
	n := 1
	for axis := range b.Rank {
		if b.Dim[axis] == 0 {
			return nil
		}
		n += (b.Dim[axis] - 1) * b.Stride[axis]
	}
	return unsafe.Slice((*byte)(b.Ptr), n*int(b.Elem.Size()))
}

// access calls fn with the buffer of h.
func (r *bodyRun) access(h *datamgr.Handle, mode iface.AccessMode, fn func(b *iface.Buffer)) {
	r.Helper()
	a, err := r.job.Acquire(context.Background(), h, mode)
	if err != nil {
		r.Fatal(err)
	}
	fn(a.Buffer())
	a.Release()
}

// number returns an element of type e, as its bits: often a small number, sometimes any, an
// infinity or, in data with NaNs, a NaN.
func (r *bodyRun) number(e iface.Elem, nans bool) uint64 {
	v := float64(r.rng.IntN(41)-20) / 4
	if r.rng.IntN(3) == 0 {
		v = r.rng.Float64()*2 - 1
	}
	switch {
	case e.IsFloat() && nans && r.rng.IntN(40) == 0:
		v = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.rng.IntN(3)]
	case e == iface.F64:
		return math.Float64bits(v)
	case !e.IsFloat() && r.rng.IntN(20) == 0:
		return r.rng.Uint64()
	}
	if e == iface.F32 {
		return uint64(math.Float32bits(float32(v)))
	} else if e == iface.F64 {
		return math.Float64bits(v)
	}
	return uint64(int64(v * 4))
}

// fill writes numbers to h.
func (r *bodyRun) fill(h *datamgr.Handle, nans bool) {
	r.access(h, iface.W, func(b *iface.Buffer) {
		mem, size := bytesOf(b), int(b.Elem.Size())
		for at := 0; at < len(mem); at += size {
			v := r.number(b.Elem, nans)
			copy(mem[at:at+size], unsafe.Slice((*byte)(unsafe.Pointer(&v)), size))
		}
	})
}

func (r *bodyRun) register(kind iface.Kind, e iface.Elem, dims ...int) *datamgr.Handle {
	r.Helper()
	h, err := r.rt.Register(engine.DataSpec{Kind: kind, Elem: e, Dims: dims})
	if err != nil {
		r.Fatal(err)
	}
	return h
}

// part returns a part of h.
func (r *bodyRun) part(h *datamgr.Handle, f filter.Filter, at ...int) *datamgr.Handle {
	r.Helper()
	v, err := r.rt.Partition(h, f)
	if err != nil {
		r.Fatal(err)
	}
	p, ok := v.Part(at...)
	if !ok {
		r.Fatalf("no part %v", at)
	}
	return p
}

// operand registers a vector or a matrix of elements e: number k of several sizes, alone or
// inside another.
func (r *bodyRun) operand(kind string, e iface.Elem, k int, nans bool) *datamgr.Handle {
	r.Helper()
	sizes := [][2]int{{1, 1}, {2, 3}, {7, 31}, {17, 64}, {33, 65}, {3, 521}, {40, 601}}
	m, n := sizes[k%len(sizes)][0], sizes[k%len(sizes)][1]
	var whole *datamgr.Handle
	switch {
	case kind == "matrix" && k < len(sizes):
		whole = r.register(iface.Matrix, e, m, n)
	case kind == "matrix":
		whole = r.register(iface.Matrix, e, 2*m, 2*n)
	case k < len(sizes):
		whole = r.register(iface.Vector, e, m*n)
	case k == len(sizes):
		whole = r.register(iface.Vector, e, 1000)
	default:
		whole = r.register(iface.Matrix, e, m, n)
	}
	r.fill(whole, nans)
	switch {
	case k < len(sizes):
		return whole
	case kind == "matrix":
		return r.part(whole, filter.Tiles(2, 2, 0), 1, 1)
	case k == len(sizes):
		return r.part(whole, filter.Blocks(3), 1)
	}
	return r.part(whole, filter.Pick(0), m-1)
}

// TestModuleBodies: the bodies that devices run of codelets of the standard modules compute what
// these do on a processor. TestModuleBodies of lang/kernel/llvm runs them as devices do.
func TestModuleBodies(t *testing.T) {
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	r := &bodyRun{t, rt, rt.NewJob(t.Context(), engine.JobOptions{}), rand.New(rand.NewPCG(1, 2))}
	defer r.job.Close()
	found := 0
	for _, m := range stdlib.Modules() {
		for _, c := range m.Codelets {
			if c.Bodies == nil || c.Bodies.CPU {
				continue
			}
			found++
			elems := c.Elems
			if elems == nil {
				elems = []iface.Elem{iface.I8, iface.I16, iface.I32, iface.I64, iface.U8, iface.U16, iface.U32, iface.U64, iface.F32, iface.F64}
			}
			kinds := []string{"vector"}
			if strings.Contains(c.Signature, "dense") {
				kinds = append(kinds, "matrix")
			}
			for _, e := range elems {
				if e.IsComplex() {
					continue // bodies take real numbers only
				}
				for _, kind := range kinds {
					for k := range 14 {
						r.compare(c, e, kind, k)
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no codelet has bodies")
	}
}

// compare runs c, and its body in strips, on operands of kind and elements e.
func (r *bodyRun) compare(c *engine.Codelet, e iface.Elem, kind string, k int) {
	r.Helper()
	ordered := slices.Contains([]string{"min", "max", "argmax", "iamax", "count"}, c.Name)
	hs := []*datamgr.Handle{r.operand(kind, e, k, ordered)}
	var args []iface.Scalar
	switch c.Name {
	case "argmax", "iamax":
		hs = append(hs, r.register(iface.Variable, iface.I64))
	case "count":
		hs = append(hs, r.register(iface.Variable, []iface.Elem{iface.U8, iface.F32, iface.I64}[k%3]))
		args = []iface.Scalar{iface.Float(3)}
	case "normal":
		args = []iface.Scalar{iface.Int(int64(r.rng.Uint64())), iface.Float(0.5), iface.Float(2)}
	default:
		hs = append(hs, r.register(iface.Variable, e))
	}
	what := fmt.Sprintf("%s of %v, %s %d", c.Name, e, kind, k)
	task := &kerneltest.Task{Ctx: context.Background()}
	var ops []iface.Desc
	for i, h := range hs {
		if i > 0 {
			r.fill(h, ordered)
		}
		r.access(h, iface.R, func(b *iface.Buffer) {
			own := *b
			mem := slices.Clone(bytesOf(b))
			words := make([]uint64, len(mem)/8+1)
			own.Ptr = unsafe.Pointer(&words[0])
			copy(unsafe.Slice((*byte)(own.Ptr), len(mem)), mem)
			task.Bufs, ops = append(task.Bufs, &own), append(ops, b.Desc)
		})
	}
	spec := engine.TaskSpec{Codelet: c, Args: args}
	for i, h := range hs {
		spec.Operands = append(spec.Operands, engine.Operand{Handle: h, Mode: c.Modes[i]})
	}
	if err := r.job.Submit(&spec); err != nil {
		r.Fatal(what, ": ", err)
	}
	task.Scalars = args
	if c.Bodies.Args != nil {
		task.Scalars = c.Bodies.Args(ops, args)
	}
	fn := kerneltest.LoweredFor(r.T, c.Bodies.Source, c.Bodies.Names, task.Bufs)
	if fn == nil {
		r.Fatalf("%s: no body fits", what)
	}
	if err := cpu.Compile(fn).RunTask(task, nil); err != nil {
		r.Fatalf("%s: %v", what, err)
	}
	last := len(hs) - 1
	r.access(hs[last], iface.R, func(b *iface.Buffer) {
		want, got := bytesOf(b), bytesOf(task.Bufs[last])
		size := int(b.Elem.Size())
		slack := 1.0 // what floats may differ by, in units of the last place
		if c.Name != "normal" && (e == iface.F64 || c.Name == "nrm2") {
			slack = float64(max(1, ops[0].Len())) // there f32 is added up in f32 on the processor
		}
		for row := range max(1, b.Dim[0]) {
			cols := 1
			if b.Rank == 2 {
				cols = b.Dim[1]
			}
			for col := range cols {
				at := 0
				if b.Rank > 0 {
					at = (row*b.Stride[0] + col) * size
				}
				if !same(b.Elem, want[at:at+size], got[at:at+size], 4*slack) {
					r.Fatalf("%s: element %d, %d is %x, and of the body %x", what, row, col, want[at:at+size], got[at:at+size])
				}
			}
		}
	})
}

// same reports whether elements are equal, or floats that differ by no more than slack units of the
// last place.
func same(e iface.Elem, x, y []byte, slack float64) bool {
	var a, b, eps float64
	switch e {
	case iface.F32:
		a, b, eps = float64(*(*float32)(unsafe.Pointer(&x[0]))), float64(*(*float32)(unsafe.Pointer(&y[0]))), 0x1p-23
	case iface.F64:
		a, b, eps = *(*float64)(unsafe.Pointer(&x[0])), *(*float64)(unsafe.Pointer(&y[0])), 0x1p-52
	default:
		return string(x) == string(y)
	}
	return a == b || a != a && b != b || math.Abs(a-b) <= slack*eps*max(1, math.Abs(a), math.Abs(b))
}
