package graph

// Simulation of a graph on a machine: each task goes to the worker on which it would end
// first, as dm policies do it, with the time that its data takes to get there. It is a
// prediction, and as good as the estimates are.

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
)

// Schedule is a prediction of a run. Times are seconds since its beginning.
type Schedule struct {
	Seconds   float64 // when the last task ends
	Runs      []Run   // by task
	Transfers []Transfer
	Peak      []int64 // by node: most bytes of valid copies and private memory at once
	Guessed   int     // tasks of unknown length; they count as long as the mean of the others
}

// Run is the place and time of a task; Worker is -1 for light ones.
type Run struct {
	Worker     int
	Start, End float64 // seconds
}

// Transfer is a copy from one memory to another.
type Transfer struct {
	From, To   int // places in Graph.Nodes
	Bytes      int64
	Handle     int32   // a place in Graph.Handles
	Task       int32   // for which: a place in Graph.Tasks
	Start, End float64 // seconds
}

// Moved returns the number of copies between memories, and their bytes together.
func (s *Schedule) Moved() (copies int, bytes int64) {
	for _, t := range s.Transfers {
		bytes += t.Bytes
	}
	return len(s.Transfers), bytes
}

// sim is a simulation.
type sim struct {
	g     *Graph
	out   *Schedule
	sizes []int64
	valid []uint64 // by cell: nodes with a valid copy
	used  []int64  // by node
	free  []float64
	link  [][]float64 // when a link is free
	mean  float64
	own   map[int32]map[int]bool // REDUX handles: nodes with private copies
	work  []int64                // by worker: private memory
}

// Simulate predicts a run of g on its machine: tasks in the order in which they become
// ready, higher priorities first, each on the worker where it would end first, data
// included, as the policies dm and dmda choose. It is deterministic, and as good as the
// estimates of times are; evictions and the cost of the runtime are not part of it. A
// graph whose machine is not known takes no time.
func Simulate(g *Graph) *Schedule {
	sizes, _ := g.cut(&Bounds{})
	s := &sim{g: g, out: &Schedule{Runs: make([]Run, len(g.Tasks)), Peak: make([]int64, len(g.Nodes))}, sizes: sizes,
		used: make([]int64, len(g.Nodes)), free: make([]float64, len(g.Workers)), own: map[int32]map[int]bool{}, work: make([]int64, len(g.Workers))}
	s.valid = make([]uint64, len(s.sizes))
	for range g.Nodes {
		s.link = append(s.link, make([]float64, len(g.Nodes)))
	}
	for i := range g.Handles {
		if g.Handles[i].Home {
			s.make(int32(i), 0, true)
		}
	}
	s.mean = s.meanTime()
	waits := make([]int32, len(g.Tasks))
	next := make([][]int32, len(g.Tasks))
	at := make([]float64, len(g.Tasks)) // ready
	ready := &readyHeap{g: g, at: at}
	for i := range g.Tasks {
		waits[i] = int32(len(g.Tasks[i].Deps))
		for _, d := range g.Tasks[i].Deps {
			next[d] = append(next[d], int32(i))
		}
		if waits[i] == 0 {
			ready.list = append(ready.list, int32(i))
		}
	}
	heap.Init(ready)
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int32)
		end := s.run(i, at[i])
		s.out.Seconds = max(s.out.Seconds, end)
		for _, k := range next[i] {
			at[k] = max(at[k], end)
			if waits[k]--; waits[k] == 0 {
				heap.Push(ready, k)
			}
		}
	}
	slices.SortFunc(s.out.Transfers, func(a, b Transfer) int { return cmp.Compare(a.Start, b.Start) })
	return s.out
}

// meanTime is the time assumed for tasks without a known time: the mean of the others, or
// one second when no time is known at all, so that the times count tasks.
func (s *sim) meanTime() float64 {
	sum, n := 0.0, 0
	for i := range s.g.Tasks {
		if t := &s.g.Tasks[i]; t.Internal == "" {
			if x, known := t.Best(); known {
				sum += x
				n++
			}
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// run places task i, which is ready at the time at, and returns when it ends.
func (s *sim) run(i int32, at float64) (end float64) {
	t := &s.g.Tasks[i]
	r := &s.out.Runs[i]
	r.Worker = -1
	if t.Light() || len(s.g.Workers) == 0 {
		end = at
		switch t.Internal {
		case "acquire": // in main memory
			end = s.fetch(i, 0, at)
			s.store(t, 0)
		case "invalidate", "unregister":
			for _, o := range t.Operands {
				s.drop(o.Handle)
			}
		}
		r.Start, r.End = end, end
		return end
	}
	best, bestEnd, bestTime := -1, math.Inf(1), 0.0
	guessed := false
	for w := range s.g.Workers {
		d := 0.0
		if (t.Internal == "" || t.Internal == "convert") && t.Seconds != nil {
			d = t.Seconds[w]
		}
		if d < 0 {
			continue
		}
		unknown := math.IsNaN(d) || t.Seconds == nil && t.Internal == ""
		if unknown {
			d = s.mean
		}
		e := max(s.free[w], at+s.estimate(t, s.g.Workers[w].Node)) + d
		if e < bestEnd {
			best, bestEnd, bestTime, guessed = w, e, d, unknown
		}
	}
	if best < 0 { // none may run it; the engine would have refused it
		return at
	}
	if guessed {
		s.out.Guessed++
	}
	node := s.g.Workers[best].Node
	start := max(s.free[best], s.fetch(i, node, at))
	r.Worker, r.Start, r.End = best, start, start+bestTime
	s.free[best] = r.End
	s.private(t, best)
	s.store(t, node)
	return r.End
}

// missing is what node lacks of a handle, and where most of it is.
func (s *sim) missing(h int32, node int) (bytes int64, from int) {
	for _, c := range s.g.Handles[h].cells {
		if v := s.valid[c]; v != 0 && v&(1<<node) == 0 {
			bytes += s.sizes[c]
			for from = 0; v&(1<<from) == 0; from++ {
			}
		}
	}
	return bytes, from
}

func reads(m iface.AccessMode) bool { return m.Reads() }

// estimate is how long the copies for t to a node take, one after the other.
func (s *sim) estimate(t *Task, node int) (seconds float64) {
	if s.g.Links == nil || len(s.g.Nodes) < 2 {
		return 0
	}
	for _, o := range t.Operands {
		if reads(o.Mode) {
			s.value(o.Handle)
			if n, from := s.missing(o.Handle, node); n > 0 {
				seconds += s.g.Links(from, node, n)
			}
		}
	}
	return seconds
}

// fetch copies what t reads to a node, and returns when all is there.
func (s *sim) fetch(i int32, node int, at float64) float64 {
	done := at
	for _, o := range s.g.Tasks[i].Operands {
		if !reads(o.Mode) {
			continue
		}
		s.value(o.Handle)
		n, from := s.missing(o.Handle, node)
		if n == 0 || s.g.Links == nil {
			continue
		}
		start := max(at, s.link[from][node])
		end := start + s.g.Links(from, node, n)
		s.link[from][node] = end
		s.out.Transfers = append(s.out.Transfers, Transfer{From: from, To: node, Bytes: n, Handle: o.Handle, Task: i, Start: start, End: end})
		s.make(o.Handle, node, false)
		done = max(done, end)
	}
	return done
}

// value makes data valid in main memory that is read before any task writes it: the value
// that the data was registered with.
func (s *sim) value(h int32) {
	for _, c := range s.g.Handles[h].cells {
		if s.valid[c] == 0 {
			s.valid[c] = 1
			s.grow(0, s.sizes[c])
		}
	}
}

// store makes what t writes valid on a node, and nowhere else.
func (s *sim) store(t *Task, node int) {
	for _, o := range t.Operands {
		if o.Mode.Writes() && o.Mode != iface.Redux {
			s.make(o.Handle, node, true)
		}
	}
	if t.Internal == "reduce" {
		for _, o := range t.Operands {
			for n := range s.own[o.Handle] {
				s.grow(s.g.Workers[n].Node, -s.g.Handles[o.Handle].Bytes)
			}
			delete(s.own, o.Handle)
		}
	}
}

// private counts the memory that a worker has for itself.
func (s *sim) private(t *Task, w int) {
	var scratch int64
	for _, o := range t.Operands {
		h := &s.g.Handles[o.Handle]
		switch o.Mode {
		case iface.Scratch:
			scratch += h.Bytes
		case iface.Redux:
			if s.own[o.Handle] == nil {
				s.own[o.Handle] = map[int]bool{}
			}
			if !s.own[o.Handle][w] {
				s.own[o.Handle][w] = true
				s.grow(s.g.Workers[w].Node, h.Bytes)
			}
		}
	}
	if scratch > s.work[w] {
		s.grow(s.g.Workers[w].Node, scratch-s.work[w])
		s.work[w] = scratch
	}
}

// make gives a node a valid copy of a handle; only it has one when the value is new.
func (s *sim) make(h int32, node int, fresh bool) {
	for _, c := range s.g.Handles[h].cells {
		if s.valid[c]&(1<<node) == 0 {
			s.grow(node, s.sizes[c])
		}
		if fresh {
			for n := range s.used {
				if n != node && s.valid[c]&(1<<n) != 0 {
					s.used[n] -= s.sizes[c]
				}
			}
			s.valid[c] = 0
		}
		s.valid[c] |= 1 << node
	}
}

func (s *sim) drop(h int32) {
	for _, c := range s.g.Handles[h].cells {
		for n := range s.used {
			if s.valid[c]&(1<<n) != 0 {
				s.used[n] -= s.sizes[c]
			}
		}
		s.valid[c] = 0
	}
}

func (s *sim) grow(node int, bytes int64) {
	s.used[node] += bytes
	s.out.Peak[node] = max(s.out.Peak[node], s.used[node])
}

// readyHeap orders ready tasks as workers would take them.
type readyHeap struct {
	g    *Graph
	at   []float64
	list []int32
}

func (h *readyHeap) Len() int { return len(h.list) }
func (h *readyHeap) Less(i, k int) bool {
	a, b := h.list[i], h.list[k]
	if h.at[a] != h.at[b] {
		return h.at[a] < h.at[b]
	}
	if p, q := h.g.Tasks[a].Priority, h.g.Tasks[b].Priority; p != q {
		return p > q
	}
	return a < b
}
func (h *readyHeap) Swap(i, k int) { h.list[i], h.list[k] = h.list[k], h.list[i] }
func (h *readyHeap) Push(x any)    { h.list = append(h.list, x.(int32)) }
func (h *readyHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
