package check

// Scopes: where names live, how they are found, and what was nearly meant.

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// scope is the names of one block. The outermost one of a file has the scope of
// the session as its parent, or none; the predeclared names are looked up after that.
type scope = types.Scope[*types.Object]

// objInfo is what the checker alone knows about an object.
type objInfo struct {
	used  bool
	depth int               // of its scope, to see which name lives longer
	ctor  *syntax.Call      // registered handles: the constructor
	split *syntax.Partition // handles: the last partition of them
	let   *syntax.Let       // names of let
	acq   *syntax.AcquireItem
	by    string // the statement that declares it: "let", "register", "for"
	pack  bool   // a list of handles
	dims  int    // named views: number of indices; -1: not known
}

func (c *checker) info(o *types.Object) *objInfo {
	in := c.infos[o]
	if in == nil {
		in = &objInfo{dims: -1}
		c.infos[o] = in
	}
	return in
}

func (c *checker) push() { c.scope = c.scope.Inner() }

func (c *checker) pop() {
	c.unusedIn(c.scope)
	c.scope = c.scope.Parent
}

// declare makes an object for id and puts it into the current scope. kind says
// what it is, by names the statement for messages.
func (c *checker) declare(kind types.ObjectKind, id *syntax.Ident, t *types.Type, by string) *types.Object {
	o := c.newObject(kind, id, t, by)
	c.enter(o, id)
	return o
}

func (c *checker) newObject(kind types.ObjectKind, id *syntax.Ident, t *types.Type, by string) *types.Object {
	o := &types.Object{Name: id.Name, Kind: kind, Type: t, Decl: c.f.At(id), Unit: c.unit}
	switch kind {
	case types.FuncObject, types.CodeletObject, types.ModuleObject, types.StructObject:
	default:
		o.Global = c.fn == nil
		o.Slot = c.frame.slots
		c.frame.slots++
	}
	id.Obj = o
	id.SetType(t)
	in := c.info(o)
	in.by = by
	return o
}

// letBefore is the `let ` in front of the name at, empty if there is none.
func letBefore(at diag.Span) diag.Span {
	lo := at.Start.Offset - len("let ")
	if src := at.Source(); src != nil && lo >= 0 && src.Text[lo:at.Start.Offset] == "let " {
		return src.Span(lo, at.Start.Offset)
	}
	return at.Before()
}

// enter puts o into the current scope, or reports that its name is taken.
func (c *checker) enter(o *types.Object, id *syntax.Ident) {
	if old := c.scope.Names[o.Name]; old != nil {
		first, second := old.Decl, o.Decl
		if first.Start.Offset > second.Start.Offset {
			first, second = second, first
		}
		d := c.diagAt("E0202", diag.Error, second, fmt.Sprintf("`%s` is declared twice in one block", o.Name))
		d.Labels = append(d.Labels, diag.Label{Span: first, Text: "first declared here"})
		d.Help = append(d.Help, "give one of them another name; to change a value write `"+o.Name+" = ...` without `let`")
		if was, is := letBefore(first), letBefore(second); was.Text() != "" && is.Text() != "" {
			d.Edit(is, "")
		}
		return
	}
	in := c.info(o)
	in.depth = c.scope.Depth
	in.used = in.used || c.early[o.Name] && c.scope == c.top
	c.scope.Insert(o.Name, o)
}

// use finds the object that a name stands for as a value. It reports names that
// are not defined and returns nil for them.
func (c *checker) use(id *syntax.Ident) *types.Object {
	o := c.find(id)
	if o == nil {
		c.undefined(id, func(o *types.Object) bool { return true })
		return nil
	}
	return o
}

// find looks a name up: blocks from inside out, then what is predeclared. It
// returns nil for names that are not defined.
func (c *checker) find(id *syntax.Ident) *types.Object {
	o := c.scope.Lookup(id.Name)
	if o == nil {
		o = c.predeclared(id.Name)
	}
	if o == nil {
		return nil
	}
	id.Obj = o
	c.markUsed(o)
	return o
}

func (c *checker) markUsed(o *types.Object) {
	if in := c.infos[o]; in != nil {
		in.used = true
	}
}

func (c *checker) predeclared(name string) *types.Object {
	if o := c.host[name]; o != nil {
		return o
	}
	return builtinValues[name]
}

// undefined reports that a name is not defined, or comes before its statement.
func (c *checker) undefined(id *syntax.Ident, fits func(*types.Object) bool) {
	if later := c.later[id.Name]; later != nil && c.fn == nil {
		c.early[id.Name] = true
		d := c.err("E0205", id, fmt.Sprintf("`%s` is used before its statement has run", id.Name))
		d.Labels = append(d.Labels, diag.Label{Span: c.f.At(later), Text: "declared here"})
		d.Help = append(d.Help, fmt.Sprintf("move this below line %d, or the declaration above it", c.f.At(later).Start.Line))
		return
	}
	if c.broken {
		return // its statement may be one of those that did not parse
	}
	d := c.err("E0201", id, fmt.Sprintf("`%s` is not defined", id.Name))
	if !nameHabit(d, id.Name) {
		c.meant(d, id.Name, fits)
	}
}

// maxHints bounds the names for which a near one is looked for.
const maxHints = 100

// aLiteral stands for the words that are values.
var aLiteral = &types.Object{Kind: types.BuiltinValue}

// meant adds to d which visible name was probably meant by name; false when none is
// near.
func (c *checker) meant(d *diag.Diagnostic, name string, fits func(*types.Object) bool) bool {
	if c.hints++; c.hints > maxHints {
		return false // comparing with every name takes its time
	}
	var names []string
	objs := map[string]*types.Object{}
	add := func(o *types.Object) {
		if objs[o.Name] == nil && fits(o) {
			objs[o.Name] = o
			names = append(names, o.Name)
		}
	}
	for s := c.scope; s != nil; s = s.Parent {
		for _, o := range s.List {
			add(o)
		}
	}
	var rest []string
	for n := range c.host {
		rest = append(rest, n)
	}
	sort.Strings(rest)
	for _, n := range rest {
		add(c.host[n])
	}
	for _, b := range vocab.Builtins {
		if len(b.Name) > 2 { // re and im resemble all short names
			add(builtinFuncs[b.Name])
		}
	}
	for _, v := range BuiltinValues {
		add(builtinValues[v.Name])
	}
	if fits(aLiteral) {
		names = append(names, "true", "false", "none")
	}
	best, ok := near(name, names)
	switch {
	case !ok:
		return false
	case objs[best] == nil:
		d.Meant(name, best, "")
		return true
	}
	c.markUsed(objs[best]) // one message for one slip
	d.Meant(name, best, c.where(objs[best]))
	return true
}

// where says what o is and where it was declared: "param, line 3".
func (c *checker) where(o *types.Object) string {
	what := ""
	if in := c.infos[o]; in != nil {
		what = in.by
	}
	if what == "" {
		switch o.Kind {
		case types.BuiltinFunc, types.BuiltinValue:
			return "builtin"
		case types.CodeletObject:
			what = "codelet"
		case types.StructObject:
			what = "struct"
		case types.FuncObject:
			what = "func"
		case types.ModuleObject:
			what = "module"
		case types.FilterObject:
			what = "filter"
		default:
			what = "value"
		}
	}
	if o.Decl.IsZero() {
		return "host " + what
	}
	if o.Decl.File != c.f.Source.Name {
		return what
	}
	return fmt.Sprintf("%s, line %d", what, o.Decl.Start.Line)
}

// what names the kind of thing o is, with an article: "a codelet".
func what(o *types.Object) string {
	switch o.Kind {
	case types.LetObject:
		return "a `let` name"
	case types.FuncParam:
		return "a parameter"
	case types.LoopVar:
		return "the name of a loop"
	case types.ParamObject:
		return "a param of the script"
	case types.HandleObject:
		return "registered data"
	case types.ViewObject:
		return "a view"
	case types.ArrayObject:
		return "acquired data"
	case types.FuncObject:
		return "a function"
	case types.StructObject:
		return "a struct"
	case types.CodeletObject:
		return "a codelet"
	case types.ModuleObject:
		return "a module"
	case types.BuiltinFunc:
		return "a builtin function"
	case types.BuiltinValue:
		return "a builtin value"
	case types.FilterObject:
		return "a filter"
	case types.OperandObject, types.ScalarObject:
		return "an operand"
	}
	return "a name"
}

// unusedIn warns about names of s that nothing used.
func (c *checker) unusedIn(s *scope) {
	if c.broken {
		return
	}
	exported := s == c.top && (c.module || c.declarationsOnly())
	for _, o := range s.List {
		in := c.infos[o]
		if in == nil || in.used || o.Name == "" || o.Name[0] == '_' || o.Decl.IsZero() || o.Type == types.TInvalid {
			continue
		}
		if outer := c.hidden(s, o); outer != nil {
			c.hides(o, outer)
			continue
		}
		if c.session != nil {
			continue // entries that follow may use it
		}
		text := ""
		switch o.Kind {
		case types.LetObject:
			text = "its value is never read"
		case types.HandleObject:
			text = "no statement uses this data"
			if in.by == "extern" {
				text = "the host must supply it, and no statement uses it"
			}
		case types.ViewObject:
			text = "no statement uses this view"
		case types.ArrayObject:
			text = "acquired, but never looked at"
		case types.ModuleObject:
			if o.Module == nil {
				continue // the import failed
			}
			text = "nothing of this module is used"
		case types.ParamObject:
			text = "nothing depends on it"
		default:
			continue
		}
		if exported && o.Kind != types.ModuleObject {
			continue
		}
		if s == c.top && !c.module && slices.Contains(c.loader.env.Used, o.Name) {
			continue
		}
		d := diag.Unused(o.Name, o.Decl, text)
		d.DropUnused(o.Name, o.Kind != types.ModuleObject && o.Kind != types.ParamObject)
		c.diags = append(c.diags, d)
	}
}

// hidden is the name around scope s that o, a name of let, was most likely to change; nil
// where there is none of the same type.
func (c *checker) hidden(s *scope, o *types.Object) *types.Object {
	in := c.infos[o]
	if o.Kind != types.LetObject || in.let == nil || s.Parent == nil || c.session != nil && s == c.top {
		return nil
	}
	outer := s.Parent.Lookup(o.Name)
	if outer == nil || outer.Kind != types.LetObject && outer.Kind != types.FuncParam {
		return nil
	}
	if !types.Same(o.Type, outer.Type) && !(o.Type.Kind == types.Int && outer.Type.Kind == types.Float) {
		return nil
	}
	return outer
}

// hides warns about o, a name of let that nothing uses and that hides outer.
func (c *checker) hides(o, outer *types.Object) {
	let := c.infos[o].let
	d := diag.Unused(o.Name, o.Decl, fmt.Sprintf("a new name, beside the `%s` around this block", o.Name))
	d.Labels = append(d.Labels, diag.Label{Span: outer.Decl, Text: "this one keeps its value"})
	c.outerAssigned(&d, let)
	c.diags = append(c.diags, d)
}

// outerAssigned adds to d that an assignment was meant where let makes a new name.
func (c *checker) outerAssigned(d *diag.Diagnostic, let *syntax.Let) {
	name := let.Name.Name
	right := name + " = " + c.text(let.Value)
	d.Edit(c.f.At(let), right)
	if len(right) > 60 {
		right = name + " = ..."
	}
	d.Help = append(d.Help, fmt.Sprintf("to change the outer `%s`, write `%s`", name, right))
}

// declarationsOnly reports whether the file could be a module: then its names
// are for others.
func (c *checker) declarationsOnly() bool {
	for _, s := range c.f.Stmts {
		switch s.(type) {
		case *syntax.Import, *syntax.Param, *syntax.Let, *syntax.Func, *syntax.Codelet:
		default:
			return false
		}
	}
	return true
}

// Guesses for misspelt and shortened names.

// near returns the candidate that name most likely means: a misspelling, or an
// abbreviation of three letters or more.
func near(name string, candidates []string) (string, bool) {
	for _, c := range candidates {
		if c != name && strings.EqualFold(c, name) {
			return c, true
		}
	}
	if best, ok := diag.Nearest(name, candidates); ok {
		return best, true
	}
	best := ""
	for _, c := range candidates {
		if len(name) >= 3 && len(c) > len(name) && strings.HasPrefix(c, name) && (best == "" || len(c) < len(best)) {
			best = c
		}
	}
	return best, best != ""
}
