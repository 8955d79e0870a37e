package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/trace"
)

// recorded runs 2 × 8 tasks on 8 parts, on CPUs and, if given, devices.
func recorded(t *testing.T, devices ...accel.Device) *trace.Run {
	t.Helper()
	rec := &trace.Recorder{}
	rt, err := engine.New(engine.Options{Workers: 2, Devices: devices, Listener: rec, Profile: true})
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(t.Context(), engine.JobOptions{})
	x, err := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{800}, Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.Partition(x, filter.Blocks(8))
	if err != nil {
		t.Fatal(err)
	}
	rec.View(v.Parts, func(k int) string { return fmt.Sprintf("part %d", k) })
	set := &engine.Codelet{Name: "set", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		*(*float64)(c.Buffer(0).Ptr) = 1
		return nil
	}}}
	add := &engine.Codelet{Name: "add</script>", CPU: set.CPU}
	site := &engine.Site{File: "s.spu", Line: 3, Col: 1, VarNames: []string{"i"}}
	last := rt.Workers() - 1
	for i, p := range v.Parts {
		for _, s := range []*engine.TaskSpec{
			{Codelet: set, Operands: []engine.Operand{{Handle: p, Mode: iface.W}}, Workers: []int{0}},
			{Codelet: add, Operands: []engine.Operand{{Handle: p, Mode: iface.RW}}, Workers: []int{last}, Name: fmt.Sprintf("sum %d", i)},
		} {
			s.Origin = engine.Origin{Site: site, Vars: [2]int64{int64(i)}}
			if err := j.Submit(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Unregister(x); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := rec.Run("two of each")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestRecorder(t *testing.T) {
	r := recorded(t, enginetest.Devices(t, "sim:cpu2gpu1", 0)...)
	done := 0
	for i := range r.Tasks {
		g, x := &r.Graph.Tasks[i], &r.Tasks[i]
		if g.Light() {
			continue
		}
		done++
		if x.State != "done" || x.Submitted > x.Ready || x.Ready > x.Popped || x.Popped > x.Data || x.Data > x.Started || x.Started > x.Ended {
			t.Errorf("%s: %+v is not a life in order", g.Label(), *x)
		}
		if want := map[string]int{"set": 0, "add</script>": 2}[g.Codelet]; x.Worker != want {
			t.Errorf("%s ran on worker %d, want %d", g.Label(), x.Worker, want)
		}
		for _, d := range g.Deps {
			if !r.Graph.Tasks[d].Light() && r.Tasks[d].Ended > x.Started {
				t.Errorf("%s started before what it waits for had ended", g.Label())
			}
		}
		if name := r.Graph.Handles[g.Operands[0].Handle].Name; !strings.HasPrefix(name, "part ") {
			t.Errorf("%s uses %q", g.Label(), name)
		}
	}
	if done != 16 {
		t.Errorf("%d tasks were recorded, want 16", done)
	}
	var bytes int64
	for _, c := range r.Copies {
		if c.From == 0 && c.To == 1 {
			bytes += c.Bytes
		}
		if c.Data != "x" || c.End < c.Begin {
			t.Errorf("copy %+v", c)
		}
	}
	if bytes != 6400 {
		t.Errorf("%d bytes went to the device, want 6400: %+v", bytes, r.Copies)
	}
	peak := [2]int64{}
	for _, m := range r.Memory {
		peak[m.Node] = max(peak[m.Node], m.Bytes)
	}
	if peak[0] < 6400 || peak[1] < 800 {
		t.Errorf("memory in use: %v", peak)
	}
	checkGaps(t, r)
}

// checkGaps holds that gaps and tasks are all the time of each worker.
func checkGaps(t *testing.T, r *trace.Run) {
	t.Helper()
	sum := make([]float64, len(r.Graph.Workers))
	for _, g := range r.Gaps() {
		if g.To <= g.From || g.Why == "" || r.Text(&g) == "" {
			t.Errorf("gap %+v", g)
		}
		sum[g.Worker] += g.To - g.From
	}
	for i := range r.Tasks {
		if x := &r.Tasks[i]; x.Worker >= 0 && x.Started > 0 && !r.Graph.Tasks[i].Light() {
			sum[x.Worker] += x.Ended - x.Started
		}
	}
	for w, s := range sum {
		if s < 0.999*r.Seconds-1e-6 || s > 1.001*r.Seconds+1e-6 {
			t.Errorf("worker %d has %g s of tasks and gaps, and the run took %g", w, s, r.Seconds)
		}
	}
}

// made is a run whose times are known: two workers, b and d wait for a, c comes late.
//
//	worker 0  .aaaa...bb.
//	worker 1  .....dd..cc   d fetched its data, c was submitted at 8
func made() *trace.Run {
	g := &graph.Graph{Title: "made", Workers: []graph.Worker{{Name: "cpu 0"}, {Name: "cpu 1"}}, Nodes: []graph.Node{{Name: "ram"}},
		Handles: []graph.Handle{{Name: "x", Bytes: 4e9}}, Sites: []graph.Site{{File: "m.spu", Line: 2}}}
	add := func(id int64, codelet string, deps ...int32) {
		g.Tasks = append(g.Tasks, graph.Task{ID: id, Codelet: codelet, Deps: deps, Operands: []graph.Operand{{Handle: 0, Mode: iface.R}}})
	}
	add(1, "a")
	add(2, "b", 0)
	add(3, "c")
	add(4, "d", 0)
	return &trace.Run{Graph: g, Seconds: 11, Tasks: []trace.Times{
		{Worker: 0, Submitted: 0.25, Ready: 0.5, Popped: 1, Data: 1, Started: 1, Ended: 5, State: "done", Flops: 8e9},
		{Worker: 0, Submitted: 0.25, Ready: 5, Popped: 8, Data: 8, Started: 8, Ended: 10, State: "done"},
		{Worker: 1, Submitted: 8, Ready: 8, Popped: 8.5, Data: 8.5, Started: 9, Ended: 11, State: "done"},
		{Worker: 1, Submitted: 0.25, Ready: 5, Popped: 5, Data: 5.5, Started: 5.5, Ended: 7, State: "done"},
	}}
}

func TestGapsSayWhy(t *testing.T) {
	r := made()
	checkGaps(t, r)
	var got []string
	for _, g := range r.Gaps() {
		got = append(got, fmt.Sprintf("%d %g-%g %s", g.Worker, g.From, g.To, r.Text(&g)))
	}
	want := []string{
		"0 0-0.25 a 1 was not submitted yet",
		"0 0.25-0.5 a 1 waited for a gate or for data that the program held",
		"0 0.5-1 a 1 was ready, and this worker had not taken it",
		"0 5-8 b 2 was ready, and this worker had not taken it",
		"0 10-11 no task was left for this worker",
		"1 0-0.25 a 1 was not submitted yet",
		"1 0.25-0.5 d 4 waited for a 1",
		"1 0.5-1 a 1 was ready, and was left to cpu 0",
		"1 1-5 d 4 waited for a 1",
		"1 5-5.5 d 4 waited for its data: locks, memory, copies",
		"1 7-8 b 2 was ready, and was left to cpu 0",
		"1 8-8.5 c 3 was ready, and this worker had not taken it",
		"1 8.5-9 c 3 was starting",
	}
	if !slices.Equal(got, want) {
		t.Errorf("gaps:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	got = nil
	for _, s := range r.Chain() {
		got = append(got, r.Graph.Tasks[s.Task].Label()+" "+s.Why)
	}
	if want := []string{"a 1 ", "d 4 " + trace.WaitsForTask, "c 3 " + trace.WaitsSubmit}; !slices.Equal(got, want) {
		t.Errorf("the chain is %q, want %q", got, want)
	}
}

// A worker that idles while tasks which it may run are ready does not wait for the task
// that it runs next: its gap is cut where such tasks were ready.
func TestGapsWhileTasksAreReady(t *testing.T) {
	g := &graph.Graph{Title: "ready", Workers: []graph.Worker{{Name: "cpu 0"}, {Name: "cpu 1"}, {Name: "gpu"}}, Nodes: []graph.Node{{Name: "ram"}}}
	r := &trace.Run{Graph: g, Seconds: 12}
	add := func(codelet string, w int, ready, started, ended float64, may []int, deps ...int32) {
		g.Tasks = append(g.Tasks, graph.Task{ID: int64(len(g.Tasks) + 1), Codelet: codelet, Site: -1, Deps: deps})
		r.Tasks = append(r.Tasks, trace.Times{Worker: w, Submitted: 1, Ready: ready, Popped: started, Data: started, Started: started, Ended: ended, State: "done", Workers: may})
	}
	cpus := []int{0, 1}
	add("long", 0, 1, 1, 8, cpus)
	add("queued", 0, 2, 8, 9, cpus)
	add("queued", 0, 3, 9, 10, cpus)
	add("device", 2, 4, 11, 12, []int{2})
	add("last", 1, 10, 10, 11, nil, 2)
	said := map[int][]string{}
	for _, g := range r.Gaps() {
		said[g.Worker] = append(said[g.Worker], fmt.Sprintf("%g-%g %s: %s", g.From, g.To, g.Why, r.Text(&g)))
	}
	want := []string{
		"0-1 not submitted: long 1 was not submitted yet",
		"1-2 dependency: last 5 waited for queued 3",
		"2-9 queued: queued 2 and 1 more were ready, and were left to other workers",
		"9-10 dependency: last 5 waited for queued 3",
		"11-12 no tasks left: no task was left for this worker",
	}
	if !slices.Equal(said[1], want) {
		t.Errorf("cpu 1:\n%s\nwant:\n%s", strings.Join(said[1], "\n"), strings.Join(want, "\n"))
	}
	want = []string{
		"0-1 not submitted: device 4 was not submitted yet",
		"1-4 dependency: device 4 waited for a gate or for data that the program held",
		"4-11 queued: device 4 was ready, and this worker had not taken it",
	}
	if !slices.Equal(said[2], want) {
		t.Errorf("gpu:\n%s\nwant:\n%s", strings.Join(said[2], "\n"), strings.Join(want, "\n"))
	}
}

// The gaps of a worker that idles beside very many short tasks stay few, and their sums
// right.
// TestGapsOfOthersTasks: a worker that has nothing next, or what comes much later, idles
// for what the tasks of others wait for.
func TestGapsOfOthersTasks(t *testing.T) {
	g := &graph.Graph{Title: "others", Workers: []graph.Worker{{Name: "cpu 0"}, {Name: "cpu 1"}, {Name: "cpu 2"}}, Nodes: []graph.Node{{Name: "ram"}}}
	r := &trace.Run{Graph: g, Seconds: 21}
	add := func(w int, submitted, ready, ended float64, deps ...int32) {
		g.Tasks = append(g.Tasks, graph.Task{ID: int64(len(g.Tasks) + 1), Codelet: "t", Site: -1, Deps: deps})
		r.Tasks = append(r.Tasks, trace.Times{Worker: w, Submitted: submitted, Ready: ready, Popped: ready, Data: ready, Started: ready, Ended: ended, State: "done"})
	}
	add(0, 1, 1, 4)             // 1
	add(0, 1, 4, 8, 0)          // 2: a chain
	add(0, 1, 8, 10, 1)         // 3
	add(1, 15, 15.00001, 18, 2) // 4: what it needs is there, and it is ready when its submission ends
	add(0, 16, 18, 20, 3)       // 5
	said := map[int][]string{}
	for _, g := range r.Gaps() {
		said[g.Worker] = append(said[g.Worker], fmt.Sprintf("%.4g-%.4g %s: %s", g.From, g.To, g.Why, r.Text(&g)))
	}
	for w, want := range [][]string{
		{
			"0-1 not submitted: t 1 was not submitted yet",
			"10-16 not submitted: t 4 was not submitted yet",
			"16-18 dependency: t 5 waited for t 4",
			"20-21 no tasks left: no task was left for this worker",
		},
		{
			"0-1 not submitted: t 1 was not submitted yet",
			"1-8 dependency: t 3 waited for t 2",
			"8-15 not submitted: t 4 was not submitted yet",
			"15-15 not submitted: t 5 was not submitted yet",
			"18-21 no tasks left: no task was left for this worker",
		},
		{
			"0-1 not submitted: t 1 was not submitted yet",
			"1-8 dependency: t 3 waited for t 2",
			"8-16 not submitted: t 4 was not submitted yet",
			"16-18 dependency: t 5 waited for t 4",
			"18-21 no tasks left: no task was left for this worker",
		},
	} {
		if !slices.Equal(said[w], want) {
			t.Errorf("cpu %d:\n%s\nwant:\n%s", w, strings.Join(said[w], "\n"), strings.Join(want, "\n"))
		}
	}
	checkGaps(t, r)
}

func TestGapsBesideManyTasks(t *testing.T) {
	g := &graph.Graph{Title: "many", Workers: []graph.Worker{{Name: "cpu 0"}, {Name: "cpu 1"}}, Nodes: []graph.Node{{Name: "ram"}}}
	r := &trace.Run{Graph: g}
	const n, each = 200_000, 1e-5 // ready for a quarter of it
	for i := range n {
		at := float64(i)*each + 1e-6
		g.Tasks = append(g.Tasks, graph.Task{ID: int64(i + 1), Codelet: "a", Site: -1})
		r.Tasks = append(r.Tasks, trace.Times{Worker: 0, Submitted: 1e-9, Ready: at, Popped: at + each/4, Data: at + each/4, Started: at + each/4, Ended: at + each, State: "done"})
		r.Seconds = at + each
	}
	sum, pieces := map[string]float64{}, 0
	for _, g := range r.Gaps() {
		if g.Worker == 1 {
			sum[g.Why] += g.To - g.From
			pieces++
		}
	}
	if q := sum[trace.WaitsQueue] / r.Seconds; pieces > 50_000 || q < 0.24 || q > 0.26 {
		t.Errorf("%d gaps; tasks were ready for %.3f of the time, want 0.25", pieces, q)
	}
	checkGaps(t, r)
}

// A task that still ran when the record ended ran until then: its worker was not idle, and
// no count of tasks falls below zero.
func TestRunsOn(t *testing.T) {
	r := made()
	r.Tasks[1].State, r.Tasks[1].Ended = "", 0
	for _, g := range r.Gaps() {
		if g.Worker == 0 && g.To > 8 {
			t.Errorf("worker 0 had nothing to do from %g to %g", g.From, g.To)
		}
	}
	if c := r.Chain(); len(c) == 0 || c[len(c)-1].Task != 1 {
		t.Errorf("the chain ends with %v, not with the task that still runs", c)
	}
	var b bytes.Buffer
	if err := trace.WriteChrome(&b, r); err != nil {
		t.Fatal(err)
	}
	var out struct {
		TraceEvents []struct {
			Name, Ph string
			Dur      float64
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	for _, e := range out.TraceEvents {
		if e.Name == "tasks" && e.Args["running"].(float64) < 0 || e.Name == "b" && e.Dur != 3e6 {
			t.Errorf("%+v", e)
		}
	}
	b.Reset()
	if err := trace.WriteReport(&b, r, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "[0,1,2,8,11,0.25,") {
		t.Error("the page has another end of b")
	}
}

// Behind many light tasks, one after the other, a task waited for the one before them.
func TestGapsBehindLightTasks(t *testing.T) {
	r := made()
	for i, n := 0, 9; i < n; i++ {
		d := int32(len(r.Tasks) - 1)
		if i == 0 {
			d = 2
		}
		r.Graph.Tasks = append(r.Graph.Tasks, graph.Task{ID: -1, Internal: "invalidate", Codelet: "(invalidate)", Site: -1, Deps: []int32{d}})
		r.Tasks = append(r.Tasks, trace.Times{Worker: -1, Submitted: 8, Ended: 11, State: "done"})
	}
	r.Graph.Tasks = append(r.Graph.Tasks, graph.Task{ID: 5, Codelet: "e", Site: -1, Deps: []int32{int32(len(r.Tasks) - 1)}})
	r.Tasks = append(r.Tasks, trace.Times{Worker: 0, Submitted: 8, Ready: 11, Popped: 11, Data: 11, Started: 11, Ended: 12, State: "done"})
	said := ""
	for _, g := range r.Gaps() {
		if g.Next == len(r.Tasks)-1 {
			said = r.Text(&g)
		}
	}
	if want := "e 5 waited for c 3"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
}

// The tasks of a sub-graph come before what was submitted after the task that they are
// parts of, and are recorded after it: they wait for that task and for each other.
func TestSubgraph(t *testing.T) {
	rec := &trace.Recorder{}
	rt, err := engine.New(engine.Options{Workers: 2, Listener: rec, Profile: true})
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(t.Context(), engine.JobOptions{})
	x, err := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{8}})
	if err != nil {
		t.Fatal(err)
	}
	task := func(name string, m iface.AccessMode, run engine.Impl) *engine.TaskSpec {
		return &engine.TaskSpec{Codelet: &engine.Codelet{Name: name, CPU: []engine.Impl{run}}, Operands: []engine.Operand{{Handle: x, Mode: m}}}
	}
	nothing := func(*engine.TaskContext) error { return nil }
	submitted := make(chan bool)
	if _, err := j.SubmitTask(task("whole", iface.W, func(c *engine.TaskContext) error {
		<-submitted
		sub, err := c.Subgraph()
		if err != nil {
			return err
		}
		return errors.Join(sub.Submit(task("part", iface.RW, nothing)), sub.Submit(task("part", iface.RW, nothing)))
	})); err != nil {
		t.Fatal(err)
	}
	if err := j.Submit(task("after", iface.RW, nothing)); err != nil {
		t.Fatal(err)
	}
	close(submitted)
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := rec.Run("parts")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range r.Graph.Tasks {
		x := &r.Graph.Tasks[i]
		got = append(got, fmt.Sprintf("%s %v", x.Codelet, x.Deps))
		for _, d := range x.Deps {
			if r.Tasks[d].Started > r.Tasks[i].Started {
				t.Errorf("%s waited for %s, which started later", x.Label(), r.Graph.Tasks[d].Label())
			}
		}
	}
	if want := []string{"whole []", "after [0]", "part [0]", "part [2]"}; !slices.Equal(got, want) {
		t.Errorf("tasks and what they wait for: %q, want %q", got, want)
	}
}

func TestChrome(t *testing.T) {
	r := recorded(t)
	var b bytes.Buffer
	if err := trace.WriteChrome(&b, r); err != nil {
		t.Fatal(err)
	}
	var out struct {
		TraceEvents []struct {
			Name, Cat, Ph string
			Ts, Dur       float64
			Pid, Tid, ID  int
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`"(ts|dur)":(\d+|\d+\.\d{1,2}|\d+\.\d{4,}|[^,}]*e[^,}]*)[,}]`).FindString(b.String()); m != "" {
		t.Errorf("%s: not three decimals", m)
	}
	kinds := map[string]int{}
	threads := map[int]string{}
	ends := map[int]float64{}
	for _, e := range out.TraceEvents {
		kinds[e.Ph+e.Cat]++
		switch {
		case e.Name == "thread_name" && e.Pid == 1:
			threads[e.Tid] = e.Args["name"].(string)
		case e.Cat == "task":
			if threads[e.Tid] == "" || e.Dur < 0 || e.Ts < 0 || e.Args["at"] != "s.spu:3" || !strings.HasPrefix(e.Args["variables"].(string), "i = ") {
				t.Errorf("task %+v", e)
			}
		case e.Ph == "s":
			ends[e.ID] = e.Ts
		case e.Ph == "f" && e.Ts < ends[e.ID]:
			t.Errorf("the arrow %d points back in time", e.ID)
		}
	}
	if kinds["Xtask"] != 16 || kinds["sdependency"] != 8 || kinds["fdependency"] != 8 || kinds["C"] == 0 {
		t.Errorf("events: %v", kinds)
	}
}

// The script has a track of its own: calls with the inserts in them, and what it waited
// for and held; slices of a row lie in each other or apart.
func TestChromeScript(t *testing.T) {
	r := made()
	g := r.Graph
	for i := range g.Tasks {
		g.Tasks[i].Call = "all()"
	}
	g.Tasks[2].Call = ""
	for k, times := range [][3]float64{{0.3, 5, 7}, {6, 6.5, 9}, {7.5, 8, 8.5}} {
		g.Tasks = append(g.Tasks, graph.Task{ID: int64(-k - 1), Internal: "acquire", Codelet: "(acquire)", Operands: []graph.Operand{{Mode: iface.R}}})
		r.Tasks = append(r.Tasks, trace.Times{Worker: -1, Submitted: times[0], Started: times[1], Ended: times[2], State: "done"})
	}
	g.Tasks = append(g.Tasks, graph.Task{ID: 9, Codelet: "b", Call: "all()"})
	r.Tasks = append(r.Tasks, trace.Times{Worker: 0, Submitted: 9, Ready: 10, Started: 10, Ended: 11, State: "done"})
	var b bytes.Buffer
	if err := trace.WriteChrome(&b, r); err != nil {
		t.Fatal(err)
	}
	var out struct {
		TraceEvents []struct {
			Name, Ph string
			Ts, Dur  float64
			Pid, Tid int
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range out.TraceEvents {
		if e.Pid == 4 && e.Ph == "X" {
			got = append(got, fmt.Sprintf("%d %s %g+%g", e.Tid, e.Name, e.Ts/1e6, e.Dur/1e6))
		}
	}
	want := []string{
		"1 all() 0.25+1e-06", "1 all() 9+1e-06",
		"1 insert a 0.25+0", "1 insert b 0.25+0", "1 insert d 0.25+1e-06", "1 insert c 8+1e-06", "1 insert b 9+1e-06",
		"2 wait for R x 0.3+4.7", "2 hold R x 5+2", "3 wait for R x 6+0.5", "3 hold R x 6.5+2.5", "2 wait for R x 7.5+0.5", "2 hold R x 8+0.5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the script did\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReport(t *testing.T) {
	var b bytes.Buffer
	if err := trace.WriteReport(&b, recorded(t), []trace.Source{{Name: "s.spu", Text: "one\ntwo </script>\nthree\n"}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("the page ends %d scripts; data can end none of them", n)
	}
	if m := regexp.MustCompile(`(?i)(src|href)\s*=|url\(|@import|fetch\(|https?://`).FindString(page); m != "" {
		t.Errorf("the page asks for something else: %q", m)
	}
}

// TestReportVariants: a codelet whose tasks ran in several variants has a row for each in the
// table of the page, and one that ran in a single one has its name.
func TestReportVariants(t *testing.T) {
	rec := &trace.Recorder{}
	rt, err := engine.New(engine.Options{Workers: 1, Listener: rec})
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(t.Context(), engine.JobOptions{})
	x, err := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{8}, Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"strips", "native"}
	runs := 0
	both := &engine.Codelet{Name: "both", Variants: &engine.Variants{Names: names}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		c.SetVariant(runs % 2)
		runs++
		return nil
	}}}
	one := &engine.Codelet{Name: "one", Variants: both.Variants, CPU: []engine.Impl{func(*engine.TaskContext) error { return nil }}}
	for range 2 {
		for _, c := range []*engine.Codelet{both, one} {
			if err := j.Submit(&engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: x, Mode: iface.W}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := trace.WriteReport(&b, rec.Run("variants"), nil); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if want := `"codelets":["both (strips)","one","both (native)"]`; !strings.Contains(b.String(), want) {
		t.Errorf("no %s in the page", want)
	}
}

// TestRetries: kernels that run again are in the trace, each time, and on the page.
func TestRetries(t *testing.T) {
	rec := &trace.Recorder{}
	rt, err := engine.New(engine.Options{Workers: 2, Listener: trace.Both(&engine.Journal{}, rec), Profile: true})
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(t.Context(), engine.JobOptions{})
	x, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{8}, Name: "x"}, func(*iface.Buffer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	flaky := &engine.Codelet{Name: "flaky", CPU: []engine.Impl{func(*engine.TaskContext) error {
		if runs++; runs < 3 {
			return fmt.Errorf("run %d of it </script>", runs)
		}
		return nil
	}}}
	calm := &engine.Codelet{Name: "calm", CPU: []engine.Impl{func(*engine.TaskContext) error { return nil }}}
	for _, c := range []*engine.Codelet{flaky, calm} {
		if _, err := j.SubmitWith(&engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: x, Mode: iface.RW}}}, engine.TaskOptions{Retry: 3}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := rec.Run("again")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	again := 0
	for i := range run.Tasks {
		x := &run.Tasks[i]
		again += len(x.Retries)
		for n, a := range x.Retries {
			if run.Graph.Tasks[i].Codelet != "flaky" || a.Err != fmt.Sprintf("run %d of it </script>", n+1) || a.Time < x.Started || a.Time > x.Ended {
				t.Errorf("%s ran from %v to %v, and again: %+v", run.Graph.Tasks[i].Codelet, x.Started, x.Ended, a)
			}
		}
	}
	if again != 2 {
		t.Errorf("%d retries, want 2", again)
	}
	var b bytes.Buffer
	if err := trace.WriteChrome(&b, run); err != nil {
		t.Fatal(err)
	}
	var all struct {
		TraceEvents []struct {
			Name, Ph, S string
			Args        map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, e := range all.TraceEvents {
		switch {
		case e.Ph == "i":
			seen = append(seen, fmt.Sprint(e.Name, " ", e.S, " ", e.Args["runs"], " ", e.Args["error"]))
		case e.Name == "flaky" || e.Name == "calm":
			seen = append(seen, fmt.Sprint(e.Name, " ", e.Args["retries"]))
		}
	}
	slices.Sort(seen)
	if want := []string{"calm <nil>", "flaky 2", "retry of flaky t 1 run 1 of it </script>", "retry of flaky t 2 run 2 of it </script>"}; !slices.Equal(seen, want) {
		t.Errorf("the trace has %q, want %q", seen, want)
	}
	b.Reset()
	if err := trace.WriteReport(&b, run, nil); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`,0,\[[0-9.e-]+,"run 1 of it [^"]*",[0-9.e-]+,"run 2 of it [^"]*"\]\]`).MatchString(b.String()) {
		t.Error("the page has no retries")
	}
	if n := strings.Count(b.String(), "</script>"); n != 2 {
		t.Errorf("the page ends %d scripts", n)
	}
}

// TestReportRanks: the page of a run on several ranks has the figures of all, and of pairs those with the most bytes.
func TestReportRanks(t *testing.T) {
	of := &cluster.Report{Size: 3, Ranks: []cluster.Rank{
		{Rank: 0, Tasks: 4, Pruned: 2, Sent: cluster.Traffic{Messages: 3, Bytes: 96}, Received: cluster.Traffic{Messages: 1, Bytes: 8}, Workers: 2, Busy: 1, Seconds: 2},
		{Rank: 1, Tasks: 2, Pruned: 4, Busy: math.Inf(1), Seconds: math.NaN()}}}
	for n := range 300 {
		of.Pairs = append(of.Pairs, cluster.Route{From: 0, To: 1 + n%2, Traffic: cluster.Traffic{Messages: 1, Bytes: int64(300 - n)}})
	}
	page := func(of *cluster.Report) string {
		run := recorded(t)
		run.Ranks = of
		var b bytes.Buffer
		if err := trace.WriteReport(&b, run, nil); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := page(of)
	for _, want := range []string{`"ranks":{"size":3,"ranks":[[0,4,2,3,96,1,8,0.25,2],[1,2,4,0,0,0,0,0,0]],"pairs":[[0,1,1,300],[0,2,1,299],`, `[0,2,1,101]],"left":100}`, `<section id="ranks" hidden>`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	if strings.Contains(page(nil), `"ranks":`) {
		t.Error("the page of one rank has ranks")
	}
}

// TestReportOfNothingAndOfMuch: the page of a run without tasks has empty lists, and the
// page of one with many tasks does not pass them as arguments of one call, as browsers
// allow some 100 000.
func TestReportOfNothingAndOfMuch(t *testing.T) {
	var b bytes.Buffer
	if err := trace.WriteReport(&b, (&trace.Recorder{}).Run("{{data}} <i>"), nil); err != nil {
		t.Fatal(err)
	}
	head, data, ok := strings.Cut(b.String(), `<script id="data" type="application/json">`)
	data, script, _ := strings.Cut(data, "</script>")
	if !ok || !json.Valid([]byte(data)) || strings.Contains(data, "null") {
		t.Errorf("the data of nothing is %q", data)
	}
	if !strings.Contains(head, "<title>{{data}} &lt;i&gt;: report</title>") {
		t.Errorf("the head is %.300s", head)
	}
	if m := regexp.MustCompile(`Math\.\w+\(\.\.\.`).FindString(script); m != "" {
		t.Errorf("the page has %s", m)
	}
}

// browser finds Chromium.
func browser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Skip("the report is not looked at: no Chromium here (Debian: apt-get install chromium)")
	return ""
}

// TestReportInBrowser does in a browser what a reader does: finds a task, reads its
// details, follows a dependency, zooms, asks what a task and a gap are, filters by
// codelet, and changes between light and dark. The page says what became of it.
func TestReportInBrowser(t *testing.T) {
	said := inBrowser(t, made(), `
  const at = (t, row) => { const r = c.getBoundingClientRect(); return {clientX: r.left + x(t), clientY: r.top + rows[row].y + rowH / 2, bubbles: true, cancelable: true, pointerId: 1}; };
  note("title", $("title").textContent); note("whole", $("failed").hidden);
  const s = $("search"); s.value = "b 2"; s.dispatchEvent(new Event("input"));
  note("found", $("found").textContent);
  s.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
  note("task", $("task").textContent.split("\n")[0] + ", " + /waited for [^\n]*/.exec($("task").textContent.split("\n").slice(-4).join("\n"))[0]);
  note("source", document.querySelector("#source .on").textContent.includes("insert all()"));
  $("task").querySelector("a").click();
  note("followed", $("task").textContent.split("\n")[0]);
  s.value = "nonsense"; s.dispatchEvent(new Event("input")); note("none", $("found").textContent);
  s.value = ""; s.dispatchEvent(new Event("input"));
  all(); const wide = to - from;
  c.dispatchEvent(new WheelEvent("wheel", {...at(6, 0), deltaY: -240}));
  note("zoomed", (to - from) < wide && from < 6 && to > 6);
  c.dispatchEvent(new MouseEvent("dblclick", at(6, 0))); note("all", to - from == wide);
  const tipAt = (t, row) => { c.dispatchEvent(new PointerEvent("pointermove", at(t, row))); return $("tip").style.display + ": " + $("tip").textContent.split("\n").slice(0, 2).join(" / "); };
  note("tip", tipAt(3, 0)); note("gap", tipAt(6, 0));
  c.dispatchEvent(new PointerEvent("pointerdown", at(6, 1))); c.dispatchEvent(new PointerEvent("pointerup", at(6, 1)));
  note("clicked", $("task").textContent.split("\n")[0]);
  document.querySelector("#legend span[data-c]").click(); note("filter", only !== null);
  document.querySelector("#legend span[data-c]").click(); note("unfilter", only === null);
  const bright = () => { const d = g.getImageData(c.width - 3, 3, 1, 1).data; return d[0] + d[1] + d[2] > 382 ? "light" : "dark"; };
  setTheme("light"); const one = bright(); $("theme").click(); note("themes", one + " " + bright());
  note("idle", document.querySelectorAll("#idle tr").length - 1);
  const chained = () => [...document.querySelectorAll("#chaint tr")].slice(1).map(r => r.children[0].textContent + " " + r.children[2].textContent).join(", ");
  note("chain", chained()); [...document.querySelectorAll("#chaint th")].find(h => h.textContent == "started").click(); note("by start", chained());
  note("rates", [...document.querySelectorAll("#codelets tr")].map(r => [...r.children].slice(-2).map(e => e.textContent).join(" ")).join(", ") + "; " + taskText(0).split("\n").find(l => l.startsWith("ran")));
  note("waited", document.querySelectorAll("#chaint tr")[2].children[3].textContent);
`)
	want := strings.Join([]string{
		"title=made", "whole=true", "found=1 found", "task=b 2, waited for a 1", "source=true", "followed=a 1", "none=nothing found",
		"zoomed=true", "all=true", "tip=block: a 1 / R x", "gap=block: 3.000 s: queued / b 2 was ready, and this worker had not taken it", "clicked=d 4",
		"filter=true", "unfilter=true", "themes=light dark", "idle=6",
		"chain=a 1 37.2 %, c 3 18.6 %, d 4 14.0 %", "by start=a 1 37.2 %, d 4 14.0 %, c 3 18.6 %", "rates=GFLOP/s GB/s, 2.00 1.00, – 2.00, – 2.00, – 2.67; ran 4.000 s on cpu 0, from 0.7500 s, 2.00 GFLOP/s, 1.00 GB/s", "waited=500 ms fetching",
	}, "\n")
	if said != want {
		t.Errorf("the page said\n%s\nwant\n%s", said, want)
	}
}

// A run seen from near: the labels of the time axis differ however far one zooms, curves
// that are level in sight are drawn, and the source pane shows the line that is asked for.
func TestReportZoomed(t *testing.T) {
	r := made()
	r.Graph.Sites = append(r.Graph.Sites, graph.Site{File: "m.spu", Line: 150})
	r.Graph.Tasks[2].Site = 1
	said := inBrowser(t, r, `
  const repeated = [];
  for (let width = 8; width > 3e-7; width /= 3) { from = t0 + 1.25; to = from + width; draw(); if (labels.length < 2 || new Set(labels).size < labels.length) repeated.push(width + ": " + labels.join(" ")); }
  note("repeated", repeated.join("; "));
  from = 1.25 + t0; to = from + 1e-5; draw(); note("labels", labels.slice(0, 3).join(" "));
  note("moments", moment(t0 + 1.250013) + " " + moment(t0));
  const drawn = (colour, row) => { const p = document.createElement("canvas").getContext("2d"); p.fillStyle = colour; p.fillRect(0, 0, 1, 1); const want = p.getImageData(0, 0, 1, 1).data, r = devicePixelRatio || 1;
    let n = 0; for (let px = left + 5; px < width - 5; px += 7) { const d = g.getImageData(px * r, row.y * r, 1, row.h * r).data; for (let k = 0; k < d.length; k += 4) if (Math.abs(d[k] - want[0]) + Math.abs(d[k + 1] - want[1]) + Math.abs(d[k + 2] - want[2]) < 180) { n++; break; } } return n / Math.floor((width - left - 10) / 7); };
  const row = rows.find(r => r.kind == "count");
  setTheme("light"); from = 6; to = 6.5; draw(); note("level", curves.map(([, name, col]) => name + " " + (drawn(col, row) > 0.95)).join(", "));
  from = 2; to = 10.9; draw(); note("changing", curves.map(([, name, col]) => name + " " + (drawn(col, row) > 0.95)).join(", "));
  const inSight = k => { const box = $("source").closest(".scroll").getBoundingClientRect(), e = document.getElementById("L0:" + k).getBoundingClientRect(); return e.top >= box.top && e.bottom <= box.bottom; };
  select(0); note("first", inSight(2) + " " + inSight(150)); select(2); note("far", inSight(2) + " " + inSight(150));
  toggleChain(); note("chain", inSight(2) + " " + [...document.querySelectorAll("#source .chain")].map(e => e.id + " " + e.querySelector("em").textContent).join(", "));
  toggleChain(); note("no chain", document.querySelectorAll("#source .chain").length + " " + document.getElementById("L0:150").querySelector("em").textContent);
  [...document.querySelectorAll("#chaint tr")].find(r => r.textContent.startsWith("c 3")).click(); note("clicked", inSight(150) + " " + (to - from < 10));
  $("advice").hidden = false; $("advice").style.height = "2000px"; scrollTo(0, 0); toggleChain(); toggleChain(); note("stays", scrollY);
  $("advice").hidden = true; innerHeight = 420;
  [...document.querySelectorAll("#chaint tr")].find(r => r.textContent.startsWith("c 3")).click(); const line = document.getElementById("L0:150").getBoundingClientRect(); note("small", inSight(150) + " " + (line.top > 0 && line.bottom < 420));
  open_("#from=5&to=6&find=b+2&chain&theme=dark"); note("opened", [(from - t0).toFixed(3), (to - t0).toFixed(3), label(selected), chainOn, theme].join(" "));
`)
	want := strings.Join([]string{
		"repeated=", "labels=1.250000 s 1.250002 s 1.250004 s", "moments=1.2500 s 0", "level=ready true, running true", "changing=ready true, running true",
		"first=true false", "far=false true", "chain=true L0:2 51.2 % of the run, L0:150 18.6 % of the run", "no chain=0 2.000 s · 1", "clicked=true true",
		"stays=0", "small=true true", "opened=5.000 6.000 b 2 true dark",
	}, "\n")
	if said != want {
		t.Errorf("the page said\n%s\nwant\n%s", said, want)
	}
}

// The report of a run that failed says so at its top, and what its frames mean.
func TestReportOfFailure(t *testing.T) {
	r := made()
	r.Tasks[1].Err = "element 9 is outside"
	r.Tasks[2].Err, r.Tasks[2].Worker, r.Tasks[2].Started, r.Tasks[2].Ended = "cancelled", -1, 0, 0
	said := inBrowser(t, r, `
  note("failed", $("failed").hidden + " " + $("failed").textContent);
  note("legend", $("legend").textContent.includes("failed"));
  $("failed").click(); note("task", $("task").textContent.split("\n")[0]);
`)
	want := "failed=false This run failed: 1 task failed, 1 task was cancelled and did not run. b 2, m.spu:2: element 9 is outside\nlegend=true\ntask=b 2"
	if said != want {
		t.Errorf("the page said\n%s\nwant\n%s", said, want)
	}
}

// inBrowser opens the report of r in a browser, runs act there and returns what it noted.
func inBrowser(t *testing.T, r *trace.Run, act string) string {
	t.Helper()
	chromium := browser(t)
	var b bytes.Buffer
	if err := trace.WriteReport(&b, r, []trace.Source{{Name: "m.spu", Text: "# made\ninsert all()\n" + strings.Repeat("#\n", 200)}}); err != nil {
		t.Fatal(err)
	}
	act = `<script>
const say = [], note = (k, v) => say.push(k + "=" + v);
window.onerror = m => note("error", m);
try {` + act + `} catch (e) { note("error", e.stack); }
document.body.innerHTML = ""; const out = document.createElement("pre"); out.id = "said"; out.textContent = say.join("\n"); document.body.append(out);
</script></body>`
	file := filepath.Join(t.TempDir(), "r.html")
	page := strings.Replace(b.String(), "</body>", act, 1)
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--window-size=1200,900", "--dump-dom", "file://"+file)
	cmd.WaitDelay = time.Minute
	dom, err := cmd.Output()
	if err != nil {
		t.Skipf("the report is not looked at: %s does not run here: %v", chromium, err)
	}
	_, said, ok := strings.Cut(string(dom), `<pre id="said">`)
	if !ok {
		t.Fatalf("the page did not run its script:\n%.2000s", dom)
	}
	said, _, _ = strings.Cut(said, "</pre>")
	return said
}
