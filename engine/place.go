package engine

// Places: a sequence that the program prescribes on a worker.

import "fmt"

// sequence is the order that one job prescribes on one worker. It is guarded by
// the submission lock.
type sequence struct {
	next  int64          // the place that may run
	ended map[int64]bool // of the places from next on that are taken: it has ended
	list  waitlist       // tasks whose place is behind next
}

// placeError checks the place of a task. Submission lock held.
func (sp *special) placeError(j *Job, s *TaskSpec) error {
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

// enterSequence takes the place of t, which is submitted to run on worker; it
// reports whether t has to wait for the places before. Submission lock held.
func (sp *special) enterSequence(t *task, worker int) bool {
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
	q.list.add(t)
	return true
}

// leaveSequence says that the task in a place has run, or will not.
func (h *hand) leaveSequence(sp *special) {
	q := sp.sequence
	h.rt.reg.Lock()
	defer h.rt.reg.Unlock()
	q.ended[sp.Place] = true
	for q.ended[q.next] {
		delete(q.ended, q.next)
		q.next++
	}
	q.list.pick(h, func(u *task) bool { return u.special().Place == q.next })
}

// PlaceError says that a task cannot have its place in the sequence of a worker.
type PlaceError struct {
	Place   int64  // TaskOptions.Place
	Worker  int    // -1: none was named
	Message string // the whole error
}

func (e *PlaceError) Error() string { return e.Message }
