package trace

// The trace event format of Chrome, which Perfetto opens: workers and links as
// threads, tasks and copies as slices, dependencies as arrows, and counters.

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/starpush/starpush/engine/graph"
)

// chromeEvent is one event; see the "Trace Event Format" of Chromium. Times are in µs.
type chromeEvent struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	Ts   micros         `json:"ts"`
	Dur  *micros        `json:"dur,omitempty"`
	Pid  int            `json:"pid"`
	Tid  int            `json:"tid"`
	ID   int            `json:"id,omitempty"`
	Bp   string         `json:"bp,omitempty"`
	S    string         `json:"s,omitempty"` // "t": an instant of the thread
	Args map[string]any `json:"args,omitempty"`
}

// micros is a time in µs, written with three decimals: nanoseconds.
type micros float64

func (m micros) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, known(float64(m)), 'f', 3, 64), nil
}

const (
	workersPid = 1
	linksPid   = 2
	countsPid  = 3
	scriptPid  = 4
)

// maxArrows bounds the dependencies that are drawn: more hide what they show.
const maxArrows = 20000

// WriteChrome writes r as JSON for Perfetto (ui.perfetto.dev) and chrome://tracing.
func WriteChrome(w io.Writer, r *Run) error {
	b := bufio.NewWriter(w)
	c := &chrome{w: b}
	io.WriteString(b, `{"displayTimeUnit":"ms","traceEvents":[`)
	c.threads(r)
	c.script(r)
	c.tasks(r)
	c.copies(r)
	c.counters(r)
	io.WriteString(b, "\n]}\n")
	if c.err != nil {
		return c.err
	}
	return b.Flush()
}

type chrome struct {
	w     io.Writer
	comma bool
	err   error
}

func (c *chrome) add(e chromeEvent) {
	text, err := json.Marshal(e)
	if err != nil && c.err == nil {
		c.err = err
	}
	if c.comma {
		io.WriteString(c.w, ",")
	}
	c.comma = true
	io.WriteString(c.w, "\n")
	c.w.Write(text)
}

func (c *chrome) name(what string, pid, tid int, name string) {
	c.add(chromeEvent{Name: what, Ph: "M", Pid: pid, Tid: tid, Args: map[string]any{"name": name}})
}

func (c *chrome) threads(r *Run) {
	c.name("process_name", workersPid, 0, "workers")
	for i, w := range r.Graph.Workers {
		c.name("thread_name", workersPid, i+1, w.Name)
	}
	if len(r.Copies) > 0 {
		c.name("process_name", linksPid, 0, "links")
		for i, l := range r.Links() {
			c.name("thread_name", linksPid, i+1, r.LinkName(l))
		}
	}
	c.name("process_name", countsPid, 0, "counters")
}

// Links lists the pairs of memories between which something was copied.
func (r *Run) Links() (all [][2]int) {
	for _, x := range r.Copies {
		if l := [2]int{x.From, x.To}; !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b [2]int) int { return (a[0]-b[0])*1000 + a[1] - b[1] })
	return all
}

// LinkName returns the name of a link.
func (r *Run) LinkName(l [2]int) string {
	if l[0] == l[1] {
		return "within " + r.node(l[0])
	}
	return r.node(l[0]) + " to " + r.node(l[1])
}

func (r *Run) node(n int) string {
	if n < len(r.Graph.Nodes) {
		return r.Graph.Nodes[n].Name
	}
	return fmt.Sprintf("memory %d", n)
}

const micro = 1e6

// span is how long something was, from and to in seconds.
func span(from, to float64) *micros {
	d := micros(max(0, to-from) * micro)
	return &d
}

func (c *chrome) tasks(r *Run) {
	arrows := 0
	for i := range r.Tasks {
		t, x := &r.Graph.Tasks[i], &r.Tasks[i]
		if x.Started == 0 || x.Worker < 0 || t.Light() {
			continue
		}
		args := map[string]any{"task": t.ID, "operands": r.Graph.OperandText(t), "at": r.Graph.SiteOf(t).String(),
			"waited for data, tasks and gates (µs)": between(x.Submitted, x.Ready), "queued (µs)": between(x.Ready, x.Popped),
			"fetching (µs)": between(x.Popped, x.Data), "starting (µs)": between(x.Data, x.Started)}
		if t.Vars != "" {
			args["variables"] = t.Vars
		}
		if t.Call != "" {
			args["call"] = t.Call
		}
		if x.Err != "" {
			args["error"] = x.Err
		}
		if d := r.ended(x) - x.Started; known(x.Flops) > 0 && d > 0 {
			args["GFLOP/s"] = math.Round(x.Flops/d/1e6) / 1e3
		}
		name := t.Codelet
		if t.Name != "" {
			name = t.Name
		}
		if x.Gang != nil {
			args["workers"] = len(x.Gang)
		}
		if n := len(x.Retries); n > 0 {
			args["retries"] = n
		}
		for _, w := range x.workers() {
			c.add(chromeEvent{Name: name, Cat: "task", Ph: "X", Ts: micros(x.Started * micro), Dur: span(x.Started, r.ended(x)), Pid: workersPid, Tid: w + 1, Args: args})
		}
		for n, a := range x.Retries {
			c.add(chromeEvent{Name: "retry of " + name, Cat: "retry", Ph: "i", S: "t", Ts: micros(a.Time * micro), Pid: workersPid, Tid: x.Worker + 1,
				Args: map[string]any{"task": t.ID, "runs": n + 1, "error": a.Err}})
		}
		for _, k := range t.Deps {
			from := &r.Tasks[k]
			if from.Worker < 0 || from.Started == 0 || r.Graph.Tasks[k].Light() || arrows >= maxArrows {
				continue
			}
			arrows++
			c.add(chromeEvent{Name: "dependency", Cat: "dependency", Ph: "s", ID: arrows, Ts: micros(from.Ended * micro), Pid: workersPid, Tid: from.Worker + 1})
			c.add(chromeEvent{Name: "dependency", Cat: "dependency", Ph: "f", Bp: "e", ID: arrows, Ts: micros(x.Started * micro), Pid: workersPid, Tid: x.Worker + 1})
		}
	}
}

// between is a duration as far as both ends are known.
func between(from, to float64) micros {
	if from == 0 || to < from {
		return 0
	}
	return micros((to - from) * micro)
}

// script writes what the program did: which statements inserted tasks, in which calls, and
// which data it waited for and held.
func (c *chrome) script(r *Run) {
	named := false
	thread := func(tid int, name string) {
		if !named {
			named = true
			c.name("process_name", scriptPid, 0, "script")
			c.add(chromeEvent{Name: "process_sort_index", Ph: "M", Pid: scriptPid, Args: map[string]any{"sort_index": -1}})
		}
		c.name("thread_name", scriptPid, tid, name)
	}
	var inserts, held []int
	waits := make([]int, len(r.Tasks)) // how often the program had waited before it inserted a task
	n := 0
	for i := range r.Tasks {
		waits[i] = n
		switch t := &r.Graph.Tasks[i]; {
		case t.Internal == "acquire":
			held = append(held, i)
			n++
		case t.Internal == "" && t.Site >= 0:
			inserts = append(inserts, i)
		}
	}
	bySubmission := func(a, b int) int { return cmp.Compare(r.Tasks[a].Submitted, r.Tasks[b].Submitted) }
	slices.SortStableFunc(inserts, bySubmission)
	slices.SortStableFunc(held, bySubmission)
	if len(inserts) > 0 {
		thread(1, "inserts")
		task := func(i int) *graph.Task { return &r.Graph.Tasks[i] }
		call := func(a, b int) bool { return task(a).Call == task(b).Call && waits[a] == waits[b] }
		c.runs(r, inserts, call, func(t *graph.Task, n int) string { return t.Call })
		c.runs(r, inserts, func(a, b int) bool {
			return call(a, b) && task(a).Site == task(b).Site && task(a).Codelet == task(b).Codelet
		}, func(t *graph.Task, n int) string {
			if n == 1 {
				return "insert " + t.Codelet
			}
			return fmt.Sprintf("insert %s × %d", t.Codelet, n)
		})
	}
	var ends []float64 // of rows, each with what does not overlap
	for _, i := range held {
		t, x := &r.Graph.Tasks[i], &r.Tasks[i]
		granted, end := x.Started, x.Ended
		if granted == 0 { // it was cancelled, or waits still
			granted = max(end, x.Submitted)
		}
		if end == 0 {
			end = max(granted, r.Seconds)
		}
		row := slices.IndexFunc(ends, func(e float64) bool { return e <= x.Submitted })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
			thread(row+2, "waits and holds")
		}
		ends[row] = end
		slice := func(what string, from, to float64) {
			c.add(chromeEvent{Name: what + " " + r.Graph.OperandText(t), Cat: "script", Ph: "X", Ts: micros(from * micro), Dur: span(from, to),
				Pid: scriptPid, Tid: row + 2, Args: map[string]any{"at": r.Graph.SiteOf(t).String()}})
		}
		slice("wait for", x.Submitted, granted)
		if x.Started > 0 {
			slice("hold", granted, end)
		}
	}
}

// runs writes a slice for each run of tasks that are the same, from the first submission to
// a microsecond after the last, or to that of what follows. Runs without a name are left out.
func (c *chrome) runs(r *Run, tasks []int, same func(a, b int) bool, name func(first *graph.Task, n int) string) {
	for k := 0; k < len(tasks); {
		first := &r.Graph.Tasks[tasks[k]]
		n := 1
		for k+n < len(tasks) && same(tasks[k], tasks[k+n]) {
			n++
		}
		from, to := r.Tasks[tasks[k]].Submitted, r.Tasks[tasks[k+n-1]].Submitted+1/micro
		if k+n < len(tasks) {
			to = min(to, r.Tasks[tasks[k+n]].Submitted)
		}
		if text := name(first, n); text != "" {
			c.add(chromeEvent{Name: text, Cat: "script", Ph: "X", Ts: micros(from * micro), Dur: span(from, to), Pid: scriptPid, Tid: 1,
				Args: map[string]any{"at": r.Graph.SiteOf(first).String(), "tasks": n}})
		}
		k += n
	}
}

func (c *chrome) copies(r *Run) {
	links := r.Links()
	for _, x := range r.Copies {
		c.add(chromeEvent{Name: x.Data, Cat: "copy", Ph: "X", Ts: micros(x.Begin * micro), Dur: span(x.Begin, x.End), Pid: linksPid, Tid: slices.Index(links, [2]int{x.From, x.To}) + 1,
			Args: map[string]any{"bytes": x.Bytes}})
	}
}

func (c *chrome) counters(r *Run) {
	type change struct {
		at             float64
		ready, running int
	}
	var all []change
	for i := range r.Tasks {
		x := &r.Tasks[i]
		if r.Graph.Tasks[i].Light() || x.Started == 0 {
			continue
		}
		if x.Ready > 0 && x.Ready <= x.Started {
			all = append(all, change{x.Ready, 1, 0}, change{x.Started, -1, 0})
		}
		all = append(all, change{x.Started, 0, 1}, change{r.ended(x), 0, -1})
	}
	slices.SortStableFunc(all, func(a, b change) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	ready, running := 0, 0
	for k, x := range all {
		ready, running = ready+x.ready, running+x.running
		if k+1 < len(all) && all[k+1].at == x.at {
			continue
		}
		c.add(chromeEvent{Name: "tasks", Ph: "C", Ts: micros(x.at * micro), Pid: countsPid, Args: map[string]any{"ready": ready, "running": running}})
	}
	for _, m := range r.Memory {
		c.add(chromeEvent{Name: "memory " + r.node(m.Node), Ph: "C", Ts: micros(m.Time * micro), Pid: countsPid, Args: map[string]any{"bytes": m.Bytes}})
	}
}
