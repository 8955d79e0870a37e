package sched_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/engine/sched"
)

// The estimates of dmda for two workers, one idle and one busy.
func TestChoice(t *testing.T) {
	var told []*sched.Choice
	asks := false
	m := sched.Machine{
		Workers:  []sched.Worker{{}, {Arch: "gpu", Node: 1}},
		Estimate: func(_ *sched.Item, w int) (float64, bool) { return []float64{4, 1}[w], true },
		Transfer: func(_ *sched.Item, w int) float64 { return []float64{0, 2}[w] },
		Energy:   func(*sched.Item, int) float64 { return 10 },
		Now:      func() float64 { return 100 },
		Explain: func() func(*sched.Item, *sched.Choice) {
			if !asks {
				return nil
			}
			return func(_ *sched.Item, c *sched.Choice) { told = append(told, c) }
		},
	}
	e, err := sched.Parse("dmda:gamma=0.5")
	if err != nil {
		t.Fatal(err)
	}
	p := e.New(m)
	p.Push(&sched.Item{Order: 1}, sched.Outside)
	if told != nil {
		t.Fatal("explained without a listener")
	}
	asks = true
	p.Push(&sched.Item{Order: 2}, sched.Outside)
	p.Push(&sched.Item{Order: 3, Allowed: sched.NewSet(0)}, sched.Outside)
	want := []*sched.Choice{
		{Worker: 0, Terms: []sched.Term{
			{Worker: 0, Length: 4, Known: true, Energy: 10, Cost: 4 + 5},
			{Worker: 1, Free: 3, Length: 1, Known: true, Transfer: 2, Energy: 10, Cost: 3 + 1 + 2 + 5}, // its first item waits for data
		}},
		{Worker: 0, Terms: []sched.Term{{Worker: 0, Free: 4, Length: 4, Known: true, Energy: 10, Cost: 8 + 5}}},
	}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
}
