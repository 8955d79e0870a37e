package interp

// What the host supplies: extern data, params, replacements of functions.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// externData compiles the binding of an extern name.
func (c *compiler) externData(s *syntax.ExternData) stmt {
	o := s.Name.Obj
	at, slot := c.place(s), o.Slot
	return c.declared(o, func(f *frame) ctl {
		m := f.m
		b := m.binds[o.Name]
		if b == nil && m.plan != nil {
			b = m.unbound(o, at)
		}
		if b == nil {
			d := m.diagnostic("E0904", at, fmt.Sprintf("`%s` has no data: the host must bind a %v", o.Name, o.Type))
			d.Help = []string{fmt.Sprintf("Go: `lang.Bind(%q, lang.VectorOf(s))`; command line: `--data %s=file.npy`", o.Name, o.Name)}
			m.raise(d)
		}
		if b.File == "" && !types.Same(b.Type(), o.Type) {
			m.failHelp("E0904", at, fmt.Sprintf("declared %v", o.Type), "", "`%s` is bound to a %v", o.Name, b.Type())
		}
		spec := engine.DataSpec{Kind: b.Kind, Elem: b.Elem, Dims: b.Dims, LD: b.LD, Step: b.Step, Home: b.Home,
			ReadOnly: b.ReadOnly, Name: o.Name, Site: siteOf(at)}
		var fill func(*iface.Buffer) error
		if b.NoMemory && b.Kind != iface.Void {
			fill = func(*iface.Buffer) error { return nil } // it has a value, which plans do not know
		}
		if b.File != "" {
			spec.Kind, spec.Elem = o.Type.Data(), o.Type.Elem
			fill = m.load(b.File, at, &spec)
			if in := m.input; in != nil {
				m.input = nil
				defer protect(in.Close)
			}
			if spec.Kind == iface.Variable {
				read := fill
				fill = func(buf *iface.Buffer) error {
					err := read(buf)
					b.Text = m.elemText(buf.Elem, readElem(buf.Elem, buf.Ptr))
					return err
				}
			}
			m.countData(&spec, 0, at)
		}
		h, err := m.registerData(spec, fill)
		var r *raised
		if errors.As(err, &r) {
			panic(r)
		}
		if err != nil {
			m.fail("E0904", at, "`%s` cannot be bound: %v", o.Name, err)
		}
		m.events.registered(h)
		m.keep = append(m.keep, b.Keep)
		w := &Handle{h: h, m: m, typ: o.Type, at: c.place(s.Name), owner: -1, ldim: b.LD}
		w.root = w
		m.own(w)
		f.r[slot] = w
		return next
	})
}

// checkSizes says why sizes without memory do not do.
func (b *NamedBinding) checkSizes(plan bool) error {
	switch {
	case !plan:
		return fmt.Errorf("lang: Bind(%q): Sizes are for plans; a run needs memory, such as lang.VectorOf(s)", b.Name)
	case b.Data.Kind == iface.NoKind:
		return fmt.Errorf("lang: Bind(%q): Sizes%v: data has no size (a variable), one (a vector), two (a matrix) or three (a block)", b.Name, b.Data.Dims)
	}
	for _, n := range b.Data.Dims {
		if n < 0 {
			return fmt.Errorf("lang: Bind(%q): Sizes%v: sizes are not negative", b.Name, b.Data.Dims)
		}
	}
	return nil
}

// unbound is what a plan takes for extern data that the host did not bind: the type
// is enough where it has no sizes. Else it raises what is missing, all of it.
func (m *Machine) unbound(o *types.Object, at place) *Binding {
	if o.Type.Kind == types.Variable || o.Type.Kind == types.Void {
		b := &Binding{Elem: o.Type.Elem, Kind: iface.Variable, NoMemory: true}
		if o.Type.Kind == types.Void {
			b.Kind = iface.Void
		}
		return b
	}
	d := m.diagnostic("E0904", at, fmt.Sprintf("`%s` has no data, and a plan needs its sizes", o.Name))
	d.Label = article(o.Type.String())
	for _, e := range m.prog.main.Externs {
		if m.binds[e.Name] != nil || e.Type.Kind == types.Variable || e.Type.Kind == types.Void {
			continue
		}
		n := strings.Join(e.Type.Data().Sizes(), ", ")
		d.Help = append(d.Help, fmt.Sprintf("Go: `lang.Bind(%q, lang.Sizes[%v](%s))`; command line: `--data %s=file.npy`", e.Name, e.Type.Elem.GoType(), n, e.Name))
	}
	m.raise(d)
	return nil
}

// param compiles a param: the host's value, else its default.
func (c *compiler) param(s *syntax.Param) stmt {
	o := s.Name.Obj
	at, slot := c.place(s), o.Slot
	var def setter
	if s.Value != nil {
		def = c.setter(s.Value, o.Type, slot)
	}
	prog, unit := c.prog, c.unit
	return c.declared(o, func(f *frame) ctl {
		m := f.m
		if v, ok := m.params[o.Name]; ok && (prog.open || unit == prog.index[prog.main]) {
			x, err := fromHost(v, o.Type)
			if err != nil {
				m.failHelp("E0704", at, fmt.Sprintf("declared %v", o.Type), "", "param `%s`: %v", o.Name, err)
			}
			f.set(slot, o.Type, x)
			return next
		}
		if def == nil {
			m.failHelp("E0704", at, "it has no default", fmt.Sprintf("give it: `-p %s=...`, in Go `lang.Param(%q, ...)`", o.Name, o.Name),
				"param `%s` needs a value", o.Name)
		}
		def(f, f)
		return next
	})
}

// checkOptions reports params and bindings that the program does not declare, and
// extern codelets that the host lacks.
func (m *Machine) checkOptions() error {
	u := m.prog.main
	if u == nil {
		return nil
	}
	for name := range m.params {
		if o := u.Objects[name]; o == nil || o.Kind != types.ParamObject {
			var have []string
			for _, o := range u.Objects {
				if o.Kind == types.ParamObject {
					have = append(have, o.Name)
				}
			}
			return m.diagnostic("E0704", place{}, fmt.Sprintf("the script has no param `%s`%s", name, diag.Instead(name, have)))
		}
	}
	for name := range m.binds {
		var have []string
		for _, e := range u.Externs {
			have = append(have, e.Name)
		}
		if !slices.Contains(have, name) {
			return m.diagnostic("E0904", place{}, fmt.Sprintf("the script has no extern data `%s`%s", name, diag.Instead(name, have)))
		}
	}
	for _, f := range m.late {
		if err := m.checkLate(f); err != nil {
			return err
		}
	}
	for x := range m.prog.index {
		for _, o := range x.ExternCodelets {
			if o.Host == nil {
				p := place{}
				if k, ok := o.Node.(*syntax.Codelet); ok {
					p = place{x.File, k.Span}
				}
				return m.diagnostic("E0904", p, fmt.Sprintf("the host has no codelet `%s`", o.Name))
			}
		}
	}
	return nil
}

// checkLate reports a replacement that fits no host function of the program.
func (m *Machine) checkLate(f *HostFunc) error {
	if old := m.prog.hosts[f.Name]; old != nil && old.Sig.Text != f.Sig.Text && !sameSignature(old.Sig, f.Sig) {
		return fmt.Errorf("lang: Late: %q does not have the signature of %q", f.Sig.Text, old.Sig.Text)
	}
	return nil
}

func sameSignature(a, b *types.Signature) bool {
	if len(a.Params) != len(b.Params) || !types.Same(a.Result, b.Result) {
		return false
	}
	for i := range a.Params {
		if !types.Same(a.Params[i].Type, b.Params[i].Type) {
			return false
		}
	}
	return true
}

// nearObject suggests a name of a kind.
func nearObject(objects map[string]*types.Object, name string, kind types.ObjectKind) string {
	var have []string
	for _, o := range objects {
		if o.Kind == kind {
			have = append(have, o.Name)
		}
	}
	if n, ok := diag.Nearest(name, have); ok {
		return fmt.Sprintf("; did you mean `%s`?", n)
	}
	return ""
}
