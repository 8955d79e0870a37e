package lower

// Sparse matrices in bodies: A is its arrays A.ptr, A.col and A.val, three operands, and the scalar
// A.cols; these names are in the scope beside A. A.row(i) is the range of the entries of a row.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// csrOperand enters the arrays and the scalar of the sparse matrix of en.
func (l *lowerer) csrOperand(p *syntax.Operand, t *types.Type, en *entry) {
	en.kind, en.operand = csrEntry, len(l.fn.Operands)
	add := func(name string, kind entryKind, typ *types.Type) *entry {
		part := &entry{name: p.Name.Name + "." + name, kind: kind, slot: -1, operand: -1, typ: typ, used: true, decl: p.Name.Span}
		if l.scope.Names[part.name] == nil {
			l.scope.Insert(part.name, part)
		}
		return part
	}
	for _, name := range types.CSRMembers {
		typ := t.Member(name)
		part := add(name, operandEntry, typ)
		part.operand = len(l.fn.Operands)
		op := ir.Operand{Name: part.name, Kind: typ.Data(), Elem: l.elemOf(typ), Mode: iface.R}
		if name == "val" {
			op.Mode, op.Node = p.Mode, p
		}
		l.fn.Operands = append(l.fn.Operands, op)
	}
	cols := add("cols", scalarEntry, types.TInt)
	cols.slot = l.newSlot(ir.Slot{Name: cols.name, Type: ir.I64, Kind: ir.ScalarSlot, Decl: p.Name.Span})
	l.fn.Scalars = append(l.fn.Scalars, cols.slot)
}

// csrOf returns the sparse matrix that x names, or nil.
func (l *lowerer) csrOf(x syntax.Expr) *entry {
	id, ok := syntax.Unparen(x).(*syntax.Ident)
	if !ok {
		return nil
	}
	en := l.find(id.Name)
	if en == nil || en.kind != csrEntry {
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
	en := l.csrOf(sel.X)
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

// csrArray reports whether operand is an array with the structure of a sparse matrix.
func (l *lowerer) csrArray(operand int) bool {
	name := l.fn.Operands[operand].Name
	return strings.HasSuffix(name, ".ptr") || strings.HasSuffix(name, ".col")
}

// csrField lowers a field of the sparse matrix en.
func (l *lowerer) csrField(x *syntax.Selector, en *entry) *ir.Expr {
	size := func(operand int, f ir.Field) *ir.Expr {
		return &ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: operand, Field: f, Pos: x.Span}
	}
	ptr := en.operand
	switch name := x.Name.Name; name {
	case "rows":
		one := &ir.Expr{Op: ir.OpConst, Type: ir.I64, Int: 1, Pos: x.Span}
		return &ir.Expr{Op: ir.OpSub, Type: ir.I64, X: []*ir.Expr{size(ptr, ir.FieldDim0), one}, Pos: x.Span}
	case "nnz":
		return size(ptr+2, ir.FieldDim0)
	case "row0":
		return size(ptr, ir.FieldOff0)
	case "cols":
		return &ir.Expr{Op: ir.OpSlot, Type: ir.I64, Slot: l.find(en.name + ".cols").slot, Pos: x.Span}
	case "ptr", "col", "val":
		d := l.err("E0705", x, fmt.Sprintf("`%s.%s` is a vector, and a body computes with elements", en.name, name))
		d.Help = append(d.Help, fmt.Sprintf("write `%s.%s[k]`", en.name, name))
	case "row":
		l.reportRow(x, en)
	default:
		d := l.err("E0705", x.Name, fmt.Sprintf("a csr has no field `%s`", name))
		d.Help = append(d.Help, "its fields are `rows`, `cols`, `nnz` and `row0`, its arrays `ptr`, `col` and `val`")
	}
	return l.invalid(x)
}

// rowCall returns the sparse matrix A if x is A.row(...).
func (l *lowerer) rowCall(x syntax.Expr) (*syntax.Call, *entry) {
	call, ok := syntax.Unparen(x).(*syntax.Call)
	if !ok {
		return nil, nil
	}
	sel, ok := call.Fn.(*syntax.Selector)
	if !ok || sel.Name == nil || sel.Name.Name != "row" {
		return nil, nil
	}
	en := l.csrOf(sel.X)
	if en != nil && l.check {
		sel.Name.SetType(types.TRange)
		sel.SetType(types.TRange)
	}
	return call, en
}

// row lowers the range A.row(i). Offsets count from the first entry of
// the root matrix, and A may be a slab of its rows.
func (l *lowerer) row(x *syntax.Call, en *entry) (ir.Range, bool) {
	if len(x.Args) != 1 || x.Args[0].Name != nil {
		for _, a := range x.Args {
			l.expr(a.Value)
		}
		d := l.err("E0705", x, fmt.Sprintf("`%s.row` takes the number of a row", en.name))
		d.Help = append(d.Help, fmt.Sprintf("write `for k in %s.row(i) { ... }`", en.name))
		return ir.Range{Over: -1}, false
	}
	i := l.integer(x.Args[0].Value, "a row")
	if l.check {
		x.SetType(types.TRange)
	}
	if i.Op == ir.OpBad {
		return ir.Range{Over: -1}, false
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

// reportRow reports A.row where no range can be.
func (l *lowerer) reportRow(at syntax.Node, en *entry) {
	d := l.err("E0705", at, fmt.Sprintf("`%s.row(i)` is the range of the entries of row `i`, for a loop", en.name))
	d.Help = append(d.Help, fmt.Sprintf("write `for k in %[1]s.row(i) { ... }`, or `sum k in %[1]s.row(i) { %[1]s.val[k] }`", en.name))
}

// reportCSR reports the sparse matrix en where an element is wanted.
func (l *lowerer) reportCSR(at syntax.Node, en *entry) {
	d := l.err("E0705", at, fmt.Sprintf("`%s` is a csr, and a body computes with its entries, row by row", en.name))
	d.Help = append(d.Help, fmt.Sprintf("write `for k in %[1]s.row(i) { ... }`, with `%[1]s.val[k]` and `%[1]s.col[k]`", en.name))
}
