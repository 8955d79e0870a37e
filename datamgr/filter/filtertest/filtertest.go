// Package filtertest tests filters: that parts cover what they should, overlap by their halos only, and can be
// split again.
package filtertest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// Promise is what a filter promises of the parts of some data. All makes the usual one.
type Promise struct {
	Dims   []int              // how parts are indexed
	Lo, Hi [iface.MaxRank]int // the box whose elements are each in one part, when halos are left out
	Halo   [iface.MaxRank]int // what each part has more at both ends of each axis
	Drop   int                // the axis that parts do not have; -1 for none
	// Whole is set if the filter knows something of each element of the whole data, so that it splits no slice of
	// other data.
	Whole bool
}

// All promises parts, indexed by dims, that share out all elements of d.
func All(d iface.Desc, dims ...int) Promise {
	w := filter.Whole(d)
	return Promise{Dims: dims, Lo: w.Lo, Hi: w.Hi, Drop: -1}
}

// Border returns p with a border of n elements at both ends of an axis that belongs to no part, except as a
// halo. Each part has halo elements more at both ends.
func (p Promise) Border(axis, n, halo int) Promise {
	p.Lo[axis] += n
	p.Hi[axis] -= n
	p.Halo[axis] = halo
	return p
}

// Test splits d by f, and reports what is not as p says. It also splits the parts again, and makes the same parts
// of d as a slice of larger data.
func Test(t testing.TB, f filter.Filter, d iface.Desc, p Promise) {
	t.Helper()
	if err := check(f, d, p); err != nil {
		t.Errorf("%s of %v: %v", f.Name(), &d, err)
	}
}

// TestRefused reports an error of the test if f splits d, which it should refuse.
func TestRefused(t testing.TB, f filter.Filter, d iface.Desc) {
	t.Helper()
	if s, err := f.Split(d); err == nil {
		t.Errorf("%s of %v makes parts %+v, and should be an error", f.Name(), &d, s)
	}
}

func check(f filter.Filter, d iface.Desc, p Promise) error {
	if f.Name() == "" {
		return fmt.Errorf("it has no name")
	}
	s, err := f.Split(d)
	if err != nil {
		return err
	}
	if err := s.Check(d); err != nil {
		return err
	}
	if !reflect.DeepEqual(s.Dims, p.Dims) {
		return fmt.Errorf("parts are indexed by %v, want %v", s.Dims, p.Dims)
	}
	if again, err := f.Split(d); err != nil || !reflect.DeepEqual(s, again) {
		return fmt.Errorf("split twice: %+v, then %+v, %v", s, again, err)
	}
	if err := checkLazy(f, d, s); err != nil {
		return err
	}
	if err := checkCover(d, s, p); err != nil {
		return err
	}
	for i := range s.Parts {
		if err := checkAgain(d, &s.Parts[i]); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	if p.Whole || d.Len() == 0 {
		return nil
	}
	return checkSlice(f, d, s)
}

// checkLazy compares the parts that filter.Lazy describes with those of s.
func checkLazy(f filter.Filter, d iface.Desc, s filter.Split) error {
	dims, part, ok, err := filter.Lazy(f, d)
	if !ok {
		return nil // a filter from elsewhere
	}
	if err != nil || !reflect.DeepEqual(dims, s.Dims) {
		return fmt.Errorf("filter.Lazy has the dimensions %v and the error %v, want %v", dims, err, s.Dims)
	}
	for i := range s.Parts {
		var p filter.Part
		if part(i, &p); p != s.Parts[i] {
			return fmt.Errorf("filter.Lazy has part %d as %+v, want %+v", i, p, s.Parts[i])
		}
	}
	return nil
}

// checkCover counts in how many parts each element is, without halos.
func checkCover(d iface.Desc, s filter.Split, p Promise) error {
	count := map[[iface.MaxRank]int]int{}
	for i, part := range s.Parts {
		if part.Drop != p.Drop {
			return fmt.Errorf("part %d drops axis %d, want %d", i, part.Drop, p.Drop)
		}
		for axis, h := range p.Halo {
			part.Lo[axis] += h
			part.Hi[axis] -= h
		}
		eachIndex(part.Lo, part.Hi, int(d.Rank), func(at [iface.MaxRank]int) { count[at]++ })
	}
	var err error
	eachIndex([iface.MaxRank]int{}, d.Dim, int(d.Rank), func(at [iface.MaxRank]int) {
		want := 1
		for axis := range int(d.Rank) {
			if at[axis] < p.Lo[axis] || at[axis] >= p.Hi[axis] {
				want = 0
			}
		}
		if n := count[at]; n != want && err == nil {
			err = fmt.Errorf("element %v is in %d parts, want %d", at[:d.Rank], n, want)
		}
	})
	return err
}

// checkAgain splits a part of d by other filters, whose parts must be the elements of the part.
func checkAgain(d iface.Desc, part *filter.Part) error {
	of := part.Desc(d)
	want := map[int]bool{}
	for _, n := range numbers(of) {
		want[n] = true
	}
	for axis, size := range of.Dim[:of.Rank] {
		if of.Len() == 0 {
			break
		}
		for _, f := range []filter.Filter{filter.Pick(axis), filter.Axis(axis, min(2, size), 0)} {
			s, err := f.Split(of)
			if err != nil {
				return err
			}
			seen := map[int]bool{}
			for i := range s.Parts {
				for _, n := range numbers(s.Parts[i].Desc(of)) {
					if seen[n] || !want[n] {
						return fmt.Errorf("split by %s(%d), element %d of the whole is in two parts, or in none before", f.Name(), axis, n)
					}
					seen[n] = true
				}
			}
			if len(seen) != len(want) {
				return fmt.Errorf("split by %s(%d), %d of %d elements are left", f.Name(), axis, len(seen), len(want))
			}
		}
	}
	return nil
}

// checkSlice splits d as a slice of data that has more elements on all sides.
func checkSlice(f filter.Filter, d iface.Desc, s filter.Split) error {
	large := iface.Desc{Kind: d.Kind, Elem: d.Elem, Rank: d.Rank}
	lo, hi := make([]int, d.Rank), make([]int, d.Rank)
	for axis := range lo {
		lo[axis], hi[axis] = 1+axis, 1+axis+d.Dim[axis]
		large.Dim[axis] = hi[axis] + 2
	}
	got, err := filter.Within(lo, hi, f).Split(large)
	if err != nil {
		return fmt.Errorf("as a slice: %w", err)
	}
	if err := got.Check(large); err != nil {
		return fmt.Errorf("as a slice: %w", err)
	}
	for i := range s.Parts {
		want := s.Parts[i]
		for axis := range lo {
			want.Lo[axis] += lo[axis]
			want.Hi[axis] += lo[axis]
		}
		if got.Parts[i] != want {
			return fmt.Errorf("as a slice, part %d is %+v, want %+v", i, got.Parts[i], want)
		}
	}
	return nil
}

// numbers are the places of the elements of d in its root.
func numbers(d iface.Desc) (out []int) {
	base, step := d.Number()
	eachIndex([iface.MaxRank]int{}, d.Dim, int(d.Rank), func(at [iface.MaxRank]int) {
		n := base
		for axis := range int(d.Rank) {
			n += at[axis] * step[axis]
		}
		out = append(out, n)
	})
	return out
}

// eachIndex calls fn for each index from lo to hi.
func eachIndex(lo, hi [iface.MaxRank]int, rank int, fn func(at [iface.MaxRank]int)) {
	var walk func(axis int, at [iface.MaxRank]int)
	walk = func(axis int, at [iface.MaxRank]int) {
		if axis == rank {
			fn(at)
			return
		}
		for at[axis] = lo[axis]; at[axis] < hi[axis]; at[axis]++ {
			walk(axis+1, at)
		}
	}
	walk(0, [iface.MaxRank]int{})
}
