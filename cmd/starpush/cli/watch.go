package cli

// --watch: run, check or test again whenever a script that was read changes.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

// watchEvery is how often files are looked at. What editors write in several steps is
// read when it has not changed for as long.
const watchEvery = 200 * time.Millisecond

// readFiles are the files that a command has read, as they were then. The zero value
// notes nothing; it is safe for concurrent use.
type readFiles struct {
	mu struct {
		sync.Mutex
		seen map[string]stamp // nil: nobody watches
	}
}

// stamp tells versions of a file apart.
type stamp struct {
	there    bool
	size     int64
	modified time.Time
}

func stampOf(name string) stamp {
	fi, err := os.Stat(name)
	if err != nil {
		return stamp{}
	}
	return stamp{true, fi.Size(), fi.ModTime()}
}

// note remembers a file that is about to be read.
func (r *readFiles) note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.seen != nil {
		if _, ok := r.mu.seen[name]; !ok { // as it was first: what came later was not read by all
			r.mu.seen[name] = stampOf(name)
		}
	}
}

// reset forgets all, and notes from now on.
func (r *readFiles) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.seen = map[string]stamp{}
}

// files returns what was noted.
func (r *readFiles) files() map[string]stamp {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.mu.seen)
}

// changed is a file that is not as it was; "" for none. One that has gone may come back:
// editors write beside it and rename.
func (r *readFiles) changed() string {
	seen := r.files()
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if now := stampOf(name); now.there && now != seen[name] {
			return name
		}
	}
	return ""
}

// wait returns the name of a file that has changed and is not being written any more;
// "" when ctx ends first.
func (r *readFiles) wait(ctx context.Context) string {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	name, last := "", stamp{}
	for {
		if name == "" {
			name = r.changed()
			last = stampOf(name)
		} else if now := stampOf(name); now == last {
			return name
		} else {
			last = now
		}
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
	}
}

// registerWatch adds --watch to a command, around what it does.
func (a *app) registerWatch(c *cobra.Command) {
	watch := c.Flags().Bool("watch", false, "do it again whenever a script that was read changes, until Ctrl-C")
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !*watch {
			return run(cmd, args)
		}
		if slices.Contains(args, "-") || c.Parent() == nil && len(args) == 0 {
			return usagef("--watch needs a file: nothing else changes")
		}
		return a.watch(cmd, func() error { return run(cmd, args) })
	}
}

// watch runs once, and again after each change of what was read.
func (a *app) watch(cmd *cobra.Command, run func() error) error {
	var idle atomic.Bool // nothing runs that a signal would have to wait for
	ctx, stop := withSignals(cmd.Context(), func(e *signalError) {
		if !idle.Load() {
			a.sayCancelling(e)
		}
	}, a.exitNow)
	defer stop()
	a.watching = true
	cmd.SetContext(ctx)
	for {
		a.read.reset()
		a.reported = false
		err := run()
		if ctx.Err() != nil {
			return status(codeOf(ctx, context.Cause(ctx), true))
		}
		code := exitOK
		if err != nil {
			e := &exitError{code: exitUsage, err: err}
			if !errors.As(err, &e) || e.err != nil {
				a.sayError(err)
			}
			code = e.code
		}
		files := a.read.files()
		if len(files) == 0 {
			return err // there is nothing to watch
		}
		names := slices.Sorted(maps.Keys(files))
		if a.json != nil {
			a.json.line(jsonWatch{"watch", code, names})
		} else if !a.flags.quiet {
			fmt.Fprintf(a.con.err, "starpush: watching %s; Ctrl-C ends\n", namesText(names))
		}
		idle.Store(true)
		name := a.read.wait(ctx)
		idle.Store(false)
		if ctx.Err() != nil {
			return status(codeOf(ctx, context.Cause(ctx), true))
		}
		if a.json == nil && !a.flags.quiet {
			fmt.Fprintf(a.con.err, "starpush: %s has changed\n", name)
		}
	}
}

// namesText names a few files.
func namesText(names []string) string {
	if n := len(names); n > 3 {
		return fmt.Sprintf("%s and %d other files", strings.Join(names[:2], ", "), n-2)
	}
	return strings.Join(names, ", ")
}

// readFile reads a script that --watch watches.
func (a *app) readFile(ctx context.Context, name string, max int64) ([]byte, error) {
	a.read.note(name)
	return readSource(ctx, name, max)
}
