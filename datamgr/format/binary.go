package format

// Elements in binary form: read into a buffer without a detour when file and
// memory agree, else converted piece by piece.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// raw is a run of elements in a file.
type raw struct {
	r       io.Reader
	elem    iface.Elem
	big     bool  // big-endian
	at      int64 // place in the file, for messages
	scratch []byte
}

const scratchSize = 256 << 10

// bigHost says how the memory of this machine has its numbers.
var bigHost = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// read reads len(dst) bytes.
func (f *raw) read(dst []byte) error {
	n, err := io.ReadFull(f.r, dst)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return &Error{At: true, Byte: f.at + int64(n), Want: fmt.Sprintf("%d bytes more", len(dst)-n), Got: "the end of the file"}
		}
		return f.broken(n, err)
	}
	f.at += int64(n)
	return nil
}

// end demands that the file ends here.
func (f *raw) end() error {
	var b [1]byte
	if n, err := io.ReadFull(f.r, b[:]); n > 0 {
		return &Error{At: true, Byte: f.at, Want: "the end of the file", Got: "more bytes"}
	} else if err != io.EOF {
		return f.broken(0, err)
	}
	return nil
}

// broken says where reading failed, after n bytes, unless err does.
func (f *raw) broken(n int, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{At: true, Byte: f.at + int64(n), Err: err}
}

// bytesOf is the memory of elements.
func bytesOf[T iface.Go](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// swapBytes turns the elements of b, each of the given size, end for end.
func swapBytes(b []byte, size int) {
	switch size {
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
		}
	case 8:
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], binary.BigEndian.Uint64(b[i:]))
		}
	}
}

// readElems reads the next len(dst) elements.
func readElems[T iface.Go](f *raw, dst []T, e iface.Elem, conv conversion[T]) error {
	size := int(f.elem.Size())
	if f.elem == e && e != iface.B8 {
		b := bytesOf(dst)
		if err := f.read(b); err != nil {
			return err
		}
		if f.big != bigHost {
			swapBytes(b, int(f.elem.Part().Size()))
		}
		return nil
	}
	if f.scratch == nil {
		f.scratch = make([]byte, scratchSize)
	}
	for len(dst) > 0 {
		n := min(len(dst), scratchSize/size)
		b := f.scratch[:n*size]
		at := f.at
		if err := f.read(b); err != nil {
			return err
		}
		if f.big != bigHost {
			swapBytes(b, int(f.elem.Part().Size()))
		}
		for i := range dst[:n] {
			v := nativeNum(f.elem, b[i*size:])
			x, ok := conv.of(v)
			if !ok {
				return &Error{At: true, Byte: at + int64(i*size), Want: holds(e), Got: v.String()}
			}
			dst[i] = x
		}
		dst = dst[n:]
	}
	return nil
}

// nativeNum reads one element in the order of this machine.
func nativeNum(e iface.Elem, b []byte) num {
	o := binary.NativeEndian
	switch e {
	case iface.I8:
		return num{i: int64(int8(b[0]))}
	case iface.I16:
		return num{i: int64(int16(o.Uint16(b)))}
	case iface.I32:
		return num{i: int64(int32(o.Uint32(b)))}
	case iface.I64:
		return num{i: int64(o.Uint64(b))}
	case iface.U8:
		return num{i: int64(b[0])}
	case iface.U16:
		return num{i: int64(o.Uint16(b))}
	case iface.U32:
		return num{i: int64(o.Uint32(b))}
	case iface.U64:
		if u := o.Uint64(b); u > math.MaxInt64 {
			return num{form: uintNum, u: u}
		} else {
			return num{i: int64(u)}
		}
	case iface.F32:
		return num{form: floatNum, f: float64(math.Float32frombits(o.Uint32(b)))}
	case iface.F16:
		return num{form: floatNum, f: float64(iface.F16FromBits(o.Uint16(b)))}
	case iface.BF16:
		return num{form: floatNum, f: float64(iface.BF16FromBits(o.Uint16(b)))}
	case iface.B8:
		if b[0] != 0 { // the byte of a bool may be any
			return num{i: 1}
		}
		return num{}
	case iface.C64:
		return num{form: complexNum, f: float64(math.Float32frombits(o.Uint32(b))), im: float64(math.Float32frombits(o.Uint32(b[4:])))}
	case iface.C128:
		return num{form: complexNum, f: math.Float64frombits(o.Uint64(b)), im: math.Float64frombits(o.Uint64(b[8:]))}
	}
	return num{form: floatNum, f: math.Float64frombits(o.Uint64(b))}
}

// String writes the number for messages.
func (n num) String() string {
	switch n.form {
	case intNum:
		return fmt.Sprint(n.i)
	case uintNum:
		return fmt.Sprint(n.u)
	case complexNum:
		return string(appendComplex(nil, complex(n.f, n.im)))
	}
	return fmt.Sprint(n.f)
}

// fillRaw reads all elements of b, which are the last of the file: rows, or columns when the
// file is stored by columns.
func fillRaw(f *raw, b *iface.Buffer, byColumns bool) error {
	if err := fillElems(f, b, byColumns); err != nil {
		return err
	}
	return f.end()
}

// fillElems is fillRaw for elements that more may follow.
func fillElems(f *raw, b *iface.Buffer, byColumns bool) error {
	var err error
	switch b.Elem {
	case iface.I8:
		err = fillRawOf(f, b, byColumns, reals[int8]())
	case iface.I16:
		err = fillRawOf(f, b, byColumns, reals[int16]())
	case iface.I32:
		err = fillRawOf(f, b, byColumns, reals[int32]())
	case iface.I64:
		err = fillRawOf(f, b, byColumns, reals[int64]())
	case iface.U8:
		err = fillRawOf(f, b, byColumns, reals[uint8]())
	case iface.U16:
		err = fillRawOf(f, b, byColumns, reals[uint16]())
	case iface.U32:
		err = fillRawOf(f, b, byColumns, reals[uint32]())
	case iface.U64:
		err = fillRawOf(f, b, byColumns, reals[uint64]())
	case iface.F32:
		err = fillRawOf(f, b, byColumns, reals[float32]())
	case iface.C64:
		err = fillRawOf(f, b, byColumns, complexes[complex64]())
	case iface.C128:
		err = fillRawOf(f, b, byColumns, complexes[complex128]())
	case iface.F16:
		err = fillRawOf(f, b, byColumns, float16s())
	case iface.BF16:
		err = fillRawOf(f, b, byColumns, bfloat16s())
	case iface.B8:
		err = fillRawOf(f, b, byColumns, bools())
	default:
		err = fillRawOf(f, b, byColumns, reals[float64]())
	}
	return err
}

// fillRows reads elements of b, and after the last row of the file demands its end.
func (in *Input) fillRows(f *raw, b *iface.Buffer, byColumns bool) error {
	if in.moreRows() {
		return fillElems(f, b, byColumns)
	}
	return fillRaw(f, b, byColumns)
}

func fillRawOf[T iface.Go](f *raw, b *iface.Buffer, byColumns bool, conv conversion[T]) error {
	switch {
	case b.Len() == 0:
		return nil
	case byColumns && b.Rank == 2:
		return fillColumns(f, b, conv)
	case byColumns && b.Rank > 2:
		return fillFirstFastest(f, b, conv)
	case b.Contiguous():
		return readElems(f, iface.Slice[T](b), b.Elem, conv)
	}
	for i := range b.Lines() {
		if err := readElems(f, iface.Line[T](b, i), b.Elem, conv); err != nil {
			return err
		}
	}
	return nil
}

// fillColumns reads some columns at a time, so that rows are written in runs.
func fillColumns[T iface.Go](f *raw, b *iface.Buffer, conv conversion[T]) error {
	const most = 4 << 20 // bytes at a time
	rows, cols := b.Dim[0], b.Dim[1]
	size := int(b.Elem.Size())
	mem, ld := iface.Strided[T](b)
	width := min(cols, max(1, most/size/rows))
	piece := min(rows, most/size) // of one column, when that is longer
	buf := make([]T, width*piece)
	for j := 0; j < cols; j += width {
		w := min(width, cols-j)
		for i := 0; i < rows; i += piece {
			h := min(piece, rows-i)
			if err := readElems(f, buf[:w*h], b.Elem, conv); err != nil {
				return err
			}
			for r := range h {
				row := mem[(i+r)*ld+j:][:w]
				for c := range row {
					row[c] = buf[c*h+r]
				}
			}
		}
	}
	return nil
}

// fillFirstFastest reads elements that are stored with the first index fastest.
func fillFirstFastest[T iface.Go](f *raw, b *iface.Buffer, conv conversion[T]) error {
	const most = 1 << 20 // bytes at a time
	rank, size := int(b.Rank), int(b.Elem.Size())
	buf := make([]T, min(b.Len(), most/size))
	var at [iface.MaxRank]int
	off := 0
	for left := b.Len(); left > 0; {
		n := min(left, len(buf))
		if err := readElems(f, buf[:n], b.Elem, conv); err != nil {
			return err
		}
		for _, x := range buf[:n] {
			*(*T)(unsafe.Add(b.Ptr, off*size)) = x
			for k := range rank {
				at[k]++
				off += b.Stride[k]
				if at[k] < b.Dim[k] {
					break
				}
				off -= at[k] * b.Stride[k]
				at[k] = 0
			}
		}
		left -= n
	}
	return nil
}

// Source is the elements of an open file, as memory has them: little-endian or big-endian, as this
// machine is, row by row. It implements accel.Source.
type Source struct {
	name  string
	file  fs.File
	bytes io.ReaderAt
	start int64
	was   fs.FileInfo
}

// Source returns the elements where they lie in the file, so that any of them can be read at any
// time. It takes the file over from in, which is closed then. It returns nil, and changes nothing,
// if elements have to be converted or put in order, as bools are whose bytes may be any, or if the file is compressed, not regular, or
// cannot be read at any place.
//
// The end of a context that the file was opened with does not end reading.
func (in *Input) Source() *Source {
	if !in.plain || in.file == nil || in.fill == nil || in.rows > 0 || in.want.Elem == iface.B8 {
		return nil
	}
	file := in.file
	bounded, _ := file.(*boundedFile)
	if bounded != nil {
		file = bounded.File
	}
	bytes, ok := file.(io.ReaderAt)
	st, err := file.Stat()
	if !ok || err != nil || !st.Mode().IsRegular() {
		return nil
	}
	if bounded != nil {
		bounded.stop()
	}
	in.file, in.fill = nil, nil
	return &Source{name: in.name, file: file, bytes: bytes, start: in.start, was: st}
}

// ReadAt fills b with the elements from byte at of all elements on. Errors are *Error.
func (s *Source) ReadAt(b []byte, at int64) (int, error) {
	n, err := s.bytes.ReadAt(b, s.start+at)
	if n == len(b) {
		return n, nil
	}
	e := &Error{File: s.name, At: true, Byte: s.start + at + int64(n), Err: err}
	if err == nil || endOfFile(err) {
		e.Err, e.Want, e.Got = nil, fmt.Sprintf("%d bytes more", len(b)-n), "the end of the file, which was longer when it was opened"
	}
	return n, e
}

// Changed returns an *Error if the file has another size, or was written since it was opened. A
// file that was removed or replaced can still be read.
func (s *Source) Changed() error {
	st, err := s.file.Stat()
	switch {
	case err != nil:
		return &Error{File: s.name, Err: err}
	case st.Size() != s.was.Size():
		return &Error{File: s.name, At: true, Byte: min(st.Size(), s.was.Size()), Want: fmt.Sprintf("%d bytes, as when it was opened", s.was.Size()), Got: fmt.Sprint(st.Size())}
	case !st.ModTime().Equal(s.was.ModTime()):
		return &Error{File: s.name, At: true, Byte: s.start, Want: "the elements as they were when it was opened", Got: "a file that was written since"}
	}
	return nil
}

// Close closes the file.
func (s *Source) Close() error { return s.file.Close() }
