package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
)

// TestDataComesWhileAnotherKernelRuns: what a task reads goes to the device that
// the policy chose before the task's turn comes.
func TestDataComesWhileAnotherKernelRuns(t *testing.T) {
	for _, p := range []string{"dm", "dmda", "dmdas"} {
		rt, j := start(t, Options{Workers: 1, Policy: p, Devices: simulated(1<<10, 1)})
		h := ints(t, rt, make([]int64, 10))
		busy, started := make(chan bool), make(chan bool)
		must(t, j.Submit(&TaskSpec{Codelet: kernel("busy", func(*TaskContext) error { close(started); <-busy; return nil }), Workers: []int{1}}))
		<-started
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
		enginetest.Eventually(t, "the data of the next task comes", func() bool { return present(t, j, h, 1).Valid == 80 })
		close(busy)
		holds(t, j, h, 1)
	}
}

// bring fetches h before a task needs it, so that submitting the task adds no hint, which
// may be carried out, and hold the data, long after the task.
func bring(t *testing.T, j *Job, h *datamgr.Handle, node int) {
	t.Helper()
	must(t, j.PrefetchWith(h, node, PrefetchOptions{Wait: true}))
}

func present(t *testing.T, j *Job, h *datamgr.Handle, node int) datamgr.Presence {
	t.Helper()
	all, err := j.Where(h)
	must(t, err)
	return all[node]
}

func TestWhereAndEvict(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<10, 1)})
	h := ints(t, rt, make([]int64, 10))
	lazy, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{4}})
	must(t, err)
	if got := present(t, j, lazy, 0); got != (datamgr.Presence{}) {
		t.Errorf("data without memory: %+v", got)
	}
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	if ram, dev := present(t, j, h, 0), present(t, j, h, 1); ram.Valid != 0 || ram.Allocated != 80 || dev.Valid != 80 || dev.Allocated != 80 || dev.Node != 1 {
		t.Errorf("after a write on the device: %+v, %+v", ram, dev)
	}
	if n, err := j.Evict(h, 1); n != 80 || err != nil {
		t.Errorf("evicted %d bytes, %v", n, err)
	}
	if ram, dev := present(t, j, h, 0), present(t, j, h, 1); ram.Valid != 80 || dev != (datamgr.Presence{Node: 1}) {
		t.Errorf("after eviction: %+v, %+v", ram, dev)
	}
	if n, err := j.Evict(h, 1); n != 0 || err != nil {
		t.Errorf("evicted %d bytes again, %v", n, err)
	}
	var mode *ModeError
	if _, err := j.Evict(h, 0); !errors.As(err, &mode) {
		t.Errorf("evicted from main memory: %v", err)
	}
	var none *NoNodeError
	if _, err := j.Evict(h, 2); !errors.As(err, &none) {
		t.Errorf("evicted from nowhere: %v", err)
	}
	holds(t, j, h, 1)
}

// TestIdleHintsComeLast: hints are carried out by what they are for, then by
// priority, then in their order.
func TestIdleHintsComeLast(t *testing.T) {
	d := newFrail("a", 1<<10, 1)
	gate, held := make(chan bool), make(chan bool)
	var order []int64
	d.unstable = func(_ *frailStream, bytes int64) bool { // called by the one goroutine that copies there
		if order = append(order, bytes); len(order) == 1 {
			close(held)
			<-gate
		}
		return false
	}
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	var hs []*datamgr.Handle
	for i := range 5 {
		hs = append(hs, ints(t, rt, make([]int64, 1+i)))
	}
	must(t, j.Prefetch(hs[0], 1, false))
	<-held
	must(t, j.PrefetchWith(hs[1], 1, PrefetchOptions{Idle: true, Priority: 9}))
	must(t, j.PrefetchWith(hs[2], 1, PrefetchOptions{Priority: 1}))
	must(t, j.PrefetchWith(hs[3], 1, PrefetchOptions{Priority: 2}))
	must(t, j.PrefetchWith(hs[4], 1, PrefetchOptions{Priority: 1}))
	close(gate)
	enginetest.Eventually(t, "the last hint is carried out", func() bool { return present(t, j, hs[1], 1).Valid > 0 })
	if want := []int64{8, 32, 24, 40, 16}; !slices.Equal(order, want) {
		t.Errorf("bytes copied: %v, want %v", order, want)
	}
}

// TestGatherTo: the data is in one piece where it was asked for, and the pieces are
// gone; where it does not fit, it is in main memory.
func TestGatherTo(t *testing.T) {
	dev := simulated(160, 1)
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	x, large := []int64{1, 2, 3, 4, 5, 6, 7, 8}, ints(t, rt, make([]int64, 30))
	h := ints(t, rt, x)
	v, err := rt.Partition(h, filter.Blocks(2))
	must(t, err)
	for _, p := range v.Parts {
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: p, Mode: iface.RW}}, Workers: []int{1}}))
	}
	rt.EndView(v)
	must(t, j.GatherTo(h, 1))
	must(t, j.GatherTo(large, 1))
	must(t, j.Wait(context.Background()))
	if p := present(t, j, h, 1); p.Valid != 64 || p.Allocated != 64 {
		t.Errorf("gathered on the device: %+v", p)
	}
	if p := present(t, j, large, 0); p.Valid != 240 {
		t.Errorf("too large for it: %+v", p)
	}
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
	lazy, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{4}})
	must(t, err)
	must(t, j.GatherTo(lazy, 1))
	must(t, j.Gather(h))
	must(t, j.Wait(context.Background()))
	if !slices.Equal(x, []int64{3, 4, 5, 6, 7, 8, 9, 10}) || present(t, j, h, 1).Allocated != 0 {
		t.Errorf("gathered at home: %v, %+v", x, present(t, j, h, 1))
	}
	var none *NoNodeError
	if err := j.GatherTo(h, 2); !errors.As(err, &none) {
		t.Errorf("on no node: %v", err)
	}
}

// TestDiscardableGoesFirst: whatever else was used longer ago, and although tasks
// wait for it.
func TestDiscardableGoesFirst(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(160, 1)})
	old, h, o := ints(t, rt, make([]int64, 8)), ints(t, rt, make([]int64, 8)), ints(t, rt, make([]int64, 8))
	v, err := rt.Partition(h, filter.Blocks(1))
	must(t, err)
	h.SetDiscardable(true)
	gate := j.NewGate()
	on := func(h *datamgr.Handle, m iface.AccessMode, after ...Dependency) {
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: m}}, Workers: []int{1}, After: after}))
	}
	bring(t, j, old, 1)
	on(old, iface.R)
	bring(t, j, v.Parts[0], 1)
	on(v.Parts[0], iface.R)
	k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: v.Parts[0], Mode: iface.R}}, Workers: []int{1}})
	must(t, err)
	must(t, k.Wait(context.Background()))
	on(v.Parts[0], iface.R, gate) // waits
	k, err = j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: o, Mode: iface.R}}, Workers: []int{1}})
	must(t, err)
	must(t, k.Wait(context.Background()))
	if present(t, j, old, 1).Valid == 0 || present(t, j, h, 1).Valid != 0 {
		t.Errorf("evicted: %+v stays, %+v goes", present(t, j, old, 1), present(t, j, h, 1))
	}
	gate.Open()
	must(t, j.Wait(context.Background()))
}

// TestMakeRoom: idle data leaves a device until there is room, and values that were only there are kept.
func TestMakeRoom(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1000, 1)})
	gate := j.NewGate()
	var all [3][]int64
	var hs [3]*datamgr.Handle
	for i := range hs {
		all[i] = make([]int64, 30)
		hs[i] = ints(t, rt, all[i])
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: hs[i], Mode: iface.RW}}, Workers: []int{1}}))
	}
	must(t, j.Wait(context.Background()))
	for _, c := range []struct{ ask, least int64 }{{0, 280}, {-1, 280}, {280, 280}, {300, 520}, {521, 760}, {5000, 1000}} {
		free, err := rt.MakeRoom(1, c.ask)
		if err != nil || free != c.least || free != 1000-rt.Nodes()[1].Allocated {
			t.Errorf("room for %d: %d free, %v; want %d", c.ask, free, err, c.least)
		}
	}
	for i := range hs {
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: hs[i], Mode: iface.RW}}, Workers: []int{1}}))
	}
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: hs[0], Mode: iface.RW}}, Workers: []int{1}, After: []Dependency{gate}}))
	gate.Open()
	must(t, j.Wait(context.Background()))
	for i := range hs {
		must(t, j.Unregister(hs[i]))
	}
	must(t, j.Wait(context.Background()))
	for i, x := range all {
		if want := []int64{3, 2, 2}[i]; slices.ContainsFunc(x, func(v int64) bool { return v != want }) {
			t.Errorf("data %d: %v, want %d everywhere", i, x, want)
		}
	}
	var none *NoNodeError
	if _, err := rt.MakeRoom(2, 1); !errors.As(err, &none) {
		t.Errorf("on no node: %v", err)
	}
	var mode *ModeError
	if _, err := rt.MakeRoom(0, 1); !errors.As(err, &mode) {
		t.Errorf("in main memory: %v", err)
	}
}

// TestAllocate: memory for data is allocated before a task writes it, if some is free.
func TestAllocate(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(160, 1)})
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{10}})
	must(t, err)
	o := ints(t, rt, make([]int64, 11))
	for node := range 2 {
		if ok, err := j.Allocate(h, node); !ok || err != nil {
			t.Errorf("on node %d: %v, %v", node, ok, err)
		}
		if p := present(t, j, h, node); p.Allocated != 80 {
			t.Errorf("on node %d: %+v", node, p)
		}
	}
	if ok, err := j.Allocate(o, 1); ok || err != nil {
		t.Errorf("without room: %v, %v", ok, err)
	}
	before := present(t, j, h, 1)
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.W}}, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	if p := present(t, j, h, 1); p.Valid != 80 || before.Allocated != p.Allocated || rt.Nodes()[1].Allocated != 80 {
		t.Errorf("a task uses other memory: %+v, then %+v", before, p)
	}
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: o, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Unregister(h))
	must(t, j.Wait(context.Background()))
	var dead *DeadHandleError
	if _, err := j.Allocate(h, 1); !errors.As(err, &dead) {
		t.Errorf("for data that has ended: %v", err)
	}
	var none *NoNodeError
	if _, err := j.Allocate(o, 2); !errors.As(err, &none) {
		t.Errorf("on no node: %v", err)
	}
}

// TestOutOfCore: data that is to stay in main memory goes to the disk last, but before
// a task has no room.
func TestOutOfCore(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 1}, 240))
	var hs []*datamgr.Handle
	for range 4 {
		h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{10}})
		must(t, err)
		hs = append(hs, h)
		defer unregister(t, j, h)
	}
	use := func(k int) {
		must(t, j.Submit(&TaskSpec{Codelet: kernel("use", func(*TaskContext) error { return nil }), Operands: []Operand{{Handle: hs[k], Mode: iface.W}}}))
		must(t, j.Wait(context.Background()))
	}
	hs[0].SetOutOfCore(false)
	for k := range hs {
		use(k)
	}
	if a, b := present(t, j, hs[0], 0), present(t, j, hs[1], 0); a.Valid != 80 || b.Valid != 0 {
		t.Errorf("in main memory: %+v of what is to stay, %+v of the other", a, b)
	}
	hs[2].SetOutOfCore(false)
	hs[3].SetOutOfCore(false)
	use(1)
	if a, b := present(t, j, hs[0], 0), present(t, j, hs[1], 0); a.Valid != 0 || b.Valid != 80 {
		t.Errorf("nothing else could go: %+v, %+v", a, b)
	}
}

// TestFed: while a kernel runs on a full device, the data of the next task is copied
// there. Data that no task needs makes room, and is saved first.
func TestFed(t *testing.T) {
	for _, policy := range []string{"eager", "prio", "lws", "random", "dm", "dmda", "dmdap", "dmdar", "dmdas", "darts"} {
		rt, j := start(t, Options{Workers: 1, Policy: policy, Devices: simulated(240, 1)})
		var hs []*datamgr.Handle
		for range 4 {
			hs = append(hs, ints(t, rt, make([]int64, 10)))
		}
		on := func(c *Codelet, ops ...Operand) {
			t.Helper()
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops, Workers: []int{1}}))
		}
		old, now, next, out := hs[0], hs[1], hs[2], hs[3]
		bring(t, j, old, 1)
		on(incs, Operand{Handle: old, Mode: iface.RW})
		must(t, j.Wait(context.Background()))
		bring(t, j, now, 1) // else some policies take the other task first, once its data is there
		begun, end := make(chan bool), make(chan bool)
		on(kernel("held", func(*TaskContext) error { begun <- true; <-end; return nil }), Operand{Handle: now, Mode: iface.RW})
		on(incs, Operand{Handle: next, Mode: iface.R}, Operand{Handle: out, Mode: iface.W})
		<-begun
		enginetest.Eventually(t, policy+": the next task's data comes, and there is room for what it writes", func() bool {
			return managed(next).Where()[1].Valid == 80 && managed(old).Where()[1].Allocated == 0 && rt.Nodes()[1].Allocated <= 160
		})
		if w := managed(old).Where(); w[0].Valid != 80 {
			t.Errorf("%s: what went was not saved: %+v", policy, w)
		}
		end <- true
		must(t, j.Wait(context.Background()))
		if s := rt.Stats(); s.Nodes[1].Arrived != 240 || s.Nodes[1].Evictions != 1 {
			t.Errorf("%s: %+v", policy, s.Nodes[1])
		}
	}
}

// TestFedLater: so does what a task needs that is given to a worker that is busy already.
func TestFedLater(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(160, 1)})
	a, b, c := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10))
	begun, end := make(chan bool), make(chan bool)
	on := func(k *Codelet, ops ...Operand) {
		t.Helper()
		must(t, j.Submit(&TaskSpec{Codelet: k, Operands: ops, Workers: []int{1}}))
	}
	bring(t, j, b, 1)
	on(incs, Operand{Handle: b, Mode: iface.RW})
	must(t, j.Wait(context.Background()))
	on(kernel("held", func(*TaskContext) error { begun <- true; <-end; return nil }), Operand{Handle: a, Mode: iface.RW})
	<-begun
	on(incs, Operand{Handle: c, Mode: iface.RW})
	enginetest.Eventually(t, "the data of a task that was pushed later comes", func() bool { return managed(c).Where()[1].Valid == 80 })
	end <- true
	must(t, j.Wait(context.Background()))
}

// TestNotFed: what runs now and what others need as soon stays, and with Ahead below 0
// nothing is brought.
func TestNotFed(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Ahead: -1, Devices: simulated(160, 1)})
	if rt.ahead != nil {
		t.Error("workers look ahead")
	}
	h := ints(t, rt, make([]int64, 10))
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	if _, err := New(Options{Ahead: maxAhead + 1}); err == nil {
		t.Error("an Ahead above the maximum is accepted")
	}

	rt, j = start(t, Options{Workers: 1, Devices: simulated(160, 1)})
	var order []int
	begun, end := make(chan bool), make(chan bool)
	a, b, c := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10))
	bring(t, j, b, 1)
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: b, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	must(t, j.Submit(&TaskSpec{Codelet: kernel("held", func(*TaskContext) error { begun <- true; <-end; return nil }),
		Operands: []Operand{{Handle: a, Mode: iface.RW}}, Workers: []int{1}}))
	<-begun
	for i, h := range []*datamgr.Handle{b, c} { // b is there, and there is no room for c
		must(t, j.Submit(&TaskSpec{Codelet: kernel("next", func(*TaskContext) error { order = append(order, i); return nil }),
			Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
	}
	end <- true
	must(t, j.Wait(context.Background()))
	if !slices.Equal(order, []int{0, 1}) {
		t.Errorf("ran in the order %v", order)
	}
	if n := rt.Stats().Nodes[1]; n.Arrived != 240 {
		t.Errorf("%+v", n)
	}
}

// heldLooks is a policy of package sched whose Ahead a test can hold, after it has shown the
// tasks.
type heldLooks struct {
	sched.Policy
	hold atomic.Pointer[heldLook]
}

type heldLook struct{ begun, end chan bool }

func (p *heldLooks) Ahead(w, n int, visit func(*sched.Item)) {
	p.Policy.(sched.Ahead).Ahead(w, n, visit)
	if h := p.hold.Swap(nil); h != nil {
		close(h.begun)
		<-h.end
	}
}

// next holds the next look.
func (p *heldLooks) next() *heldLook {
	h := &heldLook{make(chan bool), make(chan bool)}
	p.hold.Store(h)
	return h
}

// holdingLooks returns options with such a policy.
func holdingLooks(p *heldLooks, o Options) Options {
	o.NewPolicy = func(m sched.Machine) sched.Policy {
		for _, e := range sched.Table() {
			if e.Name == "prio" {
				p.Policy = e.New(m)
			}
		}
		return p
	}
	return o
}

// heldKernel is a kernel that says when it begins, and then waits.
type heldKernel struct{ begun, end chan bool }

func holdKernel(t *testing.T, j *Job, worker int) *heldKernel {
	t.Helper()
	k := &heldKernel{make(chan bool), make(chan bool)}
	must(t, j.Submit(&TaskSpec{Codelet: kernel("held", func(*TaskContext) error { close(k.begun); <-k.end; return nil }), Workers: []int{worker}}))
	return k
}

// TestLooksMeet: a worker looks for its next tasks, and a goroutine that gives it one meanwhile
// does not wait for that. The data of its task comes, although the prefetcher has to do
// something else first.
func TestLooksMeet(t *testing.T) {
	const large = 88
	saving, saved := make(chan bool), make(chan bool)
	var once sync.Once
	d := newFrail("a", 160, 2)
	var p heldLooks
	rt, j := start(t, holdingLooks(&p, Options{Workers: 1, Ahead: 1, Devices: []accel.Device{d}}))
	b, c, out := ints(t, rt, make([]int64, large/8)), ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10))
	small := ints(t, rt, make([]int64, 1))
	bring(t, j, b, 1)
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: b, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	d.unstable = func(_ *frailStream, bytes int64) bool { // the device is idle: nothing reads the field now
		if bytes == large {
			once.Do(func() { close(saving) })
			<-saved
		}
		return false
	}
	busy := holdKernel(t, j, 2)
	<-busy.begun
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: out, Mode: iface.W}}, Workers: []int{2}}))
	<-saving // b, to make room for out: the only fetch that may be under way

	look := p.next()
	first := holdKernel(t, j, 1)
	<-look.begun
	submitted := make(chan error, 1)
	go func() {
		submitted <- j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: c, Mode: iface.RW}}, Workers: []int{1}})
	}()
	select {
	case err := <-submitted:
		must(t, err)
	case <-time.After(time.Minute):
		t.Error("a submission waits for the look of a worker")
	}
	must(t, j.Prefetch(small, 1, false))
	enginetest.Eventually(t, "what was asked for c when it was submitted has found no room", func() bool { return managed(small).Where()[1].Valid == 8 })
	close(look.end)
	<-first.begun
	close(saved)
	enginetest.Eventually(t, "the data of a task that was pushed during a look comes", func() bool { return managed(c).Where()[1].Valid == 80 })
	close(first.end)
	close(busy.end)
	must(t, j.Wait(context.Background()))
	holds(t, j, c, 1)
}

// TestRoomAsOfNow: no data is evicted for memory that a task needed when its worker looked,
// and has when its data is fetched.
func TestRoomAsOfNow(t *testing.T) {
	var p heldLooks
	rt, j := start(t, holdingLooks(&p, Options{Workers: 1, Devices: simulated(240, 1)}))
	old, in, out := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10))
	bring(t, j, old, 1)
	bring(t, j, in, 1)
	first := holdKernel(t, j, 1)
	<-first.begun
	second := holdKernel(t, j, 1)
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: in, Mode: iface.R}, {Handle: out, Mode: iface.W}}, Workers: []int{1}}))
	if n, err := j.Evict(in, 1); n != 80 || err != nil {
		t.Fatalf("evicted %d bytes, %v", n, err)
	}
	look := p.next()
	close(first.end)
	<-look.begun
	enginetest.Eventually(t, "there is memory for what is written", func() bool { ok, err := j.Allocate(out, 1); return ok && err == nil })
	close(look.end)
	enginetest.Eventually(t, "what is read comes", func() bool { return managed(in).Where()[1].Valid == 80 })
	if w := managed(old).Where()[1]; w.Valid != 80 {
		t.Errorf("evicted although there was room: %+v", w)
	}
	<-second.begun
	close(second.end)
	must(t, j.Wait(context.Background()))
}

// TestFedForAnybody: the data of a task that any worker may run comes while all are busy.
func TestFedForAnybody(t *testing.T) {
	for _, policy := range []string{"eager", "prio"} {
		rt, j := start(t, Options{Workers: 1, Policy: policy, Devices: simulated(1<<10, 1)})
		a, b := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10))
		onCPU, onDevice := holdKernel(t, j, 0), holdKernel(t, j, 1)
		<-onCPU.begun
		<-onDevice.begun
		for _, h := range []*datamgr.Handle{a, b} {
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
			enginetest.Eventually(t, policy+": the data of a task for anybody comes", func() bool { return managed(h).Where()[1].Valid == 80 })
		}
		close(onCPU.end)
		close(onDevice.end)
		must(t, j.Wait(context.Background()))
		if n := rt.hungry.Load(); n != 0 {
			t.Errorf("%s: %d workers without kernels are hungry", policy, n)
		}
		holds(t, j, a, 1)
		holds(t, j, b, 1)
	}
}

// TestLateRequestsAreDropped: data is not brought to a node for a task that has run, even when
// another one waits to read it.
func TestLateRequestsAreDropped(t *testing.T) {
	const large = 128
	copying, end := make(chan bool), make(chan bool)
	d := newFrail("a", 1<<10, 1)
	d.unstable = func(_ *frailStream, bytes int64) bool {
		if bytes == large {
			close(copying)
			<-end
		}
		return false
	}
	rt, j := start(t, Options{Workers: 1, Ahead: -1, Devices: []accel.Device{d}})
	slow, h, last := ints(t, rt, make([]int64, large/8)), ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 5))
	must(t, j.Prefetch(slow, 1, false))
	<-copying
	held := holdKernel(t, j, 1)
	<-held.begun
	read := func(after ...Dependency) *Task {
		t.Helper()
		k, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.R}}, Workers: []int{1}, After: after})
		must(t, err)
		return k
	}
	k := read() // its data is requested, behind slow
	close(held.end)
	must(t, k.Wait(context.Background()))
	gate := j.NewGate()
	read(gate)
	if n, err := j.Evict(h, 1); n != 80 || err != nil {
		t.Errorf("evicted %d bytes, %v", n, err)
	}
	must(t, j.Prefetch(last, 1, false))
	close(end)
	enginetest.Eventually(t, "the last request is carried out", func() bool { return present(t, j, last, 1).Valid == 40 })
	if p := present(t, j, h, 1); p.Allocated != 0 {
		t.Errorf("brought for a task that has run: %+v", p)
	}
	gate.Open()
	must(t, j.Wait(context.Background()))
}
