package check

// Layouts of data on devices: layout(…) in a constructor, and the option layouts of a codelet.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

const layoutForm = "layout(into = t, from = f, sizes = [...])"

// layout checks layout(into = t, from = f, sizes = [...], on = kinds).
func (c *checker) layout(e *syntax.Call) *types.Type {
	given := map[string]*syntax.Arg{}
	codelets := map[string]*types.Object{}
	for i, a := range e.Args {
		name := ""
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			name = a.Name.Name
		} else if i < 2 {
			name = [2]string{"into", "from"}[i]
		}
		switch {
		case name != "" && given[name] != nil:
			c.twice(a, name)
		case name == "into" || name == "from":
			o := c.codeletValue(a.Value)
			if o != nil && !converts(o.Sig) {
				d := c.err("E0705", a.Value, fmt.Sprintf("`%s` cannot be the `%s` of a layout", o.Name, name))
				d.Notes = append(d.Notes, "codelet "+o.Sig.Text)
				d.Help = append(d.Help, "it must have two operands and nothing else: `t(x: R H, y: W D)` makes the layout of devices, `f(y: R D, x: W H)` that of main memory")
				o = nil
			}
			codelets[name] = o
		case name == "sizes":
			c.want(a.Value, types.ListOf(types.TInt), "`sizes`")
		case name == "on":
			c.layoutKinds(a.Value)
		default:
			c.expr(a.Value)
			c.err("E0705", a, "`layout` takes `into`, `from`, `sizes` and `on`")
		}
		given[name] = a
	}
	for _, name := range []string{"into", "from"} {
		if given[name] == nil {
			d := c.err("E0705", e, fmt.Sprintf("`layout` needs `%s`", name))
			d.Help = append(d.Help, "write `"+layoutForm+"` with codelets t(x: R H, y: W D) and f(y: R D, x: W H)")
			return types.TLayout
		}
	}
	into, from := codelets["into"], codelets["from"]
	if into == nil || from == nil {
		return types.TLayout
	}
	if !types.Same(into.Sig.Params[0].Type, from.Sig.Params[1].Type) || !types.Same(into.Sig.Params[1].Type, from.Sig.Params[0].Type) {
		d := c.err("E0705", e, fmt.Sprintf("`%s` does not take back what `%s` makes", from.Name, into.Name))
		d.Notes = append(d.Notes, "codelet "+into.Sig.Text, "codelet "+from.Sig.Text)
		d.Help = append(d.Help, fmt.Sprintf("the operands of `%s` are those of `%s`, the other way round", from.Name, into.Name))
		return types.TLayout
	}
	main, far := into.Sig.Params[0].Type, into.Sig.Params[1].Type
	if far.Param != 0 && far.Param != main.Param {
		d := c.err("E0705", given["into"], fmt.Sprintf("nothing shows which elements `%s` makes", into.Name))
		d.Notes = append(d.Notes, "codelet "+into.Sig.Text)
		d.Help = append(d.Help, fmt.Sprintf("give both operands the same letter, or write the element type of `%s`", into.Sig.Params[1].Name))
		return types.TLayout
	}
	rank := far.Data().Rank()
	switch sizes := given["sizes"]; {
	case sizes == nil && !types.SameKind(main, far):
		d := c.err("E0705", e, fmt.Sprintf("`layout` needs `sizes`: devices have %s, and main memory %s", aType(far), aType(main)))
		d.Help = append(d.Help, fmt.Sprintf("write the sizes of the %s, in the order of its indices: `sizes = [%s]`", kindName(far), strings.Join(far.Data().Sizes(), ", ")))
	case sizes != nil:
		if l, ok := syntax.Unparen(sizes.Value).(*syntax.ListLit); ok && len(l.Items) != rank {
			d := c.err("E0705", sizes.Value, fmt.Sprintf("`sizes` has %s, and `%s` makes %s", numbers(len(l.Items)), into.Name, aType(far)))
			d.Help = append(d.Help, fmt.Sprintf("write %s: `[%s]`", numbers(rank), strings.Join(far.Data().Sizes(), ", ")))
		}
	}
	return types.TLayout
}

// numbers writes how many numbers there are.
func numbers(n int) string {
	if n == 1 {
		return "1 number"
	}
	return fmt.Sprintf("%d numbers", n)
}

// converts reports whether a codelet with signature sig takes dense data to other dense data, and nothing else.
func converts(sig *types.Signature) bool {
	if sig == nil || len(sig.Params) != 2 || sig.Params[0].Mode != iface.R || sig.Params[1].Mode != iface.W {
		return false
	}
	return layable(sig.Params[0].Type) && layable(sig.Params[1].Type)
}

// layable reports whether data of type t is one dense array of elements, which can have layouts.
func layable(t *types.Type) bool {
	return t.Kind == types.Invalid || t.IsHandle() && t.Kind != types.Void && t.Sparse() == nil && t.Kind != types.Dense && t.Kind != types.Any
}

// layoutKinds checks the argument on of a layout.
func (c *checker) layoutKinds(e syntax.Expr) {
	t := c.expr(e)
	if t.Kind == types.Invalid {
		return
	}
	if t.Kind != types.DeviceKind && !(t.Kind == types.List && t.Of != nil && t.Of.Kind == types.DeviceKind) {
		d := c.err("E0705", e, fmt.Sprintf("`on` takes a kind of devices or a list of kinds, and this is %s", aType(t)))
		d.Help = append(d.Help, "write `on = cuda`, `on = opencl`, or leave it out: then all devices have the layout")
		return
	}
	items := []syntax.Expr{syntax.Unparen(e)}
	if l, ok := items[0].(*syntax.ListLit); ok {
		items = l.Items
	}
	for _, x := range items {
		if id, ok := syntax.Unparen(x).(*syntax.Ident); ok && id.Obj != nil && id.Obj.Kind == types.BuiltinValue && id.Name == "cpu" {
			d := c.err("E0705", x, "CPU workers have the layout of main memory, which is that of the constructor")
			d.Help = append(d.Help, "name kinds of devices: `on = cuda` or `on = opencl`")
		}
	}
}

// layouts checks the argument layout of a constructor of data of type t: a layout, or a list of them.
func (c *checker) layouts(e syntax.Expr, t *types.Type) {
	switch x := syntax.Unparen(e).(type) {
	case *syntax.ListLit:
		for _, it := range x.Items {
			c.layouts(it, t)
		}
		x.SetType(types.ListOf(types.TLayout))
		e.SetType(x.Type())
		return
	case *syntax.Ident:
		if (x.Name == "soa" || x.Name == "aos") && c.scope.Lookup(x.Name) == nil {
			x.SetType(types.TInvalid)
			e.SetType(types.TInvalid)
			d := c.err("E0705", x, fmt.Sprintf("`%s` is a layout of structs, and the elements are numbers", x.Name))
			d.Help = append(d.Help, "leave `layout` out, or declare a struct and register a vector of it: `vector[P](n)`")
			return
		}
	}
	got := c.expr(e)
	if got.Kind == types.List && got.Of != nil && got.Of.Kind == types.Layout {
		return
	}
	if got.Kind != types.Invalid && got.Kind != types.Layout {
		d := c.err("E0705", e, fmt.Sprintf("`layout` takes a layout on devices, and this is %s", aType(got)))
		d.Help = append(d.Help, "write `layout = "+layoutForm+"`")
		return
	}
	call, ok := syntax.Unparen(e).(*syntax.Call)
	if !ok || call.Callee != builtinFuncs["layout"] || t == types.TInvalid {
		return
	}
	into, at := layoutInto(call)
	if into == nil || !converts(into.Sig) {
		return
	}
	p := into.Sig.Params[0].Type
	if p != types.TInvalid && (!p.Admits(t) || p.Param == 0 && p.Elem != t.Elem) {
		d := c.err("E0705", at, fmt.Sprintf("`%s` converts %s, and this data is %s", into.Name, aType(p), aType(t)))
		d.Notes = append(d.Notes, "codelet "+into.Sig.Text)
	}
}

// layoutInto returns the codelet into of a layout, and where it is named.
func layoutInto(call *syntax.Call) (*types.Object, syntax.Node) {
	for i, a := range call.Args {
		if a.Name != nil && a.Name.Name != "into" || a.Name == nil && i != 0 {
			continue
		}
		switch x := syntax.Unparen(a.Value).(type) {
		case *syntax.Ident:
			return x.Obj, a.Value
		case *syntax.Selector:
			return x.Name.Obj, a.Value
		}
	}
	return nil, nil
}

// layoutsOption checks `layouts = other(p, q)` of the codelet own: other runs instead of it where p and q have the
// layout of devices, and so differs in the types of these operands only.
func (c *checker) layoutsOption(opt *syntax.Option, own *types.Object) {
	if own.Node.(*syntax.Codelet).Body == nil {
		c.exprUnlessCodelet(opt.Value)
		d := c.err("E0705", opt, fmt.Sprintf("`%s` is a codelet of the host, which says itself which layouts it takes", own.Name))
		d.Help = append(d.Help, "leave the option out, and see Formats of engine.Codelet")
		return
	}
	call, ok := syntax.Unparen(opt.Value).(*syntax.Call)
	if !ok || len(call.Args) == 0 {
		c.exprUnlessCodelet(opt.Value)
		d := c.err("E0705", opt.Value, "`layouts` takes a codelet with the operands that it takes in the layout of devices")
		example := "p"
		for _, p := range own.Sig.Params {
			if p.Mode != iface.NoMode {
				example = p.Name
				break
			}
		}
		d.Help = append(d.Help, fmt.Sprintf("write `layouts = other(%s)`, where `other` takes what `%s` takes, but for the type of `%s`", example, own.Name, example))
		return
	}
	call.SetType(types.TNone)
	opt.Value.SetType(types.TNone)
	other := c.codeletValue(call.Fn)
	listed := map[string]bool{}
	ok = true
	for _, a := range call.Args {
		a.Value.SetType(types.TNone)
		id, isName := syntax.Unparen(a.Value).(*syntax.Ident)
		k := -1
		if isName && a.Name == nil {
			id.SetType(types.TNone)
			k = paramIndex(own.Sig, id.Name)
		}
		switch {
		case k < 0 || own.Sig.Params[k].Mode == iface.NoMode:
			d := c.err("E0705", a, fmt.Sprintf("this must be the name of an operand of `%s`", own.Name))
			d.Notes = append(d.Notes, "codelet "+own.Sig.Text)
			ok = false
		case listed[id.Name]:
			c.twice(a, id.Name)
			ok = false
		case !layable(own.Sig.Params[k].Type):
			d := c.err("E0705", a, fmt.Sprintf("`%s` is %s, which has one layout only", id.Name, aKind(own.Sig.Params[k].Type)))
			d.Help = append(d.Help, "layouts are for variables, vectors, matrices, blocks and tensors")
			ok = false
		default:
			listed[id.Name] = true
		}
	}
	if other == nil || other.Sig == nil || !ok {
		return
	}
	c.markUsed(other)
	fail := func(text, help string) {
		d := c.err("E0705", call.Fn, fmt.Sprintf("`%s` cannot run instead of `%s`: %s", other.Name, own.Name, text))
		d.Notes = append(d.Notes, "codelet "+other.Sig.Text, "codelet "+own.Sig.Text)
		d.Help = append(d.Help, help)
	}
	if other == own {
		fail("it is the same codelet", "declare another one, for the layout of devices")
		return
	}
	if len(other.Sig.Params) != len(own.Sig.Params) {
		fail("it has another number of parameters", "give both the same parameters in the same order")
		return
	}
	if node, isOwn := other.Node.(*syntax.Codelet); isOwn && node.With != nil && slices.ContainsFunc(node.With.Options, func(o *syntax.Option) bool { return o.Name.Name == "layouts" }) {
		fail("it has an option `layouts` itself", "leave that out: a device has one layout of each operand")
		return
	}
	letters := map[byte]bool{}
	for _, p := range own.Sig.Params {
		letters[p.Type.Param] = true
	}
	for i := range own.Sig.Params {
		p, q := &own.Sig.Params[i], &other.Sig.Params[i]
		switch {
		case p.Type.Kind == types.Invalid || q.Type.Kind == types.Invalid:
			return
		case p.Mode != q.Mode:
			fail(fmt.Sprintf("`%s` has another mode than `%s`", q.Name, p.Name), "give both the same modes")
			return
		case !listed[p.Name] && !types.Same(p.Type, q.Type):
			fail(fmt.Sprintf("`%s` is %s, and `%s` is %s", q.Name, aType(q.Type), p.Name, aType(p.Type)), fmt.Sprintf("list `%s` with the operands that have another layout, or give both the same type", p.Name))
			return
		case listed[p.Name] && !layable(q.Type):
			fail(fmt.Sprintf("`%s` is %s", q.Name, aKind(q.Type)), "layouts are for variables, vectors, matrices, blocks and tensors")
			return
		case !letters[q.Type.Param] && q.Type.Param != 0:
			fail(fmt.Sprintf("nothing shows what `%c` stands for", q.Type.Param), fmt.Sprintf("use the letters of `%s`, or write an element type", own.Name))
			return
		}
	}
}

// codeletValue finds the codelet that an argument of reducer or layout names.
func (c *checker) codeletValue(e syntax.Expr) *types.Object {
	e.SetType(types.TNone)
	var o *types.Object
	switch x := e.(type) {
	case *syntax.Ident:
		if o = c.find(x); o == nil {
			c.undefined(x, func(o *types.Object) bool { return o.Kind == types.CodeletObject })
			return nil
		}
	case *syntax.Selector:
		if mod := c.moduleOf(x.X); mod != nil {
			x.Name.SetType(types.TNone)
			if o = c.member(x.X.(*syntax.Ident), mod, x.Name, "codelet"); o == nil {
				return nil
			}
		}
	}
	if o == nil {
		c.expr(e)
		c.err("E0705", e, "this must be the name of a codelet")
		return nil
	}
	if o.Kind != types.CodeletObject {
		c.err("E0705", e, fmt.Sprintf("this must be the name of a codelet, and `%s` is %s", c.text(e), what(o)))
		return nil
	}
	return o
}

// exprUnlessCodelet checks e, which may name a codelet where none is a value.
func (c *checker) exprUnlessCodelet(e syntax.Expr) {
	if id, ok := syntax.Unparen(e).(*syntax.Ident); ok {
		if o := c.find(id); o != nil && o.Kind == types.CodeletObject {
			id.SetType(types.TNone)
			e.SetType(types.TNone)
			return
		}
	}
	c.expr(e)
}
