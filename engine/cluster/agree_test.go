package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// onEach calls fn for each of some ranks in this process, with data of eight elements that have the value 1.
func onEach(t *testing.T, size int, fn func(j *Job, x engine.Operand) error) (errs []error) {
	errs = make([]error, size)
	var group sync.WaitGroup
	for r, end := range Local(size) {
		group.Go(func() {
			rt, err := engine.New(engine.Options{Workers: 1})
			if err != nil {
				t.Error(err)
				return
			}
			defer rt.Close()
			h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{8}}, func(b *iface.Buffer) error {
				each(b, func(_ int, x *int64) { *x = 1 })
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			j := NewJob(context.Background(), rt, end, Options{})
			defer j.Close()
			errs[r] = fn(j, engine.Operand{Handle: h, Mode: iface.RW})
		})
	}
	group.Wait()
	return errs
}

// TestDiverged: Wait returns an error on all ranks if one of them has submitted other tasks.
func TestDiverged(t *testing.T) {
	for _, err := range onEach(t, 3, func(j *Job, x engine.Operand) error {
		for range 1 + j.Rank()/2 {
			task := &Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: []engine.Operand{x}, Args: []iface.Scalar{iface.Int(1)}}}
			if err := j.Submit(task); err != nil {
				return err
			}
		}
		return j.Wait(context.Background())
	}) {
		var d *DivergedError
		if !errors.As(err, &d) || d.Rank != 2 {
			t.Error(err)
		}
	}
}

// TestTaskFails: all ranks get the failure of a task that they wait for, and of data that they acquire.
func TestTaskFails(t *testing.T) {
	bad := errors.New("bad")
	fails := &engine.Codelet{Name: "fails", CPU: []engine.Impl{func(*engine.TaskContext) error { return bad }}}
	for r, err := range onEach(t, 3, func(j *Job, x engine.Operand) error {
		ticket, err := j.SubmitTask(&Task{TaskSpec: engine.TaskSpec{Codelet: fails, Operands: []engine.Operand{x}}, On: 2}, engine.TaskOptions{})
		if err != nil {
			return err
		}
		if ticket.Rank() != 1 || (ticket.Local() != nil) != (j.Rank() == 1) {
			return errors.New("the task is on another rank")
		}
		failed := j.WaitTask(context.Background(), ticket)
		var remote *RemoteError
		if j.Rank() == 1 && !errors.Is(failed, bad) || j.Rank() != 1 && !(errors.As(failed, &remote) && remote.Rank == 1) {
			return errors.Join(errors.New("the task ends otherwise"), failed)
		}
		var lost *engine.FailedDataError
		if _, err := j.Acquire(context.Background(), x.Handle, iface.R, engine.AcquireOptions{}); !errors.As(err, &lost) {
			return errors.Join(errors.New("the data has a value"), err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
