package repl

// Input of the prompt: the keys of a terminal, and lines of a pipe or file.

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
)

// Input of a terminal, before the line editor sees it.

// Keys that the line editor does not know: Alt-Enter, Ctrl-X Ctrl-E followed by an Enter, at which
// the line editor stops reading, two arrows, and Delete. They are in the private use area, so no
// keyboard types them.
const (
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

var (
	ctrlXE     = []byte("\x18\x05")
	editBytes  = []byte(string(keyEdit) + "\r")
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
	tabSpaces  = []byte("    ")
)

// input turns keySequences into keys, Ctrl-X Ctrl-E into keyEdit, and what is
// pasted into what could have been typed: tabs become spaces, so that they complete
// nothing, and other control characters but ends of lines are left out. A paste is read to
// its end before its first line is given: while statements run the terminal would show
// the rest a second time, and lose some. Read is called by one goroutine at a time.
type input struct {
	r      io.Reader
	held   []byte // read, and perhaps the beginning of a mark
	last   byte   // of what was pasted
	pasted bool   // between the marks

	mu struct {
		sync.Mutex
		rest  []byte // to be given
		paste int    // how many bytes of rest come before the end of what was pasted
		given bool   // the last bytes came from a paste
	}
}

// Read implements io.Reader. It gives one line at a time.
func (in *input) Read(p []byte) (int, error) {
	for {
		in.mu.Lock()
		if rest := in.mu.rest; len(rest) > 0 && !in.pasted {
			if end := bytes.IndexByte(rest, '\r'); end >= 0 {
				rest = rest[:end+1]
			}
			n := copy(p, rest)
			in.mu.given = in.mu.paste > 0
			in.mu.rest, in.mu.paste = in.mu.rest[n:], max(0, in.mu.paste-n)
			in.mu.Unlock()
			return n, nil
		}
		in.mu.Unlock()
		var buf [4096]byte
		n, err := in.r.Read(buf[:])
		data := append(in.held, buf[:n]...)
		in.held = nil
		in.mu.Lock()
		switch {
		case n > 0:
			in.translate(data) // an error with bytes comes again on its own
		case err != nil && len(data) > 0: // it was no mark
			in.mu.rest = append(in.mu.rest, data...)
			in.pasted = false
		case err != nil && in.pasted && len(in.mu.rest) > 0:
			in.pasted = false
		case err != nil:
			in.mu.Unlock()
			return 0, err
		}
		in.mu.Unlock()
	}
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
		case !in.pasted && bytes.HasPrefix(data, ctrlXE):
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
		case in.pasted && c == 3: // Ctrl-C: this paste has no end
			in.pasted, in.mu.rest, in.mu.paste = false, append(in.mu.rest[:0], c), 0
		case in.pasted && (c < ' ' || c == 0x7f):
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
