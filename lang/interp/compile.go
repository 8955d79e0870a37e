package interp

// Statements and control flow.

import (
	"fmt"
	"math"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// compiler makes closures of the tree of one unit.
type compiler struct {
	prog    *Program
	unit    int // place of the unit's frame
	file    *syntax.File
	fn      *funcCode // the function being compiled; nil at top level
	session bool      // an entry of a session: names may lack a value
	scopes  int       // blocks that own, open around the current place in this function
	depths  map[*types.Object]int
	loops   []*types.Object // loop variables of type int around the current place
	ranges  map[*types.Object]*loopRange
	plan    bool // values may be unknown; see plan.go
}

func (c *compiler) positionOf(n syntax.Node) position { return position{c.file, n.Range()} }

// bug reports a tree that the checker should not have let through.
func (c *compiler) bug(n syntax.Node, format string, args ...any) {
	p := c.positionOf(n)
	m := Machine{}
	m.fail("E0001", p, "the compiler cannot handle this: "+format, args...)
}

// topLevel compiles the statements of a unit.
func (c *compiler) topLevel(u *check.Unit) stmt {
	var list []stmt
	for _, p := range u.ParamOrder {
		list = append(list, c.param(p))
	}
	for _, s := range u.File.Stmts {
		if d, ok := s.(*syntax.ExternData); ok {
			list = append(list, c.externData(d))
		}
	}
	saves := &saveChecks{c: c, unit: u}
	for _, s := range u.File.Stmts {
		if first := saves.of(s); first != nil {
			list = append(list, first)
		}
	}
	for k, s := range u.File.Stmts {
		switch s := s.(type) {
		case *syntax.Import, *syntax.Param, *syntax.ExternData, *syntax.Struct, *syntax.Codelet, *syntax.Func:
			continue
		case *syntax.ExprStmt:
			if u.Last != nil && k == len(u.File.Stmts)-1 {
				set := c.setter(s.X, u.Last.Type, u.Last.Slot)
				slot := u.Last.Slot
				list = append(list, c.numbered(k, func(f *frame) ctl { set(f, f); f.def[slot] = true; return next }))
				continue
			}
		}
		list = append(list, c.numbered(k, c.stmt(s)))
	}
	return sequence(list, c.positionOf(&syntax.Block{}))
}

// numbered notes that statement k of an entry runs.
func (c *compiler) numbered(k int, s stmt) stmt {
	if !c.session {
		return s
	}
	return func(f *frame) ctl {
		f.m.ran, f.m.ranInserted = k, f.m.inserted
		return s(f)
	}
}

// compileFunc compiles the body of fn into code.
func (c *compiler) compileFunc(code *funcCode, fn *syntax.Func) {
	outer := *c
	c.fn, c.scopes, c.loops = code, 0, nil
	sig := code.obj.Sig
	code.result, code.out, code.slots = sig.Result, reprOf(sig.Result), fn.Slots
	for i, p := range fn.Params {
		q := paramCode{name: p.Name.Name, typ: sig.Params[i].Type, slot: p.Name.Obj.Slot}
		if p.Default != nil {
			q.def = c.setter(p.Default, q.typ, q.slot)
		}
		c.use(p.Name.Obj)
		code.params = append(code.params, q)
	}
	body := c.block(fn.Body)
	if code.out == rRef && code.result != nil && code.result.Kind != types.None {
		code.refs = true
	}
	code.body = body
	at := c.positionOf(fn.Name)
	if code.result != nil && code.result.Kind != types.None {
		code.body = func(f *frame) ctl {
			if body(f) != ret {
				f.m.fail("E0705", at, "`%s` ended without `return`, and its result is %v", code.name, code.result)
			}
			return ret
		}
	}
	c.fn, c.scopes, c.loops = outer.fn, outer.scopes, outer.loops
}

// use notes that a name lives in the current function and owning block.
func (c *compiler) use(o *types.Object) {
	if o == nil {
		return
	}
	c.depths[o] = c.scopes
	if c.fn != nil && reprOf(o.Type) == rRef {
		c.fn.refs = true
	}
}

// sequence runs statements one after the other.
func sequence(list []stmt, at position) stmt {
	switch len(list) {
	case 0:
		return func(*frame) ctl { return next }
	case 1:
		a := list[0]
		return func(f *frame) ctl {
			m := f.m
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			return a(f)
		}
	case 2:
		a, b := list[0], list[1]
		return func(f *frame) ctl {
			m := f.m
			if m.fuel -= 2; m.fuel < 0 {
				m.refuel(at)
			}
			if k := a(f); k != next {
				return k
			}
			return b(f)
		}
	}
	n := int64(len(list))
	return func(f *frame) ctl {
		m := f.m
		if m.fuel -= n; m.fuel < 0 {
			m.refuel(at)
		}
		for _, s := range list {
			if k := s(f); k != next {
				return k
			}
		}
		return next
	}
}

// block compiles { … } with the scope it may need.
func (c *compiler) block(b *syntax.Block) stmt {
	owns := c.blockOwns(b)
	if owns {
		c.scopes++
	}
	var list []stmt
	for _, s := range b.Stmts {
		list = append(list, c.stmt(s))
	}
	body := sequence(list, c.positionOf(b))
	if !owns {
		return body
	}
	c.scopes--
	return scoped(body)
}

func (c *compiler) stmt(s syntax.Stmt) stmt {
	if c.plan {
		return c.planned(s)
	}
	return c.plainStmt(s)
}

func (c *compiler) plainStmt(s syntax.Stmt) stmt {
	switch s := s.(type) {
	case *syntax.Block:
		return c.block(s)
	case *syntax.Let:
		return c.let(s)
	case *syntax.Assign:
		return c.assign(s)
	case *syntax.ExprStmt:
		return c.exprStmt(s.X)
	case *syntax.If:
		return c.ifStmt(s)
	case *syntax.For:
		return c.forStmt(s)
	case *syntax.While:
		return c.while(s)
	case *syntax.Break:
		return func(*frame) ctl { return brk }
	case *syntax.Continue:
		return func(*frame) ctl { return cont }
	case *syntax.Return:
		return c.returnStmt(s)
	case *syntax.Assert:
		return c.assert(s)
	case *syntax.Register:
		return c.register(s)
	case *syntax.Partition:
		return c.partition(s)
	case *syntax.Unpartition:
		return c.unpartition(s)
	case *syntax.Acquire:
		return c.acquire(s)
	case *syntax.Release:
		return c.release(s)
	case *syntax.Wait:
		return c.wait(s)
	case *syntax.Checkpoint:
		return c.checkpoint(s)
	case *syntax.Prefetch:
		return c.prefetch(s)
	case *syntax.Hint:
		return c.hint(s)
	case *syntax.Verb:
		return c.verb(s)
	}
	c.bug(s, "statement %T", s)
	return nil
}

// ---- names -------------------------------------------------------------------

// ---- assignment ----------------------------------------------------------------

func unparen(e syntax.Expr) syntax.Expr { return syntax.Unparen(e) }

// ---- control flow --------------------------------------------------------------

func (c *compiler) ifStmt(s *syntax.If) stmt {
	if c.plan {
		return c.planIf(s)
	}
	cond, then := c.bool(s.Cond), c.block(s.Then)
	if s.Else == nil {
		return func(f *frame) ctl {
			if cond(f) {
				return then(f)
			}
			return next
		}
	}
	other := c.stmt(s.Else)
	return func(f *frame) ctl {
		if cond(f) {
			return then(f)
		}
		return other(f)
	}
}

func (c *compiler) while(s *syntax.While) stmt {
	if c.plan {
		return c.planWhile(s)
	}
	cond, body, at := c.bool(s.Cond), c.block(s.Body), c.positionOf(s.Cond)
	return func(f *frame) ctl {
		m := f.m
		for {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			if !cond(f) {
				return next
			}
			switch body(f) {
			case brk:
				return next
			case ret:
				return ret
			}
		}
	}
}

func (c *compiler) returnStmt(s *syntax.Return) stmt {
	if s.Value == nil || c.fn == nil {
		return func(*frame) ctl { return ret }
	}
	if c.plan {
		return c.planReturn(s)
	}
	return c.plainReturn(s)
}

func (c *compiler) plainReturn(s *syntax.Return) stmt {
	switch c.fn.out {
	case rInt:
		v := c.int(s.Value)
		return func(f *frame) ctl { f.retN = v(f); return ret }
	case rFloat:
		v := c.float(s.Value)
		return func(f *frame) ctl { f.retN = int64(math.Float64bits(v(f))); return ret }
	case rBool:
		v := c.bool(s.Value)
		return func(f *frame) ctl { f.retN = b2i(v(f)); return ret }
	}
	v := c.refAs(s.Value, c.fn.result)
	if !holdsHandles(c.fn.result) {
		return func(f *frame) ctl { f.retR = v(f); return ret }
	}
	return func(f *frame) ctl {
		f.retR = v(f)
		f.m.move(f, f.retR)
		return ret
	}
}

func (c *compiler) assert(s *syntax.Assert) stmt {
	cond, at := c.bool(s.Cond), c.positionOf(s.Cond)
	var msg func(f *frame) string
	if s.Message != nil {
		msg = c.textOf(s.Message)
	}
	shown := c.operandsShown(s.Cond)
	return func(f *frame) ctl {
		if cond(f) {
			return next
		}
		m := f.m
		if m.unknown { // the outcome is not known
			return next
		}
		text := "assertion failed"
		if msg != nil {
			text += ": " + firstLine(msg(f))
		}
		d := m.diagnostic("R0102", at, text)
		d.Label = "this is false"
		if shown != nil {
			if t := shown(f); t != "" {
				d.Label = t
			}
		}
		m.raise(d)
		return next
	}
}

// operandsShown returns code that shows both sides of a comparison of scalars
// without calls, so that showing has no effects; nil for other conditions.
func (c *compiler) operandsShown(e syntax.Expr) func(f *frame) string {
	b, ok := unparen(e).(*syntax.Binary)
	if !ok || !b.X.Type().IsScalar() || !b.Y.Type().IsScalar() || hasCall(b) {
		return nil
	}
	switch b.Op {
	case "==", "!=", "<", "<=", ">", ">=":
	default:
		return nil
	}
	x, y := c.any(b.X), c.any(b.Y)
	at := c.positionOf(e)
	return func(f *frame) string {
		return fmt.Sprintf("%s %s %s is false", f.m.show(x(f), true, at), b.Op, f.m.show(y(f), true, at))
	}
}

func (c *compiler) exprStmt(e syntax.Expr) stmt {
	e = unparen(e)
	if ins, ok := e.(*syntax.Insert); ok {
		return c.insertStmt(ins)
	}
	if call, ok := e.(*syntax.Call); ok && call.Callee != nil {
		if s := c.callStmt(call); s != nil {
			return s
		}
	}
	v := c.any(e)
	return func(f *frame) ctl { v(f); return next }
}

// for: over ranges, grids and lists.

func (c *compiler) forStmt(s *syntax.For) stmt {
	in := unparen(s.In)
	at := c.positionOf(s.In)
	if len(s.Names) > 1 {
		if call, ok := in.(*syntax.Call); ok && call.Callee != nil && call.Callee.Kind == types.BuiltinFunc && call.Callee.Name == "grid" && len(call.Args) == len(s.Names) {
			return c.forGrid(s, call)
		}
		return c.forTuples(s)
	}
	o := s.Names[0].Obj
	if in.Type().Kind == types.Range {
		var bounds func(f *frame) Range
		if r, ok := in.(*syntax.RangeExpr); ok {
			bounds = c.rangeBounds(r)
			c.ranges[o] = &loopRange{at: c.positionOf(r), name: o.Name, closed: r.Closed,
				lo: c.positionOf(r.Lo).source(), hi: c.positionOf(r.Hi).source()}
		} else {
			v := c.ref(in)
			bounds = func(f *frame) Range { r, _ := v(f).(Range); return r }
		}
		body := c.loopBody(s)
		return forRange(bounds, o.Slot, o.Global, body, at)
	}
	list := c.ref(in)
	body := c.loopBody(s)
	slot, kind, mark := o.Slot, reprOf(o.Type), o.Global
	return func(f *frame) ctl {
		l, _ := list(f).(*List)
		if l == nil {
			return next
		}
		m := f.m
		if m.plan != nil {
			f.unk[slot] = m.unknown
		}
		for k := 0; k < l.Len(); k++ { // the body may grow or change it
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			f.store(slot, kind, l, k)
			if mark {
				f.def[slot] = true
			}
			switch body(f) {
			case brk:
				return next
			case ret:
				return ret
			}
		}
		return next
	}
}

// store puts item k of l into a slot that holds kind.
func (f *frame) store(slot int, kind repr, l *List, k int) {
	if kind == rRef {
		f.r[slot] = l.at(k)
		return
	}
	f.n[slot] = l.bits(k, kind)
}

// loopBody compiles the body with the loop's names known.
func (c *compiler) loopBody(s *syntax.For) stmt {
	n := len(c.loops)
	c.scopes++ // the names belong to the round
	for _, id := range s.Names {
		c.use(id.Obj)
		if reprOf(id.Obj.Type) == rInt {
			c.loops = append(c.loops, id.Obj)
		}
	}
	c.scopes--
	body := c.block(s.Body)
	c.loops = c.loops[:n]
	return body
}

// forRange counts through a range.
func forRange(bounds func(f *frame) Range, slot int, mark bool, body stmt, at position) stmt {
	return func(f *frame) ctl {
		r := bounds(f)
		m := f.m
		if m.plan != nil {
			m.plan.loop(f, slot, at, &r)
		}
		n := r.Len()
		if mark {
			f.def[slot] = true
		}
		i := r.Lo
		if r.Step == 1 {
			for last := r.Hi; i < last; i++ {
				if m.fuel--; m.fuel < 0 {
					m.refuel(at)
				}
				f.n[slot] = i
				if k := body(f); k != next && k != cont {
					if k == brk {
						return next
					}
					return ret
				}
			}
			return next
		}
		for ; n > 0; n-- {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			f.n[slot] = i
			if k := body(f); k != next && k != cont {
				if k == brk {
					return next
				}
				return ret
			}
			i += r.Step // wraps after the last round only
		}
		return next
	}
}

// rangeBounds evaluates a range expression.
func (c *compiler) rangeBounds(r *syntax.RangeExpr) func(f *frame) Range {
	lo, hi, at := c.int(r.Lo), c.int(r.Hi), c.positionOf(r)
	if !r.Closed {
		return func(f *frame) Range { return Range{lo(f), hi(f), 1} }
	}
	return func(f *frame) Range {
		a, b := lo(f), hi(f)
		e, ok := addInt(b, 1)
		if !ok {
			f.m.fail("R0103", at, "the range %d..=%d ends at the largest int, and its end does not fit an int", a, b)
		}
		return Range{a, e, 1}
	}
}

// forGrid runs over all index lists without making them.
func (c *compiler) forGrid(s *syntax.For, call *syntax.Call) stmt {
	var sizes []intFn
	for _, a := range call.Args {
		sizes = append(sizes, c.int(a.Value))
	}
	at := c.positionOf(s.In)
	body := c.loopBody(s)
	var slots []int
	mark := s.Names[0].Obj.Global
	for _, n := range s.Names {
		slots = append(slots, n.Obj.Slot)
	}
	return func(f *frame) ctl {
		m := f.m
		dims := make([]int64, len(sizes))
		for k, size := range sizes {
			dims[k] = size(f)
		}
		if m.plan != nil {
			u := m.unknown
			for k := range dims {
				r := Range{0, dims[k], 1}
				m.unknown = u
				m.plan.loop(f, slots[k], at, &r)
				dims[k] = r.Hi
			}
		}
		idx := make([]int64, len(sizes))
		for k, d := range dims {
			if d <= 0 {
				return next
			}
			if mark {
				f.def[slots[k]] = true
			}
		}
		for {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			for k, v := range idx {
				f.n[slots[k]] = v
			}
			if k := body(f); k != next && k != cont {
				if k == brk {
					return next
				}
				return ret
			}
			k := len(idx) - 1
			for ; k >= 0; k-- {
				if idx[k]++; idx[k] < dims[k] {
					break
				}
				idx[k] = 0
			}
			if k < 0 {
				return next
			}
		}
	}
}

// forTuples takes the lists in a list apart.
func (c *compiler) forTuples(s *syntax.For) stmt {
	list, at := c.ref(s.In), c.positionOf(s.In)
	body := c.loopBody(s)
	names := s.Names
	return func(f *frame) ctl {
		l, _ := list(f).(*List)
		if l == nil {
			return next
		}
		m := f.m
		if m.plan != nil {
			for _, id := range names {
				f.unk[id.Obj.Slot] = m.unknown
			}
		}
		for k := 0; k < l.Len(); k++ {
			if m.fuel--; m.fuel < 0 {
				m.refuel(at)
			}
			item, _ := l.at(k).(*List)
			if item == nil || item.Len() != len(names) {
				n := 0
				if item != nil {
					n = item.Len()
				}
				m.fail("E0705", at, "round %d of this `for` gives %s for %d names", k, plural(int64(n), "value"), len(names))
			}
			for j, id := range names {
				f.store(id.Obj.Slot, reprOf(id.Obj.Type), item, j)
				if id.Obj.Global {
					f.def[id.Obj.Slot] = true
				}
			}
			switch body(f) {
			case brk:
				return next
			case ret:
				return ret
			}
		}
		return next
	}
}

// Names: declarations, frames and assignment.

// setter returns code that evaluates e and stores it, as a value of type want, in slot.
func (c *compiler) setter(e syntax.Expr, want *types.Type, slot int) setter {
	if c.plan {
		return marking(c.plainSetter(e, want, slot), slot)
	}
	return c.plainSetter(e, want, slot)
}

func (c *compiler) plainSetter(e syntax.Expr, want *types.Type, slot int) setter {
	switch reprOf(want) {
	case rInt:
		v := c.int(e)
		return func(from, to *frame) { to.n[slot] = v(from) }
	case rFloat:
		v := c.float(e)
		return func(from, to *frame) { to.n[slot] = int64(math.Float64bits(v(from))) }
	case rBool:
		v := c.bool(e)
		return func(from, to *frame) { to.n[slot] = b2i(v(from)) }
	}
	v := c.refAs(e, want)
	return func(from, to *frame) { to.r[slot] = v(from) }
}

// declared marks a top-level name as having a value; in functions it does nothing.
func (c *compiler) declared(o *types.Object, s stmt) stmt {
	c.use(o)
	if !o.Global {
		return s
	}
	slot := o.Slot
	return func(f *frame) ctl {
		k := s(f)
		f.def[slot] = true
		return k
	}
}

func (c *compiler) let(s *syntax.Let) stmt {
	o := s.Name.Obj
	set := c.setter(s.Value, o.Type, o.Slot)
	return c.declared(o, func(f *frame) ctl { set(f, f); return next })
}

// frameOf returns how code at the current place reaches the frame of o.
func (c *compiler) frameOf(o *types.Object) (direct bool, unit int) {
	if !o.Global || (c.fn == nil && c.unitOf(o) == c.unit) {
		return true, 0
	}
	return false, c.unitOf(o)
}

func (c *compiler) unitOf(o *types.Object) int {
	if u, ok := o.Unit.(*check.Unit); ok {
		if k, ok := c.prog.index[u]; ok {
			return k
		}
	}
	return c.unit
}

// unitOf returns the place of the frame of a top-level name.
func (p *Program) unitOf(o *types.Object) int {
	u, _ := o.Unit.(*check.Unit)
	return p.index[u]
}

// global returns the frame of top-level name o, after checking that its statement
// has run.
func (c *compiler) global(o *types.Object, at position) func(f *frame) *frame {
	slot, unit, name := o.Slot, c.unitOf(o), o
	return func(f *frame) *frame {
		g := f.m.units[unit]
		if slot >= len(g.def) || !g.def[slot] {
			f.m.undefined(name, at)
		}
		return g
	}
}

// undefined raises E0205.
func (m *Machine) undefined(o *types.Object, at position) {
	d := m.diagnostic("E0205", at, fmt.Sprintf("`%s` has no value yet", o.Name))
	d.Label = "used here"
	switch {
	case o.Decl.IsZero():
	case m.prog.open && m.prog.names[o.Name] != nil && m.prog.names[o.Name] != o: // a function that was declared before knows the old one
		d.Message = fmt.Sprintf("this `%s` ended when it was declared again", o.Name)
		d.Help = []string{fmt.Sprintf("it means that of %s: declare what uses it here again", entryPlace(o.Decl))}
	case at.file != nil && o.Decl.File != at.file.Source.Name: // of a session, whose entries run one by one
		d.Help = []string{fmt.Sprintf("its statement, %s, did not succeed: declare `%s` again", entryPlace(o.Decl), o.Name)}
	default:
		d.Help = []string{fmt.Sprintf("its statement, line %d, has not run: move it before the first call that needs it", o.Decl.Start.Line)}
	}
	m.raise(d)
}

// entryPlace is where a session has declared something: "entry 4", or "setup.spu:12".
func entryPlace(at diag.Span) string {
	if strings.HasPrefix(at.File, "<") {
		return strings.Trim(at.File, "<>")
	}
	return fmt.Sprintf("%s:%d", at.File, at.Start.Line)
}

func (c *compiler) assign(s *syntax.Assign) stmt {
	switch t := unparen(s.Target).(type) {
	case *syntax.Ident:
		return c.assignName(s, t)
	case *syntax.Index:
		return c.assignItem(s, t)
	}
	c.bug(s, "assignment to %T", s.Target)
	return nil
}

// operated returns the value of an assignment as an expression: target op value.
func operated(s *syntax.Assign) syntax.Expr {
	op := strings.TrimSuffix(s.Op, "=")
	if op == "" {
		return s.Value
	}
	b := &syntax.Binary{Op: op, OpAt: s.OpAt, X: s.Target, Y: s.Value}
	b.Span = s.Range()
	t := s.Target.Type()
	switch {
	case t.Kind == types.Complex || s.Value.Type().Kind == types.Complex:
		t = types.TComplex
	case op == "/":
		t = types.TFloat
	case t.Kind == types.Int && s.Value.Type().Kind == types.Float:
		t = types.TFloat
	}
	b.SetType(t)
	return b
}

func (c *compiler) assignName(s *syntax.Assign, id *syntax.Ident) stmt {
	o := id.Obj
	slot := o.Slot
	direct, _ := c.frameOf(o)
	if direct && !(o.Global && c.session) {
		// s += local and s += literal are what loops do
		if s.Op == "+=" && reprOf(o.Type) == rInt && !c.plan {
			at := c.positionOf(s)
			v := c.int(s.Value)
			return func(f *frame) ctl {
				a := f.n[slot]
				b := v(f)
				sum, ok := addInt(a, b)
				if !ok {
					f.m.fail("R0103", at, overflow, a, "+", b)
				}
				f.n[slot] = sum
				return next
			}
		}
		set := c.setter(operated(s), o.Type, slot)
		if !holdsHandles(o.Type) {
			return func(f *frame) ctl { set(f, f); return next }
		}
		level, at := c.depths[o], c.positionOf(s.Value)
		return func(f *frame) ctl {
			v := f.r[slot]
			set(f, f)
			if f.m.tooShort(f.r[slot], f.base+level) != nil {
				w := f.r[slot]
				f.r[slot] = v
				f.m.failShort(w, f.base+level, o, at)
			}
			return next
		}
	}
	g := c.global(o, c.positionOf(id))
	set := c.setter(operated(s), o.Type, slot)
	level, at := c.depths[o], c.positionOf(s.Value)
	handles := holdsHandles(o.Type)
	return func(f *frame) ctl {
		to := g(f)
		v := to.r[slot]
		set(f, to)
		if handles && f.m.tooShort(to.r[slot], level) != nil {
			w := to.r[slot]
			to.r[slot] = v
			f.m.failShort(w, level, o, at)
		}
		return next
	}
}
