// Package filter is the geometry of partitioning: how an index space is cut
// into parts. It knows shapes and nothing else, neither memory nor tasks.
//
// Blocks and Halves split a vector, Rows and Cols a matrix; Axis cuts data of any rank
// along one axis, Tiles along all of them; Pick takes one index away. Numbers of parts come first, halo last. Parts are equal as far
// as the sizes allow: the first n mod p of p parts have one element more. With a halo
// of h the parent carries a border of h elements at both ends of each axis that is split,
// only what is inside is shared out, and each part has h elements more on both sides,
// so parts overlap by 2h. Inside leaves such a border out, and Within splits a box of the data. Functions that make filters accept any arguments: what does
// not fit the data is an [*Error] of Split, with the numbers at fault.
//
// A Filter is immutable and safe for concurrent use. Splitting the same
// description twice gives the same parts. A filter of one's own implements [Filter];
// [Split.Check] says whether what it makes is proper.
package filter

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// MaxParts is the largest number of parts that one split may have. A larger
// split is an error and not a machine without memory: a lazy vector may have
// more elements than there are bytes in the machine.
const MaxParts = 1 << 22

// A Filter splits an index space into parts.
type Filter interface {
	// Name is the name of the filter in the language, such as "blocks".
	Name() string
	// Split cuts data of the given description. It returns an *Error when
	// the arguments of the filter do not fit the data.
	Split(parent iface.Desc) (Split, error)
}

// lazy are the filters of this package: they say what each part is without a list
// of all, which would be a sixth of what declaring a view costs.
type lazy interface {
	lazy(parent iface.Desc) (dims []int, part func(i int, p *Part), err error)
}

// Lazy is f.Split with a function that describes part i in p, for a filter of this
// package; of others ok is false.
func Lazy(f Filter, parent iface.Desc) (dims []int, part func(i int, p *Part), ok bool, err error) {
	if w, ok := f.(*within); ok {
		if _, ok := w.f.(lazy); !ok {
			return nil, nil, false, nil
		}
	}
	if l, ok := f.(lazy); ok {
		dims, part, err = l.lazy(parent)
		return dims, part, true, err
	}
	return nil, nil, false, nil
}

// collect makes the list of all parts.
func collect(f lazy, parent iface.Desc) (Split, error) {
	dims, part, err := f.lazy(parent)
	if err != nil {
		return Split{}, err
	}
	n := 1
	for _, d := range dims {
		n *= d
	}
	s := Split{Dims: dims, Parts: make([]Part, n)}
	for i := range s.Parts {
		part(i, &s.Parts[i])
	}
	return s, nil
}

// Split is the outcome of a filter.
type Split struct {
	Dims  []int  // how parts are indexed: [p], or [p, q] for tiles
	Parts []Part // row-major over Dims
}

// Part is a box in the parent's indices, counted from the parent's element 0.
type Part struct {
	Lo, Hi [iface.MaxRank]int // first index and the index behind the last, for each axis of the parent
	Drop   int                // an axis of length 1 that the part does not have (pick); -1 for none
}

// Whole returns the part that is all of d.
func Whole(d iface.Desc) Part {
	p := Part{Drop: -1}
	copy(p.Hi[:], d.Dim[:d.Rank])
	return p
}

// whole makes p all of data with the sizes shape, but that it does not have the axis drop.
func (p *Part) whole(shape []int, drop int) {
	*p = Part{Drop: drop}
	copy(p.Hi[:], shape)
}

// Desc returns the description of part p of data described by parent: sizes,
// place in the root, and for a dropped axis the kind one rank lower.
func (p *Part) Desc(parent iface.Desc) iface.Desc {
	base, step := parent.Number()
	d := iface.Desc{Kind: parent.Kind, Elem: parent.Elem, Base: base}
	for k := range int(parent.Rank) {
		d.Base += p.Lo[k] * step[k]
		if k == p.Drop {
			continue
		}
		d.Dim[d.Rank] = p.Hi[k] - p.Lo[k]
		d.Off[d.Rank] = parent.Off[k] + p.Lo[k]
		d.Step[d.Rank] = step[k]
		d.Rank++
	}
	if p.Drop >= 0 {
		d.Kind = iface.KindOf(int(d.Rank))
	}
	return d
}

// Check reports whether s is a proper split of parent: as many parts as its
// dimensions say, each a box inside the parent, dropped axes of length 1. The
// filters of this package pass; it is for filters that come from elsewhere.
func (s *Split) Check(parent iface.Desc) error {
	n := 1
	for _, d := range s.Dims {
		if d < 1 || n > MaxParts/d {
			return fmt.Errorf("filter: dimensions %v are not those of 1 to %d parts", s.Dims, MaxParts)
		}
		n *= d
	}
	if len(s.Dims) == 0 || len(s.Parts) != n {
		return fmt.Errorf("filter: %d parts for dimensions %v", len(s.Parts), s.Dims)
	}
	drop := s.Parts[0].Drop
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Drop != drop || p.Drop < -1 || p.Drop >= int(parent.Rank) {
			return fmt.Errorf("filter: part %d drops axis %d of %v", i, p.Drop, &parent)
		}
		for k := range iface.MaxRank {
			size := 0
			if k < int(parent.Rank) {
				size = parent.Dim[k]
			}
			if p.Lo[k] < 0 || p.Hi[k] < p.Lo[k] || p.Hi[k] > size {
				return fmt.Errorf("filter: part %d covers %d..%d of axis %d, which has %d elements", i, p.Lo[k], p.Hi[k], k, size)
			}
			if k == p.Drop && p.Hi[k]-p.Lo[k] != 1 {
				return fmt.Errorf("filter: part %d drops axis %d of length %d", i, k, p.Hi[k]-p.Lo[k])
			}
		}
	}
	return nil
}

// Filters as text.

// Text writes filters that are applied in turn as scripts do, with these numbers of
// parts: "rows(4) then cols(2)". Halos, borders and sizes are left out, and pick has its own arguments.
func Text(fs []Filter, dims []int) string {
	var each []string
	for k, f := range fs {
		n := 1
		if k == len(fs)-1 {
			n = len(dims)
		} else if t, ok := unwrap(f).(*tiles); ok {
			n = len(t.cuts)
		}
		n = min(n, len(dims))
		name := f.Name()
		if name == "halves" && (n == 0 || dims[0] != 2) {
			name = "blocks"
		}
		args := strings.Trim(strings.ReplaceAll(fmt.Sprint(dims[:n]), " ", ", "), "[]")
		switch s := unwrap(f).(type) {
		case *slabs:
			switch name {
			case "axis":
				args = fmt.Sprintf("%d, %s", s.axis, args)
			case "halves":
				args = ""
			}
		case *pick:
			args = fmt.Sprint(s.axis)
			if !s.all {
				args = fmt.Sprintf("%d, %d..%d", s.axis, s.a, s.b)
			}
		}
		each = append(each, name+"("+args+")")
		dims = dims[n:]
	}
	return strings.Join(each, " then ")
}

// unwrap returns f without the slice that Within gave it.
func unwrap(f Filter) Filter {
	if w, ok := f.(*within); ok {
		return w.f
	}
	return f
}

// Errors of filters.

// Kind says what is wrong with the arguments of a filter.
type Kind uint8

// Reasons of an Error.
const (
	WrongKind    Kind = iota + 1 // the filter does not split data of this kind
	NoParts                      // the number of parts is not positive, or there is nothing to split
	TooManyParts                 // more parts than elements, or than MaxParts
	BadSize                      // a size below 1
	SumMismatch                  // the sizes do not add up to the length
	BadHalo                      // a negative halo or border, or one that leaves no inside
	BadAxis                      // an axis that the data does not have
	BadRange                     // a range outside the axis, or an empty one
)

// Error says why a filter cannot split some data. Its text is a full sentence
// without a full stop; the fields hold the numbers in it.
type Error struct {
	Kind   Kind
	Filter string // name of the filter in the language
	Arg    string // name of the argument at fault: "p", "q", "sizes", "halo", "inside", "k", "range", "slice"; "" for the data itself
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
