package kernel

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/llvm"
	"github.com/starpush/starpush/lang/kernel/lower"
	"github.com/starpush/starpush/lang/kernel/opencl"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

type (
	// Type is the type of a value in a body.
	Type = ir.Type
	// Size is an operand whose first size a body sets.
	Size = ir.Size
	// Task is a task that runs a body.
	Task = ir.Task
	// Fault is the error of a running body.
	Fault = cpu.Fault
	// SlowLoop is a loop that a CPU runs one round at a time.
	SlowLoop = cpu.SlowLoop
	// Kernels are a body in OpenCL C.
	Kernels = opencl.Kernels
)

// Check returns the diagnostics of the body of a codelet, with element-type parameters
// open: codes E0601 to E0609, W0606 and W0608, names (E0201, E0202,
// E0204, W0201) and types (E0105, E0703, E0705). It sets Ident.Obj and the
// types of expressions in the body, and Operand.Obj where it is nil; nothing
// else of the tree changes. A codelet without body has nothing to check. outer finds names
// that f does not declare, such as those of earlier entries of a prompt, so that E0604 can
// tell what they are; it may be nil.
func Check(f *syntax.File, c *syntax.Codelet, sig *types.Signature, outer func(name string) *types.Object) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	fn, ds := lower.Generic(f, c, sig, outer)
	return analysis.Check(f, c, sig, fn, ds)
}

// CheckElems returns the type errors that a body has for these element types and not for
// others: `x[i] = 0.5` if T is an integer type. It does not change the tree. Compile returns
// the same errors.
func CheckElems(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	_, ds := lower.Concrete(f, c, sig, targs)
	return ds
}

// MixedContribution finds where the body of c computes its contribution to an operand
// in another type than that of its elements, so that combining copies by reduce (sum, prod,
// min or max) would differ from running the tasks one by one. It returns the position in
// the source, the type there and the type of the elements. In a body that has type
// errors it finds nothing.
func MixedContribution(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem, operand, reduce string) (at syntax.Span, in, elem Type, found bool) {
	fn, ds := lower.Concrete(f, c, sig, targs)
	if ds.Err() != nil {
		return at, in, elem, false
	}
	return analysis.MixedContribution(fn, operand, reduce)
}

// Compile compiles the body of c for the element types targs of the type parameters of sig,
// to run as opts say. Check must have found no error. Compile does not change the tree.
// Errors that depend on the element types (E0703: a float stored into an integer) are
// returned as a diag.Diagnostics.
func Compile(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem, opts Options) (*Program, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("kernel: codelet %s has no body", sig.Name)
	}
	for _, p := range sig.Params {
		if !complete(p.Type) {
			return nil, fmt.Errorf("kernel: operand %s of codelet %s has no type", p.Name, sig.Name)
		}
		if p.Type.Param != 0 {
			if e, ok := targs[p.Type.Param]; !ok || !e.IsInt() && !e.Part().IsFloat() && e != iface.B8 {
				return nil, fmt.Errorf("kernel: codelet %s: no element type for the type parameter %c", sig.Name, p.Type.Param)
			}
		}
	}
	fn, ds := lower.Concrete(f, c, sig, targs)
	if ds.Err() != nil {
		return nil, ds
	}
	opts.Mode = opts.Mode.chosen()
	if opts.Cache == nil {
		opts.Cache = llvm.NewCache("")
	}
	p := &Program{strips: cpu.Compile(fn), opts: opts}
	switch {
	case opts.Mode == Native:
		p.contest.next.Store(int32(AsCode))
	case opts.Mode == Auto && p.strips.Empty():
		p.settled.Store(true)
	}
	return p, nil
}

// IndexNames returns the indices that messages suggest for data of kind k: "i, j" for a matrix.
func IndexNames(k iface.Kind) string { return ir.IndexNames(k) }

// Indices returns n in words: "one index", "five indices".
func Indices(n int) string { return ir.Counted(n, "index", "indices") }

// complete reports whether t is a type of operands, given the element type of its type
// parameter.
func complete(t *types.Type) bool {
	switch {
	case t == nil:
		return false
	case t.IsScalar() || t.Kind == types.Void || t.Fields() != nil:
		return true
	case t.Kind == types.Elem || t.Sparse() != nil || t.Data() != iface.NoKind:
		return t.Param != 0 || t.Elem != iface.NoElem
	}
	return false
}

// OpenCL returns the body of p as kernels for OpenCL devices. The error is the reason why
// it runs on CPU workers only.
func OpenCL(p *Program) (*Kernels, error) {
	if err := p.setsSizes(); err != nil {
		return nil, err
	}
	return opencl.New(p.IR())
}

// setsSizes is the reason why a body that sets the size of an operand runs on CPU workers only;
// nil for others.
func (p *Program) setsSizes() error {
	fn := p.IR()
	if len(fn.Sizes) == 0 {
		return nil
	}
	return fmt.Errorf("it sets `%s`", fn.Operands[fn.Sizes[0].Variable].Name)
}

// Sizes returns the operands whose first size the body sets. The task that RunTask gets has a
// buffer for the variable of each, and the buffers of the operands have the sizes of the capacity.
func (p *Program) Sizes() []ir.Size { return p.IR().Sizes }

// Work estimates the operations of a task with operands and scalars of these descriptions, and the bytes of elements that it
// loads and stores.
func (p *Program) Work(ops []iface.Desc, args []iface.Scalar) (operations, bytes float64) {
	fn := p.IR()
	scalars := map[int]float64{}
	k := 0
	for _, slot := range fn.Scalars {
		if slot >= 0 && fn.Slots[slot].Imaginary {
			continue
		}
		if slot >= 0 && k < len(args) {
			if v, ok := number(args[k]); ok {
				scalars[slot] = v
			}
		}
		k++
	}
	w := analysis.Count(fn, analysis.Sizes{
		Field: func(operand int, f ir.Field) float64 {
			if operand >= len(ops) {
				return math.NaN()
			}
			switch d := &ops[operand]; {
			case f <= ir.FieldDim7:
				return float64(d.Dim[f-ir.FieldDim0])
			case f <= ir.FieldOff7:
				return float64(d.Off[f-ir.FieldOff0])
			}
			return math.NaN()
		},
		Scalar: func(slot int) (float64, bool) { v, ok := scalars[slot]; return v, ok },
	})
	return w.Operations, w.Bytes
}

// number returns the value of a scalar that is one.
func number(s iface.Scalar) (float64, bool) {
	switch s.Kind() {
	case iface.IntScalar:
		return float64(s.Int()), true
	case iface.FloatScalar:
		return s.Float(), true
	}
	return 0, false
}
