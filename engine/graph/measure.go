package graph

// Measures of a graph that hold for every machine: counts, the critical path, the
// parallelism.

import (
	"cmp"
	"math"
	"slices"
)

// Measures are figures about a graph.
type Measures struct {
	Tasks    int            // with a kernel: of the program, and reductions and the like
	Edges    int            // dependencies of those
	Codelets []CodeletCount // the most frequent first
	Length   int            // tasks on the longest path
	Width    int            // most tasks that have the same distance from the start
	Work     float64        // seconds of all tasks, each on the worker where it is fastest
	Path     float64        // seconds of the path that takes longest
	Critical []int32        // the tasks of that path, or of the longest one where nothing is known of times
	Unknown  int            // tasks without a known time
}

// CodeletCount counts the uses of a codelet.
type CodeletCount struct {
	Name    string
	Tasks   int
	Seconds float64 // of all
	Unknown int
}

// Parallelism returns the number of workers that the graph can keep busy on average: all
// work divided by that on the longest path. If times are not known, tasks are counted.
func (m *Measures) Parallelism() float64 {
	switch {
	case m.Unknown == 0 && m.Path > 0:
		return m.Work / m.Path
	case m.Length > 0:
		return float64(m.Tasks) / float64(m.Length)
	}
	return 0
}

// Best is the shortest time of t on any worker; false: not known.
func (t *Task) Best() (seconds float64, known bool) {
	if t.Internal != "" {
		return 0, true
	}
	best := math.Inf(1)
	for _, s := range t.Seconds {
		if s >= 0 {
			best = min(best, s)
		}
	}
	return best, !math.IsInf(best, 1)
}

// Measure computes the figures of g.
func Measure(g *Graph) *Measures {
	m := &Measures{}
	count := make([]int32, len(g.Tasks)) // on the longest path to here, t included
	end := make([]float64, len(g.Tasks))
	by := map[string]*CodeletCount{}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		for _, d := range t.Deps {
			count[i], end[i] = max(count[i], count[d]), max(end[i], end[d])
		}
		if t.Light() {
			continue
		}
		m.Tasks++
		m.Edges += len(t.Deps)
		count[i]++
		s, known := t.Best()
		c := by[t.Codelet]
		if c == nil {
			c = &CodeletCount{Name: t.Codelet}
			by[t.Codelet] = c
		}
		c.Tasks++
		if known {
			c.Seconds += s
			end[i] += s
			m.Work += s
		} else {
			c.Unknown++
			m.Unknown++
		}
	}
	for _, c := range by {
		m.Codelets = append(m.Codelets, *c)
	}
	slices.SortFunc(m.Codelets, func(a, b CodeletCount) int {
		return cmp.Or(b.Tasks-a.Tasks, cmp.Compare(a.Name, b.Name))
	})
	level := make([]int, len(g.Tasks)+1)
	for i := range g.Tasks {
		m.Length, m.Path = max(m.Length, int(count[i])), max(m.Path, end[i])
		if !g.Tasks[i].Light() {
			level[count[i]]++
			m.Width = max(m.Width, level[count[i]])
		}
	}
	m.Critical = g.longest(count, end, m.Path > 0 && m.Unknown == 0)
	return m
}

// longest walks back from the task that ends last.
func (g *Graph) longest(count []int32, end []float64, timed bool) (path []int32) {
	later := func(a, b int32) bool { // a ends later than b
		if timed && end[a] != end[b] {
			return end[a] > end[b]
		}
		return count[a] > count[b]
	}
	last := int32(-1)
	for i := range g.Tasks {
		if last < 0 || later(int32(i), last) {
			last = int32(i)
		}
	}
	for k := last; k >= 0; {
		if !g.Tasks[k].Light() {
			path = append(path, k)
		}
		next := int32(-1)
		for _, d := range g.Tasks[k].Deps {
			if next < 0 || later(d, next) {
				next = d
			}
		}
		k = next
	}
	slices.Reverse(path)
	return path
}

// LengthWithout is the number of tasks on the longest path if nothing were ordered by
// a handle: what it would be if the order of its uses did not matter.
func (g *Graph) LengthWithout(handle int32) (length int) {
	x := *g
	x.Handles = slices.Clone(g.Handles)
	x.Tasks = slices.Clone(g.Tasks)
	for i := range x.Tasks {
		t := &x.Tasks[i]
		if k := slices.IndexFunc(t.Operands, func(o Operand) bool { return o.Handle == handle }); k >= 0 {
			t.Operands = slices.Clone(t.Operands)
			t.Operands[k].Unordered = true
		}
	}
	x.resolve(nil, &Bounds{})
	return Measure(&x).Length
}
