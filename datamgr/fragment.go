package datamgr

// Fragment: a piece of a datum that no view cuts, and the tree that finds them.

import (
	"cmp"
	"math/bits"
	"slices"
)

// Fragment is a piece of a datum that no declared view cuts. Order and validity
// hang on fragments. The fields up to deep are one cache line (of three), all
// that the submission of a plain task looks at; workers touch only epochs.
type Fragment struct {
	tail  *epoch // the last epoch; submission lock
	first epoch  // an epoch that costs no allocation
	kids  *[]*Fragment
	init  bool // has a value, as of what was submitted; submission lock
	slow  bool // open reductions or unordered accesses: not for plain submission
	why   Why
	seen  uint32 // mark of the last submission that met it

	use  int32 // its place in Registry.merged, if seen now
	deep int32 // depth in the tree
	d    *Datum
	box  Box
	gone *Site   // where the value was invalidated
	open *Handle // the handle with open contributions to this fragment, or nil

	// guarded by the datum's lock; changed under both locks by splits
	lock      *accessLock // nil until a commuting or unordered access
	copies    int16       // copies under way, from or to
	had       uint16      // nodes where the value was used or made, as node.mark
	unordered bool        // ordered accesses take the lock, too
	inMain    bool        // valid in the main instance when the task that is writing claimed it
	writing   uint16      // uses by tasks that have claimed it and not ended: hints leave it alone
	valid     uint64      // bit k: valid in the instance on layer k; never 0
	arriving  uint64      // bit k: being copied to layer k
	fault     *loss       // why the value was lost, or nil
}

const mainBit = 1 // validity in the main instance

func newFragment(d *Datum, b Box) *Fragment {
	f := &Fragment{d: d, box: b, valid: mainBit, had: hadMain}
	f.first.mode, f.first.inline = modeR, true
	f.first.rem.Store(1)
	f.first.waiters.Store(&activated)
	f.tail = &f.first
	d.fragments++
	return f
}

// valued reports whether f has a value, as of what was submitted.
func (f *Fragment) valued() bool { return f.init || f.open != nil }

// leaves calls fn for every fragment below f that shares elements with b.
func (f *Fragment) leaves(b *Box, fn func(*Fragment)) {
	if !f.box.touches(b) {
		return
	}
	if f.kids == nil {
		fn(f)
		return
	}
	for _, k := range *f.kids {
		k.leaves(b, fn)
	}
}

// list returns the fragments of h, in a fixed order. Submission lock held.
func (h *Handle) list() []*Fragment {
	if h.f0 != nil && h.f0.kids == nil {
		return h.frags
	}
	if h.frags != nil && !slices.ContainsFunc(h.frags, func(f *Fragment) bool { return f.kids != nil }) {
		return h.frags
	}
	var out []*Fragment
	h.d.root.leaves(&h.box, func(f *Fragment) { out = append(out, f) })
	h.keep(out)
	return out
}

// keptMentions is how many fragments the lists that handles keep may have, for each
// fragment of the datum: those of views that cross take three or four. Parts that overlap
// much, which data has been cut finer beneath, would keep the square of that.
const keptMentions = 8

// keep has h keep the list of its fragments, which have changed, unless there are too
// many of such lists. Submission lock held.
func (h *Handle) keep(out []*Fragment) {
	d := h.d
	h.unlist()
	switch {
	case h == d.whole:
	case h.flags&flagDead == 0 && d.listed+len(out) <= keptMentions*d.fragments:
		d.listed += len(out)
		h.listed = true
	default:
		h.frags, h.f0 = nil, nil
		return
	}
	h.frags, h.f0 = out, nil
	if len(out) == 1 {
		h.f0 = out[0]
	}
}

// unlist forgets the list that h keeps, if keep has counted it. Submission lock held.
func (h *Handle) unlist() {
	if h.listed {
		h.d.listed -= len(h.frags)
		h.listed, h.frags, h.f0 = false, nil, nil
	}
}

// Tidy makes one fragment of what ended views left of the data of ops, where
// that is possible. Called before anything looks at the fragments of a
// submission. Submission lock held.
func (g *Registry) Tidy(ops []Operand) {
	for i := range ops {
		ops[i].Handle.tidy()
	}
}

// tidy reports whether the fragments of h changed.
func (h *Handle) tidy() bool {
	d := h.d
	return h == d.whole && d.live == 0 && d.fragments > 1 && d.collapse()
}

// cut splits fragments along b and returns those that make up b. Submission
// lock held.
func (d *Datum) cut(b *Box, g *growth) (out []*Fragment, err error) {
	if err = g.ended(); err != nil {
		return nil, err
	}
	var visit func(f *Fragment)
	visit = func(f *Fragment) {
		if err != nil || !f.box.touches(b) {
			return
		}
		if f.kids == nil {
			if b.has(&f.box) {
				if err = g.make(0, 1); err == nil {
					out = append(out, f)
				}
				return
			}
			if err = d.split(f, f.box.meet(b), g); err != nil {
				return
			}
		}
		for _, k := range *f.kids {
			visit(k)
		}
	}
	visit(d.root)
	return out, err
}

// balance rebuilds the tree over the same fragments when it has become deeper
// than a search should have to walk: parts declared one by one from one end
// make it a list. deep is how deep the parts lie that were declared. Submission
// lock held.
func (d *Datum) balance(deep int32, g *growth) error {
	limit := int32(2*bits.Len(uint(d.fragments)) + 16)
	if deep <= limit {
		return nil
	}
	var leaves []*Fragment
	deepest := int32(0)
	d.root.leaves(&d.box, func(f *Fragment) {
		leaves = append(leaves, f)
		deepest = max(deepest, f.deep)
	})
	if deepest <= limit {
		return nil
	}
	root, err := tree(leaves, 0, g)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.root = root
	d.mu.Unlock()
	return nil
}

// tree makes a balanced tree over disjoint fragments; its inner nodes are only
// boxes, which may overlap. An error is that of the context of g, which has ended.
func tree(leaves []*Fragment, depth int32, g *growth) (*Fragment, error) {
	if len(leaves) == 1 {
		leaves[0].deep = depth
		return leaves[0], nil
	}
	if err := g.ended(); err != nil {
		return nil, err
	}
	hull := leaves[0].box
	for _, f := range leaves[1:] {
		hull = hull.hull(&f.box)
	}
	axis := 0
	for k := range hull.lo {
		if hull.hi[k]-hull.lo[k] > hull.hi[axis]-hull.lo[axis] {
			axis = k
		}
	}
	slices.SortFunc(leaves, func(a, b *Fragment) int { return cmp.Compare(a.box.lo[axis], b.box.lo[axis]) })
	m := len(leaves) / 2
	d := leaves[0].d
	a, err := tree(leaves[:m], depth+1, g)
	if err != nil {
		return nil, err
	}
	b, err := tree(leaves[m:], depth+1, g)
	if err != nil {
		return nil, err
	}
	return &Fragment{d: d, box: hull, kids: &[]*Fragment{a, b}, deep: depth}, nil
}

// collapse makes one fragment of all, when no view is alive and nothing is
// under way: what ended views leave behind should not slow down whole accesses
// for ever. Submission lock held.
func (d *Datum) collapse() bool {
	if d.unordered.Load() != 0 {
		return false
	}
	d.reg.endBatch()
	var one *Fragment
	same, deferred, home := true, false, true
	had := ^uint16(0)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root.leaves(&d.box, func(f *Fragment) {
		if one == nil {
			one = f
		}
		deferred = deferred || f.unordered
		home = home && f.valid&mainBit != 0
		had &= f.had
		same = same && f.tail.rem.Load() == 1 && f.open == nil && f.copies == 0 && f.init == one.init &&
			f.fault == one.fault && f.why == one.why && f.gone == one.gone &&
			(f.lock == nil || f.lock.idle())
	})
	if !same || !home {
		return false
	}
	d.dropLayersLocked()
	d.fragments = 0
	f := newFragment(d, d.box)
	f.init, f.why, f.gone, f.fault, f.had = one.init, one.why, one.gone, one.fault, had|hadMain
	if deferred {
		f.lock, f.unordered, f.slow = d.reg.newLock(), true, true
	}
	d.root = f
	d.whole.frags, d.whole.f0 = []*Fragment{f}, f
	return true
}
