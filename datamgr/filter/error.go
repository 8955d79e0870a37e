package filter

import "fmt"

// Kind says what is wrong with the arguments of a filter.
type Kind uint8

// Reasons of an Error.
const (
	WrongKind    Kind = iota + 1 // the filter does not split data of this kind
	NoParts                      // the number of parts is not positive, or there is nothing to split
	TooManyParts                 // more parts than elements, or than MaxParts
	BadSize                      // a size below 1
	SumMismatch                  // the sizes do not add up to the length
	BadHalo                      // a negative halo, or one that leaves no inside
	BadAxis                      // an axis that the data does not have
	BadRange                     // a range outside the axis, or an empty one
)

// Error says why a filter cannot split some data. Its text is a full sentence
// without a full stop; the fields hold the numbers in it.
type Error struct {
	Kind   Kind
	Filter string // name of the filter in the language
	Arg    string // name of the argument at fault: "p", "q", "sizes", "halo", "k", "range"; "" for the data itself
	Got    int    // the value at fault: a number of parts, a size, a sum, a halo, an axis
	Want   int    // what it was held against: the number of elements, the smallest size, the rank
	Index  int    // place in sizes (BadSize), -1 elsewhere
	Unit   string // what is counted: "elements", "rows", "columns"

	text string
}

// Error returns the sentence.
func (e *Error) Error() string { return e.text }

func fail(k Kind, filter, arg, unit string, got, want int, format string, args ...any) *Error {
	return &Error{Kind: k, Filter: filter, Arg: arg, Got: got, Want: want, Index: -1, Unit: unit,
		text: fmt.Sprintf(format, args...)}
}

// count writes a number with its unit: "1 row", "4098 rows".
func count(n int, unit string) string {
	if n == 1 {
		unit = unit[:len(unit)-1]
	}
	return fmt.Sprintf("%d %s", n, unit)
}
