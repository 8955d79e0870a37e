package interp

// Runs of one program on several ranks: see package engine/cluster. Every rank executes the whole script.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang/diag"
)

// acquireData is engine.Job.AcquireWith, on all ranks. While rank 0 saves, the others get nil.
func (m *Machine) acquireData(h *Handle, mode iface.AccessMode, o engine.AcquireOptions) (*engine.Access, error) {
	if m.ranks != nil && m.toRankZero {
		return m.ranks.AcquireOn(m.ctx, 0, h.h, o)
	}
	if m.ranks != nil {
		return m.ranks.Acquire(m.ctx, h.h, mode, o)
	}
	return m.job.AcquireWith(m.ctx, h.h, mode, o)
}

// unregisterData is engine.Job.Unregister, on all ranks.
func (m *Machine) unregisterData(h *Handle, at *engine.Site) error {
	if m.ranks != nil {
		return m.ranks.Unregister(h.h, at)
	}
	return m.job.Unregister(h.h, at)
}

// invalidateData is engine.Job.Invalidate, on all ranks.
func (m *Machine) invalidateData(h *Handle, at *engine.Site) error {
	if m.ranks != nil {
		return m.ranks.Invalidate(h.h, at)
	}
	return m.job.Invalidate(h.h, at)
}

// content is datamgr.Handle.Content of h after the tasks inserted so far, which have ended, on all ranks.
func (m *Machine) content(h *Handle, at position) iface.Desc {
	if m.ranks == nil {
		return h.h.Content()
	}
	d, err := m.ranks.Content(m.ctx, h.h)
	if err != nil {
		m.raiseEngine(err, at, h)
	}
	return d
}

// oneRankOnly raises E0705 about something that runs on several ranks do not have.
func (m *Machine) oneRankOnly(what, help string, at position) {
	m.failHelp("E0705", at, "", help, "%s is possible on one rank only, and this run has %d", what, m.ranks.Size())
}

// anywhere reports whether mine is true on any rank: they all take the same branch then.
func (m *Machine) anywhere(mine bool, at position) bool {
	if m.ranks == nil {
		return mine
	}
	var b []byte
	if mine {
		b = []byte{1}
	}
	all, err := m.ranks.Gather(m.ctx, b)
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
	for _, b := range all {
		if len(b) > 0 {
			return true
		}
	}
	return false
}

// failureOf returns what another rank has described, nil if that is nothing.
func (m *Machine) failureOf(e *cluster.RemoteError) *rankFailure {
	var f rankFailure
	if json.Unmarshal(e.Detail, &f) != nil || len(f.Diagnostics) == 0 {
		return nil
	}
	for _, d := range f.Diagnostics {
		d.Attach(m.sourceOf)
	}
	return &f
}

// sourceOf returns the text of a file of the program, which all ranks have.
func (m *Machine) sourceOf(file string) *diag.Source {
	for _, u := range m.prog.units {
		if s := u.unit.File.Source; s.Name == file {
			return s
		}
	}
	for _, u := range slices.Backward(m.prog.all) { // of a session
		if s := u.File.Source; s.Name == file {
			return s
		}
	}
	return nil
}

// failureOnRank returns the diagnostic of a task that failed on any rank, the same on all, and the names of the data that it was to write.
func (m *Machine) failureOnRank(t *engine.TaskError) (d *diag.Diagnostic, lost []string) {
	rank := m.ranks.Rank()
	var remote *cluster.RemoteError
	if errors.As(t, &remote) {
		rank = remote.Rank
		if f := m.failureOf(remote); f != nil && f.Task {
			d, lost = f.Diagnostics[0], f.Lost
		}
	}
	if d == nil {
		d, lost = failureDiagnostic(t, 0), lostNames(t)
	}
	d.Message, d.Cause = fmt.Sprintf("on rank %d: %s", rank, d.Message), t
	return d, lost
}

// failuresOfRanks gives all ranks the failures that each has, in the order of the ranks. If there are none, it gives them those of inVain.
func (m *Machine) failuresOfRanks(mine, inVain []*diag.Diagnostic, at position) (all []*diag.Diagnostic) {
	type lists struct{ Failures, InVain []*diag.Diagnostic }
	if m.ranks == nil {
		return append(mine, inVain...)
	}
	b, err := json.Marshal(lists{mine, inVain})
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
	packed, err := m.ranks.Gather(m.ctx, b)
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
	var seen []*diag.Diagnostic
	add := func(list, own []*diag.Diagnostic, rank int) {
		for i, d := range list {
			if slices.ContainsFunc(seen, func(o *diag.Diagnostic) bool {
				return o.Message == d.Message && o.Span == d.Span && o.Label == d.Label
			}) {
				continue // several ranks may have a value that was lost
			}
			if seen = append(seen, d); rank == m.ranks.Rank() {
				d = own[i] // it has a cause
			}
			d.Attach(m.sourceOf)
			all = append(all, d)
		}
	}
	got := make([]lists, len(packed))
	for r, b := range packed {
		if err := json.Unmarshal(b, &got[r]); err != nil {
			m.raiseEngine(fmt.Errorf("the failures of rank %d: %w", r, err), at, nil)
		}
		add(got[r].Failures, mine, r)
	}
	for r := 0; r < len(got) && len(all) == 0; r++ {
		add(got[r].InVain, inVain, r)
	}
	return all
}

// ofRankZero returns the text that rank 0 passes.
func (m *Machine) ofRankZero(text string, at position) string {
	b, err := m.ranks.Share(m.ctx, 0, []byte(text))
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
	return string(b)
}

// hasValue reports whether all of h has a value, on any rank.
func (m *Machine) hasValue(h *Handle) bool {
	if m.ranks != nil {
		return m.ranks.HasValue(h.h)
	}
	return h.h.Initialised()
}
