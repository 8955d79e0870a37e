package lang_test

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// endless is a file system whose files say the same for ever; it counts those that are open.
type endless struct {
	text string
	open int
}

func (e *endless) Create(string) (io.WriteCloser, error) { return nil, fs.ErrPermission }

func (e *endless) Open(string) (fs.File, error) {
	e.open++
	return &endlessFile{of: e}, nil
}

type endlessFile struct {
	of *endless
	at int
}

func (f *endlessFile) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

func (f *endlessFile) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = f.of.text[f.at%len(f.of.text)]
		f.at++
	}
	return len(b), nil
}

func (f *endlessFile) Close() error {
	f.of.open--
	return nil
}

// TestLoadLimits: limits hold while a file is read that tells its sizes by its end,
// and files are closed whatever happens.
func TestLoadLimits(t *testing.T) {
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	for _, c := range []struct {
		kind, file, text, load string
		lim                    lang.Limits
	}{
		{"data", "a.csv", "1\n", "vector[f64](load = \"a.csv\")", lang.Limits{DataBytes: 1e6}},
		{"data", "a.csv", "1,", "matrix[i8](load = \"a.csv\")", lang.Limits{DataBytes: 1e6}},
		{"timeout", "a.csv", "\n", "vector[f64](load = \"a.csv\")", lang.Limits{Timeout: 50 * time.Millisecond}},
		{"timeout", "a.mtx", "%%MatrixMarket matrix array real general\n%", "matrix[f64](load = \"a.mtx\")", lang.Limits{Timeout: 50 * time.Millisecond}},
		{"data", "a.bin", "1", "vector[f64](1_000_000, load = \"a.bin\")", lang.Limits{DataBytes: 1e6}},
		{"", "a.bin", "1", "vector[f64](1_000_000_000_000_000_000, load = \"a.bin\")", lang.Limits{}},
	} {
		files := &endless{text: c.text}
		p := compile(t, lang.Config{Limits: c.lim, Files: files}, "register x = "+c.load+"\nprint(x)\n")
		inst, err := p.Run(t.Context(), rt, lang.Stdout(io.Discard))
		var l *lang.LimitError
		if errors.As(err, &l) != (c.kind != "") || l != nil && l.Kind != c.kind || err == nil {
			t.Errorf("%s: %v, want the limit %q", c.load, err, c.kind)
		}
		if inst != nil {
			inst.Close()
		}
		if files.open != 0 {
			t.Errorf("%s: %d files are open", c.load, files.open)
		}
	}
	// What fits is read to its end.
	files := &endless{text: strings.Repeat("1\n", 1<<16)}
	p := compile(t, lang.Config{Limits: lang.Limits{DataBytes: 800 + 1024}, Files: short{files}}, "register x = vector[f64](load = \"a.csv\")\nprint(x)\n")
	if _, err := p.Run(t.Context(), rt, lang.Stdout(io.Discard)); err != nil {
		t.Error(err)
	}
}

// short has files of 100 lines.
type short struct{ *endless }

func (s short) Open(name string) (fs.File, error) {
	f, err := s.endless.Open(name)
	return &shortFile{f, 200}, err
}

type shortFile struct {
	fs.File
	left int
}

func (f *shortFile) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.File.Read(b[:min(len(b), f.left)])
	f.left -= n
	return n, err
}
