package interp

// Statements and control flow.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/lang/check"
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

func (c *compiler) place(n syntax.Node) place { return place{c.file, n.Range()} }

// bug reports a tree that the checker should not have let through.
func (c *compiler) bug(n syntax.Node, format string, args ...any) {
	p := c.place(n)
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
		case *syntax.Import, *syntax.Param, *syntax.ExternData, *syntax.Codelet, *syntax.Func:
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
	return sequence(list, c.place(&syntax.Block{}))
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
	at := c.place(fn.Name)
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
func sequence(list []stmt, at place) stmt {
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
	body := sequence(list, c.place(b))
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
	cond, body, at := c.bool(s.Cond), c.block(s.Body), c.place(s.Cond)
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
	cond, at := c.bool(s.Cond), c.place(s.Cond)
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
		if m.unknown { // nobody knows
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
	at := c.place(e)
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
