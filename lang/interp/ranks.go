package interp

// Runs of one program on several ranks: see package engine/cluster. Every rank executes the whole script.

import (
	"encoding/json"
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
)

// acquireData is engine.Job.AcquireWith, on all ranks.
func (m *Machine) acquireData(h *Handle, mode iface.AccessMode, o engine.AcquireOptions) (*engine.Access, error) {
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

// failuresOfRanks gives all ranks the failures that each has, in the order of the ranks.
func (m *Machine) failuresOfRanks(mine []*diag.Diagnostic, at position) (all []*diag.Diagnostic) {
	if m.ranks == nil {
		return mine
	}
	b, err := json.Marshal(mine)
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
	lists, err := m.ranks.Gather(m.ctx, b)
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
	for r, b := range lists {
		if r == m.ranks.Rank() {
			all = append(all, mine...)
			continue
		}
		var list []*diag.Diagnostic
		if err := json.Unmarshal(b, &list); err != nil {
			m.raiseEngine(fmt.Errorf("the failures of rank %d: %w", r, err), at, nil)
		}
		for _, d := range list {
			d.Message = fmt.Sprintf("on rank %d: %s", r, d.Message)
			all = append(all, d)
		}
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
