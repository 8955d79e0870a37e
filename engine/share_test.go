package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

func onDevice(h *datamgr.Handle, c *Codelet) *TaskSpec {
	return &TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}
}

// TestRuntimesShareADevice: what one leaves there goes when the other needs room, what
// it uses is waited for, and what its program holds is an error.
func TestRuntimesShareADevice(t *testing.T) {
	dev := simulated(80, 1)
	one, j1 := start(t, Options{Workers: 1, Devices: dev})
	two, j2 := start(t, Options{Workers: 1, Devices: dev})
	x, y := make([]int64, 8), make([]int64, 8)
	h, o := ints(t, one, x), ints(t, two, y)
	must(t, j1.Submit(onDevice(h, incs)))
	must(t, j1.Wait(context.Background()))
	must(t, j2.Submit(onDevice(o, incs)))
	must(t, j2.Wait(context.Background()))
	if there, ram := present(t, j1, h, 1), present(t, j1, h, 0); there.Allocated != 0 || ram.Valid != 64 || x[0] != 1 {
		t.Errorf("what the other evicted: %+v, %+v, %v", there, ram, x[0])
	}

	busy, started := make(chan bool), make(chan bool)
	must(t, j1.Submit(onDevice(h, kernel("busy", func(c *TaskContext) error {
		close(started)
		<-busy
		iface.Slice[int64](c.Buffer(0))[0]++
		return nil
	}))))
	<-started
	k, err := j2.SubmitTask(onDevice(o, incs))
	must(t, err)
	close(busy)
	must(t, k.Wait(context.Background()))
	must(t, k.Err())

	a, err := j1.AcquireWith(context.Background(), h, iface.R, AcquireOptions{Node: 1})
	must(t, err)
	k, err = j2.SubmitTask(onDevice(o, incs))
	must(t, err)
	must(t, k.Wait(context.Background()))
	var full *accel.NoMemoryError
	if err := k.Err(); !errors.As(err, &full) || full.Want != 64 || full.Allocated != 64 || full.Capacity != 80 {
		t.Errorf("beside what the other's program holds: %v", err)
	}
	must(t, a.Release())
	must(t, j2.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: o, Mode: iface.W}}, Workers: []int{1}}))
	must(t, j2.Wait(context.Background()))
}

// TestRuntimesTakeTurns: two runtimes that both need all of a device, at once.
func TestRuntimesTakeTurns(t *testing.T) {
	dev := simulated(200, 2)
	const rounds = 300
	done := make(chan error, 2)
	for range 2 {
		go func() {
			done <- func() error {
				rt, err := New(Options{Workers: 1, Devices: dev})
				if err != nil {
					return err
				}
				j := rt.NewJob(context.Background(), JobOptions{})
				xs := [4][]int64{}
				var hs []*datamgr.Handle
				for i := range xs {
					xs[i] = make([]int64, 8+i)
					h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{len(xs[i])}, Home: ptr(xs[i])})
					if err != nil {
						return err
					}
					hs = append(hs, h)
				}
				for k := range rounds {
					s := &TaskSpec{Codelet: incs, Workers: []int{1, 2}, Operands: []Operand{{Handle: hs[k%4], Mode: iface.RW}, {Handle: hs[(k+1)%4], Mode: iface.RW}}}
					if err := j.Submit(s); err != nil {
						return err
					}
				}
				if err := errors.Join(j.Close(), rt.Close()); err != nil {
					return err
				}
				if n := len(j.Failures()); n > 0 {
					return j.Failures()[0]
				}
				for i := range xs {
					if xs[i][0] != rounds/2 {
						return errors.New("wrong data")
					}
				}
				return nil
			}()
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := dev[0].Memory().Allocated(); n != 0 {
		t.Errorf("%d bytes left", n)
	}
}
