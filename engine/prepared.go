package engine

// Prepared tasks: named before they are submitted, so that others can wait for
// them already.

import (
	"fmt"
	"slices"
)

// NewTask prepares a task without submitting it: it has no place in the order
// of data yet, but other tasks can wait for it explicitly. It copies s, which may be
// nil for a task that only waits. What is wrong with it is an error of Submit.
func (j *Job) NewTask(s *TaskSpec, o TaskOptions) *Task {
	if s == nil {
		s = &TaskSpec{}
	}
	sp := &special{TaskOptions: o, prepared: true, spec: s.clone()}
	t := j.newKept(sp)
	sp.list = waitlist{job: j, task: t}
	j.rt.reg.Lock()
	sp.name(t, sp.spec.After)
	j.rt.reg.Unlock()
	return t
}

// clone copies s with what it points to, operands' handles apart.
func (s *TaskSpec) clone() TaskSpec {
	c := *s
	c.Operands, c.Args = slices.Clone(s.Operands), slices.Clone(s.Args)
	c.Workers, c.After = slices.Clone(s.Workers), slices.Clone(s.After)
	return c
}

// DependOn makes t, which is prepared, wait for more tasks, gates and tags.
// Errors, after which nothing was added: *SubmittedError, *CycleError, *TagError for a
// tag that was removed, and those of dependencies that are nil or another runtime's.
func (t *Task) DependOn(deps ...Dependency) error {
	rt := t.job.rt
	rt.reg.Lock()
	defer rt.reg.Unlock()
	switch {
	case t.sp == nil || !t.sp.prepared || t.sp.submitting:
		return &SubmittedError{Task: t}
	}
	if err := rt.checkAfter(deps); err != nil {
		return err
	}
	if c := t.cycle(deps); c != nil {
		return c
	}
	t.sp.spec.After = append(t.sp.spec.After, deps...)
	t.sp.name(t, deps)
	return nil
}

// name tells prepared tasks that t, which is prepared too, will wait for them.
// Submission lock held.
func (sp *special) name(t *Task, deps []Dependency) {
	for _, d := range deps {
		if k, ok := d.(*Task); ok && k != nil && k.sp != nil && k.job.rt == t.job.rt {
			k.sp.named = append(k.sp.named, t)
		}
	}
}

// Submit submits a prepared task. Errors, after which it is still prepared, are
// those of Job.Submit, *SubmittedError, and *CycleError when a task that waits for this
// one, however indirectly, comes first in the order of its data.
func (t *Task) Submit() error {
	rt := t.job.rt
	rt.reg.Lock()
	ok := t.sp != nil && t.sp.prepared && !t.sp.submitting
	if ok {
		t.sp.submitting = true
	}
	rt.reg.Unlock()
	if !ok {
		return &SubmittedError{Task: t}
	}
	err := t.job.submitSpecial(&t.sp.spec, t)
	if err != nil {
		rt.reg.Lock()
		t.sp.submitting = false
		rt.reg.Unlock()
	}
	return err
}

func (sp *special) isPrepared(rt *Runtime) bool {
	rt.reg.Lock()
	defer rt.reg.Unlock()
	return sp.prepared
}

// submitted says that t was submitted: who waited for it on a list now waits
// for its end. Submission lock held.
func (t *Task) submitted() {
	sp := t.sp
	if !sp.prepared {
		return
	}
	sp.prepared, sp.named = false, nil
	waiting := sp.list.waiting
	sp.list.waiting = nil
	t.job.forget(&sp.list)
	for _, u := range waiting {
		t.enqueue(u)
	}
}

// name is how messages call a prepared task.
func (t *Task) name() string {
	if n := t.sp.spec.Name; n != "" {
		return fmt.Sprintf("%q", n)
	}
	if c := t.sp.spec.Codelet; c != nil {
		return c.Name
	}
	return emptyCodelet.Name
}

// NotSubmittedError says that a task is waited for that is prepared only.
type NotSubmittedError struct{ Task *Task }

func (e *NotSubmittedError) Error() string {
	return fmt.Sprintf("the task %s was prepared by NewTask and not submitted; call its Submit before waiting for it", e.Task.name())
}

// SubmittedError says that something was asked of a task that only a prepared
// one can do.
type SubmittedError struct{ Task *Task }

func (e *SubmittedError) Error() string {
	return fmt.Sprintf("task %d was submitted already; only a task made by NewTask, before its Submit, can be submitted or depend on more", e.Task.ID())
}
