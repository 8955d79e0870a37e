package lower

// Functions that bodies can call.

import (
	"fmt"

	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// function describes a function of bodies.
type function struct {
	op       ir.Op
	min, max int    // number of arguments; max < 0: any
	float    bool   // computes in a float type
	form     string // the form of a call, for messages
}

func (f function) ok() bool { return f.form != "" }

// functions holds every function of bodies by name.
var functions = map[string]function{
	"abs":     {ir.OpAbs, 1, 1, false, "abs(x)"},
	"sqrt":    {ir.OpSqrt, 1, 1, true, "sqrt(x)"},
	"cbrt":    {ir.OpCbrt, 1, 1, true, "cbrt(x)"},
	"exp":     {ir.OpExp, 1, 1, true, "exp(x)"},
	"log":     {ir.OpLog, 1, 1, true, "log(x)"},
	"log2":    {ir.OpLog2, 1, 1, true, "log2(x)"},
	"sin":     {ir.OpSin, 1, 1, true, "sin(x)"},
	"cos":     {ir.OpCos, 1, 1, true, "cos(x)"},
	"tan":     {ir.OpTan, 1, 1, true, "tan(x)"},
	"tanh":    {ir.OpTanh, 1, 1, true, "tanh(x)"},
	"erf":     {ir.OpErf, 1, 1, true, "erf(x)"},
	"floor":   {ir.OpFloor, 1, 1, true, "floor(x)"},
	"ceil":    {ir.OpCeil, 1, 1, true, "ceil(x)"},
	"round":   {ir.OpRound, 1, 1, true, "round(x)"},
	"pow":     {ir.OpPow, 2, 2, true, "pow(x, y)"},
	"fma":     {ir.OpFMA, 3, 3, true, "fma(x, y, z)"},
	"min":     {ir.OpMin, 2, -1, false, "min(a, b)"},
	"max":     {ir.OpMax, 2, -1, false, "max(a, b)"},
	"select":  {ir.OpSelect, 3, 3, false, "select(condition, a, b)"},
	"complex": {ir.OpComplex, 1, 2, false, "complex(re, im)"},
	"re":      {ir.OpComplex, 1, 1, false, "re(z)"},
	"im":      {ir.OpComplex, 1, 1, false, "im(z)"},
	"conj":    {ir.OpComplex, 1, 1, false, "conj(z)"},
	"arg":     {ir.OpComplex, 1, 1, false, "arg(z)"},
	"int":     {ir.OpConvert, 1, 1, false, "int(x)"},
	"float":   {ir.OpConvert, 1, 1, false, "float(x)"},
}

// functionNames lists the functions in the order of the language's documentation, then the
// constants.
var functionNames = []string{"min", "max", "abs", "sqrt", "cbrt", "exp", "log", "log2", "pow", "sin", "cos", "tan",
	"tanh", "erf", "floor", "ceil", "round", "fma", "select", "complex", "re", "im", "conj", "arg", "int", "float", "pi", "inf"}

// scriptBuiltins are the predeclared names of scripts that bodies do not have.
var scriptBuiltins = map[string]bool{"print": true, "str": true, "save": true, "value": true, "len": true, "range": true,
	"grid": true, "close": true, "gate": true, "open": true, "ram": true, "gpu": true, "cuda": true, "opencl": true,
	"cpu": true, "disk": true, "numa": true, "nodes": true, "workers": true, "reducer": true, "busy": true}

func (l *lowerer) call(x *syntax.Call) *ir.Expr {
	id, ok := syntax.Unparen(x.Fn).(*syntax.Ident)
	if !ok || l.find(id.Name) == nil && (l.inlined != nil || !functions[id.Name].ok()) {
		if fn, file := l.calledFunc(x); fn != nil {
			return l.funcCall(x, fn, file)
		}
	}
	if l.arrayCall(x) != nil {
		d := l.err("E0609", x, "an array gets a name where it is made")
		d.Help = append(d.Help, "write `"+arrayForm+"`, and use its elements: `t[k]`")
		return l.invalid(x)
	}
	if call, en := l.rowCall(x); en != nil {
		for _, a := range call.Args {
			l.expr(a.Value)
		}
		l.reportRow(x, en)
		return l.invalid(x)
	}
	if !ok {
		if sel, isSel := syntax.Unparen(x.Fn).(*syntax.Selector); isSel && sel.Name != nil && len(x.Args) == 0 && l.wholeArrayCall(x, sel.Name.Name, []syntax.Expr{sel.X}) {
			return l.invalid(x)
		}
		for _, a := range x.Args {
			l.expr(a.Value)
		}
		if sel, isSel := syntax.Unparen(x.Fn).(*syntax.Selector); isSel {
			if base, isName := syntax.Unparen(sel.X).(*syntax.Ident); isName && l.find(base.Name) == nil {
				l.reportUndefined(base)
				return l.invalid(x)
			}
		}
		d := l.err("E0705", x.Fn, "this cannot be called in a codelet body")
		if _, number := syntax.Unparen(x.Fn).(*syntax.IntLit); number && len(x.Args) == 1 { // 2(x + 1)
			d.Help = append(d.Help, fmt.Sprintf("a product is written `%s * (%s)`", l.text(x.Fn), l.text(x.Args[0].Value)))
		}
		return l.invalid(x)
	}
	if en := l.find(id.Name); en != nil {
		en.used = true
		for _, a := range x.Args {
			l.expr(a.Value)
		}
		d := l.err("E0705", id, fmt.Sprintf("`%s` is %s and cannot be called", id.Name, en.description()))
		if en.kind == operandEntry && l.fn.Operands[en.operand].Kind.Rank() > 0 {
			d.Help = append(d.Help, fmt.Sprintf("elements are written `%s[%s]`", id.Name, ir.IndexNames(l.fn.Operands[en.operand].Kind)))
			if right := x.AsIndex(l.f.Source.Text); right != "" {
				d.Edit(l.f.At(x), right)
				d.Sure()
			}
		}
		return l.invalid(x)
	}
	fn := functions[id.Name]
	if len(x.Args) < 3 && (!fn.ok() || len(x.Args) == 1) {
		values := make([]syntax.Expr, len(x.Args))
		for k, a := range x.Args {
			values[k] = a.Value
		}
		if l.wholeArrayCall(x, id.Name, values) {
			return l.invalid(x)
		}
	}
	if !fn.ok() {
		for _, a := range x.Args {
			l.expr(a.Value)
		}
		l.reportUndefined(id)
		return l.invalid(x)
	}
	if l.check {
		id.Obj = functionObjects[id.Name]
		id.SetType(types.TInvalid)
		x.Callee = id.Obj
	}
	return l.function(x, id.Name, fn)
}

// functionObjects holds the objects of functions of bodies.
var functionObjects = func() map[string]*types.Object {
	m := map[string]*types.Object{}
	for n := range functions {
		m[n] = &types.Object{Name: n, Kind: types.BuiltinFunc, Type: types.TInvalid}
	}
	return m
}()

func (l *lowerer) function(x *syntax.Call, name string, fn function) *ir.Expr {
	args := make([]*ir.Expr, len(x.Args))
	fine := true
	for k, a := range x.Args {
		switch {
		case fn.op == ir.OpSelect && k == 0:
			args[k] = l.cond(a.Value)
		case fn.op == ir.OpSelect:
			args[k] = l.expr(a.Value)
		default:
			args[k] = l.number(a.Value, fmt.Sprintf("`%s`", name))
		}
		if a.Name != nil {
			l.err("E0705", a.Name, fmt.Sprintf("`%s` has no parameter `%s`", name, a.Name.Name)).Help = []string{"write `" + fn.form + "`"}
			fine = false
		}
		fine = fine && args[k].Op != ir.OpBad
	}
	if n := len(args); n < fn.min || fn.max >= 0 && n > fn.max {
		takes := ir.Counted(fn.min, "argument", "arguments")
		if fn.max < 0 {
			takes += " or more"
		}
		got := fmt.Sprintf("%d were given", n)
		switch n {
		case 0:
			got = "none was given"
		case 1:
			got = "one was given"
		}
		d := l.err("E0705", x, fmt.Sprintf("`%s` takes %s, and %s", name, takes, got))
		d.Help = append(d.Help, "write `"+fn.form+"`")
		fine = false
	}
	if !fine {
		return l.invalid(x)
	}
	if fn.op != ir.OpSelect {
		if e := l.complexFunction(x, name, args); e != nil {
			return e
		}
	}
	switch {
	case fn.op == ir.OpSelect:
		return l.choice(ir.OpSelect, args[0], args[1], args[2], x, "the two values of `select`")
	case name == "int":
		return l.explicitConversion(x, args[0], ir.I64)
	case name == "float":
		return l.explicitConversion(x, args[0], ir.F64)
	}
	t := commonType(args...)
	if fn.float && t.IsInt() {
		t = ir.F64
	}
	if kept, ok := l.minMaxType[x]; ok && kept.IsInt() && t.IsInt() {
		t = kept // for floats the result is the same without it, in the bits that a store keeps
	}
	for k := range args {
		args[k] = convert(args[k], t)
	}
	if fn.op == ir.OpMin || fn.op == ir.OpMax {
		e := args[0]
		for _, a := range args[1:] {
			e = &ir.Expr{Op: fn.op, Type: t, X: []*ir.Expr{e, a}, Pos: x.Span}
		}
		return e
	}
	return &ir.Expr{Op: fn.op, Type: t, X: args, Pos: x.Span}
}
