package check

// insert: the codelet, its operands with their modes, and element types.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
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

// codeletNamed finds the codelet of an insert, nil after a report.
func (c *checker) codeletNamed(e *syntax.Insert) *types.Object {
	if len(e.Path) == 0 {
		return nil
	}
	first := e.Path[0]
	for _, id := range e.Path {
		id.SetType(types.TNone)
	}
	o := c.find(first)
	if o == nil || o.Kind == types.BuiltinValue {
		first.Obj = nil
		c.noCodelet(first, len(e.Path) > 1)
		return nil
	}
	if o.Kind == types.ModuleObject && len(e.Path) > 1 {
		o = c.member(first, o, e.Path[1], "codelet")
		if o == nil {
			return nil
		}
		if len(e.Path) > 2 {
			c.err("E0203", e.Path[2], fmt.Sprintf("`%s.%s` is %s and has no members", first.Name, e.Path[1].Name, what(o)))
			return nil
		}
	} else if len(e.Path) > 1 {
		c.err("E0203", first, fmt.Sprintf("`%s` is %s, not a module", first.Name, what(o)))
		return nil
	}
	if o.Kind != types.CodeletObject || o.Sig == nil {
		last := e.Path[len(e.Path)-1]
		d := c.err("E0705", last, fmt.Sprintf("`%s` is %s, and `insert` takes a codelet", last.Name, what(o)))
		switch o.Kind {
		case types.FuncObject:
			c.callInstead(d, e, c.text(syntax.Span{Lo: first.Lo, Hi: last.Hi}))
		case types.ModuleObject:
			d.Help = append(d.Help, fmt.Sprintf("name a codelet in it: `insert %s.name(...)`", last.Name))
		}
		return nil
	}
	return o
}

// callInstead adds to d that the function of name is called, without insert and without
// access modes.
func (c *checker) callInstead(d *diag.Diagnostic, e *syntax.Insert, name string) {
	if e.With != nil || e.Range().Hi-e.Range().Lo > 60 {
		d.Help = append(d.Help, fmt.Sprintf("call it without `insert`: `%s(...)`", name))
		return
	}
	var args []string
	for _, a := range e.Args {
		text := c.text(a.Value)
		if a.Name != nil {
			text = a.Name.Name + " = " + text
		}
		args = append(args, text)
	}
	right := name + "(" + strings.Join(args, ", ") + ")"
	d.Help = append(d.Help, fmt.Sprintf("call it without `insert`: `%s`", right))
	d.Edit(c.f.At(e), right)
}

// noCodelet reports a codelet, or the module of one, that nothing declares, and
// where one of that name is.
func (c *checker) noCodelet(id *syntax.Ident, module bool) {
	if c.broken {
		return
	}
	d := c.err("E0201", id, fmt.Sprintf("`%s` is not defined", id.Name))
	if module {
		if c.meant(d, id.Name, func(o *types.Object) bool { return o.Kind == types.ModuleObject }) {
			return
		}
	}
	if module, _ := c.loader.env.ModuleNamed(id.Name); module != "" {
		d.Help = append(d.Help, fmt.Sprintf("write `import %q as %s` above", module, id.Name))
		d.Fixes = append(d.Fixes, ImportEdit(c.f, module))
		return
	}
	for s := c.scope; s != nil; s = s.parent {
		for _, o := range s.list {
			if o.Kind == types.ModuleObject && o.Module != nil {
				if m := o.Module.Members[id.Name]; m != nil && m.Kind == types.CodeletObject {
					d.Meant(id.Name, o.Name+"."+id.Name, "")
					return
				}
			}
		}
	}
	if c.meant(d, id.Name, func(o *types.Object) bool { return o.Kind == types.CodeletObject }) {
		return
	}
	best := ""
	for name, m := range c.loader.env.Modules {
		if o := m.Members[id.Name]; o != nil && o.Kind == types.CodeletObject && (best == "" || name < best) {
			best = name
		}
	}
	if best != "" {
		short := best[strings.LastIndexByte(best, '/')+1:]
		d.Help = append(d.Help, fmt.Sprintf("`import %q as %s`, then `insert %s.%s(...)`", best, short, short, id.Name))
	}
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
						d.Help = append(d.Help, fmt.Sprintf("options stand behind the operands: `with %s`", c.text(a)))
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
			c.err("E0705", a, "an argument without a name must stand before those with names")
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

// modeFits holds the mode of an argument against the declared one.
func (c *checker) modeFits(e *syntax.Insert, a *syntax.TaskArg, t *types.Type, k int, sig *types.Signature) bool {
	p := &sig.Params[k]
	if t.Kind == types.Void && (a.Mode == iface.Redux || a.Mode == iface.Scratch) {
		d := c.err("E0307", a.ModeAt, fmt.Sprintf("%v makes no sense on void data", a.Mode))
		d.Label = "void data has no bytes"
		d.Help = append(d.Help, "void data orders tasks: write R, W, RW or COMMUTE")
		if a.Mode == iface.Redux && p.Mode == iface.RW {
			d.Edit(c.f.At(a.ModeAt), "COMMUTE")
		} else {
			d.Edit(c.f.At(a.ModeAt), p.Mode.String())
		}
		return false
	}
	if a.Mode == p.Mode || p.Mode == iface.RW && (a.Mode == iface.Commute || a.Mode == iface.Redux) {
		if a.Mode == iface.Redux {
			return c.reducible(e, a, p.Name)
		}
		return true
	}
	var message, label string
	switch p.Mode {
	case iface.R:
		message, label = "only reads", fmt.Sprintf("%v promises to change it", a.Mode)
		if a.Mode == iface.Scratch {
			label = "SCRATCH data has no value to read"
		}
	case iface.W:
		message, label = "overwrites", fmt.Sprintf("%v asks for the old value", a.Mode)
		if a.Mode == iface.Redux {
			label = "REDUX adds to a copy"
		} else if a.Mode == iface.R {
			label = "R allows reading only"
		} else if a.Mode == iface.Scratch {
			label = "what is written to SCRATCH data is lost"
		}
	case iface.RW:
		message, label = "changes", "R allows reading only"
		if a.Mode == iface.W {
			message, label = "needs the old value of", "W drops the old value"
		} else if a.Mode == iface.Scratch {
			label = "what is written to SCRATCH data is lost"
		}
	default:
		message, label = "uses as workspace", "the codelet declares SCRATCH"
	}
	verb := fmt.Sprintf("`%s` %s `%s`", sig.Name, message, p.Name)
	if p.Mode == iface.Scratch {
		verb = fmt.Sprintf("`%s` uses `%s` as workspace", sig.Name, p.Name)
	}
	d := c.err("E0301", a.ModeAt, fmt.Sprintf("%s, but this call passes it as %v", verb, a.Mode))
	d.Label = label
	if src, ok := e.Callee.Node.(*syntax.Codelet); ok && k < len(src.Params) {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		d.Labels = append(d.Labels, diag.Label{Span: f.At(src.Params[k].ModeAt), Text: fmt.Sprintf("declared %v here", p.Mode)})
	} else {
		d.Notes = append(d.Notes, "codelet "+sig.Text)
	}
	if p.Mode == iface.W && a.Mode == iface.Redux {
		c.overwritten(d, e, a, k)
		return false
	}
	d.Help = append(d.Help, fmt.Sprintf("write `%v %s`", p.Mode, c.text(a.Value)))
	d.Edit(c.f.At(a.ModeAt), p.Mode.String())
	return false
}

// namedArg is the argument of a call with a name, nil if it has none.
func namedArg(call *syntax.Call, name string) *syntax.Arg {
	for _, x := range call.Args {
		if x.Name != nil && x.Name.Name == name {
			return x
		}
	}
	return nil
}

// reducible reports REDUX on data whose register is in sight and names no
// reduction, or another one than the codelet does to its operand param.
func (c *checker) reducible(e *syntax.Insert, a *syntax.TaskArg, param string) bool {
	root := c.rootOf(a.Value)
	if root == nil || c.infos[root] == nil || c.infos[root].ctor == nil {
		return c.contributes(e, a, param, "")
	}
	in := c.infos[root]
	if x := namedArg(in.ctor, "reduce"); x != nil {
		return c.foldFits(e, a, param, root, x)
	}
	d := c.err("E0303", a.ModeAt, fmt.Sprintf("`%s` has no reduction method", root.Name))
	d.Label = "needs a way to combine the copies"
	d.Labels = append(d.Labels, c.label(in.ctor, "registered without `reduce`"))
	reduce := "reduce = sum"
	if fold := FoldOf(e.Callee, param); fold != "" {
		reduce = "reduce = " + fold
	}
	d.Help = append(d.Help, fmt.Sprintf("register it as `%s`", c.withArg(in.ctor, reduce)))
	d.Edit(c.f.At(in.ctor), c.withArg(in.ctor, reduce))
	return false
}

// withArg is the text of a constructor with one more argument.
func (c *checker) withArg(call *syntax.Call, arg string) string {
	t := strings.TrimRight(strings.TrimSuffix(c.text(call), ")"), " ,\n\t")
	if len(call.Args) > 0 {
		t += ", "
	}
	return t + arg + ")"
}

// rootOf returns the registered name that e is data of, nil when that is not in
// sight: x, x[i], v, v[i, j] where v is a named view of x.
func (c *checker) rootOf(e syntax.Expr) *types.Object {
	for {
		switch x := unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Ident:
			if x.Obj == nil {
				return nil
			}
			switch x.Obj.Kind {
			case types.HandleObject:
				if x.Obj.Type.IsHandle() {
					return x.Obj
				}
				return nil
			case types.ViewObject:
				in := c.infos[x.Obj]
				if in == nil || in.part == nil || len(in.part.Of) == 0 {
					return nil
				}
				e = in.part.Of[0]
				continue
			}
			return nil
		default:
			return nil
		}
	}
}

// loadAs adds to d that data which is loaded becomes what its register says, whatever the
// file holds.
func (c *checker) loadAs(d *diag.Diagnostic, e syntax.Expr, want iface.Elem) {
	root := c.rootOf(e)
	if root == nil || c.infos[root] == nil || c.infos[root].ctor == nil {
		return
	}
	ctor := c.infos[root].ctor
	for _, x := range ctor.Args {
		if x.Name == nil || x.Name.Name != "load" {
			continue
		}
		elem := fmt.Sprintf("[%v]", root.Type.Elem)
		if as := strings.Replace(c.text(ctor), elem, fmt.Sprintf("[%v]", want), 1); as != c.text(ctor) {
			d.Labels = append(d.Labels, c.label(ctor, "loaded here"))
			d.Help = append(d.Help, fmt.Sprintf("loading converts: register it as `%s`", as))
		}
		return
	}
}

// elementTypes finds out what the type parameters of the signature stand for.
func (c *checker) elementTypes(e *syntax.Insert, sig *types.Signature) {
	var by map[byte]*syntax.TaskArg
	for k, p := range sig.Params {
		a := e.Bound[k]
		if a == nil || p.Mode == iface.NoMode || p.Type.Kind == types.Void {
			continue
		}
		t := a.Value.Type()
		if p.Type.Param == 0 {
			if t.Elem != p.Type.Elem {
				d := c.err("E0701", a, fmt.Sprintf("`%s` of `%s` has elements of type %v, and this has %v", p.Name, sig.Name, p.Type.Elem, t.Elem))
				d.Label = t.String()
				d.Notes = append(d.Notes, "codelet "+sig.Text)
				c.loadAs(d, a.Value, p.Type.Elem)
			}
			continue
		}
		first := by[p.Type.Param]
		switch {
		case first == nil:
			if by == nil {
				by = map[byte]*syntax.TaskArg{}
				e.TypeArgs = map[byte]iface.Elem{}
			}
			by[p.Type.Param] = a
			e.TypeArgs[p.Type.Param] = t.Elem
			if allowed := sig.Elems[p.Type.Param]; allowed != nil && !hasElem(allowed, t.Elem) {
				var names []string
				for _, el := range allowed {
					names = append(names, el.String())
				}
				d := c.err("E0701", a, fmt.Sprintf("`%s` works on elements of type %s, and this has %v", sig.Name, strings.Join(names, " or "), t.Elem))
				d.Label = t.String()
				d.Notes = append(d.Notes, "codelet "+sig.Text)
				d.Help = append(d.Help, fmt.Sprintf("register the data with elements of type %s", strings.Join(names, " or ")))
			}
		case first.Value.Type().Elem != t.Elem:
			ft := first.Value.Type()
			d := c.err("E0701", a, fmt.Sprintf("`%s` needs one element type, and got %v and %v", sig.Name, ft.Elem, t.Elem))
			d.Label = t.String()
			d.Labels = append(d.Labels, c.label(first, fmt.Sprintf("%v, so %c is %v", ft, p.Type.Param, ft.Elem)))
			d.Notes = append(d.Notes, "codelet "+sig.Text)
		}
	}
	for k, p := range sig.Params {
		a := e.Bound[k]
		if a == nil || p.Mode != iface.NoMode || p.Type.Param == 0 {
			continue
		}
		el, ok := e.TypeArgs[p.Type.Param]
		if !ok {
			continue
		}
		t := &types.Type{Kind: types.Elem, Elem: el}
		if what := fmt.Sprintf("`%s` of `%s`", p.Name, sig.Name); !c.fits(t, a.Value) {
			c.mismatch(a.Value, t, what)
		} else {
			c.inRange(a.Value, t, "`"+p.Name+"`")
		}
	}
}

func hasElem(list []iface.Elem, e iface.Elem) bool {
	for _, x := range list {
		if x == e {
			return true
		}
	}
	return false
}
