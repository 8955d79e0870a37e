package cpu

// The parts of strips that machine code shares: the order of folds, the operands of a task as
// words, and faults.

import (
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Order is the order in which the folds of a body combine their values. Back ends must keep
// it to get the same bits. It is not safe for concurrent use.
type Order struct{ c *compiler }

// NewOrder returns the order of the folds of fn.
func NewOrder(fn *ir.Func) *Order { return &Order{&compiler{fn: fn}} }

// Each returns the index of the each st along which strips run, or -1 if its rounds run one
// by one. In strips, a fold that differs between the rounds of a strip combines its values one
// after another, in the order of its domain, beginning with the neutral value. Other
// folds are standalone: see Fold.
func (o *Order) Each(st *ir.Stmt) int {
	axis := o.c.bestAxis(st.Domain, st.Body, nil)
	if axis < 0 {
		return -1
	}
	s := o.c.newStripCompiler(st.Domain[axis].Slot)
	if !s.prepare(st.Body) {
		return -1
	}
	t := s.allocateLocals(st.Body, 0)
	if !s.fitsStrips(func() { s.block(st.Body, t) }) {
		return -1
	}
	return axis
}

// StripRounds is the number of rounds of a standalone fold whose values make one result for
// its total.
const StripRounds = stripLen

// Fold returns the index whose rounds make strips of the standalone fold e, or -1 if e runs
// round by round.
//
// In strips, the values of StripRounds rounds along that index make one result. A sum has eight
// partial sums: round k of the strip adds to number k modulo 8, and the result is
// ((0+4)+(2+6)) + ((1+5)+(3+7)). A product is taken in order. The other indices run around
// it, in order. Round by round, the value of each round is one result.
//
// The results are combined on three levels, which begin with the neutral value: every
// result is added to the first level; after 64 results, the first level is added to the
// second and begins again, and after 4096 the second to the third. The value of the fold is
// third + (second + first).
func (o *Order) Fold(e *ir.Expr) int {
	axis := o.c.bestAxis(e.Domain, nil, e.X[0])
	if axis < 0 {
		return -1
	}
	s := o.c.newStripCompiler(e.Domain[axis].Slot)
	if !s.foldable(e.X[0]) {
		return -1
	}
	fits := false
	o.c.dryRun++
	switch e.Type {
	case ir.F64:
		fits = s.fitsStrips(func() { stripReducer[float64](s, e, 0) })
	case ir.F32:
		fits = s.fitsStrips(func() { stripReducer[float32](s, e, 0) })
	default:
		fits = true // the order does not change a result of integers
	}
	o.c.dryRun--
	if !fits {
		return -1
	}
	return axis
}

// The words of an operand in Bound.Words.
const (
	WordPtr = iota
	WordDim0
	WordStride0  = WordDim0 + iface.MaxRank        // in elements: between neighbours along each index but the last
	WordOff0     = WordStride0 + iface.MaxRank - 1 // along each index
	OperandWords = WordOff0 + iface.MaxRank
)

// Words fills in the words of machine code: OperandWords for each data operand of the body, in
// order (the words of operands that the body does not use are undefined); then one for each
// local: integers, the bits of floats as f64, 0 or 1 for a bool. Only the words of
// scalar operands have values. The memory of the operands must stay reachable by other means.
func (o Bound) Words(words []uint64) {
	m := o.m
	for _, k := range m.p.used {
		v, w := &m.ops[k], words[k*OperandWords:][:OperandWords]
		w[WordPtr] = uint64(uintptr(v.ptr))
		w[WordDim0], w[WordDim0+1] = uint64(v.dim[0]), uint64(v.dim[1])
		w[WordOff0], w[WordOff0+1] = uint64(v.off[0]), uint64(v.off[1])
		w[WordStride0], w[WordStride0+1] = uint64(v.row), 1
		if b := v.buf; b != nil {
			for k := 2; k < int(b.Rank); k++ {
				w[WordDim0+k], w[WordOff0+k] = uint64(b.Dim[k]), uint64(b.Off[k])
			}
			for k := range int(b.Rank) - 1 {
				w[WordStride0+k] = uint64(b.Stride[k])
			}
		}
	}
	locals := words[len(m.p.fn.Operands)*OperandWords:]
	for _, slot := range m.p.fn.Scalars {
		switch {
		case slot < 0:
		case m.p.fn.Slots[slot].Type.IsFloat():
			locals[slot] = math.Float64bits(m.flts[slot])
		default:
			locals[slot] = uint64(m.ints[slot])
		}
	}
}

// faultOf returns the fault with which f ends a run.
func faultOf(f func()) (fault *Fault) {
	defer func() {
		r := recover()
		if x, is := r.(*Fault); is {
			fault = x
		} else if r != nil {
			panic(r)
		}
	}()
	f()
	return nil
}

// OutOfBounds returns the fault of index i on an axis of the element at.
func (o Bound) OutOfBounds(at *ir.Expr, axis int, i int64) *Fault {
	return faultOf(func() { o.m.outOfBounds(at, at.Operand, axis, i) })
}

// ZeroDivision returns the fault of the integer division e by zero.
func (o Bound) ZeroDivision(e *ir.Expr) *Fault { return faultOf(func() { o.m.zeroDivision(e) }) }

// NegativePower returns the fault of the integer power e with exponent k.
func (o Bound) NegativePower(e *ir.Expr, k int64) *Fault {
	return faultOf(func() { o.m.negativePower(e, k) })
}
