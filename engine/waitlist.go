package engine

// Waitlists: tasks that wait for something that only the program makes happen, and the
// sequences that a program prescribes on a worker.

import (
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr"
)

// add puts t on the list.
func (l *waitlist) add(_ datamgr.Submission, t *task) {
	if len(l.waiting) == 0 {
		l.job.lists = append(l.job.lists, l)
		l.job.rt.jobs[l.job] = struct{}{} // it may have been closed
	}
	l.waiting = append(l.waiting, t)
}

// empty takes all tasks off the list and hands those that wait for nothing else
// to h.
func (l *waitlist) empty(sub datamgr.Submission, h *releaser) {
	waiting := l.waiting
	l.waiting = nil
	l.job.forget(sub, l)
	for _, t := range waiting {
		if t.Done() {
			h.c.Release(&t.Waiter)
		}
	}
}

// lose says that what the tasks wait for did not happen as it should, because of f.
func (l *waitlist) lose(_ datamgr.Submission, f *failure) {
	for _, t := range l.waiting {
		t.x.lost.Store(f)
	}
}

// pick takes the first task that fits off the list, and hands it to h if it waits
// for nothing else.
func (l *waitlist) pick(sub datamgr.Submission, h *releaser, fits func(*task) bool) {
	i := slices.IndexFunc(l.waiting, fits)
	if i < 0 {
		return
	}
	t := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if len(l.waiting) == 0 {
		l.job.forget(sub, l)
	}
	if t.Done() {
		h.c.Release(&t.Waiter)
	}
}

// describe says what tasks on the list wait for.
func (l *waitlist) describe(sub datamgr.Submission, s *StuckTask) {
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
	if m := l.tag.missing(sub); len(m) > 0 {
		s.Carries, s.Tag = l.tag, m[0]
		s.Circle = l.tag.circle(sub)
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

// missing returns what t depends on and was not notified.
func (t *Tag) missing(_ datamgr.Submission) (out []*Tag) {
	for _, e := range t.before {
		if e.tokens == 0 {
			out = append(out, e.from)
		}
	}
	return out
}

// circle follows what t waits for; it returns the tags of a circle, each waiting
// for the next, or nil.
func (t *Tag) circle(sub datamgr.Submission) []*Tag {
	var path []*Tag
	for t != nil {
		if i := slices.Index(path, t); i >= 0 {
			return path[i:]
		}
		path = append(path, t)
		m := t.missing(sub)
		t = nil
		if len(m) > 0 {
			t = m[0]
		}
	}
	return nil
}

// forget takes l from the lists with waiting tasks.
func (j *Job) forget(sub datamgr.Submission, l *waitlist) {
	if i := slices.Index(j.lists, l); i >= 0 {
		j.lists = slices.Delete(j.lists, i, i+1)
	}
	j.leave(sub)
}

// dropWaiting releases the tasks of j up to number id that are on lists: they
// are cancelled, and will find out.
func (j *Job) dropWaiting(sub datamgr.Submission, id int64, h *releaser) {
	for o := range j.rt.jobs {
		o.dropFrom(sub, h, func(t *task) bool {
			drop := t.job == j && t.dropNumber() <= id
			if drop && t.kind == relayTask {
				t.x.lost.Store(t.x.target.cancelledEnd()) // what its end waits for does not come
			}
			return drop
		})
	}
}

// dropFrom takes tasks off the lists of j.
func (j *Job) dropFrom(sub datamgr.Submission, h *releaser, drop func(*task) bool) {
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
			j.forget(sub, l)
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

// leave takes the job, once it is closed, from those of the runtime: but not
// while tasks of other jobs wait for its gates.
func (j *Job) leave(_ datamgr.Submission) {
	if j.done && len(j.lists) == 0 {
		delete(j.rt.jobs, j)
	}
}

// Places: a sequence that the program prescribes on a worker.

// enterSequence takes the place of t, which is submitted to run on worker; it
// reports whether t has to wait for the places before.
func (sp *taskOptions) enterSequence(sub datamgr.Submission, t *task, worker int) bool {
	j := t.job
	q := j.sequences[worker]
	if q == nil {
		q = &sequence{next: 1, ended: map[int64]bool{}}
		q.list = waitlist{job: j, places: q, worker: worker}
		if j.sequences == nil {
			j.sequences = map[int]*sequence{}
		}
		j.sequences[worker] = q
	}
	sp.sequence = q
	q.ended[sp.Place] = false
	if sp.Place == q.next {
		return false
	}
	q.list.add(sub, t)
	return true
}

// leaveSequence says that the task in a place has run, or will not.
func (h *releaser) leaveSequence(sp *taskOptions) {
	q := sp.sequence
	sub := h.rt.reg.Lock()
	defer sub.Unlock()
	q.ended[sp.Place] = true
	for q.ended[q.next] {
		delete(q.ended, q.next)
		q.next++
	}
	q.list.pick(sub, h, func(u *task) bool { return u.special().Place == q.next })
}
