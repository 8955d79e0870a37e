package engine

// Performance models: what kernels took, and what tasks are expected to take.

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/internal/apart"
	"github.com/starpush/starpush/engine/perf"
)

// models are the performance models of a runtime. They cost nothing before
// somebody measures or asks: a runtime that calibrates, a policy that wants
// estimates.
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

// openModels makes the book of models when somebody needs it.
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
		apart.Call(func() { v = c.Kernel() })
	}
	return v
}

// call describes t for models; the caller gives it back to models.calls.
func (rt *Runtime) call(t *task, impl int, arch string) *perf.Call {
	c := rt.models.calls.Get().(*perf.Call)
	c.Ops = c.Ops[:0]
	for i := range t.operands() {
		c.Ops = append(c.Ops, t.operands()[i].Handle.Desc())
	}
	c.Args, c.Impl, c.Arch = t.arguments(), impl, arch
	return c
}

func (rt *Runtime) freeCall(c *perf.Call) {
	c.Args = nil
	rt.models.calls.Put(c)
}

// modelled predicts the time of t on a worker by its codelet's model, or by the
// history of such tasks. From the first question on, kernels of t's job are timed.
func (rt *Runtime) modelled(t *task, worker int) perf.Estimate {
	if rt.openModels() != nil {
		return perf.Estimate{}
	}
	rt.learn(t.job)
	table := rt.table(t.codelet)
	c := rt.call(t, 0, rt.arch(worker))
	defer rt.freeCall(c)
	sp := t.special()
	impls := t.codelet.impls(rt.workers[worker].arch)
	if sp == nil || len(impls) == 1 {
		return table.Estimate(c)
	}
	var best perf.Estimate // of the implementation that will be chosen
	for i := range impls {
		if sp.can != nil && !sp.can[i].Has(worker) {
			continue
		}
		c.Impl = i
		if e := table.Estimate(c); e.Known && (!best.Known || e.Seconds < best.Seconds) {
			best = e
		}
	}
	return best
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

// cpuArch is the architecture of CPU workers in models.
const cpuArch = "cpu"

// arch is the architecture of a worker in models.
func (rt *Runtime) arch(w int) string { return rt.workers[w].kind }

// timed calls the kernel of t and says what it took to those who want to know.
func (w *worker) timed(t *task, fn Impl, impl int) error {
	rt, j, a, fb := w.rt, t.job, &w.tally, w.rt.feedback
	if rt.verify != nil && w.arch == cpuArch { // others' memory cannot be looked at
		fn = rt.verify.verified(fn)
	}
	var k *tallied
	if j.stats != nil {
		if k = a.begin(w, j, t.codelet); k.skip > 0 && fb == nil && !rt.models.active.Load() {
			k.skip--
			err := w.call(fn)
			a.count(w, k, t)
			return err
		}
	}
	if fb != nil {
		fb.Started(&t.Item, w.id)
	}
	start := time.Since(rt.began)
	err := w.call(fn)
	d := time.Since(rt.began) - start
	if fb != nil {
		fb.Ended(&t.Item, w.id, d.Seconds())
	}
	if j.stats != nil {
		a.timed(w, k, t, d)
	}
	if err == nil && rt.models.active.Load() {
		w.record(t, impl, d)
	}
	return err
}

// record adds a measurement to the codelet's model.
func (w *worker) record(t *task, impl int, d time.Duration) {
	rt := w.rt
	if w.times == nil {
		w.times = rt.models.book.NewRecorder(rt.arch(w.id))
	}
	c := rt.call(t, impl, rt.arch(w.id))
	w.times.Record(rt.table(t.codelet), c, max(d, 1).Seconds()) // clocks have steps
	rt.freeCall(c)
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
// sizes and these arguments. Measurements of the last moments may be missing. The
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
	return t.Estimate(&perf.Call{Ops: ops, Args: args, Arch: cpuArch}), t.Err()
}
