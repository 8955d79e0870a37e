package iface

import (
	"errors"
	"testing"
)

// TestRuns: runs have each element of a box once, at its place in the data.
func TestRuns(t *testing.T) {
	d := Desc{Kind: Block, Elem: I64, Rank: 3, Dim: [MaxRank]int{3, 4, 5}}
	boxes := 0
	for from := range 60 {
		for to := from; to < 60; to++ {
			lo, hi := []int{from / 20, from / 5 % 4, from % 5}, []int{to / 20, to / 5 % 4, to % 5}
			dims, elements := make([]int, 3), 1
			for k := range dims {
				dims[k] = hi[k] - lo[k] + 1
				elements *= max(0, dims[k])
			}
			if elements == 0 {
				continue
			}
			boxes++
			for _, joined := range []bool{false, true} {
				next, runs := 0, 0
				err := d.Runs(lo, dims, joined, func(first, n, at int) error {
					if at != next {
						t.Errorf("a run begins at %d, want %d", at, next)
					}
					next, runs = at+n, runs+1
					for i := range n {
						rest, want, stride := at+i, 0, 1
						for k := 2; k >= 0; k-- {
							want += (lo[k] + rest%dims[k]) * stride
							rest, stride = rest/dims[k], stride*d.Dim[k]
						}
						if first+i != want {
							t.Errorf("element %d is number %d of the data, want %d", at+i, first+i, want)
						}
					}
					return nil
				})
				if err != nil || next != elements || t.Failed() {
					t.Fatalf("%v to %v, joined %v: %v, and %d of %d elements", lo, hi, joined, err, next, elements)
				}
				if joined && elements == 60 && runs != 1 {
					t.Errorf("all elements are %d runs", runs)
				}
			}
		}
	}
	if want := 6 * 10 * 15; boxes != want { // ranges along each axis
		t.Errorf("%d boxes, want %d", boxes, want)
	}
	bad := errors.New("bad")
	if err := d.Runs([]int{0, 0, 0}, []int{2, 2, 2}, true, func(int, int, int) error { return bad }); err != bad {
		t.Errorf("the error is %v", err)
	}
	one := Desc{Kind: Variable, Elem: F64}
	calls := 0
	if err := one.Runs(nil, nil, false, func(first, n, at int) error { calls++; return nil }); err != nil || calls != 1 {
		t.Errorf("a variable: %d runs, %v", calls, err)
	}
}
