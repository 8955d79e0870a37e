package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// typedMachines are runtimes on which typed programs must do the same; they are made by
// newTyped.
var typedMachines = map[string]Options{
	"sequential": {Sequential: true}, "one": {Workers: 1}, "four": {Workers: 4}, "prio": {Workers: 3, Policy: "prio"},
	"poison": {Workers: 2, Poison: true}, "verify": {Workers: 2, Verify: true}, "deterministic": {Workers: 3, Deterministic: true}, "device": {Workers: 1},
}

// onTyped runs a test on each of typedMachines.
func onTyped(t *testing.T, test func(t *testing.T, rt *Runtime, j *Job)) {
	for name, o := range typedMachines {
		t.Run(name, func(t *testing.T) {
			if name == "device" {
				gpu, err := sim.New(sim.Options{Name: "gpu", Capacity: 1 << 20})
				must(t, err)
				t.Cleanup(func() { must(t, gpu.Close()) })
				o.Devices = []accel.Device{gpu}
			}
			rt, j := start(t, o)
			test(t, rt, j)
		})
	}
}

// got is x, without its error, which fails the test.
func got[T any](x T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return x
	}
}

// TestGoModes passes data of each kind in each mode.
func TestGoModes(t *testing.T) {
	ctx := context.Background()
	onTyped(t, func(t *testing.T, rt *Runtime, j *Job) {
		xs := []float64{1, 2, 3, 4, 5, 6, 7, 8}
		x := got(NewVector(rt, xs))(t)
		y := got(MakeVector[float64](rt, 8))(t)
		a := got(MakeMatrix[int32](rt, 3, 4))(t)
		b := got(MakeBlock[uint8](rt, 2, 3, 4, Fill(1)))(t)
		v := got(MakeVariable[int64](rt, Fill(5)))(t)
		sum := got(MakeVariable[float64](rt, ReduceSum))(t)
		top := got(MakeVector[float64](rt, 2, ReduceMax))(t)
		tmp := got(MakeVector[float64](rt, 100))(t)

		must(t, j.Go(func(x, y []float64) {
			for i := range y {
				y[i] = 10 * x[i]
			}
		}, R(x), W(y)))
		must(t, j.Go(func(a Mat[int32], by int32) {
			for i := range a.Rows {
				for k := range a.Cols {
					a.Set(i, k, by*int32(i*10+k))
				}
			}
		}, W(a), 2))
		must(t, j.Go(func(b Buffer[uint8]) {
			for x := range b.Shape()[0] {
				b.Line(x, 2)[3] += uint8(x + 1)
			}
		}, RW(b)))
		for k := range 10 {
			must(t, j.Go(func(v *int64, k int64) { *v += k }, Commute(v), k))
			must(t, j.Go(func(x, tmp []float64, s *float64, top []float64) error {
				if len(tmp) != 100 {
					return fmt.Errorf("scratch memory of %d", len(tmp))
				}
				copy(tmp, x)
				for i := range x {
					*s += tmp[i]
				}
				top[0], top[1] = max(top[0], float64(k)), max(top[1], float64(9-k))
				return nil
			}, R(x), Scratch(tmp), Redux(sum), Redux(top)))
		}
		for _, c := range []struct{ got, want any }{
			{got(y.Value(ctx, j))(t), []float64{10, 20, 30, 40, 50, 60, 70, 80}},
			{got(a.Value(ctx, j))(t).Row(2), []int32{40, 42, 44, 46}},
			{got(b.Value(ctx, j))(t), []uint8{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3}},
			{got(v.Value(ctx, j))(t), int64(50)},
			{got(sum.Value(ctx, j))(t), 360.0},
			{got(top.Value(ctx, j))(t), []float64{9, 9}},
		} {
			if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", c.got, c.want)
			}
		}
		if f := j.Failures(); len(f) > 0 {
			t.Error(f[0])
		}
		must(t, j.Unregister(x.Handle))
		must(t, j.Wait(ctx))
		if xs[7] != 8 {
			t.Error(xs)
		}
	})
}

// TestGoScalars: an argument arrives as the parameter's type, or is refused.
func TestGoScalars(t *testing.T) {
	type meters float32
	type flag bool
	type name string
	rt, j := start(t, Options{Workers: 1})
	_ = rt
	seen := ""
	see := func(v any) { seen = fmt.Sprintf("%T %v", v, v) }
	for _, c := range []struct {
		fn, arg any
		want    string // "": it is refused
	}{
		{func(v float64) { see(v) }, 2, "float64 2"},
		{func(v float64) { see(v) }, 2.5, "float64 2.5"},
		{func(v float64) { see(v) }, float32(0.5), "float64 0.5"},
		{func(v float64) { see(v) }, uint8(7), "float64 7"},
		{func(v float64) { see(v) }, "2", ""},
		{func(v float64) { see(v) }, true, ""},
		{func(v float64) { see(v) }, uint64(math.MaxUint64), ""},
		{func(v float64) { see(v) }, nil, ""},
		{func(v float64) { see(v) }, 2i, ""},
		{func(v float32) { see(v) }, 0.25, "float32 0.25"},
		{func(v float32) { see(v) }, 1e300, ""},
		{func(v meters) { see(v) }, meters(1.5), "engine.meters 1.5"},
		{func(v int) { see(v) }, 2, "int 2"},
		{func(v int) { see(v) }, int8(-2), "int -2"},
		{func(v int) { see(v) }, 2.0, ""},
		{func(v int) { see(v) }, uint64(1 << 63), ""},
		{func(v int8) { see(v) }, -128, "int8 -128"},
		{func(v int8) { see(v) }, 128, ""},
		{func(v int16) { see(v) }, 1 << 15, ""},
		{func(v int32) { see(v) }, math.MaxInt32, "int32 2147483647"},
		{func(v int32) { see(v) }, int64(1 << 31), ""},
		{func(v uint8) { see(v) }, 255, "uint8 255"},
		{func(v uint8) { see(v) }, -1, ""},
		{func(v uint16) { see(v) }, -1, ""},
		{func(v uint32) { see(v) }, uint32(math.MaxUint32), "uint32 4294967295"},
		{func(v uint32) { see(v) }, -1, ""},
		{func(v uint64) { see(v) }, uint64(math.MaxUint64), "uint64 18446744073709551615"},
		{func(v uint64) { see(v) }, 1, "uint64 1"},
		{func(v uint64) { see(v) }, -1, ""},
		{func(v uint64) { see(v) }, int64(-1), ""},
		{func(v uint64) { see(v) }, int8(-1), ""},
		{func(v uint) { see(v) }, uint(9), "uint 9"},
		{func(v uint) { see(v) }, -9, ""},
		{func(v bool) { see(v) }, true, "bool true"},
		{func(v flag) { see(v) }, flag(true), "engine.flag true"},
		{func(v bool) { see(v) }, 1, ""},
		{func(v string) { see(v) }, "s", "string s"},
		{func(v name) { see(v) }, name("n"), "engine.name n"},
		{func(v string) { see(v) }, 1, ""},
		{func(v int64) { see(v) }, new(int64), ""},
	} {
		seen = ""
		err := j.Run(context.Background(), c.fn, c.arg)
		var typ *TypeError
		if seen != c.want || (c.want == "") != errors.As(err, &typ) || c.want == "" && typ.Arg != 0 {
			t.Errorf("%T of %T %v: got %q, want %q; %v", c.fn, c.arg, c.arg, seen, c.want, err)
		}
	}
}

// TestGoMistakes: what is wrong with the arguments is an error that says what to write,
// before anything happens.
func TestGoMistakes(t *testing.T) {
	ctx := context.Background()
	onTyped(t, func(t *testing.T, rt *Runtime, j *Job) {
		xs := []float64{1, 2, 3, 4}
		x := got(NewVector(rt, xs, Name("x")))(t)
		f := got(MakeVector[float32](rt, 4, Fill(1)))(t)
		a := got(MakeMatrix[float64](rt, 2, 2, Fill(1)))(t)
		v := got(MakeVariable[float64](rt, Fill(1)))(t)
		fixed := got(NewVector(rt, make([]float64, 4), ReadOnly()))(t)
		lazy := got(MakeVector[float64](rt, 4))(t)
		view := got(x.Partition(filter.Blocks(2)))(t)
		gone := got(NewVector(rt, make([]float64, 4)))(t)
		must(t, j.Unregister(gone.Handle))
		ended := got(x.Partition(filter.Blocks(2)))(t)
		rt.EndView(ended.View)
		other, _ := start(t, Options{Workers: 1})
		foreign := got(NewVector(other, make([]float64, 4)))(t)
		axpy := func(a float64, x, y []float64) { y[0] = a * x[0] }
		inc := func(x []float64) { x[0]++ }
		before := rt.Stats().Submitted
		type config struct{ _ int }
		hand := &Codelet{Name: "hand", CPU: []Impl{func(*TaskContext) error { return nil }}, Modes: []iface.AccessMode{iface.R},
			Types: &Types{Operands: []OperandType{{Elem: iface.F32}}}}
		for _, c := range []struct {
			fn   any
			args []any
			want string
		}{
			{inc, nil, "TestGoMistakes.func1.2, of type func([]float64), takes 1 argument, and 0 are given: the next is for the parameter of type []float64, a Vector[float64] with its mode, such as engine.R(x)"},
			{axpy, []any{2.0, R(x)}, "takes 3 arguments, and 2 are given: the next is for the parameter of type []float64"},
			{axpy, []any{2.0, R(x), RW(x), 1}, "takes 3 arguments, and 4 are given"},
			{inc, []any{RW(x), 1}, "takes 1 argument, and 2 are given"},
			{axpy, []any{R(x), 2.0, RW(x)}, "argument 1 of engine.TestGoMistakes.func1.1 is data, and the parameter is of type float64: pass a value"},
			{axpy, []any{2.0, R(x), 3.0}, "argument 3 of engine.TestGoMistakes.func1.1 is the float 3, and the parameter, of type []float64, takes data: engine.R(x) or another mode, where x is a Vector[float64]"},
			{inc, []any{x}, "is data, of type engine.Vector[float64], without its access mode: write engine.R(x)"},
			{inc, []any{x.Handle}, "is data, of type *datamgr.Handle, without its access mode"},
			{inc, []any{xs}, "is memory, of type []float64, that is not registered: register it once, as by engine.NewVector(rt, s)"},
			{inc, []any{&xs[0]}, "is memory, of type *float64, that is not registered"},
			{inc, []any{&config{}}, "is of type *engine.config; a task takes data"},
			{inc, []any{config{}}, "a kernel that is a closure can use anything else"},
			{inc, []any{nil}, "argument 1 of engine.TestGoMistakes.func1.2 is nil"},
			{axpy, []any{"2", R(x), RW(x)}, "argument 1 of engine.TestGoMistakes.func1.1 is the string \"2\", which does not fit the parameter, of type float64"},
			{inc, []any{RW(f)}, "a Vector[float32]; the parameter, of type []float64, takes a Vector[float64]: pass such data, or make the parameter []float32"},
			{inc, []any{RW(a)}, "a Matrix[float64]; the parameter, of type []float64, takes a Vector[float64]: pass such data, or make the parameter engine.Mat[float64]"},
			{inc, []any{RW(v)}, "or make the parameter *float64"},
			{func(Mat[float64]) {}, []any{RW(x)}, "is `x` (vector[f64] of 4), a Vector[float64]; the parameter, of type engine.Mat[float64], takes a Matrix[float64]"},
			{func(Buffer[float32]) {}, []any{RW(x)}, "takes a Vector[float32] or Matrix[float32] or Block[float32] or Tensor[float32] or Variable[float32]"},
			{inc, []any{RW(Vector[float64]{})}, "is no data: a handle that was never registered, or a part that its view does not have"},
			{inc, []any{RW(view.At(2))}, "a part that its view does not have"},
			{inc, []any{RW(nil)}, "is no data"},
			{inc, []any{Operand{Handle: x.Handle}}, "has no access mode"},
			{inc, []any{Operand{Handle: x.Handle, Mode: 77}}, "has no access mode"},
			{inc, []any{RW(fixed)}, "read-only"},
			{inc, []any{R(lazy)}, "read before anything writes it"},
			{inc, []any{Redux(x)}, "no reduction method"},
			{inc, []any{RW(gone)}, "was unregistered"},
			{inc, []any{RW(ended.At(0))}, "part of a view that ended"},
			{inc, []any{RW(foreign)}, "registered with another runtime"},
			{hand, []any{R(x)}, "operand 0 of codelet hand must be data of f32 elements"},
			{hand, []any{RW(f)}, "declares operand 0 as R"},
			{hand, []any{f}, "argument 1 of hand is data, of type engine.Vector[float32], without its access mode"},
			{hand, []any{R(f), config{}}, "argument 2 of hand is of type engine.config"},
			{inc, []any{RW(x), Node(7)}, "node 7"},
			{inc, []any{RW(x), Node(-1)}, "node -1"},
			{inc, []any{RW(x), Workers{99}}, "workers [99]"},
			{inc, []any{RW(x), Workers{}}, "no worker"},
			{inc, []any{RW(x), After{nil}}, "nil"},
			{inc, []any{RW(x).On(7)}, "node 7"},
			{inc, []any{RW(x), TaskOptions{Size: 2}}, "Parallel"},
		} {
			check := func(how string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s(%T, %v): %v, want %q", how, c.fn, c.args, err, c.want)
				}
			}
			check("Go", j.Go(c.fn, c.args...))
			check("Go with a name", j.Go(c.fn, append(slices.Clone(c.args), Name("n"))...))
			_, err := j.GoTask(c.fn, c.args...)
			check("GoTask", err)
			check("Run", j.Run(ctx, c.fn, c.args...))
		}
		must(t, j.Wait(ctx))
		if n := rt.Stats().Submitted; n != before {
			t.Errorf("%d tasks were submitted", n-before)
		}
		if v := got(x.Value(ctx, j))(t); !slices.Equal(v, []float64{1, 2, 3, 4}) {
			t.Errorf("x is %v", v)
		}
	})
}

// TestGoOptions: options stand anywhere among the arguments, and do what the fields of
// TaskSpec and TaskOptions do.
func TestGoOptions(t *testing.T) {
	ctx := context.Background()
	journal := &Journal{}
	gpu, err := sim.New(sim.Options{Name: "gpu", Capacity: 1 << 20})
	must(t, err)
	t.Cleanup(func() { must(t, gpu.Close()) })
	rt, j := start(t, Options{Workers: 2, Devices: []accel.Device{gpu}, Listener: journal})
	x := got(NewVector(rt, make([]float64, 4)))(t)
	where := func(c *TaskContext, x []float64) error {
		x[0] = float64(c.Worker())
		x[1] = float64(c.Node(0))
		return nil
	}
	at := func(args ...any) [2]float64 {
		t.Helper()
		must(t, j.Run(ctx, where, append(args, RW(x))...))
		v := got(x.Value(ctx, j))(t)
		return [2]float64{v[0], v[1]}
	}
	for _, c := range []struct {
		args []any
		want [2]float64
	}{
		{[]any{Node(1)}, [2]float64{2, 1}},
		{[]any{Workers{1}}, [2]float64{1, 0}},
		{[]any{Workers{1, 2}, Node(1)}, [2]float64{2, 1}},
		{[]any{TaskOptions{Kinds: []string{"gpu"}}}, [2]float64{2, 1}},
		{[]any{TaskOptions{Kinds: []string{"gpu"}}, Workers{2}}, [2]float64{2, 1}},
	} {
		if got := at(c.args...); got != c.want {
			t.Errorf("%v: ran at %v, want %v", c.args, got, c.want)
		}
	}
	must(t, j.Run(ctx, func(c *TaskContext, x []float64) error {
		if c.Node(0) != 0 {
			return errors.New("it is not pinned")
		}
		return nil
	}, R(x).On(0)))

	var order []string
	note := func(s string) func() { return func() { order = append(order, s) } }
	gate := j.NewGate()
	first := got(j.GoTask(note("first"), After{gate}, Name("one")))(t)
	must(t, j.Go(note("second"), After{first}, Priority(7), Name("two")))
	called := make(chan error, 1)
	last := got(j.GoTask(func(c *TaskContext, s string) error { note(c.Name() + s)(); return errors.New(s) }, Name("last"), "third", After{gate}, After{first},
		TaskOptions{Callback: func(t *Task) error { called <- t.Err(); return nil }}, Workers{0}))(t)
	gate.Open()
	must(t, last.Wait(ctx))
	must(t, j.Wait(ctx))
	if len(order) != 3 || order[0] != "first" || !slices.Contains(order, "lastthird") {
		t.Error(order)
	}
	if err := <-called; err == nil || !strings.Contains(err.Error(), "third") {
		t.Error(err)
	}
	names := map[string]bool{}
	for _, e := range journal.Entries() {
		names[e.Name] = true
	}
	if !names["one"] || !names["two"] || !names["last"] {
		t.Error(names)
	}
}

// TestRun: Run returns how the task ended.
func TestRun(t *testing.T) {
	ctx := context.Background()
	rt, j := start(t, Options{Workers: 2})
	x := got(NewVector(rt, make([]float64, 4)))(t)
	bad := errors.New("no signal")
	if err := j.Run(ctx, func(x []float64) error { return bad }, RW(x)); !errors.Is(err, bad) {
		t.Error(err)
	}
	var panicked *PanicError
	if err := j.Run(ctx, func(x []float64) { x[4] = 1 }, W(x)); !errors.As(err, &panicked) {
		t.Error(err)
	}
	var lost *FailedDataError
	if err := j.Run(ctx, func(x []float64) {}, R(x)); !errors.As(err, &lost) {
		t.Error(err)
	}
	if _, err := x.Value(ctx, j); !errors.As(err, &lost) {
		t.Error(err)
	}
	must(t, j.Run(ctx, func(x []float64) { clear(x) }, W(x)))
	inside := make(chan error, 2)
	must(t, j.Run(ctx, func([]float64) {
		inside <- j.Run(ctx, func([]float64) {}, W(x)) // it waits for this kernel
		_, err := x.Value(ctx, j)
		inside <- err
	}, R(x)))
	for range 2 {
		if err := <-inside; !errors.Is(err, ErrWouldDeadlock) {
			t.Error(err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	gate := j.NewGate()
	cancel()
	if err := j.Run(gone, func() {}, After{gate}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	gate.Open()
	must(t, j.Wait(ctx))
	seen := make(chan error, 1)
	must(t, j.Go(func(ctx context.Context, x []float64) error {
		seen <- nil
		<-ctx.Done()
		return ctx.Err()
	}, RW(x)))
	<-seen
	j.Cancel(bad)
	must(t, j.Wait(ctx))
	if f := j.Failures(); len(f) == 0 {
		t.Error("a kernel that was cancelled did not fail")
	}
	must(t, j.Close())
	if err := j.Run(ctx, func() {}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestSubgraphGo: kernels insert tasks of their sub-graph on parts of what they have.
func TestSubgraphGo(t *testing.T) {
	ctx := context.Background()
	for _, o := range []Options{{Workers: 3}, {Sequential: true}} {
		rt, j := start(t, o)
		x := got(MakeVector[int32](rt, 6))(t)
		wrong := make(chan error, 3)
		split := func(c *TaskContext, _ []int32) error {
			g, err := c.Subgraph()
			if err != nil {
				return err
			}
			parts, err := ViewOf[Vector[int32]](g.Partition(0, filter.Blocks(3)))
			if err != nil {
				return err
			}
			wrong <- g.Go(func([]int64) {}, W(parts.At(0)))
			wrong <- g.Go(func([]int32) {}, W(parts.At(3)))
			_, err = ViewOf[Vector[int64]](g.Partition(0, filter.Blocks(3)))
			wrong <- err
			for k, p := range parts.Parts {
				task, err := g.GoTask(func(x []int32, k int32) {
					for i := range x {
						x[i] = k
					}
				}, W(p), k, Name("part"))
				if err != nil {
					return err
				}
				if err := g.Go(func(x []int32) { x[0] *= 10 }, RW(p), After{task}); err != nil {
					return err
				}
			}
			return nil
		}
		must(t, j.Run(ctx, split, W(x)))
		if v := got(x.Value(ctx, j))(t); !slices.Equal(v, []int32{0, 0, 10, 1, 20, 2}) {
			t.Error(v)
		}
		for _, want := range []string{"Vector[int64]", "is no data", "Vector[int32]"} {
			var typ *TypeError
			if err := <-wrong; !errors.As(err, &typ) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// TestGoAllocates: inserting a task allocates nothing, for common functions and whatever
// their scalars are.
func TestGoAllocates(t *testing.T) {
	if raceOn {
		t.Skip("the race detector allocates")
	}
	rt, j := start(t, Options{Workers: 1})
	x, y := got(NewVector(rt, make([]float64, 4)))(t), got(NewVector(rt, make([]float64, 4)))(t)
	codelet := Func("axpy", axpyF)
	i := 0
	for name, insert := range map[string]func() error{
		"function": func() error { return j.Go(axpyF, R(x), RW(y), float64(i)) },
		"codelet":  func() error { return j.Go(codelet, R(x), RW(y), 2, Priority(i)) },
		"large":    func() error { return j.Go(func(x []float64, a, b float64) {}, RW(x), 1e9+float64(i), float32(i)) },
	} {
		var n float64
		for range 3 { // first come records of tasks to use again
			n = testing.AllocsPerRun(3000, func() {
				i++
				if err := insert(); err != nil {
					t.Fatal(err)
				}
			})
			must(t, j.Wait(context.Background()))
		}
		if n > 0 {
			t.Errorf("%s: %v allocations a task", name, n)
		}
	}
}

// TestTypedPrograms runs programs with the typed functions on all machines: they must
// leave what the sequential loops do.
func TestTypedPrograms(t *testing.T) {
	ctx := context.Background()
	const n, nt = 24, 4
	a := make([]float64, n*n)
	for i := range n {
		for k := range n {
			a[i*n+k] = float64(min(i, k)+1) + 1/float64(i+k+1)
		}
	}
	wantL := slices.Clone(a)
	for k := range n {
		wantL[k*n+k] = math.Sqrt(wantL[k*n+k])
		for i := k + 1; i < n; i++ {
			wantL[i*n+k] /= wantL[k*n+k]
		}
		for i := k + 1; i < n; i++ {
			for l := k + 1; l <= i; l++ {
				wantL[i*n+l] -= wantL[i*n+k] * wantL[l*n+k]
			}
		}
	}
	const size, parts, steps = 50, 4, 30
	var wantU [2][size + 2]float64
	for k := range wantU {
		wantU[k][0] = 100
	}
	for s := range steps {
		u, v := &wantU[s%2], &wantU[1-s%2]
		for i := 1; i <= size; i++ {
			v[i] = 0.25*u[i-1] + 0.5*u[i] + 0.25*u[i+1]
		}
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }
	onTyped(t, func(t *testing.T, rt *Runtime, j *Job) {
		mem := slices.Clone(a)
		A := got(NewMatrix(rt, mem, n, n))(t)
		tiles := got(A.Partition(filter.Tiles(nt, nt, 0)))(t)
		for k := range nt {
			must(t, j.Go(func(a Mat[float64]) error {
				for k := range a.Rows {
					if a.At(k, k) <= 0 {
						return fmt.Errorf("pivot %d is %v", k, a.At(k, k))
					}
					a.Set(k, k, math.Sqrt(a.At(k, k)))
					for i := k + 1; i < a.Rows; i++ {
						a.Row(i)[k] /= a.At(k, k)
						for l := k + 1; l <= i; l++ {
							a.Row(i)[l] -= a.At(i, k) * a.At(l, k)
						}
					}
				}
				return nil
			}, RW(tiles.At(k, k)), Priority(nt-k)))
			for i := k + 1; i < nt; i++ {
				must(t, j.Go(func(l, b Mat[float64]) {
					for i := range b.Rows {
						for k := range b.Cols {
							for m := range k {
								b.Row(i)[k] -= b.At(i, m) * l.At(k, m)
							}
							b.Row(i)[k] /= l.At(k, k)
						}
					}
				}, R(tiles.At(k, k)), RW(tiles.At(i, k))))
			}
			for i := k + 1; i < nt; i++ {
				for l := k + 1; l <= i; l++ {
					must(t, j.Go(func(a, b, c Mat[float64]) {
						for i := range c.Rows {
							for k := range c.Cols {
								for m := range a.Cols {
									c.Row(i)[k] -= a.At(i, m) * b.At(k, m)
								}
							}
						}
					}, R(tiles.At(i, k)), R(tiles.At(l, k)), RW(tiles.At(i, l))))
				}
			}
		}

		var rod [2]Vector[float64]
		var near1, own [2]View[Vector[float64]]
		for k := range rod {
			rod[k] = got(MakeVector[float64](rt, size+2, Fill(0)))(t)
			h := got(rod[k].Acquire(ctx, j, iface.RW))(t)
			h.Data()[0] = 100
			must(t, h.Release())
			near1[k] = got(rod[k].Partition(filter.BlocksHalo(parts, 1)))(t)
			own[k] = got(rod[k].Partition(filter.BlockSizes([]int{1, 13, 13, 12, 12, 1})))(t)
		}
		for s := range steps {
			for b := range parts {
				must(t, j.Go(func(x, y []float64) {
					for i := range y {
						y[i] = 0.25*x[i] + 0.5*x[i+1] + 0.25*x[i+2]
					}
				}, R(near1[s%2].At(b)), W(own[1-s%2].At(b+1))))
			}
		}

		L := got(A.Value(ctx, j))(t)
		for i := range n {
			for k := range i + 1 {
				if !near(L.At(i, k), wantL[i*n+k]) {
					t.Fatalf("L[%d, %d] is %v, want %v", i, k, L.At(i, k), wantL[i*n+k])
				}
			}
		}
		for k := range rod {
			u := got(rod[k].Value(ctx, j))(t)
			for i := range u {
				if !near(u[i], wantU[k][i]) {
					t.Fatalf("rod %d: u[%d] is %v, want %v", k, i, u[i], wantU[k][i])
				}
			}
		}
		must(t, j.Unregister(A.Handle))
		must(t, j.Wait(ctx))
		if f := j.Failures(); len(f) > 0 {
			t.Error(f[0])
		}
		if !near(mem[n*n-1], wantL[n*n-1]) {
			t.Error("the program's memory does not have the factor")
		}
	})
}

func axpyF(x, y []float64, a float64) { y[0] += a * x[0] }
func incF(x []float64)                { x[0]++ }

func zeros(t testing.TB, rt *Runtime, x []float64) *datamgr.Handle {
	h, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{len(x)}}, func(b *iface.Buffer) error { clear(iface.Slice[float64](b)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// BenchmarkGo beside the same tasks by Submit: the typed codelet, and the same kernel written by hand.
func BenchmarkGo(b *testing.B) {
	type env struct {
		j    *Job
		x, y [64]*datamgr.Handle
	}
	run := func(name string, w int, step func(e *env) func(i int)) {
		b.Run(name, func(b *testing.B) {
			rt, j := start(b, Options{Workers: w})
			e := &env{j: j}
			for i := range e.x {
				e.x[i], e.y[i] = zeros(b, rt, make([]float64, 16)), zeros(b, rt, make([]float64, 16))
			}
			f := step(e)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				f(i)
			}
			must(b, j.Wait(context.Background()))
		})
	}
	hand := &Codelet{Name: "axpy", CPU: []Impl{func(c *TaskContext) error {
		axpyF(iface.Slice[float64](c.Buffer(0)), iface.Slice[float64](c.Buffer(1)), c.Arg(0).Float())
		return nil
	}}, Types: Func("", axpyF).Types}
	hand1 := &Codelet{Name: "add", CPU: []Impl{func(c *TaskContext) error {
		incF(iface.Slice[float64](c.Buffer(0)))
		return nil
	}}, Types: Func("", incF).Types}
	for _, w := range []int{1, 2} {
		n := []string{"", "w1", "w2"}[w]
		sub := func(c *Codelet) func(e *env) func(i int) {
			return func(e *env) func(i int) {
				s := &TaskSpec{Codelet: c, Operands: []Operand{{Mode: iface.R}, {Mode: iface.RW}}, Args: []iface.Scalar{iface.Float(2)}}
				return func(i int) {
					s.Operands[0].Handle, s.Operands[1].Handle = e.x[i%64], e.y[i%64]
					s.Args[0] = iface.Float(float64(i))
					submit(b, e.j, s)
				}
			}
		}
		sub1 := func(c *Codelet) func(e *env) func(i int) {
			return func(e *env) func(i int) {
				s := &TaskSpec{Codelet: c, Operands: []Operand{{Mode: iface.RW}}}
				return func(i int) {
					s.Operands[0].Handle = e.x[i%64]
					submit(b, e.j, s)
				}
			}
		}
		goer := func(fn any) func(e *env) func(i int) {
			return func(e *env) func(i int) {
				return func(i int) {
					if err := e.j.Go(fn, R(e.x[i%64]), RW(e.y[i%64]), float64(i)); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		goer1 := func(fn any) func(e *env) func(i int) {
			return func(e *env) func(i int) {
				return func(i int) {
					if err := e.j.Go(fn, RW(e.x[i%64])); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		run("axpy/hand/"+n, w, sub(hand))
		run("axpy/Func/"+n, w, sub(Func("axpy", axpyF)))
		run("axpy/GoFunc/"+n, w, goer(Func("axpy", axpyF)))
		run("axpy/Go/"+n, w, goer(axpyF))
		run("add/hand/"+n, w, sub1(hand1))
		run("add/Func/"+n, w, sub1(Func("add", incF)))
		run("add/GoFunc/"+n, w, goer1(Func("add", incF)))
		run("add/Go/"+n, w, goer1(incF))
	}
}
