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
)

const svgStyle = `<style>
svg{background:#fff;font:12px system-ui,sans-serif}
.e{fill:none;stroke:#8a93a3;stroke-width:1.1;stroke-opacity:.65}
.r{stroke-dasharray:4 3;stroke-opacity:.45}
.b text{fill:#fff;text-anchor:middle;pointer-events:none}
.b rect{stroke:#0003}
.d{fill:#8a93a3}
.t{fill:#20242c}.s{fill:#5b6472}
@media (prefers-color-scheme:dark){svg{background:#16181d}.t{fill:#e6e8ec}.s{fill:#9aa3b2}.e{stroke:#6d7686}.d{fill:#6d7686}.b rect{fill-opacity:.85}}
.b:hover rect{stroke:#f60;stroke-width:2}
</style>
`

// writeSVG draws d. What has too many nodes to be read one by one is drawn in bands.
func writeSVG(w io.Writer, g *Graph, d *drawing) {
	tasks := 0
	for i := range g.Tasks {
		if !g.Tasks[i].Light() {
			tasks++
		}
	}
	layers := d.layers()
	banded := len(d.nodes) > most
	if banded {
		d.bands(layers)
		layers = 0
		for i := range d.nodes {
			layers = max(layers, d.nodes[i].layer+1)
		}
	} else {
		d.sink()
		d.reduce()
	}
	largest := 1
	for i := range d.nodes {
		largest = max(largest, d.nodes[i].tasks)
	}
	p := d.place(layers, func(n *node) float64 {
		if n.dot {
			return 10
		}
		wide := 7.2*float64(len([]rune(n.label))) + 18
		if banded { // the width shows how many
			wide = max(wide, 900*float64(n.tasks)/float64(largest)/2)
		}
		return wide
	})
	title := fmt.Sprintf("%s: %s", g.Title, plural(tasks, "task"))
	sub := d.signs()
	if banded {
		sub = "tasks of a codelet at the same depth are one box, as wide as they are many; " + sub
	}
	legend := 0.0
	for _, name := range d.groups {
		legend += 7.2*float64(len([]rune(name))) + 34
	}
	width := max(p.width, 7*float64(len([]rune(title))), 6.3*float64(len(sub)), min(legend, 1200), 300) + 2*margin
	top := margin + 52.0
	lines := 1.0
	x := 0.0
	var keys strings.Builder
	for _, name := range d.groups {
		wide := 7.2*float64(len([]rune(name))) + 34
		if x > 0 && x+wide > width-2*margin {
			x, lines = 0, lines+1
		}
		if lines > 3 {
			break
		}
		fmt.Fprintf(&keys, `<rect x="%.0f" y="%.0f" width="12" height="12" rx="2" fill="%s"/><text class="t" x="%.0f" y="%.0f">%s</text>`+"\n",
			margin+x, margin+26+18*lines-10, d.colour(name), margin+x+17, margin+26+18*lines, html.EscapeString(name))
		x += wide
	}
	top += 18 * lines
	top += 16 * float64(len(g.Notes))
	height := top + float64(max(layers, 1)-1)*rowDistance + boxHeight + margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f">`+"\n", width, height, width, height)
	io.WriteString(w, svgStyle)
	fmt.Fprintf(w, `<text class="t" x="%d" y="%d" font-size="15" font-weight="600">%s</text><text class="s" x="%d" y="%d">%s</text>`+"\n",
		margin, margin+4, html.EscapeString(title), margin, margin+20, html.EscapeString(sub))
	io.WriteString(w, keys.String())
	for k, n := range g.Notes {
		fmt.Fprintf(w, `<text class="s" x="%d" y="%.0f">%s</text>`+"\n", margin, margin+46+18*lines+16*float64(k), html.EscapeString(n.At.String()+": "+n.Text))
	}
	left := margin + (width-2*margin-p.width)/2
	y := func(layer int) float64 { return top + float64(layer)*rowDistance }
	for k, route := range p.routes {
		var path strings.Builder
		class := "e"
		for i, s := range route {
			sx, sy := left+s.x, y(s.layer)+boxHeight/2
			switch {
			case i == 0 && isDot(d, s.node): // which is smaller than a box
				fmt.Fprintf(&path, "M%.0f %.0fV%.0f", sx, sy, sy+boxHeight/2)
			case i == 0:
				fmt.Fprintf(&path, "M%.0f %.0f", sx, sy+boxHeight/2)
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
				ax, ay := left+a.x+a.width/2, y(a.layer)+boxHeight/2
				path.Reset()
				fmt.Fprintf(&path, "M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", ax, ay, ax+50, ay, sx+s.width/2+50, sy, sx+s.width/2, sy)
				class = "e r"
			default:
				a := route[i-1]
				end := sy - boxHeight/2
				begin := y(a.layer) + boxHeight
				half := (end - begin) / 2
				fmt.Fprintf(&path, "C%.0f %.0f %.0f %.0f %.0f %.0f", left+a.x, begin+half, sx, end-half, sx, end)
				switch {
				case s.node < 0:
					fmt.Fprintf(&path, "L%.0f %.0f", sx, end+boxHeight)
				case isDot(d, s.node):
					fmt.Fprintf(&path, "V%.0f", sy)
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
		sx, sy := left+s.x, y(s.layer)
		if n.dot {
			fmt.Fprintf(w, `<circle class="d" cx="%.0f" cy="%.0f" r="4"><title>%s</title></circle>`+"\n", sx, sy+boxHeight/2, html.EscapeString(n.label+"\n"+n.detail))
			continue
		}
		fmt.Fprintf(w, `<g class="b"><title>%s</title><rect x="%.0f" y="%.0f" width="%.0f" height="%d" rx="5" fill="%s"/><text x="%.0f" y="%.0f">%s</text></g>`+"\n",
			html.EscapeString(n.label+"\n"+n.detail), sx-s.width/2, sy, s.width, boxHeight, d.colour(n.group), sx, sy+16, html.EscapeString(n.label))
	}
	io.WriteString(w, "</svg>\n")
}

// signs explains what is drawn besides boxes, as far as there is any.
func (d *drawing) signs() string {
	say := []string{"lines go down, to what waits"}
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
