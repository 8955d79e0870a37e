package cli

// Counts of a run: for --stats, for the progress line, for the summary.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starpush/starpush/engine"
)

// A watcher holds the job of a run once there is one. It is safe for concurrent use.
type watcher struct {
	mu struct {
		sync.Mutex
		job *engine.Job
	}
}

func (w *watcher) set(j *engine.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.job = j
}

// stats returns the counts of the job; false when nothing has started.
func (w *watcher) stats() (engine.Stats, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.job == nil {
		return engine.Stats{}, false
	}
	return w.mu.job.Stats(), true
}

// ended is the number of tasks that have ended, one way or another.
func ended(s engine.Stats) int64 { return s.Done + s.Failed + s.Cancelled }

// sample turns counts into a progress line's content: codelets with most tasks
// first. What had ended when base was taken does not count.
func sample(s, base engine.Stats) progressSample {
	p := progressSample{Done: ended(s) - ended(base), Total: s.Submitted - ended(base),
		Running: slices.Compact(slices.Sorted(slices.Values(s.Running)))}
	before := map[string]int64{}
	for _, c := range base.Codelets {
		before[c.Name] += c.Tasks
	}
	for _, c := range s.Codelets {
		n := before[c.Name]
		if c.Submitted > n {
			p.Codelets = append(p.Codelets, progressCount{c.Name, c.Tasks - n, c.Submitted - n})
		}
	}
	slices.SortStableFunc(p.Codelets, func(a, b progressCount) int { return cmp.Compare(b.Total, a.Total) })
	return p
}

// showProgress starts the progress display that the flags ask for; nil for none.
func (a *app) showProgress(o *runFlags, rt *engine.Runtime, stats func() (engine.Stats, bool)) *progress {
	if o.progress == "never" || o.progress == "auto" && a.flags.quiet {
		return nil
	}
	terminal := a.con.err.tty && a.env["TERM"] != "dumb"
	base, _ := stats()
	began := time.Now()
	c := progressConfig{
		con: a.con, json: a.json, frames: a.json == nil && terminal,
		width: func() int { return a.con.err.width(a.env) },
		sample: func() (progressSample, bool) {
			s, ok := stats()
			p := sample(s, base)
			p.Rate, p.Memory = flops(s, base)/max(time.Since(began).Seconds(), 1e-9), fullness(rt.Nodes())
			return p, ok && p.Total > 0
		},
	}
	if o.progress == "always" && !c.frames { // somebody wants to see it: soon, and once a second
		c.delay, c.frame, c.line = progressDelay, progressFrame, progressDelay
	}
	return startProgress(c)
}

// flops is the work of the tasks that ended since base was taken.
func flops(s, base engine.Stats) (n float64) {
	for _, c := range s.Codelets {
		n += c.Flops
	}
	for _, c := range base.Codelets {
		n -= c.Flops
	}
	return max(0, n)
}

// fullness says how full memories are, those of which at least a hundredth is in use.
func fullness(nodes []engine.NodeInfo) (out []string) {
	for _, n := range nodes {
		if n.Capacity > 0 && 100*n.Allocated >= n.Capacity {
			out = append(out, fmt.Sprintf("%s %d%%", n.Name, 100*n.Allocated/n.Capacity))
		}
	}
	return out
}

type jsonStats struct {
	Submitted int64            `json:"submitted"`
	Done      int64            `json:"done"`
	Failed    int64            `json:"failed"`
	Cancelled int64            `json:"cancelled"`
	PeakBytes int64            `json:"peak_bytes"`
	Codelets  []jsonCount      `json:"codelets"`
	Workers   []jsonCount      `json:"workers"`
	Nodes     []jsonNode       `json:"nodes"`
	Buses     []jsonBusProfile `json:"buses"`
}

// jsonNode is a memory node: what was evicted was in the way of tasks. What arrived
// beyond what was needed had been evicted before.
type jsonNode struct {
	Name      string  `json:"name"`
	PeakBytes int64   `json:"peak_bytes"`
	Evictions int64   `json:"evictions"`
	Evicted   int64   `json:"evicted_bytes"`
	Arrived   int64   `json:"arrived_bytes"`
	Needed    int64   `json:"needed_bytes"`
	Copying   float64 `json:"copying_seconds"`
	Hidden    float64 `json:"hidden_seconds"` // of Copying: while kernels ran
}

type jsonCount struct {
	Name    string  `json:"name"`
	Tasks   int64   `json:"tasks"`
	Seconds float64 `json:"seconds"`
	Flops   float64 `json:"flops,omitempty"` // of codelets, as far as known
	Bytes   float64 `json:"bytes,omitempty"` // that kernels read and wrote of operands
}

// showStats writes the table of --stats to standard error, or keeps it for the
// summary line.
func (a *app) showStats(s engine.Stats) {
	if a.json == nil {
		io.WriteString(a.con.err, statsText(s, a.con.err.width(a.env))+shortTasks(s))
		return
	}
	j := jsonStats{Submitted: s.Submitted, Done: s.Done, Failed: s.Failed, Cancelled: s.Cancelled,
		PeakBytes: s.PeakBytes, Codelets: []jsonCount{}, Workers: []jsonCount{},
		Nodes: []jsonNode{}, Buses: []jsonBusProfile{}}
	for _, n := range s.Nodes {
		j.Nodes = append(j.Nodes, jsonNode{n.Name, n.PeakBytes, n.Evictions, n.Evicted, n.Arrived, n.Needed, n.Copying.Seconds(), n.Hidden.Seconds()})
	}
	for _, b := range s.Buses {
		j.Buses = append(j.Buses, jsonBus(b))
	}
	for _, c := range s.Codelets {
		j.Codelets = append(j.Codelets, jsonCount{c.Name, c.Tasks, c.Time.Seconds(), c.Flops, c.Bytes})
	}
	for _, w := range s.Workers {
		j.Workers = append(j.Workers, jsonCount{Name: w.Name, Tasks: w.Tasks, Seconds: w.Time.Seconds()})
	}
	a.stats = j
}

// sinceStats takes away what was counted before. Peaks stay: they belong to the whole.
func sinceStats(s, base engine.Stats) engine.Stats {
	s.Submitted -= ended(base) // what had not ended then counts
	s.Done, s.Failed, s.Cancelled = s.Done-base.Done, s.Failed-base.Failed, s.Cancelled-base.Cancelled
	codelets := map[string]engine.CodeletStat{}
	for _, c := range base.Codelets {
		codelets[c.Name] = c
	}
	s.Codelets = slices.Clone(s.Codelets)
	for i := range s.Codelets {
		c, b := &s.Codelets[i], codelets[s.Codelets[i].Name]
		c.Submitted, c.Tasks, c.Time, c.Flops = c.Submitted-b.Submitted, c.Tasks-b.Tasks, c.Time-b.Time, c.Flops-b.Flops
		c.Bytes -= b.Bytes
	}
	s.Codelets = slices.DeleteFunc(s.Codelets, func(c engine.CodeletStat) bool { return c.Tasks == 0 && c.Submitted == 0 })
	s.Workers = slices.Clone(s.Workers)
	for i := range s.Workers {
		if i < len(base.Workers) {
			s.Workers[i].Tasks -= base.Workers[i].Tasks
			s.Workers[i].Time -= base.Workers[i].Time
		}
	}
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		if i < len(base.Nodes) {
			n, b := &s.Nodes[i], base.Nodes[i]
			n.Evictions, n.Evicted, n.Arrived, n.Needed = n.Evictions-b.Evictions, n.Evicted-b.Evicted, n.Arrived-b.Arrived, n.Needed-b.Needed
			n.Copying, n.Hidden = n.Copying-b.Copying, n.Hidden-b.Hidden
		}
	}
	links := map[[2]string]engine.BusProfile{}
	for _, l := range base.Buses {
		links[[2]string{l.From, l.To}] = l
	}
	s.Buses = slices.Clone(s.Buses)
	for i := range s.Buses {
		l, b := &s.Buses[i], links[[2]string{s.Buses[i].From, s.Buses[i].To}]
		l.Copies, l.Bytes, l.Time = l.Copies-b.Copies, l.Bytes-b.Bytes, l.Time-b.Time
	}
	return s
}

// shortTasks says which codelets have tasks that cost more than they do.
func shortTasks(s engine.Stats) string {
	var b strings.Builder
	for _, c := range s.Codelets {
		if mean := c.Time / time.Duration(max(c.Tasks, 1)); c.Tasks >= 64 && mean < 20*time.Microsecond {
			fmt.Fprintf(&b, "%s: %d tasks of %s each are too short; --profile names the insert and a better filter\n", c.Name, c.Tasks, durationText(mean))
		}
	}
	return b.String()
}

// noTasks reports whether a memory is one that tasks never use: that of a disk.
func noTasks(node string) bool {
	return node == "disk" || strings.HasPrefix(node, "disk ")
}

// kindCounts adds up the workers of each kind, "all cpu", "all sim"; nothing where
// there is one kind only.
func kindCounts(workers []engine.WorkerStat) (all []engine.WorkerStat) {
	for _, w := range workers {
		kind, _, _ := strings.Cut(w.Name, " ")
		k := slices.IndexFunc(all, func(s engine.WorkerStat) bool { return s.Name == "all "+kind })
		if k < 0 {
			k = len(all)
			all = append(all, engine.WorkerStat{Name: "all " + kind})
		}
		all[k].Tasks += w.Tasks
		all[k].Time += w.Time
	}
	if len(all) == 1 {
		return nil
	}
	return all
}

// bytesText writes a size with a binary unit: "1.5 MiB".
func bytesText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	x, unit := float64(n)/1024, 0
	for x >= 1024 && unit < 3 {
		x, unit = x/1024, unit+1
	}
	return fmt.Sprintf("%.4g %s", x, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
