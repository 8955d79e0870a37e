package check

// insert: its arguments, and whether each is what the parameter takes.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// insert checks one insert; its value is a task.
func (c *checker) insert(e *syntax.Insert) *types.Type {
	o := c.codeletNamed(e)
	if o == nil {
		c.failed[e] = true
		for _, a := range e.Args {
			c.expr(a.Value)
			c.node(a.At)
		}
		c.options(e.With, "insert")
		return types.TTask
	}
	e.Callee = o
	n := len(c.diags)
	if c.bindInsert(e, o.Sig) {
		c.elementTypes(e, o.Sig)
		c.shared(e)
	}
	if len(c.diags) > n {
		c.failed[e] = true
	} else {
		c.instantiate(e, o)
	}
	c.options(e.With, "insert")
	c.implemented(e.With, o)
	return types.TTask
}

// bindInsert fills e.Bound. It reports whether every parameter has what it needs.
func (c *checker) bindInsert(e *syntax.Insert, sig *types.Signature) bool {
	e.Bound = make([]*syntax.TaskArg, len(sig.Params))
	ok, from := true, len(c.diags)
	for i, a := range e.Args {
		k := i
		switch {
		case a.Name != nil:
			a.Name.SetType(types.TNone)
			k = paramIndex(sig, a.Name.Name)
			if k < 0 {
				c.noParam(a.Name, sig)
				for _, o := range optionsOf("insert") {
					if o.Name == a.Name.Name {
						d := &c.diags[len(c.diags)-1]
						d.Help = append(d.Help, fmt.Sprintf("options follow the operands: `with %s`", c.text(a)))
					}
				}
			} else if e.Bound[k] != nil {
				c.twice(a.Name, sig.Params[k].Name)
				k = -1
			}
		case k >= len(sig.Params):
			if ok {
				c.tooMany(a, len(sig.Params), sig)
			}
			k = -1
		case i > 0 && e.Args[i-1].Name != nil:
			c.err("E0705", a, "an argument without a name must come before those with names")
			k = -1
		}
		if k < 0 {
			c.expr(a.Value)
			c.node(a.At)
			ok = false
			continue
		}
		e.Bound[k] = a
		if !c.taskArg(e, a, k, sig) {
			ok = false
		}
	}
	if !ok {
		c.otherOrder(e, sig, from)
	}
	if ok && c.missing(e.Parens, sig, func(i int) bool { return e.Bound[i] != nil }) {
		ok = false
	}
	return ok
}

// node checks the node after @.
func (c *checker) node(e syntax.Expr) {
	if e != nil {
		c.want(e, types.TNode, "what stands after `@`")
	}
}

// taskArg checks one argument against its parameter, element types apart.
func (c *checker) taskArg(e *syntax.Insert, a *syntax.TaskArg, k int, sig *types.Signature) bool {
	p := &sig.Params[k]
	c.node(a.At)
	t := c.expr(a.Value)
	if p.Type.Kind == types.Invalid || t.Kind == types.Invalid {
		return false
	}
	if p.Mode == iface.NoMode {
		if a.Mode != iface.NoMode {
			d := c.err("E0308", a.ModeAt, fmt.Sprintf("`%s` of `%s` is a scalar, and scalars have no mode", p.Name, sig.Name))
			d.Notes = append(d.Notes, "codelet "+sig.Text)
			d.Help = append(d.Help, fmt.Sprintf("write `%s`", c.text(a.Value)))
			d.Edit(c.f.At(a), c.text(a.Value))
			d.Sure()
			return false
		}
		if !c.fits(p.Type, a.Value) {
			c.mismatch(a.Value, p.Type, fmt.Sprintf("`%s` of `%s`", p.Name, sig.Name))
			return false
		}
		n := len(c.diags)
		c.inRange(a.Value, p.Type, fmt.Sprintf("`%s`", p.Name))
		return len(c.diags) == n
	}
	if !c.rightKind(a, t, p, sig) {
		return false
	}
	if a.Mode == iface.NoMode {
		d := c.err("E0302", a.Value, "a handle argument needs an access mode")
		d.Label = fmt.Sprintf("%v, parameter `%s` of `%s`", t, p.Name, sig.Name)
		d.Notes = append(d.Notes, "the order of tasks follows from these modes, so they are always written")
		d.Help = append(d.Help, fmt.Sprintf("write `%v %s`: `%s` declares `%s` as %v", p.Mode, c.text(a.Value), sig.Name, p.Name, p.Mode))
		d.Edit(c.f.At(a.Value).Before(), p.Mode.String()+" ")
		if root := c.rootOf(a.Value); p.Mode == iface.RW && root != nil && c.infos[root] != nil && c.infos[root].ctor != nil && namedArg(c.infos[root].ctor, "reduce") != nil {
			d.Help = append(d.Help, fmt.Sprintf("or `REDUX %s`, if it adds to what `reduce` combines", c.text(a.Value)))
			return false
		}
		d.Sure()
		return false
	}
	return c.modeFits(e, a, t, k, sig)
}

// rightKind reports whether the handle that a passes is of the parameter's kind.
func (c *checker) rightKind(a *syntax.TaskArg, t *types.Type, p *types.Param, sig *types.Signature) bool {
	if t.Kind == p.Type.Kind || p.Type.Kind == types.Dense && t.IsDense() {
		return true
	}
	d := c.err("E0705", a.Value, fmt.Sprintf("`%s` of `%s` is %s, and this is %s", p.Name, sig.Name, aKind(p.Type), aType(t)))
	d.Notes = append(d.Notes, "codelet "+sig.Text)
	switch {
	case t.Kind == types.View && types.Same(t.Of, p.Type) || t.Kind == types.View && t.Of.Kind == p.Type.Kind:
		d.Help = append(d.Help, fmt.Sprintf("pass one part of the view: `%v %s[i]`", p.Mode, c.text(a.Value)))
	case t.Kind == types.List:
		d.Help = append(d.Help, fmt.Sprintf("pass one of the list: `%v %s[i]`", p.Mode, c.text(a.Value)))
	case t.Kind == types.Array && a.Mode != iface.NoMode:
		d.Help = append(d.Help, "pass the handle that was acquired, not the array")
	case t.Kind == types.Vector && p.Type.Kind == types.Variable:
		of := c.text(a.Value)
		if x, ok := unparen(a.Value).(*syntax.Index); ok { // a part of one element is a vector all the same
			of = c.text(x.X)
			if id, ok := x.X.(*syntax.Ident); ok && c.infos[id.Obj] != nil && c.infos[id.Obj].part != nil {
				of = c.text(c.infos[id.Obj].part.Of[0])
			}
		}
		d.Help = append(d.Help, fmt.Sprintf("an element is a variable in a view by `pick`: `partition elements = %s by pick(0)`, then `%v elements[i]`", of, p.Mode))
	case t.IsNumber() && p.Type.Kind == types.Variable:
		d.Help = append(d.Help, fmt.Sprintf("register it: `register s = %v(fill = %s)`", concrete(p.Type), c.text(a.Value)))
	}
	return false
}

// aKind writes the kind of a parameter with an article.
func aKind(t *types.Type) string {
	if t.Kind == types.Dense {
		return "a vector or a matrix"
	}
	return aType(t)
}

func concrete(t *types.Type) *types.Type {
	if t.Param != 0 {
		return &types.Type{Kind: t.Kind, Elem: iface.F64}
	}
	return t
}
