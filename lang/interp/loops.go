package interp

// for: over ranges, grids and lists.

import (
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *compiler) forStmt(s *syntax.For) stmt {
	in := unparen(s.In)
	at := c.place(s.In)
	if len(s.Names) > 1 {
		if call, ok := in.(*syntax.Call); ok && call.Callee != nil && call.Callee.Kind == types.BuiltinFunc && call.Callee.Name == "grid" && len(call.Args) == len(s.Names) {
			return c.forGrid(s, call)
		}
		return c.forTuples(s)
	}
	o := s.Names[0].Obj
	if in.Type().Kind == types.Range {
		var bounds func(f *frame) Range
		if r, ok := in.(*syntax.RangeExpr); ok {
			bounds = c.rangeBounds(r)
			c.ranges[o] = &loopRange{at: c.place(r), name: o.Name, closed: r.Closed,
				lo: c.place(r.Lo).source(), hi: c.place(r.Hi).source()}
		} else {
			v := c.ref(in)
			bounds = func(f *frame) Range { r, _ := v(f).(Range); return r }
		}
		body := c.loopBody(s)
		return forRange(bounds, o.Slot, o.Global, body, at)
	}
	list := c.ref(in)
	body := c.loopBody(s)
	slot, kind, mark := o.Slot, reprOf(o.Type), o.Global
	return func(f *frame) ctl {
		l, _ := list(f).(*List)
		if l == nil {
			return next
		}
		m := f.m
		if m.plan != nil {
			f.unk[slot] = m.unknown
		}
		for k := 0; k < l.Len(); k++ { // the body may grow or change it
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			f.store(slot, kind, l, k)
			if mark {
				f.def[slot] = true
			}
			switch body(f) {
			case brk:
				return next
			case ret:
				return ret
			}
		}
		return next
	}
}

// store puts item k of l into a slot that holds kind.
func (f *frame) store(slot int, kind repr, l *List, k int) {
	if kind == rRef {
		f.r[slot] = l.at(k)
		return
	}
	f.n[slot] = l.bits(k, kind)
}

// loopBody compiles the body with the loop's names known.
func (c *compiler) loopBody(s *syntax.For) stmt {
	n := len(c.loops)
	c.scopes++ // the names belong to the round
	for _, id := range s.Names {
		c.use(id.Obj)
		if reprOf(id.Obj.Type) == rInt {
			c.loops = append(c.loops, id.Obj)
		}
	}
	c.scopes--
	body := c.block(s.Body)
	c.loops = c.loops[:n]
	return body
}

// forRange counts through a range.
func forRange(bounds func(f *frame) Range, slot int, mark bool, body stmt, at place) stmt {
	return func(f *frame) ctl {
		r := bounds(f)
		m := f.m
		if m.plan != nil {
			m.plan.loop(f, slot, at, &r)
		}
		n := r.Len()
		if mark {
			f.def[slot] = true
		}
		i := r.Lo
		if r.Step == 1 {
			for last := r.Hi; i < last; i++ {
				if m.fuel--; m.fuel < 0 {
					m.refuel(at)
				}
				f.n[slot] = i
				if k := body(f); k != next && k != cont {
					if k == brk {
						return next
					}
					return ret
				}
			}
			return next
		}
		for ; n > 0; n-- {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			f.n[slot] = i
			if k := body(f); k != next && k != cont {
				if k == brk {
					return next
				}
				return ret
			}
			i += r.Step // wraps after the last round only
		}
		return next
	}
}

// rangeBounds evaluates a range expression.
func (c *compiler) rangeBounds(r *syntax.RangeExpr) func(f *frame) Range {
	lo, hi, at := c.int(r.Lo), c.int(r.Hi), c.place(r)
	if !r.Closed {
		return func(f *frame) Range { return Range{lo(f), hi(f), 1} }
	}
	return func(f *frame) Range {
		a, b := lo(f), hi(f)
		e, ok := addInt(b, 1)
		if !ok {
			f.m.fail("R0103", at, "the range %d..=%d ends at the largest int, and its end does not fit an int", a, b)
		}
		return Range{a, e, 1}
	}
}

// forGrid runs over all index lists without making them.
func (c *compiler) forGrid(s *syntax.For, call *syntax.Call) stmt {
	var sizes []intFn
	for _, a := range call.Args {
		sizes = append(sizes, c.int(a.Value))
	}
	at := c.place(s.In)
	body := c.loopBody(s)
	var slots []int
	mark := s.Names[0].Obj.Global
	for _, n := range s.Names {
		slots = append(slots, n.Obj.Slot)
	}
	return func(f *frame) ctl {
		m := f.m
		dims := make([]int64, len(sizes))
		for k, size := range sizes {
			dims[k] = size(f)
		}
		if m.plan != nil {
			u := m.unknown
			for k := range dims {
				r := Range{0, dims[k], 1}
				m.unknown = u
				m.plan.loop(f, slots[k], at, &r)
				dims[k] = r.Hi
			}
		}
		idx := make([]int64, len(sizes))
		for k, d := range dims {
			if d <= 0 {
				return next
			}
			if mark {
				f.def[slots[k]] = true
			}
		}
		for {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			for k, v := range idx {
				f.n[slots[k]] = v
			}
			if k := body(f); k != next && k != cont {
				if k == brk {
					return next
				}
				return ret
			}
			k := len(idx) - 1
			for ; k >= 0; k-- {
				if idx[k]++; idx[k] < dims[k] {
					break
				}
				idx[k] = 0
			}
			if k < 0 {
				return next
			}
		}
	}
}

// forTuples takes the lists in a list apart.
func (c *compiler) forTuples(s *syntax.For) stmt {
	list, at := c.ref(s.In), c.place(s.In)
	body := c.loopBody(s)
	names := s.Names
	return func(f *frame) ctl {
		l, _ := list(f).(*List)
		if l == nil {
			return next
		}
		m := f.m
		if m.plan != nil {
			for _, id := range names {
				f.unk[id.Obj.Slot] = m.unknown
			}
		}
		for k := 0; k < l.Len(); k++ {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			item, _ := l.at(k).(*List)
			if item == nil || item.Len() != len(names) {
				n := 0
				if item != nil {
					n = item.Len()
				}
				m.fail("E0705", at, "round %d of this `for` gives %s for %d names", k, plural(int64(n), "value"), len(names))
			}
			for j, id := range names {
				f.store(id.Obj.Slot, reprOf(id.Obj.Type), item, j)
				if id.Obj.Global {
					f.def[id.Obj.Slot] = true
				}
			}
			switch body(f) {
			case brk:
				return next
			case ret:
				return ret
			}
		}
		return next
	}
}
