package datamgr

// Views: sets of parts made by filters, and how they end.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// View is a set of parts of a handle, made by filters. Its exported fields
// never change. Declaring one moves nothing, and the handle, its other views
// and all their parts stay usable.
type View struct {
	Handle  *Handle         // what was partitioned
	Dims    []int           // sizes of the index: flat over all filters, in order
	Parts   []*Handle       // row-major over Dims
	Filters []filter.Filter // as given to Partition
	ended   atomic.Bool
}

// Part returns the part at idx, which has one index for each of v.Dims; false
// when there is no such part.
func (v *View) Part(idx ...int) (*Handle, bool) {
	if len(idx) != len(v.Dims) {
		return nil, false
	}
	k := 0
	for a, i := range idx {
		if i < 0 || i >= v.Dims[a] {
			return nil, false
		}
		k = k*v.Dims[a] + i
	}
	return v.Parts[k], true
}

// Ended reports whether the view has ended: its parts are dead.
func (v *View) Ended() bool { return v.ended.Load() }

// ErrDead is returned by Partition for a handle that is not alive.
var ErrDead = errors.New("datamgr: the handle is not alive")

// piece is a part while filters are applied.
type piece struct {
	desc iface.Desc
	box  Box
	axes axisList
}

// ViewOptions are uncommon properties of a view. The zero value is a plain view.
type ViewOptions struct {
	Site *Site // where it is declared, for messages; may be nil
	// Context ends the declaration early, with its cause: views that cross cut data into
	// as many pieces as the product of their parts, which takes time. nil never ends.
	Context context.Context
	// Room is called with the bytes of memory that the view is about to take, several
	// times as they get known: partBytes for each part, and what pieces of the data
	// need beyond one for each part. An error of it is that of the declaration. nil: there is room.
	Room func(bytes int64) error
	// Grid deals the parts over a grid of ranks, where several run the program together (package engine/cluster): one number of ranks for
	// each index of the view, all positive. With {p, q}, part (i, j) is owned by rank (i mod p) * q + j mod q, modulo the number of ranks; with
	// {p}, part i by rank i mod p. nil: the owner of Handle has the parts, and if the program gave that none, the ranks deal them.
	Grid []int
}

// MaxGrid is the largest number of places in ViewOptions.Grid.
const MaxGrid = math.MaxInt32

// GridError says that a grid of ranks does not suit a view.
type GridError struct {
	Grid []int
	Dims []int // numbers of parts along the indices of the view
}

// Error says what is wrong with the grid.
func (e *GridError) Error() string {
	if len(e.Grid) != len(e.Dims) {
		return fmt.Sprintf("datamgr: a grid with %d numbers of ranks, and the view has %d indices: give one number for each", len(e.Grid), len(e.Dims))
	}
	for _, n := range e.Grid {
		if n < 1 {
			return fmt.Sprintf("datamgr: a grid with %d ranks along an index: there must be one at least", n)
		}
	}
	return fmt.Sprintf("datamgr: a grid of %s ranks, and there can be %d in all", sizes(e.Grid), MaxGrid)
}

// checkGrid checks the grid of ranks of a view with dims parts.
func checkGrid(grid, dims []int) error {
	n := 1
	for _, g := range grid {
		if g < 1 || n > MaxGrid/g {
			return &GridError{slices.Clone(grid), slices.Clone(dims)}
		}
		n *= g
	}
	if grid != nil && len(grid) != len(dims) {
		return &GridError{slices.Clone(grid), slices.Clone(dims)}
	}
	return nil
}

// dealt returns the rank of part k of a view with dims parts in a grid.
func dealt(k int, dims, grid []int) int {
	rank, row := 0, 1
	for a := len(dims) - 1; a >= 0; a-- {
		rank += k % dims[a] % grid[a] * row
		k /= dims[a]
		row *= grid[a]
	}
	return rank
}

// partBytes is the memory of a part of a view, with one piece of the data, that the
// options of a view are asked about.
const partBytes = 512

// fragmentBytes and mentionBytes estimate the memory of a fragment and of a mention of
// one in a list, with their share of the tree.
const fragmentBytes, mentionBytes = 256, 8

// growth is what a view takes while it is declared.
type growth struct {
	ViewOptions
	parts     int   // each has room for a fragment and a mention of it
	fragments int   // that were made, also those that were cut again
	mentions  int   // in lists
	asked     int64 // bytes that there is room for
}

// ended returns the cause of the context, if it has ended.
func (g *growth) ended() error {
	if g.Context == nil || g.Context.Err() == nil {
		return nil
	}
	return context.Cause(g.Context)
}

// take asks for the parts, and for fragments and mentions more, before they are made.
func (g *growth) take(parts, fragments, mentions int) error {
	g.parts, g.fragments, g.mentions = parts, g.fragments+fragments, g.mentions+mentions
	need := partBytes*int64(parts) + fragmentBytes*int64(max(0, g.fragments-parts)) + mentionBytes*int64(max(0, g.mentions-parts))
	if g.Room == nil || need <= g.asked {
		return nil
	}
	more := need - g.asked
	g.asked = need
	return g.Room(more)
}

// make asks for fragments and mentions of fragments beside the parts.
func (g *growth) make(fragments, mentions int) error { return g.take(g.parts, fragments, mentions) }

// Partition declares the view of h that applying the filters in turn gives:
// each to every part of the one before. Errors are those of the filters, usually
// *filter.Error, of the options, and ErrDead.
func (g *Registry) Partition(h *Handle, o ViewOptions, fs ...filter.Filter) (*View, error) {
	return g.partition(h, o, false, fs)
}

// PartitionHeld is Partition for a caller with an access to h that was registered before
// h ended for later callers: it works although h has ended since.
func (g *Registry) PartitionHeld(h *Handle, fs ...filter.Filter) (*View, error) {
	return g.partition(h, ViewOptions{}, true, fs)
}

func (g *Registry) partition(h *Handle, o ViewOptions, held bool, fs []filter.Filter) (*View, error) {
	if len(fs) == 0 {
		return nil, errors.New("datamgr: a partition needs a filter")
	}
	if h.kind == iface.Arrays {
		return nil, errors.New("datamgr: several arrays have no parts in common that a filter could make; register the parts one by one")
	}
	if h.kind == iface.Object {
		return nil, fmt.Errorf("datamgr: values of type %v have no parts that a filter could make; register the parts one by one", h.d.object.Type)
	}
	if h.d.formats != nil {
		return nil, errors.New("datamgr: data with a layout of its own on devices has no parts that a filter could make; register the parts one by one, each with its layouts")
	}
	grow := growth{ViewOptions: o}
	pieces := []piece{{desc: h.Desc(), box: h.space(), axes: h.axes}}
	var dims []int
	var last []func(int, *filter.Part) // of each piece: the parts of the view
	per := 0                           // parts of a piece
	for l, f := range fs {
		var next []piece
		var inner []int
		for i := range pieces {
			shape, part, err := split(f, &pieces[i].desc)
			if err != nil {
				return nil, err
			}
			switch {
			case i == 0:
				inner = slices.Clone(shape)
			case !slices.Equal(inner, shape):
				return nil, fmt.Errorf("datamgr: filter %s splits parts of one view into different numbers of parts: %v and %v", f.Name(), inner, shape)
			}
			if i == 0 {
				per = 1
				for _, n := range shape {
					per *= n
				}
				if len(pieces)*per > filter.MaxParts {
					return nil, fmt.Errorf("datamgr: a view of %d parts; it can have %d", len(pieces)*per, filter.MaxParts)
				}
				if err := grow.take(len(pieces)*per, 0, 0); err != nil {
					return nil, err
				}
			}
			if l == len(fs)-1 {
				last = append(last, part)
				continue
			}
			if next == nil {
				next = make([]piece, 0, len(pieces)*per)
			}
			for k := range per {
				var p filter.Part
				part(k, &p)
				next = append(next, pieces[i].part(&p))
			}
			if err := grow.ended(); err != nil {
				return nil, err
			}
		}
		dims = append(dims, inner...)
		if l < len(fs)-1 {
			pieces = next
		}
	}
	if err := checkGrid(o.Grid, dims); err != nil {
		return nil, err
	}
	n := len(pieces) * per
	v := &View{Handle: h, Dims: dims, Parts: make([]*Handle, n), Filters: slices.Clone(fs)}
	parts := make([]Handle, n)
	for i := range pieces {
		pieces[i].declare(h.d, parts[i*per:(i+1)*per], last[i])
	}
	sub := g.Lock()
	defer sub.Unlock()
	if !held && !h.Alive() {
		return nil, ErrDead
	}
	d := h.d
	base := g.ids
	g.ids += int64(n)
	h.tidy(sub)
	through := managed(h).WriteThrough()
	for m := range parts {
		p := &parts[m]
		p.d, p.elem, p.parent, p.reduce, p.site = d, h.elem, h, h.reduce.inherited(p.kind), o.Site
		p.id = base + 1 + int64(m)
		p.flags, p.readOnly, p.owner = h.flags, h.readOnly, h.owner
		if o.Grid != nil {
			p.owner = 1 + dealt(m, dims, o.Grid)
		}
		managed(p).SetWriteThrough(through)
		p.place()
		v.Parts[m] = p
	}
	if err := d.cutAll(sub, h, parts, &grow); err != nil {
		return nil, err // cuts that were made stay: nothing but the tree knows
	}
	d.live += n
	x := h.more()
	x.views = append(x.views, v)
	return v, nil
}

// cutAll cuts the data along the parts and gives each its fragments.
func (d *Datum) cutAll(sub Submission, h *Handle, parts []Handle, g *growth) error {
	if d.divide(sub, h, parts) {
		return nil
	}
	if ok, err := d.strips(sub, h, parts, g); ok || err != nil {
		return err
	}
	var err error
	deep := int32(0)
	middleFirst(len(parts), func(m int) {
		if err != nil {
			return
		}
		p := &parts[m]
		if p.frags, err = d.cut(sub, &p.box, g); err != nil {
			return
		}
		if len(p.frags) == 1 {
			p.f0 = p.frags[0]
		}
		for _, f := range p.frags {
			deep = max(deep, f.deep)
		}
	})
	if err != nil {
		return err
	}
	return d.balance(sub, deep, g)
}

// middleFirst calls fn for 0 to n-1 in an order that keeps the tree of fragments
// flat when a part is cut out at each call.
func middleFirst(n int, fn func(int)) {
	var visit func(lo, hi int)
	visit = func(lo, hi int) {
		if lo < hi {
			m := (lo + hi) / 2
			fn(m)
			visit(lo, m)
			visit(m+1, hi)
		}
	}
	visit(0, n)
}

// split applies f and checks what comes out of it: filters may be the host's. It
// returns the sizes of the index, and what says what the parts are.
func split(f filter.Filter, d *iface.Desc) (dims []int, part func(int, *filter.Part), err error) {
	if dims, part, ok, err := filter.Lazy(f, *d); ok {
		return dims, part, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("datamgr: filter panicked: %v", r)
		}
	}()
	s, err := f.Split(*d)
	if err == nil {
		err = s.Check(*d)
	}
	return s.Dims, func(i int, p *filter.Part) { *p = s.Parts[i] }, err
}

// part makes a piece of a piece.
func (p *piece) part(f *filter.Part) piece {
	q := piece{desc: f.Desc(p.desc), box: p.box}
	n := 0
	for k := range int(p.desc.Rank) {
		a := p.axes.at(k)
		lo := p.box.from(a)
		q.box.set(a, lo+f.Lo[k], lo+max(f.Hi[k], f.Lo[k]+1))
		if k != f.Drop {
			q.axes = q.axes.with(n, a)
			n++
		}
	}
	return q
}

// declare says what the parts of p, a piece of d, are.
func (p *piece) declare(d *Datum, parts []Handle, part func(int, *filter.Part)) {
	var f filter.Part
	part(0, &f)
	one := f.Desc(p.desc) // all drop the same axis
	var axes axisList
	n := 0
	for k := range int(p.desc.Rank) {
		if k != f.Drop {
			axes = axes.with(n, p.axes.at(k))
			n++
		}
	}
	for i := range parts {
		h := &parts[i]
		part(i, &f)
		h.kind, h.rank, h.axes, h.box = one.Kind, one.Rank, axes, p.box
		for k := range int(p.desc.Rank) {
			a := p.axes.at(k)
			lo, hi := p.box.from(a)+f.Lo[k], p.box.from(a)+f.Hi[k]
			if lo == hi {
				h.empty |= 1 << a
				lo = d.beyond(a, lo)
				hi = lo + 1
			}
			h.box.set(a, lo, hi)
		}
	}
}

// place computes where h lies in the main instance, and whether that can
// express it.
func (h *Handle) place() {
	d := h.d
	for k := range int(d.rank) {
		if h.empty>>k&1 == 0 {
			h.off += h.box.from(k) * d.stride.at(k) * int(d.elem.Size())
		}
	}
	h.choose()
}

// EndView ends v: its parts and the views of its parts are dead, for tasks
// submitted from now on. It does nothing to a view that has ended.
func (g *Registry) EndView(v *View, at *Site) {
	g = v.Handle.d.reg
	sub := g.Lock()
	defer sub.Unlock()
	v.end(sub, &death{at: at, ended: true})
}

func (v *View) end(sub Submission, why *death) {
	if v.ended.Swap(true) {
		return
	}
	h := v.Handle
	x := h.more()
	if i := slices.Index(x.views, v); i >= 0 {
		x.views = slices.Delete(x.views, i, i+1)
	}
	for _, p := range v.Parts {
		for vs := p.views(sub); len(vs) > 0; vs = p.views(sub) {
			vs[len(vs)-1].end(sub, why)
		}
		p.die(sub, why)
	}
	h.d.live -= len(v.Parts)
}

// End makes h, a whole datum, and all its parts dead, for tasks submitted from
// now on.
func (sub Submission) End(h *Handle, at *Site) {
	why := &death{at: at}
	for vs := h.views(sub); len(vs) > 0; vs = h.views(sub) {
		vs[len(vs)-1].end(sub, why)
	}
	h.die(sub, why)
	if in := h.d.homeInstance(); in != nil && h.Home() { // images in plans have no memory
		sub.reg.homes.remove(h.id, uintptr(in.ptr))
	}
}
