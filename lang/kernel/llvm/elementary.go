package llvm

// Elementary functions, from the programs of package elementary, and the remainder of floats.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// elementary writes the call of an elementary function of floats.
func (w *writer) elementary(name string, args ...value) value {
	t := args[0].typ
	p := elementary.Lookup(name, int(8*t.Size()))
	if p == nil {
		panic(unsupported{"the function " + name})
	}
	width := 0
	for _, a := range args {
		width = max(width, a.width)
	}
	for k := range args {
		args[k] = w.spread(args[k], width)
	}
	return value{w.callProgram(p, width, args), t, width}
}

// callProgram writes the call of a program, and its function at the first call.
func (w *writer) callProgram(p *elementary.Program, width int, args []value) string {
	name := fmt.Sprintf("%s.%d", p.Name, width)
	if _, done := w.programs[name]; !done {
		w.programs[name] = ""
		w.programs[name] = w.program(name, p, width)
	}
	var texts []string
	for _, a := range args {
		texts = append(texts, a.text())
	}
	return w.ins("call %s @%s(%s)", args[0].llvm(), name, strings.Join(texts, ", "))
}

// programTypes are the types of package elementary.
var programTypes = map[elementary.Type]ir.Type{elementary.F64: ir.F64, elementary.F32: ir.F32, elementary.I64: ir.I64, elementary.Bool: ir.Bool}

// programOps are the operations that are one instruction of the same operands.
var programOps = map[elementary.Op]string{
	elementary.FAdd: "fadd", elementary.FSub: "fsub", elementary.FMul: "fmul", elementary.FDiv: "fdiv",
	elementary.IAdd: "add", elementary.ISub: "sub", elementary.IMul: "mul", elementary.IAnd: "and", elementary.IOr: "or",
	elementary.IXor: "xor", elementary.Shl: "shl", elementary.ShrU: "lshr", elementary.ShrS: "ashr",
	elementary.And: "and", elementary.Or: "or",
}

var programCompares = map[elementary.Op]string{
	elementary.FEq: "fcmp oeq", elementary.FNe: "fcmp une", elementary.FLt: "fcmp olt", elementary.FLe: "fcmp ole",
	elementary.IEq: "icmp eq", elementary.INe: "icmp ne", elementary.ILtU: "icmp ult",
}

// program returns the text of the function for a program, for scalars or width lanes.
func (w *writer) program(name string, p *elementary.Program, width int) string {
	// the function has a text of its own, and shares declarations, helpers and names
	code, count := w.code, w.count
	w.code = strings.Builder{}
	defer func() { w.code, w.count = code, count }()
	var params []string
	for k, t := range p.Params {
		params = append(params, fmt.Sprintf("%s %%p%d", llvmType(programTypes[t], width), k))
	}
	result := llvmType(programTypes[p.Params[0]], width)
	values := make([]value, len(p.Code))
	for k, in := range p.Code {
		a := func(n int) value { return values[in.Args[n]] }
		t := programTypes[in.Type]
		v := value{}
		switch in.Op {
		case elementary.Param:
			v = value{fmt.Sprintf("%%p%d", in.Bits), t, width}
		case elementary.Const:
			v = value{name: intText(int64(in.Bits), t), typ: t}
			if t == ir.F64 {
				v.name = fmt.Sprintf("0x%016X", in.Bits)
			}
			v = w.spread(v, width)
		case elementary.FMA:
			v = w.call("llvm.fma", t, a(0), a(1), a(2))
		case elementary.FNeg:
			v = value{w.ins("fneg %s", a(0).text()), t, width}
		case elementary.FAbs:
			v = w.call("llvm.fabs", t, a(0))
		case elementary.Widen:
			v = w.cast("fpext", a(0), t)
		case elementary.Narrow:
			v = w.cast("fptrunc", a(0), t)
		case elementary.ToBits, elementary.FromBits:
			v = w.cast("bitcast", a(0), t)
		case elementary.IntToFloat:
			const magic = 0x1.8p52 // plus an integer below 2^51, as bits, is the float of both
			sum := w.binary("add", a(0), w.spread(intValue(0x4338000000000000), width))
			v = w.binary("fsub", w.cast("bitcast", sum, t), constant(t, 0, magic))
		case elementary.IMulHigh:
			v = w.mulHigh(a(0), a(1))
		case elementary.Not:
			v = w.not(a(0))
		case elementary.Select:
			v = w.choose(a(0), a(1), a(2))
		case elementary.TableAt:
			v = w.tableAt(int(in.Bits), a(0), t)
		default:
			if op, ok := programCompares[in.Op]; ok {
				v = w.compare(op, a(0), a(1))
			} else if op, ok := programOps[in.Op]; ok {
				v = w.binary(op, a(0), a(1))
			} else {
				panic(unsupported{"the operation " + in.Op.String()})
			}
		}
		values[k] = v
	}
	r := values[p.Result]
	if p.Guard >= 0 {
		var args []value
		for k, t := range p.Params {
			args = append(args, value{fmt.Sprintf("%%p%d", k), programTypes[t], width})
		}
		rare := values[p.Guard]
		slow, end := w.label("slow"), w.label("end")
		w.rarely(w.any(rare), slow, end)
		from := "entry"
		w.start(slow)
		s := w.choose(rare, value{w.callProgram(p.Slow, width, args), r.typ, width}, r)
		w.jump(end)
		w.start(end)
		r.name = w.ins("phi %s [ %s, %%%s ], [ %s, %%%s ]", r.llvm(), r.name, from, s.name, slow)
	}
	w.emit("ret %s", r.text())
	how := "alwaysinline"
	if strings.Contains(p.Name, "Huge") {
		how = "noinline cold"
	}
	return fmt.Sprintf("define internal %s @%s(%s) %s #0 {\nentry:\n%s}\n", result, name, strings.Join(params, ", "), how, w.code.String())
}

// mulHigh returns the upper half of an unsigned product of 128 bits.
func (w *writer) mulHigh(x, y value) value {
	wide := "i128"
	by := "64"
	if x.width > 0 {
		wide = fmt.Sprintf("<%d x i128>", x.width)
		by = "<" + strings.Repeat(", i128 64", x.width)[2:] + ">"
	}
	a, b := w.ins("zext %s to %s", x.text(), wide), w.ins("zext %s to %s", y.text(), wide)
	high := w.ins("lshr %s %s, %s", wide, w.ins("mul %s %s, %s", wide, a, b), by)
	return value{w.ins("trunc %s %s to %s", wide, high, x.llvm()), ir.I64, x.width}
}

// tableAt returns elements of a table of package elementary.
func (w *writer) tableAt(table int, at value, t ir.Type) value {
	data := &elementary.Tables[table]
	name := fmt.Sprintf("@%s.%d", data.Name, table)
	if w.programs[name] == "" {
		var list []string
		for _, f := range data.Floats {
			list = append(list, "double "+floatText(f, ir.F64))
		}
		for _, n := range data.Ints {
			list = append(list, "i64 "+intText(int64(n), ir.I64))
		}
		w.programs[name] = fmt.Sprintf("%s = internal constant [%d x %s] [%s], align 64\n", name, len(list), scalarType(t), strings.Join(list, ", "))
	}
	ptr := w.ins("getelementptr %s, ptr %s, %s", scalarType(t), name, at.text())
	if at.width == 0 {
		return value{w.ins("load %s, ptr %s, align 8", scalarType(t), ptr), t, 0}
	}
	return w.gather(ptr, t, w.spread(constant(ir.Bool, 1, 0), at.width))
}

// remainder writes % of floats, with the sign of the divisor.
func (w *writer) remainder(x, y value) value {
	t := x.typ
	width := max(x.width, y.width)
	x, y = w.spread(w.convert(x, ir.F64), width), w.spread(w.convert(y, ir.F64), width)
	w.helpers[remainderHelper] = true
	w.declare("llvm.fabs.f64", "double", "double")
	w.declare("llvm.ctlz.i64", "i64", "i64", "i1")
	r := value{typ: ir.F64, width: width, name: "poison"}
	for k := range max(width, 1) {
		lane := fmt.Sprint(k)
		one := w.ins("call double @remainder(%s, %s)", w.lane(x, lane).text(), w.lane(y, lane).text())
		if width == 0 {
			r.name = one
			break
		}
		r.name = w.ins("insertelement %s, double %s, i64 %d", r.text(), one, k)
	}
	r = w.convert(r, t)
	y = w.convert(y, t)
	none := constant(t, 0, 0)
	differ := w.binary("xor", w.compare("fcmp olt", r, none), w.compare("fcmp olt", y, none))
	off := w.binary("and", w.compare("fcmp une", r, none), differ)
	return w.choose(off, w.binary("fadd", r, y), r)
}

// remainderHelper is the text of a function that computes math.Mod: the remainder of x by y
// with the sign of x, which is exact. It subtracts shifted multiples of y, a bit of the quotient
// at a time, as fmod of musl does.
const remainderHelper = `define internal double @remainder(double %x, double %y) #0 {
entry:
  %xbits = bitcast double %x to i64
  %ybits = bitcast double %y to i64
  %a = and i64 %xbits, 9223372036854775807
  %b = and i64 %ybits, 9223372036854775807
  %sign = xor i64 %xbits, %a
  %xbad = icmp uge i64 %a, 9218868437227405312
  %ybad = icmp ugt i64 %b, 9218868437227405312
  %yzero = icmp eq i64 %b, 0
  %bad1 = or i1 %xbad, %ybad
  %bad = or i1 %bad1, %yzero
  br i1 %bad, label %nan, label %ordinary
nan:
  ret double 0x7FF8000000000001
ordinary:
  %less = icmp ult i64 %a, %b
  br i1 %less, label %same, label %start
same:
  ret double %x
start:
  %ae0 = lshr i64 %a, 52
  %be0 = lshr i64 %b, 52
  %am0 = and i64 %a, 4503599627370495
  %bm0 = and i64 %b, 4503599627370495
  %an = or i64 %am0, 4503599627370496
  %bn = or i64 %bm0, 4503599627370496
  %az = call i64 @llvm.ctlz.i64(i64 %am0, i1 false)
  %bz = call i64 @llvm.ctlz.i64(i64 %bm0, i1 false)
  %as = sub i64 %az, 11
  %bs = sub i64 %bz, 11
  %asub = icmp eq i64 %ae0, 0
  %bsub = icmp eq i64 %be0, 0
  %ash = select i1 %asub, i64 %as, i64 0
  %bsh = select i1 %bsub, i64 %bs, i64 0
  %asm = shl i64 %am0, %ash
  %bsm = shl i64 %bm0, %bsh
  %am = select i1 %asub, i64 %asm, i64 %an
  %bm = select i1 %bsub, i64 %bsm, i64 %bn
  %ae1 = sub i64 1, %ash
  %be1 = sub i64 1, %bsh
  %ae = select i1 %asub, i64 %ae1, i64 %ae0
  %be = select i1 %bsub, i64 %be1, i64 %be0
  br label %loop
loop:
  %m = phi i64 [ %am, %start ], [ %m3, %next ]
  %e = phi i64 [ %ae, %start ], [ %e2, %next ]
  %d = sub i64 %m, %bm
  %neg = icmp slt i64 %d, 0
  %m2 = select i1 %neg, i64 %m, i64 %d
  %more = icmp sgt i64 %e, %be
  br i1 %more, label %next, label %done
next:
  %m3 = shl i64 %m2, 1
  %e2 = sub i64 %e, 1
  br label %loop
done:
  %zero = icmp eq i64 %m2, 0
  br i1 %zero, label %none, label %norm
none:
  %z = bitcast i64 %sign to double
  ret double %z
norm:
  %lz = call i64 @llvm.ctlz.i64(i64 %m2, i1 false)
  %sh = sub i64 %lz, 11
  %rm = shl i64 %m2, %sh
  %re = sub i64 %be, %sh
  %small = icmp slt i64 %re, 1
  %down0 = sub i64 1, %re
  %down = select i1 %small, i64 %down0, i64 0
  %rsub = lshr i64 %rm, %down
  %re52 = shl i64 %re, 52
  %rfrac = and i64 %rm, 4503599627370495
  %rnorm = or i64 %re52, %rfrac
  %rabs = select i1 %small, i64 %rsub, i64 %rnorm
  %rbits = or i64 %rabs, %sign
  %r = bitcast i64 %rbits to double
  ret double %r
}
`
