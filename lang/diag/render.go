package diag

// Render: diagnostics as text for people, with the source lines they speak of.

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Style says how diagnostics are rendered. The zero value is plain text in
// which only very long source lines are cut.
type Style struct {
	Color bool // ANSI colours
	Width int  // columns of the terminal; source lines are cut to it. 0: not known
}

const (
	maxLabels = 4   // labels besides the place itself
	maxWidth  = 400 // columns, when the width of the output is not known
)

// Render writes ds as text: each diagnostic with its source lines, `^` below the
// place to change and `-` below causes, then notes and helps. Diagnostics with equal
// code and message are written once, with the lines of the further places. Of long lists
// and long texts it writes the beginning, errors before warnings, as [Diagnostics.Bounded]
// has it, and at the end how many diagnostics it left out. It returns the first error of w.
func (ds Diagnostics) Render(w io.Writer, st Style) error {
	if w == nil {
		return errors.New("diagnostics cannot be written: the writer is nil")
	}
	ds = ds.Bounded()
	more := make(map[group][]Span, len(ds))
	first := make([]bool, len(ds))
	omitted := 0
	for i := range ds {
		omitted += ds[i].Omitted
		k := ds[i].group()
		at, seen := more[k]
		if seen {
			at = append(at, ds[i].Span)
		}
		more[k] = at
		first[i] = !seen
	}
	var b strings.Builder
	for i := range ds {
		if !first[i] {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		r := renderer{b: &b, st: st, d: &ds[i]}
		r.render(more[ds[i].group()])
	}
	if omitted > 0 {
		b.WriteString("\n" + OmittedText(omitted) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Render writes d as text, as Diagnostics.Render does.
func (d *Diagnostic) Render(w io.Writer, st Style) error { return Diagnostics{*d}.Render(w, st) }

// Short is d on one line without its place, for prompts:
// "error[E0203]: module `blas` has no codelet `scla`; did you mean `scal`?".
// It holds the message and the first help.
func (d *Diagnostic) Short() string {
	s := d.head() + ": " + clean(firstLine(d.Message))
	if len(d.Help) > 0 {
		s += "; " + clean(firstLine(d.Help[0]))
	}
	return s
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// head is "error[E0301]", or "error" without a code.
func (d *Diagnostic) head() string {
	if d.Code == "" {
		return d.Severity.String()
	}
	return d.Severity.String() + "[" + d.Code + "]"
}

// renderer writes one diagnostic.
type renderer struct {
	b      *strings.Builder
	st     Style
	d      *Diagnostic
	gutter int // width of the line numbers
}

// mark is one underlined range in a line.
type mark struct {
	span    Span
	text    string
	primary bool
}

// ANSI colours.
const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[1;34m"
	cyan   = "\x1b[1;36m"
)

func (r *renderer) paint(colour, s string) string {
	if !r.st.Color || s == "" {
		return s
	}
	return colour + s + reset
}

// severityColour is the colour of the head and the caret.
func (r *renderer) severityColour() string {
	if r.d.Severity == Warning {
		return yellow
	}
	return red
}

func (r *renderer) render(more []Span) {
	d := r.d
	msg := strings.Split(d.Message, "\n")
	fmt.Fprintf(r.b, "%s%s\n", r.paint(r.severityColour(), d.head()), r.paint(bold, ": "+clean(msg[0])))
	for _, line := range msg[1:] {
		fmt.Fprintf(r.b, "  %s\n", clean(line))
	}

	var marks []mark
	if !d.Span.IsZero() {
		marks = append(marks, mark{d.Span, d.Label, true})
	}
	for i, l := range d.Labels {
		if i == maxLabels {
			break
		}
		if !l.Span.IsZero() {
			marks = append(marks, mark{l.Span, l.Text, false})
		}
	}
	var files []string
	byFile := map[string][]mark{}
	r.gutter = 1
	for _, m := range marks {
		if byFile[m.span.File] == nil {
			files = append(files, m.span.File)
		}
		byFile[m.span.File] = append(byFile[m.span.File], m)
		r.gutter = max(r.gutter, len(strconv.Itoa(m.span.Start.Line)))
	}
	for i, f := range files {
		r.snippet(byFile[f], i == 0)
	}

	foot := r.foot(more)
	if len(foot) > 0 && len(marks) > 0 {
		r.bar("")
	}
	for _, f := range foot {
		for i, line := range strings.Split(f.text, "\n") {
			pad := strings.Repeat(" ", r.gutter)
			if i == 0 {
				fmt.Fprintf(r.b, "%s %s %s %s\n", pad, r.paint(blue, "="), r.paint(f.colour, f.word+":"), clean(line))
			} else {
				fmt.Fprintf(r.b, "%s   %s  %s\n", pad, strings.Repeat(" ", len(f.word)), clean(line))
			}
		}
	}
}

// footer is a note or a help.
type footer struct{ word, colour, text string }

// foot collects the notes and helps in the order they are shown.
func (r *renderer) foot(more []Span) []footer {
	d := r.d
	var out []footer
	for _, f := range d.Stack {
		out = append(out, footer{"note", bold, fmt.Sprintf("in `%s`, called at %s:%d:%d", f.Call, f.Span.File, f.Span.Start.Line, f.Span.Start.Col)})
	}
	for _, n := range d.Notes {
		out = append(out, footer{"note", bold, n})
	}
	for _, h := range d.Help {
		out = append(out, footer{"help", cyan, h})
	}
	if len(more) > 0 {
		out = append(out, footer{"note", bold, further(more, d.Span.File)})
	}
	return out
}

// maxFurther is how many further places are named.
const maxFurther = 5

// further says where a message holds too. Places in other files are counted only.
func further(more []Span, file string) string {
	text := "and 1 more place"
	if len(more) > 1 {
		text = fmt.Sprintf("and %d more places", len(more))
	}
	var lines []string
	for _, at := range more {
		line := strconv.Itoa(at.Start.Line)
		if at.File == file && at.Start.Line > 0 && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	switch {
	case len(lines) == 0:
		return text
	case len(lines) == 1:
		return text + ", in line " + lines[0]
	case len(lines) > maxFurther:
		return text + ", in lines " + strings.Join(lines[:maxFurther], ", ") + ", …"
	}
	return text + ", in lines " + strings.Join(lines[:len(lines)-1], ", ") + " and " + lines[len(lines)-1]
}

// bar writes a line of the gutter without a number.
func (r *renderer) bar(text string) {
	fmt.Fprintf(r.b, "%s %s", strings.Repeat(" ", r.gutter), r.paint(blue, "|"))
	if text != "" {
		r.b.WriteString(" " + text)
	}
	r.b.WriteByte('\n')
}

// snippet writes the lines of one file that marks point into.
func (r *renderer) snippet(marks []mark, first bool) {
	arrow := "-->"
	if !first {
		arrow = ":::"
	}
	at := marks[0].span
	fmt.Fprintf(r.b, "%s%s %s:%d:%d\n", strings.Repeat(" ", r.gutter), r.paint(blue, arrow), clean(at.File), at.Start.Line, at.Start.Col)
	shown := marks[:0:0]
	for _, m := range marks {
		if m.span.Source() != nil {
			shown = append(shown, m)
		}
	}
	if len(shown) == 0 {
		return
	}
	sort.SliceStable(shown, func(i, j int) bool {
		a, b := shown[i].span.Start, shown[j].span.Start
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Offset < b.Offset
	})
	r.bar("")
	last := 0
	for i := 0; i < len(shown); {
		j := i
		for j < len(shown) && shown[j].span.Start.Line == shown[i].span.Start.Line {
			j++
		}
		line := shown[i].span.Start.Line
		if last > 0 && line > last+1 {
			r.b.WriteString(r.paint(blue, "...") + "\n")
		}
		r.line(line, shown[i:j])
		last = line
		i = j
	}
}

// line writes source line n and its marks.
func (r *renderer) line(n int, marks []mark) {
	focus := marks[0]
	for _, m := range marks {
		if m.primary {
			focus = m
			break
		}
	}
	cells := r.layoutLine(n, focus.span)
	from, to := r.window(cells, focus.span)
	text, column := cells.cut(from, to)
	num := fmt.Sprintf("%*d |", r.gutter, n)
	r.b.WriteString(r.paint(blue, num))
	if text != "" {
		r.b.WriteString(" " + text)
	}
	r.b.WriteByte('\n')
	for _, m := range marks {
		a, z := cells.columns(m.span)
		a, z = column(a), column(z)
		sign, colour := "-", blue
		if m.primary {
			sign, colour = "^", r.severityColour()
		}
		out := strings.Repeat(sign, max(1, z-a))
		if m.text != "" {
			out += " " + clean(firstLine(m.text))
		}
		r.bar(strings.Repeat(" ", a) + r.paint(colour, out))
	}
}

// lineCells is a source line, or the piece of a long one around a mark, as it is shown.
type lineCells struct {
	line   string
	first  int     // runes of the line before the piece
	before bool    // the line has text before the piece
	after  bool    // the line has text after the piece
	col    []int32 // where each rune starts, and the end, from 0
}

// width is how many columns of the output a line may take, the gutter included.
func (r *renderer) width() int {
	if r.st.Width > 0 {
		return r.st.Width
	}
	return maxWidth
}

// layoutLine computes the columns of line n. Of a line too long to be shown whole it
// takes the piece around at: a line may be the whole file of a generator, with a
// diagnostic for each of its words.
func (r *renderer) layoutLine(n int, at Span) lineCells {
	src := at.Source()
	line := src.Line(n)
	c := lineCells{line: line}
	if reach := 4 * (r.width() + 20); len(line) > 4*reach { // runes have up to four bytes
		start := src.lines[n-1]
		lo, hi := max(start, at.Start.Offset-reach), min(start+len(line), at.Start.Offset+reach)
		hi = max(hi, lo)
		for lo > start && !utf8.RuneStart(src.Text[lo]) {
			lo--
		}
		for hi < start+len(line) && !utf8.RuneStart(src.Text[hi]) {
			hi++
		}
		c = lineCells{line: src.Text[lo:hi], first: src.Pos(lo).Col - 1, before: lo > start, after: hi < start+len(line)}
	}
	c.col = make([]int32, 0, utf8.RuneCountInString(c.line)+1)
	column := 0
	for _, ru := range c.line {
		c.col = append(c.col, int32(column))
		if ru >= ' ' && ru < 0x7f {
			column++
		} else {
			column += textWidth(visible(ru))
		}
	}
	c.col = append(c.col, int32(column))
	return c
}

// width is how many columns the text of c takes.
func (c lineCells) width() int { return int(c.col[len(c.col)-1]) }

// columns returns the range of columns that s underlines in its first line.
func (c lineCells) columns(s Span) (from, to int) {
	last := len(c.col) - 1
	a := s.Start.Col - 1 - c.first
	from = int(c.col[min(max(a, 0), last)])
	if !c.after {
		from += max(0, a-last)
	}
	if s.End.Line != s.Start.Line {
		return from, c.width()
	}
	return from, int(c.col[min(max(s.End.Col-1-c.first, 0), last)])
}

// window chooses which columns of the line to show: all of them when they fit,
// else those around the marked range.
func (r *renderer) window(c lineCells, s Span) (from, to int) {
	total := c.width()
	room := r.width() - r.gutter - 3
	if total <= room {
		return 0, total
	}
	room = max(room, 20)
	a, z := c.columns(s)
	z = min(z, a+room/2)
	from = max(0, (a+z)/2-room/2)
	to = min(total, from+room)
	from = max(0, to-room)
	return from, to
}

// cut returns the text of the columns [from, to), with dots where something is
// missing, and the function that turns columns of c into columns of the text.
func (c lineCells) cut(from, to int) (string, func(int) int) {
	total := c.width()
	const dots = "..."
	var b strings.Builder
	lead := 0
	if from > 0 || c.before {
		b.WriteString(dots)
		lead = len(dots)
	}
	tail := 0
	if to < total || c.after {
		tail = len(dots)
	}
	start := -1
	i := 0
	for _, ru := range c.line {
		lo, hi := int(c.col[i]), int(c.col[i+1])
		i++
		if lo < from+lead || hi > to-tail {
			continue
		}
		if start < 0 {
			start = lo
		}
		b.WriteString(visible(ru))
	}
	if start < 0 {
		start = from + lead
	}
	if tail > 0 {
		b.WriteString(dots)
	}
	text := strings.TrimRight(b.String(), " ")
	end := textWidth(b.String())
	return text, func(col int) int {
		return min(max(col-start+lead, 0), max(end, 0)+max(0, col-total))
	}
}
