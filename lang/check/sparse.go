package check

// Sparse matrices: what a task may do to their arrays, and statements that take one array only.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// arrayOfSparse returns the sparse matrix whose array e is, and the name of the array.
func arrayOfSparse(e syntax.Expr) (whole syntax.Expr, name string) {
	x, ok := syntax.Unparen(e).(*syntax.Selector)
	if !ok || x.Name == nil || x.X.Type() == nil || x.X.Type().Member(x.Name.Name) == nil {
		return nil, ""
	}
	return x.X, x.Name.Name
}

// keepsStructure reports E0306 if e is an array with the structure of a sparse matrix and mode,
// written at, changes it.
func (c *checker) keepsStructure(e syntax.Expr, mode iface.AccessMode, at syntax.Node) bool {
	whole, name := arrayOfSparse(e)
	if whole == nil || name == "val" || whole.Type().Fields() != nil || mode == iface.R || mode == iface.Scratch || mode == iface.NoMode {
		return true
	}
	d := c.err("E0306", at, fmt.Sprintf("`%s` is part of the structure of a %s, which never changes", c.text(e), kindName(whole.Type())))
	d.Label = fmt.Sprintf("%v promises to change it", mode)
	d.Help = append(d.Help, fmt.Sprintf("tasks change values: `%v %s.val`; for another structure register another %s", mode, c.text(whole), kindName(whole.Type())))
	return false
}

// sparseMode reports modes in which no sparse matrix of type t, or array of one, is passed.
func (c *checker) sparseMode(a *syntax.TaskArg, t *types.Type) bool {
	whole, array := arrayOfSparse(a.Value)
	if a.Mode != iface.Redux || t.Sparse() == nil && (whole == nil || array != "val" && whole.Type().Fields() == nil) {
		return true
	}
	is := "is"
	if whole != nil {
		is, t = "belongs to", whole.Type()
	}
	d := c.err("E0303", a.ModeAt, fmt.Sprintf("`%s` %s a %[3]s, and a %[3]s has no reduction", c.text(a.Value), is, kindName(t)))
	d.Label = "needs a way to combine the copies"
	d.Help = append(d.Help, fmt.Sprintf("tasks that change its values one after the other, in any order, take it as COMMUTE: `COMMUTE %s`", c.text(a.Value)))
	d.Edit(c.f.At(a.ModeAt), "COMMUTE")
	return false
}

// acquireSparse reports an acquire of a sparse matrix as a whole.
func (c *checker) acquireSparse(it *syntax.AcquireItem, t *types.Type) *types.Type {
	if f := t.Fields(); f != nil {
		d := c.err("E0705", it.Of, fmt.Sprintf("`acquire` gives one array, and `%s` is structs, which have one for each field", c.text(it.Of)))
		d.Help = append(d.Help, fmt.Sprintf("acquire the fields that are needed: `acquire %v %s.%s as %s`", it.Mode, c.text(it.Of), f.Arrays[0].Name, f.Arrays[0].Name))
		return types.TInvalid
	}
	d := c.err("E0705", it.Of, fmt.Sprintf("`acquire` gives one array, and `%s` is a %s, which has three", c.text(it.Of), kindName(t)))
	d.Help = append(d.Help, fmt.Sprintf("acquire the one that is needed: `acquire %v %s.val as %s`, or `.%s` and `.%s` with R", it.Mode, c.text(it.Of), it.As.Name,
		t.Sparse().Arrays[0].Name, t.Sparse().Arrays[1].Name))
	return types.TInvalid
}

// wholeSparse reports a verb on an array of a sparse matrix that only applies to the whole.
func (c *checker) wholeSparse(e syntax.Expr, verb string) {
	whole, name := arrayOfSparse(e)
	if whole == nil || verb != "unregister" && (name == "val" || whole.Type().Fields() != nil) || !slices.Contains([]string{"unregister", "invalidate"}, verb) {
		return
	}
	if verb == "invalidate" {
		d := c.err("E0705", e, fmt.Sprintf("`%s` is part of the structure of a %s, which never changes", c.text(e), kindName(whole.Type())))
		d.Help = append(d.Help, fmt.Sprintf("to drop the values write `invalidate %s`", c.text(whole)))
		d.Edit(c.f.At(e), c.text(whole))
		return
	}
	d := c.err("E0705", e, fmt.Sprintf("`%s` takes the whole %s, and `%s` is one of its arrays", verb, kindName(whole.Type()), c.text(e)))
	d.Help = append(d.Help, fmt.Sprintf("write `%s %s`", verb, c.text(whole)))
	d.Edit(c.f.At(e), c.text(whole))
}
