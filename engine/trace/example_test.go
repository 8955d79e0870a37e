package trace_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
)

// A run recorded, and written for Perfetto.
func Example() {
	var rec trace.Recorder
	rt, err := engine.New(engine.Options{Workers: 2, Profile: true, Listener: &rec})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(context.Background(), engine.JobOptions{})

	step := &engine.Codelet{Name: "step", CPU: []engine.Impl{func(c *engine.TaskContext) error { return nil }}}
	x, err := rt.Register(engine.DataSpec{Name: "x", Kind: iface.Variable, Elem: iface.F64})
	if err != nil {
		log.Fatal(err)
	}
	for _, mode := range []iface.AccessMode{iface.W, iface.RW, iface.RW} {
		if err := job.Submit(&engine.TaskSpec{Codelet: step, Operands: []engine.Operand{{Handle: x, Mode: mode}}}); err != nil {
			log.Fatal(err)
		}
	}
	if err := job.Close(); err != nil {
		log.Fatal(err)
	}

	run := rec.Run("three steps") // nothing runs any more, and rt is open
	for i, t := range run.Tasks {
		fmt.Println(run.Graph.Tasks[i].Label(), t.State, "waits for", run.Graph.Tasks[i].Deps)
	}
	fmt.Println(trace.WriteChrome(io.Discard, run)) // or a file, for ui.perfetto.dev
	// Output:
	// step 1 done waits for []
	// step 2 done waits for [0]
	// step 3 done waits for [1]
	// <nil>
}
