package oracle

// Random statements of scripts.

import (
	"maps"
	"math"
	"slices"
)

// statement adds a statement of any kind.
func (g *generator) statement() {
	deep := len(g.open)
	if g.checkpoints && g.chance(8) {
		g.try(&Stmt{Kind: Checkpoint})
		return
	}
	if g.format != "" && g.chance(35) {
		g.sparseStatement()
		return
	}
	if len(g.p.Structs) > 0 && g.chance(15) {
		g.structStatement()
		return
	}
	switch k := g.IntN(200); {
	case k < 4:
		g.sparseStatement()
	case k < 13:
		s := g.register(g.shape(), g.dataElem(), nil)
		if g.chance(15) {
			s.Names = append(s.Names, g.name("d"))
		}
		g.try(s)
	case k < 28:
		g.partition()
	case k < 34 && deep == 0:
		if g.chance(30) {
			g.addCodelet(g.sparseCodelet())
			return
		}
		g.addCodelet(g.codelet())
	case k < 110:
		if s := g.insert(); s != nil {
			g.options(s)
			if g.try(s) {
				g.again(s)
			}
		}
	case k < 126:
		g.loop()
	case k < 142:
		g.print()
	case k < 146:
		g.let()
	case k < 150:
		g.assignName()
	case k < 154:
		g.wait()
	case k < 158:
		g.gate()
	case k < 163:
		g.place()
	case k < 165:
		if p, ok := g.some(func(p place) bool { return p.shape != Void }); ok {
			g.try(&Stmt{Kind: Invalidate, Refs: []*Ref{p.ref}})
		}
	case k < 167:
		if p, ok := g.some(func(p place) bool { return p.of == nil && p.data.Sparse == nil && !p.isField() }); ok && g.chance(60) {
			g.try(&Stmt{Kind: Unregister, Refs: []*Ref{p.ref}})
		}
	case k < 169:
		g.endView()
	case k < 171:
		g.loose()
	case k < 173 && deep == 0:
		g.reducer()
	case k < 181 && deep < 2:
		g.acquire()
	case k < 184 && deep < 2:
		s := &Stmt{Kind: If, Expr: g.condition(2)}
		s.Body = g.inside(scopeOf(func(*Machine) map[string]any { return map[string]any{} }), 1+g.IntN(3))
		if g.chance(40) {
			s.Else = g.inside(scopeOf(func(*Machine) map[string]any { return map[string]any{} }), 1+g.IntN(3))
		}
		g.tryBlock(s)
	case k < 188 && deep < 2:
		g.forBlock()
	case k < 190 && deep < 2:
		g.while()
	case k < 193 && deep == 0:
		g.function()
	case k < 199:
		g.call()
	default:
		if g.chance(30) {
			g.try(&Stmt{Kind: Assert, Expr: g.condition(2)})
		}
	}
}

// tryBlock tries a statement with a block that is not empty.
func (g *generator) tryBlock(s *Stmt) bool { return len(s.Body) > 0 && g.try(s) }

// numbers are the names of numbers in sight, of type t.
func (g *generator) numbers(t Type) []string {
	return slices.DeleteFunc(g.visible(), func(n string) bool {
		x, _ := g.m.names.find(n)
		v, ok := x.(Value)
		return !ok || v.T != t
	})
}

// script is an expression of the script, of type t: I64, F64 or C128.
func (g *generator) script(t Type, depth int) *Expr {
	if depth <= 0 || g.chance(20) {
		return g.scriptLeaf(t)
	}
	if t == C128 {
		return g.scriptComplex(depth)
	}
	x, y := g.script(t, depth-1), g.script(t, depth-1)
	switch g.IntN(11) {
	case 9:
		if t == I64 {
			return g.scriptBits(x, y)
		}
	case 10:
		if e := g.scriptCall(t, depth-1); e != nil {
			return e
		}
	case 0:
		return fn(pick(g, "min", "max"), x, y)
	case 1:
		return fn("abs", x)
	case 2:
		return &Expr{Op: "neg", Args: []*Expr{x}}
	case 3:
		return &Expr{Op: "if", Args: []*Expr{g.condition(depth - 1), x, y}}
	case 4:
		if t == F64 {
			if g.chance(40) {
				return fn(pick(g, "re", "im", "abs"), g.script(C128, depth-1))
			}
			return pick(g, op("/", x, float(pick(g, 2.0, 4.0, 0.5))), fn("float", g.script(I64, depth-1)))
		}
		return pick(g, op("//", x, num(int64(1+g.IntN(5)))), op("%", x, num(int64(1+g.IntN(5)))), fn("int", g.script(F64, depth-1)))
	case 5:
		if t == I64 && g.errors {
			return op(pick(g, "//", "%", "**"), x, y)
		}
	}
	return op(pick(g, "+", "-", "*"), x, y)
}

// scriptBits is an operator on the bits of ints. A count that is written out is not negative.
func (g *generator) scriptBits(x, y *Expr) *Expr {
	switch g.IntN(4) {
	case 0:
		return &Expr{Op: "~", Args: []*Expr{x}}
	case 1:
		return op(pick(g, "<<", ">>"), x, g.scriptLeaf(I64))
	}
	return op(pick(g, "&", "|", "^"), x, y)
}

// scriptCall calls a function of numbers with a result of type t; nil: there is none.
func (g *generator) scriptCall(t Type, depth int) *Expr {
	fs := slices.DeleteFunc(slices.Clone(g.p.Funcs), func(f *Func) bool { return !f.Scalar || scalarTypes[f.Result] != t })
	if len(fs) == 0 {
		return nil
	}
	f := pick(g, fs...)
	e := fn(f.Name)
	for _, p := range f.Params {
		if p.Type == "bool" {
			e.Args = append(e.Args, g.condition(depth))
		} else {
			e.Args = append(e.Args, g.script(scalarTypes[p.Type], depth))
		}
	}
	return e
}

// scriptLeaf is an expression without operators.
func (g *generator) scriptLeaf(t Type) *Expr {
	if names := g.numbers(t); len(names) > 0 && g.chance(50) {
		return name(pick(g, names...))
	}
	switch g.IntN(8) {
	case 0, 1:
		if p, ok := g.some(func(p place) bool {
			return p.shape == Variable && scalarTypeOf(p.data.Elem) == t && p.hasValue()
		}); ok {
			return &Expr{Op: "value", Ref: p.ref}
		}
	case 2:
		if e := g.arrayElem(t); e != nil {
			return e
		}
	case 3:
		if p, ok := g.some(func(p place) bool { return p.shape.rank() > 0 }); ok && t == I64 {
			a := g.IntN(p.shape.rank())
			return &Expr{Op: "field", Ref: p.ref, Field: pick(g, fieldNames[p.shape], offsetNames[p.shape])[a]}
		}
	case 4:
		if v := g.view(); v != "" && t == I64 {
			return &Expr{Op: "field", Name: v, Field: "count"}
		}
	}
	switch t {
	case C128:
		return pick(g, imaginary(float64(g.IntN(5))), parts(float(pick(g, 0.5, 1.0, 2.0)), num(int64(g.IntN(5)))))
	case F64:
		return float(pick(g, 0.5, 1.0, 2.0, 3.25, 10.0))
	}
	if g.errors && g.chance(5) {
		return num(math.MaxInt64)
	}
	return num(int64(g.IntN(10)))
}

// arrayElem is an element of data that the script has acquired; nil: there is none.
func (g *generator) arrayElem(t Type) *Expr {
	names := g.arrays(func(h *hold) bool { return scalarTypeOf(h.data.Elem) == t })
	if len(names) == 0 {
		return nil
	}
	n := pick(g, names...)
	x, _ := g.m.names.find(n)
	var at []*Expr
	for _, k := range append(slices.Clone(x.(*hold).dims), 1)[:max(1, len(x.(*hold).dims))] {
		if g.errors && g.chance(4) {
			k++
		}
		at = append(at, num(int64(g.IntN(k))))
	}
	return elem(n, at...)
}

// arrays are the names of data that the script has acquired.
func (g *generator) arrays(ok func(h *hold) bool) []string {
	return slices.DeleteFunc(g.visible(), func(n string) bool {
		x, _ := g.m.names.find(n)
		h, held := x.(*hold)
		return !held || !slices.Contains(g.m.holds, h) || h.shape == Void || !ok(h)
	})
}

// view is the name of a view; "" when there is none.
func (g *generator) view() string {
	names := slices.DeleteFunc(g.visible(), func(n string) bool {
		x, _ := g.m.names.find(n)
		v, ok := x.(*view)
		return !ok || v.sparse || structOf(n) != n || v.ended || v.of.alive() != ""
	})
	if len(names) == 0 {
		return ""
	}
	return pick(g, names...)
}

func (g *generator) let() {
	if g.chance(10) {
		g.try(&Stmt{Kind: Let, Name: g.name("n"), Expr: g.condition(2)})
		return
	}
	g.try(&Stmt{Kind: Let, Name: g.name("n"), Expr: g.script(g.numberType(), 2)})
}

// assignName gives a name, or an element of an array, another value.
func (g *generator) assignName() {
	t := g.numberType()
	if g.chance(15) {
		t = Bool
	}
	s := &Stmt{Kind: Assign, Op: "="}
	if t == Bool {
		s.Expr = g.condition(2)
	} else {
		s.Op, s.Expr = pick(g, "=", "=", "+=", "-=", "*="), g.script(t, 2)
	}
	if t == I64 && g.chance(25) {
		if s.Op = pick(g, "&=", "|=", "^=", "<<=", ">>="); s.Op[0] == '<' || s.Op[0] == '>' {
			s.Expr = g.scriptLeaf(I64)
		}
	}
	if t == F64 && g.chance(20) {
		s.Op, s.Expr = "/=", float(pick(g, 2.0, 0.5))
	}
	if s.Target = g.arrayElem(t); s.Target != nil && g.chance(70) {
		if x, _ := g.m.names.find(s.Target.Name); x.(*hold).mode != R || g.errors && g.chance(10) {
			g.try(s)
		}
		return
	}
	loops := map[string]bool{}
	for _, n := range g.visible() {
		loops[n] = n[0] != 'n' // indices of loops and parameters cannot change
	}
	names := slices.DeleteFunc(g.numbers(t), func(n string) bool { return loops[n] })
	if len(names) > 0 {
		s.Target = name(pick(g, names...))
		g.try(s)
	}
}

func (g *generator) wait() {
	names := g.kept()
	switch {
	case g.chance(40):
		g.try(&Stmt{Kind: Wait})
	case len(names) > 0 && g.chance(40):
		g.try(&Stmt{Kind: Wait, Refs: []*Ref{{Name: pick(g, names...)}}})
	default:
		if v := g.view(); v != "" && g.chance(30) {
			g.try(&Stmt{Kind: Wait, Refs: []*Ref{{Name: v}}})
		} else if p, ok := g.some(func(place) bool { return true }); ok {
			g.try(&Stmt{Kind: Wait, Refs: []*Ref{p.ref}})
		}
	}
}

// kept are the names of tasks and gates.
func (g *generator) kept() []string {
	return slices.DeleteFunc(g.visible(), func(n string) bool {
		x, _ := g.m.names.find(n)
		switch x := x.(type) {
		case *task:
			return x == nil
		case *gate:
			return false
		}
		return true
	})
}

// gate makes a gate, or opens one.
func (g *generator) gate() {
	if closed := g.closed(); len(closed) > 0 && g.chance(70) {
		g.try(&Stmt{Kind: Open, Name: pick(g, closed...)})
		return
	}
	if len(g.open) == 0 {
		g.try(&Stmt{Kind: Let, Name: g.name("g"), Expr: &Expr{Op: "gate"}})
	}
}

// closed are the names of gates that are not open.
func (g *generator) closed() []string {
	return slices.DeleteFunc(g.kept(), func(n string) bool {
		x, _ := g.m.names.find(n)
		y, ok := x.(*gate)
		return !ok || y.open
	})
}

// openGates opens all gates, but for a few.
func (g *generator) openGates() {
	for _, n := range g.closed() {
		if g.chance(92) {
			g.try(&Stmt{Kind: Open, Name: n})
		}
	}
}

// options gives an insert options.
func (g *generator) options(s *Stmt) {
	if g.chance(12) {
		s.Target = name(g.name("t"))
	}
	if names := g.kept(); len(names) > 0 && g.chance(15) {
		for range 1 + g.IntN(2) {
			s.With.After = append(s.With.After, pick(g, names...))
		}
		slices.Sort(s.With.After)
		s.With.After = slices.Compact(s.With.After)
	}
	s.With.Sync = g.chance(4)
}

// place adds a statement that changes where data is, and no results.
func (g *generator) place() {
	p, ok := g.some(func(p place) bool { return p.shape != Void })
	if !ok {
		return
	}
	s := &Stmt{Refs: []*Ref{p.ref}}
	if v := g.view(); v != "" && g.chance(25) {
		s.Refs = append(s.Refs, &Ref{Name: v})
	}
	switch g.IntN(4) {
	case 0:
		s.Kind = Evict
	case 1:
		s.Kind = Hint
		s.Text = pick(g, `with name = "h"`, "with write_through = [ram, gpu(0)]", "with discardable = true", "with ooc = false", "with coords = [0, 1]")
	default:
		s.Kind = Prefetch
		s.Text = pick(g, "to ram", "to gpu(0)", "to gpu(0) with idle = true", "to ram with urgent = true")
	}
	g.try(s)
}

// endView ends a view.
func (g *generator) endView() {
	s := &Stmt{Kind: Unpartition, Text: pick(g, "", "", "to ram")}
	if v := g.view(); v != "" && g.chance(60) {
		s.Refs = []*Ref{{Name: v}}
		g.try(s)
		return
	}
	if p, ok := g.some(func(p place) bool { return p.deflt != nil && !p.deflt.ended }); ok {
		s.Refs = []*Ref{p.ref}
		g.try(s)
	}
}

// loose adds tasks without order, and waits before and behind them.
func (g *generator) loose() {
	var list []*Codelet
	for _, c := range g.p.Codelets {
		if len(c.Contributes) == 1 {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return
	}
	c := pick(g, list...)
	body := []*Stmt{{Kind: Wait}}
	for range 1 + g.IntN(3) {
		s := g.insertOf(c)
		if s == nil {
			return
		}
		for k := range s.Args {
			a := &s.Args[k]
			if c.Contributes[c.Ops[k].Name] != "" {
				a.Mode = RW
				if g.chance(40) {
					s.With.Unordered = []*Ref{a.Ref}
				}
			}
		}
		s.With.Loose = s.With.Unordered == nil
		body = append(body, s)
	}
	g.try(append(body, &Stmt{Kind: Wait})...)
}

// acquire makes an acquire with a block, or one with a release behind it.
func (g *generator) acquire() {
	s := &Stmt{Kind: Acquire}
	var hs []*handle
	for range 1 + g.IntN(2) {
		mode := pick(g, R, R, RW, RW, W)
		p, ok := g.some(func(p place) bool {
			return p.shape != Void && (mode == W || p.hasValue() || g.errors && g.chance(5)) &&
				!slices.ContainsFunc(hs, func(h *handle) bool { return h.shares(p.handle) }) &&
				!slices.ContainsFunc(g.m.pending, func(t *task) bool { return t.mustWait(p.handle, mode) }) &&
				!slices.ContainsFunc(g.m.holds, func(h *hold) bool { return conflict(h.handle, h.mode, p.handle, mode) })
		})
		if !ok {
			continue
		}
		hs = append(hs, p.handle)
		s.Refs, s.Modes, s.Names = append(s.Refs, p.ref), append(s.Modes, mode), append(s.Names, g.name("z"))
	}
	if hs == nil {
		return
	}
	s.Body = g.inside(func(m *Machine) {
		names := map[string]any{}
		m.guard(func() {
			for k, r := range s.Refs {
				names[s.Names[k]] = m.take(m.handle(r, 0), s.Modes[k], 0)
			}
		}, &m.Err)
		m.names = &scope{up: m.names, names: names}
	}, 1+g.IntN(4))
	for k, n := range s.Names {
		switch {
		case g.chance(20) && s.Modes[k] == RW:
			to := []Mode{pick(g, R, R, W)}
			at := g.IntN(len(s.Body) + 1)
			s.Body = slices.Insert(s.Body, at, &Stmt{Kind: Release, Names: []string{n}, Modes: to})
		case g.chance(8):
			s.Body = append(s.Body, &Stmt{Kind: Release, Names: []string{n}})
		case g.chance(50):
			s.Body = append(s.Body, &Stmt{Kind: Print, Exprs: []*Expr{{Op: "data", Ref: &Ref{Name: n}}}})
		}
	}
	if len(s.Body) > 0 {
		g.try(s)
	}
}

// forBlock makes a for with a block of any statements.
func (g *generator) forBlock() {
	s := &Stmt{Kind: For, Names: []string{g.name("b")}}
	i := s.Names[0]
	first := func(v any) func(m *Machine) map[string]any {
		return func(*Machine) map[string]any { return map[string]any{i: v} }
	}
	var names func(m *Machine) map[string]any
	switch v := g.view(); g.IntN(4) {
	case 0:
		if v == "" {
			return
		}
		s.Over = &Domain{Parts: v}
		names = func(m *Machine) map[string]any {
			x, _ := m.names.find(v)
			return map[string]any{i: x.(*view).parts[0]}
		}
	case 1:
		s.Names = append(s.Names, g.name("b"))
		s.Over = &Domain{Grid: []*Expr{num(int64(1 + g.IntN(2))), num(int64(1 + g.IntN(3)))}}
		names = func(*Machine) map[string]any {
			return map[string]any{i: intValue(0), s.Names[1]: intValue(0)}
		}
	case 2:
		s.Over = &Domain{List: []*Expr{num(int64(g.IntN(5))), num(int64(g.IntN(5)))}}
		names = first(intValue(s.Over.List[0].Int))
	default:
		lo := int64(g.IntN(2))
		s.Over = &Domain{Ranges: []Range{{Lo: num(lo), Hi: num(lo + int64(g.IntN(4))), Closed: g.chance(20)}}}
		names = first(intValue(lo))
	}
	s.Body = g.inside(scopeOf(names), 1+g.IntN(3))
	if g.chance(15) {
		s.Body = append(s.Body, &Stmt{Kind: If, Expr: g.conditionOn(i), Body: []*Stmt{{Kind: pick(g, Break, Continue)}}})
	}
	g.tryBlock(s)
}

// conditionOn is a condition in which a name of an int stands, if it is one.
func (g *generator) conditionOn(n string) *Expr {
	x := g.script(I64, 1)
	return op(pick(g, "==", "<", ">"), x, num(int64(g.IntN(3))))
}

// while makes a loop that counts.
func (g *generator) while() {
	k := g.name("k")
	n := int64(1 + g.IntN(3))
	s := &Stmt{Kind: While, Expr: op("<", name(k), num(n))}
	body := g.inside(scopeOf(func(*Machine) map[string]any { return map[string]any{k: intValue(0)} }), 1+g.IntN(3))
	if len(body) == 0 {
		return
	}
	s.Body = append(body, &Stmt{Kind: Assign, Target: name(k), Op: "+=", Expr: num(1)})
	g.try(&Stmt{Kind: Let, Name: k, Expr: num(0)}, s)
}

// function makes a function of the script, and calls it.
func (g *generator) function() {
	f := &Func{Name: g.name("f")}
	args := map[string]any{}
	var refs []*Ref
	for range g.IntN(3) {
		n := g.name("p")
		switch v := g.view(); {
		case g.chance(40):
			t := g.numberType()
			f.Params = append(f.Params, Param{n, scalarNames[t]})
			args[n] = convert(t, intValue(1))
			refs = append(refs, nil)
		case v != "" && g.chance(50):
			x, _ := g.m.names.find(v)
			f.Params = append(f.Params, Param{n, "view[" + x.(*view).parts[0].typeText() + "]"})
			refs = append(refs, &Ref{Name: v})
		default:
			if p, ok := g.someStructs(func(structPlace) bool { return true }); ok && g.chance(40) {
				f.Params = append(f.Params, Param{n, "vector[" + p.typ.Name + "]"})
				refs = append(refs, p.ref)
				break
			}
			p, ok := g.some(func(p place) bool { return true })
			if !ok {
				return
			}
			f.Params = append(f.Params, Param{n, p.typeText()})
			refs = append(refs, p.ref)
		}
	}
	body := g.inside(func(m *Machine) {
		names := maps.Clone(args)
		for k, r := range refs {
			if r == nil {
				continue
			}
			if x, ok := m.structs(r); ok {
				m.guard(func() { m.passStructs(names, f.Params[k].Name, x, r, 0) }, &m.Err)
				continue
			}
			if x, _ := m.names.find(r.Name); len(r.Index) == 0 {
				names[f.Params[k].Name] = x
				continue
			}
			m.guard(func() { names[f.Params[k].Name] = m.handle(r, 0) }, &m.Err)
		}
		m.names = &scope{up: m.global, names: names}
	}, 1+g.IntN(4))
	f.Body = body
	switch g.IntN(3) {
	case 0:
		t := g.numberType()
		f.Result = scalarNames[t]
		f.Body = append(f.Body, &Stmt{Kind: Return, Expr: g.script(t, 1)})
	case 1:
		// data of the function goes to the caller
		if k := slices.IndexFunc(body, func(s *Stmt) bool {
			return s.Kind == Register && s.Data.Shape != Void && s.Data.Sparse == nil && s.Data.Struct == nil
		}); k >= 0 {
			d := body[k].Data
			f.Result = d.Shape.typeOf(d.Elem.String())
			f.Body = append(f.Body, &Stmt{Kind: Return, Expr: name(body[k].Name)})
		}
	}
	if len(f.Body) == 0 {
		return
	}
	g.p.Funcs = append(g.p.Funcs, f)
	g.m.funcs[f.Name] = f
	s := &Stmt{Kind: Call, Name: f.Name}
	for k, p := range f.Params {
		if refs[k] != nil {
			s.Args = append(s.Args, Arg{Ref: refs[k]})
		} else {
			s.Args = append(s.Args, Arg{Expr: g.script(scalarTypes[p.Type], 1)})
		}
	}
	g.result(s, f)
	if !g.try(s) {
		g.p.Funcs = g.p.Funcs[:len(g.p.Funcs)-1]
		delete(g.m.funcs, f.Name)
	}
}

// result gives the result of a call a name.
func (g *generator) result(s *Stmt, f *Func) {
	switch {
	case scalarTypes[f.Result] != 0:
		s.Target = name(g.name("n"))
	case f.Result != "":
		s.Target = name(g.name("d"))
	}
}

// call calls a function again, with other arguments.
func (g *generator) call() {
	if len(g.p.Funcs) == 0 {
		return
	}
	f := pick(g, g.p.Funcs...)
	s := &Stmt{Kind: Call, Name: f.Name}
	for _, p := range f.Params {
		switch p.Type {
		case "int", "float", "complex":
			s.Args = append(s.Args, Arg{Expr: g.script(scalarTypes[p.Type], 1)})
			continue
		case "bool":
			s.Args = append(s.Args, Arg{Expr: g.condition(1)})
			continue
		}
		if v := g.view(); v != "" {
			x, _ := g.m.names.find(v)
			if "view["+x.(*view).parts[0].typeText()+"]" == p.Type {
				s.Args = append(s.Args, Arg{Ref: &Ref{Name: v}})
				continue
			}
		}
		if h, ok := g.someStructs(func(q structPlace) bool { return "vector["+q.typ.Name+"]" == p.Type }); ok {
			s.Args = append(s.Args, Arg{Ref: h.ref})
			continue
		}
		h, ok := g.some(func(q place) bool { return q.typeText() == p.Type })
		if !ok {
			return
		}
		s.Args = append(s.Args, Arg{Ref: h.ref})
	}
	g.result(s, f)
	g.try(s)
}

// reducer registers data with a reducer of the script.
func (g *generator) reducer() {
	shape, t := g.shape(), g.elemType()
	i, from := []string{}, []*Expr{}
	for range shape.rank() {
		i = append(i, g.name("i"))
		from = append(from, name(i[len(i)-1]))
	}
	element := func(o string) *Expr {
		if shape == Variable {
			return name(o)
		}
		return elem(o, from...)
	}
	loop := func(o string, s *Stmt) []*Stmt {
		if shape == Variable {
			return []*Stmt{s}
		}
		return []*Stmt{{Kind: Each, Names: i, Over: &Domain{Of: o}, Body: []*Stmt{s}}}
	}
	init := &Codelet{Name: g.name("c"), Ops: []Operand{{Name: "x", Mode: W, Shape: shape, Elem: t}}}
	first := &Stmt{Kind: Assign, Target: element("x"), Op: "=", Expr: num(int64(g.IntN(9)))}
	init.Body = loop("x", first)
	g.addCodelet(init)
	s := g.register(shape, t, nil)
	s.Data.Reduce = init.Name
	if g.chance(40) { // an initialiser alone
		s.Data.Fill, s.Data.List = nil, nil
		if shape.rank() > 0 && g.chance(50) {
			first.Expr = op("+", first.Expr, op("*", num(3), name(i[0])))
		}
		g.try(s)
		return
	}
	how := pick(g, "sum", "prod", "min", "max")
	v := neutral(how, t)
	first.Expr = num(v.I)
	switch {
	case t.Float() && math.IsInf(v.F, 1):
		first.Expr = name("inf")
	case t.Float() && math.IsInf(v.F, -1):
		first.Expr = &Expr{Op: "neg", Args: []*Expr{name("inf")}}
	case t.Float():
		first.Expr = float(v.F)
	case v.I == math.MinInt64:
		first.Expr = op("-", &Expr{Op: "neg", Args: []*Expr{num(math.MaxInt64)}}, num(1))
	case t == U64 && v.I == -1:
		first.Expr = num(-1)
	}
	combine := &Codelet{Name: g.name("c"), Ops: []Operand{{Name: "into", Mode: RW, Shape: shape, Elem: t}, {Name: "from", Mode: R, Shape: shape, Elem: t}},
		Contributes: map[string]string{"into": how}, Like: map[string]string{"from": "into"}}
	var e *Expr
	switch how {
	case "sum":
		e = op("+", element("into"), element("from"))
	case "prod":
		e = op("*", element("into"), element("from"))
	default:
		e = fn(how, element("into"), element("from"))
	}
	combine.Body = loop("into", &Stmt{Kind: Assign, Target: element("into"), Op: "=", Expr: e})
	g.addCodelet(combine)
	s.Data.Reduce = init.Name + " " + combine.Name
	g.try(s)
}

// again repeats the insert s if it has data as CommuteW: the tasks store the same, whichever comes last.
func (g *generator) again(s *Stmt) {
	if !slices.ContainsFunc(s.Args, func(a Arg) bool { return a.Mode == CommuteW }) {
		return
	}
	for range g.IntN(3) {
		c := *s
		c.Args, c.With, c.Target = slices.Clone(s.Args), With{}, nil
		g.try(&c)
	}
}

// loop makes a for over the parts of a view, with an insert.
func (g *generator) loop() {
	s := g.insert()
	if s == nil {
		return
	}
	i := g.name("b")
	n := 0
	for _, a := range s.Args {
		if a.Ref == nil || len(a.Ref.Index) != 1 {
			continue
		}
		x, _ := g.m.names.find(a.Ref.Name)
		v, _ := x.(*view)
		if h, ok := x.(*handle); ok {
			v = *h.defaultView(a.Ref.Name)
		}
		if c := len(v.parts); n == 0 || c < n {
			n = c
		}
	}
	if n == 0 {
		n = 1 + g.IntN(4)
	}
	for k := range s.Args {
		a := &s.Args[k]
		if a.Ref != nil && len(a.Ref.Index) == 1 && a.Field == 0 && g.chance(85) {
			at := name(i)
			switch g.IntN(6) {
			case 0:
				at = op("-", num(int64(n-1)), at)
			case 1:
				at = op("%", op("+", at, num(1)), num(int64(n)))
			}
			a.Ref = &Ref{Name: a.Ref.Name, Index: []*Expr{at}}
			for j := k + 1; j < len(s.Args) && a.Struct != nil && s.Args[j].Field > 0; j++ {
				s.Args[j].Ref = &Ref{s.Args[j].Ref.Name, a.Ref.Index}
			}
		}
		if a.Expr != nil && a.Expr.Op == "int" && a.Expr.Int < 20 && g.chance(50) {
			a.Expr = name(i)
		}
	}
	g.try(&Stmt{Kind: For, Names: []string{i}, Over: &Domain{Ranges: []Range{{Lo: num(0), Hi: num(int64(n))}}}, Body: []*Stmt{s}})
}

// print shows data and numbers.
func (g *generator) print() {
	s := &Stmt{Kind: Print}
	for range 1 + g.IntN(2) {
		var e *Expr
		switch g.IntN(8) {
		case 0:
			e = g.script(g.numberType(), 2)
		case 1:
			e = g.condition(1)
		case 2:
			if v := g.view(); v != "" {
				e = &Expr{Op: "data", Ref: &Ref{Name: v}}
			} else if names := g.kept(); len(names) > 0 {
				e = name(pick(g, names...))
			}
		}
		if e == nil {
			p, ok := g.some(func(place) bool { return true })
			if !ok {
				return
			}
			e = &Expr{Op: "data", Ref: p.ref}
			if p.shape == Variable && g.chance(70) {
				e = &Expr{Op: "value", Ref: p.ref}
			}
		}
		s.Exprs = append(s.Exprs, e)
	}
	g.try(s)
}
