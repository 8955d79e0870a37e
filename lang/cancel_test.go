package lang_test

// Contexts that end at any moment of a Call, a Wait, an Eval, a Run: what was inserted
// is dropped or refused, so that nothing waits for it in vain.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

var soak = flag.Duration("soak", 0, "run TestDeadlines for a sixth of this")

const deadlineScript = `
register x = vector[f64](4, fill = 1)
codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }
func one() { register y = vector[f64](1, fill = 0); insert forever(RW y) }
func many(n: int) { for i in 0..n { one() } }
func behind(n: int) {
    register y = vector[f64](1, fill = 0)
    for i in 0..n { insert inc(RW y) }
    insert forever(RW y)
    for i in 0..n { insert inc(RW y) }
}
func read() { register y = vector[f64](1, fill = 0); insert forever(RW y); print(y) }
func short(n: int) { register y = vector[f64](1, fill = 0); for i in 0..n { insert inc(RW y) } }
func ask(fn: string) { short(3); call(fn); short(3) }
param begin: int = 0
many(begin)
`

// forever is a codelet whose tasks end only when they are cancelled.
func forever() *lang.Codelet {
	return lang.Must(lang.NewCodelet("forever(v: RW vector[f64])", lang.CPUFunc(func(ctx context.Context, v []float64) error {
		<-ctx.Done()
		return ctx.Err()
	})))
}

// mustReturn calls fn, and ends the process with all stacks when fn does not return.
func mustReturn(what string, fn func()) {
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(patience):
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "%s does not return\n%s", what, buf[:runtime.Stack(buf, true)])
		os.Exit(3)
	}
}

const patience = 2 * time.Minute

// TestDeadlines: a call whose context ended has left no task behind that goes on: Close,
// Wait and the next entry come to their end. One that returned no error has lost nothing.
func TestDeadlines(t *testing.T) {
	rounds, end := 300, time.Now()
	if *soak > 0 {
		rounds, end = 0, end.Add(*soak/6)
	}
	rt := newRuntime(t, engine.Options{Workers: 2})
	for k := 0; k < rounds || time.Now().Before(end); k++ {
		r := rand.New(rand.NewPCG(uint64(k), 16))
		d := &deadlines{t: t, r: r, rt: rt}
		mustReturn(fmt.Sprintf("round %d", k), func() {
			if k%2 == 0 {
				d.instance()
			} else {
				d.session()
			}
		})
		if t.Failed() {
			t.Fatalf("in round %d", k)
		}
	}
}

// deadlines is one round of TestDeadlines.
type deadlines struct {
	t     *testing.T
	r     *rand.Rand
	rt    *engine.Runtime
	inner func(fn string) error // what the host function call does
}

// ctx ends within 400 µs, by a deadline or by a cancel on another goroutine.
func (d *deadlines) ctx() (context.Context, context.CancelFunc) {
	after := time.Duration(d.r.IntN(400)) * time.Microsecond
	if d.r.IntN(2) == 0 {
		return context.WithTimeout(context.Background(), after)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(after, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// is checks that an error is that of a context that ended.
func (d *deadlines) is(what string, err error) {
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		d.t.Errorf("%s: %v", what, err)
	}
}

func (d *deadlines) config() lang.Config {
	return lang.Config{Codelets: []*lang.Codelet{forever()}, Funcs: []*lang.Func{lang.Must(lang.NewFunc("call(fn: string)", func(_ context.Context, args []any) (any, error) {
		return nil, d.inner(args[0].(string))
	}))}}
}

// function is a function of the script with its arguments; endless says whether a task of
// it only ends when it is cancelled.
func (d *deadlines) function() (fn string, args []any, endless bool) {
	n := d.r.IntN(20)
	switch d.r.IntN(6) {
	case 0:
		return "many", []any{n}, n > 0
	case 1:
		return "behind", []any{n}, true
	case 2:
		return "read", nil, true
	case 3:
		return "short", []any{n}, false
	case 4:
		return "ask", []any{"one"}, true
	}
	return "one", nil, true
}

func (d *deadlines) instance() {
	prog := compile(d.t, d.config(), deadlineScript)
	ctx, cancel := d.ctx()
	defer cancel()
	start, begin := prog.Start, d.r.IntN(3)
	if d.r.IntN(2) == 0 {
		start = prog.Run
		if begin == 0 {
			ctx = context.Background()
		}
	}
	inst, err := start(ctx, d.rt, lang.Stdout(io.Discard), lang.Param("begin", begin))
	if err != nil {
		d.is("Start", err)
		return
	}
	left := begin > 0 // endless tasks that nothing has cancelled
	d.inner = func(fn string) error {
		ctx, cancel := d.ctx()
		defer cancel()
		_, err := inst.Call(ctx, fn)
		d.is("a call in a call", err)
		return err
	}
	for range 1 + d.r.IntN(4) {
		ctx, cancel := d.ctx()
		fn, args, endless := d.function()
		_, err := inst.Call(ctx, fn, args...)
		d.is(fn, err)
		left = err == nil && (left || endless)
		if d.r.IntN(3) == 0 {
			err = inst.Wait(ctx)
			d.is("Wait", err)
			if left && err == nil {
				d.t.Error("Wait returned before an endless task had ended")
			}
			left = false
		}
		cancel()
	}
	if left {
		ctx, cancel := d.ctx()
		d.is("the last Wait", inst.Wait(ctx))
		cancel()
	}
	d.is("Close", inst.Close())
}

func (d *deadlines) session() {
	s := lang.Must(lang.NewCompiler(d.config())).NewSession(d.rt, lang.Stdout(io.Discard))
	if _, err := s.Eval(context.Background(), deadlineScript); err != nil {
		d.t.Error(err)
	}
	d.inner = func(string) error { return nil }
	left := false
	for range 1 + d.r.IntN(4) {
		ctx, cancel := d.ctx()
		fn, args, endless := d.function()
		entry := fn + "()"
		if fn == "ask" {
			endless = false
			entry = `ask("one")`
		} else if args != nil {
			entry = fmt.Sprintf("%s(%d)", fn, args[0])
		}
		_, err := s.Eval(ctx, entry)
		d.is(entry, err)
		left = err == nil && (left || endless)
		if left {
			err := s.Wait(ctx)
			d.is("Wait", err)
			if err == nil {
				d.t.Error("Wait returned before an endless task had ended")
			}
			left = false
		}
		cancel()
		if got, err := s.Eval(context.Background(), "len([7])"); err != nil || got.Value != "1" {
			d.t.Errorf("after %s: %v, %v", entry, got, err)
		}
	}
	d.is("Close", s.Close())
}

// Once the context that was given to Start has ended, calls with another one can insert
// nothing until Wait has said so.
func TestStartContextEnds(t *testing.T) {
	why := errors.New("the user left")
	prog := compile(t, new(deadlines).config(), deadlineScript)
	rt := newRuntime(t, engine.Options{Workers: 2})
	left, cancel := context.WithCancelCause(context.Background())
	inst := lang.Must(prog.Start(left, rt, lang.Stdout(io.Discard), lang.Param("begin", 1)))
	cancel(why)
	mustReturn("a call after the end", func() {
		for {
			if _, err := inst.Call(context.Background(), "one"); err != nil {
				if !errors.Is(err, why) {
					t.Errorf("a call gives %v", err)
				}
				return
			}
		}
	})
	mustReturn("Wait", func() {
		if err := inst.Wait(context.Background()); !errors.Is(err, why) {
			t.Errorf("Wait gives %v", err)
		}
	})
	if _, err := inst.Call(context.Background(), "short", 3); err != nil {
		t.Errorf("a call after Wait gives %v", err)
	}
	mustReturn("Close", func() {
		if err := inst.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestTimeoutInScript: an entry that a limit of time has cut off is noted in the script
// of a session, as one that a context has ended.
func TestTimeoutInScript(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 2})
	s := newSession(t, lang.Config{Codelets: []*lang.Codelet{forever()}, Limits: lang.Limits{Timeout: 5 * time.Millisecond}}, rt)
	if _, err := s.Eval(context.Background(), "register x = vector[f64](1, fill = 0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Eval(context.Background(), "insert forever(RW x)\nwait"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if got, _ := s.Script("s.spu"); !strings.Contains(got, "cancelled") {
		t.Errorf("the script says nothing of it:\n%s", got)
	}
}
