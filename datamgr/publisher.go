package datamgr

// Publishers: which tasks run, for the first unordered access to a fragment.

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Publisher shows which task a worker runs, so that the first unordered access
// to a fragment knows who may be using it without a lock. Its owner is one
// goroutine; others only look.
type Publisher struct {
	cur   atomic.Uintptr // the task's address: an atomic store of a pointer is two calls, and asks the collector
	grace atomic.Bool
	mu    struct {
		sync.Mutex
		locks []*accessLock
	}
}

// Begin publishes w as the current task. What the owner looks at afterwards is
// seen as it was set before, or the one who set it sees w.
func (p *Publisher) Begin(w *Waiter, c *Completer) {
	p.cur.Store(uintptr(unsafe.Pointer(w)))
	if p.grace.Load() {
		p.giveBack(c)
	}
}

// End publishes that the owner runs nothing.
func (p *Publisher) End(c *Completer) {
	if p.cur.Load() != 0 {
		p.cur.Store(0)
	}
	if p.grace.Load() {
		p.giveBack(c)
	}
}

// Runs reports whether the owner runs w, or any task if that is nil.
func (p *Publisher) Runs(w *Waiter) bool {
	c := p.cur.Load()
	return c != 0 && (w == nil || c == uintptr(unsafe.Pointer(w)))
}

// Same reports whether both show one task.
func (p *Publisher) Same(q *Publisher) bool { return p.cur.Load() == q.cur.Load() }

// giveBack ends the grace that the task before was given.
func (p *Publisher) giveBack(c *Completer) {
	p.mu.Lock()
	ls := p.mu.locks
	p.mu.locks = nil
	p.grace.Store(false)
	p.mu.Unlock()
	for _, l := range ls {
		l.endGrace(c)
	}
}

// AddPublisher makes p known; before the first submission only.
func (g *Registry) AddPublisher(p *Publisher) { g.publishers = append(g.publishers, p) }

// unorder marks f as having unordered accesses. From now on everybody takes its
// lock, which counts as held until every task that runs now, and may have
// started without it, has ended. Submission lock held.
func (g *Registry) unorder(f *Fragment) {
	if f.unordered {
		return
	}
	f.d.mu.Lock()
	f.unordered = true
	f.d.mu.Unlock()
	f.slow = true
	f.d.setState(stateLocks)
	for _, p := range g.publishers {
		w := p.cur.Load()
		if w == 0 {
			continue
		}
		p.mu.Lock()
		p.grace.Store(true)
		if p.cur.Load() == w {
			p.mu.locks = append(p.mu.locks, f.lock)
			f.lock.beginGrace()
		}
		p.mu.Unlock()
	}
	for _, h := range g.held {
		if h.h.d == f.d && h.held.touches(&f.box) {
			h.locks = append(h.locks, f.lock)
			f.lock.beginGrace()
		}
	}
}
