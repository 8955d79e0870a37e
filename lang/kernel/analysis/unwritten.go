package analysis

// Borders: W operands of which the body is certain to leave rows, columns or
// elements unwritten (W0606).

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// written is one store, with the loops around it.
type written struct {
	index []*ir.Expr
	loops map[int]*ir.Range // by slot
}

// gap is an end of an axis that no store reaches.
type gap struct {
	r    *ir.Range // the range that stops short of it, the one that comes closest
	skip int64     // how many rows, columns or elements it leaves; 0: a share of them
	// of a share: how large it is for large sizes, and where it begins or ends, "" if that
	// is not in the source
	share *big.Rat
	upTo  string
}

// smaller reports whether g leaves less than o.
func (g *gap) smaller(o *gap) bool {
	if g.skip > 0 && o.skip > 0 {
		return g.skip < o.skip
	}
	return g.skip > 0 || o.skip == 0 && g.share.Cmp(o.share) < 0
}

// borders checks every W operand.
func (a *analysis) borders() {
	if len(a.fn.Body) == 0 {
		return
	}
	stores := make([][]written, len(a.fn.Operands))
	a.stores(a.fn.Body, map[int]*ir.Range{}, stores)
	used := a.fn.UsedOperands()
	for op := range a.fn.Operands {
		o := &a.fn.Operands[op]
		if o.Mode != iface.W || o.Kind == iface.NoKind || o.Kind == iface.Void || o.Node == nil || a.wrong[op] {
			continue
		}
		if len(stores[op]) == 0 {
			if a.diags.Err() != nil {
				continue // the statement that writes it may be the wrong one
			}
			d := a.report("W0606", diag.Warning, o.Node.ModeAt, fmt.Sprintf("`%s` is declared W, but its body never writes it", o.Name))
			d.Label = "promises to write every element"
			if !slices.Contains(used, op) {
				d.Help = append(d.Help, fmt.Sprintf("write it, or take it out of the signature, and out of each insert of `%s`", a.fn.Name))
				continue
			}
			d.Help = append(d.Help, fmt.Sprintf("write it, or declare `%s: R %s`", o.Name, a.typeText(o)))
			d.Edit(d.Span, "R")
			continue
		}
		var first, last [iface.MaxRank]*gap
		any := false
		for axis := range o.Kind.Rank() {
			first[axis] = a.gapOf(op, axis, stores[op], false)
			last[axis] = a.gapOf(op, axis, stores[op], true)
			any = any || first[axis] != nil || last[axis] != nil
		}
		if any {
			a.reportGaps(op, first[:o.Kind.Rank()], last[:o.Kind.Rank()])
			continue
		}
		for axis := range o.Kind.Rank() {
			if s := a.stripeOf(op, axis, stores[op]); s != nil {
				a.reportStripe(op, axis, s)
				break
			}
		}
	}
}

// stores collects every store with the loops around it.
func (a *analysis) stores(list []*ir.Stmt, loops map[int]*ir.Range, out [][]written) {
	for _, s := range list {
		inner := loops
		if len(s.Domain) > 0 {
			inner = make(map[int]*ir.Range, len(loops)+len(s.Domain))
			for k, v := range loops {
				inner[k] = v
			}
			for k := range s.Domain {
				inner[s.Domain[k].Slot] = &s.Domain[k]
			}
		}
		if s.Kind == ir.StoreStmt {
			out[s.Operand] = append(out[s.Operand], written{s.Index, loops})
		}
		a.stores(s.Body, inner, out)
		a.stores(s.Else, inner, out)
	}
}

// gapOf returns the gap at one end of an axis, nil if a store may reach it.
func (a *analysis) gapOf(op, axis int, stores []written, end bool) *gap {
	var g *gap
	at := a.reach(op, axis)
	for _, w := range stores {
		p := at.of(w.index[axis])
		if p == nil {
			return nil
		}
		if p.slot < 0 {
			// a fixed place: 0, x.n - 1, … reaches one end only, as long as
			// the axis has more than one element
			if misses(p, end) {
				continue
			}
			return nil
		}
		r := w.loops[p.slot]
		if r == nil || p.k != 1 && p.k != -1 {
			return nil
		}
		// one end of the range decides: the first index reaches the first element, unless
		// the range is gone through from its end
		lo, hi := at.of(r.Lo), at.of(r.Hi)
		starts := (p.k > 0) != end
		if starts && !bound(lo) || !starts && !bound(hi) {
			return nil
		}
		var far line // the index at that end of the range, times k
		switch {
		case starts:
			far = lo.low
		case r.Closed:
			far = hi.high
		default:
			far = hi.high.plus(constantLine(-1))
		}
		if p.k < 0 {
			far = far.neg()
		}
		skip := p.low.plus(far)
		if end { // what lies behind: n - 1 - to
			skip = line{big.NewRat(1, 1), big.NewRat(-1, 1)}.plus(p.high.plus(far).neg())
		}
		// a range that is not over this axis may be all of it, but for a fixed number
		over := bound(lo) && bound(hi) && (lo.low.a.Sign() != 0 || hi.high.a.Sign() != 0)
		if !skip.positive() || !over && skip.a.Sign() != 0 {
			return nil
		}
		n := &gap{r: r, share: skip.a}
		if c, ok := skip.constant(); ok {
			n.skip = c
		} else if p.k == 1 && w.index[axis].Op == ir.OpSlot {
			n.upTo = a.rangeEnd(r, end)
		}
		if g == nil || n.smaller(g) {
			g = n
		}
	}
	return g
}

// bound reports whether p, the bound of a range, is known but for the size of the axis.
func bound(p *place) bool { return p != nil && p.slot < 0 }

// misses reports whether a fixed place is not that end of its axis.
func misses(p *place, end bool) bool {
	back := p.high.plus(line{big.NewRat(-1, 1), big.NewRat(1, 1)}) // from the last element
	switch c, ok := p.constant(); {
	case ok:
		return end || c > 0
	case p.low.a.Sign() <= 0:
		return false // counted from somewhere else
	case end:
		return back.neg().positive()
	}
	return p.low.a.Cmp(big.NewRat(1, 1)) == 0 || p.low.positive()
}

// rangeEnd is the source of the bound of a range at which it leaves elements, "" if the
// first or last value is another one.
func (a *analysis) rangeEnd(r *ir.Range, end bool) string {
	switch {
	case !end:
		return a.text(r.Lo.Pos)
	case r.Closed:
		return ""
	}
	return a.text(r.Hi.Pos)
}

// stripe is how the elements of an axis are stepped over.
type stripe struct {
	of    int64 // of so many that follow each other,
	wrote int64 // so many are written
	at    syntax.Span
}

// stripeOf returns how stores step over elements of an axis: all of them go by the same
// step, and fewer places than it has are written. nil if they may reach all.
func (a *analysis) stripeOf(op, axis int, stores []written) *stripe {
	var s *stripe
	at := a.reach(op, axis)
	places := map[string]bool{}
	for _, w := range stores {
		p := at.of(w.index[axis])
		switch {
		case p == nil:
			return nil
		case p.slot < 0:
			continue // one element
		}
		k := max(p.k, -p.k)
		if k < 2 || w.loops[p.slot] == nil || !p.exact() || s != nil && s.of != k {
			return nil
		}
		if s == nil {
			s = &stripe{of: k, at: w.index[axis].Pos}
		}
		key := p.low.a.String() + " " + p.low.b.String()
		if c, ok := p.low.constant(); ok {
			key = strconv.FormatInt((c%k+k)%k, 10)
		}
		places[key] = true
	}
	if s != nil {
		if s.wrote = int64(len(places)); s.wrote >= s.of {
			return nil
		}
	}
	return s
}

// reportStripe writes the warning about a step over elements.
func (a *analysis) reportStripe(op, axis int, s *stripe) {
	o := &a.fn.Operands[op]
	d := a.report("W0606", diag.Warning, o.Node.ModeAt,
		fmt.Sprintf("`%s` is declared W, but its body writes only %d of every %d %s", o.Name, s.wrote, s.of, ir.AxisNouns(o.Kind)[axis].Many))
	d.Label = "promises to write every element"
	d.Labels = append(d.Labels, diag.Label{Span: a.at(s.at), Text: fmt.Sprintf("goes in steps of %d", s.of)})
	d.Help = append(d.Help, fmt.Sprintf("write them too, or declare `%s: RW %s`", o.Name, a.typeText(o)))
	d.Edit(d.Span, "RW")
}

// reportGaps writes the warning about all gaps of an operand.
func (a *analysis) reportGaps(op int, first, last []*gap) {
	o := &a.fn.Operands[op]
	words := ir.AxisNouns(o.Kind)
	phrase := func(f, l *gap, word ir.Noun) string {
		switch {
		case f != nil && l != nil:
			return "first and last " + word.Many
		case f != nil && f.skip == 1:
			return "first " + word.One
		case f != nil:
			return "first " + word.Many
		case l != nil && l.skip == 1:
			return "last " + word.One
		case l != nil:
			return "last " + word.Many
		}
		return ""
	}
	var parts []string
	for axis := range first {
		if p := phrase(first[axis], last[axis], words[axis]); p != "" {
			if len(parts) > 0 && strings.HasPrefix(p, "first and last ") && strings.HasPrefix(parts[0], "first and last ") {
				p = words[axis].Many
			}
			parts = append(parts, p)
		}
	}
	d := a.report("W0606", diag.Warning, o.Node.ModeAt,
		fmt.Sprintf("`%s` is declared W, but its %s may stay unwritten", o.Name, listed(parts)))
	d.Label = "promises to write every element"
	for axis := range first {
		f, l := first[axis], last[axis]
		size := a.axisName(op, axis)
		head, tail := "", ""
		many := f != nil && f.skip != 1 || l != nil && l.skip != 1
		switch {
		case f == nil:
		case f.skip == 1:
			head = "0"
		case f.skip > 1:
			head = fmt.Sprintf("0 to %d", f.skip-1)
		case f.upTo != "":
			head = fmt.Sprintf("0 to %s - 1", f.upTo)
		default:
			head = "at the start"
		}
		switch {
		case l == nil:
		case l.skip == 1:
			tail = size + " - 1"
		case l.skip > 1:
			tail = fmt.Sprintf("%s - %d to %s - 1", size, l.skip, size)
		case l.upTo != "":
			tail = fmt.Sprintf("%s to %s - 1", l.upTo, size)
		default:
			tail = "at the end"
		}
		word := words[axis].One
		if many {
			word = words[axis].Many
		}
		switch {
		case f != nil && l != nil && f.r.Pos == l.r.Pos:
			d.Labels = append(d.Labels, diag.Label{Span: a.at(f.r.Pos), Text: fmt.Sprintf("skips %s %s and %s", words[axis].Many, head, tail)})
		default:
			if f != nil {
				d.Labels = append(d.Labels, diag.Label{Span: a.at(f.r.Pos), Text: fmt.Sprintf("skips %s %s", word, head)})
			}
			if l != nil {
				d.Labels = append(d.Labels, diag.Label{Span: a.at(l.r.Pos), Text: fmt.Sprintf("skips %s %s", word, tail)})
			}
		}
	}
	d.Help = append(d.Help, fmt.Sprintf("write them too, or declare `%s: RW %s`", o.Name, a.typeText(o)))
	d.Edit(d.Span, "RW")
}

// Reach: between which places of an axis an index stays, in terms of the size of that
// axis, halves and other fractions of it included.

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
	known map[*ir.Expr]*place // names that stand for twice the one before: each is looked at once
}

func (a *analysis) reach(op, axis int) *reach {
	return &reach{a.z, atom{slot: -1, operand: op, field: ir.FieldDim0 + ir.Field(axis)}, map[*ir.Expr]*place{}}
}

// of returns where e is; nil if other sizes, scalars or elements are part of it, or
// several loops.
func (r *reach) of(e *ir.Expr) *place { return r.bounded(e, 64) }

func (r *reach) bounded(e *ir.Expr, depth int) *place {
	if e == nil || e.Type != ir.I64 || depth == 0 {
		return nil
	}
	p, seen := r.known[e]
	if !seen {
		p = r.find(e, depth-1)
		r.known[e] = p
	}
	return p
}

func (r *reach) find(e *ir.Expr, depth int) *place {
	var x, y *place
	switch e.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpFloorDiv:
		if y = r.bounded(e.X[1], depth); y == nil {
			return nil
		}
		fallthrough
	case ir.OpNeg:
		if x = r.bounded(e.X[0], depth); x == nil {
			return nil
		}
	}
	switch e.Op {
	case ir.OpConst:
		if e.Int < maxCoefficient && e.Int > -maxCoefficient {
			p := fixed(constantLine(e.Int), constantLine(e.Int))
			return &p
		}
	case ir.OpField:
		if e.Operand == r.size.operand && e.Field == r.size.field {
			n := line{big.NewRat(1, 1), new(big.Rat)}
			p := fixed(n, n)
			return &p
		}
	case ir.OpSlot:
		if v := r.z.lets[e.Slot]; v != nil {
			return r.bounded(v, depth)
		}
		if !r.z.fn.Slots[e.Slot].Assigned {
			return &place{constantLine(0), constantLine(0), e.Slot, 1}
		}
	case ir.OpNeg:
		return x.times(-1)
	case ir.OpAdd:
		return x.plus(y)
	case ir.OpSub:
		return x.plus(y.times(-1))
	case ir.OpMul:
		if k, ok := x.constant(); ok {
			return y.times(k)
		}
		if k, ok := y.constant(); ok {
			return x.times(k)
		}
	case ir.OpFloorDiv:
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
