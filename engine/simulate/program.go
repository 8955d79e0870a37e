package simulate

// Programs: what of a task graph does not depend on the machine.

import (
	"context"
	"errors"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/graph"
)

// Program is a task graph, prepared for simulations.
type Program struct {
	Graph *graph.Graph

	rank []int32 // by task: the computer that runs it; of a message, the one that gets it. nil: there is one
	from []int32 // of messages: the computer that sends it

	distributed *Program // for this many computers
	computers   int

	cells  []int64 // sizes
	datums []datum
	datum  []int32 // by cell
	next   [][]int32
	waits  []int32
	kinds  []any     // by task: its codelet, for policies
	groups []profile // distinct Seconds
	group  []int32   // by task
	cellAt []int32   // uses[cellAt[c]:cellAt[c+1]] are the tasks that use cell c, ascending
	uses   []int32
}

// datum is data, whole.
type datum struct {
	bytes int64 // of its cells
	home  bool  // it has a value, and memory, from the start
}

// profile is what the plan says of the times of some tasks.
type profile struct {
	seconds []float64 // by worker of a computer
}

// NewProgram prepares g. The error is that of the context.
func NewProgram(ctx context.Context, g *graph.Graph) (*Program, error) {
	if len(g.Tasks) > math.MaxInt32-1 {
		return nil, errors.New("simulate: the graph has too many tasks")
	}
	p := &Program{Graph: g, cells: g.Cells(), next: g.Successors(), waits: make([]int32, len(g.Tasks)), kinds: make([]any, len(g.Tasks)), group: make([]int32, len(g.Tasks))}
	p.datum = make([]int32, len(p.cells))
	for i := range g.Handles {
		h := &g.Handles[i]
		for int(h.Datum) >= len(p.datums) {
			p.datums = append(p.datums, datum{})
		}
		p.datums[h.Datum].home = p.datums[h.Datum].home || h.Home
		for _, c := range g.CellsOf(int32(i)) {
			p.datum[c] = h.Datum
		}
	}
	for c, d := range p.datum {
		if len(p.datums) > 0 {
			p.datums[d].bytes += p.cells[c]
		}
	}
	codelets := map[string]any{}
	groups := map[*float64]int32{}
	count := make([]int32, len(p.cells)+1)
	for i := range g.Tasks {
		if i&0xffff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		t := &g.Tasks[i]
		p.waits[i] = int32(len(t.Deps))
		k, ok := codelets[t.Codelet]
		if !ok {
			k = t.Codelet
			codelets[t.Codelet] = k
		}
		p.kinds[i] = k
		var key *float64
		if len(t.Seconds) > 0 {
			key = &t.Seconds[0] // the recorder shares equal ones
		}
		n, ok := groups[key]
		if !ok {
			n = int32(len(p.groups))
			groups[key] = n
			p.groups = append(p.groups, profile{t.Seconds})
		}
		p.group[i] = n
		for _, o := range t.Operands {
			if stays(o.Mode) {
				for _, c := range g.CellsOf(o.Handle) {
					count[c+1]++
				}
			}
		}
	}
	for c := range p.cells {
		count[c+1] += count[c]
	}
	p.cellAt = count
	p.uses = make([]int32, count[len(p.cells)])
	at := append([]int32(nil), count[:len(p.cells)]...)
	for i := range g.Tasks {
		for _, o := range g.Tasks[i].Operands {
			if stays(o.Mode) {
				for _, c := range g.CellsOf(o.Handle) {
					p.uses[at[c]] = int32(i)
					at[c]++
				}
			}
		}
	}
	return p, nil
}

// stays reports whether an operand is the data itself, and not memory of the task.
func stays(m iface.AccessMode) bool { return m != iface.Scratch && m != iface.Redux }

// class is workers that are alike: of one kind.
type class struct {
	name      string
	first     int // of its workers, in a computer
	count     int // in a computer
	flops     float64
	bandwidth float64
	overhead  float64
	measured  bool
	speed     float64
}

func factor(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

// classes returns the kinds of workers of a computer of m, and the kind of each worker.
func (m *Machine) classes() (all []class, of []int32) {
	c := &m.CPU
	n := c.Workers * c.NUMA
	all = append(all, class{name: "cpu", count: n, flops: c.Flops, bandwidth: c.Bandwidth / float64(c.Workers), overhead: c.Overhead, measured: c.Measured, speed: factor(c.Speed)})
	for range n {
		of = append(of, 0)
	}
	for i := range m.Devices {
		d := &m.Devices[i]
		k := d.Count * d.Units
		all = append(all, class{name: d.Name, first: len(of), count: k, flops: d.Flops / float64(d.Units), bandwidth: d.Bandwidth / float64(d.Units), overhead: d.Overhead, measured: d.Measured, speed: factor(d.Speed)})
		for range k {
			of = append(of, int32(i+1))
		}
	}
	return all, of
}

// estimate is the time of t on a worker of class c. guessed: it comes from operations and bytes. It is below 0 where t may not run.
func (c *class) estimate(t *graph.Task) (seconds float64, guessed bool) {
	s := math.NaN()
	if c.first < len(t.Seconds) {
		s = t.Seconds[c.first]
		for w := c.first; s < 0 && w < min(c.first+c.count, len(t.Seconds)); w++ { // others of the class may run it
			s = t.Seconds[w]
		}
	}
	kernel := t.Internal == "" || t.Internal == "convert"
	switch {
	case s < 0:
		return -1, false
	case kernel && c.measured && !math.IsNaN(s):
		return s/c.speed + c.overhead, false
	}
	s = max(t.Operations/c.flops, t.Moved/c.bandwidth)
	if n := t.Workers; n > 1 {
		s /= float64(n)
	}
	return s/c.speed + c.overhead, kernel
}
