package interp

// Indexing: items and slices of lists, elements of arrays, parts of views; fields.

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// in raises R0105 unless l has an item k.
func (l *List) in(m *Machine, k int64, at position) {
	if uint64(k) >= uint64(l.Len()) {
		m.outside(at, k, l.Len(), "the list", "item")
	}
}

// firstName is the text at a place up to its bracket.
func firstName(at position) string {
	s := at.source()
	for i := range s {
		if s[i] == '[' {
			return s[:i]
		}
	}
	return s
}

// listItem compiles the list and the index of e.
func (c *compiler) listItem(e *syntax.Index) (func(f *frame) (*List, int64), position) {
	list, k, at := c.list(e.X), c.int(e.Args[0]), c.positionOf(e)
	return func(f *frame) (*List, int64) { l := list(f); return l, k(f) }, at
}

func (c *compiler) intIndex(e *syntax.Index) intFn {
	if e.X.Type().Kind == types.Array {
		el, at := c.element(e)
		return func(f *frame) int64 {
			a, p := el(f)
			v := readElem(a.buf.Elem, p)
			if a.buf.Elem == iface.U64 && v.i < 0 {
				f.m.fail("R0103", at, "the element %d does not fit an int (64 bit)", uint64(v.i))
			}
			return v.i
		}
	}
	list, index, at := c.list(e.X), c.int(e.Args[0]), c.positionOf(e)
	if slot, ok := c.listSlot(e.X); ok {
		return func(f *frame) int64 {
			l, _ := f.r[slot].(*List)
			k := index(f)
			if l == nil || uint64(k) >= uint64(len(l.i)) {
				l = l.orEmpty()
				l.in(f.m, k, at)
			}
			return l.i[k]
		}
	}
	return func(f *frame) int64 {
		l := list(f)
		k := index(f)
		if uint64(k) >= uint64(len(l.i)) {
			l.in(f.m, k, at)
		}
		return l.i[k]
	}
}

func (c *compiler) floatIndex(e *syntax.Index) floatFn {
	if e.X.Type().Kind == types.Array {
		el, _ := c.element(e)
		return func(f *frame) float64 {
			a, p := el(f)
			if a.buf.Elem == iface.F64 {
				return *(*float64)(p)
			}
			return readElem(a.buf.Elem, p).f
		}
	}
	list, index, at := c.list(e.X), c.int(e.Args[0]), c.positionOf(e)
	return func(f *frame) float64 {
		l := list(f)
		k := index(f)
		l.in(f.m, k, at)
		if l.kind == rInt {
			return float64(l.i[k])
		}
		return l.f[k]
	}
}

// boolElement compiles an element of an array with elements of bool.
func (c *compiler) boolElement(e *syntax.Index) boolFn {
	el, _ := c.element(e)
	return func(f *frame) bool {
		a, p := el(f)
		return readElem(a.buf.Elem, p).i != 0
	}
}

// complexIndex compiles an element of an array with complex elements.
func (c *compiler) complexIndex(e *syntax.Index) func(f *frame) complex128 {
	el, at := c.element(e)
	return func(f *frame) complex128 {
		a, p := el(f)
		return complexOf(a.boxed(f.m, p, at))
	}
}

// element compiles the address of an element of an array.
func (c *compiler) element(e *syntax.Index) (func(f *frame) (*Array, unsafe.Pointer), position) {
	array, at := c.ref(e.X), c.positionOf(e)
	var idx []intFn
	for _, a := range e.Args {
		idx = append(idx, c.int(a))
	}
	if slot, ok := c.arraySlot(e.X); ok {
		array = func(f *frame) any { return f.r[slot] }
	}
	if len(idx) == 1 {
		i := idx[0]
		return func(f *frame) (*Array, unsafe.Pointer) {
			a, _ := array(f).(*Array)
			k := i(f)
			if a == nil || a.released || a.buf.Rank > 1 {
				a.needHeld(f.m, at)
				f.m.wrongRank(a, 1, at)
			}
			n := 1
			if a.buf.Rank == 1 {
				n = a.buf.Dim[0]
			}
			if uint64(k) >= uint64(n) {
				f.m.outside(at, k, n, "`"+firstName(at)+"`", "element")
			}
			return a, a.elem(f.m, int(k))
		}, at
	}
	return func(f *frame) (*Array, unsafe.Pointer) {
		a, _ := array(f).(*Array)
		a.needHeld(f.m, at)
		if int(a.buf.Rank) != len(idx) {
			f.m.wrongRank(a, len(idx), at)
		}
		off := 0
		for d, i := range idx {
			k := i(f)
			if uint64(k) >= uint64(a.buf.Dim[d]) {
				f.m.outside(at, k, a.buf.Dim[d], fmt.Sprintf("`%s`, index %d of %d", firstName(at), d+1, len(idx)), axisNoun(&a.buf, d))
			}
			off += int(k) * a.buf.Stride[d]
		}
		return a, a.elem(f.m, off)
	}, at
}

func axisNoun(b *iface.Buffer, d int) string {
	switch b.Kind {
	case iface.Matrix:
		return [...]string{"row", "column"}[d]
	case iface.Block:
		return [...]string{"x plane", "y plane", "z plane"}[d]
	}
	if b.Kind.IsTensor() {
		return "slab"
	}
	return "element"
}

// arraySlot returns the slot of an array's name that code can read without a check.
func (c *compiler) arraySlot(e syntax.Expr) (int, bool) {
	id, ok := unparen(e).(*syntax.Ident)
	if !ok || id.Obj == nil || id.Obj.Kind != types.ArrayObject || c.plan {
		return 0, false
	}
	direct, _ := c.frameOf(id.Obj)
	return id.Obj.Slot, direct && !(id.Obj.Global && c.session)
}

func (m *Machine) wrongRank(a *Array, got int, at position) {
	m.fail("E0705", at, "`%s` is %s and takes %s, and %s given", firstName(at), article(a.h.Type().String()),
		check.Indices(max(1, int(a.buf.Rank))), check.AreIndices(got))
}

// refIndex compiles x[…] where the result is held as a reference.
func (c *compiler) refIndex(e *syntax.Index) refFn {
	switch e.X.Type().Kind {
	case types.List:
		if e.Args[0].Type().Kind == types.Range {
			return c.listSlice(e)
		}
		list, at := c.listItem(e)
		return func(f *frame) any {
			l, k := list(f)
			l.in(f.m, k, at)
			return l.at(int(k))
		}
	case types.Array:
		return c.arraySlice(e)
	}
	part := c.part(e)
	return func(f *frame) any { return part(f) }
}

// loopRange is the range that a loop variable runs over, as written.
type loopRange struct {
	at     position
	name   string
	closed bool
	lo, hi string
}

// loopOf returns the loop that e is the variable of; nil: none, or not over a range
// that is written out.
func (c *compiler) loopOf(e syntax.Expr) *loopRange {
	if id, ok := unparen(e).(*syntax.Ident); ok {
		return c.ranges[id.Obj]
	}
	return nil
}

// noPart raises E0501: index d of idx is outside. at is the whole x[…], arg the
// index.
func (m *Machine) noPart(v *View, idx []int64, d int, at, arg position, loop *loopRange) {
	what := fmt.Sprint(idx[0])
	if len(idx) > 1 {
		what = ""
		for k, i := range idx {
			if k > 0 {
				what += ", "
			}
			what += fmt.Sprint(i)
		}
		what = "[" + what + "]"
	}
	x := m.diagnostic("E0501", at, fmt.Sprintf("part %s of `%s` does not exist", what, v.text()))
	x.Label = fmt.Sprintf("the index is %d", idx[d])
	if src := arg.source(); src != "" && src != fmt.Sprint(idx[d]) {
		x.Label = fmt.Sprintf("`%s` is %d here", src, idx[d])
	}
	n := v.v.Dims[d]
	if len(v.v.Dims) == 1 {
		label(x, v.at, fmt.Sprintf("%s: 0 to %d", plural(int64(n), "part"), n-1))
	} else {
		label(x, v.at, fmt.Sprintf("index %d of %d goes from 0 to %d", d+1, len(idx), n-1))
	}
	if loop != nil && loop.closed && idx[d] == int64(n) {
		x.Label = fmt.Sprintf("`%s` is %d in the last round", loop.name, idx[d])
		label(x, loop.at, fmt.Sprintf("runs up to %d", idx[d]))
		x.Help = []string{fmt.Sprintf("write `%s..%s`", loop.lo, loop.hi)}
		x.Edit(loop.at.span(), loop.lo+".."+loop.hi)
	} else {
		if loop != nil {
			label(x, loop.at, fmt.Sprintf("`%s` runs over this", loop.name))
		}
		x.Help = []string{fmt.Sprintf("indices of parts go from 0 to %d here", n-1)}
	}
	m.raise(x)
}

// wrongIndices raises E0503.
func (m *Machine) wrongIndices(v *View, got int, at position) {
	n := len(v.v.Dims)
	d := m.diagnostic("E0503", at, fmt.Sprintf("`%s` needs %s", v.text(), check.Indices(n)))
	d.Label = check.Indices(got) + " given"
	label(d, v.at, fmt.Sprintf("its parts have %s", check.Indices(n)))
	m.raise(d)
}

// noDefaultView raises E0507.
func (m *Machine) noDefaultView(h *Handle, at position) {
	name := firstName(at)
	if s := at.source(); strings.HasSuffix(s, "]") && strings.Contains(s, "][") {
		name = s[:strings.LastIndex(s, "][")+1] // of v[1][0]: the part v[1]
	}
	d := m.diagnostic("E0507", at, fmt.Sprintf("`%s` has no default view", name))
	d.Label = "indexed like a view"
	if h != nil {
		label(d, h.root.at, "registered here")
	}
	filters, zeros := "...", "..."
	if h != nil {
		filters = map[types.Kind]string{types.Vector: "blocks(2)", types.Matrix: "tiles(2, 2)", types.Block: "axis(0, 2)", types.Tensor: "axis(0, 2)"}[h.typ.Kind]
		zeros = strings.Join(slices.Repeat([]string{"0"}, max(1, h.typ.Data().Rank())), ", ")
	}
	d.Help = []string{fmt.Sprintf("declare one first: `partition %s by %s`", name, filters),
		fmt.Sprintf("to read elements: `acquire R %s as elements { print(elements[%s]) }`", name, zeros)}
	m.raise(d)
}

// listSlice compiles l[a..b].
func (c *compiler) listSlice(e *syntax.Index) refFn {
	list, r, at := c.ref(e.X), c.rangeOf(e.Args[0]), c.positionOf(e)
	return func(f *frame) any {
		l, _ := list(f).(*List)
		l = l.orEmpty()
		x := r(f)
		lo, n := f.m.sliceBounds(x, l.Len(), at, "the list", "item")
		f.m.allocList(int64(n), l.kind, at)
		if x.Step == 1 {
			return l.slice(lo, lo+n)
		}
		out := emptied(l.kind, n)
		for k, i := 0, x.Lo; k < n; k, i = k+1, i+x.Step {
			out.push(l.at(int(i)))
		}
		return out
	}
}

// rangeOf compiles an expression of type range.
func (c *compiler) rangeOf(e syntax.Expr) func(f *frame) Range {
	if r, ok := unparen(e).(*syntax.RangeExpr); ok {
		return c.rangeBounds(r)
	}
	v := c.ref(e)
	return func(f *frame) Range { r, _ := v(f).(Range); return r }
}

// sliceBounds checks a range against n items and returns its start and length.
func (m *Machine) sliceBounds(r Range, n int, at position, what, item string) (lo, count int) {
	k := r.Len()
	if k == 0 {
		if r.Lo < 0 || r.Lo > int64(n) {
			m.outside(at, r.Lo, n, what, item)
		}
		return int(r.Lo), 0
	}
	last := r.Lo + (k-1)*r.Step
	for _, i := range []int64{r.Lo, last} {
		if i < 0 || i >= int64(n) {
			m.outside(at, i, n, what, item)
		}
	}
	return int(r.Lo), int(k)
}

// arraySlice compiles a[…] with one range: a list.
func (c *compiler) arraySlice(e *syntax.Index) refFn {
	array, at := c.ref(e.X), c.positionOf(e)
	var idx []intFn
	axis := -1
	var r func(f *frame) Range
	for d, a := range e.Args {
		if a.Type().Kind == types.Range {
			axis, r = d, c.rangeOf(a)
			idx = append(idx, nil)
			continue
		}
		idx = append(idx, c.int(a))
	}
	kind := listKind(e.Type())
	return func(f *frame) any {
		m := f.m
		a, _ := array(f).(*Array)
		a.needHeld(m, at)
		rank := max(1, int(a.buf.Rank))
		if rank != len(idx) {
			m.wrongRank(a, len(idx), at)
		}
		dim := func(d int) int {
			if a.buf.Rank == 0 {
				return 1
			}
			return a.buf.Dim[d]
		}
		stride := func(d int) int {
			if a.buf.Rank == 0 {
				return 1
			}
			return a.buf.Stride[d]
		}
		off := 0
		for d, i := range idx {
			if i == nil {
				continue
			}
			k := i(f)
			if uint64(k) >= uint64(dim(d)) {
				m.outside(at, k, dim(d), "`"+firstName(at)+"`", axisNoun(&a.buf, d))
			}
			off += int(k) * stride(d)
		}
		x := r(f)
		lo, n := m.sliceBounds(x, dim(axis), at, "`"+firstName(at)+"`", axisNoun(&a.buf, axis))
		m.allocList(int64(n), kind, at)
		out := newList(kind, n)
		for k := 0; k < n; k++ {
			if k&0xffff == 0xffff {
				m.poll(at)
			}
			v := readElem(a.buf.Elem, a.elem(m, off+(lo+k*int(x.Step))*stride(axis)))
			switch kind {
			case rFloat:
				out.f[k] = v.f
				continue
			case rRef:
				out.a[k] = complex(v.f, v.im)
				continue
			}
			if a.buf.Elem == iface.U64 && v.i < 0 {
				m.fail("R0103", at, "the element %d does not fit an int (64 bit)", uint64(v.i))
			}
			out.i[k] = v.i
		}
		return out
	}
}

// Indices outside of lists and arrays: what is said about them.

// outside raises R0105 for the index k of what, which has n items.
func (m *Machine) outside(at position, k int64, n int, what, item string) {
	d := m.diagnostic("R0105", at, fmt.Sprintf("index %d is outside of %s", k, what))
	switch {
	case n == 0:
		d.Label = "it is empty"
	case n == 1:
		d.Label = fmt.Sprintf("it has one %s: 0", item)
	default:
		d.Label = fmt.Sprintf("it has %d %ss: 0 to %d", n, item, n-1)
	}
	if k < 0 {
		d.Help = []string{fmt.Sprintf("indices count from 0; the last one is `len(%s) - 1`", firstName(at))}
	}
	indexOrigin(d, at, n)
	m.raise(d)
}

// indexOrigin adds to d where the index at a place comes from: the range of the loop around
// it, with the edit that ends the loop before n if the loop ends there by its text, or
// the literal that counts from the end.
func indexOrigin(d *diag.Diagnostic, at position, n int) {
	if at.file == nil {
		return
	}
	syntax.Walk(at.file, func(node syntax.Node, around []syntax.Node) {
		e, ok := node.(*syntax.Index)
		if !ok || e.Span != at.at {
			return
		}
		for _, arg := range e.Args {
			if back, ok := arg.(*syntax.Unary); ok && back.Op == "-" && len(e.Args) == 1 {
				_, name := e.X.(*syntax.Ident)
				if lit, ok := back.X.(*syntax.IntLit); ok && name && lit.Value > 0 && lit.Value <= int64(n) {
					right := fmt.Sprintf("len(%s) - %d", firstName(at), lit.Value)
					d.Help = []string{fmt.Sprintf("indices count from 0; from the end that is `%s`", right)}
					d.Edit(at.file.At(arg), right)
				}
			}
			if in, name := loopAround(arg, around); in != nil {
				d.Labels = append(d.Labels, diag.Label{Span: at.file.At(in), Text: fmt.Sprintf("`%s` comes from this range", name.Name)})
				r, ok := in.(*syntax.RangeExpr)
				if ok && r.Closed && arg == syntax.Expr(name) && endsAt(at, r.Hi, e.X, n) {
					right := sourceOf(at, r.Lo) + ".." + sourceOf(at, r.Hi)
					d.Help = append(d.Help, fmt.Sprintf("`..=` includes its end: write `%s`", right))
					d.Edit(at.file.At(r), right)
				}
				return
			}
		}
	})
}

// loopAround finds the range of the loop that names something in arg, and that name.
func loopAround(arg syntax.Expr, around []syntax.Node) (in syntax.Expr, name *syntax.Ident) {
	switch x := arg.(type) {
	case *syntax.Ident:
		for i := len(around) - 1; i >= 0; i-- {
			switch loop := around[i].(type) {
			case *syntax.For:
				for _, id := range loop.Names {
					if id.Obj == x.Obj && x.Obj != nil {
						return loop.In, x
					}
				}
			case *syntax.ListComp:
				if loop.Var != nil && loop.Var.Obj == x.Obj && x.Obj != nil {
					return loop.In, x
				}
			}
		}
	case *syntax.Paren:
		return loopAround(x.X, around)
	case *syntax.Unary:
		return loopAround(x.X, around)
	case *syntax.Binary:
		if in, name = loopAround(x.X, around); in == nil {
			in, name = loopAround(x.Y, around)
		}
	}
	return in, name
}

// endsAt reports whether hi is n by its text: the number itself, or the length or a
// size of x.
func endsAt(at position, hi, x syntax.Expr, n int) bool {
	switch e := hi.(type) {
	case *syntax.IntLit:
		return e.Value == int64(n)
	case *syntax.Call:
		fn, ok := e.Fn.(*syntax.Ident)
		return ok && fn.Name == "len" && len(e.Args) == 1 && sourceOf(at, e.Args[0].Value) == sourceOf(at, x)
	case *syntax.Selector:
		return e.Name.Name == "n" && sourceOf(at, e.X) == sourceOf(at, x)
	}
	return false
}

// sourceOf is the text of a part of the file of at.
func sourceOf(at position, n syntax.Node) string { return position{at.file, n.Range()}.source() }

// Assignment to items of lists and elements of arrays.

func (c *compiler) assignItem(s *syntax.Assign, t *syntax.Index) stmt {
	value := operated(s)
	if s.Op != "=" && hasCall(t) {
		return c.assignOnce(s, t)
	}
	if t.X.Type().Kind == types.Array {
		el, at := c.element(t)
		store := c.elemStore(value, t.X.Type(), c.positionOf(s.Value))
		return func(f *frame) ctl {
			a, p := el(f)
			if a.mode == iface.R {
				f.m.readOnlyArray(a, at)
			}
			store(f, a, p)
			a.stored(f.m)
			return next
		}
	}
	list, at := c.listItem(t)
	kind := listKind(t.X.Type())
	set := c.itemStore(value, t.X.Type())
	return func(f *frame) ctl {
		l, k := list(f)
		if l.frozen {
			f.m.failHelp("E0204", at, "this list belongs to a module", "copy it first: `let mine = theirs + []`",
				"an exported list cannot be changed")
		}
		if l.kind != kind && l.Len() > 0 {
			f.m.fail("E0705", at, "the items of this list have another type")
		}
		set(f, l, k, at)
		l.unknown = l.unknown || f.m.unknown
		return next
	}
}

// assignOnce is x[i] op= v where x or i has effects: they are evaluated once.
func (c *compiler) assignOnce(s *syntax.Assign, t *syntax.Index) stmt {
	op := strings.TrimSuffix(s.Op, "=")
	at := c.positionOf(s)
	if t.X.Type().Kind == types.Array {
		el, at := c.element(t)
		val := c.any(s.Value)
		return func(f *frame) ctl {
			a, p := el(f)
			if a.mode == iface.R {
				f.m.readOnlyArray(a, at)
			}
			old := a.boxed(f.m, p, at)
			f.m.storeElem(a, p, f.m.operate(op, old, val(f), at), at)
			a.stored(f.m)
			return next
		}
	}
	list, _ := c.listItem(t)
	val := c.any(s.Value)
	return func(f *frame) ctl {
		l, k := list(f)
		if l.frozen {
			f.m.fail("E0204", at, "an exported list cannot be changed")
		}
		l.in(f.m, k, at)
		l.set(int(k), f.m.operate(op, l.at(int(k)), val(f), at))
		l.unknown = l.unknown || f.m.unknown
		return next
	}
}

// set replaces item k.
func (l *List) set(k int, v any) {
	one := newList(l.kind, 0)
	one.push(v)
	switch {
	case one.Len() == 0:
	case l.kind == rFloat:
		l.f[k] = one.f[0]
	case l.kind == rRef:
		l.a[k] = one.a[0]
	default:
		l.i[k] = one.i[0]
	}
}

// itemStore compiles the store of e into an item of a list of type t.
func (c *compiler) itemStore(e syntax.Expr, t *types.Type) func(f *frame, l *List, k int64, at position) {
	switch listKind(t) {
	case rInt:
		v := c.int(e)
		return func(f *frame, l *List, k int64, at position) { x := v(f); l.in(f.m, k, at); l.i[k] = x }
	case rBool:
		v := c.bool(e)
		return func(f *frame, l *List, k int64, at position) { x := v(f); l.in(f.m, k, at); l.i[k] = b2i(x) }
	case rFloat:
		v := c.float(e)
		return func(f *frame, l *List, k int64, at position) { x := v(f); l.in(f.m, k, at); l.f[k] = x }
	}
	v := c.refAs(e, t.Of)
	return func(f *frame, l *List, k int64, at position) { x := v(f); l.in(f.m, k, at); l.a[k] = x }
}
