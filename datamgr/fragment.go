package datamgr

// Fragment: a piece of a datum that no view cuts, and the tree that finds them.

import (
	"cmp"
	"math/bits"
	"slices"
)

// fragment is a piece of a datum that no declared view cuts. Order and validity
// hang on fragments. The fields up to deep are one cache line (of three), all
// that the submission of a plain task looks at; workers touch only epochs.
type fragment struct {
	tail  *epoch // the last epoch; submission lock
	first epoch  // an epoch that costs no allocation
	kids  *[]*fragment
	init  bool // has a value, as of what was submitted; submission lock
	slow  bool // open reductions, unordered accesses or open duplicates: not for plain submission
	why   Why
	// tasks in the epochs need the lock: they commute, or came before the first unordered access
	lockNeeded bool
	seen       uint32 // mark of the last submission that met it

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

func newFragment(d *Datum, b Box) *fragment {
	f := &fragment{d: d, box: b, valid: mainBit, had: hadMain}
	f.initOrder()
	d.fragments++
	return f
}

// initOrder gives f its first epoch: an idle group of readers.
func (f *fragment) initOrder() {
	e := &f.first
	e.mode, e.inline = modeR, true
	e.count.set(countLast)
	storeOwnedPointer(&e.waiters, &activated)
	f.tail = e
}

// valued reports whether f has a value, as of what was submitted.
func (f *fragment) valued(_ Submission) bool { return f.init || f.open != nil }

// leaves calls fn for every fragment below f that shares elements with b.
func (f *fragment) leaves(b *Box, fn func(*fragment)) {
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

// list returns the fragments of h, in a fixed order.
func (h *Handle) list(sub Submission) []*fragment {
	if h.f0 != nil && h.f0.kids == nil {
		return h.frags
	}
	if h.frags != nil && !slices.ContainsFunc(h.frags, func(f *fragment) bool { return f.kids != nil }) {
		return h.frags
	}
	var out []*fragment
	h.d.root.leaves(&h.box, func(f *fragment) { out = append(out, f) })
	h.keep(sub, out)
	return out
}

// keptMentions is how many fragments the lists that handles keep may have, for each
// fragment of the datum: those of views that cross take three or four. Parts that overlap
// much, which data has been cut finer beneath, would keep the square of that.
const keptMentions = 8

// keep has h keep the list of its fragments, which have changed, unless there are too
// many of such lists.
func (h *Handle) keep(sub Submission, out []*fragment) {
	d := h.d
	h.unlist(sub)
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

// unlist forgets the list that h keeps, if keep has counted it.
func (h *Handle) unlist(_ Submission) {
	if h.listed {
		h.d.listed -= len(h.frags)
		h.listed, h.frags, h.f0 = false, nil, nil
	}
}

// Tidy makes one fragment of what ended views left of the data of ops, where
// that is possible. Called before anything looks at the fragments of a
// submission.
func (sub Submission) Tidy(ops []Operand) {
	for i := range ops {
		ops[i].Handle.tidy(sub)
	}
}

// tidy reports whether the fragments of h changed.
func (h *Handle) tidy(sub Submission) bool {
	d := h.d
	return h == d.whole && d.live == 0 && d.fragments > 1 && d.collapse(sub)
}

// cut splits fragments along b and returns those that make up b.
func (d *Datum) cut(sub Submission, b *Box, g *growth) (out []*fragment, err error) {
	if err = g.ended(); err != nil {
		return nil, err
	}
	var visit func(f *fragment)
	visit = func(f *fragment) {
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
			if err = d.split(sub, f, f.box.meet(b), g); err != nil {
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
// make it a list. deep is how deep the parts lie that were declared.
func (d *Datum) balance(_ Submission, deep int32, g *growth) error {
	limit := int32(2*bits.Len(uint(d.fragments)) + 16)
	if deep <= limit {
		return nil
	}
	var leaves []*fragment
	deepest := int32(0)
	d.root.leaves(&d.box, func(f *fragment) {
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
func tree(leaves []*fragment, depth int32, g *growth) (*fragment, error) {
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
	for k := range hull.axes() {
		if hull.length(k) > hull.length(axis) {
			axis = k
		}
	}
	slices.SortFunc(leaves, func(a, b *fragment) int { return cmp.Compare(a.box.from(axis), b.box.from(axis)) })
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
	return &fragment{d: d, box: hull, kids: &[]*fragment{a, b}, deep: depth}, nil
}

// collapse makes one fragment of all, when no view is alive and nothing is
// under way: what ended views leave behind should not slow down whole accesses
// for ever.
func (d *Datum) collapse(sub Submission) bool {
	if d.unordered.Load() != 0 {
		return false
	}
	var one *fragment
	same, deferred, home := true, false, true
	had := ^uint16(0)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root.leaves(&d.box, func(f *fragment) {
		if one == nil {
			one = f
		}
		deferred = deferred || f.unordered
		home = home && f.valid&mainBit != 0
		had &= f.had
		same = same && f.tail.count.idle(sub) && f.open == nil && f.copies == 0 && f.init == one.init &&
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
		f.lock, f.unordered, f.slow = sub.newLock(), true, true
	}
	d.root = f
	d.whole.frags, d.whole.f0 = []*fragment{f}, f
	return true
}

// Dividing data at once into all parts of a view, instead of cutting out one
// after the other.

// fan is the number of branches of the nodes that divide makes.
const fan = 16

// divide splits the only fragment of h into the parts, if they cover it without
// overlapping, in order along its axes, as blocks, rows, columns and tiles do,
// and gives each its fragment. False: nothing happened. Cutting out one part
// after another would search the tree for each and leave three nodes behind.
func (d *Datum) divide(sub Submission, h *Handle, parts []Handle) bool {
	f := h.f0
	if f == nil || f.kids != nil || f.box != h.box || len(parts) < 2 || !covers(parts, &h.box, 0) {
		return false
	}
	slab, out := make([]fragment, len(parts)), make([]*fragment, len(parts))
	for i := range parts {
		k := &slab[i]
		k.box, out[i] = parts[i].box, k
		parts[i].f0, parts[i].frags = k, out[i:i+1:i+1]
	}
	d.splitInto(sub, f, out)
	return true
}

// inherit makes k, whose box is set, a piece of f, idle.
func (f *fragment) inherit(_ Submission, k *fragment, deep int32) {
	k.d, k.deep = f.d, deep
	k.initOrder()
	k.init, k.slow, k.why, k.gone, k.open = f.init, f.slow, f.why, f.gone, f.open
	k.valid, k.lock, k.unordered, k.fault = f.valid, f.lock, f.unordered, f.fault
	k.lockNeeded = f.lockNeeded
	k.inMain, k.had = f.inMain, f.had
	k.writing = f.writing
}

// pieces returns what f was split into, in the order in which splitInto was given
// them. Nodes that only group them have no epochs.
func (f *fragment) pieces(sub Submission) []*fragment {
	if (*f.kids)[0].tail != nil {
		return *f.kids
	}
	var out []*fragment
	for _, k := range *f.kids {
		out = append(out, k.pieces(sub)...)
	}
	return out
}

// group16 puts nodes under new ones, fan under each.
func group16(nodes []*fragment) []*fragment {
	n := (len(nodes) + fan - 1) / fan
	slab, lists := make([]fragment, n), make([][]*fragment, n)
	up := make([]*fragment, n)
	for i := range up {
		lists[i] = nodes[i*fan : min((i+1)*fan, len(nodes)) : min((i+1)*fan, len(nodes))]
		p := &slab[i]
		p.d, p.box, p.kids = nodes[0].d, lists[i][0].box, &lists[i]
		for _, k := range lists[i][1:] {
			p.box = p.box.hull(&k.box)
		}
		up[i] = p
	}
	return up
}

// depth notes how deep inner nodes lie; the leaves know already.
func depth(nodes []*fragment, n int32) {
	for _, f := range nodes {
		if f.kids != nil {
			f.deep = n
			depth(*f.kids, n+1)
		}
	}
}

// covers reports whether the parts fill box along axes from axis on: in groups that lie
// side by side along that axis, where each group covers the other axes.
func covers(parts []Handle, box *Box, axis int) bool {
	if axis == box.axes() {
		return len(parts) == 1
	}
	at, end := box.at(axis)
	for len(parts) > 0 {
		lo, hi := parts[0].box.at(axis)
		if lo != at || hi <= lo {
			return false
		}
		n := 1
		for n < len(parts) {
			if from, to := parts[n].box.at(axis); from != lo || to != hi {
				break
			}
			n++
		}
		if !covers(parts[:n], box, axis+1) {
			return false
		}
		at, parts = hi, parts[n:]
	}
	return at == end
}

// Strips: parts that differ along one axis only, such as blocks and rows with a
// halo, and views over data that others have cut before.

// strips gives each part its fragments, if all parts reach across h along all
// axes but one; the parts are in order along that axis and may overlap, and the
// fragments of h lie anyhow. False: nothing happened. One walk along the axis cuts
// all there is to cut: the parts need not be looked for in the tree, where the
// cuts of each would leave nodes behind.
func (d *Datum) strips(sub Submission, h *Handle, parts []Handle, g *growth) (bool, error) {
	axis := stripAxis(h, parts)
	if axis < 0 {
		return false, nil
	}
	old := h.list(sub)
	begin, end := h.box.at(axis)
	ends := endsOf(parts, axis, begin, end)
	first := make([]int, len(ends)+1) // of each interval between two ends: its fragments, then the place of its first
	n, made, at := 0, 0, 0
	side, reach := false, begin // not all fragments lie one behind the other along the axis
	for _, f := range old {
		lo, hi := f.box.at(axis)
		side, reach = side || lo < reach, max(reach, hi)
		at = interval(ends, lo, at)
		k := at
		for first[k]++; ends[k] < hi; first[k]++ {
			k++
		}
		n += k - at + 1
		if k > at {
			made += k - at + 1
		}
	}
	mentions := n
	if side {
		mentions *= 2
	}
	if err := g.make(made, mentions); err != nil {
		return false, err
	}
	all := make([]*fragment, 0, n)
	var slab []fragment
	deep := int32(0)
	at = 0
	for _, f := range old {
		lo, hi := f.box.at(axis)
		if at = interval(ends, lo, at); ends[at] >= hi {
			all, deep = append(all, f), max(deep, f.deep)
			continue
		}
		from := len(all)
		for i := at; lo < hi; i++ {
			if len(slab) == 0 {
				if err := g.ended(); err != nil {
					return false, err
				}
				slab = make([]fragment, min(256, made)) // 256 are a whole number of pages
			}
			k := &slab[0]
			slab, made = slab[1:], made-1
			k.box = f.box
			k.box.set(axis, lo, min(ends[i], hi))
			all = append(all, k)
			lo = ends[i]
		}
		d.splitInto(sub, f, all[from:len(all):len(all)])
		deep = max(deep, all[from].deep)
	}
	sum := 0
	for i, k := range first {
		first[i], sum = sum, sum+k
	}
	if side {
		all = inIntervals(all, ends, first, axis)
	}
	from, to, start := 0, 0, begin // start is where interval from begins
	for i := range parts {
		p := &parts[i]
		if p.empty != 0 { // has no fragments
			continue
		}
		lo, hi := p.box.at(axis)
		for start < lo {
			start = ends[from]
			from++
		}
		for to < len(ends) && ends[to] <= hi {
			to++
		}
		p.frags = all[first[from]:first[to]:first[to]]
		if len(p.frags) == 1 {
			p.f0 = p.frags[0]
		}
	}
	return true, d.balance(sub, deep, g)
}

// endsOf returns where parts begin and end along an axis between first and last, in order:
// last is one of them, first is not.
func endsOf(parts []Handle, axis, first, last int) []int {
	ends := make([]int, 0, 2*len(parts)+1)
	next := func(i int) int { // the first part from i on that is not empty
		for i < len(parts) && parts[i].empty != 0 {
			i++
		}
		return i
	}
	lo, hi := next(0), next(0) // the beginnings are in order, and so are the ends
	for hi < len(parts) {
		at := parts[hi].box.to(axis)
		if lo < len(parts) && parts[lo].box.from(axis) < at {
			at = parts[lo].box.from(axis)
			lo = next(lo + 1)
		} else {
			hi = next(hi + 1)
		}
		if at > first {
			ends, first = append(ends, at), at
		}
	}
	if last > first {
		ends = append(ends, last)
	}
	return ends
}

// interval returns the place of the first of ends behind at. Near is its place as far as
// the caller can guess.
func interval(ends []int, at, near int) int {
	if near > 0 && ends[near-1] > at {
		near, _ = slices.BinarySearch(ends, at+1)
	}
	for ends[near] <= at {
		near++
	}
	return near
}

// inIntervals puts fragments in the order of the intervals in which they lie. Those of
// interval i begin at place first[i].
func inIntervals(all []*fragment, ends, first []int, axis int) []*fragment {
	out, next := make([]*fragment, len(all)), slices.Clone(first)
	at := 0
	for _, f := range all {
		at = interval(ends, f.box.from(axis), at)
		out[next[at]] = f
		next[at]++
	}
	return out
}

// stripAxis returns the only axis along which the parts differ from h, when they
// are in order along it; else -1.
func stripAxis(h *Handle, parts []Handle) int {
	axis := -1
	one := 0
	for one < len(parts) && parts[one].empty != 0 {
		one++
	}
	if one == len(parts) {
		return -1
	}
	for k := range h.box.axes() {
		if parts[one].box.sameAlong(&h.box, k) {
			continue
		}
		if axis >= 0 {
			return -1
		}
		axis = k
	}
	if axis < 0 {
		return -1
	}
	lo, hi := 0, 0 // of the part before
	for i := range parts {
		if parts[i].empty != 0 {
			continue
		}
		b := &parts[i].box
		from, to := b.at(axis)
		if !across(b, &h.box, axis) || from < lo || to < hi {
			return -1
		}
		lo, hi = from, to
	}
	return axis
}

// across reports whether b is as long as box along all axes but one.
func across(b, box *Box, axis int) bool {
	for k := range b.axes() {
		if k != axis && !b.sameAlong(box, k) {
			return false
		}
	}
	return true
}
