package cpu

// Strips. A loop with independent rounds runs stripLen rounds at a time: each operation of
// its body works on the values of all rounds of the strip before the next operation starts.
// Rounds in which an `if` is not taken are masked: operations that may fault or write check
// the mask, the others compute values that are not used.

import (
	"unsafe"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// vec computes n values of a strip. It returns them in dst, in scratch memory of its own if
// dst is nil, or in the memory of an operand. mask marks the rounds that run; nil: all of
// them. A vec writes dst only after it has read everything that the values depend on.
type vec[T any] func(m *machine, n int, mask []bool, dst []T) []T

// stripStmt runs a statement for the n rounds of a strip.
type stripStmt func(m *machine, n int, mask []bool)

// class is how a value changes along a strip.
type class uint8

const (
	uniform class = iota // the same in every round
	affine               // an int that grows by a constant from round to round
	varying
)

// stripCompiler compiles the body of a loop to strips along one of its indices.
type stripCompiler struct {
	c          *compiler
	axis       int                    // slot of the index along which strips run
	slots      map[int]class          // locals that are not uniform
	growth     map[int]int64          // of affine locals
	strips     map[int]int            // scratch strips of varying locals
	stored     map[int]bool           // operands that the body writes
	memo       map[*ir.Expr]classInfo // results of classify
	stripCount int                    // scratch strips in use, with those of locals
	failed     bool                   // it needs more than maxStrips

	ragged      bool // allow loops and folds whose ranges differ between rounds: see ragged.go
	raggedLoops int  // that prepare has found
	keepOrder   bool // sums and products of floats that are not the same in all rounds must have the order of standalone folds
	segmented   bool // the rounds are those of many ranges
}

type classInfo struct {
	class class
	k     int64
}

// maxStrips bounds the scratch memory of a body. Loops that need more run one round at a
// time.
const maxStrips = 128

func (c *compiler) newStripCompiler(axis int) *stripCompiler {
	return &stripCompiler{c: c, axis: axis, slots: map[int]class{axis: affine}, growth: map[int]int64{axis: 1},
		strips: map[int]int{}, stored: map[int]bool{}, memo: map[*ir.Expr]classInfo{}}
}

// useStrip marks scratch strip t as used and returns it.
func (s *stripCompiler) useStrip(t int) int {
	if t >= s.stripCount {
		s.stripCount = t + 1
	}
	if s.stripCount > maxStrips {
		s.failed = true
	}
	return t
}

// classify returns the class of e and, if it is affine, its growth.
func (s *stripCompiler) classify(e *ir.Expr) (class, int64) {
	if in, ok := s.memo[e]; ok {
		return in.class, in.k
	}
	in := s.classOf(e)
	s.memo[e] = in
	return in.class, in.k
}

func (s *stripCompiler) classOf(e *ir.Expr) classInfo {
	switch e.Op {
	case ir.OpConst, ir.OpField:
		return classInfo{}
	case ir.OpSlot:
		cl := s.slots[e.Slot]
		return classInfo{cl, s.growth[e.Slot]}
	case ir.OpElement:
		if s.slots[e.Slot] == varying {
			return classInfo{class: varying}
		}
	}
	all := classInfo{}
	for _, r := range e.Domain {
		for _, x := range []*ir.Expr{r.Lo, r.Hi} {
			if cl, _ := s.classify(x); cl != uniform {
				all.class = varying
			}
		}
	}
	for _, x := range e.X {
		if cl, _ := s.classify(x); cl != uniform {
			all.class = varying
		}
	}
	if all.class == uniform || e.Type != ir.I64 {
		return all
	}
	const limit = 1 << 30
	a := func(k int) classInfo { cl, g := s.classify(e.X[k]); return classInfo{cl, g} }
	switch e.Op {
	case ir.OpNeg:
		if x := a(0); x.class == affine {
			return classInfo{affine, -x.k}
		}
	case ir.OpAdd, ir.OpSub:
		x, y := a(0), a(1)
		if x.class == varying || y.class == varying {
			break
		}
		k := x.k + y.k
		if e.Op == ir.OpSub {
			k = x.k - y.k
		}
		if k < limit && k > -limit {
			return classInfo{affine, k}
		}
	case ir.OpMul:
		x, y := a(0), a(1)
		if e.X[0].Op == ir.OpConst {
			x, y = y, x
		} else if e.X[1].Op != ir.OpConst {
			break
		}
		f := e.X[1].Int
		if e.X[0].Op == ir.OpConst {
			f = e.X[0].Int
		}
		if x.class == affine && f < limit && f > -limit && x.k*f < limit && x.k*f > -limit {
			return classInfo{affine, x.k * f}
		}
	}
	return classInfo{class: varying}
}

// prepare classifies the locals of list, until nothing changes: a local is varying if one of
// its values is, or if a round may skip an assignment. It reports false if list cannot run in
// strips.
func (s *stripCompiler) prepare(list []*ir.Stmt) bool {
	ir.WalkStmts(list, func(st *ir.Stmt) {
		if st.Kind == ir.StoreStmt {
			s.stored[st.Operand] = true
		}
	})
	for changed := true; changed; {
		changed = false
		clear(s.memo)
		if !s.pass(list, false, &changed) {
			return false
		}
	}
	clear(s.memo)
	return true
}

func (s *stripCompiler) pass(list []*ir.Stmt, divergent bool, changed *bool) bool {
	for _, st := range list {
		switch st.Kind {
		case ir.SetStmt:
			cl, k := s.classify(st.Value)
			assigned := s.c.fn.Slots[st.Slot].Assigned
			if assigned && (cl != uniform || divergent) {
				cl, k = varying, 0
			}
			if cl > s.slots[st.Slot] {
				s.slots[st.Slot], s.growth[st.Slot] = cl, k
				*changed = true
			}
		case ir.ElementStmt:
			cl, _ := s.classify(st.Value)
			at, _ := s.classify(st.Index[0])
			if (cl != uniform || at != uniform || divergent) && s.slots[st.Slot] != varying {
				s.slots[st.Slot] = varying
				*changed = true
			}
		case ir.IfStmt:
			cl, _ := s.classify(st.Value)
			d := divergent || cl != uniform
			if !s.pass(st.Body, d, changed) || !s.pass(st.Else, d, changed) {
				return false
			}
		case ir.ForStmt:
			if s.differs(st.Domain) {
				if !s.ragged || !s.prepareRagged(st, changed) {
					return false
				}
			} else if !s.pass(st.Body, divergent, changed) {
				return false
			}
		}
		ok := true
		st.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				if x.Op != ir.OpFold {
					return ok
				}
				switch {
				case s.differs(x.Domain):
					ok = ok && s.ragged && s.prepareRaggedFold(x)
					return false
				case s.keepOrder && !s.isUniform(x) && x.Type.IsFloat() && (x.Reduce == ir.OpAdd || x.Reduce == ir.OpMul):
					ok = false
				}
				return ok
			})
		})
		if !ok {
			return false
		}
	}
	return true
}

// fitsStrips reports whether compiling with f needs at most maxStrips. It compiles no scalar
// code, in which loops would try the same again: an attempt must stay cheap.
func (s *stripCompiler) fitsStrips(f func()) bool {
	s.c.dryRun++
	f()
	s.c.dryRun--
	return !s.failed
}

// allocateLocals gives every varying local of list a scratch strip, from t on, and returns the first that
// is free.
func (s *stripCompiler) allocateLocals(list []*ir.Stmt, t int) int {
	ir.WalkStmts(list, func(st *ir.Stmt) {
		if st.Kind == ir.SetStmt && st.Declare && s.slots[st.Slot] == varying {
			s.strips[st.Slot] = t
			for range max(1, s.c.fn.Slots[st.Slot].Len) { // an array has a strip for each element
				s.useStrip(t)
				t++
			}
		}
	})
	return t
}

// stripEach compiles an each in strips along index axis, or returns nil if it cannot run in
// strips. ragged is for an each with loops whose ranges differ between its rounds.
func (c *compiler) stripEach(st *ir.Stmt, axis int, ragged bool) stmtFn {
	s := c.newStripCompiler(st.Domain[axis].Slot)
	if !ragged && !s.prepare(st.Body) || ragged && (c.plan == oneByOne || !s.prepareWithRagged(st.Body)) {
		return nil
	}
	t := s.allocateLocals(st.Body, 0)
	if !s.fitsStrips(func() { s.block(st.Body, t) }) {
		return nil
	}
	body := s.block(st.Body, t)
	c.temps = max(c.temps, s.stripCount)
	b, slot := c.domain(st.Domain), s.axis
	if ragged {
		body = c.inOrderAfterFault(body, c.block(st.Body), slot)
	}
	run := func(m *machine, lo int64, count uint64) {
		for count > 0 {
			n := int(min(count, stripLen))
			m.ints[slot] = lo
			body(m, n, nil)
			m.tick(n)
			lo += int64(n)
			count -= uint64(n)
		}
	}
	if len(b.slots) == 1 {
		return func(m *machine) {
			var sp domainValues
			if b.eval(m, &sp) {
				run(m, sp.lo[0], sp.n[0])
			}
		}
	}
	return func(m *machine) {
		var sp domainValues
		if b.eval(m, &sp) {
			lo, n := sp.lo[axis], sp.n[axis]
			b.run(m, &sp, 0, axis, func(m *machine) { run(m, lo, n) })
		}
	}
}

// block compiles statements. Scratch strips from t on are free.
func (s *stripCompiler) block(list []*ir.Stmt, t int) stripStmt {
	code := make([]stripStmt, len(list))
	for k, st := range list {
		code[k] = s.stmt(st, t)
	}
	if len(code) == 1 {
		return code[0]
	}
	return func(m *machine, n int, mask []bool) {
		for _, st := range code {
			st(m, n, mask)
		}
	}
}

func (s *stripCompiler) stmt(st *ir.Stmt, t int) stripStmt {
	defer s.c.reserve(t)()
	switch st.Kind {
	case ir.SetStmt:
		if s.c.fn.Slots[st.Slot].Len > 0 {
			return s.fillArray(st, t)
		}
		if s.slots[st.Slot] != varying {
			// the scalar value of the strip's first round
			set := s.c.set(st.Slot, st.Value)
			return func(m *machine, n int, mask []bool) { set(m) }
		}
		switch st.Value.Type {
		case ir.Bool:
			return setStrip(s, st, s.boolean(st.Value, t), t)
		case ir.I8:
			return setStrip(s, st, numbers[int8](s, st.Value, t), t)
		case ir.I16:
			return setStrip(s, st, numbers[int16](s, st.Value, t), t)
		case ir.I32:
			return setStrip(s, st, numbers[int32](s, st.Value, t), t)
		case ir.I64:
			return setStrip(s, st, numbers[int64](s, st.Value, t), t)
		case ir.U8:
			return setStrip(s, st, numbers[uint8](s, st.Value, t), t)
		case ir.U16:
			return setStrip(s, st, numbers[uint16](s, st.Value, t), t)
		case ir.U32:
			return setStrip(s, st, numbers[uint32](s, st.Value, t), t)
		case ir.U64:
			return setStrip(s, st, numbers[uint64](s, st.Value, t), t)
		case ir.F32:
			return setStrip(s, st, numbers[float32](s, st.Value, t), t)
		}
		return setStrip(s, st, numbers[float64](s, st.Value, t), t)
	case ir.ElementStmt:
		return s.setElement(st, t)
	case ir.StoreStmt:
		switch st.Value.Type {
		case ir.I8:
			return storeStrip[int8](s, st, t)
		case ir.I16:
			return storeStrip[int16](s, st, t)
		case ir.I32:
			return storeStrip[int32](s, st, t)
		case ir.I64:
			return storeStrip[int64](s, st, t)
		case ir.U8:
			return storeStrip[uint8](s, st, t)
		case ir.U16:
			return storeStrip[uint16](s, st, t)
		case ir.U32:
			return storeStrip[uint32](s, st, t)
		case ir.U64:
			return storeStrip[uint64](s, st, t)
		case ir.F32:
			return storeStrip[float32](s, st, t)
		}
		return storeStrip[float64](s, st, t)
	case ir.IfStmt:
		return s.ifStmt(st, t)
	case ir.ReduceStmt:
		return s.reduceStmt(st, t)
	}
	if s.differs(st.Domain) { // a ForStmt, as all from here on
		return s.raggedFor(st, t)
	}
	r := &st.Domain[0]
	lo, hi, closed, slot := s.c.integer(r.Lo), s.c.integer(r.Hi), r.Closed, r.Slot
	if st.Value != nil {
		goesOn := s.anyRound(st.Value, t)
		body := s.block(st.Body, t)
		return func(m *machine, n int, mask []bool) {
			i := lo(m)
			for k := ir.Trips(i, hi(m), closed); k > 0 && goesOn(m, n, mask); k-- {
				m.ints[slot] = i
				body(m, n, mask)
				i++
				m.tick(n)
			}
		}
	}
	if lets, branch, ok := analysis.Settled(s.c.fn, st); ok {
		declare, some := s.block(lets, t), s.someRounds(branch, t)
		return func(m *machine, n int, mask []bool) {
			i := lo(m)
			for k := ir.Trips(i, hi(m), closed); k > 0; k-- {
				m.ints[slot] = i
				declare(m, n, mask)
				m.tick(n)
				if !some(m, n, mask) {
					return
				}
				i++
			}
		}
	}
	body := s.block(st.Body, t)
	return func(m *machine, n int, mask []bool) {
		i := lo(m)
		for k := ir.Trips(i, hi(m), closed); k > 0; k-- {
			m.ints[slot] = i
			body(m, n, mask)
			i++
			m.tick(n)
		}
	}
}

// anyRound compiles the check whether e holds in a round of a strip.
func (s *stripCompiler) anyRound(e *ir.Expr, t int) func(m *machine, n int, mask []bool) bool {
	if cl, _ := s.classify(e); cl == uniform {
		f := s.c.boolean(e)
		return func(m *machine, n int, mask []bool) bool { return f(m) }
	}
	f := s.boolean(e, t)
	return func(m *machine, n int, mask []bool) bool {
		for k, v := range f(m, n, mask, nil)[:n] {
			if v && (mask == nil || mask[k]) {
				return true
			}
		}
		return false
	}
}

// ifStmt compiles a branch. If its condition is not uniform, masks select the rounds of each
// side.
func (s *stripCompiler) ifStmt(st *ir.Stmt, t int) stripStmt {
	if cl, _ := s.classify(st.Value); cl == uniform {
		cond, then, other := s.c.boolean(st.Value), s.block(st.Body, t), s.block(st.Else, t)
		return func(m *machine, n int, mask []bool) {
			if cond(m) {
				then(m, n, mask)
			} else {
				other(m, n, mask)
			}
		}
	}
	if len(st.Else) == 0 {
		some := s.someRounds(st, t)
		return func(m *machine, n int, mask []bool) { some(m, n, mask) }
	}
	cond := s.boolean(st.Value, t)
	yes, no := s.useStrip(t), s.useStrip(t+1)
	then, other := s.block(st.Body, t+2), s.block(st.Else, t+2)
	return func(m *machine, n int, mask []bool) {
		v := cond(m, n, mask, nil)
		a, b := strip[bool](m, yes, n), strip[bool](m, no, n)
		in, out := splitMask(v, mask, a, b)
		if in == n {
			a = nil // operations without a mask are faster
		}
		if in > 0 {
			then(m, n, a)
		}
		if out > 0 {
			if out == n {
				b = nil
			}
			other(m, n, b)
		}
	}
}

// someRounds compiles an if without else. The function reports whether any round ran.
func (s *stripCompiler) someRounds(st *ir.Stmt, t int) func(m *machine, n int, mask []bool) bool {
	if cl, _ := s.classify(st.Value); cl == uniform {
		cond, then := s.c.boolean(st.Value), s.block(st.Body, t)
		return func(m *machine, n int, mask []bool) bool {
			if !cond(m) {
				return false
			}
			then(m, n, mask)
			return true
		}
	}
	cond, yes, then := s.boolean(st.Value, t), s.useStrip(t), s.block(st.Body, t+1)
	return func(m *machine, n int, mask []bool) bool {
		v, a := cond(m, n, mask, nil), strip[bool](m, yes, n)
		in := selectRounds(v, mask, a)
		switch in {
		case 0:
			return false
		case n:
			a = nil // operations without a mask are faster
		}
		then(m, n, a)
		return true
	}
}

// setStrip compiles an assignment to a varying local.
func setStrip[T any](s *stripCompiler, st *ir.Stmt, v vec[T], t int) stripStmt {
	slot, own := st.Slot, s.strips[st.Slot]
	if !s.c.fn.Slots[slot].Assigned {
		copied := st.Value.Op != ir.OpLoad || s.stored[st.Value.Operand]
		return func(m *machine, n int, mask []bool) {
			d := strip[T](m, own, n)
			r := v(m, n, mask, d)
			if copied && &r[0] != &d[0] {
				copy(d, r)
				r = d
			}
			m.ptrs[slot] = unsafe.Pointer(&r[0])
		}
	}
	declare := st.Declare
	return func(m *machine, n int, mask []bool) {
		d := strip[T](m, own, n)
		m.ptrs[slot] = unsafe.Pointer(&d[0])
		if mask == nil || declare {
			if r := v(m, n, mask, d); &r[0] != &d[0] {
				copy(d, r)
			}
			return
		}
		blend(d, v(m, n, mask, nil), mask)
	}
}

// storeStrip compiles a store.
func storeStrip[T ir.Number](s *stripCompiler, st *ir.Stmt, t int) stripStmt {
	at := newAccess(s, s.c.fn.Element(st), t+1)
	v := numbers[T](s, st.Value, t)
	whole := s.ragged // compute all values before the first is stored
	if at.contiguous {
		return func(m *machine, n int, mask []bool) {
			first, ok := at.firstElement(m, n, mask)
			if mask == nil {
				d := unsafe.Slice(element[T](m, at.op, first), n)
				to := d
				if whole {
					to = nil
				}
				if r := v(m, n, nil, to); &r[0] != &d[0] {
					copy(d, r)
				}
				return
			}
			r := v(m, n, mask, nil)
			if !ok {
				at.reportOutOfBounds(m, n, mask)
			}
			for k, x := range r[:n] {
				if mask[k] {
					*element[T](m, at.op, first+int64(k)) = x
				}
			}
		}
	}
	return func(m *machine, n int, mask []bool) {
		r := v(m, n, mask, nil)
		if at.regular {
			first, ok := at.firstElement(m, n, mask)
			if !ok {
				at.reportOutOfBounds(m, n, mask)
			}
			step := at.stride(m)
			for k, x := range r[:n] {
				if mask == nil || mask[k] {
					*element[T](m, at.op, first+int64(k)*step) = x
				}
			}
			return
		}
		at.forEachRound(m, n, mask, func(k int, i int64) { *element[T](m, at.op, i) = r[k] })
	}
}
