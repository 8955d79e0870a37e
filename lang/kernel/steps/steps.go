// Package steps divides bodies of codelets into the kernels of a device, which starts them one
// after another: a kernel cannot wait for the rounds of a loop, and then go on.
package steps

import (
	"errors"
	"fmt"
	"slices"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Step is a part of a body. It is one of
//
//   - statements that run once, in order: Body alone
//   - a loop whose rounds are independent, with the statements Body in each: Domain
//   - a fold, whose value becomes that of local Slot: Fold
//   - a loop whose rounds run in order, with steps in each: Inner, and one Domain
type Step struct {
	Body   []*ir.Stmt
	Domain []ir.Range
	Loop   *ir.Stmt // of a loop with independent rounds: the each, or the outermost for
	Fold   *ir.Expr
	Slot   int
	Inner  []*Step

	// Repeated are declarations of locals in earlier steps whose values the step computes again.
	Repeated []*ir.Stmt
	// Carried are other locals of earlier steps that the step uses. They have to be in memory
	// between the steps.
	Carried []int
	// Guards are conditions: the step runs if each of these locals, which are carried, has the
	// value that it gives.
	Guards []Guard
	// Indices are the indices of loops in order around the step.
	Indices []int
}

// Guard is a condition of a step.
type Guard struct {
	Slot int
	Want bool
}

// Once reports whether the step is statements that run once.
func (s *Step) Once() bool { return s.Domain == nil && s.Fold == nil }

// Options say what a back end can do.
type Options struct {
	// Folds makes steps of the folds in statements that run once.
	Folds bool
	// Host allows loops in order and branches around other steps, and carried locals.
	Host bool
}

// Plan are the steps of a body.
type Plan struct {
	Func    *ir.Func // a copy of the body's with more locals
	Steps   []*Step
	Carried map[int]bool // the locals that some step carries

	whole *analysis.Rounds
}

// Split divides a body. The error is the reason why it cannot.
func Split(fn *ir.Func, opt Options) (*Plan, error) {
	own := *fn
	own.Slots = append([]ir.Slot(nil), fn.Slots...)
	s := &splitter{fn: &own, opt: opt, whole: analysis.WholeBody(fn), lets: map[int]*ir.Stmt{}, carried: map[int]bool{}, locals: map[*ir.Expr]int{}}
	list, err := s.walk(fn.Body, nil, nil)
	if err != nil {
		return nil, err
	}
	list, err = s.resolveAll(list)
	if err != nil {
		return nil, err
	}
	return &Plan{&own, list, s.carried, s.whole}, nil
}

type splitter struct {
	fn      *ir.Func
	opt     Options
	whole   *analysis.Rounds
	lets    map[int]*ir.Stmt // declarations outside of steps with rounds
	carried map[int]bool
	locals  map[*ir.Expr]int // that replace folds, and expressions before them
}

// walk divides a block. guards and indices are those around it.
func (s *splitter) walk(list []*ir.Stmt, guards []Guard, indices []int) ([]*Step, error) {
	var out []*Step
	var alone *Step // the last step, if more statements can follow in it
	add := func(st *Step) {
		st.Guards, st.Indices = guards, indices
		out = append(out, st)
	}
	once := func(st *ir.Stmt) {
		if st.Kind == ir.SetStmt && st.Declare {
			s.lets[st.Slot] = st
		}
		if alone == nil {
			alone = &Step{}
			add(alone)
		}
		alone.Body = append(alone.Body, st)
	}
	for _, st := range list {
		switch {
		case isBlock(st):
			inner, err := s.walk(st.Body, guards, indices)
			if err != nil {
				return nil, err
			}
			out, alone = append(out, inner...), nil
		case st.Kind == ir.EachStmt:
			add(&Step{Body: st.Body, Domain: st.Domain, Loop: st})
			alone = nil
		case st.Kind == ir.ForStmt:
			if domain, body := s.nest(st); domain != nil {
				add(&Step{Body: body, Domain: domain, Loop: st})
				alone = nil
				continue
			}
			if st.Value != nil { // which the host does not know
				return nil, errors.New("a `while`, `break` or `return` ends a loop, depending on its rounds")
			}
			if !s.opt.Host || !s.hasParallel(st.Body) {
				return nil, errors.New("the rounds of a `for` depend on each other")
			}
			inner, err := s.walk(st.Body, guards, append(indices[:len(indices):len(indices)], st.Domain[0].Slot))
			if err != nil {
				return nil, err
			}
			add(&Step{Domain: st.Domain, Inner: inner})
			alone = nil
		case st.Kind == ir.IfStmt && !(loopFree(st) && (!s.opt.Folds || !hasFolds(st))):
			if !s.opt.Host {
				return nil, errors.New("it has loops inside an `if`")
			}
			slot := s.newSlot(ir.Bool)
			set := &ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: slot, Value: st.Value, Pos: st.Pos}
			for _, f := range s.hoist(set) {
				add(f)
				alone = nil
			}
			if alone == nil {
				alone = &Step{}
				add(alone)
			}
			alone.Body = append(alone.Body, s.rewritten(set))
			s.carried[slot] = true
			for _, side := range []struct {
				list []*ir.Stmt
				want bool
			}{{st.Body, true}, {st.Else, false}} {
				inner, err := s.walk(side.list, append(guards[:len(guards):len(guards)], Guard{slot, side.want}), indices)
				if err != nil {
					return nil, err
				}
				out = append(out, inner...)
			}
			alone = nil
		case !loopFree(st):
			return nil, errors.New("it has a loop of a kind that devices do not have")
		default:
			if s.opt.Folds {
				for _, f := range s.hoist(st) {
					add(f)
					alone = nil
				}
				if st = s.rewritten(st); hasFolds(st) {
					return nil, errors.New("it has a fold that only some conditions evaluate")
				}
			}
			once(st)
		}
	}
	return out, nil
}

// isBlock reports whether st is a block, which lowering writes as an if.
func isBlock(st *ir.Stmt) bool {
	return st.Kind == ir.IfStmt && st.Value.Op == ir.OpConst && st.Value.Int != 0 && len(st.Else) == 0
}

func (s *splitter) newSlot(t ir.Type) int {
	s.fn.Slots = append(s.fn.Slots, ir.Slot{Name: fmt.Sprintf("step%d", len(s.fn.Slots)), Type: t, Kind: ir.LetSlot})
	return len(s.fn.Slots) - 1
}

// nest returns the domain of st and of perfectly nested loops inside it whose rounds are
// independent, and the body of the innermost. The domain is nil if the rounds of st are not.
func (s *splitter) nest(st *ir.Stmt) (domain []ir.Range, body []*ir.Stmt) {
	for {
		r, _, ok := analysis.Independent(s.fn, st)
		if !ok || r.HasReductions() {
			return domain, body
		}
		domain, body = append(domain, st.Domain[0]), st.Body
		if len(body) != 1 || body[0].Kind != ir.ForStmt || len(domain) == ir.MaxIndices {
			return domain, body
		}
		st = body[0]
		lo, hi := st.Domain[0].Lo, st.Domain[0].Hi
		if !r.Invariant(lo) || !r.Invariant(hi) || analysis.MayFault(lo) || analysis.MayFault(hi) {
			return domain, body // st's range is found in each round of the loop around it
		}
	}
}

// hasParallel reports whether a block has a loop with independent rounds.
func (s *splitter) hasParallel(list []*ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(st *ir.Stmt) {
		switch {
		case found:
		case st.Kind == ir.EachStmt:
			found = true
		case st.Kind == ir.ForStmt:
			domain, _ := s.nest(st)
			found = domain != nil
		}
	})
	return found
}

// loopFree reports whether st has no loops.
func loopFree(st *ir.Stmt) bool {
	ok := true
	ir.WalkStmts([]*ir.Stmt{st}, func(in *ir.Stmt) {
		switch in.Kind {
		case ir.SetStmt, ir.StoreStmt, ir.ElementStmt, ir.IfStmt:
		default:
			ok = false
		}
	})
	return ok
}

// hasFolds reports whether st, or a statement in it, has a fold.
func hasFolds(st *ir.Stmt) bool {
	found := false
	ir.WalkStmts([]*ir.Stmt{st}, func(in *ir.Stmt) {
		in.Exprs(func(e *ir.Expr) { found = found || hasFold(e) })
	})
	return found
}

func hasFold(e *ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || x.Op == ir.OpFold; return !found })
	return found
}

// hoist returns steps for the folds of st that it always evaluates, and has rewritten replace
// them by locals. An expression that may fail before a fold is a step, too, so that its fault is
// the one that the body has.
func (s *splitter) hoist(st *ir.Stmt) []*Step {
	var out []*Step
	local := func(e *ir.Expr) int {
		slot := s.newSlot(e.Type)
		s.locals[e], s.carried[slot] = slot, true
		return slot
	}
	var inOrder func(list []*ir.Expr)
	one := func(e *ir.Expr) {
		switch _, done := s.locals[e]; {
		case e.Op == ir.OpAnd || e.Op == ir.OpOr || e.Op == ir.OpCond || done:
		case e.Op == ir.OpFold:
			out = append(out, &Step{Fold: e, Slot: local(e)})
		default:
			inOrder(e.X)
		}
	}
	inOrder = func(list []*ir.Expr) {
		for k, e := range list {
			one(e)
			if !slices.ContainsFunc(list[k+1:], hasFold) {
				continue
			}
			if now := s.rewrittenExpr(e); analysis.MayFault(now) {
				set := &ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: local(e), Value: now, Pos: e.Pos}
				out = append(out, &Step{Body: []*ir.Stmt{set}})
			}
		}
	}
	inOrder(append([]*ir.Expr{st.Value}, st.Index...))
	return out
}

// rewritten returns st with locals in place of what hoist has made steps.
func (s *splitter) rewritten(st *ir.Stmt) *ir.Stmt {
	if st.Kind == ir.IfStmt || !hasFolds(st) {
		return st
	}
	c := *st
	c.Value = s.rewrittenExpr(st.Value)
	c.Index = make([]*ir.Expr, len(st.Index))
	for k, x := range st.Index {
		c.Index[k] = s.rewrittenExpr(x)
	}
	return &c
}

func (s *splitter) rewrittenExpr(e *ir.Expr) *ir.Expr {
	if slot, ok := s.locals[e]; ok {
		return &ir.Expr{Op: ir.OpSlot, Type: e.Type, Slot: slot, Pos: e.Pos}
	}
	if e.Op == ir.OpFold {
		return e
	}
	c := *e
	c.X = make([]*ir.Expr, len(e.X))
	for k, x := range e.X {
		c.X[k] = s.rewrittenExpr(x)
	}
	return &c
}

// HostValue returns e as an expression of sizes, scalars and constants, which the host can
// compute without the elements of operands, or nil.
func (p *Plan) HostValue(e *ir.Expr) *ir.Expr { return hostValue(p.whole, e) }

func hostValue(r *analysis.Rounds, e *ir.Expr) *ir.Expr {
	v := r.Value(e)
	if v == nil {
		return nil
	}
	ir.WalkExpr(v, func(x *ir.Expr) bool {
		if x.Op == ir.OpLoad {
			v = nil
		}
		return v != nil
	})
	return v
}
