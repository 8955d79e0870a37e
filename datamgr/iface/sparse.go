package iface

// Formats of sparse matrices: the arrays that each has, and what their elements must be.

import (
	"fmt"
	"math"
	"slices"
)

// SparseFormat is a format of sparse matrices: the arrays that hold one. An entry is a value, or a
// dense block of values.
type SparseFormat struct {
	Name   string        // in the language: "csr"
	Of     string        // how the entries lie: "compressed rows"
	Arrays []SparseArray // in order; the last has the values, the others are the structure
	// Axis is 0 if the entries are ordered by rows and ptr has where each begins, 1 if by columns, and -1
	// if entries are in any order and there is no ptr.
	Axis int
	// Fields is set if this is no matrix but the fields of structs, an array each: all of them have values, one for
	// each of Rows structs.
	Fields bool
	// Blocks is set if entries are blocks of R x C values, and ptr, row and col count blocks.
	Blocks bool
}

// SparseArray is an array of a format.
type SparseArray struct {
	Name string
	Kind Kind
	Elem Elem // NoElem: that of the matrix
	Doc  string
}

// SparseFormats lists the formats.
var SparseFormats = []*SparseFormat{
	{Name: "csr", Of: "compressed rows", Axis: 0, Arrays: []SparseArray{
		{"ptr", Vector, I64, "where each row begins in col and val, and the end of the last"},
		{"col", Vector, I32, "the column of each entry, row by row"},
		{"val", Vector, NoElem, "the value of each entry, row by row"}}},
	{Name: "csc", Of: "compressed columns", Axis: 1, Arrays: []SparseArray{
		{"ptr", Vector, I64, "where each column begins in row and val, and the end of the last"},
		{"row", Vector, I32, "the row of each entry, column by column"},
		{"val", Vector, NoElem, "the value of each entry, column by column"}}},
	{Name: "coo", Of: "coordinates", Axis: -1, Arrays: []SparseArray{
		{"row", Vector, I32, "the row of each entry"},
		{"col", Vector, I32, "the column of each entry"},
		{"val", Vector, NoElem, "the value of each entry"}}},
	{Name: "bcsr", Of: "compressed rows of blocks", Axis: 0, Blocks: true, Arrays: []SparseArray{
		{"ptr", Vector, I64, "where each row of blocks begins in col and val, and the end of the last"},
		{"col", Vector, I32, "the column of each block, counted in blocks, row by row"},
		{"val", Block, NoElem, "the values: block k has the elements [k, i, j]"}}},
}

// Sparse returns the format with a name, or nil.
func Sparse(name string) *SparseFormat {
	for _, f := range SparseFormats {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Array returns the place of an array in f.Arrays, and -1 if f has none of that name.
func (f *SparseFormat) Array(name string) int {
	return slices.IndexFunc(f.Arrays, func(a SparseArray) bool { return a.Name == name })
}

// Values returns the place in f.Arrays of the values.
func (f *SparseFormat) Values() int { return len(f.Arrays) - 1 }

// Line returns what ptr has an offset for: "row", "column", or "" without ptr.
func (f *SparseFormat) Line() string {
	if f.Axis < 0 {
		return ""
	}
	return [...]string{"row", "column"}[f.Axis]
}

// Range returns the name of the range of the entries of a line in bodies: "row", "col" or "".
func (f *SparseFormat) Range() string {
	if f.Axis < 0 {
		return ""
	}
	return [...]string{"row", "col"}[f.Axis]
}

// Sizes returns what the language calls the sizes of a matrix.
func (f *SparseFormat) Sizes() []string {
	if f.Fields {
		return Vector.Sizes()
	}
	if f.Blocks {
		return []string{"rows", "cols", "r", "c"}
	}
	return Matrix.Sizes()
}

// Scalars returns the sizes that tasks get beside the arrays, because they do not follow from those.
func (f *SparseFormat) Scalars() []string {
	if f.Fields {
		return nil
	}
	switch f.Axis {
	case 0:
		return []string{"cols"}
	case 1:
		return []string{"rows"}
	}
	return []string{"rows", "cols"}
}

// MaxSparse is the largest number of rows or columns of a sparse matrix, MaxSparseBlock that of a block.
const (
	MaxSparse      = math.MaxInt32
	MaxSparseBlock = 1024
)

// SparseStructure is the structure of a sparse matrix: its sizes, and where its entries are. Lines are
// its rows, columns or rows of blocks.
type SparseStructure struct {
	Format     *SparseFormat
	Rows, Cols int     // in elements
	R, C       int     // of a block; 1 without blocks
	Ptr        []int64 // where each line begins, from 0, and the end of the last; nil: the format has none
	Row, Col   []int32 // of the entries; nil: the format has none
}

// SparseError is a mistake in the structure of a sparse matrix.
type SparseError struct {
	Array   string // at fault, or a size; "" if it is the whole
	Message string
	Help    string
}

// Error returns the message and the help.
func (e *SparseError) Error() string {
	if e.Help == "" {
		return e.Message
	}
	return e.Message + "; " + e.Help
}

// Lines returns the number of lines.
func (s *SparseStructure) Lines() int {
	switch s.Format.Axis {
	case 0:
		return s.Rows / max(s.R, 1)
	case 1:
		return s.Cols
	}
	return 0
}

// Entries returns the number of entries, which may be blocks.
func (s *SparseStructure) Entries() int { return max(len(s.Row), len(s.Col)) }

// Dims returns the sizes of the array of values.
func (s *SparseStructure) Dims() []int {
	if s.Format.Blocks {
		return []int{s.Entries(), s.R, s.C}
	}
	return []int{s.Entries()}
}

// CheckSizes returns an error about the sizes.
func (s *SparseStructure) CheckSizes() *SparseError {
	for _, p := range []struct {
		name string
		n    int
	}{{"rows", s.Rows}, {"cols", s.Cols}} {
		if p.n < 0 || p.n > MaxSparse {
			return &SparseError{p.name, fmt.Sprintf("a %s has from 0 to %d rows and columns, and this is %d", s.Format.Name, MaxSparse, p.n), ""}
		}
	}
	if !s.Format.Blocks {
		return nil
	}
	for _, p := range []struct {
		name, of string
		n, all   int
	}{{"r", "rows", s.R, s.Rows}, {"c", "cols", s.C, s.Cols}} {
		if p.n < 1 || p.n > MaxSparseBlock {
			return &SparseError{p.name, fmt.Sprintf("a block has from 1 to %d rows and columns, and `%s` is %d", MaxSparseBlock, p.name, p.n), ""}
		}
		if p.all%p.n != 0 {
			return &SparseError{p.of, fmt.Sprintf("`%s` is %d, which is no multiple of `%s`, %d", p.of, p.all, p.name, p.n),
				fmt.Sprintf("write %d, with zeros in the last blocks, or blocks of another size", (p.all+p.n-1)/p.n*p.n)}
		}
	}
	return nil
}

// Check returns an error about the first mistake in s. ended is asked now and then; if it reports true,
// the check ends.
func (s *SparseStructure) Check(ended func() bool) *SparseError {
	if e := s.CheckSizes(); e != nil {
		return e
	}
	f := s.Format
	if f.Axis < 0 {
		if len(s.Row) != len(s.Col) {
			return &SparseError{"col", fmt.Sprintf("`row` has %s, and `col` %s", items(len(s.Row)), items(len(s.Col))), "each entry has a row and a column"}
		}
		if e := s.inside("row", s.Row, s.Rows, "rows", ended); e != nil {
			return e
		}
		return s.inside("col", s.Col, s.Cols, "columns", ended)
	}
	lines, line := s.Lines(), f.Line()
	if f.Blocks {
		line += " of blocks"
	}
	help := fmt.Sprintf("`ptr` has where each %s begins, from 0 on, and behind them the number of entries", line)
	if len(s.Ptr) != lines+1 {
		return &SparseError{"ptr", fmt.Sprintf("`ptr` has %s, and a %s with %s needs %d", items(len(s.Ptr)), f.Name, counted(lines, line), lines+1), help}
	}
	for i, p := range s.Ptr {
		switch {
		case i == 0 && p != 0:
			return &SparseError{"ptr", fmt.Sprintf("`ptr` begins with %d, and the first %s begins at 0", p, line), help}
		case i > 0 && p < s.Ptr[i-1]:
			return &SparseError{"ptr", fmt.Sprintf("`ptr` goes down from %d to %d at %s %d", s.Ptr[i-1], p, line, i-1), help}
		case i&0xffff == 0xffff && ended():
			return nil
		}
	}
	other, index, bound, noun := "col", s.Col, s.Cols, "column"
	if f.Axis == 1 {
		other, index, bound, noun = "row", s.Row, s.Rows, "row"
	}
	if f.Blocks {
		bound /= s.C
	}
	help = fmt.Sprintf("`%s` has the %ss of the entries, %s by %s, each %s by ascending %ss", other, noun, f.Line(), f.Line(), f.Line(), noun)
	if int64(len(index)) != s.Ptr[lines] {
		return &SparseError{other, fmt.Sprintf("`%s` has %s, and `ptr` ends with %d", other, items(len(index)), s.Ptr[lines]), help}
	}
	kind := noun + "s"
	if f.Blocks {
		kind += " of blocks"
	}
	if e := s.inside(other, index, bound, kind, ended); e != nil {
		e.Help = help
		return e
	}
	for i := range lines {
		for k := s.Ptr[i] + 1; k < s.Ptr[i+1]; k++ {
			if index[k] <= index[k-1] {
				return &SparseError{other, fmt.Sprintf("%s %d has %s %d behind %s %d", f.Line(), i, noun, index[k], noun, index[k-1]), help}
			}
		}
		if i&0xffff == 0xffff && ended() {
			return nil
		}
	}
	return nil
}

// inside returns an error unless all elements of index are from 0 to bound - 1.
func (s *SparseStructure) inside(name string, index []int32, bound int, noun string, ended func() bool) *SparseError {
	for k, j := range index {
		if j < 0 || int(j) >= bound {
			has := fmt.Sprintf("%d %s: 0 to %d", bound, noun, bound-1)
			if bound == 0 {
				has = "no " + noun
			}
			return &SparseError{name, fmt.Sprintf("item %d of `%s` is %d, and the %s has %s", k, name, j, s.Format.Name, has), "indices count from 0"}
		}
		if k&0xffff == 0xffff && ended() {
			return nil
		}
	}
	return nil
}

func items(n int) string { return counted(n, "item") }

// counted writes a number with a noun: "3 rows of blocks".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	for i := range noun {
		if noun[i] == ' ' {
			return fmt.Sprintf("%d %ss%s", n, noun[:i], noun[i:])
		}
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
