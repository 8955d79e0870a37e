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
)

// accessLock excludes accesses to a fragment, and to the pieces it is split
// into while it is in use.
type accessLock struct {
	id int64
	// heirs wait for the lock and get it from the one who has it, one after
	// another, without a look at mu: only who has the lock touches them.
	heirs  lockQueue
	reg    *Registry
	urgent atomic.Bool // one of mu.queue goes before the heirs
	_      [23]byte
	inbox  inbox
	_      [56]byte // submitters write the line before, those who have the lock the other two
	mu     struct {
		sync.Mutex
		readers int
		grace   int // tasks that may have started without the lock and still run
		writer  bool
		queue   waiters
	}
}

// idle reports whether nobody holds l or waits for it.
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
	w     *Waiter
	next  *LockPlace
	one   *accessLock // the lock of a plain task
	baton *accessLock // the lock that woke the task
	state *lockState  // one of lockStates
}

// lockState says what a plain task has of its lock.
type lockState struct {
	handed  bool // it was taken for the task
	patient bool // it may be taken for the task before that runs
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

// hand says that the lock was taken for s.
func (s *LockPlace) hand() { s.setState(true, s.state.patient) }

func (s *LockPlace) reset(w *Waiter) {
	s.w, s.baton, s.one, s.state = w, nil, nil, &lockStates[0][0]
}

// Reset makes s empty, for waiter w.
func (s *LockSet) Reset(w *Waiter) {
	s.reset(w)
	s.taken = s.taken[:0]
}

// Waiting returns the waiter that s belongs to.
func (s *LockPlace) Waiting() *Waiter { return s.w }

// Acquire takes the locks that the operands need on the fragments of now. When
// it reports false it took none: the waiter is queued, will be released to some
// completer later, and is no longer the caller's.
func (s *LockSet) Acquire(ops []Operand, unsequenced bool, c *Completer) bool {
	wants := s.wants[:0]
	for i := range ops {
		op := &ops[i]
		if op.Mode == modeScratch || op.Mode == modeRedux {
			continue
		}
		d := op.Handle.d
		free := unsequenced || op.Unordered
		d.mu.Lock()
		d.root.leaves(&op.Handle.box, func(f *Fragment) {
			if f.lock != nil && (op.Mode == modeC || f.unordered || free) {
				wants = want(wants, f.lock, op.Mode != modeR)
			}
		})
		d.mu.Unlock()
	}
	slices.SortFunc(wants, func(a, b lockUse) int { return int(a.l.id - b.l.id) })
	s.wants = wants
	baton := s.baton
	s.baton = nil
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
				l.wakeLocked(c) // readers have it, who came in between: others may run beside them
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

// Release gives the locks back and releases to c who waited for them.
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
	}
	l.wakeLocked(c)
	l.mu.Unlock()
}

// leaveLocked is called by the one who has l alone, and does not any more: the
// heirs wait in the queue again, in front of those like them.
func (l *accessLock) leaveLocked() {
	l.mu.writer = false
	l.shutLocked()
	l.heirs.append(&l.mu.queue.back)
	l.mu.queue.back, l.heirs = l.heirs, lockQueue{}
}

// wakeLocked wakes the first who can have the lock: anybody when it is free, a
// reader when readers have it.
func (l *accessLock) wakeLocked(c *Completer) {
	if l.mu.writer || l.mu.grace > 0 {
		return
	}
	s := l.mu.queue.take(l, l.mu.readers > 0)
	switch {
	case s == nil:
		return
	case s.inherits():
		l.mu.writer = true
		s.hand()
		l.heirs = l.mu.queue.heirs()
		l.openLocked()
	default:
		s.baton = l
	}
	c.Release(s.w)
}

// inherits reports whether s may be handed its lock.
func (s *LockPlace) inherits() bool { return s.one != nil && s.state.patient }

// set returns the locks of a task that is not plain.
func (s *LockPlace) set() *LockSet { return (*LockSet)(unsafe.Pointer(s)) }

// wantsAlone reports whether s, which is queued at l, needs it for itself.
func (s *LockPlace) wantsAlone(l *accessLock) bool {
	return s.one != nil || slices.ContainsFunc(s.set().wants, func(u lockUse) bool { return u.l == l && u.exclusive })
}

func (l *accessLock) pass(c *Completer) {
	l.mu.Lock()
	l.wakeLocked(c)
	l.mu.Unlock()
}

func (l *accessLock) endGrace(c *Completer) {
	l.mu.Lock()
	l.mu.grace--
	l.wakeLocked(c)
	l.mu.Unlock()
}

func (l *accessLock) beginGrace() {
	l.mu.Lock()
	l.mu.grace++
	l.mu.Unlock()
}

// AddHold makes h known to unordered accesses. Submission lock held.
func (g *Registry) AddHold(h *Hold) { g.held = append(g.held, h) }

// EndHold forgets h. Submission lock held.
func (g *Registry) EndHold(h *Hold, c *Completer) {
	if i := slices.Index(g.held, h); i >= 0 {
		g.held = slices.Delete(g.held, i, i+1)
	}
	for _, l := range h.locks {
		l.endGrace(c)
	}
	h.locks = nil
}

// lockFor makes sure that f has a lock. Submission lock held.
func (g *Registry) lockFor(f *Fragment) {
	if f.lock != nil {
		return
	}
	l := g.newLock()
	f.d.mu.Lock()
	f.lock = l
	f.d.mu.Unlock()
}

// newLock makes a lock. Submission lock held.
func (g *Registry) newLock() *accessLock {
	g.lockIDs++
	return &accessLock{id: g.lockIDs, reg: g}
}

// lowerLocks gives back what the hold does not need any more: of the locks s,
// and of the grace that keeps unordered accesses away. Submission lock held.
func (o *Hold) lowerLocks(s *LockSet, c *Completer) {
	if len(s.taken) == 0 && len(o.locks) == 0 {
		return
	}
	held, writes := map[*accessLock]bool{}, map[*accessLock]bool{}
	o.h.d.root.leaves(&o.h.box, func(f *Fragment) {
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
	o.locks = slices.DeleteFunc(o.locks, func(l *accessLock) bool {
		if !held[l] {
			l.endGrace(c)
		}
		return !held[l]
	})
}

// share turns a lock that is held alone into a shared one: who waited tries again.
func (l *accessLock) share(c *Completer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveLocked()
	l.mu.readers++
	for o := l.mu.queue.take(l, false); o != nil; o = l.mu.queue.take(l, false) {
		o.baton = l
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

// queued calls fn for who waits for l; with alone, only those who wait until no
// reader has it. The caller's hold keeps the lock from going to any of them.
func (l *accessLock) queued(alone bool, fn func(*Waiter)) {
	l.mu.Lock()
	var queue []*Waiter
	l.mu.queue.each(alone, func(s *LockPlace) { queue = append(queue, s.w) }) // there are no heirs: they come with plain tasks
	l.mu.Unlock()
	for _, w := range queue {
		fn(w)
	}
}

// Queued calls fn for every task that waits because of the grace given to h.
func (h *Hold) Queued(fn func(*Waiter)) {
	for _, l := range h.locks {
		l.queued(false, fn)
	}
}
