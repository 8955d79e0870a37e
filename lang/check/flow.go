package check

// The second walk: data flow. It goes through the statements in order and keeps,
// for each handle, named view, acquired array and gate in sight, what is known
// about it on every path to here. Where paths meet, what differs becomes
// unknown; a loop forgets at its start what its body may change. So the walk
// visits each statement once, and says nothing that depends on values.

import (
	"github.com/starpush/starpush/datamgr/iface"
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
	gatedAt int               // flow.clock then
}

// cell is the state of one object, and what never changes about it.
type cell struct {
	obj   *types.Object
	state state
	root  *cell               // of an array: the data it holds
	item  *syntax.AcquireItem // of an array
	block bool                // of an array: acquired with a block
	place int                 // in flow.decls
	told  bool                // a missing release has been reported
	seen  int                 // used by join
	since int                 // of an array: flow.clock when it was acquired
}

// change is one entry of the log that takes back what a branch did.
type change struct {
	cell *cell
	old  state
}

// flow is one walk: over the top level of a unit, or over one function.
type flow struct {
	c     *checker
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

	touched map[syntax.Node][]*types.Object // what the body of a loop may change
	calls   *callees
}

// flow runs the second walk on the top level and on every function.
func (c *checker) flow() {
	calls := newCallees(c)
	f := &flow{c: c, cells: map[*types.Object]*cell{}, assigned: map[*types.Object]int{}, touched: map[syntax.Node][]*types.Object{}, calls: calls}
	f.stmts(c.f.Stmts)
	f.leave(0, nil)
	for _, fn := range c.funcs {
		if fn.Body == nil {
			continue
		}
		g := &flow{c: c, fn: true, cells: map[*types.Object]*cell{}, assigned: map[*types.Object]int{}, touched: f.touched, calls: calls}
		g.stmts(fn.Body.Stmts)
		g.leave(0, nil)
	}
}

// declare starts to follow an object.
func (f *flow) declare(o *types.Object, s state) *cell {
	x := &cell{obj: o, state: s, place: len(f.decls)}
	f.cells[o] = x
	f.decls = append(f.decls, x)
	return x
}

// set changes the state of x; the change can be taken back.
func (f *flow) set(x *cell, s state) {
	if x.state == s {
		return
	}
	if f.depth > 0 { // nobody takes back what happens on the only path
		f.log = append(f.log, change{x, x.state})
	}
	x.state = s
}

// rollback takes back all changes since mark and returns what they had led to,
// one entry for each cell.
func (f *flow) rollback(mark int) []change {
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

// branches runs alternatives of which exactly one happens, and joins them.
func (f *flow) branches(alternatives ...func()) {
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

// forget drops what the body of a loop, or a call, may change about x. What is
// over stays over.
func (f *flow) forget(x *cell) {
	s := x.state
	if s.life != lifeOver {
		s.life = lifeUnknown
	}
	s.hold, s.split, s.mode, s.parts, s.unread = holdUnknown, splitUnknown, iface.NoMode, nil, nil
	s.pending, s.gate = syntax.Span{}, nil
	f.set(x, s)
}

// escape notes that x may be reached by another name from here on.
func (f *flow) escape(x *cell) {
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
func (f *flow) loop(at syntax.Node, jumps bool, body func()) {
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
func (f *flow) drop(list *[]*cell, x *cell) {
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
func (f *flow) block(list []syntax.Stmt, end syntax.Node) {
	start := len(f.decls)
	f.stmts(list)
	f.leave(start, end)
}
