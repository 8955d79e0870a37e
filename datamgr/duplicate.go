package datamgr

// Duplicates: read-only copies that share the bytes of their source until it is written.
//
// A duplicate is a datum of its own without a value. While it is open, tasks that read it
// use its alias instead: a handle of the elements of the source, with the duplicate's
// shape. The first submission that writes any of them makes the submitter insert the copy
// before it, from the alias to the duplicate. From then on the duplicate is data like any
// other, except that it stays read-only.

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Duplicate is the state of a datum that duplicates another. Its fields are guarded by
// the submission lock, but for mu.
type Duplicate struct {
	h     *Handle // the duplicate
	alias *Handle
	src   *Handle
	open  bool
	refs  int // owners, each of whom unregisters it

	mu struct { // once it is not open
		sync.Mutex
		copied  bool
		waiters []*Waiter
	}
}

// Handle returns the duplicate.
func (u *Duplicate) Handle() *Handle { return u.h }

// Alias returns the elements of the source.
func (u *Duplicate) Alias() *Handle { return u.alias }

// NewDuplicate makes a datum that can become a duplicate of h.
func (g *Registry) NewDuplicate(h *Handle, site *Site) (*Duplicate, error) {
	d := h.Desc()
	c, err := g.Register(&Spec{Kind: d.Kind, Elem: d.Elem, Dims: d.Shape(), Name: h.Name(), ReadOnly: true, Site: site, Layout: managed(h).Layout()})
	if err != nil {
		return nil, err
	}
	return &Duplicate{h: c, src: h, refs: 1}, nil
}

// Duplicated returns a duplicate that has the value that h has now, or nil: h
// itself, or one that shares the elements of h. It has an owner more then.
func (Submission) Duplicated(h *Handle) *Duplicate {
	if u := h.d.dup; u != nil && h == u.h {
		u.refs++
		return u
	}
	for _, u := range h.d.dups {
		if u.src.Same(h) && u.src.kind == h.kind {
			u.refs++
			return u
		}
	}
	return nil
}

// Open makes u a duplicate. No contributions to its source are open, and all of
// its elements have a value.
func (u *Duplicate) Open(sub Submission) {
	s, d := u.src, u.src.d
	a := &Handle{d: d, axes: s.axes, how: s.how, off: s.off, box: s.box, kind: s.kind, elem: s.elem, rank: s.rank, empty: s.empty,
		readOnly: true, id: u.h.id, site: u.h.site}
	a.more().twin = u.h
	a.frags = slices.Clone(s.list(sub))
	if len(a.frags) == 1 {
		a.f0 = a.frags[0]
	}
	u.alias, u.open = a, true
	u.h.d.dup = u
	d.dups = append(d.dups, u)
	d.live++ // the alias knows its fragments
	for _, f := range a.frags {
		f.slow = true
	}
}

// Busy reports whether accesses without order are under way, so that the source may still
// change although no ordered access comes.
func (u *Duplicate) Busy() bool { return u.src.d.unordered.Load() != 0 }

// Close ends the sharing: the caller submits the copy, unless the duplicate was
// unregistered.
func (u *Duplicate) Close(sub Submission) {
	d := u.src.d
	u.open = false
	d.dups = slices.DeleteFunc(d.dups, func(o *Duplicate) bool { return o == u })
	d.closing = append(d.closing, u)
	d.live--
	for _, f := range u.alias.list(sub) {
		d.findSlow(sub, f)
	}
}

// Written returns an open duplicate that an access to h in mode m ends, or nil.
func (h Managed) Written(_ Submission, m AccessMode) *Duplicate {
	if m == modeR || m == modeScratch {
		return nil
	}
	for _, u := range h.d.dups {
		if u.alias.box.touches(&h.box) {
			return u
		}
	}
	return nil
}

// Closing appends to out the duplicates whose copy, or whose readers, an access
// to h in mode m without order would overtake.
func (h Managed) Closing(_ Submission, m AccessMode, out []*Duplicate) []*Duplicate {
	d := h.d
	if len(d.closing) == 0 || m == modeR || m == modeScratch {
		return out
	}
	d.closing = slices.DeleteFunc(d.closing, func(u *Duplicate) bool { return u.over() })
	for _, u := range d.closing {
		if u.alias.box.touches(&h.box) && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// over reports whether the source is no longer needed.
func (u *Duplicate) over() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.copied && u.h.d.unordered.Load() == 0
}

// Shared returns the open duplicate that h is, or is a part of, or nil.
func (h Managed) Shared(_ Submission) *Duplicate {
	if u := h.d.dup; u != nil && u.open {
		return u
	}
	return nil
}

// Use returns what a task uses that reads the duplicate: its alias. The caller
// registers one unordered access to the duplicate's datum, for those who wait
// for the duplicate.
func (u *Duplicate) Use(_ Submission) *Handle {
	u.alias.flags = u.h.flags
	if x := u.h.extra.Load(); x != nil {
		u.alias.more().name.Store(x.name.Load())
	}
	return u.alias
}

// Disown takes one owner away; it reports whether that was the last.
func (u *Duplicate) Disown(_ Submission) bool {
	u.refs--
	return u.refs == 0
}

// Await makes w, which is armed, wait until the source is no longer needed: the copy was
// made, and tasks that read the duplicate there have ended. It reports false if that is
// so already.
func (u *Duplicate) Await(w *Waiter) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.copied && u.h.d.unordered.Load() == 0 {
		return false
	}
	u.mu.waiters = append(u.mu.waiters, w)
	return true
}

// Copied says that the copy was made, or cannot be.
func (u *Duplicate) Copied(c *Completer) {
	u.mu.Lock()
	u.mu.copied = true
	u.mu.Unlock()
	u.drained(c)
}

// drained releases the waiters if the source is no longer needed.
func (u *Duplicate) drained(c *Completer) {
	u.mu.Lock()
	var ws []*Waiter
	if u.mu.copied && u.h.d.unordered.Load() == 0 {
		ws, u.mu.waiters = u.mu.waiters, nil
	}
	u.mu.Unlock()
	for _, w := range ws {
		if w.Done() {
			c.Release(w)
		}
	}
}

// Waiters calls fn for each waiter for the copy.
func (u *Duplicate) Waiters(fn func(*Waiter)) {
	u.mu.Lock()
	ws := slices.Clone(u.mu.waiters)
	u.mu.Unlock()
	for _, w := range ws {
		fn(w)
	}
}

// DuplicateOf returns the duplicate that h is, or nil.
func (h Managed) DuplicateOf(_ Submission) *Duplicate {
	if u := h.d.dup; u != nil && u.h == h.Handle {
		return u
	}
	return nil
}

// Twin returns the handle that the program knows: the duplicate for an alias,
// else h.
func (h Managed) Twin() *Handle {
	if t := h.twin(); t != nil {
		return t
	}
	return h.Handle
}

// AddUse counts an access to d that is not in its order; see EndUnordered.
func (d *Datum) AddUse() { d.unordered.Add(1) }

// CopyAside gives the duplicate the value of its source where main memory is bounded:
// fragment by fragment, from wherever it is to the duplicate's main instance.
func (u *Duplicate) CopyAside() error {
	to, from := u.h.d, u.alias.d
	if err := to.allocate(); err != nil {
		return err
	}
	to.claimBoxes([]Box{to.box})
	defer to.releaseBoxes([]Box{to.box})
	dst := to.main.Load()
	from.mu.Lock()
	defer from.mu.Unlock()
	var todo []Box
	from.root.leaves(&u.alias.box, func(f *fragment) { todo = append(todo, f.box.meet(&u.alias.box)) })
	for len(todo) > 0 {
		box := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var fs []*fragment
		from.root.leaves(&box, func(f *fragment) { fs = append(fs, f) })
		if len(fs) != 1 { // it was split since
			for _, f := range fs {
				todo = append(todo, f.box.meet(&box))
			}
			continue
		}
		f := fs[0]
		src := from.sourceLocked(f, dst.node, nil)
		if src.node.lost.Load() != nil { // the goroutine that noticed is about to mark the lost values
			from.mu.wake.Wait()
			todo = append(todo, box)
			continue
		}
		f.copies++
		src.pinLocked()
		from.mu.Unlock()
		var a, b iface.Buffer
		src.describePart(u.alias, &box, &a)
		dst.describePart(u.h, &to.box, &b)
		b.Dim = a.Dim
		for k := range int(u.h.rank) {
			a := u.alias.axes.at(k)
			b.Ptr = unsafe.Add(b.Ptr, (box.from(a)-u.alias.box.from(a))*b.Stride[k]*int(b.Elem.Size()))
		}
		err := to.reg.moveBuffer(dst.node, src.node, &b, &a)
		from.mu.Lock()
		f.copies--
		src.unpinLocked(true)
		lost := src.node.lost.Load() != nil
		if lost {
			from.uselessLocked(src)
		}
		from.mu.wake.Broadcast()
		switch {
		case lost: // it is elsewhere, or spoiled by now
			todo = append(todo, box)
		case err != nil:
			return err
		}
	}
	if why := from.spoiledLocked(&u.alias.box); why != nil {
		return &SpoiledError{why.why}
	}
	return nil
}
