package cli

// Streams: colour, width and order of what goes to the terminal. Both output
// streams share one lock with the progress line, so a print never tears a frame.

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// A console is the two output streams of a command and the progress line.
type console struct {
	out, err *stream

	mu struct {
		sync.Mutex
		frame bool // a progress line stands on the terminal
	}
}

// A stream is standard output or standard error.
type stream struct {
	c    *console
	w    io.Writer
	tty  bool
	col  bool // write ANSI colours
	fail func(error)
	bad  error // the first that a write met; guarded by the console's lock
}

// newConsole looks at what the streams are. mode is --color.
func newConsole(stdout, stderr io.Writer, env map[string]string, mode string) *console {
	c := &console{}
	c.out = newStream(c, stdout, env, mode)
	c.err = newStream(c, stderr, env, mode)
	return c
}

func newStream(c *console, w io.Writer, env map[string]string, mode string) *stream {
	s := &stream{c: c, w: w, tty: isTerminal(w)}
	switch mode {
	case "always":
		s.col = true
	case "never":
	default:
		s.col = s.tty && env["NO_COLOR"] == "" && env["TERM"] != "dumb"
	}
	return s
}

// isTerminal reports whether v (a reader or a writer) is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// width is the number of columns, 0 when the stream has none.
func (s *stream) width(env map[string]string) int {
	if !s.tty {
		return 0
	}
	if n, err := strconv.Atoi(env["COLUMNS"]); err == nil && n > 0 {
		return n
	}
	if f, ok := s.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

const eraseLine = "\r\x1b[K"

// Write writes p after taking the progress line off the terminal. A closed
// pipe is told to fail once and then swallowed: the run is being cancelled.
func (s *stream) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	s.c.eraseLocked()
	n, err := s.w.Write(p)
	if err != nil && s.bad == nil && !errors.Is(err, syscall.EPIPE) {
		s.bad = err
	}
	s.c.mu.Unlock()
	if err != nil && errors.Is(err, syscall.EPIPE) && s.fail != nil {
		s.fail(errPipe)
		return len(p), nil
	}
	return n, err
}

// failed is the first error that a write met; nil for a pipe that nobody reads.
func (s *stream) failed() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.bad
}

// eraseLocked takes the progress line off the terminal.
func (c *console) eraseLocked() {
	if c.mu.frame {
		c.mu.frame = false
		io.WriteString(c.err.w, eraseLine)
	}
}

// erase takes the progress line off the terminal.
func (c *console) erase() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.eraseLocked()
}

// frame replaces the progress line, in one write.
func (c *console) frame(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.err.w, eraseLine+text); err == nil {
		c.mu.frame = true
	}
}

// framed reports whether a progress line stands on the terminal.
func (c *console) framed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.frame
}
