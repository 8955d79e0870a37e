package cli

// Results of a run as text: --stats, --profile and --advise.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// Counts of a run: for --stats, for the progress line, for the summary.

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

// sample turns counts into a progress line's content: codelets with most tasks first.
// Tasks that had ended when base was taken do not count.
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
	if o.progress == "always" && !c.frames { // progress without a terminal: soon, and once a second
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

// fullness describes how full memories are, except those less than a hundredth full.
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

// jsonNode is a memory node. Evictions made room for tasks; bytes that arrived beyond
// those needed had been evicted before.
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
		if mean := c.Time / time.Duration(max(c.Tasks, 1)); c.Tasks >= 64 && mean < grain.ShortTask {
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

// The tables of --stats and :stats, as wide as the terminal allows.

// statsText returns the table of --stats and of :stats, at most width columns wide (0:
// any width).
func statsText(s engine.Stats, width int) string {
	var b strings.Builder
	head := fmt.Sprintf("%s: %d done", counted(s.Submitted, "inserted task"), s.Done) // without those that the engine adds, such as (reduce)
	for _, n := range []struct {
		count int64
		what  string
	}{{s.Failed, "failed"}, {s.Cancelled, "cancelled"}, {s.Submitted - ended(s), "not finished"}} {
		if n.count > 0 {
			head += fmt.Sprintf(", %d %s", n.count, n.what)
		}
	}
	b.WriteString(repl.Fold(fmt.Sprintf("%s; at most %s of data in main memory\n", head, bytesText(s.PeakBytes)), width))
	times := func(what string, more ...string) *statsTable {
		return &statsTable{rows: [][]string{append([]string{what, "tasks", "total", "mean"}, more...)}, drop: []int{5, 4, 2, 3}}
	}
	row := func(t *statsTable, name string, tasks int64, took time.Duration, more ...string) {
		mean := ""
		if tasks > 0 {
			mean = durationText(took / time.Duration(tasks))
		}
		t.row(append([]string{name, fmt.Sprint(tasks), durationText(took), mean}, more...)...)
	}
	var tables []*statsTable
	if len(s.Codelets) > 0 {
		flops, bytes := 0.0, 0.0
		for _, c := range s.Codelets {
			flops, bytes = flops+c.Flops, bytes+c.Bytes
		}
		rates := func(ofFlops, ofBytes string) (cells []string) { // those that are known of any
			if flops > 0 {
				cells = append(cells, ofFlops)
			}
			if bytes > 0 {
				cells = append(cells, ofBytes)
			}
			return cells
		}
		t := times("codelet", rates("GFLOP/s", "GB/s")...)
		for _, c := range s.Codelets {
			row(t, c.Name, c.Tasks, c.Time, rates(billions(c.Flops, c.Time), billions(c.Bytes, c.Time))...)
		}
		tables = append(tables, t)
	}
	if len(s.Workers) > 0 {
		t := times("worker")
		for _, w := range append(s.Workers[:len(s.Workers):len(s.Workers)], kindCounts(s.Workers)...) {
			row(t, w.Name, w.Tasks, w.Time)
		}
		tables = append(tables, t)
	}
	for _, t := range tables {
		t.write(&b, width)
	}
	if len(s.Nodes) > 1 {
		b.WriteString(memoryText(s, width))
	}
	return b.String()
}

// billions returns the rate of n operations or bytes in that time, in 10^9 each second;
// "–" if it is not known.
func billions(n float64, took time.Duration) string {
	switch rate := n / took.Seconds() / 1e9; {
	case !(n > 0) || took <= 0:
		return "–"
	case rate < 0.0005:
		return "0"
	case rate < 0.9995:
		return fmt.Sprintf("%.3f", rate)
	default:
		return digits(rate)
	}
}

// memoryText is the tables of memories and of the links between them.
func memoryText(s engine.Stats, width int) string {
	var b strings.Builder
	memories := &statsTable{rows: [][]string{{"memory", "peak", "evictions", "evicted", "arrived", "needed"}}, drop: []int{2, 5, 3, 4}}
	for _, n := range s.Nodes {
		needed := bytesText(n.Needed)
		if noTasks(n.Name) {
			needed = "–"
		}
		memories.row(n.Name, bytesText(n.PeakBytes), fmt.Sprint(n.Evictions), bytesText(n.Evicted), bytesText(n.Arrived), needed)
	}
	memories.write(&b, width)
	notes := memoryNotes
	if width > 0 && width < 90 {
		notes = "  " + strings.Join(strings.Fields(notes), " ") + "\n"
	}
	b.WriteString(repl.Fold(notes, width))
	if len(s.Buses) > 0 {
		links := &statsTable{rows: [][]string{{"link", "copies", "total", "size"}}, drop: []int{1, 2}}
		for _, l := range s.Buses {
			links.row(linkText(l), fmt.Sprint(l.Copies), durationText(l.Time), bytesText(l.Bytes))
		}
		links.write(&b, width)
	}
	for _, n := range s.Nodes {
		if n.Copying > 0 {
			b.WriteString(repl.Fold(fmt.Sprintf("  %s: copies under way for %s, kernels at the same time for %.1f %% of that\n",
				n.Name, durationText(n.Copying), 100*n.Hidden.Seconds()/n.Copying.Seconds()), width))
		}
	}
	return b.String()
}

// linkText names a link; copies within a memory have none to go over.
func linkText(l engine.BusProfile) string {
	if l.From == l.To {
		return "within " + l.From
	}
	return l.From + " to " + l.To
}

// memoryNotes explain the columns of the memories, in the table of --stats.
const memoryNotes = `  (peak: the most that data took there at one time; evicted: taken away to make room for
   tasks; arrived: copied there; needed: what would have come had there been room for
   everything; "starpush help stats" says more)
`

// statsTable is a table: names, and figures of them.
type statsTable struct {
	rows [][]string // the first one is the titles
	drop []int      // the columns that go where there is no room, in this order
}

func (t *statsTable) row(cells ...string) { t.rows = append(t.rows, cells) }

// roomyColumns are the widths where there is room: the same in all tables.
var roomyColumns = []int{24, 10, 12, 14, 12, 12}

// leastName is how much of a name is left before columns go.
const leastName = 12

// write writes t, at most width columns wide: with less space between the columns, with
// shorter names, then without some columns.
func (t *statsTable) write(b *strings.Builder, width int) {
	var shown []int
	roomy := 1
	for i := range t.rows[0] {
		shown = append(shown, i)
		roomy += roomyColumns[i] + 1
	}
	if width <= 0 || roomy <= width {
		t.lines(b, shown, roomyColumns, " ")
		return
	}
	wide := make([]int, len(shown))
	for _, r := range t.rows {
		for i, cell := range r {
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	}
	for _, without := range append([]int{-1}, t.drop...) { // some tables lack some of them
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == without })
		figures := 2 // columns beside the name
		for _, i := range shown[1:] {
			figures += 2 + wide[i]
		}
		least := min(wide[0], leastName)
		if figures+least <= width {
			wide[0] = min(wide[0], width-figures)
			break
		}
	}
	t.lines(b, shown, wide, "  ")
}

func (t *statsTable) lines(b *strings.Builder, shown, wide []int, gap string) {
	for _, r := range t.rows {
		name := []rune(r[0])
		if len(name) > wide[0] && gap != " " {
			name = append(name[:wide[0]-1:wide[0]-1], '…')
		}
		fmt.Fprintf(b, "  %-*s", wide[0], string(name))
		for _, i := range shown[1:] {
			fmt.Fprintf(b, "%s%*s", gap, wide[i], r[i])
		}
		b.WriteString("\n")
	}
}

// The table of --profile.

type jsonProfile struct {
	Seconds  float64              `json:"seconds"`
	Done     int64                `json:"done"`
	Failed   int64                `json:"failed"`
	Canceled int64                `json:"cancelled"`
	Codelets []jsonCodeletProfile `json:"codelets"`
	Workers  []jsonWorkerProfile  `json:"workers"`
	Buses    []jsonBusProfile     `json:"buses"`
}

// Seconds but for tasks and failed; total to max are of kernels, the rest are sums.
type jsonCodeletProfile struct {
	Name      string  `json:"name"`
	Tasks     int64   `json:"tasks"`
	Failed    int64   `json:"failed"`
	Total     float64 `json:"total"`
	Mean      float64 `json:"mean"`
	StdDev    float64 `json:"stddev"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Waiting   float64 `json:"waiting"`
	Queued    float64 `json:"queued"`
	Fetching  float64 `json:"fetching"`
	Starting  float64 `json:"starting"`
	Releasing float64 `json:"releasing"`
	Flops     float64 `json:"flops"` // sum, as far as known
	Bytes     float64 `json:"bytes"` // sum that kernels read and wrote of operands
}

type jsonWorkerProfile struct {
	Name     string  `json:"name"`
	Tasks    int64   `json:"tasks"`
	Busy     float64 `json:"busy"`
	Sleeping float64 `json:"sleeping"`
	Overhead float64 `json:"overhead"`
}

type jsonBusProfile struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Copies int64   `json:"copies"`
	Bytes  int64   `json:"bytes"`
	Time   float64 `json:"seconds"` // of the copies, one by one
}

func jsonBus(b engine.BusProfile) jsonBusProfile {
	return jsonBusProfile{b.From, b.To, b.Copies, b.Bytes, b.Time.Seconds()}
}

// showProfile writes the tables of --profile to standard error, or keeps them for
// the summary line.
func (a *app) showProfile(p engine.Profile) {
	if a.json == nil {
		io.WriteString(a.con.err, profileText(&p))
		return
	}
	j := jsonProfile{Seconds: p.Elapsed.Seconds(), Done: p.Done, Failed: p.Failed, Canceled: p.Cancelled,
		Codelets: []jsonCodeletProfile{}, Workers: []jsonWorkerProfile{}, Buses: []jsonBusProfile{}}
	for _, c := range p.Codelets {
		j.Codelets = append(j.Codelets, jsonCodeletProfile{c.Name, c.Tasks, c.Failed, c.Total.Seconds(), c.Mean.Seconds(), c.StdDev.Seconds(),
			c.Min.Seconds(), c.Max.Seconds(), c.Waiting.Seconds(), c.Queued.Seconds(), c.Fetching.Seconds(), c.Starting.Seconds(), c.Releasing.Seconds(), c.Flops, c.Bytes})
	}
	for _, w := range p.Workers {
		j.Workers = append(j.Workers, jsonWorkerProfile{w.Name, w.Tasks, w.Busy.Seconds(), w.Sleeping.Seconds(), w.Overhead.Seconds()})
	}
	for _, b := range p.Buses {
		j.Buses = append(j.Buses, jsonBus(b))
	}
	a.profile = j
}

// profileText is the tables of --profile: what tasks of each codelet took in
// kernels, and on average before and after them; what workers did; what was
// copied.
func profileText(p *engine.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile of %s: %s done", durationText(p.Elapsed), counted(p.Done, "task"))
	if p.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", p.Failed)
	}
	if p.Cancelled > 0 {
		fmt.Fprintf(&b, ", %d cancelled", p.Cancelled)
	}
	added := int64(0)
	for _, c := range p.Codelets {
		if strings.HasPrefix(c.Name, "(") {
			added += c.Tasks
		}
	}
	if added > 0 {
		fmt.Fprintf(&b, "; %d more than were inserted", added)
	}
	b.WriteString("\n")
	each := func(d time.Duration, n int64) string { return durationText(d / time.Duration(max(n, 1))) }
	rows := [][]string{{"codelet", "tasks", "total", "mean", "stddev", "min", "max", "waiting", "queued", "fetching", "starting", "releasing", "GFLOP/s", "GB/s"}}
	for _, c := range p.Codelets {
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Tasks), durationText(c.Total), durationText(c.Mean), durationText(c.StdDev),
			durationText(c.Min), durationText(c.Max), each(c.Waiting, c.Tasks), each(c.Queued, c.Tasks), each(c.Fetching, c.Tasks),
			each(c.Starting, c.Tasks), each(c.Releasing, c.Tasks), billions(c.Flops, c.Total), billions(c.Bytes, c.Total)})
	}
	writeTable(&b, rows)
	rows = [][]string{{"worker", "tasks", "busy", "", "sleeping", "", "overhead", ""}}
	for _, w := range p.Workers {
		share := func(d time.Duration) string {
			return fmt.Sprintf("%.1f %%", 100*d.Seconds()/max(p.Elapsed.Seconds(), 1e-9))
		}
		rows = append(rows, []string{w.Name, fmt.Sprint(w.Tasks), durationText(w.Busy), share(w.Busy),
			durationText(w.Sleeping), share(w.Sleeping), durationText(w.Overhead), share(w.Overhead)})
	}
	writeTable(&b, rows)
	rows = [][]string{{"copies", "number", "size"}}
	for _, c := range p.Buses {
		rows = append(rows, []string{linkText(c), fmt.Sprint(c.Copies), bytesText(c.Bytes)})
	}
	writeTable(&b, rows)
	return b.String()
}

// writeTable writes rows that have a cell for each column, the first column
// aligned to the left. A table with a head only is left out.
func writeTable(b *strings.Builder, rows [][]string) { alignTable(b, rows, 1) }

// writeTextTable is writeTable with the last column, which holds text, at the left, too.
func writeTextTable(b *strings.Builder, rows [][]string) { alignTable(b, rows, 2) }

// alignTable writes rows with the first column, and of two the last, at the left.
func alignTable(b *strings.Builder, rows [][]string, left int) {
	if len(rows) < 2 {
		return
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for k, cell := range r {
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		line := ""
		for k, cell := range r {
			pad := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(cell))
			if k == 0 || left == 2 && k == len(r)-1 {
				line += "  " + cell + pad
			} else {
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// durationText writes a time with three digits and a unit: "12.3 ms".
func durationText(d time.Duration) string {
	switch {
	case d <= 0:
		return "0"
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%s µs", digits(float64(d)/1e3))
	case d < time.Second:
		return fmt.Sprintf("%s ms", digits(float64(d)/1e6))
	}
	return fmt.Sprintf("%s s", digits(d.Seconds()))
}

// digits writes x, at least 1, with three digits or all those before the point.
func digits(x float64) string {
	switch {
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// --advise: into how many parts data should be split, and which bodies are slow.

// A body is worth a word if its tasks take slowBody together, and slowShare of the time
// of all tasks.
const (
	slowBody  = 10 * time.Millisecond
	slowShare = 0.2
)

// slowBodies names the codelets of the script that much of the time of all tasks goes to
// and with loops that run one round at a time, the one that took most first.
func slowBodies(uses []lang.CodeletUse, st lang.Stats) (all []string) {
	var total time.Duration
	for _, c := range st.Codelets {
		total += c.Time
	}
	codelets := slices.Clone(st.Codelets)
	slices.SortStableFunc(codelets, func(a, b engine.CodeletStat) int { return cmp.Compare(b.Time, a.Time) })
	for _, c := range codelets {
		if c.Time < slowBody || c.Time.Seconds() < slowShare*total.Seconds() {
			continue
		}
		for _, u := range uses {
			if len(u.Slow) == 0 || u.Name[strings.LastIndexByte(u.Name, '.')+1:] != c.Name {
				continue
			}
			text := fmt.Sprintf("%s:%d  codelet %s: %.0f %% of the time of all tasks, and loops of it run one round at a time", u.Span.File, u.Span.Start.Line, u.Name, 100*c.Time.Seconds()/total.Seconds())
			for _, l := range u.Slow {
				text += fmt.Sprintf("\n  line %d: %s", l.Span.Start.Line, l.Why)
			}
			seen := map[string]bool{}
			for _, l := range u.Slow {
				if !seen[l.Help] {
					seen[l.Help] = true
					text += "\n  " + l.Help
				}
			}
			all = append(all, text)
		}
	}
	return all
}

// showAdvice writes what --advise and --profile have to say of the tasks of a run, or
// keeps it for the summary line.
func (a *app) showAdvice(o *runFlags) {
	switch {
	case !o.advise && !o.profile:
	case a.json != nil:
		a.advice = append([]string{}, o.advice...)
	case len(o.advice) > 0:
		fmt.Fprintln(a.con.err, strings.Join(o.advice, "\n"))
	case o.advise:
		fmt.Fprintln(a.con.err, "no insert makes tasks that are too short, or too few for the workers, and no body is slow that could be faster")
	}
}

// adviceField is nil for none asked for, which leaves the field out.
func adviceField(all []string) any {
	if all == nil {
		return nil
	}
	return all
}
