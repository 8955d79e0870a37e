package check

// Data flow through statements that begin and end data, views and holds.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

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
				init.escaped, init.life, init.split = true, lifeUnknown, splitUnknown // an init may serve as a lazy initialiser
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
