package graph

// Dependencies: what the engine's order makes of the accesses.
//
// Every datum is cut where handles in use begin and end. The pieces, cells, are what
// the engine calls fragments: each orders the accesses to it, readers together, one
// writer, COMMUTE of one kind among themselves in any order. So only pairs of neighbours in a
// cell's history become dependencies, and not all pairs.

import (
	"context"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
)

// Graph returns what was recorded, with its dependencies.
func (r *Recorder) Graph(title string) *Graph {
	g, _ := r.GraphWithin(title, Bounds{}) // nothing ends it
	return g
}

// Bounds end what takes time and memory as the product of numbers that a program chooses:
// tasks, and what the data is cut into. The zero value has none.
type Bounds struct {
	Context context.Context // nil: never ends
	// Room is called with bytes before they are taken, now and then. An error ends it. nil:
	// there is room.
	Room func(bytes int64) error

	bytes int64 // not asked for yet
	steps int   // since the last look at the context
	err   error
}

// roomAtOnce is how many bytes are asked for together.
const roomAtOnce = 1 << 16

// take counts bytes that are about to be taken, and reports false when it is over.
func (b *Bounds) take(bytes int) bool {
	b.bytes += int64(bytes)
	if b.steps++; b.steps < 1024 && b.bytes < roomAtOnce || b.err != nil {
		return b.err == nil
	}
	b.steps = 0
	if b.Context != nil && b.Context.Err() != nil {
		b.err = context.Cause(b.Context)
	}
	if b.err == nil && b.Room != nil && b.bytes > 0 {
		b.err = b.Room(b.bytes)
	}
	b.bytes = 0
	return b.err == nil
}

// GraphWithin is Graph as far as the bounds go. Errors are theirs: the cause of the context,
// or what Room returned.
func (r *Recorder) GraphWithin(title string, b Bounds) (*Graph, error) {
	g := r.g
	g.Title = title
	g.Handles = slices.Clone(g.Handles)
	g.Tasks = slices.Clone(g.Tasks)
	if !g.resolve(r.after, &b) {
		return nil, b.err
	}
	return &g, nil
}

// cell is the history of one piece of a datum, as far as it matters to what comes.
type cell struct {
	bytes   int64
	writer  int32            // task that wrote last; -1: none
	readers []int32          // since then, in order
	commute []int32          // the group of COMMUTE accesses since then
	kind    iface.AccessMode // that of the group
	before  []int32          // what that group came after
}

// group is what REDUX tasks of one handle add to.
type group struct {
	members []int32
	last    int32 // the reduction that closed the group before; -1: none
}

// maxCells bounds what one handle is cut into; data in more pieces than that is
// taken as one.
const maxCells = 1 << 20

// cellBytes and mentionBytes estimate the memory of a cell, and of a cell, a task or a
// dependency in a list that grows.
const cellBytes, mentionBytes = 96, 8

// cut gives every handle its cells and returns their sizes in bytes; false: it is over.
func (g *Graph) cut(b *Bounds) (sizes []int64, ok bool) {
	byDatum := map[int32][]int32{}
	for i := range g.Handles {
		d := g.Handles[i].Datum
		byDatum[d] = append(byDatum[d], int32(i))
	}
	for d := int32(0); int(d) < len(byDatum); d++ {
		hs := byDatum[d]
		at := make([][]int, len(g.Handles[hs[0]].Lo)) // where the axes are cut
		for k := range at {
			for _, i := range hs {
				at[k] = append(at[k], g.Handles[i].Lo[k], g.Handles[i].Hi[k])
			}
			slices.Sort(at[k])
			at[k] = slices.Compact(at[k])
		}
		total := 1
		for k := range at {
			if total *= max(1, len(at[k])-1); total > maxCells {
				break
			}
		}
		base := int32(len(sizes))
		if !b.take(cellBytes * min(total, maxCells)) {
			return nil, false
		}
		if total > maxCells {
			var most int64
			for _, i := range hs {
				g.Handles[i].cells = []int32{base}
				most = max(most, g.Handles[i].Bytes)
			}
			sizes = append(sizes, most)
			continue
		}
		n := make([]int, len(at))
		for k := range n {
			n[k] = max(1, len(at[k])-1)
		}
		elem := g.Handles[hs[0]].Elem
		if !slices.ContainsFunc(hs, func(i int32) bool { return g.Handles[i].Bytes > 0 }) {
			elem = 0 // an axis without elements counts as one
		}
		for c := range total {
			bytes := elem
			for k := len(n) - 1; k >= 0; k-- {
				i := c % n[k]
				c /= n[k]
				if i+1 < len(at[k]) {
					bytes *= int64(at[k][i+1] - at[k][i])
				}
			}
			sizes = append(sizes, bytes)
		}
		lo, hi := make([]int, len(n)), make([]int, len(n))
		for _, i := range hs {
			h := &g.Handles[i]
			for k := range n {
				lo[k], _ = slices.BinarySearch(at[k], h.Lo[k])
				hi[k], _ = slices.BinarySearch(at[k], h.Hi[k])
			}
			cells := 1
			for k := range n {
				cells *= max(1, hi[k]-lo[k])
			}
			if !b.take(mentionBytes * cells) {
				return nil, false
			}
			var walk func(k, c int)
			walk = func(k, c int) {
				if k == len(n) {
					h.cells = append(h.cells, base+int32(c))
					return
				}
				for x := lo[k]; x < max(hi[k], lo[k]+1); x++ {
					walk(k+1, c*n[k]+x)
				}
			}
			h.cells = h.cells[:0:0]
			walk(0, 0)
		}
	}
	return sizes, true
}

// resolve finds the dependencies of all tasks; false: it is over.
func (g *Graph) resolve(explicit []pending, b *Bounds) bool {
	sizes, ok := g.cut(b)
	if !ok {
		return false
	}
	cells := make([]cell, len(sizes))
	for i := range cells {
		cells[i] = cell{bytes: sizes[i], writer: -1}
	}
	// The tasks of a sub-graph come before what was submitted after their owner, which
	// waits for it until they have ended: what they do begins with it, and is no news to
	// the others.
	subs := map[int32]map[int32]*cell{}
	cellOf := func(t *Task, c int32) *cell {
		if t.parent == 0 {
			return &cells[c]
		}
		own := subs[t.parent]
		if own == nil {
			own = map[int32]*cell{}
			subs[t.parent] = own
		}
		if own[c] == nil {
			own[c] = &cell{bytes: sizes[c], writer: t.parent - 1}
		}
		return own[c]
	}
	groups := map[int32]*group{}
	groupOf := func(h int32) *group {
		x := groups[h]
		if x == nil {
			x = &group{last: -1}
			groups[h] = x
		}
		return x
	}
	seen := make([]int32, len(g.Tasks)) // seen[k] == i+1: k is a dependency of i already
	var deps []int32
	for i := range g.Tasks {
		t := &g.Tasks[i]
		deps = deps[:0]
		add := func(ks ...int32) {
			for _, k := range ks {
				if k >= 0 && int(k) != i && seen[k] != int32(i)+1 {
					seen[k] = int32(i) + 1
					deps = append(deps, k)
				}
			}
		}
		for len(explicit) > 0 && int(explicit[0].task) == i {
			add(explicit[0].on)
			explicit = explicit[1:]
		}
		for _, o := range t.Operands {
			if o.Unordered {
				continue
			}
			switch o.Mode {
			case iface.Scratch:
			case iface.Redux:
				x := groupOf(o.Handle)
				add(x.last)
				x.members = append(x.members, int32(i))
			default:
				if t.Internal == "reduce" {
					x := groupOf(o.Handle)
					add(x.members...)
					x.members, x.last = nil, int32(i)
				}
				for _, c := range g.Handles[o.Handle].cells {
					if !b.take(mentionBytes) { // of the task, among those that read it, say
						return false
					}
					cellOf(t, c).use(o.Mode, int32(i), add)
				}
			}
		}
		if len(deps) == 0 && t.parent > 0 {
			add(t.parent - 1)
		}
		if !b.take(mentionBytes * len(deps)) {
			return false
		}
		slices.Sort(deps)
		t.Deps = slices.Clone(deps)
	}
	return true
}

// use tells what an access by task i comes after, and notes it.
func (c *cell) use(m iface.AccessMode, i int32, add func(...int32)) {
	switch m {
	case iface.R:
		if len(c.commute) > 0 {
			add(c.commute...)
		} else {
			add(c.writer)
		}
		if n := len(c.readers); n == 0 || c.readers[n-1] != i {
			c.readers = append(c.readers, i)
		}
	case iface.Commute, iface.CommuteW:
		if len(c.readers) > 0 || len(c.commute) == 0 || c.kind != m {
			// another group, after what there is: readers came after the group before
			switch {
			case len(c.readers) > 0:
				c.before = c.readers
			case len(c.commute) > 0:
				c.before = c.commute
			default:
				c.before = []int32{c.writer}
			}
			c.commute, c.readers, c.kind = nil, nil, m
		}
		add(c.before...)
		c.commute = append(c.commute, i)
	default:
		switch {
		case len(c.readers) > 0:
			add(c.readers...) // they came after the group, if there is one
		case len(c.commute) > 0:
			add(c.commute...)
		default:
			add(c.writer)
		}
		c.writer, c.readers, c.commute, c.before = i, nil, nil, nil
	}
}

// Resolve finds the dependencies of tasks that the caller made, by their operands alone, as Recorder.Graph does. It replaces Task.Deps. Explicit
// dependencies are lost.
func (g *Graph) Resolve(b Bounds) error {
	if !g.resolve(nil, &b) {
		return b.err
	}
	return nil
}

// Cells returns the pieces into which the handles cut the data, by their sizes in bytes: what the engine keeps in order, and valid or not,
// as one.
func (g *Graph) Cells() (bytes []int64) {
	bytes, _ = g.cut(&Bounds{})
	return bytes
}

// CellsOf returns the pieces of handle h, places in Cells, ascending. They are shared.
func (g *Graph) CellsOf(h int32) []int32 { return g.Handles[h].cells }
