// Package diag holds what starpush says about a script: positions, diagnostics
// as data, the table of codes, the wording, and the rendering as text and JSON.
//
// Programs that embed scripts meet its types in package lang, under the same names. They
// are plain data: a program may keep or change them.
package diag

import (
	"fmt"
	"sort"
)

// Pos is a place in a source: Offset in bytes from 0, Line and Col (runes) from 1.
type Pos struct {
	Offset int `json:"offset"`
	Line   int `json:"line"`
	Col    int `json:"col"`
}

// Span is a range of a source. End is the place behind the last rune.
type Span struct {
	File  string `json:"file"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`

	src *Source // the text, so that a diagnostic carries its lines
}

// IsZero reports whether s points nowhere.
func (s Span) IsZero() bool { return s.File == "" && s.Start.Line == 0 }

// Source returns the text s points into, or nil.
func (s Span) Source() *Source { return s.src }

// Source is the text of one script. It is immutable.
type Source struct {
	Name string
	Text string

	lines []int    // offset of each line's first byte
	marks []column // in long lines: columns of characters markEvery bytes apart
}

type column struct{ offset, col int }

// Lines that are longer than this have marks: places in them would take as long to find
// as the line is, and all places of a script of one long line hours.
const markEvery = 4096

// NewSource makes a source; name is what diagnostics call it.
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	for k, lo := range s.lines {
		hi := len(text)
		if k+1 < len(s.lines) {
			hi = s.lines[k+1]
		}
		if hi-lo <= markEvery {
			continue
		}
		col, next := 1, lo+markEvery
		for i := range text[lo:hi] {
			if lo+i >= next {
				s.marks = append(s.marks, column{lo + i, col})
				next += markEvery
			}
			col++
		}
	}
	return s
}

// Pos converts a byte offset; offsets outside are clamped.
func (s *Source) Pos(offset int) Pos {
	offset = max(0, min(offset, len(s.Text)))
	line := sort.SearchInts(s.lines, offset+1) // number of line starts at or before offset
	start := s.lines[line-1]
	col := 1
	if k := sort.Search(len(s.marks), func(k int) bool { return s.marks[k].offset > offset }) - 1; k >= 0 && s.marks[k].offset > start {
		start, col = s.marks[k].offset, s.marks[k].col
	}
	for range s.Text[start:offset] {
		col++
	}
	return Pos{Offset: offset, Line: line, Col: col}
}

// Span converts a range of byte offsets.
func (s *Source) Span(lo, hi int) Span {
	return Span{File: s.Name, Start: s.Pos(lo), End: s.Pos(max(lo, hi)), src: s}
}

// Line returns the text of line n (from 1) without its newline; "" outside.
func (s *Source) Line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	end := len(s.Text)
	if n < len(s.lines) {
		end = s.lines[n] - 1
	}
	line := s.Text[s.lines[n-1]:end]
	if k := len(line); k > 0 && line[k-1] == '\r' {
		line = line[:k-1]
	}
	return line
}

// Severity says how bad a diagnostic is.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText makes a severity readable in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Severity) UnmarshalText(text []byte) error {
	switch string(text) {
	case "error":
		*s = Error
	case "warning":
		*s = Warning
	default:
		return fmt.Errorf("%q is no severity", text)
	}
	return nil
}

// Label is a cause elsewhere.
type Label struct {
	Span Span   `json:"span"`
	Text string `json:"text"`
}

// Fix is an edit that an editor may apply.
type Fix struct {
	Span    Span   `json:"span"`
	NewText string `json:"new_text"`

	// Sure says that the text leaves one reading: a tool may apply the edit without
	// asking. Other edits are most likely what was meant.
	Sure bool `json:"-"`
}

// Frame is one script call on the stack of a run-time error.
type Frame struct {
	Call string `json:"call"` // as written: "cholesky(t, nt)"
	Span Span   `json:"span"`
}

// TaskRef names the task of a run-time error.
type TaskRef struct {
	ID      int64  `json:"id"`
	Codelet string `json:"codelet"`
	Worker  string `json:"worker,omitempty"`
	Vars    string `json:"vars,omitempty"` // loop variables: "k = 2"
}

// Diagnostic is one problem. It is data: rendering is separate. It marshals to
// JSON and implements error.
type Diagnostic struct {
	Code     string   `json:"code"` // "E0301"
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`         // one plain sentence, no full stop
	Span     Span     `json:"span"`            // the place to change
	Label    string   `json:"label,omitempty"` // why here
	Labels   []Label  `json:"labels,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Help     []string `json:"help,omitempty"`
	Fixes    []Fix    `json:"fixes,omitempty"`
	Stack    []Frame  `json:"stack,omitempty"` // innermost first
	Task     *TaskRef `json:"task,omitempty"`
	Omitted  int      `json:"omitted,omitempty"` // how many diagnostics were left out of the list, in its last one
	Cause    error    `json:"-"`                 // host error, for errors.Is and errors.As
}

// Attach gives the places of d their sources, which JSON leaves out. of returns that of a file, nil if it is not known.
func (d *Diagnostic) Attach(of func(file string) *Source) {
	spans := []*Span{&d.Span}
	for i := range d.Labels {
		spans = append(spans, &d.Labels[i].Span)
	}
	for i := range d.Fixes {
		spans = append(spans, &d.Fixes[i].Span)
	}
	for i := range d.Stack {
		spans = append(spans, &d.Stack[i].Span)
	}
	for _, s := range spans {
		if s.File != "" {
			s.src = of(s.File)
		}
	}
}

// Unwrap returns the cause.
func (d *Diagnostic) Unwrap() error {
	if d == nil { // in an error of the host, say
		return nil
	}
	return d.Cause
}

// Diagnostics is a list of problems in the order they were found.
type Diagnostics []Diagnostic

// Err returns nil when the list has no error, else an error that holds all of them.
func (ds Diagnostics) Err() error {
	for i := range ds {
		if ds[i].Severity == Error {
			return ds
		}
	}
	return nil
}
