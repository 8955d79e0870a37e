package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/sbinet/npyio/npy"

	"github.com/starpush/starpush/datamgr/iface"
)

// memFS is a file system in memory that can be written.
type memFS struct {
	fstest.MapFS
	fail error // of writes
}

func newFS(files ...string) *memFS {
	m := &memFS{MapFS: fstest.MapFS{}}
	for i := 0; i < len(files); i += 2 {
		m.MapFS[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return m
}

type memFile struct {
	bytes.Buffer
	fs      *memFS
	name    string
	aborted bool
}

func (m *memFS) Create(name string) (io.WriteCloser, error) { return &memFile{fs: m, name: name}, nil }

func (f *memFile) Write(p []byte) (int, error) {
	if f.fs.fail != nil {
		return 0, f.fs.fail
	}
	return f.Buffer.Write(p)
}

func (f *memFile) Close() error {
	if !f.aborted {
		f.fs.MapFS[f.name] = &fstest.MapFile{Data: f.Bytes()}
	}
	return nil
}

func (f *memFile) Abort() { f.aborted = true }

// buffer makes data of the given sizes; a matrix has gaps between its rows when
// ld says so.
func buffer[T iface.Go](x []T, e iface.Elem, ld int, dims ...int) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: []iface.Kind{iface.Variable, iface.Vector, iface.Matrix, iface.Block}[len(dims)], Elem: e, Rank: int8(len(dims))}}
	copy(b.Dim[:], dims)
	if len(x) > 0 {
		b.Ptr = unsafe.Pointer(&x[0])
	}
	switch len(dims) {
	case 1:
		b.Stride[0] = 1
	case 2:
		b.Stride[0], b.Stride[1] = ld, 1
	case 3: // without gaps
		b.Stride[0], b.Stride[1], b.Stride[2] = dims[1]*dims[2], dims[2], 1
	}
	return b
}

// dataName is a name of data in a format.
func dataName(suffix string) string {
	if suffix == ".npz" {
		return "x.npz:a"
	}
	return "x" + suffix
}

// canHold reports whether data like d can be saved as name.
func canHold(name string, d *iface.Desc) bool {
	why, _ := Refusal(name, d.Kind, d.Elem, true)
	image := Suffix(name) == ".png" || Suffix(name) == ".pgm"
	return why == "" && (!image || checkImage(d) == nil)
}

// load reads a whole file into new memory.
func load[T iface.Go](fsys fs.FS, name string, kind iface.Kind, e iface.Elem, dims ...int) ([]T, []int, error) {
	in, err := Open(fsys, name, Want{Kind: kind, Elem: e, Dims: dims})
	if err != nil {
		return nil, nil, err
	}
	n := 1
	for _, d := range in.Dims {
		n *= d
	}
	x := make([]T, n)
	for i := range bytesOf(x) {
		bytesOf(x)[i] = 77 // nothing relies on zeros
	}
	ld := 1
	if len(in.Dims) == 2 {
		ld = in.Dims[1]
	}
	return x, in.Dims, in.Fill(buffer(x, e, ld, in.Dims...))
}

func loaded[T iface.Real](t *testing.T, fsys fs.FS, name string, kind iface.Kind, e iface.Elem, want []T, dims ...int) {
	t.Helper()
	x, got, err := load[T](fsys, name, kind, e)
	if err != nil {
		t.Errorf("%s as %v of %v: %v", name, kind, e, err)
		return
	}
	if d := cmp.Diff(dims, got); d != "" && len(dims)+len(got) > 0 {
		t.Errorf("%s: sizes %s", name, d)
	}
	if len(x) != len(want) {
		t.Errorf("%s: %v, want %v", name, x, want)
		return
	}
	for i := range x {
		if x[i] != want[i] && (x[i] == x[i] || want[i] == want[i]) || math.Signbit(float64(x[i])) != math.Signbit(float64(want[i])) {
			t.Errorf("%s as %v: element %d is %v, want %v", name, e, i, x[i], want[i])
		}
	}
}

func refused(t *testing.T, fsys fs.FS, name string, kind iface.Kind, e iface.Elem, dims []int, text string) {
	t.Helper()
	_, _, err := load[float64](fsys, name, kind, iface.F64, dims...)
	if e != iface.F64 {
		switch e {
		case iface.I8:
			_, _, err = load[int8](fsys, name, kind, e, dims...)
		case iface.I64:
			_, _, err = load[int64](fsys, name, kind, e, dims...)
		case iface.U64:
			_, _, err = load[uint64](fsys, name, kind, e, dims...)
		case iface.F32:
			_, _, err = load[float32](fsys, name, kind, e, dims...)
		}
	}
	var fe *Error
	switch {
	case !errors.As(err, &fe):
		t.Errorf("%s: %v, want an error with %q", name, err, text)
	case fe.Error() != text:
		t.Errorf("%s:\n got %s\nwant %s", name, fe, text)
	case fe.File != name:
		t.Errorf("%s: the error names file %q", name, fe.File)
	}
}

// TestBool saves bools in every format, and reads them back, as bytes of files that are any, as numbers and as words.
func TestBool(t *testing.T) {
	want := []bool{true, false, false, true, true}
	for _, s := range []string{".npy", ".npz", ".mtx", ".csv", ".bin"} {
		name, fsys := dataName(s), newFS()
		if err := Save(fsys, name, buffer(want, iface.B8, 0, len(want))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _, err := load[bool](fsys, name, iface.Vector, iface.B8, len(want)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s came back as %v, %v", name, got, err)
		}
		got, _, err := load[uint8](fsys, name, iface.Vector, iface.U8, len(want))
		if err != nil || !slices.Equal(got, []uint8{1, 0, 0, 1, 1}) {
			t.Errorf("%s as u8 is %v, %v", name, got, err)
		}
	}
	bytes := []uint8{2, 0, 0, 255, 1}
	fsys := newFS("any.npy", npyFile("|b1", "False", "(5,)", bytes, false), "any.bin", string(bytes), "words.csv", "True\nFalse\nfalse\nTRUE\n1\n",
		"numbers.npy", npyFile("<i4", "False", "(5,)", []int32{1, 0, 0, 1, 1}, false), "two.npy", npyFile("<i4", "False", "(2,)", []int32{1, 2}, false), "two.csv", "1\n0\n2\n")
	for _, name := range []string{"any.npy", "any.bin", "words.csv", "numbers.npy"} {
		got, _, err := load[bool](fsys, name, iface.Vector, iface.B8, len(want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v", name, got, err)
			continue
		}
		for i, b := range unsafe.Slice((*byte)(unsafe.Pointer(&got[0])), len(got)) {
			if b > 1 {
				t.Errorf("%s: byte %d is %d", name, i, b)
			}
		}
	}
	if got, _, err := load[uint8](fsys, "any.npy", iface.Vector, iface.U8, len(want)); err != nil || !slices.Equal(got, []uint8{1, 0, 0, 1, 1}) {
		t.Errorf("any.npy as u8 is %v, %v", got, err)
	}
	for name, text := range map[string]string{"two.npy": "expected 0 or 1, as a bool is, found 2", "two.csv": "two.csv:3: expected 0 or 1, as a bool is"} {
		if _, _, err := load[bool](fsys, name, iface.Vector, iface.B8); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want an error with %q", name, err, text)
		}
	}
}

// TestFloat16 saves floats of 16 bits in every format, and reads them back as every type of floats.
func TestFloat16(t *testing.T) {
	var halves []iface.Float16
	var brains []iface.BFloat16
	for _, f := range []float32{0, 1, -2.5, 0.1, 65504, 6e-8, float32(math.Inf(1)), float32(math.Copysign(0, -1))} {
		halves, brains = append(halves, iface.ToFloat16(f)), append(brains, iface.ToBFloat16(f))
	}
	for _, s := range []string{".npy", ".npz", ".mtx", ".csv", ".bin"} {
		name := dataName(s)
		half, brain := newFS(), newFS()
		if err := errors.Join(Save(half, name, buffer(halves, iface.F16, 0, len(halves))), Save(brain, name, buffer(brains, iface.BF16, 0, len(brains)))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _, err := load[iface.Float16](half, name, iface.Vector, iface.F16, len(halves)); err != nil || !slices.Equal(got, halves) {
			t.Errorf("%s of f16 came back as %v, %v", name, got, err)
		}
		if got, _, err := load[iface.BFloat16](brain, name, iface.Vector, iface.BF16, len(brains)); err != nil || !slices.Equal(got, brains) {
			t.Errorf("%s of bf16 came back as %v, %v", name, got, err)
		}
		if s == ".bin" { // it has the elements of the handle
			continue
		}
		wide, _, err := load[float32](half, name, iface.Vector, iface.F32, len(halves))
		for i, f := range wide {
			if f != halves[i].Float32() {
				err = fmt.Errorf("element %d is %v", i, f)
			}
		}
		if err != nil {
			t.Errorf("%s of f16 as f32: %v, %v", name, wide, err)
		}
		if _, _, err := load[iface.BFloat16](half, name, iface.Vector, iface.BF16, len(halves)); err != nil {
			t.Errorf("%s of f16 as bf16: %v", name, err)
		}
	}
	fsys := newFS("big.npy", npyFile(">f2", "False", "(2,)", []uint16{0x3c00, 0xc000}, true), "large.csv", "65519\n65520\n",
		"twice.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 65504\n1 1 65504\n")
	if got, _, err := load[iface.Float16](fsys, "big.npy", iface.Vector, iface.F16); err != nil || got[0].Float32() != 1 || got[1].Float32() != -2 {
		t.Errorf("big.npy: %v, %v", got, err)
	}
	for name, want := range map[string]string{"large.csv": "large.csv:2: expected a number that f16 can hold", "twice.mtx": "f16"} {
		kind := iface.Vector
		if name == "twice.mtx" {
			kind = iface.Matrix
		}
		if _, _, err := load[iface.Float16](fsys, name, kind, iface.F16); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", name, err, want)
		}
	}
}

// TestComplex saves complex data in every format that holds it, and reads it back: as complex
// elements of both types, and as real ones where the imaginary parts are 0.
func TestComplex(t *testing.T) {
	v := []complex128{0, 1, complex(0, -2), complex(1.5, 2.25), complex(-1e-3, 1e30), complex(math.Inf(1), -1)}
	for _, s := range []string{".npy", ".npz", ".mtx", ".csv", ".bin"} {
		fsys, name := newFS(), dataName(s)
		if err := Save(fsys, name, buffer(v, iface.C128, 0, len(v))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, _, err := load[complex128](fsys, name, iface.Vector, iface.C128, len(v))
		if err != nil || !slices.Equal(got, v) {
			t.Errorf("%s came back as %v, %v", name, got, err)
		}
		if s == ".bin" { // it has the elements of the handle
			continue
		}
		narrow, _, err := load[complex64](fsys, name, iface.Vector, iface.C64, len(v))
		for i := range narrow {
			if narrow[i] != complex64(v[i]) {
				err = fmt.Errorf("element %d is %v", i, narrow[i])
			}
		}
		if err != nil {
			t.Errorf("%s as c64: %v, %v", name, narrow, err)
		}
		if _, _, err := load[float64](fsys, name, iface.Vector, iface.F64, len(v)); err == nil {
			t.Errorf("%s was loaded as real numbers", name)
		}
	}
	fsys := newFS(
		"real.npy", npyFile("<f8", "False", "(2,)", []float64{1, 2}, false),
		"big.npy", npyFile(">c8", "False", "(1,)", []float32{1, 2}, true),
		"whole.npy", npyFile("<c16", "False", "(1,)", []float64{7, 0}, false),
		"words.csv", "1+2j\n(3-1i)\n4i\n-5\n1e3-1e-3i\n",
		"hermitian.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 3 4\n",
		"cut.mtx", "%%MatrixMarket matrix array complex general\n1 1\n1\n",
	)
	check := func(name string, kind iface.Kind, want ...complex128) {
		t.Helper()
		if got, _, err := load[complex128](fsys, name, kind, iface.C128); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	check("real.npy", iface.Vector, 1, 2)
	check("big.npy", iface.Vector, complex(1, 2))
	check("words.csv", iface.Vector, complex(1, 2), complex(3, -1), complex(0, 4), -5, complex(1e3, -1e-3))
	check("hermitian.mtx", iface.Matrix, 1, complex(3, -4), complex(3, 4), 0)
	if x, _, err := load[float64](fsys, "whole.npy", iface.Vector, iface.F64); err != nil || x[0] != 7 {
		t.Errorf("whole.npy: %v, %v", x, err)
	}
	if _, _, err := load[complex128](fsys, "cut.mtx", iface.Matrix, iface.C128); err == nil || !strings.Contains(err.Error(), "cut.mtx:3: expected an element `real imaginary`") {
		t.Errorf("cut.mtx: %v", err)
	}
}

// roundTrip saves data of every kind in every format and reads it back.
func roundTrip[T iface.Real](t *testing.T, e iface.Elem, special ...T) {
	t.Helper()
	v := append([]T{0, 1, 2, 3, 100, 7}, special...)
	n := len(v)
	m := make([]T, 0, 2*(n+1)) // two rows with a gap
	m = append(append(m, v...), 99)
	m = append(append(m, v...), 98)
	for _, s := range Suffixes {
		fsys := newFS()
		for _, c := range []struct {
			b    *iface.Buffer
			want []T
		}{
			{buffer(v[5:], e, 0), v[5:6]},
			{buffer(v, e, 0, n), v},
			{buffer(m, e, n+1, 2, n), append(append([]T(nil), v...), v...)},
			{buffer(v, e, 1, n, 1), v},
			{buffer(v, e, n, 1, n), v},
			{buffer(v, e, n, 0, 0), nil},
			{buffer(v, e, 0, 0), nil},
		} {
			name := dataName(s)
			err := Save(fsys, name, c.b)
			if !canHold(name, &c.b.Desc) {
				if err == nil {
					t.Errorf("%v was saved as %s", &c.b.Desc, name)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s of %v: %v", name, &c.b.Desc, err)
				continue
			}
			dims := c.b.Shape()
			x, got, err := load[T](fsys, name, c.b.Kind, e, dims...)
			if err != nil {
				t.Errorf("%s of %v: %v", name, &c.b.Desc, err)
				continue
			}
			if len(got) != len(dims) || len(x) != len(c.want) {
				t.Errorf("%s of %v came back with sizes %v", name, &c.b.Desc, got)
			}
			for i := range x {
				if x[i] != c.want[i] && x[i] == x[i] || math.Signbit(float64(x[i])) != math.Signbit(float64(c.want[i])) {
					t.Errorf("%s of %v: element %d came back as %v, was %v", name, &c.b.Desc, i, x[i], c.want[i])
				}
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	roundTrip[int8](t, iface.I8, math.MinInt8, math.MaxInt8)
	roundTrip[int16](t, iface.I16, math.MinInt16, math.MaxInt16)
	roundTrip[int32](t, iface.I32, math.MinInt32, math.MaxInt32)
	roundTrip[int64](t, iface.I64, math.MinInt64, math.MaxInt64, 1<<53+1)
	roundTrip[uint8](t, iface.U8, math.MaxUint8)
	roundTrip[uint16](t, iface.U16, math.MaxUint16)
	roundTrip[uint32](t, iface.U32, math.MaxUint32)
	roundTrip[uint64](t, iface.U64, math.MaxUint64, 1<<63, 1<<53+1)
	negZero := math.Copysign(0, -1)
	roundTrip(t, iface.F32, float32(0.1), 1.0/3, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(negZero), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()))
	roundTrip(t, iface.F64, 0.1, 1.0/3, math.MaxFloat64, math.SmallestNonzeroFloat64, 1e22, 1e23, 123456789.123456789, negZero, math.Inf(1), math.Inf(-1), math.NaN())
}

// npyFile makes a file as NumPy would.
func npyFile(descr, order, shape string, elems any, big bool) string {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	for (10+len(text)+1)%64 != 0 {
		text += " "
	}
	text += "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(text)))
	b.WriteString(text)
	var o binary.ByteOrder = binary.LittleEndian
	if big {
		o = binary.BigEndian
	}
	if elems != nil {
		binary.Write(&b, o, elems)
	}
	return b.String()
}

func TestNpyRead(t *testing.T) {
	fsys := newFS(
		"c.npy", npyFile("<f8", "False", "(2, 3)", []float64{1, 2, 3, 4, 5, 6}, false),
		"fortran.npy", npyFile("<f8", "True", "(2, 3)", []float64{1, 4, 2, 5, 3, 6}, false),
		"big.npy", npyFile(">i4", "True", "(2, 3)", []int32{1, 4, 2, 5, 3, 6}, true),
		"row.npy", npyFile("|u1", "False", "(1, 3)", []uint8{1, 0, 255}, false),
		"bool.npy", npyFile("|b1", "False", "(3,)", []uint8{1, 0, 1}, false),
		"scalar.npy", npyFile("<i2", "False", "()", []int16{-300}, false),
		"one.npy", npyFile("<u8", "False", "(1, 1)", []uint64{math.MaxUint64}, false),
		"v2.npy", strings.Replace(npyFile("<f4", "False", "(2,)", []float32{1.5, -2}, false), "\x93NUMPY\x01\x00v\x00", "\x93NUMPY\x02\x00v\x00\x00\x00", 1),
		"v3.npy", strings.Replace(npyFile("<f4", "False", "(2,)", []float32{1.5, -2}, false), "\x93NUMPY\x01\x00v\x00", "\x93NUMPY\x03\x00v\x00\x00\x00", 1),
		"none.npy", npyFile("<f8", "False", "(1125899906842624, 0)", nil, false),
	)
	loaded(t, fsys, "c.npy", iface.Matrix, iface.F64, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "c.npy", iface.Matrix, iface.I8, []int8{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "fortran.npy", iface.Matrix, iface.F64, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "fortran.npy", iface.Matrix, iface.U16, []uint16{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "big.npy", iface.Matrix, iface.I32, []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "big.npy", iface.Matrix, iface.F32, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "row.npy", iface.Vector, iface.U8, []uint8{1, 0, 255}, 3)
	loaded(t, fsys, "row.npy", iface.Matrix, iface.I16, []int16{1, 0, 255}, 1, 3)
	loaded(t, fsys, "bool.npy", iface.Vector, iface.I32, []int32{1, 0, 1}, 3)
	loaded(t, fsys, "scalar.npy", iface.Variable, iface.F64, []float64{-300})
	loaded(t, fsys, "one.npy", iface.Variable, iface.U64, []uint64{math.MaxUint64})
	loaded(t, fsys, "one.npy", iface.Vector, iface.F64, []float64{0x1p64}, 1)
	loaded(t, fsys, "v2.npy", iface.Vector, iface.F64, []float64{1.5, -2}, 2)
	loaded(t, fsys, "v3.npy", iface.Vector, iface.F32, []float32{1.5, -2}, 2)
	if huge := int64(1) << 50; huge <= math.MaxInt {
		loaded(t, fsys, "none.npy", iface.Matrix, iface.F32, []float32{}, int(huge), 0)
	}
}

// TestNpyWrite: npyio understands what is written.
func TestNpyWrite(t *testing.T) {
	fsys := newFS()
	if err := Save(fsys, "x.npy", buffer([]float32{1, 2.5, -3}, iface.F32, 0, 3)); err != nil {
		t.Fatal(err)
	}
	data := fsys.MapFS["x.npy"].Data
	if at := bytes.IndexByte(data, '\n') + 1; at%64 != 0 || len(data) != at+12 {
		t.Errorf("elements begin at %d of %d bytes", at, len(data))
	}
	var x []float32
	if err := npy.Read(bytes.NewReader(data), &x); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float32{1, 2.5, -3}, x); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		e    iface.Elem
		dims []int
		want string
	}{
		{iface.U8, nil, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }"},
		{iface.F16, []int{4}, "{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }"},
		{iface.BF16, []int{4}, "{'descr': '<V2', 'fortran_order': False, 'shape': (4,), }"},
		{iface.I64, []int{4}, "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }"},
		{iface.F64, []int{4, 5}, "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 5), }"},
	} {
		h := npyHeader(c.e, c.dims)
		if got := strings.TrimSpace(string(h[10:])); got != c.want || len(h)%64 != 0 {
			t.Errorf("header %s of %d bytes, want %s", got, len(h), c.want)
		}
	}
}

func TestNpyErrors(t *testing.T) {
	fsys := newFS(
		"empty.npy", "",
		"text.npy", "this is no NumPy file at all",
		"version.npy", "\x93NUMPY\x09\x00v\x00",
		"cut.npy", "\x93NUMPY\x01\x00v\x00{'descr'",
		"cut2.npy", "\x93NUMPY\x02\x00v\x00",
		"long.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'",
		"dict.npy", "\x93NUMPY\x01\x00\x03\x00{}\n",
		"noline.npy", "\x93NUMPY\x01\x00\x02\x00{}",
		"keys.npy", npyFile("<f8', 'x': 'y", "Maybe", "(1,)", nil, false),
		"complex.npy", npyFile("<c16", "False", "(1,)", []float64{1, 2}, false),
		"half.npy", npyFile("<f16", "False", "(1,)", []uint16{1}, false),
		"odd.npy", npyFile("!f8", "False", "(1,)", []float64{1}, false),
		"rank.npy", npyFile("<f8", "False", "(1, 2, 3)", make([]float64, 6), false),
		"negative.npy", npyFile("<f8", "False", "(-1,)", nil, false),
		"huge.npy", npyFile("<f8", "False", "(4611686018427387904, 4)", nil, false),
		"missing.npy", npyFile("<f8", "False", "(1000000000000,)", []float64{1}, false),
		"more.npy", npyFile("<f8", "False", "(1,)", []float64{1, 2}, false),
		"fit.npy", npyFile("<f8", "False", "(4,)", []float64{1, 2, 300, 4}, false),
		"fraction.npy", npyFile("<f8", "False", "(2,)", []float64{1, 2.5}, false),
		"nan.npy", npyFile("<f8", "False", "(1,)", []float64{math.NaN()}, false),
		"minus.npy", npyFile("<i2", "False", "(1,)", []int16{-1}, false),
		"big.npy", npyFile("<f8", "False", "(1,)", []float64{1e300}, false),
		"dims.npy", npyFile("<f8", "False", "(2, 3)", make([]float64, 6), false),
	)
	for _, c := range []struct {
		name string
		kind iface.Kind
		elem iface.Elem
		dims []int
		text string
	}{
		{"empty.npy", iface.Vector, iface.F64, nil, "empty.npy, byte 0: expected a NumPy file, found an empty one"},
		{"text.npy", iface.Vector, iface.F64, nil, "text.npy, byte 0: expected a NumPy file, found something else"},
		{"version.npy", iface.Vector, iface.F64, nil, "version.npy, byte 6: expected version 1, 2 or 3, found 9"},
		{"cut.npy", iface.Vector, iface.F64, nil, "cut.npy, byte 8: expected a whole header, found the end of the file"},
		{"cut2.npy", iface.Vector, iface.F64, nil, "cut2.npy, byte 8: expected a whole header, found the end of the file"},
		{"long.npy", iface.Vector, iface.F64, nil, "long.npy, byte 8: expected a header of at most 65536 bytes, found a longer one"},
		{"dict.npy", iface.Vector, iface.F64, nil, "dict.npy, byte 10: expected a header {'descr': …, 'fortran_order': …, 'shape': …}, found \"{}\""},
		{"noline.npy", iface.Vector, iface.F64, nil, "noline.npy, byte 10: expected a header {'descr': …, 'fortran_order': …, 'shape': …}, found \"{}\""},
		{"keys.npy", iface.Vector, iface.F64, nil, "keys.npy, byte 27: expected the keys 'descr', 'fortran_order' and 'shape', found \"'x': 'y', 'fortran_order': Maybe, 'shape\"…"},
		{"complex.npy", iface.Vector, iface.F64, nil, "complex.npy, byte 128: expected a number that f64 can hold, found 1+2i"},
		{"half.npy", iface.Vector, iface.F64, nil, "half.npy, byte 10: expected elements i1 to i8, u1 to u8, f2, f4, f8, c8, c16, b1 or V2, found \"<f16\""},
		{"odd.npy", iface.Vector, iface.F64, nil, "odd.npy, byte 10: expected elements i1 to i8, u1 to u8, f2, f4, f8, c8, c16, b1 or V2, found \"!f8\""},
		{"rank.npy", iface.Vector, iface.F64, nil, "rank.npy, byte 10: expected vector[f64], found size 1 x 2 x 3"},
		{"negative.npy", iface.Vector, iface.F64, nil, "negative.npy, byte 10: expected sizes of 0 or more, found -1 elements"},
		{"huge.npy", iface.Matrix, iface.F64, nil, "huge.npy, byte 10: expected data that memory can hold, found size 4611686018427387904 x 4"},
		{"missing.npy", iface.Vector, iface.F64, nil, "missing.npy, byte 128: expected 8000000000000 bytes, 1000000000000 elements of type f64, found 8"},
		{"more.npy", iface.Vector, iface.F64, nil, "more.npy, byte 128: expected 8 bytes, 1 element of type f64, found 16"},
		{"fit.npy", iface.Vector, iface.I8, nil, "fit.npy, byte 144: expected an integer that i8 can hold, found 300"},
		{"fraction.npy", iface.Vector, iface.I8, nil, "fraction.npy, byte 136: expected an integer that i8 can hold, found 2.5"},
		{"nan.npy", iface.Vector, iface.U64, nil, "nan.npy, byte 128: expected an integer that u64 can hold, found NaN"},
		{"minus.npy", iface.Vector, iface.U64, nil, "minus.npy, byte 128: expected an integer that u64 can hold, found -1"},
		{"big.npy", iface.Vector, iface.F32, nil, "big.npy, byte 128: expected a number that f32 can hold, found 1e+300"},
		{"dims.npy", iface.Vector, iface.F64, nil, "dims.npy, byte 10: expected vector[f64], found size 2 x 3"},
		{"dims.npy", iface.Variable, iface.F64, nil, "dims.npy, byte 10: expected variable[f64], found size 2 x 3"},
		{"dims.npy", iface.Matrix, iface.F64, []int{3, 2}, "dims.npy, byte 10: expected matrix[f64] 3 x 2, found size 2 x 3"},
		{"more.npy", iface.Matrix, iface.F64, nil, "more.npy, byte 10: expected matrix[f64], found 1 element"},
	} {
		refused(t, fsys, c.name, c.kind, c.elem, c.dims, c.text)
	}
}

func TestBin(t *testing.T) {
	fsys := newFS("x.bin", "\x01\x00\x02\x00\xff\xff", "odd.bin", "\x01\x00\x02\x00\xff")
	x, dims, err := load[int16](fsys, "x.bin", iface.Vector, iface.I16, 3)
	if err != nil || cmp.Diff([]int16{1, 2, -1}, x) != "" || len(dims) != 1 {
		t.Errorf("vector: %v %v %v", x, dims, err)
	}
	u, _, err := load[uint8](fsys, "x.bin", iface.Matrix, iface.U8, 2, 3)
	if err != nil || cmp.Diff([]uint8{1, 0, 2, 0, 255, 255}, u) != "" {
		t.Errorf("matrix: %v %v", u, err)
	}
	refused(t, fsys, "x.bin", iface.Vector, iface.F64, nil, "x.bin: expected sizes for the vector, found none, and a .bin file does not hold them")
	refused(t, fsys, "x.bin", iface.Vector, iface.F64, []int{1}, "x.bin, byte 6: expected 8 bytes, a vector[f64] of 1, found 6")
	refused(t, fsys, "odd.bin", iface.Matrix, iface.I8, []int{2, 2}, "odd.bin, byte 4: expected 4 bytes, a matrix[i8] 2 x 2, found 5")
	refused(t, fsys, "odd.bin", iface.Matrix, iface.I8, []int{math.MaxInt, 2}, "odd.bin: expected data that memory can hold, found size 9223372036854775807 x 2")
}

func TestCsv(t *testing.T) {
	fsys := newFS(
		"m.csv", "1, 2,3\r\n\n 4,5 ,\t6",
		"bom.csv", "\xEF\xBB\xBF1.5\n-2e3\n+0x",
		"bom2.csv", "\xEF\xBB\xBF1.5\n-2e3\n+7",
		"row.csv", "1,inf,-Infinity,NaN\n",
		"one.csv", "42\n",
		"empty.csv", "\n\n",
		"big.csv", "18446744073709551615\n9223372036854775807\n1.8446744073709551615e19\n3.0\n1e3\n",
		"wide.csv", strings.Repeat("1,", 300_000)+"1",
	)
	loaded(t, fsys, "m.csv", iface.Matrix, iface.F64, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "m.csv", iface.Matrix, iface.U8, []uint8{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "bom2.csv", iface.Vector, iface.F32, []float32{1.5, -2000, 7}, 3)
	loaded(t, fsys, "row.csv", iface.Vector, iface.F64, []float64{1, math.Inf(1), math.Inf(-1), math.NaN()}, 4)
	loaded(t, fsys, "one.csv", iface.Variable, iface.I64, []int64{42})
	loaded(t, fsys, "empty.csv", iface.Vector, iface.I64, []int64{}, 0)
	loaded(t, fsys, "empty.csv", iface.Matrix, iface.I64, []int64{}, 0, 0)
	if x, dims, err := load[float64](fsys, "big.csv", iface.Vector, iface.F64); err != nil || x[0] != 0x1p64 || dims[0] != 5 {
		t.Errorf("big.csv: %v %v %v", x, dims, err)
	}
	loaded(t, fsys, "big.csv", iface.Vector, iface.U64, []uint64{math.MaxUint64, math.MaxInt64, math.MaxUint64, 3, 1000}, 5)
	if x, _, err := load[uint16](fsys, "wide.csv", iface.Matrix, iface.U16); err != nil || len(x) != 300_001 {
		t.Errorf("a long line: %d elements, %v", len(x), err)
	}
}

func TestCsvErrors(t *testing.T) {
	fsys := newFS(
		"title.csv", "x,1\n1,2\n",
		"ragged.csv", "1,2\n3,4\n5,6,7\n8,9\n",
		"ragged2.csv", "1,2\n3",
		"gap.csv", "1,,2\n",
		"comma.csv", "1,2,\n",
		"space.csv", "1 2\n",
		"quote.csv", "1,\"2\n",
		"bom.csv", "\xEF\xBBx1,2\n",
		"range.csv", "1\n2\n\n128\n",
		"frac.csv", "1.5\n",
		"over.csv", "1e400\n",
		"hex.csv", "0x10\n",
		"under.csv", "1_000\n",
		"long.csv", strings.Repeat("9", 10_000),
		"binary.csv", "1\x00\n",
		"zeros.csv", strings.Repeat("0", 10_000),
	)
	for _, c := range []struct {
		name string
		kind iface.Kind
		elem iface.Elem
		text string
	}{
		{"title.csv", iface.Matrix, iface.F64, "title.csv:1: expected titles alone or numbers alone in the first line, with quotes around titles that are numbers, found \"x\" and \"1\""},
		{"ragged.csv", iface.Matrix, iface.F64, "ragged.csv:3: expected 2 numbers in a row, as in the first, found 3"},
		{"ragged2.csv", iface.Matrix, iface.F64, "ragged2.csv:2: expected 2 numbers in a row, as in the first, found 1"},
		{"gap.csv", iface.Matrix, iface.F64, "gap.csv:1: expected a number in column 2, found nothing"},
		{"comma.csv", iface.Matrix, iface.F64, "comma.csv:1: expected a number in column 3, found nothing"},
		{"space.csv", iface.Matrix, iface.F64, "space.csv:1: expected a comma or the end of the line behind a number, found \"1 2\""},
		{"quote.csv", iface.Matrix, iface.F64, "quote.csv:1: expected a `\"` that ends the field, found the end of the file"},
		{"bom.csv", iface.Matrix, iface.F64, "bom.csv:1: expected a number, found \"\\xef\\xbbx1\""},
		{"range.csv", iface.Vector, iface.I8, "range.csv:4: expected an integer that i8 can hold in column 1, found \"128\""},
		{"frac.csv", iface.Vector, iface.I8, "frac.csv:1: expected an integer that i8 can hold in column 1, found \"1.5\""},
		{"over.csv", iface.Vector, iface.F64, "over.csv:1: expected a number in column 1, found \"1e400\""},
		{"hex.csv", iface.Vector, iface.F64, "hex.csv:1: expected a number in column 1, found \"0x10\""},
		{"under.csv", iface.Vector, iface.F64, "under.csv:1: expected a number in column 1, found \"1_000\""},
		{"long.csv", iface.Vector, iface.F64, "long.csv:1: expected a number in column 1, found \"" + strings.Repeat("9", 40) + "\"…"},
		{"binary.csv", iface.Vector, iface.F64, "binary.csv:1: expected a number in column 1, found \"1\\x00\""},
		{"zeros.csv", iface.Vector, iface.F64, "zeros.csv:1: expected a number in column 1, found \"" + strings.Repeat("0", 40) + "\"…"},
		{"ragged.csv", iface.Vector, iface.F64, "ragged.csv:3: expected 2 numbers in a row, as in the first, found 3"},
	} {
		refused(t, fsys, c.name, c.kind, c.elem, nil, c.text)
	}
	refused(t, newFS("m.csv", "1,2\n3,4\n"), "m.csv", iface.Vector, iface.F64, nil, "m.csv: expected vector[f64], found size 2 x 2")
	refused(t, newFS("m.csv", "1,2\n3,4\n"), "m.csv", iface.Matrix, iface.F64, []int{2, 3}, "m.csv: expected matrix[f64] 2 x 3, found size 2 x 2")
}

func TestNames(t *testing.T) {
	fsys := newFS("X.CSV", "7\n")
	loaded(t, fsys, "X.CSV", iface.Variable, iface.I8, []int8{7})
	refused(t, fsys, "x.txt", iface.Vector, iface.F64, nil, "x.txt: expected a name that ends in .npy, .npz, .mtx, .csv, .bin, .png or .pgm, found \"x.txt\"")
	refused(t, fsys, "x", iface.Vector, iface.F64, nil, "x: expected a name that ends in .npy, .npz, .mtx, .csv, .bin, .png or .pgm, found \"x\"")
	_, err := Open(fsys, "gone.npy", Want{Kind: iface.Vector, Elem: iface.F64})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "gone.npy: ") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Open(fsys, "X.CSV", Want{Kind: iface.Void}); err == nil {
		t.Error("a load into void data")
	}
}

// TestInputOnce: an Input is filled once, and into what it is for.
func TestInputOnce(t *testing.T) {
	fsys := newFS("x.csv", "1\n2\n")
	in, err := Open(fsys, "x.csv", Want{Kind: iface.Vector, Elem: iface.I32})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int32, 2)
	if err := in.Fill(buffer(x, iface.I32, 0, 2)); err != nil || x[1] != 2 {
		t.Errorf("%v, %v", x, err)
	}
	if err := in.Fill(buffer(x, iface.I32, 0, 2)); err == nil {
		t.Error("filled twice")
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	in, err = Open(fsys, "x.csv", Want{Kind: iface.Vector, Elem: iface.I32})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Fill(buffer(x, iface.I32, 0, 1)); err == nil || err.Error() != "x.csv: expected vector[i32] of 2, found vector[i32] of 1 to read into" {
		t.Errorf("filled data of another size: %v", err)
	}
}

// brokenFS serves files whose reader fails, or that say nothing of their size.
type brokenFS struct {
	data  string
	err   error // instead of the end of the file
	plain bool  // no regular file
}

type brokenFile struct {
	io.Reader
	fs *brokenFS
}

func (b *brokenFS) Open(string) (fs.File, error) {
	r := io.Reader(strings.NewReader(b.data))
	if b.err != nil {
		r = io.MultiReader(iotest.OneByteReader(r), iotest.ErrReader(b.err))
	}
	return &brokenFile{r, b}, nil
}

func (f *brokenFile) Close() error { return nil }

func (f *brokenFile) Stat() (fs.FileInfo, error) {
	if f.fs.plain {
		return nil, errors.New("no status")
	}
	return fstest.MapFS{"x": {Data: []byte(f.fs.data + "12345678")}}.Stat("x")
}

func TestBrokenFiles(t *testing.T) {
	cause := errors.New("disk on fire")
	for name, data := range map[string]string{
		"x.npy": npyFile("<f8", "False", "(3,)", []float64{1, 2}, false),
		"y.npy": "\x93NUMPY\x01\x00v\x00{",
		"x.csv": "1\n2\n",
		"x.mtx": "%%MatrixMarket matrix array real general\n3 1\n1\n2\n",
		"y.mtx": "%%MatrixMarket matrix coordinate real general\n3 1",
		"y.pgm": "P2\n3 1\n255\n1 2",
		"x.bin": "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		_, _, err := load[float64](&brokenFS{data: data, err: cause}, name, iface.Vector, iface.F64, 3)
		if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The file is shorter than the file system said.
	short := npyFile("<f8", "False", "(3,)", []float64{1, 2}, false)
	_, _, err := load[float64](&brokenFS{data: short}, "x.npy", iface.Vector, iface.F64)
	if err == nil || err.Error() != "x.npy, byte 144: expected 8 bytes more, found the end of the file" {
		t.Errorf("a file that shrank: %v", err)
	}
	// A file whose size is not known is read all the same.
	whole := npyFile("<f8", "False", "(2,)", []float64{1, 2}, false)
	x, _, err := load[float64](&brokenFS{data: whole, plain: true}, "x.npy", iface.Vector, iface.F64)
	if err != nil || x[1] != 2 {
		t.Errorf("a file without a size: %v, %v", x, err)
	}
	_, _, err = load[float64](&brokenFS{data: short, plain: true}, "x.npy", iface.Vector, iface.F64)
	if err == nil || err.Error() != "x.npy, byte 144: expected 8 bytes more, found the end of the file" {
		t.Errorf("a short file without a size: %v", err)
	}
}

// endlessFS is a device that never ends.
type endlessFS struct{}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (endlessFS) Open(string) (fs.File, error) {
	return &brokenFile{zeros{}, &brokenFS{plain: true}}, nil
}

// TestEndlessFiles: what never ends is refused, not read until memory is full.
func TestEndlessFiles(t *testing.T) {
	for name, want := range map[string]string{
		"x.npy": "x.npy, byte 0: expected a NumPy file, found something else",
		"x.bin": "x.bin, byte 24: expected the end of the file, found more bytes",
	} {
		_, _, err := load[float64](endlessFS{}, name, iface.Vector, iface.F64, 3)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, name := range []string{"x.csv", "x.mtx"} {
		if _, _, err := load[float64](endlessFS{}, name, iface.Vector, iface.F64, 3); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

// TestFolders: errors of the file system name the file once.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	for _, s := range Suffixes {
		if err := os.Mkdir(filepath.Join(dir, "x"+s), 0o700); err != nil {
			t.Fatal(err)
		}
		_, _, err := load[float64](os.DirFS(dir), dataName(s), iface.Vector, iface.F64, 3)
		if err == nil || !strings.HasSuffix(err.Error(), ": is a directory") || strings.Count(err.Error(), "x"+s) != 1 {
			t.Errorf("a folder: %v", err)
		}
		_, _, err = load[float64](os.DirFS(dir), "y"+dataName(s)[1:], iface.Vector, iface.F64, 3)
		if err == nil || err.Error() != "y"+s+": no such file or directory" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file: %v", err)
		}
	}
}

// TestSaveErrors: a failure aborts and leaves the older file.
func TestSaveErrors(t *testing.T) {
	fsys := newFS()
	for _, s := range Suffixes {
		name := dataName(s)
		file, _ := Split(name)
		fsys.fail = nil
		if err := Save(fsys, name, buffer([]uint8{1, 2}, iface.U8, 2, 1, 2)); err != nil {
			t.Fatal(err)
		}
		old := fsys.MapFS[file].Data
		fsys.fail = errors.New("disk full")
		err := Save(fsys, name, buffer([]uint8{3, 4}, iface.U8, 2, 1, 2))
		if !errors.Is(err, fsys.fail) || err.Error() != name+": disk full" {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(fsys.MapFS[file].Data, old) {
			t.Errorf("%s was overwritten", name)
		}
	}
	if err := Save(fsys, "x.pdf", buffer([]int8{1}, iface.I8, 0, 1)); err == nil {
		t.Error("saved as .pdf")
	}
	if err := Save(fsys, "x.npy", &iface.Buffer{Desc: iface.Desc{Kind: iface.Void}}); err == nil || err.Error() != "x.npy: expected data with elements, found void" {
		t.Errorf("saved void data: %v", err)
	}
}

// TestSaveText: what the text formats look like.
func TestSaveText(t *testing.T) {
	fsys := newFS()
	m := buffer([]float64{1, 2.5, 99, -3e-7, 1e21, 99}, iface.F64, 3, 2, 2)
	for name, want := range map[string]string{
		"x.csv": "1,2.5\n-3e-07,1e+21\n",
		"x.mtx": "%%MatrixMarket matrix array real general\n2 2\n1\n-3e-07\n2.5\n1e+21\n",
	} {
		if err := Save(fsys, name, m); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(fsys.MapFS[name].Data)); d != "" {
			t.Error(d)
		}
	}
	v := buffer([]uint64{math.MaxUint64, 0}, iface.U64, 0, 2)
	for name, want := range map[string]string{
		"v.csv": "18446744073709551615\n0\n",
		"v.mtx": "%%MatrixMarket matrix array integer general\n2 1\n18446744073709551615\n0\n",
	} {
		if err := Save(fsys, name, v); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(fsys.MapFS[name].Data)); d != "" {
			t.Error(d)
		}
	}
}

func testFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../tests/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSaved: Saved predicts what Open finds in a file, with sizes asked for and without,
// and refuses what Open refuses.
func TestSaved(t *testing.T) {
	x := make([]float64, 12)
	solid := buffer(x, iface.F64, 0)
	solid.Kind, solid.Rank = iface.Block, 3
	solid.Dim, solid.Stride = [iface.MaxRank]int{1, 2, 3}, [iface.MaxRank]int{6, 3, 1}
	for _, from := range []*iface.Buffer{
		buffer(x, iface.F64, 0), buffer(x, iface.F64, 0, 1), buffer(x, iface.F64, 0, 6), buffer(x, iface.F64, 3, 2, 3),
		buffer(x, iface.F64, 4, 1, 4), buffer(x, iface.F64, 1, 4, 1), buffer(x, iface.F64, 1, 1, 1), solid,
	} {
		for _, suffix := range Suffixes {
			fsys := newFS()
			name := dataName(suffix)
			if err := Save(fsys, name, from); err != nil {
				continue // a block is no text
			}
			for _, kind := range []iface.Kind{iface.Variable, iface.Vector, iface.Matrix, iface.Block} {
				for _, want := range [][]int{nil, {6}, {4}, {2, 3}, {3, 2}, {4, 1}, {1, 2, 3}} {
					if want != nil && len(want) != kind.Rank() {
						continue
					}
					w := Want{Kind: kind, Elem: iface.F64, Dims: want}
					var found []int
					in, err := Open(fsys, name, w)
					if err == nil {
						found = in.Dims
						in.Close()
					}
					told, saidErr := Saved(name, name, from.Desc, w)
					if (err == nil) != (saidErr == nil) || fmt.Sprint(told) != fmt.Sprint(found) {
						t.Errorf("%v in %s, as %v: told %v (%v), found %v (%v)", from.Desc.String(), name, w.String(), told, saidErr, found, err)
					}
				}
			}
		}
	}
}
