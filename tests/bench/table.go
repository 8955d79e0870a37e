package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// table is what a command prints: a heading, lines of cells, notes.
type table struct {
	title string
	head  []string
	rows  [][]string
	notes []string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints t, as Markdown or in columns: the first to the left, the others to
// the right.
func (t *table) write(w io.Writer, markdown bool) error {
	widths := make([]int, len(t.head))
	for _, cells := range append([][]string{t.head}, t.rows...) {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	if markdown {
		fmt.Fprintf(&b, "**%s**\n\n", t.title)
	} else {
		fmt.Fprintf(&b, "%s\n\n", t.title)
	}
	line := func(cells []string) {
		var out []string
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				out = append(out, c+pad)
			} else {
				out = append(out, pad+c)
			}
		}
		if markdown {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(out, " | "))
		} else {
			b.WriteString(strings.TrimRight(strings.Join(out, "  "), " ") + "\n")
		}
	}
	line(t.head)
	var rule []string
	for i, n := range widths {
		switch {
		case !markdown:
			rule = append(rule, strings.Repeat("-", n))
		case i == 0:
			rule = append(rule, strings.Repeat("-", max(n, 3)))
		default:
			rule = append(rule, strings.Repeat("-", max(n-1, 2))+":")
		}
	}
	if markdown {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(rule, " | "))
	} else {
		b.WriteString(strings.Join(rule, "  ") + "\n")
	}
	for _, r := range t.rows {
		line(r)
	}
	b.WriteString("\n")
	for _, n := range t.notes {
		b.WriteString(n + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// number writes x with three digits or so: 0.081, 4.62, 247.
func number(x float64) string {
	switch a := math.Abs(x); {
	case a == 0:
		return "0"
	case a < 1:
		return fmt.Sprintf("%.3f", x)
	case a < 10:
		return fmt.Sprintf("%.2f", x)
	case a < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// ratio writes a quotient: "21.3 ×".
func ratio(x float64) string { return number(x) + " ×" }

// none stands where there is nothing to say.
const none = "–"
