package lsp

// Open documents and what is wrong with them.

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

func (s *server) didOpen(params json.RawMessage) *rpcError {
	p, err := decode[openParams](params)
	if err != nil {
		return err
	}
	if p.TextDocument.URI == "" {
		return failf(codeInvalidParams, "params: a document has an uri")
	}
	d := s.files.open(p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text)
	s.files.changed(d)
	s.later(0)
	return nil
}

func (s *server) didChange(params json.RawMessage) *rpcError {
	p, err := decode[changeParams](params)
	if err != nil {
		return err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return err
	}
	d.change(p.Changes)
	d.version = p.TextDocument.Version
	s.files.changed(d)
	s.later(s.opts.Delay)
	return nil
}

func (s *server) didClose(params json.RawMessage) *rpcError {
	p, err := decode[documentParams](params)
	if err != nil {
		return err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return err
	}
	s.files.close(d.uri)
	s.files.changed(nil)
	s.notify("textDocument/publishDiagnostics", publishParams{URI: d.uri, Diagnostics: []diagnostic{}})
	s.later(s.opts.Delay)
	return nil
}

// filesChanged looks again at what imports files: some may be different on disk.
func (s *server) filesChanged(json.RawMessage) *rpcError {
	s.files.changed(nil)
	s.later(s.opts.Delay)
	return nil
}

func (s *server) document(uri string) (*document, *rpcError) {
	if d := s.files.byURI[uri]; d != nil {
		return d, nil
	}
	return nil, failf(codeInvalidParams, "%s is not open", uri)
}

// publish sends the diagnostics of all documents whose text or imports changed.
func (s *server) publish() {
	for _, d := range s.files.all() {
		if !d.dirty {
			continue
		}
		d.dirty = false
		s.notify("textDocument/publishDiagnostics", publishParams{URI: d.uri, Version: &d.version, Diagnostics: s.diagnostics(d)})
	}
}

func (s *server) diagnostics(d *document) (out []diagnostic) {
	defer func() {
		if recover() != nil && out == nil {
			out = []diagnostic{}
		}
	}()
	a := s.analysis(d)
	out = []diagnostic{}
	imports := a.Imports()
	for i := range a.Diagnostics() {
		x := &a.Diagnostics()[i]
		if x.Span.File == d.name || x.Span.IsZero() {
			out = append(out, s.diagnostic(d, x))
		} else if at, ok := imports[x.Span.File]; ok && x.Severity == lang.Error {
			// Of a file that this one imports: shown at the import, with the place.
			out = append(out, diagnostic{Range: d.lines.span(at.Start.Offset, at.End.Offset), Severity: 1, Code: x.Code, Source: "starpush",
				Message: fmt.Sprintf("line %d of the imported file: %s", x.Span.Start.Line, x.Message),
				Related: []related{{s.location(x.Span), x.Message}}})
		}
	}
	return out
}

// diagnostic converts what the compiler says about d.
func (s *server) diagnostic(d *document, x *lang.Diagnostic) diagnostic {
	out := diagnostic{Range: d.lines.span(x.Span.Start.Offset, x.Span.End.Offset), Severity: 1, Code: x.Code, Source: "starpush"}
	if x.Severity == lang.Warning {
		out.Severity = 2
	}
	if x.Code == "W0201" {
		out.Tags = []int{1} // never used: shown faded
	}
	text := []string{x.Message}
	if x.Label != "" {
		text = append(text, x.Label)
	}
	for _, n := range x.Notes {
		text = append(text, "note: "+n)
	}
	for _, h := range x.Help {
		text = append(text, "help: "+h)
	}
	if x.Omitted > 0 {
		text = append(text, "note: "+diag.OmittedText(x.Omitted))
	}
	out.Message = strings.Join(text, "\n")
	for _, l := range x.Labels {
		out.Related = append(out.Related, related{s.location(l.Span), l.Text})
	}
	return out
}

func (s *server) location(at lang.Span) location {
	return location{s.files.uriOf(at.File), s.files.linesOf(at).span(at.Start.Offset, at.End.Offset)}
}

// codeActions offers the edits that diagnostics in the range propose.
func (s *server) codeActions(params json.RawMessage) (any, *rpcError) {
	p, err := decode[documentParams](params)
	if err != nil {
		return nil, err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	lo, hi := d.lines.offset(p.Range.Start), d.lines.offset(p.Range.End)
	out := []codeAction{}
	ds := s.analysis(d).Diagnostics()
	for i := range ds {
		x := &ds[i]
		if x.Span.File != d.name || x.Span.Start.Offset > hi || x.Span.End.Offset < lo {
			continue
		}
		title, fixes := fixesOf(x)
		edit := workspaceEdit{map[string][]textEdit{}}
		for _, f := range fixes {
			at := s.location(f.Span)
			edit.Changes[at.URI] = append(edit.Changes[at.URI], textEdit{at.Range, f.NewText})
		}
		if len(fixes) > 0 {
			out = append(out, codeAction{title, "quickfix", []diagnostic{s.diagnostic(d, x)}, edit})
		}
	}
	return out, nil
}

// fixesOf returns the edits of x with what they do.
func fixesOf(x *lang.Diagnostic) (string, []lang.Fix) {
	switch {
	case len(x.Fixes) == 0:
		return "", nil
	case len(x.Fixes) == 1 && x.Fixes[0].Span == x.Span && len(x.Fixes[0].NewText) < 40:
		return fmt.Sprintf("write `%s`", x.Fixes[0].NewText), x.Fixes
	case len(x.Help) > 0:
		return x.Help[0], x.Fixes
	}
	return "apply the fix of " + x.Code, x.Fixes
}
