package llvm

// Folds, in the order that cpu.Order gives.

import (
	"fmt"

	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// fold writes a fold.
func (w *writer) fold(e *ir.Expr, p place) value {
	if p.width(e) > 0 || w.thread != nil && w.thread.differs(e) {
		return w.foldInOrder(e, p)
	}
	alone := place{checked: p.checked}
	out := w.alloca(scalarType(e.Type))
	w.inNest(nil, e, alone, func(p place) {
		w.emit("store %s, ptr %s", w.foldAlone(e, p).text(), out)
	})
	return value{name: w.ins("load %s, ptr %s", scalarType(e.Type), out), typ: e.Type}
}

// neutral returns the value of a fold over no round.
func neutral(e *ir.Expr) value {
	i, f := ir.Neutral(e.Reduce, e.Type)
	return constant(e.Type, i, f)
}

// combine returns two results of a fold as one.
func (w *writer) combine(reduce ir.Op, x, y value) value {
	float := x.typ.IsFloat()
	switch {
	case reduce == ir.OpAdd && float:
		return w.binary("fadd", x, y)
	case reduce == ir.OpAdd:
		return w.binary("add", x, y)
	case reduce == ir.OpMul && float:
		return w.binary("fmul", x, y)
	case reduce == ir.OpMul:
		return w.binary("mul", x, y)
	case float:
		return w.extremeFloat(reduce, x, y)
	case reduce == ir.OpMin:
		return w.choose(w.comparison(ir.OpLt, y, x), y, x)
	}
	return w.choose(w.comparison(ir.OpGt, y, x), y, x)
}

// foldInOrder writes a fold in lanes, or in a thread, which combines its values one after another.
func (w *writer) foldInOrder(e *ir.Expr, p place) value {
	width := p.width(e)
	d := w.domain(e.Domain, p)
	sum := w.spread(neutral(e), width)
	at := w.alloca(sum.llvm())
	w.emit("store %s, ptr %s", sum.text(), at)
	w.some(d, func() {
		w.around(d, 0, -1, !hasLoops(nil, e.X[0]), cost(nil, e.X[0]), func() {
			v := w.spread(w.expr(e.X[0], p), width)
			old := value{w.ins("load %s, ptr %s", sum.llvm(), at), e.Type, width}
			w.emit("store %s, ptr %s", w.combine(e.Reduce, old, v).text(), at)
		})
	})
	sum.name = w.ins("load %s, ptr %s", sum.llvm(), at)
	return sum
}

// total combines results on three levels, as cpu.Order.Fold says.
type total struct {
	e      *ir.Expr
	levels [3]string
	count  string
}

func (w *writer) newTotal(e *ir.Expr) *total {
	t := &total{e: e, count: w.alloca("i64")}
	w.emit("store i64 0, ptr %s", t.count)
	for k := range t.levels {
		t.levels[k] = w.alloca(scalarType(e.Type))
		w.emit("store %s, ptr %s", neutral(e).text(), t.levels[k])
	}
	return t
}

func (w *writer) level(t *total, k int) value {
	return value{name: w.ins("load %s, ptr %s", scalarType(t.e.Type), t.levels[k]), typ: t.e.Type}
}

// add adds a result.
func (w *writer) add(t *total, x value) {
	w.emit("store %s, ptr %s", w.combine(t.e.Reduce, w.level(t, 0), x).text(), t.levels[0])
	n := w.ins("add i64 %s, 1", w.ins("load i64, ptr %s", t.count))
	w.emit("store i64 %s, ptr %s", n, t.count)
	move := func(bits, from int, inner func()) {
		full := w.ins("icmp eq i64 %s, 0", w.ins("and i64 %s, %d", n, bits))
		yes, end := w.label("full"), w.label("end")
		w.rarely(full, yes, end)
		w.start(yes)
		up := w.combine(t.e.Reduce, w.level(t, from+1), w.level(t, from))
		w.emit("store %s, ptr %s", up.text(), t.levels[from+1])
		w.emit("store %s, ptr %s", neutral(t.e).text(), t.levels[from])
		inner()
		w.jump(end)
		w.start(end)
	}
	move(63, 0, func() { move(4095, 1, func() {}) })
}

// foldAlone writes a standalone fold.
func (w *writer) foldAlone(e *ir.Expr, p place) value {
	d := w.domain(e.Domain, p)
	t := w.newTotal(e)
	axis := w.order.Fold(e)
	w.some(d, func() {
		if axis < 0 {
			w.note(e.Pos, "a fold, one round at a time: %v", workOf(nil, e.X[0]))
			w.around(d, 0, -1, !hasLoops(nil, e.X[0]), cost(nil, e.X[0]), func() { w.add(t, w.expr(e.X[0], p)) })
			return
		}
		w.note(e.Pos, "a fold in %d lanes of `%s`, %v", partialSums, w.fn.Slots[e.Domain[axis].Slot].Name, workOf(nil, e.X[0]))
		w.around(d, 0, axis, false, 0, func() { w.foldStrips(e, d, axis, t, p) })
	})
	return w.combine(e.Reduce, w.level(t, 2), w.combine(e.Reduce, w.level(t, 1), w.level(t, 0)))
}

// partialSums is the number of lanes of a fold, which its order fixes.
const partialSums = 8

// foldStrips writes the rounds of a standalone fold along an axis.
func (w *writer) foldStrips(e *ir.Expr, d *domain, axis int, t *total, p place) {
	l := newLanes(w.fn, d.ranges[axis].Slot, partialSums, []*ir.Stmt{{Kind: ir.IfStmt, Value: e.X[0]}})
	body, c := e.X[0], cost(nil, e.X[0])
	n := d.n[axis]
	strips := w.binary("udiv", w.binary("add", n, intValue(cpu.StripRounds-1)), intValue(cpu.StripRounds))
	product := e.Reduce == ir.OpMul && e.Type.IsFloat()
	width := partialSums
	if product {
		width = 0
	}
	first := neutral(e)
	if e.Reduce == ir.OpAdd {
		first = constant(e.Type, 0, 0)
	}
	part := w.alloca(llvmType(e.Type, width))
	w.loop(strips, false, 0, func(k value) {
		done := w.binary("mul", k, intValue(cpu.StripRounds))
		left := w.binary("sub", n, done)
		full := w.compare("icmp ugt", left, intValue(cpu.StripRounds))
		left = w.choose(full, intValue(cpu.StripRounds), left)
		w.emit("store %s, ptr %s", w.spread(first, width).text(), part)
		load := func() value {
			return value{w.ins("load %s, ptr %s", llvmType(e.Type, width), part), e.Type, width}
		}
		w.inLanes(l, w.binary("add", d.lo[axis], done), left, !hasLoops(nil, body), c, func(p place) {
			v := w.spread(w.expr(body, p), partialSums)
			if product {
				if p.mask != "" {
					v = w.choose(w.mask(p), v, constant(e.Type, 0, 1))
				}
				r := load()
				for k := range partialSums {
					r = w.binary("fmul", r, w.lane(v, fmt.Sprint(k)))
				}
				w.emit("store %s, ptr %s", r.text(), part)
				return
			}
			old := load()
			r := w.combine(e.Reduce, old, v)
			if p.mask != "" {
				r = w.choose(w.mask(p), r, old)
			}
			w.emit("store %s, ptr %s", r.text(), part)
		})
		r := load()
		for r.width > 1 { // 0+4, 1+5, …; then (0+4)+(2+6), …
			half := r.width / 2
			low, high := "", ""
			for k := range half {
				low, high = low+fmt.Sprintf(", i32 %d", k), high+fmt.Sprintf(", i32 %d", k+half)
			}
			pick := func(list string) value {
				return value{w.ins("shufflevector %s, %s poison, <%d x i32> <%s>", r.text(), r.llvm(), half, list[2:]), r.typ, half}
			}
			r = w.combine(e.Reduce, pick(low), pick(high))
		}
		if r.width == 1 {
			r = w.lane(r, "0")
		}
		w.add(t, r)
	})
}
