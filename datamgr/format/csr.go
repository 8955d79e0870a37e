package format

// Sparse matrices in compressed rows, read from and written to coordinate files.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// CSR is a sparse matrix in compressed rows: the entries of row i are those from Ptr[i] to before
// Ptr[i+1], by ascending columns, each place once.
type CSR struct {
	Rows, Cols int
	Ptr        []int64 // Rows + 1 offsets; the first is 0
	Col        []int32
	values     entries
}

// Values copies the values of the entries into b, a vector of as many elements of the type that
// LoadCSR was asked for.
func (m *CSR) Values(b *iface.Buffer) { m.values.copyTo(b) }

// maxCSR bounds rows and columns, which have 32 bits.
const maxCSR = math.MaxInt32

// LoadCSR reads the sparse matrix of a .mtx file without a dense copy. Values have type elem. Of a
// file in coordinate form it keeps the entries, zeros included, and adds up those of one place; of
// one in array form, the elements other than zero. bytes bounds the size of the three arrays
// together, if it is not 0: ErrMost.
func LoadCSR(fsys fs.FS, name string, elem iface.Elem, bytes int64) (*CSR, error) {
	located := &Input{name: name}
	if strings.ToLower(path.Ext(name)) != ".mtx" {
		return nil, &Error{File: name, Want: "a name that ends in .mtx, which holds sparse matrices", Got: fmt.Sprintf("%q", name)}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	m := &mtx{t: newText(f), elem: elem}
	csr, err := m.csr(bytes)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if errors.Is(err, ErrMost) {
		return nil, err
	}
	if err != nil {
		return nil, located.located(err)
	}
	return csr, nil
}

func (m *mtx) csr(bytes int64) (*CSR, error) {
	if err := m.head(); err != nil {
		return nil, err
	}
	if m.rows > maxCSR || m.cols > maxCSR {
		return nil, &Error{Line: m.sizeLine, Want: fmt.Sprintf("at most %d rows and columns in a csr", maxCSR), Got: fmt.Sprintf("%d x %d", m.rows, m.cols)}
	}
	most := int64(math.MaxInt64)
	if bytes > 0 {
		most = (bytes - 8*(int64(m.rows)+1)) / int64(4+m.elem.Size())
	}
	if int64(m.nnz) > most {
		return nil, ErrMost
	}
	all := newEntries(m.elem, most)
	if err := m.read(all); err != nil {
		if all.full() {
			return nil, ErrMost
		}
		return nil, err
	}
	return all.pack(m.rows, m.cols)
}

// entries are those of a sparse matrix.
type entries interface {
	cells
	full() bool // add refused an entry because there were too many
	pack(rows, cols int) (*CSR, error)
	copyTo(b *iface.Buffer)
}

// entriesOf has entries in the order of a file until pack orders them.
type entriesOf[T iface.Go] struct {
	row, col []int32
	val      []T
	most     int64 // entries
	over     bool
}

func newEntries(e iface.Elem, most int64) entries {
	switch e {
	case iface.I8:
		return &entriesOf[int8]{most: most}
	case iface.I16:
		return &entriesOf[int16]{most: most}
	case iface.I32:
		return &entriesOf[int32]{most: most}
	case iface.I64:
		return &entriesOf[int64]{most: most}
	case iface.U8:
		return &entriesOf[uint8]{most: most}
	case iface.U16:
		return &entriesOf[uint16]{most: most}
	case iface.U32:
		return &entriesOf[uint32]{most: most}
	case iface.U64:
		return &entriesOf[uint64]{most: most}
	case iface.F32:
		return &entriesOf[float32]{most: most}
	}
	return &entriesOf[float64]{most: most}
}

func (e *entriesOf[T]) zero() {}

func (e *entriesOf[T]) set(i, j int, v num) bool {
	if x, ok := to[T](v); x == 0 || !ok {
		return ok
	}
	return e.add(i, j, v)
}

func (e *entriesOf[T]) add(i, j int, v num) bool {
	x, ok := to[T](v)
	if int64(len(e.val)) >= e.most {
		e.over = true
		return false
	}
	e.row, e.col, e.val = append(e.row, int32(i)), append(e.col, int32(j)), append(e.val, x)
	return ok
}

func (e *entriesOf[T]) holds(v num) bool {
	_, ok := to[T](v)
	return ok
}

func (e *entriesOf[T]) full() bool { return e.over }

func (e *entriesOf[T]) copyTo(b *iface.Buffer) { copy(iface.Slice[T](b), e.val) }

// pack orders the entries by rows and columns, and adds up those of one place in their order.
func (e *entriesOf[T]) pack(rows, cols int) (*CSR, error) {
	ptr := make([]int64, rows+1)
	for _, i := range e.row {
		ptr[i+1]++
	}
	for i := range rows {
		ptr[i+1] += ptr[i]
	}
	if e.inOrder() {
		col := e.col
		e.row, e.col = nil, nil
		return &CSR{Rows: rows, Cols: cols, Ptr: ptr, Col: col, values: e}, nil
	}
	col, val := make([]int32, len(e.col)), make([]T, len(e.val))
	next := append([]int64(nil), ptr[:rows]...)
	for k, i := range e.row {
		at := next[i]
		next[i]++
		col[at], val[at] = e.col[k], e.val[k]
	}
	n := int64(0) // entries that are kept
	for i := range rows {
		lo, hi := ptr[i], ptr[i+1]
		ptr[i] = n
		if row := (&rowEntries[T]{col[lo:hi], val[lo:hi]}); !sort.IsSorted(row) {
			sort.Stable(row)
		}
		for k := lo; k < hi; k++ {
			if n > ptr[i] && col[n-1] == col[k] {
				var ok bool
				if val[n-1], ok = sum(val[n-1], val[k]); !ok {
					return nil, &Error{Want: fmt.Sprintf("entries of row %d, column %d whose sum the element type holds", i+1, col[k]+1), Got: "a larger sum"}
				}
				continue
			}
			col[n], val[n] = col[k], val[k]
			n++
		}
	}
	ptr[rows] = n
	e.row, e.col, e.val = nil, nil, val[:n]
	return &CSR{Rows: rows, Cols: cols, Ptr: ptr, Col: col[:n], values: e}, nil
}

// inOrder reports whether the entries are by rows and columns already, each place once.
func (e *entriesOf[T]) inOrder() bool {
	for k := 1; k < len(e.row); k++ {
		if e.row[k] < e.row[k-1] || e.row[k] == e.row[k-1] && e.col[k] <= e.col[k-1] {
			return false
		}
	}
	return true
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

// SaveCSR writes a sparse matrix with cols columns to a .mtx file in coordinate form, as Save does
// with other data. The buffers are its arrays; the first offset need not be 0.
func SaveCSR(fsys Creator, name string, cols int, ptr, col, val *iface.Buffer) error {
	if strings.ToLower(path.Ext(name)) != ".mtx" {
		return &Error{File: name, Want: "a name that ends in .mtx, which holds sparse matrices", Got: fmt.Sprintf("%q", name)}
	}
	return saveFile(fsys, name, name, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 256<<10)
		field := "real"
		if val.Elem.IsInt() {
			field = "integer"
		}
		begin, columns := iface.Slice[int64](ptr), iface.Slice[int32](col)
		rows := len(begin) - 1
		if _, err := fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n", field, rows, cols, len(columns)); err != nil {
			return err
		}
		var buf [96]byte
		for i := range rows {
			for k := begin[i] - begin[0]; k < begin[i+1]-begin[0]; k++ {
				p := strconv.AppendInt(buf[:0], int64(i)+1, 10)
				p = strconv.AppendInt(append(p, ' '), int64(columns[k])+1, 10)
				p = append(appendElemAt(append(p, ' '), val, int(k)), '\n')
				if _, err := w.Write(p); err != nil {
					return err
				}
			}
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
	}
	return appendElem(p, *(*float64)(at))
}
