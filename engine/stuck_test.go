package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestCircles: a call that would close a circle through data returns an error, and
// nothing waits for ever.
func TestCircles(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
		submit := func(after Dependency, o ...Operand) *Task {
			s := &TaskSpec{Codelet: incs, Operands: o}
			if after != nil {
				s.After = []Dependency{after}
			}
			k, err := j.SubmitTask(s)
			must(t, err)
			return k
		}
		refused := func(err error, numbers string, tasks ...*Task) {
			t.Helper()
			var c *CycleError
			if !errors.As(err, &c) || !slices.Equal(c.Tasks, tasks) || !strings.Contains(err.Error(), ": "+numbers+";") {
				t.Errorf("got %v, want the circle %s", err, numbers)
			}
		}

		g := j.NewGate()
		a := submit(g)
		b := submit(a, ops(iface.RW, x)...)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.R, x, iface.RW, y)}))
		c := submit(nil, ops(iface.RW, y)...)
		refused(a.AddEndDependency(c), "1, 4, 3, 2, 1", a, c, b)
		must(t, a.AddEndDependency(submit(nil, ops(iface.RW, datumOf(t, rt))...)))
		g.Open()
		must(t, j.Wait(context.Background()))

		p := j.NewTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}, TaskOptions{})
		b = submit(p, ops(iface.R, x)...)
		refused(p.Submit(), "inc, 6, inc", p, b)
		must(t, j.NewTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, x)}, TaskOptions{}).Submit())
		j.Cancel(errBoom) // or b would wait for ever
		must(t, j.Wait(context.Background()))

		q := j.NewTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)}, TaskOptions{})
		p = j.NewTask(&TaskSpec{Codelet: incs, After: []Dependency{q}}, TaskOptions{})
		b = submit(p, ops(iface.RW, y)...)
		must(t, p.Submit())
		refused(q.Submit(), "inc, 8, 9, inc", q, b, p)
		j.Cancel(errBoom)
		must(t, j.Wait(context.Background()))
	})
}

func datumOf(t *testing.T, rt *Runtime) *datamgr.Handle { return ints(t, rt, make([]int64, 1)) }

// A task behind the last round may be the reason why another one, which uses the data
// of the rounds, has to wait: the next round would come behind that one, and wait for
// ever. There is no next round then.
func TestIndirectlyBehindTheLastRound(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		for _, c := range []struct {
			name         string
			round        iface.AccessMode // of x
			first, other iface.AccessMode // of x, by the task behind the last round and by the one behind that; both write y
			ends         bool
		}{
			{"both write", iface.RW, iface.NoMode, iface.RW, true},
			{"a reader of both", iface.RW, iface.NoMode, iface.R, true},
			{"rounds read, the other writes", iface.R, iface.R, iface.RW, true},
			{"all read", iface.R, iface.R, iface.R, false},
			{"other data", iface.RW, iface.NoMode, iface.NoMode, false},
		} {
			x, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
			uses := func(m iface.AccessMode) []Operand {
				if m == iface.NoMode {
					return ops(iface.RW, y)
				}
				return ops(iface.RW, y, m, x)
			}
			g := j.NewGate()
			k, err := j.SubmitWith(&TaskSpec{Codelet: incs, Operands: ops(c.round, x), After: []Dependency{g}},
				TaskOptions{Repeat: func(k *Task) bool { return k.Rounds() < 3 }})
			must(t, err)
			first, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: uses(c.first), After: []Dependency{k}})
			must(t, err)
			other, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: uses(c.other)})
			must(t, err)
			g.Open()
			must(t, j.Wait(context.Background()))
			var rep *RepeatError
			if err := k.Err(); errors.As(err, &rep) != c.ends || err != nil && !strings.Contains(err.Error(), "another round") {
				t.Errorf("%s: %v", c.name, err)
			}
			if n := map[bool]int64{true: 1, false: 3}[c.ends]; k.Rounds() != n {
				t.Errorf("%s: %d rounds, want %d", c.name, k.Rounds(), n)
			}
			if (first.Err() != nil) != c.ends || (other.Err() != nil) != c.ends {
				t.Errorf("%s: %v, %v", c.name, first.Err(), other.Err())
			}
		}
	})
}

// Waits that would never end, while other jobs keep the runtime busy.

// busy keeps a worker of rt busy until the function it returns is called.
func busy(t testing.TB, rt *Runtime) (stop func()) {
	t.Helper()
	other := rt.NewJob(context.Background(), JobOptions{})
	began, end := make(chan struct{}), make(chan struct{})
	must(t, other.Submit(&TaskSpec{Codelet: kernel("busy", func(*TaskContext) error {
		close(began)
		<-end
		return nil
	})}))
	<-began
	stop = sync.OnceFunc(func() {
		close(end)
		must(t, other.Close())
	})
	t.Cleanup(stop) // also when the test gives up
	return stop
}

func TestStuckBesideOthers(t *testing.T) {
	for _, o := range allConfigs() {
		if o.Workers < 2 {
			continue
		}
		rt, j := start(t, o)
		x, y := ints(t, rt, make([]int64, 4)), ints(t, rt, make([]int64, 4))
		b, err := j.AcquireWith(context.Background(), y, iface.R, AcquireOptions{Unordered: true}) // the first one waits for all that runs
		must(t, err)
		must(t, b.Release())
		stop := busy(t, rt)
		g := j.NewGate()
		task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}})
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		free, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)})
		must(t, err)
		must(t, free.Wait(context.Background()))
		stuckOn(t, j.Wait(context.Background()), g, nil)
		stuckOn(t, task.Wait(context.Background()), g, nil)
		stuckOn(t, j.WaitHandles(context.Background(), x), g, nil)
		_, err = j.Acquire(context.Background(), x, iface.R)
		stuckOn(t, err, g, nil)
		must(t, j.WaitHandles(context.Background(), y))
		g.Open()
		must(t, j.Wait(context.Background()))

		a, err := j.Acquire(context.Background(), x, iface.RW)
		must(t, err)
		p := parts(t, rt, x, filter.Blocks(2)) // cut while it is held
		q := parts(t, rt, p[0], filter.Blocks(2))
		must(t, j.WaitHandles(context.Background(), x, p[1], q[0]))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, p[1])}))
		stuckOn(t, j.Wait(context.Background()), nil, x)
		stuckOn(t, j.WaitHandles(context.Background(), p[1]), nil, x)
		must(t, j.WaitHandles(context.Background(), p[0], q[1]))
		must(t, a.ReleasePart(p[1], iface.NoMode))
		must(t, j.Wait(context.Background()))
		must(t, a.Release())
		b, err = j.AcquireWith(context.Background(), y, iface.R, AcquireOptions{Unordered: true})
		must(t, err)
		must(t, j.WaitHandles(context.Background(), y))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)}))
		stuckOn(t, j.Wait(context.Background()), nil, y)
		must(t, b.Release())
		must(t, j.Wait(context.Background()))
		stop()
	}
}

// TestStuckEndBesideOthers: a task whose end waits for a gate or for its sub-graph counts
// as waiting for the program once its kernel is over, as its successors do.
func TestStuckEndBesideOthers(t *testing.T) {
	for _, o := range allConfigs() {
		if o.Workers != 2 {
			continue
		}
		rt, j := start(t, o)
		stop := busy(t, rt)
		g := j.NewGate()
		for name, wait := range map[string]func(c *TaskContext) error{
			"end": func(c *TaskContext) error { return c.Task().AddEndDependency(g) },
			"sub-graph": func(c *TaskContext) error {
				s, err := c.Subgraph()
				if err != nil {
					return err
				}
				return s.Submit(&TaskSpec{Codelet: incs, After: []Dependency{g}})
			},
		} {
			t.Run(name, func(t *testing.T) {
				k, err := j.SubmitTask(&TaskSpec{Codelet: kernel("waits", func(c *TaskContext) error {
					err := wait(c)
					time.Sleep(3 * stallTime) // long enough to be looked at before it is over
					return err
				})})
				must(t, err)
				after, err := j.SubmitTask(&TaskSpec{Codelet: incs, After: []Dependency{k}})
				must(t, err)
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				stuckOn(t, after.Wait(ctx), g, nil)
				stuckOn(t, j.Wait(ctx), g, nil)
				w := rt.NewJob(context.Background(), JobOptions{MaxInFlight: 2})
				for range 5 { // the last ones find no room
					must(t, w.Submit(&TaskSpec{Codelet: incs, After: []Dependency{k}}))
				}
				if ctx.Err() != nil {
					t.Error("the submitter waits for room that only it can make")
				}
				g.Open()
				must(t, w.Close())
			})
			must(t, j.Wait(context.Background()))
			g = j.NewGate()
		}
		stop()
	}
}

// A kernel of the job, or a callback, that is about to open the gate is waited for.
func TestNotStuckWhileOwnWorkRuns(t *testing.T) {
	for _, o := range allConfigs() {
		if o.Workers < 4 {
			continue
		}
		rt, j := start(t, o)
		stop := busy(t, rt)
		x := ints(t, rt, make([]int64, 4))
		for _, begin := range []func(open func()){
			func(open func()) {
				must(t, j.Submit(&TaskSpec{Codelet: kernel("opens", func(*TaskContext) error { open(); return nil })}))
			},
			func(open func()) { must(t, j.AcquireFunc(x, iface.R, func(*Access, error) { open() })) },
		} {
			g := j.NewGate()
			task, err := j.SubmitTask(&TaskSpec{Codelet: incs, After: []Dependency{g}})
			must(t, err)
			begin(func() {
				for range 10 { // long enough for a premature report to show
					time.Sleep(stallTime / 2)
				}
				g.Open()
			})
			must(t, task.Wait(context.Background()))
			must(t, j.Wait(context.Background()))
		}
		stop()
	}
}

// Submit does not wait for room that only its caller can make.
func TestWindowBesideOthers(t *testing.T) {
	for _, o := range allConfigs() {
		if o.Workers < 2 {
			continue
		}
		rt, _ := start(t, o)
		j := rt.NewJob(context.Background(), JobOptions{MaxInFlight: 20})
		stop := busy(t, rt)
		x := ints(t, rt, make([]int64, 1))
		g := j.NewGate()
		for range 22 { // the last ones find no room
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}}))
		}
		g.Open()
		must(t, j.Wait(context.Background()))
		stop()
		must(t, j.Close())
	}
}

// TestStuckLongChain: what waits behind a closed gate is found in one pass, however long
// the chain: each task of it has all those that follow behind it.
func TestStuckLongChain(t *testing.T) {
	for _, o := range []Options{{Workers: 1}, {Sequential: true}} {
		rt, j := start(t, o)
		h := ints(t, rt, make([]int64, 1))
		g := j.NewGate()
		const n = 60_000
		for range n {
			submit(t, j, &TaskSpec{Codelet: nop, Operands: []Operand{{Handle: h, Mode: iface.RW}}, After: []Dependency{g}})
		}
		err := j.Wait(t.Context())
		var stuck *StuckError
		if !errors.As(err, &stuck) || len(stuck.Tasks) != n {
			t.Errorf("%v", err)
		}
		g.Open()
		must(t, j.Wait(t.Context()))
	}
}
