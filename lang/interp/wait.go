package interp

// wait: for data, tasks, gates, and for all tasks.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
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
	list := m.dataIn(v, at) // the parts of an ended view are dead
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
	err := m.job.WaitHandles(m.ctx, hs...)
	if m.ranks != nil {
		err = m.ranks.Agree(m.ctx, err)
	}
	if err != nil {
		m.raiseEngine(err, at, first)
	}
	if m.ranks != nil {
		m.raiseLost(list, at)
		return
	}
	for _, h := range list {
		if t := m.job.Lost(h.h); t != nil {
			m.raiseTask(t, at, nil)
		}
	}
}

// raiseLost raises the failures that lost data on any rank.
func (m *Machine) raiseLost(list []*Handle, at position) {
	var ds []*diag.Diagnostic
	for _, h := range list {
		t, err := m.ranks.Lost(h.h)
		if err != nil {
			m.raiseEngine(err, at, h)
		}
		if t != nil {
			ds = append(ds, m.taskDiagnostic(t, at, nil))
		}
	}
	if ds = m.failuresOfRanks(ds, nil, at); len(ds) > 0 {
		m.collect()
		m.pending = nil
		m.tell()
		panic(&raised{several(ds)})
	}
}

// busy reports whether waitFor would wait. In a plan that is unknown.
func (m *Machine) busy(v any, at position) bool {
	return m.logged(at, recordBusy, func() []byte { return []byte{byte(b2i(m.isBusy(v, at)))} })[0] != 0
}

// isBusy is busy as it is now.
func (m *Machine) isBusy(v any, at position) bool {
	m.poll(at)
	if m.plan != nil {
		m.unknown = true
	}
	switch v := v.(type) {
	case *Task:
		if v.ticket != nil {
			return m.anywhere(v.t != nil && isBusyTask(v.t), at)
		}
		return v.t != nil && isBusyTask(v.t)
	case *Gate:
		return !v.g.Opened()
	case *List:
		busy := false
		leaves(v, func(x any) {
			m.spend(at)
			busy = busy || m.isBusy(x, at)
		})
		return busy
	}
	return slices.ContainsFunc(m.dataIn(v, at), func(h *Handle) bool {
		m.alive(h, at)
		b, err := m.job.Busy(h.h)
		if err != nil {
			m.raiseEngine(err, at, h)
		}
		return m.anywhere(b, at)
	})
}

// isBusyTask reports whether the kernel of t has not ended. Its data is released after that, and t itself ends later still: a script
// that holds the data must not find t busy.
func isBusyTask(t *engine.Task) bool { return !t.Done() && t.State() < engine.StateEnding }

// waitTask waits for one task and raises its failure.
func (m *Machine) waitTask(t *Task, at position) {
	var err error
	switch {
	case t.ticket != nil:
		err = m.ranks.WaitTask(m.ctx, t.ticket)
	case t.t == nil:
		return
	default:
		if err = t.t.Wait(m.ctx); err == nil {
			err = t.t.Err()
		}
	}
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
}

// waitAll waits for everything and raises the failures that were not raised yet.
func (m *Machine) waitAll(at position) {
	wait := m.job.Wait
	if m.ranks != nil {
		wait = m.ranks.Wait
	}
	if err := wait(m.ctx); err != nil {
		m.raiseEngine(err, at, nil)
	}
	if m.endedCtx() != nil { // what was dropped has ended too
		m.raiseEnded(at)
	}
	m.collect()
	m.bundles = nil
	var ds, inVain []*diag.Diagnostic
	for _, t := range m.pending {
		ds = append(ds, m.taskDiagnostic(t, position{}, nil))
	}
	if t := m.job.LastCancelled(); len(ds) == 0 && t != nil && t.ID > m.told {
		inVain = append(inVain, m.inVain(t))
	}
	ds = m.failuresOfRanks(ds, inVain, at)
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

// taskDiagnostic is R0101: a task failed. at is the place that needed it, and read
// the data that was to be read there; both may be left out.
func (m *Machine) taskDiagnostic(t *engine.TaskError, at position, read *Handle) *diag.Diagnostic {
	var d *diag.Diagnostic
	lost := func(read *Handle) bool { return slices.ContainsFunc(t.Lost, read.h.Overlaps) }
	if m.ranks == nil {
		d = failureDiagnostic(t, t.Cancelled)
	} else {
		var names []string
		d, names = m.failureOnRank(t)
		lost = func(read *Handle) bool { return slices.Contains(names, read.root.Name()) }
	}
	if at.file != nil && at.span() != d.Span {
		label(d, at, "its result is needed here")
	}
	if read != nil && !lost(read) { // a cancelled task was to write it
		d.Notes = append(d.Notes, fmt.Sprintf("`%s` has no valid value either: a task that was cancelled was to write it", read.Name()))
	}
	return d
}

// raiseRemote raises what another rank said about err, if it did: why a task or the script failed there.
func (m *Machine) raiseRemote(err error, at position) {
	if m.ranks == nil {
		return
	}
	if ended := m.ranks.Err(); ended != nil { // it says more than what that did to this
		err = ended
	}
	var remote *cluster.RemoteError
	var task *engine.TaskError
	if errors.As(err, &task) || !errors.As(err, &remote) {
		return
	}
	f := m.failureOf(remote)
	if f == nil {
		d := m.diagnostic("R0109", at, firstLine(remote.Error()))
		d.Cause = remote
		m.raise(d)
	}
	for _, d := range f.Diagnostics {
		d.Cause = remote
		// A fault of the script is one on all ranks.
		if (f.Task || strings.HasPrefix(d.Code, "R")) && !strings.HasPrefix(d.Message, "on rank ") {
			d.Message = fmt.Sprintf("on rank %d: %s", remote.Rank, d.Message)
		}
		if f.Task && at.file != nil && at.span() != d.Span {
			label(d, at, "its result is needed here")
		}
	}
	panic(&raised{several(f.Diagnostics)})
}
