package cli

// starpush plan and graph.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/simulate"
	"github.com/starpush/starpush/lang"
)

// starpush plan: what a script would do, without running it.

// planFlags are those of plan and graph.
type planFlags struct {
	params, data []string
	cpus, ranks  int64
	perfDir      string
	timeout      time.Duration
	warningFlags
	deviceFlags

	target *simulate.Machine // of a simulation; nil: the machine of the flags
	values *lang.Values      // that a run has read; nil: none are known
}

func (o *planFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&o.params, "param", "p", nil, "value of a param, `NAME=VALUE`; may be repeated")
	registerPlanData(c, &o.data)
	registerCPUs(f, &o.cpus)
	f.StringVar(&o.perfDir, "perf-dir", "", "`FOLDER` of performance models")
	registerTimeout(f, &o.timeout, "stop after this wall `TIME`, such as 90s or 10m")
	o.deviceFlags.register(c, "none")
	o.warningFlags.register(c)
	c.ValidArgsFunction = scriptFiles
}

// registerPlanData adds --data of commands that need sizes only.
func registerPlanData(c *cobra.Command, data *[]string) {
	c.Flags().StringArrayVar(data, "data", nil, "data of an extern, `NAME=FILE`, or its size, NAME=1000 or NAME=100x50; of a file that the script loads and that is not there, FILE=SIZE; may be repeated")
}

func planCommand(a *app) *cobra.Command {
	var o planFlags
	var run, yes bool
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show what a script would do, without running it",
		Long: `Runs the script without kernels: every insert is checked with real sizes, and the
tasks, their critical path, what must be copied and how much memory is needed are
shown. Times come from performance models (see starpush perf). Values read from
data are unknown; where such a value decides, both ways are looked at, and the
plan says from where on it is one of several. With --ranks it shows which tasks
each rank of a run would run, and the messages between them, in place of times,
copies and memory, which are those of one. Prints go to standard error; text
that a run may print otherwise, or not at all, begins with "?".`,
		Example: `  starpush plan cholesky.spu -p nt=32
  starpush plan cg.spu --machine sim:cpu2gpu1
  starpush plan cholesky.spu --ranks 4
  starpush plan gemm.spu --run`,
		Args: arity(1, 1, "one script, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.ranks > 1 && (run || yes) {
				return usagef("--run and --yes run the script on one rank; leave out --ranks, or use starpush run --ranks %d", o.ranks)
			}
			return a.planFile(cmd.Context(), &o, args[0], func(_ context.Context, p *lang.Plan) error {
				a.showPlan(p, &o)
				return nil
			}, run || yes, yes)
		},
	}
	o.register(c)
	registerRanks(c, &o.ranks, "plan a run on `N` ranks: tasks and messages of each")
	c.Flags().BoolVar(&run, "run", false, "ask, then run the script")
	c.Flags().BoolVar(&yes, "yes", false, "run the script without asking")
	return c
}

// checkRanks refuses what a plan for several ranks does not look at: it has no times and
// copies, which depend on devices and memories.
func (o *planFlags) checkRanks() error {
	if o.ranks <= 1 {
		return nil
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"--gpus", o.gpus != "none"}, {"--machine", o.machine != ""}, {"--numa", o.numa}, {"--bind", o.bind != ""}} {
		if f.given {
			return usagef("--ranks %d plans tasks and messages, which do not depend on devices and memories: leave out %s, or leave out --ranks for the times and copies of one rank", o.ranks, f.name)
		}
	}
	return nil
}

// planFile plans a script, has the plan shown, and runs it if that is wanted.
func (a *app) planFile(ctx context.Context, o *planFlags, name string, show func(context.Context, *lang.Plan) error, run, yes bool) error {
	if err := o.deviceFlags.check(false); err != nil {
		return err
	}
	if err := o.checkRanks(); err != nil {
		return err
	}
	if err := a.checkPerfDir(o.perfDir, 0); err != nil {
		return err
	}
	within, cancel := reading(ctx, o.timeout)
	defer cancel()
	shown, src, err := a.readScript(within, name)
	if err != nil {
		return err
	}
	ctx, stop := withSignals(ctx, a.sayCancelling, a.exitNow)
	defer stop()
	within, cancel = reading(ctx, o.timeout)
	defer cancel()
	prog, opts, err := a.compiled(within, shown, src, &o.warningFlags, o.params, o.data, !run)
	if err != nil {
		return err
	}
	m, devices, err := a.machine(o)
	if err != nil {
		return err
	}
	p, err := prog.Plan(ctx, m, append(opts, lang.Stdout(a.con.err), lang.ReadValues(o.values), lang.PlanRanks(int(o.ranks)), lang.WithLimits(lang.Limits{Timeout: o.timeout}))...)
	if closeErr := devices.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		a.sayRunError(ctx, sizesInstead(err))
		return status(codeOf(ctx, err, false))
	}
	warnings := p.Warnings()
	a.report(warnings)
	if err := show(ctx, p); err != nil {
		return err
	}
	if err := p.Expectations(); err != nil {
		a.say(err)
		return status(exitFailed)
	}
	if err := warnings.Err(); err != nil { // with --deny
		return status(codeOf(ctx, err, false))
	}
	if !run {
		return nil
	}
	if !yes {
		if agreed, err := a.ask(ctx, "run it?"); !agreed || err != nil {
			return err
		}
	}
	r := runFlags{params: o.params, data: o.data, cpus: o.cpus, perfDir: o.perfDir, deviceFlags: o.deviceFlags, timeout: o.timeout, progress: "auto"}
	rt, err := a.runtime(&r)
	if err != nil {
		return err
	}
	err = a.execute(ctx, &r, prog, rt, nil, opts)
	return a.endRuntime(rt, &r, err)
}

// sizesInstead adds to the message about a file that is not there that a plan needs
// its size only.
func sizesInstead(err error) error {
	var d *lang.Diagnostic
	if !errors.As(err, &d) || d.Code != "E0902" || !strings.HasPrefix(d.Message, "cannot load `") {
		return err
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(d.Message, "cannot load `"), "`")
	with := *d
	with.Help = append(slices.Clone(d.Help), fmt.Sprintf("a plan needs its size only: `--data %s=1000`, of a matrix `--data %s=100x50`", name, name))
	return &with
}

// machine is what a plan is for. The devices are the caller's to close.
func (a *app) machine(o *planFlags) (m engine.Machine, set *deviceSet, err error) {
	dir, err := a.perfDir(o.perfDir)
	if err != nil {
		dir = "" // nothing is known
	}
	if o.target != nil {
		m, err := o.target.Planner(dir)
		return m, &deviceSet{devices: m.Devices, cpus: m.Workers}, err
	}
	if set, err = o.deviceFlags.open(o.cpus); err != nil {
		return m, nil, err
	}
	m = engine.Machine{Workers: int(o.cpus), Devices: set.devices, PerfDir: dir}
	if m.Workers == 0 || o.numa {
		m.Workers = set.cpus
	}
	a.devices = set
	m.Bus, _ = a.bus(false) // without one, usual figures do
	a.devices = nil
	return m, set, nil
}

// ask asks on the terminal; anything but y means no. A standard input that is no terminal
// is wrong usage.
func (a *app) ask(ctx context.Context, question string) (agreed bool, err error) {
	if !isTerminal(a.in) {
		return false, usagef("standard input is no terminal to ask on; --yes runs without asking")
	}
	fmt.Fprintf(a.con.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || ctx.Err() != nil {
		return false, nil
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// jsonPlan is the plan line.
type jsonPlan struct {
	T           string            `json:"t"`
	Tasks       int               `json:"tasks"`
	Edges       int               `json:"edges"`
	Exact       bool              `json:"exact"`
	Notes       []jsonPlanNote    `json:"notes,omitempty"`
	Paths       int               `json:"paths"`
	Codelets    []jsonPlanCodelet `json:"codelets"`
	Critical    int               `json:"critical_tasks"`
	Path        *float64          `json:"critical_seconds,omitempty"`
	Parallelism float64           `json:"parallelism"`
	Width       int               `json:"width"`
	Unknown     int               `json:"unknown_times"`
	Seconds     *float64          `json:"seconds,omitempty"`
	Copies      int               `json:"copies"`
	Bytes       int64             `json:"bytes"`
	Moves       []jsonBusProfile  `json:"moves"`
	Peak        map[string]int64  `json:"peak"`
	Ranks       []jsonRank        `json:"ranks,omitempty"` // with them no seconds, copies and peaks are given
	Pairs       []jsonPair        `json:"pairs,omitempty"`
}

type jsonPlanNote struct {
	At   string `json:"at"`
	Text string `json:"text"`
}

type jsonPlanCodelet struct {
	Name    string   `json:"name"`
	Tasks   int      `json:"tasks"`
	Seconds *float64 `json:"seconds,omitempty"`
}

// showPlan writes a plan to standard output.
func (a *app) showPlan(p *lang.Plan, o *planFlags) {
	m, s := p.Measures(), p.Schedule()
	if a.json != nil {
		copies, bytes := s.Moved()
		j := jsonPlan{T: "plan", Tasks: m.Tasks, Edges: m.Edges, Exact: p.Graph.Exact(), Paths: p.Paths, Critical: m.Length, Parallelism: m.Parallelism(),
			Width: m.Width, Unknown: m.Unknown, Copies: copies, Bytes: bytes, Peak: map[string]int64{}, Codelets: []jsonPlanCodelet{}, Moves: []jsonBusProfile{}}
		for _, n := range p.Graph.Notes {
			j.Notes = append(j.Notes, jsonPlanNote{n.At.String(), n.Text})
		}
		for _, c := range m.Codelets {
			x := jsonPlanCodelet{Name: c.Name, Tasks: c.Tasks}
			if c.Unknown == 0 {
				x.Seconds = &c.Seconds
			}
			j.Codelets = append(j.Codelets, x)
		}
		if p.Ranks != nil {
			j.Copies, j.Bytes = 0, 0
			j.Ranks, j.Pairs = jsonRanks(p.Ranks)
			if m.Unknown == 0 {
				j.Path = &m.Path
			}
			a.json.line(j)
			return
		}
		if m.Unknown == 0 {
			j.Path, j.Seconds = &m.Path, &s.Seconds
		}
		for n, b := range s.Peak {
			j.Peak[p.Graph.Nodes[n].Name] = b
		}
		for _, l := range moves(p.Graph, s) {
			j.Moves = append(j.Moves, jsonBusProfile{From: l.from, To: l.to, Copies: int64(l.copies), Bytes: l.bytes})
		}
		a.json.line(j)
		return
	}
	io.WriteString(a.con.out, planText(p, a.begun(o)))
}

// move is what goes over one link.
type move struct {
	from, to string
	copies   int
	bytes    int64
}

func moves(g *graph.Graph, s *graph.Schedule) (all []move) {
	at := map[[2]int]int{}
	for _, t := range s.Transfers {
		k := [2]int{t.From, t.To}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, move{from: g.Nodes[t.From].Name, to: g.Nodes[t.To].Name})
		}
		all[i].copies++
		all[i].bytes += t.Bytes
	}
	return all
}

func seconds(s float64) string {
	return durationText(time.Duration(min(s, math.MaxInt64/1e9) * 1e9))
}

// begun finds codelets that were measured, but not often enough for a size to be known:
// how often the one that was measured most.
func (a *app) begun(o *planFlags) map[string]int64 {
	s, err := a.perfStore(&perfFlags{dir: o.perfDir})
	if err != nil {
		return nil
	}
	n := map[string]int64{}
	files, _ := s.List() // a file that cannot be read tells nothing
	for _, f := range files {
		for _, g := range f.Groups {
			for _, e := range g.Entries {
				if e.N > 0 && e.N < perf.DefaultMinSamples {
					n[f.Codelet] = max(n[f.Codelet], e.N)
				}
			}
		}
	}
	return n
}

// unknownText says how the times that are not known get known.
func unknownText(m *graph.Measures, begun map[string]int64) string {
	for _, c := range m.Codelets {
		if n := begun[c.Name]; c.Unknown > 0 && n > 0 {
			return fmt.Sprintf("a size is known from %d measurements that agree, and `%s` has %d: `starpush run --calibrate 1` adds those of another run", perf.DefaultMinSamples, c.Name, n)
		}
	}
	return "`starpush run --calibrate 1` measures them"
}

// planText is a plan as the command shows it. begun are the codelets that were measured
// too seldom.
func planText(p *lang.Plan, begun map[string]int64) string {
	g, m, s := p.Graph, p.Measures(), p.Schedule()
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", counted(m.Tasks, "task"), counted(m.Edges, "dependency"))
	if g.Exact() {
		b.WriteString("; every run submits these\n")
	} else {
		b.WriteString("; other runs may differ:\n")
	}
	for _, n := range g.Notes {
		fmt.Fprintf(&b, "  from task %d on: %v: %s\n", n.Task+1, n.At, n.Text)
	}
	rows := [][]string{{"codelet", "tasks", "total", "mean"}}
	for _, c := range m.Codelets {
		row := []string{c.Name, fmt.Sprint(c.Tasks), "?", "?"}
		if c.Unknown == 0 {
			row[2], row[3] = seconds(c.Seconds), seconds(c.Seconds/float64(c.Tasks))
		}
		rows = append(rows, row)
	}
	writeTable(&b, rows)
	fmt.Fprintf(&b, "critical path: %s", counted(m.Length, "task"))
	if m.Unknown == 0 && m.Path > 0 {
		fmt.Fprintf(&b, ", %s of %s", seconds(m.Path), seconds(m.Work))
	}
	fmt.Fprintf(&b, "; parallelism %.1f on average, %d at most\n", m.Parallelism(), m.Width)
	if chain := chainText(g, m.Critical); chain != "" {
		fmt.Fprintf(&b, "  %s\n", chain)
	}
	if p.Ranks != nil {
		b.WriteString(ranksText(p.Ranks))
		return b.String()
	}
	switch {
	case m.Tasks == 0:
	case m.Unknown == 0:
		fmt.Fprintf(&b, "expected time: %s on %s\n", seconds(s.Seconds), counted(len(g.Workers), "worker"))
	default:
		fmt.Fprintf(&b, "no times are known for %s; %s\n", counted(m.Unknown, "task"), unknownText(m, begun))
	}
	rows = [][]string{{"memory", "most in use", "of"}}
	for n, peak := range s.Peak {
		of := "?"
		if c := g.Nodes[n].Capacity; c > 0 {
			of = bytesText(c)
		}
		rows = append(rows, []string{g.Nodes[n].Name, bytesText(peak), of})
	}
	writeTable(&b, rows)
	rows = [][]string{{"copies", "number", "size"}}
	for _, l := range moves(g, s) {
		rows = append(rows, []string{l.from + " to " + l.to, fmt.Sprint(l.copies), bytesText(l.bytes)})
	}
	writeTable(&b, rows)
	if len(rows) == 1 && len(g.Nodes) > 1 {
		b.WriteString("nothing is copied\n")
	}
	return b.String()
}

// chainText writes the codelets of a path, repeated ones once: "potrf, trsm, (syrk,
// potrf, trsm) × 14".
func chainText(g *graph.Graph, path []int32) string {
	var parts []string
	for _, i := range path {
		t := &g.Tasks[i]
		part := t.Codelet
		if s := g.SiteOf(t); s.Line > 0 {
			part += fmt.Sprintf(" (line %d)", s.Line)
		}
		parts = append(parts, part)
	}
	const ends = 4
	if len(parts) > 2*ends+1 {
		parts = append(append(parts[:ends:ends], "…"), parts[len(parts)-ends:]...)
	}
	return strings.Join(parts, " → ")
}

// starpush graph: the tasks of a script as a picture.

func graphCommand(a *app) *cobra.Command {
	var o planFlags
	var out, by, format string
	c := &cobra.Command{
		Use:   "graph FILE",
		Short: "Draw the tasks of a script, without running it",
		Long: `Plans the script (see starpush plan) and writes its graph: as dot for Graphviz, as
Mermaid for Markdown, as JSON, or as a picture, SVG. The name of the output says
which; standard output gets dot. Prints of the script go to standard error.

--by task draws each task; when there are more than a person can read, SVG has a
row for each depth with a box for each codelet, and counts rows that repeat.
--by codelet draws each insert statement with what it stands for, --by handle the
data and what is made of what, also where views overlap.`,
		Example: `  starpush graph cholesky.spu -p nt=6 -o cholesky.svg
  starpush graph cg.spu --by codelet -o cg.mmd`,
		Args: arity(1, 1, "one script, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := graphFormat(format, out)
			if err != nil {
				return err
			}
			if !slices.Contains(graph.Units, graph.Unit(by)) {
				return usagef("--by is task, codelet or handle, not `%s`", by)
			}
			if err := checkOutputs(args[0], output{"-o", out}); err != nil {
				return err
			}
			return a.planFile(cmd.Context(), &o, args[0], func(ctx context.Context, p *lang.Plan) error {
				return a.writeGraph(ctx, p, f, graph.Unit(by), out)
			}, false, false)
		},
	}
	o.register(c)
	f := c.Flags()
	f.StringVarP(&out, "output", "o", "", "write to `FILE`; its name chooses the format: .dot, .mmd, .json, .svg")
	f.StringVar(&by, "by", "task", "what one node stands for, `UNIT`: task, codelet or handle")
	f.StringVar(&format, "format", "", "format, whatever the name of the output: dot, mermaid, json or svg")
	for name, values := range map[string][]cobra.Completion{"by": {"task", "codelet", "handle"}, "format": {"dot", "mermaid", "json", "svg"}} {
		if err := c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // a flag of this list is not registered above
		}
	}
	return c
}

// graphFormat chooses the format.
func graphFormat(format, out string) (graph.Format, error) {
	if format != "" {
		if !slices.Contains(graph.Formats, graph.Format(format)) {
			return "", usagef("--format is dot, mermaid, json or svg, not `%s`", format)
		}
		return graph.Format(format), nil
	}
	if out == "" {
		return graph.Dot, nil
	}
	f, ok := graph.FormatOf(out)
	if !ok {
		return "", usagef("-o %s: the name should end in .dot, .mmd, .json or .svg, or --format say what it is", out)
	}
	return f, nil
}

func (a *app) writeGraph(ctx context.Context, p *lang.Plan, f graph.Format, by graph.Unit, out string) error {
	var b bytes.Buffer
	if err := lang.Graph(&b, p, f, by); err != nil {
		return err
	}
	if out == "" {
		if a.json != nil {
			a.json.line(struct {
				T    string `json:"t"`
				Text string `json:"text"`
			}{"graph", b.String()})
			return nil
		}
		a.con.out.Write(b.Bytes()) // finish says what is wrong with standard output
		return nil
	}
	return a.writeOutput(ctx, out, b.Bytes(), p.Measures().Tasks)
}
