package elementary

// The functions in arbitrary precision, by series and Newton's method: the reference of
// ulp_test.go. They share nothing with the functions of the package.

import (
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"
)

// refBits is the precision of references. They lose a few dozen bits.
const refBits = 320

func newFloat(x float64) *big.Float { return new(big.Float).SetPrec(refBits).SetFloat64(x) }

func zero() *big.Float { return new(big.Float).SetPrec(refBits) }

// bigPi returns pi to 1600 bits, by Machin's formula.
var bigPi = sync.OnceValue(func() *big.Float {
	const bits = 1700
	one := new(big.Int).Lsh(big.NewInt(1), bits)
	atanInverse := func(n int64) *big.Int {
		term := new(big.Int).Quo(one, big.NewInt(n))
		sum, square := new(big.Int), big.NewInt(n*n)
		for k := int64(1); term.Sign() != 0; k += 2 {
			q := new(big.Int).Quo(term, big.NewInt(k))
			if k%4 == 1 {
				sum.Add(sum, q)
			} else {
				sum.Sub(sum, q)
			}
			term.Quo(term, square)
		}
		return sum
	}
	pi := new(big.Int).Mul(big.NewInt(16), atanInverse(5))
	pi.Sub(pi, new(big.Int).Mul(big.NewInt(4), atanInverse(239)))
	f := new(big.Float).SetPrec(bits).SetInt(pi)
	return f.SetMantExp(f, -bits)
})

// bigLn2 returns ln 2, by the sum of 1 / (k 2^k).
var bigLn2 = sync.OnceValue(func() *big.Float {
	sum := new(big.Float).SetPrec(refBits + 40)
	for k := 1; k < refBits+40; k++ {
		t := new(big.Float).SetPrec(refBits + 40).SetInt64(int64(k))
		t.Quo(new(big.Float).SetPrec(refBits+40).SetInt64(1), t)
		sum.Add(sum, t.SetMantExp(t, -k))
	}
	return sum
})

func refExp(x *big.Float) *big.Float {
	q, _ := zero().Quo(x, bigLn2()).Float64()
	k := math.Round(q)
	r := zero().Mul(newFloat(k), bigLn2())
	r.Sub(x, r)
	const halvings = 12
	r.SetMantExp(r, -halvings)
	sum, term := newFloat(1), newFloat(1)
	for n := 1; n < 28; n++ {
		term.Mul(term, r)
		term.Quo(term, newFloat(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(k))
}

// refLog improves an estimate by Halley's method: y + 2 (x - e^y) / (x + e^y).
func refLog(x *big.Float) *big.Float {
	m := zero()
	e := x.MantExp(m)
	f, _ := m.Float64()
	if f < math.Sqrt2/2 {
		e, f = e-1, 2*f
		m.SetMantExp(m, 1)
	}
	y := newFloat(math.Log(f))
	for range 2 {
		p := refExp(y)
		d := zero().Sub(m, p)
		d.Quo(d, p.Add(p, m))
		y.Add(y, d.SetMantExp(d, 1))
	}
	k := zero().Mul(newFloat(float64(e)), bigLn2())
	return k.Add(k, y)
}

func refSinCos(x *big.Float) (sin, cos *big.Float) {
	wide := func() *big.Float { return new(big.Float).SetPrec(1600) }
	half := wide().Quo(bigPi(), wide().SetInt64(2))
	q := wide().Quo(x, half)
	q.Add(q, wide().SetFloat64(math.Copysign(0.5, float64(x.Sign()))))
	n, _ := q.Int(nil)
	r := zero().Set(wide().Sub(x, wide().Mul(half, wide().SetInt(n))))
	square := zero().Mul(r, r)
	series := func(first *big.Float, k int) *big.Float {
		sum, term := zero().Set(first), zero().Set(first)
		for ; k < 80; k += 2 {
			term.Mul(term, square)
			term.Quo(term, newFloat(float64(-k*(k+1))))
			sum.Add(sum, term)
		}
		return sum
	}
	sin, cos = series(r, 2), series(newFloat(1), 1)
	switch new(big.Int).And(n, big.NewInt(3)).Int64() {
	case 1:
		return cos, sin.Neg(sin)
	case 2:
		return sin.Neg(sin), cos.Neg(cos)
	case 3:
		return cos.Neg(cos), sin
	}
	return sin, cos
}

func refTanh(x *big.Float) *big.Float {
	square := zero().Mul(x, x)
	if f, _ := x.Float64(); math.Abs(f) < 0x1p-30 { // x - x^3/3 + 2 x^5/15
		s := zero().Mul(square, newFloat(2))
		s.Quo(s, newFloat(5))
		s.Sub(newFloat(1), s)
		s.Mul(s, square)
		s.Quo(s, newFloat(3))
		s.Sub(newFloat(1), s)
		return s.Mul(s, x)
	}
	e := refExp(zero().Add(x, x))
	return zero().Quo(zero().Sub(e, newFloat(1)), e.Add(e, newFloat(1)))
}

// refErf sums 2/sqrt(pi) exp(-x*x) 2^n x^(2n+1) / (1 3 5 ... (2n+1)), whose terms are positive.
func refErf(x *big.Float) *big.Float {
	if f, _ := x.Float64(); math.Abs(f) > 7 {
		return newFloat(math.Copysign(1, f))
	}
	square := zero().Mul(x, x)
	double := zero().Add(square, square)
	sum, term := zero().Set(x), zero().Set(x)
	for n := 1; n < 1000; n++ {
		term.Mul(term, double)
		term.Quo(term, newFloat(float64(2*n+1)))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-200 {
			break
		}
	}
	sum.Mul(sum, refExp(square.Neg(square)))
	root := zero().Set(bigPi())
	root.Sqrt(root)
	return sum.Quo(sum.Add(sum, sum), root)
}

func refCbrt(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := newFloat(math.Cbrt(f))
	for range 3 {
		square := zero().Mul(y, y)
		d := zero().Mul(square, y)
		d.Sub(d, x)
		y.Sub(y, d.Quo(d, square.Mul(square, newFloat(3))))
	}
	return y
}

// references has the functions of one argument for which they are finite and not 0.
var references = map[string]func(x *big.Float) *big.Float{
	"exp": refExp, "log": refLog, "tanh": refTanh, "erf": refErf, "cbrt": refCbrt,
	"log2": func(x *big.Float) *big.Float { y := refLog(x); return y.Quo(y, bigLn2()) },
	"sin":  func(x *big.Float) *big.Float { s, _ := refSinCos(x); return s },
	"cos":  func(x *big.Float) *big.Float { _, c := refSinCos(x); return c },
	"tan":  func(x *big.Float) *big.Float { s, c := refSinCos(x); return s.Quo(s, c) },
}

// refPow returns |x| to the power of y.
func refPow(x, y float64) *big.Float {
	l := refLog(newFloat(math.Abs(x)))
	return refExp(l.Mul(l, newFloat(y)))
}

// TestReferences: the references have the digits that tables have.
func TestReferences(t *testing.T) {
	for _, c := range []struct {
		name   string
		x      float64
		digits string
	}{
		{"exp", 1, "2.718281828459045235360287471352662497757247093699959575"},
		{"log", 10, "2.302585092994045684017991454684364207601101488628772976"},
		{"log", 1 + 0x1p-52, "2.220446049250312834328230454615487925982331807901114703e-16"},
		{"log2", 10, "3.321928094887362347870319429489390175864831393024580612"},
		{"sin", 1, "0.8414709848078965066525023216302989996225630607983710657"},
		{"cos", 1e22, "0.5232147853951389454975944733847094921409199724393879535"},
		{"tan", 3, "-0.1425465430742778052956354105339134932260922849018046476"},
		{"tanh", 0.5, "0.4621171572600097585023184836436725487302892803301130386"},
		{"tanh", 1e-20, "9.999999999999999451532714542095716517294703694540591138e-21"},
		{"erf", 0.5, "0.5204998778130465376827466538919645287364515757579637001"},
		{"erf", 3, "0.9999779095030014145586272238704176796201522929126007503"},
		{"cbrt", 2, "1.25992104989487316476721060727822835057025146470150798"},
	} {
		got := references[c.name](newFloat(c.x)).Text('g', 50)
		if !strings.HasPrefix(c.digits, got[:45]) {
			t.Errorf("%s(%v) = %s, want %s", c.name, c.x, got, c.digits)
		}
	}
	if got := refPow(10, 0.5).Text('g', 50); !strings.HasPrefix(got, "3.16227766016837933199889354443271853371955513932") {
		t.Errorf("10**0.5 = %s", got)
	}
}

// TestTables: the tables have the values that their comments say, in two parts with an error of
// less than 2^-100.
func TestTables(t *testing.T) {
	near := func(got, want *big.Float) bool {
		d := zero().Sub(got, want)
		return d.Sign() == 0 || d.MantExp(nil) < -95
	}
	sum := func(a, b float64) *big.Float { return zero().Add(newFloat(a), newFloat(b)) }
	for k := range 128 {
		c := logTable[3*k]
		want := refLog(newFloat(c))
		if want.Neg(want); !near(sum(logTable[3*k+1], logTable[3*k+2]), want) {
			t.Errorf("logTable, row %d", k)
		}
		if c*512 != math.Round(c*512) || logTable[3*k+1]*0x1p42 != math.Round(logTable[3*k+1]*0x1p42) {
			t.Errorf("logTable, row %d has too many bits", k)
		}
		// z c' - 1 is exact at both ends of the part
		for _, z := range []float64{fromBits(logOff + uint64(k)<<45), fromBits(logOff + uint64(k+1)<<45 - 1)} {
			r := zero().Sub(zero().Mul(newFloat(z), newFloat(c)), newFloat(1))
			if f, exact := r.Float64(); exact != big.Exact || math.Abs(f) > 0.0072 {
				t.Errorf("logTable, row %d: r = %v", k, r)
			}
		}
	}
	two := newFloat(2)
	for k := range 385 {
		r := newFloat(float64(k) / 64)
		square := zero().Mul(r, r)
		g := refExp(square.Neg(square))
		g.Quo(g.Mul(g, two), zero().Sqrt(zero().Set(bigPi())))
		row := erfTable[4*k:][:4]
		if k > 0 && !near(sum(row[0], row[1]), refErf(r)) || !near(sum(row[2], row[3]), g) {
			t.Errorf("erfTable, row %d", k)
		}
	}
	scaled := new(big.Float).SetPrec(1600).Quo(big.NewFloat(2), bigPi())
	scaled.SetMantExp(scaled, 64*20)
	bits, _ := scaled.Int(nil)
	for k := 20; k > 0; k-- {
		if got := new(big.Int).And(bits, new(big.Int).SetUint64(math.MaxUint64)).Uint64(); got != twoOverPiBits[k] {
			t.Errorf("twoOverPiBits[%d] = %#x, want %#x", k, twoOverPiBits[k], got)
		}
		bits.Rsh(bits, 64)
	}
	if twoOverPiBits[0] != 0 {
		t.Error("twoOverPiBits does not begin with 0")
	}
}
