package interp

// Builtin functions.

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// arg returns argument number i of e, or the one called name; nil when absent.
func arg(e *syntax.Call, i int, name string) syntax.Expr {
	k := 0
	for _, a := range e.Args {
		if a.Name != nil {
			if a.Name.Name == name {
				return a.Value
			}
			continue
		}
		if k == i {
			return a.Value
		}
		k++
	}
	return nil
}

func (c *compiler) intBuiltin(e *syntax.Call) intFn {
	at := c.positionOf(e)
	x := arg(e, 0, "")
	switch e.Callee.Name {
	case "len":
		return c.length(x)
	case "int":
		if reprOf(x.Type()) == rInt {
			return c.int(x)
		}
		v := c.float(x)
		return func(f *frame) int64 {
			a := v(f)
			n, ok := truncInt(a)
			if !ok {
				f.m.fail("R0103", at, "int(%s) does not fit an int (64 bit)", formatFloat(a, 64))
			}
			return n
		}
	case "abs":
		v := c.int(x)
		return func(f *frame) int64 {
			a := v(f)
			if a == math.MinInt64 {
				f.m.fail("R0103", at, "the result of abs(%d) does not fit an int (64 bit)", a)
			}
			return max(a, -a)
		}
	case "min", "max":
		var vs []func(f *frame) int64
		for _, a := range e.Args {
			vs = append(vs, c.int(a.Value))
		}
		return extreme(vs, e.Callee.Name == "min")
	case "value":
		h, at := c.ref(x), c.positionOf(e)
		return func(f *frame) int64 {
			n := f.m.value(h(f), at)
			v, _ := n.(int64)
			return v
		}
	}
	return nil
}

// extreme returns the smallest or largest of several.
func extreme[T int64 | float64](vs []func(f *frame) T, least bool) func(f *frame) T {
	return func(f *frame) T {
		out := vs[0](f)
		for _, v := range vs[1:] {
			if least {
				out = min(out, v(f))
			} else {
				out = max(out, v(f))
			}
		}
		return out
	}
}

// length compiles len(x).
func (c *compiler) length(x syntax.Expr) intFn {
	v, at := c.ref(x), c.positionOf(x)
	return func(f *frame) int64 {
		switch x := v(f).(type) {
		case *List:
			return int64(x.Len())
		case string:
			return int64(utf8.RuneCountInString(x))
		case Range:
			n := x.count()
			if n > math.MaxInt64 {
				f.m.fail("R0103", at, "the length %d of %v does not fit an int (64 bit)", n, x)
			}
			return int64(n)
		case *View:
			f.m.needOpen(x, at)
			return int64(len(x.parts))
		case *Array:
			x.needHeld(f.m, at)
			if x.buf.Rank == 0 {
				return 1
			}
			return int64(x.buf.Dim[0])
		}
		return 0
	}
}

// mathOne has the functions of one float. They give the bits that bodies of codelets give.
var mathOne = map[string]func(float64) float64{
	"sqrt": math.Sqrt, "cbrt": elementary.Cbrt, "exp": elementary.Exp, "log": elementary.Log, "log2": elementary.Log2,
	"sin": elementary.Sin, "cos": elementary.Cos, "tan": elementary.Tan, "tanh": elementary.Tanh, "erf": elementary.Erf,
	"floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "abs": math.Abs,
}

// complexToFloat has the functions of a complex number that give a float.
var complexToFloat = map[string]func(complex128) float64{
	"re": func(z complex128) float64 { return real(z) }, "im": func(z complex128) float64 { return imag(z) },
	"abs": elementary.AbsComplex, "arg": elementary.ArgComplex,
}

// complexToComplex has those that give a complex number.
var complexToComplex = map[string]func(complex128) complex128{
	"conj": func(z complex128) complex128 { return complex(real(z), -imag(z)) },
	"sqrt": elementary.SqrtComplex, "exp": elementary.ExpComplex, "log": elementary.LogComplex,
}

func (c *compiler) floatBuiltin(e *syntax.Call) floatFn {
	name := e.Callee.Name
	if fn := complexToFloat[name]; fn != nil && (mathOne[name] == nil || arg(e, 0, "").Type().Kind == types.Complex) {
		z := c.complex(arg(e, 0, ""))
		return func(f *frame) float64 { return fn(z(f)) }
	}
	if fn := mathOne[name]; fn != nil {
		x := c.float(arg(e, 0, ""))
		return func(f *frame) float64 { return fn(x(f)) }
	}
	switch name {
	case "float", "conj":
		return c.float(arg(e, 0, ""))
	case "pow":
		x, y := c.float(arg(e, 0, "")), c.float(arg(e, 1, ""))
		return func(f *frame) float64 { a := x(f); return elementary.Pow(a, y(f)) }
	case "fma":
		x, y, z := c.float(arg(e, 0, "")), c.float(arg(e, 1, "")), c.float(arg(e, 2, ""))
		return func(f *frame) float64 { a := x(f); b := y(f); return math.FMA(a, b, z(f)) }
	case "min", "max":
		var vs []func(f *frame) float64
		for _, a := range e.Args {
			vs = append(vs, c.float(a.Value))
		}
		return extreme(vs, name == "min")
	case "value":
		h, at := c.ref(arg(e, 0, "")), c.positionOf(e)
		return func(f *frame) float64 {
			v, _ := f.m.value(h(f), at).(float64)
			return v
		}
	}
	return nil
}

func (c *compiler) complexBuiltin(e *syntax.Call) func(f *frame) complex128 {
	name := e.Callee.Name
	if fn := complexToComplex[name]; fn != nil {
		z := c.complex(arg(e, 0, ""))
		return func(f *frame) complex128 { return fn(z(f)) }
	}
	switch name {
	case "complex":
		x, y := arg(e, 0, ""), arg(e, 1, "")
		if y == nil {
			return c.complex(x)
		}
		re, im := c.float(x), c.float(y)
		return func(f *frame) complex128 { a := re(f); return complex(a, im(f)) }
	case "value":
		h, at := c.ref(arg(e, 0, "")), c.positionOf(e)
		return func(f *frame) complex128 {
			z, _ := f.m.value(h(f), at).(complex128)
			return z
		}
	}
	c.bug(e, "%s as complex", name)
	return nil
}

func (c *compiler) boolBuiltin(e *syntax.Call) boolFn {
	switch e.Callee.Name {
	case "close":
	case "busy":
		x, at := c.any(arg(e, 0, "")), c.positionOf(e)
		return func(f *frame) bool { return f.m.busy(x(f), at) }
	case "value":
		h, at := c.ref(arg(e, 0, "")), c.positionOf(e)
		return func(f *frame) bool {
			v, _ := f.m.value(h(f), at).(bool)
			return v
		}
	default:
		return nil
	}
	p, q := arg(e, 0, "a"), arg(e, 1, "b")
	tol := func(*frame) float64 { return 1e-9 }
	if t := arg(e, 2, "tol"); t != nil {
		tol = c.float(t)
	}
	if p.Type().Kind == types.Complex || q.Type().Kind == types.Complex {
		a, b := c.complex(p), c.complex(q)
		return func(f *frame) bool {
			x := a(f)
			y := b(f)
			return elementary.AbsComplex(x-y) <= tol(f)*max(1, elementary.AbsComplex(x), elementary.AbsComplex(y))
		}
	}
	a, b := c.float(p), c.float(q)
	return func(f *frame) bool {
		x := a(f)
		y := b(f)
		return math.Abs(x-y) <= tol(f)*max(1, math.Abs(x), math.Abs(y))
	}
}

func (c *compiler) refBuiltin(e *syntax.Call) refFn {
	at := c.positionOf(e)
	switch name := e.Callee.Name; name {
	case "print":
		var args []func(f *frame) string
		for _, a := range e.Args {
			args = append(args, c.shownText(a.Value))
		}
		return func(f *frame) any { f.m.print(f, args, at); return nil }
	case "str":
		t := c.textOf(arg(e, 0, ""))
		return func(f *frame) any {
			s := t(f)
			f.m.allocString(len(s), at)
			return s
		}
	case "save":
		x, file := c.ref(arg(e, 0, "")), c.ref(arg(e, 1, ""))
		at1 := c.positionOf(arg(e, 1, ""))
		return func(f *frame) any {
			h := x(f)
			s, _ := file(f).(string)
			f.m.save(h, s, at, at1)
			return nil
		}
	case "range":
		a, b := c.int(arg(e, 0, "a")), c.int(arg(e, 1, "b"))
		step := func(*frame) int64 { return 1 }
		if s := arg(e, 2, "step"); s != nil {
			step = c.int(s)
		}
		return func(f *frame) any {
			lo := a(f)
			hi := b(f)
			s := step(f)
			if s == 0 {
				f.m.fail("E0705", at, "the step of a range must not be 0")
			}
			f.m.alloc(valueBytes, at)
			return Range{lo, hi, s}
		}
	case "grid":
		var sizes []intFn
		for _, a := range e.Args {
			sizes = append(sizes, c.int(a.Value))
		}
		return func(f *frame) any { return f.m.grid(f, sizes, at) }
	case "gate":
		return func(f *frame) any {
			f.m.alloc(gateBytes, at)
			return &Gate{f.m.job.NewGate()}
		}
	case "open":
		g := c.ref(arg(e, 0, ""))
		return func(f *frame) any {
			if g, ok := g(f).(*Gate); ok {
				g.g.Open()
			}
			return nil
		}
	case "gpu", "cuda", "opencl", "disk", "numa":
		i := c.int(arg(e, 0, ""))
		return func(f *frame) any {
			k := i(f)
			if k < 0 {
				f.m.fail("E0705", at, "%s(%d): devices are counted from 0", name, k)
			}
			f.m.alloc(valueBytes, at)
			if name == "numa" && k == 0 {
				return ram
			}
			return Node{Kind: name, Index: k}
		}
	case "nodes":
		return func(f *frame) any {
			var all []Node
			f.m.loggedJSON(at, recordNodes, &all, func() { all = f.m.nodes() })
			f.m.allocList(int64(len(all)), rRef, at)
			f.m.alloc(valueBytes*int64(len(all)), at)
			l := newList(rRef, len(all))
			for k, n := range all {
				l.a[k] = n
			}
			return l
		}
	case "workers":
		k := c.ref(arg(e, 0, ""))
		return func(f *frame) any {
			var all []int
			if kind, ok := k(f).(DeviceKind); ok {
				f.m.loggedJSON(at, recordWorkers, &all, func() { all = f.m.ofKind(kind) })
			}
			f.m.allocList(int64(len(all)), rRef, at)
			f.m.alloc(valueBytes*int64(len(all)), at)
			l := newList(rRef, len(all))
			for k, w := range all {
				l.a[k] = Worker(w)
			}
			return l
		}
	case "reducer":
		return c.reducer(e)
	case "layout":
		return c.layout(e)
	}
	return nil
}

// grid returns all index lists.
func (m *Machine) grid(f *frame, sizes []intFn, at position) *List {
	total := int64(1)
	dims := make([]int64, len(sizes))
	for k, s := range sizes {
		dims[k] = max(0, s(f))
		n, ok := mulInt(total, dims[k])
		if !ok {
			m.exceeded("mem", at)
		}
		total = n
	}
	each := listBytes + itemBytes(rRef) + itemBytes(rInt)*int64(len(dims))
	bytes, ok := mulInt(total, each)
	if !ok {
		m.exceeded("mem", at)
	}
	m.alloc(listBytes+bytes, at)
	out := newList(rRef, int(total))
	idx := make([]int64, len(dims))
	for n := int64(0); n < total; n++ {
		if m.fuel--; m.fuel < 0 {
			m.refuel(at)
		}
		out.a[n] = &List{kind: rInt, i: slices.Clone(idx)}
		for k := len(idx) - 1; k >= 0; k-- {
			if idx[k]++; idx[k] < dims[k] {
				break
			}
			idx[k] = 0
		}
	}
	return out
}

// print writes one line.
func (m *Machine) print(f *frame, args []func(f *frame) string, at position) {
	var first [4]string
	texts, size := first[:0], int64(1)  // with the end of the line
	if m.plan != nil && m.plan.parted { // a run may print something else, or nothing
		texts, size = append(texts, unwrittenElement), size+2
	}
	for k, a := range args {
		if k > 0 {
			size++
		}
		s := a(f)
		texts = append(texts, s)
		if size += int64(len(s)); size > m.may.output-m.used.output {
			m.exceeded("output", at)
		}
	}
	if size > m.may.output-m.used.output {
		m.exceeded("output", at)
	}
	if m.replays() {
		return
	}
	m.fits(size, at)
	line := make([]byte, 0, size)
	for k, s := range texts {
		if k > 0 {
			line = append(line, ' ')
		}
		line = append(line, s...)
	}
	line = append(line, '\n')
	m.used.output += int64(len(line))
	m.poll(at)
	err := protect(func() error { _, err := m.stdout.Write(line); return err })
	if err != nil {
		m.failedAlone = true
		d := m.diagnostic("R0107", at, "print could not write: "+firstLine(err.Error()))
		d.Cause = err
		m.raise(d)
	}
	if m.events != nil {
		m.events.add(Event{Kind: Print, Time: time.Now(), Text: string(line[:len(line)-1]), Span: at.span()})
	}
}

// operate applies an arithmetic operator to boxed operands.
func (m *Machine) operate(op string, a, b any, at position) any {
	x, okx := a.(int64)
	y, oky := b.(int64)
	if okx && oky && op != "/" {
		return m.intOp(op, x, y, at)
	}
	_, complexA := a.(complex128)
	if _, complexB := b.(complex128); complexA || complexB {
		return complexOp(op, complexOf(a), complexOf(b), !complexA, !complexB)
	}
	if s, ok := a.(string); ok {
		t, _ := b.(string)
		m.allocString(len(s)+len(t), at)
		return s + t
	}
	if s, ok := a.(*List); ok {
		t, _ := b.(*List)
		m.allocList(int64(s.Len()+t.orEmpty().Len()), rRef, at)
		return concat(s, t.orEmpty())
	}
	return floatOp(op, number(a), number(b))
}

// value acquires a variable, reads its element and releases it.
func (m *Machine) value(v any, at position) any {
	h, _ := v.(*Handle)
	if h == nil {
		m.fail("E0705", at, "value() needs a variable")
	}
	if m.plan != nil {
		return m.plannedValue(h, at)
	}
	acc := m.hold(h, iface.R, at)
	b := *acc.Buffer()
	e := readElem(b.Elem, b.Ptr)
	if err := acc.Release(); err != nil {
		m.raiseEngine(err, at, h)
	}
	out := m.elemValue(b.Elem, e, at)
	if m.cfg.Values != nil {
		m.cfg.Values.read = append(m.cfg.Values.read, readAt(at, out))
	}
	return out
}
