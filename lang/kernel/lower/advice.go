package lower

// Remedies for bodies that compute with whole arrays, use names of other languages, or
// call builtins of scripts.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// arrayOperand returns the operand that e names, if it has elements.
func (l *lowerer) arrayOperand(e syntax.Expr) *ir.Operand {
	if m := l.member(e); m != nil {
		return &l.fn.Operands[m.operand]
	}
	id, ok := syntax.Unparen(e).(*syntax.Ident)
	if !ok {
		return nil
	}
	en := l.find(id.Name)
	if en == nil || en.kind != operandEntry || l.fn.Operands[en.operand].Kind.Rank() < 1 {
		return nil
	}
	en.used = true
	return &l.fn.Operands[en.operand]
}

// foreignFolds maps functions of whole arrays in other languages to folds; "": another
// remedy.
var foreignFolds = map[string]string{"sum": "sum", "prod": "prod", "product": "prod", "min": "min", "max": "max", "minimum": "min", "maximum": "max", "reduce": "sum", "norm": "", "mean": "", "average": "", "dot": "", "len": "", "length": "", "size": "", "numel": "", "count": ""}

// foreignFields maps names of sizes in other languages to fields.
var foreignFields = map[iface.Kind]map[string]ir.Field{
	iface.Vector: {"length": ir.FieldDim0, "size": ir.FieldDim0, "len": ir.FieldDim0, "count": ir.FieldDim0, "numel": ir.FieldDim0},
	iface.Matrix: {"nrows": ir.FieldDim0, "height": ir.FieldDim0, "ncols": ir.FieldDim1, "width": ir.FieldDim1},
}

// wholeArrayCall reports a call such as sum(x), max(x), dot(x, y), len(x) or x.sum() of
// operands with elements. It reports false if x is none.
func (l *lowerer) wholeArrayCall(x *syntax.Call, name string, args []syntax.Expr) bool {
	if _, ok := foreignFolds[name]; !ok || len(args) == 0 {
		return false
	}
	if l.wholeLocalArrayCall(x, name, args) {
		return true
	}
	o := l.arrayOperand(args[0])
	if o == nil || len(args) == 2 && (name != "dot" || l.arrayOperand(args[1]) == nil) || len(args) > 2 || len(args) == 1 && name == "dot" {
		return false
	}
	index := ir.IndexNames(o.Kind)
	for _, name := range strings.Split(index, ", ") {
		if l.find(name) != nil { // an index of an enclosing loop
			index = map[iface.Kind]string{iface.Vector: "k", iface.Matrix: "p, q", iface.Block: "p, q, r"}[o.Kind]
			if o.Kind.IsTensor() {
				index = ir.Numbered("p", o.Kind.Rank())
			}
		}
	}
	over := fmt.Sprintf("%s in %s", index, o.Name)
	element := fmt.Sprintf("%s[%s]", o.Name, index)
	var right string
	switch fold := foreignFolds[name]; {
	case fold != "":
		right = fmt.Sprintf("%s %s { %s }", fold, over, element)
	case name == "dot":
		right = fmt.Sprintf("sum %s { %s * %s[%s] }", over, element, l.arrayOperand(args[1]).Name, index)
	case name == "norm":
		right = fmt.Sprintf("sqrt(sum %s { %s * %s })", over, element, element)
	case name == "mean" || name == "average":
		if o.Kind != iface.Vector {
			return false
		}
		right = fmt.Sprintf("(sum %s { %s } / float(%s.n))", over, element, o.Name)
	}
	if right == "" { // a size
		d := l.err("E0705", x, fmt.Sprintf("the sizes of `%s` are its fields", o.Name))
		l.suggest(d, x, o.Kind.Sizes(), o.Name+".")
		return true
	}
	d := l.err("E0705", x, fmt.Sprintf("a fold runs over the elements of `%s` in a codelet body", o.Name))
	l.suggest(d, x, []string{right}, "")
	return true
}

// suggest adds to d the replacements of at, each after prefix, and the edit if there is one.
func (l *lowerer) suggest(d *diag.Diagnostic, at syntax.Node, words []string, prefix string) {
	for i := range words {
		words[i] = "`" + prefix + words[i] + "`"
	}
	d.Help = append(d.Help, "write "+strings.Join(words, " or "))
	if len(words) == 1 {
		d.Edit(l.f.At(at), strings.Trim(words[0], "`"))
		d.Sure()
	}
}

// elementwise returns the source of e, which computes with whole operands of kind k, for one
// element.
func (l *lowerer) elementwise(e syntax.Expr, k iface.Kind) (string, bool) {
	switch e := e.(type) {
	case *syntax.Paren:
		s, ok := l.elementwise(e.X, k)
		return "(" + s + ")", ok
	case *syntax.Unary:
		s, ok := l.elementwise(e.X, k)
		return e.Op + s, ok && e.Op == "-"
	case *syntax.Binary:
		a, ok := l.elementwise(e.X, k)
		b, too := l.elementwise(e.Y, k)
		return a + " " + e.Op + " " + b, ok && too
	case *syntax.Ident:
		o := l.arrayOperand(e)
		switch {
		case o == nil:
			return e.Name, l.find(e.Name) != nil
		case o.Kind != k:
			return "", false
		}
		return e.Name + "[" + ir.IndexNames(k) + "]", true
	case *syntax.Call:
		id, ok := e.Fn.(*syntax.Ident)
		if !ok || !functions[id.Name].ok() || len(e.Args) == 1 && foreignFolds[id.Name] != "" { // max(x) is a fold
			return "", false
		}
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			s, fine := l.elementwise(a.Value, k)
			args[i], ok = s, ok && fine && a.Name == nil
		}
		return id.Name + "(" + strings.Join(args, ", ") + ")", ok
	case *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit, *syntax.Selector:
		return l.text(e), true
	}
	return "", false
}

// suggestEach adds to d, about an assignment like y = x + z of whole operands, the each that
// assigns the elements. It reports whether it added one.
func (l *lowerer) suggestEach(d *diag.Diagnostic, s *syntax.Assign, op *ir.Operand) bool {
	index := ir.IndexNames(op.Kind)
	value, ok := l.elementwise(s.Value, op.Kind)
	if !ok || l.each != nil {
		d.Help = append(d.Help, fmt.Sprintf("write `each %s in %s { %s[%s] = ... }`", index, op.Name, op.Name, index))
		return false
	}
	right := fmt.Sprintf("each %s in %s { %s[%s] %s %s }", index, op.Name, op.Name, index, s.Op, value)
	d.Help = append(d.Help, "write `"+right+"`")
	d.Edit(l.f.At(s), right)
	if l.hasMatrixProduct(s) {
		d.Help = append(d.Help, "a matrix product is a task of its own: `import \"std/blas\" as blas`, then `insert blas.gemm(R A, R B, RW C)`")
		return true
	}
	d.Sure()
	return true
}

// hasMatrixProduct reports whether s has a `*` between two matrices, which is the product of
// elements in some languages and the matrix product in others.
func (l *lowerer) hasMatrixProduct(s *syntax.Assign) bool {
	var matrix func(e syntax.Expr) bool // reports whether e is a matrix
	product := false
	matrix = func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Paren:
			return matrix(e.X)
		case *syntax.Unary:
			return matrix(e.X)
		case *syntax.Binary:
			x, y := matrix(e.X), matrix(e.Y)
			product = product || x && y && e.Op == "*"
			return x || y
		case *syntax.Call:
			is := false
			for _, a := range e.Args {
				is = matrix(a.Value) || is
			}
			return is
		}
		o := l.arrayOperand(e)
		return o != nil && o.Kind == iface.Matrix
	}
	return matrix(s.Value) && (product || s.Op == "*=")
}

// missingEach reports x[i] = … with undeclared indices, where an each is missing.
func (l *lowerer) missingEach(s *syntax.Assign, t *syntax.Index) bool {
	op := l.arrayOperand(t.X)
	if op == nil || l.each != nil || len(t.Args) != op.Kind.Rank() {
		return false
	}
	var names []string
	for _, a := range t.Args {
		id, ok := a.(*syntax.Ident)
		if !ok || l.find(id.Name) != nil || slices.Contains(names, id.Name) || functions[id.Name].ok() || l.findOuter(id.Name) != nil {
			return false
		}
		names = append(names, id.Name)
		if l.check {
			id.SetType(types.TInvalid)
		}
	}
	d := l.err("E0201", t.Args[0], fmt.Sprintf("`%s` is not defined", names[0]))
	right := fmt.Sprintf("each %s in %s { %s }", strings.Join(names, ", "), op.Name, l.text(s))
	d.Help = append(d.Help, "loop over the elements with an `each`: `"+right+"`")
	d.Edit(l.f.At(s), right)
	d.Sure()
	return true
}

// nestedIndex reports A[i][j]. It reports false if x is something else.
func (l *lowerer) nestedIndex(x *syntax.Index) bool {
	inner, ok := syntax.Unparen(x.X).(*syntax.Index)
	if !ok {
		return false
	}
	o := l.arrayOperand(inner.X)
	if o == nil || len(inner.Args)+len(x.Args) != o.Kind.Rank() {
		return false
	}
	var args []string
	for _, a := range append(slices.Clone(inner.Args), x.Args...) {
		args = append(args, l.text(a))
	}
	right := o.Name + "[" + strings.Join(args, ", ") + "]"
	d := l.err("E0705", x, "all indices of an element go into one pair of brackets")
	l.suggest(d, x, []string{right}, "")
	return true
}

// scriptBuiltinHelp holds the remedies for builtins of scripts in a body.
var scriptBuiltinHelp = map[string]string{
	"print": "a codelet runs as a task and writes no text: print the data after the `insert`, as in `print(x)`",
	"save":  "a codelet runs as a task and writes no files: write `save(x, \"x.npy\")` after the `insert`",
	"value": "a variable operand is read by its name",
	"str":   "a codelet body has no strings",
	"range": "a loop runs over a range `a..b`; for a step, multiply the index",
	"grid":  "write `each i, j in A { … }` or a `for` in a `for`",
}

// suggestField adds to d the field that A.shape[0] means.
func (l *lowerer) suggestField(x *syntax.Index, d *diag.Diagnostic) {
	sel, ok := syntax.Unparen(x.X).(*syntax.Selector)
	if !ok || sel.Name.Name != "shape" && sel.Name.Name != "size" && sel.Name.Name != "dims" || len(x.Args) != 1 {
		return
	}
	o := l.arrayOperand(sel.X)
	axis, isInt := syntax.Unparen(x.Args[0]).(*syntax.IntLit)
	if o == nil || !isInt || axis.Value < 0 || int(axis.Value) >= o.Kind.Rank() {
		return
	}
	right := l.text(sel.X) + "." + ir.FieldName(o.Kind, ir.FieldDim0+ir.Field(axis.Value))
	d.Help = append(d.Help, "write `"+right+"`")
	d.Edit(l.f.At(x), right)
	d.Sure()
}

// suggestInt adds to d how the float x becomes an int: a literal without a fraction loses
// its point, a quotient of ints becomes //, and anything else is wrapped in int(…). For a
// local it labels the value that the local was declared with.
func (l *lowerer) suggestInt(d *diag.Diagnostic, x syntax.Expr) {
	value := x
	for {
		if p, ok := value.(*syntax.Paren); ok {
			value = p.X
			continue
		}
		break
	}
	if id, ok := value.(*syntax.Ident); ok {
		if en := l.find(id.Name); en != nil && en.value != nil {
			value = en.value
			d.Labels = append(d.Labels, diag.Label{Span: l.f.At(value), Text: "a float from here on"})
		}
	}
	switch v := value.(type) {
	case *syntax.FloatLit:
		if whole := v.Whole(); whole != "" {
			d.Help = append(d.Help, "write `"+whole+"`")
			d.Edit(l.f.At(v), whole)
			d.Sure()
			return
		}
	case *syntax.Binary:
		if v.Op == "/" && l.knownInt(v.X) && l.knownInt(v.Y) {
			d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; write `%s // %s` to round down", l.text(v.X), l.text(v.Y)))
			d.Edit(l.f.At(v.OpAt), "//")
			return
		}
	}
	d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", l.text(x)))
	d.Edit(l.f.At(x), "int("+l.text(x)+")")
}

// suggestFloatLet adds to d that target, a local declared with a whole number as in
// `let s = 0`, is declared with a float. It reports false if target is something else.
func (l *lowerer) suggestFloatLet(d *diag.Diagnostic, target syntax.Expr) bool {
	id, ok := syntax.Unparen(target).(*syntax.Ident)
	if !ok {
		return false
	}
	en := l.find(id.Name)
	if en == nil || en.kind != letEntry || en.value == nil {
		return false
	}
	first := en.value
	if u, ok := first.(*syntax.Unary); ok && u.Op == "-" {
		first = u.X
	}
	if _, ok := first.(*syntax.IntLit); !ok || strings.Trim(l.text(first), "0123456789_") != "" {
		return false
	}
	d.Labels = append(d.Labels, diag.Label{Span: l.f.At(en.value), Text: "an int from here on"})
	d.Help = append(d.Help, fmt.Sprintf("write `let %s = %s.0`, which makes it a float", id.Name, l.text(en.value)))
	d.Edit(l.f.At(en.value), l.text(en.value)+".0")
	l.fn.Slots[en.slot].Type = ir.Open // reports it once
	return true
}

// knownInt reports whether x is an int because it consists of literals, fields and names of
// ints.
func (l *lowerer) knownInt(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.IntLit:
		return true
	case *syntax.Paren:
		return l.knownInt(x.X)
	case *syntax.Unary:
		return x.Op == "-" && l.knownInt(x.X)
	case *syntax.Binary:
		return x.Op != "/" && l.knownInt(x.X) && l.knownInt(x.Y)
	case *syntax.Ident:
		en := l.find(x.Name)
		return en != nil && (en.kind == indexEntry || en.kind == scalarEntry && en.typ != nil && en.typ.Kind == types.Int || en.value != nil && l.knownInt(en.value))
	case *syntax.Selector:
		return true // sizes and offsets
	}
	return false
}
