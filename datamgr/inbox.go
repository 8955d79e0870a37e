package datamgr

import "sync/atomic"

// inbox is where plain tasks become heirs of a lock that is taken, without its
// mutex, on which submitter and workers would meet for every task. It is open
// while a plain task has the lock and nobody waits in the lock's queue: those who
// do were there before, and nobody overtakes them.
type inbox struct {
	last atomic.Pointer[LockPlace] // the newest comes first; nil: shut
}

// lastOfInbox ends the list of an inbox that is open.
var lastOfInbox LockPlace

// add makes s an heir, and reports false when the inbox is shut. Afterwards s is
// no longer the caller's.
func (b *inbox) add(s *LockPlace) bool {
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

// take takes out all there are, oldest first. For the one who has the lock.
func (b *inbox) take() lockQueue {
	for {
		h := b.last.Load()
		if h == nil || h == &lastOfInbox {
			return lockQueue{}
		}
		if b.last.CompareAndSwap(h, &lastOfInbox) {
			return inOrder(h)
		}
	}
}

// inOrder turns the list of an inbox round.
func inOrder(s *LockPlace) lockQueue {
	q := lockQueue{last: s}
	for s != nil && s != &lastOfInbox {
		s.next, q.first, s = q.first, s, s.next
	}
	if q.first == nil {
		q.last = nil
	}
	return q
}

// openLocked opens the inbox if nobody is in the queue. The lock was just given to a
// plain task.
func (l *accessLock) openLocked() {
	if l.mu.queue.empty() {
		l.inbox.last.Store(&lastOfInbox)
	}
}

// shutLocked shuts the inbox: who is there waits in the queue.
func (l *accessLock) shutLocked() {
	if l.inbox.last.Load() == nil {
		return
	}
	l.mu.queue.addAll(inOrder(l.inbox.last.Swap(nil)))
}
