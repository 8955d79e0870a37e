package check

// insert: which codelet it names.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// codeletNamed finds the codelet of an insert, nil after a report.
func (c *checker) codeletNamed(e *syntax.Insert) *types.Object {
	if len(e.Path) == 0 {
		return nil
	}
	first := e.Path[0]
	for _, id := range e.Path {
		id.SetType(types.TNone)
	}
	o := c.find(first)
	if o == nil || o.Kind == types.BuiltinValue {
		first.Obj = nil
		c.noCodelet(first, len(e.Path) > 1)
		return nil
	}
	if o.Kind == types.ModuleObject && len(e.Path) > 1 {
		o = c.member(first, o, e.Path[1], "codelet")
		if o == nil {
			return nil
		}
		if len(e.Path) > 2 {
			c.err("E0203", e.Path[2], fmt.Sprintf("`%s.%s` is %s and has no members", first.Name, e.Path[1].Name, what(o)))
			return nil
		}
	} else if len(e.Path) > 1 {
		c.err("E0203", first, fmt.Sprintf("`%s` is %s, not a module", first.Name, what(o)))
		return nil
	}
	if o.Kind != types.CodeletObject || o.Sig == nil {
		last := e.Path[len(e.Path)-1]
		d := c.err("E0705", last, fmt.Sprintf("`%s` is %s, and `insert` takes a codelet", last.Name, what(o)))
		switch o.Kind {
		case types.FuncObject:
			c.callInstead(d, e, c.text(syntax.Span{Lo: first.Lo, Hi: last.Hi}))
		case types.ModuleObject:
			d.Help = append(d.Help, fmt.Sprintf("name a codelet in it: `insert %s.name(...)`", last.Name))
		}
		return nil
	}
	return o
}

// callInstead adds to d that the function of name is called, without insert and without
// access modes.
func (c *checker) callInstead(d *diag.Diagnostic, e *syntax.Insert, name string) {
	if e.With != nil || e.Range().Hi-e.Range().Lo > 60 {
		d.Help = append(d.Help, fmt.Sprintf("call it without `insert`: `%s(...)`", name))
		return
	}
	var args []string
	for _, a := range e.Args {
		text := c.text(a.Value)
		if a.Name != nil {
			text = a.Name.Name + " = " + text
		}
		args = append(args, text)
	}
	right := name + "(" + strings.Join(args, ", ") + ")"
	d.Help = append(d.Help, fmt.Sprintf("call it without `insert`: `%s`", right))
	d.Edit(c.f.At(e), right)
}

// noCodelet reports a codelet, or the module of one, that nothing declares, and
// where one of that name is.
func (c *checker) noCodelet(id *syntax.Ident, module bool) {
	if c.broken {
		return
	}
	d := c.err("E0201", id, fmt.Sprintf("`%s` is not defined", id.Name))
	if module {
		if c.meant(d, id.Name, func(o *types.Object) bool { return o.Kind == types.ModuleObject }) {
			return
		}
	}
	if module, _ := c.loader.env.ModuleNamed(id.Name); module != "" {
		d.Help = append(d.Help, fmt.Sprintf("write `import %q as %s` above", module, id.Name))
		d.Fixes = append(d.Fixes, ImportEdit(c.f, module))
		return
	}
	for s := c.scope; s != nil; s = s.Parent {
		for _, o := range s.List {
			if o.Kind == types.ModuleObject && o.Module != nil {
				if m := o.Module.Members[id.Name]; m != nil && m.Kind == types.CodeletObject {
					d.Meant(id.Name, o.Name+"."+id.Name, "")
					return
				}
			}
		}
	}
	if c.meant(d, id.Name, func(o *types.Object) bool { return o.Kind == types.CodeletObject }) {
		return
	}
	best := ""
	for name, m := range c.loader.env.Modules {
		if o := m.Members[id.Name]; o != nil && o.Kind == types.CodeletObject && (best == "" || name < best) {
			best = name
		}
	}
	if best != "" {
		short := best[strings.LastIndexByte(best, '/')+1:]
		d.Help = append(d.Help, fmt.Sprintf("`import %q as %s`, then `insert %s.%s(...)`", best, short, short, id.Name))
	}
}
