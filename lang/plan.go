package lang

// Plans: what a program would submit, without running it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
)

// A Plan is the tasks that a program would submit, with their order. It does not
// change, and may be used by several goroutines.
type Plan struct {
	// Graph is the tasks. Where a value that tasks compute decides what the script
	// does, both ways were looked at, and this is the one with the most tasks: its
	// Notes say where.
	Graph *graph.Graph
	// Paths is the number of ways that were looked at; 1 when nothing depends on
	// values.
	Paths int
	// HostCalls are the names of the host functions that were called to make the plan,
	// sorted. Their effects have happened.
	HostCalls []string
	// Ranks predicts what each rank does, of a plan with PlanRanks: the tasks that it runs, and the messages, which a run with these tasks
	// sends exactly. It has no times. nil: there is one rank.
	Ranks *cluster.Report

	prog *Program
	opts []Option

	measure  func() *graph.Measures
	simulate func() *graph.Schedule
}

var errNoPlan = errors.New("lang: there is no plan; Program.Plan makes one, unless it returns an error")

// planCode is the code of a program for plans, made at the first plan.
type planCode struct {
	once sync.Once
	code *interp.Program
	err  error
}

// Plan runs the script without kernels, for machine m, and returns the tasks that it
// would submit. Every insert is checked with real sizes and states, as in a run, and the
// error is the one that a run would give. Values read from data are unknown; where such a
// value decides, each way is taken once. Data is neither allocated nor copied; prints
// show `?` for what is unknown, and begin with `?` once such a value has decided what the
// script does, nothing is saved (and what the script loads again has the sizes that it
// saved), and host functions are called with known arguments only. Extern data need not
// exist yet: Sizes stands for it, and extern variables are planned unbound. See Plan.Run.
func (p *Program) Plan(ctx context.Context, m engine.Machine, opts ...Option) (*Plan, error) {
	if p.none() {
		return nil, errNoProgram
	}
	called := map[string]bool{}
	cfg := interp.PlanConfig{Config: *p.comp.runConfig(nil, opts), Machine: m, Called: called}
	ctx, cancel := cfg.Limits.Bound(ctx)
	defer cancel()
	found, err := p.plan(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	out, err := newPlan(ctx, found, p.checked.Main.File.Source.Name, called)
	if err != nil {
		return nil, err
	}
	out.prog, out.opts = p, opts
	return out, nil
}

// newPlan makes the graph of what was recorded, as far as the limits go.
func newPlan(ctx context.Context, found *interp.Planned, title string, called map[string]bool) (*Plan, error) {
	g, err := found.Recorder.GraphWithin(title, graph.Bounds{Context: ctx, Room: found.Room})
	if err != nil {
		return nil, err
	}
	p := &Plan{Paths: found.Paths, Ranks: found.Ranks, HostCalls: slices.Sorted(maps.Keys(called))}
	p.setGraph(g)
	return p, nil
}

func (p *Plan) setGraph(g *graph.Graph) {
	p.Graph = g
	p.measure = sync.OnceValue(func() *graph.Measures { return graph.Measure(g) })
	p.simulate = sync.OnceValue(func() *graph.Schedule { return graph.Simulate(g) })
}

func (p *Program) plan(ctx context.Context, cfg *interp.PlanConfig) (*interp.Planned, error) {
	p.planned.once.Do(func() { p.planned.code, p.planned.err = interp.CompilePlan(p.checked) })
	if p.planned.err != nil {
		return nil, p.planned.err
	}
	return interp.Plan(ctx, p.planned.code, cfg)
}

// Run runs the program that was planned, with the same options, on rt: it submits the
// tasks of the graph, as far as that is exact.
func (p *Plan) Run(ctx context.Context, rt *engine.Runtime) (*Instance, error) {
	if p == nil || p.prog == nil {
		return nil, errNoPlan
	}
	return p.prog.Run(ctx, rt, p.opts...)
}

// Measures returns figures about the graph: counts, the critical path.
func (p *Plan) Measures() *graph.Measures {
	if p == nil || p.measure == nil {
		return &graph.Measures{}
	}
	return p.measure()
}

// Schedule predicts a run on the machine of the plan: its time, what is copied, the
// most memory in use on each node.
func (p *Plan) Schedule() *graph.Schedule {
	if p == nil || p.simulate == nil {
		return &graph.Schedule{}
	}
	return p.simulate()
}

// GraphFormat and GraphUnit are what Graph takes; see package graph.
type (
	GraphFormat = graph.Format
	GraphUnit   = graph.Unit
)

// Graph draws a plan.
func Graph(w io.Writer, g *Plan, f GraphFormat, by GraphUnit) error {
	switch {
	case g == nil || g.Graph == nil:
		return errNoPlan
	case w == nil:
		return errors.New("lang: Graph: the writer is nil")
	}
	return graph.Write(w, g.Graph, f, by)
}

// checkSteps bounds what CheckPlan does on each way, and on all but the first together:
// some seconds at most. Statements that make data or wait for it count as many.
const checkSteps = 1 << 24

// CheckPlan looks for errors that sizes and states show, by planning the script for the
// CPUs of this machine, as far as maxTasks tasks (0: a million) and some millions of
// statements go: it ends, whatever the script does. A call that repeats two earlier ones,
// within one call of the script, is left out. Nothing is printed. Errors that depend on
// the machine or on unbound data are left to runs.
func (p *Program) CheckPlan(ctx context.Context, maxTasks int64, opts ...Option) error {
	_, err := p.CheckPlanTo(ctx, maxTasks, opts...)
	return err
}

// CheckPlanTo does what CheckPlan does, and says how far it came: stopped is the limit,
// of tasks or of steps, behind which nothing was looked at; nil: there is none.
func (p *Program) CheckPlanTo(ctx context.Context, maxTasks int64, opts ...Option) (stopped *LimitError, err error) {
	if maxTasks <= 0 {
		maxTasks = 1 << 20
	}
	if p.none() {
		return nil, errNoProgram
	}
	cfg := interp.PlanConfig{Config: *p.comp.runConfig(nil, append(slices.Clone(opts), Stdout(io.Discard))), Tasks: maxTasks, Steps: checkSteps, Check: true}
	ctx, cancel := cfg.Limits.Bound(ctx)
	defer cancel()
	_, err = p.plan(ctx, &cfg)
	var limit *LimitError
	if errors.As(err, &limit) && (limit.Kind == "tasks" && limit.Limit <= maxTasks || limit.Kind == "steps" && limit.Limit == checkSteps) {
		return limit, nil // this far it is right
	}
	var d *Diagnostic
	if errors.As(err, &d) && (d.Code == "E0803" || d.Code == "E0904" || d.Code == "E0704") {
		return nil, nil
	}
	return nil, err
}

// Findings of a plan that make runs slow.

const (
	// The runtime takes 0.1 to 0.5 µs for a task on a CPU, and 1 µs of tasks of a stencil that take as long (METG in engine/BENCHMARKS.md), so kernels of
	// 5 µs have more than four fifths of the time. It takes 4 µs to start a kernel of a device (accel/cuda/BENCHMARKS.md). package grain has these figures, too.
	shortTask     = 5e-6  // seconds of a kernel of a CPU; below that, the rest of a task counts
	shortOnDevice = 20e-6 // the same on a device
	manyTasks     = 64    // of one insert: less is no matter
	longChain     = 32    // tasks one behind the other
	manyReads     = 8     // of one acquire or value
)

// Warnings says what the plan shows that makes runs slow, W1001 to W1003, where no
// comment of the script allows it.
func (p *Plan) Warnings() Diagnostics {
	var ds Diagnostics
	ds = append(ds, p.shortTasks()...)
	ds = append(ds, p.chains()...)
	ds = append(ds, p.readBack()...)
	for _, u := range p.prog.checked.Units {
		ds = check.Allowed(u.File, ds)
	}
	return p.prog.comp.cfg.Warnings.apply(ds)
}

func (p *Plan) warning(code string, site int32, label, format string, args ...any) Diagnostic {
	d := Diagnostic{Code: code, Severity: Warning, Message: fmt.Sprintf(format, args...), Label: label}
	if site >= 0 {
		d.Span, _ = interp.SpanOf(p.Graph.Sites[site].Data)
	}
	return d
}

// seconds is how long a task is expected to take: as measured, or by the work that it
// is said to have, at a rate that any kernel worth its name reaches.
func seconds(t *graph.Task) (s float64, known bool) {
	if s, known = t.Best(); known || t.Flops <= 0 {
		return s, known
	}
	return t.Flops / 1e9, true
}

// fastestOnDevice reports whether the worker on which t is fastest belongs to a device.
func (p *Plan) fastestOnDevice(t *graph.Task) bool {
	best := -1
	for w, s := range t.Seconds {
		if s >= 0 && (best < 0 || s < t.Seconds[best]) {
			best = w
		}
	}
	return best >= 0 && best < len(p.Graph.Workers) && p.Graph.Workers[best].Kind != "cpu"
}

// shortTasks finds W1001: inserts whose tasks are too short for what a task costs.
func (p *Plan) shortTasks() (ds Diagnostics) {
	type sum struct {
		n, onDevice int
		seconds     float64
		name        string
	}
	bySite := map[int32]*sum{}
	for i := range p.Graph.Tasks {
		t := &p.Graph.Tasks[i]
		s, known := seconds(t)
		if t.Internal != "" || t.Site < 0 {
			continue
		}
		if !known {
			s = math.Inf(1)
		}
		x := bySite[t.Site]
		if x == nil {
			x = &sum{name: t.Codelet}
			bySite[t.Site] = x
		}
		x.n++
		x.seconds += s
		if p.fastestOnDevice(t) {
			x.onDevice++
		}
	}
	for _, site := range sortedSites(p.Graph, bySite) {
		x := bySite[site]
		short, note := shortTask, "a task costs some tenths of a microsecond besides its kernel, and 1 µs where it waits for others: below 5 µs that counts"
		if 2*x.onDevice > x.n {
			short, note = shortOnDevice, "a task on a device costs some microseconds besides its kernel: below 20 µs that counts"
		}
		if mean := x.seconds / float64(x.n); x.n >= manyTasks && mean < short {
			d := p.warning("W1001", site, fmt.Sprintf("%d tasks of about %.2g µs", x.n, 1e6*mean), "the tasks of `%s` are too short", x.name)
			d.Notes = []string{note}
			d.Help = []string{"split the data into fewer parts"}
			ds = append(ds, d)
		}
	}
	return ds
}

func sortedSites[T any](g *graph.Graph, m map[int32]T) []int32 {
	var all []int32
	for s := range m {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b int32) int {
		x, y := g.Sites[a], g.Sites[b]
		return cmp.Or(cmp.Compare(x.File, y.File), x.Line-y.Line, x.Col-y.Col)
	})
	return all
}

// chains finds W1002: data whose RW uses put tasks one behind the other that nothing
// else orders.
func (p *Plan) chains() Diagnostics {
	g := p.Graph
	if p.Measures().Length < longChain {
		return nil
	}
	uses := make([]int, len(g.Handles)) // tasks of the critical path that have it RW
	site := make([]int32, len(g.Handles))
	operand := make([]int, len(g.Handles))
	for _, i := range p.Measures().Critical {
		for k, o := range g.Tasks[i].Operands {
			if o.Mode == iface.RW && g.Tasks[i].Internal == "" {
				uses[o.Handle]++
				site[o.Handle], operand[o.Handle] = g.Tasks[i].Site, k
			}
		}
	}
	worst := -1
	for h, n := range uses {
		if n >= longChain && (worst < 0 || n > uses[worst]) {
			worst = h
		}
	}
	if worst < 0 {
		return nil
	}
	length := g.LengthWithout(int32(worst))
	if 2*length > p.Measures().Length {
		return nil // something else orders them, too
	}
	name := g.Handles[worst].Name
	d := p.warning("W1002", site[worst], "", "`%s` puts %d tasks one behind the other", name, uses[worst])
	if s := site[worst]; s >= 0 {
		if sp, ok := interp.OperandSpan(g.Sites[s].Data, operand[worst]); ok {
			d.Span = sp
		}
	}
	d.Label = "each changes what the one before left"
	d.Notes = []string{fmt.Sprintf("the longest path has %d tasks, and %d without this", p.Measures().Length, length)}
	d.Help = []string{fmt.Sprintf("if any order will do: `COMMUTE %s`", name),
		fmt.Sprintf("if the tasks only add to it: `REDUX %s`, registered with `reduce = sum`", name)}
	return Diagnostics{d}
}

// readBack finds W1003: what tasks write afresh is read by the script, again and again.
func (p *Plan) readBack() (ds Diagnostics) {
	g := p.Graph
	fresh := map[int32]bool{} // handles whose last writer had them W, and not yet read by the script
	reads := map[int32]int{}
	what := map[int32]int32{}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		for _, o := range t.Operands {
			switch {
			case t.Internal == "acquire" && o.Mode.Reads():
				if fresh[o.Handle] {
					reads[t.Site]++
					what[t.Site] = o.Handle
				}
				delete(fresh, o.Handle)
			case t.Internal == "" && o.Mode.Declared() == iface.W:
				fresh[o.Handle] = true
			case o.Mode.Writes():
				delete(fresh, o.Handle)
			}
		}
	}
	for _, site := range sortedSites(g, reads) {
		if reads[site] < manyReads || site < 0 {
			continue
		}
		name := g.Handles[what[site]].Name
		d := p.warning("W1003", site, fmt.Sprintf("read here %d times", reads[site]), "`%s` is written by a task and read by the script in every round", name)
		d.Notes = []string{"each read waits for its task, and on a device for a copy"}
		d.Help = []string{"let tasks use it, and read it once behind the loop; or test it every few rounds"}
		ds = append(ds, d)
	}
	return ds
}

// Expectations: what a script says of its plan, in comments that runs do not see.
//
//	# expect transfers <= 12
//	# expect peak(gpu(0)) <= 4Gi

// expectation is one comment: "# expect", a figure, a comparison, a number.
var expectation = regexp.MustCompile(`(?m)^[ \t]*# expect[ \t]+(.*?)[ \t]*\r?$`)

var comparison = regexp.MustCompile(`^([a-z]+(?:\(.*\))?)[ \t]*(<=|<|>=|>|==)[ \t]*([0-9][0-9_.eE+-]*)(Ki|Mi|Gi|Ti)?$`)

var unitFactors = map[string]float64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}

// figures are what expectations can be about.
const figures = "tasks, length, width, transfers, bytes, seconds, peak(ram), peak(gpu(0))"

// Expectations holds the plan against the comments "# expect FIGURE <= NUMBER" of the
// script: tasks, length (tasks on the longest path), width (tasks side by side),
// transfers and bytes (copied between memories), seconds (expected), peak(NODE) (bytes in
// use at most). The error is R0102 for each that does not hold, and E0105 for each that
// makes no sense. A figure that this machine does not have, such as the peak of a device
// that it lacks, and seconds that are not known, hold.
func (p *Plan) Expectations() error {
	file := p.prog.checked.Main.File
	text := file.Source.Text
	var ds Diagnostics
	for _, m := range expectation.FindAllStringSubmatchIndex(text, -1) {
		span := file.Source.Span(m[2], m[3])
		what := text[m[2]:m[3]]
		c := comparison.FindStringSubmatch(what)
		var have float64
		known, ok := false, c != nil
		if ok {
			have, known, ok = p.figure(c[1])
		}
		var want float64
		if ok {
			var err error
			want, err = strconv.ParseFloat(strings.ReplaceAll(c[3], "_", ""), 64)
			ok = err == nil
			want *= unitFactors[c[4]]
		}
		if !ok {
			ds = append(ds, Diagnostic{Code: "E0105", Message: fmt.Sprintf("`%s` is no expectation", what), Span: span,
				Help: []string{"write `# expect FIGURE <= NUMBER`; figures: " + figures}})
			continue
		}
		if !known || compareFigures(have, c[2], want) {
			continue
		}
		ds = append(ds, Diagnostic{Code: "R0102", Message: "the plan is not as expected", Span: span,
			Label: fmt.Sprintf("%s is %s", c[1], strconv.FormatFloat(have, 'f', -1, 64))})
	}
	return ds.Err()
}

func compareFigures(a float64, op string, b float64) bool {
	switch op {
	case "<=":
		return a <= b
	case "<":
		return a < b
	case ">=":
		return a >= b
	case ">":
		return a > b
	}
	return a == b
}

// figure returns a figure of the plan. known: it has a value here; ok: there is such a
// figure.
func (p *Plan) figure(name string) (v float64, known, ok bool) {
	m := p.Measures()
	switch name {
	case "tasks":
		return float64(m.Tasks), true, true
	case "length":
		return float64(m.Length), true, true
	case "width":
		return float64(m.Width), true, true
	case "transfers", "bytes":
		copies, bytes := p.Schedule().Moved()
		if name == "bytes" {
			return float64(bytes), true, true
		}
		return float64(copies), true, true
	case "seconds":
		return p.Schedule().Seconds, m.Unknown == 0, true
	}
	node, isPeak := strings.CutPrefix(name, "peak(")
	if !isPeak {
		return 0, false, false
	}
	n := 0
	switch text, isNUMA := strings.CutPrefix(node, "numa("); {
	case node == "ram)":
	case isNUMA: // they are the first nodes
		i, err := strconv.Atoi(strings.TrimSuffix(text, "))"))
		if err != nil || i < 0 || !strings.HasSuffix(text, "))") {
			return 0, false, false
		}
		if n = i; !onNUMA(p.Graph, i) {
			return 0, false, true
		}
	default:
		i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(node, "gpu("), "))"))
		if err != nil || i < 0 || !strings.HasPrefix(node, "gpu(") {
			return 0, false, false
		}
		n = deviceNode(p.Graph, i)
	}
	peak := p.Schedule().Peak
	if n < 0 || n >= len(peak) {
		return 0, false, true
	}
	return float64(peak[n]), true, true
}

// onNUMA reports whether memory node i is main memory, or that of another NUMA node. Those are the first
// nodes; some have no workers, and a device has at least one.
func onNUMA(g *graph.Graph, i int) bool {
	for _, w := range g.Workers {
		if w.Kind != "cpu" && w.Node > 0 && w.Node <= i {
			return false // behind them
		}
	}
	return i < len(g.Nodes)
}

// deviceNode is the memory of device i; -1: there is none.
func deviceNode(g *graph.Graph, i int) int {
	var kinds []string
	for _, w := range g.Workers {
		if w.Node == 0 || w.Kind == "cpu" {
			continue
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != w.Kind {
			kinds = append(kinds, w.Kind)
			if len(kinds) == i+1 {
				return w.Node
			}
		}
	}
	return -1
}
