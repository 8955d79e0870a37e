package datatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
)

// sizes are those with which data is registered; large is enough to be evicted.
var sizes = []int{0, 1, 7}

const large = 64

// TestKind runs all tests of k.
func TestKind(t *testing.T, k Kind) {
	if err := k.valid(); err != nil {
		t.Fatal(err)
	}
	t.Run("copies", k.testCopies)
	t.Run("parts", k.testParts)
	t.Run("pack", k.testPack)
	t.Run("footprint", k.testFootprint)
	t.Run("files", k.testFiles)
	t.Run("disk", k.testDisk)
	t.Run("small device", k.testSmallDevice)
	t.Run("lost device", k.testLostDevice)
}

// TestKindOn runs the tests of k that use devices with those of a machine, which has two or more.
func TestKindOn(t *testing.T, k Kind, m *enginetest.Machine) {
	if err := k.valid(); err != nil {
		t.Fatal(err)
	}
	k.machine = m
	t.Run("copies", k.testCopies)
	t.Run("parts", k.testParts)
	t.Run("pack", k.testPack)
	t.Run("files", k.testFiles)
	t.Run("small device", k.testSmallDevice)
	if m.Break != nil {
		t.Run("lost device", k.testLostDevice)
	}
}

// world is a runtime for a test of a kind.
type world struct {
	*testing.T
	k  *Kind
	rt *engine.Runtime
	j  *engine.Job
	n  int // the size of its data
}

// on returns a runtime that ends with the test. Data is registered with the size n.
func (k *Kind) on(t *testing.T, n int, o engine.Options) *world {
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(context.Background(), engine.JobOptions{DetectStuck: true})
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("closing the job: %v", err)
		}
		if err := rt.Close(); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
	})
	return &world{t, k, rt, j, n}
}

// devices returns the devices of the machine, or two simulated ones that reach each other and do a part of their work
// when a caller waits for it.
func (k *Kind) devices(t *testing.T, capacity int64) (all []accel.Device) {
	if k.machine != nil {
		all, err := k.machine.Open(capacity)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, d := range all {
				var lost *accel.LostError // by testLostDevice
				if err := d.Close(); err != nil && !errors.As(err, &lost) {
					t.Errorf("closing %s: %v", d.Name(), err)
				}
			}
		})
		if len(all) < 2 {
			t.Fatalf("%s has %d devices, and the tests need 2", k.machine.Name, len(all))
		}
		return all
	}
	link := sim.Link{Latency: time.Microsecond, Bandwidth: 1e9}
	peer := map[string]string{"a": "b", "b": "a"}
	for _, name := range []string{"a", "b"} {
		d, err := sim.New(sim.Options{Name: name, Capacity: capacity, Async: true, Late: 0.5, Main: link, Peers: map[string]sim.Link{peer[name]: link}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	t.Cleanup(func() { enginetest.Close(t, all) })
	return all
}

// nodes are the memory nodes where tasks use the data.
func (w *world) nodes() []int {
	if w.k.MainOnly {
		return []int{0}
	}
	return []int{0, 1, 2}
}

func (w *world) register() *datamgr.Handle {
	w.Helper()
	h, err := w.k.Register(w.rt, w.n)
	if err != nil {
		w.Fatal(err)
	}
	return h
}

// fill runs a task on a node that gives h the content seed.
func (w *world) fill(h *datamgr.Handle, seed, node int) {
	w.Helper()
	if w.k.setOnCPU() {
		node = 0
	}
	if err := w.j.Run(context.Background(), w.k.filler(w.n, seed), engine.W(h), engine.Node(node)); err != nil {
		w.Fatalf("filling %v on node %d: %v", describe(h), node, err)
	}
}

// setOnCPU reports whether data of k is written by CPU workers only: kernels of real drivers cannot set sizes.
func (k *Kind) setOnCPU() bool { return k.Sizes != nil && k.machine != nil && k.machine.Real }

// check runs a task on a node that reads h, and fails the test if h does not have the content seed.
func (w *world) check(h *datamgr.Handle, seed, node int) {
	w.Helper()
	if err := w.j.Run(context.Background(), w.k.checker(w.n, seed), engine.R(h), engine.Node(node)); err != nil {
		w.Fatalf("reading %v on node %d: %v", describe(h), node, err)
	}
}

// held acquires h in main memory, and fails the test if h does not have the content seed.
func (w *world) held(h *datamgr.Handle, seed int) {
	w.Helper()
	w.hold(h, iface.R, func(b *iface.Buffer) error { return w.k.check(b, w.n, seed) })
}

func (w *world) hold(h *datamgr.Handle, mode iface.AccessMode, fn func(b *iface.Buffer) error) {
	w.Helper()
	a, err := w.j.Acquire(context.Background(), h, mode)
	if err != nil {
		w.Fatal(err)
	}
	if err := fn(a.Buffer()); err != nil {
		w.Errorf("%v: %v", describe(h), err)
	}
	if err := a.Release(); err != nil {
		w.Fatal(err)
	}
}

func describe(h *datamgr.Handle) string {
	d := h.Desc()
	return d.String()
}

// each calls fn for a runtime with two devices and data of each size.
func (k *Kind) each(t *testing.T, fn func(w *world)) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			fn(k.on(t, n, engine.Options{Workers: 1, Devices: k.devices(t, 1<<20)}))
		})
	}
}

// testCopies writes data on each node and reads it on each.
func (k *Kind) testCopies(t *testing.T) {
	k.each(t, func(w *world) {
		x, y := w.register(), w.register()
		seed := 0
		for _, from := range w.nodes() {
			for _, to := range w.nodes() {
				seed++
				w.fill(x, seed, from)
				w.check(x, seed, to)
				w.held(x, seed)
				w.fill(y, seed+1, to)
				task, err := w.j.Copy(y, x, engine.CopyOptions{})
				if err != nil {
					w.Fatal(err)
				}
				w.fill(x, seed+2, to)
				if err := w.j.Wait(context.Background()); err != nil || task.Err() != nil {
					w.Fatal(err, task.Err())
				}
				w.check(y, seed, to)
				w.check(y, seed, from)
				w.held(y, seed)
				w.held(x, seed+2)
			}
		}
	})
}

// testParts writes parts on some nodes and reads the whole on others, and the other way round.
func (k *Kind) testParts(t *testing.T) {
	if k.Filters == nil {
		return
	}
	k.each(t, func(w *world) {
		x := w.register()
		nodes := w.nodes()
		for i, f := range k.Filters(w.n) {
			v, err := w.rt.Partition(x, f)
			if err != nil {
				w.Fatal(f.Name(), err)
			}
			node := func(i int) int { return nodes[i%len(nodes)] }
			for p, part := range v.Parts {
				w.fill(part, 3*i, node(i+p))
				w.check(part, 3*i, node(i+p+1))
			}
			w.check(x, 3*i, node(i))
			w.held(x, 3*i)
			w.fill(x, 3*i+1, node(i+1))
			for p, part := range v.Parts {
				w.check(part, 3*i+1, node(i+p))
				w.held(part, 3*i+1)
			}
			first := v.Parts[0]
			w.fill(first, 3*i+2, node(i+2))
			for p, part := range v.Parts[1:] {
				w.check(part, 3*i+1, node(i+p+2)) // as it was
			}
			w.check(first, 3*i+2, node(i+1))
			w.rt.EndView(v)
		}
	})
}

// testPack moves content by bytes to other data.
func (k *Kind) testPack(t *testing.T) {
	if k.NoPack {
		return
	}
	ctx := context.Background()
	k.each(t, func(w *world) {
		x, y := w.register(), w.register()
		nodes := w.nodes()
		w.fill(x, 5, nodes[len(nodes)-1])
		w.fill(y, 6, nodes[0])
		b, err := w.j.Pack(ctx, x)
		if err != nil {
			w.Fatal(err)
		}
		again, err := w.j.Pack(ctx, x)
		if err != nil || !bytes.Equal(b, again) && !k.MainOnly { // maps have no order
			w.Errorf("packed twice, other bytes: %v", err)
		}
		w.fill(x, 7, nodes[0])
		if err := w.j.Unpack(ctx, y, b); err != nil {
			w.Fatal(err)
		}
		w.check(y, 5, nodes[len(nodes)-1])
		w.held(x, 7)
		if !k.MainOnly {
			if err := w.j.Unpack(ctx, y, b[:len(b)/2]); err == nil {
				w.Error("half of the bytes were unpacked")
			}
			w.held(y, 5)
		}
	})
}

// testFootprint compares what tells tasks apart: the sizes, or what an interface says.
func (k *Kind) testFootprint(t *testing.T) {
	desc := func(n, seed int) iface.Desc {
		w := k.on(t, n, engine.Options{Workers: 1, Policy: "dmda", PerfDir: t.TempDir()})
		x := w.register()
		w.fill(x, seed, 0)
		w.check(x, seed, 0)
		d := x.Desc()
		d.Off, d.Step = [iface.MaxRank]int{}, [iface.MaxRank]int{}
		return d
	}
	if a, b := desc(8, 1), desc(8, 1); a != b {
		t.Errorf("data of one size are %+v and %+v", a, b)
	}
	if a, b := desc(8, 1), desc(64, 1); (a == b) != k.SameTimes {
		t.Errorf("data of sizes 8 and 64 are %+v and %+v", a, b)
	}
}

// folder is a folder of the machine as formats use it.
type folder string

func (f folder) Create(name string) (io.WriteCloser, error) {
	return os.Create(filepath.Join(string(f), name))
}

// testFiles saves data that files can hold in each format, and loads it into other data.
func (k *Kind) testFiles(t *testing.T) {
	k.each(t, func(w *world) {
		x, y := w.register(), w.register()
		d := x.Desc()
		if d.Elem == iface.NoElem || d.Kind == iface.Arrays {
			return
		}
		nodes := w.nodes()
		for i, suffix := range []string{".npy", ".mtx", ".csv", ".bin"} {
			if why, _ := format.Refusal("x"+suffix, d.Kind, d.Elem, true); why != "" || d.Len() == 0 && suffix != ".npy" {
				continue
			}
			dir := w.TempDir()
			var dims []int
			w.fill(x, i, nodes[len(nodes)-1])
			w.hold(x, iface.R, func(b *iface.Buffer) error {
				dims = b.Shape()
				return format.Save(folder(dir), "x"+suffix, b)
			})
			w.fill(y, i, nodes[0]) // with the sizes of x
			w.hold(y, iface.RW, func(b *iface.Buffer) error {
				in, err := format.Open(os.DirFS(dir), "x"+suffix, format.Want{Kind: d.Kind, Elem: d.Elem, Dims: dims})
				if err != nil {
					return fmt.Errorf("%s: %w", suffix, err)
				}
				eachElement(b, func(_ int, elem []byte) bool { clear(elem); return true })
				return in.Fill(b)
			})
			w.check(y, i, nodes[len(nodes)-1])
		}
	})
}

// many registers more data than some memory takes, and uses it in turn on all nodes.
func (w *world) many(nodes []int) {
	var xs []*datamgr.Handle
	for i := range 12 {
		x := w.register()
		xs = append(xs, x)
		w.fill(x, i, nodes[i%len(nodes)])
	}
	for round := range 2 {
		for i, x := range xs {
			w.check(x, 20*round+i, nodes[(i+round+1)%len(nodes)])
			w.fill(x, 20*(round+1)+i, nodes[(i+round)%len(nodes)])
		}
	}
	for i, x := range xs {
		w.held(x, 40+i)
		if err := w.j.Unregister(x); err != nil {
			w.Error(err)
		}
	}
	if err := w.j.Wait(context.Background()); err != nil {
		w.Error(err)
	}
}

// bytes returns how many bytes data of size n takes.
func (k *Kind) bytes(t *testing.T, n int) int64 {
	d := k.on(t, n, engine.Options{Workers: 1}).register().Desc()
	return max(d.Bytes(), 1)
}

// testDisk has a quarter of the data in main memory.
func (k *Kind) testDisk(t *testing.T) {
	d, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { enginetest.Close(t, []accel.Device{d}) })
	o := engine.Options{Workers: 1, RAM: 3 * k.bytes(t, large), Disk: d}
	must := !k.MainOnly
	if k.MainOnly {
		must = k.size > 0 && !k.NoPack
		if o.RAM = 3 * k.size; !must {
			o.RAM = 1 << 10
		}
	}
	w := k.on(t, large, o)
	w.many([]int{0})
	if must && w.rt.Stats().Nodes[0].Evictions == 0 {
		t.Error("no data went to the disk")
	}
}

// testSmallDevice has a quarter of the data on each device.
func (k *Kind) testSmallDevice(t *testing.T) {
	if k.MainOnly {
		return
	}
	w := k.on(t, large, engine.Options{Workers: 1, Devices: k.devices(t, 3*k.bytes(t, large))})
	w.many([]int{1, 2, 1, 0})
	if w.rt.Stats().Nodes[1].Evictions == 0 {
		t.Error("no data was evicted from a device")
	}
}

// testLostDevice loses a device: content that is in main memory too is there still, and other content is an error.
func (k *Kind) testLostDevice(t *testing.T) {
	if k.MainOnly {
		return
	}
	all := k.devices(t, 1<<20)
	w := k.on(t, large, engine.Options{Workers: 1, Devices: all})
	lose := func() error { all[0].(*sim.Device).Lose(); return nil }
	if k.machine != nil {
		lose = func() error {
			_, err := k.machine.Break(all, 0, enginetest.Lose, 1)
			return err
		}
	}
	both, only, later := w.register(), w.register(), w.register()
	w.fill(both, 1, 0)
	w.check(both, 1, 1)
	w.fill(only, 2, 1)
	if err := lose(); err != nil {
		t.Fatal(err)
	}
	w.held(both, 1)
	if w.k.setOnCPU() {
		w.held(only, 2)
	} else if a, err := w.j.Acquire(context.Background(), only, iface.R); err == nil {
		t.Error("content that was on the lost device only was read:", w.k.check(a.Buffer(), w.n, 2))
		if err := a.Release(); err != nil {
			t.Error(err)
		}
	}
	w.fill(only, 3, 0)
	w.fill(later, 4, 0)
	w.held(only, 3)
	w.held(later, 4)
}
