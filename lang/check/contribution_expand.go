package check

// Contributions: what the names of a body stand for.

import (
	"slices"

	"github.com/starpush/starpush/lang/syntax"
)

// maxExpanded is how large an expression becomes when names of let are replaced.
const maxExpanded = 400

// unsureName is what stands for a local that may hold something of the operand.
const unsureName = "?"

// expand replaces the names of let in e by their values, so that expressions that compute
// the same are the same, and takes the parentheses away.
func (b *bodyUse) expand(e syntax.Expr) syntax.Expr {
	size := 0
	var sub func(e syntax.Expr) syntax.Expr
	list := func(es []syntax.Expr) []syntax.Expr {
		out := slices.Clone(es)
		for k, x := range out {
			out[k] = sub(x)
		}
		return out
	}
	sub = func(e syntax.Expr) syntax.Expr {
		size++
		switch x := e.(type) {
		case *syntax.Paren:
			return sub(x.X)
		case *syntax.Ident:
			l := b.names.Lookup(x.Name)
			if l == nil {
				return b.operand(x)
			}
			if l.value != nil && size < maxExpanded {
				if size += sizeOf(l.value); size < maxExpanded {
					return l.value
				}
			}
			if l.now {
				return &syntax.Ident{Name: unsureName}
			}
			return &syntax.Ident{Name: l.name()}
		case *syntax.Unary:
			c := *x
			c.X = sub(x.X)
			return &c
		case *syntax.Binary:
			c := *x
			c.X, c.Y = sub(x.X), sub(x.Y)
			return &c
		case *syntax.RangeExpr:
			c := *x
			c.Lo, c.Hi = sub(x.Lo), sub(x.Hi)
			return &c
		case *syntax.Cond:
			return &syntax.Cond{If: sub(x.If), Then: sub(x.Then), Else: sub(x.Else)}
		case *syntax.Call:
			c := *x
			c.Args = nil
			for _, a := range x.Args {
				v := *a
				v.Value = sub(a.Value)
				c.Args = append(c.Args, &v)
			}
			if calledName(x) == "select" && len(c.Args) == 3 {
				return &syntax.Cond{If: c.Args[0].Value, Then: c.Args[1].Value, Else: c.Args[2].Value}
			}
			return &c
		case *syntax.Index:
			c := *x
			c.Args = list(x.Args)
			if id, ok := unparen(x.X).(*syntax.Ident); ok {
				c.X = b.operand(id)
			}
			return &c
		case *syntax.Fold:
			b.names = b.names.Inner()
			for _, id := range x.Names {
				b.names.Insert(id.Name, b.locals.of[id])
			}
			c := *x
			c.Domain, c.Body = slices.Clone(x.Domain), sub(x.Body)
			b.names = b.names.Parent
			for k, d := range c.Domain {
				if _, size := unparen(d).(*syntax.Ident); !size { // of an operand only the size
					c.Domain[k] = sub(d)
				}
			}
			return &c
		}
		return e
	}
	return sub(e)
}

// operand is the name id of an operand in an expanded expression; of the one that is
// looked at, where it was read is kept.
func (b *bodyUse) operand(id *syntax.Ident) syntax.Expr {
	if id.Name != b.param {
		return id
	}
	read := &syntax.Ident{Name: id.Name}
	b.read[read] = len(b.writes)
	return read
}

// sizeOf is the number of parts of e, or some number from maxExpanded on.
func sizeOf(e syntax.Expr) (n int) {
	walkExpr(e, func(syntax.Expr) bool { n++; return n < maxExpanded })
	return n
}
