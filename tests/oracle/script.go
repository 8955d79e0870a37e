package oracle

// Expressions of scripts, and what print shows.

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// number evaluates e to a number or a bool.
func (m *Machine) number(e *Expr, line int) Value { return m.eval(e, line).(Value) }

// eval evaluates an expression of the script.
func (m *Machine) eval(e *Expr, line int) any {
	switch e.Op {
	case "int":
		return intValue(e.Int)
	case "float":
		return floatValue(e.Float)
	case "imaginary":
		return Value{T: C128, Im: e.Float}
	case "bool":
		return boolValue(e.Int == 1)
	case "text":
		return e.Name
	case "gate":
		return &gate{}
	case "name":
		v, _ := m.names.find(e.Name)
		if v == nil {
			panic("oracle: name " + e.Name)
		}
		return v
	case "data":
		if x, ok := m.structs(e.Ref); ok {
			return m.shownStructs(x, e.Ref, line)
		}
		if x, _ := m.names.find(e.Ref.Name); len(e.Ref.Index) == 0 {
			switch x := x.(type) {
			case *view:
				if x.ended {
					m.fail(line, "E0506")
				}
				return x
			case *hold:
				return x
			}
		}
		return m.handle(e.Ref, line)
	case "value":
		h := m.handle(e.Ref, line)
		m.Values = true
		m.read(h, line, false)
		return m.scalar(h.cells[h.places[0]].Value, line)
	case "elem":
		x, _ := m.names.find(e.Name)
		h := x.(*hold)
		m.Values = true
		return m.scalar(h.cells[m.place(h, e, line)].Value, line)
	case "field":
		return m.field(e, line)
	case "and", "or":
		if v := m.number(e.Args[0], line); (v.I == 1) == (e.Op == "or") {
			m.Skipped[line] = true
			return v
		}
		return m.number(e.Args[1], line)
	case "not":
		return boolValue(m.number(e.Args[0], line).I == 0)
	case "neg":
		v := m.number(e.Args[0], line)
		if v.T == I64 && v.I == math.MinInt64 {
			m.fail(line, "R0103")
		}
		return Value{T: v.T, I: -v.I, F: -v.F, Im: -v.Im}
	case "~":
		m.Used["script ~"]++
		v := m.number(e.Args[0], line)
		return intValue(^v.I)
	case "if":
		k := 1
		if m.number(e.Args[0], line).I == 0 {
			k = 2
		}
		m.Skipped[line] = true
		return m.number(e.Args[k], line)
	case "call":
		return m.builtin(e, line)
	}
	a, b := m.number(e.Args[0], line), m.number(e.Args[1], line)
	return m.binary(e.Op, a, b, line)
}

// binary evaluates an operator. An int never wraps, but for bits that << shifts out.
func (m *Machine) binary(op string, a, b Value, line int) Value {
	if bitOps[op] {
		m.Used["script "+op]++
		return bitwise(op, I64, a, b)
	}
	if a.T.Complex() || b.T.Complex() {
		m.Used["complex script "+op]++
		switch op {
		case "==", "!=":
			return boolValue(compare(op, C128, a, b))
		case "**":
			return complexPower(a, b.I)
		}
		return complexArithmetic(op, C128, a, b)
	}
	t := a.T
	if a.T != b.T {
		t = F64
	}
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		return boolValue(compare(op, t, a, b))
	case "/":
		t = F64
	}
	a, b = convert(t, a), convert(t, b)
	v, ok := arithmetic(op, t, a, b)
	if !ok || t == I64 && !fits(op, a.I, b.I) {
		m.fail(line, "R0103")
	}
	return v
}

// fits reports whether the result of a op b is an int of 64 bits.
func fits(op string, a, b int64) bool {
	x, y := big.NewInt(a), big.NewInt(b)
	switch op {
	case "+":
		x.Add(x, y)
	case "-":
		x.Sub(x, y)
	case "*":
		x.Mul(x, y)
	case "//", "%":
		return op == "%" || a != math.MinInt64 || b != -1
	case "**":
		if b > 64 && a != 0 && a != 1 && a != -1 {
			return false
		}
		if b > 64 {
			return true
		}
		x.Exp(x, y, nil)
	}
	return x.IsInt64()
}

// scalar is an element as the script has it: an int, a float or a complex number.
func (m *Machine) scalar(v Value, line int) Value {
	switch {
	case v.T.Complex():
		return convert(C128, v)
	case v.T == Bool:
		return v
	case v.T.Float():
		return floatValue(v.F)
	case v.T == U64 && v.I < 0:
		m.fail(line, "R0103")
	}
	return intValue(v.I)
}

func (m *Machine) builtin(e *Expr, line int) Value {
	if f := m.funcs[e.Name]; f != nil {
		return m.callFunc(f, e, line)
	}
	var args []Value
	t := I64
	for _, a := range e.Args {
		v := m.number(a, line)
		if args = append(args, v); v.T == F64 {
			t = F64
		}
	}
	v := args[0]
	switch e.Name {
	case "float":
		return convert(F64, v)
	case "int":
		if v.T == F64 && !(v.F >= -1<<63 && v.F < 1<<63) {
			m.fail(line, "R0103")
		}
		return truncate(v)
	case "re", "im":
		return complexCall(e.Name, F64, args)
	case "conj", "complex":
		return complexCall(e.Name, C128, args)
	case "abs":
		if v.T.Complex() {
			return complexAbs(v)
		}
		if v.T == I64 && v.I == math.MinInt64 {
			m.fail(line, "R0103")
		}
		if v.I < 0 {
			v.I = -v.I
		}
		v.F = math.Abs(v.F)
		return v
	case "min", "max":
		v = convert(t, v)
		for _, b := range args[1:] {
			v = extreme(e.Name, v, convert(t, b))
		}
		return v
	}
	panic("oracle: builtin " + e.Name)
}

// callFunc calls f, whose parameters and result are numbers.
func (m *Machine) callFunc(f *Func, e *Expr, line int) Value {
	m.Used["script call"]++
	args := make([]Arg, len(e.Args))
	for k, a := range e.Args {
		args[k].Expr = a
	}
	s := &Stmt{Kind: Call, Name: f.Name, Args: args, Line: line}
	m.enter(f, s)
	return m.result.(Value)
}

// field evaluates x.n and the like.
func (m *Machine) field(e *Expr, line int) Value {
	name := e.Name
	if e.Ref != nil {
		name = e.Ref.Name
	}
	switch x, _ := m.names.find(name); x := x.(type) {
	case *view:
		if e.Field == "count" {
			if x.ended {
				m.fail(line, "E0506")
			}
			return intValue(int64(len(x.parts)))
		}
	case *hold:
		return intValue(field(e.Field, x.dims, x.offset))
	case *handle:
		if (e.Ref == nil || len(e.Ref.Index) == 0) && x.alive() == "E0403" {
			return intValue(field(e.Field, x.dims, x.offset)) // it still has its shape
		}
	}
	r := e.Ref
	if r == nil {
		r = &Ref{Name: name}
	}
	h := m.handle(r, line)
	return intValue(field(e.Field, h.dims, h.offset))
}

// place is the cell of an element of an array.
func (m *Machine) place(h *hold, e *Expr, line int) int {
	k := 0
	for a, x := range e.Args {
		i, n := m.number(x, line).I, int64(1)
		if len(h.dims) > 0 {
			n = int64(h.dims[a])
		}
		if i < 0 || i >= n {
			m.fail(line, "R0105")
		}
		k = k*int(n) + int(i)
	}
	return h.places[k]
}

// assign gives a name or an element of an array another value.
func (m *Machine) assign(s *Stmt) {
	var old Value
	if s.Op != "=" {
		old = m.number(s.Target, s.Line)
	}
	v := m.number(s.Expr, s.Line)
	if s.Op != "=" {
		v = m.binary(s.Op[:len(s.Op)-1], old, v, s.Line)
	}
	if s.Target.Op == "elem" {
		x, _ := m.names.find(s.Target.Name)
		h := x.(*hold)
		k := m.place(h, s.Target, s.Line)
		if h.mode == R {
			m.fail(s.Line, "E0301")
		}
		h.cells[k].Value = m.element(v, h.data.Elem, s.Line)
		return
	}
	x, in := m.names.find(s.Target.Name)
	in.names[s.Target.Name] = convert(x.(Value).T, v)
}

// text is how print shows v.
func (m *Machine) text(v any, line int) string {
	switch v := v.(type) {
	case Value:
		return v.text()
	case string:
		return v
	case *gate:
		return "gate"
	case *task:
		return fmt.Sprintf("task %d %s", v.id, v.codelet.Name)
	case *view:
		text := fmt.Sprintf("view[%s] %d parts", v.parts[0].typeText(), len(v.parts))
		if len(v.parts) == 1 {
			text = strings.TrimSuffix(text, "s")
		}
		return text
	case *hold:
		return v.handle.text()
	case *shownStructs:
		return v.text(m, line)
	case *handle:
		m.read(v, line, true)
		return v.text()
	}
	panic(fmt.Sprintf("oracle: print of %T", v))
}

// item is element k of h as print shows it.
func (h *handle) item(k int) string {
	c := &h.cells[h.places[k]]
	if !c.filled {
		return "?"
	}
	return c.text()
}

// shown calls item for the indices below n that print shows, and gap where some are left out.
func shown(n, whole, head, tail int, item func(i int), gap func()) {
	for i := 0; i < n; i++ {
		if n > whole && i == head {
			gap()
			i = n - tail
		}
		item(i)
	}
}

// text is how print shows the elements of h.
func (h *handle) text() string {
	if h.shape == Void {
		return "void"
	}
	var b strings.Builder
	b.WriteString(h.typeText())
	var sizes []string
	for _, n := range h.dims {
		sizes = append(sizes, strconv.Itoa(n))
	}
	if len(sizes) > 0 {
		b.WriteString(" " + strings.Join(sizes, " x "))
	}
	b.WriteString(":")
	row := func(at, n int) {
		shown(n, 8, 5, 2, func(j int) { b.WriteString(" " + h.item(at+j)) }, func() { b.WriteString(" …") })
	}
	rows := func(at, n, cols int, indent string) {
		shown(n, 8, 5, 2, func(i int) { b.WriteString("\n" + indent); row(at+i*cols, cols) }, func() { b.WriteString("\n" + indent + " …") })
	}
	switch h.shape {
	case Variable:
		b.WriteString(" " + h.item(0))
	case Vector:
		shown(h.dims[0], 12, 6, 3, func(i int) { b.WriteString(" " + h.item(i)) }, func() { b.WriteString(" …") })
		if h.dims[0] > 12 {
			b.WriteString(h.summary())
		}
	case Matrix:
		rows(0, h.dims[0], h.dims[1], " ")
	case Block:
		plane := h.dims[1] * h.dims[2]
		shown(h.dims[0], 8, 5, 2, func(x int) {
			fmt.Fprintf(&b, "\n  x = %d:", x)
			rows(x*plane, h.dims[1], h.dims[2], "   ")
		}, func() { b.WriteString("\n  …") })
	default:
		last := len(h.dims) - 2
		var planes func(at []string, n int) // those at some first indices; n is their number, row by row
		planes = func(at []string, n int) {
			if len(at) == last {
				fmt.Fprintf(&b, "\n  [%s]:", strings.Join(at, ", "))
				rows(n*h.dims[last]*h.dims[last+1], h.dims[last], h.dims[last+1], "   ")
				return
			}
			size := h.dims[len(at)]
			shown(size, 8, 5, 2, func(i int) { planes(append(slices.Clone(at), fmt.Sprint(i)), n*size+i) }, func() { b.WriteString("\n  …") })
		}
		planes(nil, 0)
	}
	return b.String()
}

// summary is the smallest, the largest and the mean element of a long vector.
func (h *handle) summary() string {
	lo, hi := Value{T: h.data.Elem}, Value{T: h.data.Elem}
	sum, imaginary, n, any, none := 0.0, 0.0, 0, false, true
	var order tally
	for _, p := range h.places {
		c := &h.cells[p]
		if !c.filled {
			continue
		}
		none = false
		x := c.real()
		sum += x
		imaginary += c.Im
		order.add(Value{T: C128, F: x, Im: c.Im})
		n++
		if x != x {
			continue
		}
		if !any || less(c.Value, lo) {
			lo = c.Value
		}
		if !any || less(hi, c.Value) {
			hi = c.Value
		}
		any = true
	}
	if none {
		return ""
	}
	if h.data.Elem == Bool {
		return fmt.Sprintf("   true %v  false %v", sum, float64(n)-sum)
	}
	if !order.exact("sum", C128) {
		panic(undetermined("the mean of a vector, which is rounded"))
	}
	bits := 64
	if h.data.Elem.part().computes() == F32 {
		bits = 32
	}
	if h.data.Elem.Complex() {
		return "   mean " + complexText(sum/float64(n), imaginary/float64(n), bits)
	}
	if !any {
		return "   min nan  max nan  mean nan"
	}
	return "   min " + lo.text() + "  max " + hi.text() + "  mean " + floatText(sum/float64(n), bits)
}
