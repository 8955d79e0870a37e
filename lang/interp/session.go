package interp

// Sessions: one top-level frame that grows with every entry.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/types"
)

// Result is the result of an entry of a session.
type Result struct {
	Value    string // printed form of an expression, "" if none
	Type     string // of the expression, "" if none
	Inserted int    // tasks
	Ran      int    // top-level statements that ran to their end; -1: it failed before the first
	Rest     int    // of Inserted: by the statement that failed
	Dropped  bool   // tasks that had not started were dropped, as the context ended
	// Ended has the names of the data and arrays that ended because they were declared
	// again.
	Ended []*types.Object
	// Unwritten names data that was shown with "?" where nothing has written it, a few at most.
	Unwritten []string
	// Replaced are default views of earlier entries in whose place others came, a few at most.
	Replaced []ReplacedView
}

// ReplacedView is a default view that another one has replaced; see lang.ReplacedView.
type ReplacedView struct{ Name, Old, New string }

// NewSession prepares a machine that runs entries, whose bodies of codelets run as kernels
// says.
func NewSession(cfg *Config, kernels kernel.Options) (*Machine, error) {
	p := newProgram()
	p.open, p.kernels = true, kernels
	p.names = map[string]*types.Object{}
	m, err := newMachine(p, cfg)
	if err != nil {
		return nil, err
	}
	if err := m.claim(m.homes()); err != nil {
		m.job.Close()
		m.events.close()
		return nil, err
	}
	m.units = []*frame{m.newTop()}
	return m, nil
}

// add compiles a unit of a session, and the units it imports for the first time.
func (m *Machine) add(u *check.Unit, entry bool, run *[]func()) error {
	p := m.prog
	for _, in := range u.Imports {
		if _, known := p.index[in]; !known {
			if err := m.add(in, false, run); err != nil {
				return err
			}
		}
	}
	f := m.units[0]
	if entry {
		p.index[u] = 0
	} else {
		p.index[u] = len(m.units)
		f = m.newTop()
		m.units = append(m.units, f)
	}
	p.declareFuncs(u)
	code, err := p.compileUnit(u, entry)
	if err != nil {
		return err
	}
	p.all = append(p.all, u)
	*run = append(*run, func() { m.runUnit(f, code, !entry) })
	return nil
}

// Eval runs one entry. When ctx ends meanwhile, tasks that have not started are
// dropped, running kernels are waited for, and the session stays usable.
func (m *Machine) Eval(ctx context.Context, u *check.Unit) (res Result, err error) {
	switch err := m.usable(); err {
	case nil:
	case errClosed:
		return res, fmt.Errorf("lang: the session is closed")
	default:
		return res, err
	}
	ctx = Context(ctx)
	var run []func()
	if err := m.add(u, true, &run); err != nil {
		return res, err
	}
	var ends []*types.Object
	for name, o := range u.Objects {
		if old := m.prog.names[name]; old != nil && old != o {
			ends = append(ends, old)
		}
		m.prog.names[name] = o
	}
	slices.SortFunc(ends, func(a, b *types.Object) int { return strings.Compare(a.Name, b.Name) }) // ranks end data in one order
	if u.Last != nil {
		m.prog.names["_"] = u.Last
	}
	m.prog.main = u
	m.inserted, m.unwritten, m.replaced, m.ran, m.ranInserted = 0, nil, nil, -1, 0
	m.recount()
	res.Dropped, err = m.enterUntil(ctx, func() {
		for _, r := range run {
			r()
		}
		if o := u.Last; o != nil {
			f := m.units[0]
			if v := f.get(o.Slot, o.Type); v != nil {
				res.Value = m.echo(v, lastPlace(u))
			}
			res.Type = o.Type.String()
		}
	})
	res.Inserted, res.Unwritten, res.Replaced, res.Ran = m.inserted, m.unwritten, m.replaced, m.ran
	if err == nil {
		res.Ran = len(u.File.Stmts)
	} else {
		res.Rest = m.inserted - m.ranInserted
	}
	if res.Dropped { // what runs ends before the next entry
		if m.ranks != nil { // the others are somewhere else by now
			m.ranks.Fail(err)
		}
		m.job.Wait(context.Background())
	}
	if e := m.enter(context.WithoutCancel(ctx), func() { res.Ended = m.endNames(ends) }); err == nil {
		err = e
	}
	return res, err
}

// echo is the printed form of a value that the session shows, not the script.
func (m *Machine) echo(v any, at position) string {
	m.echoing = true
	defer func() { m.echoing = false }()
	return m.show(v, false, at)
}

// replacesView notes for the session that a default view comes in the place of one of an
// earlier entry; equal parts are no news.
func (m *Machine) replacesView(old, v *View) {
	if !m.prog.open {
		return
	}
	name, was, now := v.text(), filter.Text(old.v.Filters, old.v.Dims), filter.Text(v.v.Filters, v.v.Dims)
	k := slices.IndexFunc(m.replaced, func(r ReplacedView) bool { return r.Name == name })
	switch {
	case k >= 0: // a loop, say: the last one is what there is now
		m.replaced[k].New = now
	case len(m.replaced) < 4 && old.stmt.file != v.stmt.file && was != now:
		m.replaced = append(m.replaced, ReplacedView{name, was, now})
	}
}

// SetElide sets the number of elements from which on the session shows a vector by its
// ends, and matrices in proportion; with 0 it shows them as print does. Output of print
// does not change.
func (m *Machine) SetElide(n int) { m.elide = max(0, n) }

// SetDigits is Config.Digits from now on.
func (m *Machine) SetDigits(n int) { m.digits = max(0, n) }

// SetDeterministic switches engine.JobOptions.Deterministic, for a session that has no
// data: contributions that wait to be combined were made one way or the other. Task
// numbers and counts begin anew.
func (m *Machine) SetDeterministic(on bool) error {
	if err := m.usable(); err != nil || on == m.cfg.Deterministic {
		return err
	}
	if len(m.owned) > 0 {
		return errors.New("the session has data; unregister it, or forget it with `:reset handles`")
	}
	if err := m.Wait(context.Background()); err != nil { // the job takes unreported failures with it
		return err
	}
	if err := m.closeJob(); err != nil {
		return err
	}
	m.cfg.Deterministic, m.told = on, 0
	return m.open()
}

func lastPlace(u *check.Unit) position {
	if n := len(u.File.Stmts); n > 0 {
		return position{u.File, u.File.Stmts[n-1].Range()}
	}
	return position{}
}

// endNames ends what names held that were declared again. It returns those whose data was
// registered, or array held, until then.
func (m *Machine) endNames(olds []*types.Object) (ended []*types.Object) {
	f := m.units[0]
	for _, o := range olds {
		if !o.Global || o.Slot >= len(f.def) || !f.def[o.Slot] {
			continue
		}
		switch o.Kind {
		case types.HandleObject, types.ViewObject, types.ArrayObject:
		default:
			continue
		}
		v := f.r[o.Slot]
		if lives(v) {
			ended = append(ended, o)
		}
		f.r[o.Slot], f.def[o.Slot] = nil, false
		for k := len(m.owned) - 1; k >= 0; k-- {
			w := m.owned[k]
			if !holdsOwned(v, w) {
				continue
			}
			m.owned = slices.Delete(m.owned, k, k+1)
			for j := k; j < len(m.owned); j++ {
				if h := m.owned[j].h; h != nil {
					h.owner = int32(j)
				}
			}
			m.endOwned(w)
		}
	}
	return ended
}

// lives reports whether v is, or lists nothing but, registered data, or is an array that
// is held.
func lives(v any) bool {
	all, some := true, false
	leaves(v, func(v any) {
		switch x := v.(type) {
		case *Handle:
			all, some = all && x.h.Alive(), true
		case *Array:
			all, some = all && !x.released, true
		default:
			all = false
		}
	})
	return all && some
}

// holdsOwned reports whether v is, or lists, what w stands for.
func holdsOwned(v any, w owned) bool {
	found := false
	leaves(v, func(v any) {
		switch x := v.(type) {
		case *Handle:
			found = found || x == w.h
		case *View:
			found = found || x == w.v
		case *Array:
			found = found || x == w.a
		}
	})
	return found
}

// EndAll unregisters all handles of the session, ends its views and releases its
// arrays. It returns their names, which are forgotten, and those of them that were registered or
// held until then, sorted.
func (m *Machine) EndAll() (names []string, ended []*types.Object, err error) {
	err = m.enter(context.Background(), func() {
		f := m.units[0]
		for n, o := range m.prog.names {
			if !holdsHandles(o.Type) && o.Kind != types.ArrayObject || !o.Global {
				continue
			}
			names = append(names, n)
			if o.Slot < len(f.def) && (o.Kind == types.HandleObject || o.Kind == types.ArrayObject) && lives(f.r[o.Slot]) {
				ended = append(ended, o)
			}
		}
		m.endBlock(0, false)
		for _, n := range names {
			if o := m.prog.names[n]; o.Slot < len(f.def) {
				f.r[o.Slot], f.def[o.Slot] = nil, false
			}
			delete(m.prog.names, n)
		}
	})
	slices.SortFunc(ended, func(a, b *types.Object) int { return strings.Compare(a.Name, b.Name) })
	return names, ended, err
}

// With gives params values and binds extern data, for the entries until restore is called.
func (m *Machine) With(params []NamedValue, binds []NamedBinding) (restore func(), err error) {
	for _, b := range binds {
		switch {
		case b.Data == nil:
			return nil, fmt.Errorf("lang: Bind(%q): the data is nil", b.Name)
		case b.Data.NoMemory:
			return nil, b.checkSizes(false)
		}
	}
	homes := slices.DeleteFunc(slices.Clone(binds), func(b NamedBinding) bool { return b.Data.File != "" })
	if err := checkAlias(append(m.homes(), homes...)); err != nil {
		return nil, err
	}
	if err := m.claim(homes); err != nil {
		return nil, err
	}
	was, bound := m.params, m.binds
	m.params, m.binds = maps.Clone(was), maps.Clone(bound)
	for _, v := range params {
		m.params[v.Name] = v.Value
	}
	for _, b := range binds {
		m.binds[b.Name] = b.Data
	}
	return func() { m.params, m.binds = was, bound }, nil
}

// Given returns the value of a param of the last entry that was not its default, as it is
// written in a script; "" for a default.
func (m *Machine) Given(o *types.Object) string {
	if _, given := m.params[o.Name]; !given || !m.units[0].def[o.Slot] {
		return ""
	}
	return m.text(m.units[0].get(o.Slot, o.Type), true, position{})
}

// Source returns what a script writes to register extern data that was read from a file; ""
// for other data.
func (m *Machine) Source(o *types.Object) string {
	b := m.binds[o.Name]
	switch {
	case b == nil || b.File == "":
		return ""
	case b.Text != "":
		return fmt.Sprintf("%v(fill = %s)", o.Type, b.Text)
	}
	sizes := ""
	for _, n := range b.Dims {
		sizes += fmt.Sprintf("%d, ", n)
	}
	return fmt.Sprintf("%v(%sload = %q)", o.Type, sizes, b.File)
}

// Deterministic reports whether the order of contributions is fixed.
func (m *Machine) Deterministic() bool { return m.cfg.Deterministic }

// Loose reports whether o is an array that is held, or a closed gate, or a list with a
// closed gate. A script must not end with any of these.
func (m *Machine) Loose(o *types.Object) (held, closed bool) {
	f := m.units[0]
	if !o.Global || o.Slot >= len(f.def) || !f.def[o.Slot] || reprOf(o.Type) != rRef {
		return false, false
	}
	leaves(f.r[o.Slot], func(v any) {
		switch x := v.(type) {
		case *Array:
			held = held || !x.released
		case *Gate:
			closed = closed || !x.g.Opened()
		}
	})
	return held, closed
}

// Lookup returns the object of a top-level name, and its value if it has one.
func (m *Machine) Lookup(name string) (o *types.Object, value any) {
	o = m.prog.names[name]
	if o == nil || !o.Global {
		return o, nil
	}
	f := m.units[m.prog.unitOf(o)]
	if o.Slot < len(f.def) && f.def[o.Slot] {
		value = f.get(o.Slot, o.Type)
	}
	return o, value
}

// Names lists the top-level names, sorted.
func (m *Machine) Names() []string {
	var out []string
	for n := range m.prog.names {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// Describe says in a few words what a value is like: sizes and states.
func (m *Machine) Describe(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case *Handle:
		d := x.h.Desc()
		s := []string{shapeText(&d)}
		if x.isSparse() {
			s[0] = x.sparse.sizesText()
		}
		switch {
		case !x.h.Alive():
			s = append(s, "unregistered")
		case m.ranks == nil && !x.h.Initialised():
			s = append(s, "no value, or not everywhere")
		}
		var views []string
		for _, v := range x.h.Views() {
			if m.ranks != nil && !m.declares(x, v) {
				continue // of the ranks, for messages
			}
			views = append(views, filter.Text(v.Filters, v.Dims))
		}
		if views != nil {
			s = append(s, "views: "+strings.Join(views, ", "))
		}
		return strings.Join(slices.DeleteFunc(s, func(t string) bool { return t == "" }), "; ")
	case *View:
		if x.v.Ended() {
			return "ended"
		}
		return plural(int64(len(x.parts)), "part") + " of " + x.of.Name()
	case *Array:
		if x.released {
			return "released"
		}
		return "held " + x.mode.String()
	case *List:
		return plural(int64(x.Len()), "item")
	case int64, float64, bool, Range, Node, Worker, DeviceKind:
		return m.text(x, true, position{})
	case string:
		if len(x) > 40 {
			return fmt.Sprintf("%q…", x[:40])
		}
		return fmt.Sprintf("%q", x)
	}
	return ""
}

// declares reports whether v, a view of h, is one of the script.
func (m *Machine) declares(h *Handle, v *datamgr.View) bool {
	return h.deflt != nil && h.deflt.v == v || slices.ContainsFunc(m.owned, func(w owned) bool { return w.v != nil && w.v.v == v })
}

func shapeText(d *iface.Desc) string {
	switch d.Rank {
	case 0:
		return ""
	case 1:
		return plural(int64(d.Dim[0]), "element")
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(d.Dim[:d.Rank]), "[]"), " ", " x ")
}

// Show writes elements lo to hi (row by row) of a handle, or its printed form when
// hi is negative; other values print as they do.
func (m *Machine) Show(ctx context.Context, name string, lo, hi int) (out string, err error) {
	o, v := m.Lookup(name)
	if o == nil {
		return "", fmt.Errorf("no name %s in this session", name)
	}
	err = m.enter(ctx, func() {
		h, ok := v.(*Handle)
		if !ok || hi < 0 || h.typ.Kind == types.Void {
			if v != nil {
				out = m.echo(v, position{})
			}
			return
		}
		m.alive(h, position{})
		b, known, release := m.elements(h, position{})
		defer release()
		m.showing = true
		defer func() { m.showing = false }()
		n := b.Len()
		lo, hi = max(0, min(lo, n)), max(0, min(hi, n))
		var s strings.Builder
		fmt.Fprintf(&s, "%v %d..%d of %d:", h.typ, lo, hi, n)
		for k := lo; k < hi; k++ {
			if k&0xffff == 0xffff {
				m.poll(position{})
			}
			s.WriteByte(' ')
			if known != nil && !known(indexOf(&b.Desc, k)) {
				s.WriteString(unwrittenElement)
				continue
			}
			s.WriteString(m.elemText(b.Elem, readElem(b.Elem, b.At(k))))
		}
		out = s.String()
	})
	return out, err
}

// indexOf is the place of element k of d, counted row by row.
func indexOf(d *iface.Desc, k int) (i index) {
	for a := int(d.Rank) - 1; a >= 0; a-- {
		i[a] = k % d.Dim[a]
		k /= d.Dim[a]
	}
	return i
}

// ShowPart writes the part of a matrix, block or tensor that lies between lo and hi of span k along axis
// k, complete: hi is left out, and what is beyond the end as well.
func (m *Machine) ShowPart(ctx context.Context, name string, spans [][2]int) (out string, err error) {
	var wrong error
	o, v := m.Lookup(name)
	if o == nil {
		return "", fmt.Errorf("no name %s in this session", name)
	}
	err = m.enter(ctx, func() {
		h, ok := v.(*Handle)
		if !ok {
			wrong = fmt.Errorf("`%s` is %s, and has no elements to choose from", name, article(o.Type.String()))
			return
		}
		if h.isSparse() {
			wrong = fmt.Errorf("`%s` is a %s: to see all values print `%s.%s`", name, h.sparse.Format.Name, name, h.sparse.Format.Arrays[h.sparse.Format.Values()].Name)
			return
		}
		m.alive(h, position{})
		d := h.h.Desc()
		if int(d.Rank) != len(spans) {
			wrong = fmt.Errorf("`%s` is %s and takes %s, and %s given", name, article(d.String()), check.Indices(int(d.Rank)), check.AreIndices(len(spans)))
			return
		}
		all, known, release := m.elements(h, position{})
		defer release()
		b, from := *all, index{}
		at, whole := "", ""
		off := 0
		for k, s := range spans {
			n := b.Dim[k]
			lo, hi := min(s[0], n), min(s[1], n)
			if s[0] >= n && n > 0 {
				wrong = fmt.Errorf("there is no %s %d of `%s`: they count from 0 to %d", axisNoun(&b, k), s[0], name, n-1)
				return
			}
			off += lo * b.Stride[k]
			from[k], b.Dim[k] = lo, hi-lo
			if k > 0 {
				at, whole = at+", ", whole+" x "
			}
			at += fmt.Sprintf("%d..%d", lo, hi)
			whole += fmt.Sprint(n)
		}
		if b.Ptr != nil {
			b.Ptr = unsafe.Add(b.Ptr, off*int(b.Elem.Size()))
		}
		has := known
		if known != nil {
			has = func(i index) bool {
				for k := range spans {
					i[k] += from[k]
				}
				return known(i)
			}
		}
		elide := m.elide
		m.elide, m.echoing, m.showing, m.shownFrom = math.MaxInt, true, true, from
		defer func() { m.elide, m.echoing, m.showing, m.shownFrom = elide, false, false, index{} }()
		head, rest, _ := strings.Cut(m.bufferText(h.typ.String(), &b, has), ":")
		out = fmt.Sprintf("%s at [%s] of %s:%s", head, at, whole, rest)
	})
	if err == nil {
		err = wrong
	}
	return out, err
}

// Data of a session that a failure or a cancel left without a valid value.

// Lost names the data of the session whose value was lost because a task failed
// or was dropped: whole data, or parts where others of the same view are valid.
func (m *Machine) Lost() []string {
	views := map[*Handle]*View{} // how the session can name parts
	seen := map[*Handle]bool{}
	var handles []*Handle
	for _, name := range m.Names() {
		_, v := m.Lookup(name)
		switch x := v.(type) {
		case *Handle:
			if x.h.Alive() && !seen[x] { // two names may have the same data: let w = v
				seen[x] = true
				handles = append(handles, x)
			}
			if x.deflt != nil && !x.deflt.v.Ended() {
				views[x] = x.deflt
			}
		case *View:
			if views[x.of] == nil && !x.v.Ended() {
				views[x.of] = x
			}
		}
	}
	var out []string
	for _, h := range handles {
		if !m.isLost(h) {
			continue
		}
		var parts []string
		view := views[h]
		if view != nil {
			for k := range view.parts {
				if p := &view.parts[k]; m.isLost(p) {
					parts = append(parts, p.Name())
				}
			}
		}
		if view == nil || len(parts) == 0 || len(parts) == len(view.parts) {
			parts = []string{h.Name()}
		}
		out = append(out, parts...)
	}
	return out
}

// isLost reports whether reading h would meet a value that was lost. Of several ranks it asks this one alone, and each must ask in the same order.
func (m *Machine) isLost(h *Handle) bool {
	if m.ranks != nil {
		lost, err := m.ranks.IsLost(h.h)
		return lost && err == nil
	}
	k, _ := datamgr.Fault([]datamgr.Operand{{Handle: h.h, Mode: iface.R}})
	return k >= 0
}

// Sessions on several ranks: see lang.Session.

// RanksErr returns why the ranks of a session can do nothing more together, nil if they can.
func (m *Machine) RanksErr() error {
	if m.ranks == nil {
		return nil
	}
	return m.ranks.Err()
}

// GiveUp ends what the ranks of a session do together, because of err; see Rejoin. It may be called from any goroutine.
func (m *Machine) GiveUp(err error) {
	if j := m.shared.Load(); j != nil {
		j.Fail(err)
	}
}

// Rejoin makes a session whose ranks could do nothing more together go on, with messages by end. Its data is gone, as by EndAll.
func (m *Machine) Rejoin(end cluster.Comm) (names []string, ended []*types.Object, err error) {
	old := m.ranks
	m.ranks = nil // the others do not wait for what becomes of the data
	names, ended, err = m.EndAll()
	_ = old.Close() // its error is why
	m.cfg.Ranks, m.told, m.pending = end, 0, nil
	return names, ended, errors.Join(err, m.open())
}

// The record of tasks that a session has inserted, for its graph: a few words for each
// task, taken down as it is submitted.

// maxRecorded bounds the tasks that a record keeps, those of the engine included. They take
// about 20 MiB.
const maxRecorded = 1 << 18

// record is the tasks of a session, in the order of their submission.
type record struct {
	mu struct {
		sync.Mutex // the engine inserts tasks of its own from other goroutines, too
		tasks      []recorded
		ops        []*Handle
		vars       []int64
		unusual    map[int]*unusual // by place in tasks
		jobs       []recordedJob
		missing    int // tasks that came when the record was full
		using      *Handle
	}
}

// recorded is one task.
type recorded struct {
	site      *insertSite // nil: the engine inserted it
	call      *engine.Call
	ops, vars int32 // where its operands begin, and the values of its loop variables
}

// recordedJob is a job of the session: another one when the session changed its mode.
type recordedJob struct {
	job   *engine.Job
	first int // task of the record in it
}

// unusual is what few tasks have.
type unusual struct {
	name            string
	priority, color int
	unordered       uint64 // bit k: operand k, as far as it has one
	after           []int64

	internal string // what the engine inserted: see engine.Event
	handle   *datamgr.Handle
	named    *Handle // that one, if the script knows it
	mode     iface.AccessMode
	loose    bool
	site     *engine.Site
}

// begin notes that the tasks that follow are those of j.
func (r *record) begin(j *engine.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.jobs = append(r.mu.jobs, recordedJob{j, len(r.mu.tasks)})
}

// insert takes down a task that a statement has inserted.
func (r *record) insert(s *insertSite, st *siteState) {
	spec := &st.spec
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.tasks) >= maxRecorded {
		r.mu.missing++
		return
	}
	if s.opts.any {
		x := &unusual{name: spec.Name, priority: spec.Priority, color: spec.Color}
		for k := range spec.Operands {
			if spec.Operands[k].Unordered || spec.Unordered {
				x.unordered |= 1 << min(k, 63)
			}
		}
		for _, d := range spec.After {
			if t, ok := d.(*engine.Task); ok {
				x.after = append(x.after, t.ID())
			}
		}
		r.noteLocked(x)
	}
	r.mu.tasks = append(r.mu.tasks, recorded{s, spec.Origin.Call, int32(len(r.mu.ops)), int32(len(r.mu.vars))})
	r.mu.ops = append(r.mu.ops, st.handles...)
	r.mu.vars = append(r.mu.vars, spec.Origin.Vars[:len(s.vars)]...)
}

// internal takes down what the engine has inserted; see engine.JobOptions.OnInternal. An
// access without a place is one of the host, such as when a prompt shows a value.
func (r *record) internal(e *engine.Event) {
	if e.Internal == "acquire" && e.Origin.Site == nil {
		return
	}
	o := e.Operands[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.tasks) >= maxRecorded {
		return
	}
	x := &unusual{internal: e.Internal, handle: o.Handle, mode: o.Mode, loose: o.Unordered, site: e.Origin.Site}
	if h := r.mu.using; h != nil && h.h == o.Handle {
		x.named = h
	}
	r.noteLocked(x)
	r.mu.tasks = append(r.mu.tasks, recorded{call: e.Origin.Call, ops: int32(len(r.mu.ops)), vars: int32(len(r.mu.vars))})
}

// uses says that the engine is about to insert something on h for the script. A nil r is no
// session.
func (r *record) uses(h *Handle) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.mu.using = h
	r.mu.Unlock()
}

// noteLocked keeps x for the task that comes next.
func (r *record) noteLocked(x *unusual) {
	if r.mu.unusual == nil {
		r.mu.unusual = map[int]*unusual{}
	}
	r.mu.unusual[len(r.mu.tasks)] = x
}

// SessionGraph returns the tasks that a session has inserted, and how many more there were:
// a record keeps maxRecorded of them.
func (m *Machine) SessionGraph(title string) (g *graph.Graph, missing int) {
	rec := graph.NewRecorder(m.rt)
	r := m.record
	r.mu.Lock()
	defer r.mu.Unlock()
	named := map[*Handle]bool{}
	name := func(h *Handle) {
		if h != nil && !named[h] {
			named[h] = true
			rec.Name(h.h, h.Name())
		}
	}
	var id, internal int64
	jobs := r.mu.jobs
	var job *engine.Job
	for k := range r.mu.tasks {
		for len(jobs) > 0 && jobs[0].first <= k {
			job, id, internal = jobs[0].job, 0, 0
			jobs = jobs[1:]
		}
		t := &r.mu.tasks[k]
		x := r.mu.unusual[k]
		p := engine.PlannedTask{Job: job, Origin: engine.Origin{Call: t.call}}
		if t.site == nil {
			internal--
			p.ID, p.Internal, p.Origin.Site = internal, x.internal, x.site
			name(x.named)
			p.Operands = []engine.Operand{{Handle: x.handle, Mode: x.mode, Unordered: x.loose}}
			rec.Plan(&p)
			continue
		}
		id++
		p.ID, p.Codelet, p.Color, p.Origin.Site = id, t.site.codelet, t.site.codelet.Color, t.site.site
		copy(p.Origin.Vars[:], r.mu.vars[t.vars:int(t.vars)+len(t.site.vars)])
		for i := range t.site.ops {
			h := r.mu.ops[int(t.ops)+i]
			name(h)
			p.Operands = append(p.Operands, engine.Operand{Handle: h.h, Mode: t.site.ops[i].mode, Unordered: h.h.Unordered()})
		}
		if x != nil {
			p.Name, p.Priority, p.After = x.name, x.priority, x.after
			if x.color != 0 {
				p.Color = x.color
			}
			for i := range p.Operands {
				p.Operands[i].Unordered = p.Operands[i].Unordered || x.unordered>>min(i, 63)&1 != 0
			}
		}
		rec.Plan(&p)
	}
	return rec.Graph(title), r.mu.missing
}
