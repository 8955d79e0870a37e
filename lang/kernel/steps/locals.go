package steps

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// resolveAll finds the locals of earlier steps that each step uses, and leaves out steps that do
// nothing.
func (s *splitter) resolveAll(list []*Step) ([]*Step, error) {
	if err := s.eachStep(list, s.resolve); err != nil {
		return nil, err
	}
	return s.useful(list), nil
}

func (s *splitter) eachStep(list []*Step, f func(*Step) error) error {
	for _, st := range list {
		if err := f(st); err != nil {
			return err
		}
		if err := s.eachStep(st.Inner, f); err != nil {
			return err
		}
	}
	return nil
}

// resolve finds the locals of earlier steps that st uses.
func (s *splitter) resolve(st *Step) error {
	own := map[int]bool{}
	for _, r := range st.Domain {
		own[r.Slot] = true
	}
	declares := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			for _, r := range x.Domain {
				own[r.Slot] = true
			}
			return true
		})
	}
	ir.WalkStmts(st.Body, func(in *ir.Stmt) {
		if in.Kind == ir.SetStmt && in.Declare {
			own[in.Slot] = true
		}
		for _, r := range in.Domain {
			own[r.Slot] = true
		}
		in.Exprs(declares)
	})
	declares(st.Fold)

	var err error
	carry := func(slot int, why string) {
		if !s.opt.Host && err == nil {
			err = fmt.Errorf(why, s.fn.Slots[slot].Name)
		}
		if !slices.Contains(st.Carried, slot) {
			st.Carried = append(st.Carried, slot)
		}
		s.carried[slot] = true
	}
	var uses func(e *ir.Expr)
	uses = func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			if x.Op != ir.OpSlot && x.Op != ir.OpElement || own[x.Slot] || s.fn.Slots[x.Slot].Kind == ir.ScalarSlot || slices.Contains(st.Indices, x.Slot) {
				return true
			}
			let := s.lets[x.Slot]
			if let == nil || !s.repeatable(let, st) {
				carry(x.Slot, "%s is computed from data in one loop and used in another")
				return true
			}
			own[x.Slot] = true
			uses(let.Value)
			st.Repeated = append(st.Repeated, let)
			return true
		})
	}
	for _, g := range st.Guards {
		carry(g.Slot, "%s is the condition of a loop")
	}
	for _, r := range st.Domain {
		uses(r.Lo)
		uses(r.Hi)
	}
	uses(st.Fold)
	ir.WalkStmts(st.Body, func(in *ir.Stmt) {
		if (in.Kind == ir.SetStmt || in.Kind == ir.ElementStmt) && !own[in.Slot] {
			carry(in.Slot, "%s is declared before a loop that changes it")
		}
		in.Exprs(uses)
	})
	return err
}

// repeatable reports whether a step can compute the value of a local again: it does not depend
// on what may have changed since.
func (s *splitter) repeatable(let *ir.Stmt, st *Step) bool {
	if s.fn.Slots[let.Slot].Assigned {
		return false
	}
	ok := true
	ir.WalkExpr(let.Value, func(x *ir.Expr) bool {
		switch x.Op {
		case ir.OpFold, ir.OpElement:
			ok = false
		case ir.OpLoad:
			ok = ok && !s.whole.Stores(x.Operand)
		case ir.OpSlot:
			ok = ok && (s.fn.Slots[x.Slot].Kind == ir.ScalarSlot || slices.Contains(st.Indices, x.Slot) ||
				s.fn.Slots[x.Slot].Kind == ir.LetSlot && !s.fn.Slots[x.Slot].Assigned)
		}
		return ok
	})
	return ok
}

// useful returns the steps that write an element or a carried local, or may fault.
func (s *splitter) useful(list []*Step) []*Step {
	var out []*Step
	for _, st := range list {
		st.Inner = s.useful(st.Inner)
		keep := st.Fold != nil || len(st.Inner) > 0
		ir.WalkStmts(st.Body, func(in *ir.Stmt) {
			keep = keep || in.Kind == ir.StoreStmt || (in.Kind == ir.SetStmt || in.Kind == ir.ElementStmt) && s.carried[in.Slot] && st.Once()
			if s.opt.Host {
				in.Exprs(func(e *ir.Expr) { keep = keep || analysis.MayFault(e) })
			}
		})
		if keep {
			out = append(out, st)
		}
	}
	return out
}
