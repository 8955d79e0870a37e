package tests

// P60: performance models.

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

func TestP60(t *testing.T) {
	for _, kind := range []perf.Kind{perf.History, perf.Regression} {
		for _, policy := range sched.Names() {
			t.Run(fmt.Sprintf("%v-%s", kind, policy), func(t *testing.T) {
				dir := t.TempDir()
				c := &engine.Codelet{Name: "kernel", Model: &perf.Model{Kind: kind, Name: "m"},
					CPU: []engine.Impl{func(*engine.TaskContext) error { time.Sleep(time.Microsecond); return nil }}}
				store, err := perf.NewStore(dir, "")
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range []struct {
					level int
					want  int64
				}{{1, 123}, {1, 246}, {2, 123}, {0, 123}} {
					runMany(t, engine.Options{Workers: 3, Policy: policy, Calibrate: run.level, PerfDir: dir}, c, 123)
					f, err := store.Load(perf.Key{Codelet: "m"})
					if err != nil || f.Samples() != run.want {
						t.Fatalf("after a run at level %d: %v, %d samples instead of %d", run.level, err, f.Samples(), run.want)
					}
				}
				// what is no number comes back as such
				nan := func(f *perf.File) *float64 { return &f.Groups[0].Entries[0].Max }
				err = store.Update(perf.Key{Codelet: "m"}, func(f *perf.File) { *nan(f) = math.NaN() })
				if err != nil {
					t.Fatal(err)
				}
				if f, err := store.Load(perf.Key{Codelet: "m"}); err != nil || !math.IsNaN(*nan(f)) {
					t.Errorf("NaN came back as %v, %v", *nan(f), err)
				}
			})
		}
	}
}

// runMany runs n tasks of c on memory that is made for them, in a runtime of its own.
func runMany(t *testing.T, o engine.Options, c *engine.Codelet, n int) {
	t.Helper()
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, rt: rt, job: rt.NewJob(context.Background(), engine.JobOptions{})}
	h := w.lazy(100, nil)
	for range n {
		w.must(w.job.Submit(&engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: h, Mode: iface.W}}}))
	}
	w.must(w.job.Close())
	w.must(rt.Close())
}
