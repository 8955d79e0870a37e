package analysis

// Element accesses that are certain to be out of bounds (E0601).

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// loop is a loop or a fold that runs an access in each of its rounds.
type loop struct {
	word   string // "each", "for", "sum"
	domain []ir.Range
	head   syntax.Span
	body   []*ir.Stmt
	value  *ir.Expr // of a fold, instead of body
}

// checkBounds reports accesses of list that are out of bounds. loops are the loops around
// list whose every round runs it: none if an `if` lies in between.
func (a *analysis) checkBounds(list []*ir.Stmt, loops []loop) {
	for _, s := range list {
		s.Exprs(func(e *ir.Expr) { a.checkExprBounds(e, loops) })
		if s.Kind == ir.StoreStmt || s.Kind == ir.ElementStmt {
			a.checkAccess(a.fn.Element(s), true, loops)
		}
		inner := loops
		switch s.Kind {
		case ir.IfStmt:
			inner = nil
		case ir.EachStmt:
			inner = a.addLoop(loops, loop{word: "each", domain: s.Domain, head: s.Head, body: s.Body})
		case ir.ForStmt:
			head := syntax.Span{Lo: s.Pos.Lo, Hi: s.Domain[0].Pos.Hi}
			inner = a.addLoop(loops, loop{word: "for", domain: s.Domain, head: head, body: s.Body})
		}
		a.checkBounds(s.Body, inner)
		a.checkBounds(s.Else, inner)
	}
}

// addLoop returns the loops around the body of lp: lp, and loops if lp is certain to have a
// round for data that is not empty.
func (a *analysis) addLoop(loops []loop, lp loop) []loop {
	for k := range lp.domain {
		first, last, ok := a.forms.bounds(&lp.domain[k])
		more := last.minus(first) // rounds after the first
		if n, isConst := more.constant(); ok && (isConst && n >= 0 || isSize(more) && n >= -1) {
			continue
		}
		return []loop{lp}
	}
	return append(loops[:len(loops):len(loops)], lp)
}

func (a *analysis) checkExprBounds(e *ir.Expr, loops []loop) {
	switch e.Op {
	case ir.OpLoad, ir.OpElement:
		a.checkAccess(e, false, loops)
	case ir.OpCond, ir.OpAnd, ir.OpOr:
		a.checkExprBounds(e.X[0], loops)
		for _, x := range e.X[1:] {
			a.checkExprBounds(x, nil)
		}
		return
	case ir.OpFold:
		for _, r := range e.Domain {
			a.checkExprBounds(r.Lo, loops)
			a.checkExprBounds(r.Hi, loops)
		}
		word := map[ir.Op]string{ir.OpAdd: "sum", ir.OpMul: "prod", ir.OpMin: "min", ir.OpMax: "max"}[e.Reduce]
		head := syntax.Span{Lo: e.Pos.Lo, Hi: e.Domain[len(e.Domain)-1].Pos.Hi}
		a.checkExprBounds(e.X[0], a.addLoop(loops, loop{word: word, domain: e.Domain, head: head, value: e.X[0]}))
		return
	}
	for _, x := range e.X {
		a.checkExprBounds(x, loops)
	}
}

// sizeOf returns the size of the data of the element at along an axis.
func (a *analysis) sizeOf(at *ir.Expr, axis int) linear {
	if at.Op == ir.OpElement {
		return linear{c: at.Int}
	}
	return a.dim(at.Operand, axis)
}

// nameOf returns the name of the data of the element at.
func (a *analysis) nameOf(at *ir.Expr) string {
	if at.Op == ir.OpElement {
		return a.fn.Slots[at.Slot].Name
	}
	return a.fn.Operands[at.Operand].Name
}

// checkAccess checks the access of one element.
func (a *analysis) checkAccess(at *ir.Expr, write bool, loops []loop) {
	for axis, x := range at.X {
		f, ok := a.forms.form(x)
		if !ok {
			continue
		}
		over := f.minus(a.sizeOf(at, axis))
		if v, isConst := f.constant(); isConst && v < 0 {
			a.reportOutOfBounds(at, write, true, fmt.Sprintf("is %d", v))
			return
		}
		if v, isConst := over.constant(); isConst && v >= 0 {
			d := a.reportOutOfBounds(at, write, false, "is "+a.forms.text(f))
			if at.Op == ir.OpElement {
				d.Help = append(d.Help, fmt.Sprintf("`%s` has %d %s: 0 to %d", a.nameOf(at), at.Int, ir.Noun{One: "element", Many: "elements"}.For(at.Int), at.Int-1))
			}
			return
		}
		slots := slotsOf(f)
		if len(slots) != 1 {
			continue
		}
		for _, lp := range loops {
			for k := range lp.domain {
				if lp.domain[k].Slot == slots[0] && a.checkLoopIndex(at, axis, write, f, lp, k) {
					return
				}
			}
		}
	}
}

// reportOutOfBounds reports E0601 for the element at.
func (a *analysis) reportOutOfBounds(at *ir.Expr, write, before bool, label string) *diag.Diagnostic {
	verb, where := "reads", "past the end of"
	if write {
		verb = "writes"
	}
	if before {
		where = "before the start of"
	}
	if at.Op == ir.OpLoad {
		a.outOfBounds[at.Operand] = true
	}
	d := a.err("E0601", at.Pos, fmt.Sprintf("`%s` %s %s `%s`", a.text(at.Pos), verb, where, a.nameOf(at)))
	d.Label = label
	return d
}

// checkLoopIndex checks an index whose linear form f depends on index k of a loop, and
// reports whether it is out of bounds.
func (a *analysis) checkLoopIndex(at *ir.Expr, axis int, write bool, f linear, lp loop, k int) bool {
	r := &lp.domain[k]
	first, last, ok := a.forms.bounds(r)
	rest, c := withoutSlot(f, r.Slot)
	if !ok || c != 1 && c != -1 {
		return false
	}
	atFirst, atLast := first.times(c).plus(rest), last.times(c).plus(rest)
	low, high, lowRound, highRound := atFirst, atLast, "first", "last"
	if c < 0 {
		low, high, lowRound, highRound = atLast, atFirst, "last", "first"
	}
	name := a.fn.Slots[r.Slot].Name
	size := a.sizeOf(at, axis)
	// The range of a row of a sparse matrix loads elements that the source does not show.
	hidden := !strings.HasPrefix(a.text(at.Pos), a.nameOf(at)+"[")
	clampText := func(format string, args ...any) string {
		parts := make([]string, len(at.X))
		for m, x := range at.X {
			parts[m] = a.text(x.Pos)
			if m == axis {
				parts[m] = fmt.Sprintf(format, append([]any{parts[m]}, args...)...)
			}
		}
		return fmt.Sprintf("%s[%s]", a.nameOf(at), strings.Join(parts, ", "))
	}
	if v, isConst := high.minus(size).constant(); isConst && v >= 0 {
		d := a.reportOutOfBounds(at, write, false, fmt.Sprintf("is %s in the %s round", a.forms.text(high), highRound))
		lo, hi := first, last
		if c > 0 {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs to %s", name, a.forms.text(last))})
			hi.c -= v + 1
		} else {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs from %s", name, a.forms.text(first))})
			lo.c += v + 1
		}
		one, isConst := first.constant()
		fromOne := isConst && one == 1 && c == 1 && v == 0 && len(rest.terms) == 0 && rest.c == 0 && !a.accessesBeforeStart(lp, r.Slot)
		switch {
		case fromOne:
			head := a.loopHead(lp, k, linear{}, hi)
			d.Help = append(d.Help, fmt.Sprintf("indices count from 0: write `%s`", head))
			d.Edit(a.at(lp.head), head)
		case write || hidden || r.Closed && c == 1 && v == 0:
			head := a.loopHead(lp, k, lo, hi)
			d.Help = append(d.Help, fmt.Sprintf("write `%s`", head))
			d.Edit(a.at(lp.head), head)
		default:
			d.Help = append(d.Help, fmt.Sprintf("write `%s`, or clamp: `%s`", a.loopHead(lp, k, lo, hi), clampText("min(%s, %s)", a.forms.text(size.plus(linear{c: -1})))))
			d.Edit(d.Span, clampText("min(%s, %s)", a.forms.text(size.plus(linear{c: -1}))))
		}
		return true
	}
	if v, isConst := low.constant(); isConst && v < 0 {
		d := a.reportOutOfBounds(at, write, true, fmt.Sprintf("is %d in the %s round", v, lowRound))
		lo, hi := first, last
		if c > 0 {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs from %s", name, a.forms.text(first))})
			lo.c -= v
		} else {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs to %s", name, a.forms.text(last))})
			hi.c += v
		}
		head := a.loopHead(lp, k, lo, hi)
		if write || hidden {
			d.Help = append(d.Help, fmt.Sprintf("write `%s`", head))
			d.Edit(a.at(lp.head), head)
		} else {
			d.Help = append(d.Help, fmt.Sprintf("write `%s`, or clamp: `%s`", head, clampText("max(%s, 0)")))
			d.Edit(d.Span, clampText("max(%s, 0)"))
		}
		return true
	}
	return false
}

// accessesBeforeStart reports whether some index in lp is negative if the index of slot is 0,
// as in x[i - 1].
func (a *analysis) accessesBeforeStart(lp loop, slot int) bool {
	found := false
	index := func(list []*ir.Expr) {
		for _, x := range list {
			if f, ok := a.forms.form(x); ok {
				rest, c := withoutSlot(f, slot)
				v, isConst := rest.constant()
				found = found || isConst && v < 0 && c > 0
			}
		}
	}
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(e *ir.Expr) bool {
			if e.Op == ir.OpLoad || e.Op == ir.OpElement {
				index(e.X)
			}
			return true
		})
	}
	look(lp.value)
	ir.WalkStmts(lp.body, func(s *ir.Stmt) {
		index(s.Index)
		s.Exprs(look)
	})
	return found
}

// loopHead returns the source of the head of lp with other bounds for index k.
func (a *analysis) loopHead(lp loop, k int, first, last linear) string {
	names := make([]string, len(lp.domain))
	ranges := make([]string, len(lp.domain))
	for m := range lp.domain {
		r := &lp.domain[m]
		names[m] = a.fn.Slots[r.Slot].Name
		switch {
		case m == k:
			last.c++
			ranges[m] = a.forms.text(first) + ".." + a.forms.text(last)
		case r.Over >= 0:
			ranges[m] = "0.." + a.axisName(r.Over, m)
		default:
			ranges[m] = a.text(r.Pos)
		}
	}
	return fmt.Sprintf("%s %s in %s", lp.word, strings.Join(names, ", "), strings.Join(ranges, ", "))
}
