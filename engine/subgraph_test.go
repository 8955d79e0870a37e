package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// A task ends with its sub-graph, which comes after its kernel and before
// whatever was submitted behind it.
func TestSubgraph(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{1, 1, 1, 1}
		x := ints(t, rt, v)
		var l logged
		step := func(name string, fn func(int64) int64) *Codelet {
			return kernel(name, func(c *TaskContext) error {
				l.add("%s", name)
				s := iface.Slice[int64](c.Buffer(0))
				for i := range s {
					s[i] = fn(s[i])
				}
				return nil
			})
		}
		g := j.NewGate()
		owner, err := j.SubmitWith(&TaskSpec{After: []Dependency{g}, Operands: ops(iface.RW, x), Codelet: kernel("owner", func(c *TaskContext) error {
			sub, err := c.Subgraph()
			if err != nil {
				return err
			}
			halves, err := sub.Partition(0, filter.Blocks(2))
			if err != nil {
				return err
			}
			for i, p := range halves.Parts {
				if err := sub.Submit(&TaskSpec{Codelet: step(fmt.Sprint("double", i), func(x int64) int64 { return 2 * x }), Operands: ops(iface.RW, p)}); err != nil {
					return err
				}
			}
			if err := sub.Submit(&TaskSpec{Codelet: step("plus", func(x int64) int64 { return x + 10 }), Operands: ops(iface.RW, x)}); err != nil {
				return err
			}
			l.add("owner")
			s := iface.Slice[int64](c.Buffer(0))
			for i := range s {
				s[i] += int64(i)
			}
			return nil
		})}, TaskOptions{
			Epilogue: func(*Task) error { l.add("epilogue"); return nil },
			Callback: func(*Task) error { l.add("callback"); return nil },
		})
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: step("negate", func(x int64) int64 { return -x }), Operands: ops(iface.RW, x)}))
		explicit, err := j.SubmitTask(&TaskSpec{Codelet: kernel("explicit", func(*TaskContext) error { l.add("explicit"); return nil }), After: []Dependency{owner}})
		must(t, err)
		must(t, j.Unregister(x)) // the sub-graph does not mind
		g.Open()
		must(t, owner.Wait(context.Background()))
		must(t, explicit.Wait(context.Background()))
		must(t, j.Wait(context.Background()))
		if fs := j.Failures(); len(fs) > 0 {
			t.Fatal(fs)
		}
		if !slices.Equal(v, []int64{-12, -14, -16, -18}) {
			t.Error(v)
		}
		l.before(t, "owner", "double0 double1")
		l.before(t, "double0 double1", "plus")
		l.before(t, "plus", "epilogue")
		l.before(t, "epilogue", "callback negate explicit")
	})
}

// node is a task of a random program with sub-graphs, on the elements lo to hi.
type node struct {
	name      string
	lo, hi    int
	mode      iface.AccessMode
	mul, plus int64
	sub       []*node
}

func randomNode(r *rand.Rand, name string, lo, hi, depth int) *node {
	n := &node{name: name, lo: lo, hi: hi, mode: iface.RW, mul: 1 + r.Int64N(3), plus: r.Int64N(10)}
	if r.IntN(4) == 0 {
		n.mode = iface.R
	}
	if n.mode == iface.RW && depth > 0 {
		for i := range r.IntN(5) {
			a := lo + r.IntN(hi-lo)
			n.sub = append(n.sub, randomNode(r, fmt.Sprint(name, ".", i), a, a+1+r.IntN(hi-a), depth-1))
		}
	}
	return n
}

// do is what the node means: saw collects what its tasks read.
func (n *node) do(x []int64, saw map[string]int64) {
	saw[n.name] = n.body(x[n.lo:n.hi])
	for _, s := range n.sub {
		s.do(x, saw)
	}
}

func (n *node) body(x []int64) (sum int64) {
	for i := range x {
		sum = sum*31 + x[i]
		if n.mode != iface.R {
			x[i] = (x[i]*n.mul + n.plus + int64(i)) % 1000003
		}
	}
	return sum
}

func (n *node) codelet(mu *logged, saw map[string]int64) *Codelet {
	return kernel(n.name, func(c *TaskContext) error {
		sum := n.body(iface.Slice[int64](c.Buffer(0)))
		mu.mu.Lock()
		saw[n.name] = sum
		mu.mu.Unlock()
		if len(n.sub) == 0 {
			return nil
		}
		sub, err := c.Subgraph()
		if err != nil {
			return err
		}
		for _, s := range n.sub {
			v, err := sub.Partition(0, filter.BlockSizes(sizes(n, s)))
			if err != nil {
				return err
			}
			p := v.Parts[0]
			if s.lo > n.lo {
				p = v.Parts[1]
			}
			if err := sub.Submit(&TaskSpec{Codelet: s.codelet(mu, saw), Operands: ops(s.mode, p)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// sizes are those of the pieces into which s cuts n.
func sizes(n, s *node) (out []int) {
	for _, k := range []int{s.lo - n.lo, s.hi - s.lo, n.hi - s.hi} {
		if k > 0 {
			out = append(out, k)
		}
	}
	return out
}

// Random programs with sub-graphs give what reading them gives.
func TestRandomSubgraphs(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 7))
			const n = 12
			want := make([]int64, n)
			for i := range want {
				want[i] = int64(i)
			}
			got := slices.Clone(want)
			x := ints(t, rt, got)
			halves, err := rt.Partition(x, filter.Blocks(2))
			must(t, err)
			var log logged
			saw, expect := map[string]int64{}, map[string]int64{}
			for i := range 12 {
				lo, hi, h := 0, n, x
				if k := r.IntN(3); k < 2 {
					lo, hi, h = k*n/2, (k+1)*n/2, halves.Parts[k]
				}
				root := randomNode(r, fmt.Sprint(i), lo, hi, 3)
				root.do(want, expect)
				_, err := j.SubmitTask(&TaskSpec{Codelet: root.codelet(&log, saw), Operands: ops(root.mode, h)})
				must(t, err)
			}
			must(t, j.Wait(context.Background()))
			if fs := j.Failures(); len(fs) > 0 {
				t.Fatal(fs)
			}
			if !slices.Equal(got, want) || len(saw) != len(expect) {
				t.Fatalf("seed %d: %v, want %v; %d tasks, want %d", seed, got, want, len(saw), len(expect))
			}
			for k, v := range expect {
				if saw[k] != v {
					t.Fatalf("seed %d: task %s saw %d, want %d", seed, k, saw[k], v)
				}
			}
			must(t, j.Unregister(x))
		}
	})
}

// The journal knows where tasks of a sub-graph belong.
func TestSubgraphJournal(t *testing.T) {
	for _, o := range []Options{{Workers: 4}, {Sequential: true}} {
		log := &Journal{}
		o.Listener = log
		rt, j := start(t, o)
		x := ints(t, rt, make([]int64, 2))
		owner := kernel("owner", func(c *TaskContext) error {
			sub, err := c.Subgraph()
			for range 5 {
				err = errors.Join(err, sub.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
			}
			return err
		})
		g := j.NewGate()
		for range 5 {
			_, err := j.SubmitTask(&TaskSpec{Codelet: owner, Operands: ops(iface.RW, x), After: []Dependency{g}})
			must(t, err)
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		}
		g.Open()
		must(t, j.Wait(context.Background()))
		must(t, log.Check())
		nested := 0
		for _, e := range log.Entries() {
			if e.Kind == TaskSubmitted && e.Parent != 0 {
				nested++
			}
		}
		if nested != 25 {
			t.Error(nested)
		}
		must(t, j.Unregister(x))
	}
}

// A sub-graph that fails cancels what needs its outputs, and what waits for the
// owner explicitly; one whose owner fails does not run.
func TestSubgraphFails(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, make([]int64, 4))
		halves, err := rt.Partition(x, filter.Blocks(2))
		must(t, err)
		ran := false
		var kids []*Task
		submit := func(fail error, codelets ...*Codelet) *Task {
			k, err := j.SubmitTask(&TaskSpec{Operands: ops(iface.RW, x), Codelet: kernel("owner", func(c *TaskContext) error {
				sub, err := c.Subgraph()
				for _, cl := range codelets {
					k, e := sub.SubmitWith(&TaskSpec{Codelet: cl, Operands: ops(iface.RW, halves.Parts[0])}, TaskOptions{})
					kids = append(kids, k)
					err = errors.Join(err, e)
				}
				return errors.Join(err, fail)
			})})
			must(t, err)
			return k
		}
		run := kernel("run", func(*TaskContext) error { ran = true; return nil })
		owner := submit(nil, bad, run)
		after, err := j.SubmitTask(&TaskSpec{Codelet: nop, After: []Dependency{owner}})
		must(t, err)
		must(t, after.Wait(context.Background()))
		for _, k := range append(kids, owner, after) {
			must(t, k.Wait(context.Background()))
			if err := k.Err(); !errors.Is(err, errBoom) {
				t.Error(err)
			}
		}
		readable(t, j, halves.Parts[1], 0)
		lostBy(t, j, halves.Parts[0], kids[0].ID())
		if ran {
			t.Error("ran on lost data")
		}
		must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.W, x)}))
		kids = nil
		owner = submit(errBoom, run)
		must(t, owner.Wait(context.Background()))
		if ran || !errors.Is(owner.Err(), errBoom) || !errors.Is(kids[0].Err(), errBoom) {
			t.Error(ran, owner.Err(), kids[0].Err())
		}
		must(t, j.Wait(context.Background()))
		j.Failures()
	})
}

// TestSubgraphErrors: a call that a sub-graph does not allow returns an error that says
// what to do.
func TestSubgraphErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y, z := ints(t, rt, make([]int64, 4)), ints(t, rt, make([]int64, 4)), ints(t, rt, make([]int64, 4))
		must(t, rt.SetReduction(x, datamgr.SumReduction()))
		halves, err := rt.Partition(z, filter.Blocks(2))
		must(t, err)
		other, err := j.SubmitTask(&TaskSpec{Codelet: nop})
		must(t, err)
		var leaked *Subgraph
		got := map[string]error{}
		owner, err := j.SubmitTask(&TaskSpec{Operands: ops(iface.RW, x, iface.R, y, iface.R, halves.Parts[0], iface.R, halves.Parts[1]), Codelet: kernel("owner", func(c *TaskContext) error {
			g, err := c.Subgraph()
			if err != nil {
				return err
			}
			leaked = g
			for name, s := range map[string]*TaskSpec{
				"writes what is read":  {Operands: ops(iface.RW, y)},
				"between two operands": {Operands: ops(iface.R, z)},
				"redux":                {Operands: ops(iface.Redux, x)},
				"unordered":            {Operands: []Operand{{Handle: x, Mode: iface.RW, Unordered: true}}},
				"all unordered":        {Operands: ops(iface.RW, x), Unordered: true},
				"waits for outsiders":  {After: []Dependency{other}},
				"waits for the owner":  {After: []Dependency{c.Task()}},
			} {
				s.Codelet = nop
				got[name] = g.Submit(s)
			}
			_, got["no such operand"] = g.Partition(4, filter.Blocks(2))
			var rep *RepeatError
			if _, err := g.SubmitWith(&TaskSpec{Codelet: nop}, TaskOptions{Repeat: Forever}); !errors.As(err, &rep) {
				t.Error(err)
			}
			k, err := g.SubmitWith(&TaskSpec{Codelet: nop, Operands: ops(iface.RW, x, iface.R, y, iface.R, halves.Parts[1])}, TaskOptions{})
			if err != nil {
				return err
			}
			got["end waits for outsiders"] = k.AddEndDependency(other)
			return g.Submit(&TaskSpec{Codelet: nop, After: []Dependency{k}})
		})})
		must(t, err)
		must(t, owner.Wait(context.Background()))
		must(t, owner.Err())
		got["after the end"] = leaked.Submit(&TaskSpec{Codelet: nop})
		_, got["partition after the end"] = leaked.Partition(0, filter.Blocks(2))
		outside := ints(t, rt, make([]int64, 1))
		must(t, j.Submit(&TaskSpec{Codelet: kernel("forgotten", func(c *TaskContext) error {
			_, got["owner forgotten"] = c.Subgraph()
			return nil
		})}))
		must(t, j.Wait(context.Background())) // both kernels write to got
		k, err := j.SubmitTask(&TaskSpec{Operands: ops(iface.RW, x), Codelet: kernel("owner", func(c *TaskContext) error {
			g, err := c.Subgraph()
			got["data of others"] = g.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, outside)})
			return err
		})})
		must(t, err)
		must(t, k.Wait(context.Background()))
		must(t, j.Wait(context.Background()))
		if len(got) != 13 {
			t.Error(len(got))
		}
		for name, err := range got {
			var e *SubgraphError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), " ") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if fs := j.Failures(); len(fs) > 0 {
			t.Error(fs)
		}
	})
}

// A sub-graph that waits for a gate is found when nothing else goes on, and
// cancelled with its job.
func TestSubgraphStuck(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, make([]int64, 1))
		g := j.NewGate()
		owner, err := j.SubmitTask(&TaskSpec{Operands: ops(iface.RW, x), Codelet: kernel("owner", func(c *TaskContext) error {
			sub, err := c.Subgraph()
			if err != nil {
				return err
			}
			return errors.Join(
				sub.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}}),
				sub.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		})})
		must(t, err)
		later, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)})
		must(t, err)
		for _, k := range []*Task{owner, later} {
			stuckOn(t, k.Wait(context.Background()), g, nil)
		}
		stuckOn(t, j.WaitHandles(context.Background(), x), g, nil)
		_, err = j.Acquire(context.Background(), x, iface.R)
		stuckOn(t, err, g, nil)
		j.Cancel(errBoom)
		must(t, later.Wait(context.Background()))
		if err := owner.Err(); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		must(t, j.Wait(context.Background()))
	})
}

// A duplicate that the owner reads is the same for its sub-graph, also when what it
// duplicates has been written since by a task that comes after the owner.
func TestSubgraphReadsDuplicate(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{1, 1}
		x := ints(t, rt, v)
		d := dup(t, j, x)
		var got []int64
		look := kernel("look", func(c *TaskContext) error {
			got = append(got, iface.Slice[int64](c.Buffer(0))...)
			return nil
		})
		k, err := j.SubmitTask(&TaskSpec{Operands: ops(iface.R, d), Codelet: kernel("owner", func(c *TaskContext) error {
			sub, err := c.Subgraph()
			if err != nil {
				return err
			}
			first, err := sub.SubmitWith(&TaskSpec{Operands: ops(iface.R, d), Codelet: look}, TaskOptions{})
			if err != nil {
				return err
			}
			if err := j.Submit(&TaskSpec{Operands: ops(iface.RW, x), Codelet: incs}); err != nil {
				return err
			}
			return sub.Submit(&TaskSpec{Operands: ops(iface.R, d), Codelet: look, After: []Dependency{first}})
		})})
		must(t, err)
		must(t, j.Wait(context.Background()))
		must(t, k.Err())
		if !slices.Equal(got, []int64{1, 1, 1, 1}) || v[0] != 2 {
			t.Error(got, v)
		}
		readable(t, j, d, 1)
		must(t, j.Unregister(d))
	})
}
