package analysis

// Contributions that are computed in another type than that of the elements.
//
// A task that contributes (REDUX) works on a copy that begins with the neutral element, and
// the copies are combined later, in the type of the elements. That has the result of the
// same tasks run one after the other only if the body combines in that type, too: the largest
// u64, with which a min begins, is -1 as an i64. Sums and products of integers are an
// exception: any wider integer type will do, because the bits that a store keeps do not
// depend on those that it drops.

import (
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// MixedContribution finds where the body computes its contribution to an operand in
// another type than that of its elements, so that combining copies by reduce (sum, prod,
// min or max) would differ from running the tasks one by one. It returns the position in
// the source, the type there and the type of the elements.
func MixedContribution(fn *ir.Func, operand, reduce string) (at syntax.Span, in, elem ir.Type, found bool) {
	m := &contributionSearch{fn: fn, operand: -1, minMax: reduce == "min" || reduce == "max", slots: make([]carried, len(fn.Slots))}
	for k := range fn.Operands {
		if fn.Operands[k].Name == operand {
			m.operand = k
		}
	}
	if m.operand < 0 {
		return at, in, elem, false
	}
	if m.elem = fn.Operands[m.operand].Elem.Part(); m.elem.Is16() {
		m.elem = ir.F32
	}
	for m.changed = true; m.changed; { // the next round of a loop uses the value that a local has at the end of one
		m.changed = false
		ir.WalkStmts(fn.Body, m.stmt)
	}
	if m.first == nil {
		return at, in, elem, false
	}
	in = m.first.Type
	if in == ir.Bool {
		in = m.first.X[0].Type
	}
	return m.first.Pos, in, m.elem, true
}

// contributionSearch is the state of MixedContribution.
type contributionSearch struct {
	fn      *ir.Func
	operand int
	elem    ir.Type
	minMax  bool
	slots   []carried
	changed bool
	first   *ir.Expr // the result
}

// carried is how the value of an expression or a local depends on the operand.
type carried struct {
	carries bool     // it is computed from an element of the operand
	at      *ir.Expr // the part that is computed in another type, or nil
}

func (a carried) join(b carried) carried {
	if a.at == nil {
		a.at = b.at
	}
	a.carries = a.carries || b.carries
	return a
}

func (m *contributionSearch) stmt(s *ir.Stmt) {
	if s.Value == nil {
		return
	}
	v := m.expr(s.Value)
	switch {
	case s.Kind == ir.SetStmt || s.Kind == ir.ElementStmt:
		if old := m.slots[s.Slot]; v.carries && (!old.carries || old.at == nil && v.at != nil) {
			m.slots[s.Slot], m.changed = old.join(v), true
		}
	case s.Kind == ir.StoreStmt && s.Operand == m.operand && v.at != nil:
		m.found(v.at)
	}
}

func (m *contributionSearch) found(e *ir.Expr) {
	if m.first == nil {
		m.first = e
	}
}

// differs reports whether a contribution that is computed in type t may have another value.
func (m *contributionSearch) differs(t ir.Type) bool {
	switch {
	case t == ir.Bool || t == ir.Open || m.elem == ir.Open:
		return false
	case m.minMax && m.elem.IsInt():
		return t != m.elem
	}
	return t.IsFloat() != m.elem.IsFloat() || t.Size() < m.elem.Size()
}

func (m *contributionSearch) expr(e *ir.Expr) carried {
	switch e.Op {
	case ir.OpLoad:
		return carried{carries: e.Operand == m.operand}
	case ir.OpSlot, ir.OpElement:
		return m.slots[e.Slot]
	case ir.OpToF16, ir.OpToBF16:
		return m.expr(e.X[0])
	}
	values := e.X
	if e.Op == ir.OpCond || e.Op == ir.OpSelect {
		m.expr(e.X[0])
		values = e.X[1:]
	}
	var v carried
	for _, x := range values {
		v = v.join(m.expr(x))
	}
	switch {
	case !v.carries:
		return carried{}
	case e.Op >= ir.OpEq && e.Op <= ir.OpOr || e.Op == ir.OpNot:
		if m.minMax && v.at != nil { // if e > m { m = e }
			m.found(e)
		}
		return carried{}
	case v.at == nil && (m.differs(e.Type) || e.Op == ir.OpNeg && m.minMax && m.elem.IsInt()):
		v.at = e // the negative of the smallest integer does not fit
	}
	return v
}
