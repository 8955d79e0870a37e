package cli

// The end of a command: exit statuses and signals.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/lang"
)

// Exit statuses: what each outcome of a command becomes for the shell.

// The exit statuses of the command.
const (
	exitOK      = 0
	exitFailed  = 1 // the script ran and failed; fmt --check found changes
	exitUsage   = 2 // flags, missing file, params, externs without data
	exitInvalid = 3 // the script is invalid: nothing ran
	exitLimit   = 4 // a limit was reached
	exitDevice  = 5 // no device can run it
	exitPipe    = 128 + int(syscall.SIGPIPE)
	exitInt     = 128 + int(syscall.SIGINT)
	exitTerm    = 128 + int(syscall.SIGTERM)
)

// An exitError ends a command with a status. Without an error everything has
// been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// status ends a command silently.
func status(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// usagef is a wrong use of the command line.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// A signalError is the cause of a context that a signal ended.
type signalError struct{ sig syscall.Signal }

func (e *signalError) Error() string {
	if e.sig == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

// code is the exit status that shells use for the signal.
func (e *signalError) code() int { return 128 + int(e.sig) }

// errPipe is the cause of a context that ends because the reader of standard output has
// gone.
var errPipe = errors.New("standard output was closed")

// usageCodes are diagnostics about the command line and not about the script.
var usageCodes = map[string]bool{"E0704": true, "E0904": true}

// codeOf is the exit status for an error of a run. ran says that the script
// had started; a script that was refused before has run nothing.
func codeOf(ctx context.Context, err error, ran bool) int {
	if err == nil {
		return exitOK
	}
	var sig *signalError
	if errors.As(context.Cause(ctx), &sig) || errors.As(err, &sig) {
		return sig.code()
	}
	if errors.Is(context.Cause(ctx), errPipe) || errors.Is(err, errPipe) || errors.Is(err, syscall.EPIPE) {
		return exitPipe
	}
	if exit := (*exitError)(nil); errors.As(context.Cause(ctx), &exit) { // --timeout while files were read
		return exit.code
	}
	var limit *lang.LimitError
	if errors.As(err, &limit) || errors.Is(err, context.DeadlineExceeded) {
		return exitLimit
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	for _, d := range diagnosticsOf(err) {
		switch {
		case d.Severity != lang.Error:
		case d.Code == "E0803", errors.As(d.Cause, new(*accel.LostError)):
			return exitDevice
		case usageCodes[d.Code]:
			return exitUsage
		case !ran:
			return exitInvalid
		default:
			return exitFailed
		}
	}
	if !ran {
		return exitInvalid
	}
	return exitFailed
}

// diagnosticsOf finds the diagnostics in an error, if it has any.
func diagnosticsOf(err error) lang.Diagnostics {
	var many lang.Diagnostics
	if errors.As(err, &many) {
		return many
	}
	var one *lang.Diagnostic
	if errors.As(err, &one) {
		return lang.Diagnostics{*one}
	}
	return nil
}

// Signals: the first SIGINT or SIGTERM cancels in order, a second one ends the
// process at once.

// heard returns those of the signals that are not ignored: nohup and background jobs stay deaf to some.
func heard(all ...os.Signal) (out []os.Signal) {
	for _, s := range all {
		if !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}

// withSignals is withSignals for a command, or nothing new where --watch has done it.
func (a *app) withSignals(ctx context.Context) (context.Context, func()) {
	if a.watching {
		return context.WithCancel(ctx)
	}
	var grace time.Duration
	if a.onRanks { // a launcher ends the others when a rank has died, which they hear of themselves and can name
		grace = 300 * time.Millisecond
	}
	return withLateSignals(ctx, grace, a.sayCancelling, a.exitNow)
}

// withSignals returns a context that the first signal cancels with a
// *signalError. onFirst, which may be nil, runs then; a second signal calls
// exit with its status. stop ends the watch and waits for it.
func withSignals(parent context.Context, onFirst func(*signalError), exit func(int)) (ctx context.Context, stop func()) {
	return withLateSignals(parent, 0, onFirst, exit)
}

// withLateSignals is withSignals, but SIGTERM has its effect after grace only.
func withLateSignals(parent context.Context, grace time.Duration, onFirst func(*signalError), exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	watch := heard(os.Interrupt, syscall.SIGTERM)
	ch := make(chan os.Signal, 2)
	if len(watch) > 0 {
		signal.Notify(ch, watch...)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		first := true
		for {
			select {
			case <-done:
				return
			case s := <-ch:
				e := &signalError{sig: s.(syscall.Signal)}
				if !first {
					exit(e.code())
					return
				}
				first = false
				if grace > 0 && s == syscall.SIGTERM {
					select {
					case <-done:
						return
					case <-time.After(grace):
					}
				}
				cancel(e)
				if onFirst != nil {
					onFirst(e)
				}
			}
		}
	})
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		wg.Wait()
		cancel(nil)
	}
}
