package interp

// Lists. Items are held unboxed where they are numbers or truth values.

import (
	"math"

	"github.com/starpush/starpush/lang/types"
)

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
func (m *Machine) equal(a, b any, at place) bool {
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
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
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
