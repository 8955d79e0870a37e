package kerneltest

// Random bodies, with data: the reference interpreter and every back end must agree about
// them.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/lower"
	"github.com/starpush/starpush/lang/syntax"
)

// generator writes a random body. Operands: p, q (R vectors), P (R matrix), Q (R
// block), S (R tensor), y, z (RW vectors), Y (RW matrix), B (RW block), U (RW tensor), v (RW
// variable), w (R variable), and of bools m (R vector), o (RW vector), h (RW variable); scalars n (int), f (float), b (bool).
type generator struct {
	*rand.Rand
	elem   map[string]string
	length map[string]int // of arrays
	lets   []string       // names in scope, numbers
	types  []string       // of lets
	bools  []string       // names in scope, bools
	arrays []string       // names in scope, arrays; elem has the types of their elements
	shared int            // the number of arrays that a round must not write, the first ones
	idx    []string       // index names in scope
	own    [][]string     // elements that only this round uses: written operands with their indices
	masks  []string       // elements of bools that only this round uses
	flags  []string       // names in scope, arrays of bools
	kept   int            // the number of those that a round must not write, the first ones
	fresh  int
	fault  bool // write operations that may fault
	clamp  bool // keep indices in bounds by min and max
	blocks bool // use operands that are blocks and tensors
	front  int  // indices of tensors, beyond four
	serial bool // write loops with `for` alone, without folds: the first fault is certain
	loops  int
	funcs  []randomFunc // that the body may call
	inFunc bool         // write a func, which has no operands
	depth  int          // of the loops of the func around
}

// randomFunc is a func of the script: its name, the types of its parameters and its result.
type randomFunc struct {
	name   string
	params []string
	result string
}

// funcsOf returns the funcs that return numbers, or bools.
func (g *generator) funcsOf(bools bool) (out []randomFunc) {
	for _, f := range g.funcs {
		if (f.result == "bool") == bools {
			out = append(out, f)
		}
	}
	return out
}

// call writes a call of f.
func (g *generator) call(f randomFunc, depth int) string {
	args := make([]string, len(f.params))
	for k, t := range f.params {
		switch t {
		case "int":
			args[k] = g.pick(g.int(depth), "int("+g.number(depth)+")")
		case "float":
			args[k] = g.number(depth)
		default:
			args[k] = g.bool(depth)
		}
	}
	return fmt.Sprintf("%s(%s)", f.name, strings.Join(args, ", "))
}

// writeFuncs writes funcs of the script.
func (g *generator) writeFuncs() string {
	var out strings.Builder
	g.inFunc = true
	for k := range g.IntN(4) {
		f := randomFunc{name: fmt.Sprintf("fun%d", k), result: g.pick("int", "float", "float", "bool")}
		var params []string
		g.lets, g.types, g.bools, g.idx = nil, nil, nil, nil
		for range 1 + g.IntN(3) {
			t, n := g.pick("int", "float", "float", "bool"), g.name()
			f.params = append(f.params, t)
			params = append(params, n+": "+t)
			if t == "bool" {
				g.bools = append(g.bools, n)
				continue
			}
			g.lets, g.types = append(g.lets, n), append(g.types, map[string]string{"int": "i64", "float": "f64"}[t])
		}
		fmt.Fprintf(&out, "func %s(%s) -> %s {\n%sreturn %s\n}\n", f.name, strings.Join(params, ", "), f.result, g.funcStmts(f.result, g.IntN(3)), g.ofType(f.result, 2))
		g.funcs = append(g.funcs, f)
	}
	g.inFunc = false
	g.lets, g.types, g.bools, g.idx = nil, nil, nil, nil
	return out.String()
}

// ofType writes a value of a type of funcs.
func (g *generator) ofType(t string, depth int) string {
	switch t {
	case "int":
		return "int(" + g.number(depth) + ")"
	case "float":
		return g.number(depth)
	}
	return g.bool(depth)
}

// funcStmts writes statements of a func that returns a type.
func (g *generator) funcStmts(result string, depth int) string {
	var out strings.Builder
	lets, bools := len(g.lets), len(g.bools)
	defer func() { g.lets, g.types, g.bools = g.lets[:lets], g.types[:lets], g.bools[:bools] }()
	for range g.IntN(4) {
		switch k := g.IntN(8); {
		case k < 2:
			n, t := g.name(), g.pick("int", "float")
			fmt.Fprintf(&out, "let %s: %s = %s\n", n, t, g.ofType(t, 2))
			g.lets, g.types = append(g.lets, n), append(g.types, map[string]string{"int": "i64", "float": "f64"}[t])
		case k < 4 && len(g.lets) > 0:
			l := g.IntN(len(g.lets))
			fmt.Fprintf(&out, "%s = %s\n", g.lets[l], g.value(g.types[l], 2))
		case k == 4 && depth > 0:
			fmt.Fprintf(&out, "if %s {\n%s%s}", g.bool(2), g.funcStmts(result, depth-1), g.jump(result))
			if g.IntN(3) == 0 {
				fmt.Fprintf(&out, " else {\n%s%s}", g.funcStmts(result, depth-1), g.jump(result))
			}
			out.WriteString("\n")
		case k == 5 && depth > 0:
			i, hi := g.name(), g.pick("3", "5", "min(abs("+g.int(1)+"), 4)")
			n := len(g.idx)
			g.idx = append(g.idx, i)
			g.depth++
			fmt.Fprintf(&out, "for %s in 0..%s {\n%s%s}\n", i, hi, g.funcStmts(result, depth-1), g.jump(result))
			g.depth--
			g.idx = g.idx[:n]
		case k == 6 && depth > 0:
			out.WriteString(g.while(func() string { return g.funcStmts(result, depth-1) + g.jump(result) }))
		}
	}
	return out.String()
}

// while writes a while of a few rounds.
func (g *generator) while(body func() string) string {
	i, cond := g.name(), g.bool(2)
	g.depth++
	defer func() { g.depth-- }()
	return fmt.Sprintf("let %[1]s = 0\nwhile %[2]s {\n%[1]s += 1\n%[3]s}\n", i, g.pick(fmt.Sprintf("%s < %d", i, g.IntN(5)), fmt.Sprintf("%s < 4 and %s", i, cond)), body())
}

// jump writes the end of a block of a func that returns a type: a jump, or nothing.
func (g *generator) jump(result string) string {
	switch k := g.IntN(5); {
	case k == 0:
		return "return " + g.ofType(result, 1) + "\n"
	case k == 1 && g.depth > 0:
		return "break\n"
	case k == 2 && g.depth > 0:
		return "continue\n"
	}
	return ""
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) name() string {
	g.fresh++
	return fmt.Sprintf("a%d", g.fresh)
}

// index writes an index below size or, if g.fault, one that may be out of bounds.
func (g *generator) index(size string, depth int) string {
	if g.fault && g.IntN(40) == 0 {
		return g.int(depth)
	}
	if g.clamp {
		i := fmt.Sprint(g.IntN(20))
		if len(g.idx) > 0 && g.IntN(4) > 0 {
			i = fmt.Sprintf("%s * %d + %d", g.pick(g.idx...), g.IntN(4)-1, g.IntN(9)-4)
		}
		return fmt.Sprintf("max(min(%s, %s - 1), 0)", i, size)
	}
	switch g.IntN(6) {
	case 0:
		if len(g.idx) > 0 {
			return fmt.Sprintf("max(min(%s + %d, %s - 1), 0)", g.pick(g.idx...), g.IntN(5)-2, size)
		}
	case 1:
		if len(g.idx) > 0 {
			return fmt.Sprintf("(%s * %d + %d) %% %s", g.pick(g.idx...), g.IntN(4)-1, g.IntN(9)-4, size)
		}
	case 2:
		return fmt.Sprintf("%d %% %s", g.IntN(20), size)
	}
	return fmt.Sprintf("(%s) %% %s", g.int(depth-1), size)
}

// int writes an expression of an integer type.
func (g *generator) int(depth int) string {
	if depth <= 0 {
		switch g.IntN(5) {
		case 0:
			return fmt.Sprint(g.IntN(400) - 150)
		case 1:
			if g.inFunc {
				break
			}
			if g.blocks && g.IntN(3) == 0 {
				return g.pick("Q.nz", "Q.x0", "B.z0", "S.n3", "U.n0", "S.offset3", "U.offset0", fmt.Sprintf("U.n%d", 3+g.front), fmt.Sprintf("S.offset%d", 3+g.front))
			}
			return g.pick("n", "p.n", "P.cols", "y.n", "p.offset")
		}
		if len(g.idx) > 0 {
			return g.pick(g.idx...)
		}
		return fmt.Sprint(g.IntN(9))
	}
	switch g.IntN(9) {
	case 8:
		return g.bits(depth)
	case 0:
		return "int(" + g.number(depth-1) + ")"
	case 1:
		return fmt.Sprintf("(%s %s %d)", g.int(depth-1), g.pick("//", "%"), 1+g.IntN(7))
	case 2:
		if g.fault && g.IntN(10) == 0 {
			return fmt.Sprintf("(%s %s %s)", g.int(depth-1), g.pick("//", "%"), g.int(depth-1))
		}
	case 3:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), g.int(depth-1), g.int(depth-1))
	case 4:
		return fmt.Sprintf("(if %s then %s else %s)", g.bool(depth-1), g.int(depth-1), g.int(depth-1))
	}
	return fmt.Sprintf("(%s %s %s)", g.int(depth-1), g.pick("+", "-", "*"), g.int(depth-1))
}

// number writes an expression of any number type.
func (g *generator) number(depth int) string {
	if depth <= 0 {
		switch g.IntN(8) {
		case 0:
			return g.pick("1", "2", "-3", "200", "70000", "0.5", "1.5", "-0.25", "1e10")
		case 1:
			if !g.inFunc {
				return g.pick("n", "f", "w")
			}
		case 2:
			return g.int(0)
		}
		if len(g.lets) > 0 && (g.inFunc || g.IntN(2) == 0) {
			return g.pick(g.lets...)
		}
		return g.load(1)
	}
	switch g.IntN(18) {
	case 14, 15:
		return g.bits(depth)
	case 16, 17:
		if list := g.funcsOf(false); len(list) > 0 {
			return g.call(list[g.IntN(len(list))], depth-1)
		}
	case 0:
		return fmt.Sprintf("-(%s)", g.number(depth-1))
	case 1:
		return fmt.Sprintf("%s(%s)", g.pick("abs", "sqrt", "floor", "ceil", "round", "float", "int", "sin"), g.number(depth-1))
	case 2:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), g.number(depth-1), g.number(depth-1))
	case 3:
		return fmt.Sprintf("(if %s then %s else %s)", g.bool(depth-1), g.number(depth-1), g.number(depth-1))
	case 4:
		return fmt.Sprintf("select(%s, %s, %s)", g.bool(depth-1), g.number(depth-1), g.number(depth-1))
	case 5:
		return fmt.Sprintf("(%s / %s)", g.number(depth-1), g.number(depth-1))
	case 6:
		return fmt.Sprintf("(%s ** %d)", g.number(depth-1), g.IntN(4))
	case 7:
		return fmt.Sprintf("(%s %s %d)", g.number(depth-1), g.pick("//", "%"), 1+g.IntN(5))
	case 8:
		if g.loops < 2 && !g.serial && !g.inFunc {
			return g.fold(depth - 1)
		}
	case 9:
		return g.load(depth)
	}
	return fmt.Sprintf("(%s %s %s)", g.number(depth-1), g.pick("+", "-", "*"), g.number(depth-1))
}

// whole writes an expression of any integer type.
func (g *generator) whole(depth int) string {
	switch g.IntN(5) {
	case 0:
		if g.inFunc {
			return g.pick("1", "3", "0xff", "-2", "0x1234_5678_9abc")
		}
		return g.pick("1", "3", "0xff", "-2", "0x1234_5678_9abc", "n")
	case 1:
		return "int(" + g.number(depth-1) + ")"
	}
	x := g.load(depth)
	if g.isFloatElement(x) {
		return "int(" + x + ")"
	}
	return x
}

// isFloatElement reports whether x, an element or a variable, is a float.
func (g *generator) isFloatElement(x string) bool {
	name, _, _ := strings.Cut(x, "[")
	return g.inFunc || isFloat(g.elem[name])
}

// bits writes an operation on the bits of integers.
func (g *generator) bits(depth int) string {
	switch g.IntN(5) {
	case 0:
		return fmt.Sprintf("(~%s)", g.whole(depth-1))
	case 1, 2:
		count := g.pick(fmt.Sprint(g.IntN(70)), "min(int("+g.number(depth-1)+"), 90)", g.whole(0))
		if strings.Contains(count, "-") && !strings.HasPrefix(count, "min") { // a constant below 0 is an error
			count = "min(int(" + g.number(0) + "), 90)"
		}
		return fmt.Sprintf("(%s %s %s)", g.whole(depth-1), g.pick("<<", ">>"), count)
	}
	return fmt.Sprintf("(%s %s %s)", g.whole(depth-1), g.pick("&", "|", "^"), g.whole(depth-1))
}

// load writes an element that the round may read.
func (g *generator) load(depth int) string {
	if g.inFunc {
		return g.pick(append([]string{"1", "2.5"}, g.lets...)...)
	}
	switch k := g.IntN(6); {
	case k == 5 && g.blocks && g.IntN(3) == 0:
		var at []string
		for k := range 4 + g.front {
			at = append(at, g.index(fmt.Sprintf("S.n%d", k), depth-1))
		}
		return "S[" + strings.Join(at, ", ") + "]"
	case k == 5 && g.blocks:
		return fmt.Sprintf("Q[%s, %s, %s]", g.index("Q.nx", depth-1), g.index("Q.ny", depth-1), g.index("Q.nz", depth-1))
	case k == 4 && len(g.arrays) > 0:
		return g.element(g.pick(g.arrays...), depth-1)
	case k == 0 && len(g.own) > 0:
		return g.pick(g.own[g.IntN(len(g.own))]...)
	case k == 1:
		return fmt.Sprintf("P[%s, %s]", g.index("P.rows", depth-1), g.index("P.cols", depth-1))
	case k == 2:
		return fmt.Sprintf("q[%s]", g.index("q.n", depth-1))
	case k == 3 && len(g.idx) > 0:
		return fmt.Sprintf("p[min(%s, p.n - 1)]", g.pick(g.idx...))
	}
	return fmt.Sprintf("p[%s]", g.index("p.n", depth-1))
}

// element writes an element of an array.
func (g *generator) element(array string, depth int) string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("%s[%d]", array, g.IntN(g.length[array]))
	case 1:
		if len(g.idx) > 0 && g.fault {
			return fmt.Sprintf("%s[%s]", array, g.pick(g.idx...))
		}
	}
	return fmt.Sprintf("%s[%s]", array, g.index(array+".n", depth))
}

// newArray writes the declaration of an array.
func (g *generator) newArray() string {
	n, elem, size := g.name(), bodyElems[g.IntN(len(bodyElems))].String(), 1+g.IntN(6)
	if g.IntN(20) == 0 {
		size = 64
	}
	fill := ""
	if g.IntN(3) == 0 {
		fill = ", fill = " + g.value(elem, 1)
	}
	g.elem[n], g.length[n] = elem, size
	g.arrays = append(g.arrays, n)
	return fmt.Sprintf("let %s = array[%s](%d%s)\n", n, elem, size, fill)
}

// newFlags writes the declaration of an array of bools, and stores into it.
func (g *generator) newFlags() string {
	n, size := g.name(), 1+g.IntN(6)
	fill := ""
	if g.IntN(2) == 0 {
		fill = ", fill = " + g.bool(1)
	}
	g.length[n] = size
	g.flags = append(g.flags, n)
	return fmt.Sprintf("let %s = array[bool](%d%s)\n", n, size, fill) + g.setFlag()
}

// setFlag writes an assignment to an element of an array of bools of the round, or nothing.
func (g *generator) setFlag() string {
	if g.kept >= len(g.flags) {
		return ""
	}
	a := g.flags[g.kept+g.IntN(len(g.flags)-g.kept)]
	return fmt.Sprintf("%s = %s\n", g.element(a, 1), g.bool(2))
}

// setMask writes an assignment to an element of bools that only this round uses.
func (g *generator) setMask() string {
	m := g.pick(g.masks...)
	return g.pick(fmt.Sprintf("%s = %s\n", m, g.bool(3)), fmt.Sprintf("%s = %s %s %s\n", m, m, g.pick("or", "and", "!="), g.bool(2)))
}

// flag writes an element of bools that the round may read.
func (g *generator) flag() string {
	switch g.IntN(4) {
	case 0:
		if len(g.flags) > 0 {
			return g.element(g.pick(g.flags...), 0)
		}
	case 1:
		if len(g.masks) > 0 {
			return g.pick(g.masks...)
		}
	case 2:
		if len(g.idx) > 0 {
			return fmt.Sprintf("m[min(%s, m.n - 1)]", g.pick(g.idx...))
		}
	}
	return fmt.Sprintf("m[%s]", g.index("m.n", 0))
}

// store writes an assignment to target, whose elements have a type.
func (g *generator) store(target, elem string) string {
	op := g.pick("=", "=", "+=", "-=", "*=")
	if !isFloat(elem) {
		op = g.pick(op, op, "&=", "|=", "^=", "<<=", ">>=")
	}
	if !isFloat(elem) && op != "=" {
		return fmt.Sprintf("%s %s min(int(%s), 90)\n", target, op, g.number(2))
	}
	return fmt.Sprintf("%s %s %s\n", target, op, g.value(elem, 3))
}

// setElement writes an assignment to an element of an array of the round, or nothing.
func (g *generator) setElement() string {
	if g.shared >= len(g.arrays) {
		return ""
	}
	a := g.arrays[g.shared+g.IntN(len(g.arrays)-g.shared)]
	if g.IntN(6) == 0 {
		k := g.name()
		g.idx = append(g.idx, k)
		defer func() { g.idx = g.idx[:len(g.idx)-1] }()
		return fmt.Sprintf("for %s in 0..%s.n {\n%s}\n", k, a, g.store(fmt.Sprintf("%s[%s]", a, k), g.elem[a]))
	}
	return g.store(g.element(a, 1), g.elem[a])
}

// fold writes a fold whose result does not depend on its order: of integers, or
// the smallest or largest of floats.
func (g *generator) fold(depth int) string {
	i := g.name()
	n, own := len(g.idx), g.own
	g.idx = append(g.idx, i)
	g.loops++
	defer func() { g.idx = g.idx[:n]; g.own = own; g.loops-- }()
	dom := fmt.Sprintf("%s in 0..%d", i, g.IntN(5))
	switch g.IntN(5) {
	case 0:
		dom = i + " in p"
	case 1:
		j := g.name()
		g.idx = append(g.idx, j)
		dom = fmt.Sprintf("%s, %s in %d..=%d, 0..P.cols", i, j, g.IntN(3)-1, g.IntN(4))
	case 3:
		if len(g.arrays) > 0 {
			dom = fmt.Sprintf("%s in %s", i, g.pick(g.arrays...))
		}
	case 2:
		if n > 0 {
			dom = fmt.Sprintf("%s in 0..min(abs(%s), 9)", i, g.idx[0])
		}
	}
	if g.IntN(2) == 0 {
		return fmt.Sprintf("(%s %s { %s })", g.pick("sum", "prod"), dom, "int("+g.number(depth)+")")
	}
	return fmt.Sprintf("(%s %s { %s })", g.pick("min", "max"), dom, g.number(depth))
}

func (g *generator) bool(depth int) string {
	if depth <= 0 && len(g.bools) > 0 && g.IntN(2) == 0 {
		return g.pick(g.bools...)
	}
	if !g.inFunc && g.IntN(4) == 0 {
		return g.flag()
	}
	switch g.IntN(7) {
	case 6:
		if list := g.funcsOf(true); len(list) > 0 && depth > 0 {
			return g.call(list[g.IntN(len(list))], depth-1)
		}
	case 0:
		if g.inFunc {
			return g.pick("true", "false")
		}
		return g.pick("b", "true", "false")
	case 1:
		if depth > 0 {
			return fmt.Sprintf("(%s %s %s)", g.bool(depth-1), g.pick("and", "or", "==", "!="), g.bool(depth-1))
		}
	case 2:
		if depth > 0 {
			return fmt.Sprintf("(not %s)", g.bool(depth-1))
		}
	}
	return fmt.Sprintf("(%s %s %s)", g.number(depth-1), g.pick("==", "!=", "<", "<=", ">", ">="), g.number(depth-1))
}

// value writes a value that may be stored into elem.
func (g *generator) value(elem string, depth int) string {
	if isFloat(elem) {
		return g.number(depth)
	}
	if g.IntN(6) == 0 {
		if x := g.small(1 + g.IntN(3)); x != "" {
			return x
		}
	}
	return "int(" + g.number(depth) + ")"
}

// stmts writes the statements of a round. targets are the elements that it may
// write.
func (g *generator) stmts(depth int, inEach bool) string {
	var out strings.Builder
	lets, bools, arrays, flags := len(g.lets), len(g.bools), len(g.arrays), len(g.flags)
	defer func() {
		g.lets, g.types, g.bools, g.arrays, g.flags = g.lets[:lets], g.types[:lets], g.bools[:bools], g.arrays[:arrays], g.flags[:flags]
	}()
	for range 1 + g.IntN(3) {
		switch k := g.IntN(19); {
		case k == 15:
			out.WriteString(g.newFlags())
		case k == 16:
			out.WriteString(g.setFlag())
		case k > 16:
			if len(g.masks) > 0 {
				out.WriteString(g.setMask())
			}
		case k == 12:
			out.WriteString(g.newArray())
			out.WriteString(g.setElement())
		case k > 12:
			out.WriteString(g.setElement())
		case k == 10 && depth > 0 && g.loops < 2:
			n := len(g.lets)
			g.loops++
			inner := func() string { return g.stmts(depth-1, inEach) }
			if g.IntN(2) == 0 {
				out.WriteString(g.settles(inner))
			} else {
				out.WriteString(g.while(inner))
			}
			g.loops--
			g.lets, g.types = g.lets[:n], g.types[:n]
		case k == 11 && (g.depth > 0 || inEach):
			word := "continue"
			if g.depth > 0 {
				word = g.pick("break", "continue")
			}
			fmt.Fprintf(&out, "if %s {\n%s\n}\n", g.bool(1), word)
		case k < 2:
			n := g.name()
			t := "f64"
			if g.IntN(2) == 0 {
				t = "i64"
			}
			v := "float(" + g.number(2) + ")"
			if t == "i64" {
				v = g.pick("int("+g.number(2)+")", "int("+g.int(1)+")")
			}
			fmt.Fprintf(&out, "let %s = %s\n", n, v)
			g.lets, g.types = append(g.lets, n), append(g.types, t)
		case k == 2:
			n := g.name()
			fmt.Fprintf(&out, "let %s = %s\n", n, g.bool(2))
			g.bools = append(g.bools, n)
		case k == 3 && len(g.lets) > 0 && (lets == 0 || !inEach || g.IntN(2) == 0):
			l := g.IntN(len(g.lets))
			if strings.HasPrefix(g.lets[l], "outer") {
				continue
			}
			fmt.Fprintf(&out, "%s = %s\n", g.lets[l], g.value(g.types[l], 2))
		case k == 4 && depth > 0:
			fmt.Fprintf(&out, "if %s {\n%s}", g.bool(2), g.stmts(depth-1, inEach))
			if g.IntN(2) == 0 {
				fmt.Fprintf(&out, " else {\n%s}", g.stmts(depth-1, inEach))
			}
			out.WriteString("\n")
		case k == 5 && depth > 0 && g.loops < 2:
			i := g.name()
			hi := fmt.Sprint(g.IntN(4))
			if len(g.idx) > 0 && g.IntN(3) == 0 {
				hi = fmt.Sprintf("min(%s, 5)", g.idx[0])
			}
			n := len(g.idx)
			g.idx = append(g.idx, i)
			g.loops++
			g.depth++
			fmt.Fprintf(&out, "for %s in %s {\n%s}\n", i, "0.."+hi, g.stmts(depth-1, inEach))
			g.depth--
			g.loops--
			g.idx = g.idx[:n]
		default:
			if len(g.own) == 0 {
				continue
			}
			o := g.own[g.IntN(len(g.own))]
			t := g.pick(o...)
			out.WriteString(g.store(t, g.elem[strings.SplitN(t, "[", 2)[0]]))
		}
	}
	return out.String()
}

// body writes a whole body.
func (g *generator) body() string {
	var out strings.Builder
	each := func(format string, args ...any) {
		fmt.Fprintf(&out, "each "+format+" {\n", args...)
		outer, kept := g.shared, g.kept
		g.shared, g.kept = len(g.arrays), len(g.flags)
		out.WriteString(g.stmts(2, true) + "}\n")
		g.shared, g.kept = outer, kept
		g.idx, g.own, g.masks = nil, nil, nil
	}
	for range 1 + g.IntN(3) {
		if g.IntN(6) == 0 {
			out.WriteString(g.newArray())
			for range g.IntN(3) {
				out.WriteString(g.setElement())
			}
		}
		if g.IntN(10) == 0 {
			out.WriteString(g.newFlags())
		}
		if g.IntN(5) == 0 {
			g.ragged(&out)
			continue
		}
		if g.serial {
			g.loop(&out)
			continue
		}
		kinds := 8
		if g.blocks {
			kinds = 13
		}
		switch g.IntN(kinds) {
		case 8, 9:
			i, j, k := g.name(), g.name(), g.name()
			g.idx = []string{i, j, k}
			g.own = [][]string{{fmt.Sprintf("B[%s, %s, %s]", i, j, k)}}
			each("%s, %s, %s in B", i, j, k)
		case 10:
			i, j := g.name(), g.name()
			g.idx = []string{i, j}
			g.own = [][]string{{fmt.Sprintf("B[%s, 0, %s]", i, j), fmt.Sprintf("B[%s, B.ny - 1, %s]", i, j)}}
			each("%s, %s in 0..B.nx, 0..B.nz", i, j)
		case 11:
			g.idx = nil
			for range 4 + g.front {
				g.idx = append(g.idx, g.name())
			}
			all := strings.Join(g.idx, ", ")
			g.own = [][]string{{"U[" + all + "]"}}
			each("%s in U", all)
		case 12:
			i, j := g.name(), g.name()
			g.idx = []string{i, j}
			rest := strings.Repeat(", 0", g.front)
			g.own = [][]string{{fmt.Sprintf("U[0, %s, U.n2 - 1, %s%s]", i, j, rest), fmt.Sprintf("U[U.n0 - 1, %s, 0, %s%s]", i, j, rest)}}
			each("%s, %s in 0..U.n1, 0..U.n3", i, j)
		case 0:
			n := fmt.Sprintf("outer%d", g.fresh)
			g.fresh++
			fmt.Fprintf(&out, "let %s = float(%s)\n", n, g.number(2))
			g.lets, g.types = append(g.lets, n), append(g.types, "f64")
		case 1:
			g.own, g.masks = [][]string{{"v"}}, []string{"h"}
			g.loops = 1
			i := g.name()
			g.idx = []string{i}
			fmt.Fprintf(&out, "for %s in 0..%d {\n%s}\n", i, g.IntN(6), g.stmts(1, false))
			g.idx, g.own, g.masks, g.loops = nil, nil, nil, 0
		case 2:
			if g.IntN(3) > 0 {
				g.loop(&out)
				continue
			}
			fmt.Fprintf(&out, "v = %s\n", g.value(g.elem["v"], 3))
			fmt.Fprintf(&out, "h = h %s %s\n", g.pick("or", "and", "=="), g.bool(2))
		case 3, 4:
			i, j := g.name(), g.name()
			g.idx = []string{i, j}
			g.own = [][]string{{fmt.Sprintf("Y[%s, %s]", i, j)}}
			each("%s, %s in Y", i, j)
		case 5:
			i := g.name()
			g.idx = []string{i}
			g.own = [][]string{{fmt.Sprintf("Y[%s, 0]", i), fmt.Sprintf("Y[%s, Y.cols - 1]", i)}}
			each("%s in 0..Y.rows", i)
		default:
			i := g.name()
			g.idx = []string{i}
			g.own = [][]string{{fmt.Sprintf("y[%s]", i)}, {fmt.Sprintf("z[%s]", i)}}
			g.masks = []string{fmt.Sprintf("o[%s]", i)}
			each("%s in %s", i, g.pick("y", "z", "1..y.n", "0..y.n - 1", "0..=y.n - 1"))
		}
	}
	return out.String()
}

// randomData returns an operand with small values and, if they are floats, a few special
// ones.
func randomData(r *rand.Rand, elem string, rank, rows, cols int) *Data {
	d := &Data{Elem: elem, Rank: rank, Rows: rows, Cols: cols, Offset: r.IntN(50)}
	n := 1
	if rank > 0 {
		n = rows
	}
	if rank >= 2 {
		n *= cols
	}
	if rank >= 3 {
		d.Planes = 1 + r.IntN(4)
		n *= d.Planes
	}
	if rank >= 4 {
		d.Cubes = 1 + r.IntN(3)
		n *= d.Cubes
	}
	for range rank - 4 {
		d.Front = append(d.Front, 1+r.IntN(2))
		n *= d.Front[len(d.Front)-1]
	}
	for range n {
		if elem == "bool" {
			d.Cells = append(d.Cells, BoolValue(r.IntN(2) == 0))
			continue
		}
		if !isFloat(elem) {
			d.Cells = append(d.Cells, IntValue(elem, uint64(r.IntN(300)-100)))
			continue
		}
		x := float64(r.IntN(64)-24) / 4
		switch r.IntN(60) {
		case 0:
			x = math.NaN()
		case 1:
			x = math.Inf(1)
		case 2:
			x = math.Inf(-1)
		}
		d.Cells = append(d.Cells, FloatValue(elem, x))
	}
	return d
}

// Body is a random codelet with operands.
type Body struct {
	Source  string
	File    *syntax.File
	Codelet *syntax.Codelet
	Func    *ir.Func
	Data    map[string]*Data
	Scalars map[string]Value
	Args    []iface.Scalar
}

// bodyElems are the element types of random bodies that are numbers; others have bools.
var bodyElems = append(slices.Clone(iface.RealElems), iface.F16, iface.BF16)

// BodyOperands are the data operands of random bodies, in the order of the signature.
var BodyOperands = []string{"p", "q", "P", "w", "y", "z", "Y", "v", "m", "o", "h", "Q", "B", "S", "U"}

// NewBody returns the body of a seed. With clamp, most indices are in bounds, and there are
// no blocks and tensors: such bodies run on devices. It returns nil if the checker finds an index
// out of bounds, and fails the test if it finds something else.
func NewBody(t *testing.T, seed uint64, clamp bool) *Body {
	r := rand.New(rand.NewPCG(seed, 1))
	return (&generator{Rand: r, elem: map[string]string{}, length: map[string]int{}, fault: r.IntN(3) == 0, clamp: clamp, blocks: !clamp}).newBody(t, seed)
}

// NewLoopsBody is NewBody for loops with `for` alone, without folds: the first fault of such
// a body is certain.
func NewLoopsBody(t *testing.T, seed uint64) *Body {
	r := rand.New(rand.NewPCG(seed, 2))
	return (&generator{Rand: r, elem: map[string]string{}, length: map[string]int{}, fault: true, serial: true, blocks: true}).newBody(t, seed)
}

func (g *generator) newBody(t *testing.T, seed uint64) *Body {
	r := g.Rand
	for _, n := range BodyOperands {
		if n == "m" || n == "o" || n == "h" {
			continue
		}
		g.elem[n] = bodyElems[r.IntN(len(bodyElems))].String()
	}
	if g.blocks && r.IntN(3) == 0 {
		g.front = 1 + r.IntN(iface.MaxRank-4)
	}
	funcs := g.writeFuncs()
	body := g.body()
	blocks := ""
	if g.blocks {
		blocks = fmt.Sprintf("Q: R block[%s], B: RW block[%s], S: R %s, U: RW %s, ", g.elem["Q"], g.elem["B"],
			iface.KindOf(4+g.front).Type(g.elem["S"]), iface.KindOf(4+g.front).Type(g.elem["U"]))
	}
	src := funcs + fmt.Sprintf("codelet c(p: R vector[%s], q: R vector[%s], P: R matrix[%s], w: R variable[%s], y: RW vector[%s], z: RW vector[%s], Y: RW matrix[%s], v: RW variable[%s], m: R vector[bool], o: RW vector[bool], h: RW variable[bool], %sn: int, f: float, b: bool) {\n%s}\n",
		g.elem["p"], g.elem["q"], g.elem["P"], g.elem["w"], g.elem["y"], g.elem["z"], g.elem["Y"], g.elem["v"], blocks, body)
	file, cs := Codelets(t, "random.spu", src)
	sig := Signature(cs[0])
	open, ds := lower.Generic(file, cs[0], sig, nil)
	if ds = analysis.Check(file, cs[0], sig, open, ds); ds.Err() != nil {
		if !g.fault || !strings.Contains(ds.Error(), "E0601") {
			t.Errorf("seed %d: %v\n%s", seed, ds, src)
		}
		return nil
	}
	fn, ds := lower.Concrete(file, cs[0], sig, nil)
	if ds.Err() != nil {
		t.Errorf("seed %d: %v\n%s", seed, ds, src)
		return nil
	}
	sizes := []int{1, 2, 7, 40, 511, 512, 513, 1100}
	n, rows, cols := sizes[r.IntN(len(sizes))], 1+r.IntN(4), 1+r.IntN(40)
	data := map[string]*Data{
		"p": randomData(r, g.elem["p"], 1, 1+r.IntN(30), 0), "q": randomData(r, g.elem["q"], 1, n, 0), "P": randomData(r, g.elem["P"], 2, 1+r.IntN(6), 1+r.IntN(6)),
		"w": randomData(r, g.elem["w"], 0, 0, 0), "v": randomData(r, g.elem["v"], 0, 0, 0),
		"y": randomData(r, g.elem["y"], 1, n, 0), "z": randomData(r, g.elem["z"], 1, n, 0), "Y": randomData(r, g.elem["Y"], 2, rows, cols),
		"m": randomData(r, "bool", 1, 1+r.IntN(30), 0), "o": randomData(r, "bool", 1, n, 0), "h": randomData(r, "bool", 0, 0, 0),
		"Q": randomData(r, g.elem["Q"], 3, 1+r.IntN(5), 1+r.IntN(6)), "B": randomData(r, g.elem["B"], 3, 1+r.IntN(4), 1+r.IntN(20)),
		"S": randomData(r, g.elem["S"], 4+g.front, 1+r.IntN(4), 1+r.IntN(6)), "U": randomData(r, g.elem["U"], 4+g.front, 1+r.IntN(3), 1+r.IntN(20)),
	}
	b := r.IntN(2) == 0
	scalars := map[string]Value{"n": IntValue("i64", uint64(r.IntN(20)-5)), "f": FloatValue("f64", 1.25), "b": BoolValue(b)}
	return &Body{src, file, cs[0], fn, data, scalars, []iface.Scalar{iface.Int(int64(scalars["n"].Int)), iface.Float(1.25), iface.Bool(b)}}
}

// Reference runs the body in the reference interpreter and returns the data after it. The
// error is a fault of the body.
func (b *Body) Reference() (map[string]*Data, error) {
	data := map[string]*Data{}
	for n, d := range b.Data {
		data[n] = d.clone()
	}
	return data, interpret(b.File, b.Codelet, data, b.Scalars)
}

// Buffers returns the data operands in memory, and functions that return their values.
func (b *Body) Buffers() (list []*iface.Buffer, read []func() []Value) {
	for _, n := range BodyOperands[:len(b.Codelet.Params)-len(b.Args)] {
		buf, back := DataBuffer(b.Data[n])
		list, read = append(list, buf), append(read, back)
	}
	return list, read
}
