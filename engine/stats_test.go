package engine

import (
	"context"
	"fmt"
	"testing"
)

// TestStatsOfManyCodelets: what alternates is counted as what does not.
func TestStatsOfManyCodelets(t *testing.T) {
	rt, err := New(Options{Workers: 2})
	must(t, err)
	defer rt.Close()
	j := rt.NewJob(context.Background(), JobOptions{Stats: true})
	defer j.Close()
	other := rt.NewJob(context.Background(), JobOptions{Stats: true})
	defer other.Close()
	const codelets, rounds = 7, 300 // more than a worker keeps apart
	var cs []*Codelet
	for i := range codelets {
		cs = append(cs, kernel(fmt.Sprint("k", i), func(*TaskContext) error { return nil }))
	}
	for r := range rounds {
		for i, c := range cs {
			for range 1 + i%2 {
				submit(t, j, &TaskSpec{Codelet: c})
			}
			if r%10 == 0 {
				submit(t, other, &TaskSpec{Codelet: c})
			}
		}
	}
	must(t, j.Wait(context.Background()))
	must(t, other.Wait(context.Background()))
	for _, s := range []struct {
		j     *Job
		times func(i int) int64
	}{{j, func(i int) int64 { return rounds * int64(1+i%2) }}, {other, func(int) int64 { return rounds / 10 }}} {
		got := s.j.Stats()
		var all int64
		for i, k := range got.Codelets {
			if k.Name != cs[i].Name || k.Tasks != s.times(i) || k.Submitted != s.times(i) {
				t.Errorf("%+v, want %d tasks of %s", k, s.times(i), cs[i].Name)
			}
			all += k.Tasks
		}
		for _, w := range got.Workers {
			all -= w.Tasks
		}
		if len(got.Codelets) != codelets || all != 0 {
			t.Errorf("%d codelets, %d tasks not those of the workers", len(got.Codelets), all)
		}
	}
}
