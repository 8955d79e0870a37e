package repl

// Ctrl-C while a statement runs: what the first, second and third press mean.

import (
	"errors"
	"time"
)

// pressWindow is how soon a further press belongs to the one before.
const pressWindow = 2 * time.Second

// presses counts Ctrl-C presses that follow each other closely.
type presses struct {
	now   func() time.Time
	last  time.Time
	count int
}

// next notes a press and returns its number in the row: 1, 2, 3, …
func (p *presses) next() int {
	now := p.now()
	if p.count == 0 || now.Sub(p.last) > pressWindow {
		p.count = 0
	}
	p.count++
	p.last = now
	return p.count
}

// ErrInterrupted is what a LineReader returns when Ctrl-C cleared the line, and
// the cause of the context of a statement that Ctrl-C cancelled.
var ErrInterrupted = errors.New("interrupted")

// ErrEdit is what a LineReader returns, with the line so far, when Ctrl-X Ctrl-E asked
// for an editor.
var ErrEdit = errors.New("edit")
