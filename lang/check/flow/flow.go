// Package flow follows the data of a unit, which package check has given names and types,
// along its paths. It reports data that is read before it is written or after it is
// unregistered, views that have ended, arrays that are not released, waits that never end,
// and values that nothing reads: E0205, E0301, E0308, E04, E0506, E0507, W0305 and W0401.
//
// Check goes through the statements in order and keeps, for each handle, named view,
// acquired array and gate in sight, what is known about it on every path to here. Where
// paths meet, what differs becomes unknown; a loop forgets at its start what its body may
// change. So each statement is visited once, and no report depends on values.
//
// flow.go has the states, the places where paths meet, and the walk through statements;
// data.go the statements and operands that use data, with most reports: stuck and waits are
// E0405 for a gate and for data; expr.go expressions; calls.go what calls, loops and tasks
// do on whatever path.
package flow

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// life is what is known about the value of a handle, or of a view as such.
type life uint8

const (
	lifeUnknown     life = iota
	lifeUnwritten        // registered without a value
	lifeInvalidated      // dropped by invalidate
	lifeWritten          // has a value for sure
	lifeOver             // unregistered; of a view: ended
)

// hold is what is known about an acquired array, or a gate.
type hold uint8

const (
	holdUnknown  hold = iota
	holdMaybe         // held on some paths, released on others
	holdHeld          // of a gate: closed
	holdReleased      // of a gate: open
)

// split is what is known about the default view of a handle.
type split uint8

const (
	splitUnknown split = iota
	splitNone
	splitKnown
)

// state is what is known about one object. It is plain data that == compares.
type state struct {
	life    life
	hold    hold
	split   split
	mode    iface.AccessMode  // of a held array
	escaped bool              // other names may stand for it: its value is not followed
	at      syntax.Span       // where it was registered, invalidated, unregistered, released
	parts   *syntax.Partition // the default view
	unread  *syntax.TaskArg   // a W of the whole that nothing has read yet
	pending syntax.Span       // an insert that waits for this array or gate
	gate    *cell             // a task that uses it waits for this gate
	gated   *syntax.TaskArg   // as this operand; nil for the result of an insert. Of an array: that of pending
	gatedAt int               // walk.clock then
}

// cell is the state of one object, and what never changes about it.
type cell struct {
	obj   *types.Object
	state state
	root  *cell               // of an array: the data it holds
	item  *syntax.AcquireItem // of an array
	block bool                // of an array: acquired with a block
	place int                 // in walk.decls
	told  bool                // a missing release has been reported
	seen  int                 // used by join
	since int                 // of an array: walk.clock when it was acquired
}

// change is one entry of the log that takes back what a branch did.
type change struct {
	cell *cell
	old  state
}

// Unit is a file, or an entry of a session, whose names and types are resolved.
type Unit struct {
	File        *syntax.File
	Funcs       []*syntax.Func
	Owner       any                  // types.Object.Unit of its top-level names
	Session     bool                 // an entry of a session: entries form one block, which never ends
	Failed      map[syntax.Node]bool // inserts with errors: their effect is not known
	UnknownArgs map[*syntax.Arg]bool // arguments of constructors that were probably meant as another one
	Checker     Checker
}

// Checker takes reports, and makes the parts of them that depend on the tables of the checker
// and on the names in scope.
type Checker interface {
	// Report adds a diagnostic. The pointer is good until the next report.
	Report(code string, sev diag.Severity, at diag.Span, message string) *diag.Diagnostic

	// CheckCount reports the indices of e, a part of name, if the partition p of name takes
	// more or fewer. loops are the names of the loops around e, the innermost last.
	CheckCount(e *syntax.Index, name string, p *syntax.Partition, loops []string)

	// AcquireElement returns a statement that reads the element e of data of type t:
	// "acquire R x as a { … a[i] … }".
	AcquireElement(e *syntax.Index, t *types.Type) string

	// WithArg returns the text of call with arg as its last argument.
	WithArg(call *syntax.Call, arg string) string
}

func (u *Unit) err(code string, n syntax.Node, message string) *diag.Diagnostic {
	return u.Checker.Report(code, diag.Error, u.File.At(n), message)
}

func (u *Unit) warn(code string, n syntax.Node, message string) *diag.Diagnostic {
	return u.Checker.Report(code, diag.Warning, u.File.At(n), message)
}

func (u *Unit) label(n syntax.Node, text string) diag.Label {
	return diag.Label{Span: u.File.At(n), Text: text}
}

// walk is one walk: over the top level of a unit, or over one function.
type walk struct {
	u     *Unit
	fn    bool
	cells map[*types.Object]*cell
	decls []*cell // in order; blocks cut it back
	log   []change
	over  bool     // the path has ended: return, break, continue
	loops []int    // length of decls at the start of each loop around
	names []string // loop names in scope, for hints
	held  []*cell  // arrays in scope, innermost last
	gates []*cell
	stamp int
	depth int // branches and loops around

	clock    int                   // counts what may change the value of a name
	assigned map[*types.Object]int // when a name was assigned last
	called   int                   // when a function of the script, which may assign others, was called last

	printing bool // inside the arguments of print

	sum *summary
}

// Check reports the faults of data in u, on its top level and in its functions.
func Check(u *Unit) {
	sum := newSummary(u)
	f := newWalk(u, sum)
	f.stmts(u.File.Stmts)
	f.leave(0, nil)
	for _, fn := range u.Funcs {
		if fn.Body == nil {
			continue
		}
		g := newWalk(u, sum)
		g.fn = true
		g.stmts(fn.Body.Stmts)
		g.leave(0, nil)
	}
}

func newWalk(u *Unit, sum *summary) *walk {
	return &walk{u: u, sum: sum, cells: map[*types.Object]*cell{}, assigned: map[*types.Object]int{}}
}

// declare starts to follow an object.
func (f *walk) declare(o *types.Object, s state) *cell {
	x := &cell{obj: o, state: s, place: len(f.decls)}
	f.cells[o] = x
	f.decls = append(f.decls, x)
	return x
}

// set changes the state of x; the change can be taken back.
func (f *walk) set(x *cell, s state) {
	if x.state == s {
		return
	}
	if f.depth > 0 { // changes on the only path are never undone
		f.log = append(f.log, change{x, x.state})
	}
	x.state = s
}

// rollback takes back all changes since mark and returns what they had led to,
// one entry for each cell.
func (f *walk) rollback(mark int) []change {
	f.stamp++
	var out []change
	for i := len(f.log) - 1; i >= mark; i-- {
		x := f.log[i].cell
		if x.seen != f.stamp {
			x.seen = f.stamp
			out = append(out, change{x, x.state})
		}
		x.state = f.log[i].old
	}
	f.log = f.log[:mark]
	return out
}

// branches runs alternatives, exactly one of them happens at run time, and joins them.
func (f *walk) branches(alternatives ...func()) {
	if f.over {
		for _, run := range alternatives {
			run()
		}
		return
	}
	type reached struct {
		states []state
	}
	live := 0
	changed := map[*cell]*reached{}
	var order []*cell
	f.depth++
	defer func() { f.depth-- }()
	for _, run := range alternatives {
		mark := len(f.log)
		run()
		over := f.over
		f.over = false
		ends := f.rollback(mark)
		if over {
			continue
		}
		live++
		for _, e := range ends {
			r := changed[e.cell]
			if r == nil {
				r = &reached{}
				changed[e.cell] = r
				order = append(order, e.cell)
			}
			r.states = append(r.states, e.old)
		}
	}
	if live == 0 {
		f.over = true
		return
	}
	for _, x := range order {
		r := changed[x]
		s := r.states[0]
		for _, t := range r.states[1:] {
			s = join2(s, t)
		}
		if len(r.states) < live { // some branch left it alone
			s = join2(s, x.state)
		}
		f.set(x, s)
	}
}

// join2 is what is known where two paths meet.
func join2(a, b state) state {
	if a == b {
		return a
	}
	s := a
	if a.life != b.life {
		s.life, s.at = lifeUnknown, syntax.Span{}
	}
	if a.at != b.at {
		// The same fact from two places: either one explains it.
		s.at = a.at
	}
	if a.hold != b.hold {
		s.hold = holdMaybe
		if a.hold == holdUnknown || b.hold == holdUnknown {
			s.hold = holdUnknown
		}
	}
	if a.mode != b.mode {
		s.mode = iface.NoMode
	}
	if a.split != b.split || a.parts != b.parts {
		s.split, s.parts = splitUnknown, nil
	}
	if a.unread != b.unread {
		s.unread = nil
	}
	if a.pending == (syntax.Span{}) || b.pending == (syntax.Span{}) {
		s.pending = syntax.Span{}
	}
	if a.gate != b.gate || a.gated != b.gated || a.gatedAt != b.gatedAt {
		s.gate, s.gated = nil, nil
	}
	s.escaped = a.escaped || b.escaped
	return s
}

// forget drops what the body of a loop, or a call, may change about x. Data whose life is
// over stays so.
func (f *walk) forget(x *cell) {
	s := x.state
	if s.life != lifeOver {
		s.life = lifeUnknown
	}
	s.hold, s.split, s.mode, s.parts, s.unread = holdUnknown, splitUnknown, iface.NoMode, nil, nil
	s.pending, s.gate = syntax.Span{}, nil
	f.set(x, s)
}

// escape notes that x may be reached by another name from here on.
func (f *walk) escape(x *cell) {
	s := x.state
	s.escaped = true
	if s.life != lifeOver {
		s.life = lifeUnknown
	}
	s.split, s.parts, s.unread, s.gate = splitUnknown, nil, nil, nil
	if x.item == nil {
		s.hold, s.pending = holdUnknown, syntax.Span{}
	}
	f.set(x, s)
}

// loop runs the body of a loop: any number of times, none included. jumps says
// that a break or continue may leave it in the middle.
func (f *walk) loop(at syntax.Node, jumps bool, body func()) {
	f.depth++
	mark := len(f.log)
	objs := f.touchedBy(at)
	for _, o := range objs {
		if x := f.cells[o]; x != nil {
			f.forget(x)
		}
	}
	f.loops = append(f.loops, len(f.decls))
	over := f.over
	body()
	ended := f.over
	f.over = over
	f.loops = f.loops[:len(f.loops)-1]
	ends := f.rollback(mark)
	f.depth--
	if ended && !jumps {
		// The body always leaves the function: what follows runs after no round.
		return
	}
	for _, e := range ends {
		x := e.cell
		entry := x.state
		if ended || jumps {
			f.forget(x)
			continue
		}
		f.set(x, join2(e.old, entry))
	}
}

// drop takes x out of a list of what may still be waited for, where it is sure
// that no path has it held or closed. Else the end of its block does.
func (f *walk) drop(list *[]*cell, x *cell) {
	if f.depth > 0 {
		return
	}
	for i := len(*list) - 1; i >= 0; i-- {
		if (*list)[i] == x {
			*list = append((*list)[:i], (*list)[i+1:]...)
			return
		}
	}
}

// block runs the statements of a block with a scope of its own.
func (f *walk) block(list []syntax.Stmt, end syntax.Node) {
	start := len(f.decls)
	f.stmts(list)
	f.leave(start, end)
}

// Data flow through statements.

func (f *walk) stmts(list []syntax.Stmt) {
	for _, s := range list {
		if f.over {
			return // never reached
		}
		f.stmt(s)
	}
}

func (f *walk) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExternData:
		if s.Name.Obj != nil {
			f.declare(s.Name.Obj, state{split: splitNone})
		}
	case *syntax.Let:
		f.let(s)
	case *syntax.Register:
		f.register(s)
	case *syntax.Partition:
		f.partition(s)
	case *syntax.Unpartition:
		f.unpartition(s)
	case *syntax.Acquire:
		f.acquire(s)
	case *syntax.Release:
		f.release(s)
	case *syntax.Wait:
		f.wait(s)
	case *syntax.Checkpoint:
		f.expr(s.Dir)
		f.checkpoint(s)
	case *syntax.Prefetch:
		f.all(s.Of, func(x *cell, whole bool, e syntax.Expr) {
			if f.alive(x, e) && (x.state.life == lifeUnwritten || x.state.life == lifeInvalidated) {
				f.read(x, e, e)
			}
			f.keep(x)
		})
		f.expr(s.To)
		f.with(s.With)
	case *syntax.Hint:
		f.all(s.Of, func(x *cell, whole bool, e syntax.Expr) { f.alive(x, e); f.keep(x) })
		f.with(s.With)
	case *syntax.Verb:
		f.verb(s)
	case *syntax.If:
		f.ifStmt(s)
	case *syntax.For:
		f.expr(s.In)
		n := len(f.names)
		for _, id := range s.Names {
			f.names = append(f.names, id.Name)
		}
		if s.Body != nil {
			f.loop(s, syntax.Jumps(s.Body.Stmts), func() { f.block(s.Body.Stmts, nil) })
		}
		f.names = f.names[:n]
	case *syntax.While:
		if s.Body != nil {
			f.loop(s, syntax.Jumps(s.Body.Stmts), func() {
				f.expr(s.Cond)
				f.block(s.Body.Stmts, nil)
			})
		}
		if b, ok := syntax.Unparen(s.Cond).(*syntax.BoolLit); ok && b.Value && s.Body != nil && !syntax.Breaks(s.Body.Stmts) {
			f.over = true
		}
	case *syntax.Return:
		if s.Value != nil {
			f.expr(s.Value)
		}
		f.unreleased(0, s)
		f.over = true
	case *syntax.Break, *syntax.Continue:
		if n := len(f.loops); n > 0 {
			f.unreleased(f.loops[n-1], s)
			f.over = true
		}
	case *syntax.Assert:
		f.expr(s.Cond)
		if s.Message != nil {
			f.depth++
			mark := len(f.log)
			f.expr(s.Message)
			f.rollback(mark)
			f.depth--
		}
	case *syntax.Assign:
		f.assign(s)
	case *syntax.ExprStmt:
		f.expr(s.X)
	case *syntax.Block:
		f.block(s.Stmts, nil)
	}
}

// keep notes that a value is of use, though no task read it.
func (f *walk) keep(x *cell) {
	s := x.state
	s.unread = nil
	f.set(x, s)
}

func (f *walk) with(w *syntax.With) {
	if w == nil {
		return
	}
	for _, o := range w.Options {
		f.expr(o.Value)
	}
}

// all calls use for the data in sight that a statement names; lists are walked.
func (f *walk) all(list []syntax.Expr, use func(x *cell, whole bool, e syntax.Expr)) {
	for _, e := range list {
		if l, ok := syntax.Unparen(e).(*syntax.ListLit); ok {
			f.all(l.Items, use)
			continue
		}
		if t := e.Type(); t == nil || !t.IsHandle() && t.Kind != types.View {
			f.expr(e)
			continue
		}
		if x, whole := f.target(e, e); x != nil {
			use(x, whole, e)
		}
	}
}

func (f *walk) let(s *syntax.Let) {
	f.expr(s.Value)
	o := s.Name.Obj
	if o == nil {
		return
	}
	switch v := syntax.Unparen(s.Value).(type) {
	case *syntax.Call:
		if v.Callee != nil && v.Callee.Kind == types.BuiltinFunc && v.Callee.Name == "gate" {
			f.gates = append(f.gates, f.declare(o, state{hold: holdHeld}))
		}
	case *syntax.Insert:
		if v.With == nil {
			return
		}
		for _, opt := range v.With.Options {
			if opt.Name.Name == "after" {
				if g := f.after(opt.Value); g != nil {
					f.declare(o, state{gate: g})
				}
			}
		}
	}
}

// ifStmt walks a chain of else-ifs flat: it can be long.
func (f *walk) ifStmt(s *syntax.If) {
	var runs []func()
	for {
		f.expr(s.Cond)
		then := s.Then
		runs = append(runs, func() {
			if then != nil {
				f.block(then.Stmts, nil)
			}
		})
		next, ok := s.Else.(*syntax.If)
		if !ok {
			break
		}
		s = next
	}
	if b, ok := s.Else.(*syntax.Block); ok {
		runs = append(runs, func() { f.block(b.Stmts, nil) })
	} else {
		runs = append(runs, func() {})
	}
	f.branches(runs...)
}

func (f *walk) assign(s *syntax.Assign) {
	switch t := syntax.Unparen(s.Target).(type) {
	case *syntax.Ident:
		f.expr(s.Value)
		if x := f.cells[t.Obj]; x != nil && t.Obj != nil {
			f.escape(x)
		}
		f.clock++
		f.assigned[t.Obj] = f.clock
		return
	case *syntax.Index:
		if id, ok := syntax.Unparen(t.X).(*syntax.Ident); ok && isKind(t.X, types.Array) {
			for _, a := range t.Args {
				f.expr(a)
			}
			f.expr(s.Value)
			if x := f.cells[id.Obj]; x != nil {
				f.store(x, id, t)
			}
			return
		}
	}
	if t, ok := syntax.Unparen(s.Target).(*syntax.Index); ok {
		if b := t.X.Type(); b != nil && (b.IsHandle() || b.Kind == types.View) {
			f.expr(s.Value)
			return // reported: parts cannot be assigned
		}
	}
	f.expr(s.Target)
	f.expr(s.Value)
}

// store is an assignment to an element of an array.
func (f *walk) store(x *cell, id *syntax.Ident, at *syntax.Index) {
	s := x.state
	switch {
	case s.hold == holdReleased:
		f.afterRelease(x, id, at, "written")
	case s.mode == iface.R && s.hold == holdHeld:
		d := f.u.err("E0301", at, fmt.Sprintf("`%s` is changed here, but it is held as R", id.Name))
		d.Label = "R allows reading only"
		d.Labels = append(d.Labels, f.u.label(s.at, "held as R from here"))
		if x.item != nil {
			d.Help = append(d.Help, fmt.Sprintf("write `acquire RW %s as %s`", f.u.File.Text(x.item.Of), id.Name))
		}
		s.mode = iface.NoMode
		f.set(x, s)
		return
	default:
		return
	}
	s.hold = holdUnknown
	f.set(x, s)
}
