package cli

// Performance models as a picture: time against size, both logarithmic.

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/starpush/starpush/engine/perf"
)

// The picture, in pixels.
const (
	plotWidth  = 760
	plotHeight = 420 // of the axes' box with its labels; the legend comes below
	plotLeft   = 84
	plotRight  = 24
	plotTop    = 48
	plotBottom = 62
	legendRow  = 20
	maxSeries  = 8
)

// plotStyle holds the colours, for light and dark pages. Viewers without conditional
// style sheets show the light ones.
const plotStyle = `
svg{font-family:system-ui,"Helvetica Neue",Helvetica,Arial,sans-serif;font-size:12px}
.page{fill:#fff}.ink{fill:#1b1b1b}.faint{fill:#5c5c5c}
.axis{stroke:#1b1b1b;fill:none}.grid{stroke:#e2e2e2}
.curve{fill:none;stroke-width:1.8}.bar{stroke-width:1.2}
.s0{fill:#0b61a4;stroke:#0b61a4}.s1{fill:#c24d00;stroke:#c24d00}.s2{fill:#1b7f3b;stroke:#1b7f3b}.s3{fill:#8a3ffc;stroke:#8a3ffc}.s4{fill:#b0003a;stroke:#b0003a}.s5{fill:#00717a;stroke:#00717a}.s6{fill:#6b5500;stroke:#6b5500}.s7{fill:#444444;stroke:#444444}
.few{fill:#fff}.sample,.scattered{fill:none}
@media(prefers-color-scheme:dark){
.page{fill:#14171a}.ink{fill:#ececec}.faint{fill:#a8adb3}.axis{stroke:#ececec}.grid{stroke:#30363c}
.s0{fill:#62b5f6;stroke:#62b5f6}.s1{fill:#ff9a52;stroke:#ff9a52}.s2{fill:#64d188;stroke:#64d188}.s3{fill:#c4a0ff;stroke:#c4a0ff}.s4{fill:#ff7d9f;stroke:#ff7d9f}.s5{fill:#4fd3dc;stroke:#4fd3dc}.s6{fill:#e0c341;stroke:#e0c341}.s7{fill:#c8c8c8;stroke:#c8c8c8}
.few{fill:#14171a}
}
`

// A series is one group of a file as it is drawn.
type series struct {
	name   string
	file   *perf.File
	points []*perf.Sized
	fit    perf.Fit
}

// plotModels draws the files of one codelet.
func plotModels(files []*perf.File) ([]byte, error) {
	var all []series
	left, more := 0, 0
	for _, f := range files {
		for _, g := range f.Groups {
			s := series{name: archText(g), file: f, fit: f.Fit(g)}
			if len(files) > 1 {
				s.name += ", kernel " + shortKernel(f.Kernel)
			}
			for _, e := range g.Entries {
				if m := e.Median(); e.Size > 0 && m > 0 && !math.IsInf(e.Size, 0) && !math.IsInf(m, 0) {
					s.points = append(s.points, e)
				} else {
					left++
				}
			}
			switch {
			case len(s.points) == 0:
			case len(all) == maxSeries:
				more++
			default:
				all = append(all, s)
			}
		}
	}
	name, unit := files[0].Codelet, files[0].SizeUnit
	if len(all) == 0 {
		return nil, fmt.Errorf("nothing to plot: no measurement of `%s` has a size", name)
	}
	p := newPlot(all, unit)
	p.head(name, files[0].Machine, files[0].Kind == perf.Multiple)
	p.axes()
	for i := range all {
		p.series(i, &all[i])
	}
	notes := plotNotes(all, left, more)
	p.legend(all, notes)
	return p.svg(len(all) + len(notes)), nil
}

// plot collects the picture.
type plot struct {
	b            bytes.Buffer
	x, y         scale
	sizes, times [2]float64 // the least and the largest
	unit         string
}

// scale maps logarithms to pixels.
type scale struct {
	lo, hi   float64 // logarithms, base 10
	from, to float64 // pixels
}

func (s scale) at(v float64) float64 {
	return s.from + (math.Log10(v)-s.lo)/(s.hi-s.lo)*(s.to-s.from)
}

// newScale covers lo to hi with some room.
func newScale(lo, hi, from, to float64) scale {
	l, h := math.Log10(lo), math.Log10(hi)
	pad := max(0.05*(h-l), 0.1)
	return scale{l - pad, h + pad, from, to}
}

func newPlot(all []series, unit string) *plot {
	x0, x1, y0, y1 := math.Inf(1), 0.0, math.Inf(1), 0.0
	times := [2]float64{math.Inf(1), 0}
	for _, s := range all {
		for _, e := range s.points {
			lo, hi := middleHalf(e)
			x0, x1 = min(x0, e.Size), max(x1, e.Size)
			y0, y1 = min(y0, lo), max(y1, hi)
			for _, x := range e.Recent {
				if drawable(x) {
					y0, y1 = min(y0, x), max(y1, x)
				}
			}
			times = [2]float64{min(times[0], e.Median()), max(times[1], e.Median())}
		}
	}
	return &plot{unit: unit, sizes: [2]float64{x0, x1}, times: times, x: newScale(x0, x1, plotLeft, plotWidth-plotRight), y: newScale(y0, y1, plotHeight-plotBottom, plotTop)}
}

// middleHalf is where the middle half of the recent measurements of e lies.
func middleHalf(e *perf.Sized) (lo, hi float64) {
	m := e.Median()
	lo, hi = e.Quartiles()
	if !drawable(lo) {
		lo = m
	}
	if !drawable(hi) {
		hi = m
	}
	return min(lo, m), max(hi, m)
}

// drawable reports whether x has a logarithm.
func drawable(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

func (p *plot) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// text writes a label; anchor is start, middle or end.
func (p *plot) text(x, y float64, class, anchor, s string) {
	p.printf(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, escape(s))
}

// escape makes any text fit for XML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

func (p *plot) head(name, machine string, rings bool) {
	if r := []rune(name); len(r) > 60 {
		name = string(r[:60]) + "…"
	}
	p.printf(`<text x="%d" y="22" class="ink" font-size="16" font-weight="600">%s</text>`+"\n", plotLeft, escape(name))
	p.text(plotLeft, 39, "faint", "start", "time of a task on "+machine+": the median of recent samples, the middle half of them as a bar"+map[bool]string{true: "; rings: the model"}[rings])
}

// A tick is a place on an axis; without a label it is only a line.
type tick struct {
	value float64
	label string
}

// timeTicks are powers of ten, and what lies between when those are few.
func timeTicks(s scale) []tick { return ticks10(s, timeText) }

func ticks10(s scale, label func(float64) string) []tick {
	var out []tick
	few := s.hi-s.lo < 2.5
	every := max(1, int(math.Ceil((s.hi-s.lo)/8)))
	for e := int(math.Floor(s.lo)); e <= int(math.Ceil(s.hi)); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow10(e)
			if l := math.Log10(v); l < s.lo || l > s.hi || m > 1 && !few || e%every != 0 {
				continue
			}
			out = append(out, tick{v, label(v)})
		}
	}
	return out
}

// countText writes a number with a prefix of the metric system: "20 k", "5 M".
func countText(v float64) string {
	for i, p := range []string{"", " k", " M", " G", " T", " P"} {
		if u := math.Pow10(3 * i); v >= 1e-3 && v < 999.5*u {
			return fmt.Sprintf("%.3g%s", v/u, p)
		}
	}
	return fmt.Sprintf("%.3g", v)
}

// byteTicks are powers of two.
func byteTicks(s scale) []tick {
	lo, hi := int(math.Ceil(s.lo/math.Log10(2))), int(math.Floor(s.hi/math.Log10(2)))
	every := max(1, (hi-lo+8)/8)
	var out []tick
	for e := lo; e <= hi; e++ {
		if (e-lo)%every == 0 && e >= 0 && e < 62 {
			out = append(out, tick{math.Ldexp(1, e), bytesText(1 << e)})
		}
	}
	return out
}

// withValues returns the ticks of an axis that can be read: where values are all the same
// or two ticks are not to be had, the values themselves are ticks, and round numbers
// stay where they are at least apart pixels off.
func withValues(ticks []tick, s scale, values [2]float64, apart float64, label func(float64) string) []tick {
	if len(ticks) > 1 && values[0] < values[1] {
		return ticks
	}
	out := []tick{{values[0], label(values[0])}}
	for _, t := range append([]tick{{values[1], label(values[1])}}, ticks...) {
		if !slices.ContainsFunc(out, func(o tick) bool { return math.Abs(s.at(o.value)-s.at(t.value)) < apart }) {
			out = append(out, t)
		}
	}
	return out
}

func (p *plot) axes() {
	x0, x1, y0, y1 := p.x.from, p.x.to, p.y.from, p.y.to
	xs := ticks10(p.x, countText)
	label := p.unit + " (logarithmic)"
	if p.unit == "bytes" {
		xs, label = byteTicks(p.x), "size of all operands (bytes, logarithmic)"
	}
	exact := countText
	if p.unit == "bytes" {
		exact = func(v float64) string { return bytesText(int64(v)) }
	}
	xs = withValues(xs, p.x, p.sizes, 90, exact)
	ys := withValues(timeTicks(p.y), p.y, p.times, 24, timeText)
	for _, t := range xs {
		x := p.x.at(t.value)
		p.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="grid"/>`+"\n", x, y0, x, y1)
		p.text(x, y0+18, "ink", "middle", t.label)
	}
	for _, t := range ys {
		y := p.y.at(t.value)
		p.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="grid"/>`+"\n", x0, y, x1, y)
		p.text(x0-8, y+4, "ink", "end", t.label)
	}
	p.printf(`<path d="M%.1f %.1fV%.1fH%.1f" class="axis"/>`+"\n", x0, y1, y0, x1)
	p.text((x0+x1)/2, y0+42, "ink", "middle", label)
	p.printf(`<text transform="translate(18 %.1f) rotate(-90)" class="ink" text-anchor="middle">time of a task (seconds, logarithmic)</text>`+"\n", (y0+y1)/2)
}

// recentWidth is the room, in pixels, in which the recent samples of a footprint lie side by
// side, the oldest at the left.
const recentWidth = 14

// series draws samples, bars, medians and the curve of a series.
func (p *plot) series(i int, s *series) {
	p.printf(`<g class="s%d" stroke="%s" fill="%s">`+"\n", i, plotColors[i], plotColors[i])
	for _, e := range s.points {
		p.samples(e)
	}
	if s.fit.Err == nil {
		p.curve(s)
	}
	for _, e := range s.points {
		x, y := p.x.at(e.Size), p.y.at(e.Median())
		lo, hi := middleHalf(e)
		p.printf(`<g><title>%s</title>`, escape(sampleText(e)))
		if hi > lo {
			a, b := p.y.at(hi), p.y.at(lo)
			p.printf(`<path class="bar" d="M%.1f %.1fH%.1fM%.1f %.1fV%.1fM%.1f %.1fH%.1f"/>`, x-5, a, x+5, x, a, b, x-5, b, x+5)
		}
		switch {
		case e.Samples() < perf.DefaultMinSamples:
			p.printf(`<circle cx="%.1f" cy="%.1f" r="3.2" class="few" fill="#fff" stroke-width="1.5"/></g>`+"\n", x, y)
		default:
			p.printf(`<circle cx="%.1f" cy="%.1f" r="3.2" stroke="none"/></g>`+"\n", x, y)
		}
		if e.Scattered() {
			p.printf(`<path class="scattered" fill="none" stroke-width="1.3" d="M%.1f %.1fl8 8l-8 8l-8 -8z"/>`+"\n", x, y-8)
		}
	}
	p.b.WriteString("</g>\n")
}

// samples draws the recent samples of e.
func (p *plot) samples(e *perf.Sized) {
	x := p.x.at(e.Size)
	var d strings.Builder
	for k, t := range e.Recent {
		if drawable(t) {
			at := x
			if n := len(e.Recent); n > 1 {
				at += recentWidth * (float64(k)/float64(n-1) - 0.5)
			}
			fmt.Fprintf(&d, "M%.1f %.1fh.01", at, p.y.at(t))
		}
	}
	if d.Len() > 0 {
		p.printf(`<path class="sample" fill="none" stroke-width="3" stroke-linecap="round" stroke-opacity=".6" d="%s"/>`+"\n", d.String())
	}
}

// sampleText says what is known of a footprint.
func sampleText(e *perf.Sized) string {
	lo, hi := e.Quartiles()
	text := fmt.Sprintf("%s: %s, the middle half from %s to %s, all from %s to %s; %s", e.What, timeText(e.Median()), timeText(lo), timeText(hi),
		timeText(e.Min), timeText(e.Max), counted(e.Samples(), "sample"))
	if note := sampleNote(e); note != "" {
		text += " (" + note + ")"
	}
	return text
}

// sampleNote says why an estimate made of e is not to be relied on; "" if it is.
func sampleNote(e *perf.Sized) string {
	switch few, scattered := e.Samples() < perf.DefaultMinSamples, e.Scattered(); {
	case few && scattered:
		return "few, scattered"
	case few:
		return "few"
	case scattered:
		return "scattered"
	}
	return ""
}

// curve draws a·n^b + c as a line. A polynomial of several parameters is no
// function of the size: it gets a ring for each entry.
func (p *plot) curve(s *series) {
	if s.fit.Kind == perf.Multiple {
		for _, e := range s.points {
			if y := s.fit.At(e.Size, e.Params, s.file.Terms); y > 0 && !math.IsInf(y, 0) {
				p.printf(`<circle cx="%.1f" cy="%.1f" r="6" fill="none"/>`+"\n", p.x.at(e.Size), p.y.at(y))
			}
		}
		return
	}
	const steps = 80
	open := false
	var d strings.Builder
	for k := range steps + 1 {
		l := p.x.lo + (p.x.hi-p.x.lo)*float64(k)/steps
		n := math.Pow(10, l)
		t := s.fit.At(n, nil, nil)
		in := t > 0 && math.Log10(t) >= p.y.lo && math.Log10(t) <= p.y.hi
		if in {
			fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "L", false: "M"}[open], p.x.at(n), p.y.at(t))
		}
		open = in
	}
	p.printf(`<path class="curve" d="%s"/>`+"\n", d.String())
}

// plotColors are those of the light style, for viewers that know no style sheets.
var plotColors = [maxSeries]string{"#0b61a4", "#c24d00", "#1b7f3b", "#8a3ffc", "#b0003a", "#00717a", "#6b5500", "#444444"}

func (p *plot) legend(all []series, notes []string) {
	y := float64(plotHeight + 6)
	for i, s := range all {
		n, drawn := int64(0), 0
		for _, e := range s.points {
			n += e.Samples()
			drawn += len(e.Recent)
		}
		text := fmt.Sprintf("%s: %s of %s", s.name, counted(n, "sample"), counted(len(s.points), "footprint"))
		if int64(drawn) < n {
			text += fmt.Sprintf(", the last %d drawn", drawn)
		}
		if s.fit.Kind != perf.History {
			text += ";  " + fitText(s.file, s.fit)
		}
		p.printf(`<circle class="s%d" cx="%d" cy="%.1f" r="4" fill="%s"/>`+"\n", i, plotLeft+4, y-4, plotColors[i])
		p.text(plotLeft+16, y, "ink", "start", text)
		y += legendRow
	}
	for _, n := range notes {
		p.text(plotLeft+16, y, "faint", "start", n)
		y += legendRow
	}
}

// plotNotes say what marks mean, and what is not in the picture.
func plotNotes(all []series, left, more int) (out []string) {
	few, scattered := 0, 0
	for _, s := range all {
		for _, e := range s.points {
			if e.Samples() < perf.DefaultMinSamples {
				few++
			}
			if e.Scattered() {
				scattered++
			}
		}
	}
	if few > 0 {
		out = append(out, fmt.Sprintf("hollow: %s with fewer than %d samples", counted(few, "footprint"), perf.DefaultMinSamples))
	}
	if scattered > 0 {
		out = append(out, fmt.Sprintf("in a diamond: %s with scattered samples, whose middle half is wider than half the median", counted(scattered, "footprint")))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more are not drawn", more))
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("left out, without a size or a time: %s", counted(left, "footprint")))
	}
	return out
}

// svg is the whole picture.
func (p *plot) svg(rows int) []byte {
	h := plotHeight + legendRow*rows
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, h, plotWidth, h)
	fmt.Fprintf(&out, "<style>%s</style>\n", plotStyle)
	fmt.Fprintf(&out, `<rect class="page" width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, h)
	out.Write(p.b.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}
