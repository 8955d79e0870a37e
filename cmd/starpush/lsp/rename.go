package lsp

// Renaming: every use that means the same declaration, tried before it is proposed.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang"
)

func (s *server) prepareRename(params json.RawMessage) (any, *rpcError) {
	_, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	n, e := s.analysis(d).Renamable(offset)
	if e != nil {
		return nil, failf(codeFailed, "%v", e)
	}
	return map[string]any{"range": d.lines.span(n.At.Start.Offset, n.At.End.Offset), "placeholder": n.Name}, nil
}

func (s *server) rename(params json.RawMessage) (any, *rpcError) {
	p, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	n, e := s.analysis(d).Renamable(offset)
	if e == nil {
		e = lang.CheckName(p.NewName)
	}
	if e != nil {
		return nil, failf(codeFailed, "%v", e)
	}
	edits := workspaceEdit{map[string][]textEdit{}}
	if p.NewName == n.Name {
		return edits, nil
	}
	byFile := map[string][]lang.Span{}
	docs := s.reach(n.Decl)
	for _, at := range s.uses(docs, n.Decl) {
		byFile[at.File] = append(byFile[at.File], at)
	}
	texts := map[string]string{}
	for file, spans := range byFile {
		slices.SortFunc(spans, func(a, b lang.Span) int { return a.Start.Offset - b.Start.Offset })
		old := s.files.linesOf(spans[0])
		var b strings.Builder
		from := 0
		for _, at := range spans {
			b.WriteString(old.text[from:at.Start.Offset] + p.NewName)
			from = at.End.Offset
			uri := s.files.uriOf(file)
			edits.Changes[uri] = append(edits.Changes[uri], textEdit{old.span(at.Start.Offset, from), p.NewName})
		}
		texts[file] = b.String() + old.text[from:]
	}
	if e := s.try(docs, texts); e != nil {
		return nil, failf(codeFailed, "`%s` cannot be called `%s`: %v", n.Name, p.NewName, e)
	}
	return edits, nil
}

// try reports why docs would not mean the same with other texts.
func (s *server) try(docs []*document, texts map[string]string) error {
	s.files.trial = texts
	defer func() { s.files.trial = nil }()
	for _, d := range docs {
		before := s.analysis(d)
		if !slices.ContainsFunc(before.Sources(), func(f string) bool { _, ok := texts[f]; return ok }) {
			continue
		}
		text, ok := texts[d.name]
		if !ok {
			text = d.text()
		}
		if err := before.SameMeaning(s.comp.Analyze(s.ctx, d.name, []byte(text))); err != nil {
			if s.files.byName[d.name] == nil {
				err = fmt.Errorf("%s: %w", d.name, err)
			}
			return err
		}
	}
	return nil
}
