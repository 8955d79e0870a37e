package lang_test

// Programs in the language with what they print and the errors they raise:
// testdata/run. A file holds chunks between lines of ---; `#> text` is the next
// line of output, `### "regexp"` an error on its line, with its help behind a semicolon.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/lang"
)

// memFS is a file system in memory.
type memFS struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (m *memFS) Open(name string) (fs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memFile{Reader: bytes.NewReader(b), name: name}, nil
}

func (m *memFS) Create(name string) (io.WriteCloser, error) {
	return &memWriter{m: m, name: name}, nil
}

type memFile struct {
	*bytes.Reader
	name string
}

func (f *memFile) Close() error               { return nil }
func (f *memFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memFile) Name() string               { return f.name }
func (f *memFile) Mode() fs.FileMode          { return 0o644 }
func (f *memFile) ModTime() time.Time         { return time.Time{} }
func (f *memFile) IsDir() bool                { return false }
func (f *memFile) Sys() any                   { return nil }

type memWriter struct {
	bytes.Buffer
	m    *memFS
	name string
}

func (w *memWriter) Close() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	w.m.files[w.name] = append([]byte(nil), w.Bytes()...)
	return nil
}

// testConfig offers what the test programs use.
func testConfig(t testing.TB, files map[string]string) lang.Config {
	t.Helper()
	mk := func(sig string, opts ...lang.CodeletOption) *lang.Codelet {
		c, err := lang.NewCodelet(sig, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	fn := func(sig string, f func(context.Context, []any) (any, error)) *lang.Func {
		x, err := lang.NewFunc(sig, f)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	stripes, err := lang.NewFilter("stripes(A: matrix[T], p: int) -> matrix[T]", func(shape []int, args []any) ([]lang.Box, error) {
		p := int(args[0].(int64))
		if p < 1 || p > shape[0] {
			return nil, fmt.Errorf("p is %d, and there are 1 to %d stripes", p, shape[0])
		}
		var out []lang.Box
		for k := 0; k < p; k++ {
			out = append(out, lang.Box{Lo: []int{k, 0}, Hi: []int{shape[0], shape[1]}})
		}
		return out, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	loader := map[string]string{}
	for n, s := range files {
		data[n] = []byte(s)
		loader[n] = s
	}
	return lang.Config{
		Codelets: []*lang.Codelet{
			mk("clip(v: RW vector[f32], lo: f32, hi: f32)", lang.CPUFunc(func(v []float32, lo, hi float32) {
				for i, e := range v {
					v[i] = min(max(e, lo), hi)
				}
			})),
			mk("host_fail(v: RW variable[i64], why: string = \"no reason\")", lang.CPU(func(t *lang.Task) error {
				return errors.New(lang.Arg[string](t, "why"))
			})),
			mk("host_panic(v: RW variable[i64])", lang.CPU(func(t *lang.Task) error { panic("oh no") })),
			mk("same(a: R vector[T], b: W vector[T])", lang.CPU(func(t *lang.Task) error { return nil }),
				lang.ShapeRule(func(s lang.Shapes) error {
					if a, b := s.Of("a")[0], s.Of("b")[0]; a != b {
						return fmt.Errorf("the lengths of `same` differ: %d and %d", a, b)
					}
					return nil
				})),
		},
		Funcs: []*lang.Func{
			fn("host_add(a: int, b: float = 1.5) -> float", func(_ context.Context, a []any) (any, error) {
				return float64(a[0].(int64)) + a[1].(float64), nil
			}),
			fn("host_list(n: int) -> list[int]", func(_ context.Context, a []any) (any, error) {
				return make([]int, a[0].(int64)), nil
			}),
			fn("host_error(s: string)", func(_ context.Context, a []any) (any, error) { return nil, errors.New(a[0].(string)) }),
			fn("host_boom()", func(_ context.Context, a []any) (any, error) { panic("boom") }),
			fn("host_sum(x: list[float]) -> float", func(_ context.Context, a []any) (any, error) {
				s := 0.0
				for _, v := range a[0].([]float64) {
					s += v
				}
				return s, nil
			}),
		},
		Filters: []*lang.Filter{stripes},
		Loader:  mapLoader(loader),
		Files:   &memFS{files: data},
	}
}

// mapLoader serves modules from a map.
type mapLoader map[string]string

func (m mapLoader) Load(_ context.Context, path, _ string) (string, []byte, error) {
	s, ok := m[path]
	if !ok {
		return "", nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return path, []byte(s), nil
}

// machine is one way of running a program.
type machine struct {
	name string
	opt  engine.Options
}

func machines() []machine {
	out := []machine{{"sequential", engine.Options{Sequential: true}}}
	for _, w := range []int{1, 2, 4} {
		out = append(out, machine{fmt.Sprintf("%d workers", w), engine.Options{Workers: w, Poison: true}})
	}
	for _, p := range sched.Names() {
		out = append(out, machine{"policy " + p, engine.Options{Workers: 2, Policy: p}})
	}
	return out
}

func newRuntime(t testing.TB, o engine.Options) *engine.Runtime {
	t.Helper()
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
	})
	return rt
}

var (
	wantOutput = regexp.MustCompile(`#> ?(.*)$`)
	wantError  = regexp.MustCompile(`### ("(?:[^"\\]|\\.)*")`)
)

// chunk is one program of a file.
type chunk struct {
	name   string
	src    string
	output string
	errs   map[int]*regexp.Regexp // by line
}

func chunks(t *testing.T, file, text string) []chunk {
	var out []chunk
	line := 1
	for i, src := range strings.Split(text, "\n---\n") {
		c := chunk{name: fmt.Sprintf("%s#%d", strings.TrimSuffix(filepath.Base(file), ".spu"), i+1), errs: map[int]*regexp.Regexp{}}
		c.src = src + "\n"
		for k, l := range strings.Split(src, "\n") {
			if m := wantOutput.FindStringSubmatch(l); m != nil {
				c.output += m[1] + "\n"
			}
			if m := wantError.FindStringSubmatch(l); m != nil {
				// the text between the quotes is the expression as it stands
				s := strings.ReplaceAll(m[1][1:len(m[1])-1], `\"`, `"`)
				re, err := regexp.Compile(s)
				if err != nil {
					t.Fatalf("%s:%d: %v", file, line+k, err)
				}
				c.errs[k+1] = re
			}
		}
		line += strings.Count(src, "\n") + 2
		out = append(out, c)
	}
	return out
}

// diagnosticsOf takes an error of Compile or Run apart.
func diagnosticsOf(err error) []lang.Diagnostic {
	var ds lang.Diagnostics
	var d *lang.Diagnostic
	switch {
	case errors.As(err, &ds):
		return ds
	case errors.As(err, &d):
		return []lang.Diagnostic{*d}
	}
	return nil
}

func (c *chunk) check(t *testing.T, output string, err error) {
	t.Helper()
	if output != c.output {
		t.Errorf("output:\n%swant:\n%s", output, c.output)
	}
	left := map[int]*regexp.Regexp{}
	for l, re := range c.errs {
		left[l] = re
	}
	ds := diagnosticsOf(err)
	if err != nil && ds == nil {
		t.Errorf("an error that is no diagnostic: %v", err)
	}
	for _, d := range ds {
		if d.Severity != lang.Error {
			continue
		}
		re := c.errs[d.Span.Start.Line]
		msg := d.Code + ": " + d.Message
		if re == nil || !re.MatchString(msg+"; "+strings.Join(d.Help, "; ")) && !re.MatchString(msg) {
			t.Errorf("line %d: unexpected %s (%s)", d.Span.Start.Line, msg, d.Label)
			continue
		}
		delete(left, d.Span.Start.Line)
		var b bytes.Buffer
		if err := (lang.Diagnostics{d}).Render(&b, lang.Style{Width: 100}); err != nil || b.Len() == 0 {
			t.Errorf("rendering %s: %v", msg, err)
		}
	}
	for l, re := range left {
		t.Errorf("line %d: no error matches %q", l, re)
	}
}

func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/run/*.spu")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	lib, err := os.ReadFile("testdata/lib/shapes.spu")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks(t, file, string(text)) {
			t.Run(c.name, func(t *testing.T) {
				cfg := testConfig(t, map[string]string{"shapes.spu": string(lib)})
				comp, err := lang.NewCompiler(cfg)
				if err != nil {
					t.Fatal(err)
				}
				prog, diags := comp.Compile(context.Background(), c.name, []byte(c.src))
				if diags.Err() != nil {
					c.output = ""
					c.check(t, "", diags)
					return
				}
				for _, m := range machines() {
					t.Run(m.name, func(t *testing.T) {
						rt := newRuntime(t, m.opt)
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						defer cancel()
						var out bytes.Buffer
						inst, err := prog.Run(ctx, rt, lang.Stdout(&out))
						if err == nil {
							err = inst.Close()
						}
						c.check(t, out.String(), err)
						if err := ctx.Err(); err != nil {
							t.Errorf("the run took a minute: %v", err)
						}
					})
				}
			})
		}
	}
}
