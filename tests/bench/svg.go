package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// plot is a picture of lines over one axis of numbers.
type plot struct {
	title  string
	desc   string // how it was made and what it shows, for readers of the file
	x, y   string // what the axes count
	logX   bool
	logY   bool
	series []series
}

// series is one line; its points go from left to right.
type series struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// The picture, in pixels: the plane of the axes and what is around it.
const (
	svgWidth, svgHeight = 760, 420
	planeLeft, planeTop = 70, 56
	planeRight          = 570 // names of the lines stand to the right of it
	planeBottom         = 360
	nameHeight          = 15 // between names of lines
)

// colours are those of Okabe and Ito, which colour-blind readers can tell apart.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f", "#b8a000", "#8c564b"}

// scale places numbers on an axis.
type scale struct {
	lo, hi   float64
	from, to float64 // pixels
	log      bool
}

func (s *scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(v)
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

// write makes the SVG. Every series has a point, and numbers on logarithmic axes
// are positive.
func (p *plot) write() ([]byte, error) {
	var xs, ys []float64
	for _, s := range p.series {
		if len(s.points) == 0 {
			return nil, fmt.Errorf("%s: the line %s has no points", p.title, s.name)
		}
		for _, q := range s.points {
			if bad(q.x, p.logX) || bad(q.y, p.logY) {
				return nil, fmt.Errorf("%s: %s: the point %v does not fit the axes", p.title, s.name, q)
			}
			xs, ys = append(xs, q.x), append(ys, q.y)
		}
	}
	if len(xs) == 0 {
		return nil, fmt.Errorf("%s: no lines", p.title)
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	ticks := niceTicks(slices.Max(ys))
	if p.logY {
		ticks = logTicks(slices.Min(ys), slices.Max(ys))
	}
	h := scale{xs[0], xs[len(xs)-1], planeLeft + 12, planeRight - 12, p.logX}
	if h.lo == h.hi { // one place only: in the middle
		h.lo, h.hi = h.lo/2, h.hi*2+1
	}
	v := scale{ticks[0], ticks[len(ticks)-1], planeBottom, planeTop, p.logY}

	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">`+"\n", svgWidth, svgHeight, svgWidth, svgHeight)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", escape(p.title), escape(p.desc))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", svgWidth, svgHeight)
	text(&b, planeLeft, 28, "start", `font-size="16" font-weight="bold"`, p.title)
	for _, t := range ticks {
		y := v.at(t)
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/>`+"\n", planeLeft, y, planeRight)
		text(&b, planeLeft-8, y+4, "end", "", short(t))
	}
	taken := math.Inf(-1)
	for _, x := range xs {
		at := h.at(x)
		fmt.Fprintf(&b, `<path d="M%.1f %dv5" stroke="#222"/>`+"\n", at, planeBottom)
		if at-taken >= 26 {
			text(&b, at, planeBottom+19, "middle", "", short(x))
			taken = at
		}
	}
	fmt.Fprintf(&b, `<path d="M%d %dV%dH%d" stroke="#222" fill="none"/>`+"\n", planeLeft, planeTop, planeBottom, planeRight)
	text(&b, (planeLeft+planeRight)/2, planeBottom+42, "middle", "", p.x)
	text(&b, planeLeft, 46, "start", "", p.y)

	names := spread(p.series, &v)
	for i, s := range p.series {
		colour := colours[i%len(colours)]
		var line strings.Builder
		for k, q := range s.points {
			fmt.Fprintf(&line, "%c%.1f %.1f", "ML"[min(k, 1)], h.at(q.x), v.at(q.y))
		}
		fmt.Fprintf(&b, `<g stroke="%s" fill="%s"><path d="%s" fill="none" stroke-width="2"/>`+"\n", colour, colour, line.String())
		for _, q := range s.points {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3"><title>%s: %s, %s</title></circle>`+"\n", h.at(q.x), v.at(q.y), escape(s.name), short(q.x), number(q.y))
		}
		last := s.points[len(s.points)-1]
		fmt.Fprintf(&b, `<path d="M%.1f %.1fL%d %.1f" stroke-width="0.7" stroke-dasharray="2 2" fill="none"/></g>`+"\n", h.at(last.x)+4, v.at(last.y), planeRight+12, names[i])
		text(&b, planeRight+16, names[i]+4, "start", fmt.Sprintf(`fill="%s"`, colour), fmt.Sprintf("%s  %s", s.name, number(last.y)))
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

func bad(x float64, log bool) bool {
	return math.IsNaN(x) || math.IsInf(x, 0) || x < 0 || log && x == 0
}

func text(b *bytes.Buffer, x, y float64, anchor, attributes, s string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, attributes, escape(s))
}

func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // a Buffer takes all
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}

// short writes a number for an axis: 0.25, 16, 4k, 1M; k is 1000 or 1024 where
// that is a whole number of them.
func short(x float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1 << 20, "Mi"}, {1e3, "k"}, {1 << 10, "Ki"}} {
		if x >= unit.size && math.Mod(x, unit.size) == 0 {
			return fmt.Sprintf("%g%s", x/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%g", math.Round(x*1e6)/1e6)
}

// niceTicks are 4 to 9 even steps from 0 to hi or above.
func niceTicks(hi float64) []float64 {
	if hi <= 0 {
		hi = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(hi)))
	for _, f := range []float64{0.1, 0.2, 0.5, 1} {
		if hi/(step*f) <= 8 {
			step *= f
			break
		}
	}
	var out []float64
	for i := 0; ; i++ {
		out = append(out, float64(i)*step)
		if out[i] >= hi {
			return out
		}
	}
}

// logTicks are the steps 1, 2, 5, 10 from lo or below to hi or above.
func logTicks(lo, hi float64) []float64 {
	var out []float64
	for e := math.Floor(math.Log10(lo)); ; e++ {
		for _, f := range []float64{1, 2, 5} {
			t := f * math.Pow(10, e)
			if t <= lo { // the last one that is not above lo begins the axis
				out = out[:0]
			}
			out = append(out, t)
			if t >= hi && len(out) > 1 {
				return out
			}
		}
	}
}

// spread places the names of the lines at their ends, moved apart.
func spread(all []series, v *scale) []float64 {
	order := make([]int, len(all))
	at := make([]float64, len(all))
	for i, s := range all {
		order[i], at[i] = i, v.at(s.points[len(s.points)-1].y)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	// Down from the top, then up from the bottom where that went too far.
	for k := 1; k < len(order); k++ {
		at[order[k]] = max(at[order[k]], at[order[k-1]]+nameHeight)
	}
	limit := float64(planeBottom + nameHeight)
	for k := len(order) - 1; k >= 0; k-- {
		at[order[k]] = min(at[order[k]], limit)
		limit = at[order[k]] - nameHeight
	}
	return at
}
