package kernel

// A slow interpreter of bodies that works on the tree alone. It shares nothing
// with the lowering and the back end, and is what random bodies are compared
// with.

import (
	"errors"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
)

// refValue is a value with its type, by name: "i8" … "f64", "bool".
type refValue struct {
	typ string
	lit bool
	i   uint64 // integers, cut to their width and sign-extended; bools
	f   float64
}

// refData is an operand: values row by row.
type refData struct {
	elem       string
	rank       int
	rows, cols int // a vector has its length in rows; a block has ny, nz
	planes     int // nx of a block
	offset     int
	cells      []refValue
}

func (d *refData) clone() *refData {
	c := *d
	c.cells = append([]refValue(nil), d.cells...)
	return &c
}

var errRefFault = errors.New("fault")

type refStop struct{ err error }

// refRun interprets the body of c; the scalars are in vars.
func refRun(c *syntax.Codelet, data map[string]*refData, scalars map[string]refValue) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(refStop)
			if !ok {
				panic(r)
			}
			err = s.err
		}
	}()
	env := &refEnv{data: data, vars: map[string]*refValue{}}
	for n, v := range scalars {
		env.vars[n] = &v
	}
	env.block(c.Body)
	return nil
}

type refEnv struct {
	parent *refEnv
	data   map[string]*refData
	vars   map[string]*refValue
}

func (e *refEnv) inner() *refEnv {
	return &refEnv{parent: e, data: e.data, vars: map[string]*refValue{}}
}

func (e *refEnv) find(name string) *refValue {
	for ; e != nil; e = e.parent {
		if v := e.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

func refFault() { panic(refStop{errRefFault}) }

var refWidth = map[string]int{"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "f32": 32, "f64": 64}

func refInt(t string, v uint64) refValue {
	shift := 64 - refWidth[t]
	if t[0] == 'i' {
		return refValue{typ: t, i: uint64(int64(v<<shift) >> shift)}
	}
	return refValue{typ: t, i: v << shift >> shift}
}

func refFloat(t string, v float64) refValue {
	if t == "f32" {
		v = float64(float32(v))
	}
	return refValue{typ: t, f: v}
}

func refBool(b bool) refValue {
	v := refValue{typ: "bool"}
	if b {
		v.i = 1
	}
	return v
}

func (v refValue) isFloat() bool { return v.typ[0] == 'f' }

// to converts v as a store does.
func (v refValue) to(t string) refValue {
	switch {
	case t == "bool" || v.typ == t:
		v.lit = false
		return v
	case t[0] == 'f' && v.isFloat():
		return refFloat(t, v.f)
	case t[0] == 'f' && v.typ[0] == 'u':
		if t == "f32" {
			return refFloat(t, float64(float32(v.i)))
		}
		return refFloat(t, float64(v.i))
	case t[0] == 'f':
		if t == "f32" {
			return refFloat(t, float64(float32(int64(v.i))))
		}
		return refFloat(t, float64(int64(v.i)))
	case v.isFloat():
		switch {
		case v.f != v.f:
			return refInt(t, 0)
		case v.f >= 0x1p63:
			return refInt(t, math.MaxInt64)
		case v.f <= -0x1p63:
			return refInt(t, 1<<63)
		}
		return refInt(t, uint64(int64(v.f)))
	}
	return refInt(t, v.i)
}

// refMeet is the type in which two values meet.
func refMeet(a, b refValue) string {
	if a.lit && !b.lit {
		return refMeet(b, a)
	}
	if b.lit && !a.lit {
		switch {
		case !b.isFloat() && a.isFloat():
			return a.typ
		case !b.isFloat() && refInt(a.typ, b.i).i == b.i && (a.typ != "u64" || int64(b.i) >= 0) && !(a.typ[0] == 'u' && int64(b.i) < 0):
			return a.typ
		case b.isFloat() && a.isFloat() && (math.Abs(b.f) <= math.MaxFloat32 || math.IsInf(b.f, 0)):
			return a.typ
		}
	}
	switch {
	case a.isFloat() && !b.isFloat():
		return a.typ
	case b.isFloat() && !a.isFloat():
		return b.typ
	case refWidth[a.typ] > refWidth[b.typ]:
		return a.typ
	case refWidth[b.typ] > refWidth[a.typ]:
		return b.typ
	case a.typ[0] == 'i':
		return a.typ
	}
	return b.typ
}

func (e *refEnv) block(b *syntax.Block) {
	in := e.inner()
	for _, s := range b.Stmts {
		in.stmt(s)
	}
}

func (e *refEnv) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Let:
		v := e.expr(s.Value)
		v.lit = false
		e.vars[s.Name.Name] = &v
	case *syntax.Assign:
		e.assign(s)
	case *syntax.If:
		if e.expr(s.Cond).i != 0 {
			e.block(s.Then)
		} else if b, ok := s.Else.(*syntax.Block); ok {
			e.block(b)
		} else if s.Else != nil {
			e.stmt(s.Else)
		}
	case *syntax.For:
		e.loop([]*syntax.Ident{s.Names[0]}, []syntax.Expr{s.In}, func(in *refEnv) { in.block(s.Body) })
	case *syntax.Each:
		e.loop(s.Names, s.Domain, func(in *refEnv) { in.block(s.Body) })
	}
}

// loop runs body for every combination of the names.
func (e *refEnv) loop(names []*syntax.Ident, dom []syntax.Expr, body func(in *refEnv)) {
	lo, hi := make([]int64, len(names)), make([]int64, len(names))
	if id, ok := dom[0].(*syntax.Ident); ok {
		d := e.data[id.Name]
		for k, n := range d.dims() {
			hi[k] = int64(n)
		}
	} else {
		for k, x := range dom {
			r := x.(*syntax.RangeExpr)
			lo[k], hi[k] = int64(e.expr(r.Lo).to("i64").i), int64(e.expr(r.Hi).to("i64").i)
			if r.Closed {
				hi[k]++
			}
		}
	}
	in := e.inner()
	var rec func(k int)
	rec = func(k int) {
		if k == len(names) {
			body(in)
			return
		}
		for i := lo[k]; i < hi[k]; i++ {
			v := refInt("i64", uint64(i))
			in.vars[names[k].Name] = &v
			rec(k + 1)
		}
	}
	rec(0)
}

func (e *refEnv) cell(name string, args []syntax.Expr) *refValue {
	d := e.data[name]
	switch len(args) {
	case 0:
		return &d.cells[0]
	case 1:
		i := int64(e.expr(args[0]).to("i64").i)
		if i < 0 || i >= int64(d.rows) {
			refFault()
		}
		return &d.cells[i]
	}
	at := int64(0)
	for k, n := range d.dims() {
		i := int64(e.expr(args[k]).to("i64").i)
		if i < 0 || i >= int64(n) {
			refFault()
		}
		at = at*int64(n) + i
	}
	return &d.cells[at]
}

// dims are the sizes, one for each index.
func (d *refData) dims() []int {
	if d.rank == 3 {
		return []int{d.planes, d.rows, d.cols}
	}
	return []int{d.rows, d.cols}[:d.rank]
}

func (e *refEnv) assign(s *syntax.Assign) {
	v := e.expr(s.Value)
	var at *refValue
	switch t := s.Target.(type) {
	case *syntax.Ident:
		if at = e.find(t.Name); at == nil {
			at = e.cell(t.Name, nil)
		}
	case *syntax.Index:
		at = e.cell(t.X.(*syntax.Ident).Name, t.Args)
	}
	if s.Op != "=" {
		v = refArith(s.Op[:len(s.Op)-1], *at, v)
	} else if k, ok := e.keep(s.Value, s.Target, at.typ); ok {
		v = k
	}
	*at = v.to(at.typ)
}

// keep evaluates m = max(m, e) and the like, where m has an integer type t: e converts to
// it first.
func (e *refEnv) keep(x, target syntax.Expr, t string) (refValue, bool) {
	c, ok := x.(*syntax.Call)
	if !ok || t[0] == 'f' {
		return refValue{}, false
	}
	name, ok := c.Fn.(*syntax.Ident)
	if !ok || name.Name != "min" && name.Name != "max" {
		return refValue{}, false
	}
	kept := false
	var all []refValue
	for _, a := range c.Args {
		if v, ok := e.keep(a.Value, target, t); ok {
			all, kept = append(all, v), true
			continue
		}
		kept = kept || syntax.EqualExpr(a.Value, target)
		all = append(all, e.expr(a.Value).to(t))
	}
	if !kept {
		return refValue{}, false
	}
	v := all[0]
	for _, w := range all[1:] {
		if (refBinary("<", w, v).i != 0) == (name.Name == "min") {
			v = w
		}
	}
	return v, true
}

func (e *refEnv) expr(x syntax.Expr) refValue {
	switch x := x.(type) {
	case *syntax.Paren:
		return e.expr(x.X)
	case *syntax.IntLit:
		return refValue{typ: "i64", lit: true, i: uint64(x.Value)}
	case *syntax.FloatLit:
		return refValue{typ: "f64", lit: true, f: x.Value}
	case *syntax.BoolLit:
		return refBool(x.Value)
	case *syntax.Ident:
		if v := e.find(x.Name); v != nil {
			return *v
		}
		return *e.cell(x.Name, nil)
	case *syntax.Index:
		return *e.cell(x.X.(*syntax.Ident).Name, x.Args)
	case *syntax.Selector:
		d := e.data[x.X.(*syntax.Ident).Name]
		n := map[string]int{"nx": d.planes, "ny": d.rows, "nz": d.cols, "x0": d.offset, "y0": d.offset + 1, "z0": d.offset + 2, "n": d.rows, "rows": d.rows, "cols": d.cols, "offset": d.offset}[x.Name.Name]
		return refInt("i64", uint64(n))
	case *syntax.Unary:
		v := e.expr(x.X)
		switch {
		case x.Op == "not":
			return refBool(v.i == 0)
		case v.isFloat():
			return refValue{typ: v.typ, lit: v.lit, f: -v.f}
		}
		r := refInt(v.typ, -v.i)
		r.lit = v.lit
		return r
	case *syntax.Binary:
		switch x.Op {
		case "and":
			return refBool(e.expr(x.X).i != 0 && e.expr(x.Y).i != 0)
		case "or":
			return refBool(e.expr(x.X).i != 0 || e.expr(x.Y).i != 0)
		}
		return refBinary(x.Op, e.expr(x.X), e.expr(x.Y))
	case *syntax.Cond:
		take, other := x.Then, x.Else
		if e.expr(x.If).i == 0 {
			take, other = other, take
		}
		v := e.expr(take)
		return v.to(e.meet(v, other))
	case *syntax.Call:
		return e.call(x)
	case *syntax.Fold:
		return e.fold(x)
	}
	panic("expression")
}

// meet is the type in which v meets an expression that is not evaluated, since
// it could fault.
func (e *refEnv) meet(v refValue, other syntax.Expr) string {
	if v.typ == "bool" {
		return "bool"
	}
	return refMeet(v, e.typeOf(other))
}

// typeOf is a value of the type that x has.
func (e *refEnv) typeOf(x syntax.Expr) refValue {
	switch x := x.(type) {
	case *syntax.Paren:
		return e.typeOf(x.X)
	case *syntax.Index:
		return refValue{typ: e.data[x.X.(*syntax.Ident).Name].elem}
	case *syntax.Ident:
		if v := e.find(x.Name); v != nil {
			return refValue{typ: v.typ}
		}
		return refValue{typ: e.data[x.Name].elem}
	case *syntax.Selector:
		return refValue{typ: "i64"}
	case *syntax.Unary:
		if x.Op == "not" {
			return refBool(true)
		}
		v := e.typeOf(x.X)
		v.i, v.f = -v.i, -v.f
		return v
	case *syntax.Binary:
		switch x.Op {
		case "+", "-", "*", "/", "//", "%", "**":
			a, b := e.typeOf(x.X), e.typeOf(x.Y)
			if a.lit && b.lit {
				return e.expr(x) // generated literals cannot fault
			}
			t := refMeet(a, b)
			if x.Op == "/" && t[0] != 'f' {
				t = "f64"
			}
			return refValue{typ: t}
		}
		return refBool(true)
	case *syntax.Cond:
		a, b := e.typeOf(x.Then), e.typeOf(x.Else)
		if a.typ == "bool" {
			return a
		}
		return refValue{typ: refMeet(a, b)}
	case *syntax.Call:
		switch name := x.Fn.(*syntax.Ident).Name; name {
		case "int":
			return refValue{typ: "i64"}
		case "float":
			return refValue{typ: "f64"}
		case "select":
			return refValue{typ: refMeet(e.typeOf(x.Args[1].Value), e.typeOf(x.Args[2].Value))}
		case "min", "max":
			return refValue{typ: refMeet(e.typeOf(x.Args[0].Value), e.typeOf(x.Args[1].Value))}
		case "abs":
			return refValue{typ: e.typeOf(x.Args[0].Value).typ}
		default:
			if t := e.typeOf(x.Args[0].Value); t.isFloat() {
				return refValue{typ: t.typ}
			}
			return refValue{typ: "f64"}
		}
	case *syntax.Fold:
		in := e.inner()
		for _, n := range x.Names {
			v := refInt("i64", 0)
			in.vars[n.Name] = &v
		}
		return refValue{typ: in.typeOf(x.Body).typ}
	}
	return e.expr(x) // literals
}

func refBinary(op string, a, b refValue) refValue {
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
	default:
		return refArith(op, a, b)
	}
	less, equal, ordered := false, false, true
	if a.typ == "bool" {
		equal = a.i == b.i
	} else {
		t := refMeet(a, b)
		a, b = a.to(t), b.to(t)
		switch {
		case t[0] == 'f':
			less, equal, ordered = a.f < b.f, a.f == b.f, a.f == a.f && b.f == b.f
		case t[0] == 'u':
			less, equal = a.i < b.i, a.i == b.i
		default:
			less, equal = int64(a.i) < int64(b.i), a.i == b.i
		}
	}
	switch op {
	case "==":
		return refBool(equal)
	case "!=":
		return refBool(!equal)
	case "<":
		return refBool(less)
	case "<=":
		return refBool(less || equal)
	case ">":
		return refBool(ordered && !less && !equal)
	}
	return refBool(ordered && !less)
}

func refArith(op string, a, b refValue) refValue {
	t := refMeet(a, b)
	if op == "/" && t[0] != 'f' {
		t = "f64"
	}
	lit := a.lit && b.lit
	a, b = a.to(t), b.to(t)
	var r refValue
	if t[0] == 'f' {
		x, y := a.f, b.f
		switch op {
		case "+":
			x += y
		case "-":
			x -= y
		case "*":
			x *= y
		case "/":
			x /= y
		case "//":
			x = math.Floor(refFloat(t, x/y).f)
		case "%":
			m := math.Mod(x, y)
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			x = m
		case "**":
			x = math.Pow(x, y)
		}
		r = refFloat(t, x)
	} else {
		signed := t[0] == 'i'
		x, y := a.i, b.i
		switch op {
		case "+":
			x += y
		case "-":
			x -= y
		case "*":
			x *= y
		case "//", "%":
			if y == 0 {
				refFault()
			}
			q, m := x, x
			if signed && int64(y) == -1 {
				q, m = -x, 0
			} else if signed {
				q, m = uint64(int64(x)/int64(y)), uint64(int64(x)%int64(y))
				if m != 0 && (int64(m) < 0) != (int64(y) < 0) {
					q, m = q-1, m+y
				}
			} else {
				q, m = x/y, x%y
			}
			if x = q; op == "%" {
				x = m
			}
		case "**":
			if signed && int64(y) < 0 {
				refFault()
			}
			p := uint64(1)
			for k := uint64(0); k < y; k++ {
				p *= x
			}
			x = p
		}
		r = refInt(t, x)
	}
	r.lit = lit
	return r
}

func (e *refEnv) call(x *syntax.Call) refValue {
	name := x.Fn.(*syntax.Ident).Name
	var args []refValue
	for _, a := range x.Args {
		args = append(args, e.expr(a.Value))
	}
	switch name {
	case "int":
		return args[0].to("i64")
	case "float":
		return args[0].to("f64")
	case "select":
		t := refMeet(args[1], args[2])
		if args[0].i != 0 {
			return args[1].to(t)
		}
		return args[2].to(t)
	case "min", "max":
		t := refMeet(args[0], args[1])
		a, b := args[0].to(t), args[1].to(t)
		if t[0] == 'f' {
			if a.f != a.f || b.f != b.f { // math.Min has infinities win
				return refFloat(t, math.NaN())
			}
			if name == "min" {
				return refFloat(t, math.Min(a.f, b.f))
			}
			return refFloat(t, math.Max(a.f, b.f))
		}
		if (refBinary("<", a, b).i != 0) == (name == "min") {
			return a
		}
		return b
	case "abs":
		v := args[0]
		v.lit = false
		if v.isFloat() {
			v.f = math.Abs(v.f)
		} else if v.typ[0] == 'i' && int64(v.i) < 0 {
			v = refInt(v.typ, -v.i)
		}
		return v
	}
	t := args[0].typ
	if t[0] != 'f' {
		t = "f64"
	}
	f := map[string]func(float64) float64{"sqrt": math.Sqrt, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "sin": math.Sin, "exp": math.Exp}[name]
	return refFloat(t, f(args[0].to(t).f))
}

func (e *refEnv) fold(x *syntax.Fold) refValue {
	var acc *refValue
	t := e.typeOf(x).typ
	e.loop(x.Names, x.Domain, func(in *refEnv) {
		v := in.expr(x.Body).to(t)
		if acc == nil {
			acc = &v
			return
		}
		switch x.Op {
		case "sum":
			*acc = refArith("+", *acc, v)
		case "prod":
			*acc = refArith("*", *acc, v)
		default:
			if t[0] == 'f' && (v.f != v.f || acc.f != acc.f) {
				*acc = refFloat(t, math.NaN())
			} else if (refBinary("<", v, *acc).i != 0) == (x.Op == "min") {
				*acc = v
			}
		}
	})
	if acc != nil {
		return *acc
	}
	hi := uint64(1)<<(refWidth[t]-1) - 1
	switch {
	case x.Op == "sum" || x.Op == "prod":
		n := 0.0
		if x.Op == "prod" {
			n = 1
		}
		return refValue{typ: "f64", f: n}.to(t)
	case t[0] == 'f' && x.Op == "min":
		return refFloat(t, math.Inf(1))
	case t[0] == 'f':
		return refFloat(t, math.Inf(-1))
	case x.Op == "min" && t[0] == 'u':
		return refInt(t, math.MaxUint64)
	case x.Op == "min":
		return refInt(t, hi)
	case t[0] == 'u':
		return refInt(t, 0)
	}
	return refInt(t, hi+1)
}

// refBuffer makes a buffer of d, with a gap behind each row of a matrix and each
// row and plane of a block, and a
// function that reads it back.
func refBuffer(d *refData) (*iface.Buffer, func() []refValue) {
	switch d.elem {
	case "i8":
		return refMemory[int8](d)
	case "i16":
		return refMemory[int16](d)
	case "i32":
		return refMemory[int32](d)
	case "i64":
		return refMemory[int64](d)
	case "u8":
		return refMemory[uint8](d)
	case "u16":
		return refMemory[uint16](d)
	case "u32":
		return refMemory[uint32](d)
	case "u64":
		return refMemory[uint64](d)
	case "f32":
		return refMemory[float32](d)
	}
	return refMemory[float64](d)
}

func refMemory[T Number](d *refData) (*iface.Buffer, func() []refValue) {
	rows, cols, ld := 1, d.rows, d.rows
	if d.rank == 2 {
		rows, cols, ld = d.rows, d.cols, d.cols+3
	} else if d.rank == 0 {
		cols, ld = 1, 1
	}
	plane := rows * ld
	if d.rank == 3 {
		cols, ld = d.cols, d.cols+3
		rows, plane = d.rows, d.rows*ld+5
	}
	mem := make([]T, max(1, d.planes)*plane)
	cell := func(k int) *T {
		row := k / max(cols, 1)
		return &mem[row/max(rows, 1)*plane+row%max(rows, 1)*ld+k%max(cols, 1)]
	}
	isFloat := d.elem[0] == 'f'
	for k, v := range d.cells {
		at := cell(k)
		if isFloat {
			*at = T(v.f)
		} else {
			*at = T(v.i)
		}
	}
	var b *iface.Buffer
	switch d.rank {
	case 0:
		b = variableOf(&mem[0])
	case 1:
		b = vectorOf(mem)
	case 3:
		b = matrixOf(mem, d.planes, rows, plane)
		b.Kind, b.Rank = iface.Block, 3
		b.Dim[2], b.Stride[1], b.Stride[2] = cols, ld, 1
		b.Off[1], b.Off[2] = d.offset+1, d.offset+2
	default:
		b = matrixOf(mem, rows, cols, ld)
	}
	b.Off[0] = d.offset
	return b, func() []refValue {
		out := make([]refValue, len(d.cells))
		for k := range out {
			v := *cell(k)
			if isFloat {
				out[k] = refFloat(d.elem, float64(v))
			} else {
				out[k] = refInt(d.elem, uint64(int64(v)))
			}
		}
		return out
	}
}
