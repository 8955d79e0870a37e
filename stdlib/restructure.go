package stdlib

// std/sparse: codelets whose result has a structure of its own, which a script registers before, and orders of
// the rows of sparse matrices.

import (
	"fmt"
	"slices"
	"sort"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// lacks is the error of a result whose structure lacks an entry.
func lacks(name string, i, j int, register string) error {
	return fmt.Errorf("`%s` has no entry in row %d, column %d: register it with `%s`", name, i, j, register)
}

// add(A, B, C, alpha, beta)
func addSparse[T blas.Float](k operands) error {
	a, b, c := sparseOf[T](k, 0), sparseOf[T](k, 3), sparseOf[T](k, 6)
	alpha, beta := scalar[T](k.Arg(3)), scalar[T](k.Arg(4))
	for i := range c.rows {
		col, val := c.row(i)
		clear(val)
		for which, m := range []*sparse[T]{&a, &b} {
			from, x := m.row(i)
			f, at := alpha, 0
			if which == 1 {
				f = beta
			}
			for k, j := range from {
				for at < len(col) && col[at] < j {
					at++
				}
				if at == len(col) || col[at] != j {
					return lacks("C", c.row0+i, int(j), "like = [A, B]")
				}
				val[at] += T(f * x[k])
			}
		}
	}
	return nil
}

// transpose(A, B)
func transposeSparse[T blas.Float](k operands) error {
	a, b := sparseOf[T](k, 0), sparseOf[T](k, 3)
	next := make([]int, b.rows)
	for i := range b.rows {
		next[i], _ = b.span(i)
	}
	if len(a.col) != len(b.col) {
		return fmt.Errorf("the numbers of entries differ, %d and %d: register `B` with `transposed = A`", len(a.col), len(b.col))
	}
	for i := range a.rows {
		col, val := a.row(i)
		for k, j := range col {
			at := next[j]
			if _, end := b.span(int(j)); at >= end || int(b.col[at]) != i {
				return lacks("B", int(j), i, "transposed = A")
			}
			b.val[at] = val[k]
			next[j]++
		}
	}
	return nil
}

// permutation returns the order in operand i, and the place of each number in it.
func permutation(k operands, i int) (order, place []int32, err error) {
	order = iface.Slice[int32](k.Buffer(i))
	place = make([]int32, len(order))
	for at := range place {
		place[at] = -1
	}
	for at, j := range order {
		switch {
		case j < 0 || int(j) >= len(order):
			return nil, nil, fmt.Errorf("element %d of `order` is %d: it has the numbers 0 to %d, each once", at, j, len(order)-1)
		case place[j] >= 0:
			return nil, nil, fmt.Errorf("elements %d and %d of `order` are both %d: it has each number once", place[j], at, j)
		}
		place[j] = int32(at)
	}
	return order, place, nil
}

// reorder(A, order, B)
func reorder[T blas.Float](k operands) error {
	a, b := sparseOf[T](k, 0), sparseOf[T](k, 4)
	order, place, err := permutation(k, 3)
	if err != nil {
		return err
	}
	if len(a.col) != len(b.col) {
		return fmt.Errorf("the numbers of entries differ, %d and %d: register `B` with `like = A, order = order`", len(a.col), len(b.col))
	}
	for i, from := range order {
		col, val := a.row(int(from))
		for k, j := range col {
			at, ok := b.at(i, int(place[j]))
			if !ok {
				return lacks("B", i, int(place[j]), "like = A, order = order")
			}
			b.val[at] = val[k]
		}
	}
	return nil
}

// permute(x, order, y)
func permute[T iface.Go](k operands) error {
	x, y := iface.Slice[T](k.Buffer(0)), iface.Slice[T](k.Buffer(2))
	order, _, err := permutation(k, 1)
	if err != nil {
		return err
	}
	for i, from := range order {
		y[i] = x[from]
	}
	return nil
}

// unpermute(x, order, y)
func unpermute[T iface.Go](k operands) error {
	x, y := iface.Slice[T](k.Buffer(0)), iface.Slice[T](k.Buffer(2))
	order, _, err := permutation(k, 1)
	if err != nil {
		return err
	}
	for i, to := range order {
		y[to] = x[i]
	}
	return nil
}

// dense(A, M)
func denseOf[T blas.Float](k operands) error {
	a, m := sparseOf[T](k, 0), k.Buffer(3)
	for i := range a.rows {
		row := iface.Row[T](m, i)
		clear(row)
		col, val := a.row(i)
		for k, j := range col {
			row[j] = val[k]
		}
	}
	return nil
}

// rcm(A, order)
func rcm[T blas.Float](k operands) error {
	a, order := sparseOf[T](k, 0), iface.Slice[int32](k.Buffer(3))
	copy(order, newNeighbours(&a).reverseCuthillMcKee())
	return nil
}

// neighbours is the graph of a sparse matrix: rows are neighbours if either has an entry in the column
// of the other.
type neighbours struct {
	start []int
	list  []int32
	level []int32 // of the last search, -1 for nodes that it has not seen
}

func newNeighbours[T blas.Float](a *sparse[T]) *neighbours {
	g := &neighbours{start: make([]int, a.rows+1), level: make([]int32, a.rows)}
	edges := func(use func(i, j int32)) {
		for i := range a.rows {
			col, _ := a.row(i)
			for _, j := range col {
				if int(j) == i {
					continue
				}
				use(int32(i), j)
				if _, both := a.at(int(j), i); !both {
					use(j, int32(i))
				}
			}
		}
	}
	edges(func(i, j int32) { g.start[i+1]++ })
	for i := range a.rows {
		g.start[i+1] += g.start[i]
	}
	g.list = make([]int32, g.start[a.rows])
	next := slices.Clone(g.start)
	edges(func(i, j int32) { g.list[next[i]] = j; next[i]++ })
	for i := range a.rows { // by degree, and by number
		of := g.of(int32(i))
		sort.Slice(of, func(x, y int) bool {
			if d, e := g.degree(of[x]), g.degree(of[y]); d != e {
				return d < e
			}
			return of[x] < of[y]
		})
	}
	return g
}

func (g *neighbours) of(i int32) []int32 { return g.list[g.start[i]:g.start[i+1]] }

func (g *neighbours) degree(i int32) int { return g.start[i+1] - g.start[i] }

// search appends the nodes that first reaches to out, nearest first, and sets their levels. It returns the last
// level, too.
func (g *neighbours) search(first int32, out []int32) ([]int32, int32) {
	at := len(out)
	out = append(out, first)
	g.level[first] = 0
	for ; at < len(out); at++ {
		for _, j := range g.of(out[at]) {
			if g.level[j] < 0 {
				g.level[j] = g.level[out[at]] + 1
				out = append(out, j)
			}
		}
	}
	return out, g.level[out[len(out)-1]]
}

// reverseCuthillMcKee returns the nodes of each part of the graph in the order of a search that begins far out,
// the last first.
func (g *neighbours) reverseCuthillMcKee() []int32 {
	for i := range g.level {
		g.level[i] = -1
	}
	out := make([]int32, 0, len(g.level))
	for i := range g.level {
		if g.level[i] >= 0 {
			continue
		}
		// The node of the least degree on the last level of a search is farther out, until the levels stay as many.
		first, done := int32(i), len(out)
		var depth int32 = -1
		for {
			var last int32
			out, last = g.search(first, out[:done])
			if last <= depth {
				break
			}
			depth = last
			for _, j := range out[done:] {
				if g.level[j] == last && (g.level[first] != last || g.degree(j) < g.degree(first)) {
					first = j
				}
			}
			for _, j := range out[done:] {
				g.level[j] = -1
			}
			if last == 0 {
				out, _ = g.search(first, out[:done])
				break
			}
		}
	}
	slices.Reverse(out)
	return out
}

// The rules of these codelets.

func addSparseShape(s shapes) error {
	return first(s.arrays(), s.equal(s.rows(0), s.rows(3)), s.equal(s.cols(0), s.cols(3)), s.equal(s.rows(0), s.rows(6)), s.equal(s.cols(0), s.cols(6)))
}

func transposeSparseShape(s shapes) error {
	return first(s.arrays(), s.wholeRows(0), s.wholeRows(3), s.equal(s.rows(0), s.cols(3)), s.equal(s.cols(0), s.rows(3)))
}

func reorderShape(s shapes) error {
	return first(s.squareSparse(0), s.wholeRows(0), s.equal(s.rows(0), s.along(3, 0)), s.equal(s.rows(0), s.rows(4)), s.equal(s.rows(4), s.cols(4)))
}

func permuteShape(s shapes) error {
	return first(s.equal(s.along(0, 0), s.along(1, 0)), s.equal(s.along(0, 0), s.along(2, 0)))
}

func denseOfShape(s shapes) error {
	return first(s.arrays(), s.equal(s.rows(0), s.along(3, 0)), s.equal(s.cols(0), s.along(3, 1)))
}

func rcmShape(s shapes) error {
	return first(s.squareSparse(0), s.wholeRows(0), s.equal(s.rows(0), s.along(3, 0)))
}

// wholeRows demands that the sparse matrix at operand op begins with the first row of its root.
func (s *shapes) wholeRows(op int) error {
	if off := s.ops[op].Off[0]; off != 0 {
		return &engine.ShapeError{Operands: []int{op}, Details: []string{fmt.Sprintf("rows from %d on", off)},
			Message: fmt.Sprintf("`%s` takes the whole of `%s`, and got a slab of its rows", s.e.name, s.sparseName(op))}
	}
	return nil
}
