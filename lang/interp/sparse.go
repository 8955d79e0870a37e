package interp

// Sparse matrices: a Handle that stands for several data of the engine, its arrays, such as
// ptr, col and val. Order, validity and transfers are those of the arrays.

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// sparseConstructor compiles csr[f64](rows, cols, ptr = ..., col = ..., val = ...),
// csr[f64](load = "a.mtx"), csc[f64](from = A) and the like, and with a structure of other data.
func (c *compiler) sparseConstructor(e *syntax.Call) maker {
	t, at := e.Type(), c.positionOf(e)
	format := t.Sparse()
	sizeNames := format.Sizes()
	sizes, sizeAt := make([]intFn, len(sizeNames)), map[string]position{"": at}
	for i, n := range sizeNames {
		if x, _ := argument(e, n, i); x != nil {
			sizes[i], sizeAt[n] = c.int(x), c.positionOf(x)
		}
	}
	lists, listAt := map[string]refFn{}, map[string]position{}
	for _, a := range format.Arrays {
		if x, _ := argument(e, a.Name, -1); x != nil {
			lists[a.Name], listAt[a.Name] = c.ref(x), c.positionOf(x)
		}
	}
	var fill func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error
	if x, _ := argument(e, "fill", -1); x != nil {
		fill = c.fillSource(x, t.Elem)
	} else if x, _ := argument(e, "val", -1); x != nil {
		fill = c.listSource(x, t.Elem)
	}
	var file refFn
	var fileAt position
	if x, _ := argument(e, "load", -1); x != nil {
		file, fileAt = c.ref(x), c.positionOf(x)
	}
	other, owner := c.structureFrom(e), c.ownerOf(e)
	return func(f *frame, name string) any {
		m := f.m
		s := &sparseSource{SparseStructure: iface.SparseStructure{Format: format, Rows: -1, Cols: -1, R: 1, C: 1}}
		given := s.SparseStructure
		given.Rows, given.Cols = 0, 0
		for i, p := range [][2]*int{{&s.Rows, &given.Rows}, {&s.Cols, &given.Cols}, {&s.R, &given.R}, {&s.C, &given.C}} {
			if i < len(sizes) && sizes[i] != nil {
				n := int(sizes[i](f))
				*p[0], *p[1] = n, n
			}
		}
		mistake := func(e *iface.SparseError) {
			p, ok := listAt[e.Array]
			if !ok {
				if p, ok = sizeAt[e.Array]; !ok {
					p = at
				}
			}
			if e.Help == "" {
				m.fail("E0705", p, "%s", e.Message)
			}
			m.failHelp("E0705", p, "", e.Help, "%s", e.Message)
		}
		if e := given.CheckSizes(); e != nil {
			mistake(e)
		}
		switch {
		case file != nil:
			text, _ := file(f).(string)
			m.loadSparse(s, text, t.Elem, fileAt)
		case other != nil:
			rows, cols := s.Rows, s.Cols
			other(f, s)
			m.hasSizes(s, rows, cols, at)
		default:
			for _, a := range format.Arrays[:format.Values()] {
				l, _ := lists[a.Name](f).(*List)
				l = l.orEmpty()
				switch a.Name {
				case "ptr":
					s.Ptr = make([]int64, l.Len())
					copy(s.Ptr, l.i)
				case "row":
					s.Row = m.indices("row", l, listAt["row"])
				default:
					s.Col = m.indices("col", l, listAt["col"])
				}
			}
			e := s.Check(func() bool { m.poll(at); return false })
			if e != nil {
				mistake(e)
			}
		}
		values := format.Arrays[format.Values()]
		spec := engine.DataSpec{Kind: values.Kind, Elem: t.Elem, Site: siteOf(at), Dims: s.Dims(), Owner: owner(f)}
		if fill != nil {
			s.values = fill(f, &spec)
		}
		return m.newSparse(name, t, s, spec, at)
	}
}

// indices returns a list of rows or columns.
func (m *Machine) indices(array string, l *List, at position) []int32 {
	out := make([]int32, l.Len())
	for k := range out {
		if j := l.i[k]; j < 0 || j > iface.MaxSparse {
			m.failHelp("E0705", at, "", "indices count from 0", "item %d of `%s` is %d, which is no index", k, array, j)
		}
		out[k] = int32(l.i[k])
		if k&0xffff == 0xffff {
			m.poll(at)
		}
	}
	return out
}

// loadSparse reads a file into s.
func (m *Machine) loadSparse(s *sparseSource, name string, elem iface.Elem, at position) {
	name = m.fileName(name, at, "load")
	m.poll(at)
	if m.plan != nil {
		m.plan.loads[name] = true
		dims, ok := m.cfg.FileSizes[name]
		if d, saved := m.plan.saved[savedKey(name)]; !ok && saved { // the run will have the file by now
			dims, ok = d.desc.Shape(), true
		}
		if ok {
			m.standIn(s, dims, at)
			return
		}
	}
	var in *format.Sparse
	err := protect(func() (err error) {
		in, err = format.LoadSparse(format.Within(m.ctx, m.cfg.Files), name, elem, m.layout(s))
		return err
	})
	if errors.Is(err, format.ErrMost) {
		m.exceeded("data", at)
	}
	if err == nil && !s.fits(in) {
		err = &format.Error{File: name, Want: fmt.Sprintf("a sparse matrix of %d x %d", s.Rows, s.Cols), Got: fmt.Sprintf("size %d x %d", in.Rows, in.Cols)}
	}
	if err != nil {
		m.badFile(err, at, "cannot load", name)
	}
	s.take(in)
}

// denseSource compiles from = A of a matrix: the elements of a sparse matrix.
func (c *compiler) denseSource(x syntax.Expr) func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
	from, at := c.ref(x), c.positionOf(x)
	return func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
		m := f.m
		h, _ := from(f).(*Handle)
		m.alive(h, at)
		k := h.sparse
		if len(spec.Dims) == 0 {
			spec.Dims = []int{k.Rows, k.Cols}
		}
		if spec.Dims[0] != k.Rows || spec.Dims[1] != k.Cols {
			m.fail("E0705", at, "`%s` is %d x %d, and the matrix %d x %d", handleText(at, h), k.Rows, k.Cols, spec.Dims[0], spec.Dims[1])
		}
		s, val, release := m.readSparse(h, at)
		return func(b *iface.Buffer) error {
			defer release()
			if m.plan != nil {
				return nil
			}
			return format.Dense(s, val, b)
		}
	}
}

// newSparse registers the arrays of a sparse matrix. values describes its values.
func (m *Machine) newSparse(name string, t *types.Type, s *sparseSource, values engine.DataSpec, at position) *Handle {
	k := &sparse{SparseStructure: s.SparseStructure, guessed: s.guessed}
	k.Row, k.Col = nil, nil // the arrays have them
	m.countBytes(8*int64(len(s.Ptr)), at)
	var arrays []*datamgr.Handle
	for i, a := range s.Format.Arrays {
		spec, fill := values, s.values
		spec.Content = s.content
		if i != s.Format.Values() {
			spec = engine.DataSpec{Kind: a.Kind, Elem: a.Elem, Site: values.Site, ReadOnly: true, Owner: values.Owner}
			switch a.Name {
			case "ptr":
				fill = arrayOf(&spec, s.Ptr, s.content != nil)
			case "row":
				fill = arrayOf(&spec, s.Row, s.content != nil)
			default:
				fill = arrayOf(&spec, s.Col, s.content != nil)
			}
		}
		spec.Name = name + "." + a.Name
		if spec.Home != nil { // of the host, which pays for it
			h, err := m.registerData(spec, nil)
			if err != nil {
				m.fail("E0904", at, "`%s` cannot be bound: %v", name, err)
			}
			m.events.registered(h)
			arrays = append(arrays, h)
			continue
		}
		arrays = append(arrays, m.registerOne(name, spec, 0, fill, at))
	}
	out := &Handle{h: arrays[s.Format.Values()], m: m, typ: t, at: at, owner: -1}
	out.root = out
	out.setSparse(arrays, k)
	m.own(out)
	return out
}

// arrayOf makes spec the data of an array with the elements of s, and returns a function that copies them into a
// buffer. The data may take the memory of s if it is its own.
func arrayOf[T iface.Go](spec *engine.DataSpec, s []T, own bool) func(*iface.Buffer) error {
	spec.Dims = []int{len(s)}
	if own && len(s) > 0 {
		spec.Content = unsafe.Pointer(unsafe.SliceData(s))
	}
	return func(b *iface.Buffer) error { copy(iface.Slice[T](b), s); return nil }
}

// Structures of sparse matrices that come from other data: the entries of a matrix, of several, of a
// transposed or reordered one, a matrix in another format, and the elements of a dense matrix other than zero.

// sparseSource makes the structure of a sparse matrix, and writes its values.
type sparseSource struct {
	iface.SparseStructure
	values  func(*iface.Buffer) error // nil: none
	guessed bool                      // see sparse

	// content is the memory of the values, which the data may take, and that of the structure with it. It is nil
	// where others have the memory of the structure.
	content unsafe.Pointer
}

// standIn is sparseSource.standIn in a plan.
func (m *Machine) standIn(s *sparseSource, dims []int, at position) {
	s.standIn(dims)
	m.plannedEntries(s, at)
}

// plannedEntries marks the entries of s as a guess of the plan. Tasks do not depend on how many there are; messages
// between ranks do, so a plan by ranks says it.
func (m *Machine) plannedEntries(s *sparseSource, at position) {
	s.guessed = true
	if m.ranks != nil {
		m.plan.note(at, "how many entries this has is not known before a run: messages with them are estimated")
	}
}

// standIn gives s sizes and, as a plan does not know the entries, one in each line, or as many as it has
// rows.
func (s *sparseSource) standIn(dims []int) {
	up := func(n, r int) int { return (n + r - 1) / r * r }
	s.Rows, s.Cols = s.R, s.C
	if len(dims) > 0 {
		s.Rows = up(dims[0], s.R)
	}
	if len(dims) > 1 {
		s.Cols = up(dims[1], s.C)
	}
	n, entries := s.Lines(), s.Lines()
	if s.Format.Axis < 0 {
		entries = s.Rows
	}
	if s.Rows == 0 || s.Cols == 0 {
		entries = 0
	}
	if s.Format.Axis >= 0 {
		s.Ptr = make([]int64, n+1)
		for i := range s.Ptr {
			s.Ptr[i] = int64(min(i, entries))
		}
	}
	for _, a := range s.Format.Arrays {
		switch a.Name {
		case "row":
			s.Row = make([]int32, entries)
		case "col":
			s.Col = make([]int32, entries)
		}
	}
	s.values = func(*iface.Buffer) error { return nil }
}

// layout returns how s is to lie in memory.
func (m *Machine) layout(s *sparseSource) format.Layout {
	to := format.Layout{Format: s.Format, R: s.R, C: s.C}
	if m.may.data != unlimited {
		to.Bytes = max(1, m.may.data-m.used.data)
	}
	return to
}

// structureFn gives s a structure.
type structureFn func(f *frame, s *sparseSource)

// structureFrom compiles like =, transposed =, dense = and from = of a constructor. It returns nil if e has
// none of them.
func (c *compiler) structureFrom(e *syntax.Call) structureFn {
	at := c.positionOf(e)
	if x, _ := argument(e, "transposed", -1); x != nil {
		of, at := c.ref(x), c.positionOf(x)
		return func(f *frame, s *sparseSource) {
			h, _ := of(f).(*Handle)
			f.m.transposed(s, h, at)
		}
	}
	for _, name := range []string{"dense", "from"} {
		x, _ := argument(e, name, -1)
		if x == nil {
			continue
		}
		of, at := c.ref(x), c.positionOf(x)
		return func(f *frame, s *sparseSource) {
			h, _ := of(f).(*Handle)
			f.m.convertSparse(s, h, at)
		}
	}
	x, _ := argument(e, "like", -1)
	if x == nil {
		return nil
	}
	of, likeAt := c.ref(x), c.positionOf(x)
	var order refFn
	var orderAt position
	if x, _ := argument(e, "order", -1); x != nil {
		order, orderAt = c.ref(x), c.positionOf(x)
	}
	return func(f *frame, s *sparseSource) {
		m := f.m
		list := m.handlesIn(of(f), likeAt)
		if len(list) == 0 {
			m.failHelp("E0705", likeAt, "", "name the sparse matrices whose entries it has: `like = [A, B]`", "`like` is an empty list, and a csr needs its structure")
		}
		for k, h := range list {
			if k == 0 {
				m.likeOne(s, h, likeAt)
				continue
			}
			m.union(s, h, likeAt)
		}
		if order != nil {
			p, _ := order(f).(*Handle)
			m.reorder(s, p, orderAt, at)
		}
	}
}

// columnsOf calls use with the offsets of the rows of h and the columns of its entries, which nothing
// changes. In a plan, which knows no columns, they are zeros.
func (m *Machine) columnsOf(h *Handle, at position, use func(begin []int64, col []int32)) {
	m.alive(h, at)
	acc := m.hold(h.member("col"), iface.R, at)
	defer acc.Release()
	if m.plan != nil {
		use(h.sparse.Ptr, make([]int32, h.sparse.field("nnz")))
		return
	}
	use(h.sparse.Ptr, iface.Slice[int32](acc.Buffer()))
}

// pollRows looks whether the run has to end, now and then.
func (m *Machine) pollRows(i int, at position) {
	if i&0xffff == 0xffff {
		m.poll(at)
	}
}

// likeOne gives s the structure of h.
func (m *Machine) likeOne(s *sparseSource, h *Handle, at position) {
	m.columnsOf(h, at, func(begin []int64, col []int32) {
		m.fits(8*int64(len(begin))+4*int64(len(col)), at)
		s.Rows, s.Cols, s.guessed = len(begin)-1, h.sparse.Cols, h.sparse.guessed
		s.Ptr = make([]int64, len(begin))
		for i, p := range begin { // those of a part need not begin with 0
			s.Ptr[i] = p - begin[0]
		}
		s.Col = slices.Clone(col)
	})
}

// union adds the entries of h to the structure s.
func (m *Machine) union(s *sparseSource, h *Handle, at position) {
	if rows, cols := int(h.sparse.field("rows")), h.sparse.Cols; rows != s.Rows || cols != s.Cols {
		m.failHelp("E0705", at, "", "entries of one place are one entry, so the sizes have to be the same", "`like` has a csr of %d x %d and one of %d x %d", s.Rows, s.Cols, rows, cols)
	}
	m.columnsOf(h, at, func(begin []int64, col []int32) {
		if m.plan != nil { // most often much the same entries
			m.plannedEntries(s, at)
			return
		}
		m.fits(8*int64(len(begin))+4*int64(len(s.Col)+len(col)), at)
		ptr, out := make([]int64, len(begin)), make([]int32, 0, max(len(s.Col), len(col)))
		for i := range s.Rows {
			a, b := s.Col[s.Ptr[i]:s.Ptr[i+1]], col[begin[i]-begin[0]:begin[i+1]-begin[0]]
			for len(a) > 0 && len(b) > 0 {
				j := min(a[0], b[0])
				if a[0] == j {
					a = a[1:]
				}
				if b[0] == j {
					b = b[1:]
				}
				out = append(out, j)
			}
			out = append(append(out, a...), b...)
			ptr[i+1] = int64(len(out))
			m.pollRows(i, at)
		}
		s.Ptr, s.Col = ptr, out
	})
}

// transposed gives s the entries of h with rows and columns exchanged.
func (m *Machine) transposed(s *sparseSource, h *Handle, at position) {
	m.columnsOf(h, at, func(begin []int64, col []int32) {
		rows, cols := h.sparse.Cols, len(begin)-1
		if m.plan != nil {
			m.standIn(s, []int{rows, cols}, at)
			return
		}
		m.fits(16*int64(rows+1)+4*int64(len(col)), at)
		s.Rows, s.Cols, s.Ptr, s.Col = rows, cols, make([]int64, rows+1), make([]int32, len(col))
		for _, j := range col {
			s.Ptr[j+1]++
		}
		for i := range rows {
			s.Ptr[i+1] += s.Ptr[i]
		}
		next := slices.Clone(s.Ptr)
		for i := range cols {
			for _, j := range col[begin[i]-begin[0] : begin[i+1]-begin[0]] {
				s.Col[next[j]] = int32(i)
				next[j]++
			}
			m.pollRows(i, at)
		}
	})
}

// reorder puts rows and columns of the structure s in the order of the vector h: row i becomes row
// h[i] of before, and so do columns.
func (m *Machine) reorder(s *sparseSource, h *Handle, at, whole position) {
	const help = "`order` has the number of each row once: row i of the new csr is row `order[i]` of the other one"
	if s.Rows != s.Cols {
		m.failHelp("E0705", at, "", "rows and columns get the same order: the csr has to be square", "`order` is for a square csr, and this one is %d x %d", s.Rows, s.Cols)
	}
	if n := h.h.Desc().Dim[0]; n != s.Rows {
		m.failHelp("E0705", at, "", help, "`order` has %s, and the csr %s", plural(int64(n), "element"), plural(int64(s.Rows), "row"))
	}
	acc := m.hold(h, iface.R, at)
	defer acc.Release()
	if m.plan != nil {
		return
	}
	m.fits(20*int64(s.Rows)+4*int64(len(s.Col)), at)
	order, place := make([]int64, s.Rows), make([]int32, s.Rows)
	for j := range place {
		place[j] = -1
	}
	for i := range order {
		b := acc.Buffer()
		if b.Elem == iface.I32 {
			order[i] = int64(iface.Slice[int32](b)[i])
		} else {
			order[i] = iface.Slice[int64](b)[i]
		}
		j := order[i]
		switch {
		case j < 0 || j >= int64(s.Rows):
			m.failHelp("E0705", at, "", help, "element %d of `order` is %d, and the csr has the rows 0 to %d", i, j, s.Rows-1)
		case place[j] >= 0:
			m.failHelp("E0705", at, "", help, "elements %d and %d of `order` are both %d", place[j], i, j)
		}
		place[j] = int32(i)
	}
	ptr, col := make([]int64, len(s.Ptr)), make([]int32, 0, len(s.Col))
	for i, from := range order {
		row := len(col)
		for _, j := range s.Col[s.Ptr[from]:s.Ptr[from+1]] {
			col = append(col, place[j])
		}
		slices.Sort(col[row:])
		ptr[i+1] = int64(len(col))
		m.pollRows(i, whole)
	}
	s.Ptr, s.Col = ptr, col
}

// fits reports whether in has the sizes of s, as far as these are given.
func (s *sparseSource) fits(in *format.Sparse) bool {
	return (s.Rows == -1 || s.Rows == in.Rows) && (s.Cols == -1 || s.Cols == in.Cols)
}

func (s *sparseSource) take(in *format.Sparse) {
	s.SparseStructure = in.SparseStructure
	s.values = func(b *iface.Buffer) error { in.Values(b); return nil }
	s.content = in.Content()
}

// convertSparse makes s of h, a matrix or a sparse matrix. It waits for the value of h.
func (m *Machine) convertSparse(s *sparseSource, h *Handle, at position) {
	m.alive(h, at)
	var in *format.Sparse
	var err error
	if h.isSparse() {
		of, val, release := m.readSparse(h, at)
		defer release()
		if m.plan != nil {
			m.standIn(s, []int{of.Rows, of.Cols}, at)
			return
		}
		in, err = format.ConvertSparse(of, val, m.layout(s))
	} else {
		acc := m.hold(h, iface.R, at)
		defer acc.Release()
		if m.plan != nil {
			d := h.h.Desc()
			m.standIn(s, d.Shape(), at)
			return
		}
		in, err = format.SparseOf(acc.Buffer(), m.layout(s))
	}
	if errors.Is(err, format.ErrMost) {
		m.exceeded("data", at)
	}
	if err != nil {
		m.fail("E0705", at, "`%s` cannot be converted: %s", handleText(at, h), firstLine(err.Error()))
	}
	s.take(in)
}

// hasSizes checks the sizes that a constructor has besides a structure of other data.
func (m *Machine) hasSizes(s *sparseSource, rows, cols int, at position) {
	if rows >= 0 && rows != s.Rows || cols >= 0 && cols != s.Cols {
		m.failHelp("E0705", at, "", "leave the sizes out: the other data has them", "the %s is %d x %d, and the data that gives it its structure makes %d x %d", s.Format.Name, rows, cols, s.Rows, s.Cols)
	}
}

// Vectors of structs: a Handle that stands for an array of the engine for each field.

// sourceFn gives a datum that spec describes its first value, and perhaps its size.
type sourceFn func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error

// structConstructor compiles vector[Particle](n), with a number or a list for fields, fill = 0 or load = "a.csv".
func (c *compiler) structConstructor(e *syntax.Call) maker {
	t, at := e.Type(), c.positionOf(e)
	fields := t.Fields()
	var size intFn
	sizeAt := at
	if x, _ := argument(e, "n", 0); x != nil {
		size, sizeAt = c.int(x), c.positionOf(x)
	}
	sources := make([]sourceFn, len(fields.Arrays))
	lists := make([]bool, len(sources))
	fill, _ := argument(e, "fill", -1)
	for i, a := range fields.Arrays {
		switch x, _ := argument(e, a.Name, -1); {
		case x != nil && x.Type().Kind == types.List:
			sources[i], lists[i] = c.listSource(x, a.Elem), true
		case x != nil:
			sources[i] = c.fillSource(x, a.Elem)
		case fill != nil:
			sources[i] = zeroSource(a.Elem, at)
		}
	}
	if x, _ := argument(e, "load", -1); x != nil {
		name, at := c.ref(x), c.positionOf(x)
		for i, a := range fields.Arrays {
			lists[i] = true
			sources[i] = func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
				s, _ := name(f).(string)
				return f.m.load(f.m.structFile(s, t, at, "load")+":"+a.Name, at, spec)
			}
		}
	}
	aos := false
	if x, _ := argument(e, "layout", -1); x != nil {
		id, ok := unparen(x).(*syntax.Ident)
		aos = ok && id.Name == "aos"
	}
	owner := func(*frame) int { return 0 }
	if fields.Array("owner") < 0 {
		owner = c.ownerOf(e)
	}
	return func(f *frame, name string) any {
		m := f.m
		var dims []int
		if size != nil {
			n := size(f)
			if n < 0 {
				m.fail("E0705", sizeAt, "a size cannot be negative, and this is %d", n)
			}
			dims = []int{int(n)}
		}
		rank := owner(f)
		specs, fills := make([]engine.DataSpec, len(sources)), make([]func(*iface.Buffer) error, len(sources))
		for _, sized := range []bool{true, false} { // lists and files say how many there are
			for i, a := range fields.Arrays {
				if lists[i] != sized {
					continue
				}
				specs[i] = engine.DataSpec{Name: name + "." + a.Name, Kind: iface.Vector, Elem: a.Elem, Site: siteOf(at), Dims: dims, Owner: rank}
				if sources[i] != nil {
					fills[i] = sources[i](f, &specs[i])
					if in := m.input; in != nil { // of a file
						m.input = nil
						defer protect(in.Close) // again, unless nothing has read it
					}
				}
				dims = specs[i].Dims
			}
		}
		if aos {
			return m.newStructs(t, m.registerFields(specs, fills, at), at)
		}
		var arrays []*datamgr.Handle
		for i := range specs {
			arrays = append(arrays, m.registerOne(specs[i].Name, specs[i], 0, fills[i], at))
		}
		return m.newStructs(t, arrays, at)
	}
}

// registerFields registers the fields of structs that lie side by side. Their order is that of their declaration, and each is aligned to its size.
func (m *Machine) registerFields(specs []engine.DataSpec, fills []func(*iface.Buffer) error, at position) []*datamgr.Handle {
	offsets, size, widest := make([]uintptr, len(specs)), uintptr(0), uintptr(1)
	for i := range specs {
		m.countData(&specs[i], 0, at)
		e := specs[i].Elem.Size()
		offsets[i] = (size + e - 1) &^ (e - 1)
		size, widest = offsets[i]+e, max(widest, e)
	}
	size = (size + widest - 1) &^ (widest - 1)
	hs, err := m.rt.RegisterFields(specs, offsets, size, fills)
	if err != nil {
		m.notRegistered(specs[0].Name, err, at)
	}
	for _, h := range hs {
		m.events.registered(h)
	}
	return hs
}

// zeroSource is a source of zeros.
func zeroSource(el iface.Elem, at position) sourceFn {
	return func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
		spec.InParts = true
		m := f.m
		return func(b *iface.Buffer) error {
			return fillBuffer(b, func(p unsafe.Pointer) { writeInt(el, p, 0) }, func() bool { return m.ctx.Err() != nil }, m, at)
		}
	}
}
