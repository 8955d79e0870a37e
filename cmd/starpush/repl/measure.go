package repl

// Commands that measure: :bench, :time and :trace.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
)

// :bench and :time: how long statements take with their tasks. Tasks that failed or
// were cancelled did nothing, so there are no times then, but what went wrong.

// benchRuns is how often :bench runs a statement.
const benchRuns = 10

// bench runs a statement several times, each time with its tasks.
func (s *Shell) bench(ctx context.Context, src string) {
	if strings.TrimSpace(src) == "" {
		s.usage("bench")
		return
	}
	if s.settle() != nil {
		return
	}
	if !s.waited(ctx) {
		return
	}
	first := &firstError{}
	if s.Listen != nil && s.tracing == nil { // measured runs have no listener
		if err := s.Listen(first); err == nil {
			defer s.listen(ctx, nil)
		}
	}
	var runs []time.Duration
	tasks := 0
	for k := range benchRuns + 1 {
		before := s.Session.Stats()
		res, took, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) {
			res, err := s.Session.Eval(ctx, src)
			if err == nil {
				err = s.Session.Wait(ctx)
			}
			return res, err
		})
		which := fmt.Sprintf("in run %d of %d ", k, benchRuns)
		if k == 0 { // it fills caches, and does not count
			which = "in the warm-up run "
			if s.Listen != nil && s.tracing == nil {
				_ = s.Listen(nil) // else tasks are left behind, and first goes on listening
			}
		}
		if err != nil {
			if s.fail(src, before, err); s.Session.Stats().Submitted > before.Submitted && s.leave == nil {
				s.complain("no times: that was %s", strings.TrimSpace(which))
			}
			return
		}
		if s.undone(which, before, first) {
			return
		}
		tasks = res.Inserted
		runs = append(runs, took)
	}
	runs = runs[1:]
	s.say("%d runs with their tasks: %v", len(runs), TimesOf(runs))
	if tasks > 0 {
		fmt.Fprintf(s.Out, "%s a run, %s for each\n", plural(int64(tasks), "task"), duration(TimesOf(runs).Median/time.Duration(tasks)))
	}
}

// time switches the timing of all statements, or times one with its tasks.
func (s *Shell) time(ctx context.Context, args string) {
	switch args {
	case "":
		s.usage("time")
		return
	case "on", "off":
		s.timing = args == "on"
		return
	}
	was := s.timing
	s.timing = false
	defer func() { s.timing = was }()
	first := &firstError{}
	if left(s.Session.Stats()) == 0 && s.Listen != nil && s.tracing == nil { // else what is left goes by those that listen
		if s.Listen(s.listener(first)) == nil {
			defer func() { _ = s.Listen(s.listener(nil)) }() // tasks are left: first goes on listening, which does no harm
		}
	}
	start, at := s.now(), s.Session.Stats()
	if !s.statement(ctx, args) {
		return
	}
	submitted := s.now()
	if !s.waited(ctx) {
		return
	}
	end := s.now()
	if s.failed && countUndone(at, s.Session.Stats()) > 0 { // reported already
		return
	}
	if s.undone("", at, first) {
		return
	}
	s.say("%s to run it, %s with its tasks", duration(submitted.Sub(start)), duration(end.Sub(start)))
	io.WriteString(s.Out, copies(at.Buses, s.Session.Stats().Buses))
}

// undone reports whether tasks since before did not do what they were to do, and says
// so: a statement whose tasks are cancelled at once looks fast.
func (s *Shell) undone(when string, before lang.Stats, first *firstError) bool {
	after := s.Session.Stats()
	if countUndone(before, after) == 0 {
		return false
	}
	failed, cancelled := after.Failed-before.Failed, after.Cancelled-before.Cancelled
	n, what := cancelled, "cancelled"
	if failed > 0 {
		n, what = failed, "failed"
		if cancelled > 0 {
			what += fmt.Sprintf(" and %d %s cancelled", cancelled, was(cancelled))
		}
	}
	text := fmt.Sprintf("no times: %s%s %s", when, plural(n, "task"), what)
	if failed == 0 {
		text = fmt.Sprintf("no times: %s%s of %d %s cancelled", when, plural(n, "task"), after.Submitted-before.Submitted, was(n))
	}
	if err := first.get(); err != nil {
		text += ": " + err.Error()
	} else if lost := s.Session.Lost(); len(lost) > 0 {
		text += "; `" + lost[0] + "` has no valid value"
	}
	s.complain("%s", text)
	return true
}

// countUndone counts the tasks that failed or were cancelled from before to after.
func countUndone(before, after lang.Stats) int64 {
	return after.Failed - before.Failed + after.Cancelled - before.Cancelled
}

func was(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// firstError is a listener that keeps why the first task failed or was cancelled.
type firstError struct {
	mu struct {
		sync.Mutex
		err error
	}
}

// AlwaysReturns says that TaskEvent does: it is called without a goroutine of its own.
func (f *firstError) AlwaysReturns() {}

// TaskEvent implements engine.Listener.
func (f *firstError) TaskEvent(e *engine.Event) {
	if e.Kind != engine.TaskFailed && e.Kind != engine.TaskCancelled {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err == nil {
		f.mu.err = e.Err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.err
}

// How long several runs of the same thing take.

// Times sums up how long several runs took.
type Times struct {
	Min, Median, Mean, Deviation, Max time.Duration
}

// TimesOf sums up a sample, which has one run at least. Deviation is the standard
// deviation of the sample, 0 for one run.
func TimesOf(runs []time.Duration) Times {
	sorted := slices.Sorted(slices.Values(runs))
	n := len(sorted)
	mean, square := 0.0, 0.0
	for _, d := range runs {
		mean += float64(d) / float64(n)
	}
	for _, d := range runs {
		square += (float64(d) - mean) * (float64(d) - mean)
	}
	return Times{
		Min: sorted[0], Max: sorted[n-1],
		Median:    (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Mean:      time.Duration(mean),
		Deviation: time.Duration(math.Sqrt(square / float64(max(n-1, 1)))),
	}
}

// String writes t for a person.
func (t Times) String() string {
	return fmt.Sprintf("least %s, median %s, mean %s ± %s, largest %s",
		duration(t.Min), duration(t.Median), duration(t.Mean), duration(t.Deviation), duration(t.Max))
}

// :trace: what runs between its start and its stop, in a file.

// tracing is a trace that is being recorded.
type tracing struct {
	file string
	rec  *trace.Recorder
}

// trace starts or stops: ":trace start FILE", ":trace stop". Tasks that were inserted
// before are waited for, so that each is recorded as a whole or not at all.
func (s *Shell) trace(ctx context.Context, args string) {
	word, file, _ := strings.Cut(args, " ")
	file = strings.TrimSpace(file)
	switch {
	case word == "start" && file != "" && s.Listen == nil:
		s.complain("this session cannot be traced")
	case word == "start" && file != "" && s.tracing != nil:
		s.complain("`%s` is being recorded; `:trace stop` ends that", s.tracing.file)
	case word == "start" && file != "":
		if err := writable(file); err != nil { // rather now than when it has been recorded
			s.complain("%s", fileError(file, err))
			return
		}
		t := &tracing{file, &trace.Recorder{}}
		if s.listen(ctx, t.rec) {
			s.tracing = t
			s.say("recording; `:trace stop` writes %s", file)
		}
	case word == "stop" && file == "" && s.tracing == nil:
		s.complain("nothing is being recorded; `:trace start FILE` begins")
	case word == "stop" && file == "":
		if s.stopTrace(ctx); s.tracing != nil && s.leave == nil {
			s.complain("`%s` is still being recorded; `:trace stop` once more writes it", s.tracing.file)
		}
	default:
		s.usage("trace")
	}
}

// waited waits for all tasks, and reports whether none is left. Failures are shown, but a
// failed task has ended as well, and does not keep a command from going on.
func (s *Shell) waited(ctx context.Context) bool {
	before := s.Session.Stats()
	_, _, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) { return lang.Result{}, s.Session.Wait(ctx) })
	if err == nil {
		return true
	}
	s.fail("wait", before, err)
	return !s.stopped && ctx.Err() == nil && left(s.Session.Stats()) == 0
}

// listen replaces the listener besides those of :explain, once no task is left.
func (s *Shell) listen(ctx context.Context, l engine.Listener) bool {
	if !s.waited(ctx) {
		return false
	}
	if err := s.Listen(s.listener(l)); err != nil {
		s.complain("%v", err)
		return false
	}
	return true
}

// stopTrace ends a trace, if there is one, and writes it.
func (s *Shell) stopTrace(ctx context.Context) {
	t := s.tracing
	if t == nil || !s.listen(ctx, nil) {
		return
	}
	s.tracing = nil
	var b bytes.Buffer
	run := t.rec.Run("session")
	err := trace.WriteChrome(&b, run)
	if err == nil {
		err = s.writeFile(ctx, t.file, b.Bytes())
	}
	if err != nil {
		s.complain("%s", fileError(t.file, err))
		return
	}
	s.say("%s written to %s; ui.perfetto.dev shows it", plural(int64(len(run.Graph.Tasks)), "task"), t.file)
}

// writable reports why file cannot be written; it leaves no file behind and changes none.
func writable(file string) error {
	fi, before := os.Stat(file)
	if before == nil && fi.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return nil // opening a pipe waits for its reader
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if errors.Is(before, fs.ErrNotExist) {
		return os.Remove(file)
	}
	return nil
}
