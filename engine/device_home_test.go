package engine

// Data that lives in the memory of a device.

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// deviceHome is memory of the program on a device.
type deviceHome struct {
	t   testing.TB
	dev accel.Device
	p   unsafe.Pointer
	n   int
}

// given allocates memory of a device and copies x there; it is freed after the runtime has ended, if it is made first.
func given(t testing.TB, dev accel.Device, x []int64) *deviceHome {
	t.Helper()
	p, err := dev.Memory().Alloc(int64(8 * len(x)))
	must(t, err)
	o := &deviceHome{t, dev, p, len(x)}
	o.move(x, false)
	return o
}

// move copies x to the device, or back.
func (o *deviceHome) move(x []int64, back bool) {
	o.t.Helper()
	s, err := o.dev.NewStream()
	must(o.t, err)
	ram := accel.NewHeap("ram", 1<<30)
	c := accel.Copy{Dst: accel.Place{Mem: o.dev.Memory(), Ptr: o.p}, Src: accel.Place{Mem: ram, Ptr: ptr(x)}, Bytes: int64(8 * o.n),
		Count: accel.Counts()}
	if back {
		c.Dst, c.Src = c.Src, c.Dst
	}
	must(o.t, s.Copy(&c))
	must(o.t, s.Sync())
	must(o.t, s.Close())
}

// values returns the memory, which is freed then.
func (o *deviceHome) values() []int64 {
	o.t.Helper()
	x := make([]int64, o.n)
	o.move(x, true)
	o.free()
	return x
}

func (o *deviceHome) free() { o.dev.Memory().Free(o.p, int64(8*o.n)) }

// homeMachines are those with whose devices data lives.
var homeMachines = []string{"sim:cpu2gpu1", "sim:cpu8gpu4", "opencl", "cuda-fake"}

// TestHomeOnDevice compares tasks anywhere, on parts of data that lives on a device, with the same on a slice. The
// value is at home at the end.
func TestHomeOnDevice(t *testing.T) {
	const rows, cols = 6, 5
	for _, name := range homeMachines {
		t.Run(name, func(t *testing.T) {
			m := enginetest.Named(t, name)
			devices, err := m.Open(1 << 20)
			must(t, err)
			defer enginetest.Close(t, devices)
			for seed := range uint64(8) {
				r := rand.New(rand.NewPCG(seed, 1))
				want := make([]int64, rows*cols)
				for i := range want {
					want[i] = int64(i * i)
				}
				home := given(t, devices[0], want)
				rt, err := New(Options{Workers: 2, Devices: devices, Verify: seed%4 == 3, Poison: true})
				must(t, err)
				j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true})
				x, err := MakeMatrix[int64](rt, rows, cols, HomeOn(1, home.p), ReduceSum)
				must(t, err)
				if w, err := j.Where(x.Handle); err != nil || w[1].Valid != 8*rows*cols || w[0].Valid != 0 || !x.Home() {
					t.Fatalf("at first it is at %+v: %v", w, err)
				}
				views := []*datamgr.View{must1(rt.Partition(x.Handle, filter.Rows(3, 0)))(t), must1(rt.Partition(x.Handle, filter.Pick(1)))(t)}
				for range 30 {
					h, at := x.Handle, func(i int) int { return i }
					switch k := r.IntN(3); {
					case k == 1:
						p := r.IntN(3)
						h, at = views[0].Parts[p], func(i int) int { return p*2*cols + i }
					case k == 2:
						c := r.IntN(cols)
						h, at = views[1].Parts[c], func(i int) int { return i*cols + c }
					}
					mode := []iface.AccessMode{iface.R, iface.W, iface.RW, iface.Commute}[r.IntN(4)]
					v := r.Int64N(100)
					c := anywhere("step", func(c *TaskContext) error {
						for i := range c.Buffer(0).Len() {
							switch e := element(c.Buffer(0), i); mode {
							case iface.R:
								if *e != want[at(i)] {
									t.Errorf("element %d is %d, want %d", i, *e, want[at(i)])
								}
							case iface.W:
								*e = v
							default:
								*e += v
							}
						}
						return nil
					})
					s := &TaskSpec{Codelet: c, Operands: ops(mode, h)}
					if k := r.IntN(rt.Workers() + 1); k < rt.Workers() {
						s.Workers = []int{k}
					}
					must(t, j.Submit(s))
					must(t, j.Wait(context.Background()))
					d := h.Desc()
					for i := range d.Len() {
						switch mode {
						case iface.W:
							want[at(i)] = v
						case iface.RW, iface.Commute:
							want[at(i)] += v
						}
					}
					switch r.IntN(6) {
					case 0:
						_, err = j.Evict(x.Handle, 1+r.IntN(len(rt.Nodes())-1))
						must(t, err)
					case 1:
						must(t, j.PrefetchWith(x.Handle, r.IntN(len(rt.Nodes())), PrefetchOptions{Wait: true}))
					case 2:
						must(t, j.Gather(x.Handle))
					}
				}
				if seed%2 == 0 { // else Close does that
					must(t, j.Unregister(x.Handle))
				}
				for _, f := range j.Failures() {
					t.Error(f)
				}
				must(t, j.Close())
				must(t, rt.Close())
				for i, v := range home.values() {
					if v != want[i] {
						t.Fatalf("seed %d: at home element %d is %d, want %d", seed, i, v, want[i])
					}
				}
			}
		})
	}
}

// TestHomeAllocatedOnDevice: memory that the runtime allocates on a device has no value at first, is never
// evicted, and is free at the end.
func TestHomeAllocatedOnDevice(t *testing.T) {
	dev := simulated(160, 1)
	rt, j := start(t, Options{Workers: 1, Devices: dev})
	filler := ints(t, rt, make([]int64, 8))
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, filler), Workers: []int{1}}))
	must(t, j.Wait(context.Background()))
	x, err := MakeVector[int64](rt, 12, HomeOn(1, nil)) // what was there makes room
	must(t, err)
	var none *UninitError
	if err := j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.R, x.Handle)}); !errors.As(err, &none) {
		t.Errorf("reading it first: %v", err)
	}
	if w := must1(j.Where(x.Handle))(t); x.Home() || w[1].Allocated != 96 || w[1].Valid != 0 || w[0].Allocated != 0 {
		t.Errorf("it is at %+v", w)
	}
	var full *accel.NoMemoryError
	if _, err := MakeVector[int64](rt, 12, HomeOn(1, nil)); !errors.As(err, &full) || full.Want != 96 {
		t.Errorf("a second one: %v", err)
	}
	filled, err := MakeVector[int64](rt, 2, HomeOn(1, nil), Fill(int64(7)))
	must(t, err)
	readable(t, j, filled.Handle, 7)
	set := kernel("set", func(c *TaskContext) error { fillWith(c.Buffer(0), int64(1)); return nil })
	must(t, j.Submit(&TaskSpec{Codelet: set, Operands: ops(iface.W, x.Handle), Workers: []int{1}}))
	for range 6 { // needs more than is beside it: on the processor
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, filler)}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x.Handle), Workers: []int{1}}))
	}
	must(t, j.Wait(context.Background()))
	if w := must1(j.Where(x.Handle))(t); w[1].Valid != 96 {
		t.Errorf("after tasks there it is at %+v", w)
	}
	readable(t, j, x.Handle, 7)
	readable(t, j, filler, 7)
	must(t, j.Unregister(x.Handle))
	must(t, j.Wait(context.Background()))
	if again, err := MakeVector[int64](rt, 12, HomeOn(1, nil)); err != nil || again.Len() != 12 {
		t.Error(err)
	}
}

// TestHomeOnDeviceLost: a value that was on a lost device only is an error that names the data, and so is
// the end of data that lived there.
func TestHomeOnDeviceLost(t *testing.T) {
	d, err := sim.New(sim.Options{Capacity: 1 << 10})
	must(t, err)
	defer d.Close()
	x := given(t, d, []int64{1, 2, 3, 4})
	y := given(t, d, []int64{1, 1, 1, 1})
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	hx, err := MakeVector[int64](rt, 4, HomeOn(1, x.p), Name("x"))
	must(t, err)
	hy, err := MakeVector[int64](rt, 4, HomeOn(1, y.p), Name("y"))
	must(t, err)
	readable(t, j, hy.Handle, 1) // main memory has it, too
	d.Lose()
	_, err = hx.Value(context.Background(), j)
	var gone *FailedDataError
	if !errors.As(err, &gone) || !strings.Contains(err.Error(), "x") {
		t.Errorf("reading what was lost: %v", err)
	}
	readable(t, j, hy.Handle, 1)
	if _, err := MakeVector[int64](rt, 4, HomeOn(1, x.p)); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("a home on a lost device: %v", err)
	}
	_ = j.Failures()
	must(t, j.Unregister(hx.Handle))
	must(t, j.Unregister(hy.Handle))
	must(t, j.Wait(context.Background()))
	var text []string
	for _, f := range j.Failures() {
		text = append(text, f.Error())
	}
	if all := strings.Join(text, "\n"); len(text) != 2 || !strings.Contains(all, "`x`") || !strings.Contains(all, "`y`") || !strings.Contains(all, "memory of the program") {
		t.Errorf("failures: %q", text)
	}
}

// TestHomeOnDeviceBesideDisk: data that lives on a device goes to the disk, too, and comes back.
func TestHomeOnDeviceBesideDisk(t *testing.T) {
	dk, err := disk.Open(t.TempDir())
	must(t, err)
	defer enginetest.Close(t, []accel.Device{dk})
	d := simulated(1<<12, 1)
	x := make([]int64, 16)
	home := given(t, d[0], x)
	rt, err := New(Options{Workers: 1, Devices: d, RAM: 200, Disk: dk})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true})
	h, err := MakeVector[int64](rt, 16, HomeOn(1, home.p))
	must(t, err)
	for i := range 8 {
		other := lazy(t, rt, 20, nil)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h.Handle), Workers: []int{i % 2}}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.W, other), Workers: []int{0}}))
		must(t, j.Unregister(other))
	}
	if _, err := MakeVector[int64](rt, 4, HomeOn(2, nil)); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("a home on the disk: %v", err)
	}
	must(t, j.Unregister(h.Handle))
	must(t, j.Close())
	must(t, rt.Close())
	for i, v := range home.values() {
		if v != 8 {
			t.Errorf("element %d is %d, want 8", i, v)
		}
	}
}

// TestHomeOnDeviceErrors lists what cannot be.
func TestHomeOnDeviceErrors(t *testing.T) {
	d := simulated(1<<10, 1)
	home := given(t, d[0], make([]int64, 8))
	defer enginetest.Close(t, d)
	defer home.free()
	rt, err := New(Options{Workers: 1, Devices: d})
	must(t, err)
	defer func() { must(t, rt.Close()) }()
	j := rt.NewJob(context.Background(), JobOptions{})
	x, err := MakeVector[int64](rt, 8, HomeOn(1, home.p), Name("x"))
	must(t, err)
	if _, ok := Lookup(rt, unsafe.Slice((*int64)(home.p), 8)); ok {
		t.Error("Lookup found memory of a device")
	}
	type particles struct{ X []float64 }
	for text, make := range map[string]func() error{
		"there is no memory node 7":                         func() error { _, err := MakeVector[int64](rt, 8, HomeOn(7, nil)); return err },
		"no memory node -1":                                 func() error { _, err := MakeVector[int64](rt, 8, HomeOn(-1, home.p)); return err },
		"use MakeVector with":                               func() error { _, err := NewVector(rt, []int64{1}, HomeOn(1, nil)); return err },
		"shares memory with `x`":                            func() error { _, err := MakeVector[int64](rt, 2, HomeOn(1, unsafe.Add(home.p, 16))); return err },
		"Fill is for memory":                                func() error { _, err := MakeVector[int64](rt, 8, HomeOn(1, home.p), Fill(1)); return err },
		"cannot live on a device":                           func() error { _, err := MakeValue[map[string]int](rt, HomeOn(1, nil)); return err },
		"arrays are in memory of":                           func() error { _, err := MakeArrays(rt, particles{}, HomeOn(1, home.p)); return err },
		"cannot live on a device: register it without Node": func() error { _, err := rt.Register(DataSpec{Kind: iface.Void, Node: 1}); return err },
		"submit a task instead": func() error {
			var err error
			k := kernel("registers", func(*TaskContext) error { _, err = MakeVector[int64](rt, 1, HomeOn(1, nil)); return nil })
			must(t, j.Run(context.Background(), k))
			return err
		},
		"rows of 4 elements cannot lie 3": func() error { _, err := MakeMatrix[int64](rt, 2, 4, HomeOn(1, home.p), Stride(3)); return err },
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	must(t, j.Unregister(x.Handle))
	must(t, j.Wait(context.Background()))
	again, err := MakeMatrix[int64](rt, 2, 3, HomeOn(1, home.p), Stride(5))
	must(t, err) // the memory is free
	c := kernel("last", func(c *TaskContext) error {
		if b := c.Buffer(0); c.Node(0) == 1 && b.Stride[0] != 5 {
			t.Errorf("rows lie %d apart", b.Stride[0])
		}
		*element(c.Buffer(0), 5) = 9
		return nil
	})
	must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, again.Handle)}))
	must(t, j.Unregister(again.Handle))
	must(t, j.Close())
	at := make([]int64, 8)
	if home.move(at, true); at[7] != 9 || at[4] != 0 {
		t.Errorf("the memory is %v", at)
	}
}

// TestPlanOfHomeOnDevice: a plan uses no memory of a device.
func TestPlanOfHomeOnDevice(t *testing.T) {
	d := simulated(1<<10, 1)
	home := given(t, d[0], make([]int64, 8))
	rt, all := newPlan(t, Machine{Workers: 1, Devices: d})
	j := rt.NewJob(t.Context(), JobOptions{})
	for range 2 { // unregistering frees the memory for others
		x, err := MakeVector[int64](rt, 8, HomeOn(1, home.p))
		must(t, err)
		y, err := MakeVector[int64](rt, 1<<20, HomeOn(1, nil))
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: ops(iface.RW, x.Handle)}))
		must(t, j.Submit(&TaskSpec{Codelet: mustNotRun, Operands: ops(iface.W, y.Handle)}))
		must(t, j.Unregister(x.Handle))
		must(t, j.Unregister(y.Handle))
	}
	if len(*all) < 4 {
		t.Errorf("the plan is %+v", *all)
	}
	home.free()
}
