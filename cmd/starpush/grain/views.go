package grain

// How data is split: views whose filters are known exactly, and which belong together.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// axis is one index along which a view is cut.
type axis struct {
	at    int // of the data
	n     int // what is shared out: without the border
	parts int
}

// split is a view made by one filter into equal parts, whose sizes are known.
type split struct {
	view   *datamgr.View
	axes   []axis
	halo   int
	border int // at both ends of each axis; halo where the filter does not say
}

// splitOf finds out with which numbers a view was made, by making it again. ok is false
// for filters in turn, for given sizes, for slices, and for filters of others.
func splitOf(v *datamgr.View) (s split, ok bool) {
	if len(v.Filters) != 1 || len(v.Parts) < 2 || v.Handle.Parent() != nil || filter.IsSlice(v.Filters[0]) {
		return s, false
	}
	whole := v.Handle.Desc()
	s.view = v
	first, last := v.Parts[0], v.Parts[len(v.Parts)-1]
	lo, hi := first.Place()
	end, _ := last.Place()
	if first.Desc().Rank != whole.Rank {
		return s, false // pick
	}
	for a := range int(whole.Rank) {
		if lo[a] != end[a] {
			s.axes = append(s.axes, axis{at: a})
		}
	}
	if v.Filters[0].Name() == "tiles" {
		s.axes = nil
		for a := range int(whole.Rank) {
			s.axes = append(s.axes, axis{at: a})
		}
	}
	if len(s.axes) != len(v.Dims) {
		return s, false
	}
	for k := range s.axes {
		s.axes[k].parts = v.Dims[k]
	}
	// neighbours along the last index overlap by the halo of each
	a := s.axes[len(s.axes)-1]
	if next, _ := v.Parts[1].Place(); next[a.at] > lo[a.at] {
		s.halo = max(0, hi[a.at]-next[a.at]) / 2
	}
	s.border = lo[a.at] + s.halo
	for k := range s.axes {
		s.axes[k].n = whole.Dim[s.axes[k].at] - 2*s.border
	}
	return s, s.same(v)
}

// same reports whether the filter of s makes the parts of v.
func (s *split) same(v *datamgr.View) bool {
	f := s.filter(s.counts())
	if f == nil {
		return false
	}
	whole := v.Handle.Desc()
	made, err := f.Split(whole)
	if err != nil || len(made.Parts) != len(v.Parts) || !slices.Equal(made.Dims, v.Dims) {
		return false
	}
	for i, p := range v.Parts {
		lo, hi := p.Place()
		for a := range int(whole.Rank) {
			if lo[a] != made.Parts[i].Lo[a] || hi[a] != made.Parts[i].Hi[a] {
				return false
			}
		}
	}
	return true
}

func (s *split) counts() (all []int) {
	for _, a := range s.axes {
		all = append(all, a.parts)
	}
	return all
}

// filter is the filter of s with other numbers of parts.
func (s *split) filter(p []int) filter.Filter {
	var f filter.Filter
	switch s.view.Filters[0].Name() {
	case "blocks", "halves":
		f = filter.BlocksHalo(p[0], s.halo)
	case "rows":
		f = filter.Rows(p[0], s.halo)
	case "cols":
		f = filter.Cols(p[0], s.halo)
	case "axis":
		f = filter.Axis(s.axes[0].at, p[0], s.halo)
	case "tiles":
		f = filter.TilesN(p, s.halo)
	default:
		return nil
	}
	if s.border != s.halo {
		f = filter.Inside(s.border, f)
	}
	return f
}

// text is that filter as a script writes it.
func (s *split) text(p []int) string {
	t := filter.Text(s.view.Filters, p)
	if s.halo > 0 {
		t = strings.TrimSuffix(t, ")") + fmt.Sprintf(", halo = %d)", s.halo)
	}
	if s.border != s.halo {
		t = strings.TrimSuffix(t, ")") + fmt.Sprintf(", inside = %d)", s.border)
	}
	return t
}

// extents are the sizes of a handle along its indices, each with whether it is cut by
// the views of a family.
func extents(h *datamgr.Handle, s *split) (cut, whole []int) {
	d := h.Desc()
	for a := range int(d.Rank) {
		if s != nil && slices.ContainsFunc(s.axes, func(x axis) bool { return x.at == a }) {
			cut = append(cut, d.Dim[a])
		} else {
			whole = append(whole, d.Dim[a])
		}
	}
	return cut, whole
}

// finder finds the view that a part is of.
type finder map[*datamgr.Handle]map[*datamgr.Handle]*datamgr.View

// of returns nil for data that is whole; lost for a part whose view has ended.
func (f finder) of(h *datamgr.Handle) (v *datamgr.View, lost bool) {
	up := h.Parent()
	if up == nil {
		return nil, false
	}
	parts := f[up]
	if parts == nil {
		parts = map[*datamgr.Handle]*datamgr.View{}
		for _, v := range up.Views() {
			for _, p := range v.Parts {
				parts[p] = v
			}
		}
		f[up] = parts
	}
	v = parts[h]
	return v, v == nil
}

// scalar reports whether h is one element.
func scalar(h *datamgr.Handle) bool { return h.Desc().Kind == iface.Variable }
