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
	k, ok := o.Node.(*syntax.Codelet)
	if !ok || k.Body == nil {
		return ""
	}
	fold, _ := foldIn(k, param)
	return fold
}

// foldIn finds the fold in the assignments of a body, which must agree, and the
// first of them.
func foldIn(k *syntax.Codelet, param string) (fold string, at *syntax.Assign) {
	mixed := false
	for _, s := range k.Body.Stmts {
		walkNested(s, func(s syntax.Stmt) {
			a, ok := s.(*syntax.Assign)
			if !ok || !names(a.Target, param) {
				return
			}
			f := foldOfAssign(a)
			if f == "" || fold != "" && f != fold {
				mixed = true
			}
			if at == nil {
				fold, at = f, a
			}
		})
	}
	if mixed {
		return "", nil
	}
	return fold, at
}

func foldOfAssign(a *syntax.Assign) string {
	switch a.Op {
	case "+=", "-=":
		return "sum"
	case "*=", "/=":
		return "prod"
	}
	same := func(e syntax.Expr) bool { return syntax.EqualExpr(unparen(e), a.Target) }
	switch v := unparen(a.Value).(type) {
	case *syntax.Binary:
		switch {
		case (v.Op == "+" || v.Op == "-") && same(v.X), v.Op == "+" && same(v.Y):
			return "sum"
		case (v.Op == "*" || v.Op == "/") && same(v.X), v.Op == "*" && same(v.Y):
			return "prod"
		}
	case *syntax.Call:
		if id, ok := v.Fn.(*syntax.Ident); ok && (id.Name == "min" || id.Name == "max") {
			for _, x := range v.Args {
				if same(x.Value) {
					return id.Name
				}
			}
		}
	}
	return ""
}

// names reports whether e is the operand param, or an element of it.
func names(e syntax.Expr, param string) bool {
	if x, ok := unparen(e).(*syntax.Index); ok {
		e = x.X
	}
	id, ok := unparen(e).(*syntax.Ident)
	return ok && id.Name == param
}

// foldFits reports a codelet whose fold is not the one that the data was
// registered with; reduce is the argument of the constructor.
func (c *checker) foldFits(e *syntax.Insert, a *syntax.TaskArg, param string, root *types.Object, reduce *syntax.Arg) bool {
	id, ok := unparen(reduce.Value).(*syntax.Ident)
	if !ok || id.Obj == nil || id.Obj.Kind != types.BuiltinValue || foldWords[id.Name] == "" {
		return true
	}
	fold := FoldOf(e.Callee, param)
	if fold == "" || fold == id.Name {
		return true
	}
	d := c.err("E0303", a.ModeAt, FoldMessage(e.Callee.Sig.Name, param, fold, root.Name, id.Name))
	d.Label = fmt.Sprintf("needs `reduce = %s`", fold)
	d.Labels = append(d.Labels, c.label(reduce, "registered so here"))
	d.Help = append(d.Help, fmt.Sprintf("register `%s` with `reduce = %s`", root.Name, fold))
	if k, ok := e.Callee.Node.(*syntax.Codelet); ok {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		if _, at := foldIn(k, param); at != nil {
			d.Labels = append(d.Labels, diag.Label{Span: f.At(at), Text: foldWords[fold] + " it"})
		}
	}
	return false
}

// FoldMessage is the text of E0303 about data registered with another fold than
// what the codelet does.
func FoldMessage(codelet, param, fold, data, reduce string) string {
	return fmt.Sprintf("`%s` %s `%s`, and the copies of `%s` are combined by `%s`", codelet, foldWords[fold], param, data, reduce)
}
