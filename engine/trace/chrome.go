package trace

// The trace event format of Chrome, which Perfetto opens: workers and links as
// threads, tasks and copies as slices, dependencies as arrows, and counters.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// chromeEvent is one event; see the "Trace Event Format" of Chromium. Times are in µs.
type chromeEvent struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	Ts   float64        `json:"ts"`
	Dur  *float64       `json:"dur,omitempty"`
	Pid  int            `json:"pid"`
	Tid  int            `json:"tid"`
	ID   int            `json:"id,omitempty"`
	Bp   string         `json:"bp,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

const (
	workersPid = 1
	linksPid   = 2
	countsPid  = 3
)

// maxArrows bounds the dependencies that are drawn: more hide what they show.
const maxArrows = 20000

// WriteChrome writes r as JSON for Perfetto (ui.perfetto.dev) and chrome://tracing.
func WriteChrome(w io.Writer, r *Run) error {
	b := bufio.NewWriter(w)
	c := &chrome{w: b}
	io.WriteString(b, `{"displayTimeUnit":"ms","traceEvents":[`)
	c.threads(r)
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

// LinkName is what a link is called.
func (r *Run) LinkName(l [2]int) string {
	return r.node(l[0]) + " to " + r.node(l[1])
}

func (r *Run) node(n int) string {
	if n < len(r.Graph.Nodes) {
		return r.Graph.Nodes[n].Name
	}
	return fmt.Sprintf("memory %d", n)
}

const micro = 1e6

func (c *chrome) tasks(r *Run) {
	arrows := 0
	for i := range r.Tasks {
		t, x := &r.Graph.Tasks[i], &r.Tasks[i]
		if x.Started == 0 || x.Worker < 0 || t.Light() {
			continue
		}
		d := max(0, r.ended(x)-x.Started) * micro
		args := map[string]any{"task": t.ID, "operands": r.Graph.OperandText(t), "at": r.Graph.SiteOf(t).String(),
			"waited for data, tasks and gates (µs)": ms(x.Submitted, x.Ready), "queued (µs)": ms(x.Ready, x.Popped),
			"fetching (µs)": ms(x.Popped, x.Data), "starting (µs)": ms(x.Data, x.Started)}
		if t.Vars != "" {
			args["variables"] = t.Vars
		}
		if t.Call != "" {
			args["call"] = t.Call
		}
		if x.Err != "" {
			args["error"] = x.Err
		}
		name := t.Codelet
		if t.Name != "" {
			name = t.Name
		}
		c.add(chromeEvent{Name: name, Cat: "task", Ph: "X", Ts: x.Started * micro, Dur: &d, Pid: workersPid, Tid: x.Worker + 1, Args: args})
		for _, k := range t.Deps {
			from := &r.Tasks[k]
			if from.Worker < 0 || from.Started == 0 || r.Graph.Tasks[k].Light() || arrows >= maxArrows {
				continue
			}
			arrows++
			c.add(chromeEvent{Name: "dependency", Cat: "dependency", Ph: "s", ID: arrows, Ts: from.Ended * micro, Pid: workersPid, Tid: from.Worker + 1})
			c.add(chromeEvent{Name: "dependency", Cat: "dependency", Ph: "f", Bp: "e", ID: arrows, Ts: x.Started * micro, Pid: workersPid, Tid: x.Worker + 1})
		}
	}
}

// ms is a duration in µs, as far as both ends are known.
func ms(from, to float64) float64 {
	if from == 0 || to < from {
		return 0
	}
	return (to - from) * micro
}

func (c *chrome) copies(r *Run) {
	links := r.Links()
	for _, x := range r.Copies {
		d := max(0, x.End-x.Begin) * micro
		c.add(chromeEvent{Name: x.Data, Cat: "copy", Ph: "X", Ts: x.Begin * micro, Dur: &d, Pid: linksPid, Tid: slices.Index(links, [2]int{x.From, x.To}) + 1,
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
		c.add(chromeEvent{Name: "tasks", Ph: "C", Ts: x.at * micro, Pid: countsPid, Args: map[string]any{"ready": ready, "running": running}})
	}
	for _, m := range r.Memory {
		c.add(chromeEvent{Name: "memory " + r.node(m.Node), Ph: "C", Ts: m.Time * micro, Pid: countsPid, Args: map[string]any{"bytes": m.Bytes}})
	}
}
