package analysis

// Linear forms of int expressions.

import (
	"fmt"
	"sort"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// atom is an unknown of a linear form: the index of a loop, or a field of an operand.
type atom struct {
	slot    int // -1 for fields
	operand int
	field   ir.Field
}

// sum is Σ coefficient·term + c.
type sum[T comparable] struct {
	terms map[T]int64
	c     int64
}

// linear is a linear form over the unknowns of a body.
type linear = sum[atom]

// maxCoefficient bounds the numbers of linear forms, so that nothing overflows.
const maxCoefficient = 1 << 40

// linearizer turns expressions into linear forms.
type linearizer struct {
	fn    *ir.Func
	lets  map[int]*ir.Expr        // values of locals that are assigned once
	known map[*ir.Expr]formResult // results, so that locals that are twice the previous one take linear time
}

// formResult is a result of form.
type formResult struct {
	linear
	ok bool
}

// newLinearizer returns the linearizer of fn.
func newLinearizer(fn *ir.Func) *linearizer {
	z := &linearizer{fn: fn, lets: map[int]*ir.Expr{}, known: map[*ir.Expr]formResult{}}
	ir.WalkStmts(fn.Body, func(s *ir.Stmt) {
		if s.Kind == ir.SetStmt && s.Declare && !fn.Slots[s.Slot].Assigned {
			z.lets[s.Slot] = s.Value
		}
	})
	return z
}

// form returns the linear form of e, if it has one.
func (z *linearizer) form(e *ir.Expr) (linear, bool) { return z.formDepth(e, 64) }

func (z *linearizer) formDepth(e *ir.Expr, depth int) (linear, bool) {
	if e == nil || e.Type != ir.I64 || depth == 0 {
		return linear{}, false
	}
	if a, seen := z.known[e]; seen {
		return a.linear, a.ok
	}
	a, ok := z.linear(e, depth)
	z.known[e] = formResult{a, ok}
	return a, ok
}

func (z *linearizer) linear(e *ir.Expr, depth int) (linear, bool) {
	sub := func(k int) (linear, bool) { return z.formDepth(e.X[k], depth-1) }
	switch e.Op {
	case ir.OpConst:
		return linear{c: e.Int}, e.Int < maxCoefficient && e.Int > -maxCoefficient
	case ir.OpField:
		return linear{terms: map[atom]int64{{slot: -1, operand: e.Operand, field: e.Field}: 1}}, true
	case ir.OpSlot:
		if v := z.lets[e.Slot]; v != nil {
			return z.formDepth(v, depth-1)
		}
		if z.fn.Slots[e.Slot].Assigned {
			return linear{}, false
		}
		return linear{terms: map[atom]int64{{slot: e.Slot}: 1}}, true
	case ir.OpNeg:
		a, ok := sub(0)
		return a.times(-1), ok
	case ir.OpAdd, ir.OpSub:
		a, ok := sub(0)
		b, ok2 := sub(1)
		if e.Op == ir.OpSub {
			b = b.times(-1)
		}
		s := a.plus(b)
		return s, ok && ok2 && s.small()
	case ir.OpMul:
		a, ok := sub(0)
		b, ok2 := sub(1)
		if !ok || !ok2 {
			return linear{}, false
		}
		if len(a.terms) > 0 {
			a, b = b, a
		}
		if len(a.terms) > 0 || a.c > 1<<20 || a.c < -(1<<20) {
			return linear{}, false
		}
		p := b.times(a.c)
		return p, p.small()
	}
	return linear{}, false
}

// small reports whether all numbers of a are below maxCoefficient.
func (a sum[T]) small() bool {
	ok := a.c < maxCoefficient && a.c > -maxCoefficient
	for _, k := range a.terms {
		ok = ok && k < maxCoefficient && k > -maxCoefficient
	}
	return ok
}

func (a sum[T]) times(k int64) sum[T] {
	out := sum[T]{c: a.c * k}
	if k != 0 && len(a.terms) > 0 {
		out.terms = make(map[T]int64, len(a.terms))
		for t, v := range a.terms {
			out.terms[t] = v * k
		}
	}
	return out
}

func (a sum[T]) plus(b sum[T]) sum[T] {
	out := sum[T]{c: a.c + b.c, terms: make(map[T]int64, len(a.terms)+len(b.terms))}
	for t, v := range a.terms {
		out.terms[t] = v
	}
	for t, v := range b.terms {
		if v += out.terms[t]; v != 0 {
			out.terms[t] = v
		} else {
			delete(out.terms, t)
		}
	}
	return out
}

func (a sum[T]) minus(b sum[T]) sum[T] { return a.plus(b.times(-1)) }

// constant returns the value of a sum without terms.
func (a sum[T]) constant() (int64, bool) { return a.c, len(a.terms) == 0 }

// isSize reports whether a is the size of one axis and a constant.
func isSize(a linear) bool {
	for t, k := range a.terms {
		return len(a.terms) == 1 && k == 1 && t.slot < 0 && t.field <= ir.FieldDim7
	}
	return false
}

// withoutSlot returns a without the term of a slot, and the coefficient of that.
func withoutSlot(a linear, slot int) (rest linear, coefficient int64) {
	at := atom{slot: slot}
	return a.minus(linear{terms: map[atom]int64{at: a.terms[at]}}), a.terms[at]
}

// slotsOf returns the slots in a.
func slotsOf(a linear) []int {
	var out []int
	for t := range a.terms {
		if t.slot >= 0 {
			out = append(out, t.slot)
		}
	}
	sort.Ints(out)
	return out
}

// lines returns the number of rows or columns of a sparse matrix in the language, if operand k is
// where they begin, and so has one element more: "A.rows".
func (z *linearizer) lines(k int) (name string, ok bool) {
	whole, ptr := strings.CutSuffix(z.fn.Operands[k].Name, ".ptr")
	if !ptr || k+2 >= len(z.fn.Operands) {
		return "", false
	}
	switch index, val := &z.fn.Operands[k+1], &z.fn.Operands[k+2]; {
	case val.Name != whole+".val":
		return "", false
	case val.Kind == iface.Block:
		return fmt.Sprintf("%[1]s.rows // %[1]s.r", whole), true
	case index.Name == whole+".row":
		return whole + ".cols", true
	}
	return whole + ".rows", true
}

// text returns a in the language: "x.n - 1".
func (z *linearizer) text(a linear) string {
	type term struct {
		name string
		k    int64
	}
	var terms []term
	for t, k := range a.terms {
		name := ""
		if t.slot >= 0 {
			name = z.fn.Slots[t.slot].Name
		} else {
			o := z.fn.Operands[t.operand]
			name = o.Name + "." + ir.FieldName(o.Kind, t.field)
			if lines, ok := z.lines(t.operand); ok && k == 1 && t.field == ir.FieldDim0 {
				name = lines
				a.c++
			}
		}
		terms = append(terms, term{name, k})
	}
	sort.Slice(terms, func(i, j int) bool {
		if (terms[i].k > 0) != (terms[j].k > 0) {
			return terms[i].k > 0
		}
		return terms[i].name < terms[j].name
	})
	s := ""
	add := func(k int64, name string) {
		sign := ""
		switch {
		case s != "" && k < 0:
			sign, k = " - ", -k
		case s != "":
			sign = " + "
		case k < 0:
			sign, k = "-", -k
		}
		switch {
		case name == "":
			s += fmt.Sprintf("%s%d", sign, k)
		case k == 1:
			s += sign + name
		default:
			s += fmt.Sprintf("%s%d * %s", sign, k, name)
		}
	}
	for _, t := range terms {
		add(t.k, t.name)
	}
	if a.c != 0 || s == "" {
		add(a.c, "")
	}
	return s
}

// dimension returns the size of axis k of an operand.
func dimension(operand, k int) linear {
	return linear{terms: map[atom]int64{{slot: -1, operand: operand, field: ir.FieldDim0 + ir.Field(k)}: 1}}
}

// bounds returns the first and the last value of the index of r, which are meaningful if r
// has a round.
func (z *linearizer) bounds(r *ir.Range) (first, last linear, ok bool) {
	lo, ok1 := z.form(r.Lo)
	hi, ok2 := z.form(r.Hi)
	if !r.Closed {
		hi.c--
	}
	return lo, hi, ok1 && ok2
}

// IndexOrigin returns the range of the first loop whose index e depends on, and the name of
// that index; zero values if there is none.
func IndexOrigin(fn *ir.Func, e *ir.Expr) (over diag.Span, index string) {
	lets := newLinearizer(fn).lets
	slot, seen := -1, map[int]bool{}
	var look func(*ir.Expr) bool
	look = func(e *ir.Expr) bool {
		if e.Op == ir.OpSlot && !seen[e.Slot] {
			seen[e.Slot] = true
			if fn.Slots[e.Slot].Kind == ir.IndexSlot && slot < 0 {
				slot = e.Slot
			}
			ir.WalkExpr(lets[e.Slot], look)
		}
		return slot < 0
	}
	ir.WalkExpr(e, look)
	if slot < 0 || fn.Source == nil {
		return over, ""
	}
	find := func(domain []ir.Range) {
		for _, r := range domain {
			if r.Slot == slot {
				over, index = fn.Source.Span(int(r.Pos.Lo), int(r.Pos.Hi)), fn.Slots[slot].Name
			}
		}
	}
	ir.WalkStmts(fn.Body, func(s *ir.Stmt) {
		find(s.Domain)
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(e *ir.Expr) bool {
				find(e.Domain)
				return true
			})
		})
	})
	return over, index
}
