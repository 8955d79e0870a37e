package check

// Habits: what other languages call things, and what they are called here.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// elemHabit adds to d which element type name means elsewhere.
func (c *checker) elemHabit(d *diag.Diagnostic, e *syntax.TypeExpr) bool {
	name := e.Name.Name
	to := vocab.ForeignElems[name]
	if to == "" || e.Elem != nil {
		return false
	}
	why := map[string]string{"float": ", or `f32` for 32 bits", "int": ", or `i32` for 32 bits"}[name]
	d.Help = append(d.Help, fmt.Sprintf("write `%s`%s", to, why))
	d.Edit(c.f.At(e), to)
	d.Sure()
	return true
}

// nameHabit adds to d what the undefined name means in another language; false when
// it is none that is known.
func nameHabit(d *diag.Diagnostic, name string) bool {
	if h, ok := vocab.ForeignNames[name]; ok {
		if h.Word != "" {
			d.Meant(name, h.Word, "")
			d.Sure()
		} else {
			d.Help = append(d.Help, h.Help)
		}
		return true
	}
	if help, ok := vocab.ForeignValues[name]; ok {
		d.Help = append(d.Help, help)
		return true
	}
	if m, ok := iface.ModeByName(name); ok {
		d.Help = append(d.Help, fmt.Sprintf("put the access mode before the data, with a space between: `%v x`", m))
		return true
	}
	for _, o := range vocab.TaskLibraryNames {
		if strings.HasPrefix(strings.ToLower(name), o.Prefix) {
			d.Help = append(d.Help, o.Help)
			return true
		}
	}
	if strings.HasPrefix(strings.ToLower(name), "starpu_") {
		for _, s := range vocab.StarPUNames {
			if strings.HasPrefix(name, s.Prefix) && s.Help != "" {
				d.Help = append(d.Help, s.Help)
				return true
			}
		}
	}
	return false
}

// memberHabit reports math.sqrt, np.zeros and their like, where no such module is
// imported; nil for other selectors.
func (c *checker) memberHabit(e *syntax.Selector) *types.Type {
	id, ok := e.X.(*syntax.Ident)
	if !ok || !vocab.ForeignModules[id.Name] || c.broken || c.scope.Lookup(id.Name) != nil || c.host[id.Name] != nil || c.later[id.Name] != nil {
		return nil
	}
	if id.Name == "log" && e.Name.Name != "Println" && e.Name.Name != "Printf" {
		return nil
	}
	id.SetType(types.TInvalid)
	d := c.err("E0201", e, fmt.Sprintf("`%s` is not defined", c.text(e)))
	member := strings.ToLower(e.Name.Name)
	h, known := vocab.ForeignMembers[member]
	switch {
	case id.Name == "console" && member == "log":
		d.Meant(c.text(e), "print", "builtin")
		d.Sure()
	case known && h.Word != "":
		d.Meant(c.text(e), h.Word, "builtin")
		d.Sure()
	case known:
		d.Help = append(d.Help, h.Help)
	case builtinFuncs[member] != nil || builtinValues[member] != nil:
		d.Meant(c.text(e), member, "builtin")
		d.Sure()
	default:
		d.Help = append(d.Help, "the builtin functions need no module; `starpush doc` lists them")
	}
	return types.TInvalid
}

// Habits: methods and fields that other languages have on lists, arrays and strings.

// method is a call x.f(…) of something that values of the type of x do not have: false
// when e is another call. The report names the replacement, and its edit replaces the
// whole call.
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
	if vocab.SizeWords[name] {
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
		case types.Tensor:
			help("%s", "its sizes are "+sizeFields(x, t, "and"))
			return
		case types.Structs:
			help("its size is `%s.n`", x)
			return
		case types.CSR, types.CSC, types.COO, types.BCSR:
			help("its sizes are `%s.rows`, `%s.cols` and `%s.nnz`", x, x, x)
			return
		case types.Array:
			if t.Of != nil && t.Of.Kind == types.Tensor {
				help("%s", "its sizes are "+sizeFields(x, t.Of, "and"))
				return
			}
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
	case types.Block, types.Tensor:
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

// Names of reducers in other languages.

// foreignReducer reports reduce = "+" and reduce = add; false when e is something else.
func (c *checker) foreignReducer(e syntax.Expr) bool {
	var d *diag.Diagnostic
	right := ""
	switch e := e.(type) {
	case *syntax.StringLit:
		if right = vocab.ReducerWords[e.Value]; right == "" {
			return false
		}
		d = c.err("E0705", e, "`reduce` takes the name of a reducer, not a text")
		e.SetType(types.TInvalid)
	case *syntax.Ident:
		if right = vocab.ReducerWords[e.Name]; right == "" || right == e.Name || c.broken || c.scope.Lookup(e.Name) != nil || c.host[e.Name] != nil || c.later[e.Name] != nil {
			return false
		}
		d = c.err("E0201", e, fmt.Sprintf("`%s` is not defined", e.Name))
		e.SetType(types.TInvalid)
	default:
		return false
	}
	d.Help = append(d.Help, fmt.Sprintf("write `reduce = %s`", right))
	d.Edit(c.f.At(e), right)
	d.Sure()
	return true
}

// Lists of other languages: one that is repeated by `*`, and quotients where whole
// numbers are wanted.

func isIntList(t *types.Type) bool {
	return t != nil && t.Kind == types.List && t.Of != nil && t.Of.Kind == types.Int
}

// repeated adds to d, which is about the list and the number of b, the comprehension
// that has the item so often.
func (c *checker) repeated(d *diag.Diagnostic, b *syntax.Binary) {
	list, times := b.X, b.Y
	if isType(b.Y, types.List) {
		list, times = b.Y, b.X
	}
	l, ok := syntax.Unparen(list).(*syntax.ListLit)
	if !ok || len(l.Items) != 1 {
		if t := list.Type(); t.Of != nil && t.Of.IsNumber() {
			x := c.unusedName(b, "x")
			d.Help = append(d.Help, fmt.Sprintf("for each of its items write `[%s * %s for %s in %s]`; lists are joined by `+`", x, c.text(times), x, c.text(list)))
		}
		return
	}
	item, name := l.Items[0], c.unusedName(b, "k")
	repeat := func(item string) string {
		return fmt.Sprintf("[%s for %s in 0..%s]", item, name, c.text(times))
	}
	if calls(item) { // once, not so often
		d.Help = append(d.Help, fmt.Sprintf("write `let v = %s`, then `%s`", c.text(item), repeat("v")))
		return
	}
	right := repeat(c.text(item))
	edit := func() {
		if c.text(b.OpAt) == "*" { // and not *=
			d.Edit(c.f.At(b), right)
		}
	}
	ops, whole := c.quotients(item)
	switch {
	case whole && c.wantsInts:
		right = repeat(c.roundedDown(item, ops))
		d.Help = append(d.Help, fmt.Sprintf("write `%s`: `/` always gives a float, `//` rounds down", right))
		edit()
		return
	case whole:
		d.Help = append(d.Help, fmt.Sprintf("write `%s`; `/` always gives a float: for whole numbers, as sizes are, `%s`", right, repeat(c.roundedDown(item, ops))))
		return
	}
	d.Help = append(d.Help, "write `"+right+"`")
	edit()
	d.Sure()
}

// unusedName is a name that e does not mention: the one that is wanted, if it can be.
func (c *checker) unusedName(e syntax.Expr, wanted string) string {
	used := map[string]bool{}
	syntax.WalkExpr(e, func(x syntax.Expr) bool {
		if id, ok := x.(*syntax.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	for _, name := range []string{wanted, "i", "j"} {
		if !used[name] {
			return name
		}
	}
	return "index"
}

// calls reports whether something is called or inserted in e.
func calls(e syntax.Expr) bool {
	found := false
	syntax.WalkExpr(e, func(x syntax.Expr) bool {
		switch x.(type) {
		case *syntax.Call, *syntax.Insert:
			found = true
		}
		return !found
	})
	return found
}

// quotients lists the `/` of whole numbers that make e a float, or a list of floats; ok
// when nothing else does.
func (c *checker) quotients(e syntax.Expr) (ops []syntax.Span, ok bool) {
	ok = true
	var walk func(e syntax.Expr)
	walk = func(e syntax.Expr) {
		t := e.Type()
		for t != nil && t.Kind == types.List {
			t = t.Of
		}
		if t == nil || t.Kind != types.Float {
			ok = ok && t != nil && t.Kind == types.Int
			return
		}
		switch e := e.(type) {
		case *syntax.Paren:
			walk(e.X)
		case *syntax.Unary:
			walk(e.X)
		case *syntax.Cond:
			walk(e.Then)
			walk(e.Else)
		case *syntax.ListComp:
			walk(e.Item)
		case *syntax.ListLit:
			for _, x := range e.Items {
				walk(x)
			}
		case *syntax.Binary:
			if e.Op == "/" {
				ops = append(ops, e.OpAt)
			}
			walk(e.X)
			walk(e.Y)
		default:
			ok = false
		}
	}
	walk(e)
	return ops, ok && len(ops) > 0
}

// roundedDown is the text of e with `//` for each of the `/` in ops.
func (c *checker) roundedDown(e syntax.Expr, ops []syntax.Span) string {
	at, text := e.Range(), c.f.Source.Text
	var b strings.Builder
	lo := at.Lo
	for _, op := range ops {
		b.WriteString(text[lo:op.Lo] + "//")
		lo = op.Hi
	}
	b.WriteString(text[lo:at.Hi])
	return b.String()
}

// floatsForInts adds to d, about the list e of floats that should be ints, where to
// round down: in e, or in the let whose name e is. Nothing when something else makes
// them floats.
func (c *checker) floatsForInts(d *diag.Diagnostic, e syntax.Expr) {
	from, before := e, ""
	if id, ok := syntax.Unparen(e).(*syntax.Ident); ok && id.Obj != nil && c.infos[id.Obj] != nil && c.infos[id.Obj].let != nil {
		let := c.infos[id.Obj].let
		if let.Type != nil {
			return
		}
		from, before = let.Value, "let "+id.Name+" = "
	}
	ops, ok := c.quotients(from)
	if !ok {
		return
	}
	if from != e {
		d.Labels = append(d.Labels, c.label(from, "floats from here on: `/` always gives them"))
	}
	d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; to round down write `%s%s`", before, c.roundedDown(from, ops)))
	for _, op := range ops {
		d.Edit(c.f.At(op), "//")
	}
}
