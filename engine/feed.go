package engine

// Feeding devices, and main memory where that is bounded: while a kernel runs, what the
// worker's next tasks need travels.
//
// A hint takes no room from anybody, so it does nothing once a device is full. The next
// tasks of a worker are known, and what they need would be brought there at once when
// their turn came, in place of what is needed last: so that happens ahead, for as many
// tasks as Options.Ahead says.

import (
	"slices"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// DefaultAhead is how many tasks of a device's worker have their data brought while it
// runs another. With one task more room is left; with two, one is copied there while what
// has to go for the other is saved.
const DefaultAhead = 2

// feeder brings data to one node, by DefaultAhead goroutines or as many as are asked
// for, so that what comes does not wait for what goes.
type feeder struct {
	mu struct {
		sync.Mutex
		wake   *sync.Cond
		meals  []meal
		served map[mealKey]bool // being brought
		closed bool
	}
}

// meal is what a task needs that waits for a worker.
type meal struct {
	datamgr.Meal
	key    mealKey
	worker int
}

// mealKey tells tasks apart.
type mealKey struct {
	job  *Job
	task int64
}

// openFeeders begins to feed the devices.
func (rt *Runtime) openFeeders() {
	rt.ahead, _ = rt.plainPolicy().(sched.Ahead)
	if rt.ahead == nil || rt.opt.Ahead < 0 {
		rt.ahead = nil
		return
	}
	for n := range rt.reg.NumNodes() {
		f := &feeder{}
		f.mu.wake = sync.NewCond(&f.mu.Mutex)
		f.mu.served = map[mealKey]bool{}
		rt.feeders = append(rt.feeders, f)
		if !rt.reg.Bounded(n) {
			continue
		}
		for range rt.opt.Ahead {
			rt.group.Add(1)
			go func() {
				defer rt.group.Done()
				f.loop(rt.reg, n)
			}()
		}
	}
}

func (f *feeder) loop(reg *datamgr.Registry, node int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.mu.closed {
		if len(f.mu.meals) == 0 {
			f.mu.wake.Wait()
			continue
		}
		m := f.mu.meals[0]
		f.mu.meals = f.mu.meals[1:]
		f.mu.served[m.key] = true
		f.mu.Unlock()
		reg.Feed(&m.Meal, node)
		f.mu.Lock()
		delete(f.mu.served, m.key)
	}
}

// closeFeeders ends the goroutines; the runtime waits for them.
func (rt *Runtime) closeFeeders() {
	for _, f := range rt.feeders {
		f.mu.Lock()
		f.mu.closed, f.mu.meals = true, nil
		f.mu.wake.Broadcast()
		f.mu.Unlock()
	}
}

// menu is what the next tasks of a worker need. It belongs to one goroutine.
type menu struct {
	worker, node int
	tasks        int // looked at
	meals        []meal
	keep         []*datamgr.Handle // all that the tasks read
	order        func(*sched.Item)
}

func newMenu(w *worker) *menu {
	m := &menu{worker: w.id, node: w.node}
	m.order = m.note
	return m
}

// feed has what the next tasks of w need brought to its node. What it was asked to bring
// before, and has not begun to, it forgets.
func (w *worker) feed(m *menu) {
	rt := w.rt
	m.meals, m.keep, m.tasks = m.meals[:0], m.keep[:0], 0
	rt.ahead.Ahead(w.id, rt.opt.Ahead, m.order)
	w.seen.Store(int32(m.tasks))
	f := rt.feeders[w.node]
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, old := range f.mu.meals {
		if old.worker != w.id {
			f.mu.meals[n] = old
			n++
		}
	}
	clear(f.mu.meals[n:])
	f.mu.meals = f.mu.meals[:n]
	if f.mu.closed {
		return
	}
	var keep []*datamgr.Handle
	for _, x := range m.meals {
		if f.mu.served[x.key] {
			continue
		}
		if keep == nil {
			keep = slices.Clone(m.keep)
		}
		x.Keep = keep
		f.mu.meals = append(f.mu.meals, x)
		f.mu.wake.Signal()
	}
}

// feedBusy is called when a task was given to w: if that runs a kernel, and had fewer
// tasks than it looks ahead, what the new one needs can travel already.
func (w *worker) feedBusy() {
	if w.rt.ahead != nil && w.busy.Load() && int(w.seen.Load()) < w.rt.opt.Ahead {
		w.feed(newMenu(w))
	}
}

// note notes what the task of it needs. It is called by the policy.
func (m *menu) note(it *sched.Item) {
	m.tasks++
	t := itemTask(it)
	if t.kind != userTask {
		return
	}
	x := meal{worker: m.worker, key: mealKey{t.job, t.Order}}
	for _, op := range t.operands() {
		switch {
		case op.Mode == iface.Scratch || op.Mode == iface.Redux:
		case op.Mode.Reads():
			m.keep = append(m.keep, op.Handle)
			if op.Handle.Missing(m.node) > 0 {
				x.Reads = append(x.Reads, op.Handle)
			}
		default:
			x.Room += op.Handle.Lacks(m.node)
		}
	}
	if x.Reads != nil || x.Room > 0 {
		m.meals = append(m.meals, x)
	}
}
