package datamgr

// Held data: releasing it in part, and who waits for it.

// Downgrade turns the write accesses of a held task into read accesses, as far
// as that lets others in: where its epoch is the last it becomes a group of
// readers, where readers come next the access joins them, where the fragment
// was split it joins the readers of the pieces, and before a writer nothing
// changes. It returns the accesses that the task has from now on, appended to
// out. Submission lock held.
func (g *Registry) Downgrade(w *Waiter, as, out []Access, c *Completer) []Access {
	for i := range as {
		e := as[i].e
		switch {
		case e.mode == modeR:
			out = append(out, Access{w: w, e: e})
			continue
		case e.kids != nil:
			for _, k := range *e.kids {
				k.rem.Add(1)
				out = append(out, Access{w: w, e: k})
			}
		case e.next == nil:
			e.mode = modeR
			out = append(out, Access{w: w, e: e})
			continue
		case e.next.mode == modeR:
			e.next.rem.Add(1)
			out = append(out, Access{w: w, e: e.next})
		default:
			out = append(out, Access{w: w, e: e})
			continue
		}
		if e.rem.Add(-1) == 0 {
			c.end(e)
		}
	}
	return out
}

// Successors calls fn for every task that waits for one of the accesses to end,
// directly or behind such a task. Submission lock held, and nothing runs.
func Successors(as []Access, fn func(*Waiter)) {
	seen := map[*epoch]bool{}
	for i := range as {
		as[i].e.behind(seen, fn)
	}
}

func (e *epoch) behind(seen map[*epoch]bool, fn func(*Waiter)) {
	for n := e; n != nil; n = n.next {
		if seen[n] {
			return
		}
		seen[n] = true
		if n != e {
			n.waiting(seen, fn)
		}
		if n.kids != nil {
			for _, k := range *n.kids {
				if !seen[k] {
					k.waiting(seen, fn)
					k.behind(seen, fn)
				}
			}
		}
	}
}

// waiting calls fn for the tasks on e's list.
func (e *epoch) waiting(seen map[*epoch]bool, fn func(*Waiter)) {
	for a := e.waiters.Load(); a != nil && a != &activated; a = a.next {
		if a.w != nil {
			fn(a.w)
		} else if !seen[a.e] {
			a.e.waiting(seen, fn)
			a.e.behind(seen, fn)
		}
	}
}

// Free reports whether ordered accesses with these operands would not wait, not
// even for a reduction. Submission lock held.
func (g *Registry) Free(ops []Operand) bool {
	if g.OpenGroup(ops) != nil {
		return false
	}
	for i := range ops {
		for _, f := range ops[i].Handle.list() {
			e := f.tail
			idle := e.rem.Load() == 1
			joins := ops[i].Mode == modeR && e.mode == modeR && e.waiters.Load() == &activated
			if !idle && !joins {
				return false
			}
		}
	}
	return true
}

// Busy reports whether a task that was submitted uses h and has not ended. held
// are the accesses of data that the caller holds; they do not count.
// Contributions that wait to be combined do not count either. Submission lock
// held.
func (g *Registry) Busy(h *Handle, held [][]Access) bool {
	if h.d.unordered.Load() != 0 {
		return true
	}
	own := func(e *epoch) int32 {
		n := int32(0)
		for _, as := range held {
			for i := range as {
				if as[i].e == e {
					n++
				}
			}
		}
		return n
	}
	// The fragments of now: a part of a view that ended does not know of those
	// that were made since. Others' accesses to them count, too.
	busy := false
	h.d.root.leaves(&h.box, func(f *Fragment) {
		busy = busy || f.tail.rem.Load() != 1+own(f.tail) ||
			f.open != nil && f.open.redux.frag.tail.rem.Load() != 1
	})
	return busy
}
