package repl

// Diagnostics on narrow terminals.

import (
	"regexp"
	"strings"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

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
