package check

// Calls of functions, and the binding of arguments to parameters.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/types"
)

// call checks f(…): a function of the script or the host, of a module, or a builtin.
func (c *checker) call(e *syntax.Call) *types.Type {
	e.Fn.SetType(types.TNone)
	switch fn := e.Fn.(type) {
	case *syntax.Ident:
		o := c.scope.Lookup(fn.Name)
		if o == nil {
			o = c.host[fn.Name]
		}
		switch {
		case o != nil:
			fn.Obj = o
			c.markUsed(o)
			return c.callObject(e, o, fn)
		case builtinFuncs[fn.Name] != nil:
			fn.Obj = builtinFuncs[fn.Name]
			e.Callee = fn.Obj
			return c.builtin(e, fn.Name)
		case fn.Name == "void" || handleKinds[fn.Name] != 0:
			c.args(e)
			c.notInRegister(e, e)
			return types.TInvalid
		}
		c.args(e)
		if v := builtinValues[fn.Name]; v != nil {
			d := c.err("E0705", fn, fmt.Sprintf("`%s` is %s and cannot be called", fn.Name, aType(v.Type)))
			if v.Type == types.TReducer && len(e.Args) == 1 {
				switch t := e.Args[0].Value.Type(); {
				case t.IsHandle():
					c.dataHabit(func(f string, a ...any) { d.Help = append(d.Help, fmt.Sprintf(f, a...)) }, c.text(e.Args[0]), fn.Name, t)
				case t.Kind == types.List:
					d.Help = append(d.Help, fmt.Sprintf("add up in a loop: `for v in %s { s += v }`", c.text(e.Args[0])))
				}
			}
			return types.TInvalid
		}
		known := len(c.diags)
		c.undefined(fn, func(o *types.Object) bool {
			return o.Kind == types.FuncObject || o.Kind == types.BuiltinFunc || o.Kind == types.ModuleObject
		})
		if len(c.diags) == known+1 && c.diags[known].Code == "E0201" && len(c.diags[known].Help) == 0 {
			d := &c.diags[known]
			d.Help = append(d.Help, fmt.Sprintf("declare it, as in `func %s(x: float) -> float { return 2.0 * x }`; `starpush doc` lists the builtin functions", fn.Name))
		}
		if len(c.diags) == known+1 && len(e.Args) > 1 {
			switch fn.Name {
			case "printf", "println", "sprintf", "format", "Printf", "Sprintf":
				c.printed(&c.diags[known], e, fn.Name)
			}
		}
		return types.TInvalid
	case *syntax.Selector:
		if mod := c.moduleOf(fn.X); mod != nil {
			o := c.member(fn.X.(*syntax.Ident), mod, fn.Name, "function")
			if o == nil {
				c.args(e)
				return types.TInvalid
			}
			fn.Name.SetType(types.TNone)
			return c.callObject(e, o, fn)
		}
	case *syntax.Index:
		if id, ok := fn.X.(*syntax.Ident); ok && c.scope.Lookup(id.Name) == nil && handleKinds[id.Name] != 0 {
			c.args(e)
			c.notInRegister(e, e)
			return types.TInvalid
		}
	}
	if c.method(e) {
		return types.TInvalid
	}
	t := c.expr(e.Fn)
	c.args(e)
	if t.Kind != types.Invalid {
		d := c.err("E0705", e.Fn, fmt.Sprintf("%s cannot be called", aType(t)))
		if t.IsNumber() {
			c.product(d, e)
		}
	}
	return types.TInvalid
}

// product adds to d that x(y) may be x * (y), as mathematics writes it.
func (c *checker) product(d *diag.Diagnostic, e *syntax.Call) {
	switch e.Fn.(type) {
	case *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit, *syntax.Ident, *syntax.Paren:
	default:
		return
	}
	if len(e.Args) == 1 && e.Args[0].Name == nil {
		right := c.text(e.Fn) + " * " + strings.TrimPrefix(c.text(e), c.text(e.Fn))
		d.Help = append(d.Help, fmt.Sprintf("a product is written `%s`", right))
		d.Edit(c.f.At(e), right)
	}
}

// printed adds to d, about printf("n = %d", n), the print of an f-string.
func (c *checker) printed(d *diag.Diagnostic, e *syntax.Call, name string) {
	values := argValues(e)
	lit, ok := values[0].(*syntax.StringLit)
	if !ok {
		return
	}
	var args []string
	for _, v := range values[1:] {
		args = append(args, c.text(v))
	}
	format, prints := c.text(lit), strings.Contains(strings.ToLower(name), "print") && !strings.HasPrefix(strings.ToLower(name), "s")
	if prints && strings.HasSuffix(name, "f") {
		format = advice.WithoutNewline(format)
	}
	right := advice.Interpolated(format, args)
	if right == "" {
		return
	}
	if prints {
		right = "print(" + right + ")"
	}
	d.Help, d.Fixes = []string{"formats are written in f-strings: write `" + right + "`"}, nil
	d.Edit(c.f.At(e), right)
	d.Sure()
}

// squareBrackets adds to d that x(i) should be x[i].
func (c *checker) squareBrackets(d *diag.Diagnostic, e *syntax.Call) {
	if right := e.AsIndex(c.f.Source.Text); right != "" {
		d.Help = append(d.Help, "elements and parts are written in square brackets: `"+right+"`")
		d.Edit(c.f.At(e), right)
		d.Sure()
	}
}

// notInRegister reports a constructor outside of register.
func (c *checker) notInRegister(at syntax.Node, e syntax.Expr) {
	d := c.err("E0105", at, "a constructor is only allowed in `register`")
	form := c.text(e)
	if full, ok := c.constructorForm(e); ok {
		form = full
	}
	d.Help = append(d.Help, fmt.Sprintf("write `register x = %s`", form))
	syntax.WalkExpr(e, func(x syntax.Expr) bool {
		if x.Type() == nil {
			x.SetType(types.TInvalid)
		}
		return true
	})
}

// args checks arguments that belong to no parameter.
func (c *checker) args(e *syntax.Call) {
	for _, a := range e.Args {
		c.expr(a.Value)
	}
}

func (c *checker) callObject(e *syntax.Call, o *types.Object, at syntax.Node) *types.Type {
	switch o.Kind {
	case types.FuncObject:
	case types.CodeletObject:
		c.args(e)
		d := c.err("E0705", at, fmt.Sprintf("`%s` is a codelet, and codelets run as tasks", c.text(at)))
		if task := c.asInsert(e, o.Sig); task != "" {
			d.Help = append(d.Help, "write `"+task+"`")
			d.Edit(c.f.At(e), task)
			d.Sure()
		} else {
			d.Help = append(d.Help, fmt.Sprintf("write `insert %s(...)`, with a mode for each handle", c.text(at)))
		}
		return types.TInvalid
	default:
		c.args(e)
		if o.Type == types.TInvalid {
			return o.Type
		}
		d := c.err("E0705", at, fmt.Sprintf("`%s` is %s and cannot be called", c.text(at), what(o)))
		if o.Type != nil && (o.Type.IsHandle() || o.Type.Kind == types.View || o.Type.Kind == types.List || o.Type.Kind == types.Array) {
			c.squareBrackets(d, e)
		}
		switch {
		case builtinFuncs[o.Name] != nil && !o.Decl.IsZero():
			d.Labels = append(d.Labels, diag.Label{Span: o.Decl, Text: "this hides the builtin function"})
			if o.Kind == types.LetObject {
				d.Help = append(d.Help, "give the `let` another name")
			} else {
				d.Help = append(d.Help, "declare it under another name")
			}
		case o.Type != nil && o.Type.IsNumber():
			c.product(d, e)
		}
		return types.TInvalid
	}
	e.Callee = o
	c.bindCall(e, o.Sig)
	if o.Sig.Result == nil {
		return types.TNone
	}
	return o.Sig.Result
}

// asInsert writes the call of a codelet as the insert of a task, with the modes that the
// codelet declares; "" when the arguments do not fit its operands.
func (c *checker) asInsert(e *syntax.Call, sig *types.Signature) string {
	if sig == nil || len(e.Args) > len(sig.Params) {
		return ""
	}
	var args []string
	for i, a := range e.Args {
		p := sig.Params[i]
		if a.Name != nil || a.Value.Type() == nil || a.Value.Type().IsHandle() != (p.Mode != iface.NoMode) {
			return ""
		}
		text := c.text(a.Value)
		if p.Mode != iface.NoMode {
			text = p.Mode.String() + " " + text
		}
		args = append(args, text)
	}
	return "insert " + c.text(e.Fn) + "(" + strings.Join(args, ", ") + ")"
}

// bindCall fills e.Bound: the argument of each parameter, nil for a default.
func (c *checker) bindCall(e *syntax.Call, sig *types.Signature) {
	e.Bound = make([]syntax.Expr, len(sig.Params))
	bad := false
	for i, a := range e.Args {
		k := i
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			k = paramIndex(sig, a.Name.Name)
			if k < 0 {
				c.expr(a.Value)
				c.noParam(a.Name, sig)
				bad = true
				continue
			}
			if e.Bound[k] != nil {
				c.expr(a.Value)
				c.twice(a.Name, sig.Params[k].Name)
				bad = true
				continue
			}
		} else if k >= len(sig.Params) {
			c.expr(a.Value)
			if !bad {
				c.tooMany(a.Value, len(sig.Params), sig)
			}
			bad = true
			continue
		} else if i > 0 && e.Args[i-1].Name != nil {
			c.expr(a.Value)
			c.err("E0705", a.Value, "an argument without a name must come before those with names")
			bad = true
			continue
		}
		e.Bound[k] = a.Value
		c.want(a.Value, sig.Params[k].Type, fmt.Sprintf("`%s` of `%s`", sig.Params[k].Name, sig.Name))
	}
	if bad {
		c.failed[e] = true
		return
	}
	c.missing(e, sig, func(i int) bool { return e.Bound[i] != nil })
}

func paramIndex(sig *types.Signature, name string) int {
	for i := range sig.Params {
		if sig.Params[i].Name == name {
			return i
		}
	}
	return -1
}

func (c *checker) noParam(id *syntax.Ident, sig *types.Signature) {
	d := c.err("E0705", id, fmt.Sprintf("`%s` has no parameter `%s`", sig.Name, id.Name))
	var names []string
	for _, p := range sig.Params {
		names = append(names, p.Name)
	}
	if best, ok := near(id.Name, names); ok {
		d.Meant(id.Name, best, "")
	} else {
		d.Notes = append(d.Notes, sig.Text)
	}
}

func (c *checker) twice(at syntax.Node, name string) {
	c.err("E0705", at, fmt.Sprintf("`%s` is given twice", name))
}

func (c *checker) tooMany(at syntax.Node, n int, sig *types.Signature) {
	d := c.err("E0705", at, fmt.Sprintf("`%s` takes %s, and this is one more", sig.Name, Arguments(n)))
	d.Notes = append(d.Notes, sig.Text)
}

// missing reports parameters without argument and default.
func (c *checker) missing(at syntax.Node, sig *types.Signature, given func(int) bool) bool {
	var names []string
	for i, p := range sig.Params {
		if !given(i) && !p.HasDefault {
			names = append(names, "`"+p.Name+"`")
		}
	}
	if names == nil {
		return false
	}
	d := c.err("E0705", at, fmt.Sprintf("`%s` needs %s", sig.Name, strings.Join(names, ", ")))
	d.Notes = append(d.Notes, sig.Text)
	c.failed[at] = true
	return true
}

// Counts of arguments and indices, as messages write them.

// Arguments is what takes n arguments: "no arguments", "one argument", "2 arguments".
func Arguments(n int) string {
	switch n {
	case 0:
		return "no arguments"
	case 1:
		return "one argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// AreArguments is what n arguments are: "none is", "one is", "2 are".
func AreArguments(n int) string {
	switch n {
	case 0:
		return "none is"
	case 1:
		return "one is"
	}
	return fmt.Sprintf("%d are", n)
}

// Indices is what takes n indices: "one index", "two indices".
func Indices(n int) string {
	switch n {
	case 1:
		return "one index"
	case 2:
		return "two indices"
	case 3:
		return "three indices"
	case 4:
		return "four indices"
	case 5:
		return "five indices"
	case 6:
		return "six indices"
	case 7:
		return "seven indices"
	case 8:
		return "eight indices"
	}
	return fmt.Sprintf("%d indices", n)
}

// AreIndices is what n indices are: "one index is", "two indices are".
func AreIndices(n int) string {
	if n == 1 {
		return "one index is"
	}
	return Indices(n) + " are"
}

// constructorForm is the text of e as a constructor if it is one, or calls the name
// of a kind without its element type.
func (c *checker) constructorForm(e syntax.Expr) (string, bool) {
	call, ok := e.(*syntax.Call)
	if !ok {
		return "", false
	}
	text := c.text(e)
	switch fn := call.Fn.(type) {
	case *syntax.Index:
		id, ok := fn.X.(*syntax.Ident)
		return text, ok && handleKinds[id.Name] != 0 && c.scope.Lookup(id.Name) == nil
	case *syntax.Ident:
		if handleKinds[fn.Name] == 0 || c.scope.Lookup(fn.Name) != nil {
			return "", false
		}
		if fn.Name == "void" {
			return text, true
		}
		return fn.Name + "[f64]" + strings.TrimPrefix(text, fn.Name), true
	}
	return "", false
}
