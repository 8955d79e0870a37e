package oracle

// Random structs: their types, operands of codelets, data, views and tasks.

import (
	"slices"
	"strings"
)

// structType adds a type of structs.
func (g *generator) structType() {
	s := &Struct{Name: strings.ToUpper(g.name("p"))}
	for _, n := range []string{"x", "val", "id", "on"}[:1+g.IntN(4)] {
		s.Fields = append(s.Fields, Field{n, g.dataElem()})
	}
	g.p.Structs = append(g.p.Structs, s)
}

// structOperand adds an operand of structs: one for each field.
func (b *bodyMaker) structOperand(name string, mode Mode) {
	s := pick(b.generator, b.p.Structs...)
	like := ""
	for _, p := range b.c.Ops {
		if p.Shape == Vector && b.chance(70) {
			if like = p.Name; b.c.Like[like] != "" {
				like = b.c.Like[like]
			}
			break
		}
	}
	for k, f := range s.Fields {
		o := Operand{Name: fieldName(name, f.Name), Mode: mode, Shape: Vector, Elem: f.Elem, Struct: s, Field: k}
		if like != "" {
			b.c.Like[o.Name] = like
		} else if k > 0 {
			b.c.Like[o.Name] = fieldName(name, s.Fields[0].Name)
		}
		b.c.Ops = append(b.c.Ops, o)
		b.f.ops[o.Name] = &operand{Operand: o, mode: mode, elem: o.Elem}
		b.fresh[o.Name] = mode == W
	}
}

// together puts the fields of each operand of structs beside each other.
func together(ops []Operand) {
	first := map[string]int{}
	for k, o := range ops {
		if of := structOf(o.Name); o.Struct != nil {
			if _, ok := first[of]; !ok {
				first[of] = k
			}
		} else {
			first[o.Name] = k
		}
	}
	slices.SortStableFunc(ops, func(a, b Operand) int {
		if i, j := first[structOf(a.Name)], first[structOf(b.Name)]; i != j {
			return i - j
		}
		return a.Field - b.Field
	})
}

// fieldsOf are the operands that are fields of the structs of o.
func (b *bodyMaker) fieldsOf(o Operand) []Operand {
	return slices.DeleteFunc(slices.Clone(b.c.Ops), func(p Operand) bool { return p.Struct == nil || structOf(p.Name) != structOf(o.Name) })
}

// copies assigns an element of structs to one of those of o, which is at target: in a round of each with the
// index own, else "". It is nil where there is none to assign.
func (b *bodyMaker) copies(o Operand, at *Expr, own string) *Stmt {
	var from []Operand
	for _, p := range b.c.Ops {
		ready := p.Struct == o.Struct && p.Field == 0 && (own == "" || structOf(p.Name) != structOf(o.Name))
		for _, q := range b.fieldsOf(p) {
			ready = ready && b.readable(q) && (own == "" || b.own[q.Name] == nil || q.Mode == R)
		}
		if ready {
			from = append(from, p)
		}
	}
	if o.Struct == nil || len(from) == 0 {
		return nil
	}
	p := from[b.IntN(len(from))]
	b.deep++
	defer func() { b.deep-- }()
	return &Stmt{Kind: Assign, Op: "=", Struct: o.Struct, Target: elem(structOf(o.Name), at), Expr: elem(structOf(p.Name), b.index(p, 0))}
}

// wholeCopy is a loop over all of the structs of o that assigns their elements; nil: there is nothing to assign.
func (b *bodyMaker) wholeCopy(o Operand) []*Stmt {
	i := b.name("i")
	n := len(b.indices)
	b.indices = append(b.indices, axisName{i, o.Name, 0})
	b.f.names[i] = intValue(0)
	defer func() { b.indices = b.indices[:n]; clear(b.own) }()
	fields := b.fieldsOf(o)
	for _, p := range fields {
		b.own[p.Name] = []string{i}
	}
	s := b.copies(o, name(i), i)
	if s == nil {
		return nil
	}
	body := []*Stmt{s}
	for _, p := range fields {
		b.fresh[p.Name] = false
	}
	if p := pick(b.generator, fields...); b.chance(50) {
		body = append(body, b.assign(p, b.ownElem(p.Name)))
	}
	return []*Stmt{{Kind: Each, Names: []string{i}, Over: &Domain{Of: o.Name}, Body: body}}
}

// structs registers structs of a type, n of them; 0: any number.
func (g *generator) structs(s *Struct, n int) *Stmt {
	if n == 0 {
		n = 1 + g.IntN(12)
	}
	d := &Data{Shape: Vector, Struct: s, Dims: []int{n}, Zero: g.chance(30), Beside: g.chance(50), Owner: g.owner()}
	for _, f := range s.Fields {
		p := g.register(Vector, f.Elem, d.Dims).Data
		d.Parts = append(d.Parts, Data{Fill: p.Fill, List: p.List})
	}
	return &Stmt{Kind: Register, Name: g.name("d"), Data: d}
}

// structPlace is structs that a statement can name: their fields, and how.
type structPlace struct {
	fields []*handle
	ref    *Ref
	typ    *Struct
}

// structPlaces are the structs that are alive, with parts of views.
func (g *generator) structPlaces() (out []structPlace) {
	parts := func(n string, x *structs) {
		of := g.m.fields(&Ref{Name: n})
		for k := range 100 {
			p := structPlace{ref: &Ref{n, []*Expr{num(int64(k))}}, typ: x.typ}
			for _, f := range of {
				h, _ := g.m.names.find(f.Name)
				v, _ := h.(*view)
				if h, ok := h.(*handle); ok {
					v = h.among
				}
				if v == nil || v.ended || v.of.alive() != "" || len(v.dims) != 1 || k >= len(v.parts) {
					return
				}
				p.fields = append(p.fields, v.parts[k])
			}
			out = append(out, p)
		}
	}
	for _, n := range g.visible() {
		x, ok := g.m.structs(&Ref{Name: n})
		if !ok {
			continue
		}
		parts(n, x)
		if x.view {
			continue
		}
		p := structPlace{ref: &Ref{Name: n}, typ: x.typ}
		for _, f := range g.m.fields(p.ref) {
			h, _ := g.m.names.find(f.Name)
			p.fields = append(p.fields, h.(*handle))
		}
		if p.fields[0].alive() == "" {
			out = append(out, p)
		}
	}
	return out
}

// someStructs is one of the structs for which ok holds.
func (g *generator) someStructs(ok func(p structPlace) bool) (structPlace, bool) {
	all := slices.DeleteFunc(g.structPlaces(), func(p structPlace) bool { return !ok(p) })
	if len(all) == 0 {
		return structPlace{}, false
	}
	return all[g.IntN(len(all))], true
}

// structArgs gives s the arguments for the operand of structs that has op k of c; false when no data fits.
func (g *generator) structArgs(s *Stmt, c *Codelet, k int, chosen map[string]place) bool {
	first := k - c.Ops[k].Field
	o := c.Ops[first]
	like, hasLike := chosen[c.Like[o.Name]]
	strict := g.chance(93)
	p, ok := g.someStructs(func(p structPlace) bool {
		if p.typ != o.Struct || hasLike && strict && p.fields[0].dims[0] != like.dims[0] {
			return false
		}
		for _, h := range p.fields {
			if strict && o.Mode.reads() && !h.hasValue() {
				return false
			}
			for n, q := range chosen {
				if h.shares(q.handle) && (o.Mode != R || modeOf(s, c, n) != R) {
					return false
				}
			}
		}
		return true
	})
	if !ok {
		n := 0
		if hasLike {
			n = like.dims[0]
		}
		r := g.structs(o.Struct, n)
		r.Data.Zero = r.Data.Zero || o.Mode.reads()
		if !g.try(r) {
			return false
		}
		p = structPlace{ref: &Ref{Name: r.Name}, typ: o.Struct}
		for _, f := range g.m.fields(p.ref) {
			h, _ := g.m.names.find(f.Name)
			p.fields = append(p.fields, h.(*handle))
		}
	}
	mode := g.overwriting(o.Mode)
	for j, f := range o.Struct.Fields {
		r := &Ref{fieldName(p.ref.Name, f.Name), p.ref.Index} // the index is one for all fields
		s.Args[first+j] = Arg{Mode: mode, Ref: r, Struct: o.Struct, Field: j}
		chosen[c.Ops[first+j].Name] = place{p.fields[j], r}
	}
	return true
}

// structStatement adds a statement about structs that is no insert of one codelet.
func (g *generator) structStatement() {
	any := func(structPlace) bool { return true }
	whole := func(p structPlace) bool { return len(p.ref.Index) == 0 && p.fields[0].of == nil }
	switch k := g.IntN(20); {
	case k < 4:
		g.try(g.structs(pick(g, g.p.Structs...), 0))
	case k < 8:
		g.partitionStructs()
	case k < 12:
		if p, ok := g.someStructs(any); ok {
			g.try(&Stmt{Kind: Print, Exprs: []*Expr{{Op: "data", Ref: p.ref}}})
		}
	case k < 14:
		g.eachStruct()
	case k < 15:
		if v := g.structView(); v != "" {
			g.try(pick(g,
				&Stmt{Kind: Print, Exprs: []*Expr{{Op: "data", Ref: &Ref{Name: v}}}},
				&Stmt{Kind: Unpartition, Text: pick(g, "", "to ram"), Refs: []*Ref{{Name: v}}}))
		}
	case k < 19:
		if p, ok := g.someStructs(any); ok {
			g.try(pick(g,
				&Stmt{Kind: Wait, Refs: []*Ref{p.ref}},
				&Stmt{Kind: Invalidate, Refs: []*Ref{p.ref}},
				&Stmt{Kind: Evict, Refs: []*Ref{p.ref}},
				&Stmt{Kind: Prefetch, Text: pick(g, "to ram", "to gpu(0)"), Refs: []*Ref{p.ref}},
				&Stmt{Kind: Hint, Text: "with write_through = [ram, gpu(0)]", Refs: []*Ref{p.ref}}))
		}
	default:
		if p, ok := g.someStructs(whole); ok && g.chance(50) {
			g.try(&Stmt{Kind: Unregister, Refs: []*Ref{p.ref}})
		}
	}
}

// structView is the name of a view of structs; "" when there is none.
func (g *generator) structView() string {
	names := slices.DeleteFunc(g.visible(), func(n string) bool {
		x, ok := g.m.structs(&Ref{Name: n})
		if !ok || !x.view {
			return true
		}
		v, _ := g.m.names.find(g.m.fields(&Ref{Name: n})[0].Name)
		return v.(*view).ended || v.(*view).of.alive() != ""
	})
	if len(names) == 0 {
		return ""
	}
	return pick(g, names...)
}

// partitionStructs declares a view of structs.
func (g *generator) partitionStructs() {
	p, ok := g.someStructs(func(structPlace) bool { return true })
	if !ok {
		return
	}
	s := &Stmt{Kind: Partition, Name: g.name("v"), Refs: []*Ref{p.ref}, Grid: g.grid()}
	dims := p.fields[0].dims
	f := g.filter(Vector, dims)
	for f.Name != "blocks" && f.Name != "halves" {
		f = g.filter(Vector, dims)
	}
	s.Filter = []Filter{f}
	if len(p.ref.Index) == 0 && p.fields[0].of == nil && g.chance(35) {
		s.Name = ""
	}
	g.try(s)
}

// eachStruct inserts a codelet for all parts of a view of structs.
func (g *generator) eachStruct() {
	v := g.structView()
	if v == "" {
		return
	}
	x, _ := g.m.structs(&Ref{Name: v})
	first, _ := g.m.names.find(fieldName(v, x.typ.Fields[0].Name))
	var fit []*Codelet
	for _, c := range g.p.Codelets {
		if slices.ContainsFunc(c.Ops, func(o Operand) bool { return o.Struct == x.typ }) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return
	}
	c := pick(g, fit...)
	s := g.insertOf(c)
	if s == nil {
		return
	}
	b := g.name("b")
	for k, a := range s.Args {
		if a.Struct == x.typ && a.Field == 0 {
			for j, f := range x.typ.Fields {
				s.Args[k+j].Ref = &Ref{Name: fieldName(b, f.Name)}
			}
			break
		}
	}
	if len(first.(*view).parts) > 0 {
		g.try(&Stmt{Kind: For, Names: []string{b}, Over: &Domain{Parts: v}, Body: []*Stmt{s}})
	}
}
