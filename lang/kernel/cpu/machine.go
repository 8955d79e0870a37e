package cpu

// The state of a run, and faults.

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// stripLen is the number of rounds in a strip: large enough to hide the cost of a call for
// each operation, small enough that several strips fit in the first-level cache.
const stripLen = 512

// tickEvery is the approximate number of elements between two checks of the context.
const tickEvery = 1 << 16

type (
	stmtFn func(m *machine)
	intFn  func(m *machine) int64   // integers, U64 as the int64 of its bits
	fltFn  func(m *machine) float64 // floats, F32 rounded
	boolFn func(m *machine) bool
)

// operandView is a buffer in the form that code reads.
type operandView struct {
	ptr  unsafe.Pointer
	dim  [2]int64
	row  int64 // distance between rows, in elements
	off  [2]int64
	kind iface.Kind
	buf  *iface.Buffer // of a block or tensor: has the other sizes, offsets and strides
}

// size returns the size of axis k.
func (v *operandView) size(k int) int64 {
	if k < len(v.dim) {
		return v.dim[k]
	}
	return int64(v.buf.Dim[k])
}

// machine is the state of one run.
type machine struct {
	p     *Program
	ints  []int64          // by slot: integers, bools as 0 and 1, first index of the strip; then elements of arrays
	flts  []float64        // by slot, then elements of arrays
	ptrs  []unsafe.Pointer // by slot: strips of locals that differ between rounds
	ops   []operandView
	arena []uint64
	// segments are the ranges whose values are in the strip: see ragged.go.
	segments []segment

	task   ir.Task
	budget int // elements until the next check of the context

	overflowed bool // an index overflowed while demands were checked
}

// stopped is the panic of a run whose context has ended.
type stopped struct{ cause error }

func newMachine(p *Program) *machine {
	return &machine{p: p,
		ints: make([]int64, p.locals), flts: make([]float64, p.locals), ptrs: make([]unsafe.Pointer, len(p.fn.Slots)),
		ops: make([]operandView, len(p.fn.Operands)), arena: make([]uint64, p.temps*stripLen)}
}

// resize makes m, the machine of another program, a machine for p.
func (m *machine) resize(p *Program) {
	m.p = p
	m.ints, m.flts = resized(m.ints, p.locals), resized(m.flts, p.locals)
	m.ptrs = resized(m.ptrs, len(p.fn.Slots))
	m.ops = resized(m.ops, len(p.fn.Operands))
	m.arena = resized(m.arena, p.temps*stripLen)
}

// resized returns a slice of length n, in the memory of a if that suffices, with any values.
func resized[T any](a []T, n int) []T {
	if n > cap(a) {
		return make([]T, n)
	}
	return a[:n]
}

// reset drops all references to the operands of a run.
func (m *machine) reset() {
	clear(m.ops)
	clear(m.ptrs)
	m.task = nil
}

// bind checks the operands of t that the body uses and puts them into m. It skips the
// others, which only order tasks, because filling in a buffer takes 30 ns.
func (m *machine) bind(t ir.Task) error {
	fn, args := m.p.fn, t.Args()
	if t.NumBuffers() != len(fn.Operands) || len(args) != fn.NumScalars() {
		return fmt.Errorf("kernel: codelet %s takes %d data and %d scalar operands, and got %d and %d",
			fn.Name, len(fn.Operands), fn.NumScalars(), t.NumBuffers(), len(args))
	}
	for _, k := range m.p.used {
		o, b := &fn.Operands[k], t.Buffer(k)
		if b == nil || b.Kind != o.Kind || o.Kind != iface.Void && b.Elem != iface.Elem(o.Elem) {
			got := "nothing"
			if b != nil {
				got = b.Desc.String()
			}
			return fmt.Errorf("kernel: operand %s of codelet %s must be a %v of %v, and is %s", o.Name, fn.Name, o.Kind, o.Elem, got)
		}
		v := &m.ops[k] // field by field: copying a composite literal waits for its stores and takes 12 ns
		v.ptr, v.kind = b.Ptr, b.Kind
		v.dim[0], v.dim[1] = int64(b.Dim[0]), int64(b.Dim[1])
		v.off[0], v.off[1] = int64(b.Off[0]), int64(b.Off[1])
		v.row = 1
		if b.Rank == 2 {
			v.row = int64(b.Stride[0])
			if b.Dim[0] <= 1 && v.row == 0 {
				v.row = v.dim[1]
			}
		} else if b.Rank > 2 {
			v.buf = b
		}
		if o.Elem.IsComplex() {
			v.splitElements(b)
		}
	}
	k := -1
	for _, slot := range fn.Scalars {
		if slot >= 0 && fn.Slots[slot].Imaginary { // of the argument before
			m.flts[slot] = imag(args[k].Complex())
			if fn.Slots[slot].Type == ir.F32 {
				m.flts[slot] = float64(float32(m.flts[slot]))
			}
			continue
		}
		if k++; slot < 0 {
			continue
		}
		a := args[k]
		m.setScalar(slot, fn.Slots[slot].Type, a)
		if e := fn.Slots[slot].Elem; e.Is16() {
			m.flts[slot] = iface.Elem(e).Round(m.flts[slot])
		}
	}
	m.task, m.budget = t, tickEvery
	return nil
}

// splitElements makes v, of the buffer b with complex elements, a view of their parts, which lie along
// a last index.
func (v *operandView) splitElements(b *iface.Buffer) {
	switch b.Rank {
	case 0:
		v.dim[0] = 2
		return
	case 1:
		v.dim[1], v.row = 2, 2
		return
	}
	parts := *b
	rank := int(b.Rank)
	for axis := range rank - 1 {
		parts.Stride[axis] = 2 * b.Stride[axis]
		if axis == 0 && rank == 2 {
			parts.Stride[0] = 2 * int(v.row)
		}
	}
	parts.Stride[rank-1], parts.Stride[rank], parts.Dim[rank] = 2, 1, 2
	parts.Rank++
	v.row = int64(parts.Stride[0])
	v.buf = &parts
}

// setScalar assigns a scalar operand to its slot, converted as by a store.
func (m *machine) setScalar(slot int, t ir.Type, a iface.Scalar) {
	switch {
	case t == ir.Bool:
		m.ints[slot] = 0
		if a.Bool() {
			m.ints[slot] = 1
		}
	case t == ir.F32:
		m.flts[slot] = float64(float32(a.Float()))
	case t == ir.F64:
		m.flts[slot] = a.Float()
	case a.Kind() == iface.FloatScalar:
		m.ints[slot] = ir.Saturate(a.Float(), t)
	default:
		m.ints[slot] = ir.Wrap(a.Int(), t)
	}
}

// tick counts n elements, and every tickEvery of them checks the context and lets tasks of
// other jobs run.
func (m *machine) tick(n int) {
	if m.budget -= n; m.budget > 0 {
		return
	}
	m.budget = tickEvery
	if ctx := m.task.Context(); ctx.Err() != nil {
		panic(stopped{context.Cause(ctx)})
	}
	m.task.GiveWay()
}

// strip returns scratch strip t, as n values of type T.
func strip[T any](m *machine, t, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&m.arena[t*stripLen])), stripLen)[:n]
}

// Fault is the error of a body that fails: an index out of bounds, an integer division by
// zero, a negative power of an integer. Span is the expression.
type Fault struct {
	Message string // one sentence, no full stop
	Span    diag.Span
	// If an index is out of bounds that depends on the index of a loop: the name of that
	// and the range of the loop.
	Index string
	Loop  diag.Span
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// fault ends the run with a Fault at e.
func (m *machine) fault(e *ir.Expr, format string, args ...any) {
	panic(m.newFault(e, format, args...))
}

func (m *machine) newFault(e *ir.Expr, format string, args ...any) *Fault {
	f := &Fault{Message: fmt.Sprintf(format, args...)}
	if src := m.p.fn.Source; src != nil {
		f.Span = src.Span(int(e.Pos.Lo), int(e.Pos.Hi))
	}
	return f
}

// outOfBounds ends the run because index i is out of bounds on axis k of the operand op or, if at
// is an element of an array, in that.
func (m *machine) outOfBounds(at *ir.Expr, op, k int, i int64) {
	var name string
	var axis ir.Noun
	var size int64
	if at.Op == ir.OpElement {
		name, axis, size = m.p.fn.Slots[at.Slot].Name, ir.AxisNouns(iface.Vector)[0], at.Int
	} else {
		o := &m.p.fn.Operands[op]
		name, axis, size = o.Name, ir.AxisNouns(o.Kind)[k], m.ops[op].size(k)
	}
	f := m.newFault(at, "%s %d is outside `%s`, which has %d %s", axis.One, i, name, size, axis.For(size))
	if k < len(at.X) {
		f.Loop, f.Index = analysis.IndexOrigin(m.p.fn, at.X[k])
	}
	panic(f)
}

func (m *machine) zeroDivision(e *ir.Expr) {
	m.fault(e, "integer division by zero in `%s`", ir.SourceText(m.p.fn.Source, e.Pos))
}

func (m *machine) negativePower(e *ir.Expr, k int64) {
	m.fault(e, "an int to the power of %d is no int, in `%s`", k, ir.SourceText(m.p.fn.Source, e.Pos))
}
