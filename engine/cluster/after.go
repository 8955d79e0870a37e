package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Tasks that wait for tasks of other ranks. The end of a task is a value without elements, which travels as other values do: its rank has a task without a
// kernel that changes it once the task has ended, and the other rank one that reads it. If the task failed or was cancelled the value is lost, and what waits
// for it is cancelled.

// after returns what a task that this rank runs waits for: tasks of this rank. All ranks call it for each task, and send and receive what that needs.
func (j *Job) after(t *Task, rank int) (all []engine.Dependency, err error) {
	all = slices.Clip(t.After)
	for _, d := range t.AfterTickets {
		switch {
		case j.plans:
			if d.rank != rank && !slices.Contains(d.told, rank) {
				d.told = append(d.told, rank)
				j.figures.count(d.rank, rank, 0)
			}
		case d.rank == rank: // it is there
		case slices.Contains(d.told, rank):
		default:
			d.told = append(d.told, rank)
			switch j.rank {
			case d.rank:
				err = j.sendEnd(d, rank)
			case rank:
				d.end, err = j.receiveEnd(d.rank)
			}
		}
		if err != nil {
			return nil, err
		}
		switch {
		case rank != j.rank && !j.plans:
		case d.task != nil:
			all = append(all, d.task)
		default:
			all = append(all, d.end)
		}
	}
	return all, nil
}

// local returns the description of a task that this rank runs, after its route was found.
func (j *Job) local(t *Task) *engine.TaskSpec {
	if len(t.AfterTickets) == 0 {
		return &t.TaskSpec
	}
	spec := t.TaskSpec
	spec.After = j.deps
	return &spec
}

// checkAfter returns what is wrong with the tickets that t waits for.
func (j *Job) checkAfter(t *Task) error {
	for i, d := range t.AfterTickets {
		switch {
		case d == nil:
			return fmt.Errorf("cluster: ticket %d of AfterTickets is nil; leave it out", i)
		case d.job != j:
			return fmt.Errorf("cluster: ticket %d of AfterTickets is of another job; wait for it before you submit", i)
		}
	}
	return nil
}

// newEnd registers the end of a task: data without elements.
func (j *Job) newEnd() (*datamgr.Handle, error) {
	return j.rt.Register(engine.DataSpec{Kind: iface.Void, Elem: iface.NoElem})
}

// sendEnd tells a rank how d ends, once it has.
func (j *Job) sendEnd(d *Ticket, to int) error {
	end, err := j.newEnd()
	if err != nil {
		return err
	}
	_, err = j.submitEmpty(&engine.TaskSpec{Operands: []engine.Operand{{Handle: end, Mode: iface.RW}}, After: []engine.Dependency{d.task}})
	if err == nil {
		err = j.send(end, to)
	}
	if err != nil {
		return err
	}
	return j.job.Unregister(end)
}

// receiveEnd returns a task of this rank that ends as a task of another rank does.
func (j *Job) receiveEnd(from int) (*engine.Task, error) {
	end, err := j.newEnd()
	if err == nil {
		err = j.receive(end, from)
	}
	if err != nil {
		return nil, err
	}
	t, err := j.submitEmpty(&engine.TaskSpec{Operands: []engine.Operand{{Handle: end, Mode: iface.R}}})
	if err != nil {
		return nil, err
	}
	return t, j.job.Unregister(end)
}

// submitEmpty submits a task without a kernel to this rank, also if the window is full: the program cannot make room for it.
func (j *Job) submitEmpty(s *engine.TaskSpec) (*engine.Task, error) {
	for {
		t, err := j.job.SubmitWith(s, engine.TaskOptions{})
		var full *engine.FullError
		if !errors.As(err, &full) {
			return t, err
		}
		j.job.Widen(1)
	}
}
