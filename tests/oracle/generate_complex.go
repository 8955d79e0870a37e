package oracle

// Random expressions of complex numbers, in bodies, functions and scripts.

import (
	"slices"
)

// complexOps are the operators of two complex numbers, or of one and a real number.
var complexOps = []string{"+", "-", "*", "/"}

// scalarTypeOf is the type that an element has in a script.
func scalarTypeOf(elem Type) Type {
	switch {
	case elem.Complex():
		return C128
	case elem == Bool:
		return Bool
	case elem.Float():
		return F64
	}
	return I64
}

// dataElem is a type of elements of data, now and then a complex one or bool.
func (g *generator) dataElem() Type {
	if g.chance(8) {
		return Bool
	}
	if g.chance(12) {
		return pick(g, ComplexElems...)
	}
	return g.elemType()
}

// reductionOf is a reduction that elements of type t have.
func (g *generator) reductionOf(t Type) string {
	if t.Complex() {
		return pick(g, "sum", "sum", "prod")
	}
	if t == Bool {
		return pick(g, "min", "max")
	}
	return pick(g, "sum", "sum", "prod", "min", "max")
}

// numberType is a type of numbers of scripts.
func (g *generator) numberType() Type {
	if g.chance(15) {
		return C128
	}
	return pick(g, I64, I64, F64)
}

// parts is a complex number made of two real ones.
func parts(re, im *Expr) *Expr { return fn("complex", re, im) }

// smallComplex is a number that an element of complex data holds.
func (g *generator) smallComplex() *Expr {
	part := func() *Expr { return num(int64(g.IntN(9) - 3)) }
	switch g.IntN(5) {
	case 0:
		return float(float64(g.IntN(20)) / 4)
	case 1:
		return part()
	case 2:
		return op(pick(g, "+", "-"), part(), imaginary(float64(g.IntN(9))/2))
	}
	return parts(part(), part())
}

func imaginary(f float64) *Expr { return &Expr{Op: "imaginary", Float: f} }

// hasComplex reports whether the codelet has complex operands.
func (b *bodyMaker) hasComplex() bool {
	return slices.ContainsFunc(b.c.Ops, func(o Operand) bool { return o.Elem.Complex() })
}

// complex is an expression of a complex type, which may be a literal.
func (b *bodyMaker) complex(depth int) *Expr {
	if depth <= 0 || b.chance(15) {
		return b.complexLeaf()
	}
	z := func() *Expr { return b.complex(depth - 1) }
	switch b.IntN(16) {
	case 0:
		return &Expr{Op: "neg", Args: []*Expr{z()}}
	case 1:
		return fn("conj", b.nonLiteralComplex(depth-1))
	case 2:
		return &Expr{Op: "if", Args: []*Expr{b.bool(depth - 1), b.nonLiteralComplex(depth - 1), b.anyNumber(depth - 1)}}
	case 3:
		return fn("select", b.bool(depth-1), b.anyNumber(depth-1), b.nonLiteralComplex(depth-1))
	case 4:
		return op("**", b.nonLiteralComplex(depth-1), num(int64(b.IntN(5)-1)))
	case 5:
		if b.loops < 2 {
			return b.complexFold(depth - 1)
		}
	case 6:
		return parts(b.number(depth-1), b.number(depth-1))
	case 7:
		return op(pick(b.generator, complexOps...), b.number(depth-1), b.nonLiteralComplex(depth-1))
	case 8, 9:
		return op(pick(b.generator, complexOps...), b.nonLiteralComplex(depth-1), b.number(depth-1))
	case 10:
		if e := b.invoke(depth-1, "complex"); e != nil {
			return e
		}
	}
	return op(pick(b.generator, complexOps...), z(), b.nonLiteralComplex(depth-1))
}

// nonLiteralComplex is a complex number that is not made of literals alone.
func (b *bodyMaker) nonLiteralComplex(depth int) *Expr {
	for range 20 {
		if e := b.complex(depth); !b.f.static(e).T.literal() {
			return e
		}
	}
	return parts(fn("float", num(2)), num(1))
}

// anyNumber is a real or a complex number.
func (b *bodyMaker) anyNumber(depth int) *Expr {
	if b.chance(40) {
		return b.number(depth)
	}
	return b.complex(depth)
}

// complexLeaf is a complex number without operators.
func (b *bodyMaker) complexLeaf() *Expr {
	var list []*Expr
	for _, o := range b.c.Ops {
		if b.readable(o) && o.Elem.Complex() && (b.deep <= 1 || o.Shape == Variable || b.own[o.Name] != nil) {
			list = append(list, b.load0(o), b.load0(o))
		}
	}
	for _, n := range b.lets {
		if b.f.names[n].T.Complex() {
			list = append(list, name(n))
		}
	}
	if len(list) == 0 || b.chance(15) {
		if b.chance(40) {
			return imaginary(pick(b.generator, 0.5, 1.0, 2.0, 3.0))
		}
		return parts(b.leaf(), b.leaf())
	}
	return list[b.IntN(len(list))]
}

// partOf is a real number made of a complex one.
func (b *bodyMaker) partOf(z *Expr) *Expr {
	return fn(pick(b.generator, "re", "im", "re", "im", "abs"), z)
}

// complexFold is a sum or a product of complex numbers.
func (b *bodyMaker) complexFold(depth int) *Expr {
	e := &Expr{Op: "fold", Name: pick(b.generator, "sum", "sum", "prod")}
	b.over(e, func() *Expr {
		if b.chance(70) { // an order that does not show
			return parts(b.integer(depth), b.integer(depth))
		}
		return b.nonLiteralComplex(depth)
	})
	return e
}

// complex is an expression of a function, of type complex.
func (m *funcMaker) complex(depth int) *Expr {
	g := m.generator
	if depth <= 0 || g.chance(20) {
		return m.leaf(C128)
	}
	z := func() *Expr { return m.expr(C128, depth-1) }
	switch g.IntN(10) {
	case 0:
		return &Expr{Op: "neg", Args: []*Expr{z()}}
	case 1:
		return fn("conj", z())
	case 2:
		return &Expr{Op: "if", Args: []*Expr{m.expr(Bool, depth-1), z(), z()}}
	case 3:
		return parts(m.expr(F64, depth-1), m.expr(pick(g, I64, F64), depth-1))
	case 4:
		return op(pick(g, complexOps...), m.expr(F64, depth-1), z())
	case 5:
		return op(pick(g, complexOps...), z(), m.expr(F64, depth-1))
	case 6:
		if e := m.scriptCallOf(C128, depth-1); e != nil {
			return e
		}
	}
	return op(pick(g, complexOps...), z(), z())
}

// scriptComplex is an expression of the script, of type complex.
func (g *generator) scriptComplex(depth int) *Expr {
	z := func() *Expr { return g.script(C128, depth-1) }
	switch g.IntN(10) {
	case 0:
		return &Expr{Op: "neg", Args: []*Expr{z()}}
	case 1:
		return fn("conj", z())
	case 2:
		return parts(g.script(F64, depth-1), g.script(I64, depth-1))
	case 3:
		return op(pick(g, complexOps...), g.script(pick(g, I64, F64), depth-1), z())
	case 4:
		return op(pick(g, complexOps...), z(), g.script(pick(g, I64, F64), depth-1))
	case 5:
		return op("**", z(), num(int64(g.IntN(6)-2)))
	case 6:
		if e := g.scriptCall(C128, depth-1); e != nil {
			return e
		}
	case 7:
		return &Expr{Op: "if", Args: []*Expr{g.condition(depth - 1), z(), z()}}
	}
	return op(pick(g, complexOps...), z(), z())
}
