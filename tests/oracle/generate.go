package oracle

// Random programs. Each statement is tried on the oracle as soon as it is made: what the
// language leaves open is taken back, and so is most of what ends the script.

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes one program.
type generator struct {
	*rand.Rand
	p      *Program
	m      *Machine // it has run the program so far
	open   []*opened
	made   int // names
	deep   int
	faults bool // tasks may fail
	errors bool // statements may fail
	// checkpoints: the program writes some
	checkpoints bool
	// format and elem are those of most sparse matrices of a program that has many of them; "": it has few
	format string
	elem   Type
}

// opened is a block that statements are added to.
type opened struct {
	enter func(m *Machine) // what its head does before the first round
	body  []*Stmt
}

// Generate makes a random program. The same seed gives the same program.
func Generate(seed uint64) *Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), p: &Program{}}
	g.faults, g.errors = g.chance(40), g.chance(30)
	g.checkpoints = g.chance(12)
	g.m = NewMachine(g.p)
	for range g.IntN(3) {
		g.try(&Stmt{Kind: Let, Name: g.name("q"), Expr: pick(g, num(int64(g.IntN(20))), float(float64(g.IntN(20))/4))})
	}
	for range g.IntN(3) {
		g.scalarFunc()
	}
	if g.chance(35) {
		for range 1 + g.IntN(2) {
			g.structType()
		}
	}
	for range 2 + g.IntN(3) {
		g.addCodelet(g.codelet())
	}
	if g.chance(25) {
		g.format, g.elem = pick(g, sparseFormats...), pick(g, sparseElems...)
		for range 2 + g.IntN(2) {
			g.addCodelet(g.sparseCodelet())
		}
		g.try(g.sparse(g.format, g.elem))
	}
	for range 2 + g.IntN(3) {
		g.try(g.register(g.shape(), g.dataElem(), nil))
	}
	for range 10 + g.IntN(30) {
		if g.statement(); g.m.Err != nil {
			return g.p
		}
	}
	g.openGates()
	for _, n := range g.visible() {
		if _, ok := g.m.structs(&Ref{Name: n}); ok || strings.HasSuffix(n, sparseValues) {
			g.try(&Stmt{Kind: Print, Exprs: []*Expr{{Op: "data", Ref: &Ref{Name: n}}}})
		}
	}
	return g.p
}

func (g *generator) addCodelet(c *Codelet) {
	if g.chance(10) {
		c.Retry = 1 + g.IntN(3)
	}
	g.p.Codelets = append(g.p.Codelets, c)
	g.m.codelets[c.Name] = c
}

// body is the list that statements are added to.
func (g *generator) body() *[]*Stmt {
	if n := len(g.open); n > 0 {
		return &g.open[n-1].body
	}
	return &g.p.Body
}

// try adds statements unless the oracle has a reason against them.
func (g *generator) try(list ...*Stmt) bool {
	failed := g.failures()
	body := g.body()
	n := len(*body)
	for _, s := range list {
		*body = append(*body, s)
		reason := g.m.Step(s)
		if reason == "" && g.m.Err == nil {
			continue
		}
		if reason == "" && len(g.open) == 0 && g.errors && g.chance(15) {
			return true
		}
		g.undo(n)
		return false
	}
	if g.failures() > failed && !g.chance(30) {
		g.undo(n)
		return false
	}
	return true
}

// failures is how many tasks have failed.
func (g *generator) failures() int {
	n := 0
	for _, t := range g.m.tasks {
		if t.failed != "" {
			n++
		}
	}
	return n
}

// undo takes all but n statements of the innermost block back.
func (g *generator) undo(n int) {
	body := g.body()
	*body = (*body)[:n]
	g.rerun()
}

// rerun brings the machine to where the program is.
func (g *generator) rerun() {
	g.m = NewMachine(g.p)
	for _, s := range g.p.Body {
		g.m.Step(s)
	}
	for _, b := range g.open {
		b.enter(g.m)
		for _, s := range b.body {
			g.m.Step(s)
		}
	}
}

// inside makes the statements of a block; its first round begins with enter.
func (g *generator) inside(enter func(m *Machine), statements int) []*Stmt {
	b := &opened{enter: enter}
	g.open = append(g.open, b)
	enter(g.m)
	for range statements {
		g.statement()
	}
	g.open = g.open[:len(g.open)-1]
	g.rerun()
	return b.body
}

// scopeOf enters a block with names.
func scopeOf(names func(m *Machine) map[string]any) func(m *Machine) {
	return func(m *Machine) { m.names = &scope{up: m.names, names: names(m)} }
}

// register makes data. Without dims it chooses some.
func (g *generator) register(shape Shape, t Type, dims []int) *Stmt {
	d := &Data{Shape: shape, Elem: t, Dims: slices.Clone(dims)}
	if dims == nil {
		for range shape.rank() {
			most := [...]int{Vector: 20, Matrix: 7, Block: 4, Tensor: 3, Tensor5: 2, Tensor6: 2, Tensor7: 2, Tensor8: 2}[shape]
			d.Dims = append(d.Dims, 1+g.IntN(most))
		}
	}
	if shape == Void {
		return &Stmt{Kind: Register, Name: g.name("o"), Data: d}
	}
	if shape == Matrix && g.chance(20) {
		d.LD = d.Dims[len(d.Dims)-1] + g.IntN(3)
	}
	n := 1
	for _, k := range d.Dims {
		n *= k
	}
	switch k := g.IntN(10); {
	case k < 3:
		d.Fill = g.value(t)
	case k < 7 && shape != Variable:
		for range n {
			d.List = append(d.List, g.value(t))
		}
	}
	if g.chance(50) {
		d.Reduce = g.reductionOf(t)
	}
	d.Owner = g.owner()
	return &Stmt{Kind: Register, Name: g.name("d"), Data: d}
}

// owner is 1 + a rank that owns data, or 0.
func (g *generator) owner() int { return max(0, g.IntN(12)-6) }

// grid is a grid of ranks that own parts, or nil.
func (g *generator) grid() []int {
	if g.chance(70) {
		return nil
	}
	return []int{1 + g.IntN(4), 1 + g.IntN(3)}
}

// value is a number that an element of type t holds.
func (g *generator) value(t Type) *Expr {
	if t.Complex() {
		return g.smallComplex()
	}
	if t == Bool {
		return &Expr{Op: "bool", Int: int64(g.IntN(2))}
	}
	if t.Float() {
		return pick(g, float(float64(g.IntN(40))/4), float(float64(g.IntN(9))), num(int64(g.IntN(20)-5)))
	}
	lo, hi := int64(-9_000_000_000_000_000_000), int64(9_000_000_000_000_000_000)
	if t != I64 && t != U64 {
		lo, hi = limits(t)
	}
	if !t.signed() {
		lo = 0
	}
	switch g.IntN(8) {
	case 0:
		return num(pick(g, lo, hi))
	case 1:
		return num(hi - int64(g.IntN(100)))
	case 2:
		return num(max(lo, int64(-g.IntN(50))))
	}
	return num(int64(g.IntN(20)))
}

// A place is data that a statement can name, and how.
type place struct {
	*handle
	ref *Ref
}

// isField reports whether p is named as a field of structs.
func (p place) isField() bool { return structOf(p.ref.Name) != p.ref.Name }

// places are the handles that are alive, with parts of views.
func (g *generator) places() []place {
	var out []place
	parts := func(v *view, name string) {
		if v == nil || v.ended {
			return
		}
		for k, p := range v.parts {
			if len(v.parts) > 6 && g.chance(70) {
				continue
			}
			r := &Ref{Name: name}
			for a := len(v.dims) - 1; a >= 0; a-- {
				r.Index = append([]*Expr{num(int64(k % v.dims[a]))}, r.Index...)
				k /= v.dims[a]
			}
			out = append(out, place{p, r})
		}
	}
	for _, n := range g.visible() {
		x, _ := g.m.names.find(n)
		switch x := x.(type) {
		case *handle:
			if x.alive() == "" {
				out = append(out, place{x, &Ref{Name: n}})
				parts(*x.defaultView(n), n)
			}
		case *view:
			if x.of.alive() == "" && !x.sparse {
				parts(x, n)
			}
		}
	}
	return out
}

// visible are the names in sight, sorted.
func (g *generator) visible() []string {
	var out []string
	for s := g.m.names; s != nil; s = s.up {
		for n := range s.names {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// some is one of the places for which ok holds.
func (g *generator) some(ok func(p place) bool) (place, bool) {
	all := slices.DeleteFunc(g.places(), func(p place) bool { return !ok(p) })
	if len(all) == 0 {
		return place{}, false
	}
	return all[g.IntN(len(all))], true
}

// hasValue reports whether all of h was written, and nothing of it lost.
func (h *handle) hasValue() bool {
	return !slices.ContainsFunc(h.places, func(p int) bool {
		c := &h.cells[p]
		return c.has != written || c.lost != nil || c.group != nil && c.group.lost != nil
	})
}

// partition declares a view.
func (g *generator) partition() {
	p, ok := g.some(func(p place) bool { return p.shape.rank() > 0 })
	if !ok {
		return
	}
	s := &Stmt{Kind: Partition, Name: g.name("v"), Refs: []*Ref{p.ref}, Grid: g.grid()}
	of := p.handle
	if g.chance(20) {
		for _, n := range p.dims {
			lo := g.IntN(n)
			s.Slice = append(s.Slice, [2]int{lo, lo + 1 + g.IntN(n-lo)})
		}
		of, _ = p.slice(s.Slice)
	}
	shape, dims := of.shape, of.dims
	for range 1 + g.IntN(2) {
		f := g.filter(shape, dims)
		s.Filter = append(s.Filter, f)
		parts := []*handle{of}
		for _, f := range s.Filter {
			_, next, code := parts[0].split(f)
			if code != "" {
				parts = nil
				break
			}
			parts = next
		}
		if len(parts) == 0 || parts[0].shape == Variable {
			break
		}
		shape, dims = parts[0].shape, parts[0].dims
	}
	if s.Slice != nil && g.errors && g.chance(10) {
		s.Slice[0][1] = p.dims[0] + 1
	}
	if len(p.ref.Index) == 0 && p.data.Sparse == nil && g.chance(35) && !slices.ContainsFunc(s.Filter, func(f Filter) bool { return f.Name == "pick" }) {
		s.Name = ""
	}
	g.try(s)
}

// filter is one for data of a shape.
func (g *generator) filter(shape Shape, dims []int) Filter {
	along := func(name string, axis int, args ...int) Filter {
		n := dims[axis]
		f := Filter{Name: name}
		if n > 3 && g.chance(25) {
			f.Halo = 1 + g.IntN(min(2, (n-2)/2))
			n -= 2 * f.Halo
		}
		if n > 2 && g.chance(15) {
			more := 1 + g.IntN((n-1)/2)
			f.Inside = f.Halo + more
			n -= 2 * more
		}
		if g.chance(30) {
			for left := n; left > 0; {
				k := 1 + g.IntN(left)
				f.Sizes = append(f.Sizes, k)
				left -= k
			}
			f.Args = args
			return f
		}
		f.Args = append(args, 1+g.IntN(min(max(n, 1), 4)))
		if g.errors && g.chance(5) {
			f.Args[len(f.Args)-1] += 5
		}
		return f
	}
	if g.chance(20) {
		k := g.IntN(shape.rank())
		f := Filter{Name: "pick", Args: []int{k}}
		if g.chance(40) {
			lo := g.IntN(dims[k])
			f.Range = []int{lo, lo + 1 + g.IntN(dims[k]-lo)}
		}
		return f
	}
	switch shape {
	case Vector:
		if g.chance(20) && dims[0] > 1 {
			return Filter{Name: "halves"}
		}
		if g.chance(10) {
			return along("axis", 0, 0)
		}
		return along("blocks", 0)
	case Matrix:
		switch g.IntN(10) {
		case 0, 1, 2:
			return along("rows", 0)
		case 3, 4, 5:
			return along("cols", 1)
		case 6:
			k := g.IntN(2)
			return along("axis", k, k)
		}
		return g.tiles(dims)
	}
	if g.chance(30) {
		return g.tiles(dims)
	}
	k := g.IntN(shape.rank())
	return along("axis", k, k)
}

// tiles is a filter that cuts along all axes.
func (g *generator) tiles(dims []int) Filter {
	f := Filter{Name: "tiles"}
	border := 0
	if slices.Min(dims) > 2 && g.chance(20) {
		border = 1
		if f.Halo = 1; g.chance(40) {
			f.Halo, f.Inside = g.IntN(2), 1
		}
	}
	for _, n := range dims {
		f.Args = append(f.Args, 1+g.IntN(min(n-2*border, 3)))
	}
	return f
}

// insert makes an insert of some codelet; nil when no data fits.
func (g *generator) insert() *Stmt {
	c := pick(g, g.p.Codelets...)
	if slices.ContainsFunc(c.Ops, func(o Operand) bool { return o.Sparse != "" }) {
		return g.insertSparse(c, nil)
	}
	return g.insertOf(c)
}

// insertOf makes an insert of c.
func (g *generator) insertOf(c *Codelet) *Stmt {
	s := &Stmt{Kind: Insert, Name: c.Name, Args: make([]Arg, len(c.Ops))}
	var generic Type
	known := false
	chosen := map[string]place{}
	order := g.Perm(len(c.Ops))
	slices.SortStableFunc(order, func(i, j int) int { return len(c.Like[c.Ops[i].Name]) - len(c.Like[c.Ops[j].Name]) })
	for _, k := range order {
		o := c.Ops[k]
		if o.Mode == None || s.Args[k].Struct != nil {
			continue
		}
		if o.Struct != nil {
			if !g.structArgs(s, c, k, chosen) {
				return nil
			}
			continue
		}
		mode := o.Mode
		how := c.Contributes[o.Name]
		if how != "" {
			mode = pick(g, RW, Redux, Redux, Redux, Commute)
		}
		mode = g.overwriting(mode)
		like, hasLike := chosen[c.Like[o.Name]]
		strict := g.chance(93)
		if o.Generic && !known {
			if g.chance(70) {
				known, generic = true, g.elemType()
			}
		}
		fits := func(p place) bool {
			if o.Generic && !slices.Contains(Elems, p.data.Elem) || p.shape != o.Shape || o.Generic && known && p.data.Elem != generic && o.Shape != Void || !o.Generic && o.Shape != Void && p.data.Elem != o.Elem {
				return false
			}
			if hasLike && strict && !slices.Equal(p.dims, like.dims) {
				return false
			}
			if mode == Redux && !g.combinesBy(p.handle, how) {
				return false
			}
			if strict && mode.reads() && o.Shape != Void && !p.hasValue() {
				return false
			}
			for n, q := range chosen {
				if p.shares(q.handle) && (mode != R || modeOf(s, c, n) != R) && mode != Scratch && modeOf(s, c, n) != Scratch {
					return false
				}
			}
			return true
		}
		p, ok := g.some(fits)
		if !ok {
			t := o.Elem
			if o.Generic {
				if !known {
					known, generic = true, g.elemType()
				}
				t = generic
			}
			var dims []int
			if hasLike {
				dims = like.dims
			}
			r := g.register(o.Shape, t, dims)
			if how != "" {
				r.Data.Reduce = how
			}
			if r.Data.Fill == nil && r.Data.List == nil && mode.reads() && o.Shape != Void {
				r.Data.Fill = g.value(t)
			}
			if !g.try(r) {
				return nil
			}
			h, _ := g.m.names.find(r.Name)
			p = place{h.(*handle), &Ref{Name: r.Name}}
		}
		if o.Generic && o.Shape != Void {
			known, generic = true, p.data.Elem
		}
		chosen[o.Name] = p
		s.Args[k] = Arg{Mode: mode, Ref: p.ref}
	}
	for k, o := range c.Ops {
		if o.Mode != None {
			continue
		}
		t := o.Elem
		if o.Generic {
			t = generic
		}
		s.Args[k] = Arg{Expr: g.scalarArg(t)}
	}
	if g.chance(15) {
		s.Text = pick(g, "priority = 3", "where = cpu", `name = "named"`, "color = 2, priority = -1", "flops = 100.0", "rank = 1", "rank = 6, priority = 2", "ssend = true", "rank = 2, ssend = true", "retry = 2", "retry = 1, color = 3")
	}
	return s
}

// overwriting is mode, or now and then CommuteW in place of W.
func (g *generator) overwriting(mode Mode) Mode {
	if mode == W && g.chance(15) {
		return CommuteW
	}
	return mode
}

// combinesBy reports whether contributions to h combine by how.
func (g *generator) combinesBy(h *handle, how string) bool {
	by, _ := g.m.reduction(h)
	return how != "" && by == how
}

func (g *generator) scalarArg(t Type) *Expr {
	if t == I64 || t == F64 || t.Complex() {
		if g.chance(25) {
			return g.script(scalarTypeOf(t), 1)
		}
	}
	if t == Bool && g.chance(25) {
		return g.condition(1)
	}
	if t.Int() && g.chance(60) {
		return num(int64(g.IntN(9)))
	}
	return g.value(t)
}

// modeOf is the mode in which s has operand n.
func modeOf(s *Stmt, c *Codelet, n string) Mode {
	for k, o := range c.Ops {
		if o.Name == n {
			return s.Args[k].Mode
		}
	}
	return None
}
