package analysis

import (
	"fmt"

	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// The conditions under which no round of a loop faults. Strips of the CPU run an operation
// for all their rounds before the next operation, so of two rounds that fault they might
// report the later one; devices cannot report a fault at all.

// Demands are the accesses of a block of statements that must be in bounds. Their indices
// move monotonically with each loop, so the first and the last round of each decide.
type Demands struct {
	Elements []*ir.Expr // of operands and arrays, with locals of the round replaced by their values
	Loops    []*InnerLoop
}

// InnerLoop are the demands in a `for`, or in one index of an each or a fold.
type InnerLoop struct {
	Range  *ir.Range
	Lo, Hi *ir.Expr
	Demands
}

// maxInner bounds the loops inside a strip: each doubles the number of rounds to check.
const maxInner = 3

// collector collects the demands of a block.
type collector struct {
	r            *Rounds
	loops        map[int]bool // indices of the enclosing loops
	maxLoops     int          // the bound of their number
	anyFoldOrder bool         // the order of floats in a fold does not matter
	faults       int          // operations that may fault and cannot be checked beforehand
	nodesLeft    int          // nodes that the current value may still have
	ok           bool
	why          string // the reason why ok is false, or the first of faults
}

// Obstacle is the reason why a body has no Demands.
type Obstacle struct {
	Why   string
	Fault bool // it is an operation that may fault and cannot be checked beforehand
}

// Demands returns the conditions under which the rounds of body may run in strips, or nil and
// the reason. One operation that may fault otherwise is allowed, outside of inner loops:
// strips run its rounds in order.
func (r *Rounds) Demands(body []*ir.Stmt) (*Demands, Obstacle) {
	d := &collector{r: r, loops: map[int]bool{}, maxLoops: maxInner, ok: true}
	out := &Demands{}
	d.stmts(out, body)
	if !d.ok || d.faults > 1 {
		return nil, Obstacle{d.why, d.faults > 0}
	}
	return out, Obstacle{}
}

// AllDemands returns the conditions under which body does not fault, with folds in any order,
// or nil and the reason.
func (r *Rounds) AllDemands(body []*ir.Stmt) (*Demands, Obstacle) {
	d := &collector{r: r, loops: map[int]bool{}, maxLoops: ir.MaxIndices, anyFoldOrder: true, ok: true}
	out := &Demands{}
	d.stmts(out, body)
	if !d.ok || d.faults > 0 {
		return nil, Obstacle{d.why, d.faults > 0}
	}
	return out, Obstacle{}
}

// Value returns e with locals of the round replaced by their values, or nil if e depends on
// something else that changes within a round, or is too large.
func (r *Rounds) Value(e *ir.Expr) *ir.Expr { return (&collector{r: r}).value(e) }

func (d *collector) stmts(to *Demands, list []*ir.Stmt) {
	for _, st := range list {
		switch st.Kind {
		case ir.StoreStmt, ir.ElementStmt, ir.ReduceStmt:
			d.expr(to, st.Value)
			d.expr(to, d.r.fn.Element(st))
		case ir.ForStmt:
			in := d.enter(to, &st.Domain[0])
			if st.Value != nil {
				d.expr(&in.Demands, st.Value)
			}
			d.stmts(&in.Demands, st.Body)
			delete(d.loops, st.Domain[0].Slot)
		case ir.EachStmt:
			in := to
			for k := range st.Domain {
				in = &d.enter(in, &st.Domain[k]).Demands
			}
			d.stmts(in, st.Body)
			for k := range st.Domain {
				delete(d.loops, st.Domain[k].Slot)
			}
		default:
			d.expr(to, st.Value)
			d.stmts(to, st.Body)
			d.stmts(to, st.Else)
		}
	}
}

func (d *collector) enter(to *Demands, at *ir.Range) *InnerLoop {
	in := &InnerLoop{Range: at, Lo: d.value(at.Lo), Hi: d.value(at.Hi)}
	d.expr(to, at.Lo)
	d.expr(to, at.Hi)
	switch {
	case in.Lo == nil || in.Hi == nil || d.motion(in.Lo) != motionNone || d.motion(in.Hi) != motionNone:
		d.fail("the range `" + d.text(at.Pos) + "` changes from round to round")
	case len(d.loops) >= d.maxLoops:
		d.fail(fmt.Sprintf("it has more than %d nested loops", d.maxLoops))
	}
	to.Loops = append(to.Loops, in)
	d.loops[at.Slot] = true
	return in
}

func (d *collector) expr(to *Demands, e *ir.Expr) {
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch {
		case x.Op == ir.OpFold:
			// a fold in a strip has another order than one outside, and another result
			// for floats
			if !d.anyFoldOrder && !x.Type.IsInt() && x.Reduce != ir.OpMin && x.Reduce != ir.OpMax {
				d.fail("the sum of floats inside it must keep its order")
			}
			in := to
			for k := range x.Domain {
				in = &d.enter(in, &x.Domain[k]).Demands
			}
			d.expr(in, x.X[0])
			for k := range x.Domain {
				delete(d.loops, x.Domain[k].Slot)
			}
			return false
		case x.Op == ir.OpElement && x.InBounds():
			return false
		case x.Op == ir.OpLoad && len(x.X) > 0, x.Op == ir.OpElement:
			for _, y := range x.X { // operations of the index may fault first
				d.expr(to, y)
			}
			d.addElement(to, x)
			return false
		case divides(x):
			switch by := d.text(x.X[1].Pos); {
			case x.X[1].Op == ir.OpConst:
				d.addFault("`" + d.text(x.Pos) + "` always fails")
			case x.Op == ir.OpPow:
				d.addFault("the exponent `" + by + "` may be negative")
			default:
				d.addFault("the divisor `" + by + "` may be 0")
			}
		}
		return d.ok
	})
}

// fail stops the collection.
func (d *collector) fail(why string) {
	if d.ok && d.faults == 0 {
		d.why = why
	}
	d.ok = false
}

// addFault counts an operation that may fault in some round.
func (d *collector) addFault(why string) {
	if d.ok && d.faults == 0 {
		d.why = why
	}
	d.faults++
	d.ok = d.ok && len(d.loops) == 0
}

func (d *collector) text(s syntax.Span) string { return ir.SourceText(d.r.fn.Source, s) }

// addElement demands that an access is in bounds in every round.
func (d *collector) addElement(to *Demands, at *ir.Expr) {
	e := &ir.Expr{Op: at.Op, Type: at.Type, Operand: at.Operand, Slot: at.Slot, Int: at.Int, Pos: at.Pos}
	for _, x := range at.X {
		v := d.value(x)
		if v == nil || d.motion(v) == motionAny {
			d.addFault("`" + d.text(at.Pos) + "` may be out of bounds")
			return
		}
		e.X = append(e.X, v)
	}
	to.Elements = append(to.Elements, e)
}

// maxValue bounds the nodes of a value: locals that are twice the previous one grow fast.
const maxValue = 256

// value is Rounds.Value within the enclosing loops.
func (d *collector) value(e *ir.Expr) *ir.Expr {
	d.nodesLeft = maxValue
	return d.substituted(e)
}

func (d *collector) substituted(e *ir.Expr) *ir.Expr {
	if d.nodesLeft--; d.nodesLeft < 0 {
		return nil
	}
	switch e.Op {
	case ir.OpConst, ir.OpField:
		return e
	case ir.OpSlot:
		if v := d.r.values[e.Slot]; v != nil {
			return d.substituted(v)
		}
		if d.r.changing[e.Slot] && !d.loops[e.Slot] {
			return nil
		}
		return e
	case ir.OpFold:
		return nil
	case ir.OpLoad:
		if d.r.stored[e.Operand] {
			return nil
		}
	case ir.OpElement:
		if d.r.changing[e.Slot] {
			return nil
		}
	}
	if MayFault(e) && e.Op != ir.OpLoad && e.Op != ir.OpElement && e.Op != ir.OpAdd && e.Op != ir.OpSub && e.Op != ir.OpMul && e.Op != ir.OpNeg {
		return nil
	}
	c := *e
	c.X = make([]*ir.Expr, len(e.X))
	for k, x := range e.X {
		if c.X[k] = d.substituted(x); c.X[k] == nil {
			return nil
		}
	}
	return &c
}

// How a value moves with the indices of the enclosing loops.
const (
	motionNone     = iota // constant
	motionLinear          // linear in each
	motionMonotone        // it only grows or only falls with each
	motionAny
)

// motion returns how e moves. A value that is at most monotone has its extremes where each
// index has its first or last value, and so do its parts: if none of them overflows there,
// none does in between.
func (d *collector) motion(e *ir.Expr) int {
	moving := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		moving = moving || x.Op == ir.OpSlot && (x.Slot == d.r.index || d.loops[x.Slot])
		return !moving
	})
	if !moving {
		return motionNone
	}
	m := make([]int, len(e.X))
	for k, x := range e.X {
		m[k] = d.motion(x)
	}
	switch e.Op {
	case ir.OpSlot:
		return motionLinear
	case ir.OpNeg:
		return m[0]
	case ir.OpAdd, ir.OpSub:
		if most := max(m[0], m[1]); most == motionLinear || m[0] == motionNone || m[1] == motionNone {
			return most
		}
	case ir.OpMul:
		if m[0] == motionNone || m[1] == motionNone {
			return max(m[0], m[1])
		}
	case ir.OpMin, ir.OpMax:
		if most := max(m[0], m[1]); (m[0] == motionNone || m[1] == motionNone) && most <= motionMonotone {
			return motionMonotone
		}
	case ir.OpShr:
		if m[0] <= motionMonotone && e.X[1].Op == ir.OpConst {
			return motionMonotone
		}
	case ir.OpFloorDiv:
		if m[0] <= motionMonotone && e.X[1].Op == ir.OpConst && e.X[1].Int > 0 {
			return motionMonotone
		}
	}
	return motionAny
}

// MayFault reports whether evaluating e can fault.
func MayFault(e *ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch {
		case x.Op == ir.OpLoad && len(x.X) > 0, x.Op == ir.OpElement && !x.InBounds():
			found = true
		case divides(x):
			found = true
		}
		return !found
	})
	return found
}

// divides reports whether e is an integer operation whose divisor may be 0 or whose exponent
// may be negative.
func divides(e *ir.Expr) bool {
	if !e.Type.IsInt() || e.Op != ir.OpFloorDiv && e.Op != ir.OpMod && e.Op != ir.OpPow {
		return false
	}
	by := e.X[1]
	return by.Op != ir.OpConst || by.Int == 0 && e.Op != ir.OpPow || by.Int < 0 && e.Op == ir.OpPow
}

// ReadsElements reports whether the indices or ranges of d depend on elements.
func (d *Demands) ReadsElements() bool {
	found := false
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || x.Op == ir.OpLoad || x.Op == ir.OpElement; return !found })
	}
	for _, e := range d.Elements {
		for _, x := range e.X {
			look(x)
		}
	}
	for _, in := range d.Loops {
		look(in.Lo)
		look(in.Hi)
		found = found || in.ReadsElements()
	}
	return found
}
