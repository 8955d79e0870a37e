package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// wild returns values of very different magnitudes: every order of adding them
// up gives other bits.
func wild(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Ldexp(r.Float64()-0.5, r.IntN(120)-60)
	}
	return x
}

// treeSum adds leaves in the fixed tree: leaf 0 is the old value, NaN for none.
func treeSum(leaves []float64) float64 {
	size := 1
	for size < len(leaves) {
		size *= 2
	}
	var node func(lo, n int) (float64, bool)
	node = func(lo, n int) (float64, bool) {
		if lo >= len(leaves) {
			return 0, false
		}
		if n == 1 {
			return leaves[lo], !math.IsNaN(leaves[lo])
		}
		a, okA := node(lo, n/2)
		b, okB := node(lo+n/2, n/2)
		switch {
		case !okA:
			return b, okB
		case !okB:
			return a, true
		}
		return a + b, true
	}
	v, _ := node(0, size)
	return v
}

func floats(t testing.TB, rt *Runtime, kind iface.Kind, n int, home []float64, r *datamgr.Reduction) *datamgr.Handle {
	t.Helper()
	s := DataSpec{Kind: kind, Elem: iface.F64, Reduce: r}
	if kind == iface.Vector {
		s.Dims = []int{n}
	}
	if home != nil {
		s.Home = unsafe.Pointer(unsafe.SliceData(home))
	}
	h, err := rt.Register(s)
	must(t, err)
	return h
}

// addF adds its argument to every element, times the element's number plus 1.
var addF = kernel("addF", func(c *TaskContext) error {
	for i := range iface.Slice[float64](c.Buffer(0)) {
		iface.Slice[float64](c.Buffer(0))[i] += c.Arg(0).Float() * float64(i+1)
	}
	return nil
})

// stepF does not commute: x = x/3 + a.
var stepF = kernel("stepF", func(c *TaskContext) error {
	for i := range iface.Slice[float64](c.Buffer(0)) {
		iface.Slice[float64](c.Buffer(0))[i] = iface.Slice[float64](c.Buffer(0))[i]/3 + c.Arg(0).Float()
	}
	return nil
})

// TestDeterministicTree lets contributions run in many orders, forced by gates,
// and compares with the tree computed here.
func TestDeterministicTree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 21; n++ {
		for _, old := range []bool{false, true} {
			add := wild(r, n)
			leaves := append([]float64{math.NaN()}, add...)
			if old {
				leaves[0] = wild(r, 1)[0]
			}
			want := treeSum(leaves)
			for trial := range 4 {
				order := r.Perm(n)
				if trial == 0 {
					slices.Sort(order)
				}
				if got := reduceIn(t, order, add, leaves[0]); math.Float64bits(got) != math.Float64bits(want) {
					t.Fatalf("%d contributions, old value %v, run in the order %v: %v, want %v", n, leaves[0], order, got, want)
				}
			}
		}
	}
}

// reduceIn runs the contributions in the given order.
func reduceIn(t *testing.T, order []int, add []float64, old float64) float64 {
	t.Helper()
	rt, err := New(Options{Workers: 2})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{Deterministic: true})
	h := floats(t, rt, iface.Variable, 1, nil, datamgr.SumReduction())
	if !math.IsNaN(old) {
		must(t, j.Submit(&TaskSpec{Codelet: kernel("set", func(c *TaskContext) error {
			iface.Slice[float64](c.Buffer(0))[0] = old
			return nil
		}), Operands: []Operand{{Handle: h, Mode: iface.W}}}))
	}
	gates, tasks := make([]*Gate, len(add)), make([]*Task, len(add))
	for i, v := range add {
		gates[i] = j.NewGate()
		tasks[i], err = j.SubmitTask(&TaskSpec{Codelet: addF, Args: []iface.Scalar{iface.Float(v)},
			Operands: []Operand{{Handle: h, Mode: iface.Redux}}, After: []Dependency{gates[i]}})
		must(t, err)
	}
	for _, i := range order {
		gates[i].Open()
		must(t, tasks[i].Wait(context.Background()))
	}
	got := readF(t, j, h)[0]
	must(t, j.Unregister(h))
	must(t, j.Close())
	if a := rt.Nodes()[0].Allocated; a != 0 {
		t.Errorf("%d bytes of copies are left", a)
	}
	must(t, rt.Close())
	return got
}

func readF(t testing.TB, j *Job, h *datamgr.Handle) []float64 {
	t.Helper()
	a, err := j.Acquire(context.Background(), h, iface.R)
	must(t, err)
	out := slices.Clone(iface.Slice[float64](a.Buffer()))
	must(t, a.Release())
	return out
}

// TestDeterministicCommute opens the gates of commuting tasks in another order
// than that of their submission.
func TestDeterministicCommute(t *testing.T) {
	add := wild(rand.New(rand.NewPCG(3, 4)), 9)
	want := 0.0
	for _, v := range add {
		want = want/3 + v
	}
	for trial := range 5 {
		x := make([]float64, 1)
		rt, j := start(t, Options{Workers: 3, Deterministic: true})
		h := floats(t, rt, iface.Vector, 1, x, nil)
		gates := make([]*Gate, len(add))
		for i, v := range add {
			gates[i] = j.NewGate()
			must(t, j.Submit(&TaskSpec{Codelet: stepF, Args: []iface.Scalar{iface.Float(v)},
				Operands: []Operand{{Handle: h, Mode: iface.Commute}}, After: []Dependency{gates[i]}}))
		}
		for _, i := range rand.New(rand.NewPCG(5, uint64(trial))).Perm(len(add)) {
			gates[i].Open()
		}
		if got := readF(t, j, h)[0]; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// fuzzed runs a random program over float data and returns its final bits.
func fuzzed(t *testing.T, seed uint64, o Options) []uint64 {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	rt, err := New(o)
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{Deterministic: true})
	const n, data = 12, 3
	var whole, all []*datamgr.Handle
	for range data {
		h := floats(t, rt, iface.Vector, n, wild(r, n), datamgr.SumReduction())
		whole, all = append(whole, h), append(all, h)
		v, err := rt.Partition(h, filter.Blocks(2))
		must(t, err)
		all = append(all, v.Parts...)
	}
	lazy := floats(t, rt, iface.Vector, n, nil, datamgr.SumReduction())
	whole, all = append(whole, lazy), append(all, lazy)
	written := false
	for range 120 {
		h := all[r.IntN(len(all))]
		mode, c := iface.Redux, addF
		switch {
		case h == lazy && !written: // it has no value yet
			written = true
		default:
			switch r.IntN(6) {
			case 0:
				mode, c = iface.RW, stepF
			case 1, 2:
				mode, c = iface.Commute, stepF
			}
		}
		v := wild(r, 1)[0]
		must(t, j.Submit(&TaskSpec{Codelet: c, Args: []iface.Scalar{iface.Float(v)}, Priority: r.IntN(5) - 2,
			Operands: []Operand{{Handle: h, Mode: mode}}}))
	}
	var bits []uint64
	for _, h := range whole {
		if h == lazy && !written {
			continue
		}
		for _, v := range readF(t, j, h) {
			bits = append(bits, math.Float64bits(v))
		}
	}
	must(t, j.Close())
	must(t, rt.Close())
	return bits
}

func TestDeterministicPrograms(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		want := fuzzed(t, seed, Options{Sequential: true})
		for _, policy := range sched.Names() {
			for _, workers := range []int{1, 2, 3, 4, 8} {
				for repeat := range 2 {
					if got := fuzzed(t, seed, Options{Workers: workers, Policy: policy}); !slices.Equal(got, want) {
						t.Fatalf("seed %d: %s with %d workers, run %d, gives other bits than the sequential run", seed, policy, workers, repeat)
					}
				}
			}
		}
	}
}

// TestDeterministicFailures: a lost contribution takes the group with it, an
// error of the reduction is reported, and no memory stays behind.
func TestDeterministicFailures(t *testing.T) {
	boom := kernel("boom", func(*TaskContext) error { return errKernel })
	bad := &datamgr.Reduction{Name: "bad", Init: datamgr.SumReduction().Init,
		Combine: func(into, from *iface.Buffer) error { return errKernel }}
	for _, sequential := range []bool{false, true} {
		for _, red := range []*datamgr.Reduction{datamgr.SumReduction(), bad} {
			rt, err := New(Options{Workers: 2, Sequential: sequential, Deterministic: true})
			must(t, err)
			j := rt.NewJob(context.Background(), JobOptions{})
			h := floats(t, rt, iface.Vector, 4, nil, red)
			for i := range 10 {
				c := addF
				if i == 4 && red != bad {
					c = boom
				}
				must(t, j.Submit(&TaskSpec{Codelet: c, Args: []iface.Scalar{iface.Float(1)}, Operands: []Operand{{Handle: h, Mode: iface.Redux}}}))
			}
			if a, err := j.Acquire(context.Background(), h, iface.R); err == nil {
				t.Error("the value of a group with a lost contribution can be read")
				must(t, a.Release())
			}
			must(t, j.Submit(&TaskSpec{Codelet: kernel("zero", func(c *TaskContext) error {
				clear(iface.Slice[float64](c.Buffer(0)))
				return nil
			}), Operands: []Operand{{Handle: h, Mode: iface.W}}}))
			if got := readF(t, j, h); !slices.Equal(got, make([]float64, 4)) {
				t.Error("after writing it again:", got)
			}
			must(t, j.Unregister(h))
			must(t, j.Close())
			if a := rt.Nodes()[0].Allocated; a != 0 {
				t.Errorf("%d bytes of copies are left", a)
			}
			must(t, rt.Close())
		}
	}
}

// Contributions are combined from left to right, in the order of submission:
// concatenation is associative, and not commutative.
func TestDeterministicOrder(t *testing.T) {
	concat := &datamgr.Reduction{Name: "concat",
		Init: func(b *iface.Buffer) error { clear(iface.Slice[int64](b)); return nil },
		Combine: func(into, from *iface.Buffer) error { // a number and how many digits it has
			x, y := iface.Slice[int64](into), iface.Slice[int64](from)
			for range y[1] {
				x[0] *= 10
			}
			x[0], x[1] = x[0]+y[0], x[1]+y[1]
			return nil
		}}
	for _, o := range allConfigs() {
		o.Deterministic = true
		rt, j := start(t, o)
		for n := range int64(10) {
			x := []int64{7, 1}
			h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{2}, Home: ptr(x), Reduce: concat})
			must(t, err)
			want := int64(7)
			for k := range n {
				want = want*10 + k
				must(t, j.Submit(&TaskSpec{Codelet: kernel("digit", func(c *TaskContext) error {
					b := iface.Slice[int64](c.Buffer(0))
					b[0], b[1] = b[0]*10+k, b[1]+1
					return nil
				}), Operands: []Operand{{Handle: h, Mode: iface.Redux}}}))
			}
			must(t, j.Unregister(h))
			must(t, j.Wait(context.Background()))
			if x[0] != want || x[1] != n+1 {
				t.Errorf("%+v: %v, want %d", o, x, want)
			}
		}
	}
}

// TestDeterministicTryAcquire: TryAcquire ends the group of contributions, whether it
// gets the data or not, so a program that ignores ErrBusy computes the same bits.
func TestDeterministicTryAcquire(t *testing.T) {
	add := wild(rand.New(rand.NewPCG(1, 2)), 24)
	sum := func(o Options, busy bool) uint64 {
		o.Deterministic = true
		rt, j := start(t, o)
		h := floats(t, rt, iface.Variable, 1, nil, datamgr.SumReduction())
		g := j.NewGate()
		for i, v := range add {
			must(t, j.Submit(&TaskSpec{Codelet: kernel("add", func(c *TaskContext) error {
				iface.Slice[float64](c.Buffer(0))[0] += v
				return nil
			}), Operands: ops(iface.Redux, h), After: []Dependency{g}}))
			if i%7 != 4 {
				continue
			}
			if !busy {
				g.Open()
				must(t, j.WaitHandles(context.Background(), h))
			}
			if a, err := j.TryAcquire(h, iface.R); err == nil {
				must(t, a.Release())
			}
		}
		g.Open()
		return math.Float64bits(readF(t, j, h)[0])
	}
	want := sum(Options{Sequential: true}, false)
	for _, o := range allConfigs() {
		for _, busy := range []bool{false, true} {
			if got := sum(o, busy); got != want {
				t.Errorf("%s, %d workers, busy %t: %x, want %x", o.Policy, o.Workers, busy, got, want)
			}
		}
	}
}
