package interp

// Statements on data that is registered: invalidate, unregister, evict, prefetch, hint.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

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
			valued := m.hasValue(h)
			if m.ranks != nil && valued { // nothing has to come: a task gets what it reads when it is submitted
				return
			}
			if !valued && (m.ranks != nil || len(nodes) == 0) {
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

// Checkpoints: see checkpoint.go.

// checkpoint compiles checkpoint "dir".
func (c *compiler) checkpoint(s *syntax.Checkpoint) stmt {
	c.prog.checkpoints = true
	dir, at, dirAt := c.ref(s.Dir), c.positionOf(s), c.positionOf(s.Dir)
	return func(f *frame) ctl {
		name, _ := dir(f).(string)
		f.m.checkpoint(name, at, dirAt)
		return next
	}
}

func (m *Machine) checkpoint(name string, at, dirAt position) {
	if m.plan != nil {
		m.waitAll(at)
		if m.ranks != nil { // what was contributed is added up before
			if err := m.ranks.Checkpoint(m.ctx, name, m.registers.live(), nil); err != nil {
				m.raiseEngine(err, at, nil)
			}
		}
		return
	}
	c := m.checkpoints
	switch {
	case c == nil:
		m.failHelp("E0705", at, "", "write it where the script runs from its start to its end: neither at the prompt, nor in functions that a Go program calls",
			"there is no checkpoint here: the position of the script is not known")
	case m.cfg.Checkpoints == nil:
		m.failHelp("R0107", at, "", "the embedding program decides: lang.WithCheckpoints", "checkpoint needs files, and the host allows none")
	case name == "":
		m.failHelp("R0107", dirAt, "", "name a folder, which is made if need be", "the name of the folder is empty")
	case c.name != "" && c.name != name:
		m.failHelp("E0705", dirAt, fmt.Sprintf("the checkpoints before are in `%s`", c.name), "write all checkpoints of a script to one folder; it keeps the two newest", "a script has one folder of checkpoints")
	case len(m.held) > 0:
		m.failHelp("E0405", at, "", "release what is acquired before", "this waits for itself: a checkpoint needs all data, and the script holds some")
	}
	m.poll(at)
	c.passed++
	c.name = name
	if c.from != nil {
		if c.passed == c.target {
			m.goOn(at)
		}
		return
	}
	m.waitAll(at)
	dir, err := m.cfg.Checkpoints(name)
	if err == nil {
		var state []byte
		if state, err = c.state(); err == nil {
			write := m.job.Checkpoint
			if m.ranks != nil {
				write = m.ranks.Checkpoint
			}
			err = write(m.ctx, dir, m.registers.live(), state)
		}
	}
	if err != nil {
		m.checkpointFailed(err, name, at)
	}
	c.written = true
}

// checkpointReason returns the text of an error of the engine about a checkpoint.
func checkpointReason(err error) string {
	return strings.TrimPrefix(firstLine(err.Error()), "engine: ")
}

// checkpointFailed raises why a checkpoint could not be written.
func (m *Machine) checkpointFailed(err error, name string, at position) {
	var pe *fs.PathError
	var inUse *engine.CheckpointInUseError
	var onRank *engine.CheckpointError
	switch {
	case m.ranks != nil && (m.ctx.Err() != nil || !errors.As(err, &onRank)):
		m.raiseEngine(err, at, nil)
	case onRank == nil && !errors.As(err, &pe):
		var gone *engine.FailedDataError
		if errors.As(err, &gone) || m.ctx.Err() != nil || errors.Is(err, engine.ErrClosed) {
			m.raiseEngine(err, at, nil)
		}
	}
	reason, help := checkpointReason(err), "name a folder that this program may make and write, with room for all data three times"
	switch {
	case pe != nil:
		reason = pe.Err.Error()
	case errors.As(err, &inUse): // on several ranks rank 0, which reports it
		reason = cmp.Or(inUse.Holder, "another program") + " writes its own there"
		if onRank != nil {
			reason = fmt.Sprintf("on rank %d: %s", onRank.Rank, reason)
		}
		help = "wait until it has ended, or run this in another folder"
	}
	if m.checkpoints.written && inUse == nil {
		help += "; the checkpoint before is still there"
	}
	d := m.diagnostic("R0107", at, fmt.Sprintf("cannot write a checkpoint to `%s`: %s", name, reason))
	d.Help = []string{help}
	d.Cause = err
	m.raise(d)
}

// goOn gives all data the values of the checkpoint. The run is normal from here on.
func (m *Machine) goOn(at position) {
	c := m.checkpoints
	if len(c.rest) > 0 {
		m.misfit(at, "line %d comes before all that its log has was read", at.span().Start.Line)
	}
	live := m.registers.live()
	var names []string
	for _, d := range live {
		names = append(names, d.Name)
	}
	if was := c.from.Names(); !slices.Equal(names, was) {
		m.misfit(at, "there are %d data, and were %d", len(names), len(was))
	}
	m.waitAll(at)
	if m.ranks != nil {
		if err := m.ranks.Restore(m.ctx, c.from, live); err != nil {
			if onRank := (*engine.CheckpointError)(nil); m.ctx.Err() != nil || !errors.As(err, &onRank) {
				m.raiseEngine(err, at, nil)
			}
			m.misfit(at, "%s", checkpointReason(err))
		}
		c.from, c.rest = nil, nil
		return
	}
	for _, d := range live {
		if err := c.from.Restore(m.ctx, m.job, d.Name, d.Handle); err != nil {
			if m.ctx.Err() != nil {
				m.raiseEngine(err, at, nil)
			}
			m.misfit(at, "%s", checkpointReason(err))
		}
	}
	c.from, c.rest = nil, nil
}
