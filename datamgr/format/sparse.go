package format

// Sparse matrices of any format, read from and written to coordinate files, and converted.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// Sparse is a sparse matrix. Entries are ordered by rows and columns, in a csc by columns and rows, and
// each place has one.
type Sparse struct {
	iface.SparseStructure
	values entries
}

// Values copies the values into b, which has the sizes Dims and the type of the elements of m.
func (m *Sparse) Values(b *iface.Buffer) { m.values.copyTo(b) }

// Content returns the memory of the values if they lie there one after the other, for DataSpec.Content. Values must
// not be called any more once it is used for something else.
func (m *Sparse) Content() unsafe.Pointer { return m.values.content() }

// Layout says how a sparse matrix is to lie in memory.
type Layout struct {
	Format *iface.SparseFormat
	R, C   int   // of a block; rows and columns are rounded up to multiples of them
	Bytes  int64 // bounds the size of the arrays together, if it is not 0: ErrMost
}

// LoadSparse reads the sparse matrix of a .mtx file without a dense copy. Values have type elem. Of a
// file in coordinate form it keeps the entries, zeros included, and adds up those of one place; of
// one in array form, the elements other than zero.
func LoadSparse(fsys fs.FS, name string, elem iface.Elem, to Layout) (*Sparse, error) {
	located := &Input{name: name}
	if strings.ToLower(path.Ext(name)) != ".mtx" {
		return nil, &Error{File: name, Want: "a name that ends in .mtx, which holds sparse matrices", Got: fmt.Sprintf("%q", name)}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	m := &mtx{t: newText(f), elem: elem}
	if i, err := f.Stat(); err == nil && i.Mode().IsRegular() {
		m.size = i.Size()
	}
	out, err := m.sparse(to)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if errors.Is(err, ErrMost) {
		return nil, err
	}
	if err != nil {
		return nil, located.located(err)
	}
	return out, nil
}

func (m *mtx) sparse(to Layout) (*Sparse, error) {
	if err := m.head(); err != nil {
		return nil, err
	}
	if m.rows > iface.MaxSparse || m.cols > iface.MaxSparse {
		return nil, &Error{Line: m.sizeLine, Want: fmt.Sprintf("at most %d rows and columns in a %s", iface.MaxSparse, to.Format.Name), Got: fmt.Sprintf("%d x %d", m.rows, m.cols)}
	}
	most := to.most(m.rows, m.cols, m.elem)
	if int64(m.nnz) > most {
		return nil, ErrMost
	}
	all := newEntries(m.elem, most)
	all.grow(min(m.entries(), most))
	if err := m.read(all); err != nil {
		if all.full() {
			return nil, ErrMost
		}
		return nil, err
	}
	return all.pack(m.rows, m.cols, to)
}

// most returns how many entries have a place in to.Bytes.
func (to Layout) most(rows, cols int, elem iface.Elem) int64 {
	if to.Bytes <= 0 {
		return math.MaxInt64
	}
	each, ptr := int64(elem.Size()), int64(0)
	switch {
	case to.Format.Axis < 0:
		each += 8
	case to.Format.Blocks: // a block has one entry or more
		ptr = int64(rows)/int64(to.R) + 1
	default:
		each, ptr = each+4, int64([]int{rows, cols}[to.Format.Axis])+1
	}
	return (to.Bytes - 8*ptr) / each
}

// manyLines is the number of lines above that a file must have entries in proportion: its sizes alone
// are no reason for memory.
const manyLines = 1 << 24

// entries are those of a sparse matrix.
type entries interface {
	cells
	grow(n int64) // makes room for n entries; there are none yet
	full() bool   // add refused an entry because there were too many
	pack(rows, cols int, to Layout) (*Sparse, error)
	addSparse(s *iface.SparseStructure, val *iface.Buffer)
	addDense(b *iface.Buffer)
	addTo(b *iface.Buffer) error
	copyTo(b *iface.Buffer)
	content() unsafe.Pointer
}

// entriesOf has entries in any order until pack orders them.
type entriesOf[T iface.Go] struct {
	conversion[T]
	row, col []int32
	val      []T
	most     int64 // entries
	over     bool
}

func newEntries(e iface.Elem, most int64) entries {
	switch e {
	case iface.I8:
		return &entriesOf[int8]{conversion: reals[int8](), most: most}
	case iface.I16:
		return &entriesOf[int16]{conversion: reals[int16](), most: most}
	case iface.I32:
		return &entriesOf[int32]{conversion: reals[int32](), most: most}
	case iface.I64:
		return &entriesOf[int64]{conversion: reals[int64](), most: most}
	case iface.U8:
		return &entriesOf[uint8]{conversion: reals[uint8](), most: most}
	case iface.U16:
		return &entriesOf[uint16]{conversion: reals[uint16](), most: most}
	case iface.U32:
		return &entriesOf[uint32]{conversion: reals[uint32](), most: most}
	case iface.U64:
		return &entriesOf[uint64]{conversion: reals[uint64](), most: most}
	case iface.F32:
		return &entriesOf[float32]{conversion: reals[float32](), most: most}
	case iface.C64:
		return &entriesOf[complex64]{conversion: complexes[complex64](), most: most}
	case iface.C128:
		return &entriesOf[complex128]{conversion: complexes[complex128](), most: most}
	case iface.F16:
		return &entriesOf[iface.Float16]{conversion: float16s(), most: most}
	case iface.BF16:
		return &entriesOf[iface.BFloat16]{conversion: bfloat16s(), most: most}
	case iface.B8:
		return &entriesOf[bool]{conversion: bools(), most: most}
	}
	return &entriesOf[float64]{conversion: reals[float64](), most: most}
}

func (e *entriesOf[T]) zero() {}

func (e *entriesOf[T]) set(i, j int, v num) bool {
	if x, ok := e.of(v); !ok || e.isZero(x) {
		return ok
	}
	return e.add(i, j, v)
}

func (e *entriesOf[T]) add(i, j int, v num) bool {
	x, ok := e.of(v)
	if int64(len(e.val)) >= e.most {
		e.over = true
		return false
	}
	e.row, e.col, e.val = append(e.row, int32(i)), append(e.col, int32(j)), append(e.val, x)
	return ok
}

func (e *entriesOf[T]) lines() lineBlock { return &linesOf[T]{conversion: e.conversion} }

func (e *entriesOf[T]) take(m *mtx, b lineBlock, most int) int {
	l := b.(*linesOf[T])
	n := min(most, len(l.val))
	if room := e.most - int64(len(e.val)); !m.symmetric {
		n = int(min(int64(n), room))
		e.row, e.col, e.val = append(e.row, l.row[:n]...), append(e.col, l.col[:n]...), append(e.val, l.val[:n]...)
		return n
	}
	for k := range n {
		i, j, v := l.row[k], l.col[k], l.val[k]
		if j > i || e.most-int64(len(e.val)) < 2 {
			return k
		}
		e.row, e.col, e.val = append(e.row, i), append(e.col, j), append(e.val, v)
		if i != j {
			e.row, e.col, e.val = append(e.row, j), append(e.col, i), append(e.val, v)
		}
	}
	return n
}

func (e *entriesOf[T]) holds(v num) bool {
	_, ok := e.of(v)
	return ok
}

func (e *entriesOf[T]) grow(n int64) {
	e.row, e.col, e.val = accel.NewSlice[int32](int(n))[:0], accel.NewSlice[int32](int(n))[:0], accel.NewSlice[T](int(n))[:0]
}

func (e *entriesOf[T]) full() bool { return e.over }

func (e *entriesOf[T]) copyTo(b *iface.Buffer) { copy(iface.Slice[T](b), e.val) }

func (e *entriesOf[T]) content() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(e.val)) }

// addSparse appends the entries of a sparse matrix of the same element type. Of blocks it leaves out
// zeros.
func (e *entriesOf[T]) addSparse(s *iface.SparseStructure, val *iface.Buffer) {
	v := iface.Slice[T](val)
	eachEntry(s, func(k, i, j int) {
		if int64(len(e.val)) >= e.most {
			e.over = true
			return
		}
		if s.Format.Blocks && e.isZero(v[k]) {
			return
		}
		e.row, e.col, e.val = append(e.row, int32(i)), append(e.col, int32(j)), append(e.val, v[k])
	})
}

// addDense appends the elements other than zero of a matrix.
func (e *entriesOf[T]) addDense(b *iface.Buffer) {
	for i := range b.Dim[0] {
		for j, v := range iface.Row[T](b, i) {
			if e.isZero(v) {
				continue
			}
			if int64(len(e.val)) >= e.most {
				e.over = true
				return
			}
			e.row, e.col, e.val = append(e.row, int32(i)), append(e.col, int32(j)), append(e.val, v)
		}
	}
}

// eachEntry calls fn with the place in the array of values, the row and the column of each value.
func eachEntry(s *iface.SparseStructure, fn func(k, i, j int)) {
	begin := s.Ptr
	for line := range s.Lines() {
		for k := int(begin[line] - begin[0]); k < int(begin[line+1]-begin[0]); k++ {
			switch {
			case s.Format.Blocks:
				for a := range s.R {
					for b := range s.C {
						fn((k*s.R+a)*s.C+b, line*s.R+a, int(s.Col[k])*s.C+b)
					}
				}
			case s.Format.Axis == 1:
				fn(k, int(s.Row[k]), line)
			default:
				fn(k, line, int(s.Col[k]))
			}
		}
	}
	if s.Format.Axis < 0 {
		for k := range s.Row {
			fn(k, int(s.Row[k]), int(s.Col[k]))
		}
	}
}

// pack orders the entries as a format has them, and adds up those of one place in their order.
func (e *entriesOf[T]) pack(rows, cols int, to Layout) (*Sparse, error) {
	lines, line := rows, e.row
	if to.Format.Axis == 1 {
		lines, e.row, e.col, line = cols, e.col, e.row, e.col
	}
	if to.Format.Axis < 0 {
		return e.coordinates(rows, cols, to)
	}
	if lines > manyLines && lines/256 > len(e.val) {
		return nil, &Error{Want: fmt.Sprintf("more entries than %d in %d %ss", len(e.val), lines, to.Format.Line()),
			Got: "a matrix that is almost empty, whose offsets alone would need gigabytes"}
	}
	ptr, err := e.order(lines, line, to.Format.Axis == 1)
	if err != nil {
		return nil, err
	}
	out := &Sparse{SparseStructure: iface.SparseStructure{Format: to.Format, Rows: rows, Cols: cols, R: 1, C: 1, Ptr: ptr}, values: e}
	switch {
	case to.Format.Blocks:
		if err := e.blocks(out, to); err != nil {
			return nil, err
		}
	case to.Format.Axis == 0:
		out.Col = e.col
	default:
		out.Row = e.col
	}
	e.row, e.col = nil, nil
	return out, nil
}

// coordinates is pack for a format without offsets: the memory that it takes is in proportion to the
// entries, however many rows there are.
func (e *entriesOf[T]) coordinates(rows, cols int, to Layout) (*Sparse, error) {
	if !sort.IsSorted(e) {
		sort.Stable(e)
	}
	n := 0
	for k := range e.val {
		if n > 0 && e.row[n-1] == e.row[k] && e.col[n-1] == e.col[k] {
			var ok bool
			if e.val[n-1], ok = e.plus(e.val[n-1], e.val[k]); !ok {
				return nil, largeSum(e.row[k], e.col[k])
			}
			continue
		}
		e.row[n], e.col[n], e.val[n] = e.row[k], e.col[k], e.val[k]
		n++
	}
	out := &Sparse{SparseStructure: iface.SparseStructure{Format: to.Format, Rows: rows, Cols: cols, R: 1, C: 1, Row: e.row[:n:n], Col: e.col[:n:n]}, values: e}
	e.row, e.col, e.val = nil, nil, e.val[:n]
	return out, nil
}

func largeSum(i, j int32) *Error {
	return &Error{Want: fmt.Sprintf("entries of row %d, column %d whose sum the element type holds", i+1, j+1), Got: "a larger sum"}
}

// Entries are sorted by rows, then by columns.

func (e *entriesOf[T]) Len() int { return len(e.val) }

func (e *entriesOf[T]) Less(i, j int) bool {
	return e.row[i] < e.row[j] || e.row[i] == e.row[j] && e.col[i] < e.col[j]
}

func (e *entriesOf[T]) Swap(i, j int) {
	e.row[i], e.row[j] = e.row[j], e.row[i]
	e.col[i], e.col[j] = e.col[j], e.col[i]
	e.val[i], e.val[j] = e.val[j], e.val[i]
}

// order sorts e.col and e.val by lines, which say where each entry belongs, then by columns, and adds up
// those of one place. It returns where each line begins. It works in the memory of the entries: line is
// not kept.
func (e *entriesOf[T]) order(lines int, line []int32, columns bool) ([]int64, error) {
	ptr := accel.NewSlice[int64](lines + 2)
	for _, i := range line {
		ptr[i+2]++
	}
	for i := range lines {
		ptr[i+2] += ptr[i+1]
	}
	if e.inOrder() {
		copy(ptr, ptr[1:])
		return ptr[:lines+1], nil
	}
	if len(line) > math.MaxInt32 {
		to := make([]int64, len(line))
		places(to, line, ptr[1:])
		permute(to, e.col, e.val)
	} else {
		places(line, line, ptr[1:])
		permute(line, e.col, e.val)
	}
	ptr = ptr[:lines+1] // places moved each offset to the next line's
	col, val := e.col, e.val
	n := int64(0) // entries that are kept
	for i := range lines {
		lo, hi := ptr[i], ptr[i+1]
		ptr[i] = n
		if !slices.IsSorted(col[lo:hi]) {
			sort.Stable(&rowEntries[T]{col[lo:hi], val[lo:hi]})
		}
		for k := lo; k < hi; k++ {
			if n > ptr[i] && col[n-1] == col[k] {
				var ok bool
				if val[n-1], ok = e.plus(val[n-1], val[k]); !ok {
					if columns {
						return nil, largeSum(col[k], int32(i))
					}
					return nil, largeSum(int32(i), col[k])
				}
				continue
			}
			col[n], val[n] = col[k], val[k]
			n++
		}
	}
	ptr[lines] = n
	e.row, e.col, e.val = nil, col[:n:n], val[:n:n]
	return ptr, nil
}

// places sets to[k] to the place of entry k in the order of lines, in which entries of one line keep their
// order. next has the place of each line's first entry, and then that after its last.
func places[I int32 | int64](to []I, line []int32, next []int64) {
	for k, i := range line {
		to[k] = I(next[i])
		next[i]++
	}
}

// permute moves entry k to the place to[k], and changes to.
func permute[I int32 | int64, T any](to []I, col []int32, val []T) {
	for k := range to {
		for p := to[k]; int(p) != k; p = to[k] {
			to[k], to[p] = to[p], p
			col[k], col[p] = col[p], col[k]
			val[k], val[p] = val[p], val[k]
		}
	}
}

// inOrder reports whether the entries are by lines and then by what crosses them already, each place once.
func (e *entriesOf[T]) inOrder() bool {
	for k := 1; k < len(e.row); k++ {
		if e.row[k] < e.row[k-1] || e.row[k] == e.row[k-1] && e.col[k] <= e.col[k-1] {
			return false
		}
	}
	return true
}

// blocks gives out, which has entries in compressed rows, blocks of values.
func (e *entriesOf[T]) blocks(out *Sparse, to Layout) error {
	up := func(n, r int) int { return (n + r - 1) / r * r }
	ptr := out.Ptr
	rows := out.Rows
	out.Rows, out.Cols, out.R, out.C = up(out.Rows, to.R), up(out.Cols, to.C), to.R, to.C
	if err := out.CheckSizes(); err != nil {
		return &Error{Want: "sizes of a bcsr", Got: err.Error()}
	}
	first := func(line int) int64 { return ptr[min(line*to.R, rows)] } // of a row of blocks
	out.Ptr = make([]int64, out.Lines()+1)
	var col []int32
	for i := range out.Lines() {
		row := e.col[first(i):first(i+1)]
		from := len(col)
		for _, j := range row {
			col = append(col, j/int32(to.C))
		}
		slices.Sort(col[from:])
		col = col[:from+len(slices.Compact(col[from:]))]
		out.Ptr[i+1] = int64(len(col))
	}
	out.Col = col
	size := int64(to.R) * int64(to.C)
	if to.Bytes > 0 && int64(len(col)) > (to.Bytes-8*int64(len(out.Ptr)))/(4+size*int64(unsafe.Sizeof(*new(T)))) {
		return ErrMost
	}
	if int64(len(col)) > 1<<40/size {
		return &Error{Want: "blocks with fewer elements", Got: fmt.Sprintf("%d blocks of %d x %d", len(col), to.R, to.C)}
	}
	val := make([]T, int64(len(col))*size)
	for i := range rows {
		blocks := col[out.Ptr[i/to.R]:out.Ptr[i/to.R+1]]
		for k := ptr[i]; k < ptr[i+1]; k++ {
			j := int(e.col[k])
			b, _ := slices.BinarySearch(blocks, int32(j/to.C))
			at := (int(out.Ptr[i/to.R])+b)*int(size) + i%to.R*to.C + j%to.C
			val[at] = e.val[k]
		}
	}
	e.val = val
	return nil
}

// ConvertSparse returns the sparse matrix with the structure s and the values val in another format.
func ConvertSparse(s *iface.SparseStructure, val *iface.Buffer, to Layout) (*Sparse, error) {
	all := newEntries(val.Elem, to.most(s.Rows, s.Cols, val.Elem))
	all.addSparse(s, val)
	return convert(all, s.Rows, s.Cols, to)
}

// SparseOf returns the elements other than zero of a matrix as a sparse matrix.
func SparseOf(b *iface.Buffer, to Layout) (*Sparse, error) {
	for _, n := range b.Dim[:2] {
		if n > iface.MaxSparse {
			return nil, &Error{Want: fmt.Sprintf("at most %d rows and columns in a %s", iface.MaxSparse, to.Format.Name), Got: fmt.Sprintf("%d x %d", b.Dim[0], b.Dim[1])}
		}
	}
	all := newEntries(b.Elem, to.most(b.Dim[0], b.Dim[1], b.Elem))
	all.addDense(b)
	return convert(all, b.Dim[0], b.Dim[1], to)
}

func convert(all entries, rows, cols int, to Layout) (*Sparse, error) {
	if all.full() {
		return nil, ErrMost
	}
	return all.pack(rows, cols, to)
}

// Dense writes the sparse matrix with the structure s and the values val to the matrix b of its sizes,
// and returns an error if the element type cannot hold the sum of entries of one place.
func Dense(s *iface.SparseStructure, val, b *iface.Buffer) error {
	all := newEntries(val.Elem, math.MaxInt64)
	all.addSparse(s, val)
	return all.addTo(b)
}

func (e *entriesOf[T]) addTo(b *iface.Buffer) error {
	for i := range b.Dim[0] {
		clear(iface.Row[T](b, i))
	}
	for k, v := range e.val {
		at := &iface.Row[T](b, int(e.row[k]))[e.col[k]]
		s, ok := e.plus(*at, v)
		if !ok {
			return largeSum(e.row[k], e.col[k])
		}
		*at = s
	}
	return nil
}

// rowEntries sorts the entries of a row by columns.
type rowEntries[T iface.Go] struct {
	col []int32
	val []T
}

func (r *rowEntries[T]) Len() int           { return len(r.col) }
func (r *rowEntries[T]) Less(i, j int) bool { return r.col[i] < r.col[j] }
func (r *rowEntries[T]) Swap(i, j int) {
	r.col[i], r.col[j] = r.col[j], r.col[i]
	r.val[i], r.val[j] = r.val[j], r.val[i]
}

// SaveSparse writes the sparse matrix with the structure s and the values val to a .mtx file in
// coordinate form, as Save does with other data. The first offset need not be 0.
func SaveSparse(fsys Creator, name string, s *iface.SparseStructure, val *iface.Buffer) error {
	if strings.ToLower(path.Ext(name)) != ".mtx" {
		return &Error{File: name, Want: "a name that ends in .mtx, which holds sparse matrices", Got: fmt.Sprintf("%q", name)}
	}
	return saveFile(fsys, name, name, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 256<<10)
		if _, err := fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n", mtxField(val.Elem), s.Rows, s.Cols, val.Len()); err != nil {
			return err
		}
		var buf [96]byte
		var err error
		eachEntry(s, func(k, i, j int) {
			if err != nil {
				return
			}
			p := strconv.AppendInt(buf[:0], int64(i)+1, 10)
			p = strconv.AppendInt(append(p, ' '), int64(j)+1, 10)
			p = append(appendElemAt(append(p, ' '), val, k), '\n')
			_, err = w.Write(p)
		})
		if err != nil {
			return err
		}
		return w.Flush()
	})
}

// appendElemAt writes element k of the vector b.
func appendElemAt(p []byte, b *iface.Buffer, k int) []byte {
	at := unsafe.Add(b.Ptr, k*int(b.Elem.Size()))
	switch b.Elem {
	case iface.I8:
		return appendElem(p, *(*int8)(at))
	case iface.I16:
		return appendElem(p, *(*int16)(at))
	case iface.I32:
		return appendElem(p, *(*int32)(at))
	case iface.I64:
		return appendElem(p, *(*int64)(at))
	case iface.U8:
		return appendElem(p, *(*uint8)(at))
	case iface.U16:
		return appendElem(p, *(*uint16)(at))
	case iface.U32:
		return appendElem(p, *(*uint32)(at))
	case iface.U64:
		return appendElem(p, *(*uint64)(at))
	case iface.F32:
		return appendElem(p, *(*float32)(at))
	case iface.C64:
		return appendParts(p, *(*complex64)(at))
	case iface.C128:
		return appendParts(p, *(*complex128)(at))
	case iface.F16:
		return appendElem(p, (*iface.Float16)(at).Float32())
	case iface.BF16:
		return appendElem(p, (*iface.BFloat16)(at).Float32())
	case iface.B8:
		return appendBool(p, *(*uint8)(at))
	}
	return appendElem(p, *(*float64)(at))
}
