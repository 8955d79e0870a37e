package repl

// The line editor, and entries of several lines in it.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chzyer/readline"
)

// The line editor: chzyer/readline behind the LineReader interface, with our own
// history walk, completion list and Alt-Enter.

// A Completer returns the candidates for the end of text[:offset] of an entry, and how
// many bytes before offset they replace.
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
	more     func(entry string) bool // Continues; nil: entries have one line here

	mu struct {
		sync.Mutex
		before string   // lines of the entry that were read before this block, each with its end
		prompt string   // of the first line of the block
		block  block    // the entry that is edited
		line   []rune   // the current text of its edited line
		pos    int      // the cursor in it
		from   int      // the first line of block that is shown
		list   []string // history while the user walks in it
		at     int      // place in list; len(list) is the entry being typed
		prefix string   // the entry at the beginning of the walk
		tabs   int      // Tab presses in a row that had nothing to add
		listed int      // rows of the list that the last Tab showed
		edit   bool     // Ctrl-X Ctrl-E

		change  func() (block, int) // the effect on the block of the key that onKey gets next
		cleared bool                // that key clears the screen
		coded   map[string]string   // entries of several lines, by their form for Ctrl-R
		moved   bool                // readline has left the end of its history
	}
	below  atomic.Pointer[[]string] // rows below the line that is edited, with their prompts
	marked bool                     // the terminal knows marks around what is pasted
	loaded int                      // entries of the history that Ctrl-R knows
}

// Continues implements blockReader: while more reports true, Enter adds a line to the entry,
// and all its lines can be edited.
func (t *Terminal) Continues(more func(entry string) bool) { t.more = more }

// NewTerminal opens the line editor on the process's terminal; marks: it may be asked to
// put marks around what is pasted, as a terminal that is not dumb. The function ready reports whether a
// key can be read from it within a time; nil if that is not known.
func NewTerminal(h *History, complete Completer, size func() (columns, rows int), marks bool, ready func(d time.Duration) bool) (*Terminal, error) {
	t := &Terminal{history: h, complete: complete, size: size, marked: marks}
	if err := t.open(&input{r: os.Stdin, ready: ready}, &readline.Config{}); err != nil {
		return nil, err
	}
	return t, nil
}

// open starts the line editor with the keys of in; cfg has the output and how the terminal is used.
func (t *Terminal) open(in *input, cfg *readline.Config) (err error) {
	t.keys = in
	t.in = readline.NewCancelableStdin(t.keys)
	cfg.Stdin = t.in
	cfg.HistoryLimit = HistoryLimit + 1
	cfg.HistorySearchFold = true
	cfg.DisableAutoSaveHistory = true
	cfg.InterruptPrompt = "^C"
	cfg.EOFPrompt = "\n" // nothing, then a new line
	cfg.AutoComplete = completion{t}
	cfg.Painter = painter{t}
	cfg.Listener = readline.FuncListener(t.onKey)
	cfg.FuncFilterInputRune = t.filterKey
	t.rl, err = readline.NewEx(cfg)
	return err
}

// ReadLine implements LineReader. The text may have several lines.
func (t *Terminal) ReadLine(prompt string) (string, error) {
	first := strings.Contains(prompt, promptFirst)
	if first {
		t.teachSearch()
	}
	t.mu.Lock()
	if first {
		t.mu.before = ""
	}
	t.mu.prompt, t.mu.block, t.mu.from = prompt, block{lines: []string{""}}, 0
	t.mu.line, t.mu.pos, t.mu.change = nil, 0, nil
	t.mu.edit, t.mu.tabs = false, 0
	t.mu.list = nil
	t.below.Store(nil)
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
	if entry, ok := t.mu.coded[line]; ok && len(t.mu.block.lines) == 1 { // found by Ctrl-R
		line = entry
	}
	line = t.mu.block.with(line).text()
	t.mu.before += line + "\n"
	if t.mu.edit {
		return line, ErrEdit
	}
	return line, nil
}

// marks writes what asks for marks or ends that.
func (t *Terminal) marks(ask string) {
	if t.marked {
		io.WriteString(t.rl.Config.Stdout, ask)
	}
}

// teachSearch gives readline's Ctrl-R the history as it is now, each entry on one line. It starts
// afresh: readline loses track of its list when an entry has several lines.
func (t *Terminal) teachSearch() {
	entries := t.history.Entries()
	t.mu.Lock()
	moved := t.mu.moved
	t.mu.moved = false
	t.mu.Unlock()
	if t.loaded > 0 && t.loaded == len(entries) && len(entries) < HistoryLimit && !moved {
		return
	}
	coded := map[string]string{}
	t.rl.ResetHistory()
	for _, e := range entries {
		code := strings.ReplaceAll(e, "\n", lineMark)
		if code != e {
			coded[code] = e
		}
		t.rl.SaveHistory(code) // in memory: there is no file that could fail
	}
	t.loaded = len(entries)
	t.mu.Lock()
	t.mu.coded = coded
	t.mu.Unlock()
}

// filterKey sees every key first.
func (t *Terminal) filterKey(r rune) (rune, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r {
	case readline.CharTab:
	case readline.CharPrev, readline.CharNext, keyUp, keyDown, readline.CharBckSearch, readline.CharFwdSearch:
		t.mu.moved = true
		fallthrough
	default:
		t.mu.tabs = 0
	}
	if r == keyEdit {
		t.mu.edit = true
		return readline.CharBell, true // no effect: an Enter follows; false would make readline go on reading
	}
	if t.rl != nil && t.rl.Operation.IsSearchMode() {
		switch r {
		case keyUp:
			return readline.CharPrev, true
		case keyDown:
			return readline.CharNext, true
		case keyMore, keyDelete:
			return readline.CharBell, true
		case keyText:
			return t.searchText(t.keys.text()), true
		}
		return r, true
	}
	if to, ok := t.blockKey(r); ok {
		return to, true
	}
	return r, true
}

// searchText adds a text to what Ctrl-R looks for, except for its last character, which it returns as
// the key to pass to the line editor. It cuts the text to one row: the line editor shows it once more for
// each character, and cannot clear a second row.
func (t *Terminal) searchText(text []rune) rune {
	width, _ := t.size()
	text = text[:min(len(text), max(0, width-len("failing bck-i-search: ")-1))]
	if len(text) == 0 {
		return readline.CharBell
	}
	last := len(text) - 1
	for _, r := range text[:last] {
		t.rl.Operation.SearchChar(r)
	}
	return text[last]
}

// onKey tracks the line while keys change it, and applies the keys that change the block.
func (t *Terminal) onKey(line []rune, pos int, key rune) ([]rune, int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, pos, changed := t.keyDone(line, pos, key)
	t.mu.line, t.mu.pos = line, pos
	return line, pos, changed
}

func (t *Terminal) keyDone(line []rune, pos int, key rune) ([]rune, int, bool) {
	change := t.mu.change
	t.mu.change = nil
	switch {
	case key == 0:
		t.mu.list, t.mu.prefix = nil, ""
	case change != nil:
		b, pos := change()
		return t.edits(b, pos)
	case key == readline.CharPrev || key == readline.CharNext:
		return t.walk(key)
	case key == '}' || key == ')' || key == ']':
		if line, pos, ok := outdented(line, pos); ok && len(t.mu.block.lines) > 1 && !t.keys.pasting() {
			t.typed(line)
			return line, pos, true
		}
		t.typed(line)
	default:
		if entry, ok := t.mu.coded[string(line)]; ok && t.leavesSearch(key) {
			b := blockOf(entry, false)
			return t.edits(b, len(b.lines[b.at]))
		}
		t.typed(line)
	}
	return line, pos, false
}

// typed ends the walk in the history, if there is one.
func (t *Terminal) typed(line []rune) {
	t.mu.list = nil
	t.mu.prefix = t.mu.block.with(string(line)).text()
}

// leavesSearch reports whether a key ends the search with Ctrl-R and keeps the match.
func (t *Terminal) leavesSearch(key rune) bool {
	if t.rl == nil || !t.rl.Operation.IsSearchMode() {
		return false
	}
	switch key {
	case readline.CharBckSearch, readline.CharFwdSearch, readline.CharBackspace, readline.CharCtrlH, readline.CharBell, readline.CharInterrupt, readline.CharEnter, readline.CharCtrlJ:
		return false
	}
	return key < ' '
}

// edits makes b the edited block with the cursor at pos, a count of runes, or at the end of a
// shorter line.
func (t *Terminal) edits(b block, pos int) ([]rune, int, bool) {
	if t.rl != nil {
		t.draw(b, false)
	} else {
		t.mu.block = b
	}
	if t.mu.list == nil {
		t.mu.prefix = b.text()
	}
	line := []rune(b.lines[b.at])
	return line, min(pos, len(line)), true
}

// walk moves through the entries of the history that begin with the typed text. It enters an
// earlier entry at its first line, so that Up goes on to others, and a later one at its last.
func (t *Terminal) walk(key rune) ([]rune, int, bool) {
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
	b := blockOf(t.current(), key == readline.CharPrev)
	return t.edits(b, len(b.lines[b.at]))
}

// current is the entry at the place of the walk; t.mu is held.
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
// side, the second one replaces that list by one with types and documentation, and further ones
// do nothing; of a name that is complete and the only one Tab says what it is. readline never sees more than one candidate, because its
// own list has neither.
type completion struct{ t *Terminal }

// Do implements readline.AutoCompleter.
func (c completion) Do(line []rune, pos int) ([][]rune, int) {
	head := string(line[:pos])
	if strings.TrimSpace(head) == "" {
		return [][]rune{[]rune(indentation)}, 0 // also in pasted text
	}
	t := c.t
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.mu.block
	text := t.mu.before
	for _, l := range b.lines[:b.at] {
		text += l + "\n"
	}
	text += head
	rest := string(line[pos:])
	for _, l := range b.lines[b.at+1:] {
		rest += "\n" + l
	}
	replace, candidates := t.complete(text+rest, len(text))
	if len(candidates) == 0 || replace > len(text) {
		return nil, 0
	}
	word := text[len(text)-replace:]
	common := candidates[0].Text
	for _, k := range candidates[1:] {
		common = commonPrefix(common, k.Text)
	}
	width, height := t.size()
	if ext, ok := strings.CutPrefix(common, word); ok && ext != "" {
		t.mu.tabs = 0
		if len(candidates) == 1 && strings.HasPrefix(candidates[0].Detail, "(") { // what to write next
			t.list(described(candidates, width, 1))
		}
		if len(candidates) == 1 && candidates[0].Goes && !strings.HasPrefix(string(line[pos:]), " ") {
			ext += " "
		}
		return [][]rune{[]rune(ext)}, len([]rune(word))
	}
	t.mu.tabs++
	switch {
	case t.mu.tabs == 1 && len(candidates) == 1:
		t.list(described(candidates, width, 1))
	case t.mu.tabs == 1:
		t.list(namesInColumns(candidates, width, height))
	case t.mu.tabs == 2 && len(candidates) > 1 && slices.ContainsFunc(candidates, func(k Candidate) bool { return k.Detail+k.Doc != "" }):
		t.list(described(candidates, width, max(4, height-3)))
	}
	return nil, 0
}

// list shows a list above the entry, in place of the list that the previous Tab showed.
func (t *Terminal) list(text string) {
	width, _ := t.size()
	up := 0
	for _, line := range t.mu.block.lines[t.mu.from:t.mu.block.at] {
		up += rowsOf(line, width)
	}
	if t.mu.tabs == 2 {
		up += t.mu.listed
	}
	t.mu.listed = strings.Count(text, "\n")
	if text += t.aboveText(); up > 0 && t.marked {
		text = fmt.Sprintf("\x1b[%dA\x1b[J", up) + text
	}
	io.WriteString(t.rl.Stdout(), text)
}

func commonPrefix(a, b string) string {
	ra, rb := []rune(a), []rune(b)
	n := 0
	for n < len(ra) && n < len(rb) && ra[n] == rb[n] {
		n++
	}
	return string(ra[:n])
}

// Entries of several lines in the line editor: readline edits one line; the Terminal draws the
// lines above and below it and moves between them.

// lineMark marks the ends of lines while Ctrl-R shows an entry of several lines on one line.
const lineMark = "⏎"

// indentation is one step of indentation.
const indentation = "    "

// A block is an entry and the index of the line that is edited. The line editor holds the
// current text of that line; lines has the text that the editor started from.
type block struct {
	lines []string
	at    int
}

// blockOf returns the block of an entry with its first or its last line edited.
func blockOf(text string, first bool) block {
	b := block{lines: strings.Split(text, "\n")}
	if !first {
		b.at = b.last()
	}
	return b
}

func (b block) last() int { return len(b.lines) - 1 }

// with returns b with line as the text of the edited line.
func (b block) with(line string) block {
	lines := append([]string(nil), b.lines...)
	lines[b.at] = line
	return block{lines, b.at}
}

// text returns the whole entry.
func (b block) text() string { return strings.Join(b.lines, "\n") }

// split breaks the edited line at pos, a count of runes, and indents the new line unless the
// text is pasted. It also returns the cursor in the new line.
func (b block) split(pos int, pasted bool) (block, int) {
	line := []rune(b.lines[b.at])
	before, after := string(line[:pos]), string(line[pos:])
	indent := ""
	if !pasted {
		indent = before[:len(before)-len(strings.TrimLeft(before, " "))]
		after = strings.TrimLeft(after, " ")
		if code := codeOf(before); code != "" && strings.IndexByte("{([", code[len(code)-1]) >= 0 && (after == "" || strings.IndexByte("})]", after[0]) < 0) {
			indent += indentation
		}
		if strings.TrimSpace(before) == "" {
			before = ""
		}
	}
	lines := append([]string(nil), b.lines[:b.at]...)
	lines = append(append(lines, before, indent+after), b.lines[b.at+1:]...)
	return block{lines, b.at + 1}, len(indent)
}

// join joins line k and the line below it. It also returns the position at which they meet.
func (b block) join(k int) (block, int) {
	lines := append([]string(nil), b.lines[:k]...)
	lines = append(append(lines, b.lines[k]+b.lines[k+1]), b.lines[k+2:]...)
	return block{lines, k}, len([]rune(b.lines[k]))
}

// outdented moves a closing bracket one step to the left. It reports false unless the line
// consists of blanks and the bracket before pos.
func outdented(line []rune, pos int) ([]rune, int, bool) {
	blanks := pos - 1
	if blanks < 1 || pos != len(line) || strings.TrimSpace(string(line[:blanks])) != "" {
		return nil, 0, false
	}
	cut := min(blanks, len(indentation))
	return line[cut:], pos - cut, true
}

// codeOf returns a line without its comment and surrounding space. It ignores `#` in strings.
func codeOf(line string) string {
	inString := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case c == '#' && !inString:
			return strings.TrimSpace(line[:i])
		}
	}
	return strings.TrimSpace(line)
}

// ---- keys -----------------------------------------------------------------------------

// blockKey handles the keys that act on the lines around the edited one. It returns the key to
// pass to the line editor instead, or false for a key that readline handles. t.mu is held.
func (t *Terminal) blockKey(r rune) (rune, bool) {
	b, pos := t.mu.block.with(string(t.mu.line)), t.mu.pos
	atStart, atEnd := pos == 0, pos == len(t.mu.line)
	switch r {
	case keyUp:
		if b.at == 0 {
			return readline.CharPrev, true
		}
		return t.does(func() (block, int) { return block{b.lines, b.at - 1}, pos })
	case keyDown:
		if b.at == b.last() {
			return readline.CharNext, true
		}
		return t.does(func() (block, int) { return block{b.lines, b.at + 1}, pos })
	case keyMore:
		return t.does(func() (block, int) { return b.split(pos, false) })
	case keyText:
		text := t.keys.text()
		line := slices.Concat(t.mu.line[:pos], text, t.mu.line[pos:])
		t.mu.list = nil // as typing does, it ends the walk in the history
		return t.does(func() (block, int) { return b.with(string(line)), pos + len(text) })
	case readline.CharEnter, readline.CharCtrlJ:
		if t.more == nil || t.mu.edit || !t.more(t.mu.before+b.text()) {
			t.leaveBlock(b)
			return r, true
		}
		t.rl.Terminal.KickRead() // readline stops reading at Enter; this makes it go on
		return t.does(func() (block, int) { return b.split(pos, t.keys.pasting()) })
	case readline.CharBackward:
		if atStart && b.at > 0 {
			return t.does(func() (block, int) { return block{b.lines, b.at - 1}, len(b.lines[b.at-1]) })
		}
	case readline.CharForward:
		if atEnd && b.at < b.last() {
			return t.does(func() (block, int) { return block{b.lines, b.at + 1}, 0 })
		}
	case readline.CharBackspace, readline.CharCtrlH:
		if atStart && b.at > 0 {
			return t.does(func() (block, int) { return b.join(b.at - 1) })
		}
	case keyDelete:
		switch {
		case !atEnd:
			line := append(append([]rune(nil), t.mu.line[:pos]...), t.mu.line[pos+1:]...)
			return t.does(func() (block, int) { return b.with(string(line)), pos })
		case b.at < b.last():
			return t.does(func() (block, int) { return b.join(b.at) })
		}
		return readline.CharBell, true
	case readline.CharDelete:
		switch {
		case atEnd && b.at < b.last():
			t.rl.Terminal.KickRead()
			return t.does(func() (block, int) { return b.join(b.at) })
		case len(b.lines) > 1 && len(t.mu.line) == 0: // no end of the input
			t.rl.Terminal.KickRead()
			return readline.CharBell, true
		}
	case readline.CharInterrupt:
		t.below.Store(nil) // ^C is written in place of the lines below
	case readline.CharCtrlL:
		if b.at > 0 {
			t.mu.cleared = true
			return t.does(func() (block, int) { return b, pos })
		}
	case readline.CharBckSearch, readline.CharFwdSearch:
		if len(b.lines) > 1 || t.loaded == 0 { // a match replaces only one line; readline fails without a history
			return readline.CharBell, true
		}
	}
	return 0, false
}

// does makes onKey change the block, and passes a key without effect to the line editor.
func (t *Terminal) does(change func() (block, int)) (rune, bool) {
	t.mu.change = change
	return readline.CharBell, true
}

// leaveBlock shows the whole entry and moves to its last line: Enter ends the entry.
func (t *Terminal) leaveBlock(b block) {
	if b.at == b.last() && t.mu.from == 0 {
		return
	}
	b.at = b.last()
	t.draw(b, true)
	t.mu.line = []rune(b.lines[b.at])
	t.rl.Operation.SetBuffer(b.lines[b.at])
}

// ---- the screen --------------------------------------------------------------------------

// prompt returns the prompt of line k.
func (t *Terminal) prompt(k int) string {
	if k == 0 {
		return t.mu.prompt
	}
	return strings.Replace(t.mu.prompt, promptFirst, promptMore, 1)
}

// rowsOf returns the number of rows that a line takes with its prompt. The edited line takes
// one more if it fills its last row.
func rowsOf(line string, width int) int {
	if width <= 0 {
		return 1
	}
	return (columns(promptFirst) + columns(line) + width - 1) / width
}

// draw replaces the lines shown above the edited one by those of b, and sets the lines below,
// which the painter draws. It shows as many lines as fit; with all, every line above. t.mu is held.
func (t *Terminal) draw(b block, all bool) {
	width, height := t.size()
	if height <= 0 {
		height = 24
	}
	t.rl.Operation.Clean()
	up := 0
	for _, line := range t.mu.block.lines[min(t.mu.from, t.mu.block.at):t.mu.block.at] {
		up += rowsOf(line, width)
	}
	var out strings.Builder
	switch {
	case t.mu.cleared:
		out.WriteString("\x1b[H\x1b[2J")
	case up > 0:
		fmt.Fprintf(&out, "\x1b[%dA", min(up, height-1))
	}
	t.mu.cleared = false
	out.WriteString("\r\x1b[J")
	room := height - 2 - rowsOf(b.lines[b.at], width)
	from := b.at
	for from > 0 && (all || room-rowsOf(b.lines[from-1], width) >= 0) {
		from--
		room -= rowsOf(b.lines[from], width)
	}
	for k := from; k < b.at; k++ {
		out.WriteString(t.prompt(k) + b.lines[k] + "\r\n")
	}
	t.rl.Config.Stdout.Write([]byte(out.String()))
	var below []string
	for _, line := range b.lines[b.at+1:] {
		if room -= rowsOf(line, width); room < 0 {
			break
		}
		below = append(below, t.prompt(1)+line)
	}
	t.mu.block, t.mu.from = b, from
	t.below.Store(&below)
	t.rl.SetPrompt(t.prompt(b.at))
}

// aboveText returns the text that draw showed above the edited line.
func (t *Terminal) aboveText() string {
	text := ""
	for k := t.mu.from; k < t.mu.block.at; k++ {
		text += t.prompt(k) + t.mu.block.lines[k] + "\n"
	}
	return text
}

// A painter is the readline.Painter of a Terminal. It writes the lines below the edited one and
// moves the cursor back. The line editor does not know these lines; it clears the screen below
// its own line before it writes again.
type painter struct{ t *Terminal }

// Paint implements readline.Painter.
func (p painter) Paint(line []rune, _ int) []rune {
	below := p.t.below.Load()
	if below == nil || len(*below) == 0 {
		return line
	}
	width, _ := p.t.size()
	var out strings.Builder
	end, rows := columns(promptFirst)+columns(string(line)), 0
	if width > 0 && end%width == 0 && end > 0 {
		out.WriteString(" \b") // the cursor is at the beginning of the next row
	}
	for _, l := range *below {
		out.WriteString("\r\n" + l)
		rows += rowsOf(strings.TrimPrefix(escapes.ReplaceAllString(l, ""), promptMore), width)
	}
	fmt.Fprintf(&out, "\x1b[%dA\r", rows)
	if width > 0 {
		end %= width
	}
	if end > 0 {
		fmt.Fprintf(&out, "\x1b[%dC", end)
	}
	return append(append([]rune(nil), line...), []rune(out.String())...)
}
