package simulate

// Results: figures, and the record for package trace.

import (
	"fmt"
	"math"
	"slices"

	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/engine/trace"
)

// Result is what a simulation found out. Times are virtual seconds.
type Result struct {
	Machine string
	Policy  string
	Tasks   int     // with a kernel
	Seconds float64 // when the last task ended
	Script  float64 // for which the script submitted tasks, woke workers, and woke up itself after waiting for values
	Workers []WorkerResult
	Nodes   []NodeResult // memories
	Links   []LinkResult
	// Messages and MessageBytes are copies between computers.
	Messages, MessageBytes int64
	// Estimated are the codelets without measured times on the workers that ran them, with their numbers of tasks, by name.
	Estimated []Estimated
	// Rescues counts how often nothing happened until idle workers asked the policy without being woken: a fault of the policy.
	Rescues int

	p       *Program
	m       *Machine
	tasks   []taskResult
	guesses map[string]int
	copies  []trace.Copy
	memory  []trace.Memory
}

// Estimated is a codelet whose times came from operations and bytes.
type Estimated struct {
	Codelet string
	Tasks   int
}

// WorkerResult is the time of one worker.
type WorkerResult struct {
	Name     string
	Computer int
	Tasks    int64
	Busy     float64 // kernels
	Waiting  float64 // for the data of a task, or room for it
	Idle     float64 // without a task
}

// NodeResult is what happened on a memory.
type NodeResult struct {
	Name      string
	Computer  int
	Capacity  int64 // 0: not bounded
	Peak      int64 // most bytes at once
	Evictions int64
	Evicted   int64 // bytes
	Arrived   int64 // bytes, from other memories
}

// LinkResult is what one way between two memories carried.
type LinkResult struct {
	From, To int // places in Result.Nodes
	Copies   int64
	Bytes    int64
	Busy     float64 // sum of the times of the copies
}

// taskResult is the place and time of a task.
type taskResult struct {
	worker                 int32 // -1: none
	popped, started, ended float64
}

func newResult(p *Program, m *Machine, o Options, e sched.Entry, tasks, nodes int) *Result {
	r := &Result{Machine: m.Name, Policy: o.Policy, p: p, m: m, tasks: make([]taskResult, tasks), guesses: map[string]int{}}
	for i := range r.tasks {
		r.tasks[i].worker = -1
	}
	for c := range m.Computers {
		on := ""
		if m.Computers > 1 {
			on = fmt.Sprintf(" of %d", c)
		}
		for k := range m.CPU.NUMA {
			name := "ram"
			if k > 0 {
				name = fmt.Sprintf("numa %d", k)
			}
			r.Nodes = append(r.Nodes, NodeResult{Name: name + on, Computer: c, Capacity: m.capacity(k)})
		}
		for i := range m.Devices {
			for k := range m.Devices[i].Count {
				r.Nodes = append(r.Nodes, NodeResult{Name: m.Devices[i].title(k) + on, Computer: c, Capacity: m.Devices[i].Memory})
			}
		}
		for w := range m.CPU.Workers * m.CPU.NUMA {
			r.Workers = append(r.Workers, WorkerResult{Name: fmt.Sprintf("cpu %d%s", w, on), Computer: c})
		}
		for i := range m.Devices {
			d := &m.Devices[i]
			for k := range d.Count {
				for u := range d.Units {
					name := d.title(k)
					if d.Units > 1 {
						name = fmt.Sprintf("%s.%d", name, u)
					}
					r.Workers = append(r.Workers, WorkerResult{Name: name + on, Computer: c})
				}
			}
		}
	}
	return r
}

// guess notes a task whose time came from operations and bytes.
func (r *Result) guess(codelet string) { r.guesses[codelet]++ }

// finish sums up.
func (s *world) finish() *Result {
	r := s.result
	for i := range r.tasks {
		t := &s.p.Graph.Tasks[i]
		r.Seconds = max(r.Seconds, r.tasks[i].ended)
		if !t.Light() && t.Internal != sendTask {
			r.Tasks++
		}
	}
	for w := range s.workers {
		k := &s.workers[w]
		x := &r.Workers[w]
		x.Tasks, x.Busy, x.Waiting = k.tasks, k.busy, k.wait
		x.Idle = max(0, r.Seconds-k.busy-k.wait)
	}
	for name, n := range r.guesses {
		r.Estimated = append(r.Estimated, Estimated{name, n})
	}
	slices.SortFunc(r.Estimated, func(a, b Estimated) int {
		switch {
		case a.Codelet < b.Codelet:
			return -1
		case a.Codelet > b.Codelet:
			return 1
		}
		return 0
	})
	r.Links = s.out2
	slices.SortFunc(r.Links, func(a, b LinkResult) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return r
}

// TaskTime returns the worker of task i of the program's graph, -1 for none, and when it started and ended.
func (r *Result) TaskTime(i int) (worker int, started, ended float64) {
	t := &r.tasks[i]
	return int(t.worker), t.started, t.ended
}

// Trace returns the record of the simulation, for package trace: its copies and memory are there with Options.Trace.
func (r *Result) Trace() *trace.Run {
	g := *r.p.Graph
	g.Workers, g.Nodes = nil, nil
	perComputer := len(r.Nodes) / r.m.Computers
	for w := range r.Workers {
		kind := "cpu"
		if k := w % r.m.Workers(); k >= r.m.CPU.Workers*r.m.CPU.NUMA {
			kind = r.Workers[w].Name
		}
		g.Workers = append(g.Workers, graph.Worker{Name: r.Workers[w].Name, Kind: kind, Node: r.Workers[w].Computer*perComputer + r.m.nodeOf(w%r.m.Workers())})
	}
	for i := range r.Nodes {
		g.Nodes = append(g.Nodes, graph.Node{Name: r.Nodes[i].Name, Capacity: r.Nodes[i].Capacity})
	}
	out := &trace.Run{Graph: &g, Tasks: make([]trace.Times, len(r.tasks)), Copies: r.copies, Memory: r.memory, Seconds: r.Seconds}
	for i := range r.tasks {
		t := &r.tasks[i]
		// 0 means in a trace that it did not happen
		at := func(x float64) float64 { return max(x, math.SmallestNonzeroFloat64) }
		out.Tasks[i] = trace.Times{Worker: int(t.worker), Ended: at(t.ended), State: "done", Started: at(t.started), Data: at(t.started), Popped: at(t.popped), Ready: at(t.popped), Flops: g.Tasks[i].Flops}
	}
	return out
}

// traceCopy keeps a copy.
func (s *world) traceCopy(x *flight) {
	name := "private copies"
	if x.task >= 0 && len(x.cells) > 0 || x.task >= 0 && s.p.Graph.Tasks[x.task].Internal == sendTask {
		for _, o := range s.p.Graph.Tasks[x.task].Operands {
			if cells := s.p.Graph.CellsOf(o.Handle); len(x.cells) == 0 || slices.Contains(cells, x.cells[0]) {
				name = s.p.Graph.Handles[o.Handle].Name
				break
			}
		}
	} else if len(x.cells) > 0 {
		name = "evicted"
	}
	s.result.copies = append(s.result.copies, trace.Copy{From: int(x.from), To: int(x.to), Bytes: x.bytes, Data: name, Begin: x.begin, End: x.end})
}

// traceMemory keeps the size of a memory.
func (s *world) traceMemory(node int32) {
	if s.opt.Trace {
		s.result.memory = append(s.result.memory, trace.Memory{Time: s.now, Node: int(node), Bytes: s.mems[node].used})
	}
}
