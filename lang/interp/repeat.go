package interp

// What bounds a check. Repeated calls: functions that call others twice, which call others twice, …
// insert the same tasks on the same data over and over. A check looks for errors, and
// finds none the third time that it did not find before. And what statements cost that
// do more than compute.

import (
	"slices"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// keyArgs is how many arguments a call may have that is recognised.
const keyArgs = 6

// maxCalls bounds how many different calls are kept.
const maxCalls = 1 << 16

// callKey is a call of a function with its arguments.
type callKey struct {
	fn *funcCode
	n  [keyArgs]int64
	r  [keyArgs]any
}

// repeats counts the calls that a check made, within one call that no other statement
// of the script comes between.
type repeats struct {
	level int
	taken int // decisions about values that nobody knows, which go the one way and the other in turn
	seen  map[callKey]int
}

// repeated runs the body of to, which has its arguments, unless that was done twice
// before: the first time data may have got its first value, so the second may go another
// way than the first, and each later one goes as the second did.
func (m *Machine) repeated(to *frame) {
	pl := m.plan
	if pl.calls.level == 0 {
		pl.calls.seen = map[callKey]int{}
	}
	key, ok := keyOf(to)
	if ok && pl.calls.seen[key] >= 2 {
		m.cur = to.parent
		m.depth--
		if to.fn.refs {
			clear(to.r)
		}
		return
	}
	before := pl.calls.taken + len(pl.noted)
	pl.calls.level++
	m.run(to)
	pl.calls.level--
	if ok && before == pl.calls.taken+len(pl.noted) && len(pl.calls.seen) < maxCalls {
		pl.calls.seen[key]++
	}
}

// keyOf returns the key of a call; false if an argument is not known in the plan, or
// cannot be compared.
func keyOf(f *frame) (k callKey, ok bool) {
	if len(f.fn.params) > keyArgs {
		return k, false
	}
	k.fn = f.fn
	for i := range f.fn.params {
		p := &f.fn.params[i]
		if f.unk[p.slot] {
			return k, false
		}
		if reprOf(p.typ) != rRef {
			k.n[i] = f.n[p.slot]
			continue
		}
		switch v := f.r[p.slot].(type) {
		case *Handle, *View, *List, string:
			k.r[i] = v
		default:
			return k, false
		}
	}
	return k, true
}

// plainBuiltins change nothing and say the same each time.
var plainBuiltins = []string{"abs", "ceil", "close", "cos", "erf", "exp", "float", "floor", "grid", "int", "len", "log", "log2", "max", "min",
	"pow", "range", "round", "sin", "sqrt", "tan", "tanh"}

// plainOptions of an insert have no say in whether it is right.
var plainOptions = []string{"color", "flops", "name", "priority", "where"}

// repeatable reports whether a function gives nothing back, and does nothing but insert
// tasks, also by way of functions that are so: all that a second call with the same
// arguments changes is the first value that data may have by then.
func (p *Program) repeatable(o *types.Object) bool {
	if yes, known := p.repeats[o]; known {
		return yes
	}
	node, ok := o.Node.(*syntax.Func)
	if !ok || node.Body == nil {
		return false
	}
	if p.repeats == nil {
		p.repeats = map[*types.Object]bool{}
	}
	p.repeats[o] = false // a function that calls itself comes back here
	yes := o.Sig.Result == nil || o.Sig.Result.Kind == types.None
	mine := map[*types.Object]bool{} // declared in it
	for _, par := range node.Params {
		mine[par.Name.Obj] = true
	}
	syntax.Walk(&syntax.File{Stmts: node.Body.Stmts}, func(n syntax.Node, around []syntax.Node) {
		switch n := n.(type) {
		case *syntax.Let:
			mine[n.Name.Obj] = true
		case *syntax.Assign:
			id, ok := n.Target.(*syntax.Ident)
			yes = yes && ok && mine[id.Obj]
		case *syntax.Insert:
			_, alone := around[len(around)-1].(*syntax.ExprStmt)
			yes = yes && alone && plain(n.With)
		case *syntax.Call:
			switch {
			case isBuiltin(n):
				yes = yes && slices.Contains(plainBuiltins, n.Callee.Name)
			case isScript(n):
				yes = yes && p.repeatable(n.Callee)
			default:
				yes = false
			}
		case *syntax.If, *syntax.For, *syntax.While, *syntax.Return, *syntax.Break, *syntax.Continue, *syntax.Assert, *syntax.ExprStmt, *syntax.Block:
		case syntax.Stmt:
			yes = false
		}
	})
	p.repeats[o] = yes
	return yes
}

func plain(w *syntax.With) bool {
	return w == nil || !slices.ContainsFunc(w.Options, func(o *syntax.Option) bool { return !slices.Contains(plainOptions, o.Name.Name) })
}

// dataCost and viewCost are how many more steps than others statements count for that
// make or wait for something in the engine, which takes as long as dozens, and that make
// views, as long as hundreds.
const dataCost, viewCost = 64, 256

// waitCost is how many more steps waiting for one of several handles counts for in a check.
const waitCost = 16

// viewBytes of a view count as one more step in a check: a part for sixteen.
const viewBytes = 32

// costOf says how many more steps than others a statement counts for in a check, which
// is bounded by steps. What value() counts for is counted where it reads.
func costOf(s syntax.Stmt) int64 {
	switch s := s.(type) {
	case *syntax.Register, *syntax.Acquire, *syntax.Wait, *syntax.Prefetch, *syntax.Hint, *syntax.Verb:
		return dataCost
	case *syntax.Partition, *syntax.Unpartition:
		return viewCost
	case *syntax.ExprStmt, *syntax.Let, *syntax.Assign:
		if looks(s) {
			return dataCost
		}
	}
	return 0
}

// looks reports whether a statement without a block hands data to a builtin: print, save,
// …, which wait for its tasks.
func looks(s syntax.Stmt) (found bool) {
	syntax.Walk(&syntax.File{Stmts: []syntax.Stmt{s}}, func(n syntax.Node, _ []syntax.Node) {
		call, ok := n.(*syntax.Call)
		found = found || ok && isBuiltin(call) && call.Callee.Name != "value" && slices.ContainsFunc(call.Args, func(a *syntax.Arg) bool {
			t := a.Value.Type()
			return t != nil && t.IsHandle()
		})
	})
	return found
}
