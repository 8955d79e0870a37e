package check

// Operands of an insert in another order than the codelet declares them.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// maxReorder bounds the operands among which another order is looked for.
const maxReorder = 16

// otherOrder puts one message in place of those from index from on, which say that
// operands of e do not fit, when they all fit in another order: two of them swapped,
// or one of them moved.
func (c *checker) otherOrder(e *syntax.Insert, sig *types.Signature, from int) {
	n := len(e.Args)
	if n < 2 || n > len(sig.Params) || n > maxReorder || len(c.diags) == from {
		return
	}
	for i, a := range e.Args {
		if a.Name != nil && i < 2 || a.Value.Type() == nil || a.Value.Type().Kind == types.Invalid {
			return
		}
		if a.Name != nil {
			n = i
			break
		}
	}
	for i := n; i < len(e.Args); i++ { // those with names stay
		if e.Args[i].Name == nil {
			return
		}
		if k := paramIndex(sig, e.Args[i].Name.Name); k < 0 || !c.wouldFit(e.Args[i], &sig.Params[k]) {
			return
		}
	}
	asDeclared := true
	for i := range n {
		asDeclared = asDeclared && c.wouldFit(e.Args[i], &sig.Params[i])
	}
	if asDeclared {
		return
	}
	var best []int
	score, ties := -1, 0
	for _, order := range orders(n) {
		fits := true
		for k, i := range order {
			fits = fits && c.wouldFit(e.Args[i], &sig.Params[k])
		}
		if !fits {
			continue
		}
		named := 0
		for k, i := range order {
			if rootName(e.Args[i].Value) == sig.Params[k].Name {
				named++
			}
		}
		switch {
		case named > score:
			best, score, ties = order, named, 0
		case named == score && !slices.Equal(best, order):
			ties++
		}
	}
	if best == nil {
		return
	}
	c.diags = c.diags[:from]
	first, last := n, 0
	var right []string
	for k, i := range best {
		right = append(right, c.text(e.Args[i]))
		if k != i {
			first, last = min(first, k), max(last, k)
		}
	}
	for _, a := range e.Args[n:] {
		right = append(right, c.text(a))
	}
	at := syntax.Span{Lo: e.Args[first].Lo, Hi: e.Args[last].Hi}
	d := c.err("E0301", at, fmt.Sprintf("the operands of `%s` are in another order", sig.Name))
	d.Label = "these fit the other way round"
	if src, ok := e.Callee.Node.(*syntax.Codelet); ok && last < len(src.Params) {
		f := c.f
		if u, ok := e.Callee.Unit.(*Unit); ok {
			f = u.File
		}
		d.Labels = append(d.Labels, diag.Label{Span: f.At(syntax.Span{Lo: src.Params[first].Lo, Hi: src.Params[last].Hi}), Text: "declared so"})
	} else {
		d.Notes = append(d.Notes, "codelet "+sig.Text)
	}
	if ties > 0 {
		d.Label = "these fit in another order"
		d.Help = append(d.Help, "give operands by name: "+c.byName(e, sig, best))
		return
	}
	d.Help = append(d.Help, fmt.Sprintf("write `%s(%s)`", c.text(syntax.Span{Lo: e.Word.Lo, Hi: e.Path[len(e.Path)-1].Hi}), strings.Join(right, ", ")))
	for k := first; k <= last; k++ {
		if best[k] != k {
			d.Edit(c.f.At(e.Args[k]), right[k])
		}
	}
}

// byName writes the first operand that another order moves with its name.
func (c *checker) byName(e *syntax.Insert, sig *types.Signature, order []int) string {
	var parts []string
	for k, i := range order {
		parts = append(parts, fmt.Sprintf("%s = %s", sig.Params[k].Name, c.text(e.Args[i])))
	}
	return "`" + strings.Join(parts, ", ") + "`"
}

// orders are the orders of n things in which two are swapped, or one is moved.
func orders(n int) [][]int {
	var out [][]int
	add := func(o []int) {
		if !slices.ContainsFunc(out, func(p []int) bool { return slices.Equal(p, o) }) {
			out = append(out, o)
		}
	}
	same := make([]int, n)
	for i := range same {
		same[i] = i
	}
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			moved := slices.Delete(slices.Clone(same), i, i+1)
			add(slices.Insert(moved, j, i))
			if i < j {
				swapped := slices.Clone(same)
				swapped[i], swapped[j] = j, i
				add(swapped)
			}
		}
	}
	return out
}

// wouldFit reports whether a fits the parameter p, element types apart.
func (c *checker) wouldFit(a *syntax.TaskArg, p *types.Param) bool {
	t := a.Value.Type()
	if p.Mode == iface.NoMode {
		switch {
		case a.Mode != iface.NoMode || t.IsHandle():
			return false
		case p.Type.Kind == types.Elem || p.Type.Kind == types.Float:
			return t.IsNumber()
		}
		return t.Kind == p.Type.Kind
	}
	if t.Kind != p.Type.Kind && (p.Type.Kind != types.Dense || t.Kind != types.Vector && t.Kind != types.Matrix) {
		return false
	}
	if p.Type.Param == 0 && t.Kind != types.Void && t.Elem != p.Type.Elem {
		return false
	}
	return a.Mode == p.Mode || p.Mode == iface.RW && (a.Mode == iface.Commute || a.Mode == iface.Redux)
}

// rootName is x of x, x[i] and x.f, "" for anything else.
func rootName(e syntax.Expr) string {
	for {
		switch x := unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Selector:
			e = x.X
		case *syntax.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
