// Package lsp is the language server: it speaks the Language Server Protocol on
// two streams and answers from what package lang says about scripts. One goroutine
// reads, one handles messages in the order of their arrival; only $/cancelRequest
// overtakes.
package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/starpush/starpush/lang"
)

// Options is what a server needs of its host.
type Options struct {
	Files    lang.Loader // reads what imports name
	Compiler func(lang.Loader) (*lang.Compiler, error)
	Version  string
	Delay    time.Duration // without changes before diagnostics are sent
}

// A server is one connection. Only the goroutine of Serve uses it.
type server struct {
	ctx   context.Context
	opts  Options
	comp  *lang.Compiler
	files *workspace
	out   io.Writer
	lost  bool // the editor no longer reads

	initialized, stopping bool
	timer                 *time.Timer // until diagnostics are sent
}

// Serve handles what comes from in until the editor says exit or closes it. It
// reports whether the editor left as the protocol asks: not with exit before
// shutdown.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts Options) (orderly bool, err error) {
	s := &server{ctx: ctx, opts: opts, out: out, files: newWorkspace(opts.Files)}
	if s.comp, err = opts.Compiler(s.files); err != nil {
		return true, err
	}
	s.timer = time.NewTimer(time.Hour)
	s.timer.Stop()
	defer s.timer.Stop()
	q := newQueue()
	read := make(chan struct{})
	go func() {
		defer close(read)
		q.read(ctx, in)
	}()
	for {
		select {
		case <-q.ready:
			for m := q.take(); m != nil; m = q.take() {
				if m.eof || m.Method == "exit" && m.ID == nil {
					<-read // it ends with either
					return m.eof || s.stopping, nil
				}
				s.handle(m)
			}
		case <-s.timer.C:
			if q.empty() {
				s.publish()
			} else {
				s.later(s.opts.Delay)
			}
		}
	}
}

// later sends diagnostics when nothing has happened for so long.
func (s *server) later(d time.Duration) { s.timer.Reset(d) }

func (s *server) send(v any) {
	if !s.lost {
		s.lost = writeFrame(s.out, v) != nil // the end of in follows
	}
}

func (s *server) notify(method string, params any) { s.send(notification{"2.0", method, params}) }

// handle answers one message.
func (s *server) handle(m *message) {
	if m.err != nil {
		s.send(failure{"2.0", nil, m.err})
		return
	}
	if m.cancel != nil {
		defer m.cancel()
	}
	result, err := s.call(m)
	if m.ID == nil {
		if err != nil {
			s.notify("window/logMessage", map[string]any{"type": 2, "message": fmt.Sprintf("starpush: %s: %v", m.Method, err)})
		}
		return
	}
	if m.ctx.Err() != nil {
		err = failf(codeCancelled, "cancelled")
	}
	if err != nil {
		s.send(failure{"2.0", m.ID, err})
		return
	}
	s.send(response{"2.0", m.ID, result})
}

// call runs the method of m. A panic becomes an error: the editor goes on.
func (s *server) call(m *message) (result any, err *rpcError) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, failf(codeInternal, "%s: %v\n%s", m.Method, r, debug.Stack())
		}
	}()
	if m.ID != nil && m.ctx.Err() != nil {
		return nil, nil
	}
	switch {
	case m.Method == "initialize" && m.ID != nil:
		if s.initialized {
			return nil, failf(codeInvalid, "initialize comes once")
		}
		s.initialized = true
		s.files.setFolders(m.Params)
		return s.capabilities(), nil
	case m.ID == nil && (!s.initialized || s.stopping):
		return nil, nil
	case !s.initialized:
		return nil, failf(codeNotInitialized, "the first request is initialize")
	case s.stopping:
		return nil, failf(codeInvalid, "nothing but exit follows shutdown")
	case m.Method == "shutdown" && m.ID != nil:
		s.stopping = true
		s.timer.Stop()
		return nil, nil
	}
	if m.ID == nil {
		if f := notifications[m.Method]; f != nil {
			return nil, f(s, m.Params)
		}
		return nil, nil
	}
	f := requests[m.Method]
	if f == nil {
		return nil, failf(codeUnknownMethod, "there is no method %s", m.Method)
	}
	return f(s, m.Params)
}

// decode reads params into a T.
func decode[T any](params json.RawMessage) (p T, err *rpcError) {
	if e := json.Unmarshal(params, &p); e != nil {
		return p, failf(codeInvalidParams, "params: %v", e)
	}
	return p, nil
}

// analysis returns what is known about d, finding it out if need be.
func (s *server) analysis(d *document) *lang.Analysis {
	if d.found == nil {
		d.found = s.comp.Analyze(s.ctx, d.name, []byte(d.text()))
	}
	return d.found
}
