package engine

// Random programs: each is run under every policy, with 1 to 8 workers and
// sequentially, and must do what it does to plain arrays.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

var (
	soak = flag.Duration("soak", 0, "run random programs for this long")
	seed = flag.Uint64("seed", 1, "first seed of the random programs")
	only = flag.Uint64("only", 0, "run this random program only, many times")
)

// execution is one run of a program.
type execution struct {
	*program
	rt    *Runtime
	job   *Job
	hs    [][]*datamgr.Handle
	views [][]*datamgr.View
	tasks map[int64]*Task
	gates map[int]*Gate
	held  *Access

	mu  sync.Mutex
	bad []string
	saw map[int64]int64
}

func (e *execution) fail(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bad = append(e.bad, fmt.Sprintf(format, args...))
}

var errKernel = errors.New("meant to fail")

// element returns the address of element k, row-major, of b.
func element(b *iface.Buffer, k int) *int64 {
	off := 0
	switch b.Rank {
	case 1:
		off = k * b.Stride[0]
	case 2:
		off = k/b.Dim[1]*b.Stride[0] + k%b.Dim[1]*b.Stride[1]
	}
	return (*int64)(unsafe.Add(b.Ptr, off*8))
}

func (e *execution) codelet(t *modelTask) *Codelet {
	return kernel("body", func(c *TaskContext) error {
		sizes := make([]int, c.NumBuffers())
		for i := range sizes {
			b := c.Buffer(i)
			sizes[i] = b.Len()
			if b.Rank > 0 && b.Dim[b.Rank-1] > 1 && b.Stride[b.Rank-1] != 1 {
				e.fail("task %d operand %d: stride %v", t.id, i, b.Stride)
			}
		}
		for range t.yields {
			runtime.Gosched()
		}
		if t.out == failsItself {
			for i, o := range t.ops { // half done
				if o.mode == iface.W || o.mode == iface.RW {
					*element(c.Buffer(i), 0) = -1
				}
			}
			if t.panics {
				panic("meant to")
			}
			return errKernel
		}
		saw := body(t, sizes, func(i, k int) *int64 { return element(c.Buffer(i), k) })
		e.mu.Lock()
		if _, twice := e.saw[t.id]; twice {
			e.bad = append(e.bad, fmt.Sprintf("task %d ran twice", t.id))
		}
		e.saw[t.id] = saw
		e.mu.Unlock()
		if t.opens > 0 {
			e.gate(t.opens).Open()
		}
		return nil
	})
}

func (e *execution) gate(i int) *Gate {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gates[i] == nil {
		e.gates[i] = e.job.NewGate()
	}
	return e.gates[i]
}

func execute(p *program, o Options, pause func()) (bad []string) {
	rt, err := New(o)
	if err != nil {
		return []string{err.Error()}
	}
	e := &execution{program: p, rt: rt, job: rt.NewJob(context.Background(), JobOptions{DetectStuck: true}),
		tasks: map[int64]*Task{}, gates: map[int]*Gate{}, saw: map[int64]int64{}}
	homes := make([][]int64, len(p.data))
	for i, d := range p.data {
		if d.dup {
			e.hs, e.views = append(e.hs, nil), append(e.views, nil)
			continue
		}
		s := DataSpec{Kind: d.kind, Elem: iface.I64, Dims: d.dims, Reduce: datamgr.SumReduction()}
		if d.initOnly {
			s.Reduce = &datamgr.Reduction{Name: "five", Init: func(b *iface.Buffer) error {
				for k := range b.Len() {
					*element(b, k) = lazyValue
				}
				return nil
			}}
		}
		if d.home {
			homes[i] = make([]int64, d.dims[0]*d.ld)
			if d.kind == iface.Matrix {
				s.LD = d.ld
			}
			cols := 1
			if d.kind == iface.Matrix {
				cols = d.dims[1]
			}
			for k, v := range d.initial {
				homes[i][k/cols*d.ld+k%cols] = v
			}
			s.Home = unsafe.Pointer(unsafe.SliceData(homes[i]))
		}
		h, err := rt.Register(s)
		if err != nil {
			return []string{err.Error()}
		}
		e.hs = append(e.hs, []*datamgr.Handle{h})
		e.views = append(e.views, nil)
	}
	for i := range p.steps {
		pause()
		e.step(&p.steps[i])
		e.mu.Lock()
		stop := len(e.bad) > 0
		e.mu.Unlock()
		if stop {
			e.fail("at step %d: %v", i, &p.steps[i])
			break
		}
	}
	for i := range homes {
		if len(e.hs[i]) == 0 || p.data[i].gone { // never made, or ended
			continue
		}
		if err := e.job.Unregister(e.hs[i][0]); err != nil {
			e.fail("unregister: %v", err)
		}
	}
	if err := e.job.Close(); err != nil {
		e.fail("close: %v", err)
	}
	if err := rt.Close(); err != nil {
		e.fail("close: %v", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.bad) > 0 {
		return e.bad
	}
	for i, d := range p.data {
		cols := 1
		if d.kind == iface.Matrix {
			cols = d.dims[1]
		}
		for k, v := range d.val {
			if d.home && d.init[k] && !d.lost[k] && homes[i][k/cols*d.ld+k%cols] != v {
				e.bad = append(e.bad, fmt.Sprintf("home of d%d element %d: %d, want %d", i, k, homes[i][k/cols*d.ld+k%cols], v))
			}
		}
	}
	for i := range p.steps {
		t := p.steps[i].task
		if t == nil || p.steps[i].kind != stepTask {
			continue
		}
		saw, ran := e.saw[t.id]
		if ran != (t.out == runs) {
			e.bad = append(e.bad, fmt.Sprintf("task %d: ran %v, and it %v", t.id, ran, t.out))
		} else if ran && saw != t.want {
			e.bad = append(e.bad, fmt.Sprintf("task %d saw %d, want %d", t.id, saw, t.want))
		}
	}
	if b := rt.device.Memory().Allocated(); b != 0 {
		e.bad = append(e.bad, fmt.Sprintf("%d bytes left", b))
	}
	return e.bad
}

func (e *execution) step(s *step) {
	ctx := context.Background()
	switch s.kind {
	case stepPartition:
		v, err := e.rt.Partition(e.hs[s.datum][s.handle], s.filters...)
		if err != nil {
			e.fail("partition: %v", err)
			return
		}
		e.views[s.datum] = append(e.views[s.datum], v)
		e.hs[s.datum] = append(e.hs[s.datum], v.Parts...)
	case stepEndView:
		e.rt.EndView(e.views[s.datum][s.view])
	case stepTask:
		e.submit(s.task)
	case stepInvalidate:
		if err := e.job.Invalidate(e.hs[s.datum][s.handle]); err != nil {
			e.fail("invalidate: %v", err)
		}
	case stepGather:
		if err := e.job.Gather(e.hs[s.datum][s.handle]); err != nil {
			e.fail("gather: %v", err)
		}
	case stepAcquire:
		e.acquire(s)
	case stepRelease:
		if e.held != nil {
			e.held.Release()
			e.held = nil
		}
	case stepReleaseTo:
		if err := e.held.ReleaseTo(s.mode); err != nil {
			e.fail("release to: %v", err)
		}
	case stepReleasePart:
		if err := e.held.ReleasePart(e.hs[s.datum][s.handle], s.mode); err != nil {
			e.fail("release part to %v: %v", s.mode, err)
		}
	case stepCall:
		e.call(s)
	case stepTry:
		e.try(s)
	case stepCopy:
		e.copy(s)
	case stepDuplicate:
		e.duplicate(s)
	case stepUnregister:
		if err := e.job.Unregister(e.hs[s.datum][0]); err != nil {
			e.fail("unregister: %v", err)
		}
	case stepWaitTask:
		if err := e.tasks[s.task.id].Wait(ctx); err != nil {
			e.fail("wait for task %d: %v", s.task.id, err)
		}
	case stepOpenAll:
		e.mu.Lock()
		gates := e.gates
		e.gates = map[int]*Gate{}
		e.mu.Unlock()
		for i, g := range gates {
			g.Open()
			e.mu.Lock()
			e.gates[i] = g
			e.mu.Unlock()
		}
	case stepWait:
		if err := e.job.Wait(ctx); err != nil {
			e.fail("wait: %v", err)
		}
		if st := e.job.Stats(); st.Done+st.Failed+st.Cancelled != st.Submitted {
			e.fail("after wait: %+v", st)
		}
	case stepWaitHandle:
		if err := e.job.WaitHandles(ctx, e.hs[s.datum][s.handle]); err != nil {
			e.fail("wait for handle: %v", err)
		}
	}
}

func (e *execution) submit(t *modelTask) {
	s := TaskSpec{Codelet: e.codelet(t), Priority: t.priority}
	for _, o := range t.ops {
		s.Operands = append(s.Operands, Operand{Handle: e.hs[o.datum][o.handle], Mode: o.mode, Unordered: o.unordered})
	}
	for _, id := range t.after {
		s.After = append(s.After, e.tasks[id])
	}
	if t.gate > 0 {
		s.After = append(s.After, e.gate(t.gate))
	}
	if t.worker >= 0 {
		s.Workers = []int{t.worker % e.rt.Workers()}
	}
	var err error
	if t.kept {
		e.tasks[t.id], err = e.job.SubmitTask(&s)
	} else {
		err = e.job.Submit(&s)
	}
	var none *UninitError
	switch {
	case t.out == uninit && !errors.As(err, &none):
		e.fail("task %d reads what has no value, and got %v", t.id, err)
	case t.out != uninit && err != nil:
		e.fail("task %d: %v", t.id, err)
	}
}

func (e *execution) acquire(s *step) {
	h := e.hs[s.datum][s.handle]
	a, err := e.job.Acquire(context.Background(), h, s.mode)
	var none *UninitError
	var gone *FailedDataError
	switch {
	case s.out == uninit && errors.As(err, &none), s.out == lost && errors.As(err, &gone):
		return
	case s.out != runs || err != nil:
		e.fail("acquire %v: %v, want %v", s.mode, err, s.out)
		return
	}
	e.held = a
	e.update(s, a, s.mode)
}

// update looks at the data of a, and changes it.
func (e *execution) update(s *step, a *Access, mode iface.AccessMode) {
	for k, v := range s.want {
		p := element(a.Buffer(), k)
		if !s.free && *p != v {
			e.fail("%v %v d%d.h%d element %d: %d, want %d", s.kind, s.mode, s.datum, s.handle, k, *p, v)
		}
		switch mode {
		case iface.RW:
			*p += s.add
		case iface.W:
			*p = s.add
		}
	}
}

func (e *execution) call(s *step) {
	h, hs := e.hs[s.datum][s.handle], e.hs[s.datum]
	var none *UninitError
	var gone *FailedDataError
	fits := func(err error) bool {
		switch s.out {
		case uninit:
			return errors.As(err, &none)
		case lost:
			return errors.As(err, &gone)
		}
		return err == nil
	}
	err := e.job.AcquireFuncWith(h, s.mode, s.acquire, func(a *Access, err error) {
		if !s.acquire.OrderOnly {
			if !fits(err) {
				e.fail("call got %v, want %v", err, s.out)
			}
			if err != nil {
				return
			}
		} else if err != nil || a.Buffer().Ptr != nil {
			e.fail("order only: %v, memory %v", err, a.Buffer().Ptr)
			return
		}
		if s.fetch {
			if err := a.Fetch(); !fits(err) {
				e.fail("fetch got %v, want %v", err, s.out)
			}
		}
		if s.out == runs {
			e.update(s, a, a.Mode())
		}
		for _, l := range s.lower {
			if err := a.ReleasePart(hs[l.handle], l.mode); err != nil {
				e.fail("release part: %v", err)
			}
		}
	})
	if s.acquire.OrderOnly || s.out != uninit {
		if err != nil {
			e.fail("call: %v", err)
		}
	} else if !fits(err) {
		e.fail("call got %v, want %v", err, s.out)
	}
}

func (e *execution) copy(s *step) {
	t, err := e.job.Copy(e.hs[s.datum][s.handle], e.hs[s.from[0]][s.from[1]], CopyOptions{})
	var none *UninitError
	switch {
	case s.out == uninit && errors.As(err, &none):
	case s.out == uninit || err != nil:
		e.fail("copy: %v, want %v", err, s.out)
	case s.out == runs && t.ID() == 0:
		e.fail("copy: no task")
	}
}

func (e *execution) duplicate(s *step) {
	h, err := e.job.Duplicate(e.hs[s.from[0]][s.from[1]])
	var none *UninitError
	switch {
	case s.out == uninit && errors.As(err, &none):
	case s.out == uninit || err != nil:
		e.fail("duplicate: %v, want %v", err, s.out)
	default:
		e.hs[s.datum] = []*datamgr.Handle{h}
	}
}

func (e *execution) try(s *step) {
	a, err := e.job.TryAcquire(e.hs[s.datum][s.handle], s.mode)
	if err == ErrBusy {
		return
	}
	var none *UninitError
	var gone *FailedDataError
	switch {
	case s.out == uninit && errors.As(err, &none), s.out == lost && errors.As(err, &gone):
	case s.out != runs || err != nil:
		e.fail("try: %v, want %v", err, s.out)
	default:
		e.update(s, a, iface.R)
		a.Release()
	}
}

// configurations are what every program runs under, a few at a time.
func configuration(n uint64) Options {
	names := sched.Names()
	o := Options{Policy: names[n%uint64(len(names))], Workers: int(1 + n/3%8), Poison: n%2 == 0, Verify: n%5 == 0, Deterministic: n%7 == 1, Profile: n%11 == 2}
	if n%7 == 0 {
		o.Window = 4
	}
	return o
}

func check(t *testing.T, seed uint64, o Options, journal bool) bool {
	p := makeProgram(seed)
	var j *Journal
	if journal {
		j = &Journal{}
		o.Listener = j
	}
	done := make(chan []string, 1)
	go func() { done <- execute(p, o, func() {}) }()
	var bad []string
	select {
	case bad = <-done:
	case <-time.After(30 * time.Second):
		var b strings.Builder
		for i := range p.steps {
			fmt.Fprintf(&b, "%3d %v\n", i, &p.steps[i])
		}
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "seed %d hangs under %+v\n%s\n%s", seed, o, b.String(), buf[:runtime.Stack(buf, true)])
		os.Exit(3)
	}
	if journal && len(bad) == 0 {
		if err := j.Check(); err != nil {
			bad = append(bad, err.Error())
		}
	}
	if len(bad) == 0 {
		return true
	}
	o.Listener = nil
	t.Errorf("program %d under %+v: %v", seed, o, bad)
	for i := range p.steps {
		t.Logf("%3d %v", i, &p.steps[i])
	}
	return false
}

func TestRandomPrograms(t *testing.T) {
	if *only != 0 {
		for n := range uint64(200) {
			if !check(t, *only, configuration(n), false) {
				return
			}
		}
		check(t, *only, Options{Sequential: true}, true)
		return
	}
	end, s := time.Now().Add(*soak), *seed
	for n := 0; n < 300 || time.Now().Before(end); n++ {
		if !check(t, s, configuration(s), s%16 == 0) || s%4 == 0 && !check(t, s, Options{Sequential: true}, s%16 == 0) {
			return
		}
		s++
	}
	t.Logf("programs %d to %d", *seed, s-1)
}
