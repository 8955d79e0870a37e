package check

// Reads of elements that were acquired W before the script wrote any of them (E0607).

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// earlyUse is one use of an array in the statements that hold it.
type earlyUse struct {
	at   syntax.Expr
	end  int32         // what stands behind this place comes later
	path []syntax.Node // the blocks around it that may run no time, or several times
}

// earlyUses collects what the statements behind an acquire do with its array.
type earlyUses struct {
	of     *types.Object
	path   []syntax.Node
	reads  []earlyUse
	others []earlyUse // stores, and whatever may be one
	over   bool       // it may be released: what reads it then is told so
}

// earlyReads looks at the unit.
func (c *checker) earlyReads() {
	outside := map[*types.Object]bool{}
	for _, f := range c.funcs {
		if f.Body == nil {
			continue
		}
		c.earlyReadsOf(f.Body.Stmts, nil)
		walkStmts(f.Body.Stmts, func(e syntax.Expr) {
			walkExpr(e, func(e syntax.Expr) bool {
				if id, ok := e.(*syntax.Ident); ok && id.Obj != nil && id.Obj.Kind == types.ArrayObject {
					outside[id.Obj] = true
				}
				return true
			})
		})
	}
	c.earlyReadsOf(c.f.Stmts, outside)
}

// earlyReadsOf reports the first read of each array that list acquires W and that nothing
// can have written before. Functions may name an array of the top level: outside are those
// that one does.
func (c *checker) earlyReadsOf(list []syntax.Stmt, outside map[*types.Object]bool) {
	within := func(list []syntax.Stmt) {
		for i, s := range list {
			a, ok := s.(*syntax.Acquire)
			if !ok {
				continue
			}
			held := list[i+1:]
			if a.Body != nil {
				held = a.Body.Stmts
			}
			for _, it := range a.Items {
				if it.Mode == iface.W && it.As != nil && it.As.Obj != nil && !outside[it.As.Obj] {
					c.earlyRead(it, held)
				}
			}
		}
	}
	within(list)
	for _, s := range list {
		walkNested(s, func(s syntax.Stmt) {
			switch s := s.(type) {
			case *syntax.Block:
				within(s.Stmts)
			case *syntax.For:
				within(s.Body.Stmts)
			case *syntax.While:
				within(s.Body.Stmts)
			case *syntax.Acquire:
				if s.Body != nil {
					within(s.Body.Stmts)
				}
			case *syntax.If:
				within(s.Then.Stmts)
			}
		})
	}
}

func (c *checker) earlyRead(it *syntax.AcquireItem, held []syntax.Stmt) {
	u := &earlyUses{of: it.As.Obj}
	u.stmts(held)
	for _, r := range u.reads {
		if slices.ContainsFunc(u.others, func(o earlyUse) bool { return !r.before(o) }) {
			continue
		}
		d := c.err("E0607", r.at, fmt.Sprintf("`%s` is acquired W, and this reads it before anything is written to it", it.As.Name))
		d.Label = "what it held before is not there"
		d.Labels = append(d.Labels, diag.Label{Span: c.f.At(it.ModeAt), Text: "W does not fetch the old value"})
		d.Help = append(d.Help, fmt.Sprintf("write `acquire RW %s as %s`, or R if it is only read; or write it first", c.text(it.Of), it.As.Name))
		mode := "RW"
		if len(u.others) == 0 {
			mode = "R"
		}
		d.Edit(c.f.At(it.ModeAt), mode)
		return
	}
}

// before reports whether the read r comes before o wherever both run. In a loop around both
// a round in which r is left out may come to o first.
func (r *earlyUse) before(o earlyUse) bool {
	n := 0
	for n < min(len(r.path), len(o.path)) && r.path[n] == o.path[n] {
		n++
	}
	if o.end <= r.end {
		return false
	}
	for _, around := range r.path[:n] {
		if _, branch := around.(*syntax.If); !branch {
			return n == len(r.path)
		}
	}
	return true
}

// in walks over what n holds that may run no time, or several times.
func (u *earlyUses) in(n syntax.Node, walk func()) {
	u.path = append(u.path, n)
	walk()
	u.path = u.path[:len(u.path)-1]
}

func (u *earlyUses) stmts(list []syntax.Stmt) {
	for _, s := range list {
		u.stmt(s)
	}
}

func (u *earlyUses) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Assign:
		u.expr(s.Value)
		e, ok := unparen(s.Target).(*syntax.Index)
		if !ok || !u.is(e.X) {
			u.expr(s.Target)
			return
		}
		for _, x := range e.Args {
			u.expr(x)
		}
		if s.Op != "=" {
			u.read(e)
		}
		u.others = append(u.others, earlyUse{e, s.Hi + 1, slices.Clone(u.path)})
	case *syntax.Block:
		u.stmts(s.Stmts)
	case *syntax.If:
		u.expr(s.Cond)
		u.in(s, func() { u.stmts(s.Then.Stmts) })
		if s.Else != nil {
			u.in(s.Else, func() { u.stmt(s.Else) })
		}
	case *syntax.For:
		u.expr(s.In)
		u.in(s, func() { u.stmts(s.Body.Stmts) })
	case *syntax.While:
		u.expr(s.Cond)
		u.in(s, func() { u.stmts(s.Body.Stmts) })
	case *syntax.Acquire:
		exprsOf(s, u.expr)
		if s.Body != nil {
			u.stmts(s.Body.Stmts)
		}
	case *syntax.Release:
		u.over = u.over || slices.ContainsFunc(s.Names, func(n *syntax.Ident) bool { return n.Obj == u.of })
	default:
		exprsOf(s, u.expr)
	}
}

func (u *earlyUses) is(e syntax.Expr) bool {
	id, ok := unparen(e).(*syntax.Ident)
	return ok && id.Obj == u.of
}

func (u *earlyUses) read(e syntax.Expr) {
	if u.over {
		return
	}
	u.reads = append(u.reads, earlyUse{e, e.Range().Hi, slices.Clone(u.path)})
}

// expr looks for uses in e: elements are read, sizes are not, and an array that is passed on
// may be written.
func (u *earlyUses) expr(e syntax.Expr) {
	walkExpr(e, func(e syntax.Expr) bool {
		switch x := e.(type) {
		case *syntax.Index:
			if u.is(x.X) {
				for _, a := range x.Args {
					u.expr(a)
				}
				u.read(x)
				return false
			}
		case *syntax.Selector:
			return !u.is(x.X)
		case *syntax.Call:
			if name := calledName(x); name == "len" && len(x.Args) == 1 && u.is(x.Args[0].Value) {
				return false
			}
		case *syntax.Ident:
			if u.is(x) {
				u.others = append(u.others, earlyUse{x, x.Hi, slices.Clone(u.path)})
			}
		case *syntax.Binary:
			if x.Op == "and" || x.Op == "or" {
				u.expr(x.X)
				u.in(x, func() { u.expr(x.Y) })
				return false
			}
		case *syntax.Cond:
			u.expr(x.If)
			u.in(x, func() { u.expr(x.Then) })
			u.in(x, func() { u.expr(x.Else) })
			return false
		case *syntax.ListComp:
			u.expr(x.In)
			u.in(x, func() { u.expr(x.Item) })
			return false
		}
		return true
	})
}
