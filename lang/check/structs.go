package check

// Constructors of vectors of structs.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// structLayout checks the argument layout of structs.
func (c *checker) structLayout(a *syntax.Arg, t *types.Type) {
	id, ok := syntax.Unparen(a.Value).(*syntax.Ident)
	if a.Value.SetType(types.TNone); ok {
		id.SetType(types.TNone)
	}
	switch {
	case ok && (id.Name == "soa" || id.Name == "aos"):
	default:
		d := c.err("E0705", a.Value, "`layout` says how structs lie in memory, and this is no such word")
		d.Help = append(d.Help, "write `layout = soa`, an array for each field, or `layout = aos`, struct beside struct")
	}
}

// structValues checks the arguments of a constructor of structs: a length, values for each field, a file.
func (c *checker) structValues(call *syntax.Call, t *types.Type) {
	f := t.Fields()
	given := map[string]*syntax.Arg{}
	names := append([]string{"n"}, fieldNames(f)...)
	for i, a := range call.Args {
		name := "n"
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			name = a.Name.Name
		} else if i > 0 {
			c.expr(a.Value)
			d := c.err("E0705", a, fmt.Sprintf("`%v` takes its length without a name", t))
			d.Help = append(d.Help, "name the fields: `"+strings.Join(names[1:], " =`, `")+" =`")
			continue
		}
		if given[name] != nil {
			c.expr(a.Value)
			c.twice(a, name)
			continue
		}
		given[name] = a
		k := f.Array(name)
		switch {
		case name == "n":
			c.want(a.Value, types.TInt, "`n`")
			if v, ok := literal(a.Value); ok && v < 0 {
				c.err("E0705", a.Value, "`n` cannot be negative")
			}
		case k >= 0:
			of := types.HandleOf(iface.Vector, f.Arrays[k].Elem)
			el := &types.Type{Kind: types.Elem, Elem: of.Elem}
			if got := c.expr(a.Value); got.Kind == types.List {
				c.listOfElems(a, "vector", name, of)
			} else if got.Kind != types.Invalid && !c.fits(el, a.Value) {
				c.mismatch(a.Value, el, "`"+name+"`")
			} else {
				c.inRange(a.Value, el, "`"+name+"`")
			}
		case name == "fill":
			c.expr(a.Value)
			if v, ok := literal(a.Value); !ok || v != 0 {
				d := c.err("E0705", a.Value, "`fill` of structs is 0, for each field")
				d.Help = append(d.Help, fmt.Sprintf("give the fields their values: `%s = 1`", names[1]))
			}
		case name == "load":
			c.want(a.Value, types.TString, "`load`")
			c.structFile(a.Value, "loaded", t)
		case name == "layout":
			c.structLayout(a, t)
		case name == "owner":
			c.owner(a)
		default:
			c.expr(a.Value)
			d := c.err("E0705", a.Name, fmt.Sprintf("`%v` has no field `%s`", t, name))
			c.wrongArg(a)
			if best, ok := near(name, slices.Concat(names, structArgs, []string{"owner"})); ok {
				d.Meant(name, best, "")
			}
			d.Help = append(d.Help, "all arguments: "+strings.Join(append(slices.Clone(names), "fill", "load", "layout", "owner"), ", "))
		}
	}
	source := given["load"]
	for _, name := range append(names[1:], "fill") {
		if a := given[name]; a != nil && source != nil {
			d := c.err("E0705", a, fmt.Sprintf("`%s` and `%s` both give the elements a value", name, source.Name.Name))
			d.Labels = append(d.Labels, c.label(source, "the other one"))
			d.Help = append(d.Help, "keep one of them")
			return
		}
	}
	if given["n"] != nil || given["load"] != nil {
		return
	}
	for _, name := range names[1:] {
		if a := given[name]; a != nil && a.Value.Type() != nil && (a.Value.Type().Kind == types.List || a.Value.Type() == types.TInvalid) {
			return
		}
	}
	d := c.err("E0705", call, fmt.Sprintf("`%v` needs its length", t))
	d.Help = append(d.Help, fmt.Sprintf("write `%v(n)`, give a field a list: `%v(%s = [1, 2])`, or a file: `%v(load = \"a.csv\")`", t, t, names[1], t))
}
