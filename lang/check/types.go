package check

// Types: from what is written to what is meant, and which value fits which type.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

var plainTypes = map[string]*types.Type{
	"int": types.TInt, "float": types.TFloat, "complex": types.TComplex, "bool": types.TBool, "string": types.TString, "none": types.TNone,
	"range": types.TRange, "void": types.TVoid, "task": types.TTask, "gate": types.TGate, "node": types.TNode,
	"worker": types.TWorker, "kind": types.TDevice, "reducer": types.TReducer,
}

var handleKinds = map[string]types.Kind{"variable": types.Variable, "vector": types.Vector, "matrix": types.Matrix, "block": types.Block, "tensor": types.Tensor,
	"csr": types.CSR, "csc": types.CSC, "coo": types.COO, "bcsr": types.BCSR}

// kindsOfData lists the kinds of data for messages.
const kindsOfData = "variable, vector, matrix, block, tensor, csr, csc, coo, bcsr, void"

// resolveType finds the type that e names; TInvalid after a report.
func (c *checker) resolveType(e *syntax.TypeExpr) *types.Type {
	t := c.resolve(e, false)
	if e != nil {
		e.Type = t
	}
	return t
}

// resolve finds a type. In the signature of a codelet (operand true) element
// types stand by themselves and a single capital is a type parameter.
func (c *checker) resolve(e *syntax.TypeExpr, operand bool) *types.Type {
	if e == nil || e.Name == nil {
		return types.TInvalid
	}
	t := c.resolve1(e, operand)
	if e.Rank != nil && e.Rank.Type() == nil {
		e.Rank.SetType(types.TInt)
		if t != types.TInvalid {
			d := c.err("E0705", e.Rank, fmt.Sprintf("`%s` takes no number in brackets", e.Name.Name))
			d.Help = append(d.Help, "only a tensor has one: `tensor[f64, 5]` has five indices")
			t = types.TInvalid
		}
	}
	e.Type = t
	return t
}

func (c *checker) resolve1(e *syntax.TypeExpr, operand bool) *types.Type {
	name := e.Name.Name
	e.Name.SetType(types.TNone)
	switch {
	case handleKinds[name] != 0:
		if e.Elem == nil {
			d := c.err("E0705", e, fmt.Sprintf("`%s` needs its element type", name))
			d.Help = append(d.Help, fmt.Sprintf("write `%s[f64]`; element types: %s", name, elemNames()))
			return types.TInvalid
		}
		if e.Elem.Name != nil && e.Elem.Elem == nil {
			if t, ok := c.structElem(name, e.Elem.Name); ok {
				return t
			}
		}
		el := c.element(e.Elem, operand)
		if el == nil {
			return types.TInvalid
		}
		t := &types.Type{Kind: handleKinds[name], Elem: el.Elem, Param: el.Param}
		if e.Rank != nil {
			return c.ranked(t, name, e.Rank, c.text(e.Elem))
		}
		return t
	case name == "list" || name == "view" || name == "array":
		return c.compound(e, name, operand)
	case plainTypes[name] != nil:
		if e.Elem != nil {
			c.err("E0705", e.Elem, fmt.Sprintf("`%s` takes nothing in brackets", name))
		}
		return plainTypes[name]
	}
	if operand && e.Elem == nil {
		if el := c.element(e, true); el != nil {
			return el
		}
		return types.TInvalid
	}
	if el, ok := iface.ElemByName(name); ok {
		d := c.err("E0705", e, fmt.Sprintf("`%s` is the type of an element, not of a value", name))
		if e.Elem == nil {
			to := numberOf(el).String()
			d.Help = append(d.Help, "for a number write `"+to+"`")
			d.Edit(c.f.At(e), to)
			d.Sure()
		}
		d.Help = append(d.Help, "numbers of a script are `int`, `float` or `complex`; data is `variable["+name+"]`, `vector["+name+"]`, `matrix["+name+"]`, `block["+name+"]`, `tensor["+name+"]`")
		return types.TInvalid
	}
	c.unknownType(e, operand)
	return types.TInvalid
}

// ranked returns the type of data like t, of a kind with this name, with the number of indices that is written behind
// the element type elem; TInvalid after a report.
func (c *checker) ranked(t *types.Type, name string, rank *syntax.IntLit, elem string) *types.Type {
	rank.SetType(types.TInt)
	n := rank.Value
	switch {
	case t.Kind != types.Tensor:
		d := c.err("E0705", rank, fmt.Sprintf("`%s` takes only an element type in brackets", name))
		if isTensorRank(n) {
			d.Help = append(d.Help, fmt.Sprintf("data of %s is a tensor: `tensor[%s, %d]`", kernel.Indices(int(n)), elem, n))
		} else {
			d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`", name, elem))
		}
	case n >= 0 && n < 4:
		low := iface.KindOf(int(n)).Type(elem)
		d := c.err("E0705", rank, fmt.Sprintf("a tensor has 4 to %d indices, and this says %d", iface.MaxRank, n))
		d.Help = append(d.Help, fmt.Sprintf("data of %s is a %s: `%s`", kernel.Indices(int(n)), iface.KindOf(int(n)), low))
	case !isTensorRank(n):
		d := c.err("E0705", rank, fmt.Sprintf("a tensor has 4 to %d indices, and this says %s", iface.MaxRank, c.text(rank)))
		d.Help = append(d.Help, "let two indices share one: one of n and one of m values are one of n * m")
	default:
		out := types.TensorOf(int(n), t.Elem)
		out.Param = t.Param
		return out
	}
	return types.TInvalid
}

// isTensorRank reports whether a tensor may have n indices.
func isTensorRank(n int64) bool { return n >= 4 && n <= iface.MaxRank }

func (c *checker) compound(e *syntax.TypeExpr, name string, operand bool) *types.Type {
	if e.Elem == nil {
		d := c.err("E0705", e, fmt.Sprintf("`%s` needs what it holds", name))
		d.Help = append(d.Help, "write "+map[string]string{"list": "`list[int]`", "view": "`view[vector[f64]]`", "array": "`array[f64]`"}[name])
		return types.TInvalid
	}
	if name == "array" {
		el := c.element(e.Elem, operand)
		if el == nil {
			return types.TInvalid
		}
		return &types.Type{Kind: types.Array, Elem: el.Elem, Param: el.Param}
	}
	of := c.resolve(e.Elem, false)
	if of.Kind == types.Invalid {
		return types.TInvalid
	}
	if name == "list" {
		if of.Kind == types.None {
			c.err("E0705", e.Elem, "a list of nothing has no use")
			return types.TInvalid
		}
		return types.ListOf(of)
	}
	if !of.IsHandle() {
		d := c.err("E0705", e.Elem, "a view holds handles, not "+plural(of))
		d.Help = append(d.Help, "write `view[vector[f64]]`")
		return types.TInvalid
	}
	return types.ViewOf(of)
}

// element resolves the type in the brackets of a handle type.
func (c *checker) element(e *syntax.TypeExpr, operand bool) *types.Type {
	if e.Name == nil {
		return nil
	}
	name := e.Name.Name
	e.Name.SetType(types.TNone)
	set := func(t *types.Type) *types.Type { e.Type = t; return t }
	if el, ok := iface.ElemByName(name); ok && e.Elem == nil {
		return set(&types.Type{Kind: types.Elem, Elem: el})
	}
	if isTypeParam(name) && e.Elem == nil {
		if operand {
			return set(&types.Type{Kind: types.Elem, Param: name[0]})
		}
		d := c.err("E0705", e, fmt.Sprintf("`%s` is not an element type", name))
		d.Notes = append(d.Notes, "element-type parameters belong to the signatures of codelets")
		d.Help = append(d.Help, "element types: "+elemNames())
		return nil
	}
	if t := plainTypes[name]; (t != nil || handleKinds[name] != 0) && e.Elem == nil || e.Elem != nil {
		d := c.err("E0705", e, fmt.Sprintf("`%s` is not an element type", c.text(e)))
		if !c.elemHabit(d, e) {
			d.Help = append(d.Help, "element types: "+elemNames())
		}
		return nil
	}
	c.unknownType(e, true)
	return nil
}

// numberOf is the type that elements of type e have in a script.
func numberOf(e iface.Elem) *types.Type {
	if e.IsComplex() {
		return types.TComplex
	}
	if e.IsFloat() {
		return types.TFloat
	}
	if e == iface.B8 {
		return types.TBool
	}
	return types.TInt
}

func isTypeParam(s string) bool {
	return len(s) == 1 && s[0] >= 'A' && s[0] <= 'Z' && s != "R" && s != "W"
}

func elemNames() string {
	var s []string
	for _, e := range vocab.ElemNames {
		s = append(s, e.Name)
	}
	return strings.Join(s, ", ")
}

func (c *checker) unknownType(e *syntax.TypeExpr, elem bool) {
	d := c.err("E0201", e.Name, fmt.Sprintf("`%s` is not a type", e.Name.Name))
	if c.structOf(e.Name.Name) != nil {
		d.Message = fmt.Sprintf("`%s` is a struct, and values have other types", e.Name.Name)
		d.Help = append(d.Help, "data of it has the type `vector["+e.Name.Name+"]`")
		return
	}
	if to := vocab.ForeignTypes[e.Name.Name]; to != "" && !elem {
		d.Meant(e.Name.Name, to, "")
		d.Sure()
		return
	}
	if elem && c.elemHabit(d, e) {
		return
	}
	var names []string
	for _, t := range vocab.TypeNames {
		names = append(names, t.Name)
	}
	if elem {
		for _, t := range vocab.ElemNames {
			names = append(names, t.Name)
		}
	}
	if best, ok := near(e.Name.Name, names); ok {
		d.Meant(e.Name.Name, best, "")
	} else {
		d.Help = append(d.Help, "types: "+strings.Join(names, ", "))
	}
}

// aType writes t with an article: "an int", "a vector[f64]".
func aType(t *types.Type) string {
	if t == nil || t.Kind == types.Invalid {
		return "something unknown"
	}
	s := t.String()
	if t.Kind == types.None {
		return "nothing"
	}
	if strings.ContainsRune("aeiou", rune(s[0])) {
		return "an " + s
	}
	return "a " + s
}

// kindName is the kind of a handle type without its element: "vector".
func kindName(t *types.Type) string {
	s, _, _ := strings.Cut(t.String(), "[")
	return s
}

// plural names many values of type t.
func plural(t *types.Type) string {
	switch t.Kind {
	case types.Complex:
		return "complex numbers"
	case types.Int, types.Float, types.String, types.Range, types.Task, types.Gate, types.Node, types.Worker, types.Reducer, types.Variable, types.Vector, types.Structs:
		s := t.String()
		if i := strings.IndexByte(s, '['); i > 0 {
			return s[:i] + "s" + s[i:]
		}
		return s + "s"
	case types.Matrix:
		return "matrices"
	case types.Block:
		return "blocks"
	case types.Tensor:
		return "tensors"
	case types.CSR, types.CSC, types.COO, types.BCSR:
		return kindName(t) + " matrices"
	}
	return "values of type " + t.String()
}

// unknown reports whether the items of a list of type t are not known yet.
func unknown(t *types.Type) bool {
	return t.Kind == types.List && (t.Of == nil || t.Of.Kind == types.Invalid && t.Of != types.TInvalid)
}

// unify reports whether a and b can be the same type. A list whose items are
// not known yet takes the items of the other, in place, for all its users.
func unify(a, b *types.Type) bool {
	if a == b || a == nil || b == nil || a == types.TInvalid || b == types.TInvalid {
		return true
	}
	switch {
	case a.Kind == types.Invalid && b.Kind == types.Invalid:
		return true
	case a.Kind == types.Invalid:
		return bind(a, b)
	case b.Kind == types.Invalid:
		return bind(b, a)
	case a.Kind != b.Kind:
		return false
	case a.Kind != types.List:
		return types.Same(a, b)
	case a.Of == nil && b.Of == nil:
		v := &types.Type{Kind: types.Invalid}
		a.Of, b.Of = v, v
		return true
	case a.Of == nil:
		if occurs(a, b.Of) {
			return false
		}
		a.Of = b.Of
		return true
	case b.Of == nil:
		if occurs(b, a.Of) {
			return false
		}
		b.Of = a.Of
		return true
	}
	return unify(a.Of, b.Of)
}

// bind makes the open type v mean t.
func bind(v, t *types.Type) bool {
	if occurs(v, t) {
		return false
	}
	if t.Kind == types.List && t.Of == nil {
		t.Of = &types.Type{Kind: types.Invalid} // shared from now on
	}
	*v = *t
	return true
}

func occurs(v, t *types.Type) bool {
	for ; t != nil; t = t.Of {
		if t == v {
			return true
		}
	}
	return false
}

// fits reports whether the value of e can go where a value of type want is
// expected: the same type, an int for a float, a gate for a task, a list literal
// whose items fit. It may settle the type of a list.
func (c *checker) fits(want *types.Type, e syntax.Expr) bool {
	got := e.Type()
	if got == nil || got.Kind == types.Invalid && got == types.TInvalid || want == types.TInvalid {
		return true
	}
	switch want.Kind {
	case types.Float:
		return got.Kind == types.Float || got.Kind == types.Int
	case types.Complex:
		return got.IsNumber() || got.Kind == types.Complex
	case types.Task:
		return got.Kind == types.Task || got.Kind == types.Gate
	case types.Array:
		return got.Kind == types.Array && sameArray(want, got)
	case types.Elem:
		if want.Param != 0 {
			return got.IsNumber() || got.Kind == types.Complex || got.Kind == types.Bool
		}
		if want.Elem.IsComplex() {
			return got.IsNumber() || got.Kind == types.Complex
		}
		if want.Elem == iface.B8 {
			return got.Kind == types.Bool
		}
		if want.Elem.IsFloat() {
			return got.IsNumber()
		}
		return got.Kind == types.Int
	case types.Dense, types.Any:
		return want.Admits(got) && (want.Param != 0 || want.Elem == got.Elem)
	case types.List:
		if got.Kind == types.List && got.Of != nil && want.Of != nil && !types.Same(want, got) && c.coerce(want, e) {
			return true
		}
	}
	return unify(want, got)
}

func sameArray(a, b *types.Type) bool {
	if a.Of != nil && b.Of != nil {
		return types.Same(a.Of, b.Of)
	}
	return arrayElem(a) == arrayElem(b)
}

func arrayElem(t *types.Type) iface.Elem {
	if t.Of != nil {
		return t.Of.Elem
	}
	return t.Elem
}

// coerce gives the list literals that e is made of the type want, if their
// items fit.
func (c *checker) coerce(want *types.Type, e syntax.Expr) bool {
	if want.Kind != types.List || want.Of == nil {
		return false
	}
	ok := false
	switch e := e.(type) {
	case *syntax.Paren:
		ok = c.coerce(want, e.X)
	case *syntax.ListLit:
		ok = true
		for _, x := range e.Items {
			ok = ok && c.fits(want.Of, x)
		}
	case *syntax.ListComp:
		ok = c.fits(want.Of, e.Item)
	case *syntax.Cond:
		ok = c.fits(want, e.Then) && c.fits(want, e.Else)
	case *syntax.Binary:
		ok = e.Op == "+" && c.fits(want, e.X) && c.fits(want, e.Y)
	}
	if ok {
		e.SetType(want)
	}
	return ok
}

// mismatch reports that the value of e is not a want; what names its place.
func (c *checker) mismatch(e syntax.Expr, want *types.Type, what string) {
	got := e.Type()
	intWanted := want.Kind == types.Int || want.Kind == types.Elem && want.Param == 0 && want.Elem.IsInt()
	if intWanted && got.Kind == types.Float {
		c.floatForInt(e, what)
		return
	}
	wanted := aType(want)
	switch {
	case want.Kind == types.Elem && want.Param == 0 && got.Kind == types.Complex:
		wanted = "a real number, as elements are of type " + want.Elem.String()
	case want.Kind == types.Elem && want.Param == 0 && want.Elem == iface.B8:
		wanted = "a bool, as elements are of type bool"
	case want.Kind == types.Elem:
		wanted = "a number"
	}
	d := c.err("E0705", e, fmt.Sprintf("%s must be %s, and this is %s", what, wanted, aType(got)))
	switch {
	case got.Kind == types.Complex && (want.IsNumber() || want.Kind == types.Elem):
		d.Help = append(d.Help, fmt.Sprintf("its real part is `re(%[1]s)`, its absolute value `abs(%[1]s)`", c.text(e)))
	case (want.Kind == types.Bool || want.Kind == types.Elem && want.Elem == iface.B8) && got.Kind == types.Int:
		d.Help = append(d.Help, fmt.Sprintf("write `%s != 0`", c.text(e)))
		d.Edit(c.f.At(e).After(), " != 0")
		d.Sure()
	case isIntList(want) && got.Kind == types.List:
		c.floatsForInts(d, e)
	case want.Kind == types.View && got.IsHandle() && types.Same(want.Of, got):
		d.Help = append(d.Help, fmt.Sprintf("declare a named view: `partition v = %s by ...`, and pass `v`", c.text(e)))
	case want.IsHandle() && got.Kind == types.View:
		d.Help = append(d.Help, "take one part of the view by its index")
	case want.Kind == types.Elem && want.Elem.IsInt() || want.Kind == types.Int && got.Kind == types.Bool:
	case got.Kind == types.Variable && (want.IsNumber() || want.Kind == types.Elem):
		d.Help = append(d.Help, fmt.Sprintf("`value(%s)` waits for it and reads it", c.text(e)))
	}
}

// floatForInt reports a float where an int is needed.
func (c *checker) floatForInt(e syntax.Expr, what string) {
	d := c.err("E0703", e, fmt.Sprintf("%s must be an int, and this is a float", what))
	if b, ok := syntax.Unparen(e).(*syntax.Binary); ok && b.Op == "/" && isType(b.X, types.Int) && isType(b.Y, types.Int) {
		d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; write `%s // %s` to round down", c.text(b.X), c.text(b.Y)))
		d.Edit(c.f.At(b.OpAt), "//")
		return
	}
	if c.wholeNumber(d, e) || c.floatInside(d, e) {
		return
	}
	d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", c.text(e)))
	d.Edit(c.f.At(e), "int("+c.text(e)+")")
}

// floatInside is wholeNumber for the one name in e that makes it a float; false when
// there is none, or more.
func (c *checker) floatInside(d *diag.Diagnostic, e syntax.Expr) bool {
	var name *syntax.Ident
	one := true
	syntax.WalkExpr(e, func(x syntax.Expr) bool {
		switch x := x.(type) {
		case *syntax.Ident:
			if isType(x, types.Float) {
				one = one && (name == nil || name.Obj == x.Obj)
				name = x
			}
		case *syntax.FloatLit, *syntax.Selector, *syntax.Index:
			one = one && !isType(x, types.Float)
		case *syntax.Binary:
			one = one && x.Op != "/"
		}
		return one
	})
	return one && name != nil && c.wholeNumber(d, name)
}

// wholeNumber adds to d that the literal e, or that of the let whose name e is, should
// be written as an int; false when it has a fraction, or e is something else.
func (c *checker) wholeNumber(d *diag.Diagnostic, e syntax.Expr) bool {
	switch x := syntax.Unparen(e).(type) {
	case *syntax.FloatLit:
		text := x.Whole()
		if text == "" {
			return false
		}
		d.Help = append(d.Help, "write `"+text+"`")
		d.Edit(c.f.At(x), text)
		d.Sure()
		return true
	case *syntax.Ident:
		if x.Obj == nil || c.infos[x.Obj] == nil || c.infos[x.Obj].let == nil {
			return false
		}
		s := c.infos[x.Obj].let
		if b, ok := syntax.Unparen(s.Value).(*syntax.Binary); ok && b.Op == "/" && s.Type == nil && isType(b.X, types.Int) && isType(b.Y, types.Int) {
			d.Labels = append(d.Labels, c.label(b, "a float from here on: `/` always gives one"))
			d.Help = append(d.Help, fmt.Sprintf("to round down write `let %s = %s // %s`", x.Name, c.text(b.X), c.text(b.Y)))
			d.Edit(c.f.At(b.OpAt), "//")
			return true
		}
		lit, ok := syntax.Unparen(s.Value).(*syntax.FloatLit)
		if !ok {
			return false
		}
		d.Labels = append(d.Labels, c.label(lit, "a float from here on"))
		if text := lit.Whole(); text != "" && s.Type == nil {
			d.Help = append(d.Help, fmt.Sprintf("make it an int: `let %s = %s`", x.Name, text))
			d.Edit(c.f.At(lit), text)
			return true
		}
	}
	return false
}

func isType(e syntax.Expr, k types.Kind) bool {
	return e != nil && e.Type() != nil && e.Type().Kind == k
}

// aKind writes the kind of a parameter with an article.
func aKind(t *types.Type) string {
	if t.Kind == types.Dense {
		return "a vector or a matrix"
	}
	if t.Kind == types.Any {
		return "data with elements"
	}
	return aType(t)
}

// Structs: an array for each field.

// structArgs are the names of arguments and fields of vectors of structs, which no field can have.
var structArgs = []string{"n", "offset", "fill", "load", "layout"}

// structDecl declares a struct.
func (c *checker) structDecl(s *syntax.Struct) {
	o := c.declare(types.StructObject, s.Name, types.TNone, "struct")
	o.Doc, o.Node, s.Obj = s.Doc, s, o
	f := &iface.SparseFormat{Name: "vector[" + o.Name + "]", Of: "structs", Axis: -1, Fields: true}
	o.Struct = &types.Struct{Name: o.Name, Format: f}
	seen := map[string]*syntax.Ident{}
	for _, x := range s.Body.Stmts {
		field, ok := x.(*syntax.Field)
		if !ok || field.Name == nil || field.Type == nil || field.Type.Name == nil {
			continue
		}
		name := field.Name.Name
		field.Name.SetType(types.TNone)
		if old := seen[name]; old != nil {
			d := c.err("E0202", field.Name, fmt.Sprintf("`%s` has the field `%s` twice", o.Name, name))
			d.Labels = append(d.Labels, c.label(old, "first declared here"))
			d.Help = append(d.Help, "give one of them another name")
			continue
		}
		seen[name] = field.Name
		if slices.Contains(structArgs, name) {
			d := c.err("E0202", field.Name, fmt.Sprintf("a field cannot have the name `%s`", name))
			d.Notes = append(d.Notes, "`n` and `offset` are fields of all vectors, and constructors have the arguments `fill`, `load` and `layout`")
			d.Help = append(d.Help, "give it another name, such as `"+name+"_`")
			continue
		}
		if e := c.fieldElem(field.Type, o); e != iface.NoElem {
			f.Arrays = append(f.Arrays, iface.SparseArray{Name: name, Kind: iface.Vector, Elem: e, Doc: "the field `" + name + "` of each element"})
		}
	}
	if len(s.Body.Stmts) == 0 {
		d := c.err("E0705", s.Name, fmt.Sprintf("`%s` has no fields", o.Name))
		d.Help = append(d.Help, fmt.Sprintf("write `struct %s { x: f64; y: f64 }`", o.Name))
	}
	if len(f.Arrays) == 0 { // reported: nothing is said about what uses it
		o.Struct = nil
	}
}

// fieldElem returns the element type of a field of the struct o.
func (c *checker) fieldElem(e *syntax.TypeExpr, o *types.Object) iface.Elem {
	name := e.Name.Name
	e.Name.SetType(types.TNone)
	if e.Elem == nil && (name == o.Name || c.structOf(name) != nil) {
		d := c.err("E0705", e, fmt.Sprintf("`%s` is a struct, and fields have element types", name))
		if name == o.Name {
			d.Message = fmt.Sprintf("`%s` contains itself", name)
		}
		d.Help = append(d.Help, "element types: "+elemNames())
		if name == o.Name {
			d.Help = append(d.Help, "to refer to another element keep its index: `next: i64`")
		}
		return iface.NoElem
	}
	t := c.element(e, false)
	if t == nil || t.Kind != types.Elem {
		return iface.NoElem
	}
	return t.Elem
}

// structOf returns the struct with a name, or nil.
func (c *checker) structOf(name string) *types.Object {
	if o := c.scope.Lookup(name); o != nil && o.Kind == types.StructObject {
		return o
	}
	return nil
}

// structElem returns the type of data of the given kind whose elements are of the struct that e names; false if e names no struct.
func (c *checker) structElem(kind string, e *syntax.Ident) (*types.Type, bool) {
	o := c.structOf(e.Name)
	if o == nil {
		return nil, false
	}
	c.markUsed(o)
	e.Obj = o
	e.SetType(types.TNone)
	switch {
	case o.Struct == nil:
		return types.TInvalid, true
	case kind != "vector":
		d := c.err("E0705", e, fmt.Sprintf("a %s does not have elements of a struct, as `%s` is", kind, e.Name))
		d.Help = append(d.Help, fmt.Sprintf("data of structs is `vector[%s]`; a %s of each field has elements of its type", e.Name, kind))
		return types.TInvalid, true
	}
	return types.StructsOf(o.Struct), true
}

// fieldNames returns the names of the fields of f.
func fieldNames(f *iface.SparseFormat) (names []string) {
	for _, a := range f.Arrays {
		names = append(names, a.Name)
	}
	return names
}
