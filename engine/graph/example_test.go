package graph_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
)

// The graph of a plan: nothing runs.
func Example() {
	var rec *graph.Recorder
	rt, err := engine.Machine{Workers: 2}.Planner(func(p *engine.PlannedTask) { rec.Plan(p) })
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	rec = graph.NewRecorder(rt)
	job := rt.NewJob(context.Background(), engine.JobOptions{})
	defer job.Close()

	run := []engine.Impl{func(c *engine.TaskContext) error { return nil }}
	set := &engine.Codelet{Name: "set", CPU: run}
	add := &engine.Codelet{Name: "add", CPU: run}
	number := engine.DataSpec{Kind: iface.Variable, Elem: iface.F64}
	x, _ := rt.Register(number)
	y, _ := rt.Register(number)
	for _, s := range []*engine.TaskSpec{
		{Codelet: set, Operands: []engine.Operand{{Handle: x, Mode: iface.W}}},
		{Codelet: set, Operands: []engine.Operand{{Handle: y, Mode: iface.W}}},
		{Codelet: add, Operands: []engine.Operand{{Handle: x, Mode: iface.R}, {Handle: y, Mode: iface.RW}}},
	} {
		if err := job.Submit(s); err != nil {
			log.Fatal(err)
		}
	}
	g := rec.Graph("a sum")
	m := graph.Measure(g)
	fmt.Printf("%d tasks, %d dependencies, %d on the longest path, %d side by side\n", m.Tasks, m.Edges, m.Length, m.Width)
	if err := graph.Write(os.Stdout, g, graph.Text, graph.ByTask); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 3 tasks, 2 dependencies, 2 on the longest path, 2 side by side
	// set 1
	// set 2
	// add 3  after set 1, set 2
}
