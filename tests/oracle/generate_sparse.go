package oracle

// Random sparse matrices, codelets for them, and tasks.
//
// The values of a csr are a vector like any other: "d4.val" is its name, "csr" adds a structure to it that
// nothing changes, and statements use the vector in all ways that the language has. What takes the
// whole matrix, `register d4 = csr[…](…)` and `insert c5(R d4)`, is written without ".val".

import "slices"

// sparseValues is what the name of a csr has behind it where its values are meant.
const sparseValues = ".val"

// sparse registers a csr with elements of type t.
func (g *generator) sparse(t Type) *Stmt {
	m := &Sparse{Rows: 1 + g.IntN(6), Cols: 1 + g.IntN(6), Ptr: []int{0}}
	for range m.Rows {
		for j := range m.Cols {
			if g.chance(35) {
				m.Col = append(m.Col, j)
			}
		}
		m.Ptr = append(m.Ptr, len(m.Col))
	}
	if len(m.Col) == 0 { // a vector of the language has elements
		m.Col = append(m.Col, g.IntN(m.Cols))
		m.Ptr[m.Rows]++
	}
	s := g.register(Vector, t, []int{len(m.Col)})
	s.Name += sparseValues
	s.Data.Sparse, s.Data.Reduce = m, ""
	return s
}

// sparseElems are the types of elements of sparse matrices.
var sparseElems = []Type{F64, F64, F32, I64, I32, C128}

// sparseCodelet makes a codelet that takes a csr: its products with a vector in several forms, and what changes
// its values by rows.
func (g *generator) sparseCodelet() *Codelet {
	t := pick(g, sparseElems...)
	c := &Codelet{Name: g.name("c"), Like: map[string]string{}, Contributes: map[string]string{}}
	matrix := func(mode Mode) {
		c.Ops = append(c.Ops, Operand{Name: "A" + sparseValues, Mode: mode, Shape: Vector, Elem: t, Sparse: true})
	}
	vector := func(name string, mode Mode) {
		c.Ops = append(c.Ops, Operand{Name: name, Mode: mode, Shape: Vector, Elem: t})
	}
	i, j, k := name("i"), elem("A.col", name("k")), name("k")
	val := elem("A"+sparseValues, k)
	row := func(i *Expr) *Domain { return &Domain{Of: "A" + sparseValues, Row: i} }
	set := func(target *Expr, op string, e *Expr) *Stmt {
		return &Stmt{Kind: Assign, Target: target, Op: op, Expr: e}
	}
	rows := &Domain{Ranges: []Range{{Lo: num(0), Hi: fieldOf("A", "rows")}}}
	switch g.IntN(6) {
	case 0, 1: // y = A * x
		matrix(R)
		vector("x", R)
		vector("y", W)
		how := "sum"
		if !t.Complex() {
			how = pick(g, "sum", "sum", "sum", "min", "max")
		}
		fold := &Expr{Op: "fold", Name: how, Index: []string{"k"}, Over: row(i), Args: []*Expr{op("*", val, elem("x", j))}}
		c.Body = []*Stmt{{Kind: Each, Names: []string{"i"}, Over: &Domain{Of: "y"}, Body: []*Stmt{set(elem("y", i), "=", fold)}}}
	case 2: // y += A * x
		matrix(R)
		vector("x", R)
		vector("y", RW)
		add := set(elem("y", i), "+=", op("*", val, elem("x", j)))
		c.Body = []*Stmt{{Kind: Each, Names: []string{"i"}, Over: &Domain{Of: "y"},
			Body: []*Stmt{{Kind: For, Names: []string{"k"}, Over: row(i), Body: []*Stmt{add}}}}}
	case 3: // y += transposed A * x
		matrix(R)
		vector("x", R)
		vector("y", RW)
		add := set(elem("y", j), "+=", op("*", val, elem("x", i)))
		c.Body = []*Stmt{{Kind: For, Names: []string{"i"}, Over: rows,
			Body: []*Stmt{{Kind: For, Names: []string{"k"}, Over: row(i), Body: []*Stmt{add}}}}}
	default: // rows of A
		matrix(pick(g, RW, W))
		vector("d", R)
		change := set(val, "=", op("+", elem("d", i), num(int64(g.IntN(4)))))
		if c.Ops[0].Mode == RW {
			change = set(val, pick(g, "*=", "+=", "-="), elem("d", i))
		}
		c.Body = []*Stmt{{Kind: Each, Names: []string{"i"}, Over: rows,
			Body: []*Stmt{{Kind: For, Names: []string{"k"}, Over: row(i), Body: []*Stmt{change}}}}}
	}
	return c
}

// lengthOf is how long the vector that c calls name is for matrix m, most times.
func (c *Codelet) lengthOf(name string, m *Sparse) int {
	transposed := c.Body[0].Kind == For
	if (name == "x") != transposed && name != "d" {
		return m.Cols
	}
	return m.Rows
}

// insertSparse makes an insert of a codelet of sparseCodelet; nil when no data fits.
func (g *generator) insertSparse(c *Codelet) *Stmt {
	s := &Stmt{Kind: Insert, Name: c.Name, Args: make([]Arg, len(c.Ops))}
	var chosen []place
	var m *Sparse
	for k, o := range c.Ops {
		fits := func(p place) bool {
			if p.shape != Vector || p.data.Elem != o.Elem || o.Mode.reads() && !p.hasValue() || (o.Sparse && (p.data.Sparse == nil || p.of != nil)) {
				return false
			}
			if !o.Sparse && p.dims[0] != c.lengthOf(o.Name, m) && !(g.faults && g.chance(5)) {
				return false
			}
			return !slices.ContainsFunc(chosen, func(q place) bool { return q.shares(p.handle) })
		}
		p, ok := g.some(fits)
		if !ok {
			var r *Stmt
			if o.Sparse {
				r = g.sparse(o.Elem)
			} else {
				r = g.register(Vector, o.Elem, []int{c.lengthOf(o.Name, m)})
			}
			if r.Data.Fill == nil && r.Data.List == nil && o.Mode.reads() {
				r.Data.Fill = g.value(o.Elem)
			}
			if !g.try(r) {
				return nil
			}
			h, _ := g.m.names.find(r.Name)
			p = place{h.(*handle), &Ref{Name: r.Name}}
		}
		if o.Sparse {
			m = p.data.Sparse
		}
		chosen = append(chosen, p)
		s.Args[k] = Arg{Mode: o.Mode, Ref: p.ref, Sparse: o.Sparse}
	}
	return s
}
