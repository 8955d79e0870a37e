package trace

// The report: one page without network, for people.

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html"
	"io"
	"math"
	"strings"

	"github.com/starpush/starpush/engine/cluster"
)

//go:embed report.html
var page string

// Source is the text of a file whose tasks a run has.
type Source struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// report is what the page is given. Tasks are rows of numbers: a run may have many.
type report struct {
	Title    string       `json:"title"`
	Seconds  float64      `json:"seconds"`
	Workers  []string     `json:"workers"`
	Nodes    []reportNode `json:"nodes"`
	Links    []string     `json:"links"`
	Codelets []string     `json:"codelets"`
	Handles  []string     `json:"handles"`
	Whys     []string     `json:"whys"`
	// worker, codelet, id, started, ended, submitted, ready, popped, data, site,
	// operands (mode, handle, …), dependencies, name, variables, call, error, work, bytes, of a parallel task all its workers (else 0), when its kernel ran again and why (time, error, …);
	// the last two are left out where they say nothing
	Tasks   [][]any      `json:"tasks"`
	Copies  [][]any      `json:"copies"` // link, bytes, data, begin, end
	Memory  [][3]float64 `json:"memory"` // time, node, bytes
	Gaps    [][]any      `json:"gaps"`   // worker, from, to, why, text, next task
	Chain   [][2]int     `json:"chain"`  // task, why
	Path    []int32      `json:"path"`   // the longest path of the graph
	Sites   [][2]int     `json:"sites"`  // source, line
	Sources []Source     `json:"sources"`
	Advice  []string     `json:"advice"`
	Ranks   *reportRanks `json:"ranks,omitempty"` // of a run on several
}

// reportRanks are the figures of ranks.
type reportRanks struct {
	Size  int        `json:"size"`
	Ranks [][]any    `json:"ranks"` // rank, tasks, pruned, messages and bytes sent, and received, share of the time in kernels, seconds
	Pairs [][4]int64 `json:"pairs"` // from, to, messages, bytes; the most bytes first
	Left  int        `json:"left"`  // pairs that are left out
}

// maxPairs bounds the pairs of ranks on the page.
const maxPairs = 200

func newReportRanks(r *cluster.Report) *reportRanks {
	if r == nil {
		return nil
	}
	out := &reportRanks{Size: r.Size, Ranks: [][]any{}, Pairs: [][4]int64{}}
	for i := range r.Ranks {
		x := &r.Ranks[i]
		out.Ranks = append(out.Ranks, []any{x.Rank, x.Tasks, x.Pruned, x.Sent.Messages, x.Sent.Bytes, x.Received.Messages, x.Received.Bytes, known(x.BusyShare()), round(known(x.Seconds))})
	}
	for i, p := range r.Pairs {
		if i == maxPairs {
			out.Left = len(r.Pairs) - maxPairs
			break
		}
		out.Pairs = append(out.Pairs, [4]int64{int64(p.From), int64(p.To), p.Messages, p.Bytes})
	}
	return out
}

type reportNode struct {
	Name     string `json:"name"`
	Capacity int64  `json:"capacity"`
}

// WriteReport writes r as a page of HTML that needs nothing else: times of workers and
// links, why workers idled, the chain of tasks that decided when the run ended,
// codelets, copies, memory, and the sources beside it.
func WriteReport(w io.Writer, r *Run, sources []Source) error {
	d := newReport(r, sources)
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(true) // no text can end the script element
	if err := e.Encode(d); err != nil {
		return err
	}
	head, tail, _ := strings.Cut(page, "{{data}}")
	head = strings.Replace(head, "{{title}}", html.EscapeString(r.Graph.Title), 1)
	for _, s := range []string{head, data.String(), tail} {
		if _, err := io.WriteString(w, s); err != nil {
			return err
		}
	}
	return nil
}

// table numbers strings.
type table struct {
	at  map[string]int
	all []string
}

func (t *table) index(s string) int {
	if t.at == nil {
		t.at = map[string]int{}
	}
	i, ok := t.at[s]
	if !ok {
		i = len(t.all)
		t.at[s] = i
		t.all = append(t.all, s)
	}
	return i
}

func newReport(r *Run, sources []Source) *report {
	g := r.Graph
	// lists without anything, since the page goes over them all: a nil one would be null
	d := &report{Title: g.Title, Seconds: r.Seconds, Tasks: [][]any{}, Copies: [][]any{}, Gaps: [][]any{}, Chain: [][2]int{},
		Sources: append([]Source{}, sources...), Advice: append([]string{}, r.Advice...), Workers: []string{}, Nodes: []reportNode{},
		Links: []string{}, Handles: []string{}, Sites: [][2]int{}, Memory: [][3]float64{}, Path: []int32{}}
	for _, w := range g.Workers {
		d.Workers = append(d.Workers, w.Name)
	}
	for _, n := range g.Nodes {
		d.Nodes = append(d.Nodes, reportNode{n.Name, n.Capacity})
	}
	for _, h := range g.Handles {
		d.Handles = append(d.Handles, h.Name)
	}
	file := map[string]int{}
	for i, s := range sources {
		file[s.Name] = i
	}
	for _, s := range g.Sites {
		k, ok := file[s.File]
		if !ok {
			k = -1
		}
		d.Sites = append(d.Sites, [2]int{k, s.Line})
	}
	codelets, whys := table{all: []string{}}, table{all: []string{}}
	called := variantNames(r)
	row := make([]int, len(g.Tasks)) // of the tasks that the page has
	for i := range g.Tasks {
		t, x := &g.Tasks[i], &r.Tasks[i]
		if row[i] = -1; t.Light() {
			continue
		}
		row[i] = len(d.Tasks)
		ops, bytes := []any{}, 0.0
		for _, o := range t.Operands {
			ops = append(ops, o.Mode.String(), o.Handle)
			bytes += float64(o.Mode.Passes()) * float64(g.Handles[o.Handle].Bytes)
		}
		deps := []int{}
		for _, k := range t.Deps {
			if row[k] >= 0 {
				deps = append(deps, row[k])
			}
		}
		end := x.Ended
		if x.Started > 0 {
			end = r.ended(x)
		}
		row := []any{x.Worker, codelets.index(called(t.Codelet, x.Variant)), t.ID, round(x.Started), round(end), round(x.Submitted), round(x.Ready),
			round(x.Popped), round(x.Data), t.Site, ops, deps, t.Name, t.Vars, t.Call, x.Err, known(x.Flops), bytes}
		switch {
		case x.Gang != nil:
			row = append(row, x.Gang)
		case x.Retries != nil:
			row = append(row, 0)
		}
		if x.Retries != nil {
			again := []any{}
			for _, a := range x.Retries {
				again = append(again, round(a.Time), a.Err)
			}
			row = append(row, again)
		}
		d.Tasks = append(d.Tasks, row)
	}
	links := r.Links()
	for _, l := range links {
		d.Links = append(d.Links, r.LinkName(l))
	}
	at := map[[2]int]int{}
	for i, l := range links {
		at[l] = i
	}
	for _, c := range r.Copies {
		d.Copies = append(d.Copies, []any{at[[2]int{c.From, c.To}], c.Bytes, c.Data, round(c.Begin), round(c.End)})
	}
	for _, m := range r.Memory {
		d.Memory = append(d.Memory, [3]float64{round(m.Time), float64(m.Node), float64(m.Bytes)})
	}
	for _, gap := range r.Gaps() {
		next := -1
		if gap.Next >= 0 {
			next = row[gap.Next]
		}
		d.Gaps = append(d.Gaps, []any{gap.Worker, round(gap.From), round(gap.To), whys.index(gap.Why), r.Text(&gap), next})
	}
	for _, s := range r.Chain() {
		if row[s.Task] >= 0 {
			d.Chain = append(d.Chain, [2]int{row[s.Task], whys.index(s.Why)})
		}
	}
	for _, i := range measure(g) {
		if row[i] >= 0 {
			d.Path = append(d.Path, int32(row[i]))
		}
	}
	d.Codelets, d.Whys, d.Ranks = codelets.all, whys.all, newReportRanks(r.Ranks)
	return d
}

// variantNames returns how the page calls codelets: those whose tasks ran in several variants with
// the variant, so that their times stand apart.
func variantNames(r *Run) func(codelet, variant string) string {
	seen, several := map[string]string{}, map[string]bool{}
	for i := range r.Tasks {
		if v := r.Tasks[i].Variant; v != "" {
			c := r.Graph.Tasks[i].Codelet
			if other, ok := seen[c]; ok && other != v {
				several[c] = true
			}
			seen[c] = v
		}
	}
	return func(codelet, variant string) string {
		if variant != "" && several[codelet] {
			return codelet + " (" + variant + ")"
		}
		return codelet
	}
}

// known is x, or 0 where JSON has no number for it.
func known(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// round keeps nanoseconds: more digits are noise, and take room.
func round(s float64) float64 { return float64(int64(s*1e9+0.5)) / 1e9 }
