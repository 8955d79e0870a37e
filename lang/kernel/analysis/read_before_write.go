package analysis

// Reads of W and SCRATCH operands before the body wrote anything to them (E0607).

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// earlyReads collects, for each operand, the reads that stand before its first store in
// the text, and the scopes that all of its stores are in.
//
// A scope is what may run no time at all: a branch, the right side of `and` and `or`, a
// loop whose bounds are not sizes. Scope 0 is the body.
type earlyReads struct {
	a      *analysis
	path   []int // the scopes around what is looked at, outermost first
	scopes int
	reads  [][]earlyRead // by operand
	stores [][]int       // by operand: what the paths of its stores have in common, nil without a store
}

type earlyRead struct {
	e     *ir.Expr
	scope int // the innermost
}

// early reports the first read of each W or SCRATCH operand that nothing can have written
// before, in any run of the body that gets there.
//
// A read in the body itself is one. A read in a scope is one if every store is in that
// scope, too: then it comes before them when the scope runs first. Else a round in which the
// scope does not run may write, as in forward substitution, where the first row reads
// nothing.
func (a *analysis) early() {
	r := &earlyReads{a: a, path: []int{0}, reads: make([][]earlyRead, len(a.fn.Operands)), stores: make([][]int, len(a.fn.Operands))}
	r.stmts(a.fn.Body)
	for op := range a.fn.Operands {
		o := &a.fn.Operands[op]
		if o.Mode != iface.W && o.Mode != iface.Scratch || o.Node == nil {
			continue
		}
		for _, read := range r.reads[op] {
			never := r.stores[op] == nil && o.Mode == iface.Scratch // of a W operand that is W0606
			if never || slices.Contains(r.stores[op], read.scope) {
				a.reportEarly(o, read.e)
				break
			}
		}
	}
}

func (a *analysis) reportEarly(o *ir.Operand, e *ir.Expr) {
	if o.Mode == iface.Scratch {
		d := a.err("E0607", e.Pos, fmt.Sprintf("`%s` is SCRATCH, and this reads it before anything is written to it", o.Name))
		d.Label = "it may hold anything here"
		d.Labels = append(d.Labels, diag.Label{Span: a.at(o.Node.ModeAt), Text: "SCRATCH memory begins without a value"})
		d.Help = append(d.Help, fmt.Sprintf("write it first; data with a value is declared `%s: R %s`, or RW, and inserted so", o.Name, a.typeText(o)))
		return
	}
	d := a.err("E0607", e.Pos, fmt.Sprintf("`%s` is declared W, and this reads it before anything is written to it", o.Name))
	d.Label = "what it held before is not there"
	d.Labels = append(d.Labels, diag.Label{Span: a.at(o.Node.ModeAt), Text: "W does not fetch the old value"})
	d.Help = append(d.Help, fmt.Sprintf("declare `%s: RW %s` and insert it as RW, or write it first", o.Name, a.typeText(o)))
	d.Edit(a.at(o.Node.ModeAt), "RW")
}

func (r *earlyReads) stmts(list []*ir.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

func (r *earlyReads) stmt(s *ir.Stmt) {
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
		r.in(true, func() { r.stmts(s.Body) })
		r.in(true, func() { r.stmts(s.Else) })
	default:
		r.in(!sizes(s.Domain), func() { r.stmts(s.Body) })
	}
}

// in calls f, in a scope of its own if it is one.
func (r *earlyReads) in(scope bool, f func()) {
	if scope {
		r.scopes++
		r.path = append(r.path, r.scopes)
		defer func() { r.path = r.path[:len(r.path)-1] }()
	}
	f()
}

func (r *earlyReads) expr(e *ir.Expr) {
	switch e.Op {
	case ir.OpLoad:
		if r.stores[e.Operand] == nil {
			r.reads[e.Operand] = append(r.reads[e.Operand], earlyRead{e, r.path[len(r.path)-1]})
		}
	case ir.OpCond, ir.OpSelect, ir.OpAnd, ir.OpOr:
		r.expr(e.X[0])
		for _, x := range e.X[1:] {
			r.in(true, func() { r.expr(x) })
		}
		return
	case ir.OpFold:
		for _, d := range e.Domain {
			r.expr(d.Lo)
			r.expr(d.Hi)
		}
		r.in(!sizes(e.Domain), func() { r.expr(e.X[0]) })
		return
	}
	for _, x := range e.X {
		r.expr(x)
	}
}

// sizes reports whether the bounds of a domain are made of numbers and of sizes of
// operands alone: then it is the same in every round of what is around it.
func sizes(domain []ir.Range) bool {
	is := true
	for _, d := range domain {
		for _, x := range []*ir.Expr{d.Lo, d.Hi} {
			ir.WalkExpr(x, func(e *ir.Expr) bool {
				is = is && e.Op != ir.OpSlot && e.Op != ir.OpLoad && e.Op != ir.OpFold
				return is
			})
		}
	}
	return is
}
