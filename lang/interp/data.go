package interp

// Registered data: handles, host memory, and register with its constructors.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Handle is registered data of a run: a whole datum or a part of one.
type Handle struct {
	h       *datamgr.Handle
	root    *Handle // beside h: every insert looks at both
	m       *Machine
	typ     *types.Type
	view    *View     // that it is a part of; nil: a whole datum
	deflt   *View     // the default view
	at      position  // of its register
	owner   int32     // place in Machine.owned of a whole datum; -1: none
	grows   bool      // in a plan, of a whole datum: a task was inserted that may set its size
	copied  bool      // the memory that workers have for it, where it is REDUX or SCRATCH, was counted
	ldim    int       // of a whole matrix in main memory; 0: the number of columns
	layouts []*Layout // of a whole datum that has other layouts on devices
	fold    string    // of a whole datum registered with reduce = sum, prod, min or max
	sparse  *sparse   // of a sparse matrix, or of one of its arrays
}

// Exists reports whether h is data of a run, dead or alive, and neither nil nor a Handle
// made elsewhere.
func (h *Handle) Exists() bool { return h != nil && h.h != nil }

// Name returns the name in the script, such as "x" or "x[3]".
func (h *Handle) Name() string {
	if !h.Exists() {
		return ""
	}
	if member := h.memberName(); member != "" && h.sparse.whole.view != nil {
		return h.sparse.whole.Name() + "." + member
	}
	if n := h.h.Name(); n != "" {
		if h.isSparse() {
			n = strings.TrimSuffix(n, "."+h.sparse.Format.Arrays[h.sparse.Format.Values()].Name)
		}
		return n
	}
	if h.view != nil {
		return h.view.text() + "[" + partIndex(h.view.v.Dims, h.view.place(h)) + "]"
	}
	return "data"
}

// place is the number of h, a part of v.
func (v *View) place(h *Handle) int {
	return int((uintptr(unsafe.Pointer(h)) - uintptr(unsafe.Pointer(unsafe.SliceData(v.parts)))) / unsafe.Sizeof(*h))
}

func partIndex(dims []int, k int) string {
	idx := make([]string, len(dims))
	for d := len(dims) - 1; d >= 0; d-- {
		idx[d] = fmt.Sprint(k % dims[d])
		k /= dims[d]
	}
	return strings.Join(idx, ", ")
}

// Type returns the type in the language, such as "vector[f32]".
func (h *Handle) Type() *types.Type {
	if !h.Exists() {
		return types.TNone
	}
	return h.typ
}

// Desc returns kind, element type, sizes and place in the root datum.
func (h *Handle) Desc() iface.Desc {
	if !h.Exists() {
		return iface.Desc{}
	}
	return h.h.Desc()
}

// Shape returns the sizes, one for each index.
func (h *Handle) Shape() []int {
	d := h.Desc()
	return d.Shape()
}

// Engine returns the handle as the engine's Go API takes it.
func (h *Handle) Engine() *datamgr.Handle {
	if !h.Exists() {
		return nil
	}
	return h.h
}

// String describes h: "x: vector[f32] of 8".
func (h *Handle) String() string {
	if !h.Exists() {
		return "no data"
	}
	d := h.h.Desc()
	return h.Name() + ": " + d.String()
}

// Acquire waits for h in mode m from Go code. Errors are diagnostics. When ctx
// ends, only the waiting does.
func (h *Handle) Acquire(ctx context.Context, mode iface.AccessMode) (acc *engine.Access, err error) {
	if !h.Exists() {
		return nil, errors.New("lang: Acquire of no handle: nil, or not from an instance")
	}
	m := h.m
	err = m.enter(ctx, func() { acc = m.hold(h, mode, position{}) })
	return acc, err
}

// ld returns the distance between rows of a matrix in the root's memory. The rows of
// a plane of a block that would not be contiguous there lie side by side instead.
func (h *Handle) ld() int {
	root := h.root.Desc()
	switch {
	case h.root.ldim > 0:
		return h.root.ldim
	case root.Kind == iface.Matrix:
		return root.Dim[1]
	}
	step := h.h.Strides()
	if step[1] != 1 {
		return h.h.Desc().Dim[1]
	}
	return step[0]
}

// Sparse matrices: a Handle that stands for several data of the engine, its arrays.

// sparse is a sparse matrix, or a part of one. The Handle of the whole has the engine's handle of the
// values, which are all of it that changes.
type sparse struct {
	iface.SparseStructure // but for Row and Col; offsets of a part need not begin with 0
	whole                 *Handle
	arrays                []Handle // as the format has them
	origin                int      // the first row, or column, in the root matrix
	guessed               bool     // in a plan: the entries stand for others, see standIn
}

// setSparse makes h a whole sparse matrix with these arrays.
func (h *Handle) setSparse(arrays []*datamgr.Handle, k *sparse) {
	h.sparse, k.whole = k, h
	k.arrays = make([]Handle, len(arrays))
	for i, a := range k.Format.Arrays {
		k.arrays[i] = Handle{h: arrays[i], m: h.m, typ: h.typ.Member(a.Name), at: h.at, root: h, owner: -1, sparse: k}
	}
}

// isSparse reports whether h is a sparse matrix, and not one of its arrays.
func (h *Handle) isSparse() bool { return h.sparse != nil && h.sparse.whole == h }

// member returns an array of the sparse matrix h.
func (h *Handle) member(name string) *Handle {
	return &h.sparse.arrays[h.sparse.Format.Array(name)]
}

// Member returns an array of the sparse matrix h, such as "ptr", "col" or "val", as a handle; nil if h is no
// sparse matrix, or has no such array. Of h itself, Acquire and Desc are those of the values.
func (h *Handle) Member(name string) *Handle {
	if !h.Exists() || !h.isSparse() || h.typ.Member(name) == nil {
		return nil
	}
	return h.member(name)
}

// memberName returns the name of h as an array of a sparse matrix, "" if it is none.
func (h *Handle) memberName() string {
	if h.sparse == nil {
		return ""
	}
	for i := range h.sparse.arrays {
		if &h.sparse.arrays[i] == h {
			return h.sparse.Format.Arrays[i].Name
		}
	}
	return ""
}

// data returns the data of the engine that h stands for.
func (h *Handle) data() []*Handle { return addData(nil, h) }

// addData appends the data of the engine that h stands for.
func addData(out []*Handle, h *Handle) []*Handle {
	if !h.isSparse() {
		return append(out, h)
	}
	for i := range h.sparse.arrays {
		out = append(out, &h.sparse.arrays[i])
	}
	return out
}

// values returns the data of the engine that has the values of h: of structs all fields, of a sparse matrix
// the array of values.
func (h *Handle) values() []*Handle {
	if h.isSparse() && h.sparse.Format.Fields {
		return h.data()
	}
	return []*Handle{h}
}

// values returns the array of values.
func (k *sparse) values() *Handle { return &k.arrays[k.Format.Values()] }

// guesses reports whether a field of h, a sparse matrix or one of its arrays, depends on entries that a plan does not know.
func (k *sparse) guesses(h *Handle, name string) bool {
	switch {
	case !k.guessed:
		return false
	case k.whole.view != nil: // a part, which ends where the entries say
		return name != "r" && name != "c"
	case h == k.whole:
		return name == "nnz"
	}
	return h.memberName() != "ptr" && (name == "n" || name == "nx")
}

// field reads a size of a sparse matrix.
func (k *sparse) field(name string) int64 {
	switch name {
	case "rows":
		return int64(k.Rows)
	case "cols":
		return int64(k.Cols)
	case "r":
		return int64(k.R)
	case "c":
		return int64(k.C)
	case "n":
		return int64(k.Rows)
	case "nnz":
		d := k.values().h.Desc()
		return int64(d.Len())
	}
	return int64(k.origin) // row0, col0 or offset
}

// sizesText writes the sizes of a sparse matrix: "3 x 4, 5 entries".
func (k *sparse) sizesText() string {
	d := k.values().h.Desc()
	if k.Format.Fields {
		return plural(int64(d.Dim[0]), "element")
	}
	n := strings.Replace(plural(int64(d.Dim[0]), "entry"), "entrys", "entries", 1)
	if k.Format.Blocks {
		n = fmt.Sprintf("%s of %d x %d", plural(int64(d.Dim[0]), "block"), k.R, k.C)
	}
	return fmt.Sprintf("%d x %d, %s", k.Rows, k.Cols, n)
}

// dataIn lists the data of the engine in v: handlesIn, with the arrays of sparse matrices.
func (m *Machine) dataIn(v any, at position) (out []*Handle) {
	list := m.handlesIn(v, at)
	for k, h := range list {
		if h.isSparse() { // most often there is none, and the list remains
			out = append(out, list[:k]...)
			for _, h := range list[k:] {
				out = addData(out, h)
			}
			return out
		}
	}
	return list
}

// Binding is Go memory that is the home of a handle.
type Binding struct {
	Kind     iface.Kind
	Elem     iface.Elem
	Dims     []int
	LD       int
	Step     []int // see engine.DataSpec
	Home     unsafe.Pointer
	Keep     any // what Home points into
	ReadOnly bool
	NoMemory bool   // sizes alone, for plans
	File     string // what the data is read from, instead of a home; the extern says Kind and Elem
	// Structure is set of a sparse matrix, whose values are the rest. It was checked, and must not change.
	Structure *iface.SparseStructure
	Text      string // of a variable that was read from File: its element
	// Fields is set of a vector of structs: the memory of each field.
	Fields []FieldBinding
}

// FieldBinding is Go memory that is the home of a field of structs.
type FieldBinding struct {
	Name string // as in the script, in upper or lower case
	Elem iface.Elem
	Home unsafe.Pointer
	Step []int // distance between neighbours, in elements; nil: they lie side by side
}

// NamedBinding is a Binding for an extern name.
type NamedBinding struct {
	Name string
	Data *Binding
}

// mustHaveHome reports whether b has elements.
func (b *Binding) mustHaveHome() bool {
	for _, n := range b.Dims {
		if n == 0 {
			return false
		}
	}
	return true
}

// Type returns the handle type of b.
func (b *Binding) Type() *types.Type {
	if b.Structure != nil {
		return types.SparseOf(b.Structure.Format, b.Elem)
	}
	return types.HandleOf(b.Kind, b.Elem)
}

// bindSparse registers a sparse matrix that the host binds: values of the host, and a copy of the structure.
func (m *Machine) bindSparse(o *types.Object, b *Binding, at position) *Handle {
	s := &sparseSource{SparseStructure: iface.SparseStructure{Format: o.Type.Sparse(), Rows: -1, Cols: -1, R: 1, C: 1}}
	switch {
	case b.Structure != nil:
		s.SparseStructure = *b.Structure
	case s.Format.Blocks && b.File != "":
		m.failHelp("E0904", at, "", fmt.Sprintf("write `register %s = %v(r = 2, c = 2, load = %q)`, with the sizes of its blocks", o.Name, o.Type, b.File),
			"`%s` is a bcsr, and a file does not say how large blocks are", o.Name)
	case b.File != "":
		m.loadSparse(s, b.File, o.Type.Elem, at)
	default: // of a plan
		if b.Kind != iface.Matrix || b.Elem != o.Type.Elem {
			m.failHelp("E0904", at, fmt.Sprintf("declared %v", o.Type), "a plan needs its rows and columns", "`%s` is bound to a %v", o.Name, b.Type())
		}
		m.standIn(s, b.Dims, at)
	}
	spec := engine.DataSpec{Kind: o.Type.Member("val").Data(), Elem: o.Type.Elem, Site: siteOf(at), Dims: s.Dims(), ReadOnly: b.ReadOnly}
	if b.Structure != nil {
		spec.Home = b.Home
		s.values = func(*iface.Buffer) error { return nil } // where there is no element
	}
	m.keep = append(m.keep, b.Keep)
	return m.newSparse(o.Name, o.Type, s, spec, at)
}

// register: constructors, and where data gets its first value.

// maker makes one value of a register: a handle, or a list of them.
type maker func(f *frame, name string) any

func (c *compiler) register(s *syntax.Register) stmt {
	make1 := c.maker(s.Value)
	var list []stmt
	for _, id := range s.Names {
		o, name := id.Obj, id.Name
		slot := o.Slot
		at := c.positionOf(id)
		list = append(list, c.declared(o, func(f *frame) ctl {
			v := make1(f, name)
			eachHandle(v, func(h *Handle) { h.at = at })
			f.r[slot] = v
			return next
		}))
	}
	if len(list) == 1 {
		return list[0]
	}
	return func(f *frame) ctl {
		for _, s := range list {
			s(f)
		}
		return next
	}
}

func (c *compiler) maker(e syntax.Expr) maker {
	switch x := unparen(e).(type) {
	case *syntax.Call:
		return c.constructor(x)
	case *syntax.ListLit:
		var items []maker
		for _, it := range x.Items {
			items = append(items, c.maker(it))
		}
		at := c.positionOf(x)
		return func(f *frame, name string) any {
			f.m.allocList(int64(len(items)), rRef, at)
			l := newList(rRef, len(items))
			for k, mk := range items {
				l.a[k] = mk(f, fmt.Sprintf("%s[%d]", name, k))
			}
			return l
		}
	case *syntax.ListComp:
		at := c.positionOf(x)
		c.use(x.Var.Obj)
		over := c.items(x.In, x.Var.Obj, at)
		item := c.maker(x.Item)
		return func(f *frame, name string) any {
			var l *List
			over(f, func(n int64) {
				f.m.allocList(n, rRef, at)
				l = emptied(rRef, int(n))
			}, func() {
				l.a = append(l.a, item(f, fmt.Sprintf("%s[%d]", name, len(l.a))))
			})
			return l
		}
	}
	c.bug(e, "%T in register", e)
	return nil
}

// argument returns the argument called name, or number i of those without a name.
func argument(e *syntax.Call, name string, i int) (syntax.Expr, syntax.Node) {
	for k, a := range e.Args {
		if a.Name == nil && k == i || a.Name != nil && a.Name.Name == name {
			return a.Value, a
		}
	}
	return nil, nil
}

// constructor compiles vector[f32](n, fill = 1.0) and the like.
func (c *compiler) constructor(e *syntax.Call) maker {
	t := e.Type()
	if t.Fields() != nil {
		return c.structConstructor(e)
	}
	if t.Sparse() != nil {
		return c.sparseConstructor(e)
	}
	at := c.positionOf(e)
	spec := engine.DataSpec{Kind: t.Data(), Elem: t.Elem, Site: siteOf(at)}
	el := t.Elem
	var dims []intFn
	var dimAt []position
	for i, n := range spec.Kind.Sizes() {
		if x, _ := argument(e, n, i); x != nil {
			dims = append(dims, c.int(x))
			dimAt = append(dimAt, c.positionOf(x))
		}
	}
	var ld intFn
	var ldAt position
	if x, _ := argument(e, "ld", -1); x != nil {
		ld, ldAt = c.int(x), c.positionOf(x)
	}
	var room intFn
	var roomAt position
	if x, _ := argument(e, "capacity", -1); x != nil {
		room, roomAt = c.int(x), c.positionOf(x)
	}
	var reduce refFn
	if x, _ := argument(e, "reduce", -1); x != nil {
		reduce = c.ref(x)
	}
	var layouts refFn
	if x, _ := argument(e, "layout", -1); x != nil {
		layouts = c.ref(x)
	}
	owner := c.ownerOf(e)
	var source func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error
	if x, _ := argument(e, "fill", -1); x != nil {
		source = c.fillSource(x, el)
	}
	if x, _ := argument(e, "list", -1); x != nil {
		source = c.listSource(x, el)
	}
	if x, _ := argument(e, "load", -1); x != nil {
		source = c.loadSource(x)
	}
	if x, _ := argument(e, "from", -1); x != nil {
		source = c.denseSource(x)
	}
	return func(f *frame, name string) any {
		m := f.m
		s := spec
		s.Name, s.Owner = name, owner(f)
		s.Dims = make([]int, len(dims))
		for k, d := range dims {
			n := d(f)
			if n < 0 {
				m.fail("E0705", dimAt[k], "a size cannot be negative, and this is %d", n)
			}
			s.Dims[k] = int(n)
		}
		leading := 0
		if ld != nil {
			n := ld(f)
			if len(s.Dims) == 2 && n < int64(s.Dims[1]) || n < 0 || n > math.MaxInt32<<8 {
				m.failHelp("E0705", ldAt, "", "`ld` is the distance between rows, in elements", "ld is %d, below the number of columns", n)
			}
			leading = int(n)
			s.LD = leading
		}
		if reduce != nil {
			if r, ok := reduce(f).(*Reducer); ok {
				s.Reduce = m.reduction(r, t, at)
			}
		}
		fold := ""
		if r := s.Reduce; r != nil && r.Name != scriptReducer {
			fold = r.Name
		}
		var fill func(*iface.Buffer) error
		if source != nil {
			fill = source(f, &s)
			if in := m.input; in != nil { // of a file
				m.input = nil
				defer protect(in.Close) // again, unless nothing has read it
			}
		}
		if room != nil {
			m.capacity(&s, room(f), roomAt)
		}
		h := m.registerOne(name, s, leading, fill, at)
		w := &Handle{h: h, m: m, typ: t, at: at, owner: -1, ldim: leading, fold: fold}
		w.root = w
		m.own(w)
		if layouts != nil {
			m.setLayouts(w, layoutsOf(layouts(f)))
		}
		return w
	}
}

// capacity gives spec room for n elements, or rows.
func (m *Machine) capacity(spec *engine.DataSpec, n int64, at position) {
	if size := spec.Dims[0]; n < int64(size) || n > math.MaxInt32<<8 {
		m.failHelp("E0705", at, "", "the capacity is what there is room for: the size, or more", "the capacity is %d, and the data begins with %d", n, size)
	}
	spec.Capacity = append([]int{int(n)}, spec.Dims[1:]...)
	spec.InParts = false
}

func (r *raised) Error() string { return r.err.Error() }

// registerOne counts and registers the data of spec for name, and ends the run if that cannot be done.
func (m *Machine) registerOne(name string, spec engine.DataSpec, leading int, fill func(*iface.Buffer) error, at position) *datamgr.Handle {
	m.countData(&spec, leading, at)
	h, err := m.registerData(spec, fill)
	if err != nil {
		m.notRegistered(name, err, at)
	}
	m.events.registered(h)
	return h
}

// notRegistered ends the run because data for name could not be registered.
func (m *Machine) notRegistered(name string, err error, at position) {
	var r *raised
	if errors.As(err, &r) {
		panic(r)
	}
	if errors.Is(err, engine.ErrClosed) {
		m.raiseEngine(err, at, nil)
	}
	m.fail("E0705", at, "`%s` cannot be registered: %s", name, firstLine(err.Error()))
}

// own gives a datum to the innermost open block.
func (m *Machine) own(h *Handle) {
	if m.checkpoints != nil || m.plan != nil && m.ranks != nil {
		m.registers.add(h)
	}
	h.owner = int32(len(m.owned))
	m.owned = append(m.owned, owned{h: h})
}

// countData counts the bytes of data that is about to be registered.
func (m *Machine) countData(s *engine.DataSpec, ld int, at position) {
	n := int64(s.Elem.Size())
	dims := append([]int(nil), s.Dims...)
	if s.Capacity != nil {
		copy(dims, s.Capacity)
	}
	if len(dims) == 2 && ld > dims[1] {
		dims[1] = ld
	}
	for _, d := range dims {
		k, ok := mulInt(n, int64(d))
		if !ok || k > 1<<48 {
			m.fail("E0705", at, "data of %s is larger than any machine", sizesText(s.Dims))
		}
		n = k
	}
	m.countBytes(n+handleBytes, at)
}

// handleBytes is what a handle counts against Limits.DataBytes besides its elements: about
// what it takes, or else a script could fill the memory with small data. For parts of views
// see datamgr.ViewOptions.
const handleBytes = 1024

// countBytes counts n bytes of data or views.
func (m *Machine) countBytes(n int64, at position) {
	if n > m.may.data-m.used.data {
		m.exceeded("data", at)
	}
	m.used.data += n
}

func sizesText(dims []int) string {
	var s []string
	for _, d := range dims {
		s = append(s, fmt.Sprint(d))
	}
	return strings.Join(s, " x ") + " elements"
}

func siteOf(at position) *engine.Site {
	s := at.span()
	return &engine.Site{File: s.File, Line: s.Start.Line, Col: s.Start.Col, Data: at}
}

// listSource compiles list = [...]: flat, row by row.
func (c *compiler) listSource(x syntax.Expr, el iface.Elem) func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
	list, at := c.ref(x), c.positionOf(x)
	return func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
		m := f.m
		l, _ := list(f).(*List)
		l = l.orEmpty()
		if spec.Kind == iface.Vector && len(spec.Dims) == 0 {
			spec.Dims = []int{l.Len()}
		}
		want := 1
		for _, d := range spec.Dims {
			want *= d
		}
		if want != l.Len() {
			m.failHelp("E0705", at, fmt.Sprintf("%s given", plural(int64(l.Len()), "item")), "the list is flat, row by row",
				"the list has %s, and the data %s", plural(int64(l.Len()), "item"), plural(int64(want), "element"))
		}
		for k := 0; k < l.Len(); k++ {
			if l.kind == rInt && !intFits(el, l.i[k]) {
				m.outOfRange(el, l.i[k], at)
			}
			if l.kind == rFloat && !floatFits(el, l.f[k]) {
				m.outOfRange(el, l.f[k], at)
			}
			if l.kind == rRef {
				m.complexFits(el, complexOf(l.a[k]), at)
			}
			if k&0xffff == 0xffff {
				m.poll(at)
			}
		}
		return func(b *iface.Buffer) error {
			eachElem(b, func(k int, p unsafe.Pointer) {
				switch l.kind {
				case rFloat:
					writeFloat(el, p, l.f[k])
				case rRef:
					writeComplex(el, p, complexOf(l.a[k]))
				default:
					writeInt(el, p, l.i[k])
				}
			})
			return nil
		}
	}
}

// Structs: an array for each field.

// newStructs returns the handle of structs with these arrays.
func (m *Machine) newStructs(t *types.Type, arrays []*datamgr.Handle, at position) *Handle {
	out := &Handle{h: arrays[len(arrays)-1], m: m, typ: t, at: at, owner: -1}
	out.root = out
	d := out.h.Desc()
	out.setSparse(arrays, &sparse{SparseStructure: iface.SparseStructure{Format: t.Fields(), Rows: d.Dim[0], R: 1, C: 1}})
	m.own(out)
	return out
}

// bindStructs registers structs that the host binds: its slices, a file, or a size for plans.
func (m *Machine) bindStructs(o *types.Object, b *Binding, at position) *Handle {
	fields := o.Type.Fields().Arrays
	var arrays []*datamgr.Handle
	none := func(*iface.Buffer) error { return nil }
	m.keep = append(m.keep, b.Keep)
	dims := b.Dims
	for _, a := range fields {
		spec := engine.DataSpec{Name: o.Name + "." + a.Name, Kind: iface.Vector, Elem: a.Elem, Site: siteOf(at), Dims: dims, ReadOnly: b.ReadOnly}
		fill := none
		switch {
		case b.File != "":
			fill = m.load(m.structFile(b.File, o.Type, at, "load")+":"+a.Name, at, &spec)
			if in := m.input; in != nil {
				m.input = nil
				defer protect(in.Close)
			}
			dims = spec.Dims
		case b.NoMemory && b.Kind == iface.Vector:
			arrays = append(arrays, m.registerOne(spec.Name, spec, 0, fill, at))
			m.plannedHome(arrays[len(arrays)-1])
			continue
		default:
			f := m.boundField(o, b, a, at)
			if spec.Home, spec.Step = f.Home, f.Step; dims[0] > 0 {
				h, err := m.registerData(spec, nil)
				if err != nil {
					m.fail("E0904", at, "`%s` cannot be bound: %v", o.Name, err)
				}
				m.events.registered(h)
				arrays = append(arrays, h)
				continue
			}
			spec.Home, spec.Step = nil, nil
		}
		arrays = append(arrays, m.registerOne(spec.Name, spec, 0, fill, at))
	}
	return m.newStructs(o.Type, arrays, at)
}

// boundField returns the memory of the field a of b, a vector of structs.
func (m *Machine) boundField(o *types.Object, b *Binding, a iface.SparseArray, at position) FieldBinding {
	if b.Fields == nil {
		m.failHelp("E0904", at, fmt.Sprintf("declared %v", o.Type), "bind structs by `lang.StructsOf`, with a slice of structs, or a slice for each field", "`%s` is bound to a %v", o.Name, b.Type())
	}
	var names []string
	for _, f := range b.Fields {
		names = append(names, f.Name)
		if !strings.EqualFold(f.Name, a.Name) {
			continue
		}
		if f.Elem != a.Elem {
			m.failHelp("E0904", at, fmt.Sprintf("declared %v", o.Type), fmt.Sprintf("make it a slice of %v, or declare the field `%s: %v`", a.Elem.GoType(), a.Name, f.Elem),
				"the field `%s` of `%s` is %v, and its slice has %v", a.Name, o.Name, a.Elem, f.Elem)
		}
		if len(b.Fields) == len(o.Type.Fields().Arrays) {
			return f
		}
	}
	m.failHelp("E0904", at, fmt.Sprintf("declared %v", o.Type), "a Go struct has a slice for each field, and no others, with its name or with it as tag: `spu:\"name\"`",
		"`%s` has the fields `%s`, and is bound to `%s`", o.Name, strings.Join(fieldNames(o.Type), "`, `"), strings.Join(names, "`, `"))
	return FieldBinding{}
}

// fieldNames returns the names of the fields of structs of type t.
func fieldNames(t *types.Type) (names []string) {
	for _, a := range t.Fields().Arrays {
		names = append(names, a.Name)
	}
	return names
}

// numbered is data with the number of its register.
type numbered struct {
	n int
	h *Handle
}

// plannedHome notes, in a plan for several ranks, that a run has memory of the host for h.
func (m *Machine) plannedHome(h *datamgr.Handle) {
	if m.plan != nil && m.ranks != nil {
		m.ranks.PlanHome(h)
	}
}

// registers are the whole data of a run that may be alive, for checkpoints.
type registers struct {
	data  []numbered // in the order of their registers
	made  int        // registers so far
	prune int        // when data has this length, what is dead is taken out
}

// add notes that h was registered.
func (c *registers) add(h *Handle) {
	c.made++
	c.data = append(c.data, numbered{c.made, h})
	if len(c.data) >= max(c.prune, 64) {
		c.data = slices.DeleteFunc(c.data, func(x numbered) bool { return !x.h.h.Alive() })
		c.prune = 2 * len(c.data)
	}
}

// live lists the data that there is, with names by the order of registers.
func (c *registers) live() (all []engine.NamedData) {
	for _, x := range c.data {
		for k, d := range x.h.data() {
			if d.h.Alive() {
				all = append(all, engine.NamedData{Name: strconv.Itoa(x.n) + "." + strconv.Itoa(k) + " " + d.h.Name(), Handle: d.h})
			}
		}
	}
	return all
}
