package check

// insert: its arguments, and whether each is what the parameter takes.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/check/flow"
	"github.com/starpush/starpush/lang/check/redux"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
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
				for _, o := range vocab.OptionsOf("insert") {
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
		c.want(e, types.TNode, "the value after `@`")
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
		if root := flow.RootOf(a.Value); p.Mode == iface.RW && root != nil && c.infos[root] != nil && c.infos[root].ctor != nil && namedArg(c.infos[root].ctor, "reduce") != nil {
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
	if p.Type.Admits(t) {
		return true
	}
	d := c.err("E0705", a.Value, fmt.Sprintf("`%s` of `%s` is %s, and this is %s", p.Name, sig.Name, aKind(p.Type), aType(t)))
	d.Notes = append(d.Notes, "codelet "+sig.Text)
	switch {
	case t.Kind == types.View && types.Same(t.Of, p.Type) || t.Kind == types.View && types.SameKind(t.Of, p.Type):
		d.Help = append(d.Help, fmt.Sprintf("pass one part of the view: `%v %s[i]`", p.Mode, c.text(a.Value)))
	case t.Kind == types.Tensor && p.Type.Kind == types.Tensor:
		d.Help = append(d.Help, fmt.Sprintf("the codelet is for %s, and the data has %s: write one for `%s`, or pass slices by `pick`",
			Indices(p.Type.Data().Rank()), Indices(t.Data().Rank()), t))
	case t.Kind == types.List:
		d.Help = append(d.Help, fmt.Sprintf("pass one of the list: `%v %s[i]`", p.Mode, c.text(a.Value)))
	case t.Kind == types.Array && a.Mode != iface.NoMode:
		d.Help = append(d.Help, "pass the handle that was acquired, not the array")
	case t.Kind == types.Vector && p.Type.Kind == types.Variable:
		of := c.text(a.Value)
		if x, ok := syntax.Unparen(a.Value).(*syntax.Index); ok { // a part of one element is a vector all the same
			of = c.text(x.X)
			if id, ok := x.X.(*syntax.Ident); ok && id.Obj != nil && flow.PartitionOf(id.Obj) != nil {
				of = c.text(flow.PartitionOf(id.Obj).Of[0])
			}
		}
		d.Help = append(d.Help, fmt.Sprintf("an element is a variable in a view by `pick`: `partition elements = %s by pick(0)`, then `%v elements[i]`", of, p.Mode))
	case t.IsNumber() && p.Type.Kind == types.Variable:
		d.Help = append(d.Help, fmt.Sprintf("register it: `register s = %v(fill = %s)`", concrete(p.Type), c.text(a.Value)))
	}
	return false
}

func concrete(t *types.Type) *types.Type {
	if t.Param != 0 {
		return &types.Type{Kind: t.Kind, Elem: iface.F64, Rank: t.Rank}
	}
	return t
}

// insert: which codelet it names.

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
	for s := c.scope; s != nil; s = s.Parent {
		for _, o := range s.List {
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

// insert: element types of operands, and what type parameters stand for.

// loadAs adds to d that data which is loaded becomes what its register says, whatever the
// file holds.
func (c *checker) loadAs(d *diag.Diagnostic, e syntax.Expr, want iface.Elem) {
	root := flow.RootOf(e)
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
			if !types.SameStruct(t.Struct, p.Type.Struct) {
				d := c.err("E0701", a, fmt.Sprintf("`%s` of `%s` has elements of type %s, and this has %s", p.Name, sig.Name, p.Type.Struct.Name, t.Struct.Name))
				d.Label = t.String()
				d.Notes = append(d.Notes, "codelet "+sig.Text)
				d.Help = append(d.Help, "a struct fits another one with the same name and the same fields; others pass their fields one by one")
				continue
			}
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
				which := elemList(allowed)
				d := c.err("E0701", a, fmt.Sprintf("`%s` works on %s, and this has %v", sig.Name, which, t.Elem))
				d.Label = t.String()
				d.Notes = append(d.Notes, "codelet "+sig.Text)
				d.Help = append(d.Help, "register the data with "+which)
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

// elemList is the element types of list in words.
func elemList(list []iface.Elem) string {
	if slices.Equal(list, iface.RealElems) {
		return "real numbers"
	}
	var names []string
	for _, e := range list {
		names = append(names, e.String())
	}
	return "elements of type " + strings.Join(names, " or ")
}

func hasElem(list []iface.Elem, e iface.Elem) bool {
	for _, x := range list {
		if x == e {
			return true
		}
	}
	return false
}

// insert: access modes, and the data that an operand is of.

// modeFits holds the mode of an argument against the declared one.
func (c *checker) modeFits(e *syntax.Insert, a *syntax.TaskArg, t *types.Type, k int, sig *types.Signature) bool {
	p := &sig.Params[k]
	if !c.sparseMode(a, t) || !c.keepsStructure(a.Value, a.Mode, a.ModeAt) {
		return false
	}
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
	if _, ok := p.Passed(a.Mode); ok {
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
		c.suggestRW(d, e, a, k)
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
	root := flow.RootOf(a.Value)
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
	if fold := redux.FoldOf(e.Callee, param); fold != "" {
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

// Operands of an insert in another order than the codelet declares them.

// maxReorder bounds the operands among which another order is looked for.
const maxReorder = 16

// otherOrder puts one message in place of those from index from on, which say that
// operands of e do not fit, when they all fit in another order: two of them swapped,
// or one of them moved.
func (c *checker) otherOrder(e *syntax.Insert, sig *types.Signature, from int) {
	n := len(e.Args)
	if n < 2 || n > len(sig.Params) || n > maxReorder || len(c.diags) == from {
		return
	}
	for i, a := range e.Args {
		if a.Name != nil && i < 2 || a.Value.Type() == nil || a.Value.Type().Kind == types.Invalid {
			return
		}
		if a.Name != nil {
			n = i
			break
		}
	}
	for i := n; i < len(e.Args); i++ { // those with names stay
		if e.Args[i].Name == nil {
			return
		}
		if k := paramIndex(sig, e.Args[i].Name.Name); k < 0 || !c.wouldFit(e.Args[i], &sig.Params[k]) {
			return
		}
	}
	asDeclared := true
	for i := range n {
		asDeclared = asDeclared && c.wouldFit(e.Args[i], &sig.Params[i])
	}
	if asDeclared {
		return
	}
	var best []int
	score, ties := -1, 0
	for _, order := range orders(n) {
		fits := true
		for k, i := range order {
			fits = fits && c.wouldFit(e.Args[i], &sig.Params[k])
		}
		if !fits {
			continue
		}
		named := 0
		for k, i := range order {
			if rootName(e.Args[i].Value) == sig.Params[k].Name {
				named++
			}
		}
		switch {
		case named > score:
			best, score, ties = order, named, 0
		case named == score && !slices.Equal(best, order):
			ties++
		}
	}
	if best == nil {
		return
	}
	c.diags = c.diags[:from]
	first, last := n, 0
	var right []string
	for k, i := range best {
		right = append(right, c.text(e.Args[i]))
		if k != i {
			first, last = min(first, k), max(last, k)
		}
	}
	for _, a := range e.Args[n:] {
		right = append(right, c.text(a))
	}
	at := syntax.Span{Lo: e.Args[first].Lo, Hi: e.Args[last].Hi}
	d := c.err("E0301", at, fmt.Sprintf("the operands of `%s` are in another order", sig.Name))
	d.Label = "these fit the other way round"
	if src, ok := e.Callee.Node.(*syntax.Codelet); ok && last < len(src.Params) {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		d.Labels = append(d.Labels, diag.Label{Span: f.At(syntax.Span{Lo: src.Params[first].Lo, Hi: src.Params[last].Hi}), Text: "declared so"})
	} else {
		d.Notes = append(d.Notes, "codelet "+sig.Text)
	}
	if ties > 0 {
		d.Label = "these fit in another order"
		d.Help = append(d.Help, "give operands by name: "+c.byName(e, sig, best))
		return
	}
	d.Help = append(d.Help, fmt.Sprintf("write `%s(%s)`", c.text(syntax.Span{Lo: e.Word.Lo, Hi: e.Path[len(e.Path)-1].Hi}), strings.Join(right, ", ")))
	for k := first; k <= last; k++ {
		if best[k] != k {
			d.Edit(c.f.At(e.Args[k]), right[k])
		}
	}
}

// byName writes the first operand that another order moves with its name.
func (c *checker) byName(e *syntax.Insert, sig *types.Signature, order []int) string {
	var parts []string
	for k, i := range order {
		parts = append(parts, fmt.Sprintf("%s = %s", sig.Params[k].Name, c.text(e.Args[i])))
	}
	return "`" + strings.Join(parts, ", ") + "`"
}

// orders are the orders of n things in which two are swapped, or one is moved.
func orders(n int) [][]int {
	var out [][]int
	add := func(o []int) {
		if !slices.ContainsFunc(out, func(p []int) bool { return slices.Equal(p, o) }) {
			out = append(out, o)
		}
	}
	same := make([]int, n)
	for i := range same {
		same[i] = i
	}
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			moved := slices.Delete(slices.Clone(same), i, i+1)
			add(slices.Insert(moved, j, i))
			if i < j {
				swapped := slices.Clone(same)
				swapped[i], swapped[j] = j, i
				add(swapped)
			}
		}
	}
	return out
}

// wouldFit reports whether a fits the parameter p, element types apart.
func (c *checker) wouldFit(a *syntax.TaskArg, p *types.Param) bool {
	t := a.Value.Type()
	if p.Mode == iface.NoMode {
		switch {
		case a.Mode != iface.NoMode || t.IsHandle():
			return false
		case p.Type.Kind == types.Elem || p.Type.Kind == types.Float:
			return t.IsNumber() || t.Kind == types.Complex && p.Type.Kind == types.Elem
		case p.Type.Kind == types.Complex:
			return t.IsNumber() || t.Kind == types.Complex
		}
		return t.Kind == p.Type.Kind
	}
	if !p.Type.Admits(t) {
		return false
	}
	if p.Type.Param == 0 && t.Kind != types.Void && (t.Elem != p.Type.Elem || !types.SameStruct(t.Struct, p.Type.Struct)) {
		return false
	}
	_, ok := p.Passed(a.Mode)
	return ok
}

// rootName is x of x, x[i] and x.f, "" for anything else.
func rootName(e syntax.Expr) string {
	for {
		switch x := syntax.Unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Selector:
			e = x.X
		case *syntax.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// E0304: operands of one task, or of one acquire, that share elements for sure.

// operand is one handle of a task or acquire.
type operand struct {
	mode iface.AccessMode
	of   syntax.Expr
	at   syntax.Node
	arg  *syntax.TaskArg
}

// shared reports operands of an insert that share elements, one of them written.
func (c *checker) shared(e *syntax.Insert) {
	var ops [8]operand
	list := ops[:0]
	for k, a := range e.Bound {
		if a != nil && a.Mode != iface.NoMode && a.Mode != iface.Scratch {
			mode, _ := e.Callee.Sig.Params[k].Passed(a.Mode)
			list = append(list, operand{mode, a.Value, a, a})
		}
	}
	c.overlaps(list)
}

// overlaps reports the first operand that shares elements with an earlier one.
// Tasks have few operands: the comparison is by pairs, up to a bound.
func (c *checker) overlaps(list []operand) {
	for i := 1; i < len(list) && i < 64; i++ {
		for j := 0; j < i; j++ {
			a, b := list[j], list[i]
			if a.mode == iface.R && b.mode == iface.R || !flow.SameElements(a.of, b.of) {
				continue
			}
			name := c.text(b.of)
			message := fmt.Sprintf("`%s` appears twice, and one use writes it", name)
			if a.mode != iface.R && b.mode != iface.R {
				message = fmt.Sprintf("`%s` appears twice, and both uses write it", name)
			}
			if c.text(a.of) != name {
				message = fmt.Sprintf("`%s` and `%s` share elements, and one use writes them", c.text(a.of), name)
			}
			d := c.err("E0304", b.at, message)
			d.Label = useText(b.mode)
			d.Labels = append(d.Labels, diag.Label{Span: c.f.At(a.at), Text: useText(a.mode)})
			d.Notes = append(d.Notes, "operands that share elements may only be read: else the result would depend on the device")
			d.Help = append(d.Help, c.onceHelp(a, b))
			return
		}
	}
}

func useText(m iface.AccessMode) string {
	if m == iface.R {
		return "read here"
	}
	return "written here"
}

func (c *checker) onceHelp(a, b operand) string {
	read, mode := a, b.mode
	if a.mode != iface.R {
		read, mode = b, a.mode
	}
	if b.arg == nil {
		return fmt.Sprintf("acquire it once as %v", iface.RW)
	}
	if a.mode != iface.R && b.mode != iface.R {
		return "pass it once, or split what the task does into two tasks"
	}
	mode = mode.Declared()
	if t := read.of.Type(); t != nil && t.IsDense() {
		return fmt.Sprintf("pass it once as %v, or copy it first: `insert blas.copy(R %s, W t)`", mode, c.text(read.of))
	}
	return fmt.Sprintf("pass it once as %v", mode)
}

// Operands that are passed REDUX: what an insert reports of its codelet.

// suggestRW adds to d, about an operand that is declared W and passed REDUX, how its codelet
// contributes: with RW, if its body is known.
func (c *checker) suggestRW(d *diag.Diagnostic, e *syntax.Insert, a *syntax.TaskArg, param int) {
	name, data := e.Callee.Sig.Params[param].Name, c.text(a.Value)
	k, u := redux.ContributionsOf(e.Callee, name), (*Unit)(nil)
	if k != nil {
		u, _ = e.Callee.Unit.(*Unit)
	}
	if u == nil {
		d.Help = append(d.Help, fmt.Sprintf("write `W %s` if one task sets it; REDUX needs a codelet that declares `%s` as RW and only adds to it", data, name))
		return
	}
	d.Help = append(d.Help, fmt.Sprintf("declare `%s` as RW in `%s`, and only add to it", name, e.Callee.Sig.Name))
	mode := c.f.At(a.ModeAt)
	k.SuggestMode(d, e.Callee, u, "RW", mode)
	reduce := ""
	if root := flow.RootOf(a.Value); root != nil && c.infos[root] != nil && c.infos[root].ctor != nil {
		if x := namedArg(c.infos[root].ctor, "reduce"); x != nil {
			if id, ok := syntax.Unparen(x.Value).(*syntax.Ident); ok && redux.FoldWords[id.Name] != "" {
				reduce = id.Name
			}
		}
	}
	if more := k.Misuse(e.Callee, reduce, data, mode); more != nil && reduce != "" {
		d.Labels, d.Notes = append(d.Labels, more.Labels...), append(d.Notes, more.Notes...)
		d.Help, d.Fixes = append(d.Help, more.Help...), append(d.Fixes, more.Fixes...)
	}
}

// contributes reports E0303 if the body of the codelet does not contribute to the operand
// param, and returns false then. reduce is the fold of the data, or "" if it is a reducer of
// the script or unknown.
func (c *checker) contributes(e *syntax.Insert, a *syntax.TaskArg, param, reduce string) bool {
	d := redux.ContributionsOf(e.Callee, param).Misuse(e.Callee, reduce, c.text(a.Value), c.f.At(a.ModeAt))
	if d == nil {
		return true
	}
	c.diags = append(c.diags, *d)
	return false
}

// foldFits reports E0303 if the fold of the codelet differs from that of the data, and returns
// false then: a largest value in a copy that begins with the neutral element of min is lost.
// reduce is the argument of the constructor.
func (c *checker) foldFits(e *syntax.Insert, a *syntax.TaskArg, param string, root *types.Object, reduce *syntax.Arg) bool {
	id, ok := syntax.Unparen(reduce.Value).(*syntax.Ident)
	if !ok || id.Obj == nil || id.Obj.Kind != types.BuiltinValue || redux.FoldWords[id.Name] == "" {
		return c.contributes(e, a, param, "")
	}
	if !c.contributes(e, a, param, id.Name) {
		return false
	}
	fold := redux.FoldOf(e.Callee, param)
	if fold == "" || fold == id.Name {
		c.contributed = append(c.contributed, reduxUse{e, a, param, id.Name})
		return true
	}
	d := c.err("E0303", a.ModeAt, redux.FoldMessage(e.Callee.Sig.Name, param, fold, root.Name, id.Name))
	d.Label = fmt.Sprintf("needs `reduce = %s`", fold)
	d.Labels = append(d.Labels, c.label(reduce, "registered so here"))
	d.Help = append(d.Help, fmt.Sprintf("register `%s` with `reduce = %s`", root.Name, fold))
	if k := redux.ContributionsOf(e.Callee, param); k != nil {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		d.Labels = append(d.Labels, diag.Label{Span: f.At(k.FoldAt()), Text: redux.FoldWords[fold] + " it"})
	}
	return false
}

// reduxUse is an insert that passes data with a known reduction as REDUX.
type reduxUse struct {
	insert *syntax.Insert
	arg    *syntax.TaskArg
	param  string
	reduce string
}

// checkMixedTypes checks the operands that are passed as REDUX, after all bodies.
func (c *checker) checkMixedTypes() {
	for _, r := range c.contributed {
		if c.badBody[r.insert.Callee] || c.failed[r.insert] {
			continue
		}
		if d := redux.MixedTypes(r.insert.Callee, r.insert.TypeArgs, r.param, r.reduce, c.text(r.arg.Value), c.f.At(r.arg.ModeAt)); d != nil {
			c.diags = append(c.diags, *d)
		}
	}
}
