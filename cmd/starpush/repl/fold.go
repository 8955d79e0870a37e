package repl

// Text on a terminal: width, folding, diagnostics on narrow screens, the pager.

import (
	"context"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// Text on a terminal: how wide it is, and lines that end where words do.

// columns is how many columns of a terminal s takes; colours take none.
func columns(s string) int {
	n, escape := 0, false
	for _, r := range s {
		switch {
		case escape:
			escape = r != 'm' && r != 'K'
		case r == '\x1b':
			escape = true
		case !unicode.IsControl(r):
			n += diag.RuneWidth(r)
		}
	}
	return n
}

// pad is the space after s that fills it up to width columns.
func pad(s string, width int) string { return strings.Repeat(" ", max(0, width-columns(s))) }

// leastWidth is what is left for text at least, however narrow a terminal is.
const leastWidth = 20

// Fold breaks the lines of text that are wider than width columns (0: none is) where
// words end. Continued text is indented as the text of its line, or as its second column,
// which is two spaces or more from the first.
func Fold(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		end := ""
		if cut, ok := strings.CutSuffix(line, "\n"); ok {
			line, end = cut, "\n"
		}
		if columns(line) <= width {
			b.WriteString(line + end)
			continue
		}
		b.WriteString(strings.Join(fold(line, width, hang(line, width)), "\n") + end)
	}
	return b.String()
}

// hang is the column below which a line goes on.
func hang(line string, width int) int {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if i := strings.Index(text, "  "); i >= 0 {
		rest := text[i:]
		second := indent + columns(text[:i]) + len(rest) - len(strings.TrimLeft(rest, " "))
		if width-second >= max(leastWidth, width/3) {
			return second
		}
	}
	return min(indent+2, max(0, width-leastWidth))
}

// fold breaks one line where words end; the lines after the first begin with indent spaces.
func fold(line string, width, indent int) []string {
	var out []string
	text := strings.TrimLeft(line, " ")
	row := line[:len(line)-len(text)]
	empty := true // row holds no word yet
	for text != "" {
		gap := len(text) - len(strings.TrimLeft(text, " "))
		word, rest, more := strings.Cut(text[gap:], " ")
		if more {
			rest = " " + rest
		}
		if !empty && columns(row)+gap+columns(word) > width {
			out, row = append(out, strings.TrimRight(row, " ")), strings.Repeat(" ", indent)
			gap = 0
		}
		row += text[:gap] + word
		empty, text = false, rest
	}
	return append(out, strings.TrimRight(row, " "))
}

// table writes rows of two columns, indented by two, at most width columns wide (0: any
// width). Where the first column leaves no room, the second follows below it.
func table(rows [][2]string, width int, first func(string) string) string {
	left := 0
	for _, r := range rows {
		left = max(left, columns(r[0]))
	}
	indent := 2 + left + 2
	below := width > 0 && width-indent < max(leastWidth, width/3)
	var b strings.Builder
	for _, r := range rows {
		head := "  " + paint(first, r[0])
		switch {
		case r[1] == "":
			b.WriteString(head + "\n")
			continue
		case below:
			indent = 6
			b.WriteString(head + "\n" + strings.Repeat(" ", indent))
		default:
			b.WriteString(head + pad(r[0], left) + "  ")
		}
		lines := []string{r[1]}
		if width > 0 {
			lines = fold(r[1], max(width-indent, leastWidth), 0)
		}
		b.WriteString(strings.TrimRight(strings.Join(lines, "\n"+strings.Repeat(" ", indent)), " ") + "\n")
	}
	return b.String()
}

// Diagnostics on narrow terminals.

// narrowWidth is the width from which on diagnostics are shown as they are.
const narrowWidth = 60

var (
	escapes    = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")
	sourceLine = regexp.MustCompile(`^ *[0-9]* *(\||\.\.\.)`)
)

// render shows diagnostics. On a narrow terminal their texts are broken where words end,
// and long names of files lose their beginning; the lines of the source are cut already.
func (s *Shell) render(ds lang.Diagnostics) {
	st := s.Style()
	if st.Width <= 0 || st.Width >= narrowWidth {
		ds.Render(s.Err, st)
		return
	}
	var b strings.Builder
	ds.Render(&b, st)
	s.Err.Write([]byte(narrowed(b.String(), st.Width)))
}

// narrowed is the text of diagnostics for a terminal that is width columns wide.
func narrowed(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		plain := escapes.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		arrow, file, place := strings.Cut(plain, "--> ")
		switch {
		case sourceLine.MatchString(plain) || columns(plain) <= width:
			b.WriteString(line)
		case place && strings.TrimSpace(arrow) == "":
			b.WriteString(arrow + "--> " + lastColumns(file, width-columns(arrow)-len("--> ")) + "\n")
		default:
			b.WriteString(Fold(line, width))
		}
	}
	return b.String()
}

// lastColumns is the end of s that fits into width columns, behind … where that is not
// all.
func lastColumns(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	runes := []rune(s)
	n, k := 1, len(runes) // 1: the …
	for k > 0 && n+diag.RuneWidth(runes[k-1]) <= width {
		k--
		n += diag.RuneWidth(runes[k])
	}
	return "…" + string(runes[k:])
}

// Long texts: in a pager where there is one.

// columns is how wide the terminal is, or :set width; 0: there is none.
func (s *Shell) columns() int {
	if s.width > 0 || s.Size == nil {
		return s.width
	}
	width, _ := s.Size()
	return width
}

// page writes text, through the pager when it is longer than the screen.
func (s *Shell) page(ctx context.Context, text string) {
	if text = strings.TrimRight(text, "\n") + "\n"; s.Page != nil && s.Size != nil {
		width, height := s.Size()
		if height > 0 && rows(text, width) >= height {
			err := s.Page(ctx, text)
			s.forgetPresses()
			if err == nil || ctx.Err() != nil {
				return
			}
			s.complain("%v", err)
		}
	}
	io.WriteString(s.Out, text)
}

// rows is how many rows of a terminal text takes.
func rows(text string, width int) int {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if w := columns(strings.TrimSuffix(line, "\n")); width > 0 && w > width {
			n += (w - 1) / width
		}
	}
	return n
}
