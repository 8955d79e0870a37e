package check

// Expressions: the type of each, and what is wrong with it.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
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
	case *syntax.ImagLit:
		return types.TComplex
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
			case e.Name == "array":
				d.Help = append(d.Help, "a codelet body makes an array by `let t = array[f64](8)`; in a script write a list: `[0.0 for k in 0..8]`")
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
	case types.StructObject:
		d := c.err("E0705", e, fmt.Sprintf("`%s` is a struct, not a value", e.Name))
		d.Help = append(d.Help, fmt.Sprintf("data of it is made by `register x = vector[%s](n)`", e.Name))
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
	case types.CodeletObject, types.FilterObject, types.StructObject:
		return false
	}
	return true
}

func builtinSyntax(name string) string {
	for _, b := range vocab.Builtins {
		if b.Name == name {
			s, _, _ := strings.Cut(b.Syntax, " ->")
			return s
		}
	}
	return name + "(...)"
}

func typeDoc(name string) string {
	for _, t := range vocab.TypeNames {
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
	case (a.IsNumber() || a.Kind == types.Complex) && (b.IsNumber() || b.Kind == types.Complex):
		return types.TComplex
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
	id, ok := syntax.Unparen(e).(*syntax.Ident)
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
			if _, sum := syntax.Unparen(a.Value).(*syntax.Binary); sum {
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
	if e.Op == "~" {
		if t.Kind != types.Int {
			c.bitOperand("~", e.OpAt, e.X)
			return types.TInvalid
		}
		return t
	}
	if !t.IsNumber() && t.Kind != types.Complex {
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
					if t.Elem.IsInt() || t.Elem == iface.B8 {
						of = numberOf(t.Elem)
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
	case types.Complex:
		verbs, examples = "eEfFgGv", "`:.3f`, `:8.2e`, `:g`, which are for each of the two parts"
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

// Operators.

// binary checks x op y.
func (c *checker) binary(e *syntax.Binary) *types.Type {
	chain := e.Chain(nil)
	x := c.expr(chain[0].X)
	for _, b := range chain {
		before := len(c.diags)
		y := c.expr(b.Y)
		c.meantComment(b, before)
		x = c.operator(b, x, y)
		b.SetType(x)
	}
	return x
}

// meantComment adds a hint when the word behind a `//` or `--` that ends its line is
// not defined: other languages begin comments so. The diagnostics from before on are
// those of the right side.
func (c *checker) meantComment(b *syntax.Binary, before int) {
	if len(c.diags) != before+1 || c.diags[before].Code != "E0201" {
		return
	}
	if sign, word := b.AsComment(c.f.Source.Text); syntax.IsWord(word) {
		d := &c.diags[before]
		if t := b.X.Type(); t != nil && !t.IsNumber() {
			d.Help = nil // no arithmetic: no name was meant
		}
		c.commentSign(d, b, sign)
	}
}

// commentSign puts first in d that comments begin with another sign than sign of b.
func (c *checker) commentSign(d *diag.Diagnostic, b *syntax.Binary, sign syntax.Span) {
	help := "comments start with `#`"
	if b.Op == "//" {
		help += "; `//` divides"
	}
	d.Help = append([]string{help}, d.Help...)
	d.Fixes = nil
	d.Edit(c.f.At(sign), "#")
}

// commented returns the constructor of `register x = vector[f64](3) // word`, whose word
// is a comment of another language, after a report; else nil. Nothing divides data there.
func (c *checker) commented(e syntax.Expr) syntax.Expr {
	b, ok := e.(*syntax.Binary)
	if !ok {
		return nil
	}
	if call, ok := b.X.(*syntax.Call); !ok || !c.isConstructor(call) {
		return nil
	}
	sign, word := b.AsComment(c.f.Source.Text)
	if word == nil {
		return nil
	}
	before := len(c.diags)
	if c.expr(b.Y); len(c.diags) == before+1 && c.diags[before].Code == "E0201" && syntax.IsWord(word) {
		c.meantComment(b, before)
		return b.X
	}
	c.diags = c.diags[:before] // of what is a comment
	c.commentSign(c.err("E0705", sign, fmt.Sprintf("`%s` cannot take data", c.text(sign))), b, sign)
	return b.X
}

// arithmetical reports whether people write values of type t into arithmetic: numbers,
// and data, with which tasks compute.
func arithmetical(t *types.Type) bool { return t.IsNumber() || t.IsHandle() }

// operator is the type of b, whose operands have types x and y.
func (c *checker) operator(b *syntax.Binary, x, y *types.Type) *types.Type {
	switch b.Op {
	case "and", "or":
		ok := true
		for _, o := range []syntax.Expr{b.X, b.Y} {
			if !c.fits(types.TBool, o) {
				c.mismatch(o, types.TBool, fmt.Sprintf("the operand of `%s`", b.Op))
				ok = false
			}
		}
		if !ok {
			return types.TInvalid
		}
		return types.TBool
	case "==", "!=":
		if x == types.TInvalid || y == types.TInvalid {
			return types.TBool
		}
		if !comparable(x) || !comparable(y) || join(x, y) == nil && !c.fits(x, b.Y) && !c.fits(y, b.X) && !numberLists(x, y) {
			d := c.err("E0705", b.OpAt, fmt.Sprintf("`%s` cannot compare %s with %s", b.Op, aType(x), aType(y)))
			d.Label = "compares scalars, and lists of them"
			c.handleHint(d, b.X, b.Y)
		}
		return types.TBool
	case "<", "<=", ">", ">=":
		if x == types.TInvalid || y == types.TInvalid || x.IsNumber() && y.IsNumber() || x.Kind == types.String && y.Kind == types.String {
			return types.TBool
		}
		if x.Kind == types.Complex && (y.Kind == types.Complex || y.IsNumber()) || y.Kind == types.Complex && x.IsNumber() {
			d := c.err("E0705", b.OpAt, fmt.Sprintf("`%s` cannot compare complex numbers, which have no order", b.Op))
			d.Help = append(d.Help, "compare absolute values, `abs(z)`, or parts, `re(z)` and `im(z)`")
			return types.TBool
		}
		d := c.err("E0705", b.OpAt, fmt.Sprintf("`%s` cannot compare %s with %s", b.Op, aType(x), aType(y)))
		d.Label = "compares numbers, or strings"
		c.handleHint(d, b.X, b.Y)
		return types.TBool
	}
	if token.BitOps[b.Op] {
		return c.bits(b, x, y)
	}
	if t := c.arithmetic(b, x, y); t != nil {
		return t
	}
	d := c.err("E0705", b.OpAt, fmt.Sprintf("`%s` cannot take %s and %s", b.Op, aType(x), aType(y)))
	if sign, word := b.AsComment(c.f.Source.Text); syntax.IsWord(word) && !(arithmetical(x) && arithmetical(y)) {
		c.commentSign(d, b, sign)
		return types.TInvalid
	}
	switch {
	case (b.Op == "//" || b.Op == "%") && (x.Kind == types.Complex || y.Kind == types.Complex):
		d.Help = append(d.Help, "complex numbers have `+ - * /`, and `**` with an int")
	case b.Op == "**" && (x.Kind == types.Complex || y.Kind == types.Complex):
		d.Help = append(d.Help, "a complex number has powers by ints; others are `exp(w * log(z))`")
	case b.Op == "+" && (x.Kind == types.String || y.Kind == types.String):
		other := b.X
		if x.Kind == types.String {
			other = b.Y
		}
		d.Help = append(d.Help, fmt.Sprintf("write `str(%s)`, or an f-string: `f\"… {%s}\"`", c.text(other), c.text(other)))
	case b.Op == "+" && x.Kind == types.List && y.Kind != types.List:
		d.Help = append(d.Help, fmt.Sprintf("to append write `[%s]`", c.text(b.Y)))
	case b.Op == "%" && x.Kind == types.String && c.interpolated(d, b, b.X, b.Y):
	case b.Op == "%" && x.Kind == types.String:
		d.Help = append(d.Help, fmt.Sprintf("text with values in it is an f-string: `f\"… {%s}\"`", c.text(b.Y)))
	case b.Op == "*" && (x.Kind == types.String && y.Kind == types.Int || x.Kind == types.Int && y.Kind == types.String):
		d.Help = append(d.Help, "texts are joined by `+`; to repeat one add it up in a loop: `for k in 0..n { s += t }`")
	case b.Op == "*" && (x.Kind == types.List && y.Kind == types.Int || x.Kind == types.Int && y.Kind == types.List):
		c.repeated(d, b)
	case c.asCodelet(d, b, x, y):
	default:
		c.handleHint(d, b.X, b.Y)
	}
	return types.TInvalid
}

// bits is the type of b, an operator on bits, whose operands have types x and y.
func (c *checker) bits(b *syntax.Binary, x, y *types.Type) *types.Type {
	for k, t := range []*types.Type{x, y} {
		if side := []syntax.Expr{b.X, b.Y}[k]; t != types.TInvalid && t.Kind != types.Int {
			c.bitOperand(b.Op, b.OpAt, side)
			return types.TInvalid
		}
	}
	if b.ReadsAsPower() {
		d := c.warn("W0703", b.OpAt, "`^` is the exclusive or of bits, and this reads like a power")
		d.Help = append(d.Help, "the power is written `**`; for bits write the number as `0x2`")
		d.Edit(c.f.At(b.OpAt), "**")
	}
	if n, ok := literal(b.Y); ok && n < 0 && (b.Op == "<<" || b.Op == ">>") {
		back := map[string]string{"<<": ">>", ">>": "<<"}[b.Op]
		d := c.err("E0705", b.Y, fmt.Sprintf("a shift by a negative count: `%s`", c.text(b.Y)))
		d.Help = append(d.Help, fmt.Sprintf("to shift the other way write `%s`", back))
	}
	return types.TInt
}

// bitOperand reports that x, an operand of the operator op on bits at a place, is no int.
func (c *checker) bitOperand(op string, at syntax.Span, x syntax.Expr) {
	t := x.Type()
	if t.Kind == types.Bool {
		if word := vocab.BoolWords[op]; word != "" {
			d := c.err("E0705", at, fmt.Sprintf("`%s` takes the bits of ints, and this is a bool", op))
			d.Labels = append(d.Labels, c.label(x, "a bool"))
			d.Help = append(d.Help, fmt.Sprintf("for conditions write `%s`", word))
			d.Edit(c.f.At(at), word)
			return
		}
	}
	d := c.err("E0705", at, fmt.Sprintf("`%s` takes the bits of ints, and this is %s", op, aType(t)))
	d.Labels = append(d.Labels, c.label(x, aType(t)))
	switch {
	case op == "^" && t.Kind == types.Float:
		d.Help = append(d.Help, "the power is written `**`")
		d.Edit(c.f.At(at), "**")
	case t.Kind == types.Float:
		d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", c.text(x)))
	default:
		c.handleHint(d, x)
	}
}

// asCodelet adds to d the codelet that computes x op y of the elements of data: of two
// vectors, or of one and a number. False when there is none.
func (c *checker) asCodelet(d *diag.Diagnostic, b *syntax.Binary, x, y *types.Type) bool {
	data := x
	if !data.IsHandle() {
		data = y
	}
	index := map[types.Kind]string{types.Vector: "i", types.Matrix: "i, j", types.Block: "i, j, k"}[data.Kind]
	if data.Kind == types.Tensor {
		index = kernel.IndexNames(data.Data())
	}
	both := types.SameKind(x, y) && x.Elem == y.Elem
	if index == "" || data.Elem == 0 || data.Elem == iface.B8 || !both && !x.IsNumber() && !y.IsNumber() || b.Op == "%" || b.Op == "//" || b.Op == "**" {
		return false
	}
	if both && data.Kind == types.Matrix && b.Op == "*" {
		if !data.Elem.IsFloat() {
			return false // no module has it
		}
		d.Help = append(d.Help, fmt.Sprintf("the product of matrices is a task: `import \"std/blas\" as blas`, then `insert blas.gemm(R %s, R %s, RW C)`", c.text(b.X), c.text(b.Y)))
		return true
	}
	name := map[string]string{"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}[b.Op]
	if name == "" {
		return false
	}
	elem := data.Elem // of the result
	if x.Kind == types.Float || y.Kind == types.Float || b.Op == "/" && !elem.IsFloat() {
		elem = iface.F64
	}
	if data.Elem.IsFloat() {
		elem = data.Elem
	}
	var params []string
	operand := func(e syntax.Expr, t *types.Type, name string) string {
		switch {
		case t.IsHandle():
			params = append(params, name+": R "+data.String())
			return name + "[" + index + "]"
		case isNumeral(e):
			return c.text(e)
		}
		params = append(params, "s: "+elem.String()) // a name: bodies see none from outside
		return "s"
	}
	left, right := operand(b.X, x, "a"), operand(b.Y, y, "b")
	out := fmt.Sprintf("%s[%v]", kindName(data), elem)
	d.Help = append(d.Help,
		fmt.Sprintf("data is computed with in codelets: `codelet %s(%s, out: W %s) { each %s in out { out[%s] = %s %s %s } }`", name, strings.Join(params, ", "), out, index, index, left, b.Op, right),
		fmt.Sprintf("and each task is an `insert %s(…)`; the result is registered data, too", name))
	return true
}

// isNumeral reports whether e is written as a number.
func isNumeral(e syntax.Expr) bool {
	_, whole := literal(e)
	_, float := syntax.Unparen(e).(*syntax.FloatLit)
	return whole || float
}

// interpolated adds to d the f-string for format, when that is a text, with values; it
// takes the place of whole.
func (c *checker) interpolated(d *diag.Diagnostic, whole syntax.Node, format syntax.Expr, values ...syntax.Expr) bool {
	lit, ok := format.(*syntax.StringLit)
	if !ok {
		return false
	}
	var args []string
	for _, v := range values {
		arg := c.text(v)
		if t := v.Type(); t != nil && t.Kind == types.Variable {
			arg = "value(" + arg + ")"
		}
		args = append(args, arg)
	}
	right := advice.Interpolated(c.text(lit), args)
	if right == "" {
		return false
	}
	d.Help = append(d.Help, fmt.Sprintf("text with values in it is an f-string: `%s`", right))
	d.Edit(c.f.At(whole), right)
	d.Sure()
	return true
}

// arithmetic is the type of x op y, nil when op cannot take them.
func (c *checker) arithmetic(b *syntax.Binary, x, y *types.Type) *types.Type {
	switch {
	case x == types.TInvalid && y == types.TInvalid:
		return types.TInvalid
	case x == types.TInvalid || y == types.TInvalid:
		t := x
		if x == types.TInvalid {
			t = y
		}
		if b.Op == "/" && t.IsNumber() {
			return types.TFloat
		}
		if t.Kind == types.Float || t.Kind == types.Complex || t.Kind == types.String || t.Kind == types.List {
			return t
		}
		return types.TInvalid
	case x.IsNumber() && y.IsNumber():
		if b.Op == "/" || x.Kind == types.Float || y.Kind == types.Float {
			return types.TFloat
		}
		return types.TInt
	case x.Kind == types.Complex && b.Op == "**":
		if y.Kind == types.Int {
			return types.TComplex
		}
		return nil
	case (x.Kind == types.Complex || x.IsNumber()) && (y.Kind == types.Complex || y.IsNumber()):
		if b.Op == "+" || b.Op == "-" || b.Op == "*" || b.Op == "/" {
			return types.TComplex
		}
		return nil
	case b.Op != "+":
		return nil
	case x.Kind == types.String && y.Kind == types.String:
		return types.TString
	case x.Kind == types.List && y.Kind == types.List:
		switch {
		case c.fits(x, b.Y):
			return x
		case c.fits(y, b.X):
			return y
		}
	}
	return nil
}

// comparable reports whether == takes values of type t.
func comparable(t *types.Type) bool {
	for t != nil && t.Kind == types.List {
		t = t.Of
	}
	return t == nil || t.Kind == types.Invalid || t.IsScalar() || t.Kind == types.None
}

// numberLists reports whether a and b are lists of numbers of one depth.
func numberLists(a, b *types.Type) bool {
	for a != nil && b != nil && a.Kind == types.List && b.Kind == types.List {
		a, b = a.Of, b.Of
	}
	return a != nil && b != nil && a.IsNumber() && b.IsNumber()
}

// handleHint adds how to get at the values of a handle that stands where a
// number is needed.
func (c *checker) handleHint(d *diag.Diagnostic, es ...syntax.Expr) {
	for _, e := range es {
		switch t := e.Type(); {
		case t == nil:
		case t.Kind == types.Variable:
			d.Help = append(d.Help, fmt.Sprintf("`value(%s)` waits for it and reads it", c.text(e)))
			return
		case t.IsHandle():
			d.Help = append(d.Help, fmt.Sprintf("data is computed with in codelets; to look at it write `acquire R %s as a { ... a[...] ... }`", c.text(e)))
			return
		}
	}
}

// literal returns the value of an int literal, with a sign or without.
func literal(e syntax.Expr) (int64, bool) {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.IntLit:
		return e.Value, true
	case *syntax.Unary:
		if v, ok := literal(e.X); ok && e.Op == "-" {
			return -v, true
		}
	}
	return 0, false
}
