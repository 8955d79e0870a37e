package cli

// The tables of --stats and :stats, as wide as the terminal allows.

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
)

// statsText is the table of --stats and of :stats, for so many columns (0: any number).
func statsText(s engine.Stats, width int) string {
	var b strings.Builder
	head := fmt.Sprintf("%s: %d done", counted(s.Submitted, "task"), s.Done)
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
		return &statsTable{rows: [][]string{append([]string{what, "tasks", "seconds", "mean"}, more...)}, drop: []int{5, 4, 2, 3}}
	}
	row := func(t *statsTable, name string, tasks int64, took time.Duration, more ...string) {
		mean := ""
		if tasks > 0 {
			mean = fmt.Sprintf("%.4g ms", took.Seconds()*1e3/float64(tasks))
		}
		t.row(append([]string{name, fmt.Sprint(tasks), fmt.Sprintf("%.6f", took.Seconds()), mean}, more...)...)
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

// billions writes so many operations or bytes in that time, in 10^9 each second; "–": not
// known.
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
		links := &statsTable{rows: [][]string{{"link", "copies", "seconds", "size"}}, drop: []int{1, 2}}
		for _, l := range s.Buses {
			links.row(linkText(l), fmt.Sprint(l.Copies), fmt.Sprintf("%.6f", l.Time.Seconds()), bytesText(l.Bytes))
		}
		links.write(&b, width)
	}
	for _, n := range s.Nodes {
		if n.Copying > 0 {
			b.WriteString(repl.Fold(fmt.Sprintf("  %s: copies under way for %.6f seconds, kernels at the same time for %.1f %% of that\n",
				n.Name, n.Copying.Seconds(), 100*n.Hidden.Seconds()/n.Copying.Seconds()), width))
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
		figures := 2 // what stands beside the name
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
