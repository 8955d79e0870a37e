package repl

// The line editor: chzyer/readline behind the LineReader interface, with our own
// history walk, completion list and Alt-Enter.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/chzyer/readline"
)

// A Completer offers what can stand at the end of text[:offset] of an entry:
// how many bytes before offset they replace, and the candidates.
type Completer func(text string, offset int) (replace int, candidates []Candidate)

// A Candidate is one completion.
type Candidate struct {
	Text   string // replaces the word
	Detail string // type or kind
	Doc    string // first line of the documentation
}

// A Terminal reads lines from a person. It is used from one goroutine, which
// also closes it; readline's own goroutines call back for keys and completion.
type Terminal struct {
	rl       *readline.Instance
	in       *readline.CancelableStdin
	history  *History
	complete Completer
	width    func() int

	mu struct {
		sync.Mutex
		before string   // lines of the entry above the one that is edited
		more   bool     // Alt-Enter: the entry goes on
		list   []string // history while the user walks in it
		at     int      // place in list; len(list) is the line being typed
		prefix string   // what stood in the line when the walk began
	}
	loaded int // entries of the history that Ctrl-R knows
}

// keyMore is what the input turns Alt-Enter into; it is in the private use area,
// so no keyboard types it.
const keyMore = '\ue00d'

// NewTerminal opens the line editor on the process's terminal.
func NewTerminal(h *History, complete Completer, width func() int) (*Terminal, error) {
	t := &Terminal{history: h, complete: complete, width: width}
	t.in = readline.NewCancelableStdin(&altEnter{r: os.Stdin})
	cfg := &readline.Config{
		Stdin:                  t.in,
		HistoryLimit:           HistoryLimit + 1,
		HistorySearchFold:      true,
		DisableAutoSaveHistory: true,
		InterruptPrompt:        "^C",
		EOFPrompt:              "\n", // nothing, then a new line
		AutoComplete:           completion{t},
		Listener:               readline.FuncListener(t.onKey),
		FuncFilterInputRune:    t.filterKey,
	}
	rl, err := readline.NewEx(cfg)
	if err != nil {
		return nil, err
	}
	t.rl = rl
	return t, nil
}

// ReadLine implements LineReader.
func (t *Terminal) ReadLine(prompt string) (string, error) {
	first := strings.Contains(prompt, promptFirst)
	if first {
		t.teachSearch()
	}
	t.mu.Lock()
	if first {
		t.mu.before = ""
	}
	t.mu.more = false
	t.mu.list = nil
	t.mu.Unlock()

	t.rl.SetPrompt(prompt)
	line, err := t.rl.Readline()
	switch {
	case errors.Is(err, readline.ErrInterrupt):
		return "", ErrInterrupted
	case err != nil:
		return line, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.before += line + "\n"
	if t.mu.more {
		line += "\n"
	}
	return line, nil
}

// teachSearch gives readline's Ctrl-R the history as it is now. It starts
// afresh: readline loses track of its list when an entry has several lines.
func (t *Terminal) teachSearch() {
	entries := t.history.Entries()
	if t.loaded > 0 && t.loaded == len(entries) && len(entries) < HistoryLimit {
		return
	}
	t.rl.ResetHistory()
	for _, e := range entries {
		t.rl.SaveHistory(e) // in memory: there is no file that could fail
	}
	t.loaded = len(entries)
}

// filterKey sees every key first.
func (t *Terminal) filterKey(r rune) (rune, bool) {
	if r == keyMore {
		t.mu.Lock()
		t.mu.more = true
		t.mu.Unlock()
		return readline.CharEnter, true
	}
	return r, true
}

// onKey walks in the history by prefix: Up and Down stop at entries that begin
// with what was typed.
func (t *Terminal) onKey(line []rune, pos int, key rune) ([]rune, int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key != readline.CharPrev && key != readline.CharNext {
		t.mu.list = nil
		if key != 0 {
			t.mu.prefix = string(line)
		} else {
			t.mu.prefix = ""
		}
		return nil, 0, false
	}
	if t.mu.list == nil {
		t.mu.list = t.history.Entries()
		t.mu.at = len(t.mu.list)
	}
	step := -1
	if key == readline.CharNext {
		step = 1
	}
	text := t.current()
	for at := t.mu.at + step; at >= 0 && at <= len(t.mu.list); at += step {
		if at == len(t.mu.list) || strings.HasPrefix(t.mu.list[at], t.mu.prefix) && t.mu.list[at] != text {
			t.mu.at = at
			break
		}
	}
	shown := []rune(t.current())
	return shown, len(shown), true
}

// current is the line at the place of the walk; t.mu is held.
func (t *Terminal) current() string {
	if t.mu.at < len(t.mu.list) {
		return t.mu.list[t.mu.at]
	}
	return t.mu.prefix
}

// Close gives the terminal back. No ReadLine may be in flight.
func (t *Terminal) Close() error {
	t.in.Close() // unblocks readline's reader, so that its Close does not wait for a key
	done := make(chan error, 1)
	go func() { done <- t.rl.Close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second):
		return errors.New("the line editor did not end")
	}
}

// completion is the readline side of a Completer. It extends the word as far as
// all candidates agree and otherwise lists them with types and documentation;
// readline never sees more than one, because its own list has neither.
type completion struct{ t *Terminal }

// Do implements readline.AutoCompleter.
func (c completion) Do(line []rune, pos int) ([][]rune, int) {
	head := string(line[:pos])
	if strings.TrimSpace(head) == "" {
		return [][]rune{[]rune("    ")}, 0 // indentation, also in pasted text
	}
	c.t.mu.Lock()
	before := c.t.mu.before
	c.t.mu.Unlock()
	text := before + head
	replace, candidates := c.t.complete(text+string(line[pos:]), len(text))
	if len(candidates) == 0 || replace > len(text) {
		return nil, 0
	}
	word := text[len(text)-replace:]
	common := candidates[0].Text
	for _, k := range candidates[1:] {
		common = commonPrefix(common, k.Text)
	}
	if ext, ok := strings.CutPrefix(common, word); ok && ext != "" {
		return [][]rune{[]rune(ext)}, len([]rune(word))
	}
	if len(candidates) > 1 {
		io.WriteString(c.t.rl.Stdout(), listing(candidates, c.t.width()))
	}
	return nil, 0
}

func commonPrefix(a, b string) string {
	ra, rb := []rune(a), []rune(b)
	n := 0
	for n < len(ra) && n < len(rb) && ra[n] == rb[n] {
		n++
	}
	return string(ra[:n])
}

// listing shows candidates, one to a line with what is known of them, or side by
// side when there are too many for that.
func listing(candidates []Candidate, width int) string {
	const oneToALine = 24
	if width <= 0 {
		width = 80
	}
	widest := 0
	for _, c := range candidates {
		widest = max(widest, len([]rune(c.Text)))
	}
	var b strings.Builder
	if len(candidates) > oneToALine {
		columns := max(1, width/(widest+2))
		for i, c := range candidates {
			fmt.Fprintf(&b, "%-*s", widest+2, c.Text)
			if i%columns == columns-1 || i == len(candidates)-1 {
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
	for _, c := range candidates {
		line := fmt.Sprintf("  %-*s  %s", widest, c.Text, strings.TrimSpace(c.Detail+"  "+c.Doc))
		b.WriteString(cut(strings.TrimRight(line, " "), width-1) + "\n")
	}
	return b.String()
}

// cut shortens a line to width columns.
func cut(s string, width int) string {
	r := []rune(s)
	if width < 1 || len(r) <= width {
		return s
	}
	return string(r[:width-1]) + "…"
}

// altEnter turns the bytes that Alt-Enter sends (escape, return) into keyMore.
type altEnter struct {
	r    io.Reader
	rest []byte
}

var (
	altReturn = []byte("\x1b\r")
	altFeed   = []byte("\x1b\n")
	moreBytes = []byte(string(keyMore))
)

func (a *altEnter) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		n, err := a.r.Read(p) // an error with bytes comes again on its own
		if n == 0 || !bytes.Contains(p[:n], altReturn) && !bytes.Contains(p[:n], altFeed) {
			return n, err
		}
		a.rest = bytes.ReplaceAll(bytes.ReplaceAll(p[:n], altReturn, moreBytes), altFeed, moreBytes)
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
