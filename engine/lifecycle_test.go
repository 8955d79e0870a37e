package engine

import (
	"context"
	"testing"

	"github.com/starpush/starpush/datamgr/invariants"
	"github.com/starpush/starpush/engine/enginetest"
)

// TestPhases walks the table of phases.
func TestPhases(t *testing.T) {
	seen := map[phase]bool{prepared: true}
	for work := []phase{prepared}; len(work) > 0; work = work[1:] {
		p := work[0]
		if p != ended && nextPhases[p] == 0 {
			t.Errorf("a task cannot leave phase %v", p)
		}
		for q := range phases {
			if p.mayFollow(q) && !seen[q] {
				seen[q] = true
				work = append(work, q)
			}
		}
	}
	for p := range phases {
		if !seen[p] || p.String() == "" {
			t.Errorf("no task comes to phase %d, %q", p, p)
		}
	}
	for _, c := range []struct {
		from, to phase
		ok       bool
	}{
		{prepared, submitted, true}, {submitting, prepared, true}, {submitted, ending, true}, {ending, submitted, true}, {endWaits, released, true},
		{ended, ended, false}, {ended, submitted, false}, {submitted, prepared, false}, {released, children, false}, {children, released, false},
	} {
		if got := c.from.mayFollow(c.to); got != c.ok {
			t.Errorf("from %v to %v: %v", c.from, c.to, got)
		}
	}
}

// TestInvariantsPhase ends a task twice: only a build with the tag invariants finds that.
func TestInvariantsPhase(t *testing.T) {
	defer func() {
		if v := recover(); (v != nil) != invariants.Enabled {
			t.Errorf("panic %v; invariants.Enabled is %v", v, invariants.Enabled)
		}
	}()
	k := &Task{}
	for _, p := range []phase{submitted, ending, ended, ended} {
		k.advance(p)
	}
}

// TestInvariantsRecord gives a record back twice.
func TestInvariantsRecord(t *testing.T) {
	defer func() {
		if v := recover(); (v != nil) != invariants.Enabled {
			t.Errorf("panic %v; invariants.Enabled is %v", v, invariants.Enabled)
		}
	}()
	u := &task{job: &Job{}}
	u.clear()
	u.clear()
}

// TestStateInHooks asks for the state in the hooks that come after the kernel.
func TestStateInHooks(t *testing.T) {
	for _, waits := range []bool{false, true} {
		for _, repeats := range []bool{false, true} {
			if waits && repeats {
				continue // a *RepeatError
			}
			_, job := start(t, Options{Workers: 1})
			gate := job.NewGate()
			states := map[string]TaskState{}
			ask := func(where string) Hook {
				return func(k *Task) error { states[where] = k.State(); return nil }
			}
			o := TaskOptions{Epilogue: ask("epilogue"), Callback: ask("callback")}
			if repeats {
				o.Repeat = func(k *Task) bool { states["repeat"] = k.State(); return false }
			}
			c := kernel("c", func(c *TaskContext) error {
				if waits {
					return c.Task().AddEndDependency(gate)
				}
				return nil
			})
			k, err := job.SubmitWith(&TaskSpec{Codelet: c}, o)
			if err != nil {
				t.Fatal(err)
			}
			if waits {
				enginetest.Eventually(t, "the task ends", func() bool { return k.State() == StateEnding })
			}
			gate.Open()
			if err := k.Wait(context.Background()); err != nil || k.Err() != nil {
				t.Fatal(err, k.Err())
			}
			for where, s := range states {
				if s != StateEnding {
					t.Errorf("end dependency %v, repeats %v: state in its %s is %v, want %v", waits, repeats, where, s, StateEnding)
				}
			}
			if len(states) < 2 {
				t.Errorf("hooks that ran: %v", states)
			}
		}
	}
}
