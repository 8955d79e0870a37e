package lower

// The walk over a body, and the lowering of statements.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// maxDepth bounds the nesting of a body, so that recursive walks do not overflow the stack.
const maxDepth = 2000

// lowerer is the state of one walk over a body.
type lowerer struct {
	f          *syntax.File
	fn         *ir.Func
	outer      func(name string) *types.Object
	targs      map[byte]iface.Elem // nil: type parameters are open
	typeParams map[byte]bool       // of the signature
	check      bool                // set objects and types in the tree

	scope        *types.Scope[*entry]
	diags        diag.Diagnostics
	each         *syntax.Each // the innermost enclosing each
	depth        int
	tooDeep      bool          // the bound of nesting was reported
	assignTarget *syntax.Ident // the target of the assignment with = that is being lowered

	minMaxType map[*syntax.Call]ir.Type // of calls of min and max that keepsTarget recorded

	slotTypes map[int]ir.Type // the types of complex locals, by the first of their two slots, and of the elements of arrays of f16 and bf16
	folds     int             // folds around the expression that is being lowered

	prelude  []*ir.Stmt            // statements that come before the one that is being lowered
	loops    []*loop               // around it, the innermost last
	inlined  *inlined              // the func that it is in, nil in the body of the codelet
	calls    int                   // of funcs, so far
	badFuncs map[*syntax.Func]bool // funcs with an error that was reported
}

// Generic lowers the body of c with element-type parameters open. The representation is
// complete if no error is among the diagnostics. Generic sets Ident.Obj and the types of
// expressions in the body, and Operand.Obj if it is nil. outer finds names that are
// declared outside of f; it may be nil.
func Generic(f *syntax.File, c *syntax.Codelet, sig *types.Signature, outer func(name string) *types.Object) (*ir.Func, diag.Diagnostics) {
	l := newLowerer(f, sig, nil, true, outer)
	l.body(c, sig)
	return l.fn, l.diags
}

// Concrete lowers the body of c for the element types targs of the type parameters of sig.
// It does not change the tree. The diagnostics are the errors of these element types; the
// representation is complete if there are none.
func Concrete(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) (*ir.Func, diag.Diagnostics) {
	l := newLowerer(f, sig, targs, false, nil)
	l.body(c, sig)
	for k := range l.diags {
		l.diags[k].Notes = append(l.diags[k].Notes, elemNote(sig, targs)...)
	}
	return l.fn, l.diags
}

// elemNote returns a note for each type parameter of sig about its element type.
func elemNote(sig *types.Signature, targs map[byte]iface.Elem) []string {
	var notes []string
	seen := map[byte]bool{}
	for _, p := range sig.Params {
		if p.Type == nil || p.Type.Param == 0 || seen[p.Type.Param] {
			continue
		}
		seen[p.Type.Param] = true
		if e, ok := targs[p.Type.Param]; ok {
			notes = append(notes, fmt.Sprintf("`%c` is %v here", p.Type.Param, e))
		}
	}
	return notes
}

// newLowerer returns the walk over a body of f.
func newLowerer(f *syntax.File, sig *types.Signature, targs map[byte]iface.Elem, check bool, outer func(string) *types.Object) *lowerer {
	params := map[byte]bool{}
	for _, p := range sig.Params {
		if p.Type != nil && p.Type.Param != 0 {
			params[p.Type.Param] = true
		}
	}
	return &lowerer{f: f, outer: outer, targs: targs, typeParams: params, check: check, fn: &ir.Func{Name: sig.Name, Source: f.Source},
		badFuncs: map[*syntax.Func]bool{}, slotTypes: map[int]ir.Type{}}
}

// body lowers the body of c. l.fn is complete if no error was reported.
func (l *lowerer) body(c *syntax.Codelet, sig *types.Signature) {
	l.push()
	defer l.pop()
	for k, p := range c.Params {
		t := types.TInvalid
		if k < len(sig.Params) && sig.Params[k].Type != nil {
			t = sig.Params[k].Type
		}
		l.operand(p, t)
	}
	l.lengths(c)
	l.fn.Body = l.stmts(c.Body.Stmts)
}

// elemOf returns the type of the elements of t.
func (l *lowerer) elemOf(t *types.Type) ir.Type {
	if t.Param != 0 {
		if e, ok := l.targs[t.Param]; ok {
			return ir.Type(e)
		}
		return ir.Open
	}
	if t.Elem == iface.NoElem {
		return ir.Open
	}
	return ir.Type(t.Elem)
}

// operand enters one operand of the signature.
func (l *lowerer) operand(p *syntax.Operand, t *types.Type) {
	en := &entry{name: p.Name.Name, slot: -1, operand: -1, typ: t, used: true, decl: p.Name.Span}
	if t.Sparse() != nil && p.Mode != iface.NoMode {
		l.sparseOperand(p, t, en)
	} else if p.Mode != iface.NoMode {
		en.kind = operandEntry
		en.operand = len(l.fn.Operands)
		l.fn.Operands = append(l.fn.Operands, ir.Operand{Name: en.name, Kind: t.Data(), Elem: l.elemOf(t), Mode: p.Mode, Node: p})
		if l.elemOf(t).IsComplex() && t.Data().Rank() == iface.MaxRank {
			d := l.err("E0705", p, fmt.Sprintf("a body cannot work on a tensor of %d indices of %v: complex elements have at most %d indices there", iface.MaxRank, l.elemOf(t), iface.MaxRank-1))
			d.Help = append(d.Help, "use a tensor for each of the two parts")
		}
	} else {
		en.kind = scalarEntry
		vt := ir.Open
		switch t.Kind {
		case types.Int:
			vt = ir.I64
		case types.Float:
			vt = ir.F64
		case types.Complex:
			vt = ir.C128
		case types.Bool:
			vt = ir.Bool
		case types.Elem:
			vt = l.elemOf(t)
		}
		if t.Kind != types.String {
			en.slot = l.newSlot(ir.Slot{Name: en.name, Type: computed(vt), Elem: rounded(vt), Kind: ir.ScalarSlot, Decl: p.Name.Span})
		}
		l.fn.Scalars = append(l.fn.Scalars, en.slot)
		if vt.IsComplex() {
			l.fn.Scalars = append(l.fn.Scalars, en.slot+1)
		}
	}
	if l.check {
		if p.Obj == nil {
			kind := types.OperandObject
			if p.Mode == iface.NoMode {
				kind = types.ScalarObject
			}
			p.Obj = &types.Object{Name: en.name, Kind: kind, Type: t, Decl: l.f.At(p.Name)}
			p.Name.Obj = p.Obj
		}
		if p.Name.Type() == nil {
			p.Name.SetType(t)
		}
		en.obj = p.Obj
	}
	if l.scope.Names[en.name] == nil { // the checker reports repeated names of a signature
		l.scope.Insert(en.name, en)
	}
}

// newSlot returns a new local, or the first of the two of a complex value.
func (l *lowerer) newSlot(s ir.Slot) int {
	if t := s.Type; t.IsComplex() {
		s.Type = t.Part()
		first := l.newSlot(s)
		s.Imaginary = true
		l.newSlot(s)
		l.slotTypes[first] = t
		return first
	}
	if s.Type.Is16() || s.Type == ir.Bool && s.Len > 0 { // an array
		l.slotTypes[len(l.fn.Slots)] = s.Type
		s.Type = s.Type.Stored()
	}
	l.fn.Slots = append(l.fn.Slots, s)
	return len(l.fn.Slots) - 1
}

// enter counts a level of nesting. If there are too many, it reports that once and returns
// false.
func (l *lowerer) enter(n syntax.Node) bool {
	l.depth++
	if l.depth <= maxDepth {
		return true
	}
	if !l.tooDeep {
		l.tooDeep = true
		d := l.err("E0705", n, fmt.Sprintf("this is nested more than %d levels deep", maxDepth))
		d.Help = append(d.Help, "give inner parts a name with `let`")
	}
	return false
}

func (l *lowerer) leave() { l.depth-- }

// block lowers the statements of b in a scope of their own.
func (l *lowerer) block(b *syntax.Block) []*ir.Stmt {
	if b == nil {
		return nil
	}
	l.push()
	defer l.pop()
	return l.stmts(b.Stmts)
}

// stmt lowers a statement. It returns nil after an error.
func (l *lowerer) stmt(s syntax.Stmt) *ir.Stmt {
	switch s := s.(type) {
	case *syntax.Let:
		return l.let(s)
	case *syntax.Assign:
		return l.assign(s)
	case *syntax.If:
		return l.ifStmt(s)
	case *syntax.For:
		return l.forStmt(s)
	case *syntax.While:
		return l.whileStmt(s)
	case *syntax.Each:
		return l.eachStmt(s)
	case *syntax.ExprStmt:
		if l.expr(s.X).Op != ir.OpBad {
			d := l.err("E0105", s, "this computes a value and does nothing with it")
			d.Help = append(d.Help, "store it: `x[i] = ...`, or give it a name: `let v = ...`")
		}
	case *syntax.Block:
		return &ir.Stmt{Kind: ir.IfStmt, Value: boolConst(true, s.Span), Body: l.block(s), Pos: s.Span}
	case *syntax.Return:
		return l.returnStmt(s)
	case *syntax.Break:
		return l.jump(s, "break")
	case *syntax.Continue:
		return l.jump(s, "continue")
	default:
		d := l.err("E0105", s, "a codelet body cannot have this statement")
		d.Notes = append(d.Notes, "a body has `each`, `for`, `while`, `if`, `let` and assignments")
	}
	return nil
}

func (l *lowerer) let(s *syntax.Let) *ir.Stmt {
	if call := l.arrayCall(s.Value); call != nil {
		return l.letArray(s, call)
	}
	v := l.expr(s.Value)
	if s.Type != nil && l.inlined != nil && scalarType(s.Type) != ir.Open {
		v = l.toScalar(v, scalarType(s.Type), s.Value, "`"+s.Name.Name+"`")
	} else if s.Type != nil {
		d := l.err("E0105", s.Type, "`let` in a codelet body takes its type from its value")
		d.Help = append(d.Help, fmt.Sprintf("write `let %s = float(...)` or `int(...)`", s.Name.Name))
	}
	v = convert(v, v.Type) // a local has a type, even if its value is a literal
	slot := l.declare(s.Name, types.KernelLet, ir.Slot{Name: s.Name.Name, Type: v.Type, Kind: ir.LetSlot})
	if en := l.find(s.Name.Name); en != nil {
		en.value = s.Value
	}
	return l.assignParts(&ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: slot, Value: v, Pos: s.Span, Target: s.Name.Span})
}

// cond lowers a condition.
func (l *lowerer) cond(x syntax.Expr) *ir.Expr {
	e := l.expr(x)
	if e.Type != ir.Bool && e.Type != ir.Open {
		d := l.err("E0705", x, fmt.Sprintf("a condition must be a bool, and this is %s", withArticle(e.Type)))
		d.Help = append(d.Help, fmt.Sprintf("write `%s != 0`", l.text(x)))
		return l.invalid(x)
	}
	return e
}

func (l *lowerer) ifStmt(s *syntax.If) *ir.Stmt {
	st := &ir.Stmt{Kind: ir.IfStmt, Value: l.cond(s.Cond), Pos: s.Span}
	st.Body = l.block(s.Then)
	st.Else = l.elseOf(s)
	return st
}

func (l *lowerer) forStmt(s *syntax.For) *ir.Stmt {
	r, ok := l.rangeOf(s.In)
	l.push()
	defer l.pop()
	if len(s.Names) != 1 {
		d := l.err("E0705", s, "`for` in a codelet body has one name")
		d.Help = append(d.Help, "write one `for` inside another")
		ok = false
	}
	for _, n := range s.Names {
		r.Slot = l.declare(n, types.KernelFor, ir.Slot{Name: n.Name, Type: ir.I64, Kind: ir.IndexSlot})
	}
	body, in := l.loopBody(nil, s.Body)
	if !ok {
		return nil
	}
	goesOn := l.goesOn(in, s.Body, s.Span)
	if goesOn != nil {
		body = []*ir.Stmt{{Kind: ir.IfStmt, Value: goesOn, Body: body, Pos: s.Span}}
	}
	l.prelude = l.declared(&in.broken, l.prelude, s.Span)
	return &ir.Stmt{Kind: ir.ForStmt, Domain: []ir.Range{r}, Value: goesOn, Body: body, Pos: s.Span}
}

func (l *lowerer) eachStmt(s *syntax.Each) *ir.Stmt {
	nested := l.each != nil
	if nested {
		d := l.err("E0606", s.Head, "`each` inside `each`")
		d.Label = "the rounds of the outer `each` run at the same time already"
		d.Labels = append(d.Labels, diag.Label{Span: l.f.At(l.each.Head), Text: "the outer one"})
		d.Help = append(d.Help, "give one `each` several indices: `each i, j in 0..n, 0..m`, or use `for` inside")
	}
	dom, ok := l.domain("each", s, s.Names, s.Domain)
	l.push()
	defer l.pop()
	for k, n := range s.Names {
		slot := l.declare(n, types.EachVar, ir.Slot{Name: n.Name, Type: ir.I64, Kind: ir.IndexSlot})
		if k < len(dom) {
			dom[k].Slot = slot
		}
	}
	outer := l.each
	l.each = s
	body, _ := l.loopBody(s, s.Body)
	l.each = outer
	if !ok || nested {
		return nil
	}
	return &ir.Stmt{Kind: ir.EachStmt, Domain: dom, Body: body, Pos: s.Span, Head: s.Head}
}

// assign lowers an assignment.
func (l *lowerer) assign(s *syntax.Assign) *ir.Stmt {
	switch t := syntax.Unparen(s.Target).(type) {
	case *syntax.Ident:
		return l.assignName(s, t)
	case *syntax.Index:
		if l.missingEach(s, t) {
			return nil
		}
		if en := l.structsOf(t.X); en != nil {
			return l.assignStruct(s, t, en)
		}
		load := l.element(t, s.Op == "=")
		if load == nil {
			l.expr(s.Value)
			return nil
		}
		l.annotate(t, load)
		return l.store(s, load)
	case *syntax.Selector:
		if at, en := l.elementOfStructs(t.X); en != nil {
			load := l.structField(t, at, en)
			if load == nil {
				l.expr(s.Value)
				return nil
			}
			l.annotate(t, load)
			return l.store(s, load)
		}
		if load := l.lengthOf(t); load != nil {
			l.annotate(t, load)
			return l.store(s, load)
		}
	}
	d := l.err("E0204", s.Target, "this cannot be assigned")
	d.Label = "only elements, variables, `let` names and sizes can"
	if call, ok := syntax.Unparen(s.Target).(*syntax.Call); ok {
		if right := call.AsIndex(l.f.Source.Text); right != "" {
			d.Help = append(d.Help, "indices go into square brackets: `"+right+"`")
			d.Edit(l.f.At(call), right)
			d.Sure()
		}
	}
	l.expr(s.Value)
	return nil
}

func (l *lowerer) assignName(s *syntax.Assign, id *syntax.Ident) *ir.Stmt {
	if s.Op == "=" {
		l.assignTarget = id
	}
	en := l.lookup(id)
	l.assignTarget = nil
	if en == nil {
		l.expr(s.Value)
		return nil
	}
	if s.Op != "=" {
		en.used = true
	}
	switch en.kind {
	case operandEntry:
		op := &l.fn.Operands[en.operand]
		switch op.Kind {
		case iface.Variable:
			load := &ir.Expr{Op: ir.OpLoad, Type: op.Elem, Operand: en.operand, Pos: id.Span}
			l.annotate(id, load)
			return l.store(s, load)
		case iface.NoKind: // the checker reports the signature
		case iface.Void:
			l.err("E0705", id, fmt.Sprintf("`%s` is void and has no value", op.Name))
		default:
			d := l.err("E0705", id, fmt.Sprintf("`%s` is a %v, and a body writes its elements one by one", op.Name, op.Kind))
			if l.suggestEach(d, s, op) {
				return nil
			}
		}
	case letEntry:
		read := l.local(en.slot, id.Span)
		l.annotate(id, read)
		v := l.assignedValue(s, read)
		l.fn.Slots[en.slot].Assigned = true
		if read.Type.IsComplex() {
			l.fn.Slots[en.slot+1].Assigned = true
		}
		return l.assignParts(&ir.Stmt{Kind: ir.SetStmt, Slot: en.slot, Value: v, Update: s.Op, Pos: s.Span, Target: id.Span, Source: s.Value})
	case sparseEntry:
		l.reportSparse(id, en)
	case arrayEntry:
		d := l.reportArray(id, "a body writes its elements one by one")
		d.Help = append(d.Help, fmt.Sprintf("write `for k in 0..%[1]s.n { %[1]s[k] = ... }`", id.Name))
	default:
		d := l.err("E0204", id, fmt.Sprintf("`%s` is %s and cannot be assigned", id.Name, en.description()))
		d.Labels = append(d.Labels, diag.Label{Span: l.f.At(en.decl), Text: "declared here"})
		if en.kind == indexEntry && l.each != nil && len(l.each.Names) == 1 && len(l.each.Domain) == 1 && l.arrayOperand(l.each.Domain[0]) != nil {
			d.Help = append(d.Help, fmt.Sprintf("`%[2]s` counts the elements of `%[1]s`: write `%[1]s[%[2]s]`", l.arrayOperand(l.each.Domain[0]).Name, id.Name))
		} else if en.kind == scalarEntry {
			d.Help = append(d.Help, fmt.Sprintf("copy it first: `let v = %s`, and change `v`", id.Name))
		} else {
			d.Help = append(d.Help, "give the value another name with `let`")
		}
	}
	l.expr(s.Value)
	return nil
}

// store returns the statement that assigns to the element of load.
func (l *lowerer) store(s *syntax.Assign, load *ir.Expr) *ir.Stmt {
	v := l.assignedValue(s, load)
	if load.Op == ir.OpElement {
		return l.assignParts(&ir.Stmt{Kind: ir.ElementStmt, Slot: load.Slot, Index: load.X, Value: v, Update: s.Op, Pos: s.Span, Target: s.Target.Range(), Source: s.Value})
	}
	op := &l.fn.Operands[load.Operand]
	if en := l.structureOf(load.Operand); en != nil {
		kind := en.typ.Sparse().Name
		d := l.err("E0603", s.Target, fmt.Sprintf("`%s` is part of the structure of a %s, and this writes it", op.Name, kind))
		d.Help = append(d.Help, fmt.Sprintf("a task changes values of a %s: `.val`", kind))
	} else {
		l.writable(s.Target, load.Operand)
	}
	return l.assignParts(&ir.Stmt{Kind: ir.StoreStmt, Operand: load.Operand, Index: load.X, Value: v, Update: s.Op, Pos: s.Span, Target: s.Target.Range(), Source: s.Value})
}

// assignedValue lowers the value of an assignment, converted to the type of the target.
func (l *lowerer) assignedValue(s *syntax.Assign, target *ir.Expr) *ir.Expr {
	if s.Op == "=" {
		l.keepsTarget(s.Value, syntax.Unparen(s.Target), computed(target.Type))
	}
	v := l.expr(s.Value)
	if s.Op != "=" {
		v = l.arith(s.Op[:len(s.Op)-1], l.loaded(target), v, s, s.Target, s.Value)
	}
	v = l.convertForStore(s, v, target.Type)
	if target.Type == ir.Bool && v.Type == ir.Bool && target.Op != ir.OpSlot {
		return packedBool(v)
	}
	return v
}

// report adds a diagnostic. The pointer is valid until the next call.
func (l *lowerer) report(code string, sev diag.Severity, at syntax.Node, msg string) *diag.Diagnostic {
	l.diags = append(l.diags, diag.Diagnostic{Code: code, Severity: sev, Message: msg, Span: l.f.At(at)})
	return &l.diags[len(l.diags)-1]
}

func (l *lowerer) err(code string, at syntax.Node, msg string) *diag.Diagnostic {
	return l.report(code, diag.Error, at, msg)
}

// text returns the source of n, on one line.
func (l *lowerer) text(n syntax.Node) string { return ir.SourceText(l.f.Source, n.Range()) }

// operandText is text, in parentheses if x is an operation.
func (l *lowerer) operandText(x syntax.Expr) string {
	switch x.(type) {
	case *syntax.Binary, *syntax.Cond, *syntax.Unary:
		return "(" + l.text(x) + ")"
	}
	return l.text(x)
}

// invalid returns the expression of n after an error.
func (l *lowerer) invalid(n syntax.Node) *ir.Expr {
	return &ir.Expr{Op: ir.OpBad, Type: ir.Open, Pos: n.Range()}
}

// annotate sets the type of x in the tree if l.check is set.
func (l *lowerer) annotate(x syntax.Expr, e *ir.Expr) {
	if !l.check {
		return
	}
	t := languageType(e.Type)
	if e.Op == ir.OpLoad && e.Type == ir.Open {
		if n := l.fn.Operands[e.Operand].Node; n != nil && n.Obj != nil && n.Obj.Type != nil && n.Obj.Type.Param != 0 {
			t = &types.Type{Kind: types.Elem, Param: n.Obj.Type.Param}
		}
	}
	if i, ok := x.(*syntax.Index); ok && e.Op == ir.OpElement && e.Type == ir.Open {
		if en := l.localArray(i.X); en != nil && en.typ.Of != nil {
			t = en.typ.Of
		}
	}
	x.SetType(t)
}
