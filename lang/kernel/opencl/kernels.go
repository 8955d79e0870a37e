package opencl

// The kernels of a body, and their parameters.

import (
	"errors"
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Kernels are a body as kernels in OpenCL C. They are immutable and safe for concurrent use.
type Kernels struct {
	fn      *ir.Func
	eval    *cpu.Evaluator
	text    string
	doubles bool
	demands func(cpu.Bound) bool
	steps   []*step
}

// step is one kernel: an each, or a for with independent rounds, with a work-item for each
// round, or statements that one work-group runs together.
type step struct {
	name        string
	recomputed  []*ir.Stmt // declarations of earlier locals, repeated in this kernel
	body        []*ir.Stmt
	domain      []ir.Range     // nil: one work-group
	lo, hi      []cpu.IntValue // of domain
	buffers     []int          // operands whose elements it uses
	scalars     []int          // slots
	fields      []fieldAt      // of operands
	fieldValues []cpu.IntValue // values of fields
	declared    map[int]bool
}

// fieldAt is a field of an operand.
type fieldAt struct {
	operand int
	field   ir.Field
}

// New returns the kernels of a lowered body. The error is the reason why it can run on CPU
// workers only.
func New(fn *ir.Func) (*Kernels, error) {
	for _, o := range fn.Operands {
		switch o.Kind {
		case iface.Variable, iface.Vector, iface.Matrix, iface.Block, iface.Void:
		default:
			return nil, fmt.Errorf("operand %s is a %v", o.Name, o.Kind)
		}
	}
	body := analysis.WholeBody(fn)
	want, obstacle := body.AllDemands(fn.Body)
	switch {
	case want == nil && obstacle.Fault:
		return nil, errors.New(obstacle.Why + ", which a device could not report")
	case want == nil:
		return nil, errors.New(obstacle.Why)
	case want.ReadsElements():
		return nil, errors.New("whether its indices are in bounds depends on data")
	}
	eval := cpu.NewEvaluator(fn)
	ks := &Kernels{fn: fn, eval: eval, demands: eval.Holds(want)}
	if err := ks.split(body); err != nil {
		return nil, err
	}
	ks.text, ks.doubles = sourceOf(fn, ks.steps)
	return ks, nil
}

// split divides the body into steps.
func (ks *Kernels) split(r *analysis.Rounds) error {
	var alone *step // the statements so far that one work-group runs
	lets := map[int]*ir.Stmt{}
	var walk func(list []*ir.Stmt) error
	walk = func(list []*ir.Stmt) error {
		for _, st := range list {
			domain, body := st.Domain, st.Body
			switch {
			case st.Kind == ir.IfStmt && st.Value.Op == ir.OpConst && st.Value.Int != 0 && len(st.Else) == 0: // a block
				if err := walk(st.Body); err != nil {
					return err
				}
				continue
			case st.Kind == ir.ForStmt:
				if domain, body = ks.nest(st); domain == nil {
					return errors.New("the rounds of a `for` depend on each other")
				}
			case st.Kind == ir.EachStmt:
			case !loopFree(st):
				return errors.New("it has loops inside an `if`")
			default:
				if st.Kind == ir.SetStmt && st.Declare {
					lets[st.Slot] = st
				}
				if alone == nil {
					alone = &step{}
					ks.steps = append(ks.steps, alone)
				}
				alone.body = append(alone.body, st)
				continue
			}
			alone = nil
			s := &step{domain: domain, body: body}
			for k := range domain {
				lo, hi := r.Value(domain[k].Lo), r.Value(domain[k].Hi)
				if lo == nil || hi == nil {
					return errors.New("the range of a loop depends on data")
				}
				s.lo, s.hi = append(s.lo, ks.eval.Int(lo)), append(s.hi, ks.eval.Int(hi))
			}
			ks.steps = append(ks.steps, s)
		}
		return nil
	}
	if err := walk(ks.fn.Body); err != nil {
		return err
	}
	kept := ks.steps[:0]
	for _, s := range ks.steps {
		if err := ks.resolve(s, r, lets); err != nil {
			return err
		}
		if s.writes() {
			s.name = fmt.Sprintf("k%d", len(kept))
			kept = append(kept, s)
		}
	}
	ks.steps = kept
	return nil
}

// nest returns the domain of st and of perfectly nested loops inside it whose rounds are
// independent, and the body of the innermost. The domain is nil if the rounds of st are not.
func (ks *Kernels) nest(st *ir.Stmt) (domain []ir.Range, body []*ir.Stmt) {
	for {
		r, _, ok := analysis.Independent(ks.fn, st)
		if !ok || r.HasReductions() {
			return domain, body
		}
		domain, body = append(domain, st.Domain[0]), st.Body
		if len(body) != 1 || body[0].Kind != ir.ForStmt || len(domain) == ir.MaxIndices {
			return domain, body
		}
		st = body[0]
		if !r.Invariant(st.Domain[0].Lo) || !r.Invariant(st.Domain[0].Hi) {
			return domain, body
		}
	}
}

// loopFree reports whether st has no loops, so that a work-group can run it together.
func loopFree(st *ir.Stmt) bool {
	ok := true
	ir.WalkStmts([]*ir.Stmt{st}, func(s *ir.Stmt) { ok = ok && s.Kind != ir.ForStmt && s.Kind != ir.EachStmt })
	return ok
}

// resolve finds the parameters of a step, and the declarations of earlier locals that it repeats.
func (ks *Kernels) resolve(s *step, r *analysis.Rounds, lets map[int]*ir.Stmt) error {
	fn := ks.fn
	s.declared = map[int]bool{}
	for _, r := range s.domain {
		s.declared[r.Slot] = true
	}
	ir.WalkStmts(s.body, func(st *ir.Stmt) {
		if st.Kind == ir.SetStmt && st.Declare {
			s.declared[st.Slot] = true
		} else if st.Kind == ir.ForStmt {
			s.declared[st.Domain[0].Slot] = true
		}
	})
	buffers, scalars, fields := map[int]bool{}, map[int]bool{}, map[fieldAt]bool{}
	field := func(at fieldAt) {
		if !fields[at] {
			fields[at] = true
			s.fields = append(s.fields, at)
			s.fieldValues = append(s.fieldValues, ks.eval.Int(&ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: at.operand, Field: at.field}))
		}
	}
	element := func(op int) {
		if !buffers[op] {
			buffers[op] = true
			s.buffers = append(s.buffers, op)
		}
		switch fn.Operands[op].Kind {
		case iface.Matrix:
			field(fieldAt{op, ir.FieldLD})
		case iface.Block:
			field(fieldAt{op, ir.FieldPlane})
			field(fieldAt{op, ir.FieldRow})
		}
	}
	var err error
	var expr func(e *ir.Expr)
	expr = func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			for _, r := range x.Domain {
				s.declared[r.Slot] = true
			}
			switch x.Op {
			case ir.OpLoad:
				element(x.Operand)
			case ir.OpField:
				field(fieldAt{x.Operand, x.Field})
			case ir.OpSlot:
				switch {
				case fn.Slots[x.Slot].Kind == ir.ScalarSlot:
					if !scalars[x.Slot] {
						scalars[x.Slot] = true
						s.scalars = append(s.scalars, x.Slot)
					}
				case !s.declared[x.Slot]: // a local of an earlier step
					st := lets[x.Slot]
					if st == nil || r.SingleValue(x.Slot) == nil || !recomputable(r, st.Value) {
						err = fmt.Errorf("%s is computed from data in one loop and used in another", fn.Slots[x.Slot].Name)
						return false
					}
					s.declared[x.Slot] = true
					expr(st.Value)
					s.recomputed = append(s.recomputed, st)
				}
			}
			return err == nil
		})
	}
	ir.WalkStmts(s.body, func(st *ir.Stmt) {
		if st.Kind == ir.StoreStmt {
			element(st.Operand)
		}
		if st.Kind == ir.SetStmt && !st.Declare && !s.declared[st.Slot] && err == nil {
			err = fmt.Errorf("%s is declared before a loop that changes it", fn.Slots[st.Slot].Name)
		}
		st.Exprs(expr)
	})
	return err
}

// recomputable reports whether e, the value of a local, can be computed again later.
func recomputable(r *analysis.Rounds, e *ir.Expr) bool {
	ok := true
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		ok = ok && x.Op != ir.OpFold && (x.Op != ir.OpLoad || !r.Stores(x.Operand))
		return ok
	})
	return ok
}

// writes reports whether the step writes an operand.
func (s *step) writes() bool {
	found := false
	ir.WalkStmts(s.body, func(st *ir.Stmt) { found = found || st.Kind == ir.StoreStmt })
	return found
}

// Source returns the source of the kernels, in OpenCL C 1.2.
func (ks *Kernels) Source() string { return ks.text }

// Doubles reports whether the kernels compute with doubles.
func (ks *Kernels) Doubles() bool { return ks.doubles }
