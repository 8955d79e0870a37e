package repl

// Lists of what Tab offers.

import (
	"fmt"
	"strings"
)

// namesInColumns lists candidates side by side, read from top to bottom, on less than half of a
// screen of height rows (0: of any number); a second Tab shows more of them.
func namesInColumns(candidates []Candidate, width, height int) string {
	if width <= 0 {
		width = 80
	}
	most := len(candidates)
	if height > 0 {
		most = max(3, height/2-1)
	}
	var names []string
	widest := 0
	for _, c := range candidates {
		names = append(names, c.Text)
		widest = max(widest, columns(c.Text)+2)
	}
	across := max(1, (width-1)/widest)
	down := (len(names) + across - 1) / across
	cut := 0
	if down > most {
		cut = len(names) - most*across
		down = most
	}
	var b strings.Builder
	for i := range down {
		line := ""
		for k := i; k < down*across && k < len(names); k += down {
			line += names[k] + pad(names[k], widest)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if cut > 0 {
		fmt.Fprintf(&b, "… and %d more\n", cut)
	}
	return b.String()
}

// described lists at most rows candidates, one to a line, with what is known of them.
func described(candidates []Candidate, width, rows int) string {
	if width <= 0 {
		width = 80
	}
	widest, cut := 0, 0
	if len(candidates) > rows {
		cut = len(candidates) - rows + 1
		candidates = candidates[:rows-1]
	}
	for _, c := range candidates {
		widest = max(widest, columns(c.Text))
	}
	var b strings.Builder
	for _, c := range candidates {
		detail, gap := c.Detail, "  "
		if strings.HasPrefix(detail, "(") && len(candidates) == 1 {
			gap = "" // the signature belongs to the name
		}
		line := "  " + c.Text + pad(c.Text, widest) + gap + strings.TrimSpace(detail+"  "+c.Doc)
		b.WriteString(cutTo(strings.TrimRight(line, " "), width-1) + "\n")
	}
	if cut > 0 {
		fmt.Fprintf(&b, "  … and %d more; more letters make it fewer\n", cut)
	}
	return b.String()
}

// cutTo shortens a line to width columns.
func cutTo(s string, width int) string {
	if width < 1 || columns(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += columns(string(r)); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}
