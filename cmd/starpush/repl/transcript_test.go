package repl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf/perftest"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// TestTranscripts replays the conversations in testdata. In the file "talk"
// lines that begin with a prompt are typed, the others are what starpush says;
// ^C and ^D stand for these keys. Other files lie in the working folder.
// STARPUSH_UPDATE=1 rewrites what starpush says.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	talk := -1
	for i, f := range archive.Files {
		if f.Name == "talk" {
			talk = i
			continue
		}
		if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if talk < 0 {
		t.Fatal("the archive has no file talk")
	}
	want := string(archive.Files[talk].Data)
	got := converse(t, typed(want))
	if got == want {
		return
	}
	if os.Getenv("STARPUSH_UPDATE") != "" {
		archive.Files[talk].Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the conversation differs (-want +got):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
}

// typed picks what a person types from a transcript.
func typed(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for _, prompt := range []string{promptFirst, promptMore} {
			if in, ok := strings.CutPrefix(line+" ", prompt); ok {
				lines = append(lines, strings.TrimSuffix(in, " "))
			}
		}
	}
	return lines
}

// typist is a LineReader that echoes what it gives, as a terminal does.
type typist struct {
	lines []string
	out   io.Writer
}

func (p *typist) ReadLine(prompt string) (string, error) {
	if len(p.lines) == 0 {
		return "", io.EOF
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	io.WriteString(p.out, strings.TrimRight(prompt+line, " ")+"\n")
	switch line {
	case "^C":
		return "", ErrInterrupted
	case "^D":
		return "", io.EOF
	}
	return line, nil
}

// converse types lines at a fresh prompt and returns the screen. The script
// function ctrl_c() presses Ctrl-C, the codelet hold runs until it is cancelled,
// until_running() waits until a hold has started; files come from the working folder.
func converse(t *testing.T, lines []string) string {
	t.Helper()
	var screen bytes.Buffer
	interrupts := make(chan struct{}, 8)
	shell, done := newShell(t, &screen, interrupts)
	defer done()
	code := shell.Run(t.Context(), &typist{lines: lines, out: &screen})
	if code != 0 {
		screen.WriteString("status " + string(rune('0'+code%10)) + "\n")
	}
	return taskTimes.ReplaceAllString(screen.String(), "$1 T")
}

// taskTimes are the times in lists of tasks, which are those of a real clock.
var taskTimes = regexp.MustCompile(`(?m)^((?:  done|  running|[0-9]+ tasks? done).*) [0-9.]+(?:e[+-][0-9]+)? (?:µs|ms|s)\b`)

func newShell(t *testing.T, screen io.Writer, interrupts chan struct{}) (*Shell, func()) {
	t.Helper()
	rec := &trace.Recent{}
	rt, err := engine.New(engine.Options{Workers: 1, Listener: rec}) // so that messages name the same worker each time
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{}, 8) // one for each hold that has started
	hold := lang.Must(lang.NewCodelet("hold(v: RW variable[i64])", lang.CPU(func(t *lang.Task) error {
		running <- struct{}{}
		<-t.Context().Done()
		return context.Cause(t.Context())
	})))
	comp := lang.Must(lang.NewCompiler(lang.Config{
		Codelets: []*lang.Codelet{hold},
		Modules:  stdlib.Modules(), Files: lang.Dir("."), Loader: lang.FSLoader(os.DirFS(".")),
		Warnings: lang.WarningSet{Silence: []string{"W"}},
		Funcs: []*lang.Func{lang.Must(lang.NewFunc("ctrl_c()", func(context.Context, []any) (any, error) {
			interrupts <- struct{}{}
			return nil, nil
		})), lang.Must(lang.NewFunc("until_running()", func(context.Context, []any) (any, error) {
			<-running
			return nil, nil
		}))},
	}))
	session := comp.NewSession(rt, lang.Stdout(screen), lang.ObserveViews(rec.View))
	shell := New(Config{
		Recent: rec, Runtime: rt, Listen: rt.Listen,
		SaveSettings: func(text string) (string, error) { return "settings", os.WriteFile("settings", []byte(text), 0o644) },
		Session:      session, Machine: fakeMachine{}, Out: screen, Err: screen, Interrupts: interrupts,
		ReadFile:  func(_ context.Context, name string) ([]byte, error) { return os.ReadFile(name) },
		WriteFile: func(_ context.Context, name string, data []byte) error { return os.WriteFile(name, data, 0o644) },
		Check: func(ctx context.Context, name string, src []byte) lang.Diagnostics {
			_, ds := comp.Compile(ctx, name, src)
			return ds
		},
		Edit: func(_ context.Context, text string) (string, error) { // this editor knows one change
			if strings.Contains(text, "2") {
				return "", errors.New("the editor failed")
			}
			return strings.ReplaceAll(text, "1", "2"), nil
		},
	})
	clock := time.Unix(0, 0)
	shell.now = func() time.Time { clock = clock.Add(1500 * time.Microsecond); return clock }
	shell.presses.now = time.Now
	return shell, func() {
		if err := session.Close(); err != nil {
			var d *lang.Diagnostic
			if !errors.As(err, &d) {
				t.Error(err)
			}
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

type fakeMachine struct{}

func (fakeMachine) Workers() []string { return []string{"cpu 0", "cpu 1"} }
func (fakeMachine) Nodes() []string   { return []string{"ram  8 GiB, 0 bytes used for data"} }
func (fakeMachine) Stats(int) string  { return "4 tasks: 4 done\n" }
func (fakeMachine) ResetStats()       {}
func (fakeMachine) Top() string       { return "tasks   4 of 4 ended\n" }

// TestAnyLines types pieces of statements and commands in any order: the Shell
// answers each and is still there afterwards.
func TestAnyLines(t *testing.T) {
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	comp := lang.Must(lang.NewCompiler(lang.Config{
		Modules: map[string]*lang.Module{"std/blas": stdlib.Modules()["std/blas"]},
		Limits:  lang.Limits{Steps: 20_000, Tasks: 1000, DataBytes: 1 << 20, Output: 1 << 20},
	}))
	pieces := []string{
		"register x = vector[f32](8, fill = 1)", "partition x by blocks(2)", "x", "x[1]", "x[", "]", "(", ")", "{", "}",
		"insert blas.scal(2.0, RW x)", "insert blas.scal(2.0, RW x[0])", "wait", "print(x)", "let a = ", "1", "+", "while true { }",
		"for i in 0..4 {", "func f(n: int) -> int { return f(n) }", "f(1)", "acquire RW x as xs", "xs[0] = 3.0", "release xs",
		"unregister x", "invalidate x", ";", "\"", "## doc", "# no", "\x00", "\xff", "é", "\t", " ", "then", "else",
		":ls", ":ls all", ":show x", ":show x 1..3", ":type ", ":doc x", "x?", "?", "?x", ":", ":!1", ":!!", ":time ", ":time on",
		":reset", ":reset handles", ":fmt", ":last", ":history", ":load nothing", ":save", ":help options", ":stats", ":explain E0401",
	}
	rapid.Check(t, func(t *rapid.T) {
		session := comp.NewSession(rt, lang.Stdout(io.Discard))
		defer session.Close()
		shell := New(Config{Session: session, Machine: fakeMachine{}, Out: io.Discard, Err: io.Discard})
		line := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 3).Draw(t, "pieces"), " ")
		})
		lines := rapid.SliceOfN(line, 0, 12).Draw(t, "lines")
		if code := shell.Run(t.Context(), NewLines(strings.NewReader(strings.Join(lines, "\n")))); code != 0 {
			t.Fatalf("the conversation ended with status %d", code)
		}
		for _, l := range lines {
			for i := range len(l) + 1 {
				if n, _ := shell.Complete(l, i); n > i {
					t.Fatalf("completion at %d of %q replaces %d bytes", i, l, n)
				}
			}
		}
	})
}

// TestMain checks that no conversation leaves a goroutine behind.
func TestMain(m *testing.M) {
	remove := perftest.Private()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}
