package lower

// Structs in bodies: p[i].x is element i of the array p.x, an operand, and p[i] = q[j] assigns all fields.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// structsOf returns the vector of structs that x names, or nil.
func (l *lowerer) structsOf(x syntax.Expr) *entry {
	if en := l.sparseOf(x); en != nil && en.typ.Fields() != nil {
		return en
	}
	return nil
}

// elementOfStructs returns the vector of structs p if x is p[i].
func (l *lowerer) elementOfStructs(x syntax.Expr) (*syntax.Index, *entry) {
	at, ok := syntax.Unparen(x).(*syntax.Index)
	if !ok {
		return nil, nil
	}
	return at, l.structsOf(at.X)
}

// fieldEntry returns the operand that holds field k of the structs en.
func (l *lowerer) fieldEntry(en *entry, k int) *entry {
	return l.find(en.name + "." + en.typ.Fields().Arrays[k].Name)
}

// structIndex lowers the index of at, p[i], or returns nil after an error.
func (l *lowerer) structIndex(at *syntax.Index, en *entry) []*ir.Expr {
	idx, ok := make([]*ir.Expr, len(at.Args)), true
	for k, a := range at.Args {
		idx[k] = l.integer(a, "an index")
		ok = ok && idx[k].Op != ir.OpBad
	}
	if l.check {
		at.SetType(types.TNone)
	}
	if len(idx) != 1 {
		d := l.err("E0705", at, fmt.Sprintf("`%s` is a vector and takes %s, not %d", en.name, ir.Counted(1, "index", "indices"), len(idx)))
		d.Help = append(d.Help, fmt.Sprintf("write `%s[i]`", en.name))
		return nil
	}
	if !ok {
		return nil
	}
	return idx
}

// structField resolves x, p[i].x, to the element of a field, or nil after an error. at and en are those
// of elementOfStructs.
func (l *lowerer) structField(x *syntax.Selector, at *syntax.Index, en *entry) *ir.Expr {
	idx := l.structIndex(at, en)
	f := en.typ.Fields()
	k := f.Array(x.Name.Name)
	if k < 0 {
		l.noField(x.Name, en)
		return nil
	}
	field := l.fieldEntry(en, k)
	if l.check {
		x.Name.SetType(field.typ)
	}
	if idx == nil {
		return nil
	}
	return &ir.Expr{Op: ir.OpLoad, Type: l.fn.Operands[field.operand].Elem, Operand: field.operand, X: idx, Pos: x.Span}
}

// noField reports a name that no field of the structs en has.
func (l *lowerer) noField(at *syntax.Ident, en *entry) {
	var names []string
	for _, a := range en.typ.Fields().Arrays {
		names = append(names, a.Name)
	}
	d := l.err("E0705", at, fmt.Sprintf("`%s` has no field `%s`", en.typ.Struct.Name, at.Name))
	if best, ok := diag.Nearest(at.Name, names); ok {
		d.Meant(at.Name, best, "")
	}
	d.Help = append(d.Help, "its fields are `"+strings.Join(names, "`, `")+"`")
}

// assignStruct lowers p[i] = q[j]: an assignment of each field, all but the last of them in the prelude.
func (l *lowerer) assignStruct(s *syntax.Assign, at *syntax.Index, en *entry) *ir.Stmt {
	to := l.structIndex(at, en)
	from, source := l.elementOfStructs(s.Value)
	f := en.typ.Fields()
	switch {
	case s.Op != "=":
		d := l.err("E0705", s, fmt.Sprintf("`%s` computes with numbers, and `%s` is a struct", strings.TrimSuffix(s.Op, "="), l.text(s.Target)))
		d.Help = append(d.Help, fmt.Sprintf("compute with its fields: `%s.%s %s ...`", l.text(s.Target), f.Arrays[0].Name, s.Op))
		return nil
	case source == nil:
		if e := l.expr(s.Value); e.Op != ir.OpBad {
			d := l.err("E0705", s.Value, fmt.Sprintf("`%s` is a struct, and this value is %s", l.text(s.Target), withArticle(e.Type)))
			d.Help = append(d.Help, fmt.Sprintf("assign a field: `%s.%s = ...`", l.text(s.Target), f.Arrays[0].Name))
		}
		return nil
	case !types.SameStruct(en.typ.Struct, source.typ.Struct):
		d := l.err("E0705", s.Value, fmt.Sprintf("`%s` is a %s, and this is a %s", l.text(s.Target), en.typ.Struct.Name, source.typ.Struct.Name))
		d.Help = append(d.Help, "assign the fields one by one")
		return nil
	}
	of := l.structIndex(from, source)
	l.writable(s.Target, l.fieldEntry(en, 0).operand)
	if to == nil || of == nil {
		return nil
	}
	var list []*ir.Stmt
	for k := range f.Arrays {
		operand := l.fieldEntry(en, k).operand
		v := &ir.Expr{Op: ir.OpLoad, Type: l.fn.Operands[operand].Elem, Operand: l.fieldEntry(source, k).operand, X: of, Pos: s.Value.Range()}
		switch {
		case v.Type.IsComplex():
			v = l.loaded(v)
		case v.Type == ir.Bool: // any byte but 0 is true, and 1 is stored
			v = packedBool(l.loaded(v))
		default:
			v.Type = v.Type.Stored()
		}
		st := &ir.Stmt{Kind: ir.StoreStmt, Operand: operand, Index: to, Value: v, Update: "=", Pos: s.Span, Target: s.Target.Range(), Source: s.Value}
		if k < len(f.Arrays)-1 {
			st = l.assignParts(st)
			l.prelude = append(l.prelude, st)
			continue
		}
		list = append(list, l.assignParts(st))
	}
	return list[0]
}

// structsField lowers p.n and p.offset of the structs en, and reports other fields.
func (l *lowerer) structsField(x *syntax.Selector, en *entry) *ir.Expr {
	first := l.fieldEntry(en, 0).operand
	switch name := x.Name.Name; {
	case name == "n":
		return &ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: first, Field: ir.FieldDim0, Pos: x.Span}
	case name == "offset":
		return &ir.Expr{Op: ir.OpField, Type: ir.I64, Operand: first, Field: ir.FieldOff0, Pos: x.Span}
	case en.typ.Fields().Array(name) >= 0:
		d := l.err("E0705", x, fmt.Sprintf("`%s.%s` is the field of all elements, and a body computes with one", en.name, name))
		d.Help = append(d.Help, fmt.Sprintf("write `%s[i].%s`", en.name, name))
	default:
		d := l.err("E0705", x.Name, fmt.Sprintf("`%v` has no field `%s`", en.typ, name))
		d.Help = append(d.Help, fmt.Sprintf("a vector has `n` and `offset`; a field of an element is `%s[i].%s`", en.name, en.typ.Fields().Arrays[0].Name))
	}
	return l.invalid(x)
}

// writable reports E0603 if the body may not write the operand.
func (l *lowerer) writable(at syntax.Node, operand int) {
	op := &l.fn.Operands[operand]
	if op.Mode != iface.R {
		return
	}
	name := op.Name
	if op.Node != nil {
		name = op.Node.Name.Name
	}
	d := l.err("E0603", at, fmt.Sprintf("`%s` is declared R, and this writes it", name))
	if op.Node != nil {
		d.Labels = append(d.Labels, diag.Label{Span: l.f.At(op.Node.ModeAt), Text: "R allows reading only"})
		if op.Node.Type != nil {
			d.Help = append(d.Help, fmt.Sprintf("declare it `%s: RW %s`", op.Node.Name.Name, l.text(op.Node.Type)))
			d.Edit(l.f.At(op.Node.ModeAt), "RW")
		}
	}
}

// reportStructs reports the structs en, or an element of them, where a number is wanted.
func (l *lowerer) reportStructs(at syntax.Node, en *entry) {
	d := l.err("E0705", at, fmt.Sprintf("`%s` has elements with fields, and a body computes with these", en.name))
	d.Help = append(d.Help, fmt.Sprintf("write `%s[i].%s`", en.name, en.typ.Fields().Arrays[0].Name))
}
