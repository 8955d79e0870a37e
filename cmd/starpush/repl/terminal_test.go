package repl

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/chzyer/readline"
)

func walker(entries ...string) *Terminal {
	h, _ := OpenHistory("")
	for _, e := range entries {
		h.Add(e)
	}
	return &Terminal{history: h}
}

func TestHistoryWalkByPrefix(t *testing.T) {
	term := walker("let a = 1", "print(a)", "let b = 2", "wait", "let b = 2", "wait")
	type step struct {
		key  rune
		line string // before the key, "" to keep what the walk shows
		want string
	}
	line := ""
	for i, s := range []step{
		{'t', "let", ""}, // typing
		{readline.CharPrev, "", "let b = 2"},
		{readline.CharPrev, "", "let a = 1"}, // equal entries are shown once
		{readline.CharPrev, "", "let a = 1"}, // nothing above
		{readline.CharNext, "", "let b = 2"},
		{readline.CharNext, "", "let"},
		{readline.CharNext, "", "let"},
		{'x', "", ""},
		{readline.CharPrev, "p", "wait"}, // the walk begins with what the last key left: "let"
	} {
		if s.line != "" {
			line = s.line
		}
		if i == 8 {
			term.onKey(nil, 0, 0) // a new line
		}
		got, pos, ok := term.onKey([]rune(line), len(line), s.key)
		if s.want == "" {
			if ok {
				t.Errorf("step %d: the walk took a key that types", i)
			}
			continue
		}
		if !ok || string(got) != s.want || pos != len(got) {
			t.Errorf("step %d: shows %q (%v), want %q", i, string(got), ok, s.want)
		}
		line = string(got)
	}
}

func TestCompletionExtendsThenStops(t *testing.T) {
	term := walker()
	term.width = func() int { return 80 }
	term.complete = func(text string, offset int) (int, []Candidate) {
		if text[:offset] == "insert blas.sc" {
			return 2, []Candidate{{Text: "scal"}}
		}
		return 2, []Candidate{{Text: "gemm"}, {Text: "gemv"}}
	}
	c := completion{term}
	for _, tt := range []struct {
		line string
		want string
		n    int
	}{{"insert blas.sc", "al", 2}, {"insert blas.ge", "m", 2}, {"   ", "    ", 0}} {
		got, n := c.Do([]rune(tt.line), len(tt.line))
		if len(got) != 1 || string(got[0]) != tt.want || n != tt.n {
			t.Errorf("%q: got %q, %d; want %q, %d", tt.line, got, n, tt.want, tt.n)
		}
	}
}

func TestListing(t *testing.T) {
	got := listing([]Candidate{
		{Text: "gemm", Detail: "codelet", Doc: "C := alpha*op(A)*op(B) + beta*C"},
		{Text: "gemv"},
		{Text: "getrf_nopiv", Doc: strings.Repeat("long ", 20)},
	}, 40)
	want := "  gemm         codelet  C := alpha*op(…\n  gemv\n  getrf_nopiv  long long long long lon…\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	var many []Candidate
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many = append(many, Candidate{Text: strings.Repeat(string(c), 3)})
	}
	got = listing(many, 22)
	if !strings.HasPrefix(got, "aaa  bbb  ccc  ddd  \neee  ") || strings.Count(got, "\n") != 7 {
		t.Errorf("got\n%s", got)
	}
}

func TestAltEnter(t *testing.T) {
	in := "a\x1b\rb\x1b\nc\x1b[A"
	want := "a" + string(keyMore) + "b" + string(keyMore) + "c\x1b[A"
	got, err := io.ReadAll(&altEnter{r: strings.NewReader(in)})
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	// Split anywhere but inside the sequence, which terminals send in one piece.
	if err := iotest.TestReader(&altEnter{r: strings.NewReader(in)}, []byte(want)); err != nil {
		t.Error(err)
	}
	small := &altEnter{r: bytes.NewReader([]byte("\x1b\r"))}
	buf := make([]byte, 2)
	n, _ := small.Read(buf)
	m, _ := small.Read(buf[:1])
	if n != 2 || m != 1 {
		t.Errorf("a key longer than the buffer came as %d and %d bytes", n, m)
	}
}
