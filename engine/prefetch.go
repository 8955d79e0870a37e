package engine

// Prefetching: data is copied to a memory node before a task uses it there. That changes when
// bytes travel, and no value.
//
// A node has one prefetcher, with one queue. Requests come from
//
//   - the look-ahead of workers: while a kernel runs on a device, or on a CPU where main memory
//     is bounded, the data of the worker's next Options.Ahead tasks is fetched. In their turn
//     they would evict the data that is needed last, so these requests do. Each look replaces
//     the requests of the one before;
//   - tasks that were given to a worker behind others, if there is room for their data;
//   - programs (Job.Prefetch) and write-through, if there is room.
//
// The queue drops requests of the last two kinds when too many wait. Requests of tasks that
// have started are dropped, too. The rules on room are those of datamgr's Registry.Fetch.

import (
	"container/heap"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// DefaultAhead is the number of tasks of a device's worker whose data is fetched while it
// runs another. One task would leave more room. With two, data of one is copied there
// while evicted data is saved for the other.
const DefaultAhead = 2

// maxDroppable is how many requests that make no room wait at a node. More are dropped.
const maxDroppable = 1024

// fetchLevel orders the requests at a node: the lower go first.
type fetchLevel uint8

const (
	nextTask  fetchLevel = iota // of a worker of the node; the only level that makes room
	givenTask                   // is in the queue of a worker of the node
	wanted                      // by the program, or written through
	whenIdle
	fetchLevels
)

// fetchRequest is data to bring to a node.
type fetchRequest struct {
	datamgr.FetchRequest
	task     fetchKey // of the levels of tasks
	level    fetchLevel
	priority int   // in its level, the higher go first
	seq      int64 // then the lower
	at       int   // its place in its queue, or notQueued
}

const notQueued = -1

// fetchKey is a task that a worker was given, or looked at.
type fetchKey struct {
	job    *Job
	order  int64
	worker int
}

// prefetcher carries out the requests for one node.
type prefetcher struct {
	mu struct {
		sync.Mutex
		wake   *sync.Cond
		queues [fetchLevels]fetchQueue
		byTask map[fetchKey]*fetchRequest // of tasks, queued or in progress; the latest of each
		seq    int64
		closed bool
	}
}

// fetchQueue is a heap.
type fetchQueue []*fetchRequest

func (q fetchQueue) Len() int { return len(q) }
func (q fetchQueue) Less(i, k int) bool {
	if q[i].priority != q[k].priority {
		return q[i].priority > q[k].priority
	}
	return q[i].seq < q[k].seq
}
func (q fetchQueue) Swap(i, k int) {
	q[i], q[k] = q[k], q[i]
	q[i].at, q[k].at = i, k
}
func (q *fetchQueue) Push(x any) {
	r := x.(*fetchRequest)
	r.at = len(*q)
	*q = append(*q, r)
}
func (q *fetchQueue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last], r.at = nil, notQueued
	*q = (*q)[:last]
	return r
}

// openPrefetchers starts the goroutines that own the queues. Each node has one for requests
// that make no room, which keeps their order. Where workers look ahead it has Options.Ahead
// more, so that data which comes does not wait for data which goes, or for a hint.
func (rt *Runtime) openPrefetchers() {
	rt.ahead, _ = plain(rt.policy).(sched.Ahead)
	if rt.opt.Ahead < 0 {
		rt.ahead = nil
	}
	for n := range rt.reg.NumNodes() {
		f := &prefetcher{}
		f.mu.wake = sync.NewCond(&f.mu.Mutex)
		f.mu.byTask = map[fetchKey]*fetchRequest{}
		rt.prefetchers = append(rt.prefetchers, f)
		own := func(first, last fetchLevel) {
			rt.group.Add(1)
			go func() {
				defer rt.group.Done()
				f.loop(rt.reg, n, first, last)
			}()
		}
		own(givenTask, whenIdle)
		if rt.ahead != nil && rt.reg.Bounded(n) {
			for range rt.opt.Ahead {
				own(nextTask, nextTask)
			}
		}
	}
}

// loop carries out the requests of some levels until f is closed.
func (f *prefetcher) loop(reg *datamgr.Registry, node int, first, last fetchLevel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.mu.closed {
		r := f.takeLocked(first, last)
		if r == nil {
			f.mu.wake.Wait()
			continue
		}
		f.mu.Unlock()
		reg.Fetch(&r.FetchRequest, node)
		f.mu.Lock()
		f.forgetLocked(r)
	}
}

func (f *prefetcher) takeLocked(first, last fetchLevel) *fetchRequest {
	for l := first; l <= last; l++ {
		if q := &f.mu.queues[l]; len(*q) > 0 {
			return heap.Pop(q).(*fetchRequest)
		}
	}
	return nil
}

// closePrefetchers ends the goroutines; the runtime waits for them.
func (rt *Runtime) closePrefetchers() {
	for _, f := range rt.prefetchers {
		f.mu.Lock()
		f.mu.closed = true
		clear(f.mu.queues[:])
		clear(f.mu.byTask)
		f.mu.wake.Broadcast()
		f.mu.Unlock()
	}
}

// prefetch asks for r at a node, if there is a prefetcher: a runtime that makes a plan has none.
func (rt *Runtime) prefetch(node int, r *fetchRequest) {
	if node < len(rt.prefetchers) {
		f := rt.prefetchers[node]
		f.mu.Lock()
		f.askLocked(r)
		f.mu.Unlock()
	}
}

// askLocked queues r. It reports whether it did: not if too many wait, or if as much was asked
// for the task of r. A look at a task replaces the request that was made when it was given.
func (f *prefetcher) askLocked(r *fetchRequest) bool {
	if f.mu.closed || r.level != nextTask && f.droppableLocked() >= maxDroppable {
		return false
	}
	if r.task.job != nil {
		if old := f.mu.byTask[r.task]; old != nil {
			if old.level < r.level || old.level == r.level && old.covers(r) {
				return false
			}
			f.withdrawLocked(old)
		}
		f.mu.byTask[r.task] = r
	}
	f.mu.seq++
	r.seq = f.mu.seq
	heap.Push(&f.mu.queues[r.level], r)
	f.mu.wake.Broadcast() // the goroutines wait for different levels
	return true
}

// covers reports whether r is for all data that o is for.
func (r *fetchRequest) covers(o *fetchRequest) bool {
	has := func(in, all []*datamgr.Handle) bool {
		return !slices.ContainsFunc(in, func(h *datamgr.Handle) bool { return !slices.Contains(all, h) })
	}
	return has(o.Reads, r.Reads) && has(o.Writes, r.Writes)
}

func (f *prefetcher) droppableLocked() (n int) {
	for _, q := range f.mu.queues[nextTask+1:] {
		n += len(q)
	}
	return n
}

// withdrawLocked takes r off its queue, unless it has begun.
func (f *prefetcher) withdrawLocked(r *fetchRequest) {
	if r.at != notQueued {
		heap.Remove(&f.mu.queues[r.level], r.at)
		f.forgetLocked(r)
	}
}

func (f *prefetcher) forgetLocked(r *fetchRequest) {
	if f.mu.byTask[r.task] == r {
		delete(f.mu.byTask, r.task)
	}
}

// Look-ahead.

// lookahead is what a worker looks ahead for, where memory is bounded.
type lookahead struct {
	running atomic.Bool  // a kernel of the worker
	looks   atomic.Int32 // that were asked for since one began; 0: none is under way
	seen    atomic.Int32 // tasks that the last look saw
	spare   atomic.Int32 // looks for tasks that anybody may run, until the kernel has ended
	hungry  atomic.Bool  // running, seen too few, looks to spare: counted in Runtime.hungry

	// of the goroutine that looks
	w     *worker
	tasks int               // looked at
	found []*fetchRequest   // what they need
	keep  []*datamgr.Handle // all that they read
	asked []*fetchRequest   // by the look before
	visit func(*sched.Item)
}

func newLookahead(w *worker) *lookahead {
	m := &lookahead{w: w}
	m.visit = m.add
	return m
}

// kernelBegins fetches the data of the next tasks of the worker from now on.
func (m *lookahead) kernelBegins() {
	if m.w.rt.ahead != nil {
		m.spare.Store(int32(m.w.rt.opt.Ahead))
		m.running.Store(true) // before the look: a push that it misses looks again
		m.look()
	}
}

// kernelEnds is the end of what kernelBegins began.
func (m *lookahead) kernelEnds() {
	m.running.Store(false)
	m.setHungry(false)
}

// given is called when the worker was given a task. If it runs a kernel and had fewer tasks
// than it looks ahead, the data of the new one can travel already.
func (m *lookahead) given() {
	if m != nil && m.running.Load() && int(m.seen.Load()) < m.w.rt.opt.Ahead {
		m.look()
	}
}

// givenToAnybody is called when any worker may run a task. Policies need not show such tasks, so
// a few looks must do for a kernel.
func (m *lookahead) givenToAnybody() {
	if m != nil && m.hungry.Load() {
		m.spare.Add(-1)
		m.given()
	}
}

// look asks for the data of the next tasks, and withdraws what the look before asked for. Looks
// come one after another: if one is under way, that goroutine looks once more.
func (m *lookahead) look() {
	if m.looks.Add(1) > 1 {
		return
	}
	for n := int32(0); !m.looks.CompareAndSwap(n, 0); {
		n = m.looks.Load()
		m.lookOnce()
	}
}

func (m *lookahead) lookOnce() {
	rt, w := m.w.rt, m.w
	m.found, m.keep, m.tasks = m.found[:0], m.keep[:0], 0
	m.seen.Store(0) // a push that this look misses looks again
	rt.lookAhead(w.id, m)
	m.seen.Store(int32(m.tasks))
	m.setHungry(m.running.Load() && m.tasks < rt.opt.Ahead && m.spare.Load() > 0)
	keep := slices.Clone(m.keep)
	f := rt.prefetchers[w.node]
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range m.asked {
		f.withdrawLocked(r)
	}
	clear(m.asked)
	m.asked = m.asked[:0]
	for _, r := range m.found {
		if r.Keep = keep; f.askLocked(r) {
			m.asked = append(m.asked, r)
		}
	}
	clear(m.found)
}

func (m *lookahead) setHungry(on bool) {
	if m.hungry.Swap(on) != on {
		if on {
			m.w.rt.hungry.Add(1)
		} else {
			m.w.rt.hungry.Add(-1)
		}
	}
}

// add notes what the task of it needs. It is called by the policy.
func (m *lookahead) add(it *sched.Item) {
	m.tasks++
	t := itemTask(it)
	if t.kind != userTask {
		return
	}
	r := m.w.rt.requestFor(t, nextTask)
	r.task.worker = m.w.id
	for i, op := range t.operands() {
		if !fetched(&op) {
			continue
		}
		h := m.w.rt.source(m.w, op.Handle, slices.Contains(t.codelet.Formats, i), op.Mode.Reads())
		switch {
		case h == nil:
		case op.Mode.Reads():
			m.keep = append(m.keep, h)
			if managed(h).Missing(m.w.node) > 0 {
				r.Reads = append(r.Reads, h)
			}
		case managed(h).MissingBytes(m.w.node) > 0:
			r.Writes = append(r.Writes, h)
		}
	}
	if r.Reads != nil || r.Writes != nil {
		m.found = append(m.found, &r)
	}
}

// requestFor makes a request for t, without data and worker so far.
func (rt *Runtime) requestFor(t *task, level fetchLevel) fetchRequest {
	return fetchRequest{
		FetchRequest: datamgr.FetchRequest{ForTask: true, When: rt.when(t), Evict: level == nextTask},
		task:         fetchKey{job: t.job, order: t.Order}, level: level,
	}
}

// requestOf makes a request for h that no task has made.
func requestOf(h *datamgr.Handle, level fetchLevel, priority int) *fetchRequest {
	return &fetchRequest{FetchRequest: datamgr.FetchRequest{Reads: []*datamgr.Handle{h}}, level: level, priority: priority}
}

// fetched reports whether a task has data for op brought to the node of its worker.
func fetched(op *Operand) bool {
	return op.Mode != iface.Redux && op.Mode != iface.Scratch && !op.Pin.Main()
}

// pushAhead gives a ready task to the policy, where there are devices. When the policy chooses
// a worker on one, what the task reads goes there while the worker runs what it has before.
func (rt *Runtime) pushAhead(t *task, from int) {
	var reads [8]*datamgr.Handle // afterwards t may run already
	var all [8]bool              // in all layouts, see SetFormats
	n := 0
	if t.kind == userTask {
		for i, op := range t.operands() {
			if op.Mode.Reads() && fetched(&op) && n < len(reads) {
				reads[n], all[n] = op.Handle, len(t.codelet.Formats) > 0 && slices.Contains(t.codelet.Formats, i)
				n++
			}
		}
	}
	r := rt.requestFor(t, givenTask)
	r.priority = int(t.Priority)
	allowed := t.Allowed
	idle := rt.parking.idle.Load() > 0
	var w int
	if !rt.lanes.on.Load() {
		w = rt.policy.Push(&t.Item, from)
	} else {
		w = rt.pushLane(t, from)
	}
	rt.wakeFor(w, allowed)
	if w == sched.Anyone && !idle && rt.hungry.Load() > 0 {
		for _, w := range rt.workers { // any of them may be the one that gets it
			if allowed == nil || allowed.Has(w.id) {
				w.lookahead.givenToAnybody()
			}
		}
	}
	if w < 0 || !rt.reg.Bounded(rt.workers[w].node) {
		return
	}
	to := rt.workers[w]
	for i, h := range reads[:n] {
		if h = rt.source(to, h, all[i], true); h != nil && managed(h).Missing(to.node) > 0 {
			r.Reads = append(r.Reads, h)
		}
	}
	if r.Reads != nil {
		r.task.worker = to.id
		rt.prefetch(to.node, &r)
	}
	to.lookahead.given()
}

// Hints of the program.

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
		rt.reg.Fetch(&datamgr.FetchRequest{Reads: []*datamgr.Handle{rt.layoutOn(h, node)}}, node)
	case o.Idle:
		rt.prefetch(node, requestOf(rt.layoutOn(h, node), whenIdle, o.Priority))
	default:
		rt.prefetch(node, requestOf(rt.layoutOn(h, node), wanted, o.Priority))
	}
	return nil
}

// Evict takes copies of h away from a device, now, as far as no task uses them;
// values that are nowhere else go to main memory. It returns how many bytes of the
// device's memory that gave back. It is a hint: it changes no value. Errors are
// those of WontUse, *NoNodeError, and *ModeError for main memory.
func (j *Job) Evict(h *datamgr.Handle, node int) (bytes int64, err error) {
	if err := j.rt.checkEvictable(node); err != nil {
		return 0, err
	}
	h, err = j.hinted(h, false)
	if err != nil || h == nil {
		return 0, err
	}
	for _, h := range allLayouts(h) {
		bytes += j.rt.reg.Evict(h, node)
	}
	return bytes, nil
}

// MakeRoom evicts data that no task uses from a memory node until that number of bytes is free, or
// nothing can go any more, and returns how many are free then. Values without another copy are saved first.
// Data that was said to be of no use for a while goes first, as when a task needs the room. It waits while
// tasks wait for room there. Errors: *NoNodeError, and *ModeError for main memory and the disk where
// nothing is evicted from them.
func (rt *Runtime) MakeRoom(node int, bytes int64) (free int64, err error) {
	if err := rt.checkEvictable(node); err != nil {
		return 0, err
	}
	return rt.reg.MakeRoom(node, bytes), nil
}

func (rt *Runtime) checkEvictable(node int) error {
	if err := rt.checkNode(node); err != nil {
		return err
	}
	switch {
	case node == 0 && !rt.limited:
		return &ModeError{Other: -1, Message: "data cannot be evicted from main memory: name the node of a device"}
	case rt.limited && node == rt.diskNode:
		return &ModeError{Other: -1, Message: "data cannot be evicted from the disk: name main memory or the node of a device"}
	}
	return nil
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
	all := managed(h).Where()
	for _, other := range allLayouts(h)[1:] {
		for i, p := range managed(other).Where() {
			all[i].Valid, all[i].Arriving, all[i].Allocated = all[i].Valid+p.Valid, all[i].Arriving+p.Arriving, all[i].Allocated+p.Allocated
		}
	}
	return all, nil
}

// WontUse says that h will not be used for a while: where copies of it lie on
// devices now, they are the first to go when room is needed. It is a hint, and
// does nothing to data without a value. Errors: *DeadHandleError, ErrClosed.
func (j *Job) WontUse(h *datamgr.Handle) error {
	h, err := j.hinted(h, false)
	if err == nil && h != nil && j.rt.opt.Plan == nil {
		for _, h := range allLayouts(h) {
			managed(h).WontUse()
		}
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
				rt.prefetch(n, requestOf(rt.layoutOn(op.Handle, n), wanted, 0))
			}
		}
	}
}

// Layouts of data on devices.

// layoutOn returns the data that has the value of h for workers of a node, as far as it was converted.
func (rt *Runtime) layoutOn(h *datamgr.Handle, node int) *datamgr.Handle {
	fs := formatsOf(h)
	if fs == nil {
		return h
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, w := range rt.workers {
		if k := fs.kinds[w.kind]; w.node == node && fs.mu.valid&(1<<k) != 0 {
			return fs.handle(k)
		}
	}
	return h
}

// source returns the data that w fetches for an operand h of a task that reads it or not: the layout that it takes,
// or what that is made of on its device; nil: there is nothing to fetch. all says that its codelet takes all layouts.
func (rt *Runtime) source(w *worker, h *datamgr.Handle, all, reads bool) *datamgr.Handle {
	fs := formatsOf(h)
	if fs == nil {
		return h
	}
	k := 0
	if all && w.node > 0 {
		k = fs.kinds[w.kind]
	}
	fs.mu.Lock()
	valid := fs.mu.valid
	fs.mu.Unlock()
	switch {
	case k == 0 && (valid&1 != 0 || !reads):
		return h
	case valid&(1<<k) != 0 || !reads:
		return fs.handle(k)
	case k > 0 && valid&1 != 0 && rt.convertsThere(w, fs.inUse[k-1].To, fs.pair(0, k)):
		return h
	}
	return nil
}
