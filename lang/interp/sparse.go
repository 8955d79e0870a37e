package interp

// Sparse matrices: a Handle that stands for several data of the engine, its arrays, such as
// ptr, col and val. Order, validity and transfers are those of the arrays.

import (
	"errors"
	"fmt"

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
	other := c.structureFrom(e)
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
		spec := engine.DataSpec{Kind: values.Kind, Elem: t.Elem, Site: siteOf(at), Dims: s.Dims()}
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
			s.standIn(dims)
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

// bindSparse registers a sparse matrix that the host binds: its values are those of the host, and the
// structure is a copy.
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
		s.standIn(b.Dims)
	}
	values := s.Format.Arrays[s.Format.Values()]
	spec := engine.DataSpec{Kind: values.Kind, Elem: o.Type.Elem, Site: siteOf(at), Dims: s.Dims(), ReadOnly: b.ReadOnly}
	if b.Structure != nil {
		spec.Home = b.Home
		s.values = func(*iface.Buffer) error { return nil } // where there is no element
	}
	h := m.newSparse(o.Name, o.Type, s, spec, at)
	m.keep = append(m.keep, b.Keep)
	return h
}

// newSparse registers the arrays of a sparse matrix. values describes its values.
func (m *Machine) newSparse(name string, t *types.Type, s *sparseSource, values engine.DataSpec, at position) *Handle {
	k := &sparse{SparseStructure: s.SparseStructure}
	k.Row, k.Col = nil, nil // the arrays have them
	m.countBytes(8*int64(len(s.Ptr)), at)
	var arrays []*datamgr.Handle
	for i, a := range s.Format.Arrays {
		spec, fill := values, s.values
		if i != s.Format.Values() {
			spec = engine.DataSpec{Kind: a.Kind, Elem: a.Elem, Site: values.Site, ReadOnly: true}
			switch a.Name {
			case "ptr":
				spec.Dims, fill = []int{len(s.Ptr)}, copies(s.Ptr)
			case "row":
				spec.Dims, fill = []int{len(s.Row)}, copies(s.Row)
			default:
				spec.Dims, fill = []int{len(s.Col)}, copies(s.Col)
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

// copies returns a function that copies s into a buffer.
func copies[T iface.Go](s []T) func(*iface.Buffer) error {
	return func(b *iface.Buffer) error { copy(iface.Slice[T](b), s); return nil }
}
