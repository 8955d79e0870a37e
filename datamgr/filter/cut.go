package filter

// How one axis is cut into intervals: p nearly equal ones or given sizes, with
// or without a halo. All other filters are made of this.

import "math"

// cut is a rule for one axis.
type cut struct {
	arg   string // name of the argument p: "p", or "q" for the columns of tiles
	p     int
	sizes []int // nil: p equal parts
	halo  int
	unit  string // what is counted along the axis
}

// span is a half-open interval.
type span struct{ lo, hi int }

// check reports what is wrong with the rule for an axis of n elements.
func (c *cut) check(name string, n int) *Error {
	if c.halo < 0 {
		return fail(BadHalo, name, "halo", c.unit, c.halo, 0, "`%s` needs a halo of 0 or more, and got %d", name, c.halo)
	}
	if c.halo > n/2 {
		return fail(BadHalo, name, "halo", c.unit, c.halo, n/2,
			"a halo of %d on both ends does not fit into %s", c.halo, count(n, c.unit))
	}
	in := n - 2*c.halo
	inside := count(in, c.unit)
	if c.halo > 0 {
		inside += " inside the halo"
	}
	if c.sizes == nil {
		switch {
		case c.p < 1:
			return fail(NoParts, name, c.arg, c.unit, c.p, 1, "`%s` needs 1 part or more, and got %d", name, c.p)
		case c.p > in:
			return fail(TooManyParts, name, c.arg, c.unit, c.p, in, "`%s` cannot make %s of %s", name, count(c.p, "parts"), inside)
		case c.p > MaxParts:
			return fail(TooManyParts, name, c.arg, c.unit, c.p, MaxParts, "`%s` makes at most %d parts, and got %d", name, MaxParts, c.p)
		}
		return nil
	}
	if len(c.sizes) == 0 {
		return fail(NoParts, name, "sizes", c.unit, 0, 1, "`%s` needs 1 part or more, and `sizes` is empty", name)
	}
	if len(c.sizes) > MaxParts {
		return fail(TooManyParts, name, "sizes", c.unit, len(c.sizes), MaxParts,
			"`%s` makes at most %d parts, and got %d sizes", name, MaxParts, len(c.sizes))
	}
	sum := 0
	for i, s := range c.sizes {
		if s < 1 {
			e := fail(BadSize, name, "sizes", c.unit, s, 1, "part %d of `%s` has size %d; each size is 1 or more", i, name, s)
			e.Index = i
			return e
		}
		if sum > math.MaxInt-s {
			sum = math.MaxInt
			break
		}
		sum += s
	}
	if sum != in {
		tail := ""
		if c.halo > 0 {
			tail = " inside the halo"
		}
		return fail(SumMismatch, name, "sizes", c.unit, sum, in, "the parts cover %d of %s%s", sum, count(in, c.unit), tail)
	}
	return nil
}

// parts cuts 0..n and returns the number of parts and what the i-th one is. With a
// halo of h the parts share out the n-2h elements inside, and each has h more on
// both sides.
func (c *cut) parts(name string, n int) (int, func(i int) span, *Error) {
	if e := c.check(name, n); e != nil {
		return 0, nil, e
	}
	more := 2 * c.halo
	if c.sizes != nil {
		from := make([]int, len(c.sizes))
		at := 0
		for i, s := range c.sizes {
			from[i] = at
			at += s
		}
		return len(from), func(i int) span { return span{from[i], from[i] + c.sizes[i] + more} }, nil
	}
	q, r := (n-more)/c.p, (n-more)%c.p
	return c.p, func(i int) span {
		lo := i*q + min(i, r)
		if i < r {
			return span{lo, lo + q + 1 + more}
		}
		return span{lo, lo + q + more}
	}, nil
}

// own keeps a list that the caller may change later; it is never nil.
func own(sizes []int) []int { return append(make([]int, 0, len(sizes)), sizes...) }
