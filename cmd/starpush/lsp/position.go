package lsp

// Places: the protocol counts lines and UTF-16 units, the compiler bytes.

import (
	"sort"
	"unicode/utf8"
)

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// A lineTable knows where the lines of a text begin. Lines end with \n, \r\n or \r.
type lineTable struct {
	text   string
	starts []int
}

func newLineTable(text string) *lineTable {
	t := &lineTable{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// end is where line n ends, its terminator left out.
func (t *lineTable) end(n int) int {
	if n+1 >= len(t.starts) {
		return len(t.text)
	}
	lo, hi := t.starts[n], t.starts[n+1]
	if t.text[hi-1] == '\n' {
		hi--
		if hi > lo && t.text[hi-1] == '\r' {
			hi--
		}
		return hi
	}
	return hi - 1
}

// offset converts a position; one outside of the text, or inside of a character,
// goes to the next place before it that exists.
func (t *lineTable) offset(p position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.starts):
		return len(t.text)
	}
	i, end := t.starts[p.Line], t.end(p.Line)
	for units := 0; i < end; {
		r, n := utf8.DecodeRuneInString(t.text[i:end])
		if units += utf16Len(r); units > p.Character {
			break
		}
		i += n
	}
	return i
}

// position converts an offset in bytes.
func (t *lineTable) position(offset int) position {
	offset = max(0, min(offset, len(t.text)))
	line := sort.SearchInts(t.starts, offset+1) - 1
	p := position{Line: line}
	for _, r := range t.text[t.starts[line]:max(t.starts[line], min(offset, t.end(line)))] {
		p.Character += utf16Len(r)
	}
	return p
}

func (t *lineTable) span(lo, hi int) textRange {
	return textRange{t.position(lo), t.position(max(lo, hi))}
}

func utf16Len(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
