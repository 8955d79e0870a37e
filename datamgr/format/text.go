package format

// Reading text in tokens, with the number of the line.

import (
	"bytes"
	"io"
	"strings"
)

// maxToken is the longest word or number in a file, in bytes.
const maxToken = 4096

// text reads a file word by word. After an error or the end it reads nothing.
type text struct {
	r        io.Reader
	buf      []byte
	pos, end int
	line     int
	read     int64 // bytes that came from r
	err      error // of the reader; io.EOF at the end
}

func newText(r io.Reader) *text { return &text{r: r, buf: make([]byte, 256<<10), line: 1} }

// more reads on. It keeps the bytes from keep on and returns where they begin
// now, and false when nothing more comes.
func (t *text) more(keep int) (int, bool) {
	if t.err != nil {
		return keep, false
	}
	copy(t.buf, t.buf[keep:t.end])
	t.pos -= keep
	t.end -= keep
	n := t.get(t.buf[t.end:])
	t.end += n
	return 0, n > 0
}

// get reads from r into b, and returns 0 at the end and after an error.
func (t *text) get(b []byte) int {
	for range 100 {
		if t.err != nil {
			return 0
		}
		var n int
		n, t.err = t.r.Read(b)
		t.read += int64(n)
		if n > 0 {
			return n
		}
	}
	t.err = io.ErrNoProgress
	return 0
}

// block takes whole lines, about as many as b has room for, and returns them in the memory of b, which
// begins with the line that the block before had no end of: rest. It returns the next such line, and whether
// more may come.
func (t *text) block(b, rest []byte) (lines, next []byte, more bool) {
	b = append(b, rest...)
	n := copy(b[len(b):cap(b)], t.buf[t.pos:t.end])
	t.pos += n
	b = b[:len(b)+n]
	for len(b) < cap(b) {
		n := t.get(b[len(b):cap(b)])
		if n == 0 {
			return b, nil, false
		}
		b = b[:len(b)+n]
	}
	k := bytes.LastIndexByte(b, '\n') + 1
	if k == 0 { // a line as long as the block
		return b, nil, false
	}
	return b[:k], bytes.Clone(b[k:]), true
}

// unread puts texts before what comes next.
func (t *text) unread(texts ...[]byte) {
	var back []byte
	for _, b := range append(texts, t.buf[t.pos:t.end]) {
		back = append(back, b...)
	}
	if t.pos, t.end = 0, copy(t.buf, back); t.end < len(back) {
		t.r = io.MultiReader(bytes.NewReader(back[t.end:]), t.r, &failing{t.err})
		t.read -= int64(len(back) - t.end)
		t.err = nil
	}
}

// failing is a reader that has nothing but an error: io.EOF if it is nil.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// peek returns the next byte; false at the end.
func (t *text) peek() (byte, bool) {
	if t.pos == t.end {
		if _, ok := t.more(t.end); !ok {
			return 0, false
		}
	}
	return t.buf[t.pos], true
}

// blanks skips spaces, tabs and carriage returns.
func (t *text) blanks() {
	for {
		for t.pos < t.end {
			if c := t.buf[t.pos]; c != ' ' && c != '\t' && c != '\r' {
				return
			}
			t.pos++
		}
		if _, ok := t.peek(); !ok {
			return
		}
	}
}

// newline takes a newline if one is next.
func (t *text) newline() bool {
	if c, ok := t.peek(); ok && c == '\n' {
		t.pos++
		t.line++
		return true
	}
	return false
}

// skipLine drops the rest of the line and its newline.
func (t *text) skipLine() {
	for {
		for t.pos < t.end {
			c := t.buf[t.pos]
			t.pos++
			if c == '\n' {
				t.line++
				return
			}
		}
		if _, ok := t.peek(); !ok {
			return
		}
	}
}

// token returns the text before the next blank, newline or sep. It is empty
// when one of those is next, and valid until the next call. A token that is too
// long is cut, and still no number.
func (t *text) token(sep byte) []byte {
	start := t.pos
	for {
		for i := t.pos; i < t.end; i++ {
			if c := t.buf[i]; c <= ' ' && (c == ' ' || c == '\t' || c == '\r' || c == '\n') || c == sep {
				t.pos = i
				return t.buf[start:i]
			}
		}
		t.pos = t.end
		if t.end-start > maxToken {
			return t.buf[start:t.end]
		}
		var ok bool
		if start, ok = t.more(start); !ok {
			return t.buf[start:t.end]
		}
	}
}

// until is token for text that may have blanks in it: it ends before the next newline or sep.
func (t *text) until(sep byte) []byte {
	start := t.pos
	for {
		for i := t.pos; i < t.end; i++ {
			if c := t.buf[i]; c == sep || c == '\n' {
				t.pos = i
				return t.buf[start:i]
			}
		}
		t.pos = t.end
		if t.end-start > maxToken {
			return t.buf[start:t.end]
		}
		var ok bool
		if start, ok = t.more(start); !ok {
			return t.buf[start:t.end]
		}
	}
}

// ahead returns the rest of the line without taking it, with quoted newlines, as far as the
// buffer holds it; whole reports whether that is all of it.
func (t *text) ahead() (line []byte, whole bool) {
	quoted := false
	for at := 0; ; {
		for rest := t.buf[t.pos:t.end]; at < len(rest); at++ {
			if rest[at] == '"' { // in the middle of a word it is a character like others
				quoted = !quoted && (at == 0 || strings.IndexByte(",; \t\"", rest[at-1]) >= 0)
			} else if rest[at] == '\n' && !quoted {
				return rest[:at], true
			}
		}
		if t.end-t.pos == len(t.buf) {
			return t.buf[t.pos:t.end], false
		}
		if _, ok := t.more(t.pos); !ok {
			return t.buf[t.pos:t.end], true
		}
	}
}

// offset is the number of bytes before the next one.
func (t *text) offset() int64 { return t.read - int64(t.end-t.pos) }

// failed returns the error of the reader, nil at the end of the file.
func (t *text) failed() error {
	if t.err != nil && t.err != io.EOF {
		return &Error{Line: t.line, Err: t.err}
	}
	return nil
}

// wrong makes an error at the present line; a broken reader is the better reason.
func (t *text) wrong(want, got string) error {
	if err := t.failed(); err != nil {
		return err
	}
	return &Error{Line: t.line, Want: want, Got: got}
}

// here describes what comes next, for messages.
func (t *text) here() string {
	t.blanks()
	c, ok := t.peek()
	switch {
	case !ok:
		return "the end of the file"
	case c == '\n':
		return "the end of the line"
	}
	return quote(t.token('\n'))
}
