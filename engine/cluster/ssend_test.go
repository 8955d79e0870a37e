package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// TestSsend: with Task.Ssend, data that is sent may be written only once the other rank has started to receive it, which it does not while a task there
// uses what it had before. Without, the writer does not wait for the other rank.
func TestSsend(t *testing.T) {
	for _, kind := range []string{"array", "column", "value"} {
		for _, ssend := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", kind, ssend), func(t *testing.T) { checkSsend(t, kind, ssend) })
		}
	}
}

func checkSsend(t *testing.T, kind string, ssend bool) {
	var received atomic.Bool       // the task on rank 1 that holds the receive back is over
	written := make(chan struct{}) // by the task on rank 0 that comes after the send
	var once sync.Once
	end := func() { once.Do(func() { close(written) }) }
	defer end()
	slow := &engine.Codelet{Name: "slow", CPU: []engine.Impl{func(*engine.TaskContext) error {
		if ssend {
			time.Sleep(20 * time.Millisecond) // long enough for the writer to come first, if it does not wait
		} else {
			select {
			case <-written:
			case <-time.After(time.Minute):
				return errors.New("the writer waits for a receive")
			}
		}
		received.Store(true)
		return nil
	}}}
	add := &engine.Codelet{Name: "add", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		if ssend && !received.Load() {
			return errors.New("the data is written before its receive has started")
		}
		end()
		each(c.Buffer(0), func(_ int, x *int64) { *x++ })
		return nil
	}}}
	first := &engine.Codelet{Name: "first", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		each(c.Buffer(0), func(_ int, x *int64) { *x = 7 })
		return nil
	}}}
	check := func(j *Job, x engine.Operand) error {
		h := x.Handle
		switch kind {
		case "column":
			var err error
			if h, err = columnOf(j.rt); err != nil {
				return err
			}
		case "value":
			v, err := engine.NewValue(j.rt, bag{list: []int64{1, 2}})
			if err != nil {
				return err
			}
			h = v.Handle
		}
		on := func(rank int, c *engine.Codelet, mode iface.AccessMode) *Task {
			return &Task{TaskSpec: engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: h, Mode: mode}}}, On: 1 + rank}
		}
		sum := &engine.Codelet{Name: "sum", CPU: []engine.Impl{func(c *engine.TaskContext) (err error) {
			each(c.Buffer(0), func(_ int, x *int64) {
				if *x != 7 {
					err = fmt.Errorf("rank 1 has %d, want 7", *x)
				}
			})
			return err
		}}}
		reader := on(1, sum, iface.R)
		reader.Ssend = ssend
		for _, t := range []*Task{on(1, slow, iface.R), on(0, first, iface.RW), reader, on(0, add, iface.RW)} {
			if err := j.Submit(t); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := j.Wait(ctx); err != nil {
			return err
		}
		for _, f := range j.Local().Failures() {
			return f
		}
		return nil
	}
	for r, err := range onEach(t, 2, check) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// columnOf returns a column of a matrix, whose elements have gaps between them.
func columnOf(rt *engine.Runtime) (*datamgr.Handle, error) {
	m, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{4, 3}}, func(b *iface.Buffer) error {
		each(b, func(_ int, x *int64) { *x = 1 })
		return nil
	})
	if err != nil {
		return nil, err
	}
	v, err := rt.Partition(m, filter.Cols(3, 0))
	if err != nil {
		return nil, err
	}
	return v.Parts[1], nil
}
