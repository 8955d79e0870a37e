package check

// Statements on data: register, acquire and release, wait, and others that name it.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// isConstructor reports whether e makes data: vector[f64](n).
func (c *checker) isConstructor(e *syntax.Call) bool {
	x, ok := e.Fn.(*syntax.Index)
	if !ok {
		return false
	}
	id, ok := x.X.(*syntax.Ident)
	return ok && handleKinds[id.Name] != 0 && c.scope.Lookup(id.Name) == nil
}

// listsConstructors reports whether e is a list of constructors, which register takes.
func (c *checker) listsConstructors(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.ListLit:
		return len(e.Items) > 0 && c.constructs(e.Items[0])
	case *syntax.ListComp:
		return c.constructs(e.Item)
	}
	return false
}

func (c *checker) constructs(e syntax.Expr) bool {
	call, ok := unparen(e).(*syntax.Call)
	return ok && c.isConstructor(call)
}

func (c *checker) register(s *syntax.Register) {
	t := c.registered(s.Value)
	ctor, _ := unparen(s.Value).(*syntax.Call)
	for _, n := range s.Names {
		o := c.declare(types.HandleObject, n, t, "register")
		o.Doc, o.Node = s.Doc, s
		in := c.info(o)
		if t.IsHandle() {
			in.ctor = ctor
		} else {
			in.pack = true
		}
	}
}

// waitAll reports wait all and its like, where nothing has that name.
func (c *checker) waitAll(s *syntax.Wait, x syntax.Expr) bool {
	id, ok := x.(*syntax.Ident)
	if !ok || id.Name != "all" && id.Name != "tasks" && id.Name != "everything" || c.scope.Lookup(id.Name) != nil || c.host[id.Name] != nil || c.later[id.Name] != nil || c.broken {
		return false
	}
	id.SetType(types.TInvalid)
	d := c.err("E0201", id, fmt.Sprintf("`%s` is not defined", id.Name))
	d.Help = append(d.Help, "write `wait`: alone it waits for all tasks")
	d.Edit(c.f.At(s), "wait")
	d.Sure()
	return true
}

// What a statement on data takes besides single handles.
const (
	dataViews = 1 << iota
	dataLists
	dataTasks
	dataAll = dataViews | dataLists
)

// data checks an operand of a statement on data.
func (c *checker) data(e syntax.Expr, stmt string, takes int) {
	if l, ok := unparen(e).(*syntax.ListLit); ok && takes&dataLists != 0 && len(l.Items) > 0 {
		for _, x := range l.Items {
			c.data(x, stmt, takes)
		}
		l.SetType(types.ListOf(l.Items[0].Type()))
		e.SetType(l.Type())
		return
	}
	t := c.expr(e)
	of := t
	for takes&dataLists != 0 && of.Kind == types.List && of.Of != nil {
		of = of.Of
	}
	switch {
	case of.Kind == types.Invalid || of.IsHandle() || of.Kind == types.List && of.Of == nil && takes&dataLists != 0:
	case of.Kind == types.View && takes&dataViews != 0:
	case (of.Kind == types.Task || of.Kind == types.Gate) && takes&dataTasks != 0:
	default:
		list := "handles"
		if takes&dataViews != 0 {
			list += ", views"
		}
		if takes&dataLists != 0 {
			list += ", lists of them"
		}
		if takes&dataTasks != 0 {
			list += " and tasks"
		}
		d := c.err("E0705", e, fmt.Sprintf("%s takes %s, and this is %s", stmt, list, aType(t)))
		if t.Kind == types.Array {
			d.Help = append(d.Help, "name the handle that was acquired")
		}
	}
}

// unregister takes whole data by any name.
func (c *checker) unregister(e syntax.Expr) {
	c.data(e, "`unregister`", dataLists)
	switch x := unparen(e).(type) {
	case *syntax.Index:
		if t := x.X.Type(); t != nil && (t.IsHandle() || t.Kind == types.View) {
			d := c.err("E0705", e, fmt.Sprintf("`unregister` takes whole data, and `%s` is a part", c.text(e)))
			d.Help = append(d.Help, "to drop a value write `invalidate`; to end a view `unpartition`")
		}
	}
}

func (c *checker) acquire(s *syntax.Acquire) {
	var ops []operand
	for _, it := range s.Items {
		t := c.expr(it.Of)
		switch {
		case t.Kind == types.Invalid:
			t = types.TInvalid
		case !t.IsHandle():
			d := c.err("E0705", it.Of, fmt.Sprintf("`acquire` takes a handle, and this is %s", aType(t)))
			if t.Kind == types.View || t.Kind == types.List {
				d.Help = append(d.Help, fmt.Sprintf("acquire one: `acquire %v %s[i] as %s`", it.Mode, c.text(it.Of), it.As.Name))
			}
			t = types.TInvalid
		default:
			t = types.ArrayOf(t)
		}
		switch it.Mode {
		case iface.Commute, iface.Redux, iface.Scratch:
			d := c.err("E0308", it.ModeAt, fmt.Sprintf("`acquire` cannot take data as %v", it.Mode))
			d.Help = append(d.Help, fmt.Sprintf("write `R %s`, `W %s` or `RW %s`", c.text(it.Of), c.text(it.Of), c.text(it.Of)))
		default:
			ops = append(ops, operand{it.Mode, it.Of, itemSpan(it), nil})
		}
		it.As.SetType(t)
	}
	c.overlaps(ops)
	if s.Body != nil {
		c.push()
	}
	for _, it := range s.Items {
		o := c.declare(types.ArrayObject, it.As, it.As.Type(), "acquire")
		c.info(o).acq = it
	}
	if s.Body != nil {
		c.stmts(s.Body.Stmts)
		c.pop()
	}
}

// itemSpan is "RW x" of "RW x as xs".
func itemSpan(it *syntax.AcquireItem) syntax.Span {
	return syntax.Span{Lo: it.ModeAt.Lo, Hi: it.Of.Range().Hi}
}

func (c *checker) release(s *syntax.Release) {
	for _, n := range s.Names {
		o := c.use(n)
		if o == nil {
			n.SetType(types.TInvalid)
			continue
		}
		n.SetType(o.Type)
		if o.Kind != types.ArrayObject {
			if o.Type == types.TInvalid {
				continue
			}
			d := c.err("E0705", n, fmt.Sprintf("`release` takes an array that `acquire` gave, and `%s` is %s", n.Name, what(o)))
			if o.Kind == types.HandleObject {
				d.Help = append(d.Help, "name the array: `acquire R x as xs`, then `release xs`")
			}
			continue
		}
		switch s.To {
		case iface.Commute, iface.Redux, iface.Scratch:
			d := c.err("E0308", s.ToAt, fmt.Sprintf("`release` cannot go to %v", s.To))
			d.Help = append(d.Help, "write `to R`, or release it entirely")
		}
	}
}

// writeHere adds to d how a variable gets a value outside of tasks, and how a reduction
// into it begins again.
func (c *checker) writeHere(d *diag.Diagnostic, s *syntax.Assign, id *syntax.Ident, o *types.Object) {
	mode, value := "W", c.text(s.Value)
	if s.Op != "=" {
		mode = "RW"
	}
	if len(value) > 30 || !s.Value.Type().IsNumber() {
		value = "..."
	}
	array := c.arrayFor(id)
	d.Help = append(d.Help, fmt.Sprintf("data changes in tasks; to write it here: `acquire %s %s as %s { %s[0] %s %s }`", mode, id.Name, array, array, s.Op, value))
	if in := c.infos[o]; s.Op == "=" && in != nil && in.ctor != nil {
		for _, a := range in.ctor.Args {
			if a.Name != nil && a.Name.Name == "reduce" {
				d.Help = append(d.Help, fmt.Sprintf("to begin its reduction again, from the next contributions alone: `invalidate %s`", id.Name))
			}
		}
	}
}
