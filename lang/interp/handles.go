package interp

// Expressions of data, list and view type, typed: what inserts evaluate most.

import (
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Closures of references whose type is known.
type (
	handleFn func(f *frame) *Handle // nil: no value yet
	listFn   func(f *frame) *List   // never nil
	viewFn   func(f *frame) *View
)

// handle compiles an expression of data.
func (c *compiler) handle(e syntax.Expr) handleFn {
	switch e := unparen(e).(type) {
	case *syntax.Ident:
		if e.Obj == nil || e.Obj.Kind == types.BuiltinValue || c.plan {
			break
		}
		slot, unit, direct := c.slotOf(e.Obj)
		if direct {
			return func(f *frame) *Handle { h, _ := f.r[slot].(*Handle); return h }
		}
		o, at := e.Obj, c.place(e)
		return func(f *frame) *Handle {
			g := f.m.units[unit]
			if slot >= len(g.def) || !g.def[slot] {
				f.m.undefined(o, at)
			}
			h, _ := g.r[slot].(*Handle)
			return h
		}
	case *syntax.Index:
		switch e.X.Type().Kind {
		case types.List:
			return c.listedHandle(e)
		case types.Array:
		default:
			return c.part(e)
		}
	}
	v := c.ref(e)
	return func(f *frame) *Handle { h, _ := v(f).(*Handle); return h }
}

// slotOf returns where o lives: in the frame at hand (direct), or in the frame of a
// unit, where its statement may not have run.
func (c *compiler) slotOf(o *types.Object) (slot, unit int, direct bool) {
	direct, unit = c.frameOf(o)
	if direct && o.Global && c.session {
		direct, unit = false, c.unitOf(o)
	}
	return o.Slot, unit, direct
}

// listedHandle compiles hs[k] of a list of handles.
func (c *compiler) listedHandle(e *syntax.Index) handleFn {
	list, k, at := c.list(e.X), c.int(e.Args[0]), c.place(e)
	if slot, ok := c.listSlot(e.X); ok {
		return func(f *frame) *Handle {
			l, _ := f.r[slot].(*List)
			i := k(f)
			if l == nil || uint64(i) >= uint64(len(l.a)) {
				l = l.orEmpty()
				l.in(f.m, i, at)
			}
			h, _ := l.a[i].(*Handle)
			return h
		}
	}
	return func(f *frame) *Handle {
		l := list(f)
		i := k(f)
		if uint64(i) >= uint64(len(l.a)) {
			l.in(f.m, i, at)
		}
		h, _ := l.a[i].(*Handle)
		return h
	}
}

// listSlot returns the slot of a list's name that code can read without a check.
func (c *compiler) listSlot(e syntax.Expr) (int, bool) {
	id, ok := unparen(e).(*syntax.Ident)
	if !ok || c.plan || id.Obj == nil || id.Obj.Kind == types.BuiltinValue {
		return 0, false
	}
	slot, _, direct := c.slotOf(id.Obj)
	return slot, direct
}

// list compiles an expression of a list.
func (c *compiler) list(e syntax.Expr) listFn {
	if id, ok := unparen(e).(*syntax.Ident); ok && id.Obj != nil && id.Obj.Kind != types.BuiltinValue && !c.plan {
		slot, unit, direct := c.slotOf(id.Obj)
		if direct {
			return func(f *frame) *List {
				if l, _ := f.r[slot].(*List); l != nil {
					return l
				}
				return emptyList
			}
		}
		o, at := id.Obj, c.place(e)
		return func(f *frame) *List {
			g := f.m.units[unit]
			if slot >= len(g.def) || !g.def[slot] {
				f.m.undefined(o, at)
			}
			if l, _ := g.r[slot].(*List); l != nil {
				return l
			}
			return emptyList
		}
	}
	v := c.ref(e)
	return func(f *frame) *List { l, _ := v(f).(*List); return l.orEmpty() }
}

// view compiles what an index applies to: a view, or data with a default view.
func (c *compiler) view(e *syntax.Index) viewFn {
	if e.X.Type().Kind == types.View {
		if slot, ok := c.viewSlot(e.X); ok {
			return func(f *frame) *View { w, _ := f.r[slot].(*View); return w }
		}
		v := c.ref(e.X)
		return func(f *frame) *View { w, _ := v(f).(*View); return w }
	}
	h, at := c.handle(e.X), c.place(e)
	return func(f *frame) *View {
		x := h(f)
		if x == nil || x.deflt == nil {
			f.m.noDefaultView(x, at)
		}
		return x.deflt
	}
}

// viewSlot returns the slot of a view's name that code can read without a check.
func (c *compiler) viewSlot(e syntax.Expr) (int, bool) {
	id, ok := unparen(e).(*syntax.Ident)
	if !ok || id.Obj == nil || id.Obj.Kind == types.BuiltinValue {
		return 0, false
	}
	slot, _, direct := c.slotOf(id.Obj)
	return slot, direct
}

// part compiles the choice of one part of a view.
func (c *compiler) part(e *syntax.Index) handleFn {
	view, at, args := c.view(e), c.place(e), e.Args
	var idx []intFn
	var from []*loopRange
	for _, a := range args {
		idx = append(idx, c.int(a))
		from = append(from, c.loopOf(a))
	}
	switch len(idx) {
	case 1:
		i := idx[0]
		return func(f *frame) *Handle {
			v := view(f)
			k := i(f)
			if len(v.v.Dims) != 1 {
				f.m.wrongIndices(v, 1, at)
			}
			if uint64(k) >= uint64(len(v.parts)) {
				f.m.noPart(v, []int64{k}, 0, at, c.place(args[0]), from[0])
			}
			return &v.parts[k]
		}
	case 2:
		i, j := idx[0], idx[1]
		return func(f *frame) *Handle {
			v := view(f)
			dims := v.v.Dims
			if len(dims) != 2 {
				f.m.wrongIndices(v, 2, at)
			}
			x := i(f)
			y := j(f)
			if uint64(x) < uint64(dims[0]) && uint64(y) < uint64(dims[1]) {
				return &v.parts[int(x)*dims[1]+int(y)]
			}
			d := 1
			if uint64(x) >= uint64(dims[0]) {
				d = 0
			}
			f.m.noPart(v, []int64{x, y}, d, at, c.place(args[d]), from[d])
			return nil
		}
	}
	return func(f *frame) *Handle {
		v := view(f)
		if len(v.v.Dims) != len(idx) {
			f.m.wrongIndices(v, len(idx), at)
		}
		k := 0
		for d, i := range idx {
			x := i(f)
			if uint64(x) >= uint64(v.v.Dims[d]) {
				all := make([]int64, len(idx))
				for j, i := range idx {
					all[j] = i(f)
				}
				f.m.noPart(v, all, d, at, c.place(args[d]), from[d])
			}
			k = k*v.v.Dims[d] + int(x)
		}
		return &v.parts[k]
	}
}
