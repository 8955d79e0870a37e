package graph

// Parts of a graph.

import (
	"slices"
	"strings"
)

// From returns the tasks from place n on, with what they wait for among themselves.
func (g *Graph) From(n int) *Graph { return g.keep(func(i int) bool { return i >= n }) }

// Using returns the tasks that use a piece of data of this name, or a part of it.
func (g *Graph) Using(name string) *Graph {
	of := make([]bool, len(g.Handles))
	for i := range g.Handles {
		h := g.Handles[i].Name
		of[i] = h == name || strings.HasPrefix(h, name+"[")
	}
	return g.keep(func(i int) bool {
		return slices.ContainsFunc(g.Tasks[i].Operands, func(o Operand) bool { return of[o.Handle] })
	})
}

func (g *Graph) keep(want func(i int) bool) *Graph {
	x := *g
	x.Tasks, x.Notes = nil, nil
	at := make([]int32, len(g.Tasks))
	for i := range g.Tasks {
		if at[i] = -1; !want(i) {
			continue
		}
		at[i] = int32(len(x.Tasks))
		t := g.Tasks[i]
		t.Deps = nil
		if t.parent > 0 {
			t.parent = at[t.parent-1] + 1
		}
		for _, d := range g.Tasks[i].Deps {
			if at[d] >= 0 {
				t.Deps = append(t.Deps, at[d])
			}
		}
		x.Tasks = append(x.Tasks, t)
	}
	for _, n := range g.Notes {
		for k := n.Task; k < len(g.Tasks); k++ { // the first task that is left
			if at[k] >= 0 {
				n.Task = int(at[k])
				x.Notes = append(x.Notes, n)
				break
			}
		}
	}
	return &x
}
