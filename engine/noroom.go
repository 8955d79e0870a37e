package engine

// Tasks for which there is no room on a device because the program holds data there.
//
// They wait for a release as tasks that need the data do, and not on their worker: so
// a program that waits for them while it holds the data is told, see StuckError.

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine/sched"
)

// noRoomFor holds those tasks, by node.
type noRoomFor struct {
	given atomic.Uint64 // counts releases of data on devices

	// guarded by the submission lock
	waiting map[int][]*task
	holding map[int]int // accesses whose memory nobody waits for (Placement.Hold), or did until roomAgain
}

// holds says, before it is so, that the memory of a on its device is the program's.
func (a *Access) holds() {
	rt := a.job.rt
	rt.reg.Lock()
	defer rt.reg.Unlock()
	if rt.noRoomFor.holding == nil {
		rt.noRoomFor.holding = map[int]int{}
	}
	rt.noRoomFor.holding[a.opt.Node]++
	a.there = true
}

// squeezed reports whether t, for which there was no room, waits until the program
// releases some, and sees to it.
func (w *worker) squeezed(t *task, err error) bool {
	rt := w.rt
	var full *accel.NoMemoryError
	if sp := t.special(); !errors.As(err, &full) || sp != nil && sp.gang != nil {
		return false
	}
	rt.reg.Lock()
	missed := rt.noRoomFor.given.Load() != w.roomGiven
	holds := rt.noRoomFor.holding[w.node] > 0
	rt.reg.Unlock()
	if !holds && !missed {
		return false
	}
	w.letGo(t)
	rt.reg.Lock()
	defer rt.reg.Unlock()
	if rt.noRoomFor.given.Load() != w.roomGiven || t.Order <= t.job.cancelled.Load() {
		rt.push(t, sched.Outside)
		return true
	}
	if rt.noRoomFor.waiting == nil {
		rt.noRoomFor.waiting = map[int][]*task{}
	}
	rt.noRoomFor.waiting[w.node] = append(rt.noRoomFor.waiting[w.node], t)
	return true
}

// roomAgain lets the tasks try again that wait for room on a node, where some was
// given back; kept says that the program had held it.
func (rt *Runtime) roomAgain(node int, kept bool) {
	rt.reg.Lock()
	defer rt.reg.Unlock()
	if kept {
		rt.noRoomFor.holding[node]--
	}
	rt.noRoomFor.given.Add(1)
	for _, t := range rt.noRoomFor.waiting[node] {
		rt.push(t, sched.Outside)
	}
	delete(rt.noRoomFor.waiting, node)
}

// dropRoomless lets the tasks of j up to number id go that wait for room: they are
// cancelled, and will find out. Submission lock held.
func (j *Job) dropRoomless(id int64) {
	waiting := j.rt.noRoomFor.waiting
	for node, ts := range waiting {
		waiting[node] = slices.DeleteFunc(ts, func(t *task) bool {
			if t.job != j || t.Order > id {
				return false
			}
			j.rt.push(t, sched.Outside)
			return true
		})
	}
}

// noRoom is the error of what needs so many bytes on a node.
func (rt *Runtime) noRoom(node int, bytes int64) error {
	n := rt.Nodes()[node]
	return &accel.NoMemoryError{Node: n.Name, Want: bytes, Allocated: n.Allocated, Capacity: n.Capacity}
}
