package analysis

// W operands with rows, columns or elements that no store of the body reaches (W0606).

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

// storeInLoops is a store, with the loops around it.
type storeInLoops struct {
	index []*ir.Expr
	loops map[int]*ir.Range // by slot
}

// gap is an end of an axis that no store reaches.
type gap struct {
	r    *ir.Range // of the loop that comes closest to the end
	skip int64     // the number of rows, columns or elements in the gap; 0: a share of the axis
	// The share for large sizes, and the source of the bound of the gap, "" if there is none.
	share *big.Rat
	upTo  string
}

// smaller reports whether g is a smaller gap than o.
func (g *gap) smaller(o *gap) bool {
	if g.skip > 0 && o.skip > 0 {
		return g.skip < o.skip
	}
	return g.skip > 0 || o.skip == 0 && g.share.Cmp(o.share) < 0
}

// checkUnwritten reports W operands that the body does not write completely.
func (a *analysis) checkUnwritten() {
	if len(a.fn.Body) == 0 || a.diags.Err() != nil { // what has an error may write the rest
		return
	}
	stores := make([][]storeInLoops, len(a.fn.Operands))
	a.collectStores(a.fn.Body, map[int]*ir.Range{}, stores)
	used := a.fn.UsedOperands()
	for op := range a.fn.Operands {
		o := &a.fn.Operands[op]
		if o.Mode != iface.W || o.Kind == iface.NoKind || o.Kind == iface.Void || o.Node == nil || a.outOfBounds[op] || a.fn.Sets(op) {
			continue
		}
		if len(stores[op]) == 0 {
			d := a.report("W0606", diag.Warning, o.Node.ModeAt, fmt.Sprintf("`%s` is declared W, but its body never writes it", o.Name))
			d.Label = "promises to write every element"
			if !slices.Contains(used, op) {
				d.Help = append(d.Help, fmt.Sprintf("write it, or remove it from the signature, and from each insert of `%s`", a.fn.Name))
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

// collectStores adds the stores of list to out, by operand.
func (a *analysis) collectStores(list []*ir.Stmt, loops map[int]*ir.Range, out [][]storeInLoops) {
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
			out[s.Operand] = append(out[s.Operand], storeInLoops{s.Index, loops})
		}
		a.collectStores(s.Body, inner, out)
		a.collectStores(s.Else, inner, out)
	}
}

// gapOf returns the gap at the start or the end of an axis, or nil if a store may reach it.
func (a *analysis) gapOf(op, axis int, stores []storeInLoops, end bool) *gap {
	var g *gap
	at := a.rangesOn(op, axis)
	for _, w := range stores {
		p := at.of(w.index[axis])
		if p == nil {
			return nil
		}
		if p.slot < 0 {
			// one element, such as 0 or x.n - 1: it reaches one end only, if the axis has
			// more than one element
			if missesEnd(p, end) {
				continue
			}
			return nil
		}
		r := w.loops[p.slot]
		if r == nil || p.k != 1 && p.k != -1 {
			return nil
		}
		// one bound of the range decides: the lower one for the start of the axis, unless
		// the index falls with that of the loop
		lo, hi := at.of(r.Lo), at.of(r.Hi)
		starts := (p.k > 0) != end
		if starts && !knownBound(lo) || !starts && !knownBound(hi) {
			return nil
		}
		var far line // the index at that bound of the range, times k
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
		if end { // the elements after it: n - 1 - index
			skip = line{big.NewRat(1, 1), big.NewRat(-1, 1)}.plus(p.high.plus(far).neg())
		}
		// a range that does not depend on the size may cover the axis but for a fixed number
		over := knownBound(lo) && knownBound(hi) && (lo.low.a.Sign() != 0 || hi.high.a.Sign() != 0)
		if !skip.positive() || !over && skip.a.Sign() != 0 {
			return nil
		}
		n := &gap{r: r, share: skip.a}
		if c, ok := skip.constant(); ok {
			n.skip = c
		} else if p.k == 1 && w.index[axis].Op == ir.OpSlot {
			n.upTo = a.skippedBound(r, end)
		}
		if g == nil || n.smaller(g) {
			g = n
		}
	}
	return g
}

// knownBound reports whether p, the bound of a range, depends on no loop.
func knownBound(p *indexRange) bool { return p != nil && p.slot < 0 }

// missesEnd reports whether an index that depends on no loop is never the first element of its
// axis or, with end, the last.
func missesEnd(p *indexRange, end bool) bool {
	back := p.high.plus(line{big.NewRat(-1, 1), big.NewRat(1, 1)}) // from the last element
	switch c, ok := p.constant(); {
	case ok:
		return end || c > 0
	case p.low.a.Sign() <= 0:
		return false // counted from an unknown element
	case end:
		return back.neg().positive()
	}
	return p.low.a.Cmp(big.NewRat(1, 1)) == 0 || p.low.positive()
}

// skippedBound returns the source of the bound of a range at a gap: the lower one at the start
// of the axis, the upper one at its end. It returns "" for the upper one of a closed range.
func (a *analysis) skippedBound(r *ir.Range, end bool) string {
	switch {
	case !end:
		return a.text(r.Lo.Pos)
	case r.Closed:
		return ""
	}
	return a.text(r.Hi.Pos)
}

// stripe is a regular pattern of unwritten elements: of every `of` elements, wrote are written.
type stripe struct {
	of    int64
	wrote int64
	at    syntax.Span // an index with that step
}

// stripeOf returns the pattern of stores that all have the same step along an axis and write
// fewer elements than it skips, or nil if they may reach all elements.
func (a *analysis) stripeOf(op, axis int, stores []storeInLoops) *stripe {
	var s *stripe
	at := a.rangesOn(op, axis)
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

// reportStripe reports a stripe.
func (a *analysis) reportStripe(op, axis int, s *stripe) {
	o := &a.fn.Operands[op]
	d := a.report("W0606", diag.Warning, o.Node.ModeAt,
		fmt.Sprintf("`%s` is declared W, but its body writes only %d of every %d %s", o.Name, s.wrote, s.of, ir.AxisNouns(o.Kind)[axis].Many))
	d.Label = "promises to write every element"
	d.Labels = append(d.Labels, diag.Label{Span: a.at(s.at), Text: fmt.Sprintf("goes in steps of %d", s.of)})
	d.Help = append(d.Help, fmt.Sprintf("write them too, or declare `%s: RW %s`", o.Name, a.typeText(o)))
	d.Edit(d.Span, "RW")
}

// reportGaps reports the gaps of an operand, by axis.
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
		fmt.Sprintf("`%s` is declared W, but its %s may stay unwritten", o.Name, joinWords(parts)))
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

// The ranges of indices, as multiples of the size of the axis and constants.

// line is a·n + b, where n is the size of the axis.
type line struct{ a, b *big.Rat }

// assumedMinSize is the size of the smallest axis that the analysis considers: half of one or
// two elements is all of them, or none.
var assumedMinSize = big.NewRat(4, 1)

func constantLine(c int64) line { return line{new(big.Rat), new(big.Rat).SetInt64(c)} }

func (l line) plus(m line) line {
	return line{new(big.Rat).Add(l.a, m.a), new(big.Rat).Add(l.b, m.b)}
}

func (l line) times(k *big.Rat) line {
	return line{new(big.Rat).Mul(l.a, k), new(big.Rat).Mul(l.b, k)}
}

func (l line) neg() line { return l.times(big.NewRat(-1, 1)) }

// positive reports whether l is positive for every size from assumedMinSize on.
func (l line) positive() bool {
	at := new(big.Rat).Mul(l.a, assumedMinSize)
	return l.a.Sign() >= 0 && at.Add(at, l.b).Sign() > 0
}

// constant returns the value of a line that does not depend on n.
func (l line) constant() (int64, bool) {
	return l.b.Num().Int64(), l.a.Sign() == 0 && l.b.IsInt() && l.b.Num().IsInt64()
}

// indexRange is a range of indices: k times the index of one loop, plus low to high.
type indexRange struct {
	low, high line
	slot      int // of the loop; -1: none
	k         int64
}

func loopFreeRange(low, high line) indexRange { return indexRange{low, high, -1, 0} }

// exact reports whether low and high are equal.
func (p *indexRange) exact() bool {
	return p.low.a.Cmp(p.high.a) == 0 && p.low.b.Cmp(p.high.b) == 0
}

// rangeFinder finds the ranges of indices on one axis.
type rangeFinder struct {
	z     *linearizer
	size  atom
	known map[*ir.Expr]*indexRange // results, so that locals that are twice the previous one take linear time
}

func (a *analysis) rangesOn(op, axis int) *rangeFinder {
	return &rangeFinder{a.forms, atom{slot: -1, operand: op, field: ir.FieldDim0 + ir.Field(axis)}, map[*ir.Expr]*indexRange{}}
}

// of returns the range of e, or nil if e depends on other sizes, scalars, elements, or several
// loops.
func (r *rangeFinder) of(e *ir.Expr) *indexRange { return r.ofDepth(e, 64) }

func (r *rangeFinder) ofDepth(e *ir.Expr, depth int) *indexRange {
	if e == nil || e.Type != ir.I64 || depth == 0 {
		return nil
	}
	p, seen := r.known[e]
	if !seen {
		p = r.compute(e, depth-1)
		r.known[e] = p
	}
	return p
}

func (r *rangeFinder) compute(e *ir.Expr, depth int) *indexRange {
	var x, y *indexRange
	switch e.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpFloorDiv:
		if y = r.ofDepth(e.X[1], depth); y == nil {
			return nil
		}
		fallthrough
	case ir.OpNeg:
		if x = r.ofDepth(e.X[0], depth); x == nil {
			return nil
		}
	}
	switch e.Op {
	case ir.OpConst:
		if e.Int < maxCoefficient && e.Int > -maxCoefficient {
			p := loopFreeRange(constantLine(e.Int), constantLine(e.Int))
			return &p
		}
	case ir.OpField:
		if e.Operand == r.size.operand && e.Field == r.size.field {
			n := line{big.NewRat(1, 1), new(big.Rat)}
			p := loopFreeRange(n, n)
			return &p
		}
	case ir.OpSlot:
		if v := r.z.lets[e.Slot]; v != nil {
			return r.ofDepth(v, depth)
		}
		if !r.z.fn.Slots[e.Slot].Assigned {
			return &indexRange{constantLine(0), constantLine(0), e.Slot, 1}
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
			p := loopFreeRange(x.low.plus(constantLine(1-k)).times(part), x.high.times(part))
			if c, ok := x.constant(); ok {
				q := c / k
				if c%k < 0 {
					q--
				}
				p = loopFreeRange(constantLine(q), constantLine(q))
			}
			return &p
		}
	}
	return nil
}

// constant returns the value of p if it is a constant whose products fit.
func (p *indexRange) constant() (int64, bool) {
	c, ok := p.low.constant()
	return c, ok && p.slot < 0 && p.exact() && c < 1<<20 && c > -(1<<20)
}

func (p *indexRange) times(k int64) *indexRange {
	f := new(big.Rat).SetInt64(k)
	q := &indexRange{p.low.times(f), p.high.times(f), p.slot, p.k * k}
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

func (p *indexRange) plus(o *indexRange) *indexRange {
	if p == nil || o == nil || p.slot >= 0 && o.slot >= 0 && p.slot != o.slot {
		return nil
	}
	q := &indexRange{p.low.plus(o.low), p.high.plus(o.high), max(p.slot, o.slot), p.k + o.k}
	if q.k == 0 {
		q.slot = -1
	}
	return q
}
