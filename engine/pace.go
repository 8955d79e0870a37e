package engine

// Pace: a submitter that is far ahead of short tasks lets the workers catch up.

import "time"

// What is submitted long before it runs costs more: its record has left the
// caches, there are more records for the collector to walk, and, where there are
// no more cores than workers, one of them stands still for the submitter. With
// kernels of 1 µs on 2 cores that made a stencil's task take 1.6 µs instead of 1.0.
// It is worth a pause for short tasks only; a program that submits long ones has
// better things to do, so there the submitter soon stops trying.
const (
	farAhead  = 2048                   // unfinished tasks from which on the submitter pauses
	nearAgain = farAhead / 2           // and down to which
	noHaste   = 500 * time.Microsecond // workers that end no batch of tasks within this run long ones
	nap       = 20 * time.Microsecond
	restless  = 1 << 16 // most tasks between two tries
)

// pace is when a job's submitter looks again how far ahead it is.
type pace struct {
	next int64 // at this submission
	gap  int64 // after so many, when the last try brought nothing
}

// inFlight is how much of the window is in use. Submission lock held.
func (j *Job) inFlight() int64 { return j.live - j.ended.Load() + j.heavy.Load() }

// keepPace is called now and then before a submission: at the window it waits
// for room, and before that, now and then, for workers that are far behind. The error is
// a *FullError. Submission lock held; it is given up meanwhile.
func (j *Job) keepPace() error {
	rt := j.rt
	n := j.live - j.ended.Load()
	room := j.window - n - j.heavy.Load()
	j.look = j.submitted + j.every
	if j.opt.Bounded {
		j.look = j.submitted + min(j.every, max(room, 1))
	}
	switch {
	case room <= 0:
		rt.reg.Unlock()
		made := j.throttle()
		rt.reg.Lock()
		if j.opt.Bounded && !made {
			return j.full()
		}
	case n >= farAhead && j.submitted >= j.pace.next && !rt.opt.Sequential:
		rt.reg.Unlock()
		caughtUp := !rt.mayBeInKernel() && j.pause(n) // kernels and callbacks never wait
		rt.reg.Lock()
		if caughtUp {
			j.pace.gap = 0
		} else {
			j.pace.gap = min(max(2*j.pace.gap, 512), restless)
		}
		j.pace.next = j.submitted + j.pace.gap
	}
	return nil
}

// full returns an error when the window of a job that is Bounded, and what it was widened by,
// is in use and nothing makes room. Submission lock held.
func (j *Job) full() error {
	room := j.window + j.widened - j.inFlight()
	if room > 0 {
		j.look = j.submitted + min(j.every, room)
		return nil
	}
	j.look = 0
	return &FullError{Job: j, InFlight: j.inFlight()}
}

// Widen makes room for n tasks more in a job that is Bounded, for as long as it lives. It is how
// a program that accounts for them itself goes on after a *FullError.
func (j *Job) Widen(n int64) {
	j.rt.reg.Lock()
	defer j.rt.reg.Unlock()
	j.widened += max(0, n)
}

// pause waits until few tasks of n are left, and reports false when that is not
// worth it: when the tasks are long, or all workers without work.
func (j *Job) pause(n int64) bool {
	rt := j.rt
	seen := j.ended.Load()
	enough := seen + n - nearAgain
	since := time.Now()
	for {
		time.Sleep(nap)
		ended := j.ended.Load()
		if ended >= enough {
			return true
		}
		if int(rt.parking.idle.Load()) == len(rt.workers) {
			return false
		}
		if ended != seen {
			seen, since = ended, time.Now()
		} else if time.Since(since) > noHaste {
			return false
		}
	}
}
