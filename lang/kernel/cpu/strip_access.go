package cpu

// Accesses to elements in strips.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// stripAccess is an access to an element in each round of a strip.
type stripAccess struct {
	s          *stripCompiler
	e          *ir.Expr
	op         int
	contiguous bool         // consecutive rounds access adjacent elements
	regular    bool         // the distance between the elements of consecutive rounds is constant
	k          []int64      // growth of each index
	base       []firstIndex // of an index that is affine
	idx        []vec[int64]
}

// firstIndex computes an index in the first round of a strip: a local plus a constant, which
// most are and which costs no call, or what f returns. A stencil of nine points has eighteen.
type firstIndex struct {
	f     intFn
	local int
	plus  int64
}

// firstIndex compiles the index e.
func (c *compiler) firstIndex(e *ir.Expr) firstIndex {
	x, plus := e, int64(0)
	if len(e.X) == 2 {
		switch a, b := e.X[0], e.X[1]; {
		case e.Op == ir.OpAdd && b.Op == ir.OpConst:
			x, plus = a, b.Int
		case e.Op == ir.OpAdd && a.Op == ir.OpConst:
			x, plus = b, a.Int
		case e.Op == ir.OpSub && b.Op == ir.OpConst:
			x, plus = a, -b.Int
		}
	}
	if x.Op != ir.OpSlot || e.Type != ir.I64 {
		return firstIndex{f: c.integer(e)}
	}
	return firstIndex{local: x.Slot, plus: plus}
}

// at returns the index in the first round of the strip that m is about to run.
func (x *firstIndex) at(m *machine) int64 {
	if x.f == nil {
		return m.ints[x.local] + x.plus
	}
	return x.f(m)
}

// newAccess compiles the access e. Scratch strips from t on are free.
func newAccess(s *stripCompiler, e *ir.Expr, t int) *stripAccess {
	a := &stripAccess{s: s, e: e, op: e.Operand, regular: true}
	for axis, x := range e.X {
		cl, k := s.classify(x)
		if cl == varying {
			a.regular = false
			a.base, a.k = append(a.base, firstIndex{}), append(a.k, 0)
			a.idx = append(a.idx, numbers[int64](s, x, t+axis))
			continue
		}
		a.base, a.k, a.idx = append(a.base, s.c.firstIndex(x)), append(a.k, k), append(a.idx, nil)
	}
	n := len(e.X)
	a.contiguous = a.regular && n > 0 && a.k[n-1] == 1
	for _, k := range a.k[:max(0, n-1)] {
		a.contiguous = a.contiguous && k == 0
	}
	return a
}

// stride returns the distance between the elements of consecutive rounds.
func (a *stripAccess) stride(m *machine) int64 {
	switch len(a.k) {
	case 1:
		return a.k[0]
	case 2:
		return a.k[0]*m.ops[a.op].row + a.k[1]
	}
	b, last := m.ops[a.op].buf, len(a.k)-1
	step := a.k[last]
	for axis, k := range a.k[:last] {
		step += k * int64(b.Stride[axis])
	}
	return step
}

// firstElement returns the address of the first round's element of a regular access. ok
// reports whether all rounds are in bounds; without a mask, the run ends if they are not.
func (a *stripAccess) firstElement(m *machine, n int, mask []bool) (at int64, ok bool) {
	v := &m.ops[a.op]
	ok = true
	last := int64(n - 1)
	switch len(a.base) {
	case 1:
		at = a.base[0].at(m)
		if uint64(at) >= uint64(v.dim[0]) || uint64(at+a.k[0]*last) >= uint64(v.dim[0]) {
			ok = false
		}
	case 2:
		i, j := a.base[0].at(m), a.base[1].at(m)
		if uint64(i) >= uint64(v.dim[0]) || uint64(i+a.k[0]*last) >= uint64(v.dim[0]) ||
			uint64(j) >= uint64(v.dim[1]) || uint64(j+a.k[1]*last) >= uint64(v.dim[1]) {
			ok = false
		}
		at = i*v.row + j
	default:
		at, ok = a.firstOfBlock(m, v.buf, last)
	}
	if !ok && mask == nil {
		a.reportOutOfBounds(m, n, nil)
	}
	return at, ok
}

// firstOfBlock is firstElement for three indices or more.
func (a *stripAccess) firstOfBlock(m *machine, b *iface.Buffer, last int64) (at int64, ok bool) {
	ok = true
	for axis, base := range a.base {
		i, n := base.at(m), uint64(b.Dim[axis])
		if uint64(i) >= n || uint64(i+a.k[axis]*last) >= n {
			ok = false
		}
		if axis < len(a.base)-1 {
			i *= int64(b.Stride[axis])
		}
		at += i
	}
	return at, ok
}

// reportOutOfBounds ends the run if a round of mask of a regular access is out of bounds.
func (a *stripAccess) reportOutOfBounds(m *machine, n int, mask []bool) {
	for axis := range a.base {
		i := a.base[axis].at(m)
		for k := range n {
			if (mask == nil || mask[k]) && uint64(i) >= uint64(m.ops[a.op].size(axis)) {
				m.outOfBounds(a.e, a.op, axis, i)
			}
			i += a.k[axis]
		}
	}
}

// forEachRound calls f with the address of the element of each round of mask.
func (a *stripAccess) forEachRound(m *machine, n int, mask []bool, f func(k int, at int64)) {
	var idx [iface.MaxRank][]int64
	var base [iface.MaxRank]int64
	for axis := range a.base {
		if a.idx[axis] != nil {
			idx[axis] = a.idx[axis](m, n, mask, nil)
		} else {
			base[axis] = a.base[axis].at(m)
		}
	}
	v := &m.ops[a.op]
	for k := range n {
		if mask != nil && !mask[k] {
			continue
		}
		var at int64
		for axis := range a.base {
			i := base[axis] + int64(k)*a.k[axis]
			if idx[axis] != nil {
				i = idx[axis][k]
			}
			if uint64(i) >= uint64(v.size(axis)) {
				m.outOfBounds(a.e, a.op, axis, i)
			}
			switch {
			case axis+1 == len(a.base):
				at += i
			case len(a.base) == 2:
				at = i * v.row
			default:
				at += i * int64(v.buf.Stride[axis])
			}
		}
		f(k, at)
	}
}

// loadStrip compiles a load whose elements differ between rounds.
func loadStrip[T ir.Number](s *stripCompiler, e *ir.Expr, t int) vec[T] {
	a, own := newAccess(s, e, s.useStrip(t)+1), t
	op := a.op
	switch {
	case a.contiguous:
		return func(m *machine, n int, mask []bool, dst []T) []T {
			first, ok := a.firstElement(m, n, mask)
			if ok {
				return unsafe.Slice(element[T](m, op, first), n)
			}
			a.reportOutOfBounds(m, n, mask)
			if dst == nil {
				dst = strip[T](m, own, n)
			}
			for k := range dst[:n] {
				dst[k] = 0
				if mask[k] {
					dst[k] = *element[T](m, op, first+int64(k))
				}
			}
			return dst
		}
	case a.regular:
		return func(m *machine, n int, mask []bool, dst []T) []T {
			first, ok := a.firstElement(m, n, mask)
			if dst == nil {
				dst = strip[T](m, own, n)
			}
			step := a.stride(m)
			if ok {
				p, by := unsafe.Pointer(element[T](m, op, first)), uintptr(step)*unsafe.Sizeof(dst[0])
				dst = dst[:n]
				dst[0] = *(*T)(p)
				for k := 1; k < len(dst); k++ {
					p = unsafe.Add(p, by)
					dst[k] = *(*T)(p)
				}
				return dst
			}
			a.reportOutOfBounds(m, n, mask)
			for k := range dst[:n] {
				dst[k] = 0
				if mask[k] {
					dst[k] = *element[T](m, op, first+int64(k)*step)
				}
			}
			return dst
		}
	case len(a.idx) == 1:
		if x := e.X[0]; x.Op == ir.OpConvert && x.X[0].Type == ir.I32 { // as they are in memory
			return gather[T](a, numbers[int32](s, x.X[0], t+1), own)
		}
		return gather[T](a, a.idx[0], own)
	}
	return func(m *machine, n int, mask []bool, dst []T) []T {
		if dst == nil {
			dst = strip[T](m, own, n)
		}
		dst = dst[:n]
		if mask != nil {
			clear(dst)
		}
		a.forEachRound(m, n, mask, func(k int, i int64) { dst[k] = *element[T](m, op, i) })
		return dst
	}
}

// gather compiles a load from a vector at indices that are not regular.
func gather[T ir.Number, A int32 | int64](a *stripAccess, idx vec[A], own int) vec[T] {
	op := a.op
	return func(m *machine, n int, mask []bool, dst []T) []T {
		at := idx(m, n, mask, nil)[:n]
		if dst == nil {
			dst = strip[T](m, own, n)
		}
		dst = dst[:len(at)]
		v := &m.ops[op]
		mem := unsafe.Slice((*T)(v.ptr), v.dim[0])
		for k, i := range at {
			if uint64(i) >= uint64(len(mem)) {
				if mask == nil || mask[k] {
					m.outOfBounds(a.e, op, 0, int64(i))
				}
				dst[k] = 0
				continue
			}
			dst[k] = mem[i]
		}
		return dst
	}
}
