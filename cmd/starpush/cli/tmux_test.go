package cli

// The prompt on a real terminal: tmux types and reads the screen.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A tty is a terminal in which the prompt runs.
type tty struct {
	t      *testing.T
	socket string
	dir    string // its working folder, home of its state and configuration
}

// onTerminal opens the prompt on a terminal of the given width and height; env are
// settings such as "PAGER=cat". When it ends, the screen says "status N".
func onTerminal(t *testing.T, width, height int, args string, env ...string) *tty {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("STARPUSH_NEED_TMUX") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no tmux here")
	}
	starpush, err := exec.LookPath("starpush")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &tty{t, filepath.Join(dir, "tmux"), dir}
	unset := "unset NO_COLOR VISUAL EDITOR PAGER LESS COLUMNS; "
	all := append([]string{"XDG_STATE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "STARPUSH_PERF_DIR=" + dir, "STARPUSH_BUS_DIR=" + dir, "STARPUSH_BLAS=gonum", "TERM=screen-256color"}, env...)
	command := fmt.Sprintf("trap : INT; cd '%s'; %sexport '%s'; '%s' %s; echo status $?; trap '' INT QUIT; exec cat", dir, unset, strings.Join(all, "' '"), starpush, args)
	out, err := exec.Command("tmux", "-S", s.socket, "-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "sh", "-c", command).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	s.until("leaves")
	s.untilMatch(`^>\z`)
	return s
}

func (s *tty) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// screen is what the terminal shows, without the rows that are empty at its end.
func (s *tty) screen() string {
	return strings.TrimRight(s.tmux("capture-pane", "-p", "-t", "0"), "\n ")
}

// types types text and, unless it ends with a space, Enter.
func (s *tty) types(text string) {
	s.t.Helper()
	s.tmux("send-keys", "-t", "0", "-l", "--", strings.TrimSuffix(text, " "))
	if !strings.HasSuffix(text, " ") {
		s.keys("Enter")
	}
}

// keys presses keys: "C-c", "Tab", "Up".
func (s *tty) keys(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys", "-t", "0"}, keys...)...)
}

// paste pastes text as a terminal does whose program asked for marks.
func (s *tty) paste(text string) { s.pasteWith(text, "-p") }

// pasteUnmarked pastes text as a terminal does that has no marks.
func (s *tty) pasteUnmarked(text string) { s.pasteWith(text) }

func (s *tty) pasteWith(text string, flags ...string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "pasted")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.tmux("load-buffer", file)
	s.tmux(append([]string{"paste-buffer", "-t", "0"}, flags...)...)
}

// until waits until the screen shows the texts, one behind the other.
func (s *tty) until(texts ...string) string {
	s.t.Helper()
	var parts []string
	for _, text := range texts {
		parts = append(parts, regexp.QuoteMeta(text))
	}
	return s.untilMatch(strings.Join(parts, "(?s:.*)"))
}

func (s *tty) untilMatch(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	now := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now = s.screen(); re.MatchString(now) {
			return now
		}
	}
	s.t.Fatalf("the screen never shows %q:\n%s", pattern, now)
	return ""
}

// prompt waits until the last row is an empty prompt.
func (s *tty) prompt() string {
	s.t.Helper()
	return s.untilMatch(`^>\z`)
}

// clear makes the screen empty but for a prompt.
func (s *tty) clear() {
	s.t.Helper()
	s.keys("C-l")
	s.untilMatch(`\A>\z`)
}

// history is what the file of the history holds.
func (s *tty) history() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "starpush", "history"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// patience is how long a screen may take; nothing is asserted about times.
var patience = time.Minute

const (
	slowCodelet = "codelet slow(v: RW variable[i64]) { for k in 0..100000000000 { v += k } }"
)

// Ctrl-C and Ctrl-D, wherever they may come.
func TestKeysThatStop(t *testing.T) {
	t.Run("prompt", func(t *testing.T) {
		s := onTerminal(t, 80, 24, "--no-init --cpus 1")
		s.keys("C-c")
		s.untilMatch(`^> \^C\n>\z`)
		s.types("let a = ( ")
		s.keys("C-c")
		s.untilMatch(`^> let a = \(\^C\n>\z`)
		s.types("for i in 0..3 {")
		s.untilMatch(`^\.\z`)
		s.keys("C-c")
		s.untilMatch(`^\.     \^C\n>\z`)
		s.types("1 + 1")
		s.untilMatch(`^2\n>\z`)
		s.keys("C-d")
		s.until("status 0")
	})
	t.Run("script", func(t *testing.T) {
		s := onTerminal(t, 80, 24, "--no-init --cpus 1")
		s.types("let a = 7")
		s.types(`print("on"); while true { }`)
		s.untilMatch(`^on$`)
		s.keys("C-c")
		s.untilMatch(`^\^C cancelled\n>\z`)
		s.types("a")
		s.untilMatch(`^7\n>\z`)
	})
	t.Run("codelet", func(t *testing.T) {
		s := onTerminal(t, 80, 24, "--no-init --cpus 1")
		s.types(slowCodelet)
		s.types("register v = variable[i64](fill = 1)")
		s.types("insert slow(RW v); insert slow(RW v)")
		s.untilMatch(`^2 tasks inserted\n>\z`)
		s.types(`print("on"); wait v`)
		s.untilMatch(`^on$`)
		s.keys("C-c")
		s.untilMatch(`^\^C cancelled: 1 task dropped, 1 stopped; v has no valid value\n>\z`)
		s.types(":jobs")
		s.untilMatch(`^no task is left\n>\z`)
	})
	t.Run("leaving", func(t *testing.T) {
		s := onTerminal(t, 80, 24, "--no-init --cpus 1")
		s.types(slowCodelet)
		s.types("register v = variable[i64](fill = 1)")
		s.types("insert slow(RW v); insert slow(RW v)")
		s.untilMatch(`^2 tasks inserted\n>\z`)
		s.keys("C-d")
		s.until("waiting for 2 tasks; Ctrl-C drops them")
		s.keys("C-c")
		s.until("^C cancelled: 1 task dropped, 1 stopped; v has no valid value", "status 0")
	})
	t.Run("top", func(t *testing.T) {
		s := onTerminal(t, 80, 24, "--no-init --cpus 1")
		s.types(slowCodelet)
		s.types("register v = variable[i64](fill = 1)")
		s.types("for k in 0..3 { insert slow(RW v) }")
		s.types(":top")
		s.untilMatch(`^tasks   0 of 3 ended, 1 running, 0 ready, 2 waiting\n(?s:.*)cpu 0 +slow 1 .*100 %(?s:.*)any key leaves\z`)
		s.keys("C-c") // leaves, and drops nothing
		s.prompt()
		s.types(":jobs")
		s.untilMatch(`^3 tasks left, running: slow\n>\z`)
		s.types(":cancel")
		s.until("cancelled: 2 tasks dropped, 1 stopped")
		s.types(":top")
		s.until("tasks   3 of 3 ended, 0 running, 0 ready, 0 waiting; 1 failed, 2 cancelled", "any key leaves")
		s.tmux("resize-window", "-x", "40", "-y", "8")
		s.untilMatch(`\Atasks   3 of 3 ended, 0 running, 0 ready`)
		s.keys("q")
		s.prompt()
	})
	t.Run("pager", func(t *testing.T) {
		s := onTerminal(t, 80, 12, "--no-init --cpus 1", "PAGER=less", "LESS=RX")
		s.types(":help")
		s.untilMatch(`^:\z`) // what less asks with
		s.keys("C-c")        // the pager's
		for range 200 {      // to the end, whichever keys less forgets that come with Ctrl-C
			if strings.Contains(s.screen(), "(END)") {
				break
			}
			s.keys("Space")
			time.Sleep(20 * time.Millisecond)
		}
		s.keys("q")
		s.prompt()
		s.types("40 + 2")
		s.untilMatch(`^42\n>\z`)
	})
	t.Run("editor", func(t *testing.T) {
		s := onTerminal(t, 80, 12, "--no-init --cpus 1", "EDITOR=ed -p*")
		s.types("1 + 1")
		s.untilMatch(`^2\n>\z`)
		s.types(":edit")
		s.untilMatch(`^\*\z`)
		s.keys("C-c") // the editor's
		s.untilMatch(`^\?\n\*\z`)
		s.types("s/1/20/")
		s.types("wq")
		s.untilMatch(`^20 \+ 1\n21\n>\z`)
		s.types("21 * ")
		s.keys("C-x", "C-e")
		s.untilMatch(`^\*\z`)
		s.types("s/$/ 2/")
		s.types("wq")
		s.untilMatch(`^21 \* 2\n42\n>\z`)
		s.types("for i in 0..2 {")
		s.keys("C-x", "C-e") // what is typed of an entry of several lines
		s.untilMatch(`^\*\z`)
		s.types("a")
		s.types("print(i) }")
		s.types(".")
		s.types("wq")
		s.untilMatch(`^0\n1\n>\z`)
	})
}

// answered is what the prompt shows for a press of Ctrl-C.
var answered = regexp.MustCompile(`(?m)^\^C (?:waiting|no longer)|^> \^C\n[>s]|status \d`)

// presses presses Ctrl-C until the screen shows text. It waits for the answer to each
// press: where Ctrl-C is a signal, the terminal drops what was written and not yet shown.
func (s *tty) presses(text string) {
	s.t.Helper()
	for range 30 {
		before := len(answered.FindAllString(s.screen(), -1))
		s.keys("C-c")
		now := ""
		for end := time.Now().Add(patience); len(answered.FindAllString(now, -1)) <= before; time.Sleep(20 * time.Millisecond) {
			if now = s.screen(); time.Now().After(end) {
				s.t.Fatalf("Ctrl-C has no answer:\n%s", now)
			}
		}
		if strings.Contains(now, text) {
			return
		}
	}
	s.t.Fatalf("Ctrl-C never shows %q:\n%s", text, s.screen())
}

// A product of large matrices hears no Ctrl-C: the second press stops waiting for it, the
// third one leaves.
func TestPressesOnTerminal(t *testing.T) {
	s := onTerminal(t, 80, 100, "--no-init --cpus 1")
	s.types("register a, b, c = matrix[f64](6000, 6000, fill = 1.0)")
	s.types("insert blas.gemm(R a, R b, RW c)")
	s.untilMatch(`^1 task inserted\n>\z`)
	s.types(`print("on"); wait c`)
	s.untilMatch(`^on$`)
	s.presses("^C waiting for kernels that run")
	s.presses("^C no longer waiting: ") // more than two: the window of two seconds may have passed
	s.prompt()
	s.types(":jobs")
	s.until("a statement that was left behind: its kernels still run", "1 task left, running: gemm")
	s.types("1 + 1") // waits for what was left behind
	s.until("waiting for the statement that was left behind; Ctrl-C gives up")
	s.presses("status 130") // gives that up, and leaves once three have come soon one after the other
}

// Help and documentation break where words do, however wide the terminal is.
func TestTextsOnTerminals(t *testing.T) {
	for _, width := range []int{60, 80, 110, 200} {
		s := onTerminal(t, width, 80, "--no-init --cpus 1")
		for _, entry := range []string{":help", ":help keys", ":help options", ":doc blas.gemm", ":explain E0304", ":set"} {
			s.clear()
			s.types(entry)
			shown := s.untilMatch(`\A> ` + regexp.QuoteMeta(entry) + `\n(?s:.+)\n>\z`)
			if n := strings.Count(shown, "\n"); n > 74 {
				t.Errorf("%s at %d columns takes %d rows", entry, width, n)
			}
			// A row that the terminal broke is longer when tmux joins it.
			if joined := strings.TrimRight(s.tmux("capture-pane", "-p", "-J", "-t", "0"), "\n "); strings.Count(joined, "\n") != strings.Count(shown, "\n") {
				t.Errorf("%s at %d columns: the terminal breaks lines\n%s", entry, width, shown)
			}
		}
	}
}

// Tab shows little at first.
func TestTab(t *testing.T) {
	s := onTerminal(t, 80, 24, "--no-init --cpus 1")
	s.clear()
	s.types("insert blas. ")
	s.keys("Tab")
	shown := s.until("axpy", "trsv", "> insert blas.")
	if n := strings.Count(shown, "\n"); n > 6 {
		t.Errorf("the first Tab takes %d rows:\n%s", n, shown)
	}
	s.keys("Tab")
	shown = s.untilMatch(`axpy +\(alpha: T, x: R dense\[T\], y: RW dense\[T\]\)  y = alpha(?s:.*)^> insert blas\.\z`)
	if n := strings.Count(shown, "axpy"); n != 1 {
		t.Errorf("the second Tab shows the names again:\n%s", shown)
	}
	s.keys("Tab")
	s.types("g ")
	if again := s.untilMatch(`^> insert blas\.g\z`); again != shown+"g" {
		t.Errorf("the third Tab shows something:\n%s", again)
	}
	s.keys("C-u")
	s.clear()
	s.types("insert blas.axp ")
	s.keys("Tab")
	s.untilMatch(`\A  axpy\(alpha: T, x: R dense\[T\], y: RW dense\[T\]\)  y = alpha .*\n> insert blas.axpy\z`)
	s.keys("C-u")
	s.types(":exp ")
	s.keys("Tab")
	s.untilMatch(`^> :explain\z`)
	s.keys("C-u")
	s.types("reg ")
	s.keys("Tab")
	s.types("v = vector[f6 ")
	s.keys("Tab")
	s.types("](5, fi ")
	s.keys("Tab")
	s.types("1) ")
	s.untilMatch(`^> register v = vector\[f64\]\(5, fill = 1\)\z`)
}

// TestPaste: pasted text is taken as one entry after the other, whatever is in it.
func TestPaste(t *testing.T) {
	s := onTerminal(t, 80, 24, "--no-init --cpus 1")
	s.paste("for i in 0..2 {\n\tif i == 1 {\n\t\tprint(\"tab\",\ti)\n\t}\n}\n:type 1\nlet s = \"数👍\"\n:set width 60\ns")
	s.untilMatch(`^tab 1$`)
	s.untilMatch(`^> s\z`)
	s.keys("Enter")
	s.untilMatch(`^数👍\n>\z`)
	s.clear()
	var b strings.Builder
	for k := range 1000 {
		fmt.Fprintf(&b, "let a%d = %d\n", k, k)
	}
	s.paste(b.String() + "a0 + a999\n")
	s.untilMatch(`^999\n>\z`)
	if n := strings.Count(s.history(), "\nlet a"); n != 1000 {
		t.Errorf("%d of 1000 pasted lines are in the history", n)
	}
	s.clear()
	s.paste("if false {\n\tprint(\"then\")\n}\nelse {\n\tprint(\"other\")\n}\nnothing\nprint(\"off\")\n:help\n")
	s.untilMatch(`^other\n> nothing\nerror.E0201.: .*\n2 pasted lines behind this error were left out\n>\z`)
	s.clear()
	s.paste("print(\"on\"); while true { }\nprint(\"off\")\nprint(\"off\")\n") // Ctrl-C ends the paste, too
	s.untilMatch(`^on$`)
	s.keys("C-c")
	s.untilMatch(`^\^C cancelled\n>\z`)
	s.types("5 * 5")
	if shown := s.untilMatch(`^25\n>\z`); strings.Contains(shown, "\noff") {
		t.Errorf("what was pasted behind what Ctrl-C ended runs:\n%s", shown)
	}
}

// Control characters in a paste do nothing, whether the terminal marks pastes or not: none suspends or
// ends the prompt. A long line is there at once, and Ctrl-C ends it.
func TestStrangePastes(t *testing.T) {
	s := onTerminal(t, 80, 24, "--no-init --cpus 1")
	long := "let a = [" + strings.Repeat("1, ", 10_000) + "1]"
	all := "\x1a\x04\x03\x18\x05\x1b\x1c"
	s.paste(all + "let b = 1" + all + "\n" + all + "b + 40" + all + "\n")
	s.untilMatch(`^41\n>`)
	s.keys("C-c")
	s.clear()
	s.paste(long)
	s.untilMatch(`, 1\]\z`)
	s.keys("C-c")
	s.untilMatch(`, 1\]\^C\n>\z`)
	s.paste(long)
	s.types("")
	s.types("len(a)")
	s.untilMatch(`^10001\n>\z`)
	s.clear()
	rest := "\x1a\x04\x1c\x12"
	s.pasteUnmarked(rest + "print(\"" + strings.Repeat("x", 70) + "\")" + rest + "\r" + rest + "b + 41" + rest + "\r")
	s.untilMatch(`^42\n>\z`)
}

// Editing of lines: wide characters, lines that are longer than the terminal, another size
// of it meanwhile, search, the history of earlier sessions.
func TestEditing(t *testing.T) {
	s := onTerminal(t, 40, 12, "--no-init --cpus 1")
	s.types("let s = \"数数\" ")
	s.keys("Left", "Left")
	s.types("x ")
	s.keys("Enter")
	s.types("s")
	s.untilMatch(`^数x数\n>\z`)
	s.types("print(\"a long line that goes on and on, over the end of the row\" ")
	s.tmux("resize-window", "-x", "60", "-y", "12")
	s.types(", 7)")
	s.untilMatch(`^a long line that goes on and on, over the end of the row 7\n>\z`)
	s.keys("C-r")
	s.types("let s ")
	s.keys("Enter")
	s.types("print(1)")
	s.untilMatch(`^1\n>\z`)
	s.types("pri ")
	s.keys("Up")
	s.untilMatch(`^> print\(1\)\z`)
	s.keys("Up")
	s.untilMatch(`^> print\("a long line .*`)
	s.keys("C-c")
	s.types(" print(\"hidden\")")
	s.untilMatch(`^hidden\n>\z`)
	s.keys("C-d")
	s.until("status 0")
	if h := s.history(); strings.Contains(h, "hidden") || !strings.Contains(h, "print(1)\n") {
		t.Errorf("the history is\n%s", h)
	}
}

// A terminal without abilities, and without colours.
func TestPoorTerminals(t *testing.T) {
	for _, env := range [][]string{{"TERM=dumb"}, {"NO_COLOR=1"}, {"PAGER="}} {
		s := onTerminal(t, 70, 80, "--no-init --cpus 1", env...)
		s.types("a_name_that_is_not_there")
		s.until("error[E0201]")
		if text := s.tmux("capture-pane", "-p", "-e", "-t", "0"); env[0] != "PAGER=" && strings.Contains(text, "\x1b[") {
			t.Errorf("%s: there are colours:\n%q", env[0], text)
		}
		s.types(":help")
		s.until(":quit [STATUS]")
		s.keys("C-d")
		s.until("status 0")
	}
}

// A terminal that shows no more than text has no pager: less would ask for a key first.
func TestNoPagerOnDumbTerminals(t *testing.T) {
	s := onTerminal(t, 70, 12, "--no-init --cpus 1", "TERM=dumb", "PAGER=echo paged")
	s.types(":help")
	s.until(":quit [STATUS]")
	s.prompt()
}

// When the terminal goes away, the process does, and keeps the history.
func TestTerminalGoes(t *testing.T) {
	s := onTerminal(t, 80, 24, "--no-init --cpus 2")
	s.types(slowCodelet)
	s.types("register v = variable[i64](fill = 1)")
	s.types("insert slow(RW v); insert slow(RW v)")
	s.untilMatch(`^2 tasks inserted\n>\z`)
	pids := strings.Fields(s.tmux("list-panes", "-F", "#{pane_pid}"))
	out, err := exec.Command("ps", "-o", "pid=", "--ppid", pids[0]).Output()
	if err != nil {
		t.Skip("no ps of Linux here")
	}
	pid := strings.TrimSpace(string(out))
	s.tmux("kill-server")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if exec.Command("ps", "-p", pid).Run() != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the process goes on without its terminal")
		}
	}
	if h := s.history(); !strings.Contains(h, "insert slow(RW v); insert slow(RW v)\n") {
		t.Errorf("the history is\n%s", h)
	}
}

// TestRanksOnTerminal: the prompt on several ranks has the terminal, though a launcher starts it, and leaves nothing behind when that goes away.
func TestRanksOnTerminal(t *testing.T) {
	needMPI(t)
	s := onTerminal(t, 100, 40, "repl --no-init --ranks 2")
	s.until("2 ranks, here ")
	s.types("codelet add(v: RW vector[i64]) { each i in v { v[i] += 1 } }")
	s.types("register x = vector[i64](3, fill = 1)")
	s.types("insert add(RW x) with rank = 1")
	s.types("x + ")
	s.keys("C-c")
	s.prompt()
	s.types("x")
	s.until("vector[i64] 3: 2 2 2")
	s.types(`print("on"); while true { insert add(RW x) with rank = 1; wait }`)
	s.untilMatch(`^on$`)
	s.keys("C-c")
	s.until("^C cancelled", "the ranks were at different places, so the data of the session has ended: x")
	s.prompt()
	s.types(`print("off"); while true { }`)
	s.untilMatch(`^off$`)
	s.keys("C-c")
	s.until("off", "^C cancelled")
	s.prompt()
	s.types("register x = vector[i64](3, fill = 5)")
	s.types("insert add(RW x) with rank = 1")
	s.types("x")
	s.until("vector[i64] 3: 6 6 6")
	s.keys("Up", "Up")
	s.until("> insert add(RW x) with rank = 1")
	s.keys("Enter")
	s.types("x")
	s.until("vector[i64] 3: 7 7 7")
	s.prompt()
	s.keys("C-d")
	s.until("status 0")
}

// TestRanksTerminalGoes: when the terminal goes away, all ranks end.
func TestRanksTerminalGoes(t *testing.T) {
	needMPI(t)
	s := onTerminal(t, 100, 40, "repl --no-init --ranks 2 --timeout 4271s") // a time by which the processes are found
	s.types("register x = vector[i64](3, fill = 1)")
	s.types("x")
	s.until("vector[i64] 3: 1 1 1")
	out, err := exec.Command("pgrep", "-f", "timeout 4271s").Output()
	if err != nil {
		t.Skip("no pgrep here")
	}
	s.tmux("kill-server")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, pid := range strings.Fields(string(out)) {
			if exec.Command("ps", "-p", pid).Run() == nil {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d processes go on without their terminal", left)
		}
	}
}

// All lines of an entry can be edited, and the history keeps lines and comments.
func TestBlocks(t *testing.T) {
	s := onTerminal(t, 60, 20, "--no-init --cpus 1")
	s.keys("C-r") // there is nothing to find yet
	s.keys("C-c")
	s.untilMatch(`^> \^C\n>\z`)
	s.keys("DC") // with nothing to delete it does not leave
	s.clear()
	s.types("for i in 0..2 {")
	s.types("if i == 1 {  # the last")
	s.types("print(i)")
	s.types("}")
	s.types("}")
	want := "> for i in 0..2 {\n.     if i == 1 {  # the last\n.         print(i)\n.     }\n. }\n"
	if shown := s.untilMatch(`^1\n>\z`); shown != want+"1\n>" {
		t.Errorf("typed and run\n%s\nwant\n%s", shown, want)
	}
	s.clear()
	s.keys("Up")
	if shown := s.untilMatch(`^\. \}\z`); shown != strings.TrimSuffix(want, "\n") {
		t.Errorf("Up shows\n%s\nwant\n%s", shown, want)
	}
	s.keys("Down", "Down", "End", "Left")
	s.types(", 7 ")
	s.keys("Up", "End", "C-Left", "C-Left", "C-Left")
	s.keys("DC")
	s.types("0")
	s.untilMatch(`^0 7\n>\z`)
	if h := s.history(); !strings.Contains(h, "for i in 0..2 {\x1e    if i == 0 {  # the last\x1e        print(i, 7)\x1e    }\x1e}\n") {
		t.Errorf("the history is\n%q", h)
	}
	s.clear()
	s.keys("C-r")
	s.types("== 1 ") // on one line while it searches
	s.untilMatch(`^> for i in 0\.\.2 \{⏎    if i == 1`)
	s.keys("Left")
	s.untilMatch(`^> for i in 0\.\.2 \{\n\.     if i == 1 .*\n\.         print\(i\)\n\.     \}\n\. \}\z`)
	s.keys("Enter")
	s.untilMatch(`^1\n>\z`)
	s.clear()
	s.types("1 + 1 ")
	s.keys("M-Enter") // adds a line in any case; BSpace at its beginning removes it
	s.types("+ 40 ")
	s.keys("Home", "BSpace")
	s.untilMatch(`\A> 1 \+ 1\+ 40\z`)
	s.keys("Enter")
	s.untilMatch(`^42\n>\z`)
	s.types("if true {")
	s.untilMatch(`^\.\z`)
	s.keys("C-d") // no end of the input
	s.types("print(5)")
	s.types("}")
	s.untilMatch(`^5\n>\z`)
}

// An entry that is taller than the screen is edited in parts, and runs as a whole.
func TestTallBlock(t *testing.T) {
	s := onTerminal(t, 40, 10, "--no-init --cpus 1")
	var b strings.Builder
	b.WriteString("let l = [\n")
	for k := range 30 {
		fmt.Fprintf(&b, "    %d,  # number %d\n", k, k)
	}
	s.paste(b.String() + "]\nprint(len(l), l[29])\n")
	s.untilMatch(`^30 29\n>\z`)
	s.keys("Up", "Up")
	s.untilMatch(`^> let l = \[\n(?s:.*)number 6\z`)
	for range 20 {
		s.keys("Down")
	}
	s.untilMatch(`number 19\z`)
	s.keys("End", "Enter") // complete wherever the cursor is
	s.untilMatch(`number 29\n\. \]\n>\z`)
	s.types("l[19]")
	s.untilMatch(`^19\n>\z`)
}
