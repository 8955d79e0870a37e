package grain

// Families: views whose parts are operands of the same tasks, and the factor by which all
// of them can be made coarser or finer together so that their parts keep fitting.

import (
	"math"

	"github.com/starpush/starpush/datamgr"
)

// family is the views that change together, with the inserts that use them.
type family struct {
	views   []*datamgr.View
	splits  []*split // of those views that can be said in numbers
	inserts []*insert
	pairs   bool // some insert takes parts of several views, or several of one
	unknown bool // something that belongs to it cannot be said in numbers
}

// families puts the views of all inserts together that have an insert in common.
func families(inserts []*insert, held map[*datamgr.Handle]bool, find finder) map[*insert]*family {
	byView := map[*datamgr.View]*family{}
	of := map[*insert]*family{}
	for _, s := range inserts {
		f := &family{inserts: []*insert{s}}
		of[s] = f
		for _, v := range f.look(s, find) {
			known := byView[v]
			switch {
			case known == f:
			case known != nil: // the larger one takes the smaller: else an insert more costs as much as all before
				small, large := f, known
				if len(small.inserts) > len(large.inserts) {
					small, large = large, small
				}
				large.take(small)
				for _, x := range small.views {
					byView[x] = large
				}
				for _, i := range small.inserts {
					of[i] = large
				}
				f = large
			default:
				if x, ok := splitOf(v); ok {
					f.splits = append(f.splits, &x)
				} else {
					f.unknown = true
				}
				f.views = append(f.views, v)
				byView[v] = f
			}
		}
	}
	for h := range held { // the script goes by these parts
		if v, _ := find.of(h); v != nil && byView[v] != nil {
			byView[v].unknown = true
		}
	}
	return of
}

func (f *family) take(o *family) {
	f.views = append(f.views, o.views...)
	f.splits = append(f.splits, o.splits...)
	f.inserts = append(f.inserts, o.inserts...)
	f.pairs = f.pairs || o.pairs
	f.unknown = f.unknown || o.unknown
}

// look lists the views that cut operands of s.
func (f *family) look(s *insert, find finder) (views []*datamgr.View) {
	seen := map[*datamgr.View]bool{}
	cut := 0
	for k := range s.ops {
		op := &s.ops[k]
		f.unknown = f.unknown || op.more || op.pieces.gone > 0
		whole, parts := 0, 0
		for h := range op.pieces.of {
			v, lost := find.of(h)
			if v != nil && len(v.Parts) > 1 {
				parts = 1
			}
			switch {
			case lost:
				f.unknown = true
			case v == nil:
				whole++
			case len(v.Parts) > 1 && !seen[v]:
				seen[v] = true
				views = append(views, v)
			}
		}
		f.unknown = f.unknown || whole > 1 // a datum for each task: as many as there are parts
		cut += parts
	}
	f.pairs = f.pairs || cut > 1
	return views
}

// change makes other numbers of parts: q for each, or p·mul/div of p.
type change struct{ q, mul, div int }

func (c change) of(p int) int {
	if c.q > 0 {
		return c.q
	}
	return p * c.mul / c.div
}

// coarser finds the change to fewer parts by about ratio along each index, and never by
// more; finer that to more parts.
func (f *family) coarser(ratio float64, find finder) (c change, ok bool) {
	if f.unknown || len(f.splits) == 0 {
		return c, false
	}
	if a, ok := f.uniform(); ok {
		for q := int(math.Ceil(float64(a.parts) / ratio)); q < a.parts; q++ {
			if c = (change{q: q}); f.even(a, q) && f.fits(c, find) {
				return c, true
			}
		}
		return c, false
	}
	for d := int(ratio); d > 1; d-- {
		if c = (change{mul: 1, div: d}); f.exact(c) && f.fits(c, find) {
			return c, true
		}
	}
	return c, false
}

func (f *family) finer(ratio float64, find finder) (c change, ok bool) {
	if f.unknown || len(f.splits) == 0 {
		return c, false
	}
	if a, ok := f.uniform(); ok {
		for q := min(int(math.Ceil(float64(a.parts)*ratio)), a.n); q > a.parts; q-- {
			if c = (change{q: q}); f.even(a, q) && f.fits(c, find) {
				return c, true
			}
		}
		return c, false
	}
	for m := int(math.Ceil(ratio)); m > 1; m-- {
		if c = (change{mul: m, div: 1}); f.exact(c) && f.fits(c, find) {
			return c, true
		}
	}
	return c, false
}

// uniform reports whether all views cut the same length into as many parts: then any
// other number, the same for all, gives parts that are as long as each other.
func (f *family) uniform() (axis, bool) {
	first := f.splits[0].axes[0]
	for _, s := range f.splits {
		for _, a := range s.axes {
			if a.n != first.n || a.parts != first.parts {
				return first, false
			}
		}
	}
	return first, true
}

// even reports whether q parts are all of one length where the parts are so now, and
// may therefore meet in any order.
func (f *family) even(a axis, q int) bool {
	return !f.pairs || a.n%a.parts != 0 || a.n%q == 0
}

// exact reports whether every part becomes longer or shorter by the very same factor.
func (f *family) exact(c change) bool {
	for _, s := range f.splits {
		for _, a := range s.axes {
			p := c.of(a.parts)
			if s.halo != f.splits[0].halo || a.n%a.parts != 0 || p < 1 || p*c.div != a.parts*c.mul || a.n%p != 0 {
				return false
			}
		}
	}
	return true
}

// fits reports whether no size that stays as it is would be reached or overtaken by the
// parts: which of two sizes is the larger may matter to a codelet, and that they are
// equal most of all.
func (f *family) fits(c change, find finder) bool {
	for _, s := range f.inserts {
		var from, to []int // for each index that is cut: the sizes that it has or passes
		var stay []int
		for k := range s.ops {
			for h := range s.ops[k].pieces.of {
				v, _ := find.of(h)
				x := f.split(v)
				_, whole := extents(h, x)
				stay = append(stay, whole...)
				if x == nil {
					continue
				}
				for _, a := range x.axes {
					p := c.of(a.parts)
					from = append(from, min(a.n/a.parts, a.n/p)+2*x.halo)
					to = append(to, max((a.n-1)/a.parts, (a.n-1)/p)+1+2*x.halo)
				}
				break // the other parts are like it
			}
		}
		for _, n := range stay {
			for k := range from {
				if n >= from[k] && n < to[k] {
					return false
				}
			}
		}
	}
	return true
}

func (f *family) split(v *datamgr.View) *split {
	for _, s := range f.splits {
		if v != nil && s.view == v {
			return s
		}
	}
	return nil
}
