package kerneltest

// Parts of random bodies for code that back ends have for them alone: loops in order, loops whose ranges differ
// between the rounds of another one, arithmetic of small ints.

import (
	"fmt"
	"slices"
	"strings"
)

// loop writes a `for` over the elements of vectors. The elements that it writes belong to
// one round, to all of them, or to another one.
func (g *generator) loop(out *strings.Builder) {
	i := g.name()
	g.idx, g.loops = []string{i}, 0
	g.own = [][]string{{fmt.Sprintf("y[%s]", i)}, {fmt.Sprintf("z[%s]", i)}}
	g.masks = []string{fmt.Sprintf("o[%s]", i)}
	from, to := "0", "y.n"
	kinds := 8
	if g.blocks {
		kinds = 10
	}
	switch g.IntN(kinds) {
	case 0:
		g.own = append(g.own, []string{fmt.Sprintf("y[%s - 1]", i), fmt.Sprintf("z[%s]", i)})
		g.masks = append(g.masks, fmt.Sprintf("o[%s - 1]", i))
		from = "1"
	case 1:
		g.own = append(g.own, []string{fmt.Sprintf("y[%s + 1]", i), "v"})
		g.masks = append(g.masks, fmt.Sprintf("o[%s + 1]", i), "h")
		to = "y.n - 1"
	case 2:
		g.own = [][]string{{fmt.Sprintf("y[2 * %s]", i)}, {fmt.Sprintf("y[2 * %s + 1]", i), fmt.Sprintf("z[%s]", i)}}
		to = "y.n // 2"
	case 3:
		g.own = append(g.own, []string{fmt.Sprintf("y[y.n - 1 - %s]", i)})
	case 4:
		g.own = append(g.own, []string{"v"}, []string{"y[0]"})
		g.masks = append(g.masks, "h", "o[0]")
	case 5:
		from = "1"
		g.own = append(g.own, []string{fmt.Sprintf("y[%s]", i), "y[0]"})
	case 6:
		g.own = [][]string{{fmt.Sprintf("Y[0, %s]", i), fmt.Sprintf("Y[Y.rows - 1, %s]", i)}, {fmt.Sprintf("Y[Y.rows // 2, %s]", i)}}
		to, g.masks = "Y.cols", []string{"h"}
	case 8:
		g.own = [][]string{{fmt.Sprintf("B[0, %s, B.nz - 1]", i), fmt.Sprintf("B[B.nx - 1, %s, B.nz // 2]", i)}, {fmt.Sprintf("B[B.nx // 2, %s, 0]", i)}}
		to, g.masks = "B.ny", []string{"h"}
	case 9:
		g.own = [][]string{{fmt.Sprintf("B[0, 0, %s]", i), fmt.Sprintf("B[B.nx - 1, B.ny - 1, %s]", i)}, {fmt.Sprintf("B[B.nx // 2, 0, %s]", i)}}
		to, g.masks = "B.nz", nil
	}
	acc, add := "", ""
	if g.IntN(3) == 0 { // a local that all rounds add to, of any type
		acc = g.name()
		first := g.pick("v", "v", "0", "0.5", "y[0]", "p[0]")
		fmt.Fprintf(out, "let %s = %s\n", acc, first)
		e := map[string]string{"v": g.elem["v"], "0": "i64", "0.5": "f64", "y[0]": g.elem["y"], "p[0]": g.elem["p"]}[first]
		val := func() string {
			if isFloat(e) {
				return g.pick(g.number(1), g.load(1))
			}
			return "int(" + g.pick(g.number(1), g.load(1)) + ")"
		}
		add = g.pick(acc+" += "+val(), acc+" -= "+val(), acc+" *= "+val(), fmt.Sprintf("%s = %s(%s, %s)", acc, g.pick("min", "max"), acc, val()),
			fmt.Sprintf("%s = %s(%s, %s)", acc, g.pick("min", "max"), val(), acc), fmt.Sprintf("if %s { %s += %s }", g.bool(1), acc, val()),
			fmt.Sprintf("if %s { } else { %s -= %s }", g.bool(1), acc, val()))
		if g.IntN(6) == 0 {
			g.lets, g.types = append(g.lets, acc), append(g.types, e) // and read
		}
	}
	switch g.IntN(4) {
	case 0:
		to = "=" + to + " - 1"
	case 1:
		if to == "y.n" {
			to = "min(n * 40, y.n)"
		}
	}
	fmt.Fprintf(out, "for %s in %s..%s {\n%s", i, from, to, g.stmts(2, true))
	if g.IntN(4) == 0 { // an inner loop that may depend on the round
		j := g.name()
		lo, hi := g.pick("0", i, i+" - 2", "n"), g.pick("4", i+" + 2", "min("+i+", 3)", "Y.cols", "n + 3")
		g.idx = append(g.idx, j)
		g.loops++
		g.depth++
		g.own = append(g.own, []string{fmt.Sprintf("Y[min(%s, Y.rows - 1), 0]", j)})
		fmt.Fprintf(out, "for %s in %s..%s {\n%s}\n", j, lo, hi, g.stmts(1, true))
		g.depth--
		g.loops--
		g.idx, g.own = g.idx[:1], g.own[:len(g.own)-1]
	}
	if add != "" {
		fmt.Fprintf(out, "%s\n", add)
	}
	if g.IntN(2) == 0 { // an element that all rounds add to
		e := g.elem["v"]
		val := g.value(e, 2)
		if !isFloat(e) {
			val = "int(" + g.number(2) + ")"
		}
		fmt.Fprintf(out, "%s\n", g.pick("v += "+val, "v -= "+val, "v = max(v, "+val+")", "if "+g.bool(1)+" { v += "+val+" }"))
	}
	if g.IntN(4) == 0 {
		fmt.Fprintf(out, "h = h %s %s\n", g.pick("or", "and", "!="), g.bool(2))
	}
	out.WriteString("}\n")
	g.idx, g.own, g.masks = nil, nil, nil
	if acc != "" {
		if e := g.elem["v"]; isFloat(e) {
			fmt.Fprintf(out, "v += %s\n", acc)
		} else {
			fmt.Fprintf(out, "v += int(%s)\n", acc)
		}
		g.lets, g.types = nil, nil
	}
}

// ragged writes a loop over the elements of y with loops or folds inside whose ranges differ between its rounds.
func (g *generator) ragged(out *strings.Builder) {
	i := g.name()
	g.idx, g.loops = []string{i}, 1
	g.own = [][]string{{fmt.Sprintf("y[%s]", i)}, {fmt.Sprintf("z[%s]", i)}}
	g.masks = []string{fmt.Sprintf("o[%s]", i)}
	if g.serial || g.IntN(4) == 0 {
		fmt.Fprintf(out, "for %s in %s..%s {\n", i, g.pick("0", "1"), g.pick("y.n", "y.n - 1", "min(n * 40, y.n)"))
	} else {
		fmt.Fprintf(out, "each %s in %s {\n", i, g.pick("y", "0..y.n - 1"))
	}
	defer func() { g.idx, g.own, g.masks, g.lets, g.types, g.bools, g.loops = nil, nil, nil, nil, nil, nil, 0 }()
	if g.IntN(3) == 0 {
		b := g.name()
		fmt.Fprintf(out, "let %s = %s\n", b, g.pick(g.bool(1), "q["+i+"] > 2"))
		g.bools = append(g.bools, b)
	}
	if g.IntN(3) == 0 {
		u := g.name()
		fmt.Fprintf(out, "let %s = q[%s]\n", u, i)
		g.lets, g.types = append(g.lets, u), append(g.types, g.elem["q"])
	}
	size := fmt.Sprintf("min(abs(int(%s)), %d)", g.pick("q["+i+"]", g.load(0), g.number(1)), g.IntN(12))
	if g.IntN(4) == 0 {
		size = fmt.Sprintf("min(abs(int(q[%s])), 90)", i)
	}
	at := func() string {
		return g.pick(fmt.Sprintf("%s * 3..%s * 3 + 3", i, i), fmt.Sprintf("%s * 5 // 3..(%s + 1) * 5 // 3", i, i), fmt.Sprintf("%s // 2..(%s + 1) // 2", i, i),
			fmt.Sprintf("max(%s - 2, 0)..%s + 2", i, i), fmt.Sprintf("%s - 1..=%s", i, i), "0.."+size, fmt.Sprintf("%s..%s + %s", i, i, size), fmt.Sprintf("0..=min(%s, 70)", i))
	}
	for range 1 + g.IntN(2) {
		s, k, e := g.name(), g.name(), g.pick("i64", "f64", g.elem["p"], g.elem["w"])
		first := map[string]string{"i64": "0", "f64": "0.5", g.elem["w"]: "w", g.elem["p"]: "p[0]"}[e]
		fmt.Fprintf(out, "let %s = %s\n", s, first)
		guard := g.IntN(4) == 0
		if guard {
			fmt.Fprintf(out, "if %s {\n", g.bool(1))
		}
		lets, bools := len(g.lets), len(g.bools)
		fmt.Fprintf(out, "for %s in %s {\n", k, at())
		g.idx = append(g.idx, k)
		if g.IntN(3) == 0 {
			t := g.name()
			fmt.Fprintf(out, "let %s = %s\n", t, g.number(2))
			g.lets, g.types = append(g.lets, t), append(g.types, "")
		}
		v := g.pick(g.value(e, 2), g.value(e, 1))
		if !isFloat(e) && e != "i64" {
			v = "int(" + v + ")"
		}
		add := g.pick(s+" += "+v, s+" -= "+v, s+" *= "+v, fmt.Sprintf("%s = max(%s, %s)", s, s, v), fmt.Sprintf("if %s { %s += %s }", g.bool(1), s, v))
		fmt.Fprintf(out, "%s\n}\n", add)
		g.idx, g.lets, g.types, g.bools = g.idx[:1], g.lets[:lets], g.types[:lets], g.bools[:bools]
		if guard {
			out.WriteString("}\n")
		}
		g.lets, g.types = append(g.lets, s), append(g.types, e)
	}
	if g.IntN(3) == 0 {
		out.WriteString(g.setMask())
	}
	for _, name := range []string{"y", "z"}[g.IntN(2):] {
		value := g.value(g.elem[name], 2)
		if !g.serial && g.IntN(3) == 0 {
			k := g.name()
			g.idx = append(g.idx, k)
			value = fmt.Sprintf("(%s %s in %s { int(%s) })", g.pick("sum", "prod", "max"), k, at(), g.number(2))
			g.idx = g.idx[:1]
		}
		fmt.Fprintf(out, "%s[%s] %s %s\n", name, i, g.pick("=", "=", "+="), g.value(g.elem[name], 0)+" + "+value)
	}
	out.WriteString("}\n")
}

// small writes arithmetic of ints from elements of 8 and 16 bits, whose values fit in fewer bits than 64; "" if no
// operand has such elements.
func (g *generator) small(depth int) string {
	var from []string
	for _, name := range []string{"p", "q", "P"} {
		if slices.Contains([]string{"i8", "u8", "i16", "u16"}, g.elem[name]) {
			from = append(from, name)
		}
	}
	if len(from) == 0 || g.inFunc {
		return ""
	}
	if depth > 1 && g.IntN(3) == 0 { // a weighted sum of elements of one operand
		name, sum := g.pick(from...), fmt.Sprint(g.IntN(40)-20)
		for _, x := range from {
			if g.elem[x] == "u8" {
				name = x
			}
		}
		index := func() string { return g.index(name+".n", 0) }
		if name == "P" {
			index = func() string { return g.index("P.rows", 0) + ", " + g.index("P.cols", 0) }
		}
		for range 2 + g.IntN(6) {
			sum += fmt.Sprintf(" %s %s int(%s[%s])", g.pick("+", "+", "-"), g.pick("", "2 *", "4 *", "-3 *"), name, index())
		}
		return "(" + sum + ")"
	}
	if depth <= 0 {
		switch name := g.pick(from...); {
		case g.IntN(4) == 0:
			return fmt.Sprint(g.IntN(9) - 2)
		case name == "P":
			return fmt.Sprintf("int(P[%s, %s])", g.index("P.rows", 0), g.index("P.cols", 0))
		case name == "p" && len(g.idx) > 0 && g.IntN(2) == 0:
			return fmt.Sprintf("int(p[%s %% p.n])", g.idx[0])
		default:
			return fmt.Sprintf("int(%s[%s])", name, g.index(name+".n", 0))
		}
	}
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("(%s %s %d)", g.small(depth-1), g.pick("//", "%"), []int{1 << g.IntN(8), 1 + g.IntN(12)}[g.IntN(2)])
	case 1:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), g.small(depth-1), g.small(depth-1))
	case 2:
		return fmt.Sprintf("-(%s)", g.small(depth-1))
	case 3:
		return fmt.Sprintf("(%d * %s)", g.IntN(7)-2, g.small(depth-1))
	}
	return fmt.Sprintf("(%s %s %s)", g.small(depth-1), g.pick("+", "+", "-", "*"), g.small(depth-1))
}

// settles writes a loop whose rounds do nothing from some round on, or one that looks like it.
func (g *generator) settles(stmts func() string) string {
	x, i := g.name(), g.name()
	g.depth++
	defer func() { g.depth-- }()
	var out strings.Builder
	fmt.Fprintf(&out, "let %s = float(%s)\nfor %s in 0..%s {\n", x, g.number(1), i, g.pick("9", "4", "min(n, 7)"))
	g.lets, g.types = append(g.lets, x), append(g.types, "f64")
	cond := fmt.Sprintf("%s %s %d.5", g.pick(x, x, fmt.Sprintf("%s * %s", x, x), fmt.Sprintf("%s + float(%s)", x, i)), g.pick("<", "<=", ">", "!="), g.IntN(9))
	if g.IntN(3) == 0 {
		r := g.name()
		fmt.Fprintf(&out, "let %s = %s\n", r, cond)
		cond = r
	}
	if g.IntN(4) == 0 {
		cond = fmt.Sprintf("%s %s %s", cond, g.pick("and", "or"), g.bool(1))
	}
	step := fmt.Sprintf("%s = %s * %s + %s\n", x, x, g.pick("1.5", "0.75", "-1.25"), g.pick("1.0", "0.25", fmt.Sprintf("float(%s)", g.number(1))))
	if g.IntN(2) == 0 {
		step += stmts()
	} else {
		step = stmts() + step
	}
	fmt.Fprintf(&out, "if %s {\n%s}\n", cond, step)
	if g.IntN(8) == 0 { // not the last statement then
		out.WriteString(stmts())
	}
	out.WriteString("}\n")
	return out.String()
}
