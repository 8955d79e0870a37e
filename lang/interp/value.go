package interp

// Values of the language that are not numbers: how the machine represents them.

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang/types"
)

// repr says how values of a type are held: numbers and truth values in the number
// slots of a frame, all else in the reference slots.
type repr uint8

const (
	rRef   repr = iota // string, *List, Range, *Handle, *View, *Array, …; nil is none
	rInt               // int64
	rFloat             // bits of a float64
	rBool              // 0 or 1
)

func reprOf(t *types.Type) repr {
	if t != nil {
		switch t.Kind {
		case types.Int:
			return rInt
		case types.Float:
			return rFloat
		case types.Bool:
			return rBool
		}
	}
	return rRef
}

// Range is a range value: lo, lo+step, … below hi (above, when step < 0).
type Range struct{ Lo, Hi, Step int64 }

// Len returns the number of values, or the largest int when there are more:
// nothing gets so far.
func (r Range) Len() int64 { return int64(min(r.count(), math.MaxInt64)) }

// count is the number of values, which may be more than an int can hold.
func (r Range) count() uint64 {
	switch {
	case r.Step > 0 && r.Lo < r.Hi:
		return (uint64(r.Hi)-uint64(r.Lo)-1)/uint64(r.Step) + 1
	case r.Step < 0 && r.Lo > r.Hi:
		return (uint64(r.Lo)-uint64(r.Hi)-1)/(-uint64(r.Step)) + 1
	}
	return 0
}

// String writes r as in the language.
func (r Range) String() string {
	if r.Step != 1 {
		return fmt.Sprintf("range(%d, %d, %d)", r.Lo, r.Hi, r.Step)
	}
	return fmt.Sprintf("%d..%d", r.Lo, r.Hi)
}

// Task is a task value: what insert gives back.
type Task struct {
	t       *engine.Task    // nil in a plan: one of the session before it
	was     *engine.Task    // that one
	ticket  *cluster.Ticket // on several ranks
	codelet string
	site    *insertSite
	id      int64 // of a task that a run left out which goes on from a checkpoint
	before  int64 // tasks that such a run left out before this one
}

// String writes t as in the language.
func (t *Task) String() string {
	if t.ticket != nil {
		return fmt.Sprintf("task %d %s", t.before+int64(t.ticket.ID()), t.codelet)
	}
	if t.id > 0 {
		return fmt.Sprintf("task %d %s", t.id, t.codelet)
	}
	k := t.t
	if k == nil {
		k = t.was
	}
	return fmt.Sprintf("task %d %s", t.before+k.ID(), t.codelet)
}

// Gate is a gate value.
type Gate struct{ g *engine.Gate }

// Node is a memory node as the language names it: ram, gpu(0).
type Node struct {
	Kind  string // ram, numa, gpu, cuda, opencl, disk
	Index int64  // -1: no index
}

// String writes n as in the language.
func (n Node) String() string {
	if n.Index < 0 {
		return n.Kind
	}
	return fmt.Sprintf("%s(%d)", n.Kind, n.Index)
}

// Worker is a worker by number.
type Worker int

// String writes w as in the language.
func (w Worker) String() string { return fmt.Sprintf("worker %d", int(w)) }

// DeviceKind is cpu, cuda or opencl.
type DeviceKind string

// Reducer is a value of reduce =.
type Reducer struct {
	name          string
	r             *datamgr.Reduction // of sum, prod, min, max
	init, combine *types.Object      // of reducer(…)
}

// Layout is a value of layout(…).
type Layout struct {
	into, from *types.Object
	sizes      []int // nil: those of the data
	kinds      []DeviceKind
	at         position // of the call
	sizesAt    position
}

// String writes l as values are printed.
func (l *Layout) String() string { return "layout " + l.into.Name }

// Arithmetic of the language: int with overflow errors, float as IEEE 754.

// Why an integer operation has no result. "" means that it has one.
const (
	overflow    = "the result of %d %s %d does not fit an int (64 bit)"
	divByZero   = "%d %s %d: integer division by zero"
	negExponent = "%d %s %d: the exponent of int ** int must not be negative"
)

func addInt(a, b int64) (int64, bool) {
	c := a + b
	return c, (a^c)&(b^c) >= 0
}

func subInt(a, b int64) (int64, bool) {
	c := a - b
	return c, (a^b)&(a^c) >= 0
}

func mulInt(a, b int64) (int64, bool) {
	if int64(int32(a)) == a && int64(int32(b)) == b {
		return a * b, true
	}
	ua, ub := uint64(a), uint64(b)
	if a < 0 {
		ua = -ua
	}
	if b < 0 {
		ub = -ub
	}
	hi, lo := bits.Mul64(ua, ub)
	if (a < 0) != (b < 0) {
		return -int64(lo), hi == 0 && lo <= 1<<63
	}
	return int64(lo), hi == 0 && lo < 1<<63
}

// floorDiv rounds down; b is not 0.
func floorDiv(a, b int64) (int64, bool) {
	if b == -1 {
		return -a, a != math.MinInt64
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}

// floorMod has the sign of b, which is not 0.
func floorMod(a, b int64) int64 {
	if b == -1 {
		return 0
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// powInt returns a ** b for b >= 0.
func powInt(a, b int64) (int64, bool) {
	switch {
	case b == 0 || a == 1:
		return 1, true
	case a == 0:
		return 0, true
	case a == -1:
		return 1 - 2*(b&1), true
	case b > 63:
		return 0, false
	}
	out, ok := int64(1), true
	for ; b > 0; b-- {
		if out, ok = mulInt(out, a); !ok {
			return 0, false
		}
	}
	return out, true
}

func floorModFloat(a, b float64) float64 {
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// truncInt cuts off the fraction; false when the result does not fit.
func truncInt(x float64) (int64, bool) {
	if x != x || x >= 1<<63 || x < -1<<63 {
		return 0, false
	}
	return int64(x), true
}

// Complex numbers are held as references, as there are few of them in a script: bodies of codelets
// compute with their parts.

func number(v any) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case float64:
		return x
	}
	return math.NaN()
}

// complexOf returns a boxed number as a complex one.
func complexOf(v any) complex128 {
	if z, ok := v.(complex128); ok {
		return z
	}
	return complex(number(v), 0)
}

// complexOp applies an operator to two numbers, with xReal and yReal for real ones. A real number
// is added to the real part alone, and multiplies and divides both parts.
func complexOp(op string, x, y complex128, xReal, yReal bool) complex128 {
	switch op {
	case "+":
		switch {
		case xReal:
			return complex(real(x)+real(y), imag(y))
		case yReal:
			return complex(real(x)+real(y), imag(x))
		}
		return x + y
	case "-":
		switch {
		case xReal:
			return complex(real(x)-real(y), -imag(y))
		case yReal:
			return complex(real(x)-real(y), imag(x))
		}
		return x - y
	case "*":
		switch {
		case xReal:
			return complex(real(x)*real(y), real(x)*imag(y))
		case yReal:
			return complex(real(x)*real(y), imag(x)*real(y))
		}
		return iface.MulC128(x, y)
	case "/":
		if yReal {
			return complex(real(x)/real(y), imag(x)/real(y))
		}
		return iface.DivC128(x, y)
	}
	n, _ := truncInt(real(y)) // **
	return powComplex(x, n)
}

// powComplex returns z ** n by repeated squares, from the lowest bit of n on. A negative power is
// 1 divided by the other.
func powComplex(z complex128, n int64) complex128 {
	out, some := complex(1, 0), false
	m := uint64(n)
	if n < 0 {
		m = -m
	}
	for ; m > 0; m >>= 1 {
		if m&1 != 0 {
			if out = iface.MulC128(out, z); !some {
				out, some = z, true
			}
		}
		if m > 1 {
			z = iface.MulC128(z, z)
		}
	}
	if n < 0 {
		return iface.DivC128(1, out)
	}
	return out
}

// Lists. Items are held unboxed where they are numbers or truth values.

// List is a list value. Names refer to it; assigning does not copy.
type List struct {
	kind   repr
	i      []int64 // rInt, and rBool as 0 and 1
	f      []float64
	a      []any
	frozen bool // exported by a module
	// unknown says that some item is: in plans only
	unknown bool
}

func newList(kind repr, n int) *List {
	l := &List{kind: kind}
	switch kind {
	case rFloat:
		l.f = make([]float64, n)
	case rRef:
		l.a = make([]any, n)
	default:
		l.i = make([]int64, n)
	}
	return l
}

// emptied returns a list without items that has room for n.
func emptied(kind repr, n int) *List {
	l := newList(kind, n)
	l.i, l.f, l.a = l.i[:0], l.f[:0], l.a[:0]
	return l
}

// Len returns the number of items.
func (l *List) Len() int {
	switch l.kind {
	case rFloat:
		return len(l.f)
	case rRef:
		return len(l.a)
	}
	return len(l.i)
}

// emptyList stands for a list that has no value yet.
var emptyList = &List{frozen: true}

// orEmpty returns l, or an empty list for nil.
func (l *List) orEmpty() *List {
	if l == nil {
		return emptyList
	}
	return l
}

// at returns item k, boxed.
func (l *List) at(k int) any {
	switch l.kind {
	case rInt:
		return l.i[k]
	case rFloat:
		return l.f[k]
	case rBool:
		return l.i[k] != 0
	}
	return l.a[k]
}

// slice returns a copy of the items lo to hi.
func (l *List) slice(lo, hi int) *List {
	out := &List{kind: l.kind}
	switch l.kind {
	case rFloat:
		out.f = append([]float64(nil), l.f[lo:hi]...)
	case rRef:
		out.a = append([]any(nil), l.a[lo:hi]...)
	default:
		out.i = append([]int64(nil), l.i[lo:hi]...)
	}
	return out
}

// as returns l with items held as kind: an empty list has no type until it is used,
// and int items may be wanted as float.
func (l *List) as(kind repr) *List {
	if l.kind == kind {
		return l
	}
	if l.kind == rInt && kind == rFloat {
		out := newList(rFloat, len(l.i))
		for k, v := range l.i {
			out.f[k] = float64(v)
		}
		return out
	}
	out := emptied(kind, l.Len())
	for k := 0; k < l.Len(); k++ {
		out.push(l.at(k))
	}
	return out
}

// push appends a boxed item; one that does not fit the kind is left out, which
// the checker excludes.
func (l *List) push(v any) {
	switch l.kind {
	case rRef:
		l.a = append(l.a, v)
	case rInt:
		if n, ok := v.(int64); ok {
			l.i = append(l.i, n)
		}
	case rFloat:
		switch n := v.(type) {
		case float64:
			l.f = append(l.f, n)
		case int64:
			l.f = append(l.f, float64(n))
		}
	case rBool:
		if b, ok := v.(bool); ok {
			l.i = append(l.i, b2i(b))
		}
	}
}

// concat returns a + b.
func concat(a, b *List) *List {
	kind := a.kind
	if a.Len() == 0 || (a.kind == rInt && b.kind == rFloat) {
		kind = b.kind
	}
	if b.Len() == 0 && a.Len() > 0 {
		kind = a.kind
	}
	a, b = a.as(kind), b.as(kind)
	out := &List{kind: kind}
	switch kind {
	case rFloat:
		out.f = append(append(make([]float64, 0, len(a.f)+len(b.f)), a.f...), b.f...)
	case rRef:
		out.a = append(append(make([]any, 0, len(a.a)+len(b.a)), a.a...), b.a...)
	default:
		out.i = append(append(make([]int64, 0, len(a.i)+len(b.i)), a.i...), b.i...)
	}
	return out
}

// itemBytes is what one item counts against Limits.ScriptBytes.
func itemBytes(kind repr) int64 {
	if kind == rRef {
		return 16
	}
	return 8
}

// freeze makes l and the lists in it immutable.
func freeze(v any) {
	l, ok := v.(*List)
	if !ok || l.frozen {
		return
	}
	l.frozen = true
	for _, x := range l.a {
		freeze(x)
	}
}

// leaves calls fn for v, or for what it lists, however deep; for what is in a list that
// is listed several times once.
func leaves(v any, fn func(any)) {
	if _, ok := v.(*List); !ok {
		fn(v)
		return
	}
	var seen map[*List]bool
	var visit func(v any)
	visit = func(v any) {
		l, ok := v.(*List)
		if !ok {
			fn(v)
			return
		}
		for _, x := range l.a {
			if in, ok := x.(*List); ok {
				if seen[in] {
					continue
				}
				if seen == nil {
					seen = map[*List]bool{}
				}
				seen[in] = true
			}
			visit(x)
		}
	}
	visit(v)
}

// equal compares scalars and lists of them.
func (m *Machine) equal(a, b any, at position) bool {
	m.spend(at)
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for k := 0; k < x.Len(); k++ {
			if !m.equal(x.at(k), y.at(k), at) {
				return false
			}
		}
		return true
	case int64:
		switch y := b.(type) {
		case float64:
			return float64(x) == y
		case complex128:
			return complex(float64(x), 0) == y
		}
	case float64:
		switch y := b.(type) {
		case int64:
			return x == float64(y)
		case complex128:
			return complex(x, 0) == y
		}
	case complex128:
		return x == complexOf(b)
	}
	return a == b
}

// listKind returns how a list of type t holds its items.
func listKind(t *types.Type) repr {
	if t == nil || t.Of == nil {
		return rRef
	}
	return reprOf(t.Of)
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// bits returns item k as the number slot of a frame holds it.
func (l *List) bits(k int, kind repr) int64 {
	switch {
	case l.kind == rFloat && kind == rFloat:
		return int64(math.Float64bits(l.f[k]))
	case l.kind == rInt && kind == rFloat:
		return int64(math.Float64bits(float64(l.i[k])))
	case l.kind == rRef || l.kind == rFloat:
		return 0
	}
	return l.i[k]
}
