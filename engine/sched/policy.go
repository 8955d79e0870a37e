package sched

// Policy: the interface between a scheduling policy and the engine.

import (
	"encoding/binary"
	"math/bits"
)

// Item is a ready task as a policy sees it. It belongs to the policy from Push
// to Pop. The engine fills in the exported fields before Push.
type Item struct {
	Priority int32 // higher first, as far as the policy promises that; 0 by default
	Order    int64 // number of the task: among equals the smaller goes first
	Allowed  *Set  // workers that may run it; nil: all
}

// Allows reports whether worker w may run it.
func (it *Item) Allows(w int) bool { return it.Allowed == nil || it.Allowed.Has(w) }

// before reports whether a goes before b where priorities count.
func (a *Item) before(b *Item) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return a.Order < b.Order
}

// Where an item came from, and whom to wake for it.
const (
	Outside = -1 // Push: no worker released the item
	Anyone  = -1 // result of Push: wake any worker
	Nobody  = -2 // result of Push: the pushing worker takes it next
)

// Policy holds ready items. Its methods are safe for concurrent use, with two
// promises by the caller: calls with a worker's number come from that worker
// only, one at a time, and Push with Outside is called by one goroutine at a
// time. An item is returned by Pop exactly once, and only to a worker that
// it allows.
type Policy interface {
	// Push adds a ready item that worker from released, or Outside. It
	// returns the worker that should be woken for it if it sleeps (one that
	// the item allows), Anyone when any worker that wakes up would take it, or
	// Nobody.
	Push(it *Item, from int) int
	// Pop returns the item that worker w should run next, nil when there is
	// none for it.
	Pop(w int) *Item
	// Empty reports whether no item is queued, while no worker is between a
	// Push and its next Pop.
	Empty() bool
}

// Feedback is implemented by policies that want to know when kernels run. Both
// are called by worker w. An item that was given out and never starts (its task
// was cancelled, say) gets neither; when a worker asks for the next item, or
// finds none, what it had before is over.
type Feedback interface {
	// Started says that everything is ready and the kernel of it starts now.
	Started(it *Item, w int)
	// Ended reports that the kernel of the item ran for the given seconds.
	Ended(it *Item, w int, seconds float64)
}

// Leaver is implemented by policies that make items wait until workers are free.
type Leaver interface {
	// Leave says that what worker w had is over, as Pop does, and that it asks for nothing now:
	// it goes to the items of another policy, or has seen that this one is empty.
	Leave(w int)
}

// Closer is implemented by policies that own something. Close is called once,
// after the last use of the policy; items that are still queued are
// forgotten.
type Closer interface{ Close() }

// Peeker is implemented by policies that can say what a worker will most likely
// pop next, so that it can be brought to the worker's cache meanwhile.
type Peeker interface {
	// Peek returns that item, or nil. Another worker may have popped it already.
	Peek(w int) *Item
}

// Sharer is implemented by policies that keep items for the worker that released them,
// so that Push says Nobody.
type Sharer interface {
	// Share says that worker w, which calls it, does something now that Pop did not give
	// it. It returns the worker that should be woken for what it would have come to next,
	// Anyone, or Nobody when there is nothing that others could take.
	Share(w int) int
}

// Set is a set of workers. It is immutable once given to an Item.
type Set struct{ bits []uint64 }

// NewSet makes a set of worker numbers, none negative.
func NewSet(workers ...int) *Set {
	s := &Set{}
	for _, w := range workers {
		for w/64 >= len(s.bits) {
			s.bits = append(s.bits, 0)
		}
		s.bits[w/64] |= 1 << (w % 64)
	}
	return s
}

// Has reports whether worker w is in s.
func (s *Set) Has(w int) bool {
	return w/64 < len(s.bits) && s.bits[w/64]&(1<<(w%64)) != 0
}

// First returns the lowest number in s; -1 when it is empty.
func (s *Set) First() int {
	for i, v := range s.bits {
		if v != 0 {
			return 64*i + bits.TrailingZeros64(v)
		}
	}
	return -1
}

// Key is the same for equal sets.
func (s *Set) Key() string {
	b := make([]byte, 0, 8*len(s.bits))
	for _, v := range s.bits {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return string(b)
}
