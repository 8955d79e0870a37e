package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// onEach calls fn for each of some ranks in this process, with data of eight elements that have the value 1.
func onEach(t *testing.T, size int, fn func(j *Job, x engine.Operand) error) (errs []error) {
	return onEachWith(t, size, Options{}, fn)
}

func onEachWith(t *testing.T, size int, o Options, fn func(j *Job, x engine.Operand) error) (errs []error) {
	return onEnds(t, Local(size), o, fn)
}

func onEnds(t *testing.T, ends []Comm, o Options, fn func(j *Job, x engine.Operand) error) (errs []error) {
	errs = make([]error, len(ends))
	var group sync.WaitGroup
	for r, end := range ends {
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
			j := NewJob(context.Background(), rt, end, o)
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
			task := &Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: []engine.Operand{x}, Args: []iface.Scalar{iface.Int(1), iface.Int(0)}}}
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

// TestRankGivesUp: when one rank cannot go on, the others, which wait for it in any way, get an error that names it.
func TestRankGivesUp(t *testing.T) {
	bad := errors.New("bad")
	picky := &engine.Codelet{Name: "picky", CPU: codelet.CPU, Shape: func([]iface.Desc, []iface.Scalar) error { return &engine.ShapeError{Message: "bad"} }}
	task := func(c *engine.Codelet, on int, x engine.Operand) *Task {
		return &Task{TaskSpec: engine.TaskSpec{Codelet: c, Operands: []engine.Operand{x}, Args: []iface.Scalar{iface.Int(1), iface.Int(0)}}, On: 1 + on}
	}
	for _, gives := range []struct {
		name string
		up   func(j *Job, x engine.Operand) error
	}{
		{"fails", func(j *Job, _ engine.Operand) error { j.Fail(bad); return bad }},
		{"refuses a task", func(j *Job, x engine.Operand) error { return j.Submit(task(picky, j.Rank(), x)) }},
	} {
		for _, others := range []struct {
			name string
			wait func(j *Job, x engine.Operand) error
		}{
			{"acquire", func(j *Job, x engine.Operand) error {
				_, err := j.Acquire(context.Background(), x.Handle, iface.R, engine.AcquireOptions{})
				return err
			}},
			{"wait", func(j *Job, _ engine.Operand) error { return j.Wait(context.Background()) }},
			{"wait for a task", func(j *Job, x engine.Operand) error {
				ticket, err := j.SubmitTask(task(codelet, 0, x), engine.TaskOptions{})
				if err == nil {
					err = j.WaitTask(context.Background(), ticket)
				}
				return err
			}},
			{"share", func(j *Job, _ engine.Operand) error { _, err := j.Share(context.Background(), 0, nil); return err }},
		} {
			for _, size := range []int{2, 3, 7} {
				t.Run(fmt.Sprintf("%s/%s/%d", gives.name, others.name, size), func(t *testing.T) {
					for r, err := range onEach(t, size, func(j *Job, x engine.Operand) error {
						if err := j.Submit(task(codelet, size-1, x)); err != nil && j.Err() == nil {
							return err
						}
						// Other ranks need a value of rank 0, which does not come.
						if j.Rank() == 0 {
							return gives.up(j, x)
						}
						if err := j.Submit(task(codelet, 0, x)); err != nil {
							return err
						}
						return others.wait(j, x)
					}) {
						var remote *RemoteError
						var data *engine.FailedDataError
						switch {
						case err == nil || !strings.Contains(err.Error(), "bad"):
							t.Errorf("rank %d: %v", r, err)
						case r > 0 && !(errors.As(err, &remote) && remote.Rank == 0) && !errors.As(err, &data):
							t.Errorf("rank %d: %v", r, err)
						}
					}
				})
			}
		}
	}
}

// TestAgreementTree: the ranks are one tree from each root, whose parents and children know each other, of logarithmic depth.
func TestAgreementTree(t *testing.T) {
	for size := 1; size <= 33; size++ {
		for root := range size {
			for rank := range size {
				depth := 0
				for r := rank; r != root; depth++ {
					parent, _ := tree(r, root, size)
					if _, children := tree(parent, root, size); !slices.Contains(children, r) {
						t.Fatalf("%d ranks from %d: %d is not among the children %v of its parent %d", size, root, r, children, parent)
					}
					r = parent
				}
				if _, children := tree(rank, root, size); depth+len(children) > bits.Len(uint(size-1)) {
					t.Errorf("%d ranks from %d: %d is %d deep with %v below it", size, root, rank, depth, children)
				}
			}
			if parent, _ := tree(root, root, size); parent != -1 {
				t.Errorf("the root %d of %d ranks has the parent %d", root, size, parent)
			}
		}
	}
}

// TestGatherOnManyRanks: all get what each passes, and what the last one shares.
func TestGatherOnManyRanks(t *testing.T) {
	const size = 13
	for r, err := range onEach(t, size, func(j *Job, _ engine.Operand) error {
		ctx := context.Background()
		all, err := j.Gather(ctx, bytes.Repeat([]byte{byte(j.Rank())}, j.Rank()))
		if err != nil {
			return err
		}
		for r, got := range all {
			if len(got) != r || bytes.Count(got, []byte{byte(r)}) != r {
				t.Errorf("rank %d: %v from %d", j.Rank(), got, r)
			}
		}
		if got, err := j.Share(ctx, size-1, []byte{byte(j.Rank())}); err != nil || !bytes.Equal(got, []byte{size - 1}) {
			t.Errorf("rank %d: %v, %v from the last", j.Rank(), got, err)
		}
		return j.Wait(ctx)
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
