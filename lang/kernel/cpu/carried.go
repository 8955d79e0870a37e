package cpu

// Loops with for whose rounds use an element that an earlier round stored, or may store it again, such
// as `p[i] = p[i-1]*a + b[i]`, `h[k[i]] += 1` and `y[k[i]] = x[i]`: strips compute all that does not
// depend on such an element, and one loop over the rounds of the strip the rest, in order.

import (
	"unsafe"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// carried is a store whose value depends on one element of the operand that it writes, or on none.
type carried struct {
	st    *ir.Stmt
	steps []carriedStep // from the element to the value
	// back is the number of rounds since that element was stored; 0: it is the one that the
	// round writes, at an index that may be that of any other round.
	back int
	none bool // the value depends on no element: the only step has it, and no operation
}

// carriedStep is an operation with a value that does not depend on the element.
type carriedStep struct {
	op    ir.Op
	other *ir.Expr
	first bool // other is the first operand of op
}

// maxSteps bounds the steps of a carried store.
const maxSteps = 4

// stepValues are the other values of each step, for the rounds of a strip.
type stepValues[T ir.Number] [maxSteps][]T

// carriedStrips compiles a function that runs n rounds of st from index lo, as forStrips does. It is
// nil if the body is not a single store of that form.
func (c *compiler) carriedStrips(st *ir.Stmt) func(m *machine, lo int64, n int) bool {
	if c.plan == oneByOne || len(st.Body) != 1 || st.Body[0].Kind != ir.StoreStmt {
		return nil
	}
	s := c.newStripCompiler(st.Domain[0].Slot)
	if !s.prepare(st.Body) {
		return nil
	}
	p := s.carriedStore(st.Body[0])
	if p == nil {
		return nil
	}
	need := st.Body
	if p.back == 0 { // the loop over the strip checks the index of the element itself
		need = []*ir.Stmt{{Kind: ir.SetStmt, Value: p.st.Index[0]}}
		for k := range p.steps {
			need = append(need, &ir.Stmt{Kind: ir.SetStmt, Value: p.steps[k].other})
		}
	}
	want, _ := analysis.RoundsOf(c.fn, st).Demands(need)
	if want == nil || !s.fitsStrips(func() { s.carriedLoop(p) }) {
		return nil
	}
	body := s.carriedLoop(p)
	if p.back == 0 && c.fn.Source != nil {
		body = storesInOrder(body, c.fn.Source.Span(int(p.st.Target.Lo), int(p.st.Target.Hi)))
	}
	c.temps = max(c.temps, s.stripCount)
	met, slot := c.demandsHold(want), s.axis
	return func(m *machine, lo int64, n int) bool {
		m.ints[slot] = lo + int64(n) - 1
		if !met(m) {
			return false
		}
		m.ints[slot] = lo
		if !met(m) || !body(m, n) {
			return false
		}
		m.tick(n)
		return true
	}
}

// storesInOrder returns body with the result false if it faults elsewhere than at the element that it stores, whose index may be
// wrong in an earlier round. Nothing is stored then, for all other operations of a strip come before its stores.
func storesInOrder(body func(m *machine, n int) bool, target diag.Span) func(m *machine, n int) bool {
	return func(m *machine, n int) (ok bool) {
		f := faultOf(func() { ok = body(m, n) })
		if f != nil && f.Span == target {
			panic(f)
		}
		return ok && f == nil
	}
}

// carriedStore finds out how the value of st depends on elements that other rounds store; nil if that
// is in another way than by operations on one of them, or if all rounds write other elements.
func (s *stripCompiler) carriedStore(st *ir.Stmt) *carried {
	if len(st.Index) == 0 || st.Value.Type == ir.Bool || st.Value.Type != s.c.fn.Element(st).Type {
		return nil
	}
	for _, x := range st.Index {
		if loads(x, st.Operand, func(*ir.Expr) {}) {
			return nil
		}
	}
	p := &carried{st: st}
	last := len(st.Index) - 1
	at, plus, next := slotPlusConstant(st.Index[last])
	next = next && at == s.axis
	for _, x := range st.Index[:last] {
		next = next && s.isUniform(x)
	}
	if !next && last > 0 {
		return nil
	}
	var element *ir.Expr
	count, known := 0, true
	loads(st.Value, st.Operand, func(x *ir.Expr) {
		if !next {
			count, element = count+1, x
			known = known && sameExpr(x.X[0], st.Index[0])
			return
		}
		for k, y := range st.Index[:last] {
			if sameExpr(x.X[k], y) {
				continue
			}
			r, i, ok := slotPlusConstant(x.X[k])
			q, j, is := slotPlusConstant(y)
			if !ok || !is || r != q || i == j {
				known = false
			}
			return // another row, which no round writes
		}
		slot, before, ok := slotPlusConstant(x.X[last])
		switch back := plus - before; {
		case !ok || slot != s.axis || back > stripLen:
			known = false
		case back > 0:
			count, element, p.back = count+1, x, int(back)
		}
	})
	if known && count == 0 && !next {
		p.none, p.steps = true, []carriedStep{{other: st.Value}}
		return p
	}
	if !known || count != 1 || !p.follow(st.Value, element) {
		return nil
	}
	return p
}

// follow finds the operations between element and e, which is or depends on it.
func (p *carried) follow(e, element *ir.Expr) bool {
	if e == element {
		return true
	}
	switch e.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv, ir.OpMin, ir.OpMax:
	default:
		return false
	}
	in, other := e.X[0], e.X[1]
	first := !depends(in, element)
	if first {
		in, other = other, in
	}
	if e.Type != element.Type || !p.follow(in, element) || len(p.steps) == maxSteps {
		return false
	}
	p.steps = append(p.steps, carriedStep{e.Op, other, first})
	return true
}

// loads calls fn for each element of operand op that e loads, and reports whether there is one.
func loads(e *ir.Expr, op int, fn func(x *ir.Expr)) (found bool) {
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		if x.Op == ir.OpLoad && x.Operand == op {
			found = true
			fn(x)
		}
		return true
	})
	return found
}

// depends reports whether x is a part of e.
func depends(e, x *ir.Expr) (found bool) {
	ir.WalkExpr(e, func(y *ir.Expr) bool { found = found || x == y; return !found })
	return found
}

// sameExpr reports whether x and y are the same expression, without folds.
func sameExpr(x, y *ir.Expr) bool {
	if x == y {
		return true
	}
	if x.Op != y.Op || x.Type != y.Type || x.Int != y.Int || x.Float != y.Float || x.Slot != y.Slot || x.Operand != y.Operand ||
		x.Field != y.Field || len(x.X) != len(y.X) || len(x.Domain)+len(y.Domain) > 0 {
		return false
	}
	for k := range x.X {
		if !sameExpr(x.X[k], y.X[k]) {
			return false
		}
	}
	return true
}

// carriedLoop compiles the rounds of a strip. The function does nothing and returns false if an
// index is out of bounds.
func (s *stripCompiler) carriedLoop(p *carried) func(m *machine, n int) bool {
	switch p.st.Value.Type {
	case ir.I8:
		return carriedRounds[int8](s, p)
	case ir.I16:
		return carriedRounds[int16](s, p)
	case ir.I32:
		return carriedRounds[int32](s, p)
	case ir.I64:
		return carriedRounds[int64](s, p)
	case ir.U8:
		return carriedRounds[uint8](s, p)
	case ir.U16:
		return carriedRounds[uint16](s, p)
	case ir.U32:
		return carriedRounds[uint32](s, p)
	case ir.U64:
		return carriedRounds[uint64](s, p)
	case ir.F32:
		return carriedRounds[float32](s, p)
	}
	return carriedRounds[float64](s, p)
}

// carriedValues are the values that a strip computes before the loop over its rounds: the other values of each
// step, and the indices of the elements, of type A, if they are not regular. Each is in scratch strips behind those
// of the ones before, and may use all from there on.
type carriedValues[T ir.Number, A int32 | int64] struct {
	others []vec[T]
	index  vec[A]
}

// newCarriedValues compiles the values of steps, and the indices at if that is not nil.
func newCarriedValues[T ir.Number, A int32 | int64](s *stripCompiler, steps []carriedStep, at *ir.Expr) *carriedValues[T, A] {
	v := &carriedValues[T, A]{others: make([]vec[T], len(steps))}
	for k := range steps {
		v.others[k] = numbers[T](s, steps[k].other, k)
	}
	if at != nil {
		v.index = numbers[A](s, at, len(steps))
	}
	return v
}

// compute computes all values of the n rounds of a strip, in the order in which they do not overwrite each other.
func (v *carriedValues[T, A]) compute(m *machine, n int) (others stepValues[T], at []A) {
	for k, f := range v.others {
		others[k] = f(m, n, nil, nil)[:n]
	}
	if v.index != nil {
		at = v.index(m, n, nil, nil)[:n]
	}
	return others, at
}

func carriedRounds[T ir.Number](s *stripCompiler, p *carried) func(m *machine, n int) bool {
	if p.back > 0 {
		op, at, loop := p.st.Operand, s.c.address(s.c.fn.Element(p.st)), followedLoop[T](p)
		values := newCarriedValues[T, int64](s, p.steps, nil)
		return func(m *machine, n int) bool {
			others, _ := values.compute(m, n)
			x := element[T](m, op, at(m)-int64(p.back))
			loop(unsafe.Slice(x, n+p.back), others)
			return true
		}
	}
	if x := p.st.Index[0]; x.Op == ir.OpConvert && x.X[0].Type == ir.I32 { // as they are in memory
		return carriedUpdates[T, int32](s, p, x.X[0])
	}
	return carriedUpdates[T, int64](s, p, p.st.Index[0])
}

// carriedUpdates compiles rounds that change elements at indices of type A.
func carriedUpdates[T ir.Number, A int32 | int64](s *stripCompiler, p *carried, at *ir.Expr) func(m *machine, n int) bool {
	op, loop, steps := p.st.Operand, updateLoop[T, A](p), p.steps
	var addend func(m *machine) T // the same for all rounds; nil: each has another
	if p.isChain(ir.OpAdd) && s.isUniform(p.steps[0].other) {
		addend, steps = scalarOf[T](s.c, p.steps[0].other), nil
	}
	values := newCarriedValues[T, A](s, steps, at)
	return func(m *machine, n int) bool {
		var y T
		if addend != nil {
			y = addend(m) // before the indices: a fold in it uses the scratch strips that they are in
		}
		others, at := values.compute(m, n)
		size := uint64(m.ops[op].dim[0])
		for _, i := range at {
			if uint64(i) >= size {
				return false
			}
		}
		x := unsafe.Slice((*T)(m.ops[op].ptr), size)
		if addend == nil {
			loop(x, at, others)
			return true
		}
		for _, i := range at {
			x[i] += y
		}
		return true
	}
}

// isChain reports whether the steps of p are these operations, on the element and another value
// in any order.
func (p *carried) isChain(ops ...ir.Op) bool {
	if len(p.steps) != len(ops) {
		return false
	}
	for k, op := range ops {
		if p.steps[k].op != op {
			return false
		}
	}
	return true
}

// followedLoop returns the loop that computes x[k+back] from x[k] and the other values of round k.
func followedLoop[T ir.Number](p *carried) func(x []T, others stepValues[T]) {
	back := p.back
	switch {
	case p.isChain(ir.OpAdd) && back == 1:
		return func(x []T, others stepValues[T]) {
			last, x := x[0], x[1:]
			for k, v := range others[0][:len(x)] {
				last += v
				x[k] = last
			}
		}
	case p.isChain(ir.OpMul, ir.OpAdd) && back == 1:
		return func(x []T, others stepValues[T]) {
			last, x := x[0], x[1:]
			a, b := others[0][:len(x)], others[1][:len(x)]
			for k := range x {
				last = T(last*a[k]) + b[k] // rounded twice
				x[k] = last
			}
		}
	}
	fs := stepFuncs[T](p)
	return func(x []T, others stepValues[T]) {
		for k := range x[back:] {
			v := x[k]
			for j, f := range fs {
				v = f(v, others[j][k])
			}
			x[k+back] = v
		}
	}
}

// updateLoop returns the loop that changes the elements of x at the indices in at, which are in
// bounds.
func updateLoop[T ir.Number, A int32 | int64](p *carried) func(x []T, at []A, others stepValues[T]) {
	if p.none {
		return func(x []T, at []A, others stepValues[T]) {
			v := others[0][:len(at)]
			for k, i := range at {
				x[i] = v[k]
			}
		}
	}
	if p.isChain(ir.OpAdd) {
		return func(x []T, at []A, others stepValues[T]) {
			v := others[0][:len(at)]
			for k, i := range at {
				x[i] += v[k]
			}
		}
	}
	fs := stepFuncs[T](p)
	return func(x []T, at []A, others stepValues[T]) {
		for k, i := range at {
			v := x[i]
			for j, f := range fs {
				v = f(v, others[j][k])
			}
			x[i] = v
		}
	}
}

// stepFuncs returns the functions of the steps of p. The first argument is what the step before
// has computed.
func stepFuncs[T ir.Number](p *carried) []func(x, y T) T {
	var out []func(x, y T) T
	for _, step := range p.steps {
		f := stepFunc[T](step.op)
		if step.first && (step.op == ir.OpSub || step.op == ir.OpDiv) {
			g := f
			f = func(x, y T) T { return g(y, x) }
		}
		out = append(out, f)
	}
	return out
}

func stepFunc[T ir.Number](op ir.Op) func(x, y T) T {
	switch op {
	case ir.OpAdd:
		return func(x, y T) T { return x + y }
	case ir.OpSub:
		return func(x, y T) T { return x - y }
	case ir.OpMul:
		return func(x, y T) T { return x * y }
	case ir.OpDiv:
		return func(x, y T) T { return x / y }
	case ir.OpMin:
		return func(x, y T) T { return min(x, y) }
	}
	return func(x, y T) T { return max(x, y) }
}
