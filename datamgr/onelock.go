package datamgr

// Locks of plain tasks, which commute on one fragment and need nothing else.

// One makes s the locks of a plain task that commutes on h, which CountPlain
// accepted. A patient task may be handed the lock while it still waits for a
// worker: not one that must come before or after others, or that only some
// workers may run, for then those who wait for the lock would wait for that.
// Submission lock held.
func (s *LockPlace) One(w *Waiter, h *Handle, patient bool) {
	s.w, s.baton, s.one = w, nil, h.f0.lock
	s.setState(false, patient)
}

// Queue puts a patient task that is ready in the queue of its lock, if somebody
// has that: so it does not go through the workers' queues only to find that
// out. It reports whether it did; then the waiter is no longer the caller's.
func (s *LockPlace) Queue() bool {
	l := s.one
	if !s.state.patient {
		return false
	}
	if l.inbox.add(s) {
		return true
	}
	l.mu.Lock()
	taken := l.mu.writer
	if taken && !l.inbox.add(s) {
		l.mu.queue.add(l, s)
	}
	l.mu.Unlock()
	return taken
}

// AcquireOne takes the lock of a plain task. When it reports false the waiter is
// queued, will be released to some completer later, and is no longer the caller's.
func (s *LockPlace) AcquireOne(c *Completer) bool {
	if s.state.handed {
		return true
	}
	l := s.one
	if s.state.patient && s.baton == nil && l.inbox.add(s) {
		return false
	}
	l.mu.Lock()
	s.baton = nil // whoever takes the lock uses it up, and whoever does not finds it taken
	free := !l.mu.writer && l.mu.grace == 0 && l.mu.readers == 0
	if free {
		l.mu.writer = true
		s.hand()
		l.openLocked()
	} else {
		l.shutLocked()
		l.mu.queue.add(l, s)
		l.wakeLocked(c) // if readers have it: others may run beside them
	}
	l.mu.Unlock()
	return free
}

// ReleaseOne gives the lock of a plain task back, if it has it, and releases to
// c who waited for it.
func (s *LockPlace) ReleaseOne(c *Completer) {
	if !s.state.handed {
		return
	}
	s.setState(false, s.state.patient)
	l := s.one
	if l.heirs.first == nil {
		l.heirs = l.inbox.take()
	}
	var n *LockPlace
	if !l.urgent.Load() {
		n = l.heirs.take()
	}
	if n == nil {
		l.release(true, c)
		return
	}
	// An unordered access that came meanwhile needs no look here: who inherits
	// looks at the state of its data after it is published.
	n.hand()
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
	one, handed, baton := from.one, from.state.handed, from.baton
	s.Reset(w) // from may be part of s
	s.baton = baton
	if handed {
		s.taken = append(s.taken, lockUse{one, true})
	}
}
