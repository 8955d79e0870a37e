// Package format reads and writes data files: .npy (NumPy), .mtx (MatrixMarket),
// .csv and .bin (raw elements). The suffix of a name chooses.
//
// Elements are converted to the wanted type. A number that the type
// cannot hold, too large or a fraction for an integer type, is an error; rounding to a
// float is not an error, and is done once, for text as well. A vector takes
// one-dimensional data and two-dimensional data of one row or one column; a
// variable takes data of one element; a matrix takes two-dimensional data. A
// block takes three-dimensional data, which .npy and .bin hold.
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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// Suffixes lists the file formats by the suffix of their names.
var Suffixes = []string{".npy", ".mtx", ".csv", ".bin"}

// Want describes the data that a file shall become.
type Want struct {
	Kind iface.Kind // Variable, Vector, Matrix or Block
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

	name string
	want Want
	fill func(b *iface.Buffer) error
	file fs.File
}

// Open opens a data file and finds out its sizes. Errors in the
// content of the file are *Error values, here and in Fill.
func Open(fsys fs.FS, name string, want Want) (*Input, error) {
	if want.Kind != iface.Variable && want.Kind.Rank() == 0 {
		return nil, &Error{File: name, Want: "data with elements", Got: "a load into " + want.Kind.String()}
	}
	open := opener(name)
	if open == nil {
		return nil, badSuffix(name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	in := &Input{name: name, want: want, file: f}
	if err := open(in); err != nil {
		f.Close()
		return nil, in.located(err)
	}
	return in, nil
}

// Saved gives the sizes that Open would find in the file name after Save has written data
// like d to it: for those who know what will be written, and have no file yet.
func Saved(name string, d iface.Desc, want Want) ([]int, error) {
	dims := slices.Clone(d.Dim[:d.Rank])
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".mtx": // a vector is a column in text, and an element a column of one
		for d.Rank < 2 && len(dims) < 2 {
			dims = append(dims, 1)
		}
	case ".bin":
		if err := binNeeds(&want); err != nil {
			return nil, (&Input{name: name}).located(err)
		}
		dims = want.Dims
		if w := want.desc(dims); w.Bytes() != d.Bytes() {
			return nil, &Error{File: name, Want: fmt.Sprintf("%d bytes, a %v", w.Bytes(), &w), Got: fmt.Sprint(d.Bytes())}
		}
	}
	in := &Input{name: name, want: want}
	if e := in.shape(dims...); e != nil {
		return nil, in.located(e)
	}
	return in.Dims, nil
}

func opener(name string) func(*Input) error {
	switch strings.ToLower(path.Ext(name)) {
	case ".npy":
		return openNpy
	case ".mtx":
		return openMtx
	case ".csv":
		return openCsv
	case ".bin":
		return openBin
	}
	return nil
}

// Fill reads the elements into b, which must have the sizes and elements of the
// Input, and closes the file. After an error the content of b means nothing.
func (in *Input) Fill(b *iface.Buffer) error {
	if in.fill == nil {
		return &Error{File: in.name, Err: errors.New("the file was read or closed before")}
	}
	d := in.want.desc(in.Dims)
	if b.Kind != d.Kind || b.Elem != d.Elem || b.Dim != d.Dim {
		in.Close()
		return &Error{File: in.name, Want: d.String(), Got: b.Desc.String() + " to read into"}
	}
	err := in.fill(b)
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
	case in.want.Kind == iface.Matrix && len(dims) == 2:
		out = dims
	case in.want.Kind == iface.Block && len(dims) == 3:
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
