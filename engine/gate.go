package engine

// Gates: events that the program fires and tasks wait for.

import "slices"

// Gate is an event that tasks can wait for. It is closed until Open.
type Gate struct {
	job     *Job
	open    bool    // guarded by the submission lock
	waiting []*task // guarded by the submission lock
}

// NewGate makes a closed gate.
func (j *Job) NewGate() *Gate { return &Gate{job: j} }

// Open fires the gate: tasks that wait for it, and later ones that name it, go
// on. Opening it again does nothing. In a Sequential runtime the tasks that
// become ready run inside Open.
func (g *Gate) Open() {
	rt := g.job.rt
	h := rt.takeHand()
	rt.reg.Lock()
	if !g.open {
		g.open = true
		for _, t := range g.waiting {
			if t.Done() {
				h.c.Release(&t.Waiter)
			}
		}
		g.waiting = nil
		g.job.forget(g)
	}
	rt.reg.Unlock()
	rt.giveHand(h)
}

// Opened reports whether the gate was opened.
func (g *Gate) Opened() bool {
	rt := g.job.rt
	rt.reg.Lock()
	defer rt.reg.Unlock()
	return g.open
}

// addSuccessor makes t wait for g. Submission lock held.
func (g *Gate) addSuccessor(t *task) bool {
	if g.open {
		return false
	}
	if len(g.waiting) == 0 {
		g.job.gates = append(g.job.gates, g)
		g.job.rt.jobs[g.job] = struct{}{} // it may have been closed
	}
	g.waiting = append(g.waiting, t)
	return true
}

// forget takes g from the list of gates with waiting tasks. Submission lock held.
func (j *Job) forget(g *Gate) {
	if i := slices.Index(j.gates, g); i >= 0 {
		j.gates = slices.Delete(j.gates, i, i+1)
	}
	j.leave()
}

// dropWaiting releases the tasks of j up to number id that wait for closed
// gates: they are cancelled, and will find out. Submission lock held.
func (j *Job) dropWaiting(id int64, h *hand) {
	for o := range j.rt.jobs {
		for _, g := range slices.Clone(o.gates) {
			g.waiting = slices.DeleteFunc(g.waiting, func(t *task) bool {
				if t.job != j || t.Order > id {
					return false
				}
				if t.Done() {
					h.c.Release(&t.Waiter)
				}
				return true
			})
			if len(g.waiting) == 0 {
				o.forget(g)
			}
		}
	}
}
