package engine

// Hammer tests: programs in which nearly everything goes wrong, all at once. Their
// results depend on the schedule, so the tests compare no values. They check the
// invariants of every schedule: conflicting accesses never meet, all additions are there,
// every task ends once, waits return, nothing is left behind.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// hammered is a vector that records its users and the sums added to it.
type hammered struct {
	home    []int64
	users   []atomic.Int32 // by element: readers, or -1
	added   []atomic.Int64
	exact   bool // added says what is in home
	modes   []iface.AccessMode
	free    bool            // accesses may be unordered
	handles []hammeredPart  // alive
	views   []*datamgr.View // of the whole
	h       *datamgr.Handle
}

type hammeredPart struct {
	h    *datamgr.Handle
	lo   int
	view *datamgr.View // nil: the whole
}

// use marks the elements of a part as used in mode m, and undo unmarks them.
func (d *hammered) use(lo, n int, m iface.AccessMode, undo bool) (ok bool) {
	ok = true
	for i := lo; i < lo+n; i++ {
		switch {
		case m == iface.R && !undo:
			ok = d.users[i].Add(1) > 0 && ok
		case m == iface.R:
			d.users[i].Add(-1)
		case !undo:
			ok = d.users[i].CompareAndSwap(0, -1) && ok
		default:
			ok = d.users[i].CompareAndSwap(-1, 0) && ok
		}
	}
	return ok
}

type hammerOp struct {
	d         *hammered
	part      hammeredPart
	mode      iface.AccessMode
	unordered bool
}

type hammer struct {
	r     *rand.Rand
	rt    *Runtime
	jobs  []*Job
	data  []*hammered
	gates []*Gate
	holds []*Access
	kept  []*Task

	ran  atomic.Int64
	mu   sync.Mutex
	bad  []string
	errs atomic.Int64 // submissions that were refused
}

func (m *hammer) fail(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bad = append(m.bad, fmt.Sprintf(format, args...))
}

// body makes a kernel that uses its operands and ends in the given way.
func (m *hammer) body(ops []hammerOp, ends, yields int, inner func()) *Codelet {
	var once atomic.Bool
	return kernel("hammer", func(c *TaskContext) error {
		m.ran.Add(1)
		if !once.CompareAndSwap(false, true) {
			m.fail("a kernel ran twice")
		}
		for i, o := range ops {
			if o.mode < iface.Redux && !o.d.use(o.part.lo, c.Buffer(i).Len(), o.mode, false) {
				m.fail("a kernel meets others: %v", o.mode)
			}
		}
		mark := int64(m.ran.Load())
		for i, o := range ops {
			if o.mode == iface.Scratch {
				for k := range c.Buffer(i).Len() {
					*element(c.Buffer(i), k) = mark
				}
			}
		}
		for range yields {
			runtime.Gosched()
		}
		for i, o := range ops {
			for k := range c.Buffer(i).Len() {
				p := element(c.Buffer(i), k)
				switch {
				case o.mode == iface.Scratch && *p != mark:
					m.fail("somebody else used private memory")
				case o.mode == iface.W:
					*p = 0
				case o.mode == iface.RW, o.mode == iface.Commute:
					*p++
					o.d.added[o.part.lo+k].Add(1)
				case o.mode == iface.Redux && ends == 0:
					*p++
					o.d.added[o.part.lo+k].Add(1)
				}
			}
		}
		if inner != nil {
			inner()
		}
		for i, o := range ops {
			if o.mode < iface.Redux && !o.d.use(o.part.lo, c.Buffer(i).Len(), o.mode, true) {
				m.fail("others met a kernel: %v", o.mode)
			}
		}
		switch ends {
		case 1:
			return errKernel
		case 2:
			panic("meant to")
		case 3:
			runtime.Goexit()
		}
		return nil
	})
}

func (m *hammer) pick(d *hammered) hammeredPart { return d.handles[m.r.IntN(len(d.handles))] }

// task submits a task; depth bounds the tasks that submit tasks.
func (m *hammer) task(depth int) {
	r := m.r
	var ops []hammerOp
	for _, i := range r.Perm(len(m.data))[:1+r.IntN(2)] {
		d := m.data[i]
		o := hammerOp{d: d, part: m.pick(d), mode: d.modes[r.IntN(len(d.modes))]}
		o.unordered = d.free && o.mode < iface.Commute && r.IntN(4) == 0
		ops = append(ops, o)
	}
	ends := 0
	if r.IntN(6) == 0 {
		ends = 1 + r.IntN(3)
	}
	for _, o := range ops {
		if o.mode == iface.Redux && o.d.exact {
			ends = 0
		}
	}
	job := m.jobs[r.IntN(len(m.jobs))]
	var inner func()
	if depth > 0 && r.IntN(12) == 0 {
		var specs []*TaskSpec
		for range 1 + r.IntN(3) {
			s, _ := m.spec(ops[:1], 0, r.IntN(3), nil)
			specs = append(specs, s)
		}
		inner = func() {
			for _, s := range specs {
				if job.Submit(s) != nil {
					m.errs.Add(1)
				}
			}
		}
	}
	s, kept := m.spec(ops, ends, r.IntN(4), inner)
	if !kept {
		if job.Submit(s) != nil {
			m.errs.Add(1)
		}
		return
	}
	t, err := job.SubmitTask(s)
	if err != nil {
		m.errs.Add(1)
		return
	}
	m.kept = append(m.kept, t)
}

func (m *hammer) spec(ops []hammerOp, ends, yields int, inner func()) (s *TaskSpec, kept bool) {
	r := m.r
	s = &TaskSpec{Codelet: m.body(ops, ends, yields, inner)}
	for _, o := range ops {
		s.Operands = append(s.Operands, Operand{Handle: o.part.h, Mode: o.mode, Unordered: o.unordered})
	}
	switch r.IntN(12) {
	case 0:
		s.Priority = r.IntN(5) - 2
	case 1:
		s.Workers = []int{r.IntN(m.rt.Workers())}
	case 2:
		g := m.jobs[0].NewGate()
		m.gates = append(m.gates, g)
		s.After = append(s.After, g)
	case 3:
		if len(m.kept) > 0 {
			s.After = append(s.After, m.kept[r.IntN(len(m.kept))])
		}
	}
	return s, r.IntN(4) == 0
}

// view declares a view of a part, or ends one.
func (m *hammer) view() {
	r := m.r
	d := m.data[r.IntN(len(m.data))]
	if len(d.views) > 4 || len(d.views) > 0 && r.IntN(3) == 0 {
		k := r.IntN(len(d.views))
		v := d.views[k]
		d.views = append(d.views[:k], d.views[k+1:]...)
		m.rt.EndView(v)
		alive := d.handles[:0]
		for _, p := range d.handles {
			if p.view != v {
				alive = append(alive, p)
			}
		}
		d.handles = alive
		return
	}
	n := len(d.home)
	a := 1 + r.IntN(n-1)
	fs := []filter.Filter{filter.Blocks(1 + r.IntN(n)), filter.BlocksHalo(2, 1), filter.BlockSizes([]int{a, n - a})}
	v, err := m.rt.Partition(d.h, fs[r.IntN(len(fs))])
	if err != nil {
		m.fail("partition: %v", err)
		return
	}
	d.views = append(d.views, v)
	for _, p := range v.Parts {
		d.handles = append(d.handles, hammeredPart{p, p.Desc().Off[0], v})
	}
}

// hold acquires in one way or another.
func (m *hammer) hold() {
	r := m.r
	d := m.data[r.IntN(len(m.data))]
	p, mode := m.pick(d), iface.R
	if r.IntN(2) == 0 {
		mode = iface.RW
	}
	o := AcquireOptions{Unordered: d.free && r.IntN(3) == 0}
	desc := p.h.Desc()
	n := desc.Len()
	seen := func(a *Access) {
		if !d.use(p.lo, n, mode, false) {
			m.fail("an acquire meets others: %v", mode)
		}
		for range 3 {
			runtime.Gosched()
		}
		for k := range n {
			if mode == iface.RW {
				*element(a.Buffer(), k)++
				d.added[p.lo+k].Add(1)
			}
		}
		d.use(p.lo, n, mode, true)
	}
	job := m.jobs[0]
	if r.IntN(3) > 0 {
		err := job.AcquireFuncWith(p.h, mode, o, func(a *Access, err error) {
			if err == nil {
				seen(a)
			}
		})
		if err != nil {
			m.errs.Add(1)
		}
		return
	}
	if a, err := job.TryAcquireWith(p.h, mode, o); err == nil {
		seen(a)
		if r.IntN(2) == 0 {
			m.holds = append(m.holds, a)
			return
		}
		a.Release()
	}
}

func (m *hammer) release() {
	for _, a := range m.holds {
		a.Release()
	}
	m.holds = nil
	for _, g := range m.gates {
		g.Open()
	}
	m.gates = nil
}

func (m *hammer) step() {
	switch k := m.r.IntN(100); {
	case k < 4:
		m.view()
	case k < 8:
		m.hold()
	case k < 11:
		m.release()
	case k == 11:
		m.jobs[m.r.IntN(len(m.jobs))].Cancel(errKernel)
	case k == 12:
		d := m.data[m.r.IntN(len(m.data))]
		if !d.exact && m.jobs[0].Invalidate(m.pick(d).h) != nil {
			m.errs.Add(1)
		}
	case k == 13:
		m.release()
		if err := m.jobs[m.r.IntN(len(m.jobs))].Wait(context.Background()); err != nil {
			m.fail("wait: %v", err)
		}
	case k == 14 && len(m.kept) > 0:
		m.release()
		if err := m.kept[m.r.IntN(len(m.kept))].Wait(context.Background()); err != nil {
			m.fail("wait for a task: %v", err)
		}
	default:
		m.task(1)
	}
}

func hammerRun(seed uint64, o Options) []string {
	r := rand.New(rand.NewPCG(seed, 2))
	rt, err := New(o)
	if err != nil {
		return []string{err.Error()}
	}
	m := &hammer{r: r, rt: rt}
	for range 1 + r.IntN(2) {
		m.jobs = append(m.jobs, rt.NewJob(context.Background(), JobOptions{MaxInFlight: []int{0, 0, 3, 40}[r.IntN(4)]}))
	}
	R, W, RW, C, X, S := iface.R, iface.W, iface.RW, iface.Commute, iface.Redux, iface.Scratch
	for i, modes := range [][]iface.AccessMode{{C, C, C, C, R, RW}, {C, C, C, R, RW, RW}, {X, X, X, X, R, RW, C}, {X, X, X, C, W, R}, {W, R, C, C, S, S}} {
		n := 4 + r.IntN(6)
		d := &hammered{home: make([]int64, n), users: make([]atomic.Int32, n), added: make([]atomic.Int64, n), modes: modes, free: i == 1, exact: i < 2}
		s := DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{n}, Home: ptr(d.home), Reduce: datamgr.SumReduction()}
		if i == 4 {
			s.Home = nil
		}
		d.h, err = rt.Register(s)
		if err != nil {
			return []string{err.Error()}
		}
		d.handles = []hammeredPart{{d.h, 0, nil}}
		m.data = append(m.data, d)
	}
	for range 50 + r.IntN(300) {
		m.step()
	}
	m.release()
	for _, d := range m.data {
		if err := m.jobs[0].Unregister(d.h); err != nil {
			m.fail("unregister: %v", err)
		}
	}
	for _, j := range m.jobs {
		if err := j.Wait(context.Background()); err != nil {
			m.fail("wait: %v", err)
		}
		if st := j.Stats(); st.Done+st.Failed+st.Cancelled != st.Submitted {
			m.fail("after wait: %+v", st)
		}
		if err := j.Close(); err != nil {
			m.fail("closing a job: %v", err)
		}
	}
	for i, t := range m.kept {
		if !t.Done() {
			m.fail("kept task %d has not ended", i)
		}
	}
	if err := rt.Close(); err != nil {
		m.fail("closing: %v", err)
	}
	for i, d := range m.data {
		for k := range d.home {
			if n := d.users[k].Load(); n != 0 {
				m.fail("datum %d element %d is in use: %d", i, k, n)
			}
			if want := d.added[k].Load(); d.exact && d.home[k] != want {
				m.fail("datum %d element %d: %d, and %d was added", i, k, d.home[k], want)
			}
		}
	}
	if b := rt.device.Memory().Allocated(); b != 0 {
		m.fail("%d bytes left", b)
	}
	return m.bad
}

// guarded calls fn, and ends the process with all stacks when fn hangs, after
// more was said.
func guarded(what string, fn func() []string, more ...func() string) []string {
	done := make(chan []string, 1)
	go func() { done <- fn() }()
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for p := (patience{last: time.Now(), left: 120}); ; {
		select {
		case bad := <-done:
			return bad
		case <-clock.C:
			if p.tick(time.Now()) {
				continue
			}
		}
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "%s hangs\n%s", what, buf[:runtime.Stack(buf, true)])
		for _, f := range more {
			fmt.Fprintln(os.Stderr, f())
		}
		os.Exit(3)
	}
}

// patience counts seconds in which the process ran. One that was stopped for an
// hour, or had to wait for the processor as long, has made no use of it.
type patience struct {
	last time.Time
	left int
}

// tick is called once a second, and reports whether to wait on.
func (p *patience) tick(now time.Time) bool {
	if now.Sub(p.last) < 3*time.Second {
		p.left--
	}
	p.last = now
	return p.left > 0
}

func TestPatience(t *testing.T) {
	now := time.Now()
	p := patience{last: now, left: 120}
	for n := 1; n < 120; n++ {
		now = now.Add(time.Second)
		if n%10 == 0 {
			if now = now.Add(time.Hour); !p.tick(now) {
				t.Fatal("lost while stopped")
			}
			now = now.Add(time.Second)
		}
		if !p.tick(now) {
			t.Fatalf("lost after %d seconds", n)
		}
	}
	if p.tick(now.Add(time.Second)) {
		t.Error("waits for ever")
	}
}

func TestHammer(t *testing.T) {
	end, s := time.Now().Add(*soak/4), *seed
	names := sched.Names()
	for n := 0; n < 60 || time.Now().Before(end); n++ {
		o := Options{Policy: names[s%uint64(len(names))], Workers: int(1 + s/2%16), Poison: s%3 == 0, Deterministic: s%9 == 8}
		if s%5 == 0 {
			o.Window = 2
		}
		if bad := guarded(fmt.Sprintf("seed %d under %+v", s, o), func() []string { return hammerRun(s, o) }); len(bad) > 0 {
			t.Fatalf("seed %d under %+v: %v", s, o, bad[:min(len(bad), 5)])
		}
		s++
	}
	t.Logf("programs %d to %d", *seed, s-1)
}

// Runtimes that start and end at once, with whatever happens to be under way.
func TestHammerClose(t *testing.T) {
	for n := range 60 {
		rt, err := New(Options{Workers: 1 + n%8, Policy: sched.Names()[n%len(sched.Names())]})
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{})
		x := make([]int64, 4)
		h := ints(t, rt, x)
		ran := 0
		for range n {
			must(t, j.Submit(&TaskSpec{Codelet: kernel("note", func(*TaskContext) error { ran++; return nil }), Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
		}
		if n%3 == 0 {
			must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) { // while it closes
				if err == nil {
					_ = j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}}) // refused when that came first
				}
			}))
		}
		var all sync.WaitGroup
		for range 3 { // several may close
			all.Go(func() {
				if err := rt.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if ran != n {
			t.Errorf("%d of %d tasks ran before Close returned", ran, n)
		}
		if err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		must(t, j.Close())
	}
}

// Kernels and callbacks submit from everywhere through a window of one task.
func TestHammerWindow(t *testing.T) {
	for n, p := range sched.Names() {
		rt, j := start(t, Options{Workers: 1 + n%4, Policy: p, Window: 1})
		var ran atomic.Int64
		h := ints(t, rt, make([]int64, 2))
		var grow func(depth int) *Codelet
		grow = func(depth int) *Codelet {
			return kernel("grow", func(*TaskContext) error {
				ran.Add(1)
				for range min(depth, 2) {
					if err := j.Submit(&TaskSpec{Codelet: grow(depth - 1), Operands: []Operand{{Handle: h, Mode: iface.Commute}}}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 10 {
					if err := j.Submit(&TaskSpec{Codelet: grow(2), Operands: []Operand{{Handle: h, Mode: iface.RW}}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 10 {
			all.Add(1) // what is held is no task that Wait waits for
			must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) {
				defer all.Done()
				if err == nil {
					err = j.Submit(&TaskSpec{Codelet: grow(0)})
				}
				if err != nil {
					t.Error(err)
				}
			}))
		}
		all.Wait()
		must(t, j.Wait(context.Background()))
		if got := ran.Load(); got != 40*(1+2+2)+10 {
			t.Errorf("%s: %d kernels ran", p, got)
		}
		if f := j.Failures(); len(f) > 0 {
			t.Error(f[0])
		}
	}
}

// Many goroutines submit tasks that commute, fail, panic and end their
// goroutine, while others cancel and declare views: all is counted in the end,
// and what was added is there.
func TestHammerCancel(t *testing.T) {
	for n, p := range sched.Names() {
		rt, err := New(Options{Workers: 1 + n%5, Policy: p, Window: 1 + n%3*20})
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{})
		x := make([]int64, 4)
		h := ints(t, rt, x)
		var added atomic.Int64
		ends := []func() error{
			func() error { return nil },
			func() error { return errKernel },
			func() error { panic("meant to") },
			func() error { runtime.Goexit(); return nil },
		}
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(n), uint64(g)))
				for range 60 {
					end := ends[r.IntN(len(ends))]
					c := kernel("adds", func(c *TaskContext) error {
						for k := range x {
							*element(c.Buffer(0), k)++
						}
						added.Add(1)
						return end()
					})
					if r.IntN(3) == 0 { // give the data a value again
						c = kernel("again", func(c *TaskContext) error { return nil })
						if err := j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.W}}}); err != nil {
							t.Error(err)
						}
						continue
					}
					s := &TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.Commute, Unordered: r.IntN(5) == 0}}, Priority: r.IntN(2)}
					if err := j.Submit(s); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Go(func() {
			for k := range 20 {
				v, err := rt.Partition(h, filter.Blocks(1+k%4))
				if err != nil {
					t.Error(err)
					return
				}
				j.Cancel(errKernel)
				rt.EndView(v)
				runtime.Gosched()
			}
		})
		all.Wait()
		must(t, j.Wait(context.Background()))
		if st := j.Stats(); st.Submitted != 240 || st.Done+st.Failed+st.Cancelled != 240 {
			t.Errorf("%s: %+v", p, st)
		}
		must(t, j.Unregister(h))
		must(t, j.Close())
		must(t, rt.Close())
		for _, v := range x {
			if v != added.Load() {
				t.Errorf("%s: %v, and %d was added", p, x, added.Load())
			}
		}
	}
}

// Plain tasks that are ready when their job is cancelled do not run.
func TestCancelDropsReadyTasks(t *testing.T) {
	for _, p := range sched.Names() {
		rt, j := start(t, Options{Workers: 1, Policy: p})
		y := ints(t, rt, make([]int64, 1))
		started, hold := make(chan struct{}), make(chan struct{})
		must(t, j.Submit(&TaskSpec{Codelet: kernel("block", func(*TaskContext) error { close(started); <-hold; return nil })}))
		<-started
		ran := 0
		for range 10 {
			must(t, j.Submit(&TaskSpec{Codelet: kernel("note", func(*TaskContext) error { ran++; return nil }), Operands: ops(iface.RW, y)}))
		}
		j.Cancel(errKernel)
		close(hold)
		must(t, j.Wait(context.Background()))
		if st := j.Stats(); ran != 0 || st.Cancelled != 10 {
			t.Errorf("%s: %d ran, %+v", p, ran, st)
		}
	}
}
