package elementary

// Errors in ulps, beside the references of reference_test.go.

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

var measureAll = flag.Bool("ulp", false, "TestULP: a million arguments of each float64 function and all of each float32 function; print a table")

// bounds has the errors that the comments of the functions promise, for float64. Of subnormal
// results only 1 ulp is promised.
var bounds = map[string]float64{"exp": 0.7, "log": 0.52, "log2": 0.52, "pow": 0.7, "sin": 0.75, "cos": 0.75, "tan": 0.85, "tanh": 0.9,
	"erf": 0.9, "cbrt": 0.67}

const bound32 = 0.51

// errorOf returns the error of got in units of the last place of the exact result.
func errorOf(got float64, exact *big.Float) float64 {
	if got != got {
		return math.Inf(1)
	}
	g := zero()
	if math.IsInf(got, 0) {
		g.SetMantExp(newFloat(math.Copysign(1, got)), 1024) // where it would be without a limit
	} else {
		g.SetFloat64(got)
	}
	e := exact.MantExp(nil)
	if e > 1024 {
		e = 1024
		if math.IsInf(got, exact.Sign()) {
			return 0
		}
	}
	d, _ := g.SetMantExp(g.Sub(g, exact), 53-max(e, -1021)).Float64()
	return math.Abs(d)
}

// errorOf32 is errorOf for a float32, beside the result in float64.
func errorOf32(got float32, exact float64) float64 {
	if got != got || exact != exact {
		if got != got && exact != exact {
			return 0
		}
		return math.Inf(1)
	}
	g := float64(got)
	switch {
	case math.IsInf(g, 0) && math.Abs(exact) >= 0x1p128:
		return 0
	case math.IsInf(g, 0):
		g = math.Copysign(0x1p128, g)
	case math.Abs(exact) >= 0x1p128:
		exact = math.Copysign(0x1p128, exact)
	}
	e := int(math.Float64bits(exact)>>52&0x7ff) - 1023
	return math.Abs(g-exact) * math.Float64frombits(uint64(1023+23-max(e, -126))<<52)
}

// subnormal is the error of results that are subnormal, apart.
type worst struct {
	normal, subnormal float64
	at, subnormalAt   float64
}

func (w *worst) add(err, x, result, smallest float64) {
	if math.Abs(result) < smallest {
		if err > w.subnormal {
			w.subnormal, w.subnormalAt = err, x
		}
	} else if err > w.normal {
		w.normal, w.at = err, x
	}
}

func (w *worst) join(v worst) {
	if v.normal > w.normal {
		w.normal, w.at = v.normal, v.at
	}
	if v.subnormal > w.subnormal {
		w.subnormal, w.subnormalAt = v.subnormal, v.subnormalAt
	}
}

// argument returns a random argument of a function that has a finite result other than 0.
func argument(name string, r *rand.Rand) float64 {
	signed := func(x float64) float64 { return math.Copysign(x, r.Float64()-0.5) }
	near := func(x float64) float64 { // a few floats beside x
		if x == 0 {
			x = 1
		}
		return math.Float64frombits(math.Float64bits(x) + r.Uint64N(9) - 4)
	}
	log := func(from, to float64) float64 { return math.Exp2(from + (to-from)*r.Float64()) }
	choice := r.IntN(4)
	switch name {
	case "exp":
		switch choice {
		case 0:
			return signed(log(-60, 9.5))
		case 1:
			return near(float64(r.IntN(2100)-1070) / 2 * math.Ln2) // the ends of the range of the polynomial
		case 2:
			return -700 - 46*r.Float64()
		}
		return -745 + 1454*r.Float64()
	case "log", "log2":
		switch choice {
		case 0:
			return 1 + signed(log(-52, -1))
		case 1:
			return 0.5 + 2*r.Float64()
		}
		if x := math.Float64frombits(r.Uint64N(infBits)); x > 0 && x != 1 {
			return x
		}
		return 2
	case "sin", "cos", "tan":
		switch choice {
		case 0:
			return signed(log(-30, 40))
		case 1:
			return near(float64(1+r.IntN(1<<r.IntN(31))) * (math.Pi / 2))
		case 2:
			return signed(math.Float64frombits(r.Uint64N(infBits-0x3e00000000000000) + 0x3e00000000000000))
		}
		return 20*r.Float64() - 10
	case "tanh":
		if choice == 0 {
			return signed(log(-1070, 5))
		}
		return signed(log(-10, 4.5))
	case "erf":
		switch choice {
		case 0:
			return signed(log(-1070, 2.6))
		case 1:
			return near((float64(r.IntN(380)) + 0.5) / 64)
		}
		return signed(3 * r.Float64())
	}
	if x := math.Float64frombits(r.Uint64()); x == x && x != 0 && !math.IsInf(x, 0) { // cbrt
		return x
	}
	return 1
}

// powArguments returns arguments whose power is finite and not 0.
func powArguments(r *rand.Rand) (x, y float64) {
	for {
		switch r.IntN(4) {
		case 0:
			x = 1 + math.Copysign(math.Exp2(-52*r.Float64()-0.1), r.Float64()-0.5)
		case 1:
			x = float64(1 + r.IntN(1000))
		default:
			x = math.Float64frombits(r.Uint64N(infBits))
		}
		l := math.Log2(x)
		if y = (r.Float64()*2100 - 1075) / l; r.IntN(4) == 0 {
			y = math.Round(y)
		}
		if l != 0 && y != 0 && !math.IsInf(y, 0) && !math.IsInf(x, 0) {
			return x, y
		}
	}
}

// measure64 returns the largest errors of a function for n random arguments.
func measure64(name string, n int, seed uint64) (w worst) {
	r := rand.New(rand.NewPCG(seed, 7))
	for range n {
		var x, got float64
		var exact *big.Float
		if name == "pow" {
			var y float64
			x, y = powArguments(r)
			got, exact = Pow(x, y), refPow(x, y)
		} else {
			x = argument(name, r)
			got, exact = Unary(name).F64(x), references[name](newFloat(x))
		}
		f, _ := exact.Float64()
		w.add(errorOf(got, exact), x, f, 0x1p-1022)
	}
	return w
}

// measure32 returns the largest errors of a float32 function for every step-th argument from
// first on.
func measure32(name string, first, step uint64) (w worst) {
	f := Unary(name)
	var x, got [512]float32
	var wide, exact [512]float64
	for b := first; b < 1<<32; {
		n := 0
		for ; n < len(x) && b < 1<<32; n++ {
			x[n] = math.Float32frombits(uint32(b))
			wide[n] = float64(x[n])
			b += step
		}
		f.Slice32(got[:n], x[:n])
		f.Slice64(exact[:n], wide[:n])
		for k := range n {
			w.add(errorOf32(got[k], exact[k]), wide[k], exact[k], 0x1p-126)
		}
	}
	return w
}

func measurePow32(n int, seed uint64) (w worst) {
	r := rand.New(rand.NewPCG(seed, 7))
	for range n {
		x := math.Float32frombits(r.Uint32N(0x7f800000))
		if r.IntN(3) == 0 {
			x = 1 + 0.5*(r.Float32()-0.5)
		}
		y := float32((r.Float64()*280 - 150) / math.Log2(float64(x)))
		exact := Pow(float64(x), float64(y))
		w.add(errorOf32(PowF32(x, y), exact), float64(x), exact, 0x1p-126)
	}
	return w
}

// TestULP: the errors are below the bounds of the comments.
func TestULP(t *testing.T) {
	n, step, parts := 2000, uint64(30011), 1
	if *measureAll {
		n, step, parts = 1000000, 1, 16
	}
	var table strings.Builder
	for _, name := range Names() {
		var w64, w32 worst
		var mu sync.Mutex
		var wg sync.WaitGroup
		for k := range parts {
			wg.Go(func() {
				a := measure64(name, n/parts, uint64(k))
				var b worst
				if name == "pow" {
					b = measurePow32(20*n/parts, uint64(k))
				} else {
					b = measure32(name, uint64(k)*step, step*uint64(parts))
				}
				mu.Lock()
				defer mu.Unlock()
				w64.join(a)
				w32.join(b)
			})
		}
		wg.Wait()
		fmt.Fprintf(&table, "| %s | %.3f | %.3f | %.4f | %.4f |\n", name, w64.normal, w64.subnormal, w32.normal, w32.subnormal)
		if w64.normal > bounds[name] || w64.subnormal > 1 {
			t.Errorf("%s: error %.4f at %v, %.4f at %v (subnormal)", name, w64.normal, w64.at, w64.subnormal, w64.subnormalAt)
		}
		if w32.normal > bound32 || w32.subnormal > bound32 {
			t.Errorf("%s for float32: error %.4f at %v, %.4f at %v (subnormal)", name, w32.normal, w32.at, w32.subnormal, w32.subnormalAt)
		}
	}
	t.Logf("largest errors in ulp\n| | f64 | f64, subnormal results | f32 | f32, subnormal results |\n|---|---|---|---|---|\n%s", table.String())
}

// TestSpecialCases: results for NaN, infinities, zeros and arguments without a result are those of
// package math, and so are the signs of zeros.
func TestSpecialCases(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	list := []float64{0, math.Copysign(0, -1), inf, -inf, nan}
	references := map[string]func(float64) float64{"exp": math.Exp, "log": math.Log, "log2": math.Log2, "sin": math.Sin, "cos": math.Cos,
		"tan": math.Tan, "tanh": math.Tanh, "erf": math.Erf, "cbrt": math.Cbrt}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }
	for name, want := range references {
		args := slices.Clone(list)
		switch name {
		case "exp":
			args = append(args, 710, 1e300, math.MaxFloat64, -746, -1e300, -math.MaxFloat64)
		case "log", "log2":
			args = append(args, -1, -1e300, -0x1p-1074, 1)
		case "tanh", "erf":
			args = append(args, 30, -30, 1e300, -1e300, 0x1p-1000*3)
			if name == "erf" {
				args = args[:len(args)-1]
			}
		case "sin", "tan":
			args = append(args, 0x1p-1074, -0x1p-1074, 0x1p-1022, 1e-300)
		case "cos":
			args = append(args, 0x1p-1074, 1e-9)
		}
		for _, x := range args {
			if got, want := Unary(name).F64(x), want(x); !same(got, want) {
				t.Errorf("%s(%v) = %v, want %v", name, x, got, want)
			}
			y := float32(x)
			if got, want := Unary(name).F32(y), float32(want(float64(y))); !same(float64(got), float64(want)) {
				t.Errorf("%s(float32(%v)) = %v, want %v", name, x, got, want)
			}
		}
	}
	for k := -1074; k < 1024; k++ {
		if x := math.Ldexp(1, k); Log2(x) != float64(k) || k >= -149 && k < 128 && Log2F32(float32(x)) != float32(k) {
			t.Errorf("log2(2**%d) = %v, %v", k, Log2(x), Log2F32(float32(x)))
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 10000 {
		x := math.Float64frombits(r.Uint64())
		v := math.Float32frombits(r.Uint32())
		if !same(Pow(x, 1), x) || !same(Pow(x, 2), float64(x*x)) || !same(float64(PowF32(v, 1)), float64(v)) || !same(float64(PowF32(v, 2)), float64(v*v)) {
			t.Fatalf("the first or second power of %v or %v is wrong", x, v)
		}
	}
	args := append(list, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, -2.5, 1e300, -1e300, 0x1p52, 0x1p53, 0x1p52+1, -0x1p52-1, 0x1p53-1, 0x1p-1074, -0x1p-1074, 1e-300)
	exact := func(x, y float64) bool { // where math.Pow has no rounding error
		return x == 0 || y == 0 || x != x || y != y || math.Abs(x) == 1 || math.IsInf(x, 0) || math.IsInf(y, 0) || y == 1 || y == 2 ||
			x < 0 && y != math.Trunc(y) || math.Abs(y) > 1e15
	}
	for _, x := range args {
		for _, y := range args {
			if !exact(x, y) {
				continue
			}
			if got, want := Pow(x, y), math.Pow(x, y); !same(got, want) {
				t.Errorf("pow(%v, %v) = %v, want %v", x, y, got, want)
			}
			v, w := float32(x), float32(y)
			if !exact(float64(v), float64(w)) {
				continue
			}
			if got, want := PowF32(v, w), float32(math.Pow(float64(v), float64(w))); !same(float64(got), float64(want)) {
				t.Errorf("pow(float32(%v), %v) = %v, want %v", x, y, got, want)
			}
		}
	}
}
