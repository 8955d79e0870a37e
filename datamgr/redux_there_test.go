package datamgr

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestLossWhileCombining: what a device that is lost while it combines two contributions
// had alone is lost, and what main memory has, too, is combined there.
func TestLossWhileCombining(t *testing.T) {
	for _, mode := range []iface.AccessMode{modeR, modeRW} {
		g := NewRegistry(cpu.New(0).Memory())
		g.OnLoss(func(int, *accel.LostError) any { return "gone" })
		d, err := sim.New(sim.Options{Name: "a", Capacity: 800})
		if err != nil {
			t.Fatal(err)
		}
		d.LoseWhen(func(op sim.Op) bool { return op.Kind == sim.Kernel })
		g.AddNode(d)
		x := []float64{9, 9}
		h, err := g.Register(&Spec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{2}, Home: unsafe.Pointer(&x[0]), Reduce: SumReduction()})
		if err != nil {
			t.Fatal(err)
		}
		h.accumulate()
		for _, v := range []float64{3, 4} {
			fresh, err := h.newThere()
			if err != nil {
				t.Fatal(err)
			}
			p := unsafe.Slice((*float64)(fresh.d.main.Load().ptr), 2)
			p[0], p[1] = v, v
			var at Placement
			if err := at.Prepare(1, []Operand{{Handle: fresh, Mode: mode}}); err != nil {
				t.Fatal(err)
			}
			at.Release()
			c := Contribution{h: h, there: there{fresh, 1}}
			c.Return()
		}
		var b iface.Buffer
		h.Fill(&b)
		err = h.Combine(&b, nil, false)
		var gone *SpoiledError
		if mode == modeRW {
			if !errors.As(err, &gone) || gone.Why != "gone" {
				t.Errorf("what was on the device alone: %v", err)
			}
		} else if err != nil || x[0] != 16 || x[1] != 16 {
			t.Errorf("%v and %v, want 16", x, err)
		}
		if g.Lost(1) == nil {
			t.Error("nobody was told that the device is lost")
		}
		if _, err := g.CloseNodes(); err != nil {
			t.Error(err)
		}
	}
}
