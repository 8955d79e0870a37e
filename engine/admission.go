package engine

// Admission, the first step of a submission: the checks of all that the caller passed. The
// first mistake found is the error of the submission, so the order of the checks is part of
// what programs see:
//
//	checkSpec      operands, modes, nodes, types; sizes, by the shape function of the codelet
//	checkSpecial   the same, between what the codelet can be and where the task can run
//	keepPace       room in the window of the job, for which it may wait (job.go)
//	admit          options: tag, place in a sequence, circles; whether the job is open;
//	               workers; the memory of their nodes
//	admitGeneral   dependencies; handles; reductions; membership in a sub-graph
//	problem        whether what is read has a value, and what operands share: found by
//	               Submission.Merge in the middle of the registration
//
// The first two need no lock and call functions of the program; the others need the
// submission lock. A check changes nothing but the options of its own task, which
// checkSpecial completes.

import (
	"fmt"
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// checkSpec checks what needs no lock: the operands against the codelet, and their sizes.
func (j *Job) checkSpec(s *TaskSpec) error {
	c := s.Codelet
	if c.Modes != nil && len(c.Modes) != len(s.Operands) {
		return &ModeError{Operand: min(len(c.Modes), max(len(s.Operands)-1, 0)), Other: -1,
			Message: fmt.Sprintf("codelet %s has %d operands, and got %d", c.Name, len(c.Modes), len(s.Operands))}
	}
	if len(s.Operands) > 1<<14 {
		return &ModeError{Other: -1, Message: fmt.Sprintf("a task of %d operands; it can have %d", len(s.Operands), 1<<14)}
	}
	for i := range s.Operands {
		op := &s.Operands[i]
		// The common operand is settled by five comparisons: a chain takes 2 % more
		// instructions where checkOperand looks at it.
		if h := op.Handle; h != nil && !h.ReadOnly() && op.Pin == 0 && op.Mode-1 < iface.Scratch && (c.Modes == nil || c.Modes[i] == op.Mode) {
			continue
		}
		if err := j.checkOperand(s, i); err != nil {
			return err
		}
	}
	if c.Types != nil {
		if err := c.checkTypes(s.Operands, s.Args); err != nil {
			return err
		}
	}
	if c.Shape != nil {
		return j.checkShape(s)
	}
	return nil
}

// checkOperand checks operand i against the codelet, the machine and its handle.
func (j *Job) checkOperand(s *TaskSpec, i int) error {
	c, op := s.Codelet, &s.Operands[i]
	if op.Handle == nil {
		return &ModeError{Operand: i, Mode: op.Mode, Other: -1, Message: fmt.Sprintf("operand %d of %s is nil", i, c.Name)}
	}
	if op.Mode == iface.NoMode || op.Mode > iface.CommuteW {
		return &ModeError{Operand: i, Handle: op.Handle, Mode: op.Mode, Other: -1,
			Message: fmt.Sprintf("operand %d of %s has no access mode; use R, W, RW, COMMUTE, REDUX or SCRATCH", i, c.Name)}
	}
	if c.Modes != nil {
		if want := c.Modes[i]; want != op.Mode && want != op.Mode.Declared() {
			return &ModeError{Operand: i, Handle: op.Handle, Mode: op.Mode, Want: want, Other: -1,
				Message: fmt.Sprintf("%s declares operand %d as %v, and got %v", c.Name, i, want, op.Mode)}
		}
	}
	if int(op.Pin) > j.rt.nodes && op.Pin != datamgr.PinHome {
		return j.rt.checkNode(int(op.Pin) - 1)
	}
	if op.Mode.Writes() && op.Handle.ReadOnly() {
		return &ReadOnlyError{Operand: i, Handle: op.Handle, Mode: op.Mode}
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
	later := false
	for i := range s.Operands {
		h := s.Operands[i].Handle
		ops = append(ops, h.Desc())
		later = later || h.Resizable()
	}
	var err error
	if !later { // else checkSizes does it
		err = callShape(s.Codelet, ops, s.Args)
	}
	*buf = ops
	j.descs.Store(buf)
	return err
}

// checkSpecial is checkSpec for a task that has options, sp, or whose codelet is not plain. It
// completes sp and the workers of s.
func (j *Job) checkSpecial(s *TaskSpec, sp *taskOptions) error {
	if err := sp.checkCodelet(s); err != nil {
		return err
	}
	if err := j.checkSpec(s); err != nil {
		return err
	}
	if err := sp.restrict(j.rt, s); err != nil {
		return err
	}
	return sp.choose(j, s)
}

// checkCodelet checks that the codelet has implementations, or needs none, and completes the
// options from it.
func (sp *taskOptions) checkCodelet(s *TaskSpec) error {
	c := s.Codelet
	if c.bad != nil {
		return c.bad
	}
	if tr := c.Traits; tr != nil {
		if sp.Callback == nil {
			sp.Callback = tr.Callback
		}
		sp.nowhere = tr.Nowhere
		sp.retry = max(0, tr.Retry)
	}
	if sp.Retry != 0 {
		sp.retry = max(0, sp.Retry)
	}
	if sp.nowhere {
		return checkWithoutKernel(s)
	}
	if sp.retry > 0 {
		if err := checkRetry(s); err != nil {
			return err
		}
	}
	if len(c.CPU) == 0 && len(c.On) == 0 {
		return &NoImplementationError{Codelet: c}
	}
	return nil
}

// checkRetry checks that the operands of a task whose kernel may run again can be restored.
func checkRetry(s *TaskSpec) error {
	for i, op := range s.Operands {
		if op.Handle == nil || !op.Mode.Writes() || op.Mode.Declared() == iface.W {
			continue
		}
		if o := managed(op.Handle).Object(); o != nil && o.Copy == nil && o.Pack == nil {
			return &ModeError{Operand: i, Handle: op.Handle, Mode: op.Mode, Other: -1,
				Message: fmt.Sprintf("%s is %v in a task that may run again (Retry), and its values cannot be copied; give its Interface a Copy, or Pack and Unpack", describe(op.Handle), op.Mode)}
		}
	}
	return nil
}

func checkWithoutKernel(s *TaskSpec) error {
	c := s.Codelet
	if len(c.CPU) > 0 || len(c.On) > 0 {
		return fmt.Errorf("engine: codelet %s is for tasks without a kernel, and has an implementation; leave out one of the two", c.Name)
	}
	for i, op := range s.Operands {
		if op.Mode.Declared() == iface.W || op.Mode == iface.Redux || op.Mode == iface.Scratch {
			return &ModeError{Operand: i, Handle: op.Handle, Mode: op.Mode, Other: -1,
				Message: fmt.Sprintf("%s is %v in a task without a kernel, which gives no value; use R, or RW to keep others out", describe(op.Handle), op.Mode)}
		}
	}
	return nil
}

// restrict finds the workers that may run a task, and which implementations
// each of them can execute. It calls the program's predicates, so no lock is held.
func (sp *taskOptions) restrict(rt *Runtime, s *TaskSpec) (err error) {
	c := s.Codelet
	var can func(w WorkerInfo, impl int, ops []iface.Desc, args []iface.Scalar) bool
	if c.Traits != nil {
		can = c.Traits.CanExecute
	}
	if sp.Allow == nil && len(sp.Kinds) == 0 && (can == nil || sp.nowhere) {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("engine: where a task of %s may run: %w", c.Name, newPanic(v))
		}
	}()
	var ops []iface.Desc
	for _, op := range s.Operands {
		ops = append(ops, op.Handle.Desc())
	}
	most := 0
	for _, arch := range rt.archs {
		most = max(most, len(c.impls(arch)))
	}
	impls := make([][]int, most)
	var fit []int
	for w := range rt.workers {
		info := rt.info(w)
		if s.Workers != nil && !slices.Contains(s.Workers, w) ||
			len(sp.Kinds) > 0 && !slices.Contains(sp.Kinds, info.Kind) ||
			sp.Allow != nil && !sp.Allow(info) {
			continue
		}
		ok := can == nil || sp.nowhere
		for i := range c.impls(info.Arch) {
			if can != nil && can(info, i, ops, s.Args) {
				impls[i] = append(impls[i], w)
				ok = true
			}
		}
		if ok {
			fit = append(fit, w)
		}
	}
	for _, w := range s.Workers {
		if w < 0 || w >= len(rt.workers) {
			return &NoWorkerError{Workers: slices.Clone(s.Workers), Have: len(rt.workers)}
		}
	}
	if len(fit) == 0 {
		return &NoWorkerError{Workers: s.Workers, Have: len(rt.workers), Restricted: true, Codelet: c}
	}
	if s.Workers != nil || len(fit) < len(rt.workers) {
		s.Workers = fit
	}
	if can != nil {
		sp.can = make([]*sched.Set, len(impls))
		for i, ws := range impls {
			sp.can[i] = sched.NewSet(ws...)
		}
	}
	return nil
}

// choose sets the number of workers of a task and checks that they exist.
func (sp *taskOptions) choose(j *Job, s *TaskSpec) error {
	rt, c := j.rt, s.Codelet
	var tr Traits
	if c.Traits != nil {
		tr = *c.Traits
	}
	sp.size, sp.choice = sp.Size, sched.Gang{}
	have, usual := 0, 0
	if tr.Parallel != Single {
		most := tr.MaxWorkers
		if m := j.opt.MaxWorkers; m > 0 && (most == 0 || m < most) {
			most = m
		}
		have, usual = rt.gangWorkers(s, sp.Size, most)
	}
	fail := func(max int, format string, args ...any) error {
		return &SizeError{Size: sp.Size, Max: max, Message: fmt.Sprintf("a task of %s on %d workers: ", c.Name, sp.Size) + fmt.Sprintf(format, args...)}
	}
	switch {
	case tr.Parallel > SPMD:
		return fail(0, "the codelet has an unknown kind of parallelism, %d", tr.Parallel)
	case sp.Size < 0:
		return fail(have, "the number must be positive, or 0 for as many as there are")
	case tr.Parallel == Single:
		sp.size = 1
		if sp.Size > 1 {
			return fail(1, "its kernels run on one; set Traits.Parallel if they can use more")
		}
		return nil
	case tr.MaxWorkers > 0 && sp.Size > tr.MaxWorkers:
		return fail(tr.MaxWorkers, "its codelet can use %d at most", tr.MaxWorkers)
	case j.opt.MaxWorkers > 0 && sp.Size > j.opt.MaxWorkers:
		return fail(j.opt.MaxWorkers, "its job can use %d at most", j.opt.MaxWorkers)
	case rt.opt.Sequential:
		if sp.Size > MaxWorkers {
			return fail(MaxWorkers, "there can be %d", MaxWorkers)
		}
	case sp.Size > have:
		return fail(have, "it may run on %d; ask for fewer, or 0 for as many as there are", have)
	}
	if sp.size == 0 {
		if sp.size = usual; tr.MaxWorkers > 0 {
			sp.size = min(usual, tr.MaxWorkers)
		}
		if j.opt.MaxWorkers > 0 {
			sp.size = min(sp.size, j.opt.MaxWorkers)
		}
	}
	sp.choice = sched.Gang{Least: 1, Most: sp.size}
	if j.opt.Deterministic { // ranks divide the work, and sums may depend on that
		sp.choice.Least = sp.size
	}
	return nil
}

// gangWorkers removes from s.Workers, nil for all, the workers that cannot be in the gang of s, and
// returns how many workers the gang can have, and how many it gets if size is 0. Its size is size, or
// that of the first node if size is 0, and most at most. The members of a gang share memory: they are on
// the node of the first worker. If that worker is a CPU, they may be on any NUMA node that has
// enough of them. So a task that cannot use all workers of one node may still have its size on
// others.
func (rt *Runtime) gangWorkers(s *TaskSpec, size, most int) (have, usual int) {
	ws := s.Workers
	if ws == nil {
		for w := range rt.workers {
			ws = append(ws, w)
		}
	}
	if len(ws) == 0 || slices.ContainsFunc(ws, func(w int) bool { return w < 0 || w >= len(rt.workers) }) {
		return len(ws), len(ws) // an error, which is not ours
	}
	if pinned(s) {
		near := slices.DeleteFunc(slices.Clone(ws), func(w int) bool { return !rt.workers[w].takes(s) })
		if len(near) > 0 {
			ws = near
		}
	}
	first := rt.workers[ws[0]]
	on, seen := map[int]int{}, map[int]bool{}
	alike := slices.DeleteFunc(slices.Clone(ws), func(w int) bool {
		x := rt.workers[w]
		if seen[w] || x.kind != first.kind || x.kind != cpuArch && x.node != first.node {
			return true
		}
		seen[w], on[x.node] = true, on[x.node]+1
		have = max(have, on[x.node])
		return false
	})
	usual = on[first.node]
	if size <= 0 {
		size = usual
	}
	if size = min(size, have); most > 0 {
		size = min(size, most)
	}
	if rt.devices != nil {
		s.Workers = slices.DeleteFunc(alike, func(w int) bool { return on[rt.workers[w].node] < size })
	}
	return have, usual
}

// mayBePlain reports whether a task that the program forgets is plain if its operands are.
func (s *TaskSpec) mayBePlain(j *Job) bool {
	return s.After == nil && !s.Unordered && s.Name == "" && s.Color == 0 && math.Float64bits(s.Flops) == 0 &&
		!(j.opt.Deterministic && fixes(s.Operands))
}

// admit checks s, which checkSpec or checkSpecial has passed, against the state of the job and
// of the graph, and returns the workers that may run the task, nil for all. keep is nil for a
// task that the program forgets. plain says that the operands are plain and need no look;
// then, without Workers and devices, only the job is to be checked, which insert does itself.
func (j *Job) admit(sub datamgr.Submission, s *TaskSpec, keep *Task, plain bool) (allowed *sched.Set, err error) {
	rt := j.rt
	if keep != nil && keep.opts != nil {
		if err := keep.admitOptions(sub, s); err != nil {
			return nil, err
		}
	}
	if err := j.open(sub); err != nil {
		return nil, err
	}
	if s.Workers != nil {
		if allowed, err = rt.workerSet(sub, s.Workers); err != nil {
			return nil, err
		}
	}
	if rt.nodes > 1 {
		if allowed, err = rt.whereItFits(sub, s, allowed); err != nil {
			return nil, err
		}
	}
	if !plain {
		err = j.admitGeneral(sub, s, keep)
	}
	return allowed, err
}

// admitGeneral checks what a plain task has not, or has right.
func (j *Job) admitGeneral(sub datamgr.Submission, s *TaskSpec, keep *Task) error {
	rt := j.rt
	if err := rt.checkAfter(sub, s.After); err != nil {
		return err
	}
	if err := checkLast(sub, s, keep); err != nil {
		return err
	}
	var parent *Subgraph
	if keep != nil && keep.opts != nil {
		parent = keep.opts.parent
	}
	for i := range s.Operands {
		if h := s.Operands[i].Handle; !rt.reg.Owns(h) || !h.Alive() && parent == nil {
			return rt.alive(i, h)
		}
	}
	for i := range s.Operands {
		if op := &s.Operands[i]; op.Mode == iface.Redux && !managed(op.Handle).CanReduce(sub) {
			return &NoReductionError{Operand: i, Handle: op.Handle}
		}
	}
	if parent != nil {
		return parent.admit(sub, j, s)
	}
	return nil
}

// admitOptions checks the options of t: its tag, its place in a sequence, and whether it
// would close a circle.
func (t *Task) admitOptions(sub datamgr.Submission, s *TaskSpec) error {
	sp := t.opts
	if sp.Tag != nil {
		if err := sp.Tag.check(sub, t.job.rt); err != nil {
			return err
		}
	}
	if err := sp.placeError(sub, t.job, s); err != nil {
		return err
	}
	if sp.round > 1 {
		return t.checkNext(sub)
	}
	if sp.wasPrepared() {
		if way := s.closes(sub, sp.list.waiting); way != nil {
			return t.circle(way)
		}
	}
	return nil
}

// placeError checks the place of a task.
func (sp *taskOptions) placeError(_ datamgr.Submission, j *Job, s *TaskSpec) error {
	if sp.Place == 0 {
		return nil
	}
	if sp.Repeat != nil {
		return &RepeatError{What: "a place in the sequence of a worker"}
	}
	e := &PlaceError{Place: sp.Place, Worker: -1}
	if len(s.Workers) != 1 {
		e.Message = "a place in the sequence of a worker needs the worker: name one in TaskSpec.Workers"
		return e
	}
	e.Worker = s.Workers[0]
	q := j.sequences[e.Worker]
	switch {
	case sp.Place < 0:
		e.Message = fmt.Sprintf("place %d in the sequence of worker %d: the first place is 1", sp.Place, e.Worker)
	case q == nil:
		return nil
	case sp.Place < q.next:
		e.Message = fmt.Sprintf("place %d in the sequence of worker %d has passed: the next is %d", sp.Place, e.Worker, q.next)
	default:
		if _, taken := q.ended[sp.Place]; !taken {
			return nil
		}
		e.Message = fmt.Sprintf("place %d in the sequence of worker %d is taken by another task", sp.Place, e.Worker)
	}
	return e
}

// checkNext reports that the next round of k would come behind a task that waits,
// however indirectly, for the last one.
func (k *Task) checkNext(sub datamgr.Submission) error {
	k.mu.Lock()
	us := slices.Clone(k.mu.successors)
	k.mu.Unlock()
	if way := k.opts.spec.closes(sub, us); way != nil {
		return &RepeatError{Task: k, What: fmt.Sprintf("another round: it would come behind task %s, which waits for the last one",
			k.circle(way).text[1]), remedy: "stop it before that task is submitted, or submit that task when it has ended"}
	}
	return nil
}

// open reports why the job takes nothing more, if so.
func (j *Job) open(sub datamgr.Submission) error {
	if j.accepts(sub) {
		return nil
	}
	if j.refuse != nil {
		return j.refuse
	}
	return ErrClosed
}

// accepts reports whether open returns nil.
func (j *Job) accepts(_ datamgr.Submission) bool { return j.refuse == nil && !j.closed && !j.rt.closed }

// mayEnd is open for what only ends data: that is allowed after the job's
// context ended, so that hosts can clean up.
func (j *Job) mayEnd(sub datamgr.Submission, k kind) error {
	if j.closed || j.rt.closed {
		return ErrClosed
	}
	if k == unregisterTask {
		return nil
	}
	return j.open(sub)
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

// whereItFits takes the workers out of allowed, nil for all, on whose node the task
// does not fit even if it is alone there.
func (rt *Runtime) whereItFits(sub datamgr.Submission, s *TaskSpec, allowed *sched.Set) (*sched.Set, error) {
	if c := s.Codelet; c.Traits != nil && c.Traits.Nowhere {
		return allowed, nil
	}
	for _, op := range s.Operands {
		if !rt.reg.Owns(op.Handle) {
			return allowed, nil // an error that others find
		}
	}
	if err := rt.checkApart(s); err != nil {
		return nil, err
	}
	lost := rt.lost.Load()
	none := lost // nodes that will not do
	for n := range rt.nodes {
		if rt.reg.Bounded(n) && none&(1<<n) == 0 && !rt.reg.Fits(s.Operands, n) {
			none |= 1 << n
		}
	}
	every := true
	for _, arch := range rt.archs {
		every = every && len(s.Codelet.impls(arch)) > 0
	}
	look := rt.verify != nil && len(rt.archs) > 1 // at what kernels do: only where they are functions of this process
	pins := pinned(s)
	if none == 0 && every && !look && !pins {
		return allowed, nil
	}
	var left []int
	// workers that have an implementation, those that have the pinned operands at hand, and those that are not lost
	able, near, alive := false, false, false
	for w, k := range rt.workers {
		if allowed != nil && !allowed.Has(w) || len(s.Codelet.impls(k.arch)) == 0 {
			continue
		}
		able = true
		if pins && !k.takes(s) {
			continue
		}
		near = true
		alive = alive || lost&(1<<k.node) == 0
		if none&(1<<k.node) == 0 {
			left = append(left, w)
		}
	}
	if look {
		here := slices.DeleteFunc(slices.Clone(left), func(w int) bool { return rt.workers[w].arch != cpuArch })
		if len(here) > 0 {
			left = here
		}
	}
	switch {
	case left != nil:
		return rt.workerSet(sub, left)
	case !able:
		return nil, &NoImplementationError{Codelet: s.Codelet, Archs: rt.archs}
	case !near:
		return nil, rt.pinError(s)
	case !alive:
		return nil, &LostWorkersError{Codelet: s.Codelet}
	}
	return nil, rt.tooLarge(s, allowed)
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

// pinned reports whether an operand has a node of its own: all objects have main memory.
func pinned(s *TaskSpec) bool {
	return slices.ContainsFunc(s.Operands, func(op Operand) bool { return op.Pin != 0 || isObjectHandle(op.Handle) })
}

// takes reports whether the worker can use the operands where they are pinned.
func (w *worker) takes(s *TaskSpec) bool {
	for i := range s.Operands {
		switch n, ok := s.Operands[i].Pin.Node(); {
		case isObjectHandle(s.Operands[i].Handle):
			if w.kind != cpuArch || n > 0 { // CPUs of all NUMA nodes can follow its pointers
				return false
			}
		case !ok || n == w.node:
		case n > 0, w.arch != cpuArch && !slices.Contains(s.Codelet.FromMain, i):
			return false
		}
	}
	return true
}

func (rt *Runtime) pinError(s *TaskSpec) error {
	for i := range s.Operands {
		if op := &s.Operands[i]; isObjectHandle(op.Handle) {
			return &ObjectPlaceError{Operand: i, Handle: op.Handle, Codelet: s.Codelet}
		}
		if n, ok := s.Operands[i].Pin.Node(); ok {
			return &PinError{Operand: i, Node: rt.Nodes()[n], Codelet: s.Codelet}
		}
	}
	return nil
}

// tooLarge is the error for a task that fits none of the nodes where it may run.
func (rt *Runtime) tooLarge(s *TaskSpec, allowed *sched.Set) error {
	e := &TooLargeError{Codelet: s.Codelet}
	nodes := rt.Nodes()
	for w := range rt.workers {
		on := rt.workers[w].node
		if n := nodes[on]; (allowed == nil || allowed.Has(w)) && !slices.Contains(e.Nodes, n) {
			e.Nodes = append(e.Nodes, n)
			e.Bytes = max(e.Bytes, rt.reg.Needs(s.Operands, on))
		}
	}
	return e
}

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

// checkLast reports that s would wait for the last round of a task that repeats, and
// uses data of the rounds: the next one would come behind it there, and each would
// wait for the other.
func checkLast(sub datamgr.Submission, s *TaskSpec, keep *Task) error {
	if s.Unordered || keep != nil && keep.opts != nil && keep.opts.Repeat != nil {
		return nil
	}
	for _, d := range s.After {
		k, ok := d.(*Task)
		if !ok || k.opts == nil || k.opts.Repeat == nil || k.opts.stopped.Load() || k.opts.spec.Unordered || k.over() {
			continue
		}
		for _, x := range s.Operands {
			for _, y := range k.opts.spec.Operands {
				if _, orders := conflict(x, y); orders && !sub.Unordered(x.Handle) && !sub.Unordered(y.Handle) {
					return &RepeatError{Task: k, What: "a task behind its last round that uses " + describe(x.Handle) + " before its next round can",
						remedy: "stop it first, or wait for it and then submit that task"}
				}
			}
		}
	}
	return nil
}

// alive reports that h, operand i, is dead or another runtime's, if so.
func (rt *Runtime) alive(i int, h *datamgr.Handle) error {
	if !rt.reg.Owns(h) {
		return &ModeError{Operand: max(i, 0), Handle: h, Other: -1,
			Message: describe(h) + " was registered with another runtime; register it with the one that uses it, or copy it there"}
	}
	if at, ended, dead := h.Death(); dead {
		return &DeadHandleError{Operand: i, Handle: h, At: at, Ended: ended}
	}
	return nil
}

// admit checks what a task of the sub-graph is given, in addition.
func (g *Subgraph) admit(sub datamgr.Submission, j *Job, s *TaskSpec) error {
	if g.t == nil {
		return g.ended()
	}
	if g.owner.cancelled() {
		return j.cause()
	}
	for i := range s.Operands {
		if err := g.mayUse(sub, i, s); err != nil {
			return err
		}
	}
	for _, d := range s.After {
		if err := g.mayWait(d); err != nil {
			return err
		}
	}
	return nil
}

// mayUse checks operand i of a task of the sub-graph.
func (g *Subgraph) mayUse(_ datamgr.Submission, i int, s *TaskSpec) error {
	op := &s.Operands[i]
	h := op.Handle
	fail := func(format string, args ...any) error {
		return &SubgraphError{Operand: i, Handle: h, Message: describe(h) + fmt.Sprintf(format, args...)}
	}
	switch {
	case op.Mode == iface.Scratch:
		return nil
	case op.Mode == iface.Redux:
		return fail(" is REDUX in a sub-graph; use COMMUTE or RW there")
	case s.Unordered || op.Unordered:
		return fail(" is used without order in a sub-graph, whose tasks are ordered by their data; leave the option out")
	}
	used := false
	own := g.ownersHandle(h)
	for _, o := range g.t.operands() {
		if !own.Within(o.Handle) {
			used = used || own.Overlaps(o.Handle)
			continue
		}
		switch {
		case o.Unordered || o.Mode.Commutes() || o.Mode == iface.Redux || o.Mode == iface.Scratch:
			used = true
		case op.Mode == iface.R || o.Mode.Writes():
			return nil
		default:
			return fail(" is %v in a task of the sub-graph, and its owner only reads it; declare it RW there", op.Mode)
		}
	}
	if used {
		return fail(" does not lie within one operand of the sub-graph's owner that is R, W or RW there, and in order; the owner must declare what its sub-graph uses")
	}
	return fail(" is no operand of the sub-graph's owner, nor part of one; the owner must declare what its sub-graph uses")
}

// mayWait checks what a task of the sub-graph waits for explicitly: a task from
// elsewhere might wait for the owner.
func (g *Subgraph) mayWait(d Dependency) error {
	if k, ok := d.(*Task); ok && (k.opts == nil || k.opts.parent != g) {
		return &SubgraphError{Operand: -1, Message: fmt.Sprintf(
			"a task of a sub-graph cannot wait for task %d, which is not in it and might wait for its owner; let the owner wait for that task", k.ID())}
	}
	return nil
}

func (rt *Runtime) checkNode(n int) error {
	if n == 0 {
		return nil
	}
	if nodes := rt.Nodes(); n < 0 || n >= len(nodes) {
		return &NoNodeError{Node: n, Nodes: nodes}
	}
	return nil
}
