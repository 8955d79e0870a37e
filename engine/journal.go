package engine

// Journal: a listener that writes down what happened, and checks that it was
// allowed to.

import (
	"fmt"
	"slices"
	"sync"

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

// Check reports the first pair of tasks that ran in a way that their accesses
// forbid: at the same time although one excludes the other, or not in the order
// of their submission. Held data and what has no kernel are left out. It
// compares all pairs of tasks.
func (j *Journal) Check() error {
	type key struct {
		job *Job
		id  int64
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
		case e.Kind == TaskStarted && s.start < 0:
			s.start = i
		case e.Kind != TaskStarted && s.end < 0:
			s.end = i
		default:
			return fmt.Errorf("engine: %v was %v twice", s, e.Kind)
		}
	}
	// owners, from the outermost, and the task itself
	path := func(s *span) []*span {
		out := []*span{s}
		for s.entry.Parent != 0 {
			s = byKey[key{s.entry.Job, s.entry.Parent}]
			out = append(out, s)
		}
		slices.Reverse(out)
		return out
	}
	for i, later := range spans {
		if later.start < 0 || !later.checked() {
			continue
		}
		for _, earlier := range spans[:i] {
			a, b := earlier, later
			if a.start < 0 || !a.checked() {
				continue
			}
			if a.entry.Parent != b.entry.Parent && after(path(a), path(b)) {
				a, b = b, a // b is in the sub-graph of a task that comes before a
			}
			excludes, orders := conflict(a.entry.Operands, b.entry.Operands)
			switch {
			case orders && (a.end < 0 || a.end > b.start):
				return fmt.Errorf("engine: %v was submitted before %v, conflicts with it, and had not ended when it started", a, b)
			case excludes && a.start < b.end && b.start < a.end:
				return fmt.Errorf("engine: %v and %v exclude each other and ran at the same time", a, b)
			}
		}
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

// conflict says what the operands of two tasks, a submitted before b, demand.
func conflict(a, b []Operand) (excludes, orders bool) {
	for _, x := range a {
		for _, y := range b {
			switch {
			case x.Mode == iface.Scratch || y.Mode == iface.Scratch || !x.Handle.Overlaps(y.Handle):
			case x.Mode == iface.R && y.Mode == iface.R:
			case y.Mode == iface.Redux, x.Mode == iface.Redux && y.Unordered:
				// the copy is private, and what combines it is a task of its own
			case x.Unordered || y.Unordered || x.Mode == iface.Commute && y.Mode == iface.Commute:
				excludes = true
			default:
				orders = true
			}
		}
	}
	return excludes, orders
}
