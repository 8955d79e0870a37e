package lsp

// Documents: the texts that the editor has, which win over those on disk.

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// A document is a text that is open in the editor.
type document struct {
	uri     string
	name    string // as diagnostics and imports call it: the path of the file
	version int
	lines   *lineTable
	found   *lang.Analysis // of the text and of all it imports; nil: not known
	dirty   bool           // its diagnostics are not those that the editor has
}

func (d *document) text() string { return d.lines.text }

// change applies what the editor changed, one after the other.
func (d *document) change(changes []contentChange) {
	for _, c := range changes {
		text := c.Text
		if c.Range != nil {
			lo := d.lines.offset(c.Range.Start)
			hi := max(lo, d.lines.offset(c.Range.End))
			text = d.text()[:lo] + c.Text + d.text()[hi:]
		}
		d.lines = newLineTable(text)
	}
}

// A workspace is all documents. It is the Loader of the compiler: imports find
// open documents first.
type workspace struct {
	files   lang.Loader
	byURI   map[string]*document
	byName  map[string]*document
	trial   map[string]string // texts to try instead, by name
	folders []string          // of the editor

	closed struct { // the file that was asked for last and is not open
		src   *diag.Source
		lines *lineTable
	}
}

func newWorkspace(files lang.Loader) *workspace {
	return &workspace{files: files, byURI: map[string]*document{}, byName: map[string]*document{}}
}

// Load implements lang.Loader.
func (w *workspace) Load(ctx context.Context, path, from string) (string, []byte, error) {
	name, src, err := w.files.Load(ctx, path, from)
	if text, ok := w.trial[name]; ok {
		return name, []byte(text), nil
	}
	if d := w.byName[name]; d != nil {
		return name, []byte(d.text()), nil
	}
	return name, src, err
}

// Near lists the files that an import could have meant.
func (w *workspace) Near(path, from string) []string {
	if n, ok := w.files.(interface {
		Near(path, from string) []string
	}); ok {
		return n.Near(path, from)
	}
	return nil
}

func (w *workspace) open(uri string, version int, text string) *document {
	w.close(uri)
	d := &document{uri: uri, name: nameOf(uri), version: version, lines: newLineTable(text)}
	w.byURI[uri], w.byName[d.name] = d, d
	return d
}

func (w *workspace) close(uri string) {
	if d := w.byURI[uri]; d != nil {
		delete(w.byURI, uri)
		if w.byName[d.name] == d {
			delete(w.byName, d.name)
		}
	}
}

// all lists the documents, in a fixed order.
func (w *workspace) all() []*document {
	out := make([]*document, 0, len(w.byURI))
	for _, d := range w.byURI {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *document) int { return strings.Compare(a.uri, b.uri) })
	return out
}

// changed forgets what was found out about d and about those that import files:
// d may be one of them.
func (w *workspace) changed(d *document) {
	for _, o := range w.byURI {
		if o == d || strings.Contains(o.text(), "import") {
			o.found, o.dirty = nil, true
		}
	}
}

// uriOf is the address of a file: that of the editor if it is open.
func (w *workspace) uriOf(name string) string {
	if d := w.byName[name]; d != nil {
		return d.uri
	}
	if abs, err := filepath.Abs(name); err == nil && !strings.Contains(name, "://") {
		name = filepath.ToSlash(abs)
		if !strings.HasPrefix(name, "/") {
			name = "/" + name // a drive
		}
		return (&url.URL{Scheme: "file", Path: name}).String()
	}
	return name
}

// linesOf is the text that spans in the file of that name point into.
func (w *workspace) linesOf(at lang.Span) *lineTable {
	if d := w.byName[at.File]; d != nil {
		return d.lines
	}
	if src := at.Source(); src != nil {
		if w.closed.src != src {
			w.closed.src, w.closed.lines = src, newLineTable(src.Text)
		}
		return w.closed.lines
	}
	text, err := os.ReadFile(at.File)
	if err != nil {
		text = nil
	}
	return newLineTable(string(text))
}

// nameOf is the path of a file: address; other addresses name themselves.
func nameOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return uri
	}
	name := u.Path
	if runtime.GOOS == "windows" {
		name = strings.TrimPrefix(name, "/")
	}
	return filepath.Clean(filepath.FromSlash(name))
}
