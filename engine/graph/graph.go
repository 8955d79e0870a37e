// Package graph holds task graphs as people look at them: tasks, the data they use,
// and what must come before what. A [Recorder] collects tasks in the order of their
// submission, from a plan (engine.Options.Plan) or a run; [Recorder.Graph] finds the
// dependencies, by the rules by which the engine orders tasks. [Measure] says what
// follows from a graph, [Simulate] what a machine would make of it, and [Write] draws
// it.
//
// Things refer to each other by number: an operand to its handle, a task to those it
// waits for, by their places in the slices of the [Graph]. All times are seconds. A Graph
// does not change once it was made and may be read by any number of goroutines; a
// Recorder belongs to one at a time. Nothing here fails but Write, with the error of its
// writer.
package graph

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// Graph is the tasks of a program and their order. It does not change.
type Graph struct {
	Title   string
	Workers []Worker // of the machine; nil: not known
	Nodes   []Node   // memories; the first is main memory
	Links   func(from, to int, bytes int64) (seconds float64)
	Sites   []Site // where tasks were submitted; tasks refer to them
	Handles []Handle
	Tasks   []Task
	Notes   []Note // where the graph depends on values that tasks compute; none: it is exact
}

// Worker runs tasks.
type Worker struct {
	Name string
	Kind string // "cpu", or the name of a device
	Node int    // its memory
}

// Node is a memory.
type Node struct {
	Name     string
	Capacity int64 // 0: not known
}

// Site is a place in a source.
type Site struct {
	File      string
	Line, Col int
	Data      any // see engine.Site
}

func (s Site) String() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Note says that from some task on the graph is one of several possible ones.
type Note struct {
	At   Site
	Task int // the first task that may be otherwise: a place in Tasks
	Text string
}

// Handle is data that tasks use: a datum, or a part of one.
type Handle struct {
	Name   string
	Type   string // "matrix[f64] 64 x 64"
	Datum  int32  // handles with the same are parts of one datum
	Bytes  int64
	Lo, Hi []int // its place in the datum, for each axis of that
	Elem   int64 // bytes of an element
	Home   bool  // it has a value from the beginning
	Part   int32 // of a part of a view: its number there; -1 for whole data
	Dims   []int // of a part of a view: the numbers of parts along the axes of the view. Shared
	Owner  int   // 1 + the rank to which the program gave it, see datamgr.Handle.OwnerRank; 0: none
	cells  []int32
}

// Operand is a use of data by a task.
type Operand struct {
	Handle    int32 // a place in Graph.Handles
	Mode      iface.AccessMode
	Unordered bool
}

// Task is one task.
type Task struct {
	ID       int64  // of its job; below 0 for what the engine inserts
	Codelet  string // or "(reduce)" and the like for what the engine inserts
	Name     string
	Internal string // see engine.Event.Internal
	Color    int
	Priority int
	Rank     uint64 // 1 + the rank that the program chose for it, modulo their number; 0: none
	Operands []Operand
	Site     int32 // a place in Graph.Sites; -1: not known
	Vars     string
	Call     string // the innermost call of a function of the script, as written
	Flops    float64
	// Operations and Moved estimate the kernel; see engine.PlannedTask.
	Operations, Moved float64
	Workers           int32     // of a parallel task how many it may have at most; 0 of others
	Seconds           []float64 // expected on each worker: NaN not known, below 0: not there. Shared
	Deps              []int32   // tasks that it waits for, ascending: places in Graph.Tasks
	parent            int32     // the task in whose sub-graph it is, its place counted from 1; 0: none
}

// Successors returns for each task the tasks that wait for it: Task.Deps the other way
// round, lists of places in g.Tasks, ascending. They are the caller's.
func (g *Graph) Successors() [][]int32 {
	n := make([]int, len(g.Tasks))
	all := 0
	for i := range g.Tasks {
		for _, d := range g.Tasks[i].Deps {
			n[d]++
			all++
		}
	}
	room := make([]int32, 0, all)
	out := make([][]int32, len(g.Tasks))
	for i, k := range n {
		out[i], room = room[:0:k], room[k:cap(room)][:0]
	}
	for i := range g.Tasks {
		for _, d := range g.Tasks[i].Deps {
			out[d] = append(out[d], int32(i))
		}
	}
	return out
}

// Light reports whether t has no kernel of its own: it takes no time, and is drawn
// as a dot.
func (t *Task) Light() bool {
	return t.Internal != "" && t.Internal != "reduce" && t.Internal != "init" && t.Internal != "duplicate" && t.Internal != "convert"
}

// Label returns the name of t in listings: "gemm 41".
func (t *Task) Label() string {
	name := t.Codelet
	if t.Name != "" {
		name = t.Name
	}
	if t.ID <= 0 {
		return name
	}
	return fmt.Sprintf("%s %d", name, t.ID)
}

// OperandText writes operands as a script does: "R A[0, 1], RW C".
func (g *Graph) OperandText(t *Task) string {
	var b strings.Builder
	for i, o := range t.Operands {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(o.Mode.String() + " " + g.Handles[o.Handle].Name)
	}
	return b.String()
}

// SiteOf returns where t was submitted.
func (g *Graph) SiteOf(t *Task) Site {
	if t.Site < 0 {
		return Site{}
	}
	return g.Sites[t.Site]
}

// Exact reports whether every run submits these tasks.
func (g *Graph) Exact() bool { return len(g.Notes) == 0 }
