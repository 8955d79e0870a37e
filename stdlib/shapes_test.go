package stdlib

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

func TestShapeErrors(t *testing.T) {
	m := func(rows, cols int) *iface.Buffer { return dense(rows, cols, cols, make([]float64, rows*cols)) }
	v := func(n int) *iface.Buffer { return vec(make([]float64, n)) }
	v32 := vec(make([]float32, 3))
	ints := vec(make([]int32, 3))
	x := variable(new(float64))
	at := variable(new(int64))
	gemmArgs := []iface.Scalar{num(1), num(1), str("n"), str("n")}
	gemmT := []iface.Scalar{num(1), num(1), str("t"), str("n")}
	trsmArgs := []iface.Scalar{num(1), str("l"), str("l"), str("n"), str("n")}
	for _, c := range []struct {
		name string
		bufs []*iface.Buffer
		args []iface.Scalar
		want engine.ShapeError
	}{
		{"gemm", bufs(m(512, 1024), m(512, 512), m(1024, 512)), gemmArgs, engine.ShapeError{
			Message: "the inner sizes of `gemm` differ: 1024 and 512", Operands: []int{0, 1}, Details: []string{"512 x 1024", "512 x 512"},
			Help: "A.cols must equal B.rows; did you mean `ta = \"t\"`?"}},
		{"gemm", bufs(m(2, 3), m(4, 3), m(2, 4)), gemmArgs, engine.ShapeError{
			Message: "the inner sizes of `gemm` differ: 3 and 4", Operands: []int{0, 1}, Details: []string{"2 x 3", "4 x 3"},
			Help: "A.cols must equal B.rows; did you mean `tb = \"t\"`?"}},
		{"gemm", bufs(m(2, 3), m(3, 4), m(2, 4)), gemmT, engine.ShapeError{
			Message: "the inner sizes of `gemm` differ: 2 and 3", Operands: []int{0, 1}, Details: []string{"2 x 3", "3 x 4"},
			Help: "A.rows must equal B.rows; did you mean `ta = \"n\"`?"}},
		{"gemm", bufs(m(2, 3), m(5, 7), m(2, 4)), gemmArgs, engine.ShapeError{
			Message: "the inner sizes of `gemm` differ: 3 and 5", Operands: []int{0, 1}, Details: []string{"2 x 3", "5 x 7"},
			Help: "A.cols must equal B.rows"}},
		{"gemm", bufs(m(2, 3), m(2, 4), m(2, 4)), gemmArgs, engine.ShapeError{ // op(A) * B would be 3 x 4
			Message: "the inner sizes of `gemm` differ: 3 and 2", Operands: []int{0, 1}, Details: []string{"2 x 3", "2 x 4"},
			Help: "A.cols must equal B.rows"}},
		{"gemm", bufs(m(2, 3), m(4, 3), m(4, 2)), gemmArgs, engine.ShapeError{ // A * op(B) would be 2 x 4
			Message: "the inner sizes of `gemm` differ: 3 and 4", Operands: []int{0, 1}, Details: []string{"2 x 3", "4 x 3"},
			Help: "A.cols must equal B.rows"}},
		{"gemm", bufs(m(2, 3), m(3, 4), m(4, 2)), gemmArgs, engine.ShapeError{
			Message: "the result of `gemm` is 2 x 4, and `C` has size 4 x 2", Operands: []int{2}, Details: []string{"4 x 2"}}},
		{"gemm", bufs(m(2, 3), m(3, 4), m(2, 4)), []iface.Scalar{num(1), num(1), str("N"), str("n")}, engine.ShapeError{
			Message: "`ta` of `gemm` is \"N\", and must be \"n\", \"t\" or \"c\"", Arg: "ta", Help: "`\"n\"` takes A as it is, `\"t\"` transposed, `\"c\"` conjugate transposed"}},
		{"gemv", bufs(m(2, 3), v(2), v(3)), []iface.Scalar{num(1), num(1), str("n")}, engine.ShapeError{
			Message: "the inner sizes of `gemv` differ: 3 and 2", Operands: []int{0, 1}, Details: []string{"2 x 3", "2 elements"},
			Help: "A.cols must equal x.n; did you mean `ta = \"t\"`?"}},
		{"gemv", bufs(m(2, 3), v(2), v(2)), []iface.Scalar{num(1), num(1), str("n")}, engine.ShapeError{ // op(A) * x has 3 elements
			Message: "the inner sizes of `gemv` differ: 3 and 2", Operands: []int{0, 1}, Details: []string{"2 x 3", "2 elements"},
			Help: "A.cols must equal x.n"}},
		{"gemv", bufs(m(2, 3), v(3), v(1)), []iface.Scalar{num(1), num(1), str("n")}, engine.ShapeError{
			Message: "the result of `gemv` is 2 elements long, and `y` has 1 element", Operands: []int{2}, Details: []string{"1 element"}}},
		{"ger", bufs(v(2), v(3), m(3, 2)), []iface.Scalar{num(1)}, engine.ShapeError{
			Message: "the result of `ger` is 2 x 3, and `A` has size 3 x 2", Operands: []int{2}, Details: []string{"3 x 2"}}},
		{"trsm", bufs(m(3, 3), m(4, 3)), trsmArgs, engine.ShapeError{
			Message: "the inner sizes of `trsm` differ: 3 and 4", Operands: []int{0, 1}, Details: []string{"3 x 3", "4 x 3"},
			Help: "A.cols must equal B.rows; did you mean `side = \"r\"`?"}},
		{"trsm", bufs(m(3, 4), m(4, 3)), trsmArgs, engine.ShapeError{
			Message: "`A` of `trsm` must be square, and has size 3 x 4", Operands: []int{0}, Details: []string{"3 x 4"}}},
		{"trsm", bufs(m(3, 3), m(3, 3)), []iface.Scalar{num(1), str("x"), str("l"), str("n"), str("n")}, engine.ShapeError{
			Message: "`side` of `trsm` is \"x\", and must be \"l\" or \"r\"", Arg: "side", Help: "`\"l\"` puts A on the left, `\"r\"` on the right"}},
		{"symm", bufs(m(3, 3), m(3, 2), m(2, 3)), []iface.Scalar{num(1), num(1), str("l"), str("l")}, engine.ShapeError{
			Message: "the result of `symm` is 3 x 2, and `C` has size 2 x 3", Operands: []int{2}, Details: []string{"2 x 3"}}},
		{"syrk", bufs(m(3, 4), m(4, 4)), []iface.Scalar{num(1), num(1), str("l"), str("n")}, engine.ShapeError{
			Message: "the result of `syrk` is 3 x 3, and `C` has size 4 x 4", Operands: []int{1}, Details: []string{"4 x 4"}}},
		{"trsv", bufs(m(3, 3), v(2)), []iface.Scalar{str("l"), str("n"), str("n")}, engine.ShapeError{
			Message: "the inner sizes of `trsv` differ: 3 and 2", Operands: []int{0, 1}, Details: []string{"3 x 3", "2 elements"},
			Help: "A.rows must equal x.n"}},
		{"potrf", bufs(m(3, 4)), []iface.Scalar{str("l")}, engine.ShapeError{
			Message: "`A` of `potrf` must be square, and has size 3 x 4", Operands: []int{0}, Details: []string{"3 x 4"}}},
		{"potrf", bufs(m(3, 3)), []iface.Scalar{str("")}, engine.ShapeError{
			Message: "`uplo` of `potrf` is \"\", and must be \"l\" or \"u\"", Arg: "uplo", Help: "`\"l\"` is the lower triangle, `\"u\"` the upper"}},
		{"getrs_nopiv", bufs(m(3, 3), m(2, 3)), nil, engine.ShapeError{
			Message: "the inner sizes of `getrs_nopiv` differ: 3 and 2", Operands: []int{0, 1}, Details: []string{"3 x 3", "2 x 3"},
			Help: "A.cols must equal B.rows"}},
		{"transpose", bufs(m(3, 2), m(3, 2)), nil, engine.ShapeError{
			Message: "the result of `transpose` is 2 x 3, and `B` has size 3 x 2", Operands: []int{1}, Details: []string{"3 x 2"}}},
		{"axpy", bufs(v(4), v(5)), []iface.Scalar{num(1)}, engine.ShapeError{
			Message: "the sizes of `axpy` differ: 4 elements and 5 elements", Operands: []int{0, 1}, Details: []string{"4 elements", "5 elements"}}},
		{"copy", bufs(v(4), m(2, 2)), nil, engine.ShapeError{
			Message: "`copy` needs two vectors or two matrices, and got a vector and a matrix", Operands: []int{0, 1}, Details: []string{"4 elements", "2 x 2"},
			Help: "rows and columns of a matrix are vectors after `pick`"}},
		{"axpy", bufs(v32, v(3)), []iface.Scalar{num(1)}, engine.ShapeError{
			Message: "`axpy` needs one element type, and got f32 and f64", Operands: []int{0, 1}, Details: []string{"vector[f32], so T is f32", "vector[f64]"},
			Help: "codelet axpy(alpha: T, x: R dense[T], y: RW dense[T])"}},
		{"scal", bufs(ints), []iface.Scalar{num(1)}, engine.ShapeError{
			Message: "`scal` computes with f32 or f64 or c64 or c128 or f16 or bf16, and `x` has elements of type i32", Operands: []int{0}, Details: []string{"vector[i32]"}}},
		{"dot", bufs(v(2), v(2), v(1)), nil, engine.ShapeError{
			Message: "`acc` of `dot` is a variable, and got a vector", Operands: []int{2}, Details: []string{"vector[f64]"},
			Help: "codelet dot(x: R vector[T], y: R vector[T], acc: RW variable[T])"}},
		{"iamax", bufs(v(2), x), nil, engine.ShapeError{
			Message: "`out` of `iamax` has elements of type i64, and got f64", Operands: []int{1}, Details: []string{"variable[f64]"},
			Help: "codelet iamax(x: R vector[T], out: W variable[i64])"}},
		{"iamax", bufs(v(0), at), nil, engine.ShapeError{
			Message: "`iamax` needs at least one element, and `x` has none", Operands: []int{0}, Details: []string{"0 elements"}}},
		{"dot", bufs(v(2), v(2)), nil, engine.ShapeError{
			Message: "`dot` takes 3 operands and 0 scalars, and got 2 and 0", Help: "codelet dot(x: R vector[T], y: R vector[T], acc: RW variable[T])"}},
	} {
		got := shapeError(t, "std/blas", c.name, c.bufs, c.args...)
		if d := cmp.Diff(&c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestArgumentErrors(t *testing.T) {
	x := vec(make([]float64, 4))
	f := vec(make([]float32, 4))
	bins := vec(make([]int64, 3))
	none := vec([]int64{})
	inf := math.Inf(1)
	for _, c := range []struct {
		mod, name string
		bufs      []*iface.Buffer
		args      []iface.Scalar
		arg, text string
	}{
		{"std/random", "uniform", bufs(x), []iface.Scalar{whole(1), num(2), num(1)}, "hi", "`uniform` needs finite bounds with `lo` not above `hi`, and got 2 and 1"},
		{"std/random", "uniform", bufs(x), []iface.Scalar{whole(1), num(0), num(inf)}, "hi", "`uniform` needs finite bounds with `lo` not above `hi`, and got 0 and +Inf"},
		{"std/random", "uniform", bufs(x), []iface.Scalar{whole(1), num(-1e308), num(1e308)}, "hi", "`uniform` needs finite bounds with `lo` not above `hi`, and got -1e+308 and 1e+308"},
		{"std/random", "uniform", bufs(f), []iface.Scalar{whole(1), num(0), num(1e300)}, "hi", "`uniform` needs bounds that f32 can hold, and got 0 and 1e+300"},
		{"std/random", "normal", bufs(x), []iface.Scalar{whole(1), num(inf), num(1)}, "mean", "`normal` needs a finite mean, and got +Inf"},
		{"std/random", "normal", bufs(x), []iface.Scalar{whole(1), num(0), num(-1)}, "sd", "`normal` needs a standard deviation of 0 or more, and got -1"},
		{"std/random", "normal", bufs(f), []iface.Scalar{whole(1), num(1e300), num(1)}, "sd", "`normal` needs numbers that f32 can hold, and got a mean of 1e+300 and a standard deviation of 1"},
		{"std/random", "normal", bufs(x), []iface.Scalar{whole(1), num(0), num(1e308)}, "sd", "`normal` needs numbers that f64 can hold, and got a mean of 0 and a standard deviation of 1e+308"},
		{"std/reduce", "histogram", bufs(x, bins), []iface.Scalar{num(1), num(1)}, "hi", "`histogram` needs `lo` below `hi`, and got 1 and 1"},
		{"std/reduce", "histogram", bufs(x, bins), []iface.Scalar{num(-1e308), num(1e308)}, "hi", "`histogram` cannot divide the range from -1e+308 to 1e+308 into bins"},
		{"std/reduce", "histogram", bufs(x, none), []iface.Scalar{num(0), num(1)}, "", "`histogram` needs at least one element, and `bins` has none"},
	} {
		if e := shapeError(t, c.mod, c.name, c.bufs, c.args...); e.Message != c.text || e.Arg != c.arg {
			t.Errorf("%s: %q of %q, want %q of %q", c.name, e.Message, e.Arg, c.text, c.arg)
		}
	}
	for _, name := range []string{"uniform", "normal"} {
		e := shapeError(t, "std/random", name, bufs(vec(make([]int32, 3))), whole(1), num(0), num(1))
		if e.Message != "`"+name+"` computes with f32 or f64, and `x` has elements of type i32" {
			t.Error(e)
		}
	}
}
