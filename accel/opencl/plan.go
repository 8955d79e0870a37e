package opencl

// From a copy to the rectangles that OpenCL knows.

import (
	"cmp"
	"slices"

	"github.com/starpush/starpush/accel"
)

// rect is a copy of size[1] x size[2] rows of size[0] bytes. Offsets are from the
// addresses of the copy; a row is followed by the next after row bytes.
type rect struct {
	dst, src side
	size     [3]int64
}

type side struct{ offset, row, slice int64 }

// flat reports whether the rectangle is one row.
func (r *rect) flat() bool { return r.size[1] == 1 && r.size[2] == 1 }

// axis is a count of a copy with its steps.
type axis struct{ n, dst, src int64 }

// extent returns the first byte that one side of a copy touches, from its
// address, and the number of bytes from there to the last.
func extent(c *accel.Copy, step *[accel.MaxCounts]int64) (first, bytes int64) {
	last := c.Bytes
	for i, n := range c.Count {
		if d := (n - 1) * step[i]; d < 0 {
			first += d
		} else {
			last += d
		}
	}
	return first, last - first
}

// plan calls do for each rectangle of c. rows: each row by itself.
func plan(c *accel.Copy, rows bool, do func(*rect) error) error {
	if c.Total() == 0 {
		return nil
	}
	r := rect{size: [3]int64{c.Bytes, 1, 1}}
	var buf [accel.MaxCounts]axis
	axes := buf[:0]
	for i, n := range c.Count {
		if n == 1 {
			continue
		}
		a := axis{n, c.DstStep[i], c.SrcStep[i]}
		if a.dst < 0 { // begin at the other end
			r.dst.offset += (n - 1) * a.dst
			r.src.offset += (n - 1) * a.src
			a.dst, a.src = -a.dst, -a.src
		}
		axes = append(axes, a)
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(a.dst, b.dst) })
	axes = merge(&r, axes)
	if !rows {
		axes = r.take(axes)
	}
	return r.each(axes, do)
}

// merge puts rows and axes together between which neither side has a gap.
func merge(r *rect, axes []axis) []axis {
	for len(axes) > 0 && axes[0].dst == r.size[0] && axes[0].src == r.size[0] {
		r.size[0] *= axes[0].n
		axes = axes[1:]
	}
	for i := 0; i+1 < len(axes); {
		a, b := &axes[i], axes[i+1]
		if b.dst == a.n*a.dst && b.src == a.n*a.src {
			a.n *= b.n
			axes = slices.Delete(axes, i+1, i+2)
			continue
		}
		i++
	}
	return axes
}

// take makes up to two axes those of the rectangle, and returns the others.
func (r *rect) take(axes []axis) []axis {
	i := slices.IndexFunc(axes, func(a axis) bool { return a.dst >= r.size[0] && a.src >= r.size[0] })
	if i < 0 {
		return axes
	}
	row := axes[i]
	r.size[1], r.dst.row, r.src.row = row.n, row.dst, row.src
	axes = slices.Delete(axes, i, i+1)
	// A slice has to be a number of rows, and no fewer than the rectangle has.
	whole := func(step, row, n int64) bool { return step >= n*row && step%row == 0 }
	i = slices.IndexFunc(axes, func(a axis) bool { return whole(a.dst, row.dst, row.n) && whole(a.src, row.src, row.n) })
	if i < 0 {
		return axes
	}
	r.size[2], r.dst.slice, r.src.slice = axes[i].n, axes[i].dst, axes[i].src
	return slices.Delete(axes, i, i+1)
}

// each calls do for r at every place that the axes lead to.
func (r rect) each(axes []axis, do func(*rect) error) error {
	if len(axes) == 0 {
		return do(&r)
	}
	a := axes[len(axes)-1]
	for range a.n {
		if err := r.each(axes[:len(axes)-1], do); err != nil {
			return err
		}
		r.dst.offset += a.dst
		r.src.offset += a.src
	}
	return nil
}
