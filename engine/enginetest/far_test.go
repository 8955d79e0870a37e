package enginetest_test

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
)

// far is a program whose tasks all run on the devices of one machine.
type far struct {
	*testing.T
	rt  *engine.Runtime
	job *engine.Job
	on  []int // workers
}

// onDevices runs fn on each machine with drivers.
func onDevices(t *testing.T, fn func(f *far)) {
	for _, name := range machines {
		t.Run(name, func(t *testing.T) {
			m := enginetest.Named(t, name)
			devices, err := m.Open(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			defer enginetest.Close(t, devices)
			rt, err := engine.New(engine.Options{Workers: 1, Devices: devices})
			if err != nil {
				t.Fatal(err)
			}
			f := &far{T: t, rt: rt, job: rt.NewJob(context.Background(), engine.JobOptions{})}
			for w := 1; w < rt.Workers(); w++ {
				f.on = append(f.on, w)
			}
			fn(f)
			f.must(f.job.Close())
			f.must(rt.Close())
		})
	}
}

func (f *far) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *far) matrix(x []int64, rows int) *datamgr.Handle {
	f.Helper()
	h, err := f.rt.Register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, len(x) / rows}, Home: unsafe.Pointer(&x[0])})
	f.must(err)
	return h
}

// run runs a kernel on a device and returns its error. It has no implementation for
// the processor.
func (f *far) run(fn engine.Impl, ops ...engine.Operand) error {
	f.Helper()
	c := &engine.Codelet{Name: "far", On: enginetest.On(fn)}
	task, err := f.job.SubmitTask(&engine.TaskSpec{Codelet: c, Operands: ops, Workers: f.on})
	f.must(err)
	f.must(task.Wait(context.Background()))
	return task.Err()
}

func (f *far) home(hs ...*datamgr.Handle) {
	f.Helper()
	for _, h := range hs {
		f.must(f.job.Unregister(h))
	}
	f.must(f.job.Wait(context.Background()))
}

// A kernel sees what it reads, and what it writes comes back: those elements and no
// others.
func TestFarKernels(t *testing.T) {
	onDevices(t, func(f *far) {
		x, y := make([]int64, 24), make([]int64, 24)
		for i := range x {
			x[i] = int64(i)
		}
		hx, hy := f.matrix(x, 4), f.matrix(y, 4)
		columns, err := f.rt.Partition(hx, filter.Tiles(1, 3, 0))
		f.must(err)
		var room *datamgr.Handle
		room, err = f.rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{5}})
		f.must(err)
		f.must(f.run(func(c *engine.TaskContext) error {
			whole, middle, out, free := c.Buffer(0), c.Buffer(1), c.Buffer(2), iface.Slice[int64](c.Buffer(3))
			free[4] = 100
			for i := range 4 {
				for j := range 6 {
					iface.Row[int64](out, i)[j] = iface.Row[int64](whole, i)[j] + free[4]
				}
				for j := range 2 {
					iface.Row[int64](middle, i)[j] *= -1
				}
			}
			if iface.Row[int64](whole, 3)[2] != -20 {
				t.Errorf("operands that overlap do not share memory: %v", iface.Row[int64](whole, 3))
			}
			return nil
		}, engine.Operand{Handle: hx, Mode: iface.R}, engine.Operand{Handle: columns.Parts[1], Mode: iface.RW},
			engine.Operand{Handle: hy, Mode: iface.W}, engine.Operand{Handle: room, Mode: iface.Scratch}))
		// what a kernel writes beside its operands goes nowhere
		f.must(f.run(func(c *engine.TaskContext) error {
			mem, ld := iface.Strided[int64](c.Buffer(0))
			for i := range 4 {
				mem[i*ld]++
				if i < 3 {
					mem[i*ld+3] = 7
				}
			}
			return nil
		}, engine.Operand{Handle: columns.Parts[0], Mode: iface.RW}))
		f.home(hx, hy, room)
		for i := range x {
			row, col := i/6, i%6
			want := int64(i)
			switch {
			case col == 0:
				want++
			case col == 2 || col == 3:
				want = -want
			}
			if x[i] != want || y[i] != int64(i)+100 {
				t.Errorf("row %d column %d: %d and %d, want %d and %d", row, col, x[i], y[i], want, i+100)
			}
		}
	})
}

// An error of a kernel fails its task, and nothing is copied back.
func TestFarFailures(t *testing.T) {
	onDevices(t, func(f *far) {
		x, y := []int64{1, 2}, []int64{3, 4}
		hx, hy := f.matrix(x, 1), f.matrix(y, 1)
		oops := errors.New("oops")
		spoil := func(c *engine.TaskContext) { iface.Row[int64](c.Buffer(0), 0)[0] = 99 }
		if err := f.run(func(c *engine.TaskContext) error { spoil(c); return oops }, engine.Operand{Handle: hx, Mode: iface.RW}); !errors.Is(err, oops) {
			t.Errorf("an error: %v", err)
		}
		var p *engine.PanicError
		if err := f.run(func(c *engine.TaskContext) error { spoil(c); panic("oops") }, engine.Operand{Handle: hy, Mode: iface.RW}); !errors.As(err, &p) {
			t.Errorf("a panic: %v", err)
		}
		for _, h := range []*datamgr.Handle{hx, hy} {
			var lost *engine.FailedDataError
			if _, err := f.job.Acquire(context.Background(), h, iface.R); !errors.As(err, &lost) {
				t.Errorf("data of a kernel that failed: %v", err)
			}
			f.must(f.run(func(c *engine.TaskContext) error { copy(iface.Row[int64](c.Buffer(0), 0), []int64{5, 6}); return nil },
				engine.Operand{Handle: h, Mode: iface.W}))
		}
		f.home(hx, hy)
		if x[0] != 5 || y[1] != 6 {
			t.Errorf("%v %v", x, y)
		}
	})
}
