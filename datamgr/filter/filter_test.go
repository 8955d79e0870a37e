package filter

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starpush/starpush/datamgr/iface"
)

func vector(n int) iface.Desc {
	return iface.Desc{Kind: iface.Vector, Elem: iface.I64, Rank: 1, Dim: [iface.MaxRank]int{n}}
}

func matrix(rows, cols int) iface.Desc {
	return iface.Desc{Kind: iface.Matrix, Elem: iface.F64, Rank: 2, Dim: [iface.MaxRank]int{rows, cols}}
}

func block(nx, ny, nz int) iface.Desc {
	return iface.Desc{Kind: iface.Block, Elem: iface.F64, Rank: 3, Dim: [iface.MaxRank]int{nx, ny, nz}}
}

func split(t testing.TB, f Filter, d iface.Desc) Split {
	t.Helper()
	s, err := f.Split(d)
	if err != nil {
		t.Fatalf("%s of %v: %v", f.Name(), &d, err)
	}
	if err := s.Check(d); err != nil {
		t.Fatalf("%s of %v: %v", f.Name(), &d, err)
	}
	return s
}

// boxes writes the parts of a split: "0..3 3..6" for one axis, "0..3,0..2" for two.
func boxes(s Split, rank int) []string {
	var out []string
	for _, p := range s.Parts {
		text := ""
		for k := range rank {
			if k > 0 {
				text += ","
			}
			text += fmt.Sprintf("%d..%d", p.Lo[k], p.Hi[k])
		}
		out = append(out, text)
	}
	return out
}

// firstAndLast is a filter as programs write them.
type firstAndLast struct{}

func (firstAndLast) Name() string { return "ends" }

func (firstAndLast) Split(d iface.Desc) (Split, error) {
	n := d.Dim[0]
	return Split{Dims: []int{2}, Parts: []Part{
		{Hi: [iface.MaxRank]int{1}, Drop: -1},
		{Lo: [iface.MaxRank]int{n - 1}, Hi: [iface.MaxRank]int{n}, Drop: -1},
	}}, nil
}

func tensor(n0, n1, n2, n3 int) iface.Desc {
	return iface.Desc{Kind: iface.Tensor, Elem: iface.F64, Rank: 4, Dim: [iface.MaxRank]int{n0, n1, n2, n3}}
}

func TestParts(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Filter
		of   iface.Desc
		dims []int
		want []string
	}{
		{"uneven blocks", Blocks(4), vector(10), []int{4}, []string{"0..3", "3..6", "6..8", "8..10"}},
		{"sizes", BlockSizes([]int{1, 5, 2}), vector(8), []int{3}, []string{"0..1", "1..6", "6..8"}},
		{"halves of odd", Halves(), vector(5), []int{2}, []string{"0..3", "3..5"}},
		{"halo", BlocksHalo(3, 1), vector(9), []int{3}, []string{"0..5", "3..7", "5..9"}},
		{"halo and sizes", BlockSizesHalo([]int{2, 4}, 2), vector(10), []int{2}, []string{"0..6", "2..10"}},
		{"rows", Rows(2, 0), matrix(5, 3), []int{2}, []string{"0..3,0..3", "3..5,0..3"}},
		{"rows with halo", Rows(2, 1), matrix(6, 3), []int{2}, []string{"0..4,0..3", "2..6,0..3"}},
		{"row sizes", RowSizes([]int{1, 3}, 0), matrix(4, 2), []int{2}, []string{"0..1,0..2", "1..4,0..2"}},
		{"nonzeros", Nonzeros(0, 3, []int64{0, 4, 4, 5, 6, 12}), matrix(5, 9), []int{3}, []string{"0..1,0..9", "1..4,0..9", "4..5,0..9"}},
		{"nonzeros of columns", Nonzeros(1, 3, []int64{0, 4, 4, 5, 6, 12}), matrix(9, 5), []int{3}, []string{"0..9,0..1", "0..9,1..4", "0..9,4..5"}},
		{"nonzeros of few rows", Nonzeros(0, 3, []int64{0, 90, 90, 91}), matrix(3, 2), []int{3}, []string{"0..1,0..2", "1..2,0..2", "2..3,0..2"}},
		{"nonzeros of none", Nonzeros(0, 2, make([]int64, 5)), matrix(4, 1), []int{2}, []string{"0..1,0..1", "1..4,0..1"}},
		{"cols", Cols(2, 0), matrix(2, 5), []int{2}, []string{"0..2,0..3", "0..2,3..5"}},
		{"col sizes with halo", ColSizes([]int{1, 2}, 1), matrix(1, 5), []int{2}, []string{"0..1,0..3", "0..1,1..5"}},
		{"tiles", Tiles(2, 2, 0), matrix(3, 4), []int{2, 2}, []string{"0..2,0..2", "0..2,2..4", "2..3,0..2", "2..3,2..4"}},
		{"inside", Inside(1, Blocks(3)), vector(10), []int{3}, []string{"1..4", "4..7", "7..9"}},
		{"inside and sizes", Inside(2, BlockSizes([]int{1, 4})), vector(9), []int{2}, []string{"2..3", "3..7"}},
		{"inside and halo", Inside(3, BlocksHalo(2, 1)), vector(10), []int{2}, []string{"2..6", "4..8"}},
		{"tiles inside", Inside(1, Tiles(2, 1, 0)), matrix(5, 4), []int{2, 1}, []string{"1..3,1..3", "3..4,1..3"}},
		{"rows inside", Inside(1, Rows(2, 0)), matrix(4, 2), []int{2}, []string{"1..2,0..2", "2..3,0..2"}},
		{"planes inside", Inside(1, Axis(2, 1, 0)), block(1, 2, 4), []int{1}, []string{"0..1,0..2,1..3"}},
		{"blocks of a slice", Within([]int{2}, []int{9}, Blocks(3)), vector(10), []int{3}, []string{"2..5", "5..7", "7..9"}},
		{"tiles of a slice", Within([]int{1, 0}, []int{3, 4}, Tiles(2, 2, 0)), matrix(4, 5), []int{2, 2}, []string{"1..2,0..2", "1..2,2..4", "2..3,0..2", "2..3,2..4"}},
		{"halo in a slice", Within([]int{1}, []int{8}, BlocksHalo(2, 1)), vector(9), []int{2}, []string{"1..6", "4..8"}},
		{"pick from a slice", Within([]int{1, 1}, []int{3, 3}, Pick(0)), matrix(4, 4), []int{2}, []string{"1..2,1..3", "2..3,1..3"}},
		{"slice of a slice", Within([]int{1}, []int{8}, Within([]int{1}, []int{5}, Blocks(2))), vector(9), []int{2}, []string{"2..4", "4..6"}},
		{"a filter of others in a slice", Within([]int{3}, []int{7}, firstAndLast{}), vector(9), []int{2}, []string{"3..4", "6..7"}},
		{"tiles with halo", Tiles(2, 1, 1), matrix(4, 3), []int{2, 1}, []string{"0..3,0..3", "1..4,0..3"}},
		{"pick rows", Pick(0), matrix(2, 3), []int{2}, []string{"0..1,0..3", "1..2,0..3"}},
		{"pick columns", PickRange(1, 1, 3), matrix(2, 4), []int{2}, []string{"0..2,1..2", "0..2,2..3"}},
		{"planes", Axis(0, 2, 0), block(3, 2, 4), []int{2}, []string{"0..2,0..2,0..4", "2..3,0..2,0..4"}},
		{"middle axis with halo", Axis(1, 2, 1), block(2, 5, 3), []int{2}, []string{"0..2,0..4,0..3", "0..2,2..5,0..3"}},
		{"sizes along the last axis", AxisSizes(2, []int{1, 3}, 0), block(1, 2, 4), []int{2}, []string{"0..1,0..2,0..1", "0..1,0..2,1..4"}},
		{"axis of a vector", Axis(0, 2, 1), vector(6), []int{2}, []string{"0..4", "2..6"}},
		{"axis of a matrix", AxisSizes(1, []int{1, 2}, 0), matrix(2, 3), []int{2}, []string{"0..2,0..1", "0..2,1..3"}},
		{"tiles of a block", TilesN([]int{1, 2, 2}, 0), block(1, 3, 2), []int{1, 2, 2},
			[]string{"0..1,0..2,0..1", "0..1,0..2,1..2", "0..1,2..3,0..1", "0..1,2..3,1..2"}},
		{"tiles of a tensor", TilesN([]int{2, 1, 1, 2}, 1), tensor(4, 3, 3, 5), []int{2, 1, 1, 2},
			[]string{"0..3,0..3,0..3,0..4", "0..3,0..3,0..3,2..5", "1..4,0..3,0..3,0..4", "1..4,0..3,0..3,2..5"}},
		{"tiles inside a tensor", Inside(1, TilesN([]int{1, 1, 1, 2}, 0)), tensor(3, 3, 4, 5), []int{1, 1, 1, 2},
			[]string{"1..2,1..2,1..3,1..3", "1..2,1..2,1..3,3..4"}},
		{"last axis of a tensor", Axis(3, 2, 1), tensor(2, 1, 2, 6), []int{2}, []string{"0..2,0..1,0..2,0..4", "0..2,0..1,0..2,2..6"}},
		{"slice of a tensor", Within([]int{1, 0, 2, 1}, []int{3, 1, 3, 4}, Axis(0, 2, 0)), tensor(4, 2, 3, 4), []int{2},
			[]string{"1..2,0..1,2..3,1..4", "2..3,0..1,2..3,1..4"}},
		{"pick from a tensor", PickRange(2, 1, 3), tensor(1, 2, 3, 4), []int{2}, []string{"0..1,0..2,1..2,0..4", "0..1,0..2,2..3,0..4"}},
		{"pick planes", Pick(1), block(2, 2, 3), []int{2}, []string{"0..2,0..1,0..3", "0..2,1..2,0..3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := split(t, c.f, c.of)
			if d := cmp.Diff(c.dims, s.Dims); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.want, boxes(s, int(c.of.Rank))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestText: the text of filters has the numbers of parts, and the axes, that a script writes.
func TestText(t *testing.T) {
	for _, c := range []struct {
		by   []Filter
		dims []int
		want string
	}{
		{[]Filter{Blocks(4)}, []int{4}, "blocks(4)"},
		{[]Filter{Halves()}, []int{2}, "halves()"},
		{[]Filter{Tiles(2, 3, 1), Rows(2, 0)}, []int{2, 3, 4}, "tiles(2, 3) then rows(4)"},
		{[]Filter{Axis(1, 2, 0), Pick(0)}, []int{2, 8}, "axis(1, 2) then pick(0)"},
		{[]Filter{Pick(1)}, []int{5}, "pick(1)"},
		{[]Filter{TilesN([]int{1, 2, 3, 4}, 0), Pick(3)}, []int{1, 2, 3, 4, 5}, "tiles(1, 2, 3, 4) then pick(3)"},
		{[]Filter{Within([]int{0, 0}, []int{2, 3}, Tiles(1, 2, 0))}, []int{1, 2}, "tiles(1, 2)"},
		{[]Filter{Rows(2, 0), PickRange(1, 2, 4)}, []int{2, 2}, "rows(2) then pick(1, 2..4)"},
		{[]Filter{Within([]int{0, 0, 0}, []int{2, 3, 4}, Axis(1, 2, 0))}, []int{2}, "axis(1, 2)"},
	} {
		if got := Text(c.by, c.dims); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestPositions has the geometry of conformance case P35: three variables at
// places 5, 6, 7 of a vector of 21.
func TestPositions(t *testing.T) {
	s := split(t, PickRange(0, 5, 8), vector(21))
	for i := range s.Parts {
		d := s.Parts[i].Desc(vector(21))
		if d.Kind != iface.Variable || d.Rank != 0 || d.Len() != 1 || s.Parts[i].Lo[0] != 5+i {
			t.Errorf("part %d is a %v at %d", i, &d, s.Parts[i].Lo[0])
		}
	}
}

// TestTwoLevels has the geometry of conformance case P36: six rows and four
// columns, two strips of three slabs; every element lies in one leaf.
func TestTwoLevels(t *testing.T) {
	root := matrix(6, 4)
	var seen [6][4]int
	strips := split(t, Cols(2, 0), root)
	for i := range strips.Parts {
		strip := strips.Parts[i].Desc(root)
		leaves := split(t, Rows(3, 0), strip)
		if len(leaves.Parts) != 3 {
			t.Fatalf("%d leaves", len(leaves.Parts))
		}
		for j := range leaves.Parts {
			d := leaves.Parts[j].Desc(strip)
			if d.Dim[0] != 2 || d.Dim[1] != 2 {
				t.Errorf("leaf (%d,%d) is a %v", i, j, &d)
			}
			for r := range d.Dim[0] {
				for c := range d.Dim[1] {
					seen[d.Off[0]+r][d.Off[1]+c] += 10000*(i+1) + 1000*j
				}
			}
		}
	}
	for r := range seen {
		for c, got := range seen[r] {
			if want := 10000*(c/2+1) + 1000*(r/2); got != want {
				t.Errorf("element %d,%d: leaves add %d, want %d", r, c, got, want)
			}
		}
	}
}

func TestDesc(t *testing.T) {
	parent := matrix(10, 10)
	parent.Off = [iface.MaxRank]int{100, 200}
	s := split(t, PickRange(0, 3, 4), parent)
	d := s.Parts[0].Desc(parent)
	if d.Kind != iface.Vector || d.Dim[0] != 10 || d.Off[0] != 200 || d.Rank != 1 {
		t.Errorf("row 3 is %v at %v", &d, d.Off)
	}
	s = split(t, Tiles(2, 5, 0), parent)
	d = s.Parts[9].Desc(parent)
	if d.Dim != [iface.MaxRank]int{5, 2} || d.Off != [iface.MaxRank]int{105, 208} {
		t.Errorf("last tile is %v at %v", &d, d.Off)
	}
}

// TestNumber: through every chain of filters an element keeps its number in the
// root, also where an axis is dropped.
func TestNumber(t *testing.T) {
	root := matrix(6, 4)
	var number func(d iface.Desc, fs []Filter) []int
	number = func(d iface.Desc, fs []Filter) (out []int) {
		if len(fs) > 0 {
			s := split(t, fs[0], d)
			for i := range s.Parts {
				out = append(out, number(s.Parts[i].Desc(d), fs[1:])...)
			}
			return out
		}
		return numbers(d)
	}
	rowMajor := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}
	columns := []int{0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23}
	for _, c := range []struct {
		name string
		fs   []Filter
		want []int
	}{
		{"whole", nil, rowMajor},
		{"rows", []Filter{Rows(4, 0)}, rowMajor},
		{"picked rows", []Filter{Pick(0)}, rowMajor},
		{"slabs, then rows", []Filter{Rows(2, 0), Pick(0)}, rowMajor},
		{"elements", []Filter{Pick(0), Pick(0)}, rowMajor},
		{"picked columns", []Filter{Pick(1)}, columns},
		{"columns in blocks", []Filter{Pick(1), Blocks(2)}, columns},
		{"a tile's columns", []Filter{Tiles(2, 2, 0), PickRange(1, 1, 2)}, []int{1, 5, 9, 3, 7, 11, 13, 17, 21, 15, 19, 23}},
	} {
		if d := cmp.Diff(c.want, number(root, c.fs)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestErrors(t *testing.T) {
	void := iface.Desc{Kind: iface.Void}
	for _, c := range []struct {
		f         Filter
		of        iface.Desc
		kind      Kind
		arg       string
		got, want int
		text      string
	}{
		{Blocks(0), vector(10), NoParts, "p", 0, 1, "`blocks` needs 1 part or more, and got 0"},
		{Blocks(-3), vector(10), NoParts, "p", -3, 1, "`blocks` needs 1 part or more, and got -3"},
		{Blocks(11), vector(10), TooManyParts, "p", 11, 10, "`blocks` cannot make 11 parts of 10 elements"},
		{Blocks(1), vector(0), TooManyParts, "p", 1, 0, "`blocks` cannot make 1 part of 0 elements"},
		{Blocks(MaxParts + 1), vector(1 << 30), TooManyParts, "p", MaxParts + 1, MaxParts, "`blocks` makes at most 4194304 parts, and got 4194305"},
		{Halves(), vector(1), TooManyParts, "p", 2, 1, "`halves` cannot make 2 parts of 1 element"},
		{BlockSizes(nil), vector(10), NoParts, "sizes", 0, 1, "`blocks` needs 1 part or more, and `sizes` is empty"},
		{BlockSizes([]int{5, 0, 5}), vector(10), BadSize, "sizes", 0, 1, "part 1 of `blocks` has size 0; each size is 1 or more"},
		{BlockSizes([]int{5, 6}), vector(10), SumMismatch, "sizes", 11, 10, "the parts cover 11 of 10 elements"},
		{BlockSizes([]int{math.MaxInt, math.MaxInt}), vector(10), SumMismatch, "sizes", math.MaxInt, 10,
			"the parts cover 9223372036854775807 of 10 elements"},
		{RowSizes([]int{1, 4088, 5}, 0), matrix(4098, 3), SumMismatch, "sizes", 4094, 4098, "the parts cover 4094 of 4098 rows"},
		{ColSizes([]int{3}, 1), matrix(2, 3), SumMismatch, "sizes", 3, 1, "the parts cover 3 of 1 column inside the halo"},
		{BlocksHalo(2, -1), vector(10), BadHalo, "halo", -1, 0, "`blocks` needs a halo of 0 or more, and got -1"},
		{BlocksHalo(2, 6), vector(10), BadHalo, "halo", 6, 5, "a halo of 6 on both ends does not fit into 10 elements"},
		{BlocksHalo(2, math.MaxInt), vector(10), BadHalo, "halo", math.MaxInt, 5, "a halo of 9223372036854775807 on both ends does not fit into 10 elements"},
		{Rows(3, 4), matrix(10, 1), TooManyParts, "p", 3, 2, "`rows` cannot make 3 parts of 2 rows inside the halo"},
		{Tiles(2, 0, 0), matrix(4, 4), NoParts, "q", 0, 1, "`tiles` needs 1 part or more, and got 0"},
		{Tiles(2, 5, 0), matrix(4, 4), TooManyParts, "q", 5, 4, "`tiles` cannot make 5 parts of 4 columns"},
		{Tiles(1<<20, 1<<20, 0), matrix(1<<30, 1<<30), TooManyParts, "p", 1 << 20, 4, "`tiles` makes at most 4194304 parts, and got 1048576 x 1048576"},
		{Rows(2, 0), vector(10), WrongKind, "", int(iface.Vector), int(iface.Matrix), "`rows` splits matrices, and the data is a vector[i64] of 10"},
		{Blocks(2), matrix(2, 3), WrongKind, "", int(iface.Matrix), int(iface.Vector), "`blocks` splits vectors, and the data is a matrix[f64] 2 x 3"},
		{Blocks(2), void, WrongKind, "", int(iface.Void), int(iface.Vector), "`blocks` splits vectors, and the data is a void"},
		{Pick(0), void, WrongKind, "", int(iface.Void), 1, "`pick` needs data with an index, and the data is a void"},
		{Pick(1), vector(10), BadAxis, "k", 1, 0, "`pick` got axis 1, and a vector has axis 0 only"},
		{Pick(-1), vector(10), BadAxis, "k", -1, 0, "`pick` got axis -1, and a vector has axis 0 only"},
		{Axis(0, 2, 0), void, WrongKind, "", int(iface.Void), 1, "`axis` needs data with an index, and the data is a void"},
		{Axis(1, 4, 0), matrix(2, 3), TooManyParts, "p", 4, 3, "`axis` cannot make 4 parts of 3 columns"},
		{Axis(0, 4, 0), vector(3), TooManyParts, "p", 4, 3, "`axis` cannot make 4 parts of 3 elements"},
		{Axis(4, 1, 0), tensor(1, 1, 1, 1), BadAxis, "k", 4, 3, "`axis` got axis 4, and a tensor has axes 0 to 3"},
		{TilesN([]int{2}, 0), vector(4), WrongKind, "", int(iface.Vector), int(iface.Matrix), "`tiles` splits matrices and data of more indices, and the data is a vector[i64] of 4"},
		{TilesN([]int{1, 1, 1}, 0), matrix(4, 4), BadAxis, "", 3, 2, "`tiles` takes a number of parts for each axis, and got 3 for a matrix[f64] 4 x 4"},
		{TilesN(nil, 0), matrix(4, 4), BadAxis, "", 0, 2, "`tiles` takes a number of parts for each axis, and got 0 for a matrix[f64] 4 x 4"},
		{TilesN([]int{1, 2, 1, 4}, 0), tensor(1, 2, 1, 3), TooManyParts, "s", 4, 3, "`tiles` cannot make 4 parts of 3 planes"},
		{TilesN([]int{1 << 20, 1, 2, 4}, 0), tensor(1<<20, 1, 2, 4), TooManyParts, "p", 1 << 20, 1 << 19, "`tiles` makes at most 4194304 parts, and got 1048576 x 1 x 2 x 4"},
		{Axis(3, 2, 0), block(2, 3, 4), BadAxis, "k", 3, 2, "`axis` got axis 3, and a block has axes 0 to 2"},
		{AxisSizes(-1, []int{1}, 0), block(2, 3, 4), BadAxis, "k", -1, 2, "`axis` got axis -1, and a block has axes 0 to 2"},
		{Axis(2, 4, 1), block(2, 3, 4), TooManyParts, "p", 4, 2, "`axis` cannot make 4 parts of 2 planes inside the halo"},
		{Axis(1, 2, 2), block(2, 3, 4), BadHalo, "halo", 2, 1, "a halo of 2 on both ends does not fit into 3 planes"},
		{Pick(1), matrix(3, 0), NoParts, "k", 0, 1, "axis 1 of the matrix[f64] 3 x 0 has nothing to pick"},
		{PickRange(0, 5, 11), vector(10), BadRange, "range", 11, 10, "`pick` got the range 5..11, and axis 0 has 10 elements"},
		{PickRange(0, -1, 3), vector(10), BadRange, "range", -1, 10, "`pick` got the range -1..3, and axis 0 has 10 elements"},
		{PickRange(0, 4, 4), vector(10), BadRange, "range", 4, 4, "`pick` got the range 4..4, which is empty"},
		{PickRange(0, 6, math.MinInt), vector(10), BadRange, "range", math.MinInt, 6, "`pick` got the range 6..-9223372036854775808, which is empty"},
		{Inside(-1, Blocks(2)), vector(10), BadHalo, "inside", -1, 0, "`blocks` needs an `inside` of 0 or more, and got -1"},
		{Inside(6, Rows(1, 0)), matrix(10, 1), BadHalo, "inside", 6, 5, "a border of 6 at both ends does not fit into 10 rows"},
		{Inside(math.MaxInt, Rows(1, 0)), matrix(10, 1), BadHalo, "inside", math.MaxInt, 5, "a border of 9223372036854775807 at both ends does not fit into 10 rows"},
		{Inside(1, Tiles(1, 1, 2)), matrix(10, 10), BadHalo, "halo", 2, 1, "a halo of 2 does not fit into a border of 1"},
		{Inside(1, Blocks(9)), vector(10), TooManyParts, "p", 9, 8, "`blocks` cannot make 9 parts of 8 elements inside the border"},
		{Inside(1, BlockSizes([]int{5})), vector(6), SumMismatch, "sizes", 5, 4, "the parts cover 5 of 4 elements inside the border"},
		{Inside(1, Halves()), vector(6), BadHalo, "inside", 0, 0, "`halves` has no border; leave `inside` out"},
		{Inside(1, Pick(0)), vector(6), BadHalo, "inside", 0, 0, "`pick` has no border; leave `inside` out"},
		{Within([]int{1}, []int{3}, Rows(1, 0)), matrix(4, 4), BadRange, "slice", 1, 2, "a slice of 1 range, and the data is a matrix[f64] 4 x 4"},
		{Within([]int{2}, []int{11}, Blocks(2)), vector(10), BadRange, "slice", 11, 10, "the range 2..11 of the slice leaves axis 0, which has 10 elements"},
		{Within([]int{0, -1}, []int{2, 2}, Rows(1, 0)), matrix(4, 4), BadRange, "slice", -1, 4, "the range -1..2 of the slice leaves axis 1, which has 4 elements"},
		{Within([]int{4}, []int{4}, Blocks(1)), vector(10), BadRange, "slice", 4, 4, "the range 4..4 of the slice is empty"},
		{Within([]int{4}, []int{math.MinInt}, Blocks(1)), vector(10), BadRange, "slice", math.MinInt, 4, "the range 4..-9223372036854775808 of the slice is empty"},
		{Within([]int{2}, []int{5}, Blocks(4)), vector(10), TooManyParts, "p", 4, 3, "`blocks` cannot make 4 parts of 3 elements"},
		{Within([]int{2}, []int{5}, Rows(4, 0)), vector(10), WrongKind, "", int(iface.Vector), int(iface.Matrix), "`rows` splits matrices, and the data is a vector[i64] of 3"},
		{Pick(0), vector(MaxParts + 1), TooManyParts, "range", MaxParts + 1, MaxParts, "`pick` makes at most 4194304 parts, and got 4194305"},
	} {
		_, err := c.f.Split(c.of)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s of %v: %v, want an error with %q", c.f.Name(), &c.of, err, c.text)
			continue
		}
		if e.Error() != c.text {
			t.Errorf("%s of %v:\n got %s\nwant %s", c.f.Name(), &c.of, e, c.text)
		}
		if e.Kind != c.kind || e.Arg != c.arg || e.Got != c.got || e.Want != c.want || e.Filter != c.f.Name() {
			t.Errorf("%s: fields %d %q got %d want %d filter %q", e, e.Kind, e.Arg, e.Got, e.Want, e.Filter)
		}
		if (e.Index >= 0) != (e.Kind == BadSize) {
			t.Errorf("%s: index %d", e, e.Index)
		}
	}
}

// tooFar is a filter whose part leaves the data that it splits.
type tooFar struct{ firstAndLast }

func (tooFar) Split(d iface.Desc) (Split, error) {
	return Split{Dims: []int{1}, Parts: []Part{{Hi: [iface.MaxRank]int{d.Dim[0] + 1}, Drop: -1}}}, nil
}

// TestSliceHoldsParts: a part that leaves the slice is refused, also where the whole has
// room for it.
func TestSliceHoldsParts(t *testing.T) {
	if _, err := Within([]int{1}, []int{3}, tooFar{}).Split(vector(9)); err == nil {
		t.Error("a part outside the slice was accepted")
	}
}

// TestInsideIsPartnerOfHalo: a part inside a border is the part of that halo without it.
func TestInsideIsPartnerOfHalo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 3).Draw(t, "k")
		p, q := rapid.IntRange(1, 6).Draw(t, "p"), rapid.IntRange(1, 6).Draw(t, "q")
		d := matrix(2*k+p+rapid.IntRange(0, 9).Draw(t, "rows"), 2*k+q+rapid.IntRange(0, 9).Draw(t, "cols"))
		for _, c := range []struct {
			halo, inside Filter
			axes         []int
		}{
			{Tiles(p, q, k), Inside(k, Tiles(p, q, 0)), []int{0, 1}},
			{Rows(p, k), Inside(k, Rows(p, 0)), []int{0}},
			{Cols(q, k), Inside(k, Cols(q, 0)), []int{1}},
		} {
			near, err := c.halo.Split(d)
			if err != nil {
				t.Fatal(err)
			}
			own, err := c.inside.Split(d)
			if err != nil {
				t.Fatal(err)
			}
			for i := range near.Parts {
				for _, a := range c.axes {
					near.Parts[i].Lo[a] += k
					near.Parts[i].Hi[a] -= k
				}
			}
			if diff := cmp.Diff(near, own); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestSizesAreCopied: a filter does not change when its caller's list does.
func TestSizesAreCopied(t *testing.T) {
	sizes := []int{4, 6}
	f := BlockSizes(sizes)
	sizes[0] = 1
	if got := boxes(split(t, f, vector(10)), 1); got[0] != "0..4" {
		t.Errorf("first part %s", got[0])
	}
}

// numbers are the places of the elements of d in its root, row by row.
func numbers(d iface.Desc) []int {
	base, step := d.Number()
	out := []int{base}
	for k := range int(d.Rank) {
		var next []int
		for _, at := range out {
			for i := range d.Dim[k] {
				next = append(next, at+i*step[k])
			}
		}
		out = next
	}
	return out
}

func TestEqualParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		p := rapid.IntRange(1, n).Draw(t, "p")
		s, err := Blocks(p).Split(vector(n))
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range s.Parts {
			want := n / p
			if i < n%p {
				want++
			}
			if part.Hi[0]-part.Lo[0] != want {
				t.Fatalf("part %d of %d has %d elements, want %d", i, p, part.Hi[0]-part.Lo[0], want)
			}
		}
	})
}

// TestCheckRejects: a split from elsewhere is not believed.
func TestCheckRejects(t *testing.T) {
	box := func(lo, hi, drop int) Part {
		return Part{Lo: [iface.MaxRank]int{lo}, Hi: [iface.MaxRank]int{hi}, Drop: drop}
	}
	good := Split{Dims: []int{1}, Parts: []Part{box(0, 4, -1)}}
	if err := good.Check(vector(4)); err != nil {
		t.Error(err)
	}
	for name, s := range map[string]Split{
		"no dimensions":    {Parts: []Part{box(0, 1, -1)}},
		"zero parts":       {Dims: []int{0}},
		"too few parts":    {Dims: []int{2}, Parts: []Part{box(0, 1, -1)}},
		"huge dimensions":  {Dims: []int{math.MaxInt/2 + 1, math.MaxInt/2 + 1}, Parts: []Part{box(0, 1, -1)}},
		"behind the end":   {Dims: []int{1}, Parts: []Part{box(0, 5, -1)}},
		"before the start": {Dims: []int{1}, Parts: []Part{box(-1, 2, -1)}},
		"reversed":         {Dims: []int{1}, Parts: []Part{box(3, 2, -1)}},
		"other axis":       {Dims: []int{1}, Parts: []Part{{Hi: [iface.MaxRank]int{1, 1}, Drop: -1}}},
		"no such axis":     {Dims: []int{1}, Parts: []Part{box(0, 1, 1)}},
		"dropped and long": {Dims: []int{1}, Parts: []Part{box(0, 2, 0)}},
		"mixed ranks":      {Dims: []int{2}, Parts: []Part{box(0, 1, 0), box(1, 2, -1)}},
	} {
		if err := s.Check(vector(4)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
