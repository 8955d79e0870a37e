package check

// Lists of other languages: one that is repeated by `*`, and quotients where whole
// numbers are wanted.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func isIntList(t *types.Type) bool {
	return t != nil && t.Kind == types.List && t.Of != nil && t.Of.Kind == types.Int
}

// repeated adds to d, which is about the list and the number of b, the comprehension
// that has the item so often.
func (c *checker) repeated(d *diag.Diagnostic, b *syntax.Binary) {
	list, times := b.X, b.Y
	if isType(b.Y, types.List) {
		list, times = b.Y, b.X
	}
	l, ok := unparen(list).(*syntax.ListLit)
	if !ok || len(l.Items) != 1 {
		if t := list.Type(); t.Of != nil && t.Of.IsNumber() {
			x := c.unusedName(b, "x")
			d.Help = append(d.Help, fmt.Sprintf("for each of its items write `[%s * %s for %s in %s]`; lists are joined by `+`", x, c.text(times), x, c.text(list)))
		}
		return
	}
	item, name := l.Items[0], c.unusedName(b, "k")
	repeat := func(item string) string {
		return fmt.Sprintf("[%s for %s in 0..%s]", item, name, c.text(times))
	}
	if calls(item) { // once, not so often
		d.Help = append(d.Help, fmt.Sprintf("write `let v = %s`, then `%s`", c.text(item), repeat("v")))
		return
	}
	right := repeat(c.text(item))
	edit := func() {
		if c.text(b.OpAt) == "*" { // and not *=
			d.Edit(c.f.At(b), right)
		}
	}
	ops, whole := c.quotients(item)
	switch {
	case whole && c.wantsInts:
		right = repeat(c.roundedDown(item, ops))
		d.Help = append(d.Help, fmt.Sprintf("write `%s`: `/` always gives a float, `//` rounds down", right))
		edit()
		return
	case whole:
		d.Help = append(d.Help, fmt.Sprintf("write `%s`; `/` always gives a float: for whole numbers, as sizes are, `%s`", right, repeat(c.roundedDown(item, ops))))
		return
	}
	d.Help = append(d.Help, "write `"+right+"`")
	edit()
	d.Sure()
}

// unusedName is a name that e does not mention: the one that is wanted, if it can be.
func (c *checker) unusedName(e syntax.Expr, wanted string) string {
	used := map[string]bool{}
	walkExpr(e, func(x syntax.Expr) bool {
		if id, ok := x.(*syntax.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	for _, name := range []string{wanted, "i", "j"} {
		if !used[name] {
			return name
		}
	}
	return "index"
}

// calls reports whether something is called or inserted in e.
func calls(e syntax.Expr) bool {
	found := false
	walkExpr(e, func(x syntax.Expr) bool {
		switch x.(type) {
		case *syntax.Call, *syntax.Insert:
			found = true
		}
		return !found
	})
	return found
}

// quotients lists the `/` of whole numbers that make e a float, or a list of floats; ok
// when nothing else does.
func (c *checker) quotients(e syntax.Expr) (ops []syntax.Span, ok bool) {
	ok = true
	var walk func(e syntax.Expr)
	walk = func(e syntax.Expr) {
		t := e.Type()
		for t != nil && t.Kind == types.List {
			t = t.Of
		}
		if t == nil || t.Kind != types.Float {
			ok = ok && t != nil && t.Kind == types.Int
			return
		}
		switch e := e.(type) {
		case *syntax.Paren:
			walk(e.X)
		case *syntax.Unary:
			walk(e.X)
		case *syntax.Cond:
			walk(e.Then)
			walk(e.Else)
		case *syntax.ListComp:
			walk(e.Item)
		case *syntax.ListLit:
			for _, x := range e.Items {
				walk(x)
			}
		case *syntax.Binary:
			if e.Op == "/" {
				ops = append(ops, e.OpAt)
			}
			walk(e.X)
			walk(e.Y)
		default:
			ok = false
		}
	}
	walk(e)
	return ops, ok && len(ops) > 0
}

// roundedDown is the text of e with `//` for each of the `/` in ops.
func (c *checker) roundedDown(e syntax.Expr, ops []syntax.Span) string {
	at, text := e.Range(), c.f.Source.Text
	var b strings.Builder
	lo := at.Lo
	for _, op := range ops {
		b.WriteString(text[lo:op.Lo] + "//")
		lo = op.Hi
	}
	b.WriteString(text[lo:at.Hi])
	return b.String()
}

// floatsForInts adds to d, about the list e of floats that should be ints, where to
// round down: in e, or in the let whose name e is. Nothing when something else makes
// them floats.
func (c *checker) floatsForInts(d *diag.Diagnostic, e syntax.Expr) {
	from, before := e, ""
	if id, ok := unparen(e).(*syntax.Ident); ok && id.Obj != nil && c.infos[id.Obj] != nil && c.infos[id.Obj].let != nil {
		let := c.infos[id.Obj].let
		if let.Type != nil {
			return
		}
		from, before = let.Value, "let "+id.Name+" = "
	}
	ops, ok := c.quotients(from)
	if !ok {
		return
	}
	if from != e {
		d.Labels = append(d.Labels, c.label(from, "floats from here on: `/` always gives them"))
	}
	d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; to round down write `%s%s`", before, c.roundedDown(from, ops)))
	for _, op := range ops {
		d.Edit(c.f.At(op), "//")
	}
}
