package engine

// Scheduling: the engine's side of sched.Machine (workers, estimates) and the measured
// times of kernels.

import (
	"errors"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// newPolicy makes the policy that the options ask for.
func (rt *Runtime) newPolicy() error {
	err := rt.choosePolicy()
	if !rt.opt.Sequential {
		rt.feedback, _ = rt.policy.(sched.Feedback)
		rt.sharer, _ = rt.policy.(sched.Sharer)
	}
	return err
}

func (rt *Runtime) choosePolicy() error {
	o := &rt.opt
	if o.Plan != nil {
		rt.policy = &inOrder{}
		return nil
	}
	m := rt.machine()
	if o.NewPolicy != nil && !o.Sequential {
		if rt.policy = o.NewPolicy(m); rt.policy == nil {
			return errors.New("engine: Options.NewPolicy returned nil instead of a scheduling policy")
		}
		return nil
	}
	text := o.Policy
	if o.Sequential {
		text = "eager" // tasks in the order in which they become ready
	}
	e, err := sched.Parse(text)
	if err != nil {
		return err
	}
	rt.policy = e.New(m)
	rt.promise = e.Priorities
	if rt.promise != sched.Unordered {
		rt.reg.Rank = func(w *datamgr.Waiter) (int32, int64) {
			t := taskOf(w)
			if rt.promise == sched.Front || t.Order < 0 { // not of the program
				return rt.level(t), 0
			}
			return t.Priority, t.Order
		}
	}
	return nil
}

// level is what the policy makes of the priority of t: the higher goes first.
func (rt *Runtime) level(t *task) int32 {
	switch {
	case rt.promise == sched.Strict:
		return t.Priority
	case rt.promise == sched.Front && t.Priority > 0:
		return 1
	}
	return 0
}

// machine describes the workers, and answers questions about tasks that wait in
// the policy: those belong to it, so nothing here needs a lock.
func (rt *Runtime) machine() sched.Machine {
	m := sched.CPUs(rt.opt.Workers)
	for k, d := range rt.devices {
		mem := d.Memory()
		for range d.Units() {
			m.Workers = append(m.Workers, sched.Worker{Arch: d.Name(), Node: rt.nodeOf[k], Speed: 1, Memory: mem.Capacity()})
		}
	}
	m.Estimate = func(it *sched.Item, w int) (float64, bool) { return rt.estimate(itemTask(it), w) }
	m.Energy = func(it *sched.Item, w int) float64 { return rt.energy(itemTask(it), w) }
	if rt.nodes > 1 {
		m.Missing = func(it *sched.Item, w int) int64 { return rt.missing(itemTask(it), w) }
		m.Transfer = func(it *sched.Item, w int) float64 { return rt.transfer(itemTask(it), w) }
	}
	m.Kind = func(it *sched.Item) any { return itemTask(it).codelet }
	m.Wake = rt.parking.wakeAny
	m.Explain = func() func(*sched.Item, *sched.Choice) {
		if rt.choices.Load() == nil {
			return nil
		}
		return rt.explainChoice
	}
	m.Data = func(it *sched.Item, visit func(id, bytes int64)) {
		for _, op := range itemTask(it).operands() {
			d := op.Handle.Desc()
			visit(op.Handle.ID(), d.Bytes())
		}
	}
	return m
}

// estimate predicts the time of t on worker w, in seconds.
func (rt *Runtime) estimate(t *task, w int) (seconds float64, known bool) {
	if t.kind != userTask {
		return 0, true // next to nothing, and nothing is measured
	}
	e := rt.modelled(t, w)
	return e.Seconds, e.Known
}

// energy predicts what t takes on worker w, in joules; 0: not known.
func (rt *Runtime) energy(t *task, w int) float64 {
	if t.kind != userTask || t.codelet.Model == nil || t.codelet.Model.Energy == nil {
		return 0
	}
	c := rt.call(t, 0, rt.arch(w))
	defer rt.freeCall(c)
	return t.codelet.Model.Joules(c)
}

// explainChoice tells the listener why the policy chose a worker for an item.
func (rt *Runtime) explainChoice(it *sched.Item, c *sched.Choice) {
	ls, t := rt.choices.Load(), itemTask(it)
	if ls == nil || t.kind != userTask && t.kind != specialTask {
		return
	}
	e := &ChoiceEvent{Job: t.job, ID: t.Order, Choice: *c, Models: make([]perf.Estimate, len(c.Terms))}
	for i := range c.Terms {
		if t.kind == userTask {
			e.Models[i] = rt.modelled(t, c.Terms[i].Worker)
		}
	}
	for _, l := range *ls {
		l.ChoiceEvent(e)
	}
}
