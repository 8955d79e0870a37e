package cli

// starpush sim --validate: a prediction beside runs on this machine.

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/simulate"
	"github.com/starpush/starpush/lang"
)

// validations is how many runs are measured for --validate. Before each of them are two that add to the performance models, so that codelets
// with one task have enough measurements, and before all two that warm up: they compile kernels, and get the memory that the others use again.
const validations, calibrations = 5, 2

// ranScript is what was measured of a run.
type ranScript struct {
	seconds  float64 // from the first statement of the script to its end
	codelets []engine.CodeletStat
}

// validateFile runs a script a few times, with new performance models unless a folder is given, and shows what a simulation predicts.
func (a *app) validateFile(ctx context.Context, o *simFlags, name, policy string) error {
	if name == "-" {
		return usagef("--validate runs the script several times, and standard input can be read once; give it a file")
	}
	if err := a.checkPerfDir(o.perfDir, 1); err != nil {
		return err
	}
	if o.perfDir == "" {
		dir, err := os.MkdirTemp("", "starpush-models")
		if err != nil {
			return &exitError{code: exitFailed, err: fmt.Errorf("no folder for performance models: %w; name one with --perf-dir", err)}
		}
		defer os.RemoveAll(dir)
		o.perfDir = dir
	}
	first, runs, err := a.measureRuns(ctx, o, name, policy)
	if err != nil {
		return err
	}
	return a.planFile(ctx, &o.planFlags, name, func(ctx context.Context, p *lang.Plan) error {
		prog, err := simulate.NewProgram(ctx, p.Graph)
		var r *simulate.Result
		if err == nil {
			r, err = simulate.Run(ctx, prog, o.target, simulate.Options{Policy: policy})
		}
		if err != nil {
			return &exitError{code: exitFailed, err: err}
		}
		a.showValidation(p, validationOf(p, r, first, runs), r)
		return nil
	}, false, false)
}

// jsonValidation is the line of --validate.
type jsonValidation struct {
	T             string              `json:"t"`
	Tasks         int                 `json:"tasks"`
	Predicted     float64             `json:"predicted_seconds"`
	Measured      float64             `json:"measured_seconds"` // the median of Runs
	Runs          []float64           `json:"runs_seconds"`     // ascending
	First         float64             `json:"first_seconds"`    // of the run that warms up, which is not in Runs
	Off           float64             `json:"off_percent"`
	PredictedBusy float64             `json:"predicted_busy_percent"` // of the time of the workers
	MeasuredBusy  float64             `json:"measured_busy_percent"`
	Codelets      []validationCodelet `json:"codelets"`
	Exact         bool                `json:"exact"`
}

// validationCodelet is how long the kernels of a codelet take, in the mean.
type validationCodelet struct {
	Name      string  `json:"name"`
	Tasks     int64   `json:"tasks"`
	Predicted float64 `json:"predicted_seconds"`
	Measured  float64 `json:"measured_seconds"` // the median of the runs
	Off       float64 `json:"off_percent"`
}

// off is how far a prediction is from a measurement, in percent of that.
func off(predicted, measured float64) float64 { return 100 * (predicted/max(measured, 1e-12) - 1) }

// median returns the median of some numbers, which it sorts.
func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// validationOf compares a simulation with runs.
func validationOf(p *lang.Plan, r *simulate.Result, first ranScript, runs []ranScript) *jsonValidation {
	v := &jsonValidation{T: "validation", Tasks: r.Tasks, Predicted: r.Seconds, First: first.seconds, Codelets: []validationCodelet{}, Exact: p.Graph.Exact()}
	var busy []float64
	means := map[string][]float64{}
	for _, k := range runs {
		v.Runs = append(v.Runs, k.seconds)
		sum := 0.0
		for _, c := range k.codelets {
			sum += c.Time.Seconds()
			means[c.Name] = append(means[c.Name], c.Time.Seconds()/float64(max(c.Tasks, 1)))
		}
		busy = append(busy, 100*sum/max(float64(len(r.Workers))*k.seconds, 1e-12))
	}
	v.Measured, v.MeasuredBusy = median(v.Runs), median(busy)
	v.Off = off(v.Predicted, v.Measured)
	at := map[string]int{}
	sum := 0.0
	for i := range p.Graph.Tasks {
		t := &p.Graph.Tasks[i]
		_, began, ended := r.TaskTime(i)
		if t.Internal != "" {
			continue
		}
		sum += ended - began
		k, ok := at[t.Codelet]
		if !ok {
			k = len(v.Codelets)
			at[t.Codelet] = k
			v.Codelets = append(v.Codelets, validationCodelet{Name: t.Codelet})
		}
		v.Codelets[k].Tasks++
		v.Codelets[k].Predicted += ended - began
	}
	v.PredictedBusy = 100 * sum / max(float64(len(r.Workers))*v.Predicted, 1e-12)
	for i := range v.Codelets {
		c := &v.Codelets[i]
		c.Predicted /= float64(c.Tasks)
		if all := means[c.Name]; len(all) > 0 {
			c.Measured = median(all)
		}
		c.Off = off(c.Predicted, c.Measured)
	}
	return v
}

// showValidation writes a comparison.
func (a *app) showValidation(p *lang.Plan, v *jsonValidation, r *simulate.Result) {
	if a.json != nil {
		a.json.line(v)
		return
	}
	var b strings.Builder
	simNotes(&b, p, r)
	fmt.Fprintf(&b, "predicted %s, measured %s (median of %d runs, %s to %s): %+.1f %%\n", seconds(v.Predicted), seconds(v.Measured), len(v.Runs), seconds(v.Runs[0]), seconds(v.Runs[len(v.Runs)-1]), v.Off)
	fmt.Fprintf(&b, "workers in kernels: predicted %.1f %%, measured %.1f %%\n", v.PredictedBusy, v.MeasuredBusy)
	fmt.Fprintf(&b, "a first run took %s: it compiled kernels, and got the memory that the others used again\n", seconds(v.First))
	rows := [][]string{{"codelet", "tasks", "predicted", "measured", ""}}
	for _, c := range v.Codelets {
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Tasks), seconds(c.Predicted), seconds(c.Measured), fmt.Sprintf("%+.1f %%", c.Off)})
	}
	writeTable(&b, rows)
	io.WriteString(a.con.out, b.String())
}

// keepMemory makes the process keep the memory that it has, until the result is called: collections that come after a number of bytes give it back
// meanwhile. Garbage of a run is collected at twice what the process has.
func keepMemory() (end func()) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, 2*int64(m.Sys)))
	percent := debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// measureRuns runs a script: once to warm up, and then in turn to add to the performance models, and to be measured.
func (a *app) measureRuns(ctx context.Context, o *simFlags, name, policy string) (first ranScript, all []ranScript, err error) {
	within, cancel := reading(ctx, o.timeout)
	defer cancel()
	shown, src, err := a.readScript(within, name)
	if err != nil {
		return first, nil, err
	}
	ctx, stop := withSignals(ctx, a.sayCancelling, a.exitNow)
	defer stop()
	quiet := o.warningFlags
	prog, opts, err := a.compiled(ctx, shown, src, &quiet, o.params, o.data, false)
	if err != nil {
		return first, nil, err
	}
	run := func(calibrate int) (ran ranScript, err error) {
		o.values = &lang.Values{}
		runtime.GC() // the memory of the run before is used again: how long the system takes to find some differs from time to time
		rt, err := engine.New(engine.Options{Workers: o.target.CPU.Workers, Policy: policy, Calibrate: calibrate, PerfDir: o.perfDir})
		if err != nil {
			return ran, usagef("%v", err)
		}
		var began time.Time
		inst, err := prog.Run(ctx, rt, append(slices.Clone(opts), lang.Stdout(io.Discard), lang.Observe(func(*engine.Job) { began = time.Now() }), lang.ReadValues(o.values),
			lang.WithLimits(lang.Limits{Timeout: o.timeout}))...)
		ran.seconds = time.Since(began).Seconds()
		if err == nil {
			ran.codelets = inst.Stats().Codelets
			err = inst.Close()
		}
		if closeErr := rt.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			a.sayRunError(ctx, err)
			return ran, status(codeOf(ctx, err, true))
		}
		return ran, nil
	}
	if first, err = run(0); err != nil {
		return first, nil, err
	}
	defer keepMemory()()
	if _, err = run(0); err != nil { // the system may have taken back what the first run had
		return first, nil, err
	}
	o.target.ClearMemory()
	for range validations {
		for range calibrations {
			if _, err = run(1); err != nil {
				return first, nil, err
			}
		}
		ran, err := run(0)
		if err != nil {
			return first, nil, err
		}
		all = append(all, ran)
	}
	return first, all, nil
}
