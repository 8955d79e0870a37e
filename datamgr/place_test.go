package datamgr

import (
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// peers makes a registry with devices a and b that reach each other.
func peers(t *testing.T) (*Registry, [2]*sim.Device) {
	t.Helper()
	g := NewRegistry(cpu.New(0).Memory())
	var ds [2]*sim.Device
	for i, name := range []string{"a", "b"} {
		d, err := sim.New(sim.Options{Name: name, Capacity: 800, Peers: map[string]sim.Link{[]string{"b", "a"}[i]: {}}})
		if err != nil {
			t.Fatal(err)
		}
		ds[i] = d
		g.AddNode(d)
	}
	g.OnLoss(func(int, *accel.LostError) any { return "gone" })
	return g, ds
}

// onBoth makes data that is 2 everywhere, on both devices and not in main memory.
func onBoth(t *testing.T, g *Registry) (*Handle, []float64) {
	t.Helper()
	h, x := vector(t, g, 10, 1)
	runOn(t, 1, 1, h)
	prefetch(g, h, 2)
	if managed(h).Missing(0) == 0 || managed(h).Missing(1) > 0 || managed(h).Missing(2) > 0 {
		t.Fatal("the data is not where the test wants it")
	}
	return h, x
}

// TestLostBetween: a device is lost when a task has claimed what it writes, and before
// its kernel starts. Values with a valid copy elsewhere survive, on any node.
func TestLostBetween(t *testing.T) {
	for _, mode := range []iface.AccessMode{modeR, modeW, modeRW} {
		for _, split := range []bool{false, true} {
			g, _ := peers(t)
			h, x := onBoth(t, g)
			p, _, err := prepared(2, mode, h)
			if err != nil {
				t.Fatal(err)
			}
			if split { // meanwhile
				if _, err := g.Partition(h, ViewOptions{}, filter.Blocks(3)); err != nil {
					t.Fatal(err)
				}
			}
			if mode != modeR && g.Evict(h, 1) > 0 {
				t.Error("the only copy that is left was evicted")
			}
			g.Lose(2, &accel.LostError{Device: "b", Err: errWire})
			p.Unclaim()
			p.Release()
			if _, why := Fault([]Operand{{Handle: h, Mode: modeR}}); why != nil {
				t.Errorf("%v: lost with a device, and another had it: %v", mode, why)
			}
			if n := managed(h).Missing(1); n != 0 {
				t.Errorf("%v: %d bytes have gone from the other", mode, n)
			}
			gathered(t, h, x, 2)
			if g.nodes[1].inUse() || g.nodes[2].inUse() {
				t.Errorf("%v: something is still in use", mode)
			}
		}
	}
}

// inUse reports whether memory here is in use and cannot be evicted.
func (n *node) inUse() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.pinned > 0 || n.mu.private > 0
}

// TestLostBetweenBoth is TestLostBetween with the loss of both: the value is lost, and
// says why.
func TestLostBetweenBoth(t *testing.T) {
	for _, mode := range []iface.AccessMode{modeW, modeRW} {
		g, _ := peers(t)
		h, _ := onBoth(t, g)
		p, _, err := prepared(2, mode, h)
		if err != nil {
			t.Fatal(err)
		}
		g.Lose(1, &accel.LostError{Device: "a", Err: errWire})
		g.Lose(2, &accel.LostError{Device: "b", Err: errWire})
		p.Unclaim()
		p.Release()
		if _, why := Fault([]Operand{{Handle: h, Mode: modeR}}); why != "gone" {
			t.Errorf("%v: both devices are lost, and the fault is %v", mode, why)
		}
	}
}

// TestRestoreFromDevice: a kernel that had begun may run again with what another device
// still has.
func TestRestoreFromDevice(t *testing.T) {
	for _, evicted := range []bool{false, true} {
		g, _ := peers(t)
		h, x := onBoth(t, g)
		p, ops, err := prepared(2, modeRW, h)
		if err != nil {
			t.Fatal(err)
		}
		p.Begin()
		if evicted && g.Evict(h, 1) != 80 {
			t.Error("the old copy of data that a kernel writes cannot be evicted")
		}
		g.Lose(2, &accel.LostError{Device: "b", Err: errWire})
		if got := p.Restore(ops); got == evicted {
			t.Errorf("evicted: %v, restored: %v", evicted, got)
		}
		p.Release()
		if !evicted {
			gathered(t, h, x, 2)
		}
		if _, why := Fault([]Operand{{Handle: h, Mode: modeR}}); (why != nil) != evicted {
			t.Errorf("evicted: %v, fault %v", evicted, why)
		}
	}
}

// TestRestoreThenLost: the device that still has what a kernel may run again with is lost
// while that is made valid again. The task does not run, or what it reads is lost: it is not
// what main memory had before.
func TestRestoreThenLost(t *testing.T) {
	g, _ := peers(t)
	h, _ := onBoth(t, g)
	other, _ := vector(t, g, 10, 1)
	ops := []Operand{{Handle: h, Mode: modeRW}, {Handle: other, Mode: modeRW}}
	var p Placement
	if err := p.Prepare(2, ops); err != nil {
		t.Fatal(err)
	}
	p.Begin()
	g.Lose(2, &accel.LostError{Device: "b", Err: errWire})
	other.d.mu.Lock()
	restored := make(chan bool)
	go func() { restored <- p.Restore(ops) }()
	time.Sleep(5 * time.Millisecond) // it waits for the other by now, or the test shows nothing
	g.Lose(1, &accel.LostError{Device: "a", Err: errWire})
	other.d.mu.Unlock()
	again := <-restored
	p.Release()
	if _, why := Fault(ops[:1]); again && why != "gone" {
		t.Errorf("the task runs again with what no device has any more, and the fault is %v", why)
	}
}

// TestClaimMends: writing without reading gives lost data a value, also when it is lost
// between Mend and the claim; and a loss after the claim is one.
func TestClaimMends(t *testing.T) {
	g, _ := peers(t)
	h, x := vector(t, g, 10, 1)
	runOn(t, 1, 1, h)
	g.Lose(1, &accel.LostError{Device: "a", Err: errWire})
	p, _, err := prepared(0, modeW, h)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x {
		x[i] = 7
	}
	p.Release()
	if _, why := Fault([]Operand{{Handle: h, Mode: modeR}}); why != nil {
		t.Errorf("what was written has the fault %v", why)
	}
	if p, _, err = prepared(2, modeW, h); err != nil {
		t.Fatal(err)
	}
	p.Begin()
	g.Lose(2, &accel.LostError{Device: "b", Err: errWire})
	p.Release()
	if _, why := Fault([]Operand{{Handle: h, Mode: modeR}}); why != "gone" {
		t.Errorf("what was written on a lost device has the fault %v", why)
	}
}

// TestUnclaimKeepsFault: what was lost before a task was to write it, and did not, is
// lost for the same reason.
func TestUnclaimKeepsFault(t *testing.T) {
	g, _ := peers(t)
	h, _ := vector(t, g, 10, 1)
	runOn(t, 1, 1, h)
	g.Lose(1, &accel.LostError{Device: "a", Err: errWire})
	p, _, err := prepared(2, modeW, h)
	if err != nil {
		t.Fatal(err)
	}
	p.Unclaim()
	p.Release()
	if _, why := Fault([]Operand{{Handle: h, Mode: modeR}}); why != "gone" {
		t.Errorf("the fault is %v", why)
	}
	if managed(h).Missing(2) == 0 {
		t.Error("what was never written on a device is valid there")
	}
}

// TestSourceLost: the place from where data comes turns out to be lost, and there is
// another.
func TestSourceLost(t *testing.T) {
	for i := range 2 {
		g, ds := peers(t)
		h, x := onBoth(t, g)
		ds[i].LoseWhen(func(op sim.Op) bool { return op.Kind == sim.Copy })
		p, _, err := prepared(0, modeR, h)
		if err != nil {
			t.Fatalf("with device %d lost: %v", i, err)
		}
		p.Release()
		gathered(t, h, x, 2)
	}
}

// TestZeroThatFails: data that the program was to get, all zeros, on a device has the
// value that it had, if that is anywhere else.
func TestZeroThatFails(t *testing.T) {
	for _, only := range []bool{false, true} {
		g, ds := peers(t)
		h, x := onBoth(t, g)
		if only {
			g.Evict(h, 1)
		}
		p, _, err := prepared(2, modeW, h)
		if err != nil {
			t.Fatal(err)
		}
		ds[1].FailCopy(func(sim.Op) bool { return true })
		gone, err := p.Zero(0, h)
		if err == nil {
			t.Fatal("copies fail, and it worked")
		}
		ds[1].FailCopy(nil)
		if (len(gone) > 0) != only {
			t.Errorf("only there: %v, and %v has gone", only, gone)
		}
		if !only {
			gathered(t, h, x, 2)
		}
	}
}

// TestMend: data that a task only writes has a value again; data that it reads, too, may
// have been lost since the check whether the task can run.
func TestMend(t *testing.T) {
	g := registry()
	h, other := register(t, g, 10), register(t, g, 10)
	v, err := g.Partition(h, ViewOptions{}, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	a, b := v.Parts[0], v.Parts[1]
	for _, c := range []struct {
		name string
		ops  []Operand
		a, b bool // lost afterwards
	}{
		{"write", []Operand{{Handle: h, Mode: modeW}}, false, false},
		{"write in two parts", []Operand{{Handle: b, Mode: modeW}, {Handle: a, Mode: modeW}}, false, false},
		{"read other data", []Operand{{Handle: h, Mode: modeW}, {Handle: other, Mode: modeRW}}, false, false},
		{"read first", []Operand{{Handle: h, Mode: modeRW}, {Handle: h, Mode: modeW}}, true, true},
		{"read last", []Operand{{Handle: h, Mode: modeW}, {Handle: h, Mode: modeR}}, true, true},
		{"read a part", []Operand{{Handle: h, Mode: modeW}, {Handle: a, Mode: modeR}}, true, false},
		{"read the whole", []Operand{{Handle: a, Mode: modeW}, {Handle: h, Mode: iface.Commute}}, true, true},
	} {
		Mend([]Operand{{Handle: h, Mode: modeW}})
		Spoil([]Operand{{Handle: h, Mode: modeW}}, "gone")
		Mend(c.ops)
		for _, x := range []struct {
			part *Handle
			lost bool
		}{{a, c.a}, {b, c.b}} {
			if _, why := Fault([]Operand{{Handle: x.part, Mode: modeR}}); (why != nil) != x.lost {
				t.Errorf("%s: part a %v: fault %v, want one: %v", c.name, x.part == a, why, x.lost)
			}
		}
	}
}
