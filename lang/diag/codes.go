package diag

// Codes: the table of diagnostic codes, read from the pages in codes/*.md.

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Code is one entry of the table of codes.
type Code struct {
	Code  string // "E0401"
	Title string // a few words, no full stop
	Doc   string // what it means and what to do, markdown
}

// Codes returns the table of codes, sorted by code. The caller owns the slice.
func Codes() []Code { return slices.Clone(codes()) }

// Explain returns the page about a code such as "E0401", as markdown.
func Explain(code string) (markdown string, ok bool) {
	i, ok := slices.BinarySearchFunc(codes(), code, func(c Code, want string) int { return strings.Compare(c.Code, want) })
	if !ok {
		return "", false
	}
	c := codes()[i]
	return "# " + c.Code + ": " + c.Title + "\n\n" + c.Doc + "\n", true
}

// pages has a file for each group of codes and in it a section for each code:
// "## E0401: title", then the text. The first block of kind spu in a section is a
// program that raises the code, the second is that program put right.
//
//go:embed codes/*.md
var pages embed.FS

// codes reads the table when it is asked for first: most runs need no page.
var codes = sync.OnceValue(func() []Code {
	names, err := fs.Glob(pages, "codes/*.md")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	var all []Code
	for _, name := range names {
		text, err := pages.ReadFile(name)
		if err != nil {
			panic(err) // an embedded file can be read
		}
		all = append(all, sections(string(text))...)
	}
	slices.SortStableFunc(all, func(a, b Code) int { return strings.Compare(a.Code, b.Code) })
	return all
})

// sections cuts a file of pages at its headings of the second level. Fenced lines
// are text, whatever they begin with: `##` is a comment in scripts.
func sections(text string) []Code {
	var out []Code
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if head, ok := strings.CutPrefix(line, "## "); ok && !fenced {
			code, title, _ := strings.Cut(strings.TrimSpace(head), ": ")
			out = append(out, Code{Code: code, Title: title})
		} else if len(out) > 0 {
			out[len(out)-1].Doc += line
		}
	}
	for i := range out {
		out[i].Doc = strings.TrimSpace(out[i].Doc)
	}
	return out
}
