package cpu

// CPU back end: expressions of numbers in strips.

import (
	"math"
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// scalarOf is code for a value that is the same in every round.
func scalarOf[T ir.Number](c *compiler, e *ir.Expr) func(m *machine) T {
	if e.Type.IsFloat() {
		f := c.floating(e)
		return func(m *machine) T { return T(f(m)) }
	}
	f := c.integer(e)
	return func(m *machine) T { return T(f(m)) }
}

// isUniform reports whether e is the same in every round of a strip.
func (s *stripper) isUniform(e *ir.Expr) bool {
	cl, _ := s.classify(e)
	return cl == uniform
}

// numbers compiles e, whose type has the values T. The result never lies in
// scratch strips above t.
func numbers[T ir.Number](s *stripper, e *ir.Expr, t int) vec[T] {
	s.use(t)
	if s.broken {
		return nil
	}
	defer s.c.above(t)()
	switch cl, k := s.classify(e); cl {
	case uniform:
		v := scalarOf[T](s.c, e)
		return func(m *machine, n int, mask []bool, dst []T) []T {
			if dst == nil {
				dst = strip[T](m, t, n)
			}
			fill(dst[:n], v(m))
			return dst
		}
	case affine:
		base := s.c.integer(e)
		return func(m *machine, n int, mask []bool, dst []T) []T {
			if dst == nil {
				dst = strip[T](m, t, n)
			}
			v := base(m)
			for j := range dst[:n] {
				dst[j] = T(v)
				v += k
			}
			return dst
		}
	}
	switch e.Op {
	case ir.OpSlot:
		slot := e.Slot
		return func(m *machine, n int, mask []bool, dst []T) []T { return unsafe.Slice((*T)(m.ptrs[slot]), n) }
	case ir.OpLoad:
		return loads[T](s, e, t)
	case ir.OpConvert:
		return converts[T](s, e, t)
	case ir.OpCond, ir.OpSelect:
		return choose(s, e, t, numbers[T])
	case ir.OpFold:
		return stripFold[T](s, e, t)
	case ir.OpNeg:
		return mapped(s, e, t, func(d, a []T) {
			for k, x := range a {
				d[k] = -x
			}
		})
	case ir.OpAbs:
		return mapped(s, e, t, func(d, a []T) {
			for k, x := range a {
				if x <= 0 { // -0 too
					x = 0 - x
				}
				d[k] = x
			}
		})
	case ir.OpSqrt:
		return mapped(s, e, t, func(d, a []T) {
			for k, x := range a {
				d[k] = T(math.Sqrt(float64(x)))
			}
		})
	case ir.OpFMA:
		return fused[T](s, e, t)
	}
	if f := ir.MathFunc(e.Op); f != nil {
		return mapped(s, e, t, func(d, a []T) {
			for k, x := range a {
				d[k] = T(f(float64(x)))
			}
		})
	}
	return binary[T](s, e, t)
}

// mapped compiles an operation of one value. a and d may be the same memory.
func mapped[T ir.Number](s *stripper, e *ir.Expr, t int, loop func(d, a []T)) vec[T] {
	x := numbers[T](s, e.X[0], t)
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a := x(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a[:n])
		return dst
	}
}

// pair holds the loops of an operation of two values: of two strips, and of a
// strip and one value on either side.
type pair[T ir.Number] struct {
	vv func(d, a, b []T)
	vs func(d, a []T, s T)
	sv func(d []T, s T, b []T)
}

func pairOf[T ir.Number](op ir.Op) pair[T] {
	l := loopsOf[T]()
	switch op {
	case ir.OpAdd:
		return pair[T]{l.addVV, l.addVS, func(d []T, s T, b []T) { l.addVS(d, b, s) }}
	case ir.OpSub:
		return pair[T]{l.subVV, func(d, a []T, s T) { l.addVS(d, a, -s) }, subSV[T]}
	case ir.OpMul:
		return pair[T]{l.mulVV, l.mulVS, func(d []T, s T, b []T) { l.mulVS(d, b, s) }}
	case ir.OpDiv:
		return pair[T]{divVV[T], divVS[T], divSV[T]}
	case ir.OpMin:
		return pair[T]{minVV[T], minVS[T], func(d []T, s T, b []T) { minVS(d, b, s) }}
	}
	return pair[T]{maxVV[T], maxVS[T], func(d []T, s T, b []T) { maxVS(d, b, s) }}
}

func binary[T ir.Number](s *stripper, e *ir.Expr, t int) vec[T] {
	switch e.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul:
		if v := joined[T](s, e, t); v != nil {
			return v
		}
	case ir.OpDiv, ir.OpMin, ir.OpMax:
	case ir.OpPow:
		if y := e.X[1]; y.Op == ir.OpConst && (y.Type.IsFloat() && y.Float == 2 || y.Type.IsInt() && y.Int == 2) {
			return mapped(s, e, t, func(d, a []T) { mulVV(d, a, a) })
		}
		return called[T](s, e, t)
	default:
		return called[T](s, e, t)
	}
	p := pairOf[T](e.Op)
	switch {
	case s.isUniform(e.X[1]):
		x, y := numbers[T](s, e.X[0], t), scalarOf[T](s.c, e.X[1])
		return func(m *machine, n int, mask []bool, dst []T) []T {
			a := x(m, n, mask, nil)
			if dst == nil {
				dst = strip[T](m, t, n)
			}
			p.vs(dst[:n], a, y(m))
			return dst
		}
	case s.isUniform(e.X[0]):
		x, y := scalarOf[T](s.c, e.X[0]), numbers[T](s, e.X[1], t)
		return func(m *machine, n int, mask []bool, dst []T) []T {
			b := y(m, n, mask, nil)
			if dst == nil {
				dst = strip[T](m, t, n)
			}
			p.sv(dst[:n], x(m), b)
			return dst
		}
	}
	x, y := numbers[T](s, e.X[0], t), numbers[T](s, e.X[1], t+1)
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a := x(m, n, mask, nil)
		b := y(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		p.vv(dst[:n], a, b)
		return dst
	}
}

func (s *stripper) isAffine(e *ir.Expr) bool {
	cl, _ := s.classify(e)
	return cl == affine
}

// scalarFunc returns op as a function of two values of type T.
func scalarFunc[T ir.Number](op ir.Op) func(x, y T) T {
	var f any
	switch any(T(0)).(type) {
	case int8:
		f = intFunc[int8](op)
	case int16:
		f = intFunc[int16](op)
	case int32:
		f = intFunc[int32](op)
	case int64:
		f = intFunc[int64](op)
	case uint8:
		f = intFunc[uint8](op)
	case uint16:
		f = intFunc[uint16](op)
	case uint32:
		f = intFunc[uint32](op)
	case uint64:
		f = intFunc[uint64](op)
	case float32:
		f = floatFunc[float32](op)
	case float64:
		f = floatFunc[float64](op)
	}
	return f.(func(x, y T) T)
}

func intFunc[T ir.Integer](op ir.Op) func(x, y T) T {
	switch op {
	case ir.OpFloorDiv:
		return ir.FloorDiv[T]
	case ir.OpMod:
		return ir.FloorMod[T]
	}
	return ir.PowInt[T]
}

func floatFunc[T ir.Float](op ir.Op) func(x, y T) T {
	switch op {
	case ir.OpFloorDiv:
		return func(x, y T) T { return T(math.Floor(float64(x / y))) }
	case ir.OpMod:
		return ir.FloorModFloat[T]
	}
	return ir.Pow[T]
}

// called compiles //, % and **, with the checks that those of integers need.
func called[T ir.Number](s *stripper, e *ir.Expr, t int) vec[T] {
	f := scalarFunc[T](e.Op)
	x, y := numbers[T](s, e.X[0], t), numbers[T](s, e.X[1], t+1)
	isInt, isPow := e.Type.IsInt(), e.Op == ir.OpPow
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a, b := x(m, n, mask, nil)[:n], y(m, n, mask, nil)[:n]
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		dst = dst[:n]
		for k, v := range b {
			if isInt && (isPow && v < 0 || !isPow && v == 0) {
				if mask == nil || mask[k] {
					if isPow {
						m.negativePower(e, int64(v))
					}
					m.zeroDivision(e)
				}
				dst[k] = 0
				continue
			}
			dst[k] = f(a[k], v)
		}
		return dst
	}
}

// fused compiles fma(x, y, z).
func fused[T ir.Number](s *stripper, e *ir.Expr, t int) vec[T] {
	var any3 any = ir.FMA[float64]
	if e.Type == ir.F32 {
		any3 = ir.FMA[float32]
	}
	f := any3.(func(x, y, z T) T)
	x, y, z := numbers[T](s, e.X[0], t), numbers[T](s, e.X[1], t+1), numbers[T](s, e.X[2], t+2)
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a, b, c := x(m, n, mask, nil)[:n], y(m, n, mask, nil)[:n], z(m, n, mask, nil)[:n]
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		for k := range dst[:n] {
			dst[k] = f(a[k], b[k], c[k])
		}
		return dst
	}
}

// converts compiles a conversion.
func converts[T ir.Number](s *stripper, e *ir.Expr, t int) vec[T] {
	switch e.X[0].Type {
	case ir.I8:
		return convertFrom[int8, T](s, e, t)
	case ir.I16:
		return convertFrom[int16, T](s, e, t)
	case ir.I32:
		return convertFrom[int32, T](s, e, t)
	case ir.I64:
		return convertFrom[int64, T](s, e, t)
	case ir.U8:
		return convertFrom[uint8, T](s, e, t)
	case ir.U16:
		return convertFrom[uint16, T](s, e, t)
	case ir.U32:
		return convertFrom[uint32, T](s, e, t)
	case ir.U64:
		return convertFrom[uint64, T](s, e, t)
	case ir.F32:
		return convertFrom[float32, T](s, e, t)
	}
	return convertFrom[float64, T](s, e, t)
}

func convertFrom[A, T ir.Number](s *stripper, e *ir.Expr, t int) vec[T] {
	x := numbers[A](s, e.X[0], t+1) // not t: the sizes differ
	from, to := e.X[0].Type, e.Type
	if from.IsFloat() && to.IsInt() {
		return func(m *machine, n int, mask []bool, dst []T) []T {
			a := x(m, n, mask, nil)
			if dst == nil {
				dst = strip[T](m, t, n)
			}
			dst = dst[:n]
			for k, v := range a[:n] {
				dst[k] = T(ir.Saturate(float64(v), to))
			}
			return dst
		}
	}
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a := x(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		dst = dst[:n]
		for k, v := range a[:n] {
			dst[k] = T(v)
		}
		return dst
	}
}

// choose compiles c ? x : y. Where the sides of a cond differ between rounds,
// each side is evaluated for its rounds only, so that it cannot fault in others.
func choose[T any](s *stripper, e *ir.Expr, t int, expr func(s *stripper, e *ir.Expr, t int) vec[T]) vec[T] {
	if e.Op == ir.OpCond && s.isUniform(e.X[0]) {
		f, x, y := s.c.boolean(e.X[0]), expr(s, e.X[1], t), expr(s, e.X[2], t)
		return func(m *machine, n int, mask []bool, dst []T) []T {
			if f(m) {
				return x(m, n, mask, dst)
			}
			return y(m, n, mask, dst)
		}
	}
	f := s.boolean(e.X[0], t+1)
	yes, no := s.use(t+1), s.use(t+2)
	x, y := expr(s, e.X[1], t+3), expr(s, e.X[2], t+4)
	both := e.Op == ir.OpSelect
	var checks []*stripAccess
	if !both && cost(e.X[1])+cost(e.X[2]) < 32 {
		checks, both = s.checks(e.X[1:])
	}
	return func(m *machine, n int, mask []bool, dst []T) []T {
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		a, b := strip[bool](m, yes, n), strip[bool](m, no, n)
		if both && inside(m, n, checks) {
			if c := f(m, n, mask, a); &c[0] != &a[0] {
				copy(a, c)
			}
			u := x(m, n, mask, nil)
			v := y(m, n, mask, nil)
			chooseVV(dst[:n], a, u, v)
			return dst
		}
		in, out := split(f(m, n, mask, nil), mask, a, b)
		if out == 0 {
			return x(m, n, mask, dst)
		}
		if in == 0 {
			return y(m, n, mask, dst)
		}
		u := x(m, n, a, nil)
		v := y(m, n, b, nil)
		chooseVV(dst[:n], a, u, v)
		return dst
	}
}

// checks lists the accesses that decide whether list can fault; false: other
// things can.
func (s *stripper) checks(list []*ir.Expr) (out []*stripAccess, ok bool) {
	ok = true
	for _, e := range list {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			switch {
			case !ok || x.Op == ir.OpFold:
				ok = ok && !analysis.MayFault(x)
				return false
			case x.Op == ir.OpLoad && len(x.X) > 0:
				a := s.access(x)
				ok = a != nil
				out = append(out, a)
				return false
			case x.Op == ir.OpFloorDiv || x.Op == ir.OpMod || x.Op == ir.OpPow:
				ok = !x.Type.IsInt()
			}
			return ok
		})
	}
	return out, ok
}

// access returns a regular access whose indices cannot fault, or nil.
func (s *stripper) access(e *ir.Expr) *stripAccess {
	for _, x := range e.X {
		if cl, _ := s.classify(x); cl == varying || analysis.MayFault(x) {
			return nil
		}
	}
	return newAccess(s, e, 0)
}

// anyRound is a mask that only says that there is one.
var anyRound = []bool{}

// inside reports whether all rounds of the accesses lie inside.
func inside(m *machine, n int, list []*stripAccess) bool {
	for _, a := range list {
		if _, ok := a.first(m, n, anyRound); !ok {
			return false
		}
	}
	return true
}

// CPU back end: operations that often stand together and run as one loop.

// joined compiles a*b+c, a*b-c, c-a*b, a+b+c and (a+b)*s in one pass; nil: e is
// none of them.
func joined[T ir.Number](s *stripper, e *ir.Expr, t int) vec[T] {
	// inner reports whether x is such an operation and needs a strip
	inner := func(x *ir.Expr, op ir.Op) bool {
		cl, _ := s.classify(x)
		return x.Op == op && cl == varying
	}
	x, y := e.X[0], e.X[1]
	switch e.Op {
	case ir.OpMul:
		if s.isUniform(x) {
			x, y = y, x
		}
		if s.isUniform(y) && inner(x, ir.OpAdd) && !s.isUniform(x.X[0]) && !s.isUniform(x.X[1]) {
			return sumTimes[T](s, x.X[0], x.X[1], y, t)
		}
		return nil
	case ir.OpAdd:
		switch {
		case inner(y, ir.OpMul):
			return multiplyAdd[T](s, y, x, t, plusProduct)
		case inner(x, ir.OpMul):
			return multiplyAdd[T](s, x, y, t, plusProduct)
		case inner(x, ir.OpAdd) && !s.isUniform(y) && !s.isUniform(x.X[0]) && !s.isUniform(x.X[1]) && !inner(x.X[0], ir.OpMul) && !inner(x.X[1], ir.OpMul):
			return sumOfThree[T](s, x.X[0], x.X[1], y, t)
		}
		return nil
	}
	switch {
	case inner(y, ir.OpMul) && !s.isUniform(x):
		return multiplyAdd[T](s, y, x, t, minusProduct)
	case inner(x, ir.OpMul):
		return multiplyAdd[T](s, x, y, t, productMinus)
	}
	return nil
}

func sumTimes[T ir.Number](s *stripper, a, b, f *ir.Expr, t int) vec[T] {
	va, vb, sf := numbers[T](s, a, t), numbers[T](s, b, t+1), scalarOf[T](s.c, f)
	loop := loopsOf[T]().addMulVVS
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a, b := va(m, n, mask, nil), vb(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a, b, sf(m))
		return dst
	}
}

func sumOfThree[T ir.Number](s *stripper, a, b, c *ir.Expr, t int) vec[T] {
	va, vb, vc := numbers[T](s, a, t), numbers[T](s, b, t+1), numbers[T](s, c, t+2)
	loop := loopsOf[T]().addVVV
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a, b, c := va(m, n, mask, nil), vb(m, n, mask, nil), vc(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a, b, c)
		return dst
	}
}

// How a product and a third value are joined.
type joint uint8

const (
	plusProduct  joint = iota // c + a*b
	minusProduct              // c - a*b
	productMinus              // a*b - c
)

// multiplyAdd joins the product mul, which differs between rounds, with c. A
// uniform c comes with plusProduct and productMinus only.
func multiplyAdd[T ir.Number](s *stripper, mul, c *ir.Expr, t int, how joint) vec[T] {
	a, b := mul.X[0], mul.X[1]
	if s.isUniform(a) {
		a, b = b, a
	}
	l := loopsOf[T]()
	// c is often the rest of a long sum: with the first strip it needs no more
	// of them than its own length
	ta, tb, tc := t, t+1, t+2
	if c.Op != ir.OpLoad && c.Op != ir.OpSlot && !s.isUniform(c) {
		ta, tb, tc = t+1, t+2, t
	}
	va := numbers[T](s, a, ta)
	if s.isUniform(c) {
		sc := scalarOf[T](s.c, c)
		if how == productMinus {
			plus := sc
			sc = func(m *machine) T { return -plus(m) }
		}
		if s.isUniform(b) {
			sb := scalarOf[T](s.c, b)
			return func(m *machine, n int, mask []bool, dst []T) []T {
				a := va(m, n, mask, nil)
				if dst == nil {
					dst = strip[T](m, t, n)
				}
				l.mulAddVSS(dst[:n], a, sb(m), sc(m))
				return dst
			}
		}
		vb := numbers[T](s, b, t+1)
		return func(m *machine, n int, mask []bool, dst []T) []T {
			a, b := va(m, n, mask, nil), vb(m, n, mask, nil)
			if dst == nil {
				dst = strip[T](m, t, n)
			}
			l.mulAddVVS(dst[:n], a, b, sc(m))
			return dst
		}
	}
	if s.isUniform(b) {
		sb, vc := scalarOf[T](s.c, b), numbers[T](s, c, tc)
		loop := l.mulAddVSV
		if how == minusProduct {
			loop = l.subMulVSV
		}
		if how != productMinus {
			return func(m *machine, n int, mask []bool, dst []T) []T {
				var a, c []T
				if tc < ta {
					c = vc(m, n, mask, nil)
					a = va(m, n, mask, nil)
				} else {
					a = va(m, n, mask, nil)
					c = vc(m, n, mask, nil)
				}
				if dst == nil {
					dst = strip[T](m, t, n)
				}
				loop(dst[:n], a, sb(m), c)
				return dst
			}
		}
	}
	vb, vc := numbers[T](s, b, tb), numbers[T](s, c, tc)
	loop := l.mulAddVVV
	switch how {
	case minusProduct:
		loop = l.subMulVVV
	case productMinus:
		loop = l.mulSubVVV
	}
	return func(m *machine, n int, mask []bool, dst []T) []T {
		var a, b, c []T
		if tc < ta {
			c = vc(m, n, mask, nil)
		}
		a = va(m, n, mask, nil)
		b = vb(m, n, mask, nil)
		if tc > ta {
			c = vc(m, n, mask, nil)
		}
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a, b, c)
		return dst
	}
}
