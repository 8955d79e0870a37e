package interp

// The host's part of a run: extern data, params, replacements of functions.

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// externData compiles the binding of an extern name.
func (c *compiler) externData(s *syntax.ExternData) stmt {
	o := s.Name.Obj
	at, slot := c.positionOf(s), o.Slot
	return c.declared(o, func(f *frame) ctl {
		m := f.m
		b := m.binds[o.Name]
		if b == nil && m.plan != nil {
			b = m.unbound(o, at)
		}
		if b == nil {
			d := m.diagnostic("E0904", at, fmt.Sprintf("`%s` has no data: the host must bind a %v", o.Name, o.Type))
			d.Help = []string{fmt.Sprintf("Go: `lang.Bind(%q, lang.VectorOf(s))`; command line: `--data %s=file.npy`", o.Name, o.Name)}
			if o.Type.Fields() != nil {
				d.Help = []string{fmt.Sprintf("Go: `lang.Bind(%q, p)`, with `p, err := lang.StructsOf(...)`; command line: `--data %s=file.csv`", o.Name, o.Name)}
			} else if k := o.Type.Sparse(); k != nil {
				d.Help = []string{fmt.Sprintf("Go: `lang.Bind(%q, A)`, with `A, err := lang.%sOf(...)`; command line: `--data %s=file.mtx`", o.Name, strings.ToUpper(k.Name), o.Name)}
			}
			m.raise(d)
		}
		if o.Type.Fields() != nil {
			f.r[slot] = m.bindStructs(o, b, c.positionOf(s.Name))
			return next
		}
		if o.Type.Sparse() != nil && (b.File != "" || b.NoMemory || b.Structure != nil && types.Same(b.Type(), o.Type)) {
			f.r[slot] = m.bindSparse(o, b, c.positionOf(s.Name))
			return next
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
		if b.NoMemory {
			m.plannedHome(h)
		}
		m.keep = append(m.keep, b.Keep)
		w := &Handle{h: h, m: m, typ: o.Type, at: c.positionOf(s.Name), owner: -1, ldim: b.LD}
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
		return fmt.Errorf("lang: Bind(%q): Sizes%v: data has no size (a variable), one (a vector), two (a matrix), three (a block), or 4 to %d (a tensor)", b.Name, b.Data.Dims, iface.MaxRank)
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
func (m *Machine) unbound(o *types.Object, at position) *Binding {
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
		if e.Type.Sparse() != nil {
			n = "rows, cols"
		}
		if e.Type.Fields() != nil {
			d.Help = append(d.Help, fmt.Sprintf("Go: `lang.Bind(%q, lang.Sizes[float64](n))`; command line: `--data %s=file.csv`", e.Name, e.Name))
			continue
		}
		d.Help = append(d.Help, fmt.Sprintf("Go: `lang.Bind(%q, lang.Sizes[%v](%s))`; command line: `--data %s=file.npy`", e.Name, e.Type.Elem.GoType(), n, e.Name))
	}
	m.raise(d)
	return nil
}

// param compiles a param: the host's value, else its default.
func (c *compiler) param(s *syntax.Param) stmt {
	o := s.Name.Obj
	at, slot := c.positionOf(s), o.Slot
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
			return m.diagnostic("E0704", position{}, fmt.Sprintf("the script has no param `%s`%s", name, diag.Instead(name, have)))
		}
	}
	for name := range m.binds {
		var have []string
		for _, e := range u.Externs {
			have = append(have, e.Name)
		}
		if !slices.Contains(have, name) {
			return m.diagnostic("E0904", position{}, fmt.Sprintf("the script has no extern data `%s`%s", name, diag.Instead(name, have)))
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
				p := position{}
				if k, ok := o.Node.(*syntax.Codelet); ok {
					p = position{x.File, k.Span}
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

// Two names for the same memory: the order of accesses is kept for each piece of
// data, and what is bound twice would be two.

// checkAlias reports bindings that share elements, unless all of them are read only.
func checkAlias(bs []NamedBinding) error {
	for i := range bs {
		for k := range i {
			a, b := bs[k].Data, bs[i].Data
			if !(a.ReadOnly && b.ReadOnly) && a.shares(b) {
				return fmt.Errorf("lang: Bind(%q): it shares memory with %q; bind it once and partition it in the script, or bind both lang.ReadOnly()", bs[i].Name, bs[k].Name)
			}
		}
	}
	return nil
}

// claims are what the live runs of the process have bound. The order of accesses is kept
// within a run: two that write the same memory would each see the other's halves.
var claims struct {
	sync.Mutex
	of map[*Machine][]claim
}

// A claim is a binding and the addresses it lies between.
type claim struct {
	NamedBinding
	memory datamgr.Extent
}

// claim notes bindings of m, beside those it has claimed, until disclaim. The error says which one a run that is
// not closed has, too, unless neither may write it.
func (m *Machine) claim(bs []NamedBinding) error {
	if len(bs) == 0 {
		return nil
	}
	mine := make([]claim, 0, len(bs))
	for _, b := range bs {
		if e := b.Data.memory(); e.End > e.First {
			mine = append(mine, claim{b, e})
		}
	}
	claims.Lock()
	defer claims.Unlock()
	for o, theirs := range claims.of {
		if o == m {
			continue
		}
		if o.rt.Closed() { // nothing of it runs any more
			delete(claims.of, o)
			continue
		}
		for _, a := range theirs {
			for _, b := range mine {
				if !(a.Data.ReadOnly && b.Data.ReadOnly) && a.memory.Shares(&b.memory) {
					return fmt.Errorf("lang: Bind(%q): it shares memory with %q of another instance or session, which is not closed; close that first, or bind both lang.ReadOnly()", b.Name, a.Name)
				}
			}
		}
	}
	if claims.of == nil {
		claims.of = map[*Machine][]claim{}
	}
	claims.of[m] = append(claims.of[m], mine...)
	return nil
}

// disclaim gives up what m has claimed.
func (m *Machine) disclaim() {
	claims.Lock()
	delete(claims.of, m)
	claims.Unlock()
}

// memory is what b takes of the program's memory.
func (b *Binding) memory() datamgr.Extent {
	s := datamgr.Spec{Kind: b.Kind, Elem: b.Elem, Dims: b.Dims, LD: b.LD, Step: b.Step, Home: b.Home}
	e, err := s.Memory()
	if err != nil {
		return datamgr.Extent{} // registering it will say what is wrong
	}
	return e
}

// shares reports whether a and b have bytes in common: blocks of columns of one
// matrix lie between each other, and have none.
func (a *Binding) shares(b *Binding) bool {
	x, y := a.memory(), b.memory()
	return x.Shares(&y)
}

// Values between Go and the language.

// toHost returns v as Go code gets it: lists of numbers as []int64 and []float64,
// other lists as []any. Lists that share items become copies, which may be much larger.
func (m *Machine) toHost(v any, at position) any {
	copied := int64(0)
	return m.copyOut(v, at, &copied)
}

// copyOut is toHost; copied counts bytes.
func (m *Machine) copyOut(v any, at position, copied *int64) any {
	l, ok := v.(*List)
	if !ok {
		return v
	}
	m.spend(at)
	*copied += listBytes + int64(l.Len())*itemBytes(l.kind)
	m.fits(*copied, at)
	switch l.kind {
	case rInt:
		return append([]int64{}, l.i...)
	case rFloat:
		return append([]float64{}, l.f...)
	}
	out := make([]any, l.Len())
	for k := range out {
		out[k] = m.copyOut(l.at(k), at, copied)
	}
	return out
}

// fromHost returns a Go value as a value of type t.
func fromHost(v any, t *types.Type) (any, error) {
	if t == nil || t.Kind == types.None {
		if v != nil {
			return nil, fmt.Errorf("%T where no value belongs", v)
		}
		return nil, nil
	}
	wrong := func() (any, error) {
		if v == nil {
			return nil, fmt.Errorf("nil where %s belongs", article(t.String()))
		}
		switch x := v.(type) {
		case *Handle:
			if !x.Exists() {
				return nil, fmt.Errorf("a handle of no run where %s belongs", article(t.String()))
			}
			return nil, fmt.Errorf("%s where %s belongs", article(x.typ.String()), article(t.String()))
		case *View:
			return nil, fmt.Errorf("a view where %s belongs", article(t.String()))
		}
		return nil, fmt.Errorf("%T where %s belongs", v, article(t.String()))
	}
	r := reflect.ValueOf(v)
	if !r.IsValid() {
		return wrong()
	}
	switch t.Kind {
	case types.Int:
		switch {
		case r.CanInt():
			return r.Int(), nil
		case r.CanUint():
			if u := r.Uint(); u <= math.MaxInt64 {
				return int64(u), nil
			}
			return nil, fmt.Errorf("%d does not fit an int", v)
		}
	case types.Float:
		switch {
		case r.CanFloat():
			return r.Float(), nil
		case r.CanInt():
			return float64(r.Int()), nil
		case r.CanUint():
			return float64(r.Uint()), nil
		}
	case types.Complex:
		switch {
		case r.CanComplex():
			return r.Complex(), nil
		case r.CanFloat():
			return complex(r.Float(), 0), nil
		case r.CanInt():
			return complex(float64(r.Int()), 0), nil
		case r.CanUint():
			return complex(float64(r.Uint()), 0), nil
		}
	case types.Bool:
		if r.Kind() == reflect.Bool {
			return r.Bool(), nil
		}
	case types.String:
		if r.Kind() == reflect.String {
			return r.String(), nil
		}
	case types.List:
		if l, ok := v.(*List); ok {
			return l.as(listKind(t)), nil
		}
		if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
			return wrong()
		}
		l := emptied(listKind(t), r.Len())
		for k := 0; k < r.Len(); k++ {
			x, err := fromHost(r.Index(k).Interface(), t.Of)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", k, err)
			}
			l.push(x)
		}
		return l, nil
	default:
		if fits(v, t) {
			return v, nil
		}
	}
	return wrong()
}

// fits reports whether an opaque value has type t.
func fits(v any, t *types.Type) bool {
	switch x := v.(type) {
	case *Handle:
		return x.Exists() && t.IsHandle() && types.Same(t, x.typ)
	case *View:
		return x != nil && x.v != nil && t.Kind == types.View && (t.Of == nil || types.Same(t.Of, x.partType))
	case Range:
		return t.Kind == types.Range
	case *Task:
		return t.Kind == types.Task
	case *Gate:
		return t.Kind == types.Gate || t.Kind == types.Task
	case Node:
		return t.Kind == types.Node
	case Worker:
		return t.Kind == types.Worker
	case DeviceKind:
		return t.Kind == types.DeviceKind
	}
	return false
}

// Constant returns the value of a default in a host signature: a literal, or one
// with a minus.
func Constant(p *types.Param) (any, error) { return constant(p) }

func constant(p *types.Param) (any, error) {
	e, ok := p.Default.(syntax.Expr)
	if !ok {
		if p.HasDefault {
			return nil, nil
		}
		return nil, fmt.Errorf("there is none")
	}
	v, err := literal(e)
	if err != nil {
		return nil, err
	}
	t := p.Type
	if t.Kind == types.Elem {
		t = types.TFloat
		if p.Type.Elem == iface.B8 {
			t = types.TBool
		} else if p.Type.Elem.IsComplex() {
			t = types.TComplex
		} else if _, isInt := v.(int64); isInt {
			t = types.TInt
		} else if p.Type.Elem.IsInt() {
			return nil, fmt.Errorf("%v where %s belongs", v, article(p.Type.String()))
		}
	}
	return fromHost(v, t)
}

func literal(e syntax.Expr) (any, error) {
	switch e := unparen(e).(type) {
	case *syntax.IntLit:
		return e.Value, nil
	case *syntax.FloatLit:
		return e.Value, nil
	case *syntax.ImagLit:
		return complex(0, e.Value), nil
	case *syntax.StringLit:
		return e.Value, nil
	case *syntax.BoolLit:
		return e.Value, nil
	case *syntax.Unary:
		v, err := literal(e.X)
		if err != nil {
			return nil, err
		}
		switch x := v.(type) {
		case int64:
			if e.Op == "-" && x != math.MinInt64 {
				return -x, nil
			}
		case float64:
			if e.Op == "-" {
				return -x, nil
			}
		case complex128:
			if e.Op == "-" {
				return -x, nil
			}
		}
	case *syntax.Ident:
		switch e.Name {
		case "inf":
			return math.Inf(1), nil
		case "pi":
			return math.Pi, nil
		}
	}
	return nil, fmt.Errorf("the default must be a literal")
}

// ---- numbers to elements --------------------------------------------------------------

var elemRange = map[iface.Elem][2]int64{
	iface.I8: {math.MinInt8, math.MaxInt8}, iface.I16: {math.MinInt16, math.MaxInt16}, iface.I32: {math.MinInt32, math.MaxInt32},
	iface.I64: {math.MinInt64, math.MaxInt64}, iface.U8: {0, math.MaxUint8}, iface.U16: {0, math.MaxUint16},
	iface.U32: {0, math.MaxUint32}, iface.U64: {0, math.MaxInt64},
}

// intFits reports whether the integer v is in the range of element type e.
func intFits(e iface.Elem, v int64) bool {
	if e.Is16() {
		return !e.Overflows(float64(v))
	}
	if e == iface.I64 || e.IsFloat() || e.IsComplex() {
		return true
	}
	r := elemRange[e]
	return v >= r[0] && v <= r[1]
}

// floatFits reports whether v is in the range of element type e, a float.
func floatFits(e iface.Elem, v float64) bool {
	return !e.Overflows(v)
}

// complexFits raises E0705 unless elements of type e, which is complex, can hold z.
func (m *Machine) complexFits(e iface.Elem, z complex128, at position) {
	if !floatFits(e, real(z)) || !floatFits(e, imag(z)) {
		m.outOfRange(e, z, at)
	}
}

// outOfRange raises E0705 for a number that element type e cannot hold.
func (m *Machine) outOfRange(e iface.Elem, v any, at position) {
	x := ""
	switch n := v.(type) {
	case int64:
		x = fmt.Sprint(n)
	case float64:
		x = formatFloat(n, 64)
	case complex128:
		x = m.complexText(n, 64)
	}
	d := m.diagnostic("E0705", at, fmt.Sprintf("%s does not fit %s", x, article(e.String())))
	if r, ok := elemRange[e]; ok {
		d.Label = fmt.Sprintf("%v holds %d to %d", e, r[0], r[1])
		if e == iface.U64 {
			d.Label = "u64 holds nothing below 0"
		}
	} else {
		most := map[iface.Elem]string{iface.F16: "65504", iface.BF16: "3.39e+38"}[e]
		if most == "" {
			most = "3.4e+38"
		}
		d.Label = fmt.Sprintf("%v holds up to %s", e, most)
	}
	m.raise(d)
}

// Handle returns the handle of a top-level name, for the host.
func (m *Machine) Handle(name string) (*Handle, error) {
	if err := m.usable(); err != nil {
		return nil, err
	}
	o := m.prog.names[name]
	if o == nil || !o.Global {
		return nil, fmt.Errorf("lang: the script has no top-level name %s%s", name, nearObject(m.prog.names, name, types.HandleObject))
	}
	f := m.units[m.prog.unitOf(o)]
	if o.Slot >= len(f.def) || !f.def[o.Slot] {
		return nil, fmt.Errorf("lang: %s has no value: its statement did not run", name)
	}
	h, ok := f.get(o.Slot, o.Type).(*Handle)
	if !ok {
		return nil, fmt.Errorf("lang: %s is %s, not registered data", name, article(o.Type.String()))
	}
	return h, nil
}
