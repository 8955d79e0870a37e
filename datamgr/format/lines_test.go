package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/starpush/starpush/datamgr/iface"
)

// coordinateFile is a coordinate file of many blocks of text, and what it means.
type coordinateFile struct {
	text      bytes.Buffer
	lines     int
	rows, nnz int
	symmetric bool
	row, col  []int
	val       []string
}

func newCoordinateFile(r *rand.Rand, entries int, symmetric bool) *coordinateFile {
	f := &coordinateFile{rows: 1000 + r.IntN(100000), nnz: entries, symmetric: symmetric}
	form := "general"
	if symmetric {
		form = "symmetric"
	}
	f.line("%sreal %s", strings.TrimSuffix(banner+"coordinate ", "\n"), form)
	f.line("%d %d %d", f.rows, f.rows, f.nnz)
	return f
}

func (f *coordinateFile) line(format string, args ...any) {
	fmt.Fprintf(&f.text, format+"\n", args...)
	f.lines++
}

// entry writes a random entry.
func (f *coordinateFile) entry(r *rand.Rand) {
	i, j := r.IntN(f.rows), r.IntN(f.rows)
	if f.symmetric {
		i, j = max(i, j), min(i, j)
	}
	var v string
	switch x := r.NormFloat64(); r.IntN(8) {
	case 0:
		v = strconv.Itoa(r.IntN(2000) - 1000)
	case 1:
		v = fmt.Sprintf("%.16e", x)
	case 2:
		v = fmt.Sprintf("%.3f", x)
	case 3:
		v = strconv.FormatFloat(x*1e-300, 'g', -1, 64)
	case 4:
		v = fmt.Sprintf("%+.7E", x)
	case 5:
		v = strings.Replace(fmt.Sprintf("%.4e", x), "e", "D", 1)
	case 6:
		v = fmt.Sprintf("%d.%022d", r.IntN(100), r.Uint32())
	default:
		v = strconv.FormatFloat(x, 'g', -1, 64)
	}
	f.row, f.col, f.val = append(f.row, i), append(f.col, j), append(f.val, v)
	blanks := []string{" ", "\t", "   ", " \t"}
	blank := func() string { return blanks[r.IntN(len(blanks))] }
	begin, end := "", ""
	if r.IntN(10) == 0 {
		begin, end = blank(), blank()+"\r"
	}
	f.line("%s%d%s%d%s%s%s", begin, i+1, blank(), j+1, blank(), v, end)
}

// want returns the values by place.
func (f *coordinateFile) want(bits int) map[[2]int]float64 {
	m := map[[2]int]float64{}
	add := func(i, j int, v float64) {
		v += m[[2]int{i, j}]
		if bits == 32 {
			v = float64(float32(v))
		}
		m[[2]int{i, j}] = v
	}
	for k := range f.val {
		v, err := strconv.ParseFloat(strings.Replace(f.val[k], "D", "e", 1), bits)
		if err != nil {
			panic(err)
		}
		add(f.row[k], f.col[k], v)
		if f.symmetric && f.row[k] != f.col[k] {
			add(f.col[k], f.row[k], v)
		}
	}
	return m
}

func (f *coordinateFile) load(r io.Reader, e iface.Elem) (*Sparse, error) {
	m := &mtx{t: newText(r), elem: e, size: int64(f.text.Len())}
	return m.sparse(Layout{Format: iface.Sparse("csr")})
}

// TestLines reads files of many blocks, with lines between entries that are none, as readers give them.
func TestLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	readers := []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader}
	for round := range 8 {
		f := newCoordinateFile(r, []int{0, 1, 15000, 30000}[round%4], round%3 == 2)
		gaps := round % 2 * 20 // comments and empty lines
		for range f.nnz {
			if gaps > 0 && r.IntN(f.nnz/gaps+1) == 0 {
				f.line("%s", []string{"", "% 1 2 3", "\t"}[r.IntN(3)])
			}
			f.entry(r)
		}
		if round%5 == 1 && f.nnz > 0 {
			f.text.Truncate(f.text.Len() - 1) // a last line without an end
		}
		for e, bits := range map[iface.Elem]int{iface.F64: 64, iface.F32: 32} {
			want := f.want(bits)
			for k, reader := range readers {
				got, err := f.load(reader(bytes.NewReader(f.text.Bytes())), e)
				if err != nil {
					t.Fatalf("round %d, reader %d, %v: %v", round, k, e, err)
				}
				if len(got.Col) != len(want) {
					t.Fatalf("round %d, %v: %d entries, want %d", round, e, len(got.Col), len(want))
				}
				value := func(n int64) float64 { return 0 }
				switch v := got.values.(type) {
				case *entriesOf[float64]:
					value = func(n int64) float64 { return v.val[n] }
				case *entriesOf[float32]:
					value = func(n int64) float64 { return float64(v.val[n]) }
				}
				for i := range got.Rows {
					for n := got.Ptr[i]; n < got.Ptr[i+1]; n++ {
						if w, ok := want[[2]int{i, int(got.Col[n])}]; !ok || w != value(n) {
							t.Fatalf("round %d, %v: row %d, column %d: %v, want %v", round, e, i, got.Col[n], value(n), w)
						}
					}
				}
			}
		}
	}
}

// TestLinesMistakes puts one mistake into the middle of a file of many blocks: its line is reported.
func TestLinesMistakes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	mistakes := []string{"1 x 1", "1 2", "0 1 1", "1 200000 1", "1 1 1 1", "1 1 1e999", "1 1 one", "1 1 1 %", "12345678901 1 1"}
	for k, wrong := range mistakes {
		for _, symmetric := range []bool{false, true} {
			f := newCoordinateFile(r, 40000, symmetric)
			at := 0
			for n := range f.nnz {
				if n == 4000*(k+1) {
					f.line("%s", wrong)
					at = f.lines
					continue
				}
				f.entry(r)
			}
			_, err := f.load(bytes.NewReader(f.text.Bytes()), iface.F64)
			if e := (*Error)(nil); !errors.As(err, &e) || e.Line != at {
				t.Errorf("%q in line %d: %v", wrong, at, err)
			}
		}
	}
	f := newCoordinateFile(r, 40000, true)
	for n := range f.nnz {
		if n == 20000 {
			f.line("7 8 1") // above the diagonal
			continue
		}
		f.entry(r)
	}
	if _, err := f.load(bytes.NewReader(f.text.Bytes()), iface.F64); err == nil || !strings.Contains(err.Error(), "on or below the diagonal") {
		t.Errorf("above the diagonal: %v", err)
	}
	for _, more := range []int{-1, 1} { // entries than the file says
		f := newCoordinateFile(r, 30000, false)
		for range f.nnz + more {
			f.entry(r)
		}
		_, err := f.load(bytes.NewReader(f.text.Bytes()), iface.F64)
		if e := (*Error)(nil); !errors.As(err, &e) || e.Line != 30002+max(more, 0) {
			t.Errorf("%d entries more: %v", more, err)
		}
	}
	f = newCoordinateFile(r, 40000, false)
	for range f.nnz {
		f.entry(r)
	}
	broken := errors.New("the disk is broken")
	for _, n := range []int{100, 300 << 10, 700 << 10} {
		if _, err := f.load(io.MultiReader(bytes.NewReader(f.text.Bytes()[:n]), iotest.ErrReader(broken)), iface.F64); !errors.Is(err, broken) {
			t.Errorf("a reader that breaks after %d bytes: %v", n, err)
		}
	}
}
