package interp

// Structures of sparse matrices that come from other data: the entries of a matrix, of several, of a
// transposed or reordered one, and the elements of a dense matrix other than zero.

import (
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
)

// entriesSource makes the structure of a sparse matrix, and writes its values.
type entriesSource struct {
	rows, cols int
	ptr        []int64
	col        []int32
	values     func(*iface.Buffer) error // nil: none
}

// maxCSR is the largest number of rows or columns of a sparse matrix.
const maxCSR = 1<<31 - 1

// standIn gives s sizes and, as a plan does not know the entries, one in each row.
func (s *entriesSource) standIn(dims []int) {
	s.rows, s.cols = 1, 1
	if len(dims) > 0 {
		s.rows = dims[0]
	}
	if len(dims) > 1 {
		s.cols = dims[1]
	}
	s.ptr = make([]int64, s.rows+1)
	if s.cols > 0 {
		s.col = make([]int32, s.rows)
		for i := range s.ptr {
			s.ptr[i] = int64(i)
		}
	}
	s.values = func(*iface.Buffer) error { return nil }
}

// structureFn gives s a structure.
type structureFn func(f *frame, s *entriesSource)

// structureFrom compiles like =, transposed = and dense = of a constructor. It returns nil if e has
// none of them.
func (c *compiler) structureFrom(e *syntax.Call) structureFn {
	at := c.positionOf(e)
	if x, _ := argument(e, "transposed", -1); x != nil {
		of, at := c.ref(x), c.positionOf(x)
		return func(f *frame, s *entriesSource) {
			h, _ := of(f).(*Handle)
			f.m.transposed(s, h, at)
		}
	}
	if x, _ := argument(e, "dense", -1); x != nil {
		of, at := c.ref(x), c.positionOf(x)
		return func(f *frame, s *entriesSource) {
			h, _ := of(f).(*Handle)
			f.m.nonzeros(s, h, at)
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
	return func(f *frame, s *entriesSource) {
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
	acc := m.hold(&h.csr.col, iface.R, at)
	defer acc.Release()
	if m.plan != nil {
		use(h.csr.begin, make([]int32, h.csrField("nnz")))
		return
	}
	use(h.csr.begin, iface.Slice[int32](acc.Buffer()))
}

// pollRows looks whether the run has to end, now and then.
func (m *Machine) pollRows(i int, at position) {
	if i&0xffff == 0xffff {
		m.poll(at)
	}
}

// likeOne gives s the structure of h.
func (m *Machine) likeOne(s *entriesSource, h *Handle, at position) {
	m.columnsOf(h, at, func(begin []int64, col []int32) {
		m.fits(8*int64(len(begin))+4*int64(len(col)), at)
		s.rows, s.cols = len(begin)-1, h.csr.cols
		s.ptr = make([]int64, len(begin))
		for i, p := range begin { // those of a part need not begin with 0
			s.ptr[i] = p - begin[0]
		}
		s.col = slices.Clone(col)
	})
}

// union adds the entries of h to the structure s.
func (m *Machine) union(s *entriesSource, h *Handle, at position) {
	if rows, cols := int(h.csrField("rows")), h.csr.cols; rows != s.rows || cols != s.cols {
		m.failHelp("E0705", at, "", "entries of one place are one entry, so the sizes have to be the same", "`like` has a csr of %d x %d and one of %d x %d", s.rows, s.cols, rows, cols)
	}
	m.columnsOf(h, at, func(begin []int64, col []int32) {
		if m.plan != nil { // most often much the same entries
			return
		}
		m.fits(8*int64(len(begin))+4*int64(len(s.col)+len(col)), at)
		ptr, out := make([]int64, len(begin)), make([]int32, 0, max(len(s.col), len(col)))
		for i := range s.rows {
			a, b := s.col[s.ptr[i]:s.ptr[i+1]], col[begin[i]-begin[0]:begin[i+1]-begin[0]]
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
		s.ptr, s.col = ptr, out
	})
}

// transposed gives s the entries of h with rows and columns exchanged.
func (m *Machine) transposed(s *entriesSource, h *Handle, at position) {
	m.columnsOf(h, at, func(begin []int64, col []int32) {
		rows, cols := h.csr.cols, len(begin)-1
		if m.plan != nil {
			s.standIn([]int{rows, cols})
			return
		}
		m.fits(16*int64(rows+1)+4*int64(len(col)), at)
		s.rows, s.cols, s.ptr, s.col = rows, cols, make([]int64, rows+1), make([]int32, len(col))
		for _, j := range col {
			s.ptr[j+1]++
		}
		for i := range rows {
			s.ptr[i+1] += s.ptr[i]
		}
		next := slices.Clone(s.ptr)
		for i := range cols {
			for _, j := range col[begin[i]-begin[0] : begin[i+1]-begin[0]] {
				s.col[next[j]] = int32(i)
				next[j]++
			}
			m.pollRows(i, at)
		}
	})
}

// reorder puts rows and columns of the structure s in the order of the vector h: row i becomes row
// h[i] of before, and so do columns.
func (m *Machine) reorder(s *entriesSource, h *Handle, at, whole position) {
	const help = "`order` has the number of each row once: row i of the new csr is row `order[i]` of the other one"
	if s.rows != s.cols {
		m.failHelp("E0705", at, "", "rows and columns get the same order: the csr has to be square", "`order` is for a square csr, and this one is %d x %d", s.rows, s.cols)
	}
	if n := h.h.Desc().Dim[0]; n != s.rows {
		m.failHelp("E0705", at, "", help, "`order` has %s, and the csr %s", plural(int64(n), "element"), plural(int64(s.rows), "row"))
	}
	acc := m.hold(h, iface.R, at)
	defer acc.Release()
	if m.plan != nil {
		return
	}
	m.fits(20*int64(s.rows)+4*int64(len(s.col)), at)
	order, place := make([]int64, s.rows), make([]int32, s.rows)
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
		case j < 0 || j >= int64(s.rows):
			m.failHelp("E0705", at, "", help, "element %d of `order` is %d, and the csr has the rows 0 to %d", i, j, s.rows-1)
		case place[j] >= 0:
			m.failHelp("E0705", at, "", help, "elements %d and %d of `order` are both %d", place[j], i, j)
		}
		place[j] = int32(i)
	}
	ptr, col := make([]int64, len(s.ptr)), make([]int32, 0, len(s.col))
	for i, from := range order {
		row := len(col)
		for _, j := range s.col[s.ptr[from]:s.ptr[from+1]] {
			col = append(col, place[j])
		}
		slices.Sort(col[row:])
		ptr[i+1] = int64(len(col))
		m.pollRows(i, whole)
	}
	s.ptr, s.col = ptr, col
}

// nonzeros gives s the elements of the dense matrix h other than zero, with their values.
func (m *Machine) nonzeros(s *entriesSource, h *Handle, at position) {
	d := h.h.Desc()
	if d.Dim[0] > maxCSR || d.Dim[1] > maxCSR {
		m.fail("E0705", at, "a csr has from 0 to %d rows and columns, and this matrix is %d x %d", maxCSR, d.Dim[0], d.Dim[1])
	}
	acc := m.hold(h, iface.R, at)
	defer acc.Release()
	if m.plan != nil {
		s.standIn(d.Shape())
		return
	}
	s.rows, s.cols, s.ptr = d.Dim[0], d.Dim[1], make([]int64, d.Dim[0]+1)
	switch b := acc.Buffer(); b.Elem {
	case iface.I8:
		nonzerosOf[int8](m, s, b, at)
	case iface.I16:
		nonzerosOf[int16](m, s, b, at)
	case iface.I32:
		nonzerosOf[int32](m, s, b, at)
	case iface.I64:
		nonzerosOf[int64](m, s, b, at)
	case iface.U8:
		nonzerosOf[uint8](m, s, b, at)
	case iface.U16:
		nonzerosOf[uint16](m, s, b, at)
	case iface.U32:
		nonzerosOf[uint32](m, s, b, at)
	case iface.U64:
		nonzerosOf[uint64](m, s, b, at)
	case iface.F32:
		nonzerosOf[float32](m, s, b, at)
	default:
		nonzerosOf[float64](m, s, b, at)
	}
}

func nonzerosOf[T iface.Go](m *Machine, s *entriesSource, b *iface.Buffer, at position) {
	var val []T
	for i := range s.rows {
		for j, x := range iface.Row[T](b, i) {
			if x != 0 {
				s.col, val = append(s.col, int32(j)), append(val, x)
			}
		}
		s.ptr[i+1] = int64(len(val))
		m.fits(int64(len(val))*int64(4+b.Elem.Size()), at)
		m.poll(at)
	}
	s.values = func(b *iface.Buffer) error { copy(iface.Slice[T](b), val); return nil }
}

// hasSizes checks the sizes that a constructor has besides a structure of other data.
func (m *Machine) hasSizes(s *entriesSource, rows, cols int, at position) {
	if rows >= 0 && rows != s.rows || cols >= 0 && cols != s.cols {
		m.failHelp("E0705", at, "", "leave the sizes out: the other data has them", "the csr is %d x %d, and the data that gives it its structure makes %d x %d", rows, cols, s.rows, s.cols)
	}
}
