// Command service is an HTTP service that runs scripts of strangers: each within
// limits, all on one runtime.
//
//	go run ./examples/service -listen localhost:8080
//	curl --data-binary @scripts/scale.spu localhost:8080/run
//
// A script that is invalid gets status 400 and what is wrong with it, one that fails
// 422, one that reaches a limit 413. Scripts reach no file, no clock and no other
// script. They share the workers evenly: one that computes for seconds does not keep the
// others waiting. Limits guard against greed and mistakes; a service for the whole world
// still belongs in a process with limits of the operating system.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

const (
	maxSource = 64 << 10
	maxRuns   = 20 // at once; further requests wait for their turn
)

// limits hold for one script.
var limits = lang.Limits{
	Steps: 10_000_000, Tasks: 100_000, CallDepth: 200, InFlight: 1000,
	DataBytes: 64 << 20, ScriptBytes: 16 << 20, Output: 64 << 10, Timeout: 5 * time.Second,
	Weight: 1, // of the workers' time each script gets as much as any other
}

func main() {
	listen := flag.String("listen", "localhost:8080", "`address` to listen at")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	// Garbage of scripts may not take as much again as the scripts themselves.
	debug.SetMemoryLimit(64<<20 + maxRuns*(limits.DataBytes+limits.ScriptBytes))
	s, err := newService(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.rt.Close()
	server := &http.Server{Addr: *listen, Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.Background(), limits.Timeout)
		defer cancel()
		server.Shutdown(last)
	}()
	log.Printf("listening at %s", *listen)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// service runs scripts. Any number of goroutines may use it.
type service struct {
	comp *lang.Compiler
	rt   *engine.Runtime
	turn chan struct{} // one for each run that may be under way
}

func newService(o engine.Options) (*service, error) {
	comp, err := lang.NewCompiler(lang.Config{Modules: stdlib.Modules(), Limits: limits})
	if err != nil {
		return nil, err
	}
	rt, err := engine.New(o)
	if err != nil {
		return nil, err
	}
	return &service{comp: comp, rt: rt, turn: make(chan struct{}, maxRuns)}, nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/run" || r.Method != http.MethodPost {
		http.Error(w, "POST a script to /run", http.StatusNotFound)
		return
	}
	source, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSource))
	if err != nil {
		http.Error(w, fmt.Sprintf("a script may have %d bytes", maxSource), http.StatusRequestEntityTooLarge)
		return
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-r.Context().Done():
		return
	}
	printed, err := s.run(r.Context(), source)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(statusOf(err))
	w.Write(printed)
	if err != nil {
		describe(w, err)
	}
}

// errInvalid is in the errors of scripts that did not run.
var errInvalid = errors.New("the script is invalid")

// run returns what the script printed, and how it ended.
func (s *service) run(ctx context.Context, source []byte) ([]byte, error) {
	prog, diags := s.comp.Compile(ctx, "script.spu", source)
	if prog == nil {
		return nil, errors.Join(errInvalid, diags)
	}
	var out bytes.Buffer
	inst, err := prog.Run(ctx, s.rt, lang.Stdout(&out))
	if err == nil {
		err = inst.Close() // waits for its tasks
	}
	return out.Bytes(), err
}

func statusOf(err error) int {
	var limit *lang.LimitError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, errInvalid):
		return http.StatusBadRequest
	case errors.As(err, &limit):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusUnprocessableEntity
}

// describe writes an error as a person wants to read it.
func describe(w io.Writer, err error) {
	var many lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &many):
		many.Render(w, lang.Style{})
	case errors.As(err, &one):
		lang.Diagnostics{*one}.Render(w, lang.Style{})
	default:
		fmt.Fprintln(w, err)
	}
}
