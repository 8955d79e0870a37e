package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// keepBelow copies the elements of x below a bound to y, and makes y as long as they are many.
func keepBelow(below int64, x, y Buffer[int64]) {
	y.Resize(y.Capacity()...)
	out, k := y.Slice(), 0
	for _, v := range x.Slice() {
		if v < below {
			out[k] = v
			k++
		}
	}
	y.Resize(k)
}

// TestResize: a task sets the length of data with a capacity, and later tasks, accesses, views,
// copies and bytes have what it set.
func TestResize(t *testing.T) {
	machine, err := sim.Parse("sim:cpu2gpu1")
	must(t, err)
	for name, opt := range map[string]Options{
		"one":        {Workers: 1},
		"three":      {Workers: 3},
		"sequential": {Sequential: true},
		"verify":     {Workers: 2, Verify: true},
		"poison":     {Workers: 2, Poison: true},
		"device":     {Workers: 1, Policy: "random"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "device" {
				devices, err := machine.Open()
				must(t, err)
				opt.Devices = devices
				defer func(ds []accel.Device) {
					for _, d := range ds {
						must(t, d.Close())
					}
				}(devices)
			}
			t.Run("", func(t *testing.T) { testResize(t, opt) })
		})
	}
}

func testResize(t *testing.T, opt Options) {
	rt, j := start(t, opt)
	ctx := context.Background()
	in := make([]int64, 100)
	for i := range in {
		in[i] = int64(i * 7 % 31)
	}
	x := must1(NewVector(rt, in))(t)
	y := must1(MakeVector[int64](rt, 0, Capacity(100)))(t)
	n := must1(MakeVariable[int64](rt, Fill(0)))(t)
	want := int64(0)
	var last []int64
	for round := int64(1); round < 31; round++ {
		must(t, j.Go(keepBelow, round, R(x), W(y)))
		must(t, j.Go(func(y []int64, n *int64) { *n += int64(len(y)) }, R(y), RW(n)))
		last = slices.DeleteFunc(slices.Clone(in), func(v int64) bool { return v >= round })
		want += int64(len(last))
	}
	a := must1(y.Acquire(ctx, j, iface.RW))(t)
	if !slices.Equal(a.Data(), last) {
		t.Errorf("the content is %v, want %v", a.Data(), last)
	}
	must(t, a.Resize(len(last)+1))
	iface.Slice[int64](a.Buffer())[len(last)] = -5
	last = append(last, -5)
	if err := a.Resize(101); err == nil || !strings.Contains(err.Error(), "101 is not within the capacity, which is 100") {
		t.Errorf("beyond the capacity: %v", err)
	}
	must(t, a.Release())
	if err := a.Resize(1); err == nil {
		t.Error("resized what was given back")
	}
	v := must1(rt.Partition(y.Handle, filter.Blocks(4)))(t) // of 25 elements each, as far as there are
	parts := make([]int, 4)
	for k, p := range v.Parts {
		must(t, j.Go(func(p []int64) { parts[k] = len(p) }, R(p)))
	}
	z := must1(MakeVector[int64](rt, 3, Capacity(120), Fill(9)))(t)
	must1(j.Copy(z.Handle, y.Handle, CopyOptions{}))(t)
	packed := must1(j.Pack(ctx, z.Handle))(t)
	must(t, j.Unpack(ctx, y.Handle, packed))
	must(t, j.Wait(ctx))
	for k := range parts {
		if w := max(0, min(25, len(last)-25*k)); parts[k] != w {
			t.Errorf("part %d has %d elements, want %d", k, parts[k], w)
		}
	}
	if !bytes.Equal(packed, must1(j.Pack(ctx, y.Handle))(t)) || !slices.Equal(must1(z.Value(ctx, j))(t), last) {
		t.Error("a copy has other bytes")
	}
	d := y.Content()
	if got := must1(n.Value(ctx, j))(t); got != want || d.Dim[0] != len(last) || y.Len() != 100 {
		t.Errorf("counted %d, content %d, capacity %d; want %d, %d, 100", got, d.Dim[0], y.Len(), want, len(last))
	}
	for _, h := range []*datamgr.Handle{x.Handle, y.Handle, z.Handle, n.Handle} {
		must(t, j.Unregister(h))
	}
	must(t, j.Wait(ctx))
}

// TestResizeMatrix: rows and columns of a matrix change within memory of the program; elements keep
// their places, and parts have as much as lies in them.
func TestResizeMatrix(t *testing.T) {
	ctx := context.Background()
	for _, opt := range []Options{{Workers: 2}, {Sequential: true}} {
		rt, j := start(t, opt)
		mem := make([]float64, 6, 24)
		m := must1(NewMatrix(rt, mem, 2, 3, Capacity(4, 6)))(t)
		must(t, j.Go(func(m Buffer[float64]) {
			m.Resize(3, 5)
			for i := range m.Rows() {
				for k := range m.Row(i) {
					m.Row(i)[k] = float64(10*i + k)
				}
			}
		}, W(m)))
		v := must1(rt.Partition(m.Handle, filter.Tiles(2, 2, 0)))(t)
		shapes := make([]string, 4)
		for k, p := range v.Parts {
			must(t, j.Go(func(p Mat[float64]) { shapes[k] = fmt.Sprint(p.Rows, p.Cols, p.Stride, p.Data) }, R(p)))
		}
		must(t, j.Unregister(m.Handle))
		must(t, j.Wait(ctx))
		want := []string{"2 3 6 [0 1 2 3 4 0 10 11 12]", "2 2 6 [3 4 0 10 11 12 13 14]", "1 3 3 [20 21 22]", "1 2 2 [23 24]"}
		for k := range want {
			if shapes[k] != want[k] {
				t.Errorf("tile %d is %s, want %s", k, shapes[k], want[k])
			}
		}
		if d := m.Content(); d.Dim[0] != 3 || d.Dim[1] != 5 || mem[:24][2*6+4] != 24 {
			t.Errorf("content %v, memory %v", &d, mem[:24])
		}
	}
}

// failureOf waits for the tasks of j and returns the error of the one that failed, or nil.
func failureOf(t *testing.T, j *Job) error {
	must(t, j.Wait(context.Background()))
	for _, f := range j.Failures() {
		return f
	}
	return nil
}

// TestResizeRefused: what cannot be resized says so, and a task that fails, or begins again elsewhere,
// leaves the size as it was.
func TestResizeRefused(t *testing.T) {
	ctx := context.Background()
	rt, j := start(t, Options{Workers: 2})
	dense := must1(MakeVector[int64](rt, 4, Fill(1)))(t)
	y := must1(MakeVector[int64](rt, 2, Capacity(8), Fill(1)))(t)
	v := must1(rt.Partition(y.Handle, filter.Blocks(2)))(t)
	to := func(n ...int) func(Buffer[int64]) { return func(b Buffer[int64]) { b.Resize(n...) } }
	for _, tt := range []struct {
		fn   any
		on   Operand
		want string
	}{
		{to(2), W(dense), "its size is fixed; register the data with a capacity"},
		{to(2), R(y), "it is R in this task; declare it W or RW"},
		{to(9), W(y), "9 is not within the capacity, which is 8"},
		{to(-1), W(y), "-1 is not within the capacity, which is 8"},
		{to(1, 2), W(y), "a vector has 1 sizes, and 2 were given"},
		{to(1), W(v.Parts[0]), "a part cannot change the size of its data; pass the whole"},
		{func(b Buffer[int64]) error { b.Resize(5); return errors.New("changed its mind") }, W(y), "changed its mind"},
	} {
		must(t, j.Go(tt.fn, tt.on))
		if err := failureOf(t, j); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
		for _, h := range []Data{dense, y} {
			must(t, j.Go(func(b []int64) { clear(b) }, W(h)))
		}
		must(t, j.Wait(ctx))
		if d := y.Content(); d.Dim[0] != 2 {
			t.Errorf("%s: the content has %d elements, want 2", tt.want, d.Dim[0])
		}
	}
	e := must1(rt.Partition(y.Handle, filter.Pick(0)))(t)
	must(t, j.Go(func(*int64) {}, R(e.Parts[1])))
	must(t, j.Go(func(*int64) {}, R(e.Parts[2])))
	if err := failureOf(t, j); err == nil || !strings.Contains(err.Error(), "lies beyond the content of its data") {
		t.Errorf("an element beyond the content: %v", err)
	}
	for _, s := range []DataSpec{
		{Kind: iface.Vector, Elem: iface.I64, Dims: []int{9}, Capacity: []int{8}},
		{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}, Capacity: []int{8, 8}},
		{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}, Capacity: []int{8}, Reduce: datamgr.SumReduction()},
		{Kind: iface.Variable, Elem: iface.I64, Capacity: []int{}},
	} {
		if h, err := rt.Register(s); err == nil {
			t.Errorf("%v was registered", h)
		}
	}
	if _, err := j.Duplicate(y.Handle); err == nil {
		t.Error("duplicated what may change its size")
	}
	if err := rt.SetReduction(y.Handle, datamgr.SumReduction()); err == nil {
		t.Error("a reduction of what has no fixed size")
	}
}

// TestResizeShape: sizes of data with a capacity are checked when the task starts.
func TestResizeShape(t *testing.T) {
	for _, opt := range []Options{{Workers: 1}, {Sequential: true}} {
		rt, j := start(t, opt)
		ran := 0
		same := &Codelet{Name: "same", Modes: []iface.AccessMode{iface.R, iface.RW},
			CPU: []Impl{func(*TaskContext) error { ran++; return nil }},
			Shape: func(ops []iface.Desc, _ []iface.Scalar) error {
				if ops[0].Dim != ops[1].Dim {
					return fmt.Errorf("%v and %v differ", &ops[0], &ops[1])
				}
				return nil
			}}
		x := must1(MakeVector[int64](rt, 3, Capacity(8), Fill(1)))(t)
		y := must1(MakeVector[int64](rt, 3, Fill(1)))(t)
		submit := func() { must(t, j.Submit(&TaskSpec{Codelet: same, Operands: []Operand{R(x), RW(y)}})) }
		submit()
		must(t, j.Go(func(x Buffer[int64]) { x.Resize(4) }, RW(x)))
		submit()
		if err := failureOf(t, j); err == nil || !strings.Contains(err.Error(), "vector[i64] of 4 and vector[i64] of 3 differ") {
			t.Errorf("got %v", err)
		}
		if ran != 1 {
			t.Errorf("%d tasks ran, want 1", ran)
		}
	}
}

// TestResizeInAnyOrder: tasks that commute append to one vector.
func TestResizeInAnyOrder(t *testing.T) {
	ctx := context.Background()
	for _, opt := range []Options{{Workers: 3}, {Sequential: true}} {
		rt, j := start(t, opt)
		out := must1(MakeVector[int64](rt, 0, Capacity(1000)))(t)
		for k := range int64(100) {
			must(t, j.Go(func(out Buffer[int64]) {
				n := out.Rows()
				out.Resize(n + int(k%5))
				for i := range out.Slice()[n:] {
					out.Slice()[n+i] = k
				}
			}, Commute(out)))
		}
		got := must1(out.Value(ctx, j))(t)
		slices.Sort(got)
		var want []int64
		for k := range int64(100) {
			want = append(want, slices.Repeat([]int64{k}, int(k%5))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	}
}
