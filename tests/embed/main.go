// A Go program that embeds a script: codelets and data come from Go, the task
// graph from the script. This is the example of README.md.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

//go:embed step.spu
var source []byte // the script below

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	clip := lang.Must(lang.NewCodelet("clip(v: RW vector[f32], lo: f32, hi: f32)",
		lang.CPUFunc(func(v []float32, lo, hi float32) {
			for i, e := range v {
				v[i] = min(max(e, lo), hi)
			}
		})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{clip}}))

	prog, diags := comp.Compile(ctx, "step.spu", source) // once
	diags.Render(os.Stderr, lang.AutoStyle(os.Stderr))
	if diags.Err() != nil {
		os.Exit(3)
	}

	rt := lang.Must(engine.New(engine.Options{}))
	defer rt.Close()
	x, y := make([]float32, 1<<20), make([]float32, 1<<20)
	for i := range x {
		x[i] = float32(i % 7)
	}

	inst, err := prog.Run(ctx, rt, lang.Param("alpha", 2.0),
		lang.Bind("x", lang.VectorOf(x, lang.ReadOnly())), lang.Bind("y", lang.VectorOf(y)))
	if err != nil {
		log.Fatal(err) // file:line:col and what is wrong; Render of the *lang.Diagnostic says all
	}
	defer inst.Close()

	for k := range 100 { // many calls, no parsing, no copies
		if _, err := inst.Call(ctx, "step", k); err != nil {
			log.Fatal(err)
		}
	}
	norm, err := inst.Handle("norm")
	if err != nil {
		log.Fatal(err)
	}
	top, err := lang.Value[float32](ctx, norm) // waits for what it needs
	fmt.Println(top, err)
}
