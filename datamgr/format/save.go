package format

// Writing data files.

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Creator makes files. A file must appear under its name when Close
// returns nil, and not before. A file may have a method Abort, which
// is called instead of Close after a failure and removes what was written.
type Creator interface {
	Create(name string) (io.WriteCloser, error)
}

// Save writes the elements of b to a file in the format of its suffix. Floats
// are written so that they read back the same. An error leaves no file, and an
// older one of that name as it was, as far as fsys is able to. An array of an .npz file
// is put beside those that the file holds, which are copied, or in place of the one of its
// name; fsys must be an fs.FS for that.
func Save(fsys Creator, name string, b *iface.Buffer) error {
	if b.Kind != iface.Variable && b.Kind.Rank() == 0 {
		return &Error{File: name, Want: "data with elements", Got: b.Desc.String()}
	}
	if why, instead := Refusal(name, b.Kind, b.Elem, true); why != "" {
		return cannotHold(name, why, instead)
	}
	_, write := codecs(Suffix(name))
	file, part := Split(name)
	switch suffix := Suffix(name); {
	case write == nil:
		return badSuffix(name)
	case suffix == ".npz":
		return saveMember(fsys, name, b)
	case suffix == ".png" || suffix == ".pgm":
		if err := checkImage(&b.Desc); err != nil {
			err.File = name
			return err
		}
	case part != "": // columns of a .csv file
		head, err := titleLine(part, b)
		if err != nil {
			err.File = file
			return err
		}
		return saveFile(fsys, file, file, func(w io.Writer) error {
			if _, err := io.WriteString(w, head); err != nil {
				return err
			}
			return buffered(w, b, write)
		})
	}
	return saveFile(fsys, file, file, func(w io.Writer) error { return buffered(w, b, write) })
}

// InRows reports whether a file of that name can be written some rows at a time, by CreateRows.
func InRows(name string) bool { return Suffix(name) == ".npy" || Suffix(name) == ".bin" }

// Rows is a file that is written some rows at a time, those along the first index. Either Close or
// Abort must be called.
type Rows struct {
	name string
	file io.WriteCloser
	w    *bufio.Writer
	left int // rows that are missing
}

// CreateRows begins to save data like d, which has rows; InRows must be true of name. The file appears with
// Close, as with Save.
func CreateRows(fsys Creator, name string, d iface.Desc) (*Rows, error) {
	if !InRows(name) || d.Rank == 0 {
		return nil, &Error{File: name, Want: "data with rows for a .npy or .bin file", Got: d.String()}
	}
	f, err := fsys.Create(name)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	r := &Rows{name: name, file: f, w: bufio.NewWriterSize(f, 256<<10), left: d.Dim[0]}
	if Suffix(name) == ".npy" {
		_, err = r.w.Write(npyHeader(d.Elem, d.Shape()))
	}
	if err != nil {
		r.Abort()
		return nil, &Error{File: name, Err: err}
	}
	return r, nil
}

// Write writes the rows of b, which come after those written before.
func (r *Rows) Write(b *iface.Buffer) error {
	if r.left -= b.Dim[0]; r.left < 0 {
		return &Error{File: r.name, Want: fmt.Sprintf("%d rows", r.left+b.Dim[0]), Got: fmt.Sprint(b.Dim[0])}
	}
	return (&Input{name: r.name}).located(writeRaw(r.w, b))
}

// Close completes the file, or after an error leaves none.
func (r *Rows) Close() error {
	err := r.w.Flush()
	if err == nil && r.left > 0 {
		err = &Error{Want: "all rows", Got: fmt.Sprintf("%d missing", r.left)}
	}
	if err != nil {
		r.Abort()
		return (&Input{name: r.name}).located(err)
	}
	if err := r.file.Close(); err != nil {
		return &Error{File: r.name, Err: err}
	}
	return nil
}

// Abort drops what was written.
func (r *Rows) Abort() { abort(r.file) }

// abort drops a file that was written in part.
func abort(f io.WriteCloser) {
	if a, ok := f.(interface{ Abort() }); ok {
		a.Abort()
	} else {
		f.Close()
	}
}

// saveFile makes a file of what write writes, all of it or nothing. Messages call it name.
func saveFile(fsys Creator, file, name string, write func(io.Writer) error) error {
	f, err := fsys.Create(file)
	if err != nil {
		return &Error{File: name, Err: err}
	}
	if err = write(f); err != nil {
		abort(f)
		return (&Input{name: name}).located(err)
	}
	if err := f.Close(); err != nil {
		return &Error{File: name, Err: err}
	}
	return nil
}

func buffered(w io.Writer, b *iface.Buffer, write func(*bufio.Writer, *iface.Buffer) error) error {
	bw := bufio.NewWriterSize(w, 256<<10)
	if err := write(bw, b); err != nil {
		return err
	}
	return bw.Flush()
}

func writeNpy(w *bufio.Writer, b *iface.Buffer) error {
	if _, err := w.Write(npyHeader(b.Elem, b.Shape())); err != nil {
		return err
	}
	return writeRaw(w, b)
}

func writeRaw(w *bufio.Writer, b *iface.Buffer) error {
	switch b.Elem.Size() {
	case 1:
		return writeRows[uint8](w, b)
	case 2:
		return writeRows[uint16](w, b)
	case 4:
		return writeRows[uint32](w, b)
	case 16:
		return writeRows[complex128](w, b)
	}
	if b.Elem == iface.C64 {
		return writeRows[complex64](w, b)
	}
	return writeRows[uint64](w, b)
}

func writeRows[T iface.Go](w *bufio.Writer, b *iface.Buffer) error {
	switch {
	case b.Len() == 0:
		return nil
	case b.Contiguous():
		return writeElems(w, iface.Slice[T](b))
	}
	for i := range b.Lines() {
		if err := writeElems(w, iface.Line[T](b, i)); err != nil {
			return err
		}
	}
	return nil
}

// writeElems writes little-endian.
func writeElems[T iface.Go](w *bufio.Writer, x []T) error {
	if !bigHost {
		_, err := w.Write(bytesOf(x))
		return err
	}
	for len(x) > 0 {
		n := min(len(x), 1024)
		b := append([]byte(nil), bytesOf(x[:n])...)
		swapBytes(b, int(iface.ElemOf[T]().Part().Size()))
		if _, err := w.Write(b); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

// rowsOf sees data as a matrix: a vector is one row.
func rowsOf[T iface.Go](b *iface.Buffer) (mem []T, rows, cols, ld int) {
	mem, ld = iface.Strided[T](b)
	switch b.Rank {
	case 0:
		return mem, 1, 1, ld
	case 1:
		return mem, 1, b.Dim[0], ld
	}
	return mem, b.Dim[0], b.Dim[1], ld
}

// writeMtx writes an array: columns, one element a line.
func writeMtx(w *bufio.Writer, b *iface.Buffer) error {
	field := mtxField(b.Elem)
	rows, cols := 1, 1
	switch b.Rank {
	case 1:
		rows = b.Dim[0]
	case 2:
		rows, cols = b.Dim[0], b.Dim[1]
	}
	if _, err := fmt.Fprintf(w, "%%%%MatrixMarket matrix array %s general\n%d %d\n", field, rows, cols); err != nil {
		return err
	}
	return writeText(w, b, true)
}

// mtxField is the field of a .mtx file for elements of type e.
func mtxField(e iface.Elem) string {
	switch {
	case e.IsInt(), e == iface.B8:
		return "integer"
	case e.IsComplex():
		return "complex"
	}
	return "real"
}

// titleLine is the first line of a .csv file with the titles in part, one for each column.
func titleLine(part string, b *iface.Buffer) (string, *Error) {
	cols := 1
	if b.Rank == 2 {
		cols = b.Dim[1]
	}
	titles := splitTitles(part)
	line := make([]string, len(titles))
	if len(titles) != cols {
		return "", &Error{Want: fmt.Sprintf("%d titles, one for each column", cols), Got: fmt.Sprintf("%d in %s", len(titles), quote([]byte(part)))}
	}
	for i, t := range titles {
		switch {
		case t == "":
			return "", &Error{Want: "a title for each column", Got: fmt.Sprintf("none for column %d", i+1)}
		case isNumber(t):
			return "", &Error{Want: "titles that are no numbers", Got: quote([]byte(t))}
		case slices.Contains(titles[:i], t):
			return "", &Error{Want: "titles that differ", Got: quote([]byte(t)) + " twice"}
		}
		line[i] = `"` + strings.ReplaceAll(t, `"`, `""`) + `"`
		if plainTitle(t) {
			line[i] = t
		}
	}
	return strings.Join(line, ",") + "\n", nil
}

// plainTitle reports whether t is read as a title without quotes around it.
func plainTitle(t string) bool {
	for i, c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return !absent[strings.ToLower(t)]
}

func isNumber(t string) bool {
	_, ok := parseNumber([]byte(t))
	return ok
}

// writeCsv writes a row a line; of a vector an element a line.
func writeCsv(w *bufio.Writer, b *iface.Buffer) error { return writeText(w, b, false) }

func writeText(w *bufio.Writer, b *iface.Buffer, columns bool) error {
	switch b.Elem {
	case iface.I8:
		return writeTextOf(w, b, columns, appendElem[int8])
	case iface.I16:
		return writeTextOf(w, b, columns, appendElem[int16])
	case iface.I32:
		return writeTextOf(w, b, columns, appendElem[int32])
	case iface.I64:
		return writeTextOf(w, b, columns, appendElem[int64])
	case iface.U8:
		return writeTextOf(w, b, columns, appendElem[uint8])
	case iface.U16:
		return writeTextOf(w, b, columns, appendElem[uint16])
	case iface.U32:
		return writeTextOf(w, b, columns, appendElem[uint32])
	case iface.U64:
		return writeTextOf(w, b, columns, appendElem[uint64])
	case iface.F32:
		return writeTextOf(w, b, columns, appendElem[float32])
	case iface.C64, iface.C128:
		number64, number128 := appendComplex[complex64], appendComplex[complex128]
		if columns {
			number64, number128 = appendParts[complex64], appendParts[complex128]
		}
		if b.Elem == iface.C64 {
			return writeTextOf(w, b, columns, number64)
		}
		return writeTextOf(w, b, columns, number128)
	case iface.B8:
		return writeTextOf(w, b, columns, appendBool)
	case iface.F16:
		return writeTextOf(w, b, columns, func(p []byte, x iface.Float16) []byte { return appendElem(p, x.Float32()) })
	case iface.BF16:
		return writeTextOf(w, b, columns, func(p []byte, x iface.BFloat16) []byte { return appendElem(p, x.Float32()) })
	}
	return writeTextOf(w, b, columns, appendElem[float64])
}

// writeTextOf writes a column after the other, an element a line, or a row a line.
func writeTextOf[T iface.Go](w *bufio.Writer, b *iface.Buffer, columns bool, number func(p []byte, x T) []byte) error {
	mem, rows, cols, ld := rowsOf[T](b)
	if len(mem) == 0 {
		return nil
	}
	if b.Rank < 2 { // a vector is a column in text
		rows, cols, ld = cols, 1, 1
	}
	outer, inner, so, si := rows, cols, ld, 1
	if columns {
		outer, inner, so, si = cols, rows, 1, ld
	}
	var buf [96]byte
	for i := range outer {
		for j := range inner {
			p := number(buf[:0], mem[i*so+j*si])
			if columns || j == inner-1 {
				p = append(p, '\n')
			} else {
				p = append(p, ',')
			}
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendElem writes a number so that it reads back the same.
func appendElem[T iface.Real](p []byte, x T) []byte {
	switch {
	case !isFloat[T]() && x < 0:
		return strconv.AppendInt(p, int64(x), 10)
	case !isFloat[T]():
		return strconv.AppendUint(p, uint64(x), 10)
	}
	f := float64(x)
	switch {
	case f != f:
		return append(p, "nan"...)
	case math.IsInf(f, 1):
		return append(p, "inf"...)
	case math.IsInf(f, -1):
		return append(p, "-inf"...)
	}
	return strconv.AppendFloat(p, f, 'g', -1, 8*int(unsafe.Sizeof(x)))
}

// appendComplex writes a complex number so that it reads back the same: 1.5-2i.
func appendComplex[T complex64 | complex128](p []byte, z T) []byte {
	re, im := partTexts(z)
	p = append(p, re...)
	n := len(p)
	if p = append(p, im...); p[n] != '-' {
		p = slices.Insert(p, n, '+')
	}
	return append(p, 'i')
}

// appendParts writes a complex number as the files of MatrixMarket have it: 1.5 -2.
func appendParts[T complex64 | complex128](p []byte, z T) []byte {
	re, im := partTexts(z)
	return append(append(append(p, re...), ' '), im...)
}

func partTexts[T complex64 | complex128](z T) (re, im []byte) {
	w := complex128(z)
	if unsafe.Sizeof(z) == 8 {
		return appendElem(nil, float32(real(w))), appendElem(nil, float32(imag(w)))
	}
	return appendElem(nil, real(w)), appendElem(nil, imag(w))
}

// SaveColumns writes vectors of one length as the columns of a .csv file, below a line with their titles.
func SaveColumns(fsys Creator, name string, titles []string, columns []*iface.Buffer) error {
	line := make([]string, len(titles))
	for i, t := range titles {
		if line[i] = t; !plainTitle(t) {
			line[i] = `"` + strings.ReplaceAll(t, `"`, `""`) + `"`
		}
	}
	return saveFile(fsys, name, name, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 64<<10)
		text := append([]byte(strings.Join(line, ",")), '\n')
		for i := range columns[0].Dim[0] {
			for c, col := range columns {
				if c > 0 {
					text = append(text, ',')
				}
				at := unsafe.Add(col.Ptr, i*int(col.Elem.Size()))
				switch col.Elem {
				case iface.C64:
					text = appendComplex(text, *(*complex64)(at))
				case iface.C128:
					text = appendComplex(text, *(*complex128)(at))
				default:
					text = appendElemAt(text, col, i)
				}
			}
			text = append(text, '\n')
			if _, err := b.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
		if _, err := b.Write(text); err != nil { // of no elements: the titles
			return err
		}
		return b.Flush()
	})
}
