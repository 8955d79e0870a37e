package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

type celsius float64

// shapes lists the shapes that directCaller has for scalars of class Z.
func shapes[Z param[Z]]() []string {
	var all []string
	last := []string{""}
	for range 6 {
		var next []string
		for _, s := range last {
			if directCaller[Z](s, false) != nil {
				all = append(all, s)
			}
			for _, l := range "SPMBZ" {
				next = append(next, s+string(l))
			}
		}
		last = next
	}
	return all
}

// TestCallShapes calls a function of every type that has a direct call, with elements of
// several types, and holds what arrives against what was passed: how Go passes arguments
// must not depend on what slices and pointers point to. The function is made by package
// reflect, which finds its arguments by its own type.
func TestCallShapes(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	must1 := func(h *datamgr.Handle, err error) *datamgr.Handle {
		t.Helper()
		must(t, err)
		return h
	}
	filled := func(k iface.Kind, e iface.Elem, dims ...int) *datamgr.Handle {
		return must1(rt.RegisterFilled(DataSpec{Kind: k, Elem: e, Dims: dims}, func(b *iface.Buffer) error { fill(b, 7); return nil }))
	}
	type datum struct {
		typ    reflect.Type
		handle *datamgr.Handle
		is     func(v any) bool
	}
	data := map[rune][]datum{
		'S': {
			{reflect.TypeFor[[]float64](), filled(iface.Vector, iface.F64, 3), func(v any) bool { s := v.([]float64); return len(s) == 3 && cap(s) == 3 && s[2] != 0 }},
			{reflect.TypeFor[[]int8](), filled(iface.Vector, iface.I8, 5), func(v any) bool { s := v.([]int8); return len(s) == 5 && s[4] == 7 }},
			{reflect.TypeFor[[]celsius](), filled(iface.Vector, iface.F64, 2), func(v any) bool { s := v.([]celsius); return len(s) == 2 && s[1] != 0 }},
		},
		'P': {
			{reflect.TypeFor[*uint16](), filled(iface.Variable, iface.U16), func(v any) bool { return *v.(*uint16) == 0x707 }},
			{reflect.TypeFor[*float32](), filled(iface.Variable, iface.F32), func(v any) bool { return *v.(*float32) != 0 }},
		},
		'M': {
			{reflect.TypeFor[Mat[float64]](), filled(iface.Matrix, iface.F64, 2, 3), func(v any) bool {
				m := v.(Mat[float64])
				return m.Rows == 2 && m.Cols == 3 && m.Stride == 3 && len(m.Data) == 6 && m.At(1, 2) != 0
			}},
			{reflect.TypeFor[Mat[uint8]](), filled(iface.Matrix, iface.U8, 4, 1), func(v any) bool {
				m := v.(Mat[uint8])
				return m.Rows == 4 && m.Cols == 1 && m.Stride == 1 && m.Row(3)[0] == 7
			}},
		},
		'B': {
			{reflect.TypeFor[Buffer[int32]](), filled(iface.Block, iface.I32, 2, 2, 2), func(v any) bool { b := v.(Buffer[int32]); return b.Line(1, 1)[1] == 0x7070707 }},
			{reflect.TypeFor[Buffer[int8]](), filled(iface.Tensor, iface.I8, 2, 1, 2, 3), func(v any) bool { b := v.(Buffer[int8]); return b.Line(1, 0, 1)[2] == 7 }},
			{reflect.TypeFor[Buffer[int16]](), filled(iface.Vector, iface.I16, 4), func(v any) bool { return v.(Buffer[int16]).Slice()[3] == 0x707 }},
		},
	}
	type scalar struct {
		typ reflect.Type
		arg iface.Scalar
		is  any
	}
	run := func(shape string, fails bool, scalars []scalar, direct bool) {
		var in []reflect.Type
		var ops []Operand
		var args []iface.Scalar
		var check []func(v any) bool
		for i, l := range shape {
			if l == 'Z' {
				s := scalars[i%len(scalars)]
				in, args = append(in, s.typ), append(args, s.arg)
				check = append(check, func(v any) bool { return v == s.is })
				continue
			}
			d := data[l][i%len(data[l])]
			in, ops = append(in, d.typ), append(ops, Operand{Handle: d.handle, Mode: iface.R})
			check = append(check, d.is)
		}
		var out []reflect.Type
		var result []reflect.Value
		bad := errors.New("it fails")
		if fails {
			out, result = []reflect.Type{typeError}, []reflect.Value{reflect.ValueOf(&bad).Elem()}
		}
		calls := 0
		fn := reflect.MakeFunc(reflect.FuncOf(in, out, false), func(got []reflect.Value) []reflect.Value {
			calls++
			for i, v := range got {
				if !check[i](v.Interface()) {
					t.Errorf("%v: argument %d is %v", in, i, v)
				}
			}
			return result
		})
		c := Func("shape", fn.Interface())
		if c.bad != nil {
			t.Fatal(c.bad)
		}
		if !direct {
			c.fn.call = reflectCaller(c.fn)
		}
		task, err := j.SubmitTask(&TaskSpec{Codelet: c, Operands: ops, Args: args})
		must(t, err)
		must(t, task.Wait(context.Background()))
		if calls != 1 || errors.Is(task.Err(), bad) != fails {
			t.Errorf("%v: %d calls, error %v", in, calls, task.Err())
		}
	}
	n := 0
	for _, z := range []struct {
		shapes  []string
		scalars []scalar
	}{
		{shapes[float64Arg](), []scalar{{reflect.TypeFor[float64](), iface.Float(2.5), 2.5}, {reflect.TypeFor[celsius](), iface.Int(-3), celsius(-3)}}},
		{shapes[float32Arg](), []scalar{{reflect.TypeFor[float32](), iface.Float(0.1), float32(0.1)}}},
		{shapes[int64Arg](), []scalar{{reflect.TypeFor[int](), iface.Int(-9), -9}, {reflect.TypeFor[uint64](), iface.Int(-1), uint64(math.MaxUint64)}, {reflect.TypeFor[int64](), iface.Int(1 << 40), int64(1 << 40)}}},
		{shapes[int32Arg](), []scalar{{reflect.TypeFor[int32](), iface.Int(-9), int32(-9)}, {reflect.TypeFor[uint32](), iface.Int(1 << 31), uint32(1 << 31)}}},
	} {
		for _, s := range z.shapes {
			for _, fails := range []bool{false, true} {
				run(s, fails, z.scalars, true)
				run(s, fails, z.scalars, false)
				n++
			}
		}
	}
	if n < 300 {
		t.Errorf("%d calls tested", n)
	}
}

// TestOtherCalls calls functions of types that have no direct call.
func TestOtherCalls(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	x := []int64{1, 2, 3}
	h := ints(t, rt, x)
	got := ""
	for _, c := range []struct {
		fn   any
		args []any
		want string
	}{
		{func(ctx context.Context, x []int64) { got = fmt.Sprint(ctx.Err(), x) }, []any{RW(h)}, "<nil> [1 2 3]"},
		{func(c *TaskContext, x []int64, k int8) error { got = fmt.Sprint(c.NumBuffers(), x, k); return nil }, []any{RW(h), 4}, "1 [1 2 3] 4"},
		{func(a bool, b string, c int8, d uint16, e float32, f uint, x []int64) {
			got = fmt.Sprintln(a, b, c, d, e, f, x)
		},
			[]any{true, "s", -1, 60000, 0.5, 7, R(h)}, "true s -1 60000 0.5 7 [1 2 3]\n"},
		{func(a, b, c, d, e, f []int64) { got = fmt.Sprint(a, f) }, []any{R(h), R(h), R(h), R(h), R(h), R(h)}, "[1 2 3] [1 2 3]"},
		{func(a float64, k int, s string) { got = fmt.Sprintln(a, k, s) }, []any{1.5, 2, "three"}, "1.5 2 three\n"},
		{func() { got = "nothing" }, nil, "nothing"},
		{func(c *TaskContext) { got = fmt.Sprintln(Buf[int64](c, 0).Slice(), c.Arg(0).Str()) }, []any{"raw", R(h)}, "[1 2 3] raw\n"},
		{func(c *TaskContext) error { got = fmt.Sprint(c.NumBuffers(), len(c.Args())); return nil }, nil, "0 0"},
		{Impl(func(c *TaskContext) error { got = fmt.Sprint(c.NumBuffers(), len(c.Args())); return nil }), []any{RW(h), 1, 2.0}, "1 2"},
	} {
		got = ""
		if err := j.Run(context.Background(), c.fn, c.args...); err != nil || got != c.want {
			t.Errorf("%T: got %q and %v, want %q", c.fn, got, err, c.want)
		}
	}
}

// TestFuncMistakes: functions that cannot be kernels are errors of what submits them, and
// say what to write.
func TestFuncMistakes(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	h := ints(t, rt, make([]int64, 3))
	var none func([]int64)
	type wrapped struct{ Mat[float64] }
	for _, c := range []struct {
		fn   any
		want string
	}{
		{nil, "the kernel is nil; give a function"},
		{none, "the kernel is a nil func([]int64)"},
		{3, "the kernel is of type int; give a function"},
		{(*Codelet)(nil), "the kernel is of type *engine.Codelet"},
		{h, "the kernel is of type *datamgr.Handle"},
		{func(...int64) {}, "variadic"},
		{func([]int64) int { return 0 }, "returns an error or nothing"},
		{func([]int64) (int, error) { return 0, nil }, "returns an error or nothing"},
		{func([]int) {}, "parameter 1, []int, is nothing that a task has; elements of data have a size: use int64"},
		{func(*uint) {}, "use uint64"},
		{func([]int64, map[string]int) {}, "parameter 2, map[string]int, is nothing that a task has; data is []T, *T, engine.Mat[T]"},
		{func([]int64, context.Context) {}, "parameter 2, context.Context, must be the first"},
		{func(context.Context, *TaskContext) {}, "parameter 2, *engine.TaskContext, must be the first"},
		{func([][]int64) {}, "is nothing that a task has"},
		{func(any) {}, "is nothing that a task has"},
		{func(TaskContext) {}, "is nothing that a task has"},
		{func(Vector[int64]) {}, "is nothing that a task has"},
		{func(wrapped) {}, "use engine.Mat[float64] itself, without a struct around it"},
		{func(*Mat[float64]) {}, "is nothing that a task has"},
		{func(uintptr) {}, "is nothing that a task has"},
		{reflect.MakeFunc(reflect.FuncOf(slices.Repeat([]reflect.Type{reflect.TypeFor[int]()}, maxParams+1), nil, false), nil).Interface(), "it has 65 parameters, and a kernel can have 64"},
	} {
		var typ *TypeError
		for what, err := range map[string]error{
			"Go":   j.Go(c.fn, R(h)),
			"Run":  j.Run(context.Background(), c.fn, R(h)),
			"Func": j.Submit(&TaskSpec{Codelet: Func("f", c.fn), Operands: []Operand{R(h)}}),
			"Call": Func("f", c.fn).Call(context.Background(), nil, nil),
			"Impl": func() error { _, err := FuncImpl(c.fn, nil); return err }(),
		} {
			if !errors.As(err, &typ) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s(%T): %v, want %q", what, c.fn, err, c.want)
			}
		}
	}
	if err := j.Submit(&TaskSpec{Codelet: Func("two", func([]int64) {}, func([]float64) {}), Operands: []Operand{R(h)}}); err == nil || !strings.Contains(err.Error(), "implementations of a codelet take the same") {
		t.Error(err)
	}
	if _, err := FuncImpl(func([]int64, int) {}, []int{0}); err == nil || !strings.Contains(err.Error(), "2 parameters") {
		t.Error(err)
	}
	if err := j.Submit(&TaskSpec{Codelet: Func("none"), Operands: []Operand{R(h)}}); !errors.As(err, new(*NoImplementationError)) {
		t.Error(err)
	}
	must(t, j.Wait(context.Background()))
	if n := rt.Stats().Submitted; n != 0 {
		t.Errorf("%d tasks were submitted", n)
	}
}

// TestFunc: a codelet of functions is a codelet like any other.
func TestFunc(t *testing.T) {
	rt, j := start(t, Options{Workers: 2})
	x := []int64{1, 2, 3}
	h := ints(t, rt, x)
	add := Func("add", func(x []int64, by int64) {
		for i := range x {
			x[i] += by
		}
	})
	must(t, j.Submit(&TaskSpec{Codelet: add, Operands: []Operand{RW(h)}, Args: []iface.Scalar{iface.Int(10)}}))
	must(t, j.Go(add, RW(h), 100))
	two := Func("", func(x []int64) { x[0]++ }, func(c *TaskContext, x []int64) { x[0]++ })
	must(t, j.Go(two, RW(h)))
	second := *two
	second.CPU = two.CPU[1:]
	must(t, j.Run(context.Background(), &second, RW(h)))
	must(t, j.Wait(context.Background()))
	if want := []int64{113, 112, 113}; !slices.Equal(x, want) {
		t.Errorf("%v, want %v", x, want)
	}
	if !strings.HasPrefix(two.Name, "engine.TestFunc.func") || add.Name != "add" {
		t.Errorf("names %q, %q", two.Name, add.Name)
	}
	b := &iface.Buffer{Desc: h.Desc()}
	managed(h).Fill(b)
	must(t, add.Call(context.Background(), []*iface.Buffer{b}, []iface.Scalar{iface.Int(1)}))
	if x[0] != 114 {
		t.Error(x)
	}
	var typ *TypeError
	if err := j.Submit(&TaskSpec{Codelet: add, Operands: []Operand{RW(h)}, Args: []iface.Scalar{iface.Float(1.5)}}); !errors.As(err, &typ) || typ.Arg != 0 {
		t.Errorf("a float for an integer: %v", err)
	}
}

// TestForeignImplementation: an implementation of a function in a codelet that declares
// something else, or nothing, fails where it is given other data, and touches nothing.
func TestForeignImplementation(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	mem8, mem64 := []int8{7, 7, 7, 7, 7, 7, 7, 7}, []float64{7, 7, 7, 7, 7, 7, 7, 7}
	small := got(NewVector(rt, mem8[:3]))(t)
	matrix := got(NewMatrix(rt, mem64, 2, 2, Stride(4)))(t)
	fill := func(x []float64, v float64) {
		for i := range x {
			x[i] = v
		}
	}
	swapped, err := FuncImpl(fill, []int{1, 0})
	must(t, err)
	for _, c := range []struct {
		c    *Codelet
		args []any
		want string
	}{
		{&Codelet{Name: "bare", CPU: Func("", fill).CPU}, []any{RW(small), 1.0}, "is run with a Vector[int8] as operand 0, and takes a Vector[float64]"},
		{&Codelet{Name: "bare", CPU: Func("", fill).CPU}, []any{RW(matrix), 1.0}, "with a Matrix[float64]"},
		{&Codelet{Name: "bare", CPU: Func("", fill).CPU}, []any{RW(matrix)}, "with a Matrix[float64]"},
		{&Codelet{Name: "bare", CPU: Func("", fill).CPU}, []any{1.0}, "without operand 0"},
		{&Codelet{Name: "bare", CPU: Func("", func(float64) {}).CPU}, []any{RW(small)}, "without scalar argument 0"},
		{&Codelet{Name: "swapped", CPU: []Impl{swapped}}, []any{RW(small), 1.0}, "without operand 1"},
	} {
		err := j.Run(context.Background(), c.c, c.args...)
		var typ *TypeError
		if !errors.As(err, &typ) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		must(t, j.Run(context.Background(), func([]int8, Mat[float64]) {}, W(small), W(matrix))) // valid again
	}
	if fmt.Sprint(mem8, mem64) != "[7 7 7 7 7 7 7 7] [7 7 7 7 7 7 7 7]" {
		t.Error(mem8, mem64)
	}
	if _, err := FuncImpl(fill, []int{0, 255}); err == nil || !strings.Contains(err.Error(), "255 is no place") {
		t.Error(err)
	}
	if _, err := FuncImpl(fill, []int{0, -1}); err == nil {
		t.Error("a negative place")
	}
}

// TestClosures: each task calls the closure that it was given, which lives until then and
// no longer.
func TestClosures(t *testing.T) {
	rt, j := start(t, Options{Workers: 2})
	sum, err := NewVariable(rt, new(int64))
	must(t, err)
	gate := j.NewGate()
	blocker, err := j.GoTask(func() {}, After{gate})
	must(t, err)
	const n = 1000
	freed := make(chan bool, n)
	for i := range n {
		big := new([64]int64)
		big[i%64] = int64(i)
		runtime.AddCleanup(big, func(int) { freed <- true }, i)
		add := func(s *int64) { *s += big[i%64] }
		switch i % 3 { // the ways in which a task keeps its function
		case 0:
			err = j.Go(add, RW(sum), After{blocker})
		case 1:
			err = j.Go(add, RW(sum))
		case 2:
			_, err = j.GoTask(add, RW(sum), Name("named"), TaskOptions{Callback: func(*Task) error { return nil }})
		}
		must(t, err)
	}
	for range 3 {
		runtime.GC()
	}
	if len(freed) > 0 {
		t.Fatal("the closure of a task that waits was freed")
	}
	gate.Open()
	if v, err := sum.Value(context.Background(), j); v != n*(n-1)/2 || err != nil {
		t.Errorf("the sum is %d, %v", v, err)
	}
	must(t, j.Wait(context.Background()))
	for left, end := n, time.Now().Add(time.Minute); left > n/10; { // records that are used again have the last ones
		if time.Now().After(end) {
			t.Fatalf("%d closures of tasks that have ended are alive", left)
		}
		runtime.GC()
		for len(freed) > 0 {
			<-freed
			left--
		}
	}
}

// TestBoolElements: Go functions take slices of bools, and pointers to one.
func TestBoolElements(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	mem := []bool{true, false, true}
	x := got(NewVector(rt, mem))(t)
	y := got(MakeVector[bool](rt, 3, Fill(true)))(t)
	any := got(MakeVariable[bool](rt, Fill(false), ReduceMax))(t)
	must(t, j.Go(func(x, y []bool, any *bool, not bool) {
		for i, v := range x {
			y[i] = v != not
			*any = *any || y[i]
		}
	}, R(x), RW(y), Redux(any), true))
	if v, err := any.Value(context.Background(), j); err != nil || !v {
		t.Errorf("any is %v, %v", v, err)
	}
	if v, err := y.Value(context.Background(), j); err != nil || !slices.Equal(v, []bool{false, true, false}) {
		t.Errorf("y is %v, %v", v, err)
	}
	if _, err := MakeVector[bool](rt, 3, Fill(1)); err == nil || !strings.Contains(err.Error(), "does not fit into bool elements") {
		t.Errorf("Fill of a number: %v", err)
	}
	if _, err := MakeVector[bool](rt, 3, ReduceSum); err == nil || !strings.Contains(err.Error(), "use ReduceMax for true if a contribution is") {
		t.Errorf("ReduceSum: %v", err)
	}
}

// TestFloat16: Go functions take slices, pointers and scalars of floats of 16 bits.
func TestFloat16(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	x := got(MakeVector[iface.Float16](rt, 3, Fill(iface.ToFloat16(0.1))))(t)
	y := got(MakeVector[iface.BFloat16](rt, 3, Fill(2)))(t)
	s := got(MakeVariable[iface.Float16](rt, Fill(0), ReduceSum))(t)
	must(t, j.Go(func(x []iface.Float16, y []iface.BFloat16, s *iface.Float16, f iface.Float16, g iface.BFloat16) {
		for i, v := range x {
			y[i] = iface.ToBFloat16(y[i].Float32() + v.Float32()*f.Float32() + g.Float32())
		}
		*s = iface.ToFloat16(s.Float32() + f.Float32())
	}, R(x), RW(y), Redux(s), iface.ToFloat16(0.3), 1))
	if v, err := s.Value(context.Background(), j); err != nil || v != iface.ToFloat16(0.3) {
		t.Errorf("the sum is %v, %v", v, err)
	}
	want := iface.ToBFloat16(2 + iface.ToFloat16(0.1).Float32()*iface.ToFloat16(0.3).Float32() + 1)
	if v, err := y.Value(context.Background(), j); err != nil || !slices.Equal(v, []iface.BFloat16{want, want, want}) {
		t.Errorf("y is %v, %v, want %v", v, err, want)
	}
	if _, err := MakeVector[iface.Float16](rt, 3, Fill(65520)); err == nil || !strings.Contains(err.Error(), "does not fit into iface.Float16 elements") {
		t.Errorf("Fill of a large value: %v", err)
	}
	if _, err := NewValue(rt, iface.Float16{}); err == nil || !strings.Contains(err.Error(), "a number is a Variable[iface.Float16]") {
		t.Errorf("NewValue of a number: %v", err)
	}
}

// TestNotOwnCodelet: the codelet that Go makes for a function is of no use without one.
func TestNotOwnCodelet(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	h := ints(t, rt, make([]int64, 3))
	own, err := kernelOf(func(x []int64) {})
	must(t, err)
	k, err := j.SubmitTask(&TaskSpec{Codelet: own.codelet, Operands: []Operand{RW(h)}})
	must(t, err)
	must(t, k.Wait(context.Background()))
	if err := k.Err(); err == nil || !strings.Contains(err.Error(), "give the function to Job.Go") {
		t.Error(err)
	}
}
