package check

// Assignment: what may stand on the left, and what then must on the right.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// assign is target op= value: only let names, parameters of functions, elements
// of lists and of acquired arrays change.
func (c *checker) assign(s *syntax.Assign) {
	switch t := unparen(s.Target).(type) {
	case *syntax.Ident:
		c.assignName(s, t)
	case *syntax.Index:
		c.assignElement(s, t)
	default:
		c.expr(s.Target)
		c.expr(s.Value)
		d := c.err("E0204", s.Target, "this cannot be assigned")
		d.Label = "only names and elements can"
		if sel, ok := t.(*syntax.Selector); ok && c.moduleOf(sel.X) == nil {
			d.Label = "fields are read only"
		}
		if call, ok := t.(*syntax.Call); ok {
			c.squareBrackets(d, call)
		}
	}
}

func (c *checker) assignName(s *syntax.Assign, id *syntax.Ident) {
	used := false
	if o := c.scope.Lookup(id.Name); o != nil && c.infos[o] != nil {
		used = c.infos[o].used
	}
	o := c.find(id)
	if o == nil {
		c.expr(s.Value)
		id.SetType(types.TInvalid)
		if c.later[id.Name] == nil && !c.broken {
			d := c.err("E0201", id, fmt.Sprintf("`%s` is not defined", id.Name))
			if form, ok := c.constructorForm(s.Value); ok && s.Op == "=" {
				d.Help = append(d.Help, fmt.Sprintf("data is registered: `register %s = %s`", id.Name, form))
			} else if mentions(s.Value, id.Name) || s.Op != "=" {
				first := "0"
				if appends(s.Value) {
					first = "[]"
				}
				d.Help = append(d.Help, fmt.Sprintf("it needs a first value above: `let %s = %s`", id.Name, first))
			} else {
				d.Help = append(d.Help, fmt.Sprintf("to make a new name write `let %s = %s`", id.Name, c.text(s.Value)))
				at := c.f.At(s.Target)
				if c.fn == nil && len(c.loopNames) == 0 && c.scope == c.top {
					d.Edit(at.Before(), "let ")
				}
			}
			c.meant(d, id.Name, func(o *types.Object) bool { return o.Kind == types.LetObject || o.Kind == types.FuncParam })
			return
		}
		c.undefined(id, isValue)
		return
	}
	id.SetType(o.Type)
	s.Target.SetType(o.Type)
	if o.Kind != types.LetObject && o.Kind != types.FuncParam {
		c.expr(s.Value)
		c.notAssignable(s, id, o)
		return
	}
	if in := c.infos[o]; in != nil {
		in.used = used // being assigned is no use
	}
	c.assignValue(s, o.Type)
	c.outlives(s, o)
}

func (c *checker) notAssignable(s *syntax.Assign, id *syntax.Ident, o *types.Object) {
	d := c.err("E0204", id, fmt.Sprintf("`%s` is %s and cannot be assigned", id.Name, what(o)))
	if !o.Decl.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: o.Decl, Text: "declared here"})
	}
	switch o.Kind {
	case types.HandleObject, types.ViewObject:
		if t := s.Value.Type(); s.Op == "=" && t != nil && t.IsHandle() {
			if from, ok := unparen(s.Value).(*syntax.Ident); ok && from.Name != id.Name {
				d.Help = append(d.Help, fmt.Sprintf("names of `let` change what they stand for: `let %[1]s_now = %[1]s` and `let %[2]s_now = %[2]s` above, then `%[1]s_now = %[2]s_now`; nothing is copied", id.Name, from.Name))
			}
			if o.Type != nil && (o.Type.Kind == types.Vector || o.Type.Kind == types.Matrix) {
				d.Help = append(d.Help, fmt.Sprintf("the elements are copied by a task: `import \"std/blas\" as blas`, then `insert blas.copy(R %s, W %s)`", c.text(s.Value), id.Name))
			}
			break
		}
		if o.Kind == types.HandleObject && o.Type != nil && o.Type.Kind == types.Variable {
			c.writeHere(d, s, id, o)
			break
		}
		d.Help = append(d.Help, "data changes in tasks; to write it here use `acquire`")
	case types.ArrayObject:
		d.Help = append(d.Help, fmt.Sprintf("assign its elements: `%s[i] = ...`", id.Name))
	default:
		d.Help = append(d.Help, "make a name that can change: `let name = ...`")
	}
}

// assignValue checks the value of an assignment to a place of type t.
func (c *checker) assignValue(s *syntax.Assign, t *types.Type) {
	v := c.expr(s.Value)
	if s.Op != "=" {
		// a op= b is a = a op b.
		b := &syntax.Binary{Op: s.Op[:len(s.Op)-1], OpAt: s.OpAt, X: s.Target, Y: s.Value}
		b.Span = s.Span
		v = c.operator(b, t, v)
		b.SetType(v)
		if v != types.TInvalid && !c.fits(t, b) {
			c.assignMismatch(s, b, t)
		}
		return
	}
	if !c.fits(t, s.Value) {
		c.assignMismatch(s, s.Value, t)
	}
}

func (c *checker) assignMismatch(s *syntax.Assign, e syntax.Expr, t *types.Type) {
	if t.Kind == types.Int && isType(e, types.Float) {
		id, ok := unparen(s.Target).(*syntax.Ident)
		at := syntax.Node(s.Value)
		d := c.err("E0703", at, fmt.Sprintf("`%s` is an int, and this makes it a float", c.text(s.Target)))
		if ok && id.Obj != nil && id.Obj.Kind == types.LetObject {
			if !id.Obj.Decl.IsZero() {
				d.Labels = append(d.Labels, diag.Label{Span: id.Obj.Decl, Text: "an int from here on"})
			}
			d.Help = append(d.Help, fmt.Sprintf("declare it as a float: `let %s: float = ...`", id.Name))
		} else {
			d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", c.text(s.Value)))
			d.Edit(c.f.At(s.Value), "int("+c.text(s.Value)+")")
		}
		if s.Op == "/=" {
			d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; to round down write `%s = %s // %s`", c.text(s.Target), c.text(s.Target), c.text(s.Value)))
		}
		return
	}
	d := c.err("E0705", s.Value, fmt.Sprintf("`%s` is %s, and this is %s", c.text(s.Target), aType(t), aType(e.Type())))
	if id, ok := unparen(s.Target).(*syntax.Ident); ok && id.Obj != nil && !id.Obj.Decl.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: id.Obj.Decl, Text: "declared here"})
	}
}

// assignElement is a[i] = value on a list or an acquired array.
func (c *checker) assignElement(s *syntax.Assign, x *syntax.Index) {
	n := len(c.diags)
	t := c.expr(s.Target)
	faulty := len(c.diags) > n
	base := x.X.Type()
	switch base.Kind {
	case types.Invalid:
		if base != types.TInvalid {
			break
		}
		c.expr(s.Value)
		return
	case types.List, types.Array:
		if faulty && t == types.TInvalid {
			if unknown(base) && len(x.Args) == 1 { // this use shows what the list holds
				break
			}
			c.expr(s.Value)
			return
		}
		for _, a := range x.Args {
			if isType(a, types.Range) {
				c.expr(s.Value)
				d := c.err("E0204", s.Target, "a slice is a copy and cannot be assigned")
				d.Help = append(d.Help, "assign the elements one by one in a `for`")
				return
			}
		}
		if c.frozen(x.X) {
			c.expr(s.Value)
			d := c.err("E0204", s.Target, "lists of a module cannot be changed from outside")
			d.Help = append(d.Help, "copy it first: `let a = [x for x in "+c.text(x.X)+"]`")
			return
		}
	default:
		c.expr(s.Value)
		if faulty {
			return // has no elements, as was reported
		}
		d := c.err("E0204", s.Target, fmt.Sprintf("elements of %s cannot be assigned", aType(base)))
		if base.IsHandle() || base.Kind == types.View {
			of, indices := x.X, c.indicesFor(base, x.Args)
			if base.Kind == types.View {
				of, indices = x, "..." // a part
			}
			a, value := c.arrayFor(of), c.text(s.Value)
			if len(value) > 30 || !s.Value.Type().IsNumber() {
				value = "..."
			}
			d.Help = append(d.Help, fmt.Sprintf("write `acquire RW %s as %s { %s[%s] %s %s }`, or a codelet", c.text(of), a, a, indices, s.Op, value))
		}
		return
	}
	c.assignValue(s, t)
}

// frozen reports whether e is a list that another module exports.
func (c *checker) frozen(e syntax.Expr) bool {
	for {
		switch x := unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Selector:
			id, ok := x.X.(*syntax.Ident)
			return ok && id.Obj != nil && id.Obj.Kind == types.ModuleObject
		default:
			return false
		}
	}
}

// outlives reports data of an inner block that is assigned to a name of an
// outer one: the data ends with its block.
func (c *checker) outlives(s *syntax.Assign, target *types.Object) {
	in := c.infos[target]
	if in == nil {
		return
	}
	walkExpr(s.Value, func(e syntax.Expr) bool {
		switch x := e.(type) {
		case *syntax.Paren, *syntax.ListLit, *syntax.Cond:
			return true
		case *syntax.Binary:
			return x.Op == "+"
		case *syntax.Index:
			return x.Type() != nil && x.Type().IsHandle() // a part
		case *syntax.Ident:
			o := x.Obj
			if o == nil || o.Kind != types.HandleObject && o.Kind != types.ViewObject {
				return false
			}
			if oin := c.infos[o]; oin != nil && oin.depth > in.depth {
				d := c.err("E0407", x, fmt.Sprintf("`%s` ends with its block, and `%s` lives longer", x.Name, target.Name))
				d.Labels = append(d.Labels, diag.Label{Span: o.Decl, Text: "belongs to the inner block"}, diag.Label{Span: target.Decl, Text: "belongs to an outer block"})
				noun := "register"
				if o.Kind == types.ViewObject {
					noun = "partition"
				}
				d.Help = append(d.Help, fmt.Sprintf("move the `%s` of `%s` to the block of `%s`", noun, x.Name, target.Name))
			}
		}
		return false
	})
}

// mentions reports whether the name stands in e.
func mentions(e syntax.Expr, name string) bool {
	found := false
	walkExpr(e, func(x syntax.Expr) bool {
		id, ok := x.(*syntax.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// appends reports whether e is a list, or has one added to it: xs + [x].
func appends(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.ListLit, *syntax.ListComp:
		return true
	case *syntax.Binary:
		return e.Op == "+" && (appends(e.X) || appends(e.Y))
	}
	return false
}
