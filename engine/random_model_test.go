package engine

// The model of random programs: what a program does to plain arrays, step by
// step. It knows the semantics and nothing of how the engine works.

import (
	"fmt"
	"math/rand/v2"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// A program is data: it is made once and run under many configurations.
type program struct {
	seed  uint64
	data  []*modelDatum
	steps []step
	tasks int
	fails bool   // some tasks fail
	loses uint64 // devices are lost at moments that this number gives; 0: none is

	outs   map[int64]outcome // of tasks that were submitted
	held   bool              // data is acquired
	waited bool              // for all that was submitted
}

type stepKind uint8

const (
	stepPartition stepKind = iota
	stepEndView
	stepTask
	stepInvalidate
	stepAcquire
	stepRelease
	stepReleaseTo
	stepWaitTask
	stepOpenAll
	stepWait
	stepWaitHandle
	stepGather
	stepReleasePart
	stepCall
	stepTry
	stepCopy
	stepDuplicate
	stepUnregister
	stepRegister
	stepGap
)

func (k stepKind) String() string {
	return [...]string{"partition", "end view", "task", "invalidate", "acquire", "release", "release to R",
		"wait task", "open all", "wait", "wait handle", "gather", "release part", "call", "try", "copy", "duplicate", "unregister", "register", "gap"}[k]
}

type outcome uint8

const (
	runs outcome = iota
	uninit
	lost
	failsItself
)

func (o outcome) String() string { return [...]string{"runs", "uninit", "lost", "fails"}[o] }

type step struct {
	kind    stepKind
	handle  int // index in modelDatum.handles
	datum   int
	filters []modelFilter
	parts   int // of a partition, or of one that was taken out
	view    int
	task    *modelTask
	mode    iface.AccessMode
	out     outcome
	want    []int64    // acquire: what is seen, row-major
	add     int64      // acquire RW, W: added or stored
	lower   []lowering // call: what the callback gives back, in this order
	acquire AcquireOptions
	fetch   bool   // order only: and then fetched
	free    bool   // what is seen is not known
	either  bool   // acquire: the data may be lost, see modelDatum.unsure
	from    [2]int // copy: datum and handle of the source
	group   int    // of steps from an acquire to its release; 0: none
}

// lowering gives part of the rights to a handle back.
type lowering struct {
	handle int
	mode   iface.AccessMode
}

func (s *step) String() string {
	switch s.kind {
	case stepTask:
		t := s.task
		text := fmt.Sprintf("task %d", t.id)
		for _, o := range t.ops {
			text += fmt.Sprintf(" %v d%d.h%d", o.mode, o.datum, o.handle)
			if o.unordered {
				text += "u"
			}
		}
		if t.rounds > 1 {
			text += fmt.Sprintf(" %d times", t.rounds)
		}
		return fmt.Sprintf("%s after %v gate %d opens %d prio %d: %v", text, t.after, t.gate, t.opens, t.priority, t.out)
	case stepDuplicate:
		return fmt.Sprintf("d%d duplicates d%d.h%d: %v", s.datum, s.from[0], s.from[1], s.out)
	case stepCopy:
		return fmt.Sprintf("copy d%d.h%d to d%d.h%d: %v", s.from[0], s.from[1], s.datum, s.handle, s.out)
	case stepCall:
		return fmt.Sprintf("call %v d%d.h%d %+v fetch %v lower %v: %v", s.mode, s.datum, s.handle, s.acquire, s.fetch, s.lower, s.out)
	case stepAcquire:
		return fmt.Sprintf("acquire %v d%d.h%d: %v", s.mode, s.datum, s.handle, s.out)
	case stepPartition:
		text := fmt.Sprintf("partition d%d.h%d as view %d by", s.datum, s.handle, s.view)
		for _, f := range s.filters {
			text += fmt.Sprintf(" %s%v", f.Name, f.Args)
		}
		return text
	}
	return fmt.Sprintf("%v d%d.h%d view %d mode %v %v", s.kind, s.datum, s.handle, s.view, s.mode, s.task != nil)
}

type modelOp struct {
	datum, handle int
	mode          iface.AccessMode
	unordered     bool
	adds          bool // every update of the datum adds
}

type modelTask struct {
	id       int64
	ops      []modelOp
	after    []int64 // tasks
	gate     int     // gate it waits for, from 1; 0: none
	opens    int     // gate that its kernel opens
	priority int
	worker   int // restricted to this worker; -1: no
	yields   int
	kept     bool
	out      outcome
	fails    bool // by itself
	panics   bool
	want     int64        // what it saw
	stores   [][]int64    // what it stores in operands that are CommuteW; it follows from the steps before
	rounds   int          // how often it runs, one round after the other; 0: once
	nest     int          // size of a graph of its own that its kernel submits
	children []*modelTask // that its kernel submits
}

// modelHandle is a box of a datum with some axes dropped.
type modelHandle struct {
	desc  iface.Desc
	lo    [iface.MaxRank]int // in the datum
	axes  []int
	dead  bool
	view  int // that it is part of; -1: the whole
	views []int
}

type modelDatum struct {
	kind     iface.Kind
	dims     []int
	ld       int
	home     bool
	adds     bool // all updates add: accesses may be unordered
	initOnly bool
	whole    bool // it is used in the ways that data with layouts on devices can be used, see hasLayouts
	dup      bool // duplicates another
	gone     bool // not registered, not yet or not any more
	ended    bool // unregistered
	handles  []*modelHandle
	views    []*modelView

	val    []int64
	init   []bool
	lost   []bool
	turns  []int64      // accesses that divide the CommuteW ones of an element into groups
	over   []overwrites // the open group of these
	unsure []bool       // some of such a group failed or were cancelled, others not: if one of those ran last, the element is lost
	groups []modelGroup // open contributions, disjoint
}

type modelGroup struct {
	handle int
	taint  bool // a contribution was lost
	in     []bool
}

// overwrites says what became of the tasks of a group that have an element CommuteW.
type overwrites struct{ ran, failed bool }

type modelView struct {
	datum  int
	handle int
	parts  []int
	ended  bool
	gap    bool // taken out of the program
}

const lazyValue = 5 // of data with an initialiser only

func (d *modelDatum) size() int { return len(d.val) }

// index is the place of an element of h in val.
func (d *modelDatum) index(h *modelHandle, idx [iface.MaxRank]int) int {
	at := h.lo
	for k, a := range h.axes {
		at[a] += idx[k]
	}
	i := 0
	for k, n := range d.dims {
		i = i*n + at[k]
	}
	return i
}

// cols is the length of a line, 1 but for data of two and more indices.
func (d *modelDatum) cols() int {
	if len(d.dims) < 2 {
		return 1
	}
	return d.dims[len(d.dims)-1]
}

// each calls fn for the elements of h, row-major.
func (d *modelDatum) each(h *modelHandle, fn func(i int)) {
	for i := range h.desc.Len() {
		var idx [iface.MaxRank]int
		for k := len(h.axes) - 1; k >= 0; k-- {
			idx[k] = i % h.desc.Dim[k]
			i /= h.desc.Dim[k]
		}
		fn(d.index(h, idx))
	}
}

func (d *modelDatum) overlap(a, b *modelHandle) bool {
	in := map[int]bool{}
	d.each(a, func(i int) { in[i] = true })
	hit := false
	d.each(b, func(i int) { hit = hit || in[i] })
	return hit
}

func (d *modelDatum) inside(a, b *modelHandle) bool { // a in b
	in := map[int]bool{}
	d.each(b, func(i int) { in[i] = true })
	all := true
	d.each(a, func(i int) { all = all && in[i] })
	return all
}

// packed reports whether strides cannot express h in place.
func (d *modelDatum) packed(h *modelHandle) bool {
	n := len(h.axes)
	if n == 0 || h.desc.Dim[n-1] <= 1 {
		return false
	}
	if h.axes[n-1] == len(d.dims)-1 {
		return d.strided()
	}
	step := d.ld
	for _, n := range d.dims[h.axes[n-1]+1 : len(d.dims)-1] {
		step *= n
	}
	return step > 1
}

// strided reports whether d is a vector in memory of the program whose elements lie apart.
func (d *modelDatum) strided() bool { return len(d.dims) == 1 && d.ld > 1 }

// fits reports whether one piece of memory can express a and b.
func (d *modelDatum) fits(a, b *modelHandle) bool {
	if d.packed(a) != d.packed(b) {
		return false
	}
	return !d.packed(a) || a.axes[len(a.axes)-1] == b.axes[len(b.axes)-1]
}

// closeGroup combines open contributions that an access meets.
func (d *modelDatum) closeGroup(h int, mode iface.AccessMode) {
	if mode == iface.Scratch {
		return
	}
	var left []modelGroup
	for _, g := range d.groups {
		hit := false
		d.each(d.handles[h], func(i int) { hit = hit || g.in[i] })
		if !hit || mode == iface.Redux && g.handle == h {
			left = append(left, g)
			continue
		}
		bad := g.taint
		for i, in := range g.in {
			bad = bad || in && d.lost[i]
		}
		for i, in := range g.in {
			if in && bad {
				d.lost[i] = true
			}
		}
	}
	d.groups = left
}

// contribute adds h to the open groups.
func (d *modelDatum) contribute(h int, lost bool) {
	for i := range d.groups {
		if d.groups[i].handle == h {
			d.groups[i].taint = d.groups[i].taint || lost
			return
		}
	}
	g := modelGroup{handle: h, taint: lost, in: make([]bool, d.size())}
	d.each(d.handles[h], func(i int) { g.in[i] = true })
	d.groups = append(d.groups, g)
}

// check says what becomes of an access that reads.
func (d *modelDatum) check(h *modelHandle, mode iface.AccessMode) outcome {
	if !mode.Reads() {
		return runs
	}
	out := runs
	d.each(h, func(i int) {
		switch {
		case !d.init[i]:
			out = uninit
		case d.lost[i] && out == runs:
			out = lost
		}
	})
	return out
}

// lazyInit gives data with an initialiser only its first value.
func (d *modelDatum) lazyInit(h *modelHandle, mode iface.AccessMode) {
	if !d.initOnly || !mode.Reads() {
		return
	}
	d.each(h, func(i int) {
		if !d.init[i] {
			d.init[i], d.val[i] = true, lazyValue
		}
	})
}

// body is the kernel of both sides: at returns the address of element k of
// operand i. It returns what it saw.
func body(t *modelTask, sizes []int, at func(i, k int) *int64) int64 {
	s := t.id * 1000003
	for i, o := range t.ops {
		if o.adds || o.unordered || o.mode != iface.R && o.mode != iface.RW {
			continue
		}
		for k := range sizes[i] {
			s += *at(i, k) * int64(2*k+1)
		}
	}
	for i, o := range t.ops {
		for k := range sizes[i] {
			p := at(i, k)
			switch {
			case o.mode == iface.R:
			case o.mode == iface.Scratch:
				*p = 77
			case o.mode == iface.CommuteW:
				*p = t.stores[i][k]
			case o.adds || o.unordered || o.mode == iface.Commute || o.mode == iface.Redux:
				*p += t.id + int64(k)
			case o.mode == iface.W:
				*p = s + int64(7*k+i)
			case o.mode == iface.RW:
				*p = *p*3 + s + int64(k)
			}
		}
	}
	return s
}

// run does to the model what the task does, and finds out what becomes of it.
func (p *program) run(t *modelTask) {
	deps := p.outs
	if t.out = runs; t.fails {
		t.out = failsItself
	}
	sizes := make([]int, len(t.ops))
	for i, o := range t.ops {
		d := p.data[o.datum]
		d.closeGroup(o.handle, o.mode)
		h := d.handles[o.handle]
		sizes[i] = h.desc.Len()
	}
	for _, o := range t.ops {
		d := p.data[o.datum]
		d.lazyInit(d.handles[o.handle], o.mode)
	}
	out := runs
	for _, o := range t.ops {
		d := p.data[o.datum]
		switch c := d.check(d.handles[o.handle], o.mode); c {
		case uninit:
			out = uninit
		case lost:
			if out == runs {
				out = lost
			}
		}
	}
	if out == uninit {
		t.out = uninit
		return
	}
	for _, id := range t.after {
		if deps[id] == lost || deps[id] == failsItself {
			out = lost
		}
	}
	if out == runs && t.out == failsItself {
		out = failsItself
	}
	t.out = out
	for _, o := range t.ops {
		d, h := p.data[o.datum], p.data[o.datum].handles[o.handle]
		if !o.mode.Writes() {
			continue
		}
		if o.mode == iface.Redux {
			d.contribute(o.handle, out != runs)
			d.each(h, func(i int) {
				if !d.init[i] {
					d.init[i], d.val[i], d.lost[i] = true, 0, false
				}
			})
			continue
		}
		d.each(h, func(i int) {
			d.init[i] = true
			switch {
			case o.mode == iface.CommuteW:
				g := &d.over[i]
				g.ran, g.failed = g.ran || out == runs, g.failed || out != runs
				d.lost[i], d.unsure[i] = !g.ran, g.ran && g.failed
			case out != runs:
				d.lost[i], d.unsure[i] = true, false
			case o.mode == iface.W:
				d.lost[i], d.unsure[i] = false, false
			}
		})
	}
	p.takeTurns(t)
	if out != runs {
		return
	}
	places := make([][]*int64, len(t.ops))
	for i, o := range t.ops {
		d, h := p.data[o.datum], p.data[o.datum].handles[o.handle]
		if o.mode == iface.Scratch {
			for range sizes[i] {
				places[i] = append(places[i], new(int64))
			}
			continue
		}
		d.each(h, func(k int) { places[i] = append(places[i], &d.val[k]) })
	}
	for range max(1, t.rounds) {
		t.want = body(t, sizes, func(i, k int) *int64 { return places[i][k] })
	}
	for _, c := range t.children {
		p.run(c)
	}
}

// takeTurns notes what t stores in operands that are CommuteW: all members of a group store the same in an element, and
// those of another group something else. An access in another mode ends the group of its elements.
func (p *program) takeTurns(t *modelTask) {
	t.stores = make([][]int64, len(t.ops))
	for i, o := range t.ops {
		if o.mode == iface.CommuteW {
			d := p.data[o.datum]
			d.each(d.handles[o.handle], func(k int) { t.stores[i] = append(t.stores[i], 1000*d.turns[k]+int64(k)) })
		}
	}
	for _, o := range t.ops {
		d := p.data[o.datum]
		if o.mode == iface.CommuteW || o.mode == iface.Scratch || o.mode == iface.Redux || o.unordered {
			continue
		}
		d.each(d.handles[o.handle], func(k int) { d.turns[k]++ })
		d.endOverwrites(d.handles[o.handle])
	}
}

// endOverwrites ends the groups of CommuteW of the elements of h: all of their tasks run before those to come.
func (d *modelDatum) endOverwrites(h *modelHandle) {
	d.each(h, func(i int) { d.over[i] = overwrites{} })
}

// isUnsure reports whether an element of h may be lost or not.
func (d *modelDatum) isUnsure(h *modelHandle) (unsure bool) {
	d.each(h, func(i int) { unsure = unsure || d.unsure[i] })
	return unsure
}

// readsUnsure returns a datum that s reads, with elements that may be lost or not, so that it is not known what becomes of s;
// -1 if there is none, or if s may do either.
func (p *program) readsUnsure(s *step) int {
	type place struct{ datum, handle int }
	var reads []place
	switch s.kind {
	case stepTask:
		for _, o := range s.task.ops {
			if o.mode.Reads() || o.mode == iface.Redux {
				reads = append(reads, place{o.datum, o.handle})
			}
		}
	case stepAcquire:
		if s.mode.Reads() && !s.mayFail() {
			reads = append(reads, place{s.datum, s.handle})
		}
	case stepCall, stepTry:
		if s.mode.Reads() || s.fetch {
			reads = append(reads, place{s.datum, s.handle})
		}
	case stepCopy, stepDuplicate:
		reads = append(reads, place{s.from[0], s.from[1]})
	}
	for _, at := range reads {
		if d := p.data[at.datum]; p.alive(at.datum, at.handle) && d.isUnsure(d.handles[at.handle]) {
			return at.datum
		}
	}
	return -1
}

// mayFail reports whether s is an acquire that no other step needs.
func (s *step) mayFail() bool { return s.kind == stepAcquire && s.mode == iface.R && s.group == 0 }

// A maker makes a random program.
type maker struct {
	*program
	r      *rand.Rand
	kept   []int64
	group  int  // of the steps that are made, see step
	groups int  // made so far
	gates  int  // made so far
	closed bool // some gate may be closed
}

func makeProgram(seed uint64) *program {
	m := &maker{program: &program{seed: seed, outs: map[int64]outcome{}}, r: rand.New(rand.NewPCG(seed, 1))}
	m.fails = m.r.IntN(3) == 0
	for range 1 + m.r.IntN(3) {
		m.datum()
	}
	for range 10 + m.r.IntN(60) {
		m.step()
	}
	m.open()
	m.emit(step{kind: stepWait})
	for i, d := range m.data { // at the end each handle is looked at
		for h := len(d.handles) - 1; h >= 0; h-- {
			if !d.gone && !d.handles[h].dead {
				m.acquire(i, h, iface.R)
				m.emit(step{kind: stepRelease})
			}
		}
	}
	return m.program
}

// emit adds a step to the program and does it to the model. It returns what
// becomes of it.
func (m *maker) emit(s step) outcome {
	s.group = m.group
	for d := m.readsUnsure(&s); d >= 0; d = m.readsUnsure(&s) { // overwrite it
		t := m.newTask()
		t.ops = []modelOp{{datum: d, mode: iface.W}}
		m.emit(step{kind: stepTask, task: t})
	}
	if m.apply(&s) {
		m.steps = append(m.steps, s)
	}
	return s.out
}

// holding begins a group of steps that belong to an acquire; the result ends it.
func (m *maker) holding() func() {
	m.groups++
	m.group = m.groups
	return func() { m.group = 0 }
}

func (m *maker) datum() {
	r := m.r
	d := &modelDatum{}
	if r.IntN(2) == 0 {
		d.kind, d.dims, d.ld = iface.Vector, []int{1 + r.IntN(24)}, 1
	} else {
		d.kind, d.dims = iface.Matrix, []int{1 + r.IntN(8), 1 + r.IntN(8)}
		switch r.IntN(6) {
		case 0:
			d.kind, d.dims = iface.Block, []int{1 + r.IntN(4), 1 + r.IntN(4), 1 + r.IntN(4)}
		case 1:
			d.dims = []int{1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(3)}
			for len(d.dims) < iface.MaxRank && r.IntN(2) == 0 {
				d.dims = append(d.dims, 1+r.IntN(2))
			}
			d.kind = iface.KindOf(len(d.dims))
		}
		d.ld = d.cols()
	}
	d.adds = !m.fails && r.IntN(4) == 0
	d.home = d.adds || r.IntN(3) > 0
	if len(d.dims) >= 2 && r.IntN(2) == 0 {
		d.ld += r.IntN(3)
	}
	if d.home && len(d.dims) == 1 && m.seed%3 == 0 {
		d.ld += r.IntN(3)
	}
	d.initOnly = !d.adds && r.IntN(8) == 0
	d.whole = !d.adds && !d.initOnly && (m.seed+uint64(len(m.data)))%3 == 0
	d.reset()
	m.data = append(m.data, d)
	m.emit(step{kind: stepRegister, datum: len(m.data) - 1})
	for range r.IntN(4) {
		m.partition(len(m.data) - 1)
	}
}

// pick picks a datum that is registered.
func (m *maker) pick() int {
	for {
		if d := m.r.IntN(len(m.data)); !m.data[d].gone {
			return d
		}
	}
}

// handle picks a handle that is alive.
func (m *maker) handle(d int) int {
	for {
		if h := m.r.IntN(len(m.data[d].handles)); !m.data[d].handles[h].dead {
			return h
		}
	}
}

// modelFilter is a filter as data.
type modelFilter struct {
	Name string
	Args []int `json:",omitempty"`
}

func (f modelFilter) filter() filter.Filter {
	a := append(append([]int(nil), f.Args...), 0, 0, 0)
	switch f.Name {
	case "halves":
		return filter.Halves()
	case "blocks":
		return filter.BlocksHalo(a[0], a[1])
	case "sizes":
		return filter.BlockSizes(f.Args)
	case "range":
		return filter.PickRange(a[0], a[1], a[2])
	case "pick":
		return filter.Pick(a[0])
	case "rows":
		return filter.Rows(a[0], a[1])
	case "cols":
		return filter.Cols(a[0], a[1])
	case "tiles":
		return filter.Tiles(a[0], a[1], a[2])
	case "grid":
		return filter.TilesN(f.Args[1:], f.Args[0])
	case "axis":
		return filter.Axis(a[0], a[1], a[2])
	}
	return nil
}

func (m *maker) filter(d *iface.Desc) (f modelFilter, ok bool) {
	r := m.r
	few := func(n int) int { return 1 + r.IntN(max(1, min(n, 4))) }
	halo := func(n, p int) int {
		if n-2 >= p && r.IntN(2) == 0 {
			return 1
		}
		return 0
	}
	is := func(name string, args ...int) (modelFilter, bool) { return modelFilter{name, args}, true }
	switch d.Kind {
	case iface.Vector:
		n := d.Dim[0]
		switch p := few(n); r.IntN(5) {
		case 0:
			if n >= 2 {
				return is("halves")
			}
			return is("blocks", p)
		case 1:
			return is("blocks", p, halo(n, p))
		case 2:
			a := r.IntN(n)
			return is("range", 0, a, min(n, a+1+r.IntN(3)))
		case 3:
			a := r.IntN(n)
			sizes := []int{}
			for _, s := range []int{a, 1, n - a - 1} {
				if s > 0 {
					sizes = append(sizes, s)
				}
			}
			return is("sizes", sizes...)
		default:
			return is("blocks", p)
		}
	case iface.Matrix:
		p, q := few(d.Dim[0]), few(d.Dim[1])
		switch r.IntN(6) {
		case 0:
			return is("rows", p, halo(d.Dim[0], p))
		case 1:
			return is("cols", q, halo(d.Dim[1], q))
		case 2:
			return is("tiles", p, q, min(halo(d.Dim[0], p), halo(d.Dim[1], q)))
		case 3:
			return is("pick", 0)
		case 4:
			return is("pick", 1)
		default:
			return is("tiles", p, q, 0)
		}
	case iface.Block, iface.Tensor, iface.Tensor5, iface.Tensor6, iface.Tensor7, iface.Tensor8:
		k := r.IntN(int(d.Rank))
		switch r.IntN(5) {
		case 0:
			return is("pick", k)
		case 1:
			args, least := []int{0}, 1
			for _, n := range d.Dim[:d.Rank] {
				p := 1 + r.IntN(min(n, 2))
				args, least = append(args, p), min(least, halo(n, p))
			}
			args[0] = least
			return is("grid", args...)
		}
		p := few(d.Dim[k])
		return is("axis", k, p, halo(d.Dim[k], p))
	}
	return f, false
}

// split applies a filter to parts; nil: it does not fit.
func split(parts []*modelHandle, mf modelFilter) []*modelHandle {
	f := mf.filter()
	var next []*modelHandle
	count := -1
	for _, p := range parts {
		s, err := f.Split(p.desc)
		if err != nil || count >= 0 && count != len(s.Parts) {
			return nil
		}
		count = len(s.Parts)
		for i := range s.Parts {
			f := &s.Parts[i]
			q := &modelHandle{desc: f.Desc(p.desc), lo: p.lo}
			for k, a := range p.axes {
				q.lo[a] += f.Lo[k]
				if k != f.Drop {
					q.axes = append(q.axes, a)
				}
			}
			next = append(next, q)
		}
	}
	return next
}

func (m *maker) partition(di int) {
	d := m.data[di]
	if d.whole {
		return
	}
	hi := 0
	if m.r.IntN(3) == 0 {
		hi = m.handle(di)
	}
	parts := []*modelHandle{d.handles[hi]}
	var fs []modelFilter
	for range 1 + m.r.IntN(2) {
		f, ok := m.filter(&parts[0].desc)
		if !ok {
			break
		}
		next := split(parts, f)
		if next == nil {
			break
		}
		parts, fs = next, append(fs, f)
	}
	if len(fs) == 0 {
		return
	}
	m.emit(step{kind: stepPartition, datum: di, handle: hi, filters: fs, view: len(d.views), parts: len(parts)})
}

// declare adds a view of handle hi.
func (d *modelDatum) declare(di, hi int, parts []*modelHandle) {
	v := &modelView{datum: di, handle: hi}
	for _, p := range parts {
		p.view = len(d.views)
		v.parts = append(v.parts, len(d.handles))
		d.handles = append(d.handles, p)
	}
	d.handles[hi].views = append(d.handles[hi].views, len(d.views))
	d.views = append(d.views, v)
}

func (d *modelDatum) end(v int) {
	if d.views[v].ended {
		return
	}
	d.views[v].ended = true
	for _, p := range d.views[v].parts {
		d.handles[p].dead = true
		for _, n := range d.handles[p].views {
			d.end(n)
		}
	}
}

// op adds an operand to t if it is compatible with the others.
func (m *maker) op(t *modelTask, di, hi int, mode iface.AccessMode, unordered bool) {
	d := m.data[di]
	if d.dup && mode != iface.Scratch { // no task may write it
		mode, unordered = iface.R, false
	}
	if d.whole && (mode == iface.Redux || mode == iface.Scratch) {
		mode = iface.RW
	}
	for _, o := range t.ops {
		if o.datum != di || !d.overlap(d.handles[o.handle], d.handles[hi]) {
			continue
		}
		s, x := iface.Scratch, iface.Redux
		if o.mode == s || mode == s {
			continue
		}
		if o.mode == x || mode == x || o.unordered != unordered {
			return
		}
		if !d.fits(d.handles[o.handle], d.handles[hi]) && (o.mode != iface.R || mode != iface.R) {
			return
		}
		// the order in which a kernel updates elements twice is the same on both sides
	}
	t.ops = append(t.ops, modelOp{datum: di, handle: hi, mode: mode, unordered: unordered, adds: d.adds})
}

func (m *maker) newTask() *modelTask {
	m.tasks++
	t := &modelTask{id: int64(m.tasks), worker: -1, yields: m.r.IntN(4)}
	if m.r.IntN(4) == 0 {
		t.priority = m.r.IntN(5) - 2
	}
	if m.r.IntN(10) == 0 {
		t.worker = m.r.IntN(8)
	}
	return t
}

func (m *maker) mode() iface.AccessMode {
	switch m.r.IntN(12) {
	case 0, 1, 2:
		return iface.R
	case 3:
		return iface.W
	case 4:
		if m.r.IntN(2) == 0 {
			return iface.W
		}
		return iface.CommuteW
	case 5, 6, 7:
		return iface.RW
	case 8, 9:
		if m.fails {
			return iface.RW
		}
		return iface.Commute
	case 10:
		return iface.Redux
	}
	return iface.Scratch
}

func (m *maker) randomTask() *modelTask {
	t := m.newTask()
	for range 1 + m.r.IntN(4) {
		di := m.pick()
		d := m.data[di]
		mode, unordered := m.mode(), false
		if d.initOnly && mode == iface.Redux {
			mode = iface.RW
		}
		if d.adds {
			if mode.Declared() == iface.W {
				mode = iface.RW
			}
			if mode != iface.Redux && mode != iface.Scratch && m.r.IntN(3) == 0 {
				unordered = true
				if mode == iface.Commute {
					mode = iface.RW
				}
			}
		}
		m.op(t, di, m.handle(di), mode, unordered)
	}
	if m.fails && m.r.IntN(8) == 0 {
		t.fails, t.panics = true, m.r.IntN(2) == 0
	}
	if m.r.IntN(12) == 0 {
		t.nest = 1 + m.r.IntN(3)
	}
	if m.r.IntN(8) == 0 {
		m.children(t)
	}
	return t
}

// children makes tasks that the kernel of t submits. When that happens is not known, so
// they only add to data to which all tasks add.
func (m *maker) children(t *modelTask) {
	var adds []int
	for i, d := range m.data {
		if d.adds && !d.gone {
			adds = append(adds, i)
		}
	}
	if len(adds) == 0 {
		return
	}
	for range 1 + m.r.IntN(3) {
		c := m.newTask()
		mode := []iface.AccessMode{iface.R, iface.RW, iface.Commute, iface.Redux}[m.r.IntN(4)]
		m.op(c, adds[m.r.IntN(len(adds))], 0, mode, mode == iface.RW && m.r.IntN(3) == 0)
		t.children = append(t.children, c)
	}
}

// repeating makes a task that runs again and again. The tasks between two rounds are not
// known, so it only adds to data to which all tasks add. It uses whole data, as no round
// is submitted with a part whose view has ended.
func (m *maker) repeating() {
	t := m.newTask()
	t.rounds = 2 + m.r.IntN(4)
	for range 1 + m.r.IntN(3) {
		di := m.pick()
		if !m.data[di].adds {
			continue
		}
		mode := []iface.AccessMode{iface.R, iface.RW, iface.Commute, iface.Redux}[m.r.IntN(4)]
		m.op(t, di, 0, mode, mode == iface.RW && m.r.IntN(3) == 0)
	}
	if len(m.kept) > 0 && m.r.IntN(4) == 0 {
		t.after = append(t.after, m.kept[m.r.IntN(len(m.kept))])
	}
	m.submit(t)
}

// submit adds a task to the program and to the model.
func (m *maker) submit(t *modelTask) bool {
	if len(t.ops) == 0 {
		return false
	}
	if m.emit(step{kind: stepTask, task: t}); t.out == uninit {
		return false
	}
	if t.kept {
		m.kept = append(m.kept, t.id)
	}
	return true
}

func (m *maker) open() {
	m.emit(step{kind: stepOpenAll})
	m.closed = false
}

// acquire adds an acquire; it reports whether the data is then held.
func (m *maker) acquire(di, hi int, mode iface.AccessMode) bool {
	return m.emit(step{kind: stepAcquire, datum: di, handle: hi, mode: mode, add: int64(m.r.IntN(100))}) == runs
}

// call: acquire with a callback, which may give the data back piece by piece.
func (m *maker) call(di int) {
	r, d := m.r, m.data[di]
	hi := m.handle(di)
	s := step{kind: stepCall, datum: di, handle: hi, add: int64(r.IntN(100)),
		mode: []iface.AccessMode{iface.R, iface.RW, iface.W}[r.IntN(3)]}
	s.acquire.OrderOnly = r.IntN(4) == 0
	if d.dup {
		s.mode = iface.R
	}
	if d.adds {
		s.acquire.Unordered = r.IntN(2) == 0
		if s.mode == iface.W {
			s.mode = iface.RW
		}
	}
	s.fetch = s.acquire.OrderOnly && r.IntN(2) == 0
	left := m.region(d, d.handles[hi])
	for range r.IntN(4) {
		if l, ok := m.lowering(di, left); ok {
			s.lower = append(s.lower, l)
		}
	}
	m.emit(s)
}

// region is the elements of h.
func (m *maker) region(d *modelDatum, h *modelHandle) map[int]bool {
	in := map[int]bool{}
	d.each(h, func(i int) { in[i] = true })
	return in
}

// lowering picks a handle in what is left, to give back.
func (m *maker) lowering(di int, left map[int]bool) (l lowering, ok bool) {
	d := m.data[di]
	l.handle = m.handle(di)
	ok = true
	d.each(d.handles[l.handle], func(i int) { ok = ok && left[i] })
	if !ok {
		return l, false
	}
	if m.r.IntN(3) == 0 {
		l.mode = iface.R
		return l, true
	}
	d.each(d.handles[l.handle], func(i int) { delete(left, i) })
	return l, true
}

// copy: a task that copies one handle to another of the same shape.
func (m *maker) copy() {
	for range 30 {
		s := step{kind: stepCopy, datum: m.pick(), from: [2]int{m.pick(), 0}}
		s.handle, s.from[1] = m.handle(s.datum), m.handle(s.from[0])
		to, from := m.data[s.datum], m.data[s.from[0]]
		dst, src := to.handles[s.handle], from.handles[s.from[1]]
		if to.adds || to.dup || from.adds || dst.desc.Kind != src.desc.Kind || dst.desc.Dim != src.desc.Dim {
			continue
		}
		m.emit(s)
		return
	}
}

// duplicate makes a datum that duplicates a handle of another.
func (m *maker) duplicate() {
	di := m.pick()
	d := m.data[di]
	if d.adds {
		return
	}
	hi := m.handle(di)
	h := d.handles[hi]
	c := &modelDatum{kind: h.desc.Kind, dup: true, ld: 1}
	if c.dims = append(c.dims, h.desc.Dim[:len(h.axes)]...); len(c.dims) >= 2 {
		c.ld = c.cols()
	}
	c.reset()
	m.data = append(m.data, c)
	m.emit(step{kind: stepDuplicate, datum: len(m.data) - 1, from: [2]int{di, hi}})
}

// unregister ends a datum.
func (m *maker) unregister() {
	left := 0
	for _, d := range m.data {
		if !d.gone {
			left++
		}
	}
	di := m.pick()
	d := m.data[di]
	if left < 2 || d.adds {
		return
	}
	m.emit(step{kind: stepUnregister, datum: di})
}

// try acquires data unless that has to wait. If it succeeds, the current value is
// expected.
func (m *maker) try(di int) {
	d := m.data[di]
	hi := m.handle(di)
	if d.adds || d.initOnly || len(d.groups) > 0 {
		return
	}
	m.emit(step{kind: stepTry, datum: di, handle: hi, mode: iface.R})
}

func (m *maker) step() {
	r := m.r
	di := m.pick()
	d := m.data[di]
	switch k := r.IntN(60); {
	case k > 57:
		m.repeating()
	case k == 57:
		if len(m.data) < 12 {
			m.datum()
		}
	case k == 56:
		if r.IntN(2) == 0 {
			m.unregister()
		}
	case k > 52:
		if len(m.data) < 12 {
			m.duplicate()
		}
	case k > 49:
		m.copy()
	case k > 46:
		m.call(di)
	case k == 46:
		m.try(di)
	case k == 44, k == 45:
		m.pieces(di)
	case k < 5:
		if len(d.handles) < 120 {
			m.partition(di)
		}
	case k == 5:
		if n := len(d.views); n > 0 {
			v := r.IntN(n)
			m.emit(step{kind: stepEndView, datum: di, view: v})
		}
	case k == 6:
		if d.adds || d.dup {
			return
		}
		m.emit(step{kind: stepInvalidate, datum: di, handle: m.handle(di)})
	case k < 9:
		m.hold(di)
	case k == 9:
		m.open()
	case k == 10:
		m.open()
		m.emit(step{kind: stepWait})
	case k == 11:
		m.open()
		m.emit(step{kind: stepWaitHandle, datum: di, handle: m.handle(di)})
	case k == 12:
		m.emit(step{kind: stepGather, datum: di, handle: m.handle(di)})
	case k < 16:
		m.pair(di)
	case k == 18:
		m.overwrites(di)
	case k < 18:
		t := m.newTask()
		for range 1 + r.IntN(3) {
			di := m.pick()
			mode := []iface.AccessMode{iface.R, iface.W, iface.RW}[r.IntN(3)]
			if m.data[di].adds && mode == iface.W {
				mode = iface.RW
			}
			m.op(t, di, m.handle(di), mode, false)
		}
		m.submit(t)
	default:
		t := m.randomTask()
		t.kept = r.IntN(3) == 0
		if len(m.kept) > 0 && r.IntN(4) == 0 {
			t.after = append(t.after, m.kept[r.IntN(len(m.kept))])
		}
		if r.IntN(8) == 0 {
			m.gates++
			t.gate, m.closed = m.gates, true
		}
		m.submit(t)
	}
}

// pair: the first of a group that may run together waits for a gate that a later
// member opens, through any views.
func (m *maker) pair(di int) {
	d := m.data[di]
	mode := []iface.AccessMode{iface.R, iface.Commute, iface.Redux, iface.CommuteW}[m.r.IntN(4)]
	if m.fails && mode != iface.CommuteW || d.initOnly || d.whole || d.adds && mode == iface.CommuteW {
		mode = iface.R
	}
	a, b := m.newTask(), m.newTask()
	ha := m.handle(di)
	m.op(a, di, ha, mode, false)
	m.gates++
	a.gate = m.gates
	if !m.submit(a) {
		return
	}
	if m.r.IntN(2) == 0 {
		m.partition(di)
	}
	m.op(b, di, m.handle(di), mode, false)
	// For the model a runs first: the same sums come out. b must not wait for a.
	b.opens = a.gate
	clear := true
	for _, o := range b.ops {
		h := d.handles[o.handle]
		clear = clear && d.check(h, mode) == runs && (len(d.groups) == 0 || mode == iface.Redux)
	}
	if clear && m.r.IntN(3) == 0 {
		m.submit(b)
		return
	}
	b.opens = 0
	m.closed = true
	m.submit(b)
}

// overwrites: tasks that overwrite parts of a datum in any order, where some may fail or are cancelled, and a look at it.
func (m *maker) overwrites(di int) {
	r, d := m.r, m.data[di]
	if d.adds || d.dup {
		return
	}
	for range 2 + r.IntN(4) {
		t := m.newTask()
		m.op(t, di, m.handle(di), iface.CommuteW, false)
		if other := m.pick(); r.IntN(3) == 0 {
			mode := []iface.AccessMode{iface.R, iface.CommuteW}[r.IntN(2)]
			if m.data[other].adds {
				mode = iface.R
			}
			m.op(t, other, m.handle(other), mode, false)
		}
		if len(m.kept) > 0 && r.IntN(4) == 0 {
			t.after = append(t.after, m.kept[r.IntN(len(m.kept))])
		}
		if r.IntN(6) == 0 {
			m.gates++
			t.gate, m.closed = m.gates, true
		}
		t.kept = r.IntN(3) == 0
		t.fails, t.panics = m.fails && r.IntN(3) == 0, r.IntN(2) == 0
		m.submit(t)
		if r.IntN(8) == 0 {
			m.open()
			m.emit(step{kind: stepWait})
		}
	}
	if hi := m.handle(di); r.IntN(2) == 0 {
		m.open()
		m.acquire(di, hi, iface.R)
		m.emit(step{kind: stepRelease})
	}
}

// hold: acquire, submit inside, step down, release.
func (m *maker) hold(di int) {
	r, d := m.r, m.data[di]
	if d.adds {
		return
	}
	m.open()
	hi := m.handle(di)
	h := d.handles[hi]
	mode := []iface.AccessMode{iface.R, iface.RW, iface.W}[r.IntN(3)]
	if d.dup {
		mode = iface.R
	}
	defer m.holding()()
	if !m.acquire(di, hi, mode) {
		return
	}
	readers := func() []int64 {
		var ids []int64
		for range r.IntN(3) {
			if r.IntN(3) == 0 && len(d.handles) < 120 {
				m.partition(di)
			}
			h2 := m.handle(di)
			if !d.inside(d.handles[h2], h) {
				continue
			}
			t := m.newTask()
			t.kept = true
			m.op(t, di, h2, iface.R, false)
			if m.submit(t) {
				ids = append(ids, t.id)
			}
		}
		return ids
	}
	var ids []int64
	switch {
	case mode == iface.R:
		ids = readers()
	case r.IntN(2) == 0:
		ids = readers()
		if r.IntN(2) == 0 { // and a writer behind them
			t := m.newTask()
			m.op(t, di, m.handle(di), iface.W, false)
			m.submit(t)
		}
		if r.IntN(3) == 0 && len(d.handles) < 120 {
			m.partition(di)
		}
		m.emit(step{kind: stepReleaseTo, mode: iface.R})
	default:
		m.submit(m.randomTask())
	}
	for _, id := range ids {
		m.emit(step{kind: stepWaitTask, task: &modelTask{id: id}})
	}
	m.emit(step{kind: stepRelease})
}

// pieces: acquire, and give the data back piece by piece; what is given back can
// be used while the rest is held.
func (m *maker) pieces(di int) {
	r, d := m.r, m.data[di]
	if d.adds {
		return
	}
	m.open()
	hi := m.handle(di)
	mode := []iface.AccessMode{iface.R, iface.RW, iface.W}[r.IntN(3)]
	if d.dup {
		mode = iface.R
	}
	defer m.holding()()
	if !m.acquire(di, hi, mode) {
		return
	}
	left := m.region(d, d.handles[hi])
	calm := true // nothing waits for what is held
	for range 1 + r.IntN(6) {
		if r.IntN(3) == 0 && len(d.handles) < 120 {
			m.partition(di)
		}
		l, ok := m.lowering(di, left)
		if !ok || len(left) == 0 {
			break
		}
		m.emit(step{kind: stepReleasePart, datum: di, handle: l.handle, mode: l.mode})
		if r.IntN(4) == 0 {
			calm = false
			m.submit(m.randomTask())
			continue
		}
		in := m.region(d, d.handles[l.handle])
		var ids []int64
		for range 1 + r.IntN(3) {
			h2 := m.handle(di)
			inside := true
			d.each(d.handles[h2], func(i int) { inside = inside && in[i] })
			if !inside {
				continue
			}
			t := m.newTask()
			t.kept = true
			m.op(t, di, h2, []iface.AccessMode{iface.R, l.mode, iface.RW}[r.IntN(3)]|iface.R, false)
			if l.mode == iface.R {
				t.ops[0].mode = iface.R
			}
			if m.submit(t) {
				ids = append(ids, t.id)
			}
		}
		for _, id := range ids {
			if calm {
				m.emit(step{kind: stepWaitTask, task: &modelTask{id: id}})
			}
		}
	}
	m.emit(step{kind: stepRelease})
}
