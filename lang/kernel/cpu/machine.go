package cpu

// The CPU back end: a machine that runs compiled bodies. Code is closures over
// a machine. Values of one round at a time are scalars; loops whose rounds do
// not depend on each other run strip by strip, one operation over a whole strip
// of rounds before the next (cpu_strip.go).

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// stripLen is the number of rounds in a strip: large enough to hide the cost of
// a call for each operation, small enough that some strips fit the first cache.
const stripLen = 512

// tickEvery is about how many elements are computed between looks at the
// context.
const tickEvery = 1 << 16

type (
	stmtFn func(m *machine)
	intFn  func(m *machine) int64   // integers, U64 as the int64 of its bits
	fltFn  func(m *machine) float64 // floats, F32 rounded
	boolFn func(m *machine) bool
)

// operandView is what code sees of a buffer.
type operandView struct {
	ptr  unsafe.Pointer
	dim  [2]int64
	row  int64 // distance between rows, in elements
	off  [2]int64
	kind iface.Kind
	buf  *iface.Buffer // of three indices: what says the rest
}

// size returns the size along axis k.
func (v *operandView) size(k int) int64 {
	if k < len(v.dim) {
		return v.dim[k]
	}
	return int64(v.buf.Dim[k])
}

// machine is the state of one run.
type machine struct {
	p     *Program
	ints  []int64          // by slot: integers, bools as 0 and 1, first index of the strip
	flts  []float64        // by slot
	ptrs  []unsafe.Pointer // by slot: strips of names that differ between rounds
	ops   []operandView
	arena []uint64
	task  ir.Task
	left  int // elements until the next look at the task's context

	wrapped bool // an index that demands looked at did not fit
}

// stopped ends a run because its context has ended.
type stopped struct{ cause error }

func newMachine(p *Program) *machine {
	return &machine{p: p,
		ints: make([]int64, len(p.fn.Slots)), flts: make([]float64, len(p.fn.Slots)), ptrs: make([]unsafe.Pointer, len(p.fn.Slots)),
		ops: make([]operandView, len(p.fn.Operands)), arena: make([]uint64, p.temps*stripLen)}
}

// fit makes m, which ran another program, a machine for p.
func (m *machine) fit(p *Program) {
	m.p = p
	m.ints, m.flts = roomFor(m.ints, len(p.fn.Slots)), roomFor(m.flts, len(p.fn.Slots))
	m.ptrs = roomFor(m.ptrs, len(p.fn.Slots))
	m.ops = roomFor(m.ops, len(p.fn.Operands))
	m.arena = roomFor(m.arena, p.temps*stripLen)
}

// roomFor returns a with length n; what is in it does not matter.
func roomFor[T any](a []T, n int) []T {
	if n > cap(a) {
		return make([]T, n)
	}
	return a[:n]
}

// reset drops what a run refers to.
func (m *machine) reset() {
	clear(m.ops)
	clear(m.ptrs)
	m.task = nil
}

// bind checks and takes the operands of a run that the body uses: the others
// are there for the order of tasks only, and filling in a buffer takes 30 ns.
func (m *machine) bind(t ir.Task) error {
	fn, args := m.p.fn, t.Args()
	if t.NumBuffers() != len(fn.Operands) || len(args) != len(fn.Scalars) {
		return fmt.Errorf("kernel: codelet %s takes %d data and %d scalar operands, and got %d and %d",
			fn.Name, len(fn.Operands), len(fn.Scalars), t.NumBuffers(), len(args))
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
		v := &m.ops[k] // field by field: a literal is built elsewhere and copied, which waits for its stores and takes 12 ns
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
	}
	for k, a := range args {
		slot := fn.Scalars[k]
		if slot < 0 {
			continue
		}
		m.setScalar(slot, fn.Slots[slot].Type, a)
	}
	m.task, m.left = t, tickEvery
	return nil
}

// setScalar puts a scalar operand into its slot, converted as a store would.
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

// tick counts n computed elements and looks at the context now and then.
func (m *machine) tick(n int) {
	if m.left -= n; m.left > 0 {
		return
	}
	m.left = tickEvery
	if ctx := m.task.Context(); ctx.Err() != nil {
		panic(stopped{context.Cause(ctx)})
	}
}

// strip returns scratch strip t, as n values of type T.
func strip[T any](m *machine, t, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&m.arena[t*stripLen])), stripLen)[:n]
}

// What ends a run: indices outside and integers without a result.

// Fault is what made a running body fail: an index outside, an integer
// division by zero. Span is the place in the body.
type Fault struct {
	Message string // one plain sentence, no full stop
	Span    diag.Span
	// Of an index outside that follows the index of a loop: that one's name, and what
	// the loop goes over.
	Index string
	Loop  diag.Span
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// fault ends the run.
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

// outside ends the run because index i of axis k of an operand is outside.
func (m *machine) outside(at *ir.Expr, op, k int, i int64) {
	o, v := &m.p.fn.Operands[op], &m.ops[op]
	axis := ir.AxisNouns(o.Kind)[k]
	f := m.newFault(at, "%s %d is outside `%s`, which has %d %s", axis.One, i, o.Name, v.size(k), axis.For(v.size(k)))
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
