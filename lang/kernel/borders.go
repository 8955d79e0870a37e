package kernel

// Borders: W operands of which the body is certain to leave rows, columns or
// elements unwritten (W0606).

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
)

// written is one store, with the loops around it.
type written struct {
	index []*Expr
	loops map[int]*Range // by slot
}

// gap is an end of an axis that no store reaches.
type gap struct {
	r    *Range // the range that stops short of it, the one that comes closest
	skip int64  // how many rows, columns or elements it leaves
}

// borders checks every W operand.
func (a *analysis) borders() {
	if len(a.fn.Body) == 0 {
		return
	}
	stores := make([][]written, len(a.fn.Operands))
	a.stores(a.fn.Body, map[int]*Range{}, stores)
	for op := range a.fn.Operands {
		o := &a.fn.Operands[op]
		if o.Mode != iface.W || o.Kind == iface.NoKind || o.Kind == iface.Void || o.Node == nil {
			continue
		}
		if len(stores[op]) == 0 {
			if a.l.diags.Err() != nil {
				continue // the statement that writes it may be the wrong one
			}
			d := a.l.report("W0606", diag.Warning, o.Node.ModeAt, fmt.Sprintf("`%s` is declared W, but its body never writes it", o.Name))
			d.Label = "promises to write every element"
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
	size := a.dim(op, axis)
	for _, w := range stores {
		f, ok := a.z.form(w.index[axis])
		if !ok {
			return nil
		}
		slots := f.slots()
		if len(slots) == 0 {
			// a fixed place: 0, x.n - 1, … reaches one end only, as long as
			// the axis has more than one element
			v, isConst := f.constant()
			back, isBack := f.minus(size).constant()
			switch {
			case isConst && !end && v > 0, isConst && end, isBack && end && back < -1, isBack && !end:
				continue
			}
			return nil
		}
		if len(slots) != 1 || w.loops[slots[0]] == nil {
			return nil
		}
		r := w.loops[slots[0]]
		lo, hi, ok := a.z.bounds(r)
		rest, c := f.without(r.Slot)
		if !ok || c != 1 {
			return nil
		}
		lo, hi = lo.plus(rest), hi.plus(rest)
		from, isFrom := lo.constant()
		to, isTo := hi.minus(size).constant()
		if !isFrom || !isTo {
			return nil // not a range over this axis: it may be all of it
		}
		skip := from
		if end {
			skip = -1 - to
		}
		if skip <= 0 {
			return nil
		}
		if g == nil || skip < g.skip {
			g = &gap{r, skip}
		}
	}
	return g
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
		many := false
		if f != nil {
			head, many = "0", f.skip > 1
			if f.skip > 1 {
				head = fmt.Sprintf("0 to %d", f.skip-1)
			}
		}
		if l != nil {
			tail, many = size+" - 1", many || l.skip > 1
			if l.skip > 1 {
				tail = fmt.Sprintf("%s - %d to %s - 1", size, l.skip, size)
			}
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
