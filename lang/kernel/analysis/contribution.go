package analysis

// Contributions of other types than the element: when they convert.
//
// A task that contributes (REDUX) works on a copy that begins with the neutral element, and
// the copies are combined later, in the type of the elements. That gives what the same
// tasks give one after the other only where a body combines in that type, too: the largest
// u64, with which a min begins, is -1 as an i64. Sums and products of integers are the
// exception: they may be computed in any wider integer type, since what is cut off when
// they are stored changes no digit that is kept.

import (
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// MixedContribution finds where the body computes what it contributes to an operand in
// another type than that of its elements, so that combining copies by reduce (sum, prod,
// min or max) would give something else than running the tasks one by one. It returns the
// place in the text, the type there and the type of the elements.
func MixedContribution(fn *ir.Func, operand, reduce string) (at syntax.Span, in, elem ir.Type, found bool) {
	m := &mixing{fn: fn, operand: -1, extreme: reduce == "min" || reduce == "max", slots: make([]mixed, len(fn.Slots))}
	for k := range fn.Operands {
		if fn.Operands[k].Name == operand {
			m.operand = k
		}
	}
	if m.operand < 0 {
		return at, in, elem, false
	}
	m.elem = fn.Operands[m.operand].Elem
	for m.changed = true; m.changed; { // what a round of a loop leaves in a local reaches the next one
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

// mixing is one search of MixedContribution.
type mixing struct {
	fn      *ir.Func
	operand int
	elem    ir.Type
	extreme bool
	slots   []mixed
	changed bool
	first   *ir.Expr // found
}

// mixed is what an expression, or a local, has of the operand.
type mixed struct {
	carries bool     // it is computed from an element
	at      *ir.Expr // there another type was used; nil: nowhere
}

func (a mixed) join(b mixed) mixed {
	if a.at == nil {
		a.at = b.at
	}
	a.carries = a.carries || b.carries
	return a
}

func (m *mixing) stmt(s *ir.Stmt) {
	if s.Value == nil {
		return
	}
	v := m.expr(s.Value)
	switch {
	case s.Kind == ir.SetStmt:
		if old := m.slots[s.Slot]; v.carries && (!old.carries || old.at == nil && v.at != nil) {
			m.slots[s.Slot], m.changed = old.join(v), true
		}
	case s.Kind == ir.StoreStmt && s.Operand == m.operand && v.at != nil:
		m.find(v.at)
	}
}

func (m *mixing) find(e *ir.Expr) {
	if m.first == nil {
		m.first = e
	}
}

// loses reports whether a contribution that is computed in type t is another one.
func (m *mixing) loses(t ir.Type) bool {
	switch {
	case t == ir.Bool || t == ir.Open || m.elem == ir.Open:
		return false
	case m.extreme && m.elem.IsInt():
		return t != m.elem
	}
	return t.IsFloat() != m.elem.IsFloat() || t.Size() < m.elem.Size()
}

func (m *mixing) expr(e *ir.Expr) mixed {
	switch e.Op {
	case ir.OpLoad:
		return mixed{carries: e.Operand == m.operand}
	case ir.OpSlot:
		return m.slots[e.Slot]
	}
	values := e.X
	if e.Op == ir.OpCond || e.Op == ir.OpSelect {
		m.expr(e.X[0])
		values = e.X[1:]
	}
	var v mixed
	for _, x := range values {
		v = v.join(m.expr(x))
	}
	switch {
	case !v.carries:
		return mixed{}
	case e.Op >= ir.OpEq && e.Op <= ir.OpOr || e.Op == ir.OpNot:
		if m.extreme && v.at != nil { // if e > m { m = e }
			m.find(e)
		}
		return mixed{}
	case v.at == nil && (m.loses(e.Type) || e.Op == ir.OpNeg && m.extreme && m.elem.IsInt()):
		v.at = e // the negative of the smallest integer is itself
	}
	return v
}
