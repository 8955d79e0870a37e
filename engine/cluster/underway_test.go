package cluster

import (
	"context"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// TestEndOfTransfers: a message may end while its job does. Its access is released once, and its memory is used again only after that.
func TestEndOfTransfers(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	j := NewJob(context.Background(), rt, Local(1)[0], Options{})
	h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1}}, func(b *iface.Buffer) error {
		clear(iface.Slice[int64](b))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for k := range rounds {
		for range 2 {
			j.transfers.Add(1)
			err := j.job.AcquireFuncWith(h, iface.R, engine.AcquireOptions{Async: true}, func(a *engine.Access, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				x := j.begin(a, false, 0, 0, 0)
				x.started()
				group.Go(func() { x.sent(nil) })
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if k%2 == 0 {
			group.Go(j.endTransfers)
		}
		group.Wait()
	}
	j.transfers.Wait()

	// Messages into data with a capacity, which are counted when they arrive, also after the end of their access.
	sized, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{2}, Capacity: []int{4}}, func(b *iface.Buffer) error {
		clear(iface.Slice[int64](b))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const bytes = 16
	receive := func() *transfer {
		begun := make(chan *transfer, 1)
		j.transfers.Add(1)
		err := j.job.AcquireFuncWith(sized, iface.W, engine.AcquireOptions{Overwrites: true, Async: true}, func(a *engine.Access, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			x := j.begin(a, true, bytes, 0, 0)
			x.started()
			begun <- x
		})
		if err != nil {
			t.Fatal(err)
		}
		return <-begun
	}
	x := receive()
	j.endTransfers()
	x.received(bytes, nil)
	j.transfers.Wait()
	for range rounds / 10 {
		x := receive()
		group.Go(func() { x.received(bytes, nil) })
		group.Go(j.endTransfers)
		j.transfers.Wait()
		group.Wait()
	}
	if got, want := j.figures.mu.packed[[2]int{}], int64(bytes*(1+rounds/10)); got != want {
		t.Errorf("%d bytes were counted, want %d", got, want)
	}
	if first := j.underway.mu.first; first != nil {
		t.Errorf("a transfer is left: %+v", first)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}
