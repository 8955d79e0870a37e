package datamgr

import (
	"errors"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr/iface"
	"pgregory.net/rapid"
)

var errWire = errors.New("the wire is cut")

// frail is a device whose copies fail as often as fail says; below 0 it is lost.
type frail struct {
	accel.Device
	fail atomic.Int64
}

type frailStream struct {
	accel.Stream
	d *frail
}

func (d *frail) NewStream() (accel.Stream, error) {
	s, err := d.Device.NewStream()
	return frailStream{s, d}, err
}

func (d *frail) Reaches(m accel.Memory) bool { return m.Name() == "ram" }

func (s frailStream) Copy(c *accel.Copy) error {
	switch n := s.d.fail.Load(); {
	case n < 0:
		return &accel.LostError{Device: s.d.Name(), Err: errWire}
	case n > 0:
		s.d.fail.Add(-1)
		return errWire
	}
	return s.Stream.Copy(c)
}

// frailNodes makes a registry with devices of the given capacities, in elements of 8
// bytes.
func frailNodes(t *testing.T, elements ...int64) (*Registry, []*frail) {
	t.Helper()
	g := NewRegistry(cpu.New(0).Memory())
	var ds []*frail
	for i, n := range elements {
		d, err := sim.New(sim.Options{Name: string(rune('a' + i)), Capacity: 8 * n})
		if err != nil {
			t.Fatal(err)
		}
		f := &frail{Device: d}
		ds = append(ds, f)
		g.AddNode(f)
	}
	return g, ds
}

// prepared prepares a task and tells what of.
func prepared(node int, mode iface.AccessMode, h *Handle) (*Placement, []Operand, error) {
	var p Placement
	ops := []Operand{{Handle: h, Mode: mode}}
	return &p, ops, p.Prepare(node, ops)
}

func TestCopyThatFails(t *testing.T) {
	g, ds := frailNodes(t, 100)
	h, x := vector(t, g, 10, 1)
	ds[0].fail.Store(1)
	runOn(t, 1, 1, h) // once is nothing
	if x[0] != 1 {
		t.Fatal("main memory was written")
	}
	ds[0].fail.Store(2)
	_, _, err := prepared(0, modeRW, h)
	var failed *accel.CopyError
	if !errors.As(err, &failed) || failed.From != "a" || failed.To != "ram" || failed.Bytes != 80 || !errors.Is(err, errWire) {
		t.Fatalf("got %v", err)
	}
	runOn(t, 0, 1, h)
	gathered(t, h, x, 3)
	if n := ds[0].Memory().Allocated() - g.Kept(1); n != 0 {
		t.Errorf("%d bytes on the device", n)
	}
}

// TestEvictionThatFails: what cannot be saved stays, and something else goes.
func TestEvictionThatFails(t *testing.T) {
	g, ds := frailNodes(t, 20)
	a, x := vector(t, g, 10, 0)
	b, y := vector(t, g, 10, 0)
	c, z := vector(t, g, 10, 0)
	runOn(t, 1, 1, a)
	runOn(t, 1, 2, b)
	ds[0].fail.Store(2) // a's turn
	runOn(t, 1, 3, c)
	if managed(a).Missing(1) != 0 || managed(b).Missing(1) != 80 {
		t.Error("a has gone, or b has not")
	}
	ds[0].fail.Store(1000)
	_, _, err := prepared(1, modeW, b)
	var full *accel.NoMemoryError
	if !errors.As(err, &full) {
		t.Errorf("got %v where nothing could be saved", err)
	}
	ds[0].fail.Store(0)
	gathered(t, a, x, 1)
	gathered(t, b, y, 2)
	gathered(t, c, z, 3)
}

// TestWayThroughMainMemory: two devices that do not reach each other.
func TestWayThroughMainMemory(t *testing.T) {
	g, _ := frailNodes(t, 100, 100)
	h, x := vector(t, g, 10, 1)
	runOn(t, 1, 1, h)
	runOn(t, 2, 1, h)
	runOn(t, 2, 1, h)
	if managed(h).Missing(0) != 80 || managed(h).Missing(2) != 0 {
		t.Error("valid in main memory, or not where it was written")
	}
	if x[0] != 2 {
		t.Errorf("main memory has %v from the stop on the way, want 2", x[0])
	}
	want := []Traffic{{0, 1, 1, 80, 0}, {0, 2, 1, 80, 0}, {1, 0, 1, 80, 0}}
	got := g.Traffic()
	for i := range got {
		got[i].Time = 0
	}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("traffic %v, want %v", got, want)
	}
	runOn(t, 1, 1, h)
	prefetch(g, h, 2) // goes the same way
	if managed(h).Missing(2) != 0 || managed(h).Missing(0) != 0 {
		t.Error("a prefetch did not arrive, or not by way of main memory")
	}
	gathered(t, h, x, 5)
}

func TestLostNode(t *testing.T) {
	g, ds := frailNodes(t, 100, 100)
	noticed := 0
	g.OnLoss(func(node int, err *accel.LostError) any {
		if noticed++; node != 1 || err.Device != "a" {
			t.Errorf("node %d, %v", node, err)
		}
		return "gone"
	})
	only, _ := vector(t, g, 10, 1)
	both, y := vector(t, g, 10, 1)
	other, z := vector(t, g, 10, 1)
	runOn(t, 1, 1, only)
	runOn(t, 1, 1, both)
	runOn(t, 2, 1, other)
	prefetch(g, both, 0)
	p, _, err := prepared(1, modeR, other) // in use while the device goes
	if err != nil {
		t.Fatal(err)
	}
	ds[0].fail.Store(-1)
	_, _, err = prepared(0, modeR, only)
	var lost *accel.LostError
	var spoiled *SpoiledError
	if !errors.As(err, &spoiled) || spoiled.Why != "gone" || noticed != 1 || g.Lost(1) == nil {
		t.Fatalf("got %v; noticed %d times", err, noticed)
	}
	p.Release()
	if n := ds[0].Memory().Allocated() - g.Kept(1); n != 0 {
		t.Errorf("%d bytes on the lost device", n)
	}
	if i, why := Fault([]Operand{{Handle: only, Mode: modeR}}); i != 0 || why != "gone" {
		t.Errorf("fault of operand %d: %v", i, why)
	}
	if _, _, err := prepared(0, modeR, only); !errors.Is(err, ErrSpoiled) {
		t.Errorf("a task got data that is lost: %v", err)
	}
	if i, why := Fault([]Operand{{Handle: both, Mode: modeR}, {Handle: other, Mode: modeR}}); i >= 0 {
		t.Errorf("operand %d, which is elsewhere, has the fault %v", i, why)
	}
	gathered(t, both, y, 2)
	gathered(t, other, z, 2)
	if _, _, err := prepared(1, modeW, both); !errors.As(err, &lost) {
		t.Errorf("a task on the lost device: %v", err)
	}
	ops := []Operand{{Handle: only, Mode: modeW}}
	Mend(ops)
	runOn(t, 2, 1, other)
	gathered(t, other, z, 3)
	if bytes, err := g.CloseNodes(); bytes != 0 || err != nil {
		t.Errorf("%d bytes could not be saved: %v", bytes, err)
	}
}

// TestRestore: a kernel fails because its device is lost; main memory still has
// what it had, if it had it.
func TestRestore(t *testing.T) {
	for _, there := range []bool{false, true} {
		g, ds := frailNodes(t, 100)
		h, x := vector(t, g, 10, 1)
		w, _ := vector(t, g, 10, 1)
		if there {
			runOn(t, 1, 1, h)
		}
		var p Placement
		ops := []Operand{{Handle: h, Mode: modeRW}, {Handle: w, Mode: modeW}}
		if err := p.Prepare(1, ops); err != nil {
			t.Fatal(err)
		}
		g.Lose(1, &accel.LostError{Device: "a", Err: errWire})
		if p.Restore(ops) == there {
			t.Errorf("on the device only: %v, restored: %v", there, !there)
		}
		p.Release()
		if i, _ := Fault(ops[:1]); (i < 0) == there {
			t.Errorf("on the device only: %v, fault %d", there, i)
		}
		if !there {
			runOn(t, 0, 1, h)
			gathered(t, h, x, 2)
		}
		if n := ds[0].Memory().Allocated() - g.Kept(1); n != 0 {
			t.Errorf("%d bytes on the lost device", n)
		}
	}
}

// TestFirstLoss: data that has no value because a task failed on a device, which is lost
// later, has none because the task failed; and there is nothing of it to be saved.
func TestFirstLoss(t *testing.T) {
	for _, closed := range []bool{false, true} {
		g, ds := frailNodes(t, 100)
		h, _ := vector(t, g, 10, 1)
		runOn(t, 1, 1, h)
		ops := []Operand{{Handle: h, Mode: modeRW}}
		Spoil(ops, "task")
		if closed {
			ds[0].fail.Store(100)
			if bytes, err := g.CloseNodes(); bytes != 0 {
				t.Errorf("%d bytes could not be saved: %v", bytes, err)
			}
		} else {
			g.Lose(1, &accel.LostError{Device: "a", Err: errWire})
		}
		if _, why := Fault(ops); why != "task" {
			t.Errorf("closed: %v, fault %v", closed, why)
		}
	}
}

// TestCloseSays: what cannot be saved at the end is reported.
func TestCloseSays(t *testing.T) {
	g, ds := frailNodes(t, 100)
	h, _ := vector(t, g, 10, 1)
	runOn(t, 1, 1, h)
	ds[0].fail.Store(100)
	if bytes, err := g.CloseNodes(); bytes != 80 || !errors.Is(err, errWire) {
		t.Errorf("%d bytes lost, %v", bytes, err)
	}
	if n := ds[0].Memory().Allocated() - g.Kept(1); n != 0 {
		t.Errorf("%d bytes on the device", n)
	}
}

// TestDescribe: a copy by rows moves what a copy by elements does, whatever the
// strides, and takes few rows where the sides allow it.
func TestDescribe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]uintptr{1, 4, 8}).Draw(t, "size")
		rank := rapid.SampledFrom([]int{0, 1, 4, 5, 8}).Draw(t, "rank")
		n, elements := make([]int, rank), 1
		axes := make([]int, rank)
		for k := range n {
			n[k] = rapid.IntRange(0, 4).Draw(t, "n")
			if rank > 4 && n[k] > 2 {
				n[k] = 1
			}
			elements *= n[k]
			axes[k] = k
		}
		lay := func(name string) (s []int, total int) {
			s = make([]int, rank)
			order := rapid.Permutation(axes).Draw(t, name)
			at := 1
			for _, k := range order {
				at += rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, name+" gap")
				s[k] = at
				at *= n[k]
			}
			return s, at
		}
		ds, nd := lay("to")
		ss, ns := lay("from")
		var tr transfer
		for k := range n {
			tr.add(n[k], ds[k], ss[k])
		}
		bytes := func(n int) []byte { return make([]byte, (n+8)*int(size)) }
		src, a, b := bytes(ns), bytes(nd), bytes(nd)
		for i := range src {
			src[i] = byte(i + 1)
		}
		at := func(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
		c := tr.describe(at(b), at(src), size)
		if got := c.Total(); got != int64(elements)*int64(size) {
			t.Fatalf("%d bytes, want %d elements of %d", got, elements, size)
		}
		accel.CopyHost(&c)
		tr.run(at(a), at(src), size)
		if string(a) != string(b) {
			t.Fatalf("%+v as %+v differs", tr, c)
		}
	})
	var whole transfer
	whole.add(3, 20, 20)
	whole.add(4, 5, 5)
	whole.add(5, 1, 1)
	if c := whole.describe(nil, nil, 8); c.Bytes != 480 || c.Total() != 480 {
		t.Errorf("a block in one piece is copied as %+v", c)
	}
}
