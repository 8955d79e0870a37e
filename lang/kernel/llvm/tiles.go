package llvm

// Tiles: rounds of an each whose elements lie side by side along its last index in some accesses, and along the index
// before it in others, as in a transposition.

import "github.com/starpush/starpush/lang/kernel/ir"

// lineBytes is the size of a line of the cache.
const lineBytes = 64

// tileRows returns how many rows of rounds a tile has, or 0 for no tiles: if lanes along the last index would read or
// write elements in different rows, which lie side by side along the index before it. There are as many as a line of the
// cache has elements, so that it serves all of them before it leaves the cache: transposing a matrix of 1024 x 1024 f64
// took 51 ms without tiles and takes 15 ms.
func (w *writer) tileRows(st *ir.Stmt, body []*ir.Stmt, l *lanes, axis int) (rows int) {
	if axis < 1 || axis != len(st.Domain)-1 || hasLoops(body, nil) || cost(body, nil) > twiceCost {
		return 0
	}
	across := newLanes(w.fn, st.Domain[axis-1].Slot, l.width, body)
	element := func(x *ir.Expr, t ir.Type) {
		found := false
		last := len(x.X) - 1
		for k, i := range x.X {
			c := across.of(i)
			if k < last && c.motion != uniform || k == last && c != (change{affine, 1}) {
				return
			}
			found = found || k < last && l.of(i).motion == affine
		}
		if found {
			rows = max(rows, lineBytes/int(t.Size()))
		}
	}
	ir.WalkStmts(body, func(s *ir.Stmt) {
		if s.Kind == ir.StoreStmt {
			element(w.elementOf(s), s.Value.Type)
		}
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				if x.Op == ir.OpLoad {
					element(x, x.Type)
				}
				return true
			})
		})
	})
	return min(rows, shortLoop)
}

// inTiles writes the rounds of the last two indices of a domain: a number of rows for each block of lanes.
func (w *writer) inTiles(d *domain, l *lanes, count, c int, body []*ir.Stmt) {
	axis := len(d.ranges) - 1
	slot, lo, n := d.ranges[axis-1].Slot, d.lo[axis-1], d.n[axis-1]
	rows := intValue(int64(count))
	tiles := w.binary("udiv", n, rows)
	w.loop(tiles, false, 0, func(k value) {
		at := w.binary("add", lo, w.binary("mul", k, rows))
		w.inLanes(l, d.lo[axis], d.n[axis], true, c*count, func(p place) {
			w.loop(rows, true, c, func(i value) {
				w.set(slot, w.binary("add", at, i))
				w.stmts(body, p)
			})
		})
	})
	done := w.binary("mul", tiles, rows)
	w.loop(w.binary("sub", n, done), false, 0, func(i value) {
		w.set(slot, w.binary("add", lo, w.binary("add", done, i)))
		w.inLanes(l, d.lo[axis], d.n[axis], true, c, func(p place) { w.stmts(body, p) })
	})
}
