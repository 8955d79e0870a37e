package llvm

// Rows of lanes: rounds of an each that differ in two indices, side by side in the loops of
// its body. A product of matrices loads each element of its second operand once for all rows,
// and keeps their sums in registers.

import (
	"maps"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// maxRows bounds the rows: the sums of four and the values that they share fit in the 16
// registers of AVX2.
const maxRows = 4

// rowsOf returns the number of rows of an each with lanes along its last index, 1 if rows would
// share nothing.
func (w *writer) rowsOf(st *ir.Stmt, body []*ir.Stmt, l *lanes, axis int) int {
	if axis < 1 || axis != len(st.Domain)-1 {
		return 1
	}
	own := ownLocals(body)
	own[st.Domain[axis-1].Slot] = true
	shared, sums := false, 0
	arrays := false // which are not in registers
	ir.WalkStmts(body, func(s *ir.Stmt) { arrays = arrays || s.Kind == ir.SetStmt && w.fn.Slots[s.Slot].Len > 0 })
	if arrays {
		return 1
	}
	for _, s := range body {
		if s.Kind != ir.ForStmt || !w.shares(s, own, l) {
			continue
		}
		shared = true
		n := 0
		ir.WalkStmts(s.Body, func(in *ir.Stmt) {
			if in.Kind == ir.SetStmt && w.fn.Slots[in.Slot].Assigned {
				n++
			}
		})
		sums = max(sums, n)
	}
	switch {
	case !shared || sums > 2:
		return 1
	case sums == 2:
		return maxRows / 2
	}
	return maxRows
}

// ownLocals returns the locals that a body assigns, and the indices of its loops.
func ownLocals(body []*ir.Stmt) map[int]bool {
	own := map[int]bool{}
	ir.WalkStmts(body, func(st *ir.Stmt) {
		switch st.Kind {
		case ir.SetStmt:
			own[st.Slot] = true
		case ir.ForStmt:
			own[st.Domain[0].Slot] = true
		}
	})
	return own
}

// shares reports whether a `for` has the same range in all rows, and in all lanes.
func (w *writer) shares(st *ir.Stmt, own map[int]bool, l *lanes) bool {
	r := &st.Domain[0]
	same := l.sameRange(r) && st.Value == nil
	for _, e := range []*ir.Expr{r.Lo, r.Hi} {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			same = same && !(x.Op == ir.OpSlot && own[x.Slot]) && x.Op != ir.OpFold
			return same
		})
	}
	return same
}

// inRows writes the rounds of the last two indices of a domain. Blocks of lanes are the outer
// loop, so that the elements that their rows share stay in the cache.
func (w *writer) inRows(d *domain, l *lanes, rows int, body []*ir.Stmt) {
	axis := len(d.ranges) - 1
	slot, lo, n := d.ranges[axis-1].Slot, d.lo[axis-1], d.n[axis-1]
	own := ownLocals(body)
	own[slot] = true
	w.inLanes(l, d.lo[axis], d.n[axis], false, 0, func(p place) {
		first := intValue(0)
		if p.mask == "" {
			blocks := w.binary("udiv", n, intValue(int64(rows)))
			w.loop(blocks, false, 0, func(k value) {
				old := w.rows
				w.rows = maps.Clone(own)
				at := w.binary("add", lo, w.binary("mul", k, intValue(int64(rows))))
				for w.row = range rows {
					w.set(slot, w.binary("add", at, intValue(int64(w.row))))
				}
				w.rowStmts(body, rows, p)
				w.rows, w.row = old, 0
			})
			first = w.binary("mul", blocks, intValue(int64(rows)))
		}
		w.loop(w.binary("sub", n, first), false, 0, func(k value) {
			w.set(slot, w.binary("add", lo, w.binary("add", first, k)))
			w.stmts(body, p)
		})
	})
}

// rowStmts writes a block for all rows. A loop that they share is written once.
func (w *writer) rowStmts(list []*ir.Stmt, rows int, p place) {
	for _, st := range list {
		if st.Kind != ir.ForStmt || !w.shares(st, w.rows, p.lanes) {
			for w.row = range rows {
				w.stmt(st, p)
			}
			continue
		}
		w.row = 0
		r := &st.Domain[0]
		w.note(r.Pos, "in order, in each lane: %v", workOf(st.Body, nil))
		lo, hi := w.expr(r.Lo, p), w.expr(r.Hi, p)
		w.loop(w.trips(lo, hi, r.Closed), !hasLoops(st.Body, nil), rows*cost(st.Body, nil), func(k value) {
			i := w.binary("add", lo, k)
			for w.row = range rows {
				w.set(r.Slot, i)
			}
			w.rowStmts(st.Body, rows, p)
		})
	}
}

// unfold returns list with the folds of lanes as loops, which rows can share. Folds that only
// some rounds evaluate stay.
func (w *writer) unfold(list []*ir.Stmt, l *lanes) []*ir.Stmt {
	var out []*ir.Stmt
	for _, st := range list {
		c := *st
		var before []*ir.Stmt
		take := func(e *ir.Expr) *ir.Expr { return w.takeFolds(e, l, &before) }
		if st.Kind != ir.IfStmt {
			c.Body, c.Else = w.unfold(st.Body, l), nil
		} else {
			c.Body, c.Else = w.unfold(st.Body, l), w.unfold(st.Else, l)
		}
		same := true
		if len(st.Index) > 0 {
			c.Index = make([]*ir.Expr, len(st.Index))
			for k, x := range st.Index {
				c.Index[k] = take(x)
				same = same && c.Index[k] == x
			}
		}
		if st.Value != nil {
			c.Value = take(st.Value)
		}
		if (st.Kind == ir.StoreStmt || st.Kind == ir.ElementStmt) && same {
			w.elements[&c] = w.elementOf(st) // proved to be in bounds, or not
		}
		out = append(append(out, before...), &c)
	}
	return out
}

// takeFolds replaces folds in e that every round evaluates by locals, and adds the statements
// that compute them to before. An expression without such folds is returned as it is.
func (w *writer) takeFolds(e *ir.Expr, l *lanes, before *[]*ir.Stmt) *ir.Expr {
	if e.Op == ir.OpFold {
		if l.of(e).motion == uniform {
			return e
		}
		for k := range e.Domain {
			if !l.sameRange(&e.Domain[k]) {
				return e
			}
		}
		slot := len(w.fn.Slots)
		w.fn.Slots = append(w.fn.Slots, ir.Slot{Name: "fold", Type: e.Type, Assigned: true})
		i, f := ir.Neutral(e.Reduce, e.Type)
		none := &ir.Expr{Op: ir.OpConst, Type: e.Type, Int: i, Float: f}
		sum := &ir.Expr{Op: ir.OpSlot, Type: e.Type, Slot: slot}
		loop := &ir.Stmt{Kind: ir.SetStmt, Slot: slot, Value: &ir.Expr{Op: e.Reduce, Type: e.Type, X: []*ir.Expr{sum, e.X[0]}}}
		body := w.unfold([]*ir.Stmt{loop}, l)
		for k := len(e.Domain) - 1; k >= 0; k-- {
			body = []*ir.Stmt{{Kind: ir.ForStmt, Domain: e.Domain[k : k+1], Body: body}}
		}
		*before = append(*before, &ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: slot, Value: none})
		*before = append(*before, body...)
		return sum
	}
	list := e.X
	switch e.Op {
	case ir.OpAnd, ir.OpOr, ir.OpCond:
		list = e.X[:1] // the others may not be evaluated
	}
	var c *ir.Expr
	for k, x := range list {
		if y := w.takeFolds(x, l, before); y != x {
			if c == nil {
				copied := *e
				copied.X = append([]*ir.Expr(nil), e.X...)
				c = &copied
			}
			c.X[k] = y
		}
	}
	if c == nil {
		return e
	}
	return c
}
