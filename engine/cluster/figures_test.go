package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// submitSome submits tasks that send the value of x from rank to rank: each runs on another one.
func submitSome(j *Job, x engine.Operand, n int) error {
	for k := range n {
		task := &Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: []engine.Operand{x}, Args: []iface.Scalar{iface.Int(1), iface.Int(0)}}, On: 1 + k%j.Size()}
		if err := j.Submit(task); err != nil {
			return err
		}
	}
	return nil
}

// TestReport: all ranks get the figures of each: what one sends another receives, each task ran once, and a plan predicts the same.
func TestReport(t *testing.T) {
	const n = 11
	for _, size := range []int{1, 2, 3, 5} {
		var mu sync.Mutex
		reports, sent := map[int]*Report{}, map[int]Traffic{}
		for r, err := range onEach(t, size, func(j *Job, x engine.Operand) error {
			if err := submitSome(j, x, n); err != nil {
				return err
			}
			if err := j.Wait(context.Background()); err != nil {
				return err
			}
			got, err := j.Report(context.Background())
			mu.Lock()
			defer mu.Unlock()
			reports[j.Rank()], sent[j.Rank()] = got, j.Sent()
			return err
		}) {
			if err != nil {
				t.Fatalf("rank %d of %d: %v", r, size, err)
			}
		}
		first := reports[0]
		var received Traffic
		tasks := int64(0)
		for r, x := range first.Ranks {
			if x.Rank != r || x.Tasks+x.Pruned != n || x.Sent != sent[r] || x.Workers != 1 || x.Seconds <= 0 || x.BusyShare() < 0 || x.BusyShare() > 1 {
				t.Errorf("%d ranks: %+v, and rank %d has sent %+v", size, x, r, sent[r])
			}
			tasks += x.Tasks
			received.add(x.Received)
		}
		if tasks != n || first.Sent() != received || first.Size != size || len(first.Ranks) != size {
			t.Errorf("%d ranks: %d tasks, %+v sent, %+v received; %+v", size, tasks, first.Sent(), received, first)
		}
		if size > 1 && (first.Sent() != Traffic{n - 1, (n - 1) * 64}) {
			t.Errorf("%d ranks: %+v sent", size, first.Sent())
		}
		for r := range size {
			if diff := cmp.Diff(first, reports[r]); diff != "" {
				t.Errorf("%d ranks: rank %d has another report: %s", size, r, diff)
			}
		}
		if diff := cmp.Diff(withoutTimes(first), planOf(t, size, n)); diff != "" {
			t.Errorf("%d ranks: a plan has other figures (-run +plan): %s", size, diff)
		}
	}
}

func withoutTimes(r *Report) *Report {
	for i := range r.Ranks {
		r.Ranks[i].Workers, r.Ranks[i].Busy, r.Ranks[i].Seconds = 0, 0, 0
	}
	return r
}

// planOf plans the tasks of submitSome. All of them are planned, whichever rank runs them.
func planOf(t *testing.T, size, n int) *Report {
	t.Helper()
	planned := 0
	rt, err := engine.Machine{Workers: 1}.Planner(func(p *engine.PlannedTask) {
		if p.Internal == "" {
			planned++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{8}}, func(*iface.Buffer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	j := NewPlan(t.Context(), rt, size, Options{})
	if err := errors.Join(submitSome(j, engine.Operand{Handle: h, Mode: iface.RW}, n), j.Wait(t.Context()), j.Agree(t.Context(), nil), j.Meet(t.Context())); err != nil {
		t.Fatal(err)
	}
	r, err := j.Report(t.Context())
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	if planned != n {
		t.Errorf("%d tasks were planned, want %d", planned, n)
	}
	return r
}

// TestReportAlone: a rank whose job has failed reports what it did itself, and says why that is all.
func TestReportAlone(t *testing.T) {
	gone := errors.New("no more")
	for r, err := range onEach(t, 3, func(j *Job, x engine.Operand) error {
		if j.Rank() == 1 {
			j.Fail(gone)
		} else {
			<-j.ctx.Done() // until it is heard of
		}
		got, err := j.Report(context.Background())
		if err == nil || got == nil || len(got.Ranks) != 1 || got.Ranks[0].Rank != j.Rank() || got.Size != 3 {
			t.Errorf("rank %d: %+v, %v", j.Rank(), got, err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
