package interp

// Waiting, and the verbs on data: invalidate, unregister, evict, prefetch, hint.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *compiler) wait(s *syntax.Wait) stmt {
	at := c.positionOf(s)
	if len(s.Of) == 0 {
		return func(f *frame) ctl { f.m.waitAll(at); return next }
	}
	var of []refFn
	var ats []position
	for _, e := range s.Of {
		of = append(of, c.any(e))
		ats = append(ats, c.positionOf(e))
	}
	return func(f *frame) ctl {
		for k, x := range of {
			f.m.waitFor(x(f), ats[k])
		}
		return next
	}
}

// waitFor waits for a task, a gate, or the tasks of data.
func (m *Machine) waitFor(v any, at position) {
	switch v := v.(type) {
	case *Task:
		m.waitTask(v, at)
		return
	case *Gate:
		if !v.g.Opened() {
			d := m.diagnostic("R0104", at, "this waits for itself: only the script opens the gate")
			d.Help = []string{"call `open(g)` before"}
			m.raise(d)
		}
		return
	case *List:
		leaves(v, func(x any) {
			m.spend(at)
			m.waitFor(x, at)
		})
		return
	}
	var hs []*datamgr.Handle
	var first *Handle
	list := m.handlesIn(v, at) // the parts of an ended view are dead
	if m.plan != nil && m.plan.check {
		m.spendMany(waitCost*int64(len(list)), at)
	}
	for _, h := range list {
		m.alive(h, at)
		if first == nil {
			first = h
		}
		hs = append(hs, h.h)
	}
	if len(hs) == 0 {
		return
	}
	if err := m.job.WaitHandles(m.ctx, hs...); err != nil {
		m.raiseEngine(err, at, first)
	}
	for _, h := range list {
		if t := m.job.Lost(h.h); t != nil {
			m.raiseTask(t, at, nil)
		}
	}
}

// busy reports whether waitFor would wait. In a plan that is unknown.
func (m *Machine) busy(v any, at position) bool {
	m.poll(at)
	if m.plan != nil {
		m.unknown = true
	}
	switch v := v.(type) {
	case *Task:
		return v.t != nil && !v.t.Done()
	case *Gate:
		return !v.g.Opened()
	case *List:
		busy := false
		leaves(v, func(x any) {
			m.spend(at)
			busy = busy || m.busy(x, at)
		})
		return busy
	}
	return slices.ContainsFunc(m.handlesIn(v, at), func(h *Handle) bool {
		m.alive(h, at)
		b, err := m.job.Busy(h.h)
		if err != nil {
			m.raiseEngine(err, at, h)
		}
		return b
	})
}

// waitTask waits for one task and raises its failure.
func (m *Machine) waitTask(t *Task, at position) {
	if t.t == nil {
		return
	}
	err := t.t.Wait(m.ctx)
	if err == nil {
		err = t.t.Err()
	}
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
}

// waitAll waits for everything and raises the failures that were not raised yet.
func (m *Machine) waitAll(at position) {
	if err := m.job.Wait(m.ctx); err != nil {
		m.raiseEngine(err, at, nil)
	}
	if m.endedCtx() != nil { // what was dropped has ended too
		m.raiseEnded(at)
	}
	m.collect()
	var ds []*diag.Diagnostic
	for _, t := range m.pending {
		ds = append(ds, m.taskDiagnostic(t, position{}, nil))
	}
	if t := m.job.LastCancelled(); len(ds) == 0 && t != nil && t.ID > m.told {
		ds = append(ds, m.inVain(t))
	}
	if len(ds) == 0 {
		return
	}
	m.pending = nil
	m.tell()
	panic(&raised{several(ds)})
}

// tell notes that failures are reported to the caller now: tasks inserted so far that are
// cancelled for them are no news.
func (m *Machine) tell() { m.told = m.job.Stats().Submitted }

// collect takes the failures of the job, but not those of kernels that stopped
// because a call was cancelled: its error said so, or is being made.
func (m *Machine) collect() {
	m.pending = append(m.pending, m.job.Failures()...)
	m.pending = slices.DeleteFunc(m.pending, func(t *engine.TaskError) bool {
		return slices.ContainsFunc(m.causes, func(c error) bool { return errors.Is(t.Cause, c) })
	})
	if n := len(m.causes); n > 8 { // the latest matter
		m.causes = slices.Delete(m.causes, 0, n-8)
	}
}

// raiseTask raises the failure of a task with the place that needed it, to read
// data if read is not nil.
func (m *Machine) raiseTask(t *engine.TaskError, at position, read *Handle) {
	m.collect()
	for k, p := range m.pending {
		if errors.Is(p, t) {
			m.pending = append(m.pending[:k:k], m.pending[k+1:]...)
			break
		}
	}
	if ctx := m.endedCtx(); ctx != nil && (t.Dropped || errors.Is(t.Cause, context.Cause(ctx))) {
		m.raiseEnded(at)
	}
	m.tell()
	m.raise(m.taskDiagnostic(t, at, read))
}

// ---- verbs -----------------------------------------------------------------------------

// handlesOf compiles the operands of a verb.
func (c *compiler) handlesOf(of []syntax.Expr) func(f *frame, fn func(h *Handle, at position)) {
	var xs []refFn
	var ats []position
	for _, e := range of {
		xs = append(xs, c.ref(e))
		ats = append(ats, c.positionOf(e))
	}
	return func(f *frame, fn func(h *Handle, at position)) {
		for k, x := range xs {
			for _, h := range f.m.handlesIn(x(f), ats[k]) {
				f.m.alive(h, ats[k])
				fn(h, ats[k])
			}
		}
	}
}

func (c *compiler) verb(s *syntax.Verb) stmt {
	each := c.handlesOf(s.Of)
	switch s.Verb {
	case "invalidate":
		return func(f *frame) ctl {
			m := f.m
			each(f, func(h *Handle, at position) {
				m.poll(at)
				m.record.uses(h)
				m.submit(h, at, func() error { return m.job.Invalidate(h.h, m.siteFor(at)) })
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
				if err := m.job.Unregister(h.h, m.siteFor(at)); err != nil {
					m.raiseEngine(err, at, h)
				}
			})
			return next
		}
	}
	return func(f *frame) ctl { // evict
		m := f.m
		each(f, func(h *Handle, at position) {
			if err := m.job.WontUse(h.h); err != nil {
				m.raiseEngine(err, at, h)
			}
		})
		return next
	}
}

// unregisterHandle ends a datum at the end of its block.
func (m *Machine) unregisterHandle(h *Handle) {
	if err := m.job.Unregister(h.h, m.siteFor(h.at)); err != nil && !errors.Is(err, engine.ErrClosed) {
		var dead *engine.DeadHandleError
		if !errors.As(err, &dead) {
			m.raiseEngine(err, h.at, h)
		}
	}
}

// prefetch brings data to a node. To nodes that this machine lacks it moves
// nothing; what has no value is an error all the same.
func (c *compiler) prefetch(s *syntax.Prefetch) stmt {
	each := c.handlesOf(s.Of)
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
		var o engine.PrefetchOptions
		o.Idle = idle != nil && idle(f)
		if urgent != nil && urgent(f) {
			o.Priority, o.Idle = math.MaxInt32, false
		}
		each(f, func(h *Handle, at position) {
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
	each := c.handlesOf(s.Of)
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

// Handle returns the handle of a top-level name, for the host.
func (m *Machine) Handle(name string) (*Handle, error) {
	if err := m.usable(); err != nil {
		return nil, err
	}
	o := m.prog.names[name]
	if o == nil || !o.Global {
		return nil, fmt.Errorf("lang: the script has no top-level name %s%s", name, nearObject(m.prog.names, name, types.HandleObject))
	}
	f := m.units[m.prog.unitOf(o)]
	if o.Slot >= len(f.def) || !f.def[o.Slot] {
		return nil, fmt.Errorf("lang: %s has no value: its statement did not run", name)
	}
	h, ok := f.get(o.Slot, o.Type).(*Handle)
	if !ok {
		return nil, fmt.Errorf("lang: %s is %s, not registered data", name, article(o.Type.String()))
	}
	return h, nil
}
