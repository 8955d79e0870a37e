package engine

// Random programs: each is run under every policy, with 1 to 16 workers and
// sequentially, and must do what it does to plain arrays.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
)

var (
	soak = flag.Duration("soak", 0, "run random programs for this long")
	seed = flag.Uint64("seed", 1, "first seed of the random programs")
	only = flag.Uint64("only", 0, "run this random program only, many times")

	machine = flag.String("machine", "", "run random programs on the devices of this machine only: "+enginetest.Machines+`; "disk": on various machines, all with room for a quarter of the data`)
)

// there is the machine of the flag; nil: various simulated ones.
var there *enginetest.Machine

// alwaysDisk is the flag's "disk": every program has a disk and room for a quarter of its data.
var alwaysDisk bool

// execution is one run of a program.
type execution struct {
	*program
	rt    *Runtime
	job   *Job
	hs    [][]*datamgr.Handle
	views [][]*datamgr.View
	homes [][]int64
	tasks map[int64]*Task
	gates map[int]*Gate
	tags  map[int64]*Tag
	held  *Access
	calls sync.WaitGroup // callbacks to come

	// where devices are lost
	copies map[*step]*Task
	home   map[int][]int // by datum, elements that must be there at the end
	spots  map[any]spot  // where tasks and steps had data

	mu      sync.Mutex
	bad     []string
	saw     map[int64]int64
	times   map[int64]int // how often tasks ran
	tries   map[int64]int // and their kernels, if they may run again
	where   map[int64]int // nodes where tasks ran
	refused map[*step]bool
}

func (e *execution) fail(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bad = append(e.bad, fmt.Sprintf(format, args...))
}

var (
	errKernel    = errors.New("meant to fail")
	errTransient = errors.New("meant to fail and to run again")
)

// element returns the address of element k, row-major, of b.
func element(b *iface.Buffer, k int) *int64 {
	off := 0
	for a := int(b.Rank) - 1; a >= 0; a-- {
		off += k % b.Dim[a] * b.Stride[a]
		k /= b.Dim[a]
	}
	return (*int64)(unsafe.Add(b.Ptr, off*8))
}

// anywhere is a codelet for workers of every kind.
func anywhere(name string, fn Impl) *Codelet {
	return &Codelet{Name: name, CPU: []Impl{fn}, On: enginetest.On(fn), FromMain: []int{0, 1, 2, 3, 4, 5}}
}

func (e *execution) codelet(t *modelTask) *Codelet {
	var inner []TaskSpec // made here: what they name changes meanwhile
	for _, k := range t.children {
		s := e.spec(k)
		e.special(k, &s)
		inner = append(inner, s)
	}
	var whole []*datamgr.Handle // and this
	for _, o := range t.ops {
		whole = append(whole, e.hs[o.datum][0])
	}
	c := anywhere("body", func(c *TaskContext) error {
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
			c.GiveWay()
		}
		if e.failsForNow(t) {
			for i, o := range t.ops { // half done
				if o.mode.Writes() && sizes[i] > 0 {
					*element(c.Buffer(i), 0), *element(c.Buffer(i), sizes[i]-1) = -1, -2
				}
			}
			return errTransient
		}
		if t.out == failsItself {
			for i, o := range t.ops { // half done
				if o.mode == iface.W || o.mode == iface.RW || o.mode == iface.CommuteW {
					*element(c.Buffer(i), 0) = -1
				}
			}
			if t.panics {
				panic("meant to")
			}
			return errKernel
		}
		once := max(1, t.rounds)
		if e.loses == 0 { // else special makes no rounds
			once = 1
		}
		var saw int64
		for range once {
			saw = body(t, sizes, func(i, k int) *int64 {
				if c.Format(i) != "" { // all elements the other way round
					k = sizes[i] - 1 - k
				}
				return element(c.Buffer(i), k)
			})
		}
		e.mu.Lock()
		e.where[t.id] = c.w.node
		for i := range t.ops {
			e.hasLocked(atTask{t.id, i}, whole[i], c.w.nodeFor(&c.t.operands()[i]))
		}
		e.saw[t.id] = saw
		e.times[t.id]++
		e.mu.Unlock()
		if t.opens > 0 {
			e.gate(t.opens).Open()
		}
		if t.nest > 0 {
			e.nest(t.id, t.nest)
		}
		for i := range inner {
			if _, err := e.send(&inner[i], TaskOptions{}, false); err != nil {
				e.fail("in task %d: %v", t.id, err)
			}
		}
		return nil
	})
	for i, o := range t.ops {
		if e.hasLayouts(o.datum) {
			c.Formats = append(c.Formats, i)
		}
	}
	if n := e.retries(t); n > 0 {
		c.Traits = &Traits{Retry: n}
	}
	c.Pure = e.loses != 0 && t.id%2 == 0 && t.opens == 0 && t.nest == 0
	return c
}

// retries is how often the kernel of t may run again; 0: never.
func (e *execution) retries(t *modelTask) int {
	if e.loses != 0 || (e.seed+uint64(t.id))%3 != 0 {
		return 0
	}
	return 1 + int(t.id/3%3)
}

// failsForNow reports whether this run of the kernel of t is to fail. It does as often as the kernel may
// run again, or less often.
func (e *execution) failsForNow(t *modelTask) bool {
	n := e.retries(t)
	if n == 0 {
		return false
	}
	if t.id%2 == 0 {
		n--
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tries[t.id]++
	return (e.tries[t.id]-1)%(n+1) < n
}

func (e *execution) gate(i int) *Gate {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gates[i] == nil {
		e.gates[i] = e.job.NewGate()
	}
	return e.gates[i]
}

// aQuarter, as Options.RAM, stands for a quarter of the program's data, or what its
// largest task needs.
const aQuarter = 1

// quarter is what that is.
func (p *program) quarter() int64 {
	var all, most int64
	for _, d := range p.data {
		all += 8 * int64(len(d.val))
		most = max(most, 2*8*int64(len(d.val))) // a copy, or what contributions are combined in
	}
	needs := func(t *modelTask) {
		n := int64(0)
		for _, o := range t.ops {
			n += 8 * int64(len(p.data[o.datum].val))
		}
		most = max(most, n)
	}
	for i := range p.steps {
		if t := p.steps[i].task; t != nil {
			needs(t)
			for _, c := range t.children {
				needs(c)
			}
		}
	}
	return max(all/4, most, 64)
}

func execute(p *program, o Options, pause func()) (bad []string) {
	if o.RAM > 0 {
		dir, err := os.MkdirTemp("", "starpush-test")
		if err != nil {
			return []string{err.Error()}
		}
		defer os.RemoveAll(dir)
		d, err := disk.Open(dir)
		if err != nil {
			return []string{err.Error()}
		}
		defer func() {
			if n := d.Memory().Allocated(); n != 0 && len(bad) == 0 {
				bad = append(bad, fmt.Sprintf("%d bytes left on the disk", n))
			}
			if err := d.Close(); err != nil {
				bad = append(bad, err.Error())
			}
		}()
		o.RAM, o.Disk = p.quarter(), d
	}
	if len(o.Devices) > 0 { // new ones for each run
		d, unsound := o.Devices[0], 0
		if _, ok := d.(*frail); ok {
			unsound = len(o.Devices)
		}
		switch {
		case there == nil && isNUMA(d):
			o.Devices = sockets(d.Memory().Capacity(), d.Units(), p.seed)
		case there == nil:
			o.Devices = devices(d.Memory().Capacity(), d.Units(), unsound, p.seed)
		default:
			var err error
			if o.Devices, err = there.Open(d.Memory().Capacity()); err != nil {
				return []string{err.Error()}
			}
		}
		defer func() {
			for _, d := range o.Devices {
				var lost *accel.LostError
				if err := d.Close(); err != nil && (p.loses == 0 || !errors.As(err, &lost)) {
					bad = append(bad, fmt.Sprintf("closing %s: %v", d.Name(), err))
				}
			}
		}()
	}
	rt, err := New(o)
	if err != nil {
		return []string{err.Error()}
	}
	jo, stop := JobOptions{DetectStuck: true}, func() []string { return nil }
	if p.seed%5 == 2 && p.loses == 0 && !o.Sequential { // a rival would lose data with a device, too
		jo.Weight = int(1 + p.seed%3)
		stop = rival(rt)
	}
	if p.seed%5 == 3 && p.loses == 0 {
		jo.MaxWorkers = int(1 + p.seed/5%3)
	}
	e := &execution{program: p, rt: rt, job: rt.NewJob(context.Background(), jo),
		tasks: map[int64]*Task{}, gates: map[int]*Gate{}, saw: map[int64]int64{}, times: map[int64]int{}, tries: map[int64]int{}, where: map[int64]int{},
		copies: map[*step]*Task{}, home: map[int][]int{}, spots: map[any]spot{}, refused: map[*step]bool{}}
	e.homes = make([][]int64, len(p.data))
	e.hs, e.views = make([][]*datamgr.Handle, len(p.data)), make([][]*datamgr.View, len(p.data))
	ends := e.plan()
	for i := range p.steps {
		pause()
		e.loseBefore(i, ends)
		e.hint(uint64(i))
		e.step(&p.steps[i])
		e.mu.Lock()
		stop := len(e.bad) > 0
		e.mu.Unlock()
		if stop {
			e.fail("at step %d: %v", i, &p.steps[i])
			break
		}
	}
	e.openAll()
	e.release()
	e.calls.Wait()
	if err := e.job.Wait(context.Background()); err != nil {
		e.fail("last wait: %v", err)
	}
	if e.loses != 0 {
		e.loseBefore(len(p.steps), ends)
		e.mu.Lock()
		sound := len(e.bad) == 0
		e.mu.Unlock()
		if sound { // it came to its end
			e.look()
		}
	}
	for i, d := range p.data {
		if d.gone || len(e.hs[i]) == 0 {
			continue
		}
		e.looksRight(i)
		if err := e.job.Unregister(e.hs[i][0]); err != nil {
			e.fail("unregister: %v", err)
		}
	}
	if err := e.job.Close(); err != nil {
		e.fail("close: %v", err)
	}
	for _, text := range stop() {
		e.fail("%s", text)
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
		cols := d.cols()
		for k, v := range d.val {
			if e.loses != 0 && !slices.Contains(e.home[i], k) {
				continue
			}
			if e.homes[i] != nil && d.init[k] && !d.lost[k] && !d.unsure[k] && e.homes[i][k/cols*d.ld+k%cols] != v {
				e.bad = append(e.bad, fmt.Sprintf("home of d%d element %d: %d, want %d", i, k, e.homes[i][k/cols*d.ld+k%cols], v))
			}
		}
	}
	for i := range p.steps {
		if t := p.steps[i].task; p.steps[i].kind == stepTask {
			e.ranAsMeant(t, t.out == runs)
			for _, c := range t.children {
				e.ranAsMeant(c, t.out == runs)
			}
		}
	}
	for _, d := range append([]accel.Device{rt.device}, rt.devices...) {
		if b := d.Memory().Allocated(); b != 0 {
			e.bad = append(e.bad, fmt.Sprintf("%d bytes left on %s", b, d.Name()))
		}
	}
	return e.bad
}

// ranAsMeant checks that t ran, or did not, and saw what it should. All is over.
func (e *execution) ranAsMeant(t *modelTask, runs bool) {
	saw, ran := e.saw[t.id]
	if ran != runs && (ran || e.loses == 0) {
		e.bad = append(e.bad, fmt.Sprintf("task %d: ran %v, and it %v", t.id, ran, t.out))
	} else if ran && saw != t.want {
		e.bad = append(e.bad, fmt.Sprintf("task %d saw %d, want %d", t.id, saw, t.want))
	} else if n := e.times[t.id]; ran && n != max(1, t.rounds) && e.loses == 0 {
		e.bad = append(e.bad, fmt.Sprintf("task %d ran %d times, not %d", t.id, n, max(1, t.rounds)))
	}
}

// register registers datum i.
func (e *execution) register(i int) {
	d := e.data[i]
	s := DataSpec{Kind: d.kind, Elem: iface.I64, Dims: d.dims, Reduce: datamgr.SumReduction()}
	if e.hasLayouts(i) {
		s.Reduce = nil
	}
	if d.initOnly {
		s.Reduce = &datamgr.Reduction{Name: "five", Init: func(b *iface.Buffer) error {
			for k := range b.Len() {
				*element(b, k) = lazyValue
			}
			return nil
		}}
	}
	cols := d.cols()
	if len(d.dims) >= 2 {
		s.LD = d.ld
	}
	if d.strided() {
		s.Step = []int{d.ld}
	}
	if d.home {
		home := make([]int64, len(d.val)/cols*d.ld)
		for k := range d.val {
			home[k/cols*d.ld+k%cols] = int64(k * k)
		}
		e.homes[i], s.Home = home, ptr(home)
	}
	var h *datamgr.Handle
	var err error
	if d.home && e.rt.limited && i%3 > 0 && !d.strided() { // the runtime's, so that it can be evicted
		e.homes[i], s.Home = nil, nil
		h, err = e.rt.RegisterFilled(s, func(b *iface.Buffer) error {
			for k := range d.val {
				*element(b, k) = int64(k * k)
			}
			return nil
		})
	} else {
		h, err = e.rt.Register(s)
	}
	if err != nil {
		e.fail("register: %v", err)
		return
	}
	e.hs[i] = []*datamgr.Handle{h}
	if e.hasLayouts(i) {
		turn := anywhere("turn", func(c *TaskContext) error {
			turned.Add(1)
			src, dst := c.Buffer(0), c.Buffer(1)
			for k := range src.Len() {
				*element(dst, src.Len()-1-k) = *element(src, k)
			}
			return nil
		})
		turn.Modes = conversionModes
		if err := e.rt.SetFormats(h, Format{Name: "turned", On: []string{"gpu"}, To: turn, From: turn}); err != nil {
			e.fail("layouts: %v", err)
		}
	}
}

// overwritten counts acquires of data that some tasks overwrote in any order, and others failed to: of values, and of none.
var overwritten [2]atomic.Int64

// turned counts conversions of random programs between layouts.
var turned atomic.Int64

// hasLayouts reports whether datum i has another layout on devices: if nothing is done with it that such data refuses, and no
// device is lost, as the model knows the places of one layout only.
func (p *program) hasLayouts(i int) bool {
	d := p.data[i]
	if p.loses != 0 || d.adds || d.initOnly || d.dup || len(d.val) == 0 {
		return false
	}
	refuses := func(ops []modelOp) bool {
		return slices.ContainsFunc(ops, func(o modelOp) bool {
			return o.datum == i && (o.mode == iface.Redux || o.mode == iface.Scratch || o.unordered)
		})
	}
	return !slices.ContainsFunc(p.steps, func(s step) bool {
		if t := s.task; t != nil && s.kind == stepTask && (refuses(t.ops) || slices.ContainsFunc(t.children, func(c *modelTask) bool { return refuses(c.ops) })) {
			return true
		}
		return s.datum == i && (s.kind == stepPartition || s.acquire.Unordered)
	})
}

// looksRight reads datum i, which is no part of the program any more. All is over.
func (e *execution) looksRight(i int) {
	d := e.data[i]
	e.mu.Lock()
	wrong := len(e.bad) > 0
	e.mu.Unlock()
	if wrong || !e.rt.limited || d.home && e.homes[i] != nil || d.dup {
		return
	}
	a, err := e.job.AcquirePartial(context.Background(), e.hs[i][0])
	var gone *FailedDataError
	var none *UninitError
	if errors.As(err, &gone) || errors.As(err, &none) {
		return
	}
	if e.byLoss(err) {
		return
	}
	if err != nil {
		e.fail("at the end: %v", err)
		return
	}
	defer a.Release()
	for k, v := range d.val {
		if got := *element(a.Buffer(), k); d.init[k] && !d.lost[k] && got != v {
			e.fail("d%d element %d: %d, want %d", i, k, got, v)
		}
	}
}

// release gives back what is held.
func (e *execution) release() {
	if e.held != nil {
		e.held.Release()
		e.held = nil
	}
}

// openAll opens the gates that were made so far.
func (e *execution) openAll() {
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
}

// nest runs a graph on data of its own: n more contributions of each kind.
func (e *execution) nest(id int64, n int) {
	h, err := e.rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}, Reduce: datamgr.SumReduction()})
	if err != nil {
		e.fail("nested: %v", err)
		return
	}
	each := func(name string, mode iface.AccessMode, fn func(p *int64)) {
		c := anywhere(name, func(c *TaskContext) error {
			for k := range c.Buffer(0).Len() {
				fn(element(c.Buffer(0), k))
			}
			return nil
		})
		if err := e.job.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: mode}}}); err != nil {
			e.fail("nested: %v", err)
		}
	}
	each("set", iface.W, func(p *int64) { *p = id })
	for range n {
		each("commute", iface.Commute, func(p *int64) { *p++ })
	}
	for range n {
		each("redux", iface.Redux, func(p *int64) { *p += 10 })
	}
	each("look", iface.R, func(p *int64) {
		if *p != id+11*int64(n) {
			e.fail("nested in task %d: %d", id, *p)
		}
	})
	if err := e.job.Unregister(h); err != nil {
		e.fail("nested: %v", err)
	}
}

func (e *execution) step(s *step) {
	ctx := context.Background()
	switch s.kind {
	case stepAcquire, stepWait, stepWaitHandle:
		e.openAll()
	}
	switch s.kind {
	case stepRegister:
		e.register(s.datum)
	case stepGap:
		e.views[s.datum] = append(e.views[s.datum], nil)
		e.hs[s.datum] = append(e.hs[s.datum], make([]*datamgr.Handle, s.parts)...)
	case stepPartition:
		var fs []filter.Filter
		for _, f := range s.filters {
			fs = append(fs, f.filter())
		}
		v, err := e.rt.Partition(e.hs[s.datum][s.handle], fs...)
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
		e.release()
	case stepReleaseTo:
		if e.held == nil && e.loses != 0 { // it was not acquired
			break
		}
		if err := e.held.ReleaseTo(s.mode); err != nil {
			e.fail("release to: %v", err)
		}
	case stepReleasePart:
		if e.held == nil && e.loses != 0 {
			break
		}
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
		e.openAll()
	case stepWait:
		e.calls.Wait() // data that callbacks hold is no task that Wait waits for
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

func (e *execution) spec(t *modelTask) TaskSpec {
	s := TaskSpec{Codelet: e.codelet(t), Priority: t.priority}
	for _, o := range t.ops {
		s.Operands = append(s.Operands, Operand{Handle: e.hs[o.datum][o.handle], Mode: o.mode, Unordered: o.unordered})
	}
	if e.rt.devices != nil && t.id%5 == 0 { // some operands stay in main memory
		for k := range s.Operands {
			if (t.id/5+int64(k))%2 == 0 {
				s.Operands[k].Pin = PinTo(0)
			}
		}
		if _, _, bad := datamgr.Apart(s.Operands); bad {
			for k := range s.Operands {
				s.Operands[k].Pin = 0
			}
		}
	}
	for _, id := range t.after {
		s.After = append(s.After, e.tasks[id])
	}
	if t.gate > 0 {
		s.After = append(s.After, e.gate(t.gate))
	}
	if t.worker >= 0 {
		s.Workers = []int{t.worker % e.rt.Workers()}
	} else if e.rt.devices != nil && t.id%4 > 0 { // two in four on the device, one on a CPU
		for w := range e.rt.workers {
			if (e.rt.workers[w].node > 0) == (t.id%4 > 1) {
				s.Workers = append(s.Workers, w)
			}
		}
	}
	return s
}

// send submits a task, elsewhere if it is too large for where it should run.
func (e *execution) send(s *TaskSpec, o TaskOptions, keep bool) (t *Task, err error) {
	for {
		switch {
		case o.Repeat != nil || o.Tag != nil:
			t, err = e.job.SubmitWith(s, o)
		case keep:
			t, err = e.job.SubmitTask(s)
		default:
			err = e.job.Submit(s)
		}
		var large *TooLargeError
		if s.Workers == nil || !errors.As(err, &large) && !e.byLoss(err) {
			return t, err
		}
		s.Workers = nil
	}
}

// hint gives hints that must not change anything, now and then.
func (e *execution) hint(i uint64) {
	if e.rt.nodes == 1 {
		return
	}
	r := rand.New(rand.NewPCG(e.seed, i))
	var all []*datamgr.Handle
	for _, hs := range e.hs {
		for _, h := range hs {
			if h != nil {
				all = append(all, h)
			}
		}
	}
	for n := r.IntN(4); n > 0 && len(all) > 0; n-- {
		h, err := all[r.IntN(len(all))], error(nil)
		nodes := len(e.rt.Nodes())
		switch r.IntN(5) {
		case 0, 1:
			err = e.job.PrefetchWith(h, r.IntN(nodes), PrefetchOptions{Wait: r.IntN(2) == 0, Priority: r.IntN(3), Idle: r.IntN(3) == 0})
		case 2:
			err = e.job.WontUse(h)
		case 4:
			from := 1 + r.IntN(nodes-1)
			if e.rt.limited {
				from = r.IntN(nodes - 1) // not the disk
			}
			if _, err = e.job.Evict(h, from); err == nil {
				_, err = e.job.Where(h)
			}
		case 3:
			err = e.rt.SetWriteThrough(h, [][]int{nil, {0}, {1}, {0, 1}}[r.IntN(4)]...)
		}
		var none *UninitError
		var dead *DeadHandleError
		if err != nil && !errors.As(err, &none) && !errors.As(err, &dead) && !e.byLoss(err) {
			e.fail("hint: %v", err)
		}
	}
}

func (e *execution) submit(t *modelTask) {
	s := e.spec(t)
	o := e.special(t, &s)
	var err error
	if k, sent := e.send(&s, o, t.kept); t.kept {
		e.tasks[t.id], err = k, sent
	} else {
		err = sent
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
	if s.out == runs && !s.either {
		e.acquireThere(s, h)
	}
	a, err := e.job.Acquire(context.Background(), h, s.mode)
	var none *UninitError
	var gone *FailedDataError
	if s.either && err == nil {
		overwritten[0].Add(1)
	} else if s.either {
		overwritten[1].Add(1)
	}
	switch {
	case s.out == uninit && errors.As(err, &none), (s.out == lost || s.either) && errors.As(err, &gone):
		return
	case s.out == runs && e.byLoss(err):
		e.refuse(s)
		if s.mode == iface.RW {
			e.repair(s)
		}
		return
	case s.out != runs || err != nil:
		e.fail("acquire %v: %v, want %v", s.mode, err, s.out)
		return
	}
	e.held = a
	e.has(s, h, 0)
	e.update(s, a, s.mode)
}

// acquireThere acquires on some device first, if there is room, and gives the data
// back as it was, or in mode W with what it is to have.
func (e *execution) acquireThere(s *step, h *datamgr.Handle) {
	if e.rt.devices == nil {
		return
	}
	node := s.handle % (1 + len(e.rt.devices)) // not the disk
	a, err := e.job.AcquireWith(context.Background(), h, s.mode, AcquireOptions{Node: node})
	var full *accel.NoMemoryError
	var wire *accel.CopyError
	switch {
	case errors.As(err, &full), errors.As(err, &wire), e.byLoss(err):
		return
	case err != nil:
		e.fail("acquire %v elsewhere: %v", s.mode, err)
		return
	}
	as := iface.R
	if s.mode == iface.W {
		as = iface.W
	}
	if s.mode.Writes() {
		e.has(atVisit{s}, h, node)
	}
	if e.loses != 0 && node > 0 { // the device may be lost while the program looks
		c := *s
		c.free = true
		s = &c
	}
	if there == nil || node == 0 {
		e.update(s, a, as)
	} else if err := enginetest.Borrow(e.rt.devices[node-1], a.Buffer(), as|iface.R, func() { e.update(s, a, as) }); err != nil && !e.byLoss(err) {
		e.fail("acquire %v elsewhere: %v", s.mode, err)
	}
	a.Release()
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
	e.calls.Add(1)
	use := func(a *Access, err error) {
		defer e.calls.Done()
		gone := false
		if !s.acquire.OrderOnly {
			if e.byLoss(err) {
				e.refuse(s)
				return
			}
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
			if err := a.Fetch(); e.byLoss(err) {
				e.refuse(s)
				gone = true
			} else if !fits(err) {
				e.fail("fetch got %v, want %v", err, s.out)
			}
		}
		if s.out == runs && !gone {
			e.has(s, h, 0)
			e.update(s, a, a.Mode())
		}
		for _, l := range s.lower {
			if err := a.ReleasePart(hs[l.handle], l.mode); err != nil {
				e.fail("release part: %v", err)
			}
		}
	}
	call, how := use, s.acquire
	if how.Async = (s.datum+s.handle)%2 == 0; how.Async {
		call = func(a *Access, err error) {
			go func() {
				if use(a, err); a != nil {
					_ = a.Release()
				}
			}()
		}
	}
	err := e.job.AcquireFuncWith(h, s.mode, how, call)
	if err != nil {
		e.calls.Done()
	}
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
	e.copies[s] = t
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
	case e.byLoss(err):
		e.refuse(s)
	case s.out != runs || err != nil:
		e.fail("try: %v, want %v", err, s.out)
	default:
		e.update(s, a, iface.R)
		a.Release()
	}
}

// rival is another job that goes on until stop is called: its kernels give way to the
// program's, and those to them. It changes nothing of what the program sees.
func rival(rt *Runtime) (stop func() []string) {
	rt.lanes.slice = 0
	over, done := make(chan struct{}), make(chan []string)
	go func() {
		var bad []string
		must := func(err error) {
			if err != nil {
				bad = append(bad, fmt.Sprintf("the rival: %v", err))
			}
		}
		for n := 0; len(bad) == 0; n++ {
			select {
			case <-over:
				done <- bad
				return
			default:
			}
			j := rt.NewJob(context.Background(), JobOptions{Weight: n % 3, MaxWorkers: n % 2, MaxInFlight: 4})
			x, err := rt.Register(DataSpec{Kind: iface.Variable, Elem: iface.I64, Reduce: datamgr.SumReduction()})
			must(err)
			for k := range 20 {
				m := []iface.AccessMode{iface.W, iface.Commute, iface.Redux, iface.R}[min(k, 1+k%3)]
				must(j.Submit(&TaskSpec{Operands: []Operand{{Handle: x, Mode: m}}, Codelet: anywhere("rival", func(c *TaskContext) error {
					for range k % 4 {
						c.GiveWay()
					}
					switch at := element(c.Buffer(0), 0); m {
					case iface.W:
						*at = 0
					case iface.R:
					default:
						*at++
					}
					return nil
				})}))
			}
			a, err := j.Acquire(context.Background(), x, iface.R)
			must(err)
			if err == nil {
				if got := *element(a.Buffer(), 0); got != 14 {
					bad = append(bad, fmt.Sprintf("the rival has %d", got))
				}
				must(a.Release())
			}
			must(j.Unregister(x))
			must(j.Close())
		}
		<-over
		done <- bad
	}()
	return func() []string { close(over); return <-done }
}

// onMachine sees to it that programs run on a machine; "": on various simulated ones; "disk": on
// those, all of them with a disk and room for a quarter of the data in main memory.
func onMachine(t *testing.T, name string) {
	switch name {
	case "":
		return
	case "disk":
		alwaysDisk = true
		t.Cleanup(func() { alwaysDisk = false })
		return
	}
	there = enginetest.Named(t, name)
	t.Cleanup(func() { there = nil })
}

// configurations are what every program runs under, a few at a time.
func configuration(n uint64) Options {
	names := sched.Names()
	o := Options{Policy: names[n%uint64(len(names))], Workers: int(1 + n/3%16), Poison: n%2 == 0, Verify: n%5 == 0, Deterministic: n%7 == 1, Profile: n%11 == 2}
	if n%7 == 0 {
		o.Window = 4
	}
	if alwaysDisk || n%4 == 3 && there == nil {
		o.RAM = aQuarter
	}
	switch {
	case there != nil:
		o.Devices = simulated(int64(64+n*37%700), 1) // which has the memory that those of the machine are to have
		o.Queue = int(1 + n%3)
	case n%6 == 2:
		o.Devices = sockets(int64(64+n*37%700), int(1+n/6%3), n)
	case n%3 == 1:
		o.Devices = devices(int64(64+n*37%700), int(1+n/5%3), int(n/3%3), n)
	}
	return o
}

// devices returns one sound device, two late ones, or, if unsound is not 0, that number
// of flaky ones, each with the given bytes and units.
func devices(bytes int64, units, unsound int, seed uint64) (all []accel.Device) {
	switch {
	case unsound == 0 && seed/9%3 == 0:
		return simulated(bytes, units)
	case unsound == 0:
		return late(bytes, units, seed)
	}
	for i := range unsound {
		all = append(all, newFrail(string(rune('a'+i)), bytes, units).flaky(seed+uint64(i)))
	}
	return all
}

// sockets returns two NUMA nodes with the given bytes and CPUs each, which reach each other; for every second seed
// there is a device as well.
func sockets(bytes int64, units int, seed uint64) (all []accel.Device) {
	link := sim.Link{Latency: 100 * time.Nanosecond, Bandwidth: 1e10}
	for i, name := range []string{"numa 1", "numa 2"} {
		o := sim.Options{Name: name, NUMA: 1 + i, Capacity: bytes, Units: units, Async: true, Late: float64(seed % 3 / 2),
			Main: link, Peers: map[string]sim.Link{[]string{"numa 2", "numa 1"}[i]: link}, Seed: seed}
		d, err := sim.New(o)
		if err != nil {
			panic(err)
		}
		all = append(all, d)
	}
	if seed/12%2 == 1 {
		all = append(all, simulated(bytes, 1)...)
	}
	return all
}

// simulated returns a device with the given bytes and units.
func simulated(bytes int64, units int) []accel.Device {
	d, err := sim.New(sim.Options{Capacity: bytes, Units: units})
	if err != nil {
		panic(err)
	}
	return []accel.Device{d}
}

// late are two devices that reach each other and do a part of their work, or all, only
// when a caller waits for it: a missing wait shows as wrong data.
func late(bytes int64, units int, seed uint64) (all []accel.Device) {
	link := sim.Link{Latency: time.Microsecond, Bandwidth: 1e9}
	for i, name := range []string{"a", "b"} {
		d, err := sim.New(sim.Options{Name: name, Capacity: bytes, Units: units, Async: true, Late: float64(1+seed%2) / 2, Jitter: 0.5,
			Main: link, Peers: map[string]sim.Link{[]string{"b", "a"}[i]: link}, Seed: seed})
		if err != nil {
			panic(err)
		}
		all = append(all, d)
	}
	return all
}

func check(t *testing.T, seed uint64, o Options, journal bool) bool {
	return checkProgram(t, makeProgram(seed), o, journal)
}

func checkProgram(t *testing.T, p *program, o Options, journal bool) bool {
	seed := p.seed
	var j *Journal
	if journal {
		j = &Journal{}
		o.Listener = j
	}
	c := randomCase{p, o}
	c.options.Listener = nil
	bad := guarded(fmt.Sprintf("seed %d under %+v", seed, c.options), func() []string { return execute(p, o, func() {}) }, func() string { return keep(c) })
	if journal && len(bad) == 0 {
		if err := j.Check(); err != nil {
			bad = append(bad, err.Error())
		}
	}
	if len(bad) == 0 {
		return true
	}
	t.Errorf("program %d under %+v: %v\n%s", seed, c.options, bad, keep(c))
	return false
}

func TestRandomPrograms(t *testing.T) {
	onMachine(t, *machine)
	if *only != 0 {
		for n := range uint64(200) {
			if !check(t, *only, configuration(n), false) {
				return
			}
		}
		check(t, *only, Options{Sequential: true}, true)
		return
	}
	end, s, programs := time.Now().Add(*soak), *seed, 300
	if testing.Short() {
		programs = 75
	}
	for n := 0; n < programs || time.Now().Before(end); n++ {
		if !check(t, s, configuration(s), s%16 == 0) || s%4 == 0 && !check(t, s, Options{Sequential: true}, s%16 == 0) {
			return
		}
		s++
	}
	if turned.Load() == 0 && *machine == "" {
		t.Error("no program converted data between layouts")
	}
	kept, lost := overwritten[0].Load(), overwritten[1].Load()
	if kept+lost == 0 && !testing.Short() {
		t.Error("no program had overwrites in any order and failures among them")
	}
	t.Logf("programs %d to %d, %d conversions between layouts, %d and %d times a failed overwrite did not run last, and did", *seed, s-1, turned.Load(), kept, lost)
}

// A few programs run on a driver every day; -machine runs more.
func TestRandomProgramsOnOpenCL(t *testing.T) {
	onMachine(t, "opencl")
	for s := *seed + 1000; s < *seed+1050; s++ {
		if !check(t, s, configuration(s), s%16 == 0) {
			return
		}
	}
}
