package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// TestMeet: ranks that fail after the same calls have made all of these, with their results, before the first one gives up, whichever is ahead.
func TestMeet(t *testing.T) {
	bad := errors.New("bad")
	square := &engine.Codelet{Name: "square", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		each(c.Buffer(0), func(i int, x *int64) { *x = *x**x%1000 + int64(i) })
		return nil
	}}}
	for n := *seed; n < *seed+60; n++ {
		r := rand.New(rand.NewPCG(n, 0))
		size := []int{1, 2, 3, 4, 7}[n%5]
		calls := make([]int, 3+r.IntN(10)) // a task on a rank, or -1 for a look at the data, or -2 for a wait
		for k := range calls {
			calls[k] = max(-2, r.IntN(size+4)-4)
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			for rank, err := range onEach(t, size, func(j *Job, x engine.Operand) error {
				late := rand.New(rand.NewPCG(n, uint64(j.Rank()+1)))
				want := []int64{1, 1, 1, 1, 1, 1, 1, 1}
				for k, call := range calls {
					if late.IntN(3) == 0 {
						time.Sleep(time.Duration(late.IntN(2000)) * time.Microsecond)
					}
					var err error
					switch call {
					case -2:
						err = j.Wait(context.Background())
					case -1:
						var a *engine.Access
						if a, err = j.Acquire(context.Background(), x.Handle, iface.R, engine.AcquireOptions{}); err == nil {
							got := slices.Clone(iface.Slice[int64](a.Buffer()))
							if err = a.Release(); !slices.Equal(got, want) {
								return fmt.Errorf("call %d: %v, want %v", k, got, want)
							}
						}
					default:
						err = j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: square, Operands: []engine.Operand{x}}, On: 1 + call})
						for i := range want {
							want[i] = want[i]*want[i]%1000 + int64(i)
						}
					}
					if err != nil {
						return fmt.Errorf("call %d: %w", k, err)
					}
				}
				var remote *RemoteError // of a rank that has met the others
				if err := j.Meet(context.Background()); err != nil && !errors.As(err, &remote) {
					return err
				}
				j.Fail(bad)
				return nil
			}) {
				if err != nil {
					t.Errorf("rank %d of %d, calls %v: %v", rank, size, calls, err)
				}
			}
		})
	}
}

// TestMeetAlone: a rank that others do not come to meet waits until its context ends, or one of them gives up; and later jobs meet again.
func TestMeetAlone(t *testing.T) {
	bad := errors.New("bad")
	for range 3 {
		for r, err := range onEach(t, 3, func(j *Job, _ engine.Operand) error {
			switch j.Rank() {
			case 0:
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
				defer cancel()
				if err := j.Meet(ctx); !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("Meet alone: %w", err)
				}
				j.Fail(bad)
				return nil
			case 1:
				var remote *RemoteError
				if err := j.Meet(context.Background()); !errors.As(err, &remote) || remote.Rank != 0 {
					return fmt.Errorf("Meet when a rank gives up: %w", err)
				}
				return nil
			}
			if err := j.Wait(context.Background()); err == nil {
				return errors.New("a failure was not heard of")
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	}
}
