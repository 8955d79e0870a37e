package repl

// Statements: how they run, and what Ctrl-C does to them.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/lang"
)

// Running a statement while Ctrl-C is heard: the first press cancels it, a
// second one soon after stops waiting for it, a third leaves.

// An outcome is how a statement ended.
type outcome struct {
	res lang.Result
	err error
}

// A cancelledError is why a statement ended that Ctrl-C cancelled. Later statements
// may meet ErrInterrupted too, when they need what was dropped.
type cancelledError struct{ err error }

func (e *cancelledError) Error() string { return e.err.Error() }
func (e *cancelledError) Unwrap() error { return e.err }

// errLeftBehind is the outcome of a statement that the shell does not wait for any more.
var errLeftBehind = errors.New("left behind")

// clearLine erases the terminal's line.
const clearLine = "\r\x1b[K"

// slowCancel is how long a cancel takes that says why.
const slowCancel = 300 * time.Millisecond

// exitInterrupted is the status of a conversation that the third Ctrl-C ended.
const exitInterrupted = 130

// supervise calls run and waits for it, hearing Ctrl-C.
func (s *Shell) supervise(ctx context.Context, run func(context.Context) (lang.Result, error)) (lang.Result, time.Duration, error) {
	if err := s.settle(); err != nil {
		return lang.Result{}, 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.presses.count = 0 // the next one is this statement's first, even if it has come already
	done := make(chan outcome, 1)
	s.lost = s.Session.Lost()
	start := s.now()
	s.busy.Store(true)
	go func() {
		res, err := run(ctx)
		if errors.Is(err, ErrInterrupted) {
			// Kernels that run see the end of the context; nothing else is left to wait
			// for. Their errors are part of the cancel.
			s.Session.Wait(context.WithoutCancel(ctx))
		}
		cancel(nil)
		s.busy.Store(false)
		done <- outcome{res, err}
	}()
	pressed := false
	var slow <-chan time.Time // it takes a while to cancel
	if s.Progress != nil {
		defer s.Progress()()
	}
	for {
		select {
		case o := <-done:
			if pressed && errors.Is(o.err, ErrInterrupted) {
				o.err = &cancelledError{o.err}
			}
			return o.res, s.now().Sub(start), o.err
		case <-slow:
			fmt.Fprintln(s.Err, clearLine+"^C waiting for kernels that run; Ctrl-C once more, within 2 s, stops that")
		case <-s.Interrupts:
			if s.presses.next() == 1 {
				pressed = true
				cancel(ErrInterrupted)
				if s.Echo {
					slow = time.After(slowCancel)
				}
				continue
			}
			s.pending = done
			s.leaveIfPressedAgain()
			return lang.Result{}, s.now().Sub(start), errLeftBehind
		}
	}
}

// readFile and writeFile are ReadFile and WriteFile with a context that Ctrl-C ends: a pipe
// may wait for its other side for ever.
func (s *Shell) readFile(ctx context.Context, name string) (src []byte, err error) {
	err = s.stoppable(ctx, func(ctx context.Context) (err error) {
		src, err = s.ReadFile(ctx, name)
		return err
	})
	return src, err
}

func (s *Shell) writeFile(ctx context.Context, name string, data []byte) error {
	return s.stoppable(ctx, func(ctx context.Context) error { return s.WriteFile(ctx, name, data) })
}

// stoppable calls f with a context that Ctrl-C ends, and waits for it.
func (s *Shell) stoppable(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case <-s.Interrupts:
			s.stopped = true
			cancel(ErrInterrupted)
		}
	}
}

// Finish waits for the tasks that are left when the conversation is over; Ctrl-C
// drops them. It does nothing while an abandoned statement holds the session.
func (s *Shell) Finish(ctx context.Context) {
	if s.pending == nil {
		s.stopTrace(ctx)
	}
	st := s.Session.Stats()
	n := left(st)
	if s.pending != nil || n == 0 {
		return
	}
	s.hearPresses() // before the message: a press that follows it is meant for the tasks
	if s.Echo && ctx.Err() == nil {
		fmt.Fprintf(s.Err, "waiting for %s; Ctrl-C drops them\n", plural(n, "task"))
	}
	_, _, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) {
		return lang.Result{}, s.Session.Wait(ctx)
	})
	if err != nil && ctx.Err() == nil {
		s.fail("", st, err)
	}
}

// forgetPresses drops the presses of Ctrl-C that were meant for another program: the pager
// or the editor.
func (s *Shell) forgetPresses() {
	for {
		select {
		case <-s.Interrupts:
		default:
			return
		}
	}
}

// hearPresses takes the presses of Ctrl-C that came between a statement and the moment at
// which the line editor took the keys. They count if a statement was left behind; else they
// came too late for theirs and are dropped. It is called while no entry runs: a press that
// comes after Enter is meant for the entry.
func (s *Shell) hearPresses() {
	for {
		select {
		case <-s.Interrupts:
			if s.pending != nil {
				s.presses.next()
				s.leaveIfPressedAgain()
			}
		default:
			return
		}
	}
}

// settle waits for a statement that was left behind: the session serves one at
// a time. Ctrl-C gives up the statement that wants to run now.
func (s *Shell) settle() error {
	if s.pending == nil {
		return nil
	}
	select {
	case <-s.pending:
	default:
		s.complain("waiting for the statement that was left behind; Ctrl-C gives up")
		select {
		case <-s.pending:
		case <-s.Interrupts:
			s.presses.next()
			s.leaveIfPressedAgain()
			return errLeftBehind
		}
	}
	s.pending = nil
	return nil
}

// leaveIfPressedAgain ends the conversation when the last press was the third
// or a later one in a row.
func (s *Shell) leaveIfPressedAgain() {
	if s.presses.count >= 3 {
		code := exitInterrupted
		s.leave = &code
	}
}

// fail shows why an entry did not succeed; before are the counts at its start.
func (s *Shell) fail(src string, before lang.Stats, err error) {
	var cancelled *cancelledError
	switch {
	case errors.Is(err, errLeftBehind):
		s.stopped = true
		if s.leave == nil {
			text := "no longer waiting: a kernel still runs; what it writes has no valid value until it is written again"
			if s.Echo {
				text = clearLine + "^C " + text
			}
			fmt.Fprintln(s.Err, Fold(text, s.columns()))
		}
	case errors.As(err, &cancelled):
		s.stopped = true
		fmt.Fprintln(s.Err, Fold(s.cancelReport(before), s.columns()))
	default:
		s.failed = true
		s.show(src, err)
	}
	var anew *lang.RanksLostError
	if errors.As(err, &anew) && len(anew.Names) > 0 {
		fmt.Fprintln(s.Err, Fold("the ranks were at different places, so the data of the session has ended: "+list(anew.Names), s.columns()))
	}
}

// list writes names, a few at most: "x, y and 3 more".
func list(names []string) string {
	const most = 5
	if n := len(names) - most; n > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

// cancelReport says what Ctrl-C did: "^C cancelled: 3 tasks dropped, 2 finished;
// x[3], x[4] have no valid value".
func (s *Shell) cancelReport(before lang.Stats) string {
	text := "^C cancelled"
	if s.Echo {
		text = clearLine + text // instead of what the terminal has shown
	}
	return s.report(text, before)
}

// report adds to text the outcome of the tasks since before, and the data that has lost
// its value since the statement began. Earlier losses were reported before.
func (s *Shell) report(text string, before lang.Stats) string {
	after := s.Session.Stats()
	var did []string
	for _, n := range []struct {
		count int64
		what  string
	}{{after.Cancelled - before.Cancelled, "dropped"}, {after.Failed - before.Failed, "stopped"}, {after.Done - before.Done, "finished"}} {
		if n.count > 0 && len(did) == 0 {
			did = append(did, plural(n.count, "task")+" "+n.what)
		} else if n.count > 0 {
			did = append(did, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if len(did) > 0 {
		text += ": " + strings.Join(did, ", ")
	}
	const most = 5
	names, verb := s.newlyLost(), "have"
	switch n := len(names); {
	case n == 0:
		return text
	case n == 1:
		verb = "has"
	case n > most+1:
		names = append(names[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	return fmt.Sprintf("%s; %s %s no valid value", text, strings.Join(names, ", "), verb)
}

// newlyLost names the data that has lost its value since the statement began, each
// name once: data that was declared again may have the name of other data.
func (s *Shell) newlyLost() []string {
	var names []string
	for _, n := range s.Session.Lost() {
		if !slices.Contains(s.lost, n) && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// Ctrl-C while a statement runs: what the first, second and third press mean.

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
