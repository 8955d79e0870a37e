package kernel

// Loops that a CPU runs one round at a time, and why.

import (
	"github.com/starpush/starpush/lang/diag"
)

// A SlowLoop is a loop that a CPU runs one round at a time, where others run hundreds of
// rounds an operation.
type SlowLoop struct {
	Span diag.Span // the loop
	Why  string    // "`s` goes from one round to the next"
	Help string    // what would do
}

// SlowLoops lists the loops of the body that a CPU runs one round at a time because it
// has to, in the order of the source. Those with few rounds do not count, nor those whose
// time goes to loops inside them.
func (p *Program) SlowLoops() []SlowLoop {
	c := &compiler{fn: p.fn, plan: cheapest}
	return c.slow(p.fn.Body)
}

// fewRounds is the number of rounds below which it does not matter how a loop runs.
const fewRounds = 8 * shortLoop

func (c *compiler) slow(list []*Stmt) (found []SlowLoop) {
	for _, st := range list {
		switch st.Kind {
		case IfStmt:
			found = append(append(found, c.slow(st.Body)...), c.slow(st.Else)...)
		case EachStmt:
			if c.bestAxis(st.Domain, st.Body, nil) < 0 {
				found = append(found, c.slow(st.Body)...)
			}
		case ForStmt:
			if c.planFor(st).s != nil {
				continue
			}
			if inside := c.slow(st.Body); len(inside) > 0 {
				found = append(found, inside...)
				continue
			}
			if few(st.Domain) || hasLongLoops(st.Body) {
				continue
			}
			if why, help := c.whyAlone(st); why != "" {
				found = append(found, SlowLoop{c.fn.Source.Span(int(st.Pos.Lo), int(st.Pos.Hi)), why, help})
			}
		}
	}
	return found
}

// few reports whether it is known that a loop has few rounds.
func few(dom []Range) bool {
	for k := range dom {
		if _, known := constTrips(&dom[k]); !known {
			return false
		}
	}
	return domainTrips(dom) < fewRounds
}

// hasLongLoops reports whether statements hold loops or folds that may have many rounds,
// which run in strips of their own.
func hasLongLoops(list []*Stmt) bool {
	found := false
	walkStmts(list, func(st *Stmt) {
		found = found || (st.Kind == ForStmt || st.Kind == EachStmt) && !few(st.Domain)
		st.exprs(func(e *Expr) {
			walkExpr(e, func(x *Expr) bool { found = found || x.Op == OpFold && !few(x.Domain); return !found })
		})
	})
	return found
}

// whyAlone says why the rounds of a `for` run one at a time; "" where that costs least.
func (c *compiler) whyAlone(st *Stmt) (why, help string) {
	const apart = "rounds that do not depend on each other run hundreds at a time"
	r := c.fn.roundsOf(st)
	flat := r.collect()
	if !r.names() {
		name := ""
		walkStmts(st.Body, func(x *Stmt) {
			if x.Kind == SetStmt && !r.made[x.Slot] && r.reduced[x] == nil && name == "" {
				name = c.fn.Slots[x.Slot].Name
			}
		})
		return "`" + name + "` goes from one round to the next",
			apart + ": let each compute its own, or do no more with `" + name + "` than add to it (`+=`)"
	}
	for op, is := range r.stored {
		if is && !r.ownElements(op) && !r.reducedElements(op) {
			name := c.fn.Operands[op].Name
			return "a round may use elements of `" + name + "` that another one writes",
				apart + ": read the values of before from an operand of their own (R), or let the innermost loop be one whose rounds do not"
		}
	}
	if !flat {
		return "each of its rounds is an `each` with few rounds",
			apart + ": write the `each` inside as a `for`, so that the rounds of the outer loop can"
	}
	r, body, ok := c.fn.independent(st)
	if !ok {
		return "", ""
	}
	s := c.newStripper(st.Domain[0].Slot)
	if !s.prepare(body) {
		return "", ""
	}
	if want, why := r.demands(s, body); want == nil {
		return why, "rounds run hundreds at a time where it is known beforehand that none fails: with indices that are a loop index and a constant, and divisors that are constants"
	}
	return "", ""
}
