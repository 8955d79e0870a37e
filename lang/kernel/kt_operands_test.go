package kernel

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// signature resolves the types of a codelet as the checker of scripts would.
func signature(c *syntax.Codelet) *types.Signature {
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
	}
	e, p = elem(t.Name.Name)
	return &types.Type{Kind: types.Elem, Elem: e, Param: p}
}

// codelets parses a source and returns its codelets.
func codelets(t testing.TB, name, text string) (*syntax.File, []*syntax.Codelet) {
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

// vectorOf makes a buffer of the elements of s.
func vectorOf[T Number](s []T) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: elemOf[T](), Rank: 1}}
	b.Dim[0], b.Stride[0] = len(s), 1
	b.Ptr = unsafe.Pointer(unsafe.SliceData(s))
	return b
}

func matrixOf[T Number](s []T, rows, cols, ld int) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Matrix, Elem: elemOf[T](), Rank: 2}}
	b.Dim[0], b.Dim[1], b.Stride[0], b.Stride[1] = rows, cols, ld, 1
	b.Ptr = unsafe.Pointer(unsafe.SliceData(s))
	return b
}

func variableOf[T Number](p *T) *iface.Buffer {
	return &iface.Buffer{Desc: iface.Desc{Kind: iface.Variable, Elem: elemOf[T]()}, Ptr: unsafe.Pointer(p)}
}

func elemOf[T Number]() iface.Elem {
	switch any(T(0)).(type) {
	case int8:
		return iface.I8
	case int16:
		return iface.I16
	case int32:
		return iface.I32
	case int64:
		return iface.I64
	case uint8:
		return iface.U8
	case uint16:
		return iface.U16
	case uint32:
		return iface.U32
	case uint64:
		return iface.U64
	case float32:
		return iface.F32
	}
	return iface.F64
}

func bufs(list ...*iface.Buffer) []*iface.Buffer { return list }

// checkAll checks every codelet of a source.
func checkAll(t *testing.T, text string) diag.Diagnostics {
	t.Helper()
	f, cs := codelets(t, "t.spu", text)
	var ds diag.Diagnostics
	for _, c := range cs {
		ds = append(ds, Check(f, c, signature(c))...)
	}
	return ds
}

func at(s diag.Span) string {
	return strings.TrimPrefix(strings.SplitN(show(diag.Diagnostics{{Span: s}}), "] ", 2)[1], " ")
}

// show renders everything a diagnostic says, one line for each thing.
func show(ds diag.Diagnostics) string {
	at := func(s diag.Span) string { return fmt.Sprintf("%d:%d-%d", s.Start.Line, s.Start.Col, s.End.Col) }
	out := ""
	for _, d := range ds {
		out += fmt.Sprintf("%v[%s] %s: %s\n", d.Severity, d.Code, at(d.Span), d.Message)
		if d.Label != "" {
			out += "  ^ " + d.Label + "\n"
		}
		for _, l := range d.Labels {
			out += fmt.Sprintf("  %s %s\n", at(l.Span), l.Text)
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

// forOperands are the operands of the bodies below: three vectors, the second
// with numbers that no float holds exactly, and two matrices.
const forOperands = "codelet c(x: R vector[f64], y: RW vector[f64], k: R vector[i64], A: RW matrix[f64], B: R matrix[f64], v: RW variable[f64], u: RW vector[i32], n: int) {\n%s\n}\n"

// forData makes operands of size n, and what reads their values.
func forData(n int) ([]*iface.Buffer, func() []float64) {
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
	list := bufs(vectorOf(x), vectorOf(y), vectorOf(k), matrixOf(a, 9, n, n), matrixOf(b, n, 9, 9), variableOf(&v), vectorOf(u))
	return list, func() []float64 {
		out := append([]float64{v}, y...)
		for _, i := range u {
			out = append(out, float64(i))
		}
		return append(out, a...)
	}
}
