package kernel

import (
	"fmt"

	"github.com/starpush/starpush/lang/syntax"
)

// demands are the accesses of a block of statements, and of the loops in it.
type demands struct {
	list  []*Expr // with the names of the round replaced by their values
	loops []*innerLoop
}

// innerLoop is a `for` or one index of a fold.
type innerLoop struct {
	at     *Range
	lo, hi *Expr
	demands
}

// maxInner is how many loops inside a strip are looked through: each doubles the
// number of looks.
const maxInner = 3

// demander collects demands.
type demander struct {
	r     *rounds
	s     *stripper
	inner map[int]bool // indices of the loops around
	most  int          // of those
	sums  bool         // sums may have another order than one round at a time
	other int          // what could fault and cannot be looked at beforehand
	left  int          // nodes that the value at hand may still have
	ok    bool
	why   string // of the first other, or of ok being false
}

// demands lists what must hold for the rounds of body to run in strips; nil:
// that cannot be said, and why not. One thing that may fault
// besides needs no look if nothing else does and no loop repeats it: strips see
// its rounds in order.
func (r *rounds) demands(s *stripper, body []*Stmt) (out *demands, why string) {
	d := &demander{r: r, s: s, inner: map[int]bool{}, most: maxInner, ok: true}
	out = &demands{}
	d.stmts(out, body)
	if !d.ok || d.other > 1 {
		return nil, d.why
	}
	return out, ""
}

func (d *demander) stmts(to *demands, list []*Stmt) {
	for _, st := range list {
		switch st.Kind {
		case StoreStmt, reduceStmt:
			d.expr(to, st.Value)
			d.expr(to, st.target())
		case ForStmt:
			in := d.enter(to, &st.Domain[0])
			d.stmts(&in.demands, st.Body)
			delete(d.inner, st.Domain[0].Slot)
		case EachStmt:
			in := to
			for k := range st.Domain {
				in = &d.enter(in, &st.Domain[k]).demands
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

func (d *demander) enter(to *demands, at *Range) *innerLoop {
	in := &innerLoop{at: at, lo: d.value(at.Lo), hi: d.value(at.Hi)}
	d.expr(to, at.Lo)
	d.expr(to, at.Hi)
	switch {
	case in.lo == nil || in.hi == nil || d.motion(in.lo) != still || d.motion(in.hi) != still:
		d.fail("the range `" + d.text(at.Pos) + "` changes from round to round")
	case len(d.inner) >= d.most:
		d.fail(fmt.Sprintf("it has more than %d loops inside one another", d.most))
	}
	to.loops = append(to.loops, in)
	d.inner[at.Slot] = true
	return in
}

func (d *demander) expr(to *demands, e *Expr) {
	walkExpr(e, func(x *Expr) bool {
		switch {
		case x.Op == OpFold:
			// the order of a fold depends on whether it runs in a strip, and the
			// results of floats on the order
			if !d.sums && !x.Type.IsInt() && x.Reduce != OpMin && x.Reduce != OpMax {
				d.fail("the sum of floats inside it must keep its order")
			}
			in := to
			for k := range x.Domain {
				in = &d.enter(in, &x.Domain[k]).demands
			}
			d.expr(in, x.X[0])
			for k := range x.Domain {
				delete(d.inner, x.Domain[k].Slot)
			}
			return false
		case x.Op == OpLoad && len(x.X) > 0:
			for _, y := range x.X { // what the place depends on comes first
				d.expr(to, y)
			}
			d.element(to, x)
			return false
		case divides(x):
			switch by := d.text(x.X[1].Pos); {
			case x.X[1].Op == OpConst:
				d.unseen("`" + d.text(x.Pos) + "` always fails")
			case x.Op == OpPow:
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

func (d *demander) text(s syntax.Span) string { return sourceText(d.r.fn.Source, s) }

// element demands that an access lies inside in every round.
func (d *demander) element(to *demands, at *Expr) {
	e := &Expr{Op: OpLoad, Type: at.Type, Operand: at.Operand, Pos: at.Pos}
	for _, x := range at.X {
		v := d.value(x)
		if v == nil || d.motion(v) == anyhow {
			d.unseen("`" + d.text(at.Pos) + "` may lie outside")
			return
		}
		e.X = append(e.X, v)
	}
	to.list = append(to.list, e)
}

// maxValue is the most nodes of a value that is looked at: names that stand for
// twice the one before grow fast.
const maxValue = 256

// value is e with the names of the round replaced by their values; nil: it
// depends on something else that changes in a round, or is large.
func (d *demander) value(e *Expr) *Expr {
	d.left = maxValue
	return d.replaced(e)
}

func (d *demander) replaced(e *Expr) *Expr {
	if d.left--; d.left < 0 {
		return nil
	}
	switch e.Op {
	case OpConst, OpField:
		return e
	case OpSlot:
		if v := d.r.lets[e.Slot]; v != nil {
			return d.replaced(v)
		}
		if d.r.changes[e.Slot] && !d.inner[e.Slot] {
			return nil
		}
		return e
	case OpFold:
		return nil
	case OpLoad:
		if d.r.stored[e.Operand] {
			return nil
		}
	}
	if mayFault(e) && e.Op != OpLoad && e.Op != OpAdd && e.Op != OpSub && e.Op != OpMul && e.Op != OpNeg {
		return nil
	}
	c := *e
	c.X = make([]*Expr, len(e.X))
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
func (d *demander) motion(e *Expr) int {
	moving := false
	walkExpr(e, func(x *Expr) bool {
		moving = moving || x.Op == OpSlot && (x.Slot == d.r.index || d.inner[x.Slot])
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
	case OpSlot:
		return straight
	case OpNeg:
		return m[0]
	case OpAdd, OpSub:
		if most := max(m[0], m[1]); most == straight || m[0] == still || m[1] == still {
			return most
		}
	case OpMul:
		if m[0] == still || m[1] == still {
			return max(m[0], m[1])
		}
	case OpMin, OpMax:
		if most := max(m[0], m[1]); (m[0] == still || m[1] == still) && most <= monotone {
			return monotone
		}
	case OpFloorDiv:
		if m[0] <= monotone && e.X[1].Op == OpConst && e.X[1].Int > 0 {
			return monotone
		}
	}
	return anyhow
}

// mayFault reports whether evaluating e can end the run.
func mayFault(e *Expr) bool {
	found := false
	walkExpr(e, func(x *Expr) bool {
		switch {
		case x.Op == OpLoad && len(x.X) > 0:
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
func divides(e *Expr) bool {
	if !e.Type.IsInt() || e.Op != OpFloorDiv && e.Op != OpMod && e.Op != OpPow {
		return false
	}
	by := e.X[1]
	return by.Op != OpConst || by.Int == 0 && e.Op != OpPow || by.Int < 0 && e.Op == OpPow
}

// loads reports whether looking at the demands needs elements.
func (d *demands) loads() bool {
	found := false
	look := func(e *Expr) {
		walkExpr(e, func(x *Expr) bool { found = found || x.Op == OpLoad; return !found })
	}
	for _, e := range d.list {
		for _, x := range e.X {
			look(x)
		}
	}
	for _, in := range d.loops {
		look(in.lo)
		look(in.hi)
		found = found || in.loads()
	}
	return found
}
