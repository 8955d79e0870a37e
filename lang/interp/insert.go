package interp

// insert: tasks. What can be known about a site is found out once, in insert_site.go;
// at run time the task description of the site is filled in again and handed to the
// engine.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
)

// siteState is what a run keeps for a site.
type siteState struct {
	spec    engine.TaskSpec
	handles []*Handle
	workers []int
	nodes   []int // of operands that have one
	order   int64
}

// state returns the description of site s to fill in.
func (m *Machine) state(s *insertSite) *siteState {
	if s.id >= len(m.sites) {
		m.sites = append(m.sites, make([]*siteState, s.id+1-len(m.sites))...)
	}
	st := m.sites[s.id]
	if st == nil || s.fresh {
		st = &siteState{handles: make([]*Handle, len(s.ops)), nodes: make([]int, len(s.ops))}
		st.spec = engine.TaskSpec{Codelet: s.codelet, Operands: make([]engine.Operand, len(s.ops)),
			Args: make([]iface.Scalar, len(s.scalars)), Origin: engine.Origin{Site: s.site}}
		for k := range s.ops {
			st.spec.Operands[k].Mode = s.ops[k].mode
		}
		for k := range s.scalars {
			if s.scalars[k].fixed != nil {
				st.spec.Args[k] = *s.scalars[k].fixed
			}
		}
		m.sites[s.id] = st
	}
	return st
}

// insert submits one task. It returns the task when value is set.
func (m *Machine) insert(f *frame, s *insertSite, value bool) any {
	m.poll(s.at)
	if m.used.tasks >= m.may.tasks {
		m.exceeded("tasks", s.at)
	}
	m.used.tasks++
	if m.plan != nil {
		m.plan.pay(m, s.at)
	}
	st, sync := m.describe(f, s)
	spec := &st.spec
	m.inserted++
	if value { // else it is forgotten at once
		m.alloc(taskBytes, s.at)
	}
	if s.opts.order != nil {
		m.alloc(placeBytes, s.at)
	}
	var t *engine.Task
	for {
		var err error
		switch keep := value || sync; {
		case s.opts.order != nil:
			t, err = m.job.SubmitWith(spec, engine.TaskOptions{Place: st.order})
		case keep:
			t, err = m.job.SubmitTask(spec)
		default:
			err = m.job.Submit(spec)
		}
		if err == nil {
			break
		}
		if !m.widen(err, s.at) {
			m.insertFailed(err, s, st)
		}
	}
	if m.record != nil {
		m.submitted(s, st)
	}
	if t == nil {
		return nil
	}
	out := &Task{t: t, codelet: s.codelet.Name, site: s}
	if sync {
		m.waitTask(out, s.at)
	}
	return out
}

// submitted takes down what a statement of a session has inserted.
func (m *Machine) submitted(s *insertSite, st *siteState) {
	m.record.insert(s, st)
	if s.opts.order == nil {
		return
	}
	if m.ordered == nil {
		m.ordered = map[int][]int64{}
	}
	w := st.spec.Workers[0]
	m.ordered[w] = append(m.ordered[w], st.order)
}

// describe fills in the description of a task of the site. It reports whether the
// script waits for the task.
func (m *Machine) describe(f *frame, s *insertSite) (st *siteState, sync bool) {
	st = m.state(s)
	spec := &st.spec
	for k := range s.ops {
		op := &s.ops[k]
		h := op.value(f)
		if h == nil {
			m.fail("E0205", op.at, "this handle has no value yet")
		}
		st.handles[k] = h
		spec.Operands[k].Handle = h.h
		if op.node != nil {
			st.nodes[k] = m.nodeHere(op.node(f), op.at)
			spec.Operands[k].Pin = engine.PinTo(st.nodes[k])
		}
	}
	if m.plan != nil {
		m.plan.operands(m, s.whole)
	}
	for k := range s.scalars {
		if c := &s.scalars[k]; c.fixed == nil {
			c.set(f, &spec.Args[k])
		}
	}
	if m.plan != nil {
		m.unknown = false // the graph does not depend on scalars
	}
	for _, p := range s.pairs {
		a, b := st.handles[p[0]], st.handles[p[1]]
		if a.root == b.root && a.h.Overlaps(b.h) {
			x, y := &s.ops[p[0]], &s.ops[p[1]]
			m.shareElements(x.at, y.at, a, b, x.mode, y.mode)
		}
	}
	if s.folds {
		m.checkFolds(s, st)
	}
	for _, k := range s.copies {
		if h := st.handles[k]; !h.copied {
			h.copied = true
			d := h.h.Desc()
			m.countBytes(int64(m.rt.Workers())*int64(d.Len())*int64(d.Elem.Size()), s.ops[k].at)
		}
	}
	for k, slot := range s.vars {
		spec.Origin.Vars[k] = f.n[slot]
	}
	spec.Origin.Call = f.engineCall()
	if s.opts.any {
		sync = m.applyOptions(f, s, st)
	} else if m.devices.workers != nil {
		m.restrict(f, s, st)
	} else if s.noCPU() {
		m.noWorker(s, s.at, "its codelet runs on devices, and this run has none", devicesOf(s.kinds)...)
	}
	return st, sync
}

// checkFolds raises E0303 when the copies of an operand are not combined by what
// the codelet does to them.
func (m *Machine) checkFolds(s *insertSite, st *siteState) {
	for k := range s.ops {
		op, h := &s.ops[k], st.handles[k]
		if op.body != nil && h.root.fold != "" {
			if wrong := op.body.Misuse(s.callee, h.root.fold, handleText(op.at, h), op.at.span()); wrong != nil {
				wrong.Fixes = nil // they are for the mode alone
				label(wrong, h.root.at, "registered here")
				wrong.Stack = m.diagnostic(wrong.Code, op.at, wrong.Message).Stack
				m.raise(wrong)
			}
		}
		if slices.Contains(op.mixed, h.root.fold) {
			wrong := check.MixedTypes(s.callee, s.elems, op.name, h.root.fold, handleText(op.at, h), op.at.span())
			wrong.Fixes = nil
			label(wrong, h.root.at, "registered here")
			wrong.Stack = m.diagnostic(wrong.Code, op.at, wrong.Message).Stack
			m.raise(wrong)
		}
		if op.fold == "" || h.root.fold == "" || op.fold == h.root.fold {
			continue
		}
		d := m.diagnostic("E0303", op.at, check.FoldMessage(s.callee.Sig.Name, op.name, op.fold, handleText(op.at, h), h.root.fold))
		d.Label = fmt.Sprintf("needs `reduce = %s`", op.fold)
		label(d, h.root.at, "registered here")
		d.Help = []string{fmt.Sprintf("register it with `reduce = %s`", op.fold)}
		m.raise(d)
	}
}

// shareElements raises E0304 about two uses of data in one task or acquire.
func (m *Machine) shareElements(first, second place, a, b *Handle, x, y iface.AccessMode) {
	msg := fmt.Sprintf("`%s` and `%s` share elements, and one use writes them", handleText(first, a), handleText(second, b))
	if a == b {
		msg = fmt.Sprintf("`%s` appears twice, and one use writes it", handleText(first, a))
	}
	d := m.diagnostic("E0304", second, msg)
	verb := func(m iface.AccessMode) string {
		if m == iface.R {
			return "read here"
		}
		return "written here"
	}
	d.Label = verb(y)
	label(d, first, verb(x))
	d.Notes = []string{"operands that share elements may only be read: else the result would depend on the device"}
	d.Help = []string{"pass it once as RW, or copy it first"}
	m.raise(d)
}

// nodeHere returns the number of a node; E0803 when this run does not have it.
func (m *Machine) nodeHere(v any, at place) int {
	n, ok := v.(Node)
	if !ok {
		return 0
	}
	k, ok := m.node(n)
	if !ok {
		has, help := "this run has main memory only", "drop the `@`"
		if n.Kind == "gpu" {
			help += "; " + moreDevices(nil)
		}
		if m.devices.workers != nil {
			var names []string
			for _, n := range m.nodes() {
				names = append(names, n.String())
			}
			has = "this run has " + strings.Join(names, ", ")
		}
		m.failHelp("E0803", at, has, help, "no worker can use data on %s", n)
	}
	return k
}
