package flow

// Data flow through expressions.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// expr walks an expression whose value may go anywhere.
func (f *walk) expr(e syntax.Expr) {
	switch e := e.(type) {
	case nil, *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit, *syntax.StringLit, *syntax.BoolLit, *syntax.NoneLit:
	case *syntax.Ident:
		f.mention(e)
	case *syntax.FString:
		for _, p := range e.Parts {
			if p.X != nil {
				f.shown(p.X)
			}
		}
	case *syntax.Paren:
		f.expr(e.X)
	case *syntax.ListLit:
		for _, x := range e.Items {
			f.expr(x)
		}
	case *syntax.ListComp:
		f.expr(e.In)
		f.loop(e, false, func() { f.expr(e.Item) })
	case *syntax.Unary:
		f.expr(e.X)
	case *syntax.Binary:
		f.binary(e)
	case *syntax.RangeExpr:
		f.expr(e.Lo)
		f.expr(e.Hi)
	case *syntax.Cond:
		f.expr(e.If)
		f.branches(func() { f.expr(e.Then) }, func() { f.expr(e.Else) })
	case *syntax.Call:
		f.call(e)
	case *syntax.Index:
		f.index(e)
	case *syntax.Selector:
		f.selector(e)
	case *syntax.Insert:
		f.insert(e)
	}
}

// binary walks x op y.
func (f *walk) binary(e *syntax.Binary) {
	chain := e.Chain(nil)
	f.expr(chain[0].X)
	for _, b := range chain {
		if b.Op == "and" || b.Op == "or" {
			if _, plain := b.Y.(*syntax.Ident); !plain {
				f.branches(func() { f.expr(b.Y) }, func() {})
				continue
			}
		}
		f.expr(b.Y)
	}
}

// mention is a name whose value may be kept under another one.
func (f *walk) mention(id *syntax.Ident) {
	x := f.cells[id.Obj]
	if x == nil || id.Obj == nil {
		return
	}
	switch id.Obj.Kind {
	case types.HandleObject:
		if x.state.life != lifeOver { // naming data that was unregistered does not use it
			f.escape(x)
		}
	case types.ViewObject:
		f.viewOver(x, id.Name, id)
		if x.root != nil {
			f.escape(x.root)
		}
	case types.ArrayObject:
		f.arrayUse(x, id, id)
	default: // a gate or a task
		f.escape(x)
	}
}

// arrayUse checks that an array is not released yet (E0406).
func (f *walk) arrayUse(x *cell, id *syntax.Ident, at syntax.Node) {
	if x.state.hold != holdReleased {
		return
	}
	f.afterRelease(x, id, at, "read")
	s := x.state
	s.hold = holdUnknown
	f.set(x, s)
}

func (f *walk) afterRelease(x *cell, id *syntax.Ident, at syntax.Node, done string) {
	d := f.u.err("E0406", at, fmt.Sprintf("`%s` is %s after its release", id.Name, done))
	d.Labels = append(d.Labels, f.u.label(x.state.at, "given back here"))
	before := "use it"
	switch {
	case f.printing:
		before = "print"
	case done == "written":
		before = "write it"
	}
	name := id.Name
	if x.item != nil {
		name = f.u.File.Text(x.item.Of)
	}
	d.Help = append(d.Help, fmt.Sprintf("%s before the release, or acquire `%s` again", before, name))
}

// shown is a value that print, str or an f-string writes: a handle is read.
func (f *walk) shown(e syntax.Expr) {
	if t := e.Type(); t != nil && (t.IsHandle() || t.Kind == types.View) {
		x, _ := f.target(e, e)
		if x == nil || t.Kind == types.View {
			return
		}
		// Printing shows elements without a value as "?": no read of one is an error.
		if f.alive(x, e) && f.waits(x, e, iface.R, e) {
			s := x.state
			s.unread = nil
			f.set(x, s)
		}
		return
	}
	f.expr(e)
}

func (f *walk) call(e *syntax.Call) {
	if e.Callee == nil || e.Callee.Kind != types.BuiltinFunc {
		if e.Callee == nil {
			if _, ok := e.Fn.(*syntax.Ident); !ok {
				f.expr(e.Fn)
			}
		}
		for _, a := range e.Args {
			f.expr(a.Value)
		}
		f.sum.call(f, e)
		return
	}
	switch e.Callee.Name {
	case "print", "str":
		was := f.printing
		f.printing = e.Callee.Name == "print"
		for _, a := range e.Args {
			f.shown(a.Value)
		}
		f.printing = was
	case "value", "save":
		for i, a := range e.Args {
			if t := a.Value.Type(); i > 0 || t == nil || !t.IsHandle() {
				f.expr(a.Value)
				continue
			}
			at := syntax.Node(e)
			x, _ := f.target(a.Value, at)
			if x != nil && f.waits(x, a.Value, iface.R, at) {
				f.read(x, a.Value, at)
			}
		}
	case "busy":
		for _, a := range e.Args {
			if id, ok := syntax.Unparen(a.Value).(*syntax.Ident); ok && (isKind(id, types.Task) || isKind(id, types.Gate)) {
				continue // busy does not wait for it
			}
			f.all([]syntax.Expr{a.Value}, func(x *cell, whole bool, e syntax.Expr) { f.alive(x, e) })
		}
	case "len":
		for _, a := range e.Args {
			if t := a.Value.Type(); t != nil && (t.Kind == types.View || t.IsHandle()) {
				f.target(a.Value, a.Value)
			} else {
				f.expr(a.Value)
			}
		}
	case "open":
		for _, a := range e.Args {
			id, ok := syntax.Unparen(a.Value).(*syntax.Ident)
			if !ok || f.cells[id.Obj] == nil {
				f.expr(a.Value)
				continue
			}
			x := f.cells[id.Obj]
			s := x.state
			s.hold, s.pending = holdReleased, syntax.Span{}
			if s.escaped {
				s.hold = holdUnknown
			}
			f.set(x, s)
			f.drop(&f.gates, x)
		}
	case "reducer", "layout":
	default:
		for _, a := range e.Args {
			f.expr(a.Value)
		}
	}
}

func (f *walk) index(e *syntax.Index) {
	t := e.X.Type()
	switch {
	case t == nil:
	case t.Kind == types.Array:
		for _, a := range e.Args {
			f.expr(a)
		}
		if id, ok := syntax.Unparen(e.X).(*syntax.Ident); ok {
			if x := f.cells[id.Obj]; x != nil {
				f.arrayUse(x, id, e)
			}
			return
		}
	case t.IsHandle() || t.Kind == types.View:
		// A part that goes somewhere: its data may be reached by another name.
		if x, _ := f.target(e, e); x != nil && x.state.life != lifeOver {
			f.escape(x)
		}
		return
	default:
		for _, a := range e.Args {
			f.expr(a)
		}
	}
	f.expr(e.X)
}

func (f *walk) selector(e *syntax.Selector) {
	t := e.X.Type()
	if t == nil || e.Name == nil || e.Name.Obj != nil {
		return
	}
	if t.IsHandle() || t.Kind == types.View {
		x, _ := f.target(e.X, e)
		if x != nil && x.state.life != lifeOver && (e.Name.Name == "parts" || t.Member(e.Name.Name) != nil) {
			f.escape(x)
		}
		return
	}
	if id, ok := syntax.Unparen(e.X).(*syntax.Ident); ok && t.Kind == types.Array {
		if x := f.cells[id.Obj]; x != nil {
			f.arrayUse(x, id, e)
		}
		return
	}
	f.expr(e.X)
}

// insert walks a task: its operands in their order, scalars first where they
// need values.
func (f *walk) insert(e *syntax.Insert) {
	failed := f.u.Failed[e]
	for _, a := range e.Args {
		if t := a.Value.Type(); t == nil || !t.IsHandle() || a.Mode == iface.NoMode && !failed {
			f.expr(a.Value)
		}
	}
	var gate *cell
	var sync *syntax.Option
	if e.With != nil {
		for _, o := range e.With.Options {
			switch o.Name.Name {
			case "after":
				if g := f.after(o.Value); g != nil {
					gate = g
				}
			case "unordered":
				if l, ok := syntax.Unparen(o.Value).(*syntax.ListLit); ok {
					for _, x := range l.Items {
						f.target(x, x)
					}
				} else {
					f.expr(o.Value)
				}
			case "sync":
				if b, ok := o.Value.(*syntax.BoolLit); ok && b.Value {
					sync = o
				}
				f.expr(o.Value)
			default:
				f.expr(o.Value)
			}
		}
	}
	for _, a := range e.Args {
		t := a.Value.Type()
		if t == nil || !t.IsHandle() || a.Mode == iface.NoMode && !failed {
			continue
		}
		if x := f.operand(e, a, failed); x != nil && gate != nil && a.Mode != iface.Scratch {
			s := x.state
			if a.Mode == iface.R && s.gate != nil && s.gate.state.hold == holdHeld {
				continue // more waits for the one before
			}
			s.gate, s.gated, s.gatedAt = gate, a, f.clock
			f.set(x, s)
		}
	}
	if gate != nil {
		s := gate.state
		if s.hold == holdHeld && s.pending == (syntax.Span{}) {
			s.pending = syntax.Span{Lo: e.Word.Lo, Hi: e.Parens.Hi}
			f.set(gate, s)
		}
		if sync != nil && s.hold == holdHeld {
			f.stuck(gate, sync)
		}
	}
}

// after walks the value of the option after and returns a gate in it that is
// closed for sure.
func (f *walk) after(e syntax.Expr) (gate *cell) {
	items := []syntax.Expr{syntax.Unparen(e)}
	if l, ok := items[0].(*syntax.ListLit); ok {
		items = l.Items
	}
	for _, x := range items {
		id, ok := syntax.Unparen(x).(*syntax.Ident)
		if !ok {
			f.expr(x)
			continue
		}
		c := f.cells[id.Obj]
		if c == nil {
			continue
		}
		if c.state.gate != nil { // a task that waits for a gate
			c = c.state.gate
		}
		if c.state.hold == holdHeld && c.obj.Type.Kind == types.Gate {
			gate = c
		}
	}
	return gate
}
