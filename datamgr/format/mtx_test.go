package format

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

const banner = "%%MatrixMarket matrix "

func TestMtx(t *testing.T) {
	fsys := newFS(
		"c.mtx", banner+"coordinate real general\n% comment\n\n%another\n 2 3  4 \n1 1 1.5\n2 3 -2D2\n\n% in between\n1 3 4\r\n2 2 5e0",
		"dup.mtx", banner+"coordinate integer general\n2 2 3\n1 2 3\n1 2 4\n2 1 1\n",
		"sym.mtx", banner+"coordinate real symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n",
		"skew.mtx", banner+"coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 2 -3\n",
		"pat.mtx", banner+"coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
		"a.mtx", banner+"array real general\n2 3\n1\n4\n2\n5\n3\n6\n",
		"asym.mtx", banner+"array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
		"askew.mtx", banner+"array real skew-symmetric\n3 3\n1\n2\n3\n",
		"col.mtx", banner+"array real general\n3 1\n1\n2\n3\n",
		"row.mtx", banner+"coordinate real general\n1 3 1\n1 2 9\n",
		"one.mtx", "%%matrixmarket MATRIX Array Real General\n1 1\n7\n",
		"none.mtx", banner+"coordinate real general\n1000000000000 0 0\n",
		"flat.mtx", banner+"array real general\n0 1000000000000\n",
	)
	loaded(t, fsys, "c.mtx", iface.Matrix, iface.F64, []float64{1.5, 0, 4, 0, 5, -200}, 2, 3)
	loaded(t, fsys, "dup.mtx", iface.Matrix, iface.I8, []int8{0, 7, 1, 0}, 2, 2)
	loaded(t, fsys, "sym.mtx", iface.Matrix, iface.F32, []float32{1, 2, 0, 2, 0, 3, 0, 3, 4}, 3, 3)
	loaded(t, fsys, "skew.mtx", iface.Matrix, iface.I16, []int16{0, -2, 0, 2, 0, 3, 0, -3, 0}, 3, 3)
	loaded(t, fsys, "pat.mtx", iface.Matrix, iface.U8, []uint8{1, 1, 1, 0}, 2, 2)
	loaded(t, fsys, "a.mtx", iface.Matrix, iface.F64, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	loaded(t, fsys, "asym.mtx", iface.Matrix, iface.I64, []int64{1, 2, 3, 2, 4, 5, 3, 5, 6}, 3, 3)
	loaded(t, fsys, "askew.mtx", iface.Matrix, iface.F64, []float64{0, -1, -2, 1, 0, -3, 2, 3, 0}, 3, 3)
	loaded(t, fsys, "col.mtx", iface.Vector, iface.F64, []float64{1, 2, 3}, 3)
	loaded(t, fsys, "col.mtx", iface.Matrix, iface.F64, []float64{1, 2, 3}, 3, 1)
	loaded(t, fsys, "row.mtx", iface.Vector, iface.F64, []float64{0, 9, 0}, 3)
	loaded(t, fsys, "one.mtx", iface.Variable, iface.F64, []float64{7})
	if huge := int64(1_000_000_000_000); huge <= math.MaxInt {
		loaded(t, fsys, "none.mtx", iface.Matrix, iface.F64, []float64{}, int(huge), 0)
		loaded(t, fsys, "flat.mtx", iface.Matrix, iface.F64, []float64{}, 0, int(huge))
	}
}

// TestMtxFiles: two matrices from the Harwell-Boeing collection.
func TestMtxFiles(t *testing.T) {
	fsys := newFS("west0067.mtx", testFile(t, "west0067.mtx"), "bcsstk13.mtx", testFile(t, "bcsstk13.mtx"))
	x, dims, err := load[float64](fsys, "west0067.mtx", iface.Matrix, iface.F64)
	if err != nil {
		t.Fatal(err)
	}
	nnz := 0
	for _, v := range x {
		if v != 0 {
			nnz++
		}
	}
	if dims[0] != 67 || dims[1] != 67 || nnz != 294 || x[4*67] != -.2788416 {
		t.Errorf("west0067: %v with %d entries, first %v", dims, nnz, x[4*67])
	}
	x, dims, err = load[float64](fsys, "bcsstk13.mtx", iface.Matrix, iface.F64)
	if err != nil {
		t.Fatal(err)
	}
	const n = 2003
	nnz = 0
	for i := range n {
		for j := range n {
			if x[i*n+j] != x[j*n+i] {
				t.Fatalf("bcsstk13 is not symmetric at %d, %d", i, j)
			}
			if x[i*n+j] != 0 {
				nnz++
			}
		}
	}
	if dims[0] != n || dims[1] != n || nnz != 2*42943-n || x[0] != 277281165.183 || x[5*n] != 1023498082.5 {
		t.Errorf("bcsstk13: %v with %d entries, first %v", dims, nnz, x[0])
	}
}

func TestMtxErrors(t *testing.T) {
	coord, array := banner+"coordinate real general\n", banner+"array real general\n"
	for _, c := range []struct {
		data string
		kind iface.Kind
		elem iface.Elem
		text string
	}{
		{"", iface.Matrix, iface.F64, `x.mtx:1: expected %%MatrixMarket, found an empty file`},
		{"1 2 3\n", iface.Matrix, iface.F64, `x.mtx:1: expected %%MatrixMarket, found "1"`},
		{"%%MatrixMarket vector", iface.Matrix, iface.F64, "x.mtx:1: expected `matrix`, found \"vector\""},
		{banner + "sparse", iface.Matrix, iface.F64, "x.mtx:1: expected `coordinate` or `array`, found \"sparse\""},
		{banner + "coordinate quaternion", iface.Matrix, iface.F64, "x.mtx:1: expected `real`, `integer` or `pattern`, found \"quaternion\""},
		{banner + "coordinate complex general\n", iface.Matrix, iface.F32, "x.mtx:1: expected `real`, `integer` or `pattern`, as elements are of type f32, found `complex`"},
		{banner + "coordinate complex hermitian\n", iface.Matrix, iface.F64, "x.mtx:1: expected `real`, `integer` or `pattern`, as elements are of type f64, found `complex`"},
		{banner + "array pattern general\n", iface.Matrix, iface.F64, "x.mtx:1: expected `real` or `integer` for an array, found `pattern`"},
		{banner + "coordinate pattern skew-symmetric\n", iface.Matrix, iface.F64, "x.mtx:1: expected `general` or `symmetric` for a pattern, found `skew-symmetric`"},
		{banner + "coordinate real diagonal\n", iface.Matrix, iface.F64, "x.mtx:1: expected `general`, `symmetric` or `skew-symmetric`, found \"diagonal\""},
		{banner + "coordinate real general x\n", iface.Matrix, iface.F64, "x.mtx:1: expected the end of the line, found \"x\""},
		{banner + "coordinate real general", iface.Matrix, iface.F64, "x.mtx:1: expected the end of the line, found the end of the file"},
		{coord, iface.Matrix, iface.F64, "x.mtx:2: expected the sizes `rows columns entries`, found the end of the file"},
		{coord + "2 2\n1 1 1\n", iface.Matrix, iface.F64, "x.mtx:2: expected the sizes `rows columns entries`, found the end of the line"},
		{coord + "2 -2 1\n", iface.Matrix, iface.F64, "x.mtx:2: expected the sizes `rows columns entries`, found \"-2\""},
		{coord + "2 99999999999999999999 1\n", iface.Matrix, iface.F64, "x.mtx:2: expected the sizes `rows columns entries`, found \"99999999999999999999\""},
		{array + "% c\n2 2 4\n", iface.Matrix, iface.F64, "x.mtx:3: expected the sizes `rows columns` and then the end of the line, found \"4\""},
		{banner + "coordinate real symmetric\n2 3 0\n", iface.Matrix, iface.F64, "x.mtx:2: expected as many rows as columns in a symmetric matrix, found 2 x 3"},
		{coord + "4000000000000000 4000000000000000 1\n1 1 1\n", iface.Matrix, iface.F64, "x.mtx:2: expected data that memory can hold, found size 4000000000000000 x 4000000000000000"},
		{coord + "2 2 1\n1 1 1\n", iface.Vector, iface.F64, "x.mtx:2: expected vector[f64], found size 2 x 2"},
		{coord + "2 2 2\n1 1 1\n", iface.Matrix, iface.F64, "x.mtx:4: expected 2 entries, found 1"},
		{coord + "2 2 1\n1 1 1\n2 2 1\n", iface.Matrix, iface.F64, "x.mtx:4: expected the end of the file, found \"2\""},
		{coord + "2 2 1\n3 1 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected a row from 1 to 2, found \"3\""},
		{coord + "2 2 1\n1 0 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected a column from 1 to 2, found \"0\""},
		{coord + "2 2 1\n1.0 1 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected an entry `row column value`, found \"1.0\""},
		{coord + "2 2 1\n1 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected an entry `row column value`, found the end of the line"},
		{coord + "2 2 1\n1 1 1 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected an entry `row column value` and then the end of the line, found \"1\""},
		{coord + "2 2 1\n1 1 x\n", iface.Matrix, iface.F64, "x.mtx:3: expected a number, found \"x\""},
		{coord + "2 2 1\n1 1 1e39\n", iface.Matrix, iface.F32, "x.mtx:3: expected a number that f32 can hold, found \"1e39\""},
		{coord + "2 2 2\n1 1 127\n1 1 1\n", iface.Matrix, iface.I8, "x.mtx:4: expected an integer that i8 can hold, found entries of one place that add up to more"},
		{coord + "2 2 2\n1 1 -1e308\n1 1 -1e308\n", iface.Matrix, iface.F64, "x.mtx:4: expected a number that f64 can hold, found entries of one place that add up to more"},
		{coord + "2 2 2\n1 1 3e38\n1 1 3e38\n", iface.Matrix, iface.F32, "x.mtx:4: expected a number that f32 can hold, found entries of one place that add up to more"},
		{banner + "coordinate real skew-symmetric\n2 2 2\n2 1 -1e308\n2 1 -1e308\n", iface.Matrix, iface.F64, "x.mtx:4: expected a number that f64 can hold, found entries of one place that add up to more"},
		{array + strings.Repeat("0", 300_000) + "3\n", iface.Matrix, iface.F64, "x.mtx:2: expected the sizes `rows columns`, found \"" + strings.Repeat("0", 40) + "\"…"},
		{banner + "coordinate pattern general\n2 2 1\n1 1 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected an entry `row column` and then the end of the line, found \"1\""},
		{banner + "coordinate real symmetric\n2 2 1\n1 2 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected an entry on or below the diagonal of a symmetric matrix, found row 1, column 2"},
		{banner + "coordinate real skew-symmetric\n2 2 1\n2 2 1\n", iface.Matrix, iface.F64, "x.mtx:3: expected an entry below the diagonal of a skew-symmetric matrix, found row 2, column 2"},
		{banner + "coordinate real skew-symmetric\n2 2 1\n2 1 1\n", iface.Matrix, iface.U64, "x.mtx:3: expected an integer that u64 can hold, found \"1\""},
		{array + "2 2\n1\n2\n3\n", iface.Matrix, iface.F64, "x.mtx:6: expected the element of row 2, column 2, found the end of the file"},
		{array + "1 2\n1\n2\n3\n", iface.Matrix, iface.F64, "x.mtx:5: expected the end of the file, found \"3\""},
		{array + "1 2\n1 2\n", iface.Matrix, iface.F64, "x.mtx:3: expected one element and then the end of the line, found \"2\""},
		{array + "1 1\n1.5\n", iface.Matrix, iface.I8, "x.mtx:3: expected an integer that i8 can hold, found \"1.5\""},
	} {
		refused(t, newFS("x.mtx", c.data), "x.mtx", c.kind, c.elem, nil, c.text)
	}
}

// TestMtxVector: a vector inside a strided matrix is not a thing, but a matrix
// with gaps is; what lies in the gaps stays.
func TestMtxGaps(t *testing.T) {
	for _, data := range []string{
		banner + "coordinate real general\n2 2 2\n1 1 1\n2 2 4\n",
		banner + "array real general\n2 2\n1\n0\n0\n4\n",
	} {
		in, err := Open(newFS("x.mtx", data), "x.mtx", Want{Kind: iface.Matrix, Elem: iface.F64})
		if err != nil {
			t.Fatal(err)
		}
		x := []float64{9, 9, 50, 9, 9, 50}
		if err := in.Fill(buffer(x, iface.F64, 3, 2, 2)); err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{1, 0, 50, 0, 4, 50} {
			if x[i] != want {
				t.Errorf("element %d is %v, want %v", i, x[i], want)
			}
		}
	}
}

func TestParseNumber(t *testing.T) {
	for _, c := range []struct {
		in   string
		want num
	}{
		{"0", num{}}, {"+7", num{i: 7}}, {"-0", num{form: floatNum, f: math.Copysign(0, -1)}}, {"007", num{i: 7}},
		{"9223372036854775807", num{i: math.MaxInt64}}, {"-9223372036854775808", num{i: math.MinInt64}},
		{"9223372036854775808", num{form: uintNum, u: 1 << 63}}, {"18446744073709551615", num{form: uintNum, u: math.MaxUint64}},
		{"18446744073709551616", num{form: floatNum, f: 0x1p64}}, {"-9223372036854775809", num{form: floatNum, f: -0x1p63}},
		{"1.", num{form: floatNum, f: 1}}, {".5", num{form: floatNum, f: .5}}, {"-.5e1", num{form: floatNum, f: -5}},
		{"1e23", num{form: floatNum, f: 1e23}}, {"1d3", num{form: floatNum, f: 1000}}, {"1.5D-3", num{form: floatNum, f: .0015}},
		{"9007199254740993.0", num{form: floatNum, f: 9007199254740993.0}},
		{"0.1", num{form: floatNum, f: 0.1}}, {"123456789012345678901234567890", num{form: floatNum, f: 123456789012345678901234567890}},
		{"4.9e-324", num{form: floatNum, f: 5e-324}}, {"1e-400", num{form: floatNum, f: 0}},
		{"1.7976931348623157e308", num{form: floatNum, f: math.MaxFloat64}},
		{"inf", num{form: floatNum, f: math.Inf(1)}}, {"-Infinity", num{form: floatNum, f: math.Inf(-1)}},
		{"0." + strings.Repeat("0", 400) + "1e401", num{form: floatNum, f: 1}},
	} {
		if got, ok := parseNumber([]byte(c.in)); !ok || got != c.want || math.Signbit(got.f) != math.Signbit(c.want.f) {
			t.Errorf("%s: %+v %v, want %+v", c.in, got, ok, c.want)
		}
	}
	for _, in := range []string{"", "+", "-", ".", "e5", "1e", "1e+", "1.2.3", "1-2", "0x10", "1_0", "--1", "+-1", "1e400", "nano", "in", "1f", "1e5e5", "٣"} {
		if got, ok := parseNumber([]byte(in)); ok {
			t.Errorf("%q is no number, and became %+v", in, got)
		}
	}
	if n, ok := parseNumber([]byte("NaN")); !ok || !math.IsNaN(n.f) {
		t.Error("NaN")
	}
}

func BenchmarkMtx(b *testing.B) {
	data := testFile(b, "bcsstk13.mtx")
	fsys := newFS("x.mtx", data)
	x := make([]float64, 2003*2003)
	buf := buffer(x, iface.F64, 2003, 2003, 2003)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		in, err := Open(fsys, "x.mtx", Want{Kind: iface.Matrix, Elem: iface.F64})
		if err != nil {
			b.Fatal(err)
		}
		if err := in.Fill(buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNpy(b *testing.B) {
	x := make([]float64, 1<<20)
	buf := buffer(x, iface.F64, 0, len(x))
	fsys := newFS()
	if err := Save(fsys, "x.npy", buf); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(x)) * 8)
	for b.Loop() {
		in, err := Open(fsys, "x.npy", Want{Kind: iface.Vector, Elem: iface.F64})
		if err != nil {
			b.Fatal(err)
		}
		if err := in.Fill(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// Numbers in text become what they are in the wanted type, not what float64 makes of
// them on the way there.
func TestNumbersRoundOnce(t *testing.T) {
	loaded(t, newFS("x.csv", "7.038531e-26\n16777217.0000000001\n340282356779733661637539395458142568447\n-3.5\n1e-45\n0.7006492321624086e-45\n"), "x.csv", iface.Vector, iface.F32,
		[]float32{7.038531e-26, 16777218, math.MaxFloat32, -3.5, 1e-45, 1e-45}, 6)
	loaded(t, newFS("x.mtx", "%%MatrixMarket matrix array real general\n1 1\n7.038531D-26\n"), "x.mtx", iface.Variable, iface.F32, []float32{7.038531e-26})
	loaded(t, newFS("i.csv", "9007199254740993.0\n-9.223372036854775808e18\n9223372036854775807.\n900719925474099300d-2\n0.0e99999999999999999999\n-0.\n1e3\n"), "i.csv", iface.Vector, iface.I64,
		[]int64{9007199254740993, math.MinInt64, math.MaxInt64, 9007199254740993, 0, 0, 1000}, 7)
	loaded(t, newFS("u.csv", "1.8446744073709551615e19\n000.00018446744073709551615E+23\n"), "u.csv", iface.Vector, iface.U64,
		[]uint64{math.MaxUint64, math.MaxUint64}, 2)
	for _, bad := range []string{"9007199254740992.5", "8.0000000000000001", "9223372036854775808.0", "-9.223372036854775809e18", "1e99", "1e-99999999999999999999"} {
		refused(t, newFS("i.csv", bad), "i.csv", iface.Vector, iface.I64, nil, fmt.Sprintf("i.csv:1: expected an integer that i64 can hold in column 1, found %q", bad))
	}
}

// Every float32 in a stretch of all their bits reads back as it was written.
func TestFloat32Text(t *testing.T) {
	for bits := uint32(0); bits < 0x7f800000; bits += 40_961 {
		want := math.Float32frombits(bits)
		n, ok := parseFor(iface.F32, appendElem(nil, want))
		if got, held := to[float32](n); !ok || !held || got != want {
			t.Fatalf("%v reads back as %v", want, got)
		}
	}
}

// Entries that are not finite themselves add up to what floats have for that.
func TestMtxNotFinite(t *testing.T) {
	head := banner + "coordinate real general\n2 1 4\n"
	loaded(t, newFS("x.mtx", head+"1 1 inf\n1 1 1\n2 1 1e308\n2 1 -inf\n"), "x.mtx", iface.Vector, iface.F64,
		[]float64{math.Inf(1), math.Inf(-1)}, 2)
}
