package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// increment adds 1 to its second operand, or to the only one.
var increment = &engine.Codelet{Name: "increment", CPU: []engine.Impl{func(c *engine.TaskContext) error {
	each(c.Buffer(c.NumBuffers()-1), func(_ int, x *int64) { *x++ })
	return nil
}}}

// TestWaitsThatNeverEnd: tasks wait for a gate of one rank that stays closed, and what the program waits for needs their values on
// others. The rank of the gate gets a *engine.StuckError, and the others hear of it once that rank gives up.
func TestWaitsThatNeverEnd(t *testing.T) {
	ends := map[string]func(ctx context.Context, j *Job, x *datamgr.Handle) error{
		"acquire": func(ctx context.Context, j *Job, x *datamgr.Handle) error {
			a, err := j.Acquire(ctx, x, iface.R, engine.AcquireOptions{})
			if err == nil {
				_ = a.Release()
			}
			return err
		},
		"wait": func(ctx context.Context, j *Job, _ *datamgr.Handle) error { return j.Wait(ctx) },
	}
	for name, wait := range ends {
		for size := 2; size <= 4; size++ {
			for gated := range size {
				t.Run(fmt.Sprintf("%s/%d of %d", name, gated, size), func(t *testing.T) {
					errs := onEachDetecting(t, size, func(j *Job, x engine.Operand) error {
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						defer cancel()
						y, err := j.rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{8}}, func(*iface.Buffer) error { return nil })
						if err != nil {
							return err
						}
						g := j.Local().NewGate() // closed
						tasks := []Task{
							{TaskSpec: engine.TaskSpec{Codelet: increment, Operands: []engine.Operand{x}, After: []engine.Dependency{g}}, On: 1 + gated},
							{TaskSpec: engine.TaskSpec{Codelet: increment, Operands: []engine.Operand{{Handle: x.Handle, Mode: iface.R}, {Handle: y, Mode: iface.RW}}}, On: 1 + (gated+1)%size},
						}
						for i := range tasks {
							if err := j.Submit(&tasks[i]); err != nil {
								return err
							}
						}
						err = wait(ctx, j, y)
						if err != nil {
							j.Fail(err)
						}
						return err
					})
					for r, err := range errs {
						var stuck *engine.StuckError
						var remote *RemoteError
						switch {
						case r == gated && (!errors.As(err, &stuck) || len(stuck.Tasks) != 1 || stuck.Tasks[0].Codelet != increment):
							t.Errorf("the rank of the gate got %v", err)
						case r != gated && (!errors.As(err, &remote) || !strings.Contains(remote.Text, "waits for a closed gate")):
							t.Errorf("rank %d got %v", r, err)
						}
					}
				})
			}
		}
	}
}

// onEachDetecting is onEach for jobs that detect waits without end.
func onEachDetecting(t *testing.T, size int, fn func(j *Job, x engine.Operand) error) (errs []error) {
	return onEachWith(t, size, Options{JobOptions: engine.JobOptions{DetectStuck: true}}, fn)
}

// TestLongWaits: ranks that wait for a kernel of another rank, or for a message that is on its way, are not taken for stuck.
func TestLongWaits(t *testing.T) {
	slow := &engine.Codelet{Name: "slow", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		time.Sleep(100 * stuckAfter)
		each(c.Buffer(0), func(_ int, x *int64) { *x *= 2 })
		return nil
	}}}
	const size, rounds = 3, 6
	for r, err := range onEachDetecting(t, size, func(j *Job, x engine.Operand) error {
		for k := range rounds {
			if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: slow, Operands: []engine.Operand{x}}, On: 1 + k%size}); err != nil {
				return err
			}
			if k%2 == 1 {
				if err := j.Wait(context.Background()); err != nil {
					return err
				}
			}
		}
		a, err := j.Acquire(context.Background(), x.Handle, iface.R, engine.AcquireOptions{})
		if err != nil {
			return err
		}
		defer a.Release()
		if got := iface.Slice[int64](a.Buffer())[0]; got != 1<<rounds {
			return fmt.Errorf("the value is %d, want %d", got, 1<<rounds)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// delayed is an end whose messages with values arrive later.
type delayed struct {
	Comm
	by    time.Duration
	group *sync.WaitGroup
}

func (d delayed) Send(to, tag int, data []byte, done func(error)) {
	if tag >= tags {
		d.Comm.Send(to, tag, data, done)
		return
	}
	data = append([]byte(nil), data...)
	d.group.Go(func() {
		time.Sleep(d.by)
		d.Comm.Send(to, tag, data, func(error) {})
	})
	done(nil)
}

// TestSlowMessages: a value that is on its way for longer than rank 0 waits before it asks is not taken for one that never comes.
func TestSlowMessages(t *testing.T) {
	var group sync.WaitGroup
	defer group.Wait()
	ends := Local(3)
	for r := range ends {
		ends[r] = delayed{ends[r], 50 * stuckAfter, &group}
	}
	for r, err := range onEnds(t, ends, Options{JobOptions: engine.JobOptions{DetectStuck: true}}, func(j *Job, x engine.Operand) error {
		for k := range 6 {
			if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: increment, Operands: []engine.Operand{x}}, On: 1 + k%3}); err != nil {
				return err
			}
		}
		return j.Wait(context.Background())
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// listening is an end that counts the receives of questions that have not ended.
type listening struct {
	Comm
	questions *atomic.Int32
}

func (l listening) Recv(from, tag int, into []byte, done func(int, error)) {
	if tag != stuckTag || l.Rank() == 0 {
		l.Comm.Recv(from, tag, into, done)
		return
	}
	l.questions.Add(1)
	l.Comm.Recv(from, tag, into, func(n int, err error) {
		l.questions.Add(-1)
		done(n, err)
	})
}

// TestQuestionsEnd: no rank leaves a job before rank 0 asks no more. One that did left rank 0 without an answer, and took a question of the next job.
func TestQuestionsEnd(t *testing.T) {
	const size = 3
	ends := Local(size)
	var counts [size]atomic.Int32
	for r := range ends {
		ends[r] = listening{ends[r], &counts[r]}
	}
	for range 5 {
		for r, err := range onEnds(t, ends, Options{JobOptions: engine.JobOptions{DetectStuck: true}}, func(j *Job, x engine.Operand) error {
			if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: increment, Operands: []engine.Operand{x}}, On: size}); err != nil {
				return err
			}
			if err := j.Wait(context.Background()); err != nil {
				return err
			}
			if j.Rank() == 0 {
				time.Sleep(20 * stuckAfter)
			}
			if err := j.Close(); err != nil {
				return err
			}
			if n := counts[j.Rank()].Load(); n != 0 {
				return fmt.Errorf("%d receives of questions go on after Close", n)
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	}
}
