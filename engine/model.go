package engine

// Performance models: what kernels took, and what tasks are expected to take.

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/internal/isolate"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// models are the performance models of a runtime. They are opened when first needed: by a
// runtime that calibrates, or by a policy that uses estimates.
type models struct {
	once   sync.Once
	err    error // of opening
	book   *perf.Book
	active atomic.Bool // measurements are of use
	tables sync.Map    // *Codelet to *perf.Table
	known  atomic.Int64
	calls  sync.Pool
}

// maxTables bounds the codelets whose tables are found by their address; those of
// programs that make more are found by name.
const maxTables = 4096

// openModels makes the book of models when it is first needed.
func (rt *Runtime) openModels() error {
	m := &rt.models
	m.once.Do(func() {
		m.calls.New = func() any { return new(perf.Call) }
		level := perf.Calibration(rt.opt.Calibrate)
		store, err := rt.modelStore()
		if err != nil && level == perf.UseOnly {
			store, err = nil, nil // no folder: estimates live as long as the runtime
		}
		if err == nil {
			m.book, err = perf.NewBook(store, level)
		}
		if err != nil {
			m.err = fmt.Errorf("engine: %w", err)
			return
		}
		m.active.Store(level > perf.UseOnly)
	})
	return m.err
}

func (rt *Runtime) modelStore() (*perf.Store, error) {
	dir := rt.opt.PerfDir
	if dir == "" {
		var err error
		if dir, err = perf.Root(os.Getenv); err != nil {
			return nil, err
		}
	}
	return perf.NewStore(dir, "")
}

// table returns the measurements of c.
func (rt *Runtime) table(c *Codelet) *perf.Table {
	m := &rt.models
	if t, ok := m.tables.Load(c); ok {
		return t.(*perf.Table)
	}
	t := m.book.Table(c.Name, c.kernelVersion(), c.Model)
	if m.known.Load() < maxTables {
		if _, old := m.tables.LoadOrStore(c, t); !old {
			m.known.Add(1)
		}
	}
	return t
}

// untimed is the model of what takes another time each time: nothing is measured.
var untimed = &perf.Model{Kind: perf.PerArch, Cost: func(*perf.Call) float64 { return 0 }}

// ownKernel tells codelets of the engine from those of a program with their names.
func ownKernel() string { return "engine" }

// kernelVersion is what c.Kernel says; "" when it does not return.
func (c *Codelet) kernelVersion() (v string) {
	if c.Kernel != nil {
		isolate.Call(func() { v = c.Kernel() })
	}
	return v
}

// call describes t on worker w for models; the caller gives it back to models.calls.
func (rt *Runtime) call(t *task, impl, w int) *perf.Call {
	c := rt.models.calls.Get().(*perf.Call)
	c.Ops = c.Ops[:0]
	for i := range t.operands() {
		c.Ops = append(c.Ops, t.operands()[i].Handle.Desc())
	}
	c.Args, c.Impl, c.Arch, c.Variant = t.arguments(), impl, rt.arch(w), ""
	c.Workers = t.workers()
	if v := t.codelet.Variants; v != nil && rt.workers[w].arch == cpuArch {
		c.Variant = v.name(v.next())
	}
	return c
}

func (rt *Runtime) freeCall(c *perf.Call) {
	c.Args = nil
	rt.models.calls.Put(c)
}

// modelled predicts the time of t on a worker by its codelet's model, or by the
// history of such tasks. From the first question on, kernels of t's job are timed.
func (rt *Runtime) modelled(t *task, worker int) perf.Estimate {
	return rt.modelledWith(t, worker, t.workers())
}

// modelledWith is modelled for a number of workers; 0: t is not parallel.
func (rt *Runtime) modelledWith(t *task, worker, size int) perf.Estimate {
	if rt.openModels() != nil {
		return perf.Estimate{}
	}
	rt.learn(t.job)
	table := rt.table(t.codelet)
	c := rt.call(t, 0, worker)
	c.Workers = size
	defer rt.freeCall(c)
	sp := t.special()
	impls := t.codelet.impls(rt.workers[worker].arch)
	if sp == nil || len(impls) == 1 {
		return rt.predicted(table, t, c)
	}
	var best perf.Estimate // of the implementation that will be chosen
	for i := range impls {
		if sp.can != nil && !sp.can[i].Has(worker) {
			continue
		}
		c.Impl = i
		if e := rt.predicted(table, t, c); e.Known && (!best.Known || e.Seconds < best.Seconds) {
			best = e
		}
	}
	return best
}

// predicted returns the estimate of c, a call of t. A plan is of a whole run, so there it is that of
// the fastest variant that is known: others may have the first tasks only.
func (rt *Runtime) predicted(table *perf.Table, t *task, c *perf.Call) perf.Estimate {
	e := table.Estimate(c)
	if rt.opt.Plan == nil || c.Variant == "" {
		return e
	}
	for _, c.Variant = range t.codelet.Variants.Names {
		if f := table.Estimate(c); f.Known && (!e.Known || f.Seconds < e.Seconds) {
			e = f
		}
	}
	return e
}

// learn makes kernels of j timed, and what they take remembered.
func (rt *Runtime) learn(j *Job) {
	if !j.timed.Load() {
		j.timed.Store(true)
	}
	if m := &rt.models; !m.active.Load() {
		m.book.Learn()
		m.active.Store(true)
	}
}

// record adds a measurement to the codelet's model.
func (w *worker) record(t *task, impl int, d time.Duration) {
	rt := w.rt
	if w.times == nil {
		w.times = rt.models.book.NewRecorder(rt.arch(w.id))
	}
	c := rt.call(t, impl, w.id)
	c.Variant = w.variant(t)
	w.times.Record(rt.table(t.codelet), c, max(d, 1).Seconds()) // clocks have steps
	rt.freeCall(c)
}

// variant names the variant of its implementation in which the kernel of t, the last of w, ran.
func (w *worker) variant(t *task) string {
	if w.arch != cpuArch {
		return ""
	}
	return t.codelet.Variants.name(w.tc.variant)
}

// saveModels adds what was measured to the files, at calibration level 1 or 2.
// The workers have stopped.
func (rt *Runtime) saveModels() error {
	if rt.models.book == nil {
		return nil
	}
	if err := rt.models.book.Save(); err != nil {
		return &ModelError{Err: err}
	}
	return nil
}

// ModelError says that performance models could not be read or saved, or make no
// sense. Tasks and data are not affected.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return fmt.Sprintf("engine: %v", e.Err) }

// Unwrap returns what is wrong: *perf.FileError for files.
func (e *ModelError) Unwrap() error { return e.Err }

// Expect predicts the time of a task of c on a CPU worker, for operands of these
// sizes and these arguments; of a parallel codelet on as many workers as it may have of
// those that the CPU has. Measurements of the last moments may be missing. The
// error says that the codelet's model makes no sense or that its file cannot be
// read; then the estimate comes from this run alone.
func (rt *Runtime) Expect(c *Codelet, ops []iface.Desc, args []iface.Scalar) (perf.Estimate, error) {
	if c == nil {
		return perf.Estimate{}, &NoImplementationError{}
	}
	if err := rt.openModels(); err != nil {
		return perf.Estimate{}, err
	}
	t := rt.table(c)
	call := &perf.Call{Ops: ops, Args: args, Arch: cpuArch, Variant: c.Variants.name(c.Variants.next())}
	if tr := c.Traits; tr != nil && tr.Parallel != Single {
		if call.Workers = rt.opt.Workers; tr.MaxWorkers > 0 {
			call.Workers = min(call.Workers, tr.MaxWorkers)
		}
	}
	return t.Estimate(call), t.Err()
}

// Scheduling: the engine's side of sched.Machine (workers, estimates) and the measured
// times of kernels.

// newPolicy makes the policy that the options ask for, and says how to make more of
// them, for jobs with a share.
func (rt *Runtime) newPolicy() error {
	o := &rt.opt
	if o.Plan != nil {
		rt.policy = &inOrder{}
		return nil
	}
	rt.sched = rt.machine()
	m := rt.sched
	if o.NewPolicy != nil && !o.Sequential {
		rt.makePolicy = func() sched.Policy { return o.NewPolicy(m) }
		if rt.policy = rt.makePolicy(); rt.policy == nil {
			return errors.New("engine: Options.NewPolicy returned nil instead of a scheduling policy")
		}
		return nil
	}
	text := o.Policy
	if o.Sequential {
		text = "eager" // tasks in the order in which they become ready
	}
	e, err := sched.Parse(text)
	if err != nil {
		return err
	}
	rt.makePolicy = func() sched.Policy { return e.New(m) }
	rt.policy = rt.makePolicy()
	rt.promise = e.Priorities
	if rt.promise != sched.Unordered {
		rt.reg.Rank = func(w *datamgr.Waiter) (int32, int64) {
			t := taskOf(w)
			if rt.promise == sched.Front || t.Order < 0 { // not of the program
				return rt.level(t), 0
			}
			return t.Priority, t.Order
		}
	}
	return nil
}

// level is what the policy makes of the priority of t: the higher goes first.
func (rt *Runtime) level(t *task) int32 {
	switch {
	case rt.promise == sched.Strict:
		return t.Priority
	case rt.promise == sched.Front && t.Priority > 0:
		return 1
	}
	return 0
}

// machine describes the workers, and answers questions about tasks that wait in
// the policy: those belong to it, so nothing here needs a lock.
func (rt *Runtime) machine() sched.Machine {
	m := sched.CPUs(rt.opt.Workers)
	for k, d := range rt.devices {
		mem := d.Memory()
		for range d.Units() {
			m.Workers = append(m.Workers, sched.Worker{Arch: kindOf(d), Node: rt.nodeOf[k], Speed: 1, Memory: mem.Capacity()})
		}
	}
	m.Estimate = func(it *sched.Item, w int) (float64, bool) { return rt.estimate(itemTask(it), w) }
	m.Energy = func(it *sched.Item, w int) float64 { return rt.energy(itemTask(it), w) }
	if rt.nodes > 1 {
		m.Missing = func(it *sched.Item, w int) int64 { return rt.missing(itemTask(it), w) }
		m.Transfer = func(it *sched.Item, w int) float64 { return rt.transfer(itemTask(it), w) }
	}
	m.Bundle = func(it *sched.Item) *sched.Bundle {
		if sp := itemTask(it).special(); sp != nil {
			return sp.Bundle
		}
		return nil
	}
	m.Gang = func(it *sched.Item) *sched.Gang {
		t := itemTask(it)
		if sp := t.special(); sp != nil && t.kind == userTask && t.parallel() {
			return &sp.choice
		}
		return nil
	}
	m.Kind = func(it *sched.Item) any { return itemTask(it).codelet }
	m.Wake = rt.wake
	m.Explain = func() func(*sched.Item, *sched.Choice) {
		if rt.choices.Load() == nil {
			return nil
		}
		return rt.explainChoice
	}
	m.Data = func(it *sched.Item, visit func(id, bytes int64)) {
		for _, op := range itemTask(it).operands() {
			d := op.Handle.Desc()
			visit(op.Handle.ID(), d.Bytes())
		}
	}
	return m
}

// estimate predicts the time of t on worker w, in seconds.
func (rt *Runtime) estimate(t *task, w int) (seconds float64, known bool) {
	if t.kind != userTask && (t.kind != convertTask || t.codelet == nil) {
		return 0, true // next to nothing, and nothing is measured
	}
	e := rt.modelled(t, w)
	return e.Seconds, e.Known
}

// expects is estimate for plans, which ask what many tasks take together.
func (rt *Runtime) expects(t *task, w int) (seconds float64, known bool) {
	if t.kind != userTask && (t.kind != convertTask || t.codelet == nil) {
		return 0, true
	}
	e := rt.modelled(t, w)
	return e.Mean, e.Known
}

// energy predicts what t takes on worker w, in joules; 0: not known.
func (rt *Runtime) energy(t *task, w int) float64 {
	if t.kind != userTask || t.codelet.Model == nil || t.codelet.Model.Energy == nil {
		return 0
	}
	c := rt.call(t, 0, w)
	defer rt.freeCall(c)
	return t.codelet.Model.Joules(c)
}

// explainChoice tells the listener why the policy chose a worker for an item.
func (rt *Runtime) explainChoice(it *sched.Item, c *sched.Choice) {
	ls, t := rt.choices.Load(), itemTask(it)
	if ls == nil || !t.kind.ofProgram() {
		return
	}
	e := &ChoiceEvent{Job: t.job, ID: t.Order, Choice: *c, Models: make([]perf.Estimate, len(c.Terms))}
	for i := range c.Terms {
		if t.kind == userTask {
			e.Models[i] = rt.modelledWith(t, c.Terms[i].Worker, c.Terms[i].Size)
		}
	}
	for _, l := range *ls {
		l.ChoiceEvent(e)
	}
}

// Choosing an implementation.

// trials is how often an implementation is tried before it can lose, where its
// model does not know enough by then.
const trials = 5

// implementation chooses the implementation of t on worker w: of those that can
// execute it there, the first whose time is not known yet if times are
// measured, else the one that is expected to take least. The reference, and
// jobs that must give the same bits, take the first.
func (w *worker) implementation(t *task) int {
	sp, rt := t.special(), w.rt
	n := len(t.codelet.impls(w.arch))
	if sp == nil || n == 1 {
		return 0
	}
	able := func(i int) bool { return sp.can == nil || sp.can[i].Has(w.id) }
	first := 0
	for first < n-1 && !able(first) {
		first++
	}
	if rt.opt.Sequential || t.job.opt.Deterministic || rt.openModels() != nil {
		return first
	}
	rt.learn(t.job)
	best, least := first, -1.0
	for i := first; i < n; i++ {
		if !able(i) {
			continue
		}
		c := rt.call(t, i, w.id)
		e := rt.table(t.codelet).Estimate(c)
		rt.freeCall(c)
		if !e.Known && e.Samples < trials {
			return i
		}
		if e.Seconds > 0 && (least < 0 || e.Seconds < least) {
			best, least = i, e.Seconds
		}
	}
	return best
}

// Guesses: where data is, and when it is needed.

// CopyTime predicts the seconds that a copy of the given size takes from one memory node
// to another.
func (rt *Runtime) CopyTime(from, to int, bytes int64) float64 {
	return rt.reg.CopyTime(from, to, bytes)
}

// transfer predicts how long it takes to bring what t reads to the node of worker w, and to convert it to the
// layout there, in seconds.
func (rt *Runtime) transfer(t *task, w int) (seconds float64) {
	for i, op := range t.operands() {
		if op.Mode != iface.Scratch && op.Mode != iface.Redux && op.Mode.Reads() {
			seconds += rt.bringTime(t, rt.workers[w], i, &op)
		}
	}
	return seconds
}

// missing is how many bytes of what t reads are not on the node of worker w.
func (rt *Runtime) missing(t *task, w int) (bytes int64) {
	for i, op := range t.operands() {
		if op.Mode != iface.Scratch && op.Mode != iface.Redux && op.Mode.Reads() {
			bytes += rt.lacking(t, rt.workers[w], i, &op)
		}
	}
	return bytes
}

// when is a guess at the order in which tasks run, by which the data that is needed
// last is found: that of priorities, where the policy goes by them, and among equals
// that of submission. A Cholesky of 12 x 12 tiles with room for a quarter of them is
// copied 1.00 to 1.07 times as often as it must be then; by the least recent use 1.14
// to 1.41 times.
func (rt *Runtime) when(t *task) int64 {
	order := t.Order & (1<<40 - 1)
	if rt.promise != sched.Strict {
		return order
	}
	const most = 1 << 21
	return order - int64(max(min(t.Priority, most), -most))<<40
}

// Conversions between layouts of data.

// bringTime predicts how long it takes until w can use operand i of t, which is read: transfers and conversions, in
// seconds.
func (rt *Runtime) bringTime(t *task, w *worker, i int, op *Operand) (seconds float64) {
	node := w.nodeFor(op)
	fs := formatsOf(op.Handle)
	if fs == nil {
		return managed(op.Handle).TransferTime(node)
	}
	k := fs.layout(w, t.codelet, i, op)
	fs.mu.Lock()
	valid := fs.mu.valid
	fs.mu.Unlock()
	if valid == 0 || valid&(1<<k) != 0 {
		return managed(fs.handle(k)).TransferTime(node)
	}
	if valid&1 == 0 { // first to main memory
		from := 1
		for valid&(1<<from) == 0 {
			from++
		}
		seconds = managed(fs.handle(from)).TransferTime(0) + rt.conversionTime(w, fs, from, 0)
		if k == 0 {
			return seconds + rt.CopyTime(0, node, bytesOf(fs.h))
		}
	}
	seconds += rt.conversionTime(w, fs, 0, k)
	if rt.convertsThere(w, fs.inUse[k-1].To, fs.pair(0, k)) {
		if valid&1 == 0 {
			return seconds + rt.CopyTime(0, node, bytesOf(fs.h))
		}
		return seconds + managed(fs.h).TransferTime(node)
	}
	return seconds + managed(fs.h).TransferTime(0) + rt.CopyTime(0, node, bytesOf(fs.handle(k)))
}

func bytesOf(h *datamgr.Handle) int64 {
	d := h.Desc()
	return d.Bytes()
}

// conversionTime predicts how long w runs a conversion, in seconds; 0: nothing is known.
func (rt *Runtime) conversionTime(w *worker, fs *formats, from, to int) float64 {
	if rt.openModels() != nil {
		return 0
	}
	c, _ := fs.conversion(from, to)
	e := rt.table(c).Estimate(&perf.Call{Ops: []iface.Desc{fs.handle(from).Desc(), fs.handle(to).Desc()}, Arch: rt.arch(w.id),
		Variant: variantFor(c, w)})
	if !e.Known {
		return 0
	}
	return e.Seconds
}

// variantFor names the variant in which c would run on w.
func variantFor(c *Codelet, w *worker) string {
	if w.arch != cpuArch {
		return ""
	}
	return c.Variants.name(c.Variants.next())
}

// lacking is how many bytes of operand i of t, which is read, are missing where w uses it.
func (rt *Runtime) lacking(t *task, w *worker, i int, op *Operand) int64 {
	fs := formatsOf(op.Handle)
	if fs == nil {
		return managed(op.Handle).Missing(w.nodeFor(op))
	}
	k := fs.layout(w, t.codelet, i, op)
	fs.mu.Lock()
	valid := fs.mu.valid
	fs.mu.Unlock()
	if valid&(1<<k) == 0 {
		return bytesOf(fs.handle(k))
	}
	return managed(fs.handle(k)).Missing(w.nodeFor(op))
}
