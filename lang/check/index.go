package check

// Indexing and fields.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check/flow"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// index is x[…]: an item or slice of a list, an element or slice of an array, a
// part of a view or of a handle's default view.
func (c *checker) index(e *syntax.Index) *types.Type {
	if id, ok := e.X.(*syntax.Ident); ok && c.scope.Lookup(id.Name) == nil && handleKinds[id.Name] != 0 && c.host[id.Name] == nil {
		c.notInRegister(e, e)
		return types.TInvalid
	}
	if inner, ok := e.X.(*syntax.Index); ok {
		if c.outer == nil {
			c.outer = map[*syntax.Index]*syntax.Index{}
		}
		c.outer[inner] = e
	}
	before := len(c.diags)
	whole := c.sliced == e // and not a part of what partition splits
	t := c.expr(e.X)
	if t.Kind == types.Range {
		return c.rangeIndex(e, before)
	}
	if id, ok := syntax.Unparen(e.X).(*syntax.Ident); ok && id.Name == "array" && c.find(id) == nil {
		return types.TInvalid // array[f64], which was reported
	}
	for _, a := range e.Args {
		c.expr(a)
	}
	switch t.Kind {
	case types.Invalid:
		return types.TInvalid
	case types.List:
		return c.listIndex(e, t)
	case types.Array:
		return c.arrayIndex(e, t)
	case types.View:
		c.ints(e.Args)
		c.countIndices(e)
		return t.Of
	case types.Vector, types.Matrix, types.Block, types.Tensor, types.CSR, types.CSC, types.COO, types.BCSR, types.Structs:
		if c.slices(e) {
			if whole {
				c.slice(e, t)
			} else {
				c.sliceOfData(e, t)
			}
			return t
		}
		c.ints(e.Args)
		return t
	case types.Variable, types.Void:
		d := c.err("E0507", e, fmt.Sprintf("`%s` is a %s and has no parts", c.text(e.X), kindName(t)))
		if t.Kind == types.Variable {
			d.Help = append(d.Help, fmt.Sprintf("`value(%s)` waits for it and reads it", c.text(e.X)))
		}
		return types.TInvalid
	case types.Task, types.String:
	}
	d := c.err("E0705", e, fmt.Sprintf("%s has no items to index", aType(t)))
	d.Label = "indexable are lists, views, partitioned data and acquired arrays"
	return types.TInvalid
}

// rangeIndex reports (0..n)[k] and range(n)[k]: a list has items. The diagnostics from
// before on are those of the range.
func (c *checker) rangeIndex(e *syntax.Index, before int) *types.Type {
	text := c.text(syntax.Unparen(e.X))
	if call, ok := syntax.Unparen(e.X).(*syntax.Call); ok && call.Callee == builtinFuncs["range"] && len(call.Args) < 3 && len(c.diags) == before+1 {
		text = c.rangeText(call)
		c.diags = c.diags[:before] // a list needs no step either
	}
	for _, a := range e.Args {
		c.expr(a)
	}
	d := c.err("E0705", e, "a range has no items to index")
	d.Label = "indexable are lists, views, partitioned data and acquired arrays"
	list := "[i for i in " + text + "]"
	d.Help = append(d.Help, fmt.Sprintf("make a list of it: `%s`", list))
	d.Edit(c.f.At(e.X), list)
	return types.TInvalid
}

// rangeText is range(n) and range(a, b) as a range.
func (c *checker) rangeText(e *syntax.Call) string {
	bound := func(a *syntax.Arg) string {
		if _, loose := a.Value.(*syntax.Cond); loose {
			return "(" + c.text(a.Value) + ")"
		}
		return c.text(a.Value)
	}
	lo, hi := "0", bound(e.Args[0])
	if len(e.Args) > 1 {
		lo, hi = hi, bound(e.Args[1])
	}
	return lo + ".." + hi
}

// slices reports whether an index of e is a range.
func (c *checker) slices(e *syntax.Index) bool {
	return slices.ContainsFunc(e.Args, func(a syntax.Expr) bool { return isType(a, types.Range) })
}

// sliceOfData reports x[a..b] on registered data, as it is written for arrays and lists.
func (c *checker) sliceOfData(e *syntax.Index, t *types.Type) {
	if f := t.Sparse(); f != nil {
		d := c.err("E0705", e, fmt.Sprintf("a %s is not sliced: its parts are those of a view", f.Name))
		d.Help = append(d.Help, fmt.Sprintf("declare one: `partition part = %s by %s(sizes = [...])`, then `part[0]`", c.text(e.X), strings.TrimSuffix(onePart[t.Kind][0], "(1)")))
		return
	}
	d := c.err("E0705", e, fmt.Sprintf("data is not sliced: a part of %s belongs to a view", aType(t)))
	x := c.text(e.X)
	d.Help = append(d.Help, fmt.Sprintf("declare one: `partition part = %s by %s`, then `part[%s]`", c.text(e), onePart[t.Kind][0], onePart[t.Kind][1]))
	if t.Kind == types.Matrix {
		d.Help = append(d.Help, fmt.Sprintf("rows are `partition row = %s by pick(0)`, columns `partition col = %s by pick(1)`, then `col[j]`", x, x))
	}
	if len(e.Args) == 1 || !isType(e.Args[0], types.Range) || !isType(e.Args[1], types.Range) { // of an array, too, one index may be a range
		a := c.arrayFor(e.X)
		d.Help = append(d.Help, fmt.Sprintf("to look at elements write `acquire R %s as %s { … %s[%s] … }`", x, a, a, c.argsText(e.Args)))
	}
}

// onePart are, for each kind of data, a filter that makes one part of all of it and the
// index of that part.
var onePart = map[types.Kind][2]string{types.Vector: {"blocks(1)", "0"}, types.Matrix: {"tiles(1, 1)", "0, 0"}, types.Block: {"axis(0, 1)", "0"}, types.Tensor: {"axis(0, 1)", "0"}, types.CSR: {"rows(1)", "0"}, types.CSC: {"cols(1)", "0"}, types.COO: {"entries(1)", "0"}, types.BCSR: {"rows(1)", "0"}, types.Structs: {"blocks(1)", "0"}}

// slice checks x[a..b, c..d] after `partition`, where x is data of type t: the filters split
// that box of x.
func (c *checker) slice(e *syntax.Index, t *types.Type) {
	if t.Sparse() != nil {
		c.sliceOfData(e, t)
		return
	}
	rank := t.Data().Rank()
	if len(e.Args) != rank {
		d := c.err("E0503", e, fmt.Sprintf("a slice of %s has %s, and this has %d", aType(t), ranges(rank), len(e.Args)))
		d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`", c.text(e.X), wholeRanges(c.text(e.X), t)))
	}
	for k, a := range e.Args {
		switch a.Type().Kind {
		case types.Invalid:
		case types.Range:
			c.sliceRange(a)
		default:
			d := c.err("E0705", a, fmt.Sprintf("a slice has a range along each index, and this is %s", aType(a.Type())))
			if isType(a, types.Int) {
				one := fmt.Sprintf("%s..=%s", c.text(a), c.text(a))
				d.Help = append(d.Help, fmt.Sprintf("one place: `%s`; to drop the index, too: `pick(%d, %s)`", one, k, one))
			}
		}
	}
}

// sliceRange reports a range of literals that no data has.
func (c *checker) sliceRange(a syntax.Expr) {
	r, ok := syntax.Unparen(a).(*syntax.RangeExpr)
	if !ok {
		return
	}
	lo, known := literal(r.Lo)
	if known && lo < 0 {
		c.err("E0505", r.Lo, fmt.Sprintf("indices begin at 0, and this is %d", lo))
		return
	}
	hi, ok := literal(r.Hi)
	if r.Closed {
		hi++
	}
	if ok && known && hi <= lo {
		c.err("E0505", a, fmt.Sprintf("`%s` is empty, and a slice has elements", c.text(a)))
	}
}

func ranges(n int) string {
	if n == 1 {
		return "1 range"
	}
	return fmt.Sprintf("%d ranges", n)
}

// wholeRanges are the ranges that are all of data x of type t: "0..x.rows, 0..x.cols".
func wholeRanges(x string, t *types.Type) string {
	var out []string
	for _, n := range t.Data().Sizes() {
		out = append(out, "0.."+x+"."+n)
	}
	return strings.Join(out, ", ")
}

// arrayFor is a name for the elements of data in a remedy: that of no other thing.
func (c *checker) arrayFor(data syntax.Expr) string {
	if c.scope.Lookup("a") == nil {
		return "a"
	}
	name := "part"
	if id, ok := syntax.Unparen(data).(*syntax.Ident); ok {
		name = id.Name
	}
	return name + "_now"
}

// indicesFor are indices of an element of data of type t: those that were written, if
// they are as many as it takes.
func (c *checker) indicesFor(t *types.Type, written []syntax.Expr) string {
	rank := max(1, t.Data().Rank())
	if len(written) == rank {
		return c.argsText(written)
	}
	return strings.Join(slices.Repeat([]string{"0"}, rank), ", ")
}

// ints reports indices that are not ints.
func (c *checker) ints(args []syntax.Expr) {
	for _, a := range args {
		if !c.fits(types.TInt, a) {
			c.mismatch(a, types.TInt, "an index")
		}
	}
}

func (c *checker) listIndex(e *syntax.Index, t *types.Type) *types.Type {
	if len(e.Args) != 1 {
		d := c.err("E0705", e, "a list takes one index at a time")
		d.Help = append(d.Help, "items that are lists are indexed one after the other: `a[i][j]`")
		return types.TInvalid
	}
	if isType(e.Args[0], types.Range) {
		return t
	}
	if unknown(t) {
		c.unknownList(e.X)
		return types.TInvalid
	}
	c.ints(e.Args)
	return t.Of
}

// arrayIndex is an element of an acquired array, or a list when one of the
// indices is a range.
func (c *checker) arrayIndex(e *syntax.Index, t *types.Type) *types.Type {
	el := arrayElem(t)
	want := 0
	if t.Of != nil {
		switch t.Of.Kind {
		case types.Variable:
			want = 1
		case types.Void:
			d := c.err("E0705", e, fmt.Sprintf("`%s` is void data and has no elements", c.text(e.X)))
			d.Help = append(d.Help, "void data only orders tasks")
			return types.TInvalid
		default:
			want = t.Of.Data().Rank()
		}
	}
	if want != 0 && len(e.Args) != want {
		d := c.err("E0705", e, fmt.Sprintf("`%s` is a %s: it takes %s, and %s given", c.text(e.X), kindName(t.Of), Indices(want), AreIndices(len(e.Args))))
		switch t.Of.Kind {
		case types.Variable:
			d.Help = append(d.Help, fmt.Sprintf("write `%s[0]`", c.text(e.X)))
		case types.Matrix:
			d.Help = append(d.Help, fmt.Sprintf("write `%s[i, j]`", c.text(e.X)))
		case types.Block:
			d.Help = append(d.Help, fmt.Sprintf("write `%s[x, y, z]`", c.text(e.X)))
		case types.Tensor:
			d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`", c.text(e.X), kernel.IndexNames(t.Of.Data())))
		}
		return types.TInvalid
	}
	ranges := 0
	for _, a := range e.Args {
		if isType(a, types.Range) {
			ranges++
			if ranges == 2 {
				c.err("E0705", a, "one index of an array may be a range, not two")
				return types.TInvalid
			}
		} else if !c.fits(types.TInt, a) {
			c.mismatch(a, types.TInt, "an index")
		}
	}
	item := numberOf(el)
	if ranges == 1 {
		return types.ListOf(item)
	}
	return item
}

// countIndices reports a wrong number of indices on a view whose partition is
// in sight.
func (c *checker) countIndices(e *syntax.Index) {
	id, ok := syntax.Unparen(e.X).(*syntax.Ident)
	if !ok || id.Obj == nil {
		return
	}
	in, part := c.infos[id.Obj], flow.PartitionOf(id.Obj)
	if in == nil || part == nil || in.dims < 0 || in.dims == len(e.Args) {
		return
	}
	c.wrongCount(e, id.Name, part, in.dims, nil)
}

// wrongCount reports that parts of name, declared by p, take dims indices. loops are the
// names of the loops around, the innermost last; nil for those in scope.
func (c *checker) wrongCount(e *syntax.Index, name string, p *syntax.Partition, dims int, loops []string) {
	shape, short := fmt.Sprintf("split by %d filters", len(p.Filters)), Indices(dims)
	if len(p.Filters) == 1 {
		if f := filterNamed(p.Filters[0].Name.Name); f != nil {
			shape = f.Shape
			short, _, _ = strings.Cut(shape, " of ")
		}
	}
	d := c.err("E0503", e, fmt.Sprintf("`%s` is %s and needs %s", name, shape, Indices(dims)))
	given := strings.TrimSuffix(strings.TrimSuffix(AreIndices(len(e.Args)), " is"), " are")
	d.Label = given + " given"
	first, last := p.Filters[0], p.Filters[len(p.Filters)-1]
	d.Labels = append(d.Labels, diag.Label{Span: c.f.At(syntax.Span{Lo: first.Lo, Hi: last.Hi}), Text: short})
	whole, all := e, e.Args // x[i][j], as in C, are two indices that are given
	for o := c.outer[e]; o != nil && len(all) < dims; o = c.outer[o] {
		whole, all = o, slices.Concat(all, o.Args)
	}
	if len(all) != dims {
		whole, all = e, e.Args
	}
	var args []string
	for i := 0; i < dims && i < len(all); i++ {
		args = append(args, c.text(all[i]))
	}
	for len(args) < dims {
		args = append(args, c.freeLoopName(args, loops))
	}
	right := fmt.Sprintf("%s[%s]", c.text(e.X), strings.Join(args, ", "))
	d.Help = append(d.Help, "write `"+right+"`")
	d.Edit(c.f.At(whole), right)
	if whole != e {
		d.Sure()
	}
}

// freeLoopName returns the innermost of names, or of the loop names in scope for nil, that is
// not among used; "0" if there is none.
func (c *checker) freeLoopName(used, names []string) string {
	if names == nil {
		for s := c.scope; s != nil; s = s.Parent {
			for i := len(s.List) - 1; i >= 0; i-- {
				if o := s.List[i]; o.Kind == types.LoopVar && o.Type.Kind == types.Int {
					names = append([]string{o.Name}, names...)
				}
			}
		}
	}
	for i := len(names) - 1; i >= 0; i-- {
		taken := false
		for _, u := range used {
			taken = taken || u == names[i]
		}
		if !taken {
			return names[i]
		}
	}
	return "0"
}

// selector is a field, or a name of a module.
func (c *checker) selector(e *syntax.Selector) *types.Type {
	if e.Name == nil {
		c.expr(e.X)
		return types.TInvalid
	}
	e.Name.SetType(types.TNone)
	if mod := c.moduleOf(e.X); mod != nil {
		o := c.member(e.X.(*syntax.Ident), mod, e.Name, "name")
		if o == nil {
			return types.TInvalid
		}
		switch o.Kind {
		case types.CodeletObject, types.FuncObject:
			help := "run it as a task: `insert %s(...)`"
			if o.Kind == types.FuncObject {
				help = "call it: `%s(...)`"
			}
			d := c.err("E0705", e, fmt.Sprintf("`%s` is %s, not a value", c.text(e), what(o)))
			d.Help = append(d.Help, fmt.Sprintf(help, c.text(e)))
			return types.TInvalid
		}
		e.Name.SetType(o.Type)
		return o.Type
	}
	if t := c.memberHabit(e); t != nil {
		return t
	}
	t := c.expr(e.X)
	if t.Kind == types.Invalid {
		return t
	}
	fields := Fields(t)
	var names []string
	for _, f := range fields {
		if f.Name == e.Name.Name {
			e.Name.SetType(f.Type)
			return f.Type
		}
		names = append(names, f.Name)
	}
	d := c.err("E0705", e.Name, fmt.Sprintf("%s has no field `%s`", aType(t), e.Name.Name))
	if p := c.partitioned(e.X); p != nil && (e.Name.Name == "parts" || e.Name.Name == "count") {
		d.Help = append(d.Help, c.namedParts(p, c.text(e.X)))
		return types.TInvalid
	}
	if best, ok := near(e.Name.Name, names); ok && !vocab.SizeWords[e.Name.Name] {
		d.Meant(e.Name.Name, best, "")
	} else {
		c.methodHabit(d, e, t, nil)
	}
	return types.TInvalid
}

// moduleOf returns the module that e names, nil when e is something else.
func (c *checker) moduleOf(e syntax.Expr) *types.Object {
	id, ok := e.(*syntax.Ident)
	if !ok {
		return nil
	}
	o := c.scope.Lookup(id.Name)
	if o == nil || o.Kind != types.ModuleObject {
		return nil
	}
	id.Obj = o
	id.SetType(types.TNone)
	c.markUsed(o)
	return o
}
