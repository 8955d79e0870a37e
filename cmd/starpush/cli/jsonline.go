package cli

// --json: one object per line on standard output, and nothing else. The first
// line names the version of the schema.

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/starpush/starpush/lang"
)

// jsonSchema is raised when a line loses or changes a field; new fields and new
// kinds of lines do not count.
const jsonSchema = 1

// A jsonWriter writes lines. It is safe for concurrent use.
type jsonWriter struct {
	mu struct {
		sync.Mutex
		w   io.Writer
		err error
	}
}

func newJSONWriter(w io.Writer) *jsonWriter {
	j := &jsonWriter{}
	j.mu.w = w
	j.line(struct {
		T      string `json:"t"`
		Schema int    `json:"schema"`
	}{"hello", jsonSchema})
	return j
}

// line writes v as one line.
func (j *jsonWriter) line(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "->" stays readable; the lines are no HTML
	err := enc.Encode(v)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil && j.mu.err == nil {
		_, err = j.mu.w.Write(b.Bytes())
	}
	if j.mu.err == nil {
		j.mu.err = err
	}
}

// failed is the first error of writing, nil when all lines went out.
func (j *jsonWriter) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.err
}

// diagnostic writes d with its own fields behind "t".
func (j *jsonWriter) diagnostic(d *lang.Diagnostic) {
	b, err := json.Marshal(d)
	if err != nil || len(b) < 2 || b[0] != '{' {
		b, _ = json.Marshal(map[string]string{"code": d.Code, "message": d.Message})
	}
	j.line(json.RawMessage(append([]byte(`{"t":"diagnostic",`), b[1:]...)))
}

type jsonProgress struct {
	T       string   `json:"t"`
	Done    int64    `json:"done"`
	Total   int64    `json:"total"`
	Running []string `json:"running"`
}

// jsonWatch says that --watch waits for changes of files after what ended so.
type jsonWatch struct {
	T     string   `json:"t"`
	Exit  int      `json:"exit"`
	Files []string `json:"files"`
}

type jsonSummary struct {
	T       string  `json:"t"`
	Exit    int     `json:"exit"`
	Tasks   int64   `json:"tasks"`
	Seconds float64 `json:"seconds"`
}

// A printWriter turns what a script prints into lines {"t":"print"}: one for
// each print, which ends with a newline.
type printWriter struct {
	j    *jsonWriter
	rest []byte // of a write that did not end with a newline
}

func (p *printWriter) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	if bytes.HasSuffix(p.rest, []byte{'\n'}) {
		p.flush()
	}
	return len(b), p.j.failed()
}

// flush writes what has no newline yet.
func (p *printWriter) flush() {
	if len(p.rest) == 0 {
		return
	}
	p.j.line(struct {
		T    string `json:"t"`
		Text string `json:"text"`
	}{"print", string(bytes.TrimSuffix(p.rest, []byte{'\n'}))})
	p.rest = p.rest[:0]
}
