package kernel

// A float where an int is needed: how it becomes one.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// toInt adds to d how the float x becomes an int: a literal without a fraction is
// written without its point, a quotient of ints rounds down with //, and else int(…)
// cuts off the fraction. A name of let points at the value that it was given.
func (l *lowerer) toInt(d *diag.Diagnostic, x syntax.Expr) {
	value := x
	for {
		if p, ok := value.(*syntax.Paren); ok {
			value = p.X
			continue
		}
		break
	}
	if id, ok := value.(*syntax.Ident); ok {
		if en := l.find(id.Name); en != nil && en.value != nil {
			value = en.value
			d.Labels = append(d.Labels, diag.Label{Span: l.f.At(value), Text: "a float from here on"})
		}
	}
	switch v := value.(type) {
	case *syntax.FloatLit:
		if whole := v.Whole(); whole != "" {
			d.Help = append(d.Help, "write `"+whole+"`")
			d.Edit(l.f.At(v), whole)
			d.Sure()
			return
		}
	case *syntax.Binary:
		if v.Op == "/" && l.isInt(v.X) && l.isInt(v.Y) {
			d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; write `%s // %s` to round down", l.text(v.X), l.text(v.Y)))
			d.Edit(l.f.At(v.OpAt), "//")
			return
		}
	}
	d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", l.text(x)))
	d.Edit(l.f.At(x), "int("+l.text(x)+")")
}

// fromFloat adds to d that a name of let that began as a whole number, as `let s = 0`, begins
// as a float instead; false when target is no such name.
func (l *lowerer) fromFloat(d *diag.Diagnostic, target syntax.Expr) bool {
	id, ok := unparen(target).(*syntax.Ident)
	if !ok {
		return false
	}
	en := l.find(id.Name)
	if en == nil || en.kind != letEntry || en.value == nil {
		return false
	}
	first := en.value
	if u, ok := first.(*syntax.Unary); ok && u.Op == "-" {
		first = u.X
	}
	if _, ok := first.(*syntax.IntLit); !ok || strings.Trim(l.text(first), "0123456789_") != "" {
		return false
	}
	d.Labels = append(d.Labels, diag.Label{Span: l.f.At(en.value), Text: "an int from here on"})
	d.Help = append(d.Help, fmt.Sprintf("write `let %s = %s.0`, which makes it a float", id.Name, l.text(en.value)))
	d.Edit(l.f.At(en.value), l.text(en.value)+".0")
	l.fn.Slots[en.slot].Type = Open // said once
	return true
}

// isInt reports whether x is an int by what it is made of: literals and names of ints.
func (l *lowerer) isInt(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.IntLit:
		return true
	case *syntax.Paren:
		return l.isInt(x.X)
	case *syntax.Unary:
		return x.Op == "-" && l.isInt(x.X)
	case *syntax.Binary:
		return x.Op != "/" && l.isInt(x.X) && l.isInt(x.Y)
	case *syntax.Ident:
		en := l.find(x.Name)
		return en != nil && (en.kind == indexEntry || en.kind == scalarEntry && en.typ != nil && en.typ.Kind == types.Int || en.value != nil && l.isInt(en.value))
	case *syntax.Selector:
		return true // fields are sizes and places
	}
	return false
}
