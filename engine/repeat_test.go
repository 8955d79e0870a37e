package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
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
		must(t, j.Wait(nil))
		for i := range ran {
			if ran[i].Load() != rounds || all[i].Rounds() != rounds {
				t.Error(i, ran[i].Load(), all[i].Rounds())
			}
			must(t, all[i].Wait(nil))
			must(t, all[i].Err())
		}
		if late.Load() != 0 {
			t.Error(late.Load(), "rounds before their turn")
		}
	})
}

// Rounds are tasks of their own; who waits for the task waits for the last.
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
		must(t, after.Wait(nil))
		must(t, j.Wait(nil))
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

// A repeating task ends when a round fails, when its data has gone, when it is
// told to stop while it waits, and when its job is cancelled or closed.
func TestRepeatEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		n := 0
		fails, err := j.SubmitWith(&TaskSpec{Codelet: kernel("third", func(*TaskContext) error {
			if n++; n == 3 {
				return boom
			}
			return nil
		})}, TaskOptions{Repeat: Forever})
		must(t, err)
		after, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{fails}})
		must(t, err)
		must(t, after.Wait(nil))
		if n != 3 || !errors.Is(fails.Err(), boom) || !errors.Is(after.Err(), boom) {
			t.Error(n, fails.Err(), after.Err())
		}

		x := lazy(t, rt, 1, nil)
		must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.W, x)}))
		g := j.NewGate()
		gone, err := j.SubmitWith(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x), After: []Dependency{g}}, TaskOptions{Repeat: Forever})
		must(t, err)
		must(t, j.Unregister(x))
		g.Open()
		must(t, gone.Wait(nil))
		var dead *DeadHandleError
		if err := gone.Err(); !errors.As(err, &dead) {
			t.Error(err)
		}

		tag, never := j.NewTag("tag"), j.NewTag("never")
		must(t, tag.DependsOn(never))
		must(t, never.NotifyRestart())
		waits, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: tag, Repeat: Forever})
		must(t, err)
		stuckOnTag(t, waits.Wait(nil), never) // in its second round
		waits.Stop()
		must(t, waits.Wait(nil))
		must(t, waits.Err())
		if waits.Rounds() != 1 {
			t.Error(waits.Rounds())
		}
		ahead, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: func(k *Task) bool { return k.Rounds() < 2 }, Tag: tag})
		must(t, err)
		behind, err := j.SubmitWith(&TaskSpec{Codelet: nop, After: []Dependency{ahead}}, TaskOptions{Repeat: Forever})
		must(t, err)
		must(t, never.NotifyRestart())
		stuckOnTag(t, behind.Wait(nil), never) // in its second round, like the one ahead
		behind.Stop()
		must(t, behind.Wait(nil))
		if behind.Rounds() != 1 {
			t.Error(behind.Rounds())
		}
		must(t, never.NotifyRestart())
		must(t, j.Wait(nil))
		if fs := j.Failures(); len(fs) != 0 {
			t.Error(fs) // Err has returned them
		}

		cancelled, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: func(k *Task) bool {
			if k.Rounds() == 5 {
				j.Cancel(boom)
			}
			return true
		}})
		must(t, err)
		must(t, cancelled.Wait(nil))
		if err := cancelled.Err(); !errors.Is(err, boom) {
			t.Error(err)
		}

		own := rt.NewJob(nil, JobOptions{})
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
		must(t, k.Wait(nil))
	})
}

// A panic in Repeat is a failure of the job and ends the task.
func TestRepeatPanics(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		k, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: func(k *Task) bool { panic(boom) }})
		must(t, err)
		must(t, k.Wait(nil))
		must(t, k.Err())
		if fs := j.Failures(); len(fs) != 1 || !errors.Is(fs[0], boom) {
			t.Error(fs)
		}
	})
}

// Repeating tasks that wait for each other's rounds and write the same data: the
// next round of the first has its place there before the next one of those behind
// it, however quick those are.
func TestRepeatOnOneHandle(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		const rounds, stages = 20, 3
		v := []int64{0}
		x := ints(t, rt, v)
		wrong := 0
		var all []*Task
		g := j.NewGate()
		for i := range stages {
			s := &TaskSpec{Codelet: kernel("stage", func(c *TaskContext) error {
				x := iface.Slice[int64](c.Buffer(0))
				if x[0]%stages != int64(i) {
					wrong++
				}
				x[0]++
				return nil
			}), Operands: ops(iface.RW, x), After: []Dependency{g}}
			if i > 0 {
				s.After = append(s.After, all[i-1])
			}
			k, err := j.SubmitWith(s, TaskOptions{
				Callback: func(*Task) error { time.Sleep(time.Microsecond); return nil }, // the others are quicker
				Repeat:   func(k *Task) bool { return k.Rounds() < rounds },
			})
			must(t, err)
			all = append(all, k)
		}
		g.Open()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := j.Wait(ctx); err != nil {
			for _, k := range all {
				t.Logf("%v in round %d", k.State(), k.Rounds())
			}
			panic("the tasks wait for each other") // for ever: nothing could end the job
		}
		if v[0] != rounds*stages || wrong != 0 {
			t.Error(v, wrong)
		}
	})
}
