package engine

// Accesses that wait for an unordered task.

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// blockUnordered registers a variable of value 7 and starts an unordered task on
// it that ends when stop is closed.
func blockUnordered(t *testing.T) (j *Job, h *datamgr.Handle, stop chan struct{}) {
	t.Helper()
	rt, err := New(Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	j = rt.NewJob(context.Background(), JobOptions{})
	x := 7.0
	h, err = rt.Register(DataSpec{Kind: iface.Variable, Elem: iface.F64, Home: unsafe.Pointer(&x)})
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	stop = make(chan struct{})
	block := &Codelet{Name: "block", CPU: []Impl{func(*TaskContext) error {
		close(started)
		<-stop
		return nil
	}}}
	if err := j.Submit(&TaskSpec{Codelet: block, Operands: []Operand{{Handle: h, Mode: iface.RW, Unordered: true}}}); err != nil {
		t.Fatal(err)
	}
	<-started
	return j, h, stop
}

// TestReadersWakeTogether queues two readers behind an unordered task: the first
// waits for the second, so both must be woken.
func TestReadersWakeTogether(t *testing.T) {
	j, h, stop := blockUnordered(t)
	ran, met := make(chan struct{}), make(chan bool, 1)
	err := j.AcquireFunc(h, iface.R, func(a *Access, err error) {
		select {
		case <-ran:
			met <- true
		case <-time.After(10 * time.Second):
			met <- false
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	read := &Codelet{Name: "read", CPU: []Impl{func(*TaskContext) error { close(ran); return nil }}}
	time.Sleep(20 * time.Millisecond) // both are in the queue, most likely in this order
	if err := j.Submit(&TaskSpec{Codelet: read, Operands: []Operand{{Handle: h, Mode: iface.R}}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	close(stop)
	if !<-met {
		t.Error("a reader slept beside a reader")
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestRefusedWriteKeepsValue gives up an acquire W that never held the data.
func TestRefusedWriteKeepsValue(t *testing.T) {
	j, h, stop := blockUnordered(t)
	if _, err := j.TryAcquire(h, iface.W); err != ErrBusy {
		t.Fatalf("got %v, want ErrBusy", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := j.Acquire(ctx, h, iface.W); err == nil {
		t.Fatal("acquired what a task uses")
	}
	close(stop)
	a, err := j.Acquire(context.Background(), h, iface.R)
	if err != nil {
		t.Fatalf("the value is gone: %v", err)
	}
	if got := *(*float64)(a.Buffer().Ptr); got != 7 {
		t.Errorf("value %v, want 7", got)
	}
	if err := a.Release(); err != nil {
		t.Error(err)
	}
}

// TestUnorderedWaitsForValue: what tasks without order do to data is not lost to the
// reduction, or the lazy initialisation, that gives it its first value.
func TestUnorderedWaitsForValue(t *testing.T) {
	const n = 1 << 10
	add := &Codelet{Name: "add", CPU: []Impl{func(c *TaskContext) error {
		for i := range n {
			*element(c.Buffer(0), i) += c.Arg(0).Int()
		}
		return nil
	}}}
	task := func(h *datamgr.Handle, m iface.AccessMode, k int64) *TaskSpec {
		return &TaskSpec{Codelet: add, Operands: []Operand{{Handle: h, Mode: m, Unordered: m == iface.RW}}, Args: []iface.Scalar{iface.Int(k)}}
	}
	t.Run("reduction", func(t *testing.T) {
		rt, j := start(t, Options{Workers: 2})
		h := lazy(t, rt, n, datamgr.SumReduction())
		gate := j.NewGate()
		late := task(h, iface.Redux, 10)
		late.After = []Dependency{gate} // so that the reduction is late, too
		must(t, j.Submit(task(h, iface.Redux, 1)))
		must(t, j.Submit(late))
		must(t, j.Submit(task(h, iface.RW, 100)))
		must(t, j.Submit(task(h, iface.RW, 1000)))
		time.Sleep(20 * time.Millisecond) // they would run now
		gate.Open()
		must(t, j.Wait(context.Background()))
		readable(t, j, h, 1111)
	})
	t.Run("initialisation", func(t *testing.T) {
		rt, j := start(t, Options{Workers: 2})
		going := make(chan struct{})
		h := lazy(t, rt, n, &datamgr.Reduction{Init: func(b *iface.Buffer) error {
			<-going
			for i := range n {
				*element(b, i) = 1
			}
			return nil
		}})
		must(t, j.Submit(task(h, iface.RW, 10)))
		must(t, j.Submit(task(h, iface.RW, 100)))
		time.Sleep(20 * time.Millisecond)
		close(going)
		must(t, j.Wait(context.Background()))
		readable(t, j, h, 111)
	})
}
