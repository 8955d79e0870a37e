package lang_test

// Hosts that do what they should not: everything has an answer, nothing panics and
// nothing hangs.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

const misuseScript = `
register x = vector[f64](4, fill = 1)
codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }
func show(v: vector[f64]) { print(v) }
func task(v: vector[f64]) { insert inc(RW v); wait }
func make() -> vector[f64] { register q = vector[f64](2, fill = 2); return q }
func length(l: list[int]) -> int { return len(l) }
`

func TestMisuse(t *testing.T) {
	ctx := context.Background()
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	rt := newRuntime(t, engine.Options{Workers: 2})
	other := newRuntime(t, engine.Options{Workers: 1})
	closed := lang.Must(engine.New(engine.Options{Workers: 1}))
	closed.Close()
	prog := compile(t, lang.Config{}, misuseScript)
	start := func(rt *engine.Runtime) (*lang.Instance, *lang.Handle) {
		inst, err := prog.Run(ctx, rt, lang.Stdout(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { inst.Close() })
		return inst, lang.Must(inst.Handle("x"))
	}
	inst, x := start(rt)
	over, gone := start(rt)
	if err := over.Close(); err != nil {
		t.Fatal(err)
	}
	_, foreign := start(other)
	why := errors.New("the user left")
	left, cancel := context.WithCancelCause(ctx)
	cancel(why)
	run := func(rt *engine.Runtime, opts ...lang.Option) error {
		inst, err := prog.Run(ctx, rt, append(opts, lang.Stdout(io.Discard))...)
		if err != nil {
			return err
		}
		return inst.Close()
	}
	config := func(cfg lang.Config) error { _, err := lang.NewCompiler(cfg); return err }
	call := func(inst *lang.Instance, fn string, args ...any) error {
		_, err := inst.Call(ctx, fn, args...)
		return err
	}
	value := func(_ any, err error) error { return err }
	work := lang.CPUFunc(func([]float64) {})

	for _, c := range []struct {
		name string
		do   func() error
		want string // part of the error; "": there is none
	}{
		// what a compiler is made of
		{"nil codelet", func() error { return config(lang.Config{Codelets: []*lang.Codelet{nil}}) }, "a codelet is nil"},
		{"zero codelet", func() error { return config(lang.Config{Codelets: []*lang.Codelet{{}}}) }, "a codelet is nil"},
		{"nil function", func() error { return config(lang.Config{Funcs: []*lang.Func{nil}}) }, "a function is nil"},
		{"zero function", func() error { return config(lang.Config{Funcs: []*lang.Func{{}}}) }, "a function is nil"},
		{"nil filter", func() error { return config(lang.Config{Filters: []*lang.Filter{nil}}) }, "a filter is nil"},
		{"zero filter", func() error { return config(lang.Config{Filters: []*lang.Filter{{}}}) }, "a filter is nil"},
		{"nil module", func() error { return config(lang.Config{Modules: map[string]*lang.Module{"m": nil}}) }, "not nil"},
		{"zero module", func() error { return config(lang.Config{Modules: map[string]*lang.Module{"m": {}}}) }, ""},
		{"module with a nil codelet", func() error {
			return config(lang.Config{Modules: map[string]*lang.Module{"m": {Codelets: []*engine.Codelet{nil}}}})
		}, `module "m": a codelet without a signature`},
		{"module with two of a name", func() error {
			c := &engine.Codelet{Signature: "c(x: R vector[f64])"}
			return config(lang.Config{Modules: map[string]*lang.Module{"m": {Codelets: []*engine.Codelet{c, c}}}})
		}, "two codelets are named c"},
		{"module of nil", func() error { return value(lang.ModuleOf(nil)) }, "without a signature"},
		{"nil FS", func() error {
			comp := lang.Must(lang.NewCompiler(lang.Config{Loader: lang.FSLoader(nil)}))
			_, ds := comp.Compile(ctx, "a", []byte("import \"x.spu\"\n"))
			return ds.Err()
		}, "E0902"},
		{"the word codelet", func() error { return value(lang.NewCodelet("codelet c(x: R vector[f64])", work)) }, `write "c(x: R vector[f64])"`},
		{"a body", func() error { return value(lang.NewCodelet("extern  codelet c(x: R vector[f64]) { x[0] = 1 }", work)) }, `write "c(x: R vector[f64])"`},
		{"the word func", func() error { return value(lang.NewFunc("func now() -> float", nil)) }, `write "now() -> float"`},
		{"a word that begins like one", func() error { return value(lang.NewCodelet("codelets(x: R vector[f64])", work)) }, ""},
		{"no signature", func() error { return value(lang.NewCodelet("codelet", work)) }, `signature "codelet"`},
		{"nil kernel", func() error { return value(lang.NewCodelet("c(x: R vector[f64])", lang.CPU(nil))) }, "the function is nil"},
		{"nil plain kernel", func() error { return value(lang.NewCodelet("c(x: R vector[f64])", lang.CPUFunc(nil))) }, "wants a Go function"},
		{"nil plain kernel of a type", func() error {
			var f func([]float64)
			return value(lang.NewCodelet("c(x: R vector[f64])", lang.CPUFunc(f)))
		}, "the function is nil"},
		{"nil device kernel", func() error { return value(lang.NewCodelet("c(x: R vector[f64])", lang.On("opencl", nil))) }, "the function is nil"},
		{"nil shape rule", func() error { return value(lang.NewCodelet("c(x: R vector[f64])", work, lang.ShapeRule(nil))) }, "the function is nil"},
		{"nil codelet option", func() error { return value(lang.NewCodelet("c(x: R vector[f64])", nil, work)) }, ""},
		{"nil host function", func() error { return value(lang.NewFunc("f()", nil)) }, "the function is nil"},
		{"nil host filter", func() error { return value(lang.NewFilter("f(x: vector[T]) -> vector[T]", nil)) }, "the function is nil"},
		{"names of nothing", func() error {
			var k *lang.Codelet
			var f *lang.Func
			return errors.New(k.Name() + k.Signature() + f.Name() + "." + fmt.Sprint(k.Engine(), f.Doc("d")))
		}, ".<nil> <nil>"},

		// zero and nil values
		{"nil compiler", func() error { var c *lang.Compiler; _, ds := c.Compile(ctx, "a", nil); return ds.Err() }, "the Compiler is nil"},
		{"zero compiler", func() error { _, ds := new(lang.Compiler).Compile(ctx, "a", nil); return ds.Err() }, ""},
		{"session of a nil compiler", func() error { var c *lang.Compiler; return value(c.NewSession(rt).Eval(ctx, "1")) }, "the Compiler is nil"},
		{"analysis of a nil compiler", func() error {
			var c *lang.Compiler
			return c.Analyze(context.Background(), "a", []byte("let a = 1\n")).Diagnostics().Err()
		}, ""},
		{"nil program", func() error {
			var p *lang.Program
			_, planned := p.Plan(ctx, engine.Machine{})
			_, started := p.Start(ctx, rt)
			return errors.Join(planned, started, p.CheckPlan(ctx, 0), value(p.Run(ctx, rt)), fmt.Errorf("%d", len(p.Params())+len(p.Externs())+len(p.Funcs())+len(p.Codelets())))
		}, "there is no program"},
		{"zero program", func() error { return value(new(lang.Program).Run(ctx, rt)) }, "there is no program"},
		{"nil plan", func() error { var p *lang.Plan; p.Measures(); p.Schedule(); return value(p.Run(ctx, rt)) }, "there is no plan"},
		{"graph of no plan", func() error { return lang.Graph(io.Discard, nil, "dot", "task") }, "there is no plan"},
		{"nil instance", func() error { var i *lang.Instance; i.Stats(); i.Close(); return i.Wait(ctx) }, "there is no instance"},
		{"call of a nil instance", func() error { return call(nil, "show") }, "there is no instance"},
		{"handle of a zero instance", func() error { return value(new(lang.Instance).Handle("x")) }, "there is no instance"},
		{"nil access", func() error { var a *lang.Access[int8]; a.Slice(); a.Row(0); a.Shape(); return a.Release() }, ""},
		{"zero access", func() error { var a lang.Access[int8]; a.Slice(); a.Row(0); a.Shape(); return a.Release() }, ""},
		{"nil handle", func() error { return value(lang.Acquire[float64](ctx, nil, lang.R)) }, "no handle"},
		{"zero handle", func() error { return value(lang.Value[float64](ctx, &lang.Handle{})) }, "no handle"},
		{"nil writer of diagnostics", func() error { return lang.Diagnostics{{Message: "m"}}.Render(nil, lang.AutoStyle(nil)) }, "the writer is nil"},

		// contexts
		{"nil contexts", func() error {
			p, ds := comp.Compile(context.Background(), "a", []byte(misuseScript))
			_, planned := p.Plan(context.Background(), engine.Machine{})
			i, err := p.Run(context.Background(), rt)
			_, called := i.Call(context.Background(), "length", []int{1})
			acc, acquired := lang.Acquire[float64](context.Background(), lang.Must(i.Handle("x")), lang.R)
			s := comp.NewSession(rt)
			_, evaluated := s.Eval(context.Background(), "let a = 1")
			return errors.Join(ds.Err(), planned, p.CheckPlan(context.Background(), 0), err, called, acquired, acc.Release(), i.Wait(context.Background()), i.Close(), evaluated, s.Wait(context.Background()), s.Close())
		}, ""},
		{"run after the end", func() error { return value(prog.Run(left, rt)) }, "the user left"},
		{"plan after the end", func() error { return value(prog.Plan(left, engine.Machine{})) }, "the user left"},
		{"call after the end", func() error { return value(inst.Call(left, "make")) }, "the user left"},
		{"acquire after the end", func() error { return value(lang.Acquire[float64](left, x, lang.RW)) }, "the user left"},
		{"wait after the end", func() error { return inst.Wait(left) }, "the user left"},
		{"and all goes on", func() error { return call(inst, "task", x) }, ""},

		// runs
		{"nil runtime", func() error { return run(nil) }, "the engine's runtime is nil"},
		{"zero runtime", func() error { return run(&engine.Runtime{}) }, "closed"},
		{"closed runtime", func() error { return run(closed) }, "closed"},
		{"session on a nil runtime", func() error {
			s := comp.NewSession(nil)
			s.Names()
			s.Stats()
			s.Lost()
			s.Script("s.spu")
			s.Complete("x", 1)
			return errors.Join(value(s.Eval(ctx, "1")), value(s.Plan(ctx, "1")), value(s.TypeOf("1")), value(s.Show("x", 0, 1)), value(s.Handle("x")), s.Reset(false), s.Close())
		}, "the engine's runtime is nil"},
		{"nil options", func() error {
			return run(rt, nil, lang.Late(nil), lang.OnEvent(nil), lang.Observe(nil), lang.ObserveViews(nil), lang.Stdout(nil))
		}, ""},
		{"panic in Observe", func() error { return run(rt, lang.Observe(func(*engine.Job) { panic("no") })) }, "Observe: panic: no"},
		{"nil data", func() error { return run(rt, lang.Bind("x", nil)) }, "the data is nil"},
		{"zero data", func() error { return run(rt, lang.Bind("x", &lang.Data{})) }, "no memory"},
		{"nil data option", func() error { return run(rt, lang.Bind("y", lang.VectorOf([]int8{1}, nil))) }, "no extern data `y`"},
		{"machine that is none", func() error { return value(prog.Plan(ctx, engine.Machine{Workers: -1})) }, "-1 workers"},

		// arguments of calls
		{"nil argument", func() error { return call(inst, "show", nil) }, "nil where a vector[f64] belongs"},
		{"nil handle argument", func() error { var h *lang.Handle; return call(inst, "show", h) }, "a handle of no run"},
		{"zero handle argument", func() error { return call(inst, "show", &lang.Handle{}) }, "a handle of no run"},
		{"zero view argument", func() error { return call(inst, "show", &lang.View{}) }, "a view where a vector[f64] belongs"},
		{"struct argument", func() error { return call(inst, "show", struct{}{}) }, "struct {} where a vector[f64] belongs"},
		{"handle for a list", func() error { return call(inst, "length", x) }, "a vector[f64] where a list[int] belongs"},
		{"handle of a closed instance", func() error { return call(inst, "task", gone) }, "E0403"},
		{"handle of another runtime", func() error { return call(inst, "task", foreign) }, "another runtime"},

		// after Close
		{"call after Close", func() error { return call(over, "make") }, "the instance is closed"},
		{"handle after Close", func() error { return value(over.Handle("x")) }, "the instance is closed"},
		{"acquire after Close", func() error { return value(lang.Acquire[float64](ctx, gone, lang.R)) }, "the instance is closed"},
		{"names and sizes after Close", func() error { return fmt.Errorf("%v %v %d", gone, gone.Shape(), over.Stats().Failed) }, "x: vector[f64] of 4 [4] 0"},
		{"wait and close after Close", func() error { return errors.Join(over.Wait(ctx), over.Close()) }, ""},
		{"session after Close", func() error {
			s := comp.NewSession(rt)
			s.Close()
			s.Names()
			s.Complete("x", 1)
			return errors.Join(s.Wait(ctx), s.Reset(true), s.Close(), value(s.Eval(ctx, "1")))
		}, "the session is closed"},

		// waiting for oneself
		{"acquire twice", func() error {
			a := lang.Must(lang.Acquire[float64](ctx, x, lang.RW))
			_, err := lang.Acquire[float64](ctx, x, lang.R)
			return errors.Join(err, a.Release())
		}, "R0104"},
		{"close with held data", func() error {
			i, x := start(rt)
			a := lang.Must(lang.Acquire[float64](ctx, x, lang.RW))
			a.Slice()[0] = 7
			called := call(i, "task", x)
			return errors.Join(called, i.Close(), a.Release(), fmt.Errorf("slice %v", a.Slice()))
		}, "slice []"},
		{"runtime closed first", func() error {
			rt := lang.Must(engine.New(engine.Options{Workers: 1}))
			i, x := start(rt)
			s := comp.NewSession(rt)
			s.Eval(ctx, "register x = vector[f64](3, fill = 1)")
			rt.Close()
			for name, err := range map[string]error{
				"task": call(i, "task", x), "show": call(i, "show", x), "make": call(i, "make"), "acquire": value(lang.Acquire[float64](ctx, x, lang.R)),
				"eval": value(s.Eval(ctx, "print(x)")), "show x": value(s.Show("x", 0, 1)), "run": run(rt),
			} {
				if !errors.Is(err, engine.ErrClosed) || !strings.Contains(err.Error(), "runtime") {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return errors.Join(i.Wait(ctx), i.Close(), s.Wait(ctx), s.Close())
		}, ""},
		{"editors that count wrong", func() error {
			a := comp.Analyze(ctx, "a", []byte("let a = 1\n"))
			for _, at := range []int{math.MinInt, -1, 10, 11, math.MaxInt} {
				a.Complete(at)
				a.Doc(at)
				a.Definition(at)
				a.Name(at)
				a.Renamable(at)
			}
			a.References(lang.Span{})
			return a.SameMeaning(nil)
		}, "the imports would change"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.do()
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "":
				wantErr(t, err, c.want)
			}
		})
	}
}

// rogue does what functions of a host should not.
type rogue func()

func (r rogue) Write(p []byte) (int, error) { r(); return len(p), nil }

func (r rogue) Load(_ context.Context, path, _ string) (string, []byte, error) {
	r()
	return path, []byte("func f() { }\n"), nil
}

// Functions of the host that panic become errors; those that end their goroutine end
// it, as they want, and leave nothing behind: the runtime closes, and so do instances.
func TestRogueFunctions(t *testing.T) {
	ctx := context.Background()
	for name, r := range map[string]rogue{"panic": func() { panic("on purpose") }, "nil": func() { panic(nil) }, "exit": runtime.Goexit} {
		cfg := lang.Config{
			Funcs: []*lang.Func{lang.Must(lang.NewFunc("f() -> int", func(context.Context, []any) (any, error) { r(); return 1, nil }))},
			Filters: []*lang.Filter{lang.Must(lang.NewFilter("split(x: vector[T]) -> vector[T]",
				func([]int, []any) ([]lang.Box, error) { r(); return nil, nil }))},
			Codelets: []*lang.Codelet{
				lang.Must(lang.NewCodelet("kernel(x: RW vector[f64])", lang.CPUFunc(func([]float64) { r() }))),
				lang.Must(lang.NewCodelet("shaped(x: RW vector[f64])", lang.CPUFunc(func([]float64) {}), lang.ShapeRule(func(lang.Shapes) error { r(); return nil }))),
			},
			Loader: r,
		}
		comp := lang.Must(lang.NewCompiler(cfg))
		for what, src := range map[string]string{
			"function": "register x = vector[f64](4, fill = 1)\nacquire RW x as xs { xs[0] = float(f()) }\n",
			"filter":   "register x = vector[f64](4, fill = 1)\npartition x by split()\n",
			"kernel":   "register x = vector[f64](4, fill = 1)\ninsert kernel(RW x)\n",
			"shape":    "register x = vector[f64](4, fill = 1)\ninsert shaped(RW x)\n",
			"writer":   "print(1)\n",
			"loader":   "import \"x.spu\" as y\n",
		} {
			t.Run(name+" in "+what, func(t *testing.T) {
				rt := newRuntime(t, engine.Options{Workers: 2})
				done, ended := make(chan struct{}), false
				var err error
				go func() {
					defer close(done)
					p, ds := comp.Compile(ctx, "a.spu", []byte(src))
					if err = ds.Err(); err == nil {
						_, err = p.Run(ctx, rt, lang.Stdout(r))
					}
					ended = true
				}()
				<-done
				if wantEnd := name != "exit" || what == "kernel"; ended != wantEnd {
					t.Errorf("it returned: %v", ended)
				}
				if ended && err == nil {
					t.Error("there was no error")
				}
				if n := rt.Stats().Failed; what != "kernel" && n != 0 {
					t.Errorf("%d tasks failed", n)
				}
			})
		}

		t.Run(name+" and then more calls", func(t *testing.T) {
			rt := newRuntime(t, engine.Options{Workers: 2})
			p, ds := comp.Compile(ctx, "a.spu", []byte("register x = vector[f64](4, fill = 1)\nfunc bad() { acquire RW x as xs { xs[0] = float(f()) } }\nfunc good() { print(x) }\n"))
			if ds.Err() != nil {
				t.Fatal(ds)
			}
			var out bytes.Buffer
			inst := lang.Must(p.Run(ctx, rt, lang.Stdout(&out)))
			done := make(chan struct{})
			go func() {
				defer close(done)
				inst.Call(ctx, "bad")
			}()
			<-done
			if _, err := inst.Call(ctx, "good"); err != nil || out.String() != "vector[f64] 4: 1.0 1.0 1.0 1.0\n" {
				t.Errorf("%v, printed %q", err, out.String())
			}
			if err := inst.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCallingBack: the calls that functions and kernels of a host may make to their
// instance.
func TestCallingBack(t *testing.T) {
	ctx := context.Background()
	var inst *lang.Instance
	var rt *engine.Runtime
	var back func(ctx context.Context) error
	var got error
	cfg := lang.Config{
		Funcs: []*lang.Func{lang.Must(lang.NewFunc("back()", func(ctx context.Context, _ []any) (any, error) { got = back(ctx); return nil, nil }))},
		Codelets: []*lang.Codelet{lang.Must(lang.NewCodelet("within(x: RW vector[f64])", lang.CPU(func(k *lang.Task) error {
			got = back(k.Context())
			return nil
		})))},
	}
	p := compile(t, cfg, misuseScript+`
func function() { insert inc(RW x); back(); insert inc(RW x); wait }
func kernel() { insert within(RW x); wait }
`)
	acquire := func(ctx context.Context) error {
		h, err := inst.Handle("x")
		if err != nil {
			return err
		}
		a, err := lang.Acquire[float64](ctx, h, lang.RW)
		if err != nil {
			return err
		}
		return a.Release()
	}
	wait := func(ctx context.Context) error { return inst.Wait(ctx) }
	shut := func(context.Context) error { return inst.Close() }
	make := func(ctx context.Context) error { _, err := inst.Call(ctx, "make"); return err }
	end := func(context.Context) error { return rt.Close() }
	for _, c := range []struct {
		where, name string
		back        func(context.Context) error
		want        string
	}{
		{"function", "acquire", acquire, ""}, {"function", "wait", wait, ""}, {"function", "call", make, ""},
		{"function", "close", shut, "Close inside a call of the instance"},
		{"kernel", "acquire", acquire, "inside a kernel"}, {"kernel", "wait", wait, "inside a kernel"}, {"kernel", "call", make, "inside a kernel"},
		{"kernel", "close", shut, "inside a kernel"}, {"kernel", "close the runtime", end, engine.ErrWouldDeadlock.Error()},
	} {
		t.Run(c.name+" in a "+c.where, func(t *testing.T) {
			rt = newRuntime(t, engine.Options{Workers: 1})
			inst = lang.Must(p.Run(ctx, rt))
			back, got = c.back, errors.New("not called")
			if _, err := inst.Call(ctx, c.where); err != nil {
				t.Error(err)
			}
			if c.want == "" && got != nil {
				t.Error(got)
			} else if c.want != "" {
				wantErr(t, got, c.want)
			}
			if _, err := inst.Call(ctx, "task", lang.Must(inst.Handle("x"))); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if err := inst.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Memory of the program stays the home of data whatever becomes of its slice.
func TestReslicedData(t *testing.T) {
	p := compile(t, lang.Config{}, "extern x: vector[f64]\ncodelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }\nfunc go() { insert inc(RW x) }\n")
	rt := newRuntime(t, engine.Options{Workers: 2})
	whole := make([]float64, 8)
	s := whole[2:6]
	data := lang.VectorOf(s)
	inst, err := p.Run(context.Background(), rt, lang.Bind("x", data))
	if err != nil {
		t.Fatal(err)
	}
	s = append(s[:0:0], 5, 5) // other memory
	_, data = s, nil
	runtime.GC()
	if _, err := inst.Call(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(whole); got != "[0 0 1 1 1 1 0 0]" {
		t.Error(got)
	}
}

// A context ends what was called with it, and nothing that is called later.
func TestCancelEndsWithItsCall(t *testing.T) {
	p := compile(t, lang.Config{}, misuseScript)
	rt := newRuntime(t, engine.Options{Workers: 2})
	ctx := context.Background()
	inst := lang.Must(p.Run(ctx, rt))
	defer inst.Close()
	x := lang.Must(inst.Handle("x"))
	why := errors.New("the user left")
	for range 200 {
		left, cancel := context.WithCancelCause(ctx)
		cancel(why)
		if _, err := inst.Call(left, "task", x); !errors.Is(err, why) {
			t.Fatal(err)
		}
		if err := inst.Wait(left); !errors.Is(err, why) {
			t.Fatal(err)
		}
		if _, err := inst.Call(ctx, "task", x); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMemoryOfTwoInstances: what an instance or a session has bound cannot be bound by
// another one until it is closed, unless neither may write; parts of one slice that do
// not meet can.
func TestMemoryOfTwoInstances(t *testing.T) {
	ctx := context.Background()
	prog := compile(t, lang.Config{}, "extern x: vector[f64]\nprint(x.n)\n")
	write := compile(t, lang.Config{}, "extern x: vector[f64]\ncodelet c(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }\ninsert c(RW x)\n")
	rt, other := newRuntime(t, engine.Options{Workers: 1}), newRuntime(t, engine.Options{Workers: 1})
	x := make([]float64, 100)
	run := func(rt *engine.Runtime, p *lang.Program, d *lang.Data) (*lang.Instance, error) {
		return p.Run(ctx, rt, lang.Bind("x", d), lang.Stdout(io.Discard))
	}
	first := lang.Must(run(rt, write, lang.VectorOf(x[10:20])))
	for _, rt := range []*engine.Runtime{rt, other} {
		for _, d := range []*lang.Data{lang.VectorOf(x[10:20]), lang.VectorOf(x), lang.VectorOf(x[19:], lang.ReadOnly()), lang.VectorOf(x[:11])} {
			if inst, err := run(rt, prog, d); err == nil || !strings.Contains(err.Error(), `shares memory with "x" of another instance`) {
				t.Errorf("%v", err)
				inst.Close()
			}
		}
		if _, err := lang.Must(lang.NewCompiler(lang.Config{})).NewSession(rt, lang.Bind("y", lang.VectorOf(x))).Eval(ctx, "1"); err == nil || !strings.Contains(err.Error(), "shares memory") {
			t.Errorf("a session: %v", err)
		}
		lang.Must(run(rt, write, lang.VectorOf(x[:10]))).Close()
		lang.Must(run(rt, write, lang.VectorOf(x[20:]))).Close()
		if _, err := prog.Plan(ctx, rt.Machine(), lang.Bind("x", lang.VectorOf(x))); err != nil {
			t.Errorf("a plan: %v", err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	lang.Must(run(other, write, lang.VectorOf(x))).Close()
	if x[0] != 3 || x[10] != 2 || x[99] != 3 {
		t.Errorf("x is %v", x)
	}
	// Readers share, writers do not.
	a := lang.Must(run(rt, prog, lang.VectorOf(x, lang.ReadOnly())))
	b := lang.Must(run(other, prog, lang.VectorOf(x, lang.ReadOnly())))
	if _, err := run(rt, write, lang.VectorOf(x)); err == nil {
		t.Error("written while it is read")
	}
	a.Close()
	b.Close()
	// A run that fails has given up what it claimed; so has a runtime that is closed.
	bad := compile(t, lang.Config{}, "extern x: vector[f64]\nassert x.n == 0, \"no\"\n")
	if _, err := run(rt, bad, lang.VectorOf(x)); err == nil {
		t.Error("the assertion holds")
	}
	lang.Must(run(rt, write, lang.VectorOf(x))).Close()
}

// silent is a reader that gives nothing and does not end.
type silent struct{ fstest.MapFS }

type silentFile struct{ fs.File }

func (silentFile) Read([]byte) (int, error) { return 0, nil }

func (s silent) Open(name string) (fs.File, error) {
	f, err := s.MapFS.Open(name)
	return silentFile{f}, err
}

func (s silent) Create(string) (io.WriteCloser, error) { return nil, errors.New("no") }

// TestFilesThatGiveNothing: a file of the host that never gives anything ends the run.
func TestFilesThatGiveNothing(t *testing.T) {
	files := silent{fstest.MapFS{"x.bin": {Data: make([]byte, 80)}, "x.csv": {Data: []byte("1\n2\n")}, "x.npy": {Data: []byte("x")}, "x.mtx": {Data: []byte("x")}}}
	rt := newRuntime(t, engine.Options{Workers: 1})
	for name := range files.MapFS {
		size := map[bool]string{true: "10, "}[name == "x.bin"]
		p := compile(t, lang.Config{Files: files}, "register x = vector[f64]("+size+"load = \""+name+"\")\nprint(x)\n")
		if _, err := p.Run(context.Background(), rt, lang.Stdout(io.Discard)); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCodeletTypes: the engine holds tasks that Go submits with a codelet of the language
// against its signature; no kernel sees memory of another shape or type.
func TestCodeletTypes(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	job := rt.NewJob(t.Context(), engine.JobOptions{})
	data := func(k iface.Kind, e iface.Elem, dims ...int) *datamgr.Handle {
		return lang.Must(rt.RegisterFilled(engine.DataSpec{Kind: k, Elem: e, Dims: dims}, func(*iface.Buffer) error { return nil }))
	}
	f32, f64 := data(iface.Vector, iface.F32, 8), data(iface.Vector, iface.F64, 8)
	matrix, number := data(iface.Matrix, iface.F32, 2, 4), data(iface.Variable, iface.F64)
	clip := lang.Must(lang.NewCodelet("clip(v: RW vector[f32], lo: f32, hi: f32)", lang.CPUFunc(func(v []float32, lo, hi float32) {
		for i := range v {
			v[i] = min(max(v[i], lo), hi)
		}
	}))).Engine()
	any := lang.Must(lang.NewCodelet("any(x: R dense[T], y: W variable[T], k: int = 1, name: string = \"\", on: bool = true, f: float = 1, e: T = 1)",
		lang.CPU(func(*lang.Task) error { return nil }))).Engine()
	two := []iface.Scalar{iface.Float(0), iface.Int(1)}
	all := []iface.Scalar{iface.Int(1), iface.Str("n"), iface.Bool(true), iface.Float(2), iface.Float(3)}
	but := func(k int, s iface.Scalar) []iface.Scalar {
		c := slices.Clone(all)
		c[k] = s
		return c
	}
	var body *engine.Codelet // of a script, as events show it
	listener := listen(func(e *engine.Event) {
		if e.Codelet != nil && e.Codelet.Name == "half" {
			body = e.Codelet
		}
	})
	heard := newRuntime(t, engine.Options{Workers: 1, Listener: listener})
	inst := lang.Must(compile(t, lang.Config{}, "register x = vector[f64](4, fill = 1)\ncodelet half(v: RW vector[T], s: T) { each i in v { v[i] *= s } }\ninsert half(RW x, 0.5)\n").
		Run(t.Context(), heard))
	if err := errors.Join(inst.Wait(t.Context()), inst.Close(), heard.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		c    *engine.Codelet
		ops  []engine.Operand
		args []iface.Scalar
		want string // part of the error; "": there is none
	}{
		{clip, []engine.Operand{{Handle: f32, Mode: iface.RW}}, two, ""},
		{clip, []engine.Operand{{Handle: f32, Mode: iface.R}}, two, "declares operand 0 as RW, and got R"},
		{clip, []engine.Operand{{Handle: f64, Mode: iface.RW}}, two, "operand 0, `v`, of codelet clip, declared as \"clip(v: RW vector[f32], lo: f32, hi: f32)\", must be a vector[f32], and got vector[f64] of 8"},
		{clip, []engine.Operand{{Handle: matrix, Mode: iface.RW}}, two, "must be a vector[f32], and got matrix[f32] 2 x 4"},
		{clip, []engine.Operand{{Handle: f32, Mode: iface.RW}}, two[:1], "takes 1 operand and 2 scalar arguments, and got 1 and 1"},
		{clip, []engine.Operand{{Handle: f32, Mode: iface.RW}}, []iface.Scalar{iface.Str("0"), two[1]}, "scalar argument 0, `lo`,"},
		{any, []engine.Operand{{Handle: f64, Mode: iface.R}, {Handle: number, Mode: iface.W}}, all, ""},
		{any, []engine.Operand{{Handle: f32, Mode: iface.R}, {Handle: number, Mode: iface.W}}, all, "must be a variable[f32], and got variable[f64]"},
		{any, []engine.Operand{{Handle: number, Mode: iface.R}, {Handle: number, Mode: iface.W}}, all, "must be a vector or matrix, and got variable[f64]"},
		{any, []engine.Operand{{Handle: f64, Mode: iface.R}, {Handle: number, Mode: iface.W}}, but(0, iface.Float(1)), "argument 0, `k`,"},
		{any, []engine.Operand{{Handle: f64, Mode: iface.R}, {Handle: number, Mode: iface.W}}, but(1, iface.Float(1)), "argument 1, `name`,"},
		{any, []engine.Operand{{Handle: f64, Mode: iface.R}, {Handle: number, Mode: iface.W}}, but(2, iface.Int(1)), "argument 2, `on`,"},
		{any, []engine.Operand{{Handle: f64, Mode: iface.R}, {Handle: number, Mode: iface.W}}, but(3, iface.Str("1")), "argument 3, `f`,"},
		{any, []engine.Operand{{Handle: f64, Mode: iface.R}, {Handle: number, Mode: iface.W}}, but(4, iface.Bool(true)), "argument 4, `e`, of codelet any"},
		{body, []engine.Operand{{Handle: f64, Mode: iface.RW}}, []iface.Scalar{iface.Float(2)}, ""},
		{body, []engine.Operand{{Handle: f32, Mode: iface.RW}}, []iface.Scalar{iface.Float(2)}, "must be a vector[f64], and got vector[f32] of 8"},
		{body, []engine.Operand{{Handle: f64, Mode: iface.RW}}, nil, "takes 1 operand and 1 scalar argument, and got 1 and 0"},
	} {
		err := job.Submit(&engine.TaskSpec{Codelet: c.c, Operands: c.ops, Args: c.args})
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%s: %v", c.c.Name, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s with %v: %v lacks %q", c.c.Name, c.ops, err, c.want)
		}
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// listen is a listener made of a function.
type listen func(*engine.Event)

func (l listen) TaskEvent(e *engine.Event) { l(e) }
