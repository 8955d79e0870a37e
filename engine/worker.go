package engine

// Workers: goroutines that run tasks, and the hands by which anybody ends them.

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// hand ends tasks and gives out those that this releases: a worker's, or one
// borrowed by a goroutine of the program.
type hand struct {
	rt    *Runtime
	c     *datamgr.Completer
	id    int     // of the worker, or sched.Outside
	w     *worker // nil outside
	light []*task
}

// dispatch gives out what the hand released. A hand from outside holds the
// submission lock.
func (h *hand) dispatch() {
	for w := h.c.Take(); w != nil; {
		next := w.Next()
		if t := taskOf(w); t.kind.light() {
			h.light = append(h.light, t)
		} else {
			h.rt.push(t, h.id)
		}
		w = next
	}
}

// settle gives out what the hand released and runs what has no kernel, until
// nothing is left. The submission lock is free.
func (h *hand) settle() {
	for {
		if h.id == sched.Outside {
			h.rt.reg.Lock()
			h.dispatch()
			h.rt.reg.Unlock()
		} else {
			h.dispatch()
		}
		n := len(h.light)
		if n == 0 {
			return
		}
		t := h.light[n-1]
		h.light = h.light[:n-1]
		h.runLight(t)
	}
}

// takeHand lends a hand to a goroutine of the program.
func (rt *Runtime) takeHand() *hand {
	rt.busyHands.Add(1)
	return rt.hands.Get().(*hand)
}

// giveHand gives out what the hand released and takes the hand back. In a
// Sequential runtime it runs what became ready.
func (rt *Runtime) giveHand(h *hand) {
	h.settle()
	rt.hands.Put(h)
	rt.busyHands.Add(-1)
	if rt.opt.Sequential {
		rt.drain()
	}
	rt.progress()
}

// worker runs tasks, one at a time.
type worker struct {
	hand
	pub     datamgr.Publisher
	tc      TaskContext
	park    chan bool // true: go on as the one who looks for work
	name    string
	kind    string // the device's name
	arch    string // what its kernels are written for
	dev     accel.Device
	stream  accel.Stream // of the kernels; nil on the CPU
	slots   []*slot      // on devices
	flights []flight     // the first one runs
	menu    *menu        // where memory is bounded
	busy    atomic.Bool  // a kernel runs, where memory is bounded
	seen    atomic.Int32 // tasks that were ready behind it when feed looked last
	node    int          // its memory node
	freed   [2]struct {  // ended tasks to give back, by size
		first, last *task
		n           int
	}
	job     *Job  // the job that ended counts for
	ended   int64 // tasks of job that ended, not yet added to it
	slow    bool  // the last task that was timed took long
	scratch []scratch
	tally   tally
	running atomic.Pointer[Codelet] // with statistics; the one that ran last, until the worker rests
	times   *perf.Recorder          // with performance models
	// what noRoomFor.given was before the task looked for room
	roomGiven uint64
	_         [64]byte
}

// newWorker makes the next worker, which is unit i of a device.
func newWorker(rt *Runtime, dev accel.Device, i, node int) *worker {
	w := &worker{hand: hand{rt: rt, c: rt.reg.NewCompleter(), id: len(rt.workers)}, park: make(chan bool, 1),
		name: fmt.Sprintf("%s %d", dev.Name(), i), kind: dev.Name(), arch: dev.Arch(), dev: dev, node: node}
	w.hand.w = w
	rt.reg.AddPublisher(&w.pub)
	return w
}

// loop is the worker's goroutine. A kernel may end the goroutine; then another
// goes on.
func (w *worker) loop() {
	done := false
	defer func() {
		if done {
			w.rt.group.Done()
			return
		}
		go w.loop()
	}()
	w.work()
	done = true
}

func (w *worker) work() {
	rt := w.rt
	p := &rt.parking
	peek, _ := rt.policy.(sched.Peeker)
	looking, spins := false, 0
	woken := false // and has not taken anything since: what others want it for may be more than one thing
	for {
		if len(w.flights) > 0 && len(w.flights) == len(w.slots) {
			w.land()
		}
		if it := rt.policy.Pop(w.id); it != nil {
			switch {
			case looking:
				looking = false
				p.found(rt)
			case woken:
				p.more(rt)
			}
			spins, woken = 0, false
			if peek != nil {
				if next := peek.Peek(w.id); next != nil { // its record arrives while it runs
					datamgr.Prefetch(unsafe.Pointer(next), recordLines[0])
				}
			}
			w.run(itemTask(it))
			continue
		}
		if len(w.flights) > 0 {
			if looking {
				p.looking.Store(0)
			}
			looking, woken = w.await(), true
			continue
		}
		w.rest()
		if w.wanted() {
			if looking {
				looking = false
				p.looking.Store(0)
			}
			p.more(rt)
			w.help()
			continue
		}
		if rt.quit.Load() {
			if looking {
				p.looking.Store(0)
			}
			return
		}
		if !looking && spins == 0 {
			looking = p.looking.CompareAndSwap(0, 1)
		}
		if looking && spins < 40 {
			spins++
			runtime.Gosched()
			continue
		}
		p.enter(w)
		if looking {
			looking = false
			p.looking.Store(0)
		}
		spins = 0
		if it := rt.policy.Pop(w.id); it != nil {
			if !p.leave(w) { // somebody is waking us
				looking = <-w.park
			}
			if looking {
				looking = false
				p.looking.Store(0)
			}
			p.more(rt)
			w.run(itemTask(it))
			continue
		}
		if rt.quit.Load() && p.leave(w) {
			return
		}
		if w.wanted() && p.leave(w) {
			continue
		}
		if int(p.parked.Add(1)) == len(rt.workers) {
			rt.progress()
		}
		looking, woken = <-w.park, true
		p.parked.Add(-1)
	}
}

// rest is called when the worker finds nothing to run.
func (w *worker) rest() {
	w.pub.End(w.c)
	w.c.FinishLate()
	w.settle()
	w.flush()
	w.tally.rest(w)
}

// flush adds what ended to the job's count.
func (w *worker) flush() {
	w.tally.flush(w.id)
	if w.rt.gangs.open.Load() > 0 {
		w.light = append(w.light, summons)
	}
	if w.ended == 0 {
		return
	}
	w.job.ended.Add(w.ended)
	w.ended = 0
	w.rt.progress()
}

// count says that a task of j ended.
func (w *worker) count(j *Job) {
	if w.job != j {
		w.flush()
		w.job = j
	}
	w.ended++
	if w.ended >= j.batch || w.rt.waiting.prompt.Load() > 0 || w.slow {
		w.c.FinishLate() // who waits for the tasks that ended finds their data free
		w.flush()
	}
}

// run runs a task that the policy gave out.
func (w *worker) run(t *task) {
	if w.c.Late() {
		w.finishLate(t)
	}
	w.pub.Begin(&t.Waiter, w.c) // from now on unordered accesses see us, or we see theirs
	j := t.job
	if w.job != j { // who waits for the other job should not wait for this task
		w.flush()
		w.job = j
	}
	if t.general || t.Order <= j.cancelled.Load() || w.arch != cpuArch {
		w.runGeneral(t)
		w.settle()
		return
	}
	w.tc.reset(t, w)
	commutes := false
	if !w.rt.reg.Calm(&t.Waiter) {
		var done bool
		if commutes, done = w.prepare(t); done {
			return
		}
	}
	if w.rt.opt.Poison {
		w.poison(t)
	}
	if err := w.kernel(t, t.codelet.CPU[0], 0); err != nil {
		t.extend()
		w.fail(t, err)
		w.settle()
		return
	}
	if commutes {
		t.lockPlace().ReleaseOne(w.c)
	}
	if t.nacc == 1 && t.member() {
		w.c.FinishMember(&t.acc[0])
	} else {
		w.c.Finish(t.accesses())
	}
	w.recycle(t)
	w.count(j)
	w.dispatch()
	if len(w.light) > 0 {
		w.settle()
	}
}

// finishLate ends the accesses that were left to be ended later, unless t, which
// runs next, is a member of the same group.
func (w *worker) finishLate(t *task) {
	if !t.general && t.nacc == 1 && w.c.LateFor(&t.acc[0]) {
		return
	}
	w.c.FinishLate()
	w.settle()
	w.share()
}

// member reports whether t, which is plain and has one access, shares its data
// with others.
func (t *task) member() bool {
	m := t.ops[0].Mode
	return t.nops == 1 && (m == iface.R || m == iface.Commute || m == iface.Redux)
}

// prepare does what a plain task needs before its kernel: memory that does not
// exist yet, private copies, its lock. commutes says that it has the lock; done,
// that it was run in the general way instead, or waits for the lock.
func (w *worker) prepare(t *task) (commutes, done bool) {
	ops := t.operands()
	var state datamgr.State
	for i := range ops {
		switch op := &ops[i]; op.Mode {
		case iface.Scratch, iface.Redux:
		case iface.Commute:
			commutes = true
			fallthrough
		default:
			state |= op.Handle.State()
		}
	}
	ok := w.node == 0 && !w.rt.limited && (state == 0 || state.OnlyLazy())
	if ok && commutes && !t.lockPlace().AcquireOne(w.c) {
		w.pub.End(w.c) // t may run elsewhere by now
		w.settle()
		return false, true
	}
	k := 0
	for i := range ops {
		if !ok {
			break
		}
		var err error
		switch op := &ops[i]; op.Mode {
		case iface.Scratch:
			err = w.private(k, i, op)
			k++
		case iface.Redux:
			if !op.Handle.Contributes(w.id, &w.tc.bufs[i]) {
				err = w.contribute(t, i)
			}
			w.tc.set[i] = true
		default:
			if state != 0 {
				err = op.Handle.PrepareMain()
			}
		}
		ok = err == nil // else the general way meets the error again, and says so
	}
	if !ok {
		w.runGeneral(t)
		w.settle()
	}
	return commutes, !ok
}

// private makes operand i, SCRATCH, the worker's k-th private memory.
func (w *worker) private(k, i int, op *Operand) error {
	p, err := w.workspace(k, op.Handle)
	if err != nil {
		return err
	}
	op.Handle.Own(p, &w.tc.bufs[i])
	w.tc.set[i] = true
	return nil
}

// kernel calls fn, implementation impl, as the kernel of t; the buffers that are not plain are filled in.
func (w *worker) kernel(t *task, fn Impl, impl int) error {
	j := t.job
	if w.rt.heard() {
		w.rt.event(TaskStarted, t, w.id, nil)
	}
	var err error
	if !j.timed.Load() {
		err = w.call(fn)
	} else {
		err = w.timed(t, fn, impl)
	}
	if err == nil && !w.collects(t) {
		if w.rt.heard() {
			w.done(t)
		}
	}
	return err
}

// collects reports whether something of t is still to be done when its kernel has
// returned on a device: bringing its contributions to main memory.
func (w *worker) collects(t *task) bool { return w.node > 0 && t.general && len(t.x.redux) > 0 }

// done tells that t has succeeded. Who calls it asks first whether somebody hears it.
func (w *worker) done(t *task) { w.rt.event(TaskDone, t, w.id, nil) }

// call calls fn, and returns when it and what it has begun on the worker's stream
// have ended.
func (w *worker) call(fn Impl) error {
	switch {
	case w.stream != nil:
		return w.callOnDevice(fn)
	case w.menu != nil:
		w.begins()
		defer w.ends()
	}
	return callKernel(fn, &w.tc, w.exit)
}

// exit is called when a kernel ends the worker's goroutine.
func (w *worker) exit(err error) {
	t := w.tc.t
	t.extend()
	w.running.Store(nil)
	w.fail(t, err)
	w.rest()
}

// runGeneral runs a task that may need locks, copies or private buffers, or
// must not run at all.
func (w *worker) runGeneral(t *task) {
	ops := t.operands()
	plain := !t.general
	if plain && t.marks&hasLock != 0 {
		t.lockPlace().ReleaseOne(w.c)
	}
	x := t.extend()
	if len(w.flights) > 0 && !w.queues(t) {
		w.landAll()
	}
	if t.kind == specialTask {
		w.runSpecial(t)
		return
	}
	for i := range ops {
		x.needLocks = x.needLocks || plain && ops[i].Mode == iface.Commute
	}
	if x.needLocks || t.state().Locks() {
		if !x.locks.Acquire(ops, x.unsequenced, w.c) {
			w.pub.End(w.c) // t may run elsewhere by now
			return
		}
	}
	if t.kind != userTask {
		w.runInternal(t)
		return
	}
	if w.refused(t) {
		return
	}
	w.assemble(t) // before anything that others wait for, locks apart
	datamgr.Mend(ops)
	w.roomGiven = w.rt.noRoomFor.given.Load()
	if len(w.flights) == 0 || !x.place.PrepareThere(w.node, ops) {
		w.landAll() // whoever waits for room holds none
		if err := w.place(t); err != nil {
			w.unable(t, err)
			return
		}
	}
	if w.rt.profile != nil {
		w.rt.profile.fetched(t)
	}
	w.tc.reset(t, w)
	if err := w.privates(t); err != nil {
		w.unable(t, err)
		return
	}
	x.place.Begin()
	if w.rt.opt.Poison && w.node == 0 {
		w.poison(t)
	}
	w.runBody(t)
}

// refused ends t and reports true when it must not run: its job was cancelled, or
// what it needs was lost.
func (h *hand) refused(t *task) bool {
	j := t.job
	if t.Order <= j.cancelled.Load() {
		f := newFailure(t, "", j.cause(), true)
		h.cancel(t, f, f.err())
		return true
	}
	if sp := t.special(); sp != nil && sp.round > 1 && sp.stopped.Load() {
		sp.dropped = true
		h.endUser(t, nil, nil)
		return true
	}
	if f := t.x.lost.Load(); f != nil {
		h.cancelFor(t, -1, f)
		return true
	}
	if i, f := datamgr.Fault(t.operands()); i >= 0 {
		h.cancelFor(t, i, f.(*failure))
		return true
	}
	return false
}

// privates fills in the buffers of SCRATCH and REDUX operands.
func (w *worker) privates(t *task) error {
	k := 0
	for i, op := range t.operands() {
		switch op.Mode {
		case iface.Scratch:
			if w.nodeFor(&op) > 0 || w.rt.limited {
				t.x.place.Private(i, 0, op.Handle, &w.tc.bufs[i])
				w.tc.set[i] = true
				continue
			}
			if err := w.private(k, i, &op); err != nil {
				return err
			}
			k++
		case iface.Redux:
			if w.rt.limited {
				w.describeApart(t, i)
				continue
			}
			if w.describeThere(t, i) {
				continue
			}
			if err := w.contribute(t, i); err != nil {
				return err
			}
			if w.nodeFor(&op) > 0 {
				b := &w.tc.bufs[i]
				from := *b
				if err := t.x.place.Contribute(i, op.Handle, &from, b); err != nil {
					return err
				}
			}
			w.tc.set[i] = true
		}
	}
	return nil
}

// scratch is private memory of a worker, kept from task to task.
type scratch struct {
	p     unsafe.Pointer
	bytes int64
}

// workspace returns the worker's k-th private memory, large enough for h.
func (w *worker) workspace(k int, h *datamgr.Handle) (unsafe.Pointer, error) {
	d := h.Desc()
	bytes := d.Bytes()
	if k == len(w.scratch) {
		w.scratch = append(w.scratch, scratch{})
	}
	s := &w.scratch[k]
	if s.p == nil || s.bytes < bytes {
		mem := w.rt.reg.Memory()
		mem.Free(s.p, s.bytes)
		*s = scratch{}
		p, err := mem.Alloc(bytes)
		if err != nil {
			return nil, err
		}
		*s = scratch{p, bytes}
	}
	return s.p, nil
}

// freeScratch gives the private memory back; the worker has stopped.
func (w *worker) freeScratch() {
	for _, s := range w.scratch {
		w.rt.reg.Memory().Free(s.p, s.bytes)
	}
	w.scratch = nil
}

// poison fills the buffers whose content the kernel must not read.
func (w *worker) poison(t *task) {
	for i, op := range t.operands() {
		if op.Mode == iface.Scratch || op.Mode == iface.W && !(t.general && t.x.shared) {
			poison(w.tc.Buffer(i))
		}
	}
}

// fail ends a user task that failed with err.
func (h *hand) fail(t *task, err error) {
	f := newFailure(t, h.workerName(), err, false)
	if h.rt.heard() {
		h.rt.event(TaskFailed, t, h.id, err)
	}
	t.job.addFailure(f)
	h.endUser(t, f, f.err())
}

// cancelFor cancels t because f lost what it needs: operand i, or -1 for an
// explicit dependency.
func (h *hand) cancelFor(t *task, i int, f *failure) {
	f.cancelled.Add(1)
	e := &FailedDataError{Operand: i, Task: f.err()}
	if i >= 0 {
		e.Handle = t.operands()[i].Handle.Twin()
	}
	h.cancel(t, f, e)
}

func (h *hand) cancel(t *task, f *failure, err error) {
	t.job.dropped.Add(1)
	if h.rt.heard() {
		h.rt.event(TaskCancelled, t, h.id, err)
	}
	h.endUser(t, f, err)
}

// endUser ends a general user task; f says why its outputs are lost, or is nil.
func (h *hand) endUser(t *task, f *failure, err error) {
	if t.x.future != nil {
		h.finish(t, f, err)
		return
	}
	h.end(t, f)
	h.retire(t)
}

// end ends a general task: what it should have written is marked first, then
// its locks and accesses end.
func (h *hand) end(t *task, f *failure) {
	x := t.x
	x.place.Release()
	for i := range x.redux {
		x.redux[i].Return() // once its memory is released, if it is on a device
	}
	x.redux = x.redux[:0]
	if h.rt.nodes > 1 {
		datamgr.Met(t.operands(), h.rt.when(t))
		if f == nil {
			h.rt.writeThrough(t)
		}
	}
	if f != nil {
		datamgr.Spoil(t.operands(), f)
	}
	x.locks.Release(h.c)
	datamgr.EndUnordered(x.unordered, h.c)
	h.c.Finish(t.accesses())
}

// recycle gives an ended task back, in batches.
func (w *worker) recycle(t *task) {
	t.clear()
	fr := &w.freed[t.size()]
	if fr.n == 0 {
		fr.last = t
	}
	t.SetNext(waiterOf(fr.first))
	fr.first = t
	fr.n++
	if fr.n >= 64 {
		w.rt.giveBack(fr.first, fr.last)
		fr.first, fr.last, fr.n = nil, nil, 0
	}
}

// giveBack gives a list of ended tasks, whose records have one size, to the
// submitter.
func (rt *Runtime) giveBack(first, last *task) {
	r := &rt.freed(first).returned
	for {
		o := r.Load()
		last.SetNext(o)
		if r.CompareAndSwap(o, &first.Waiter) {
			return
		}
	}
}
