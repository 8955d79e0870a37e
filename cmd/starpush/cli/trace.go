package cli

// --trace and --report: what a run did, for Perfetto and as a page.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
)

// listener is who listens to a run: nobody, unless it is recorded. It is called when
// the runtime is made.
func (o *runFlags) listener() engine.Listener {
	var all engine.Listener
	if o.recorder = nil; o.trace != "" || o.report != "" {
		o.recorder = &trace.Recorder{}
		all = o.recorder
	}
	if o.grain = nil; o.recent != nil || o.profile || o.advise || o.report != "" {
		o.grain = &grain.Listener{}
		all = trace.Both(o.grain, all)
	}
	if o.recent != nil {
		all = trace.Both(o.recent, all)
	}
	return all
}

// observe are the options of a run that is recorded.
func (o *runFlags) observe() []lang.Option {
	var views []func([]*datamgr.Handle, func(int) string)
	if o.recorder != nil {
		views = append(views, o.recorder.View)
	}
	if o.recent != nil {
		views = append(views, o.recent.View)
	}
	if o.grain != nil {
		views = append(views, o.grain.View)
	}
	if len(views) == 0 {
		return nil
	}
	return []lang.Option{lang.ObserveViews(func(parts []*datamgr.Handle, name func(int) string) {
		for _, v := range views {
			v(parts, name)
		}
	})}
}

// writeTraces writes what was recorded of a run that ended with err, also of one that
// failed. A file that cannot be written does not keep the other from being written,
// and fails a run that did not fail.
func (a *app) writeTraces(ctx context.Context, o *runFlags, name string, src []byte, err error) error {
	if o.recorder == nil {
		return err
	}
	run := o.recorder.Run(filepath.Base(name))
	run.Advice = o.advice
	write := func(file string, to func(io.Writer) error) error {
		if file == "" {
			return nil
		}
		var b bytes.Buffer
		err := to(&b)
		if err != nil {
			return &exitError{code: exitFailed, err: fmt.Errorf("writing %s: %w", file, err)}
		}
		return a.writeOutput(ctx, file, b.Bytes(), graph.Measure(run.Graph).Tasks)
	}
	for _, e := range []error{
		write(o.trace, func(w io.Writer) error { return trace.WriteChrome(w, run) }),
		write(o.report, func(w io.Writer) error { return trace.WriteReport(w, run, sources(run, name, src)) }),
	} {
		if e == nil {
			continue
		}
		a.sayError(e)
		if err == nil {
			err = status(exitFailed)
		}
	}
	return err
}

// sources are the texts of the files that submitted tasks: the script as it was run,
// imported ones as they are now.
func sources(run *trace.Run, name string, src []byte) []trace.Source {
	all := []trace.Source{}
	if src != nil { // not of a session
		all = append(all, trace.Source{Name: name, Text: string(src)})
	}
	seen := map[string]bool{name: true, "": true}
	for _, s := range run.Graph.Sites {
		if seen[s.File] {
			continue
		}
		seen[s.File] = true
		if text, err := os.ReadFile(s.File); err == nil { // one that has gone is left out
			all = append(all, trace.Source{Name: s.File, Text: string(text)})
		}
	}
	return all
}
