package interp

// Sparse matrices in compressed rows: a Handle that stands for three data of the engine, its arrays
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

// csrConstructor compiles csr[f64](rows, cols, ptr = ..., col = ..., val = ...),
// csr[f64](load = "a.mtx"), and constructors with a structure of other data.
func (c *compiler) csrConstructor(e *syntax.Call) maker {
	t, at := e.Type(), c.positionOf(e)
	var sizes [2]intFn
	var sizeAt [2]position
	for i, n := range []string{"rows", "cols"} {
		if x, _ := argument(e, n, i); x != nil {
			sizes[i], sizeAt[i] = c.int(x), c.positionOf(x)
		}
	}
	var lists [3]refFn
	var listAt [3]position
	for i, n := range types.CSRMembers {
		if x, _ := argument(e, n, -1); x != nil {
			lists[i], listAt[i] = c.ref(x), c.positionOf(x)
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
		s := &entriesSource{rows: -1, cols: -1}
		for i, p := range []*int{&s.rows, &s.cols} {
			if sizes[i] == nil {
				continue
			}
			n := sizes[i](f)
			if n < 0 || n > maxCSR {
				m.fail("E0705", sizeAt[i], "a csr has from 0 to %d rows and columns, and this is %d", maxCSR, n)
			}
			*p = int(n)
		}
		spec := engine.DataSpec{Kind: iface.Vector, Elem: t.Elem, Site: siteOf(at)}
		switch {
		case file != nil:
			text, _ := file(f).(string)
			m.loadCSR(s, text, t.Elem, fileAt)
		case other != nil:
			rows, cols := s.rows, s.cols
			other(f, s)
			m.hasSizes(s, rows, cols, at)
		default:
			s.ptr = m.offsets(lists[0](f), s.rows, listAt[0])
			s.col = m.columns(lists[1](f), s, listAt[1])
		}
		spec.Dims = []int{len(s.col)}
		if fill != nil {
			s.values = fill(f, &spec)
		}
		return m.newCSR(name, t, s, spec, at)
	}
}

// offsets returns the list of ptr.
func (m *Machine) offsets(v any, rows int, at position) []int64 {
	l, _ := v.(*List)
	l = l.orEmpty()
	bad := func(format string, args ...any) {
		m.failHelp("E0705", at, "", "`ptr` has where each row begins, from 0 on, and behind them the number of entries", format, args...)
	}
	if l.Len() != rows+1 {
		bad("`ptr` has %s, and a csr with %s needs %d", plural(int64(l.Len()), "item"), plural(int64(rows), "row"), rows+1)
	}
	out := make([]int64, rows+1)
	copy(out, l.i)
	for i, p := range out {
		switch {
		case i == 0 && p != 0:
			bad("`ptr` begins with %d, and the first row begins at 0", p)
		case i > 0 && p < out[i-1]:
			bad("`ptr` goes down from %d to %d at row %d", out[i-1], p, i-1)
		}
		if i&0xffff == 0xffff {
			m.poll(at)
		}
	}
	return out
}

// columns returns the list of col.
func (m *Machine) columns(v any, s *entriesSource, at position) []int32 {
	l, _ := v.(*List)
	l = l.orEmpty()
	bad := func(format string, args ...any) {
		m.failHelp("E0705", at, "", "`col` has the columns of the entries, row by row, each row by ascending columns", format, args...)
	}
	if n := s.ptr[s.rows]; int64(l.Len()) != n {
		bad("`col` has %s, and `ptr` ends with %d", plural(int64(l.Len()), "item"), n)
	}
	out := make([]int32, l.Len())
	for i := range s.rows {
		for k := s.ptr[i]; k < s.ptr[i+1]; k++ {
			j := l.i[k]
			switch {
			case j < 0 || j >= int64(s.cols):
				bad("item %d of `col` is column %d, and the csr has %d: 0 to %d", k, j, s.cols, s.cols-1)
			case k > s.ptr[i] && j <= l.i[k-1]:
				bad("row %d has column %d behind column %d", i, j, l.i[k-1])
			}
			out[k] = int32(j)
		}
		if i&0xffff == 0xffff {
			m.poll(at)
		}
	}
	return out
}

// loadCSR reads a file into s.
func (m *Machine) loadCSR(s *entriesSource, name string, elem iface.Elem, at position) {
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
	most := int64(0)
	if m.may.data != unlimited {
		most = max(1, m.may.data-m.used.data)
	}
	var in *format.CSR
	err := protect(func() (err error) {
		in, err = format.LoadCSR(format.Within(m.ctx, m.cfg.Files), name, elem, most)
		return err
	})
	if errors.Is(err, format.ErrMost) {
		m.exceeded("data", at)
	}
	if err == nil && (s.rows >= 0 || s.cols >= 0) && (s.rows != in.Rows || s.cols != in.Cols) {
		err = &format.Error{File: name, Want: fmt.Sprintf("a sparse matrix of %d x %d", s.rows, s.cols), Got: fmt.Sprintf("size %d x %d", in.Rows, in.Cols)}
	}
	if err != nil {
		m.badFile(err, at, "cannot load", name)
	}
	s.rows, s.cols, s.ptr, s.col = in.Rows, in.Cols, in.Ptr, in.Col
	s.values = func(b *iface.Buffer) error { in.Values(b); return nil }
}

// newCSR registers the arrays of a sparse matrix. values describes its values.
func (m *Machine) newCSR(name string, t *types.Type, s *entriesSource, values engine.DataSpec, at position) *Handle {
	k := &csr{cols: s.cols, begin: s.ptr}
	m.countBytes(8*int64(len(s.ptr)), at)
	register := func(member string, spec engine.DataSpec, fill func(*iface.Buffer) error) *datamgr.Handle {
		spec.Name = name + "." + member
		return m.registerOne(name, spec, 0, fill, at)
	}
	array := func(elem iface.Elem, n int) engine.DataSpec {
		return engine.DataSpec{Kind: iface.Vector, Elem: elem, Site: values.Site, Dims: []int{n}, ReadOnly: true}
	}
	ptr := register("ptr", array(iface.I64, len(s.ptr)), func(b *iface.Buffer) error { copy(iface.Slice[int64](b), s.ptr); return nil })
	col := register("col", array(iface.I32, len(s.col)), func(b *iface.Buffer) error { copy(iface.Slice[int32](b), s.col); return nil })
	val := register("val", values, s.values)
	out := &Handle{h: val, m: m, typ: t, at: at, owner: -1}
	out.root = out
	out.setCSR([]*datamgr.Handle{ptr, col, val}, k)
	m.own(out)
	return out
}
