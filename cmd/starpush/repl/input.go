package repl

// Input of the prompt: the keys of a terminal, and lines of a pipe or file.

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Input of a terminal, before the line editor sees it.

// Keys that the line editor does not know: Alt-Enter, Ctrl-X Ctrl-E followed by an Enter, at which
// the line editor stops reading, two arrows, Delete, and a text that is put into the line at once. They
// are in the private use area, so no keyboard types them.
const (
	keyText   = '\ue00f'
	keyMore   = '\ue00d'
	keyEdit   = '\ue00e'
	keyUp     = '\ue00a'
	keyDown   = '\ue00b'
	keyDelete = '\ue00c'
)

// keySequences maps the bytes that terminals send for keys to the input of the line editor.
var keySequences = []struct{ from, to string }{
	{"\x1b\r", string(keyMore)}, {"\x1b\n", string(keyMore)},
	{"\x1b[A", string(keyUp)}, {"\x1bOA", string(keyUp)}, {"\x1b[B", string(keyDown)}, {"\x1bOB", string(keyDown)},
	{"\x1b[1~", "\x01"}, {"\x1b[7~", "\x01"}, {"\x1b[4~", "\x05"}, {"\x1b[8~", "\x05"}, // Home and End of tmux, screen, the console of Linux, rxvt
	{"\x1b[1;5C", "\x1bf"}, {"\x1b[1;3C", "\x1bf"}, {"\x1b[1;5D", "\x1bb"}, {"\x1b[1;3D", "\x1bb"}, // with Ctrl or Alt: by words
	{"\x1b[3~", string(keyDelete)}, // Ctrl-D, which it would be, leaves
}

// keyIn returns the length of the key sequence at the beginning of data, and its replacement.
func keyIn(data []byte) (from int, to string) {
	if data[0] != '\x1b' {
		return 0, ""
	}
	for _, k := range keySequences {
		if bytes.HasPrefix(data, []byte(k.from)) {
			return len(k.from), k.to
		}
	}
	return 0, ""
}

// halfKey reports whether data begins the mark of a paste or a key sequence, and is long enough
// that the rest must follow: Esc alone is a key.
func halfKey(data []byte) bool {
	if len(data) < 3 || data[0] != '\x1b' {
		return false
	}
	for _, k := range keySequences {
		if len(data) < len(k.from) && strings.HasPrefix(k.from, string(data)) {
			return true
		}
	}
	return len(data) < len(pasteBegin) && bytes.HasPrefix(pasteBegin, data)
}

// Terminals that know of it put what is pasted between marks, once they are asked to.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// Keys that end the line or the input.
const (
	ctrlC = 0x03
	ctrlD = 0x04
)

var (
	ctrlXE     = []byte("\x18\x05")
	textBytes  = []byte(string(keyText))
	editBytes  = []byte(string(keyEdit) + "\r")
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
	tabSpaces  = []byte("    ")
)

// input turns keySequences into keys, Ctrl-X Ctrl-E into keyEdit, and what is
// pasted into what could have been typed: tabs become spaces, so that they complete
// nothing, and other control characters but ends of lines are left out. A paste is read to
// its end before its first line is given: while statements run the terminal would show
// the rest a second time, lose some, and obey control characters in it. Each line of a paste
// is given as one keyText. The line editor redraws its line after every key, so the time for
// a line that is given by its characters grows with the square of its length. Read is called
// by one goroutine at a time.
type input struct {
	r      io.Reader
	ready  func(d time.Duration) bool // a read of r returns at once, now or within d; nil: not known
	held   []byte                     // read, and perhaps the beginning of a mark
	last   byte                       // of what was pasted
	pasted bool                       // between the marks
	flood  bool                       // the last read had more text than a person types: a paste without marks

	mu struct {
		sync.Mutex
		rest  []byte   // to be given
		paste int      // the bytes of rest before the end of what was pasted
		given bool     // the last bytes came from a paste
		key   []byte   // the bytes of a keyText that are to be given before rest
		texts [][]rune // the texts of the keyTexts that the line editor has not asked for, oldest first
	}
}

// Pastes of terminals that do not mark them.
const (
	floodText = 64                    // bytes of text in one read that are taken for a paste, and given at once
	floodWait = 20 * time.Millisecond // the longest pause in such a paste
	floodMost = 1 << 20               // bytes that are collected before the first one is given
)

// floodKeys are the control characters that act within a paste without marks: ends of lines, keys that
// edit the line, as a person types them ahead, and Ctrl-C. Others may leave the prompt or suspend it, and
// the shell would run the rest.
const floodKeys = "\r\n\t\b\x1b\x01\x03\x05\x15"

// Read implements io.Reader. It gives one line at a time, and a text that came at once as keyText.
func (in *input) Read(p []byte) (int, error) {
	for more := false; ; {
		in.mu.Lock()
		n := 0
		if !more {
			n = in.giveLocked(p)
		}
		in.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		var buf [4096]byte
		n, err := in.r.Read(buf[:])
		in.flood = more || typedText(buf[:n], in.pasted) >= floodText
		data := append(in.held, buf[:n]...)
		in.held = nil
		in.mu.Lock()
		switch {
		case in.pasted && n == 1 && buf[0] == ctrlC: // a person pressed it: this paste has no end
			in.pasted, in.mu.rest, in.mu.paste = false, append(in.mu.rest[:0], ctrlC), 0
		case n > 0: // an error with bytes comes again on its own
			whole := len(data) - halfRune(data)
			in.translate(data[:whole])
			in.held = append(in.held, data[whole:]...)
		case err != nil && len(data) > 0: // it was no mark
			in.mu.rest = append(in.mu.rest, data...)
			in.pasted = false
		case err != nil && in.pasted && len(in.mu.rest) > 0:
			in.pasted = false
		case err != nil:
			in.mu.Unlock()
			return 0, err
		}
		size := len(in.mu.rest)
		in.mu.Unlock()
		more = err == nil && in.flood && size < floodMost && in.ready != nil && in.ready(floodWait)
	}
}

// giveLocked copies to p what Read gives next, and returns the number of bytes.
func (in *input) giveLocked(p []byte) int {
	if len(in.mu.key) == 0 {
		if in.pasted || len(in.mu.rest) == 0 {
			return 0
		}
		n, text := in.nextLocked()
		if !text {
			n = copy(p, in.mu.rest[:n])
		} else {
			in.mu.texts = append(in.mu.texts, printable(in.mu.rest[:n]))
			in.mu.key = textBytes
		}
		in.mu.given = in.mu.paste > 0
		in.mu.rest, in.mu.paste = in.mu.rest[n:], max(0, in.mu.paste-n)
		if !text {
			return n
		}
	}
	n := copy(p, in.mu.key)
	in.mu.key = in.mu.key[n:]
	return n
}

// nextLocked returns the number of bytes of rest that are given next, and whether they are a text that
// is given at once. Each line of a paste is one; in other input only long texts are.
func (in *input) nextLocked() (n int, text bool) {
	rest, least := in.mu.rest, floodText
	if in.mu.paste > 0 {
		rest, least = rest[:in.mu.paste], 1
	}
	for n < len(rest) {
		end := n
		for end < len(rest) && isText(rest[end]) {
			end++
		}
		switch {
		case end-n >= least && n == 0:
			return end, true
		case end-n >= least:
			return n, false
		case end == len(rest):
			return end, false
		case rest[end] == '\r':
			return end + 1, false
		}
		n = end + max(1, escapeIn(rest[end:]))
	}
	return len(rest), false
}

// text returns the text of the oldest keyText, and forgets it.
func (in *input) text() []rune {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.mu.texts) == 0 {
		return nil
	}
	text := in.mu.texts[0]
	in.mu.texts = in.mu.texts[1:]
	return text
}

// isText reports whether a byte is part of a text, rather than a control character.
func isText(c byte) bool { return c >= ' ' && c != 0x7f }

// printable returns text without the control characters that take several bytes, which some
// terminals obey, and with U+FFFD for bytes that are not UTF-8.
func printable(text []byte) []rune {
	return slices.DeleteFunc([]rune(string(text)), unicode.IsControl)
}

// escapeIn returns the length of the escape sequence at the beginning of data, or 0 if there is none.
func escapeIn(data []byte) int {
	if len(data) < 2 || data[0] != '\x1b' {
		return 0
	}
	if data[1] == 'O' {
		return min(3, len(data))
	}
	if data[1] != '[' {
		return 2
	}
	n := 2
	for n < len(data) && data[n] >= ' ' && data[n] < '@' {
		n++
	}
	return min(n+1, len(data))
}

// typedText returns the number of bytes of text outside the marks of pastes and outside escape
// sequences; pasted: data begins inside of a paste.
func typedText(data []byte, pasted bool) int {
	count := 0
	for len(data) > 0 {
		mark := pasteBegin
		if pasted {
			mark = pasteEnd
		}
		part, rest, found := bytes.Cut(data, mark)
		for k := 0; k < len(part) && !pasted; {
			if isText(part[k]) {
				count++
			}
			k += max(1, escapeIn(part[k:]))
		}
		data = rest
		pasted = pasted != found
	}
	return count
}

// halfRune returns the number of bytes at the end of data that begin a rune and do not complete it.
func halfRune(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if tail := data[len(data)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			break
		}
	}
	return 0
}

// pasting reports whether the last keys came from a paste.
func (in *input) pasting() bool {
	if in == nil {
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.given
}

// drop forgets what has not been given.
func (in *input) drop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.mu.rest, in.mu.paste = nil, 0
}

// dropPaste forgets what was pasted and has not been given, and returns how many lines
// with text that was.
func (in *input) dropPaste() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := 0
	for line := range bytes.SplitSeq(in.mu.rest[:in.mu.paste], []byte{'\r'}) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	in.mu.rest, in.mu.paste = in.mu.rest[in.mu.paste:], 0
	return n
}

// nextPasted is the first line with text that was pasted behind those that have been given.
func (in *input) nextPasted() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	for line := range bytes.SplitSeq(in.mu.rest[:in.mu.paste], []byte{'\r'}) {
		if hasText(string(line)) {
			return string(line)
		}
	}
	return ""
}

// translate appends to rest what data stands for; in.mu is held.
func (in *input) translate(data []byte) {
	for len(data) > 0 {
		if from, to := keyIn(data); from > 0 && !in.pasted {
			in.mu.rest, data = append(in.mu.rest, to...), data[from:]
			continue
		}
		switch {
		case !in.pasted && bytes.HasPrefix(data, pasteBegin):
			in.pasted, data = true, data[len(pasteBegin):]
			continue
		case in.pasted && bytes.HasPrefix(data, pasteEnd):
			in.pasted, data = false, data[len(pasteEnd):]
			in.mu.paste = len(in.mu.rest)
			continue
		case in.pasted && len(data) < len(pasteEnd) && bytes.HasPrefix(pasteEnd, data), // half a mark
			!in.pasted && len(data) == 1 && data[0] == ctrlXE[0],
			!in.pasted && halfKey(data):
			in.held = bytes.Clone(data)
			return
		case !in.pasted && !in.flood && bytes.HasPrefix(data, ctrlXE):
			in.mu.rest, data = append(in.mu.rest, editBytes...), data[2:]
			continue
		case !in.pasted && data[0] == ctrlXE[0]: // with another key it means nothing
			data = data[1:]
			continue
		}
		c := data[0]
		data = data[1:]
		last := in.last
		in.last = c
		switch {
		case in.pasted && c == '\t':
			in.mu.rest = append(in.mu.rest, tabSpaces...)
		case in.pasted && c == '\n' && last == '\r': // the end of a line is one
		case in.pasted && (c == '\r' || c == '\n'):
			in.mu.rest = append(in.mu.rest, '\r')
		case in.pasted && !isText(c):
		case in.flood && c == ctrlD && (last == '\r' || last == '\n') && len(data) == 0: // typed ahead
			in.mu.rest = append(in.mu.rest, c)
		case in.flood && c < ' ' && strings.IndexByte(floodKeys, c) < 0:
		default:
			in.mu.rest = append(in.mu.rest, c)
		}
	}
}

// Lines from a pipe, a file or a test: no prompts, no editing.

// NewLines reads lines from r, as they come.
func NewLines(r io.Reader) LineReader { return &plainLines{r: bufio.NewReader(r)} }

// aheadWait is the longest wait for a line that may belong to the entry before it. A
// file, and a pipe that was filled at once, have it ready; a program that waits for
// answers does not write one.
const aheadWait = 200 * time.Millisecond

// plainLines reads lines. Those that were looked at before they are wanted are held.
type plainLines struct {
	r     *bufio.Reader
	held  []plainLine
	ahead chan plainLine // gets the line that is being read; nil: none is
}

type plainLine struct {
	text string
	err  error
}

// ReadLine returns the next line; a last one without newline counts.
func (p *plainLines) ReadLine(string) (string, error) {
	var l plainLine
	switch {
	case len(p.held) > 0:
		l, p.held = p.held[0], p.held[1:]
	case p.ahead != nil:
		l = <-p.ahead
		p.ahead = nil
	default:
		l = p.read()
	}
	return l.text, l.err
}

// NextLine is the next line with text, "" when none has come yet.
func (p *plainLines) NextLine() string {
	for k := 0; ; k++ {
		if k == len(p.held) && !p.readAhead() || p.held[k].err != nil {
			return ""
		}
		if hasText(p.held[k].text) {
			return p.held[k].text
		}
	}
}

// readAhead holds one more line, if it comes soon.
func (p *plainLines) readAhead() bool {
	if p.ahead == nil {
		ahead := make(chan plainLine, 1)
		go func() { ahead <- p.read() }()
		p.ahead = ahead
	}
	select {
	case l := <-p.ahead:
		p.held, p.ahead = append(p.held, l), nil
		return true
	case <-time.After(aheadWait):
		return false
	}
}

func (p *plainLines) read() plainLine {
	line, err := p.r.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	line = strings.TrimSuffix(line, "\n")
	return plainLine{strings.TrimSuffix(line, "\r"), err}
}

// hasText reports whether a line holds more than a comment.
func hasText(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}
