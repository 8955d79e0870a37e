package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestStatsOfManyCodelets: what alternates is counted as what does not.
func TestStatsOfManyCodelets(t *testing.T) {
	rt, err := New(Options{Workers: 2})
	must(t, err)
	defer rt.Close()
	j := rt.NewJob(context.Background(), JobOptions{Stats: true})
	defer j.Close()
	other := rt.NewJob(context.Background(), JobOptions{Stats: true})
	defer other.Close()
	const codelets, rounds = 7, 300 // more than a worker keeps apart
	var cs []*Codelet
	for i := range codelets {
		cs = append(cs, kernel(fmt.Sprint("k", i), func(*TaskContext) error { return nil }))
	}
	for r := range rounds {
		for i, c := range cs {
			for range 1 + i%2 {
				submit(t, j, &TaskSpec{Codelet: c})
			}
			if r%10 == 0 {
				submit(t, other, &TaskSpec{Codelet: c})
			}
		}
	}
	must(t, j.Wait(context.Background()))
	must(t, other.Wait(context.Background()))
	for _, s := range []struct {
		j     *Job
		times func(i int) int64
	}{{j, func(i int) int64 { return rounds * int64(1+i%2) }}, {other, func(int) int64 { return rounds / 10 }}} {
		got := s.j.Stats()
		var all int64
		for i, k := range got.Codelets {
			if k.Name != cs[i].Name || k.Tasks != s.times(i) || k.Submitted != s.times(i) {
				t.Errorf("%+v, want %d tasks of %s", k, s.times(i), cs[i].Name)
			}
			all += k.Tasks
		}
		for _, w := range got.Workers {
			all -= w.Tasks
		}
		if len(got.Codelets) != codelets || all != 0 {
			t.Errorf("%d codelets, %d tasks not those of the workers", len(got.Codelets), all)
		}
	}
}

// TestStatsOfNodes: without Options.Profile, too, what was copied and evicted is
// known.
func TestStatsOfNodes(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(160, 1)})
	if s := j.Stats(); len(s.Nodes) != 2 || s.Nodes[1] != (NodeStat{Name: "sim"}) || s.Buses != nil {
		t.Errorf("before anything ran: %+v, %+v", s.Nodes, s.Buses)
	}
	for range 3 {
		h := ints(t, rt, make([]int64, 10))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
		must(t, j.Wait(context.Background()))
	}
	for _, s := range []Stats{j.Stats(), rt.Stats()} {
		n := s.Nodes[1]
		if n.Copying <= 0 || n.Hidden != 0 { // each task waits for the one before
			t.Errorf("%v of copies, %v of them hidden", n.Copying, n.Hidden)
		}
		n.Copying = 0
		if want := (NodeStat{Name: "sim", PeakBytes: 160, Evictions: 1, Evicted: 80, Arrived: 240, Needed: 240}); n != want {
			t.Errorf("the device: %+v, want %+v", n, want)
		}
		for i := range s.Buses {
			if s.Buses[i].Time <= 0 {
				t.Errorf("%+v", s.Buses[i])
			}
			s.Buses[i].Time = 0
		}
		if want := []BusProfile{{"ram", "sim", 3, 240, 0}, {"sim", "ram", 1, 80, 0}}; !slices.Equal(s.Buses, want) {
			t.Errorf("copied %+v, want %+v", s.Buses, want)
		}
	}
}

// TestNeeded: Needed counts the copies that were necessary, not those made for lack of
// room, nor those that pass through a node.
func TestNeeded(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(160, 1)})
	a, b, c := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10))
	step := func(node int, h *datamgr.Handle, m iface.AccessMode) {
		t.Helper()
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: m}}, Workers: []int{node}}))
		must(t, j.Wait(context.Background()))
	}
	check := func(node int, arrived, needed int64) {
		t.Helper()
		if n := j.Stats().Nodes[node]; n.Arrived != arrived || n.Needed != needed {
			t.Errorf("%d bytes came to %s, %d of them needed; want %d, %d", n.Arrived, n.Name, n.Needed, arrived, needed)
		}
	}
	step(1, a, iface.RW)
	step(1, a, iface.RW) // is there
	check(1, 80, 80)
	step(1, b, iface.RW)
	step(1, c, iface.RW) // a goes
	check(1, 240, 240)
	check(0, 80, 0)
	step(1, a, iface.RW) // the value was there before
	check(1, 320, 240)
	step(0, a, iface.RW)
	check(0, 240, 80) // b had to go, and a was made there
	step(0, a, iface.RW)
	check(0, 240, 80)
	step(1, a, iface.RW) // another value
	check(1, 400, 320)
	step(1, b, iface.W) // and what is only written need not come
	check(1, 400, 320)
}

// Tasks that take their time are counted when they end, not when many have.
func TestLongTasksAreCountedAtOnce(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1})
	j := rt.NewJob(context.Background(), JobOptions{Stats: true})
	defer j.Close()
	h := ints(t, rt, make([]int64, 1))
	long := &Codelet{Name: "long", CPU: []Impl{func(*TaskContext) error { time.Sleep(2 * time.Millisecond); return nil }}}
	running, end := make(chan struct{}), make(chan struct{})
	last := &Codelet{Name: "last", CPU: []Impl{func(*TaskContext) error { close(running); <-end; return nil }}}
	for _, c := range []*Codelet{long, long, last} {
		must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, h)}))
	}
	<-running
	s := j.Stats()
	close(end)
	if s.Done != 2 || len(s.Codelets) != 2 || s.Codelets[1].Tasks != 2 {
		t.Errorf("%d done, %+v", s.Done, s.Codelets)
	}
}

// TestStatsBehindReduction: internal tasks are never subtracted from the counts before
// they are added. A task that runs after a reduction, on the worker that combined, sees
// the counts of all tasks that have ended.
func TestStatsBehindReduction(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1})
	j := rt.NewJob(context.Background(), JobOptions{Stats: true})
	defer j.Close()
	h := lazy(t, rt, 1, datamgr.SumReduction())
	for round := range int64(3) {
		for range 3 {
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Redux, h)}))
		}
		var s Stats
		look := kernel("look", func(*TaskContext) error { s = j.Stats(); return nil })
		must(t, j.Submit(&TaskSpec{Codelet: look, Operands: ops(iface.R, h)}))
		must(t, j.Wait(context.Background()))
		if s.Done != 4*round+3 || s.Codelets[0].Tasks != 3*round+3 {
			t.Errorf("round %d: %d done, %+v", round, s.Done, s.Codelets)
		}
		if s = j.Stats(); s.Done != 4*round+4 {
			t.Errorf("after round %d: %d done", round, s.Done)
		}
	}
}

// TestBytesOfTasks: what tasks read and write of their operands counts once for each
// direction, in the counts and in the profile.
func TestBytesOfTasks(t *testing.T) {
	for _, profile := range []bool{false, true} {
		rt, _ := start(t, Options{Workers: 2, Profile: profile})
		j := rt.NewJob(context.Background(), JobOptions{Stats: true})
		defer j.Close()
		nap := func(*TaskContext) error { time.Sleep(20 * time.Microsecond); return nil } // long enough to be timed each
		c := &Codelet{Name: "moves", CPU: []Impl{nap}, Flops: func([]iface.Desc, []iface.Scalar) float64 { return 3 }}
		x, y, z := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 100)), ints(t, rt, make([]int64, 1000))
		for range 7 {
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: x, Mode: iface.R}, {Handle: y, Mode: iface.RW}, {Handle: z, Mode: iface.W}}}))
		}
		must(t, j.Wait(context.Background()))
		want := 7.0 * 8 * (10 + 2*100 + 1000)
		if s := j.Stats(); len(s.Codelets) != 1 || s.Codelets[0].Bytes != want || s.Codelets[0].Flops != 21 {
			t.Errorf("%+v, want %g bytes", s.Codelets, want)
		}
		if profile {
			if p, ok := rt.Profile(); !ok || len(p.Codelets) != 1 || p.Codelets[0].Bytes != want || p.Codelets[0].Flops != 21 {
				t.Errorf("%+v, want %g bytes", p.Codelets, want)
			}
		}
	}
}
