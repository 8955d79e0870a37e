package repl

// Lines from a pipe, a file or a test: no prompts, no editing.

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"
)

// NewLines reads lines from r, as they come.
func NewLines(r io.Reader) LineReader { return &plainLines{r: bufio.NewReader(r)} }

// aheadWait is how long a line is waited for that would belong to the entry before it. A file
// and a pipe that was filled at once have it; who waits for answers writes none.
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
