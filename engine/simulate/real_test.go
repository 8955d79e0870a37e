package simulate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/simulate"
)

// Simulations beside runs of the same random programs.

var kernel = &engine.Codelet{Name: "k", CPU: []engine.Impl{func(*engine.TaskContext) error { return nil }}}

// script registers data, declares views and submits random tasks, some with a rank: 1 + that, 0 for none. workers are where tasks may run; nil: anywhere.
func script(seed uint64, rt *engine.Runtime, view func([]*datamgr.Handle), submit func(s *engine.TaskSpec, on int) error, workers []int) error {
	r := rand.New(rand.NewPCG(seed, 9))
	var all [][]*datamgr.Handle
	for range 2 {
		h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{24, 24}, Owner: max(0, r.IntN(8)-3)}, func(*iface.Buffer) error { return nil })
		if err != nil {
			return err
		}
		k := r.IntN(3)
		var o engine.ViewOptions
		if r.IntN(2) == 0 {
			o.Grid = [][]int{{1 + r.IntN(3), 1 + r.IntN(3)}, {1 + r.IntN(5)}, {1 + r.IntN(5)}}[k]
		}
		v, err := rt.PartitionWith(o, h, []filter.Filter{filter.Tiles(3, 4, 0), filter.Rows(6, 0), filter.Cols(5, 0)}[k])
		if err != nil {
			return err
		}
		view(v.Parts)
		all = append(all, v.Parts)
	}
	for range 40 {
		a, b := r.IntN(2), r.IntN(2)
		x, y := all[a][r.IntN(len(all[a]))], all[b][r.IntN(len(all[b]))]
		ops := []engine.Operand{{Handle: x, Mode: iface.R}}
		if x != y {
			ops = append(ops, engine.Operand{Handle: y, Mode: []iface.AccessMode{iface.W, iface.RW, iface.R}[r.IntN(3)]})
		}
		on := 0
		if seed%2 == 1 && r.IntN(3) == 0 {
			on = 1 + r.IntN(9)
		}
		if err := submit(&engine.TaskSpec{Codelet: kernel, Operands: ops, Workers: workers}, on); err != nil {
			return err
		}
	}
	return nil
}

// planned is the plan of a script for a machine.
func planned(t *testing.T, seed uint64, m engine.Machine, workers []int) *simulate.Program {
	t.Helper()
	rec := graph.NewRecorder(nil)
	m.PerfDir = t.TempDir()
	rank := 0
	rt, err := m.Planner(func(p *engine.PlannedTask) {
		p.Rank = uint64(rank)
		rec.Plan(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	rec.Machine(rt)
	j := rt.NewJob(t.Context(), engine.JobOptions{})
	view := func(parts []*datamgr.Handle) {
		rec.View(parts, func(k int) string { return fmt.Sprint(k) })
		rec.Dims(parts)
	}
	submit := func(s *engine.TaskSpec, on int) error {
		rank = on
		return j.Submit(s)
	}
	if err := script(seed, rt, view, submit, workers); err != nil {
		t.Fatal(err)
	}
	p, err := simulate.NewProgram(t.Context(), rec.Graph("test"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMessages: computers of a simulation send what the ranks of a run send.
func TestMessages(t *testing.T) {
	for seed := range uint64(30) {
		size := 2 + int(seed%4)
		var sent cluster.Traffic
		var mu sync.Mutex
		var group sync.WaitGroup
		for _, c := range cluster.Local(size) {
			group.Go(func() {
				rt, err := engine.New(engine.Options{Workers: 1})
				if err != nil {
					t.Error(err)
					return
				}
				defer rt.Close()
				j := cluster.NewJob(context.Background(), rt, c, cluster.Options{})
				if err := script(seed, rt, func([]*datamgr.Handle) {}, func(s *engine.TaskSpec, on int) error {
					if on > 0 { // modulo the ranks, as in scripts
						on = 1 + (on-1)%size
					}
					return j.Submit(&cluster.Task{TaskSpec: *s, On: on})
				}, nil); err != nil {
					t.Error(err)
				}
				if err := j.Wait(context.Background()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				sent.Messages, sent.Bytes = sent.Messages+j.Sent().Messages, sent.Bytes+j.Sent().Bytes
				mu.Unlock()
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		m := plain(1, 0, 0, 0)
		m.Computers, m.Network = size, simulate.Link{Latency: 1, Bandwidth: 100}
		r := simulated(t, planned(t, seed, engine.Machine{Workers: 1}, nil), m, simulate.Options{})
		if r.Messages != sent.Messages || r.MessageBytes != sent.Bytes {
			t.Errorf("seed %d, %d computers: %d messages with %d bytes, and a run has %d with %d", seed, size, r.Messages, r.MessageBytes, sent.Messages, sent.Bytes)
		}
	}
}

// TestCopies: a device with room for all data gets and gives back the bytes that a simulated device of a run does, in a program whose tasks run there.
func TestCopies(t *testing.T) {
	for seed := range uint64(30) {
		device, err := sim.New(sim.Options{Name: "gpu", Capacity: 1 << 24})
		if err != nil {
			t.Fatal(err)
		}
		rt, err := engine.New(engine.Options{Workers: 1, Devices: devices(device), Ahead: -1})
		if err != nil {
			t.Fatal(err)
		}
		j := rt.NewJob(t.Context(), engine.JobOptions{})
		if err := script(seed, rt, func([]*datamgr.Handle) {}, func(s *engine.TaskSpec, _ int) error { return j.Submit(s) }, []int{1}); err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, b := range j.Stats().Buses {
			if b.To == "gpu" {
				want = b.Bytes
			}
		}
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
		if err := device.Close(); err != nil {
			t.Fatal(err)
		}
		other, err := sim.New(sim.Options{Name: "gpu", Capacity: 1 << 24})
		if err != nil {
			t.Fatal(err)
		}
		p := planned(t, seed, engine.Machine{Workers: 1, Devices: devices(other)}, []int{1})
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		r := simulated(t, p, plain(1, 1, 1, 1<<24), simulate.Options{Ahead: -1})
		var got int64
		for _, l := range r.Links {
			if l.From == 0 && l.To == 1 {
				got = l.Bytes
			}
		}
		if got != want {
			t.Errorf("seed %d: %d bytes to the device, and a run has %d", seed, got, want)
		}
	}
}

func devices(all ...accel.Device) []accel.Device { return all }

// TestWeakScaling: a stencil with as many parts as computers takes as long on a thousand of them as on ten.
func TestWeakScaling(t *testing.T) {
	seconds := map[int]float64{}
	for _, n := range []int{10, 1000} {
		var b builder
		data := [2][]int32{}
		for side := range 2 {
			datum := int32(side)
			for k := range n {
				h := b.data(100, false)
				x := &b.g.Handles[h]
				x.Datum, x.Lo, x.Hi, x.Part, x.Dims = datum, []int{100 * k}, []int{100 * (k + 1)}, int32(k), []int{n}
				data[side] = append(data[side], h)
			}
		}
		for k := range n {
			b.task("fill", 10, op(W, data[0][k]))
		}
		for step := range 6 {
			from, to := data[step%2], data[1-step%2]
			for k := range n {
				b.task("sweep", 10, op(R, from[(k+n-1)%n]), op(R, from[k]), op(R, from[(k+1)%n]), op(W, to[k]))
			}
		}
		m := plain(1, 0, 0, 0)
		m.Computers, m.Network = n, simulate.Link{Latency: 1, Bandwidth: 100}
		r := simulated(t, b.program(t), m, simulate.Options{})
		seconds[n] = r.Seconds
		if want := int64(6 * n * 2); r.Messages != want {
			t.Errorf("%d computers: %d messages, want %d", n, r.Messages, want)
		}
	}
	// each step: 10 s, and two messages one behind the other, of 1 s and 1 s of latency, or some more
	if least := 7*10 + 6*3.0; seconds[10] < least || seconds[1000] > 1.1*seconds[10] {
		t.Errorf("%v, want %v, or some more", seconds, least)
	}
}
