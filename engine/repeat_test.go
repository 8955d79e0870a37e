package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// A pipeline of repeating tasks: each round of one follows the same round of
// the one before.
func TestRepeatingPipeline(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		const rounds = 200
		var ran [3]atomic.Int64
		var late atomic.Int64
		var all []*Task
		for i := range ran {
			s := &TaskSpec{Codelet: kernel("stage", func(c *TaskContext) error {
				n := ran[i].Add(1)
				if i > 0 && ran[i-1].Load() < n {
					late.Add(1)
				}
				return nil
			})}
			if i > 0 {
				s.After = []Dependency{all[i-1]}
			}
			calls := 0
			k, err := j.SubmitWith(s, TaskOptions{Repeat: Forever, Callback: func(k *Task) error {
				if calls++; calls == rounds {
					k.Stop()
				}
				return nil
			}})
			must(t, err)
			all = append(all, k)
		}
		must(t, j.Wait(context.Background()))
		for i := range ran {
			if ran[i].Load() != rounds || all[i].Rounds() != rounds {
				t.Error(i, ran[i].Load(), all[i].Rounds())
			}
			must(t, all[i].Wait(context.Background()))
			must(t, all[i].Err())
		}
		if late.Load() != 0 {
			t.Error(late.Load(), "rounds before their turn")
		}
	})
}

// TestRepeat: rounds are tasks of their own, and a wait for the task waits for the last
// round.
func TestRepeat(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{0}
		x := ints(t, rt, v)
		hooks := 0
		count := func(*Task) error { hooks++; return nil }
		k, err := j.SubmitWith(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}, TaskOptions{
			Prologue: count, OnStart: count, Epilogue: count, Callback: count,
			Repeat: func(k *Task) bool { return k.Rounds() < 7 },
		})
		must(t, err)
		saw := int64(0)
		after, err := j.SubmitTask(&TaskSpec{Codelet: kernel("after", func(*TaskContext) error { saw = v[0]; return nil }), After: []Dependency{k}})
		must(t, err)
		must(t, after.Wait(context.Background()))
		must(t, j.Wait(context.Background()))
		if v[0] != 7 || saw != 7 || hooks != 28 || k.Rounds() != 7 {
			t.Error(v, saw, hooks, k.Rounds())
		}
		if s := j.Stats(); s.Submitted != 8 || s.Done != 8 {
			t.Errorf("%+v", s)
		}
		var rep *RepeatError
		if err := k.AddEndDependency(j.NewGate()); !errors.As(err, &rep) {
			t.Error(err)
		}
	})
}

// TestRepeatEnds: a repeating task ends when a round fails, when its data has gone, when
// it is stopped while it waits, and when its job is cancelled or closed.
func TestRepeatEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		n := 0
		fails, err := j.SubmitWith(&TaskSpec{Codelet: kernel("third", func(*TaskContext) error {
			if n++; n == 3 {
				return errBoom
			}
			return nil
		})}, TaskOptions{Repeat: Forever})
		must(t, err)
		after, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{fails}})
		must(t, err)
		must(t, after.Wait(context.Background()))
		if n != 3 || !errors.Is(fails.Err(), errBoom) || !errors.Is(after.Err(), errBoom) {
			t.Error(n, fails.Err(), after.Err())
		}

		x := lazy(t, rt, 1, nil)
		must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.W, x)}))
		g := j.NewGate()
		gone, err := j.SubmitWith(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x), After: []Dependency{g}}, TaskOptions{Repeat: Forever})
		must(t, err)
		must(t, j.Unregister(x))
		g.Open()
		must(t, gone.Wait(context.Background()))
		var dead *DeadHandleError
		if err := gone.Err(); !errors.As(err, &dead) {
			t.Error(err)
		}

		tag, never := j.NewTag("tag"), j.NewTag("never")
		must(t, tag.DependsOn(never))
		must(t, never.NotifyRestart())
		waits, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: tag, Repeat: Forever})
		must(t, err)
		stuckOnTag(t, waits.Wait(context.Background()), never) // in its second round
		waits.Stop()
		must(t, waits.Wait(context.Background()))
		must(t, waits.Err())
		if waits.Rounds() != 1 {
			t.Error(waits.Rounds())
		}
		ahead, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: func(k *Task) bool { return k.Rounds() < 2 }, Tag: tag})
		must(t, err)
		behind, err := j.SubmitWith(&TaskSpec{Codelet: nop, After: []Dependency{ahead}}, TaskOptions{Repeat: Forever})
		must(t, err)
		must(t, never.NotifyRestart())
		stuckOnTag(t, behind.Wait(context.Background()), never) // in its second round, like the one ahead
		behind.Stop()
		must(t, behind.Wait(context.Background()))
		if behind.Rounds() != 1 {
			t.Error(behind.Rounds())
		}
		must(t, never.NotifyRestart())
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) != 0 {
			t.Error(fs) // Err has returned them
		}

		cancelled, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: func(k *Task) bool {
			if k.Rounds() == 5 {
				j.Cancel(errBoom)
			}
			return true
		}})
		must(t, err)
		must(t, cancelled.Wait(context.Background()))
		if err := cancelled.Err(); !errors.Is(err, errBoom) || cancelled.Rounds() != 5 {
			t.Error(err, cancelled.Rounds())
		}

		own := rt.NewJob(context.Background(), JobOptions{})
		started := make(chan struct{})
		first := true
		k, err := own.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: func(k *Task) bool {
			if first {
				first = false
				close(started)
			}
			return !rt.Sequential() // there all rounds run in the submission
		}})
		must(t, err)
		<-started
		must(t, own.Close())
		must(t, k.Wait(context.Background()))
	})
}

// A panic in Repeat is a failure of the job and ends the task.
func TestRepeatPanics(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		k, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: func(k *Task) bool { panic(errBoom) }})
		must(t, err)
		must(t, k.Wait(context.Background()))
		must(t, k.Err())
		if fs := j.Failures(); len(fs) != 1 || !errors.Is(fs[0], errBoom) {
			t.Error(fs)
		}
	})
}

// Repeating tasks that wait for each other's rounds and write the same data: the
// next round of the first has its place there before the next one of those behind
// it, however quick those are.
func TestRepeatOnOneHandle(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		const rounds, stages = 10, 3
		v := make([]int64, stages) // rounds of each
		x := ints(t, rt, v)
		early := 0
		var all []*Task
		for i := range stages {
			s := &TaskSpec{Codelet: kernel("stage", func(c *TaskContext) error {
				n := iface.Slice[int64](c.Buffer(0))
				n[i]++
				if i > 0 && n[i] > n[i-1] {
					early++
				}
				return nil
			}), Operands: ops(iface.RW, x)}
			if i > 0 {
				s.After = []Dependency{all[i-1]}
			}
			slow := time.Duration(stages-1-i) * 100 * time.Microsecond // those behind are quicker
			k, err := j.SubmitWith(s, TaskOptions{
				Callback: func(*Task) error { time.Sleep(slow); return nil },
				Repeat:   func(k *Task) bool { return k.Rounds() < rounds },
			})
			must(t, err)
			all = append(all, k)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := j.Wait(ctx); err != nil {
			for _, k := range all {
				t.Logf("%v in round %d", k.State(), k.Rounds())
			}
			go panic("the tasks wait for each other") // for ever: nothing could end the job
			select {}
		}
		if early != 0 || !slices.Equal(v, []int64{rounds, rounds, rounds}) {
			t.Error(v, early)
		}
	})
}

// A task behind the last round that uses the data of the rounds in the order would
// keep the next one from its place for ever: it is refused. All others are taken.
func TestBehindTheLastRound(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y, z := ints(t, rt, []int64{0, 0}), ints(t, rt, []int64{0}), lazy(t, rt, 1, datamgr.SumReduction())
		ps := parts(t, rt, x, filter.Blocks(2))
		for _, c := range []struct {
			round, behind []Operand
			loose         bool // TaskSpec.Unordered of the task behind
			refused       bool
		}{
			{round: ops(iface.RW, x), behind: ops(iface.RW, x), refused: true},
			{round: ops(iface.RW, x), behind: ops(iface.R, ps[1]), refused: true},
			{round: ops(iface.R, ps[0], iface.W, y), behind: ops(iface.R, y), refused: true},
			{round: ops(iface.Redux, z), behind: ops(iface.Redux, z)},
			{round: ops(iface.RW, x), behind: ops(iface.RW, x), loose: true},
			{round: ops(iface.R, x), behind: ops(iface.R, x)},
			{round: ops(iface.RW, ps[0]), behind: ops(iface.RW, ps[1])},
			{round: ops(iface.Commute, x), behind: ops(iface.Commute, x)},
			{round: ops(iface.RW, x)},
		} {
			g := j.NewGate()
			k, err := j.SubmitWith(&TaskSpec{Codelet: nop, Operands: c.round, After: []Dependency{g}},
				TaskOptions{Repeat: func(k *Task) bool { return k.Rounds() < 3 }})
			must(t, err)
			s := &TaskSpec{Codelet: nop, Operands: c.behind, After: []Dependency{k}, Unordered: c.loose}
			after, err := j.SubmitTask(s)
			var refused *RepeatError
			if errors.As(err, &refused) != c.refused || err != nil && (refused.Task != k || !strings.Contains(err.Error(), "last round")) {
				t.Errorf("%v behind %v: %v", c.behind, c.round, err)
			}
			if err := j.NewTask(s, TaskOptions{}).Submit(); errors.As(err, &refused) != c.refused {
				t.Errorf("prepared, %v behind %v: %v", c.behind, c.round, err)
			}
			if c.refused { // the round that runs will be the last
				k.Stop()
				after, err = j.SubmitTask(s)
				must(t, err)
			}
			g.Open()
			must(t, j.Wait(context.Background()))
			must(t, after.Err())
			if want := map[bool]int64{true: 1, false: 3}[c.refused]; k.Rounds() != want {
				t.Errorf("%d rounds, want %d", k.Rounds(), want)
			}
			_, err = j.SubmitTask(s) // it has ended
			must(t, err)
			must(t, j.Wait(context.Background()))
		}
	})
}

// TestRepeatIsFair: a repeating task delays neither other tasks for its worker nor the
// program that submits them.
func TestRepeatIsFair(t *testing.T) {
	long := kernel("long", func(*TaskContext) error { time.Sleep(100 * time.Microsecond); return nil })
	for _, name := range sched.Names() {
		for _, c := range []*Codelet{incs, long, nil} { // nil: without a kernel
			rt, j := start(t, Options{Workers: 1, Policy: name})
			x := ints(t, rt, make([]int64, 4))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			k, err := j.SubmitWith(&TaskSpec{Codelet: c, Operands: ops(iface.RW, x)}, TaskOptions{Repeat: func(*Task) bool { return ctx.Err() == nil }})
			must(t, err)
			for range 3 {
				u, err := j.SubmitTask(&TaskSpec{Codelet: incs})
				must(t, err)
				must(t, u.Wait(context.Background()))
			}
			if k.Done() {
				t.Errorf("%s: the task that repeats let no other come before its last round", name)
			}
			cancel()
			must(t, k.Wait(context.Background()))
		}
	}
}
