package engine

// Journal: a listener that writes down what happened, and checks that it was
// allowed to.

import (
	"fmt"
	"slices"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Journal is a Listener for tests: it records events in one order and can say
// whether tasks that use the same data kept out of each other's way. It keeps
// everything, so it is not for long runs. The zero value is ready to use.
type Journal struct {
	mu struct {
		sync.Mutex
		entries []JournalEntry
	}
}

// JournalEntry is one event.
type JournalEntry struct {
	Event
	Operands []Operand // a copy
}

// TaskEvent records e.
func (j *Journal) TaskEvent(e *Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.entries = append(j.mu.entries, JournalEntry{*e, slices.Clone(e.Operands)})
}

// AlwaysReturns says that TaskEvent does.
func (j *Journal) AlwaysReturns() {}

// Entries returns what was recorded, in order.
func (j *Journal) Entries() []JournalEntry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.mu.entries)
}

// span is what a task did: places in the journal.
type span struct {
	entry                 *JournalEntry
	submitted, start, end int
	by                    *span // the task in whose sub-graph it is
}

// path returns the owners of s, from the outermost, and s.
func (s *span) path() []*span {
	out := []*span{s}
	for s.by != nil {
		s = s.by
		out = append(out, s)
	}
	slices.Reverse(out)
	return out
}

func (s *span) String() string {
	name := s.entry.Internal
	if s.entry.Codelet != nil {
		name = s.entry.Codelet.Name
	}
	return fmt.Sprintf("task %d %s", s.entry.ID, name)
}

// checked reports whether s has to keep out of others' way: held data may be
// released in part, gathering changes no value, and a lazy initialisation uses
// only the parts without a value.
func (s *span) checked() bool {
	return s.entry.Internal == "" || s.entry.Internal == kindNames[reduceTask]
}

// uses are the tasks in one sub-graph, or in none, that use one handle in one
// way: what comes later is held against them together.
type uses struct {
	by      *span // whose sub-graph
	operand Operand
	tasks   []*span
	last    *span // of tasks, the one that ended last
}

func (u *uses) add(s *span) {
	u.tasks = append(u.tasks, s)
	if u.last == nil || s.end > u.last.end {
		u.last = s
	}
}

// Check reports a pair of tasks that ran in a way that their accesses forbid: at
// the same time although one excludes the other, or not in the order of their
// submission. Held data and what has no kernel are left out.
func (j *Journal) Check() error {
	type key struct {
		job *Job
		id  int64
	}
	type way struct {
		by        *span
		handle    *datamgr.Handle
		mode      iface.AccessMode
		unordered bool
	}
	entries := j.Entries()
	byKey := map[key]*span{}
	var spans []*span
	for i := range entries {
		e := &entries[i]
		k := key{e.Job, e.ID}
		s := byKey[k]
		switch {
		case e.Kind == TaskSubmitted:
			s = &span{entry: e, submitted: i, start: -1, end: -1}
			byKey[k] = s
			spans = append(spans, s)
		case s == nil:
			return fmt.Errorf("engine: task %d was %v before it was submitted", e.ID, e.Kind)
		case e.Kind == TaskStarted && s.end < 0 && (s.start < 0 || entries[s.start].Worker != e.Worker):
			s.start = i // again, when its device was lost: others could run meanwhile
		case e.Kind != TaskStarted && s.end < 0:
			if s.end = i; e.Kind != TaskDone && s.start >= 0 && entries[s.start].Worker != e.Worker {
				s.start = -1 // given back at an unknown time, and not begun again
			}
		default:
			return fmt.Errorf("engine: %v was %v twice", s, e.Kind)
		}
	}
	ways := map[way]*uses{}
	byDatum := map[*datamgr.Handle][]*uses{} // by the handle of the whole
	for _, b := range spans {
		if b.start < 0 || !b.checked() {
			continue
		}
		if b.end < 0 {
			b.end = len(entries)
		}
		if b.entry.Parent != 0 {
			b.by = byKey[key{b.entry.Job, b.entry.Parent}]
		}
		for _, y := range b.entry.Operands {
			for _, u := range byDatum[y.Handle.Root()] {
				if err := u.check(b, y); err != nil {
					return err
				}
			}
		}
		for _, y := range b.entry.Operands {
			if y.Mode == iface.Scratch {
				continue
			}
			w := way{b.by, y.Handle, y.Mode, y.Unordered}
			if ways[w] == nil {
				ways[w] = &uses{by: b.by, operand: y}
				byDatum[y.Handle.Root()] = append(byDatum[y.Handle.Root()], ways[w])
			}
			ways[w].add(b)
		}
	}
	return nil
}

// check holds operand y of b against tasks that were submitted before it.
func (u *uses) check(b *span, y Operand) error {
	if u.by != b.by { // other sub-graphs: which of two comes first depends on the two
		for _, a := range u.tasks {
			var err error
			if after(a.path(), b.path()) {
				err = pair(b, a, y, u.operand) // b is in the sub-graph of a task that comes before a
			} else {
				err = pair(a, b, u.operand, y)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	excludes, orders := conflict(u.operand, y)
	if orders {
		return pair(u.last, b, u.operand, y)
	}
	if !excludes || u.last.end <= b.start {
		return nil
	}
	for _, a := range u.tasks {
		if err := pair(a, b, u.operand, y); err != nil {
			return err
		}
	}
	return nil
}

// pair checks two tasks, a before b in the order.
func pair(a, b *span, x, y Operand) error {
	excludes, orders := conflict(x, y)
	switch {
	case orders && a.end > b.start:
		return fmt.Errorf("engine: %v was submitted before %v, conflicts with it, and had not ended when it started", a, b)
	case excludes && a.start < b.end && b.start < a.end:
		return fmt.Errorf("engine: %v and %v exclude each other and ran at the same time", a, b)
	}
	return nil
}

// after reports whether a, which was submitted before b, comes behind it: b is in
// the sub-graph of a task that was submitted before a, or before a task in whose
// sub-graph a is. Both are given with their owners.
func after(a, b []*span) bool {
	for k := range min(len(a), len(b)) {
		if a[k] != b[k] {
			return a[k].submitted > b[k].submitted
		}
	}
	return false
}

// conflict says what operands of two tasks, that with x before that with y, demand.
func conflict(x, y Operand) (excludes, orders bool) {
	switch {
	case x.Mode == iface.Scratch || y.Mode == iface.Scratch || !x.Handle.Overlaps(y.Handle):
	case x.Mode == iface.R && y.Mode == iface.R:
	case y.Mode == iface.Redux, x.Mode == iface.Redux && y.Unordered:
		// the copy is private, and what combines it is a task of its own
	case x.Unordered || y.Unordered || x.Mode == y.Mode && x.Mode.Commutes():
		return true, false
	default:
		return false, true
	}
	return false, false
}
