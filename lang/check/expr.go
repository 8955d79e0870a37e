package check

// Expressions: the type of each, and what is wrong with it.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// expr finds the type of e and writes it to e and all its parts. It never
// returns nil; TInvalid means that something was reported.
func (c *checker) expr(e syntax.Expr) *types.Type {
	if e == nil {
		return types.TInvalid
	}
	t := c.expr1(e)
	if t == nil {
		t = types.TInvalid
	}
	e.SetType(t)
	return t
}

// exprFor is expr where a value of type t is wanted.
func (c *checker) exprFor(t *types.Type, e syntax.Expr) *types.Type {
	before := c.wantsInts
	c.wantsInts = isIntList(t)
	got := c.expr(e)
	c.wantsInts = before
	return got
}

// want checks e and that its value fits t; what names its place in messages.
func (c *checker) want(e syntax.Expr, t *types.Type, what string) {
	c.exprFor(t, e)
	if e != nil && !c.fits(t, e) {
		c.mismatch(e, t, what)
	}
}

func (c *checker) expr1(e syntax.Expr) *types.Type {
	switch e := e.(type) {
	case *syntax.Ident:
		return c.ident(e)
	case *syntax.IntLit:
		return types.TInt
	case *syntax.FloatLit:
		return types.TFloat
	case *syntax.StringLit:
		return types.TString
	case *syntax.BoolLit:
		return types.TBool
	case *syntax.NoneLit:
		return types.TNone
	case *syntax.FString:
		return c.fstring(e)
	case *syntax.Paren:
		return c.expr(e.X)
	case *syntax.ListLit:
		return c.list(e)
	case *syntax.ListComp:
		return c.comprehension(e, false)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		return c.binary(e)
	case *syntax.RangeExpr:
		c.want(e.Lo, types.TInt, "the start of a range")
		c.want(e.Hi, types.TInt, "the end of a range")
		return types.TRange
	case *syntax.Cond:
		return c.cond(e)
	case *syntax.Call:
		return c.call(e)
	case *syntax.Index:
		return c.index(e)
	case *syntax.Selector:
		return c.selector(e)
	case *syntax.Insert:
		return c.insert(e)
	case *syntax.Fold:
		d := c.err("E0105", e, fmt.Sprintf("`%s … in` is only allowed in codelets", e.Op))
		d.Help = append(d.Help, "write a codelet that adds up, or a `for` loop over an acquired array")
	}
	return types.TInvalid
}

// ident is a name that stands for a value.
func (c *checker) ident(e *syntax.Ident) *types.Type {
	o := c.find(e)
	if o == nil {
		switch {
		case builtinFuncs[e.Name] != nil:
			e.Obj = builtinFuncs[e.Name]
			d := c.err("E0705", e, fmt.Sprintf("`%s` is a builtin function, not a value", e.Name))
			d.Help = append(d.Help, "call it: `"+builtinSyntax(e.Name)+"`")
		case typeDoc(e.Name) != "":
			d := c.err("E0705", e, fmt.Sprintf("`%s` is a type, not a value", e.Name))
			switch {
			case e.Name == "void":
				d.Help = append(d.Help, "data without elements is made by `register x = void()`")
				d.Edit(c.f.At(e), "void()")
				d.Sure()
			case handleKinds[e.Name] != 0:
				d.Help = append(d.Help, fmt.Sprintf("data is made by `register x = %s[f64](...)`", e.Name))
			}
		default:
			c.undefined(e, isValue)
		}
		return types.TInvalid
	}
	switch o.Kind {
	case types.CodeletObject:
		d := c.err("E0705", e, fmt.Sprintf("`%s` is a codelet, not a value", e.Name))
		d.Help = append(d.Help, fmt.Sprintf("run it as a task: `insert %s(...)`", e.Name))
		return types.TInvalid
	case types.FuncObject:
		d := c.err("E0705", e, fmt.Sprintf("`%s` is a function, not a value", e.Name))
		d.Help = append(d.Help, fmt.Sprintf("call it: `%s(...)`", e.Name))
		return types.TInvalid
	case types.ModuleObject:
		d := c.err("E0705", e, fmt.Sprintf("`%s` is a module, not a value", e.Name))
		d.Help = append(d.Help, fmt.Sprintf("name something in it: `%s.name`", e.Name))
		return types.TInvalid
	}
	return o.Type
}

func isValue(o *types.Object) bool {
	switch o.Kind {
	case types.CodeletObject, types.FilterObject:
		return false
	}
	return true
}

func builtinSyntax(name string) string {
	for _, b := range Builtins {
		if b.Name == name {
			s, _, _ := strings.Cut(b.Syntax, " ->")
			return s
		}
	}
	return name + "(...)"
}

func typeDoc(name string) string {
	for _, t := range TypeNames {
		if t.Name == name {
			return t.Doc
		}
	}
	return ""
}

// list is a list of items of one type; ints among floats become floats, gates
// among tasks tasks.
func (c *checker) list(e *syntax.ListLit) *types.Type {
	if len(e.Items) == 0 {
		return types.ListOf(nil)
	}
	var of *types.Type
	for _, x := range e.Items {
		t := c.expr(x)
		if t.Kind == types.None {
			c.err("E0705", x, "this gives no value that a list could hold")
			t = types.TInvalid
		}
		if of == nil {
			of = t
			continue
		}
		j := join(of, t)
		if j == nil && c.fits(of, x) {
			j = of
		}
		if j == nil && t.Kind == types.List && of.Kind == types.List && t.Of != nil && t.Of.Kind == types.Float {
			j = t // list[int] items before a list[float]
		}
		if j == nil {
			d := c.err("E0705", x, fmt.Sprintf("the items of a list have one type: the first is %s, and this is %s", aType(of), aType(t)))
			d.Labels = append(d.Labels, c.label(e.Items[0], aType(e.Items[0].Type())))
			return types.TInvalid
		}
		of = j
	}
	if of.Kind == types.List {
		for _, x := range e.Items {
			if !c.fits(of, x) {
				c.mismatch(x, of, "the item")
				return types.TInvalid
			}
		}
	}
	return types.ListOf(of)
}

// join is the type that holds values of both types, nil when there is none.
func join(a, b *types.Type) *types.Type {
	switch {
	case a == types.TInvalid:
		return b
	case b == types.TInvalid:
		return a
	case a.IsNumber() && b.IsNumber():
		if a.Kind == types.Float {
			return a
		}
		return b
	case a.Kind == types.Task && b.Kind == types.Gate || a.Kind == types.Gate && b.Kind == types.Task:
		return types.TTask
	case unify(a, b):
		return a
	}
	return nil
}

// comprehension is [Item for Var in In]. In register its items are constructors.
func (c *checker) comprehension(e *syntax.ListComp, register bool) *types.Type {
	item := c.items(e.In, "a comprehension")
	c.downwards(e.In)
	c.push()
	if e.Var != nil {
		o := c.declare(types.LoopVar, e.Var, item, "for")
		c.info(o).used = true
	}
	c.loops++
	var t *types.Type
	if register {
		t = c.constructor(e.Item)
		e.Item.SetType(t)
	} else {
		t = c.expr(e.Item)
	}
	c.loops--
	c.pop()
	if t.Kind == types.None {
		c.err("E0705", e.Item, "this gives no value that a list could hold")
		return types.TInvalid
	}
	return types.ListOf(t)
}

// items is the type of what a loop over e gives.
func (c *checker) items(e syntax.Expr, loop string) *types.Type {
	t := c.expr(e)
	switch t.Kind {
	case types.Invalid:
	case types.Range:
		return types.TInt
	case types.List:
		if unknown(t) {
			c.unknownList(e)
			break
		}
		return t.Of
	default:
		d := c.err("E0705", e, fmt.Sprintf("%s runs over a range or a list, and this is %s", loop, aType(t)))
		switch t.Kind {
		case types.Int:
			d.Help = append(d.Help, fmt.Sprintf("write `0..%s`", c.text(e)))
		case types.View:
			d.Help = append(d.Help, fmt.Sprintf("write `%s.parts`", c.text(e)))
		case types.Array:
			d.Help = append(d.Help, fmt.Sprintf("write `0..len(%s)` and index it", c.text(e)))
		case types.Vector:
			c.overParts(d, e)
		}
	}
	return types.TInvalid
}

// overParts adds to d how a loop runs over the parts of the vector e.
func (c *checker) overParts(d *diag.Diagnostic, e syntax.Expr) {
	p := c.partitioned(e)
	if p == nil {
		d.Help = append(d.Help, fmt.Sprintf("partition it and run over the parts: `0..n` and `%s[i]`", c.text(e)))
		return
	}
	if n := c.partsOf(p); n != "" && p.Name == nil {
		d.Help = append(d.Help, fmt.Sprintf("run over the numbers of its parts: `for i in 0..%s { ... %s[i] ... }`", n, c.text(e)))
	}
	d.Help = append(d.Help, c.namedParts(p, c.text(e)))
}

// partitioned is the last partition in front of e, a name of data; nil if none is in sight.
func (c *checker) partitioned(e syntax.Expr) *syntax.Partition {
	id, ok := unparen(e).(*syntax.Ident)
	if !ok || id.Obj == nil || c.infos[id.Obj] == nil {
		return nil
	}
	return c.infos[id.Obj].split
}

// partsOf is the number of parts that the only filter of p makes, as the script says it;
// "" where it does not.
func (c *checker) partsOf(p *syntax.Partition) string {
	if len(p.Filters) != 1 || len(p.Filters[0].Args) == 0 {
		return ""
	}
	switch f := p.Filters[0]; f.Name.Name {
	case "blocks", "rows", "cols":
		if a := f.Args[0]; a.Name == nil || a.Name.Name == "p" {
			if _, sum := unparen(a.Value).(*syntax.Binary); sum {
				return "(" + c.text(a.Value) + ")"
			}
			return c.text(a.Value)
		}
	}
	return ""
}

// namedParts says that a view with a name has a list of its parts.
func (c *checker) namedParts(p *syntax.Partition, x string) string {
	if p.Name != nil {
		return fmt.Sprintf("the list of its parts is `%s.parts`", p.Name.Name)
	}
	filters := ""
	for i, f := range p.Filters {
		if i > 0 {
			filters += " then "
		}
		filters += c.text(f)
	}
	return fmt.Sprintf("a view with a name has a list of its parts: `partition v = %s by %s`, then `v.parts`", x, filters)
}

func (c *checker) unknownList(e syntax.Expr) {
	d := c.err("E0705", e, "nothing before this shows what the list holds")
	d.Help = append(d.Help, "say it where the list is made: `let a: list[float] = []`")
}

func (c *checker) unary(e *syntax.Unary) *types.Type {
	t := c.expr(e.X)
	if t.Kind == types.Invalid {
		return t
	}
	if e.Op == "not" {
		if t.Kind != types.Bool {
			c.mismatch(e.X, types.TBool, "the operand of `not`")
			return types.TInvalid
		}
		return types.TBool
	}
	if !t.IsNumber() {
		d := c.err("E0705", e, fmt.Sprintf("`-` needs a number, and this is %s", aType(t)))
		c.handleHint(d, e.X)
		return types.TInvalid
	}
	return t
}

func (c *checker) cond(e *syntax.Cond) *types.Type {
	c.want(e.If, types.TBool, "the condition")
	a, b := c.expr(e.Then), c.expr(e.Else)
	j := join(a, b)
	switch {
	case j != nil:
	case c.fits(a, e.Else):
		j = a
	case c.fits(b, e.Then):
		j = b
	default:
		d := c.err("E0705", e.Else, fmt.Sprintf("both branches must have one type: %s here, %s before", aType(b), aType(a)))
		d.Labels = append(d.Labels, c.label(e.Then, aType(a)))
		return types.TInvalid
	}
	return j
}

// fstring checks the parts of an f-string and their formats.
func (c *checker) fstring(e *syntax.FString) *types.Type {
	for _, p := range e.Parts {
		if p.X == nil {
			continue
		}
		t := c.expr(p.X)
		if p.Format != "" && t.Kind != types.Invalid {
			if problem, help := formatProblem(p.Format, t); problem != "" {
				d := c.err("E0705", p.X, problem)
				if t.Kind == types.Variable {
					of := types.TFloat
					if t.Elem.IsInt() {
						of = types.TInt
					}
					if problem, _ := formatProblem(p.Format, of); problem == "" { // of its value it is one
						read := "value(" + c.text(p.X) + ")"
						d.Help = append(d.Help, fmt.Sprintf("write `{%s:%s}`, which waits for the value and reads it", read, p.Format))
						d.Edit(c.f.At(p.X), read)
						continue
					}
				}
				d.Help = append(d.Help, help)
			}
		}
	}
	return types.TString
}

// formatProblem says why a format, a Go verb without %, does not fit values of
// type t; "" when it does.
func formatProblem(format string, t *types.Type) (problem, help string) {
	rest := strings.TrimLeft(format, "+-# 0")
	rest = strings.TrimLeft(rest, "0123456789")
	if strings.HasPrefix(rest, ".") {
		rest = strings.TrimLeft(rest[1:], "0123456789")
	}
	if len(format)-len(rest) > 8 {
		return fmt.Sprintf("`:%s` is not a format: its sizes are out of bounds", format), "widths and precisions have a few digits: `:8.3f`"
	}
	var verbs, examples string
	switch t.Kind {
	case types.Int:
		verbs, examples = "bcdoOqxXUveEfFgG", "`:d`, `:6d`, `:x`"
	case types.Float:
		verbs, examples = "beEfFgGxXv", "`:.3f`, `:8.2e`, `:g`"
	case types.Bool:
		verbs, examples = "tv", "`:t`, `:5t`"
	case types.String:
		verbs, examples = "sqvxX", "`:s`, `:10s`, `:q`"
	default:
		verbs, examples = "vs", "`:v`, or none at all"
	}
	if len(rest) == 1 && strings.Contains(verbs, rest) {
		return "", ""
	}
	return fmt.Sprintf("`:%s` is not a format for %s", format, aType(t)), "formats are Go verbs without %: " + examples
}
