package opencl

// The kernels of a body, and their parameters.

import (
	"errors"
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/steps"
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
			if !o.Kind.IsTensor() {
				return nil, fmt.Errorf("operand %s is a %v", o.Name, o.Kind)
			}
		}
	}
	if err := fn.TakesComplex(); err != nil {
		return nil, err
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
	plan, err := steps.Split(fn, steps.Options{})
	if err != nil {
		return nil, err
	}
	for k, st := range plan.Steps {
		s := &step{name: fmt.Sprintf("k%d", k), recomputed: st.Repeated, body: st.Body, domain: st.Domain}
		for _, r := range st.Domain {
			lo, hi := body.Value(r.Lo), body.Value(r.Hi)
			if lo == nil || hi == nil {
				return nil, errors.New("the range of a loop depends on data")
			}
			s.lo, s.hi = append(s.lo, eval.Int(lo)), append(s.hi, eval.Int(hi))
		}
		ks.resolve(s)
		ks.steps = append(ks.steps, s)
	}
	ks.text, ks.doubles = sourceOf(fn, ks.steps)
	return ks, nil
}

// resolve finds the parameters of a step.
func (ks *Kernels) resolve(s *step) {
	fn := ks.fn
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
		switch rank := fn.Operands[op].Kind.Rank(); {
		case rank == 2:
			field(fieldAt{op, ir.FieldLD})
		case rank > 2:
			for axis := range rank - 1 {
				field(fieldAt{op, ir.FieldStride0 + ir.Field(axis)})
			}
		}
	}
	expr := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			switch x.Op {
			case ir.OpLoad:
				element(x.Operand)
			case ir.OpField:
				field(fieldAt{x.Operand, x.Field})
			case ir.OpSlot:
				if fn.Slots[x.Slot].Kind == ir.ScalarSlot && !scalars[x.Slot] {
					scalars[x.Slot] = true
					s.scalars = append(s.scalars, x.Slot)
				}
			}
			return true
		})
	}
	for _, list := range [][]*ir.Stmt{s.body, s.recomputed} {
		ir.WalkStmts(list, func(st *ir.Stmt) {
			if st.Kind == ir.StoreStmt {
				element(st.Operand)
			}
			st.Exprs(expr)
		})
	}
}

// Source returns the source of the kernels, in OpenCL C 1.2.
func (ks *Kernels) Source() string { return ks.text }

// Doubles reports whether the kernels compute with doubles.
func (ks *Kernels) Doubles() bool { return ks.doubles }
