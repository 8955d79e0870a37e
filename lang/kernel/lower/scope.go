package lower

// Names in a body: scopes, lookup, and the messages about names that are not found.

import (
	"fmt"
	"sort"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

type entryKind uint8

const (
	operandEntry entryKind = iota
	scalarEntry
	letEntry
	arrayEntry
	indexEntry
	sparseEntry // a sparse matrix; operand is that of its first array
)

// entry is a name that is declared in a body.
type entry struct {
	name    string
	kind    entryKind
	slot    int
	operand int
	typ     *types.Type
	obj     *types.Object
	decl    syntax.Span
	used    bool
	value   syntax.Expr // of a let
	length  int         // of an operand whose size the body sets: the operand with its length, or 0
	bound   *ir.Expr    // of a parameter of a func: the argument, which is used in its place
}

func (e *entry) description() string {
	switch e.kind {
	case operandEntry, scalarEntry, sparseEntry:
		return "an operand"
	case indexEntry:
		return "an index"
	case arrayEntry:
		return "an array"
	}
	return "a `let` name"
}

// push enters a block.
func (l *lowerer) push() { l.scope = l.scope.Inner() }

// pop leaves a block, and reports locals that it declared and did not use.
func (l *lowerer) pop() {
	if l.check && l.diags.Err() == nil {
		for _, e := range l.scope.List {
			if (e.kind == letEntry || e.kind == arrayEntry) && !e.used && e.name[0] != '_' {
				d := diag.Unused(e.name, l.f.At(e.decl), "its value is never read")
				d.DropUnused(e.name, true)
				l.diags = append(l.diags, d)
			}
		}
	}
	l.scope = l.scope.Parent
}

// declare declares a local in the current scope and returns its slot.
func (l *lowerer) declare(id *syntax.Ident, kind types.ObjectKind, s ir.Slot) int {
	s.Decl = id.Span
	en := &entry{name: id.Name, kind: letEntry, slot: l.newSlot(s), operand: -1, decl: id.Span}
	if kind != types.KernelLet {
		en.kind = indexEntry
	}
	if l.check {
		t := languageType(s.Type)
		en.obj = &types.Object{Name: id.Name, Kind: kind, Type: t, Decl: l.f.At(id)}
		id.Obj = en.obj
		id.SetType(t)
	}
	if old := l.scope.Names[id.Name]; old != nil {
		d := l.err("E0202", id, fmt.Sprintf("`%s` is declared twice in one block", id.Name))
		d.Labels = append(d.Labels, diag.Label{Span: l.f.At(old.decl), Text: "first declared here"})
		if kind == types.KernelLet && (old.kind == letEntry || old.kind == arrayEntry) {
			d.Help = append(d.Help, "give one of them another name; to change a value write `"+id.Name+" = ...` without `let`")
		} else {
			d.Help = append(d.Help, "give one of them another name")
		}
		en.used = true
	}
	l.scope.Insert(id.Name, en)
	return en.slot
}

// find returns the entry of a name, or nil, from the innermost block outwards.
func (l *lowerer) find(name string) *entry { return l.scope.Lookup(name) }

// lookup returns the entry of id. If there is none it reports that and returns nil.
func (l *lowerer) lookup(id *syntax.Ident) *entry {
	en := l.find(id.Name)
	if en == nil {
		l.reportUndefined(id)
		return nil
	}
	if l.check {
		id.Obj = en.obj
	}
	return en
}

// reportUndefined reports a name that the body does not declare: one of the script, or an
// unknown one.
func (l *lowerer) reportUndefined(id *syntax.Ident) {
	if l.check {
		id.SetType(types.TInvalid)
	}
	if fn := functions[id.Name]; fn.ok() {
		d := l.err("E0705", id, fmt.Sprintf("`%s` is a function and must be called", id.Name))
		d.Help = append(d.Help, fmt.Sprintf("write `%s`", fn.form))
		return
	}
	if o := l.findOuter(id.Name); o != nil {
		l.reportOuter(id, o)
		return
	}
	var names []string
	where := map[string]*entry{}
	for s := l.scope; s != nil; s = s.Parent {
		for n, e := range s.Names {
			if where[n] == nil {
				where[n] = e
				names = append(names, n)
			}
		}
	}
	sort.Strings(names)
	for _, n := range functionNames {
		if where[n] == nil && (len(n) > 2 || n == "pi") { // re and im resemble all short names
			names = append(names, n)
		}
	}
	d := l.err("E0201", id, fmt.Sprintf("`%s` is not defined", id.Name))
	if l.assignTarget == id {
		d.Help = append(d.Help, fmt.Sprintf("declare a new name with `let %s = …`", id.Name))
		d.Edit(l.f.At(id).Before(), "let ")
		return
	}
	if help, ok := vocab.ForeignValues[id.Name]; ok {
		d.Help = append(d.Help, help)
		return
	}
	if word := vocab.ForeignNames[id.Name].Word; functions[word].ok() || word == "pi" || word == "inf" {
		d.Meant(id.Name, word, "builtin")
		return
	}
	if best, ok := diag.Nearest(id.Name, names); ok {
		at := "builtin"
		if e := where[best]; e != nil {
			at = fmt.Sprintf("%s, line %d", e.kindName(), l.f.At(e.decl).Start.Line)
		}
		d.Meant(id.Name, best, at)
	}
}

func (e *entry) kindName() string {
	switch e.kind {
	case operandEntry, scalarEntry, sparseEntry:
		return "operand"
	case indexEntry:
		return "index"
	}
	return "let"
}

// outerName is a name of the script, which bodies cannot use.
type outerName struct {
	what string
	span syntax.Span // zero: declared in another file
	decl diag.Span
	pass string // the declaration of an operand for it, "" if it cannot be one
}

// findOuter returns a name of the top level of the file, of the surroundings, or of the
// builtins of scripts; nil if there is none.
func (l *lowerer) findOuter(name string) *outerName {
	for _, s := range l.f.Stmts {
		if o := l.declaredBy(s, name); o != nil {
			return o
		}
	}
	if l.outer != nil {
		if o := l.outer(name); o != nil {
			return l.describeObject(o)
		}
	}
	if scriptBuiltins[name] {
		return &outerName{what: "a builtin of scripts"}
	}
	return nil
}

// declaredBy returns name if s declares it, or nil.
func (l *lowerer) declaredBy(s syntax.Stmt, name string) *outerName {
	is := func(id *syntax.Ident) bool { return id != nil && id.Name == name }
	switch s := s.(type) {
	case *syntax.Param:
		if is(s.Name) {
			o := &outerName{what: "a param of the script", span: s.Name.Span}
			if s.Type != nil {
				o.pass = name + ": " + l.text(s.Type)
			}
			return o
		}
	case *syntax.Let:
		if is(s.Name) {
			o := &outerName{what: "a `let` name of the script", span: s.Name.Span, pass: name + ": float"}
			if t := s.Name.Type(); t != nil && !t.IsScalar() {
				o.pass = ""
			} else if t != nil {
				o.pass = name + ": " + t.String()
			}
			return o
		}
	case *syntax.Register:
		for _, n := range s.Names {
			if is(n) {
				o := &outerName{what: "registered data", span: n.Span, pass: name + ": R vector[f64]"}
				if call, ok := s.Value.(*syntax.Call); ok {
					o.pass = name + ": R " + l.text(call.Fn)
				}
				return o
			}
		}
	case *syntax.ExternData:
		if is(s.Name) {
			return &outerName{what: "data of the host", span: s.Name.Span, pass: name + ": R " + l.text(s.Type)}
		}
	case *syntax.Codelet:
		if is(s.Name) {
			return &outerName{what: "a codelet", span: s.Name.Span}
		}
	case *syntax.Func:
		if is(s.Name) {
			return &outerName{what: "a function of the script", span: s.Name.Span}
		}
	case *syntax.Partition:
		if is(s.Name) {
			return &outerName{what: "a view", span: s.Name.Span}
		}
	case *syntax.Import:
		if is(s.As) {
			return &outerName{what: "a module", span: s.As.Span}
		}
	}
	return nil
}

// describeObject returns an object of the surroundings as an outerName.
func (l *lowerer) describeObject(o *types.Object) *outerName {
	out := &outerName{what: "a name of the script", decl: o.Decl}
	switch o.Kind {
	case types.CodeletObject:
		out.what = "a codelet"
	case types.FuncObject:
		out.what = "a function"
	case types.ModuleObject:
		out.what = "a module"
	case types.ViewObject:
		out.what = "a view"
	case types.BuiltinFunc, types.BuiltinValue:
		out.what = "a builtin of scripts"
	case types.HandleObject:
		out.what = "registered data"
	}
	if t := o.Type; t != nil {
		switch {
		case t.IsScalar() && (o.Kind == types.LetObject || o.Kind == types.ParamObject):
			out.pass = o.Name + ": " + t.String()
		case t.IsHandle():
			out.pass = o.Name + ": R " + t.String()
		}
	}
	return out
}

func (l *lowerer) reportOuter(id *syntax.Ident, o *outerName) {
	d := l.err("E0604", id, fmt.Sprintf("a codelet body cannot use `%s`, which is %s", id.Name, o.what))
	d.Label = "not an operand of this codelet"
	if l.inlined != nil {
		d.Label = fmt.Sprintf("no parameter of `%s`", l.inlined.name())
	}
	if o.span != (syntax.Span{}) {
		d.Labels = append(d.Labels, diag.Label{Span: l.f.At(o.span), Text: "declared here"})
	} else if !o.decl.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: o.decl, Text: "declared here"})
	}
	d.Notes = append(d.Notes, "a body can use its operands, its own names and the functions of arithmetic")
	switch {
	case scriptBuiltinHelp[id.Name] != "" && o.what == "a builtin of scripts":
		d.Help = append(d.Help, scriptBuiltinHelp[id.Name])
	case o.what == "a function of the script":
		d.Help = append(d.Help, fmt.Sprintf("a function is called: `%s(...)`", id.Name))
	case o.what == "a function":
		d.Help = append(d.Help, "write its computation here: a body can call a `func` of a script, and no function of the program")
	}
	if o.pass != "" && l.inlined != nil {
		d.Help = append(d.Help, fmt.Sprintf("pass it as a parameter of `%s`, or make it a constant: a `let` of literals that nothing assigns", l.inlined.name()))
	} else if o.pass != "" {
		d.Help = append(d.Help, fmt.Sprintf("pass it as an operand: `%s`", o.pass))
	}
}
