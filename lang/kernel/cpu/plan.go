package cpu

// The choice of how loops run, by their estimated cost. The unit is an operation on one
// element of a strip.

import (
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Costs for one round.
const (
	costScalar  = 8.0  // a node in code that runs one round at a time
	costCall    = 12.0 // a function such as sin
	costStrided = 4.0  // an element that is not adjacent to the previous one
	costGather  = 5.0  // an element at a computed index
	costStart   = 40.0 // the start of a strip
	guessTrips  = 64.0 // rounds of a loop whose bounds are not constant
)

// stripCost estimates the cost of e in a strip, without accesses.
func stripCost(e *ir.Expr) float64 {
	sum := 0.0
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		switch {
		case x.Op == ir.OpFold:
			sum += 1000
			return false
		case ir.IsMathFunc(x.Op) || x.Op == ir.OpPow || x.Op == ir.OpMod || x.Op == ir.OpFloorDiv || x.Op == ir.OpFMA:
			sum += costCall
		default:
			sum++
		}
		return sum < 1000
	})
	return sum
}

// bestAxis returns the index of an each or a fold along which it runs in strips, or -1 to
// run one round at a time. body is that of an each, value that of a fold.
func (c *compiler) bestAxis(dom []ir.Range, body []*ir.Stmt, value *ir.Expr) int {
	if c.plan == oneByOne {
		return -1
	}
	e := estimator{c: c}
	best, at := e.oneByOne(body, value, 0), -1
	for axis := len(dom) - 1; axis >= 0; axis-- {
		s := c.newStripCompiler(dom[axis].Slot)
		if value != nil {
			if !s.foldable(value) {
				continue
			}
		} else if !s.prepare(body) {
			continue
		}
		if c.plan == alwaysLast {
			return axis
		}
		cost := e.inStrip(s, body, value)
		if n, ok := constTrips(&dom[axis]); ok && n < 64 {
			cost += costStart * e.nodes(body, value) / max(n, 1) / 8
		}
		if cost < best {
			best, at = cost, axis
		}
	}
	return at
}

// estimator estimates costs.
type estimator struct{ c *compiler }

// constTrips returns the number of rounds of a range with constant bounds, or a guess and
// false.
func constTrips(r *ir.Range) (float64, bool) {
	if r.Lo.Op != ir.OpConst || r.Hi.Op != ir.OpConst {
		return guessTrips, false
	}
	if r.Hi.Int == ir.NoEnd {
		return guessTrips, false
	}
	return float64(ir.Trips(r.Lo.Int, r.Hi.Int, r.Closed)), true
}

// domainTrips returns the number of rounds of a domain, as far as it is known.
func domainTrips(dom []ir.Range) float64 {
	n := 1.0
	for k := range dom {
		t, _ := constTrips(&dom[k])
		n *= t
	}
	return min(n, 1e9)
}

// nodes returns the number of operations of a body.
func (e estimator) nodes(body []*ir.Stmt, value *ir.Expr) float64 {
	n := 0.0
	count := func(x *ir.Expr) { ir.WalkExpr(x, func(*ir.Expr) bool { n++; return true }) }
	ir.WalkStmts(body, func(st *ir.Stmt) { st.Exprs(count) })
	if value != nil {
		count(value)
	}
	return n
}

// oneByOne estimates the cost of a round that runs alone, with folds in strips.
func (e estimator) oneByOne(body []*ir.Stmt, value *ir.Expr, depth int) float64 {
	if value != nil {
		return e.scalar(value, depth)
	}
	sum := 0.0
	for _, st := range body {
		one := costScalar
		st.Exprs(func(x *ir.Expr) { one += e.scalar(x, depth) })
		if st.Kind == ir.ForStmt {
			one += e.c.planFor(st).cost
		} else {
			one += e.oneByOne(st.Body, nil, depth) + e.oneByOne(st.Else, nil, depth)
		}
		sum += one
	}
	return sum
}

func (e estimator) scalar(x *ir.Expr, depth int) float64 {
	if x.Op != ir.OpFold {
		sum := costScalar
		if x.Op == ir.OpConst {
			sum = 1
		}
		for _, y := range x.X {
			sum += e.scalar(y, depth)
		}
		return sum
	}
	if depth > 2 {
		return costStart + domainTrips(x.Domain)*costScalar
	}
	best := e.scalar(x.X[0], depth+1)
	for k := range x.Domain {
		s := e.c.newStripCompiler(x.Domain[k].Slot)
		if !s.foldable(x.X[0]) {
			continue
		}
		c := e.strip(s, x.X[0])
		if n, ok := constTrips(&x.Domain[k]); ok && n < 64 {
			c += costStart * e.nodes(nil, x.X[0]) / max(n, 1) / 8
		}
		best = min(best, c)
	}
	return costStart + domainTrips(x.Domain)*best
}

// inStrip estimates the cost of a round in a strip.
func (e estimator) inStrip(s *stripCompiler, body []*ir.Stmt, value *ir.Expr) float64 {
	if value != nil {
		return e.strip(s, value)
	}
	sum := 0.0
	for _, st := range body {
		one := 1.0
		if st.Value != nil {
			one += e.strip(s, st.Value)
		}
		if st.Kind == ir.StoreStmt {
			one += e.access(s, st.Index)
		}
		one += e.inStrip(s, st.Body, nil) + e.inStrip(s, st.Else, nil)
		if st.Kind == ir.ForStmt {
			one *= domainTrips(st.Domain)
		}
		sum += one
	}
	return sum
}

func (e estimator) strip(s *stripCompiler, x *ir.Expr) float64 {
	cl, _ := s.classify(x)
	switch {
	case cl == uniform && x.Op == ir.OpFold:
		return domainTrips(x.Domain) * costScalar / 8
	case cl == uniform:
		return 0.2
	case cl == affine:
		return 1
	case x.Op == ir.OpLoad:
		return e.access(s, x.X)
	case x.Op == ir.OpFold:
		return 1 + domainTrips(x.Domain)*(1+e.strip(s, x.X[0]))
	}
	sum := 1.0
	if ir.IsMathFunc(x.Op) || x.Op == ir.OpPow {
		sum = costCall
	}
	for _, y := range x.X {
		sum += e.strip(s, y)
	}
	return sum
}

// access estimates the cost of an element access for one round of a strip.
func (e estimator) access(s *stripCompiler, index []*ir.Expr) float64 {
	sum, regular := 0.5, true
	for k, x := range index {
		cl, g := s.classify(x)
		switch {
		case cl == varying:
			regular = false
			sum += costGather + e.strip(s, x)
		case cl == affine && (g != 1 || k < len(index)-1):
			regular = false
			sum += costStrided
		}
	}
	if regular {
		return 0.5
	}
	return sum
}

// A `for` whose rounds depend on each other through reductions at most runs in strips like
// an each, with the results and the fault of its rounds in order: a reduction combines the
// values of a strip one after another, and a strip that may fault runs one round at a time.
// The loops of a matrix product take a hundredth of the time that way.

// minStripRounds is the number of rounds below which a strip costs more than it saves.
const minStripRounds = 8

// forPlan is how a `for` runs.
type forPlan struct {
	strip   *stripCompiler // nil: it runs one round at a time
	body    []*ir.Stmt
	demands *analysis.Demands
	cost    float64 // of all its rounds
}

// planFor returns how a `for` runs.
func (c *compiler) planFor(st *ir.Stmt) *forPlan {
	if p := c.forPlans[st]; p != nil {
		return p
	}
	p := &forPlan{}
	if c.forPlans == nil {
		c.forPlans = map[*ir.Stmt]*forPlan{}
	}
	c.forPlans[st] = p
	e, n := estimator{c: c}, domainTrips(st.Domain)
	p.cost = n * (costScalar + e.oneByOne(st.Body, nil, 0))
	if c.plan == oneByOne {
		return p
	}
	r, body, ok := analysis.Independent(c.fn, st)
	if !ok {
		return p
	}
	s := c.newStripCompiler(st.Domain[0].Slot)
	if !s.prepare(body) {
		return p
	}
	want, _ := r.Demands(body)
	if want == nil {
		return p
	}
	cost := costStart*e.nodes(body, nil)/8 + n*(1+e.inStrip(s, body, nil))
	if cost < p.cost || c.plan == alwaysLast {
		p.strip, p.body, p.demands, p.cost = s, body, want, cost
	}
	return p
}

// SlowLoop is a loop that runs one round at a time, where others run hundreds of rounds an
// operation.
type SlowLoop struct {
	Span diag.Span // the loop
	Why  string    // "`s` is carried from one round to the next"
	Help string    // a remedy
}

// SlowLoops returns the loops of the body that have to run one round at a time, in the order
// of the source. It leaves out loops with few rounds, and those that spend their time in
// loops inside them.
func (p *Program) SlowLoops() []SlowLoop {
	c := &compiler{fn: p.fn, plan: cheapest}
	return c.slowLoops(p.fn.Body)
}

// fewRounds is the number of rounds below which SlowLoops leaves a loop out.
const fewRounds = 8 * minStripRounds

func (c *compiler) slowLoops(list []*ir.Stmt) (found []SlowLoop) {
	for _, st := range list {
		switch st.Kind {
		case ir.IfStmt:
			found = append(append(found, c.slowLoops(st.Body)...), c.slowLoops(st.Else)...)
		case ir.EachStmt:
			if c.bestAxis(st.Domain, st.Body, nil) < 0 && c.stripEach(st, len(st.Domain)-1, true) == nil {
				found = append(found, c.slowLoops(st.Body)...)
			}
		case ir.ForStmt:
			if c.runsInStrips(st) {
				continue
			}
			if inside := c.slowLoops(st.Body); len(inside) > 0 {
				found = append(found, inside...)
				continue
			}
			if hasFewRounds(st.Domain) || hasLongLoops(st.Body) {
				continue
			}
			if why, help := c.slowReason(st); why != "" {
				found = append(found, SlowLoop{c.fn.Source.Span(int(st.Pos.Lo), int(st.Pos.Hi)), why, help})
			}
		}
	}
	return found
}

// runsInStrips reports whether the `for` st runs in strips, in one of the ways of forLoop.
func (c *compiler) runsInStrips(st *ir.Stmt) bool {
	return c.planFor(st).strip != nil || c.carriedStrips(st) != nil || c.raggedStrips(st) != nil
}

// hasFewRounds reports whether a loop is known to have few rounds.
func hasFewRounds(dom []ir.Range) bool {
	for k := range dom {
		if _, known := constTrips(&dom[k]); !known {
			return false
		}
	}
	return domainTrips(dom) < fewRounds
}

// hasLongLoops reports whether list has loops or folds that may have many rounds.
func hasLongLoops(list []*ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(st *ir.Stmt) {
		found = found || (st.Kind == ir.ForStmt || st.Kind == ir.EachStmt) && !hasFewRounds(st.Domain)
		st.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || x.Op == ir.OpFold && !hasFewRounds(x.Domain); return !found })
		})
	})
	return found
}

// slowReason returns why the rounds of a `for` have to run one at a time, and a remedy; "" if
// that merely costs least.
func (c *compiler) slowReason(st *ir.Stmt) (why, help string) {
	const independent = "independent rounds run hundreds at a time"
	switch d := analysis.DependenceOf(c.fn, st); d.Kind {
	case analysis.CarriedLocal:
		if d.Array {
			return "the array `" + d.Name + "` is carried from one round to the next", independent + ": give each round its own `" + d.Name + "`"
		}
		return "`" + d.Name + "` is carried from one round to the next",
			independent + ": give each round its own `" + d.Name + "`, or only add to it (`+=`)"
	case analysis.SharedElements:
		return "a round may use elements of `" + d.Name + "` that another round writes",
			independent + ": read the old values from a separate operand (R), or make a loop with independent rounds the innermost"
	case analysis.EndsEarly:
		return "a `while`, `break` or `return` ends it, depending on its rounds",
			independent + ": a `for` whose rounds all run"
	case analysis.InnerEach:
		return "each of its rounds is an `each` with few rounds",
			independent + ": write the inner `each` as a `for`, so that the rounds of the outer loop run that way"
	}
	r, body, ok := analysis.Independent(c.fn, st)
	if !ok {
		return "", ""
	}
	s := c.newStripCompiler(st.Domain[0].Slot)
	if !s.prepare(body) {
		return "", ""
	}
	if want, obstacle := r.Demands(body); want == nil {
		return obstacle.Why, "rounds run hundreds at a time if none can fail: use indices that are a loop index plus a constant, and constant divisors"
	}
	return "", ""
}
