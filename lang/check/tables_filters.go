package check

// The filters that may follow `by`.

import "github.com/starpush/starpush/lang/types"

// FilterEntry is one built-in filter.
type FilterEntry struct {
	Name   string
	Syntax string // "tiles(p, q, halo = 0)"
	Doc    string // one line
	On     []types.Kind
	Splits string // what it splits, for messages: "matrices"
	Dims   int    // indices of the parts
	Shape  string // what the parts form: "a grid of tiles"
	Args   []FilterArg
	Sizes  bool // sizes = […] may stand for p
	Drops  bool // parts have one rank less
}

// FilterArg is one argument of a filter.
type FilterArg struct {
	Name     string
	Type     *types.Type // TRange and TInt: see Syntax
	Optional bool
	Named    bool // by name only
	Min      int64
}

var haloArg = FilterArg{Name: "halo", Type: types.TInt, Optional: true, Named: true, Min: 0}

// FilterTable lists the built-in filters.
var FilterTable = []FilterEntry{
	{Name: "blocks", Syntax: "blocks(p)  blocks(sizes = [...])", Doc: "p pieces of a vector, the first ones one longer, or pieces of given sizes",
		On: []types.Kind{types.Vector}, Splits: "vectors", Dims: 1, Shape: "a row of blocks", Sizes: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, haloArg}},
	{Name: "halves", Syntax: "halves()", Doc: "the two halves of a vector: blocks(2)",
		On: []types.Kind{types.Vector}, Splits: "vectors", Dims: 1, Shape: "a pair of halves"},
	{Name: "rows", Syntax: "rows(p)  rows(sizes = [...])", Doc: "p slabs of rows of a matrix, or slabs of given sizes",
		On: []types.Kind{types.Matrix}, Splits: "matrices", Dims: 1, Shape: "a column of row slabs", Sizes: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, haloArg}},
	{Name: "cols", Syntax: "cols(p)  cols(sizes = [...])", Doc: "p strips of columns of a matrix, or strips of given sizes",
		On: []types.Kind{types.Matrix}, Splits: "matrices", Dims: 1, Shape: "a row of column strips", Sizes: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, haloArg}},
	{Name: "tiles", Syntax: "tiles(p, q)", Doc: "p rows of q tiles of a matrix, indexed [i, j]",
		On: []types.Kind{types.Matrix}, Splits: "matrices", Dims: 2, Shape: "a grid of tiles",
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, {Name: "q", Type: types.TInt, Min: 1}, haloArg}},
	{Name: "axis", Syntax: "axis(k, p)  axis(k, sizes = [...])", Doc: "p slabs of a block along its k-th index, or slabs of given sizes",
		On: []types.Kind{types.Block}, Splits: "blocks", Dims: 1, Shape: "a row of slabs", Sizes: true,
		Args: []FilterArg{{Name: "k", Type: types.TInt, Min: 0}, {Name: "p", Type: types.TInt, Min: 1}, haloArg}},
	{Name: "pick", Syntax: "pick(k)  pick(k, a..b)", Doc: "the slices at each index of axis k, one rank lower",
		On: []types.Kind{types.Vector, types.Matrix, types.Block}, Splits: "vectors, matrices and blocks", Dims: 1, Shape: "a row of slices", Drops: true,
		Args: []FilterArg{{Name: "k", Type: types.TInt, Min: 0}, {Name: "range", Type: types.TRange, Optional: true}}},
}

// absentFilters split kinds of data that this version has not.
var absentFilters = map[string]string{"entries": "bcsr matrices"}

func filterNamed(name string) *FilterEntry {
	for i := range FilterTable {
		if FilterTable[i].Name == name {
			return &FilterTable[i]
		}
	}
	return nil
}

func (f *FilterEntry) splits(k types.Kind) bool {
	for _, on := range f.On {
		if on == k {
			return true
		}
	}
	return false
}

// lower is the kind of slices, which have an index less.
var lower = map[types.Kind]types.Kind{types.Vector: types.Variable, types.Matrix: types.Vector, types.Block: types.Matrix}

// PartOf is the type of the parts that the filter makes of data of type t, nil when it
// does not split such data.
func (f *FilterEntry) PartOf(t *types.Type) *types.Type {
	switch {
	case !f.splits(t.Kind):
		return nil
	case f.Drops:
		return &types.Type{Kind: lower[t.Kind], Elem: t.Elem}
	}
	return t
}
