package kernel

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
	"github.com/starpush/starpush/lang/syntax"
)

// written is one store, with the loops around it.
type written struct {
	index []*Expr
	loops map[int]*Range // by slot
}

// gap is an end of an axis that no store reaches.
type gap struct {
	r    *Range // the range that stops short of it, the one that comes closest
	skip int64  // how many rows, columns or elements it leaves; 0: a share of them
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
	a.stores(a.fn.Body, map[int]*Range{}, stores)
	used := a.fn.used()
	for op := range a.fn.Operands {
		o := &a.fn.Operands[op]
		if o.Mode != iface.W || o.Kind == iface.NoKind || o.Kind == iface.Void || o.Node == nil || a.wrong[op] {
			continue
		}
		if len(stores[op]) == 0 {
			if a.l.diags.Err() != nil {
				continue // the statement that writes it may be the wrong one
			}
			d := a.l.report("W0606", diag.Warning, o.Node.ModeAt, fmt.Sprintf("`%s` is declared W, but its body never writes it", o.Name))
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

func (a *analysis) typeText(o *Operand) string {
	if o.Node.Type == nil {
		return o.Kind.String()
	}
	return a.text(o.Node.Type.Span)
}

// stores collects every store with the loops around it.
func (a *analysis) stores(list []*Stmt, loops map[int]*Range, out [][]written) {
	for _, s := range list {
		inner := loops
		if len(s.Domain) > 0 {
			inner = make(map[int]*Range, len(loops)+len(s.Domain))
			for k, v := range loops {
				inner[k] = v
			}
			for k := range s.Domain {
				inner[s.Domain[k].Slot] = &s.Domain[k]
			}
		}
		if s.Kind == StoreStmt {
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
		} else if p.k == 1 && w.index[axis].Op == OpSlot {
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
func (a *analysis) rangeEnd(r *Range, end bool) string {
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
	d := a.l.report("W0606", diag.Warning, o.Node.ModeAt,
		fmt.Sprintf("`%s` is declared W, but its body writes only %d of every %d %s", o.Name, s.wrote, s.of, axisWords[o.Kind][axis][1]))
	d.Label = "promises to write every element"
	d.Labels = append(d.Labels, diag.Label{Span: a.at(s.at), Text: fmt.Sprintf("goes in steps of %d", s.of)})
	d.Help = append(d.Help, fmt.Sprintf("write them too, or declare `%s: RW %s`", o.Name, a.typeText(o)))
	d.Edit(d.Span, "RW")
}

var axisWords = map[iface.Kind][][2]string{
	iface.Vector: {{"element", "elements"}},
	iface.Matrix: {{"row", "rows"}, {"column", "columns"}},
	iface.Block:  {{"x plane", "x planes"}, {"y plane", "y planes"}, {"z plane", "z planes"}},
}

// listed joins words: "a", "a and b", "a, b and c".
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// reportGaps writes the warning about all gaps of an operand.
func (a *analysis) reportGaps(op int, first, last []*gap) {
	o := &a.fn.Operands[op]
	words := axisWords[o.Kind]
	phrase := func(f, l *gap, word [2]string) string {
		switch {
		case f != nil && l != nil:
			return "first and last " + word[1]
		case f != nil && f.skip == 1:
			return "first " + word[0]
		case f != nil:
			return "first " + word[1]
		case l != nil && l.skip == 1:
			return "last " + word[0]
		case l != nil:
			return "last " + word[1]
		}
		return ""
	}
	var parts []string
	for axis := range first {
		if p := phrase(first[axis], last[axis], words[axis]); p != "" {
			if len(parts) > 0 && strings.HasPrefix(p, "first and last ") && strings.HasPrefix(parts[0], "first and last ") {
				p = words[axis][1]
			}
			parts = append(parts, p)
		}
	}
	d := a.l.report("W0606", diag.Warning, o.Node.ModeAt,
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
		word := words[axis][0]
		if many {
			word = words[axis][1]
		}
		switch {
		case f != nil && l != nil && f.r.Pos == l.r.Pos:
			d.Labels = append(d.Labels, diag.Label{Span: a.at(f.r.Pos), Text: fmt.Sprintf("skips %s %s and %s", words[axis][1], head, tail)})
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
