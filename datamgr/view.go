package datamgr

// Views: sets of parts made by filters, and how they end.

import (
	"errors"
	"fmt"
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
	axes [iface.MaxRank]int8
}

// Partition declares the view of h that applying the filters in turn gives:
// each to every part of the one before. site says where, and may be nil. Errors
// are those of the filters, usually *filter.Error, and ErrDead.
func (g *Registry) Partition(h *Handle, site *Site, fs ...filter.Filter) (*View, error) {
	return g.partition(h, site, false, fs)
}

func (g *Registry) partition(h *Handle, site *Site, held bool, fs []filter.Filter) (*View, error) {
	if len(fs) == 0 {
		return nil, errors.New("datamgr: a partition needs a filter")
	}
	pieces := []piece{{desc: h.desc, box: h.box, axes: h.axes}}
	var dims []int
	for _, f := range fs {
		var next []piece
		var inner []int
		for i := range pieces {
			s, err := split(f, &pieces[i].desc)
			if err != nil {
				return nil, err
			}
			switch {
			case i == 0:
				inner = slices.Clone(s.Dims)
			case !slices.Equal(inner, s.Dims):
				return nil, fmt.Errorf("datamgr: filter %s splits parts of one view into different numbers of parts: %v and %v", f.Name(), inner, s.Dims)
			}
			if len(pieces)*len(s.Parts) > filter.MaxParts {
				return nil, fmt.Errorf("datamgr: a view of %d parts; it can have %d", len(pieces)*len(s.Parts), filter.MaxParts)
			}
			if next == nil {
				next = make([]piece, 0, len(pieces)*len(s.Parts))
			}
			for k := range s.Parts {
				next = append(next, pieces[i].part(&s.Parts[k]))
			}
		}
		pieces, dims = next, append(dims, inner...)
	}
	v := &View{Handle: h, Dims: dims, Parts: make([]*Handle, len(pieces)), Filters: slices.Clone(fs)}
	g.Lock()
	defer g.Unlock()
	if !held && !h.Alive() {
		return nil, ErrDead
	}
	d := h.d
	parts := make([]Handle, len(pieces))
	base := g.ids
	g.ids += int64(len(pieces))
	h.tidy()
	whole := d.divide(h, pieces)
	declare := func(m int) {
		p, q := &parts[m], &pieces[m]
		p.d, p.desc, p.box, p.axes, p.parent, p.reduce, p.site = d, q.desc, q.box, q.axes, h, h.reduce, site
		p.id = base + 1 + int64(m)
		p.flags, p.readOnly = h.flags, h.readOnly
		p.place()
		if whole != nil {
			p.frags = whole[m : m+1 : m+1]
		} else {
			p.frags = d.cut(&q.box, nil)
		}
		if len(p.frags) == 1 {
			p.f0 = p.frags[0]
		}
		v.Parts[m] = p
	}
	if whole != nil {
		for m := range pieces {
			declare(m)
		}
	} else {
		middleFirst(len(pieces), declare)
		d.balance()
	}
	d.live += len(pieces)
	h.views = append(h.views, v)
	return v, nil
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

// split applies f and checks what comes out of it: filters may be the host's.
func split(f filter.Filter, d *iface.Desc) (s filter.Split, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("datamgr: filter panicked: %v", r)
		}
	}()
	if s, err = f.Split(*d); err != nil {
		return s, err
	}
	return s, s.Check(*d)
}

// part makes a piece of a piece.
func (p *piece) part(f *filter.Part) piece {
	q := piece{desc: f.Desc(p.desc), box: p.box}
	n := 0
	for k := range int(p.desc.Rank) {
		a := p.axes[k]
		q.box.lo[a] = p.box.lo[a] + f.Lo[k]
		q.box.hi[a] = p.box.lo[a] + max(f.Hi[k], f.Lo[k]+1)
		if k != f.Drop {
			q.axes[n] = a
			n++
		}
	}
	return q
}

// place computes where h lies in the main instance, and whether that can
// express it: the last index of a buffer has neighbours side by side.
func (h *Handle) place() {
	d := h.d
	for k := range h.box.lo {
		h.off += h.box.lo[k] * d.stride[k] * int(d.desc.Elem.Size())
	}
	if r := h.desc.Rank; r > 0 && h.desc.Dim[r-1] > 1 && d.stride[h.axes[r-1]] != 1 {
		h.how = packed
		d.setState(statePacked)
	}
}

// EndView ends v: its parts and the views of its parts are dead, for tasks
// submitted from now on. It does nothing to a view that has ended.
func (g *Registry) EndView(v *View, at *Site) {
	g = v.Handle.d.reg
	g.Lock()
	defer g.Unlock()
	v.end(&death{at: at, ended: true})
}

func (v *View) end(why *death) {
	if v.ended.Swap(true) {
		return
	}
	h := v.Handle
	if i := slices.Index(h.views, v); i >= 0 {
		h.views = slices.Delete(h.views, i, i+1)
	}
	for _, p := range v.Parts {
		for len(p.views) > 0 {
			p.views[len(p.views)-1].end(why)
		}
		p.die(why)
	}
	h.d.live -= len(v.Parts)
}

// End makes h, a whole datum, and all its parts dead, for tasks submitted from
// now on. Submission lock held.
func (g *Registry) End(h *Handle, at *Site) {
	why := &death{at: at}
	for len(h.views) > 0 {
		h.views[len(h.views)-1].end(why)
	}
	h.die(why)
}
