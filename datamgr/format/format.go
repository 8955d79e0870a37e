// Package format reads and writes data files: .npy and .npz (NumPy), .mtx (MatrixMarket),
// .csv, .bin (raw elements), and the images .png and .pgm. The suffix of a name chooses.
// An .npz file holds several arrays, and a name says which: "a.npz:x". The name of
// a .csv file may say which columns: "t.csv:time,price".
//
// Elements are converted to the wanted type. A number that the type
// cannot hold, too large or a fraction for an integer type, is an error; rounding to a
// float is not an error, and is done once, for text as well. A vector takes
// one-dimensional data and two-dimensional data of one row or one column; a
// variable takes data of one element; a matrix takes two-dimensional data. A
// block takes three-dimensional data, which .npy, .npz and .bin hold, and images in
// colour: rows x columns x 3 or 4. A tensor takes four-dimensional data.
//
//	in, err := format.Open(os.DirFS("."), "a.mtx", format.Want{Kind: iface.Matrix, Elem: iface.F64})
//	…                                // in.Dims: allocate a buffer of this size
//	err = in.Fill(buffer)            // converts, and closes the file
//
// Errors are *[Error], with the line or byte, what was expected and what was found.
// Files are used by one goroutine at a time; different ones are independent.
//
// Whatever a file claims, reading it takes memory in proportion to what it
// holds, besides the memory that Fill is given. No file makes this package panic.
package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// Suffixes lists the file formats by the suffix of their names.
var Suffixes = []string{".npy", ".npz", ".mtx", ".csv", ".bin", ".png", ".pgm"}

// codecs are the formats: open finds out the sizes, write writes the data.
func codecs(suffix string) (open func(*Input) error, write func(w *bufio.Writer, b *iface.Buffer) error) {
	switch suffix {
	case ".npy":
		return openNpy, writeNpy
	case ".npz":
		return openNpz, writeNpy // Save makes the archive around it
	case ".mtx":
		return openMtx, writeMtx
	case ".csv":
		return openCsv, writeCsv
	case ".bin":
		return openBin, writeRaw
	case ".png":
		return openPng, writePng
	case ".pgm":
		return openPgm, writePgm
	}
	return nil, nil
}

// Split takes the name of data apart: the name of the file, and the part of its content
// that is meant, after a `:` behind .npz or .csv. The part is an array of an .npz file, and
// of a .csv file the names of columns between commas; it is "" where there is none.
func Split(name string) (file, part string) {
	lower := strings.ToLower(name)
	end := -1
	for _, s := range []string{".npz:", ".csv:"} {
		if i := strings.Index(lower, s); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	if end < 0 || len(lower) != len(name) {
		return name, ""
	}
	end += len(".npz")
	return name[:end], name[end+1:]
}

// Suffix returns the suffix that chooses the format, in lower case: ".npz" for "a.NPZ:x".
// It need not be one of Suffixes.
func Suffix(name string) string {
	file, _ := Split(name)
	return strings.ToLower(path.Ext(file))
}

// Clean returns the shortest name of the same data, with slashes.
func Clean(name string) string {
	file, _ := Split(name)
	return path.Clean(filepath.ToSlash(file)) + name[len(file):]
}

// Refusal says why no file called name can hold data of a kind and element type: "a .csv
// file holds no block". save tells saving from loading; an unknown kind or type is 0. It is
// "" where nothing is wrong, and where name has none of the Suffixes. instead is what to do.
func Refusal(name string, kind iface.Kind, elem iface.Elem, save bool) (why, instead string) {
	suffix := Suffix(name)
	verb := "loaded from"
	if save {
		verb = "saved in"
	}
	switch _, part := Split(name); suffix {
	case ".npz":
		if part == "" {
			return "an `.npz` file holds several arrays, and the name does not say which", "write the name of the array behind a colon, as in `" + name + ":x`"
		}
		if !fs.ValidPath(part) || part == "." || strings.ContainsAny(part, "\\\x00") {
			return fmt.Sprintf("`%s` cannot be the name of an array in an `.npz` file", part), "use letters and digits, as in `" + strings.TrimSuffix(name, part) + "x`"
		}
	case ".csv", ".mtx":
		if kind.Rank() > 2 {
			return fmt.Sprintf("a `%s` file holds no %v", suffix, kind), fmt.Sprintf("a %v is %s `.npy`, `.npz` or `.bin`", kind, verb)
		}
	case ".png", ".pgm":
		switch {
		case kind == iface.Block && suffix == ".pgm":
			return "a `.pgm` file is grey and holds no block", "an image in colour is " + verb + " `.png`"
		case kind.IsTensor() || save && (kind == iface.Vector || kind == iface.Variable):
			return fmt.Sprintf("a %v is no image", kind), "an image is a matrix, or a block of rows x columns x 3 or 4"
		case save && elem != iface.NoElem && elem != iface.U8 && elem != iface.U16:
			return fmt.Sprintf("a `%s` file has elements of u8 or u16, and these are %v", suffix, elem), "scale and round the elements into data of u8 or u16 first"
		}
	}
	return "", ""
}

// Want describes the data that a file shall become.
type Want struct {
	Kind iface.Kind // Variable, Vector, Matrix, Block or Tensor
	Elem iface.Elem
	Dims []int // sizes that the file must have; nil: those it has (.bin needs them)
	// Most is how many elements Open takes of a file that tells its sizes by its end
	// only, such as .csv, before it gives up with ErrMost; 0: any number.
	Most int64
}

// ErrMost is in the error of a file that has more than Want.Most elements.
var ErrMost = errors.New("the file has more elements than are wanted")

func (w *Want) String() string {
	if w.Dims == nil {
		return fmt.Sprintf("%v[%v]", w.Kind, w.Elem)
	}
	d := w.desc(w.Dims)
	return d.String()
}

func (w *Want) desc(dims []int) iface.Desc {
	d := iface.Desc{Kind: w.Kind, Elem: w.Elem, Rank: int8(w.Kind.Rank())}
	copy(d.Dim[:], dims)
	return d
}

// Input is an opened file whose sizes are known. It is used once, by one
// goroutine: either Fill or Close must be called.
type Input struct {
	// Dims are the sizes of the data, one for each index of the wanted kind.
	Dims []int

	exact bool   // elements are not converted, and dimensions not dropped
	name  string // in messages
	part  string // of the file that is read, see Split
	want  Want
	fill  func(b *iface.Buffer) error
	file  fs.File
	// inRows: the elements lie row by row, and Fill can read some rows at a time. rows were read.
	inRows bool
	rows   int
	// plain: the elements lie in the file from a byte on as a buffer has them
	plain bool
	start int64
}

// Open opens a data file and finds out its sizes. Errors in the
// content of the file are *Error values, here and in Fill.
func Open(fsys fs.FS, name string, want Want) (*Input, error) {
	if want.Kind != iface.Variable && want.Kind.Rank() == 0 {
		return nil, &Error{File: name, Want: "data with elements", Got: "a load into " + want.Kind.String()}
	}
	open, _ := codecs(Suffix(name))
	if open == nil {
		return nil, badSuffix(name)
	}
	if why, instead := Refusal(name, want.Kind, want.Elem, false); why != "" {
		return nil, cannotHold(name, why, instead)
	}
	file, part := Split(name)
	f, err := fsys.Open(file)
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	in := &Input{name: shown(name), part: part, want: want, file: f}
	if err := open(in); err != nil {
		f.Close()
		return nil, in.located(err)
	}
	return in, nil
}

// Append adds the elements of b to dst as an .npy file has them: a header with the sizes and the
// element type, then the elements, little-endian, the last index fastest.
func Append(dst []byte, b *iface.Buffer) ([]byte, error) {
	if b.Kind != iface.Variable && b.Kind.Rank() == 0 {
		return dst, &Error{File: "data to pack", Want: "data with elements", Got: b.Desc.String()}
	}
	to := bytes.NewBuffer(slices.Grow(dst, int(b.Bytes())+256))
	if err := buffered(to, b, writeNpy); err != nil {
		return dst, err
	}
	return to.Bytes(), nil
}

// Parse is Open of an .npy file in memory, such as Append makes. Its element type and the
// number of its sizes must be those that are wanted. data must not change before Fill.
func Parse(data []byte, want Want) (*Input, error) {
	in := &Input{name: "packed data", want: want, exact: true}
	r := bytes.NewReader(data)
	if err := in.npy(r, func(read, _ int64) (io.Reader, int64) { return r, int64(len(data)) - read }); err != nil {
		return nil, in.located(err)
	}
	return in, nil
}

// shown is the name of data in messages. Columns are left out: the line comes there.
func shown(name string) string {
	if file, _ := Split(name); Suffix(name) == ".csv" {
		return file
	}
	return name
}

// Saved gives the sizes that Open would find in name after Save has written data
// like d as saved, which is a name of the same file: for those who know what will be
// written, and have no file yet.
func Saved(name, saved string, d iface.Desc, want Want) ([]int, error) {
	in := &Input{name: shown(name), want: want}
	if why, instead := Refusal(name, want.Kind, want.Elem, false); why != "" {
		return nil, cannotHold(name, why, instead)
	}
	dims := slices.Clone(d.Dim[:d.Rank])
	switch Suffix(name) {
	case ".csv", ".mtx": // a vector is a column in text, and an element a column of one
		for d.Rank < 2 && len(dims) < 2 {
			dims = append(dims, 1)
		}
		if _, part := Split(name); part != "" {
			_, titles := Split(saved)
			columns, err := chosenColumns(part, splitTitles(titles), dims[1])
			if err != nil {
				return nil, in.located(err)
			}
			dims[1] = len(columns)
		}
	case ".bin":
		if err := binNeeds(&want); err != nil {
			return nil, in.located(err)
		}
		dims = want.Dims
		if w := want.desc(dims); w.Bytes() != d.Bytes() {
			return nil, &Error{File: name, Want: fmt.Sprintf("%d bytes, a %v", w.Bytes(), &w), Got: fmt.Sprint(d.Bytes())}
		}
	}
	if e := in.shape(dims...); e != nil {
		return nil, in.located(e)
	}
	return in.Dims, nil
}

// InRows reports whether Fill can read some rows at a time.
func (in *Input) InRows() bool { return in.inRows }

// nextRows reports whether b is for some rows, or all of them, that come next, and counts them.
func (in *Input) nextRows(b *iface.Buffer) bool {
	if !in.inRows || b.Rank == 0 || len(in.Dims) == 0 || b.Off[0] != in.rows || b.Dim[0] > in.Dims[0]-in.rows {
		return false
	}
	in.rows += b.Dim[0]
	return true
}

// moreRows reports whether there are rows that were not read.
func (in *Input) moreRows() bool { return in.inRows && len(in.Dims) > 0 && in.rows < in.Dims[0] }

// Fill reads the elements into b, which must have the sizes and elements of the
// Input, and closes the file. With InRows b may also be for some of the rows (the first
// index): those from b.Off[0] on, which must be the first that no call has read; the last
// call closes the file. After an error the content of b means nothing.
func (in *Input) Fill(b *iface.Buffer) error {
	if in.fill == nil {
		return &Error{File: in.name, Err: errors.New("the file was read or closed before")}
	}
	d := in.want.desc(in.Dims)
	part := in.nextRows(b)
	if part {
		d.Dim[0] = b.Dim[0]
	}
	if b.Kind != d.Kind || b.Elem != d.Elem || b.Dim != d.Dim {
		in.Close()
		return &Error{File: in.name, Want: d.String(), Got: b.Desc.String() + " to read into"}
	}
	err := in.fill(b)
	if part && err == nil && in.moreRows() {
		return nil
	}
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	return in.located(err)
}

// Close gives the file up. Closing again does nothing.
func (in *Input) Close() error {
	in.fill = nil
	if in.file == nil {
		return nil
	}
	f := in.file
	in.file = nil
	return f.Close()
}

// located gives an error the name of the file.
func (in *Input) located(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		e.File = in.name
		return e
	}
	return &Error{File: in.name, Err: err}
}

// shape decides what data of the given sizes in the file becomes, and checks
// that against what is wanted. The error has no place yet.
func (in *Input) shape(dims ...int) *Error {
	n := 1
	for _, d := range dims {
		if d < 0 {
			return &Error{Want: "sizes of 0 or more", Got: sizes(dims)}
		}
		if d > 0 && n > math.MaxInt/8/d {
			return &Error{Want: "data that memory can hold", Got: sizes(dims)}
		}
		n *= d
	}
	var out []int
	switch {
	case in.want.Kind == iface.Variable && n == 1:
		out = []int{}
	case in.want.Kind == iface.Vector && (len(dims) == 1 || len(dims) == 2 && (dims[0] == 1 || dims[1] == 1)):
		out = []int{n}
	case in.want.Kind.Rank() > 1 && len(dims) == in.want.Kind.Rank():
		out = dims
	default:
		return &Error{Want: in.want.String(), Got: sizes(dims)}
	}
	for i, d := range in.want.Dims {
		if i >= len(out) || out[i] != d {
			return &Error{Want: in.want.String(), Got: sizes(dims)}
		}
	}
	in.Dims = out
	return nil
}

// sizes writes the sizes of data in a file.
func sizes(dims []int) string {
	switch len(dims) {
	case 0:
		return "one element"
	case 1:
		if dims[0] == 1 {
			return "1 element"
		}
		return fmt.Sprintf("%d elements", dims[0])
	}
	return "size " + strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", " x ")
}

// source returns the rest of the file and how many bytes that is. A pipe or
// a device has no size: it counts as the number of bytes wanted, and reading finds out
// whether there are fewer or more.
func (in *Input) source(read, want int64) (r io.Reader, size int64) {
	if st, err := in.file.Stat(); err == nil && st.Mode().IsRegular() {
		return in.file, st.Size() - read
	}
	return in.file, want
}
