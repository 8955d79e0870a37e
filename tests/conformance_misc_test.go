package tests

// P52 to P55, and P58: arguments, placement, priorities, limits.

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/sched"
)

func TestP52(t *testing.T) {
	each(t, 1, func(w *world) {
		// values, taken in two steps; two handles and a priority
		x, f := []int64{4}, []int64{2}
		hx, hf := w.ints(x), w.ints(f)
		scale := codelet("scale", func(c *engine.TaskContext) error {
			first, rest := c.Args()[:1], c.Args()[1:]
			rows(c.Buffer(0), func(x []int64) { x[0] *= first[0].Int() })
			rows(c.Buffer(1), func(x []int64) { x[0] = int64(float64(x[0]) * rest[0].Float()) })
			return nil
		})
		w.must(w.job.Submit(&engine.TaskSpec{Codelet: scale, Priority: 1, Operands: []engine.Operand{on(RW, hx), on(RW, hf)},
			Args: []iface.Scalar{iface.Int(12), iface.Float(10)}}))
		w.unregister(hx, hf)
		if x[0] != 48 || f[0] != 20 {
			w.Error(x, f)
		}
		// many operands, some named twice
		all := codelet("all", func(c *engine.TaskContext) error {
			for i := range c.NumBuffers() {
				if c.Mode(i) == R {
					continue
				}
				rows(c.Buffer(i), func(x []int64) { x[0]++ })
			}
			return nil
		})
		for _, n := range []int{7, 8, 9, 13} {
			vs, want := make([][]int64, n), make([]int64, n)
			var hs []*datamgr.Handle
			for i := range vs {
				vs[i] = []int64{0}
				hs = append(hs, w.ints(vs[i]))
			}
			for round := range 3 {
				var ops []engine.Operand
				for i := range n {
					k := i
					if round == 1 {
						k = i % (n - 2) // the first two twice
					}
					ops = append(ops, on(RW, hs[k]))
					want[k]++
				}
				w.submit(all, 0, ops...)
			}
			w.unregister(hs...)
			for i := range vs {
				if vs[i][0] != want[i] {
					w.Errorf("%d operands: variable %d is %d, want %d", n, i, vs[i][0], want[i])
				}
			}
		}
		// all modes
		modes := []iface.AccessMode{R, R, C, C, R, RW, R, C, R, C, R, R, S, S, S}
		vs := make([][]int64, len(modes))
		var hs []*datamgr.Handle
		var ops []engine.Operand
		for i, m := range modes {
			vs[i] = []int64{0}
			hs = append(hs, w.ints(vs[i]))
			ops = append(ops, on(m, hs[i]))
		}
		for range 4 {
			w.submit(all, 0, ops...)
		}
		w.unregister(hs...)
		for i, m := range modes {
			want := int64(0)
			if m == C || m == RW {
				want = 4
			}
			if vs[i][0] != want {
				w.Errorf("operand %d, %v: %d, want %d", i, m, vs[i][0], want)
			}
		}
	})
}

func TestP53(t *testing.T) {
	each(t, 1, func(w *world) {
		device := &engine.Codelet{Name: "device only"}
		for _, workers := range [][]int{nil, {0}} {
			_, err := w.job.SubmitTask(&engine.TaskSpec{Codelet: device, Workers: workers})
			var none *engine.NoImplementationError
			if !errors.As(err, &none) {
				w.Errorf("workers %v: %v", workers, err)
			}
		}
		n := w.rt.Workers()
		odd := []int{}
		for i := 1; i < n; i += 2 {
			odd = append(odd, i)
		}
		if len(odd) == 0 {
			odd = []int{0}
		}
		for _, allowed := range [][]int{nil, {n - 1}, odd} {
			var mu sync.Mutex
			var bad []int
			ran := 0
			where := codelet("where", func(c *engine.TaskContext) error {
				mu.Lock()
				defer mu.Unlock()
				ran++
				if allowed != nil && !slices.Contains(allowed, c.Worker()) {
					bad = append(bad, c.Worker())
				}
				return nil
			})
			for range 40 {
				w.must(w.job.Submit(&engine.TaskSpec{Codelet: where, Workers: allowed}))
			}
			w.wait()
			if ran != 40 || len(bad) > 0 {
				w.Errorf("workers %v: %d ran, others ran on %v", allowed, ran, bad)
			}
		}
	})
}

func TestP55(t *testing.T) {
	each(t, 1, func(w *world) {
		if !honours(w.rt.Policy()) || w.workers == 0 {
			return
		}
		// one worker of them runs them all
		started, hold := make(chan struct{}), make(chan struct{})
		w.must(w.job.Submit(&engine.TaskSpec{Codelet: hook("block", func() { close(started); <-hold }), Workers: []int{0}}))
		<-started
		var order log
		for i, p := range []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3} {
			w.must(w.job.Submit(&engine.TaskSpec{Codelet: hook("p", func() { order.add("%d%c", p, 'a'+i) }), Priority: p, Workers: []int{0}}))
		}
		close(hold)
		w.wait()
		if got := strings.Join(order.list(), " "); got != "9f 6h 5e 5i 4c 3a 3j 2g 1b 1d" {
			w.Error(got)
		}
	})
}

func TestP54(t *testing.T) {
	const n = 64
	each(t, 1, func(w *world) {
		var got []int64 // one worker
		var hs []*datamgr.Handle
		for range n {
			hs = append(hs, w.ints([]int64{0}))
		}
		for batch := range int64(2) {
			var blockers []*engine.Task
			for k := range n {
				b := w.job.NewTask(&engine.TaskSpec{}, engine.TaskOptions{})
				blockers = append(blockers, b)
				place := batch*n + n - int64(k)
				_, err := w.job.SubmitWith(&engine.TaskSpec{Codelet: hook("placed", func() { got = append(got, place) }),
					Operands: []engine.Operand{on(R, hs[k])}, Workers: []int{0}, After: []engine.Dependency{b}}, engine.TaskOptions{Place: place})
				w.must(err)
			}
			for _, k := range rand.New(rand.NewPCG(uint64(batch), 54)).Perm(n) {
				w.must(blockers[k].Submit())
			}
			w.wait()
		}
		w.unregister(hs...)
		for i, place := range got {
			if place != int64(i+1) {
				w.Fatal(got)
			}
		}
		if len(got) != 2*n {
			w.Errorf("%d tasks ran", len(got))
		}
	})
}

func TestP58(t *testing.T) {
	each(t, 1, func(w *world) {
		if w.workers == 0 {
			return // a sequential runtime has no unfinished tasks
		}
		for _, limits := range []engine.JobOptions{{MaxInFlight: 8, MinInFlight: 4}, {MaxInFlight: 8}, {MinInFlight: 4}} {
			job := w.rt.NewJob(context.Background(), limits)
			full := make(chan struct{}) // enough were submitted
			var submitted, ended atomic.Int64
			most := int64(0)
			c := codelet("counted", func(*engine.TaskContext) error {
				<-full
				ended.Add(1)
				return nil
			})
			at := int64(8) // the limit is reached, and Submit must wait for an end
			if limits.MaxInFlight == 0 {
				at = 200
			}
			for range 200 {
				w.must(job.Submit(&engine.TaskSpec{Codelet: c}))
				n := submitted.Add(1)
				most = max(most, n-ended.Load())
				if n == at {
					if limits.MaxInFlight > 0 { // let the submitter go on alone for a while
						time.AfterFunc(2*ms, func() { close(full) })
					} else {
						close(full)
					}
				}
			}
			w.must(job.Wait(context.Background()))
			w.must(job.Close())
			if limits.MaxInFlight > 0 && most > 9 {
				w.Errorf("%+v: %d unfinished tasks", limits, most)
			}
			if limits.MaxInFlight == 0 && most != 200 {
				w.Errorf("%+v: blocked at %d unfinished tasks", limits, most)
			}
			if ended.Load() != 200 {
				w.Error(ended.Load())
			}
		}
	})
}

// honours reports whether a policy promises to run the highest priority first.
func honours(policy string) bool {
	for _, e := range sched.Table() {
		if e.Name == policy {
			return e.Priorities == sched.Strict
		}
	}
	return false
}
