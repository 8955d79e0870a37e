package interp

// Assignment to items of lists and elements of arrays.

import (
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *compiler) assignItem(s *syntax.Assign, t *syntax.Index) stmt {
	value := operated(s)
	if s.Op != "=" && hasCall(t) {
		return c.assignOnce(s, t)
	}
	if t.X.Type().Kind == types.Array {
		el, at := c.element(t)
		store := c.elemStore(value, t.X.Type(), c.place(s.Value))
		return func(f *frame) ctl {
			a, p := el(f)
			if a.mode == iface.R {
				f.m.readOnlyArray(a, at)
			}
			store(f, a, p)
			a.stored(f.m)
			return next
		}
	}
	list, at := c.listItem(t)
	kind := listKind(t.X.Type())
	set := c.itemStore(value, t.X.Type())
	return func(f *frame) ctl {
		l, k := list(f)
		if l.frozen {
			f.m.failHelp("E0204", at, "this list belongs to a module", "copy it first: `let mine = theirs + []`",
				"an exported list cannot be changed")
		}
		if l.kind != kind && l.Len() > 0 {
			f.m.fail("E0705", at, "the items of this list have another type")
		}
		set(f, l, k, at)
		l.unknown = l.unknown || f.m.unknown
		return next
	}
}

// assignOnce is x[i] op= v where x or i has effects: they are evaluated once.
func (c *compiler) assignOnce(s *syntax.Assign, t *syntax.Index) stmt {
	op := opOf[s.Op]
	at := c.place(s)
	if t.X.Type().Kind == types.Array {
		el, at := c.element(t)
		val := c.any(s.Value)
		return func(f *frame) ctl {
			a, p := el(f)
			if a.mode == iface.R {
				f.m.readOnlyArray(a, at)
			}
			old := a.boxed(f.m, p, at)
			f.m.storeElem(a, p, f.m.operate(op, old, val(f), at), at)
			a.stored(f.m)
			return next
		}
	}
	list, _ := c.listItem(t)
	val := c.any(s.Value)
	return func(f *frame) ctl {
		l, k := list(f)
		if l.frozen {
			f.m.fail("E0204", at, "an exported list cannot be changed")
		}
		l.in(f.m, k, at)
		l.set(int(k), f.m.operate(op, l.at(int(k)), val(f), at))
		l.unknown = l.unknown || f.m.unknown
		return next
	}
}

// set replaces item k.
func (l *List) set(k int, v any) {
	one := newList(l.kind, 0)
	one.push(v)
	switch {
	case one.Len() == 0:
	case l.kind == rFloat:
		l.f[k] = one.f[0]
	case l.kind == rRef:
		l.a[k] = one.a[0]
	default:
		l.i[k] = one.i[0]
	}
}

// itemStore compiles the store of e into an item of a list of type t.
func (c *compiler) itemStore(e syntax.Expr, t *types.Type) func(f *frame, l *List, k int64, at place) {
	switch listKind(t) {
	case rInt:
		v := c.int(e)
		return func(f *frame, l *List, k int64, at place) { x := v(f); l.in(f.m, k, at); l.i[k] = x }
	case rBool:
		v := c.bool(e)
		return func(f *frame, l *List, k int64, at place) { x := v(f); l.in(f.m, k, at); l.i[k] = b2i(x) }
	case rFloat:
		v := c.float(e)
		return func(f *frame, l *List, k int64, at place) { x := v(f); l.in(f.m, k, at); l.f[k] = x }
	}
	v := c.refAs(e, t.Of)
	return func(f *frame, l *List, k int64, at place) { x := v(f); l.in(f.m, k, at); l.a[k] = x }
}
