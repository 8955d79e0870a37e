package interp

// Blocks own what is made in them: handles are unregistered, named views ended
// and arrays released when the block is left, on every way out.

import (
	"fmt"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// owned is one thing that a block owns: exactly one field is set.
type owned struct {
	h     *Handle // a whole datum
	v     *View   // a named view
	a     *Array
	moved bool // returned: it goes to the block of the call
}

// heldArrays are the arrays that a script has acquired and not released.
type heldArrays []*Array

// scoped wraps the body of a block that owns things.
func scoped(body stmt) stmt {
	return func(f *frame) (k ctl) {
		m := f.m
		base := len(m.owned)
		m.bases = append(m.bases, base)
		depth := len(m.bases)
		done := false
		defer func() {
			m.bases = m.bases[:depth-1]
			m.endBlock(base, done && k == ret)
		}()
		k = body(f)
		done = true
		return k
	}
}

// endBlock ends what was made since there were base things. When the block is left
// by return, what was moved stays.
func (m *Machine) endBlock(base int, returning bool) {
	kept := base
	var keep []owned
	for k := len(m.owned) - 1; k >= base; k-- {
		o := m.owned[k]
		if returning && o.moved {
			keep = append(keep, o)
			continue
		}
		m.endOwned(o)
	}
	for k := len(keep) - 1; k >= 0; k-- {
		if keep[k].h != nil {
			keep[k].h.owner = int32(kept)
		}
		m.owned[kept] = keep[k]
		kept++
	}
	clear(m.owned[kept:])
	m.owned = m.owned[:kept]
}

// endOwned ends one thing.
func (m *Machine) endOwned(o owned) {
	switch {
	case o.a != nil:
		o.a.drop()
	case o.v != nil:
		if !o.v.v.Ended() {
			o.v.end(m)
		}
	case o.h != nil:
		if o.h.h.Alive() {
			m.unregisterHandle(o.h)
		}
	}
}

// settle ends the move of returned things: they belong to the calling block now.
func (m *Machine) settle(base int) {
	for k := base; k < len(m.owned); k++ {
		m.owned[k].moved = false
	}
}

// move marks what return gives back: the data in v that this call made, with all
// its views, and the named views of this call that v holds or holds parts of.
func (m *Machine) move(f *frame, v any) {
	if len(m.bases) <= f.base {
		return // no block of this call owns anything
	}
	lo := m.bases[f.base]
	mark := func(is func(o *owned) bool) {
		for k := lo; k < len(m.owned); k++ {
			if is(&m.owned[k]) {
				m.owned[k].moved = true
			}
		}
	}
	eachValue(v, func(h *Handle, w *View) {
		for w != nil {
			mark(func(o *owned) bool { return o.v == w })
			h, w = w.of, w.of.view
		}
		if root := h.root; int(root.owner) >= lo {
			mark(func(o *owned) bool { return o.h == root || o.v != nil && o.v.of.root == root })
		}
	})
}

// eachValue calls fn for the handles and views in v: a handle with the view that it
// is a part of.
func eachValue(v any, fn func(h *Handle, w *View)) {
	leaves(v, func(v any) {
		switch v := v.(type) {
		case *Handle:
			fn(v, v.view)
		case *View:
			fn(v.of, v)
		}
	})
}

// eachHandle calls fn for the handles in v: of a list, and of a view its datum.
func eachHandle(v any, fn func(*Handle)) {
	eachValue(v, func(h *Handle, _ *View) { fn(h) })
}

// holdsHandles reports whether values of type t can hold handles.
func holdsHandles(t *types.Type) bool {
	for t != nil && t.Kind == types.List {
		t = t.Of
	}
	return t != nil && (t.IsHandle() || t.Kind == types.View)
}

// tooShort returns a handle in v that ends before a name of the given level does:
// the level counts the owning blocks that were open where the name was declared.
func (m *Machine) tooShort(v any, level int) *Handle {
	if level >= len(m.bases) {
		return nil
	}
	var found *Handle
	eachHandle(v, func(h *Handle) {
		if int(h.root.owner) >= m.bases[level] {
			found = h
		}
	})
	return found
}

// failShort raises E0407.
func (m *Machine) failShort(v any, level int, o *types.Object, at position) {
	h := m.tooShort(v, level)
	d := m.diagnostic("E0407", at, fmt.Sprintf("`%s` would outlive `%s`", o.Name, h.root.Name()))
	d.Label = fmt.Sprintf("`%s` ends with its block", h.root.Name())
	label(d, h.root.at, "registered here")
	d.Help = []string{fmt.Sprintf("register it in the block of `%s`, or return it from a function", o.Name)}
	m.raise(d)
}

// blockOwns reports whether a statement directly in b makes something that b owns.
func (c *compiler) blockOwns(b *syntax.Block) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *syntax.Register:
			return true
		case *syntax.Partition:
			if s.Name != nil {
				return true
			}
		case *syntax.Acquire:
			if s.Body == nil {
				return true
			}
		}
		owns := false
		for _, e := range exprsOf(s) {
			walk(e, func(e syntax.Expr) {
				if call, ok := e.(*syntax.Call); ok && call.Callee != nil && call.Callee.Kind == types.FuncObject && holdsHandles(e.Type()) {
					owns = true
				}
			})
		}
		if owns {
			return true
		}
	}
	return false
}

// hasCall reports whether e calls a function of the script or host, or inserts.
func hasCall(e syntax.Expr) bool {
	found := false
	walk(e, func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.Call:
			found = found || e.Callee == nil || e.Callee.Kind != types.BuiltinFunc || e.Callee.Name == "value" || e.Callee.Name == "print" ||
				e.Callee.Name == "save" || e.Callee.Name == "open" || e.Callee.Name == "gate" || e.Callee.Name == "busy"
		case *syntax.Insert:
			found = true
		}
	})
	return found
}

// exprsOf lists the expressions that s evaluates in its own block.
func exprsOf(s syntax.Stmt) []syntax.Expr {
	var out []syntax.Expr
	add := func(es ...syntax.Expr) {
		for _, e := range es {
			if e != nil {
				out = append(out, e)
			}
		}
	}
	filters := func(fs ...*syntax.FilterCall) {
		for _, f := range fs {
			for _, a := range f.Args {
				add(a.Value)
			}
		}
	}
	with := func(w *syntax.With) {
		if w != nil {
			for _, o := range w.Options {
				add(o.Value)
			}
		}
	}
	switch s := s.(type) {
	case *syntax.Let:
		add(s.Value)
	case *syntax.Assign:
		add(s.Target, s.Value)
	case *syntax.ExprStmt:
		add(s.X)
	case *syntax.Return:
		add(s.Value)
	case *syntax.Assert:
		add(s.Cond, s.Message)
	case *syntax.If:
		add(s.Cond)
		if in, ok := s.Else.(*syntax.If); ok {
			add(exprsOf(in)...)
		}
	case *syntax.While:
		add(s.Cond)
	case *syntax.For:
		add(s.In)
	case *syntax.Register:
		add(s.Value)
	case *syntax.Partition:
		add(s.Of...)
		filters(s.Filters...)
		if s.Over != nil {
			filters(s.Over)
		}
	case *syntax.Unpartition:
		add(s.Of...)
		add(s.To)
	case *syntax.Acquire:
		for _, i := range s.Items {
			add(i.Of)
		}
	case *syntax.Wait:
		add(s.Of...)
	case *syntax.Checkpoint:
		add(s.Dir)
	case *syntax.Prefetch:
		add(s.Of...)
		add(s.To)
		with(s.With)
	case *syntax.Hint:
		add(s.Of...)
		with(s.With)
	case *syntax.Verb:
		add(s.Of...)
	}
	return out
}

// walk calls fn for e and every expression in it.
func walk(e syntax.Expr, fn func(syntax.Expr)) {
	if e == nil {
		return
	}
	fn(e)
	all := func(es []syntax.Expr) {
		for _, x := range es {
			walk(x, fn)
		}
	}
	switch e := e.(type) {
	case *syntax.Paren:
		walk(e.X, fn)
	case *syntax.FString:
		for _, p := range e.Parts {
			walk(p.X, fn)
		}
	case *syntax.ListLit:
		all(e.Items)
	case *syntax.ListComp:
		walk(e.Item, fn)
		walk(e.In, fn)
	case *syntax.Unary:
		walk(e.X, fn)
	case *syntax.Binary:
		walk(e.X, fn)
		walk(e.Y, fn)
	case *syntax.RangeExpr:
		walk(e.Lo, fn)
		walk(e.Hi, fn)
	case *syntax.Cond:
		walk(e.If, fn)
		walk(e.Then, fn)
		walk(e.Else, fn)
	case *syntax.Call:
		walk(e.Fn, fn)
		for _, a := range e.Args {
			walk(a.Value, fn)
		}
	case *syntax.Index:
		walk(e.X, fn)
		all(e.Args)
	case *syntax.Selector:
		walk(e.X, fn)
	case *syntax.Insert:
		for _, a := range e.Args {
			walk(a.Value, fn)
			walk(a.At, fn)
		}
		if e.With != nil {
			for _, o := range e.With.Options {
				walk(o.Value, fn)
			}
		}
	}
}
