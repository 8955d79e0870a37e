package lang_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"testing/fstest"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

//go:embed testdata/step.spu
var source []byte // the script of the package example

// A host program: it compiles a script once, binds its own slices without a copy,
// and calls a function of the script many times.
func Example() {
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
	x[7] = 3

	inst, err := prog.Run(ctx, rt, lang.Param("alpha", 2.0),
		lang.Bind("x", lang.VectorOf(x, lang.ReadOnly())), lang.Bind("y", lang.VectorOf(y)))
	if err != nil {
		log.Fatal(err) // file:line:col and what is wrong; Render of the *lang.Diagnostic says all
	}
	defer inst.Close()

	for k := 0; k < 100; k++ { // many calls, no parsing, no copies
		if _, err := inst.Call(ctx, "step", k); err != nil {
			log.Fatal(err)
		}
	}
	norm, _ := inst.Handle("norm")
	top, err := lang.Value[float32](ctx, norm) // waits for what it needs
	fmt.Println(top, err)
	// Output: 600 <nil>
}

// The results of a script are in the caller's slice when the instance is closed.
func ExampleVectorOf() {
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	prog, diags := comp.Compile(context.Background(), "double.spu", []byte(`
extern v: vector[f64]
codelet double(v: RW vector[f64]) { each i in v { v[i] *= 2.0 } }
insert double(RW v)
`))
	if err := diags.Err(); err != nil {
		log.Fatal(err)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	v := []float64{1, 2, 3}
	inst, err := prog.Run(context.Background(), rt, lang.Bind("v", lang.VectorOf(v)))
	if err != nil {
		log.Fatal(err)
	}
	if err := inst.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(v)
	// Output: [2 4 6]
}

// A host function is called by scripts; its errors carry the place of the call.
func ExampleNewFunc() {
	stock := map[string]int{"bolt": 40}
	count := lang.Must(lang.NewFunc("stock(what: string) -> int", func(_ context.Context, args []any) (any, error) {
		n, ok := stock[args[0].(string)]
		if !ok {
			return nil, errors.New("there is no " + args[0].(string))
		}
		return n, nil
	}))
	comp := lang.Must(lang.NewCompiler(lang.Config{Funcs: []*lang.Func{count}}))
	prog, diags := comp.Compile(context.Background(), "stock.spu", []byte(`print(stock("bolt") + 2)
print(stock("nut"))
`))
	if err := diags.Err(); err != nil {
		log.Fatal(err)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	_, err := prog.Run(context.Background(), rt)
	fmt.Println(err)
	// Output:
	// 42
	// stock.spu:2:7: error[R0106]: the host function `stock` failed: there is no nut
}

// Scripts import what the Loader serves, here files that a program embeds.
func ExampleFSLoader() {
	files := fstest.MapFS{"lib/math.spu": {Data: []byte("func square(x: int) -> int { return x * x }\n")}}
	comp := lang.Must(lang.NewCompiler(lang.Config{Loader: lang.FSLoader(files)}))
	prog, diags := comp.Compile(context.Background(), "main.spu", []byte(`import "lib/math.spu" as m
print(m.square(12))
`))
	if err := diags.Err(); err != nil {
		log.Fatal(err)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	inst, err := prog.Run(context.Background(), rt)
	if err != nil {
		log.Fatal(err)
	}
	inst.Close()
	// Output: 144
}

// A session evaluates one entry after the other.
func ExampleSession() {
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	s := comp.NewSession(rt)
	defer s.Close()
	for _, entry := range []string{
		"codelet twice(v: RW vector[i64]) { each i in v { v[i] *= 2 } }",
		"register x = vector[i64](4, fill = 21)",
		"for k in 0..1 { insert twice(RW x) }",
		"x",
		"x.m",
	} {
		r, err := s.Eval(context.Background(), entry)
		switch {
		case err != nil:
			fmt.Println(err)
		case r.Value != "":
			fmt.Println(r.Value)
		case r.Inserted > 0:
			fmt.Println(r.Inserted, "task inserted")
		}
	}
	// Output:
	// 1 task inserted
	// vector[i64] 4: 42 42 42 42
	// <entry 5>:1:3: error[E0705]: a vector[i64] has no field `m`
}
