package cluster

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func box(rank int, lo, hi [2]int) (b Box) {
	for k := range b.Hi {
		b.Hi[k] = 1
	}
	copy(b.Lo[:rank], lo[:])
	copy(b.Hi[:rank], hi[:])
	return b
}

// model is a directory element by element: which ranks have the value of each.
type model map[[2]int]map[int]bool

func (m model) each(b Box, fn func(at [2]int)) {
	for i := b.Lo[0]; i < b.Hi[0]; i++ {
		for k := b.Lo[1]; k < b.Hi[1]; k++ {
			fn([2]int{i, k})
		}
	}
}

// TestDirectory reads and writes random boxes on random ranks: what is moved is what a rank lacks, each element once and from a rank that
// has it, and HasValue is true where all elements have a value.
func TestDirectory(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, size := 1+r.IntN(12), 1+r.IntN(6)
		whole := box(2, [2]int{}, [2]int{n, n})
		var first []int
		if r.IntN(2) == 0 {
			first = Everywhere(size)
		}
		d, m := NewData(whole, first), model{}
		m.each(whole, func(at [2]int) {
			m[at] = map[int]bool{}
			for _, r := range first {
				m[at][r] = true
			}
		})
		var places []*Place
		for range 100 {
			if len(places) < 10 || r.IntN(8) == 0 {
				lo := [2]int{r.IntN(n), r.IntN(n)}
				places = append(places, d.Place(box(2, lo, [2]int{lo[0] + 1 + r.IntN(n-lo[0]), lo[1] + 1 + r.IntN(n-lo[1])}), r.IntN(size)))
			}
			p, rank := places[r.IntN(len(places))], r.IntN(size)
			valued := true
			m.each(p.Box(), func(at [2]int) { valued = valued && len(m[at]) > 0 })
			if got := p.HasValue(); got != valued {
				t.Fatalf("seed %d: HasValue of %v is %v", seed, p.Box(), got)
			}
			if r.IntN(3) == 0 {
				ranks := []int{rank}
				if r.IntN(4) == 0 {
					ranks = Everywhere(size)
				}
				p.Write(ranks...)
				m.each(p.Box(), func(at [2]int) {
					m[at] = map[int]bool{}
					for _, r := range ranks {
						m[at][r] = true
					}
				})
				continue
			}
			moved := 0
			for _, move := range p.Read(rank) {
				m.each(move.Box, func(at [2]int) {
					if moved++; m[at][rank] || !m[at][move.From] || move.To != rank || !move.Box.within(&p.box) {
						t.Fatalf("seed %d: %+v for rank %d, which may have it already", seed, move, rank)
					}
					m[at][rank] = true
				})
			}
			m.each(p.Box(), func(at [2]int) {
				if len(m[at]) > 0 && !m[at][rank] {
					t.Fatalf("seed %d: rank %d lacks element %v of %v", seed, rank, at, p.Box())
				}
			})
		}
		total := 0
		for i, q := range d.pieces {
			total += q.box.Elements()
			for _, o := range d.pieces[:i] {
				if o.box.touches(&q.box) {
					t.Fatalf("seed %d: pieces %v and %v overlap", seed, q.box, o.box)
				}
			}
		}
		if total != n*n {
			t.Fatalf("seed %d: the pieces have %d elements of %d", seed, total, n*n)
		}
	}
}

// TestTree: a value that all ranks read goes from rank to rank like a binomial tree, and no rank sends it more often than the logarithm of their number.
func TestTree(t *testing.T) {
	const size = 64
	p := NewData(box(1, [2]int{}, [2]int{10}), []int{5}).Place(box(1, [2]int{}, [2]int{10}), 5)
	sent, depth := map[int]int{}, map[int]int{5: 0}
	for r := range size {
		for _, m := range p.Read(r) {
			sent[m.From]++
			depth[r] = depth[m.From] + 1
		}
	}
	for r := range size {
		if d, ok := depth[r]; sent[r] > 6 || d > 6 || !ok {
			t.Errorf("rank %d sends %d messages, and gets the value after %d", r, sent[r], d)
		}
	}
}

// TestContribute: the contributions to data without a value have a home, and their sum is its value.
func TestContribute(t *testing.T) {
	d := NewData(box(1, [2]int{}, [2]int{10}), nil)
	whole := d.Place(box(1, [2]int{}, [2]int{10}), 2)
	left := d.Place(box(1, [2]int{}, [2]int{4}), 1)
	left.Write(0)
	if home, moves, none := whole.Contribute(3); home != 0 || moves != nil || len(none) != 1 || none[0].Elements() != 6 {
		t.Error(home, moves, none)
	}
	if home, _, none := whole.Contribute(1); home != 0 || none != nil {
		t.Error(home, none)
	}
	if !whole.HasValue() || !whole.Contributes(3) || whole.Contributes(2) {
		t.Error("the contributions are not known")
	}
	if open := left.Open(false); !slices.Equal(open, []*Place{whole}) {
		t.Error(open)
	}
	if home, sums := whole.Combine(); home != 0 || !slices.Equal(sums, []Sum{{1, 0}, {3, 0}}) || left.Open(false) != nil {
		t.Error(home, sums)
	}
	if moves := left.Read(2); len(moves) != 1 || moves[0].From != 0 {
		t.Error(moves)
	}
}

// TestCombineIsATree: the sums bring each contribution to the home once, and no rank gets more messages than the logarithm of their number.
func TestCombineIsATree(t *testing.T) {
	for size := 1; size <= 40; size++ {
		d := NewData(box(1, [2]int{}, [2]int{10}), []int{size / 2})
		p := d.Place(box(1, [2]int{}, [2]int{10}), 0)
		has := make([]int, size) // what the ranks have, in which each has contributed 1
		for r := range size {
			if p.Contribute(r); r > 0 {
				has[r] = 1
			}
		}
		home, sums := p.Combine()
		got := make([]int, size)
		for _, s := range sums {
			has[s.To] += has[s.From]
			has[s.From] = 0
			got[s.To]++
		}
		most := bits.Len(uint(size - 1))
		want := size - 1 // without that of rank 0, which is not counted
		if has[home] != want || len(sums) != size-1 || slices.Max(got) > most {
			t.Errorf("%d ranks: home %d has %d of %d, by %v", size, home, has[home], want, sums)
		}
	}
}
