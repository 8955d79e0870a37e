package repl

// Text on a terminal: how wide it is, and lines that end where words do.

import (
	"strings"
	"unicode"

	"github.com/starpush/starpush/lang/diag"
)

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
// words end. What goes on stands below the text of its line: below the second column
// where a line has two, apart by two spaces or more.
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

// table writes rows of two columns, indented by two, at most width columns wide (0:
// any width). Where the first column leaves no room, the second stands below it.
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
