package check

// insert: element types of operands, and what type parameters stand for.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// loadAs adds to d that data which is loaded becomes what its register says, whatever the
// file holds.
func (c *checker) loadAs(d *diag.Diagnostic, e syntax.Expr, want iface.Elem) {
	root := c.rootOf(e)
	if root == nil || c.infos[root] == nil || c.infos[root].ctor == nil {
		return
	}
	ctor := c.infos[root].ctor
	for _, x := range ctor.Args {
		if x.Name == nil || x.Name.Name != "load" {
			continue
		}
		elem := fmt.Sprintf("[%v]", root.Type.Elem)
		if as := strings.Replace(c.text(ctor), elem, fmt.Sprintf("[%v]", want), 1); as != c.text(ctor) {
			d.Labels = append(d.Labels, c.label(ctor, "loaded here"))
			d.Help = append(d.Help, fmt.Sprintf("loading converts: register it as `%s`", as))
		}
		return
	}
}

// elementTypes finds out what the type parameters of the signature stand for.
func (c *checker) elementTypes(e *syntax.Insert, sig *types.Signature) {
	var by map[byte]*syntax.TaskArg
	for k, p := range sig.Params {
		a := e.Bound[k]
		if a == nil || p.Mode == iface.NoMode || p.Type.Kind == types.Void {
			continue
		}
		t := a.Value.Type()
		if p.Type.Param == 0 {
			if t.Elem != p.Type.Elem {
				d := c.err("E0701", a, fmt.Sprintf("`%s` of `%s` has elements of type %v, and this has %v", p.Name, sig.Name, p.Type.Elem, t.Elem))
				d.Label = t.String()
				d.Notes = append(d.Notes, "codelet "+sig.Text)
				c.loadAs(d, a.Value, p.Type.Elem)
			}
			continue
		}
		first := by[p.Type.Param]
		switch {
		case first == nil:
			if by == nil {
				by = map[byte]*syntax.TaskArg{}
				e.TypeArgs = map[byte]iface.Elem{}
			}
			by[p.Type.Param] = a
			e.TypeArgs[p.Type.Param] = t.Elem
			if allowed := sig.Elems[p.Type.Param]; allowed != nil && !hasElem(allowed, t.Elem) {
				var names []string
				for _, el := range allowed {
					names = append(names, el.String())
				}
				d := c.err("E0701", a, fmt.Sprintf("`%s` works on elements of type %s, and this has %v", sig.Name, strings.Join(names, " or "), t.Elem))
				d.Label = t.String()
				d.Notes = append(d.Notes, "codelet "+sig.Text)
				d.Help = append(d.Help, fmt.Sprintf("register the data with elements of type %s", strings.Join(names, " or ")))
			}
		case first.Value.Type().Elem != t.Elem:
			ft := first.Value.Type()
			d := c.err("E0701", a, fmt.Sprintf("`%s` needs one element type, and got %v and %v", sig.Name, ft.Elem, t.Elem))
			d.Label = t.String()
			d.Labels = append(d.Labels, c.label(first, fmt.Sprintf("%v, so %c is %v", ft, p.Type.Param, ft.Elem)))
			d.Notes = append(d.Notes, "codelet "+sig.Text)
		}
	}
	for k, p := range sig.Params {
		a := e.Bound[k]
		if a == nil || p.Mode != iface.NoMode || p.Type.Param == 0 {
			continue
		}
		el, ok := e.TypeArgs[p.Type.Param]
		if !ok {
			continue
		}
		t := &types.Type{Kind: types.Elem, Elem: el}
		if what := fmt.Sprintf("`%s` of `%s`", p.Name, sig.Name); !c.fits(t, a.Value) {
			c.mismatch(a.Value, t, what)
		} else {
			c.inRange(a.Value, t, "`"+p.Name+"`")
		}
	}
}

func hasElem(list []iface.Elem, e iface.Elem) bool {
	for _, x := range list {
		if x == e {
			return true
		}
	}
	return false
}
