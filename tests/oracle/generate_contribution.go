package oracle

// Random bodies that only contribute to an operand, as REDUX and COMMUTE uses need them.

import "slices"

// contribution makes a body that only contributes to its operand.
func (b *bodyMaker) contribution() {
	var o Operand
	for _, p := range b.c.Ops {
		if p.Name == "y0" {
			o = p
		}
	}
	how := b.reductionOf(o.Elem)
	b.c.Contributes[o.Name] = how
	if b.chance(25) {
		b.c.Body = append(b.c.Body, b.let())
	}
	for range 1 + b.IntN(2) {
		b.c.Body = append(b.c.Body, b.contribute(o, how))
	}
}

// contribute is a statement, or a loop of them, that contributes to o.
func (b *bodyMaker) contribute(o Operand, how string) *Stmt {
	n := len(b.indices)
	defer func() { b.indices = b.indices[:n] }()
	switch {
	case o.Shape != Variable && b.chance(70):
		s := &Stmt{Kind: Each, Over: &Domain{Of: o.Name}}
		for a := range o.Shape.rank() {
			i := b.name("i")
			b.indices = append(b.indices, axisName{i, o.Name, a})
			b.f.names[i] = intValue(0)
			s.Names = append(s.Names, i)
		}
		b.own[o.Name] = s.Names
		s.Body = []*Stmt{b.adds(o, b.ownElem(o.Name), how)}
		clear(b.own)
		return s
	case b.chance(40):
		s := &Stmt{Kind: For, Names: []string{b.name("j")}, Over: b.smallRange()}
		x := axisName{name: s.Names[0]}
		if v := b.anyShaped(); v != nil {
			x.of, x.axis = v.Name, b.IntN(v.Shape.rank())
			s.Over = &Domain{Ranges: []Range{{Lo: num(0), Hi: fieldOf(v.Name, fieldNames[v.Shape][x.axis])}}}
		}
		b.f.names[x.name] = intValue(0)
		b.indices = append(b.indices, x)
		b.loops++
		s.Body = []*Stmt{b.adds(o, b.anywhere(o, true), how)}
		b.loops--
		return s
	case b.chance(20):
		return &Stmt{Kind: If, Expr: b.bool(2), Body: []*Stmt{b.adds(o, b.anywhere(o, true), how)}}
	}
	return b.adds(o, b.anywhere(o, true), how)
}

// adds is one contribution to target.
func (b *bodyMaker) adds(o Operand, target *Expr, how string) *Stmt {
	s := &Stmt{Kind: Assign, Target: target, Op: "="}
	if o.Elem == Bool {
		args := []*Expr{target, b.bool(2)}
		if b.chance(30) {
			slices.Reverse(args)
		}
		s.Expr = op(map[string]string{"max": "or", "min": "and"}[how], args[0], args[1])
		return s
	}
	e := b.fitting(o, 2)
	if o.Elem.Float() && !b.generic && b.chance(70) { // an order of sums and products that does not show
		e = op("/", fn("int", b.number(1)), float(pick(b.generator, 1.0, 2.0, 4.0)))
		if b.chance(50) {
			e = b.leaf()
		}
	}
	if o.Elem.Complex() {
		e = b.complexAdds()
	}
	switch how {
	case "sum":
		switch b.IntN(5) {
		case 0:
			s.Expr = op("+", target, e)
		case 1:
			s.Expr = op("+", e, target)
		case 2:
			s.Op, s.Expr = "-=", e
		default:
			s.Op, s.Expr = "+=", e
		}
	case "prod":
		switch b.IntN(3) {
		case 0:
			s.Expr = op("*", target, e)
		default:
			s.Op, s.Expr = "*=", e
		}
	default:
		args := []*Expr{target, e}
		if b.chance(30) {
			args = []*Expr{e, target}
		}
		s.Expr = fn(how, args...)
		if b.chance(20) {
			s.Expr = fn(how, b.fitting(o, 1), s.Expr)
		}
	}
	return s
}

// complexAdds is what a contribution to complex data has, most times of an order that does not show.
func (b *bodyMaker) complexAdds() *Expr {
	switch b.IntN(4) {
	case 0:
		return b.nonLiteralComplex(2)
	case 1:
		return b.complexLeaf()
	}
	return parts(b.integer(1), op("/", fn("int", b.number(1)), float(pick(b.generator, 1.0, 2.0))))
}
