package repl

// :trace: what runs between its start and its stop, in a file.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
)

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

// waited waits for all tasks, and reports whether none is left. What they ended with is
// shown, but a task that failed has ended as well: it does not keep a command from what
// it waits for.
func (s *Shell) waited(ctx context.Context) bool {
	before := s.Session.Stats()
	_, _, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) { return lang.Result{}, s.Session.Wait(ctx) })
	if err == nil {
		return true
	}
	s.fail("wait", before, err)
	return !s.stopped && ctx.Err() == nil && left(s.Session.Stats()) == 0
}

// listen changes who listens besides what :explain goes by, once no task is left.
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
