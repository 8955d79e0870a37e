package cli

// Signals: the first SIGINT or SIGTERM cancels in order, a second one ends the
// process at once.

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// withSignals is withSignals for a command, or nothing new where --watch has done it.
func (a *app) withSignals(ctx context.Context) (context.Context, func()) {
	if a.watching {
		return context.WithCancel(ctx)
	}
	return withSignals(ctx, a.sayCancelling, a.exitNow)
}

// withSignals returns a context that the first signal cancels with a
// *signalError. onFirst, which may be nil, runs then; a second signal calls
// exit with its status. stop ends the watch and waits for it.
func withSignals(parent context.Context, onFirst func(*signalError), exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	var watch []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) { // nohup and background jobs stay deaf to it
			watch = append(watch, s)
		}
	}
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
