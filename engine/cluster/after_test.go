package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
)

// onNoData returns a task without data on a rank, counted from 0, that waits for others.
func onNoData(rank int, kernel engine.Impl, after ...*Ticket) *Task {
	return &Task{TaskSpec: engine.TaskSpec{Codelet: &engine.Codelet{Name: "k", CPU: []engine.Impl{kernel}}}, On: 1 + rank, AfterTickets: after}
}

// TestAfterTickets: a task begins once tasks of other ranks have ended, and a rank gets to know once of each end. If one of them fails, tasks that wait for it
// are cancelled wherever they are, with that failure as the cause, and others run.
func TestAfterTickets(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for _, size := range []int{1, 2, 3, 4, 7} {
			for r, err := range onEach(t, size, func(j *Job, _ engine.Operand) error {
				ctx := context.Background()
				ran := make([]bool, 5)
				note := func(k int) engine.Impl {
					return func(*engine.TaskContext) error {
						ran[k] = true
						if k == 0 && fails {
							return errors.New("bad")
						}
						return nil
					}
				}
				var all []*Ticket
				for k, after := range [][]int{nil, {0}, {1, 0}, {2, 0, 1}, nil} {
					var on []*Ticket
					for _, i := range after {
						on = append(on, all[i])
					}
					ticket, err := j.SubmitTask(onNoData(k%size, note(k), on...), engine.TaskOptions{})
					if err != nil {
						return err
					}
					all = append(all, ticket)
				}
				if err := j.Wait(ctx); err != nil {
					return err
				}
				for k, ticket := range all {
					err := j.WaitTask(ctx, ticket)
					if lost := fails && k < 4; lost != (err != nil) || lost && !strings.Contains(err.Error(), "bad") {
						return fmt.Errorf("task %d ends with %w", k, err)
					}
					if mine := ticket.Rank() == j.Rank(); ran[k] != (mine && (!fails || k == 0 || k == 4)) {
						return fmt.Errorf("task %d ran: %v", k, ran[k])
					}
				}
				report, err := j.Report(ctx)
				if err != nil {
					return err
				}
				want := map[int]int64{1: 0, 2: 3, 3: 5, 4: 6, 7: 6}[size] // each task that waits gets to know of all before it
				if sent := report.Sent(); sent != (Traffic{want, 0}) {
					return fmt.Errorf("%+v sent, want %d messages", sent, want)
				}
				return nil
			}) {
				if err != nil {
					t.Errorf("fails %v, rank %d of %d: %v", fails, r, size, err)
				}
			}
		}
	}
}

// TestAfterTicketsWait: a task waits for one of another rank that has not begun.
func TestAfterTicketsWait(t *testing.T) {
	open := make(chan struct{})
	began := make(chan struct{})
	for r, err := range onEach(t, 2, func(j *Job, _ engine.Operand) error {
		first, err := j.SubmitTask(onNoData(0, func(*engine.TaskContext) error { <-open; return nil }), engine.TaskOptions{})
		if err != nil {
			return err
		}
		if err := j.Submit(onNoData(1, func(*engine.TaskContext) error { close(began); return nil }, first)); err != nil {
			return err
		}
		if err := j.Submit(onNoData(1, func(*engine.TaskContext) error { // nothing holds it back
			select {
			case <-began:
				return errors.New("the other task has begun")
			default:
				close(open)
				return nil
			}
		})); err != nil {
			return err
		}
		if err := j.Wait(context.Background()); err != nil {
			return err
		}
		if f := j.Local().Failures(); len(f) > 0 {
			return f[0]
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	select {
	case <-began:
	default:
		t.Error("the task did not run")
	}
}

// TestAfterTicketsRefused: tickets that there are none of, and tasks of one rank, are errors of the call, the same on all ranks.
func TestAfterTicketsRefused(t *testing.T) {
	nothing := func(*engine.TaskContext) error { return nil }
	for r, err := range onEach(t, 2, func(j *Job, _ engine.Operand) error {
		if err := j.Submit(onNoData(0, nothing, nil)); err == nil || !strings.Contains(err.Error(), "ticket 0 of AfterTickets is nil") {
			return fmt.Errorf("nil: %w", err)
		}
		if err := j.Submit(onNoData(0, nothing, &Ticket{})); err == nil || !strings.Contains(err.Error(), "of another job") {
			return fmt.Errorf("another job: %w", err)
		}
		local, err := j.Local().SubmitTask(&engine.TaskSpec{Codelet: &engine.Codelet{Name: "k", CPU: []engine.Impl{nothing}}})
		if err != nil {
			return err
		}
		task := onNoData(0, nothing)
		task.After = []engine.Dependency{local}
		var refused *UnsupportedError
		if err := j.Submit(task); !errors.As(err, &refused) || !strings.Contains(err.Error(), "AfterTickets") {
			return fmt.Errorf("a task of one rank: %w", err)
		}
		return j.Wait(context.Background())
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
