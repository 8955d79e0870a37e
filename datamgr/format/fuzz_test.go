package format

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/starpush/starpush/datamgr/iface"
)

// fuzzLoad reads a file as each kind of data in two element types: it never
// panics, errors are of this package and name the file, memory stays in
// proportion, and what was read comes back the same after being saved.
func fuzzLoad(t *testing.T, name string, data []byte) {
	fsys := &memFS{MapFS: fstest.MapFS{name: {Data: data}}}
	for _, kind := range []iface.Kind{iface.Variable, iface.Vector, iface.Matrix} {
		fuzzOne[float64](t, fsys, name, kind, iface.F64, len(data))
		fuzzOne[int8](t, fsys, name, kind, iface.I8, len(data))
		fuzzOne[uint64](t, fsys, name, kind, iface.U64, len(data))
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
		if !errors.As(err, &fe) || fe.File != name {
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
		if !errors.As(err, &fe) || fe.File != name {
			t.Fatalf("not an error of this package: %v", err)
		}
		return
	}
	if len(x) == 0 {
		return // text has no place for the sizes of nothing
	}
	for _, s := range Suffixes {
		again := &memFS{MapFS: fstest.MapFS{}}
		if err := Save(again, "y"+s, b); err != nil {
			t.Fatal(err)
		}
		y, _, err := load[T](again, "y"+s, kind, e, in.Dims...)
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

func FuzzCsv(f *testing.F) {
	f.Add([]byte("1,2\n3,4\n"))
	f.Add([]byte("\xEF\xBB\xBF 1.5e3\r\n\n-inf"))
	f.Add([]byte("18446744073709551615,0.1,1d-3"))
	f.Add(bytes.Repeat([]byte("1,"), 3000))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzLoad(t, "x.csv", data) })
}
