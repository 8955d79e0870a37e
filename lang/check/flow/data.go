package flow

// Data flow through statements that begin and end data, views and holds.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (f *walk) register(s *syntax.Register) {
	init := state{life: lifeUnwritten, split: splitNone}
	call, ok := syntax.Unparen(s.Value).(*syntax.Call)
	if !ok {
		f.expr(s.Value)
		return // a list: its handles have no names
	}
	for _, a := range call.Args {
		f.constructorArg(call, a)
		if f.u.UnknownArgs[a] {
			init.life = lifeUnknown // most likely its value
		}
		if a.Name == nil {
			continue
		}
		switch a.Name.Name {
		case "fill", "list", "val", "load", "dense", "from":
			init.life = lifeWritten
		case "reduce":
			if id, ok := syntax.Unparen(a.Value).(*syntax.Ident); (!ok || id.Obj == nil || id.Obj.Kind != types.BuiltinValue) && init.life == lifeUnwritten {
				init.escaped, init.life, init.split = true, lifeUnknown, splitUnknown // an init may serve as a lazy initialiser
			}
		}
	}
	if t := s.Value.Type(); t != nil && t.Fields() != nil && init.life == lifeUnwritten {
		fields := slices.DeleteFunc(slices.Clone(call.Args), func(a *syntax.Arg) bool { return a.Name == nil || t.Fields().Array(a.Name.Name) < 0 })
		switch len(fields) {
		case 0:
		case len(t.Fields().Arrays):
			init.life = lifeWritten
		default:
			init.life = lifeUnknown // that of some fields
		}
	}
	for _, n := range s.Names {
		if n.Obj == nil || !n.Obj.Type.IsHandle() {
			continue
		}
		st := init
		st.at = n.Span
		if n.Obj.Type.Kind == types.Void {
			st.life, st.escaped = lifeUnknown, true // needs no value
		}
		f.declare(n.Obj, st)
	}
}

// constructorArg walks the argument a of a constructor. The data of `dense`, `order` and `from` is read, as value
// does; of a sparse matrix that gives its structure nothing is read that tasks write.
func (f *walk) constructorArg(call *syntax.Call, a *syntax.Arg) {
	name := ""
	if t := a.Value.Type(); a.Name != nil && t != nil && t.IsHandle() {
		name = a.Name.Name
	}
	switch name {
	case "dense", "order", "from":
		at := syntax.Node(call)
		x, _ := f.target(a.Value, at)
		if x != nil && f.waits(x, a.Value, iface.R, at) {
			f.read(x, a.Value, at)
		}
	case "like", "transposed":
		if x, _ := f.target(a.Value, a.Value); x != nil {
			f.alive(x, a.Value)
		}
	default:
		f.expr(a.Value)
	}
}

func (f *walk) partition(s *syntax.Partition) {
	for _, fc := range s.Filters {
		for _, a := range fc.Args {
			f.expr(a.Value)
		}
	}
	for _, e := range s.Of {
		data := e
		if slice := syntax.Slice(e); slice != nil {
			for _, a := range slice.Args {
				f.expr(a)
			}
			data = slice.X
		}
		x, whole := f.target(data, e)
		if x != nil && !f.alive(x, e) {
			x = nil
		}
		if s.Name != nil {
			if o := s.Name.Obj; o != nil {
				v := f.declare(o, state{})
				v.root = x
			}
			return
		}
		if x != nil && whole && !x.state.escaped {
			st := x.state
			st.split, st.parts = splitKnown, s
			f.set(x, st)
		}
	}
}

func (f *walk) unpartition(s *syntax.Unpartition) {
	for _, e := range s.Of {
		id, ok := syntax.Unparen(e).(*syntax.Ident)
		if !ok || f.cellOf(id) == nil {
			f.target(e, e)
			continue
		}
		x := f.cellOf(id)
		st := x.state
		if id.Obj.Kind == types.ViewObject {
			f.viewOver(x, id.Name, e)
			if x.root != nil {
				f.keep(x.root)
			}
			st.life, st.at = lifeOver, id.Span
		} else {
			if !f.alive(x, e) {
				continue
			}
			if st.split == splitNone {
				d := f.u.err("E0507", e, fmt.Sprintf("`%s` has no default view to end", id.Name))
				d.Help = append(d.Help, fmt.Sprintf("drop this, or name a view: `partition v = %s by ...` and `unpartition v`", id.Name))
			}
			st.split, st.unread = splitNone, nil
			if st.escaped {
				st.split = splitUnknown
			}
		}
		f.set(x, st)
	}
	if s.To != nil {
		f.expr(s.To)
	}
}

func (f *walk) acquire(s *syntax.Acquire) {
	start, nheld := len(f.decls), len(f.held)
	var arrays []*cell
	for _, it := range s.Items {
		at := it.Access()
		x, whole := f.target(it.Of, at)
		if x != nil && f.waits(x, it.Of, it.Mode, at) {
			switch it.Mode {
			case iface.W:
				if f.alive(x, it.Of) {
					if whole {
						f.lost(x, at, "overwritten here")
					}
					f.written(x, whole)
				}
			case iface.RW:
				f.read(x, it.Of, at)
				f.written(x, whole)
			default:
				f.read(x, it.Of, at)
			}
		}
		if it.As.Obj == nil {
			continue
		}
		a := f.declare(it.As.Obj, state{hold: holdHeld, mode: it.Mode, at: it.Range()})
		a.root, a.item, a.block, a.since = x, it, s.Body != nil, f.clock
		arrays = append(arrays, a)
	}
	f.held = append(f.held, arrays...)
	if s.Body == nil {
		return
	}
	f.stmts(s.Body.Stmts)
	f.leave(start, nil)
	f.held = f.held[:nheld]
	// The block released them: what waited for the release goes on.
	for _, a := range arrays {
		st := a.state
		st.hold, st.pending = holdReleased, syntax.Span{}
		f.set(a, st)
	}
}

func (f *walk) release(s *syntax.Release) {
	for _, n := range s.Names {
		x := f.cells[n.Obj]
		if x == nil || n.Obj == nil || n.Obj.Kind != types.ArrayObject {
			continue
		}
		st := x.state
		if st.hold == holdReleased {
			d := f.u.err("E0406", n, fmt.Sprintf("`%s` is already released", n.Name))
			d.Labels = append(d.Labels, f.u.label(st.at, "given back here"))
			d.Help = append(d.Help, "drop this `release`")
			continue
		}
		if s.To == iface.NoMode {
			st.hold, st.at, st.pending = holdReleased, n.Span, syntax.Span{}
			f.set(x, st)
			f.drop(&f.held, x)
			continue
		}
		if weaker := s.To == st.mode || st.mode == iface.RW || st.mode == iface.NoMode || st.mode == iface.W && s.To == iface.R; !weaker {
			d := f.u.err("E0308", s.ToAt, fmt.Sprintf("`%s` is held as %v and cannot be released to %v", n.Name, st.mode, s.To))
			d.Labels = append(d.Labels, f.u.label(st.at, fmt.Sprintf("held as %v", st.mode)))
			d.Help = append(d.Help, fmt.Sprintf("acquire it as %v, or release it and acquire it again", s.To))
			continue
		}
		if st.mode != s.To {
			st.mode, st.at = s.To, n.Span
			st.pending = syntax.Span{}
			f.set(x, st)
		}
	}
}

// leave ends a block: arrays without a block must be released, and temporary
// data ends. Of the outermost block nothing is dropped: the host may read it.
func (f *walk) leave(start int, end syntax.Node) {
	if !f.over {
		f.unreleased(start, nil)
	}
	outermost := start == 0 && !f.fn
	for i := start; i < len(f.decls); i++ {
		x := f.decls[i]
		if x.obj.Type.Kind == types.Gate && !f.over && x.state.hold == holdHeld && x.state.pending != (syntax.Span{}) && !f.u.Session {
			d := f.u.err("E0405", x.state.pending, fmt.Sprintf("this task never starts: nothing opens `%s`", x.obj.Name))
			d.Labels = append(d.Labels, diag.Label{Span: x.obj.Decl, Text: "closed when it is made"})
			d.Help = append(d.Help, fmt.Sprintf("write `open(%s)` below it", x.obj.Name))
			s := x.state
			s.pending = syntax.Span{}
			f.set(x, s)
		}
		if !outermost && !f.over && x.obj.Kind == types.HandleObject && x.state.life != lifeOver {
			f.lost(x, nil, "the data ends with its block")
		}
	}
	f.decls = f.decls[:start]
	for len(f.gates) > 0 && !f.inScope(f.gates[len(f.gates)-1]) {
		f.gates = f.gates[:len(f.gates)-1]
	}
	for len(f.held) > 0 && !f.inScope(f.held[len(f.held)-1]) {
		f.held = f.held[:len(f.held)-1]
	}
}

// inScope reports whether x was declared in a block that is still open.
func (f *walk) inScope(x *cell) bool { return x.place < len(f.decls) && f.decls[x.place] == x }

// unreleased reports arrays that a path leaves held (E0404).
func (f *walk) unreleased(start int, by syntax.Node) {
	if f.u.Session && !f.fn && by == nil && start == 0 {
		return // entries of a session form one block that never ends
	}
	for _, x := range f.held {
		if x.place < start || x.block || x.told || x.state.hold != holdHeld && x.state.hold != holdMaybe {
			continue
		}
		x.told = true
		name := x.obj.Name
		message := fmt.Sprintf("`%s` is never released", name)
		if x.state.hold == holdMaybe || by != nil {
			message = fmt.Sprintf("`%s` is not released on every path", name)
		}
		d := f.u.err("E0404", x.item, message)
		d.Label = "held until a `release`"
		if by != nil {
			d.Labels = append(d.Labels, f.u.label(by, "this path leaves it held"))
		}
		of := f.u.File.Text(x.item.Of)
		d.Help = append(d.Help, fmt.Sprintf("write `release %s` before the block ends, or give it a block: `acquire %v %s as %s { ... }`", name, x.item.Mode, of, name))
	}
}

// Uses of data, and how each changes the known state of the data.

// wait reports waiting for arrays that the script holds itself, and for gates
// that it has not opened.
// checkpoint waits for all tasks, and needs all data.
func (f *walk) checkpoint(s *syntax.Checkpoint) {
	at := syntax.Span{Lo: s.Lo, Hi: s.Lo + int32(len("checkpoint"))}
	for _, h := range f.held {
		if h.state.hold == holdHeld {
			d := f.u.err("E0405", at, "this waits for itself")
			d.Label = fmt.Sprintf("needs `%s` released", h.obj.Name)
			d.Labels = append(d.Labels, f.u.label(h.item.Access(), fmt.Sprintf("`%s` is held from here", f.u.File.Text(h.item.Of))))
			d.Help = append(d.Help, fmt.Sprintf("release `%s` before", h.obj.Name))
			return
		}
	}
	for _, g := range f.gates {
		if g.state.hold == holdHeld && g.state.pending != (syntax.Span{}) {
			f.stuck(g, at)
			return
		}
	}
}

func (f *walk) wait(s *syntax.Wait) {
	if len(s.Of) == 0 {
		at := syntax.Span{Lo: s.Lo, Hi: s.Lo + int32(len("wait"))}
		for _, h := range f.held {
			if h.state.hold == holdHeld && h.state.pending != (syntax.Span{}) {
				f.heldWait(h, at)
				return
			}
		}
		for _, g := range f.gates {
			if g.state.hold == holdHeld && g.state.pending != (syntax.Span{}) {
				f.stuck(g, at)
				return
			}
		}
		return
	}
	for _, e := range s.Of {
		if id, ok := syntax.Unparen(e).(*syntax.Ident); ok {
			if x := f.cells[id.Obj]; x != nil && (x.obj.Type.Kind == types.Task || x.obj.Type.Kind == types.Gate) {
				switch g := x.state.gate; {
				case x.obj.Type.Kind == types.Gate && x.state.hold == holdHeld:
					d := f.u.err("E0405", e, "this waits for itself")
					d.Label = fmt.Sprintf("nothing has opened `%s`", id.Name)
					d.Help = append(d.Help, fmt.Sprintf("write `open(%s)` before it", id.Name))
				case g != nil && g.state.hold == holdHeld && g.state.pending != (syntax.Span{}):
					f.stuck(g, e)
				}
				continue
			}
		}
		f.all([]syntax.Expr{e}, func(x *cell, whole bool, e syntax.Expr) {
			if f.alive(x, e) && f.waits(x, e, iface.NoMode, e) {
				f.keep(x)
			}
		})
	}
}

// heldWait is E0405 for a bare wait while a task waits for a held array.
func (f *walk) heldWait(h *cell, at syntax.Node) {
	d := f.u.err("E0405", at, "this waits for itself")
	d.Label = fmt.Sprintf("waits for a task that needs `%s` released", h.obj.Name)
	d.Labels = append(d.Labels, f.u.label(h.item.Access(), fmt.Sprintf("`%s` is held from here", f.u.File.Text(h.item.Of))), f.u.label(h.state.pending, "this task waits for the release"))
	d.Help = append(d.Help, fmt.Sprintf("release `%s` before", h.obj.Name))
	s := h.state
	s.pending = syntax.Span{}
	f.set(h, s)
}

func (f *walk) verb(s *syntax.Verb) {
	f.all(s.Of, func(x *cell, whole bool, e syntax.Expr) {
		if !f.alive(x, e) {
			return
		}
		st := x.state
		switch s.Verb {
		case "invalidate":
			if whole {
				f.lost(x, e, "dropped here")
			}
			st.unread = nil
			st.life = lifeUnknown
			if whole && !st.escaped {
				st.life, st.at = lifeInvalidated, e.Range()
			}
		case "unregister":
			if _, array := syntax.Unparen(e).(*syntax.Selector); whole && !array {
				if x.obj.Kind == types.HandleObject && !isExtern(x.obj) {
					f.lost(x, e, "dropped here")
				}
				st.life, st.at = lifeOver, e.Range()
			}
			st.unread = nil
		default:
			st.unread = nil
		}
		f.set(x, st)
	})
}

// target finds the data that e names and checks that it still exists: x, x[i],
// v, v[i, j], and x.f of structs. The cell is nil when the data is not in sight; whole says that e
// is all of it. Indices are walked.
func (f *walk) target(e syntax.Expr, at syntax.Node) (x *cell, whole bool) {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Ident:
		x = f.cellOf(e)
		if x == nil {
			return nil, false
		}
		if x.obj.Kind == types.ViewObject {
			f.viewOver(x, e.Name, at)
			return x.root, false
		}
		return x, true
	case *syntax.Index:
		for _, a := range e.Args {
			f.expr(a)
		}
		x, _ = f.target(e.X, at)
		if id, ok := syntax.Unparen(e.X).(*syntax.Ident); ok && x != nil && x.obj == id.Obj {
			f.defaultView(x, e, id.Name)
		}
		return x, false
	case *syntax.Selector:
		if t := e.X.Type(); t == nil || e.Name == nil || t.Member(e.Name.Name) == nil {
			break
		}
		x, whole = f.target(e.X, at)
		if e.X.Type().Fields() != nil {
			return x, false // a field is a part of structs
		}
		if e.Name.Name != "val" { // its structure always has a value
			if x != nil {
				f.alive(x, at)
			}
			return nil, false
		}
		return x, whole
	}
	f.expr(e)
	return nil, false
}

// cellOf returns the cell of the handle or view that id names.
func (f *walk) cellOf(id *syntax.Ident) *cell {
	if id.Obj == nil || id.Obj.Kind != types.HandleObject && id.Obj.Kind != types.ViewObject {
		return nil
	}
	return f.cells[id.Obj]
}

// viewOver reports the use of a view that has ended (E0506).
func (f *walk) viewOver(x *cell, name string, at syntax.Node) {
	if x.state.life != lifeOver {
		return
	}
	d := f.u.err("E0506", at, fmt.Sprintf("`%s` is used after its view ended", name))
	d.Label = "used here"
	d.Labels = append(d.Labels, f.u.label(x.state.at, "ended here"))
	d.Help = append(d.Help, fmt.Sprintf("drop the `unpartition`: `%s` and its data may be used side by side", name))
	f.dropStatement(d, "unpartition", x.state.at)
	s := x.state
	s.life = lifeUnknown
	f.set(x, s)
}

// defaultView checks x[…] against the default view of x.
func (f *walk) defaultView(x *cell, e *syntax.Index, name string) {
	s := x.state
	switch {
	case s.life == lifeOver:
	case s.split == splitNone && slices.ContainsFunc(e.Args, func(a syntax.Expr) bool { return isKind(a, types.Range) }):
		// Package check reports it, with what to write.
	case s.split == splitNone:
		d := f.u.err("E0507", e, fmt.Sprintf("`%s` has no default view", name))
		if s.parts != nil {
			d.Labels = append(d.Labels, f.u.label(s.parts, "the one declared here has ended"))
		}
		form := "blocks(p)"
		if x.obj.Type.Kind == types.Matrix {
			form = "tiles(p, q)"
		} else if x.obj.Type.Kind == types.Block || x.obj.Type.Kind == types.Tensor {
			form = "axis(0, p)"
		} else if x.obj.Type.Sparse() != nil {
			form = map[types.Kind]string{types.CSC: "cols(p)", types.COO: "entries(p)", types.Structs: "blocks(p)"}[x.obj.Type.Kind]
			if form == "" {
				form = "rows(p)"
			}
		}
		d.Help = append(d.Help, fmt.Sprintf("declare one first: `partition %s by %s`", name, form))
		d.Help = append(d.Help, fmt.Sprintf("for single elements write `%s`", f.u.Checker.AcquireElement(e, x.obj.Type)))
		s.split = splitUnknown
		f.set(x, s)
	case s.split == splitKnown:
		f.u.Checker.CheckCount(e, name, s.parts, f.names)
	}
}

// alive reports the use of data that was unregistered (E0403). It returns false
// after a report.
func (f *walk) alive(x *cell, at syntax.Node) bool {
	s := x.state
	if s.life != lifeOver {
		return true
	}
	d := f.u.err("E0403", at, fmt.Sprintf("`%s` is used after it was unregistered", x.obj.Name))
	d.Label = "used here"
	d.Labels = append(d.Labels, f.u.label(s.at, "unregistered here"))
	line := f.u.File.At(at).Start.Line
	d.Help = append(d.Help, fmt.Sprintf("move the `unregister` below line %d, or drop it: the block unregisters its own handles", line))
	f.dropStatement(d, "unregister", s.at)
	s.life, s.escaped = lifeUnknown, true
	f.set(x, s)
	return false
}

// read notes that the value of x, named of, is needed at a place.
func (f *walk) read(x *cell, of syntax.Expr, at syntax.Node) {
	if !f.alive(x, of) {
		return
	}
	s := x.state
	switch s.life {
	case lifeUnwritten:
		f.unwritten(x, at)
	case lifeInvalidated:
		f.invalidated(x, at)
	default:
		s.unread = nil
		f.set(x, s)
		return
	}
	s.life, s.unread = lifeUnknown, nil
	f.set(x, s)
}

// unwritten is E0401.
func (f *walk) unwritten(x *cell, at syntax.Node) {
	name := x.obj.Name
	d := f.u.err("E0401", at, fmt.Sprintf("`%s` is read before anything writes it", name))
	d.Label = "first use"
	d.Labels = append(d.Labels, diag.Label{Span: x.obj.Decl, Text: "registered without a value"})
	ctor := constructorOf(x.obj)
	if ctor == nil {
		return
	}
	filled := f.u.Checker.WithArg(ctor, "fill = 0")
	d.Help = append(d.Help, fmt.Sprintf("give it a value: `%s`", filled))
	d.Edit(f.u.File.At(ctor), filled)
	if t := x.obj.Type; t.Sparse() != nil && t.Fields() == nil {
		d.Help = append(d.Help, fmt.Sprintf("or write its values first, by a task that takes `W %s`", name))
	} else if t.IsDense() && !t.Elem.IsComplex() {
		zero := "0"
		if t.Elem.Part().IsFloat() {
			zero = "0.0"
		} else if t.Elem == iface.B8 {
			zero = "false"
		}
		d.Help = append(d.Help, fmt.Sprintf("or write it first: `insert blas.fill(W %s, %s)`", name, zero))
	}
}

// dropStatement adds the edit that drops a verb on at, if the statement is alone on its
// line.
func (f *walk) dropStatement(d *diag.Diagnostic, verb string, at syntax.Node) {
	span := f.u.File.At(at)
	if line, ok := span.OwnLine(verb + " " + span.Text()); ok {
		d.Edit(line, "")
	}
}

// invalidated is E0402.
func (f *walk) invalidated(x *cell, at syntax.Node) {
	d := f.u.err("E0402", at, fmt.Sprintf("`%s` was invalidated and not written since", x.obj.Name))
	d.Label = "read here"
	d.Labels = append(d.Labels, f.u.label(x.state.at, "value dropped here"))
	switch w, after := f.sum.writerOf(x.obj, at.Range().Lo); {
	case w == "":
		d.Help = append(d.Help, "write it first, or drop the `invalidate`")
		f.dropStatement(d, "invalidate", x.state.at)
	case after:
		d.Help = append(d.Help, fmt.Sprintf("the `%s` tasks must be inserted before this line", w))
	default:
		d.Help = append(d.Help, fmt.Sprintf("drop the `invalidate`, or insert `%s` once more between it and this line", w))
		f.dropStatement(d, "invalidate", x.state.at)
	}
}

// written notes that x gets a value; whole says all of it.
func (f *walk) written(x *cell, whole bool) {
	s := x.state
	if s.life == lifeOver {
		return
	}
	s.life = lifeUnknown
	if whole && !s.escaped {
		s.life = lifeWritten
	}
	s.unread = nil
	f.set(x, s)
}

// lost warns that the value written before is dropped without being read.
func (f *walk) lost(x *cell, at syntax.Node, how string) {
	w := x.state.unread
	if w == nil || x.state.escaped {
		return
	}
	d := f.u.warn("W0401", w, fmt.Sprintf("the value that this writes to `%s` is never read", x.obj.Name))
	if at != nil {
		d.Labels = append(d.Labels, f.u.label(at, how))
	} else {
		d.Label = how
	}
	d.Help = append(d.Help, "drop this task, or read its result before")
}

// passed returns the mode in which the task of e has a.
func passed(e *syntax.Insert, a *syntax.TaskArg) iface.AccessMode {
	if a.Mode == iface.Commute && e.Callee != nil {
		if k := slices.Index(e.Bound, a); k >= 0 {
			m, _ := e.Callee.Sig.Params[k].Passed(a.Mode)
			return m
		}
	}
	return a.Mode
}

// operand is one handle of an insert.
func (f *walk) operand(e *syntax.Insert, a *syntax.TaskArg, failed bool) *cell {
	at := syntax.Node(syntax.Span{Lo: a.ModeAt.Lo, Hi: a.Value.Range().Hi})
	if a.Mode == iface.NoMode {
		at = a.Value
	}
	x, whole := f.target(a.Value, at)
	if a.At != nil {
		f.expr(a.At)
	}
	if x == nil {
		return nil
	}
	if failed { // its real mode is not known
		if x.state.life != lifeOver {
			f.written(x, false)
		}
		return x
	}
	switch passed(e, a) {
	case iface.R:
		f.read(x, a.Value, at)
	case iface.CommuteW: // another one may come after it, although it is inserted before
		if f.alive(x, a.Value) {
			if whole {
				f.lost(x, at, "overwritten here")
			}
			f.written(x, whole)
		}
	case iface.W:
		if f.alive(x, a.Value) {
			if whole {
				f.lost(x, at, "overwritten here")
			}
			f.written(x, whole)
			if s := x.state; whole && !s.escaped {
				s.unread = a
				f.set(x, s)
			}
		}
	case iface.RW, iface.Commute:
		f.read(x, a.Value, at)
		if whole {
			f.written(x, true)
		}
	case iface.Redux:
		if f.alive(x, a.Value) {
			f.written(x, whole)
		}
	case iface.Scratch:
		f.scratch(x, a.Value, at)
	}
	f.conflicts(x, a, at)
	return x
}

// scratch warns about SCRATCH on data that holds a value.
func (f *walk) scratch(x *cell, of syntax.Expr, at syntax.Node) {
	if !f.alive(x, of) || x.state.life != lifeWritten || x.state.escaped {
		return
	}
	d := f.u.warn("W0305", at, fmt.Sprintf("`%s` holds a value, and SCRATCH does not use it", x.obj.Name))
	d.Label = "every worker gets memory of its own, with unspecified content"
	d.Labels = append(d.Labels, diag.Label{Span: x.obj.Decl, Text: "registered here"})
	d.Help = append(d.Help, "register workspace of its own, without `fill`, `list` or `load`")
	s := x.state
	s.life = lifeUnknown // said once
	f.set(x, s)
}

// conflicts notes that an inserted task waits for an array that the script holds.
func (f *walk) conflicts(x *cell, a *syntax.TaskArg, at syntax.Node) {
	for _, h := range f.held {
		if h.root != x || h.state.hold != holdHeld || a.Mode == iface.Scratch || a.Mode == iface.Redux {
			continue
		}
		if h.state.mode == iface.R && a.Mode == iface.R || h.state.mode == iface.NoMode || !f.stillSame(h.item.Of, h.since, a.Value) {
			continue
		}
		s := h.state
		s.pending, s.gated, s.gatedAt = at.Range(), a, f.clock
		f.set(h, s)
	}
}

// waits notes that the script waits here for data that an access in a mode needs.
// It returns false when the data is gone, or when that was reported as waiting for
// itself (E0405).
func (f *walk) waits(x *cell, of syntax.Expr, mode iface.AccessMode, at syntax.Node) bool {
	if !f.alive(x, of) {
		return false
	}
	for i := len(f.held) - 1; i >= 0; i-- {
		h := f.held[i]
		if h.root != x || h.state.hold != holdHeld || !f.stillSame(h.item.Of, h.since, of) {
			continue
		}
		s := h.state
		behind := s.pending != (syntax.Span{}) && s.gated != nil && f.stillSame(s.gated.Value, s.gatedAt, of) // another task, which waits for h
		if !behind && (mode == iface.NoMode || mode == iface.R && s.mode == iface.R) || s.mode == iface.NoMode {
			continue
		}
		d := f.u.err("E0405", at, "this waits for itself")
		if h.block {
			d.Label = fmt.Sprintf("waits until the block releases `%s`", x.obj.Name)
		} else {
			d.Label = fmt.Sprintf("waits until `release %s`", h.obj.Name)
		}
		d.Labels = append(d.Labels, f.u.label(h.item.Access(), fmt.Sprintf("`%s` is held from here", x.obj.Name)))
		if behind && (mode == iface.NoMode || mode == iface.R && s.mode == iface.R) {
			d.Labels = append(d.Labels, f.u.label(s.pending, "this task waits for the release, too"))
			d.Help = append(d.Help, fmt.Sprintf("release `%s` before", h.obj.Name))
			return false
		}
		same := h.obj.Name
		if x.obj.Type.Kind == types.Variable {
			same += "[0]"
		}
		d.Help = append(d.Help, fmt.Sprintf("use `%s`, which is the same data", same))
		if f.u.File.Text(at) == "value("+x.obj.Name+")" {
			d.Edit(f.u.File.At(at), same)
		}
		return false
	}
	return f.gateOpen(x, of, mode, at)
}

// stillSame reports whether then, which was evaluated when f.clock was since, and now share
// elements for sure.
func (f *walk) stillSame(then syntax.Expr, since int, now syntax.Expr) bool {
	if !SameElements(then, now) {
		return false
	}
	same := true
	if !equal(then, now) {
		return same // one of them is the whole
	}
	syntax.WalkExpr(then, func(e syntax.Expr) bool {
		if id, ok := e.(*syntax.Ident); ok && id.Obj != nil && (id.Obj.Kind == types.LetObject || id.Obj.Kind == types.FuncParam) {
			same = same && f.assigned[id.Obj] <= since && (!id.Obj.Global || f.called <= since)
		}
		if x, ok := e.(*syntax.Index); ok && x.X.Type() != nil && x.X.Type().Kind == types.List {
			same = false // items change by any name of the list
		}
		return same
	})
	return same
}

// gateOpen reports waiting for data that a task uses which waits for a closed gate.
func (f *walk) gateOpen(x *cell, of syntax.Expr, mode iface.AccessMode, at syntax.Node) bool {
	g, by := x.state.gate, x.state.gated
	if g == nil || g.state.hold != holdHeld || g.state.pending == (syntax.Span{}) {
		return true
	}
	if by != nil && (by.Mode == iface.R && mode == iface.R || !f.stillSame(by.Value, x.state.gatedAt, of)) {
		return true // it need not wait for that one
	}
	f.stuck(g, at)
	return false
}

// stuck is E0405 for a gate that is still closed.
func (f *walk) stuck(g *cell, at syntax.Node) {
	d := f.u.err("E0405", at, "this waits for itself")
	d.Label = fmt.Sprintf("waits for a task that needs `%s` open", g.obj.Name)
	d.Labels = append(d.Labels, f.u.label(g.state.pending, fmt.Sprintf("this task waits for `%s`", g.obj.Name)))
	d.Help = append(d.Help, fmt.Sprintf("write `open(%s)` before it", g.obj.Name))
	s := g.state
	s.pending = syntax.Span{}
	f.set(g, s)
}

// Data that expressions name.
