package check

// Declarations of codelets and functions.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// codeletDecl enters a codelet with its signature.
func (c *checker) codeletDecl(s *syntax.Codelet) {
	sig := &types.Signature{Name: s.Name.Name, Result: types.TNone}
	seen := map[string]*syntax.Operand{}
	shown := map[byte]bool{}
	for _, p := range s.Params {
		t := c.operandType(p)
		if old := seen[p.Name.Name]; old != nil {
			d := c.err("E0202", p.Name, fmt.Sprintf("two operands are named `%s`", p.Name.Name))
			d.Labels = append(d.Labels, c.label(old.Name, "the other one"))
		}
		seen[p.Name.Name] = p
		if p.Mode != iface.NoMode && t.Param != 0 {
			shown[t.Param] = true
		}
		sig.Params = append(sig.Params, types.Param{Name: p.Name.Name, Mode: p.Mode, Type: t,
			HasDefault: p.Default != nil, Default: orNil(p.Default), Span: c.f.At(p)})
		kind := types.ScalarObject
		if p.Mode != iface.NoMode {
			kind = types.OperandObject
		}
		p.Obj = &types.Object{Name: p.Name.Name, Kind: kind, Type: t, Decl: c.f.At(p.Name), Unit: c.unit}
		p.Name.Obj = p.Obj
		p.Name.SetType(t)
	}
	for i, p := range s.Params {
		if t := sig.Params[i].Type; p.Mode == iface.NoMode && t.Kind == types.Elem && t.Param != 0 && !shown[t.Param] {
			shown[t.Param] = true
			d := c.err("E0701", p.Type, fmt.Sprintf("nothing shows what `%c` stands for", t.Param))
			d.Notes = append(d.Notes, "an insert takes element types from its handles, and no handle operand has this one")
			d.Help = append(d.Help, "write an element type, such as `f64`")
		}
	}
	sig.Text = sigText(sig, c.text)
	o := &types.Object{Name: s.Name.Name, Kind: types.CodeletObject, Type: types.TNone, Doc: s.Doc,
		Decl: c.f.At(s.Name), Sig: sig, Node: s, Unit: c.unit}
	s.Name.Obj, s.Obj = o, o
	s.Name.SetType(types.TNone)
	c.info(o).by = "codelet"
	if s.Body == nil {
		c.externCodelet(s, o)
		c.unit.ExternCodelets = append(c.unit.ExternCodelets, o)
	}
	c.enter(o, s.Name)
	c.unit.Codelets = append(c.unit.Codelets, o)
}

func orNil(e syntax.Expr) any {
	if e == nil {
		return nil
	}
	return e
}

// operandType checks mode and type of one operand of a signature.
func (c *checker) operandType(p *syntax.Operand) *types.Type {
	t := c.resolve(p.Type, true)
	switch {
	case t.Kind == types.Invalid:
	case p.Mode == iface.NoMode:
		switch {
		case t.IsHandle():
			d := c.err("E0302", p, fmt.Sprintf("operand `%s` needs an access mode", p.Name.Name))
			d.Label = "data is passed with R, W, RW or SCRATCH"
			d.Help = append(d.Help, fmt.Sprintf("write `%s: R %s` if the codelet only reads it, `RW` if it changes it", p.Name.Name, c.text(p.Type)))
			return types.TInvalid
		case !t.IsScalar() && t.Kind != types.Elem:
			d := c.err("E0705", p.Type, fmt.Sprintf("a codelet cannot take %s", aType(t)))
			d.Help = append(d.Help, "operands are handles with a mode, and scalars: int, float, bool, string or an element type")
			return types.TInvalid
		}
	case p.Mode == iface.Commute || p.Mode == iface.Redux:
		d := c.err("E0308", p.ModeAt, fmt.Sprintf("a signature cannot have mode %v", p.Mode))
		d.Help = append(d.Help, fmt.Sprintf("declare `%s: RW %s`; each insert may then pass it as %v", p.Name.Name, c.text(p.Type), p.Mode))
		d.Edit(c.f.At(p.ModeAt), "RW")
	case !t.IsHandle():
		d := c.err("E0308", p.ModeAt, fmt.Sprintf("`%s` is %s, and only handles have modes", p.Name.Name, aType(t)))
		switch {
		case t.Kind == types.Elem:
			d.Help = append(d.Help, fmt.Sprintf("for one element that tasks share write `%s: %v variable[%v]`; for a number `%s: %v`", p.Name.Name, p.Mode, t, p.Name.Name, t))
		case t.IsScalar():
			d.Help = append(d.Help, fmt.Sprintf("write `%s: %v`", p.Name.Name, t))
			d.Edit(c.f.At(syntax.Span{Lo: p.ModeAt.Lo, Hi: p.Type.Lo}), "")
			d.Sure()
		}
		return types.TInvalid
	case t.Fields() != nil && p.Mode == iface.Scratch:
		d := c.err("E0308", p.ModeAt, fmt.Sprintf("a %v cannot be SCRATCH", t))
		d.Help = append(d.Help, fmt.Sprintf("take workspace as a vector for each field: `work: SCRATCH vector[%v]`", t.Fields().Arrays[0].Elem))
		return types.TInvalid
	case t.Sparse() != nil && p.Mode == iface.Scratch:
		d := c.err("E0308", p.ModeAt, fmt.Sprintf("a %s cannot be SCRATCH: memory without content has no structure", kindName(t)))
		d.Help = append(d.Help, fmt.Sprintf("write `%s: R %s`, and take workspace as a vector: `work: SCRATCH vector[%s]`", p.Name.Name, c.text(p.Type), elemText(t)))
		return types.TInvalid
	case t.Kind == types.Void && p.Mode == iface.Scratch:
		c.err("E0307", p.ModeAt, "void data has no bytes, so SCRATCH makes no sense on it")
	}
	return t
}

// elemText writes the element type of t.
func elemText(t *types.Type) string {
	return (&types.Type{Kind: types.Elem, Elem: t.Elem, Param: t.Param}).String()
}

// sigText writes a signature in the language: "axpy(a: T, x: R vector[T])".
func sigText(sig *types.Signature, text func(syntax.Node) string) string {
	var b strings.Builder
	b.WriteString(sig.Name + "(")
	for i, p := range sig.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + ": ")
		if p.Mode != iface.NoMode {
			b.WriteString(p.Mode.String() + " ")
		}
		b.WriteString(p.Type.String())
		if e, ok := p.Default.(syntax.Expr); ok && e != nil {
			b.WriteString(" = " + text(e))
		}
	}
	b.WriteString(")")
	if sig.Result != nil && sig.Result.Kind != types.None {
		b.WriteString(" -> " + sig.Result.String())
	}
	return b.String()
}

// externCodelet holds the signature against the one of the host, if the host
// offers the codelet already.
func (c *checker) externCodelet(s *syntax.Codelet, o *types.Object) {
	h := c.host[o.Name]
	if h == nil || h.Kind != types.CodeletObject || h.Sig == nil {
		return
	}
	o.Host, o.Kinds = h.Host, h.Kinds
	a, b := o.Sig.Params, h.Sig.Params
	same := len(a) == len(b)
	at := syntax.Node(s.Sig)
	for i := 0; same && i < len(a); i++ {
		if a[i].Name != b[i].Name || a[i].Mode != b[i].Mode || !types.Same(a[i].Type, b[i].Type) {
			same, at = false, s.Params[i]
		}
	}
	if !same {
		d := c.err("E0705", at, fmt.Sprintf("`extern codelet %s` differs from the host's codelet", o.Name))
		d.Notes = append(d.Notes, "the host has: codelet "+h.Sig.Text)
		d.Help = append(d.Help, "write the signature of the host")
	}
	for i := range a {
		if i < len(b) && b[i].HasDefault && !a[i].HasDefault {
			a[i].HasDefault, a[i].Default = true, b[i].Default
		}
	}
}

// codeletBody checks defaults, options and body of a codelet.
func (c *checker) codeletBody(s *syntax.Codelet) {
	if s.Obj == nil {
		return
	}
	for i, p := range s.Params {
		if p.Default == nil {
			continue
		}
		if p.Mode != iface.NoMode {
			c.expr(p.Default)
			c.err("E0705", p.Default, "data has no default")
			continue
		}
		if !c.paramsOnly(p.Default, "the default of an operand") {
			continue
		}
		c.want(p.Default, s.Obj.Sig.Params[i].Type, fmt.Sprintf("`%s`", p.Name.Name))
		c.inRange(p.Default, s.Obj.Sig.Params[i].Type, fmt.Sprintf("`%s`", p.Name.Name))
	}
	known := true
	for _, p := range s.Obj.Sig.Params {
		known = known && p.Type.Kind != types.Invalid
	}
	if s.Body != nil && known {
		ds := kernel.Check(c.f, s, s.Obj.Sig, c.scope.Lookup)
		if c.broken {
			ds = nil // names in it are found for editors; what is wrong may follow from what did not parse
		}
		c.diags = append(c.diags, ds...)
		c.calledInBody(s.Body)
		if len(ds) > 0 {
			c.namedInBody(s.Body)
			c.badBody[s.Obj] = ds.Err() != nil
		}
	}
	if s.With == nil {
		return
	}
	outer, frame := c.scope, c.frame
	c.scope, c.frame = c.scope.Inner(), &slotFrame{}
	for _, p := range s.Params {
		if p.Obj == nil {
			continue
		}
		c.info(p.Obj).used = true
		c.scope.Insert(p.Obj.Name, p.Obj)
	}
	c.options(s.With, "codelet")
	c.scope, c.frame = outer, frame
	for _, o := range s.With.Options {
		if o.Name.Name == "layouts" {
			c.layoutsOption(o, s.Obj)
			break // twice was reported
		}
	}
}

// calledInBody marks the funcs that a body calls, and their modules, as used.
func (c *checker) calledInBody(b *syntax.Block) {
	c.exprsOfBody(b, func(x syntax.Expr) {
		if id, ok := x.(*syntax.Ident); ok && id.Obj != nil && (id.Obj.Kind == types.FuncObject || id.Obj.Kind == types.ModuleObject) {
			c.markUsed(id.Obj)
		}
	})
}

// namedInBody marks the top-level names in a faulty body as used. They are not allowed
// there, which has been reported already.
func (c *checker) namedInBody(b *syntax.Block) {
	c.exprsOfBody(b, func(x syntax.Expr) {
		if id, ok := x.(*syntax.Ident); ok {
			if o := c.top.Names[id.Name]; o != nil {
				c.markUsed(o)
			} else if c.later[id.Name] != nil {
				c.early[id.Name] = true
			}
		}
	})
}

// exprsOfBody calls visit for each expression in the body of a codelet.
func (c *checker) exprsOfBody(b *syntax.Block, visit func(x syntax.Expr)) {
	mark := func(e syntax.Expr) {
		syntax.WalkExpr(e, func(x syntax.Expr) bool {
			visit(x)
			return true
		})
	}
	for _, s := range b.Stmts {
		syntax.WalkStmt(s, func(s syntax.Stmt) {
			if e, ok := s.(*syntax.Each); ok {
				for _, d := range e.Domain {
					mark(d)
				}
			}
			syntax.ExprsOf(s, mark)
		})
	}
}

// paramsOnly reports what in e is neither a constant nor a param: e is evaluated
// before any statement ran.
func (c *checker) paramsOnly(e syntax.Expr, what string) bool {
	n := len(c.diags)
	syntax.WalkExpr(e, func(x syntax.Expr) bool {
		switch x := x.(type) {
		case *syntax.Ident:
			o := c.scope.Lookup(x.Name)
			if o == nil && c.later[x.Name] == nil || o != nil && o.Kind == types.ParamObject {
				break
			}
			d := c.err("E0205", x, fmt.Sprintf("%s may use params and constants, and `%s` is neither", what, x.Name))
			switch {
			case o == nil:
				c.early[x.Name] = true
				d.Labels = append(d.Labels, c.label(c.later[x.Name], "declared here"))
			case !o.Decl.IsZero():
				c.markUsed(o)
				d.Labels = append(d.Labels, diag.Label{Span: o.Decl, Text: "declared here"})
			}
		case *syntax.Insert:
			c.err("E0105", x, what+" cannot insert tasks")
			return false
		case *syntax.ListComp:
			d := c.err("E0105", x, what+" cannot hold a comprehension")
			d.Help = append(d.Help, "write the items, or compute the list in a statement")
			return false
		case *syntax.Call:
			id, ok := x.Fn.(*syntax.Ident)
			if !ok || builtinFuncs[id.Name] == nil || impure[id.Name] || c.host[id.Name] != nil || c.scope.Lookup(id.Name) != nil {
				c.err("E0105", x, what+" may call builtin functions without effects only")
				return false
			}
			for _, a := range x.Args {
				c.paramsOnly(a.Value, what)
			}
			return false
		}
		return true
	})
	return len(c.diags) == n
}

// params checks the defaults of the script's params and puts the params into an
// order in which each comes after those that its default uses.
func (c *checker) params() {
	decl := map[*types.Object]*syntax.Param{}
	for _, o := range c.unit.Params {
		s := o.Node.(*syntax.Param)
		decl[o] = s
		switch {
		case s.Value != nil:
			if c.paramsOnly(s.Value, "the default of a param") {
				c.want(s.Value, o.Type, fmt.Sprintf("`%s`", o.Name))
			}
		case c.module:
			d := c.err("E0903", s, fmt.Sprintf("`%s` needs a default: a param of a module always has it", o.Name))
			d.Help = append(d.Help, fmt.Sprintf("write `param %s: %s = ...`", o.Name, c.text(s.Type)))
		}
	}
	state := map[*types.Object]int{}
	var visit func(o *types.Object) bool
	visit = func(o *types.Object) bool {
		state[o] = 1
		ok := true
		syntax.WalkExpr(decl[o].Value, func(x syntax.Expr) bool {
			id, isIdent := x.(*syntax.Ident)
			if !isIdent || id.Obj == nil || decl[id.Obj] == nil || !ok {
				return ok
			}
			switch state[id.Obj] {
			case 0:
				ok = visit(id.Obj)
			case 1:
				d := c.err("E0205", id, fmt.Sprintf("the default of `%s` depends on itself", id.Name))
				d.Help = append(d.Help, "give one of them a plain value")
				ok = false
			}
			return ok
		})
		state[o] = 2
		c.unit.ParamOrder = append(c.unit.ParamOrder, decl[o])
		return ok
	}
	for _, o := range c.unit.Params {
		if state[o] == 0 {
			visit(o)
		}
	}
}

// funcDecl enters a function with its signature.
func (c *checker) funcDecl(s *syntax.Func) {
	sig := &types.Signature{Name: s.Name.Name, Result: types.TNone}
	for _, p := range s.Params {
		t := c.resolveType(p.Type)
		if t.Kind == types.None {
			c.err("E0705", p.Type, "a parameter must have a value")
			t = types.TInvalid
		}
		sig.Params = append(sig.Params, types.Param{Name: p.Name.Name, Type: t,
			HasDefault: p.Default != nil, Default: orNil(p.Default), Span: c.f.At(p)})
	}
	if s.Result != nil {
		sig.Result = c.resolveType(s.Result)
		if sig.Result.Kind == types.Void {
			d := c.err("E0705", s.Result, "`void` is data without elements, not the lack of a result")
			d.Help = append(d.Help, "a function without a result has no `->`")
			d.Edit(c.f.At(syntax.Span{Lo: s.Sig.Hi, Hi: s.Result.Hi}), "")
			d.Sure()
			sig.Result = types.TInvalid
		}
	}
	sig.Text = sigText(sig, c.text)
	o := &types.Object{Name: s.Name.Name, Kind: types.FuncObject, Type: types.TNone, Doc: s.Doc,
		Decl: c.f.At(s.Name), Sig: sig, Node: s, Unit: c.unit}
	s.Name.Obj, s.Obj = o, o
	s.Name.SetType(types.TNone)
	c.info(o).by = "func"
	c.enter(o, s.Name)
	c.unit.Funcs = append(c.unit.Funcs, o)
	c.funcs = append(c.funcs, s)
}

// funcBody checks the body of a function. It sees all top-level names.
func (c *checker) funcBody(s *syntax.Func) {
	if s.Obj == nil || s.Body == nil {
		return
	}
	frame := c.frame
	c.fn, c.fnEnd, c.frame, c.loops = s.Obj, s.Obj.Sig.Result, &slotFrame{}, 0
	for i, p := range s.Params {
		if p.Default != nil {
			c.want(p.Default, s.Obj.Sig.Params[i].Type, fmt.Sprintf("`%s`", p.Name.Name))
		}
	}
	c.push()
	for i, p := range s.Params {
		o := c.declare(types.FuncParam, p.Name, s.Obj.Sig.Params[i].Type, "parameter")
		o.Node = p
	}
	c.stmts(s.Body.Stmts)
	if t := c.fnEnd; t.Kind != types.None && t.Kind != types.Invalid && !ends(s.Body.Stmts) {
		d := c.err("E0705", s.Name, fmt.Sprintf("`%s` does not return a value on every path", s.Name.Name))
		d.Help = append(d.Help, fmt.Sprintf("end it with `return` and %s", aType(t)))
	}
	c.pop()
	s.Slots = c.frame.slots
	c.fn, c.fnEnd, c.frame = nil, nil, frame
}

// ends reports whether no path leaves the statements at their end.
func ends(list []syntax.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Return, *syntax.Break, *syntax.Continue:
			return true
		case *syntax.Block:
			if ends(s.Stmts) {
				return true
			}
		case *syntax.If:
			if s.Else != nil && s.Then != nil && ends(s.Then.Stmts) && ends([]syntax.Stmt{s.Else}) {
				return true
			}
		case *syntax.Acquire:
			if s.Body != nil && ends(s.Body.Stmts) {
				return true
			}
		case *syntax.While:
			if b, ok := syntax.Unparen(s.Cond).(*syntax.BoolLit); ok && b.Value && s.Body != nil && !syntax.Breaks(s.Body.Stmts) {
				return true
			}
		}
	}
	return false
}

// instance is an insert that determines the element types of a codelet of the script. The body
// can be right for some types and wrong for others.
type instance struct {
	insert  *syntax.Insert
	codelet *types.Object
}

// instantiate records an insert without type errors, for checkInstances.
func (c *checker) instantiate(e *syntax.Insert, o *types.Object) {
	if node, ok := o.Node.(*syntax.Codelet); ok && node.Body != nil && len(e.TypeArgs) > 0 && o.Unit != nil {
		c.instantiated = append(c.instantiated, instance{e, o})
	}
}

// checkInstances checks the bodies of the recorded inserts, once for each combination of
// element types. It skips bodies with errors of all types.
func (c *checker) checkInstances() {
	type key struct {
		codelet *types.Object
		elems   ['Z' - 'A' + 1]iface.Elem // one more than the type: 0 is none
	}
	seen := map[key]bool{}
	for _, in := range c.instantiated {
		unit, ok := in.codelet.Unit.(*Unit)
		if !ok || c.badBody[in.codelet] {
			continue
		}
		k := key{codelet: in.codelet}
		for name, elem := range in.insert.TypeArgs {
			k.elems[name-'A'] = elem + 1
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		for _, d := range kernel.CheckElems(unit.File, in.codelet.Node.(*syntax.Codelet), in.codelet.Sig, in.insert.TypeArgs) {
			if d.Severity != diag.Error {
				continue
			}
			d.Labels = append(d.Labels, c.label(in.insert.Word, "inserted here"))
			c.diags = append(c.diags, d)
		}
	}
}
