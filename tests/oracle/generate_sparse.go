package oracle

// Random sparse matrices, codelets for them, and tasks.
//
// The values of a sparse matrix are a vector like any other: "d4.val" is its name, Data.Sparse adds a structure
// to it that nothing changes, and statements use the vector in all ways that the language has. Statements that
// take the whole matrix, `register d4 = csr[…](…)` and `insert c5(R d4)`, are written without ".val".

import (
	"cmp"
	"slices"
)

// sparseValues is what the name of a sparse matrix has behind it where its values are meant.
const sparseValues = ".val"

var sparseFormats = []string{"csr", "csr", "csc", "coo"}

// sparseElems are the types of elements of sparse matrices.
var sparseElems = []Type{F64, F64, F32, I64, I32, C128}

// sparseArray is an array of the structure of a sparse matrix.
type sparseArray struct {
	name  string
	items []int
}

// arrays are the arrays of the structure that the format has.
func (m *Sparse) arrays() []sparseArray {
	switch m.Format {
	case "csr":
		return []sparseArray{{"ptr", m.Ptr}, {"col", m.Col}}
	case "csc":
		return []sparseArray{{"ptr", m.Ptr}, {"row", m.Row}}
	}
	return []sparseArray{{"row", m.Row}, {"col", m.Col}}
}

// sparse registers a sparse matrix with elements of type t.
func (g *generator) sparse(format string, t Type) *Stmt {
	m := &Sparse{Format: format, Rows: 1 + g.IntN(6), Cols: 1 + g.IntN(6)}
	type entry struct{ row, col int }
	var all []entry
	for i := range m.Rows {
		for j := range m.Cols {
			if g.chance(35) {
				all = append(all, entry{i, j})
			}
		}
	}
	if all == nil { // a vector of the language has elements
		all = append(all, entry{g.IntN(m.Rows), g.IntN(m.Cols)})
	}
	switch format {
	case "csc":
		slices.SortFunc(all, func(a, b entry) int { return cmp.Or(a.col-b.col, a.row-b.row) })
	case "coo":
		g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	lines, line := m.Rows, func(e entry) int { return e.row }
	if format == "csc" {
		lines, line = m.Cols, func(e entry) int { return e.col }
	}
	if format != "coo" {
		m.Ptr = make([]int, lines+1)
	}
	for _, e := range all {
		m.Row, m.Col = append(m.Row, e.row), append(m.Col, e.col)
		for k := line(e) + 1; k < len(m.Ptr); k++ {
			m.Ptr[k]++
		}
	}
	s := g.register(Vector, t, []int{len(all)})
	s.Name += sparseValues
	s.Data.Sparse, s.Data.Reduce = m, ""
	return s
}

// sparseCodelet makes a codelet that takes a sparse matrix: its product with a vector in several forms, that of the
// transposed matrix, and what changes its values.
func (g *generator) sparseCodelet() *Codelet {
	t, format := pick(g, sparseElems...), pick(g, sparseFormats...)
	c := &Codelet{Name: g.name("c"), Like: map[string]string{}, Contributes: map[string]string{}, Lengths: map[string]string{}}
	matrix := func(mode Mode) {
		c.Ops = append(c.Ops, Operand{Name: "A" + sparseValues, Mode: mode, Shape: Vector, Elem: t, Sparse: format})
	}
	vector := func(name string, mode Mode, length string) {
		c.Ops = append(c.Ops, Operand{Name: name, Mode: mode, Shape: Vector, Elem: t})
		c.Lengths[name] = length
	}
	set := func(target *Expr, op string, e *Expr) *Stmt {
		return &Stmt{Kind: Assign, Target: target, Op: op, Expr: e}
	}
	loop := func(kind Kind, i string, over *Domain, body *Stmt) *Stmt {
		return &Stmt{Kind: kind, Names: []string{i}, Over: over, Body: []*Stmt{body}}
	}
	upTo := func(n string) *Domain { return &Domain{Ranges: []Range{{Lo: num(0), Hi: fieldOf("A", n)}}} }
	i, k := name("i"), name("k")
	val := elem("A"+sparseValues, k)
	if format == "coo" {
		row, col := elem("A.row", k), elem("A.col", k)
		switch g.IntN(3) {
		case 0: // y += A * x
			matrix(R)
			vector("x", R, "cols")
			vector("y", RW, "rows")
			c.Body = []*Stmt{loop(For, "k", upTo("nnz"), set(elem("y", row), "+=", op("*", val, elem("x", col))))}
		case 1: // y += transposed A * x
			matrix(R)
			vector("x", R, "rows")
			vector("y", RW, "cols")
			c.Body = []*Stmt{loop(For, "k", upTo("nnz"), set(elem("y", col), "+=", op("*", val, elem("x", row))))}
		default:
			matrix(RW)
			vector("d", R, "rows")
			c.Body = []*Stmt{loop(For, "k", upTo("nnz"), set(val, pick(g, "*=", "+=", "-="), elem("d", row)))}
		}
		return c
	}
	// along is what entries are ordered by, across the other.
	along, lines, across, others := "row", "rows", "A.col", "cols"
	if format == "csc" {
		along, lines, across, others = "col", "cols", "A.row", "rows"
	}
	j := elem(across, k)
	line := &Domain{Of: "A" + sparseValues, Along: along, Line: i}
	switch g.IntN(6) {
	case 0, 1: // y = A * x of a csr, transposed of a csc
		matrix(R)
		vector("x", R, others)
		vector("y", W, lines)
		how := "sum"
		if !t.Complex() {
			how = pick(g, "sum", "sum", "sum", "min", "max")
		}
		fold := &Expr{Op: "fold", Name: how, Index: []string{"k"}, Over: line, Args: []*Expr{op("*", val, elem("x", j))}}
		c.Body = []*Stmt{loop(Each, "i", &Domain{Of: "y"}, set(elem("y", i), "=", fold))}
	case 2: // the same, added to y
		matrix(R)
		vector("x", R, others)
		vector("y", RW, lines)
		c.Body = []*Stmt{loop(Each, "i", &Domain{Of: "y"}, loop(For, "k", line, set(elem("y", i), "+=", op("*", val, elem("x", j)))))}
	case 3: // y += transposed A * x of a csr
		matrix(R)
		vector("x", R, lines)
		vector("y", RW, others)
		c.Body = []*Stmt{loop(For, "i", upTo(lines), loop(For, "k", line, set(elem("y", j), "+=", op("*", val, elem("x", i)))))}
	default: // row by row, or column by column
		matrix(pick(g, RW, W))
		vector("d", R, lines)
		change := set(val, "=", op("+", elem("d", i), num(int64(g.IntN(4)))))
		if c.Ops[0].Mode == RW {
			change = set(val, pick(g, "*=", "+=", "-="), elem("d", i))
		}
		c.Body = []*Stmt{loop(Each, "i", upTo(lines), loop(For, "k", line, change))}
	}
	return c
}

// insertSparse makes an insert of a codelet of sparseCodelet; nil when no data fits.
func (g *generator) insertSparse(c *Codelet) *Stmt {
	s := &Stmt{Kind: Insert, Name: c.Name, Args: make([]Arg, len(c.Ops))}
	var chosen []place
	var m *Sparse
	length := func(o Operand) int {
		if c.Lengths[o.Name] == "rows" {
			return m.Rows
		}
		return m.Cols
	}
	for k, o := range c.Ops {
		p, ok := g.some(func(p place) bool {
			if p.shape != Vector || p.data.Elem != o.Elem || o.Mode.reads() && !p.hasValue() {
				return false
			}
			if o.Sparse != "" && (p.data.Sparse == nil || p.data.Sparse.Format != o.Sparse || p.of != nil) {
				return false
			}
			if o.Sparse == "" && p.dims[0] != length(o) && !(g.faults && g.chance(5)) {
				return false
			}
			return !slices.ContainsFunc(chosen, func(q place) bool { return q.shares(p.handle) })
		})
		if !ok {
			var r *Stmt
			if o.Sparse != "" {
				r = g.sparse(o.Sparse, o.Elem)
			} else {
				r = g.register(Vector, o.Elem, []int{length(o)})
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
		if o.Sparse != "" {
			m = p.data.Sparse
		}
		chosen = append(chosen, p)
		s.Args[k] = Arg{Mode: o.Mode, Ref: p.ref, Sparse: o.Sparse != ""}
	}
	return s
}
