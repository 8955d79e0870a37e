package engine

// Layout: where the fields of a task's record lie, and the casts that rest on it.
//
// A task without data takes about 70 ns, and a cache line that both submitter and worker
// touch 60 to 100 ns on its way from one core to the other (BENCHMARKS.md). So a record is
// three lines, or ten for a task with many operands, and only some of them are touched. On
// 64-bit machines, with 64 bytes to a line:
//
//	line 0   0 Waiter           16 Item                     40 job      48 codelet    56 nacc … general
//	line 1  64 acc[0]           88 acc[1]                  112 acc[2]                136 …
//	line 2   … ops[0]          152 ops[1]     168 ops[2]   184 x
//
//	of a wideTask only:
//	line 3 … 4              192 ops, 8 of them: instead of those of line 1 and 2
//	line 5 … 9              320 acc, 12 of them                             608 padding to 640
//
//	taskExtra, at x, which a task with arguments or an origin has:
//	line 0   0 args             24 origin                                             56 generalTask
//
//	generalTask, in a block of 576 bytes:
//	line 0   0 locks: LockPlace                            40 taken     …
//
//   - A task without data touches line 0 only. Its accesses begin on line 1, which the
//     worker that releases it asks for together with line 0: prefetchWaiter of datamgr
//     takes the line before an access for the head of its record.
//   - The wide arrays lie behind the record, where they are found without a look at a
//     pointer that has to be fetched first: that took a third off a stencil's tasks.
//   - A plain task that commutes has one access, and its LockPlace lies over acc[1] and
//     acc[2], on a line that both sides look at anyway. Both consist of pointers only, so
//     the collector finds them either way.
//   - The closure of a function is the last argument, as a string of its first byte: that
//     keeps it alive, and the record at three lines.
//   - Other packages know a part of a record only: datamgr.Waiter, in lists by its link,
//     and sched.Item. Their casts are taskOf and itemTask. A Waiter is 16 bytes, a link
//     included that free records use, too.
//   - Slabs of records are larger than 32 KiB, so that no header shifts them off the lines.
//
// Package datamgr does the same with its epochs, fragments and locks, which it asserts
// beside them. Fields that one goroutine owns until it publishes them are stored without
// a bus lock there (storeOwned): that took 15 % off the submission of a task with three
// operands.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// task is one submitted task. It is recycled when it has ended.
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

const (
	hasArgs    = 1 << iota // args are those of the task
	hasOrigin              // origin is that of the task
	isWide                 // the record is part of a wideTask
	hasLock                // lockPlace is that of the task, which is plain and commutes
	hasClosure             // the last of args is the closure of a function, see setClosure
	isHeavy                // weight is that of the task
)

// wideTask is the record of a task with more operands or accesses than task has
// room for: they lie behind it.
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

// taskOf and itemTask turn the parts of a task that other packages know back
// into the task.
func taskOf(w *datamgr.Waiter) *task { return (*task)(unsafe.Pointer(w)) }

func itemTask(it *sched.Item) *task {
	return (*task)(unsafe.Add(unsafe.Pointer(it), -int(unsafe.Offsetof(task{}.Item))))
}

func waiterOf(t *task) *datamgr.Waiter {
	if t == nil {
		return nil
	}
	return &t.Waiter
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

// setOperands gives t the operands ops. It is small enough to be inlined in insert, and so is
// accessSlots: without, a task without data takes 4 % more instructions.
func (t *task) setOperands(ops []Operand) {
	t.nops = uint8(min(len(ops), 255))
	switch len(ops) {
	case 0:
	case 1:
		copyOperand(&t.ops[0], &ops[0])
	default:
		t.copyOperands(ops)
	}
}

// copyOperand copies an operand field by field: a copy of the whole waits for fields that the
// program stored just now.
func copyOperand(to, from *Operand) {
	to.Handle, to.Mode, to.Unordered, to.Pin = from.Handle, from.Mode, from.Unordered, from.Pin
}

// copyOperands copies operands to the record.
func (t *task) copyOperands(ops []Operand) {
	switch n := len(ops); {
	case n <= len(t.ops):
		for i := range ops {
			copyOperand(&t.ops[i], &ops[i])
		}
	case t.marks&isWide != 0 && n <= wideOps:
		copy(t.wide().ops[:], ops)
	default:
		x := t.generalPart()
		x.ops = append(x.ops[:0], ops...)
	}
}

// accessSlots returns room for n accesses.
func (t *task) accessSlots(n int) []datamgr.Access {
	t.nacc = int32(n)
	if n <= len(t.acc) {
		return t.acc[:n]
	}
	return t.manyAccessSlots(n)
}

// manyAccessSlots is accessSlots for more accesses than the first part of a record holds.
func (t *task) manyAccessSlots(n int) []datamgr.Access {
	if t.marks&isWide != 0 && n <= wideAcc {
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

// lockPlace is what a plain task has of its lock: beside its access when it has
// one only, on a line that both sides look at anyway.
func (t *task) lockPlace() *datamgr.LockPlace {
	if t.nacc == 1 {
		return (*datamgr.LockPlace)(unsafe.Pointer(&t.acc[1]))
	}
	return &t.generalPart().locks.LockPlace
}

// recordLines is how many cache lines the records of either size take.
var recordLines = [2]int{int(unsafe.Sizeof(task{}) / 64), int(unsafe.Sizeof(wideTask{}) / 64)}

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

// size is the index of t's size in tables: 0 for ordinary records, 1 for wide ones.
func (t *task) size() int { return int(t.marks & isWide / isWide) }

// Assertions of the layout. An index other than 0 does not compile.
func _() {
	const is64 = unsafe.Sizeof(uintptr(0)) / 8 // lines are counted on 64-bit machines only
	var (
		zero [1]struct{}
		t    task
		w    wideTask
		x    taskExtra
		g    generalTask
	)
	// casts
	_ = zero[unsafe.Offsetof(t.Waiter)]                                                // taskOf
	_ = zero[unsafe.Offsetof(w.task)]                                                  // wide
	_ = zero[unsafe.Offsetof(g.locks)]                                                 // generalTask begins with the line of its locks
	_ = zero[unsafe.Sizeof(datamgr.LockPlace{})/(2*unsafe.Sizeof(datamgr.Access{})+1)] // lockPlace: it fits
	_ = zero[unsafe.Alignof(datamgr.LockPlace{})-unsafe.Alignof(datamgr.Access{})]
	// line 0
	_ = zero[is64*unsafe.Sizeof(datamgr.Waiter{})-is64*16]
	_ = zero[is64*unsafe.Offsetof(t.general)-is64*63]
	// lines 1 and 2
	_ = zero[is64*unsafe.Offsetof(t.acc)-is64*64]
	_ = zero[is64*unsafe.Offsetof(t.x)-is64*184]
	_ = zero[is64*unsafe.Sizeof(t)-is64*3*64]
	// the lines behind
	_ = zero[is64*unsafe.Offsetof(w.wideOperands)-is64*3*64]
	_ = zero[is64*unsafe.Offsetof(w.wideOperands.acc)-is64*2*64]
	_ = zero[is64*unsafe.Sizeof(w)-is64*10*64]
	_ = zero[is64*unsafe.Sizeof(x)-is64*64]
	_ = zero[(is64*unsafe.Sizeof(g)-is64*513)/128] // the allocator's blocks of 576 and 640 bytes begin with a line
	// lists of free records do not share a line
	_ = zero[is64*unsafe.Sizeof(freeTasks{})-is64*2*64]
}
