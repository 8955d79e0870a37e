package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/lower"
)

// compileOne compiles the first codelet of a source.
func compileOne(t testing.TB, text string, targs map[byte]iface.Elem) *Program {
	t.Helper()
	return compile(kerneltest.Lowered(t, text, targs), cheapest)
}

// run runs p and fails the test on an error.
func run(t testing.TB, p *Program, bufs []*iface.Buffer, args ...iface.Scalar) {
	t.Helper()
	if err := p.Run(context.Background(), bufs, args); err != nil {
		t.Fatal(err)
	}
}

// plans compiles a source with every plan.
func plans(t testing.TB, text string, targs map[byte]iface.Elem) map[string]*Program {
	t.Helper()
	fn := kerneltest.Lowered(t, text, targs)
	compile(fn, cheapest).SlowLoops() // of any body
	return compiledAll(fn)
}

// compiledAll compiles a body with every plan.
func compiledAll(fn *ir.Func) map[string]*Program {
	return map[string]*Program{"cheapest": compile(fn, cheapest), "one by one": compile(fn, oneByOne), "strips": compile(fn, alwaysLast)}
}

var nan = math.NaN()

// TestExpressions evaluates y[i] = EXPR for f64 vectors.
func TestExpressions(t *testing.T) {
	x := []float64{1.5, -2.25, 0, 3, -0.5, 1e300, math.Inf(1), nan}
	inf := math.Inf(1)
	for expr, want := range map[string][]float64{
		"x[i]":                      x,
		"-x[i]":                     {-1.5, 2.25, math.Copysign(0, -1), -3, 0.5, -1e300, -inf, nan},
		"abs(x[i])":                 {1.5, 2.25, 0, 3, 0.5, 1e300, inf, nan},
		"x[i] + 1":                  {2.5, -1.25, 1, 4, 0.5, 1e300, inf, nan},
		"1 - x[i]":                  {-0.5, 3.25, 1, -2, 1.5, -1e300, -inf, nan},
		"x[i] * x[i]":               {2.25, 5.0625, 0, 9, 0.25, inf, inf, nan},
		"x[i] ** 2":                 {2.25, 5.0625, 0, 9, 0.25, inf, inf, nan},
		"x[i] / 0":                  {inf, -inf, nan, inf, -inf, inf, inf, nan},
		"x[i] // 1":                 {1, -3, 0, 3, -1, 1e300, inf, nan},
		"x[i] % 2":                  {1.5, 1.75, 0, 1, 1.5, math.Mod(1e300, 2), nan, nan},
		"x[i] % -2":                 {-0.5, -0.25, 0, -1, -0.5, math.Mod(1e300, 2), nan, nan},
		"2.0 ** x[i]":               {math.Pow(2, 1.5), math.Pow(2, -2.25), 1, 8, math.Pow(2, -0.5), inf, inf, nan},
		"i":                         {0, 1, 2, 3, 4, 5, 6, 7},
		"7 - 2 * i":                 {7, 5, 3, 1, -1, -3, -5, -7},
		"i // 2 * 10 + i % 2":       {0, 1, 10, 11, 20, 21, 30, 31},
		"-i // 2":                   {0, -1, -1, -2, -2, -3, -3, -4},
		"-i % 3":                    {0, 2, 1, 0, 2, 1, 0, 2},
		"i % -3":                    {0, -2, -1, 0, -2, -1, 0, -2},
		"i / 2":                     {0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5},
		"i ** 3":                    {0, 1, 8, 27, 64, 125, 216, 343},
		"int(x[i])":                 {1, -2, 0, 3, 0, math.MaxInt64, math.MaxInt64, 0},
		"float(i) + 0.5":            {0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5},
		"min(x[i], 1)":              {1, -2.25, 0, 1, -0.5, 1, 1, nan},
		"max(0, x[i])":              {1.5, 0, 0, 3, 0, 1e300, inf, nan},
		"max(i, 3, 5 - i)":          {5, 4, 3, 3, 4, 5, 6, 7},
		"floor(x[i])":               {1, -3, 0, 3, -1, 1e300, inf, nan},
		"ceil(x[i])":                {2, -2, 0, 3, math.Copysign(0, -1), 1e300, inf, nan},
		"round(x[i])":               {2, -2, 0, 3, -1, 1e300, inf, nan},
		"sqrt(x[i])":                {math.Sqrt(1.5), nan, 0, math.Sqrt(3), nan, 1e150, inf, nan},
		"cbrt(i)":                   {0, 1, math.Cbrt(2), math.Cbrt(3), math.Cbrt(4), math.Cbrt(5), math.Cbrt(6), math.Cbrt(7)},
		"exp(i) + log(i) + log2(i)": {-inf, math.E, math.Exp(2) + math.Log(2) + 1, math.Exp(3) + math.Log(3) + math.Log2(3), math.Exp(4) + math.Log(4) + 2, math.Exp(5) + math.Log(5) + math.Log2(5), math.Exp(6) + math.Log(6) + math.Log2(6), math.Exp(7) + math.Log(7) + math.Log2(7)},
		"sin(x[i])":                 {math.Sin(1.5), math.Sin(-2.25), 0, math.Sin(3), math.Sin(-0.5), math.Sin(1e300), nan, nan},
		"cos(i) + tan(i)":           {1, math.Cos(1) + math.Tan(1), math.Cos(2) + math.Tan(2), math.Cos(3) + math.Tan(3), math.Cos(4) + math.Tan(4), math.Cos(5) + math.Tan(5), math.Cos(6) + math.Tan(6), math.Cos(7) + math.Tan(7)},
		"tanh(x[i]) + erf(x[i])":    {math.Tanh(1.5) + math.Erf(1.5), math.Tanh(-2.25) + math.Erf(-2.25), 0, math.Tanh(3) + math.Erf(3), math.Tanh(-0.5) + math.Erf(-0.5), 2, 2, nan},
		"pow(x[i], 3.0)":            {math.Pow(1.5, 3), math.Pow(-2.25, 3), 0, 27, -0.125, inf, inf, nan},
		"fma(x[i], 2, 1)":           {4, -3.5, 1, 7, 0, 2e300, inf, nan},
		"select(i > 3, x[i], 1)":    {1, 1, 1, 1, -0.5, 1e300, inf, nan},
		"if i > 3 then x[i] else 1": {1, 1, 1, 1, -0.5, 1e300, inf, nan},
		"if n > 3 then x[i] else 1": x,
		"if b then 1 else x[i]":     {1, 1, 1, 1, 1, 1, 1, 1},
		"if x[i] > 0 then 1 else 0": {1, 0, 0, 1, 0, 1, 1, 0},
		"if x[i] >= 0 and i < 4 then 1 else if x[i] != x[i] or i == 4 then 2 else 3": {1, 3, 1, 1, 2, 3, 3, 2},
		"if not (i == 2) == b then 1 else 0":                                         {1, 1, 0, 1, 1, 1, 1, 1},
		"if (i > 2) != (i > 4) then 1 else 0":                                        {0, 0, 0, 1, 1, 0, 0, 0},
		"x[x.n - 1 - i]":                                                             {nan, inf, 1e300, -0.5, 3, 0, -2.25, 1.5},
		"x[i * i % 8]":                                                               {1.5, -2.25, -0.5, -2.25, 1.5, -2.25, -0.5, -2.25},
		"if i > 0 then x[i - 1] else 9":                                              {9, 1.5, -2.25, 0, 3, -0.5, 1e300, inf},
		"if i > 0 and x[i - 1] > 0 then 1 else 0":                                    {0, 1, 0, 0, 1, 0, 1, 1},
		"if i == 0 or x[i - 1] > 0 then 1 else 0":                                    {1, 1, 0, 0, 1, 0, 1, 1},
		"if i > 4 then 100 // (i - 4) else 0":                                        {0, 0, 0, 0, 0, 100, 50, 33},
		"if i > 4 then x[(i - 5) * 7 % 5] else i // max(i, 1)":                       {0, 1, 1, 1, 1, 1.5, 0, -0.5},
		"sum k in 0..i { k }":                                                        {0, 0, 1, 3, 6, 10, 15, 21},
		"sum k in 0..=3 { i * k }":                                                   {0, 6, 12, 18, 24, 30, 36, 42},
		"prod k in 1..4 { float(i + k) }":                                            {6, 24, 60, 120, 210, 336, 504, 720},
		"max k in 0..3 { x[(i + k) % 4] }":                                           {1.5, 3, 3, 3, 1.5, 3, 3, 3},
		"min k, q in 0..2, 0..i { k - q }":                                           {inf, 0, -1, -2, -3, -4, -5, -6},
		"sum k in x { 1 }":                                                           {8, 8, 8, 8, 8, 8, 8, 8},
		"f + n":                                                                      {10.5, 10.5, 10.5, 10.5, 10.5, 10.5, 10.5, 10.5},
		"x.offset + x.n":                                                             {108, 108, 108, 108, 108, 108, 108, 108},
		"pi * 0 + inf":                                                               {inf, inf, inf, inf, inf, inf, inf, inf},
		"idx[i]":                                                                     {7, 6, 5, 4, 3, 2, 1, 0},
		"x[idx[i]]":                                                                  {nan, inf, 1e300, -0.5, 3, 0, -2.25, 1.5},
		"1 / 4":                                                                      {0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25},
		"7 // 2 + 2 ** 3":                                                            {11, 11, 11, 11, 11, 11, 11, 11},
	} {
		if strings.HasPrefix(expr, "min k, q") {
			want = append([]float64{math.MaxInt64}, want[1:]...)
		}
		src := "codelet c(x: R vector[f64], idx: R vector[i32], y: W vector[f64], n: int, f: float, b: bool) {\n each i in y { y[i] = " + expr + " }\n}\n"
		for name, p := range plans(t, src, nil) {
			y := make([]float64, len(x))
			xb := kerneltest.VectorOf(x)
			xb.Off[0] = 100
			run(t, p, kerneltest.Buffers(xb, kerneltest.VectorOf([]int32{7, 6, 5, 4, 3, 2, 1, 0}), kerneltest.VectorOf(y)), iface.Int(10), iface.Float(0.5), iface.Bool(true))
			if d := cmp.Diff(want, y, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-15, 0)); d != "" {
				t.Errorf("%s, %s: %s", expr, name, d)
			}
		}
	}
}

// TestIntegers: arithmetic of integers wraps in their own type, stores wrap.
func TestIntegers(t *testing.T) {
	type row struct {
		expr string
		want []int64 // for i8 {127, -128, -7, 0} with u8 {255, 1, 200, 0}
	}
	for _, tt := range []row{
		{"a[i] + 1", []int64{-128, -127, -6, 1}},
		{"a[i] - 1", []int64{126, 127, -8, -1}},
		{"-a[i]", []int64{-127, -128, 7, 0}},
		{"abs(a[i])", []int64{127, -128, 7, 0}},
		{"a[i] * a[i]", []int64{1, 0, 49, 0}},
		{"a[i] + 1000", []int64{1127, 872, 993, 1000}}, // 1000 does not fit i8: int
		{"u[i] + 1", []int64{0, 2, 201, 1}},
		{"-u[i]", []int64{1, 255, 56, 0}},
		{"u[i] - 1", []int64{254, 0, 199, 255}},
		{"u[i] + -1", []int64{254, 0, 199, -1}},     // -1 does not fit u8: int
		{"u[i] + a[i]", []int64{126, -127, -63, 0}}, // of equal width: signed
		{"a[i] // 2", []int64{63, -64, -4, 0}},
		{"a[i] // -1", []int64{-127, -128, 7, 0}},
		{"a[i] % 4", []int64{3, 0, 1, 0}},
		{"a[i] % -4", []int64{-1, 0, -3, 0}},
		{"u[i] // 3", []int64{85, 0, 66, 0}},
		{"u[i] % 7", []int64{3, 1, 4, 0}},
		{"a[i] ** 3", []int64{127, 0, -87, 0}},
		{"min(a[i], u[i])", []int64{-1, -128, -56, 0}},
		{"max(u[i], 100)", []int64{255, 100, 200, 100}},
		{"if a[i] < u[i] then 1 else 0", []int64{0, 1, 0, 0}},
		{"if w[i] > 5 then 1 else 0", []int64{1, 0, 1, 0}},
		{"w[i] // 2", []int64{math.MaxInt64, 0, 4611686018427387904, 0}},
		{"w[i] % 10", []int64{5, 1, 8, 0}},
		{"min(w[i], 3)", []int64{3, 1, 3, 0}},
		{"int(float(w[i]))", []int64{math.MaxInt64, 1, math.MaxInt64, 0}},
		{"int(w[i])", []int64{-1, 1, math.MinInt64, 0}},
		{"sum k in a { a[k] }", []int64{-8, -8, -8, -8}},
		{"prod k in a { u[k] + 1 }", []int64{0, 0, 0, 0}},
		{"max k in a { u[k] }", []int64{255, 255, 255, 255}},
		{"min k in 0..0 { a[k] }", []int64{127, 127, 127, 127}},
		{"max k in 0..0 { a[k] }", []int64{-128, -128, -128, -128}},
		{"max k in 0..0 { u[k] }", []int64{0, 0, 0, 0}},
		{"min k in 0..0 { w[k] } - 1", []int64{-2, -2, -2, -2}},
		{"prod k in 0..0 { a[k] }", []int64{1, 1, 1, 1}},
		{"int(1e30) + 0 * i", []int64{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}},
		{"int(0.5 * a[i])", []int64{63, -64, -3, 0}},
	} {
		src := "codelet c(a: R vector[i8], u: R vector[u8], w: R vector[u64], y: W vector[i64]) {\n each i in y { y[i] = " + tt.expr + " }\n}\n"
		for name, p := range plans(t, src, nil) {
			y := make([]int64, 4)
			run(t, p, kerneltest.Buffers(kerneltest.VectorOf([]int8{127, -128, -7, 0}), kerneltest.VectorOf([]uint8{255, 1, 200, 0}),
				kerneltest.VectorOf([]uint64{math.MaxUint64, 1, 1 << 63, 0}), kerneltest.VectorOf(y)))
			if d := cmp.Diff(tt.want, y); d != "" {
				t.Errorf("%s, %s: %s", tt.expr, name, d)
			}
		}
	}
}

// stores runs y[i] = expr for one pair of types.
func stores[A, B ir.Number](t *testing.T, expr string, x []A, want []B) {
	t.Helper()
	src := "codelet c(x: R vector[" + iface.ElemOf[A]().String() + "], y: W vector[" + iface.ElemOf[B]().String() + "]) {\n each i in y { y[i] = " + expr + " }\n}\n"
	for name, p := range plans(t, src, nil) {
		y := make([]B, len(x))
		run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)))
		if d := cmp.Diff(want, y, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s, %s: %s", src, name, d)
		}
	}
}

func TestStores(t *testing.T) {
	stores(t, "x[i]", []int64{1, -1, 300, math.MinInt64}, []int8{1, -1, 44, 0})
	stores(t, "x[i]", []int64{1, -1, 300, math.MinInt64}, []uint8{1, 255, 44, 0})
	stores(t, "x[i]", []int64{1, -1, 70000, 5}, []int16{1, -1, 4464, 5})
	stores(t, "x[i]", []int64{1, -1, 70000, 5}, []uint16{1, 65535, 4464, 5})
	stores(t, "x[i]", []int64{1, -1, 1 << 40, 5}, []int32{1, -1, 0, 5})
	stores(t, "x[i]", []int64{1, -1, 1<<32 + 7, 5}, []uint32{1, math.MaxUint32, 7, 5})
	stores(t, "x[i]", []int64{1, -1}, []uint64{1, math.MaxUint64})
	stores(t, "x[i]", []uint64{math.MaxUint64, 1 << 63}, []float64{1 << 64, 1 << 63})
	stores(t, "x[i]", []uint64{math.MaxUint64, 1<<24 + 1}, []float32{1 << 64, 1 << 24})
	stores(t, "x[i]", []int64{1<<53 + 1, -3}, []float64{1 << 53, -3})
	stores(t, "x[i]", []float64{0.1, 1e300, nan}, []float32{float32(0.1), float32(math.Inf(1)), float32(nan)})
	stores(t, "x[i]", []float32{0.1}, []float64{float64(float32(0.1))})
	stores(t, "int(x[i])", []float32{1.9, -1.9, 1e30, float32(nan)}, []int64{1, -1, math.MaxInt64, 0})
	stores(t, "int(x[i])", []float64{300.7}, []uint8{44}) // int(x) is an int, and the store wraps
	stores(t, "0.1 * x[i]", []float32{3}, []float64{float64(float32(0.1) * 3)})
	stores(t, "float(x[i]) * 0.1", []float32{3}, []float64{0.30000000000000004})
	stores(t, "1.0 / 3.0 * x[i]", []float32{3}, []float64{float64(float32(1.0/3.0) * 3)})
	stores(t, "1e300 * x[i]", []float32{3}, []float64{3e300}) // 1e300 does not fit f32
	stores(t, "x[i] / 2", []int32{3}, []float64{1.5})
	stores(t, "sqrt(x[i])", []float32{2}, []float64{float64(float32(math.Sqrt(2)))})
	stores(t, "sqrt(x[i])", []int32{2}, []float64{math.Sqrt(2)})
	stores(t, "fma(x[i], x[i], 1e-8)", []float32{1 + 1e-4}, []float32{float32(float64(float32(1+1e-4))*float64(float32(1+1e-4)) + float64(float32(1e-8)))})
}

// typed runs a generic codelet on elements of type T and compares.
func typed[T ir.Number](t *testing.T, src string, want []T, in ...[]T) {
	t.Helper()
	for name, p := range plans(t, src, map[byte]iface.Elem{'T': iface.ElemOf[T]()}) {
		var list []*iface.Buffer
		for _, s := range in {
			list = append(list, kerneltest.VectorOf(append([]T(nil), s...)))
		}
		run(t, p, list, iface.Float(3))
		got := iface.Slice[T](list[len(list)-1])
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v, %s: %s", iface.ElemOf[T](), name, d)
		}
	}
}

func allTypes[T ir.Number](t *testing.T) {
	n := 1300 // more than two strips
	x, y, want := make([]T, n), make([]T, n), make([]T, n)
	for k := range x {
		x[k], y[k] = T(k%7), T(k%5)
		want[k] = y[k] + 3*x[k]
	}
	typed(t, "codelet axpy(a: T, x: R vector[T], y: RW vector[T]) { each i in y { y[i] += a * x[i] } }", want, x, y)
	typed(t, "codelet axpy(a: T, x: R vector[T], y: RW vector[T]) { for i in 0..y.n { y[i] += a * x[i] } }", want, x, y)
	for k := range x {
		want[k] = 3 * y[k]
	}
	typed(t, "codelet scal(a: T, v: RW vector[T]) { each i in v { v[i] *= a } }", want, y)
	for k := range x {
		want[k] = T(k % 5 * (k % 3))
	}
	typed(t, "codelet f(a: T, y: RW vector[T]) { each i in y { let q = i % 3\n y[i] *= q } }", want, y)
	total := T(0)
	for k := range x {
		total += T(x[k] * y[k])
	}
	typed(t, "codelet dot(a: T, x: R vector[T], y: R vector[T], acc: RW vector[T]) { acc[0] += sum i in x { x[i] * y[i] } }", []T{total}, x, y, []T{0})
	typed(t, "codelet m(a: T, x: R vector[T], acc: RW vector[T]) { acc[0] = max i in x { x[i] }\n acc[1] = min i in x { x[i] } + a }", []T{6, 3}, x, []T{0, 0})
}

func TestEveryElementType(t *testing.T) {
	allTypes[int8](t)
	allTypes[int16](t)
	allTypes[int32](t)
	allTypes[int64](t)
	allTypes[uint8](t)
	allTypes[uint16](t)
	allTypes[uint32](t)
	allTypes[uint64](t)
	allTypes[float32](t)
	allTypes[float64](t)
}

// TestStatements: control flow of bodies, on a vector of zeros.
func TestStatements(t *testing.T) {
	for _, tt := range []struct {
		body string
		want []float64
	}{
		{"each i in y { if i > 2 { y[i] = 1 } else if i == 1 { y[i] = 2 } else { y[i] = 3 } }", []float64{3, 2, 3, 1, 1}},
		{"each i in y { if i > 2 { y[i] = 1 } }", []float64{0, 0, 0, 1, 1}},
		{"each i in y { if i > 2 { if i > 3 { y[i] = 1 } else { y[i] = 2 } } }", []float64{0, 0, 0, 2, 1}},
		{"each i in y { let s = 0\nfor k in 0..i { s += k }\ny[i] = s }", []float64{0, 0, 1, 3, 6}},
		{"each i in y { let s = 0.0\nfor k in 0..4 { s += float(i * k) }\ny[i] = s }", []float64{0, 6, 12, 18, 24}},
		{"each i in y { let s = 0.0\nfor k in 0..4 { if k > i { s += 1 } }\ny[i] = s }", []float64{3, 2, 1, 0, 0}},
		{"each i in y { let s = i\nif i > 2 { s = 10 }\nlet q = s\ns = q + 1\ny[i] = s + 100 * q }", []float64{1, 102, 203, 1011, 1011}},
		{"each i in y { y[i] = i\nlet old = y[i]\ny[i] = 9\ny[i] += old }", []float64{9, 10, 11, 12, 13}},
		{"each i in y { let b = i > 2\nlet c = b\nif b and c { y[i] = 1 } }", []float64{0, 0, 0, 1, 1}},
		{"each i in y { let b = i > 2\nif i == 0 { b = true }\ny[i] = if b then 1 else 0 }", []float64{1, 0, 0, 1, 1}},
		{"each i in 1..=3 { y[i] = 1 }", []float64{0, 1, 1, 1, 0}},
		{"each i in y.n - 2..1 { y[i] = 1 }", []float64{0, 0, 0, 0, 0}},
		{"each i in 2..=2 { y[i] = 1 }", []float64{0, 0, 1, 0, 0}},
		{"for i in 1..y.n { y[i] = y[i - 1] + i }", []float64{0, 1, 3, 6, 10}},
		{"for i in 0..=2 { for k in i..3 { y[i] += k } }", []float64{3, 3, 2, 0, 0}},
		{"for k in 0..3 { each i in y { y[i] += i * k } }", []float64{0, 3, 6, 9, 12}},
		{"if y.n > 3 { each i in y { y[i] = 1 } } else { y[0] = 5 }", []float64{1, 1, 1, 1, 1}},
		{"let s = 1\nfor k in 0..4 { s *= 3 }\neach i in y { y[i] = s }", []float64{81, 81, 81, 81, 81}},
		{"each i in y { y[i] = i }\neach i in y { y[i] = 2 * y[i] }\ny[0] = sum i in y { y[i] }", []float64{20, 2, 4, 6, 8}},
		{"each i in y { y[i] = i }\nlet m = sum i in y { y[i] } / y.n\neach i in y { y[i] -= m }", []float64{-2, -1, 0, 1, 2}},
		{"each i in 0..2 { y[i] = sum a, b, c in 0..2, 0..3, 0..2 { a + 10 * b + 100 * c + 1000 * i } }", []float64{726, 12726, 0, 0, 0}},
		{"y[0] = sum a, b in 0..2, 0..3 { sum c in 0..b { a + c } }", []float64{5, 0, 0, 0, 0}},
		{"each i in y { y[i] -= 2 * y[i] + i }", []float64{0, -1, -2, -3, -4}},
		{"each i in y { let a = y[i]\ny[i] = a + 1\ny[i] = a + 2 }", []float64{2, 2, 2, 2, 2}},
		{"each i in y { y[i] = (if i > 2 then sum k in 0..i { k } else sum k in y { 1 }) }", []float64{5, 5, 5, 3, 6}},
		{"each i in y { y[i] = i + (sum k in y { 1.0 * k }) }", []float64{10, 11, 12, 13, 14}},
		{"each i in y { y[i] = i * 2 + (sum k in y { k * k * 1.0 }) * (i + 1) + (max k in y { k - 0.5 * i }) }", []float64{34, 65.5, 97, 128.5, 160}},
	} {
		// a sum over a written operand outside of each is fine; inside it is E0602
		src := "codelet c(y: RW vector[f64]) {\n" + tt.body + "\n}\n"
		f, cs := kerneltest.Codelets(t, "t.spu", src)
		if _, ds := lower.Generic(f, cs[0], kerneltest.Signature(cs[0]), nil); ds.Err() != nil {
			t.Errorf("%s: %v", tt.body, ds)
			continue
		}
		for name, p := range plans(t, src, nil) {
			y := make([]float64, 5)
			run(t, p, kerneltest.Buffers(kerneltest.VectorOf(y)))
			if d := cmp.Diff(tt.want, y); d != "" {
				t.Errorf("%s, %s: %s", tt.body, name, d)
			}
		}
	}
}

// TestMatrices: matrices with a gap between rows, in every orientation. The gap stays as it is.
func TestMatrices(t *testing.T) {
	const rows, cols, ld = 5, 600, 640
	for _, tt := range []struct {
		body string
		want func(i, j int) float64
	}{
		{"each i, j in A { A[i, j] = 1000 * i + j }", func(i, j int) float64 { return float64(1000*i + j) }},
		{"each j, i in 0..A.cols, 0..A.rows { A[i, j] = 1000 * i + j }", func(i, j int) float64 { return float64(1000*i + j) }},
		{"each i, j in A { A[i, j] = 1000 * (A.row0 + i) + A.col0 + j + A.ld }", func(i, j int) float64 { return float64(1000*(i+7) + 9 + j + ld) }},
		{"each i, j in A { A[i, j] = x[i] + x[j] }", func(i, j int) float64 { return float64(i + j) }},
		{"each i in 0..A.rows { for j in 0..A.cols { A[i, j] = i * j } }", func(i, j int) float64 { return float64(i * j) }},
		{"each j in 0..A.cols { for i in 0..A.rows { A[i, j] = i * j } }", func(i, j int) float64 { return float64(i * j) }},
		{"each i, j in A { A[i, j] = B[j, i] }", func(i, j int) float64 { return float64(j*rows + i) }},
		{"each i, j in A { A[i, j] = if i == j then 2.5 else if abs(i - j) == 1 then -1.0 else 0.0 }", func(i, j int) float64 {
			switch {
			case i == j:
				return 2.5
			case i-j == 1 || j-i == 1:
				return -1
			}
			return 0
		}},
		{"each i, j in A { A[i, j] = i }\neach i in 0..A.rows { A[i, 0] = 7\nA[i, A.cols - 1] = A[i, 0] + 1 }", func(i, j int) float64 {
			switch j {
			case 0:
				return 7
			case cols - 1:
				return 8
			}
			return float64(i)
		}},
		{"each i, j in A { A[i, j] = 0 }\neach j in 0..A.cols { A[2, j] = 1 }\neach i in 0..A.rows { A[i, i] = 3 }", func(i, j int) float64 {
			switch {
			case i == j:
				return 3
			case i == 2:
				return 1
			}
			return 0
		}},
		{"each i, j in A { A[i, j] = sum k in 0..3 { B[j, k] * (i + k) } }", func(i, j int) float64 {
			s := 0.0
			for k := range 3 {
				s += float64(j*rows+k) * float64(i+k)
			}
			return s
		}},
	} {
		src := "codelet c(x: R vector[f64], B: R matrix[f64], A: RW matrix[f64]) {\n" + tt.body + "\n}\n"
		for name, p := range plans(t, src, nil) {
			a := make([]float64, rows*ld)
			for k := range a {
				a[k] = -99
			}
			b, x := make([]float64, rows*cols), make([]float64, cols)
			for k := range b {
				b[k] = float64(k)
			}
			for k := range x {
				x[k] = float64(k)
			}
			ab := kerneltest.MatrixOf(a, rows, cols, ld)
			ab.Off[0], ab.Off[1] = 7, 9
			run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.MatrixOf(b, cols, rows, rows), ab))
			for k, got := range a {
				i, j := k/ld, k%ld
				want := -99.0
				if j < cols {
					want = tt.want(i, j)
				}
				if got != want {
					t.Fatalf("%s, %s: [%d, %d] is %v, want %v", tt.body, name, i, j, got, want)
				}
			}
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"each i in 0..9 { y[i] = 1 }", "2:18 element 8 is outside `y`, which has 8 elements; i of 0..9"},
		{"for i in 0..9 { y[i] = 1 }", "2:17 element 8 is outside `y`, which has 8 elements; i of 0..9"},
		{"each i in 0..2 { y[i] = x[i + n] }", "2:25 element 8 is outside `x`, which has 8 elements; i of 0..2"},
		{"each i in 0..2 { y[i] = x[n * i - 3] }", "2:25 element -3 is outside `x`, which has 8 elements; i of 0..2"},
		{"each i in y { if i > 3 { y[i] = x[i + 3] } }", "2:33 element 8 is outside `x`, which has 8 elements; i of y"},
		{"each i in y { if i > 3 { y[i] = x[2 * i] } }", "2:33 element 8 is outside `x`, which has 8 elements; i of y"},
		{"each i in y { if i > 3 { y[i] = x[i * i] } }", "2:33 element 16 is outside `x`, which has 8 elements; i of y"},
		{"each i in y { y[i] = A[i, 0] }", "2:22 row 3 is outside `A`, which has 3 rows; i of y"},
		{"each i in y { y[i] = A[0, i] }", "2:22 column 2 is outside `A`, which has 2 columns; i of y"},
		{"each i in y { y[i] = A[k[i], k[i]] }", "2:22 row 7 is outside `A`, which has 3 rows; i of y"},
		{"each i, j in 0..4, 0..2 { A[i, j] = 0 }", "2:27 row 3 is outside `A`, which has 3 rows; i of 0..4"},
		{"v = x[n]", "2:5 element 8 is outside `x`, which has 8 elements"},
		{"v = sum i in 0..9 { x[i] }", "2:21 element 8 is outside `x`, which has 8 elements; i of 0..9"},
		{"v = n // (n - 8)", "2:5 integer division by zero in `n // (n - 8)`"},
		{"v = n % (n - 8)", "2:5 integer division by zero in `n % (n - 8)`"},
		{"v = 1 // 0", "2:5 integer division by zero in `1 // 0`"},
		{"v = n ** (0 - n)", "2:5 an int to the power of -8 is no int, in `n ** (0 - n)`"},
		{"each i in y { y[i] = n // (i - 3) }", "2:22 integer division by zero in `n // (i - 3)`"},
		{"each i in y { y[i] = n ** (3 - i) }", "2:22 an int to the power of -1 is no int, in `n ** (3 - i)`"},
		{"each i in y { y[i] = if i > 2 then n % (i - 5) else 0 }", "2:36 integer division by zero in `n % (i - 5)`"},
		{"each i in y { y[i] = k[i] / 0 }", ""},
		{"each i in y { if i > 8 { y[i] = x[1000] } }", ""},
		{"each i in y { if i > 8 { y[i] = 1 // (n - 8) } }", ""},
		{"each i in y { y[i] = if i > 8 then x[i + k[n + 1]] else 0 }", ""},
		{"each i in y { y[i] = if i > 8 and x[n + i] > 0 then 1 else 0 }", ""},
	} {
		src := "codelet c(x: R vector[f64], k: R vector[i32], y: RW vector[f64], A: RW matrix[f64], v: RW variable[f64], n: int) {\n" + tt.body + "\n}\n"
		for name, p := range plans(t, src, nil) {
			v := 0.0
			err := p.Run(context.Background(), kerneltest.Buffers(kerneltest.VectorOf(make([]float64, 8)), kerneltest.VectorOf([]int32{7, 8, 9, 1, 2, 3, 4, 5}), kerneltest.VectorOf(make([]float64, 8)),
				kerneltest.MatrixOf(make([]float64, 6), 3, 2, 2), kerneltest.VariableOf(&v)), []iface.Scalar{iface.Int(8)})
			got := ""
			var f *Fault
			if errors.As(err, &f) {
				got = strings.Join([]string{lineCol(f), f.Error()}, " ")
				if f.Index != "" {
					got += fmt.Sprintf("; %s of %s", f.Index, f.Loop.Text())
				}
			} else if err != nil {
				t.Errorf("%s: %v", tt.body, err)
			}
			if got != tt.want {
				t.Errorf("%s, %s\n got  %s\n want %s", tt.body, name, got, tt.want)
			}
		}
	}
}

func lineCol(f *Fault) string {
	return strings.SplitN(kerneltest.At(f.Span), "-", 2)[0]
}

// TestWrongOperands: a run with operands that do not fit is an error.
func TestWrongOperands(t *testing.T) {
	p := compileOne(t, "codelet c(x: R vector[f64], y: RW vector[f64], n: int) { each i in y { y[i] = x[i] + n } }", nil)
	x, y := kerneltest.VectorOf(make([]float64, 3)), kerneltest.VectorOf(make([]float64, 3))
	v := 0.0
	for name, err := range map[string]error{
		"none":       p.Run(context.Background(), nil, nil),
		"no scalar":  p.Run(context.Background(), kerneltest.Buffers(x, y), nil),
		"nil":        p.Run(context.Background(), kerneltest.Buffers(x, nil), []iface.Scalar{iface.Int(1)}),
		"other elem": p.Run(context.Background(), kerneltest.Buffers(x, kerneltest.VectorOf(make([]float32, 3))), []iface.Scalar{iface.Int(1)}),
		"other kind": p.Run(context.Background(), kerneltest.Buffers(x, kerneltest.VariableOf(&v)), []iface.Scalar{iface.Int(1)}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	run(t, p, kerneltest.Buffers(x, y), iface.Int(1))
}

// TestScalarOperands: scalar operands convert as by a store.
func TestScalarOperands(t *testing.T) {
	p := compileOne(t, "codelet c(y: W vector[f64], a: f32, b: i8, c: u64, d: float, e: bool, f: string) { y[0] = a\ny[1] = b\ny[2] = c\ny[3] = d\ny[4] = if e then 1 else 0 }", nil)
	y := make([]float64, 5)
	run(t, p, kerneltest.Buffers(kerneltest.VectorOf(y)), iface.Float(0.1), iface.Int(300), iface.Int(-1), iface.Int(3), iface.Bool(true), iface.Str("s"))
	if d := cmp.Diff([]float64{float64(float32(0.1)), 44, 1 << 64, 3, 1}, y); d != "" {
		t.Error(d)
	}
}

// TestCancel: long loops of every kind end when the context does.
func TestCancel(t *testing.T) {
	for _, body := range []string{
		"for i in 0..1000000000000 { v += 1 }",
		"v = sum i in 0..1000000000000 { i }",
		"v = sum i, j in 0..1000000, 0..1000000 { i % (j + 1) }",
		"each i in 0..1000000000000 { if i < 0 { y[i] = 1 } }",
		"each i in 0..1000000000000 { let s = 0\nfor q in 0..i { s += q }\nif s < 0 { y[i] = 1 } }",
		"each i in y { for q in 0..1000000000000 { y[i] += q } }",
		"each i in y { y[i] = sum q in 0..1000000000000 { y[i] } }",
		"for q in 0..1000000000000 { each i in 0..0 { y[i] = 1 } }",
	} {
		src := "codelet c(y: RW vector[f64], v: RW variable[f64]) {\n" + body + "\n}\n"
		for name, p := range plans(t, src, nil) {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			timer := time.AfterFunc(time.Millisecond, func() { cancel(cause) })
			v := 0.0
			if err := p.Run(ctx, kerneltest.Buffers(kerneltest.VectorOf(make([]float64, 8)), kerneltest.VariableOf(&v)), nil); !errors.Is(err, cause) {
				t.Errorf("%s, %s: %v", body, name, err)
			}
			timer.Stop()
			cancel(nil)
		}
	}
}

// TestConcurrent runs one program from many goroutines.
func TestConcurrent(t *testing.T) {
	p := compileOne(t, `codelet c(x: R vector[f64], y: W vector[f64], a: f64) {
    let m = sum i in x { x[i] }
    each i in y { let q = a * x[i]
        y[i] = if q > 3 then q + m else sum k in 0..3 { q * k } }
}`, nil)
	const n = 1500
	x := make([]float64, n)
	for k := range x {
		x[k] = float64(k % 11)
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			y := make([]float64, n)
			for range 20 {
				if err := p.Run(context.Background(), kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)), []iface.Scalar{iface.Float(float64(g))}); err != nil {
					t.Error(err)
					return
				}
				for k, v := range y {
					q := float64(g) * x[k]
					want := 3 * q
					if q > 3 {
						want = q + sum
					}
					if v != want {
						t.Errorf("y[%d] is %v, want %v", k, v, want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// nested is a task that runs another body while a program binds its arguments.
type nested struct {
	call
	run func()
}

func (n *nested) Args() []iface.Scalar {
	n.run()
	return n.call.Args()
}

// TestKeptMemory: programs of different sizes use one piece of scratch memory in turn; some runs
// fail, and some are within another.
func TestKeptMemory(t *testing.T) {
	large := compileOne(t, `codelet large(x: R vector[f64], y: W vector[f64], a: f64) {
    let m = sum i in x { x[i] }
    each i in y { let q = a * x[i]
        y[i] = if q > 3 then q + m else sum k in 0..3 { q * k } }
}`, nil)
	small := compileOne(t, "codelet small(v: RW variable[f64]) { v += 1.0 }", nil)
	fails := compileOne(t, "codelet fails(x: R vector[f64], v: RW variable[f64]) { v = x[7] }", nil)
	x, y, v := []float64{1, 2, 3, 4}, make([]float64, 4), 0.0
	ctx := context.Background()
	runSmall := func(keep *any) {
		if err := small.RunTask(&call{ctx, kerneltest.Buffers(kerneltest.VariableOf(&v)), nil}, keep); err != nil {
			t.Fatal(err)
		}
	}
	var keep any
	for round := range 10 {
		runSmall(&keep)
		clear(y)
		in := &nested{call{ctx, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)), []iface.Scalar{iface.Float(1)}}, func() { runSmall(&keep) }}
		if err := large.RunTask(in, &keep); err != nil {
			t.Fatal(err)
		}
		if want := []float64{3, 6, 9, 14}; !slices.Equal(y, want) {
			t.Fatalf("round %d: y is %v, want %v", round, y, want)
		}
		var f *Fault
		if err := fails.RunTask(&call{ctx, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VariableOf(&v)), nil}, &keep); !errors.As(err, &f) {
			t.Fatalf("round %d: an index outside gives %v", round, err)
		}
	}
	if v != 20 {
		t.Errorf("v is %v after 20 additions", v)
	}
}

// TestNoAllocation: a run of a common body does not allocate.
func TestNoAllocation(t *testing.T) {
	p := compileOne(t, "codelet c(x: R vector[f64], y: RW vector[f64], a: f64) { each i in y { y[i] = max(a * x[i] + y[i], 0.5) + sum k in 0..3 { x[i] * k } } }", nil)
	list, args := kerneltest.Buffers(kerneltest.VectorOf(make([]float64, 5000)), kerneltest.VectorOf(make([]float64, 5000))), []iface.Scalar{iface.Float(2)}
	ctx := context.Background()
	if n := testing.AllocsPerRun(50, func() {
		if err := p.Run(ctx, list, args); err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // the collector may empty the pool once
		t.Errorf("%v allocations", n)
	}
}

// TestElementaryFunctions: bodies give the bits of package elementary, in f64 and in f32,
// whether they run in strips or one by one.
func TestElementaryFunctions(t *testing.T) {
	const n = 1500 // more than a strip
	x64, y64, got64 := make([]float64, n), make([]float64, n), make([]float64, n)
	x32, y32, got32 := make([]float32, n), make([]float32, n), make([]float32, n)
	r := rand.New(rand.NewPCG(3, 4))
	for k := range n {
		x64[k], y64[k] = math.Exp(5*r.NormFloat64()), 8*r.NormFloat64()
		switch k % 5 {
		case 0:
			x64[k] = -x64[k]
		case 1:
			x64[k] = math.Float64frombits(r.Uint64())
		case 2:
			y64[k] = math.Round(y64[k])
		}
		x32[k], y32[k] = float32(x64[k]), float32(y64[k])
	}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }
	for _, name := range elementary.Names() {
		f64, f32, expr := elementary.Pow, elementary.PowF32, "x[i] ** y[i]"
		if f := elementary.Unary(name); f != nil {
			f64, f32 = func(x, _ float64) float64 { return f.F64(x) }, func(x, _ float32) float32 { return f.F32(x) }
			expr = name + "(x[i])"
		}
		src := "codelet c(x: R vector[T], y: R vector[T], z: W vector[T]) {\n each i in z { z[i] = " + expr + " }\n}\n"
		for plan, p := range plans(t, src, map[byte]iface.Elem{'T': iface.F64}) {
			run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x64), kerneltest.VectorOf(y64), kerneltest.VectorOf(got64)))
			for k, got := range got64 {
				if want := f64(x64[k], y64[k]); !same(got, want) {
					t.Fatalf("%s, %s: %s of %v, %v is %v, want %v", name, plan, expr, x64[k], y64[k], got, want)
				}
			}
		}
		for plan, p := range plans(t, src, map[byte]iface.Elem{'T': iface.F32}) {
			run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x32), kerneltest.VectorOf(y32), kerneltest.VectorOf(got32)))
			for k, got := range got32 {
				if want := f32(x32[k], y32[k]); !same(float64(got), float64(want)) {
					t.Fatalf("%s, %s, f32: %s of %v, %v is %v, want %v", name, plan, expr, x32[k], y32[k], got, want)
				}
			}
		}
	}
}
