package cli

// The table of --profile.

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/starpush/starpush/engine"
)

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
