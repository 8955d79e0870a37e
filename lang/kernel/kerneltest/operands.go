package kerneltest

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/lower"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Signature resolves the types of a codelet as the checker of scripts would.
func Signature(c *syntax.Codelet) *types.Signature {
	sig := &types.Signature{Name: c.Name.Name, Result: types.TNone}
	for _, p := range c.Params {
		sig.Params = append(sig.Params, types.Param{Name: p.Name.Name, Mode: p.Mode, Type: typeExpr(p.Type)})
	}
	return sig
}

func typeExpr(t *syntax.TypeExpr) *types.Type {
	elem := func(name string) (iface.Elem, byte) {
		if e, ok := iface.ElemByName(name); ok {
			return e, 0
		}
		return iface.NoElem, name[0]
	}
	var e iface.Elem
	var p byte
	if t.Elem != nil {
		e, p = elem(t.Elem.Name.Name)
	}
	switch t.Name.Name {
	case "int":
		return types.TInt
	case "float":
		return types.TFloat
	case "complex":
		return types.TComplex
	case "bool":
		return types.TBool
	case "string":
		return types.TString
	case "void":
		return types.TVoid
	case "variable":
		return &types.Type{Kind: types.Variable, Elem: e, Param: p}
	case "vector":
		return &types.Type{Kind: types.Vector, Elem: e, Param: p}
	case "matrix":
		return &types.Type{Kind: types.Matrix, Elem: e, Param: p}
	case "block":
		return &types.Type{Kind: types.Block, Elem: e, Param: p}
	case "tensor":
		out := &types.Type{Kind: types.Tensor, Elem: e, Param: p}
		if t.Rank != nil && t.Rank.Value > 4 {
			out.Rank = uint8(t.Rank.Value)
		}
		return out
	}
	e, p = elem(t.Name.Name)
	return &types.Type{Kind: types.Elem, Elem: e, Param: p}
}

// Codelets parses a source and returns its codelets. The test fails if it has an error, or no
// codelet.
func Codelets(t testing.TB, name, text string) (*syntax.File, []*syntax.Codelet) {
	t.Helper()
	f, ds := syntax.Parse(diag.NewSource(name, text))
	if err := ds.Err(); err != nil {
		t.Fatalf("%v\nin:\n%s", err, text)
	}
	var list []*syntax.Codelet
	for _, s := range f.Stmts {
		if c, ok := s.(*syntax.Codelet); ok {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no codelet in:\n%s", text)
	}
	return f, list
}

// VectorOf returns a buffer of a vector in the memory of s.
func VectorOf[T iface.Go](s []T) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: iface.ElemOf[T](), Rank: 1}}
	b.Dim[0], b.Stride[0] = len(s), 1
	b.Ptr = unsafe.Pointer(unsafe.SliceData(s))
	return b
}

// MatrixOf returns a buffer of a matrix in the memory of s, with ld elements from one row to
// the next.
func MatrixOf[T iface.Go](s []T, rows, cols, ld int) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Matrix, Elem: iface.ElemOf[T](), Rank: 2}}
	b.Dim[0], b.Dim[1], b.Stride[0], b.Stride[1] = rows, cols, ld, 1
	b.Ptr = unsafe.Pointer(unsafe.SliceData(s))
	return b
}

// VariableOf returns a buffer of a variable in the memory of p.
func VariableOf[T iface.Go](p *T) *iface.Buffer {
	return &iface.Buffer{Desc: iface.Desc{Kind: iface.Variable, Elem: iface.ElemOf[T]()}, Ptr: unsafe.Pointer(p)}
}

// Buffers returns its arguments.
func Buffers(list ...*iface.Buffer) []*iface.Buffer { return list }

// Check returns the diagnostics of the bodies of a source.
func Check(t testing.TB, text string) diag.Diagnostics {
	t.Helper()
	f, cs := Codelets(t, "t.spu", text)
	var ds diag.Diagnostics
	for _, c := range cs {
		if c.Body != nil {
			sig := Signature(c)
			fn, found := lower.Generic(f, c, sig, nil)
			ds = append(ds, analysis.Check(f, c, sig, fn, found)...)
		}
	}
	return ds
}

// Lowered returns the lowered body of the first codelet of a source. The test fails on any
// diagnostic but W0608, an operand that is not used.
func Lowered(t testing.TB, text string, targs map[byte]iface.Elem) *ir.Func {
	t.Helper()
	ds := slices.DeleteFunc(Check(t, text), func(d diag.Diagnostic) bool { return d.Code == "W0608" })
	if len(ds) > 0 {
		t.Fatalf("%v\nin:\n%s", ds, text)
	}
	f, cs := Codelets(t, "t.spu", text)
	fn, ds := lower.Concrete(f, cs[0], Signature(cs[0]), targs)
	if ds.Err() != nil {
		t.Fatalf("%v\nin:\n%s", ds, text)
	}
	return fn
}

// At returns the line and the columns of s: "2:15-19".
func At(s diag.Span) string {
	return fmt.Sprintf("%d:%d-%d", s.Start.Line, s.Start.Col, s.End.Col)
}

// Task is an ir.Task without an engine.
type Task struct {
	Ctx     context.Context
	Bufs    []*iface.Buffer
	Scalars []iface.Scalar
}

func (c *Task) NumBuffers() int            { return len(c.Bufs) }
func (c *Task) Buffer(i int) *iface.Buffer { return c.Bufs[i] }
func (c *Task) Args() []iface.Scalar       { return c.Scalars }
func (c *Task) Context() context.Context   { return c.Ctx }
func (c *Task) GiveWay()                   {}

// Show returns the parts of diagnostics as text, a line each.
func Show(ds diag.Diagnostics) string {
	out := ""
	for _, d := range ds {
		out += fmt.Sprintf("%v[%s] %s: %s\n", d.Severity, d.Code, At(d.Span), d.Message)
		if d.Label != "" {
			out += "  ^ " + d.Label + "\n"
		}
		for _, l := range d.Labels {
			out += fmt.Sprintf("  %s %s\n", At(l.Span), l.Text)
		}
		for _, n := range d.Notes {
			out += "  note: " + n + "\n"
		}
		for _, h := range d.Help {
			out += "  help: " + h + "\n"
		}
	}
	return out
}

// Examples is the source of codelets that programs have: BLAS, stencils, reductions.
//
//go:embed examples.spu
var Examples string

// LoopCodelet is the format of the source of a codelet with the operands of LoopData. Its
// verb stands for the body.
const LoopCodelet = "codelet c(x: R vector[f64], y: RW vector[f64], k: R vector[i64], A: RW matrix[f64], B: R matrix[f64], v: RW variable[f64], u: RW vector[i32], n: int) {\n%s\n}\n"

// LoopData returns operands of size n for LoopCodelet, and a function that returns their
// values. k has indices from 0 to n-1, and the floats round in most operations.
func LoopData(n int) ([]*iface.Buffer, func() []float64) {
	x, y, a, b := make([]float64, n), make([]float64, n), make([]float64, n*9), make([]float64, n*9)
	k, u := make([]int64, n), make([]int32, n)
	for i := range n {
		x[i], y[i] = math.Sin(float64(i))/3, math.Cos(float64(i)*1.7)
		k[i], u[i] = int64((i*7+3)%n), int32(i%11)
	}
	for i := range a {
		a[i], b[i] = math.Sin(float64(i)*0.3), 1/float64(i+3)
	}
	v := 0.1
	list := Buffers(VectorOf(x), VectorOf(y), VectorOf(k), MatrixOf(a, 9, n, n), MatrixOf(b, n, 9, 9), VariableOf(&v), VectorOf(u))
	return list, func() []float64 {
		out := append([]float64{v}, y...)
		for _, i := range u {
			out = append(out, float64(i))
		}
		return append(out, a...)
	}
}

// LoweredFor lowers the first of the named codelets of a source that operands fit, and that has
// no errors for their elements. It returns nil if there is none.
func LoweredFor(t testing.TB, source string, names []string, ops []*iface.Buffer) *ir.Func {
	t.Helper()
	f, list := Codelets(t, "t.spu", source)
	for _, name := range names {
		k := slices.IndexFunc(list, func(c *syntax.Codelet) bool { return c.Name.Name == name })
		if k < 0 {
			t.Fatalf("no codelet %s", name)
		}
		sig := Signature(list[k])
		targs, n, fits := map[byte]iface.Elem{}, 0, true
		for _, p := range sig.Params {
			if p.Mode == iface.NoMode {
				continue
			}
			if p.Type.Param != 0 {
				targs[p.Type.Param] = ops[n].Elem
			}
			fits = fits && p.Type.Data() == ops[n].Kind
			n++
		}
		if !fits {
			continue
		}
		if _, ds := lower.Generic(f, list[k], sig, nil); ds.Err() != nil {
			t.Fatalf("%s: %v", name, ds)
		}
		if fn, ds := lower.Concrete(f, list[k], sig, targs); ds.Err() == nil {
			return fn
		}
	}
	return nil
}
