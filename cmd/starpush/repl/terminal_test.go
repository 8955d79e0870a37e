package repl

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chzyer/readline"
)

func walker(entries ...string) *Terminal {
	h, _ := OpenHistory("")
	for _, e := range entries {
		h.Add(e)
	}
	t := &Terminal{history: h}
	t.mu.block = block{lines: []string{""}}
	return t
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
	term.size = func() (int, int) { return 80, 24 }
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

func TestCandidateLists(t *testing.T) {
	three := []Candidate{
		{Text: "gemm", Detail: "(A: R M)", Doc: "C := alpha*op(A)*op(B) + beta*C"},
		{Text: "gemv"},
		{Text: "getrf_nopiv", Doc: strings.Repeat("long ", 20)},
	}
	var many []Candidate
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many = append(many, Candidate{Text: strings.Repeat(string(c), 3)})
	}
	for _, tt := range []struct{ name, got, want string }{
		{"described", described(three, 40, 9), "  gemm         (A: R M)  C := alpha*op…\n  gemv\n  getrf_nopiv  long long long long lon…\n"},
		{"one", described(three[:1], 80, 9), "  gemm(A: R M)  C := alpha*op(A)*op(B) + beta*C\n"},
		{"described, cut", described(three, 40, 2), "  gemm(A: R M)  C := alpha*op(A)*op(B)…\n  … and 2 more; more letters make it fewer\n"},
		{"names", namesInColumns(three, 40, 24), "gemm         gemv         getrf_nopiv\n"},
		{"names, down first", namesInColumns(many[:7], 22, 24), "aaa  ccc  eee  ggg\nbbb  ddd  fff\n"},
		{"names, cut", namesInColumns(many, 22, 8), "aaa  ddd  ggg  jjj\nbbb  eee  hhh  kkk\nccc  fff  iii  lll\n… and 14 more\n"},
		{"wide names", namesInColumns([]Candidate{{Text: "数数"}, {Text: "ab"}}, 40, 24), "数数  ab\n"},
		{"cut in a wide one", cutTo("a数数数", 5), "a数…"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, tt.got, tt.want)
		}
	}
}

// typedOut returns what read came from in, with the texts that were given at once in their places.
func typedOut(in *input, read []byte) string {
	var out strings.Builder
	for _, r := range string(read) {
		if r == keyText {
			out.WriteString(string(in.text()))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// readAll returns all that an input gives.
func readAll(r io.Reader) (string, error) {
	in := &input{r: r}
	read, err := io.ReadAll(in)
	return typedOut(in, read), err
}

func TestInput(t *testing.T) {
	more := string(keyMore)
	for _, tt := range []struct{ name, in, want string }{
		{"Alt-Enter", "a\x1b\rb\x1b\nc\x1b[C", "a" + more + "b" + more + "c\x1b[C"},
		{"arrows", "\x1b[A\x1b[B\x1bOAx\x1bOB", string([]rune{keyUp, keyDown, keyUp, 'x', keyDown})},
		{"a paste", "\x1b[200~for {\r\n\tx\n}\r\x1b[201~y\tz", "for {\r    x\r}\ry\tz"},
		{"keys in a paste", "\x1b[200~a\x01\x04\x7fb数\x1b[201~", "ab数"},
		{"a paste without end", "\x1b[200~abc", "abc"},
		{"keys that leave, in a paste", "\x1b[200~a\x03b\x1ac\x04\x1b[A\x18\x05\u009b\x1b[201~\x1b[C", "abc[A\x1b[C"},
		{"characters of keys, in a paste", "\x1b[200~\ue00e\ue00f\x1b[201~", "\ue00e\ue00f"},
		{"no mark", "\x1b[20", "\x1b[20"},
		{"two pastes", "\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", "ab"},
		{"the chord", "a\x18\x05b", "a" + string(keyEdit) + "\rb"},
		{"half a chord", "a\x18b\x05", "ab\x05"},
		{"Home and End", "\x1b[1~a\x1b[4~\x1b[7~\x1b[8~", "\x01a\x05\x01\x05"},
		{"by words", "\x1b[1;5D\x1b[1;3C", "\x1bb\x1bf"},
		{"Delete", "\x1b[3~", string(keyDelete)},
		{"another key", "\x1b[2~x", "\x1b[2~x"},
	} {
		got, err := readAll(strings.NewReader(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.name, got, err, tt.want)
		}
		// Terminals send keys in one piece; marks may come in two, and pastes in any.
		for cut := range len(tt.in) {
			if cut > 0 && (strings.HasSuffix(tt.in[:cut], "\x1b") || strings.HasSuffix(tt.in[:cut], "\x1b[") || strings.HasSuffix(tt.in[:cut], "\x1bO")) && !strings.Contains(tt.in[:cut-1], "200~") || strings.HasSuffix(tt.in[:cut], "201~\x1b") || strings.HasSuffix(tt.in[:cut], "201~\x1b[") {
				continue
			}
			got, err := readAll(io.MultiReader(strings.NewReader(tt.in[:cut]), strings.NewReader(tt.in[cut:])))
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, in two at %d: got %q, %v; want %q", tt.name, cut, got, err, tt.want)
			}
		}
	}
	small := &input{r: bytes.NewReader([]byte("\x1b\r"))}
	buf := make([]byte, 2)
	n, _ := small.Read(buf)
	m, _ := small.Read(buf)
	if n != 2 || m != 1 {
		t.Errorf("a key longer than the buffer came as %d and %d bytes", n, m)
	}
}

// Ctrl-C that comes alone was pressed by a person: it ends a paste that has no end.
func TestInterruptedPaste(t *testing.T) {
	got, err := readAll(io.MultiReader(strings.NewReader("\x1b[200~abc"), strings.NewReader("\x03"), strings.NewReader("d")))
	if got != "\x03d" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// Keys that leave the prompt do nothing within a lot of text that comes at once.
func TestUnmarkedPaste(t *testing.T) {
	text := strings.Repeat("数x", 40)
	for _, tt := range []struct{ name, in, want string }{
		{"keys that leave", "a\x1a" + text + "\x04b\x18\x05\x12\r\x1ac", "a" + text + "b\x05\rc"},
		{"Ctrl-D behind the last line", text + "\r\x04", text + "\r\x04"},
		{"Ctrl-D behind another one", text + "\r\x04b", text + "\rb"},
		{"Ctrl-C", text + "\x03b", text + "\x03b"},
		{"arrows", strings.Repeat("\x1b[C", 40) + "\x1a", strings.Repeat("\x1b[C", 40) + "\x1a"},
		{"behind a marked one", "\x1b[200~" + text + "\x1b[201~\x04", text + "\x04"},
	} {
		for _, r := range []io.Reader{strings.NewReader(tt.in), io.MultiReader(strings.NewReader(tt.in[:len(text)/2+1]), strings.NewReader(tt.in[len(text)/2+1:]))} {
			if got, err := readAll(r); got != tt.want || err != nil {
				t.Errorf("%s: got %q, %v; want %q", tt.name, got, err, tt.want)
			}
		}
	}
}

// An unmarked paste is read to its end before its first line is given: afterwards the terminal would
// obey control characters in it.
func TestUnmarkedPasteIsReadFirst(t *testing.T) {
	parts := []string{strings.Repeat("x", 100) + "\r", "\x1a", "y\x04\r"}
	var readers []io.Reader
	for _, part := range parts {
		readers = append(readers, strings.NewReader(part))
	}
	asked := 0
	in := &input{r: io.MultiReader(readers...), ready: func(time.Duration) bool { asked++; return asked < len(parts) }}
	buf := make([]byte, 100)
	n, err := in.Read(buf)
	if got := typedOut(in, buf[:n]); got != strings.Repeat("x", 100) || err != nil || asked != len(parts) {
		t.Errorf("the first text is %q, %v, after %d questions", got, err, asked)
	}
	rest, err := io.ReadAll(in)
	if string(rest) != "\ry\r" || err != nil {
		t.Errorf("then %q, %v", rest, err)
	}
}

// screenBytes counts what is written to it.
type screenBytes struct {
	sync.Mutex
	n int
}

func (s *screenBytes) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	s.n += len(p)
	return len(p), nil
}

// The line is drawn once for a paste, not once for each of its characters.
func TestPasteIsDrawnOnce(t *testing.T) {
	long := "let big = [" + strings.Repeat("1, ", 5000) + "1]"
	for _, tt := range []struct{ name, in, want string }{
		{"with marks", "\x1b[200~" + long + "\x1b[201~\r", long},
		{"without", long + "\r", long},
		{"in a line", "f()\x02\x1b[200~" + long[:3000] + "\x1b[201~\r", "f(" + long[:3000] + ")"},
	} {
		h, _ := OpenHistory("")
		term := &Terminal{history: h, size: func() (int, int) { return 100, 24 }}
		screen := &screenBytes{}
		nothing := func() error { return nil }
		err := term.open(&input{r: strings.NewReader(tt.in)}, &readline.Config{
			Stdout: screen, ForceUseInteractive: true, FuncMakeRaw: nothing, FuncExitRaw: nothing,
			FuncGetWidth: func() int { return 100 }, FuncOnWidthChanged: func(func()) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		line, err := term.ReadLine(promptFirst)
		if line != tt.want || err != nil {
			t.Errorf("%s: a line of %d bytes, %v; want %d", tt.name, len(line), err, len(tt.want))
		}
		screen.Lock()
		if most := 20 * len(tt.want); screen.n > most {
			t.Errorf("%s: %d bytes were written for a line of %d", tt.name, screen.n, len(tt.want))
		}
		screen.Unlock()
		if _, err := term.ReadLine(promptFirst); err != io.EOF { // readline's goroutine ends with the input
			t.Errorf("%s: %v at the end of the input", tt.name, err)
		}
		term.Close()
	}
}

// TestInputDrops: text pasted behind an entry that Ctrl-C ended is not run.
func TestInputDrops(t *testing.T) {
	in := &input{r: strings.NewReader("\x1b[200~one\rtwo\rthree\r\x1b[201~")}
	buf := make([]byte, 100)
	n, err := in.Read(buf)
	if got := typedOut(in, buf[:n]); got != "one" || err != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	in.drop()
	if n, err := in.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("got %q, %v", buf[:n], err)
	}
}

// A pasting LineReader gives what a terminal would send, line by line.
type pasting struct {
	*input
	out io.Writer
}

func (p pasting) ReadLine(prompt string) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; line = append(line, b[0]) {
		if _, err := p.Read(b); err != nil {
			return typedOut(p.input, line), err
		}
		if b[0] == '\r' {
			text := typedOut(p.input, line)
			fmt.Fprintln(p.out, prompt+text)
			return text, nil
		}
	}
}

func (p pasting) DropInput()       { p.drop() }
func (p pasting) DropPaste() int   { return p.dropPaste() }
func (p pasting) NextLine() string { return p.nextPasted() }

// TestPastes: an else on a line of its own belongs to the if above it, and what was pasted
// behind an error does not run; what is typed after it does.
func TestPastes(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"else", "\x1b[200~let a = 3\rif a > 4 {\r  print(1)\r}\relse if a > 3 {\r}\r  else {\r  print(2)\r}\rprint(3)\r\x1b[201~", "> let a = 3\n> if a > 4 {\n.   print(1)\n. }\n. else if a > 3 {\n. }\n.   else {\n.   print(2)\n. }\n2\n> print(3)\n3\n"},
		{"an else behind a comment", "\x1b[200~if false { } # no\r\r# but\relse { print(1) }\r\x1b[201~", "> if false { } # no\n. \n. # but\n. else { print(1) }\n1\n"},
		{"no else", "\x1b[200~let elsewhere = 1\rif true { }\relsewhere\r\x1b[201~", "> let elsewhere = 1\n> if true { }\n> elsewhere\n1\n"},
		{"an error", "\x1b[200~let a = b\rprint(1)\r\r:type 1\rprint(\x1b[201~print(4)\r", "> let a = b\nerror[E0201]: `b` is not defined\n3 pasted lines behind this error were left out\n> print(4)\n4\n"},
		{"the last line", "\x1b[200~b\rprint(1)\x1b[201~|b\r|\x1b[200~b\r\x1b[201~", "> b\nerror[E0201]: `b` is not defined\n1 pasted line behind this error was left out\n> b\nerror[E0201]: `b` is not defined\n> b\nerror[E0201]: `b` is not defined\n"},
	} {
		var screen bytes.Buffer
		shell, done := newShell(t, &screen, make(chan struct{}))
		var keys []io.Reader // what the terminal sends at once
		for part := range strings.SplitSeq(tt.in, "|") {
			keys = append(keys, strings.NewReader(part))
		}
		shell.Run(t.Context(), pasting{&input{r: io.MultiReader(keys...)}, &screen})
		done()
		if screen.String() != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, screen.String(), tt.want)
		}
	}
}

func TestKeyThatEdits(t *testing.T) {
	term := walker()
	for _, k := range "ab" + string(keyEdit) {
		if r, ok := term.filterKey(k); !ok || r != k && r != readline.CharBell {
			t.Errorf("%q: %q, %v", k, r, ok)
		}
	}
	if !term.mu.edit {
		t.Error("no edit")
	}
}

// Keys go from line to line of an entry, put lines together and part them.
func TestBlockKeys(t *testing.T) {
	const loop = "for i in 0..3 {\n    f(i)\n}"
	for _, tt := range []struct {
		name      string
		text      string
		at, pos   int
		keys      []rune
		want      string
		line, col int
	}{
		{"up", loop, 2, 1, []rune{keyUp}, loop, 1, 1},
		{"up to a shorter line", loop, 1, 8, []rune{keyUp, keyDown, keyDown}, loop, 2, 1},
		{"Alt-Enter", loop, 0, 15, []rune{keyMore}, "for i in 0..3 {\n    \n    f(i)\n}", 1, 4},
		{"Alt-Enter in a line", loop, 1, 6, []rune{keyMore}, "for i in 0..3 {\n    f(\n        i)\n}", 2, 8},
		{"left", loop, 1, 0, []rune{readline.CharBackward}, loop, 0, 15},
		{"right", loop, 0, 15, []rune{readline.CharForward}, loop, 1, 0},
		{"backspace", loop, 1, 0, []rune{readline.CharBackspace}, "for i in 0..3 {    f(i)\n}", 0, 15},
		{"Delete", loop, 0, 0, []rune{keyDelete, keyDelete}, "r i in 0..3 {\n    f(i)\n}", 0, 0},
		{"Delete at an end", loop, 1, 8, []rune{keyDelete}, "for i in 0..3 {\n    f(i)}", 1, 8},
		{"Delete at the last one", loop, 2, 1, []rune{keyDelete}, loop, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			term := walker()
			term.mu.block = blockOf(tt.text, true)
			term.mu.block.at = tt.at
			term.mu.line, term.mu.pos = []rune(term.mu.block.lines[tt.at]), tt.pos
			for _, k := range tt.keys {
				r, _ := term.filterKey(k)
				line, pos, _ := term.onKey(term.mu.line, term.mu.pos, r)
				term.mu.line, term.mu.pos = line, pos
			}
			if b := term.mu.block.with(string(term.mu.line)); b.text() != tt.want || b.at != tt.line || term.mu.pos != tt.col {
				t.Errorf("%q at %d, %d; want %q at %d, %d", b.text(), b.at, term.mu.pos, tt.want, tt.line, tt.col)
			}
		})
	}
}

// New lines are indented as the brackets say, those that are pasted as they are, and a bracket that
// closes goes back one step.
func TestIndentation(t *testing.T) {
	for _, tt := range []struct {
		line   string
		pos    int
		pasted bool
		want   string
	}{
		{"for i in 0..3 {", 15, false, "for i in 0..3 {|    "},
		{"for i in 0..3 {", 15, true, "for i in 0..3 {|"},
		{"    f(a,  # more {", 18, false, "    f(a,  # more {|    "},
		{"    let s = \"{\"", 15, false, "    let s = \"{\"|    "},
		{"  if a {  # why", 15, false, "  if a {  # why|      "},
		{"f(x)", 2, false, "f(|    x)"},
		{"{}", 1, false, "{|}"},
		{"    ", 4, false, "|    "},
	} {
		b, pos := blockOf(tt.line, true).split(tt.pos, tt.pasted)
		if got := strings.Join(b.lines, "|"); got != tt.want || pos != len(b.lines[1])-len(strings.TrimLeft(b.lines[1], " ")) {
			t.Errorf("%q at %d: %q, %d; want %q", tt.line, tt.pos, got, pos, tt.want)
		}
	}
	for line, want := range map[string]string{"        }": "    }", "  }": "}", "}": "", "x }": "", "    }x": ""} {
		got, _, ok := outdented([]rune(line), strings.IndexByte(line, '}')+1)
		if ok != (want != "") || string(got) != want {
			t.Errorf("%q: %q, %v", line, string(got), ok)
		}
	}
}

// The history gives entries back as they were, lines and comments.
func TestHistoryWalkInLines(t *testing.T) {
	const loop = "for i in 0..3 {\n    f(i)  # why\n}"
	term := walker("let a = 1", loop, "let b = 2")
	term.onKey(nil, 0, 0)
	for _, want := range []string{"let b = 2", loop, "let a = 1"} {
		r, _ := term.filterKey(keyUp)
		line, _, _ := term.onKey(term.mu.line, term.mu.pos, r)
		if b := term.mu.block.with(string(line)); b.text() != want || b.at != 0 {
			t.Errorf("Up shows %q in line %d, want %q", b.text(), b.at, want)
		}
	}
	for _, want := range []int{2, 2} { // from above its last line
		r, _ := term.filterKey(keyDown)
		line, _, _ := term.onKey(term.mu.line, term.mu.pos, r)
		if b := term.mu.block.with(string(line)); b.at != want && b.text() == loop {
			t.Errorf("Down is in line %d, want %d", b.at, want)
		}
	}
}
