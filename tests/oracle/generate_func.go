package oracle

// Random functions of numbers, which scripts and bodies of codelets call.

import (
	"maps"
	"slices"
)

// A funcMaker makes a function of numbers, which scripts and bodies call.
type funcMaker struct {
	*generator
	names map[Type][]string // in sight
	vars  map[Type][]string // that may be assigned
}

// scalarFunc adds a function of numbers.
func (g *generator) scalarFunc() {
	f := &Func{Name: g.name("f"), Scalar: true}
	m := &funcMaker{g, map[Type][]string{}, map[Type][]string{}}
	for _, s := range g.p.Body {
		if s.Kind == Let && s.Expr.literal() && s.Name[0] == 'q' {
			t := map[string]Type{"int": I64, "float": F64}[s.Expr.Op]
			m.names[t] = append(m.names[t], s.Name)
		}
	}
	kinds := []string{"int", "int", "float", "float", "complex", "bool"}
	for range 1 + g.IntN(3) {
		p := Param{g.name("p"), pick(g, kinds...)}
		f.Params = append(f.Params, p)
		t := scalarTypes[p.Type]
		m.names[t], m.vars[t] = append(m.names[t], p.Name), append(m.vars[t], p.Name)
	}
	f.Result = pick(g, kinds...)
	for range 1 + g.IntN(3) {
		f.Body = append(f.Body, m.stmt(f, 2)...)
	}
	f.Body = append(f.Body, m.returns(f))
	g.p.Funcs = append(g.p.Funcs, f)
	g.m.funcs[f.Name] = f
}

func (m *funcMaker) returns(f *Func) *Stmt {
	return &Stmt{Kind: Return, Expr: m.expr(scalarTypes[f.Result], 2)}
}

// block makes the statements of a block, which hides the names that they declare.
func (m *funcMaker) block(make func() []*Stmt) []*Stmt {
	names, vars := maps.Clone(m.names), maps.Clone(m.vars)
	out := make()
	m.names, m.vars = names, vars
	return out
}

// declare makes a let of a name.
func (m *funcMaker) declare(t Type, e *Expr) *Stmt {
	s := &Stmt{Kind: Let, Name: m.name("a"), Expr: e}
	m.names[t] = append(slices.Clone(m.names[t]), s.Name)
	m.vars[t] = append(slices.Clone(m.vars[t]), s.Name)
	return s
}

// stmt makes statements of a function.
func (m *funcMaker) stmt(f *Func, depth int) []*Stmt {
	t := pick(m.generator, I64, I64, F64, F64, C128)
	switch k := m.IntN(10); {
	case k < 2 || len(m.vars[t]) == 0:
		return []*Stmt{m.declare(t, m.expr(t, 2))}
	case k < 4 && depth > 0:
		s := &Stmt{Kind: If, Expr: m.expr(Bool, 1)}
		s.Body = m.block(func() []*Stmt { return append(m.stmt(f, depth-1), m.jumps(f)...) })
		if m.chance(40) {
			s.Else = m.block(func() []*Stmt { return m.stmt(f, depth-1) })
		}
		return []*Stmt{s}
	case k == 4 && depth > 0:
		i := m.name("j")
		s := &Stmt{Kind: For, Names: []string{i}, Over: &Domain{Ranges: []Range{{Lo: num(0), Hi: num(int64(m.IntN(4)))}}}}
		s.Body = m.block(func() []*Stmt {
			m.names[I64] = append(slices.Clone(m.names[I64]), i)
			return append(m.stmt(f, depth-1), m.jumps(f, Break, Continue)...)
		})
		return []*Stmt{s}
	case k == 5 && depth > 0:
		n := m.name("a")
		m.names[I64] = append(slices.Clone(m.names[I64]), n)
		s := &Stmt{Kind: While, Expr: op("<", name(n), num(int64(1+m.IntN(4))))}
		s.Body = m.block(func() []*Stmt {
			body := []*Stmt{{Kind: Assign, Target: name(n), Op: "+=", Expr: num(1)}}
			body = append(body, m.jumps(f, Break, Continue)...)
			return append(body, m.stmt(f, depth-1)...)
		})
		return []*Stmt{{Kind: Let, Name: n, Expr: num(0)}, s}
	}
	s := &Stmt{Kind: Assign, Target: name(pick(m.generator, m.vars[t]...)), Op: pick(m.generator, "=", "+=", "-=", "*=")}
	s.Expr = m.expr(t, 2)
	if t == I64 && m.chance(20) {
		s.Op = pick(m.generator, "&=", "|=", "^=")
	}
	return []*Stmt{s}
}

// jumps is a jump on a condition, now and then.
func (m *funcMaker) jumps(f *Func, kinds ...Kind) []*Stmt {
	if !m.chance(35) {
		return nil
	}
	s := m.returns(f)
	if len(kinds) > 0 && m.chance(70) {
		s = &Stmt{Kind: pick(m.generator, kinds...)}
	}
	return []*Stmt{{Kind: If, Expr: m.expr(Bool, 1), Body: []*Stmt{s}}}
}

// expr is an expression of type t.
func (m *funcMaker) expr(t Type, depth int) *Expr {
	g := m.generator
	if t == Bool {
		if names := m.names[Bool]; len(names) > 0 && g.chance(25) {
			return name(pick(g, names...))
		}
		if depth > 0 && g.chance(25) {
			return op(pick(g, "and", "or"), m.expr(Bool, depth-1), m.expr(Bool, depth-1))
		}
		u := pick(g, I64, F64)
		return op(pick(g, "==", "!=", "<", "<=", ">", ">="), m.leaf(u), m.expr(u, depth-1))
	}
	if t == C128 {
		return m.complex(depth)
	}
	if depth <= 0 || g.chance(20) {
		return m.leaf(t)
	}
	x, y := m.expr(t, depth-1), m.expr(t, depth-1)
	switch k := g.IntN(12); {
	case k == 0:
		return fn(pick(g, "min", "max"), x, y)
	case k == 1:
		return &Expr{Op: "if", Args: []*Expr{m.expr(Bool, depth-1), x, y}}
	case k == 2:
		return &Expr{Op: "neg", Args: []*Expr{x}}
	case k == 3 && (t == I64 || g.chance(50)):
		return fn("abs", x)
	case k == 4:
		if e := m.scriptCallOf(t, depth-1); e != nil {
			return e
		}
	case k == 3:
		return fn(pick(g, "re", "im", "abs"), m.expr(C128, depth-1))
	case k == 5 && t == F64:
		return fn("float", m.expr(I64, depth-1))
	case k == 6 && t == F64:
		return op("/", x, float(pick(g, 2.0, 4.0, 0.5)))
	case k == 5:
		return op(pick(g, "//", "%"), x, num(int64(1+g.IntN(6))))
	case k < 9 && t == I64:
		switch g.IntN(4) {
		case 0:
			return &Expr{Op: "~", Args: []*Expr{x}}
		case 1:
			return op(pick(g, "<<", ">>"), x, pick(g, num(int64(g.IntN(5))), m.leaf(I64)))
		}
		return op(pick(g, "&", "|", "^"), x, y)
	}
	return op(pick(g, "+", "-", "*"), x, y)
}

// scriptCallOf calls an earlier function of numbers.
func (m *funcMaker) scriptCallOf(t Type, depth int) *Expr {
	fs := slices.DeleteFunc(slices.Clone(m.p.Funcs), func(f *Func) bool { return !f.Scalar || scalarTypes[f.Result] != t })
	if len(fs) == 0 {
		return nil
	}
	f := pick(m.generator, fs...)
	e := fn(f.Name)
	for _, p := range f.Params {
		e.Args = append(e.Args, m.expr(scalarTypes[p.Type], depth))
	}
	return e
}

// leaf is a name or a number of type t.
func (m *funcMaker) leaf(t Type) *Expr {
	if names := m.names[t]; len(names) > 0 && m.chance(75) {
		return name(pick(m.generator, names...))
	}
	switch t {
	case C128:
		return pick(m.generator, imaginary(1), parts(num(int64(m.IntN(5))), float(0.5)))
	case F64:
		return float(pick(m.generator, 0.5, 1.0, 2.0, 3.25))
	}
	return num(int64(m.IntN(10)))
}
