package oracle

// Random sparse matrices, codelets for them, and tasks.
//
// The values of a sparse matrix are a vector like any other: "d4.val" is its name, Data.Sparse adds a structure
// to it that nothing changes, and statements use the vector in all ways that the language has. Statements that
// take the whole matrix, `register d4 = csr[…](…)` and `insert c5(R d4)`, are written without ".val".

import (
	"cmp"
	"slices"
	"strings"
)

// sparseValues is what the name of a sparse matrix has behind it where its values are meant.
const sparseValues = ".val"

var sparseFormats = []string{"csr", "csr", "csc", "coo", "bcsr"}

// sparseElems are the types of elements of sparse matrices.
var sparseElems = []Type{F64, F64, F32, I64, I32, C128, F16, BF16}

// sparseArray is an array of the structure of a sparse matrix.
type sparseArray struct {
	name  string
	items []int
}

// arrays are the arrays of the structure that the format has.
func (m *Sparse) arrays() []sparseArray {
	switch m.Format {
	case "csr", "bcsr":
		return []sparseArray{{"ptr", m.Ptr}, {"col", m.Col}}
	case "csc":
		return []sparseArray{{"ptr", m.Ptr}, {"row", m.Row}}
	}
	return []sparseArray{{"row", m.Row}, {"col", m.Col}}
}

// spot is the place of an entry, or of a block.
type spot struct{ row, col int }

// place gives m entries at these places, in the order of the format; those of a coo keep theirs.
func (m *Sparse) place(all []spot) {
	lines, line := m.Rows, func(e spot) int { return e.row }
	switch m.Format {
	case "coo":
		lines = -1
	case "csc":
		lines, line = m.Cols, func(e spot) int { return e.col }
		slices.SortFunc(all, func(a, b spot) int { return cmp.Or(a.col-b.col, a.row-b.row) })
	case "bcsr":
		lines = m.Rows / m.R
		fallthrough
	default:
		slices.SortFunc(all, func(a, b spot) int { return cmp.Or(a.row-b.row, a.col-b.col) })
	}
	m.Ptr, m.Row, m.Col = make([]int, lines+1), nil, nil
	for _, e := range all {
		m.Row, m.Col = append(m.Row, e.row), append(m.Col, e.col)
		if m.Format == "coo" {
			continue
		}
		for k := line(e) + 1; k < len(m.Ptr); k++ {
			m.Ptr[k]++
		}
	}
	if m.Format == "coo" {
		m.Ptr = nil
	}
}

// sparseType is the format and the element type of a sparse matrix.
func (g *generator) sparseType() (format string, t Type) {
	if g.format != "" && g.chance(85) {
		return g.format, g.elem
	}
	return pick(g, sparseFormats...), pick(g, sparseElems...)
}

// sparse registers a sparse matrix with elements of type t.
func (g *generator) sparse(format string, t Type) *Stmt {
	m := &Sparse{Format: format, Rows: 1 + g.IntN(6), Cols: 1 + g.IntN(6)}
	rows, cols := m.Rows, m.Cols
	shape, dims := Vector, []int{0}
	if format == "bcsr" {
		rows, cols = 1+g.IntN(3), 1+g.IntN(3)
		m.R, m.C = 1+g.IntN(3), 1+g.IntN(3)
		m.Rows, m.Cols = rows*m.R, cols*m.C
		shape, dims = Block, []int{0, m.R, m.C}
	}
	var all []spot
	for i := range rows {
		for j := range cols {
			if g.chance(35) {
				all = append(all, spot{i, j})
			}
		}
	}
	if all == nil { // a vector of the language has elements
		all = append(all, spot{g.IntN(rows), g.IntN(cols)})
	}
	if format == "coo" {
		g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	m.place(all)
	dims[0] = len(all)
	s := g.register(shape, t, dims)
	s.Name += sparseValues
	s.Data.Sparse, s.Data.Reduce = m, ""
	return s
}

// sparseCodelet makes a codelet that takes a sparse matrix: its product with a vector in several forms, that of the
// transposed matrix, and what changes its values.
func (g *generator) sparseCodelet() *Codelet {
	format, t := g.sparseType()
	c := &Codelet{Name: g.name("c"), Like: map[string]string{}, Contributes: map[string]string{}, Lengths: map[string]string{}}
	matrix := func(mode Mode) {
		shape := Vector
		if format == "bcsr" {
			shape = Block
		}
		c.Ops = append(c.Ops, Operand{Name: "A" + sparseValues, Mode: mode, Shape: shape, Elem: t, Sparse: format})
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
	if format == "bcsr" {
		g.blockCodelet(c, t, matrix, vector)
		return c
	}
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
	switch g.IntN(8) {
	case 6, 7: // each value by one of the other index, so that the codelet does the same to all parts of a view together
		matrix(RW)
		vector("x", R, others)
		c.Body = []*Stmt{loop(For, "i", upTo(lines), loop(For, "k", line, set(val, pick(g, "*=", "+=", "-="), elem("x", j))))}
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

// blockCodelet makes c a codelet for a bcsr.
func (g *generator) blockCodelet(c *Codelet, t Type, matrix func(Mode), vector func(string, Mode, string)) {
	i, k, a, b := name("i"), name("k"), name("a"), name("b")
	upTo := func(e *Expr) *Domain { return &Domain{Ranges: []Range{{Lo: num(0), Hi: e}}} }
	col := op("+", op("*", elem("A.col", k), fieldOf("A", "c")), b)
	loop := func(i string, over *Domain, body ...*Stmt) *Stmt {
		return &Stmt{Kind: For, Names: []string{i}, Over: over, Body: body}
	}
	// all runs s for each element of each block.
	all := func(s *Stmt) []*Stmt {
		line := &Domain{Of: "A" + sparseValues, Along: "row", Line: i}
		return []*Stmt{loop("i", upTo(op("//", fieldOf("A", "rows"), fieldOf("A", "r"))), loop("k", line,
			loop("a", upTo(fieldOf("A", "r")), loop("b", upTo(fieldOf("A", "c")), s))))}
	}
	switch g.IntN(4) {
	case 0: // y = A * x
		matrix(R)
		vector("x", R, "cols")
		vector("y", W, "rows")
		line := &Domain{Of: "A" + sparseValues, Along: "row", Line: op("//", i, fieldOf("A", "r"))}
		value := elem("A"+sparseValues, k, op("%", i, fieldOf("A", "r")), b)
		inner := &Expr{Op: "fold", Name: "sum", Index: []string{"b"}, Over: upTo(fieldOf("A", "c")), Args: []*Expr{op("*", value, elem("x", col))}}
		fold := &Expr{Op: "fold", Name: "sum", Index: []string{"k"}, Over: line, Args: []*Expr{inner}}
		c.Body = []*Stmt{{Kind: Each, Names: []string{"i"}, Over: &Domain{Of: "y"}, Body: []*Stmt{{Kind: Assign, Target: elem("y", i), Op: "=", Expr: fold}}}}
	case 1: // y += transposed A * x
		matrix(R)
		vector("x", R, "rows")
		vector("y", RW, "cols")
		row := op("+", op("*", i, fieldOf("A", "r")), a)
		c.Body = all(&Stmt{Kind: Assign, Target: elem("y", col), Op: "+=", Expr: op("*", elem("A"+sparseValues, k, a, b), elem("x", row))})
	default:
		matrix(RW)
		vector("x", R, "cols")
		c.Body = all(&Stmt{Kind: Assign, Target: elem("A"+sparseValues, k, a, b), Op: pick(g, "*=", "+=", "-="), Expr: elem("x", col)})
	}
}

// sparseStatement adds a statement about sparse matrices that is no insert of one codelet.
func (g *generator) sparseStatement() {
	switch g.IntN(11) {
	case 0, 1:
		g.try(g.sparse(g.sparseType()))
	case 9, 10:
		c := pick(g, g.p.Codelets...)
		if slices.ContainsFunc(c.Ops, func(o Operand) bool { return o.Sparse != "" }) {
			if s := g.insertSparse(c, nil); s != nil {
				g.options(s)
				if g.try(s) {
					g.again(s)
				}
			}
		}
	case 2, 3:
		g.conversion()
	case 4, 5, 6:
		g.partitionSparse()
	case 7:
		g.eachPart()
	default:
		if v, ok := g.sparseView(); ok && g.chance(50) {
			g.try(&Stmt{Kind: Unpartition, Text: pick(g, "", "to ram"), Refs: []*Ref{{Name: v}}})
		}
	}
}

// isSparse reports whether p is the values of a whole sparse matrix, by the name that says so: a function has
// them as a vector.
func (p place) isSparse() bool { return p.sparse != nil && strings.HasSuffix(p.ref.Name, sparseValues) }

// conversion registers data that is converted from a matrix, or from a sparse one.
func (g *generator) conversion() {
	p, ok := g.some(func(p place) bool {
		return p.of == nil && p.hasValue() && slices.Contains(sparseElems, p.data.Elem) && (p.shape == Matrix || p.isSparse())
	})
	if !ok {
		return
	}
	d := &Data{Shape: Vector, Elem: p.data.Elem, From: p.ref, Owner: g.owner()}
	s := &Stmt{Kind: Register, Name: g.name("d"), Data: d}
	format := pick(g, "csr", "csc", "coo", "bcsr", "matrix")
	if g.format != "" && p.data.Elem == g.elem && g.chance(50) {
		format = g.format
	}
	switch {
	case format == "matrix" && !p.isSparse():
		return
	case format == "matrix":
		d.Shape = Matrix
	default:
		s.Name += sparseValues
		if d.Sparse = (&Sparse{Format: format}); format == "bcsr" {
			d.Shape, d.Sparse.R, d.Sparse.C = Block, 1+g.IntN(3), 1+g.IntN(3)
		}
	}
	g.try(s)
}

// partitionSparse declares a view of a sparse matrix.
func (g *generator) partitionSparse() {
	p, ok := g.some(place.isSparse)
	if !ok {
		return
	}
	m := p.sparse
	f := Filter{Name: "rows"}
	n := len(m.Row)
	switch {
	case m.Format == "coo":
		f.Name = "entries"
	case m.Format == "csc":
		n, f.Name = m.lines(), pick(g, "cols", "nonzeros")
	default:
		n, f.Name = m.lines(), pick(g, "rows", "rows", "nonzeros")
	}
	if f.Name == "nonzeros" || g.chance(50) {
		f.Args = []int{1 + g.IntN(min(n, 4))}
		if g.errors && g.chance(5) {
			f.Args[0] = n + 1
		}
	} else {
		for left := n; left > 0; {
			k := 1 + g.IntN(left)
			f.Sizes = append(f.Sizes, k)
			left -= k
		}
	}
	g.try(&Stmt{Kind: Partition, Name: g.name("v"), Refs: []*Ref{p.ref}, Filter: []Filter{f}, Sparse: true, Grid: g.grid()})
}

// sparseView returns the name of a view of a sparse matrix.
func (g *generator) sparseView() (string, bool) {
	names := slices.DeleteFunc(g.visible(), func(n string) bool {
		x, _ := g.m.names.find(n)
		v, ok := x.(*view)
		return !ok || !v.sparse || v.ended || v.of.alive() != ""
	})
	if len(names) == 0 {
		return "", false
	}
	return pick(g, names...), true
}

// eachPart inserts a codelet for all parts of a view of a sparse matrix that does to them what it would do to
// the whole, wherever one part ends: its vectors are as long as the index that no part divides.
func (g *generator) eachPart() {
	name, ok := g.sparseView()
	if !ok {
		return
	}
	x, _ := g.m.names.find(name)
	v := x.(*view)
	m := v.of.sparse
	lines := "rows"
	switch m.Format {
	case "csc":
		lines = "cols"
	case "coo":
		lines = ""
	}
	var fit []*Codelet
	for _, c := range g.p.Codelets {
		takes, across := false, true
		for _, o := range c.Ops {
			takes = takes || o.Sparse == m.Format && o.Elem == v.of.data.Elem
			across = across && c.Lengths[o.Name] != lines || o.Sparse != ""
		}
		if takes && across {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return
	}
	b := g.name("b")
	insert := g.insertSparse(pick(g, fit...), &place{v.of, &Ref{Name: b}})
	if insert != nil {
		g.try(&Stmt{Kind: For, Names: []string{b}, Over: &Domain{Parts: name}, Body: []*Stmt{insert}})
	}
}

// sparsePlaces are the sparse matrices of a format and an element type, and parts of such matrices.
func (g *generator) sparsePlaces(format string, t Type) []place {
	var out []place
	for _, n := range g.visible() {
		x, _ := g.m.names.find(n)
		switch x := x.(type) {
		case *handle:
			if p := (place{x, &Ref{Name: n}}); p.isSparse() && x.alive() == "" {
				out = append(out, p)
			}
		case *view:
			if !x.sparse || x.about || x.ended || x.of.alive() != "" {
				continue
			}
			for k, p := range x.parts {
				out = append(out, place{p, &Ref{Name: n, Index: []*Expr{num(int64(k))}}})
			}
		}
	}
	return slices.DeleteFunc(out, func(p place) bool { return p.sparse.Format != format || p.data.Elem != t })
}

// insertSparse makes an insert of a codelet of sparseCodelet, with the matrix of that is not nil; nil when no data fits.
func (g *generator) insertSparse(c *Codelet, with *place) *Stmt {
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
		fits := func(p place) bool {
			return p.data.Elem == o.Elem && (!o.Mode.reads() || p.hasValue()) &&
				!slices.ContainsFunc(chosen, func(q place) bool { return q.shares(p.handle) })
		}
		var p place
		ok := false
		switch {
		case o.Sparse == "":
			p, ok = g.some(func(p place) bool {
				return p.shape == Vector && (p.dims[0] == length(o) || g.faults && g.chance(5)) && fits(p)
			})
		case with != nil:
			if p, ok = *with, fits(*with); !ok {
				return nil
			}
		default:
			if all := slices.DeleteFunc(g.sparsePlaces(o.Sparse, o.Elem), func(p place) bool { return !fits(p) }); len(all) > 0 {
				p, ok = pick(g, all...), true
			}
		}
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
			m = p.sparse
		}
		chosen = append(chosen, p)
		s.Args[k] = Arg{Mode: g.overwriting(o.Mode), Ref: p.ref, Sparse: o.Sparse != ""}
	}
	return s
}
