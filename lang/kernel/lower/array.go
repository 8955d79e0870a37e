package lower

// Arrays in bodies: let t = array[f64](8).

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// arrayForm is the form of the declaration of an array, for messages.
const arrayForm = "let t = array[f64](8)"

// arrayCall returns the call that makes an array if x is one, array[T](n) or a form with
// mistakes; nil otherwise.
func (l *lowerer) arrayCall(x syntax.Expr) *syntax.Call {
	call, ok := syntax.Unparen(x).(*syntax.Call)
	if !ok {
		return nil
	}
	fn := syntax.Unparen(call.Fn)
	if index, ok := fn.(*syntax.Index); ok {
		fn = syntax.Unparen(index.X)
	}
	if id, ok := fn.(*syntax.Ident); !ok || id.Name != "array" || l.find("array") != nil {
		return nil
	}
	if _, isName := syntax.Unparen(call.Fn).(*syntax.Ident); isName {
		if fn, _ := l.calledFunc(call); fn != nil {
			return nil
		}
	}
	return call
}

// arrayWithoutLength reports array[f64] without a length, and array[f64][8]. It reports false if x
// is something else.
func (l *lowerer) arrayWithoutLength(x *syntax.Index) bool {
	inner, twice := syntax.Unparen(x.X).(*syntax.Index)
	if !twice {
		inner = x
	}
	id, ok := syntax.Unparen(inner.X).(*syntax.Ident)
	if !ok || id.Name != "array" || l.find("array") != nil {
		return false
	}
	d := l.err("E0609", x, "an array has its length in parentheses")
	if twice && len(x.Args) == 1 {
		right := fmt.Sprintf("%s(%s)", l.text(inner), l.text(x.Args[0]))
		d.Help = append(d.Help, "write `"+right+"`")
		d.Edit(l.f.At(x), right)
		d.Sure()
	} else {
		d.Help = append(d.Help, "write `"+arrayForm+"`")
	}
	return true
}

// letArray lowers the declaration of an array.
func (l *lowerer) letArray(s *syntax.Let, call *syntax.Call) *ir.Stmt {
	if s.Type != nil {
		d := l.err("E0105", s.Type, "`let` in a codelet body takes its type from its value")
		d.Help = append(d.Help, fmt.Sprintf("write `let %s = %s`", s.Name.Name, l.text(s.Value)))
	}
	elem, typ, ok := l.arrayElem(call)
	n, fine := l.arrayLen(call)
	ok = ok && fine
	fill := &ir.Expr{Op: ir.OpConst, Type: elem.Stored(), Pos: call.Span}
	if elem.IsComplex() {
		fill = convert(floatConst(0, elem.Part(), call.Span), elem)
	}
	for k, a := range call.Args {
		switch {
		case k == 0 && a.Name == nil:
		case k > 0 && a.Name != nil && a.Name.Name == "fill":
			fill = l.fillValue(a.Value, elem)
			ok = ok && fill.Op != ir.OpBad
		default:
			l.expr(a.Value)
			if fine {
				d := l.err("E0609", a, "an array takes its length, and `fill`")
				d.Help = append(d.Help, "write `"+l.arrayText(call, "8")+"`, or `"+l.arrayText(call, "8, fill = 1")+"`")
			}
			ok, fine = false, false
		}
	}
	at := ir.Slot{Name: s.Name.Name, Type: elem, Kind: ir.LetSlot, Len: n, Assigned: true}
	if !ok {
		at.Len, typ = 1, types.TInvalid // the error is enough
	}
	slot := l.declare(s.Name, types.KernelLet, at)
	en := l.scope.Names[s.Name.Name]
	en.kind, en.typ = arrayEntry, typ
	if l.check {
		s.Name.SetType(typ)
		if en.obj != nil {
			en.obj.Type = typ
		}
		s.Value.SetType(typ)
		call.SetType(typ)
	}
	if !ok {
		en.used = true
		return nil
	}
	return l.assignParts(&ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: slot, Value: fill, Pos: s.Span, Target: s.Name.Span})
}

// arrayElem returns the type of the elements of a new array, and the type of the array.
func (l *lowerer) arrayElem(call *syntax.Call) (ir.Type, *types.Type, bool) {
	of := &types.Type{Kind: types.Elem}
	index, ok := syntax.Unparen(call.Fn).(*syntax.Index)
	if !ok {
		d := l.err("E0609", call.Fn, "`array` needs its element type")
		d.Help = append(d.Help, "write `"+arrayForm+"`")
		return ir.Open, types.TInvalid, false
	}
	var id *syntax.Ident
	if len(index.Args) == 1 {
		id, _ = syntax.Unparen(index.Args[0]).(*syntax.Ident)
	}
	if id == nil {
		d := l.err("E0609", call.Fn, "an array has the type of its elements in brackets, and its length behind them")
		d.Help = append(d.Help, "write `"+arrayForm+"`")
		return ir.Open, types.TInvalid, false
	}
	if l.check {
		index.SetType(types.TNone)
		syntax.Unparen(index.X).SetType(types.TNone)
		id.SetType(types.TNone)
	}
	if e, ok := iface.ElemByName(id.Name); ok {
		of.Elem = e
		return ir.Type(e), types.ArrayOf(of), true
	}
	if len(id.Name) == 1 && l.inlined == nil && l.typeParams[id.Name[0]] {
		of.Param = id.Name[0]
		return l.elemOf(of), types.ArrayOf(of), true
	}
	d := l.err("E0609", id, fmt.Sprintf("`%s` is no type of elements", id.Name))
	if right := map[string]string{"int": "i64", "float": "f64", "double": "f64"}[id.Name]; right != "" {
		d.Help = append(d.Help, fmt.Sprintf("write `array[%s]`", right))
		d.Edit(l.f.At(id), right)
	} else {
		d.Help = append(d.Help, "element types: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128 f16 bf16 bool")
	}
	return ir.Open, types.TInvalid, false
}

// arrayText returns the source of the call with other arguments.
func (l *lowerer) arrayText(call *syntax.Call, args string) string {
	return fmt.Sprintf("%s(%s)", l.text(call.Fn), args)
}

// arrayLen returns the length of a new array.
func (l *lowerer) arrayLen(call *syntax.Call) (int, bool) {
	if len(call.Args) == 0 || call.Args[0].Name != nil {
		d := l.err("E0609", call, "an array needs its length")
		d.Help = append(d.Help, "write `"+arrayForm+"`")
		return 0, false
	}
	x := call.Args[0].Value
	n := l.integer(x, "the length of an array")
	switch {
	case n.Op == ir.OpBad:
		return 0, false
	case n.Op != ir.OpConst:
		d := l.err("E0609", x, "the length of an array in a body must be a constant")
		d.Label = "known only when the body runs"
		d.Help = append(d.Help, fmt.Sprintf("write the largest length that is needed, at most %d: `%s`", ir.MaxLen, l.arrayText(call, "16")),
			"for longer ones pass a vector: `t: SCRATCH vector[f64]`")
		return 0, false
	case n.Int < 1:
		d := l.err("E0609", x, fmt.Sprintf("an array has one element or more, and this one has %d", n.Int))
		d.Help = append(d.Help, "write `"+l.arrayText(call, "8")+"`")
		return 0, false
	case n.Int > ir.MaxLen:
		d := l.err("E0609", x, fmt.Sprintf("an array in a body has at most %d elements, and this one has %d", ir.MaxLen, n.Int))
		d.Label = "every round that runs has an array of its own"
		d.Help = append(d.Help, "pass a vector instead: `t: SCRATCH vector[f64]`")
		return 0, false
	}
	return int(n.Int), true
}

// fillValue lowers the value of all elements of a new array, converted to their type.
func (l *lowerer) fillValue(x syntax.Expr, elem ir.Type) *ir.Expr {
	if elem == ir.Bool {
		v := l.expr(x)
		if v.Type != ir.Bool && v.Type != ir.Open {
			d := l.err("E0705", x, fmt.Sprintf("the elements are bools, and this value is %s", withArticle(v.Type)))
			d.Help = append(d.Help, "write `fill = true` or `fill = false`")
			return l.invalid(x)
		}
		if v.Type == ir.Open {
			return v
		}
		return packedBool(v)
	}
	v := l.number(x, "`fill`")
	if v.Type.IsFloat() && elem.IsInt() {
		d := l.err("E0703", x, fmt.Sprintf("the elements are of type %v, and this value is a float", elem))
		l.suggestInt(d, x)
		return l.invalid(x)
	}
	if v.Type.IsComplex() && !elem.IsComplex() {
		d := l.err("E0705", x, fmt.Sprintf("the elements are of type %v, and this value is a complex number", elem))
		d.Help = append(d.Help, fmt.Sprintf("its real part is `re(%s)`", l.text(x)))
		return l.invalid(x)
	}
	return convert(v, elem)
}

// localArray returns the entry of the array of the body that x names, or nil.
func (l *lowerer) localArray(x syntax.Expr) *entry {
	id, ok := syntax.Unparen(x).(*syntax.Ident)
	if !ok {
		return nil
	}
	if en := l.find(id.Name); en != nil && en.kind == arrayEntry {
		return en
	}
	return nil
}

// arrayElement returns the element of an array at indices, or nil after an error.
func (l *lowerer) arrayElement(x *syntax.Index, en *entry, idx []*ir.Expr) *ir.Expr {
	if en.typ == types.TInvalid { // its declaration was reported
		return nil
	}
	if len(idx) != 1 {
		d := l.err("E0705", x, fmt.Sprintf("`%s` is an array and takes one index, not %d", en.name, len(idx)))
		d.Help = append(d.Help, fmt.Sprintf("write `%[1]s[i]`; an array of rows is one array, with `%[1]s[i * cols + j]`", en.name))
		return nil
	}
	s := &l.fn.Slots[en.slot]
	return &ir.Expr{Op: ir.OpElement, Type: l.slotType(en.slot), Slot: en.slot, Int: int64(s.Len), X: idx, Pos: x.Span}
}

// arrayField lowers a field of an array: its length.
func (l *lowerer) arrayField(x *syntax.Selector, en *entry) *ir.Expr {
	switch {
	case en.typ == types.TInvalid:
		return l.invalid(x)
	case x.Name.Name == "n":
		return l.arraySize(x, en)
	}
	d := l.err("E0705", x.Name, fmt.Sprintf("an array in a body has no field `%s`", x.Name.Name))
	if _, ok := foreignFields[iface.Vector][x.Name.Name]; ok {
		l.suggest(d, x, []string{en.name + ".n"}, "")
	} else {
		d.Help = append(d.Help, "its field is `n`")
	}
	return l.invalid(x)
}

// arraySize returns the length of an array.
func (l *lowerer) arraySize(x syntax.Node, en *entry) *ir.Expr {
	return &ir.Expr{Op: ir.OpConst, Type: ir.I64, Int: int64(l.fn.Slots[en.slot].Len), Pos: x.Range()}
}

// arrayDomain returns the domain of all elements of an array.
func (l *lowerer) arrayDomain(word string, x syntax.Expr, en *entry, names []*syntax.Ident) ([]ir.Range, bool) {
	if en.typ == types.TInvalid {
		return nil, false
	}
	if len(names) != 1 {
		d := l.err("E0705", x, fmt.Sprintf("`%s` is an array and needs one index", en.name))
		d.Help = append(d.Help, fmt.Sprintf("write `%s i in %s`", word, en.name))
		return nil, false
	}
	return []ir.Range{{Lo: &ir.Expr{Op: ir.OpConst, Type: ir.I64, Pos: x.Range()}, Hi: l.arraySize(x, en), Over: -1, Pos: x.Range()}}, true
}

// reportArray reports an array that is used as a value.
func (l *lowerer) reportArray(at *syntax.Ident, what string) *diag.Diagnostic {
	return l.err("E0705", at, fmt.Sprintf("`%s` is an array, and %s", at.Name, what))
}

// wholeLocalArrayCall is wholeArrayCall for an array of the body.
func (l *lowerer) wholeLocalArrayCall(x *syntax.Call, name string, args []syntax.Expr) bool {
	fold, ok := foreignFolds[name]
	if !ok || len(args) != 1 {
		return false
	}
	en := l.localArray(args[0])
	if en == nil || fold == "" && (name == "dot" || name == "norm" || name == "mean" || name == "average") {
		return false
	}
	en.used = true
	if fold == "" {
		d := l.err("E0705", x, fmt.Sprintf("the length of `%s` is its field", en.name))
		l.suggest(d, x, []string{en.name + ".n"}, "")
		return true
	}
	d := l.err("E0705", x, fmt.Sprintf("a fold runs over the elements of `%s` in a codelet body", en.name))
	l.suggest(d, x, []string{fmt.Sprintf("%s k in %s { %s[k] }", fold, en.name, en.name)}, "")
	return true
}
