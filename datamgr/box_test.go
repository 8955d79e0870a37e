package datamgr

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// plainBox is a box as two lists of numbers.
type plainBox struct{ lo, hi []int }

// boxes makes a box of data with the given sizes, and the same as lists.
func boxes(rng *rand.Rand, d *iface.Desc) (Box, plainBox) {
	b, p := boxOf(d), plainBox{}
	for k, n := range d.Dim[:d.Rank] {
		lo := rng.IntN(n)
		hi := lo + 1 + rng.IntN(n-lo)
		if rng.IntN(3) == 0 {
			lo, hi = 0, n
		}
		b.set(k, lo, hi)
		p.lo, p.hi = append(p.lo, lo), append(p.hi, hi)
	}
	return b, p
}

// TestBox: boxes of each rank do what lists of numbers do, with sizes up to the largest.
func TestBox(t *testing.T) {
	if n := unsafe.Sizeof(Box{}); n != 64 {
		t.Errorf("a box has %d bytes; the memory of parts and fragments depends on it", n)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		d := iface.Desc{Rank: int8(rng.IntN(iface.MaxRank + 1))}
		for k := range d.Rank {
			d.Dim[k] = 1 + rng.IntN(4)
			if rng.IntN(8) == 0 {
				d.Dim[k] = wideMax
				if d.Rank <= near {
					d.Dim[k] = math.MaxInt64
				}
			}
		}
		a, p := boxes(rng, &d)
		b, q := boxes(rng, &d)
		touches, has, same := true, true, true
		size := 1.0
		for k := range p.lo {
			if lo, hi := a.at(k); lo != p.lo[k] || hi != p.hi[k] || a.from(k) != lo || a.to(k) != hi || a.length(k) != hi-lo {
				t.Fatalf("axis %d of %+v is %d..%d", k, p, lo, hi)
			}
			touches = touches && p.lo[k] < q.hi[k] && q.lo[k] < p.hi[k]
			has = has && p.lo[k] <= q.lo[k] && q.hi[k] <= p.hi[k]
			along := p.lo[k] == q.lo[k] && p.hi[k] == q.hi[k]
			if a.sameAlong(&b, k) != along {
				t.Fatalf("%+v and %+v along axis %d", p, q, k)
			}
			same = same && along
			size *= float64(p.hi[k] - p.lo[k])
		}
		if a.touches(&b) != touches || a.has(&b) != has || (a == b) != same {
			t.Fatalf("%+v and %+v: touches %v, has %v, same %v", p, q, a.touches(&b), a.has(&b), a == b)
		}
		hull := a.hull(&b)
		for k := range p.lo {
			if lo, hi := hull.at(k); lo != min(p.lo[k], q.lo[k]) || hi != max(p.hi[k], q.hi[k]) {
				t.Fatalf("the hull of %+v and %+v is %d..%d along %d", p, q, lo, hi, k)
			}
		}
		if size > 1e15 {
			continue
		}
		if a.size() != int(size) {
			t.Fatalf("%+v has %d elements", p, a.size())
		}
		if !touches {
			continue
		}
		in := a.meet(&b)
		parts := a.around(in, nil)
		n := 0
		for i := range parts {
			n += parts[i].size()
			if !a.has(&parts[i]) {
				t.Fatalf("%+v around %+v: part %d is outside", p, q, i)
			}
			for k := range i {
				if parts[i].touches(&parts[k]) {
					t.Fatalf("%+v around %+v: parts %d and %d share elements", p, q, i, k)
				}
			}
		}
		if n != a.size() || parts[len(parts)-1] != in || !b.has(&in) {
			t.Fatalf("%+v around %+v: %d elements in %d parts", p, q, n, len(parts))
		}
	}
}
