package interp

// What can be said about saves before a script runs.

import (
	"slices"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// saveChecks is what a run does first about the saves at the top level of its script whose
// names are known then: what cannot be saved is said before the work. Known are texts,
// params, and what top-level lets that nothing changes make of them; so are the
// conditions around saves that are made of those.
type saveChecks struct {
	c    *compiler
	unit *check.Unit
	lets map[*types.Object]syntax.Expr // values of lets that nothing assigns to; nil: not looked at
	size int                           // nodes of the expression that is looked at
}

// maxKnown bounds the nodes of an expression, with the values of lets in it: each let may
// double what the one before made.
const maxKnown = 1000

// of returns the check of a statement; nil: there is nothing to look at first.
func (k *saveChecks) of(s syntax.Stmt) stmt {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		return k.save(s)
	case *syntax.If:
		return k.branches(s)
	}
	return nil
}

func (k *saveChecks) save(s *syntax.ExprStmt) stmt {
	call, ok := s.X.(*syntax.Call)
	if !ok || call.Callee == nil || call.Callee.Kind != types.BuiltinFunc || call.Callee.Name != "save" || len(call.Args) != 2 {
		return nil
	}
	name := call.Args[1].Value
	known, ok := k.known(name)
	if !ok {
		return nil
	}
	data := call.Args[0].Value.Type()
	block := data != nil && data.Kind == types.Block
	file, at := k.c.ref(known), k.c.place(name)
	return func(f *frame) ctl {
		if s, ok := file(f).(string); ok && f.m.cfg.Files != nil {
			f.m.canSave(f.m.fileName(s, at, "save"), block, at)
		}
		return next
	}
}

// branches is of for an if: the branch that is taken, where the conditions are known.
func (k *saveChecks) branches(s *syntax.If) stmt {
	type branch struct {
		cond boolFn // nil: else
		body []stmt
	}
	var all []branch
	saves := false
	add := func(cond boolFn, b *syntax.Block) {
		var body []stmt
		if b != nil {
			for _, s := range b.Stmts {
				if first := k.of(s); first != nil {
					body = append(body, first)
				}
			}
		}
		saves = saves || len(body) > 0
		all = append(all, branch{cond, body})
	}
	for in := s; in != nil; {
		cond, ok := k.known(in.Cond)
		if !ok {
			break
		}
		add(k.c.bool(cond), in.Then)
		switch other := in.Else.(type) {
		case *syntax.If:
			in = other
		case *syntax.Block:
			add(nil, other)
			in = nil
		default:
			in = nil
		}
	}
	if !saves {
		return nil
	}
	return func(f *frame) ctl {
		for _, b := range all {
			if b.cond == nil || b.cond(f) {
				for _, s := range b.body {
					s(f)
				}
				break
			}
		}
		return next
	}
}

// known returns e as it can be computed before the script runs: with the values of lets in
// the place of their names. Operations that can fail are left to the run.
func (k *saveChecks) known(e syntax.Expr) (syntax.Expr, bool) {
	k.size = 0
	return k.resolve(e)
}

func (k *saveChecks) resolve(e syntax.Expr) (syntax.Expr, bool) {
	if k.size++; k.size > maxKnown {
		return nil, false
	}
	switch e := e.(type) {
	case *syntax.StringLit, *syntax.BoolLit, *syntax.IntLit, *syntax.FloatLit:
		return e, true
	case *syntax.Ident:
		if e.Obj != nil && e.Obj.Kind == types.ParamObject {
			return e, true
		}
		value := k.constants()[e.Obj]
		if value == nil || value.Type() == nil || e.Type() == nil || value.Type().Kind != e.Type().Kind {
			return nil, false
		}
		return k.resolve(value)
	case *syntax.Paren:
		return k.resolve(e.X)
	case *syntax.Unary:
		x, ok := k.resolve(e.X)
		with := *e
		with.X = x
		return &with, ok && e.Op == "not"
	case *syntax.Binary:
		x, okX := k.resolve(e.X)
		y, okY := k.resolve(e.Y)
		with := *e
		with.X, with.Y = x, y
		text := e.Type() != nil && e.Type().Kind == types.String
		return &with, okX && okY && (text || e.Op == "and" || e.Op == "or" || comparisons[e.Op])
	case *syntax.FString:
		with := *e
		with.Parts = slices.Clone(e.Parts)
		for i, p := range e.Parts {
			if p.X == nil {
				continue
			}
			x, ok := k.resolve(p.X)
			if !ok {
				return nil, false
			}
			with.Parts[i].X = x
		}
		return &with, true
	}
	return nil, false
}

var comparisons = map[string]bool{"==": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true}

// constants are the values of top-level lets that nothing assigns to.
func (k *saveChecks) constants() map[*types.Object]syntax.Expr {
	if k.lets != nil {
		return k.lets
	}
	k.lets = map[*types.Object]syntax.Expr{}
	for _, s := range k.unit.File.Stmts {
		if let, ok := s.(*syntax.Let); ok && let.Name != nil && let.Name.Obj != nil {
			k.lets[let.Name.Obj] = let.Value
		}
	}
	syntax.Walk(k.unit.File, func(n syntax.Node, _ []syntax.Node) {
		if a, ok := n.(*syntax.Assign); ok {
			if id, ok := a.Target.(*syntax.Ident); ok {
				delete(k.lets, id.Obj)
			}
		}
	})
	return k.lets
}
