package engine

// Planning: a runtime that checks and orders tasks, and runs none of them.

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/bus"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/sched"
)

// Machine describes the machine of a plan: workers, devices, the cost of copies between
// their memories, and known times of tasks. The zero value is the CPUs of this machine,
// with its measurements.
type Machine struct {
	Workers int            // see Options.Workers
	Devices []accel.Device // see Options.Devices; nothing runs on them
	Bus     *bus.Table     // see Options.Bus
	PerfDir string         // see Options.PerfDir
}

// Machine returns the machine of the runtime, for plans.
func (rt *Runtime) Machine() Machine {
	return Machine{Workers: rt.opt.Workers, Devices: rt.opt.Devices, Bus: rt.opt.Bus, PerfDir: rt.opt.PerfDir}
}

// Planner makes a runtime that plans for the machine; see Options.Plan.
func (m Machine) Planner(tell func(*PlannedTask)) (*Runtime, error) {
	if tell == nil {
		tell = func(*PlannedTask) {}
	}
	return New(Options{Workers: m.Workers, Devices: m.Devices, Bus: m.Bus, PerfDir: m.PerfDir, Plan: tell})
}

// Image registers, in a runtime that plans, data like h of another one, as it is after what
// was submitted there: the same shape and reduction, and a value where h has one. Tasks
// planned on it are those that could be submitted on h now.
func (rt *Runtime) Image(h *datamgr.Handle) (*datamgr.Handle, error) {
	if err := rt.plans(); err != nil {
		return nil, err
	}
	out, err := rt.reg.Image(h)
	if fs, _ := managed(h).Formats().(*formats); err == nil && fs != nil && out.Alive() {
		if err = rt.SetFormats(out, fs.declared...); err == nil {
			now, _ := managed(out).Formats().(*formats)
			now.planned = fs.inImage(now)
		}
	}
	return out, err
}

// ImageView declares a view of an image, like v of what it is an image of.
func (rt *Runtime) ImageView(v *datamgr.View, of *datamgr.Handle) (*datamgr.View, error) {
	if err := rt.plans(); err != nil {
		return nil, err
	}
	return rt.reg.ImageView(v, of)
}

// plans reports why the runtime makes no plans.
func (rt *Runtime) plans() error {
	if rt.opt.Plan == nil {
		return errors.New("engine: images are for runtimes that plan")
	}
	return rt.open()
}

// PlannedTask is a task that would run. It is valid during the call that tells of
// it; so are its operands.
type PlannedTask struct {
	Job      *Job
	ID       int64    // in its job; below 0 for what the engine inserts itself
	Codelet  *Codelet // nil for what the engine inserts itself, but for conversions between layouts
	Internal string   // see Event.Internal
	Name     string
	Operands []Operand
	Origin   Origin
	Color    int
	Priority int
	After    []int64 // the tasks in TaskSpec.After
	Rank     uint64  // 1 + the rank that the program chose for it, see cluster.Task.On; 0: none. Planners of several ranks fill it in, the engine does not
	Flops    float64 // 0: not known
	// Operations and Moved estimate the work of the kernel, where it can be found out: operations, 0 if not known, and
	// bytes of operands between memory and kernel.
	Operations, Moved float64
	Size              int // of a parallel task the number of its workers, at most; 0 of others
	// Seconds says, for each worker, how long such tasks are expected to take there in the mean, of a
	// parallel task with Size workers:
	// NaN where it may run and nothing is known, below 0 where it may not run. It
	// is used again for the next task.
	Seconds []float64
}

// planned tells of a task that was submitted, and has to wait for after.
func (rt *Runtime) planned(sub datamgr.Submission, t *task, after []Dependency) {
	switch {
	case t.kind.ofProgram() && t.general && t.x.formatted:
		rt.planFormats(sub, t)
	case t.kind == acquireTask && !t.operands()[0].Mode.Reads():
	case t.kind == acquireTask, t.kind == unregisterTask && t.x.h.Home():
		if fs := formatsOf(t.operands()[0].Handle); fs != nil {
			rt.planConversion(sub, t, fs, 1)
		}
	}
	p := &PlannedTask{Job: t.job, ID: t.Order, Codelet: t.codelet, Internal: kindNames[t.kind], Name: t.name(), Operands: t.operands(),
		Origin: t.submittedAt(), Priority: int(t.Priority), After: afterIDs(after), Size: t.workers()}
	if t.codelet != nil {
		p.Color = t.codelet.Color
	}
	if t.general {
		p.After = append(p.After, t.x.converted...)
	}
	if t.general && t.x.color != 0 {
		p.Color = t.x.color
	}
	if len(rt.expected) != len(rt.workers) {
		rt.expected = make([]float64, len(rt.workers))
	}
	p.Seconds = rt.expected
	for w, k := range rt.workers {
		switch {
		case !t.allows(k):
			p.Seconds[w] = -1
		case w > 0 && rt.workers[w-1].kind == k.kind && !(p.Seconds[w-1] < 0): // known or not
			p.Seconds[w] = p.Seconds[w-1]
		default:
			p.Seconds[w] = math.NaN()
			if s, known := rt.expects(t, w); known {
				p.Seconds[w] = s
			}
		}
	}
	rt.estimateWork(t, p)
	rt.opt.Plan(p)
}

// estimateWork fills in what is known of the work of t.
func (rt *Runtime) estimateWork(t *task, p *PlannedTask) {
	if t.kind.light() {
		return
	}
	p.Moved = t.moved()
	if t.codelet == nil {
		return
	}
	var bytes float64
	p.Flops, p.Operations, bytes = t.estimatedWork(slices.ContainsFunc(p.Seconds, math.IsNaN))
	if bytes > 0 { // elements that are used often come from a cache
		p.Moved = min(p.Moved, bytes)
	}
}

// afterIDs lists the tasks in after.
func afterIDs(after []Dependency) (ids []int64) {
	for _, d := range after {
		if t, ok := d.(*Task); ok {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// skip ends a task without running it. Tasks that wait for gates, locks or held data wait
// here, too.
func (w *worker) skip(t *task) {
	if w.c.Late() {
		w.finishLate(t)
	}
	w.pub.Begin(&t.Waiter, w.c)
	if w.job != t.job {
		w.flush()
		w.job = t.job
	}
	if !t.general && t.marks&hasLock != 0 {
		t.lockPlace().ReleaseSingle(w.c)
	}
	x, ops := t.extend(), t.operands()
	if t.kind == specialTask {
		w.runSpecial(t)
		w.drain()
		return
	}
	for i := range ops {
		x.needLocks = x.needLocks || ops[i].Mode.Commutes()
	}
	if (x.needLocks || t.state().Locks()) && !x.locks.Acquire(ops, x.allUnordered, w.c) {
		w.pub.End(w.c) // it comes back
		return
	}
	switch {
	case t.kind != userTask:
		w.endInternal(t, nil, nil)
	case w.refused(t):
	default:
		datamgr.Mend(ops)
		w.endUser(t, nil, nil)
	}
	w.drain()
}

// inOrder is the policy of a runtime that plans: it has one worker, which takes
// everything.
type inOrder struct{ queue []*sched.Item }

func (q *inOrder) Push(it *sched.Item, from int) int {
	q.queue = append(q.queue, it)
	return sched.Nobody
}

func (q *inOrder) Pop(int) *sched.Item {
	if len(q.queue) == 0 {
		return nil
	}
	it := q.queue[0]
	q.queue[0] = nil
	q.queue = q.queue[1:]
	return it
}

func (q *inOrder) Empty() bool { return len(q.queue) == 0 }

// Conversions between layouts of data.

// planFormats plans the conversions that t, a task of the program that is submitted, needs wherever it runs: where a
// policy may choose a worker that needs none, there is none. after gets them.
func (rt *Runtime) planFormats(sub datamgr.Submission, t *task) {
	ops := t.operands()
	for i := range ops {
		fs := formatsOf(ops[i].Handle)
		if fs == nil {
			continue
		}
		may := uint64(0) // the layouts of workers that may run it
		for _, w := range rt.workers {
			if t.allows(w) {
				may |= 1 << fs.layout(w, t.codelet, i, &ops[i])
			}
		}
		if ops[i].Mode.Reads() {
			rt.planConversion(sub, t, fs, may)
		}
		if ops[i].Mode.Writes() {
			fs.planned = may
		}
	}
}

// planConversion plans that t needs the value of fs in one of the layouts in may.
func (rt *Runtime) planConversion(sub datamgr.Submission, t *task, fs *formats, may uint64) {
	if may == 0 || fs.planned == 0 || fs.planned&may != 0 {
		return
	}
	step := func(from, to int) {
		c, _ := fs.conversion(from, to)
		u := rt.newConversion(sub, t, c, fs.pair(from, to))
		if to == 0 {
			u.Allowed = rt.host
		} else {
			var ws []int
			for i, w := range rt.workers {
				if fs.kinds[w.kind] == to {
					ws = append(ws, i)
				}
			}
			u.Allowed = sched.NewSet(ws...)
		}
		t.x.converted = append(t.x.converted, u.Order)
		rt.planned(sub, u, nil)
		rt.unused(sub, u)
		fs.planned |= 1 << to
	}
	if fs.planned&1 == 0 {
		step(bits.TrailingZeros64(fs.planned), 0)
	}
	if fs.planned&may == 0 {
		step(0, bits.TrailingZeros64(may))
	}
}

// inImage returns the layouts of the image, in a plan, in which the value of fs is.
func (fs *formats) inImage(image *formats) (valid uint64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	valid = fs.mu.valid & 1
	for i := range fs.inUse {
		for k := range image.inUse {
			if fs.mu.valid&(2<<i) != 0 && fs.inUse[i].Name == image.inUse[k].Name {
				valid |= 2 << k
			}
		}
	}
	if valid == 0 { // the machine of the plan lacks the device
		return 1
	}
	return valid
}
