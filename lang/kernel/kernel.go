package kernel

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/lower"
	"github.com/starpush/starpush/lang/kernel/opencl"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

type (
	// Type is the type of a value in a body.
	Type = ir.Type
	// Program is a body compiled for CPU workers and concrete element types.
	Program = cpu.Program
	// Fault is what made a running body fail.
	Fault = cpu.Fault
	// SlowLoop is a loop that a CPU runs one round at a time.
	SlowLoop = cpu.SlowLoop
	// Kernels are a body in OpenCL C.
	Kernels = opencl.Kernels
)

// Check returns what is wrong in the body of one codelet, with element-type
// parameters left open: codes E0601 to E0607, W0606 and W0608, names (E0201, E0202,
// E0204, W0201) and types (E0105, E0703, E0705). It sets Ident.Obj and the
// types of expressions in the body, and Operand.Obj where it is nil; nothing
// else of the tree changes. A codelet without body has nothing to check.
func Check(f *syntax.File, c *syntax.Codelet, sig *types.Signature) diag.Diagnostics {
	return CheckIn(f, c, sig, nil)
}

// CheckIn is Check for a codelet whose surroundings declare more names than f
// does, such as earlier entries of a prompt. outer finds those, so that E0604
// can say what they are; nil: there are none.
func CheckIn(f *syntax.File, c *syntax.Codelet, sig *types.Signature, outer func(name string) *types.Object) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	fn, ds := lower.Generic(f, c, sig, outer)
	return analysis.Check(f, c, sig, fn, ds)
}

// CheckElems returns the type errors that a body has for concrete element types
// and not for all: `x[i] = 0.5` where T stands for an integer type. It changes
// nothing in the tree. Compile returns the same as its error.
func CheckElems(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	_, ds := lower.Concrete(f, c, sig, targs)
	return ds
}

// MixedContribution finds where the body of c computes what it contributes to an operand
// in another type than that of its elements, so that combining copies by reduce (sum, prod,
// min or max) would give something else than running the tasks one by one. It returns the
// place in the text, the type there and the type of the elements. In a body that has type
// errors it finds nothing.
func MixedContribution(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem, operand, reduce string) (at syntax.Span, in, elem Type, found bool) {
	fn, ds := lower.Concrete(f, c, sig, targs)
	if ds.Err() != nil {
		return at, in, elem, false
	}
	return analysis.MixedContribution(fn, operand, reduce)
}

// Compile makes the body of c executable for concrete element types: targs
// says what each type parameter of sig stands for. The tree must have passed
// Check and is not changed. What Check could not see because it depends on the
// element types (E0703: a float stored into integers) is the error, a
// diag.Diagnostics.
func Compile(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) (*Program, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("kernel: codelet %s has no body", sig.Name)
	}
	for _, p := range sig.Params {
		if !complete(p.Type) {
			return nil, fmt.Errorf("kernel: operand %s of codelet %s has no type", p.Name, sig.Name)
		}
		if p.Type.Param != 0 {
			if e, ok := targs[p.Type.Param]; !ok || !e.IsInt() && !e.IsFloat() {
				return nil, fmt.Errorf("kernel: codelet %s: no element type for the type parameter %c", sig.Name, p.Type.Param)
			}
		}
	}
	fn, ds := lower.Concrete(f, c, sig, targs)
	if ds.Err() != nil {
		return nil, ds
	}
	return cpu.Compile(fn), nil
}

// complete reports whether t is the type of an operand, but for the element type that its
// type parameter stands for.
func complete(t *types.Type) bool {
	switch {
	case t == nil:
		return false
	case t.IsScalar() || t.Kind == types.Void:
		return true
	case t.Kind == types.Elem || t.Data() != iface.NoKind:
		return t.Param != 0 || t.Elem != iface.NoElem
	}
	return false
}

// OpenCL returns the body of p as kernels for OpenCL devices. The error is the reason why
// it runs on CPU workers only.
func OpenCL(p *Program) (*Kernels, error) { return opencl.New(p.IR()) }
