package repl

// Lines from a pipe, a file or a test: no prompts, no editing.

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// NewLines reads lines from r, as they come.
func NewLines(r io.Reader) LineReader { return &plainLines{r: bufio.NewReader(r)} }

type plainLines struct{ r *bufio.Reader }

// ReadLine returns the next line; a last one without newline counts.
func (p *plainLines) ReadLine(string) (string, error) {
	line, err := p.r.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	line = strings.TrimSuffix(line, "\n")
	return strings.TrimSuffix(line, "\r"), err
}
