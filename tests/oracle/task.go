package oracle

// Tasks: when they run, on what, and what becomes of those that depend on one that failed.

import (
	"maps"
	"slices"
	"strings"
)

// A use is one operand of a task: a handle in a mode.
type use struct {
	*handle
	mode  Mode
	name  string // of the operand
	loose bool   // without order
}

// A task is one that was inserted, or the end of a value (invalidate) in its place.
type task struct {
	id      int // from 1, as inserted; 0: it is none of the script, and has no codelet
	line    int // of the insert
	codelet *Codelet
	uses    []use
	scalars map[string]Value
	after   []*task
	gates   []*gate
	done    bool
	failed  fault
	lost    map[int]bool // failed tasks for which it was cancelled
}

// A gate is an event of the script.
type gate struct{ open bool }

// A hold is data that the script has acquired.
type hold struct {
	*handle
	mode Mode
}

// A group is contributions to a handle that have not been combined.
type group struct {
	handle *handle
	lost   map[int]bool // contributions that failed, or were cancelled for these
}

// commuters are tasks that use an element in any order.
type commuters struct {
	op     string // how all of them contribute, or overwrites
	tasks  map[*task]bool
	failed bool
	tally  tally
	value  Value // overwrites: what each of them stores
}

// overwrites is what commuters do to an element that they have CommuteW.
const overwrites = "="

// gathers is the mode of what unpartition does to the whole: it reads, and combines nothing.
const gathers = CommuteW + 1

// conflict reports whether two uses of shared elements have an order.
func conflict(a *handle, am Mode, b *handle, bm Mode) bool {
	switch {
	case am == gathers || bm == gathers:
		if am == gathers {
			am = bm
		}
		return (am == W || am == RW || am.commutes()) && a.shares(b)
	case am == Scratch || bm == Scratch, am == R && bm == R, am == bm && am.commutes(), am == Redux && bm == Redux && a == b:
		return false
	}
	return a.shares(b)
}

// mustWait reports whether a use of h in mode m waits for t.
func (t *task) mustWait(h *handle, m Mode) bool {
	return slices.ContainsFunc(t.uses, func(u use) bool { return !u.loose && conflict(u.handle, u.mode, h, m) })
}

// combines gives up where a use of h combines contributions behind an unpartition that waits:
// the combination is a write, which waits for that, although the use itself need not.
func (m *Machine) combines(h *handle, earlier []*task) {
	if !slices.ContainsFunc(h.places, func(p int) bool { return h.cells[p].group != nil }) {
		return
	}
	for _, t := range earlier {
		if slices.ContainsFunc(t.uses, func(u use) bool { return u.mode == gathers && u.handle.shares(h) }) {
			panic(undetermined("contributions behind an unpartition that waits"))
		}
	}
}

// ready reports whether t can run behind the tasks of earlier.
func (m *Machine) ready(t *task, earlier []*task) bool {
	for _, g := range t.gates {
		if !g.open {
			return false
		}
	}
	for _, a := range t.after {
		if !a.done {
			return false
		}
	}
	passes := false
	for _, u := range t.uses {
		if u.mode != Redux && u.mode != Scratch && u.mode != gathers {
			m.combines(u.handle, earlier)
		}
		for _, e := range earlier {
			if !u.loose && e.mustWait(u.handle, u.mode) {
				if u.mode == Redux { // the task need not wait, as it has a copy of its own
					panic(undetermined("a contribution behind a task that waits"))
				}
				return false
			}
			passes = passes || u.mode.commutes() && e.commutes(u)
		}
		for _, h := range m.holds {
			if conflict(h.handle, h.mode, u.handle, u.mode) {
				return false
			}
		}
	}
	m.Passed = m.Passed || passes
	return true
}

// commutes reports whether t has a use of elements of v that commutes with v.
func (t *task) commutes(v use) bool {
	return slices.ContainsFunc(t.uses, func(u use) bool { return u.mode == v.mode && u.handle.shares(v.handle) })
}

// advance runs the tasks that can run, in the order of their inserts.
func (m *Machine) advance() {
	for again := true; again; {
		again = false
		for k := 0; k < len(m.pending); k++ {
			if t := m.pending[k]; m.ready(t, m.pending[:k]) {
				m.pending = slices.Delete(m.pending, k, k+1)
				k--
				m.run(t)
				again = true
			}
		}
	}
}

// union adds b to a.
func union(a *map[int]bool, b map[int]bool) {
	if len(b) == 0 {
		return
	}
	if *a == nil {
		*a = map[int]bool{}
	}
	maps.Copy(*a, b)
}

// settle combines the open contributions that a use of h in mode m meets.
func (h *handle) settle(m Mode) {
	for _, p := range h.places {
		if g := h.cells[p].group; g != nil && !(m == Redux && g.handle == h) {
			g.close()
		}
	}
}

// close combines g. One lost contribution, or lost element, and all of the handle is lost.
func (g *group) close() {
	h := g.handle
	lost := map[int]bool{}
	maps.Copy(lost, g.lost)
	for _, p := range h.places {
		maps.Copy(lost, h.cells[p].lost)
	}
	for _, p := range h.places {
		c := &h.cells[p]
		if c.group != g {
			panic("oracle: contributions that overlap")
		}
		c.group, c.commute = nil, nil
		if len(lost) > 0 {
			c.lost = maps.Clone(lost)
		}
	}
}

// run runs t, or cancels it.
func (m *Machine) run(t *task) {
	t.done = true
	if t.codelet == nil { // an invalidate, or what ends data or a view
		for _, u := range t.uses {
			if u.mode == gathers {
				continue
			}
			u.settle(W)
			for _, p := range u.places {
				c := &u.cells[p]
				c.lost, c.filled, c.commute = nil, false, nil
			}
		}
		return
	}
	for _, a := range t.after {
		union(&t.lost, a.causes())
	}
	for _, u := range t.uses {
		if u.mode == Scratch {
			continue
		}
		u.settle(u.mode)
		if !u.mode.reads() {
			continue
		}
		if u.reduceIsInit() {
			m.initialise(u.handle)
		}
		for _, p := range u.places {
			union(&t.lost, u.cells[p].lost)
		}
	}
	m.order(t)
	if t.lost == nil {
		m.execute(t)
	} else {
		t.cancelledAmong()
	}
	if t.failed != "" {
		m.failures = append(m.failures, t)
	}
	causes := t.causes()
	for _, u := range t.uses {
		if !u.mode.writes() {
			continue
		}
		for _, p := range u.places {
			c := &u.cells[p]
			switch {
			case u.mode == Redux:
				union(&c.group.lost, causes)
			case causes != nil:
				c.lost = nil
				union(&c.lost, causes)
			case u.mode == W || u.mode == CommuteW:
				c.lost = nil
			}
			c.filled = true
		}
	}
}

// cancelledAmong gives up where t, which was cancelled for another reason than the data, is
// one of several tasks that use it in any order: those that come before t run, and those
// behind it do not.
func (t *task) cancelledAmong() {
	for _, u := range t.uses {
		if !u.mode.commutes() && !u.loose {
			continue
		}
		for _, p := range u.places {
			c := &u.cells[p]
			own := u.mode == CommuteW // which what the element has lost does not concern
			for id := range t.lost {
				own = own || !c.lost[id]
			}
			if !own || c.commute == nil {
				continue
			}
			if c.commute.failed = true; len(c.commute.tasks) > 1 {
				panic(undetermined("a task that is cancelled among tasks in any order"))
			}
		}
	}
}

// causes are the failures that t, or what needs it, is lost for.
func (t *task) causes() map[int]bool {
	if t.failed != "" {
		return map[int]bool{t.id: true}
	}
	return t.lost
}

// order notes in the elements that t uses which other tasks come in any order with it, and
// gives up where the result would show that.
func (m *Machine) order(t *task) {
	for _, u := range t.uses {
		if u.mode == Scratch {
			continue
		}
		any := u.mode.commutes() || u.loose
		for _, p := range u.places {
			c := &u.cells[p]
			if u.mode == Redux {
				if c.group == nil {
					m.openGroup(u)
				}
				continue
			}
			if !any {
				c.commute = nil
				continue
			}
			op := t.codelet.Contributes[u.name]
			if u.mode == CommuteW {
				op = overwrites
			}
			if c.commute != nil && (op == overwrites) != (c.commute.op == overwrites) {
				c.commute = nil // a group of the other kind
			}
			if c.commute == nil {
				c.commute = &commuters{op: op, tasks: map[*task]bool{}}
				c.commute.tally.add(c.Value)
			}
			q := c.commute
			q.tasks[t] = true
			if len(q.tasks) > 1 && (q.failed || op == "" || op != q.op) {
				panic(undetermined("tasks in any order, whose order shows"))
			}
		}
	}
}

// openGroup begins contributions to the handle of u.
func (m *Machine) openGroup(u use) {
	g := &group{handle: u.handle}
	op, custom := m.reduction(u.handle)
	for _, p := range u.places {
		c := &u.cells[p]
		c.group, c.commute = g, &commuters{op: op}
		if !c.filled {
			c.Value = neutral(op, c.T)
		} else {
			c.commute.tally.add(c.Value)
		}
		c.filled = true
	}
	if custom != nil {
		m.checkNeutral(custom, u.handle)
	}
}

// execute runs the body of t.
func (m *Machine) execute(t *task) {
	ops, scalars := map[string]*operand{}, map[string]Value{}
	for name, v := range t.scalars {
		scalars[name] = computed(v)
	}
	for _, u := range t.uses {
		if u.shape == Void {
			continue
		}
		o := u.operand(t.codelet)
		ops[u.name] = o
		if o.Sparse != "" {
			m.Used[o.Sparse+" "+u.mode.String()]++
			if u.of != nil {
				m.Used["part of a "+o.Sparse]++
			}
			o.sparse = u.sparse
			o.sparse.addTo(ops, strings.TrimSuffix(u.name, sparseValues))
		}
	}
	t.failed = m.runBody(t.codelet, ops, scalars)
	for _, u := range t.uses {
		any := u.mode.commutes() || u.loose
		if !any && u.mode != Redux || u.shape == Void {
			continue
		}
		for _, p := range u.places {
			c := &u.cells[p]
			if u.mode == CommuteW && t.failed == "" {
				if q := c.commute; len(q.tasks) == 1 {
					q.value = c.Value
				} else if q.value != c.Value {
					panic(undetermined("overwrites in any order, which differ"))
				}
				continue
			}
			if any && t.failed != "" {
				if c.commute.failed = true; len(c.commute.tasks) > 1 {
					panic(undetermined("a failure among tasks in any order"))
				}
			}
			if !c.commute.tally.exact(c.commute.op, c.T) && (u.mode == Redux || len(c.commute.tasks) > 1) {
				panic(undetermined("contributions of floats whose order shows"))
			}
		}
	}
}

// addTo adds to ops what a body has of the structure of the matrix name: its sizes, and rows or columns of its entries.
func (m *Sparse) addTo(ops map[string]*operand, name string) {
	for _, a := range m.arrays() {
		o := &operand{mode: R, elem: I32, dims: []int{len(a.items)}, offset: []int{0}}
		for _, i := range a.items {
			o.cells = append(o.cells, &Value{T: I32, I: int64(i)})
		}
		ops[name+"."+a.name] = o
	}
	ops[name] = &operand{mode: R, dims: []int{m.Rows, m.Cols, len(m.Row) * max(1, m.R*m.C), m.R, m.C}, offset: []int{0, 0}}
}

// operand is u as the body has it.
func (u use) operand(c *Codelet) *operand {
	o := &operand{mode: u.mode, elem: u.data.Elem, dims: u.dims, offset: u.offset}
	for _, p := range c.Ops {
		if p.Name == u.name {
			o.Operand = p
		}
	}
	for _, p := range u.places {
		cell := &u.cells[p]
		if u.mode == Scratch {
			o.cells = append(o.cells, &Value{T: u.data.Elem})
			continue
		}
		o.cells = append(o.cells, &cell.Value)
		if op := c.Contributes[u.name]; op != "" && cell.commute != nil {
			o.tallies = append(o.tallies, &cell.commute.tally)
		}
	}
	if u.mode == CommuteW {
		o.mode = W
	}
	if o.mode == W || u.mode == Scratch {
		o.written = make([]bool, len(o.cells))
	}
	return o
}

// note counts the features of a task.
func (m *Machine) note(t *task, s *Stmt) {
	for _, u := range t.uses {
		m.Used["mode "+u.mode.String()]++
		if u.mode == CommuteW {
			m.Used["COMMUTE of W"]++
		}
		m.Used["shape "+u.shape.String()]++
		if t.codelet.isField(u.name) {
			m.Used["struct "+u.mode.String()]++
			m.Used["field "+u.data.Elem.String()]++
		}
		if u.shape != Void {
			m.Used["elem "+u.data.Elem.String()]++
		}
		if u.mode == Redux {
			how := u.reduce
			if !neutralOps[how] {
				how = "reducer"
			}
			m.Used["reduce "+how]++
			m.Used["REDUX "+u.data.Elem.String()]++
			if u.data.Elem.Complex() {
				m.Used["complex REDUX"]++
			}
			for _, o := range t.uses {
				if o.mode == R && o.shape != Void && o.data.Elem != u.data.Elem {
					m.Used["mixed types"]++ // in what is contributed, most likely
				}
			}
		}
		if u.loose {
			m.Used["without order"]++
		}
	}
}

// noteView counts the features of a view.
func (m *Machine) noteView(h *handle, s *Stmt) {
	if h.of != nil {
		m.Used["filter part of a part"]++
	}
	if len(s.Filter) > 1 {
		m.Used["filter then"]++
	}
	if s.Slice != nil {
		m.Used["filter slice"]++
	}
	for _, f := range s.Filter {
		m.Used["filter "+f.Name]++
		for text, on := range map[string]bool{"halo": f.Halo > 0, "inside": f.Inside > 0, "sizes": f.Sizes != nil, "range": f.Range != nil} {
			if on {
				m.Used["filter "+text]++
			}
		}
	}
}
