package engine

import (
	"context"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// A task says where it is.
func TestTaskState(t *testing.T) {
	for _, o := range parallel {
		if o.Workers != 1 {
			continue
		}
		rt, j := start(t, o)
		var inKernel, inCallback TaskState
		g, end := j.NewGate(), j.NewGate()
		enter, leave := make(chan struct{}), make(chan struct{})
		block := kernel("blocks", func(*TaskContext) error { enter <- struct{}{}; <-leave; return nil })
		k := j.NewTask(&TaskSpec{After: []Dependency{g}, Codelet: kernel("k", func(c *TaskContext) error {
			inKernel = c.Task().State()
			return c.Task().AddEndDependency(end)
		})}, TaskOptions{Callback: func(k *Task) error { inCallback = k.State(); return nil }})
		want := func(s TaskState) {
			t.Helper()
			if got := k.State(); got != s {
				t.Errorf("%v: %v, want %v", o.Policy, got, s)
			}
		}
		want(StatePrepared)
		must(t, k.Submit())
		want(StateWaiting)
		must(t, j.Submit(&TaskSpec{Codelet: block}))
		<-enter
		g.Open()
		want(StateReady)
		close(leave)
		must(t, rt.WaitNoReady(context.Background()))
		want(StateEnding)
		end.Open()
		must(t, k.Wait(context.Background()))
		want(StateEnded)
		if inKernel != StateRunning || inCallback != StateEnding {
			t.Error(o.Policy, inKernel, inCallback)
		}
		must(t, j.Wait(context.Background()))
	}
}

// TestStateWithoutWaiting: a task that waits for nothing is ready at once.
func TestStateWithoutWaiting(t *testing.T) {
	_, j := start(t, Options{Workers: 1})
	enter, leave := make(chan struct{}), make(chan struct{})
	block := kernel("blocks", func(*TaskContext) error { enter <- struct{}{}; <-leave; return nil })
	a, err := j.SubmitTask(&TaskSpec{Codelet: block})
	must(t, err)
	<-enter
	b, err := j.SubmitTask(&TaskSpec{Codelet: incs})
	must(t, err)
	if a.State() != StateRunning || b.State() != StateReady {
		t.Errorf("%v and %v, want running and ready", a.State(), b.State())
	}
	close(leave)
	must(t, b.Wait(context.Background()))
}

// TestMeetings: tasks that may run side by side do, if there are workers. Readers that
// wait for each other meet again and again, no matter whether workers sleep or look for
// work when they are released.
func TestMeetings(t *testing.T) {
	for _, name := range sched.Names() {
		t.Run(name, func(t *testing.T) {
			rt, j := start(t, Options{Workers: 8, Policy: name})
			h := ints(t, rt, make([]int64, 1))
			end := time.Now().Add(*soak)
			for round := 0; round < 100 || time.Now().Before(end); round++ {
				var all sync.WaitGroup
				all.Add(4)
				here := make(chan struct{})
				go func() { all.Wait(); close(here) }()
				meet := kernel("meet", func(*TaskContext) error {
					all.Done()
					select {
					case <-here:
						return nil
					case <-time.After(time.Minute):
						return errBoom
					}
				})
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
				for range 4 {
					must(t, j.Submit(&TaskSpec{Codelet: meet, Operands: ops(iface.R, h)}))
				}
				if round%3 > 0 { // else what runs releases the next
					must(t, j.Wait(context.Background()))
				}
			}
			must(t, j.Wait(context.Background()))
			for _, f := range j.Failures() {
				t.Error(f)
			}
		})
	}
}

// Records begin with a cache line, whichever slab they are from: layout.go rests on it.
func TestRecordsOnLines(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1})
	sub := rt.reg.Lock()
	defer sub.Unlock()
	for _, wide := range []bool{false, true} {
		for i := range 1000 {
			k := rt.freshTask(sub, wide)
			if at := uintptr(unsafe.Pointer(k)); at%64 != 0 && unsafe.Sizeof(at) == 8 {
				t.Fatalf("wide %v: record %d lies %d bytes behind a line", wide, i, at%64)
			}
		}
	}
}
