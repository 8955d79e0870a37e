package cli

// starpush run and bench, and --watch.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/interp"
)

// starpush run: a script from its text to its exit status.

// runFlags are what "starpush FILE", "starpush -e" and "starpush run" take.
type runFlags struct {
	params, data, save []string
	cpus, ranks        int64
	digits             int64
	sched              string
	sequential         bool
	deterministic      bool
	verify             bool
	profile            bool
	advise             bool
	timeout            time.Duration
	stats              bool
	progress           string
	calibrate          string
	perfDir            string
	trace, report      string
	resume             string
	warningFlags
	deviceFlags
	memoryFlags

	recorder    *trace.Recorder // with trace or report
	recent      *trace.Recent   // at the prompt
	grain       *grain.Listener // with profile, advise or report, and at the prompt
	advice      []string        // of grain, after the run
	figures     *cluster.Report // of the ranks, after a run with report on several
	code        []string        // -e
	interactive bool            // -i, root only
}

func (o *runFlags) register(a *app, c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&o.code, "eval", "e", nil, "run `CODE`; may be repeated")
	f.StringArrayVar(&o.data, "data", nil, "data of an extern from a file, `NAME=FILE`; may be repeated")
	f.StringArrayVar(&o.save, "save", nil, "write data to a file at the end, `NAME=FILE`; may be repeated")
	f.BoolVar(&o.profile, "profile", false, "show what workers, codelets and copies took at the end")
	f.BoolVar(&o.advise, "advise", false, "say at the end which inserts make tasks that are too short, or too few, and how to split the data better")
	f.BoolVar(&o.stats, "stats", false, "show tasks and times per codelet and worker, and copies between memories, at the end")
	registerTimeout(f, &o.timeout, "stop after this wall `TIME`, such as 90s or 10m")
	f.StringVar(&o.trace, "trace", "", "write what ran when to `FILE`, for ui.perfetto.dev")
	f.StringVar(&o.report, "report", "", "write a page about the run to `FILE`: times, copies, memory, and why workers waited")
	f.Var(&numberFlag{p: &o.digits, lo: 1, hi: repl.MaxDigits, advice: "leave it out for as many as read back the same"}, "digits", "print floats with at most `N` significant digits, 1 to 17; str and f-strings have all")
	registerRanks(c, &o.ranks, "run on `N` processes of this machine, through mpirun of Open MPI or MPICH")
	f.StringVar(&o.resume, "resume", "", "go on from the newest checkpoint in `DIR` that the script has written; if there is none, start from the beginning")
	f.StringVar(&o.progress, "progress", "auto", "progress of runs longer than a second, `WHEN`: auto, always or never")
	o.registerMachine(a, c)
	o.progress = "auto"
	o.warningFlags.register(c)
	c.ValidArgsFunction = scriptFiles
}

// registerRanks adds --ranks.
func registerRanks(c *cobra.Command, ranks *int64, usage string) {
	c.Flags().Var(&numberFlag{p: ranks, lo: 1, hi: 4096, advice: "mpirun starts ranks on other machines"}, "ranks", usage)
}

// registerMachine adds the flags that say how scripts run: params, and the machine.
func (o *runFlags) registerMachine(a *app, c *cobra.Command) {
	f := c.Flags()
	o.progress = "never" // for commands without the flag
	f.StringArrayVarP(&o.params, "param", "p", nil, "value of a param, `NAME=VALUE`; may be repeated")
	registerCPUs(f, &o.cpus)
	f.StringVar(&o.sched, "sched", "", schedUsage())
	f.BoolVar(&o.sequential, "sequential", false, "run each task inside its insert: the reference")
	f.BoolVar(&o.deterministic, "deterministic", false, "the same bits for any number of workers and any policy")
	f.BoolVar(&o.verify, "verify", false, "check that codelets keep to the access modes of their operands")
	o.deviceFlags.register(c, "none")
	o.memoryFlags.register(c)
	o.registerPerf(c)
}

func runCommand(a *app) *cobra.Command {
	var o runFlags
	c := &cobra.Command{
		Use:   "run FILE|-",
		Short: "Run a script",
		Example: `  starpush run cholesky.spu -p n=4096 -p nt=8 --stats
  starpush run step.spu --data x=a.npy --save y=b.npy --timeout 10m
  starpush run -e 'print(1 + 1)'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(o.code) > 0 { // what else there may be is said below
				return nil
			}
			return arity(1, 1, "one script, or - for standard input")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(o.code) > 0 {
				return a.runCode(cmd.Context(), &o, args)
			}
			return a.runFile(cmd.Context(), &o, args[0])
		},
	}
	o.register(a, c)
	a.registerWatch(c)
	return c
}

// check looks at flags that need no script.
func (a *app) check(o *runFlags) error {
	if !slices.Contains([]string{"auto", "always", "never"}, o.progress) {
		return usagef("--progress is auto, always or never, not `%s`", o.progress)
	}
	if err := checkCPUs(o.cpus, goruntime.NumCPU()); err != nil {
		return err
	}
	if err := checkPolicy(o.sched); err != nil {
		return err
	}
	level, err := a.calibration(o)
	if err != nil {
		return err
	}
	if err := a.checkPerfDir(o.perfDir, level); err != nil {
		return err
	}
	if _, err := o.memoryFlags.check(o.sequential); err != nil {
		return err
	}
	return o.deviceFlags.check(o.sequential)
}

// runFile runs a script from a file, or from standard input for "-".
func (a *app) runFile(ctx context.Context, o *runFlags, name string) error {
	if name == "-" && followsRankZero() {
		return a.runSource(ctx, o, stdinName, nil)
	}
	within, cancel := reading(ctx, o.timeout)
	defer cancel()
	shown, src, err := a.readScript(within, name)
	if err != nil {
		return err
	}
	return a.runSource(ctx, o, shown, src)
}

// runCode runs the code of -e.
func (a *app) runCode(ctx context.Context, o *runFlags, args []string) error {
	if len(args) > 0 {
		return usagef("-e and a file exclude each other: `%s`", args[0])
	}
	return a.runSource(ctx, o, "-e", []byte(strings.Join(o.code, "\n")))
}

// runSource compiles and runs a script. The error carries the exit status.
func (a *app) runSource(ctx context.Context, o *runFlags, name string, src []byte) error {
	if err := a.check(o); err != nil {
		return err
	}
	saves, err := savesOf(o.save)
	if err != nil {
		return err
	}
	script := name
	if len(o.code) > 0 || name == stdinName {
		script = ""
	}
	if err := checkOutputs(script, o.outputs(saves)...); err != nil { // before there are ranks, as rank 0 alone writes them
		return err
	}
	if err := checkInputs(o.data, o.outputs(saves)...); err != nil {
		return err
	}
	if o.ranks > 1 {
		if name != stdinName { // else it has been read
			src = nil
		}
		return a.startRanks(ctx, o.ranks, src, false)
	}
	ranks, err := a.joinRanks(ctx, o)
	if err != nil {
		return err
	}
	if ranks != nil && name == stdinName {
		if src, err = ranks.share(ctx, src); err != nil {
			return a.leave(ranks, err)
		}
	}
	return a.leave(ranks, a.runHere(ctx, o, ranks, name, src, saves))
}

// runHere is runSource for this process, which may be a rank.
func (a *app) runHere(ctx context.Context, o *runFlags, ranks *ranks, name string, src []byte, saves []save) error {
	o.warningFlags.used = nil
	for _, s := range saves {
		o.warningFlags.used = append(o.warningFlags.used, s.name)
	}
	ctx, stop := a.withSignals(ctx)
	defer stop()
	outputs := ctx // for what waits for the reader of a pipe
	if o.timeout > 0 {
		var cancel context.CancelFunc
		outputs, cancel = context.WithTimeoutCause(ctx, o.timeout, errors.New("it is a pipe that had no reader within --timeout"))
		defer cancel()
	}
	within, cancel := reading(ctx, o.timeout)
	defer cancel()
	prog, opts, err := a.compiled(within, name, src, &o.warningFlags, o.params, o.data, false)
	if err != nil {
		return err
	}
	if err := checkSaves(prog, saves); err != nil {
		return err
	}
	resume, err := a.resumption(ctx, o, ranks)
	if err != nil {
		return err
	}
	rt, err := a.runtime(o)
	if err != nil {
		return err
	}
	err = a.execute(ctx, o, prog, rt, saves, slices.Concat(opts, ranks.options(o), resume))
	err = a.writeTraces(outputs, o, name, src, err)
	return a.endRuntime(rt, o, err)
}

// resumption opens the checkpoint that --resume names, which rank 0 does for all. If it cannot be opened all ranks end.
func (a *app) resumption(ctx context.Context, o *runFlags, ranks *ranks) ([]lang.Option, error) {
	if o.resume == "" {
		return nil, nil
	}
	if ranks == nil {
		return a.openCheckpoint(o.resume)
	}
	var opts []lang.Option
	var failed error
	code := []byte{exitOK}
	if ranks.world.Rank() == 0 {
		if opts, failed = a.openCheckpoint(o.resume); failed != nil {
			code[0] = exitUsage
		}
	}
	code, err := ranks.share(ctx, code)
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, err
	}
	return opts, status(int(code[0]))
}

// openCheckpoint opens the newest checkpoint in a folder. Without any it says so, and the run starts from the beginning: a job that may be started
// several times always passes --resume. A folder whose checkpoints are all damaged is an error: starting anew would replace them.
func (a *app) openCheckpoint(dir string) ([]lang.Option, error) {
	c, err := engine.OpenCheckpoint(dir)
	note := func(format string, args ...any) {
		if !a.flags.quiet {
			fmt.Fprintf(a.con.err, "starpush: "+format+"\n", args...)
		}
	}
	if errors.Is(err, engine.ErrNoCheckpoint) {
		note("no checkpoint in %s: starting from the beginning", dir)
		return nil, nil
	}
	if err != nil {
		return nil, usagef("--resume: %s", plainText(err))
	}
	for _, bad := range c.Unusable {
		note("a newer checkpoint is not usable: %v", bad)
	}
	return []lang.Option{lang.Resume(c)}, nil
}

// checkpointFolder is where a script writes checkpoints: paths count from the working folder.
func checkpointFolder(name string) (string, error) { return name, nil }

// outputs are the files that the flags ask for.
func (o *runFlags) outputs(saves []save) []output {
	all := []output{{"--trace", o.trace}, {"--report", o.report}}
	for _, s := range saves {
		all = append(all, output{"--save " + s.name, s.path})
	}
	return all
}

// compiled compiles a script and returns it with options for its params and its data. Modules
// and data are read until ctx ends. It reports what is wrong; the error carries the exit status.
func (a *app) compiled(ctx context.Context, name string, src []byte, w *warningFlags, params, data []string, plan bool) (*lang.Program, []lang.Option, error) {
	warnings, err := w.set()
	if err != nil {
		return nil, nil, err
	}
	comp, err := a.compiler(warnings)
	if err != nil {
		return nil, nil, err
	}
	prog, diags := comp.Compile(ctx, name, src)
	if prog == nil {
		a.report(diags)
		return nil, nil, status(codeOf(ctx, diags, false))
	}
	if plan {
		prog = a.withExterns(ctx, prog, name, src, warnings)
	}
	opts, err := paramOptions(prog, params)
	if err != nil {
		return nil, nil, a.refuse(err) // warnings come with a run
	}
	bound, err := a.bindData(ctx, prog, data, plan)
	if err != nil {
		return nil, nil, a.refuse(err)
	}
	a.report(diags)
	return prog, append(opts, bound...), nil
}

// refuse ends a command before anything has run.
func (a *app) refuse(err error) error {
	if ds := diagnosticsOf(err); len(ds) > 0 {
		a.report(ds)
		return status(codeOf(context.Background(), ds, false))
	}
	return err
}

// execute runs a compiled script to its end.
func (a *app) execute(ctx context.Context, o *runFlags, prog *lang.Program, rt *engine.Runtime, saves []save, opts []lang.Option) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.con.out.fail = cancel

	var out io.Writer = a.con.out
	if a.json != nil {
		prints := &printWriter{j: a.json}
		defer prints.flush()
		out = prints
	}
	watch := &watcher{}
	opts = append(opts, lang.WithCheckpoints(checkpointFolder), lang.Stdout(out), lang.Observe(watch.set), lang.Digits(int(o.digits)))
	opts = append(opts, o.observe()...)
	if o.timeout > 0 {
		opts = append(opts, lang.WithLimits(lang.Limits{Timeout: o.timeout}))
	}
	shown := a.showProgress(o, rt, watch.stats)
	inst, err := prog.Run(ctx, rt, opts...)
	if o.grain != nil { // while there are views, which say how data is split
		o.advice = o.grain.Advice(grain.Asked{Workers: rt.Workers(), Duration: durationText, Numbers: interp.Computed, Device: grain.DevicesOf(rt)})
		if st, ok := watch.stats(); ok {
			o.advice = append(o.advice, slowBodies(prog.Uses(), st)...)
		}
	}
	unsaved := saves
	if err == nil {
		unsaved, err = a.saveAll(ctx, inst, saves)
		if closeErr := inst.Close(); err == nil {
			err = closeErr
		}
	}
	shown.stop()

	stats, ran := watch.stats()
	a.tasks = ended(stats)
	if err != nil {
		a.sayRunError(ctx, err)
		a.sayLosses(stats)
		a.sayUnsaved(ctx, err, unsaved)
	}
	if o.stats && ran {
		a.showStats(stats)
	}
	if p, ok := rt.Profile(); ok && o.profile {
		a.showProfile(p)
	}
	if ran {
		a.showAdvice(o)
	}
	return status(codeOf(ctx, err, true))
}

// sayRunError reports why a run ended early.
func (a *app) sayRunError(ctx context.Context, err error) {
	switch code := codeOf(ctx, err, true); {
	case code == exitPipe:
		return // there is no listener
	case code == exitInt || code == exitTerm:
		if a.json == nil {
			return // said when the signal came
		}
		a.sayError(context.Cause(ctx))
	default:
		a.say(err)
	}
}

// sayLosses counts the tasks that did not do their work where several failed: what was
// reported are the first of them, with those that each took along.
func (a *app) sayLosses(st lang.Stats) {
	if st.Failed < 2 || a.flags.quiet || a.json != nil {
		return
	}
	fmt.Fprintf(a.con.err, "starpush: %s failed, %d cancelled, %d done\n", counted(st.Failed, "task"), st.Cancelled, st.Done)
}

// sayCancelling acknowledges the first signal.
func (a *app) sayCancelling(e *signalError) {
	if a.json == nil {
		fmt.Fprintf(a.con.err, "starpush: %v; waiting for running kernels, once more ends at once\n", e)
	}
}

// exitNow ends the process after a second signal.
func (a *app) exitNow(code int) {
	a.con.erase()
	if a.restore != nil {
		a.restore()
	}
	a.exit(code)
}

// --watch: run, check or test again whenever a script that was read changes.

// watchEvery is the time between two looks at files. A file is read when it has not
// changed for as long, as editors write in several steps.
const watchEvery = 200 * time.Millisecond

// readFiles are the files that a command has read, as they were then. The zero value
// notes nothing; it is safe for concurrent use.
type readFiles struct {
	mu struct {
		sync.Mutex
		seen map[string]stamp // nil: files are not watched
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

// starpush bench: how long a script takes, over several runs.

// maxRuns bounds --runs and --warmup: each run leaves a number in memory.
const maxRuns = 1_000_000

func benchCommand(a *app) *cobra.Command {
	var o runFlags
	runs, warm := int64(10), int64(1)
	c := &cobra.Command{
		Use:   "bench FILE",
		Short: "Run a script several times and show how long it takes",
		Long: `Runs a script again and again on one runtime and shows the least, median, mean
and largest time, from the first statement until all tasks have ended and their
data is released. Output of the script is dropped. The first runs, which fill
caches and memory, do not count.`,
		Example: "  starpush bench cholesky.spu -p n=4096 --runs 20",
		Args:    arity(1, 1, "one script, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.bench(cmd.Context(), &o, args[0], int(runs), int(warm))
		},
		ValidArgsFunction: scriptFiles,
	}
	o.registerMachine(a, c)
	c.Flags().StringArrayVar(&o.data, "data", nil, "data of an extern from a file, `NAME=FILE`; may be repeated")
	registerTimeout(c.Flags(), &o.timeout, "stop a run after this wall `TIME`, such as 90s or 10m")
	c.Flags().Var(&numberFlag{p: &runs, lo: 1, hi: maxRuns}, "runs", "number `N` of runs that count")
	c.Flags().Var(&numberFlag{p: &warm, lo: 0, hi: maxRuns}, "warmup", "number `N` of runs before these")
	return c
}

// bench times a script.
func (a *app) bench(ctx context.Context, o *runFlags, name string, runs, warm int) error {
	if err := a.check(o); err != nil {
		return err
	}
	within, cancel := reading(ctx, o.timeout)
	defer cancel()
	shown, src, err := a.readScript(within, name)
	if err != nil {
		return err
	}
	comp, err := a.compiler(lang.WarningSet{})
	if err != nil {
		return err
	}
	ctx, stop := withSignals(ctx, a.sayCancelling, a.exitNow)
	defer stop()
	within, cancel = reading(ctx, o.timeout)
	defer cancel()
	prog, diags := comp.Compile(within, shown, src)
	if prog == nil {
		a.report(diags)
		return status(codeOf(within, diags, false))
	}
	opts, err := paramOptions(prog, o.params)
	if err != nil {
		return a.refuse(err)
	}
	bound, err := a.bindData(within, prog, o.data, false)
	if err != nil {
		return a.refuse(err)
	}
	rt, err := a.runtime(o)
	if err != nil {
		return err
	}
	watch := &watcher{}
	opts = append(append(opts, bound...), lang.WithCheckpoints(checkpointFolder), lang.Stdout(io.Discard), lang.Observe(watch.set))
	if o.timeout > 0 {
		opts = append(opts, lang.WithLimits(lang.Limits{Timeout: o.timeout}))
	}
	var times []time.Duration
	for k := 0; k < warm+runs && err == nil; k++ {
		began := time.Now()
		var inst *lang.Instance
		if inst, err = prog.Run(ctx, rt, opts...); err == nil {
			err = inst.Close()
		}
		if k >= warm {
			times = append(times, time.Since(began))
		}
	}
	stats, _ := watch.stats()
	a.tasks = ended(stats)
	machine := machineLine(rt)
	code := codeOf(ctx, err, true)
	if err != nil {
		a.sayRunError(ctx, err)
	} else {
		a.sayBench(shown, machine, warm, times)
	}
	return a.endRuntime(rt, o, status(code))
}

// sayBench shows how long the runs took.
func (a *app) sayBench(file, machine string, warm int, runs []time.Duration) {
	t := repl.TimesOf(runs)
	if a.json != nil {
		var seconds []float64
		for _, d := range runs {
			seconds = append(seconds, d.Seconds())
		}
		a.json.line(struct {
			T         string    `json:"t"`
			File      string    `json:"file"`
			Warmup    int       `json:"warmup"`
			Tasks     int64     `json:"tasks"`
			Seconds   []float64 `json:"seconds"`
			Min       float64   `json:"min"`
			Median    float64   `json:"median"`
			Mean      float64   `json:"mean"`
			Deviation float64   `json:"deviation"`
			Max       float64   `json:"max"`
		}{"bench", file, warm, a.tasks, seconds, t.Min.Seconds(), t.Median.Seconds(), t.Mean.Seconds(), t.Deviation.Seconds(), t.Max.Seconds()})
		return
	}
	fmt.Fprintf(a.con.out, "%s: %s after %d that do not count, %s\n%v\n", file, counted(len(runs), "run"), warm, machine, t)
	if a.tasks > 0 {
		fmt.Fprintf(a.con.out, "%s a run, %s for each\n", counted(a.tasks, "task"), durationText(t.Median/time.Duration(a.tasks)))
	}
}
