package lower

// Lowering of indices, fields, ranges and folds.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// element resolves x[…] to an element of an operand or of an array, an expression that loads it,
// or nil after an error. store reports whether its value is not read.
func (l *lowerer) element(x *syntax.Index, store bool) *ir.Expr {
	idx, ok := make([]*ir.Expr, len(x.Args)), true
	if l.arrayWithoutLength(x) || l.nestedIndex(x) {
		return nil
	}
	for k, a := range x.Args {
		idx[k] = l.integer(a, "an index")
		ok = ok && idx[k].Op != ir.OpBad
	}
	en := l.member(x.X)
	if en == nil {
		id, isName := syntax.Unparen(x.X).(*syntax.Ident)
		if !isName {
			l.suggestField(x, l.err("E0705", x.X, "only operands and arrays have elements in a codelet body"))
			return nil
		}
		if en = l.lookup(id); en == nil {
			return nil
		}
		if l.check {
			id.SetType(types.TInvalid)
			if en.typ != nil {
				id.SetType(en.typ)
			}
		}
	}
	en.used = en.used || en.kind != arrayEntry || !store
	if l.inlined != nil && en.slot >= 0 && l.fn.Slots[en.slot].Type == ir.Open { // a list, which was reported
		return nil
	}
	if en.kind == arrayEntry {
		if at := l.arrayElement(x, en, idx); ok {
			return at
		}
		return nil
	}
	if en.kind == sparseEntry {
		l.reportSparse(x, en)
		return nil
	}
	if en.kind != operandEntry {
		d := l.err("E0705", x, fmt.Sprintf("`%s` is one value and has no elements", en.name))
		d.Help = append(d.Help, fmt.Sprintf("write `%s`", en.name))
		return nil
	}
	o := &l.fn.Operands[en.operand]
	switch want := o.Kind.Rank(); {
	case o.Kind == iface.NoKind:
		return nil
	case o.Kind == iface.Void:
		l.err("E0705", x, fmt.Sprintf("`%s` is void and has no elements", en.name))
		return nil
	case want == 0:
		d := l.err("E0705", x, fmt.Sprintf("`%s` is a variable and has no index in a codelet body", en.name))
		d.Help = append(d.Help, fmt.Sprintf("write `%s`", en.name))
		return nil
	case len(idx) != want:
		d := l.err("E0705", x, fmt.Sprintf("`%s` is a %v and takes %s, not %d", en.name, o.Kind, ir.Counted(want, "index", "indices"), len(idx)))
		d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`", en.name, ir.IndexNames(o.Kind)))
		return nil
	}
	if !ok {
		return nil
	}
	return &ir.Expr{Op: ir.OpLoad, Type: o.Elem, Operand: en.operand, X: idx, Pos: x.Span}
}

func (l *lowerer) index(x *syntax.Index) *ir.Expr {
	if e := l.element(x, false); e != nil {
		return l.loaded(e)
	}
	return l.invalid(x)
}

func (l *lowerer) selector(x *syntax.Selector) *ir.Expr {
	if at, en := l.elementOfStructs(x.X); en != nil {
		if e := l.structField(x, at, en); e != nil {
			return l.loaded(e)
		}
		return l.invalid(x)
	}
	if m := l.member(x.X); m != nil {
		return l.operandField(x, m)
	}
	id, ok := syntax.Unparen(x.X).(*syntax.Ident)
	if !ok {
		l.err("E0705", x.X, "only operands and arrays have fields in a codelet body")
		return l.invalid(x)
	}
	en := l.lookup(id)
	if en == nil {
		return l.invalid(x)
	}
	en.used = true
	if l.check && en.typ != nil {
		id.SetType(en.typ)
	}
	if en.kind == arrayEntry {
		return l.arrayField(x, en)
	}
	if en.kind == sparseEntry {
		return l.sparseField(x, en)
	}
	if en.kind != operandEntry {
		l.err("E0705", x.Name, fmt.Sprintf("`%s` is one value and has no fields", id.Name))
		return l.invalid(x)
	}
	return l.operandField(x, en)
}

// Operands whose size the body sets, as in y.n = k: see ir.Size.

// lengths adds the variables for the sizes that the body of c sets.
func (l *lowerer) lengths(c *syntax.Codelet) {
	for _, s := range c.Body.Stmts {
		syntax.WalkStmt(s, func(s syntax.Stmt) {
			set, ok := s.(*syntax.Assign)
			if !ok {
				return
			}
			sel, ok := syntax.Unparen(set.Target).(*syntax.Selector)
			if !ok || sel.Name == nil {
				return
			}
			id, ok := syntax.Unparen(sel.X).(*syntax.Ident)
			if !ok {
				return
			}
			en := l.find(id.Name)
			if en == nil || en.kind != operandEntry || en.length > 0 || !hasLength(&l.fn.Operands[en.operand], sel.Name.Name) {
				return
			}
			en.length = len(l.fn.Operands)
			l.fn.Sizes = append(l.fn.Sizes, ir.Size{Operand: en.operand, Variable: en.length})
			l.fn.Operands = append(l.fn.Operands, ir.Operand{Name: en.name + "." + sel.Name.Name, Kind: iface.Variable, Elem: ir.I64, Mode: iface.RW})
		})
	}
}

// lengthOf returns the variable with the size that x names, or nil.
func (l *lowerer) lengthOf(x *syntax.Selector) *ir.Expr {
	id, ok := syntax.Unparen(x.X).(*syntax.Ident)
	if !ok || x.Name == nil {
		return nil
	}
	en := l.find(id.Name)
	if en == nil || en.length == 0 || !hasLength(&l.fn.Operands[en.operand], x.Name.Name) {
		return nil
	}
	en.used = true
	if l.check {
		id.Obj = en.obj
		id.SetType(en.typ)
	}
	if o := &l.fn.Operands[en.operand]; o.Mode == iface.R || o.Mode == iface.Scratch {
		d := l.err("E0603", x, fmt.Sprintf("`%s` is declared %v, and this sets its size", o.Name, o.Mode))
		d.Labels = append(d.Labels, diag.Label{Span: l.f.At(o.Node.ModeAt), Text: "a body sets the size of what it has W or RW"})
	}
	return &ir.Expr{Op: ir.OpLoad, Type: ir.I64, Operand: en.length, Pos: x.Span}
}

// hasLength reports whether name is the size of o that a body can set: n, or rows.
func hasLength(o *ir.Operand, name string) bool {
	return o.Kind == iface.Vector && name == "n" || o.Kind == iface.Matrix && name == "rows"
}

// operandField lowers a field of the operand en.
func (l *lowerer) operandField(x *syntax.Selector, en *entry) *ir.Expr {
	o := &l.fn.Operands[en.operand]
	if en.length > 0 && hasLength(o, x.Name.Name) {
		return &ir.Expr{Op: ir.OpLoad, Type: ir.I64, Operand: en.length, Pos: x.Span}
	}
	if x.Name.Name == "capacity" && (o.Kind == iface.Vector || o.Kind == iface.Matrix) {
		if en.length == 0 {
			size := ir.FieldName(o.Kind, ir.FieldDim0)
			d := l.err("E0705", x.Name, fmt.Sprintf("`capacity` is for bodies that set `%s.%s`", en.name, size))
			d.Help = append(d.Help, fmt.Sprintf("here `%s.%s` is all there is", en.name, size))
			return l.invalid(x)
		}
		return &ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: en.operand, Pos: x.Span}
	}
	f, ok := ir.FieldByName(o.Kind, x.Name.Name)
	if !ok {
		if o.Kind != iface.NoKind {
			d := l.err("E0705", x.Name, fmt.Sprintf("a %v has no field `%s`", o.Kind, x.Name.Name))
			if f, ok := foreignFields[o.Kind][x.Name.Name]; ok {
				right := en.name + "." + ir.FieldName(o.Kind, f)
				d.Help = append(d.Help, "write `"+right+"`")
				d.Edit(l.f.At(x), right)
				d.Sure()
			} else if s := fieldsOf(o.Kind); s != "" {
				d.Help = append(d.Help, "its fields are "+s)
			}
		}
		return l.invalid(x)
	}
	return &ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: en.operand, Field: f, Pos: x.Span}
}

var fieldList = map[iface.Kind]string{iface.Vector: "`n` and `offset`", iface.Matrix: "`rows`, `cols`, `ld`, `row0` and `col0`",
	iface.Block: "`nx`, `ny`, `nz`, `x0`, `y0` and `z0`"}

// fieldsOf lists the fields of data of kind k.
func fieldsOf(k iface.Kind) string {
	if last := k.Rank() - 1; k.IsTensor() {
		return fmt.Sprintf("`n0` to `n%d` and `offset0` to `offset%[1]d`", last)
	}
	return fieldList[k]
}

// rangeOf lowers an explicit range. It reports false after an error.
func (l *lowerer) rangeOf(x syntax.Expr) (ir.Range, bool) {
	r, ok := syntax.Unparen(x).(*syntax.RangeExpr)
	if call, en := l.rowCall(x); en != nil {
		return l.row(call, en)
	}
	if en := l.sparseOf(x); en != nil {
		l.overSparse(x, en)
		return ir.Range{Over: -1}, false
	}
	if !ok {
		if id, isName := syntax.Unparen(x).(*syntax.Ident); isName {
			if en := l.find(id.Name); en != nil && en.kind == operandEntry {
				en.used = true
				d := l.err("E0705", x, fmt.Sprintf("this runs over a range, and `%s` is data", id.Name))
				if k := l.fn.Operands[en.operand].Kind; k.Rank() > 0 {
					d.Help = append(d.Help, fmt.Sprintf("write `0..%s.%s`", id.Name, ir.FieldName(k, ir.FieldDim0)))
				}
				return ir.Range{Over: -1}, false
			}
			if en := l.localArray(id); en != nil {
				en.used = true
				d := l.reportArray(id, "this runs over a range")
				d.Help = append(d.Help, fmt.Sprintf("write `0..%s.n`", id.Name))
				return ir.Range{Over: -1}, false
			}
		}
		e := l.expr(x)
		if e.Op != ir.OpBad {
			d := l.err("E0705", x, "this must be a range")
			d.Help = append(d.Help, fmt.Sprintf("write `0..%s`", l.operandText(x)))
		}
		return ir.Range{Over: -1}, false
	}
	if l.check {
		r.SetType(types.TRange)
		x.SetType(types.TRange)
	}
	out := ir.Range{Lo: l.integer(r.Lo, "the bound of a range"), Hi: l.integer(r.Hi, "the bound of a range"), Closed: r.Closed, Over: -1, Pos: x.Range()}
	if l.check {
		l.warnEmptyRange(&out)
	}
	return out, out.Lo.Op != ir.OpBad && out.Hi.Op != ir.OpBad
}

// domain lowers the domain of an each or a fold: an operand, or one range for each index.
// It reports false after an error.
func (l *lowerer) domain(word string, at syntax.Node, names []*syntax.Ident, dom []syntax.Expr) ([]ir.Range, bool) {
	if len(dom) == 1 {
		m := l.member(dom[0])
		if en := l.structsOf(dom[0]); en != nil {
			m = l.fieldEntry(en, 0)
		}
		if m != nil {
			return l.wholeDomain(word, m, dom[0], names)
		}
		if id, ok := syntax.Unparen(dom[0]).(*syntax.Ident); ok {
			if en := l.find(id.Name); en != nil && en.kind == operandEntry {
				if l.check {
					id.Obj = en.obj
					id.SetType(en.typ)
				}
				return l.wholeDomain(word, en, dom[0], names)
			} else if en != nil && en.kind == arrayEntry {
				en.used = true
				if l.check {
					id.Obj = en.obj
					id.SetType(en.typ)
				}
				return l.arrayDomain(word, dom[0], en, names)
			}
		}
	}
	ok := true
	if len(names) > ir.MaxIndices {
		d := l.err("E0705", at, fmt.Sprintf("`%s` has %d indices, and at most %d are possible", word, len(names), ir.MaxIndices))
		d.Help = append(d.Help, "put some of them into a `for` or a fold inside")
		ok = false
	}
	out := make([]ir.Range, len(dom))
	for k, x := range dom {
		var fine bool
		out[k], fine = l.rangeOf(x)
		ok = ok && fine
	}
	if len(dom) != len(names) {
		if ok {
			l.err("E0705", at, fmt.Sprintf("`%s` has %s and %s", word, ir.Counted(len(names), "name", "names"), ir.Counted(len(dom), "range", "ranges"))).
				Help = append([]string(nil), "give one range for each name")
		}
		ok = false
	}
	return out, ok
}

// wholeDomain returns the domain of all elements of an operand.
func (l *lowerer) wholeDomain(word string, en *entry, x syntax.Expr, names []*syntax.Ident) ([]ir.Range, bool) {
	en.used = true
	if l.check {
		x.SetType(en.typ)
	}
	o := &l.fn.Operands[en.operand]
	rank := o.Kind.Rank()
	switch {
	case o.Kind == iface.NoKind:
		return nil, false
	case rank == 0:
		l.err("E0705", x, fmt.Sprintf("`%s` cannot run over `%s`, which is a %v", word, en.name, o.Kind))
		return nil, false
	case rank != len(names):
		d := l.err("E0705", x, fmt.Sprintf("`%s` is a %v and needs %s", en.name, o.Kind, ir.Counted(rank, "index", "indices")))
		d.Help = append(d.Help, fmt.Sprintf("write `%s %s in %s`", word, ir.IndexNames(o.Kind), en.name))
		return nil, false
	}
	out := make([]ir.Range, rank)
	for k := range out {
		out[k] = ir.Range{Lo: &ir.Expr{Op: ir.OpConst, Type: ir.I64, Pos: x.Range()},
			Hi:   &ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: en.operand, Field: ir.FieldDim0 + ir.Field(k), Pos: x.Range()},
			Over: en.operand, Pos: x.Range()}
	}
	if en.length > 0 { // as far as it is set by then
		out[0].Hi = &ir.Expr{Op: ir.OpLoad, Type: ir.I64, Operand: en.length, Pos: x.Range()}
		out[0].Over = -1
	}
	return out, true
}

var foldOps = map[string]ir.Op{"sum": ir.OpAdd, "prod": ir.OpMul, "min": ir.OpMin, "max": ir.OpMax}

func (l *lowerer) fold(x *syntax.Fold) *ir.Expr {
	dom, ok := l.domain(x.Op, x, x.Names, x.Domain)
	l.push()
	defer l.pop()
	for k, n := range x.Names {
		slot := l.declare(n, types.EachVar, ir.Slot{Name: n.Name, Type: ir.I64, Kind: ir.IndexSlot})
		if k < len(dom) {
			dom[k].Slot = slot
		}
	}
	l.folds++
	prelude, body := l.captured(func() *ir.Expr { return l.number(x.Body, fmt.Sprintf("`%s`", x.Op)) })
	l.folds--
	if !ok || body.Op == ir.OpBad {
		return l.invalid(x)
	}
	if body.Type.IsComplex() {
		return l.complexFold(x, dom, prelude, body)
	}
	body = convert(body, body.Type)
	if len(prelude) > 0 {
		return l.foldLoop(x, foldOps[x.Op], dom, prelude, body)
	}
	return &ir.Expr{Op: ir.OpFold, Type: body.Type, Reduce: foldOps[x.Op], X: []*ir.Expr{body}, Domain: dom, Pos: x.Span}
}

// foldLoop lowers a fold whose expression needs statements: loops that keep what they have
// folded in a local.
func (l *lowerer) foldLoop(x *syntax.Fold, reduce ir.Op, dom []ir.Range, prelude []*ir.Stmt, body *ir.Expr) *ir.Expr {
	first := &ir.Expr{Op: ir.OpConst, Type: body.Type, Pos: x.Span}
	first.Int, first.Float = ir.Neutral(reduce, body.Type)
	if body.Type.IsFloat() {
		first.Int = 0
	} else {
		first.Float = 0
	}
	set := l.temporary(x.Op, first)
	acc := set(nil).Value
	list := append(prelude, set(&ir.Expr{Op: reduce, Type: body.Type, X: []*ir.Expr{acc, body}, Pos: x.Span}))
	for k := len(dom) - 1; k >= 0; k-- {
		r := dom[k]
		r.Over = -1
		list = []*ir.Stmt{{Kind: ir.ForStmt, Domain: []ir.Range{r}, Body: list, Pos: x.Span}}
	}
	l.prelude = append(l.prelude, list...)
	return acc
}

// warnEmptyRange reports a range of literals whose lower bound is above the upper one: it has
// no rounds, and bodies have no descending ranges (W0702).
func (l *lowerer) warnEmptyRange(r *ir.Range) {
	lo, hi := intLiteral(r.Lo), intLiteral(r.Hi)
	if lo == nil || hi == nil || *lo <= *hi {
		return
	}
	d := l.report("W0702", diag.Warning, r.Pos, fmt.Sprintf("`%s` is empty: a range goes upwards", ir.SourceText(l.f.Source, r.Pos)))
	d.Label = "this runs no round"
	dots := ".."
	if r.Closed {
		dots = "..="
	}
	d.Help = append(d.Help, fmt.Sprintf("to count down from %d, loop over `0%s%d`, and subtract the index from %d: `%d - i`", *lo, dots, *lo-*hi, *lo, *lo))
}

// maxBound bounds the literals that warnEmptyRange compares, so that differences do not
// overflow.
const maxBound = 1 << 40

// intLiteral returns the value of an int literal, with or without a sign, or nil if e is none.
func intLiteral(e *ir.Expr) *int64 {
	switch {
	case e.Op == ir.OpConst && e.Type == ir.I64 && e.Int < maxBound && e.Int > -maxBound:
		v := e.Int
		return &v
	case e.Op == ir.OpNeg && e.X[0].Op == ir.OpConst:
		if v := intLiteral(e.X[0]); v != nil {
			n := -*v
			return &n
		}
	}
	return nil
}
