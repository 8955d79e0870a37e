package check

// Data flow through statements.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (f *flow) stmts(list []syntax.Stmt) {
	for _, s := range list {
		if f.over {
			return // never reached
		}
		f.stmt(s)
	}
}

func (f *flow) stmt(s syntax.Stmt) {
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
			f.loop(s, jumps(s.Body.Stmts), func() { f.block(s.Body.Stmts, nil) })
		}
		f.names = f.names[:n]
	case *syntax.While:
		if s.Body != nil {
			f.loop(s, jumps(s.Body.Stmts), func() {
				f.expr(s.Cond)
				f.block(s.Body.Stmts, nil)
			})
		}
		if b, ok := unparen(s.Cond).(*syntax.BoolLit); ok && b.Value && s.Body != nil && !breaks(s.Body.Stmts) {
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
func (f *flow) keep(x *cell) {
	s := x.state
	s.unread = nil
	f.set(x, s)
}

func (f *flow) with(w *syntax.With) {
	if w == nil {
		return
	}
	for _, o := range w.Options {
		f.expr(o.Value)
	}
}

// all calls use for the data in sight that a statement names; lists are walked.
func (f *flow) all(list []syntax.Expr, use func(x *cell, whole bool, e syntax.Expr)) {
	for _, e := range list {
		if l, ok := unparen(e).(*syntax.ListLit); ok {
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

func (f *flow) let(s *syntax.Let) {
	f.expr(s.Value)
	o := s.Name.Obj
	if o == nil {
		return
	}
	switch v := unparen(s.Value).(type) {
	case *syntax.Call:
		if v.Callee == builtinFuncs["gate"] && v.Callee != nil {
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

func (f *flow) register(s *syntax.Register) {
	init := state{life: lifeUnwritten, split: splitNone}
	call, ok := unparen(s.Value).(*syntax.Call)
	if !ok {
		f.expr(s.Value)
		return // a list: its handles have no names
	}
	for _, a := range call.Args {
		f.expr(a.Value)
		if f.c.unknownArg[a] {
			init.life = lifeUnknown // most likely its value
		}
		if a.Name == nil {
			continue
		}
		switch a.Name.Name {
		case "fill", "list", "load":
			init.life = lifeWritten
		case "reduce":
			if id, ok := unparen(a.Value).(*syntax.Ident); (!ok || id.Obj == nil || id.Obj.Kind != types.BuiltinValue) && init.life == lifeUnwritten {
				init.escaped, init.life = true, lifeUnknown // an init may serve as a lazy initialiser
			}
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

func (f *flow) partition(s *syntax.Partition) {
	for _, fc := range s.Filters {
		for _, a := range fc.Args {
			f.expr(a.Value)
		}
	}
	for _, e := range s.Of {
		x, whole := f.target(e, e)
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

func (f *flow) unpartition(s *syntax.Unpartition) {
	for _, e := range s.Of {
		id, ok := unparen(e).(*syntax.Ident)
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
				d := f.c.err("E0507", e, fmt.Sprintf("`%s` has no default view to end", id.Name))
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

func (f *flow) acquire(s *syntax.Acquire) {
	start, nheld := len(f.decls), len(f.held)
	var arrays []*cell
	for _, it := range s.Items {
		at := itemSpan(it)
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
		a.root, a.item, a.block = x, it, s.Body != nil
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

func (f *flow) release(s *syntax.Release) {
	for _, n := range s.Names {
		x := f.cells[n.Obj]
		if x == nil || n.Obj == nil || n.Obj.Kind != types.ArrayObject {
			continue
		}
		st := x.state
		if st.hold == holdReleased {
			d := f.c.err("E0406", n, fmt.Sprintf("`%s` is already released", n.Name))
			d.Labels = append(d.Labels, f.c.label(st.at, "given back here"))
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
			d := f.c.err("E0308", s.ToAt, fmt.Sprintf("`%s` is held as %v and cannot be released to %v", n.Name, st.mode, s.To))
			d.Labels = append(d.Labels, f.c.label(st.at, fmt.Sprintf("held as %v", st.mode)))
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

// wait reports waiting for arrays that the script holds itself, and for gates
// that it has not opened.
func (f *flow) wait(s *syntax.Wait) {
	if len(s.Of) == 0 {
		at := firstWord(f.c, s)
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
		if id, ok := unparen(e).(*syntax.Ident); ok {
			if x := f.cells[id.Obj]; x != nil && (x.obj.Type.Kind == types.Task || x.obj.Type.Kind == types.Gate) {
				switch g := x.state.gate; {
				case x.obj.Type.Kind == types.Gate && x.state.hold == holdHeld:
					d := f.c.err("E0405", e, "this waits for itself")
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
func (f *flow) heldWait(h *cell, at syntax.Node) {
	d := f.c.err("E0405", at, "this waits for itself")
	d.Label = fmt.Sprintf("waits for a task that needs `%s` released", h.obj.Name)
	d.Labels = append(d.Labels, f.c.label(itemSpan(h.item), fmt.Sprintf("`%s` is held from here", f.c.text(h.item.Of))), f.c.label(h.state.pending, "this task waits for the release"))
	d.Help = append(d.Help, fmt.Sprintf("release `%s` before", h.obj.Name))
	s := h.state
	s.pending = syntax.Span{}
	f.set(h, s)
}

func (f *flow) verb(s *syntax.Verb) {
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
			if whole {
				if x.obj.Kind == types.HandleObject && f.c.infos[x.obj].by != "extern" {
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

// ifStmt walks a chain of else-ifs flat: it can be long.
func (f *flow) ifStmt(s *syntax.If) {
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

func (f *flow) assign(s *syntax.Assign) {
	switch t := unparen(s.Target).(type) {
	case *syntax.Ident:
		f.expr(s.Value)
		if x := f.cells[t.Obj]; x != nil && t.Obj != nil {
			f.escape(x)
		}
		return
	case *syntax.Index:
		if id, ok := unparen(t.X).(*syntax.Ident); ok && isType(t.X, types.Array) {
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
	if t, ok := unparen(s.Target).(*syntax.Index); ok {
		if b := t.X.Type(); b != nil && (b.IsHandle() || b.Kind == types.View) {
			f.expr(s.Value)
			return // reported: parts cannot be assigned
		}
	}
	f.expr(s.Target)
	f.expr(s.Value)
}

// store is an assignment to an element of an array.
func (f *flow) store(x *cell, id *syntax.Ident, at *syntax.Index) {
	s := x.state
	switch {
	case s.hold == holdReleased:
		f.afterRelease(x, id, at, "written")
	case s.mode == iface.R && s.hold == holdHeld:
		d := f.c.err("E0301", at, fmt.Sprintf("`%s` is changed here, but it is held as R", id.Name))
		d.Label = "R allows reading only"
		d.Labels = append(d.Labels, f.c.label(s.at, "held as R from here"))
		if x.item != nil {
			d.Help = append(d.Help, fmt.Sprintf("write `acquire RW %s as %s`", f.c.text(x.item.Of), id.Name))
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

// leave ends a block: arrays without a block must be released, and temporary
// data ends. Of the outermost block nothing is dropped: the host may read it.
func (f *flow) leave(start int, end syntax.Node) {
	if !f.over {
		f.unreleased(start, nil)
	}
	outermost := start == 0 && !f.fn
	for i := start; i < len(f.decls); i++ {
		x := f.decls[i]
		if x.obj.Type.Kind == types.Gate && !f.over && x.state.hold == holdHeld && x.state.pending != (syntax.Span{}) && f.c.session == nil {
			d := f.c.err("E0405", x.state.pending, fmt.Sprintf("this task never starts: nothing opens `%s`", x.obj.Name))
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
func (f *flow) inScope(x *cell) bool { return x.place < len(f.decls) && f.decls[x.place] == x }

// unreleased reports arrays that a path leaves held (E0404).
func (f *flow) unreleased(start int, by syntax.Node) {
	if f.c.session != nil && !f.fn && by == nil && start == 0 {
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
		d := f.c.err("E0404", x.item, message)
		d.Label = "held until a `release`"
		if by != nil {
			d.Labels = append(d.Labels, f.c.label(by, "this path leaves it held"))
		}
		of := f.c.text(x.item.Of)
		d.Help = append(d.Help, fmt.Sprintf("write `release %s` before the block ends, or give it a block: `acquire %v %s as %s { ... }`", name, x.item.Mode, of, name))
	}
}
