package opencl

// The source of kernels in OpenCL C.

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// commonSource defines the operations of bodies that OpenCL C lacks.
//
//go:embed common.cl
var commonSource string

// typeNames are the types of values in OpenCL C. A bool is an int, 0 or 1.
var typeNames = map[ir.Type]string{ir.I8: "char", ir.I16: "short", ir.I32: "int", ir.I64: "long", ir.U8: "uchar", ir.U16: "ushort", ir.U32: "uint", ir.U64: "ulong",
	ir.F32: "float", ir.F64: "double", ir.Bool: "int"}

// writer writes the kernel of one step.
type writer struct {
	fn      *ir.Func
	s       *step
	b       strings.Builder
	depth   int
	temps   int
	folds   map[*ir.Expr]string // the variables of folds that have been computed
	doubles bool
}

// sourceOf returns the source of steps, and whether they compute with doubles.
func sourceOf(fn *ir.Func, steps []*step) (string, bool) {
	var b strings.Builder
	doubles := false
	for _, s := range steps {
		w := &writer{fn: fn, s: s, folds: map[*ir.Expr]string{}}
		w.step()
		b.WriteString(w.b.String())
		doubles = doubles || w.doubles
	}
	head := ""
	if doubles {
		head = "#define DOUBLES\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
	}
	return head + commonSource + b.String(), doubles
}

func (w *writer) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("\t", w.depth))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *writer) typ(t ir.Type) string {
	w.doubles = w.doubles || t == ir.F64
	return typeNames[t]
}

func slotName(slot int) string        { return fmt.Sprintf("s%d", slot) }
func fieldParam(at fieldAt) string    { return fmt.Sprintf("f%d_%d", at.operand, at.field) }
func (w *writer) group() bool         { return w.s.domain == nil }
func (w *writer) elem(op int) ir.Type { return w.fn.Operands[op].Elem.Stored() }

// step writes the kernel. Its parameters have the order of Launch.Args.
func (w *writer) step() {
	s := w.s
	var params []string
	for _, op := range s.buffers {
		params = append(params, fmt.Sprintf("__global %s *p%d, long o%d", w.typ(w.elem(op)), op, op))
	}
	for k := range s.domain {
		params = append(params, fmt.Sprintf("long l%d, long n%d", k, k))
	}
	for _, f := range s.fields {
		params = append(params, "long "+fieldParam(f))
	}
	for _, slot := range s.scalars {
		params = append(params, w.typ(w.fn.Slots[slot].Type)+" "+slotName(slot))
	}
	if w.group() {
		params = append(params, "__local ulong *room")
	}
	w.line("__kernel void %s(%s) {", s.name, strings.Join(params, ", "))
	w.depth++
	if w.group() {
		w.line("const int me = (int)get_local_id(0), items = (int)get_local_size(0);")
	} else {
		w.line("long at = get_global_id(0);")
		total := make([]string, len(s.domain))
		for k := range s.domain {
			total[k] = fmt.Sprintf("n%d", k)
		}
		w.line("if (at >= %s) return;", strings.Join(total, " * "))
		for k := len(s.domain) - 1; k >= 0; k-- {
			slot := slotName(s.domain[k].Slot)
			if k == 0 {
				w.line("const long %s = l0 + at;", slot)
				break
			}
			w.line("const long %s = l%d + at %% n%d; at /= n%d;", slot, k, k, k)
		}
	}
	for _, st := range s.recomputed {
		w.stmt(st)
	}
	w.stmts(s.body)
	w.depth--
	w.line("}")
}

func (w *writer) stmts(list []*ir.Stmt) {
	for _, st := range list {
		w.stmt(st)
	}
}

func (w *writer) block(list []*ir.Stmt) {
	w.depth++
	w.stmts(list)
	w.depth--
}

func (w *writer) stmt(st *ir.Stmt) {
	switch st.Kind {
	case ir.SetStmt:
		w.foldsOf(st.Value)
		if n := w.fn.Slots[st.Slot].Len; n > 0 {
			w.temps++
			typ, t := w.typ(st.Value.Type), w.temps
			w.line("%s %s[%d];", typ, slotName(st.Slot), n)
			w.line("const %s t%d = %s;", typ, t, w.expr(st.Value))
			w.line("for (int k%d = 0; k%[1]d < %[2]d; k%[1]d++) %[3]s[k%[1]d] = t%[1]d;", t, n, slotName(st.Slot))
			return
		}
		typ := ""
		if st.Declare {
			typ = w.typ(w.fn.Slots[st.Slot].Type) + " "
		}
		w.line("%s%s = %s;", typ, slotName(st.Slot), w.expr(st.Value))
	case ir.ElementStmt:
		w.foldsOf(st.Index[0])
		w.foldsOf(st.Value)
		w.line("%s[%s] = %s;", slotName(st.Slot), w.expr(st.Index[0]), w.expr(st.Value))
	case ir.StoreStmt:
		for _, x := range st.Index {
			w.foldsOf(x)
		}
		w.foldsOf(st.Value)
		if !w.group() {
			w.line("%s = %s;", w.element(st.Operand, st.Index), w.expr(st.Value))
			return
		}
		// All items of the group read what the value depends on before one of them
		// writes it, and go on when it is written.
		w.temps++
		w.line("const %s t%d = %s;", w.typ(st.Value.Type), w.temps, w.expr(st.Value))
		w.line("barrier(CLK_GLOBAL_MEM_FENCE);")
		w.line("if (me == 0) %s = t%d;", w.element(st.Operand, st.Index), w.temps)
		w.line("barrier(CLK_GLOBAL_MEM_FENCE);")
	case ir.IfStmt:
		w.foldsOf(st.Value)
		w.line("if (%s) {", w.expr(st.Value))
		w.block(st.Body)
		if len(st.Else) > 0 {
			w.line("} else {")
			w.block(st.Else)
		}
		w.line("}")
	case ir.ForStmt:
		w.loop(&st.Domain[0])
		if st.Value != nil {
			w.line("\tif (!%s) break;", w.expr(st.Value))
		}
		w.block(st.Body)
		w.line("}")
	}
}

// loop writes the head of a loop over r, whose bounds are evaluated once.
func (w *writer) loop(r *ir.Range) {
	w.foldsOf(r.Lo)
	w.foldsOf(r.Hi)
	w.temps++
	t, v := w.temps, slotName(r.Slot)
	w.line("const long l%d_ = %s;", t, w.expr(r.Lo))
	w.line("ulong t%d = %s;", t, w.trips(r, fmt.Sprintf("l%d_", t)))
	w.line("for (long %s = l%d_; t%d > 0; t%d--, %s++) {", v, t, t, t, v)
}

// trips returns the number of rounds of r, whose first index is lo, as ir.Trips does: the last
// index may be the largest int, and the difference of the bounds no int.
func (w *writer) trips(r *ir.Range, lo string) string {
	closed := 0
	if r.Closed {
		closed = 1
	}
	return fmt.Sprintf("trips(%s, %s, %d)", lo, w.expr(r.Hi), closed)
}

// foldsOf writes the loops of the folds of e. expr uses their results.
func (w *writer) foldsOf(e *ir.Expr) {
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		if x.Op != ir.OpFold {
			return true
		}
		if w.group() {
			w.groupFold(x)
		} else {
			w.fold(x)
		}
		return false
	})
}

// fold writes a fold that one work-item computes.
func (w *writer) fold(x *ir.Expr) {
	w.temps++
	name := fmt.Sprintf("t%d", w.temps)
	w.line("%s %s = %s;", w.typ(x.Type), name, w.neutral(x))
	for k := range x.Domain {
		w.loop(&x.Domain[k])
		w.depth++
	}
	w.foldsOf(x.X[0])
	w.line("%s = %s;", name, w.join(x.Reduce, x.Type, name, w.expr(x.X[0])))
	for range x.Domain {
		w.depth--
		w.line("}")
	}
	w.folds[x] = name
}

// groupFold writes a fold that the work-group computes: each of n items folds every n-th round,
// and a tree combines their results, so the order depends on the numbers of rounds and of
// items alone.
func (w *writer) groupFold(x *ir.Expr) {
	w.temps++
	id := w.temps
	name, typ := fmt.Sprintf("t%d", id), w.typ(x.Type)
	w.line("%s %s = %s;", typ, name, w.neutral(x))
	total := []string{}
	for k := range x.Domain {
		r := &x.Domain[k]
		w.foldsOf(r.Lo)
		w.foldsOf(r.Hi)
		lo := fmt.Sprintf("l%d_%d", id, k)
		w.line("const long %s = %s, n%d_%d = (long)%s;", lo, w.expr(r.Lo), id, k, w.trips(r, lo))
		total = append(total, fmt.Sprintf("n%d_%d", id, k))
	}
	w.line("for (long a%d = me; a%d < %s; a%d += items) {", id, id, strings.Join(total, " * "), id)
	w.depth++
	w.line("long at = a%d;", id)
	for k := len(x.Domain) - 1; k >= 0; k-- {
		w.line("const long %s = l%d_%d + at %% n%d_%d; at /= n%d_%d;", slotName(x.Domain[k].Slot), id, k, id, k, id, k)
	}
	inner := &writer{fn: w.fn, s: &step{domain: x.Domain}, depth: w.depth, temps: w.temps, folds: w.folds}
	inner.foldsOf(x.X[0])
	inner.line("%s = %s;", name, inner.join(x.Reduce, x.Type, name, inner.expr(x.X[0])))
	w.b.WriteString(inner.b.String())
	w.temps, w.doubles = inner.temps, w.doubles || inner.doubles
	w.depth--
	w.line("}")
	at := func(i string) string { return fmt.Sprintf("((__local %s *)room)[%s]", typ, i) }
	w.line("%s = %s;", at("me"), name)
	w.line("barrier(CLK_LOCAL_MEM_FENCE);")
	w.line("for (int far = items / 2; far > 0; far /= 2) {")
	w.line("\tif (me < far) %s = %s;", at("me"), w.join(x.Reduce, x.Type, at("me"), at("me + far")))
	w.line("\tbarrier(CLK_LOCAL_MEM_FENCE);")
	w.line("}")
	w.line("%s = %s;", name, at("0"))
	w.line("barrier(CLK_LOCAL_MEM_FENCE);")
	w.folds[x] = name
}

// neutral returns the value of a fold over no round.
func (w *writer) neutral(x *ir.Expr) string {
	i, f := ir.Neutral(x.Reduce, x.Type)
	return w.constant(&ir.Expr{Type: x.Type, Int: i, Float: f})
}

func (w *writer) join(reduce ir.Op, t ir.Type, a, b string) string {
	return w.binary(reduce, t, a, b)
}

func (w *writer) element(op int, index []*ir.Expr) string {
	switch len(index) {
	case 0:
		return fmt.Sprintf("p%d[o%d]", op, op)
	case 1:
		return fmt.Sprintf("p%d[o%d + %s]", op, op, w.expr(index[0]))
	}
	if len(index) == 2 {
		return fmt.Sprintf("p%d[o%d + %s * %s + %s]", op, op, w.expr(index[0]), fieldParam(fieldAt{op, ir.FieldLD}), w.expr(index[1]))
	}
	at := ""
	for axis, x := range index[:len(index)-1] {
		at += fmt.Sprintf(" + %s * %s", w.expr(x), fieldParam(fieldAt{op, ir.FieldStride0 + ir.Field(axis)}))
	}
	return fmt.Sprintf("p%d[o%d%s + %s]", op, op, at, w.expr(index[len(index)-1]))
}

func (w *writer) constant(e *ir.Expr) string {
	typ := w.typ(e.Type)
	switch {
	case e.Type.IsFloat() && math.IsInf(e.Float, 0):
		sign := ""
		if e.Float < 0 {
			sign = "-"
		}
		return fmt.Sprintf("((%s)%sINFINITY)", typ, sign)
	case e.Type.IsFloat() && e.Float != e.Float:
		return fmt.Sprintf("((%s)NAN)", typ)
	case e.Type == ir.F32:
		return "(" + strconv.FormatFloat(e.Float, 'x', -1, 32) + "f)"
	case e.Type == ir.F64:
		return "(" + strconv.FormatFloat(e.Float, 'x', -1, 64) + ")"
	case e.Type == ir.Bool:
		return strconv.FormatInt(e.Int, 10)
	case e.Type == ir.U64:
		return fmt.Sprintf("%dUL", uint64(e.Int))
	case e.Int == math.MinInt64:
		return "LONG_MIN"
	case e.Type == ir.I64:
		return fmt.Sprintf("(%dL)", e.Int)
	}
	return fmt.Sprintf("((%s)%dL)", typ, e.Int)
}

// functionNames are the functions of OpenCL C that compute operations.
var functionNames = map[ir.Op]string{ir.OpSqrt: "sqrt", ir.OpCbrt: "cbrt", ir.OpExp: "exp", ir.OpLog: "log", ir.OpLog2: "log2", ir.OpSin: "sin", ir.OpCos: "cos",
	ir.OpTan: "tan", ir.OpTanh: "tanh", ir.OpErf: "erf", ir.OpFloor: "floor", ir.OpCeil: "ceil", ir.OpRound: "round", ir.OpFMA: "fma"}

var operatorSigns = map[ir.Op]string{ir.OpEq: "==", ir.OpNe: "!=", ir.OpLt: "<", ir.OpLe: "<=", ir.OpGt: ">", ir.OpGe: ">=", ir.OpAnd: "&&", ir.OpOr: "||"}

func (w *writer) expr(e *ir.Expr) string {
	switch e.Op {
	case ir.OpConst:
		return w.constant(e)
	case ir.OpSlot:
		return slotName(e.Slot)
	case ir.OpField:
		return fieldParam(fieldAt{e.Operand, e.Field})
	case ir.OpLoad:
		return w.element(e.Operand, e.X)
	case ir.OpElement:
		return fmt.Sprintf("%s[%s]", slotName(e.Slot), w.expr(e.X[0]))
	case ir.OpFold:
		return w.folds[e]
	}
	x := make([]string, len(e.X))
	for k, y := range e.X {
		x[k] = w.expr(y)
	}
	typ := w.typ(e.Type)
	if f := functionNames[e.Op]; f != "" {
		return fmt.Sprintf("%s(%s)", f, strings.Join(x, ", "))
	}
	if sign := operatorSigns[e.Op]; sign != "" {
		return fmt.Sprintf("(%s %s %s)", x[0], sign, x[1])
	}
	switch e.Op {
	case ir.OpConvert:
		if e.X[0].Type.IsFloat() && e.Type.IsInt() {
			return fmt.Sprintf("convert_%s_sat(%s)", typ, x[0])
		}
		return fmt.Sprintf("((%s)(%s))", typ, x[0])
	case ir.OpNeg:
		if e.Type.IsInt() {
			return w.binary(ir.OpSub, e.Type, "0", x[0])
		}
		return "(-" + x[0] + ")"
	case ir.OpFromF16, ir.OpFromBF16, ir.OpToF16, ir.OpToBF16:
		return fmt.Sprintf("%v(%s)", e.Op, x[0])
	case ir.OpNot:
		return "(!" + x[0] + ")"
	case ir.OpBitNot:
		return fmt.Sprintf("((%s)~%s)", typ, x[0])
	case ir.OpAbs:
		if e.Type.IsFloat() {
			return "fabs(" + x[0] + ")"
		}
		return fmt.Sprintf("abs_%s(%s)", typ, x[0])
	case ir.OpCond, ir.OpSelect:
		return fmt.Sprintf("((%s)(%s ? %s : %s))", typ, x[0], x[1], x[2])
	}
	return w.binary(e.Op, e.Type, x[0], x[1])
}

// binary returns an operation on two values of type t. Integers wrap.
func (w *writer) binary(op ir.Op, t ir.Type, a, b string) string {
	typ := w.typ(t)
	switch op {
	case ir.OpAdd, ir.OpSub, ir.OpMul:
		sign := map[ir.Op]string{ir.OpAdd: "+", ir.OpSub: "-", ir.OpMul: "*"}[op]
		if t.IsFloat() {
			return fmt.Sprintf("(%s %s %s)", a, sign, b)
		}
		wide := "uint"
		if t.Size() == 8 {
			wide = "ulong"
		}
		return fmt.Sprintf("((%s)((%s)%s %s (%s)%s))", typ, wide, a, sign, wide, b)
	case ir.OpBitAnd, ir.OpBitOr, ir.OpBitXor:
		sign := map[ir.Op]string{ir.OpBitAnd: "&", ir.OpBitOr: "|", ir.OpBitXor: "^"}[op]
		return fmt.Sprintf("((%s)(%s %s %s))", typ, a, sign, b)
	case ir.OpDiv:
		return fmt.Sprintf("(%s / %s)", a, b)
	}
	return fmt.Sprintf("%v_%s(%s, %s)", op, typ, a, b)
}
