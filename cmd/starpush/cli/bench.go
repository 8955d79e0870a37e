package cli

// starpush bench: how long a script takes, over several runs.

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/lang"
)

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
data is released. What the script prints is dropped. The first runs, which fill
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
	opts = append(append(opts, bound...), lang.Stdout(io.Discard), lang.Observe(watch.set))
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
