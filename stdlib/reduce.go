package stdlib

// std/reduce: numbers about data. Sums of f32 are added up in f64; the order
// of additions depends on sizes only.

import (
	"math"
	"sort"

	"github.com/starpush/starpush/datamgr/iface"
)

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// addUp adds in A, the type that holds sums of T.
func addUp[T, A number](k operands) error {
	x, acc := k.Buffer(0), one[T](k.Buffer(1))
	var s0, s1, s2, s3 A // several sums, for the processor's sake
	n := rowCount(x)     // always by rows: the order must not depend on gaps between them
	for i := range n {
		row := run[T](x, i, n)
		for len(row) >= 4 {
			s0, s1, s2, s3 = s0+A(row[0]), s1+A(row[1]), s2+A(row[2]), s3+A(row[3])
			row = row[4:]
		}
		for _, v := range row {
			s0 += A(v)
		}
	}
	*acc = T(A(*acc) + (s0 + s1) + (s2 + s3))
	return nil
}

func rowCount(b *iface.Buffer) int {
	switch {
	case b.Len() == 0:
		return 0
	case b.Rank == 2:
		return b.Dim[0]
	}
	return 1
}

func multiply[T, A number](k operands) error {
	x, acc := k.Buffer(0), one[T](k.Buffer(1))
	p := A(1)
	n := runs(x)
	for i := range n {
		for _, v := range run[T](x, i, n) {
			p *= A(v)
		}
	}
	*acc = T(A(*acc) * p)
	return nil
}

func smallest[T number](k operands) error {
	x, acc := k.Buffer(0), one[T](k.Buffer(1))
	m := *acc
	n := runs(x)
	for i := range n {
		for _, v := range run[T](x, i, n) {
			m = min(m, v)
		}
	}
	*acc = m
	return nil
}

func largest[T number](k operands) error {
	x, acc := k.Buffer(0), one[T](k.Buffer(1))
	m := *acc
	n := runs(x)
	for i := range n {
		for _, v := range run[T](x, i, n) {
			m = max(m, v)
		}
	}
	*acc = m
	return nil
}

// add adds a number to an element of any type.
func add(b *iface.Buffer, i int, n int64) {
	switch b.Elem {
	case iface.I8:
		iface.Slice[int8](b)[i] += int8(n)
	case iface.I16:
		iface.Slice[int16](b)[i] += int16(n)
	case iface.I32:
		iface.Slice[int32](b)[i] += int32(n)
	case iface.I64:
		iface.Slice[int64](b)[i] += n
	case iface.U8:
		iface.Slice[uint8](b)[i] += uint8(n)
	case iface.U16:
		iface.Slice[uint16](b)[i] += uint16(n)
	case iface.U32:
		iface.Slice[uint32](b)[i] += uint32(n)
	case iface.U64:
		iface.Slice[uint64](b)[i] += uint64(n)
	case iface.F32:
		iface.Slice[float32](b)[i] += float32(n)
	case iface.F64:
		iface.Slice[float64](b)[i] += float64(n)
	}
}

// count(x, value, acc)
func count[T number](k operands) error {
	x, want := k.Buffer(0), scalar[T](k.Arg(0))
	var c int64
	n := runs(x)
	for i := range n {
		for _, v := range run[T](x, i, n) {
			if v == want {
				c++
			}
		}
	}
	add(k.Buffer(1), 0, c)
	return nil
}

// histogram(x, lo, hi, bins)
func histogram[T number](k operands) error {
	x, bins := k.Buffer(0), k.Buffer(1)
	g := newGrid(k.Arg(0).Float(), k.Arg(1).Float(), bins.Dim[0])
	counts := make([]int64, g.n)
	n := runs(x)
	for i := range n {
		for _, e := range run[T](x, i, n) {
			if v := float64(e); v >= g.lo && v < g.hi {
				counts[g.bin(v)]++
			}
		}
	}
	for i, c := range counts {
		if c != 0 {
			add(bins, i, c)
		}
	}
	return nil
}

// grid is n equal bins from lo to hi.
type grid struct {
	lo, hi float64
	n      int
	scale  float64 // bins in a unit, if that is a number
	width  float64 // of all bins, divided by down
	down   float64 // 1, but where width times n would overflow
}

func newGrid(lo, hi float64, n int) grid {
	g := grid{lo: lo, hi: hi, n: n, width: hi - lo, down: 1}
	g.scale = min(float64(n)/g.width, math.MaxFloat64)
	if math.IsInf(g.width*float64(n), 0) {
		g.down = 1 << 64
		g.width /= g.down
	}
	return g
}

// edge is where bin i begins.
func (g *grid) edge(i int) float64 { return g.lo + g.width*float64(i)/float64(g.n)*g.down }

// bin is the last one that begins at v or below. A guess will do for most, and is wrong
// beside edges, for it is rounded.
func (g *grid) bin(v float64) int {
	j := min(int((v-g.lo)*g.scale), g.n-1)
	if v >= g.edge(j) && (j == g.n-1 || v < g.edge(j+1)) {
		return j
	}
	return sort.Search(g.n-1, func(i int) bool { return v < g.edge(i+1) })
}

func histogramShape(s shapes) error {
	lo, hi := s.args[0].Float(), s.args[1].Float()
	switch {
	case !(lo < hi):
		return s.badArg("hi", "needs `lo` below `hi`, and got %v and %v", lo, hi)
	case math.IsInf(hi-lo, 0):
		return s.badArg("hi", "cannot divide the range from %v to %v into bins", lo, hi)
	}
	return s.filled(1)
}

// argmax(x, out): the first of the largest elements; a NaN is the largest.
func argmax[T number](k operands) error {
	x := k.Buffer(0)
	base, step := x.Number()
	at, found := 0, false
	var best T
	n := runs(x)
walk:
	for i := range n {
		for j, v := range run[T](x, i, n) {
			if nan := v != v; nan || !found || v > best {
				at, best, found = place(&x.Desc, n, i, j), v, true
				if nan {
					break walk
				}
			}
		}
	}
	r, c := 0, at
	if x.Rank == 2 {
		r, c = at/x.Dim[1], at%x.Dim[1]
		*one[int64](k.Buffer(1)) = int64(base + r*step[0] + c*step[1])
		return nil
	}
	*one[int64](k.Buffer(1)) = int64(base + c*step[0])
	return nil
}

// place is the number, row by row, of element j of stretch i of n.
func place(d *iface.Desc, n, i, j int) int {
	if n == 1 {
		return j
	}
	return i*d.Dim[1] + j
}
