package trace

// Why a task ran when and where it did, and what tasks wait for that have not run.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
)

// Explain says what is known of a task: what it waited for and how long, where it ran,
// and why there. rt runs it; duration writes times. The error says that there is no
// such task, or that it was too long ago.
func (r *Recent) Explain(rt *engine.Runtime, id int64, duration func(time.Duration) string) (string, error) {
	m := machineOf(rt)
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.mu.byID[id]
	if t == nil || id <= 0 {
		return "", r.noTaskLocked(id)
	}
	var b strings.Builder
	row := func(head, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", head, fmt.Sprintf(format, args...))
	}
	b.WriteString(t.label() + t.vars())
	if s := t.site(); s != "" {
		b.WriteString(", inserted at " + s)
	}
	b.WriteString("\n")
	if len(t.ops) > 0 {
		row("uses", "%s", r.operandsLocked(t))
	}
	last, operand := r.lastLocked(t)
	ready := t.submitted
	if last != nil && last.ended.After(ready) {
		ready = last.ended
	}
	switch t.state {
	case engine.TaskSubmitted:
		row("state", "has not started; `:explain blocked` shows what waits")
		for i := len(r.mu.all) - 1; i >= 0; i-- {
			x := r.mu.all[i]
			if op, ok := t.waitsFor(x); ok && x.id != t.id && !x.over() && x.submitted.Before(t.submitted) {
				what := "its end"
				if op >= 0 {
					what = r.nameLocked(t.ops[op].Handle)
				}
				row("waits", "for %s, which %s has%s", what, x.label(), at(x))
				break
			}
		}
		return b.String(), nil
	case engine.TaskStarted:
		row("state", "runs on %s since %s", m.workersOf(t), duration(time.Since(t.started)))
	case engine.TaskCancelled:
		row("state", "cancelled: %v", t.err)
	case engine.TaskFailed:
		row("state", "failed on %s: %v", m.workersOf(t), t.err)
	default:
		row("state", "done on %s in %s", m.workersOf(t), duration(t.ended.Sub(t.started)))
	}
	switch {
	case last == nil:
		row("waited", "for no other task")
	case !last.ended.After(t.submitted):
		row("waited", "for nothing: all that it needs was there")
	default:
		what := ""
		if operand >= 0 {
			what = ", which used " + r.nameLocked(t.ops[operand].Handle)
		}
		row("waited", "%s for %s%s%s", duration(last.ended.Sub(t.submitted)), last.label(), what, at(last))
	}
	if t.started.IsZero() { // cancelled
		return b.String(), nil
	}
	row("queued", "%s, from then until its kernel began: for a worker, a gate, locks, memory, copies", duration(max(0, t.started.Sub(ready))))
	r.whereLocked(&b, m, t, last, duration)
	return b.String(), nil
}

func at(t *happened) string {
	if s := t.site(); s != "" {
		return " (" + s + ")"
	}
	return ""
}

func (r *Recent) noTaskLocked(id int64) error {
	if n := len(r.mu.all); n > 0 {
		newest, oldest := int64(0), int64(math.MaxInt64)
		for _, t := range r.mu.all {
			if t.id > 0 {
				newest, oldest = max(newest, t.id), min(oldest, t.id)
			}
		}
		if newest > 0 && id > oldest && (r.mu.rush.missed || r.mu.rush.deaf) {
			return fmt.Errorf("nothing is known of task %d: tasks came too fast to remember each; `:set explain all` makes the session do that", id)
		}
		if newest > 0 {
			return fmt.Errorf("nothing is known of task %d: those from %d to %d are remembered", id, oldest, newest)
		}
	}
	return fmt.Errorf("nothing is known of task %d: no task was inserted yet", id)
}

// lastLocked is the task that ended last of those that t waited for, and by which
// operand.
func (r *Recent) lastLocked(t *happened) (last *happened, operand int) {
	for _, x := range r.mu.all {
		if x == t {
			break
		}
		if !x.over() || last != nil && !x.ended.After(last.ended) {
			continue
		}
		if i, ok := t.waitsFor(x); ok {
			last, operand = x, i
		}
	}
	return last, operand
}

// machine is what answers need of a runtime, asked for before our lock is taken:
// events come with locks of the runtime.
type machine struct {
	policy  string
	workers []string
	nodes   []engine.NodeInfo
}

func machineOf(rt *engine.Runtime) *machine {
	m := &machine{policy: rt.Policy(), nodes: rt.Nodes()}
	for i := range rt.Workers() {
		x, _ := rt.Worker(i) // it is there
		m.workers = append(m.workers, x.Name)
	}
	return m
}

func (m *machine) worker(w int) string {
	if w < 0 || w >= len(m.workers) {
		return "no worker"
	}
	return m.workers[w]
}

// workersOf names the workers that ran t.
func (m *machine) workersOf(t *happened) string {
	if t.gang == nil {
		return m.worker(t.worker)
	}
	return m.list(t.gang)
}

// list names several workers.
func (m *machine) list(workers []int) string {
	var names []string
	for _, w := range workers {
		names = append(names, m.worker(w))
	}
	return strings.Join(names, ", ")
}

// whereLocked says why t ran where it did.
func (r *Recent) whereLocked(b *strings.Builder, m *machine, t, last *happened, duration func(time.Duration) string) {
	seconds := func(s float64) string {
		if s <= 0 {
			return "0"
		}
		return duration(time.Duration(s * float64(time.Second)))
	}
	policy, ran := m.policy, m.worker(t.worker)
	if c := t.choice; c != nil {
		why := "was expected to end it first"
		switch {
		case len(c.Terms) == 1 && c.Workers == nil:
			why = "is the only worker that may run it"
		case c.Learning && c.Workers != nil:
			why = "has to be measured: nothing is known yet of the task on that many workers"
		case c.Learning:
			why = "has to be measured: nothing is known there yet"
		case policy != "dm":
			why = "costs least"
		}
		chosen := m.worker(c.Worker)
		if c.Workers != nil {
			chosen = m.list(c.Workers)
		}
		fmt.Fprintf(b, "  %-9s %s by %s: it %s\n", "chosen", chosen, policy, why)
		switch {
		case c.Workers != nil && t.gang != nil && !sameWorkers(c.Workers, t.gang):
			fmt.Fprintf(b, "  %-9s by %s: some had nothing to do, while others were busy\n", "taken", m.list(t.gang))
		case c.Workers == nil && c.Worker != t.worker:
			fmt.Fprintf(b, "  %-9s by %s, which had nothing to do\n", "taken", ran)
		}
		rows := [][]string{{"", "worker", "workers", "free in", "kernel", "transfer", "energy", "cost", "model"}}
		for i, x := range c.Terms {
			mark, kernel, energy, size := "", "not known", "", ""
			if x.Size > 0 {
				size = strconv.Itoa(x.Size)
			}
			if x.Worker == c.Worker && (c.Workers == nil || x.Size == len(c.Workers)) {
				mark = "*"
			}
			if x.Known {
				kernel = seconds(x.Length)
			}
			if x.Energy > 0 {
				energy = fmt.Sprintf("%.3g J", x.Energy)
			}
			rows = append(rows, []string{mark, m.worker(x.Worker), size, seconds(x.Free), kernel, seconds(x.Transfer), energy, seconds(x.Cost), modelText(c.Models[i])})
		}
		b.WriteString(columns(rows))
		return
	}
	switch {
	case policy != "lws" && policy != "ws":
		fmt.Fprintf(b, "  %-9s %s by %s, which weighs no workers against each other\n", "chosen", ran, policy)
	case last == nil || !last.ended.After(t.submitted) || last.worker < 0 || last.internal == "acquire":
		fmt.Fprintf(b, "  %-9s %s by %s: it took it from what the script had inserted\n", "chosen", ran, policy)
	case last.worker == t.worker:
		fmt.Fprintf(b, "  %-9s %s by %s: it released the task, and kept it\n", "chosen", ran, policy)
	default:
		fmt.Fprintf(b, "  %-9s %s by %s: stolen from %s, which released it\n", "chosen", ran, policy, m.worker(last.worker))
	}
}

// sameWorkers reports whether a and b hold the same workers, in any order.
func sameWorkers(a, b []int) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// modelText says what an estimate is made of.
func modelText(e perf.Estimate) string {
	samples := fmt.Sprintf(", %d samples", e.Samples)
	if e.Samples == 1 {
		samples = ", 1 sample"
	}
	of := ""
	if e.Variant != "" {
		of = " of " + e.Variant
	}
	switch e.Source {
	case perf.UserFunction:
		return "function"
	case perf.Measured:
		return "history" + of + samples
	case perf.Curve:
		return "curve" + of + samples
	case perf.Extrapolated:
		return "curve" + of + ", extrapolated" + samples
	}
	return "none"
}

// columns aligns rows, indented.
func columns(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for i, row := range rows {
		for k, cell := range row {
			if i > 0 || len(rows) == 1 { // the head alone makes no column
				width[k] = max(width[k], len([]rune(cell)))
			}
		}
	}
	for k, cell := range rows[0] {
		if width[k] > 0 {
			width[k] = max(width[k], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := "           "
		for k, cell := range row {
			if width[k] == 0 {
				continue // not known for any worker
			}
			line += cell + strings.Repeat(" ", width[k]-len([]rune(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// waiting is a line of a chain: tasks of one insert that wait for the same.
type waiting struct {
	key   string
	tasks []*happened
	why   string
	below []*waiting
}

// Blocked shows what waits for what, as chains of lines: what does not wait comes
// first, and below each line what waits for it. "" when no task is left.
func (r *Recent) Blocked(rt *engine.Runtime) string {
	var stuck []engine.StuckTask
	m := machineOf(rt)
	r.mu.Lock()
	job := r.mu.job
	r.mu.Unlock()
	if job != nil {
		stuck = job.Blocked() // not below our lock, which events take
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	direct := map[int64]engine.StuckTask{}
	for _, s := range stuck {
		direct[s.ID] = s
	}
	var roots []*waiting
	line := map[*happened]*waiting{}
	running := 0
	for _, t := range r.mu.all {
		if t.state == engine.TaskStarted && t.internal != "acquire" {
			running++
		}
	}
	left := 0
	var before []*happened // that are not over
	for _, t := range r.mu.all {
		if t.over() || t.internal != "" && t.internal != "acquire" && t.internal != "reduce" {
			continue
		}
		if t.internal == "" {
			left++
		}
		if len(before) >= 4096 { // a chain of more lines says no more
			continue
		}
		var parent *waiting
		why, root := "", ""
		for k := len(before) - 1; k >= 0 && t.state == engine.TaskSubmitted; k-- {
			x := before[k]
			if op, ok := t.waitsFor(x); ok {
				parent = line[x]
				if op >= 0 {
					why = "waits for " + r.nameLocked(t.ops[op].Handle)
				} else {
					why = "waits for it to end"
				}
				break
			}
		}
		s, stuckHere := direct[t.id]
		switch {
		case t.internal == "acquire" && t.state == engine.TaskStarted:
			root = fmt.Sprintf("the script holds %s as %v; `release` lets others go on", r.nameLocked(t.ops[0].Handle), t.ops[0].Mode)
		case t.state == engine.TaskStarted:
			root = "runs on " + m.worker(t.worker)
		case parent != nil && stuckHere && s.Gate != nil:
			why += ", and for a gate that is closed"
		case parent != nil:
		case stuckHere && s.Gate != nil:
			root = "waits for a gate that is closed; `open` lets it go on"
		case stuckHere && s.Place > 0:
			root = fmt.Sprintf("waits for the task at place %d of %s, which was not inserted", s.Place, m.worker(s.Worker))
		case stuckHere && s.Held != nil:
			root = "waits for " + r.nameLocked(s.Held) + ", which the script holds"
		case stuckHere:
			root = "waits for what only the program can bring about"
		default:
			root = m.ready(running)
		}
		if parent != nil && !stuckHere && t.id > 0 && parent.tasks[0].id > 0 && parent.tasks[0].site() == t.site() && parent.why == why {
			parent.tasks = append(parent.tasks, t) // one behind the other
			line[t] = parent
			before = append(before, t)
			continue
		}
		key := fmt.Sprintf("%s|%s|%s|%p", t.site(), t.codelet+t.internal, why+root, parent)
		list := &roots
		if parent != nil {
			list = &parent.below
		}
		k := slices.IndexFunc(*list, func(w *waiting) bool { return w.key == key })
		if k < 0 {
			k = len(*list)
			*list = append(*list, &waiting{key: key, why: cmp.Or(why, root)})
		}
		w := (*list)[k]
		w.tasks = append(w.tasks, t)
		line[t] = w
		before = append(before, t)
	}
	var b strings.Builder
	if len(roots) == 0 {
		return ""
	}
	switch left {
	case 1:
		b.WriteString("1 task has not ended\n")
	default:
		fmt.Fprintf(&b, "%d tasks have not ended\n", left)
	}
	var rows [][]string
	var write func(list []*waiting, depth int)
	write = func(list []*waiting, depth int) {
		for _, w := range list {
			indent := strings.Repeat("  ", min(depth, 12))
			if depth > 0 {
				indent += "└ "
			}
			rows = append(rows, []string{indent + cmp.Or(w.tasks[0].site(), "the prompt"), w.name(), w.why})
			write(w.below, depth+1)
		}
	}
	write(roots, 0)
	const most = 60
	cut := len(rows) - most
	if cut > 0 {
		rows = rows[:most]
	}
	b.WriteString(indented(rows))
	if cut > 0 {
		fmt.Fprintf(&b, "  and %d more lines\n", cut)
	}
	return b.String()
}

// name is the text on the line of w: "scal, 4 tasks from 3".
func (w *waiting) name() string {
	t := w.tasks[0]
	switch {
	case t.internal == "acquire":
		return "acquire"
	case t.internal != "":
		return "(" + t.internal + ")"
	case len(w.tasks) == 1:
		return fmt.Sprintf("%s, task %d", t.codelet, t.id)
	}
	return fmt.Sprintf("%s, %d tasks from %d", t.codelet, len(w.tasks), t.id)
}

// ready says why a task that waits for nothing has not started.
func (m *machine) ready(running int) string {
	if running >= len(m.workers) {
		return "is ready; every worker is busy"
	}
	for _, n := range m.nodes {
		if n.Capacity > 0 && n.Allocated > n.Capacity-n.Capacity/8 {
			return fmt.Sprintf("is ready; its data is on its way, or waits for room: %s has %s of %s in use", n.Name, accel.Bytes(n.Allocated), accel.Bytes(n.Capacity))
		}
	}
	return "is ready, and about to start; its data may be on its way"
}

// indented aligns rows.
func indented(rows [][]string) string {
	text := columns(rows)
	return strings.ReplaceAll("\n"+text, "\n           ", "\n  ")[1:]
}
