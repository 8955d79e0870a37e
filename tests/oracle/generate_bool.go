package oracle

// Random conditions and elements of type bool, in bodies and scripts.

// oneIf is 1 where a condition holds, and else 0.
func oneIf(condition *Expr) *Expr {
	return &Expr{Op: "if", Args: []*Expr{condition, num(1), num(0)}}
}

// bools are the bools in sight.
func (b *bodyMaker) bools() (list []*Expr) {
	for _, o := range b.c.Ops {
		switch {
		case o.Elem != Bool || o.Generic || o.Shape == Void:
		case o.Mode == None:
			list = append(list, name(o.Name))
		case b.readable(o) && (b.deep <= 1 || o.Shape == Variable || b.own[o.Name] != nil):
			list = append(list, b.load0(o), b.load0(o))
		}
	}
	for _, n := range b.lets {
		if b.f.names[n].T == Bool {
			list = append(list, name(n))
		}
	}
	return list
}

// bool is a condition.
func (b *bodyMaker) bool(depth int) *Expr {
	if depth > 0 {
		switch b.IntN(6) {
		case 0:
			return op(pick(b.generator, "and", "or"), b.bool(depth-1), b.bool(depth-1))
		case 1:
			return &Expr{Op: "not", Args: []*Expr{b.bool(depth - 1)}}
		case 2:
			if e := b.invoke(depth-1, "bool"); e != nil {
				return e
			}
		case 3:
			if b.hasComplex() {
				return op(pick(b.generator, "==", "!="), b.nonLiteralComplex(depth-1), b.anyNumber(depth-1))
			}
		}
	}
	if list := b.bools(); len(list) > 0 && b.chance(45) {
		return list[b.IntN(len(list))]
	}
	if b.generic {
		return op(pick(b.generator, "==", "!=", "<", "<=", ">", ">="), b.nonLiteral(0), num(int64(b.IntN(5))))
	}
	return op(pick(b.generator, "==", "!=", "<", "<=", ">", ">="), b.nonLiteral(depth-1), b.number(depth-1))
}

// condition is a bool of the script.
func (g *generator) condition(depth int) *Expr {
	switch g.IntN(8) {
	case 0:
		if depth > 0 {
			return op(pick(g, "and", "or"), g.condition(depth-1), g.condition(depth-1))
		}
	case 1:
		if depth > 0 {
			return &Expr{Op: "not", Args: []*Expr{g.condition(depth - 1)}}
		}
	case 2:
		return op(pick(g, "==", "!=", "<", "<=", ">", ">="), g.script(F64, depth-1), g.script(I64, depth-1))
	case 3:
		if e := g.scriptBool(); e != nil {
			return e
		}
	}
	t := g.numberType()
	if t == C128 {
		return op(pick(g, "==", "!="), g.script(t, depth-1), g.script(pick(g, t, F64), depth-1))
	}
	return op(pick(g, "==", "!=", "<", "<=", ">", ">="), g.script(t, depth-1), g.script(t, depth-1))
}

// scriptBool is a bool of the script without operators; nil: there is none.
func (g *generator) scriptBool() *Expr {
	if names := g.numbers(Bool); len(names) > 0 && g.chance(30) {
		return name(pick(g, names...))
	}
	if e := g.arrayElem(Bool); e != nil && g.chance(50) {
		return e
	}
	if p, ok := g.some(func(p place) bool { return p.shape == Variable && p.data.Elem == Bool && p.hasValue() }); ok {
		return &Expr{Op: "value", Ref: p.ref}
	}
	return nil
}
