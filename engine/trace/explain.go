package trace

// Why a run took as long as it did: the chain of tasks that decided its end, and why
// workers had nothing to do.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/starpush/starpush/engine/graph"
)

// Why a worker idled, or a task of the chain did not start earlier.
const (
	WaitsForTask = "dependency"    // the next task waited for another one
	WaitsSubmit  = "not submitted" // the next task was not submitted yet
	WaitsQueue   = "queued"        // it was ready, and no worker had taken it
	WaitsData    = "fetching"      // its data was on its way, or its memory not free
	WaitsStart   = "starting"      // private copies, hooks
	WaitsEnd     = "no tasks left"
	WorkerBusy   = "worker busy" // of the chain: it ran what came before
)

// Gap is a time in which a worker ran nothing.
type Gap struct {
	Worker   int
	From, To float64 // seconds
	Why      string  // one of the constants
	Next     int     // the task that came next; -1: none
	For      int     // WaitsForTask: the task that it waited for; -1: data held by the program, or a gate
}

// Gaps explains when workers ran nothing: each gap between two tasks is cut at what
// happened to the task that came next.
func (r *Run) Gaps() (all []Gap) {
	byWorker := r.byWorker()
	for w, list := range byWorker {
		at := 0.0
		for _, i := range list {
			x := &r.Tasks[i]
			if x.Started > at {
				all = append(all, r.explain(w, at, int(i))...)
			}
			at = max(at, r.ended(x))
		}
		if r.Seconds > at {
			all = append(all, Gap{w, at, r.Seconds, WaitsEnd, -1, -1})
		}
	}
	return all
}

// byWorker lists tasks by worker, in the order of their start.
func (r *Run) byWorker() [][]int32 {
	out := make([][]int32, len(r.Graph.Workers))
	for i := range r.Tasks {
		if x := &r.Tasks[i]; x.Worker >= 0 && x.Worker < len(out) && x.Started > 0 && !r.Graph.Tasks[i].Light() {
			out[x.Worker] = append(out[x.Worker], int32(i))
		}
	}
	for _, l := range out {
		slices.SortFunc(l, func(a, b int32) int { return cmp.Compare(r.Tasks[a].Started, r.Tasks[b].Started) })
	}
	return out
}

// explain cuts the gap from a time to the start of task i.
func (r *Run) explain(w int, from float64, i int) (out []Gap) {
	x := &r.Tasks[i]
	add := func(to float64, why string) {
		if to = min(to, x.Started); to > from {
			g := Gap{w, from, to, why, i, -1}
			if why == WaitsForTask {
				g.For = r.last(i)
			}
			out = append(out, g)
			from = to
		}
	}
	add(x.Submitted, WaitsSubmit)
	add(x.Ready, WaitsForTask)
	if x.Popped > 0 {
		add(x.Popped, WaitsQueue)
	}
	if x.Data > 0 {
		add(x.Data, WaitsData)
	} else {
		add(x.Started, WaitsQueue)
	}
	add(x.Started, WaitsStart)
	return out
}

// last is the dependency of task i that ended last; -1: none. What light tasks, which
// only stand for an order, wait for counts in their place.
func (r *Run) last(i int) int {
	best := -1
	seen := map[int32]bool{} // light tasks
	var look func(ds []int32)
	look = func(ds []int32) {
		for _, d := range ds {
			switch t := &r.Graph.Tasks[d]; {
			case t.Light() && t.Internal != "acquire":
				if !seen[d] {
					seen[d] = true
					look(t.Deps)
				}
			case best < 0 || r.Tasks[d].Ended > r.Tasks[best].Ended:
				best = int(d)
			}
		}
	}
	look(r.Graph.Tasks[i].Deps)
	return best
}

// Step is one task of the chain that decided when the run ended.
type Step struct {
	Task int
	Why  string // why it did not start before: WaitsForTask, WorkerBusy, WaitsSubmit, or "" for the first
}

// Chain walks back from the task that ended last: each task of the chain started when
// the one before it had ended, because it waited for it or for the worker.
func (r *Run) Chain() (chain []Step) {
	before := make([]int, len(r.Tasks)) // on the worker
	for _, l := range r.byWorker() {
		for k, i := range l {
			before[i] = -1
			if k > 0 {
				before[i] = int(l[k-1])
			}
		}
	}
	last := -1
	for i := range r.Tasks {
		if x := &r.Tasks[i]; x.Started > 0 && !r.Graph.Tasks[i].Light() && (last < 0 || r.ended(x) > r.ended(&r.Tasks[last])) {
			last = i
		}
	}
	for i := last; i >= 0; {
		s := Step{Task: i}
		next := -1
		if d := r.last(i); d >= 0 && r.Tasks[d].Ended > 0 {
			next, s.Why = d, WaitsForTask
		}
		if b := before[i]; b >= 0 && (next < 0 || r.Tasks[b].Ended > r.Tasks[next].Ended) {
			next, s.Why = b, WorkerBusy
		}
		if next >= 0 && r.Tasks[i].Submitted > r.Tasks[next].Ended {
			s.Why = WaitsSubmit // the script was behind
		}
		chain = append(chain, s)
		if next >= 0 && r.Tasks[next].Ended > r.Tasks[i].Started+1e-3 {
			break // clocks of two workers: nothing to go by
		}
		if next >= 0 && r.Graph.Tasks[next].Light() { // held by the program: what it waited for
			next = r.last(next)
		}
		i = next
	}
	slices.Reverse(chain)
	return chain
}

// Text says why a gap is.
func (r *Run) Text(g *Gap) string {
	next := "the next task"
	if g.Next >= 0 {
		next = r.Graph.Tasks[g.Next].Label()
	}
	switch g.Why {
	case WaitsSubmit:
		return next + " was not submitted yet"
	case WaitsForTask:
		switch {
		case g.For < 0:
			return next + " waited for a gate or for data that the program held"
		case r.Graph.Tasks[g.For].Light():
			return next + " waited for the program to give data back"
		}
		return fmt.Sprintf("%s waited for %s", next, r.Graph.Tasks[g.For].Label())
	case WaitsQueue:
		return next + " was ready, and this worker had not taken it"
	case WaitsData:
		return next + " waited for its data: locks, memory, copies"
	case WaitsStart:
		return next + " was starting"
	}
	return "no task was left for this worker"
}

// measure is the longest path of a graph.
func measure(g *graph.Graph) []int32 { return graph.Measure(g).Critical }
