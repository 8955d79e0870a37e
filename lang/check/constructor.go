package check

// Constructors of registered data: vector[f64](n, fill = 0.0) after register.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// registered is the type of what register makes: one handle, or a list of them.
func (c *checker) registered(e syntax.Expr) *types.Type {
	var t *types.Type
	if x := c.commented(e); x != nil {
		t = c.constructor(x)
		e.SetType(t)
		return t
	}
	switch x := syntax.Unparen(e).(type) {
	case *syntax.ListLit:
		if len(x.Items) == 0 {
			c.err("E0705", x, "an empty list registers nothing")
			return types.TInvalid
		}
		if c.plainList(x) {
			return types.TInvalid
		}
		var first *types.Type
		for _, it := range x.Items {
			k := c.constructor(it)
			it.SetType(k)
			if first == nil || first == types.TInvalid {
				first = k
			} else if !types.Same(first, k) {
				d := c.err("E0705", it, fmt.Sprintf("the items of a list have one type: the first is %s, and this is %s", aType(first), aType(k)))
				d.Help = append(d.Help, "register them under names of their own")
			}
		}
		t = types.ListOf(first)
		x.SetType(t)
	case *syntax.ListComp:
		t = c.comprehension(x, true)
		x.SetType(t)
	default:
		t = c.constructor(x)
	}
	if e != nil {
		e.SetType(t)
	}
	return t
}

// plainList reports a list of numbers where a list of constructors should stand.
func (c *checker) plainList(x *syntax.ListLit) bool {
	for _, it := range x.Items {
		switch syntax.Unparen(it).(type) {
		case *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit, *syntax.Unary:
		default:
			return false
		}
	}
	x.SetType(c.expr(x))
	right := fmt.Sprintf("vector[f64](list = %s)", c.text(x))
	d := c.err("E0705", x, "`register` takes a constructor, or a list of them, and this is a list of numbers")
	d.Help = append(d.Help, fmt.Sprintf("data with these elements is `%s`; for values use `let`", right))
	d.Edit(c.f.At(x), right)
	return true
}

// constructor checks one constructor and returns the type of its handle.
func (c *checker) constructor(e syntax.Expr) *types.Type {
	inner := syntax.Unparen(e)
	t := c.constructor1(inner)
	if inner != nil {
		inner.SetType(t)
	}
	if e != nil {
		e.SetType(t)
	}
	return t
}

// calledType finds vector(f64) in vector(f64)(n).
func calledType(call *syntax.Call) (inner *syntax.Call, ok bool) {
	if call == nil {
		return nil, false
	}
	if inner, ok = call.Fn.(*syntax.Call); !ok || len(inner.Args) != 1 {
		return nil, false
	}
	id, ok := inner.Fn.(*syntax.Ident)
	return inner, ok && handleKinds[id.Name] != 0
}

func (c *checker) constructor1(e syntax.Expr) *types.Type {
	call, ok := e.(*syntax.Call)
	var name *syntax.Ident
	var elem syntax.Expr
	var rank *syntax.IntLit
	if ok {
		switch fn := call.Fn.(type) {
		case *syntax.Ident:
			name = fn
		case *syntax.Index:
			if id, ok := fn.X.(*syntax.Ident); ok && len(fn.Args) == 1 {
				name, elem = id, fn.Args[0]
			} else if ok && len(fn.Args) == 2 {
				if n, ok := fn.Args[1].(*syntax.IntLit); ok {
					name, elem, rank = id, fn.Args[0], n
				}
			}
		}
	}
	if inner, twice := calledType(call); twice {
		right := c.text(inner.Fn) + "[" + c.text(inner.Args[0]) + "]"
		d := c.err("E0705", inner, "the element type of a constructor is written in square brackets")
		d.Help = append(d.Help, "write `"+right+"(...)`")
		d.Edit(c.f.At(inner), right)
		d.Sure()
		return types.TInvalid
	}
	if c.parenthesized(e) {
		return types.TInvalid
	}
	if x, isIndex := e.(*syntax.Index); isIndex {
		if id, ok := x.X.(*syntax.Ident); ok && handleKinds[id.Name] != 0 {
			c.noArguments(e, id.Name, c.text(e))
			return types.TInvalid
		}
	}
	if id, ok := e.(*syntax.Ident); ok && handleKinds[id.Name] != 0 && c.scope.Lookup(id.Name) == nil {
		c.noArguments(e, id.Name, id.Name+"[f64]")
		return types.TInvalid
	}
	if name == nil || handleKinds[name.Name] == 0 && name.Name != "void" {
		return c.notConstructor(e, name)
	}
	name.SetType(types.TNone)
	if name.Name == "void" {
		call.Fn.SetType(types.TVoid)
		c.args(call)
		if len(call.Args) > 0 || elem != nil {
			c.err("E0705", call, "`void()` takes nothing: it has no elements")
		}
		return types.TVoid
	}
	t := c.handleType(call, name, elem, rank)
	call.Fn.SetType(t)
	if rank != nil && t == types.TInvalid {
		c.args(call)
		return t
	}
	c.constructorArgs(call, name.Name, t)
	return t
}

// noArguments reports vector[f64] where vector[f64](n) should be; typ is its type.
func (c *checker) noArguments(e syntax.Expr, kind, typ string) {
	d := c.err("E0705", e, fmt.Sprintf("`%s` is a type: a constructor needs its arguments", c.text(e)))
	names := sizeNames[kind]
	if x, ok := syntax.Unparen(e).(*syntax.Index); ok && len(x.Args) == 2 {
		if n, ok := x.Args[1].(*syntax.IntLit); ok && isTensorRank(n.Value) {
			names = iface.KindOf(int(n.Value)).Sizes()
		}
	}
	sizes := strings.Join(names, ", ")
	if kind != "variable" {
		d.Help = append(d.Help, fmt.Sprintf("write `%s(%s)`, or with a value `%s(%s, fill = 0)`", typ, sizes, typ, sizes))
		return
	}
	d.Help = append(d.Help, fmt.Sprintf("write `%s()`, or with a value `%s(fill = 0)`", typ, typ))
	d.Edit(c.f.At(e), typ+"(fill = 0)")
}

func (c *checker) notConstructor(e syntax.Expr, name *syntax.Ident) *types.Type {
	if name != nil && c.scope.Lookup(name.Name) == nil && builtinFuncs[name.Name] == nil {
		c.args(e.(*syntax.Call))
		d := c.err("E0201", name, fmt.Sprintf("`%s` is not a kind of data", name.Name))
		kinds := strings.Split(kindsOfData, ", ")
		if best := vocab.ForeignKinds[name.Name]; best != "" {
			d.Meant(name.Name, best, "")
			d.Sure()
		} else if vocab.ForeignLoaders[name.Name] {
			d.Help = append(d.Help, "a file is loaded where its kind is said: `"+loadForm(c, e.(*syntax.Call))+"`, or vector[f64]")
		} else if h := vocab.ForeignMembers[name.Name].Help; strings.Contains(h, "registered") {
			d.Help = append(d.Help, h)
		} else if best, ok := near(name.Name, kinds); ok {
			d.Meant(name.Name, best, "")
		} else {
			d.Help = append(d.Help, "kinds of data: "+strings.Join(kinds, ", "))
		}
		return types.TInvalid
	}
	t := c.expr(e)
	if t.Kind != types.Invalid {
		d := c.err("E0705", e, fmt.Sprintf("`register` takes a constructor, or a list of them, and this is %s", aType(t)))
		switch text := c.text(e); {
		case t.IsNumber():
			d.Help = append(d.Help, fmt.Sprintf("data of one element is `variable[f64](fill = %s)`; for values use `let`", text))
			d.Edit(c.f.At(e), fmt.Sprintf("variable[%s](fill = %s)", map[bool]string{true: "f64", false: "i64"}[t.Kind == types.Float], text))
		default:
			d.Help = append(d.Help, "write `register x = vector[f64](n)`; for values use `let`")
		}
	}
	return types.TInvalid
}

// handleType is the type that kind[elem] or kind[elem, rank] names. Without a rank, tensors have as many indices
// as the call gives sizes, and four at least.
func (c *checker) handleType(call *syntax.Call, name *syntax.Ident, elem syntax.Expr, rank *syntax.IntLit) *types.Type {
	if elem == nil {
		d := c.err("E0705", call.Fn, fmt.Sprintf("`%s` needs its element type", name.Name))
		d.Help = append(d.Help, fmt.Sprintf("write `%s[f64](...)`; element types: %s", name.Name, elemNames()))
		return types.TInvalid
	}
	elem.SetType(types.TNone)
	id, ok := elem.(*syntax.Ident)
	if !ok {
		d := c.err("E0705", elem, "this must be an element type")
		d.Help = append(d.Help, "element types: "+elemNames())
		return types.TInvalid
	}
	if t, ok := c.structElem(name.Name, id); ok {
		return t
	}
	te := &syntax.TypeExpr{Span: id.Span, Name: id}
	el := c.element(te, false)
	if el == nil {
		return types.TInvalid
	}
	t := &types.Type{Kind: handleKinds[name.Name], Elem: el.Elem}
	switch {
	case rank != nil:
		return c.ranked(t, name.Name, rank, c.text(elem))
	case t.Kind == types.Tensor:
		return types.TensorOf(sizesGiven(call), t.Elem)
	}
	return t
}

// sizesGiven returns how many sizes a constructor of a tensor is given, at most as many as there can be.
func sizesGiven(call *syntax.Call) int {
	n := 0
	all := iface.KindOf(iface.MaxRank).Sizes()
	for i, a := range call.Args {
		switch {
		case a.Name != nil:
			n = max(n, 1+slices.Index(all, a.Name.Name))
		case i == n:
			switch syntax.Unparen(a.Value).(type) {
			case *syntax.StringLit, *syntax.FString, *syntax.ListLit, *syntax.ListComp:
			default:
				n++
			}
		}
	}
	return min(n, iface.MaxRank)
}

// sizesOf returns the names of the sizes of data of a kind with this name and of type t, which may be TInvalid.
func sizesOf(kind string, t *types.Type) []string {
	if t.Kind == types.Tensor {
		return t.Data().Sizes()
	}
	return sizeNames[kind]
}

// sizeNames are the names of the sizes by the name of the kind.
var sizeNames = map[string][]string{"vector": iface.Vector.Sizes(), "matrix": iface.Matrix.Sizes(), "block": iface.Block.Sizes(), "tensor": iface.Tensor.Sizes(),
	"csr": iface.Sparse("csr").Sizes(), "csc": iface.Sparse("csc").Sizes(), "coo": iface.Sparse("coo").Sizes(), "bcsr": iface.Sparse("bcsr").Sizes()}

// constructorArgs checks sizes, fill, list, load, ld and reduce.
func (c *checker) constructorArgs(call *syntax.Call, kind string, t *types.Type) {
	if t.Fields() != nil {
		c.structValues(call, t)
		return
	}
	sizes := sizesOf(kind, t)
	given := map[string]*syntax.Arg{}
	for i, a := range call.Args {
		name := ""
		switch {
		case a.Name != nil:
			a.Name.SetType(types.TNone)
			name = a.Name.Name
		case c.nameless(a, kind, t, i):
			continue
		default:
			name = sizes[i]
		}
		if given[name] != nil {
			c.expr(a.Value)
			c.twice(a, name)
			continue
		}
		given[name] = a
		c.constructorArg(a, kind, name, t)
	}
	c.sources(call, kind, t, given)
	if f := iface.Sparse(kind); f != nil {
		c.structure(call, given, f)
	}
}

// structureArgs are the arguments of a constructor that take the structure of a sparse matrix from other data.
// The first three are for a csr.
var structureArgs = []string{"like", "order", "transposed", "dense", "from"}

// structureArg checks the value of an argument that gives a sparse matrix of type t its structure.
func (c *checker) structureArg(a *syntax.Arg, name string, t *types.Type) {
	x := a.Value
	got := c.expr(x)
	if got.Kind == types.Invalid {
		return
	}
	want, fits := "", false
	switch name {
	case "like":
		want, fits = "a csr, or a list of some", got.Kind == types.CSR || got.Kind == types.List && got.Of != nil && got.Of.Kind == types.CSR
	case "transposed":
		want, fits = "a csr", got.Kind == types.CSR
	case "order":
		want, fits = "a vector of i32 or i64", got.Kind == types.Vector && (got.Elem == iface.I32 || got.Elem == iface.I64)
	case "dense":
		want, fits = "a matrix", got.Kind == types.Matrix
		if fits && t != types.TInvalid && got.Elem != t.Elem {
			want, fits = fmt.Sprintf("a matrix[%v], as its values are those of the %s", t.Elem, kindName(t)), false
		}
	case "from":
		want, fits = "a sparse matrix", got.Sparse() != nil
		if fits && t != types.TInvalid && got.Elem != t.Elem {
			want, fits = fmt.Sprintf("a sparse matrix with elements of type %v, which it keeps", t.Elem), false
		}
	}
	if !fits {
		c.err("E0703", x, fmt.Sprintf("`%s` must be %s, and this is %s", name, want, aType(got)))
	}
}

// otherStructure reports whether the arguments given take the structure of a sparse matrix from other data.
func otherStructure(given map[string]*syntax.Arg) bool {
	return given["like"] != nil || given["transposed"] != nil || given["dense"] != nil || given["from"] != nil
}

// sparseForms are constructors of sparse matrices from lists, for messages.
var sparseForms = map[string]string{
	"csr":  "csr[f64](2, 2, ptr = [0, 1, 2], col = [0, 1], val = [1.0, 2.0])",
	"csc":  "csc[f64](2, 2, ptr = [0, 1, 2], row = [0, 1], val = [1.0, 2.0])",
	"coo":  "coo[f64](2, 2, row = [0, 1], col = [0, 1], val = [1.0, 2.0])",
	"bcsr": "bcsr[f64](2, 2, 1, 2, ptr = [0, 1, 1], col = [0], val = [1.0, 2.0])",
}

// structure checks that a sparse matrix gets its structure once: from a file, from lists, or from other data.
func (c *checker) structure(call *syntax.Call, given map[string]*syntax.Arg, f *iface.SparseFormat) {
	for _, a := range call.Args {
		if c.unknownArg[a] {
			return // most likely one of them
		}
	}
	source, lists := "", f.Arrays[:f.Values()] // the first that gives a structure
	names := []string{"load", "like", "transposed", "dense", "from"}
	for _, a := range lists {
		names = append(names, a.Name)
	}
	for _, name := range names {
		switch a := given[name]; {
		case a == nil:
		case source == "" || f.Array(source) >= 0 && f.Array(name) >= 0:
			source = name
		default:
			d := c.err("E0705", a, fmt.Sprintf("`%s` and `%s` both give the %s its structure", name, source, f.Name))
			d.Labels = append(d.Labels, c.label(given[source], "the other one"))
			d.Help = append(d.Help, "keep one of them")
			return
		}
	}
	if a := given["order"]; a != nil && given["like"] == nil {
		d := c.err("E0705", a, "`order` puts the rows and columns of another csr in order, and there is none")
		d.Help = append(d.Help, "write `csr[f64](like = A, order = p)`")
		return
	}
	if source != "" && f.Array(source) < 0 {
		return
	}
	for _, array := range lists {
		if name := array.Name; given[name] == nil {
			d := c.err("E0705", call, fmt.Sprintf("`%s` needs `%s`, or a file by `load`", f.Name, name))
			load := fmt.Sprintf("%s[f64](load = \"a.mtx\")", f.Name)
			if f.Blocks {
				load = fmt.Sprintf("%s[f64](r = 2, c = 2, load = \"a.mtx\")", f.Name)
			}
			help := "write `" + sparseForms[f.Name] + "`, or `" + load + "`"
			if f.Name == "csr" {
				help = "write `" + sparseForms[f.Name] + "`, `" + load + "`, or `csr[f64](like = A)` for the structure of another one"
			}
			d.Help = append(d.Help, help)
			return
		}
	}
}

func (c *checker) constructorArg(a *syntax.Arg, kind, name string, t *types.Type) {
	for _, s := range sizesOf(kind, t) {
		if s == name {
			c.want(a.Value, types.TInt, fmt.Sprintf("`%s`", name))
			if v, ok := literal(a.Value); ok && v < 0 {
				c.err("E0705", a.Value, fmt.Sprintf("`%s` cannot be negative", name))
			}
			return
		}
	}
	el := &types.Type{Kind: types.Elem, Elem: t.Elem}
	if t == types.TInvalid {
		el = types.TInvalid
	}
	sparse := iface.Sparse(kind)
	switch {
	case name == "owner":
		c.owner(a)
	case name == "fill":
		c.want(a.Value, el, "`fill`")
		c.inRange(a.Value, el, "`fill`")
	case name == "list" && kind != "variable" && sparse == nil, name == "val" && sparse != nil:
		c.listOfElems(a, kind, name, t)
	case sparse != nil && sparse.Array(name) >= 0:
		c.want(a.Value, types.ListOf(types.TInt), fmt.Sprintf("`%s`", name))
	case name == "load" && kind != "variable":
		c.want(a.Value, types.TString, "`load`")
		c.fileName(a.Value, "loaded", t)
	case sparse != nil && slices.Contains(ConstructorArgs(kind), name), name == "from" && kind == "matrix":
		c.structureArg(a, name, t)
	case name == "ld" && kind == "matrix":
		c.want(a.Value, types.TInt, "`ld`")
	case name == "capacity" && (kind == "vector" || kind == "matrix"):
		c.want(a.Value, types.TInt, "`capacity`")
	case name == "reduce" && sparse == nil:
		if c.foreignReducer(a.Value) {
			return
		}
		c.want(a.Value, types.TReducer, "`reduce`")
		c.reduceFits(a.Value, t)
	case name == "layout" && sparse == nil:
		c.layouts(a.Value, t)
	default:
		c.expr(a.Value)
		d := c.err("E0705", a.Name, fmt.Sprintf("`%s` has no argument `%s`", kind, name))
		c.wrongArg(a)
		names := ConstructorArgs(kind)
		if best := vocab.ForeignArgs[name]; best != "" && slices.Contains(names, best) {
			d.Meant(name, best, "") // before what is near: `file` is no `fill`
			d.Sure()
		} else if best, ok := near(name, names); ok {
			d.Meant(name, best, "")
		} else if name == "dtype" || name == "type" {
			d.Help = append(d.Help, fmt.Sprintf("the element type is written in the square brackets: `%s[f64]`", kind))
		}
		d.Help = append(d.Help, "all arguments: "+strings.Join(names, ", "))
	}
}

// owner checks the rank that owns data.
func (c *checker) owner(a *syntax.Arg) {
	c.want(a.Value, types.TInt, "`owner`")
	if v, ok := literal(a.Value); ok && v < 0 {
		d := c.err("E0705", a.Value, fmt.Sprintf("`owner` is %d; ranks have numbers from 0", v))
		d.Help = append(d.Help, "write 0 or more: a number that a run does not have is taken modulo the number of its ranks; without `owner` the ranks deal the data")
	}
}

// listOfElems checks the list a that gives the elements of data of type t.
func (c *checker) listOfElems(a *syntax.Arg, kind, name string, t *types.Type) {
	k := c.expr(a.Value)
	of := k.Of
	switch {
	case k.Kind == types.Invalid:
	case k.Kind != types.List:
		c.err("E0705", a.Value, fmt.Sprintf("`%s` takes a list of numbers, and this is %s", name, aType(k)))
	case t != types.TInvalid && t.Elem == iface.B8 && of != nil && of.Kind != types.Invalid:
		if of.Kind != types.Bool {
			d := c.err("E0705", a.Value, fmt.Sprintf("elements of type bool are true or false, and this is %s", aType(k)))
			if of.Kind == types.Int {
				d.Help = append(d.Help, "write `[x != 0 for x in ...]`")
			}
		}
	case of != nil && of.Kind == types.Bool && t != types.TInvalid:
		d := c.err("E0705", a.Value, fmt.Sprintf("`%s` takes a list of numbers, and this is %s", name, aType(k)))
		d.Help = append(d.Help, fmt.Sprintf("register data of `bool`: `%s[bool]`", kind))
	case of == nil || of.Kind == types.Invalid || of.Kind == types.Int || of.Kind == types.Float && (t == types.TInvalid || t.Elem.Part().IsFloat()):
	case of.Kind == types.Complex && (t == types.TInvalid || t.Elem.IsComplex()):
	case of.Kind == types.Complex:
		d := c.err("E0705", a.Value, fmt.Sprintf("elements of type %v are real numbers, and this is a list of complex ones", t.Elem))
		d.Help = append(d.Help, "register data of `c128`, or write `[re(x) for x in ...]`")
	case of.Kind == types.Float:
		d := c.err("E0703", a.Value, fmt.Sprintf("elements of type %v must be ints, and this is a list of floats", t.Elem))
		d.Help = append(d.Help, "write `[int(x) for x in ...]`")
	case of.Kind == types.List:
		c.nestedList(a, kind)
	default:
		c.err("E0705", a.Value, fmt.Sprintf("`%s` takes a list of numbers, and this is %s", name, aType(k)))
	}
}

// inRange reports an int literal that an element type cannot hold.
func (c *checker) inRange(e syntax.Expr, t *types.Type, what string) {
	v, ok := literal(e)
	if !ok || t.Kind != types.Elem || t.Param != 0 || !t.Elem.IsInt() {
		return
	}
	bits := uint(t.Elem.Size() * 8)
	lo, hi := int64(0), int64(1)<<(bits-1)-1
	if bits == 64 {
		hi = 1<<63 - 1
	}
	if t.Elem.IsSigned() {
		lo = -hi - 1
	} else if bits < 64 {
		hi = int64(1)<<bits - 1
	}
	if v < lo || v > hi {
		d := c.err("E0705", e, fmt.Sprintf("%s is %d, and %v holds %d to %d", what, v, t.Elem, lo, hi))
		if t.Elem == iface.U64 {
			d.Message = fmt.Sprintf("%s is %d, and %v holds no negative numbers", what, v, t.Elem)
		}
	}
}

// reduceFits reports a reducer whose codelets work on other data than t.
func (c *checker) reduceFits(e syntax.Expr, t *types.Type) {
	if id, ok := syntax.Unparen(e).(*syntax.Ident); ok && t.Elem.IsComplex() && id.Obj != nil && id.Obj.Kind == types.BuiltinValue && (id.Name == "min" || id.Name == "max") {
		d := c.err("E0705", e, fmt.Sprintf("complex numbers have no order, so there is no `%s` of %v elements", id.Name, t.Elem))
		d.Help = append(d.Help, "complex elements take `reduce = sum`, `reduce = prod`, or a `reducer(init = i, combine = c)` of codelets")
		return
	}
	if id, ok := syntax.Unparen(e).(*syntax.Ident); ok && t.Elem == iface.B8 && id.Obj != nil && id.Obj.Kind == types.BuiltinValue && (id.Name == "sum" || id.Name == "prod") {
		d := c.err("E0705", e, fmt.Sprintf("bools have no arithmetic, so there is no `%s` of bool elements", id.Name))
		d.Help = append(d.Help, "write `reduce = max`, true if a contribution is, or `reduce = min`, true if all are")
		return
	}
	call, ok := syntax.Unparen(e).(*syntax.Call)
	if !ok || call.Callee != builtinFuncs["reducer"] || t == types.TInvalid {
		return
	}
	for _, a := range call.Args {
		var o *types.Object
		switch x := a.Value.(type) {
		case *syntax.Ident:
			o = x.Obj
		case *syntax.Selector:
			o = x.Name.Obj
		}
		if o == nil || o.Sig == nil || len(o.Sig.Params) == 0 || o.Sig.Params[0].Mode == iface.NoMode {
			continue
		}
		p := o.Sig.Params[0].Type
		if p != types.TInvalid && (!p.Admits(t) || p.Param == 0 && p.Elem != t.Elem) {
			d := c.err("E0705", a.Value, fmt.Sprintf("`%s` works on %s, and this data is %s", o.Name, aType(p), aType(t)))
			d.Notes = append(d.Notes, "codelet "+o.Sig.Text)
			return
		}
	}
}

// sources checks that the sizes are known and that the data has one source.
func (c *checker) sources(call *syntax.Call, kind string, t *types.Type, given map[string]*syntax.Arg) {
	var src []string
	for _, s := range []string{"fill", "list", "val", "load", "dense", "from"} {
		if given[s] != nil {
			src = append(src, s)
		}
	}
	if len(src) > 1 {
		d := c.err("E0705", given[src[1]], fmt.Sprintf("`%s` and `%s` both give the data its value", src[0], src[1]))
		d.Labels = append(d.Labels, c.label(given[src[0]], "the other one"))
		d.Help = append(d.Help, "keep one of them")
	}
	if room, r := given["capacity"], given["reduce"]; room != nil && r != nil {
		d := c.err("E0705", r, "data with a capacity has no reduction")
		d.Labels = append(d.Labels, c.label(room, "tasks may change its size"))
		d.Help = append(d.Help, "leave out one of the two")
	}
	for _, name := range []string{"capacity", "reduce"} {
		if l, other := given["layout"], given[name]; l != nil && other != nil {
			d := c.err("E0705", l, fmt.Sprintf("data with a layout of its own on devices has no `%s`", name))
			d.Labels = append(d.Labels, c.label(other, "the other one"))
			d.Help = append(d.Help, "leave out one of the two")
		}
	}
	var lack []string
	for _, a := range call.Args {
		if c.unknownArg[a] {
			return // most likely one of them
		}
	}
	all := sizesOf(kind, t)
	need := all
	whole := given["load"] != nil || otherStructure(given)
	if whole && kind == "bcsr" && given["rows"] == nil && given["cols"] == nil {
		need = need[2:] // blocks have a size, whatever is cut into them
	}
	for _, s := range need {
		if given[s] == nil {
			lack = append(lack, "`"+s+"`")
		}
	}
	if lack == nil || whole && kind != "bcsr" && len(lack) == len(need) || whole && given["load"] == nil && kind != "bcsr" && kind != "matrix" || given["list"] != nil && kind == "vector" {
		return
	}
	last := len(lack) - 1
	lacks := lack[last]
	if last > 0 {
		lacks = strings.Join(lack[:last], ", ") + " and " + lacks
	}
	d := c.err("E0705", call, fmt.Sprintf("`%s` needs %s", kind, lacks))
	switch {
	case given["list"] != nil:
		what := "how many rows it has"
		if kind == "block" {
			what = "how many planes and rows it has"
		} else if kind == "tensor" {
			what = "its sizes"
		}
		d.Help = append(d.Help, "a flat list does not show "+what+": write the sizes before it")
	case kind == "tensor" && len(lack) < len(all) && c.otherRank(d, call, len(all)-len(lack)):
	case kind == "bcsr":
		d.Help = append(d.Help, "`r` and `c` are the numbers of rows and columns of a block: write `"+c.text(call.Fn)+"(r = 2, c = 2, load = ...)`, or `"+sparseForms[kind]+"`")
	case kind == "vector":
		d.Help = append(d.Help, "write `"+c.text(call.Fn)+"(n)`, or give the data with `list =` or `load =`")
	default:
		d.Help = append(d.Help, "write `"+c.text(call.Fn)+"("+strings.Join(all, ", ")+")`, or give the data with `load =`")
	}
}

// otherRank adds to d that data with n indices is of another kind than call makes, whose
// sizes are without names.
func (c *checker) otherRank(d *diag.Diagnostic, call *syntax.Call, n int) bool {
	index, ok := call.Fn.(*syntax.Index)
	if !ok || n < 1 || n > iface.MaxRank || len(index.Args) > 1 && n > 3 {
		return false
	}
	for _, a := range call.Args[:n] {
		if a.Name != nil {
			return false
		}
	}
	kind := iface.KindOf(n).Word()
	d.Help = append(d.Help, fmt.Sprintf("data of %s is a %s: `%s[%s]%s`", Indices(n), kind, kind, c.text(index.Args[0]), strings.TrimPrefix(c.text(call), c.text(call.Fn))))
	if len(index.Args) == 1 {
		d.Edit(c.f.At(index.X), kind)
	}
	return true
}

// Arguments of constructors that lack their names, or have names from elsewhere.

// loadForm is the constructor that does what call, of one of the loaders, asks for.
func loadForm(c *checker, call *syntax.Call) string {
	file := `"x.npy"`
	if len(call.Args) > 0 {
		file = c.text(call.Args[0].Value)
	}
	return "matrix[f64](load = " + file + ")"
}

// wrongArg notes that a stands for some argument that is hard to tell: what lacks
// then, sizes or a value, is not reported.
func (c *checker) wrongArg(a *syntax.Arg) {
	if c.unknownArg == nil {
		c.unknownArg = map[*syntax.Arg]bool{}
	}
	c.unknownArg[a] = true
}

// nameless reports the argument a, the i-th, of a constructor if it needs a name:
// all but the sizes do, and a text or a list is no size.
func (c *checker) nameless(a *syntax.Arg, kind string, t *types.Type, i int) bool {
	sizes := sizesOf(kind, t)
	size := i < len(sizes)
	switch syntax.Unparen(a.Value).(type) {
	case *syntax.StringLit, *syntax.FString, *syntax.ListLit, *syntax.ListComp:
	default:
		if size {
			return false // most often an int; other types are reported elsewhere
		}
	}
	t = c.expr(a.Value)
	c.wrongArg(a)
	if len(sizes) == iface.MaxRank && !size && t.Kind == types.Int {
		if i == len(sizes) { // the others behind it are not reported
			d := c.err("E0705", a, fmt.Sprintf("a tensor has at most %d sizes, one for each index", iface.MaxRank))
			d.Help = append(d.Help, "leave sizes out; an initial value is written `fill = "+c.text(a)+"`")
		}
		return true
	}
	name, what := "", ""
	switch {
	case t.Kind == types.String && kind != "variable":
		name, what = "load", "a file is named by `load`"
	case t.Kind == types.List && kind != "variable" && iface.Sparse(kind) == nil:
		name, what = "list", "elements are given by `list`"
	case t.IsNumber():
		name, what = "fill", "an initial value is given by `fill`"
	case t.Kind == types.Reducer:
		name, what = "reduce", "a reduction is given by `reduce`"
	}
	if name == "" || t.IsNumber() && i > len(sizes) {
		all := ConstructorArgs(kind)
		others := slices.IndexFunc(all, func(name string) bool { return !slices.Contains(sizes, name) })
		d := c.err("E0705", a, fmt.Sprintf("`%s` takes %s without a name", kind, Arguments(len(sizes))))
		d.Help = append(d.Help, "name the others: `"+strings.Join(all[others:], " =`, `")+" =`")
		return true
	}
	d := c.err("E0705", a, fmt.Sprintf("`%s` takes %s without a name: %s", kind, Arguments(len(sizes)), what))
	if size {
		d.Message = fmt.Sprintf("`%s` must be an int, and this is %s: %s", sizes[i], aType(t), what)
	}
	if rows, ok := syntax.Unparen(a.Value).(*syntax.ListLit); ok && kind == "matrix" && size {
		if flat := c.flat(rows); flat != "" && i == 0 {
			d.Help = append(d.Help, "a matrix takes its sizes and a flat list, row by row: `"+flat+"`")
			d.Edit(c.f.At(a), flat)
			d.Sure()
			return true
		}
		d.Help = append(d.Help, "a matrix takes its sizes and a flat list, row by row: `matrix[f64](2, 2, list = [1, 2, 3, 4])`")
		return true
	}
	d.Help = append(d.Help, fmt.Sprintf("write `%s = %s`", name, c.text(a)))
	d.Edit(c.f.At(a).Before(), name+" = ")
	d.Sure()
	return true
}

// nestedList reports a list of rows where a flat list is given.
func (c *checker) nestedList(a *syntax.Arg, kind string) {
	d := c.err("E0705", a.Value, "`list` takes a flat list, row by row")
	rows, ok := syntax.Unparen(a.Value).(*syntax.ListLit)
	flat := ""
	if ok && kind == "matrix" {
		flat = c.flat(rows)
	}
	if flat == "" {
		d.Help = append(d.Help, "write the sizes before it: `matrix[f64](2, 2, list = [1, 2, 3, 4])`")
		return
	}
	sizes, list, _ := strings.Cut(flat, "list = ")
	if !strings.HasSuffix(strings.TrimRight(c.f.Source.Text[:a.Range().Lo], " \t\n"), "(") { // the sizes are in front of it
		d.Help = append(d.Help, fmt.Sprintf("write `list = %s`", list))
		d.Edit(c.f.At(a.Value), list)
		return
	}
	c.wrongArg(a)
	d.Help = append(d.Help, fmt.Sprintf("write the sizes before it: `%slist = %s`", sizes, list))
	d.Edit(c.f.At(a), flat)
	d.Sure()
}

// flat is the arguments of a matrix made of the lists of its rows, "" if these are no
// lists of one length.
func (c *checker) flat(rows *syntax.ListLit) string {
	var items []string
	n := 0
	for _, r := range rows.Items {
		row, ok := syntax.Unparen(r).(*syntax.ListLit)
		if !ok || len(row.Items) == 0 || n > 0 && len(row.Items) != n {
			return ""
		}
		n = len(row.Items)
		for _, x := range row.Items {
			items = append(items, c.text(x))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d, %d, list = [%s]", len(rows.Items), n, strings.Join(items, ", "))
}

// ConstructorArgs names what vector[T](…) and the other kinds take, sizes first.
func ConstructorArgs(kind string) []string {
	names := append([]string{}, sizeNames[kind]...)
	if kind == "tensor" {
		names = iface.KindOf(iface.MaxRank).Sizes()
	}
	if f := iface.Sparse(kind); f != nil {
		for _, a := range f.Arrays {
			names = append(names, a.Name)
		}
		names = append(names, "fill", "load", "owner")
		if kind != "csr" {
			return append(names, structureArgs[3:]...)
		}
		return append(names, structureArgs...)
	}
	names = append(names, "fill")
	if kind != "variable" {
		names = append(names, "list", "load")
	}
	if kind == "matrix" {
		names = append(names, "from", "ld")
	}
	if kind == "matrix" || kind == "vector" {
		names = append(names, "capacity")
	}
	return append(names, "layout", "owner", "reduce")
}

// Sizes of data in square brackets, as arrays of other languages have them:
// matrix[f64][4, 4], vector[f64, 8], vector[8].

// sizesInBrackets is the constructor that e writes with its sizes in square brackets,
// "" if it does not; sure says that it leaves nothing open.
func (c *checker) sizesInBrackets(e syntax.Expr) (right string, sure bool) {
	var groups [][]syntax.Expr // of brackets, the last first
	x := syntax.Unparen(e)
	for {
		index, ok := x.(*syntax.Index)
		if !ok {
			break
		}
		groups = append(groups, index.Args)
		x = index.X
	}
	id, ok := x.(*syntax.Ident)
	if !ok || handleKinds[id.Name] == 0 || c.scope.Lookup(id.Name) != nil || len(groups) == 0 {
		return "", false
	}
	slices.Reverse(groups)
	elem, first := "f64", groups[0]
	if name, ok := first[0].(*syntax.Ident); ok && (len(groups) > 1 || isElemName(name.Name)) {
		elem, first, sure = name.Name, first[1:], true
	}
	sizes := first
	for _, g := range groups[1:] {
		sizes = append(slices.Clone(sizes), g...)
	}
	if len(sizes) == 0 || id.Name == "tensor" && len(groups) == 1 && len(sizes) == 1 { // a type
		return "", false
	}
	var texts []string
	for _, s := range sizes {
		texts = append(texts, c.text(s))
	}
	return fmt.Sprintf("%s[%s](%s)", id.Name, elem, strings.Join(texts, ", ")), sure && len(sizes) == len(sizeNames[id.Name])
}

// isElemName reports whether name is an element type, or that of a number elsewhere.
func isElemName(name string) bool {
	return vocab.ForeignTypes[name] != "" || name == "float" || name == "int" || slices.ContainsFunc(vocab.ElemNames, func(n vocab.Entry) bool { return n.Name == name })
}

// parenthesized reports the sizes of e that are written in square brackets; false when none
// do.
func (c *checker) parenthesized(e syntax.Expr) bool {
	right, sure := c.sizesInBrackets(e)
	if right == "" {
		return false
	}
	d := c.err("E0705", e, "the sizes of data are written in parentheses")
	d.Help = append(d.Help, "write `"+right+"`")
	d.Edit(c.f.At(e), right)
	if sure {
		d.Sure()
	}
	return true
}
