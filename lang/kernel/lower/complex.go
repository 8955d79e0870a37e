package lower

// Complex numbers. The representation has none: a complex value is a pair of floats, its parts, and
// arithmetic with it is arithmetic with the parts, so that all back ends give the same bits. A pair,
// an expression of ir.OpComplex, exists only while a body is lowered. A complex local is two locals,
// one behind the other, and an element of complex data is two elements along a last index, which
// operands have for that. Where a formula uses a part several times, the part becomes a local,
// unless it is as cheap as one.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// The largest number of operations that are done again rather than kept in a local. A fold whose
// expression needs locals is a loop that runs round by round, so it may do more of them again.
const (
	repeatedOps       = 3
	repeatedOpsInFold = 40
)

// pair returns the complex number of two parts of the same float type.
func pair(re, im *ir.Expr, at syntax.Span) *ir.Expr {
	t := ir.C128
	if re.Type == ir.F32 {
		t = ir.C64
	}
	return &ir.Expr{Op: ir.OpComplex, Type: t, Lit: re.Lit && im.Lit, X: []*ir.Expr{re, im}, Pos: at}
}

// floatConst returns a constant of a float type.
func floatConst(v float64, t ir.Type, at syntax.Span) *ir.Expr {
	if t == ir.F32 {
		v = float64(float32(v))
	}
	return &ir.Expr{Op: ir.OpConst, Type: t, Float: v, Pos: at}
}

// partsOf returns the parts of a number, converted to the float type t; the imaginary part of a real
// number is 0.
func partsOf(e *ir.Expr, t ir.Type) (re, im *ir.Expr) {
	if e.Op == ir.OpComplex {
		return convert(e.X[0], t), convert(e.X[1], t)
	}
	return convert(e, t), floatConst(0, t, e.Pos)
}

// convertComplex is convert where x or t is complex. A complex x with a real t has been reported.
func convertComplex(x *ir.Expr, t ir.Type) *ir.Expr {
	if !t.IsComplex() {
		return &ir.Expr{Op: ir.OpBad, Type: ir.Open, Pos: x.Pos}
	}
	re, im := partsOf(x, t.Part())
	return pair(re, im, x.Pos)
}

// loaded returns the value of an element that element or arrayElement has resolved.
func (l *lowerer) loaded(e *ir.Expr) *ir.Expr {
	switch {
	case e == nil || e.Op == ir.OpComplex:
		return e
	case e.Type.Is16(), e.Type == ir.Bool:
		return unpacked(e)
	case !e.Type.IsComplex():
		return e
	}
	return pair(elementPart(e, 0), elementPart(e, 1), e.Pos)
}

// elementPart returns a part of an element: 0 for the real one, 1 for the imaginary one.
func elementPart(e *ir.Expr, part int) *ir.Expr {
	x := *e
	x.Type = e.Type.Part()
	if e.Op == ir.OpElement {
		x.Slot += part
		return &x
	}
	x.X = append(append([]*ir.Expr(nil), e.X...), &ir.Expr{Op: ir.OpConst, Type: ir.I64, Int: int64(part), Pos: e.Pos})
	return &x
}

// slotType returns the type of a local, which is complex for the first of the two locals of a
// complex value, and that of the elements for an array.
func (l *lowerer) slotType(slot int) ir.Type {
	if t, ok := l.slotTypes[slot]; ok {
		return t
	}
	return l.fn.Slots[slot].Type
}

// local returns the value of a local.
func (l *lowerer) local(slot int, at syntax.Span) *ir.Expr {
	read := func(k int) *ir.Expr {
		return &ir.Expr{Op: ir.OpSlot, Type: l.fn.Slots[k].Type, Slot: k, Pos: at}
	}
	if l.slotType(slot).IsComplex() {
		return pair(read(slot), read(slot+1), at)
	}
	return read(slot)
}

// assignParts returns s, an assignment whose Value may be a pair. Of a pair it assigns the real part
// before, in a statement of the prelude.
func (l *lowerer) assignParts(s *ir.Stmt) *ir.Stmt {
	if s.Value.Op != ir.OpComplex {
		return s
	}
	re, im := s.Value.X[0], s.Value.X[1]
	first, second := *s, *s
	switch s.Kind {
	case ir.StoreStmt:
		target := l.fn.Element(s)
		first.Index, second.Index = elementPart(target, 0).X, elementPart(target, 1).X
		im = l.before(im, func(x *ir.Expr) bool {
			return x.Op == ir.OpLoad && x.Operand == s.Operand && x.X[len(x.X)-1].Int == 0
		})
	default:
		second.Slot++
		im = l.before(im, func(x *ir.Expr) bool {
			return (x.Op == ir.OpSlot || x.Op == ir.OpElement) && x.Slot == s.Slot
		})
	}
	first.Value, second.Value = re, im
	l.prelude = append(l.prelude, &first)
	return &second
}

// before returns e, or a local with its value if reads holds for an expression in it, as a statement
// before e changes what that reads.
func (l *lowerer) before(e *ir.Expr, reads func(*ir.Expr) bool) *ir.Expr {
	found := false
	ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || reads(x); return true })
	if found {
		return l.kept(e)
	}
	return e
}

// kept returns a local with the value of e.
func (l *lowerer) kept(e *ir.Expr) *ir.Expr {
	slot := l.newSlot(ir.Slot{Name: "part", Type: e.Type, Kind: ir.LetSlot, Decl: e.Pos})
	l.prelude = append(l.prelude, &ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: slot, Value: e, Pos: e.Pos, Target: e.Pos})
	return &ir.Expr{Op: ir.OpSlot, Type: e.Type, Slot: slot, Pos: e.Pos}
}

// certain returns e, a part of a complex number that may not be used: a local with its value if it may
// fail where the other part does not.
func (l *lowerer) certain(e, other *ir.Expr) *ir.Expr {
	looked := map[*ir.Expr]bool{} // the indices of what other reads, which parts of one element share
	ir.WalkExpr(other, func(x *ir.Expr) bool {
		if x.Op == ir.OpLoad || x.Op == ir.OpElement {
			for _, i := range x.X {
				looked[i] = true
			}
		}
		return true
	})
	fails := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch x.Op {
		case ir.OpLoad, ir.OpElement:
			for _, i := range x.X {
				part := i.Op == ir.OpConst && i.Pos == x.Pos // see elementPart
				fails = fails || !looked[i] && !part
			}
		default:
			fails = fails || x.Type.IsInt() && x.Op != ir.OpConst && x.Op != ir.OpSlot
		}
		return !fails
	})
	if fails {
		return l.kept(e)
	}
	return e
}

// once returns e, which a formula uses several times: a local with its value, unless e is cheap.
func (l *lowerer) once(e *ir.Expr) *ir.Expr {
	most := repeatedOps
	if l.folds > 0 {
		most = repeatedOpsInFold
	}
	n := 0
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch x.Op {
		case ir.OpConst, ir.OpSlot, ir.OpField:
		case ir.OpLoad, ir.OpElement:
			n++
			for _, i := range x.X {
				if _, _, plain := plainIndex(i); !plain {
					n += 2
				}
			}
		case ir.OpFold:
			n += most
		case ir.OpExp, ir.OpLog, ir.OpSin, ir.OpCos, ir.OpSqrt, ir.OpDiv:
			n += 4
		default:
			n++
		}
		return n <= most
	})
	if n <= most {
		return e
	}
	return l.kept(e)
}

// formula builds expressions of one float type at a place.
type formula struct {
	l  *lowerer
	t  ir.Type
	at syntax.Span
}

func (f formula) op(op ir.Op, x ...*ir.Expr) *ir.Expr {
	return &ir.Expr{Op: op, Type: f.t, X: x, Pos: f.at}
}

func (f formula) is(op ir.Op, x, y *ir.Expr) *ir.Expr {
	return &ir.Expr{Op: op, Type: ir.Bool, X: []*ir.Expr{x, y}, Pos: f.at}
}

func (f formula) num(v float64) *ir.Expr            { return floatConst(v, f.t, f.at) }
func (f formula) add(x, y *ir.Expr) *ir.Expr        { return f.op(ir.OpAdd, x, y) }
func (f formula) sub(x, y *ir.Expr) *ir.Expr        { return f.op(ir.OpSub, x, y) }
func (f formula) mul(x, y *ir.Expr) *ir.Expr        { return f.op(ir.OpMul, x, y) }
func (f formula) div(x, y *ir.Expr) *ir.Expr        { return f.op(ir.OpDiv, x, y) }
func (f formula) neg(x *ir.Expr) *ir.Expr           { return f.op(ir.OpNeg, x) }
func (f formula) choose(c, x, y *ir.Expr) *ir.Expr  { return f.op(ir.OpSelect, c, x, y) }
func (f formula) once(x *ir.Expr) *ir.Expr          { return f.l.once(x) }
func (f formula) pair(re, im *ir.Expr) *ir.Expr     { return pair(re, im, f.at) }
func (f formula) both(z *ir.Expr) (re, im *ir.Expr) { return f.once(z.X[0]), f.once(z.X[1]) }
func (f formula) magnitudes(z *ir.Expr) (x, y *ir.Expr) {
	return f.op(ir.OpAbs, z.X[0]), f.op(ir.OpAbs, z.X[1])
}
func (l *lowerer) formulaFor(t ir.Type, at syntax.Span) formula { return formula{l, t.Part(), at} }

// complexArith lowers x op y where one of them is complex. A real number is added to the real part
// alone, and multiplies and divides both parts.
func (l *lowerer) complexArith(name string, op ir.Op, x, y *ir.Expr, at syntax.Node, ys syntax.Expr) *ir.Expr {
	if x.Type == ir.Open || y.Type == ir.Open {
		return &ir.Expr{Op: op, Type: ir.Open, X: []*ir.Expr{x, y}, Pos: at.Range()}
	}
	switch op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv:
	case ir.OpPow:
		return l.complexPower(x, y, at, ys)
	default:
		d := l.err("E0705", at, fmt.Sprintf("`%s` cannot take complex numbers", name))
		d.Help = append(d.Help, "complex numbers have `+ - * /`, and `**` with an int")
		return l.invalid(at)
	}
	t := commonType(x, y)
	if x.Lit && y.Lit {
		return literalArith(op, x, y, at.Range())
	}
	f := l.formulaFor(t, at.Range())
	xReal, yReal := !x.Type.IsComplex(), !y.Type.IsComplex()
	a, b := partsOf(x, f.t)
	c, d := partsOf(y, f.t)
	switch op {
	case ir.OpAdd, ir.OpSub:
		re := f.op(op, a, c)
		switch {
		case yReal:
			return f.pair(re, b)
		case xReal && op == ir.OpAdd:
			return f.pair(re, d)
		case xReal:
			return f.pair(re, f.neg(d))
		}
		return f.pair(re, f.op(op, b, d))
	case ir.OpMul:
		switch {
		case xReal:
			a = f.once(a)
			return f.pair(f.mul(a, c), f.mul(a, d))
		case yReal:
			c = f.once(c)
			return f.pair(f.mul(a, c), f.mul(b, c))
		}
		return f.product(f.pair(a, b), f.pair(c, d))
	}
	if yReal {
		c = f.once(c)
		return f.pair(f.div(a, c), f.div(b, c))
	}
	return f.quotient(f.pair(a, b), f.pair(c, d))
}

// literalArith computes with literals. The result is a literal.
func literalArith(op ir.Op, x, y *ir.Expr, at syntax.Span) *ir.Expr {
	a, b := partsOf(x, ir.F64)
	c, d := partsOf(y, ir.F64)
	v, w := complex(a.Float, b.Float), complex(c.Float, d.Float)
	xReal, yReal := !x.Type.IsComplex(), !y.Type.IsComplex()
	switch op {
	case ir.OpAdd, ir.OpSub:
		re, im := real(v)+real(w), imag(v)+imag(w)
		if op == ir.OpSub {
			re, im = real(v)-real(w), imag(v)-imag(w)
		}
		switch {
		case yReal:
			im = imag(v)
		case xReal && op == ir.OpSub:
			im = -imag(w)
		case xReal:
			im = imag(w)
		}
		v = complex(re, im)
	case ir.OpMul:
		switch {
		case xReal:
			v = complex(real(v)*real(w), real(v)*imag(w))
		case yReal:
			v = complex(real(v)*real(w), imag(v)*real(w))
		default:
			v = iface.MulC128(v, w)
		}
	default:
		if yReal {
			v = complex(real(v)/real(w), imag(v)/real(w))
		} else {
			v = iface.DivC128(v, w)
		}
	}
	z := pair(floatConst(real(v), ir.F64, at), floatConst(imag(v), ir.F64, at), at)
	z.Lit = true
	return z
}

// product is iface.MulC128.
func (f formula) product(x, y *ir.Expr) *ir.Expr {
	a, b := f.both(x)
	c, d := f.both(y)
	return f.pair(f.sub(f.mul(a, c), f.mul(b, d)), f.add(f.mul(a, d), f.mul(b, c)))
}

// quotient is iface.DivC128.
func (f formula) quotient(x, y *ir.Expr) *ir.Expr {
	a, b := f.both(x)
	c, d := f.both(y)
	swap := f.once(f.is(ir.OpGt, f.op(ir.OpAbs, d), f.op(ir.OpAbs, c)))
	v, w := f.once(f.choose(swap, b, a)), f.once(f.choose(swap, a, b))
	p, q := f.once(f.choose(swap, d, c)), f.choose(swap, c, d)
	q = f.once(q)
	r := f.once(f.div(q, p))
	den := f.once(f.add(p, f.mul(q, r)))
	vr := f.once(f.mul(v, r))
	im := f.choose(swap, f.sub(vr, w), f.sub(w, vr)) // no negation, which differs in the sign of a zero
	return f.pair(f.div(f.add(v, f.mul(w, r)), den), f.div(im, den))
}

// maxPower bounds the exponents in bodies, whose products are written out.
const maxPower = 64

// complexPower lowers x ** y, of the source ys, for an exponent that is written out.
func (l *lowerer) complexPower(x, y *ir.Expr, at syntax.Node, ys syntax.Expr) *ir.Expr {
	if !x.Type.IsComplex() || y.Op != ir.OpConst || !y.Type.IsInt() || y.Int > maxPower || y.Int < -maxPower {
		d := l.err("E0705", ys, fmt.Sprintf("in a body a complex number has powers by ints from -%d to %d that are written out", maxPower, maxPower))
		d.Help = append(d.Help, "multiply in a `for`, or write `exp(w * log(z))`")
		return l.invalid(at)
	}
	f := l.formulaFor(x.Type, at.Range())
	z := convert(x, x.Type)
	out := f.pair(f.num(1), f.num(0))
	some := false
	n := y.Int
	if n == 0 {
		l.certain(z.X[0], out)
		l.certain(z.X[1], z.X[0])
	}
	for m := max(n, -n); m > 0; m >>= 1 {
		if m > 1 || m&1 != 0 && some {
			re, im := f.both(z)
			z = f.pair(re, im)
		}
		if m&1 != 0 {
			if some {
				out = f.product(out, z)
			} else {
				out, some = z, true
			}
		}
		if m > 1 {
			z = f.product(z, z)
		}
	}
	if n < 0 {
		return f.quotient(f.pair(f.num(1), f.num(0)), out)
	}
	return out
}

// complexCompare lowers x == y and x != y.
func (l *lowerer) complexCompare(b *syntax.Binary, op ir.Op, x, y *ir.Expr) *ir.Expr {
	if op != ir.OpEq && op != ir.OpNe {
		d := l.err("E0705", b, fmt.Sprintf("`%s` cannot compare complex numbers, which have no order", b.Op))
		d.Help = append(d.Help, "compare absolute values, `abs(z)`, or parts, `re(z)` and `im(z)`")
		return l.invalid(b)
	}
	f := l.formulaFor(commonType(x, y), b.Span)
	a, c := partsOf(x, f.t)
	d, e := partsOf(y, f.t)
	join := ir.OpAnd
	if op == ir.OpNe {
		join = ir.OpOr
	}
	return f.is(join, f.is(op, a, d), f.is(op, l.certain(c, a), l.certain(e, d)))
}

// complexChoice lowers c ? a : b with a complex result.
func (l *lowerer) complexChoice(op ir.Op, c, a, b *ir.Expr, at syntax.Node) *ir.Expr {
	t := commonType(a, b)
	if t == ir.Open {
		return &ir.Expr{Op: op, Type: t, X: []*ir.Expr{c, a, b}, Pos: at.Range()}
	}
	f := l.formulaFor(t, at.Range())
	p, q := partsOf(a, f.t)
	v, w := partsOf(b, f.t)
	c = f.once(c)
	return f.pair(f.op(op, c, p, v), f.op(op, c, q, w))
}

// complexFold lowers a sum or a product of complex numbers.
func (l *lowerer) complexFold(x *syntax.Fold, dom []ir.Range, prelude []*ir.Stmt, body *ir.Expr) *ir.Expr {
	f := l.formulaFor(body.Type, x.Span)
	re, im := partsOf(body, f.t)
	reduce := foldOps[x.Op]
	switch {
	case reduce == ir.OpMin || reduce == ir.OpMax:
		d := l.err("E0705", x, fmt.Sprintf("complex numbers have no order, so there is no `%s` of them", x.Op))
		d.Help = append(d.Help, fmt.Sprintf("fold absolute values: `%s ... { abs(...) }`", x.Op))
		return l.invalid(x)
	case reduce == ir.OpAdd && len(prelude) == 0:
		sum := func(e *ir.Expr, dom []ir.Range) *ir.Expr {
			return &ir.Expr{Op: ir.OpFold, Type: f.t, Reduce: reduce, X: []*ir.Expr{e}, Domain: dom, Pos: x.Span}
		}
		again, slots := append([]ir.Range(nil), dom...), map[int]int{}
		for k := range again {
			s := l.fn.Slots[again[k].Slot]
			slots[again[k].Slot] = l.newSlot(s)
			again[k].Slot = slots[again[k].Slot]
		}
		return f.pair(sum(re, dom), sum(withSlots(im, slots), again))
	}
	acc := l.newSlot(ir.Slot{Name: x.Op, Type: body.Type, Kind: ir.LetSlot, Assigned: true, Decl: x.Span})
	set := func(declare bool, v *ir.Expr) []*ir.Stmt {
		return l.withPrelude(func() []*ir.Stmt {
			s := &ir.Stmt{Kind: ir.SetStmt, Declare: declare, Slot: acc, Value: v, Pos: x.Span, Target: x.Span}
			if !declare {
				s.Update = "="
			}
			return listOf(l.assignParts(s))
		})
	}
	first := f.pair(f.num(0), f.num(0))
	if reduce == ir.OpMul {
		first = f.pair(f.num(1), f.num(0))
	}
	before := set(true, first)
	folds := l.folds
	l.folds = 0
	list := append(prelude, l.withPrelude(func() []*ir.Stmt {
		have, value := l.local(acc, x.Span), f.pair(re, im)
		if reduce == ir.OpMul {
			return set(false, f.product(have, value))
		}
		return set(false, f.pair(f.add(have.X[0], value.X[0]), f.add(have.X[1], value.X[1])))
	})...)
	l.folds = folds
	for k := len(dom) - 1; k >= 0; k-- {
		r := dom[k]
		r.Over = -1
		list = []*ir.Stmt{{Kind: ir.ForStmt, Domain: []ir.Range{r}, Body: list, Pos: x.Span}}
	}
	l.prelude = append(append(l.prelude, before...), list...)
	return l.local(acc, x.Span)
}

// withSlots returns a copy of e with other locals.
func withSlots(e *ir.Expr, slots map[int]int) *ir.Expr {
	if e == nil {
		return nil
	}
	c := *e
	if k, ok := slots[e.Slot]; ok && e.Op == ir.OpSlot {
		c.Slot = k
	}
	c.X = make([]*ir.Expr, len(e.X))
	for k, x := range e.X {
		c.X[k] = withSlots(x, slots)
	}
	c.Domain = append([]ir.Range(nil), e.Domain...)
	for k := range c.Domain {
		c.Domain[k].Lo, c.Domain[k].Hi = withSlots(e.Domain[k].Lo, slots), withSlots(e.Domain[k].Hi, slots)
	}
	return &c
}

// complexFunction lowers a call of a function with complex arguments, or of one that only complex
// numbers have. It returns nil for others.
func (l *lowerer) complexFunction(x *syntax.Call, name string, args []*ir.Expr) *ir.Expr {
	any, open := false, false
	for _, a := range args {
		any, open = any || a.Type.IsComplex(), open || a.Type == ir.Open
	}
	own := name == "complex" || name == "re" || name == "im" || name == "conj" || name == "arg"
	switch {
	case !any && !own:
		return nil
	case open:
		return &ir.Expr{Op: ir.OpAbs, Type: ir.Open, X: args, Pos: x.Span}
	case name == "complex" && len(args) == 2 && any:
		d := l.err("E0705", x, "the parts of a complex number are real, and this is a complex one")
		d.Help = append(d.Help, "take parts by `re(z)` and `im(z)`")
		return l.invalid(x)
	case name == "complex":
		return l.makeComplex(x, args)
	}
	z := args[0]
	if !any { // a real number is a complex one
		t := z.Type
		if t.IsInt() {
			t = ir.F64
		}
		v := convert(z, t)
		switch name {
		case "re", "conj":
			return v
		case "im":
			return floatConst(0, t, x.Span)
		}
		z = pair(v, floatConst(0, t, x.Span), x.Span)
	}
	z = convert(z, z.Type)
	f := l.formulaFor(z.Type, x.Span)
	switch name {
	case "re":
		l.certain(z.X[1], z.X[0])
		return z.X[0]
	case "im":
		l.certain(z.X[0], z.X[1])
		return z.X[1]
	case "conj":
		return f.pair(z.X[0], f.neg(z.X[1]))
	case "abs":
		return f.abs(z)
	case "arg":
		return f.arg(f.pair(f.both(z)))
	case "sqrt":
		return f.sqrt(f.pair(f.both(z)))
	case "exp":
		r, y := f.once(f.op(ir.OpExp, z.X[0])), f.once(z.X[1])
		return f.pair(f.mul(r, f.op(ir.OpCos, y)), f.mul(r, f.op(ir.OpSin, y)))
	case "log":
		z = f.pair(f.both(z))
		return f.pair(f.op(ir.OpLog, f.abs(z)), f.arg(z))
	case "int", "float":
		d := l.err("E0705", x, fmt.Sprintf("`%s` takes a real number, and this is a complex one", name))
		d.Help = append(d.Help, fmt.Sprintf("its real part is `re(%s)`", l.text(x.Args[0].Value)))
		return l.invalid(x)
	}
	d := l.err("E0705", x, fmt.Sprintf("`%s` takes real numbers, and this is a complex one", name))
	d.Help = append(d.Help, "the functions of complex numbers are complex, re, im, conj, abs, arg, sqrt, exp, log and select")
	return l.invalid(x)
}

// makeComplex lowers complex(re, im) and complex(z).
func (l *lowerer) makeComplex(x *syntax.Call, args []*ir.Expr) *ir.Expr {
	if len(args) == 1 && args[0].Type.IsComplex() {
		return convert(args[0], args[0].Type)
	}
	t := commonType(args...)
	if t != ir.F32 {
		t = ir.F64
	}
	im := floatConst(0, t, x.Span)
	if len(args) == 2 {
		im = convert(args[1], t)
	}
	lit := args[0].Lit && args[len(args)-1].Lit
	z := pair(convert(args[0], t), im, x.Span)
	z.Lit = lit
	return z
}

// abs is elementary.AbsComplex.
func (f formula) abs(z *ir.Expr) *ir.Expr {
	re, im := f.both(z)
	x, y := f.magnitudes(f.pair(re, im))
	m, n := f.once(f.op(ir.OpMax, x, y)), f.op(ir.OpMin, x, y)
	r := f.once(f.div(n, m))
	long := f.mul(m, f.op(ir.OpSqrt, f.add(f.num(1), f.mul(r, r))))
	plain := f.is(ir.OpOr, f.is(ir.OpEq, m, f.num(0)), f.is(ir.OpEq, m, f.num(math.Inf(1))))
	return f.choose(plain, m, long)
}

// sqrt is elementary.SqrtComplex. The parts of z may be repeated.
func (f formula) sqrt(z *ir.Expr) *ir.Expr {
	x, y := f.magnitudes(z)
	t := f.once(f.op(ir.OpSqrt, f.add(f.mul(f.num(0.5), x), f.mul(f.num(0.5), f.abs(z)))))
	u := f.once(f.choose(f.is(ir.OpEq, t, f.num(0)), f.num(0), f.div(y, f.add(t, t))))
	left := f.once(f.is(ir.OpLt, z.X[0], f.num(0)))
	im := f.once(f.choose(left, t, u))
	return f.pair(f.choose(left, u, t), f.choose(f.is(ir.OpLt, z.X[1], f.num(0)), f.neg(im), im))
}

// arg is elementary.ArgComplex. The parts of z may be repeated.
func (f formula) arg(z *ir.Expr) *ir.Expr {
	x, y := f.magnitudes(z)
	n, m := f.once(f.op(ir.OpMin, x, y)), f.once(f.op(ir.OpMax, x, y))
	q := f.choose(f.is(ir.OpEq, m, f.num(0)), f.num(0), f.div(n, m))
	q = f.once(f.choose(f.is(ir.OpEq, n, f.num(math.Inf(1))), f.num(1), q))
	far := f.once(f.is(ir.OpGt, q, f.num(0.66)))
	t := f.once(f.choose(far, f.div(f.sub(q, f.num(1)), f.add(q, f.num(1))), q))
	s := f.once(f.mul(t, t))
	p, d := f.num(ir.AtanP[0]), f.add(s, f.num(ir.AtanQ[0]))
	for k := 1; k < 5; k++ {
		p = f.add(f.mul(p, s), f.num(ir.AtanP[k]))
		d = f.add(f.mul(d, s), f.num(ir.AtanQ[k]))
	}
	a := f.once(f.add(f.mul(t, f.div(f.mul(s, p), d)), t))
	a = f.once(f.choose(far, f.add(f.num(math.Pi/4), a), a))
	a = f.once(f.choose(f.is(ir.OpGt, y, x), f.sub(f.num(math.Pi/2), a), a))
	a = f.once(f.choose(f.is(ir.OpLt, z.X[0], f.num(0)), f.sub(f.num(math.Pi), a), a))
	return f.choose(f.is(ir.OpLt, z.X[1], f.num(0)), f.neg(a), a)
}
