package oracle

// Random codelets: bodies that keep to the rules of chapter 11, of loops whose rounds do
// not meet, and fail now and then.

import (
	"fmt"
	"math"
	"slices"
)

// bodyMaker makes the body of one codelet.
type bodyMaker struct {
	*generator
	c       *Codelet
	f       *frame // types of what is in sight
	lets    []string
	indices []axisName
	own     map[string][]string // operands that the each around writes: by which indices
	fresh   map[string]bool     // W and SCRATCH operands that are not written yet
	loops   int
	generic bool
}

// axisName is the index of a loop, and what it runs over: "" where that is no operand.
type axisName struct {
	name, of string
	axis     int
}

var fieldNames = [...][]string{Vector: {"n"}, Matrix: {"rows", "cols"}, Block: {"nx", "ny", "nz"},
	Tensor: numbered("n", 4), Tensor5: numbered("n", 5), Tensor6: numbered("n", 6), Tensor7: numbered("n", 7), Tensor8: numbered("n", 8)}
var offsetNames = [...][]string{Vector: {"offset"}, Matrix: {"row0", "col0"}, Block: {"x0", "y0", "z0"},
	Tensor: numbered("offset", 4), Tensor5: numbered("offset", 5), Tensor6: numbered("offset", 6), Tensor7: numbered("offset", 7), Tensor8: numbered("offset", 8)}

// numbered is n names of fields of tensors.
func numbered(name string, n int) (all []string) {
	for k := range n {
		all = append(all, fmt.Sprint(name, k))
	}
	return all
}

// expressions by their parts
func num(i int64) *Expr                { return &Expr{Op: "int", Int: i} }
func float(f float64) *Expr            { return &Expr{Op: "float", Float: f} }
func name(n string) *Expr              { return &Expr{Op: "name", Name: n} }
func op(o string, a, b *Expr) *Expr    { return &Expr{Op: o, Args: []*Expr{a, b}} }
func fn(n string, args ...*Expr) *Expr { return &Expr{Op: "call", Name: n, Args: args} }
func elem(n string, at ...*Expr) *Expr { return &Expr{Op: "elem", Name: n, Args: at} }
func fieldOf(n, f string) *Expr        { return &Expr{Op: "field", Name: n, Field: f} }

// pick is one of list.
func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// chance is true n times of 100.
func (g *generator) chance(n int) bool { return g.IntN(100) < n }

func (g *generator) name(prefix string) string {
	g.made++
	return fmt.Sprintf("%s%d", prefix, g.made)
}

// elemType is a type of elements.
func (g *generator) elemType() Type { return Elems[g.IntN(len(Elems))] }

func (g *generator) shape() Shape {
	s := pick(g, Variable, Variable, Vector, Vector, Vector, Vector, Matrix, Matrix, Block, Tensor)
	for s >= Tensor && s < Tensor8 && g.chance(40) {
		s++
	}
	return s
}

// codelet makes a codelet.
func (g *generator) codelet() *Codelet {
	c := &Codelet{Name: g.name("c"), Like: map[string]string{}, Contributes: map[string]string{}}
	b := &bodyMaker{generator: g, c: c, f: g.m.body(map[string]*operand{}, map[string]Value{}),
		own: map[string][]string{}, fresh: map[string]bool{}}
	b.generic = g.chance(15)
	contributes := g.chance(30)
	outs := 1 + g.IntN(2)
	if contributes {
		outs = 1
	}
	for k := range outs {
		mode := pick(g, W, RW, RW)
		if contributes {
			mode = RW
		}
		if n := fmt.Sprintf("y%d", k); len(g.p.Structs) > 0 && !b.generic && !contributes && g.chance(30) {
			b.structOperand(n, mode)
		} else {
			b.operand(n, mode)
		}
	}
	for k := range g.IntN(3) {
		if n := fmt.Sprintf("x%d", k); len(g.p.Structs) > 0 && !b.generic && g.chance(40) {
			b.structOperand(n, R)
		} else {
			b.operand(n, R)
		}
	}
	if !contributes && g.chance(12) {
		b.operand("s0", Scratch)
	}
	if g.chance(8) {
		c.Ops = append(c.Ops, Operand{Name: "o", Mode: pick(g, R, RW, RW), Shape: Void})
	}
	for k := range g.IntN(3) {
		b.scalar(fmt.Sprintf("k%d", k))
	}
	g.Shuffle(len(c.Ops), func(i, j int) { c.Ops[i], c.Ops[j] = c.Ops[j], c.Ops[i] })
	together(c.Ops)
	if contributes {
		b.contribution()
	} else {
		c.Body = b.body()
	}
	return c
}

// operand adds an operand with data.
func (b *bodyMaker) operand(name string, mode Mode) {
	o := Operand{Name: name, Mode: mode, Shape: b.shape(), Elem: b.elemType(), Generic: b.generic && b.chance(80)}
	for _, p := range b.c.Ops {
		if p.Shape != Void && p.Shape != Variable && b.chance(70) {
			o.Shape = p.Shape
			b.c.Like[name] = p.Name
			if l, ok := b.c.Like[p.Name]; ok {
				b.c.Like[name] = l
			}
			break
		}
	}
	if !b.generic && b.chance(10) {
		o.Elem = Bool
	} else if !b.generic && o.Shape != Tensor8 && b.chance(18) { // bodies have no complex elements of eight indices
		o.Elem = pick(b.generator, ComplexElems...)
	}
	b.c.Ops = append(b.c.Ops, o)
	b.f.ops[name] = &operand{Operand: o, mode: mode, elem: o.Elem}
	b.fresh[name] = mode == W || mode == Scratch
}

// scalar adds a scalar.
func (b *bodyMaker) scalar(name string) {
	o := Operand{Name: name, Elem: pick(b.generator, I64, I64, F64)}
	switch {
	case b.generic:
		o.Generic = slices.ContainsFunc(b.c.Ops, func(p Operand) bool { return p.Generic })
	case b.hasComplex() && b.chance(30):
		o.Elem, o.Exact = pick(b.generator, ComplexElems...), b.chance(50)
		o.Exact = o.Exact || o.Elem == C64
	case b.chance(30):
		o.Elem, o.Exact = b.elemType(), true
	case b.chance(10):
		o.Elem = Bool
	}
	b.c.Ops = append(b.c.Ops, o)
	b.f.names[name] = Value{T: o.Elem.computes()}
	if o.Elem != Bool {
		b.lets = append(b.lets, name)
	}
}

// targets are the operands that the body writes.
func (b *bodyMaker) targets() []Operand {
	var out []Operand
	for _, o := range b.c.Ops {
		if o.Shape != Void && (o.Mode == W || o.Mode == RW || o.Mode == Scratch) {
			out = append(out, o)
		}
	}
	return out
}

// body writes all operands that must be written first, and then goes on.
func (b *bodyMaker) body() []*Stmt {
	var out []*Stmt
	if b.chance(25) {
		out = append(out, b.let())
	}
	for _, o := range b.targets() {
		if b.fresh[o.Name] {
			out = append(out, b.whole(o)...)
		}
	}
	for range b.IntN(3) {
		out = append(out, b.outside(2)...)
	}
	if len(out) == 0 || !slices.ContainsFunc(b.targets(), func(o Operand) bool { return o.Mode == W }) {
		ts := b.targets()
		out = append(out, b.whole(ts[b.IntN(len(ts))])...)
	}
	return out
}

// outside makes statements that stand outside of each.
func (b *bodyMaker) outside(depth int) []*Stmt {
	ts := b.targets()
	o := ts[b.IntN(len(ts))]
	switch k := b.IntN(10); {
	case k == 0:
		return []*Stmt{b.let()}
	case k == 1 && depth > 0:
		n := len(b.lets)
		s := &Stmt{Kind: If, Expr: b.bool(2), Body: b.outside(depth - 1)}
		b.lets = b.lets[:n]
		if b.chance(40) {
			s.Else = b.outside(depth - 1)
			b.lets = b.lets[:n]
		}
		return []*Stmt{s}
	case k < 5:
		return []*Stmt{b.serial(depth)}
	case k == 6 && depth > 0 && b.loops < 2 && b.chance(50):
		return b.while(func() []*Stmt {
			if b.fresh[o.Name] {
				return []*Stmt{b.let()}
			}
			return []*Stmt{b.assign(o, b.anywhere(o, true))}
		})
	case k == 5 && !b.fresh[o.Name]:
		return []*Stmt{b.assign(o, b.anywhere(o, true))}
	}
	return b.whole(o)
}

// whole is a loop over all of o with rounds in any order, or one assignment to a variable.
func (b *bodyMaker) whole(o Operand) []*Stmt {
	if o.Shape == Variable {
		s := b.assign(o, name(o.Name))
		b.fresh[o.Name] = false
		return []*Stmt{s}
	}
	if o.Struct != nil && b.chance(35) {
		if s := b.wholeCopy(o); s != nil {
			return s
		}
	}
	s := &Stmt{Kind: Each, Over: &Domain{Of: o.Name}}
	n, lets := len(b.indices), len(b.lets)
	for a := range o.Shape.rank() {
		i := b.name("i")
		b.indices = append(b.indices, axisName{i, o.Name, a})
		b.f.names[i] = intValue(0)
		s.Names = append(s.Names, i)
	}
	if !b.fresh[o.Name] && b.chance(30) { // a piece of it
		s.Over = &Domain{}
		for a := range o.Shape.rank() {
			lo, hi := num(0), fieldOf(o.Name, fieldNames[o.Shape][a])
			if b.chance(40) {
				lo = num(int64(b.IntN(2)))
			}
			if b.chance(40) {
				hi = op("-", hi, num(int64(1+b.IntN(2))))
			}
			s.Over.Ranges = append(s.Over.Ranges, Range{Lo: lo, Hi: hi, Closed: b.chance(10) && hi.Op == "-"})
		}
	}
	b.own[o.Name] = s.Names
	for _, p := range b.targets() { // and others of the same sizes
		if p.Name != o.Name && p.Shape == o.Shape && b.alike(p.Name, o.Name) && b.chance(50) {
			b.own[p.Name] = s.Names
		}
	}
	s.Body = b.round(o, 2)
	for p := range b.own {
		if s.Over.Of != "" && s.Body[0].Target != nil && s.Body[0].Target.Name == p {
			b.fresh[p] = false
		}
	}
	clear(b.own)
	b.indices, b.lets = b.indices[:n], b.lets[:lets]
	return []*Stmt{s}
}

// alike reports whether two operands have the same sizes, as the generator inserts them.
func (b *bodyMaker) alike(p, q string) bool {
	root := func(n string) string {
		if l, ok := b.c.Like[n]; ok {
			return l
		}
		return n
	}
	return root(p) == root(q)
}

// round is the statements of one round of an each that writes o; the first one writes it.
func (b *bodyMaker) round(o Operand, depth int) []*Stmt {
	var out []*Stmt
	fresh := b.fresh[o.Name]
	if !fresh && b.chance(30) {
		out = append(out, b.let())
	}
	first := b.assign(o, b.ownElem(o.Name))
	was := b.fresh[o.Name]
	b.fresh[o.Name] = false
	if !was && depth > 0 && b.chance(25) {
		out = append(out, &Stmt{Kind: If, Expr: b.bool(2), Body: []*Stmt{first}})
	} else {
		out = append(out, first)
	}
	for range b.IntN(3) {
		if b.chance(15) {
			out = append(out, b.jump(Continue))
		}
		out = append(out, b.inRound(depth)...)
	}
	b.fresh[o.Name] = was
	return out
}

// inRound makes statements inside of a round.
func (b *bodyMaker) inRound(depth int) []*Stmt {
	var own []Operand
	for _, o := range b.targets() {
		if b.own[o.Name] != nil && !b.fresh[o.Name] {
			own = append(own, o)
		}
	}
	n := len(b.lets)
	switch k := b.IntN(8); {
	case k == 0:
		return []*Stmt{b.let()}
	case k == 1 && depth > 0:
		s := &Stmt{Kind: If, Expr: b.bool(2), Body: b.inRound(depth - 1)}
		b.lets = b.lets[:n]
		if b.chance(40) {
			s.Else = b.inRound(depth - 1)
			b.lets = b.lets[:n]
		}
		return []*Stmt{s}
	case k == 3 && depth > 0 && b.loops < 2:
		return b.while(func() []*Stmt { return b.inRound(depth - 1) })
	case k == 2 && depth > 0 && b.loops < 2:
		s := &Stmt{Kind: For, Names: []string{b.name("j")}, Over: b.smallRange()}
		b.f.names[s.Names[0]] = intValue(0)
		b.indices = append(b.indices, axisName{name: s.Names[0]})
		b.loops++
		s.Body = b.jumping(b.inRound(depth - 1))
		b.loops--
		b.indices, b.lets = b.indices[:len(b.indices)-1], b.lets[:n]
		return []*Stmt{s}
	case len(own) > 0:
		o := own[b.IntN(len(own))]
		return []*Stmt{b.assign(o, b.ownElem(o.Name))}
	}
	return []*Stmt{b.let()}
}

// smallRange is a range of few rounds.
func (b *bodyMaker) smallRange() *Domain {
	lo, hi := num(0), num(int64(b.IntN(4)))
	if b.chance(25) {
		lo = num(int64(b.IntN(3) - 1))
	}
	if len(b.indices) > 0 && b.chance(25) {
		hi = fn("min", name(b.indices[b.IntN(len(b.indices))].name), num(3))
	}
	return &Domain{Ranges: []Range{{Lo: lo, Hi: hi, Closed: b.chance(25)}}}
}

// serial is a loop whose rounds run in order.
func (b *bodyMaker) serial(depth int) *Stmt {
	ts := b.targets()
	o := ts[b.IntN(len(ts))]
	s := &Stmt{Kind: For, Names: []string{b.name("j")}, Over: b.smallRange()}
	x := axisName{name: s.Names[0]}
	if v := b.anyShaped(); v != nil && b.chance(60) {
		x.of, x.axis = v.Name, b.IntN(v.Shape.rank())
		s.Over = &Domain{Ranges: []Range{{Lo: num(0), Hi: fieldOf(v.Name, fieldNames[v.Shape][x.axis])}}}
	}
	b.f.names[x.name] = intValue(0)
	n, lets := len(b.indices), len(b.lets)
	b.indices = append(b.indices, x)
	b.loops++
	for range 1 + b.IntN(2) {
		if b.fresh[o.Name] || b.chance(20) {
			s.Body = append(s.Body, b.let())
		} else {
			s.Body = append(s.Body, b.anyAssign(o))
		}
	}
	s.Body = b.jumping(s.Body)
	if depth > 0 && b.loops < 2 && b.chance(20) {
		s.Body = append(s.Body, b.serial(depth-1))
	}
	b.loops--
	b.indices, b.lets = b.indices[:n], b.lets[:lets]
	return s
}

// anyAssign stores into some element of o, which is written, or into all fields of one.
func (b *bodyMaker) anyAssign(o Operand) *Stmt {
	if o.Struct != nil && b.chance(35) && !slices.ContainsFunc(b.fieldsOf(o), func(p Operand) bool { return b.fresh[p.Name] }) {
		b.deep++
		at := b.index(o, 0)
		b.deep--
		if s := b.copies(o, at, ""); s != nil {
			return s
		}
	}
	return b.assign(o, b.anywhere(o, true))
}

// while is a loop that counts, and ends by its count at the latest. Its block has what inner makes.
func (b *bodyMaker) while(inner func() []*Stmt) []*Stmt {
	k, acc := b.name("a"), b.declare(b.number(2))
	b.f.names[k] = intValue(0)
	b.lets = append(b.lets, k)
	cond := op("<", name(k), num(int64(1+b.IntN(4))))
	if b.chance(60) {
		cond = op("and", cond, b.bool(1))
	}
	n := len(b.lets)
	b.loops++
	body := []*Stmt{{Kind: Assign, Target: name(k), Op: "+=", Expr: num(1)}}
	if !b.generic && b.chance(70) { // there the type of the name is T's
		e := b.number(1)
		if b.f.names[acc.Name].T.Int() && b.f.static(e).T.Float() {
			e = fn("int", e)
		}
		body = append(body, &Stmt{Kind: Assign, Target: name(acc.Name), Op: pick(b.generator, "=", "+=", "-=", "*="), Expr: e})
	}
	body = append(body, b.jumping(inner())...)
	b.loops--
	b.lets = b.lets[:n]
	return []*Stmt{acc, {Kind: Let, Name: k, Expr: num(0)}, {Kind: While, Expr: cond, Body: body}}
}

// jump is a break or a continue on a condition.
func (b *bodyMaker) jump(kinds ...Kind) *Stmt {
	return &Stmt{Kind: If, Expr: b.bool(1), Body: []*Stmt{{Kind: pick(b.generator, kinds...)}}}
}

// jumping puts a jump somewhere into the block of a loop, now and then. It uses no name that the
// block declares.
func (b *bodyMaker) jumping(body []*Stmt) []*Stmt {
	if !b.chance(30) {
		return body
	}
	n := len(b.lets)
	declared := 0
	for _, s := range body {
		if s.Kind == Let {
			declared++
		}
	}
	b.lets = b.lets[:n-min(n, declared)]
	j := b.jump(Break, Continue)
	b.lets = b.lets[:n]
	return slices.Insert(body, b.IntN(len(body)+1), j)
}

// anyShaped is an operand that has indices; nil: none does.
func (b *bodyMaker) anyShaped() *Operand {
	var list []*Operand
	for k := range b.c.Ops {
		if o := &b.c.Ops[k]; o.Mode != None && o.Shape.rank() > 0 {
			list = append(list, o)
		}
	}
	if list == nil {
		return nil
	}
	return list[b.IntN(len(list))]
}

// let declares a name.
func (b *bodyMaker) let() *Stmt {
	if b.hasComplex() && b.chance(25) {
		return b.declare(b.complex(2))
	}
	if !b.generic && b.chance(10) {
		return b.declare(b.bool(2))
	}
	return b.declare(b.number(2))
}

// declare declares a name for e.
func (b *bodyMaker) declare(e *Expr) *Stmt {
	s := &Stmt{Kind: Let, Name: b.name("a"), Expr: e}
	b.f.names[s.Name] = Value{T: plain(b.f.static(s.Expr).T)}
	b.lets = append(b.lets, s.Name)
	return s
}

// ownElem is the element of a round.
func (b *bodyMaker) ownElem(o string) *Expr {
	var at []*Expr
	for _, i := range b.own[o] {
		at = append(at, name(i))
	}
	return elem(o, at...)
}

// anywhere is some element of o. The indices of a target are simple.
func (b *bodyMaker) anywhere(o Operand, target bool) *Expr {
	if target {
		b.deep++
		defer func() { b.deep-- }()
	}
	if o.Shape == Variable {
		return name(o.Name)
	}
	var at []*Expr
	for a := range o.Shape.rank() {
		at = append(at, b.index(o, a))
	}
	return elem(o.Name, at...)
}

// assign stores a value into target, an element of o.
func (b *bodyMaker) assign(o Operand, target *Expr) *Stmt {
	s := &Stmt{Kind: Assign, Target: target, Op: "="}
	if o.Elem == Bool {
		s.Expr = b.bool(3)
		return s
	}
	if !b.fresh[o.Name] {
		s.Op = pick(b.generator, "=", "=", "=", "+=", "-=", "*=")
		if (o.Elem.Float() || o.Elem.Complex()) && !o.Generic && b.chance(5) {
			s.Op = "/="
		}
		if o.Elem.Int() && !b.generic && b.chance(20) {
			if s.Op = pick(b.generator, "&=", "|=", "^=", "<<=", ">>="); s.Op[0] == '<' || s.Op[0] == '>' {
				s.Expr = b.count()
				return s
			}
		}
	}
	if s.Op == "=" && !b.fresh[o.Name] && !o.Elem.Complex() && b.chance(15) {
		s.Expr = fn(pick(b.generator, "min", "max"), target, b.fitting(o, 2))
		if b.chance(30) {
			s.Expr = fn(s.Expr.Name, b.fitting(o, 1), s.Expr)
		}
		return s
	}
	s.Expr = b.fitting(o, 3)
	return s
}

// fitting is an expression that may be stored into an element of o.
func (b *bodyMaker) fitting(o Operand, depth int) *Expr {
	if b.generic {
		return b.ofT(o, depth)
	}
	if o.Elem.Complex() && b.chance(80) {
		return b.complex(depth)
	}
	e := b.number(depth)
	if o.Elem.Int() && b.f.static(e).T.Float() {
		e = fn("int", e)
	}
	return e
}

// ofT is an expression that may be stored into an element of o, whatever T is.
func (b *bodyMaker) ofT(o Operand, depth int) *Expr {
	if depth <= 0 || b.chance(20) {
		var list []*Expr
		for _, p := range b.c.Ops {
			switch {
			case p.Generic != o.Generic || !p.Generic && p.Elem.Float() != o.Elem.Float():
			case p.Mode == None && p.Elem != Bool:
				list = append(list, name(p.Name))
			case p.Mode != None && p.Shape != Void && b.readable(p):
				list = append(list, b.load(p))
			}
		}
		if list == nil || b.chance(25) {
			return num(int64(b.IntN(9)))
		}
		return list[b.IntN(len(list))]
	}
	x, y := b.ofT(o, depth-1), b.ofT(o, depth-1)
	switch b.IntN(6) {
	case 0:
		return fn(pick(b.generator, "min", "max"), x, y)
	case 1:
		return &Expr{Op: "if", Args: []*Expr{b.bool(1), x, y}}
	}
	return op(pick(b.generator, "+", "-", "*"), x, y)
}

// readable reports whether an element of o may be read here.
func (b *bodyMaker) readable(o Operand) bool {
	return o.Mode != None && o.Shape != Void && !b.fresh[o.Name] && b.c.Contributes[o.Name] == ""
}

// load reads an element of o.
func (b *bodyMaker) load(o Operand) *Expr {
	switch {
	case o.Shape == Variable:
		return name(o.Name)
	case b.own[o.Name] != nil:
		return b.ownElem(o.Name)
	}
	return b.anywhere(o, false)
}

// index is an index of axis a of o: inside, but for a few.
func (b *bodyMaker) index(o Operand, a int) *Expr {
	size := fieldOf(o.Name, fieldNames[o.Shape][a])
	last := op("-", size, num(1))
	for _, x := range b.indices {
		if x.of != "" && x.axis == a && b.alike(x.of, o.Name) && b.f.ops[x.of].Shape == o.Shape && b.chance(60) {
			if b.chance(25) {
				off := num(int64(1 + b.IntN(2)))
				if b.chance(50) {
					return fn("max", op("-", name(x.name), off), num(0))
				}
				return fn("min", op("+", name(x.name), off), last)
			}
			return name(x.name)
		}
	}
	i := num(int64(b.IntN(9)))
	if !b.generic && b.deep == 0 {
		i = b.integer(1)
	}
	if len(b.indices) > 0 && b.chance(60) {
		i = name(b.indices[b.IntN(len(b.indices))].name)
	}
	switch k := b.IntN(12); {
	case k == 0:
		return num(0)
	case k == 1:
		return last
	case k == 2 && b.faults:
		b.c.Faults = true
		return op(pick(b.generator, "+", "-"), i, num(int64(b.IntN(3))))
	case k < 7:
		return fn("max", fn("min", i, last), num(0))
	}
	return op("%", i, size)
}

// integer is an expression of an integer type.
func (b *bodyMaker) integer(depth int) *Expr {
	e := b.number(depth)
	if b.f.static(e).T.Float() {
		return fn("int", e)
	}
	return e
}

// literal is a number as text.
func (b *bodyMaker) literal() *Expr {
	switch b.IntN(8) {
	case 0:
		return float(pick(b.generator, 0.5, 1.0, 1.5, 2.0, -0.25, 3.0, 10.0))
	case 1:
		return num(pick[int64](b.generator, 100, 127, 128, 200, 255, 256, -128, -129, 32767, 65536, 70000, math.MaxInt32, 1<<32, 1<<40))
	}
	return num(int64(b.IntN(10) - 2))
}

// number is an expression of any type of numbers.
func (b *bodyMaker) number(depth int) *Expr {
	if depth <= 0 || b.chance(12) {
		return b.leaf()
	}
	switch k := b.IntN(20); k {
	case 16, 17, 18:
		if !b.generic {
			return b.bits(depth - 1)
		}
	case 19:
		if e := b.invoke(depth-1, "int", "float"); e != nil {
			return e
		}
	case 0:
		return &Expr{Op: "neg", Args: []*Expr{b.nonLiteral(depth - 1)}}
	case 1:
		return fn(pick(b.generator, "abs", "floor", "ceil", "round", "float", "int"), b.nonLiteral(depth-1))
	case 2:
		return fn(pick(b.generator, "min", "max"), b.nonLiteral(depth-1), b.number(depth-1))
	case 3:
		return &Expr{Op: "if", Args: []*Expr{b.bool(depth - 1), b.nonLiteral(depth - 1), b.number(depth - 1)}}
	case 4:
		return fn("select", b.bool(depth-1), b.number(depth-1), b.nonLiteral(depth-1))
	case 5:
		d := num(int64(1 + b.IntN(7)))
		if b.faults && b.chance(20) {
			b.c.Faults = true
			d = b.leaf()
		}
		e := op(pick(b.generator, "//", "%"), b.nonLiteral(depth-1), d)
		return e
	case 6:
		return op("/", b.nonLiteral(depth-1), pick(b.generator, num(2), num(4), float(0.5), b.leaf()))
	case 7:
		return op("**", b.nonLiteral(depth-1), num(int64(b.IntN(3))))
	case 8, 9:
		if b.loops < 2 {
			return b.fold(depth - 1)
		}
	case 11:
		if b.hasComplex() {
			return b.partOf(b.nonLiteralComplex(depth - 1))
		}
	case 10:
		return fn("sqrt", fn("abs", b.nonLiteral(depth-1)))
	}
	return op(pick(b.generator, "+", "-", "*"), b.nonLiteral(depth-1), b.number(depth-1))
}

// bits is an operator on the bits of integers.
func (b *bodyMaker) bits(depth int) *Expr {
	x := b.nonLiteral(depth)
	if b.f.static(x).T.Float() {
		x = fn("int", x)
	}
	switch b.IntN(4) {
	case 0:
		return &Expr{Op: "~", Args: []*Expr{x}}
	case 1:
		return op(pick(b.generator, "<<", ">>"), x, b.count())
	}
	return op(pick(b.generator, "&", "|", "^"), x, b.integer(depth))
}

// count is how far a shift goes. One that is written out is not negative.
func (b *bodyMaker) count() *Expr {
	switch b.IntN(4) {
	case 0:
		return num(int64(b.IntN(70)))
	case 1:
		x := b.nonLiteral(0)
		if b.f.static(x).T.Float() {
			x = fn("int", x)
		}
		return x
	}
	return num(int64(b.IntN(9)))
}

// invoke calls a function of the script with one of these results; nil: there is none.
func (b *bodyMaker) invoke(depth int, results ...string) *Expr {
	var list []*Func
	for _, f := range b.p.Funcs {
		if f.Scalar && slices.Contains(results, f.Result) {
			list = append(list, f)
		}
	}
	if len(list) == 0 || b.generic || b.deep > 1 {
		return nil
	}
	f := list[b.IntN(len(list))]
	e := fn(f.Name)
	for _, p := range f.Params {
		switch p.Type {
		case "int":
			e.Args = append(e.Args, b.integer(depth))
		case "float":
			e.Args = append(e.Args, b.number(depth))
		case "complex":
			e.Args = append(e.Args, b.anyNumber(depth))
		default:
			e.Args = append(e.Args, b.bool(depth))
		}
	}
	return e
}

// nonLiteral is a number that is not made of literals alone.
func (b *bodyMaker) nonLiteral(depth int) *Expr {
	for range 20 {
		if e := b.number(depth); b.f.static(e).T <= F64 {
			return e
		}
	}
	return fn("int", num(3))
}

// leaf is a number without operators.
func (b *bodyMaker) leaf() *Expr {
	var list []*Expr
	for _, o := range b.c.Ops {
		switch {
		case b.readable(o) && o.Elem == Bool:
			if b.deep <= 1 || o.Shape == Variable || b.own[o.Name] != nil {
				list = append(list, oneIf(b.load0(o)))
			}
		case b.readable(o) && !o.Elem.Complex():
			list = append(list, b.load0(o), b.load0(o))
		case b.readable(o) && (b.deep <= 1 || o.Shape == Variable || b.own[o.Name] != nil):
			list = append(list, b.partOf(b.load0(o)))
		}
		if o.Mode != None && o.Shape.rank() > 0 && b.chance(20) {
			a := b.IntN(o.Shape.rank())
			list = append(list, fieldOf(o.Name, pick(b.generator, fieldNames[o.Shape], offsetNames[o.Shape])[a]))
		}
	}
	for _, n := range b.lets {
		switch t := b.f.names[n].T; {
		case t.Complex():
			list = append(list, b.partOf(name(n)))
		case t == Bool:
			list = append(list, oneIf(name(n)))
		default:
			list = append(list, name(n))
		}
	}
	for _, x := range b.indices {
		list = append(list, name(x.name))
	}
	if len(list) == 0 || b.chance(20) {
		return b.literal()
	}
	return list[b.IntN(len(list))]
}

// load0 is load, but the indices of what it reads are simple.
func (b *bodyMaker) load0(o Operand) *Expr {
	if b.deep > 1 {
		if o.Shape == Variable || b.own[o.Name] != nil {
			return b.load(o)
		}
		return num(1)
	}
	b.deep++
	defer func() { b.deep-- }()
	return b.load(o)
}

// fold folds over a domain.
func (b *bodyMaker) fold(depth int) *Expr {
	e := &Expr{Op: "fold", Name: pick(b.generator, "sum", "sum", "prod", "min", "max")}
	b.over(e, func() *Expr {
		body := b.number(depth)
		if e.Name == "sum" || e.Name == "prod" {
			if b.f.static(body).T.Float() && b.chance(60) {
				body = fn("int", body)
			}
		}
		return body
	})
	return e
}

// over gives a fold a domain, and what it folds.
func (b *bodyMaker) over(e *Expr, body func() *Expr) {
	e.Over = b.smallRange()
	n := len(b.indices)
	one := func(of string, axis int) {
		i := b.name("f")
		e.Index = append(e.Index, i)
		b.f.names[i] = intValue(0)
		b.indices = append(b.indices, axisName{i, of, axis})
	}
	if o := b.anyShaped(); o != nil && b.chance(70) && b.own[o.Name] == nil {
		e.Over = &Domain{Of: o.Name}
		for a := range o.Shape.rank() {
			one(o.Name, a)
		}
	} else {
		one("", 0)
	}
	b.loops++
	e.Args = []*Expr{body()}
	b.loops--
	b.indices = b.indices[:n]
}
