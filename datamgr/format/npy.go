package format

// NumPy's .npy files. The elements are read in bulk, where they belong.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// maxHeader is the longest header that is read. NumPy itself stops at 10000.
const maxHeader = 64 << 10

const npyMagic = "\x93NUMPY"

var npyTypes = map[string]iface.Elem{
	"i1": iface.I8, "i2": iface.I16, "i4": iface.I32, "i8": iface.I64,
	"u1": iface.U8, "u2": iface.U16, "u4": iface.U32, "u8": iface.U64,
	"f2": iface.F16, "f4": iface.F32, "f8": iface.F64, "c8": iface.C64, "c16": iface.C128,
	"b1": iface.B8,
	"V2": iface.BF16, // NumPy has no type for these, and writes them as words of two bytes
}

func openNpy(in *Input) error { return in.npy(in.file, in.source) }

// npy reads an array. rest returns what follows the bytes that were read, and
// how many bytes that is, as source does.
func (in *Input) npy(file io.Reader, rest func(read, want int64) (io.Reader, int64)) error {
	head, start, err := npyHead(file)
	if err != nil {
		return err
	}
	d, err := npyDescr(head, start)
	if err != nil {
		return err
	}
	elem, big, ok := npyElem(d.Type)
	if !ok {
		return &Error{At: true, Byte: int64(start), Want: "elements i1 to i8, u1 to u8, f2, f4, f8, c8, c16, b1 or V2", Got: quote([]byte(d.Type))}
	}
	if in.exact && (elem != in.want.Elem || len(d.Shape) != in.want.Kind.Rank()) {
		return &Error{At: true, Byte: int64(start), Want: in.want.String(), Got: fmt.Sprintf("%s of type %v", sizes(d.Shape), elem)}
	}
	if e := in.shape(d.Shape...); e != nil {
		e.At, e.Byte = true, int64(start)
		return e
	}
	want := int64(elem.Size())
	for _, k := range d.Shape {
		want *= int64(k)
	}
	r, size := rest(int64(len(head)), want)
	if size != want {
		return &Error{At: true, Byte: int64(len(head)), Want: fmt.Sprintf("%d bytes, %s of type %v", want, sizes(d.Shape), elem), Got: fmt.Sprint(size)}
	}
	f := &raw{r: r, elem: elem, big: big, at: int64(len(head))}
	in.inRows = !d.Fortran || in.want.Kind.Rank() < 2
	in.plain, in.start = in.inRows && elem == in.want.Elem && big == bigHost, f.at
	in.fill = func(b *iface.Buffer) error { return in.fillRows(f, b, d.Fortran) }
	return nil
}

// npyHead reads magic, version and header, which begins at start, and nothing when the
// header is longer than headers are.
func npyHead(r io.Reader) (head []byte, start int, err error) {
	head = make([]byte, 10, 256)
	if _, err := io.ReadFull(r, head); err == io.EOF {
		return nil, 0, &Error{At: true, Want: "a NumPy file", Got: "an empty one"}
	} else if err != nil && !endOfFile(err) {
		return nil, 0, err
	} else if err != nil || string(head[:6]) != npyMagic {
		return nil, 0, &Error{At: true, Want: "a NumPy file", Got: "something else"}
	}
	n := int(binary.LittleEndian.Uint16(head[8:]))
	switch head[6] {
	case 1:
	case 2, 3: // 3 allows names of fields in UTF-8, which plain elements do not have
		head = append(head, 0, 0)
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return nil, 0, shortHeader(err)
		}
		n = int(min(binary.LittleEndian.Uint32(head[8:]), maxHeader+1))
	default:
		return nil, 0, &Error{At: true, Byte: 6, Want: "version 1, 2 or 3", Got: fmt.Sprint(head[6])}
	}
	if n > maxHeader {
		return nil, 0, &Error{At: true, Byte: 8, Want: fmt.Sprintf("a header of at most %d bytes", maxHeader), Got: "a longer one"}
	}
	start = len(head)
	head = append(head, make([]byte, n)...)
	if _, err := io.ReadFull(r, head[start:]); err != nil {
		return nil, 0, shortHeader(err)
	}
	return head, start, nil
}

func endOfFile(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func shortHeader(err error) error {
	if endOfFile(err) {
		return &Error{At: true, Byte: 8, Want: "a whole header", Got: "the end of the file"}
	}
	return err
}

// npyElem understands "<f8", ">i4", "|u1", "=f4".
func npyElem(descr string) (e iface.Elem, big, ok bool) {
	if len(descr) < 2 {
		return 0, false, false
	}
	if e, ok := npyTypes[descr]; ok {
		return e, bigHost, true
	}
	switch descr[0] {
	case '<', '|':
	case '>':
		big = true
	case '=':
		big = bigHost
	default:
		return 0, false, false
	}
	e, ok = npyTypes[descr[1:]]
	return e, big, ok
}

// npyHeader makes the header of version 1 for data with the given sizes, padded
// so that the elements begin at a multiple of 64.
func npyHeader(e iface.Elem, dims []int) []byte {
	order := byte('<')
	if e.Size() == 1 {
		order = '|'
	}
	kind := byte('u')
	if e == iface.BF16 {
		kind = 'V'
	} else if e.IsFloat() {
		kind = 'f'
	} else if e.IsComplex() {
		kind = 'c'
	} else if e.IsSigned() {
		kind = 'i'
	} else if e == iface.B8 {
		kind = 'b'
	}
	shape := ""
	switch len(dims) {
	case 0:
		shape = "()"
	case 1:
		shape = fmt.Sprintf("(%d,)", dims[0])
	default:
		shape = "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", ", ") + ")"
	}
	text := fmt.Sprintf("{'descr': '%c%c%d', 'fortran_order': False, 'shape': %s, }", order, kind, e.Size(), shape)
	n := (10 + len(text) + 1 + 63) / 64 * 64
	h := make([]byte, 0, n)
	h = append(h, npyMagic...)
	h = append(h, 1, 0)
	h = binary.LittleEndian.AppendUint16(h, uint16(n-10))
	h = append(h, text...)
	for len(h) < n-1 {
		h = append(h, ' ')
	}
	return append(h, '\n')
}
