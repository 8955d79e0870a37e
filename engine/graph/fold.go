package graph

// Folding: what is drawn of graphs with more tasks than a person can read one by one. A
// row holds one depth, and a codelet has one box in it; rows that come again and again are
// drawn once or twice, counted, and drawn as they are the last time.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Where drawings are folded.
const (
	mostNodes   = 120  // that are drawn one by one
	mostParts   = 400  // of views, which all are one box if there is little else
	mostRows    = 60   // of a folded drawing: with more, a row holds several depths
	mostPeriod  = 40   // rows that are looked for as a pattern
	leastTimes  = 5    // that a pattern must come
	longPattern = 4    // rows, from which a pattern is drawn once before it is counted
	rowWidth    = 1500 // pixels, from which a row is wrapped
)

// foldDepths puts the tasks of each depth and codelet together, and rows that repeat. It
// returns the number of rows.
func (d *drawing) foldDepths() int {
	boxes, rows, edges := d.boxes()
	if len(boxes) > 20*len(rows)+200 { // too many codelets to tell apart
		for i := range d.nodes {
			d.nodes[i].group = string(d.by)
		}
		d.groups = []string{string(d.by)}
		boxes, rows, edges = d.boxes()
	}
	segments := repeats(signatures(boxes, rows))
	per := (len(segments) + mostRows - 1) / mostRows // depths in a row
	d.joined = per > 1
	of := make([]int, len(boxes))
	type key struct {
		row   int
		group string
	}
	at := map[key]int{}
	d.nodes, d.rows = nil, nil
	for k := 0; k < len(segments); {
		s, plain := segments[k], 1
		for s.period == 0 && plain < per && k+plain < len(segments) && segments[k+plain].period == 0 {
			s.to = segments[k+plain].to
			plain++
		}
		k += plain
		row := len(d.rows)
		d.rows = append(d.rows, s.label())
		for depth := s.from; depth < s.to; depth++ {
			for _, i := range rows[depth] {
				b := &boxes[i]
				id := key{row, b.group}
				if s.period > 0 {
					id.group = ""
				}
				n, ok := at[id]
				if !ok {
					n = len(d.nodes)
					at[id] = n
					d.nodes = append(d.nodes, node{group: b.group, order: b.order, layer: row, detail: b.detail, again: s.period > 0})
				}
				if x := &d.nodes[n]; x.again {
					x.parts = append(x.parts, i)
				}
				d.nodes[n].tasks += b.tasks
				of[i] = n
			}
		}
		if s.period > 0 {
			n := &d.nodes[len(d.nodes)-1]
			n.label, n.detail = s.text(boxes, n.parts)
		}
	}
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.again {
			continue
		}
		if n.label = n.group; n.tasks > 1 {
			n.label += " × " + count(n.tasks)
		}
	}
	m := merge{}
	for k, n := range edges {
		a, b := of[k[0]], of[k[1]]
		if d.nodes[a].layer < d.nodes[b].layer { // inside a row of several depths there are none
			m[[2]int{a, b}] += n
		}
	}
	d.edges = nil
	d.addEdges(m)
	d.reduce()
	d.folded = true
	return len(d.rows)
}

// boxes returns a box for each depth and codelet, the boxes of each depth, and the edges
// between them. Dots have no box: what comes before one comes before what follows it.
func (d *drawing) boxes() (boxes []node, rows [][]int, edges merge) {
	depth := make([]int, len(d.nodes))
	for _, e := range d.edges { // in the order of their ends
		more := 1
		if d.nodes[e.from].dot {
			more = 0
		}
		depth[e.to] = max(depth[e.to], depth[e.from]+more)
	}
	type key struct {
		depth int
		group string
	}
	at := map[key]int{}
	type place struct {
		box  int
		site int32
	}
	seen := map[place]bool{}
	of := make([]int, len(d.nodes))
	for i := range d.nodes {
		n := &d.nodes[i]
		if of[i] = -1; n.dot {
			continue
		}
		k := key{depth[i], n.group}
		b, ok := at[k]
		if !ok {
			b = len(boxes)
			at[k] = b
			boxes = append(boxes, node{group: n.group, order: n.order, layer: depth[i], detail: n.detail})
			for len(rows) <= depth[i] {
				rows = append(rows, nil)
			}
			rows[depth[i]] = append(rows[depth[i]], b)
		}
		x := &boxes[b]
		x.tasks += max(1, n.tasks)
		for _, s := range n.sites {
			if at := (place{b, s}); !seen[at] {
				seen[at] = true
				x.sites = append(x.sites, s)
			}
		}
		of[i] = b
	}
	edges = merge{}
	through := map[int]map[int]bool{} // by dot: the boxes before it
	for _, e := range d.edges {
		from := through[e.from]
		if b := of[e.from]; b >= 0 {
			from = map[int]bool{b: true}
		}
		if b := of[e.to]; b >= 0 {
			for a := range from {
				edges[[2]int{a, b}] += e.n
			}
			continue
		}
		if through[e.to] == nil {
			through[e.to] = map[int]bool{}
		}
		maps.Copy(through[e.to], from)
	}
	return boxes, rows, edges
}

// signatures numbers rows: those with boxes of the same codelets, inserted by the same
// statements, have the same number.
func signatures(boxes []node, rows [][]int) []int {
	numbers := map[string]int{}
	out := make([]int, len(rows))
	for k, row := range rows {
		var names []string
		for _, i := range row {
			slices.Sort(boxes[i].sites)
			names = append(names, fmt.Sprint(boxes[i].group, boxes[i].sites))
		}
		slices.Sort(names)
		id := strings.Join(names, "\x00")
		n, ok := numbers[id]
		if !ok {
			n = len(numbers)
			numbers[id] = n
		}
		out[k] = n
	}
	return out
}

// segment is some depths that are drawn in one row: a single one, or, with a period, the
// repetitions of the rows before it.
type segment struct{ from, to, period int }

// repeats cuts rows into segments. Where a pattern of rows comes at least leastTimes times,
// one after the other, those between the first times and the last one are one segment.
func repeats(rows []int) (out []segment) {
	single := func(from, to int) {
		for k := from; k < to; k++ {
			out = append(out, segment{from: k, to: k + 1})
		}
	}
	if len(rows) <= mostRows/2 {
		single(0, len(rows))
		return out
	}
	for i := 0; i < len(rows); {
		period, times := 0, 0
		for p := 1; p <= min(mostPeriod, (len(rows)-i)/leastTimes); p++ {
			n := 0
			for i+n+p < len(rows) && rows[i+n] == rows[i+n+p] {
				n++
			}
			if t := n/p + 1; t >= leastTimes && t*p > times*period {
				period, times = p, t
			}
		}
		if times == 0 {
			single(i, i+1)
			i++
			continue
		}
		first, end := i+2*period, i+times*period
		if period > longPattern {
			first = i + period
		}
		single(i, first)
		out = append(out, segment{first, end - period, period})
		single(end-period, end)
		i = end
	}
	return out
}

// label is what the row of s is called.
func (s segment) label() string {
	if s.to == s.from+1 {
		return fmt.Sprintf("depth %s", count(s.to))
	}
	text := fmt.Sprintf("%s – %s", count(s.from+1), count(s.to))
	if s.period == 0 {
		text = "depths " + text
	}
	return text
}

// text is the label of the box of repetitions, and what it holds in full.
func (s segment) text(boxes []node, parts []int) (label, detail string) {
	what := "the row above"
	if s.period > 1 {
		what = fmt.Sprintf("the %d rows above", s.period)
	}
	sum := map[string]int{}
	var groups []string
	for _, i := range parts {
		if g := boxes[i].group; sum[g] == 0 {
			groups = append(groups, g)
		}
		sum[boxes[i].group] += boxes[i].tasks
	}
	slices.SortStableFunc(groups, func(a, b string) int { return cmp.Compare(sum[b], sum[a]) })
	for k, g := range groups {
		groups[k] = g + " × " + count(sum[g])
	}
	detail = strings.Join(groups, "\n")
	if len(groups) > 4 {
		groups = append(groups[:4:4], "…")
	}
	times := (s.to - s.from) / s.period
	return fmt.Sprintf("%s, %s times more: %s", what, count(times), strings.Join(groups, ", ")), detail
}

// foldGroups puts the nodes of each group together: the parts of a view.
func (d *drawing) foldGroups() {
	at := map[string]int{}
	of := make([]int, len(d.nodes))
	var nodes []node
	parts := []int{}
	for i := range d.nodes {
		n := &d.nodes[i]
		k, ok := at[n.group]
		if !ok {
			k = len(nodes)
			at[n.group] = k
			nodes = append(nodes, node{group: n.group, label: n.label, order: n.order, detail: n.detail})
			parts = append(parts, 0)
		}
		nodes[k].tasks += n.tasks
		parts[k]++
		of[i] = k
	}
	for k := range nodes {
		if parts[k] > 1 {
			nodes[k].label = nodes[k].group + " × " + count(parts[k])
			nodes[k].detail = "the first: " + nodes[k].detail
		}
	}
	m := merge{}
	for _, e := range d.edges {
		m[[2]int{of[e.from], of[e.to]}] += e.n
	}
	d.nodes, d.edges = nodes, nil
	d.addEdges(m)
	d.folded = true
}

// groupsTell reports whether parts of views are better drawn as one box for each view: there
// are many of them, and views enough to see what flows between them.
func (d *drawing) groupsTell() bool {
	if len(d.nodes) > mostParts {
		return true
	}
	return len(d.groups) > 2 && (len(d.nodes) > mostNodes/3 || d.wide())
}

// wide reports whether some row of d takes more room than a window has.
func (d *drawing) wide() bool {
	sum := map[int]float64{}
	for i := range d.nodes {
		n := &d.nodes[i]
		if sum[n.layer] += n.width(1, false) + gap; sum[n.layer] > rowWidth {
			return true
		}
	}
	return false
}

// width is how wide n is drawn. In folded drawings of tasks the width shows how many.
func (n *node) width(largest int, byTasks bool) float64 {
	if n.dot {
		return 10
	}
	wide := 7.2*float64(len([]rune(n.label))) + 18
	if byTasks && !n.again {
		wide = max(wide, min(450/float64(max(largest, 1)), 9)*float64(n.tasks))
	}
	return wide
}
