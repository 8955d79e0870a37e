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

// TestLaterTasksInVain: tasks inserted after a failure was told are cancelled for it, and
// the next Wait says so, once for each time that more were inserted; until the data
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

// TestDeadlineOfKernel: a deadline is told as such, also when a kernel that looks at its
// context stopped because of it, and its result is needed.
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
