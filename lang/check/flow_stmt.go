package check

// Data flow through statements.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
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
		f.clock++
		f.assigned[t.Obj] = f.clock
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
