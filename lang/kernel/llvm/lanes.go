package llvm

// How values change from lane to lane.

import "github.com/starpush/starpush/lang/kernel/ir"

// motion is how a value changes from one lane to the next.
type motion uint8

const (
	uniform motion = iota // the same in every lane
	affine                // an int that grows by a constant
	varying
)

// change is the motion of a value, and its growth if that is affine.
type change struct {
	motion motion
	growth int64
}

// lanes are the lanes of a loop: rounds next to each other along one index.
type lanes struct {
	fn    *ir.Func
	slot  int    // the index along which they run
	width int    // their number
	first string // the index in the first lane, an i64

	changes map[int]change // of locals that are not uniform
	memo    map[*ir.Expr]change
}

// newLanes classifies the locals of a body, until nothing changes: a local varies if one of
// its values does, or if a lane may skip an assignment.
func newLanes(fn *ir.Func, slot, width int, body []*ir.Stmt) *lanes {
	l := &lanes{fn: fn, slot: slot, width: width, changes: map[int]change{slot: {affine, 1}}, memo: map[*ir.Expr]change{}}
	for l.pass(body, false) {
		clear(l.memo)
	}
	clear(l.memo)
	return l
}

// pass classifies the locals of list once, and reports whether one has changed. divergent
// reports whether some lanes may skip list.
func (l *lanes) pass(list []*ir.Stmt, divergent bool) (changed bool) {
	raise := func(slot int, c change) {
		if c.motion > l.changes[slot].motion {
			l.changes[slot] = c
			changed = true
		}
	}
	for _, st := range list {
		switch st.Kind {
		case ir.SetStmt:
			c := l.of(st.Value)
			if l.fn.Slots[st.Slot].Assigned && (c.motion != uniform || divergent) {
				c = change{motion: varying}
			}
			raise(st.Slot, c)
		case ir.ElementStmt:
			if divergent || l.of(st.Value).motion != uniform || l.of(st.Index[0]).motion != uniform {
				raise(st.Slot, change{motion: varying})
			}
		case ir.IfStmt:
			d := divergent || l.of(st.Value).motion != uniform
			changed = l.pass(st.Body, d) || changed
			changed = l.pass(st.Else, d) || changed
		case ir.ForStmt:
			d := divergent
			if !l.sameRange(&st.Domain[0]) {
				d = true
				raise(st.Domain[0].Slot, change{motion: varying})
			}
			changed = l.pass(st.Body, d) || changed
		}
	}
	return changed
}

// sameRange reports whether r is the same in all lanes.
func (l *lanes) sameRange(r *ir.Range) bool {
	return l.of(r.Lo).motion == uniform && l.of(r.Hi).motion == uniform
}

// of returns the change of e.
func (l *lanes) of(e *ir.Expr) change {
	if c, ok := l.memo[e]; ok {
		return c
	}
	c := l.changeOf(e)
	l.memo[e] = c
	return c
}

// maxGrowth bounds the growth of an affine value, so that it does not overflow.
const maxGrowth = 1 << 30

func (l *lanes) changeOf(e *ir.Expr) change {
	switch e.Op {
	case ir.OpConst, ir.OpField:
		return change{}
	case ir.OpSlot:
		return l.changes[e.Slot]
	case ir.OpElement:
		if l.changes[e.Slot].motion == varying {
			return change{motion: varying}
		}
	}
	same := true
	for _, r := range e.Domain {
		same = same && l.sameRange(&r)
	}
	for _, x := range e.X {
		same = same && l.of(x).motion == uniform
	}
	if same {
		return change{}
	}
	if e.Type != ir.I64 {
		return change{motion: varying}
	}
	grows := func(k int64) change {
		if k >= maxGrowth || k <= -maxGrowth {
			return change{motion: varying}
		}
		return change{affine, k}
	}
	switch e.Op {
	case ir.OpNeg:
		if x := l.of(e.X[0]); x.motion == affine {
			return grows(-x.growth)
		}
	case ir.OpAdd, ir.OpSub:
		x, y := l.of(e.X[0]), l.of(e.X[1])
		if x.motion == varying || y.motion == varying {
			break
		}
		if e.Op == ir.OpSub {
			return grows(x.growth - y.growth)
		}
		return grows(x.growth + y.growth)
	case ir.OpMul:
		for k := range 2 {
			x, y := l.of(e.X[k]), e.X[1-k]
			if x.motion == affine && y.Op == ir.OpConst && y.Int < maxGrowth && y.Int > -maxGrowth {
				return grows(x.growth * y.Int)
			}
		}
	}
	return change{motion: varying}
}

// sideBySide reports whether an element is the same in all lanes, or lies next to that of the lane before.
func (l *lanes) sideBySide(at *ir.Expr) bool {
	for k, x := range at.X {
		c := l.of(x)
		if c.motion == varying || c.motion == affine && (k < len(at.X)-1 || c.growth != 1 && c.growth != -1) {
			return false
		}
	}
	return true
}
