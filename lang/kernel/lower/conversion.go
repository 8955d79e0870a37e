package lower

// The type in which an operation computes, and the conversions of its operands.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// widerType returns the type in which values of types a and b compute: a float wins over an
// integer, then the wider type, then the signed one.
func widerType(a, b ir.Type) ir.Type {
	switch {
	case a == b:
		return a
	case a.IsComplex() || b.IsComplex():
		if widerType(a.Part(), b.Part()) == ir.F32 {
			return ir.C64
		}
		return ir.C128
	case a.IsFloat() != b.IsFloat():
		if a.IsFloat() {
			return a
		}
		return b
	case a.Size() != b.Size():
		if a.Size() > b.Size() {
			return a
		}
		return b
	case a < b: // of the same size: signed types have the lower numbers
		return a
	}
	return b
}

// literalFits reports whether the literal x can have type t. An integer fits every float
// type, rounded; a float fits no integer type.
func literalFits(x *ir.Expr, t ir.Type) bool {
	switch {
	case x.Type.IsComplex():
		return t.IsComplex() && literalFits(x.X[0], t.Part()) && literalFits(x.X[1], t.Part())
	case t.IsComplex():
		return literalFits(x, t.Part())
	case t == ir.F64:
		return true
	case t == ir.F32:
		if x.Type.IsInt() {
			return true
		}
		return math.IsInf(x.Float, 0) || math.IsNaN(x.Float) || !math.IsInf(float64(float32(x.Float)), 0)
	case x.Type.IsFloat():
		return false
	}
	lo, hi := ir.IntRange(t)
	return x.Int >= lo && (t == ir.U64 || x.Int <= hi)
}

// convert returns x as a value of type t, which is no longer a literal. It converts constants
// itself.
func convert(x *ir.Expr, t ir.Type) *ir.Expr {
	if x.Type == t || x.Type == ir.Open || t == ir.Open || x.Op == ir.OpBad {
		if x.Lit {
			c := *x
			c.Lit = false
			return &c
		}
		return x
	}
	if x.Type.IsComplex() || t.IsComplex() {
		return convertComplex(x, t)
	}
	if t.Is16() {
		return packed(x, t)
	}
	if x.Op == ir.OpConst {
		c := *x
		c.Type, c.Lit = t, false
		switch {
		case x.Type.IsFloat() && t == ir.F32:
			c.Float = float64(float32(x.Float))
		case x.Type.IsFloat() && t.IsInt():
			c.Int, c.Float = ir.Saturate(x.Float, t), 0
		case x.Type.IsInt() && t.IsFloat():
			c.Int, c.Float = 0, ir.IntToFloat(x.Int, x.Type, t)
		case x.Type.IsInt():
			c.Int = ir.Wrap(x.Int, t)
		}
		return &c
	}
	return &ir.Expr{Op: ir.OpConvert, Type: t, X: []*ir.Expr{x}, Pos: x.Pos}
}

// explicitConversion lowers int(x) and float(x).
func (l *lowerer) explicitConversion(x *syntax.Call, e *ir.Expr, t ir.Type) *ir.Expr {
	if e.Type == ir.Open {
		return &ir.Expr{Op: ir.OpConvert, Type: t, X: []*ir.Expr{e}, Pos: x.Span}
	}
	c := *convert(e, t)
	c.Pos = x.Span
	return &c
}

// commonType returns the type in which an operation on values computes. A literal takes the
// type of the other values if it fits.
func commonType(args ...*ir.Expr) ir.Type {
	t, any := ir.Open, false
	for _, a := range args {
		switch {
		case a.Type == ir.Open:
			return ir.Open
		case a.Lit:
		case !any:
			t, any = a.Type, true
		default:
			t = widerType(t, a.Type)
		}
	}
	for _, a := range args {
		switch {
		case !a.Lit || any && literalFits(a, t):
		case !any:
			t, any = a.Type, true
		case a.Type.IsComplex() && t == ir.F32 && literalFits(a, ir.C64):
			t = ir.C64
		default:
			t = widerType(t, a.Type)
		}
	}
	return t
}

// convertForStore converts v for an assignment to a local or element of type t: integers
// wrap, floats round.
func (l *lowerer) convertForStore(s *syntax.Assign, v *ir.Expr, t ir.Type) *ir.Expr {
	switch {
	case v.Type == ir.Open || t == ir.Open:
		return v
	case (v.Type == ir.Bool) != (t == ir.Bool):
		d := l.err("E0705", s.Value, fmt.Sprintf("`%s` is %s, and this value is %s", l.text(s.Target), withArticle(t), withArticle(v.Type)))
		if v.Type == ir.Bool {
			d.Help = append(d.Help, "write `if ... then 1 else 0`")
		}
		return l.invalid(s.Value)
	case v.Type.IsComplex() && !t.IsComplex():
		d := l.err("E0705", s.Value, fmt.Sprintf("`%s` is %s, and this value is a complex number", l.text(s.Target), withArticle(t)))
		if en := l.letOf(s.Target); en != nil && en.value != nil {
			d.Labels = append(d.Labels, diag.Label{Span: l.f.At(en.value), Text: "a real number"})
			d.Help = append(d.Help, fmt.Sprintf("make it a complex one: `let %s = complex(%s)`", en.name, l.text(en.value)))
		} else {
			d.Help = append(d.Help, fmt.Sprintf("its real part is `re(%[1]s)`, its absolute value `abs(%[1]s)`", l.text(s.Value)))
		}
		return l.invalid(s.Value)
	case v.Type.IsFloat() && t.IsInt():
		d := l.err("E0703", s.Value, fmt.Sprintf("`%s` is %s, and this value is a float", l.text(s.Target), withArticle(t)))
		if s.Op == "/=" {
			d.Notes = append(d.Notes, "`/` always gives a float")
			d.Help = append(d.Help, fmt.Sprintf("write `%s = %s // %s`, which rounds down", l.text(s.Target), l.text(s.Target), l.operandText(s.Value)))
		} else if !l.suggestFloatLet(d, s.Target) {
			d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", l.text(s.Value)))
		}
		return l.invalid(s.Value)
	}
	return convert(v, t)
}

// letOf returns the entry of the let name x, or nil.
func (l *lowerer) letOf(x syntax.Expr) *entry {
	if id, ok := syntax.Unparen(x).(*syntax.Ident); ok {
		if en := l.find(id.Name); en != nil && en.kind == letEntry {
			return en
		}
	}
	return nil
}

// keepsTarget records the calls of min and max in e that have the target of an assignment
// as an argument, as in m = max(m, e): they compute in t, the type of the target. It
// reports whether e is such a call.
func (l *lowerer) keepsTarget(e, target syntax.Expr, t ir.Type) bool {
	x, ok := syntax.Unparen(e).(*syntax.Call)
	if !ok {
		return false
	}
	id, ok := syntax.Unparen(x.Fn).(*syntax.Ident)
	if !ok || id.Name != "min" && id.Name != "max" || l.find(id.Name) != nil {
		return false
	}
	found := false
	for _, a := range x.Args {
		if syntax.EqualExpr(syntax.Unparen(a.Value), target) || l.keepsTarget(a.Value, target, t) {
			found = true
		}
	}
	if found {
		if l.minMaxType == nil {
			l.minMaxType = map[*syntax.Call]ir.Type{}
		}
		l.minMaxType[x] = t
	}
	return found
}

// languageType returns t as a type of the language.
func languageType(t ir.Type) *types.Type {
	switch t {
	case ir.I64:
		return types.TInt
	case ir.F64:
		return types.TFloat
	case ir.Bool:
		return types.TBool
	case ir.C128:
		return types.TComplex
	case ir.Open:
		return types.TInvalid
	}
	return &types.Type{Kind: types.Elem, Elem: iface.Elem(t)}
}

// withArticle returns the name of t with its article.
func withArticle(t ir.Type) string {
	switch t {
	case ir.I64:
		return "an int"
	case ir.F64:
		return "a float"
	case ir.C128:
		return "a complex number"
	case ir.I8, ir.I16, ir.I32, ir.U8, ir.F32:
		if t == ir.U8 {
			return "a u8"
		}
		return "an " + t.String()
	}
	return "a " + t.String()
}

// Elements that memory holds in another type than bodies compute with: f16 and bf16 are the bits of 16
// bits there, and f32 in a body; a bool is a byte, false if that is 0. The representation has them as U16, with an operation from or to the bits
// around each load and in each store, so that back ends load and store no other types.

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

// constByte returns a byte of memory.
func constByte(v int64, at syntax.Span) *ir.Expr {
	return &ir.Expr{Op: ir.OpConst, Type: ir.U8, Int: v, Pos: at}
}

// packedBool returns the byte in which memory holds the bool x.
func packedBool(x *ir.Expr) *ir.Expr {
	if x.Op == ir.OpConst {
		return constByte(x.Int, x.Pos)
	}
	return &ir.Expr{Op: ir.OpSelect, Type: ir.U8, X: []*ir.Expr{x, constByte(1, x.Pos), constByte(0, x.Pos)}, Pos: x.Pos}
}

// unpacked returns the value of e, an element whose type memory holds as another.
func unpacked(e *ir.Expr) *ir.Expr {
	x := *e
	x.Type = e.Type.Stored()
	if e.Type == ir.Bool {
		return &ir.Expr{Op: ir.OpNe, Type: ir.Bool, X: []*ir.Expr{&x, constByte(0, e.Pos)}, Pos: e.Pos}
	}
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
