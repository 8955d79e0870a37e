package lsp

// Answers about a place in a document.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/starpush/starpush/lang"
)

// place reads params that name a document and a position in it.
func (s *server) place(params json.RawMessage) (p positionParams, d *document, offset int, err *rpcError) {
	if p, err = decode[positionParams](params); err != nil {
		return
	}
	if d, err = s.document(p.TextDocument.URI); err != nil {
		return
	}
	return p, d, d.lines.offset(p.Position), nil
}

func (s *server) hover(params json.RawMessage) (any, *rpcError) {
	_, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	text, at, ok := s.analysis(d).Doc(offset)
	if !ok {
		return nil, nil
	}
	return hover{markup{"markdown", fenced(text)}, d.lines.span(at.Start.Offset, at.End.Offset)}, nil
}

// fenced names the language of the code in text, so that editors colour it.
func fenced(text string) string {
	lines := strings.Split(text, "\n")
	open := false
	for i, l := range lines {
		if l == "```" {
			if open = !open; open {
				lines[i] = "```starpush"
			}
		}
	}
	return strings.Join(lines, "\n")
}

var completionKinds = map[string]int{
	"codelet": 2, "func": 3, "builtin": 3, "filter": 3, "field": 5, "handle": 6, "view": 6, "array": 6, "let": 6,
	"type": 7, "module": 9, "option": 10, "keyword": 14, "mode": 20, "param": 21,
}

func (s *server) completion(params json.RawMessage) (any, *rpcError) {
	_, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	start := offset
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(d.text()[:start])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		start -= n
	}
	out := []completionItem{}
	for i, c := range s.analysis(d).Complete(offset) {
		item := completionItem{Label: c.Text, Kind: completionKinds[c.Kind], Detail: c.Detail, SortText: fmt.Sprintf("%05d", i),
			Edit: textEdit{d.lines.span(start, offset), c.Text}}
		if c.Doc != "" {
			item.Doc = &markup{"markdown", c.Doc}
		}
		if f := c.Fix; f != nil {
			item.More = []textEdit{{d.lines.span(f.Span.Start.Offset, f.Span.End.Offset), f.NewText}}
		}
		out = append(out, item)
	}
	return out, nil
}

func (s *server) signatureHelp(params json.RawMessage) (any, *rpcError) {
	_, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	c, ok := s.analysis(d).Call(offset)
	if !ok {
		return nil, nil
	}
	about := func(text string) *markup {
		if text == "" {
			return nil
		}
		return &markup{"markdown", text}
	}
	out := signatureHelp{[]signature{}, c.Form, c.Param}
	for _, f := range c.Forms {
		sig := signature{f.Text, about(f.Doc), []parameter{}}
		label := newLineTable(f.Text)
		for _, p := range f.Params {
			sig.Parameters = append(sig.Parameters, parameter{[2]int{label.position(p.Lo).Character, label.position(p.Hi).Character}, about(p.Doc)})
		}
		out.Signatures = append(out.Signatures, sig)
	}
	return out, nil
}

func (s *server) semanticTokens(params json.RawMessage) (any, *rpcError) {
	return s.tokensIn(params, func(d *document, _ textRange) (lo, hi int) { return 0, len(d.text()) })
}

func (s *server) semanticTokensIn(params json.RawMessage) (any, *rpcError) {
	return s.tokensIn(params, func(d *document, r textRange) (lo, hi int) {
		return d.lines.offset(r.Start), d.lines.offset(r.End)
	})
}

// tokensIn encodes the tokens that meet a part of a document: each by its distance to the
// one before, in lines and UTF-16 units, its length, the number of its kind, and a bit for each modifier.
func (s *server) tokensIn(params json.RawMessage, part func(*document, textRange) (lo, hi int)) (any, *rpcError) {
	p, err := decode[documentParams](params)
	if err != nil {
		return nil, err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	lo, hi := part(d, p.Range)
	out := semanticTokens{[]uint32{}}
	var last position
	for _, t := range s.analysis(d).SyntaxTokens() {
		if t.Offset+t.Len <= lo || t.Offset >= hi {
			continue
		}
		at := d.lines.span(t.Offset, t.Offset+t.Len)
		kind := slices.Index(tokenKinds, t.Kind)
		if kind < 0 || at.Start.Line != at.End.Line {
			continue
		}
		modifiers := uint32(0)
		for bit, is := range []bool{t.Declares, t.Fixed, t.Given} {
			if is {
				modifiers |= 1 << bit
			}
		}
		column := at.Start.Character
		if at.Start.Line == last.Line {
			column -= last.Character
		}
		out.Data = append(out.Data, uint32(at.Start.Line-last.Line), uint32(column), uint32(at.End.Character-at.Start.Character), uint32(kind), modifiers)
		last = at.Start
	}
	return out, nil
}

func (s *server) definition(params json.RawMessage) (any, *rpcError) {
	_, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	at, ok := s.analysis(d).Definition(offset)
	if !ok {
		return nil, nil
	}
	return s.location(at), nil
}

func (s *server) references(params json.RawMessage) (any, *rpcError) {
	p, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	out := []location{}
	n, ok := s.analysis(d).Name(offset)
	if !ok {
		return out, nil
	}
	for _, at := range s.uses(s.reach(n.Decl), n.Decl) {
		if p.Context.IncludeDeclaration || at.File != n.Decl.File || at.Start.Offset != n.Decl.Start.Offset {
			out = append(out, s.location(at))
		}
	}
	return out, nil
}

// reach is the documents that can name what is declared at decl: those that are open,
// and scripts beside them that import its file.
func (s *server) reach(decl lang.Span) []*document {
	if decl.IsZero() {
		return s.files.all()
	}
	return append(s.files.all(), s.files.importers(decl.File)...)
}

// uses lists where docs, and what they import, name what is declared at decl.
func (s *server) uses(docs []*document, decl lang.Span) []lang.Span {
	type place struct {
		file   string
		offset int
	}
	seen := map[place]bool{}
	var out []lang.Span
	for _, d := range docs {
		for _, at := range s.analysis(d).References(decl) {
			if k := (place{at.File, at.Start.Offset}); !seen[k] {
				seen[k] = true
				out = append(out, at)
			}
		}
	}
	return out
}

func (s *server) highlight(params json.RawMessage) (any, *rpcError) {
	_, d, offset, err := s.place(params)
	if err != nil {
		return nil, err
	}
	type highlight struct {
		Range textRange `json:"range"`
	}
	out := []highlight{}
	if n, ok := s.analysis(d).Name(offset); ok {
		for _, at := range s.analysis(d).References(n.Decl) {
			if at.File == d.name {
				out = append(out, highlight{d.lines.span(at.Start.Offset, at.End.Offset)})
			}
		}
	}
	return out, nil
}

var symbolKinds = map[string]int{
	"module": 2, "codelet": 6, "func": 12, "handle": 13, "let": 13, "param": 14, "view": 18, "array": 18,
}

func (s *server) symbols(params json.RawMessage) (any, *rpcError) {
	p, err := decode[documentParams](params)
	if err != nil {
		return nil, err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out := []documentSymbol{}
	for _, y := range s.analysis(d).Symbols() {
		out = append(out, documentSymbol{y.Name, y.Detail, symbolKinds[y.Kind],
			d.lines.span(y.Whole.Start.Offset, y.Whole.End.Offset), d.lines.span(y.At.Start.Offset, y.At.End.Offset)})
	}
	return out, nil
}

// formatting proposes the canonical layout: one edit from the first line that
// differs to the last. A text that does not parse stays as it is.
func (s *server) formatting(params json.RawMessage) (any, *rpcError) {
	p, err := decode[documentParams](params)
	if err != nil {
		return nil, err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	formatted, e := lang.Format(d.name, []byte(d.text()))
	old, text := d.text(), string(formatted)
	if e != nil || old == text {
		return []textEdit{}, nil
	}
	lo := 0
	for lo < min(len(old), len(text)) && old[lo] == text[lo] {
		lo++
	}
	lo = strings.LastIndexByte(old[:lo], '\n') + 1
	same := 0 // bytes at the end that stay: whole lines
	for n := 1; n <= min(len(old), len(text))-lo && old[len(old)-n] == text[len(text)-n]; n++ {
		if n == min(len(old), len(text))-lo || old[len(old)-n-1] == '\n' && text[len(text)-n-1] == '\n' {
			same = n
		}
	}
	return []textEdit{{d.lines.span(lo, len(old)-same), text[lo : len(text)-same]}}, nil
}

func (s *server) inlayHints(params json.RawMessage) (any, *rpcError) {
	p, err := decode[documentParams](params)
	if err != nil {
		return nil, err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	lo, hi := d.lines.offset(p.Range.Start), d.lines.offset(p.Range.End)
	out := []inlayHint{}
	for _, h := range s.analysis(d).Hints() {
		if h.Offset >= lo && h.Offset <= hi {
			out = append(out, inlayHint{d.lines.position(h.Offset), h.Text, 2, h.Doc, true})
		}
	}
	return out, nil
}
