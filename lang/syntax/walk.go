package syntax

// Walks over expressions and statements.

import "slices"

// WalkExpr calls visit for e and, where visit returns true, for its parts, in
// the order of evaluation.
func WalkExpr(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	each := func(list []Expr) {
		for _, x := range list {
			WalkExpr(x, visit)
		}
	}
	switch e := e.(type) {
	case *FString:
		for _, p := range e.Parts {
			WalkExpr(p.X, visit)
		}
	case *Paren:
		WalkExpr(e.X, visit)
	case *ListLit:
		each(e.Items)
	case *ListComp:
		WalkExpr(e.In, visit)
		WalkExpr(e.Item, visit)
	case *Unary:
		WalkExpr(e.X, visit)
	case *Binary:
		WalkExpr(e.X, visit)
		WalkExpr(e.Y, visit)
	case *RangeExpr:
		WalkExpr(e.Lo, visit)
		WalkExpr(e.Hi, visit)
	case *Cond:
		WalkExpr(e.If, visit)
		WalkExpr(e.Then, visit)
		WalkExpr(e.Else, visit)
	case *Call:
		WalkExpr(e.Fn, visit)
		for _, a := range e.Args {
			WalkExpr(a.Value, visit)
		}
	case *Index:
		WalkExpr(e.X, visit)
		each(e.Args)
	case *Selector:
		WalkExpr(e.X, visit)
	case *Insert:
		for _, a := range e.Args {
			WalkExpr(a.Value, visit)
			WalkExpr(a.At, visit)
		}
		if e.With != nil {
			for _, o := range e.With.Options {
				WalkExpr(o.Value, visit)
			}
		}
	case *Fold:
		each(e.Domain)
		WalkExpr(e.Body, visit)
	}
}

// WalkStmt calls visit for s and all statements inside it.
func WalkStmt(s Stmt, visit func(Stmt)) {
	blocks := func(b *Block) {
		if b != nil {
			for _, s := range b.Stmts {
				WalkStmt(s, visit)
			}
		}
	}
	for {
		visit(s)
		switch x := s.(type) {
		case *Block:
			blocks(x)
		case *For:
			blocks(x.Body)
		case *While:
			blocks(x.Body)
		case *Each:
			blocks(x.Body)
		case *Acquire:
			blocks(x.Body)
		case *If:
			blocks(x.Then)
			if x.Else != nil { // chains are long: no recursion
				s = x.Else
				continue
			}
		}
		return
	}
}

// WalkExprs calls visit for every expression of the statements, those inside
// blocks included, but not for bodies of functions and codelets.
func WalkExprs(list []Stmt, visit func(Expr)) {
	for _, s := range list {
		WalkStmt(s, func(s Stmt) { ExprsOf(s, visit) })
	}
}

// ExprsOf calls visit for the expressions of s itself.
func ExprsOf(s Stmt, visit func(Expr)) {
	one := func(e Expr) {
		if e != nil {
			visit(e)
		}
	}
	each := func(list []Expr) {
		for _, e := range list {
			one(e)
		}
	}
	with := func(w *With) {
		if w != nil {
			for _, o := range w.Options {
				one(o.Value)
			}
		}
	}
	switch s := s.(type) {
	case *Let:
		one(s.Value)
	case *Register:
		one(s.Value)
	case *Partition:
		each(s.Of)
		for _, f := range s.Filters {
			for _, a := range f.Args {
				one(a.Value)
			}
		}
		if s.Over != nil {
			for _, a := range s.Over.Args {
				one(a.Value)
			}
		}
	case *Unpartition:
		each(s.Of)
		one(s.To)
	case *Acquire:
		for _, it := range s.Items {
			one(it.Of)
		}
	case *Release:
		for _, n := range s.Names {
			one(n)
		}
	case *Wait:
		each(s.Of)
	case *Checkpoint:
		one(s.Dir)
	case *Prefetch:
		each(s.Of)
		one(s.To)
		with(s.With)
	case *Hint:
		each(s.Of)
		with(s.With)
	case *Verb:
		each(s.Of)
	case *If:
		one(s.Cond)
	case *For:
		one(s.In)
	case *While:
		one(s.Cond)
	case *Return:
		one(s.Value)
	case *Assert:
		one(s.Cond)
		one(s.Message)
	case *Assign:
		one(s.Target)
		one(s.Value)
	case *ExprStmt:
		one(s.X)
	}
}

// Breaks reports whether a break leaves the loop that has the body list.
func Breaks(list []Stmt) bool {
	return leaves(list, func(s Stmt) bool { _, ok := s.(*Break); return ok })
}

// Jumps reports whether a break or continue in list belongs to the loop that has the body list.
func Jumps(list []Stmt) bool {
	return leaves(list, func(s Stmt) bool {
		switch s.(type) {
		case *Break, *Continue:
			return true
		}
		return false
	})
}

// leaves looks for a statement in list, but not in loops inside it.
func leaves(list []Stmt, is func(Stmt) bool) bool {
	for _, s := range list {
		for s != nil {
			if is(s) {
				return true
			}
			var next Stmt
			switch s := s.(type) {
			case *Block:
				if leaves(s.Stmts, is) {
					return true
				}
			case *If:
				if s.Then != nil && leaves(s.Then.Stmts, is) {
					return true
				}
				next = s.Else
			case *Acquire:
				if s.Body != nil && leaves(s.Body.Stmts, is) {
					return true
				}
			}
			s = next
		}
	}
	return false
}

// Chain returns b and the operators that it leans on to the left as long as same is true, nil for
// all: those of a + b + c and the like, the first applied to the last. Chains can be very long.
// Walk them with a loop.
func (b *Binary) Chain(same func(*Binary) bool) []*Binary {
	return b.appendChain(make([]*Binary, 0, 4), same) // inlined, so that short chains are on the caller's stack
}

func (b *Binary) appendChain(chain []*Binary, same func(*Binary) bool) []*Binary {
	chain = append(chain, b)
	for {
		left, ok := chain[len(chain)-1].X.(*Binary)
		if !ok || same != nil && !same(left) {
			slices.Reverse(chain)
			return chain
		}
		chain = append(chain, left)
	}
}
