package engine

// Special tasks of random programs: parallel ones, those that carry tags, and
// repeating ones. For the model they are tasks like others.

import (
	"slices"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr/iface"
)

// special makes the task that s describes special, by its number and by what there is.
func (e *execution) special(t *modelTask, s *TaskSpec) (o TaskOptions) {
	if e.loses != 0 { // what is lost then is known for plain tasks only
		return o
	}
	if e.parallel(t, s) {
		s.Codelet = e.together(t, s.Codelet)
	}
	if n := int64(t.rounds); n > 1 {
		o.Repeat = func(k *Task) bool { return k.Rounds() < n }
	}
	if carries(t.id) && t.kept {
		o.Tag = e.tag(t.id)
	}
	e.behindTags(t, s, &o)
	return o
}

// parallel reports whether a task is to have several workers. It cannot go elsewhere
// when a copy fails, so it stays where none does, and has no memory for each rank where
// that is short.
func (e *execution) parallel(t *modelTask, s *TaskSpec) bool {
	if t.id%5 != 3 || t.worker >= 0 ||
		e.rt.limited && slices.ContainsFunc(t.ops, func(o modelOp) bool { return o.mode == iface.Scratch }) {
		return false
	}
	if e.rt.devices == nil {
		return true
	}
	return s.Workers != nil && !slices.ContainsFunc(s.Workers, func(w int) bool { return e.rt.workers[w].node > 0 })
}

// together is a codelet whose first rank does what c does while the others wait, and
// that counts them.
func (e *execution) together(t *modelTask, c *Codelet) *Codelet {
	one := c.CPU[0]
	p := *c
	p.Traits = &Traits{Parallel: ForkJoin}
	all := func(c *TaskContext) error {
		var came atomic.Int64
		if err := c.Fork(func(int) error { came.Add(1); return nil }); err != nil {
			e.fail("task %d: fork: %v", t.id, err)
		}
		if n := came.Load(); n != int64(c.Size()) {
			e.fail("task %d: %d ranks of %d", t.id, n, c.Size())
		}
		return one(c)
	}
	if t.id%2 == 0 {
		p.Traits = &Traits{Parallel: SPMD, MaxWorkers: 2 + int(t.id%3)}
		var done atomic.Int64 // a repeating task's rounds come one after the other
		all = func(c *TaskContext) error {
			before := done.Load()
			if err := c.Barrier(); err != nil { // until all have looked
				e.fail("task %d: barrier: %v", t.id, err)
			}
			if c.Rank() > 0 {
				if c.Barrier() == nil && done.Load() != before+1 {
					e.fail("task %d: rank %d passed the barrier alone", t.id, c.Rank())
				}
				return nil
			}
			if err := one(c); err != nil {
				return err
			}
			done.Add(1)
			return c.Barrier()
		}
	}
	p.CPU, p.On = []Impl{all}, nil
	return &p
}

// carries reports whether task id carries a tag, if others may wait for it.
func carries(id int64) bool { return id%2 == 0 }

// tag is the tag that task id carries.
func (e *execution) tag(id int64) *Tag {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tags == nil {
		e.tags = map[int64]*Tag{}
	}
	if e.tags[id] == nil {
		e.tags[id] = e.job.NewTag("end")
	}
	return e.tags[id]
}

// behindTags makes some tasks wait for tags instead of the tasks that carry them: by
// a tag of their own that depends on those, or by themselves.
func (e *execution) behindTags(t *modelTask, s *TaskSpec, o *TaskOptions) {
	if t.id%3 == 0 || t.rounds > 1 {
		return
	}
	for i, id := range t.after {
		if !carries(id) {
			continue
		}
		if o.Tag != nil && t.id%4 == 0 {
			if err := o.Tag.DependsOn(e.tag(id)); err != nil {
				e.fail("task %d: %v", t.id, err)
			}
			s.After[i] = nil
			continue
		}
		s.After[i] = e.tag(id)
	}
	s.After = slices.DeleteFunc(s.After, func(d Dependency) bool { return d == nil })
}
