package oracle

// Waiting: which statements wait for which tasks, the failures they meet, and data that
// the script holds.

import (
	"maps"
	"slices"
)

// stuck raises R0104.
func (m *Machine) stuck(line int) { m.fail(line, "R0104", "E0405") }

// raise raises the failures of tasks.
func (m *Machine) raise(lost map[int]bool, line int) {
	e := &Error{Codes: []string{"R0101"}, Line: line}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		e.Tasks = append(e.Tasks, m.tasks[id-1].public())
	}
	panic(e)
}

// waits reports whether a use of h has to wait for a task, or for data that the script holds.
func (m *Machine) waits(h *handle, mode Mode) bool {
	return slices.ContainsFunc(m.pending, func(t *task) bool { return t.mustWait(h, mode) }) ||
		slices.ContainsFunc(m.holds, func(x *hold) bool { return conflict(x.handle, x.mode, h, mode) })
}

// settled waits until h can be used in mode mode.
func (m *Machine) settled(h *handle, mode Mode, line int) {
	for _, p := range h.places {
		if h.cells[p].loose {
			panic(undetermined("data is used beside tasks without order"))
		}
	}
	if m.waits(h, mode) {
		m.stuck(line)
	}
	m.combines(h, m.pending)
	h.settle(mode)
}

// read waits for the value of h and raises why it has none. With partly set, elements
// that nothing has written are no error.
func (m *Machine) read(h *handle, line int, partly bool) {
	if !partly || h.reduceIsInit() {
		m.needs(h, line)
	} else if !slices.ContainsFunc(h.places, func(p int) bool { return h.cells[p].has == written }) && m.waits(h, R) {
		panic(undetermined("data without a value, behind a task that waits")) // in one piece it is shown at once
	}
	m.settled(h, R, line)
	if h.reduceIsInit() {
		m.initialise(h)
	}
	var lost map[int]bool
	for _, p := range h.places {
		union(&lost, h.cells[p].lost)
		h.cells[p].commute = nil
	}
	if lost != nil {
		m.raise(lost, line)
	}
}

// waitAll is a wait for all tasks, which raises what was not raised yet.
func (m *Machine) waitAll(line int) func() {
	return func() {
		if len(m.pending) > 0 {
			m.stuck(line)
		}
		for d := range m.allData() {
			for k := range d.cells {
				d.cells[k].busy, d.cells[k].loose = false, false
			}
		}
		if len(m.failures) == 0 {
			return
		}
		lost := map[int]bool{}
		for _, t := range m.failures {
			lost[t.id] = true
		}
		m.failures = nil
		defer func() {
			e := recover().(*Error)
			e.Every = true
			panic(e)
		}()
		m.raise(lost, line)
	}
}

// Written is where a script was when it wrote a checkpoint.
type Written struct {
	Output int // bytes that it had printed
	Tasks  int // that it had inserted
}

// checkpointFolder is the folder of all checkpoints.
const checkpointFolder = "state"

// checkpoint waits for all tasks and reads all data.
func (m *Machine) checkpoint(line int) {
	if len(m.holds) > 0 {
		m.fail(line, "E0405")
	}
	m.waitAll(line)()
	for d := range m.allData() {
		d.whole.settle(R)
	}
	m.Used["checkpoint"]++
	m.Written = append(m.Written, Written{m.out.Len(), len(m.Tasks)})
}

// allData is the data that tasks have used.
func (m *Machine) allData() map[*datum]bool {
	all := map[*datum]bool{}
	for _, t := range m.tasks {
		for _, u := range t.uses {
			all[u.datum] = true
		}
	}
	return all
}

// waitTask waits for one task.
func (m *Machine) waitTask(t *task, line int) {
	if !t.done {
		m.stuck(line)
	}
	if c := t.causes(); c != nil {
		m.raise(c, line)
	}
}

// wait waits for what r names: a task, a gate, data.
func (m *Machine) wait(r *Ref, line int) {
	switch x, _ := m.names.find(r.Name); x := x.(type) {
	case *task:
		m.waitTask(x, line)
		return
	case *gate:
		if !x.open {
			m.stuck(line)
		}
		return
	}
	hs := m.handles(r, line)
	var lost map[int]bool
	for _, h := range hs {
		for _, t := range m.pending {
			if t.mustWait(h, W) {
				m.stuck(line)
			}
		}
		for _, p := range h.places {
			c := &h.cells[p]
			union(&lost, c.lost)
			if c.group != nil {
				union(&lost, c.group.lost)
			}
			if c.loose {
				panic(undetermined("data is waited for beside tasks without order"))
			}
		}
	}
	if lost != nil {
		m.raise(lost, line)
	}
}

// acquire runs an acquire, with or without a block.
func (m *Machine) acquire(s *Stmt) flow {
	var hs []*handle
	for k, r := range s.Refs {
		h := m.handle(r, s.Line)
		for j, o := range hs {
			if (s.Modes[k] != R || s.Modes[j] != R) && h.shares(o) {
				m.fail(s.Line, "E0304")
			}
		}
		hs = append(hs, h)
	}
	names := map[string]any{}
	for k, h := range hs {
		func() {
			defer func() {
				if r := recover(); r != nil { // what was taken before is given back
					for _, x := range names {
						m.drop(x.(*hold))
					}
					panic(r)
				}
			}()
			names[s.Names[k]] = m.take(h, s.Modes[k], s.Line)
		}()
	}
	m.Reached[s.Line] = true
	if s.Body == nil {
		maps.Copy(m.names.names, names)
		return next
	}
	defer func() {
		for k := range hs {
			m.drop(names[s.Names[k]].(*hold))
		}
	}()
	return m.block(s.Body, names)
}

// take acquires h.
func (m *Machine) take(h *handle, mode Mode, line int) *hold {
	m.Used["acquire "+mode.String()]++
	if structOf(h.name) != h.name {
		m.Used["acquire field"]++
	}
	switch mode {
	case R, RW:
		m.needs(h, line)
		m.settled(h, mode, line)
		m.read(h, line, false)
	case W:
		m.settled(h, mode, line)
		for _, p := range h.places {
			c := &h.cells[p]
			c.Value, c.has, c.filled, c.lost = Value{T: c.T}, written, true, nil
		}
	}
	for _, p := range h.places {
		h.cells[p].commute = nil
	}
	x := &hold{handle: h, mode: mode}
	m.holds = append(m.holds, x)
	return x
}

// drop gives held data back.
func (m *Machine) drop(x *hold) {
	m.holds = slices.DeleteFunc(m.holds, func(h *hold) bool { return h == x })
	m.advance()
}

func (m *Machine) release(s *Stmt) {
	v, _ := m.names.find(s.Names[0])
	x := v.(*hold)
	switch {
	case s.Modes == nil:
		m.drop(x)
	case s.Modes[0] == R:
		x.mode = R
		m.advance()
	}
}

// enter runs the body of f for the arguments of s, and leaves the result in m.result.
func (m *Machine) enter(f *Func, s *Stmt) {
	names := map[string]any{}
	for k, a := range s.Args {
		if a.Ref == nil {
			v := m.number(a.Expr, s.Line)
			if t := scalarTypes[f.Params[k].Type]; t == F64 || t == C128 {
				v = convert(t, v)
			}
			names[f.Params[k].Name] = v
			continue
		}
		if v, ok := m.structs(a.Ref); ok {
			m.passStructs(names, f.Params[k].Name, v, a.Ref, s.Line)
			continue
		}
		x, _ := m.names.find(a.Ref.Name)
		if v, ok := x.(*view); ok && len(a.Ref.Index) == 0 {
			names[f.Params[k].Name] = v
			continue
		}
		names[f.Params[k].Name] = m.handle(a.Ref, s.Line)
	}
	here := m.names
	m.result = nil
	func() {
		m.names = m.global
		defer func() { m.names = here }()
		m.block(f.Body, names)
	}()
	if v, ok := m.result.(Value); ok && (f.Result == "float" || f.Result == "complex") {
		m.result = convert(scalarTypes[f.Result], v)
	}
}

// call calls a function of the script.
func (m *Machine) call(s *Stmt) {
	m.enter(m.funcs[s.Name], s)
	if s.Target == nil {
		return
	}
	r := m.result
	m.result = nil
	if h, ok := r.(*handle); ok && !slices.Contains(m.names.owned, h.datum) {
		m.names.owned = append(m.names.owned, h.datum)
		m.names.order = append(m.names.order, s.Target.Name)
	}
	m.names.names[s.Target.Name] = r
}
