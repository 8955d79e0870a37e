package kernel

// CPU back end: expressions of one round at a time.

import (
	"math"
	"unsafe"
)

func (c *compiler) boolean(e *Expr) boolFn {
	if c.dry > 0 {
		return nil
	}
	switch e.Op {
	case OpConst:
		v := e.Int != 0
		return func(*machine) bool { return v }
	case OpSlot:
		slot := e.Slot
		return func(m *machine) bool { return m.ints[slot] != 0 }
	case OpNot:
		x := c.boolean(e.X[0])
		return func(m *machine) bool { return !x(m) }
	case OpAnd:
		x, y := c.boolean(e.X[0]), c.boolean(e.X[1])
		return func(m *machine) bool { return x(m) && y(m) }
	case OpOr:
		x, y := c.boolean(e.X[0]), c.boolean(e.X[1])
		return func(m *machine) bool { return x(m) || y(m) }
	case OpCond, OpSelect:
		f, x, y := c.boolean(e.X[0]), c.boolean(e.X[1]), c.boolean(e.X[2])
		if e.Op == OpSelect {
			return func(m *machine) bool {
				k, a, b := f(m), x(m), y(m)
				if k {
					return a
				}
				return b
			}
		}
		return func(m *machine) bool {
			if f(m) {
				return x(m)
			}
			return y(m)
		}
	}
	switch t := e.X[0].Type; {
	case t == Bool:
		x, y, want := c.boolean(e.X[0]), c.boolean(e.X[1]), e.Op == OpEq
		return func(m *machine) bool { return (x(m) == y(m)) == want }
	case t.IsFloat():
		return compareFloats(e.Op, c.floating(e.X[0]), c.floating(e.X[1]))
	case t == U64:
		return compareInts[uint64](e.Op, c.integer(e.X[0]), c.integer(e.X[1]))
	}
	return compareInts[int64](e.Op, c.integer(e.X[0]), c.integer(e.X[1]))
}

func compareFloats(op Op, x, y fltFn) boolFn {
	switch op {
	case OpEq:
		return func(m *machine) bool { return x(m) == y(m) }
	case OpNe:
		return func(m *machine) bool { return x(m) != y(m) }
	case OpLt:
		return func(m *machine) bool { return x(m) < y(m) }
	case OpLe:
		return func(m *machine) bool { return x(m) <= y(m) }
	case OpGt:
		return func(m *machine) bool { return x(m) > y(m) }
	}
	return func(m *machine) bool { return x(m) >= y(m) }
}

func compareInts[T Integer](op Op, x, y intFn) boolFn {
	switch op {
	case OpEq:
		return func(m *machine) bool { return x(m) == y(m) }
	case OpNe:
		return func(m *machine) bool { return x(m) != y(m) }
	case OpLt:
		return func(m *machine) bool { return T(x(m)) < T(y(m)) }
	case OpLe:
		return func(m *machine) bool { return T(x(m)) <= T(y(m)) }
	case OpGt:
		return func(m *machine) bool { return T(x(m)) > T(y(m)) }
	}
	return func(m *machine) bool { return T(x(m)) >= T(y(m)) }
}

func (c *compiler) integer(e *Expr) intFn {
	if c.dry > 0 {
		return nil
	}
	switch e.Op {
	case OpConst:
		v := e.Int
		return func(*machine) int64 { return v }
	case OpSlot:
		slot := e.Slot
		return func(m *machine) int64 { return m.ints[slot] }
	case OpField:
		return fieldOf(e)
	case OpConvert:
		return c.toInteger(e)
	case OpCond, OpSelect:
		f, x, y := c.boolean(e.X[0]), c.integer(e.X[1]), c.integer(e.X[2])
		if e.Op == OpSelect {
			return func(m *machine) int64 {
				k, a, b := f(m), x(m), y(m)
				if k {
					return a
				}
				return b
			}
		}
		return func(m *machine) int64 {
			if f(m) {
				return x(m)
			}
			return y(m)
		}
	case OpFold:
		return c.foldInt(e)
	}
	switch e.Type {
	case I8:
		return intExpr[int8](c, e)
	case I16:
		return intExpr[int16](c, e)
	case I32:
		return intExpr[int32](c, e)
	case U8:
		return intExpr[uint8](c, e)
	case U16:
		return intExpr[uint16](c, e)
	case U32:
		return intExpr[uint32](c, e)
	case U64:
		return intExpr[uint64](c, e)
	}
	return intExpr[int64](c, e)
}

func fieldOf(e *Expr) intFn {
	op := e.Operand
	switch e.Field {
	case FieldDim0:
		return func(m *machine) int64 { return m.ops[op].dim[0] }
	case FieldDim1:
		return func(m *machine) int64 { return m.ops[op].dim[1] }
	case FieldOff0:
		return func(m *machine) int64 { return m.ops[op].off[0] }
	case FieldOff1:
		return func(m *machine) int64 { return m.ops[op].off[1] }
	case FieldDim2:
		return func(m *machine) int64 { return int64(m.ops[op].buf.Dim[2]) }
	case FieldOff2:
		return func(m *machine) int64 { return int64(m.ops[op].buf.Off[2]) }
	case FieldPlane:
		return func(m *machine) int64 { return int64(m.ops[op].buf.Stride[0]) }
	case FieldRow:
		return func(m *machine) int64 { return int64(m.ops[op].buf.Stride[1]) }
	}
	return func(m *machine) int64 { return m.ops[op].row }
}

func (c *compiler) toInteger(e *Expr) intFn {
	from, to := e.X[0].Type, e.Type
	if from.IsFloat() {
		x := c.floating(e.X[0])
		return func(m *machine) int64 { return Saturate(x(m), to) }
	}
	x := c.integer(e.X[0])
	if to == I64 || to == U64 {
		return x
	}
	return func(m *machine) int64 { return Wrap(x(m), to) }
}

// intExpr makes operations whose code depends on the type.
func intExpr[T Integer](c *compiler, e *Expr) intFn {
	if e.Op == OpLoad {
		if slot, plus, ok := simpleIndex(e); ok {
			return func(m *machine) int64 { return int64(*near[T](m, e, m.ints[slot]+plus)) }
		}
		at, op := c.place(e), e.Operand
		return func(m *machine) int64 { return int64(*element[T](m, op, at(m))) }
	}
	x := c.integer(e.X[0])
	switch e.Op {
	case OpNeg:
		return func(m *machine) int64 { return int64(-T(x(m))) }
	case OpAbs:
		return func(m *machine) int64 { return int64(Abs(T(x(m)))) }
	}
	y := c.integer(e.X[1])
	if e.X[1].Op == OpConst {
		k := T(e.X[1].Int)
		switch e.Op {
		case OpAdd:
			return func(m *machine) int64 { return int64(T(x(m)) + k) }
		case OpSub:
			return func(m *machine) int64 { return int64(T(x(m)) - k) }
		}
	}
	switch e.Op {
	case OpAdd:
		return func(m *machine) int64 { return int64(T(x(m)) + T(y(m))) }
	case OpSub:
		return func(m *machine) int64 { return int64(T(x(m)) - T(y(m))) }
	case OpMul:
		return func(m *machine) int64 { return int64(T(x(m)) * T(y(m))) }
	case OpMin:
		return func(m *machine) int64 { return int64(min(T(x(m)), T(y(m)))) }
	case OpMax:
		return func(m *machine) int64 { return int64(max(T(x(m)), T(y(m)))) }
	case OpFloorDiv:
		return func(m *machine) int64 {
			a, b := T(x(m)), T(y(m))
			if b == 0 {
				m.zeroDivision(e)
			}
			return int64(FloorDiv(a, b))
		}
	case OpMod:
		return func(m *machine) int64 {
			a, b := T(x(m)), T(y(m))
			if b == 0 {
				m.zeroDivision(e)
			}
			return int64(FloorMod(a, b))
		}
	}
	return func(m *machine) int64 { // OpPow
		a, b := T(x(m)), T(y(m))
		if b < 0 {
			m.negativePower(e, int64(b))
		}
		return int64(PowInt(a, b))
	}
}

func (c *compiler) floating(e *Expr) fltFn {
	if c.dry > 0 {
		return nil
	}
	switch e.Op {
	case OpConst:
		v := e.Float
		return func(*machine) float64 { return v }
	case OpSlot:
		slot := e.Slot
		return func(m *machine) float64 { return m.flts[slot] }
	case OpConvert:
		return c.toFloating(e)
	case OpCond, OpSelect:
		f, x, y := c.boolean(e.X[0]), c.floating(e.X[1]), c.floating(e.X[2])
		if e.Op == OpSelect {
			return func(m *machine) float64 {
				k, a, b := f(m), x(m), y(m)
				if k {
					return a
				}
				return b
			}
		}
		return func(m *machine) float64 {
			if f(m) {
				return x(m)
			}
			return y(m)
		}
	case OpFold:
		return c.foldFloat(e)
	}
	if e.Type == F32 {
		return floatExpr[float32](c, e)
	}
	return floatExpr[float64](c, e)
}

func (c *compiler) toFloating(e *Expr) fltFn {
	from, to := e.X[0].Type, e.Type
	if from.IsFloat() {
		x := c.floating(e.X[0])
		if to == F64 {
			return x
		}
		return func(m *machine) float64 { return float64(float32(x(m))) }
	}
	x := c.integer(e.X[0])
	if to == F64 && from != U64 {
		return func(m *machine) float64 { return float64(x(m)) }
	}
	return func(m *machine) float64 { return IntToFloat(x(m), from, to) }
}

func floatExpr[T Float](c *compiler, e *Expr) fltFn {
	if e.Op == OpLoad {
		if slot, plus, ok := simpleIndex(e); ok {
			return func(m *machine) float64 { return float64(*near[T](m, e, m.ints[slot]+plus)) }
		}
		at, op := c.place(e), e.Operand
		return func(m *machine) float64 { return float64(*element[T](m, op, at(m))) }
	}
	x := c.floating(e.X[0])
	if f := MathFunc(e.Op); f != nil {
		if e.Op == OpSqrt {
			return func(m *machine) float64 { return float64(T(math.Sqrt(x(m)))) }
		}
		return func(m *machine) float64 { return float64(T(f(x(m)))) }
	}
	switch e.Op {
	case OpNeg:
		return func(m *machine) float64 { return -x(m) }
	case OpAbs:
		return func(m *machine) float64 { return math.Abs(x(m)) }
	}
	y := c.floating(e.X[1])
	if k := T(e.X[1].Float); e.X[1].Op == OpConst {
		switch e.Op {
		case OpAdd:
			return func(m *machine) float64 { return float64(T(x(m)) + k) }
		case OpMul:
			return func(m *machine) float64 { return float64(T(x(m)) * k) }
		}
	}
	if k := T(e.X[0].Float); e.X[0].Op == OpConst && e.Op == OpMul {
		return func(m *machine) float64 { return float64(k * T(y(m))) }
	}
	switch e.Op {
	case OpAdd:
		return func(m *machine) float64 { return float64(T(x(m)) + T(y(m))) }
	case OpSub:
		return func(m *machine) float64 { return float64(T(x(m)) - T(y(m))) }
	case OpMul:
		return func(m *machine) float64 { return float64(T(x(m)) * T(y(m))) }
	case OpDiv:
		return func(m *machine) float64 { return float64(T(x(m)) / T(y(m))) }
	case OpMin:
		return func(m *machine) float64 { return min(x(m), y(m)) }
	case OpMax:
		return func(m *machine) float64 { return max(x(m), y(m)) }
	case OpFMA:
		z := c.floating(e.X[2])
		return func(m *machine) float64 { return float64(FMA(T(x(m)), T(y(m)), T(z(m)))) }
	}
	op := e.Op
	return func(m *machine) float64 {
		r, _ := FloatOp(op, T(x(m)), T(y(m)))
		return float64(r)
	}
}

// simpleIndex takes the index of a vector apart, if it is simple.
func simpleIndex(e *Expr) (slot int, plus int64, ok bool) {
	if len(e.X) != 1 {
		return 0, 0, false
	}
	return simpleTerm(e.X[0])
}

// simpleTerm takes an index apart that is a name, or a name and a constant.
func simpleTerm(x *Expr) (slot int, plus int64, ok bool) {
	if x.Op == OpSlot {
		return x.Slot, 0, true
	}
	if (x.Op == OpAdd || x.Op == OpSub) && x.X[0].Op == OpSlot && x.X[1].Op == OpConst {
		plus = x.X[1].Int
		if x.Op == OpSub {
			plus = -plus
		}
		return x.X[0].Slot, plus, true
	}
	return 0, 0, false
}

// near returns the address of element i of a vector.
func near[T any](m *machine, e *Expr, i int64) *T {
	v := &m.ops[e.Operand]
	if uint64(i) >= uint64(v.dim[0]) {
		m.outside(e, e.Operand, 0, i)
	}
	return (*T)(unsafe.Add(v.ptr, i*int64(unsafe.Sizeof(*new(T)))))
}
