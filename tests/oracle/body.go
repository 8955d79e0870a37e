package oracle

// Bodies of codelets: what they compute, one round after the other.

import (
	"fmt"
	"math"
	"slices"
)

// fault is how a body fails.
type fault string

// undetermined is the panic of what the language leaves open: a program that comes there
// says nothing about the implementation.
type undetermined string

// operand is data as a body has it: its elements, in the order of its indices.
type operand struct {
	Operand
	mode    Mode
	elem    Type
	dims    []int
	offset  []int
	cells   []*Value
	written []bool   // W and SCRATCH: elements that have a value
	sparse  *Sparse  // of the values of a sparse matrix; nil: none
	tallies []*tally // of contributions in any order; nil: they are not counted
}

// at is the place of an element; a fault when it is outside.
func (o *operand) at(index []int64) int {
	k := 0
	for a, i := range index {
		if i < 0 || i >= int64(o.dims[a]) {
			panic(fault("index"))
		}
		k = k*o.dims[a] + int(i)
	}
	return k
}

func (o *operand) get(k int) Value {
	if o.written != nil && !o.written[k] {
		panic(undetermined("read of an element that the body has not written"))
	}
	return computed(*o.cells[k])
}

func (o *operand) set(k int, v Value) {
	*o.cells[k] = convert(o.elem, v)
	if o.written != nil {
		o.written[k] = true
	}
}

// field is the value of a field of o.
func (o *operand) field(name string) int64 { return field(name, o.dims, o.offset) }

func field(name string, dims, offset []int) int64 {
	switch name {
	case "nnz": // of a sparse matrix
		return int64(dims[2])
	case "r": // of a bcsr
		return int64(dims[3])
	case "c":
		return int64(dims[4])
	case "n", "rows", "nx", "n0":
		return int64(dims[0])
	case "cols", "ny", "n1":
		return int64(dims[1])
	case "nz", "n2":
		return int64(dims[2])
	case "offset", "row0", "x0", "offset0":
		return int64(offset[0])
	case "col0", "y0", "offset1":
		return int64(offset[1])
	case "z0", "offset2":
		return int64(offset[2])
	}
	if of, k := name[:len(name)-1], int(name[len(name)-1]-'0'); k < len(dims) && k < 8 { // of a tensor, from the fourth index on
		switch of {
		case "n":
			return int64(dims[k])
		case "offset":
			return int64(offset[k])
		}
	}
	panic("oracle: field " + name)
}

// frame is one run of a body.
type frame struct {
	ops   map[string]*operand
	names map[string]Value // scalars, lets and indices
	funcs map[string]*Func // of the script
	lets  map[string]Value // of the top level, which functions see
	calls map[string]*frame
	back  Value            // of return
	used  map[string]int   // see Outcome
	types map[*Expr]static // of expressions, found once: names are declared once in a body
	steps int
}

// maxSteps bounds what a body does: programs that take longer are of no use.
const maxSteps = 200_000

// body is a frame for a codelet of the script.
func (m *Machine) body(ops map[string]*operand, scalars map[string]Value) *frame {
	f := &frame{ops: ops, names: scalars, types: map[*Expr]static{}, funcs: m.funcs, lets: map[string]Value{}, calls: map[string]*frame{}, used: m.Used}
	for _, s := range m.prog.Body {
		if s.Kind == Let && s.Expr.literal() {
			f.lets[s.Name] = Value{T: F64, F: s.Expr.Float}
			if s.Expr.Op == "int" {
				f.lets[s.Name] = intValue(s.Expr.Int)
			}
		}
	}
	return f
}

// literal reports whether e is a number as text.
func (e *Expr) literal() bool { return e.Op == "int" || e.Op == "float" }

// runBody runs the body of c. It reports how it failed, "" when it did not.
func (m *Machine) runBody(c *Codelet, ops map[string]*operand, scalars map[string]Value) (failed fault) {
	f := m.body(ops, scalars)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			failed = r
		default:
			panic(r)
		}
	}()
	f.stmts(c.Body)
	for _, o := range ops {
		if o.mode == W && slices.Contains(o.written, false) {
			panic(undetermined("W operand with elements that stay unwritten"))
		}
	}
	return ""
}

func (f *frame) step() {
	if f.steps++; f.steps > maxSteps {
		panic(undetermined("a body that takes long"))
	}
}

func (f *frame) stmts(body []*Stmt) flow {
	for _, s := range body {
		if w := f.stmt(s); w != next {
			return w
		}
	}
	return next
}

func (f *frame) stmt(s *Stmt) flow {
	f.step()
	switch s.Kind {
	case Let:
		f.names[s.Name] = convert(plain(f.static(s.Expr).T), f.eval(s.Expr))
	case Assign:
		f.assign(s)
	case If:
		if f.eval(s.Expr).I == 1 {
			return f.stmts(s.Body)
		}
		return f.stmts(s.Else)
	case For, Each:
		return f.rounds(s.Names, s.Over, func() flow { return f.stmts(s.Body) })
	case While:
		f.used["body while"]++
		for f.eval(s.Expr).I == 1 {
			f.step()
			if w := f.stmts(s.Body); w == breaks {
				break
			} else if w == returns {
				return w
			}
		}
	case Break:
		f.used["body break"]++
		return breaks
	case Continue:
		f.used["body continue"]++
		return continues
	case Return:
		f.used["body return"]++
		f.back = f.eval(s.Expr)
		return returns
	default:
		panic("oracle: not a statement of bodies")
	}
	return next
}

// rounds runs do for all indices of a domain, which is evaluated once, until it breaks.
func (f *frame) rounds(names []string, d *Domain, do func() flow) flow {
	var from, to []int64
	if o := f.ops[d.Of]; d.Line != nil {
		i := f.eval(d.Line).I
		if i < 0 || i >= int64(len(o.sparse.Ptr)-1) {
			panic(fault("index"))
		}
		from, to = append(from, int64(o.sparse.Ptr[i])), append(to, int64(o.sparse.Ptr[i+1]))
	} else if o != nil {
		for _, n := range o.dims {
			from, to = append(from, 0), append(to, int64(n))
		}
	}
	for _, r := range d.Ranges {
		lo, hi := f.eval(r.Lo), f.eval(r.Hi)
		if r.Closed {
			hi.I++
		}
		from, to = append(from, lo.I), append(to, hi.I)
	}
	var axis func(a int) flow
	axis = func(a int) flow {
		if a == len(names) {
			f.step()
			return do()
		}
		for i := from[a]; i < to[a]; i++ {
			f.names[names[a]] = intValue(i)
			if w := axis(a + 1); w == breaks || w == returns {
				return w
			}
		}
		return next
	}
	if axis(0) == returns {
		return returns
	}
	return next
}

// invoke calls a function of the script. Its numbers are ints and floats of 64 bits, and bools.
func (f *frame) invoke(fn *Func, args []Value) Value {
	in := f.calls[fn.Name]
	if in == nil {
		in = &frame{names: map[string]Value{}, types: map[*Expr]static{}, funcs: f.funcs, lets: f.lets, calls: f.calls, used: f.used}
		f.calls[fn.Name] = in
	}
	for n, v := range f.lets {
		in.names[n] = v
	}
	for k, p := range fn.Params {
		in.names[p.Name] = convert(scalarTypes[p.Type], args[k])
	}
	in.steps = f.steps
	if in.stmts(fn.Body) != returns {
		panic("oracle: a function ends without a result")
	}
	f.steps = in.steps
	return convert(scalarTypes[fn.Result], in.back)
}

// scalarTypes are the types of functions that bodies call.
var scalarTypes = map[string]Type{"int": I64, "float": F64, "complex": C128, "bool": Bool}

// scalarNames are the names of the types of numbers.
var scalarNames = map[Type]string{I64: "int", F64: "float", C128: "complex"}

// assign stores into a name, a variable operand or an element.
func (f *frame) assign(s *Stmt) {
	if s.Struct != nil {
		f.copyStruct(s)
		return
	}
	v := s.Expr
	if s.Op != "=" {
		v = f.expanded(s)
	}
	t := f.static(s.Target).T
	var x Value
	if t.Int() && f.static(v).T.Int() && keeps(v, s.Target) {
		x = f.kept(v, s.Target, t)
	} else {
		x = f.eval(v)
	}
	if o := f.ops[s.Target.Name]; o != nil && o.tallies != nil && t == Bool {
		f.mustNotFail(v.Args)
	}
	o, k := f.ops[s.Target.Name], 0
	if o == nil {
		f.names[s.Target.Name] = convert(t, x)
		return
	}
	if s.Target.Op == "elem" {
		k = o.at(f.indices(s.Target.Args))
	}
	if o.tallies != nil && (t.Float() || t.Complex()) {
		o.tallies[k].add(f.contribution(v, s.Target, o.elem))
	}
	o.set(k, x)
}

// mustNotFail gives up where one of the operands of `and` or `or` fails, which what was contributed before decides
// to evaluate or not.
func (f *frame) mustNotFail(operands []*Expr) {
	defer func() {
		r := recover()
		if _, failed := r.(fault); failed {
			r = undetermined("a contribution that fails, or is not evaluated")
		}
		if r != nil {
			panic(r)
		}
	}()
	for _, x := range operands {
		f.eval(x)
	}
}

// contribution is what v, the sum or product of target and something, adds to it. Where
// that is not found, or is rounded on its way into a t, the order of contributions shows:
// the result is an infinity.
func (f *frame) contribution(v, target *Expr, t Type) Value {
	if keeps(v, target) {
		return Value{T: t, F: 1} // order does not matter
	}
	if len(v.Args) == 2 {
		for k, a := range v.Args {
			if a.text() != target.text() || k == 1 && (v.Op == "-" || v.Op == "/") {
				continue
			}
			x := f.eval(v.Args[1-k])
			if t.Complex() {
				if y := convert(t, x); same(convert(C128, y), convert(C128, x)) {
					return y
				}
				continue
			}
			if v.Op == "/" {
				x = floatValue(1 / x.real())
				if m, _ := math.Frexp(x.F); math.Abs(m) != 0.5 {
					break // no power of two
				}
			}
			if y := convert(t, x); y.F == x.real() {
				return y
			}
		}
	}
	return Value{T: t, F: math.Inf(1)}
}

// expanded is the right side of a op= b, written out. The types of its nodes are found
// once as well, so it is made once.
func (f *frame) expanded(s *Stmt) *Expr {
	if s.Exprs == nil {
		s.Exprs = []*Expr{{Op: s.Op[:len(s.Op)-1], Args: []*Expr{s.Target, s.Expr}}}
	}
	e := s.Exprs[0]
	e.Args[0], e.Args[1] = s.Target, s.Expr
	return e
}

// keeps reports whether e is min or max of target and others, also nested.
func keeps(e, target *Expr) bool {
	if e.Op != "call" || e.Name != "min" && e.Name != "max" {
		return false
	}
	return slices.ContainsFunc(e.Args, func(a *Expr) bool {
		return a.text() == target.text() || keeps(a, target)
	})
}

// kept evaluates min and max of what is assigned: the others convert to its type t first.
func (f *frame) kept(e, target *Expr, t Type) Value {
	var out Value
	for k, a := range e.Args {
		var v Value
		if keeps(a, target) {
			v = f.kept(a, target, t)
		} else {
			v = convert(t, f.eval(a))
		}
		if k == 0 {
			out = v
		} else {
			out = extreme(e.Name, out, v)
		}
	}
	return out
}

func (f *frame) indices(args []*Expr) []int64 {
	var out []int64
	for _, a := range args {
		out = append(out, f.eval(a).I)
	}
	return out
}

// static is the type of e, found without evaluating it.
func (f *frame) static(e *Expr) static {
	if s, ok := f.types[e]; ok {
		return s
	}
	s := f.findStatic(e)
	f.types[e] = s
	return s
}

func (f *frame) findStatic(e *Expr) static {
	literal := func(v Value) static { return static{T: v.T, V: v} }
	switch e.Op {
	case "int":
		return literal(Value{T: LitInt, I: e.Int})
	case "float":
		return literal(Value{T: LitFloat, F: e.Float})
	case "imaginary":
		return literal(Value{T: LitComplex, Im: e.Float})
	case "bool", "not", "and", "or", "==", "!=", "<", "<=", ">", ">=":
		return static{T: Bool}
	case "name":
		if o := f.ops[e.Name]; o != nil {
			return static{T: o.elem.computes()}
		}
		if e.Name == "inf" {
			return literal(Value{T: LitFloat, F: math.Inf(1)})
		}
		v, ok := f.names[e.Name]
		if !ok {
			panic("oracle: name " + e.Name)
		}
		return static{T: v.T}
	case "elem":
		return static{T: f.ops[e.Name].elem.computes()}
	case "field":
		return static{T: I64}
	case "fold":
		// The indices have a type inside; rounds give them values.
		for _, n := range e.Index {
			if _, ok := f.names[n]; !ok {
				f.names[n] = intValue(0)
			}
		}
		return static{T: plain(f.static(e.Args[0]).T)}
	case "if":
		return f.join(e.Args[1:])
	case "call":
		return f.callStatic(e)
	case "~":
		return static{T: plain(f.static(e.Args[0]).T)}
	case "neg":
		s := f.static(e.Args[0])
		if s.T == LitInt || s.T == LitFloat {
			s.V.I, s.V.F = -s.V.I, -s.V.F
		}
		if s.T == LitComplex {
			s.V.F, s.V.Im = -s.V.F, -s.V.Im
		}
		return s
	}
	if e.Op == "<<" || e.Op == ">>" {
		return static{T: plain(f.static(e.Args[0]).T)}
	}
	a, b := f.static(e.Args[0]), f.static(e.Args[1])
	t := meet(a, b)
	if bitOps[e.Op] {
		return static{T: plain(t)}
	}
	if t.Complex() {
		switch {
		case e.Op == "**":
			return static{T: plain(t)}
		case t == LitComplex:
			v := complexArithmetic(e.Op, t, a.V, b.V)
			v.T = t
			return literal(v)
		}
		return static{T: t}
	}
	if e.Op == "/" && t.Int() {
		if t == LitInt {
			return literal(Value{T: LitFloat, F: float64(a.V.I) / float64(b.V.I)})
		}
		return static{T: F64}
	}
	if t == LitInt || t == LitFloat {
		v, ok := arithmetic(e.Op, t, literalAs(t, a.V), literalAs(t, b.V))
		if !ok {
			panic(undetermined("literals that have no result"))
		}
		v.T = t
		return literal(v)
	}
	return static{T: t}
}

func literalAs(t Type, v Value) Value {
	if t == LitFloat {
		return floatValue(v.real())
	}
	return intValue(v.I)
}

// join returns the type of a choice between expressions.
func (f *frame) join(args []*Expr) static {
	s := f.static(args[0])
	for _, a := range args[1:] {
		if t := meet(s, f.static(a)); s.T != Bool {
			s = static{T: plain(t)}
		}
	}
	return s
}

func (f *frame) callStatic(e *Expr) static {
	if fn := f.funcs[e.Name]; fn != nil {
		return static{T: scalarTypes[fn.Result]}
	}
	switch e.Name {
	case "int":
		return static{T: I64}
	case "float":
		return static{T: F64}
	case "select":
		return f.join(e.Args[1:])
	case "abs":
		return static{T: plain(f.static(e.Args[0]).T.part())}
	case "re", "im", "conj":
		t := plain(f.static(e.Args[0]).T)
		switch {
		case t.Complex() && e.Name != "conj":
			t = t.part()
		case t.Int():
			t = F64
		}
		return static{T: t}
	case "complex":
		t := f.join(e.Args).T
		switch {
		case t == F32:
			t = C64
		case !t.Complex():
			t = C128
		}
		if a, b := f.static(e.Args[0]), f.static(e.Args[len(e.Args)-1]); a.T.literal() && b.T.literal() {
			z := Value{T: LitComplex, F: a.V.real()}
			if len(e.Args) == 2 {
				z.Im = b.V.real()
			}
			return static{T: LitComplex, V: z}
		}
		return static{T: t}
	case "min", "max":
		return f.join(e.Args)
	}
	t := f.join(e.Args).T // sqrt, floor and the like
	if t != F32 {
		t = F64
	}
	return static{T: t}
}

// eval evaluates e. Its value has the type that static gives, literals those of names.
func (f *frame) eval(e *Expr) Value {
	f.step()
	switch e.Op {
	case "int":
		return intValue(e.Int)
	case "float":
		return floatValue(e.Float)
	case "imaginary":
		return Value{T: C128, Im: e.Float}
	case "bool":
		return boolValue(e.Int == 1)
	case "name":
		if o := f.ops[e.Name]; o != nil {
			return o.get(0)
		}
		if e.Name == "inf" {
			return floatValue(math.Inf(1))
		}
		return f.names[e.Name]
	case "elem":
		o := f.ops[e.Name]
		return o.get(o.at(f.indices(e.Args)))
	case "field":
		return intValue(f.ops[e.Name].field(e.Field))
	case "not":
		return boolValue(f.eval(e.Args[0]).I == 0)
	case "and":
		return boolValue(f.eval(e.Args[0]).I == 1 && f.eval(e.Args[1]).I == 1)
	case "or":
		return boolValue(f.eval(e.Args[0]).I == 1 || f.eval(e.Args[1]).I == 1)
	case "neg":
		v := f.eval(e.Args[0])
		return Value{T: v.T, I: wrap(v.T, -v.I), F: -v.F, Im: -v.Im}
	case "~":
		f.used["body ~"]++
		v := f.eval(e.Args[0])
		return Value{T: v.T, I: wrap(v.T, ^v.I)}
	case "if":
		k := 1
		if f.eval(e.Args[0]).I == 0 {
			k = 2
		}
		return f.as(e, f.eval(e.Args[k]))
	case "fold":
		return f.fold(e)
	case "call":
		return f.call(e)
	}
	if bitOps[e.Op] {
		f.used["body "+e.Op]++
	}
	if e.Op == "<<" || e.Op == ">>" {
		return bitwise(e.Op, f.static(e).T, f.eval(e.Args[0]), f.eval(e.Args[1]))
	}
	t := meet(f.static(e.Args[0]), f.static(e.Args[1]))
	if bitOps[e.Op] {
		return bitwise(e.Op, t, f.eval(e.Args[0]), f.eval(e.Args[1]))
	}
	if t.Complex() {
		return f.complexBinary(e, t)
	}
	if e.Op == "/" && t.Int() {
		t = F64 // each by itself: an u64 and an i64 would meet as an i64
	}
	if t == Bool || f.static(e.Args[0]).T == Bool {
		return boolValue(compare(e.Op, Bool, f.eval(e.Args[0]), f.eval(e.Args[1])))
	}
	a, b := convert(plain(t), f.eval(e.Args[0])), convert(plain(t), f.eval(e.Args[1]))
	switch e.Op {
	case "==", "!=", "<", "<=", ">", ">=":
		return boolValue(compare(e.Op, t, a, b))
	}
	v, ok := arithmetic(e.Op, t, a, b)
	if !ok {
		panic(fault("arithmetic"))
	}
	return v
}

// complexBinary evaluates an operator in type t, of complex numbers.
func (f *frame) complexBinary(e *Expr, t Type) Value {
	a, b := f.eval(e.Args[0]), f.eval(e.Args[1])
	f.used["complex body "+e.Op]++
	switch e.Op {
	case "==", "!=":
		return boolValue(compare(e.Op, t, a, b))
	case "**":
		return complexPower(convert(plain(t), a), b.I)
	}
	return complexArithmetic(e.Op, t, a, b)
}

// as gives v the type of e.
func (f *frame) as(e *Expr, v Value) Value {
	if t := plain(f.static(e).T); t != Bool {
		return convert(t, v)
	}
	return v
}

func (f *frame) fold(e *Expr) Value {
	t := f.static(e).T
	acc := neutral(e.Name, t)
	var order tally
	f.rounds(e.Index, e.Over, func() flow {
		v := convert(t, f.eval(e.Args[0]))
		if t.Float() || t.Complex() {
			order.add(v)
		}
		acc = combine(e.Name, acc, v)
		return next
	})
	if !order.exact(e.Name, t) {
		panic(undetermined("a fold of floats whose order shows"))
	}
	return acc
}

func (f *frame) call(e *Expr) Value {
	var args []Value
	for _, a := range e.Args {
		args = append(args, f.eval(a))
	}
	if fn := f.funcs[e.Name]; fn != nil {
		return f.invoke(fn, args)
	}
	t := f.static(e).T
	switch e.Name {
	case "int":
		return truncate(args[0])
	case "select":
		if args[0].I == 1 {
			return f.as(e, args[1])
		}
		return f.as(e, args[2])
	case "re", "im", "conj", "complex":
		f.used["complex body "+e.Name]++
		return complexCall(e.Name, plain(t), args)
	case "abs":
		if args[0].T.Complex() {
			f.used["complex body abs"]++
			return complexAbs(args[0])
		}
	}
	for k := range args {
		args[k] = convert(t, args[k])
	}
	v := args[0]
	switch e.Name {
	case "float":
	case "abs":
		if v.I < 0 && t.Int() && t.signed() {
			v.I = wrap(t, -v.I)
		}
		v.F = math.Abs(v.F)
	case "min", "max":
		for _, b := range args[1:] {
			v = extreme(e.Name, v, b)
		}
	case "sqrt":
		v.F = round(t, math.Sqrt(v.F))
	case "floor":
		v.F = math.Floor(v.F)
	case "ceil":
		v.F = math.Ceil(v.F)
	case "round":
		v.F = math.Round(v.F)
	case "fma":
		v.F = round(t, math.FMA(v.F, args[1].F, args[2].F))
	default:
		panic(fmt.Sprintf("oracle: function %s", e.Name))
	}
	return v
}

// complexCall calls a function that only complex numbers have, with a result of type t. A real number
// is a complex one.
func complexCall(name string, t Type, args []Value) Value {
	z := args[0]
	switch name {
	case "re":
		if z.T.Complex() {
			z = Value{T: z.T.part(), F: z.F}
		}
	case "im":
		return Value{T: t, F: z.Im}
	case "conj":
		z.Im = -z.Im
	}
	if len(args) == 1 {
		return convert(t, z)
	}
	p := t.part()
	return Value{T: t, F: convert(p, z).F, Im: convert(p, args[1]).F}
}
