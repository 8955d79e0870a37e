package cli

// starpush sim: a script on a machine that need not exist, in virtual time.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/engine/simulate"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
)

// simFlags are those of sim.
type simFlags struct {
	planFlags
	machine       string
	sched         string
	policies      string
	whatIf        []string
	trace, report string
	fields        bool
	validate      bool
}

func simCommand(a *app) *cobra.Command {
	var o simFlags
	names, docs := simulate.Presets()
	var machines strings.Builder
	for i := range names {
		fmt.Fprintf(&machines, "  %-14s %s\n", names[i], docs[i])
	}
	c := &cobra.Command{
		Use:   "sim FILE",
		Short: "Predict a run of a script on a machine, in virtual time",
		Long: `Plans the script (see starpush plan) and simulates its tasks on a machine that need
not exist: the policy is the one of a run, workers, memories and links are modelled. No
kernel runs. Times come from performance models where the machine has measured workers
(see starpush perf), and else from the operations and bytes of the kernels; the report
names those codelets.

Machines are described in YAML files (--fields shows what they may hold), and these have names:

` + machines.String() + `
The assumptions are in docs/simulation.md.`,
		Example: `  starpush sim cholesky.spu -p n=65536 -p nt=32 --machine h200x8
  starpush sim cholesky.spu --machine mine.yaml --policies all
  starpush sim stencil.spu --machine h200x8 --what-if bandwidth=2 --what-if memory=0.5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.fields && len(args) == 0 {
				return nil
			}
			return arity(1, 1, "one script, or - for standard input")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.fields {
				if len(args) > 0 {
					return usagef("--fields shows what files of machines may hold, and simulates nothing; leave out `%s`", args[0])
				}
				a.showFields()
				return nil
			}
			return a.simFile(cmd.Context(), &o, args[0])
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&o.params, "param", "p", nil, "value of a param, `NAME=VALUE`; may be repeated")
	registerPlanData(c, &o.data)
	f.StringVar(&o.perfDir, "perf-dir", "", "`FOLDER` of performance models")
	registerTimeout(f, &o.timeout, "stop after this wall `TIME`, such as 90s or 10m")
	f.StringVar(&o.machine, "machine", "this", "simulate `MACHINE`: a name, or a file that ends in .yaml or .yml")
	f.StringVar(&o.sched, "sched", "", schedUsage())
	f.StringVar(&o.policies, "policies", "", "compare `POLICIES`, separated by blanks, or all")
	f.StringArrayVar(&o.whatIf, "what-if", nil, "simulate the machine with `CHANGES` as well: bandwidth=2, memory=0.5, gpu=3 for three times the speed; may be repeated")
	f.StringVar(&o.trace, "trace", "", "write what runs when to `FILE`, for ui.perfetto.dev")
	f.StringVar(&o.report, "report", "", "write a page about the simulated run to `FILE`")
	f.BoolVar(&o.validate, "validate", false, "measure the script in runs on this machine, predict them, and show how far the prediction is off")
	f.BoolVar(&o.fields, "fields", false, "show the fields of files of machines")
	o.warningFlags.register(c)
	c.ValidArgsFunction = scriptFiles
	return c
}

// showFields writes the table of fields.
func (a *app) showFields() {
	rows := [][]string{{"field", "unit", "default", ""}}
	for _, f := range simulate.Fields() {
		def := f.Default
		if def == "" {
			def = "(needed)"
		}
		rows = append(rows, []string{f.Path, f.Unit, def, f.Doc})
	}
	var b strings.Builder
	writeTextTable(&b, rows)
	io.WriteString(a.con.out, b.String())
}

// simMachine returns the machine that a flag names.
func (a *app) simMachine(name string) (*simulate.Machine, error) {
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".yaml" && ext != ".yml" {
		m, err := simulate.Preset(name)
		if err != nil {
			return nil, usagef("--machine: %v", err)
		}
		return m, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("--machine: cannot read %s: %v", name, cause(err))
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && !fi.Mode().IsRegular() {
		return nil, usagef("--machine: %s is no file", name)
	}
	m, err := simulate.Read(f, name)
	if err != nil {
		return nil, usagef("--machine: %v", err)
	}
	return m, nil
}

// mostUnsteady is how many times the shortest round of a measurement the median one may take on a quiet machine.
const mostUnsteady = 1.5

// unsteadyText warns of a machine that was measured beside other work; "": it was not.
func unsteadyText(m *simulate.Machine) string {
	if m.Unsteady <= mostUnsteady {
		return ""
	}
	return fmt.Sprintf("rounds of the measurement of this machine take up to %.1f times as long as the shortest, as with other work beside it; end that work and simulate again, as times may be far off", m.Unsteady)
}

// simPolicies returns the policies that flags name.
func (o *simFlags) simPolicies() ([]string, error) {
	switch {
	case o.policies == "":
		if err := checkPolicy(o.sched); err != nil {
			return nil, err
		}
		return []string{o.sched}, nil
	case o.sched != "":
		return nil, usagef("--sched and --policies exclude each other")
	case o.policies == "all":
		return sched.Names(), nil
	}
	all := strings.Fields(o.policies)
	for _, p := range all {
		if _, err := sched.Parse(p); err != nil {
			if meant := blanksBetween(o.policies); meant != o.policies {
				return nil, usagef("--policies: several policies are separated by blanks; write --policies '%s'", meant)
			}
			return nil, usagef("--policies: %v", err)
		}
	}
	if len(all) == 0 {
		return nil, usagef("--policies has an empty value: give it names of policies, or all")
	}
	return all, nil
}

// blanksBetween returns a list of policies with blanks for the commas between them; those
// between options stay.
func blanksBetween(policies string) string {
	parts := strings.Split(policies, ",")
	text := parts[0]
	for _, p := range parts[1:] {
		name, _, _ := strings.Cut(strings.TrimSpace(p), ":")
		if slices.Contains(sched.Names(), name) {
			text += " " + strings.TrimSpace(p)
		} else {
			text += "," + p
		}
	}
	return text
}

// simFile simulates a script.
func (a *app) simFile(ctx context.Context, o *simFlags, name string) error {
	policies, err := o.simPolicies()
	if err != nil {
		return err
	}
	if err := checkOutputs(name, output{"--trace", o.trace}, output{"--report", o.report}); err != nil {
		return err
	}
	base, err := a.simMachine(o.machine)
	if err != nil {
		return err
	}
	if text := unsteadyText(base); text != "" {
		fmt.Fprintln(a.con.err, "starpush: "+text)
	}
	machines := []*simulate.Machine{base}
	for _, text := range o.whatIf {
		m, err := base.With(text)
		if err != nil {
			return usagef("--what-if: %v", err)
		}
		machines = append(machines, m)
	}
	if (o.trace != "" || o.report != "") && len(policies)*len(machines) > 1 {
		return usagef("--trace and --report show one simulation; leave out --policies and --what-if")
	}
	o.target = base
	if o.validate {
		if o.machine != "this" || len(policies)*len(machines) > 1 {
			return usagef("--validate compares runs on this machine with one simulation of it; leave out --machine, --what-if and --policies")
		}
		return a.validateFile(ctx, o, name, policies[0])
	}
	return a.planFile(ctx, &o.planFlags, name, func(ctx context.Context, p *lang.Plan) error {
		return a.simPlan(ctx, o, name, p, machines, policies)
	}, false, false)
}

// simPlan simulates a plan, on each machine and with each policy.
func (a *app) simPlan(ctx context.Context, o *simFlags, name string, p *lang.Plan, machines []*simulate.Machine, policies []string) error {
	prog, err := simulate.NewProgram(ctx, p.Graph)
	var all []*simulate.Result
	for _, m := range machines {
		for _, policy := range policies {
			if err != nil {
				break
			}
			var r *simulate.Result
			if r, err = simulate.Run(ctx, prog, m, simulate.Options{Policy: policy, Trace: o.trace != "" || o.report != ""}); err == nil {
				all = append(all, r)
			} else {
				err = fmt.Errorf("on %s: %w", m.Name, err)
			}
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			a.sayRunError(ctx, err)
			return status(codeOf(ctx, context.Cause(ctx), false))
		}
		return &exitError{code: exitFailed, err: err}
	}
	if a.json != nil {
		for _, r := range all {
			a.json.line(jsonSimulation(p, r))
		}
	} else {
		text := simText(p, all[0])
		if len(all) > 1 {
			text = simTable(p, all)
		}
		io.WriteString(a.con.out, text)
	}
	if o.trace == "" && o.report == "" {
		return nil
	}
	run := all[0].Trace()
	for _, w := range []struct {
		file string
		to   func(io.Writer) error
	}{
		{o.trace, func(w io.Writer) error { return trace.WriteChrome(w, run) }},
		{o.report, func(w io.Writer) error { return trace.WriteReport(w, run, sources(run, name, nil)) }},
	} {
		if w.file == "" {
			continue
		}
		var b bytes.Buffer
		if err := w.to(&b); err != nil {
			return &exitError{code: exitFailed, err: fmt.Errorf("writing %s: %w", w.file, err)}
		}
		if err := a.writeOutput(ctx, w.file, b.Bytes(), all[0].Tasks); err != nil {
			return err
		}
	}
	return nil
}

// most is how many rows of workers, memories and links are shown one by one.
const most = 24

// simText is one simulation.
func simText(p *lang.Plan, r *simulate.Result) string {
	var b strings.Builder
	policy := r.Policy
	if policy == "" {
		policy = sched.Default
	}
	show := secondsOf(r)
	fmt.Fprintf(&b, "%s on %s with %s: %s, %s tasks/s\n", counted(r.Tasks, "task"), r.Machine, policy, show(r.Seconds), tasksEach(r))
	bound := r.Bound()
	fmt.Fprintf(&b, "lower bound: %s (critical path %s, work shared among all workers %s); ", show(bound.Seconds), show(bound.Path), show(bound.Area))
	if meaningless(r.Seconds, bound.Seconds) {
		fmt.Fprintf(&b, "it leaves out most of the time: %s\n", leftOut(r))
	} else {
		fmt.Fprintf(&b, "regret %s\n", regretText(r.Seconds, bound.Seconds, len(r.Estimated) > 0))
	}
	simNotes(&b, p, r)
	share := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x/max(r.Seconds, 1e-12)) }
	rows := [][]string{{"worker", "tasks", "busy", "", "waiting for data", "", "idle", ""}}
	for _, w := range groupWorkers(r) {
		n := float64(w.n)
		rows = append(rows, []string{w.Name, fmt.Sprint(w.Tasks), seconds(w.Busy / n), share(w.Busy / n), seconds(w.Waiting / n), share(w.Waiting / n), seconds(w.Idle / n), share(w.Idle / n)})
	}
	writeTable(&b, rows)
	rows = [][]string{{"memory", "most in use", "of", "evictions", "evicted", "arrived"}}
	for i, n := range r.Nodes {
		if i >= most {
			rows = append(rows, []string{fmt.Sprintf("and %d more", len(r.Nodes)-most), "", "", "", "", ""})
			break
		}
		of := "no bound"
		if n.Capacity > 0 {
			of = bytesText(n.Capacity)
		}
		rows = append(rows, []string{n.Name, bytesText(n.Peak), of, fmt.Sprint(n.Evictions), bytesText(n.Evicted), bytesText(n.Arrived)})
	}
	writeTable(&b, rows)
	rows = [][]string{{"link", "copies", "size", "busy", ""}}
	for i, l := range r.Links {
		if i >= most {
			rows = append(rows, []string{fmt.Sprintf("and %d more", len(r.Links)-most), "", "", "", ""})
			break
		}
		rows = append(rows, []string{r.Nodes[l.From].Name + " to " + r.Nodes[l.To].Name, fmt.Sprint(l.Copies), bytesText(l.Bytes), seconds(l.Busy), share(l.Busy)})
	}
	writeTable(&b, rows)
	if r.Messages > 0 {
		fmt.Fprintf(&b, "messages between computers: %d, %s\n", r.Messages, bytesText(r.MessageBytes))
	}
	return b.String()
}

// simNotes says what the figures rest on.
func simNotes(b *strings.Builder, p *lang.Plan, r *simulate.Result) {
	if !p.Graph.Exact() {
		fmt.Fprintf(b, "other runs may have other tasks: %s; starpush plan says where\n", counted(len(p.Graph.Notes), "place"))
	}
	if len(r.Estimated) > 0 {
		var names []string
		for i, e := range r.Estimated {
			if i == 8 {
				names = append(names, fmt.Sprintf("and %d more", len(r.Estimated)-i))
				break
			}
			names = append(names, fmt.Sprintf("%s (%s)", e.Codelet, counted(e.Tasks, "task")))
		}
		fmt.Fprintf(b, "estimated by operations and bytes, not measured: %s\n", strings.Join(names, ", "))
	}
}

// workerRow is workers of one name.
type workerRow struct {
	simulate.WorkerResult
	n int
}

// groupWorkers adds up workers where there are too many to show: those of a kind.
func groupWorkers(r *simulate.Result) (all []workerRow) {
	for _, w := range r.Workers {
		if len(r.Workers) > most {
			w.Name, _, _ = strings.Cut(strings.TrimRight(strings.SplitN(w.Name, " of ", 2)[0], "0123456789."), " ")
		}
		i := slices.IndexFunc(all, func(x workerRow) bool { return x.Name == w.Name })
		if i < 0 {
			all = append(all, workerRow{w, 1})
			continue
		}
		x := &all[i]
		x.n++
		x.Tasks, x.Busy, x.Waiting, x.Idle = x.Tasks+w.Tasks, x.Busy+w.Busy, x.Waiting+w.Waiting, x.Idle+w.Idle
	}
	for i := range all {
		if all[i].n > 1 {
			all[i].Name = fmt.Sprintf("%s (mean of %d)", all[i].Name, all[i].n)
		}
	}
	return all
}

// mostRegret is the regret in percent above which a bound says nothing about a time: the bound leaves out what takes most of it.
const mostRegret = 300

// meaningless reports whether a bound says nothing about a time.
func meaningless(have, bound float64) bool {
	return bound > 0 && have > bound*(1+mostRegret/100.0)
}

// regretText shows how much longer a time is than its bound; rough: the times are estimates.
func regretText(have, bound float64, rough bool) string {
	switch {
	case bound <= 0:
		return "not known"
	case meaningless(have, bound):
		return fmt.Sprintf("above %d %%", mostRegret)
	case rough:
		return fmt.Sprintf("%.0f %%", 100*(have/bound-1))
	}
	return fmt.Sprintf("%.1f %%", 100*(have/bound-1))
}

// leftOut says what takes the time that is not in the bound.
func leftOut(r *simulate.Result) string {
	var waiting float64
	for _, w := range r.Workers {
		waiting += w.Waiting
	}
	waiting /= max(float64(len(r.Workers))*r.Seconds, 1e-12)
	switch script := r.Script / max(r.Seconds, 1e-12); {
	case script >= 0.5 && script >= waiting:
		return fmt.Sprintf("the script submits tasks, wakes workers and reads values for %.0f %% of it", 100*min(script, 1))
	case waiting >= 0.5:
		return fmt.Sprintf("workers wait for data for %.0f %% of it", 100*waiting)
	case r.Messages > 0:
		return "workers wait for messages, for data, to be woken, and for the script"
	}
	return "workers wait for data, to be woken, and for the script"
}

// secondsOf returns the function that shows times of a simulation: with two digits if they rest on estimates.
func secondsOf(r *simulate.Result) func(float64) string {
	if len(r.Estimated) == 0 {
		return seconds
	}
	return func(s float64) string {
		if !(s >= 1e-9) {
			return seconds(s)
		}
		return "about " + twoDigits(durationText(time.Duration(min(twoOf(s), math.MaxInt64/1e9)*1e9)))
	}
}

// twoOf rounds x to two digits.
func twoOf(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 1, 64), 64)
	return y
}

// twoDigits leaves out a third digit, which is 0, behind a point.
func twoDigits(text string) string {
	number, unit, _ := strings.Cut(text, " ")
	if strings.Contains(number, ".") && len(number) > len("1.2") && strings.HasSuffix(number, "0") {
		number = strings.TrimSuffix(strings.TrimSuffix(number, "0"), ".")
	}
	return number + " " + unit
}

// tasksEach shows how many tasks of a simulation there are in a second.
func tasksEach(r *simulate.Result) string {
	rate := float64(r.Tasks) / max(r.Seconds, 1e-12)
	if len(r.Estimated) > 0 {
		rate = twoOf(rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// simTable compares simulations.
func simTable(p *lang.Plan, all []*simulate.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", counted(all[0].Tasks, "task"))
	simNotes(&b, p, all[0])
	rows := [][]string{{"machine", "policy", "time", "of the first", "lower bound", "regret", "copied", "evictions"}}
	bounds := map[string]simulate.Bound{}
	for _, r := range all {
		bound, ok := bounds[r.Machine]
		if !ok {
			bound = r.Bound()
			bounds[r.Machine] = bound
		}
		var copied, evictions int64
		for _, l := range r.Links {
			copied += l.Bytes
		}
		for _, n := range r.Nodes {
			evictions += n.Evictions
		}
		policy := r.Policy
		if policy == "" {
			policy = sched.Default
		}
		rows = append(rows, []string{r.Machine, policy, seconds(r.Seconds), fmt.Sprintf("%.1f %%", 100*r.Seconds/max(all[0].Seconds, 1e-12)), seconds(bound.Seconds), regretText(r.Seconds, bound.Seconds, len(r.Estimated) > 0), bytesText(copied), fmt.Sprint(evictions)})
	}
	writeTable(&b, rows)
	return b.String()
}

// jsonSim is the line of a simulation.
type jsonSim struct {
	T            string           `json:"t"`
	Machine      string           `json:"machine"`
	Policy       string           `json:"policy"`
	Exact        bool             `json:"exact"`
	Tasks        int              `json:"tasks"`
	Seconds      float64          `json:"seconds"`
	Path         float64          `json:"bound_path_seconds"`
	Area         float64          `json:"bound_area_seconds"`
	Estimated    []string         `json:"estimated"`
	Workers      []jsonSimWorker  `json:"workers"`
	Nodes        []jsonSimNode    `json:"nodes"`
	Buses        []jsonBusProfile `json:"buses"`
	Messages     int64            `json:"messages"`
	MessageBytes int64            `json:"message_bytes"`
}

type jsonSimWorker struct {
	Name    string  `json:"name"`
	Tasks   int64   `json:"tasks"`
	Busy    float64 `json:"busy_seconds"`
	Waiting float64 `json:"waiting_seconds"`
	Idle    float64 `json:"idle_seconds"`
}

type jsonSimNode struct {
	Name      string `json:"name"`
	PeakBytes int64  `json:"peak_bytes"`
	Capacity  int64  `json:"capacity_bytes"`
	Evictions int64  `json:"evictions"`
	Evicted   int64  `json:"evicted_bytes"`
	Arrived   int64  `json:"arrived_bytes"`
}

func jsonSimulation(p *lang.Plan, r *simulate.Result) any {
	b := r.Bound()
	j := jsonSim{T: "simulation", Machine: r.Machine, Policy: r.Policy, Exact: p.Graph.Exact(), Tasks: r.Tasks, Seconds: r.Seconds, Path: b.Path, Area: b.Area, Estimated: []string{},
		Workers: []jsonSimWorker{}, Nodes: []jsonSimNode{}, Buses: []jsonBusProfile{}, Messages: r.Messages, MessageBytes: r.MessageBytes}
	if j.Policy == "" {
		j.Policy = sched.Default
	}
	for _, e := range r.Estimated {
		j.Estimated = append(j.Estimated, e.Codelet)
	}
	for _, w := range r.Workers {
		j.Workers = append(j.Workers, jsonSimWorker{w.Name, w.Tasks, w.Busy, w.Waiting, w.Idle})
	}
	for _, n := range r.Nodes {
		j.Nodes = append(j.Nodes, jsonSimNode{n.Name, n.Peak, n.Capacity, n.Evictions, n.Evicted, n.Arrived})
	}
	for _, l := range r.Links {
		j.Buses = append(j.Buses, jsonBusProfile{From: r.Nodes[l.From].Name, To: r.Nodes[l.To].Name, Copies: l.Copies, Bytes: l.Bytes})
	}
	return j
}
