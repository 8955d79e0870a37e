package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// elems calls fn with the bytes of every element of operand i.
func elems(c *TaskContext, i int, fn func(k int, e []byte)) {
	o := watched{buf: *c.Buffer(i), size: int(c.Buffer(i).Elem.Size())}
	for k := range o.buf.Len() {
		fn(k, o.now(k))
	}
}

// honest writes every element of operand 0, W, with every value in turn.
func honest(c *TaskContext) error {
	elems(c, 0, func(k int, e []byte) {
		for b := range e {
			e[b] = byte(int64(k) + c.Arg(0).Int() + int64(b)*37)
		}
	})
	return nil
}

// targets are handles of all shapes: whole data, tiles, columns.
func targets(t *testing.T, rt *Runtime, e iface.Elem) []*datamgr.Handle {
	reg := func(kind iface.Kind, dims ...int) *datamgr.Handle {
		h, err := rt.Register(DataSpec{Kind: kind, Elem: e, Dims: dims})
		must(t, err)
		return h
	}
	m := reg(iface.Matrix, 20, 16)
	out := []*datamgr.Handle{reg(iface.Variable), reg(iface.Vector, 300), reg(iface.Vector, 1), reg(iface.Vector, 0), m}
	for _, f := range []filter.Filter{filter.Tiles(2, 2, 0), filter.Pick(1)} {
		v, err := rt.Partition(m, f)
		must(t, err)
		out = append(out, v.Parts[0], v.Parts[len(v.Parts)-1])
	}
	return out
}

// TestVerifyHonest: kernels that keep to their modes are left alone, whatever
// they write, and whatever data without elements is beside it.
func TestVerifyHonest(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		for _, pure := range []bool{false, true} {
			rt, j := start(t, Options{Workers: 3, Sequential: sequential, Verify: true})
			calls := atomic.Int64{}
			c := &Codelet{Name: "honest", Pure: pure, CPU: []Impl{func(c *TaskContext) error { calls.Add(1); return honest(c) }}}
			tasks := int64(0)
			order, err := rt.Register(DataSpec{Kind: iface.Void})
			must(t, err)
			for _, e := range iface.Elems {
				for _, h := range targets(t, rt, e) {
					for v := range 7 {
						must(t, j.Submit(&TaskSpec{Codelet: c, Args: []iface.Scalar{iface.Int(int64(v * 41))}, Operands: []Operand{{Handle: h, Mode: iface.W}, {Handle: order, Mode: iface.RW}}}))
						tasks++
					}
				}
			}
			must(t, j.Wait(context.Background()))
			for _, f := range j.Failures() {
				t.Errorf("pure %v: %v", pure, f)
			}
			if n := calls.Load(); !pure && n != tasks || pure && n <= tasks {
				t.Errorf("pure %v: %d calls for %d tasks", pure, n, tasks)
			}
		}
	}
}

// breachTest is a kernel that breaks a mode. Operands are vectors of 8 elements
// x y z, all of one type, with 1 2 3 … in each element's first byte.
type breachTest struct {
	name  string
	modes []iface.AccessMode
	run   func(x [][]byte, size int) // elements back to back
	want  []Breach                   // Handle and Mode left out
	pure  bool                       // only found when the codelet is pure
	wide  bool                       // else only in elements of 64 bits and f32
	late  bool                       // else in other elements after several tasks
}

func set(x []byte, size int, except ...int) {
	for k := range len(x) / size {
		if !slices.Contains(except, k) {
			for b := range size {
				x[k*size+b] = byte(k*16 + b + 5)
			}
		}
	}
}

var breaches = []breachTest{
	{"keeps to it", []iface.AccessMode{iface.R, iface.W, iface.RW}, func(x [][]byte, size int) {
		copy(x[1], x[0])
		x[2][0]++
	}, nil, false, false, false},
	{"writes R", []iface.AccessMode{iface.R, iface.RW}, func(x [][]byte, size int) { x[0][3*size] ^= 1 },
		[]Breach{{Kind: WritesRead, Operand: 0, Index: []int{3}, Count: 1, Result: -1}}, false, false, false},
	{"writes R in two places", []iface.AccessMode{iface.RW, iface.R}, func(x [][]byte, size int) { x[1][7*size] ^= 1; x[1][2*size+size-1] ^= 8 },
		[]Breach{{Kind: WritesRead, Operand: 1, Index: []int{2}, Count: 2, Result: -1}}, false, false, false},
	{"leaves the ends of W", []iface.AccessMode{iface.R, iface.W}, func(x [][]byte, size int) { set(x[1], size, 0, 7) },
		[]Breach{{Kind: LeavesUnwritten, Operand: 1, Index: []int{0}, Count: 2, Result: -1}}, false, false, true},
	{"leaves one of W", []iface.AccessMode{iface.W, iface.W}, func(x [][]byte, size int) { set(x[0], size, 5); set(x[1], size) },
		[]Breach{{Kind: LeavesUnwritten, Operand: 0, Index: []int{5}, Count: 1, Result: -1}}, false, false, true},
	{"writes nothing", []iface.AccessMode{iface.W}, func(x [][]byte, size int) {},
		[]Breach{{Kind: LeavesUnwritten, Operand: 0, Index: []int{0}, Count: 8, Result: -1}}, false, false, false},
	{"adds to W", []iface.AccessMode{iface.R, iface.W}, func(x [][]byte, size int) {
		for k := range len(x[1]) {
			x[1][k] += x[0][k]
		}
	}, []Breach{{Kind: ReadsUnset, Operand: 1, Result: 1, ResultIndex: []int{0}}}, true, false, false},
	{"copies W to RW, then writes it", []iface.AccessMode{iface.W, iface.RW}, func(x [][]byte, size int) {
		copy(x[1][size:3*size], x[0][size:])
		set(x[0], size)
	}, []Breach{{Kind: ReadsUnset, Operand: 0, Result: 1, ResultIndex: []int{1}}}, false, true, false},
	{"copies SCRATCH", []iface.AccessMode{iface.Scratch, iface.W}, func(x [][]byte, size int) {
		set(x[1], size)
		copy(x[1][4*size:5*size], x[0][6*size:])
	}, []Breach{{Kind: ReadsUnset, Operand: 0, Result: 1, ResultIndex: []int{4}}}, false, true, false},
	{"compares W", []iface.AccessMode{iface.W, iface.RW}, func(x [][]byte, size int) {
		for k := range 8 {
			if x[0][k*size+size-1] > 127 {
				x[1][k*size] = 77
			}
		}
		set(x[0], size)
	}, []Breach{{Kind: ReadsUnset, Operand: 0, Result: 1}}, true, false, false},
	{"fails because of W", []iface.AccessMode{iface.W}, func(x [][]byte, size int) {
		if x[0][size-1] > 127 {
			panic("index out of range")
		}
		set(x[0], size)
	}, []Breach{{Kind: ReadsUnset, Operand: 0, Result: -1}}, true, false, false},
	{"writes R and leaves W", []iface.AccessMode{iface.R, iface.W}, func(x [][]byte, size int) { x[0][0] ^= 3; set(x[1], size, 2) },
		[]Breach{{Kind: WritesRead, Operand: 0, Index: []int{0}, Count: 1, Result: -1}, {Kind: LeavesUnwritten, Operand: 1, Index: []int{2}, Count: 1, Result: -1}}, false, false, true},
}

func TestVerifyBreaches(t *testing.T) {
	for _, e := range iface.Elems {
		for _, pure := range []bool{true, false} {
			for i := range breaches {
				b := &breaches[i]
				if !pure && (b.pure || b.wide && !telling(e)) {
					continue
				}
				t.Run(fmt.Sprintf("%v/%v/%s", e, pure, b.name), func(t *testing.T) {
					b.check(t, e, pure, Options{Workers: 2, Verify: true})
					b.check(t, e, pure, Options{Sequential: true, Verify: true})
				})
			}
		}
	}
}

func (b *breachTest) check(t *testing.T, e iface.Elem, pure bool, o Options) {
	t.Helper()
	rt, j := start(t, o)
	size := int(e.Size())
	codelet := &Codelet{Name: "breaks", Pure: pure, CPU: []Impl{func(c *TaskContext) error {
		var x [][]byte
		for i := range c.NumBuffers() {
			x = append(x, unsafe.Slice((*byte)(c.Buffer(i).Ptr), 8*size))
		}
		b.run(x, size)
		return nil
	}}}
	tasks := 1
	if b.late && !pure && !telling(e) {
		tasks = 8
	}
	for n := range tasks {
		b.once(t, rt, j, e, codelet, n == tasks-1)
	}
}

// once runs one task; the last one must be found out.
func (b *breachTest) once(t *testing.T, rt *Runtime, j *Job, e iface.Elem, codelet *Codelet, last bool) {
	t.Helper()
	size := int(e.Size())
	homes := make([][]byte, len(b.modes))
	spec := TaskSpec{Codelet: codelet}
	for i, m := range b.modes {
		homes[i] = make([]byte, 8*size)
		for k := range 8 {
			homes[i][k*size] = byte(k + 1)
		}
		h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: e, Dims: []int{8}, Home: unsafe.Pointer(&homes[i][0])})
		must(t, err)
		spec.Operands = append(spec.Operands, Operand{Handle: h, Mode: m})
	}
	before := slices.Clone(homes[0])
	task, err := j.SubmitTask(&spec)
	must(t, err)
	must(t, task.Wait(context.Background()))
	var v *VerifyError
	if !last {
		return
	}
	if errors.As(task.Err(), &v) != (b.want != nil) {
		t.Fatalf("the task ends with %v", task.Err())
	}
	if b.modes[0] == iface.R && !slices.Equal(homes[0], before) {
		t.Error("what the kernel did to R data was not undone")
	}
	if v == nil {
		return
	}
	var got []Breach
	for i, g := range v.Breaches {
		if g.Handle != spec.Operands[g.Operand].Handle || g.Mode != b.modes[g.Operand] {
			t.Errorf("operand %d is %v, %v", g.Operand, g.Handle, g.Mode)
		}
		g.Handle, g.Mode = nil, 0
		if i < len(b.want) && g.Result >= 0 && b.want[i].ResultIndex == nil {
			g.ResultIndex = nil // any will do
		}
		got = append(got, g)
	}
	if !reflect.DeepEqual(got, b.want) {
		t.Errorf("found %+v, want %+v", got, b.want)
	}
}

// TestVerifyShares: of two kernels that read the same data at the same time, the
// one that writes it is blamed, and the other one sees what was there.
func TestVerifyShares(t *testing.T) {
	for _, policy := range sched.Names() {
		x := make([]int64, 4)
		rt, j := start(t, Options{Workers: 4, Policy: policy, Verify: true})
		h := ints(t, rt, x)
		var tasks []*Task
		for i := range 40 {
			c := kernel("look", func(c *TaskContext) error {
				for _, v := range iface.Slice[int64](c.Buffer(0)) {
					if v != 0 {
						return errors.New("somebody else's change is seen")
					}
				}
				if i%2 == 0 {
					iface.Slice[int64](c.Buffer(0))[i%4]++
				}
				return nil
			})
			task, err := j.SubmitTask(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.R}}})
			must(t, err)
			tasks = append(tasks, task)
		}
		for i, task := range tasks {
			must(t, task.Wait(context.Background()))
			var v *VerifyError
			if bad := errors.As(task.Err(), &v); bad != (i%2 == 0) || task.Err() != nil && !bad {
				t.Errorf("%s: task %d ends with %v", policy, i, task.Err())
			}
		}
	}
}

// TestVerifyKeepsResults: running a kernel several times adds once.
func TestVerifyKeepsResults(t *testing.T) {
	c := &Codelet{Name: "add", Pure: true, CPU: []Impl{func(c *TaskContext) error {
		for i := range 2 {
			for k := range iface.Slice[int64](c.Buffer(i)) {
				iface.Slice[int64](c.Buffer(i))[k] += int64(k)
			}
		}
		clear(iface.Slice[int64](c.Buffer(2)))
		return nil
	}}}
	for _, o := range []Options{{Workers: 3}, {Workers: 3, Deterministic: true}, {Sequential: true}} {
		o.Verify = true
		rt, j := start(t, o)
		x, r, w := make([]int64, 5), make([]int64, 5), make([]int64, 5)
		hx, hw := ints(t, rt, x), ints(t, rt, w)
		hr, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{5}, Home: unsafe.Pointer(&r[0]), Reduce: datamgr.SumReduction()})
		must(t, err)
		for i := range 30 {
			m := iface.Commute
			if i%3 == 0 {
				m = iface.RW
			}
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: hx, Mode: m}, {Handle: hr, Mode: iface.Redux}, {Handle: hw, Mode: iface.W}}}))
		}
		for _, h := range []*datamgr.Handle{hx, hr} {
			a, err := j.Acquire(context.Background(), h, iface.R)
			must(t, err)
			if got := iface.Slice[int64](a.Buffer()); !slices.Equal(got, []int64{0, 30, 60, 90, 120}) {
				t.Errorf("%+v: %v", o, got)
			}
			must(t, a.Release())
		}
		if fs := j.Failures(); len(fs) > 0 {
			t.Error(fs[0])
		}
	}
}

// TestVerifyImpure: a kernel that says it is pure and is not is not accused of
// reading what it must not.
func TestVerifyImpure(t *testing.T) {
	n := atomic.Int64{}
	rt, j := start(t, Options{Workers: 1, Verify: true})
	x := make([]int64, 3)
	h := ints(t, rt, x)
	task, err := j.SubmitTask(&TaskSpec{Codelet: &Codelet{Name: "count", Pure: true, CPU: []Impl{func(c *TaskContext) error {
		for k := range iface.Slice[int64](c.Buffer(0)) {
			iface.Slice[int64](c.Buffer(0))[k] = n.Add(1)
		}
		return nil
	}}}, Operands: []Operand{{Handle: h, Mode: iface.W}}})
	must(t, err)
	must(t, task.Wait(context.Background()))
	if task.Err() != nil {
		t.Error(task.Err())
	}
	if !slices.Equal(x, []int64{1, 2, 3}) {
		t.Errorf("%v instead of what the first run wrote", x)
	}
}

// TestVerifyParallel: kernels on several workers run once, are watched together,
// and blamed.
func TestVerifyParallel(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		for _, leaves := range []bool{false, true} {
			rt, j := start(t, Options{Workers: 3, Sequential: sequential, Verify: true})
			x := make([]int64, 8)
			c := &Codelet{Name: "ranks", Pure: true, Traits: &Traits{Parallel: SPMD}, CPU: []Impl{func(c *TaskContext) error {
				x := iface.Slice[int64](c.Buffer(0))
				if c.Rank() == 0 && !leaves {
					x[0] = 100
				}
				if err := c.Barrier(); err != nil {
					return err
				}
				for k := 1 + c.Rank(); k < len(x); k += c.Size() {
					x[k] = int64(k)
				}
				return nil
			}}}
			task, err := j.SubmitWith(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: ints(t, rt, x), Mode: iface.W}}}, TaskOptions{Size: 2})
			must(t, err)
			must(t, task.Wait(context.Background()))
			var v *VerifyError
			switch found := errors.As(task.Err(), &v); {
			case found != leaves:
				t.Errorf("sequential %v: %v", sequential, task.Err())
			case found && (v.Breaches[0].Kind != LeavesUnwritten || v.Breaches[0].Count != 1):
				t.Errorf("%+v", v.Breaches)
			case !found && !slices.Equal(x, []int64{100, 1, 2, 3, 4, 5, 6, 7}):
				t.Error(x)
			}
		}
	}
}

// TestVerifyFailures: kernels that fail, panic or end their goroutine do so as
// without verification, and a cancelled job is not accused of anything.
func TestVerifyFailures(t *testing.T) {
	for _, pure := range []bool{false, true} {
		rt, j := start(t, Options{Workers: 2, Verify: true})
		h := ints(t, rt, make([]int64, 3))
		submit := func(fn Impl) *Task {
			task, err := j.SubmitTask(&TaskSpec{Codelet: &Codelet{Name: "fails", Pure: pure, CPU: []Impl{fn}}, Operands: []Operand{{Handle: h, Mode: iface.W}}})
			must(t, err)
			return task
		}
		var v *VerifyError
		var p *PanicError
		task := submit(func(*TaskContext) error { return errKernel })
		must(t, task.Wait(context.Background()))
		if err := task.Err(); !errors.Is(err, errKernel) || errors.As(err, &v) {
			t.Error(err)
		}
		task = submit(func(*TaskContext) error { panic("meant to") })
		must(t, task.Wait(context.Background()))
		if err := task.Err(); !errors.As(err, &p) || errors.As(err, &v) {
			t.Error(err)
		}
		started := make(chan struct{}, 8)
		task = submit(func(c *TaskContext) error {
			started <- struct{}{}
			<-c.Context().Done()
			return nil
		})
		<-started
		j.Cancel(errKernel)
		must(t, task.Wait(context.Background()))
		if err := task.Err(); errors.As(err, &v) {
			t.Error(err)
		}
		_ = j.Failures()
	}
}

// TestVerifyChance: what chance explains is no evidence, and what it does not is.
func TestVerifyChance(t *testing.T) {
	row := func(n int, hit func(i int) bool) []bool {
		out := make([]bool, n)
		for i := range out {
			out[i] = hit(i)
		}
		return out
	}
	for _, tt := range []struct {
		name string
		kept []bool
		bits int
		want bool
	}{
		{"none", row(100, func(int) bool { return false }), 8, true},
		{"one byte of many", row(1000, func(i int) bool { return i == 3 }), 8, true},
		{"as many bytes as chance gives", row(256*100, func(i int) bool { return i%256 == 0 }), 8, true},
		{"every other byte", row(100, func(i int) bool { return i%2 == 0 }), 8, false},
		{"four bytes in a row", row(1000, func(i int) bool { return i >= 500 && i < 504 }), 8, true},
		{"seven bytes in a row", row(1000, func(i int) bool { return i >= 500 && i < 507 }), 8, false},
		{"all of a few bytes", row(6, func(int) bool { return true }), 8, false},
		{"one of 16 bits", row(1, func(int) bool { return true }), 16, true},
		{"two of 32 bits", row(1000, func(i int) bool { return i < 2 }), 32, false},
	} {
		if got := chance(tt.kept, tt.bits); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestVerifyOff: without it nothing of the above is noticed, and a kernel runs once.
func TestVerifyOff(t *testing.T) {
	n := atomic.Int64{}
	rt, j := start(t, Options{Workers: 1})
	h := ints(t, rt, make([]int64, 3))
	must(t, j.Submit(&TaskSpec{Codelet: &Codelet{Name: "nothing", Pure: true, CPU: []Impl{func(*TaskContext) error { n.Add(1); return nil }}},
		Operands: []Operand{{Handle: h, Mode: iface.W}}}))
	must(t, j.Wait(context.Background()))
	if fs := j.Failures(); len(fs) > 0 || n.Load() != 1 {
		t.Error(fs, n.Load())
	}
}
