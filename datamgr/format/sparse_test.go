package format

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

func vectorOf[T iface.Go](x []T) *iface.Buffer {
	d := iface.Desc{Kind: iface.Vector, Elem: iface.ElemOf[T](), Rank: 1}
	d.Dim[0] = len(x)
	return &iface.Buffer{Desc: d, Ptr: unsafe.Pointer(unsafe.SliceData(x)), Stride: [iface.MaxRank]int{1}}
}

var layouts = []Layout{{Format: iface.Sparse("csr")}, {Format: iface.Sparse("csc")}, {Format: iface.Sparse("coo")},
	{Format: iface.Sparse("bcsr"), R: 2, C: 2}, {Format: iface.Sparse("bcsr"), R: 1, C: 3}}

// dense returns the matrix m, whose structure is right, as a matrix of rows x cols.
func dense(t *testing.T, m *Sparse, rows, cols int) []float32 {
	t.Helper()
	if err := m.Check(func() bool { return false }); err != nil {
		t.Fatalf("%s: %v", m.Format.Name, err)
	}
	all := make([]float32, m.Rows*m.Cols)
	if err := Dense(&m.SparseStructure, valuesOf(m), buffer(all, iface.F32, m.Cols, m.Rows, m.Cols)); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, rows*cols)
	for k, v := range all {
		if i, j := k/m.Cols, k%m.Cols; i < rows && j < cols {
			out[i*cols+j] = v
		} else if v != 0 {
			t.Errorf("%s: %v at %d, %d, outside the matrix", m.Format.Name, v, i, j)
		}
	}
	return out
}

func valuesOf(m *Sparse) *iface.Buffer {
	d := m.Dims()
	n := 1
	for _, k := range d {
		n *= k
	}
	b := buffer(make([]float32, n), iface.F32, n, n)
	m.Values(b)
	return b
}

// TestSparse reads sparse matrices in all formats, converts them to all others, and holds them against the
// dense matrices of the same files.
func TestSparse(t *testing.T) {
	fsys := newFS(
		"c.mtx", banner+"coordinate real general\n2 3 4\n1 1 1.5\n2 3 -2D2\n1 3 4\n2 2 5e0\n",
		"dup.mtx", banner+"coordinate integer general\n3 3 5\n1 3 3\n1 2 4\n1 3 -1\n3 1 1\n1 1 2\n",
		"sym.mtx", banner+"coordinate real symmetric\n3 3 4\n3 3 4\n3 2 3\n1 1 1\n2 1 2\n",
		"skew.mtx", banner+"coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 2 -3\n",
		"pat.mtx", banner+"coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
		"a.mtx", banner+"array real general\n2 3\n1\n4\n0\n5\n3\n6\n",
		"none.mtx", banner+"coordinate real general\n4 0 0\n",
		"order.mtx", banner+"coordinate real general\n4 3 5\n1 2 3\n1 3 4\n3 1 -1\n4 1 1\n4 2 2\n",
		"empty.mtx", banner+"coordinate real general\n5 4 0\n",
	)
	for _, name := range []string{"c.mtx", "dup.mtx", "sym.mtx", "skew.mtx", "pat.mtx", "a.mtx", "none.mtx", "order.mtx", "empty.mtx"} {
		want, dims, err := load[float32](fsys, name, iface.Matrix, iface.F32)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layouts {
			m, err := LoadSparse(fsys, name, iface.F32, l)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := dense(t, m, dims[0], dims[1]); !slices.Equal(got, want) {
				t.Errorf("%s as %s: %v, want %v %v", name, l.Format.Name, got, dims, want)
			}
			for _, to := range layouts {
				c, err := ConvertSparse(&m.SparseStructure, valuesOf(m), to)
				if err != nil {
					t.Errorf("%s from %s to %s: %v", name, l.Format.Name, to.Format.Name, err)
					continue
				}
				if got := dense(t, c, dims[0], dims[1]); !slices.Equal(got, want) {
					t.Errorf("%s from %s to %s: %v, want %v %v", name, l.Format.Name, to.Format.Name, got, dims, want)
				}
			}
			if err := SaveSparse(fsys, "again.mtx", &m.SparseStructure, valuesOf(m)); err != nil {
				t.Fatal(err)
			}
			again, err := LoadSparse(fsys, "again.mtx", iface.F32, l)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(again.Ptr, m.Ptr) || !slices.Equal(again.Row, m.Row) || !slices.Equal(again.Col, m.Col) || !slices.Equal(dense(t, again, dims[0], dims[1]), want) {
				t.Errorf("%s as %s, saved: %v, was %v", name, l.Format.Name, again.SparseStructure, m.SparseStructure)
			}
			d, err := SparseOf(buffer(slices.Clone(want), iface.F32, dims[1], dims...), l)
			if err != nil {
				t.Fatal(err)
			}
			if got := dense(t, d, dims[0], dims[1]); !slices.Equal(got, want) {
				t.Errorf("%s of a matrix: %v, want %v", l.Format.Name, got, want)
			}
		}
	}

	s := &iface.SparseStructure{Format: iface.Sparse("csr"), Rows: 3, Cols: 3, R: 1, C: 1, Ptr: []int64{5, 6, 6, 8}, Col: []int32{2, 0, 1}}
	val := vectorOf([]int8{7, -1, 0})
	if err := SaveSparse(fsys, "saved.mtx", s, val); err != nil {
		t.Fatal(err)
	}
	if got, want := string(fsys.MapFS["saved.mtx"].Data), banner+"coordinate integer general\n3 3 3\n1 3 7\n3 1 -1\n3 2 0\n"; got != want {
		t.Errorf("saved %q, want %q", got, want)
	}
	if err := SaveSparse(fsys, "saved.npy", s, val); err == nil {
		t.Error("a sparse matrix was saved as .npy")
	}
}

func TestSparseRefused(t *testing.T) {
	fsys := newFS(
		"rows.mtx", banner+"coordinate real general\n3000000000 1 0\n",
		"out.mtx", banner+"coordinate real general\n2 2 1\n3 1 1\n",
		"few.mtx", banner+"coordinate real general\n2 2 2\n1 1 1\n",
		"sum.mtx", banner+"coordinate integer general\n2 2 2\n2 1 100\n2 1 100\n",
		"sym.mtx", banner+"coordinate real symmetric\n2 2 2\n1 1 1\n2 1 1\n",
		"claim.mtx", banner+"coordinate real general\n2000000000 1 1\n1 1 1\n",
	)
	for name, want := range map[string]string{
		"rows.mtx":  "rows.mtx:2: expected at most 2147483647 rows and columns in a csr, found 3000000000 x 1",
		"out.mtx":   "out.mtx:3: expected a row from 1 to 2, found \"3\"",
		"few.mtx":   "few.mtx:4: expected 2 entries, found 1",
		"sum.mtx":   "sum.mtx: expected entries of row 2, column 1 whose sum the element type holds, found a larger sum",
		"claim.mtx": "claim.mtx: expected more entries than 1 in 2000000000 rows, found a matrix that is almost empty, whose offsets alone would need gigabytes",
		"no.npy":    "no.npy: expected a name that ends in .mtx, which holds sparse matrices, found \"no.npy\"",
	} {
		if _, err := LoadSparse(fsys, name, iface.I8, layouts[0]); fmt.Sprint(err) != want {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
	for _, bytes := range []int64{8, 24 + 3*8 - 1} { // of the offsets, and of entries that symmetry adds
		if _, err := LoadSparse(fsys, "sym.mtx", iface.F32, Layout{Format: iface.Sparse("csr"), Bytes: bytes}); !errors.Is(err, ErrMost) {
			t.Errorf("in %d bytes: %v", bytes, err)
		}
	}
	if _, err := LoadSparse(fsys, "sym.mtx", iface.F32, Layout{Format: iface.Sparse("csr"), Bytes: 24 + 3*8}); err != nil {
		t.Error(err)
	}
	coo := Layout{Format: iface.Sparse("coo")}
	if m, err := LoadSparse(fsys, "claim.mtx", iface.F32, coo); err != nil || m.Rows != 2000000000 {
		t.Errorf("a coo of many rows: %v", err)
	}
	bcsr := Layout{Format: iface.Sparse("bcsr"), R: 1024, C: 1024, Bytes: 1 << 20}
	if _, err := LoadSparse(fsys, "sym.mtx", iface.F32, bcsr); !errors.Is(err, ErrMost) {
		t.Errorf("a large block: %v", err)
	}
}

// TestSparseStructure holds mistakes in structures against their errors.
func TestSparseStructure(t *testing.T) {
	check := func(format string, rows, cols, r, c int, ptr []int64, row, col []int32) string {
		s := &iface.SparseStructure{Format: iface.Sparse(format), Rows: rows, Cols: cols, R: r, C: c, Ptr: ptr, Row: row, Col: col}
		if err := s.Check(func() bool { return false }); err != nil {
			return err.Array + ": " + err.Message
		}
		return ""
	}
	for _, c := range []struct{ got, want string }{
		{check("csr", 2, 2, 1, 1, []int64{0, 1, 2}, nil, []int32{1, 0}), ""},
		{check("csr", -1, 2, 1, 1, []int64{0}, nil, nil), "rows: a csr has from 0 to 2147483647 rows and columns, and this is -1"},
		{check("csc", 2, 2, 1, 1, []int64{0, 1}, []int32{0}, nil), "ptr: `ptr` has 2 items, and a csc with 2 columns needs 3"},
		{check("csc", 2, 2, 1, 1, []int64{0, 1, 2}, []int32{0, 2}, nil), "row: item 1 of `row` is 2, and the csc has 2 rows: 0 to 1"},
		{check("csc", 2, 1, 1, 1, []int64{0, 2}, []int32{1, 1}, nil), "row: column 0 has row 1 behind row 1"},
		{check("coo", 2, 2, 1, 1, nil, []int32{0, 1, 0}, []int32{1, 0, 1}), ""},
		{check("coo", 2, 2, 1, 1, nil, []int32{0, 1, 0}, []int32{1, 0}), "col: `row` has 3 items, and `col` 2 items"},
		{check("coo", 2, 2, 1, 1, nil, []int32{0, -1}, []int32{1, 0}), "row: item 1 of `row` is -1, and the coo has 2 rows: 0 to 1"},
		{check("coo", 2, 0, 1, 1, nil, []int32{0}, []int32{0}), "col: item 0 of `col` is 0, and the coo has no columns"},
		{check("bcsr", 4, 6, 2, 3, []int64{0, 1, 3}, nil, []int32{1, 0, 1}), ""},
		{check("bcsr", 4, 6, 2, 3, []int64{0, 1, 3}, nil, []int32{1, 0, 2}), "col: item 2 of `col` is 2, and the bcsr has 2 columns of blocks: 0 to 1"},
		{check("bcsr", 5, 6, 2, 3, nil, nil, nil), "rows: `rows` is 5, which is no multiple of `r`, 2"},
		{check("bcsr", 4, 6, 2, 0, nil, nil, nil), "c: a block has from 1 to 1024 rows and columns, and `c` is 0"},
		{check("bcsr", 4, 6, 2, 3, []int64{0, 1, 3, 3, 3}, nil, nil), "ptr: `ptr` has 5 items, and a bcsr with 2 rows of blocks needs 3"},
	} {
		if c.got != c.want {
			t.Errorf("got %q\nwant %q", c.got, c.want)
		}
	}
}

// TestSparseOrder reads entries in a random order, several in one place: their sum is that of the order in
// the file, which another order would round otherwise. Lines are written in every way that the format allows.
func TestSparseOrder(t *testing.T) {
	blank := []string{" ", "\t", "  ", " \t "}
	end := []string{"\n", "\r\n", " \n", "\n\n", "\n% a comment\n"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows, cols, n := 1+r.IntN(20), 1+r.IntN(20), r.IntN(200)
		want := make([]float32, rows*cols)
		var text strings.Builder
		for k := range n {
			i, j, v := r.IntN(rows), r.IntN(cols), float32(r.NormFloat64())*float32(math.Pow(10, float64(r.IntN(9))))
			want[i*cols+j] += v
			if r.IntN(8) == 0 {
				text.WriteString(blank[r.IntN(len(blank))])
			}
			fmt.Fprintf(&text, "%0*d%s%0*d%s", 1+r.IntN(12), i+1, blank[r.IntN(len(blank))], 1+r.IntN(3), j+1, blank[r.IntN(len(blank))])
			text.WriteString(strconv.FormatFloat(float64(v), "egf"[r.IntN(3)], -1, 32))
			if k < n-1 || r.IntN(2) == 0 {
				text.WriteString(end[r.IntN(len(end))])
			}
		}
		fsys := newFS("x.mtx", fmt.Sprintf("%scoordinate real general\n%d %d %d\n%s", banner, rows, cols, n, text.String()))
		for _, l := range layouts {
			m, err := LoadSparse(fsys, "x.mtx", iface.F32, l)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text.String())
			}
			if got := dense(t, m, rows, cols); !slices.Equal(got, want) {
				t.Fatalf("seed %d as %s: %v, want %v\n%s", seed, l.Format.Name, got, want, text.String())
			}
		}
	}
}

func BenchmarkLoadSparse(b *testing.B) {
	const n = 1 << 16
	text := fmt.Appendf(nil, "%scoordinate real general\n%d %d %d\n", banner, n, n, 3*n)
	for j := range n {
		for d := range 3 {
			text = fmt.Appendf(text, "%d %d %g\n", (j+d*7919)%n+1, j+1, float64(j+d)/1000)
		}
	}
	fsys := newFS("x.mtx", string(text))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := LoadSparse(fsys, "x.mtx", iface.F64, layouts[0]); err != nil {
			b.Fatal(err)
		}
	}
}
