package engine

// Tasks: the recycled record of what was submitted. Where its fields lie is in layout.go.

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/datamgr/invariants"
	"github.com/starpush/starpush/engine/internal/isolate"
)

// kind is the purpose of a task. Internal tasks have no codelet.
type kind uint8

const (
	userTask kind = iota
	reduceTask
	initTask
	duplicateTask
	acquireTask
	invalidateTask
	relayTask      // delays the end of another task
	specialTask    // a task of the program with a prologue or without a kernel, see ofProgram
	joinGangMarker // no task: see joinGang
	unregisterTask
	gatherTask
	convertTask // changes the layout of data, see SetFormats
)

var kindNames = [...]string{"", "reduce", "init", "duplicate", "acquire", "invalidate", "relay", "", "", "unregister", "gather", "convert"}

// ofProgram reports whether the program submitted tasks of kind k. A specialTask becomes a
// userTask when its prologue is over, and then goes to the policy. It is a kind of its own all
// the same, and not a bit beside it, because each released task is looked at whether it is
// light: so that is one comparison.
func (k kind) ofProgram() bool { return k == userTask || k == specialTask }

// light reports whether the releaser runs tasks of kind k itself, instead of giving them
// to the policy, as they have no kernel.
func (k kind) light() bool { return k >= acquireTask && k <= unregisterTask }

// generalTask is what general tasks have, and those with many operands.
type generalTask struct {
	locks            datamgr.LockSet
	ops              []Operand
	acc              []datamgr.Access
	accMoved         bool // accesses are in acc, however few they are
	needLocks        bool
	allUnordered     bool
	shared           bool  // operands share fragments
	weight           int32 // in Job.weight; beside acc, which such a task uses
	place            datamgr.Placement
	unordered        []*datamgr.Datum
	redux            []datamgr.Contribution
	name             string
	color            int
	flops            float64
	public           *Task
	lost             atomic.Pointer[failure] // an explicit dependency did not run
	access           *Access
	h                *datamgr.Handle      // of what the engine submitted itself
	dup              *datamgr.Duplicate   // that is copied
	copies           []*datamgr.Duplicate // that t made necessary, until it is registered
	shares           []*datamgr.Datum     // duplicates that t reads where they share, until then
	none             []datamgr.Box
	all              bool
	making           *datamgr.Making // of a reduction, an initialisation or a conversion
	awaitsConversion bool            // a conversion that reads what it reads, and so is not ordered before it by the data
	hold             *datamgr.Hold   // of a light task that started
	target           *Task           // of a relay: the task whose end it delays
	times            *taskTimes      // with Options.Profile
	tried            uint64          // nodes where it could not run
	started          bool            // its data is on its node, so that datamgr expects it no more
	node             int             // of a gathering
	formatted        bool            // an operand has several layouts here
	placed           []Operand       // the operands in the layouts that the kernel takes; nil: those that they have
	expected         []Operand       // the operands, and their other layouts; nil: the operands
	converted        []int64         // conversions that come before it in a plan
}

func (t *task) numOperands() int {
	if t.nops < 255 {
		return int(t.nops)
	}
	return len(t.x.ops)
}

// extra returns the task's ext, without rest unless it has that already.
func (t *task) extra() *taskExtra {
	if t.x == nil {
		t.x = &taskExtra{}
	}
	return t.x
}

// setArgs copies the scalar arguments of a new task.
func (t *task) setArgs(args []iface.Scalar) {
	if len(args) == 0 {
		return
	}
	if x := t.x; x != nil {
		x.args = append(x.args[:0], args...)
	} else {
		t.x = &taskExtra{args: slices.Clone(args)} // written before it is read, see freshTask
	}
	t.marks |= hasArgs
}

func (t *task) arguments() []iface.Scalar {
	switch t.marks & (hasArgs | hasClosure) {
	case 0:
		return nil
	case hasArgs:
		return t.x.args
	}
	n := len(t.x.args) - 1
	return t.x.args[:n:n]
}

// setOrigin says where a new task was submitted.
func (t *task) setOrigin(o *Origin) {
	if o.Site == nil && o.Call == nil {
		return
	}
	// Field by field, with what is no pointer first: a copy of the whole begins with
	// a look at the line, which is seldom near, and stores need not wait for it.
	x := t.extra()
	x.origin.Vars[0], x.origin.Vars[1] = o.Vars[0], o.Vars[1] // one by one, as they were stored just now
	x.origin.Site, x.origin.Call = o.Site, o.Call
	t.marks |= hasOrigin
}

// submittedAt returns where t was submitted.
func (t *task) submittedAt() Origin {
	if t.marks&hasOrigin == 0 {
		return Origin{}
	}
	return t.x.origin
}

// generalPart returns the task's ext for storage.
func (t *task) generalPart() *taskExtra {
	x := t.extra()
	if x.generalTask == nil {
		x.generalTask = &generalTask{}
	}
	return x
}

// extend makes t a general task, with an empty ext.
func (t *task) extend() *taskExtra {
	x := t.generalPart()
	if t.general {
		return x
	}
	t.general = true
	var place *datamgr.LockPlace
	if t.marks&hasLock != 0 {
		place = t.lockPlace()
		t.marks &^= hasLock
	}
	x.locks.Extend(&t.Waiter, place)
	x.needLocks, x.allUnordered, x.shared = false, false, false
	x.unordered, x.redux = x.unordered[:0], x.redux[:0]
	x.name, x.color, x.flops = "", 0, 0
	x.public, x.access, x.h, x.none, x.all = nil, nil, nil, nil, false
	x.dup, x.copies, x.shares, x.tried = nil, nil, nil, 0
	x.awaitsConversion, x.formatted, x.placed, x.expected, x.converted = false, false, nil, nil, nil
	x.lost.Store(nil)
	return x
}

// state is what the task must look at before it runs.
func (t *task) state() datamgr.State {
	var s datamgr.State
	for i := range t.operands() {
		s |= managed(t.operands()[i].Handle).State()
	}
	return s
}

// placedOperands returns the operands of t in the layouts that its kernel takes.
func (t *task) placedOperands() []Operand {
	if t.general && t.x.placed != nil {
		return t.x.placed
	}
	return t.operands()
}

// expectedOperands returns the operands of t, and all data by which one of their layouts may be used.
func (t *task) expectedOperands() []Operand {
	if t.general && t.x.expected != nil {
		return t.x.expected
	}
	return t.operands()
}

// eventOperands returns the operands that listeners see. Of a conversion it is the layout of the device alone, which
// only conversions have: the data itself may have been used by submissions since that come after the conversion.
func (t *task) eventOperands() []Operand {
	if t.kind == convertTask {
		return t.expectedOperands()
	}
	return t.operands()
}

// restoreSizes undoes what the kernel of t has resized.
func (t *task) restoreSizes() {
	if t.general {
		datamgr.Restore(t.operands(), t.job, t.Order)
	}
}

func (t *task) name() string {
	if t.general {
		return t.x.name
	}
	return ""
}

// newTask takes a task from the free ones, a wide one if asked to.
func (rt *Runtime) newTask(sub datamgr.Submission, wide bool) *task {
	k := 0
	if wide {
		k = 1
	}
	f := &rt.free[k]
	t := f.list
	if t == nil {
		t = taskOf(f.returned.Swap(nil))
		if t == nil {
			return rt.freshTask(sub, wide)
		}
	}
	t.marks &= isWide
	f.list = taskOf(t.Next())
	datamgr.Prefetch(unsafe.Pointer(f.list), recordLines[k])
	return t
}

// freeTasks are records to use again, of one size.
type freeTasks struct {
	list     *task // guarded by the submission lock
	_        [56]byte
	returned atomic.Pointer[datamgr.Waiter] // by workers
	_        [56]byte
}

// freed returns where the record of t goes when it has ended.
func (rt *Runtime) freed(t *task) *freeTasks { return &rt.free[t.size()] }

// unused gives back a task that was never submitted.
func (rt *Runtime) unused(_ datamgr.Submission, t *task) {
	t.clear()
	f := rt.freed(t)
	t.SetNext(waiterOf(f.list))
	f.list = t
}

// heavyAccesses is how many accesses and explicit dependencies a task has before it counts
// as more than one in the window of its job: about as many as its record has room for.
const heavyAccesses = 16

// heavyRoom is for how many accesses a record that is used again keeps room. There may be
// as many records as tasks fit in the window, and each comes to be used by any task.
const heavyRoom = 64

// weigh has t, which has n accesses and explicit dependencies, count as several tasks if
// those are many. The next look at the window comes as many submissions earlier.
func (t *task) weigh(_ datamgr.Submission, n int) {
	if n < heavyAccesses {
		return
	}
	w := int64(n / heavyAccesses)
	t.generalPart().weight = int32(w)
	t.marks |= isHeavy
	t.job.weight += w
	t.job.look -= w
}

// clear forgets what would keep others' memory alive.
func (t *task) clear() {
	if t.hasExtension() {
		if n := t.clearExtension(); n > 0 {
			t.job.unweighed.Add(n)
		}
	}
	t.clearRecord()
}

// hasExtension reports whether clearExtension has something to do.
func (t *task) hasExtension() bool { return t.general || t.marks&(isHeavy|hasClosure) != 0 }

// clearRecord is clear for the record itself.
func (t *task) clearRecord() {
	if invariants.Enabled && t.job == nil {
		invariants.Violated("a record is given back twice")
	}
	t.job, t.codelet, t.Allowed = nil, nil, nil
	t.kind, t.Priority = userTask, 0
}

// clearExtension is clear for the extension of a record. It returns what the task counted in
// its job beyond one.
func (t *task) clearExtension() (weight int64) {
	x := t.x
	if t.marks&isHeavy != 0 {
		weight = int64(x.weight)
		t.marks &^= isHeavy
		if cap(x.acc) > heavyRoom {
			x.acc = nil
		}
		if cap(x.ops) > heavyRoom {
			x.ops = nil
		}
	}
	if t.general {
		x.public, x.access, x.h, x.name, x.none, x.hold, x.target, x.dup = nil, nil, nil, "", nil, nil, nil, nil
		x.placed, x.expected = nil, nil
		x.accMoved = false
		t.general = false
	}
	if t.marks&hasClosure != 0 {
		clear(x.args)
	}
	return weight
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

// setAccesses replaces the accesses of a task that runs.
func (t *task) setAccesses(as []datamgr.Access) {
	x := t.x
	x.acc = append(x.acc[:0], as...)
	x.accMoved, t.nacc = true, int32(len(as))
}

// Estimates: the work and the bytes of a task, and which workers may run it.

// allows reports whether w may run t.
func (t *task) allows(w *worker) bool {
	return (t.Allowed == nil || t.Allowed.Has(w.id)) && (t.kind != userTask || t.codelet.hasNoKernel() || len(t.codelet.impls(w.arch)) > 0)
}

func (c *Codelet) hasNoKernel() bool { return c.Traits != nil && c.Traits.Nowhere }

// moved is how many bytes of its operands t reads and writes, each element once for that.
func (t *task) moved() (n float64) {
	for _, op := range t.operands() {
		if k := op.Mode.Passes(); k > 0 {
			d := op.Handle.Desc()
			n += float64(k) * float64(d.Bytes())
		}
	}
	return n
}

// flops is what the codelet says of the work of t; 0: unknown. buf is used again
// for its operands.
func (t *task) flops(buf *[]iface.Desc) (n float64) {
	defer func() {
		if recover() != nil { // an estimate is no reason to fail
			n = 0
		}
	}()
	ops := (*buf)[:0]
	for _, op := range t.operands() {
		ops = append(ops, op.Handle.Desc())
	}
	*buf = ops
	return t.codelet.Flops(ops, t.arguments())
}

// estimatedWork is what Codelet.Flops says, and, if that is asked for, Codelet.Work; 0: not known. Operations are flops where those are known.
func (t *task) estimatedWork(all bool) (flops, operations, bytes float64) {
	if t.general {
		flops = t.x.flops
	}
	all = all && t.codelet.Work != nil
	if !all && (t.codelet.Flops == nil || flops > 0) {
		return flops, flops, 0
	}
	t.codelet.ask(func() {
		var ds []iface.Desc
		if flops == 0 && t.codelet.Flops != nil {
			flops = t.flops(&ds)
		}
		if !all {
			return
		}
		ds = ds[:0]
		for _, op := range t.operands() {
			ds = append(ds, op.Handle.Desc())
		}
		operations, bytes = t.codelet.Work(ds, t.arguments())
	})
	if flops > 0 || !(operations >= 0) {
		operations = flops
	}
	if !(bytes >= 0) {
		bytes = 0
	}
	return flops, operations, bytes
}

// work is how many floating-point operations t takes; 0: not known.
func (t *task) work() float64 {
	if t.general && t.x.flops > 0 {
		return t.x.flops
	}
	if t.codelet.Flops == nil {
		return 0
	}
	var n float64
	t.codelet.ask(func() {
		var ds []iface.Desc
		n = t.flops(&ds)
	})
	return n
}

// ask calls fn, which calls Flops or Work. A panic ends it.
func (c *Codelet) ask(fn func()) {
	if !c.Bounded {
		isolate.Call(fn)
		return
	}
	defer func() { _ = recover() }()
	fn()
}
