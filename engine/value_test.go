package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// counts is a value with pointers.
type counts struct {
	words map[string]int
	total *int
}

func (c *counts) add(word string, n int) {
	if c.words == nil {
		c.words, c.total = map[string]int{}, new(int)
	}
	c.words[word] += n
	*c.total += n
}

func (c counts) String() string {
	text := ""
	for _, w := range slices.Sorted(maps.Keys(c.words)) {
		text += fmt.Sprintf("%s=%d ", w, c.words[w])
	}
	return strings.TrimSpace(text)
}

func (c *counts) merge(o *counts) {
	for w, n := range o.words {
		c.add(w, n)
	}
}

func (c counts) Clone() counts {
	var out counts
	out.merge(&c)
	return out
}

// page is a value that can be packed, of a size that its kernels choose.
type page struct {
	data []uint32
}

func (p *page) MarshalBinary() (b []byte, err error) {
	for _, v := range p.data {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b, nil
}

func (p *page) UnmarshalBinary(b []byte) error {
	if len(b)%4 != 0 {
		return fmt.Errorf("%d bytes are no page", len(b))
	}
	p.data = nil
	for ; len(b) > 0; b = b[4:] {
		p.data = append(p.data, binary.LittleEndian.Uint32(b))
	}
	return nil
}

// onObjects calls fn for the kinds of runtimes in which values lie in different ways.
func onObjects(t *testing.T, fn func(t *testing.T, rt *Runtime, j *Job)) {
	for name, o := range map[string]func(t *testing.T) Options{
		"sequential": func(*testing.T) Options { return Options{Sequential: true} },
		"workers":    func(*testing.T) Options { return Options{Workers: 3} },
		"verify":     func(*testing.T) Options { return Options{Workers: 2, Verify: true} },
		"models":     func(t *testing.T) Options { return Options{Workers: 2, Policy: "dmda", PerfDir: t.TempDir()} },
		"devices":    func(*testing.T) Options { return Options{Workers: 2, Devices: simulated(1<<20, 2)} },
		"numa":       func(*testing.T) Options { return Options{Workers: 1, Devices: sockets(1<<20, 2, 0)} },
		"numa, disk": func(t *testing.T) Options {
			return onDisk(t, Options{Workers: 1, Devices: sockets(1<<20, 2, 1)}, 1<<10)
		},
		"disk": func(t *testing.T) Options { return onDisk(t, Options{Workers: 3}, 1<<10) },
		"all":  func(t *testing.T) Options { return onDisk(t, Options{Workers: 2, Devices: simulated(1<<20, 2)}, 1<<10) },
	} {
		t.Run(name, func(t *testing.T) {
			rt, j := start(t, o(t))
			fn(t, rt, j)
		})
	}
}

func TestValueModes(t *testing.T) {
	ctx := context.Background()
	sum := ReduceValue("merge", nil, func(into, from *counts) error { into.merge(from); return nil })
	onObjects(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := got(MakeValue[counts](rt, Name("x"), sum))(t)
		must(t, j.Go(func(c *counts) { c.add("w", 1) }, W(x)))
		for range 3 {
			must(t, j.Go(func(c *counts, n int) { c.add("rw", n) }, RW(x), 2))
		}
		for range 20 {
			must(t, j.Go(func(c *counts, scratch *counts) {
				scratch.add("mine", 1)
				c.add("commute", 1)
			}, Commute(x), Scratch(x)))
		}
		for i := range 20 {
			must(t, j.Go(func(c *counts, i int) { c.add(fmt.Sprint("redux", i%2), 1) }, Redux(x), i))
		}
		text := got(MakeValue[string](rt))(t)
		must(t, j.Go(func(s *string, c *counts) { *s = c.String() }, W(text), R(x)))
		if s := got(text.Value(ctx, j))(t); s != "commute=20 redux0=10 redux1=10 rw=6 w=1" {
			t.Error(s)
		}
		v := got(x.Value(ctx, j))(t)
		v.add("w", 1) // a copy
		a := got(x.Acquire(ctx, j, iface.RW))(t)
		if c := a.Data(); *c.total != 47 || c.words["w"] != 1 {
			t.Error(c, *c.total)
		}
		a.Data().add("acquired", 1)
		must(t, a.Release())
		if a.Data() != nil {
			t.Error("the value is there after Release")
		}
		a = got(x.Acquire(ctx, j, iface.W))(t)
		if a.Data().words != nil {
			t.Error("mode W begins with", a.Data())
		}
		must(t, a.Release())
		if s := got(x.Value(ctx, j))(t).String(); s != "" {
			t.Error(s)
		}
		unregister(t, j, x.Handle, text.Handle)
		var dead *DeadHandleError
		if err := j.Go(func(*counts) {}, R(x)); !errors.As(err, &dead) {
			t.Error(err)
		}
	})
}

// TestValueOrder submits a chain of tasks and readers between them, and compares with the calls one after the other.
func TestValueOrder(t *testing.T) {
	onObjects(t, func(t *testing.T, rt *Runtime, j *Job) {
		const n = 40
		x := got(NewValue(rt, page{}))(t)
		seen := make([]Value[page], n)
		for i := range n {
			seen[i] = got(MakeValue[page](rt))(t)
			must(t, j.Go(func(p *page, i int) { p.data = append(p.data, uint32(i)) }, RW(x), i))
			must(t, j.Go(func(p, s *page) { s.data = slices.Clone(p.data) }, R(x), W(seen[i])))
		}
		for i, s := range seen {
			p := got(s.Value(context.Background(), j))(t)
			if len(p.data) != i+1 || p.data[i] != uint32(i) || p.data[0] != 0 {
				t.Fatal(i, p.data)
			}
		}
	})
}

func TestValueCopies(t *testing.T) {
	ctx := context.Background()
	onObjects(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y := got(NewValue(rt, page{[]uint32{1, 2, 3}}))(t), got(MakeValue[page](rt))(t)
		got(j.Copy(y.Handle, x.Handle, CopyOptions{}))(t)
		must(t, j.Go(func(p *page) { p.data[0] = 9 }, RW(x)))
		if p := got(y.Value(ctx, j))(t); !slices.Equal(p.data, []uint32{1, 2, 3}) {
			t.Error(p)
		}
		b := got(j.Pack(ctx, x.Handle))(t)
		if !slices.Equal(b, []byte{9, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}) {
			t.Error(b)
		}
		must(t, j.Unpack(ctx, y.Handle, b))
		var bad *datamgr.ObjectError
		if err := j.Unpack(ctx, y.Handle, b[:3]); !errors.As(err, &bad) || bad.What != "unpack" {
			t.Error(err)
		}
		if p := got(y.Value(ctx, j))(t); !slices.Equal(p.data, []uint32{9, 2, 3}) {
			t.Error(p)
		}
		z := got(As[Value[page]](got(rt.RegisterLike(x.Handle, DataSpec{Name: "z"}))(t)))(t)
		must(t, j.Go(func(p *page) { p.data = []uint32{7} }, W(z)))
		if p := got(z.Value(ctx, j))(t); p.data[0] != 7 {
			t.Error(p)
		}
	})
}

// TestValueBeyondMainMemory has far more values than main memory takes.
func TestValueBeyondMainMemory(t *testing.T) {
	const n, words, limit = 40, 250, 5000 // five values fit
	size := Interface[page]{Size: func(p *page) int64 { return 24 + 4*int64(len(p.data)) }}
	for _, policy := range []string{"lws", "eager", "dmda"} {
		rt, j := start(t, onDisk(t, Options{Workers: 3, Policy: policy, PerfDir: t.TempDir()}, limit))
		xs := make([]Value[page], n)
		for i := range xs {
			xs[i] = got(MakeValue[page](rt, size))(t)
			must(t, j.Go(func(p *page, i int) { p.data = slices.Repeat([]uint32{uint32(i)}, words) }, W(xs[i]), i))
		}
		for round := range 3 {
			for i := range xs {
				must(t, j.Go(func(p, q *page) {
					for k := range p.data {
						p.data[k] += q.data[k]
					}
				}, RW(xs[i]), R(xs[(i+7+round)%n])))
			}
		}
		want := make([]uint32, n)
		for i := range want {
			want[i] = uint32(i)
		}
		for round := range 3 {
			for i := range want {
				want[i] += want[(i+7+round)%n]
			}
		}
		for i, x := range xs {
			p := got(x.Value(context.Background(), j))(t)
			if len(p.data) != words || p.data[0] != want[i] || p.data[words-1] != want[i] {
				t.Fatalf("%s: value %d is %d times %d, want %d", policy, i, len(p.data), p.data[0], want[i])
			}
		}
		if s := rt.Stats().Nodes[0]; s.Evictions == 0 {
			t.Errorf("%s: nothing went to the disk", policy)
		}
		for _, x := range xs {
			unregister(t, j, x.Handle)
		}
	}
}

// TestValueThatCannotBePacked fails tasks that need room, and loses no value.
func TestValueThatCannotBePacked(t *testing.T) {
	fails := errors.New("no")
	size := Interface[page]{Size: func(*page) int64 { return 600 }, Copy: func(dst, src *page) error { *dst = page{slices.Clone(src.data)}; return nil }, Unpack: func(*page, []byte) error { return nil },
		Pack: func(p *page) ([]byte, error) {
			if p.data[0] == 3 {
				panic("cannot")
			}
			return nil, fails
		}}
	rt, j := start(t, onDisk(t, Options{Workers: 2}, 1000))
	var xs []Value[page]
	var tasks []*Task
	for i := range 4 {
		x := got(MakeValue[page](rt, size))(t)
		xs = append(xs, x)
		tasks = append(tasks, got(j.GoTask(func(p *page, i int) { p.data = []uint32{uint32(i)} }, W(x), i))(t))
	}
	must(t, j.Wait(context.Background()))
	failed := 0
	for i, task := range tasks {
		if err := task.Err(); err != nil {
			failed++
			continue
		}
		if a := got(xs[i].Acquire(context.Background(), j, iface.R)); task.Err() == nil {
			acquired := a(t)
			if acquired.Data().data[0] != uint32(i) {
				t.Error(acquired.Data())
			}
			must(t, acquired.Release())
		}
	}
	if failed == 0 {
		t.Error("all tasks found room")
	}
}

func TestValueErrors(t *testing.T) {
	ctx := context.Background()
	rt, j := start(t, Options{Workers: 2, Devices: simulated(1<<20, 1)})
	x := got(NewValue(rt, map[string]int{}, Name("x")))(t)
	ro := got(NewValue(rt, counts{}, ReadOnly()))(t)
	v := got(MakeVector[float64](rt, 3, Name("v"), Fill(1)))(t)
	far := &Codelet{Name: "far", On: map[string][]Impl{"opencl": {func(*TaskContext) error { return nil }}}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{j.Go(func(*counts) {}, R(x)), "is `x` (Value[map[string]int]); the parameter, of type *engine.counts, takes a Value[engine.counts]"},
		{j.Go(func([]float64) {}, R(x)), "takes a Vector[float64]"},
		{j.Go(func(*map[string]int) {}, R(v)), "is `v` (vector[f64] of 3), a Vector[float64]; the parameter, of type *map[string]int, takes a Value[map[string]int]"},
		{j.Go(func(*map[string]int) {}, x), "without its access mode"},
		{j.Go(func(*map[string]int) {}, &map[string]int{}), "as by engine.NewValue(rt, v)"},
		{j.Submit(&TaskSpec{Codelet: Func("f", func(*counts) {}), Operands: []Operand{R(x)}}), "operand 0 of codelet f must be a Value[engine.counts], and got `x` (Value[map[string]int])"},
		{j.Go(func(*counts) {}, RW(ro)), "read-only"},
		{j.Go(func(*map[string]int) {}, Redux(x)), "reduc"},
		{j.Submit(&TaskSpec{Codelet: far, Operands: []Operand{R(x)}}), "no worker can run far"},
		{j.Go(func(*map[string]int) {}, R(x), Node(1)), "is `x` (Value[map[string]int]), which is in main memory only"},
		{second(rt.Partition(x.Handle, filter.Blocks(2))), "have no parts"},
		{second(j.Pack(ctx, x.Handle)), "nothing says how to pack"},
		{second(j.Copy(x.Handle, got(MakeValue[map[string]int](rt))(t).Handle, CopyOptions{})), "nothing says how to copy"},
		{second(j.Copy(x.Handle, ro.Handle, CopyOptions{})), "different types"},
		{second(j.Duplicate(x.Handle)), "Job.Copy"},
		{second(x.Value(ctx, j)), "use Acquire"},
		{second(j.AcquireWith(ctx, x.Handle, iface.R, AcquireOptions{Node: 1})), "main memory only"},
		{second(As[Value[string]](x.Handle)), "is no Value[string]"},
		{second(NewValue(rt, 1.5)), "use NewVariable"},
		{second(NewValue(rt, 1)), "Variable[int64]"},
		{second(NewValue(rt, x)), "cannot be data"},
		{second(NewValue(rt, "a", Stride(2))), "data with elements"},
		{second(NewValue(rt, "a", ReduceSum)), "ReduceValue"},
		{second(NewValue(rt, "a", Interface[counts]{})), "is for values of type engine.counts"},
		{second(NewValue(rt, counts{}, Interface[counts]{Pack: func(*counts) ([]byte, error) { return nil, nil }})), "Pack and Unpack, or neither"},
		{second(NewValue[string](nil, "a")), "the runtime is nil"},
		{second(rt.Register(DataSpec{Kind: iface.Object})), "needs a type"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v\n\twant: %s", c.err, c.want)
		}
	}
	must(t, j.Wait(ctx))
	y := got(MakeValue[string](rt))(t)
	var none *UninitError
	if _, err := y.Value(ctx, j); !errors.As(err, &none) {
		t.Error(err)
	}
	failed := got(j.GoTask(func(*string) error { return errors.New("no") }, W(y)))(t)
	must(t, failed.Wait(ctx))
	var lost *FailedDataError
	if _, err := y.Value(ctx, j); !errors.As(err, &lost) {
		t.Error(err)
	}
}

// TestValueStaysOnCPUWorkers has tasks with a value and a vector that a device could take.
func TestValueStaysOnCPUWorkers(t *testing.T) {
	for _, policy := range sched.Names() {
		rt, j := start(t, Options{Workers: 1, Policy: policy, Devices: simulated(1<<20, 2), PerfDir: t.TempDir()})
		x := got(NewValue(rt, map[int]bool{}))(t)
		v := got(MakeVector[float64](rt, 8, Fill(0)))(t)
		for range 30 {
			must(t, j.Go(func(c *TaskContext, ran *map[int]bool, v []float64) {
				(*ran)[c.Worker()] = true
				v[0]++
			}, RW(x), RW(v)))
			must(t, j.Go(func(v []float64) { v[1]++ }, RW(v)))
		}
		a := got(x.Acquire(context.Background(), j, iface.R))(t)
		for w := range *a.Data() {
			if info, _ := rt.Worker(w); info.Node != 0 {
				t.Errorf("%s: worker %d had it", policy, w)
			}
		}
		must(t, a.Release())
		if s := got(v.Value(context.Background(), j))(t); s[0] != 30 || s[1] != 30 {
			t.Errorf("%s: %v", policy, s)
		}
	}
}

// TestValueFootprints keeps measurements of short and long values apart.
func TestValueFootprints(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Policy: "dmda", PerfDir: t.TempDir()})
	byLength := Interface[page]{Footprint: func(p *page) uint32 { return uint32(len(p.data)) }}
	x := got(NewValue(rt, page{[]uint32{1, 2}}, byLength))(t)
	if d := x.Desc(); d.Base != 2 {
		t.Error(d.Base)
	}
	work := Func("work", func(p *page) { p.data = append(p.data, 1, 1) })
	for range 3 {
		must(t, j.Run(context.Background(), work, RW(x)))
	}
	if d := x.Desc(); d.Base != 6 { // as the last kernel found it
		t.Error(d.Base)
	}
}

// TestValueDeterministic combines contributions in a fixed order.
func TestValueDeterministic(t *testing.T) {
	list := ReduceValue("append", nil, func(into, from *[]string) error { *into = append(*into, *from...); return nil })
	want := ""
	for i, o := range []Options{{Sequential: true}, {Workers: 1}, {Workers: 4}, onDisk(t, Options{Workers: 2}, 1<<12)} {
		rt, err := New(o)
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{Deterministic: true})
		x := got(NewValue(rt, []string{"first"}, list))(t)
		for k := range 50 {
			must(t, j.Go(func(s *[]string, k int) { *s = append(*s, fmt.Sprint(k)) }, Redux(x), k))
		}
		a := got(x.Acquire(context.Background(), j, iface.R))(t)
		text := strings.Join(*a.Data(), " ")
		must(t, a.Release())
		if i == 0 {
			want = text
		}
		if text != want || len(strings.Fields(text)) != 51 {
			t.Errorf("%d: %s, want %s", i, text, want)
		}
		must(t, j.Close())
		must(t, rt.Close())
	}
}
