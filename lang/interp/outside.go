package interp

// Indices outside of lists and arrays: what is said about them.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// outside raises R0105 for the index k of what, which has n items.
func (m *Machine) outside(at place, k int64, n int, what, item string) {
	d := m.diagnostic("R0105", at, fmt.Sprintf("index %d is outside of %s", k, what))
	switch {
	case n == 0:
		d.Label = "it is empty"
	case n == 1:
		d.Label = fmt.Sprintf("it has one %s: 0", item)
	default:
		d.Label = fmt.Sprintf("it has %d %ss: 0 to %d", n, item, n-1)
	}
	if k < 0 {
		d.Help = []string{fmt.Sprintf("indices count from 0; the last one is `len(%s) - 1`", firstName(at))}
	}
	whence(d, at, n)
	m.raise(d)
}

// whence adds to d where the index at a place comes from: the range of the loop around
// it, with the edit that ends the loop before n if the loop ends there by its text, or
// the literal that counts from the end.
func whence(d *diag.Diagnostic, at place, n int) {
	if at.file == nil {
		return
	}
	syntax.Walk(at.file, func(node syntax.Node, around []syntax.Node) {
		e, ok := node.(*syntax.Index)
		if !ok || e.Span != at.at {
			return
		}
		for _, arg := range e.Args {
			if back, ok := arg.(*syntax.Unary); ok && back.Op == "-" && len(e.Args) == 1 {
				_, name := e.X.(*syntax.Ident)
				if lit, ok := back.X.(*syntax.IntLit); ok && name && lit.Value > 0 && lit.Value <= int64(n) {
					right := fmt.Sprintf("len(%s) - %d", firstName(at), lit.Value)
					d.Help = []string{fmt.Sprintf("indices count from 0; from the end that is `%s`", right)}
					d.Edit(at.file.At(arg), right)
				}
			}
			if in, name := loopAround(arg, around); in != nil {
				d.Labels = append(d.Labels, diag.Label{Span: at.file.At(in), Text: fmt.Sprintf("`%s` comes from this range", name.Name)})
				r, ok := in.(*syntax.RangeExpr)
				if ok && r.Closed && arg == syntax.Expr(name) && endsAt(at, r.Hi, e.X, n) {
					right := sourceOf(at, r.Lo) + ".." + sourceOf(at, r.Hi)
					d.Help = append(d.Help, fmt.Sprintf("`..=` includes its end: write `%s`", right))
					d.Edit(at.file.At(r), right)
				}
				return
			}
		}
	})
}

// loopAround finds the range of the loop that names something in arg, and that name.
func loopAround(arg syntax.Expr, around []syntax.Node) (in syntax.Expr, name *syntax.Ident) {
	switch x := arg.(type) {
	case *syntax.Ident:
		for i := len(around) - 1; i >= 0; i-- {
			switch loop := around[i].(type) {
			case *syntax.For:
				for _, id := range loop.Names {
					if id.Obj == x.Obj && x.Obj != nil {
						return loop.In, x
					}
				}
			case *syntax.ListComp:
				if loop.Var != nil && loop.Var.Obj == x.Obj && x.Obj != nil {
					return loop.In, x
				}
			}
		}
	case *syntax.Paren:
		return loopAround(x.X, around)
	case *syntax.Unary:
		return loopAround(x.X, around)
	case *syntax.Binary:
		if in, name = loopAround(x.X, around); in == nil {
			in, name = loopAround(x.Y, around)
		}
	}
	return in, name
}

// endsAt reports whether hi is n by its text: the number itself, or the length or a
// size of x.
func endsAt(at place, hi, x syntax.Expr, n int) bool {
	switch e := hi.(type) {
	case *syntax.IntLit:
		return e.Value == int64(n)
	case *syntax.Call:
		fn, ok := e.Fn.(*syntax.Ident)
		return ok && fn.Name == "len" && len(e.Args) == 1 && sourceOf(at, e.Args[0].Value) == sourceOf(at, x)
	case *syntax.Selector:
		return e.Name.Name == "n" && sourceOf(at, e.X) == sourceOf(at, x)
	}
	return false
}

// sourceOf is the text of a part of the file of at.
func sourceOf(at place, n syntax.Node) string { return place{at.file, n.Range()}.source() }
