package check

import (
	"fmt"

	"github.com/starpush/starpush/lang/check/flow"
	"github.com/starpush/starpush/lang/check/redux"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Operands that are passed REDUX: what an insert reports of its codelet.

// suggestRW adds to d, about an operand that is declared W and passed REDUX, how its codelet
// contributes: with RW, if its body is known.
func (c *checker) suggestRW(d *diag.Diagnostic, e *syntax.Insert, a *syntax.TaskArg, param int) {
	name, data := e.Callee.Sig.Params[param].Name, c.text(a.Value)
	k, u := redux.ContributionsOf(e.Callee, name), (*Unit)(nil)
	if k != nil {
		u, _ = e.Callee.Unit.(*Unit)
	}
	if u == nil {
		d.Help = append(d.Help, fmt.Sprintf("write `W %s` if one task sets it; REDUX needs a codelet that declares `%s` as RW and only adds to it", data, name))
		return
	}
	d.Help = append(d.Help, fmt.Sprintf("declare `%s` as RW in `%s`, and only add to it", name, e.Callee.Sig.Name))
	mode := c.f.At(a.ModeAt)
	k.SuggestMode(d, e.Callee, u, "RW", mode)
	reduce := ""
	if root := flow.RootOf(a.Value); root != nil && c.infos[root] != nil && c.infos[root].ctor != nil {
		if x := namedArg(c.infos[root].ctor, "reduce"); x != nil {
			if id, ok := syntax.Unparen(x.Value).(*syntax.Ident); ok && redux.FoldWords[id.Name] != "" {
				reduce = id.Name
			}
		}
	}
	if more := k.Misuse(e.Callee, reduce, data, mode); more != nil && reduce != "" {
		d.Labels, d.Notes = append(d.Labels, more.Labels...), append(d.Notes, more.Notes...)
		d.Help, d.Fixes = append(d.Help, more.Help...), append(d.Fixes, more.Fixes...)
	}
}

// contributes reports E0303 if the body of the codelet does not contribute to the operand
// param, and returns false then. reduce is the fold of the data, or "" if it is a reducer of
// the script or unknown.
func (c *checker) contributes(e *syntax.Insert, a *syntax.TaskArg, param, reduce string) bool {
	d := redux.ContributionsOf(e.Callee, param).Misuse(e.Callee, reduce, c.text(a.Value), c.f.At(a.ModeAt))
	if d == nil {
		return true
	}
	c.diags = append(c.diags, *d)
	return false
}

// foldFits reports E0303 if the fold of the codelet differs from that of the data, and returns
// false then: a largest value in a copy that begins with the neutral element of min is lost.
// reduce is the argument of the constructor.
func (c *checker) foldFits(e *syntax.Insert, a *syntax.TaskArg, param string, root *types.Object, reduce *syntax.Arg) bool {
	id, ok := syntax.Unparen(reduce.Value).(*syntax.Ident)
	if !ok || id.Obj == nil || id.Obj.Kind != types.BuiltinValue || redux.FoldWords[id.Name] == "" {
		return c.contributes(e, a, param, "")
	}
	if !c.contributes(e, a, param, id.Name) {
		return false
	}
	fold := redux.FoldOf(e.Callee, param)
	if fold == "" || fold == id.Name {
		c.contributed = append(c.contributed, reduxUse{e, a, param, id.Name})
		return true
	}
	d := c.err("E0303", a.ModeAt, redux.FoldMessage(e.Callee.Sig.Name, param, fold, root.Name, id.Name))
	d.Label = fmt.Sprintf("needs `reduce = %s`", fold)
	d.Labels = append(d.Labels, c.label(reduce, "registered so here"))
	d.Help = append(d.Help, fmt.Sprintf("register `%s` with `reduce = %s`", root.Name, fold))
	if k := redux.ContributionsOf(e.Callee, param); k != nil {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		d.Labels = append(d.Labels, diag.Label{Span: f.At(k.FoldAt()), Text: redux.FoldWords[fold] + " it"})
	}
	return false
}

// reduxUse is an insert that passes data with a known reduction as REDUX.
type reduxUse struct {
	insert *syntax.Insert
	arg    *syntax.TaskArg
	param  string
	reduce string
}

// checkMixedTypes checks the operands that are passed as REDUX, after all bodies.
func (c *checker) checkMixedTypes() {
	for _, r := range c.contributed {
		if c.badBody[r.insert.Callee] || c.failed[r.insert] {
			continue
		}
		if d := redux.MixedTypes(r.insert.Callee, r.insert.TypeArgs, r.param, r.reduce, c.text(r.arg.Value), c.f.At(r.arg.ModeAt)); d != nil {
			c.diags = append(c.diags, *d)
		}
	}
}
