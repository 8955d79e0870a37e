package check

// insert: access modes, and the data that an operand is of.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// modeFits holds the mode of an argument against the declared one.
func (c *checker) modeFits(e *syntax.Insert, a *syntax.TaskArg, t *types.Type, k int, sig *types.Signature) bool {
	p := &sig.Params[k]
	if t.Kind == types.Void && (a.Mode == iface.Redux || a.Mode == iface.Scratch) {
		d := c.err("E0307", a.ModeAt, fmt.Sprintf("%v makes no sense on void data", a.Mode))
		d.Label = "void data has no bytes"
		d.Help = append(d.Help, "void data orders tasks: write R, W, RW or COMMUTE")
		if a.Mode == iface.Redux && p.Mode == iface.RW {
			d.Edit(c.f.At(a.ModeAt), "COMMUTE")
		} else {
			d.Edit(c.f.At(a.ModeAt), p.Mode.String())
		}
		return false
	}
	if a.Mode == p.Mode || p.Mode == iface.RW && (a.Mode == iface.Commute || a.Mode == iface.Redux) {
		if a.Mode == iface.Redux {
			return c.reducible(e, a, p.Name)
		}
		return true
	}
	var message, label string
	switch p.Mode {
	case iface.R:
		message, label = "only reads", fmt.Sprintf("%v promises to change it", a.Mode)
		if a.Mode == iface.Scratch {
			label = "SCRATCH data has no value to read"
		}
	case iface.W:
		message, label = "overwrites", fmt.Sprintf("%v asks for the old value", a.Mode)
		if a.Mode == iface.Redux {
			label = "REDUX adds to a copy"
		} else if a.Mode == iface.R {
			label = "R allows reading only"
		} else if a.Mode == iface.Scratch {
			label = "what is written to SCRATCH data is lost"
		}
	case iface.RW:
		message, label = "changes", "R allows reading only"
		if a.Mode == iface.W {
			message, label = "needs the old value of", "W drops the old value"
		} else if a.Mode == iface.Scratch {
			label = "what is written to SCRATCH data is lost"
		}
	default:
		message, label = "uses as workspace", "the codelet declares SCRATCH"
	}
	verb := fmt.Sprintf("`%s` %s `%s`", sig.Name, message, p.Name)
	if p.Mode == iface.Scratch {
		verb = fmt.Sprintf("`%s` uses `%s` as workspace", sig.Name, p.Name)
	}
	d := c.err("E0301", a.ModeAt, fmt.Sprintf("%s, but this call passes it as %v", verb, a.Mode))
	d.Label = label
	if src, ok := e.Callee.Node.(*syntax.Codelet); ok && k < len(src.Params) {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		d.Labels = append(d.Labels, diag.Label{Span: f.At(src.Params[k].ModeAt), Text: fmt.Sprintf("declared %v here", p.Mode)})
	} else {
		d.Notes = append(d.Notes, "codelet "+sig.Text)
	}
	if p.Mode == iface.W && a.Mode == iface.Redux {
		c.suggestRW(d, e, a, k)
		return false
	}
	d.Help = append(d.Help, fmt.Sprintf("write `%v %s`", p.Mode, c.text(a.Value)))
	d.Edit(c.f.At(a.ModeAt), p.Mode.String())
	return false
}

// namedArg is the argument of a call with a name, nil if it has none.
func namedArg(call *syntax.Call, name string) *syntax.Arg {
	for _, x := range call.Args {
		if x.Name != nil && x.Name.Name == name {
			return x
		}
	}
	return nil
}

// reducible reports REDUX on data whose register is in sight and names no
// reduction, or another one than the codelet does to its operand param.
func (c *checker) reducible(e *syntax.Insert, a *syntax.TaskArg, param string) bool {
	root := c.rootOf(a.Value)
	if root == nil || c.infos[root] == nil || c.infos[root].ctor == nil {
		return c.contributes(e, a, param, "")
	}
	in := c.infos[root]
	if x := namedArg(in.ctor, "reduce"); x != nil {
		return c.foldFits(e, a, param, root, x)
	}
	d := c.err("E0303", a.ModeAt, fmt.Sprintf("`%s` has no reduction method", root.Name))
	d.Label = "needs a way to combine the copies"
	d.Labels = append(d.Labels, c.label(in.ctor, "registered without `reduce`"))
	reduce := "reduce = sum"
	if fold := FoldOf(e.Callee, param); fold != "" {
		reduce = "reduce = " + fold
	}
	d.Help = append(d.Help, fmt.Sprintf("register it as `%s`", c.withArg(in.ctor, reduce)))
	d.Edit(c.f.At(in.ctor), c.withArg(in.ctor, reduce))
	return false
}

// withArg is the text of a constructor with one more argument.
func (c *checker) withArg(call *syntax.Call, arg string) string {
	t := strings.TrimRight(strings.TrimSuffix(c.text(call), ")"), " ,\n\t")
	if len(call.Args) > 0 {
		t += ", "
	}
	return t + arg + ")"
}

// rootOf returns the registered name that e is data of, nil when that is not in
// sight: x, x[i], v, v[i, j] where v is a named view of x.
func (c *checker) rootOf(e syntax.Expr) *types.Object {
	for {
		switch x := unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Ident:
			if x.Obj == nil {
				return nil
			}
			switch x.Obj.Kind {
			case types.HandleObject:
				if x.Obj.Type.IsHandle() {
					return x.Obj
				}
				return nil
			case types.ViewObject:
				in := c.infos[x.Obj]
				if in == nil || in.part == nil || len(in.part.Of) == 0 {
					return nil
				}
				e = in.part.Of[0]
				continue
			}
			return nil
		default:
			return nil
		}
	}
}
