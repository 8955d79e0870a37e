package check

// E0304: operands of one task, or of one acquire, that share elements for sure.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// operand is one handle of a task or acquire.
type operand struct {
	mode iface.AccessMode
	of   syntax.Expr
	at   syntax.Node
	arg  *syntax.TaskArg
}

// shared reports operands of an insert that share elements, one of them written.
func (c *checker) shared(e *syntax.Insert) {
	var ops [8]operand
	list := ops[:0]
	for _, a := range e.Bound {
		if a != nil && a.Mode != iface.NoMode && a.Mode != iface.Scratch {
			list = append(list, operand{a.Mode, a.Value, a, a})
		}
	}
	c.overlaps(list)
}

// overlaps reports the first operand that shares elements with an earlier one.
// Tasks have few operands: the comparison is by pairs, up to a bound.
func (c *checker) overlaps(list []operand) {
	for i := 1; i < len(list) && i < 64; i++ {
		for j := 0; j < i; j++ {
			a, b := list[j], list[i]
			if a.mode == iface.R && b.mode == iface.R || !c.sameElements(a.of, b.of) {
				continue
			}
			name := c.text(b.of)
			message := fmt.Sprintf("`%s` appears twice, and one use writes it", name)
			if a.mode != iface.R && b.mode != iface.R {
				message = fmt.Sprintf("`%s` appears twice, and both uses write it", name)
			}
			if c.text(a.of) != name {
				message = fmt.Sprintf("`%s` and `%s` share elements, and one use writes them", c.text(a.of), name)
			}
			d := c.err("E0304", b.at, message)
			d.Label = useText(b.mode)
			d.Labels = append(d.Labels, diag.Label{Span: c.f.At(a.at), Text: useText(a.mode)})
			d.Notes = append(d.Notes, "operands that share elements may only be read: else the result would depend on the device")
			d.Help = append(d.Help, c.onceHelp(a, b))
			return
		}
	}
}

func useText(m iface.AccessMode) string {
	if m == iface.R {
		return "read here"
	}
	return "written here"
}

func (c *checker) onceHelp(a, b operand) string {
	read, mode := a, b.mode
	if a.mode != iface.R {
		read, mode = b, a.mode
	}
	if b.arg == nil {
		return fmt.Sprintf("acquire it once as %v", iface.RW)
	}
	if a.mode != iface.R && b.mode != iface.R {
		return "pass it once, or split what the task does into two tasks"
	}
	if mode == iface.Commute || mode == iface.Redux {
		mode = iface.RW
	}
	if t := read.of.Type(); t != nil && t.IsDense() {
		return fmt.Sprintf("pass it once as %v, or copy it first: `insert blas.copy(R %s, W t)`", mode, c.text(read.of))
	}
	return fmt.Sprintf("pass it once as %v", mode)
}

// sameElements reports whether a and b share elements whatever the values of
// names are: the same data, whole or at equal indices.
func (c *checker) sameElements(a, b syntax.Expr) bool {
	a, b = unparen(a), unparen(b)
	if c.equal(a, b) {
		return true
	}
	// The whole of a registered name shares elements with all of its parts.
	ra, rb := c.rootOf(a), c.rootOf(b)
	if ra == nil || ra != rb {
		return false
	}
	return isWhole(a, ra) || isWhole(b, rb)
}

func isWhole(e syntax.Expr, root *types.Object) bool {
	id, ok := e.(*syntax.Ident)
	return ok && id.Obj == root
}

// equal reports whether a and b have the same value for sure when they are
// evaluated one after the other: names, literals and arithmetic on them.
func (c *checker) equal(a, b syntax.Expr) bool {
	switch x := unparen(a).(type) {
	case *syntax.Ident:
		y, ok := unparen(b).(*syntax.Ident)
		return ok && x.Obj != nil && x.Obj == y.Obj
	case *syntax.IntLit:
		y, ok := unparen(b).(*syntax.IntLit)
		return ok && x.Value == y.Value
	case *syntax.Unary:
		y, ok := unparen(b).(*syntax.Unary)
		return ok && x.Op == y.Op && c.equal(x.X, y.X)
	case *syntax.Binary:
		y, ok := unparen(b).(*syntax.Binary)
		return ok && x.Op == y.Op && c.equal(x.X, y.X) && c.equal(x.Y, y.Y)
	case *syntax.Selector:
		y, ok := unparen(b).(*syntax.Selector)
		return ok && x.Name != nil && y.Name != nil && x.Name.Name == y.Name.Name && c.equal(x.X, y.X)
	case *syntax.Index:
		y, ok := unparen(b).(*syntax.Index)
		if !ok || len(x.Args) != len(y.Args) || !c.equal(x.X, y.X) {
			return false
		}
		for i := range x.Args {
			if !c.equal(x.Args[i], y.Args[i]) {
				return false
			}
		}
		return true
	}
	return false
}
