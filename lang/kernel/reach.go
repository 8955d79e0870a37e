package kernel

// Reach: between which places of an axis an index stays, in terms of the size of that
// axis, halves and other fractions of it included.

import "math/big"

// line is a·n + b, where n is the size of the axis.
type line struct{ a, b *big.Rat }

// fewest is how many elements an axis is taken to have at least: of one or two of them
// half is all, or nothing.
var fewest = big.NewRat(4, 1)

func constantLine(c int64) line { return line{new(big.Rat), new(big.Rat).SetInt64(c)} }

func (l line) plus(m line) line {
	return line{new(big.Rat).Add(l.a, m.a), new(big.Rat).Add(l.b, m.b)}
}

func (l line) times(k *big.Rat) line {
	return line{new(big.Rat).Mul(l.a, k), new(big.Rat).Mul(l.b, k)}
}

func (l line) neg() line { return l.times(big.NewRat(-1, 1)) }

// positive reports whether l is above 0 for every size from fewest on.
func (l line) positive() bool {
	at := new(big.Rat).Mul(l.a, fewest)
	return l.a.Sign() >= 0 && at.Add(at, l.b).Sign() > 0
}

// constant returns the value of a line without n.
func (l line) constant() (int64, bool) {
	return l.b.Num().Int64(), l.a.Sign() == 0 && l.b.IsInt() && l.b.Num().IsInt64()
}

// place is where an index is: k times the index of one loop, and from low to high more.
type place struct {
	low, high line
	slot      int // of the loop; -1: none
	k         int64
}

func fixed(low, high line) place { return place{low, high, -1, 0} }

// exact reports whether there is nothing between low and high.
func (p *place) exact() bool {
	return p.low.a.Cmp(p.high.a) == 0 && p.low.b.Cmp(p.high.b) == 0
}

// reach finds places on one axis.
type reach struct {
	z     *linearizer
	size  atom
	known map[*Expr]*place // names that stand for twice the one before: each is looked at once
}

func (a *analysis) reach(op, axis int) *reach {
	return &reach{a.z, atom{slot: -1, operand: op, field: FieldDim0 + Field(axis)}, map[*Expr]*place{}}
}

// of returns where e is; nil if other sizes, scalars or elements are part of it, or
// several loops.
func (r *reach) of(e *Expr) *place { return r.bounded(e, 64) }

func (r *reach) bounded(e *Expr, depth int) *place {
	if e == nil || e.Type != I64 || depth == 0 {
		return nil
	}
	p, seen := r.known[e]
	if !seen {
		p = r.find(e, depth-1)
		r.known[e] = p
	}
	return p
}

func (r *reach) find(e *Expr, depth int) *place {
	var x, y *place
	switch e.Op {
	case OpAdd, OpSub, OpMul, OpFloorDiv:
		if y = r.bounded(e.X[1], depth); y == nil {
			return nil
		}
		fallthrough
	case OpNeg:
		if x = r.bounded(e.X[0], depth); x == nil {
			return nil
		}
	}
	switch e.Op {
	case OpConst:
		if e.Int < maxCoefficient && e.Int > -maxCoefficient {
			p := fixed(constantLine(e.Int), constantLine(e.Int))
			return &p
		}
	case OpField:
		if e.Operand == r.size.operand && e.Field == r.size.field {
			n := line{big.NewRat(1, 1), new(big.Rat)}
			p := fixed(n, n)
			return &p
		}
	case OpSlot:
		if v := r.z.lets[e.Slot]; v != nil {
			return r.bounded(v, depth)
		}
		if !r.z.fn.Slots[e.Slot].Assigned {
			return &place{constantLine(0), constantLine(0), e.Slot, 1}
		}
	case OpNeg:
		return x.times(-1)
	case OpAdd:
		return x.plus(y)
	case OpSub:
		return x.plus(y.times(-1))
	case OpMul:
		if k, ok := x.constant(); ok {
			return y.times(k)
		}
		if k, ok := y.constant(); ok {
			return x.times(k)
		}
	case OpFloorDiv:
		// between (x - (k - 1)) / k and x / k
		if k, ok := y.constant(); ok && k > 0 && x.slot < 0 {
			part := big.NewRat(1, k)
			p := fixed(x.low.plus(constantLine(1-k)).times(part), x.high.times(part))
			if c, ok := x.constant(); ok {
				q := c / k
				if c%k < 0 {
					q--
				}
				p = fixed(constantLine(q), constantLine(q))
			}
			return &p
		}
	}
	return nil
}

// constant returns the value of p if it has one, as long as products of them fit.
func (p *place) constant() (int64, bool) {
	c, ok := p.low.constant()
	return c, ok && p.slot < 0 && p.exact() && c < 1<<20 && c > -(1<<20)
}

func (p *place) times(k int64) *place {
	f := new(big.Rat).SetInt64(k)
	q := &place{p.low.times(f), p.high.times(f), p.slot, p.k * k}
	if k < 0 {
		q.low, q.high = q.high, q.low
	}
	if q.k == 0 {
		q.slot = -1
	}
	if q.k > maxCoefficient || q.k < -maxCoefficient {
		return nil
	}
	return q
}

func (p *place) plus(o *place) *place {
	if p == nil || o == nil || p.slot >= 0 && o.slot >= 0 && p.slot != o.slot {
		return nil
	}
	q := &place{p.low.plus(o.low), p.high.plus(o.high), max(p.slot, o.slot), p.k + o.k}
	if q.k == 0 {
		q.slot = -1
	}
	return q
}
