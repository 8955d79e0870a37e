package oracle

// Numbers: the element types, what they hold, and arithmetic in each of them.

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Type is the type of a number: of an element, or of a literal that has met no other type.
type Type uint8

// The element types and literals. An int is an I64, a float an F64 and a complex a C128. An F16 or a BF16 is in
// memory only: bodies compute with it as an F32.
const (
	I8 Type = iota
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F32
	F64
	C64
	C128
	Bool
	F16
	BF16
	LitInt
	LitFloat
	LitComplex
)

// Elems are the types of real numbers that data may have, and ComplexElems those of complex ones. There is Bool, too.
var (
	Elems        = []Type{I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, F16, BF16}
	ComplexElems = []Type{C64, C128}
)

func (t Type) String() string {
	return [...]string{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "c64", "c128", "bool", "f16", "bf16", "int literal", "float literal", "complex literal"}[t]
}

// Float reports whether t is a type of floats, a literal included.
func (t Type) Float() bool { return t == F32 || t == F64 || t == LitFloat || t.half() }

// half reports whether t is a type of floats of 16 bits.
func (t Type) half() bool { return t == F16 || t == BF16 }

// computes is the type in which bodies compute with elements of type t.
func (t Type) computes() Type {
	if t.half() {
		return F32
	}
	return t
}

// computed is v, an element, as bodies have it.
func computed(v Value) Value {
	v.T = v.T.computes()
	return v
}

// Int reports whether t is a type of integers, a literal included.
func (t Type) Int() bool { return t <= U64 || t == LitInt }

// Complex reports whether t is a type of complex numbers, a literal included.
func (t Type) Complex() bool { return t == C64 || t == C128 || t == LitComplex }

// part is the type of the parts of complex numbers of type t.
func (t Type) part() Type {
	switch t {
	case C64:
		return F32
	case C128:
		return F64
	case LitComplex:
		return LitFloat
	}
	return t
}

// literal reports whether t is the type of a literal.
func (t Type) literal() bool { return t == LitInt || t == LitFloat || t == LitComplex }

func (t Type) signed() bool { return t <= I64 }

func (t Type) bits() int {
	return [...]int{8, 16, 32, 64, 8, 16, 32, 64, 32, 64, 32, 64, 1, 16, 16, 64, 64, 64}[t]
}

// A Value is a number or a bool. Integers are in I, unsigned ones of 64 bits as their
// bits; floats are in F, rounded to their type; a bool is I == 1. A complex number has its real
// part in F and its imaginary one in Im.
type Value struct {
	T  Type
	I  int64
	F  float64
	Im float64
}

func intValue(i int64) Value     { return Value{T: I64, I: i} }
func floatValue(f float64) Value { return Value{T: F64, F: f} }
func boolValue(b bool) Value {
	v := Value{T: Bool}
	if b {
		v.I = 1
	}
	return v
}

// wrap cuts i to the bits of t.
func wrap(t Type, i int64) int64 {
	switch t {
	case I8:
		return int64(int8(i))
	case I16:
		return int64(int16(i))
	case I32:
		return int64(int32(i))
	case U8:
		return int64(uint8(i))
	case U16:
		return int64(uint16(i))
	case U32:
		return int64(uint32(i))
	}
	return i
}

// limits returns the smallest and largest value of an integer type that is not U64.
func limits(t Type) (lo, hi int64) {
	n := t.bits()
	if t.signed() {
		return -1 << (n - 1), 1<<(n-1) - 1
	}
	return 0, 1<<n - 1
}

// holdsInt reports whether t has i among its values; for floats, whether it goes there at all.
func holdsInt(t Type, i int64) bool {
	switch {
	case t.Float() || t.Complex():
		return true
	case t == U64:
		return i >= 0
	}
	lo, hi := limits(t)
	return lo <= i && i <= hi
}

// real is v, or its real part, as a float of 64 bits.
func (v Value) real() float64 {
	switch {
	case v.T.Float() || v.T.Complex():
		return v.F
	case v.T == U64:
		return float64(uint64(v.I))
	}
	return float64(v.I)
}

// convert stores v into a t: integers wrap, floats round. A float goes to an integer
// by truncate alone.
func convert(t Type, v Value) Value {
	switch {
	case t == v.T:
		return v
	case t.Complex():
		z := Value{T: t, F: v.F, Im: round(t.part(), v.Im)}
		if !v.T.Complex() {
			z.Im = 0
		} else {
			v = floatValue(v.F)
		}
		z.F = convert(plain(t.part()), v).F
		return z
	case t.half():
		return Value{T: t, F: round16(t, convert(F32, v).F)}
	case t == F32 && v.T.Float():
		return Value{T: F32, F: float64(float32(v.F))}
	case t == F32 && v.T == U64:
		return Value{T: F32, F: float64(float32(uint64(v.I)))}
	case t == F32:
		return Value{T: F32, F: float64(float32(v.I))} // from the integer at once: one rounding
	case t == F64:
		return Value{T: F64, F: v.real()}
	case v.T.Float() || v.T.Complex():
		panic(fmt.Sprintf("oracle: a %v becomes a %v", v.T, t))
	}
	return Value{T: t, I: wrap(t, v.I)}
}

// truncate is int(v) of bodies: the fraction is cut off, what does not fit is the nearest int.
func truncate(v Value) Value {
	if v.T.Int() {
		return Value{T: I64, I: v.I}
	}
	switch f := math.Trunc(v.F); {
	case f != f:
		return intValue(0)
	case f >= 1<<63:
		return intValue(math.MaxInt64)
	case f < -1<<63:
		return intValue(math.MinInt64)
	default:
		return intValue(int64(f))
	}
}

// static is what is known of an expression before it is evaluated: its type, and of a
// literal the value.
type static struct {
	T Type
	V Value
}

// meet is the type in which two operands compute.
func meet(a, b static) Type {
	la, lb := a.T.literal(), b.T.literal()
	switch {
	case a.T.Complex() || b.T.Complex():
		return meetComplex(a, b)
	case la && lb:
		if a.T == LitFloat || b.T == LitFloat {
			return LitFloat
		}
		return LitInt
	case la:
		return meet(b, a)
	case lb && b.T == LitInt && holdsInt(a.T, b.V.I):
		return a.T
	case lb && b.T == LitInt:
		return meet(a, static{T: I64})
	case lb && a.T.Float() && (math.IsInf(b.V.F, 0) || !math.IsInf(convert(a.T, b.V).F, 0)):
		return a.T
	case lb:
		return F64
	case a.T.Float() != b.T.Float():
		if a.T.Float() {
			return a.T
		}
		return b.T
	case a.T.bits() != b.T.bits():
		if a.T.bits() > b.T.bits() {
			return a.T
		}
		return b.T
	case a.T.signed():
		return a.T
	}
	return b.T
}

// meetComplex is meet where a or b is complex. The parts meet; a literal fits with both of its parts.
func meetComplex(a, b static) Type {
	if a.T.literal() && b.T.literal() {
		return LitComplex
	}
	if a.T.literal() {
		a, b = b, a
	}
	parts := []static{{T: b.T.part(), V: b.V}}
	switch {
	case b.T == LitComplex:
		parts[0].V = floatValue(b.V.F)
		parts = append(parts, static{T: LitFloat, V: floatValue(b.V.Im)})
	case !b.T.literal():
		parts[0].V = Value{}
	}
	for _, p := range parts {
		if meet(static{T: a.T.part()}, p) != F32 {
			return C128
		}
	}
	return C64
}

// plain is the type of a value of static type t in a name: literals become int and float.
func plain(t Type) Type {
	switch t {
	case LitInt:
		return I64
	case LitFloat:
		return F64
	case LitComplex:
		return C128
	}
	return t
}

// arithmetic computes a op b in type t, to which both belong. Integer division by zero,
// and a negative power of integers, are faults: ok is false.
func arithmetic(op string, t Type, a, b Value) (v Value, ok bool) {
	a, b = convert(plain(t), a), convert(plain(t), b)
	if t.Float() {
		x, y, z := a.F, b.F, 0.0
		switch op {
		case "+":
			z = x + y
		case "-":
			z = x - y
		case "*":
			z = x * y
		case "/":
			z = x / y
		case "//":
			z = math.Floor(round(t, x/y))
		case "%":
			z = floatMod(x, y)
		case "**":
			z = math.Pow(x, y)
		}
		return Value{T: plain(t), F: round(t, z)}, true
	}
	t = plain(t)
	x, y, z := a.I, b.I, int64(0)
	switch op {
	case "+":
		z = x + y
	case "-":
		z = x - y
	case "*":
		z = x * y
	case "//", "%":
		if y == 0 {
			return Value{}, false
		}
		q, r := divide(t, x, y)
		if z = q; op == "%" {
			z = r
		}
	case "**":
		if t.signed() && y < 0 {
			return Value{}, false
		}
		z = 1
		for n, p := uint64(y), x; n > 0; n >>= 1 {
			if n&1 == 1 {
				z *= p
			}
			p *= p
		}
	}
	return Value{T: t, I: wrap(t, z)}, true
}

// complexArithmetic computes a op b in type t, of complex numbers. A real number is added to the real
// part alone, and multiplies and divides both parts.
func complexArithmetic(op string, t Type, a, b Value) Value {
	p := plain(t.part())
	r := func(x float64) float64 { return round(p, x) }
	aReal, bReal := !a.T.Complex(), !b.T.Complex()
	a, b = convert(plain(t), a), convert(plain(t), b)
	z := Value{T: plain(t)}
	switch op {
	case "+":
		z.F, z.Im = r(a.F+b.F), r(a.Im+b.Im)
		if bReal {
			z.Im = a.Im
		} else if aReal {
			z.Im = b.Im
		}
	case "-":
		z.F, z.Im = r(a.F-b.F), r(a.Im-b.Im)
		if aReal {
			z.Im = -b.Im
		} else if bReal {
			z.Im = a.Im
		}
	case "*":
		switch {
		case aReal:
			z.F, z.Im = r(a.F*b.F), r(a.F*b.Im)
		case bReal:
			z.F, z.Im = r(a.F*b.F), r(a.Im*b.F)
		default:
			z.F, z.Im = r(r(a.F*b.F)-r(a.Im*b.Im)), r(r(a.F*b.Im)+r(a.Im*b.F))
		}
	case "/":
		if bReal {
			z.F, z.Im = r(a.F/b.F), r(a.Im/b.F)
			break
		}
		if math.Abs(b.Im) > math.Abs(b.F) { // both times -i
			a.F, a.Im, b.F, b.Im = a.Im, -a.F, b.Im, -b.F
		}
		q := r(b.Im / b.F)
		den := r(b.F + r(b.Im*q))
		z.F, z.Im = r(r(a.F+r(a.Im*q))/den), r(r(a.Im-r(a.F*q))/den)
	default:
		panic("oracle: complex numbers have no operator " + op)
	}
	return z
}

// complexPower is z ** n: squares, multiplied from the lowest bit of n on.
func complexPower(z Value, n int64) Value {
	one := Value{T: z.T, F: 1}
	out, some := one, false
	for m := max(n, -n); m > 0; m >>= 1 {
		if m&1 == 1 {
			if out = complexArithmetic("*", z.T, out, z); !some {
				out, some = z, true
			}
		}
		if m > 1 {
			z = complexArithmetic("*", z.T, z, z)
		}
	}
	if n < 0 {
		out = complexArithmetic("/", z.T, one, out)
	}
	return out
}

// complexAbs is the larger absolute value m of the parts, times the root of 1 + (n/m)**2 with the
// smaller one.
func complexAbs(z Value) Value {
	p := plain(z.T.part())
	r := func(x float64) float64 { return round(p, x) }
	m, n := max(math.Abs(z.F), math.Abs(z.Im)), min(math.Abs(z.F), math.Abs(z.Im))
	if m != 0 && !math.IsInf(m, 0) {
		q := r(n / m)
		m = r(m * r(math.Sqrt(r(1+r(q*q)))))
	}
	return Value{T: p, F: m}
}

// bitwise computes a op b, where op is & | ^ << or >>, in integer type t. The count of a shift is a
// number of any integer type: one that is negative or not below the width of t shifts all bits out.
func bitwise(op string, t Type, a, b Value) Value {
	t = plain(t)
	a = convert(t, a)
	switch op {
	case "<<", ">>":
		far := b.T == U64 && uint64(b.I) >= 64 || b.I < 0 || b.I >= int64(t.bits())
		switch {
		case !far && op == "<<":
			a.I <<= b.I
		case !far && t == U64:
			a.I = int64(uint64(a.I) >> b.I)
		case !far:
			a.I >>= b.I
		case op == ">>" && t.signed() && a.I < 0:
			a.I = -1
		default:
			a.I = 0
		}
		return Value{T: t, I: wrap(t, a.I)}
	}
	b = convert(t, b)
	switch op {
	case "&":
		a.I &= b.I
	case "|":
		a.I |= b.I
	case "^":
		a.I ^= b.I
	}
	return a
}

// bitOps are the operators of bitwise.
var bitOps = map[string]bool{"&": true, "|": true, "^": true, "<<": true, ">>": true}

// round gives x the precision of t.
func round(t Type, x float64) float64 {
	if t == F32 {
		return float64(float32(x))
	}
	return x // also of a literal
}

// round16 is the number of type t, an F16 or a BF16, that is nearest to x; of two the one whose last bit is 0.
func round16(t Type, x float64) float64 {
	if x == 0 || x-x != 0 {
		return x
	}
	lowest, highest := t.exponents()
	_, e := math.Frexp(x) // x is 2 to the power of e, times a number from 0.5 on
	last := max(e-1, lowest) - t.mantissa() + 1
	y := math.Copysign(math.Ldexp(math.RoundToEven(math.Ldexp(x, -last)), last), x)
	if math.Abs(y) >= math.Ldexp(1, highest+1) {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return y
}

// floatMod is x % y, with the sign of y.
func floatMod(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// divide rounds the quotient of integers of type t down; the rest has the sign of y.
func divide(t Type, x, y int64) (q, r int64) {
	if !t.signed() {
		return int64(uint64(x) / uint64(y)), int64(uint64(x) % uint64(y))
	}
	if y == -1 {
		return -x, 0 // the smallest value has no opposite, and wraps
	}
	q, r = x/y, x%y
	if r != 0 && (r < 0) != (y < 0) {
		q, r = q-1, r+y
	}
	return q, r
}

// less reports whether a comes before b, both of one type.
func less(a, b Value) bool {
	switch {
	case a.T.Float():
		return a.F < b.F
	case a.T == U64:
		return uint64(a.I) < uint64(b.I)
	}
	return a.I < b.I
}

// compare evaluates a comparison in type t.
func compare(op string, t Type, a, b Value) bool {
	if t != Bool {
		a, b = convert(plain(t), a), convert(plain(t), b)
	}
	equal := a.I == b.I
	if a.T.Float() || a.T.Complex() {
		equal = a.F == b.F && a.Im == b.Im
	}
	switch op {
	case "==":
		return equal
	case "!=":
		return !equal
	case "<":
		return less(a, b)
	case "<=":
		return less(a, b) || equal
	case ">":
		return less(b, a)
	}
	return less(b, a) || equal
}

// extreme is the smaller (min) or larger of a and b, both of one type; a NaN if one of them is.
func extreme(op string, a, b Value) Value {
	switch {
	case a.F == 0 && b.F == 0 && math.Signbit(a.F) != math.Signbit(b.F):
		panic(undetermined("which of two zeros is less"))
	case a.F != a.F:
		return a
	case b.F != b.F, op == "min" && less(b, a), op == "max" && less(a, b):
		return b
	}
	return a
}

// neutral is what a fold or a reduction begins with.
func neutral(op string, t Type) Value {
	v := Value{T: t}
	switch {
	case op == "prod":
		v.I, v.F = 1, 1
		if t.Int() {
			v.F = 0
		} else {
			v.I = 0 // and the imaginary part is 0
		}
	case op == "min" && t.Float():
		v.F = math.Inf(1)
	case op == "max" && t.Float():
		v.F = math.Inf(-1)
	case op == "min" && t == U64:
		v.I = -1 // all bits
	case op == "max" && t == U64, op == "sum":
	case op == "min":
		_, v.I = limits(t)
	case op == "max":
		v.I, _ = limits(t)
	}
	return v
}

// combine folds b into a, both of type t.
func combine(op string, a, b Value) Value {
	switch op {
	case "sum":
		if a.T.Complex() {
			return complexArithmetic("+", a.T, a, b)
		}
		v, _ := arithmetic("+", a.T, a, b)
		return v
	case "prod":
		if a.T.Complex() {
			return complexArithmetic("*", a.T, a, b)
		}
		v, _ := arithmetic("*", a.T, a, b)
		return v
	}
	return extreme(op, a, b)
}

// A tally finds out whether the sum or product of floats is the same in every order:
// it is where nothing is rounded, however they are combined.
type tally struct {
	sum, prod big.Float // of absolute values
	bits      int       // that the product needs
	low       int       // exponent of the last bit of any
	any, bad  bool

	imaginary *tally  // of the imaginary parts of complex numbers
	norm      float64 // and of their product: a bound of the integers that parts are multiples by
}

func (c *tally) add(v Value) {
	if v.T.Complex() {
		if c.imaginary == nil {
			c.imaginary, c.norm = &tally{}, 1
		}
		c.imaginary.add(floatValue(v.Im))
		low := lastBit(v.F, v.Im)
		c.norm *= max(1, math.Ldexp(math.Abs(v.F)+math.Abs(v.Im), -low))
		v = floatValue(v.F)
	}
	x := math.Abs(v.F)
	if x == 0 || math.IsInf(x, 0) || x != x {
		c.bad = c.bad || x != 0 // an infinity is safe in a sum alone; both are rare enough to leave out
		return
	}
	f := new(big.Float).SetFloat64(x)
	low := f.MantExp(nil) - int(f.MinPrec())
	if !c.any {
		c.any, c.low = true, low
		c.sum.SetPrec(2200)
		c.prod.SetPrec(64).SetInt64(1)
	}
	c.low = min(c.low, low)
	c.sum.Add(&c.sum, f)
	if c.bits += int(f.MinPrec()); !c.bad {
		c.prod.Mul(&c.prod, f)
		c.bad = c.prod.MantExp(nil) > 1<<20 || c.prod.MantExp(nil) < -1<<20
	}
}

// mantissa is how many bits the numbers of a type of floats have.
func (t Type) mantissa() int {
	switch t {
	case F16:
		return 11
	case BF16:
		return 8
	case F32:
		return 24
	}
	return 53
}

// exponents are those of the smallest and the largest normal numbers of a type of floats.
func (t Type) exponents() (lowest, highest int) {
	switch t {
	case F16:
		return -14, 15
	case F32, BF16:
		return -126, 127
	}
	return -1022, 1023
}

// lastBit is the lower exponent of the last bits of x and y; 0 if both are 0.
func lastBit(x, y float64) int {
	low, any := 0, false
	for _, v := range []float64{x, y} {
		if v == 0 || v-v != 0 {
			continue
		}
		f := new(big.Float).SetFloat64(v)
		if e := f.MantExp(nil) - int(f.MinPrec()); !any || e < low {
			low, any = e, true
		}
	}
	return low
}

// exact reports whether op over what was added is the same in every order, in type t.
func (c *tally) exact(op string, t Type) bool {
	mantissa := t.mantissa()
	bottom, top := t.exponents()
	if t.Complex() && c.imaginary != nil {
		// No part of a partial product has more bits than the product of the norms.
		if op == "prod" {
			return !c.bad && !c.imaginary.bad && c.norm <= math.Ldexp(1, plain(t.part()).mantissa())
		}
		return c.exact(op, t.part()) && c.imaginary.exact(op, t.part())
	}
	switch {
	case op == "min" || op == "max" || t.Int() || t == Bool || !c.any && !c.bad:
		return true
	case c.bad:
		return false
	case op == "sum":
		e := c.sum.MantExp(nil)
		return e-c.low <= mantissa && e <= top && c.low >= bottom
	}
	e := c.prod.MantExp(nil)
	return c.bits <= mantissa && e <= top && e-mantissa >= bottom
}

// same reports whether a and b are the same number; all NaNs are, and both zeros.
func same(a, b Value) bool {
	part := func(x, y float64) bool { return x == y || x != x && y != y }
	return a.T == b.T && a.I == b.I && part(a.F, b.F) && part(a.Im, b.Im)
}

// text is how print shows v.
func (v Value) text() string {
	switch v.T {
	case Bool:
		return strconv.FormatBool(v.I == 1)
	case U64:
		return strconv.FormatUint(uint64(v.I), 10)
	case F32, F64, F16, BF16, LitFloat:
		return floatText(v.F, v.T.computes().bits())
	case C64, C128, LitComplex:
		return complexText(v.F, v.Im, v.T.bits())
	}
	return strconv.FormatInt(v.I, 10)
}

// complexText is a complex number as 1.5-2.0i.
func complexText(re, im float64, bits int) string {
	sign := "+"
	if strings.HasPrefix(floatText(im, bits), "-") {
		sign = ""
	}
	return floatText(re, bits) + sign + floatText(im, bits) + "i"
}

// floatText has the fewest digits that read back the same, with a point.
func floatText(f float64, bits int) string {
	switch {
	case f != f:
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(fmt.Sprint(f)), "+")
	}
	if a := math.Abs(f); a != 0 && a < 1e-4 || a >= 1e16 {
		return strconv.FormatFloat(f, 'e', -1, bits)
	}
	text := strconv.FormatFloat(f, 'f', -1, bits)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
