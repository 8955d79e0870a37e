package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/lang"
)

func TestParseCount(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"42", 42, true}, {"-7", -7, true}, {"1_000_000", 1e6, true}, {"0xff", 255, true},
		{"16Ki", 16 << 10, true}, {"4GiB", 4 << 30, true}, {"-2Mi", -2 << 20, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true},
		{"8Ti", 8 << 40, true}, {"9007199254740992Ki", 0, false}, {"-9007199254740992Ki", math.MinInt64, true},
		{"9223372036854775808", 0, false}, {"", 0, false}, {"Ki", 0, false}, {"4B", 0, false}, {"1.5", 0, false},
		{"_1", 0, false}, {"1_", 0, false}, {"--1", 0, false}, {"0x", 0, false}, {"abc", 0, false}, {"+1", 0, false},
	} {
		got, err := parseCount(tt.in)
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("parseCount(%q) = %d, %v; want %d, %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

// Workers that a machine has no use for are refused, with what to do.
func TestCheckCPUs(t *testing.T) {
	for _, tt := range []struct {
		workers int64
		cpus    int
		want    string
	}{
		{0, 2, ""}, {8, 2, ""}, {64, 1, ""}, {512, 64, ""}, {1000, 128, ""},
		{65, 1, "--cpus 65: this machine has 1 CPU, and 64 workers are the most for that; leave the flag out for one for each CPU"},
		{1000, 2, "--cpus 1000: this machine has 2 CPUs, and 64 workers are the most for that; leave the flag out for one for each CPU"},
		{513, 64, "--cpus 513: this machine has 64 CPUs, and 512 workers are the most for that; leave the flag out for one for each CPU"},
	} {
		got := ""
		if err := checkCPUs(tt.workers, tt.cpus); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%d workers, %d CPUs: %q, want %q", tt.workers, tt.cpus, got, tt.want)
		}
	}
}

// TestCountUnits: units of other programs get another message than text that is no
// number.
func TestCountUnits(t *testing.T) {
	for in, want := range map[string]string{
		"1G": "; write `1Gi`, which counts by 1024, or `1_000_000_000`", "4gb": "; write `4Gi`, which counts by 1024, or `4_000_000_000`",
		"16K": "; write `16Ki`, which counts by 1024, or `16_000`", "2mib": "; write `2Mi`, which counts by 1024, or `2_000_000`", "1.5G": "",
		"1e3": "; write `1000`", "-2.0": "; write `-2`", "2.5": "", "1e300": "", "inf": "", "G": "", "x": "", "4B": "",
	} {
		_, err := parseCount(in)
		if want = fmt.Sprintf("`%s` is not an integer%s", in, want); err == nil || err.Error() != want {
			t.Errorf("parseCount(%q): %v, want %s", in, err, want)
		}
	}
}

func TestParseLimits(t *testing.T) {
	var l lang.Limits
	if err := parseLimits(&l, "steps=1Mi, depth=20,tasks=3,inflight=4,data=1Gi,mem=64Ki,output=5"); err != nil {
		t.Fatal(err)
	}
	want := lang.Limits{Steps: 1 << 20, CallDepth: 20, Tasks: 3, InFlight: 4, DataBytes: 1 << 30, ScriptBytes: 64 << 10, Output: 5}
	if l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	for _, bad := range []string{"", "steps", "steps=", "steps=-1", "time=3", "depth=4Gi", "steps=1,,tasks=2", "steps=1,steps=2"} {
		if err := parseLimits(&l, bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestExitStatus(t *testing.T) {
	diag := func(code string) error { return lang.Diagnostics{{Code: code, Message: "m"}} }
	interrupted, cancel := context.WithCancelCause(context.Background())
	cancel(&signalError{syscall.SIGINT})
	terminated, cancel := context.WithCancelCause(context.Background())
	cancel(&signalError{syscall.SIGTERM})
	piped, cancel := context.WithCancelCause(context.Background())
	cancel(errPipe)
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		ran  bool
		want int
	}{
		{"nothing wrong", nil, nil, true, 0},
		{"assertion", nil, diag("R0102"), true, 1},
		{"E code while running", nil, &lang.Diagnostic{Code: "E0702"}, true, 1},
		{"param", nil, diag("E0704"), false, 2},
		{"extern without data", nil, diag("E0904"), true, 2},
		{"invalid", nil, diag("E0201"), false, 3},
		{"warning, then invalid", nil, lang.Diagnostics{{Code: "W0201", Severity: lang.Warning}, {Code: "E0201"}}, false, 3},
		{"limit", nil, fmt.Errorf("x: %w", &lang.LimitError{Kind: "steps"}), true, 4},
		{"limit behind a diagnostic", nil, &lang.Diagnostic{Code: "R0101", Cause: &lang.LimitError{Kind: "steps"}}, true, 4},
		{"no device", nil, diag("E0803"), true, 5},
		{"SIGINT", interrupted, diag("R0108"), true, 130},
		{"SIGTERM", terminated, diag("R0108"), true, 143},
		{"pipe", piped, diag("R0108"), true, 141},
		{"another error", nil, errors.New("x"), true, 1},
	} {
		ctx := tt.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		if got := codeOf(ctx, tt.err, tt.ran); got != tt.want {
			t.Errorf("%s: exit status %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestSecondSignal sends this process two signals: the first cancels, the second
// ends at once.
func TestSecondSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself a signal there")
	}
	var mu sync.Mutex
	var firsts, exits []int
	ctx, stop := withSignals(context.Background(),
		func(e *signalError) { mu.Lock(); firsts = append(firsts, e.code()); mu.Unlock() },
		func(code int) { mu.Lock(); exits = append(exits, code); mu.Unlock() })
	defer stop()
	send := func(s os.Signal) {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGTERM)
	<-ctx.Done()
	var sig *signalError
	if !errors.As(context.Cause(ctx), &sig) || sig.code() != 143 {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
	until(t, "word of the first", func() bool { mu.Lock(); defer mu.Unlock(); return len(firsts) == 1 && firsts[0] == 143 })
	send(syscall.SIGINT)
	until(t, "the end", func() bool { mu.Lock(); defer mu.Unlock(); return len(exits) == 1 && exits[0] == 130 })
}

// TestClosedPipe writes to a pipe without a reader: the first failure is reported once,
// the writer sees none.
func TestClosedPipe(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(syscall.EPIPE)
	con := newConsole(w, io.Discard, nil, "auto")
	var told error
	con.out.fail = func(err error) { told = err }
	if n, err := con.out.Write([]byte("x\n")); n != 2 || err != nil {
		t.Errorf("Write returns %d, %v", n, err)
	}
	if told != errPipe {
		t.Errorf("told %v", told)
	}
}

func TestFileVersions(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f.txt")
	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("f.txt", link); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(name); string(got) != "new" {
		t.Errorf("the file behind the link holds %q", got)
	}
	if fi, _ := os.Lstat(link); fi.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if fi, _ := os.Stat(name); fi.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v", fi.Mode().Perm())
	}
	if err := writeFile(os.DevNull, []byte("x")); err != nil {
		t.Errorf("%s: %v", os.DevNull, err)
	}
	if fi, err := os.Stat(os.DevNull); err != nil || fi.Mode().IsRegular() {
		t.Fatalf("%s is no device any more", os.DevNull)
	}
	w, err := osFiles{}.Create(filepath.Join(dir, "dropped"))
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("half"))
	w.(interface{ Abort() }).Abort()
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("%d files are left, want 2", len(entries))
	}
	if err := writeFile(filepath.Join(dir, "no", "f"), nil); err == nil {
		t.Error("a file in a folder that does not exist was written")
	}
}

func TestPrintLines(t *testing.T) {
	var b bytes.Buffer
	j := newJSONWriter(&b)
	p := &printWriter{j: j}
	io.WriteString(p, "a\n")
	io.WriteString(p, "m:\n  1 2\n")
	io.WriteString(p, "no ")
	io.WriteString(p, "newline")
	p.flush()
	p.flush()
	want := `{"t":"hello","schema":1}
{"t":"print","text":"a"}
{"t":"print","text":"m:\n  1 2"}
{"t":"print","text":"no newline"}
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// The help of every command breaks no word at 80 columns, nor at 60, and loses none.
func TestHelpWidth(t *testing.T) {
	var look func(c *cobra.Command, path []string)
	look = func(c *cobra.Command, path []string) {
		var out, errs bytes.Buffer
		if code := Main(append(path, "--help"), strings.NewReader(""), &out, &errs, nil); code != exitOK {
			t.Fatalf("%v: %d, %s", path, code, errs.String())
		}
		usage := c.Long + "\n\n" + c.UsageString()
		for width, text := range map[int]string{80: out.String(), 60: folded(usage, 60)} {
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width {
					t.Errorf("starpush %v, %d columns: %q", path, width, line)
				}
			}
		}
		if got := folded(usage, 60); !slices.Equal(strings.Fields(got), strings.Fields(usage)) {
			t.Errorf("starpush %v: other words:\n%s", path, got)
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "help" {
				look(sub, append(slices.Clone(path), sub.Name()))
			}
		}
	}
	root := (&app{}).rootCommand()
	look(root, nil)
}

func TestFolded(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"short\n  too\n", "short\n  too\n"},
		{"one two three four five\nsix\n\nend", "one two three four\nfive six\n\nend"},
		{"  -x   one two three four", "  -x   one two three\n       four"},
		{"  a-name  one two three", "  a-name  one two\n          three"},
		{"  a-longer-name-yet  one two", "  a-longer-name-yet  one\n      two"},
		{"  äöü  ßß ßß ßß ßß ß", "  äöü  ßß ßß ßß ßß ß"},
	} {
		if got := folded(tt.in, 20); got != tt.want {
			t.Errorf("folded(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
