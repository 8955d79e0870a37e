package graph

// Writing graphs: as text for other programs, and as a picture of our own.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is a file format of graphs.
type Format string

// The formats.
const (
	Dot     Format = "dot"
	Mermaid Format = "mermaid"
	JSON    Format = "json"
	SVG     Format = "svg"
	Text    Format = "text" // a line for each node: for terminals
)

// Formats lists the formats.
var Formats = []Format{Dot, Mermaid, JSON, SVG, Text}

// FormatOf chooses a format by the name of a file: .dot or .gv, .mmd, .mermaid or
// .md, .json, .svg.
func FormatOf(name string) (Format, bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".dot", ".gv":
		return Dot, true
	case ".mmd", ".mermaid", ".md":
		return Mermaid, true
	case ".json":
		return JSON, true
	case ".svg":
		return SVG, true
	case ".txt":
		return Text, true
	}
	return "", false
}

// Unit is the thing that one node of a picture represents.
type Unit string

// The units. ByCodelet is a node for each codelet and insert statement, with how many
// tasks it stands for; ByHandle a node for each piece of data, with the tasks that take
// values from one to the other.
const (
	ByCodelet Unit = "codelet"
	ByTask    Unit = "task"
	ByHandle  Unit = "handle"
)

// Units lists the units.
var Units = []Unit{ByTask, ByCodelet, ByHandle}

// Write writes g. JSON has all there is, whatever the unit.
func Write(w io.Writer, g *Graph, f Format, by Unit) error {
	if !slices.Contains(Units, by) {
		return fmt.Errorf("graph: a graph is drawn by task, codelet or handle, not by %q", by)
	}
	b := bufio.NewWriter(w)
	var err error
	if f != JSON {
		g = g.plain()
	}
	switch f {
	case JSON:
		err = writeJSON(b, g)
	case Text:
		writeText(b, g, picture(g, by))
	case Dot:
		writeDot(b, g, picture(g, by))
	case Mermaid:
		writeMermaid(b, g, picture(g, by))
	case SVG:
		writeSVG(b, g, picture(g, by))
	default:
		return fmt.Errorf("graph: the formats are dot, mermaid, json, svg and text, not %q", f)
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// node and edge are what is drawn.
type node struct {
	label, detail string
	group         string // what it is coloured by
	dot           bool   // of a light task
	tasks         int
	order         int // of the first task
	layer         int
	sites         []int32 // where its tasks were inserted
	again         bool    // it stands for rows that repeat those above it
	parts         []int   // of those
}

type edge struct {
	from, to int
	n        int // tasks or dependencies that it stands for
}

// drawing is a graph as it is drawn.
type drawing struct {
	nodes  []node
	edges  []edge
	groups []string // in the order in which they first come
	by     Unit
	folded bool
	joined bool // rows of a folded drawing hold several depths
	// of data: lines that others imply are left out
	reduced bool
	rows    []string // what rows of a folded drawing are called; nil: nothing
}

// picture makes what is drawn of g.
func picture(g *Graph, by Unit) *drawing {
	d := &drawing{by: by}
	switch by {
	case ByCodelet:
		d.byCodelet(g)
	case ByHandle:
		d.byHandle(g)
	default:
		d.byTask(g)
	}
	seen := map[string]bool{}
	for i := range d.nodes {
		n := &d.nodes[i]
		n.label, n.detail, n.group = line(n.label), plain(n.detail), line(n.group)
		if !n.dot && !seen[n.group] {
			seen[n.group] = true
			d.groups = append(d.groups, n.group)
		}
	}
	return d
}

// plain returns g with a title and notes that are safe in a picture.
func (g *Graph) plain() *Graph {
	x := *g
	x.Title, x.Notes = line(g.Title), slices.Clone(g.Notes)
	for k := range x.Notes {
		n := &x.Notes[k]
		n.At.File, n.Text = line(n.At.File), line(n.Text)
	}
	return &x
}

// plain is s without what a picture cannot hold: XML has no control characters, a terminal
// obeys them, and what is no UTF-8 is no text.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r) && r != '\n', r == 0xfffe, r == 0xffff:
			return utf8.RuneError
		}
		return r
	}, s)
}

// line is plain on one line.
func line(s string) string { return strings.ReplaceAll(plain(s), "\n", " ") }

func (d *drawing) byTask(g *Graph) {
	at := make([]int, len(g.Tasks))
	used := make([]bool, len(g.Tasks))
	for i := range g.Tasks {
		for _, k := range g.Tasks[i].Deps {
			used[k] = true
		}
	}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if at[i] = -1; t.Light() && (!used[i] || t.Internal == "unregister") {
			continue // the end of data, and light tasks without successors
		}
		at[i] = len(d.nodes)
		n := node{label: t.Label(), group: t.Codelet, dot: t.Light(), tasks: 1, order: i, sites: []int32{t.Site}}
		n.detail = strings.Trim(g.OperandText(t)+"\n"+g.SiteOf(t).String()+"  "+t.Vars, "\n ")
		d.nodes = append(d.nodes, n)
		for _, k := range t.Deps {
			if at[k] >= 0 {
				d.edges = append(d.edges, edge{at[k], at[i], 1})
			}
		}
	}
}

// merge collects edges between nodes that stand for several tasks.
type merge map[[2]int]int

func (d *drawing) addEdges(m merge) {
	for k, n := range m {
		d.edges = append(d.edges, edge{k[0], k[1], n})
	}
	slices.SortFunc(d.edges, func(a, b edge) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
}

func (d *drawing) byCodelet(g *Graph) {
	type key struct {
		codelet string
		site    int32
	}
	at := map[key]int{}
	of := make([]int, len(g.Tasks))
	m := merge{}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if of[i] = -1; t.Light() && t.Internal != "acquire" {
			continue
		}
		k := key{t.Codelet, t.Site}
		n, ok := at[k]
		if !ok {
			n = len(d.nodes)
			at[k] = n
			d.nodes = append(d.nodes, node{group: t.Codelet, order: i})
		}
		d.nodes[n].tasks++
		of[i] = n
	}
	// what comes before a light task comes before what comes after it
	through := map[int32][]int{} // by light task: the nodes before it
	for i := range g.Tasks {
		from := map[int]bool{}
		for _, k := range g.Tasks[i].Deps {
			if of[k] >= 0 {
				from[of[k]] = true
			}
			for _, n := range through[k] {
				from[n] = true
			}
		}
		if of[i] < 0 {
			through[int32(i)] = slices.Collect(maps.Keys(from))
			continue
		}
		for k := range from {
			m[[2]int{k, of[i]}]++
		}
	}
	for i := range d.nodes {
		n := &d.nodes[i]
		n.label = n.group
		if n.tasks > 1 {
			n.label = fmt.Sprintf("%s × %d", n.group, n.tasks)
		}
		t := &g.Tasks[n.order]
		n.detail = g.SiteOf(t).String()
	}
	d.addEdges(m)
}

func (d *drawing) byHandle(g *Graph) {
	at := make([]int, len(g.Handles))
	for i := range g.Handles {
		h := &g.Handles[i]
		group := h.Name
		if k := strings.IndexByte(group, '['); k > 0 {
			group = group[:k]
		}
		at[i] = len(d.nodes)
		d.nodes = append(d.nodes, node{label: h.Name, detail: h.Type, group: group, order: i})
	}
	m := merge{}
	writer := map[int32]int32{} // by fragment: the handle through which it was written last
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if t.Light() {
			continue
		}
		for _, o := range t.Operands {
			d.nodes[at[o.Handle]].tasks++
			if o.Mode.Reads() { // what another view wrote comes with it
				seen := int32(-1)
				for _, c := range g.Handles[o.Handle].cells {
					if w, ok := writer[c]; ok && w != o.Handle && w != seen {
						m[[2]int{at[w], at[o.Handle]}]++
						seen = w
					}
				}
			}
			if !o.Mode.Writes() {
				continue
			}
			for _, from := range t.Operands {
				if from.Handle != o.Handle && from.Mode.Reads() {
					m[[2]int{at[from.Handle], at[o.Handle]}]++
				}
			}
		}
		for _, o := range t.Operands {
			if o.Mode.Writes() {
				for _, c := range g.Handles[o.Handle].cells {
					writer[c] = o.Handle
				}
			}
		}
	}
	d.addEdges(m)
	// parts that no task uses by themselves are no news
	keep := make([]int, len(d.nodes))
	var nodes []node
	for i, n := range d.nodes {
		if keep[i] = -1; n.tasks > 0 {
			keep[i] = len(nodes)
			nodes = append(nodes, n)
		}
	}
	d.nodes = nodes
	edges := d.edges[:0]
	for _, e := range d.edges {
		if keep[e.from] >= 0 && keep[e.to] >= 0 {
			edges = append(edges, edge{keep[e.from], keep[e.to], e.n})
		}
	}
	d.edges = edges
}

// colours are those of groups, on light ground; the same for a name in all pictures
// of a program that has the same codelets in the same order.
var colours = []string{"#3f6fa3", "#d9731a", "#4b8f43", "#9a6494", "#cf4347", "#3f8f8c", "#a8861d", "#8a6248", "#d0607a", "#5b7f2b", "#b0507f", "#2f7f9f", "#7a5fb0", "#a05a2c", "#607080", "#c05a3a"}

func (d *drawing) colour(group string) string {
	return colours[max(0, slices.Index(d.groups, group))%len(colours)]
}

func writeDot(w io.Writer, g *Graph, d *drawing) {
	fmt.Fprintf(w, "digraph %s {\n", quote(g.Title))
	for _, n := range g.Notes {
		fmt.Fprintf(w, "  // %v: %s\n", n.At, n.Text)
	}
	io.WriteString(w, "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontcolor=white];\n")
	for i, n := range d.nodes {
		if n.dot {
			fmt.Fprintf(w, "  n%d [shape=point, tooltip=%s];\n", i, quote(n.label))
			continue
		}
		fmt.Fprintf(w, "  n%d [label=%s, tooltip=%s, color=\"%s\"];\n", i, quote(n.label), quote(n.detail), d.colour(n.group))
	}
	for _, e := range d.edges {
		if e.n > 1 {
			fmt.Fprintf(w, "  n%d -> n%d [label=\"%d\"];\n", e.from, e.to, e.n)
			continue
		}
		fmt.Fprintf(w, "  n%d -> n%d;\n", e.from, e.to)
	}
	io.WriteString(w, "}\n")
}

// quote writes a string of dot.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// writeText writes a line for each node, with what it comes after.
func writeText(w io.Writer, g *Graph, d *drawing) {
	after := make([][]string, len(d.nodes))
	for _, e := range d.edges {
		if name := d.nodes[e.from].label; e.from != e.to && !slices.Contains(after[e.to], name) {
			after[e.to] = append(after[e.to], name)
		}
	}
	width := 0
	for _, n := range d.nodes {
		width = max(width, len([]rune(n.label)))
	}
	for i, n := range d.nodes {
		line := n.label
		if len(after[i]) > 0 {
			line += strings.Repeat(" ", width-len([]rune(n.label))) + "  after " + strings.Join(after[i], ", ")
		}
		fmt.Fprintln(w, line)
	}
	for _, n := range g.Notes {
		fmt.Fprintf(w, "%v: %s\n", n.At, n.Text)
	}
}

func writeMermaid(w io.Writer, g *Graph, d *drawing) {
	io.WriteString(w, "flowchart TD\n")
	for _, n := range g.Notes {
		fmt.Fprintf(w, "  %%%% %v: %s\n", n.At, n.Text)
	}
	// Mermaid's own escapes: of those of HTML it takes "#34;" for one, behind a "&"
	esc := strings.NewReplacer("#", "#35;", "&", "#amp;", "<", "#lt;", ">", "#gt;", `"`, "#quot;", "`", "#96;").Replace
	for i, n := range d.nodes {
		if n.dot {
			fmt.Fprintf(w, "  n%d((\"%s\"))\n", i, esc(n.label))
			continue
		}
		fmt.Fprintf(w, "  n%d[\"%s\"]:::c%d\n", i, esc(n.label), max(0, slices.Index(d.groups, n.group)))
	}
	for _, e := range d.edges {
		if e.n > 1 {
			fmt.Fprintf(w, "  n%d -->|%d| n%d\n", e.from, e.n, e.to)
			continue
		}
		fmt.Fprintf(w, "  n%d --> n%d\n", e.from, e.to)
	}
	for k, name := range d.groups {
		fmt.Fprintf(w, "  classDef c%d fill:%s,color:#fff,stroke:none\n", k, d.colour(name))
	}
}

// jsonGraph is the form of JSON.
type jsonGraph struct {
	Title   string       `json:"title"`
	Exact   bool         `json:"exact"`
	Notes   []jsonNote   `json:"notes,omitempty"`
	Handles []jsonHandle `json:"handles"`
	Tasks   []jsonTask   `json:"tasks"`
}

type jsonNote struct {
	At   string `json:"at"`
	Task int64  `json:"task"` // id of the first task that may be otherwise
	Text string `json:"text"`
}

type jsonHandle struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Datum int32  `json:"datum"`
	Bytes int64  `json:"bytes"`
}

type jsonTask struct {
	ID       int64         `json:"id"`
	Codelet  string        `json:"codelet"`
	Name     string        `json:"name,omitempty"`
	Operands []jsonOperand `json:"operands"`
	At       string        `json:"at,omitempty"`
	Vars     string        `json:"vars,omitempty"`
	Call     string        `json:"call,omitempty"`
	Priority int           `json:"priority,omitempty"`
	Flops    float64       `json:"flops,omitempty"`
	Seconds  float64       `json:"seconds,omitempty"`
	After    []int64       `json:"after"`
}

type jsonOperand struct {
	Handle    int32  `json:"handle"` // a place in handles
	Mode      string `json:"mode"`
	Unordered bool   `json:"unordered,omitempty"`
}

func writeJSON(w io.Writer, g *Graph) error {
	out := jsonGraph{Title: g.Title, Exact: g.Exact(), Handles: []jsonHandle{}, Tasks: []jsonTask{}}
	for _, n := range g.Notes {
		j := jsonNote{At: n.At.String(), Text: n.Text}
		if n.Task < len(g.Tasks) {
			j.Task = g.Tasks[n.Task].ID
		}
		out.Notes = append(out.Notes, j)
	}
	for _, h := range g.Handles {
		out.Handles = append(out.Handles, jsonHandle{h.Name, h.Type, h.Datum, h.Bytes})
	}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		j := jsonTask{ID: t.ID, Codelet: t.Codelet, Name: t.Name, Operands: []jsonOperand{}, Vars: t.Vars, Call: t.Call,
			Priority: t.Priority, At: g.SiteOf(t).String(), After: []int64{}}
		if s, ok := t.Best(); ok && !math.IsNaN(s) {
			j.Seconds = s
		}
		if !math.IsInf(t.Flops, 0) && !math.IsNaN(t.Flops) { // which JSON has no numbers for
			j.Flops = t.Flops
		}
		for _, o := range t.Operands {
			j.Operands = append(j.Operands, jsonOperand{o.Handle, o.Mode.String(), o.Unordered})
		}
		for _, k := range t.Deps {
			j.After = append(j.After, g.Tasks[k].ID)
		}
		out.Tasks = append(out.Tasks, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(out)
}
