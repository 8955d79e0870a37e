package datamgr

// Submission: what the operands of a task mean for fragments.

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// use is what a task does to one fragment, all its operands together.
type use struct {
	f         *fragment
	m         AccessMode
	unordered bool
}

// Plain is the outcome of CountPlain, for RegisterPlain under the same lock.
type Plain struct {
	Accesses  int     // room that RegisterPlain needs; -1 when an operand is not plain
	Commuting *Handle // the operand that the task commutes on, or nil
	gen       checked // what Waiter.checkedGen becomes
}

// CountPlain returns how many accesses a task has whose operands are all plain:
// R, W or RW, in order, without open reductions or unordered accesses on their
// fragments, with a value where they are read, and no fragment twice; or SCRATCH,
// COMMUTE on one fragment, REDUX to an open group. Handles that are dead are not plain.
func (sub Submission) CountPlain(ops []Operand) Plain {
	g := sub.reg
again:
	g.mark++
	mark := g.mark
	n := 0
	gen := g.generation.now()
	all, commuting := gen, (*Handle)(nil)
	for i := range ops {
		op := &ops[i]
		h := op.Handle
		if op.Mode-1 > 2 || op.Unordered || h.flags != 0 {
			var plain bool
			if commuting, plain = sub.special(op, mark, commuting); !plain {
				return notPlain
			}
			all = 0
			if op.Mode != modeScratch {
				n++
			}
			continue
		}
		if h.checkedGen != gen {
			if h.d.reg != g {
				return notPlain
			}
			if h.d.state.Load() == 0 {
				h.checkedGen = gen
			} else {
				all = 0
			}
		}
		f := h.f0
		if f == nil || f.kids != nil {
			if h.tidy(sub) {
				goto again
			}
			fs := h.list(sub)
			if h.frags == nil { // the list is not kept
				return notPlain
			}
			for _, f := range fs {
				if f.slow || f.seen == mark || !f.init && op.Mode != modeW {
					return notPlain
				}
				f.seen = mark
				f.ask(sub)
			}
			n += len(fs)
			continue
		}
		f.ask(sub)
		if f.slow || f.seen == mark || !f.init && op.Mode != modeW {
			return notPlain
		}
		f.seen = mark
		n++
	}
	return Plain{Accesses: n, Commuting: commuting, gen: all}
}

var notPlain = Plain{Accesses: -1}

// ask has the last epoch of f brought here, which a worker wrote last, if it does
// not lie beside what the caller looks at.
func (f *fragment) ask(_ Submission) {
	if f.tail != &f.first {
		Prefetch(unsafe.Pointer(f.tail), 1)
	}
}

// special reports whether a COMMUTE, REDUX or SCRATCH access of a task can be
// registered plainly: SCRATCH has no order; REDUX is just one more contribution
// to an open group; COMMUTE is on one fragment, which has a lock already. commuting is
// what the operands before commute on, and with this one after it.
func (sub Submission) special(op *Operand, mark uint32, commuting *Handle) (with *Handle, plain bool) {
	h := op.Handle
	if op.Unordered || h.flags != 0 || h.d.reg != sub.reg {
		return commuting, false
	}
	f := h.f0
	switch {
	case op.Mode == modeScratch:
		return commuting, true
	case f == nil || f.kids != nil || f.seen == mark:
		return commuting, false
	case op.Mode == modeRedux:
		f.seen = mark
		return commuting, f.open == h && h.redux.open && !f.unordered
	case op.Mode == modeC:
		f.seen = mark
		if commuting != nil {
			return commuting, false // two locks
		}
		return h, f.init && !f.slow && f.lock != nil
	}
	return commuting, false
}

// Unchanged reports whether w, for which RegisterPlain was called, still needs nothing
// but order: no data of it has a State.
func (g *Registry) Unchanged(w *Waiter) bool { return g.generation.sameAs(w.checkedGen) }

// RegisterPlain registers the accesses of a plain task and returns how many of
// them wait. p is what CountPlain returned, and acc has that length. w is armed.
func (sub Submission) RegisterPlain(p Plain, w *Waiter, ops []Operand, acc []Access) (waits int32) {
	w.checkedGen = p.gen
	return sub.registerPlain(w, ops, acc)
}

// registerPlain is RegisterPlain without p, with which the arguments do not fit into registers.
func (sub Submission) registerPlain(w *Waiter, ops []Operand, acc []Access) (waits int32) {
	k := 0
	for i := range ops {
		op := &ops[i]
		if f := op.Handle.f0; f != nil {
			m := op.Mode
			if m > modeC {
				if m == modeScratch {
					continue
				}
				f, m = &op.Handle.redux.frag, modeR
			}
			if m == modeW {
				f.init = true
			}
			if sub.access(w, &acc[k], f, m) {
				waits++
			}
			k++
			continue
		}
		if op.Mode == modeScratch {
			continue
		}
		fs := op.Handle.frags
		waits += sub.accessEach(w, acc[k:k+len(fs)], fs, op.Mode)
		k += len(fs)
	}
	return waits
}

// accessEach registers an access of w to each of fs in mode m, and returns how many of
// them wait.
func (sub Submission) accessEach(w *Waiter, acc []Access, fs []*fragment, m AccessMode) (waits int32) {
	for i := range acc {
		f := fs[i]
		if m == modeW {
			f.init = true
		}
		if sub.access(w, &acc[i], f, m) {
			waits++
		}
	}
	return waits
}

// Problem says why a submission cannot be; Operand is the operand at fault.
type Problem struct {
	Kind    ProblemKind
	Operand int
	Other   int // a second operand, -1 for none
	Why     Why
	At      *Site
	Partial bool
}

// ProblemKind is a kind of Problem.
type ProblemKind uint8

// The kinds of problems.
const (
	NoProblem   ProblemKind = iota
	NoValue                 // read, and has no value
	ReduxShared             // REDUX with anything else on shared elements
	noSharing               // overlapping operands, one written, that cannot lie in one piece of memory
)

// MergeOptions are for what the engine submits itself, but for InOrder.
type MergeOptions struct {
	NoValueYet bool // reading what has no value is meant
	OnlyNew    bool // leave out what has a value
	Drop       bool // the value is cleared instead of given
	DropAt     *Site
	Reduce     *Handle // combines the contributions to it
	InOrder    bool    // COMMUTE is RW, and COMMUTE W is W: in the order of submission
	Keep       bool    // whether there is a value does not change
	Hold       *Hold   // gets the fragments of the ordered accesses
}

// Merged is the outcome of Merge, to be given to Count, Register and Finish.
// It is valid until the lock is given up, or the next Merge.
type Merged struct {
	uses     []use // in memory of the registry
	opt      MergeOptions
	Ordered  int  // accesses that take part in the order: room that Register needs
	Locks    bool // the task takes locks before it runs
	Shared   bool // several operands share a fragment
	unsorted int  // accesses without order
}

// Merge finds what the operands of a task, or of anything else that takes part
// in the order, do to fragments. Nothing is changed. Reductions that the
// operands meet were closed before (Open).
func (sub Submission) Merge(ops []Operand, opt MergeOptions) (Merged, Problem) {
	g := sub.reg
	g.mark++
	mark := g.mark
	ms := g.useBuffer[:0]
	out := Merged{opt: opt}
	bad := Problem{Other: -1}
	for i := range ops {
		op := &ops[i]
		h := op.Handle
		switch op.Mode {
		case modeScratch:
			continue
		case modeRedux:
			a := h.accumulate(sub)
			if a.frag.seen == mark && met(ms, &a.frag) {
				bad.Kind, bad.Operand = ReduxShared, i
				g.useBuffer = ms[:0]
				return out, bad
			}
			a.frag.seen, a.frag.use = mark, int32(len(ms))
			ms = append(ms, use{&a.frag, modeR, false})
			continue
		}
		free, mode := op.Unordered, op.Mode
		if opt.InOrder {
			mode = mode.Declared()
		}
		for _, f := range h.list(sub) {
			if f.init && opt.OnlyNew {
				continue
			}
			if !f.init && op.Mode.Reads() && !opt.NoValueYet {
				bad = Problem{Kind: NoValue, Operand: i, Other: -1, Why: f.why, At: f.gone}
				for _, k := range h.list(sub) {
					bad.Partial = bad.Partial || k.init
				}
				g.useBuffer = ms[:0]
				return out, bad
			}
			if f.seen == mark && met(ms, f) {
				u := &ms[f.use]
				switch {
				case u.m == mode:
				case u.m.Commutes() || mode.Commutes():
					u.m = modeRW
				default:
					u.m |= mode
				}
				u.unordered = u.unordered && free
				out.Shared = true
				continue
			}
			f.seen, f.use = mark, int32(len(ms))
			ms = append(ms, use{f, mode, free})
		}
	}
	if opt.Reduce != nil {
		ms = append(ms, use{&opt.Reduce.redux.frag, modeRW, false})
	}
	for i := range ms {
		u := &ms[i]
		if u.unordered {
			out.Locks = true
			out.unsorted++
		} else {
			out.Ordered++
		}
		if u.m.Commutes() || u.f.unordered {
			out.Locks = true
		}
	}
	g.useBuffer, out.uses = ms, ms
	if p := sharing(ops); p.Kind != NoProblem {
		return out, p
	}
	return out, bad
}

// met reports whether f, which bears the mark of this submission, was met in it:
// marks come round again, and f may have kept this one from 2^32 submissions ago.
func met(ms []use, f *fragment) bool { return int(f.use) < len(ms) && ms[f.use].f == f }

// sharing finds operands that share elements in a way that no memory can express.
func sharing(ops []Operand) Problem {
	none := Problem{Other: -1}
	special := false
	for i := range ops {
		special = special || ops[i].Mode == modeRedux || ops[i].how() != inPlace
	}
	if !special {
		return none
	}
	for i := range ops {
		a := &ops[i]
		for k := range ops[:i] {
			b := &ops[k]
			if a.Mode == modeScratch || b.Mode == modeScratch || !a.Handle.Overlaps(b.Handle) {
				continue
			}
			if a.Mode == modeRedux || b.Mode == modeRedux {
				return Problem{Kind: ReduxShared, Operand: i, Other: k}
			}
			if !a.fitsWith(b) && (a.Mode != modeR || b.Mode != modeR) {
				return Problem{Kind: noSharing, Operand: i, Other: k}
			}
		}
	}
	return none
}

// Register registers the accesses that Merge found and returns how many of them
// wait. acc has room for m.Ordered accesses. w is armed.
func (m *Merged) Register(sub Submission, w *Waiter, ops []Operand, acc []Access) (waits int32) {
	for i := range m.uses {
		u := &m.uses[i]
		if u.f.lock != nil && u.f.tail.count.idle(sub) { // the tasks that needed it have ended
			u.f.lockNeeded = false
			sub.unshareLock(u.f)
		}
		if u.m.Commutes() || u.unordered {
			sub.lockFor(u.f)
			u.f.lockNeeded = u.f.lockNeeded || u.m.Commutes()
		}
		if u.unordered {
			sub.unorder(u.f)
			u.f.d.unordered.Add(1)
		}
	}
	k := 0
	for i := range m.uses {
		u := &m.uses[i]
		f := u.f
		switch {
		case m.opt.Keep:
		case m.opt.Drop && !f.d.void:
			f.init, f.why, f.gone = false, Invalidated, m.opt.DropAt
		case u.m != modeR:
			f.init = true
		}
		if u.unordered {
			continue
		}
		if sub.access(w, &acc[k], f, u.m) {
			waits++
		}
		if o := m.opt.Hold; o != nil {
			o.frags = append(o.frags, f)
		}
		k++
	}
	for i := range ops {
		if ops[i].Mode == modeRedux {
			ops[i].Handle.openGroup(sub)
		}
	}
	return waits
}

// Unordered returns the data of the unordered accesses, for EndUnordered: one
// entry for each access.
func (m *Merged) Unordered(out []*Datum) []*Datum {
	if m.unsorted == 0 {
		return out
	}
	for i := range m.uses {
		if u := &m.uses[i]; u.unordered {
			out = append(out, u.f.d)
		}
	}
	return out
}

// EndUnordered records the end of unordered accesses. If it was the last of a datum, its
// waiter is released to c.
func EndUnordered(ds []*Datum, c *Completer) {
	for _, d := range ds {
		if d.unordered.Add(-1) > 0 {
			continue
		}
		if d.dup != nil {
			d.dup.drained(c)
		}
		d.mu.Lock()
		w := d.mu.drained
		if d.unordered.Load() == 0 {
			d.mu.drained = nil
		} else {
			w = nil
		}
		d.mu.Unlock()
		if w != nil && w.Done() {
			c.Release(w)
		}
	}
}

// AwaitUnordered makes w, which is armed, wait for the unordered accesses that
// were submitted to the datum of h; it reports whether there are any. Only one
// waiter can, and no unordered access is submitted after it.
func (h Managed) AwaitUnordered(_ Submission, w *Waiter) bool {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unordered.Load() == 0 {
		return false
	}
	d.mu.drained = w
	return true
}

// Handshakes: tasks that run, and the first unordered access to a fragment.
//
// Ordered accesses take no lock while a fragment has no unordered ones. The first unordered
// access makes all later ones take it, and tasks that started before count as holders
// of the lock until they end (grace). So there are three questions between two sides that
// share no lock; in two of them each side writes its own variable, then reads that of the
// other (Dekker).
//
// Does a task that starts take the lock?
//
//   - Invariant: a task takes the lock, or the lock counts it.
//   - The worker writes Publisher.cur (Begin), then reads the generation and State of its
//     data. The submitter, in unorder, writes the State and the generation (setState), then
//     reads cur of every Publisher.
//   - Both sides must not miss each other: each has its store before its load in the one
//     order that all goroutines agree on. If the load of the worker comes before the store
//     of the submitter, so does the worker's store, and the submitter's load sees the task.
//     Release and acquire would not do: they let a load pass an earlier store to another
//     variable, and then both sides read the old value. The operations of sync/atomic are
//     sequentially consistent. A plain store such as storeOwned is not.
//   - Planted faults: generation-unheard and unchanged-always (the worker does not look),
//     lock-no-grace (the submitter does not).
//
// Does a task that the lock counts give its grace back?
//
//   - Invariant: the lock counts a task only if the owner of its Publisher calls giveBack
//     after the task and after the count.
//   - The submitter writes Publisher.grace, then reads cur a second time, and counts the
//     task only if it still runs. The owner writes cur (Begin of the next task, or End),
//     then reads grace. Publisher.mu makes giveBack wait for a count that has begun.
//   - If the submitter's second load still sees the task, it comes before the owner's
//     store, and so does the submitter's store before the owner's load: the owner gives the
//     grace back. Otherwise the task has ended, or ends without being counted. A grace flag
//     without locks does no harm. If the record runs another task by then, that one is
//     counted without need, and gives the grace back as well.
//   - Planted fault: grace-unheard.
//
// Does data that the program holds count?
//
//   - Invariant: as for tasks, with holds in place of tasks.
//   - AddHold writes Registry.held, and the State of the data is read afterwards. unorder
//     writes the State, then reads Registry.held. Both held operations are under the
//     submission lock, so whichever comes second sees the other; no order of atomics is
//     needed.
//   - Planted fault: hold-no-grace.
//
// A plain task that is handed its lock by the task before (ReleaseSingle) needs nothing
// more: it looks at the State of its data after it is published, like all others.

// Publisher shows which task a worker runs, so that the first unordered access to a
// fragment knows the tasks that may be using it without a lock. Its owner is one
// goroutine; others only look.
type Publisher struct {
	cur   atomic.Uintptr // the task's address: an atomic store of a pointer is two calls, and asks the collector
	grace atomic.Bool
	mu    struct {
		sync.Mutex
		locks []*accessLock
	}
}

// Begin publishes w as the current task. State that another goroutine sets is either seen
// by the owner after Begin, or its setter sees w; see Handshakes.
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

// AddPublisher makes p known, before its owner runs a task.
func (sub Submission) AddPublisher(p *Publisher) { sub.reg.publishers = append(sub.reg.publishers, p) }

// unorder marks f as having unordered accesses. From now on all accesses take its lock,
// which counts as held until every task that runs now, and may have started without it,
// has ended.
func (sub Submission) unorder(f *fragment) {
	if f.unordered {
		return
	}
	f.d.mu.Lock()
	f.unordered, f.lockNeeded = true, !f.tail.count.idle(sub)
	f.d.mu.Unlock()
	f.slow = true
	f.d.setState(stateLocks)
	for _, p := range sub.reg.publishers {
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
	for _, h := range sub.reg.held {
		if h.h.d == f.d && h.held.touches(&f.box) {
			u := lockUse{f.lock, h.writes.touches(&f.box)}
			h.locks = append(h.locks, u)
			u.l.beginHold(u.exclusive)
		}
	}
}
