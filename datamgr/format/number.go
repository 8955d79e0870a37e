package format

// Numbers on their way from a file to an element: read from text, and converted
// with a check of what the element type can hold.

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// num is a number of a file: exact when it is a 64-bit integer.
type num struct {
	form numForm
	i    int64
	u    uint64
	f    float64 // of a complex number: the real part
	im   float64
}

type numForm uint8

const (
	intNum  numForm = iota
	uintNum         // above the largest int64
	floatNum
	complexNum
)

// pow10 are the powers that float64 holds exactly.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseNumber reads a decimal number, with the exponents of Fortran (1.5D+3)
// too, or inf or nan. A number beyond float64, or of more than maxToken
// characters, is not ok.
func parseNumber(tok []byte) (n num, ok bool) {
	if len(tok) > maxToken {
		return n, false
	}
	i, neg := 0, false
	if i < len(tok) && (tok[i] == '+' || tok[i] == '-') {
		neg = tok[i] == '-'
		i++
	}
	var mant uint64
	digits, exp, dot, exact := 0, 0, false, true
	for ; i < len(tok); i++ {
		c := tok[i]
		if c == '.' && !dot {
			dot = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		d := uint64(c - '0')
		if mant >= math.MaxUint64/10 && (mant > math.MaxUint64/10 || d > math.MaxUint64%10) {
			exact = false
			break
		}
		mant = mant*10 + d
		if dot {
			exp--
		}
	}
	if digits == 0 {
		return parseWord(tok)
	}
	if exact && i == len(tok) && !dot {
		switch {
		case neg && mant == 0:
			return num{form: floatNum, f: math.Copysign(0, -1)}, true
		case neg && mant <= 1<<63:
			return num{i: -int64(mant)}, true
		case !neg && mant <= math.MaxInt64:
			return num{i: int64(mant)}, true
		case !neg:
			return num{form: uintNum, u: mant}, true
		}
	}
	if exact && i < len(tok) && strings.IndexByte("eEdD", tok[i]) >= 0 && i+1 < len(tok) {
		e, sign, j := 0, 1, i+1
		if tok[j] == '+' || tok[j] == '-' {
			if tok[j] == '-' {
				sign = -1
			}
			j++
		}
		start := j
		for ; j < len(tok) && tok[j] >= '0' && tok[j] <= '9' && e < 10000; j++ {
			e = e*10 + int(tok[j]-'0')
		}
		if j > start && j == len(tok) {
			exp += sign * e
			i = j
		}
	}
	if exact && i == len(tok) && mant <= 1<<53 && exp >= -22 && exp <= 22 {
		// Both are exact, so one operation rounds once.
		f := float64(mant)
		if exp < 0 {
			f /= pow10[-exp]
		} else {
			f *= pow10[exp]
		}
		if neg {
			f = -f
		}
		return num{form: floatNum, f: f}, true
	}
	return parseSlow(tok)
}

// parseSlow leaves the rest to strconv, which knows more forms than a file has.
func parseSlow(tok []byte) (num, bool) {
	f, err := parseFloat(tok, 64)
	return num{form: floatNum, f: f}, err == nil
}

// parseFloat rounds a decimal number to a float; bits is 32 or 64.
func parseFloat(tok []byte, bits int) (float64, error) {
	for i, c := range tok {
		switch {
		case c-'0' <= 9:
		case c == 'd' || c == 'D':
			tok = bytes.Clone(tok)
			tok[i] = 'e'
		case strings.IndexByte("+-.eE", c) < 0:
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(unsafe.String(unsafe.SliceData(tok), len(tok)), bits) // which keeps no text
}

// parseFor reads a number for elements of type e: parseReal, or a complex number as
// parseComplex does, or a bool as a word.
func parseFor(e iface.Elem, tok []byte) (num, bool) {
	if e == iface.B8 {
		if v, ok := boolWords[string(tok)]; ok {
			return num{i: v}, true
		}
	}
	if !e.IsComplex() {
		return parseReal(e, tok)
	}
	return parseComplex(e.Part(), tok)
}

// parseComplex reads a number whose parts are of type e: `1.5`, `1.5+2i`, `2i`, `(1.5+2j)`.
func parseComplex(e iface.Elem, tok []byte) (num, bool) {
	if n := len(tok); n > 2 && tok[0] == '(' && tok[n-1] == ')' {
		tok = tok[1 : n-1]
	}
	n := len(tok)
	if n < 2 || tok[n-1] != 'i' && tok[n-1] != 'j' {
		return parseReal(e, tok)
	}
	tok = tok[:n-1]
	cut := 0 // where the sign of the imaginary part is
	for i := len(tok) - 1; i > 0; i-- {
		if (tok[i] == '+' || tok[i] == '-') && strings.IndexByte("eEdD", tok[i-1]) < 0 {
			cut = i
			break
		}
	}
	re, ok := num{}, true
	if cut > 0 {
		re, ok = parseReal(e, tok[:cut])
	}
	im, fine := parseReal(e, tok[cut:])
	return num{form: complexNum, f: re.float(), im: im.float()}, ok && fine
}

// float returns n, a real number, as a float64.
func (n num) float() float64 {
	switch n.form {
	case intNum:
		return float64(n.i)
	case uintNum:
		return float64(n.u)
	}
	return n.f
}

// parseReal is parseNumber for elements of type e. A number that float64 does not hold
// exactly is parsed again for e: float64 rounds whole numbers above 2^53, drops small
// fractions, and its result would be rounded a second time for float32.
func parseReal(e iface.Elem, tok []byte) (num, bool) {
	n, ok := parseNumber(tok)
	if !ok || n.form != floatNum || n.f-n.f != 0 {
		return n, ok
	}
	switch {
	case e.IsInt() && n.f == math.Trunc(n.f):
		n = parseWhole(tok)
	case (e == iface.F32 || e.Is16()) && between32(n.f):
		if f, err := parseFloat(tok, 32); err == nil {
			n.f = f
		}
	}
	return n, true
}

// between32 reports whether f may be in the middle between two of float32.
func between32(f float64) bool {
	return math.Float64bits(f)&(1<<29-1) == 1<<28 || f != 0 && math.Abs(f) < 0x1p-126
}

// parseWhole reads a finite decimal number as a 64-bit integer. Other text becomes NaN,
// which no integer type holds.
func parseWhole(tok []byte) num {
	none := num{form: floatNum, f: math.NaN()}
	s, exp := string(tok), 0
	if i := strings.IndexAny(s, "eEdD"); i >= 0 {
		exp, _ = strconv.Atoi(s[i+1:]) // out of range: the nearest int
		exp = min(max(exp, -2*maxToken), 2*maxToken)
		s = s[:i]
	}
	neg := strings.HasPrefix(s, "-")
	whole, fraction, _ := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := len(digits) - len(fraction) + exp // digits before the point
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return num{}
	}
	if point < len(digits) || point > 20 {
		return none
	}
	u, err := strconv.ParseUint(digits+strings.Repeat("0", point-len(digits)), 10, 64)
	switch {
	case err != nil || neg && u > 1<<63:
		return none
	case neg:
		return num{i: -int64(u)}
	case u > math.MaxInt64:
		return num{form: uintNum, u: u}
	}
	return num{i: int64(u)}
}

func parseWord(tok []byte) (num, bool) {
	s := strings.ToLower(string(tok))
	s, neg := strings.CutPrefix(s, "-")
	if !neg {
		s = strings.TrimPrefix(s, "+")
	}
	f := math.NaN()
	switch s {
	case "nan":
		return num{form: floatNum, f: f}, true
	case "inf", "infinity":
		f = math.Inf(1)
		if neg {
			f = math.Inf(-1)
		}
		return num{form: floatNum, f: f}, true
	}
	return num{}, false
}

func (n num) negate() num {
	switch {
	case n.form == floatNum:
		n.f = -n.f
	case n.form == complexNum:
		n.f, n.im = -n.f, -n.im
	case n.form == intNum && n.i == math.MinInt64:
		return num{form: uintNum, u: 1 << 63}
	case n.form == intNum && n.i == 0:
	case n.form == intNum:
		n.i = -n.i
	case n.u == 1<<63:
		return num{i: math.MinInt64}
	default:
		return num{form: floatNum, f: -float64(n.u)}
	}
	return n
}

// conjugate returns n with the other sign of the imaginary part.
func (n num) conjugate() num {
	n.im = -n.im
	return n
}

// conversion is how numbers become elements of type T.
type conversion[T iface.Go] struct {
	of     func(n num) (v T, ok bool) // ok is false when T cannot hold n
	plus   func(a, b T) (s T, ok bool)
	isZero func(v T) bool
}

// reals converts to real elements, complexes to complex ones.
func reals[T iface.Real]() conversion[T] { return conversion[T]{to[T], sum[T], isZero[T]} }

func complexes[T complex64 | complex128]() conversion[T] {
	return conversion[T]{toComplex[T], sumComplex[T], isZero[T]}
}

// halves converts to elements of 16 bits, as float32 and from that as round does.
func halves[T iface.Float16 | iface.BFloat16](round func(float32) T, value func(T) float32) conversion[T] {
	of := func(n num) (v T, ok bool) {
		if n.form == complexNum && n.im != 0 {
			return v, false
		}
		f := n.float()
		v = round(float32(f))
		return v, !math.IsInf(float64(value(v)), 0) || math.IsInf(f, 0)
	}
	plus := func(a, b T) (s T, ok bool) {
		x, y := value(a), value(b)
		s = round(x + y)
		return s, !math.IsInf(float64(value(s)), 0) || math.IsInf(float64(x), 0) || math.IsInf(float64(y), 0)
	}
	return conversion[T]{of, plus, func(v T) bool { return value(v) == 0 }}
}

func float16s() conversion[iface.Float16] {
	return halves(iface.ToFloat16, iface.Float16.Float32)
}

func bfloat16s() conversion[iface.BFloat16] {
	return halves(iface.ToBFloat16, iface.BFloat16.Float32)
}

// bools converts to bools: 0 is false and 1 is true. A sum is true if one of the two is.
func bools() conversion[bool] {
	of := func(n num) (v, ok bool) {
		x, ok := to[uint8](n)
		return x == 1, ok && x <= 1
	}
	return conversion[bool]{of, func(a, b bool) (bool, bool) { return a || b, true }, func(v bool) bool { return !v }}
}

// appendBool writes a bool as numbers in files are: 0 or 1.
func appendBool(p []byte, x uint8) []byte {
	if x != 0 {
		return append(p, '1')
	}
	return append(p, '0')
}

// boolWords are what .csv files of other programs have for bools.
var boolWords = map[string]int64{"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}

func isZero[T iface.Real | ~complex64 | ~complex128](v T) bool { return v == 0 }

// isFloat reports whether T is a float type.
func isFloat[T iface.Real]() bool { half := 0.5; return T(half) != 0 }

// to converts n; ok is false when T cannot hold it.
func to[T iface.Real](n num) (v T, ok bool) {
	switch n.form {
	case intNum:
		return fromInt[T](n.i)
	case uintNum:
		return fromUint[T](n.u)
	case complexNum: // a real number in the form of a complex one
		v, ok = fromFloat[T](n.f)
		return v, ok && n.im == 0
	}
	return fromFloat[T](n.f)
}

// toComplex is to for complex types.
func toComplex[T complex64 | complex128](n num) (v T, ok bool) {
	z := complex(n.float(), n.im)
	v = T(z)
	w := complex128(v)
	return v, (!math.IsInf(real(w), 0) || math.IsInf(real(z), 0)) && (!math.IsInf(imag(w), 0) || math.IsInf(imag(z), 0))
}

func fromInt[T iface.Real](x int64) (T, bool) {
	v := T(x)
	return v, isFloat[T]() || int64(v) == x && (v < 0) == (x < 0)
}

func fromUint[T iface.Real](x uint64) (T, bool) {
	v := T(x)
	return v, isFloat[T]() || uint64(v) == x && v >= 0
}

func fromFloat[T iface.Real](x float64) (T, bool) {
	if isFloat[T]() {
		v := T(x)
		return v, !math.IsInf(float64(v), 0) || math.IsInf(x, 0)
	}
	// x is held against the limits first: converting what is outside is not defined.
	if x != math.Trunc(x) || !(x >= -0x1p63 && x < 0x1p64) {
		return 0, false
	}
	if x < 0x1p63 {
		return fromInt[T](int64(x))
	}
	return fromUint[T](uint64(x))
}

// holds describes what an element type can hold.
func holds(e iface.Elem) string {
	if e.IsInt() {
		return "an integer that " + e.String() + " can hold"
	}
	if e == iface.B8 {
		return "0 or 1, as a bool is"
	}
	if e.IsComplex() {
		return "a complex number that " + e.String() + " can hold"
	}
	return "a number that " + e.String() + " can hold"
}
