package interp

// Plans: a script runs without kernels, on a runtime that plans. Values that a script
// reads from data are unknown there. An unknown value represents some number, and values
// computed from it are unknown, too: a running statement notes its reads in
// Machine.unknown, and its results in the frame. Where an unknown value decides a branch,
// each branch is taken once, each time from the start: a path. So each path is a possible
// run, in every detail, and the longest is shown.
//
// The code of plans is compiled apart, so that runs do not pay for it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// planning is the path that a machine takes, and what was found on it.
type planning struct {
	rec    *graph.Recorder
	ranks  *cluster.Report      // what each rank does; nil: there is one
	force  map[position]bool    // what the first unknown decision at a place is
	count  map[position]int     // unknown decisions so far
	tried  map[position][2]bool // ways that were taken, on all paths
	noted  map[position]bool
	parted bool             // an unknown value decided which way the script goes
	ended  *diag.Diagnostic // why the path ended before the script
	prints bool
	loads  map[string]bool      // names of files, on all paths
	saved  map[string]savedFile // what the path has saved, by savedKey
	called map[string]bool      // host functions, on all paths
	check  bool                 // for errors alone
	steps  int64                // that the path took
	taken  int64                // bytes of what was recorded
	paid   int64                // of taken, those that were counted
	kept   int                  // tasks of another path that are kept meanwhile
	limit  int64                // of the memory of the script
	left   int64                // of limit, when the path had ended
	values int                  // of Config.Values, those that were used
	on     uint64               // 1 + the rank of the task that is submitted now; 0: none
	calls  repeats              // in a check

	session *forked // nil: of a script
}

// plannedBytes is the memory of a recorded task, with its place in the graph made of it;
// operandBytes is that of an operand or a dependency.
const plannedBytes, operandBytes = 640, 32

// pay counts what was recorded as memory of the script.
func (pl *planning) pay(m *Machine, at position) {
	if pl.taken > pl.paid {
		m.alloc(pl.taken-pl.paid, at)
		pl.paid = pl.taken
	}
}

// errPlanEnds ends a path at a place that needs an unknown value.
var errPlanEnds = errors.New("the plan ends here")

// run takes one path.
func (pl *planning) run(ctx context.Context, p *Program, cfg *PlanConfig, total *int64) (err error) {
	pl.rec = graph.NewRecorder(nil)
	rt, err := cfg.Machine.Planner(func(t *engine.PlannedTask) {
		if t.Internal == "" {
			t.Rank, pl.on = pl.on, 0
		}
		switch s := pl.session; {
		case s != nil && s.quiet || pl.check:
			return
		case s != nil:
			s.submitted(t)
		}
		pl.rec.Plan(t)
		pl.taken += plannedBytes + operandBytes*int64(len(t.Operands)+len(t.After)) + int64(len(t.Name))
	})
	if err != nil {
		return err
	}
	defer func() {
		if e := rt.Close(); err == nil {
			err = e
		}
	}()
	pl.rec.Machine(rt)
	c := cfg.Config
	c.Runtime = rt
	c.OnEvent, c.Observe = nil, nil // nothing happens in a plan
	c.OnView = func(parts []*datamgr.Handle, name func(k int) string) {
		pl.rec.View(parts, name)
		pl.rec.Dims(parts)
	}
	if !pl.prints {
		c.Stdout = io.Discard
	}
	if cfg.Steps > 0 && (c.Limits.Steps == 0 || cfg.Steps < c.Limits.Steps) {
		c.Limits.Steps = cfg.Steps
	}
	if cfg.Tasks > 0 {
		if left := cfg.Tasks - *total; c.Limits.Tasks == 0 || left < c.Limits.Tasks {
			c.Limits.Tasks = max(1, left)
			defer func() { // the limit is that of all paths, not what they left of it
				var limit *LimitError
				if errors.As(err, &limit) && limit.Kind == "tasks" {
					limit.Limit = cfg.Tasks
				}
			}()
		}
	}
	m, err := newMachine(p, &c)
	if err != nil {
		return err
	}
	m.plan = pl
	pl.taken = plannedBytes * int64(pl.kept)
	defer func() {
		pl.limit, pl.left = m.limits.ScriptBytes, m.may.mem-m.used.mem
		pl.steps = m.used.steps + m.granted - m.fuel
		*total += m.used.tasks
		m.unknown = false
		if err != nil {
			m.job.Cancel(err) // no result is needed of what waits for gates
		}
		if e := m.Close(); err == nil && pl.session == nil { // what a session leaves goes on
			err = e
		}
		if m.ranks != nil {
			pl.ranks, _ = m.ranks.Report(ctx) // without messages there is no error
		}
	}()
	if pl.session == nil {
		if err := m.checkOptions(); err != nil {
			return err
		}
	}
	err = m.enter(ctx, func() {
		if pl.session != nil {
			pl.session.run(m)
			return
		}
		for k, u := range p.units {
			m.runUnit(m.units[k], u, u.unit != p.main)
		}
		m.waitAll(position{})
	})
	m.unknown = false
	if errors.Is(err, errPlanEnds) {
		err = nil
	}
	return err
}

// note says once for each place that the tasks from here on depend on values.
func (pl *planning) note(at position, format string, args ...any) {
	if pl.noted[at] {
		return
	}
	pl.noted[at] = true
	s := at.span()
	pl.rec.Note(graph.Site{File: s.File, Line: s.Start.Line, Col: s.Start.Col}, fmt.Sprintf(format, args...))
}

// stop ends the path with d, a report about unknown values.
func (pl *planning) stop(d *diag.Diagnostic) {
	if pl.ended == nil {
		pl.ended = d
		pl.rec.Note(graph.Site{File: d.Span.File, Line: d.Span.Start.Line, Col: d.Span.Start.Col},
			"the plan ends here: what follows depends on a value that tasks compute")
	}
	panic(&raised{errPlanEnds})
}

// branch decides an unknown condition: the one way first, then the other.
func (pl *planning) branch(at position) bool {
	pl.parted = true
	n := pl.count[at]
	pl.count[at]++
	way, forced := pl.force[at]
	if !forced {
		way = true
	}
	if n%2 == 1 {
		way = !way
	}
	pl.take(at, way)
	pl.note(at, "`%s` depends on a value that tasks compute; both ways were looked at", firstLine(at.source()))
	return way
}

// round decides the unknown condition of a while: one more round, then none.
func (pl *planning) round(at position, again bool) bool {
	pl.parted = true
	way := !again
	if v, ok := pl.force[at]; ok && !again && pl.count[at] == 0 {
		way = v
	}
	pl.count[at]++
	pl.take(at, way)
	pl.note(at, "how often this loop runs depends on a value that tasks compute: one more round is shown")
	return way
}

func (pl *planning) take(at position, way bool) {
	pl.calls.taken++
	t := pl.tried[at]
	if way {
		t[1] = true
	} else {
		t[0] = true
	}
	pl.tried[at] = t
}

// loop notes whether a loop variable is known; a loop over an unknown range runs once.
func (pl *planning) loop(f *frame, slot int, at position, r *Range) {
	f.unk[slot] = f.m.unknown
	if f.m.unknown {
		f.m.unknown = false
		pl.parted = true
		pl.note(at, "how often this loop runs depends on a value that tasks compute: one round is shown")
		*r = Range{r.Lo, r.Lo + 1, 1}
	}
}

// operands notes that it is unknown which data a task uses.
func (pl *planning) operands(m *Machine, at position) {
	if m.unknown {
		m.unknown = false
		pl.note(at, "which data this task uses depends on a value that tasks compute")
	}
}

// ---- code ------------------------------------------------------------------------

// planned compiles a statement, which begins without having read anything.
func (c *compiler) planned(s syntax.Stmt) stmt {
	run := c.plainStmt(s)
	cost, at := costOf(s), c.positionOf(s)
	if cost == 0 {
		return func(f *frame) ctl {
			f.m.unknown = false
			f.m.plan.pay(f.m, at)
			return run(f)
		}
	}
	return func(f *frame) ctl {
		m := f.m
		m.unknown = false
		m.plan.pay(m, at)
		if m.plan.check {
			if m.fuel -= cost; m.fuel < 0 {
				m.refuel(at)
			}
		}
		return run(f)
	}
}

// known returns code that notes when the value of o is not known.
func (c *compiler) known(o *types.Object) func(f *frame) {
	slot := o.Slot
	direct, unit := c.frameOf(o)
	return func(f *frame) {
		if !direct {
			f = f.m.units[unit]
		}
		if slot < len(f.unk) && f.unk[slot] {
			f.m.unknown = true
		}
	}
}

// holder returns how code reaches the frame of o, after the check that its statement
// has run, where that is needed.
func (c *compiler) holder(o *types.Object, at position) func(f *frame) *frame {
	if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
		return func(f *frame) *frame { return f }
	}
	return c.global(o, at)
}

// marking notes in the frame whether what is stored is known.
func marking(set setter, slot int) setter {
	return func(from, to *frame) {
		m := from.m
		before := m.unknown
		m.unknown = false
		set(from, to)
		to.unk[slot] = m.unknown
		m.unknown = before
	}
}

// apart makes texts beside each other: what is unknown of one is not of the others.
func apart(text func(f *frame) string) func(f *frame) string {
	return func(f *frame) string {
		m := f.m
		before := m.unknown
		m.unknown = false
		s := text(f)
		m.unknown = m.unknown || before
		return s
	}
}

// spreading makes the result of a call unknown if it is.
func spreading(call func(f *frame) *frame) func(f *frame) *frame {
	return func(f *frame) *frame {
		m := f.m
		before := m.unknown
		m.unknown = false
		to := call(f)
		m.unknown = before || to.retUnknown
		return to
	}
}

func (c *compiler) planReturn(s *syntax.Return) stmt {
	run := c.plainReturn(s)
	return func(f *frame) ctl {
		k := run(f)
		f.retUnknown = f.m.unknown
		return k
	}
}

func (c *compiler) planIf(s *syntax.If) stmt {
	cond, then, at := c.bool(s.Cond), c.block(s.Then), c.positionOf(s.Cond)
	other := func(*frame) ctl { return next }
	if s.Else != nil {
		other = c.stmt(s.Else)
	}
	return func(f *frame) ctl {
		m := f.m
		yes := cond(f)
		if m.unknown {
			m.unknown = false
			yes = m.plan.branch(at)
		}
		if yes {
			return then(f)
		}
		return other(f)
	}
}

func (c *compiler) planWhile(s *syntax.While) stmt {
	cond, body, at := c.bool(s.Cond), c.block(s.Body), c.positionOf(s.Cond)
	return func(f *frame) ctl {
		m := f.m
		for again := false; ; {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			m.unknown = false
			yes := cond(f)
			if m.unknown {
				m.unknown = false
				yes = m.plan.round(at, again)
				again = true
			}
			if !yes {
				return next
			}
			switch body(f) {
			case brk:
				return next
			case ret:
				return ret
			}
		}
	}
}

// ---- values ----------------------------------------------------------------------

// plannedValue is what value() gives in a plan: what the session has, or something that
// is not known.
func (m *Machine) plannedValue(h *Handle, at position) any {
	if m.plan.check {
		if m.fuel -= dataCost; m.fuel < 0 {
			m.refuel(at)
		}
	}
	m.alive(h, at)
	b, release, known := m.plan.now(m, h, at)
	acc, err := m.tryHold(h, iface.R, at)
	if err == nil {
		err = acc.Release()
	}
	var e elem
	if known {
		e = readElem(b.Elem, b.Ptr)
		release()
	}
	if err != nil {
		m.raiseEngine(err, at, h)
	}
	if known {
		return m.elemValue(b.Elem, e, at)
	}
	stands := any(int64(1))
	switch _, elem := h.h.Type(); {
	case elem.IsFloat():
		stands = 1.0
	case elem.IsComplex():
		stands = complex(1, 0)
	case elem == iface.B8:
		stands = true
	}
	if v, ok := m.plan.next(m.cfg.Values, at); ok && reflect.TypeOf(v) == reflect.TypeOf(stands) {
		return v
	}
	m.unknown = true
	return stands
}

// next returns what value() at a place has returned in the run whose values are known. Once the plan asks elsewhere, as the run has gone
// another way, none are known.
func (pl *planning) next(known *Values, at position) (any, bool) {
	if known == nil || pl.values >= len(known.read) {
		return nil, false
	}
	x := known.read[pl.values]
	if here := readAt(at, nil); x.file != here.file || x.at != here.at {
		pl.values = len(known.read)
		return nil, false
	}
	pl.values++
	return x.value, true
}

// stand is what an unknown result of type t is taken to be.
func stand(t *types.Type) any {
	switch reprOf(t) {
	case rInt:
		return int64(1)
	case rFloat:
		return 1.0
	case rBool:
		return false
	}
	switch {
	case t != nil && t.Kind == types.String:
		return "?"
	case t != nil && t.Kind == types.Complex:
		return complex(1, 0)
	case t != nil && t.Kind == types.List:
		l := newList(listKind(t), 0)
		l.unknown = true
		return l
	}
	return nil
}

// unknownText is how what is not known prints.
func (m *Machine) unknownText(v any, at position) string {
	if h, ok := v.(*Handle); ok {
		m.unknown = false
		s := m.handleText(h, at)
		m.unknown = true
		return s
	}
	return unwrittenElement
}

// SpanOf returns the place of an engine.Site that the interpreter made, of its Data.
func SpanOf(data any) (diag.Span, bool) {
	switch d := data.(type) {
	case *insertSite:
		return d.at.span(), true
	case position:
		return d.span(), d.file != nil
	}
	return diag.Span{}, false
}

// OperandSpan returns the place of an operand of an insert.
func OperandSpan(data any, operand int) (diag.Span, bool) {
	s, ok := data.(*insertSite)
	if !ok || operand >= len(s.ops) {
		return diag.Span{}, false
	}
	return s.ops[operand].at.span(), true
}

// Computed reports whether an insert passes scalars that are not constants, of the Data
// of its engine.Site.
func Computed(data any) bool {
	s, ok := data.(*insertSite)
	return ok && slices.ContainsFunc(s.scalars, func(c scalarCode) bool { return c.fixed == nil })
}

// The paths of a plan: which ways are taken, one after the other, and when it is enough.

// maxPaths bounds the paths that are looked at. The last one goes all the ways that are
// left at once.
const maxPaths = 32

// PlanConfig says what a plan is for.
type PlanConfig struct {
	Config
	Machine engine.Machine
	Tasks   int64           // on all paths together; 0: no limit
	Steps   int64           // in a check, on a path and on all but the first of them together; 0: no limit
	Called  map[string]bool // collects the names of the host functions that are called, if not nil
	session *forked         // what a plan of an entry begins with; nil: of a script
	Check   bool            // only errors are wanted: tasks are not recorded, and calls that repeat others are left out
}

// Planned is the result of Plan.
type Planned struct {
	Recorder *graph.Recorder // of the path with the most tasks
	Paths    int
	Ranks    *cluster.Report // of that path; nil: there is one rank

	limit, left int64 // of the memory of the script
}

// Room counts memory for what is made of the recorded tasks; the error is a *LimitError.
func (p *Planned) Room(bytes int64) error {
	if bytes > p.left {
		return &LimitError{Kind: "mem", Limit: p.limit}
	}
	p.left -= bytes
	return nil
}

// Plan runs p, which CompilePlan made, without kernels, along each way that values
// unknown may make it go. An error is the first that some path ran into.
func Plan(ctx context.Context, p *Program, cfg *PlanConfig) (*Planned, error) {
	ctx = Context(ctx)
	out := &Planned{}
	tried := map[position][2]bool{}
	forced := map[position]bool{}
	todo := []map[position]bool{nil}
	var total, longest, spent int64
	loads, ended := map[string]bool{}, false
	for len(todo) > 0 {
		if cfg.Steps > 0 && spent > cfg.Steps {
			return nil, &LimitError{Kind: "steps", Limit: cfg.Steps}
		}
		if out.Paths == maxPaths {
			ended = true // the remaining paths are not taken
			break
		}
		if out.Paths == maxPaths-1 || cfg.Steps > 0 && out.Paths > 1 && spent+longest > cfg.Steps {
			todo = []map[position]bool{together(todo)}
		}
		pl := &planning{loads: loads, saved: map[string]savedFile{}, called: cfg.Called, force: todo[0], tried: tried, count: map[position]int{}, noted: map[position]bool{}, prints: out.Paths == 0, check: cfg.Check, session: cfg.session}
		if out.Recorder != nil {
			pl.kept = out.Recorder.Len()
		}
		todo = todo[1:]
		out.Paths++
		if err := pl.run(ctx, p, cfg, &total); err != nil {
			return nil, err
		}
		ended = ended || pl.ended != nil
		if longest = max(longest, pl.steps); out.Paths > 1 {
			spent += pl.steps
		}
		if out.Recorder == nil || pl.rec.Len() > out.Recorder.Len() {
			out.Recorder, out.Ranks, out.limit, out.left = pl.rec, pl.ranks, pl.limit, pl.left
		}
		var left []position
		for at, ways := range tried {
			if ways[0] != ways[1] && !forced[at] {
				left = append(left, at)
			}
		}
		slices.SortFunc(left, func(a, b position) int { return cmp.Compare(a.at.Lo, b.at.Lo) })
		for _, at := range left {
			forced[at] = true
			todo = append(todo, map[position]bool{at: !tried[at][1]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.FileSizes)) {
		if !loads[name] && !ended {
			return nil, unusedSizes(name, loads)
		}
	}
	return out, nil
}

// together is the path that goes all the ways.
func together(ways []map[position]bool) map[position]bool {
	all := map[position]bool{}
	for _, w := range ways {
		maps.Copy(all, w)
	}
	return all
}

// unusedSizes is the error about sizes of a file that no statement of a plan loads.
func unusedSizes(name string, loads map[string]bool) error {
	d := &diag.Diagnostic{Code: "E0902", Severity: diag.Error, Message: fmt.Sprintf("sizes are given for the file `%s`, and the script loads no such file", name)}
	names := slices.Sorted(maps.Keys(loads))
	switch near, ok := diag.Nearest(name, names); {
	case ok:
		d.Help = []string{fmt.Sprintf("did you mean `%s`?", near)}
	case len(names) > 0:
		d.Help = []string{"it loads `" + strings.Join(names[:min(len(names), 5)], "`, `") + "`"}
	default:
		d.Help = []string{"sizes stand for files that a script names behind `load =`; leave them out"}
	}
	return d
}

// Bounds of a check.
//
// Functions that call others twice, which call others twice, … insert the same tasks on
// the same data over and over. A check looks for errors, and the third equal call finds
// none that the first two did not. Statements that do more than compute count for several
// steps.

// keyArgs is how many arguments a call may have that is recognised.
const keyArgs = 6

// maxCalls bounds how many different calls are kept.
const maxCalls = 1 << 16

// callKey is a call of a function with its arguments.
type callKey struct {
	fn *funcCode
	n  [keyArgs]int64
	r  [keyArgs]any
}

// repeats counts the calls that a check made, within one call that no other statement
// of the script comes between.
type repeats struct {
	level int
	taken int // decisions about unknown values, which take the two branches in turn
	seen  map[callKey]int
}

// repeated runs the body of to, which has its arguments, unless that was done twice
// before: the first time data may have got its first value, so the second may go another
// way than the first, and each later one goes as the second did.
func (m *Machine) repeated(to *frame) {
	pl := m.plan
	if pl.calls.level == 0 {
		pl.calls.seen = map[callKey]int{}
	}
	key, ok := keyOf(to)
	if ok && pl.calls.seen[key] >= 2 {
		m.cur = to.parent
		m.depth--
		if to.fn.refs {
			clear(to.r)
		}
		return
	}
	before := pl.calls.taken + len(pl.noted)
	pl.calls.level++
	m.run(to)
	pl.calls.level--
	if ok && before == pl.calls.taken+len(pl.noted) && len(pl.calls.seen) < maxCalls {
		pl.calls.seen[key]++
	}
}

// keyOf returns the key of a call; false if an argument is not known in the plan, or
// cannot be compared.
func keyOf(f *frame) (k callKey, ok bool) {
	if len(f.fn.params) > keyArgs {
		return k, false
	}
	k.fn = f.fn
	for i := range f.fn.params {
		p := &f.fn.params[i]
		if f.unk[p.slot] {
			return k, false
		}
		if reprOf(p.typ) != rRef {
			k.n[i] = f.n[p.slot]
			continue
		}
		switch v := f.r[p.slot].(type) {
		case *Handle, *View, *List, string:
			k.r[i] = v
		default:
			return k, false
		}
	}
	return k, true
}

// plainBuiltins change nothing and say the same each time.
var plainBuiltins = []string{"abs", "ceil", "close", "cos", "erf", "exp", "float", "floor", "grid", "int", "len", "log", "log2", "max", "min",
	"pow", "range", "round", "sin", "sqrt", "tan", "tanh"}

// plainOptions of an insert have no say in whether it is right.
var plainOptions = []string{"bundle", "color", "flops", "name", "priority", "rank", "retry", "ssend", "where"}

// repeatable reports whether a function gives nothing back, and does nothing but insert
// tasks, also by way of functions that are so: all that a second call with the same
// arguments changes is the first value that data may have by then.
func (p *Program) repeatable(o *types.Object) bool {
	if yes, known := p.repeats[o]; known {
		return yes
	}
	node, ok := o.Node.(*syntax.Func)
	if !ok || node.Body == nil {
		return false
	}
	if p.repeats == nil {
		p.repeats = map[*types.Object]bool{}
	}
	p.repeats[o] = false // a function that calls itself comes back here
	yes := o.Sig.Result == nil || o.Sig.Result.Kind == types.None
	mine := map[*types.Object]bool{} // declared in it
	for _, par := range node.Params {
		mine[par.Name.Obj] = true
	}
	syntax.Walk(&syntax.File{Stmts: node.Body.Stmts}, func(n syntax.Node, around []syntax.Node) {
		switch n := n.(type) {
		case *syntax.Let:
			mine[n.Name.Obj] = true
		case *syntax.Assign:
			id, ok := n.Target.(*syntax.Ident)
			yes = yes && ok && mine[id.Obj]
		case *syntax.Insert:
			_, alone := around[len(around)-1].(*syntax.ExprStmt)
			yes = yes && alone && plain(n.With)
		case *syntax.Call:
			switch {
			case isBuiltin(n):
				yes = yes && slices.Contains(plainBuiltins, n.Callee.Name)
			case isScript(n):
				yes = yes && p.repeatable(n.Callee)
			default:
				yes = false
			}
		case *syntax.If, *syntax.For, *syntax.While, *syntax.Return, *syntax.Break, *syntax.Continue, *syntax.Assert, *syntax.ExprStmt, *syntax.Block:
		case syntax.Stmt:
			yes = false
		}
	})
	p.repeats[o] = yes
	return yes
}

func plain(w *syntax.With) bool {
	return w == nil || !slices.ContainsFunc(w.Options, func(o *syntax.Option) bool { return !slices.Contains(plainOptions, o.Name.Name) })
}

// dataCost and viewCost are how many more steps than others statements count for that
// make or wait for something in the engine, which takes as long as dozens, and that make
// views, as long as hundreds.
const dataCost, viewCost = 64, 256

// waitCost is how many more steps waiting for one of several handles counts for in a check.
const waitCost = 16

// viewBytes of a view count as one more step in a check: a part for sixteen.
const viewBytes = 32

// costOf says how many more steps than others a statement counts for in a check, which is
// bounded by steps. The steps of value() are counted where it reads.
func costOf(s syntax.Stmt) int64 {
	switch s := s.(type) {
	case *syntax.Register, *syntax.Acquire, *syntax.Wait, *syntax.Checkpoint, *syntax.Prefetch, *syntax.Hint, *syntax.Verb:
		return dataCost
	case *syntax.Partition, *syntax.Unpartition:
		return viewCost
	case *syntax.ExprStmt, *syntax.Let, *syntax.Assign:
		if looks(s) {
			return dataCost
		}
	}
	return 0
}

// looks reports whether a statement without a block hands data to a builtin: print, save,
// …, which wait for its tasks.
func looks(s syntax.Stmt) (found bool) {
	syntax.Walk(&syntax.File{Stmts: []syntax.Stmt{s}}, func(n syntax.Node, _ []syntax.Node) {
		call, ok := n.(*syntax.Call)
		found = found || ok && isBuiltin(call) && call.Callee.Name != "value" && slices.ContainsFunc(call.Args, func(a *syntax.Arg) bool {
			t := a.Value.Type()
			return t != nil && t.IsHandle()
		})
	})
	return found
}
