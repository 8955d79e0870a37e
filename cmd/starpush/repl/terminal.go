package repl

// The line editor: chzyer/readline behind the LineReader interface, with our own
// history walk, completion list and Alt-Enter.

import (
	"errors"
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
	Goes   bool   // a blank comes behind it
}

// A Terminal reads lines from a person. It is used from one goroutine, which
// also closes it; readline's own goroutines call back for keys and completion.
type Terminal struct {
	rl       *readline.Instance
	in       *readline.CancelableStdin
	keys     *input
	history  *History
	complete Completer
	size     func() (columns, rows int)

	mu struct {
		sync.Mutex
		before string   // lines of the entry above the one that is edited
		more   bool     // Alt-Enter: the entry goes on
		list   []string // history while the user walks in it
		at     int      // place in list; len(list) is the line being typed
		prefix string   // what stood in the line when the walk began
		tabs   int      // Tab presses in a row that had nothing to add
		edit   bool     // Ctrl-X Ctrl-E
	}
	marked bool // the terminal knows marks around what is pasted
	loaded int  // entries of the history that Ctrl-R knows
}

// NewTerminal opens the line editor on the process's terminal; marks: it may be asked to
// put marks around what is pasted, as a terminal that is not dumb.
func NewTerminal(h *History, complete Completer, size func() (columns, rows int), marks bool) (*Terminal, error) {
	t := &Terminal{history: h, complete: complete, size: size, marked: marks}
	t.keys = &input{r: os.Stdin}
	t.in = readline.NewCancelableStdin(t.keys)
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
	t.mu.more, t.mu.edit, t.mu.tabs = false, false, 0
	t.mu.list = nil
	t.mu.Unlock()

	t.rl.SetPrompt(prompt)
	t.marks(pasteOn)
	line, err := t.rl.Readline()
	t.marks(pasteOff)
	switch {
	case errors.Is(err, readline.ErrInterrupt):
		return "", ErrInterrupted
	case err != nil:
		return line, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.before += line + "\n"
	if t.mu.edit {
		return line, ErrEdit
	}
	if t.mu.more {
		line += "\n"
	}
	return line, nil
}

// marks writes what asks for marks or ends that.
func (t *Terminal) marks(ask string) {
	if t.marked {
		io.WriteString(t.rl.Config.Stdout, ask)
	}
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
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r {
	case keyMore:
		t.mu.more = true
		return readline.CharBell, true // nothing: an Enter comes behind it. false would go on reading then
	case keyEdit:
		t.mu.edit = true
		return readline.CharBell, true
	}
	if r != readline.CharTab {
		t.mu.tabs = 0
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

// DropInput forgets what was pasted and has not been read: Ctrl-C means that, too.
func (t *Terminal) DropInput() { t.keys.drop() }

// DropPaste forgets what was pasted and has not been read, and returns how many lines.
func (t *Terminal) DropPaste() int { return t.keys.dropPaste() }

// NextLine is the line with text that was pasted behind those that have been read.
func (t *Terminal) NextLine() string { return t.keys.nextPasted() }

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
// all candidates agree. Where that adds nothing, the first Tab lists their names side by
// side, the second one with types and documentation; of a name that is complete and the
// only one Tab says what it is. readline never sees more than one candidate, because its
// own list has neither.
type completion struct{ t *Terminal }

// Do implements readline.AutoCompleter.
func (c completion) Do(line []rune, pos int) ([][]rune, int) {
	head := string(line[:pos])
	if strings.TrimSpace(head) == "" {
		return [][]rune{[]rune("    ")}, 0 // indentation, also in pasted text
	}
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	text := c.t.mu.before + head
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
		c.t.mu.tabs = 0
		if len(candidates) == 1 && strings.HasPrefix(candidates[0].Detail, "(") { // what to write next
			width, _ := c.t.size()
			io.WriteString(c.t.rl.Stdout(), described(candidates, width, 1))
		}
		if len(candidates) == 1 && candidates[0].Goes && !strings.HasPrefix(string(line[pos:]), " ") {
			ext += " "
		}
		return [][]rune{[]rune(ext)}, len([]rune(word))
	}
	c.t.mu.tabs++
	width, height := c.t.size()
	list := ""
	switch {
	case len(candidates) == 1:
		list = described(candidates, width, 1)
	case c.t.mu.tabs == 1:
		list = namesInColumns(candidates, width, height)
	default:
		list = described(candidates, width, max(4, height-3))
	}
	io.WriteString(c.t.rl.Stdout(), list)
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
