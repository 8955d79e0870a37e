package cpu

// Expressions in code that runs one round at a time.

import (
	"math"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
)

func (c *compiler) boolean(e *ir.Expr) boolFn {
	if c.dryRun > 0 {
		return nil
	}
	switch e.Op {
	case ir.OpConst:
		v := e.Int != 0
		return func(*machine) bool { return v }
	case ir.OpSlot:
		slot := e.Slot
		return func(m *machine) bool { return m.ints[slot] != 0 }
	case ir.OpNot:
		x := c.boolean(e.X[0])
		return func(m *machine) bool { return !x(m) }
	case ir.OpAnd:
		x, y := c.boolean(e.X[0]), c.boolean(e.X[1])
		return func(m *machine) bool { return x(m) && y(m) }
	case ir.OpOr:
		x, y := c.boolean(e.X[0]), c.boolean(e.X[1])
		return func(m *machine) bool { return x(m) || y(m) }
	case ir.OpCond, ir.OpSelect:
		f, x, y := c.boolean(e.X[0]), c.boolean(e.X[1]), c.boolean(e.X[2])
		if e.Op == ir.OpSelect {
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
	case t == ir.Bool:
		x, y, want := c.boolean(e.X[0]), c.boolean(e.X[1]), e.Op == ir.OpEq
		return func(m *machine) bool { return (x(m) == y(m)) == want }
	case t.IsFloat():
		return compareFloats(e.Op, c.floating(e.X[0]), c.floating(e.X[1]))
	case t == ir.U64:
		return compareInts[uint64](e.Op, c.integer(e.X[0]), c.integer(e.X[1]))
	}
	return compareInts[int64](e.Op, c.integer(e.X[0]), c.integer(e.X[1]))
}

func compareFloats(op ir.Op, x, y fltFn) boolFn {
	switch op {
	case ir.OpEq:
		return func(m *machine) bool { return x(m) == y(m) }
	case ir.OpNe:
		return func(m *machine) bool { return x(m) != y(m) }
	case ir.OpLt:
		return func(m *machine) bool { return x(m) < y(m) }
	case ir.OpLe:
		return func(m *machine) bool { return x(m) <= y(m) }
	case ir.OpGt:
		return func(m *machine) bool { return x(m) > y(m) }
	}
	return func(m *machine) bool { return x(m) >= y(m) }
}

func compareInts[T ir.Integer](op ir.Op, x, y intFn) boolFn {
	switch op {
	case ir.OpEq:
		return func(m *machine) bool { return x(m) == y(m) }
	case ir.OpNe:
		return func(m *machine) bool { return x(m) != y(m) }
	case ir.OpLt:
		return func(m *machine) bool { return T(x(m)) < T(y(m)) }
	case ir.OpLe:
		return func(m *machine) bool { return T(x(m)) <= T(y(m)) }
	case ir.OpGt:
		return func(m *machine) bool { return T(x(m)) > T(y(m)) }
	}
	return func(m *machine) bool { return T(x(m)) >= T(y(m)) }
}

func (c *compiler) integer(e *ir.Expr) intFn {
	if c.dryRun > 0 {
		return nil
	}
	switch e.Op {
	case ir.OpConst:
		v := e.Int
		return func(*machine) int64 { return v }
	case ir.OpSlot:
		slot := e.Slot
		return func(m *machine) int64 { return m.ints[slot] }
	case ir.OpField:
		return fieldOf(e)
	case ir.OpElement:
		at := c.arrayElement(e)
		return func(m *machine) int64 { return m.ints[at(m)] }
	case ir.OpConvert:
		return c.toInteger(e)
	case ir.OpToF16:
		x := c.floating(e.X[0])
		return func(m *machine) int64 { return int64(iface.F16Bits(float32(x(m)))) }
	case ir.OpToBF16:
		x := c.floating(e.X[0])
		return func(m *machine) int64 { return int64(iface.BF16Bits(float32(x(m)))) }
	case ir.OpCond, ir.OpSelect:
		f, x, y := c.boolean(e.X[0]), c.integer(e.X[1]), c.integer(e.X[2])
		if e.Op == ir.OpSelect {
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
	case ir.OpFold:
		return c.foldInt(e)
	}
	switch e.Type {
	case ir.I8:
		return intExpr[int8](c, e)
	case ir.I16:
		return intExpr[int16](c, e)
	case ir.I32:
		return intExpr[int32](c, e)
	case ir.U8:
		return intExpr[uint8](c, e)
	case ir.U16:
		return intExpr[uint16](c, e)
	case ir.U32:
		return intExpr[uint32](c, e)
	case ir.U64:
		return intExpr[uint64](c, e)
	}
	return intExpr[int64](c, e)
}

func fieldOf(e *ir.Expr) intFn {
	op := e.Operand
	switch e.Field {
	case ir.FieldDim0:
		return func(m *machine) int64 { return m.ops[op].dim[0] }
	case ir.FieldDim1:
		return func(m *machine) int64 { return m.ops[op].dim[1] }
	case ir.FieldOff0:
		return func(m *machine) int64 { return m.ops[op].off[0] }
	case ir.FieldOff1:
		return func(m *machine) int64 { return m.ops[op].off[1] }
	case ir.FieldLD:
		return func(m *machine) int64 { return m.ops[op].row }
	}
	switch f := e.Field; {
	case f <= ir.FieldDim7:
		axis := f - ir.FieldDim0
		return func(m *machine) int64 { return int64(m.ops[op].buf.Dim[axis]) }
	case f <= ir.FieldOff7:
		axis := f - ir.FieldOff0
		return func(m *machine) int64 { return int64(m.ops[op].buf.Off[axis]) }
	}
	axis := e.Field - ir.FieldStride0
	return func(m *machine) int64 { return int64(m.ops[op].buf.Stride[axis]) }
}

func (c *compiler) toInteger(e *ir.Expr) intFn {
	from, to := e.X[0].Type, e.Type
	if from.IsFloat() {
		x := c.floating(e.X[0])
		return func(m *machine) int64 { return ir.Saturate(x(m), to) }
	}
	x := c.integer(e.X[0])
	if to == ir.I64 || to == ir.U64 {
		return x
	}
	return func(m *machine) int64 { return ir.Wrap(x(m), to) }
}

// intExpr compiles operations whose code depends on the type.
func intExpr[T ir.Integer](c *compiler, e *ir.Expr) intFn {
	if e.Op == ir.OpLoad {
		if slot, plus, ok := slotIndex(e); ok {
			return func(m *machine) int64 { return int64(*vectorElement[T](m, e, m.ints[slot]+plus)) }
		}
		at, op := c.address(e), e.Operand
		return func(m *machine) int64 { return int64(*element[T](m, op, at(m))) }
	}
	x := c.integer(e.X[0])
	switch e.Op {
	case ir.OpNeg:
		return func(m *machine) int64 { return int64(-T(x(m))) }
	case ir.OpAbs:
		return func(m *machine) int64 { return int64(ir.Abs(T(x(m)))) }
	case ir.OpBitNot:
		return func(m *machine) int64 { return int64(^T(x(m))) }
	}
	y := c.integer(e.X[1])
	if e.X[1].Op == ir.OpConst {
		k := T(e.X[1].Int)
		switch e.Op {
		case ir.OpAdd:
			return func(m *machine) int64 { return int64(T(x(m)) + k) }
		case ir.OpSub:
			return func(m *machine) int64 { return int64(T(x(m)) - k) }
		}
	}
	switch e.Op {
	case ir.OpAdd:
		return func(m *machine) int64 { return int64(T(x(m)) + T(y(m))) }
	case ir.OpSub:
		return func(m *machine) int64 { return int64(T(x(m)) - T(y(m))) }
	case ir.OpMul:
		return func(m *machine) int64 { return int64(T(x(m)) * T(y(m))) }
	case ir.OpMin:
		return func(m *machine) int64 { return int64(min(T(x(m)), T(y(m)))) }
	case ir.OpMax:
		return func(m *machine) int64 { return int64(max(T(x(m)), T(y(m)))) }
	case ir.OpBitAnd:
		return func(m *machine) int64 { return int64(T(x(m)) & T(y(m))) }
	case ir.OpBitOr:
		return func(m *machine) int64 { return int64(T(x(m)) | T(y(m))) }
	case ir.OpBitXor:
		return func(m *machine) int64 { return int64(T(x(m)) ^ T(y(m))) }
	case ir.OpShl:
		return func(m *machine) int64 { a := T(x(m)); return int64(ir.Shl(a, T(y(m)))) }
	case ir.OpShr:
		return func(m *machine) int64 { a := T(x(m)); return int64(ir.Shr(a, T(y(m)))) }
	case ir.OpFloorDiv:
		return func(m *machine) int64 {
			a, b := T(x(m)), T(y(m))
			if b == 0 {
				m.zeroDivision(e)
			}
			return int64(ir.FloorDiv(a, b))
		}
	case ir.OpMod:
		return func(m *machine) int64 {
			a, b := T(x(m)), T(y(m))
			if b == 0 {
				m.zeroDivision(e)
			}
			return int64(ir.FloorMod(a, b))
		}
	}
	return func(m *machine) int64 { // OpPow
		a, b := T(x(m)), T(y(m))
		if b < 0 {
			m.negativePower(e, int64(b))
		}
		return int64(ir.PowInt(a, b))
	}
}

func (c *compiler) floating(e *ir.Expr) fltFn {
	if c.dryRun > 0 {
		return nil
	}
	switch e.Op {
	case ir.OpConst:
		v := e.Float
		return func(*machine) float64 { return v }
	case ir.OpSlot:
		slot := e.Slot
		return func(m *machine) float64 { return m.flts[slot] }
	case ir.OpElement:
		at := c.arrayElement(e)
		return func(m *machine) float64 { return m.flts[at(m)] }
	case ir.OpConvert:
		return c.toFloating(e)
	case ir.OpFromF16:
		x := c.integer(e.X[0])
		return func(m *machine) float64 { return float64(iface.F16FromBits(uint16(x(m)))) }
	case ir.OpFromBF16:
		x := c.integer(e.X[0])
		return func(m *machine) float64 { return float64(iface.BF16FromBits(uint16(x(m)))) }
	case ir.OpCond, ir.OpSelect:
		f, x, y := c.boolean(e.X[0]), c.floating(e.X[1]), c.floating(e.X[2])
		if e.Op == ir.OpSelect {
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
	case ir.OpFold:
		return c.foldFloat(e)
	}
	if e.Type == ir.F32 {
		return floatExpr[float32](c, e)
	}
	return floatExpr[float64](c, e)
}

func (c *compiler) toFloating(e *ir.Expr) fltFn {
	from, to := e.X[0].Type, e.Type
	if from.IsFloat() {
		x := c.floating(e.X[0])
		if to == ir.F64 {
			return x
		}
		return func(m *machine) float64 { return float64(float32(x(m))) }
	}
	x := c.integer(e.X[0])
	if to == ir.F64 && from != ir.U64 {
		return func(m *machine) float64 { return float64(x(m)) }
	}
	return func(m *machine) float64 { return ir.IntToFloat(x(m), from, to) }
}

func floatExpr[T ir.Float](c *compiler, e *ir.Expr) fltFn {
	if e.Op == ir.OpLoad {
		if slot, plus, ok := slotIndex(e); ok {
			return func(m *machine) float64 { return float64(*vectorElement[T](m, e, m.ints[slot]+plus)) }
		}
		at, op := c.address(e), e.Operand
		return func(m *machine) float64 { return float64(*element[T](m, op, at(m))) }
	}
	x := c.floating(e.X[0])
	if f := ir.MathFunc[T](e.Op); f != nil {
		if e.Op == ir.OpSqrt {
			return func(m *machine) float64 { return float64(T(math.Sqrt(x(m)))) }
		}
		return func(m *machine) float64 { return float64(f(T(x(m)))) }
	}
	switch e.Op {
	case ir.OpNeg:
		return func(m *machine) float64 { return -x(m) }
	case ir.OpAbs:
		return func(m *machine) float64 { return math.Abs(x(m)) }
	}
	y := c.floating(e.X[1])
	if k := T(e.X[1].Float); e.X[1].Op == ir.OpConst {
		switch e.Op {
		case ir.OpAdd:
			return func(m *machine) float64 { return float64(T(x(m)) + k) }
		case ir.OpMul:
			return func(m *machine) float64 { return float64(T(x(m)) * k) }
		}
	}
	if k := T(e.X[0].Float); e.X[0].Op == ir.OpConst && e.Op == ir.OpMul {
		return func(m *machine) float64 { return float64(k * T(y(m))) }
	}
	switch e.Op {
	case ir.OpAdd:
		return func(m *machine) float64 { return float64(T(x(m)) + T(y(m))) }
	case ir.OpSub:
		return func(m *machine) float64 { return float64(T(x(m)) - T(y(m))) }
	case ir.OpMul:
		return func(m *machine) float64 { return float64(T(x(m)) * T(y(m))) }
	case ir.OpDiv:
		return func(m *machine) float64 { return float64(T(x(m)) / T(y(m))) }
	case ir.OpMin:
		return func(m *machine) float64 { return min(x(m), y(m)) }
	case ir.OpMax:
		return func(m *machine) float64 { return max(x(m), y(m)) }
	case ir.OpFMA:
		z := c.floating(e.X[2])
		return func(m *machine) float64 { return float64(ir.FMA(T(x(m)), T(y(m)), T(z(m)))) }
	}
	op := e.Op
	return func(m *machine) float64 {
		r, _ := ir.FloatOp(op, T(x(m)), T(y(m)))
		return float64(r)
	}
}

// slotIndex returns the parts of the index of a vector that is a local, plus a constant.
func slotIndex(e *ir.Expr) (slot int, plus int64, ok bool) {
	if len(e.X) != 1 {
		return 0, 0, false
	}
	return slotPlusConstant(e.X[0])
}

// slotPlusConstant returns the parts of an index that is a local, plus a constant.
func slotPlusConstant(x *ir.Expr) (slot int, plus int64, ok bool) {
	if x.Op == ir.OpSlot {
		return x.Slot, 0, true
	}
	if (x.Op == ir.OpAdd || x.Op == ir.OpSub) && x.X[0].Op == ir.OpSlot && x.X[1].Op == ir.OpConst {
		plus = x.X[1].Int
		if x.Op == ir.OpSub {
			plus = -plus
		}
		return x.X[0].Slot, plus, true
	}
	return 0, 0, false
}

// vectorElement returns the address of element i of a vector, in bounds.
func vectorElement[T any](m *machine, e *ir.Expr, i int64) *T {
	v := &m.ops[e.Operand]
	if uint64(i) >= uint64(v.dim[0]) {
		m.outOfBounds(e, e.Operand, 0, i)
	}
	return (*T)(unsafe.Add(v.ptr, i*int64(unsafe.Sizeof(*new(T)))))
}
