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

// keepPace is called now and then before a submission: at the window it waits
// for room, and before that, now and then, for workers that are far behind.
// Submission lock held; it is given up meanwhile.
func (j *Job) keepPace() {
	rt := j.rt
	n := j.live - j.ended.Load()
	switch {
	case n >= j.window:
		rt.reg.Unlock()
		j.throttle()
		rt.reg.Lock()
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
