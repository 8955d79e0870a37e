package diag

// Fixes: the edits that put right what a diagnostic reports.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Edit adds an edit to the fix of d: text in place of what is at. Places without a
// source cannot be edited.
func (d *Diagnostic) Edit(at Span, text string) {
	if at.src != nil {
		d.Fixes = append(d.Fixes, Fix{Span: at, NewText: text})
	}
}

// Unused returns the warning W0201 about a name declared at decl; label says what nothing does with it.
func Unused(name string, decl Span, label string) Diagnostic {
	return Diagnostic{Code: "W0201", Severity: Warning, Message: fmt.Sprintf("`%s` is never used", name), Span: decl, Label: label}
}

// DropUnused adds the remedy to a W0201 about name, and with edit the edit that renames it.
func (d *Diagnostic) DropUnused(name string, edit bool) {
	d.Help = append(d.Help, fmt.Sprintf("drop it, or call it `_%s`", name))
	if edit && d.Span.Text() == name {
		d.Edit(d.Span, "_"+name)
	}
}

// Sure marks the edits of d as what was meant for certain.
func (d *Diagnostic) Sure() {
	for i := range d.Fixes {
		d.Fixes[i].Sure = true
	}
}

// IsSure reports whether d has edits, all of them certain.
func (d *Diagnostic) IsSure() bool {
	return len(d.Fixes) > 0 && !slices.ContainsFunc(d.Fixes, func(f Fix) bool { return !f.Sure })
}

// Meant adds the help that name was meant, and the edit that writes it where d
// points at the word wrong. where says what name is, "param, line 3", or nothing.
func (d *Diagnostic) Meant(wrong, name, where string) {
	if where != "" {
		where = " (" + where + ")"
	}
	d.Help = append(d.Help, fmt.Sprintf("did you mean `%s`%s?", name, where))
	switch d.Span.Text() {
	case wrong:
		d.Edit(d.Span, name)
	case `"` + wrong + `"`:
		d.Edit(d.Span, `"`+name+`"`)
	}
}

// Text returns the source text at s, "" if the source is not known.
func (s Span) Text() string {
	if s.src == nil || s.End.Offset > len(s.src.Text) || s.Start.Offset > s.End.Offset {
		return ""
	}
	return s.src.Text[s.Start.Offset:s.End.Offset]
}

// Before is the empty range in front of s.
func (s Span) Before() Span { s.End = s.Start; return s }

// After is the empty range behind s.
func (s Span) After() Span { s.Start = s.End; return s }

// OwnLine is the lines that s is in, with the newline at their end, when they hold the
// statement alone and nothing else.
func (s Span) OwnLine(statement string) (lines Span, ok bool) {
	if s.src == nil {
		return s, false
	}
	lo, hi := s.src.lines[s.Start.Line-1], len(s.src.Text)
	if s.End.Line < len(s.src.lines) {
		hi = s.src.lines[s.End.Line]
	}
	if strings.TrimSpace(s.src.Text[lo:hi]) != statement {
		return s, false
	}
	return s.src.Span(lo, hi), true
}

// Apply makes the edits of fixes in the source called file, whose text is given.
// Edits that overlap one before are left out.
func Apply(file, text string, fixes []Fix) string {
	fixes = slices.Clone(fixes)
	slices.SortStableFunc(fixes, func(a, b Fix) int {
		return cmp.Or(a.Span.Start.Offset-b.Span.Start.Offset, a.Span.End.Offset-b.Span.End.Offset)
	})
	var b strings.Builder
	at := 0
	for _, f := range fixes {
		lo, hi := f.Span.Start.Offset, f.Span.End.Offset
		if f.Span.File != file || lo < at || hi < lo || hi > len(text) {
			continue
		}
		b.WriteString(text[at:lo])
		b.WriteString(f.NewText)
		at = hi
	}
	return b.String() + text[at:]
}
