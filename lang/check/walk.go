package check

// Walking over expressions.

import "github.com/starpush/starpush/lang/syntax"

// walkExpr calls visit for e and, where visit returns true, for its parts, in
// the order of evaluation.
func walkExpr(e syntax.Expr, visit func(syntax.Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	each := func(list []syntax.Expr) {
		for _, x := range list {
			walkExpr(x, visit)
		}
	}
	switch e := e.(type) {
	case *syntax.FString:
		for _, p := range e.Parts {
			walkExpr(p.X, visit)
		}
	case *syntax.Paren:
		walkExpr(e.X, visit)
	case *syntax.ListLit:
		each(e.Items)
	case *syntax.ListComp:
		walkExpr(e.In, visit)
		walkExpr(e.Item, visit)
	case *syntax.Unary:
		walkExpr(e.X, visit)
	case *syntax.Binary:
		walkExpr(e.X, visit)
		walkExpr(e.Y, visit)
	case *syntax.RangeExpr:
		walkExpr(e.Lo, visit)
		walkExpr(e.Hi, visit)
	case *syntax.Cond:
		walkExpr(e.If, visit)
		walkExpr(e.Then, visit)
		walkExpr(e.Else, visit)
	case *syntax.Call:
		walkExpr(e.Fn, visit)
		for _, a := range e.Args {
			walkExpr(a.Value, visit)
		}
	case *syntax.Index:
		walkExpr(e.X, visit)
		each(e.Args)
	case *syntax.Selector:
		walkExpr(e.X, visit)
	case *syntax.Insert:
		for _, a := range e.Args {
			walkExpr(a.Value, visit)
			walkExpr(a.At, visit)
		}
		if e.With != nil {
			for _, o := range e.With.Options {
				walkExpr(o.Value, visit)
			}
		}
	case *syntax.Fold:
		each(e.Domain)
		walkExpr(e.Body, visit)
	}
}

// unparen strips parentheses.
func unparen(e syntax.Expr) syntax.Expr { return syntax.Unparen(e) }

// walkNested calls visit for s and all statements inside it.
func walkNested(s syntax.Stmt, visit func(syntax.Stmt)) {
	blocks := func(b *syntax.Block) {
		if b != nil {
			for _, s := range b.Stmts {
				walkNested(s, visit)
			}
		}
	}
	for {
		visit(s)
		switch x := s.(type) {
		case *syntax.Block:
			blocks(x)
		case *syntax.For:
			blocks(x.Body)
		case *syntax.While:
			blocks(x.Body)
		case *syntax.Each:
			blocks(x.Body)
		case *syntax.Acquire:
			blocks(x.Body)
		case *syntax.If:
			blocks(x.Then)
			if x.Else != nil { // chains are long: no recursion
				s = x.Else
				continue
			}
		}
		return
	}
}

// walkStmts calls visit for every expression of the statements, those inside
// blocks included, but not for bodies of functions and codelets.
func walkStmts(list []syntax.Stmt, visit func(syntax.Expr)) {
	for _, s := range list {
		walkNested(s, func(s syntax.Stmt) { exprsOf(s, visit) })
	}
}

// exprsOf calls visit for the expressions of s itself.
func exprsOf(s syntax.Stmt, visit func(syntax.Expr)) {
	one := func(e syntax.Expr) {
		if e != nil {
			visit(e)
		}
	}
	each := func(list []syntax.Expr) {
		for _, e := range list {
			one(e)
		}
	}
	with := func(w *syntax.With) {
		if w != nil {
			for _, o := range w.Options {
				one(o.Value)
			}
		}
	}
	switch s := s.(type) {
	case *syntax.Let:
		one(s.Value)
	case *syntax.Register:
		one(s.Value)
	case *syntax.Partition:
		each(s.Of)
		for _, f := range s.Filters {
			for _, a := range f.Args {
				one(a.Value)
			}
		}
	case *syntax.Unpartition:
		each(s.Of)
		one(s.To)
	case *syntax.Acquire:
		for _, it := range s.Items {
			one(it.Of)
		}
	case *syntax.Release:
		for _, n := range s.Names {
			one(n)
		}
	case *syntax.Wait:
		each(s.Of)
	case *syntax.Prefetch:
		each(s.Of)
		one(s.To)
		with(s.With)
	case *syntax.Hint:
		each(s.Of)
		with(s.With)
	case *syntax.Verb:
		each(s.Of)
	case *syntax.If:
		one(s.Cond)
	case *syntax.For:
		one(s.In)
	case *syntax.While:
		one(s.Cond)
	case *syntax.Return:
		one(s.Value)
	case *syntax.Assert:
		one(s.Cond)
		one(s.Message)
	case *syntax.Assign:
		one(s.Target)
		one(s.Value)
	case *syntax.ExprStmt:
		one(s.X)
	}
}
