package flow

// Changes that calls and loops may make: sets of names, found without following paths.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// summary is what the functions, loops and tasks of a unit do with names, whatever the path.
type summary struct {
	u       *Unit
	globals []*types.Object                 // data of the top level that some function names
	last    map[*types.Object]latest        // per function: the last declared name that it uses for sure
	touched map[syntax.Node][]*types.Object // what the body of a loop may change
	writers map[*types.Object][]writer      // made by writerOf
}

// latest is a top-level name that a function uses whenever it is called.
type latest struct {
	obj *types.Object
	use syntax.Node
}

func newSummary(u *Unit) *summary {
	k := &summary{u: u, last: map[*types.Object]latest{}, touched: map[syntax.Node][]*types.Object{}}
	seen := map[*types.Object]bool{}
	for _, fn := range u.Funcs {
		if fn.Body == nil {
			continue
		}
		syntax.WalkExprs(fn.Body.Stmts, func(e syntax.Expr) {
			syntax.WalkExpr(e, func(x syntax.Expr) bool {
				if id, ok := x.(*syntax.Ident); ok && id.Obj != nil && id.Obj.Global && followed(id.Obj) && !seen[id.Obj] {
					seen[id.Obj] = true
					k.globals = append(k.globals, id.Obj)
				}
				return true
			})
		})
	}
	return k
}

// followed reports whether the data flow keeps a state for o.
func followed(o *types.Object) bool {
	switch o.Kind {
	case types.HandleObject, types.ViewObject, types.ArrayObject:
		return true
	case types.LetObject:
		return o.Type.Kind == types.Gate || o.Type.Kind == types.Task
	}
	return false
}

// call is a call of a function of the script: it may do anything to the
// top-level names that functions of this unit use.
func (k *summary) call(f *walk, e *syntax.Call) {
	f.clock++
	f.called = f.clock
	if f.fn || e.Callee == nil || e.Callee.Unit != k.u.Owner {
		return
	}
	k.tooEarly(e)
	for _, o := range k.globals {
		x := f.cells[o]
		if x == nil {
			continue
		}
		if x.root != nil && o.Kind == types.ViewObject {
			f.forget(x.root)
			if x.state.life == lifeOver {
				continue
			}
		}
		f.forget(x)
	}
}

// tooEarly reports a call at top level of a function that uses, whatever
// happens, a name whose statement comes later (E0205).
func (k *summary) tooEarly(e *syntax.Call) {
	fn, ok := e.Callee.Node.(*syntax.Func)
	if !ok || e.Callee.Unit != k.u.Owner {
		return
	}
	l := k.lastUse(fn, e.Callee, 0)
	if l.obj == nil || l.obj.Decl.Start.Offset < int(e.Lo) {
		return
	}
	d := k.u.err("E0205", e, fmt.Sprintf("`%s` uses `%s`, whose statement has not run yet", fn.Name.Name, l.obj.Name))
	d.Labels = append(d.Labels, diag.Label{Span: l.obj.Decl, Text: "declared here"}, k.u.label(l.use, "used here"))
	d.Help = append(d.Help, fmt.Sprintf("move the call below line %d", l.obj.Decl.Start.Line))
}

// lastUse finds the top-level name declared last that fn uses on every path.
func (k *summary) lastUse(fn *syntax.Func, o *types.Object, depth int) latest {
	if l, ok := k.last[o]; ok {
		return l
	}
	k.last[o] = latest{} // recursion adds nothing
	var best latest
	if fn.Body == nil || depth > 1000 {
		return best
	}
	take := func(l latest) {
		if l.obj != nil && (best.obj == nil || l.obj.Decl.Start.Offset > best.obj.Decl.Start.Offset) {
			best = l
		}
	}
	straight(fn.Body.Stmts, func(e syntax.Expr) {
		syntax.WalkExpr(e, func(x syntax.Expr) bool {
			switch x := x.(type) {
			case *syntax.Cond, *syntax.ListComp:
				return false
			case *syntax.Binary:
				return x.Op != "and" && x.Op != "or"
			case *syntax.Ident:
				if x.Obj != nil && x.Obj.Global && x.Obj.Unit == k.u.Owner {
					switch x.Obj.Kind {
					case types.LetObject, types.HandleObject, types.ViewObject, types.ArrayObject:
						if !isExtern(x.Obj) {
							take(latest{x.Obj, x})
						}
					}
				}
			case *syntax.Call:
				if x.Callee != nil && x.Callee.Unit == k.u.Owner {
					if g, ok := x.Callee.Node.(*syntax.Func); ok {
						take(k.lastUse(g, x.Callee, depth+1))
					}
				}
			}
			return true
		})
	})
	k.last[o] = best
	return best
}

// straight visits the expressions that are evaluated whenever list runs.
func straight(list []syntax.Stmt, visit func(syntax.Expr)) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.If:
			visit(s.Cond)
			if mayLeave(s) {
				return
			}
		case *syntax.For:
			visit(s.In)
			if mayLeave(s) {
				return
			}
		case *syntax.While:
			visit(s.Cond)
			if mayLeave(s) {
				return
			}
		case *syntax.Acquire:
			for _, it := range s.Items {
				visit(it.Of)
			}
			if s.Body != nil {
				straight(s.Body.Stmts, visit)
				if mayLeave(s) {
					return
				}
			}
		case *syntax.Block:
			straight(s.Stmts, visit)
			if mayLeave(s) {
				return
			}
		case *syntax.Assert:
			visit(s.Cond)
		case *syntax.Return:
			if s.Value != nil {
				visit(s.Value)
			}
			return
		case *syntax.Break, *syntax.Continue:
			return
		default:
			syntax.WalkExprs([]syntax.Stmt{s}, visit)
		}
	}
}

// mayLeave reports whether s holds a return.
func mayLeave(s syntax.Stmt) bool {
	found := false
	syntax.WalkStmt(s, func(s syntax.Stmt) {
		if _, ok := s.(*syntax.Return); ok {
			found = true
		}
	})
	return found
}

// touchedBy lists the objects whose state the body of a loop may change.
func (f *walk) touchedBy(at syntax.Node) []*types.Object {
	if t, ok := f.sum.touched[at]; ok {
		return t
	}
	t := &touch{f: f, seen: map[*types.Object]bool{}}
	switch s := at.(type) {
	case *syntax.For:
		t.stmts(s.Body.Stmts)
	case *syntax.While:
		t.expr(s.Cond)
		t.stmts(s.Body.Stmts)
	case *syntax.ListComp:
		t.expr(s.Item)
	}
	f.sum.touched[at] = t.objs
	return t.objs
}

// touch collects what statements may change, without following paths.
type touch struct {
	f    *walk
	seen map[*types.Object]bool
	objs []*types.Object
}

func (t *touch) add(o *types.Object) {
	for o != nil && !t.seen[o] && followed(o) {
		t.seen[o] = true
		t.objs = append(t.objs, o)
		part := PartitionOf(o)
		if part == nil || len(part.Of) == 0 {
			return
		}
		o = RootOf(part.Of[0])
	}
}

// data adds the data that e names; what else e holds is walked.
func (t *touch) data(e syntax.Expr) {
	t.indices(e)
	if o := base(e); o != nil {
		t.add(o)
	}
}

// indices walks all of e but the name of its data.
func (t *touch) indices(e syntax.Expr) {
	switch x := syntax.Unparen(e).(type) {
	case *syntax.Index:
		for _, a := range x.Args {
			t.expr(a)
		}
		t.indices(x.X)
	case *syntax.Ident:
	default:
		t.expr(e)
	}
}

// base is the name that e is an item of.
func base(e syntax.Expr) *types.Object {
	for {
		switch x := syntax.Unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Ident:
			return x.Obj
		default:
			return nil
		}
	}
}

func (t *touch) expr(e syntax.Expr) {
	syntax.WalkExpr(e, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Ident:
			t.add(e.Obj)
		case *syntax.Insert:
			for _, a := range e.Args {
				if a.Mode == iface.R && !t.f.u.Failed[e] {
					t.indices(a.Value)
				} else {
					t.data(a.Value)
				}
				t.expr(a.At)
			}
			if e.With != nil {
				for _, o := range e.With.Options {
					t.option(o)
				}
			}
			return false
		case *syntax.Call:
			return t.call(e)
		case *syntax.Selector:
			if x := e.X.Type(); x != nil && e.Name != nil && e.Name.Name != "parts" && (x.IsHandle() || x.Kind == types.View || x.Kind == types.Array) {
				t.indices(e.X)
				return false
			}
		case *syntax.FString:
			for _, p := range e.Parts {
				if p.X != nil {
					t.shown(p.X)
				}
			}
			return false
		case *syntax.Index:
			if isKind(e.X, types.Array) {
				t.indices(e)
				return false
			}
		}
		return true
	})
}

// option: a gate or task in after stays what it is.
func (t *touch) option(o *syntax.Option) {
	if o.Name.Name != "after" && o.Name.Name != "unordered" {
		t.expr(o.Value)
		return
	}
	items := []syntax.Expr{o.Value}
	if l, ok := syntax.Unparen(o.Value).(*syntax.ListLit); ok {
		items = l.Items
	}
	for _, x := range items {
		t.indices(x)
	}
}

func (t *touch) shown(e syntax.Expr) {
	if x := e.Type(); x != nil && (x.IsHandle() || x.Kind == types.View) {
		t.indices(e)
		return
	}
	t.expr(e)
}

func (t *touch) call(e *syntax.Call) bool {
	if e.Callee == nil || e.Callee.Kind != types.BuiltinFunc {
		if e.Callee != nil && !t.f.fn && e.Callee.Unit == t.f.u.Owner {
			for _, o := range t.f.sum.globals {
				t.add(o)
			}
		}
		return true
	}
	switch e.Callee.Name {
	case "print", "str", "value", "save", "len", "busy":
		for _, a := range e.Args {
			t.shown(a.Value)
		}
		return false
	}
	return true
}

func (t *touch) stmts(list []syntax.Stmt) {
	for _, s := range list {
		syntax.WalkStmt(s, t.stmt)
	}
}

// stmt adds what s itself changes; syntax.WalkStmt comes to the statements inside.
func (t *touch) stmt(s syntax.Stmt) {
	quiet := func(list []syntax.Expr) {
		for _, e := range list {
			if x := e.Type(); x != nil && (x.IsHandle() || x.Kind == types.View) {
				t.indices(e)
			} else if l, ok := syntax.Unparen(e).(*syntax.ListLit); ok {
				for _, i := range l.Items {
					t.indices(i)
				}
			} else {
				t.expr(e)
			}
		}
	}
	with := func(w *syntax.With) {
		if w != nil {
			for _, o := range w.Options {
				t.expr(o.Value)
			}
		}
	}
	switch s := s.(type) {
	case *syntax.Wait:
		for _, e := range s.Of {
			if x := e.Type(); x == nil || x.Kind != types.Gate && x.Kind != types.Task {
				quiet([]syntax.Expr{e})
			}
		}
	case *syntax.Prefetch:
		quiet(s.Of)
		t.expr(s.To)
		with(s.With)
	case *syntax.Hint:
		quiet(s.Of)
		with(s.With)
	case *syntax.Verb:
		if s.Verb == "evict" {
			quiet(s.Of)
			return
		}
		for _, e := range s.Of {
			t.expr(e)
		}
	case *syntax.Partition:
		for _, fc := range s.Filters {
			for _, a := range fc.Args {
				t.expr(a.Value)
			}
		}
		for _, e := range s.Of {
			if s.Name != nil {
				t.indices(e)
			} else {
				t.data(e)
			}
		}
	case *syntax.Acquire:
		for _, it := range s.Items {
			if it.Mode == iface.R {
				t.indices(it.Of)
			} else {
				t.data(it.Of)
			}
		}
	case *syntax.Release:
		for _, n := range s.Names {
			t.add(n.Obj)
		}
	default:
		syntax.ExprsOf(s, t.expr)
	}
}

// writer is an operand of a task that gets a value.
type writer struct {
	insert *syntax.Insert
	arg    *syntax.TaskArg
}

// writerOf returns a task that gives o a value, as "dot(..., REDUX pq)": the first one
// below the place read, and then after is set, else the first one of the text. It
// returns "" if there is none.
func (k *summary) writerOf(o *types.Object, read int32) (text string, after bool) {
	if k.writers == nil {
		k.writers = map[*types.Object][]writer{}
		visit := func(e syntax.Expr) bool {
			if in, ok := e.(*syntax.Insert); ok {
				for _, a := range in.Args {
					if m := passed(in, a); m.Declared() == iface.W || m == iface.Redux {
						root := RootOf(a.Value)
						k.writers[root] = append(k.writers[root], writer{in, a})
					}
				}
			}
			return true
		}
		syntax.WalkExprs(k.u.File.Stmts, func(e syntax.Expr) { syntax.WalkExpr(e, visit) })
		for _, list := range k.writers {
			slices.SortStableFunc(list, func(a, b writer) int { return cmp.Compare(a.insert.Lo, b.insert.Lo) })
		}
	}
	list := k.writers[o]
	if len(list) == 0 {
		return "", false
	}
	below, _ := slices.BinarySearchFunc(list, read, func(w writer, at int32) int { return cmp.Compare(w.insert.Lo, at+1) })
	w := list[0]
	if after = below < len(list); after {
		w = list[below]
	}
	var parts []string
	for i, a := range w.insert.Args {
		switch {
		case a == w.arg:
			parts = append(parts, k.u.File.Text(syntax.Span{Lo: a.ModeAt.Lo, Hi: a.Value.Range().Hi}))
		case i == 0 || w.insert.Args[i-1] == w.arg:
			parts = append(parts, "...")
		}
	}
	var path []string
	for _, id := range w.insert.Path {
		path = append(path, id.Name)
	}
	return strings.Join(path, ".") + "(" + strings.Join(parts, ", ") + ")", after
}
