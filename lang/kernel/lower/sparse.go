package lower

// Sparse matrices in bodies: A is its arrays, such as A.ptr, A.col and A.val, which are operands, and
// sizes such as A.cols, which are scalars; these names are in the scope beside A. A.row(i), or A.col(j), is
// the range of the entries of a row or column.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// sparseOperand enters the arrays and the scalars of the sparse matrix of en.
func (l *lowerer) sparseOperand(p *syntax.Operand, t *types.Type, en *entry) {
	en.kind, en.operand = sparseEntry, len(l.fn.Operands)
	add := func(name string, kind entryKind, typ *types.Type) *entry {
		part := &entry{name: p.Name.Name + "." + name, kind: kind, slot: -1, operand: -1, typ: typ, used: true, decl: p.Name.Span}
		if l.scope.Names[part.name] == nil {
			l.scope.Insert(part.name, part)
		}
		return part
	}
	f := t.Sparse()
	for i, a := range f.Arrays {
		typ := t.Member(a.Name)
		part := add(a.Name, operandEntry, typ)
		part.operand = len(l.fn.Operands)
		op := ir.Operand{Name: part.name, Kind: typ.Data(), Elem: l.elemOf(typ), Mode: iface.R}
		if i == f.Values() || f.Fields {
			op.Mode, op.Node = p.Mode, p
		}
		l.fn.Operands = append(l.fn.Operands, op)
	}
	for _, name := range f.Scalars() {
		size := add(name, scalarEntry, types.TInt)
		size.slot = l.newSlot(ir.Slot{Name: size.name, Type: ir.I64, Kind: ir.ScalarSlot, Decl: p.Name.Span})
		l.fn.Scalars = append(l.fn.Scalars, size.slot)
	}
}

// sparseOf returns the sparse matrix that x names, or nil.
func (l *lowerer) sparseOf(x syntax.Expr) *entry {
	id, ok := syntax.Unparen(x).(*syntax.Ident)
	if !ok {
		return nil
	}
	en := l.find(id.Name)
	if en == nil || en.kind != sparseEntry {
		return nil
	}
	if l.check {
		id.Obj = en.obj
		id.SetType(en.typ)
	}
	return en
}

// member returns the array of a sparse matrix that x names, such as A.val, or nil.
func (l *lowerer) member(x syntax.Expr) *entry {
	sel, ok := syntax.Unparen(x).(*syntax.Selector)
	if !ok || sel.Name == nil {
		return nil
	}
	en := l.sparseOf(sel.X)
	if en == nil || en.typ.Member(sel.Name.Name) == nil {
		return nil
	}
	array := l.find(en.name + "." + sel.Name.Name)
	if l.check {
		sel.Name.SetType(array.typ)
		sel.SetType(array.typ)
	}
	return array
}

// structureOf returns the sparse matrix whose structure the operand is part of, or nil.
func (l *lowerer) structureOf(operand int) *entry {
	op := &l.fn.Operands[operand]
	name, _, dot := strings.Cut(op.Name, ".")
	if !dot || op.Node != nil {
		return nil
	}
	if en := l.find(name); en != nil && en.kind == sparseEntry {
		return en
	}
	return nil
}

// sparseField lowers a field of the sparse matrix en.
func (l *lowerer) sparseField(x *syntax.Selector, en *entry) *ir.Expr {
	f := en.typ.Sparse()
	if f.Fields {
		return l.structsField(x, en)
	}
	ptr, val := en.operand, en.operand+f.Values()
	size := func(operand int, f ir.Field) *ir.Expr {
		return &ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: operand, Field: f, Pos: x.Span}
	}
	mul := func(a, b *ir.Expr) *ir.Expr {
		return &ir.Expr{Op: ir.OpMul, Type: ir.I64, X: []*ir.Expr{a, b}, Pos: x.Span}
	}
	lines := func() *ir.Expr {
		one := &ir.Expr{Op: ir.OpConst, Type: ir.I64, Int: 1, Pos: x.Span}
		return &ir.Expr{Op: ir.OpSub, Type: ir.I64, X: []*ir.Expr{size(ptr, ir.FieldDim0), one}, Pos: x.Span}
	}
	name := x.Name.Name
	if scalar := l.find(en.name + "." + name); scalar != nil && scalar.kind == scalarEntry {
		return &ir.Expr{Op: ir.OpSlot, Type: ir.I64, Slot: scalar.slot, Pos: x.Span}
	}
	switch {
	case (name == "rows" || name == "row0") && f.Axis == 0:
		n := lines()
		if name == "row0" {
			n = size(ptr, ir.FieldOff0)
		}
		if f.Blocks {
			n = mul(n, size(val, ir.FieldDim1))
		}
		return n
	case name == "cols" && f.Axis == 1:
		return lines()
	case name == "col0" && f.Axis == 1:
		return size(ptr, ir.FieldOff0)
	case name == "nnz" && f.Blocks:
		return mul(mul(size(val, ir.FieldDim0), size(val, ir.FieldDim1)), size(val, ir.FieldDim2))
	case name == "nnz":
		return size(val, ir.FieldDim0)
	case name == "r" && f.Blocks:
		return size(val, ir.FieldDim1)
	case name == "c" && f.Blocks:
		return size(val, ir.FieldDim2)
	case f.Array(name) >= 0:
		kind := f.Arrays[f.Array(name)].Kind
		d := l.err("E0705", x, fmt.Sprintf("`%s.%s` is a %v, and a body computes with elements", en.name, name, kind))
		d.Help = append(d.Help, fmt.Sprintf("write `%s.%s[%s]`", en.name, name, entryIndex(kind)))
	case name == f.Range():
		l.reportRow(x, en)
	default:
		d := l.err("E0705", x.Name, fmt.Sprintf("a %s has no field `%s`", f.Name, name))
		d.Help = append(d.Help, "its fields are "+sparseFields(f)+", its arrays "+arrayNames(f))
	}
	return l.invalid(x)
}

// entryIndex returns the indices of the value of entry k.
func entryIndex(k iface.Kind) string {
	if k == iface.Block {
		return "k, i, j"
	}
	return "k"
}

func sparseFields(f *iface.SparseFormat) string {
	switch {
	case f.Blocks:
		return "`rows`, `cols`, `nnz`, `r`, `c` and `row0`"
	case f.Axis == 0:
		return "`rows`, `cols`, `nnz` and `row0`"
	case f.Axis == 1:
		return "`rows`, `cols`, `nnz` and `col0`"
	}
	return "`rows`, `cols` and `nnz`"
}

func arrayNames(f *iface.SparseFormat) string {
	return fmt.Sprintf("`%s`, `%s` and `%s`", f.Arrays[0].Name, f.Arrays[1].Name, f.Arrays[2].Name)
}

// rowCall returns the sparse matrix A if x is A.row(...) or A.col(...).
func (l *lowerer) rowCall(x syntax.Expr) (*syntax.Call, *entry) {
	call, ok := syntax.Unparen(x).(*syntax.Call)
	if !ok {
		return nil, nil
	}
	sel, ok := call.Fn.(*syntax.Selector)
	if !ok || sel.Name == nil || sel.Name.Name != "row" && sel.Name.Name != "col" {
		return nil, nil
	}
	en := l.sparseOf(sel.X)
	if en != nil && l.check {
		sel.Name.SetType(types.TRange)
		sel.SetType(types.TRange)
	}
	return call, en
}

// row lowers the range A.row(i), or A.col(j). Offsets count from the first entry of
// the root matrix, and A may be a slab of it.
func (l *lowerer) row(x *syntax.Call, en *entry) (ir.Range, bool) {
	f := en.typ.Sparse()
	name := x.Fn.(*syntax.Selector).Name.Name
	none := ir.Range{Over: -1}
	if name != f.Range() {
		for _, a := range x.Args {
			l.expr(a.Value)
		}
		if f.Axis < 0 {
			d := l.err("E0705", x, fmt.Sprintf("`%s` is a %s, whose entries are in any order", en.name, f.Name))
			d.Help = append(d.Help, fmt.Sprintf("over all entries: `0..%[1]s.nnz`, with `%[1]s.row[k]` and `%[1]s.col[k]`", en.name))
			return none, false
		}
		d := l.err("E0705", x, fmt.Sprintf("`%s` is a %s, with its entries %s by %s", en.name, f.Name, f.Line(), f.Line()))
		d.Help = append(d.Help, fmt.Sprintf("write `for k in %s.%s`", en.name, rangeForm(f)))
		return none, false
	}
	if len(x.Args) != 1 || x.Args[0].Name != nil {
		for _, a := range x.Args {
			l.expr(a.Value)
		}
		d := l.err("E0705", x, fmt.Sprintf("`%s.%s` takes the number of a %s", en.name, name, f.Line()))
		d.Help = append(d.Help, fmt.Sprintf("write `for k in %s.%s { ... }`", en.name, rangeForm(f)))
		return none, false
	}
	i := l.integer(x.Args[0].Value, "a "+f.Line())
	if l.check {
		x.SetType(types.TRange)
	}
	if i.Op == ir.OpBad {
		return none, false
	}
	number := func(n int64) *ir.Expr { return &ir.Expr{Op: ir.OpConst, Type: ir.I64, Int: n, Pos: x.Span} }
	offset := func(of *ir.Expr) *ir.Expr {
		load := func(of *ir.Expr) *ir.Expr {
			return &ir.Expr{Op: ir.OpLoad, Type: ir.I64, Operand: en.operand, X: []*ir.Expr{of}, Pos: x.Span}
		}
		return &ir.Expr{Op: ir.OpSub, Type: ir.I64, X: []*ir.Expr{load(of), load(number(0))}, Pos: x.Span}
	}
	next := &ir.Expr{Op: ir.OpAdd, Type: ir.I64, X: []*ir.Expr{i, number(1)}, Pos: x.Span}
	return ir.Range{Lo: offset(i), Hi: offset(next), Over: -1, Pos: x.Span}, true
}

// rangeForm returns how the range of a line is written: "row(i)" or "col(j)".
func rangeForm(f *iface.SparseFormat) string {
	return f.Range() + [...]string{"(i)", "(j)"}[f.Axis]
}

// reportRow reports A.row or A.col where no range can be.
func (l *lowerer) reportRow(at syntax.Node, en *entry) {
	f := en.typ.Sparse()
	if f.Axis < 0 {
		l.reportSparse(at, en)
		return
	}
	form := rangeForm(f)
	of := f.Line() + " `" + form[len(f.Range())+1:len(form)-1] + "`"
	d := l.err("E0705", at, fmt.Sprintf("`%s.%s` is the range of the entries of %s, for a loop", en.name, form, of))
	d.Help = append(d.Help, fmt.Sprintf("write `for k in %[1]s.%[2]s { ... }`, or `sum k in %[1]s.%[2]s { %[1]s.val[%[3]s] }`", en.name, form, entryIndex(f.Arrays[f.Values()].Kind)))
}

// overSparse reports a loop over the sparse matrix en.
func (l *lowerer) overSparse(x syntax.Expr, en *entry) {
	f := en.typ.Sparse()
	d := l.err("E0705", x, fmt.Sprintf("this runs over a range, and `%s` is data", en.name))
	switch {
	case f.Fields:
		d.Help = append(d.Help, fmt.Sprintf("write `0..%s.n`", en.name))
	case f.Axis < 0:
		d.Help = append(d.Help, fmt.Sprintf("over its entries: `0..%s.nnz`", en.name))
	case f.Blocks:
		d.Help = append(d.Help, fmt.Sprintf("over its rows of blocks: `0..%[1]s.rows // %[1]s.r`; over the blocks of row `i`: `%[1]s.row(i)`", en.name))
	case f.Axis == 1:
		d.Help = append(d.Help, fmt.Sprintf("over its columns: `0..%[1]s.cols`; over the entries of column `j`: `%[1]s.col(j)`", en.name))
	default:
		d.Help = append(d.Help, fmt.Sprintf("over its rows: `0..%[1]s.rows`; over the entries of row `i`: `%[1]s.row(i)`", en.name))
	}
}

// reportSparse reports the sparse matrix en where an element is wanted.
func (l *lowerer) reportSparse(at syntax.Node, en *entry) {
	if en.typ.Fields() != nil {
		l.reportStructs(at, en)
		return
	}
	f := en.typ.Sparse()
	loop, order, index := "0..%s.nnz", "one by one", "`%[1]s.row[k]` and `%[1]s.col[k]`"
	if f.Axis >= 0 {
		loop, order = "%s."+rangeForm(f), f.Line()+" by "+f.Line()
		index = "`%[1]s." + f.Arrays[1].Name + "[k]`"
	}
	d := l.err("E0705", at, fmt.Sprintf("`%s` is a %s, and a body computes with its entries, %s", en.name, f.Name, order))
	and := " and "
	if f.Axis < 0 {
		and = ", "
	}
	d.Help = append(d.Help, fmt.Sprintf("write `for k in "+loop+" { ... }`", en.name)+
		fmt.Sprintf(", with `%[1]s.val[%[2]s]`", en.name, entryIndex(f.Arrays[f.Values()].Kind))+and+fmt.Sprintf(index, en.name))
}
