package cpu

// Expressions of numbers in strips.

import (
	"math"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// scalarOf compiles a value that is the same in every round.
func scalarOf[T ir.Number](c *compiler, e *ir.Expr) func(m *machine) T {
	if e.Type.IsFloat() {
		f := c.floating(e)
		return func(m *machine) T { return T(f(m)) }
	}
	f := c.integer(e)
	return func(m *machine) T { return T(f(m)) }
}

// isUniform reports whether e is the same in every round of a strip.
func (s *stripCompiler) isUniform(e *ir.Expr) bool {
	cl, _ := s.classify(e)
	return cl == uniform
}

// numbers compiles e, whose values have the Go type T. The result is never in a scratch strip
// above t.
func numbers[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	s.useStrip(t)
	if s.failed {
		return nil
	}
	defer s.c.reserve(t)()
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
	if v := weightedSum(s, e, t); v != nil {
		return any(v).(vec[T])
	}
	switch e.Op {
	case ir.OpSlot:
		slot := e.Slot
		return func(m *machine, n int, mask []bool, dst []T) []T { return unsafe.Slice((*T)(m.ptrs[slot]), n) }
	case ir.OpLoad:
		return loadStrip[T](s, e, t)
	case ir.OpElement:
		return elementStrip[T](s, e, t)
	case ir.OpConvert:
		return convertStrip[T](s, e, t)
	case ir.OpFromF16:
		return any(eachValue(s, e, t, iface.F16FromBits)).(vec[T])
	case ir.OpFromBF16:
		return any(eachValue(s, e, t, iface.BF16FromBits)).(vec[T])
	case ir.OpToF16:
		return any(eachValue(s, e, t, iface.F16Bits)).(vec[T])
	case ir.OpToBF16:
		return any(eachValue(s, e, t, iface.BF16Bits)).(vec[T])
	case ir.OpCond, ir.OpSelect:
		return choose(s, e, t, numbers[T])
	case ir.OpFold:
		return stripFold[T](s, e, t)
	case ir.OpNeg:
		return mapStrip(s, e, t, func(d, a []T) {
			for k, x := range a {
				d[k] = -x
			}
		})
	case ir.OpAbs:
		return mapStrip(s, e, t, func(d, a []T) {
			for k, x := range a {
				if x <= 0 { // for -0, too
					x = 0 - x
				}
				d[k] = x
			}
		})
	case ir.OpBitNot:
		return mapStrip(s, e, t, bitLoops[T](e.Op).not)
	case ir.OpSqrt:
		return mapStrip(s, e, t, func(d, a []T) {
			for k, x := range a {
				d[k] = T(math.Sqrt(float64(x)))
			}
		})
	case ir.OpFMA:
		return fmaStrip[T](s, e, t)
	}
	if loop := mathSlice[T](e.Op); loop != nil {
		return mapStrip(s, e, t, loop)
	}
	return binary[T](s, e, t)
}

// mathSlice is ir.MathSlice, or nil for integers.
func mathSlice[T ir.Number](op ir.Op) func(d, a []T) {
	var loop any
	switch any(T(0)).(type) {
	case float32:
		loop = ir.MathSlice[float32](op)
	case float64:
		loop = ir.MathSlice[float64](op)
	}
	f, _ := loop.(func(d, a []T))
	return f
}

// mapStrip compiles an operation of one value. loop must work if a and d are the same memory.
func mapStrip[T ir.Number](s *stripCompiler, e *ir.Expr, t int, loop func(d, a []T)) vec[T] {
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

// pair holds the loops of an operation of two values: two strips, and a strip and one value on
// either side.
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
	case ir.OpBitAnd, ir.OpBitOr, ir.OpBitXor, ir.OpShl, ir.OpShr:
		return bitLoops[T](op).pair
	}
	return pair[T]{maxVV[T], maxVS[T], func(d []T, s T, b []T) { maxVS(d, b, s) }}
}

func binary[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	switch e.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul:
		if v := fusedLoop[T](s, e, t); v != nil {
			return v
		}
	case ir.OpDiv, ir.OpMin, ir.OpMax, ir.OpBitAnd, ir.OpBitOr, ir.OpBitXor, ir.OpShl, ir.OpShr:
	case ir.OpPow:
		if y := e.X[1]; y.Op == ir.OpConst && (y.Type.IsFloat() && y.Float == 2 || y.Type.IsInt() && y.Int == 2) {
			return mapStrip(s, e, t, func(d, a []T) { mulVV(d, a, a) })
		}
		switch any(T(0)).(type) {
		case float32:
			return any(powStrip[float32](s, e, t)).(vec[T])
		case float64:
			return any(powStrip[float64](s, e, t)).(vec[T])
		}
		return callStrip[T](s, e, t)
	default:
		return callStrip[T](s, e, t)
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

func (s *stripCompiler) isAffine(e *ir.Expr) bool {
	cl, _ := s.classify(e)
	return cl == affine
}

// scalarFunc returns the function of two values that computes op.
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
	return nil // powStrip
}

// powStrip compiles ** of floats.
func powStrip[T ir.Float](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	x, y := numbers[T](s, e.X[0], t), numbers[T](s, e.X[1], t+1)
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a, b := x(m, n, mask, nil)[:n], y(m, n, mask, nil)[:n]
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		ir.PowSlice(dst[:n], a, b)
		return dst
	}
}

// callStrip compiles // and %, and ** of integers, with the checks of integers.
func callStrip[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	if y := e.X[1]; e.Type.IsInt() && e.Op != ir.OpPow && y.Op == ir.OpConst && y.Int != 0 {
		return mapStrip(s, e, t, divisionLoop[T](e.Op, y.Int))
	}
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

// fmaStrip compiles fma(x, y, z).
func fmaStrip[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
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

// convertStrip compiles a conversion.
func convertStrip[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	if x := e.X[0]; x.Type == ir.I64 && e.Type.IsInt() && e.Type.Size() <= 4 {
		e = &ir.Expr{Op: ir.OpConvert, Type: e.Type, X: []*ir.Expr{s.narrowed(x)}, Pos: e.Pos}
		if e.X[0].Type == e.Type {
			return numbers[T](s, e.X[0], t)
		}
	}
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

func convertFrom[A, T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	x := numbers[A](s, e.X[0], t+1) // not t: the sizes of values differ
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
	loop := conversion(convertV[A, T])
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a := x(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a)
		return dst
	}
}

// eachValue compiles f of a value of another type.
func eachValue[A, T ir.Number](s *stripCompiler, e *ir.Expr, t int, f func(A) T) vec[T] {
	x := numbers[A](s, e.X[0], t+1) // not t: the sizes of values differ
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a := x(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		dst = dst[:n]
		for k, v := range a[:n] {
			dst[k] = f(v)
		}
		return dst
	}
}

// choose compiles c ? x : y. If the condition of an OpCond differs between rounds, each side is
// evaluated for its rounds only, so that it does not fault in others.
func choose[T any](s *stripCompiler, e *ir.Expr, t int, expr func(s *stripCompiler, e *ir.Expr, t int) vec[T]) vec[T] {
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
	yes, no := s.useStrip(t+1), s.useStrip(t+2)
	x, y := expr(s, e.X[1], t+3), expr(s, e.X[2], t+4)
	both := e.Op == ir.OpSelect
	var checks []*stripAccess
	if !both && stripCost(e.X[1])+stripCost(e.X[2]) < 32 {
		checks, both = s.faultChecks(e.X[1:])
	}
	return func(m *machine, n int, mask []bool, dst []T) []T {
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		a, b := strip[bool](m, yes, n), strip[bool](m, no, n)
		if both && allInBounds(m, n, checks) {
			if c := f(m, n, mask, a); &c[0] != &a[0] {
				copy(a, c)
			}
			u := x(m, n, mask, nil)
			v := y(m, n, mask, nil)
			chooseVV(dst[:n], a, u, v)
			return dst
		}
		in, out := splitMask(f(m, n, mask, nil), mask, a, b)
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

// faultChecks returns the accesses that determine whether list faults. It reports false if
// other operations may fault.
func (s *stripCompiler) faultChecks(list []*ir.Expr) (out []*stripAccess, ok bool) {
	ok = true
	for _, e := range list {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			switch {
			case !ok || x.Op == ir.OpFold:
				ok = ok && !analysis.MayFault(x)
				return false
			case x.Op == ir.OpLoad && len(x.X) > 0:
				a := s.regularAccess(x)
				ok = a != nil
				out = append(out, a)
				return false
			case x.Op == ir.OpElement:
				ok = x.InBounds()
			case x.Op == ir.OpFloorDiv || x.Op == ir.OpMod || x.Op == ir.OpPow:
				ok = !x.Type.IsInt()
			}
			return ok
		})
	}
	return out, ok
}

// regularAccess returns the access e if it is regular and its indices cannot fault, or nil.
func (s *stripCompiler) regularAccess(e *ir.Expr) *stripAccess {
	for _, x := range e.X {
		if cl, _ := s.classify(x); cl == varying || analysis.MayFault(x) {
			return nil
		}
	}
	return newAccess(s, e, 0)
}

// someMask is a mask that firstElement only compares with nil.
var someMask = []bool{}

// allInBounds reports whether all rounds of the accesses are in bounds.
func allInBounds(m *machine, n int, list []*stripAccess) bool {
	for _, a := range list {
		if _, ok := a.firstElement(m, n, someMask); !ok {
			return false
		}
	}
	return true
}

// Operations that often occur together and run as one loop.

// fusedLoop compiles a*b+c, a*b-c, c-a*b, a+b+c and (a+b)*s to one loop, and c plus a product of f32 as f64. It returns nil if e is
// none of them.
func fusedLoop[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	// inner reports whether x is an operation op with varying values
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
		case inner(y, ir.OpConvert) && isProductF32(y.X[0]) && e.Type == ir.F64:
			return any(productSum(s, y.X[0], x, t)).(vec[T])
		case inner(x, ir.OpConvert) && isProductF32(x.X[0]) && e.Type == ir.F64:
			return any(productSum(s, x.X[0], y, t)).(vec[T])
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

func isProductF32(e *ir.Expr) bool { return e.Op == ir.OpMul && e.Type == ir.F32 }

// productSum compiles c, of f64, plus the product mul of f32.
func productSum(s *stripCompiler, mul, c *ir.Expr, t int) vec[float64] {
	a, b := mul.X[0], mul.X[1]
	if s.isUniform(a) {
		a, b = b, a
	}
	vsv, vvv := productSums()
	vc, va := numbers[float64](s, c, t), numbers[float32](s, a, t+1)
	if s.isUniform(b) {
		sb := scalarOf[float32](s.c, b)
		return func(m *machine, n int, mask []bool, dst []float64) []float64 {
			c, a := vc(m, n, mask, nil), va(m, n, mask, nil)
			if dst == nil {
				dst = strip[float64](m, t, n)
			}
			vsv(dst[:n], a, sb(m), c)
			return dst
		}
	}
	vb := numbers[float32](s, b, t+2)
	return func(m *machine, n int, mask []bool, dst []float64) []float64 {
		c, a := vc(m, n, mask, nil), va(m, n, mask, nil)
		b := vb(m, n, mask, nil)
		if dst == nil {
			dst = strip[float64](m, t, n)
		}
		vvv(dst[:n], a, b, c)
		return dst
	}
}

func sumTimes[T ir.Number](s *stripCompiler, a, b, f *ir.Expr, t int) vec[T] {
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

func sumOfThree[T ir.Number](s *stripCompiler, a, b, c *ir.Expr, t int) vec[T] {
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

// productForm is how a product and a third value are combined.
type productForm uint8

const (
	plusProduct  productForm = iota // c + a*b
	minusProduct                    // c - a*b
	productMinus                    // a*b - c
)

// multiplyAdd compiles the product mul, which differs between rounds, combined with c. c is
// uniform with plusProduct and productMinus only.
func multiplyAdd[T ir.Number](s *stripCompiler, mul, c *ir.Expr, t int, how productForm) vec[T] {
	a, b := mul.X[0], mul.X[1]
	if s.isUniform(a) {
		a, b = b, a
	}
	l := loopsOf[T]()
	// c is often the rest of a long sum: if it gets the first strip, the sum does not
	// need a strip more for each term
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
