package lower

// Calls of funcs of the script. The representation has no calls: the body of the func is lowered
// at each call, in a scope of its own, with the types of ints, floats and bools that it has in
// scripts. The statements of the func come before the statement with the call, or where a
// condition decides whether the call runs, in an if.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// maxInlined bounds the calls of funcs in one body, those in funcs included.
const maxInlined = 2000

// inlined is a func whose body is being lowered.
type inlined struct {
	fn     *syntax.Func
	file   *syntax.File
	caller *inlined
	call   diag.Span
	result ir.Type
	slot   int // of the result, -1 if there is none
	done   flag
}

// name returns the name of the func.
func (in *inlined) name() string {
	if in.fn == nil {
		return "the func"
	}
	return in.fn.Name.Name
}

// calledFunc returns the func of a script that x calls, and its file, or nil. It sets the
// object of the call if l.check is set.
func (l *lowerer) calledFunc(x *syntax.Call) (*syntax.Func, *syntax.File) {
	ofObject := func(o *types.Object) (*syntax.Func, *syntax.File) {
		if o == nil || o.Kind != types.FuncObject {
			return nil, nil
		}
		fn, _ := o.Node.(*syntax.Func)
		u, ok := o.Unit.(interface{ SourceFile() *syntax.File })
		if fn == nil || !ok {
			return nil, nil
		}
		return fn, u.SourceFile()
	}
	if x.Callee != nil && x.Callee.Kind == types.FuncObject {
		return ofObject(x.Callee)
	}
	set := func(id *syntax.Ident, o *types.Object) {
		if l.check && o != nil {
			id.Obj, x.Callee = o, o
			id.SetType(types.TInvalid)
		}
	}
	switch f := syntax.Unparen(x.Fn).(type) {
	case *syntax.Ident:
		for _, s := range l.f.Stmts {
			if fn, ok := s.(*syntax.Func); ok && fn.Name != nil && fn.Name.Name == f.Name {
				set(f, fn.Obj)
				return fn, l.f
			}
		}
		if l.outer != nil && l.f.Source == l.fn.Source {
			o := l.outer(f.Name)
			fn, file := ofObject(o)
			if fn != nil {
				set(f, o)
			}
			return fn, file
		}
	case *syntax.Selector:
		id, ok := syntax.Unparen(f.X).(*syntax.Ident)
		if !ok || f.Name == nil || l.find(id.Name) != nil || l.outer == nil || l.f.Source != l.fn.Source {
			return nil, nil
		}
		m := l.outer(id.Name)
		if m == nil || m.Kind != types.ModuleObject || m.Module == nil {
			return nil, nil
		}
		o := m.Module.Members[f.Name.Name]
		fn, file := ofObject(o)
		if fn != nil {
			if l.check {
				id.Obj = m
				id.SetType(types.TInvalid)
				f.SetType(types.TInvalid)
			}
			set(f.Name, o)
		}
		return fn, file
	}
	return nil, nil
}

// funcCall lowers a call of fn, which file declares.
func (l *lowerer) funcCall(x *syntax.Call, fn *syntax.Func, file *syntax.File) *ir.Expr {
	name := fn.Name.Name
	args, ok := l.funcArgs(x, fn, file)
	if !ok || l.badFuncs[fn] {
		return l.invalid(x)
	}
	for in := l.inlined; in != nil; in = in.caller {
		if in.fn == fn {
			through := ""
			if l.inlined != in {
				through = fmt.Sprintf(" through `%s`", l.inlined.name())
			}
			d := l.err("E0608", x, fmt.Sprintf("`%s` calls itself%s, and a codelet body calls it", name, through))
			d.Help = append(d.Help, "write a loop instead of the recursion: a body is compiled without calls")
			l.badFuncs[fn] = true
			return l.invalid(x)
		}
	}
	if l.calls++; l.calls > maxInlined {
		if l.calls == maxInlined+1 {
			d := l.err("E0608", x, fmt.Sprintf("this body has more than %d calls of funcs, those inside of funcs included", maxInlined))
			d.Help = append(d.Help, "call fewer of them: each call is compiled on its own")
		}
		return l.invalid(x)
	}
	in := &inlined{fn: fn, file: file, caller: l.inlined, call: l.f.At(x), result: scalarType(fn.Result), slot: -1, done: flag{slot: -1}}
	saved := *l
	l.f, l.check, l.each, l.scope, l.loops, l.inlined, l.assignTarget = file, false, nil, nil, nil, in, nil
	before := len(l.diags)
	l.push()
	var e *ir.Expr
	list := l.withPrelude(func() []*ir.Stmt {
		l.bindParams(fn, args)
		e = l.funcBody(fn)
		return nil
	})
	l.f, l.check, l.each, l.scope, l.loops, l.inlined, l.assignTarget = saved.f, saved.check, saved.each, saved.scope, saved.loops, saved.inlined, saved.assignTarget
	if len(l.diags) > before {
		l.badFuncs[fn] = true
		l.explainFunc(in, before)
		return l.invalid(x)
	}
	if e == nil {
		return l.invalid(x)
	}
	if file.Source != l.fn.Source {
		l.relocate(list, e, args, x.Span)
	}
	l.prelude = append(l.prelude, list...)
	return e
}

// explainFunc adds to the errors from before on, which are about the func of in, that a body
// calls it.
func (l *lowerer) explainFunc(in *inlined, before int) {
	for k := before; k < len(l.diags); k++ {
		d := &l.diags[k]
		if in.caller != nil {
			d.Labels = append(d.Labels, diag.Label{Span: in.call, Text: "called here"})
			continue
		}
		d.Labels = append(d.Labels, diag.Label{Span: in.call, Text: "called in a codelet body"})
		d.Notes = append(d.Notes, fmt.Sprintf("a codelet body calls `%s`: such a func computes with ints, floats and bools alone", in.fn.Name.Name))
	}
}

// scalarType returns the type of values of bodies that t names, or ir.Open if there is none.
func scalarType(t *syntax.TypeExpr) ir.Type {
	if t != nil && t.Elem == nil && t.Name != nil {
		switch t.Name.Name {
		case "int":
			return ir.I64
		case "float":
			return ir.F64
		case "complex":
			return ir.C128
		case "bool":
			return ir.Bool
		}
	}
	return ir.Open
}

// funcForm returns the form of a call of fn.
func funcForm(fn *syntax.Func) string {
	var names []string
	for _, p := range fn.Params {
		names = append(names, p.Name.Name)
	}
	return fn.Name.Name + "(" + strings.Join(names, ", ") + ")"
}

// funcArgs lowers the arguments of a call, one for each parameter, in their types. It reports
// what a body cannot call.
func (l *lowerer) funcArgs(x *syntax.Call, fn *syntax.Func, file *syntax.File) (args []*ir.Expr, ok bool) {
	name := fn.Name.Name
	values, before := make([]*ir.Expr, len(x.Args)), len(l.diags)
	for k, a := range x.Args {
		values[k] = l.expr(a.Value)
	}
	const only = "a codelet body calls funcs that take and return ints, floats and bools"
	for _, p := range fn.Params {
		if scalarType(p.Type) == ir.Open {
			l.diags = l.diags[:before]
			d := l.err("E0608", x.Fn, fmt.Sprintf("a codelet body cannot call `%s`: its parameter `%s` is no int, float or bool", name, p.Name.Name))
			d.Labels = append(d.Labels, diag.Label{Span: file.At(p), Text: "declared here"})
			d.Help = append(d.Help, only)
			return nil, false
		}
	}
	if scalarType(fn.Result) == ir.Open {
		d := l.err("E0608", x.Fn, fmt.Sprintf("a codelet body cannot call `%s`: its result is no int, float or bool", name))
		d.Labels = append(d.Labels, diag.Label{Span: file.At(fn.Name), Text: "declared here"})
		d.Help = append(d.Help, only)
		return nil, false
	}
	args = make([]*ir.Expr, len(fn.Params))
	ok = true
	for k, a := range x.Args {
		at := k
		if a.Name != nil {
			at = slices.IndexFunc(fn.Params, func(p *syntax.FuncParam) bool { return p.Name.Name == a.Name.Name })
		}
		switch {
		case at < 0:
			l.err("E0705", a.Name, fmt.Sprintf("`%s` has no parameter `%s`", name, a.Name.Name)).Help = []string{"write `" + funcForm(fn) + "`"}
			return nil, false
		case at >= len(args):
			l.err("E0705", x, fmt.Sprintf("`%s` takes %s, and %d were given", name, ir.Counted(len(args), "argument", "arguments"), len(x.Args))).
				Help = []string{"write `" + funcForm(fn) + "`"}
			return nil, false
		case args[at] != nil:
			l.err("E0705", a, fmt.Sprintf("`%s` is given twice", fn.Params[at].Name.Name)).Help = []string{"write `" + funcForm(fn) + "`"}
			return nil, false
		}
		args[at] = l.toScalar(values[k], scalarType(fn.Params[at].Type), a.Value, "`"+fn.Params[at].Name.Name+"`")
		ok = ok && args[at].Op != ir.OpBad
	}
	for k, p := range fn.Params {
		if args[k] != nil {
			continue
		}
		if p.Default == nil {
			l.err("E0705", x, fmt.Sprintf("`%s` needs a value for `%s`", name, p.Name.Name)).Help = []string{"write `" + funcForm(fn) + "`"}
			return nil, false
		}
		before := len(l.diags)
		prelude, e := l.captured(func() *ir.Expr {
			return l.elsewhere(file, func() *ir.Expr {
				return l.toScalar(l.expr(p.Default), scalarType(p.Type), p.Default, "`"+p.Name.Name+"`")
			})
		})
		if len(l.diags) > before {
			l.explainFunc(&inlined{fn: fn, caller: l.inlined, call: l.f.At(x)}, before)
			return nil, false
		}
		if file.Source != l.fn.Source {
			l.relocate(prelude, e, nil, x.Span)
		}
		l.prelude = append(l.prelude, prelude...)
		args[k], ok = e, ok && e.Op != ir.OpBad
	}
	return args, ok
}

// elsewhere lowers an expression of the top level of file.
func (l *lowerer) elsewhere(file *syntax.File, f func() *ir.Expr) *ir.Expr {
	saved := *l
	l.f, l.check, l.scope, l.loops = file, false, nil, nil
	l.inlined = &inlined{file: file, caller: saved.inlined, slot: -1, done: flag{slot: -1}}
	l.push()
	e := f()
	l.f, l.check, l.scope, l.loops, l.inlined = saved.f, saved.check, saved.scope, saved.loops, saved.inlined
	return e
}

// toScalar returns e, of the source x, as a value of type t as scripts convert it: an integer
// becomes a float, and a float no int. what names its place in messages.
func (l *lowerer) toScalar(e *ir.Expr, t ir.Type, x syntax.Expr, what string) *ir.Expr {
	switch {
	case e.Type == ir.Open:
		return e
	case (e.Type == ir.Bool) != (t == ir.Bool):
		l.err("E0705", x, fmt.Sprintf("%s is %s, and this value is %s", what, withArticle(t), withArticle(e.Type)))
		return l.invalid(x)
	case e.Type.IsComplex() && !t.IsComplex():
		d := l.err("E0705", x, fmt.Sprintf("%s is %s, and this value is a complex number", what, withArticle(t)))
		d.Help = append(d.Help, fmt.Sprintf("its real part is `re(%s)`", l.text(x)))
		return l.invalid(x)
	case e.Type.IsFloat() && t.IsInt():
		d := l.err("E0703", x, fmt.Sprintf("%s must be an int, and this is a float", what))
		l.suggestInt(d, x)
		return l.invalid(x)
	}
	return convert(e, t)
}

// bindParams declares the parameters of fn. One that stays the same is another name of its
// argument, if that is as cheap as a local.
func (l *lowerer) bindParams(fn *syntax.Func, args []*ir.Expr) {
	for k, p := range fn.Params {
		en := &entry{name: p.Name.Name, kind: letEntry, slot: -1, operand: -1, decl: p.Name.Span, used: true}
		if e := args[k]; !assigns(fn.Body, p.Name.Name) && (isCheap(e) || usedOnce(fn, p.Name.Name, e)) {
			en.bound = e
		} else {
			t := scalarType(p.Type)
			en.slot = l.newSlot(ir.Slot{Name: p.Name.Name, Type: t, Kind: ir.LetSlot, Decl: p.Name.Span})
			l.prelude = append(l.prelude, l.assignParts(&ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: en.slot, Value: e, Pos: p.Span, Target: p.Name.Span}))
		}
		l.scope.Insert(p.Name.Name, en)
	}
}

// isCheap reports whether e costs nothing to evaluate again, and cannot fault.
func isCheap(e *ir.Expr) bool {
	switch e.Op {
	case ir.OpConst, ir.OpSlot, ir.OpField:
		return true
	case ir.OpConvert:
		return isCheap(e.X[0])
	case ir.OpComplex:
		return isCheap(e.X[0]) && isCheap(e.X[1])
	case ir.OpLoad:
		return len(e.X) == 0
	}
	return false
}

// usedOnce reports whether the body of fn is one return, which evaluates the parameter name
// exactly once if anything, or, if e is an element at an index that is cheap, at least once.
func usedOnce(fn *syntax.Func, name string, e *ir.Expr) bool {
	if len(fn.Body.Stmts) != 1 {
		return false
	}
	ret, ok := fn.Body.Stmts[0].(*syntax.Return)
	if !ok || ret.Value == nil {
		return false
	}
	always, all := 0, 0
	var count func(x syntax.Expr, certain bool)
	count = func(x syntax.Expr, certain bool) {
		syntax.WalkExpr(x, func(x syntax.Expr) bool {
			switch x := x.(type) {
			case *syntax.Ident:
				if x.Name == name {
					all++
					if certain {
						always++
					}
				}
			case *syntax.Cond:
				count(x.If, certain)
				count(x.Then, false)
				count(x.Else, false)
				return false
			case *syntax.Binary:
				if x.Op == "and" || x.Op == "or" {
					count(x.X, certain)
					count(x.Y, false)
					return false
				}
			}
			return true
		})
	}
	count(ret.Value, true)
	if e.Op == ir.OpConvert {
		e = e.X[0]
	}
	if e.Op == ir.OpLoad && always > 0 {
		return !slices.ContainsFunc(e.X, func(i *ir.Expr) bool { _, _, plain := plainIndex(i); return !plain })
	}
	return all == 1 && always == 1
}

// plainIndex returns the parts of an index that is a local or a constant, plus a constant.
func plainIndex(e *ir.Expr) (slot int, plus int64, ok bool) {
	switch {
	case e.Op == ir.OpConst:
		return -1, e.Int, true
	case e.Op == ir.OpSlot:
		return e.Slot, 0, true
	case (e.Op == ir.OpAdd || e.Op == ir.OpSub) && e.X[0].Op == ir.OpSlot && e.X[1].Op == ir.OpConst:
		return e.X[0].Slot, e.X[1].Int, true
	}
	return 0, 0, false
}

// assigns reports whether a block assigns to a name.
func assigns(b *syntax.Block, name string) bool {
	found := false
	for _, s := range b.Stmts {
		syntax.WalkStmt(s, func(s syntax.Stmt) {
			if a, ok := s.(*syntax.Assign); ok {
				id, ok := syntax.Unparen(a.Target).(*syntax.Ident)
				found = found || ok && id.Name == name
			}
		})
	}
	return found
}

// funcBody lowers the statements of fn and returns its result, or nil after an error.
func (l *lowerer) funcBody(fn *syntax.Func) *ir.Expr {
	list := fn.Body.Stmts
	if e := l.returned(list); e != nil {
		return e
	}
	in := l.inlined
	if n := len(list); n > 0 {
		if last, ok := list[n-1].(*syntax.Return); ok && !jumpsOf(list[:n-1]...).returns {
			l.prelude = append(l.prelude, l.stmts(list[:n-1])...)
			return l.result(last)
		}
	}
	at := fn.Name.Span
	in.slot = l.newSlot(ir.Slot{Name: fn.Name.Name, Type: in.result, Kind: ir.LetSlot, Assigned: true, Decl: at})
	zero := &ir.Expr{Op: ir.OpConst, Type: in.result, Pos: at}
	if in.result.IsComplex() {
		zero = convert(floatConst(0, in.result.Part(), at), in.result)
	}
	let := l.assignParts(&ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: in.slot, Value: zero, Pos: at, Target: at})
	body := l.stmts(list)
	l.prelude = append(append(l.prelude, let), l.declared(&in.done, body, at)...)
	return l.local(in.slot, at)
}

// returned lowers list, of returns and ifs that end in returns alone, as an expression. It
// returns nil if list is something else.
func (l *lowerer) returned(list []syntax.Stmt) *ir.Expr {
	if !isChoice(list) {
		return nil
	}
	switch s := list[0].(type) {
	case *syntax.Return:
		return l.result(s)
	case *syntax.If:
		c := l.cond(s.Cond)
		other := list[1:]
		switch e := s.Else.(type) {
		case *syntax.Block:
			other = e.Stmts
		case *syntax.If:
			other = append([]syntax.Stmt{e}, other...)
		}
		return l.conditional(c, func() *ir.Expr { return l.returned(s.Then.Stmts) }, func() *ir.Expr { return l.returned(other) }, s, "the results")
	}
	return nil
}

// isChoice reports whether list is a return, or an if whose branches are choices.
func isChoice(list []syntax.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[0].(type) {
	case *syntax.Return:
		return s.Value != nil
	case *syntax.If:
		if !isChoice(s.Then.Stmts) {
			return false
		}
		switch e := s.Else.(type) {
		case nil:
			return isChoice(list[1:])
		case *syntax.Block:
			return isChoice(e.Stmts)
		case *syntax.If:
			return isChoice(append([]syntax.Stmt{e}, list[1:]...))
		}
	}
	return false
}

// result lowers the value of a return.
func (l *lowerer) result(s *syntax.Return) *ir.Expr {
	if s.Value == nil {
		return l.invalid(s)
	}
	return l.toScalar(l.expr(s.Value), l.inlined.result, s.Value, "the result of `"+l.inlined.fn.Name.Name+"`")
}

// returnStmt lowers a return that is not at the end of its func.
func (l *lowerer) returnStmt(s *syntax.Return) *ir.Stmt {
	if l.inlined == nil || l.inlined.slot < 0 {
		l.err("E0105", s, "`return` is only allowed in a `func`")
		return nil
	}
	v := l.result(s)
	set := l.assignParts(&ir.Stmt{Kind: ir.SetStmt, Slot: l.inlined.slot, Value: v, Update: "=", Pos: s.Span, Target: s.Span})
	l.prelude = append(l.prelude, set)
	return l.set(&l.inlined.done, "done", s.Span)
}

// constant returns the value of a name of the top level of the file of a func, if it is a
// constant: a let of literals that nothing assigns. It returns nil for others.
func (l *lowerer) constant(name string) *ir.Expr {
	for _, s := range l.f.Stmts {
		let, ok := s.(*syntax.Let)
		if !ok || let.Name == nil || let.Name.Name != name {
			continue
		}
		if assigns(&syntax.Block{Stmts: l.f.Stmts}, name) || !isLiteral(let.Value) {
			return nil
		}
		e := l.elsewhere(l.f, func() *ir.Expr { return l.expr(let.Value) })
		if t := scalarType(let.Type); t != ir.Open && e.Op != ir.OpBad {
			e = l.toScalar(e, t, let.Value, "`"+name+"`")
		}
		if e.Op != ir.OpConst && (e.Op != ir.OpComplex || e.X[0].Op != ir.OpConst || e.X[1].Op != ir.OpConst) {
			return nil
		}
		return convert(e, e.Type)
	}
	return nil
}

// isLiteral reports whether x is made of literals alone.
func isLiteral(x syntax.Expr) bool {
	switch x := syntax.Unparen(x).(type) {
	case *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit, *syntax.BoolLit:
		return true
	case *syntax.Unary:
		return isLiteral(x.X)
	case *syntax.Binary:
		return isLiteral(x.X) && isLiteral(x.Y)
	}
	return false
}

// relocate gives what the func of another file has become the place of its call. The arguments
// are of the file of the body.
func (l *lowerer) relocate(list []*ir.Stmt, e *ir.Expr, args []*ir.Expr, at syntax.Span) {
	seen := map[*ir.Expr]bool{}
	for _, a := range args {
		ir.WalkExpr(a, func(x *ir.Expr) bool { seen[x] = true; return true })
	}
	move := func(x *ir.Expr) {
		ir.WalkExpr(x, func(x *ir.Expr) bool {
			if seen[x] {
				return false
			}
			seen[x] = true
			x.Pos = at
			for k := range x.Domain {
				x.Domain[k].Pos = at
			}
			return true
		})
	}
	ir.WalkStmts(list, func(s *ir.Stmt) {
		s.Pos, s.Target, s.Source = at, at, nil
		s.Exprs(move)
		for k := range s.Domain {
			s.Domain[k].Pos = at
			l.fn.Slots[s.Domain[k].Slot].Decl = at
		}
		if s.Kind == ir.SetStmt {
			l.fn.Slots[s.Slot].Decl = at
		}
	})
	move(e)
}
