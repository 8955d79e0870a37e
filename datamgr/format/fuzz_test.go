package format

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// fuzzLoad reads a file as each kind of data in two element types: it never
// panics, errors are of this package and name the file, memory stays in
// proportion, and what was read comes back the same after being saved.
func fuzzLoad(t *testing.T, name string, data []byte) {
	file, _ := Split(name)
	fsys := &memFS{MapFS: fstest.MapFS{file: {Data: data}}}
	for _, kind := range []iface.Kind{iface.Variable, iface.Vector, iface.Matrix, iface.Block} {
		fuzzOne[float64](t, fsys, name, kind, iface.F64, len(data))
		fuzzOne[int8](t, fsys, name, kind, iface.I8, len(data))
		fuzzOne[uint64](t, fsys, name, kind, iface.U64, len(data))
		fuzzOne[uint16](t, fsys, name, kind, iface.U16, len(data))
	}
}

func fuzzOne[T iface.Go](t *testing.T, fsys *memFS, name string, kind iface.Kind, e iface.Elem, size int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	in, err := Open(fsys, name, Want{Kind: kind, Elem: e})
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(2<<20+64*size); got > most {
		t.Fatalf("Open of %d bytes allocated %d", size, got)
	}
	var fe *Error
	if err != nil {
		if !errors.As(err, &fe) || fe.File != name && fe.File != shown(name) {
			t.Fatalf("not an error of this package: %v", err)
		}
		return
	}
	d := in.want.desc(in.Dims)
	if d.Bytes() > 1<<20 {
		in.Close()
		return
	}
	x := make([]T, d.Len())
	ld := 1
	if d.Rank == 2 {
		ld = d.Dim[1]
	}
	b := buffer(x, e, ld, in.Dims...)
	runtime.ReadMemStats(&before)
	err = in.Fill(b)
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(2<<20+64*size+8*int(d.Bytes())); got > most {
		t.Fatalf("Fill of %v from %d bytes allocated %d", &d, size, got)
	}
	if err != nil {
		if !errors.As(err, &fe) || fe.File != name && fe.File != shown(name) {
			t.Fatalf("not an error of this package: %v", err)
		}
		return
	}
	if len(x) == 0 {
		return // text has no place for the sizes of nothing
	}
	fuzzParts(t, fsys, name, Want{Kind: kind, Elem: e}, b)
	for _, s := range Suffixes {
		again := &memFS{MapFS: fstest.MapFS{}}
		if !canHold(dataName(s), &d) {
			continue
		}
		if err := Save(again, dataName(s), b); err != nil {
			t.Fatal(err)
		}
		y, _, err := load[T](again, dataName(s), kind, e, in.Dims...)
		if err != nil {
			t.Fatalf("%v saved as %s: %v", &d, s, err)
		}
		for i := range x {
			if x[i] != y[i] && x[i] == x[i] {
				t.Fatalf("%v saved as %s: element %d was %v and is %v", &d, s, i, x[i], y[i])
			}
		}
	}
}

// fuzzParts reads the file again in rows and from its Source, where it can be, and finds what is in b.
func fuzzParts(t *testing.T, fsys *memFS, name string, want Want, b *iface.Buffer) {
	whole := unsafe.Slice((*byte)(b.Ptr), b.Bytes())
	for _, lazy := range []bool{false, true} {
		in, err := Open(fsys, name, want)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		again := bytesOf(make([]uint64, len(whole)/8+1))[:len(whole)] // aligned
		switch src := (*Source)(nil); {
		case lazy:
			if src = in.Source(); src == nil {
				return
			}
			defer src.Close()
			if _, err := src.ReadAt(again, 0); err != nil {
				t.Fatalf("reading the source: %v", err)
			}
		case !in.InRows() || b.Rank == 0:
			continue
		default:
			row := len(whole) / b.Dim[0]
			for i := range b.Dim[0] {
				part := *b
				part.Ptr, part.Dim[0], part.Off[0] = unsafe.Pointer(&again[i*row]), 1, i
				if err := in.Fill(&part); err != nil {
					t.Fatalf("reading row %d: %v", i, err)
				}
			}
		}
		if !bytes.Equal(again, whole) {
			t.Fatalf("a file that is read in parts, lazy %v, has other elements", lazy)
		}
	}
}

func FuzzNpy(f *testing.F) {
	f.Add([]byte(npyFile("<f8", "False", "(2, 3)", []float64{1, 2, 3, 4, 5, 6}, false)))
	f.Add([]byte(npyFile(">i4", "True", "(2, 2)", []int32{1, 2, 3, 4}, true)))
	f.Add([]byte(npyFile("|u1", "False", "()", []uint8{7}, false)))
	f.Add([]byte(npyHeaderFile("{'shape': (2, 1), \"descr\": '<f8', 'fortran_order': False}", []float64{1, 2})))
	f.Add([]byte(npyHeaderFile("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ((2,), -1, 99999999999999999999L)}", nil)))
	f.Add([]byte("\x93NUMPY\x02\x00\x10\x00\x00\x00{'descr': '<f8'}"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzLoad(t, "x.npy", data) })
}

func FuzzMtx(f *testing.F) {
	f.Add([]byte(banner + "coordinate real general\n% c\n2 3 2\n1 1 1.5\n2 3 -2e2\n"))
	f.Add([]byte(banner + "coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"))
	f.Add([]byte(banner + "array integer skew-symmetric\n3 3\n1\n2\n3\n"))
	f.Add([]byte(banner + "array real general\n1 1\nnan\n"))
	f.Add([]byte(banner + "coordinate real general\n999999999 999999999 1\n1 1 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzLoad(t, "x.mtx", data) })
}

// FuzzSparse reads a file in each format of sparse matrices. The structure is one that the format allows, and
// saving it and reading that gives the same matrix.
func FuzzSparse(f *testing.F) {
	f.Add([]byte(banner + "coordinate real general\n% c\n2 3 2\n1 1 1.5\n2 3 -2e2\n"))
	f.Add([]byte(banner + "coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"))
	f.Add([]byte(banner + "coordinate integer general\n3 3 3\n2 2 100\n2 2 27\n1 3 0\n"))
	f.Add([]byte(banner + "array integer skew-symmetric\n3 3\n1\n2\n3\n"))
	f.Add([]byte(banner + "coordinate real general\n0 5 0\n"))
	f.Add([]byte(banner + "coordinate real general\n999999999 999999999 1\n1 1 nan\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range iface.SparseFormats {
			fuzzSparse[float64](t, data, iface.F64, format)
			fuzzSparse[int8](t, data, iface.I8, format)
		}
	})
}

func fuzzSparse[T iface.Go](t *testing.T, data []byte, e iface.Elem, format *iface.SparseFormat) {
	to := Layout{Format: format, R: 1, C: 1, Bytes: 1 << 18}
	if format.Blocks {
		to.R, to.C = 2, 3
	}
	read := func(data []byte) (*Sparse, error) {
		return LoadSparse(fstest.MapFS{"x.mtx": {Data: data}}, "x.mtx", e, to)
	}
	m, err := read(data)
	if err != nil {
		if fe := (*Error)(nil); !errors.Is(err, ErrMost) && (!errors.As(err, &fe) || fe.File != "x.mtx") {
			t.Fatalf("not an error of this package: %v", err)
		}
		return
	}
	values := func(m *Sparse) *iface.Buffer {
		if bad := m.Check(func() bool { return false }); bad != nil {
			t.Fatalf("%s: %v", format.Name, bad)
		}
		n := 1
		for _, d := range m.Dims() {
			n *= d
		}
		b := buffer(make([]T, n), e, 0, m.Dims()...)
		m.Values(b)
		return b
	}
	val := values(m)
	saved := newFS()
	if err := SaveSparse(saved, "y.mtx", &m.SparseStructure, val); err != nil {
		t.Fatalf("%s: %v", format.Name, err)
	}
	again, err := read(saved.MapFS["y.mtx"].Data)
	if err != nil {
		t.Fatalf("%s, saved and read: %v", format.Name, err)
	}
	if again.Rows != m.Rows || again.Cols != m.Cols {
		t.Fatalf("%s, saved and read: %d x %d, was %d x %d", format.Name, again.Rows, again.Cols, m.Rows, m.Cols)
	}
	if int64(m.Rows)*int64(m.Cols) > 1<<12 {
		return
	}
	x, y := make([]T, m.Rows*m.Cols), make([]T, m.Rows*m.Cols)
	for _, d := range []struct {
		m   *Sparse
		val *iface.Buffer
		x   []T
	}{{m, val, x}, {again, values(again), y}} {
		if err := Dense(&d.m.SparseStructure, d.val, buffer(d.x, e, m.Cols, m.Rows, m.Cols)); err != nil {
			t.Fatalf("%s: %v", format.Name, err)
		}
	}
	for i := range x {
		if x[i] != y[i] && x[i] == x[i] {
			t.Fatalf("%s, saved and read: element %d was %v and is %v", format.Name, i, x[i], y[i])
		}
	}
}

// packed is an archive with one array, deflated.
func packed(npy string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create("a.npy")
	_, _ = io.WriteString(w, npy)
	_ = z.Close()
	return b.Bytes()
}

func FuzzNpz(f *testing.F) {
	f.Add(packed(npyFile("<f8", "False", "(2, 3)", []float64{1, 2, 3, 4, 5, 6}, false)))
	f.Add(packed(npyFile(">i4", "True", "(2, 2)", []int32{1, 2, 3, 4}, true)))
	f.Add(packed(npyFile("|u1", "False", "(1000000000000,)", []uint8{7}, false)))
	f.Add(packed(""))
	fsys := newFS()
	for _, name := range []string{"x.npz:b", "x.npz:a"} {
		if err := Save(fsys, name, buffer([]uint16{1, 2, 3}, iface.U16, 0, 3)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(fsys.MapFS["x.npz"].Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzLoad(t, "x.npz:a", data)
		// A save beside what the file has loses nothing, or is an error.
		fsys := &memFS{MapFS: fstest.MapFS{"x.npz": {Data: data}}}
		err := Save(fsys, "x.npz:new", buffer([]uint16{1, 2, 3}, iface.U16, 0, 3))
		if err != nil {
			if !bytes.Equal(fsys.MapFS["x.npz"].Data, data) {
				t.Fatalf("after %v the file is another", err)
			}
			return
		}
		if x, _, err := load[uint16](fsys, "x.npz:new", iface.Vector, iface.U16); err != nil || len(x) != 3 || x[2] != 3 {
			t.Fatalf("saved and loaded: %v %v", x, err)
		}
	})
}

func FuzzPng(f *testing.F) {
	for _, b := range []*iface.Buffer{
		buffer([]uint8{1, 2, 3, 4, 5, 6}, iface.U8, 3, 2, 3),
		buffer([]uint16{1, 2, 300, 4, 5, 60000}, iface.U16, 3, 2, 3),
		buffer([]uint8{1, 2, 3, 4, 5, 6}, iface.U8, 0, 1, 2, 3),
		buffer([]uint16{1, 2, 300, 4, 5, 60000, 7, 8}, iface.U16, 0, 2, 1, 4),
	} {
		fsys := newFS()
		if err := Save(fsys, "x.png", b); err != nil {
			f.Fatal(err)
		}
		f.Add(fsys.MapFS["x.png"].Data)
	}
	for _, img := range []image.Image{
		&image.Paletted{Pix: []byte{0, 1, 1, 0}, Stride: 2, Rect: image.Rect(0, 0, 2, 2), Palette: color.Palette{color.White, color.Transparent}},
		&image.Paletted{Pix: []byte{0, 1, 1, 0}, Stride: 2, Rect: image.Rect(0, 0, 2, 2), Palette: color.Palette{color.White, color.Black}},
	} {
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzLoad(t, "x.png", data)
		fuzzLoad(t, "x.png", checksummed(data)) // or hardly anything gets past the first chunk
	})
}

// checksummed makes the checksums of an image those of its chunks.
func checksummed(data []byte) []byte {
	data = slices.Clone(data)
	for at := len(pngMagic); at+12 <= len(data); {
		n := int(binary.BigEndian.Uint32(data[at:]))
		if n > len(data)-at-12 {
			break
		}
		binary.BigEndian.PutUint32(data[at+8+n:], crc32.ChecksumIEEE(data[at+4:at+8+n]))
		at += 12 + n
	}
	return data
}

func FuzzPgm(f *testing.F) {
	f.Add([]byte("P2\n# grey\n3 2\n255\n1 2 3\n4 5 255\n"))
	f.Add([]byte("P5 2 2 255\n\x01\x02\x03\xff"))
	f.Add([]byte("P5\n2 1 1000\n\x01\x02\x03\xe8"))
	f.Add([]byte("P5 2147483647 2147483647 65535\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzLoad(t, "x.pgm", data) })
}

func FuzzCsv(f *testing.F) {
	f.Add([]byte("1,2\n3,4\n"))
	f.Add([]byte("\xEF\xBB\xBF 1.5e3\r\n\n-inf"))
	f.Add([]byte("18446744073709551615,0.1,1d-3"))
	f.Add(bytes.Repeat([]byte("1,"), 3000))
	f.Add([]byte("time;\"price; \"\"net\"\"\"\n1;\"2.5\"\n3;4\n"))
	f.Add([]byte("a\tb\n1\t2\n"))
	f.Add([]byte("\"a\nb\",c\nword,2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"x.csv", "x.csv:c", "x.csv:2,1"} {
			fuzzLoad(t, name, data)
		}
	})
}
