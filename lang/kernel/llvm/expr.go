package llvm

// Expressions.

import (
	"fmt"
	"math/bits"

	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// motion returns how e changes from lane to lane in p.
func (p place) motion(e *ir.Expr) change {
	if p.lanes == nil {
		return change{}
	}
	c := p.lanes.of(e)
	if p.first && c.motion == affine {
		return change{}
	}
	return c
}

// width returns the number of lanes that the value of e has in p, 0 for one value.
func (p place) width(e *ir.Expr) int {
	if p.motion(e).motion == uniform {
		return 0
	}
	return p.lanes.width
}

// under returns p with a mask, in lanes.
func (p place) under(mask value) place {
	p.mask = mask.name
	return p
}

// expr writes the computation of e.
func (w *writer) expr(e *ir.Expr, p place) value {
	if c := p.motion(e); c.motion == affine {
		return w.ramp(w.firstValue(e, p).name, c.growth, p.lanes.width)
	}
	switch e.Op {
	case ir.OpConst:
		return constant(e.Type, e.Int, e.Float)
	case ir.OpSlot:
		if p.lanes != nil && e.Slot == p.lanes.slot {
			return value{name: p.lanes.first, typ: ir.I64}
		}
		return w.get(e.Slot, p.width(e))
	case ir.OpField:
		return w.field(e)
	case ir.OpLoad:
		return w.load(e, p)
	case ir.OpElement:
		return w.loadElement(e, p)
	case ir.OpConvert:
		if v, ok := w.loaded[e]; ok && p.lanes == nil {
			return v
		}
		return w.convert(w.expr(e.X[0], p), e.Type)
	case ir.OpFromF16:
		return w.fromF16(w.expr(e.X[0], p))
	case ir.OpToF16:
		return w.toF16(w.expr(e.X[0], p))
	case ir.OpFromBF16:
		x := w.convert(w.expr(e.X[0], p), ir.U32)
		return w.cast("bitcast", w.binary("shl", x, constant(ir.U32, 16, 0)), ir.F32)
	case ir.OpToBF16:
		return w.toBF16(w.expr(e.X[0], p))
	case ir.OpFold:
		return w.fold(e, p)
	case ir.OpAnd, ir.OpOr:
		return w.shortCircuit(e, p)
	case ir.OpCond:
		return w.conditional(e, p)
	case ir.OpSelect:
		c, x, y := w.expr(e.X[0], p), w.expr(e.X[1], p), w.expr(e.X[2], p)
		return w.choose(c, x, y)
	case ir.OpNot:
		return w.not(w.expr(e.X[0], p))
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		return w.comparison(e.Op, w.expr(e.X[0], p), w.expr(e.X[1], p))
	}
	if e.Type.IsFloat() {
		return w.float(e, p)
	}
	if p.width(e) > 0 {
		if t := w.narrowType(e); t != ir.I64 {
			return w.convert(w.narrow(e, t, p), ir.I64)
		}
	}
	return w.integer(e, p)
}

// firstValue writes the value of e, an int that is uniform or affine, in the first lane.
func (w *writer) firstValue(e *ir.Expr, p place) value {
	p.first = true
	return w.expr(e, p)
}

// field returns a field of an operand.
func (w *writer) field(e *ir.Expr) value {
	o := w.operand(e.Operand)
	name := ""
	switch f := e.Field; {
	case f <= ir.FieldDim7:
		name = o.dim[f-ir.FieldDim0]
	case f <= ir.FieldOff7:
		name = o.off[f-ir.FieldOff0]
	case f == ir.FieldLD:
		name = o.row
	default:
		name = o.stride[f-ir.FieldStride0]
	}
	return value{name: name, typ: ir.I64}
}

// operand returns the values of an operand, which are read once.
func (w *writer) operand(k int) *operand {
	if o := w.operands[k]; o != nil {
		return o
	}
	o := &operand{}
	word := headWords + k*cpu.OperandWords
	o.ptr = w.pointer(word + cpu.WordPtr)
	rank := w.fn.Operands[k].Rank()
	for a := range rank {
		o.dim[a], o.off[a] = w.word(word+cpu.WordDim0+a), w.word(word+cpu.WordOff0+a)
	}
	for a := range rank - 1 {
		o.stride[a] = w.word(word + cpu.WordStride0 + a)
	}
	o.row = o.stride[0]
	w.operands[k] = o
	return o
}

// convert converts x to type t, as ir.Wrap, ir.Saturate and ir.IntToFloat do.
func (w *writer) convert(x value, t ir.Type) value {
	from := x.typ
	signed := from >= ir.I8 && from <= ir.I64
	switch {
	case from == t:
		return x
	case from == ir.Bool:
		x = w.cast("zext", x, ir.I64)
		return w.convert(x, t)
	case from.IsFloat() && t.IsFloat():
		if t == ir.F64 {
			return w.cast("fpext", x, t)
		}
		return w.cast("fptrunc", x, t)
	case from.IsFloat():
		return w.saturate(x, t)
	case t.IsFloat():
		if signed {
			return w.cast("sitofp", x, t)
		}
		return w.cast("uitofp", x, t)
	case from.Size() > t.Size():
		return w.cast("trunc", x, t)
	case from.Size() == t.Size():
		x.typ = t
		return x
	case signed:
		return w.cast("sext", x, t)
	}
	return w.cast("zext", x, t)
}

// fromF16 is iface.F16FromBits.
func (w *writer) fromF16(x value) value {
	c := func(v int64) value { return constant(ir.U32, v, 0) }
	x = w.convert(x, ir.U32)
	u := w.binary("shl", w.binary("and", x, c(0x7fff)), c(13))
	scaled := w.cast("bitcast", w.binary("fmul", w.cast("bitcast", u, ir.F32), constant(ir.F32, 0, 0x1p112)), ir.U32)
	u = w.choose(w.compare("icmp uge", u, c(0x7c00<<13)), w.binary("or", u, c(0x7f800000)), scaled)
	sign := w.binary("shl", w.binary("and", x, c(0x8000)), c(16))
	return w.cast("bitcast", w.binary("or", u, sign), ir.F32)
}

// toF16 is iface.F16Bits.
func (w *writer) toF16(x value) value {
	c := func(v int64) value { return constant(ir.U32, v, 0) }
	x = w.cast("bitcast", x, ir.U32)
	sign := w.binary("and", w.binary("lshr", x, c(16)), c(0x8000))
	u := w.binary("and", x, c(0x7fffffff))
	high := w.binary("lshr", u, c(13))
	small := w.binary("fadd", w.cast("bitcast", u, ir.F32), constant(ir.F32, 0, 0.5))
	small = w.binary("sub", w.cast("bitcast", small, ir.U32), c(0x3f000000))
	r := w.binary("add", w.binary("sub", u, c(112<<23-0xfff)), w.binary("and", high, c(1)))
	r = w.binary("lshr", r, c(13))
	r = w.choose(w.compare("icmp ult", u, c(0x38800000)), small, r)
	r = w.choose(w.compare("icmp uge", u, c(0x477ff000)), c(0x7c00), r)
	nan := w.binary("or", w.binary("and", high, c(0x3ff)), c(0x7e00))
	r = w.choose(w.compare("icmp ugt", u, c(0x7f800000)), nan, r)
	return w.convert(w.binary("or", r, sign), ir.U16)
}

// toBF16 is iface.BF16Bits.
func (w *writer) toBF16(x value) value {
	c := func(v int64) value { return constant(ir.U32, v, 0) }
	x = w.cast("bitcast", x, ir.U32)
	high := w.binary("lshr", x, c(16))
	r := w.binary("add", w.binary("add", x, c(0x7fff)), w.binary("and", high, c(1)))
	r = w.binary("lshr", r, c(16))
	nan := w.compare("icmp ugt", w.binary("and", x, c(0x7fffffff)), c(0x7f800000))
	return w.convert(w.choose(nan, w.binary("or", high, c(0x40)), r), ir.U16)
}

// saturate converts a float to the nearest integer of type t, towards zero.
func (w *writer) saturate(x value, t ir.Type) value {
	name := "llvm.fptoui.sat"
	if t >= ir.I8 && t <= ir.I64 {
		name = "llvm.fptosi.sat"
	}
	to := llvmType(t, x.width)
	full := w.declare(name+"."+suffix(t, x.width)+"."+suffix(x.typ, x.width), to, x.llvm())
	return value{w.ins("call %s @%s(%s)", to, full, x.text()), t, x.width}
}

// comparison compares two values of the same type.
func (w *writer) comparison(op ir.Op, x, y value) value {
	if x.typ.IsFloat() {
		how := map[ir.Op]string{ir.OpEq: "oeq", ir.OpNe: "une", ir.OpLt: "olt", ir.OpLe: "ole", ir.OpGt: "ogt", ir.OpGe: "oge"}
		return w.compare("fcmp "+how[op], x, y)
	}
	how := map[ir.Op]string{ir.OpEq: "eq", ir.OpNe: "ne", ir.OpLt: "lt", ir.OpLe: "le", ir.OpGt: "gt", ir.OpGe: "ge"}[op]
	if op != ir.OpEq && op != ir.OpNe {
		sign := "u"
		if x.typ >= ir.I8 && x.typ <= ir.I64 {
			sign = "s"
		}
		how = sign + how
	}
	return w.compare("icmp "+how, x, y)
}

// risky reports whether e may only run where it is needed: it may fault, or reads an element
// that may not exist, or takes long.
func (w *writer) risky(e *ir.Expr, p place) bool {
	found := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch x.Op {
		case ir.OpFold:
			found = true
		case ir.OpLoad:
			found = found || len(x.X) > 0 && (p.checked || !w.inBounds(x))
		case ir.OpElement:
			found = found || !w.always(x) && (p.checked || !w.inBounds(x))
		case ir.OpFloorDiv, ir.OpMod, ir.OpPow:
			found = found || x.Type.IsInt() && (x.X[1].Op != ir.OpConst || x.X[1].Int <= 0)
		}
		return !found
	})
	return found
}

// either returns the value of yes where the scalar cond holds, and that of no elsewhere. It
// runs one of them.
func (w *writer) either(cond value, t ir.Type, width int, yes, no func() value) value {
	to := w.alloca(llvmType(t, width))
	a, b, end := w.label("yes"), w.label("no"), w.label("end")
	w.branch(cond.name, a, b)
	for k, side := range []func() value{yes, no} {
		w.start([]string{a, b}[k])
		v := w.spread(side(), width)
		w.emit("store %s, ptr %s", v.text(), to)
		w.jump(end)
	}
	w.start(end)
	typ := llvmType(t, width)
	return value{w.ins("load %s, ptr %s", typ, to), t, width}
}

// shortCircuit writes `and` and `or`.
func (w *writer) shortCircuit(e *ir.Expr, p place) value {
	x, op := w.expr(e.X[0], p), "and"
	if e.Op == ir.OpOr {
		op = "or"
	}
	if !w.risky(e.X[1], p) {
		return w.binary(op, x, w.expr(e.X[1], p))
	}
	todo := x // where the right side decides
	if e.Op == ir.OpOr {
		todo = w.not(x)
	}
	width := p.width(e)
	right := p
	run := todo
	if x.width > 0 {
		todo = w.both(p.mask, todo)
		right = p.under(todo)
		run = value{name: w.any(todo), typ: ir.Bool}
	}
	return w.either(run, ir.Bool, width,
		func() value { return w.binary(op, x, w.expr(e.X[1], right)) },
		func() value { return x })
}

// conditional writes if c then x else y.
func (w *writer) conditional(e *ir.Expr, p place) value {
	c := w.expr(e.X[0], p)
	risky := w.risky(e.X[1], p) || w.risky(e.X[2], p)
	if !risky {
		return w.choose(c, w.expr(e.X[1], p), w.expr(e.X[2], p))
	}
	width := p.width(e)
	if c.width == 0 {
		return w.either(c, e.Type, width,
			func() value { return w.expr(e.X[1], p) }, func() value { return w.expr(e.X[2], p) })
	}
	side := func(cond value, x *ir.Expr) value {
		cond = w.both(p.mask, cond)
		in := value{name: w.any(cond), typ: ir.Bool}
		return w.either(in, e.Type, width,
			func() value { return w.expr(x, p.under(cond)) }, func() value { return zero(e.Type, width) })
	}
	x := side(c, e.X[1])
	y := side(w.not(c), e.X[2])
	return w.choose(c, x, y)
}

// float writes the arithmetic of floats.
func (w *writer) float(e *ir.Expr, p place) value {
	x := w.expr(e.X[0], p)
	switch e.Op {
	case ir.OpNeg:
		return value{w.ins("fneg %s", x.text()), x.typ, x.width}
	case ir.OpAbs:
		return w.call("llvm.fabs", x.typ, x)
	case ir.OpSqrt:
		return w.call("llvm.sqrt", x.typ, x)
	case ir.OpFloor:
		return w.call("llvm.floor", x.typ, x)
	case ir.OpCeil:
		return w.call("llvm.ceil", x.typ, x)
	case ir.OpRound:
		return w.call("llvm.round", x.typ, x)
	}
	if len(e.X) == 1 {
		return w.elementary(e.Op.String(), x)
	}
	y := w.expr(e.X[1], p)
	switch e.Op {
	case ir.OpAdd:
		return w.binary("fadd", x, y)
	case ir.OpSub:
		return w.binary("fsub", x, y)
	case ir.OpMul:
		return w.binary("fmul", x, y)
	case ir.OpDiv:
		return w.binary("fdiv", x, y)
	case ir.OpFloorDiv:
		return w.call("llvm.floor", x.typ, w.binary("fdiv", x, y))
	case ir.OpMin, ir.OpMax:
		return w.extremeFloat(e.Op, x, y)
	case ir.OpFMA:
		return w.call("llvm.fma", x.typ, x, y, w.expr(e.X[2], p))
	case ir.OpPow:
		square := w.binary("fmul", x, x)
		if e.X[1].Op == ir.OpConst && e.X[1].Float == 2 {
			return square
		}
		r := w.elementary("pow", x, y)
		if e.X[1].Op == ir.OpConst {
			return r
		}
		return w.choose(w.compare("fcmp oeq", y, constant(y.typ, 0, 2)), square, r)
	case ir.OpMod:
		return w.remainder(x, y)
	}
	panic(unsupported{"the operation " + e.Op.String() + " of floats"})
}

// extremeFloat writes min and max: a NaN is the result, and -0 is less than 0.
func (w *writer) extremeFloat(op ir.Op, x, y value) value {
	less, more, join := "olt", "ogt", "or"
	if op == ir.OpMax {
		less, more, join = "ogt", "olt", "and"
	}
	if x.isConstant() {
		x, y = y, x
	}
	if plainConstant(y) {
		// y if it lies on the right side of x, which may be a NaN
		return w.choose(w.compare("fcmp "+more, x, y), y, x)
	}
	r := w.choose(w.compare("fcmp "+less, x, y), x, y)
	bitsOf := func(v value) value {
		t := ir.I64
		if v.typ == ir.F32 {
			t = ir.I32
		}
		return w.cast("bitcast", v, t)
	}
	width := max(x.width, y.width)
	x, y = w.spread(x, width), w.spread(y, width)
	zeros := w.cast("bitcast", w.binary(join, bitsOf(x), bitsOf(y)), x.typ)
	r = w.choose(w.compare("fcmp oeq", x, y), zeros, r)
	return w.choose(w.compare("fcmp uno", x, y), w.binary("fadd", x, y), r)
}

// plainConstant reports whether v is a constant other than a zero, an infinity or a NaN.
func plainConstant(v value) bool {
	if !v.isConstant() {
		return false
	}
	var b uint64
	fmt.Sscanf(v.name, "0x%X", &b)
	exponent := b >> 52 & 0x7FF
	return b<<1 != 0 && exponent != 0x7FF
}

// integer writes the arithmetic of integers, which wraps.
func (w *writer) integer(e *ir.Expr, p place) value {
	x := w.expr(e.X[0], p)
	switch e.Op {
	case ir.OpNeg:
		return w.binary("sub", constant(x.typ, 0, 0), x)
	case ir.OpAbs:
		if x.typ >= ir.U8 {
			return x
		}
		negative := w.compare("icmp slt", x, constant(x.typ, 0, 0))
		return w.choose(negative, w.binary("sub", constant(x.typ, 0, 0), x), x)
	case ir.OpBitNot:
		return w.binary("xor", x, constant(x.typ, -1, 0))
	}
	y := w.expr(e.X[1], p)
	switch e.Op {
	case ir.OpAdd:
		return w.binary("add", x, y)
	case ir.OpSub:
		return w.binary("sub", x, y)
	case ir.OpMul:
		return w.binary("mul", x, y)
	case ir.OpMin:
		return w.choose(w.comparison(ir.OpLt, y, x), y, x)
	case ir.OpMax:
		return w.choose(w.comparison(ir.OpGt, y, x), y, x)
	case ir.OpFloorDiv, ir.OpMod:
		return w.divide(e, x, y, p)
	case ir.OpPow:
		return w.power(e, x, y, p)
	case ir.OpBitAnd:
		return w.binary("and", x, y)
	case ir.OpBitOr:
		return w.binary("or", x, y)
	case ir.OpBitXor:
		return w.binary("xor", x, y)
	case ir.OpShl, ir.OpShr:
		return w.shift(e, x, y)
	}
	panic(unsupported{"the operation " + e.Op.String() + " of integers"})
}

// shift writes << and >>. The instructions of LLVM have no result for a count that is not below
// the width.
func (w *writer) shift(e *ir.Expr, x, y value) value {
	signed := x.typ >= ir.I8 && x.typ <= ir.I64
	op := "lshr"
	switch {
	case e.Op == ir.OpShl:
		op = "shl"
	case signed:
		op = "ashr"
	}
	width := int64(x.typ.Size() * 8)
	last, none := constant(x.typ, width-1, 0), constant(x.typ, 0, 0)
	if k := e.X[1]; k.Op == ir.OpConst {
		switch {
		case k.Int >= 0 && k.Int < width:
			return w.binary(op, x, y)
		case op == "ashr":
			return w.binary(op, x, last)
		}
		return w.spread(none, x.width)
	}
	in := w.compare("icmp ult", y, constant(x.typ, width, 0))
	if op == "ashr" {
		return w.binary(op, x, w.choose(in, y, last))
	}
	return w.choose(in, w.binary(op, x, w.choose(in, y, none)), none)
}

// divide writes // and % of integers.
func (w *writer) divide(e *ir.Expr, x, y value, p place) value {
	signed := x.typ >= ir.I8 && x.typ <= ir.I64
	one, none := constant(x.typ, 1, 0), constant(x.typ, 0, 0)
	if e.X[1].Op == ir.OpConst && e.X[1].Int > 0 {
		k := e.X[1].Int
		if k&(k-1) == 0 {
			switch shift := constant(x.typ, int64(bits.TrailingZeros64(uint64(k))), 0); {
			case e.Op == ir.OpMod:
				return w.binary("and", x, constant(x.typ, k-1, 0))
			case signed:
				return w.binary("ashr", x, shift)
			default:
				return w.binary("lshr", x, shift)
			}
		}
	} else {
		// lanes that do not run divide by one
		zeros := w.compare("icmp eq", y, none)
		w.guard(p, zeros, fault{kind: zeroDivision, at: e}, constant(ir.I64, 0, 0))
		if p.mask != "" && y.width > 0 {
			y = w.choose(value{p.mask, ir.Bool, y.width}, y, one)
		}
	}
	if !signed {
		if e.Op == ir.OpFloorDiv {
			return w.binary("udiv", x, y)
		}
		return w.binary("urem", x, y)
	}
	q := value{}
	if y.isConstant() && y.name != "-1" {
		q = w.binary("sdiv", x, y)
	} else { // the smallest value by -1 wraps, and the instruction would trap
		opposite := w.compare("icmp eq", y, constant(x.typ, -1, 0))
		q = w.binary("sdiv", x, w.choose(opposite, one, y))
		q = w.choose(opposite, w.binary("sub", none, x), q)
	}
	r := w.binary("sub", x, w.binary("mul", q, y))
	differ := w.compare("icmp slt", w.binary("xor", r, y), none)
	off := w.binary("and", w.compare("icmp ne", r, none), differ)
	if e.Op == ir.OpFloorDiv {
		return w.choose(off, w.binary("sub", q, one), q)
	}
	return w.choose(off, w.binary("add", r, y), r)
}

// power writes ** of integers.
func (w *writer) power(e *ir.Expr, x, y value, p place) value {
	if e.X[1].Op == ir.OpConst && e.X[1].Int >= 0 && e.X[1].Int <= 64 {
		r, n := constant(x.typ, 1, 0), e.X[1].Int
		for first := true; n > 0; n >>= 1 {
			if n&1 != 0 && first {
				r, first = x, false
			} else if n&1 != 0 {
				r = w.binary("mul", r, x)
			}
			if n > 1 {
				x = w.binary("mul", x, x)
			}
		}
		return r
	}
	none := constant(x.typ, 0, 0)
	if x.typ >= ir.I8 && x.typ <= ir.I64 {
		w.guard(p, w.compare("icmp slt", y, none), fault{kind: negativePower, at: e}, y)
	}
	if p.mask != "" && y.width > 0 {
		y = w.choose(value{p.mask, ir.Bool, y.width}, y, none)
	}
	t := scalarType(x.typ)
	helper := fmt.Sprintf(powerHelper, t)
	w.helpers[helper] = true
	one := func(a, b value) value {
		return value{name: w.ins("call %s @power.%s(%s, %s)", t, t, a.text(), b.text()), typ: x.typ}
	}
	width := max(x.width, y.width)
	if width == 0 {
		return one(x, y)
	}
	r := value{"poison", x.typ, width}
	for k := range width {
		lane := fmt.Sprint(k)
		v := one(w.lane(x, lane), w.lane(y, lane))
		r.name = w.ins("insertelement %s, %s, i64 %d", r.text(), v.text(), k)
	}
	return r
}

// powerHelper is the text of a function that raises x to the power y, which is not negative.
const powerHelper = `define internal %[1]s @power.%[1]s(%[1]s %%x, %[1]s %%y) #0 {
entry:
  br label %%loop
loop:
  %%a = phi %[1]s [ 1, %%entry ], [ %%a2, %%more ]
  %%b = phi %[1]s [ %%x, %%entry ], [ %%b2, %%more ]
  %%n = phi %[1]s [ %%y, %%entry ], [ %%n2, %%more ]
  %%odd = trunc %[1]s %%n to i1
  %%ab = mul %[1]s %%a, %%b
  %%a2 = select i1 %%odd, %[1]s %%ab, %[1]s %%a
  %%n2 = lshr %[1]s %%n, 1
  %%done = icmp eq %[1]s %%n2, 0
  br i1 %%done, label %%end, label %%more
more:
  %%b2 = mul %[1]s %%b, %%b
  br label %%loop
end:
  ret %[1]s %%a2
}
`
