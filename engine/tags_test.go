package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

func tags(j *Job, names string) (out []*Tag) {
	for _, n := range strings.Fields(names) {
		out = append(out, j.NewTag(n))
	}
	return out
}

// carrying submits a task that writes down its name and carries a tag of that name.
func carrying(t testing.TB, j *Job, l *logged, tag *Tag) *Task {
	t.Helper()
	task, err := j.SubmitWith(&TaskSpec{Codelet: l.kernel(tag.Name())}, TaskOptions{Tag: tag})
	must(t, err)
	return task
}

// before asserts that all of as come before all of bs in the log.
func (l *logged) before(t testing.TB, as, bs string) {
	t.Helper()
	place := map[string]int{}
	for i, s := range strings.Fields(l.String()) {
		place[s] = i + 1
	}
	for _, a := range strings.Fields(as) {
		for _, b := range strings.Fields(bs) {
			if place[a] == 0 || place[b] == 0 || place[a] > place[b] {
				t.Errorf("%s is not before %s: %s", a, b, l)
			}
		}
	}
}

func TestTags(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var l logged
		tg := tags(j, "A B C D E F G H I J K L")
		must(t, tg[1].DependsOn(tg[0]))
		carrying(t, j, &l, tg[1])
		carrying(t, j, &l, tg[0])
		must(t, tg[1].Wait(context.Background()))
		l.before(t, "A", "B")

		must(t, tg[6].DependsOn(tg[2:6]...))
		for _, k := range []int{2, 3, 6, 4, 5} {
			carrying(t, j, &l, tg[k])
		}
		must(t, tg[6].Wait(context.Background()))
		l.before(t, "C D E F", "G")

		for _, k := range []int{9, 10, 11} {
			must(t, tg[k].DependsOn(tg[7], tg[8]))
			carrying(t, j, &l, tg[k])
		}
		carrying(t, j, &l, tg[7])
		carrying(t, j, &l, tg[8])
		must(t, j.WaitTags(context.Background(), tg[9:]...))
		l.before(t, "H I", "J K L")

		// a dependency on what is notified already is satisfied
		m := j.NewTag("M")
		must(t, m.DependsOn(tg[0]))
		carrying(t, j, &l, m)
		must(t, m.Wait(context.Background()))
		must(t, j.Wait(context.Background()))
		for _, x := range append(tg, m) {
			if !x.Notified() {
				t.Error(x.Name(), "was not notified")
			}
			must(t, x.Remove())
		}
	})
}

// The first of several notifications counts.
func TestTagOr(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		tag := j.NewTag("T")
		g := j.NewGate()
		for i := range 10 {
			s := &TaskSpec{Codelet: kernel("one of ten", func(*TaskContext) error { return nil })}
			if i > 0 {
				s.After = []Dependency{g}
			}
			_, err := j.SubmitWith(s, TaskOptions{Tag: tag})
			must(t, err)
		}
		x, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{tag}})
		must(t, err)
		must(t, x.Wait(context.Background())) // nine of ten have not run
		g.Open()
		must(t, j.Wait(context.Background()))

		ran := 0
		count := kernel("count", func(*TaskContext) error { ran++; return nil })
		u, v := j.NewTag("U"), j.NewTag("V")
		must(t, v.DependsOn(u))
		for round := range 3 {
			_, err := j.SubmitWith(&TaskSpec{Codelet: count}, TaskOptions{Tag: v})
			must(t, err)
			if round > 0 {
				stuckOnTag(t, v.Wait(context.Background()), u)
			}
			must(t, u.Notify())
			must(t, u.Notify())
			must(t, v.Wait(context.Background()))
			must(t, j.Wait(context.Background()))
			if ran != round+1 {
				t.Error(ran, "runs in round", round)
			}
			must(t, u.Restart())
			must(t, v.Restart())
		}
	})
}

func stuckOnTag(t testing.TB, err error, tag *Tag) {
	t.Helper()
	var s *StuckError
	if !errors.As(err, &s) || len(s.Tasks) == 0 || s.Tasks[0].Tag != tag || !strings.Contains(s.Error(), fmt.Sprintf("%q", tag.Name())) {
		t.Errorf("got %v, want a StuckError that names tag %q", err, tag.Name())
	}
}

// A graph of repeating tasks may go round.
func TestCyclicTags(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		const rounds = 100
		v := []int64{0}
		x := ints(t, rt, v)
		tg := tags(j, "A B C D")
		must(t, tg[1].DependsOn(tg[0]))
		must(t, tg[2].DependsOn(tg[0]))
		must(t, tg[3].DependsOn(tg[1], tg[2]))
		must(t, tg[0].DependsOn(tg[3]))
		var ran [4]atomic.Int64
		for i := range tg {
			_, err := j.SubmitWith(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: x, Mode: iface.RW, Unordered: true}}}, TaskOptions{
				Tag: tg[i], Repeat: Forever,
				Callback: func(task *Task) error {
					if ran[i].Add(1) == rounds {
						task.Stop()
					}
					return nil
				},
			})
			must(t, err)
		}
		err := j.Wait(context.Background())
		var s *StuckError
		if !errors.As(err, &s) || len(s.Tasks) == 0 || len(s.Tasks[0].Circle) != 3 {
			t.Error(err)
		}
		if v[0] != 0 {
			t.Error("ran before anything notified a tag")
		}
		must(t, tg[3].NotifyRestart())
		must(t, j.Wait(context.Background()))
		if v[0] != 4*rounds {
			t.Error(v)
		}
	})
}

// TestTagFailure: tags pass on failures as tasks do.
func TestTagFailure(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		a, b := j.NewTag("a"), j.NewTag("b")
		must(t, b.DependsOn(a))
		kb, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: b})
		must(t, err)
		w, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{a}})
		must(t, err)
		_, err = j.SubmitWith(&TaskSpec{Codelet: bad}, TaskOptions{Tag: a})
		must(t, err)
		must(t, j.Wait(context.Background()))
		late, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{b}})
		must(t, err)
		must(t, late.Wait(context.Background()))
		for _, k := range []*Task{kb, w, late} {
			if err := k.Err(); !errors.Is(err, errBoom) {
				t.Error(err)
			}
		}
		must(t, b.Restart()) // a was not restarted: still a bad one
		must(t, a.Restart())
		must(t, b.Restart())
		kb, err = j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: b})
		must(t, err)
		must(t, a.Notify())
		must(t, kb.Wait(context.Background()))
		must(t, kb.Err())
		must(t, j.Wait(context.Background()))
	})
}

func TestTagErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		other, oj := start(t, Options{Workers: 1})
		_ = other
		a, b, foreign := j.NewTag("a"), j.NewTag("b"), oj.NewTag("foreign")
		removed := j.NewTag("removed")
		must(t, removed.Remove())
		g := j.NewGate()
		live := j.NewTag("live")
		_, err := j.SubmitWith(&TaskSpec{Codelet: nop, After: []Dependency{g}}, TaskOptions{Tag: live})
		must(t, err)
		waited := j.NewTag("waited")
		must(t, j.Submit(&TaskSpec{Codelet: nop, After: []Dependency{waited}}))
		must(t, b.DependsOn(a))
		_, carryRemoved := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: removed})
		_, carryForeign := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: foreign})
		for what, err := range map[string]error{
			"itself":                a.DependsOn(a),
			"itself among others":   a.DependsOn(b, a),
			"nil":                   a.DependsOn(nil),
			"of nil":                (*Tag)(nil).DependsOn(a),
			"foreign":               a.DependsOn(foreign),
			"removed":               a.DependsOn(removed),
			"declared late":         live.DependsOn(a),
			"notify removed":        removed.Notify(),
			"restart removed":       removed.Restart(),
			"wait for removed":      removed.Wait(context.Background()),
			"remove twice":          removed.Remove(),
			"nil waited for":        (*Tag)(nil).Wait(context.Background()),
			"notify nil":            (*Tag)(nil).Notify(),
			"wait, no task carries": a.Wait(context.Background()),
			"restart live":          live.Restart(),
			"remove live":           live.Remove(),
			"remove waited for":     waited.Remove(),
			"remove needed":         a.Remove(),
			"carry removed":         carryRemoved,
			"carry foreign":         carryForeign,
		} {
			var e *TagError
			if !errors.As(err, &e) || e.Error() == "" {
				t.Errorf("%s: %v", what, err)
			}
		}
		must(t, waited.Notify())
		stuckOn(t, live.Wait(context.Background()), g, nil)
		g.Open()
		must(t, live.Wait(context.Background()))
		must(t, j.Wait(context.Background()))
		in := make(chan error, 1)
		must(t, j.Submit(&TaskSpec{Codelet: kernel("waits", func(*TaskContext) error { in <- b.Wait(context.Background()); return nil })}))
		if err := <-in; err == nil {
			t.Error("waited in a kernel")
		}
		must(t, j.Wait(context.Background()))
		// two tags in a circle, which no task starts
		c, d := j.NewTag("c"), j.NewTag("d")
		must(t, c.DependsOn(d))
		must(t, d.DependsOn(c))
		kc, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: c})
		must(t, err)
		_, err = j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: d})
		must(t, err)
		var s *StuckError
		if err := kc.Wait(context.Background()); !errors.As(err, &s) || len(s.Tasks) != 2 || len(s.Tasks[0].Circle) != 2 || !strings.Contains(s.Error(), "circle") {
			t.Error(err)
		}
		j.Cancel(errBoom)
		must(t, j.Wait(context.Background()))
	})
}

// A tag that a repeating task names cannot be removed between its rounds, which would
// fail, and can when the task has ended.
func TestRemoveTagBetweenRounds(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		carried, awaited := j.NewTag("carried"), j.NewTag("awaited")
		must(t, awaited.Notify())
		const rounds = 20
		var refused int
		k, err := j.SubmitWith(&TaskSpec{Codelet: nop, After: []Dependency{awaited}}, TaskOptions{
			Tag: carried,
			Repeat: func(k *Task) bool {
				for _, tag := range []*Tag{carried, awaited} {
					var e *TagError
					if errors.As(tag.Remove(), &e) {
						refused++
					}
				}
				return k.Rounds() < rounds
			},
		})
		must(t, err)
		must(t, k.Wait(context.Background()))
		must(t, k.Err())
		if k.Rounds() != rounds || refused != 2*rounds {
			t.Errorf("%d rounds, and %d times the tags could not be removed, want %d and %d", k.Rounds(), refused, rounds, 2*rounds)
		}
		must(t, carried.Remove())
		must(t, awaited.Remove())
		if fs := j.Failures(); len(fs) > 0 {
			t.Error(fs)
		}
	})
}

// A tag is removed while tasks that name it are submitted: each submission comes before
// the removal, which is then refused, or after it, and is refused itself.
func TestRemoveTagBesideSubmit(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		for range 200 {
			tag := j.NewTag("tag")
			p := j.NewTask(&TaskSpec{Codelet: nop}, TaskOptions{})
			errs := make(chan error, 3)
			for _, use := range []func() error{
				func() error { return j.Submit(&TaskSpec{Codelet: nop, After: []Dependency{tag}}) },
				func() error { return p.AddEndDependency(tag) },
				func() error {
					return j.NewTask(&TaskSpec{Codelet: nop, After: []Dependency{tag}}, TaskOptions{}).Submit()
				},
			} {
				go func() { errs <- use() }()
			}
			gone := tag.Remove() == nil
			used := 0
			for range 3 {
				var e *TagError
				switch err := <-errs; {
				case err == nil:
					used++
				case !errors.As(err, &e) || !gone:
					t.Fatal(err)
				}
			}
			if gone != (used == 0) {
				t.Fatalf("removed: %v, and %d tasks wait for it", gone, used)
			}
			if !gone {
				must(t, tag.Notify())
			}
			must(t, p.Submit())
			must(t, j.Wait(context.Background()))
		}
	})
}

// TestWaitForTagOfStoppedTask: a wait for a tag returns an error when the task that
// carries it will not run again.
func TestWaitForTagOfStoppedTask(t *testing.T) {
	for _, o := range allConfigs() {
		if o.Sequential {
			continue // no caller can wait while a round does
		}
		rt, _ := start(t, o)
		j := rt.NewJob(context.Background(), JobOptions{})
		first, tag := j.NewTag("first"), j.NewTag("rounds")
		must(t, tag.DependsOn(first))
		must(t, first.NotifyRestart())
		k, err := j.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Tag: tag, Repeat: Forever})
		must(t, err)
		enginetest.Eventually(t, "the second round waits", func() bool { return k.Rounds() > 0 && k.State() == StateWaiting })
		waits := make(chan error)
		go func() { waits <- tag.Wait(context.Background()) }()
		enginetest.Eventually(t, "the wait has begun", func() bool { return rt.waiters() > 0 })
		k.Stop()
		select {
		case err := <-waits:
			var e *TagError
			if !errors.As(err, &e) || e.Tag != tag {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("it waits for ever")
			must(t, tag.Notify())
			<-waits
		}
		must(t, j.Close())
	}
}
