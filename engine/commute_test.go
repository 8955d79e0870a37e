package engine

// Commuting overwrites: W in any order, see CommuteW.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// storer submits tasks that note their names when they run.
type storer struct {
	*testing.T
	rt *Runtime
	j  *Job
	mu sync.Mutex
	at []string
}

// submit submits a task that waits for the gate, nil for none, and stores n in what it may write.
func (l *storer) submit(name string, n int64, g *Gate, ops ...Operand) *Task {
	s := TaskSpec{Name: name, Operands: ops, Codelet: kernel("store", func(c *TaskContext) error {
		l.mu.Lock()
		l.at = append(l.at, name)
		l.mu.Unlock()
		for i := range c.NumBuffers() {
			if !c.Mode(i).Writes() {
				continue
			}
			for k := range iface.Slice[int64](c.Buffer(i)) {
				iface.Slice[int64](c.Buffer(i))[k] = n
			}
		}
		if n < 0 {
			return errKernel
		}
		return nil
	})}
	if g != nil {
		s.After = []Dependency{g}
	}
	t, err := l.j.SubmitTask(&s)
	must(l, err)
	return t
}

// order returns the names of the tasks that have run.
func (l *storer) order() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.at)
}

// none registers n elements without a value.
func (l *storer) none(n int) *datamgr.Handle {
	h, err := l.rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{n}})
	must(l, err)
	return h
}

func (l *storer) read(h *datamgr.Handle) []int64 {
	a, err := l.j.Acquire(context.Background(), h, iface.R)
	must(l, err)
	defer a.Release()
	return slices.Clone(iface.Slice[int64](a.Buffer()))
}

// commuting calls fn for various runtimes.
func commuting(t *testing.T, fn func(l *storer)) {
	for _, o := range []Options{{Workers: 1}, {Workers: 4}, {Workers: 2, Policy: "prio"}, {Workers: 2, Policy: "eager", Poison: true}, {Sequential: true}} {
		t.Run(fmt.Sprintf("%d %s", o.Workers, o.Policy), func(t *testing.T) {
			l := &storer{T: t}
			l.rt, l.j = start(t, o)
			fn(l)
		})
	}
}

// TestCommuteW: overwrites of data without a value run as they become ready, and that of the last one stays.
func TestCommuteW(t *testing.T) {
	commuting(t, func(l *storer) {
		h, g := l.none(3), l.j.NewGate()
		first := l.submit("first", 1, g, op(h, iface.CommuteW))
		must(t, l.submit("second", 2, nil, op(h, iface.CommuteW)).Wait(context.Background()))
		must(t, l.submit("third", 3, nil, op(h, iface.CommuteW)).Wait(context.Background()))
		g.Open()
		if got := l.read(h); !slices.Equal(got, []int64{1, 1, 1}) {
			l.Error(got)
		}
		must(t, first.Wait(context.Background()))
		if got := l.order(); !slices.Equal(got, []string{"second", "third", "first"}) {
			l.Error(got)
		}
	})
}

// TestCommuteWOrder: what comes before and after a group of overwrites is ordered with all of it, COMMUTE included,
// whichever part of the data it uses.
func TestCommuteWOrder(t *testing.T) {
	for _, m := range []iface.AccessMode{iface.R, iface.W, iface.RW, iface.Commute} {
		for _, part := range []bool{false, true} {
			commuting(t, func(l *storer) {
				h := ints(t, l.rt, make([]int64, 4))
				v, err := l.rt.Partition(h, filter.BlocksHalo(2, 1))
				must(t, err)
				other := h
				if part {
					other = v.Parts[0]
				}
				g, late := l.j.NewGate(), l.j.NewGate()
				before := l.submit("before", 1, g, op(other, m))
				a := l.submit("a", 2, late, op(h, iface.CommuteW))
				b := l.submit("b", 3, nil, op(v.Parts[0], iface.CommuteW))
				after := l.submit("after", 4, nil, op(other, m))
				if !l.rt.opt.Sequential {
					for _, k := range []*Task{before, a, b, after} {
						if k.State() != StateWaiting {
							l.Errorf("%v: %v", m, k.State())
						}
					}
				}
				g.Open()
				must(t, b.Wait(context.Background()))
				if after.State() != StateWaiting {
					l.Errorf("%v: the one after is %v", m, after.State())
				}
				late.Open()
				want := int64(2)
				if m.Writes() {
					want = 4
				}
				if got := l.read(h); got[0] != want || got[3] != map[bool]int64{false: want, true: 2}[part] {
					l.Errorf("%v: %v", m, got)
				}
				must(t, after.Wait(context.Background()))
				if got := l.order(); !slices.Equal(got, []string{"before", "b", "a", "after"}) {
					l.Errorf("%v: %v", m, got)
				}
			})
		}
	}
}

// TestCommuteWSeveral: a task that overwrites several pieces of data has all of them for itself, and one that also reads or
// changes what it overwrites has its place in the order.
func TestCommuteWSeveral(t *testing.T) {
	j := &Journal{}
	rt, job := start(t, Options{Workers: 4, Listener: j})
	x, y := ints(t, rt, make([]int64, 6)), ints(t, rt, make([]int64, 6))
	v, err := rt.Partition(x, filter.BlocksHalo(2, 1))
	must(t, err)
	c := kernel("same", func(c *TaskContext) error {
		first := iface.Slice[int64](c.Buffer(0))
		for i := range c.NumBuffers() {
			if s := iface.Slice[int64](c.Buffer(i)); c.Mode(i) == iface.CommuteW {
				for k := range s {
					s[k] = c.Args()[0].Int()
				}
			}
		}
		for k := range first { // that nothing has come between
			if first[k] != c.Args()[0].Int() {
				return fmt.Errorf("it has %d in element %d", first[k], k)
			}
		}
		return nil
	})
	sets := [][]Operand{
		ops(iface.CommuteW, x, iface.CommuteW, y), ops(iface.CommuteW, y, iface.CommuteW, v.Parts[1]), ops(iface.CommuteW, v.Parts[0]),
		ops(iface.CommuteW, v.Parts[0], iface.CommuteW, v.Parts[1]), ops(iface.CommuteW, x, iface.R, v.Parts[0]), ops(iface.CommuteW, y, iface.Commute, x),
	}
	for i := range 300 {
		must(t, job.Submit(&TaskSpec{Codelet: c, Operands: sets[i*i%7%len(sets)], Args: []iface.Scalar{iface.Int(int64(i))}}))
	}
	must(t, job.Wait(context.Background()))
	for _, f := range job.Failures() {
		t.Error(f)
	}
	if err := j.Check(); err != nil {
		t.Error(err)
	}
}

// TestCommuteWDeterministic opens the gates of overwrites in another order than that of their submission.
func TestCommuteWDeterministic(t *testing.T) {
	rt, err := New(Options{Workers: 3})
	must(t, err)
	defer rt.Close()
	l := &storer{T: t, rt: rt, j: rt.NewJob(context.Background(), JobOptions{Deterministic: true})}
	defer l.j.Close()
	h := l.none(2)
	var gates []*Gate
	for i := range int64(6) {
		gates = append(gates, l.j.NewGate())
		l.submit(fmt.Sprint(i), i, gates[i], op(h, iface.CommuteW))
	}
	for _, g := range slices.Backward(gates) {
		g.Open()
	}
	if got := l.read(h); got[0] != 5 {
		t.Error(got)
	}
	if got := l.order(); !slices.IsSorted(got) {
		t.Error(got)
	}
}

// outcomeOf waits for a task and returns why it failed.
func outcomeOf(k *Task) error {
	if err := k.Wait(context.Background()); err != nil {
		return err
	}
	return k.Err()
}

// TestCommuteWFails: of a group with a task that fails, or is cancelled, the data is what the one that came last made of it.
func TestCommuteWFails(t *testing.T) {
	for _, last := range []string{"fails", "cancelled", "stores"} {
		commuting(t, func(l *storer) {
			h, lost, g := ints(t, l.rt, make([]int64, 2)), ints(t, l.rt, make([]int64, 1)), l.j.NewGate()
			l.submit("spoils", -1, nil, op(lost, iface.RW))
			l.submit("spoils too", -1, nil, op(h, iface.RW))
			gate := func(name string) *Gate { // that the last one waits for
				if name == last {
					return g
				}
				return nil
			}
			others := []*Task{
				l.submit("fails", -1, gate("fails"), op(h, iface.CommuteW)),
				l.submit("cancelled", 7, gate("cancelled"), op(h, iface.CommuteW), op(lost, iface.R)),
				l.submit("stores", 8, gate("stores"), op(h, iface.CommuteW)),
			}
			for i, k := range others {
				if []string{"fails", "cancelled", "stores"}[i] != last {
					if err := outcomeOf(k); (err == nil) != (i == 2) {
						l.Errorf("task %d: %v", i, err)
					}
				}
			}
			g.Open()
			reader := l.submit("reader", 0, nil, op(h, iface.R))
			var gone *TaskError
			switch err := outcomeOf(reader); {
			case last == "stores" && err != nil, last != "stores" && !errors.As(err, &gone):
				l.Errorf("with %s last the reader has %v", last, err)
			}
			if last == "stores" {
				if got := l.read(h); got[0] != 8 {
					l.Error(got)
				}
			}
		})
	}
}

// TestCommuteWModes: which tasks may have data as CommuteW.
func TestCommuteWModes(t *testing.T) {
	rt, j := start(t, Options{Workers: 2, Verify: true})
	h, lo := ints(t, rt, make([]int64, 2)), make([]int64, 2)
	ro, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{2}, Home: ptr(lo), ReadOnly: true})
	must(t, err)
	declares := func(m iface.AccessMode) *Codelet {
		return &Codelet{Name: "declares", Modes: []iface.AccessMode{m}, CPU: incs.CPU}
	}
	for _, m := range []iface.AccessMode{iface.R, iface.RW, iface.Scratch} {
		var e *ModeError
		if err := j.Submit(&TaskSpec{Codelet: declares(m), Operands: ops(iface.CommuteW, h)}); !errors.As(err, &e) || e.Want != m {
			t.Errorf("declared %v: %v", m, err)
		}
	}
	var e *ModeError
	if err := j.Submit(&TaskSpec{Codelet: declares(iface.W), Operands: ops(iface.Commute, h)}); !errors.As(err, &e) || e.Want != iface.W {
		t.Errorf("Commute of an operand that is W: %v", err)
	}
	if err := j.Submit(&TaskSpec{Codelet: &Codelet{Name: "none", Traits: &Traits{Nowhere: true}}, Operands: ops(iface.CommuteW, h)}); !errors.As(err, &e) {
		t.Errorf("without a kernel: %v", err)
	}
	var r *ReadOnlyError
	if err := j.Submit(&TaskSpec{Codelet: declares(iface.W), Operands: ops(iface.CommuteW, ro)}); !errors.As(err, &r) {
		t.Errorf("of read-only data: %v", err)
	}
	// a kernel that reads what it has is found out, as if it had it W
	reads := declares(iface.W)
	reads.Pure = true
	k, err := j.SubmitTask(&TaskSpec{Codelet: reads, Operands: ops(iface.CommuteW, h)})
	must(t, err)
	var v *VerifyError
	if err := outcomeOf(k); !errors.As(err, &v) || v.Breaches[0].Kind != ReadsUnset {
		t.Errorf("a kernel that reads: %v", err)
	}
	x, err := MakeVector[int64](rt, 2)
	must(t, err)
	must(t, j.Go(func(x []int64) { x[0], x[1] = 4, 4 }, CommuteW(x)))
	readable(t, j, x.Untyped(), 4)
}
