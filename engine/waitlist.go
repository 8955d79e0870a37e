package engine

// Waitlists: tasks that wait for something that only the program makes happen.

import "slices"

// waitlist holds the tasks that wait for one thing. While it holds any, its job
// knows it, so that Cancel can free them and stuck waits can name them. It is
// guarded by the submission lock.
type waitlist struct {
	job     *Job
	waiting []*task
	gate    *Gate // the thing
}

// add puts t on the list.
func (l *waitlist) add(t *task) {
	if len(l.waiting) == 0 {
		l.job.lists = append(l.job.lists, l)
		l.job.rt.jobs[l.job] = struct{}{} // it may have been closed
	}
	l.waiting = append(l.waiting, t)
}

// empty takes all tasks off the list and hands those that wait for nothing else
// to h.
func (l *waitlist) empty(h *hand) {
	waiting := l.waiting
	l.waiting = nil
	l.job.forget(l)
	for _, t := range waiting {
		if t.Done() {
			h.c.Release(&t.Waiter)
		}
	}
}

// forget takes l from the lists with waiting tasks. Submission lock held.
func (j *Job) forget(l *waitlist) {
	if i := slices.Index(j.lists, l); i >= 0 {
		j.lists = slices.Delete(j.lists, i, i+1)
	}
	j.leave()
}

// dropWaiting releases the tasks of j up to number id that are on lists: they
// are cancelled, and will find out. Submission lock held.
func (j *Job) dropWaiting(id int64, h *hand) {
	for o := range j.rt.jobs {
		for _, l := range slices.Clone(o.lists) {
			l.waiting = slices.DeleteFunc(l.waiting, func(t *task) bool {
				if t.job != j || t.dropNumber() > id {
					return false
				}
				if t.Done() {
					h.c.Release(&t.Waiter)
				}
				return true
			})
			if len(l.waiting) == 0 {
				o.forget(l)
			}
		}
	}
}

// dropNumber is the number by which Cancel decides about t: its own, or that of
// the task whose end it delays.
func (t *task) dropNumber() int64 {
	if t.kind == relayTask {
		return t.x.target.id
	}
	return t.Order
}
