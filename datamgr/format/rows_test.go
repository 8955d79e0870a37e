package format

// Files that are read and written in parts.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// filled is a vector or a matrix in x.
func filled(x []float64, dims ...int) *iface.Buffer {
	return buffer(x, iface.F64, dims[len(dims)-1], dims...)
}

// TestSource asks for the elements of files where they lie: only those that memory has in the
// same way can be read so.
func TestSource(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6}
	fsys := newFS(
		"c.npy", npyFile("<f8", "False", "(2, 3)", x, false),
		"big.npy", npyFile(">f8", "False", "(2, 3)", x, true),
		"fortran.npy", npyFile("<f8", "True", "(2, 3)", x, false),
		"column.npy", npyFile("<f8", "True", "(6, 1)", x, false),
		"small.npy", npyFile("<f4", "False", "(2, 3)", []float32{1, 2, 3, 4, 5, 6}, false),
		"raw.bin", npyFile("<f8", "False", "(2, 3)", x, false)[128:],
		"x.csv", "1,2,3\n4,5,6\n",
	)
	m := filled(x, 2, 3)
	if err := Save(fsys, "z.npz:x", m); err != nil {
		t.Fatal(err)
	}
	matrix := Want{Kind: iface.Matrix, Elem: iface.F64}
	for name, c := range map[string]struct {
		want Want
		ok   bool
	}{
		"c.npy":       {matrix, true},
		"big.npy":     {matrix, false},
		"fortran.npy": {matrix, false},
		"column.npy":  {Want{Kind: iface.Vector, Elem: iface.F64}, true},
		"small.npy":   {matrix, false},
		"raw.bin":     {Want{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{2, 3}}, true},
		"x.csv":       {matrix, false},
		"z.npz:x":     {matrix, false},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		in, err := Open(Within(ctx, fsys), name, c.want)
		if err != nil {
			t.Fatal(err)
		}
		src := in.Source()
		if (src != nil) != (c.ok && !bigHost) {
			t.Errorf("%s: a source is %v", name, src != nil)
		}
		if src == nil {
			want := x
			if name == "fortran.npy" {
				want = []float64{1, 3, 5, 2, 4, 6}
			}
			got := make([]float64, 6)
			if err := in.Fill(filled(got, in.Dims...)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			cancel()
			continue
		}
		if err := errors.Join(in.Close(), src.Changed()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := in.Fill(filled(x, in.Dims...)); err == nil {
			t.Errorf("%s: filled after its source was taken", name)
		}
		cancel() // the source goes on
		var b [8]byte
		for i, want := range x {
			if _, err := src.ReadAt(b[:], int64(8*i)); err != nil || math.Float64frombits(binary.NativeEndian.Uint64(b[:])) != want {
				t.Errorf("%s: element %d: %v, %v", name, i, b, err)
			}
		}
		if _, err := src.ReadAt(b[:], 44); err == nil || !strings.HasSuffix(err.Error(), ": expected 4 bytes more, found the end of the file, which was longer when it was opened") {
			t.Errorf("%s: behind the end: %v", name, err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFillInRows reads files some rows at a time.
func TestFillInRows(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	fsys := newFS(
		"c.npy", npyFile("<f8", "False", "(4, 2)", x, false),
		"big.npy", npyFile(">f8", "False", "(4, 2)", x, true),
		"long.npy", npyFile("<f8", "False", "(4, 2)", x, false),
	)
	for _, name := range []string{"c.npy", "big.npy"} {
		for _, rows := range []int{1, 2, 3, 4} {
			in, err := Open(fsys, name, Want{Kind: iface.Matrix, Elem: iface.F64})
			if err != nil || !in.InRows() {
				t.Fatal(err)
			}
			var all []float64
			for at := 0; at < 4; at += rows {
				n := min(rows, 4-at)
				got := make([]float64, 2*n)
				b := filled(got, n, 2)
				b.Off[0] = at
				if err := in.Fill(b); err != nil {
					t.Fatalf("%s, %d rows from %d: %v", name, n, at, err)
				}
				all = append(all, got...)
			}
			if !slices.Equal(all, x) {
				t.Errorf("%s, %d rows at a time: %v", name, rows, all)
			}
			if err := in.Fill(filled(x, 4, 2)); err == nil {
				t.Error("filled twice")
			}
		}
	}
	in, err := Open(fsys, "c.npy", Want{Kind: iface.Matrix, Elem: iface.F64})
	if err != nil {
		t.Fatal(err)
	}
	b := filled(make([]float64, 2), 1, 2)
	b.Off[0] = 1
	if err := in.Fill(b); err == nil || !strings.Contains(err.Error(), "expected matrix[f64] 4 x 2, found matrix[f64] 1 x 2") {
		t.Errorf("rows that do not come next: %v", err)
	}
}

// TestCreateRows writes files some rows at a time: they are those that Save writes.
func TestCreateRows(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	whole := filled(x, 4, 2)
	fsys := newFS()
	for _, name := range []string{"a.npy", "a.bin"} {
		if err := Save(fsys, name, whole); err != nil {
			t.Fatal(err)
		}
		want := string(fsys.MapFS[name].Data)
		write := func(name string, rows ...int) error {
			f, err := CreateRows(fsys, name, whole.Desc)
			if err != nil {
				return err
			}
			at := 0
			for _, n := range rows {
				if err := f.Write(filled(x[2*at:], n, 2)); err != nil {
					f.Abort()
					return err
				}
				at += n
			}
			return f.Close()
		}
		if err := write(name, 1, 3); err != nil || string(fsys.MapFS[name].Data) != want {
			t.Errorf("%s in rows is %q (%v), want %q", name, fsys.MapFS[name].Data, err, want)
		}
		for text, rows := range map[string][]int{
			"no" + name + ": expected all rows, found 2 missing": {1, 1},
			"no" + name + ": expected 1 rows, found 2":           {3, 2},
		} {
			if err := write("no"+name, rows...); fmt.Sprint(err) != text {
				t.Errorf("%v rows: %v, want %s", rows, err, text)
			}
		}
		if fsys.MapFS["no"+name] != nil {
			t.Error("an error left a file")
		}
		fsys.fail = os.ErrPermission
		if err := write(name, 4); !errors.Is(err, os.ErrPermission) {
			t.Errorf("a file that cannot be written: %v", err)
		}
		fsys.fail = nil
	}
	if _, err := CreateRows(fsys, "a.csv", whole.Desc); err == nil {
		t.Error("a .csv file in rows")
	}
}
