package kernel

// Index analysis: element accesses that are certain to lie outside (E0601).

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// analysis holds the checks that look at a whole lowered body.
type analysis struct {
	l  *lowerer
	fn *Func
	z  *linearizer
}

// analyse runs every check over a lowered body.
func (l *lowerer) analyse(c *syntax.Codelet, sig *types.Signature) {
	a := &analysis{l: l, fn: l.fn, z: newLinearizer(l.fn)}
	a.outside(l.fn.Body)
	a.races(l.fn.Body)
	a.early()
	a.borders()
	a.unused(c, sig)
}

func (a *analysis) err(code string, at syntax.Span, msg string) *diag.Diagnostic {
	return a.l.err(code, at, msg)
}

func (a *analysis) at(s syntax.Span) diag.Span   { return a.l.f.At(s) }
func (a *analysis) text(s syntax.Span) string    { return sourceText(a.l.f.Source, s) }
func (a *analysis) dim(op, axis int) linear      { return dimension(op, axis) }
func (a *analysis) axisName(op, axis int) string { return a.z.text(a.dim(op, axis)) }

// loop is an each or a fold around an access that runs whenever it runs.
type loop struct {
	word   string // "each", "sum"
	domain []Range
	head   syntax.Span
}

// outside looks for accesses outside, in statements that always run.
func (a *analysis) outside(list []*Stmt) {
	for _, s := range list {
		a.stmtOutside(s, nil, true)
	}
}

// stmtOutside checks s. certain: s runs in every round of the loops.
func (a *analysis) stmtOutside(s *Stmt, loops []loop, certain bool) {
	inner, sure := loops, certain
	switch s.Kind {
	case EachStmt:
		inner = append(loops[:len(loops):len(loops)], loop{"each", s.Domain, s.Head})
	case IfStmt, ForStmt:
		sure = false
	}
	s.exprs(func(e *Expr) { a.exprOutside(e, loops, certain) })
	if s.Kind == StoreStmt {
		a.access(s.Operand, s.Index, s.Target, true, loops, certain)
	}
	for _, b := range s.Body {
		// what stands in a for or an if inside an each may not run; an each
		// inside them has rounds of its own, and those count
		a.stmtOutside(b, inner, sure || b.Kind == EachStmt)
	}
	for _, b := range s.Else {
		a.stmtOutside(b, inner, sure || b.Kind == EachStmt)
	}
}

func (a *analysis) exprOutside(e *Expr, loops []loop, certain bool) {
	switch e.Op {
	case OpLoad:
		a.access(e.Operand, e.X, e.Pos, false, loops, certain)
	case OpCond, OpAnd, OpOr:
		a.exprOutside(e.X[0], loops, certain)
		for _, x := range e.X[1:] {
			a.exprOutside(x, loops, false)
		}
		return
	case OpFold:
		for _, r := range e.Domain {
			a.exprOutside(r.Lo, loops, certain)
			a.exprOutside(r.Hi, loops, certain)
		}
		word := map[Op]string{OpAdd: "sum", OpMul: "prod", OpMin: "min", OpMax: "max"}[e.Reduce]
		head := syntax.Span{Lo: e.Pos.Lo, Hi: e.Domain[len(e.Domain)-1].Pos.Hi}
		// the rounds of a fold are certain to run only if its own index decides
		a.exprOutside(e.X[0], []loop{{word, e.Domain, head}}, true)
		return
	}
	for _, x := range e.X {
		a.exprOutside(x, loops, certain)
	}
}

// access checks one element access.
func (a *analysis) access(op int, index []*Expr, at syntax.Span, write bool, loops []loop, certain bool) {
	for axis, x := range index {
		f, ok := a.z.form(x)
		if !ok {
			continue
		}
		over := f.minus(a.dim(op, axis))
		if v, isConst := f.constant(); isConst && v < 0 {
			a.reportOutside(op, at, write, true, fmt.Sprintf("is %d", v))
			return
		}
		if v, isConst := over.constant(); isConst && v >= 0 {
			a.reportOutside(op, at, write, false, "is "+a.z.text(f))
			return
		}
		slots := f.slots()
		if !certain || len(slots) != 1 {
			continue
		}
		for _, lp := range loops {
			for k := range lp.domain {
				if lp.domain[k].Slot == slots[0] && a.runsOutside(op, axis, index, at, write, f, lp, k) {
					return
				}
			}
		}
	}
}

func (a *analysis) reportOutside(op int, at syntax.Span, write, before bool, label string) *diag.Diagnostic {
	verb, where := "reads", "past the end of"
	if write {
		verb = "writes"
	}
	if before {
		where = "before the start of"
	}
	d := a.err("E0601", at, fmt.Sprintf("`%s` %s %s `%s`", a.text(at), verb, where, a.fn.Operands[op].Name))
	d.Label = label
	return d
}

// runsOutside checks an index that follows index k of a loop.
func (a *analysis) runsOutside(op, axis int, index []*Expr, at syntax.Span, write bool, f linear, lp loop, k int) bool {
	r := &lp.domain[k]
	first, last, ok := a.z.bounds(r)
	rest, c := f.without(r.Slot)
	if !ok || c != 1 && c != -1 {
		return false
	}
	atFirst, atLast := first.times(c).plus(rest), last.times(c).plus(rest)
	low, high, lowRound, highRound := atFirst, atLast, "first", "last"
	if c < 0 {
		low, high, lowRound, highRound = atLast, atFirst, "last", "first"
	}
	name := a.fn.Slots[r.Slot].Name
	size := a.dim(op, axis)
	clampText := func(format string, args ...any) string {
		parts := make([]string, len(index))
		for m, x := range index {
			parts[m] = a.text(x.Pos)
			if m == axis {
				parts[m] = fmt.Sprintf(format, append([]any{parts[m]}, args...)...)
			}
		}
		return fmt.Sprintf("%s[%s]", a.fn.Operands[op].Name, strings.Join(parts, ", "))
	}
	if v, isConst := high.minus(size).constant(); isConst && v >= 0 {
		d := a.reportOutside(op, at, write, false, fmt.Sprintf("is %s in the %s round", a.z.text(high), highRound))
		lo, hi := first, last
		if c > 0 {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs to %s", name, a.z.text(last))})
			hi.c -= v + 1
		} else {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs from %s", name, a.z.text(first))})
			lo.c += v + 1
		}
		d.Help = append(d.Help, fmt.Sprintf("write `%s`, or clamp: `%s`", a.newHead(lp, k, lo, hi), clampText("min(%s, %s)", a.z.text(size.plus(linear{c: -1})))))
		d.Edit(d.Span, clampText("min(%s, %s)", a.z.text(size.plus(linear{c: -1}))))
		return true
	}
	if v, isConst := low.constant(); isConst && v < 0 {
		d := a.reportOutside(op, at, write, true, fmt.Sprintf("is %d in the %s round", v, lowRound))
		lo, hi := first, last
		if c > 0 {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs from %s", name, a.z.text(first))})
			lo.c -= v
		} else {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(lp.head), Text: fmt.Sprintf("`%s` runs to %s", name, a.z.text(last))})
			hi.c += v
		}
		d.Help = append(d.Help, fmt.Sprintf("write `%s`, or clamp: `%s`", a.newHead(lp, k, lo, hi), clampText("max(%s, 0)")))
		d.Edit(d.Span, clampText("max(%s, 0)"))
		return true
	}
	return false
}

// newHead writes the head of a loop with other bounds for index k.
func (a *analysis) newHead(lp loop, k int, first, last linear) string {
	names := make([]string, len(lp.domain))
	ranges := make([]string, len(lp.domain))
	for m := range lp.domain {
		r := &lp.domain[m]
		names[m] = a.fn.Slots[r.Slot].Name
		switch {
		case m == k:
			last.c++
			ranges[m] = a.z.text(first) + ".." + a.z.text(last)
		case r.Over >= 0:
			ranges[m] = "0.." + a.axisName(r.Over, m)
		default:
			ranges[m] = a.text(r.Pos)
		}
	}
	return fmt.Sprintf("%s %s in %s", lp.word, strings.Join(names, ", "), strings.Join(ranges, ", "))
}
