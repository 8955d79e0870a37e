package check

// Predeclared names: types, builtin functions and values. The tables serve the checker,
// completion and documentation.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// Fields lists the fields of values of type t, with their types; nil: it has none.
func Fields(t *types.Type) []Field {
	switch t.Kind {
	case types.Array:
		switch {
		case t.Of == nil:
			return nil
		case t.Of.Kind == types.Elem: // of a body
			return vectorFields[:1]
		}
		return Fields(t.Of)
	case types.Vector:
		return vectorFields
	case types.Matrix:
		return matrixFields
	case types.Block:
		return blockFields
	case types.Tensor:
		return tensorFields[t.Data().Rank()-4]
	case types.CSR, types.CSC, types.COO, types.BCSR:
		return sparseFields(t)
	case types.Structs:
		out := slices.Clone(vectorFields[:2])
		for _, a := range t.Fields().Arrays {
			out = append(out, Field{a.Name, t.Member(a.Name), a.Doc})
		}
		return out
	case types.View:
		return []Field{
			{"count", types.TInt, "number of parts"},
			{"parts", types.ListOf(t.Of), "all parts, the last index fastest"},
		}
	}
	return nil
}

// Field is one field of a type.
type Field struct {
	Name string
	Type *types.Type
	Doc  string
}

var (
	vectorFields = []Field{
		{"n", types.TInt, "number of elements"},
		{"offset", types.TInt, "place of element 0 in the root vector"},
		{"capacity", types.TInt, "number of elements that there is room for"},
	}
	matrixFields = []Field{
		{"rows", types.TInt, "number of rows"},
		{"cols", types.TInt, "number of columns"},
		{"ld", types.TInt, "distance between rows in memory, in elements"},
		{"row0", types.TInt, "place of row 0 in the root matrix"},
		{"col0", types.TInt, "place of column 0 in the root matrix"},
		{"capacity", types.TInt, "number of rows that there is room for"},
	}
	blockFields = []Field{
		{"nx", types.TInt, "size along the first index"},
		{"ny", types.TInt, "size along the second index"},
		{"nz", types.TInt, "size along the third index"},
		{"x0", types.TInt, "place of x = 0 in the root block"},
		{"y0", types.TInt, "place of y = 0 in the root block"},
		{"z0", types.TInt, "place of z = 0 in the root block"},
	}
)

// ordinals name the indices of tensors.
var ordinals = [iface.MaxRank]string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"}

// tensorFields are the fields of tensors, by the number of indices less four.
var tensorFields = func() (all [iface.MaxRank - 3][]Field) {
	for k := range all {
		for axis := range k + 4 {
			all[k] = append(all[k], Field{fmt.Sprintf("n%d", axis), types.TInt, "size along the " + ordinals[axis] + " index"})
		}
		for axis := range k + 4 {
			all[k] = append(all[k], Field{fmt.Sprintf("offset%d", axis), types.TInt, "place along the " + ordinals[axis] + " index of element 0 in the root tensor"})
		}
	}
	return all
}()

// sizeFields lists the sizes of x, a tensor of type t, with a word before the last.
func sizeFields(x string, t *types.Type, word string) string {
	sizes := t.Data().Sizes()
	for k, name := range sizes {
		sizes[k] = "`" + x + "." + name + "`"
	}
	last := len(sizes) - 1
	return strings.Join(sizes[:last], ", ") + " " + word + " " + sizes[last]
}

// sparseFields lists the fields of a sparse matrix: its sizes, and its arrays, which are data.
func sparseFields(t *types.Type) []Field {
	f := t.Sparse()
	out := []Field{
		{"rows", types.TInt, "number of rows"},
		{"cols", types.TInt, "number of columns"},
	}
	if f.Blocks {
		out = append(out, Field{"nnz", types.TInt, "number of values, of all blocks"},
			Field{"r", types.TInt, "number of rows of a block"}, Field{"c", types.TInt, "number of columns of a block"})
	} else {
		out = append(out, Field{"nnz", types.TInt, "number of entries"})
	}
	switch f.Axis {
	case 0:
		out = append(out, Field{"row0", types.TInt, "place of row 0 in the root matrix"})
	case 1:
		out = append(out, Field{"col0", types.TInt, "place of column 0 in the root matrix"})
	}
	for _, a := range f.Arrays {
		out = append(out, Field{a.Name, t.Member(a.Name), a.Doc})
	}
	return out
}

// BuiltinValues lists the predeclared values.
var BuiltinValues = []struct {
	vocab.Entry
	Type *types.Type
}{
	{vocab.Entry{Name: "pi", Syntax: "pi", Doc: "3.141592653589793"}, types.TFloat},
	{vocab.Entry{Name: "inf", Syntax: "inf", Doc: "positive infinity"}, types.TFloat},
	{vocab.Entry{Name: "ram", Syntax: "ram", Doc: "main memory"}, types.TNode},
	{vocab.Entry{Name: "cpu", Syntax: "cpu", Doc: "the kind of CPU workers"}, types.TDevice},
	{vocab.Entry{Name: "cuda", Syntax: "cuda", Doc: "the kind of CUDA devices"}, types.TDevice},
	{vocab.Entry{Name: "opencl", Syntax: "opencl", Doc: "the kind of OpenCL devices"}, types.TDevice},
	{vocab.Entry{Name: "sum", Syntax: "reduce = sum", Doc: "REDUX copies start at 0 and are added"}, types.TReducer},
	{vocab.Entry{Name: "prod", Syntax: "reduce = prod", Doc: "REDUX copies start at 1 and are multiplied"}, types.TReducer},
	{vocab.Entry{Name: "min", Syntax: "reduce = min", Doc: "the smallest contribution"}, types.TReducer},
	{vocab.Entry{Name: "max", Syntax: "reduce = max", Doc: "the largest contribution"}, types.TReducer},
}

// mathArity has the builtin functions from numbers to float, with the number of arguments.
var mathArity = map[string]int{
	"sqrt": 1, "cbrt": 1, "exp": 1, "log": 1, "log2": 1, "pow": 2, "sin": 1, "cos": 1, "tan": 1,
	"tanh": 1, "erf": 1, "floor": 1, "ceil": 1, "round": 1, "fma": 3,
}

// impure builtins do something besides giving a value: not allowed in constants.
var impure = map[string]bool{
	"print": true, "save": true, "value": true, "gate": true, "open": true, "busy": true,
}

// The predeclared objects. They are shared by all programs and never change.
var (
	builtinFuncs  = builtinFuncObjects()
	builtinValues = builtinValueObjects()
)

func builtinFuncObjects() map[string]*types.Object {
	m := make(map[string]*types.Object, len(vocab.Builtins))
	for _, b := range vocab.Builtins {
		m[b.Name] = &types.Object{Name: b.Name, Kind: types.BuiltinFunc, Type: types.TNone, Doc: b.Syntax + ": " + b.Doc}
	}
	return m
}

func builtinValueObjects() map[string]*types.Object {
	m := make(map[string]*types.Object, len(BuiltinValues))
	for _, v := range BuiltinValues {
		m[v.Name] = &types.Object{Name: v.Name, Kind: types.BuiltinValue, Type: v.Type, Doc: v.Doc}
	}
	return m
}

// FieldEntries lists the fields of all kinds of data.
func FieldEntries() []vocab.Entry {
	var out []vocab.Entry
	for _, t := range []*types.Type{{Kind: types.Vector}, {Kind: types.Matrix}, {Kind: types.Block}, types.TensorOf(iface.MaxRank, iface.NoElem), {Kind: types.CSR}, {Kind: types.CSC}, {Kind: types.COO}, {Kind: types.BCSR}, types.ViewOf(types.TInvalid)} {
		for _, f := range Fields(t) {
			kind, _, _ := strings.Cut(t.String(), "[")
			out = append(out, vocab.Entry{Name: f.Name, Syntax: "x." + f.Name, Doc: "of a " + kind + ": " + f.Doc})
		}
	}
	return out
}

// The filters that may follow `by`.

// FilterEntry is one built-in filter.
type FilterEntry struct {
	Name   string
	Syntax string // "tiles(p, q, halo = 0)"
	Doc    string // one line
	On     []types.Kind
	Splits string // what it splits, for messages: "matrices"
	Dims   int    // indices of the parts; see All
	Shape  string // what the parts form: "a grid of tiles"
	Args   []FilterArg
	Sizes  bool // sizes = […] may stand for p
	Drops  bool // parts have one rank less
	All    bool // it cuts along all axes: it takes a count for each, and its parts have as many indices
}

// FilterArg is one argument of a filter.
type FilterArg struct {
	Name     string
	Type     *types.Type // TRange and TInt: see Syntax
	Optional bool
	Named    bool // by name only
	Min      int64
	Axis     int // of a filter with All: the axis that it counts parts along
}

var haloArg = FilterArg{Name: "halo", Type: types.TInt, Optional: true, Named: true, Min: 0}

var insideArg = FilterArg{Name: "inside", Type: types.TInt, Optional: true, Named: true, Min: 0}

// indexed are the kinds of data with an index.
var indexed = []types.Kind{types.Vector, types.Matrix, types.Block, types.Tensor}

// FilterTable lists the built-in filters.
var FilterTable = []FilterEntry{
	{Name: "blocks", Syntax: "blocks(p)  blocks(sizes = [...])", Doc: "p pieces of a vector, the first ones one longer, or pieces of given sizes",
		On: []types.Kind{types.Vector, types.Structs}, Splits: "vectors", Dims: 1, Shape: "a row of blocks", Sizes: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, haloArg, insideArg}},
	{Name: "halves", Syntax: "halves()", Doc: "the two halves of a vector: blocks(2)",
		On: []types.Kind{types.Vector, types.Structs}, Splits: "vectors", Dims: 1, Shape: "a pair of halves"},
	{Name: "rows", Syntax: "rows(p)  rows(sizes = [...])", Doc: "p slabs of rows of a matrix, or slabs of given sizes",
		On: []types.Kind{types.Matrix, types.CSR, types.BCSR}, Splits: "matrices", Dims: 1, Shape: "a column of row slabs", Sizes: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, haloArg, insideArg}},
	{Name: "nonzeros", Syntax: "nonzeros(p)", Doc: "p slabs of rows of a sparse matrix, or of columns of a csc, with about equal numbers of entries",
		On: []types.Kind{types.CSR, types.CSC, types.BCSR}, Splits: "csr, csc and bcsr matrices", Dims: 1, Shape: "a row of slabs",
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}}},
	{Name: "cols", Syntax: "cols(p)  cols(sizes = [...])", Doc: "p strips of columns of a matrix, or strips of given sizes",
		On: []types.Kind{types.Matrix, types.CSC}, Splits: "matrices", Dims: 1, Shape: "a row of column strips", Sizes: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, haloArg, insideArg}},
	{Name: "entries", Syntax: "entries(p)  entries(sizes = [...])", Doc: "p pieces of a coo with about equal numbers of entries, or with given numbers",
		On: []types.Kind{types.COO}, Splits: "coo matrices", Dims: 1, Shape: "a row of pieces", Sizes: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}}},
	{Name: "tiles", Syntax: "tiles(p, q)  tiles(p, q, r)  tiles(p, q, r, s)",
		Doc: "p rows of q tiles of a matrix, indexed [i, j]; of a block or tensor, a count for each index",
		On:  []types.Kind{types.Matrix, types.Block, types.Tensor}, Splits: "matrices, blocks and tensors", Dims: 2, Shape: "a grid of tiles", All: true,
		Args: []FilterArg{{Name: "p", Type: types.TInt, Min: 1}, {Name: "q", Type: types.TInt, Min: 1, Axis: 1},
			{Name: "r", Type: types.TInt, Min: 1, Axis: 2, Optional: true}, {Name: "s", Type: types.TInt, Min: 1, Axis: 3, Optional: true},
			{Name: "t", Type: types.TInt, Min: 1, Axis: 4, Optional: true}, {Name: "u", Type: types.TInt, Min: 1, Axis: 5, Optional: true},
			{Name: "v", Type: types.TInt, Min: 1, Axis: 6, Optional: true}, {Name: "w", Type: types.TInt, Min: 1, Axis: 7, Optional: true}, haloArg, insideArg}},
	{Name: "axis", Syntax: "axis(k, p)  axis(k, sizes = [...])", Doc: "p slabs along the k-th index of any data, or slabs of given sizes",
		On: indexed, Splits: "vectors, matrices, blocks and tensors", Dims: 1, Shape: "a row of slabs", Sizes: true,
		Args: []FilterArg{{Name: "k", Type: types.TInt, Min: 0}, {Name: "p", Type: types.TInt, Min: 1}, haloArg, insideArg}},
	{Name: "pick", Syntax: "pick(k)  pick(k, a..b)", Doc: "the slices at each index of axis k, one rank lower",
		On: indexed, Splits: "vectors, matrices, blocks and tensors", Dims: 1, Shape: "a row of slices", Drops: true,
		Args: []FilterArg{{Name: "k", Type: types.TInt, Min: 0}, {Name: "range", Type: types.TRange, Optional: true}}},
}

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

// forms are the ways to write the filter for data of type t.
func (f *FilterEntry) forms(t *types.Type) []string {
	if n := t.Data().Rank(); f.All && n >= 2 {
		var names []string
		for _, a := range f.Args[:n] {
			names = append(names, a.Name)
		}
		return []string{f.Name + "(" + strings.Join(names, ", ") + ")"}
	}
	return strings.Split(f.Syntax, "  ")
}

// dims is the number of indices of the parts that the call makes.
func (f *FilterEntry) dims(call *syntax.FilterCall) int {
	if !f.All {
		return f.Dims
	}
	n := 0
	for i, a := range call.Args {
		name := ""
		if a.Name != nil {
			name = a.Name.Name
		}
		for k, arg := range f.Args {
			if !arg.Named && (arg.Name == name || a.Name == nil && k == i) {
				n++
			}
		}
	}
	return n
}

// PartOf is the type of the parts that the filter makes of data of type t, nil when it
// does not split such data.
func (f *FilterEntry) PartOf(t *types.Type) *types.Type {
	switch {
	case !f.splits(t.Kind):
		return nil
	case f.Drops:
		return t.Lower()
	}
	return t
}
