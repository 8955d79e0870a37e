package check

// Habits: methods and fields that other languages have on lists, arrays and strings.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// sizeWords are the fields and methods that give a number of items elsewhere.
var sizeWords = map[string]bool{"len": true, "length": true, "size": true, "count": true, "n": true, "Len": true, "numel": true, "__len__": true, "shape": true, "num_parts": true}

// method is a call x.f(…) of something that values of the type of x do not have:
// false when e is another call. What is reported names what to write instead, and
// the edit replaces the whole call.
func (c *checker) method(e *syntax.Call) bool {
	fn, ok := e.Fn.(*syntax.Selector)
	if !ok || fn.Name == nil || c.moduleOf(fn.X) != nil {
		return false
	}
	if c.memberHabit(fn) != nil {
		c.args(e)
		return true
	}
	t := c.expr(fn.X)
	c.args(e)
	fn.Name.SetType(types.TNone)
	fn.SetType(types.TInvalid)
	if t.Kind == types.Invalid {
		return true
	}
	for _, f := range Fields(t) {
		if f.Name == fn.Name.Name {
			d := c.err("E0705", e, fmt.Sprintf("`%s` is a field, not a function", fn.Name.Name))
			d.Help = append(d.Help, fmt.Sprintf("write `%s`", c.text(fn)))
			d.Edit(c.f.At(e), c.text(fn))
			d.Sure()
			return true
		}
	}
	d := c.err("E0705", fn.Name, fmt.Sprintf("%s has no method `%s`", aType(t), fn.Name.Name))
	c.methodHabit(d, fn, t, e)
	return true
}

// methodHabit adds to d what stands for the field or method sel of a value of type
// t; call is nil for a field.
func (c *checker) methodHabit(d *diag.Diagnostic, sel *syntax.Selector, t *types.Type, call *syntax.Call) {
	x, name := c.text(sel.X), sel.Name.Name
	whole := syntax.Node(sel)
	var args []string
	if call != nil {
		whole = call
		for _, a := range call.Args {
			args = append(args, c.text(a))
		}
	}
	instead := func(text string) {
		d.Help = append(d.Help, "write `"+text+"`")
		if !strings.ContainsAny(text, "…") {
			d.Edit(c.f.At(whole), text)
			d.Sure()
		}
	}
	help := func(format string, a ...any) { d.Help = append(d.Help, fmt.Sprintf(format, a...)) }
	if f := filterNamed(name); f != nil && call != nil && f.splits(t.Kind) {
		help("parts are made by a statement: `partition %[1]s by %[2]s(%[3]s)`, then `%[1]s[i]`", x, name, strings.Join(args, ", "))
		return
	}
	first := strings.Join(args, ", ")
	if first == "" {
		first = "…"
	}
	if sizeWords[name] {
		switch t.Kind {
		case types.List, types.String, types.Range:
			instead("len(" + x + ")")
			return
		case types.View:
			instead(x + ".count")
			return
		case types.Vector:
			instead(x + ".n")
			return
		case types.Matrix:
			help("its sizes are `%s.rows` and `%s.cols`", x, x)
			return
		case types.Block:
			help("its sizes are `%s.nx`, `%s.ny` and `%s.nz`", x, x, x)
			return
		case types.Array:
			if t.Of != nil && t.Of.Kind == types.Block {
				help("its sizes are `%s.nx`, `%s.ny` and `%s.nz`", x, x, x)
				return
			}
			if t.Of != nil && t.Of.Kind == types.Matrix {
				help("its sizes are `%s.rows` and `%s.cols`", x, x)
				return
			}
			instead("len(" + x + ")")
			return
		}
	}
	switch t.Kind {
	case types.List:
		switch name {
		case "append", "push", "add", "push_back", "append!", "Add", "push_front":
			if len(args) == 1 && name != "push_front" {
				instead(fmt.Sprintf("%s += [%s]", x, first))
				return
			}
			help("a list grows by `+`: `%s = %s + [%s]`", x, x, first)
		case "extend", "concat":
			instead(fmt.Sprintf("%s += %s", x, first))
		case "pop", "pop_back", "remove", "del":
			help("a slice is a list without the others: `%s = %s[0..len(%s) - 1]`", x, x, x)
		case "copy", "clone":
			help("a slice is a copy: `%s[0..len(%s)]`", x, x)
		case "sum", "max", "min", "mean":
			help("go over it: `for v in %s { … }`", x)
		default:
			help("lists have no methods: `len(%s)`, `%s[i]`, `%s[a..b]`, `%s + [v]`", x, x, x, x)
		}
	case types.String:
		if name == "format" && call != nil && c.interpolated(d, call, sel.X, argValues(call)...) {
			return
		}
		help("strings have no methods: `len(s)` is the length, `+` joins, and an f-string holds values: `f\"n = {n:d}\"`")
	case types.Vector, types.Matrix:
		c.dataHabit(help, x, name, t)
	case types.Block:
		switch name {
		case "save", "tofile", "write", "wait", "sync":
			c.dataHabit(help, x, name, t)
		default: // std modules take vectors and matrices
			c.dataHabit(help, x, "", t)
		}
	case types.Variable:
		switch name {
		case "value", "get", "item", "val", "read", "n":
			instead("value(" + x + ")")
		default:
			help("`value(%s)` waits for it and reads it; tasks change it", x)
		}
	case types.Array:
		help("an array has elements, `%s[…]`, and the fields of its data", x)
	case types.Task:
		switch name {
		case "wait", "join", "result", "get", "Wait":
			instead("wait " + x)
		}
	case types.View:
		help("a view has `%s.count`, `%s.parts` and the parts `%s[i]`", x, x, x)
	}
}

// argValues are the arguments of a call, without their names.
func argValues(e *syntax.Call) []syntax.Expr {
	out := make([]syntax.Expr, len(e.Args))
	for i, a := range e.Args {
		out[i] = a.Value
	}
	return out
}

// dataHabit says what stands for a method of a vector or matrix.
func (c *checker) dataHabit(help func(string, ...any), x, name string, t *types.Type) {
	switch name {
	case "sum", "prod", "min", "max":
		help("`import \"std/reduce\" as reduce`, then `insert reduce.%s(R %s, REDUX acc)` with `register acc = %v(reduce = %s)`", name, x, &types.Type{Kind: types.Variable, Elem: t.Elem}, name)
	case "dot", "mean", "norm":
		help("`import \"std/blas\" as blas`, then `insert blas.dot(R %s, R y, REDUX acc)`", x)
	case "fill":
		help("`import \"std/blas\" as blas`, then `insert blas.fill(W %s, 0.0)`", x)
	case "copy", "clone":
		help("`import \"std/blas\" as blas`, then `insert blas.copy(R %s, W y)`", x)
	case "T", "transpose":
		help("`import \"std/blas\" as blas`, then `insert blas.transpose(R %s, W B)`", x)
	case "nrows", "height", "m":
		help("write `%s.rows`", x)
	case "ncols", "width":
		help("write `%s.cols`", x)
	case "save", "tofile", "write":
		help("write `save(%s, \"x.npy\")`", x)
	case "wait", "sync":
		help("write `wait %s`", x)
	default:
		var names []string
		for _, f := range Fields(t) {
			names = append(names, f.Name)
		}
		help("fields: %s; data is computed with in codelets", strings.Join(names, ", "))
	}
}
