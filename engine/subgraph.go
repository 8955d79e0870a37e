package engine

// Sub-graphs: tasks that belong to a task.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// Subgraph returns the sub-graph of the task. For a task submitted without a handle
// (Submit) it returns a *SubgraphError; use SubmitTask or SubmitWith.
func (c *TaskContext) Subgraph() (*Subgraph, error) {
	k := c.Task()
	if k == nil {
		return nil, &SubgraphError{Operand: -1, Message: fmt.Sprintf(
			"task %d %s was submitted by Submit, and can have no sub-graph; submit it by SubmitTask or SubmitWith", c.TaskID(), c.Codelet().Name)}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.sub == nil {
		k.mu.sub = &Subgraph{owner: k, t: c.t, uses: map[*datamgr.Handle]*subUse{}}
	}
	return k.mu.sub, nil
}

// Submit submits a task of the sub-graph. Errors, besides those of Job.Submit: a
// *SubgraphError, and the cause of a Cancel of the job since the owner was submitted.
func (g *Subgraph) Submit(s *TaskSpec) error {
	_, err := g.SubmitWith(s, TaskOptions{})
	return err
}

// SubmitWith submits a task of the sub-graph that has options. It cannot repeat.
func (g *Subgraph) SubmitWith(s *TaskSpec, o TaskOptions) (*Task, error) {
	if o.Repeat != nil {
		return nil, &RepeatError{What: "a place in a sub-graph"}
	}
	j := g.owner.job
	t := j.newKept(&taskOptions{TaskOptions: o, parent: g})
	if err := j.submitSpecial(s, t); err != nil {
		return nil, err
	}
	return t, nil
}

// Partition declares a view of operand i of the owner for tasks of the
// sub-graph. It ends with the sub-graph.
func (g *Subgraph) Partition(i int, fs ...filter.Filter) (*datamgr.View, error) {
	reg := g.owner.job.rt.reg
	sub := reg.Lock()
	t := g.t
	var h *datamgr.Handle
	if t != nil && i >= 0 && i < t.numOperands() {
		h = t.operands()[i].Handle
	}
	sub.Unlock()
	switch {
	case t == nil:
		return nil, g.ended()
	case h == nil:
		return nil, &SubgraphError{Operand: i, Message: fmt.Sprintf("the owner of the sub-graph has no operand %d", i)}
	}
	v, err := reg.PartitionHeld(h, fs...)
	if err != nil {
		return nil, err
	}
	sub = reg.Lock()
	over := g.t == nil
	if !over {
		g.views = append(g.views, v)
	}
	sub.Unlock()
	if over {
		reg.EndView(v, nil)
		return nil, g.ended()
	}
	return v, nil
}

// begun reports whether tasks were submitted to g, which may be nil, and have not ended.
func (g *Subgraph) begun() bool {
	if g == nil {
		return false
	}
	reg := g.owner.job.rt.reg
	sub := reg.Lock()
	defer sub.Unlock()
	return g.live > 0 // none has run: they are held until the owner's kernel is over
}

func (g *Subgraph) ended() error {
	return &SubgraphError{Operand: -1, Message: fmt.Sprintf("task %d has ended, and its sub-graph with it; add tasks from its kernel, or from the kernels of the sub-graph", g.owner.ID())}
}

// register gives a task of the sub-graph, which was admitted, its place among the others; it
// returns how many things the task waits for.
func (g *Subgraph) register(sub datamgr.Submission, t *task, s *TaskSpec) (waits int32, err error) {
	x, ops := t.x, t.operands()
	for i := range ops {
		ops[i].Unordered = false // however the handle is used elsewhere
	}
	m, bad := sub.Merge(ops, datamgr.MergeOptions{NoValueYet: true})
	if bad.Kind != datamgr.NoProblem {
		return 0, problem(ops, bad)
	}
	x.needLocks, x.shared = m.Locks, m.Shared
	t.accessSlots(0)
	t.Arm()
	for _, d := range s.After {
		if d.addSuccessor(sub, t) {
			waits++
		}
	}
	for i := range ops {
		if ops[i].Mode != iface.Scratch {
			waits += g.use(sub, t, &ops[i])
		}
	}
	if !g.over {
		g.held = append(g.held, t)
		waits++
	}
	g.live++
	return waits, nil
}

// share replaces operands that are a duplicate by what they are for the owner.
func (g *Subgraph) share(_ datamgr.Submission, ops []Operand) {
	for i := range ops {
		ops[i].Handle = g.ownersHandle(ops[i].Handle)
	}
}

// ownersHandle returns h as the owner uses it. The owner may have been given the elements of
// the source of a duplicate, which stay as they are for it, although the duplicate has ceased
// to share them since. It needs the submission lock, and g must not have ended.
func (g *Subgraph) ownersHandle(h *datamgr.Handle) *datamgr.Handle {
	for _, o := range g.t.operands() {
		if h == managed(o.Handle).Twin() {
			return o.Handle
		}
	}
	return h
}

// use makes t, which uses op, wait for those submitted before that it conflicts
// with.
func (g *Subgraph) use(_ datamgr.Submission, t *task, op *Operand) (waits int32) {
	u := g.uses[op.Handle]
	if u == nil {
		u = &subUse{h: op.Handle}
		for _, o := range g.uses {
			if o.h.Overlaps(u.h) {
				o.near, u.near = append(o.near, u), append(u.near, o)
			}
		}
		u.near = append(u.near, u)
		g.uses[op.Handle] = u
	}
	k := t.x.public
	wait := func(p *Task) {
		if p != nil && p != k && p.addDataSuccessor(t) {
			waits++
		}
	}
	for _, v := range u.near {
		wait(v.writer)
		if op.Mode.Writes() {
			for _, p := range v.readers {
				wait(p)
			}
		}
	}
	if op.Mode.Writes() {
		u.writer, u.readers = k, nil
	} else {
		u.readers = append(u.readers, k)
	}
	return waits
}

// addDataSuccessor makes u wait until the data of t, a task of a sub-graph, is
// released.
func (t *Task) addDataSuccessor(u *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.phase >= released {
		return false
	}
	t.mu.byData = append(t.mu.byData, u)
	return true
}

// kernelOver lets the tasks of the sub-graph go, once the kernel of the owner
// has returned; it reports whether there are any. Then the owner goes on when
// they have ended.
func (g *Subgraph) kernelOver(h *releaser, t *task, e taskEnd) bool {
	rt := g.owner.job.rt
	t.x.locks.Release(h.c) // tasks of the sub-graph take them for themselves
	t.x.place.Release()
	sub := rt.reg.Lock()
	defer sub.Unlock()
	g.over = true
	held := g.held
	g.held = nil
	h.releaseSuccessors(held, e.f)
	if g.live > 0 {
		g.owner.advance(children)
		g.rest = &e
		g.owner.job.halfEnded()
		return true
	}
	g.close(sub)
	return false
}

// close ends the sub-graph.
func (g *Subgraph) close(_ datamgr.Submission) {
	g.t, g.uses = nil, nil
}

// taskEnded says that a task of the sub-graph has ended; after the last one the
// owner goes on.
func (g *Subgraph) taskEnded(h *releaser, k *Task) {
	rt := g.owner.job.rt
	k.mu.Lock()
	f := k.mu.failure
	k.mu.Unlock()
	sub := rt.reg.Lock()
	if f != nil && (g.lost == nil || k.id < g.lostBy) {
		g.lost, g.lostBy = f, k.id
	}
	g.live--
	if g.live > 0 || !g.over {
		sub.Unlock()
		return
	}
	t, e := g.t, *g.rest
	if e.f == nil && g.lost != nil {
		e.lose(g.lost)
		e.whole = true
	}
	g.close(sub)
	sub.Unlock()
	h.afterKernel(t, e)
}

// endViews ends the views that were declared for the sub-graph.
func (g *Subgraph) endViews() {
	for _, v := range g.views {
		g.owner.job.rt.reg.EndView(v, nil)
	}
	g.views = nil
}
