package llvm

// Arrays of a body. Those that may differ between lanes have a vector for each element, others a
// value. They are memory of the function, and optimisation makes registers of arrays whose
// indices are constants in the end.

import (
	"fmt"
	"strconv"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// The bounds of the memory of all arrays of a body: maxArrayBytes on the stack of a thread of the
// processor, maxThreadBytes in each thread of a device, which has memory for all threads that it can
// run at once.
const (
	maxArrayBytes  = 64 << 10
	maxThreadBytes = 8 << 10
)

// arrayType returns the LLVM type of an array, in lanes if width is not 0.
func (w *writer) arrayType(slot, width int) string {
	s := &w.fn.Slots[slot]
	w.arrayBytes += s.Len * int(s.Type.Size()) * max(width, 1)
	most := maxArrayBytes
	if w.thread != nil {
		most = maxThreadBytes
	}
	if w.arrayBytes > most {
		panic(unsupported{fmt.Sprintf("arrays that take more than %d KiB", most>>10)})
	}
	return fmt.Sprintf("[%d x %s]", s.Len, llvmType(s.Type, width))
}

// arrayWidth returns the number of lanes of an array in p, 0 if it is the same in all of them.
func (p place) arrayWidth(slot int) int {
	if p.lanes == nil || p.lanes.changes[slot].motion != varying {
		return 0
	}
	return p.lanes.width
}

// always reports whether the element at, of an array, is known to be in bounds.
func (w *writer) always(at *ir.Expr) bool { return at.InBounds() || w.certain[at] }

// elementIndex writes the index of an element of an array, and checks it.
func (w *writer) elementIndex(at *ir.Expr, p place) value {
	i := w.expr(at.X[0], p)
	if !w.always(at) && (p.checked || !w.inBounds(at)) {
		w.guard(p, w.compare("icmp uge", i, intValue(at.Int)), fault{outOfBounds, at, 0}, i)
	}
	return i
}

// elementAt returns the address of element i of an array, or the addresses of those of the lanes
// if i differs between them.
func (w *writer) elementAt(slot int, i value, p place) string {
	width, t := p.arrayWidth(slot), w.fn.Slots[slot].Type
	base := w.memory(slot, width)
	if i.width == 0 {
		return w.ins("getelementptr %s, ptr %s, %s", llvmType(t, width), base, i.text())
	}
	if width > 0 { // the lanes of an element lie side by side
		i = w.binary("mul", i, intValue(int64(width)))
		i = w.binary("add", i, w.ramp("0", 1, width))
	}
	return w.ins("getelementptr %s, ptr %s, %s", scalarType(t), base, i.text())
}

// loadElement writes the load of an element of an array.
func (w *writer) loadElement(e *ir.Expr, p place) value {
	i := w.elementIndex(e, p)
	at := w.elementAt(e.Slot, i, p)
	if i.width > 0 {
		w.note(e.Pos, "`%s` is read lane by lane: its index differs between the lanes", ir.SourceText(w.fn.Source, e.Pos))
		return w.gather(at, e.Type, w.mask(p))
	}
	width := p.arrayWidth(e.Slot)
	return value{w.ins("load %s, ptr %s", llvmType(e.Type, width), at), e.Type, width}
}

// setElement writes an assignment to an element of an array.
func (w *writer) setElement(st *ir.Stmt, p place) {
	e := w.elementOf(st)
	v := w.expr(st.Value, p)
	i := w.elementIndex(e, p)
	at := w.elementAt(e.Slot, i, p)
	width := p.arrayWidth(e.Slot)
	v = w.spread(v, width)
	switch {
	case i.width > 0:
		w.note(e.Pos, "`%s` is written lane by lane: its index differs between the lanes", ir.SourceText(w.fn.Source, e.Pos))
		w.scatter(at, v, w.mask(p))
	case width > 0 && p.mask != "":
		old := value{w.ins("load %s, ptr %s", v.llvm(), at), v.typ, width}
		w.emit("store %s, ptr %s", w.choose(w.mask(p), v, old).text(), at)
	default:
		w.emit("store %s, ptr %s", v.text(), at)
	}
}

// fillArray writes the declaration of an array.
func (w *writer) fillArray(st *ir.Stmt, p place) {
	v := w.spread(w.expr(st.Value, p), p.arrayWidth(st.Slot))
	for k := range w.fn.Slots[st.Slot].Len {
		w.emit("store %s, ptr %s", v.text(), w.elementAt(st.Slot, intValue(int64(k)), p))
	}
}

// constantOf returns the value of an int constant.
func constantOf(v value) (int64, bool) {
	if v.typ != ir.I64 || !v.isConstant() {
		return 0, false
	}
	i, err := strconv.ParseInt(v.name, 10, 64)
	return i, err == nil
}

// isCertain reports whether the span s of an index is known to be in an array of n elements.
func isCertain(s span, n int64) bool {
	lo, ok := constantOf(s.lo)
	hi, ok2 := constantOf(s.hi)
	return ok && ok2 && lo >= 0 && hi < n
}
