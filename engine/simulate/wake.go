package simulate

// Sleep: workers without a task look for one, sleep, and are woken.

import (
	"github.com/starpush/starpush/engine/sched"
)

// wake notes that a worker of a computer is to ask for a task; sched.Anyone: any that sleeps.
func (s *world) wake(r, w int32) {
	if s.m.CPU.Wake > 0 && !s.looking(r, w) {
		s.rouse(r, w)
		return
	}
	k := &s.ranks[r]
	if w < 0 {
		k.called++
	}
	if k.woken = append(k.woken, w); len(k.woken) == 1 {
		s.active = append(s.active, r)
	}
}

// looking reports whether worker w of a computer, or for sched.Anyone one that has not been called, looks for tasks, so that nothing has to wake it.
func (s *world) looking(r, w int32) bool {
	if s.m.CPU.Look == 0 {
		return false
	}
	k := &s.ranks[r]
	if w >= 0 {
		return s.looks(k.first + w)
	}
	n := 0
	for v := k.first; v < k.first+int32(s.m.Workers()); v++ {
		if s.looks(v) {
			n++
		}
	}
	return n > k.called
}

// looks reports whether a worker without a task does not sleep yet.
func (s *world) looks(w int32) bool {
	k := &s.workers[w]
	return k.idle && !k.waking && s.now < k.looks
}

// settle lets workers that were woken, or wait for room, go on.
func (s *world) settle() {
	for again := true; again; {
		again = false
		for len(s.retry) > 0 {
			node := s.retry[0]
			s.retry = s.retry[1:]
			s.readmit(node)
			again = true
		}
		for len(s.active) > 0 {
			k := &s.ranks[s.active[0]]
			s.active = s.active[1:]
			for len(k.woken) > 0 {
				w := k.woken[0]
				k.woken = k.woken[1:]
				again = true
				if w < 0 {
					k.called--
					r := s.workers[k.first].rank
					if !s.wakeAny(r) && s.m.CPU.Wake > 0 && !k.policy.Empty() {
						s.rouse(r, w) // those that look for tasks may not run it
					}
				} else if s.workers[k.first+w].idle {
					s.next(k.first + w)
				}
			}
		}
	}
}

// wakeAny lets an idle worker of a computer have a task, if sleeping takes time one that looks for tasks. It reports whether one has it.
func (s *world) wakeAny(r int32) bool {
	first := s.ranks[r].first
	for v := first; v < first+int32(s.m.Workers()); v++ {
		if s.workers[v].idle && (s.m.CPU.Wake == 0 || s.looks(v)) && s.next(v) {
			return true
		}
	}
	return false
}

// wakeSleeper lets an idle worker of a computer that was woken have a task. It reports whether one has it.
func (s *world) wakeSleeper(r int32) bool {
	first := s.ranks[r].first
	for v := first; v < first+int32(s.m.Workers()); v++ {
		if s.workers[v].idle && s.next(v) {
			return true
		}
	}
	return false
}

// waker is the part of CPU.Wake for which a worker, or the script, is busy that wakes another.
const waker = 2.0 / 3

// rouse wakes a worker of a computer, or sched.Anyone, after CPU.Wake. As in a run, one is woken at a time, unless the policy names it.
func (s *world) rouse(r, w int32) {
	k := &s.ranks[r]
	switch {
	case w >= 0:
		x := &s.workers[k.first+w]
		if !x.idle || x.waking {
			return
		}
		x.waking = true
		s.q.push(s.now+s.m.CPU.Wake, workerWakes, k.first+w)
	default:
		asleep := false
		for v := k.first; v < k.first+int32(s.m.Workers()) && !asleep; v++ {
			asleep = s.workers[v].idle && !s.workers[v].waking && !s.looks(v)
		}
		if !asleep || k.rousing > 0 { // that one wakes the next, if there is more
			return
		}
		k.rousing++
		s.q.push(s.now+s.m.CPU.Wake, workerWakes, -1-r)
	}
	s.roused = true
}

// awake ends rouse: of a worker, or below 0 of any of a computer.
func (s *world) awake(what int32) {
	if what < 0 {
		r := -1 - what
		s.ranks[r].rousing--
		if s.wakeSleeper(r) && !s.ranks[r].policy.Empty() {
			s.rouse(r, int32(sched.Anyone))
		}
		return
	}
	k := &s.workers[what]
	if k.waking = false; k.task < 0 {
		k.awake = true
		s.next(what)
	}
}
