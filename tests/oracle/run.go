package oracle

// Statements of scripts: what they do to data, what they print, and how they end.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// An Error is how a script ends. Where several failures may be the one that is reported,
// Tasks has all of them; with Every set all are reported, each by itself.
type Error struct {
	Codes []string // any of them
	Line  int      // of the statement; 0: the end of the script
	Tasks []Task   // R0101: that failed
	Every bool
}

// A Task is one that was inserted.
type Task struct {
	ID      int
	Line    int // of its insert
	Codelet string
}

// An Outcome is what a program does.
type Outcome struct {
	Output  string
	Err     *Error // how it ended; nil: it came to its end
	AtEnd   *Error // what the end of the script raises, when it came there
	Tasks   []Task
	Failed  int
	Lost    int            // tasks that were cancelled
	Written []Written      // checkpoints
	Final   []Final        // of data of the top level, when it came to its end
	Blocked bool           // tasks were left that wait for a gate
	Passed  bool           // a COMMUTE use passed one that waited for a gate or held data
	Values  bool           // it reads values of data, on which what it does may depend
	Reached map[int]bool   // lines of statements that ended without an error
	Skipped map[int]bool   // and of those with a part that was not evaluated
	Used    map[string]int `json:"-"` // features, for the coverage of tests
}

// Final is what data holds at the end. It has values, or the failures for which it has
// none, or elements that were never written.
type Final struct {
	Name   string
	Elem   Type
	Shape  Shape
	Dims   []int
	Values []string // as print shows them
	Tasks  []Task
	Code   string
}

// A Machine runs a program.
type Machine struct {
	Outcome
	prog     *Program
	codelets map[string]*Codelet
	funcs    map[string]*Func
	global   *scope
	names    *scope
	tasks    []*task
	pending  []*task
	holds    []*hold
	failures []*task // not raised yet
	out      strings.Builder
	steps    int
	result   any
}

// scope is the names of a block.
type scope struct {
	up    *scope
	names map[string]any
	owned []*datum
	views []*view
	order []string // handles in the order of their registration
}

func (s *scope) find(name string) (any, *scope) {
	for ; s != nil; s = s.up {
		if v, ok := s.names[name]; ok {
			return v, s
		}
	}
	return nil, nil
}

// flow says how a statement ended.
type flow uint8

const (
	next flow = iota
	breaks
	continues
	returns
)

// NewMachine returns a machine that has run nothing of p.
func NewMachine(p *Program) *Machine {
	m := &Machine{prog: p, codelets: map[string]*Codelet{}, funcs: map[string]*Func{}}
	m.Reached, m.Skipped, m.Used = map[int]bool{}, map[int]bool{}, map[string]int{}
	for _, c := range p.Codelets {
		m.codelets[c.Name] = c
	}
	for _, f := range p.Funcs {
		m.funcs[f.Name] = f
	}
	m.global = &scope{names: map[string]any{}}
	m.names = m.global
	return m
}

// Run evaluates p. The reason is not empty when the language leaves open what p does.
func Run(p *Program) (o *Outcome, reason string) {
	m := NewMachine(p)
	for _, s := range p.Body {
		if reason := m.Step(s); reason != "" || m.Err != nil {
			m.Output, m.Blocked = m.out.String(), len(m.pending) > 0
			return &m.Outcome, reason
		}
	}
	reason = m.End()
	return &m.Outcome, reason
}

// Step runs a statement of the top level.
func (m *Machine) Step(s *Stmt) (reason string) {
	return m.guard(func() { m.stmt(s) }, &m.Err)
}

// End is the end of the script: what data holds then, and what is raised.
func (m *Machine) End() (reason string) {
	m.Output, m.Blocked = m.out.String(), len(m.pending) > 0
	reason = m.guard(m.waitAll(0), &m.AtEnd)
	for _, name := range m.global.order {
		h, _ := m.global.names[name].(*handle)
		if h == nil || h.alive() != "" || h.shape == Void || h.data.Sparse != nil || structOf(name) != name { // programs print these at their end
			continue
		}
		reason = cmpOr(reason, m.guard(func() { m.Final = append(m.Final, m.final(name, h)) }, new(*Error)))
	}
	for _, t := range m.tasks {
		switch {
		case t.failed != "":
			m.Failed++
		case t.lost != nil:
			m.Lost++
		}
	}
	return reason
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// guard runs fn and notes the error that it raises.
func (m *Machine) guard(fn func(), err **Error) (reason string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			*err = r
		case undetermined:
			reason = string(r)
		default:
			panic(r)
		}
	}()
	fn()
	return ""
}

// final is what h holds.
func (m *Machine) final(name string, h *handle) Final {
	f := Final{Name: name, Elem: h.data.Elem, Shape: h.shape, Dims: h.dims}
	var err *Error
	if reason := m.guard(func() { m.read(h, 0, false) }, &err); reason != "" {
		panic(undetermined(reason))
	}
	if err != nil {
		f.Tasks, f.Code = err.Tasks, strings.Join(err.Codes, " ")
		return f
	}
	for _, p := range h.places {
		f.Values = append(f.Values, h.cells[p].text())
	}
	return f
}

func (m *Machine) fail(line int, codes ...string) {
	panic(&Error{Codes: codes, Line: line})
}

// maxStatements bounds what a script does.
const maxStatements = 20_000

// block runs statements in a scope of their own, which ends however they do.
func (m *Machine) block(body []*Stmt, names map[string]any) flow {
	s := &scope{up: m.names, names: names}
	m.names = s
	defer m.leave(s)
	for _, x := range body {
		if f := m.stmt(x); f != next {
			return f
		}
	}
	return next
}

// leave ends a block: its data and views end, unless they are what a function returns.
func (m *Machine) leave(s *scope) {
	m.names = s.up
	for _, v := range s.views {
		v.ended = true
	}
	for _, d := range s.owned {
		if h, ok := m.result.(*handle); ok && h.datum == d {
			continue
		}
		m.end(d)
	}
}

func (m *Machine) stmt(s *Stmt) flow {
	if m.steps++; m.steps > maxStatements {
		panic(undetermined("a script that takes long"))
	}
	f := m.run1(s)
	m.Reached[s.Line] = true
	return f
}

func (m *Machine) run1(s *Stmt) flow {
	switch s.Kind {
	case Register:
		for _, name := range append([]string{s.Name}, s.Names...) {
			m.register(name, s)
		}
	case Partition:
		m.partition(s)
	case Unpartition:
		for _, r := range s.Refs {
			m.unpartition(r, s.Line)
		}
	case Insert:
		t := m.insert(s)
		if s.Target != nil {
			m.names.names[s.Target.Name] = t
		}
	case Let:
		m.names.names[s.Name] = m.eval(s.Expr, s.Line)
	case Assign:
		m.assign(s)
	case If:
		if m.number(s.Expr, s.Line).I == 1 {
			m.Reached[s.Line] = true
			return m.block(s.Body, map[string]any{})
		}
		m.Reached[s.Line] = true
		return m.block(s.Else, map[string]any{})
	case For:
		return m.loop(s)
	case While:
		for m.number(s.Expr, s.Line).I == 1 {
			m.Reached[s.Line] = true
			if m.steps++; m.steps > maxStatements {
				panic(undetermined("a script that takes long"))
			}
			if f := m.block(s.Body, map[string]any{}); f == breaks {
				break
			} else if f == returns {
				return f
			}
		}
	case Acquire:
		return m.acquire(s)
	case Release:
		m.release(s)
	case Wait:
		if s.Refs == nil {
			m.waitAll(s.Line)()
		}
		for _, r := range s.Refs {
			m.wait(r, s.Line)
		}
	case Checkpoint:
		m.checkpoint(s.Line)
	case Print:
		var texts []string
		for _, e := range s.Exprs {
			texts = append(texts, m.text(m.eval(e, s.Line), s.Line))
		}
		m.out.WriteString(strings.Join(texts, " ") + "\n")
	case Invalidate:
		for _, r := range s.Refs {
			for _, h := range m.handles(r, s.Line) {
				m.invalidate(h)
			}
		}
	case Unregister:
		for _, r := range s.Refs {
			for _, h := range m.handles(r, s.Line) {
				_, all := m.structs(r)
				if h.of != nil || !all && structOf(h.name) != h.name { // a function was called with a part, or with a field
					m.fail(s.Line, "E0705")
				}
				m.end(h.datum)
			}
		}
	case Prefetch:
		for _, r := range s.Refs {
			for _, h := range m.handles(r, s.Line) {
				if !h.reduceIsInit() {
					m.mustHave(h, s.Line)
				}
			}
		}
	case Hint, Evict:
		for _, r := range s.Refs {
			m.handles(r, s.Line)
		}
	case Open:
		v, _ := m.names.find(s.Name)
		v.(*gate).open = true
		m.advance()
	case Call:
		m.call(s)
	case Return:
		if s.Expr != nil {
			m.result = m.eval(s.Expr, s.Line)
		}
		return returns
	case Break:
		return breaks
	case Continue:
		return continues
	case Assert:
		if m.number(s.Expr, s.Line).I == 0 {
			m.fail(s.Line, "R0102")
		}
	default:
		panic(fmt.Sprintf("oracle: statement %d in a script", s.Kind))
	}
	return next
}

func (m *Machine) register(name string, s *Stmt) {
	if s.Data.From != nil {
		m.convert(name, s)
		return
	}
	if s.Data.Struct != nil {
		m.registerStructs(name, s)
		return
	}
	m.own(name, m.datum(name, s.Data, s.Line))
}

// datum makes data with the values that its constructor has.
func (m *Machine) datum(name string, data *Data, line int) *datum {
	d := newDatum(name, data)
	var fill Value
	if data.Fill != nil {
		fill = m.element(m.number(data.Fill, line), data.Elem, line)
	}
	for k := range d.cells {
		c := &d.cells[k]
		switch {
		case data.List != nil:
			c.Value = m.element(m.number(data.List[k], line), data.Elem, line)
		case data.Fill != nil:
			c.Value = fill
		case data.Shape != Void:
			continue
		}
		c.has, c.filled = written, true
	}
	return d
}

// convert registers data with the entries of a matrix, or of a sparse one.
func (m *Machine) convert(name string, s *Stmt) {
	h := m.handle(s.Data.From, s.Line)
	m.Values = true
	m.read(h, s.Line, false)
	spots, values := h.entries()
	d := *s.Data
	rows, cols := h.size()
	switch {
	case d.Sparse == nil:
		m.Used["from matrix"]++
		d.Dims = []int{rows, cols}
	case len(spots) == 0:
		panic(undetermined("a sparse matrix without entries"))
	default:
		m.Used["from "+d.Sparse.Format]++
		k := &Sparse{Format: d.Sparse.Format, Rows: rows, Cols: cols, R: d.Sparse.R, C: d.Sparse.C}
		all := spots
		if k.Format == "bcsr" {
			k.Rows, k.Cols = (rows+k.R-1)/k.R*k.R, (cols+k.C-1)/k.C*k.C
			all = nil
			for _, e := range spots {
				if b := (spot{e.row / k.R, e.col / k.C}); !slices.Contains(all, b) {
					all = append(all, b)
				}
			}
		}
		k.place(slices.Clone(all))
		if d.Sparse, d.Dims = k, []int{len(all)}; k.Format == "bcsr" {
			d.Dims = append(d.Dims, k.R, k.C)
		}
	}
	x := newDatum(name, &d)
	for i := range x.cells {
		c := &x.cells[i]
		c.Value, c.has, c.filled = convert(d.Elem, intValue(0)), written, true
	}
	for k, e := range spots {
		x.cells[d.placeOf(e)].Value = values[k]
	}
	m.own(name, x)
}

// size is the rows and columns of h, a matrix or a sparse one.
func (h *handle) size() (rows, cols int) {
	if h.sparse != nil {
		return h.sparse.Rows, h.sparse.Cols
	}
	return h.dims[0], h.dims[1]
}

// entries are those of h, a matrix or a sparse one, row by row. Of a matrix and of blocks, zeros are none.
func (h *handle) entries() (spots []spot, values []Value) {
	at := map[spot]Value{}
	add := func(row, col int, v Value, zeros bool) {
		if zeros || v.I != 0 || v.F != 0 || v.Im != 0 {
			at[spot{row, col}] = v
		}
	}
	for k, p := range h.places {
		v := h.cells[p].Value
		switch m := h.sparse; {
		case m == nil:
			add(k/h.dims[1], k%h.dims[1], v, false)
		case m.Format == "bcsr":
			b, in := k/(m.R*m.C), k%(m.R*m.C)
			add(m.Row[b]*m.R+in/m.C, m.Col[b]*m.C+in%m.C, v, false)
		default:
			add(m.Row[k], m.Col[k], v, true)
		}
	}
	spots = slices.SortedFunc(maps.Keys(at), func(a, b spot) int { return cmp.Or(a.row-b.row, a.col-b.col) })
	for _, e := range spots {
		values = append(values, at[e])
	}
	return spots, values
}

// placeOf is the place of an entry among the elements of d.
func (d *Data) placeOf(e spot) int {
	m := d.Sparse
	if m == nil {
		return e.row*d.Dims[1] + e.col
	}
	r, c := max(1, m.R), max(1, m.C)
	for k := range m.Row {
		if m.Row[k] == e.row/r && m.Col[k] == e.col/c {
			return (k*r+e.row%r)*c + e.col%c
		}
	}
	panic("oracle: an entry that is not in the matrix")
}

// own declares d in the innermost block.
func (m *Machine) own(name string, d *datum) {
	m.names.names[name] = d.whole
	m.names.owned = append(m.names.owned, d)
	m.names.order = append(m.names.order, name)
}

// overflows reports whether x is finite, and no number of t, a type of floats, is near it.
func overflows(t Type, x float64) bool {
	return x-x == 0 && math.IsInf(convert(t, floatValue(x)).F, 0)
}

// element is v as an element of type t, with a range check.
func (m *Machine) element(v Value, t Type, line int) Value {
	switch {
	case v.T.Int() && !holdsInt(t, v.I), v.T.Float() && t.Float() && overflows(t, v.F), v.T.Int() && t.half() && overflows(t, v.real()):
		m.fail(line, "E0705")
	case v.T.Complex() && t == C64 && (overflows(F32, v.F) || overflows(F32, v.Im)), v.T.Float() && t == C64 && overflows(F32, v.F):
		m.fail(line, "E0705")
	case (v.T.Float() || v.T.Complex()) && t.Int(), v.T.Complex() && t.Float():
		panic("oracle: a number for an element that cannot be that")
	}
	return convert(t, v)
}

func (m *Machine) partition(s *Stmt) {
	for _, r := range s.Refs {
		if _, ok := m.structs(r); ok {
			m.partitionStructs(r, s)
			continue
		}
		h := m.handle(r, s.Line)
		var v *view
		var code string
		if s.Sparse {
			v, code = h.declareSparse(s.Filter[0])
		} else {
			v, code = h.declare(s.Slice, s.Filter)
		}
		if code != "" {
			m.fail(s.Line, code)
		}
		m.noteView(h, s)
		if s.Name != "" {
			m.names.names[s.Name] = v
			m.names.views = append(m.names.views, v)
			continue
		}
		if h.deflt != nil {
			h.deflt.ended = true
		}
		h.deflt = v
	}
}

func (m *Machine) unpartition(r *Ref, line int) {
	if _, ok := m.structs(r); ok {
		for _, f := range m.fields(r) {
			m.endView(f, line, func(h *handle) *view { return h.among })
		}
		return
	}
	m.endView(r, line, func(h *handle) *view { return h.deflt })
}

// endView ends the view that r names, or the default view of the handle that it names.
func (m *Machine) endView(r *Ref, line int, deflt func(h *handle) *view) {
	x, _ := m.names.find(r.Name)
	v, named := x.(*view)
	if !named {
		if v = deflt(m.handle(r, line)); v == nil || v.ended {
			m.fail(line, "E0507")
		}
	}
	if v.ended {
		m.fail(line, "E0506")
	}
	v.ended = true
	m.later(v.of, gathers)
}

// loop runs a for.
func (m *Machine) loop(s *Stmt) flow {
	var rounds []map[string]any
	one := func(values ...any) {
		round := map[string]any{}
		for k, n := range s.Names {
			round[n] = values[k]
		}
		rounds = append(rounds, round)
	}
	switch d := s.Over; {
	case d.Parts != "":
		x, _ := m.names.find(d.Parts)
		if v, ok := x.(*structs); ok {
			rounds = m.roundsOfStructs(v, s)
			break
		}
		v := x.(*view)
		if v.ended {
			m.fail(s.Line, "E0506")
		}
		for _, p := range v.parts {
			one(p)
		}
	case d.List != nil:
		for _, e := range d.List {
			one(m.eval(e, s.Line))
		}
	case d.Grid != nil:
		n, k := m.number(d.Grid[0], s.Line).I, m.number(d.Grid[1], s.Line).I
		for i := range n {
			for j := range k {
				one(intValue(i), intValue(j))
			}
		}
	default:
		lo, hi := m.number(d.Ranges[0].Lo, s.Line).I, m.number(d.Ranges[0].Hi, s.Line).I
		if d.Ranges[0].Closed {
			hi++
		}
		if hi-lo > maxStatements {
			panic(undetermined("a script that takes long"))
		}
		for i := lo; i < hi; i++ {
			one(intValue(i))
		}
	}
	m.Reached[s.Line] = true
	for _, r := range rounds {
		if f := m.block(s.Body, r); f == breaks {
			break
		} else if f == returns {
			return f
		}
	}
	return next
}

// handle is the handle that r names.
func (m *Machine) handle(r *Ref, line int) *handle {
	x, _ := m.names.find(r.Name)
	h, _ := x.(*handle)
	v, _ := x.(*view)
	if len(r.Index) > 0 {
		if h != nil {
			if code := h.alive(); code != "" {
				m.fail(line, code)
			}
			if v = *h.defaultView(r.Name); v == nil {
				m.fail(line, "E0507")
			}
		}
		var index []int64
		for _, e := range r.Index {
			index = append(index, m.number(e, line).I)
		}
		if v.ended {
			m.fail(line, "E0506", "E0507")
		}
		if len(index) != len(v.dims) {
			m.fail(line, "E0503")
		}
		var ok bool
		if h, ok = v.at(index); !ok {
			m.fail(line, "E0501")
		}
	}
	if h == nil {
		panic("oracle: " + r.Name + " is no handle")
	}
	if code := h.alive(); code != "" {
		m.fail(line, code)
	}
	return h
}

// handles are the handles that r names: of a view all parts.
func (m *Machine) handles(r *Ref, line int) (all []*handle) {
	if _, ok := m.structs(r); ok {
		for _, f := range m.fields(r) {
			all = append(all, m.handles(f, line)...)
		}
		return all
	}
	if x, _ := m.names.find(r.Name); len(r.Index) == 0 {
		if v, ok := x.(*view); ok {
			if v.ended {
				m.fail(line, "E0506")
			}
			return v.parts
		}
	}
	return []*handle{m.handle(r, line)}
}

// needs raises the error of a read of h where nothing has written it, or nothing since it
// was invalidated.
func (m *Machine) needs(h *handle, line int) {
	if h.reduceIsInit() {
		for _, p := range h.places {
			h.cells[p].has = written // by the initialiser
		}
	}
	m.mustHave(h, line)
}

// mustHave raises the error about data that nothing has given a value.
func (m *Machine) mustHave(h *handle, line int) {
	var codes []string
	for _, p := range h.places {
		switch h.cells[p].has {
		case unwritten:
			codes = append(codes, "E0401")
		case invalidated:
			codes = append(codes, "E0402")
		}
	}
	if codes != nil {
		slices.Sort(codes)
		m.fail(line, slices.Compact(codes)...)
	}
}

// reduceIsInit reports whether h has a lazy initialiser.
func (h *handle) reduceIsInit() bool {
	return h.reduce != "" && !neutralOps[h.reduce] && len(strings.Fields(h.reduce)) == 1
}

// reduction is how contributions to h combine, and the codelets for that if the script has them.
func (m *Machine) reduction(h *handle) (op string, custom []*Codelet) {
	if neutralOps[h.reduce] {
		return h.reduce, nil
	}
	for _, name := range strings.Fields(h.reduce) {
		custom = append(custom, m.codelets[name])
	}
	if len(custom) == 2 {
		op = custom[1].Contributes[custom[1].Ops[0].Name]
	}
	return op, custom
}

// initialise gives the elements of h that have no value that of the lazy initialiser.
func (m *Machine) initialise(h *handle) {
	missing := slices.ContainsFunc(h.places, func(p int) bool { return !h.cells[p].filled })
	if !missing {
		return
	}
	_, custom := m.reduction(h)
	values := m.initial(custom[0], h)
	for k, p := range h.places {
		if c := &h.cells[p]; !c.filled {
			c.Value, c.filled = values[k], true
		}
	}
}

// initial is what codelet init makes of h.
func (m *Machine) initial(init *Codelet, h *handle) []Value {
	values := make([]Value, len(h.places))
	o := &operand{Operand: init.Ops[0], mode: W, elem: h.data.Elem, dims: h.dims, offset: h.offset, written: make([]bool, len(values))}
	for k := range values {
		values[k].T = h.data.Elem
		o.cells = append(o.cells, &values[k])
	}
	if m.runBody(init, map[string]*operand{o.Name: o}, map[string]Value{}) != "" {
		panic(undetermined("an initialiser that fails"))
	}
	return values
}

// checkNeutral gives up on a reducer of the script that does not begin with what changes
// nothing: how often it begins is left open.
func (m *Machine) checkNeutral(custom []*Codelet, h *handle) {
	op, _ := m.reduction(h)
	for _, v := range m.initial(custom[0], h) {
		if op == "" || !same(v, neutral(op, v.T)) {
			panic(undetermined("a reducer that does not begin with what is neutral"))
		}
	}
}

func (m *Machine) invalidate(h *handle) {
	for _, p := range h.places {
		h.cells[p].has = invalidated
	}
	m.later(h, W)
}

// later makes what is no task take its place in the order of h.
func (m *Machine) later(h *handle, mode Mode) {
	m.pending = append(m.pending, &task{uses: []use{{handle: h, mode: mode}}})
	m.advance()
}

// end ends the life of d.
func (m *Machine) end(d *datum) {
	if !d.dead {
		d.dead = true
		m.later(d.whole, W)
	}
}

// insert submits a task.
func (m *Machine) insert(s *Stmt) *task {
	c := m.codelets[s.Name]
	t := &task{line: s.Line, codelet: c, scalars: map[string]Value{}}
	var generic Type
	for k, a := range s.Args {
		if a.Mode == None {
			continue
		}
		h := m.handle(a.Ref, s.Line)
		if c.Ops[k].Generic {
			generic = h.data.Elem
		}
		if h.shape != c.Ops[k].Shape {
			panic(fmt.Sprintf("oracle: %s has a %v for a %v", s.Name, h.shape, c.Ops[k].Shape))
		}
		t.uses = append(t.uses, use{handle: h, mode: a.Mode, name: c.Ops[k].Name, loose: m.isLoose(h, s)})
	}
	for k, a := range s.Args {
		if a.Mode != None {
			continue
		}
		e := c.Ops[k].Elem
		if c.Ops[k].Generic {
			e = generic
		}
		v := m.number(a.Expr, s.Line)
		t.scalars[c.Ops[k].Name] = m.element(v, e, s.Line)
	}
	for k, a := range t.uses {
		for _, b := range t.uses[:k] {
			if a.mode != Scratch && b.mode != Scratch && (a.mode != R || b.mode != R) && a.shares(b.handle) {
				m.fail(s.Line, "E0304")
			}
			if a.datum == b.datum && (len(a.places) == 0 || len(b.places) == 0) && (a.mode != R || b.mode != R) {
				panic(undetermined("a part without entries beside the whole")) // the check takes it for a part that has some
			}
		}
	}
	for _, u := range t.uses {
		if u.mode == Redux && (u.reduce == "" || u.reduceIsInit() || neutralOps[u.reduce] && u.reduce != c.Contributes[u.name]) {
			m.fail(s.Line, "E0303")
		}
		if u.mode.reads() {
			if len(u.places) == 0 && slices.ContainsFunc(u.cells, func(c cell) bool { return c.has != written }) {
				panic(undetermined("a part without entries of a matrix without values"))
			}
			m.needs(u.handle, s.Line)
		}
	}
	for _, name := range s.With.After {
		switch x, _ := m.names.find(name); x := x.(type) {
		case *gate:
			t.gates = append(t.gates, x)
		case *task:
			t.after = append(t.after, x)
		}
	}
	for _, u := range t.uses {
		for _, p := range u.places {
			x := &u.cells[p]
			switch {
			case u.mode == Scratch:
				continue
			case u.loose && x.busy, !u.loose && x.loose:
				panic(undetermined("tasks without order beside others"))
			}
			if u.mode.writes() {
				x.has = written
			}
			x.loose, x.busy = x.loose || u.loose, x.busy || !u.loose
		}
	}
	t.id = len(m.tasks) + 1
	m.tasks = append(m.tasks, t)
	m.Tasks = append(m.Tasks, t.public())
	m.pending = append(m.pending, t)
	m.note(t, s)
	m.advance()
	if s.With.Sync {
		m.waitTask(t, s.Line)
	}
	return t
}

func (t *task) public() Task { return Task{t.id, t.line, t.codelet.Name} }

func (m *Machine) isLoose(h *handle, s *Stmt) bool {
	return s.With.Loose || slices.ContainsFunc(s.With.Unordered, func(r *Ref) bool { return m.handle(r, s.Line).datum == h.datum })
}
