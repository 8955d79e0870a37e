package repl

// Long texts: in a pager where there is one.

import (
	"context"
	"io"
	"strings"
)

// columns is how wide the terminal is, or :set width; 0: there is none.
func (s *Shell) columns() int {
	if s.width > 0 || s.Size == nil {
		return s.width
	}
	width, _ := s.Size()
	return width
}

// page writes text, through the pager when it is longer than the screen.
func (s *Shell) page(ctx context.Context, text string) {
	if text = strings.TrimRight(text, "\n") + "\n"; s.Page != nil && s.Size != nil {
		width, height := s.Size()
		if height > 0 && rows(text, width) >= height {
			err := s.Page(ctx, text)
			s.forgetPresses()
			if err == nil || ctx.Err() != nil {
				return
			}
			s.complain("%v", err)
		}
	}
	io.WriteString(s.Out, text)
}

// rows is how many rows of a terminal text takes.
func rows(text string, width int) int {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if w := columns(strings.TrimSuffix(line, "\n")); width > 0 && w > width {
			n += (w - 1) / width
		}
	}
	return n
}
