package trace

// Why a run took as long as it did: the chain of tasks that decided its end, and why
// workers had nothing to do.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/starpush/starpush/engine/graph"
)

// Why a worker idled, or a task of the chain did not start earlier.
const (
	WaitsForTask = "dependency"    // no task was ready that this worker may run; some were submitted, and waited for others
	WaitsSubmit  = "not submitted" // all that were submitted had been taken; others came later
	WaitsQueue   = "queued"        // a task was ready that this worker may run, and it had not taken it
	WaitsData    = "fetching"      // its data was on its way, or its memory not free
	WaitsStart   = "starting"      // private copies, hooks
	WaitsEnd     = "no tasks left" // all that this worker may run had been taken
	WorkerBusy   = "worker busy"   // of the chain: it ran what came before
)

// Gap is a time in which a worker ran nothing.
type Gap struct {
	Worker   int
	From, To float64 // seconds
	Why      string  // one of the constants
	Next     int     // the task that came next, or that waited; -1: none
	For      int     // WaitsForTask: the task that Next waited for; -1: data held by the program, or a gate. WaitsQueue: a ready task that another worker took; -1: Next
	Ready    int     // WaitsQueue with For: how many tasks were ready meanwhile
}

// mostGaps bounds the gaps of a run. Where a worker idles beside more short tasks than
// that, what it did within shares of a gap is added up.
const mostGaps = 50_000

// Gaps explains when workers ran nothing: each gap between two tasks is cut at what
// happened to the task that came next, and where other tasks that the worker may run were
// ready, or waited, or had not been submitted.
func (r *Run) Gaps() (all []Gap) {
	queues := r.queues()
	byWorker := r.byWorker()
	for _, least := range []float64{0, 1e-4, 1e-3, 1e-2} { // of the run
		all = all[:0]
		for w, list := range byWorker {
			at := 0.0
			for _, i := range list {
				x := &r.Tasks[i]
				if x.Started > at {
					for _, g := range r.explain(w, at, int(i)) {
						all = r.cut(queues[w], all, g, least*r.Seconds)
					}
				}
				at = max(at, r.ended(x))
			}
			if r.Seconds > at {
				all = r.cut(queues[w], all, Gap{w, at, r.Seconds, WaitsEnd, -1, -1, 0}, least*r.Seconds)
			}
		}
		if len(all) <= mostGaps {
			break
		}
	}
	return all
}

// queue is what a worker could have run at which times.
type queue struct {
	ready     stretches // from when tasks were ready until a worker took them
	waiting   stretches // from when they were submitted until they were ready
	submitted []queued  // all of them, by the time of that
	parts     [2][]Gap  // of cut
}

// stretches are the times of tasks in some state.
type stretches struct {
	tasks  []queued     // by the time from which they were
	latest []int32      // by place in tasks: which of those up to it was so longest
	ends   []float64    // when each no longer was, ascending
	spans  [][2]float64 // when there was any, ascending, apart
}

type queued struct {
	task     int32
	from, to float64
}

// queues returns a queue for each worker; workers that may run the same tasks share one.
func (r *Run) queues() []*queue {
	lists, numbers := [][]int{}, map[*int]int{}
	of := make([]int, len(r.Tasks)) // by task: its list, counted from 1; 0: all workers
	for i := range r.Tasks {
		if l := r.Tasks[i].Workers; len(l) > 0 {
			n, ok := numbers[&l[0]]
			if !ok {
				lists = append(lists, l)
				n = len(lists)
				numbers[&l[0]] = n
			}
			of[i] = n
		}
	}
	out := make([]*queue, len(r.Graph.Workers))
	same := map[string]*queue{}
	for w := range out {
		may := make([]byte, len(lists)+1)
		may[0] = 1
		for k, l := range lists {
			if slices.Contains(l, w) {
				may[k+1] = 1
			}
		}
		q := same[string(may)]
		if q == nil {
			q = r.newQueue(func(i int) bool { return may[of[i]] == 1 })
			same[string(may)] = q
		}
		out[w] = q
	}
	return out
}

// newQueue collects the tasks for which may reports true.
func (r *Run) newQueue(may func(i int) bool) *queue {
	q := &queue{}
	for i := range r.Tasks {
		x := &r.Tasks[i]
		if r.Graph.Tasks[i].Light() || !may(i) {
			continue
		}
		q.submitted = append(q.submitted, queued{int32(i), x.Submitted, x.Submitted})
		if _, waits := r.waitedFor(i); waits {
			to := x.Ready
			if to == 0 {
				to = r.ended(x) // cancelled
			}
			q.waiting.add(i, x.Submitted, to)
		}
		to := x.Popped
		if to == 0 {
			to = x.Started
		}
		if x.Worker >= 0 && x.Ready > 0 {
			q.ready.add(i, x.Ready, to)
		}
	}
	slices.SortFunc(q.submitted, byFrom)
	q.ready.sort()
	q.waiting.sort()
	return q
}

func byFrom(a, b queued) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.task, b.task)) }

func (s *stretches) add(task int, from, to float64) {
	if to > from {
		s.tasks = append(s.tasks, queued{int32(task), from, to})
		s.ends = append(s.ends, to)
	}
}

// sort ends the collection.
func (s *stretches) sort() {
	slices.SortFunc(s.tasks, byFrom)
	slices.Sort(s.ends)
	s.latest = make([]int32, len(s.tasks))
	for k, t := range s.tasks {
		if s.latest[k] = int32(k); k > 0 && s.tasks[s.latest[k-1]].to >= t.to {
			s.latest[k] = s.latest[k-1]
		}
		if n := len(s.spans); n > 0 && s.spans[n-1][1] >= t.from {
			s.spans[n-1][1] = max(s.spans[n-1][1], t.to)
		} else {
			s.spans = append(s.spans, [2]float64{t.from, t.to})
		}
	}
}

// cut appends g to all, in pieces by what the worker could have run: a task that was
// ready, else one that waited, else one that was submitted later. Within stretches of
// least seconds, each kind of piece is one.
func (r *Run) cut(q *queue, all []Gap, g Gap, least float64) []Gap {
	if g.Why != WaitsForTask && g.Why != WaitsSubmit && g.Why != WaitsEnd {
		return append(all, g)
	}
	q.parts[0] = q.ready.cut(q.parts[0][:0], g, WaitsQueue, least)
	for _, p := range q.parts[0] {
		switch p.Why {
		case WaitsQueue:
			q.ready.name(&p)
		case WaitsSubmit, WaitsEnd:
			q.parts[1] = q.waiting.cut(q.parts[1][:0], p, WaitsForTask, least)
			for _, p := range q.parts[1] {
				all = r.later(q, all, p)
			}
			continue
		}
		all = append(all, p)
	}
	return all
}

// later appends p, in which no task was ready. The time before the last submission counts
// as waiting for the next one.
func (r *Run) later(q *queue, all []Gap, p Gap) []Gap {
	last := math.Inf(-1)
	if n := len(q.submitted); n > 0 {
		last = q.submitted[n-1].from
	}
	switch {
	case p.Why == WaitsForTask:
		if k := q.waiting.longest(p.From); k >= 0 {
			p.Next = k
			p.For, _ = r.waitedFor(k)
		}
	case last > p.From:
		k, _ := slices.BinarySearchFunc(q.submitted, p.From, func(t queued, at float64) int {
			if t.from > at {
				return 1
			}
			return -1
		})
		first := p
		first.Why, first.Next, first.To = WaitsSubmit, int(q.submitted[k].task), min(p.To, last)
		all = append(all, first)
		if p.From = first.To; p.From >= p.To {
			return all
		}
	}
	return append(all, p)
}

// cut appends g to all, in pieces: those in which there were tasks have why as reason.
func (s *stretches) cut(all []Gap, g Gap, why string, least float64) []Gap {
	first := len(all)
	add := func(from, to float64, inside bool) {
		p := g
		if p.From, p.To = from, to; inside {
			p.Why = why
		}
		switch n := len(all); {
		case to <= from:
		case n > first && all[n-1].Why == p.Why:
			all[n-1].To = to
		default:
			all = append(all, p)
		}
	}
	k, _ := slices.BinarySearchFunc(s.spans, g.From, func(s [2]float64, t float64) int {
		if s[1] > t {
			return 1
		}
		return -1
	})
	at, insideFirst := g.From, false
	for ; k < len(s.spans) && s.spans[k][0] < g.To; k++ {
		from, to := max(s.spans[k][0], at), min(s.spans[k][1], g.To)
		if end := at + least; to < end {
			inside := to - from
			for k+1 < len(s.spans) && s.spans[k+1][1] <= end && s.spans[k+1][1] <= g.To {
				k++
				inside += s.spans[k][1] - s.spans[k][0]
				to = s.spans[k][1]
			}
			middle := at + inside
			if !insideFirst {
				middle = to - inside
			}
			add(at, middle, insideFirst)
			add(middle, to, !insideFirst)
			at, insideFirst = to, !insideFirst
			continue
		}
		add(at, from, false)
		add(from, to, true)
		at = to
	}
	add(at, g.To, false)
	return all
}

// name says which tasks were ready in the gap g.
func (s *stretches) name(g *Gap) {
	begun, _ := slices.BinarySearchFunc(s.tasks, g.To, func(t queued, at float64) int { return cmp.Compare(t.from, at) })
	gone, _ := slices.BinarySearch(s.ends, g.From)
	for gone < len(s.ends) && s.ends[gone] == g.From {
		gone++
	}
	g.For, g.Ready = s.longest(g.From), max(1, begun-gone)
}

// longest is the task that was so at a time, and of several the one that was it longest;
// -1: there are none.
func (s *stretches) longest(at float64) int {
	k, _ := slices.BinarySearchFunc(s.tasks, at, func(t queued, at float64) int {
		if t.from > at {
			return 1
		}
		return -1
	})
	if k = min(max(k-1, 0), len(s.latest)-1); k < 0 {
		return -1
	}
	return int(s.tasks[s.latest[k]].task)
}

// byWorker lists tasks by worker, in the order of their start; a parallel task is in the lists of all its
// workers.
func (r *Run) byWorker() [][]int32 {
	out := make([][]int32, len(r.Graph.Workers))
	for i := range r.Tasks {
		x := &r.Tasks[i]
		if x.Started == 0 || r.Graph.Tasks[i].Light() {
			continue
		}
		for _, w := range x.workers() {
			if w >= 0 && w < len(out) {
				out[w] = append(out[w], int32(i))
			}
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
			g := Gap{w, from, to, why, i, -1, 0}
			if why == WaitsForTask {
				g.For, _ = r.waitedFor(i)
			}
			out = append(out, g)
			from = to
		}
	}
	add(x.Submitted, WaitsSubmit)
	if _, waits := r.waitedFor(i); waits {
		add(x.Ready, WaitsForTask)
	} else {
		add(x.Ready, WaitsSubmit)
	}
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

// submission is what a task may take from its submission until it is ready when it waits
// for nothing.
const submission = 1e-4

// waitedFor is the task that released task i, -1 if none did; waits reports whether i
// waited at all between its submission and its start.
func (r *Run) waitedFor(i int) (task int, waits bool) {
	x := &r.Tasks[i]
	if x.Ready > 0 && x.Ready <= x.Submitted {
		return -1, false
	}
	if d := r.last(i); d >= 0 && (r.Tasks[d].Ended > x.Submitted || r.Tasks[d].Ended == 0) {
		return d, true
	}
	return -1, x.Ready == 0 || x.Ready-x.Submitted > submission
}

// last returns the dependency of task i that ended last, or -1. Light tasks represent an
// order only, so their own dependencies count in their place.
func (r *Run) last(i int) int {
	best := -1
	var seen map[int32]bool // light tasks
	var look func(ds []int32)
	look = func(ds []int32) {
		for _, d := range ds {
			switch t := &r.Graph.Tasks[d]; {
			case t.Light() && t.Internal != "acquire":
				if !seen[d] {
					if seen == nil {
						seen = map[int32]bool{}
					}
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
		if g.For >= 0 {
			return r.leftText(g)
		}
		return next + " was ready, and this worker had not taken it"
	case WaitsData:
		return next + " waited for its data: locks, memory, copies"
	case WaitsStart:
		return next + " was starting"
	}
	return "no task was left for this worker"
}

// leftText says which tasks were ready in a gap, and were left to other workers.
func (r *Run) leftText(g *Gap) string {
	text := r.Graph.Tasks[g.For].Label()
	switch w := r.Tasks[g.For].Worker; {
	case g.Ready > 1:
		return fmt.Sprintf("%s and %d more were ready, and were left to other workers", text, g.Ready-1)
	case slices.Contains(r.Tasks[g.For].workers(), g.Worker):
		return text + " was ready, and this worker took it later"
	case w < len(r.Graph.Workers):
		return fmt.Sprintf("%s was ready, and was left to %s", text, r.Graph.Workers[w].Name)
	}
	return text + " was ready, and was left to another worker"
}

// measure is the longest path of a graph.
func measure(g *graph.Graph) []int32 { return graph.Measure(g).Critical }
