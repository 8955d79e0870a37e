package format

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

func vectorOf[T iface.Go](x []T) *iface.Buffer {
	d := iface.Desc{Kind: iface.Vector, Elem: iface.ElemOf[T](), Rank: 1}
	d.Dim[0] = len(x)
	return &iface.Buffer{Desc: d, Ptr: unsafe.Pointer(unsafe.SliceData(x)), Stride: [iface.MaxRank]int{1}}
}

// TestCSR reads sparse matrices and holds them against the dense ones of the same files.
func TestCSR(t *testing.T) {
	fsys := newFS(
		"c.mtx", banner+"coordinate real general\n2 3 4\n1 1 1.5\n2 3 -2D2\n1 3 4\n2 2 5e0\n",
		"dup.mtx", banner+"coordinate integer general\n3 3 5\n1 3 3\n1 2 4\n1 3 -1\n3 1 1\n1 1 2\n",
		"sym.mtx", banner+"coordinate real symmetric\n3 3 4\n3 3 4\n3 2 3\n1 1 1\n2 1 2\n",
		"skew.mtx", banner+"coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 2 -3\n",
		"pat.mtx", banner+"coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
		"a.mtx", banner+"array real general\n2 3\n1\n4\n0\n5\n3\n6\n",
		"none.mtx", banner+"coordinate real general\n4 0 0\n",
		"order.mtx", banner+"coordinate real general\n4 3 5\n1 2 3\n1 3 4\n3 1 -1\n4 1 1\n4 2 2\n",
	)
	for _, name := range []string{"c.mtx", "dup.mtx", "sym.mtx", "skew.mtx", "pat.mtx", "a.mtx", "none.mtx", "order.mtx"} {
		want, dims, err := load[float32](fsys, name, iface.Matrix, iface.F32)
		if err != nil {
			t.Fatal(err)
		}
		m, err := LoadCSR(fsys, name, iface.F32, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		val := make([]float32, len(m.Col))
		m.Values(vectorOf(val))
		got := make([]float32, m.Rows*m.Cols)
		for i := range m.Rows {
			row := m.Col[m.Ptr[i]:m.Ptr[i+1]]
			if !slices.IsSorted(row) || len(slices.Compact(slices.Clone(row))) != len(row) {
				t.Errorf("%s: the columns of row %d are %v", name, i, row)
			}
			for k, j := range row {
				got[i*m.Cols+int(j)] = val[m.Ptr[i]+int64(k)]
			}
		}
		if m.Rows != dims[0] || m.Cols != dims[1] || !slices.Equal(got, want) || m.Ptr[m.Rows] != int64(len(m.Col)) {
			t.Errorf("%s: %d x %d %v, want %v %v", name, m.Rows, m.Cols, got, dims, want)
		}
	}

	ptr, col, val := []int64{5, 6, 6, 8}, []int32{2, 0, 1}, []int8{7, -1, 0}
	if err := SaveCSR(fsys, "saved.mtx", 3, vectorOf(ptr), vectorOf(col), vectorOf(val)); err != nil {
		t.Fatal(err)
	}
	if got, want := string(fsys.MapFS["saved.mtx"].Data), banner+"coordinate integer general\n3 3 3\n1 3 7\n3 1 -1\n3 2 0\n"; got != want {
		t.Errorf("saved %q, want %q", got, want)
	}
	if err := SaveCSR(fsys, "saved.npy", 3, vectorOf(ptr), vectorOf(col), vectorOf(val)); err == nil {
		t.Error("a sparse matrix was saved as .npy")
	}
}

func TestCSRRefused(t *testing.T) {
	fsys := newFS(
		"rows.mtx", banner+"coordinate real general\n3000000000 1 0\n",
		"out.mtx", banner+"coordinate real general\n2 2 1\n3 1 1\n",
		"few.mtx", banner+"coordinate real general\n2 2 2\n1 1 1\n",
		"sum.mtx", banner+"coordinate integer general\n2 2 2\n2 1 100\n2 1 100\n",
		"sym.mtx", banner+"coordinate real symmetric\n2 2 2\n1 1 1\n2 1 1\n",
	)
	for name, want := range map[string]string{
		"rows.mtx": "rows.mtx:2: expected at most 2147483647 rows and columns in a csr, found 3000000000 x 1",
		"out.mtx":  "out.mtx:3: expected a row from 1 to 2, found \"3\"",
		"few.mtx":  "few.mtx:4: expected 2 entries, found 1",
		"sum.mtx":  "sum.mtx: expected entries of row 2, column 1 whose sum the element type holds, found a larger sum",
		"no.npy":   "no.npy: expected a name that ends in .mtx, which holds sparse matrices, found \"no.npy\"",
	} {
		if _, err := LoadCSR(fsys, name, iface.I8, 0); fmt.Sprint(err) != want {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
	for _, bytes := range []int64{8, 24 + 3*8 - 1} { // of the offsets, and of entries that symmetry adds
		if _, err := LoadCSR(fsys, "sym.mtx", iface.F32, bytes); !errors.Is(err, ErrMost) {
			t.Errorf("in %d bytes: %v", bytes, err)
		}
	}
	if _, err := LoadCSR(fsys, "sym.mtx", iface.F32, 24+3*8); err != nil {
		t.Error(err)
	}
}
