package interp

// Plans of a session: the tasks that an entry would insert now. The machine of such a
// plan begins with an image of the session: its names, lists and gates, and its data on
// the runtime that plans. Values computed by tasks so far are known to the plan until a
// planned task writes them.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/types"
)

// planCode is the code of a session's functions for plans, made as far as it was needed.
type planCode struct {
	prog  *Program
	units int // of Program.all that it has
}

// forked is what a plan of a session begins with.
type forked struct {
	from   *Machine
	units  []*unitCode // those that the entry imports first, and the entry
	main   *check.Unit
	images map[*datamgr.Handle]*datamgr.Handle // of the plan to those of the session
	wrote  map[*datamgr.Handle]map[*datamgr.Handle]bool
	quiet  bool // what is submitted is not of the entry
}

// PlanEntry plans u, an entry that was checked and is not evaluated, as Plan does a
// program. Files and host functions apart, the session stays as it is.
func (m *Machine) PlanEntry(ctx context.Context, u *check.Unit, cfg *PlanConfig) (*Planned, error) {
	if err := m.usable(); err != nil {
		if err == errClosed {
			err = errors.New("lang: the session is closed")
		}
		return nil, err
	}
	p, units, err := m.compilePlan(u)
	if err != nil {
		return nil, err
	}
	cfg.session = &forked{from: m, units: units, main: u}
	return Plan(ctx, p, cfg)
}

// compilePlan makes the code of u for plans, with that of all functions it may call.
func (m *Machine) compilePlan(u *check.Unit) (p *Program, units []*unitCode, err error) {
	k := &m.planCode
	if k.prog == nil {
		k.prog = newProgram()
		k.prog.plan, k.prog.open = true, true
	}
	p = k.prog
	for _, old := range m.prog.all[k.units:] {
		p.index[old] = m.prog.index[old]
		p.declareFuncs(old)
		if err := p.compileFuncs(old); err != nil {
			return nil, nil, err
		}
		k.units++
	}
	p = p.branch()
	p.main, p.names = u, maps.Clone(m.prog.names)
	maps.Copy(p.names, u.Objects)
	var add func(u *check.Unit, entry bool) error
	add = func(u *check.Unit, entry bool) error {
		for _, in := range u.Imports {
			if _, known := p.index[in]; !known {
				if err := add(in, false); err != nil {
					return err
				}
			}
		}
		if p.index[u] = 0; !entry {
			p.index[u] = len(m.units) + len(units)
		}
		p.declareFuncs(u)
		code, err := p.compileUnit(u, entry)
		units = append(units, code)
		return err
	}
	return p, units, add(u, true)
}

// branch is a program that has the code of p, and gets more.
func (p *Program) branch() *Program {
	q := newProgram()
	q.funcs, q.index, q.hosts = maps.Clone(p.funcs), maps.Clone(p.index), maps.Clone(p.hosts)
	q.nsites, q.open, q.plan = p.nsites, p.open, p.plan
	return q
}

// run makes what the session holds, and then runs the entry.
func (s *forked) run(m *Machine) {
	s.images = map[*datamgr.Handle]*datamgr.Handle{}
	s.wrote = map[*datamgr.Handle]map[*datamgr.Handle]bool{}
	s.quiet = true
	(&imaging{m: m, from: s.from, images: s.images, made: map[any]any{}, parts: map[*datamgr.Handle]*Handle{}}).all()
	s.quiet = false
	for _, u := range s.units {
		f := m.units[0]
		if u.unit != s.main {
			f = m.newTop()
			m.units = append(m.units, f)
		}
		m.runUnit(f, u, u.unit != s.main)
	}
	if o := s.main.Last; o != nil { // the session shows it
		m.unknown = false
		if v := m.units[0].get(o.Slot, o.Type); v != nil {
			m.echo(v, lastPlace(s.main))
		}
	}
	s.quiet = true // what follows is the end of the plan
}

// submitted notes what a planned task writes.
func (s *forked) submitted(t *engine.PlannedTask) {
	if t.Internal == "reduce" || t.Internal == "init" {
		return // by itself it changes nothing that the session would not have
	}
	for _, o := range t.Operands {
		if o.Mode == iface.R || o.Mode == iface.Scratch {
			continue
		}
		root := o.Handle.Root()
		if s.wrote[root] == nil {
			s.wrote[root] = map[*datamgr.Handle]bool{}
		}
		s.wrote[root][o.Handle] = true
	}
}

// now gives the elements of h as the session has them, for reading until release is
// called; false when the plan has written some, or tasks of the session still may.
func (pl *planning) now(m *Machine, h *Handle, at position) (b iface.Buffer, release func(), ok bool) {
	s := pl.session
	if s == nil || s.quiet || h.typ.Kind == types.Void {
		return b, nil, false
	}
	real := s.images[h.h]
	if real == nil {
		return b, nil, false
	}
	for w := range s.wrote[h.h.Root()] {
		if w.Overlaps(h.h) {
			return b, nil, false
		}
	}
	for _, o := range s.from.owned {
		switch a := o.a; {
		case a == nil || a.released || !a.h.h.Overlaps(real):
		case a.h.h == real:
			return a.buf, func() {}, true
		case a.mode != iface.R: // acquiring it would wait for the script
			return b, nil, false
		}
	}
	if busy, err := s.from.job.Busy(real); err != nil || busy {
		return b, nil, false
	}
	acc, err := s.from.job.Acquire(m.ctx, real, iface.R) // waits at most until contributions are combined
	var lost *engine.FailedDataError
	switch {
	case errors.As(err, &lost):
		m.raiseEngine(err, at, h)
	case err != nil:
		return b, nil, false
	}
	return *acc.Buffer(), func() { acc.Release() }, true
}

// maxKnownBytes bounds the bytes of data that is copied so that a plan knows what the script
// writes into it.
const maxKnownBytes = 1 << 26

// look makes the elements of an array of a plan those that the session has, if they are known.
func (a *Array) look(m *Machine) {
	if a.mode == iface.W {
		return
	}
	b, release, ok := m.plan.now(m, a.h, a.at)
	if !ok {
		return
	}
	if a.mode == iface.R {
		a.buf, a.size, a.cell, a.done = b, b.Elem.Size(), nil, release
		return
	}
	defer release()
	size := b.Elem.Size()
	n := b.Len()
	if n == 0 || int64(n)*int64(size) > maxKnownBytes {
		return
	}
	mem := make([]int64, (n*int(size)+7)/8)
	c := b
	c.Ptr = unsafe.Pointer(unsafe.SliceData(mem))
	s := 1
	for k := int(c.Rank) - 1; k >= 0; k-- {
		c.Stride[k] = s
		s *= c.Dim[k]
	}
	for k := range n {
		copy(unsafe.Slice((*byte)(c.At(k)), size), unsafe.Slice((*byte)(b.At(k)), size))
	}
	a.buf, a.size, a.cell = c, size, nil
}

// stored notes that a plan wrote an element: of a value that is not known, nothing of the
// array is.
func (a *Array) stored(m *Machine) {
	if m.plan != nil && m.unknown {
		a.cell = new([16]byte)
	}
}

// ---- images ------------------------------------------------------------------------

// imaging makes images of what a session holds.
type imaging struct {
	m, from *Machine
	images  map[*datamgr.Handle]*datamgr.Handle
	made    map[any]any                 // of what names and lists share
	parts   map[*datamgr.Handle]*Handle // of views, by the parts of the session
}

// all makes what the session holds that the names of an entry can reach.
func (g *imaging) all() {
	m, from := g.m, g.from
	maps.Copy(m.params, from.params)
	for k, f := range from.units {
		to := m.newTop()
		m.units = append(m.units, to)
		to.grow(len(f.n))
		copy(to.n, f.n)
		copy(to.def, f.def)
		for i, v := range f.r {
			if v != nil && (k > 0 || f.def[i]) {
				to.r[i] = g.value(v)
			}
		}
	}
	for _, o := range from.owned {
		switch {
		case o.h != nil:
			m.own(g.handle(o.h))
		case o.v != nil:
			m.owned = append(m.owned, owned{v: g.view(o.v)})
		case o.a != nil:
			m.owned = append(m.owned, owned{a: g.array(o.a)})
		}
	}
	for _, w := range slices.Sorted(maps.Keys(from.ordered)) {
		for _, n := range from.ordered[w] {
			if _, err := m.job.SubmitWith(&engine.TaskSpec{Workers: []int{w}}, engine.TaskOptions{Place: n}); err != nil {
				m.raiseEngine(err, position{}, nil)
			}
		}
	}
}

// value is the image of a value; those that do not change are their own.
func (g *imaging) value(v any) any {
	switch v := v.(type) {
	case *Handle:
		return g.handle(v)
	case *View:
		return g.view(v)
	case *Array:
		return g.array(v)
	case *List:
		return g.list(v)
	case *Task:
		return g.task(v)
	case *Gate:
		return g.gate(v)
	}
	return v
}

// image returns what was made of v, or makes it.
func image[T any](g *imaging, v *T, fill func(*T)) *T {
	if old, ok := g.made[v]; ok {
		return old.(*T)
	}
	out := new(T)
	g.made[v] = out
	fill(out)
	return out
}

func (g *imaging) handle(h *Handle) *Handle {
	if h == nil {
		return nil
	}
	if name := h.memberName(); name != "" {
		return g.handle(h.sparse.whole).member(name)
	}
	if h.view != nil {
		g.view(h.view)
		return g.parts[h.h]
	}
	return image(g, h, func(out *Handle) {
		*out = Handle{m: g.m, typ: h.typ, at: h.at, owner: -1, ldim: h.ldim, fold: h.fold, layouts: h.layouts, root: out}
		out.h = g.datum(h)
		if h.sparse != nil {
			var arrays []*datamgr.Handle
			for _, a := range h.data()[:h.sparse.Format.Values()] {
				arrays = append(arrays, g.datum(a))
			}
			out.setSparse(append(arrays, out.h), &sparse{SparseStructure: h.sparse.SparseStructure, guessed: h.sparse.guessed})
			for i, a := range h.data() {
				out.sparse.arrays[i].deflt = g.view(a.deflt)
			}
		}
		out.deflt = g.view(h.deflt)
	})
}

// datum returns the image of what h is to the engine.
func (g *imaging) datum(h *Handle) *datamgr.Handle {
	d, err := g.m.rt.Image(h.h)
	if err != nil {
		g.m.raiseEngine(err, position{}, nil)
	}
	g.images[d] = h.h
	return d
}

func (g *imaging) view(v *View) *View {
	if v == nil {
		return nil
	}
	return image(g, v, func(out *View) {
		*out = View{of: g.handle(v.of), partType: v.partType, name: v.name, at: v.at, stmt: v.stmt}
		d, err := g.m.rt.ImageView(v.v, out.of.h)
		if err != nil {
			g.m.raiseEngine(err, position{}, nil)
		}
		out.v = d
		out.parts = make([]Handle, len(v.parts))
		for k, p := range d.Parts {
			g.images[p] = v.v.Parts[k]
			out.parts[k] = Handle{h: p, m: g.m, typ: v.partType, root: out.of.root, view: out, at: v.parts[k].at, owner: -1}
			g.parts[v.v.Parts[k]] = &out.parts[k]
		}
		if !v.v.Ended() {
			g.m.plan.rec.View(d.Parts, func(k int) string { return out.partName(k) + out.arrayName(len(v.arrays)) })
		}
		for i, a := range v.arrays {
			d, err := g.m.rt.ImageView(a, out.of.sparse.arrays[i].h)
			if err != nil {
				g.m.raiseEngine(err, position{}, nil)
			}
			for k, p := range d.Parts {
				g.images[p] = a.Parts[k]
			}
			if !v.v.Ended() {
				g.m.plan.rec.View(d.Parts, func(k int) string { return out.partName(k) + out.arrayName(i) })
			}
			out.arrays = append(out.arrays, d)
		}
		for k := range v.parts { // out.parts has its place by now
			if c := v.parts[k].sparse; c != nil {
				out.sparsePart(k, &sparse{SparseStructure: c.SparseStructure, origin: c.origin, guessed: c.guessed})
				for i, a := range v.parts[k].data() {
					out.parts[k].sparse.arrays[i].deflt = g.view(a.deflt)
				}
			}
			out.parts[k].deflt = g.view(v.parts[k].deflt)
		}
	})
}

func (g *imaging) array(a *Array) *Array {
	return image(g, a, func(out *Array) {
		*out = Array{h: g.handle(a.h), buf: a.buf, size: a.size, mode: a.mode, at: a.at, gone: a.gone, released: a.released}
		if a.released {
			return
		}
		if out.h.h.Alive() { // else its data ended while the script held it
			var err error // what has become of the value meanwhile, the image knows
			if out.acc, err = g.m.job.AcquireWith(g.m.ctx, out.h.h, a.mode, engine.AcquireOptions{Site: g.m.siteFor(a.at), OrderOnly: true}); err != nil {
				g.m.raiseEngine(err, a.at, out.h)
			}
		}
		if a.mode != iface.R { // what the plan writes stays in the plan
			out.cell = new([16]byte)
			g.m.plan.session.quiet = false
			out.look(g.m)
			g.m.plan.session.quiet = true
		}
	})
}

func (g *imaging) list(l *List) *List {
	return image(g, l, func(out *List) {
		*out = List{kind: l.kind, i: slices.Clone(l.i), f: slices.Clone(l.f), frozen: l.frozen}
		if l.a != nil {
			out.a = make([]any, len(l.a))
			for k, v := range l.a {
				out.a[k] = g.value(v)
			}
		}
	})
}

// task is a task that has ended, whatever became of it.
func (g *imaging) task(t *Task) *Task {
	return image(g, t, func(out *Task) { *out = Task{was: t.t, codelet: t.codelet, site: t.site} })
}

func (g *imaging) gate(v *Gate) *Gate {
	return image(g, v, func(out *Gate) {
		out.g = g.m.job.NewGate()
		if v.g.Opened() {
			out.g.Open()
		}
	})
}
