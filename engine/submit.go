package engine

// Submission: operands, arguments, options, and the place of the call.

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// TaskSpec describes one task. Submit copies what it needs, so a caller may use
// one TaskSpec and its slices over and over. Only Codelet is needed.
type TaskSpec struct {
	Codelet  *Codelet
	Operands []Operand      // data, in the order in which kernels number it
	Args     []iface.Scalar // plain values, likewise
	// Priority, higher, makes the task run earlier and get a lock (COMMUTE, accesses without
	// order) earlier, as far as the policy promises that, see sched.Promise.
	Priority int
	Name     string  // in errors and traces; "" for none
	Color    int     // in traces; 0: the codelet's
	Flops    float64 // estimate of the work; 0: the codelet's
	Workers  []int   // workers that may run it; nil: all
	// After lists tasks, gates and tags that the task waits for, besides the order
	// that its operands give. When such a task failed or was cancelled, this
	// one is cancelled. A tag that was removed is a *TagError.
	After []Dependency
	// Unordered gives the task no order with other tasks through its operands, as
	// Operand.Unordered does for one of them; it still excludes those that conflict
	// with it.
	Unordered bool
	Origin    Origin // where the program does it, for errors and traces

	closure unsafe.Pointer // of a codelet that the functions of Job.Go share: which of them
}

// Dependency is an explicit dependency of a task: a *Task, a *Gate or a *Tag.
type Dependency interface {
	// addSuccessor makes t wait; false: there is nothing to wait for.
	addSuccessor(sub datamgr.Submission, t *task) bool
}

// Call is one call that was on the program's stack when a task was submitted.
// It is immutable and shared.
type Call struct {
	Parent *Call  // the call around it; nil: none
	Site   *Site  // of the call
	Text   string // as written: "cholesky(t, nt)"
}

// Origin says where a task was submitted. It is plain data, stored in the task.
type Origin struct {
	Site *Site    // nil: not known
	Call *Call    // innermost call; nil at top level
	Vars [2]int64 // values of Site.VarNames, such as loop variables
}

// Submission.

// Submit submits a task and forgets it: its record is used again when it has
// ended. It waits only while the job's window is full (see Options.Window and
// JobOptions.MaxInFlight), and briefly when the job is far ahead of workers on short
// tasks. Errors, after which nothing was submitted: *ModeError,
// *TypeError, *ShapeError, *UninitError, *DeadHandleError, *ReadOnlyError,
// *NoReductionError, *NoImplementationError, *FullError, ErrClosed, or the cause of the
// job's context. A task whose data was lost by a failure is accepted, and
// cancelled when its turn comes.
func (j *Job) Submit(s *TaskSpec) error { return j.submit(s, nil) }

// SubmitTask is Submit for a task to keep.
func (j *Job) SubmitTask(s *TaskSpec) (*Task, error) {
	t := j.newKept(nil)
	if err := j.submit(s, t); err != nil {
		return nil, err
	}
	return t, nil
}

func (j *Job) submit(s *TaskSpec, keep *Task) error {
	if s == nil {
		return &NoImplementationError{}
	}
	rt, c := j.rt, s.Codelet
	if c == nil || c.Traits != nil || len(c.CPU) != 1 {
		return j.submitSpecial(s, keep)
	}
	if err := rt.checkModes(s); err != nil {
		return err
	}
	if c.Shape != nil {
		if err := j.checkShape(s); err != nil {
			return err
		}
	}
	sub := rt.reg.Lock()
	var err error
	if j.submitted >= j.look {
		sub, err = j.keepPace(sub)
	}
	if err == nil {
		err = j.make(sub, s, keep)
	}
	sub.Unlock()
	if rt.opt.Sequential {
		rt.drain()
	}
	return err
}

// make makes the task and lets it go.
func (j *Job) make(sub datamgr.Submission, s *TaskSpec, keep *Task) (err error) {
	rt := j.rt
	if err := j.open(sub); err != nil {
		return err
	}
	var allowed *sched.Set
	if s.Workers != nil {
		if allowed, err = rt.workerSet(sub, s.Workers); err != nil {
			return err
		}
	}
	if rt.nodes > 1 {
		if allowed, err = rt.whereItFits(sub, s, allowed); err != nil {
			return err
		}
	}
	plain := datamgr.Plain{Accesses: -1}
	if keep == nil && s.After == nil && !s.Unordered && s.Name == "" && s.Color == 0 && s.Flops == 0 &&
		!(j.opt.Deterministic && fixes(s.Operands)) {
		plain = sub.CountPlain(s.Operands)
	} else if err := rt.checkAfter(sub, s.After); err != nil {
		return err
	} else if err := checkLast(sub, s, keep); err != nil {
		return err
	}
	n := plain.Accesses
	t := rt.newTask(sub, n > plainAcc || len(s.Operands) > plainOps)
	t.job, t.codelet = j, s.Codelet
	t.setOrigin(&s.Origin)
	t.setArgs(s.Args)
	if s.closure != nil {
		t.setClosure(s.closure)
	}
	t.Allowed = allowed
	if p := s.Priority; p != 0 {
		t.Priority = int32(max(min(p, 1<<30), -1<<30))
		if !rt.ranked.Load() {
			rt.ranked.Store(true)
		}
	}
	var waits int32
	if n >= 0 {
		t.setOperands(s.Operands)
		acc := t.accessSlots(n)
		h := plain.Commuting
		if n == 1 && h == nil {
			// All is done before the access is registered, so that the record is not
			// touched any more while it waits: 36 instead of 41 ns, and a chain takes
			// 0.88 to 0.97 of the time. With more accesses, where one may end before the
			// next is registered, it brings nothing.
			j.count(sub, t, s)
			t.ArmOne()
			if sub.RegisterPlain(plain, &t.Waiter, s.Operands, acc) == 0 {
				rt.pushOutside(sub, t)
			}
			return nil
		}
		if n >= heavyAccesses {
			t.weigh(sub, n)
		}
		t.Arm()
		waits = sub.RegisterPlain(plain, &t.Waiter, s.Operands, acc)
		j.count(sub, t, s)
		var one *datamgr.LockPlace
		if h != nil {
			one = t.lockPlace()
			t.marks |= hasLock
			one.InitSingle(sub, &t.Waiter, h, t.Allowed == nil && t.Priority == 0)
		}
		if t.Settle(waits) && (one == nil || !one.QueueSingle()) {
			rt.pushOutside(sub, t)
		}
		return nil
	}
	var parent *Subgraph
	if keep != nil && keep.opts != nil {
		parent = keep.opts.parent
	}
	for i := range s.Operands {
		if h := s.Operands[i].Handle; !rt.reg.Owns(h) || !h.Alive() && parent == nil {
			rt.unused(sub, t)
			return rt.alive(i, h)
		}
	}
	sub.Tidy(s.Operands)
	x := t.extend()
	t.setOperands(s.Operands)
	x.name, x.color, x.flops, x.public, x.allUnordered = s.Name, s.Color, s.Flops, keep, s.Unordered
	if parent != nil {
		parent.share(sub, t.operands())
	}
	rt.share(sub, t)
	ops := t.operands()
	for i := range ops {
		op := &ops[i]
		if op.Mode == iface.Redux && !managed(op.Handle).CanReduce(sub) {
			rt.unused(sub, t)
			return &NoReductionError{Operand: i, Handle: s.Operands[i].Handle}
		}
		op.Unordered = op.Unordered || s.Unordered || sub.Unordered(op.Handle)
	}
	if parent != nil {
		waits, err = parent.register(sub, t, s)
	} else {
		rt.closeGroups(sub, j, ops, t)
		rt.initialise(sub, j, ops, t)
		waits, err = rt.register(sub, t, datamgr.MergeOptions{InOrder: j.opt.Deterministic}, s.After)
	}
	if err != nil {
		rt.unused(sub, t)
		return err
	}
	t.weigh(sub, int(t.nacc)+len(s.After))
	if j.opt.Deterministic {
		x.reserve(sub, ops)
	}
	if keep != nil {
		if keep.id == 0 {
			keep.id = j.submitted + 1
		}
		keep.begin(sub, t)
		if keep.opts != nil {
			waits += keep.opts.attach(sub, t, s)
		}
	}
	j.count(sub, t, s)
	if waits == 0 && keep != nil {
		t.WaitsForNothing() // for Task.State
	}
	if t.Settle(waits) {
		rt.pushOutside(sub, t)
	}
	return nil
}

// count counts t, which s describes, and tells the listener.
func (j *Job) count(sub datamgr.Submission, t *task, s *TaskSpec) {
	rt := j.rt
	j.submitted++
	j.live++
	t.Order = j.submitted
	if j.stats != nil {
		j.stats.submitted(sub, t.codelet)
	}
	if rt.nodes > 1 {
		datamgr.Expect(t.operands(), rt.when(t))
	}
	if rt.hasListeners() {
		rt.submittedEvent(sub, t, s.After)
	}
}

// register registers the accesses of a general task and returns how many things
// it waits for.
func (rt *Runtime) register(sub datamgr.Submission, t *task, opt datamgr.MergeOptions, after []Dependency) (int32, error) {
	x, ops := t.x, t.operands()
	m, bad := sub.Merge(ops, opt)
	if bad.Kind != datamgr.NoProblem {
		return 0, problem(ops, bad)
	}
	x.needLocks, x.shared = m.Locks, m.Shared
	acc := t.accessSlots(m.Ordered)
	t.Arm()
	waits := m.Register(sub, &t.Waiter, ops, acc)
	x.unordered = m.Unordered(x.unordered[:0])
	if x.copies != nil || x.shares != nil {
		waits += x.await(t)
	}
	if len(x.unordered) > 0 {
		for i := range ops {
			if ops[i].Unordered && ops[i].Mode != iface.Scratch {
				waits += managed(ops[i].Handle).AwaitMaking(sub, &t.Waiter)
			}
		}
	}
	for _, d := range after {
		if d.addSuccessor(sub, t) {
			waits++
		}
	}
	return waits, nil
}

// problem makes an error of what Merge found.
func problem(ops []Operand, p datamgr.Problem) error {
	h, m := ops[p.Operand].Handle, ops[p.Operand].Mode
	switch p.Kind {
	case datamgr.NoValue:
		return &UninitError{Operand: p.Operand, Handle: h, Why: p.Why, At: p.At, Partial: p.Partial}
	case datamgr.ReduxShared:
		return &ModeError{Operand: p.Operand, Handle: h, Mode: m, Other: p.Other,
			Message: fmt.Sprintf("%s shares elements with another operand of the task, and one of them is used as REDUX; REDUX must be the only use", describe(h))}
	}
	return &ModeError{Operand: p.Operand, Handle: h, Mode: m, Other: p.Other,
		Message: fmt.Sprintf("%s shares elements with %s, one of them is written, and no piece of memory can hold both: one is not contiguous and needs a packed copy; use two tasks",
			describe(h), describe(ops[p.Other].Handle))}
}

// checkModes checks what needs no lock.
func (rt *Runtime) checkModes(s *TaskSpec) error {
	c, nodes := s.Codelet, rt.nodes
	if c.Modes != nil && len(c.Modes) != len(s.Operands) {
		return &ModeError{Operand: min(len(c.Modes), max(len(s.Operands)-1, 0)), Other: -1,
			Message: fmt.Sprintf("codelet %s has %d operands, and got %d", c.Name, len(c.Modes), len(s.Operands))}
	}
	if len(s.Operands) > 1<<14 {
		return &ModeError{Other: -1, Message: fmt.Sprintf("a task of %d operands; it can have %d", len(s.Operands), 1<<14)}
	}
	for i := range s.Operands {
		op := &s.Operands[i]
		if op.Handle == nil {
			return &ModeError{Operand: i, Mode: op.Mode, Other: -1, Message: fmt.Sprintf("operand %d of %s is nil", i, c.Name)}
		}
		if op.Mode == iface.NoMode || op.Mode > iface.Scratch {
			return &ModeError{Operand: i, Handle: op.Handle, Mode: op.Mode, Other: -1,
				Message: fmt.Sprintf("operand %d of %s has no access mode; use R, W, RW, COMMUTE, REDUX or SCRATCH", i, c.Name)}
		}
		if c.Modes != nil {
			if want := c.Modes[i]; want != op.Mode && !(want == iface.RW && (op.Mode == iface.Commute || op.Mode == iface.Redux)) {
				return &ModeError{Operand: i, Handle: op.Handle, Mode: op.Mode, Want: want, Other: -1,
					Message: fmt.Sprintf("%s declares operand %d as %v, and got %v", c.Name, i, want, op.Mode)}
			}
		}
		if int(op.Pin) > nodes {
			return rt.checkNode(int(op.Pin) - 1)
		}
		if op.Mode.Writes() && op.Handle.ReadOnly() {
			return &ReadOnlyError{Operand: i, Handle: op.Handle, Mode: op.Mode}
		}
	}
	if c.Types != nil {
		return c.checkTypes(s.Operands, s.Args)
	}
	return nil
}

// checkShape runs the codelet's shape function; its panics are errors.
func (j *Job) checkShape(s *TaskSpec) error {
	buf := j.descs.Swap(nil)
	if buf == nil {
		buf = new([]iface.Desc)
	}
	ops := (*buf)[:0]
	for i := range s.Operands {
		ops = append(ops, s.Operands[i].Handle.Desc())
	}
	err := callShape(s.Codelet, ops, s.Args)
	*buf = ops
	j.descs.Store(buf)
	return err
}

func callShape(c *Codelet, ops []iface.Desc, args []iface.Scalar) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("engine: shape function of %s: %w", c.Name, newPanic(v))
		}
	}()
	return c.Shape(ops, args)
}

// workerSet returns the set of the given workers.
func (rt *Runtime) workerSet(_ datamgr.Submission, ws []int) (*sched.Set, error) {
	for _, w := range ws {
		if w < 0 || w >= len(rt.workers) {
			return nil, &NoWorkerError{Workers: slices.Clone(ws), Have: len(rt.workers)}
		}
	}
	if len(ws) == 0 {
		return nil, &NoWorkerError{Have: len(rt.workers)}
	}
	if rt.opt.Sequential && rt.opt.Plan == nil || len(rt.workers) == 1 {
		return nil, nil // all there are
	}
	s := sched.NewSet(ws...)
	if old := rt.sets[s.Key()]; old != nil {
		return old, nil
	}
	if len(rt.sets) > 1024 { // programs use few sets; these did not
		clear(rt.sets)
	}
	rt.sets[s.Key()] = s
	return s, nil
}

// Explicit dependencies of tasks.

// checkAfter reports a dependency that is nil, another runtime's, or a removed tag.
// The lock stays held until the dependencies are recorded: a tag may be removed
// at any other time.
func (rt *Runtime) checkAfter(_ datamgr.Submission, after []Dependency) error {
	for i, d := range after {
		var j *Job
		switch d := d.(type) {
		case *Task:
			if d != nil {
				j = d.job
			}
		case *Gate:
			if d != nil {
				j = d.job
			}
		case *Tag:
			if d != nil {
				j = d.job
			}
		}
		switch {
		case j == nil:
			return fmt.Errorf("engine: dependency %d of a task is nil; leave it out", i)
		case j.rt != rt:
			return fmt.Errorf("engine: dependency %d of a task belongs to another runtime, which has an order of its own; wait for it before you submit", i)
		}
		if t, ok := d.(*Tag); ok && t.removed {
			return t.errorf("was removed, and is dependency %d of a task; leave it out, or make a new tag", i)
		}
	}
	return nil
}

// Operands that stay on a memory node while the task runs elsewhere.

// nodeFor is where a task on the worker has an operand.
func (w *worker) nodeFor(op *Operand) int {
	if op.Pin == datamgr.PinTo(0) {
		return 0
	}
	return w.node
}

// pinned reports whether an operand has a node of its own.
func pinned(s *TaskSpec) bool {
	return slices.ContainsFunc(s.Operands, func(op Operand) bool { return op.Pin != 0 })
}

// takes reports whether the worker can use the operands where they are pinned.
func (w *worker) takes(s *TaskSpec) bool {
	for i := range s.Operands {
		switch n, ok := s.Operands[i].Pin.Node(); {
		case !ok || n == w.node:
		case n > 0, w.arch != cpuArch && !slices.Contains(s.Codelet.FromMain, i):
			return false
		}
	}
	return true
}

// checkApart refuses operands that share elements and could not share memory.
func (rt *Runtime) checkApart(s *TaskSpec) error {
	if !pinned(s) {
		return nil
	}
	i, k, bad := datamgr.Apart(s.Operands)
	if !bad {
		return nil
	}
	a, b := &s.Operands[i], &s.Operands[k]
	return &ModeError{Operand: i, Handle: a.Handle, Mode: a.Mode, Other: k,
		Message: fmt.Sprintf("%s shares elements with %s, one of them is written, and one of them only is pinned to main memory; pin both, or none", describe(a.Handle), describe(b.Handle))}
}

// PinError says that no worker that may run a task can use its operands where they
// are pinned.
type PinError struct {
	Operand int // the first pinned operand
	Node    NodeInfo
	Codelet *Codelet
}

func (rt *Runtime) pinError(s *TaskSpec) error {
	for i := range s.Operands {
		if n, ok := s.Operands[i].Pin.Node(); ok {
			return &PinError{Operand: i, Node: rt.Nodes()[n], Codelet: s.Codelet}
		}
	}
	return nil
}

func (e *PinError) Error() string {
	return fmt.Sprintf("operand %d of %s is pinned to %s, and no worker that may run the task can use it there; leave the pin out, or let the task run on other workers", e.Operand, e.Codelet.Name, e.Node.Name)
}
