package datamgr

// Images: data and views of one registry as a plan in another one needs them.

// Image declares in g data like h, a whole datum of another registry, as it is after
// what was submitted: the same shape, reduction and flags, with a value where h has one,
// and dead if h is. It takes no memory: it is for plans, in which values are not looked at.
// See ImageView for its views.
func (g *Registry) Image(h *Handle) (*Handle, error) {
	desc := h.Desc()
	s := Spec{Kind: desc.Kind, Elem: desc.Elem, Dims: desc.Shape(), ReadOnly: h.readOnly, Name: h.Name(), Site: h.site, Object: managed(h).Object(), Layout: managed(h).Layout()}
	out, err := g.Register(&s)
	if err != nil {
		return nil, err
	}
	from := h.d.reg
	sub := from.Lock()
	var leaves []*fragment
	h.d.root.leaves(&h.d.box, func(f *fragment) { leaves = append(leaves, f) })
	states := make([]pieceState, len(leaves))
	valued := true
	for i, f := range leaves {
		states[i] = pieceState{f.box, f.init, f.why, f.gone}
		valued = valued && f.init
	}
	looks, open := h.looks(sub), h.contributed(sub)
	sub.Unlock()

	sub = g.Lock()
	defer sub.Unlock()
	d := out.d
	d.stride, d.fragments = h.d.stride, 0
	d.home = valued
	frags := make([]*fragment, len(states))
	for i := range states {
		f := newFragment(d, states[i].box)
		f.init, f.why, f.gone = states[i].valued, states[i].why, states[i].gone
		frags[i] = f
	}
	if d.root, err = tree(frags, 0, &growth{}); err != nil {
		return nil, err
	}
	out.f0, out.frags = nil, nil
	out.list(sub)
	out.like(sub, looks, open)
	return out, nil
}

// ImageView declares for of, an image, a view like v of what it is an image of. The parts
// of a view that has ended are dead, as those of v.
func (g *Registry) ImageView(v *View, of *Handle) (*View, error) {
	out := &View{Handle: of, Dims: v.Dims, Filters: v.Filters, Parts: make([]*Handle, len(v.Parts))}
	parts := make([]Handle, len(v.Parts))
	looks, open := make([]looks, len(parts)), make([]bool, len(parts))
	from := v.Handle.d.reg
	sub := from.Lock()
	for m, o := range v.Parts {
		p := &parts[m]
		p.d, p.elem, p.parent, p.site = of.d, o.elem, of, o.site
		p.kind, p.rank, p.axes, p.box, p.empty, p.readOnly = o.kind, o.rank, o.axes, o.box, o.empty, o.readOnly
		looks[m], open[m] = o.looks(sub), o.contributed(sub)
		out.Parts[m] = p
	}
	ended := v.Ended()
	sub.Unlock()

	sub = g.Lock()
	defer sub.Unlock()
	out.ended.Store(ended)
	for m := range parts {
		g.ids++
		parts[m].id = g.ids
		parts[m].place()
	}
	if !ended {
		if err := of.d.cutAll(sub, of, parts, &growth{}); err != nil {
			return nil, err
		}
		of.d.live += len(parts)
		x := of.more()
		x.views = append(x.views, out)
	}
	for m := range parts {
		parts[m].like(sub, looks[m], open[m])
	}
	return out, nil
}

// pieceState is what an image has of a fragment.
type pieceState struct {
	box    Box
	valued bool
	why    Why
	gone   *Site
}

// looks is what may change about a handle while it lives, as far as plans see it.
type looks struct {
	reduce *Reduction
	flags  uint8
	name   string
	dead   *death
}

// looks is that of h.
func (h *Handle) looks(_ Submission) looks {
	return looks{h.reduce, h.flags, h.Name(), h.dead.Load()}
}

// contributed reports whether contributions to h must be combined before it is
// read.
func (h *Handle) contributed(_ Submission) bool { return h.redux != nil && h.redux.open }

// like gives h, of an image, the looks of what it is an image of.
func (h *Handle) like(sub Submission, l looks, contributed bool) {
	h.reduce, h.flags = l.reduce, l.flags
	if l.name != "" && l.name != h.Name() {
		h.SetName(l.name)
	}
	if l.dead != nil {
		h.dead.Store(l.dead)
	} else if contributed {
		h.accumulate(sub)
		h.openGroup(sub)
	}
}
