package graph

// Pictures: a drawing as SVG, in light and dark.

import (
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	boxHeight   = 24
	rowDistance = 62
	margin      = 20

	lineDistance = boxHeight + 10 // of a row that is wrapped
)

const svgStyle = `<style>
svg{background:#fff;font:12px system-ui,sans-serif}
.e{fill:none;stroke:#8a93a3;stroke-width:1.1;stroke-opacity:.65}
.r{stroke-dasharray:4 3;stroke-opacity:.45}
.a rect{stroke:#6b7483;stroke-dasharray:5 3;stroke-width:2}.w{fill:#8a93a3;fill-opacity:.12}
.b text{fill:#fff;text-anchor:middle;pointer-events:none}
.b rect{stroke:#0003}
.d{fill:#8a93a3}
.t{fill:#20242c}.s{fill:#5b6472}
@media (prefers-color-scheme:dark){svg{background:#16181d}.t{fill:#e6e8ec}.s{fill:#9aa3b2}.e{stroke:#6d7686}.d{fill:#6d7686}.b rect{fill-opacity:.85}}
.b:hover rect{stroke:#f60;stroke-width:2}
</style>
`

// writeSVG draws d. A graph with too many nodes to be read one by one is drawn in bands.
func writeSVG(w io.Writer, g *Graph, d *drawing) {
	tasks := 0
	for i := range g.Tasks {
		if !g.Tasks[i].Light() {
			tasks++
		}
	}
	layers := d.layers()
	if d.by == ByHandle {
		if d.groupsTell() {
			d.foldGroups()
			layers = d.layers()
		}
		if len(d.edges) > 2*len(d.nodes)+20 {
			d.reduce()
			d.reduced = true
		}
	} else {
		d.sink()
		if d.by == ByTask && (len(d.nodes) > mostNodes || d.wide()) {
			layers = d.foldDepths()
		} else {
			d.reduce()
		}
	}
	largest := 1
	for i := range d.nodes {
		if n := &d.nodes[i]; !n.again {
			largest = max(largest, n.tasks)
		}
	}
	p := d.place(layers, func(n *node) float64 { return n.width(largest, d.folded && d.by == ByTask) })
	title := fmt.Sprintf("%s: %s", g.Title, plural(tasks, "task"))
	sub := folded(d.signs(), "; ", 110)
	legend := 0.0
	for _, name := range d.groups {
		legend += 7.2*float64(len([]rune(name))) + 34
	}
	beside := 0.0 // what rows are called
	for _, name := range d.rows {
		beside = max(beside, 6.6*float64(len([]rune(name)))+16)
	}
	longest := 0
	for _, l := range sub {
		longest = max(longest, len([]rune(l)))
	}
	width := max(beside+p.width, 8.2*float64(len([]rune(title))), 6.3*float64(longest), min(legend, 1200), 300) + 2*margin
	under := margin + 6 + 16*float64(len(sub)) // the title and what signs mean
	top := under + 30
	lines := 1.0
	x := 0.0
	var keys strings.Builder
	for k, name := range d.groups {
		wide := 7.2*float64(len([]rune(name))) + 34
		more := fmt.Sprintf("and %d more", len(d.groups)-k)
		room := width - 2*margin
		if lines == 3 && k+1 < len(d.groups) {
			room -= 7.2 * float64(len(more)) // which may have to follow
		}
		if x > 0 && x+wide > room {
			if lines == 3 {
				fmt.Fprintf(&keys, `<text class="s" x="%.0f" y="%.0f">%s</text>`+"\n", margin+x, under+4+18*lines, more)
				break
			}
			x, lines = 0, lines+1
		}
		fmt.Fprintf(&keys, `<rect x="%.0f" y="%.0f" width="12" height="12" rx="2" fill="%s"/><text class="t" x="%.0f" y="%.0f">%s</text>`+"\n",
			margin+x, under+18*lines-6, d.colour(name), margin+x+17, under+4+18*lines, html.EscapeString(name))
		x += wide
	}
	top += 18 * lines
	top += 16 * float64(len(g.Notes))
	tops, high := make([]float64, layers+1), func(l int) float64 { return float64(p.lines[l])*lineDistance - lineDistance + boxHeight }
	tops[0] = top
	for l := range layers {
		tops[l+1] = tops[l] + high(l) + rowDistance - boxHeight
	}
	height := max(tops[layers]-rowDistance+boxHeight, top+boxHeight) + margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f">`+"\n", width, height, width, height)
	io.WriteString(w, svgStyle)
	fmt.Fprintf(w, `<text class="t" x="%d" y="%d" font-size="15" font-weight="600">%s</text>`+"\n", margin, margin+4, html.EscapeString(title))
	for k, l := range sub {
		fmt.Fprintf(w, `<text class="s" x="%d" y="%d">%s</text>`+"\n", margin, margin+20+16*k, html.EscapeString(l))
	}
	io.WriteString(w, keys.String())
	for k, n := range g.Notes {
		fmt.Fprintf(w, `<text class="s" x="%d" y="%.0f">%s</text>`+"\n", margin, under+24+18*lines+16*float64(k), html.EscapeString(n.At.String()+": "+n.Text))
	}
	left := margin + beside + (width-beside-2*margin-p.width)/2
	y := func(s *spot) float64 { return tops[s.layer] + float64(s.line)*lineDistance }
	for l, name := range d.rows {
		fmt.Fprintf(w, `<text class="s" x="%d" y="%.0f">%s</text>`+"\n", margin, tops[l]+high(l)/2+4, html.EscapeString(name))
	}
	for l := range layers {
		if p.lines[l] > 1 {
			fmt.Fprintf(w, `<rect class="w" x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="6"><title>one row, wrapped</title></rect>`+"\n", left-8, tops[l]-7, p.width+16, high(l)+14)
		}
	}
	for k, route := range p.routes {
		var path strings.Builder
		class := "e"
		for i, s := range route {
			sx, sy := left+s.x, y(s)+boxHeight/2
			switch {
			case i == 0 && isDot(d, s.node): // which is smaller than a box
				fmt.Fprintf(&path, "M%.0f %.0fV%.0f", sx, sy, tops[s.layer]+high(s.layer))
			case i == 0:
				fmt.Fprintf(&path, "M%.0f %.0fV%.0f", sx, sy+boxHeight/2, tops[s.layer]+high(s.layer))
			case s == route[i-1]: // what follows upon itself
				right := sx + s.width/2
				path.Reset()
				fmt.Fprintf(&path, "M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", right, sy-5, right+26, sy-12, right+26, sy+12, right, sy+5)
			case s.layer == route[i-1].layer: // side by side
				low := sy + boxHeight/2
				fmt.Fprintf(&path, "C%.0f %.0f %.0f %.0f %.0f %.0f", left+route[i-1].x, low+20, sx, low+20, sx, low)
				if isDot(d, s.node) {
					fmt.Fprintf(&path, "V%.0f", sy)
				}
			case s.layer < route[i-1].layer: // back to where it began
				a := route[i-1]
				ax, ay := left+a.x+a.width/2, y(a)+boxHeight/2
				path.Reset()
				fmt.Fprintf(&path, "M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", ax, ay, ax+50, ay, sx+s.width/2+50, sy, sx+s.width/2, sy)
				class = "e r"
			default:
				a := route[i-1]
				end := tops[s.layer]
				begin := tops[a.layer] + high(a.layer)
				half := (end - begin) / 2
				fmt.Fprintf(&path, "C%.0f %.0f %.0f %.0f %.0f %.0f", left+a.x, begin+half, sx, end-half, sx, end)
				switch {
				case s.node < 0:
					fmt.Fprintf(&path, "V%.0f", end+high(s.layer))
				case isDot(d, s.node):
					fmt.Fprintf(&path, "V%.0f", sy)
				case s.line > 0:
					fmt.Fprintf(&path, "V%.0f", sy-boxHeight/2)
				}
			}
		}
		e := d.edges[k]
		stroke := ""
		if e.n > 1 {
			stroke = fmt.Sprintf(` style="stroke-width:%.1f"`, min(6, 1+0.6*float64(len(strconv.Itoa(e.n)))))
		}
		fmt.Fprintf(w, `<path class="%s"%s d="%s"><title>%s</title></path>`+"\n", class, stroke, path.String(), html.EscapeString(edgeTitle(d, e)))
	}
	for i := range d.nodes {
		n, s := &d.nodes[i], p.spots[i]
		sx, sy := left+s.x, y(s)
		if n.dot {
			fmt.Fprintf(w, `<circle class="d" cx="%.0f" cy="%.0f" r="4"><title>%s</title></circle>`+"\n", sx, sy+boxHeight/2, html.EscapeString(n.label+"\n"+n.detail))
			continue
		}
		class, fill := "b", d.colour(n.group)
		if n.again {
			class, fill = "b a", "#6b7483"
		}
		fmt.Fprintf(w, `<g class="%s"><title>%s</title><rect x="%.0f" y="%.0f" width="%.0f" height="%d" rx="5" fill="%s"/><text x="%.0f" y="%.0f">%s</text></g>`+"\n",
			class, html.EscapeString(n.label+"\n"+n.detail), sx-s.width/2, sy, s.width, boxHeight, fill, sx, sy+16, html.EscapeString(n.label))
	}
	io.WriteString(w, "</svg>\n")
}

// folded cuts a text at sep into lines of at most the given number of characters.
func folded(text, sep string, most int) (lines []string) {
	for k, part := range strings.Split(text, sep) {
		if k > 0 && len([]rune(lines[len(lines)-1]+sep+part)) <= most {
			lines[len(lines)-1] += sep + part
			continue
		}
		lines = append(lines, part)
	}
	return lines
}

// signs explains what is drawn besides boxes, as far as there is any.
func (d *drawing) signs() string {
	say := []string{"lines go down, to what waits"}
	if d.by == ByHandle {
		say = []string{"lines go from data to what is made of it, also through other views of the same elements"}
		if d.reduced {
			say = append(say, "those that others imply are left out")
		}
	}
	if d.folded && d.by == ByTask {
		say = append([]string{"tasks of a codelet at the same depth are one box, as wide as they are many"}, say...)
		if d.joined {
			say[0] = "a row is several depths: its tasks of a codelet are one box, as wide as they are many, and may wait for others of the row"
		}
	}
	if slices.ContainsFunc(d.nodes, func(n node) bool { return n.again }) {
		say = append(say, "a grey box stands for rows that repeat those above")
	}
	if d.folded && d.by == ByHandle {
		say = append([]string{"parts of a view are one box"}, say...)
	}
	dots, thick, loops := map[string]bool{}, false, false
	for i := range d.nodes {
		if n := &d.nodes[i]; n.dot {
			dots[n.label] = true
		}
	}
	for _, e := range d.edges {
		thick = thick || e.n > 1
		loops = loops || d.nodes[e.from].layer > d.nodes[e.to].layer
	}
	if len(dots) > 0 {
		say = append(say, "a dot has no kernel: "+strings.Join(slices.Sorted(maps.Keys(dots)), " or "))
	}
	if thick {
		say = append(say, "a thick line stands for several")
	}
	if loops {
		say = append(say, "a dashed one goes back to an earlier row")
	}
	return strings.Join(say, "; ")
}

// isDot reports whether a node is drawn as a dot; nodes below 0 are bends of edges.
func isDot(d *drawing, node int) bool { return node >= 0 && d.nodes[node].dot }

func edgeTitle(d *drawing, e edge) string {
	t := d.nodes[e.from].label + " → " + d.nodes[e.to].label
	if e.n > 1 {
		t += ": " + count(e.n)
	}
	return t
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// count writes a number with spaces between groups of three digits.
func count(n int) string {
	s := strconv.Itoa(n)
	for k := len(s) - 3; k > 0; k -= 3 {
		s = s[:k] + " " + s[k:]
	}
	return s
}
