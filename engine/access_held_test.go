package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestHeldAccesses: an access that is released in any order is taken off the list of those that are held, and the others stay there.
func TestHeldAccesses(t *testing.T) {
	rt, err := New(Options{Workers: 1})
	must(t, err)
	defer func() { must(t, rt.Close()) }()
	j := rt.NewJob(context.Background(), JobOptions{})
	x := ints(t, rt, make([]int64, 1))
	held := map[*Access]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if len(held) == 0 || random.IntN(5) < 3 {
			a, err := j.Acquire(context.Background(), x, iface.R)
			must(t, err)
			held[a] = true
		} else {
			all := slices.Clone(rt.held)
			a := all[random.IntN(len(all))]
			must(t, a.Release())
			must(t, a.Release()) // again does nothing
			delete(held, a)
		}
		sub := rt.reg.Lock()
		if len(rt.held) != len(held) {
			t.Errorf("%d accesses are on the list, %d are held", len(rt.held), len(held))
		}
		for i, a := range rt.held {
			if !held[a] || a.place != i {
				t.Errorf("access %d on the list is held: %v, and has place %d", i, held[a], a.place)
			}
		}
		sub.Unlock()
		if t.Failed() {
			break
		}
	}
	for a := range held {
		must(t, a.Release())
	}
	must(t, j.Close())
}

// TestRowsHolds: data that is released while Rows reads it is held until Rows returns, whether it was fetched before or not.
func TestRowsHolds(t *testing.T) {
	for _, fetched := range []string{"by Rows", "by Fetch", "by Acquire"} {
		rt, err := New(Options{Sequential: true}) // a task that becomes ready runs inside Release
		must(t, err)
		j := rt.NewJob(context.Background(), JobOptions{})
		x := ints(t, rt, make([]int64, 1))
		v, err := rt.Partition(x, filter.Blocks(1))
		must(t, err)
		part := v.Parts[0]
		a, err := j.AcquireWith(context.Background(), x, iface.R, AcquireOptions{OrderOnly: fetched != "by Acquire"})
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		if fetched == "by Fetch" {
			must(t, a.Fetch())
		}
		must(t, a.Rows(func(b *iface.Buffer) error {
			return a.Rows(func(*iface.Buffer) error {
				var wrong *ModeError
				if err := a.ReleasePart(part, iface.NoMode); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "is being read by Rows") {
					t.Errorf("ReleasePart while Rows reads: %v", err)
				}
				must(t, a.Release())
				if got := iface.Slice[int64](b)[0]; got != 0 {
					t.Errorf("data fetched %s was changed to %d while Rows read it", fetched, got)
				}
				return nil
			})
		}))
		b, err := j.Acquire(context.Background(), x, iface.R)
		must(t, err)
		if got := iface.Slice[int64](b.Buffer())[0]; got != 1 {
			t.Errorf("data fetched %s is %d after its release, want 1", fetched, got)
		}
		must(t, b.Release())
		must(t, j.Close())
		must(t, rt.Close())
	}
}
