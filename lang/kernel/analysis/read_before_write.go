package analysis

// Reads of W and SCRATCH operands before the body writes anything to them (E0607).

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// readCollector collects, for each operand, the reads that precede its first store in the
// source, and the scopes that all of its stores are in.
//
// A scope is a part of the body that may not run at all: a branch, the right side of `and`
// and `or`, a loop whose bounds are not sizes. Scope 0 is the body.
type readCollector struct {
	a      *analysis
	path   []int // the scopes around the current expression, outermost first
	scopes int
	reads  [][]pendingRead // by operand
	stores [][]int         // by operand: the common prefix of the paths of its stores; nil without a store
}

type pendingRead struct {
	e     *ir.Expr
	scope int // the innermost scope
}

// checkReadsBeforeWrites reports the first read of each W or SCRATCH operand that precedes
// all writes to it in every run that reaches the read.
//
// A read in scope 0 does. A read in another scope does if every store is in that scope, too:
// then it precedes them when the scope runs for the first time. Otherwise a round in which
// the scope does not run may write, as in forward substitution, whose first row reads no
// result.
func (a *analysis) checkReadsBeforeWrites() {
	r := &readCollector{a: a, path: []int{0}, reads: make([][]pendingRead, len(a.fn.Operands)), stores: make([][]int, len(a.fn.Operands))}
	r.stmts(a.fn.Body)
	for op := range a.fn.Operands {
		o := &a.fn.Operands[op]
		if o.Mode != iface.W && o.Mode != iface.Scratch || o.Node == nil {
			continue
		}
		for _, read := range r.reads[op] {
			never := r.stores[op] == nil && o.Mode == iface.Scratch // for a W operand, W0606 reports that
			if never || slices.Contains(r.stores[op], read.scope) {
				a.reportReadBeforeWrite(o, read.e)
				break
			}
		}
	}
}

func (a *analysis) reportReadBeforeWrite(o *ir.Operand, e *ir.Expr) {
	if o.Mode == iface.Scratch {
		d := a.err("E0607", e.Pos, fmt.Sprintf("`%s` is SCRATCH, and this reads it before anything is written to it", o.Name))
		d.Label = "it may hold anything here"
		d.Labels = append(d.Labels, diag.Label{Span: a.at(o.Node.ModeAt), Text: "SCRATCH memory has no initial value"})
		d.Help = append(d.Help, fmt.Sprintf("write it first; to pass data with a value, declare it `%s: R %s` or RW, and insert it with that mode", o.Name, a.typeText(o)))
		return
	}
	d := a.err("E0607", e.Pos, fmt.Sprintf("`%s` is declared W, and this reads it before anything is written to it", o.Name))
	d.Label = "its old value is not here"
	d.Labels = append(d.Labels, diag.Label{Span: a.at(o.Node.ModeAt), Text: "W does not fetch the old value"})
	d.Help = append(d.Help, fmt.Sprintf("declare `%s: RW %s` and insert it as RW, or write it first", o.Node.Name.Name, a.typeText(o)))
	d.Edit(a.at(o.Node.ModeAt), "RW")
}

func (r *readCollector) stmts(list []*ir.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

func (r *readCollector) stmt(s *ir.Stmt) {
	s.Exprs(r.expr)
	switch s.Kind {
	case ir.StoreStmt:
		if common := r.stores[s.Operand]; common == nil {
			r.stores[s.Operand] = slices.Clone(r.path)
		} else {
			n := 0
			for n < min(len(common), len(r.path)) && common[n] == r.path[n] {
				n++
			}
			r.stores[s.Operand] = common[:n]
		}
	case ir.IfStmt:
		r.inScope(true, func() { r.stmts(s.Body) })
		r.inScope(true, func() { r.stmts(s.Else) })
	default:
		r.inScope(!sizesOnly(s.Domain), func() { r.stmts(s.Body) })
	}
}

// inScope calls f, in a new scope if scope is set.
func (r *readCollector) inScope(scope bool, f func()) {
	if scope {
		r.scopes++
		r.path = append(r.path, r.scopes)
		defer func() { r.path = r.path[:len(r.path)-1] }()
	}
	f()
}

func (r *readCollector) expr(e *ir.Expr) {
	switch e.Op {
	case ir.OpLoad:
		if r.stores[e.Operand] == nil {
			r.reads[e.Operand] = append(r.reads[e.Operand], pendingRead{e, r.path[len(r.path)-1]})
		}
	case ir.OpCond, ir.OpSelect, ir.OpAnd, ir.OpOr:
		r.expr(e.X[0])
		for _, x := range e.X[1:] {
			r.inScope(true, func() { r.expr(x) })
		}
		return
	case ir.OpFold:
		for _, d := range e.Domain {
			r.expr(d.Lo)
			r.expr(d.Hi)
		}
		r.inScope(!sizesOnly(e.Domain), func() { r.expr(e.X[0]) })
		return
	}
	for _, x := range e.X {
		r.expr(x)
	}
}

// sizesOnly reports whether the bounds of a domain depend on constants and fields of operands
// alone, so that it is the same in every round of enclosing loops.
func sizesOnly(domain []ir.Range) bool {
	is := true
	for _, d := range domain {
		for _, x := range []*ir.Expr{d.Lo, d.Hi} {
			ir.WalkExpr(x, func(e *ir.Expr) bool {
				is = is && e.Op != ir.OpSlot && e.Op != ir.OpLoad && e.Op != ir.OpElement && e.Op != ir.OpFold
				return is
			})
		}
	}
	return is
}
