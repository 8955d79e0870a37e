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
	marks  map[int][]mark // of long lines
}

// A mark is a character of a long line, and how many UTF-16 units come before it
// there. Marks are about markEvery bytes apart.
type mark struct{ at, units int }

const markEvery = 1024

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

// from is the last mark of line n for which before is true, or else its beginning.
// Without marks all questions about a text of one long line took hours.
func (t *lineTable) from(n int, before func(mark) bool) mark {
	lo, hi := t.starts[n], t.end(n)
	first := mark{lo, 0}
	if hi-lo <= markEvery {
		return first
	}
	marks, ok := t.marks[n]
	if !ok {
		m := first
		for i, r := range t.text[lo:hi] {
			if m.at = lo + i; m.at >= lo+(len(marks)+1)*markEvery {
				marks = append(marks, m)
			}
			m.units += utf16Len(r)
		}
		if t.marks == nil {
			t.marks = map[int][]mark{}
		}
		t.marks[n] = marks
	}
	if k := sort.Search(len(marks), func(k int) bool { return !before(marks[k]) }); k > 0 {
		return marks[k-1]
	}
	return first
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
	m := t.from(p.Line, func(m mark) bool { return m.units <= p.Character })
	i, end, units := m.at, t.end(p.Line), m.units
	for i < end {
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
	hi := min(offset, t.end(line))
	m := t.from(line, func(m mark) bool { return m.at <= hi })
	p := position{line, m.units}
	for _, r := range t.text[m.at:max(m.at, hi)] {
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
