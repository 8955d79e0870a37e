package llvm

// The text of a function.

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// entryName is the name of the function that a body becomes. Its one parameter is the address
// of the words of a run (see kernel.go); it returns one of the results ended to stopped.
const entryName = "kernel"

// maxInstructions bounds the text of a body. Larger bodies run in strips.
const maxInstructions = 60_000

// unsupported is the panic of a body that this back end cannot compile.
type unsupported struct{ why string }

// fault is an operation that may end a run.
type fault struct {
	kind faultKind
	at   *ir.Expr
	axis int
}

type faultKind uint8

const (
	outOfBounds faultKind = iota
	zeroDivision
	negativePower
)

// writer writes the function of one body.
type writer struct {
	fn     *ir.Func
	order  *cpu.Order
	faults []fault

	entry      strings.Builder // allocations, and what runs once
	code       strings.Builder
	declares   map[string]string // declarations by name
	helpers    map[string]bool
	programs   map[string]string // functions and tables of package elementary, by name
	names      int
	count      int    // instructions
	block      string // the current basic block
	locals     map[local]string
	operands   map[int]*operand
	lets       map[int]*ir.Expr  // values of locals that are assigned once
	nest       *nest             // the current nest of loops
	certain    map[*ir.Expr]bool // elements of arrays that are known to be in bounds
	arrayBytes int               // of the memory of arrays
	elements   map[*ir.Stmt]*ir.Expr
	loaded     map[*ir.Expr]value // indices that the current round need not load, see precheck.loaded
	rows       map[int]bool       // locals that rows of lanes, written side by side, have each for itself
	known      map[*ir.Expr]limits
	notes      []Note
	row        int     // the current of these rows
	thread     *thread // of a kernel for devices; nil on the processor
}

// local is the memory of a local: one for its value as a scalar, or in the first lane, and
// one for its values in lanes.
type local struct {
	slot  int
	width int // 0: a scalar
	row   int // see writer.rows
}

// operand is what a body knows of a data operand: names of values of the entry block.
type operand struct {
	ptr    string
	dim    [iface.MaxRank]string
	stride [iface.MaxRank - 1]string // along the indices before the last
	off    [iface.MaxRank]string
	row    string // the field ld
}

// value is a scalar, or the values of the lanes.
type value struct {
	name  string
	typ   ir.Type
	width int // 0: a scalar
}

// place is where an expression or a statement runs.
type place struct {
	lanes   *lanes // nil: in scalar code
	mask    string // the lanes that run, a vector of i1; "": all
	checked bool   // elements are checked, even if the nest has been found in bounds
	first   bool   // ints that grow from lane to lane have their value in the first
	onFault string // the block where lanes go on if an operation in them fails; "": the run ends
}

// emit writes an instruction without a result.
func (w *writer) emit(format string, args ...any) {
	if w.count++; w.count > maxInstructions {
		panic(unsupported{"the body is too large"})
	}
	fmt.Fprintf(&w.code, "  "+format+"\n", args...)
}

// ins writes an instruction and returns the name of its result.
func (w *writer) ins(format string, args ...any) string {
	name := w.name()
	w.emit("%s = %s", name, fmt.Sprintf(format, args...))
	return name
}

func (w *writer) name() string {
	w.names++
	return fmt.Sprintf("%%v%d", w.names)
}

// label returns the name of a new basic block.
func (w *writer) label(of string) string {
	w.names++
	return fmt.Sprintf("%s%d", of, w.names)
}

// start begins a basic block.
func (w *writer) start(label string) {
	fmt.Fprintf(&w.code, "%s:\n", label)
	w.block = label
}

// jump ends the current block with a jump.
func (w *writer) jump(label string) { w.emit("br label %%%s", label) }

// branch ends the current block with a branch on an i1.
func (w *writer) branch(cond, yes, no string) {
	w.emit("br i1 %s, label %%%s, label %%%s", cond, yes, no)
}

// rarely is branch where cond seldom holds.
func (w *writer) rarely(cond, yes, no string) {
	w.emit("br i1 %s, label %%%s, label %%%s, !prof !0", cond, yes, no)
}

// alloca returns the address of new memory for values of an LLVM type. Optimisation makes
// registers of it.
func (w *writer) alloca(typ string) string {
	name := w.name()
	fmt.Fprintf(&w.entry, "  %s = alloca %s\n", name, typ)
	return name
}

// declare makes an external function known.
func (w *writer) declare(name, result string, params ...string) string {
	w.declares[name] = fmt.Sprintf("declare %s @%s(%s)", result, name, strings.Join(params, ", "))
	return name
}

// scalarType returns the LLVM type of single values of t.
func scalarType(t ir.Type) string {
	switch t {
	case ir.Bool:
		return "i1"
	case ir.F32:
		return "float"
	case ir.F64:
		return "double"
	}
	return fmt.Sprintf("i%d", 8*t.Size())
}

// llvmType returns the LLVM type of values of t, in width lanes if that is not 0.
func llvmType(t ir.Type, width int) string {
	if width == 0 {
		return scalarType(t)
	}
	return fmt.Sprintf("<%d x %s>", width, scalarType(t))
}

// suffix returns the part of the name of an intrinsic that gives a type.
func suffix(t ir.Type, width int) string {
	s := ""
	switch t {
	case ir.F32:
		s = "f32"
	case ir.F64:
		s = "f64"
	default:
		s = scalarType(t)
	}
	if width > 0 {
		s = fmt.Sprintf("v%d%s", width, s)
	}
	return s
}

func (v value) llvm() string { return llvmType(v.typ, v.width) }

// text returns the type and the name of v, as an argument.
func (v value) text() string { return v.llvm() + " " + v.name }

// intText returns the text of an integer constant of type t.
func intText(v int64, t ir.Type) string {
	if t == ir.Bool {
		if v != 0 {
			return "true"
		}
		return "false"
	}
	return fmt.Sprint(v)
}

// floatText returns the text of a float constant of type t.
func floatText(v float64, t ir.Type) string {
	if t == ir.F32 {
		v = float64(float32(v))
	}
	return fmt.Sprintf("0x%016X", math.Float64bits(v))
}

// constant returns a constant, an int or a float as t is.
func constant(t ir.Type, i int64, f float64) value {
	if t.IsFloat() {
		return value{name: floatText(f, t), typ: t}
	}
	return value{name: intText(i, t), typ: t}
}

func intValue(i int64) value { return value{name: intText(i, ir.I64), typ: ir.I64} }

// isConstant reports whether the scalar v is a constant.
func (v value) isConstant() bool { return v.width == 0 && v.name[0] != '%' }

// spread returns v in width lanes.
func (w *writer) spread(v value, width int) value {
	switch {
	case v.width == width || width == 0:
		return v
	case v.isConstant():
		list := strings.Repeat(", "+v.text(), width)
		return value{"<" + list[2:] + ">", v.typ, width}
	}
	to := llvmType(v.typ, width)
	one := w.ins("insertelement %s poison, %s, i64 0", to, v.text())
	return value{w.ins("shufflevector %s %s, %s poison, <%d x i32> zeroinitializer", to, one, to, width), v.typ, width}
}

// zero returns zeros of type t.
func zero(t ir.Type, width int) value {
	if width > 0 {
		return value{"zeroinitializer", t, width}
	}
	return constant(t, 0, 0)
}

// ramp returns first, first+growth, … in width lanes.
func (w *writer) ramp(first string, growth int64, width int) value {
	var list []string
	for k := range width {
		list = append(list, fmt.Sprintf("i64 %d", int64(k)*growth))
	}
	typ := llvmType(ir.I64, width)
	base := w.spread(value{name: first, typ: ir.I64}, width)
	return value{w.ins("add %s %s, <%s>", typ, base.name, strings.Join(list, ", ")), ir.I64, width}
}

// binary writes an instruction of two operands of the same type.
func (w *writer) binary(op string, x, y value) value {
	width := max(x.width, y.width)
	x, y = w.spread(x, width), w.spread(y, width)
	return value{w.ins("%s %s %s, %s", op, x.llvm(), x.name, y.name), x.typ, width}
}

// compare is binary for icmp and fcmp.
func (w *writer) compare(op string, x, y value) value {
	v := w.binary(op, x, y)
	v.typ = ir.Bool
	return v
}

// choose returns x where cond holds and y elsewhere.
func (w *writer) choose(cond, x, y value) value {
	width := max(cond.width, x.width, y.width)
	x, y = w.spread(x, width), w.spread(y, width)
	if cond.width > 0 {
		cond = w.spread(cond, width)
	}
	return value{w.ins("select %s, %s, %s", cond.text(), x.text(), y.text()), x.typ, width}
}

// call calls an intrinsic whose name ends in the type of its first argument.
func (w *writer) call(name string, result ir.Type, args ...value) value {
	width := 0
	for _, a := range args {
		width = max(width, a.width)
	}
	var types, texts []string
	for _, a := range args {
		a = w.spread(a, width)
		types, texts = append(types, a.llvm()), append(texts, a.text())
	}
	to := llvmType(result, width)
	full := w.declare(name+"."+suffix(args[0].typ, width), to, types...)
	return value{w.ins("call %s @%s(%s)", to, full, strings.Join(texts, ", ")), result, width}
}

// cast writes a conversion instruction.
func (w *writer) cast(op string, x value, t ir.Type) value {
	return value{w.ins("%s %s to %s", op, x.text(), llvmType(t, x.width)), t, x.width}
}

// not returns the negation of a bool.
func (w *writer) not(x value) value { return w.binary("xor", x, constant(ir.Bool, 1, 0)) }

// both returns whether x and y hold. A mask "" means all lanes.
func (w *writer) both(mask string, x value) value {
	if mask == "" {
		return x
	}
	return w.binary("and", value{mask, ir.Bool, x.width}, x)
}

// any returns whether x holds in a lane, as an i1.
func (w *writer) any(x value) string {
	if x.width == 0 {
		return x.name
	}
	bits := w.ins("bitcast %s to i%d", x.text(), x.width)
	return w.ins("icmp ne i%d %s, 0", x.width, bits)
}

// firstLane returns the first lane in which x holds, an i64.
func (w *writer) firstLane(x value) string {
	bits := w.ins("bitcast %s to i%d", x.text(), x.width)
	f := w.declare(fmt.Sprintf("llvm.cttz.i%d", x.width), fmt.Sprintf("i%d", x.width), fmt.Sprintf("i%d", x.width), "i1")
	n := w.ins("call i%d @%s(i%d %s, i1 true)", x.width, f, x.width, bits)
	if x.width == 64 {
		return n
	}
	return w.ins("zext i%d %s to i64", x.width, n)
}

// lane returns the value of x in a lane, an i64.
func (w *writer) lane(x value, lane string) value {
	if x.width == 0 {
		return x
	}
	return value{w.ins("extractelement %s, i64 %s", x.text(), lane), x.typ, 0}
}

// memory returns the address of a local's memory.
func (w *writer) memory(slot, width int) string {
	key := local{slot: slot, width: width}
	if w.rows[slot] {
		key.row = w.row
	}
	p, ok := w.locals[key]
	if !ok {
		typ := llvmType(w.fn.Slots[slot].Type, width)
		place, carried := 0, false
		if w.fn.Slots[slot].Len > 0 {
			typ = w.arrayType(slot, width)
			if w.thread != nil {
				place, carried = w.thread.frame[slot]
			}
		}
		if carried {
			p = w.name()
			fmt.Fprintf(&w.entry, "  %s = getelementptr i64, ptr %s, i64 %d\n", p, w.global("%frame"), place)
		} else {
			p = w.alloca(typ)
		}
		w.locals[key] = p
	}
	return p
}

// get returns the value of a local, which in lanes where it is affine is that of the first.
func (w *writer) get(slot, width int) value {
	t := w.fn.Slots[slot].Type
	return value{w.ins("load %s, ptr %s", llvmType(t, width), w.memory(slot, width)), t, width}
}

func (w *writer) set(slot int, v value) {
	w.emit("store %s, ptr %s", v.text(), w.memory(slot, v.width))
}

// guard ends the run with fault f where bad holds: with the number v of that lane.
func (w *writer) guard(p place, bad value, f fault, v value) {
	if bad.width > 0 {
		bad = w.both(p.mask, bad)
	}
	if p.onFault != "" {
		next := w.label("next")
		w.rarely(w.any(bad), p.onFault, next)
		w.start(next)
		return
	}
	w.faults = append(w.faults, f)
	fail, next := w.label("fault"), w.label("next")
	w.rarely(w.any(bad), fail, next)
	w.start(fail)
	if bad.width > 0 {
		v = w.lane(v, w.firstLane(bad))
	}
	if v.typ != ir.I64 {
		v = w.convert(v, ir.I64)
	}
	if w.thread != nil {
		w.failThread(len(w.faults)-1, v)
	} else {
		w.emit("store i64 %d, ptr %%site", len(w.faults)-1)
		w.emit("store i64 %s, ptr %%number", v.name)
		w.emit("ret i32 %d", failed)
	}
	w.start(next)
}

// word returns word n of a run.
func (w *writer) word(n int) string {
	if w.thread != nil {
		return w.thread.word(n)
	}
	at, name := w.name(), w.name()
	fmt.Fprintf(&w.entry, "  %s = getelementptr i64, ptr %%words, i64 %d\n  %s = load i64, ptr %s, align 8\n", at, n, name, at)
	return name
}

// pointer returns word n of a run as the address of elements.
func (w *writer) pointer(n int) string { return w.global(w.word(n)) }

// global returns an address, an i64 that the entry block has, as a pointer.
func (w *writer) global(address string) string {
	name := w.name()
	if w.thread == nil || !w.thread.nvptx {
		fmt.Fprintf(&w.entry, "  %s = inttoptr i64 %s to ptr\n", name, address)
		return name
	}
	// loads and stores of global memory are faster than those of memory of any kind
	global := w.name()
	fmt.Fprintf(&w.entry, "  %s = inttoptr i64 %s to ptr addrspace(1)\n  %s = addrspacecast ptr addrspace(1) %s to ptr\n", global, address, name, global)
	return name
}

// function returns the text of the module.
func (w *writer) function() string {
	var b strings.Builder
	fmt.Fprintf(&b, "define i32 @%s(ptr %%words) #0 {\nentry:\n%s", entryName, w.entry.String())
	fmt.Fprintf(&b, "  br label %%body\nbody:\n%s", w.code.String())
	fmt.Fprintf(&b, "  ret i32 %d\n}\n", ended)
	b.WriteString(w.others())
	return b.String()
}

// others returns the text of the module without its functions for bodies.
func (w *writer) others() string {
	var b strings.Builder
	var names []string
	for n := range w.declares {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		b.WriteString(w.declares[n] + "\n")
	}
	names = names[:0]
	for n := range w.helpers {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		b.WriteString(n)
	}
	names = names[:0]
	for n := range w.programs {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		b.WriteString(w.programs[n])
	}
	b.WriteString("attributes #0 = { nounwind \"no-builtins\" \"no-trapping-math\"=\"true\" }\nattributes #1 = { cold nounwind }\n!0 = !{!\"branch_weights\", i32 1, i32 100000}\n")
	return b.String()
}
