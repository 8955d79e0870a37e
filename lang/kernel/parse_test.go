package kernel

// What the tests share: parsing codelets, making buffers, reading them back.

import (
	"context"
	"fmt"
	"slices"
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

// compileOne checks and compiles the only codelet of a source.
func compileOne(t testing.TB, text string, targs map[byte]iface.Elem) *Program {
	t.Helper()
	f, cs := codelets(t, "t.spu", text)
	sig := signature(cs[0])
	ds := slices.DeleteFunc(Check(f, cs[0], sig), func(d diag.Diagnostic) bool { return d.Code == "W0608" }) // operands that a body has no use for
	if len(ds) > 0 {
		t.Fatalf("%v\nin:\n%s", ds, text)
	}
	p, err := Compile(f, cs[0], sig, targs)
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, text)
	}
	return p
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

// run runs p and fails the test on an error.
func run(t testing.TB, p *Program, bufs []*iface.Buffer, args ...iface.Scalar) {
	t.Helper()
	if err := p.Run(context.Background(), bufs, args); err != nil {
		t.Fatal(err)
	}
}

func bufs(list ...*iface.Buffer) []*iface.Buffer { return list }

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
