package interp

// Calls of script and host functions.

import (
	"context"
	"fmt"
	"math"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// HostFunc is a function of the host; see lang.NewFunc.
type HostFunc struct {
	Name string
	Doc  string
	Sig  *types.Signature
	Fn   func(ctx context.Context, args []any) (any, error)
}

// push prepares the frame of a call.
func (m *Machine) push(fn *funcCode, site *callSite, parent *frame) *frame {
	if m.depth >= m.limits.CallDepth {
		m.limit("depth", int64(m.limits.CallDepth), site.at)
	}
	var f *frame
	if m.depth < len(m.stack) {
		f = m.stack[m.depth]
	} else {
		f = &frame{m: m}
		m.stack = append(m.stack, f)
	}
	m.depth++
	if cap(f.n) < fn.slots {
		m.frames(8*fn.slots, site.at)
		f.n = make([]int64, fn.slots)
	}
	f.n = f.n[:fn.slots]
	if fn.refs {
		if cap(f.r) < fn.slots {
			m.frames(16*fn.slots, site.at)
			f.r = make([]any, fn.slots)
		}
		f.r = f.r[:fn.slots]
	}
	if m.plan != nil {
		f.unk, f.retUnknown = make([]bool, fn.slots), false
	}
	f.g, f.parent, f.fn, f.site, f.call, f.base = m.units[fn.unit], parent, fn, site, nil, len(m.bases)
	return f
}

// frames notes that frames of calls take more bytes. They are used again, so they do not
// count; but they must not take more than a quarter of the limit.
func (m *Machine) frames(bytes int, at position) {
	m.inFrames += int64(bytes)
	if m.inFrames > m.limits.ScriptBytes/4+1<<16 {
		m.exceeded("mem", at)
	}
}

// run executes the body of f's function and gives the frame back. Its results can
// be read until the next call.
func (m *Machine) run(f *frame) {
	m.cur = f
	fn := f.fn
	if m.fuel--; m.fuel < 0 {
		m.refuel(f.site.at)
	}
	fn.body(f)
	m.cur = f.parent
	m.depth--
	if fn.refs {
		clear(f.r)
	}
}

// callSiteOf makes the site of a call.
func (c *compiler) callSiteOf(e *syntax.Call) *callSite {
	at := c.positionOf(e)
	text := firstLine(at.source())
	if r := []rune(text); len(r) > 60 {
		text = string(r[:57]) + "..."
	}
	return &callSite{at: at, text: text}
}

// engineCall returns the calls on the stack as tasks carry them.
func (f *frame) engineCall() *engine.Call {
	if f == nil || f.site == nil {
		return nil
	}
	if f.call == nil {
		s := f.site.at.span()
		f.call = &engine.Call{Parent: f.parent.engineCall(), Text: f.site.text,
			Site: &engine.Site{File: s.File, Line: s.Start.Line, Col: s.Start.Col, Data: f.site}}
	}
	return f.call
}

// invoke compiles a call of a script function. The returned frame holds the result.
func (c *compiler) invoke(e *syntax.Call) func(f *frame) *frame {
	if c.plan {
		return spreading(c.plainInvoke(e))
	}
	return c.plainInvoke(e)
}

func (c *compiler) plainInvoke(e *syntax.Call) func(f *frame) *frame {
	fn := c.prog.funcs[e.Callee]
	node, ok := e.Callee.Node.(*syntax.Func)
	if !ok || fn == nil {
		c.bug(e, "function %s", e.Callee.Name)
	}
	sig, site := e.Callee.Sig, c.callSiteOf(e)
	var args []setter
	for i, p := range node.Params {
		if i < len(e.Bound) && e.Bound[i] != nil {
			args = append(args, c.setter(e.Bound[i], sig.Params[i].Type, p.Name.Obj.Slot))
			continue
		}
		args = append(args, func(_, to *frame) { fn.params[i].def(to, to) })
	}
	if c.plan && c.prog.repeatable(e.Callee) {
		return func(f *frame) *frame {
			to := f.m.push(fn, site, f)
			for _, a := range args {
				a(f, to)
			}
			if f.m.plan.check {
				f.m.repeated(to)
			} else {
				f.m.run(to)
			}
			return to
		}
	}
	moves := holdsHandles(sig.Result)
	if len(args) == 1 && !moves {
		a := args[0]
		return func(f *frame) *frame {
			m := f.m
			to := m.push(fn, site, f)
			a(f, to)
			m.run(to)
			return to
		}
	}
	return func(f *frame) *frame {
		m := f.m
		base := len(m.owned)
		to := m.push(fn, site, f)
		for _, a := range args {
			a(f, to)
		}
		m.run(to)
		if moves {
			m.settle(base)
		}
		return to
	}
}

// isScript reports whether e calls a function of the script, isHost of the host.
func isScript(e *syntax.Call) bool {
	return e.Callee != nil && e.Callee.Kind == types.FuncObject && e.Callee.Node != nil
}

func isHost(e *syntax.Call) bool {
	if e.Callee == nil || e.Callee.Kind != types.FuncObject {
		return false
	}
	_, ok := e.Callee.Host.(*HostFunc)
	return ok
}

func isBuiltin(e *syntax.Call) bool { return e.Callee != nil && e.Callee.Kind == types.BuiltinFunc }

func (c *compiler) intCall(e *syntax.Call) intFn {
	switch {
	case isScript(e):
		call := c.invoke(e)
		return func(f *frame) int64 { return call(f).retN }
	case isHost(e):
		call := c.hostCall(e)
		return func(f *frame) int64 { v, _ := call(f).(int64); return v }
	case isBuiltin(e):
		return c.intBuiltin(e)
	}
	return nil
}

func (c *compiler) floatCall(e *syntax.Call) floatFn {
	switch {
	case isScript(e):
		call := c.invoke(e)
		return func(f *frame) float64 { return math.Float64frombits(uint64(call(f).retN)) }
	case isHost(e):
		call := c.hostCall(e)
		return func(f *frame) float64 { v, _ := call(f).(float64); return v }
	case isBuiltin(e):
		return c.floatBuiltin(e)
	}
	return nil
}

// complexCall compiles a call of a builtin; other calls are references.
func (c *compiler) complexCall(e *syntax.Call) func(f *frame) complex128 { return c.complexBuiltin(e) }

func (c *compiler) boolCall(e *syntax.Call) boolFn {
	switch {
	case isScript(e):
		call := c.invoke(e)
		return func(f *frame) bool { return call(f).retN != 0 }
	case isHost(e):
		call := c.hostCall(e)
		return func(f *frame) bool { v, _ := call(f).(bool); return v }
	case isBuiltin(e):
		return c.boolBuiltin(e)
	}
	return nil
}

func (c *compiler) refCall(e *syntax.Call) refFn {
	switch {
	case isScript(e):
		call := c.invoke(e)
		return func(f *frame) any {
			to := call(f)
			v := to.retR
			to.retR = nil
			return v
		}
	case isHost(e):
		return c.hostCall(e)
	case isBuiltin(e):
		return c.refBuiltin(e)
	}
	return nil
}

// callStmt compiles a call whose result is dropped; nil: the general way will do.
func (c *compiler) callStmt(e *syntax.Call) stmt {
	if !isScript(e) {
		return nil
	}
	call := c.invoke(e)
	return func(f *frame) ctl {
		call(f).retR = nil
		return next
	}
}

// hostCall compiles a call of a host function to its result as the script holds it.
func (c *compiler) hostCall(e *syntax.Call) refFn {
	fn, at := e.Callee.Host.(*HostFunc), c.positionOf(e)
	c.prog.hosts[fn.Name] = fn
	var args []refFn
	for i := range fn.Sig.Params {
		p := &fn.Sig.Params[i]
		if i < len(e.Bound) && e.Bound[i] != nil {
			args = append(args, c.anyAs(e.Bound[i], p.Type))
			continue
		}
		v, err := constant(p)
		if err != nil {
			c.bug(e, "default of %s: %v", p.Name, err)
		}
		args = append(args, func(*frame) any { return v })
	}
	return func(f *frame) any {
		m := f.m
		vals := make([]any, len(args))
		for i, a := range args {
			vals[i] = m.toHost(a(f), at)
		}
		if m.unknown { // in a plan: what the function would say is not known either
			return stand(fn.Sig.Result)
		}
		if m.plan != nil && m.plan.called != nil {
			m.plan.called[fn.Name] = true
		}
		return m.callHost(fn, vals, at)
	}
}

// callHost calls a host function, or what replaces it in this run.
func (m *Machine) callHost(fn *HostFunc, args []any, at position) any {
	if late := m.late[fn.Name]; late != nil {
		fn = late
	}
	m.poll(at)
	if m.checkpoints != nil {
		return m.loggedCall(fn, args, at)
	}
	return m.callHostNow(fn, args, at)
}

// callHostNow is callHost for a function that is called.
func (m *Machine) callHostNow(fn *HostFunc, args []any, at position) any {
	var out any
	err := protect(func() (err error) { out, err = fn.Fn(m.ctx, args); return err })
	if err != nil {
		m.raiseHost(at, fmt.Sprintf("the host function `%s` failed", fn.Name), err)
	}
	v, err := fromHost(out, fn.Sig.Result)
	if err != nil {
		m.fail("R0106", at, "the host function `%s` gave a wrong result: %v", fn.Name, err)
	}
	m.allocValue(v, at)
	return v
}

// allocValue counts what a host function has given.
func (m *Machine) allocValue(v any, at position) {
	switch v := v.(type) {
	case *List:
		m.spend(at)
		m.allocList(int64(v.Len()), v.kind, at)
		for _, x := range v.a {
			m.allocValue(x, at)
		}
	case string:
		m.allocString(len(v), at)
	case Range, Node, Worker:
		m.alloc(valueBytes, at)
	}
}

// callFromHost runs a script function with arguments of the host.
func (m *Machine) callFromHost(fn *funcCode, args []any) any {
	at := position{}
	if len(args) > len(fn.params) {
		m.fail("E0705", at, "`%s` takes %s, and %s given", fn.name, check.Arguments(len(fn.params)), check.AreArguments(len(args)))
	}
	base := len(m.owned)
	to := m.push(fn, &callSite{at: at, text: fn.name + "(…)"}, nil)
	to.site = nil
	for i := range fn.params {
		p := &fn.params[i]
		if i >= len(args) {
			if p.def == nil {
				m.fail("E0705", at, "`%s` needs a value for `%s`, %s", fn.name, p.name, p.typ)
			}
			p.def(to, to)
			continue
		}
		v, err := fromHost(args[i], p.typ)
		if err != nil {
			m.fail("E0705", at, "argument `%s` of `%s`: %v", p.name, fn.name, err)
		}
		to.set(p.slot, p.typ, v)
	}
	m.cur = to
	fn.body(to)
	m.settle(base)
	m.cur = nil
	m.depth--
	out := to.result()
	if fn.refs {
		clear(to.r)
	}
	return out
}

// set stores a boxed value of type t.
func (f *frame) set(slot int, t *types.Type, v any) {
	switch reprOf(t) {
	case rInt:
		f.n[slot], _ = v.(int64)
	case rFloat:
		x, _ := v.(float64)
		f.n[slot] = int64(math.Float64bits(x))
	case rBool:
		b, _ := v.(bool)
		f.n[slot] = b2i(b)
	default:
		f.r[slot] = v
	}
}

// get returns the boxed value of a slot of type t.
func (f *frame) get(slot int, t *types.Type) any {
	switch reprOf(t) {
	case rInt:
		return f.n[slot]
	case rFloat:
		return math.Float64frombits(uint64(f.n[slot]))
	case rBool:
		return f.n[slot] != 0
	}
	return f.r[slot]
}

// result returns what the function of f gave back, for the host.
func (f *frame) result() any {
	switch f.fn.out {
	case rInt:
		return f.retN
	case rFloat:
		return math.Float64frombits(uint64(f.retN))
	case rBool:
		return f.retN != 0
	}
	v := f.retR
	f.retR = nil
	if f.fn.result == nil || f.fn.result.Kind == types.None {
		return nil
	}
	return f.m.toHost(v, position{})
}

// loggedCall calls a host function. Of results that are not numbers, bools, strings and lists of these nothing is kept: the
// function is called again.
func (m *Machine) loggedCall(fn *HostFunc, args []any, at position) any {
	c := m.checkpoints
	if c.from == nil {
		v := m.callHostNow(fn, args, at)
		b, ok := appendValue(nil, v)
		if !ok {
			b = nil
		}
		if c.unlogged == 0 {
			m.keepRecord(at, recordCall, b)
		}
		return v
	}
	b := m.recorded(at, recordCall)
	if len(b) == 0 {
		return m.callHostNow(fn, args, at)
	}
	v, rest, ok := readValue(b)
	if !ok || len(rest) > 0 {
		m.misfit(at, "its log is damaged")
	}
	m.allocValue(v, at)
	return v
}
