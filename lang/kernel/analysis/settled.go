package analysis

import "github.com/starpush/starpush/lang/kernel/ir"

// Settled returns the parts of loop, a ForStmt, if its rounds do nothing from the first on in which a condition
// is false: the loop of
//
//	for t in 0..most {
//	    let r = x*x + y*y
//	    if r <= 4.0 { … x = …; y = … }
//	}
//
// can end there. Its body is an if without else, after declarations of locals. The declarations and the
// condition use nothing that changes while the if is passed over, so neither the index of the loop nor
// elements, and cannot fault. Something that they use changes in the if: otherwise the condition is the same in all rounds.
func Settled(fn *ir.Func, loop *ir.Stmt) (lets []*ir.Stmt, branch *ir.Stmt, ok bool) {
	last := len(loop.Body) - 1
	if loop.Value != nil || last < 0 {
		return nil, nil, false
	}
	lets, branch = loop.Body[:last], loop.Body[last]
	if branch.Kind != ir.IfStmt || len(branch.Else) > 0 {
		return nil, nil, false
	}
	assigned := map[int]bool{}
	ir.WalkStmts(branch.Body, func(s *ir.Stmt) {
		if s.Kind == ir.SetStmt && !s.Declare {
			assigned[s.Slot] = true
		}
	})
	fixed, changes := true, false
	look := func(e *ir.Expr) {
		fixed = fixed && !MayFault(e)
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			switch x.Op {
			case ir.OpLoad, ir.OpElement, ir.OpFold:
				fixed = false
			case ir.OpSlot:
				fixed = fixed && x.Slot != loop.Domain[0].Slot
				changes = changes || assigned[x.Slot]
			}
			return fixed
		})
	}
	for _, s := range lets {
		if s.Kind != ir.SetStmt || !s.Declare || fn.Slots[s.Slot].Len > 0 {
			return nil, nil, false
		}
		look(s.Value)
	}
	look(branch.Value)
	if !fixed || !changes {
		return nil, nil, false
	}
	return lets, branch, true
}
