package interp

// Expressions whose values are held as references: strings, lists, ranges,
// handles, views and the rest.

import (
	"fmt"
	"math"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *compiler) ref(e syntax.Expr) refFn {
	if reprOf(e.Type()) != rRef {
		return c.any(e)
	}
	if computesComplex(e) {
		v := c.complex(e)
		return func(f *frame) any { return v(f) }
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return c.ref(e.X)
	case *syntax.StringLit:
		var s any = e.Value
		return func(*frame) any { return s }
	case *syntax.NoneLit:
		return func(*frame) any { return nil }
	case *syntax.FString:
		t := c.fstring(e)
		return func(f *frame) any { return t(f) }
	case *syntax.Ident:
		return c.refName(e)
	case *syntax.ListLit:
		return c.listLit(e, e.Type())
	case *syntax.ListComp:
		return c.listComp(e, e.Type())
	case *syntax.RangeExpr:
		r, at := c.rangeBounds(e), c.positionOf(e)
		return func(f *frame) any {
			f.m.alloc(valueBytes, at)
			return r(f)
		}
	case *syntax.Binary:
		return c.join(e)
	case *syntax.Cond:
		cond, a, b := c.bool(e.If), c.refAs(e.Then, e.Type()), c.refAs(e.Else, e.Type())
		return func(f *frame) any {
			if cond(f) {
				return a(f)
			}
			return b(f)
		}
	case *syntax.Call:
		if v := c.refCall(e); v != nil {
			return v
		}
	case *syntax.Index:
		return c.refIndex(e)
	case *syntax.Selector:
		return c.refField(e)
	case *syntax.Insert:
		return c.insertValue(e)
	}
	c.bug(e, "%T as a value", e)
	return nil
}

func (c *compiler) refName(e *syntax.Ident) refFn {
	o := e.Obj
	if o == nil {
		c.bug(e, "name %s without meaning", e.Name)
	}
	if o.Kind == types.BuiltinValue {
		v := builtinValue(o)
		return func(*frame) any { return v }
	}
	if c.plan {
		v := c.known(o)
		g, slot := c.holder(o, c.positionOf(e)), o.Slot
		return func(f *frame) any {
			v(f)
			x := g(f).r[slot]
			if l, ok := x.(*List); ok && l.unknown {
				f.m.unknown = true
			}
			return x
		}
	}
	if direct, _ := c.frameOf(o); direct && !(o.Global && c.session) {
		slot := o.Slot
		return func(f *frame) any { return f.r[slot] }
	}
	g, slot := c.global(o, c.positionOf(e)), o.Slot
	return func(f *frame) any { return g(f).r[slot] }
}

func builtinValue(o *types.Object) any {
	switch o.Type.Kind {
	case types.Node:
		return Node{Kind: o.Name, Index: -1}
	case types.DeviceKind:
		return DeviceKind(o.Name)
	case types.Reducer:
		return namedReducer(o.Name)
	}
	return nil
}

func (c *compiler) refField(e *syntax.Selector) refFn {
	if o := e.Name.Obj; o != nil && o.Global {
		g, slot := c.global(o, c.positionOf(e)), o.Slot
		return func(f *frame) any { return g(f).r[slot] }
	}
	if e.X.Type().Kind == types.View && e.Name.Name == "parts" {
		x, at := c.ref(e.X), c.positionOf(e)
		return func(f *frame) any {
			v, _ := x(f).(*View)
			f.m.needOpen(v, at)
			f.m.allocList(int64(len(v.parts)), rRef, at)
			l := newList(rRef, len(v.parts))
			for k := range v.parts {
				l.a[k] = &v.parts[k]
			}
			return l
		}
	}
	if e.X.Type().Sparse() != nil {
		h := c.handle(e)
		return func(f *frame) any { return h(f) }
	}
	c.bug(e, "field %s", e.Name.Name)
	return nil
}

// listLit compiles [a, b, …] as a list of type t.
func (c *compiler) listLit(e *syntax.ListLit, t *types.Type) refFn {
	kind := listKind(t)
	n := len(e.Items)
	at := c.positionOf(e)
	var fill []func(f *frame, l *List)
	for k, x := range e.Items {
		switch kind {
		case rInt:
			v := c.int(x)
			fill = append(fill, func(f *frame, l *List) { l.i[k] = v(f) })
		case rBool:
			v := c.bool(x)
			fill = append(fill, func(f *frame, l *List) { l.i[k] = b2i(v(f)) })
		case rFloat:
			v := c.float(x)
			fill = append(fill, func(f *frame, l *List) { l.f[k] = v(f) })
		default:
			v := c.refAs(x, t.Of)
			fill = append(fill, func(f *frame, l *List) { l.a[k] = v(f) })
		}
	}
	return func(f *frame) any {
		f.m.allocList(int64(n), kind, at)
		l := newList(kind, n)
		for _, s := range fill {
			s(f, l)
		}
		return l
	}
}

// listComp compiles [item for x in xs] as a list of type t.
func (c *compiler) listComp(e *syntax.ListComp, t *types.Type) refFn {
	kind := listKind(t)
	at := c.positionOf(e)
	var push func(f *frame, l *List)
	o := e.Var.Obj
	c.use(o)
	over := c.items(e.In, o, at)
	switch kind {
	case rInt:
		v := c.int(e.Item)
		push = func(f *frame, l *List) { l.i = append(l.i, v(f)) }
	case rBool:
		v := c.bool(e.Item)
		push = func(f *frame, l *List) { l.i = append(l.i, b2i(v(f))) }
	case rFloat:
		v := c.float(e.Item)
		push = func(f *frame, l *List) { l.f = append(l.f, v(f)) }
	default:
		v := c.refAs(e.Item, t.Of)
		push = func(f *frame, l *List) { l.a = append(l.a, v(f)) }
	}
	return func(f *frame) any {
		var l *List
		over(f, func(n int64) {
			f.m.allocList(n, kind, at)
			l = emptied(kind, int(n))
		}, func() { push(f, l) })
		return l
	}
}

// items compiles a walk over a range or list that stores each item in o's slot. begin is
// called first, with the number of items.
func (c *compiler) items(in syntax.Expr, o *types.Object, at position) func(f *frame, begin func(n int64), round func()) {
	slot, kind, mark := o.Slot, reprOf(o.Type), o.Global
	v := c.ref(in)
	return func(f *frame, begin func(n int64), round func()) {
		m := f.m
		step := func() {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			if mark {
				f.def[slot] = true
			}
			round()
		}
		items := v(f)
		if m.plan != nil {
			f.unk[slot] = m.unknown
		}
		switch x := items.(type) {
		case Range:
			i, n := x.Lo, x.Len()
			begin(n)
			for ; n > 0; n-- {
				f.n[slot] = i
				step()
				i += x.Step
			}
		default:
			l, _ := x.(*List)
			l = l.orEmpty()
			begin(int64(l.Len()))
			for k := range l.Len() {
				f.store(slot, kind, l, k)
				step()
			}
		}
	}
}

// join compiles + of strings and of lists.
func (c *compiler) join(e *syntax.Binary) refFn {
	if v := c.refChain(e); v != nil {
		return v
	}
	at := c.positionOf(e)
	if e.Type().Kind == types.String {
		x, y := c.ref(e.X), c.ref(e.Y)
		return func(f *frame) any {
			a, _ := x(f).(string)
			b, _ := y(f).(string)
			f.m.allocString(len(a)+len(b), at)
			return a + b
		}
	}
	x, y := c.refAs(e.X, e.Type()), c.refAs(e.Y, e.Type())
	return func(f *frame) any {
		a, _ := x(f).(*List)
		b, _ := y(f).(*List)
		a, b = a.orEmpty(), b.orEmpty()
		f.m.allocList(int64(a.Len()+b.Len()), rRef, at)
		return concat(a, b)
	}
}

// textOf compiles an expression of any type to its printed form.
func (c *compiler) textOf(e syntax.Expr) func(f *frame) string {
	if s, ok := unparen(e).(*syntax.FString); ok {
		return c.fstring(s)
	}
	v, at := c.any(e), c.positionOf(e)
	if c.plan {
		return apart(func(f *frame) string { return f.m.text(v(f), false, at) })
	}
	return func(f *frame) string { return f.m.text(v(f), false, at) }
}

// shownText compiles an argument of print. An f-string is as the script makes it.
func (c *compiler) shownText(e syntax.Expr) func(f *frame) string {
	if s, ok := unparen(e).(*syntax.FString); ok {
		return c.fstring(s)
	}
	v, at := c.any(e), c.positionOf(e)
	text := func(f *frame) string { return f.m.show(v(f), false, at) }
	if c.plan {
		return apart(text)
	}
	return text
}

// fstring compiles f"…".
func (c *compiler) fstring(e *syntax.FString) func(f *frame) string {
	at := c.positionOf(e)
	var parts []func(f *frame) string
	for _, p := range e.Parts {
		switch {
		case p.X == nil:
			t := p.Text
			parts = append(parts, func(*frame) string { return t })
		case p.Format == "":
			parts = append(parts, c.textOf(p.X))
		default:
			v, at := c.any(p.X), c.positionOf(p.X)
			format := "%" + p.Format
			verb := p.Format[len(p.Format)-1]
			text := func(f *frame) string {
				x := v(f)
				if f.m.unknown {
					return unwrittenElement
				}
				s := f.m.formatted(format, verb, x, at)
				f.m.allocString(len(s), at)
				return s
			}
			if c.plan {
				text = apart(text)
			}
			parts = append(parts, text)
		}
	}
	return func(f *frame) string {
		var first [8]string
		texts, size := first[:0], 0
		for _, p := range parts {
			s := p(f)
			texts = append(texts, s)
			size += len(s)
			f.m.fits(int64(size), at)
		}
		f.m.allocString(size, at)
		return strings.Join(texts, "")
	}
}

// maxFormatted bounds width and precision of a format: they are digits in the
// script and bytes in memory.
const maxFormatted = 4096

// formatted applies a Go verb.
func (m *Machine) formatted(format string, verb byte, v any, at position) string {
	n := 0
	for _, r := range format {
		if r >= '0' && r <= '9' {
			n = min(n*10+int(r-'0'), maxFormatted+1)
		} else {
			n = 0
		}
		if n > maxFormatted {
			m.fail("E0705", at, "the format `:%s` is wider than %d characters", format[1:], maxFormatted)
		}
	}
	switch x := v.(type) {
	case complex128:
		if verb == 'v' {
			return fmt.Sprintf(format, m.text(v, false, at))
		}
		return m.formatted(format, verb, real(x), at) + m.formatted("%+"+strings.TrimLeft(format, "%+"), verb, imag(x), at) + "i"
	case int64:
		if strings.IndexByte("eEfFgG", verb) >= 0 {
			v = float64(x)
		}
		if verb == 'v' {
			return fmt.Sprintf(format, m.text(v, false, at))
		}
	case float64:
		if verb == 'v' {
			return fmt.Sprintf(format, m.text(v, false, at))
		}
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return notFinite(format, m.text(v, false, at))
		}
	case bool, string:
	default:
		v = m.text(v, false, at)
	}
	return fmt.Sprintf(format, v)
}

// notFinite writes inf, -inf or nan in the width and with the sign that format
// asks for.
func notFinite(format, word string) string {
	flags := format[1:]
	width := strings.TrimLeft(flags, "+-# 0")
	flags = flags[:len(flags)-len(width)]
	width = width[:strings.IndexFunc(width, func(r rune) bool { return r < '0' || r > '9' })]
	switch {
	case word[0] == '-':
	case strings.Contains(flags, "+"):
		word = "+" + word
	case strings.Contains(flags, " "):
		word = " " + word
	}
	if strings.Contains(flags, "-") {
		width = "-" + width
	}
	return fmt.Sprintf("%"+width+"s", word)
}

// Expressions of data, list and view type, typed: what inserts evaluate most.

// Closures of references whose type is known.
type (
	handleFn func(f *frame) *Handle // nil: no value yet
	listFn   func(f *frame) *List   // never nil
	viewFn   func(f *frame) *View
)

// handle compiles an expression of data.
func (c *compiler) handle(e syntax.Expr) handleFn {
	switch e := unparen(e).(type) {
	case *syntax.Ident:
		if e.Obj == nil || e.Obj.Kind == types.BuiltinValue || c.plan {
			break
		}
		slot, unit, direct := c.slotOf(e.Obj)
		if direct {
			return func(f *frame) *Handle { h, _ := f.r[slot].(*Handle); return h }
		}
		o, at := e.Obj, c.positionOf(e)
		return func(f *frame) *Handle {
			g := f.m.units[unit]
			if slot >= len(g.def) || !g.def[slot] {
				f.m.undefined(o, at)
			}
			h, _ := g.r[slot].(*Handle)
			return h
		}
	case *syntax.Selector:
		if e.X.Type().Sparse() != nil && e.Name.Obj == nil {
			whole, at, name := c.handle(e.X), c.positionOf(e.X), e.Name.Name
			return func(f *frame) *Handle {
				h := whole(f)
				if h == nil {
					f.m.fail("E0205", at, "this has no value yet")
				}
				return h.member(name)
			}
		}
	case *syntax.Index:
		switch e.X.Type().Kind {
		case types.List:
			return c.listedHandle(e)
		case types.Array:
		default:
			return c.part(e)
		}
	}
	v := c.ref(e)
	return func(f *frame) *Handle { h, _ := v(f).(*Handle); return h }
}

// slotOf returns where o lives: in the frame at hand (direct), or in the frame of a
// unit, where its statement may not have run.
func (c *compiler) slotOf(o *types.Object) (slot, unit int, direct bool) {
	direct, unit = c.frameOf(o)
	if direct && o.Global && c.session {
		direct, unit = false, c.unitOf(o)
	}
	return o.Slot, unit, direct
}

// listedHandle compiles hs[k] of a list of handles.
func (c *compiler) listedHandle(e *syntax.Index) handleFn {
	list, k, at := c.list(e.X), c.int(e.Args[0]), c.positionOf(e)
	if slot, ok := c.listSlot(e.X); ok {
		return func(f *frame) *Handle {
			l, _ := f.r[slot].(*List)
			i := k(f)
			if l == nil || uint64(i) >= uint64(len(l.a)) {
				l = l.orEmpty()
				l.in(f.m, i, at)
			}
			h, _ := l.a[i].(*Handle)
			return h
		}
	}
	return func(f *frame) *Handle {
		l := list(f)
		i := k(f)
		if uint64(i) >= uint64(len(l.a)) {
			l.in(f.m, i, at)
		}
		h, _ := l.a[i].(*Handle)
		return h
	}
}

// listSlot returns the slot of a list's name that code can read without a check.
func (c *compiler) listSlot(e syntax.Expr) (int, bool) {
	id, ok := unparen(e).(*syntax.Ident)
	if !ok || c.plan || id.Obj == nil || id.Obj.Kind == types.BuiltinValue {
		return 0, false
	}
	slot, _, direct := c.slotOf(id.Obj)
	return slot, direct
}

// list compiles an expression of a list.
func (c *compiler) list(e syntax.Expr) listFn {
	if id, ok := unparen(e).(*syntax.Ident); ok && id.Obj != nil && id.Obj.Kind != types.BuiltinValue && !c.plan {
		slot, unit, direct := c.slotOf(id.Obj)
		if direct {
			return func(f *frame) *List {
				if l, _ := f.r[slot].(*List); l != nil {
					return l
				}
				return emptyList
			}
		}
		o, at := id.Obj, c.positionOf(e)
		return func(f *frame) *List {
			g := f.m.units[unit]
			if slot >= len(g.def) || !g.def[slot] {
				f.m.undefined(o, at)
			}
			if l, _ := g.r[slot].(*List); l != nil {
				return l
			}
			return emptyList
		}
	}
	v := c.ref(e)
	return func(f *frame) *List { l, _ := v(f).(*List); return l.orEmpty() }
}

// view compiles what an index applies to: a view, or data with a default view.
func (c *compiler) view(e *syntax.Index) viewFn {
	if e.X.Type().Kind == types.View {
		if slot, ok := c.viewSlot(e.X); ok {
			return func(f *frame) *View { w, _ := f.r[slot].(*View); return w }
		}
		v := c.ref(e.X)
		return func(f *frame) *View { w, _ := v(f).(*View); return w }
	}
	h, at := c.handle(e.X), c.positionOf(e)
	return func(f *frame) *View {
		x := h(f)
		if x == nil || x.deflt == nil {
			f.m.noDefaultView(x, at)
		}
		return x.deflt
	}
}

// viewSlot returns the slot of a view's name that code can read without a check.
func (c *compiler) viewSlot(e syntax.Expr) (int, bool) {
	id, ok := unparen(e).(*syntax.Ident)
	if !ok || id.Obj == nil || id.Obj.Kind == types.BuiltinValue {
		return 0, false
	}
	slot, _, direct := c.slotOf(id.Obj)
	return slot, direct
}

// part compiles the choice of one part of a view.
func (c *compiler) part(e *syntax.Index) handleFn {
	view, at, args := c.view(e), c.positionOf(e), e.Args
	var idx []intFn
	var from []*loopRange
	for _, a := range args {
		idx = append(idx, c.int(a))
		from = append(from, c.loopOf(a))
	}
	switch len(idx) {
	case 1:
		i := idx[0]
		return func(f *frame) *Handle {
			v := view(f)
			k := i(f)
			if len(v.v.Dims) != 1 {
				f.m.wrongIndices(v, 1, at)
			}
			if uint64(k) >= uint64(len(v.parts)) {
				f.m.noPart(v, []int64{k}, 0, at, c.positionOf(args[0]), from[0])
			}
			return &v.parts[k]
		}
	case 2:
		i, j := idx[0], idx[1]
		return func(f *frame) *Handle {
			v := view(f)
			dims := v.v.Dims
			if len(dims) != 2 {
				f.m.wrongIndices(v, 2, at)
			}
			x := i(f)
			y := j(f)
			if uint64(x) < uint64(dims[0]) && uint64(y) < uint64(dims[1]) {
				return &v.parts[int(x)*dims[1]+int(y)]
			}
			d := 1
			if uint64(x) >= uint64(dims[0]) {
				d = 0
			}
			f.m.noPart(v, []int64{x, y}, d, at, c.positionOf(args[d]), from[d])
			return nil
		}
	}
	return func(f *frame) *Handle {
		v := view(f)
		if len(v.v.Dims) != len(idx) {
			f.m.wrongIndices(v, len(idx), at)
		}
		k := 0
		for d, i := range idx {
			x := i(f)
			if uint64(x) >= uint64(v.v.Dims[d]) {
				all := make([]int64, len(idx))
				for j, i := range idx {
					all[j] = i(f)
				}
				f.m.noPart(v, all, d, at, c.positionOf(args[d]), from[d])
			}
			k = k*v.v.Dims[d] + int(x)
		}
		return &v.parts[k]
	}
}

// Fields of handles, views and arrays.

func (c *compiler) intField(e *syntax.Selector) intFn {
	if o := e.Name.Obj; o != nil && o.Global {
		g, slot := c.global(o, c.positionOf(e)), o.Slot
		return func(f *frame) int64 { return g(f).n[slot] }
	}
	x, at, name := c.ref(e.X), c.positionOf(e), e.Name.Name
	switch e.X.Type().Kind {
	case types.View:
		return func(f *frame) int64 {
			v, _ := x(f).(*View)
			f.m.needOpen(v, at)
			return int64(len(v.parts))
		}
	case types.Array:
		return func(f *frame) int64 {
			a, _ := x(f).(*Array)
			a.needHeld(f.m, at)
			if k := a.h.sparse; k != nil && k.guesses(a.h, name) {
				f.m.unknown = true
			}
			return field(&a.buf.Desc, a.buf.Stride[0], name)
		}
	}
	return func(f *frame) int64 {
		h, _ := x(f).(*Handle)
		if k := h.sparse; k != nil && k.guesses(h, name) {
			f.m.unknown = true
		}
		if h.isSparse() {
			return h.sparse.field(name)
		}
		d := h.h.Desc()
		if h.h.Resizable() && d.Rank > 0 {
			d = f.m.sizes(h, name, at)
		}
		ld := 0
		if name == "ld" {
			ld = h.ld()
		}
		return field(&d, ld, name)
	}
}

// sizes describes h, data with a capacity or a part of it, for a field: with the sizes that it has
// after the tasks inserted so far, or in a plan at most; for the capacity with that.
func (m *Machine) sizes(h *Handle, name string, at position) iface.Desc {
	switch name {
	case "n", "rows", "cols":
	default:
		return h.h.Desc()
	}
	if m.plan != nil {
		if h.root.grows {
			return h.h.Desc()
		}
		return h.h.Content()
	}
	d := h.h.Content()
	m.loggedJSON(at, recordSizes, &d.Dim, func() {
		m.waitFor(h, at)
		d = m.content(h, at)
	})
	return d
}

// field reads a field of a handle or array.
func field(d *iface.Desc, ld int, name string) int64 {
	switch name {
	case "n", "rows", "nx", "n0", "capacity":
		return int64(d.Dim[0])
	case "cols", "ny", "n1":
		return int64(d.Dim[1])
	case "nz", "n2":
		return int64(d.Dim[2])
	case "offset", "row0", "x0", "offset0":
		return int64(d.Off[0])
	case "col0", "y0", "offset1":
		return int64(d.Off[1])
	case "z0", "offset2":
		return int64(d.Off[2])
	case "ld":
		return int64(ld)
	}
	switch last := int(name[len(name)-1] - '0'); { // of a tensor, from the fourth index on
	case last >= int(d.Rank):
		return 0
	case name[0] == 'n':
		return int64(d.Dim[last])
	default:
		return int64(d.Off[last])
	}
}
