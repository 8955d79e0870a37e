package repl

// Entries of several lines in the line editor: readline edits one line; the Terminal draws the
// lines above and below it and moves between them.

import (
	"fmt"
	"strings"

	"github.com/chzyer/readline"
)

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
