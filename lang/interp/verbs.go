package interp

// Statements on data that is registered: invalidate, unregister, evict, prefetch, hint.

import (
	"errors"
	"fmt"
	"math"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/syntax"
)

// handlesOf compiles the operands of a verb. Of a sparse matrix fn gets the arrays, unless whole
// is set.
func (c *compiler) handlesOf(of []syntax.Expr, whole bool) func(f *frame, fn func(h *Handle, at position)) {
	list := (*Machine).dataIn
	if whole {
		list = (*Machine).handlesIn
	}
	var xs []refFn
	var ats []position
	for _, e := range of {
		xs = append(xs, c.ref(e))
		ats = append(ats, c.positionOf(e))
	}
	return func(f *frame, fn func(h *Handle, at position)) {
		for k, x := range xs {
			for _, h := range list(f.m, x(f), ats[k]) {
				f.m.alive(h, ats[k])
				fn(h, ats[k])
			}
		}
	}
}

func (c *compiler) verb(s *syntax.Verb) stmt {
	each := c.handlesOf(s.Of, s.Verb != "evict")
	switch s.Verb {
	case "invalidate":
		return func(f *frame) ctl {
			m := f.m
			each(f, func(h *Handle, at position) {
				m.poll(at)
				m.wholeOnly(h, "invalidate", at)
				m.record.uses(h)
				for _, d := range h.values() {
					m.submit(d, at, func() error { return m.invalidateData(d, m.siteFor(at)) })
				}
			})
			return next
		}
	case "unregister":
		return func(f *frame) ctl {
			m := f.m
			each(f, func(h *Handle, at position) {
				if h.view != nil {
					m.failHelp("E0705", at, "", "unregister the whole, or end the view with `unpartition`",
						"`%s` is a part, and only a whole datum can be unregistered", h.Name())
				}
				m.wholeOnly(h, "unregister", at)
				for _, d := range h.data() {
					if err := m.unregisterData(d, m.siteFor(at)); err != nil {
						m.raiseEngine(err, at, h)
					}
				}
			})
			return next
		}
	}
	return func(f *frame) ctl { // evict
		m := f.m
		each(f, func(h *Handle, at position) {
			if m.ranks != nil {
				return // where a value is, is for the ranks to decide
			}
			if err := m.job.WontUse(h.h); err != nil {
				m.raiseEngine(err, at, h)
			}
		})
		return next
	}
}

// wholeOnly raises E0705 about a statement on an array of a sparse matrix, or a field of structs, that applies to all of it.
func (m *Machine) wholeOnly(h *Handle, verb string, at position) {
	if name := h.memberName(); name != "" && (verb == "unregister" || name != "val" && !h.sparse.Format.Fields) {
		whole := h.sparse.whole.Name()
		m.failHelp("E0705", at, "", fmt.Sprintf("write `%s %s`", verb, whole), "`%s` is an array of the %s `%s`, and `%s` applies to the whole", h.Name(), h.sparse.Format.Name, whole, verb)
	}
}

// unregisterHandle ends a datum at the end of its block.
func (m *Machine) unregisterHandle(h *Handle) {
	for _, d := range h.data() {
		if err := m.unregisterData(d, m.siteFor(h.at)); err != nil && !errors.Is(err, engine.ErrClosed) {
			var dead *engine.DeadHandleError
			if !errors.As(err, &dead) {
				m.raiseEngine(err, h.at, h)
			}
		}
	}
}

// prefetch brings data to a node. To nodes that this machine lacks it moves
// nothing; what has no value is an error all the same.
func (c *compiler) prefetch(s *syntax.Prefetch) stmt {
	each := c.handlesOf(s.Of, false)
	to := c.ref(s.To)
	var idle, urgent boolFn
	if s.With != nil {
		for _, o := range s.With.Options {
			switch o.Name.Name {
			case "idle":
				idle = c.bool(o.Value)
			case "urgent":
				urgent = c.bool(o.Value)
			}
		}
	}
	return func(f *frame) ctl {
		m := f.m
		nodes := m.nodesIn(to(f))
		if m.replays() {
			return next
		}
		var o engine.PrefetchOptions
		o.Idle = idle != nil && idle(f)
		if urgent != nil && urgent(f) {
			o.Priority, o.Idle = math.MaxInt32, false
		}
		each(f, func(h *Handle, at position) {
			if m.ranks != nil {
				return
			}
			if len(nodes) == 0 && !h.h.Initialised() {
				nodes = []int{0} // the error, and nothing else
			}
			for _, n := range nodes {
				if err := m.job.PrefetchWith(h.h, n, o); err != nil {
					m.raiseEngine(err, at, h)
				}
			}
		})
		return next
	}
}

// hint sets names, order and places of handles, the nodes that get new values, and
// what goes first or last when room is needed.
func (c *compiler) hint(s *syntax.Hint) stmt {
	each := c.handlesOf(s.Of, false)
	type option struct {
		name  string
		value refFn
		at    position
	}
	var opts []option
	if s.With != nil {
		for _, o := range s.With.Options {
			opts = append(opts, option{o.Name.Name, c.any(o.Value), c.positionOf(o.Value)})
		}
	}
	return func(f *frame) ctl {
		m := f.m
		for _, o := range opts {
			v := o.value(f)
			each(f, func(h *Handle, at position) {
				switch o.name {
				case "name":
					if n, ok := v.(string); ok {
						if member := h.memberName(); member != "" {
							n += "." + member
						}
						h.h.SetName(n)
					}
				case "sequential":
					if on, ok := v.(bool); ok {
						h.h.SetUnordered(!on)
					}
				case "write_through":
					if err := m.rt.SetWriteThrough(h.h, m.nodesIn(v)...); err != nil {
						m.raiseEngine(err, at, h)
					}
				case "ooc":
					if on, ok := v.(bool); ok {
						h.h.SetOutOfCore(on)
					}
				case "discardable":
					if on, ok := v.(bool); ok {
						h.h.SetDiscardable(on)
					}
				case "coords":
					if l, ok := v.(*List); ok {
						m.coordinates(h, l, o.at)
					}
				}
			})
		}
		return next
	}
}

// coordinates tells traces and policies where h lies in a grid.
func (m *Machine) coordinates(h *Handle, l *List, at position) {
	if l.Len() > 8 {
		m.fail("E0705", at, "coords has %d numbers; 8 are enough for any grid", l.Len())
	}
	var to []int
	for i := range l.Len() {
		if n, ok := l.at(i).(int64); ok {
			to = append(to, int(n))
		}
	}
	h.h.SetCoordinates(to...)
}
