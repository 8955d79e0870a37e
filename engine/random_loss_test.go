package engine

// Random programs on machines whose devices are lost at some moment. The program then
// computes the same values as otherwise, or they are lost, with an error that names the
// device. Only values without another copy can be lost, and values computed from those.
// The test knows exactly which values had no other copy, except for data that was moved:
// see away.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// losing makes a program for such machines; nil: this seed gives none. In it tasks
// do not fail by themselves, kernels submit no tasks that others count on, and
// callbacks only look.
func losing(seed uint64) *program {
	p := makeProgram(seed)
	if p.fails {
		return nil
	}
	drop := make([]bool, len(p.steps))
	for i := range p.steps {
		s := &p.steps[i]
		drop[i] = s.kind == stepCall && s.mode != iface.R
		if s.kind == stepTask {
			s.task.kept, s.task.children = true, nil
		}
	}
	p.loses = seed + 1
	return p.without(drop)
}

// end is when a device of a program is lost.
type end struct {
	node  int
	step  int // before this step of the program; -1: see after
	after int64
}

// ends says when devices are lost: most, at one moment each.
func (p *program) ends(devices int, simulated bool) (all []end) {
	r := rand.New(rand.NewPCG(p.loses, 2))
	for n := 1; n <= devices; n++ {
		e := end{node: n, step: r.IntN(len(p.steps) + 1), after: 1 + r.Int64N(60)}
		if simulated && r.IntN(2) == 0 {
			e.step = -1
		}
		if r.IntN(4) > 0 {
			all = append(all, e)
		}
	}
	return all
}

// plan sees to the losses that come by themselves, and returns the others.
func (e *execution) plan() []end {
	if e.loses == 0 || e.rt.devices == nil {
		return nil
	}
	all := e.ends(len(e.rt.devices), there == nil)
	for _, x := range all {
		if x.step < 0 {
			simDevice(e.rt.devices[x.node-1]).LoseWhen(sim.After(x.after))
		}
	}
	return all
}

// loseBefore loses the devices whose moment is step i.
func (e *execution) loseBefore(i int, all []end) {
	for _, x := range all {
		switch {
		case x.step != i:
		case there != nil:
			if _, err := there.Break(e.rt.devices, x.node-1, enginetest.Lose, 1); err != nil {
				e.fail("losing device %d: %v", x.node-1, err)
			}
		default:
			simDevice(e.rt.devices[x.node-1]).Lose()
		}
	}
}

func simDevice(d accel.Device) *sim.Device {
	if f, ok := d.(*frail); ok {
		d = f.Device
	}
	return d.(*sim.Device)
}

// byLoss reports whether err is because of a device that was lost, in a program in
// which that happens.
func (e *execution) byLoss(err error) bool {
	var lost *accel.LostError
	var none *LostWorkersError
	return e.loses != 0 && (errors.As(err, &lost) || errors.As(err, &none))
}

// refuse notes that a step did not get its data.
func (e *execution) refuse(s *step) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused[s] = true
}

// repair gives data that was lost the values it was to get, like a program that
// goes on.
func (e *execution) repair(s *step) {
	h := e.hs[s.datum][s.handle]
	a, err := e.job.Acquire(context.Background(), h, iface.W)
	if err != nil {
		e.fail("acquire W of what was lost: %v", err)
		return
	}
	e.has(s, h, 0)
	for k, v := range s.want {
		*element(a.Buffer(), k) = v + s.add
	}
	e.held = a
}

// atTask is the moment when an operand of a task was used; atVisit is when a step had its
// data that acquired it elsewhere first. The moment of a step is the step.
type (
	atTask struct {
		id      int64
		operand int
	}
	atVisit struct{ *step }
)

// spot is where data was at a moment, and how often copies had strayed from there by then.
type spot struct {
	node   int
	strays int64
}

// has notes that h is used on a node now.
func (e *execution) has(moment any, h *datamgr.Handle, node int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hasLocked(moment, h, node)
}

func (e *execution) hasLocked(moment any, h *datamgr.Handle, node int) {
	if e.loses != 0 {
		e.spots[moment] = spot{node, managed(h).Strayed(node)}
	}
}

// fates follows a program after its run and knows what may be lost.
type fates struct {
	*program // as the steps go by
	e        *execution
	data     []*dataFate
	ok       map[int64]bool // tasks
	any      bool           // some device is lost
	strayed  bool           // something was taken away from main memory
	bad      []string
}

// dataFate is what is known about the elements of a datum.
type dataFate struct {
	may    []bool // be lost (see away), or was never written
	must   []bool
	late   []bool // must, by an access without order: what was made of it may have been made before
	some   bool   // accesses whose order is not known lost something, sooner or later
	groups []fateGroup
}

type fateGroup struct {
	handle       int
	failed, away bool // a contribution was lost, may have been
}

func (f *fates) fail(format string, args ...any) {
	f.bad = append(f.bad, fmt.Sprintf(format, args...))
}

// lostNode reports whether the device of a node was lost.
func (f *fates) lostNode(n int) bool { return n > 0 && f.e.rt.reg.Lost(n) != nil }

// away reports whether a value that was on a node at a moment may have been lost since. A
// value stays where it is until it is written again, so it is lost with its device. But
// it may be copied to other nodes and then evicted: then it may be lost with any device.
// A value in main memory stays there, unless main memory is bounded, or the value was in
// a copy for a handle with another layout.
func (f *fates) away(di int, moment any) bool {
	at := f.e.spots[moment]
	return f.lostNode(at.node) || f.any && managed(f.e.hs[di][0]).Strayed(at.node) != at.strays
}

// afterwards goes through the program that e ran.
func (e *execution) afterwards() *fates {
	f := &fates{e: e, ok: map[int64]bool{}, program: &program{seed: e.seed, outs: map[int64]outcome{}}}
	for _, d := range e.program.data {
		c := *d
		c.reset()
		f.program.data = append(f.program.data, &c)
		f.data = append(f.data, &dataFate{may: make([]bool, len(c.val)), must: make([]bool, len(c.val)), late: make([]bool, len(c.val))})
	}
	for n := range e.rt.Nodes() {
		f.any = f.any || f.lostNode(n)
	}
	for _, hs := range e.hs {
		f.strayed = f.strayed || len(hs) > 0 && hs[0] != nil && managed(hs[0]).Strayed(0) > 0
	}
	for i := range e.steps {
		if t := e.steps[i].task; e.steps[i].kind == stepTask && t.out != uninit {
			f.ok[t.id] = e.tasks[t.id].Err() == nil
			for k, o := range t.ops {
				if o.unordered || o.adds || o.mode == iface.Commute {
					f.data[o.datum].some = f.data[o.datum].some || !f.ok[t.id] || f.away(o.datum, atTask{t.id, k})
				}
			}
		}
	}
	for i := range e.steps {
		s := e.steps[i] // a copy: the model writes to it
		if s.kind == stepTask {
			s.task = s.task.clone()
		}
		f.step(&e.steps[i])
		f.apply(&s)
	}
	return f
}

// has reports whether an element of a handle is set.
func (f *fates) has(set []bool, di, hi int) (any bool) {
	d := f.program.data[di]
	d.each(d.handles[hi], func(i int) { any = any || set[i] && d.init[i] })
	return any
}

func (f *fates) put(di, hi int, may, must bool) {
	d := f.program.data[di]
	x := f.data[di]
	d.each(d.handles[hi], func(i int) { x.may[i], x.must[i], x.late[i] = may, must, false })
}

// sure reports whether an element of a handle must be lost by now.
func (f *fates) sure(di, hi int) (any bool) {
	d, x := f.program.data[di], f.data[di]
	d.each(d.handles[hi], func(i int) { any = any || x.must[i] && !x.late[i] && d.init[i] })
	return any
}

// safe says that what is lost of a handle is not because it was nowhere else: it was
// read in main memory.
func (f *fates) safe(di, hi int, moment any) {
	if d := f.program.data[di]; !d.adds {
		away := f.away(di, moment) || d.dup && f.strayed // it may have been read where its source is
		d.each(d.handles[hi], func(i int) { f.data[di].may[i] = f.data[di].must[i] || f.data[di].may[i] && away })
	}
}

// closeGroups combines the contributions that an access meets; see modelDatum.closeGroup.
func (f *fates) closeGroups(di, hi int, mode iface.AccessMode) {
	if mode == iface.Scratch {
		return
	}
	d, x := f.program.data[di], f.data[di]
	x.groups = slices.DeleteFunc(x.groups, func(g fateGroup) bool {
		if !d.overlap(d.handles[g.handle], d.handles[hi]) || mode == iface.Redux && g.handle == hi {
			return false
		}
		must := g.failed || f.sure(di, g.handle)
		away := g.away || f.away(di, nil) // where they were combined, some time
		may := must || away || f.has(x.may, di, g.handle)
		d.each(d.handles[g.handle], func(i int) {
			x.may[i], x.must[i], x.late[i] = may, must || x.must[i], x.late[i] && !must
		})
		return true
	})
}

// step is what a step does to what is known. The model is as before it.
func (f *fates) step(s *step) {
	switch {
	case s.kind == stepTask:
		f.task(s.task)
		return
	case s.kind == stepRegister:
		f.put(s.datum, 0, f.away(s.datum, nil), false)
		return
	case s.datum >= len(f.data) || s.kind == stepDuplicate:
		if s.kind == stepDuplicate && s.out != uninit {
			f.duplicate(s)
		}
		return
	case !f.alive(s.datum, s.handle):
		return
	}
	x := f.data[s.datum]
	refused := f.e.refused[s]
	why := func() {
		if !f.has(x.may, s.datum, s.handle) && !x.some && !f.away(s.datum, atVisit{s}) {
			f.fail("%v got nothing, and nothing of it can be lost", s)
		}
	}
	switch s.kind {
	case stepInvalidate:
		f.closeGroups(s.datum, s.handle, iface.W)
		f.put(s.datum, s.handle, false, false)
	case stepUnregister:
		f.closeGroups(0, 0, iface.W)
	case stepAcquire:
		f.closeGroups(s.datum, s.handle, s.mode)
		switch {
		case s.out != runs:
		case refused:
			why()
		case s.mode.Reads() && (f.sure(s.datum, s.handle) || !s.free && f.has(x.must, s.datum, s.handle)):
			f.fail("%v got what was lost", s)
		}
		switch {
		case s.out != runs:
		case s.mode != iface.R:
			f.put(s.datum, s.handle, f.away(s.datum, s), false)
		case !refused:
			f.safe(s.datum, s.handle, s)
		}
	case stepCall:
		f.closeGroups(s.datum, s.handle, s.mode)
		switch {
		case s.out != runs || s.acquire.OrderOnly && !s.fetch:
		case refused:
			why()
		default:
			f.safe(s.datum, s.handle, s)
		}
	case stepTry:
		if refused {
			why()
		}
	case stepCopy:
		f.copy(s)
	}
}

// duplicate: it is lost as a whole.
func (f *fates) duplicate(s *step) {
	di, hi := s.from[0], s.from[1]
	f.closeGroups(di, hi, iface.R)
	x, c := f.data[di], f.data[s.datum]
	may, must := x.some || f.has(x.may, di, hi), f.has(x.must, di, hi)
	for i := range c.may {
		c.may[i], c.must[i] = may, must
	}
}

func (f *fates) copy(s *step) {
	if !f.alive(s.from[0], s.from[1]) {
		return
	}
	f.closeGroups(s.from[0], s.from[1], iface.R)
	f.closeGroups(s.datum, s.handle, iface.W)
	if s.out == uninit {
		return
	}
	x := f.data[s.from[0]]
	err := f.e.copies[s].Err() // it is a task, and runs anywhere; within one datum, by way of another one
	switch {
	case err == nil && f.has(x.must, s.from[0], s.from[1]):
		f.fail("%v copied what was lost", s)
	case err != nil && (!f.e.byLoss(err) || s.from[0] != s.datum && !f.has(x.may, s.from[0], s.from[1]) && !x.some && !f.wasThere(err)):
		f.fail("%v: %v, and nothing of it can be lost", s, err)
	}
	f.put(s.datum, s.handle, f.any || err != nil, err != nil)
}

// wasThere reports whether err is of a task that failed by itself on a device that
// is lost.
func (f *fates) wasThere(err error) bool {
	var data *FailedDataError
	var own *TaskError
	if errors.As(err, &data) || !errors.As(err, &own) {
		return false
	}
	return slices.ContainsFunc(f.e.rt.workers, func(w *worker) bool { return f.lostNode(w.node) && w.name == own.Worker })
}

// task checks what became of a task, and notes what that does to its operands.
func (f *fates) task(t *modelTask) {
	for _, o := range t.ops {
		f.closeGroups(o.datum, o.handle, o.mode)
	}
	if t.out == uninit {
		return
	}
	ok, there := f.ok[t.id], f.e.where[t.id]
	away := func(operand int) bool { return f.away(t.ops[operand].datum, atTask{t.id, operand}) }
	if err := f.e.tasks[t.id].Err(); err != nil {
		f.mayFail(t, err)
	}
	for k, o := range t.ops {
		x := f.data[o.datum]
		loose := o.unordered || o.adds || o.mode == iface.Commute
		if ok && o.mode.Reads() && !loose && f.has(x.must, o.datum, o.handle) {
			f.fail("task %d read of d%d.h%d what was lost", t.id, o.datum, o.handle)
		}
		if ok && o.mode == iface.R && f.e.spots[atTask{t.id, k}].node == 0 {
			f.safe(o.datum, o.handle, atTask{t.id, k})
		}
	}
	for k, o := range t.ops {
		d, x := f.program.data[o.datum], f.data[o.datum]
		switch {
		case !o.mode.Writes():
		case o.mode == iface.Redux:
			k := slices.IndexFunc(x.groups, func(g fateGroup) bool { return g.handle == o.handle })
			if k < 0 {
				k = len(x.groups)
				x.groups = append(x.groups, fateGroup{handle: o.handle})
			}
			g := &x.groups[k]
			g.failed, g.away = g.failed || !ok, g.away || f.lostNode(there)
			d.each(d.handles[o.handle], func(i int) {
				if !d.init[i] {
					x.may[i], x.must[i] = false, false
				}
			})
		case !ok && o.unordered:
			d.each(d.handles[o.handle], func(i int) {
				x.late[i] = x.late[i] || !x.must[i]
				x.may[i], x.must[i] = true, true
			})
		case o.mode == iface.CommuteW: // any of the group may have run last
			d.each(d.handles[o.handle], func(i int) { x.may[i], x.must[i] = x.may[i] || !ok || away(k), false })
		case !ok:
			f.put(o.datum, o.handle, true, true)
		case o.unordered || o.adds || o.mode == iface.Commute:
			d.each(d.handles[o.handle], func(i int) { x.may[i] = x.may[i] || away(k) })
		default:
			f.put(o.datum, o.handle, away(k), false)
		}
	}
}

// mayFail checks that a task had a reason not to succeed.
func (f *fates) mayFail(t *modelTask, err error) {
	if !f.e.byLoss(err) {
		f.fail("task %d: %v", t.id, err)
		return
	}
	var none *LostWorkersError
	if f.wasThere(err) || errors.As(err, &none) {
		return
	}
	for _, id := range t.after {
		if !f.ok[id] {
			return
		}
	}
	for _, o := range t.ops {
		x := f.data[o.datum]
		if o.mode.Reads() && (f.has(x.may, o.datum, o.handle) || x.some && (o.adds || o.mode == iface.Commute)) {
			return
		}
	}
	f.fail("task %d: %v, and nothing that it uses can be lost", t.id, err)
}

// seen is what reading an element gave.
type seen struct {
	value int64
	err   error
}

// read reads all elements of datum di that have a value, one by one.
func (e *execution) read(di int) map[int]seen {
	d := e.data[di]
	parts := e.hs[di][:1]
	if len(d.dims) > 0 {
		by := []filter.Filter{filter.TilesN(d.dims, 0)}
		if len(d.dims) == 1 {
			by[0] = filter.Blocks(d.dims[0])
		}
		v, err := e.rt.Partition(parts[0], by...)
		if err != nil {
			e.fail("looking at d%d: %v", di, err)
			return nil
		}
		parts = v.Parts
	}
	all := map[int]seen{}
	for i, h := range parts {
		if !d.init[i] {
			continue
		}
		a, err := e.job.Acquire(context.Background(), h, iface.R)
		if err != nil {
			all[i] = seen{err: err}
			continue
		}
		all[i] = seen{value: *element(a.Buffer(), 0)}
		a.Release()
	}
	return all
}

// look reads all data that is there, and then finds out what it should have seen:
// devices may be lost as late as that.
func (e *execution) look() {
	got := map[int]map[int]seen{}
	for di, d := range e.data {
		if !d.gone && len(e.hs[di]) > 0 {
			got[di] = e.read(di)
		}
	}
	f := e.afterwards()
	for di, d := range f.program.data {
		f.closeGroups(di, 0, iface.R)
		x := f.data[di]
		for i, s := range got[di] {
			switch {
			case s.err == nil && x.must[i]:
				e.fail("d%d element %d can be read, and was lost", di, i)
			case s.err == nil && s.value != d.val[i]:
				e.fail("d%d element %d is %d, want %d", di, i, s.value, d.val[i])
			case s.err != nil && !e.byLoss(s.err):
				e.fail("d%d element %d: %v", di, i, s.err)
			case s.err != nil && !x.may[i] && !x.some:
				e.fail("d%d element %d: %v, and it cannot be lost", di, i, s.err)
			}
		}
	}
	for di, d := range f.program.data { // what must be at home
		x := f.data[di]
		for i := range d.val {
			if d.init[i] && !x.may[i] && !x.some {
				e.home[di] = append(e.home[di], i)
			}
		}
	}
	for _, b := range f.bad {
		e.fail("%s", b)
	}
	for _, t := range e.job.Failures() {
		if !e.byLoss(t) {
			e.fail("%v", t)
		}
	}
}

// losingConfiguration is configuration with devices.
func losingConfiguration(n uint64) Options {
	o := configuration(n)
	if o.Devices == nil {
		o.Devices = devices(int64(64+n*37%700), int(1+n/5%3), int(n%3), n)
	}
	return o
}

// TestRandomLosses runs random programs on machines that lose their devices: some, and
// then for as long as -soak says.
func TestRandomLosses(t *testing.T) {
	onMachine(t, *machine)
	if there != nil && there.Break == nil {
		t.Skipf("no device of %s can be lost on demand", there.Name)
	}
	end, s, ran, some := time.Now().Add(*soak), *seed, 0, 100
	if there != nil {
		some = 10
	}
	for ran < some || time.Now().Before(end) {
		if p := losing(s); p != nil {
			if !checkProgram(t, p, losingConfiguration(s), s%16 == 0) {
				return
			}
			ran++
		}
		s++
	}
	t.Logf("programs %d to %d: %d", *seed, s-1, ran)
}
