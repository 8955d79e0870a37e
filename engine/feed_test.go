package engine

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestFed: while a kernel runs on a device that is full, what the next task needs
// arrives there, in place of what nobody needs, which is saved first.
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
		on(incs, Operand{Handle: old, Mode: iface.RW})
		must(t, j.Wait(context.Background()))
		begun, end := make(chan bool), make(chan bool)
		on(kernel("held", func(*TaskContext) error { begun <- true; <-end; return nil }), Operand{Handle: now, Mode: iface.RW})
		on(incs, Operand{Handle: next, Mode: iface.R}, Operand{Handle: out, Mode: iface.W})
		<-begun
		for next.Where()[1].Valid < 80 || old.Where()[1].Allocated > 0 {
			runtime.Gosched()
		}
		if w := old.Where(); w[0].Valid != 80 {
			t.Errorf("%s: what went was not saved: %+v", policy, w)
		}
		if room := rt.Nodes()[1]; room.Allocated > 160 {
			t.Errorf("%s: no room for what the next task writes: %+v", policy, room)
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
	on(incs, Operand{Handle: b, Mode: iface.RW})
	must(t, j.Wait(context.Background()))
	on(kernel("held", func(*TaskContext) error { begun <- true; <-end; return nil }), Operand{Handle: a, Mode: iface.RW})
	<-begun
	on(incs, Operand{Handle: c, Mode: iface.RW})
	for c.Where()[1].Valid < 80 {
		runtime.Gosched()
	}
	end <- true
	must(t, j.Wait(context.Background()))
}

// TestNotFed: what runs now and what others need as soon stays, and with Ahead below 0
// nothing is brought.
func TestNotFed(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Ahead: -1, Devices: simulated(160, 1)})
	if rt.feeders != nil {
		t.Error("there are feeders")
	}
	h := ints(t, rt, make([]int64, 10))
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	if _, err := New(Options{Ahead: maxAhead + 1}); err == nil {
		t.Error("so many tasks ahead")
	}

	rt, j = start(t, Options{Workers: 1, Devices: simulated(160, 1)})
	var order []int
	begun, end := make(chan bool), make(chan bool)
	a, b, c := ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10)), ints(t, rt, make([]int64, 10))
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
