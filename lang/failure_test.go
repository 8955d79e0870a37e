package lang_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestCancelledDataNamed reads what a cancelled task was to write: the message
// names the task that failed and the data that is lost because of it.
func TestCancelledDataNamed(t *testing.T) {
	prog, diags := lang.Must(lang.NewCompiler(lang.Config{})).Compile(context.Background(), "f.spu", []byte(`
codelet bad(v: RW vector[f64], k: int) { each i in v { v[i] = float(1 // (k - k)) } }
codelet add(a: R vector[f64], b: RW vector[f64]) { each i in b { b[i] += a[i] } }
register y = vector[f64](8, fill = 0)
partition p = y by blocks(2)
insert bad(RW p[0], 3)
insert add(R p[0], RW p[1])
print(p[1])
`))
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	_, err := prog.Run(context.Background(), rt)
	var d *lang.Diagnostic
	if !errors.As(err, &d) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"1 task that depends on it was cancelled",
		"`p[0]` has no valid value until a task writes it again (W)",
		"`p[1]` has no valid value either: a task that was cancelled was to write it",
	} {
		if !slices.Contains(d.Notes, want) {
			t.Errorf("no note %q in %q", want, d.Notes)
		}
	}
}

// TestLaterTasksInVain: tasks inserted after a failure was reported are cancelled for it,
// and the next Wait says so, once for each time that more were inserted; until the data
// is written again.
func TestLaterTasksInVain(t *testing.T) {
	prog := compile(t, lang.Config{}, `
register x = vector[f64](4, fill = 1)
codelet gain(v: RW vector[f64], k: int) { each i in v { v[i] *= float(6 // k) } }
codelet clear(v: W vector[f64]) { each i in v { v[i] = 1.0 } }
func work(k: int) { insert gain(RW x, k) }
func show(k: int) { insert gain(RW x, k); print(x) }
func again() { insert clear(W x) }
`)
	ctx := context.Background()
	inst := lang.Must(prog.Run(ctx, newRuntime(t, engine.Options{Workers: 2})))
	defer inst.Close()
	const failed = "task `gain` failed: "
	const vain = "task `gain` was cancelled: `x` has no valid value since task `gain` failed: "
	for k, step := range []struct {
		fn         string
		arg        []any
		call, wait string // what the errors begin with
	}{
		{"work", []any{2}, "", ""},
		{"work", []any{0}, "", failed},
		{"work", []any{3}, "", vain},
		{"", nil, "", ""}, // told
		{"work", []any{3}, "", vain},
		{"show", []any{3}, failed, ""}, // reading says it, and what was inserted before that is no news
		{"again", nil, "", ""},
		{"work", []any{2}, "", ""},
		{"show", []any{0}, failed, ""},
		{"", nil, "", ""},
	} {
		var err error
		if step.fn != "" {
			_, err = inst.Call(ctx, step.fn, step.arg...)
		}
		for _, c := range []struct {
			err  error
			want string
		}{{err, step.call}, {inst.Wait(ctx), step.wait}} {
			var d *lang.Diagnostic
			switch {
			case c.want == "" && c.err == nil:
			case c.want == "", !errors.As(c.err, &d), d.Code != "R0101", !strings.HasPrefix(d.Message, c.want):
				t.Errorf("step %d, %s%v: %v, want %q", k, step.fn, step.arg, c.err, c.want)
			case c.want == vain && !slices.Contains(d.Help, "write `x` first, by a task that takes it as W"):
				t.Errorf("step %d: help %q", k, d.Help)
			}
		}
	}
}

// TestDeadlineOfKernel: a deadline is reported as such, also when a kernel that looks at
// its context stopped because of it, and its result is needed.
func TestDeadlineOfKernel(t *testing.T) {
	slow := lang.Must(lang.NewCodelet("slow(v: RW vector[f64])", lang.CPUFunc(func(ctx context.Context, v []float64) error {
		<-ctx.Done()
		return ctx.Err()
	})))
	rt := newRuntime(t, engine.Options{Workers: 2})
	for _, src := range []string{"insert slow(RW x)", "insert slow(RW x)\nprint(x)", "insert slow(RW x)\nwait"} {
		prog := compile(t, lang.Config{Codelets: []*lang.Codelet{slow}}, "register x = vector[f64](4, fill = 1)\n"+src+"\n")
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		inst, err := prog.Run(ctx, rt)
		if err == nil {
			err = inst.Wait(ctx)
			if err2 := inst.Close(); err2 != nil {
				t.Errorf("%q: Close tells again: %v", src, err2)
			}
		}
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q: %v", src, err)
		}
	}
}

// TestPanicsKeepTheirStack: whichever Go code of the host panics, the message is one
// line, and %+v of the error has the calls down to the panic.
func TestPanicsKeepTheirStack(t *testing.T) {
	kernel := lang.Must(lang.NewCodelet("boom(v: RW vector[f64])", lang.CPUFunc(func(v []float64) { v[deepPanic(-1)] = 1 })))
	odd := lang.Must(lang.NewCodelet("odd(v: RW vector[f64])", lang.CPUFunc(func(v []float64) {}),
		lang.ShapeRule(func(s lang.Shapes) error { deepPanic(-1); return nil })))
	fn := lang.Must(lang.NewFunc("ask() -> int", func(context.Context, []any) (any, error) { return deepPanic(-1), nil }))
	filter := lang.Must(lang.NewFilter("half(v: vector[T]) -> vector[T]", func(shape []int, _ []any) ([]lang.Box, error) { deepPanic(-1); return nil, nil }))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{kernel, odd}, Funcs: []*lang.Func{fn}, Filters: []*lang.Filter{filter}}))
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	for _, src := range []string{"insert boom(RW x)", "insert odd(RW x)", "print(ask())", "partition p = x by half()"} {
		prog, diags := comp.Compile(context.Background(), "p.spu", []byte("register x = vector[f64](8, fill = 0)\n"+src+"\n"))
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		_, err := prog.Run(context.Background(), rt)
		var p *lang.PanicError
		if !errors.As(err, &p) || !strings.Contains(p.Stack, "deepPanic") {
			t.Fatalf("%s: %v has the cause %+v", src, err, p)
		}
		if short := fmt.Sprintf("%v %s", err, err); strings.Contains(short, "\n") || strings.Contains(short, "goroutine") {
			t.Errorf("%s: the message is %s", src, short)
		}
		long := fmt.Sprintf("%+v", err)
		first, stack, _ := strings.Cut(long, "\n")
		if first != err.Error() || !strings.Contains(stack, "deepPanic") || !strings.Contains(stack, "failure_test.go") ||
			strings.Contains(stack, "debug.Stack") || strings.Contains(stack, "callKernel") || strings.Contains(stack, "protect") {
			t.Errorf("%s: in full it is %s", src, long)
		}
	}
}

// TestPanicsOfSeveralTasks: an error about several tasks has a line for each, and in full
// the stack of each.
func TestPanicsOfSeveralTasks(t *testing.T) {
	kernel := lang.Must(lang.NewCodelet("boom(v: RW vector[f64])", lang.CPUFunc(func(v []float64) { deepPanic(-1) })))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{kernel}}))
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	prog, diags := comp.Compile(context.Background(), "p.spu", []byte("register x, y = vector[f64](8, fill = 0)\ninsert boom(RW x)\ninsert boom(RW y)\nwait\n"))
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	_, err := prog.Run(context.Background(), rt)
	var ds lang.Diagnostics
	if !errors.As(err, &ds) || len(ds) != 2 {
		t.Fatalf("%v", err)
	}
	if short, long := fmt.Sprintf("%v", err), fmt.Sprintf("%+v", err); short != err.Error() || strings.Count(short, "\n") != 1 ||
		strings.Count(long, "lang_test.deepPanic(") != 2 || !strings.HasPrefix(long, ds[0].Error()+"\n") {
		t.Errorf("%s\nin full %s", short, long)
	}
	if plain := fmt.Sprintf("%#v", ds); !strings.Contains(plain, "R0101") {
		t.Errorf("as Go: %s", plain)
	}
}

//go:noinline
func deepPanic(n int) int {
	if n < 0 {
		panic("no such thing")
	}
	return n
}

// withoutText is an error that panics when it is asked what it says.
type withoutText struct{ error }

// Whatever a host function gives as its error, the script's says where it was called.
func TestErrorsOfHostFunctions(t *testing.T) {
	ctx := t.Context()
	var inst *lang.Instance
	var back func() error
	cfg := lang.Config{Funcs: []*lang.Func{lang.Must(lang.NewFunc("back()", func(context.Context, []any) (any, error) { return nil, back() }))}}
	p := compile(t, cfg, "register u = variable[f64]()\nregister x = variable[f64](fill = 1)\nfunc one(k: int) { }\nfunc f() { back() }\nfunc g() { acquire RW x as v { back() } }\n")
	value := func(name string) error {
		_, err := lang.Value[float64](ctx, lang.Must(inst.Handle(name)))
		return err
	}
	for _, c := range []struct {
		name, call string
		back       func() error
		want       string
	}{
		{"data without a value", "f", func() error { return value("u") }, "test.spu:4:12: error[E0401]: `u` is read before anything writes it"},
		{"with words around it", "f", func() error { return fmt.Errorf("oh: %w", value("u")) }, "test.spu:4:12: error[R0106]: the host function `back` failed: oh: error[E0401]: `u` is read"},
		{"data that the script holds", "g", func() error { return value("x") }, "test.spu:5:32: error[R0104]: this waits for itself"},
		{"wrong arguments", "f", func() error { _, err := inst.Call(ctx, "one"); return err }, "test.spu:4:12: error[E0705]: `one` needs a value for `k`"},
		{"an error inside a function", "f", func() error { _, err := inst.Call(ctx, "one", 1, 2); return err }, "test.spu:4:12: error[E0705]: `one` takes one argument"},
		{"a nil diagnostic", "f", func() error { return (*lang.Diagnostic)(nil) }, "test.spu:4:12: error[R0106]: the host function `back` failed"},
		{"a nil diagnostic with words around it", "f", func() error { return fmt.Errorf("oh: %w", (*lang.Diagnostic)(nil)) }, "test.spu:4:12: error[R0106]: the host function `back` failed: oh"},
		{"a nil limit", "f", func() error { return (*lang.LimitError)(nil) }, "test.spu:4:12: error[R0106]: the host function `back` failed"},
		{"no text", "f", func() error { return withoutText{} }, "test.spu:4:12: error[R0106]: the host function `back` failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inst = lang.Must(p.Run(ctx, newRuntime(t, engine.Options{Workers: 1})))
			defer inst.Close()
			back = c.back
			_, err := inst.Call(ctx, c.call)
			var d *lang.Diagnostic
			if !errors.As(err, &d) || d == nil {
				t.Fatalf("the error is %#v", err)
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
}

// So do those of kernels; none of them ends the process.
func TestErrorsOfKernels(t *testing.T) {
	ctx := t.Context()
	var back error
	cfg := lang.Config{Codelets: []*lang.Codelet{
		lang.Must(lang.NewCodelet("plain(x: RW variable[f64])", lang.CPUFunc(func(*float64) error { return back }))),
		lang.Must(lang.NewCodelet("other(x: RW variable[f64])", lang.CPU(func(*lang.Task) error { return back }))),
	}}
	p := compile(t, cfg, "register x = variable[f64](fill = 1)\nfunc plain_() { insert plain(RW x); wait }\nfunc other_() { insert other(RW x); wait }\n")
	for _, err := range []error{withoutText{}, (*lang.Diagnostic)(nil), (*lang.LimitError)(nil), (*engine.TaskError)(nil), fmt.Errorf("oh: %w", (*engine.TaskError)(nil))} {
		for _, fn := range []string{"plain_", "other_"} {
			inst := lang.Must(p.Run(ctx, newRuntime(t, engine.Options{Workers: 1})))
			back = err
			_, got := inst.Call(ctx, fn)
			wantErr(t, got, "R0101", "`"+fn[:5]+"` failed")
			if err := inst.Close(); err != nil {
				t.Errorf("%T: %v", back, err)
			}
		}
	}
}

// Data and views that are nil or from no instance have no name, no sizes and no parts.
func TestNoData(t *testing.T) {
	for _, h := range []*lang.Handle{nil, {}} {
		if h.Name() != "" || h.Shape() != nil || h.Engine() != nil || h.String() != "no data" || h.Type() == nil || h.Desc().Kind != 0 {
			t.Errorf("%v: %q, %v, %v", h, h.Name(), h.Shape(), h.Type())
		}
		_, err := h.Acquire(t.Context(), lang.R)
		wantErr(t, err, "no handle")
	}
	for _, v := range []*lang.View{nil, {}} {
		if v.Name() != "" || v.Count() != 0 || v.Part(0) != nil || v.String() != "no view" {
			t.Errorf("%v: %q, %d parts", v, v.Name(), v.Count())
		}
	}
}
