package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/trace"
)

func anyTime(time.Duration) string { return "T" }

// session is a runtime that a Recent listens to, with data x in four parts.
type session struct {
	rt   *engine.Runtime
	job  *engine.Job
	rec  *trace.Recent
	x    *datamgr.Handle
	part []*datamgr.Handle
}

func newSession(t *testing.T, o engine.Options) *session {
	t.Helper()
	s := &session{rec: &trace.Recent{}}
	o.Listener = s.rec
	var err error
	if s.rt, err = engine.New(o); err != nil {
		t.Fatal(err)
	}
	s.job = s.rt.NewJob(t.Context(), engine.JobOptions{})
	t.Cleanup(func() {
		s.job.Close()
		s.rt.Close()
	})
	s.x, err = s.rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{800}, Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.rt.Partition(s.x, filter.Blocks(4))
	if err != nil {
		t.Fatal(err)
	}
	s.part = v.Parts
	s.rec.View(v.Parts, func(k int) string { return fmt.Sprintf("x[%d]", k) })
	return s
}

// sites are the places of inserts: one for each line, as the interpreter has them.
var sites = func() map[int]*engine.Site {
	all := map[int]*engine.Site{}
	for line := range 10 {
		all[line] = &engine.Site{File: "s.spu", Line: line, Col: 1}
	}
	return all
}()

func (s *session) insert(t *testing.T, line int, c *engine.Codelet, h *datamgr.Handle, after ...*engine.Gate) {
	t.Helper()
	spec := &engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: h, Mode: iface.W}}, Origin: engine.Origin{Site: sites[line]}}
	for _, g := range after {
		spec.After = append(spec.After, g)
	}
	if err := s.job.Submit(spec); err != nil {
		t.Fatal(err)
	}
}

func (s *session) wait(t *testing.T) {
	t.Helper()
	if err := s.job.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func nothing(*engine.TaskContext) error { return nil }

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExplainTask(t *testing.T) {
	s := newSession(t, engine.Options{Workers: 1})
	set := &engine.Codelet{Name: "set", CPU: []engine.Impl{nothing}}
	g := s.job.NewGate()
	s.insert(t, 1, set, s.part[0], g)
	s.insert(t, 2, set, s.part[0])
	text, err := s.rec.Explain(s.rt, 2, anyTime)
	if err != nil {
		t.Fatal(err)
	}
	same(t, text, `task 2, set, inserted at s.spu:2
  uses      W x[0]
  state     has not started; `+"`:explain blocked`"+` shows what waits
  waits     for x[0], which task 1, set has (s.spu:1)
`)
	g.Open()
	s.wait(t)
	text, err = s.rec.Explain(s.rt, 2, anyTime)
	if err != nil {
		t.Fatal(err)
	}
	same(t, text, `task 2, set, inserted at s.spu:2
  uses      W x[0]
  state     done on cpu 0 in T
  waited    T for task 1, set, which used x[0] (s.spu:1)
  queued    T, from then until its kernel began: for a worker, a gate, locks, memory, copies
  chosen    cpu 0 by lws: it released the task, and kept it
`)
	if _, err := s.rec.Explain(s.rt, 3, anyTime); err == nil || !strings.Contains(err.Error(), "those from 1 to 2 are remembered") {
		t.Error(err)
	}
}

// TestExplainChoice: the times that a policy expected of each worker, with kernels of a
// known length and one worker that is busy with an earlier task, as seen before anything
// runs.
func TestExplainChoice(t *testing.T) {
	s := newSession(t, engine.Options{Workers: 1, Policy: "dmda", PerfDir: t.TempDir()})
	set := &engine.Codelet{Name: "set", CPU: []engine.Impl{nothing},
		Model: &perf.Model{Kind: perf.PerArch, Cost: func(*perf.Call) float64 { return 2 }}}
	s.insert(t, 1, set, s.part[0])
	s.wait(t)
	text, err := s.rec.Explain(s.rt, 1, func(d time.Duration) string {
		if d == 2*time.Second {
			return "2 s"
		}
		return "T"
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"chosen    cpu 0 by dmda: it is the only worker that may run it\n", "worker  free in  kernel  transfer  cost", "*  cpu 0", "2 s     0", "function\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestBlocked(t *testing.T) {
	s := newSession(t, engine.Options{Workers: 1})
	if text := s.rec.Blocked(s.rt); text != "" {
		t.Errorf("blocked before the first task:\n%s", text)
	}
	set := &engine.Codelet{Name: "set", CPU: []engine.Impl{nothing}}
	for _, p := range s.part {
		s.insert(t, 1, set, p)
	}
	s.wait(t)
	a, err := s.job.Acquire(t.Context(), s.part[0], iface.RW, sites[2])
	if err != nil {
		t.Fatal(err)
	}
	g := s.job.NewGate()
	running, end := make(chan struct{}), make(chan struct{})
	hold := &engine.Codelet{Name: "hold", CPU: []engine.Impl{func(*engine.TaskContext) error {
		close(running)
		<-end
		return nil
	}}}
	s.insert(t, 3, hold, s.part[3])
	<-running
	s.insert(t, 4, set, s.part[0])
	s.insert(t, 5, set, s.part[0])
	s.insert(t, 5, set, s.part[0])
	s.insert(t, 6, set, s.part[1], g)
	s.insert(t, 7, set, s.part[2])
	s.insert(t, 8, set, s.part[3], g)
	same(t, s.rec.Blocked(s.rt), `7 tasks have not ended
  s.spu:2        acquire              the script holds x[0] as RW; `+"`release`"+` lets others go on
    └ s.spu:4    set, task 6          waits for x[0]
      └ s.spu:5  set, 2 tasks from 7  waits for x[0]
  s.spu:3        hold, task 5         runs on cpu 0
    └ s.spu:8    set, task 11         waits for x[3], and for a gate that is closed
  s.spu:6        set, task 9          waits for a gate that is closed; `+"`open`"+` lets it go on
  s.spu:7        set, task 10         is ready; every worker is busy
`)
	close(end)
	g.Open()
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	same(t, s.rec.Blocked(s.rt), "")
}

// both is a Recent that passes the events of tasks on.
type both struct {
	*trace.Recent
	rec *trace.Recorder
}

func (b *both) TaskEvent(e *engine.Event) {
	b.Recent.TaskEvent(e)
	b.rec.TaskEvent(e)
}

// TestGang: records show all workers of a parallel task, and Explain says why it has that number.
func TestGang(t *testing.T) {
	rec, last := &trace.Recorder{}, &trace.Recent{}
	rt, err := engine.New(engine.Options{Workers: 4, Policy: "pheft", Profile: true, Listener: rec, PerfDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Listen(&both{last, rec}); err != nil { // instead of rec
		t.Fatal(err)
	}
	seconds := func(c *perf.Call) float64 { return []float64{0, 9, 5, 3, 4}[c.Workers] }
	meet := &engine.Codelet{Name: "meet", Traits: &engine.Traits{Parallel: engine.SPMD}, Model: &perf.Model{Kind: perf.PerArch, Cost: seconds},
		CPU: []engine.Impl{func(c *engine.TaskContext) error { return c.Barrier() }}}
	j := rt.NewJob(t.Context(), engine.JobOptions{})
	if err := j.Submit(&engine.TaskSpec{Codelet: meet}); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := last.Explain(rt, 1, func(d time.Duration) string { return d.Round(time.Second).String() })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"done on cpu ", " by pheft: it costs least\n", "worker  workers  free in  kernel", "3        0        3s", "4        0        4s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	r := rec.Run("gang")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	x := &r.Tasks[0]
	if len(x.Gang) != 3 || x.Gang[0] != x.Worker || strings.Count(strings.SplitN(text, "\n", 2)[1], ", cpu ") < 4 {
		t.Errorf("workers %v, led by %d\n%s", x.Gang, x.Worker, text)
	}
	var chrome, page bytes.Buffer
	if err := trace.WriteChrome(&chrome, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(chrome.String(), `"workers":3`); n != 3 {
		t.Errorf("%d slices of a task on three workers", n)
	}
	if err := trace.WriteReport(&page, r, nil); err != nil {
		t.Fatal(err)
	}
	gang, err := json.Marshal(x.Gang)
	if err != nil {
		t.Fatal(err)
	}
	if want := "," + string(gang) + "]]"; !strings.Contains(page.String(), want) {
		t.Errorf("no %s in the page", want)
	}
}
