package engine

// Tasks: the recycled record of what was submitted, and the Task that a program
// may keep.

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
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
	specialTask    // a task of the program that has something to do before the policy sees it
	joinGangMarker // no task: see joinGang
	unregisterTask
	gatherTask
)

var kindNames = [...]string{"", "reduce", "init", "duplicate", "acquire", "invalidate", "relay", "", "", "unregister", "gather"}

// light reports whether the releaser runs tasks of kind k itself, instead of giving them
// to the policy, as they have no kernel.
func (k kind) light() bool { return k >= acquireTask && k <= unregisterTask }

// task is one submitted task. It is recycled when it has ended.
//
// It takes three cache lines, and each one that is touched travels between the submitter
// and a worker. A task without data uses the first only; the others have the accesses and
// operands.
type task struct {
	datamgr.Waiter
	sched.Item // Order is the task's number in its job

	job     *Job
	codelet *Codelet
	nacc    int32
	nops    uint8 // above len(ops): x.ops has them
	marks   uint8
	kind    kind
	general bool // x holds more than operands and accesses
	acc     [plainAcc]datamgr.Access
	ops     [plainOps]Operand
	x       *taskExtra // what a small task does not need; kept when recycled
}

// taskExtra is what a small task does not need: first what tasks of scripts have, on a
// line of its own, then what general tasks have. In a recycled record its fields belong
// to another task, until marks or general say otherwise.
type taskExtra struct {
	args   []iface.Scalar
	origin Origin
	*generalTask
}

// generalTask is what general tasks have, and those with many operands.
type generalTask struct {
	locks        datamgr.LockSet
	ops          []Operand
	acc          []datamgr.Access
	accMoved     bool // accesses are in acc, however few they are
	needLocks    bool
	allUnordered bool
	shared       bool // operands share fragments
	place        datamgr.Placement
	unordered    []*datamgr.Datum
	redux        []datamgr.Contribution
	name         string
	color        int
	flops        float64
	public       *Task
	lost         atomic.Pointer[failure] // an explicit dependency did not run
	access       *Access
	h            *datamgr.Handle      // of what the engine submitted itself
	dup          *datamgr.Duplicate   // that is copied
	copies       []*datamgr.Duplicate // that t made necessary, until it is registered
	shares       []*datamgr.Datum     // duplicates that t reads where they share, until then
	none         []datamgr.Box
	all          bool
	making       *datamgr.Making // of a reduction or an initialisation
	hold         *datamgr.Hold   // of a light task that started
	target       *Task           // of a relay: the task whose end it delays
	times        *taskTimes      // with Options.Profile
	tried        uint64          // nodes where it could not run
	node         int             // of a gathering
	weight       int64           // in Job.heavy; fills the last cache line, so that locks is one
}

// taskOf and itemTask turn the parts of a task that other packages know back
// into the task.
func taskOf(w *datamgr.Waiter) *task { return (*task)(unsafe.Pointer(w)) }

func itemTask(it *sched.Item) *task {
	return (*task)(unsafe.Add(unsafe.Pointer(it), -int(unsafe.Offsetof(task{}.Item))))
}

func (t *task) numOperands() int {
	if t.nops < 255 {
		return int(t.nops)
	}
	return len(t.x.ops)
}

// operands returns the operands; the slice is the task's.
func (t *task) operands() []Operand {
	switch n := int(t.nops); {
	case n <= len(t.ops):
		return t.ops[:n]
	case t.marks&isWide != 0 && n <= wideOps:
		return t.wide().ops[:n]
	}
	return t.x.ops
}

func (t *task) setOperands(ops []Operand) {
	t.nops = uint8(min(len(ops), 255))
	switch n := len(ops); {
	case n <= len(t.ops):
		for i := range ops { // one by one: a copy waits for fields that were stored just now
			to := &t.ops[i]
			to.Handle, to.Mode, to.Unordered, to.Pin = ops[i].Handle, ops[i].Mode, ops[i].Unordered, ops[i].Pin
		}
	case t.marks&isWide != 0 && n <= wideOps:
		copy(t.wide().ops[:], ops)
	default:
		x := t.generalPart()
		x.ops = append(x.ops[:0], ops...)
	}
}

// extra returns the task's ext, without rest unless it has that already.
func (t *task) extra() *taskExtra {
	if t.x == nil {
		t.x = &taskExtra{}
	}
	return t.x
}

const (
	hasArgs    = 1 << iota // args are those of the task
	hasOrigin              // origin is that of the task
	isWide                 // the record is part of a wideTask
	hasLock                // lockPlace is that of the task, which is plain and commutes
	hasClosure             // the last of args is the closure of a function, see setClosure
	isHeavy                // weight is that of the task
)

// wideTask is the record of a task with more operands or accesses than task has
// room for: they lie behind it, where they are found without a look at a pointer
// that has to be fetched first. That took a third off a stencil's tasks.
type wideTask struct {
	task
	wideOperands
	_ [32]byte
}

type wideOperands struct {
	ops [wideOps]Operand
	acc [wideAcc]datamgr.Access
}

const (
	plainOps, plainAcc = 3, 3
	wideOps, wideAcc   = 8, 12
)

func (t *task) wide() *wideOperands { return &(*wideTask)(unsafe.Pointer(t)).wideOperands }

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

// setClosure says which function the kernel of a new task calls; the arguments are set.
// The closure lies behind them, as a string of its first byte: that keeps it alive, and
// the record stays three cache lines.
func (t *task) setClosure(fn unsafe.Pointer) {
	x := t.extra()
	if t.marks&hasArgs == 0 {
		x.args = x.args[:0]
	}
	x.args = append(x.args, iface.Str(unsafe.String((*byte)(fn), 1)))
	t.marks |= hasArgs | hasClosure
}

// closure returns what setClosure was given.
func (t *task) closure() unsafe.Pointer {
	args := t.x.args
	return unsafe.Pointer(unsafe.StringData(args[len(args)-1].Str()))
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

// accessSlots returns room for n accesses.
func (t *task) accessSlots(n int) []datamgr.Access {
	t.nacc = int32(n)
	switch {
	case n <= len(t.acc):
		return t.acc[:n]
	case t.marks&isWide != 0 && n <= wideAcc:
		return t.wide().acc[:n]
	}
	x := t.generalPart()
	if cap(x.acc) < n {
		x.acc = make([]datamgr.Access, n)
	}
	x.acc = x.acc[:n]
	return x.acc
}

func (t *task) accesses() []datamgr.Access {
	switch n := int(t.nacc); {
	case t.general && t.x.accMoved:
	case n <= len(t.acc):
		return t.acc[:n]
	case t.marks&isWide != 0 && n <= wideAcc:
		return t.wide().acc[:n]
	}
	return t.x.acc[:t.nacc]
}

// generalPart returns the task's ext for storage.
func (t *task) generalPart() *taskExtra {
	x := t.extra()
	if x.generalTask == nil {
		x.generalTask = &generalTask{}
	}
	return x
}

// lockPlace is what a plain task has of its lock: beside its access when it has
// one only, on a line that both sides look at anyway.
func (t *task) lockPlace() *datamgr.LockPlace {
	if t.nacc == 1 {
		return (*datamgr.LockPlace)(unsafe.Pointer(&t.acc[1]))
	}
	return &t.generalPart().locks.LockPlace
}

// A LockPlace fits into two accesses.
const _ = 2*unsafe.Sizeof(datamgr.Access{}) - unsafe.Sizeof(datamgr.LockPlace{})

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

func (t *task) name() string {
	if t.general {
		return t.x.name
	}
	return ""
}

// recordLines is how many cache lines the records of either size take.
var recordLines = [2]int{int(unsafe.Sizeof(task{}) / 64), int(unsafe.Sizeof(wideTask{}) / 64)}

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

// freshTask takes a record from a new slab. Those are above 32 KiB, where no
// header shifts them off the cache lines, and whole numbers of 8 KiB, which is
// what the allocator gives: 192 records would take the room of 213.
func (rt *Runtime) freshTask(_ datamgr.Submission, wide bool) *task {
	if wide {
		if len(rt.wideSlab) == 0 {
			rt.wideSlab = make([]wideTask, 64)
		}
		t := &rt.wideSlab[0].task
		rt.wideSlab = rt.wideSlab[1:]
		t.marks = isWide
		return t
	}
	if len(rt.slab) == 0 {
		rt.slab = make([]task, 256)
	}
	t := &rt.slab[0]
	rt.slab = rt.slab[1:]
	// Writes come first: a page that is read before it is written costs two faults,
	// and an interrupt of the other cores. The record's last word may be on another.
	t.marks, t.x = 0, nil
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

// size is the index of t's size in tables: 0 for ordinary records, 1 for wide ones.
func (t *task) size() int { return int(t.marks & isWide / isWide) }

// unused gives back a task that was never submitted.
func (rt *Runtime) unused(_ datamgr.Submission, t *task) {
	t.clear()
	f := rt.freed(t)
	t.SetNext(waiterOf(f.list))
	f.list = t
}

func waiterOf(t *task) *datamgr.Waiter {
	if t == nil {
		return nil
	}
	return &t.Waiter
}

// heavyAccesses is how many accesses and explicit dependencies a task has before it counts
// as more than one in the window of its job: about as many as its record has room for.
const heavyAccesses = 16

// heavyRoom is for how many accesses a record that is used again keeps room. There may be
// as many records as tasks fit in the window, and each comes to be used by any task.
const heavyRoom = 64

// weigh has t, which has n accesses and explicit dependencies, count as several tasks if
// those are many. The next submission looks at the window then.
func (t *task) weigh(_ datamgr.Submission, n int) {
	if n < heavyAccesses {
		return
	}
	t.generalPart().weight = int64(n / heavyAccesses)
	t.marks |= isHeavy
	t.job.heavy.Add(t.x.weight)
	t.job.look = 0
}

// clear forgets what would keep others' memory alive.
func (t *task) clear() {
	if t.marks&isHeavy != 0 {
		t.job.heavy.Add(-t.x.weight)
		t.marks &^= isHeavy
		if cap(t.x.acc) > heavyRoom {
			t.x.acc = nil
		}
		if cap(t.x.ops) > heavyRoom {
			t.x.ops = nil
		}
	}
	if t.general {
		x := t.x
		x.public, x.access, x.h, x.name, x.none, x.hold, x.target, x.dup = nil, nil, nil, "", nil, nil, nil, nil
		x.accMoved = false
		t.general = false
	}
	if t.marks&hasClosure != 0 {
		clear(t.x.args)
	}
	t.job, t.codelet, t.Allowed = nil, nil, nil
	t.kind, t.Priority = userTask, 0
}
