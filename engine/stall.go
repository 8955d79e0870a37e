package engine

// Finding out that a job is stuck while others keep the runtime busy.

import "time"

// stall watches one job for the one who waits. Whether all of its tasks wait for
// what the job itself has closed or holds is looked at only when nothing about
// the job has changed for a while: the look costs time for each task that waits.
type stall struct {
	j      *Job
	any    bool // what the tasks wait for may be closed or held by other jobs, too
	seen   jobState
	looked bool // at this state
	waited bool // this state has lasted
	timer  *time.Timer
}

// jobState changes whenever a job gets on.
type jobState struct {
	live, ended, halves int64
	lists, holds        int
}

// halfEnded says that the kernel of a task of j is over, and its end waits for others.
func (j *Job) halfEnded() {
	j.halves.Add(1)
	j.rt.progress()
}

// stallTime is how long a state has to last before it is looked at.
const stallTime = 10 * time.Millisecond

// blocked reports whether every task of the job waits, however indirectly, for
// closed gates or held data of the job, so that only the program can go on; with
// any, for what only some program can bring about.
// Submission lock held.
func (s *stall) blocked() bool {
	j := s.j
	now := jobState{live: j.live, ended: j.ended.Load(), halves: j.halves.Load(), lists: len(j.lists)}
	for _, a := range j.rt.held {
		if a.job == j {
			now.holds++
		}
	}
	if now != s.seen {
		s.stop()
		s.seen, s.looked, s.waited = now, false, false
	}
	for _, l := range j.lists {
		if l.gate == nil && !s.any { // others may bring it about
			s.looked = true
			return false
		}
	}
	switch {
	case !s.any && (j.calls > 0 || now.lists+now.holds == 0):
		s.looked = true // a callback may go on, or there is nothing to wait for
		return false
	case s.looked || !s.waited:
		return false
	}
	s.looked = true
	return j.allBlocked(s.any)
}

// due returns a channel on which something arrives when it is time to look; nil
// when there is nothing to look at.
func (s *stall) due() <-chan time.Time {
	if s.looked || s.waited {
		return nil
	}
	if s.timer == nil {
		s.timer = time.NewTimer(stallTime)
	}
	return s.timer.C
}

func (s *stall) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// allBlocked reports whether every task of j that has not ended waits for closed
// gates or held data of j; with any, of any job. Tasks of any job may run.
// Submission lock held.
func (j *Job) allBlocked(any bool) bool {
	whose := j
	if any {
		whose = nil
	}
	n := int64(0)
	j.rt.blocked(whose, false, func(t *task) {
		if t.job == j && t.counted() {
			n++
		}
	})
	return n == j.live-j.ended.Load()
}

// counted reports whether t is one of those that Job.live counts.
func (t *task) counted() bool { return t.kind != acquireTask && t.kind != relayTask }
