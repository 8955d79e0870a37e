package cuda

// Copies as the driver can carry them out: a row, rows with a pitch, or slices of
// such rows.

import (
	"cmp"
	"math"
	"slices"

	"github.com/starpush/starpush/accel"
)

// axis repeats what is inside it.
type axis struct{ count, dst, src int64 } // number, and bytes from one to the next

// rows is a copy between two addresses that are known elsewhere: rows of bytes,
// repeated along axes, the innermost first.
type rows struct {
	bytes int64
	n     int // axes in use
	axes  [accel.MaxCounts]axis
}

// makeRows describes c with as few axes as possible and the longest rows.
func makeRows(c *accel.Copy) rows {
	r := rows{bytes: c.Bytes}
	for a, n := range c.Count {
		if n != 1 {
			r.axes[r.n] = axis{n, c.DstStep[a], c.SrcStep[a]}
			r.n++
		}
	}
	used := r.axes[:r.n]
	slices.SortFunc(used, func(a, b axis) int {
		return cmp.Or(cmp.Compare(abs(a.dst), abs(b.dst)), cmp.Compare(abs(a.src), abs(b.src)))
	})
	r.n = 0
	for _, a := range used {
		switch {
		case r.n == 0 && a.dst == r.bytes && a.src == r.bytes:
			r.bytes *= a.count // rows that touch
			continue
		case r.n > 0:
			if in := &r.axes[r.n-1]; a.dst == in.dst*in.count && a.src == in.src*in.count {
				in.count *= a.count
				continue
			}
		}
		r.axes[r.n] = a
		r.n++
	}
	return r
}

func abs(n int64) int64 { return max(n, -n) }

// total is the number of bytes.
func (r *rows) total() int64 {
	n := r.bytes
	for _, a := range r.axes[:r.n] {
		n *= a.count
	}
	return n
}

// box is what the driver copies at once: height rows with pitches, depth times
// with slices between them.
type box struct {
	width, height, depth int64
	dstPitch, srcPitch   int64
	dstSlice, srcSlice   int64 // rows from one slice to the next
	dst, src             int64 // where it begins
}

// boxes calls fn for boxes that together are r, until it fails.
func (r *rows) boxes(maxPitch int64, fn func(b *box) error) error {
	b := box{width: r.bytes, height: 1, depth: 1}
	pitched := func(step int64) bool { return step >= r.bytes && step <= maxPitch }
	used := 0
	if r.n > 0 && pitched(r.axes[0].dst) && pitched(r.axes[0].src) {
		in := r.axes[0]
		b.height, b.dstPitch, b.srcPitch = in.count, in.dst, in.src
		used = 1
		if r.n > 1 {
			out := r.axes[1]
			if b.dstSlice, b.srcSlice = sliceRows(out.dst, in.dst, in.count), sliceRows(out.src, in.src, in.count); b.dstSlice > 0 && b.srcSlice > 0 {
				b.depth, used = out.count, 2
			}
		}
	}
	return repeat(r.axes[used:r.n], &b, fn)
}

// sliceRows is the number of rows in step, 0 when slices of n rows do not fit or
// step is not a multiple.
func sliceRows(step, pitch, n int64) int64 {
	if step <= 0 || step%pitch != 0 || step/pitch < n || step/pitch > math.MaxInt32 {
		return 0
	}
	return step / pitch
}

func repeat(axes []axis, b *box, fn func(b *box) error) error {
	if len(axes) == 0 {
		return fn(b)
	}
	a := axes[len(axes)-1]
	dst, src := b.dst, b.src
	for i := range a.count {
		b.dst, b.src = dst+i*a.dst, src+i*a.src
		if err := repeat(axes[:len(axes)-1], b, fn); err != nil {
			return err
		}
	}
	b.dst, b.src = dst, src
	return nil
}

// pieces calls fn for parts of r of at most limit bytes, each with where it
// begins, until fn fails.
func (r *rows) pieces(limit int64, fn func(p *rows, dst, src int64) error) error {
	return r.piecesAt(limit, 0, 0, fn)
}

func (r *rows) piecesAt(limit, dst, src int64, fn func(p *rows, dst, src int64) error) error {
	if r.total() <= limit {
		return fn(r, dst, src)
	}
	if r.n == 0 {
		for at := int64(0); at < r.bytes; at += limit {
			p := rows{bytes: min(limit, r.bytes-at)}
			if err := fn(&p, dst+at, src+at); err != nil {
				return err
			}
		}
		return nil
	}
	// part of the outermost axis at a time
	a, inside := r.axes[r.n-1], *r
	inside.n--
	each := max(1, limit/inside.total())
	for i := int64(0); i < a.count; i += each {
		p := *r
		if p.axes[p.n-1].count = min(each, a.count-i); p.axes[p.n-1].count == 1 {
			p.n--
		}
		if err := p.piecesAt(limit, dst+i*a.dst, src+i*a.src, fn); err != nil {
			return err
		}
	}
	return nil
}

// packed returns r with one side replaced by the same rows side by side.
func (r *rows) packed(dst bool) rows {
	p, step := *r, r.bytes
	for i := range p.axes[:p.n] {
		if dst {
			p.axes[i].dst = step
		} else {
			p.axes[i].src = step
		}
		step *= p.axes[i].count
	}
	return p
}

// extent is the first and the end of the bytes that one side touches.
func (r *rows) extent(dst bool) (first, end int64) {
	end = r.bytes
	for _, a := range r.axes[:r.n] {
		step := a.src
		if dst {
			step = a.dst
		}
		if step < 0 {
			first += step * (a.count - 1)
		} else {
			end += step * (a.count - 1)
		}
	}
	return first, end
}
