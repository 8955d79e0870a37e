package analysis

import (
	"fmt"

	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// Demands are the accesses of a block of statements, and of the loops in it.
type Demands struct {
	Elements []*ir.Expr // with the names of the round replaced by their values
	Loops    []*InnerLoop
}

// InnerLoop is a `for` or one index of a fold.
type InnerLoop struct {
	Range  *ir.Range
	Lo, Hi *ir.Expr
	Demands
}

// maxInner is how many loops inside a strip are looked through: each doubles the
// number of looks.
const maxInner = 3

// demander collects demands.
type demander struct {
	r     *Rounds
	inner map[int]bool // indices of the loops around
	most  int          // of those
	sums  bool         // sums may have another order than one round at a time
	other int          // what could fault and cannot be looked at beforehand
	left  int          // nodes that the value at hand may still have
	ok    bool
	why   string // of the first other, or of ok being false
}

// Obstacle is why the demands of a body cannot be listed.
type Obstacle struct {
	Why   string
	Fault bool // it is an operation that may fault, and cannot be looked at beforehand
}

// Demands lists what must hold for the rounds of body to run in strips; nil:
// that cannot be said, and why not. One thing that may fault
// besides needs no look if nothing else does and no loop repeats it: strips see
// its rounds in order.
func (r *Rounds) Demands(body []*ir.Stmt) (*Demands, Obstacle) {
	d := &demander{r: r, inner: map[int]bool{}, most: maxInner, ok: true}
	out := &Demands{}
	d.stmts(out, body)
	if !d.ok || d.other > 1 {
		return nil, Obstacle{d.why, d.other > 0}
	}
	return out, Obstacle{}
}

// AllDemands lists what must hold for body to run without any fault, with folds in
// any order; nil: that cannot be said, and why not.
func (r *Rounds) AllDemands(body []*ir.Stmt) (*Demands, Obstacle) {
	d := &demander{r: r, inner: map[int]bool{}, most: 2 * maxInner, sums: true, ok: true}
	out := &Demands{}
	d.stmts(out, body)
	if !d.ok || d.other > 0 {
		return nil, Obstacle{d.why, d.other > 0}
	}
	return out, Obstacle{}
}

// Value returns e with the names of the round replaced by their values; nil: it
// depends on something else that changes in a round, or is large.
func (r *Rounds) Value(e *ir.Expr) *ir.Expr { return (&demander{r: r}).value(e) }

func (d *demander) stmts(to *Demands, list []*ir.Stmt) {
	for _, st := range list {
		switch st.Kind {
		case ir.StoreStmt, ir.ReduceStmt:
			d.expr(to, st.Value)
			d.expr(to, st.Element())
		case ir.ForStmt:
			in := d.enter(to, &st.Domain[0])
			d.stmts(&in.Demands, st.Body)
			delete(d.inner, st.Domain[0].Slot)
		case ir.EachStmt:
			in := to
			for k := range st.Domain {
				in = &d.enter(in, &st.Domain[k]).Demands
			}
			d.stmts(in, st.Body)
			for k := range st.Domain {
				delete(d.inner, st.Domain[k].Slot)
			}
		default:
			d.expr(to, st.Value)
			d.stmts(to, st.Body)
			d.stmts(to, st.Else)
		}
	}
}

func (d *demander) enter(to *Demands, at *ir.Range) *InnerLoop {
	in := &InnerLoop{Range: at, Lo: d.value(at.Lo), Hi: d.value(at.Hi)}
	d.expr(to, at.Lo)
	d.expr(to, at.Hi)
	switch {
	case in.Lo == nil || in.Hi == nil || d.motion(in.Lo) != still || d.motion(in.Hi) != still:
		d.fail("the range `" + d.text(at.Pos) + "` changes from round to round")
	case len(d.inner) >= d.most:
		d.fail(fmt.Sprintf("it has more than %d loops inside one another", d.most))
	}
	to.Loops = append(to.Loops, in)
	d.inner[at.Slot] = true
	return in
}

func (d *demander) expr(to *Demands, e *ir.Expr) {
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch {
		case x.Op == ir.OpFold:
			// the order of a fold depends on whether it runs in a strip, and the
			// results of floats on the order
			if !d.sums && !x.Type.IsInt() && x.Reduce != ir.OpMin && x.Reduce != ir.OpMax {
				d.fail("the sum of floats inside it must keep its order")
			}
			in := to
			for k := range x.Domain {
				in = &d.enter(in, &x.Domain[k]).Demands
			}
			d.expr(in, x.X[0])
			for k := range x.Domain {
				delete(d.inner, x.Domain[k].Slot)
			}
			return false
		case x.Op == ir.OpLoad && len(x.X) > 0:
			for _, y := range x.X { // what the place depends on comes first
				d.expr(to, y)
			}
			d.element(to, x)
			return false
		case divides(x):
			switch by := d.text(x.X[1].Pos); {
			case x.X[1].Op == ir.OpConst:
				d.unseen("`" + d.text(x.Pos) + "` always fails")
			case x.Op == ir.OpPow:
				d.unseen("the exponent `" + by + "` may be negative")
			default:
				d.unseen("the divisor `" + by + "` may be 0")
			}
		}
		return d.ok
	})
}

// fail ends the collection.
func (d *demander) fail(why string) {
	if d.ok && d.other == 0 {
		d.why = why
	}
	d.ok = false
}

// unseen counts something that may fault in some round.
func (d *demander) unseen(why string) {
	if d.ok && d.other == 0 {
		d.why = why
	}
	d.other++
	d.ok = d.ok && len(d.inner) == 0
}

func (d *demander) text(s syntax.Span) string { return ir.SourceText(d.r.fn.Source, s) }

// element demands that an access lies inside in every round.
func (d *demander) element(to *Demands, at *ir.Expr) {
	e := &ir.Expr{Op: ir.OpLoad, Type: at.Type, Operand: at.Operand, Pos: at.Pos}
	for _, x := range at.X {
		v := d.value(x)
		if v == nil || d.motion(v) == anyhow {
			d.unseen("`" + d.text(at.Pos) + "` may lie outside")
			return
		}
		e.X = append(e.X, v)
	}
	to.Elements = append(to.Elements, e)
}

// maxValue is the most nodes of a value that is looked at: names that stand for
// twice the one before grow fast.
const maxValue = 256

// value is e with the names of the round replaced by their values; nil: it
// depends on something else that changes in a round, or is large.
func (d *demander) value(e *ir.Expr) *ir.Expr {
	d.left = maxValue
	return d.replaced(e)
}

func (d *demander) replaced(e *ir.Expr) *ir.Expr {
	if d.left--; d.left < 0 {
		return nil
	}
	switch e.Op {
	case ir.OpConst, ir.OpField:
		return e
	case ir.OpSlot:
		if v := d.r.lets[e.Slot]; v != nil {
			return d.replaced(v)
		}
		if d.r.changes[e.Slot] && !d.inner[e.Slot] {
			return nil
		}
		return e
	case ir.OpFold:
		return nil
	case ir.OpLoad:
		if d.r.stored[e.Operand] {
			return nil
		}
	}
	if MayFault(e) && e.Op != ir.OpLoad && e.Op != ir.OpAdd && e.Op != ir.OpSub && e.Op != ir.OpMul && e.Op != ir.OpNeg {
		return nil
	}
	c := *e
	c.X = make([]*ir.Expr, len(e.X))
	for k, x := range e.X {
		if c.X[k] = d.replaced(x); c.X[k] == nil {
			return nil
		}
	}
	return &c
}

// How a value moves with the indices of the loops around it.
const (
	still    = iota // not at all
	straight        // linear in each
	monotone        // it only grows or only falls with each
	anyhow
)

// motion says how e moves. Whatever is at most monotone has its extremes where
// each index has its first or last value; so do its parts, and if none of them
// wraps there, none does in between.
func (d *demander) motion(e *ir.Expr) int {
	moving := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		moving = moving || x.Op == ir.OpSlot && (x.Slot == d.r.index || d.inner[x.Slot])
		return !moving
	})
	if !moving {
		return still
	}
	m := make([]int, len(e.X))
	for k, x := range e.X {
		m[k] = d.motion(x)
	}
	switch e.Op {
	case ir.OpSlot:
		return straight
	case ir.OpNeg:
		return m[0]
	case ir.OpAdd, ir.OpSub:
		if most := max(m[0], m[1]); most == straight || m[0] == still || m[1] == still {
			return most
		}
	case ir.OpMul:
		if m[0] == still || m[1] == still {
			return max(m[0], m[1])
		}
	case ir.OpMin, ir.OpMax:
		if most := max(m[0], m[1]); (m[0] == still || m[1] == still) && most <= monotone {
			return monotone
		}
	case ir.OpFloorDiv:
		if m[0] <= monotone && e.X[1].Op == ir.OpConst && e.X[1].Int > 0 {
			return monotone
		}
	}
	return anyhow
}

// MayFault reports whether evaluating e can end the run.
func MayFault(e *ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch {
		case x.Op == ir.OpLoad && len(x.X) > 0:
			found = true
		case divides(x):
			found = true
		}
		return !found
	})
	return found
}

// divides reports whether e divides integers by what may be 0, or takes an integer to a
// power that may be negative.
func divides(e *ir.Expr) bool {
	if !e.Type.IsInt() || e.Op != ir.OpFloorDiv && e.Op != ir.OpMod && e.Op != ir.OpPow {
		return false
	}
	by := e.X[1]
	return by.Op != ir.OpConst || by.Int == 0 && e.Op != ir.OpPow || by.Int < 0 && e.Op == ir.OpPow
}

// ReadsElements reports whether looking at the demands needs elements.
func (d *Demands) ReadsElements() bool {
	found := false
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || x.Op == ir.OpLoad; return !found })
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
