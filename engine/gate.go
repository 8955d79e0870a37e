package engine

// Gates: events that the program fires and tasks wait for.

// Gate is an event that tasks can wait for. It is closed until Open.
type Gate struct {
	job  *Job
	open bool     // guarded by the submission lock
	list waitlist // tasks that name it
}

// NewGate makes a closed gate.
func (j *Job) NewGate() *Gate {
	g := &Gate{job: j}
	g.list = waitlist{job: j, gate: g}
	return g
}

// Open fires the gate: tasks that wait for it, and later ones that name it, go
// on. Opening it again does nothing. In a Sequential runtime the tasks that
// become ready run inside Open.
func (g *Gate) Open() {
	rt := g.job.rt
	h := rt.takeHand()
	rt.reg.Lock()
	if !g.open {
		g.open = true
		g.list.empty(h)
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
	g.list.add(t)
	return true
}
