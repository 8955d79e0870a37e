package check

// What codelets do to operands that are passed REDUX must be what combines the
// copies: a largest value that is put into copies that start at the neutral
// element of min is lost.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// foldWords says what each fold does, for messages.
var foldWords = map[string]string{
	"sum": "adds to", "prod": "multiplies", "min": "keeps the smallest in", "max": "keeps the largest in",
}

// FoldOf returns how the codelet o changes its operand param: "sum", "prod", "min"
// or "max", and "" when that is none of them, or not known.
func FoldOf(o *types.Object, param string) string {
	if o.Fold != "" {
		return o.Fold
	}
	return ContributionsOf(o, param).Fold()
}

// contributes reports a codelet whose body does not contribute to the operand param; reduce
// is the fold of the data, "" where it is one of the script's own, or not known.
func (c *checker) contributes(e *syntax.Insert, a *syntax.TaskArg, param, reduce string) bool {
	d := ContributionsOf(e.Callee, param).Misuse(e.Callee, reduce, c.text(a.Value), c.f.At(a.ModeAt))
	if d == nil {
		return true
	}
	c.diags = append(c.diags, *d)
	return false
}

// foldFits reports a codelet whose fold is not the one that the data was
// registered with; reduce is the argument of the constructor.
func (c *checker) foldFits(e *syntax.Insert, a *syntax.TaskArg, param string, root *types.Object, reduce *syntax.Arg) bool {
	id, ok := unparen(reduce.Value).(*syntax.Ident)
	if !ok || id.Obj == nil || id.Obj.Kind != types.BuiltinValue || foldWords[id.Name] == "" {
		return c.contributes(e, a, param, "")
	}
	if !c.contributes(e, a, param, id.Name) {
		return false
	}
	fold := FoldOf(e.Callee, param)
	if fold == "" || fold == id.Name {
		c.contributed = append(c.contributed, reduxUse{e, a, param, id.Name})
		return true
	}
	d := c.err("E0303", a.ModeAt, FoldMessage(e.Callee.Sig.Name, param, fold, root.Name, id.Name))
	d.Label = fmt.Sprintf("needs `reduce = %s`", fold)
	d.Labels = append(d.Labels, c.label(reduce, "registered so here"))
	d.Help = append(d.Help, fmt.Sprintf("register `%s` with `reduce = %s`", root.Name, fold))
	if k := ContributionsOf(e.Callee, param); k != nil {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		d.Labels = append(d.Labels, diag.Label{Span: f.At(k.folds[0].at), Text: foldWords[fold] + " it"})
	}
	return false
}

// FoldMessage is the text of E0303 about data registered with another fold than
// what the codelet does.
func FoldMessage(codelet, param, fold, data, reduce string) string {
	return fmt.Sprintf("`%s` %s `%s`, and the copies of `%s` are combined by `%s`", codelet, foldWords[fold], param, data, reduce)
}
