// Package simulate predicts what a machine that need not exist would make of a task graph. Time is virtual: no kernel runs, and nothing
// is copied.
//
// A [Program] is a graph (package engine/graph, from a plan), and a [Machine] is described in a file ([Read]) or has a name ([Preset]).
// [Run] puts them together under any policy of package engine/sched: the policy's own code decides, through the same
// interface as in a run. So a new policy needs nothing here.
//
//	p := simulate.NewProgram(g)
//	r, err := simulate.Run(ctx, p, m, simulate.Options{Policy: "dmda"})
//	fmt.Println(r.Seconds, r.Bound().Seconds)
//
// What is modelled: the script that submits tasks, and waits where it reads a value; dependencies, exclusive COMMUTE, tasks
// that need several workers; valid copies of data on memory nodes (MSI), room in bounded memories, evictions of what is
// needed last, data that is fetched ahead; links that carry one copy at a time, and buses that links share; messages between
// computers, as package engine/cluster decides them. docs/simulation.md lists what is left out.
//
// A simulation is deterministic: the same program, machine and options give the same result, bit by bit. A Program and a
// Machine may be used by one Run at a time; results are the caller's.
package simulate
