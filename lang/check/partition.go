package check

// partition: filters, their arguments, and the views that they make.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

func (c *checker) partition(s *syntax.Partition) {
	var of *types.Type
	for i, x := range s.Of {
		c.sliced, _ = syntax.Unparen(x).(*syntax.Index)
		t := c.expr(x)
		c.sliced = nil
		if t.Kind != types.Invalid && !t.IsHandle() {
			d := c.err("E0705", x, fmt.Sprintf("`partition` splits a handle, and this is %s", aType(t)))
			if t.Kind == types.View || t.Kind == types.List {
				d.Help = append(d.Help, fmt.Sprintf("split its items one by one: `%s[i]`, or with `then`", c.text(x)))
			}
			t = types.TInvalid
		}
		if i == 0 || of == types.TInvalid {
			of = t
		} else if t != types.TInvalid {
			// Each handle must suit the filters.
			c.filterKinds(s, t, x)
		}
	}
	if of == nil {
		of = types.TInvalid
	}
	part, dims := of, 0
	for i, f := range s.Filters {
		var n int
		part, n = c.filter(f, part, s, i)
		if n < 0 || dims < 0 {
			dims = -1
		} else {
			dims += n
		}
	}
	if s.Over != nil {
		c.over(s.Over, s, dims)
	}
	for _, x := range s.Of {
		if slice := syntax.Slice(x); slice != nil {
			x = slice.X
		}
		if id, ok := syntax.Unparen(x).(*syntax.Ident); ok && id.Obj != nil {
			c.info(id.Obj).split = s
		}
	}
	if s.Name != nil {
		t := types.TInvalid
		if part != types.TInvalid {
			t = types.ViewOf(part)
		}
		o := c.declare(types.ViewObject, s.Name, t, "partition")
		o.Node = s
		c.info(o).dims = dims
		return
	}
	if part != types.TInvalid && of != types.TInvalid && !types.Same(part, of) {
		last := s.Filters[len(s.Filters)-1]
		for _, f := range s.Filters {
			if e := filterNamed(f.Name.Name); e != nil && e.Drops {
				last = f
				break
			}
		}
		d := c.err("E0508", last.Name, fmt.Sprintf("parts by `%s` are %s, so they need a named view", last.Name.Name, plural(part)))
		d.Label = fmt.Sprintf("a default view keeps the type of its handle, %v", of)
		d.Help = append(d.Help, fmt.Sprintf("write `partition v = %s by ...`", c.text(s.Of[0])))
	}
}

// over checks the grid of ranks of s, a view with dims indices, below 0 if that is not known.
func (c *checker) over(g *syntax.FilterCall, s *syntax.Partition, dims int) {
	g.Name.SetType(types.TNone)
	known := true
	for _, a := range g.Args {
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			c.expr(a.Value)
			d := c.err("E0505", a.Name, "`grid` takes numbers without a name, one for each index of the view")
			d.Help = append(d.Help, "write "+gridForm(dims))
			known = false
			continue
		}
		c.want(a.Value, types.TInt, "a number of `grid`")
		if v, ok := literal(a.Value); ok && v < 1 {
			d := c.err("E0505", a.Value, fmt.Sprintf("`grid` needs at least one rank along each index, and this is %d", v))
			d.Help = append(d.Help, "write 1 or more; without `over` the ranks deal the parts")
		}
	}
	if known && (dims >= 0 && len(g.Args) != dims || len(g.Args) == 0) {
		message := fmt.Sprintf("the view has %s, and `grid` has %s", Indices(dims), plainNumbers(len(g.Args)))
		if dims < 0 {
			message = "`grid` needs a number for each index of the view"
		}
		d := c.err("E0505", g, message)
		d.Help = append(d.Help, "write "+gridForm(dims)+", with a number of ranks for each index")
	}
}

// gridForm is the grid of a view with dims indices, below 0 if that is not known.
func gridForm(dims int) string {
	switch {
	case dims < 0:
		return "`over grid(p)`, or `over grid(p, q)`"
	case dims > 8:
		return "`over grid(p, q, …)`"
	}
	var names []string
	for k := range dims {
		names = append(names, string("pqrstuvw"[k]))
	}
	return "`over grid(" + strings.Join(names, ", ") + ")`"
}

func plainNumbers(n int) string {
	if n == 1 {
		return "1 number"
	}
	return fmt.Sprintf("%d numbers", n)
}

// dimsOf is the number of indices of the parts that s makes, -1 if not known.
func dimsOf(s *syntax.Partition) int {
	n := 0
	for _, f := range s.Filters {
		e := filterNamed(f.Name.Name)
		if e == nil || f.Obj != nil {
			return -1
		}
		n += e.dims(f)
	}
	return n
}

// filterKinds reports filters of s that do not split data of type t.
func (c *checker) filterKinds(s *syntax.Partition, t *types.Type, x syntax.Expr) {
	if len(s.Filters) == 0 {
		return
	}
	f := s.Filters[0]
	if e := filterNamed(f.Name.Name); e != nil && c.hostFilter(f.Name.Name) == nil && !e.splits(t.Kind) {
		c.wrongKind(f, e.Splits, t, c.text(x), false)
	}
}

func (c *checker) hostFilter(name string) *types.Object {
	for _, o := range c.loader.env.Filters {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// filter checks one filter on data of type t; it returns the type of the parts
// and the number of their indices, -1 if not known.
func (c *checker) filter(f *syntax.FilterCall, t *types.Type, s *syntax.Partition, i int) (*types.Type, int) {
	f.Name.SetType(types.TNone)
	if o := c.hostFilter(f.Name.Name); o != nil {
		f.Obj = o
		f.Name.Obj = o
		return c.callFilter(f, o, t)
	}
	e := filterNamed(f.Name.Name)
	name := ""
	if len(s.Of) > 0 {
		name = c.text(s.Of[0])
	}
	if e == nil {
		for _, a := range f.Args {
			c.expr(a.Value)
		}
		c.noFilter(f)
		return types.TInvalid, -1
	}
	c.filterArgs(f, e, t)
	if t == types.TInvalid {
		return t, e.dims(f)
	}
	if !e.splits(t.Kind) {
		c.wrongKind(f, e.Splits, t, name, i > 0)
		return types.TInvalid, e.dims(f)
	}
	if e.Args != nil && e.Args[0].Name == "k" {
		for i, a := range f.Args {
			if a.Name == nil && i == 0 || a.Name != nil && a.Name.Name == "k" {
				c.axis(a.Value, t)
			}
		}
	}
	if e.Drops {
		return e.PartOf(t), e.dims(f)
	}
	return t, e.dims(f)
}

// axis reports a literal axis that data of type t has not.
func (c *checker) axis(e syntax.Expr, t *types.Type) {
	rank := int64(t.Data().Rank())
	if v, ok := literal(e); ok && v >= rank {
		c.err("E0505", e, fmt.Sprintf("axis %d does not exist: a %s has %s", v, kindName(t), axes(rank)))
	}
}

func axes(n int64) string {
	if n == 1 {
		return "axis 0 only"
	}
	return fmt.Sprintf("axes 0 to %d", n-1)
}

// wrongKind reports a filter that does not split data of type t.
func (c *checker) wrongKind(f *syntax.FilterCall, splits string, t *types.Type, name string, part bool) {
	of := fmt.Sprintf("`%s` is", name)
	if part {
		of = fmt.Sprintf("the part of `%s` before it is", name)
	}
	d := c.err("E0504", f.Name, fmt.Sprintf("`%s` splits %s, and %s a %s", f.Name.Name, splits, of, kindName(t)))
	var forms []string
	for i := range FilterTable {
		e := &FilterTable[i]
		if e.splits(t.Kind) && !e.Drops && (e.Name != "axis" || t.Data().Rank() > 2) {
			for _, s := range e.forms(t) {
				forms = append(forms, "`"+strings.ReplaceAll(s, "(p)", "(n)")+"`")
			}
		}
	}
	if forms == nil {
		d.Help = append(d.Help, fmt.Sprintf("a %s has nothing to split", kindName(t)))
		return
	}
	plurals := map[types.Kind]string{types.Vector: "vectors", types.Matrix: "matrices", types.Block: "blocks", types.Tensor: "tensors", types.Structs: "vectors of structs"}
	for _, k := range types.SparseKinds {
		plurals[k] = plural(&types.Type{Kind: k})
	}
	d.Help = append(d.Help, fmt.Sprintf("for %s: %s", plurals[t.Kind], strings.Join(forms, ", ")))
	switch name := f.Name.Name; {
	case t.Kind == types.Vector && (name == "rows" || name == "cols"):
		d.Edit(c.f.At(f.Name), "blocks")
	case t.Kind == types.Matrix && name == "blocks":
		d.Edit(c.f.At(f.Name), "rows")
	}
}

func (c *checker) noFilter(f *syntax.FilterCall) {
	d := c.err("E0201", f.Name, fmt.Sprintf("there is no filter `%s`", f.Name.Name))
	var names []string
	for _, e := range FilterTable {
		names = append(names, e.Name)
	}
	for _, o := range c.loader.env.Filters {
		names = append(names, o.Name)
	}
	if vocab.BorderWords[strings.ToLower(f.Name.Name)] {
		size := "1"
		if len(f.Args) > 0 {
			size = c.text(f.Args[0].Value)
		}
		d.Help = append(d.Help, fmt.Sprintf("`halo` is an argument of the filters: `blocks(p, halo = %s)`", size))
	} else if best, ok := near(f.Name.Name, names); ok {
		d.Meant(f.Name.Name, best, "")
	} else {
		d.Help = append(d.Help, "filters: "+strings.Join(names, ", "))
	}
}

// filterArgs checks the arguments of a built-in filter.
func (c *checker) filterArgs(f *syntax.FilterCall, e *FilterEntry, t *types.Type) {
	given := map[string]*syntax.Arg{}
	unknown := false
	for i, a := range f.Args {
		name := ""
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			name = a.Name.Name
		} else if i < len(e.Args) && !e.Args[i].Named {
			name = e.Args[i].Name
		} else {
			c.expr(a.Value)
			d := c.filterForm(a, e, t, fmt.Sprintf("`%s` takes %s without a name", e.Name, Arguments(positional(e))))
			if e.hasHalo() && i == positional(e) {
				d.Help = append(d.Help, fmt.Sprintf("for parts with a border of their neighbours, write `halo = %s`", c.text(a.Value)))
			}
			continue
		}
		if given[name] != nil {
			c.expr(a.Value)
			c.twice(a, name)
			continue
		}
		given[name] = a
		n := len(c.diags)
		c.filterArg(a, e, t, name)
		for _, d := range c.diags[n:] {
			unknown = unknown || strings.Contains(d.Message, "has no argument")
		}
	}
	if unknown {
		return // most likely one of those that are missing
	}
	first := "" // what sizes stand for
	if e.Sizes {
		first = "p"
	}
	if e.Sizes && given["sizes"] != nil && given[first] != nil {
		d := c.filterForm(given["sizes"], e, t, fmt.Sprintf("`%s` takes the number of parts or their sizes, not both", e.Name))
		d.Labels = append(d.Labels, c.label(given[first], "the number"))
	}
	rank := t.Data().Rank()
	if e.All && e.splits(t.Kind) {
		for i := rank; i < len(e.Args); i++ {
			if a := given[e.Args[i].Name]; a != nil && !e.Args[i].Named {
				d := c.filterForm(a, e, t, fmt.Sprintf("a %s has %d axes, and `%s` takes a count for each: this is one more", kindName(t), rank, e.Name))
				if a.Name == nil {
					d.Help = append(d.Help, fmt.Sprintf("for parts with a border of their neighbours, write `halo = %s`", c.text(a.Value)))
				}
				break
			}
		}
	}
	for _, want := range e.Args {
		if want.Optional && !(e.All && !want.Named && want.Axis < rank) || given[want.Name] != nil || e.Sizes && want.Name == first && given["sizes"] != nil {
			continue
		}
		c.filterForm(f, e, t, fmt.Sprintf("`%s` needs `%s`", e.Name, want.Name))
		if e.All {
			break // how many more shows the form
		}
	}
}

// hasHalo reports whether the parts of the filter can overlap.
func (e *FilterEntry) hasHalo() bool {
	return slices.ContainsFunc(e.Args, func(a FilterArg) bool { return a.Name == "halo" })
}

func positional(e *FilterEntry) int {
	n := 0
	for _, a := range e.Args {
		if !a.Named {
			n++
		}
	}
	return n
}

// filterForm reports what is wrong with the arguments of e for data of type t.
func (c *checker) filterForm(at syntax.Node, e *FilterEntry, t *types.Type, message string) *diag.Diagnostic {
	d := c.err("E0505", at, message)
	d.Help = append(d.Help, "write `"+strings.Join(e.forms(t), "` or `")+"`")
	return d
}

func (c *checker) filterArg(a *syntax.Arg, e *FilterEntry, t *types.Type, name string) {
	what := fmt.Sprintf("`%s` of `%s`", name, e.Name)
	if name == "sizes" && e.Sizes {
		c.want(a.Value, types.ListOf(types.TInt), what)
		if l, ok := syntax.Unparen(a.Value).(*syntax.ListLit); ok {
			if len(l.Items) == 0 {
				c.err("E0505", a.Value, "there must be at least one part")
			}
			for _, x := range l.Items {
				if v, ok := literal(x); ok && v < 1 {
					c.err("E0505", x, fmt.Sprintf("a part must have at least one element, and this size is %d", v))
				}
			}
		}
		return
	}
	for _, arg := range e.Args {
		if arg.Name != name {
			continue
		}
		list := c.expr(a.Value).Kind == types.List
		if before := len(c.diags); !c.fits(arg.Type, a.Value) {
			c.mismatch(a.Value, arg.Type, what)
			if !list || len(c.diags) == before {
				return
			}
			d := &c.diags[before]
			switch {
			case e.Sizes:
				d.Help = append(d.Help, fmt.Sprintf("parts of given sizes: `%s(sizes = %s)`", e.Name, c.text(a.Value)))
			case e.Name == "tiles":
				d.Help = append(d.Help, "tiles of given sizes: `rows(sizes = [...]) then cols(sizes = [...])`")
			}
			return
		}
		v, ok := literal(a.Value)
		switch {
		case !ok || v >= arg.Min || arg.Type != types.TInt:
		case name == "halo" || name == "inside":
			c.err("E0505", a.Value, fmt.Sprintf("`%s` must be 0 or more, and this is %d", name, v))
		case name == "k":
			c.err("E0505", a.Value, fmt.Sprintf("axes are numbered from 0, and this is %d", v))
		default:
			c.err("E0505", a.Value, fmt.Sprintf("`%s` needs at least one part, and this is %d", e.Name, v))
		}
		return
	}
	c.expr(a.Value)
	d := c.filterForm(a.Name, e, t, fmt.Sprintf("`%s` has no argument `%s`", e.Name, name))
	if name == "sizes" && e.Name == "tiles" {
		d.Help = []string{"tiles of given sizes: `rows(sizes = [...]) then cols(sizes = [...])`"}
		return
	}
	if vocab.BorderWords[strings.ToLower(name)] && e.hasHalo() {
		d.Help = []string{fmt.Sprintf("parts with a border of their neighbours: `halo = %s`", c.text(a.Value))}
		d.Edit(c.f.At(a.Name), "halo")
		return
	}
	names := []string{"halo"}
	if e.Sizes {
		names = append(names, "sizes")
	}
	for _, x := range e.Args {
		names = append(names, x.Name)
	}
	if best, ok := near(name, names); ok {
		d.Help = nil
		d.Meant(name, best, "")
	}
}

// callFilter checks a filter of the host. Its signature has the handle first.
func (c *checker) callFilter(f *syntax.FilterCall, o *types.Object, t *types.Type) (*types.Type, int) {
	sig := o.Sig
	if sig == nil || len(sig.Params) == 0 {
		for _, a := range f.Args {
			c.expr(a.Value)
		}
		return t, -1
	}
	given := make([]bool, len(sig.Params))
	given[0] = true
	for i, a := range f.Args {
		k := i + 1
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			if k = paramIndex(sig, a.Name.Name); k <= 0 {
				c.expr(a.Value)
				c.noParam(a.Name, sig)
				continue
			}
		}
		switch {
		case k >= len(sig.Params):
			c.expr(a.Value)
			c.tooMany(a.Value, len(sig.Params)-1, sig)
		case given[k]:
			c.expr(a.Value)
			c.twice(a, sig.Params[k].Name)
		default:
			given[k] = true
			c.want(a.Value, sig.Params[k].Type, fmt.Sprintf("`%s` of `%s`", sig.Params[k].Name, sig.Name))
		}
	}
	c.missing(f, sig, func(i int) bool { return given[i] })
	p := sig.Params[0].Type
	if t == types.TInvalid {
		return t, -1
	}
	if !p.Admits(t) || p.Param == 0 && p.Elem != t.Elem {
		d := c.err("E0504", f.Name, fmt.Sprintf("`%s` splits data of type %v, and this is %s", o.Name, p, aType(t)))
		d.Notes = append(d.Notes, sig.Text)
		return types.TInvalid, -1
	}
	r := sig.Result
	if r == nil || !r.IsHandle() {
		return t, -1
	}
	out := &types.Type{Kind: r.Kind, Elem: r.Elem, Rank: r.Rank}
	if r.Kind == types.Dense || r.Kind == types.Any {
		out.Kind, out.Rank = t.Kind, t.Rank
	}
	if r.Param != 0 {
		out.Elem = t.Elem
	}
	return out, -1
}
