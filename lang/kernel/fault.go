package kernel

// What ends a run: indices outside and integers without a result.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
)

// Fault is what made a running body fail: an index outside, an integer
// division by zero. Span is the place in the body.
type Fault struct {
	Message string // one plain sentence, no full stop
	Span    diag.Span
	// Of an index outside that follows the index of a loop: that one's name, and what
	// the loop goes over.
	Index string
	Loop  diag.Span
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// fault ends the run.
func (m *machine) fault(e *Expr, format string, args ...any) {
	panic(m.newFault(e, format, args...))
}

func (m *machine) newFault(e *Expr, format string, args ...any) *Fault {
	f := &Fault{Message: fmt.Sprintf(format, args...)}
	if src := m.p.fn.Source; src != nil {
		f.Span = src.Span(int(e.Pos.Lo), int(e.Pos.Hi))
	}
	return f
}

// outside ends the run because index i of axis k of an operand is outside.
func (m *machine) outside(at *Expr, op, k int, i int64) {
	o, v := &m.p.fn.Operands[op], &m.ops[op]
	what := axisWords[o.Kind][k]
	n := what[1]
	if v.size(k) == 1 {
		n = what[0]
	}
	f := m.newFault(at, "%s %d is outside `%s`, which has %d %s", what[0], i, o.Name, v.size(k), n)
	if k < len(at.X) {
		f.Loop, f.Index = m.p.fn.whence(at.X[k])
	}
	panic(f)
}

// whence returns what the first loop goes over whose index e depends on, and the name
// of that index.
func (fn *Func) whence(e *Expr) (over diag.Span, index string) {
	lets := newLinearizer(fn).lets
	slot, seen := -1, map[int]bool{}
	var look func(*Expr) bool
	look = func(e *Expr) bool {
		if e.Op == OpSlot && !seen[e.Slot] {
			seen[e.Slot] = true
			if fn.Slots[e.Slot].Kind == IndexSlot && slot < 0 {
				slot = e.Slot
			}
			walkExpr(lets[e.Slot], look)
		}
		return slot < 0
	}
	walkExpr(e, look)
	if slot < 0 || fn.Source == nil {
		return over, ""
	}
	find := func(domain []Range) {
		for _, r := range domain {
			if r.Slot == slot {
				over, index = fn.Source.Span(int(r.Pos.Lo), int(r.Pos.Hi)), fn.Slots[slot].Name
			}
		}
	}
	walkStmts(fn.Body, func(s *Stmt) {
		find(s.Domain)
		s.exprs(func(e *Expr) {
			walkExpr(e, func(e *Expr) bool {
				find(e.Domain)
				return true
			})
		})
	})
	return over, index
}
