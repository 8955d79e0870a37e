package check

// Operators.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// binary checks x op y. Chains like a + b + c lean to the left and can be very
// long, so they are walked with a loop.
func (c *checker) binary(e *syntax.Binary) *types.Type {
	chain := []*syntax.Binary{e}
	for {
		left, ok := chain[len(chain)-1].X.(*syntax.Binary)
		if !ok {
			break
		}
		chain = append(chain, left)
	}
	x := c.expr(chain[len(chain)-1].X)
	for i := len(chain) - 1; i >= 0; i-- {
		b := chain[i]
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
		d := c.err("E0705", b.OpAt, fmt.Sprintf("`%s` cannot compare %s with %s", b.Op, aType(x), aType(y)))
		d.Label = "compares numbers, or strings"
		c.handleHint(d, b.X, b.Y)
		return types.TBool
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

// asCodelet adds to d the codelet that computes x op y of the elements of data: of two
// vectors, or of one and a number. False when there is none.
func (c *checker) asCodelet(d *diag.Diagnostic, b *syntax.Binary, x, y *types.Type) bool {
	data := x
	if !data.IsHandle() {
		data = y
	}
	index := map[types.Kind]string{types.Vector: "i", types.Matrix: "i, j", types.Block: "i, j, k"}[data.Kind]
	both := x.Kind == y.Kind && x.Elem == y.Elem
	if index == "" || data.Elem == 0 || !both && !x.IsNumber() && !y.IsNumber() || b.Op == "%" || b.Op == "//" || b.Op == "**" {
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
	_, float := unparen(e).(*syntax.FloatLit)
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
	right := syntax.Interpolated(c.text(lit), args)
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
		if t.Kind == types.Float || t.Kind == types.String || t.Kind == types.List {
			return t
		}
		return types.TInvalid
	case x.IsNumber() && y.IsNumber():
		if b.Op == "/" || x.Kind == types.Float || y.Kind == types.Float {
			return types.TFloat
		}
		return types.TInt
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
