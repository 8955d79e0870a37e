package cluster

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

var (
	soak = flag.Duration("soak", 0, "run random programs for this long")
	seed = flag.Uint64("seed", 1, "first seed of the random programs")
)

// runner is what a random program runs on: a job of several ranks, or one of the engine.
type runner interface {
	// filled registers data whose element at is first + at*at.
	filled(rt *engine.Runtime, spec engine.DataSpec, first int64) (*datamgr.Handle, error)
	submit(s *submission) error
	acquire(h *datamgr.Handle, mode iface.AccessMode) (*engine.Access, error)
	unregister(h *datamgr.Handle) error
	wait() error
}

// submission is a task of a random program.
type submission struct {
	ops   []engine.Operand
	args  []iface.Scalar
	on    int   // the rank that it names, below 0 for none
	keep  bool  // later tasks may wait for it
	after []int // tasks that were kept, counted from 0, and that it waits for
}

type alone struct {
	j    *engine.Job
	kept *[]*engine.Task
}

func (a alone) submit(s *submission) error {
	spec := engine.TaskSpec{Codelet: codelet, Operands: s.ops, Args: s.args}
	for _, k := range s.after {
		spec.After = append(spec.After, (*a.kept)[k])
	}
	if !s.keep {
		return a.j.Submit(&spec)
	}
	t, err := a.j.SubmitTask(&spec)
	*a.kept = append(*a.kept, t)
	return err
}
func (a alone) acquire(h *datamgr.Handle, mode iface.AccessMode) (*engine.Access, error) {
	return a.j.Acquire(context.Background(), h, mode)
}

func (a alone) filled(rt *engine.Runtime, spec engine.DataSpec, first int64) (*datamgr.Handle, error) {
	return rt.RegisterFilled(spec, func(b *iface.Buffer) error {
		each(b, func(at int, x *int64) { *x = first + int64(at*at) })
		return nil
	})
}
func (a alone) unregister(h *datamgr.Handle) error { return a.j.Unregister(h) }
func (a alone) wait() error                        { return a.j.Wait(context.Background()) }

type several struct {
	j    *Job
	kept *[]*Ticket
}

func (s several) submit(n *submission) error {
	if !n.keep {
		return s.j.Submit(s.task(n))
	}
	_, err := s.keep(n)
	return err
}

func (s several) task(n *submission) *Task {
	t := &Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: n.ops, Args: n.args}}
	if n.on >= 0 {
		t.On = 1 + n.on%s.j.Size()
	}
	t.Ssend = n.args[0].Int()%4 == 0
	for _, k := range n.after {
		t.AfterTickets = append(t.AfterTickets, (*s.kept)[k])
	}
	return t
}

func (s several) keep(n *submission) (*Ticket, error) {
	t, err := s.j.SubmitTask(s.task(n), engine.TaskOptions{})
	if n.keep {
		*s.kept = append(*s.kept, t)
	}
	return t, err
}

func (s several) acquire(h *datamgr.Handle, mode iface.AccessMode) (*engine.Access, error) {
	return s.j.Acquire(context.Background(), h, mode, engine.AcquireOptions{})
}

// filled registers data of fixed size as from a file.
func (s several) filled(rt *engine.Runtime, spec engine.DataSpec, first int64) (*datamgr.Handle, error) {
	if spec.Capacity != nil {
		return alone{}.filled(rt, spec, first)
	}
	return s.j.RegisterFrom(spec, newSquares(first))
}
func (s several) unregister(h *datamgr.Handle) error { return s.j.Unregister(h) }
func (s several) wait() error                        { return s.j.Wait(context.Background()) }

// each calls fn with the elements of b and their places in the whole. A bag has those of its list, and arrays have one for each 8 bytes.
func each(b *iface.Buffer, fn func(at int, x *int64)) {
	switch b.Kind {
	case iface.Object:
		for i := range (*bag)(b.Ptr).list {
			fn(i, &(*bag)(b.Ptr).list[i])
		}
		return
	case iface.Arrays:
		for i := range b.Len() / 8 {
			fn(i, (*int64)(unsafe.Add(b.Ptr, 8*i)))
		}
		return
	}
	base, step := b.Number()
	for i := range b.Len() {
		at, off := base, 0
		for axis, rest := int(b.Rank)-1, i; axis >= 0; axis-- {
			at += rest % b.Dim[axis] * step[axis]
			off += rest % b.Dim[axis] * b.Stride[axis]
			rest /= b.Dim[axis]
		}
		fn(at, (*int64)(unsafe.Add(b.Ptr, 8*off)))
	}
}

// ended has the kept tasks that have ended, by the run of a program in this process and their number.
var ended sync.Map

// mix is the kernel of all tasks: what it writes depends on all that it reads, and on the places of elements. Its arguments are a number, that of its
// failure, the run in this process, its number of those that are kept, and those of the tasks before it.
func mix(c *engine.TaskContext) error {
	s := c.Arg(0).Int()
	world := int64(0)
	if len(c.Args()) > 2 {
		world = c.Arg(2).Int()
	}
	for i := 4; world > 0 && i < len(c.Args()); i++ {
		if _, ok := ended.Load([2]int64{world, c.Arg(i).Int()}); !ok {
			return fmt.Errorf("began before the end of task %d", c.Arg(i).Int())
		}
	}
	for i := range c.NumBuffers() {
		if m := c.Mode(i); m == iface.R || m == iface.RW {
			each(c.Buffer(i), func(at int, x *int64) { s = s*31 + *x ^ int64(at) })
		}
	}
	for i := range c.NumBuffers() {
		switch b := c.Buffer(i); {
		case b.Kind == iface.Object:
			(*bag)(b.Ptr).grow(c.Mode(i), s)
		case c.Mode(i) == iface.W || c.Mode(i) == iface.RW:
			resize(b, c.Room(i).Desc, s, func(dims []int) error { return c.Resize(i, dims...) })
		}
		switch c.Mode(i) {
		case iface.W, iface.Scratch:
			each(c.Buffer(i), func(at int, x *int64) { *x = s + int64(at*7) })
		case iface.RW:
			each(c.Buffer(i), func(at int, x *int64) { *x = *x*5 + s ^ int64(at) })
		case iface.Commute, iface.Redux:
			each(c.Buffer(i), func(at int, x *int64) { *x += s + int64(at) })
		}
	}
	if n := c.Arg(1).Int(); n != 0 {
		return fmt.Errorf("bad %d.", n)
	}
	if world > 0 {
		ended.Store([2]int64{world, c.Arg(3).Int()}, true)
	}
	return nil
}

// cause is what a task that fails says, in the error of data that was lost, here or on another rank.
var cause = regexp.MustCompile(`bad \d+\.`)

// lost is what a program sees instead of a value that was lost: the number of the task that failed, or -1.
func lost(err error) ([]int64, error) {
	var gone *engine.FailedDataError
	if !errors.As(err, &gone) {
		return nil, err
	}
	n := int64(-1)
	_, _ = fmt.Sscanf(cause.FindString(err.Error()), "bad %d", &n)
	return []int64{-1, n}, nil
}

// program is a random program: the same for all runners.
type program struct {
	seed  uint64
	steps int
	fails bool // some tasks fail

	world int64 // the number of the run on ranks of this process, from 1; 0: it is another
}

// exact reports whether the cause of lost values is the same in all runs: no tasks contribute that could each be it.
func (p program) exact() bool { return p.fails && p.seed%4 == 0 }

// outcome is what a program sees.
type outcome struct {
	values   [][]int64
	failures []string // of tasks, that the values do not show
}

// add adds the failures of a job.
func (o *outcome) add(j *engine.Job) {
	for _, f := range j.Failures() {
		o.failures = append(o.failures, cause.FindString(f.Error()))
	}
	slices.Sort(o.failures)
}

// run runs p and returns all values that it saw.
func (p program) run(rt *engine.Runtime, on runner) (seen [][]int64, err error) {
	r := rand.New(rand.NewPCG(p.seed, 77))
	var data []*datamgr.Handle           // whole
	parts := map[int][]*datamgr.Handle{} // of each, with the whole
	filled := map[*datamgr.Handle]bool{}
	register := func() error {
		if k := r.IntN(8); k < 2 {
			h, err := registerKind(rt, r, k == 0)
			if err == nil {
				parts[len(data)] = []*datamgr.Handle{h}
				data = append(data, h)
			}
			return err
		}
		dims := [][]int{{1 + r.IntN(40)}, {1 + r.IntN(9), 1 + r.IntN(9)}, {1 + r.IntN(4), 1 + r.IntN(4), 1 + r.IntN(5)}}[r.IntN(3)]
		spec := engine.DataSpec{Kind: iface.KindOf(len(dims)), Elem: iface.I64, Dims: dims}
		if r.IntN(3) == 0 {
			spec.Owner = 1 + r.IntN(10)
		}
		if r.IntN(4) == 0 {
			for k, n := range dims {
				spec.Capacity = append(spec.Capacity, n)
				spec.Dims = append(spec.Dims[:k:k], r.IntN(1+n))
			}
		}
		var h *datamgr.Handle
		var err error
		if r.IntN(3) == 0 {
			h, err = rt.Register(spec)
		} else {
			first := r.Int64N(1000)
			h, err = on.filled(rt, spec, first)
			filled[h] = true
		}
		if err != nil {
			return err
		}
		if spec.Capacity == nil {
			if err := rt.SetReduction(h, datamgr.SumReduction()); err != nil {
				return err
			}
		}
		data = append(data, h)
		parts[len(data)-1] = []*datamgr.Handle{h}
		return nil
	}
	written := map[*datamgr.Handle]bool{} // whole data with a value everywhere
	bad, kept := int64(0), 0
	args := func(n int64) []iface.Scalar {
		fails := int64(0)
		if p.fails && r.IntN(12) == 0 {
			bad++
			fails = bad
		}
		return []iface.Scalar{iface.Int(n), iface.Int(fails)}
	}
	see := func(h *datamgr.Handle) error {
		a, err := on.acquire(h, iface.R)
		if err != nil {
			v, err := lost(err)
			seen = append(seen, v)
			return err
		}
		var v []int64
		each(a.Buffer(), func(_ int, x *int64) { v = append(v, *x) })
		seen = append(seen, v)
		return a.Release()
	}
	for range 2 + r.IntN(4) {
		if err := register(); err != nil {
			return nil, err
		}
	}
	for _, h := range data {
		written[h] = h.Initialised() || filled[h]
	}
	// Data without a value is written before it is read.
	full := func(i int) error {
		if h := data[i]; !written[h] {
			written[h] = true
			return on.submit(&submission{ops: []engine.Operand{{Handle: h, Mode: iface.W}}, args: append(args(3), iface.Int(0)), on: -1})
		}
		return nil
	}
	for range p.steps {
		i := r.IntN(len(data))
		switch k := r.IntN(20); {
		case k == 0: // a view
			h := parts[i][r.IntN(len(parts[i]))]
			d := h.Desc()
			if d.Kind == iface.Object || d.Kind == iface.Arrays { // they have no parts
				continue
			}
			var f filter.Filter
			axis := r.IntN(int(d.Rank))
			n := d.Dim[axis]
			switch {
			case d.Rank >= 2 && r.IntN(2) == 0:
				counts := make([]int, d.Rank)
				for k := range counts {
					counts[k] = 1 + r.IntN(min(3, d.Dim[k]))
				}
				f = filter.TilesN(counts, 0)
			case r.IntN(3) == 0 && n >= 4:
				f = filter.Axis(axis, 2, 1)
			default:
				f = filter.Axis(axis, 1+r.IntN(min(4, n)), 0)
			}
			var o engine.ViewOptions
			if r.IntN(3) == 0 {
				s, err := f.Split(d)
				if err != nil {
					return nil, err
				}
				for range s.Dims {
					o.Grid = append(o.Grid, 1+r.IntN(3))
				}
			}
			v, err := rt.PartitionWith(o, h, f)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", d.String(), err)
			}
			parts[i] = append(parts[i], v.Parts...)
		case k == 1:
			if err := full(i); err != nil {
				return nil, err
			}
			if err := see(parts[i][r.IntN(len(parts[i]))]); err != nil {
				return nil, err
			}
		case k == 2:
			if err := full(i); err != nil {
				return nil, err
			}
			a, err := on.acquire(parts[i][r.IntN(len(parts[i]))], iface.RW)
			if err != nil {
				v, err := lost(err)
				if err != nil {
					return nil, err
				}
				seen = append(seen, v)
				continue
			}
			resize(a.Buffer(), a.Handle().Desc(), int64(p.seed), func(dims []int) error { return a.Resize(dims...) })
			each(a.Buffer(), func(at int, x *int64) { *x = *x*3 + int64(at) })
			if err := a.Release(); err != nil {
				return nil, err
			}
		case k == 3 && r.IntN(3) == 0:
			if err := on.wait(); err != nil {
				return nil, err
			}
		default:
			var ops []engine.Operand
			var used []*datamgr.Handle
			for range 1 + r.IntN(3) {
				i := r.IntN(len(data))
				h := parts[i][r.IntN(len(parts[i]))]
				if slices.ContainsFunc(used, h.Overlaps) {
					continue
				}
				mode := []iface.AccessMode{iface.R, iface.R, iface.W, iface.RW, iface.RW, iface.Commute, iface.Redux, iface.Redux}[r.IntN(8)]
				if p.fails && mode == iface.Commute || (p.exact() || h.Resizable()) && mode == iface.Redux {
					mode = iface.RW // tasks that commute lose what they use if another one fails before
				}
				if mode != iface.W && (mode != iface.Redux || h != data[i]) {
					if err := full(i); err != nil {
						return nil, err
					}
				}
				if h == data[i] && mode.Writes() {
					written[h] = true
				}
				used, ops = append(used, h), append(ops, engine.Operand{Handle: h, Mode: mode})
			}
			target := -1
			if r.IntN(4) == 0 {
				target = r.IntN(100)
			}
			for range 1 + r.IntN(3)*r.IntN(2) {
				n := &submission{ops: ops, args: append(args(r.Int64N(100)), iface.Int(p.world), iface.Int(int64(kept))), on: target, keep: r.IntN(3) == 0}
				for kept > 0 && r.IntN(4) == 0 && (len(n.after) == 0 || !p.exact()) { // with two that fail, either is the cause
					k := max(0, kept-1-r.IntN(8))
					n.after, n.args = append(n.after, k), append(n.args, iface.Int(int64(k)))
				}
				if n.keep {
					kept++
				}
				if err := on.submit(n); err != nil {
					return nil, err
				}
			}
		}
	}
	for i, h := range data {
		if err := full(i); err != nil {
			return nil, err
		}
		if err := see(h); err != nil {
			return nil, err
		}
		if err := on.unregister(h); err != nil {
			return nil, err
		}
	}
	return seen, on.wait()
}

var codelet = &engine.Codelet{Name: "mix", CPU: []engine.Impl{mix}}

// alone returns what p sees in a sequential run.
func (p program) alone() (seen outcome) {
	rt, err := engine.New(engine.Options{Sequential: true})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	j := rt.NewJob(context.Background(), engine.JobOptions{})
	defer j.Close()
	if seen.values, err = p.run(rt, alone{j, &[]*engine.Task{}}); err != nil {
		panic(fmt.Sprintf("seed %d, alone: %v", p.seed, err))
	}
	seen.add(j)
	return seen
}

// onRank runs p as one rank, and returns what is wrong: it did not see want, or a call failed.
func (p program) onRank(want outcome, comm Comm) string {
	rt, err := engine.New(engine.Options{Workers: 1 + comm.Rank()%2})
	if err != nil {
		return err.Error()
	}
	j := NewJob(context.Background(), rt, comm, Options{JobOptions: engine.JobOptions{DetectStuck: true}}) // TestMain has rank 0 ask for waits that never end all the time
	var seen outcome
	seen.values, err = p.run(rt, several{j, &[]*Ticket{}})
	at := fmt.Sprintf("seed %d, rank %d of %d: ", p.seed, comm.Rank(), comm.Size())
	if err != nil {
		return at + err.Error()
	}
	seen.add(j.Local())
	all, err := j.Gather(context.Background(), []byte(strings.Join(seen.failures, "\n")))
	if err != nil {
		return at + err.Error()
	}
	seen.failures = strings.Fields(strings.ReplaceAll(string(bytes.Join(all, []byte("\n"))), "bad ", "bad"))
	for i := range seen.failures {
		seen.failures[i] = strings.Replace(seen.failures[i], "bad", "bad ", 1)
	}
	slices.Sort(seen.failures)
	if err := j.Close(); err != nil {
		return at + err.Error()
	}
	if err := rt.Close(); err != nil {
		return at + err.Error()
	}
	if !p.exact() { // any cause will do
		for i, v := range want.values {
			if i < len(seen.values) && len(v) == 2 && v[0] == -1 && len(seen.values[i]) == 2 && seen.values[i][1] > 0 {
				seen.values[i][1] = v[1]
			}
		}
		seen.failures = want.failures
	}
	for i, v := range want.values {
		if i >= len(seen.values) || !slices.Equal(v, seen.values[i]) {
			return fmt.Sprintf("%ssaw\n%v, want\n%v, from %d on", at, seen.values, want.values, i)
		}
	}
	if !slices.Equal(seen.failures, want.failures) {
		return fmt.Sprintf("%sfailures %q, want %q", at, seen.failures, want.failures)
	}
	return ""
}

// worlds counts the runs of programs on ranks of this process.
var worlds atomic.Int64

func (p program) check(t *testing.T, size int) {
	t.Helper()
	want, ends := p.alone(), Local(size)
	p.world = worlds.Add(1)
	defer ended.Clear()
	var group sync.WaitGroup
	for r := range size {
		group.Go(func() {
			if bad := p.onRank(want, ends[r]); bad != "" {
				t.Error(bad)
			}
		})
	}
	group.Wait()
}

// TestRandomPrograms runs random programs on 1 to 7 ranks, half of them with tasks that fail: each rank sees the values of a sequential run, which
// values are lost, and why.
func TestRandomPrograms(t *testing.T) {
	n, end := *seed, time.Now().Add(*soak)
	for more := true; more; n++ {
		p := program{seed: n, steps: 20 + int(n%80), fails: n%2 == 0}
		p.check(t, []int{1, 2, 3, 4, 7}[n%5])
		if t.Failed() {
			return
		}
		more = n < *seed+100 || time.Now().Before(end)
	}
	t.Logf("%d programs", n-*seed)
}
