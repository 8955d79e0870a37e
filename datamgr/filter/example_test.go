package filter_test

import (
	"errors"
	"fmt"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func vector(n int) iface.Desc {
	return iface.Desc{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [iface.MaxRank]int{n}}
}

// Parts with a halo overlap; what lies inside of them does not.
func ExampleBlocksHalo() {
	split, err := filter.BlocksHalo(3, 1).Split(vector(11))
	if err != nil {
		panic(err)
	}
	for _, p := range split.Parts {
		fmt.Println(p.Lo[0], "to", p.Hi[0])
	}
	// Output:
	// 0 to 5
	// 3 to 8
	// 6 to 11
}

// Tiles have two indices, the last one fastest.
func ExampleTiles() {
	A := iface.Desc{Kind: iface.Matrix, Elem: iface.F32, Rank: 2, Dim: [iface.MaxRank]int{4, 5}}
	split, err := filter.Tiles(2, 2, 0).Split(A)
	if err != nil {
		panic(err)
	}
	fmt.Println(split.Dims)
	for i := range split.Parts {
		d := split.Parts[i].Desc(A)
		fmt.Println(d.String(), "at", d.Off[:2])
	}
	// Output:
	// [2 2]
	// matrix[f32] 2 x 3 at [0 0]
	// matrix[f32] 2 x 2 at [0 3]
	// matrix[f32] 2 x 3 at [2 0]
	// matrix[f32] 2 x 2 at [2 3]
}

// An error holds the numbers that are in its text.
func ExampleError() {
	_, err := filter.Blocks(9).Split(vector(8))
	fmt.Println(err)
	var e *filter.Error
	if errors.As(err, &e) {
		fmt.Println(e.Kind == filter.TooManyParts, e.Got, e.Want)
	}
	// Output:
	// `blocks` cannot make 9 parts of 8 elements
	// true 9 8
}

// ends is a filter of one's own: the first and the last k elements.
type ends struct{ k int }

func (f ends) Name() string { return "ends" }

func (f ends) Split(parent iface.Desc) (filter.Split, error) {
	if n := parent.Dim[0]; parent.Kind != iface.Vector || f.k < 1 || f.k > n {
		return filter.Split{}, fmt.Errorf("`ends` takes 1 to %d elements, not %d", n, f.k)
	}
	first, last := filter.Whole(parent), filter.Whole(parent)
	first.Hi[0] = f.k
	last.Lo[0] = parent.Dim[0] - f.k
	return filter.Split{Dims: []int{2}, Parts: []filter.Part{first, last}}, nil
}

// A filter of one's own, of the type ends. Split.Check says whether it keeps to the
// rules.
func ExampleFilter() {
	x := vector(10)
	split, err := ends{3}.Split(x)
	fmt.Println(split.Check(x), err)
	for _, p := range split.Parts {
		fmt.Println(p.Lo[0], "to", p.Hi[0])
	}
	// Output:
	// <nil> <nil>
	// 0 to 3
	// 7 to 10
}
