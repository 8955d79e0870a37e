package engine

// Hints about where data will be used: they change when bytes travel, and no
// value.

import (
	"container/heap"
	"slices"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// hints are carried out by one goroutine for each memory node that bytes go to, so
// that none waits for another's link.
type hints struct{ nodes []*nodeHints }

// nodeHints are the hints for one node. When too many wait, more are forgotten.
type nodeHints struct {
	mu struct {
		sync.Mutex
		wake   *sync.Cond
		queue  hintQueue
		seq    int64
		closed bool
	}
}

const maxHints = 1024

// hint brings data to a node.
type hint struct {
	h        *datamgr.Handle
	node     int
	level    hintLevel
	priority int32
	seq      int64
}

// hintLevel orders hints: the lower go first.
type hintLevel uint8

const (
	forTask hintLevel = iota // that was given to a worker of the node
	wanted
	whenIdle
)

// hintQueue is a heap.
type hintQueue []hint

func (q hintQueue) Len() int { return len(q) }
func (q hintQueue) Less(i, k int) bool {
	a, b := &q[i], &q[k]
	switch {
	case a.level != b.level:
		return a.level < b.level
	case a.priority != b.priority:
		return a.priority > b.priority
	}
	return a.seq < b.seq
}
func (q hintQueue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }
func (q *hintQueue) Push(x any)   { *q = append(*q, x.(hint)) }
func (q *hintQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = hint{} // keeps no handle
	*q = (*q)[:last]
	return x
}

func (q *hints) open(rt *Runtime) {
	for range rt.nodes {
		n := &nodeHints{}
		n.mu.wake = sync.NewCond(&n.mu.Mutex)
		q.nodes = append(q.nodes, n)
		rt.group.Add(1)
		go func() {
			defer rt.group.Done()
			for x, ok := n.next(); ok; x, ok = n.next() {
				if x.level != forTask || managed(x.h).NextUses() { // else the task has run
					rt.reg.Prefetch(x.h, x.node)
				}
			}
		}()
	}
}

// next waits for a hint; false: there will be none.
func (n *nodeHints) next() (hint, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.mu.queue) == 0 && !n.mu.closed {
		n.mu.wake.Wait()
	}
	if n.mu.closed {
		return hint{}, false
	}
	return heap.Pop(&n.mu.queue).(hint), true
}

func (q *hints) add(x hint) {
	if x.node >= len(q.nodes) {
		return // no prefetcher there
	}
	n := q.nodes[x.node]
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.mu.queue) >= maxHints || n.mu.closed {
		return
	}
	n.mu.seq++
	x.seq = n.mu.seq
	heap.Push(&n.mu.queue, x)
	n.mu.wake.Signal()
}

// close ends the goroutines; the runtime waits for them.
func (q *hints) close() {
	for _, n := range q.nodes {
		n.mu.Lock()
		n.mu.closed, n.mu.queue = true, nil
		n.mu.wake.Signal()
		n.mu.Unlock()
	}
}

// pushAhead gives a ready task to the policy, where there are devices: when the
// policy chooses a worker on one, what the task reads goes there while the worker
// runs what it has before.
func (rt *Runtime) pushAhead(t *task, from int) {
	var reads [8]*datamgr.Handle // afterwards t may run already
	n := 0
	if t.kind == userTask {
		for _, op := range t.operands() {
			if op.Mode.Reads() && op.Mode != iface.Redux && op.Mode != iface.Scratch && op.Pin != datamgr.PinTo(0) && n < len(reads) {
				reads[n] = op.Handle
				n++
			}
		}
	}
	allowed, priority := t.Allowed, t.Priority
	var w int
	if !rt.lanes.on.Load() {
		w = rt.policy.Push(&t.Item, from)
	} else {
		w = rt.pushLane(t, from)
	}
	rt.wakeFor(w, allowed)
	if w < 0 || !rt.reg.Bounded(rt.workers[w].node) {
		return
	}
	node := rt.workers[w].node
	for _, h := range reads[:n] {
		if managed(h).Missing(node) > 0 {
			rt.hints.add(hint{h: h, node: node, priority: priority})
		}
	}
	rt.workers[w].prefetchWhileRunning()
}

// PrefetchOptions say how a hint is carried out.
type PrefetchOptions struct {
	Wait     bool // return when it is done
	Priority int  // the higher go first; not with Wait
	Idle     bool // behind all that are not Idle; not with Wait
}

// Prefetch brings the value that h has now to a memory node, an index of
// Runtime.Nodes, so that tasks there find it; with wait it returns when that is
// done. It is a hint: it takes no part in the order, waits for no task, and does
// nothing where the data is being written or where there is no room. Errors:
// *UninitError when h has no value, as of what was submitted, *DeadHandleError,
// *NoNodeError, ErrClosed.
func (j *Job) Prefetch(h *datamgr.Handle, node int, wait bool) error {
	return j.PrefetchWith(h, node, PrefetchOptions{Wait: wait})
}

// PrefetchWith is Prefetch with options.
func (j *Job) PrefetchWith(h *datamgr.Handle, node int, o PrefetchOptions) error {
	rt := j.rt
	if err := rt.checkNode(node); err != nil {
		return err
	}
	h, err := j.hinted(h, true)
	switch {
	case err != nil:
		return err
	case h == nil || rt.nodes == 1 || rt.opt.Plan != nil:
	case o.Wait:
		rt.reg.Prefetch(h, node)
	default:
		x := hint{h: h, node: node, level: wanted, priority: int32(max(min(o.Priority, 1<<30), -1<<30))}
		if o.Idle {
			x.level = whenIdle
		}
		rt.hints.add(x)
	}
	return nil
}

// Evict takes copies of h away from a device, now, as far as no task uses them;
// values that are nowhere else go to main memory. It returns how many bytes of the
// device's memory that gave back. It is a hint: it changes no value. Errors are
// those of WontUse, *NoNodeError, and *ModeError for main memory.
func (j *Job) Evict(h *datamgr.Handle, node int) (bytes int64, err error) {
	if err := j.rt.checkNode(node); err != nil {
		return 0, err
	}
	if rt := j.rt; node == 0 && !rt.limited {
		return 0, &ModeError{Other: -1, Message: "data cannot be evicted from main memory: name the node of a device"}
	} else if rt.limited && node == rt.diskNode {
		return 0, &ModeError{Other: -1, Message: "data cannot be evicted from the disk: name main memory or the node of a device"}
	}
	h, err = j.hinted(h, false)
	if err != nil || h == nil {
		return 0, err
	}
	return j.rt.reg.Evict(h, node), nil
}

// Allocate asks for memory for h on a memory node before a task uses it there: room
// that is free, none that others have. It reports whether there is memory for h now.
// It is a hint: the memory goes when tasks need the room, and needs no value. Errors are
// those of WontUse and *NoNodeError.
func (j *Job) Allocate(h *datamgr.Handle, node int) (bool, error) {
	if err := j.rt.checkNode(node); err != nil {
		return false, err
	}
	h, err := j.hinted(h, false)
	if err != nil || h == nil {
		return false, err
	}
	return j.rt.reg.Allocate(h, node), nil
}

// Where says where the bytes of h are now, for each memory node in the order of
// Runtime.Nodes. Errors are those of WontUse.
func (j *Job) Where(h *datamgr.Handle) ([]datamgr.Presence, error) {
	h, err := j.hinted(h, false)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return make([]datamgr.Presence, j.rt.reg.NumNodes()), nil
	}
	return managed(h).Where(), nil
}

// WontUse says that h will not be used for a while: where copies of it lie on
// devices now, they are the first to go when room is needed. It is a hint, and
// does nothing to data without a value. Errors: *DeadHandleError, ErrClosed.
func (j *Job) WontUse(h *datamgr.Handle) error {
	h, err := j.hinted(h, false)
	if err == nil && h != nil && j.rt.opt.Plan == nil {
		managed(h).WontUse()
	}
	return err
}

// hinted checks what a hint is about, and returns the data that has the bytes: nil
// when there are none yet.
func (j *Job) hinted(h *datamgr.Handle, valued bool) (*datamgr.Handle, error) {
	rt := j.rt
	if h == nil {
		return nil, &ModeError{Other: -1, Message: "no data to give a hint about: the handle is nil"}
	}
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if err := j.open(sub); err != nil {
		return nil, err
	}
	if err := rt.alive(0, h); err != nil {
		return nil, err
	}
	if u := managed(h).Shared(sub); u != nil {
		if h != u.Handle() {
			return nil, nil // part of a duplicate that has no bytes of its own
		}
		return u.Alias(), nil
	}
	if valued && !managed(h).InitOnly(sub) {
		if _, bad := sub.Merge([]Operand{{Handle: h, Mode: iface.R}}, datamgr.MergeOptions{}); bad.Kind != datamgr.NoProblem && !sub.Initialised(h) {
			return nil, problem([]Operand{{Handle: h, Mode: iface.R}}, bad)
		}
	}
	return h, nil
}

// SetWriteThrough makes every task that writes h from now on bring the new value to
// these memory nodes when it has ended, as a hint; none: no more. Parts declared
// later inherit it. Errors: *NoNodeError, *DeadHandleError, and *ModeError for data of
// another runtime.
func (rt *Runtime) SetWriteThrough(h *datamgr.Handle, nodes ...int) error {
	if h == nil {
		return &ModeError{Other: -1, Message: "no data to write through: the handle is nil"}
	}
	set := uint64(0)
	for _, n := range nodes {
		if err := rt.checkNode(n); err != nil {
			return err
		}
		set |= 1 << n
	}
	sub := rt.reg.Lock()
	err := rt.alive(-1, h)
	sub.Unlock()
	if err == nil {
		managed(h).SetWriteThrough(set)
	}
	return err
}

// writeThrough brings what t has written where it is to be.
func (rt *Runtime) writeThrough(t *task) {
	if t.kind == invalidateTask || t.kind == unregisterTask {
		return
	}
	for _, op := range t.operands() {
		if !op.Mode.Writes() || op.Mode == iface.Redux || op.Mode == iface.Scratch {
			continue
		}
		for n, set := 0, managed(op.Handle).WriteThrough(); set != 0; n, set = n+1, set>>1 {
			if set&1 != 0 {
				rt.hints.add(hint{h: op.Handle, node: n, level: wanted})
			}
		}
	}
}

// Feeding devices, and main memory where that is bounded: while a kernel runs, the data
// of the worker's next tasks is copied.
//
// A hint evicts no data, so it does nothing once a device is full. The next tasks of a
// worker are known. In their turn their data would replace the data that is needed last,
// so this is done ahead, for Options.Ahead tasks.

// DefaultAhead is the number of tasks of a device's worker whose data is fetched while it
// runs another. One task would leave more room. With two, data of one is copied there
// while evicted data is saved for the other.
const DefaultAhead = 2

// prefetcher brings data to one node, by DefaultAhead goroutines or as many as are asked
// for, so that what comes does not wait for what goes.
type prefetcher struct {
	mu struct {
		sync.Mutex
		wake       *sync.Cond
		requests   []fetchRequest
		inProgress map[fetchKey]bool // being brought
		closed     bool
	}
}

// fetchRequest is what a task needs that waits for a worker.
type fetchRequest struct {
	datamgr.FetchRequest
	key    fetchKey
	worker int
}

// fetchKey tells tasks apart.
type fetchKey struct {
	job  *Job
	task int64
}

// openPrefetchers begins to feed the devices.
func (rt *Runtime) openPrefetchers() {
	rt.ahead, _ = plain(rt.policy).(sched.Ahead)
	if rt.ahead == nil || rt.opt.Ahead < 0 {
		rt.ahead = nil
		return
	}
	for n := range rt.reg.NumNodes() {
		f := &prefetcher{}
		f.mu.wake = sync.NewCond(&f.mu.Mutex)
		f.mu.inProgress = map[fetchKey]bool{}
		rt.prefetchers = append(rt.prefetchers, f)
		if !rt.reg.Bounded(n) {
			continue
		}
		for range rt.opt.Ahead {
			rt.group.Add(1)
			go func() {
				defer rt.group.Done()
				f.loop(rt.reg, n)
			}()
		}
	}
}

func (f *prefetcher) loop(reg *datamgr.Registry, node int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.mu.closed {
		if len(f.mu.requests) == 0 {
			f.mu.wake.Wait()
			continue
		}
		m := f.mu.requests[0]
		f.mu.requests = f.mu.requests[1:]
		f.mu.inProgress[m.key] = true
		f.mu.Unlock()
		reg.FetchAhead(&m.FetchRequest, node)
		f.mu.Lock()
		delete(f.mu.inProgress, m.key)
	}
}

// closePrefetchers ends the goroutines; the runtime waits for them.
func (rt *Runtime) closePrefetchers() {
	for _, f := range rt.prefetchers {
		f.mu.Lock()
		f.mu.closed, f.mu.requests = true, nil
		f.mu.wake.Broadcast()
		f.mu.Unlock()
	}
}

// lookahead is what the next tasks of a worker need. It belongs to one goroutine.
type lookahead struct {
	worker, node int
	tasks        int // looked at
	requests     []fetchRequest
	keep         []*datamgr.Handle // all that the tasks read
	order        func(*sched.Item)
}

func newLookahead(w *worker) *lookahead {
	m := &lookahead{worker: w.id, node: w.node}
	m.order = m.add
	return m
}

// prefetchNext replaces the prefetch requests of w: it requests the data of its next
// tasks, and drops earlier requests that have not begun.
func (w *worker) prefetchNext(m *lookahead) {
	rt := w.rt
	// One look at a time: the worker may have looked before a push, and would drop the
	// request of the goroutine that pushed and looked after it.
	w.prefetching.Lock()
	defer w.prefetching.Unlock()
	m.requests, m.keep, m.tasks = m.requests[:0], m.keep[:0], 0
	w.seen.Store(0) // a push that this look misses looks again
	rt.lookAhead(w.id, m)
	w.seen.Store(int32(m.tasks))
	f := rt.prefetchers[w.node]
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, old := range f.mu.requests {
		if old.worker != w.id {
			f.mu.requests[n] = old
			n++
		}
	}
	clear(f.mu.requests[n:])
	f.mu.requests = f.mu.requests[:n]
	if f.mu.closed {
		return
	}
	var keep []*datamgr.Handle
	for _, x := range m.requests {
		if f.mu.inProgress[x.key] {
			continue
		}
		if keep == nil {
			keep = slices.Clone(m.keep)
		}
		x.Keep = keep
		f.mu.requests = append(f.mu.requests, x)
		f.mu.wake.Signal()
	}
}

// prefetchWhileRunning is called when a task was given to w: if that runs a kernel, and had fewer
// tasks than it looks ahead, what the new one needs can travel already.
func (w *worker) prefetchWhileRunning() {
	if w.rt.ahead != nil && w.busy.Load() && int(w.seen.Load()) < w.rt.opt.Ahead {
		w.prefetchNext(newLookahead(w))
	}
}

// note notes what the task of it needs. It is called by the policy.
func (m *lookahead) add(it *sched.Item) {
	m.tasks++
	t := itemTask(it)
	if t.kind != userTask {
		return
	}
	x := fetchRequest{worker: m.worker, key: fetchKey{t.job, t.Order}}
	for _, op := range t.operands() {
		switch {
		case op.Mode == iface.Scratch || op.Mode == iface.Redux:
		case op.Mode.Reads():
			m.keep = append(m.keep, op.Handle)
			if managed(op.Handle).Missing(m.node) > 0 {
				x.Reads = append(x.Reads, op.Handle)
			}
		case managed(op.Handle).MissingBytes(m.node) > 0:
			x.Writes = append(x.Writes, op.Handle)
		}
	}
	if x.Reads != nil || x.Writes != nil {
		m.requests = append(m.requests, x)
	}
}
