package lang

// Signatures of host codelets, functions and filters: from text to types.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

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
	"int": types.TInt, "float": types.TFloat, "bool": types.TBool, "string": types.TString,
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
		case "variable", "vector", "matrix", "block", "dense", "list", "view":
			return nil, fmt.Errorf("%s needs what it holds in brackets: %s[f32]", name, name)
		}
		return nil, fmt.Errorf("%s is not a type that host code can use", name)
	}
	in, err := hostType(e.Elem)
	if err != nil {
		return nil, err
	}
	switch name {
	case "list":
		return types.ListOf(in), nil
	case "view":
		if !in.IsHandle() {
			return nil, fmt.Errorf("a view holds handles, not %v", in)
		}
		return types.ViewOf(in), nil
	case "variable", "vector", "matrix", "block", "dense":
		if in.Kind != types.Elem {
			return nil, fmt.Errorf("%s[%v]: the bracket holds an element type such as f32", name, in)
		}
		k := map[string]types.Kind{"variable": types.Variable, "vector": types.Vector, "matrix": types.Matrix, "block": types.Block, "dense": types.Dense}[name]
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
