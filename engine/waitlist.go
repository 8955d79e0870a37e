package engine

// Waitlists: tasks that wait for something that only the program makes happen.

import (
	"math"
	"slices"
)

// waitlist holds the tasks that wait for one thing. While it holds any, its job
// knows it, so that Cancel can free them and stuck waits can name them. It is
// guarded by the submission lock.
type waitlist struct {
	job     *Job
	waiting []*task
	gate    *Gate     // the thing, or
	tag     *Tag      // the thing, or
	starts  bool      // of tag: that it opens; else that it is notified
	task    *Task     // the thing: a prepared task to be submitted
	places  *sequence // the thing: the places before, on a worker
	worker  int
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

// lose says that what the tasks wait for did not happen as it should, because of f.
func (l *waitlist) lose(f *failure) {
	for _, t := range l.waiting {
		t.x.lost.Store(f)
	}
}

// pick takes the first task that fits off the list, and hands it to h if it waits
// for nothing else.
func (l *waitlist) pick(h *hand, fits func(*task) bool) {
	i := slices.IndexFunc(l.waiting, fits)
	if i < 0 {
		return
	}
	t := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if len(l.waiting) == 0 {
		l.job.forget(l)
	}
	if t.Done() {
		h.c.Release(&t.Waiter)
	}
}

// describe says what tasks on the list wait for.
func (l *waitlist) describe(s *StuckTask) {
	s.Gate, s.Tag, s.Task = l.gate, l.tag, l.task
	if l.places != nil {
		s.Place, s.Worker = l.places.next, l.worker
		_, s.indirect = l.places.ended[s.Place]
		return
	}
	if !l.starts {
		s.indirect = l.tag != nil && l.tag.carriers > 0
		return
	}
	if m := l.tag.missing(); len(m) > 0 {
		s.Carries, s.Tag = l.tag, m[0]
		s.Circle = l.tag.circle()
		s.indirect = !slices.ContainsFunc(m, func(t *Tag) bool { return t.carriers == 0 })
	}
}

// withoutIndirect leaves out tasks that wait for what others on the list would
// do, unless there are no others.
func withoutIndirect(all []StuckTask) []StuckTask {
	direct := slices.DeleteFunc(slices.Clone(all), func(s StuckTask) bool { return s.indirect })
	if len(direct) == 0 {
		return all
	}
	return direct
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
		o.dropFrom(h, func(t *task) bool {
			drop := t.job == j && t.dropNumber() <= id
			if drop && t.kind == relayTask {
				t.x.lost.Store(t.x.target.cancelledEnd()) // what its end waits for does not come
			}
			return drop
		})
	}
}

// dropFrom takes tasks off the lists of j. Submission lock held.
func (j *Job) dropFrom(h *hand, drop func(*task) bool) {
	for _, l := range slices.Clone(j.lists) {
		l.waiting = slices.DeleteFunc(l.waiting, func(t *task) bool {
			if !drop(t) {
				return false
			}
			if t.Done() {
				h.c.Release(&t.Waiter)
			}
			return true
		})
		if len(l.waiting) == 0 {
			j.forget(l)
		}
	}
}

// dropNumber is the number by which Cancel decides about t: its own, or that of
// the task whose end it delays.
func (t *task) dropNumber() int64 {
	switch {
	case t.kind != relayTask:
		return t.Order
	case t.x.target.id == 0: // prepared: it is not submitted yet
		return math.MaxInt64
	}
	return t.x.target.id
}
