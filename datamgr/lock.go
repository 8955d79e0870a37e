package datamgr

// Locks: commuting and unordered accesses have no order, but exclude each other.
//
// A ready task takes all its locks or none, in the order of their numbers, and
// waits in the queue of the one it missed. A release wakes one waiter, the one of the
// highest priority where the policy of the runtime goes by that (lockqueue.go). A task
// that was woken by a lock and could not take it, because it now misses another,
// passes the wake-up on; so does one that took it shared, to the next reader.
//
// A plain task needs one lock, which the pieces of a split inherit, so it is
// known at submission. It is handed such a lock: the release that wakes it takes
// the lock for it.

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr/invariants"
)

// accessLock excludes accesses to a fragment, and to the pieces it is split
// into while it is in use.
type accessLock struct {
	id int64
	// handoffQueue has the tasks that get the lock from the task before them, one after
	// another, without mu: only the owner of the lock touches it.
	handoffQueue lockQueue
	reg          *Registry
	urgent       atomic.Bool // one of mu.queue goes before handoffQueue
	shared       bool        // several fragments have it; submission lock
	_            [23]byte
	arrivals     arrivalStack
	_            [56]byte // submitters write the line before, those who have the lock the other two
	mu           struct {
		sync.Mutex
		readers int
		grace   int // tasks that may have started without the lock and still run
		writer  bool
		queue   waiters
	}
	_ [48]byte // whole lines: in blocks of 288 bytes every second lock lay across them
}

// idle reports whether l is free and has no waiters.
func (l *accessLock) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.mu.writer && l.mu.readers == 0 && l.mu.grace == 0 && l.mu.queue.empty()
}

type lockUse struct {
	l         *accessLock
	exclusive bool
}

// LockSet holds the locks of one task. It belongs to the task and is used by
// one goroutine at a time.
type LockSet struct {
	LockPlace
	taken []lockUse
	wants []lockUse
}

// LockPlace is a task's place in the queue of a lock, and all that a plain task
// has of its lock. There is nothing but pointers in it, so it can lie where the
// task has room for accesses that it does not use.
type LockPlace struct {
	w       *Waiter
	next    *LockPlace
	single  *accessLock // the lock of a plain task
	wokenBy *accessLock // the lock that woke the task
	state   *lockState  // one of lockStates
}

// lockState says what a plain task has of its lock.
type lockState struct {
	handed         bool // it was taken for the task
	mayBeHandedOff bool // it may be taken for the task before that runs
}

var lockStates = [2][2]lockState{{{false, false}, {false, true}}, {{true, false}, {true, true}}}

func (s *LockPlace) setState(handed, patient bool) {
	h, p := 0, 0
	if handed {
		h = 1
	}
	if patient {
		p = 1
	}
	s.state = &lockStates[h][p]
}

// handOff says that the lock was taken for s.
func (s *LockPlace) handOff() { s.setState(true, s.state.mayBeHandedOff) }

func (s *LockPlace) reset(w *Waiter) {
	s.w, s.wokenBy, s.single, s.state = w, nil, nil, &lockStates[0][0]
}

// Reset makes s empty, for waiter w.
func (s *LockSet) Reset(w *Waiter) {
	s.reset(w)
	s.taken = s.taken[:0]
}

// Acquire takes the locks that the operands need on the fragments of now. When
// it reports false it took none: the waiter is queued, will be released to some
// completer later, and is no longer the caller's.
func (s *LockSet) Acquire(ops []Operand, unordered bool, c *Completer) bool {
	wants := s.wants[:0]
	for i := range ops {
		op := &ops[i]
		if op.Mode == modeScratch || op.Mode == modeRedux {
			continue
		}
		d := op.Handle.d
		free := unordered || op.Unordered
		d.mu.Lock()
		d.root.leaves(&op.Handle.box, func(f *fragment) {
			if f.lock != nil && (op.Mode.Commutes() || f.unordered || free) {
				wants = want(wants, f.lock, op.Mode != modeR)
			}
		})
		d.mu.Unlock()
	}
	slices.SortFunc(wants, func(a, b lockUse) int { return int(a.l.id - b.l.id) })
	s.wants = wants
	baton := s.wokenBy
	s.wokenBy = nil
	for i, u := range wants {
		l := u.l
		l.mu.Lock()
		if l.mu.writer || l.mu.grace > 0 || u.exclusive && l.mu.readers > 0 {
			// once queued, the task may run elsewhere: what follows uses copies
			var few [8]lockUse
			got := append(few[:0], wants[:i]...)
			l.shutLocked()
			l.mu.queue.add(l, &s.LockPlace)
			if l == baton {
				l.wakeLocked(c) // readers took it meanwhile: other readers may run beside them
			}
			l.mu.Unlock()
			for _, g := range got {
				g.l.release(g.exclusive, c)
			}
			if baton != nil && baton != l {
				baton.pass(c)
			}
			return false
		}
		if u.exclusive {
			l.mu.writer = true
		} else {
			l.mu.readers++
		}
		if l == baton {
			baton = nil
			l.wakeLocked(c) // readers run together
		}
		l.mu.Unlock()
	}
	if baton != nil {
		baton.pass(c)
	}
	s.taken, s.wants = wants, s.taken[:0]
	return true
}

func want(ws []lockUse, l *accessLock, exclusive bool) []lockUse {
	for i := range ws {
		if ws[i].l == l {
			ws[i].exclusive = ws[i].exclusive || exclusive
			return ws
		}
	}
	return append(ws, lockUse{l, exclusive})
}

// Release gives the locks back and releases their waiters to c.
func (s *LockSet) Release(c *Completer) {
	for _, u := range s.taken {
		u.l.release(u.exclusive, c)
	}
	s.taken = s.taken[:0]
}

func (l *accessLock) release(exclusive bool, c *Completer) {
	l.mu.Lock()
	if exclusive {
		l.leaveLocked()
	} else {
		l.mu.readers--
		if invariants.Enabled && l.mu.readers < 0 {
			invariants.Violated("lock %d is released by a reader that does not hold it", l.id)
		}
	}
	l.wakeLocked(c)
	l.mu.Unlock()
}

// leaveLocked ends the caller's exclusive ownership of l: tasks in the handoff queue
// move to the queue, in front of those of their priority.
func (l *accessLock) leaveLocked() {
	if invariants.Enabled && !l.mu.writer {
		invariants.Violated("lock %d is released by a task that does not hold it", l.id)
	}
	l.mu.writer = false
	l.shutLocked()
	l.handoffQueue.append(&l.mu.queue.back)
	l.mu.queue.back, l.handoffQueue = l.handoffQueue, lockQueue{}
}

// wakeLocked wakes the first waiter that can have the lock: any waiter when the lock is
// free, a reader when readers have it.
func (l *accessLock) wakeLocked(c *Completer) {
	if l.mu.writer || l.mu.grace > 0 {
		return
	}
	s := l.mu.queue.take(l, l.mu.readers > 0)
	switch {
	case s == nil:
		return
	case s.mayInherit():
		l.mu.writer = true
		s.handOff()
		l.handoffQueue = l.mu.queue.takeHandoffs()
		l.openLocked()
	default:
		s.wokenBy = l
	}
	c.Release(s.w)
}

// mayInherit reports whether s may be handed its lock.
func (s *LockPlace) mayInherit() bool { return s.single != nil && s.state.mayBeHandedOff }

// set returns the locks of a task that is not plain.
func (s *LockPlace) set() *LockSet { return (*LockSet)(unsafe.Pointer(s)) }

// wantsAlone reports whether s, which is queued at l, needs it for itself.
func (s *LockPlace) wantsAlone(l *accessLock) bool {
	return s.single != nil || slices.ContainsFunc(s.set().wants, func(u lockUse) bool { return u.l == l && u.exclusive })
}

func (l *accessLock) pass(c *Completer) {
	l.mu.Lock()
	l.wakeLocked(c)
	l.mu.Unlock()
}

func (l *accessLock) endGrace(c *Completer) {
	l.mu.Lock()
	l.mu.grace--
	if invariants.Enabled && l.mu.grace < 0 {
		invariants.Violated("lock %d: a grace ends that did not begin", l.id)
	}
	l.wakeLocked(c)
	l.mu.Unlock()
}

func (l *accessLock) beginGrace() {
	l.mu.Lock()
	l.mu.grace++
	l.mu.Unlock()
}

// AddHold makes h known to unordered accesses.
func (sub Submission) AddHold(h *Hold) { sub.reg.held = append(sub.reg.held, h) }

// EndHold forgets h.
func (sub Submission) EndHold(h *Hold, c *Completer) {
	g := sub.reg
	if i := slices.Index(g.held, h); i >= 0 {
		g.held = slices.Delete(g.held, i, i+1)
	}
	for _, u := range h.locks {
		u.l.endHold(u.exclusive, c)
	}
	h.locks = nil
}

// beginHold counts data that the program holds as use of l: by a reader, or, if it may
// write, by a task that may have started without the lock.
func (l *accessLock) beginHold(exclusive bool) {
	if exclusive {
		l.beginGrace()
		return
	}
	l.mu.Lock()
	l.mu.readers++
	l.mu.Unlock()
}

// endHold undoes beginHold.
func (l *accessLock) endHold(exclusive bool, c *Completer) {
	if exclusive {
		l.endGrace(c)
	} else {
		l.release(false, c)
	}
}

// unshareLock takes from f, which no task uses, the lock that it shares with other pieces,
// if it can.
func (sub Submission) unshareLock(f *fragment) {
	if !f.lock.shared {
		return
	}
	f.d.mu.Lock()
	if f.needsNoLock(sub) {
		f.dropLock(sub)
	}
	f.d.mu.Unlock()
}

// lockFor makes sure that f has a lock.
func (sub Submission) lockFor(f *fragment) {
	if f.lock != nil {
		return
	}
	l := sub.newLock()
	f.d.mu.Lock()
	f.lock = l
	f.d.mu.Unlock()
}

// newLock makes a lock.
func (sub Submission) newLock() *accessLock {
	g := sub.reg
	g.lockIDs++
	return &accessLock{id: g.lockIDs, reg: g}
}

// lowerLocks gives back what the hold does not need any more: of the locks s,
// and of those of unordered accesses that wait for it.
func (o *Hold) lowerLocks(_ Submission, s *LockSet, c *Completer) {
	if len(s.taken) == 0 && len(o.locks) == 0 {
		return
	}
	held, writes := map[*accessLock]bool{}, map[*accessLock]bool{}
	o.h.d.root.leaves(&o.h.box, func(f *fragment) {
		if f.lock != nil {
			held[f.lock] = held[f.lock] || o.held.touches(&f.box)
			writes[f.lock] = writes[f.lock] || o.writes.touches(&f.box)
		}
	})
	s.taken = slices.DeleteFunc(s.taken, func(u lockUse) bool {
		if !held[u.l] {
			u.l.release(u.exclusive, c)
		}
		return !held[u.l]
	})
	for i := range s.taken {
		if u := &s.taken[i]; u.exclusive && !writes[u.l] {
			u.exclusive = false
			u.l.share(c)
		}
	}
	o.locks = slices.DeleteFunc(o.locks, func(u lockUse) bool {
		if !held[u.l] {
			u.l.endHold(u.exclusive, c)
		}
		return !held[u.l]
	})
	for i := range o.locks {
		if u := &o.locks[i]; u.exclusive && !writes[u.l] {
			u.exclusive = false
			u.l.beginHold(false)
			u.l.endHold(true, c)
		}
	}
}

// share turns a lock that is held alone into a shared one; its waiters try again.
func (l *accessLock) share(c *Completer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveLocked()
	l.mu.readers++
	for o := l.mu.queue.take(l, false); o != nil; o = l.mu.queue.take(l, false) {
		o.wokenBy = l
		c.Release(o.w)
	}
}

// Queued calls fn for every task that waits until one of the locks taken is
// released.
func (s *LockSet) Queued(fn func(*Waiter)) {
	for _, u := range s.taken {
		u.l.queued(!u.exclusive, fn)
	}
}

// queued calls fn for the waiters of l, or, with alone, only for those that wait until no
// reader has it. The caller's hold keeps the lock from going to any of them.
func (l *accessLock) queued(alone bool, fn func(*Waiter)) {
	l.mu.Lock()
	var queue []*Waiter
	l.mu.queue.each(alone, func(s *LockPlace) { queue = append(queue, s.w) }) // the handoff queue is empty: only plain tasks fill it
	l.mu.Unlock()
	for _, w := range queue {
		fn(w)
	}
}

// Queued calls fn for every unordered task that waits because of h.
func (h *Hold) Queued(fn func(*Waiter)) {
	for _, u := range h.locks {
		u.l.queued(!u.exclusive, fn)
	}
}

// Locks of plain tasks, which commute on one fragment and need nothing else.

// InitSingle makes s the locks of a plain task that commutes on h, which CountPlain
// accepted. A patient task may be handed the lock while it still waits for a
// worker: not one that must come before or after others, or that only some
// workers may run, for then those who wait for the lock would wait for that.
func (s *LockPlace) InitSingle(_ Submission, w *Waiter, h *Handle, patient bool) {
	s.w, s.wokenBy, s.single = w, nil, h.f0.lock
	s.setState(false, patient)
}

// QueueSingle puts a patient task that is ready in the queue of its lock, if the lock is
// taken, so that it does not go through the workers' queues only to find that out. It
// reports whether it did; then the waiter is no longer the caller's.
func (s *LockPlace) QueueSingle() bool {
	l := s.single
	if !s.state.mayBeHandedOff {
		return false
	}
	if l.arrivals.add(s) {
		return true
	}
	l.mu.Lock()
	taken := l.mu.writer
	if taken && !l.arrivals.add(s) {
		l.mu.queue.add(l, s)
	}
	l.mu.Unlock()
	return taken
}

// AcquireSingle takes the lock of a plain task. When it reports false the waiter is
// queued, will be released to some completer later, and is no longer the caller's.
func (s *LockPlace) AcquireSingle(c *Completer) bool {
	if s.state.handed {
		return true
	}
	l := s.single
	if s.state.mayBeHandedOff && s.wokenBy == nil && l.arrivals.add(s) {
		return false
	}
	l.mu.Lock()
	s.wokenBy = nil // used up if the lock is free now; otherwise another task has it
	free := !l.mu.writer && l.mu.grace == 0 && l.mu.readers == 0
	if free {
		l.mu.writer = true
		s.handOff()
		l.openLocked()
	} else {
		l.shutLocked()
		l.mu.queue.add(l, s)
		l.wakeLocked(c) // if readers have it: others may run beside them
	}
	l.mu.Unlock()
	return free
}

// ReleaseSingle gives the lock of a plain task back, if it has it, and releases its
// waiters to c.
func (s *LockPlace) ReleaseSingle(c *Completer) {
	if !s.state.handed {
		return
	}
	s.setState(false, s.state.mayBeHandedOff)
	l := s.single
	if l.handoffQueue.first == nil {
		l.handoffQueue = l.arrivals.take()
	}
	var n *LockPlace
	if !l.urgent.Load() {
		n = l.handoffQueue.take()
	}
	if n == nil {
		l.release(true, c)
		return
	}
	// An unordered access that came meanwhile needs no look here: the next owner looks at
	// the state of its data after it is published.
	n.handOff()
	c.Release(n.w)
}

// Extend is Reset for a plain task that becomes a general one while it runs:
// what it has of its lock, at place from, is given back by Release, and a wake-up
// that it was given and did not use is still its own to use or pass on. Without a
// lock, from is nil.
func (s *LockSet) Extend(w *Waiter, from *LockPlace) {
	if from == nil {
		s.Reset(w)
		return
	}
	one, handed, baton := from.single, from.state.handed, from.wokenBy
	s.Reset(w) // from may be part of s
	s.wokenBy = baton
	if handed {
		s.taken = append(s.taken, lockUse{one, true})
	}
}

// arrivalStack takes plain tasks that wait for a lock without its mutex, which submitter
// and workers would contend for at every task. It is open while a plain task owns the lock
// and the lock's queue is empty, so that no task overtakes one of the queue.
type arrivalStack struct {
	last atomic.Pointer[LockPlace] // the newest comes first; nil: shut
}

// lastArrival ends the list of an open arrivalStack.
var lastArrival LockPlace

// add queues s, and reports false if the stack is shut. Once added, s is no longer the
// caller's.
func (b *arrivalStack) add(s *LockPlace) bool {
	for {
		h := b.last.Load()
		if h == nil {
			return false
		}
		s.next = h
		if b.last.CompareAndSwap(h, s) {
			return true
		}
	}
}

// take removes all of them and returns them, the oldest first. Only the owner of the lock
// may call it.
func (b *arrivalStack) take() lockQueue {
	for {
		h := b.last.Load()
		if h == nil || h == &lastArrival {
			return lockQueue{}
		}
		if b.last.CompareAndSwap(h, &lastArrival) {
			return inOrder(h)
		}
	}
}

// inOrder reverses a list of arrivals.
func inOrder(s *LockPlace) lockQueue {
	q := lockQueue{last: s}
	for s != nil && s != &lastArrival {
		s.next, q.first, s = q.first, s, s.next
	}
	if q.first == nil {
		q.last = nil
	}
	return q
}

// openLocked opens l's arrivals if its queue is empty, after a plain task got the lock.
func (l *accessLock) openLocked() {
	if l.mu.queue.empty() {
		l.arrivals.last.Store(&lastArrival)
	}
}

// shutLocked shuts l's arrivals and moves them to the queue.
func (l *accessLock) shutLocked() {
	if l.arrivals.last.Load() == nil {
		return
	}
	l.mu.queue.addAll(inOrder(l.arrivals.last.Swap(nil)))
}
