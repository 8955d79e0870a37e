package engine

import (
	"context"
	"os"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf/perftest"
)

func TestMain(m *testing.M) {
	remove := perftest.Private()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

// run makes a runtime and a job that end with the test.
func start(t testing.TB, o Options) (*Runtime, *Job) {
	t.Helper()
	rt, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true})
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("closing the job: %v", err)
		}
		if err := rt.Close(); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
	})
	return rt, j
}

func ints(t testing.TB, rt *Runtime, x []int64) *datamgr.Handle {
	t.Helper()
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{len(x)}, Home: unsafe.Pointer(unsafe.SliceData(x))})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func kernel(name string, fn func(c *TaskContext) error) *Codelet {
	return &Codelet{Name: name, CPU: []Impl{fn}}
}

var incs = kernel("inc", func(c *TaskContext) error {
	for i := range c.NumBuffers() {
		if c.Mode(i) == iface.R {
			continue
		}
		for k := range iface.Slice[int64](c.Buffer(i)) {
			iface.Slice[int64](c.Buffer(i))[k]++
		}
	}
	return nil
})

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestChain(t *testing.T) {
	for _, o := range []Options{{Workers: 1}, {Workers: 4}, {Sequential: true}, {Policy: "prio", Workers: 2}, {Policy: "eager", Workers: 2}} {
		x := make([]int64, 3)
		rt, j := start(t, o)
		h := ints(t, rt, x)
		for range 10000 {
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
		}
		must(t, j.Wait(context.Background()))
		if x[0] != 10000 || x[2] != 10000 {
			t.Error(o, x)
		}
		must(t, j.Unregister(h))
	}
}

func ptr(x []int64) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
