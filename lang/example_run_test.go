package lang_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// mustCompile compiles a script of an example.
func mustCompile(cfg lang.Config, src string) *lang.Program {
	prog, diags := lang.Must(lang.NewCompiler(cfg)).Compile(context.Background(), "example.spu", []byte(src))
	if err := diags.Err(); err != nil {
		log.Fatal(err)
	}
	return prog
}

// Mistakes are found before anything runs; Render shows them in the text.
func ExampleCompiler_Compile() {
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	prog, diags := comp.Compile(context.Background(), "sum.spu", []byte(`param n: int = 4
register x = vector[f64](m, fill = 1.0)
`))
	diags.Render(os.Stdout, lang.Style{})
	fmt.Println("a program:", prog != nil)
	// Output:
	// error[E0201]: `m` is not defined
	//  --> sum.spu:2:26
	//   |
	// 2 | register x = vector[f64](m, fill = 1.0)
	//   |                          ^
	// a program: false
}

// Run executes a script and waits for its tasks; params are set by name.
func ExampleProgram_Run() {
	prog := mustCompile(lang.Config{}, `
param n: int = 4
param a: float = 2.0
codelet scale(v: RW vector[f64], a: f64) { each i in v { v[i] *= a } }
register x = vector[f64](n, fill = 1.5)
insert scale(RW x, a)
print(x)
`)
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	for _, n := range []int{2, 3} {
		inst, err := prog.Run(context.Background(), rt, lang.Param("n", n), lang.Param("a", 10))
		if err != nil {
			log.Fatal(err)
		}
		if err := inst.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// vector[f64] 2: 15.0 15.0
	// vector[f64] 3: 15.0 15.0 15.0
}

// Start returns while tasks run, here two programs at a time on one runtime.
func ExampleProgram_Start() {
	prog := mustCompile(lang.Config{}, `
extern x: vector[f64]
codelet add(v: RW vector[f64], a: f64) { each i in v { v[i] += a } }
for k in 0..100 { insert add(RW x, 1.0) }
`)
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	ctx := context.Background()
	x, y := make([]float64, 2), make([]float64, 3)
	var runs []*lang.Instance
	for _, data := range [][]float64{x, y} {
		inst, err := prog.Start(ctx, rt, lang.Bind("x", lang.VectorOf(data)))
		if err != nil {
			log.Fatal(err)
		}
		runs = append(runs, inst)
	}
	for _, inst := range runs {
		if err := errors.Join(inst.Wait(ctx), inst.Close()); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(x, y)
	// Output: [100 100] [100 100 100]
}

// Functions of a script are called with Go values, and give Go values.
func ExampleInstance_Call() {
	prog := mustCompile(lang.Config{}, `
register total = variable[i64](fill = 0)
codelet add(t: RW variable[i64], n: i64) { t += n }
func add_all(ns: list[int]) -> int {
    for n in ns { insert add(RW total, n) }
    return len(ns)
}
`)
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	ctx := context.Background()
	inst, err := prog.Run(ctx, rt)
	if err != nil {
		log.Fatal(err)
	}
	defer inst.Close()
	n, err := inst.Call(ctx, "add_all", []int{3, 4, 5}) // does not wait for the tasks
	if err != nil {
		log.Fatal(err)
	}
	total, err := inst.Handle("total")
	if err != nil {
		log.Fatal(err)
	}
	sum, err := lang.Value[int64](ctx, total) // waits for those that it needs
	fmt.Println(n, sum, err)
	// Output: 3 12 <nil>
}

// A plan shows what a script would do, also before its data exists.
func ExampleProgram_Plan() {
	prog := mustCompile(lang.Config{}, `
extern x: vector[f64]
codelet half(v: RW vector[f64]) { each i in v { v[i] *= 0.5 } }
codelet total(v: R vector[f64], t: RW variable[f64]) { t += sum i in v { v[i] } }
register t = variable[f64](reduce = sum)
partition x by blocks(4)
for b in 0..4 {
    insert half(RW x[b])
    insert total(R x[b], REDUX t)
}
print("total", value(t))
`)
	plan, err := prog.Plan(context.Background(), engine.Machine{Workers: 2}, lang.Bind("x", lang.Sizes[float64](1<<30)))
	if err != nil {
		log.Fatal(err)
	}
	m := plan.Measures() // one task combines the contributions to t
	fmt.Println(m.Tasks, "tasks,", m.Width, "side by side,", m.Length, "on the longest path")
	// Output:
	// total ?
	// 9 tasks, 4 side by side, 3 on the longest path
}

// Data of the host, a matrix with a gap behind each row, and Acquire.
func ExampleBind() {
	prog := mustCompile(lang.Config{}, `
extern A: matrix[i32]
codelet add(A: RW matrix[i32], a: i32) { each i, j in A { A[i, j] += a } }
partition A by rows(2)
func step(row: int) { insert add(RW A[row], 10) }
`)
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	ctx := context.Background()
	mem := []int32{1, 2, -1, 3, 4, -1} // 2 x 2, rows start 3 elements apart
	inst, err := prog.Run(ctx, rt, lang.Bind("A", lang.Must(lang.MatrixOf(mem, 2, 2, 3))))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := inst.Call(ctx, "step", 1); err != nil {
		log.Fatal(err)
	}
	whole, err := inst.Handle("A")
	if err != nil {
		log.Fatal(err)
	}
	acc, err := lang.Acquire[int32](ctx, whole, lang.RW) // from here the memory is ours
	if err != nil {
		log.Fatal(err)
	}
	acc.Row(0)[0] = 100
	if err := errors.Join(acc.Release(), inst.Close()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mem)
	// Output: [100 2 -1 13 14 -1]
}

// A kernel in Go sees its operands as they lie in memory, and their place in the whole.
func ExampleNewCodelet() {
	number := lang.Must(lang.NewCodelet("number(A: W matrix[i64], from: int)",
		lang.Doc("A[i, j] = from + its place in the whole matrix, row by row of 10"),
		lang.ShapeRule(func(s lang.Shapes) error {
			if s.Of("A")[1] > 10 {
				return errors.New("A has more than 10 columns")
			}
			return nil
		}),
		lang.CPU(func(t *lang.Task) error {
			a, from := lang.Buf[int64](t, 0), lang.Arg[int64](t, "from")
			for i := range a.Rows() {
				for j := range a.Row(i) {
					a.Row(i)[j] = from + int64(10*(a.Offset(0)+i)+a.Offset(1)+j)
				}
			}
			return nil
		})))
	prog := mustCompile(lang.Config{Codelets: []*lang.Codelet{number}}, `
register A = matrix[i64](2, 4)
partition A by cols(2)
for c in 0..2 { insert number(W A[c], 100) }
print(A)
register B = matrix[i64](1, 11)
insert number(W B, 0)
`)
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	_, err := prog.Run(context.Background(), rt)
	fmt.Println(err)
	// Output:
	// matrix[i64] 2 x 4:
	//   100 101 102 103
	//   110 111 112 113
	// example.spu:7:1: error[E0702]: A has more than 10 columns
}

// A host filter gives the box of each part.
func ExampleNewFilter() {
	ends := lang.Must(lang.NewFilter("ends(x: vector[T], k: int) -> vector[T]", func(shape []int, args []any) ([]lang.Box, error) {
		n, k := shape[0], int(args[0].(int64))
		if k < 1 || 2*k > n {
			return nil, fmt.Errorf("%d at each end of %d", k, n)
		}
		return []lang.Box{{Lo: []int{0}, Hi: []int{k}}, {Lo: []int{n - k}, Hi: []int{n}}}, nil
	}))
	prog := mustCompile(lang.Config{Filters: []*lang.Filter{ends}}, `
codelet set(v: W vector[f32], a: f32) { each i in v { v[i] = a } }
register x = vector[f32](6, fill = 0.0)
partition x by ends(2)
insert set(W x[1], 1.0)
print(x)
`)
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	inst, err := prog.Run(context.Background(), rt)
	if err != nil {
		log.Fatal(err)
	}
	inst.Close()
	// Output: vector[f32] 6: 0.0 0.0 0.0 0.0 1.0 1.0
}

// Events say how far a run is, and what happened in it.
func ExampleOnEvent() {
	prog := mustCompile(lang.Config{}, `
register x = vector[f64](8, fill = 1.0)
codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }
codelet half(v: RW vector[f64]) { each i in v { v[i] *= 0.5 } }
insert inc(RW x)
insert half(RW x)
wait
print("ready")
`)
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	inst, err := prog.Run(context.Background(), rt, lang.Stdout(io.Discard), lang.OnEvent(func(e lang.Event) {
		switch e.Kind {
		case lang.TaskDone:
			if e.Task > 0 { // below 0 is what the engine does by itself
				fmt.Println(e.Kind, e.Codelet, "of line", e.Span.Start.Line)
			}
		case lang.Print:
			fmt.Println(e.Kind, e.Text, e.Done, "of", e.Total)
		}
	}))
	if err != nil {
		log.Fatal(err)
	}
	inst.Close() // when it returns, all events were delivered
	// Output:
	// done inc of line 5
	// done half of line 6
	// print ready 2 of 2
}

// Limits end what a script does too much of.
func ExampleWithLimits() {
	prog := mustCompile(lang.Config{Limits: lang.Limits{Steps: 1_000_000}}, "let n = 0\nwhile true { n += 1 }\n")
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	_, err := prog.Run(context.Background(), rt, lang.WithLimits(lang.Limits{Steps: 5_000}))
	var limit *lang.LimitError
	if errors.As(err, &limit) {
		fmt.Println(limit.Kind, limit.Limit, "line", limit.Span.Start.Line)
	}
	// Output: steps 5000 line 2
}
