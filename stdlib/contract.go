package stdlib

// contract: sums over indices that two operands share, as Einstein wrote them, by products of matrices.
//
// The indices of a specification fall into groups: those that A, B and C have (one product for each), those of A and C
// (the rows of a product), of B and C (its columns), of A and B (what it sums over), and those of one operand alone,
// which are summed before. An operand whose groups lie in memory as the rows and columns of a matrix, also of a
// transposed one, goes to gemm as it is, and is copied to such a matrix otherwise.

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// contraction is a specification that was read: the letters of A, B and C.
type contraction [3]string

// contractionHelp shows a specification.
const contractionHelp = "write the indices of A and B, then those of C: `\"ijk,kl->ijl\"` sums over k, which C does not have"

// readContraction reads a specification. The error says what is wrong with it, as the rest of a sentence.
func readContraction(spec string) (c contraction, err error) {
	text := strings.ReplaceAll(spec, " ", "")
	in, out, ok := strings.Cut(text, "->")
	if !ok {
		return c, fmt.Errorf("lacks `->` and the indices of C")
	}
	a, b, ok := strings.Cut(in, ",")
	if !ok || strings.Contains(b, ",") {
		return c, fmt.Errorf("has the indices of %d operands before `->`, and must have those of A and B, with a comma between them", strings.Count(in, ",")+1)
	}
	c = contraction{a, b, out}
	for k, letters := range c {
		for _, r := range letters {
			if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
				return c, fmt.Errorf("has %q among the indices of %c; an index is a letter", r, "ABC"[k])
			}
		}
	}
	for i, r := range out {
		switch {
		case !strings.ContainsRune(in, r):
			return c, fmt.Errorf("gives C the index %q, which neither A nor B has", r)
		case strings.ContainsRune(out[i+1:], r):
			return c, fmt.Errorf("gives C the index %q twice", r)
		}
	}
	return c, nil
}

// contractShape is the rule of contract: the specification fits the operands.
func contractShape(s shapes) error {
	spec := s.args[0].Str()
	c, err := readContraction(spec)
	if err != nil {
		return &engine.ShapeError{Arg: "spec", Help: contractionHelp, Message: fmt.Sprintf("`spec` of `%s` is %q, and %v", s.e.name, spec, err)}
	}
	where := map[rune]int{} // the operand that decided the size of an index
	sizes := map[rune]int{}
	for k, letters := range c {
		d := &s.ops[k]
		if len(letters) != int(d.Rank) {
			return &engine.ShapeError{Operands: []int{k}, Details: []string{d.String()}, Arg: "spec", Help: contractionHelp,
				Message: fmt.Sprintf("`%s` of `%s` has %s, and `spec` gives it %s: %q", s.e.ops[k].name, s.e.name, indices(int(d.Rank)), indices(len(letters)), letters)}
		}
		for axis, r := range letters {
			n, known := sizes[r]
			if !known {
				sizes[r], where[r] = d.Dim[axis], k
				continue
			}
			if n != d.Dim[axis] {
				e := &engine.ShapeError{Operands: []int{where[r], k}, Details: []string{s.ops[where[r]].String(), d.String()},
					Message: fmt.Sprintf("the sizes of index %q of `%s` differ: %d in `%s` and %d in `%s`", r, s.e.name, n, s.e.ops[where[r]].name, d.Dim[axis], s.e.ops[k].name),
					Help:    "indices that are one letter in `spec` must have one size; give those of other sizes letters of their own"}
				if where[r] == k {
					e.Operands, e.Details = e.Operands[:1], e.Details[:1]
				}
				return e
			}
		}
	}
	return nil
}

func indices(n int) string {
	if n == 1 {
		return "1 index"
	}
	return fmt.Sprintf("%d indices", n)
}

// contractFlops is the number of products and sums.
func contractFlops(s shapes) float64 {
	c, err := readContraction(s.args[0].Str())
	if err != nil {
		return 0
	}
	seen, n := map[rune]bool{}, 2.0
	for k, letters := range c[:2] {
		for axis, r := range letters {
			if !seen[r] {
				seen[r] = true
				n *= float64(s.ops[k].Dim[axis])
			}
		}
	}
	return n
}

// blasNumber are the elements of products.
type blasNumber interface{ blas.Float | blas.Complex }

// gemmFunc is gemm of a provider for T; a and b are transposed if ta and tb say so.
type gemmFunc[T blasNumber] func(ta, tb blas.Trans, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)

func contractReal[T blas.Float](k operands) error {
	return contract(k, gemmFunc[T](routines[T]().Gemm), scalar[T])
}

func contractComplex[T blas.Complex](k operands) error {
	return contract(k, gemmFunc[T](onComplex[T]().Gemm), iface.As[T])
}

// axes are the sizes of some indices, and the distances between neighbours along them in one operand.
type axes struct{ n, step []int }

// count is the number of combinations of indices.
func (x *axes) count() int {
	n := 1
	for _, m := range x.n {
		n *= m
	}
	return n
}

// offsets lists the places of all combinations, the last index fastest.
func (x *axes) offsets() []int {
	out := []int{0}
	for k, m := range x.n {
		next := make([]int, 0, len(out)*m)
		for _, at := range out {
			for i := range m {
				next = append(next, at+i*x.step[k])
			}
		}
		out = next
	}
	return out
}

// even reports whether all combinations lie at one distance, and returns it. One of a single
// combination is 0.
func (x *axes) even() (step int, ok bool) {
	inner := 0 // the number of combinations of the indices looked at, the last first
	for k := len(x.n) - 1; k >= 0; k-- {
		switch {
		case x.n[k] == 1:
		case inner == 0:
			step, inner = x.step[k], x.n[k]
		case x.step[k] != step*inner:
			return 0, false
		default:
			inner *= x.n[k]
		}
	}
	return step, true
}

// operandMatrix is one operand as the matrices of the products.
type operandMatrix[T blasNumber] struct {
	mem        []T
	rows, cols axes
	sums       axes // indices that no other operand has
	batch      []int
	// of a matrix that is used in place
	inPlace bool
	trans   blas.Trans
	ld      int
	// else
	rowAt, colAt, sumAt []int
	copied              []T
}

// prepare decides how the operand becomes a matrix of m rows and n columns.
func (s *operandMatrix[T]) prepare(m, n int) {
	if r, ok := s.rows.even(); ok && s.sums.count() == 1 {
		if c, ok := s.cols.even(); ok {
			switch {
			case (c == 1 || n == 1) && (r >= n || m == 1):
				s.inPlace, s.ld = true, max(1, n, r)
				return
			case (r == 1 || m == 1) && (c >= m || n == 1):
				s.inPlace, s.trans, s.ld = true, blas.Transposed, max(1, m, c)
				return
			}
		}
	}
	s.rowAt, s.colAt, s.sumAt = s.rows.offsets(), s.cols.offsets(), s.sums.offsets()
	s.copied, s.ld = make([]T, m*n), max(1, n)
}

// matrix returns the operand of product i.
func (s *operandMatrix[T]) matrix(i int) []T {
	mem := s.mem[s.batch[i]:]
	if s.inPlace {
		return mem
	}
	k := 0
	for _, r := range s.rowAt {
		for _, c := range s.colAt {
			var sum T
			for _, at := range s.sumAt {
				sum += mem[r+c+at]
			}
			s.copied[k] = sum
			k++
		}
	}
	return s.copied
}

// contract(A, B, C, spec, alpha, beta)
func contract[T blasNumber](k operands, gemm gemmFunc[T], value func(iface.Scalar) T) error {
	spec, err := readContraction(k.Arg(0).Str())
	if err != nil {
		return err // Shape has refused it
	}
	alpha, beta := value(k.Arg(1)), value(k.Arg(2))
	group := func(i int, in func(r rune) bool) (x axes) {
		seen := map[rune]int{}
		b := k.Buffer(i)
		for axis, r := range spec[i] {
			if !in(r) {
				continue
			}
			if at, twice := seen[r]; twice { // a diagonal
				x.step[at] += stride(b, axis)
				continue
			}
			seen[r] = len(x.n)
			x.n, x.step = append(x.n, b.Dim[axis]), append(x.step, stride(b, axis))
		}
		return x
	}
	// ordered is group with the indices in the order in which operand first has them.
	ordered := func(i, first int, in func(r rune) bool) (x axes) {
		done := map[rune]bool{}
		for _, r := range spec[first] {
			if in(r) && !done[r] {
				done[r] = true
				one := group(i, func(q rune) bool { return q == r })
				x.n, x.step = append(x.n, one.n...), append(x.step, one.step...)
			}
		}
		return x
	}
	has := func(i int, r rune) bool { return strings.ContainsRune(spec[i], r) }
	all := func(r rune) bool { return has(0, r) && has(1, r) && has(2, r) }
	row := func(r rune) bool { return has(0, r) && !has(1, r) && has(2, r) }
	col := func(r rune) bool { return has(1, r) && !has(0, r) && has(2, r) }
	inner := func(r rune) bool { return has(0, r) && has(1, r) && !has(2, r) }
	matrixOf := func(i int, rows, cols axes, batch axes) *operandMatrix[T] {
		s := &operandMatrix[T]{mem: memoryOf[T](k.Buffer(i)), rows: rows, cols: cols, batch: batch.offsets()}
		if i < 2 {
			s.sums = group(i, func(r rune) bool { return !has(1-i, r) && !has(2, r) })
		}
		return s
	}
	a := matrixOf(0, ordered(0, 2, row), ordered(0, 0, inner), ordered(0, 2, all))
	b := matrixOf(1, ordered(1, 0, inner), ordered(1, 2, col), ordered(1, 2, all))
	c := matrixOf(2, ordered(2, 2, row), ordered(2, 2, col), ordered(2, 2, all))
	m, n, sum := a.rows.count(), b.cols.count(), a.cols.count()
	if m*n*len(c.batch) == 0 {
		return nil
	}
	nothing := sum == 0 || a.sums.count() == 0 || b.sums.count() == 0
	if !nothing {
		a.prepare(m, sum)
		b.prepare(sum, n)
	}
	c.prepare(m, n)
	for i := range c.batch {
		var x, y []T
		if !nothing {
			x, y = a.matrix(i), b.matrix(i)
		}
		out := c.mem[c.batch[i]:]
		switch {
		case nothing || !c.inPlace:
			if nothing {
				c.rowAt, c.colAt, c.copied = c.rows.offsets(), c.cols.offsets(), make([]T, m*n)
			} else {
				gemm(a.trans, b.trans, m, n, sum, alpha, x, a.ld, y, b.ld, 0, c.copied, n)
			}
			c.scatter(out, beta)
		case c.trans == blas.Transposed:
			gemm(other(b.trans), other(a.trans), n, m, sum, alpha, y, b.ld, x, a.ld, beta, out, c.ld)
		default:
			gemm(a.trans, b.trans, m, n, sum, alpha, x, a.ld, y, b.ld, beta, out, c.ld)
		}
	}
	return nil
}

// scatter adds the copied matrix to beta times what out has; a beta of 0 does not read that.
func (s *operandMatrix[T]) scatter(out []T, beta T) {
	k := 0
	for _, r := range s.rowAt {
		for _, c := range s.colAt {
			v := s.copied[k]
			if beta != 0 {
				v += beta * out[r+c]
			}
			out[r+c] = v
			k++
		}
	}
}

func other(t blas.Trans) blas.Trans {
	if t == blas.Transposed {
		return blas.NoTrans
	}
	return blas.Transposed
}

// stride returns the distance between neighbours along an axis of b.
func stride(b *iface.Buffer, axis int) int {
	if axis == int(b.Rank)-1 {
		return 1
	}
	return b.Stride[axis]
}

// memoryOf returns the memory of b from its first element to its last.
func memoryOf[T iface.Go](b *iface.Buffer) []T {
	if b.Len() == 0 {
		return nil
	}
	n := 1
	for axis := range int(b.Rank) {
		n += (b.Dim[axis] - 1) * stride(b, axis)
	}
	return unsafe.Slice((*T)(b.Ptr), n)
}
