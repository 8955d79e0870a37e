package datamgr

// Batches: the members of a group are counted several at a time, where they are
// submitted and where they end. Otherwise the submitter and the workers would
// fetch the line with the epoch's count from each other for every member.

// batch is the group that was joined last.
type batch struct {
	f    *Fragment
	mode AccessMode
	left int32 // members that the last epoch of f counts already, and that have not come
}

// batchSize is how many members are counted at a time, once a second one has
// come right after the first.
const batchSize = 32

// beginBatch is called when an access joins the last epoch of f, which is active.
// It returns for how many more that are to come the epoch should count.
// Submission lock held.
func (g *Registry) beginBatch(f *Fragment, m AccessMode) int32 {
	b := &g.batch
	if !group(m) {
		return 0
	}
	if b.f == f && b.mode == m {
		b.left = batchSize - 1
		return b.left
	}
	g.endBatch()
	b.f, b.mode = f, m
	return 0
}

// endBatch makes the count of the group exact: before anybody asks whether a
// fragment is idle. Submission lock held.
func (g *Registry) endBatch() {
	b := &g.batch
	if b.left > 0 {
		b.f.tail.rem.Add(-b.left) // the last epoch counts 1 for itself: it does not end
	}
	*b = batch{}
}

// FinishMember ends the only access of a task, in a mode in which others may run
// together with it. It may leave that to be done later, by FinishLate.
func (c *Completer) FinishMember(a *Access) {
	if c.late != a.e {
		c.FinishLate()
		c.late = a.e
	}
	c.lates++
}

// Late reports whether accesses were left to be ended.
func (c *Completer) Late() bool { return c.late != nil }

// LateFor reports whether they may wait until the access a ends: it is of the
// same group, which cannot end without it.
func (c *Completer) LateFor(a *Access) bool { return c.late == a.e }

// FinishLate ends the accesses that were left.
func (c *Completer) FinishLate() {
	if e, n := c.late, c.lates; e != nil {
		c.late, c.lates = nil, 0
		if e.rem.Add(-n) == 0 {
			c.end(e)
		}
	}
}
