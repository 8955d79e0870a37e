// Command batch runs many scripts, several at a time, on one runtime, and says how
// each ended.
//
//	go run ./examples/batch -at 4 scripts/*.spu
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

func main() {
	at := flag.Int("at", 4, "scripts at a time")
	timeout := flag.Duration("timeout", 10*time.Minute, "for each script")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rt, err := engine.New(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	failed, err := batch(ctx, rt, flag.Args(), *at, *timeout, os.Stdout)
	if err = errors.Join(err, rt.Close()); err != nil {
		log.Fatal(err)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// result is how a script ended.
type result struct {
	printed string
	err     error
	tasks   int64
	took    time.Duration
}

// batch runs the scripts and reports them in their order. A runtime serves any
// number of programs at once: their tasks share its workers.
func batch(ctx context.Context, rt *engine.Runtime, files []string, at int, timeout time.Duration, w io.Writer) (failed int, err error) {
	results := make([]result, len(files))
	done := make([]chan struct{}, len(files))
	for i := range done {
		done[i] = make(chan struct{})
	}
	turn := make(chan struct{}, max(1, at))
	var all sync.WaitGroup
	defer all.Wait()
	for i, file := range files {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn; close(done[i]) }()
			results[i] = run(ctx, rt, file, timeout)
		})
	}
	for i, file := range files {
		<-done[i]
		r := &results[i]
		fmt.Fprintf(w, "== %s: %d tasks, %v\n%s", file, r.tasks, r.took.Round(time.Millisecond), r.printed)
		if r.err != nil {
			failed++
			describe(w, r.err)
		}
	}
	fmt.Fprintf(w, "%d of %d scripts failed\n", failed, len(files))
	return failed, nil
}

// run runs one script. It imports files of its own folder, and loads and saves files of
// the working folder, as with the command.
func run(ctx context.Context, rt *engine.Runtime, file string, timeout time.Duration) (r result) {
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	source, err := os.ReadFile(file)
	if err != nil {
		r.err = err
		return r
	}
	dir, name := filepath.Split(file)
	dir = filepath.Clean(dir)
	comp, err := lang.NewCompiler(lang.Config{Modules: stdlib.Modules(), Loader: lang.FSLoader(os.DirFS(dir)), Files: lang.Dir("."), Limits: lang.Limits{Timeout: timeout}})
	if err != nil {
		r.err = err
		return r
	}
	prog, diags := comp.Compile(ctx, name, source)
	if err := diags.Err(); err != nil {
		r.err = err
		return r
	}
	var out bytes.Buffer
	inst, err := prog.Run(ctx, rt, lang.Stdout(&out))
	if err == nil {
		err = inst.Wait(ctx)
		r.tasks = inst.Stats().Done
		err = errors.Join(err, inst.Close())
	}
	r.printed, r.err = out.String(), err
	return r
}

// describe writes an error in its long form, indented.
func describe(w io.Writer, err error) {
	var b strings.Builder
	var many lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &many):
		many.Render(&b, lang.Style{})
	case errors.As(err, &one):
		lang.Diagnostics{*one}.Render(&b, lang.Style{})
	default:
		fmt.Fprintln(&b, err)
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(w, "   "+line)
	}
}
