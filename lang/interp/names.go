package interp

// Names: declarations, frames and assignment.

import (
	"fmt"
	"math"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// setter returns code that evaluates e and stores it, as a value of type want, in slot.
func (c *compiler) setter(e syntax.Expr, want *types.Type, slot int) setter {
	if c.plan {
		return marking(c.plainSetter(e, want, slot), slot)
	}
	return c.plainSetter(e, want, slot)
}

func (c *compiler) plainSetter(e syntax.Expr, want *types.Type, slot int) setter {
	switch reprOf(want) {
	case rInt:
		v := c.int(e)
		return func(from, to *frame) { to.n[slot] = v(from) }
	case rFloat:
		v := c.float(e)
		return func(from, to *frame) { to.n[slot] = int64(math.Float64bits(v(from))) }
	case rBool:
		v := c.bool(e)
		return func(from, to *frame) { to.n[slot] = b2i(v(from)) }
	}
	v := c.refAs(e, want)
	return func(from, to *frame) { to.r[slot] = v(from) }
}

// declared marks a top-level name as having a value; in functions it does nothing.
func (c *compiler) declared(o *types.Object, s stmt) stmt {
	c.use(o)
	if !o.Global {
		return s
	}
	slot := o.Slot
	return func(f *frame) ctl {
		k := s(f)
		f.def[slot] = true
		return k
	}
}

func (c *compiler) let(s *syntax.Let) stmt {
	o := s.Name.Obj
	set := c.setter(s.Value, o.Type, o.Slot)
	return c.declared(o, func(f *frame) ctl { set(f, f); return next })
}

// frameOf returns how code at the current place reaches the frame of o.
func (c *compiler) frameOf(o *types.Object) (direct bool, unit int) {
	if !o.Global || (c.fn == nil && c.unitOf(o) == c.unit) {
		return true, 0
	}
	return false, c.unitOf(o)
}

func (c *compiler) unitOf(o *types.Object) int {
	if u, ok := o.Unit.(*check.Unit); ok {
		if k, ok := c.prog.index[u]; ok {
			return k
		}
	}
	return c.unit
}

// unitOf returns the place of the frame of a top-level name.
func (p *Program) unitOf(o *types.Object) int {
	u, _ := o.Unit.(*check.Unit)
	return p.index[u]
}

// global returns the frame of top-level name o, after checking that its statement
// has run.
func (c *compiler) global(o *types.Object, at place) func(f *frame) *frame {
	slot, unit, name := o.Slot, c.unitOf(o), o
	return func(f *frame) *frame {
		g := f.m.units[unit]
		if slot >= len(g.def) || !g.def[slot] {
			f.m.undefined(name, at)
		}
		return g
	}
}

// undefined raises E0205.
func (m *Machine) undefined(o *types.Object, at place) {
	d := m.diagnostic("E0205", at, fmt.Sprintf("`%s` has no value yet", o.Name))
	d.Label = "used here"
	switch {
	case o.Decl.IsZero():
	case m.prog.open && m.prog.names[o.Name] != nil && m.prog.names[o.Name] != o: // a function that was declared before knows the old one
		d.Message = fmt.Sprintf("this `%s` ended when it was declared again", o.Name)
		d.Help = []string{fmt.Sprintf("it means that of %s: declare what uses it here again", entryPlace(o.Decl))}
	case at.file != nil && o.Decl.File != at.file.Source.Name: // of a session, whose entries run one by one
		d.Help = []string{fmt.Sprintf("its statement, %s, did not succeed: declare `%s` again", entryPlace(o.Decl), o.Name)}
	default:
		d.Help = []string{fmt.Sprintf("its statement, line %d, has not run: move it before the first call that needs it", o.Decl.Start.Line)}
	}
	m.raise(d)
}

// entryPlace is where a session has declared something: "entry 4", or "setup.spu:12".
func entryPlace(at diag.Span) string {
	if strings.HasPrefix(at.File, "<") {
		return strings.Trim(at.File, "<>")
	}
	return fmt.Sprintf("%s:%d", at.File, at.Start.Line)
}

var opOf = map[string]string{"+=": "+", "-=": "-", "*=": "*", "/=": "/"}

func (c *compiler) assign(s *syntax.Assign) stmt {
	switch t := unparen(s.Target).(type) {
	case *syntax.Ident:
		return c.assignName(s, t)
	case *syntax.Index:
		return c.assignItem(s, t)
	}
	c.bug(s, "assignment to %T", s.Target)
	return nil
}

// operated returns the value of an assignment as an expression: target op value.
func operated(s *syntax.Assign) syntax.Expr {
	op := opOf[s.Op]
	if op == "" {
		return s.Value
	}
	b := &syntax.Binary{Op: op, OpAt: s.OpAt, X: s.Target, Y: s.Value}
	b.Span = s.Range()
	t := s.Target.Type()
	switch {
	case op == "/":
		t = types.TFloat
	case t.Kind == types.Int && s.Value.Type().Kind == types.Float:
		t = types.TFloat
	}
	b.SetType(t)
	return b
}

func (c *compiler) assignName(s *syntax.Assign, id *syntax.Ident) stmt {
	o := id.Obj
	slot := o.Slot
	direct, _ := c.frameOf(o)
	if direct && !(o.Global && c.session) {
		// s += local and s += literal are what loops do
		if s.Op == "+=" && reprOf(o.Type) == rInt && !c.plan {
			at := c.place(s)
			v := c.int(s.Value)
			return func(f *frame) ctl {
				a := f.n[slot]
				b := v(f)
				sum, ok := addInt(a, b)
				if !ok {
					f.m.fail("R0103", at, overflow, a, "+", b)
				}
				f.n[slot] = sum
				return next
			}
		}
		set := c.setter(operated(s), o.Type, slot)
		if !holdsHandles(o.Type) {
			return func(f *frame) ctl { set(f, f); return next }
		}
		level, at := c.depths[o], c.place(s.Value)
		return func(f *frame) ctl {
			v := f.r[slot]
			set(f, f)
			if f.m.tooShort(f.r[slot], f.base+level) != nil {
				w := f.r[slot]
				f.r[slot] = v
				f.m.failShort(w, f.base+level, o, at)
			}
			return next
		}
	}
	g := c.global(o, c.place(id))
	set := c.setter(operated(s), o.Type, slot)
	level, at := c.depths[o], c.place(s.Value)
	handles := holdsHandles(o.Type)
	return func(f *frame) ctl {
		to := g(f)
		v := to.r[slot]
		set(f, to)
		if handles && f.m.tooShort(to.r[slot], level) != nil {
			w := to.r[slot]
			to.r[slot] = v
			f.m.failShort(w, level, o, at)
		}
		return next
	}
}
