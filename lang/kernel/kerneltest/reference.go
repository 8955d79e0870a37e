package kerneltest

// The reference interpreter of bodies. It works on the syntax tree and shares no code with
// the stages of lang/kernel, but for functions such as sin.

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// Value is a value with the name of its type: "i8" … "f64", "bool".
type Value struct {
	Type    string
	Literal bool
	Int     uint64 // an integer, reduced to its width and sign-extended, or a bool
	Float   float64
}

// Data is a data operand, with its values row by row.
type Data struct {
	Elem       string
	Rank       int
	Rows, Cols int   // a vector has its length in rows; a block has ny, nz
	Planes     int   // nx of a block, n1 of a tensor
	Cubes      int   // n0 of a tensor
	Front      []int // sizes of a tensor along the indices before its last four
	Offset     int
	Cells      []Value
}

func (d *Data) clone() *Data {
	c := *d
	c.Cells = append([]Value(nil), d.Cells...)
	return &c
}

var errFault = errors.New("fault")

type stopped struct{ err error }

// interpret runs the body of c on data, which it changes.
func interpret(file *syntax.File, c *syntax.Codelet, data map[string]*Data, scalars map[string]Value) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			err = s.err
		}
	}()
	env := &env{data: data, vars: map[string]*Value{}, arrays: map[string]*Data{}, funcs: map[string]*syntax.Func{}, result: &Value{}}
	for _, s := range file.Stmts {
		if fn, ok := s.(*syntax.Func); ok {
			env.funcs[fn.Name.Name] = fn
		}
	}
	for n, v := range scalars {
		env.vars[n] = &v
	}
	env.block(c.Body)
	return nil
}

type env struct {
	parent *env
	data   map[string]*Data
	vars   map[string]*Value
	arrays map[string]*Data // of the body
	funcs  map[string]*syntax.Func
	result *Value // of the func that runs
}

// ctl is how a statement ended.
type ctl uint8

const (
	ended ctl = iota
	broken
	continued
	returned
)

func (e *env) inner() *env {
	return &env{parent: e, data: e.data, vars: map[string]*Value{}, arrays: map[string]*Data{}, funcs: e.funcs, result: e.result}
}

func (e *env) find(name string) *Value {
	for ; e != nil; e = e.parent {
		if v := e.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

// dataOf returns the array of the body or the operand with a name.
func (e *env) dataOf(name string) *Data {
	for in := e; in != nil; in = in.parent {
		if d := in.arrays[name]; d != nil {
			return d
		}
	}
	return e.data[name]
}

func fault() { panic(stopped{errFault}) }

var widths = map[string]int{"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}

// IntValue returns the integer v, reduced to type t.
func IntValue(t string, v uint64) Value {
	shift := 64 - widths[t]
	if t[0] == 'i' {
		return Value{Type: t, Int: uint64(int64(v<<shift) >> shift)}
	}
	return Value{Type: t, Int: v << shift >> shift}
}

// FloatValue returns the float v, rounded to type t.
func FloatValue(t string, v float64) Value {
	e, _ := iface.ElemByName(t)
	return Value{Type: t, Float: e.Round(v)}
}

// isFloat reports whether t is a type of floats.
func isFloat(t string) bool { return t[0] == 'f' || t == "bf16" }

// computed returns the type in which a body computes with elements of type t.
func computed(t string) string {
	if t == "f16" || t == "bf16" {
		return "f32"
	}
	return t
}

// loaded returns the value of an element.
func (v Value) loaded() Value {
	v.Type = computed(v.Type)
	return v
}

// BoolValue returns a bool.
func BoolValue(b bool) Value {
	v := Value{Type: "bool"}
	if b {
		v.Int = 1
	}
	return v
}

func (v Value) isFloat() bool { return isFloat(v.Type) }

// to returns v, converted to t as by a store.
func (v Value) to(t string) Value {
	switch {
	case t == "bool" || v.Type == t:
		v.Literal = false
		return v
	case isFloat(t) && v.isFloat():
		return FloatValue(t, v.Float)
	case isFloat(t) && v.Type[0] == 'u':
		if t == "f32" {
			return FloatValue(t, float64(float32(v.Int)))
		}
		return FloatValue(t, float64(v.Int))
	case isFloat(t):
		if t == "f32" {
			return FloatValue(t, float64(float32(int64(v.Int))))
		}
		return FloatValue(t, float64(int64(v.Int)))
	case v.isFloat():
		switch {
		case v.Float != v.Float:
			return IntValue(t, 0)
		case v.Float >= 0x1p63:
			return IntValue(t, math.MaxInt64)
		case v.Float <= -0x1p63:
			return IntValue(t, 1<<63)
		}
		return IntValue(t, uint64(int64(v.Float)))
	}
	return IntValue(t, v.Int)
}

// commonType returns the type in which an operation of two values computes.
func commonType(a, b Value) string {
	if a.Literal && !b.Literal {
		return commonType(b, a)
	}
	if b.Literal && !a.Literal {
		switch {
		case !b.isFloat() && a.isFloat():
			return a.Type
		case !b.isFloat() && IntValue(a.Type, b.Int).Int == b.Int && (a.Type != "u64" || int64(b.Int) >= 0) && !(a.Type[0] == 'u' && int64(b.Int) < 0):
			return a.Type
		case b.isFloat() && a.isFloat() && (math.Abs(b.Float) <= math.MaxFloat32 || math.IsInf(b.Float, 0)):
			return a.Type
		}
	}
	switch {
	case a.isFloat() && !b.isFloat():
		return a.Type
	case b.isFloat() && !a.isFloat():
		return b.Type
	case widths[a.Type] > widths[b.Type]:
		return a.Type
	case widths[b.Type] > widths[a.Type]:
		return b.Type
	case a.Type[0] == 'i':
		return a.Type
	}
	return b.Type
}

func (e *env) block(b *syntax.Block) ctl {
	in := e.inner()
	for _, s := range b.Stmts {
		if c := in.stmt(s); c != ended {
			return c
		}
	}
	return ended
}

func (e *env) stmt(s syntax.Stmt) ctl {
	switch s := s.(type) {
	case *syntax.Let:
		if c, ok := s.Value.(*syntax.Call); ok {
			if x, ok := c.Fn.(*syntax.Index); ok { // array[f64](8, fill = v)
				e.arrays[s.Name.Name] = e.newArray(x.Args[0].(*syntax.Ident).Name, c.Args)
				return ended
			}
		}
		v := e.expr(s.Value)
		v.Literal = false
		e.vars[s.Name.Name] = &v
	case *syntax.Assign:
		e.assign(s)
	case *syntax.If:
		if e.expr(s.Cond).Int != 0 {
			return e.block(s.Then)
		} else if b, ok := s.Else.(*syntax.Block); ok {
			return e.block(b)
		} else if s.Else != nil {
			return e.stmt(s.Else)
		}
	case *syntax.For:
		return e.loop([]*syntax.Ident{s.Names[0]}, []syntax.Expr{s.In}, func(in *env) ctl { return in.block(s.Body) })
	case *syntax.Each:
		return e.loop(s.Names, s.Domain, func(in *env) ctl { return in.block(s.Body) })
	case *syntax.While:
		for e.expr(s.Cond).Int != 0 {
			if c := e.block(s.Body); c == broken {
				break
			} else if c == returned {
				return c
			}
		}
	case *syntax.Break:
		return broken
	case *syntax.Continue:
		return continued
	case *syntax.Return:
		*e.result = e.expr(s.Value)
		return returned
	}
	return ended
}

// newArray returns an array of a body.
func (e *env) newArray(elem string, args []*syntax.Arg) *Data {
	d := &Data{Elem: elem, Rank: 1, Rows: int(e.expr(args[0].Value).Int)}
	fill := IntValue("i64", 0)
	if elem == "bool" {
		fill = BoolValue(false)
	}
	if len(args) > 1 {
		fill = e.expr(args[1].Value)
	}
	for range d.Rows {
		d.Cells = append(d.Cells, fill.to(elem))
	}
	return d
}

// loop runs body for every combination of the names, until it breaks or returns.
func (e *env) loop(names []*syntax.Ident, dom []syntax.Expr, body func(in *env) ctl) ctl {
	lo, hi := make([]int64, len(names)), make([]int64, len(names))
	if id, ok := dom[0].(*syntax.Ident); ok {
		d := e.dataOf(id.Name)
		for k, n := range d.dims() {
			hi[k] = int64(n)
		}
	} else {
		for k, x := range dom {
			r := x.(*syntax.RangeExpr)
			lo[k], hi[k] = int64(e.expr(r.Lo).to("i64").Int), int64(e.expr(r.Hi).to("i64").Int)
			if r.Closed {
				hi[k]++
			}
		}
	}
	in := e.inner()
	var rec func(k int) ctl
	rec = func(k int) ctl {
		if k == len(names) {
			return body(in)
		}
		for i := lo[k]; i < hi[k]; i++ {
			v := IntValue("i64", uint64(i))
			in.vars[names[k].Name] = &v
			if c := rec(k + 1); c == broken || c == returned {
				return c
			}
		}
		return ended
	}
	if c := rec(0); c == returned {
		return c
	}
	return ended
}

func (e *env) cell(name string, args []syntax.Expr) *Value {
	d := e.dataOf(name)
	switch len(args) {
	case 0:
		return &d.Cells[0]
	case 1:
		i := int64(e.expr(args[0]).to("i64").Int)
		if i < 0 || i >= int64(d.Rows) {
			fault()
		}
		return &d.Cells[i]
	}
	at := int64(0)
	for k, n := range d.dims() {
		i := int64(e.expr(args[k]).to("i64").Int)
		if i < 0 || i >= int64(n) {
			fault()
		}
		at = at*int64(n) + i
	}
	return &d.Cells[at]
}

// dims returns the sizes, one for each index.
func (d *Data) dims() []int {
	switch d.Rank {
	case 3:
		return []int{d.Planes, d.Rows, d.Cols}
	case 0, 1, 2:
	default:
		return append(slices.Clone(d.Front), d.Cubes, d.Planes, d.Rows, d.Cols)
	}
	return []int{d.Rows, d.Cols}[:d.Rank]
}

func (e *env) assign(s *syntax.Assign) {
	v := e.expr(s.Value)
	var at *Value
	switch t := s.Target.(type) {
	case *syntax.Ident:
		if at = e.find(t.Name); at == nil {
			at = e.cell(t.Name, nil)
		}
	case *syntax.Index:
		at = e.cell(t.X.(*syntax.Ident).Name, t.Args)
	}
	if s.Op != "=" {
		v = arithmetic(s.Op[:len(s.Op)-1], at.loaded(), v)
	} else if k, ok := e.keepsTarget(s.Value, s.Target, at.Type); ok {
		v = k
	}
	*at = v.to(at.Type)
}

// keepsTarget evaluates m = max(m, e) and the like, where m has an integer type t: e converts to
// it first.
func (e *env) keepsTarget(x, target syntax.Expr, t string) (Value, bool) {
	c, ok := x.(*syntax.Call)
	if !ok || isFloat(t) {
		return Value{}, false
	}
	name, ok := c.Fn.(*syntax.Ident)
	if !ok || name.Name != "min" && name.Name != "max" {
		return Value{}, false
	}
	kept := false
	var all []Value
	for _, a := range c.Args {
		if v, ok := e.keepsTarget(a.Value, target, t); ok {
			all, kept = append(all, v), true
			continue
		}
		kept = kept || syntax.EqualExpr(a.Value, target)
		all = append(all, e.expr(a.Value).to(t))
	}
	if !kept {
		return Value{}, false
	}
	v := all[0]
	for _, w := range all[1:] {
		if (binary("<", w, v).Int != 0) == (name.Name == "min") {
			v = w
		}
	}
	return v, true
}

func (e *env) expr(x syntax.Expr) Value {
	switch x := x.(type) {
	case *syntax.Paren:
		return e.expr(x.X)
	case *syntax.IntLit:
		return Value{Type: "i64", Literal: true, Int: uint64(x.Value)}
	case *syntax.FloatLit:
		return Value{Type: "f64", Literal: true, Float: x.Value}
	case *syntax.BoolLit:
		return BoolValue(x.Value)
	case *syntax.Ident:
		if v := e.find(x.Name); v != nil {
			return *v
		}
		return e.cell(x.Name, nil).loaded()
	case *syntax.Index:
		return e.cell(x.X.(*syntax.Ident).Name, x.Args).loaded()
	case *syntax.Selector:
		d := e.dataOf(x.X.(*syntax.Ident).Name)
		if name := x.Name.Name; d.Rank >= 4 && len(name) > 1 {
			axis := int(name[len(name)-1] - '0')
			if strings.HasPrefix(name, "offset") {
				return IntValue("i64", uint64(d.Offset+axis))
			}
			return IntValue("i64", uint64(d.dims()[axis]))
		}
		n := map[string]int{"nx": d.Planes, "ny": d.Rows, "nz": d.Cols, "x0": d.Offset, "y0": d.Offset + 1, "z0": d.Offset + 2,
			"n": d.Rows, "rows": d.Rows, "cols": d.Cols, "offset": d.Offset}[x.Name.Name]
		return IntValue("i64", uint64(n))
	case *syntax.Unary:
		v := e.expr(x.X)
		switch {
		case x.Op == "not":
			return BoolValue(v.Int == 0)
		case x.Op == "~":
			r := IntValue(v.Type, ^v.Int)
			r.Literal = v.Literal
			return r
		case v.isFloat():
			return Value{Type: v.Type, Literal: v.Literal, Float: -v.Float}
		}
		r := IntValue(v.Type, -v.Int)
		r.Literal = v.Literal
		return r
	case *syntax.Binary:
		switch x.Op {
		case "and":
			return BoolValue(e.expr(x.X).Int != 0 && e.expr(x.Y).Int != 0)
		case "or":
			return BoolValue(e.expr(x.X).Int != 0 || e.expr(x.Y).Int != 0)
		}
		return binary(x.Op, e.expr(x.X), e.expr(x.Y))
	case *syntax.Cond:
		take, other := x.Then, x.Else
		if e.expr(x.If).Int == 0 {
			take, other = other, take
		}
		v := e.expr(take)
		return v.to(e.withCommonType(v, other))
	case *syntax.Call:
		return e.call(x)
	case *syntax.Fold:
		return e.fold(x)
	}
	panic("expression")
}

// withCommonType returns the common type of v and an expression, which is not evaluated
// because it could fault.
func (e *env) withCommonType(v Value, other syntax.Expr) string {
	if v.Type == "bool" {
		return "bool"
	}
	return commonType(v, e.typeOf(other))
}

// typeOf returns a value of the type of x.
func (e *env) typeOf(x syntax.Expr) Value {
	switch x := x.(type) {
	case *syntax.Paren:
		return e.typeOf(x.X)
	case *syntax.Index:
		return Value{Type: computed(e.dataOf(x.X.(*syntax.Ident).Name).Elem)}
	case *syntax.Ident:
		if v := e.find(x.Name); v != nil {
			return Value{Type: v.Type}
		}
		return Value{Type: computed(e.data[x.Name].Elem)}
	case *syntax.Selector:
		return Value{Type: "i64"}
	case *syntax.Unary:
		if x.Op == "not" {
			return BoolValue(true)
		}
		v := e.typeOf(x.X)
		v.Int, v.Float = -v.Int, -v.Float
		if x.Op == "~" {
			v.Int--
		}
		return v
	case *syntax.Binary:
		switch x.Op {
		case "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>":
			a, b := e.typeOf(x.X), e.typeOf(x.Y)
			if a.Literal && b.Literal {
				return e.expr(x) // generated literals cannot fault
			}
			if x.Op == "<<" || x.Op == ">>" {
				return Value{Type: a.Type}
			}
			t := commonType(a, b)
			if x.Op == "/" && !isFloat(t) {
				t = "f64"
			}
			return Value{Type: t}
		}
		return BoolValue(true)
	case *syntax.Cond:
		a, b := e.typeOf(x.Then), e.typeOf(x.Else)
		if a.Type == "bool" {
			return a
		}
		return Value{Type: commonType(a, b)}
	case *syntax.Call:
		if fn := e.funcs[x.Fn.(*syntax.Ident).Name]; fn != nil {
			return Value{Type: scalarTypes[fn.Result.Name.Name]}
		}
		switch name := x.Fn.(*syntax.Ident).Name; name {
		case "int":
			return Value{Type: "i64"}
		case "float":
			return Value{Type: "f64"}
		case "select":
			return Value{Type: commonType(e.typeOf(x.Args[1].Value), e.typeOf(x.Args[2].Value))}
		case "min", "max":
			return Value{Type: commonType(e.typeOf(x.Args[0].Value), e.typeOf(x.Args[1].Value))}
		case "abs":
			return Value{Type: e.typeOf(x.Args[0].Value).Type}
		default:
			if t := e.typeOf(x.Args[0].Value); t.isFloat() {
				return Value{Type: t.Type}
			}
			return Value{Type: "f64"}
		}
	case *syntax.Fold:
		in := e.inner()
		for _, n := range x.Names {
			v := IntValue("i64", 0)
			in.vars[n.Name] = &v
		}
		return Value{Type: in.typeOf(x.Body).Type}
	}
	return e.expr(x) // literals
}

func binary(op string, a, b Value) Value {
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
	default:
		return arithmetic(op, a, b)
	}
	less, equal, ordered := false, false, true
	if a.Type == "bool" {
		equal = a.Int == b.Int
	} else {
		t := commonType(a, b)
		a, b = a.to(t), b.to(t)
		switch {
		case isFloat(t):
			less, equal, ordered = a.Float < b.Float, a.Float == b.Float, a.Float == a.Float && b.Float == b.Float
		case t[0] == 'u':
			less, equal = a.Int < b.Int, a.Int == b.Int
		default:
			less, equal = int64(a.Int) < int64(b.Int), a.Int == b.Int
		}
	}
	switch op {
	case "==":
		return BoolValue(equal)
	case "!=":
		return BoolValue(!equal)
	case "<":
		return BoolValue(less)
	case "<=":
		return BoolValue(less || equal)
	case ">":
		return BoolValue(ordered && !less && !equal)
	}
	return BoolValue(ordered && !less)
}

func arithmetic(op string, a, b Value) Value {
	t := commonType(a, b)
	if op == "/" && !isFloat(t) {
		t = "f64"
	}
	lit := a.Literal && b.Literal
	if op == "<<" || op == ">>" {
		r := shifted(op, a, b)
		r.Literal = lit
		return r
	}
	a, b = a.to(t), b.to(t)
	var r Value
	if isFloat(t) {
		x, y := a.Float, b.Float
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
			x = math.Floor(FloatValue(t, x/y).Float)
		case "%":
			m := math.Mod(x, y)
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			x = m
		case "**":
			if t == "f32" {
				x = float64(elementary.PowF32(float32(x), float32(y)))
			} else {
				x = elementary.Pow(x, y)
			}
		}
		r = FloatValue(t, x)
	} else {
		signed := t[0] == 'i'
		x, y := a.Int, b.Int
		switch op {
		case "+":
			x += y
		case "-":
			x -= y
		case "*":
			x *= y
		case "&":
			x &= y
		case "|":
			x |= y
		case "^":
			x ^= y
		case "//", "%":
			if y == 0 {
				fault()
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
				fault()
			}
			p := uint64(1)
			for k := uint64(0); k < y; k++ {
				p *= x
			}
			x = p
		}
		r = IntValue(t, x)
	}
	r.Literal = lit
	return r
}

// shifted returns a, shifted bit by bit.
func shifted(op string, a, b Value) Value {
	for k := uint64(0); k < b.Int && k < 64; k++ {
		if op == "<<" {
			a = IntValue(a.Type, a.Int*2)
			continue
		}
		half := a.Int / 2
		if a.Type[0] == 'i' && a.Int>>63 == 1 {
			half |= 1 << 63
		}
		a = IntValue(a.Type, half)
	}
	return a
}

func (e *env) call(x *syntax.Call) Value {
	name := x.Fn.(*syntax.Ident).Name
	var args []Value
	for _, a := range x.Args {
		args = append(args, e.expr(a.Value))
	}
	if fn := e.funcs[name]; fn != nil {
		return e.callFunc(fn, args)
	}
	switch name {
	case "int":
		return args[0].to("i64")
	case "float":
		return args[0].to("f64")
	case "select":
		t := commonType(args[1], args[2])
		if args[0].Int != 0 {
			return args[1].to(t)
		}
		return args[2].to(t)
	case "min", "max":
		t := commonType(args[0], args[1])
		a, b := args[0].to(t), args[1].to(t)
		if isFloat(t) {
			if a.Float != a.Float || b.Float != b.Float { // math.Min prefers infinities
				return FloatValue(t, math.NaN())
			}
			if name == "min" {
				return FloatValue(t, math.Min(a.Float, b.Float))
			}
			return FloatValue(t, math.Max(a.Float, b.Float))
		}
		if (binary("<", a, b).Int != 0) == (name == "min") {
			return a
		}
		return b
	case "abs":
		v := args[0]
		v.Literal = false
		if v.isFloat() {
			v.Float = math.Abs(v.Float)
		} else if v.Type[0] == 'i' && int64(v.Int) < 0 {
			v = IntValue(v.Type, -v.Int)
		}
		return v
	}
	t := args[0].Type
	if !isFloat(t) {
		t = "f64"
	}
	v := args[0].to(t).Float
	if f := map[string]func(float64) float64{"sqrt": math.Sqrt, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round}[name]; f != nil {
		return FloatValue(t, f(v))
	}
	// The bits of other functions are what package elementary gives, which has tests of its own.
	f := elementary.Unary(name)
	if t == "f32" {
		return FloatValue(t, float64(f.F32(float32(v))))
	}
	return FloatValue(t, f.F64(v))
}

// scalarTypes are the types of values that funcs take and return.
var scalarTypes = map[string]string{"int": "i64", "float": "f64", "bool": "bool"}

// callFunc runs a func of the script, which sees its parameters alone.
func (e *env) callFunc(fn *syntax.Func, args []Value) Value {
	scalar := func(v Value, t *syntax.TypeExpr) Value {
		if v.Type != "bool" {
			v = v.to(scalarTypes[t.Name.Name])
		}
		v.Literal = false
		return v
	}
	in := &env{vars: map[string]*Value{}, funcs: e.funcs, result: &Value{}}
	for k, p := range fn.Params {
		v := scalar(args[k], p.Type)
		in.vars[p.Name.Name] = &v
	}
	in.block(fn.Body)
	return scalar(*in.result, fn.Result)
}

func (e *env) fold(x *syntax.Fold) Value {
	var acc *Value
	t := e.typeOf(x).Type
	e.loop(x.Names, x.Domain, func(in *env) ctl {
		v := in.expr(x.Body).to(t)
		if acc == nil {
			acc = &v
			return ended
		}
		switch x.Op {
		case "sum":
			*acc = arithmetic("+", *acc, v)
		case "prod":
			*acc = arithmetic("*", *acc, v)
		default:
			if isFloat(t) && (v.Float != v.Float || acc.Float != acc.Float) {
				*acc = FloatValue(t, math.NaN())
			} else if (binary("<", v, *acc).Int != 0) == (x.Op == "min") {
				*acc = v
			}
		}
		return ended
	})
	if acc != nil {
		return *acc
	}
	hi := uint64(1)<<(widths[t]-1) - 1
	switch {
	case x.Op == "sum" || x.Op == "prod":
		n := 0.0
		if x.Op == "prod" {
			n = 1
		}
		return Value{Type: "f64", Float: n}.to(t)
	case isFloat(t) && x.Op == "min":
		return FloatValue(t, math.Inf(1))
	case isFloat(t):
		return FloatValue(t, math.Inf(-1))
	case x.Op == "min" && t[0] == 'u':
		return IntValue(t, math.MaxUint64)
	case x.Op == "min":
		return IntValue(t, hi)
	case t[0] == 'u':
		return IntValue(t, 0)
	}
	return IntValue(t, hi+1)
}

// DataBuffer returns a buffer of d, with gaps between neighbours along all indices but the
// last, and a function that returns its values.
func DataBuffer(d *Data) (*iface.Buffer, func() []Value) {
	switch d.Elem {
	case "i8":
		return memoryOf[int8](d)
	case "i16":
		return memoryOf[int16](d)
	case "i32":
		return memoryOf[int32](d)
	case "i64":
		return memoryOf[int64](d)
	case "u8":
		return memoryOf[uint8](d)
	case "u16":
		return memoryOf[uint16](d)
	case "u32":
		return memoryOf[uint32](d)
	case "u64":
		return memoryOf[uint64](d)
	case "f32":
		return memoryOf[float32](d)
	case "f16":
		return halvesOf(d, iface.F16, iface.F16FromBits, iface.F16Bits)
	case "bf16":
		return halvesOf(d, iface.BF16, iface.BF16FromBits, iface.BF16Bits)
	case "bool":
		return bytesOf(d)
	}
	return memoryOf[float64](d)
}

// halvesOf is memoryOf for elements of 16 bits.
func halvesOf(d *Data, elem iface.Elem, from func(uint16) float32, to func(float32) uint16) (*iface.Buffer, func() []Value) {
	bits := d.clone()
	bits.Elem = "u16"
	for k, v := range d.Cells {
		bits.Cells[k] = IntValue("u16", uint64(to(float32(v.Float))))
	}
	b, read := memoryOf[uint16](bits)
	b.Elem = elem
	return b, func() []Value {
		out := read()
		for k, v := range out {
			out[k] = Value{Type: d.Elem, Float: float64(from(uint16(v.Int)))}
		}
		return out
	}
}

// bytesOf is memoryOf for bools. True is any byte but 0 in memory, and a byte that has changed is read as it is.
func bytesOf(d *Data) (*iface.Buffer, func() []Value) {
	bits := d.clone()
	bits.Elem = "u8"
	for k, v := range d.Cells {
		bits.Cells[k] = IntValue("u8", v.Int*uint64(k%255+1))
	}
	b, read := memoryOf[uint8](bits)
	b.Elem = iface.B8
	return b, func() []Value {
		out := read()
		for k, v := range out {
			if out[k] = (Value{Type: "bool", Int: v.Int}); v.Int == bits.Cells[k].Int {
				out[k].Int = d.Cells[k].Int
			}
		}
		return out
	}
}

func memoryOf[T ir.Number](d *Data) (*iface.Buffer, func() []Value) {
	gaps := [iface.MaxRank]int{3, 5, 2}
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.KindOf(d.Rank), Elem: iface.ElemOf[T](), Rank: int8(d.Rank)}}
	dims, size := d.dims(), 1
	for k := len(dims) - 1; k >= 0; k-- {
		b.Dim[k], b.Stride[k] = dims[k], size
		size = size*dims[k] + gaps[len(dims)-1-k]
		if d.Rank != 2 {
			b.Off[k] = d.Offset + k
		}
	}
	b.Off[0] = d.Offset
	mem := make([]T, size)
	b.Ptr = unsafe.Pointer(unsafe.SliceData(mem))
	cell := func(n int) *T {
		at := 0
		for k := len(dims) - 1; k >= 0; k-- {
			at += n % dims[k] * b.Stride[k]
			n /= dims[k]
		}
		return &mem[at]
	}
	isFloat := isFloat(d.Elem)
	for k, v := range d.Cells {
		at := cell(k)
		if isFloat {
			*at = T(v.Float)
		} else {
			*at = T(v.Int)
		}
	}
	return b, func() []Value {
		out := make([]Value, len(d.Cells))
		for k := range out {
			v := *cell(k)
			if isFloat {
				out[k] = FloatValue(d.Elem, float64(v))
			} else {
				out[k] = IntValue(d.Elem, uint64(int64(v)))
			}
		}
		return out
	}
}
