package kernel

// CPU back end: which loop becomes the strip. A rough cost of each choice, in
// units of one operation on one element of a strip, decides.

// costs of accesses and calls for one round.
const (
	costScalar  = 8.0  // a node evaluated for one round alone
	costCall    = 12.0 // a function such as sin
	costStrided = 4.0  // an element that is not next to the one before
	costGather  = 5.0  // an element at a computed place
	costStart   = 40.0 // a strip, however short
	guessTrips  = 64.0 // rounds of a loop whose bounds are not constant
)

// mayFault reports whether evaluating e can end the run.
func mayFault(e *Expr) bool {
	found := false
	walkExpr(e, func(x *Expr) bool {
		switch {
		case x.Op == OpLoad && len(x.X) > 0:
			found = true
		case divides(x):
			found = true
		}
		return !found
	})
	return found
}

// divides reports whether e divides integers by what may be 0, or takes an integer to a
// power that may be negative.
func divides(e *Expr) bool {
	if !e.Type.IsInt() || e.Op != OpFloorDiv && e.Op != OpMod && e.Op != OpPow {
		return false
	}
	by := e.X[1]
	return by.Op != OpConst || by.Int == 0 && e.Op != OpPow || by.Int < 0 && e.Op == OpPow
}

// cost is about what e costs in a strip, without regard to its accesses.
func cost(e *Expr) float64 {
	sum := 0.0
	walkExpr(e, func(x *Expr) bool {
		switch {
		case x.Op == OpFold:
			sum += 1000
			return false
		case mathFuncs[x.Op] != nil || x.Op == OpPow || x.Op == OpMod || x.Op == OpFloorDiv || x.Op == OpFMA:
			sum += costCall
		default:
			sum++
		}
		return sum < 1000
	})
	return sum
}

// bestAxis chooses the index of a loop along which it runs in strips; -1: one
// round at a time.
func (c *compiler) bestAxis(dom []Range, body []*Stmt, value *Expr) int {
	if c.plan == oneByOne {
		return -1
	}
	e := estimator{c: c}
	best, at := e.oneByOne(body, value, 0), -1
	for axis := len(dom) - 1; axis >= 0; axis-- {
		s := c.newStripper(dom[axis].Slot)
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

type estimator struct{ c *compiler }

// constTrips returns the number of rounds of a range with constant bounds.
func constTrips(r *Range) (float64, bool) {
	if r.Lo.Op != OpConst || r.Hi.Op != OpConst {
		return guessTrips, false
	}
	return float64(trips(r.Lo.Int, r.Hi.Int, r.Closed)), true
}

func domainTrips(dom []Range) float64 {
	n := 1.0
	for k := range dom {
		t, _ := constTrips(&dom[k])
		n *= t
	}
	return min(n, 1e9)
}

// nodes counts the operations of a body.
func (e estimator) nodes(body []*Stmt, value *Expr) float64 {
	n := 0.0
	count := func(x *Expr) { walkExpr(x, func(*Expr) bool { n++; return true }) }
	walkStmts(body, func(st *Stmt) { st.exprs(count) })
	if value != nil {
		count(value)
	}
	return n
}

// oneByOne is the cost of a round that runs alone. Folds in it run in strips of
// their own.
func (e estimator) oneByOne(body []*Stmt, value *Expr, depth int) float64 {
	if value != nil {
		return e.scalar(value, depth)
	}
	sum := 0.0
	for _, st := range body {
		one := costScalar
		st.exprs(func(x *Expr) { one += e.scalar(x, depth) })
		if st.Kind == ForStmt {
			one += e.c.planFor(st).cost
		} else {
			one += e.oneByOne(st.Body, nil, depth) + e.oneByOne(st.Else, nil, depth)
		}
		sum += one
	}
	return sum
}

func (e estimator) scalar(x *Expr, depth int) float64 {
	if x.Op != OpFold {
		sum := costScalar
		if x.Op == OpConst {
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
		s := e.c.newStripper(x.Domain[k].Slot)
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

// inStrip is the cost of a round in strips.
func (e estimator) inStrip(s *stripper, body []*Stmt, value *Expr) float64 {
	if value != nil {
		return e.strip(s, value)
	}
	sum := 0.0
	for _, st := range body {
		one := 1.0
		if st.Value != nil {
			one += e.strip(s, st.Value)
		}
		if st.Kind == StoreStmt {
			one += e.access(s, st.Index)
		}
		one += e.inStrip(s, st.Body, nil) + e.inStrip(s, st.Else, nil)
		if st.Kind == ForStmt {
			one *= domainTrips(st.Domain)
		}
		sum += one
	}
	return sum
}

func (e estimator) strip(s *stripper, x *Expr) float64 {
	cl, _ := s.classify(x)
	switch {
	case cl == uniform && x.Op == OpFold:
		return domainTrips(x.Domain) * costScalar / 8
	case cl == uniform:
		return 0.2
	case cl == affine:
		return 1
	case x.Op == OpLoad:
		return e.access(s, x.X)
	case x.Op == OpFold:
		return 1 + domainTrips(x.Domain)*(1+e.strip(s, x.X[0]))
	}
	sum := 1.0
	if mathFuncs[x.Op] != nil || x.Op == OpPow {
		sum = costCall
	}
	for _, y := range x.X {
		sum += e.strip(s, y)
	}
	return sum
}

// access is the cost of one element access for one round of a strip.
func (e estimator) access(s *stripper, index []*Expr) float64 {
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
