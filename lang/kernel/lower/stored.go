package lower

// Elements that memory holds in another type than bodies compute with: f16 and bf16 are the bits of 16
// bits there, and f32 in a body. The representation has them as U16, with an operation from or to the bits
// around each load and in each store, so that back ends load and store no other types.

import (
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// The operations from and to what memory holds.
var (
	fromBits = map[ir.Type]ir.Op{ir.F16: ir.OpFromF16, ir.BF16: ir.OpFromBF16}
	toBits   = map[ir.Type]ir.Op{ir.F16: ir.OpToF16, ir.BF16: ir.OpToBF16}
)

// computed returns the type in which a body computes with elements of type t.
func computed(t ir.Type) ir.Type {
	if t.Is16() {
		return ir.F32
	}
	return t
}

// rounded returns t if a scalar operand of type t is rounded to it, and 0 otherwise.
func rounded(t ir.Type) ir.Type {
	if t.Is16() {
		return t
	}
	return 0
}

// unpacked returns the value of e, an element whose type memory holds as another.
func unpacked(e *ir.Expr) *ir.Expr {
	x := *e
	x.Type = e.Type.Stored()
	return &ir.Expr{Op: fromBits[e.Type], Type: ir.F32, X: []*ir.Expr{&x}, Pos: e.Pos}
}

// packed returns x as memory holds elements of type t.
func packed(x *ir.Expr, t ir.Type) *ir.Expr {
	x = convert(x, ir.F32)
	if x.Op != ir.OpConst {
		return &ir.Expr{Op: toBits[t], Type: t.Stored(), X: []*ir.Expr{x}, Pos: x.Pos}
	}
	b := iface.BF16Bits(float32(x.Float))
	if t == ir.F16 {
		b = iface.F16Bits(float32(x.Float))
	}
	return &ir.Expr{Op: ir.OpConst, Type: t.Stored(), Int: int64(b), Pos: x.Pos}
}
