package check

// Statements: names, types and placement. Data flow is the second walk.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *checker) stmts(list []syntax.Stmt) {
	for _, s := range list {
		c.stmt(s)
	}
}

// block checks a block as a scope of its own; loop says that it is the body of one.
func (c *checker) block(b *syntax.Block) {
	if b == nil {
		return
	}
	c.push()
	c.stmts(b.Stmts)
	c.pop()
}

func (c *checker) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Let:
		c.let(s)
	case *syntax.Register:
		c.register(s)
	case *syntax.Partition:
		c.partition(s)
	case *syntax.Unpartition:
		for _, x := range s.Of {
			c.data(x, "`unpartition`", dataViews)
		}
		if s.To != nil {
			c.want(s.To, types.TNode, "the value after `to`")
		}
	case *syntax.Acquire:
		c.acquire(s)
	case *syntax.Release:
		c.release(s)
	case *syntax.Wait:
		for _, x := range s.Of {
			if len(s.Of) == 1 && c.waitAll(s, x) {
				return
			}
			c.data(x, "`wait`", dataAll|dataTasks)
		}
	case *syntax.Checkpoint:
		c.want(s.Dir, types.TString, "the folder of `checkpoint`")
	case *syntax.Prefetch:
		for _, x := range s.Of {
			c.data(x, "`prefetch`", dataAll)
		}
		c.want(s.To, types.TNode, "the value after `to`")
		c.options(s.With, "prefetch")
	case *syntax.Hint:
		for _, x := range s.Of {
			c.data(x, "`hint`", dataAll)
		}
		c.options(s.With, "hint")
	case *syntax.Verb:
		for _, x := range s.Of {
			if s.Verb == "unregister" {
				c.unregister(x)
			} else {
				c.data(x, "`"+s.Verb+"`", dataAll)
				c.wholeSparse(x, s.Verb)
			}
		}
	case *syntax.If:
		c.ifStmt(s)
	case *syntax.For:
		c.forStmt(s)
	case *syntax.While:
		c.want(s.Cond, types.TBool, "the condition of a loop")
		c.loops++
		c.block(s.Body)
		c.loops--
	case *syntax.Return:
		c.returnStmt(s)
	case *syntax.Break:
		if c.loops == 0 {
			c.err("E0105", s, "`break` is only allowed in loops")
		}
	case *syntax.Continue:
		if c.loops == 0 {
			c.err("E0105", s, "`continue` is only allowed in loops")
		}
	case *syntax.Assert:
		c.want(s.Cond, types.TBool, "what `assert` tests")
		if s.Message != nil {
			c.want(s.Message, types.TString, "the message of `assert`")
			if lit, ok := s.Message.(*syntax.StringLit); ok {
				c.missingF(lit)
			}
		}
	case *syntax.Assign:
		c.assign(s)
	case *syntax.ExprStmt:
		c.exprStmt(s)
	case *syntax.Block:
		c.block(s)
	case *syntax.Each:
		d := c.err("E0105", s.Head, "`each` is only allowed in codelets")
		d.Help = append(d.Help, "write `for`, which runs in order")
	case *syntax.Import, *syntax.Param, *syntax.ExternData, *syntax.Struct, *syntax.Codelet, *syntax.Func:
		at := firstWord(c, s)
		d := c.err("E0105", at, fmt.Sprintf("`%s` is only allowed at the top level", c.text(at)))
		d.Help = append(d.Help, "move it out of the block")
	}
}

// exprStmt is a call or an insert; in a session any expression is a statement.
func (c *checker) exprStmt(s *syntax.ExprStmt) {
	c.expr(s.X)
	switch syntax.Unparen(s.X).(type) {
	case *syntax.Call, *syntax.Insert:
		return
	}
	if c.session == nil && s.X.Type() != nil {
		d := c.err("E0105", s, "this expression has no effect")
		if b, ok := s.X.(*syntax.Binary); ok && b.Op == "==" {
			d.Help = append(d.Help, fmt.Sprintf("to assign write `%s = %s`", c.text(b.X), c.text(b.Y)))
		} else {
			d.Help = append(d.Help, fmt.Sprintf("to show it write `print(%s)`; to keep it `let name = %s`", c.text(s.X), c.text(s.X)))
		}
	}
}

func (c *checker) let(s *syntax.Let) {
	if call, ok := syntax.Unparen(s.Value).(*syntax.Call); ok && s.Type == nil && c.isConstructor(call) {
		d := c.err("E0105", s.Value, "data is registered: `let` names values only")
		right := fmt.Sprintf("register %s = %s", s.Name.Name, c.text(s.Value))
		d.Help = append(d.Help, "write `"+right+"`")
		d.Edit(c.f.At(s), right)
		d.Sure()
		c.declare(types.HandleObject, s.Name, c.registered(s.Value), "register")
		return
	}
	if s.Type == nil && c.listsConstructors(s.Value) {
		d := c.err("E0105", s.Value, "data is registered: `let` names values only")
		right := fmt.Sprintf("register %s = %s", s.Name.Name, c.text(s.Value))
		d.Help = append(d.Help, "`register` takes lists, too: `"+right+"`")
		d.Edit(c.f.At(s), right)
		d.Sure()
		o := c.declare(types.HandleObject, s.Name, c.registered(s.Value), "register")
		c.info(o).pack = true
		return
	}
	if right, sure := c.sizesInBrackets(s.Value); right != "" && s.Type == nil {
		d := c.err("E0105", s.Value, "data is registered: `let` names values only")
		right = fmt.Sprintf("register %s = %s", s.Name.Name, right)
		d.Help = append(d.Help, "write `"+right+"`")
		d.Edit(c.f.At(s), right)
		if sure {
			d.Sure()
		}
		c.declare(types.HandleObject, s.Name, types.TInvalid, "register")
		return
	}
	var want *types.Type
	if s.Type != nil {
		want = c.resolveType(s.Type)
	}
	t := c.exprFor(want, s.Value)
	switch {
	case s.Type != nil:
		if want.Kind == types.None {
			c.err("E0705", s.Type, "a name must have a value")
			want = types.TInvalid
		}
		if want != types.TInvalid && !c.fits(want, s.Value) {
			c.mismatch(s.Value, want, fmt.Sprintf("`%s`", s.Name.Name))
		}
		t = want
	case t.Kind == types.None:
		d := c.err("E0705", s.Value, fmt.Sprintf("this gives no value that `%s` could hold", s.Name.Name))
		if _, none := syntax.Unparen(s.Value).(*syntax.NoneLit); none {
			d.Help = append(d.Help, "a name begins with a value of its type: `0`, `0.0`, `false`, `\"\"` or `[]`")
		}
		t = types.TInvalid
	}
	c.info(c.declare(types.LetObject, s.Name, t, "let")).let = s
}

// Statements that decide what runs: if, for and return.

func (c *checker) ifStmt(s *syntax.If) {
	for {
		c.want(s.Cond, types.TBool, "the condition of `if`")
		c.block(s.Then)
		next, ok := s.Else.(*syntax.If)
		if !ok {
			break
		}
		s = next
	}
	if b, ok := s.Else.(*syntax.Block); ok {
		c.block(b)
	}
}

func (c *checker) forStmt(s *syntax.For) {
	item := c.items(s.In, "`for`")
	c.downwards(s.In)
	if len(s.Names) > 1 {
		item = c.apart(s, item)
	}
	c.push()
	for _, n := range s.Names {
		c.info(c.declare(types.LoopVar, n, item, "for")).used = true
	}
	c.loops++
	if s.Body != nil {
		c.stmts(s.Body.Stmts)
	}
	c.loops--
	c.pop()
}

// apart is the type of the names that a for takes a list apart into.
func (c *checker) apart(s *syntax.For, item *types.Type) *types.Type {
	if item.Kind == types.Invalid {
		return item
	}
	if item.Kind != types.List {
		d := c.err("E0705", s.In, fmt.Sprintf("a `for` with %d names runs over a list of lists, and this gives %s", len(s.Names), aType(item)))
		if item.Kind == types.Int {
			d.Help = append(d.Help, "all pairs of indices are `grid(n, m)`")
		}
		return types.TInvalid
	}
	if call, ok := syntax.Unparen(s.In).(*syntax.Call); ok && call.Callee == builtinFuncs["grid"] && len(call.Args) != len(s.Names) {
		c.err("E0705", s.In, fmt.Sprintf("`grid` with %s gives lists of %d, and `for` has %d names", sizes(len(call.Args)), len(call.Args), len(s.Names)))
		return types.TInt
	}
	if unknown(item) {
		c.unknownList(s.In)
		return types.TInvalid
	}
	return item.Of
}

func sizes(n int) string {
	if n == 1 {
		return "one size"
	}
	return fmt.Sprintf("%d sizes", n)
}

func (c *checker) returnStmt(s *syntax.Return) {
	if c.fn == nil {
		if s.Value != nil {
			c.expr(s.Value)
		}
		c.err("E0105", firstWord(c, s), "`return` is only allowed in functions")
		return
	}
	want := c.fnEnd
	switch {
	case s.Value == nil && want.Kind != types.None && want.Kind != types.Invalid:
		c.err("E0705", s, fmt.Sprintf("`%s` returns %s, and nothing is given here", c.fn.Name, aType(want)))
	case s.Value == nil:
	case want.Kind == types.None:
		t := c.expr(s.Value)
		if t.Kind != types.None && t.Kind != types.Invalid {
			d := c.err("E0705", s.Value, fmt.Sprintf("`%s` returns nothing, and this is %s", c.fn.Name, aType(t)))
			at := c.fn.Decl
			c.fnEnd = types.TInvalid // said once
			if fn, ok := c.fn.Node.(*syntax.Func); ok && !strings.Contains(t.String(), "?") {
				at = c.f.At(syntax.Span{Lo: fn.Sig.Hi - 1, Hi: fn.Sig.Hi})
				d.Edit(at.After(), fmt.Sprintf(" -> %v", t))
				d.Sure()
			}
			d.Labels = append(d.Labels, diag.Label{Span: at, Text: "no `->` and type follow it"})
			d.Help = append(d.Help, fmt.Sprintf("declare it with `-> %v`", t))
		}
	default:
		c.want(s.Value, want, fmt.Sprintf("the result of `%s`", c.fn.Name))
	}
}

// Statements on data: register, acquire and release, wait, and others that name it.

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
	switch e := syntax.Unparen(e).(type) {
	case *syntax.ListLit:
		return len(e.Items) > 0 && c.constructs(e.Items[0])
	case *syntax.ListComp:
		return c.constructs(e.Item)
	}
	return false
}

func (c *checker) constructs(e syntax.Expr) bool {
	call, ok := syntax.Unparen(e).(*syntax.Call)
	return ok && c.isConstructor(call)
}

func (c *checker) register(s *syntax.Register) {
	t := c.registered(s.Value)
	ctor, _ := syntax.Unparen(s.Value).(*syntax.Call)
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

// Operands that a statement on data takes besides single handles.
const (
	dataViews = 1 << iota
	dataLists
	dataTasks
	dataAll = dataViews | dataLists
)

// data checks an operand of a statement on data.
func (c *checker) data(e syntax.Expr, stmt string, takes int) {
	if l, ok := syntax.Unparen(e).(*syntax.ListLit); ok && takes&dataLists != 0 && len(l.Items) > 0 {
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
	c.wholeSparse(e, "unregister")
	switch x := syntax.Unparen(e).(type) {
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
		case t.Sparse() != nil:
			t = c.acquireSparse(it, t)
		case !c.keepsStructure(it.Of, it.Mode, it.Access()):
			t = types.TInvalid
		default:
			t = types.ArrayOf(t)
		}
		switch it.Mode {
		case iface.Commute, iface.Redux, iface.Scratch:
			d := c.err("E0308", it.ModeAt, fmt.Sprintf("`acquire` cannot take data as %v", it.Mode))
			d.Help = append(d.Help, fmt.Sprintf("write `R %s`, `W %s` or `RW %s`", c.text(it.Of), c.text(it.Of), c.text(it.Of)))
		default:
			ops = append(ops, operand{it.Mode, it.Of, it.Access(), nil})
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

// Assignments: valid targets, and the types of their values.

// assign is target op= value: only let names, parameters of functions, elements
// of lists and of acquired arrays change.
func (c *checker) assign(s *syntax.Assign) {
	switch t := syntax.Unparen(s.Target).(type) {
	case *syntax.Ident:
		c.assignName(s, t)
	case *syntax.Index:
		c.assignElement(s, t)
	default:
		c.expr(s.Target)
		c.expr(s.Value)
		d := c.err("E0204", s.Target, "this cannot be assigned")
		d.Label = "only names and elements can"
		if sel, ok := t.(*syntax.Selector); ok && c.moduleOf(sel.X) == nil {
			d.Label = "fields are read only"
		}
		if call, ok := t.(*syntax.Call); ok {
			c.squareBrackets(d, call)
		}
	}
}

func (c *checker) assignName(s *syntax.Assign, id *syntax.Ident) {
	used := false
	if o := c.scope.Lookup(id.Name); o != nil && c.infos[o] != nil {
		used = c.infos[o].used
	}
	o := c.find(id)
	if o == nil {
		c.expr(s.Value)
		id.SetType(types.TInvalid)
		if c.later[id.Name] == nil && !c.broken {
			d := c.err("E0201", id, fmt.Sprintf("`%s` is not defined", id.Name))
			if form, ok := c.constructorForm(s.Value); ok && s.Op == "=" {
				d.Help = append(d.Help, fmt.Sprintf("data is registered: `register %s = %s`", id.Name, form))
			} else if mentions(s.Value, id.Name) || s.Op != "=" {
				first := "0"
				if appends(s.Value) {
					first = "[]"
				}
				d.Help = append(d.Help, fmt.Sprintf("it needs a first value above: `let %s = %s`", id.Name, first))
			} else {
				d.Help = append(d.Help, fmt.Sprintf("to make a new name write `let %s = %s`", id.Name, c.text(s.Value)))
				at := c.f.At(s.Target)
				if c.fn == nil && c.scope == c.top {
					d.Edit(at.Before(), "let ")
				}
			}
			c.meant(d, id.Name, func(o *types.Object) bool { return o.Kind == types.LetObject || o.Kind == types.FuncParam })
			return
		}
		c.undefined(id, isValue)
		return
	}
	id.SetType(o.Type)
	s.Target.SetType(o.Type)
	if o.Kind != types.LetObject && o.Kind != types.FuncParam {
		c.expr(s.Value)
		c.notAssignable(s, id, o)
		return
	}
	if in := c.infos[o]; in != nil {
		in.used = used // being assigned is no use
	}
	c.assignValue(s, o.Type)
	c.outlives(s, o)
}

func (c *checker) notAssignable(s *syntax.Assign, id *syntax.Ident, o *types.Object) {
	d := c.err("E0204", id, fmt.Sprintf("`%s` is %s and cannot be assigned", id.Name, what(o)))
	if !o.Decl.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: o.Decl, Text: "declared here"})
	}
	switch o.Kind {
	case types.HandleObject, types.ViewObject:
		if t := s.Value.Type(); s.Op == "=" && t != nil && t.IsHandle() {
			if from, ok := syntax.Unparen(s.Value).(*syntax.Ident); ok && from.Name != id.Name {
				d.Help = append(d.Help, fmt.Sprintf("names of `let` change what they stand for: `let %[1]s_now = %[1]s` and `let %[2]s_now = %[2]s` above, then `%[1]s_now = %[2]s_now`; nothing is copied", id.Name, from.Name))
			}
			if o.Type != nil && (o.Type.Kind == types.Vector || o.Type.Kind == types.Matrix) {
				d.Help = append(d.Help, fmt.Sprintf("the elements are copied by a task: `import \"std/blas\" as blas`, then `insert blas.copy(R %s, W %s)`", c.text(s.Value), id.Name))
			}
			break
		}
		if o.Kind == types.HandleObject && o.Type != nil && o.Type.Kind == types.Variable {
			c.writeHere(d, s, id, o)
			break
		}
		d.Help = append(d.Help, "data changes in tasks; to write it here use `acquire`")
	case types.ArrayObject:
		d.Help = append(d.Help, fmt.Sprintf("assign its elements: `%s[i] = ...`", id.Name))
	default:
		d.Help = append(d.Help, "make a name that can change: `let name = ...`")
	}
}

// assignValue checks the value of an assignment to a place of type t.
func (c *checker) assignValue(s *syntax.Assign, t *types.Type) {
	v := c.expr(s.Value)
	if s.Op != "=" {
		// a op= b is a = a op b.
		b := &syntax.Binary{Op: s.Op[:len(s.Op)-1], OpAt: s.OpAt, X: s.Target, Y: s.Value}
		b.Span = s.Span
		v = c.operator(b, t, v)
		b.SetType(v)
		if v != types.TInvalid && !c.fits(t, b) {
			c.assignMismatch(s, b, t)
		}
		return
	}
	if !c.fits(t, s.Value) {
		c.assignMismatch(s, s.Value, t)
	}
}

func (c *checker) assignMismatch(s *syntax.Assign, e syntax.Expr, t *types.Type) {
	if t.Kind == types.Int && isType(e, types.Float) {
		id, ok := syntax.Unparen(s.Target).(*syntax.Ident)
		at := syntax.Node(s.Value)
		d := c.err("E0703", at, fmt.Sprintf("`%s` is an int, and this makes it a float", c.text(s.Target)))
		if ok && id.Obj != nil && id.Obj.Kind == types.LetObject {
			if !id.Obj.Decl.IsZero() {
				d.Labels = append(d.Labels, diag.Label{Span: id.Obj.Decl, Text: "an int from here on"})
			}
			d.Help = append(d.Help, fmt.Sprintf("declare it as a float: `let %s: float = ...`", id.Name))
		} else {
			d.Help = append(d.Help, fmt.Sprintf("write `int(%s)`, which cuts off the fraction", c.text(s.Value)))
			d.Edit(c.f.At(s.Value), "int("+c.text(s.Value)+")")
		}
		if s.Op == "/=" {
			d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; to round down write `%s = %s // %s`", c.text(s.Target), c.text(s.Target), c.text(s.Value)))
		}
		return
	}
	d := c.err("E0705", s.Value, fmt.Sprintf("`%s` is %s, and this is %s", c.text(s.Target), aType(t), aType(e.Type())))
	if id, ok := syntax.Unparen(s.Target).(*syntax.Ident); ok && id.Obj != nil && !id.Obj.Decl.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: id.Obj.Decl, Text: "declared here"})
	}
}

// assignElement is a[i] = value on a list or an acquired array.
func (c *checker) assignElement(s *syntax.Assign, x *syntax.Index) {
	n := len(c.diags)
	t := c.expr(s.Target)
	faulty := len(c.diags) > n
	base := x.X.Type()
	switch base.Kind {
	case types.Invalid:
		if base != types.TInvalid {
			break
		}
		c.expr(s.Value)
		return
	case types.List, types.Array:
		if faulty && t == types.TInvalid {
			if unknown(base) && len(x.Args) == 1 { // this use shows what the list holds
				break
			}
			c.expr(s.Value)
			return
		}
		for _, a := range x.Args {
			if isType(a, types.Range) {
				c.expr(s.Value)
				d := c.err("E0204", s.Target, "a slice is a copy and cannot be assigned")
				d.Help = append(d.Help, "assign the elements one by one in a `for`")
				return
			}
		}
		if c.frozen(x.X) {
			c.expr(s.Value)
			d := c.err("E0204", s.Target, "lists of a module cannot be changed from outside")
			d.Help = append(d.Help, "copy it first: `let a = [x for x in "+c.text(x.X)+"]`")
			return
		}
	default:
		c.expr(s.Value)
		if faulty {
			return // has no elements, as was reported
		}
		d := c.err("E0204", s.Target, fmt.Sprintf("elements of %s cannot be assigned", aType(base)))
		if base.IsHandle() || base.Kind == types.View {
			of, indices := x.X, c.indicesFor(base, x.Args)
			if base.Kind == types.View {
				of, indices = x, "..." // a part
			}
			a, value := c.arrayFor(of), c.text(s.Value)
			if len(value) > 30 || !s.Value.Type().IsNumber() {
				value = "..."
			}
			d.Help = append(d.Help, fmt.Sprintf("write `acquire RW %s as %s { %s[%s] %s %s }`, or a codelet", c.text(of), a, a, indices, s.Op, value))
		}
		return
	}
	c.assignValue(s, t)
}

// frozen reports whether e is a list that another module exports.
func (c *checker) frozen(e syntax.Expr) bool {
	for {
		switch x := syntax.Unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Selector:
			id, ok := x.X.(*syntax.Ident)
			return ok && id.Obj != nil && id.Obj.Kind == types.ModuleObject
		default:
			return false
		}
	}
}

// outlives reports data of an inner block that is assigned to a name of an
// outer one: the data ends with its block.
func (c *checker) outlives(s *syntax.Assign, target *types.Object) {
	in := c.infos[target]
	if in == nil {
		return
	}
	syntax.WalkExpr(s.Value, func(e syntax.Expr) bool {
		switch x := e.(type) {
		case *syntax.Paren, *syntax.ListLit, *syntax.Cond:
			return true
		case *syntax.Binary:
			return x.Op == "+"
		case *syntax.Index:
			return x.Type() != nil && x.Type().IsHandle() // a part
		case *syntax.Ident:
			o := x.Obj
			if o == nil || o.Kind != types.HandleObject && o.Kind != types.ViewObject {
				return false
			}
			if oin := c.infos[o]; oin != nil && oin.depth > in.depth {
				d := c.err("E0407", x, fmt.Sprintf("`%s` ends with its block, and `%s` lives longer", x.Name, target.Name))
				d.Labels = append(d.Labels, diag.Label{Span: o.Decl, Text: "belongs to the inner block"}, diag.Label{Span: target.Decl, Text: "belongs to an outer block"})
				noun := "register"
				if o.Kind == types.ViewObject {
					noun = "partition"
				}
				d.Help = append(d.Help, fmt.Sprintf("move the `%s` of `%s` to the block of `%s`", noun, x.Name, target.Name))
			}
		}
		return false
	})
}

// mentions reports whether the name occurs in e.
func mentions(e syntax.Expr, name string) bool {
	found := false
	syntax.WalkExpr(e, func(x syntax.Expr) bool {
		id, ok := x.(*syntax.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// appends reports whether e is a list, or has one added to it: xs + [x].
func appends(e syntax.Expr) bool {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.ListLit, *syntax.ListComp:
		return true
	case *syntax.Binary:
		return e.Op == "+" && (appends(e.X) || appends(e.Y))
	}
	return false
}
