package engine

// Waits that would never end, while other jobs keep the runtime busy.

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

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

// A task of which only the end waits, for a gate or for its sub-graph, waits for the
// program as its successors do: once its kernel is over.
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
				for range 10 { // long enough to be noticed, if anybody is rash
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
