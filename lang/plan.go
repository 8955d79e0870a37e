package lang

// Plans: what a program would submit, without running it.

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
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
	// sorted. What they do has happened.
	HostCalls []string

	prog *Program
	opts []Option

	measure  func() *graph.Measures
	simulate func() *graph.Schedule
}

var errNoPlan = errors.New("lang: there is no plan; Program.Plan makes one, unless it returns an error")

// planCode is the code of a program for plans, made when somebody plans.
type planCode struct {
	once sync.Once
	code *interp.Program
	err  error
}

// Plan runs the script without kernels, for machine m, and returns the tasks that it
// would submit. Every insert is checked with real sizes and states, as in a run, and
// the error is the one that a run would give. What a script reads from data is
// unknown; what such values decide is looked at both ways, once. Data is neither
// allocated nor copied; prints show `?` for what is unknown, and begin with `?` once such
// a value has decided what the script does, nothing is saved
// (and what the script loads again has the sizes that it saved), and host functions are
// called with known arguments only. Extern data need not exist
// yet: Sizes stands for it, and extern variables are planned unbound. See Plan.Run.
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
	p := &Plan{Paths: found.Paths, HostCalls: slices.Sorted(maps.Keys(called))}
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

// CheckPlan looks for errors that sizes and states show, by planning the script for
// the CPUs of this machine, as far as maxTasks tasks (0: a million) and some millions of
// statements go: it ends, whatever the script does. A call that does the same as two before it, in one call of the script, is left out. Nothing is printed. What depends on the machine or on data that is not bound is left to runs.
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
