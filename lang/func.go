package lang

// Host functions and host filters.

import (
	"context"
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// A Func is a host function that scripts may call. It is immutable.
type Func struct{ f *interp.HostFunc }

// NewFunc adds a host function, "now() -> float". fn gets one argument for each
// parameter: int64, float64, bool, string, []int64, []float64, []any for other
// lists, *Handle, *View; it returns the same types (any Go integer or float will
// do, nil for a function without result). Values of other types of the language
// are passed through as they are. A panic in fn becomes an error with the script
// position, and with the stack: see PanicError. fn may use Instance.Call on the same goroutine.
func NewFunc(signature string, fn func(ctx context.Context, args []any) (any, error)) (*Func, error) {
	sig, err := funcSignature(signature)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, fmt.Errorf("lang: NewFunc %s: the function is nil", sig.Name)
	}
	return &Func{&interp.HostFunc{Name: sig.Name, Sig: sig, Fn: fn}}, nil
}

// Doc returns f with documentation for :doc and editors.
func (f *Func) Doc(text string) *Func {
	if f == nil || f.f == nil {
		return f
	}
	c := *f.f
	c.Doc = text
	return &Func{&c}
}

// Name returns the name in the language.
func (f *Func) Name() string {
	if f == nil || f.f == nil {
		return ""
	}
	return f.f.Name
}

// A Filter is a way of splitting data that scripts may use in partition. It is
// immutable.
type Filter struct{ f *interp.HostFilter }

// Box is one part: the indices Lo[k] <= i < Hi[k] along each axis k of the data
// that is split. Boxes may overlap and need not cover.
type Box = interp.Box

// NewFilter adds a filter, "stripes(A: matrix[T], p: int) -> matrix[T]": the first
// parameter is the data, the result the type of the parts, which must be the
// same; fn gets its sizes and the other arguments (as NewFunc does) and gives the
// box of each part. Parts of a csr are whole rows, those of a csc whole columns. fn must depend on nothing else.
func NewFilter(signature string, fn func(shape []int, args []any) ([]Box, error)) (*Filter, error) {
	sig, err := funcSignature(signature)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, fmt.Errorf("lang: NewFilter %s: the function is nil", sig.Name)
	}
	if len(sig.Params) == 0 || !sig.Params[0].Type.IsHandle() || sig.Params[0].Type.Kind == types.Void {
		return nil, fmt.Errorf("lang: NewFilter %s: the first parameter must be the data that is split, such as `A: matrix[T]`", sig.Name)
	}
	if !types.Same(sig.Params[0].Type, sig.Result) {
		return nil, fmt.Errorf("lang: NewFilter %s: parts must have the type of the data, %v, and the result is %v", sig.Name, sig.Params[0].Type, sig.Result)
	}
	for _, p := range sig.Params[1:] {
		if !p.Type.IsScalar() && p.Type.Kind != types.List {
			return nil, fmt.Errorf("lang: NewFilter %s: `%s` is %v; arguments of filters are scalars and lists", sig.Name, p.Name, p.Type)
		}
	}
	return &Filter{&interp.HostFilter{Name: sig.Name, Sig: sig, Fn: fn}}, nil
}

// Signatures of host codelets, functions and filters: from text to types.

// codeletSignature reads "clip(v: RW vector[f32], lo: f32)".
func codeletSignature(text string) (*types.Signature, error) {
	c, err := syntax.ParseSignature(text)
	if err != nil {
		return nil, badSignature(text, err)
	}
	sig := &types.Signature{Name: c.Name.Name, Result: types.TNone, Text: text}
	seen := map[string]bool{}
	for _, p := range c.Params {
		t, err := hostType(p.Type)
		switch {
		case err != nil:
			return nil, fmt.Errorf("lang: signature %q: %s: %w", text, p.Name.Name, err)
		case seen[p.Name.Name]:
			return nil, fmt.Errorf("lang: signature %q: two operands are named %s", text, p.Name.Name)
		case p.Mode != iface.NoMode && !t.IsHandle():
			return nil, fmt.Errorf("lang: signature %q: %s has mode %v, so its type must be data such as vector[f32], not %v", text, p.Name.Name, p.Mode, t)
		case p.Mode == iface.NoMode && !t.IsScalar() && t.Kind != types.Elem:
			return nil, fmt.Errorf("lang: signature %q: %s is a %v and needs an access mode: R, W, RW or SCRATCH", text, p.Name.Name, t)
		case p.Mode == iface.Commute || p.Mode == iface.Redux:
			return nil, fmt.Errorf("lang: signature %q: %s: %v is chosen by the insert; declare RW", text, p.Name.Name, p.Mode)
		}
		seen[p.Name.Name] = true
		q := types.Param{Name: p.Name.Name, Mode: p.Mode, Type: t, HasDefault: p.Default != nil, Default: exprOrNil(p.Default)}
		if err := checkDefault(text, &q); err != nil {
			return nil, err
		}
		sig.Params = append(sig.Params, q)
	}
	return sig, nil
}

// funcSignature reads "now() -> float".
func funcSignature(text string) (*types.Signature, error) {
	f, err := syntax.ParseFuncSignature(text)
	if err != nil {
		return nil, badSignature(text, err)
	}
	sig := &types.Signature{Name: f.Name.Name, Result: types.TNone, Text: text}
	if f.Result != nil {
		if sig.Result, err = hostType(f.Result); err != nil {
			return nil, fmt.Errorf("lang: signature %q: result: %w", text, err)
		}
	}
	seen := map[string]bool{}
	for _, p := range f.Params {
		t, err := hostType(p.Type)
		if err != nil {
			return nil, fmt.Errorf("lang: signature %q: %s: %w", text, p.Name.Name, err)
		}
		if seen[p.Name.Name] {
			return nil, fmt.Errorf("lang: signature %q: two parameters are named %s", text, p.Name.Name)
		}
		seen[p.Name.Name] = true
		q := types.Param{Name: p.Name.Name, Type: t, HasDefault: p.Default != nil, Default: exprOrNil(p.Default)}
		if err := checkDefault(text, &q); err != nil {
			return nil, err
		}
		sig.Params = append(sig.Params, q)
	}
	return sig, nil
}

// badSignature says what is wrong with a signature: most often that it begins with the
// word that scripts have there, or ends with a body.
func badSignature(text string, err error) error {
	rest := strings.TrimSpace(text)
	for cut := true; cut; {
		for _, word := range []string{"extern", "codelet", "func", "filter"} {
			var after string
			if after, cut = strings.CutPrefix(rest, word); cut && strings.TrimLeft(after, " \t") != after {
				rest = strings.TrimSpace(after)
				break
			}
			cut = false
		}
	}
	if short, _, body := strings.Cut(rest, "{"); body {
		rest = strings.TrimSpace(short)
	}
	if rest == strings.TrimSpace(text) {
		return fmt.Errorf("lang: signature %q: %w", text, err)
	}
	return fmt.Errorf("lang: signature %q: a signature is the name with its parameters, without the word in front and without a body: write %q", text, rest)
}

// checkDefault reports a default that is not a literal of the parameter's type.
func checkDefault(text string, p *types.Param) error {
	if !p.HasDefault {
		return nil
	}
	if _, err := interp.Constant(p); err != nil {
		return fmt.Errorf("lang: signature %q: default of %s: %w", text, p.Name, err)
	}
	return nil
}

// exprOrNil avoids an interface that holds a nil interface.
func exprOrNil(e syntax.Expr) any {
	if e == nil {
		return nil
	}
	return e
}

var plainTypes = map[string]*types.Type{
	"int": types.TInt, "float": types.TFloat, "complex": types.TComplex, "bool": types.TBool, "string": types.TString,
	"range": types.TRange, "void": types.TVoid, "task": types.TTask, "gate": types.TGate,
	"node": types.TNode, "worker": types.TWorker, "kind": types.TDevice,
}

// hostType resolves a type of a host signature. A single upper-case letter is an
// element-type parameter.
func hostType(e *syntax.TypeExpr) (*types.Type, error) {
	name := e.Name.Name
	if e.Elem == nil {
		if t := plainTypes[name]; t != nil {
			return t, nil
		}
		if el, ok := iface.ElemByName(name); ok {
			return &types.Type{Kind: types.Elem, Elem: el}, nil
		}
		if p := typeParam(name); p != 0 {
			return &types.Type{Kind: types.Elem, Param: p}, nil
		}
		switch name {
		case "variable", "vector", "matrix", "block", "tensor", "csr", "csc", "coo", "bcsr", "dense", "any", "list", "view":
			return nil, fmt.Errorf("%s needs what it holds in brackets: %s[f32]", name, name)
		}
		return nil, fmt.Errorf("%s is not a type that host code can use", name)
	}
	in, err := hostType(e.Elem)
	if err != nil {
		return nil, err
	}
	if e.Rank != nil {
		if name != "tensor" || in.Kind != types.Elem || e.Rank.Value < 4 || e.Rank.Value > iface.MaxRank {
			return nil, fmt.Errorf("%s[%v, %d]: only a tensor has a number of indices in the bracket, from 4 to %d", name, in, e.Rank.Value, iface.MaxRank)
		}
		t := types.TensorOf(int(e.Rank.Value), in.Elem)
		t.Param = in.Param
		return t, nil
	}
	switch name {
	case "list":
		return types.ListOf(in), nil
	case "view":
		if !in.IsHandle() {
			return nil, fmt.Errorf("a view holds handles, not %v", in)
		}
		return types.ViewOf(in), nil
	case "variable", "vector", "matrix", "block", "tensor", "csr", "csc", "coo", "bcsr", "dense", "any":
		if in.Kind != types.Elem {
			return nil, fmt.Errorf("%s[%v]: the bracket holds an element type such as f32", name, in)
		}
		k := map[string]types.Kind{"variable": types.Variable, "vector": types.Vector, "matrix": types.Matrix, "block": types.Block, "tensor": types.Tensor, "csr": types.CSR, "csc": types.CSC, "coo": types.COO, "bcsr": types.BCSR, "dense": types.Dense, "any": types.Any}[name]
		return &types.Type{Kind: k, Elem: in.Elem, Param: in.Param}, nil
	}
	return nil, fmt.Errorf("%s[…] is not a type that host code can use", name)
}

func typeParam(name string) byte {
	if len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z' && name != "R" && name != "W" {
		return name[0]
	}
	return 0
}
