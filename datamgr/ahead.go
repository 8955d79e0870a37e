package datamgr

// Uses ahead: which tasks that were submitted have not ended, and will read what. So
// eviction can take away what nobody waits for, and then what is needed last.

import (
	"math"
	"slices"
	"sync"
)

// ahead are the tasks that were submitted, have not ended and read a handle, by
// when they are expected to run: the lowest comes first.
type ahead struct {
	mu struct {
		sync.Mutex
		tasks []int64 // sorted
		head  int     // of those still to come
	}
}

// never stands for the next use of what no task waits for.
const never = math.MaxInt64

// Expect says that a task that was submitted now will read what it has of ops, and
// when compared to others. Met follows when it has ended, with the same number. Where
// there is one memory only, nobody needs to know.
func Expect(ops []Operand, when int64) {
	for i := range ops {
		if op := &ops[i]; op.expected() {
			op.Handle.more().ahead.add(when)
		}
	}
}

// Met is the end of what Expect began.
func Met(ops []Operand, when int64) {
	for i := range ops {
		if op := &ops[i]; op.expected() {
			op.Handle.more().ahead.remove(when)
		}
	}
}

// expected reports whether the operand needs the value that its data has.
func (op *Operand) expected() bool {
	return op.Mode.Reads() && op.placed() && op.Handle.State()&stateNodes != 0
}

// add adds a task, behind all others most often.
func (a *ahead) add(when int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.mu.tasks); n == a.mu.head || a.mu.tasks[n-1] <= when {
		a.mu.tasks = append(a.mu.tasks, when)
		return
	}
	i, _ := slices.BinarySearch(a.mu.tasks[a.mu.head:], when)
	a.mu.tasks = slices.Insert(a.mu.tasks, a.mu.head+i, when)
}

// remove takes off a task, which is the first most often.
func (a *ahead) remove(when int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, found := slices.BinarySearch(a.mu.tasks[a.mu.head:], when)
	if !found {
		return
	}
	copy(a.mu.tasks[a.mu.head+1:], a.mu.tasks[a.mu.head:a.mu.head+i])
	a.mu.head++
	if n := len(a.mu.tasks); a.mu.head == n {
		a.mu.tasks, a.mu.head = a.mu.tasks[:0], 0
	} else if a.mu.head > 32 && a.mu.head > n/2 {
		a.mu.tasks = a.mu.tasks[:copy(a.mu.tasks, a.mu.tasks[a.mu.head:])]
		a.mu.head = 0
	}
}

// nextUse is the first of the tasks that read h, or never.
func (h *Handle) nextUse() int64 {
	x := h.extra.Load()
	if x == nil {
		return never
	}
	a := &x.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.head == len(a.mu.tasks) {
		return never
	}
	return a.mu.tasks[a.mu.head]
}

// Awaited reports whether a task that was submitted and has not ended reads h.
func (h *Handle) Awaited() bool { return h.nextUse() != never }

// maxFor is how many handles an instance remembers: most have one.
const maxFor = 8

// touch notes that in is used now, for h.
func (n *node) touch(in *instance, h *Handle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.uses++
	in.used = n.mu.uses
	for _, o := range in.handles {
		if o == h {
			return
		}
	}
	if len(in.handles) == maxFor {
		in.handles[n.mu.uses%maxFor] = h
		return
	}
	in.handles = append(in.handles, h)
}

// users are the handles for which in was used.
func (in *instance) users() []*Handle {
	in.node.mu.Lock()
	defer in.node.mu.Unlock()
	return slices.Clone(in.handles)
}

// victim is an instance that could be taken away.
type victim struct {
	in         *instance
	next, used int64 // when a task needs it, when one did
	stays      bool  // while anything else can go
}

// before reports whether v should go before o: what is needed later, and what was
// not used for longer.
func (v *victim) before(o *victim) bool {
	if v.stays != o.stays {
		return o.stays
	}
	if v.next != o.next {
		return v.next > o.next
	}
	return v.used < o.used
}

// victims are the instances on a node, as a heap.
type victims []victim

// victims returns what is on n of data of g, nil for all.
func (n *node) victims(g *Registry) victims {
	n.mu.Lock()
	all := make(victims, 0, len(n.mu.insts))
	for _, in := range n.mu.insts {
		if g != nil && in.d.reg != g {
			continue
		}
		next, used := int64(never), in.used
		if discardable(in.handles) {
			used = 0
		}
		if used > 0 { // else somebody said that it is not used for a while
			for _, h := range in.handles {
				next = min(next, h.nextUse())
			}
		}
		all = append(all, victim{in, next, used, n.id == 0 && inCore(in.handles)})
	}
	n.mu.Unlock()
	for i := len(all)/2 - 1; i >= 0; i-- {
		all.down(i)
	}
	return all
}

// discardable reports whether whoever uses an instance said so.
func discardable(hs []*Handle) bool {
	for _, h := range hs {
		if !h.Discardable() {
			return false
		}
	}
	return len(hs) > 0
}

// inCore reports whether somebody who uses an instance wants it in main memory.
func inCore(hs []*Handle) bool {
	return slices.ContainsFunc(hs, func(h *Handle) bool { return !h.OutOfCore() })
}

// going calls try for the instances on n, of data of g, nil for all, in the order in
// which they are to go, until it returns true, which going returns: those that no task waits for, of those first what
// holds nothing that is not elsewhere, for which try is called with clean set, and if
// it returns false once more later; then what is needed last. Between equals the
// least recently used goes first, and at the end what is to stay in main memory.
func (n *node) going(g *Registry, try func(in *instance, clean bool) bool) bool {
	all := n.victims(g)
	var unneeded []*instance
	for len(all) > 0 && all[0].next == never && !all[0].stays {
		in := all.pop().in
		if try(in, true) {
			return true
		}
		unneeded = append(unneeded, in)
	}
	for _, in := range unneeded {
		if try(in, false) {
			return true
		}
	}
	for len(all) > 0 {
		if try(all.pop().in, false) {
			return true
		}
	}
	return false
}

// pop takes out the one that should go first.
func (q *victims) pop() victim {
	all := *q
	first := all[0]
	last := len(all) - 1
	all[0] = all[last]
	*q = all[:last]
	q.down(0)
	return first
}

func (q victims) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(q) {
			return
		}
		if c+1 < len(q) && q[c+1].before(&q[c]) {
			c++
		}
		if !q[c].before(&q[i]) {
			return
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
}
