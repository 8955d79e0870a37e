// Command embed runs a script inside a Go program: a codelet and the data come from Go,
// the tasks from the script. This is the program in README.md.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

const script = `
extern x: vector[f32]
extern codelet clip(v: RW vector[f32], hi: f32)
codelet scale(v: RW vector[f32], a: f32) { each i in v { v[i] *= a } }
partition x by blocks(4)
func step(a: float) {
    for b in 0..4 { insert scale(RW x[b], a); insert clip(RW x[b], 100.0) }
}
`

func main() {
	ctx := context.Background()
	clip := lang.Must(lang.NewCodelet("clip(v: RW vector[f32], hi: f32)",
		lang.CPUFunc(func(v []float32, hi float32) {
			for i := range v {
				v[i] = min(v[i], hi)
			}
		})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{clip}}))
	prog, diags := comp.Compile(ctx, "step.spu", []byte(script)) // once
	if err := diags.Err(); err != nil {
		log.Fatal(err) // the place, the cause and the remedy
	}
	rt := lang.Must(engine.New(engine.Options{}))
	defer rt.Close()
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8} // used in place
	inst := lang.Must(prog.Run(ctx, rt, lang.Bind("x", lang.VectorOf(x))))
	for range 4 {
		lang.Must(inst.Call(ctx, "step", 3.0)) // inserts eight tasks
	}
	if err := inst.Close(); err != nil { // waits for them
		log.Fatal(err)
	}
	fmt.Println(x)
}
