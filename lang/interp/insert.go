package interp

// insert: tasks. The constant facts about a site are collected once, in insertSite. At
// run time the task description of the site is filled in again and handed to the engine.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/check/redux"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// siteState is what a run keeps for a site.
type siteState struct {
	spec    engine.TaskSpec
	handles []*Handle
	workers []int
	nodes   []int // of operands that have one
	on      int   // 1 + the rank that runs it; 0: the ranks decide
	ssend   bool
	after   []*cluster.Ticket
	options engine.TaskOptions
}

// state returns the description of site s to fill in.
func (m *Machine) state(s *insertSite) *siteState {
	if s.id >= len(m.sites) {
		m.sites = append(m.sites, make([]*siteState, s.id+1-len(m.sites))...)
	}
	st := m.sites[s.id]
	if st == nil && m.plan == nil {
		m.prog.prepare(s.codelet)
	}
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
	if m.replays() {
		return m.skipInsert(f, s)
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
	var ticket *cluster.Ticket
	for {
		var err error
		switch keep := value || sync; {
		case m.ranks != nil:
			if ticket, err = m.submitOnRank(s, st, keep); ticket != nil {
				t = ticket.Local()
			}
		case s.opts.uncommon():
			t, err = m.job.SubmitWith(spec, st.options)
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
	if t == nil && ticket == nil {
		return nil
	}
	out := &Task{t: t, ticket: ticket, codelet: s.codelet.Name, site: s}
	if m.checkpoints != nil {
		out.before = m.checkpoints.skips
	}
	if sync {
		m.waitTask(out, s.at)
	}
	return out
}

// submitOnRank inserts the task of a site, which one of the ranks runs.
func (m *Machine) submitOnRank(s *insertSite, st *siteState, keep bool) (*cluster.Ticket, error) {
	t := &m.rankTask
	t.TaskSpec, t.On, t.AfterTickets, t.Ssend = st.spec, st.on, st.after, st.ssend
	if t.Unordered || slices.ContainsFunc(t.Operands, func(op engine.Operand) bool { return op.Unordered }) {
		m.oneRankOnly("a use of data without order", "leave `unordered` and `sequential = false` out", s.at)
	}
	if !keep && !s.opts.uncommon() {
		return nil, m.ranks.Submit(t)
	}
	if s.opts.order != nil {
		m.oneRankOnly("a place in the sequence of a worker", "leave `order` out", s.opts.at["order"])
	}
	return m.ranks.SubmitTask(t, st.options)
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
	m.ordered[w] = append(m.ordered[w], st.options.Place)
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
	if s.layouts != nil {
		spec.Codelet = m.chooseLayouts(s, st)
	}
	if m.plan != nil {
		m.plan.operands(m, s.whole)
		m.plannedSizes(s, st)
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

// plannedSizes notes which data may have another size after a task of a plan.
func (m *Machine) plannedSizes(s *insertSite, st *siteState) {
	for k, h := range st.handles {
		if h.h.Resizable() && s.ops[k].mode.Writes() {
			h.root.grows = h.root.grows || m.prog.mayResize(s.codelet, k)
			if m.ranks != nil && h == h.root {
				m.plan.note(s.ops[k].at, "a plan does not know the size of data with a capacity after this: messages with it are estimated")
			}
		}
	}
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
			wrong := redux.MixedTypes(s.callee, s.elems, op.name, h.root.fold, handleText(op.at, h), op.at.span())
			wrong.Fixes = nil
			label(wrong, h.root.at, "registered here")
			wrong.Stack = m.diagnostic(wrong.Code, op.at, wrong.Message).Stack
			m.raise(wrong)
		}
		if op.fold == "" || h.root.fold == "" || op.fold == h.root.fold {
			continue
		}
		d := m.diagnostic("E0303", op.at, redux.FoldMessage(s.callee.Sig.Name, op.name, op.fold, handleText(op.at, h), h.root.fold))
		d.Label = fmt.Sprintf("needs `reduce = %s`", op.fold)
		label(d, h.root.at, "registered here")
		d.Help = []string{fmt.Sprintf("register it with `reduce = %s`", op.fold)}
		m.raise(d)
	}
}

// shareElements raises E0304 about two uses of data in one task or acquire.
func (m *Machine) shareElements(first, second position, a, b *Handle, x, y iface.AccessMode) {
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
func (m *Machine) nodeHere(v any, at position) int {
	n, ok := v.(Node)
	if !ok {
		return 0
	}
	k, ok := m.node(n)
	if !ok {
		has, help := "this run has main memory only", "drop the `@`"
		switch n.Kind {
		case "gpu":
			help += "; " + moreDevices(nil)
		case "numa":
			help += "; `--numa` makes the NUMA nodes that `starpush info` lists memory nodes; a program does by `engine.Options.NUMA`"
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

// Operands that may have another layout on devices.

// chooseLayouts returns the codelet for a task of the site with these handles: all its operands that may have another layout
// are converted, or none, as its kernels are for one of the two.
func (m *Machine) chooseLayouts(s *insertSite, st *siteState) *engine.Codelet {
	choice := s.layouts
	first := st.handles[choice.operands[0]].root.layouts
	for _, k := range choice.operands {
		h := st.handles[k]
		if h.root.layouts == nil || h != h.root || s.ops[k].node != nil && st.nodes[k] == 0 || !slices.EqualFunc(h.layouts, first, sameDevices) {
			return choice.plain
		}
	}
	for _, k := range choice.operands {
		want := choice.other.Sig.Flat().Params
		n := -1
		for i := range want {
			if want[i].Mode == iface.NoMode {
				continue
			}
			if n++; n == k {
				m.layoutFits(s, st.handles[k], k, &want[i])
			}
		}
	}
	return s.codelet
}

// sameDevices reports whether two layouts are for the same devices.
func sameDevices(a, b *Layout) bool { return slices.Equal(a.kinds, b.kinds) }

// layoutFits raises E0705 if a layout of h, operand k of the site, is not what the other codelet takes for p.
func (m *Machine) layoutFits(s *insertSite, h *Handle, k int, p *types.Param) {
	elem := p.Type.Elem
	if p.Type.Param != 0 {
		elem = h.typ.Elem
		for i, q := range s.codelet.Types.Operands {
			if own := paramOf(s.callee, i); own != nil && own.Type.Param == p.Type.Param {
				elem = q.Elem
			}
		}
	}
	for _, l := range h.layouts {
		far := l.into.Sig.Params[1].Type
		if e := operandElem(l.into, 1, h.typ.Elem); types.SameKind(p.Type, far) && e == elem {
			continue
		}
		d := m.diagnostic("E0705", s.ops[k].at, fmt.Sprintf("devices have `%s` as %s, and `%s` takes %s", h.Name(), typeText(far), s.layouts.other.Name, typeText(p.Type)))
		label(d, l.at, "its layout")
		d.Notes = []string{"codelet " + s.layouts.other.Sig.Text, "codelet " + l.into.Sig.Text}
		d.Help = []string{"give the layout and the codelet the same type, or insert another codelet"}
		m.raise(d)
	}
}

// paramOf returns the parameter of o that operand i is.
func paramOf(o *types.Object, i int) *types.Param {
	all := o.Sig.Flat().Params
	for k := range all {
		if all[k].Mode == iface.NoMode {
			continue
		}
		if i == 0 {
			return &all[k]
		}
		i--
	}
	return nil
}

// typeText writes a type with its article.
func typeText(t *types.Type) string { return "a " + t.String() }

// The constant facts about an insert of a script: operands, arguments, options.

// insertSite is the code of one insert.
type insertSite struct {
	id      int
	at      position // of the word insert
	whole   position
	callee  *types.Object
	codelet *engine.Codelet
	name    string // as the script writes it: "blas.gemm"
	ops     []operandCode
	scalars []scalarCode
	pairs   [][2]int // of operands that must not share elements: one of them is written
	fresh   bool     // arguments may run this site again: the description is not reused
	site    *engine.Site
	vars    []int // slots of the loop variables in site.VarNames
	opts    insertOptions
	folds   bool                // some operand has a fold
	elems   map[byte]iface.Elem // where some operand has REDUX: what type parameters stand for
	kinds   []DeviceKind        // of the codelet's own where; nil: all
	placed  bool                // some operand has a node
	layouts *layoutChoice       // of a codelet with the option layouts
	copies  []int               // operands that are REDUX or SCRATCH: each worker has memory of its own for them
}

// operandCode is one handle argument.
type operandCode struct {
	value handleFn
	mode  iface.AccessMode
	at    position // the whole argument
	name  string
	node  refFn                // after @
	fold  string               // REDUX: what the codelet does to it, "" if that is not known
	body  *redux.Contributions // REDUX: of a body that does not only contribute; nil: it does
	mixed []string             // REDUX: reductions that the body serves in another type than that of the elements
}

// scalarCode stores one scalar argument.
type scalarCode struct {
	set   func(f *frame, s *iface.Scalar)
	fixed *iface.Scalar // of a constant: it is stored once
	at    position
	nam   string
}

// insertOptions are the options of a site; nil ones are not given.
type insertOptions struct {
	any                               bool
	priority, color, order, bundle    intFn
	rank, retry                       intFn
	flops                             floatFn
	name, where, worker, after, loose refFn
	sync, sequential, ssend           boolFn
	at                                map[string]position
}

// uncommon reports whether some are in engine.TaskOptions.
func (o *insertOptions) uncommon() bool { return o.order != nil || o.bundle != nil || o.retry != nil }

// insertSite compiles an insert.
func (c *compiler) insertSite(e *syntax.Insert) *insertSite {
	o := e.Callee
	if o == nil || o.Sig == nil {
		c.bug(e, "insert without codelet")
	}
	s := &insertSite{id: c.prog.nsites, at: position{c.file, e.Word}, whole: c.positionOf(e), callee: o}
	c.prog.nsites++
	for k, id := range e.Path {
		if k > 0 {
			s.name += "."
		}
		s.name += id.Name
	}
	s.codelet = c.codelet(e, o)
	s.layouts = c.prog.layoutChoice(s.codelet)
	loops := c.loops[max(0, len(c.loops)-2):]
	sp := s.at.span()
	s.site = &engine.Site{File: sp.File, Line: sp.Start.Line, Col: sp.Start.Col, Data: s}
	for _, v := range loops {
		s.site.VarNames = append(s.site.VarNames, v.Name)
		s.vars = append(s.vars, v.Slot)
	}
	for i := range o.Sig.Params {
		p := &o.Sig.Params[i]
		var a *syntax.TaskArg
		if i < len(e.Bound) {
			a = e.Bound[i]
		}
		if p.Mode == iface.NoMode {
			s.scalars = append(s.scalars, c.scalar(e, o, p, a))
			if a != nil && hasCall(a.Value) {
				s.fresh = true
			}
			continue
		}
		if a == nil {
			c.bug(e, "no argument for %s", p.Name)
		}
		mode, _ := p.Passed(a.Mode)
		op := operandCode{value: c.handle(a.Value), mode: mode, at: c.positionOf(a), name: p.Name}
		if a.At != nil {
			op.node, s.placed = c.ref(a.At), true
		}
		if a.Mode == iface.Redux {
			op.fold = redux.FoldOf(o, p.Name)
			if body := redux.ContributionsOf(o, p.Name); !body.Sound() {
				op.body = body
			}
			op.mixed = redux.MixedReductions(o, e.TypeArgs, p.Name)
			s.elems = e.TypeArgs
			s.folds = s.folds || op.fold != "" || op.body != nil || op.mixed != nil
		}
		if hasCall(a.Value) {
			s.fresh = true
		}
		if p.Type.Sparse() != nil {
			s.addSparse(op, p.Type)
			continue
		}
		if a.Mode == iface.Redux || a.Mode == iface.Scratch {
			s.copies = append(s.copies, len(s.ops))
		}
		s.ops = append(s.ops, op)
	}
	for i := range s.ops {
		for j := range i {
			x, y := s.ops[i].mode, s.ops[j].mode
			if (x != iface.R || y != iface.R) && x != iface.Scratch && y != iface.Scratch {
				s.pairs = append(s.pairs, [2]int{j, i})
			}
		}
	}
	c.insertOptions(s, e.With)
	return s
}

// addSparse adds the arrays of the sparse matrix op, of type t, to the operands, and sizes to the scalars.
func (s *insertSite) addSparse(op operandCode, t *types.Type) {
	first, whole, name := len(s.ops), op.value, op.name
	f := t.Sparse()
	for i, a := range f.Arrays {
		array := op
		array.name = name + "." + a.Name
		if i != f.Values() && !f.Fields {
			array.mode = iface.R
		}
		array.value = func(f *frame) *Handle { // after the first, of what that is an array of
			return &f.m.sites[s.id].handles[first].sparse.arrays[i]
		}
		if i == 0 {
			array.value = func(f *frame) *Handle {
				h := whole(f)
				if h == nil {
					return nil
				}
				return &h.sparse.arrays[0]
			}
		}
		s.ops = append(s.ops, array)
	}
	for _, size := range f.Scalars() {
		s.scalars = append(s.scalars, scalarCode{at: op.at, nam: name + "." + size, set: func(f *frame, v *iface.Scalar) {
			*v = iface.Int(f.m.sites[s.id].handles[first].sparse.field(size))
		}})
	}
}

func (c *compiler) insertOptions(s *insertSite, w *syntax.With) {
	if k, ok := s.callee.Node.(*syntax.Codelet); ok && k.With != nil {
		for _, o := range k.With.Options {
			switch o.Name.Name {
			case "where":
				s.kinds = kindsIn(o.Value)
			case "retry":
				if v, err := literal(o.Value); err == nil && k.Body == nil { // else it is a trait of the codelet
					n, _ := v.(int64)
					s.opts.any, s.opts.retry = true, func(*frame) int64 { return n }
				}
			}
		}
	}
	s.opts.at = map[string]position{}
	if w == nil {
		return
	}
	s.opts.any = true
	for _, o := range w.Options {
		s.opts.at[o.Name.Name] = c.positionOf(o.Value)
		if hasCall(o.Value) {
			s.fresh = true
		}
		switch o.Name.Name {
		case "priority":
			s.opts.priority = c.int(o.Value)
		case "color":
			s.opts.color = c.int(o.Value)
		case "rank":
			s.opts.rank = c.int(o.Value)
		case "bundle":
			s.opts.bundle = c.int(o.Value)
		case "order":
			s.opts.order = c.int(o.Value)
		case "retry":
			s.opts.retry = c.int(o.Value)
		case "flops":
			s.opts.flops = c.float(o.Value)
		case "name":
			s.opts.name = c.ref(o.Value)
		case "where":
			s.opts.where = c.ref(o.Value)
		case "worker":
			s.opts.worker = c.ref(o.Value)
		case "after":
			s.opts.after = c.ref(o.Value)
		case "unordered":
			s.opts.loose = c.ref(o.Value)
		case "sync":
			s.opts.sync = c.bool(o.Value)
		case "ssend":
			s.opts.ssend = c.bool(o.Value)
		case "sequential":
			s.opts.sequential = c.bool(o.Value)
		}
	}
}

// kindsIn returns the kinds that an expression names, or nil when they are not
// written out.
func kindsIn(e syntax.Expr) []DeviceKind {
	switch e := unparen(e).(type) {
	case *syntax.Ident:
		return []DeviceKind{DeviceKind(e.Name)}
	case *syntax.ListLit:
		all := []DeviceKind{} // not nil: an empty list names none
		for _, x := range e.Items {
			k := kindsIn(x)
			if k == nil {
				return nil
			}
			all = append(all, k...)
		}
		return all
	}
	return nil
}

// noCPU reports whether the codelet's own where leaves out CPU workers.
func (s *insertSite) noCPU() bool { return s.kinds != nil && !slices.Contains(s.kinds, "cpu") }

// scalar compiles one scalar argument with its conversion and range check.
func (c *compiler) scalar(e *syntax.Insert, o *types.Object, p *types.Param, a *syntax.TaskArg) scalarCode {
	t := p.Type
	if t.Kind == types.Elem && t.Param != 0 {
		t = &types.Type{Kind: types.Elem, Elem: e.TypeArgs[t.Param]}
	}
	if a != nil {
		s := c.scalarFrom(a.Value, t, c.positionOf(a.Value))
		s.nam = p.Name
		return s
	}
	s := scalarCode{at: c.positionOf(e), nam: p.Name}
	if d, ok := p.Default.(syntax.Expr); ok && d.Type() != nil && d.Type().Kind != types.Invalid && o.Node != nil {
		in := c.inside(o)
		v := in.scalarFrom(d, t, in.positionOf(d))
		s.set, s.fixed = v.set, v.fixed
		return s
	}
	v, err := constant(p)
	if err != nil {
		c.bug(e, "default of %s: %v", p.Name, err)
	}
	x := scalarOf(v, t)
	s.fixed = &x
	return s
}

// inside returns a compiler for expressions in the declaration of o.
func (c *compiler) inside(o *types.Object) *compiler {
	in := &compiler{prog: c.prog, unit: c.unitOf(o), file: c.file, session: c.session, plan: c.plan,
		fn: &funcCode{}, depths: map[*types.Object]int{}, ranges: map[*types.Object]*loopRange{}}
	if u, ok := o.Unit.(*check.Unit); ok {
		in.file = u.File
	}
	return in
}

// scalarOf converts a constant.
func scalarOf(v any, t *types.Type) iface.Scalar {
	switch x := v.(type) {
	case int64:
		if t.Kind == types.Float || t.Kind == types.Elem && t.Elem.IsFloat() {
			return iface.Float(float64(x))
		}
		return iface.Int(x)
	case float64:
		return iface.Float(x)
	case complex128:
		return iface.Complex(x)
	case bool:
		return iface.Bool(x)
	case string:
		return iface.Str(x)
	}
	return iface.Scalar{}
}

func (c *compiler) scalarFrom(e syntax.Expr, t *types.Type, at position) scalarCode {
	s := scalarCode{at: at}
	switch t.Kind {
	case types.Bool:
		v := c.bool(e)
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Bool(v(f)) }
	case types.String:
		if x, ok := unparen(e).(*syntax.StringLit); ok {
			v := iface.Str(x.Value)
			s.fixed = &v
			break
		}
		v := c.ref(e)
		s.set = func(f *frame, s *iface.Scalar) { x, _ := v(f).(string); *s = iface.Str(x) }
	case types.Int:
		if x, ok := unparen(e).(*syntax.IntLit); ok {
			v := iface.Int(x.Value)
			s.fixed = &v
			break
		}
		v := c.int(e)
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Int(v(f)) }
	case types.Float:
		if x, ok := floatConstant(e); ok {
			v := iface.Float(x)
			s.fixed = &v
			break
		}
		v := c.float(e)
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Float(v(f)) }
	case types.Complex:
		v := c.complex(e)
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Complex(v(f)) }
	case types.Elem:
		el := t.Elem
		if el == iface.B8 {
			v := c.bool(e)
			s.set = func(f *frame, s *iface.Scalar) { *s = iface.Bool(v(f)) }
			break
		}
		if el.IsComplex() {
			v := c.complex(e)
			s.set = func(f *frame, s *iface.Scalar) {
				z := v(f)
				f.m.complexFits(el, z, at)
				if el == iface.C64 {
					z = complex128(complex64(z))
				}
				*s = iface.Complex(z)
			}
			break
		}
		if el.IsInt() {
			v := c.int(e)
			s.set = func(f *frame, s *iface.Scalar) {
				x := v(f)
				if !intFits(el, x) {
					f.m.outOfRange(el, x, at)
				}
				*s = iface.Int(x)
			}
			break
		}
		if x, ok := floatConstant(e); ok && floatFits(el, x) {
			v := iface.Float(el.Round(x))
			s.fixed = &v
			break
		}
		v := c.float(e)
		if el != iface.F64 {
			s.set = func(f *frame, s *iface.Scalar) {
				x := v(f)
				if !floatFits(el, x) {
					f.m.outOfRange(el, x, at)
				}
				*s = iface.Float(el.Round(x))
			}
			break
		}
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Float(v(f)) }
	default:
		c.bug(e, "scalar operand of type %v", t)
	}
	return s
}

// floatConstant returns the value of a number that is written out.
func floatConstant(e syntax.Expr) (float64, bool) {
	switch e := unparen(e).(type) {
	case *syntax.FloatLit:
		return e.Value, true
	case *syntax.IntLit:
		return float64(e.Value), true
	case *syntax.Unary:
		if e.Op != "-" {
			return 0, false
		}
		if x, ok := unparen(e.X).(*syntax.IntLit); ok {
			return float64(-x.Value), true // -0 is an int, and has no sign
		}
		x, ok := floatConstant(e.X)
		return -x, ok
	}
	return 0, false
}

func (c *compiler) insertStmt(e *syntax.Insert) stmt {
	s := c.insertSite(e)
	return func(f *frame) ctl {
		f.m.insert(f, s, false)
		return next
	}
}

func (c *compiler) insertValue(e *syntax.Insert) refFn {
	s := c.insertSite(e)
	return func(f *frame) any { return f.m.insert(f, s, true) }
}

// The options of insert.

// applyOptions evaluates the options of the site; it reports whether to wait.
func (m *Machine) applyOptions(f *frame, s *insertSite, st *siteState) (sync bool) {
	o, spec := &s.opts, &st.spec
	if o.priority != nil {
		spec.Priority = clampInt(o.priority(f))
	}
	if o.color != nil {
		spec.Color = clampInt(o.color(f))
	}
	if o.rank != nil {
		r := o.rank(f)
		m.needRank("rank", r, o.at["rank"])
		if m.ranks != nil {
			st.on = 1 + int(r%int64(m.ranks.Size()))
		}
		if m.plan != nil {
			m.plan.on = 1 + uint64(r)
		}
	}
	if o.ssend != nil {
		st.ssend = o.ssend(f)
	}
	if o.flops != nil {
		spec.Flops = o.flops(f)
		if spec.Flops < 0 || spec.Flops != spec.Flops {
			m.fail("E0705", o.at["flops"], "flops is %s; it must not be negative", formatFloat(spec.Flops, 64))
		}
	}
	if o.name != nil {
		spec.Name, _ = o.name(f).(string)
	}
	if m.devices.workers != nil {
		m.restrict(f, s, st)
	} else if o.where != nil {
		if where := o.where(f); !hasKind(where, "cpu") {
			m.noWorker(s, o.at["where"], "this run has no device of that kind", items(where)...)
		}
	} else if s.noCPU() {
		m.noWorker(s, s.at, "its codelet runs on devices, and this run has none", devicesOf(s.kinds)...)
	}
	if m.devices.workers == nil {
		spec.Workers = nil
	}
	if o.worker != nil && m.devices.workers == nil {
		st.workers = st.workers[:0]
		for _, w := range items(o.worker(f)) {
			if w, ok := w.(Worker); ok {
				st.workers = append(st.workers, int(w))
			}
		}
		if len(st.workers) == 0 {
			m.noWorker(s, o.at["worker"], "the list of workers is empty")
		}
		spec.Workers = st.workers
	}
	spec.After, st.after = spec.After[:0], st.after[:0]
	if o.after != nil {
		for _, d := range items(o.after(f)) {
			switch d := d.(type) {
			case *Task:
				if d.ticket != nil {
					st.after = append(st.after, d.ticket)
				} else if d.t != nil {
					spec.After = append(spec.After, d.t)
				}
			case *Gate:
				spec.After = append(spec.After, d.g)
			}
		}
	}
	if o.order != nil {
		st.options.Place = o.order(f)
		m.checkPlace(spec, st.options.Place, s)
		if m.checkpoints != nil {
			st.options.Place = m.checkpoints.place(spec.Workers[0], st.options.Place)
		}
	}
	if o.bundle != nil {
		st.options.Bundle = m.bundle(o.bundle(f), s.at)
	}
	if o.retry != nil {
		n := o.retry(f)
		if n < 0 {
			m.failHelp("E0705", o.at["retry"], "", "write how often the kernel may run again after it failed; 0 is never", "`retry` is %d; it must not be negative", n)
		}
		if st.options.Retry = clampInt(n); n == 0 {
			st.options.Retry = -1
		}
	}
	if o.loose != nil {
		for k := range spec.Operands {
			spec.Operands[k].Unordered = false
		}
		for _, u := range m.dataIn(o.loose(f), s.opts.at["unordered"]) {
			for k, h := range st.handles {
				if h.root == u.root && h.h.Overlaps(u.h) {
					spec.Operands[k].Unordered = true
				}
			}
		}
	}
	spec.Unordered = o.sequential != nil && !o.sequential(f)
	return o.sync != nil && o.sync(f)
}

// bundle returns the group of tasks with a number. Groups last until waitAll.
func (m *Machine) bundle(number int64, at position) *engine.Bundle {
	b := m.bundles[number]
	if b == nil {
		m.alloc(bundleBytes, at)
		b = new(engine.Bundle)
		if m.bundles == nil {
			m.bundles = map[int64]*engine.Bundle{}
		}
		m.bundles[number] = b
	}
	return b
}

// checkPlace checks a place in the sequence of a worker as far as the task's own
// insert shows it.
func (m *Machine) checkPlace(spec *engine.TaskSpec, order int64, s *insertSite) {
	at := s.opts.at["order"]
	if len(spec.Workers) != 1 {
		m.failHelp("E0705", at, "", "name the worker: `worker = workers(cpu)[0]`", "`order` is a place in the sequence of one worker")
	}
	if order < 1 {
		m.failHelp("E0705", at, "", "the first task of a worker has `order = 1`", "there is no place %d: places count from 1", order)
	}
}

func clampInt(v int64) int { return int(max(math.MinInt32, min(math.MaxInt32, v))) }

// items returns the items of a list, or v itself.
func items(v any) []any {
	if l, ok := v.(*List); ok {
		return l.a
	}
	return []any{v}
}

func hasKind(v any, kind DeviceKind) bool {
	for _, k := range items(v) {
		if k == kind {
			return true
		}
	}
	return false
}

// skipInsert evaluates an insert, whose arguments may have effects, without its task.
func (m *Machine) skipInsert(f *frame, s *insertSite) any {
	c := m.checkpoints
	st := m.state(s)
	raised := m.catch(func() { st, _ = m.describe(f, s) })
	if raised != nil {
		var d *diag.Diagnostic
		if !errors.As(raised.err, &d) || d.Code != "E0802" && d.Code != "E0803" { // workers that this machine lacks
			panic(raised)
		}
	}
	c.skips++
	if s.opts.order != nil && raised == nil {
		w := st.spec.Workers[0]
		c.places[w] = max(c.places[w], st.options.Place)
	}
	return &Task{codelet: s.codelet.Name, site: s, id: c.skips}
}
