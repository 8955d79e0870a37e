package interp

// insert: tasks. What can be known about a site is found out once; at run time the
// task description of the site is filled in again and handed to the engine.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// insertSite is the code of one insert.
type insertSite struct {
	id      int
	at      place // of the word insert
	whole   place
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
	folds   bool         // some operand has a fold
	kinds   []DeviceKind // of the codelet's own where; nil: all
	placed  bool         // some operand has a node
}

// operandCode is one handle argument.
type operandCode struct {
	value handleFn
	mode  iface.AccessMode
	at    place // the whole argument
	name  string
	node  refFn  // after @
	fold  string // REDUX: what the codelet does to it, "" if that is not known
}

// scalarCode stores one scalar argument.
type scalarCode struct {
	set   func(f *frame, s *iface.Scalar)
	fixed *iface.Scalar // of a constant: it is stored once
	at    place
	nam   string
}

// insertOptions are the options of a site; nil ones are not given.
type insertOptions struct {
	any                               bool
	priority, color, order            intFn
	flops                             floatFn
	name, where, worker, after, loose refFn
	sync, sequential                  boolFn
	at                                map[string]place
}

// siteState is what a run keeps for a site.
type siteState struct {
	spec    engine.TaskSpec
	handles []*Handle
	workers []int
	nodes   []int // of operands that have one
	order   int64
}

// insertSite compiles an insert.
func (c *compiler) insertSite(e *syntax.Insert) *insertSite {
	o := e.Callee
	if o == nil || o.Sig == nil {
		c.bug(e, "insert without codelet")
	}
	s := &insertSite{id: c.prog.nsites, at: place{c.file, e.Word}, whole: c.place(e), callee: o}
	c.prog.nsites++
	for k, id := range e.Path {
		if k > 0 {
			s.name += "."
		}
		s.name += id.Name
	}
	s.codelet = c.codelet(e, o)
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
		op := operandCode{value: c.handle(a.Value), mode: a.Mode, at: c.place(a), name: p.Name}
		if a.At != nil {
			op.node, s.placed = c.ref(a.At), true
		}
		if a.Mode == iface.Redux {
			op.fold = check.FoldOf(o, p.Name)
			s.folds = s.folds || op.fold != ""
		}
		if hasCall(a.Value) {
			s.fresh = true
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

func (c *compiler) insertOptions(s *insertSite, w *syntax.With) {
	if k, ok := s.callee.Node.(*syntax.Codelet); ok && k.With != nil {
		for _, o := range k.With.Options {
			if o.Name.Name == "where" {
				s.kinds = kindsIn(o.Value)
			}
		}
	}
	s.opts.at = map[string]place{}
	if w == nil {
		return
	}
	s.opts.any = true
	for _, o := range w.Options {
		s.opts.at[o.Name.Name] = c.place(o.Value)
		if hasCall(o.Value) {
			s.fresh = true
		}
		switch o.Name.Name {
		case "priority":
			s.opts.priority = c.int(o.Value)
		case "color":
			s.opts.color = c.int(o.Value)
		case "order":
			s.opts.order = c.int(o.Value)
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
		s := c.scalarFrom(a.Value, t, c.place(a.Value))
		s.nam = p.Name
		return s
	}
	s := scalarCode{at: c.place(e), nam: p.Name}
	if d, ok := p.Default.(syntax.Expr); ok && d.Type() != nil && d.Type().Kind != types.Invalid && o.Node != nil {
		in := c.inside(o)
		v := in.scalarFrom(d, t, in.place(d))
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
	case bool:
		return iface.Bool(x)
	case string:
		return iface.Str(x)
	}
	return iface.Scalar{}
}

func (c *compiler) scalarFrom(e syntax.Expr, t *types.Type, at place) scalarCode {
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
	case types.Elem:
		el := t.Elem
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
			if el == iface.F32 {
				x = float64(float32(x))
			}
			v := iface.Float(x)
			s.fixed = &v
			break
		}
		v := c.float(e)
		if el == iface.F32 {
			s.set = func(f *frame, s *iface.Scalar) {
				x := v(f)
				if !floatFits(el, x) {
					f.m.outOfRange(el, x, at)
				}
				*s = iface.Float(float64(float32(x)))
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
	st, sync := m.describe(f, s)
	spec := &st.spec
	m.inserted++
	keep := value || sync || s.opts.order != nil
	if !keep {
		if err := m.job.Submit(spec); err != nil {
			m.insertFailed(err, s, st)
		}
		return nil
	}
	var t *engine.Task
	var err error
	if s.opts.order != nil {
		t, err = m.job.SubmitWith(spec, engine.TaskOptions{Place: st.order})
	} else {
		t, err = m.job.SubmitTask(spec)
	}
	if err != nil {
		m.insertFailed(err, s, st)
	}
	out := &Task{t: t, codelet: s.codelet.Name, site: s}
	if sync && t != nil {
		m.waitTask(out, s.at)
	}
	return out
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
	for k, slot := range s.vars {
		spec.Origin.Vars[k] = f.n[slot]
	}
	spec.Origin.Call = f.engineCall()
	if s.opts.any {
		sync = m.applyOptions(f, s, st)
	} else if m.devices.workers != nil {
		m.restrict(f, s, st)
	} else if s.noCPU() {
		m.noWorker(s, s.at, "its codelet runs on devices that this machine lacks")
	}
	return st, sync
}

// checkFolds raises E0303 when the copies of an operand are not combined by what
// the codelet does to them.
func (m *Machine) checkFolds(s *insertSite, st *siteState) {
	for k := range s.ops {
		op, h := &s.ops[k], st.handles[k]
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

// handleText is how the script writes a handle at a place: "R x[0]" without its mode.
func handleText(at place, h *Handle) string {
	s := at.source()
	if len(s) > 40 || s == "" {
		if h == nil {
			return ""
		}
		return h.Name()
	}
	for _, mode := range []string{"R ", "W ", "RW ", "COMMUTE ", "REDUX ", "SCRATCH "} {
		if len(s) > len(mode) && s[:len(mode)] == mode {
			s = s[len(mode):]
			break
		}
	}
	return s
}

// nodeHere returns the number of a node; E0803 when this machine does not have it.
func (m *Machine) nodeHere(v any, at place) int {
	n, ok := v.(Node)
	if !ok {
		return 0
	}
	k, ok := m.node(n)
	if !ok {
		has := "this machine has main memory only"
		if m.devices.workers != nil {
			var names []string
			for _, n := range m.nodes() {
				names = append(names, n.String())
			}
			has = "this machine has " + strings.Join(names, ", ")
		}
		m.failHelp("E0803", at, has, "drop the `@`", "no worker can use data on %s", n)
	}
	return k
}

// noWorker raises E0803.
func (m *Machine) noWorker(s *insertSite, at place, why string) {
	d := m.diagnostic("E0803", at, fmt.Sprintf("no worker can run `%s`", s.name))
	d.Label = why
	d.Help = []string{"this machine has " + m.machineText()}
	m.raise(d)
}

// nowhere raises E0803 about a task that the engine has no worker for.
func (m *Machine) nowhere(s *insertSite, err error) {
	d := m.diagnostic("E0803", s.at, fmt.Sprintf("no worker can run `%s`", s.name))
	d.Label = "inserted here"
	d.Notes = []string{firstLine(err.Error())}
	if why := m.prog.stays(s.codelet); why != nil {
		d.Notes = append(d.Notes, "kernels for devices are not made of its body: "+why.Error())
	}
	d.Help = []string{"this machine has " + m.machineText()}
	d.Cause = err
	m.raise(d)
}

// insertFailed raises what Submit refused.
func (m *Machine) insertFailed(err error, s *insertSite, st *siteState) {
	var lost *engine.FailedDataError
	if errors.As(err, &lost) {
		return // the task is cancelled: who needs its outputs is told
	}
	at := s.at
	var h *Handle
	pick := func(k int) {
		if k >= 0 && k < len(s.ops) {
			at, h = s.ops[k].at, st.handles[k]
		}
	}
	var shape *engine.ShapeError
	var uninit *engine.UninitError
	var dead *engine.DeadHandleError
	var mode *engine.ModeError
	var ro *engine.ReadOnlyError
	var red *engine.NoReductionError
	var seat *engine.PlaceError
	var impl *engine.NoImplementationError
	var none *engine.NoWorkerError
	var gone *engine.LostWorkersError
	var large *engine.TooLargeError
	var pin *engine.PinError
	switch {
	case errors.As(err, &pin):
		d := m.diagnostic("E0803", s.ops[pin.Operand].at, fmt.Sprintf("no worker can run `%s`", s.name))
		d.Label = "stays in main memory"
		d.Notes = []string{"its implementations for devices take this operand in their own memory"}
		d.Help = []string{"drop the `@`, or let it run on CPU workers"}
		d.Cause = err
		m.raise(d)
	case errors.As(err, &impl), errors.As(err, &none), errors.As(err, &gone), errors.As(err, &large):
		m.nowhere(s, err)
	case errors.As(err, &seat):
		m.failHelp("E0705", s.opts.at["order"], "", "give each task of a worker a place of its own, from 1, and leave none out", "%s", seat.Message)
	case errors.As(err, &shape):
		m.badShape(shape, s, st)
	case errors.As(err, &uninit):
		pick(uninit.Operand)
	case errors.As(err, &dead):
		pick(dead.Operand)
	case errors.As(err, &mode):
		pick(mode.Operand)
	case errors.As(err, &ro):
		pick(ro.Operand)
	case errors.As(err, &red):
		pick(red.Operand)
	}
	m.raiseEngine(err, at, h)
}

// badShape raises E0702, or E0705 about a string argument.
func (m *Machine) badShape(e *engine.ShapeError, s *insertSite, st *siteState) {
	at, code := s.at, "E0702"
	if e.Arg != "" {
		code = "E0705"
		for _, a := range s.scalars {
			if a.nam == e.Arg {
				at = a.at
			}
		}
	}
	d := m.diagnostic(code, at, firstLine(e.Message))
	d.Cause = e
	detail := func(k int) string {
		if k < len(e.Details) {
			return e.Details[k]
		}
		desc := st.handles[e.Operands[k]].h.Desc()
		return desc.String()
	}
	for k := len(e.Operands) - 1; k >= 0; k-- {
		i := e.Operands[k]
		if i < 0 || i >= len(s.ops) {
			continue
		}
		if d.Label == "" && e.Arg == "" {
			d.Span, d.Label = s.ops[i].at.span(), detail(k)
			continue
		}
		label(d, s.ops[i].at, detail(k))
	}
	if e.Help != "" {
		d.Help = []string{e.Help}
	}
	d.Notes = append(d.Notes, "codelet "+SignatureText(s.callee))
	if p := (*engine.PanicError)(nil); errors.As(e.Cause, &p) {
		d.Notes = append(d.Notes, panicNote)
	}
	m.raise(d)
}
