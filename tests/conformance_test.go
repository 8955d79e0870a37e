package tests

// Conformance with StarPU's behaviour: what the cases share. The cases have
// the numbers of the conformance paper, P01 and on: `go test ./tests -run P28`
// runs one. Each runs with several numbers of workers, under every policy.

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/sched"
)

// Modes as the cases write them.
const (
	R  = iface.R
	W  = iface.W
	RW = iface.RW
	C  = iface.Commute
	X  = iface.Redux
	S  = iface.Scratch
)

// world is what one run of a case has.
type world struct {
	*testing.T
	rt      *engine.Runtime
	job     *engine.Job
	workers int
	devices []accel.Device
	journal *engine.Journal
}

// anyWorker reports whether the policy lets any idle worker take any ready task.
// On machines with devices some keep tasks for the worker that they chose, and
// then readers need not run together.
func (w *world) anyWorker() bool {
	return w.devices == nil || slices.Contains([]string{"eager", "prio", "ws", "lws"}, w.rt.Policy())
}

// repeat is how often each case runs in each configuration: 20 in `make
// conformance`. 0 is the slice for every day: each case under every policy and
// with every number of workers, but not every policy with every number.
var repeat = flag.Int("repeat", 0, "run each conformance case so often in each configuration; 0: once in some")

// each runs a case under all configurations that have the workers it needs, with
// one memory node and with two. Sequential is among them when it needs one.
func each(t *testing.T, need int, fn func(w *world)) {
	for range max(*repeat, 1) {
		if *machine != "" {
			onMachine(t, need, 0, fn)
			continue
		}
		once(t, need, []int{1, 2, 4, 8}, true, *ram, oneOrTwo, fn)
	}
}

// eachOnOneNode is each for cases that are about CPU workers or main memory.
func eachOnOneNode(t *testing.T, need int, fn func(w *world)) {
	for range max(*repeat, 1) {
		once(t, need, []int{1, 2, 4, 8}, true, 0, oneNode, fn)
	}
}

// eachOnTwoNodes is each for cases that need a device with the given bytes.
func eachOnTwoNodes(t *testing.T, capacity int64, fn func(w *world)) {
	for range max(*repeat, 1) {
		if *machine != "" && !strings.HasPrefix(*machine, "sim:") {
			onMachine(t, 1, capacity, fn)
			continue
		}
		once(t, 1, []int{1, 2, 4, 8}, false, 0, func(int) []devices { return []devices{simulated(capacity, 1)} }, fn)
	}
}

// machine is on which machine the cases run that are not about how many workers or
// nodes there are.
var machine = flag.String("machine", "", "run the conformance cases on this machine instead of various ones: "+enginetest.Machines)

// ram bounds main memory in the cases that are not about how much memory is used; the
// rest of the data that the runtime owns is on a disk.
var ram = flag.Int64("ram", 0, "run the conformance cases with this many bytes of main memory, and a disk; 0: no bound")

// devices makes the devices of a configuration.
type devices func() ([]accel.Device, error)

// simulated is one device.
func simulated(capacity int64, units int) devices {
	return func() ([]accel.Device, error) {
		d, err := sim.New(sim.Options{Capacity: capacity, Units: units})
		return []accel.Device{d}, err
	}
}

// onMachine runs a case under each policy on the machine that was asked for, whose
// devices have capacity bytes; 0: any number. Drivers take some milliseconds to open, so
// only some policies try the smaller one, on which data is always on its way.
func onMachine(t *testing.T, need int, capacity int64, fn func(w *world)) {
	m := enginetest.Named(t, *machine)
	counts := []int{m.Workers}
	if m.Workers == 0 {
		counts = []int{1, 2, 4}
	}
	for i, n := range counts {
		counts[i] = max(n, need)
	}
	once(t, need, slices.Compact(counts), false, *ram, func(i int) []devices {
		bytes := capacity
		if bytes == 0 && m.Real {
			bytes = []int64{16 << 10, 16 << 20}[i%2]
		}
		return []devices{func() ([]accel.Device, error) { return m.Open(bytes) }}
	}, fn)
}

// oneNode gives configuration i no device.
func oneNode(int) []devices { return []devices{nil} }

// oneOrTwo gives every other configuration a device, or each is run with and
// without one.
func oneOrTwo(i int) []devices {
	device := simulated(16<<10, 2)
	if *repeat > 0 {
		return []devices{nil, device}
	}
	if i%2 == 0 {
		return []devices{nil}
	}
	return []devices{device}
}

// once runs a case once in each configuration of counts workers, the sequential one
// included if it needs one worker; machines gives sets of devices for number i, and ram
// bounds main memory in bytes, unless it is 0.
func once(t *testing.T, need int, counts []int, sequential bool, ram int64, machines func(i int) []devices, fn func(w *world)) {
	type configuration struct {
		engine.Options
		devices
	}
	var os []configuration
	counts = slices.DeleteFunc(slices.Clone(counts), func(n int) bool { return n < need })
	for i, p := range sched.Names() {
		some := counts
		if *repeat == 0 {
			k := (i + len(t.Name()) + int(t.Name()[len(t.Name())-1])) % len(counts) // another one for the next case
			some = counts[k : k+1]
		}
		for _, n := range some {
			for _, d := range machines(i + len(t.Name())) {
				os = append(os, configuration{engine.Options{Workers: n, Policy: p}, d})
			}
		}
	}
	if need == 1 && sequential {
		os = append(os, configuration{Options: engine.Options{Sequential: true}})
	}
	for _, o := range os {
		name := fmt.Sprintf("%s-%d", o.Policy, o.Workers)
		if o.devices != nil {
			name += "-devices"
		}
		if o.Sequential {
			name = "sequential"
		}
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			j := &engine.Journal{}
			o.Listener = j
			if o.devices != nil {
				var err error
				if o.Devices, err = o.devices(); err != nil {
					t.Fatal(err)
				}
				defer func() { enginetest.Close(t, o.Devices) }()
			}
			if ram > 0 && !o.Sequential {
				d, err := disk.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				o.RAM, o.Disk = ram, d
				defer func() { enginetest.Close(t, []accel.Device{d}) }()
			}
			rt, err := engine.New(o.Options)
			if err != nil {
				t.Fatal(err)
			}
			w := &world{T: t, rt: rt, job: rt.NewJob(context.Background(), engine.JobOptions{}), workers: rt.Workers(), journal: j, devices: o.Devices}
			if o.Sequential {
				w.workers = 0
			}
			ended := false
			defer func() { // also when the case gave up
				if !ended {
					w.job.Cancel(context.Canceled)
				}
				if err := w.job.Close(); err != nil {
					t.Error(err)
				}
				if err := rt.Close(); err != nil {
					t.Error(err)
				}
				if err := j.Check(); err != nil {
					t.Error(err)
				}
			}()
			fn(w)
			// the engine still works
			x := []int64{0}
			h := w.ints(x)
			w.run(inc, 0, on(RW, h))
			w.unregister(h)
			if x[0] != 1 {
				t.Errorf("afterwards inc gives %d", x[0])
			}
			ended = true
		})
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ints registers host memory: a vector, or a variable for one element.
func (w *world) ints(x []int64) *datamgr.Handle {
	w.Helper()
	s := engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{len(x)}, Home: unsafe.Pointer(unsafe.SliceData(x))}
	if len(x) == 1 {
		s.Kind, s.Dims = iface.Variable, nil
	}
	h, err := w.rt.Register(s)
	w.must(err)
	return h
}

// matrix registers host memory as rows x cols.
func (w *world) matrix(x []int64, rows, cols int) *datamgr.Handle {
	w.Helper()
	h, err := w.rt.Register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, cols}, Home: unsafe.Pointer(unsafe.SliceData(x))})
	w.must(err)
	return h
}

// lazy registers n elements without memory: a variable for one.
func (w *world) lazy(n int, r *datamgr.Reduction) *datamgr.Handle {
	w.Helper()
	s := engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{n}, Reduce: r}
	if n == 1 {
		s.Kind, s.Dims = iface.Variable, nil
	}
	h, err := w.rt.Register(s)
	w.must(err)
	return h
}

func (w *world) parts(h *datamgr.Handle, fs ...filter.Filter) []*datamgr.Handle {
	w.Helper()
	v, err := w.rt.Partition(h, fs...)
	w.must(err)
	return v.Parts
}

func on(m iface.AccessMode, h *datamgr.Handle) engine.Operand {
	return engine.Operand{Handle: h, Mode: m}
}

func unordered(m iface.AccessMode, h *datamgr.Handle) engine.Operand {
	return engine.Operand{Handle: h, Mode: m, Unordered: true}
}

// submit inserts a task and forgets it.
func (w *world) submit(c *engine.Codelet, arg int64, ops ...engine.Operand) {
	w.Helper()
	w.must(w.job.Submit(&engine.TaskSpec{Codelet: c, Operands: ops, Args: []iface.Scalar{iface.Int(arg)}}))
}

// keep inserts a task with explicit dependencies.
func (w *world) keep(c *engine.Codelet, after []engine.Dependency, ops ...engine.Operand) *engine.Task {
	w.Helper()
	t, err := w.job.SubmitTask(&engine.TaskSpec{Codelet: c, Operands: ops, After: after, Args: []iface.Scalar{iface.Int(0)}})
	w.must(err)
	return t
}

func (w *world) run(c *engine.Codelet, arg int64, ops ...engine.Operand) {
	w.Helper()
	t, err := w.job.SubmitTask(&engine.TaskSpec{Codelet: c, Operands: ops, Args: []iface.Scalar{iface.Int(arg)}})
	w.must(err)
	w.must(t.Wait(context.Background()))
	w.must(t.Err())
}

func (w *world) wait() {
	w.Helper()
	w.must(w.job.Wait(context.Background()))
	for _, f := range w.job.Failures() {
		w.Error(f)
	}
}

// unregister ends data and waits until its values are home.
func (w *world) unregister(hs ...*datamgr.Handle) {
	w.Helper()
	for _, h := range hs {
		w.must(w.job.Unregister(h))
	}
	w.wait()
}

func (w *world) acquire(h *datamgr.Handle, m iface.AccessMode) *engine.Access {
	w.Helper()
	a, err := w.job.Acquire(context.Background(), h, m)
	w.must(err)
	return a
}

// values reads all of a handle.
func (w *world) values(h *datamgr.Handle) []int64 {
	w.Helper()
	a := w.acquire(h, R)
	defer a.Release()
	return elements(a.Buffer())
}

func elements(b *iface.Buffer) []int64 {
	var out []int64
	if b.Rank == 2 {
		for i := range b.Dim[0] {
			out = append(out, iface.Row[int64](b, i)...)
		}
		return out
	}
	return append(out, iface.Slice[int64](b)...)
}

// rows calls fn for each run of adjacent elements of an operand.
func rows(b *iface.Buffer, fn func(x []int64)) {
	if b.Rank == 2 {
		for i := range b.Dim[0] {
			fn(iface.Row[int64](b, i))
		}
		return
	}
	fn(iface.Slice[int64](b))
}

func codelet(name string, fn func(c *engine.TaskContext) error) *engine.Codelet {
	return &engine.Codelet{Name: name, CPU: []engine.Impl{fn}, On: enginetest.On(engine.Impl(fn))}
}

// The standard kernels, on every element of operand 0.
var (
	inc    = codelet("inc", elementwise(func(v, _ int64) int64 { return v + 1 }))
	add    = codelet("add", elementwise(func(v, a int64) int64 { return v + a }))
	mul    = codelet("mul", elementwise(func(v, a int64) int64 { return v * a }))
	set    = codelet("set", elementwise(func(_, a int64) int64 { return a }))
	redinc = codelet("redinc", elementwise(func(v, _ int64) int64 { return v + 1 }))
	chk    = codelet("chk", func(c *engine.TaskContext) (err error) {
		rows(c.Buffer(0), func(x []int64) {
			for _, v := range x {
				if want := c.Arg(0).Int(); v != want {
					err = fmt.Errorf("chk: %d, want %d", v, want)
				}
			}
		})
		return err
	})
)

func elementwise(fn func(v, a int64) int64) func(*engine.TaskContext) error {
	return func(c *engine.TaskContext) error {
		a := int64(0)
		if len(c.Args()) > 0 {
			a = c.Arg(0).Int()
		}
		rows(c.Buffer(0), func(x []int64) {
			for i := range x {
				x[i] = fn(x[i], a)
			}
		})
		return nil
	}
}

// slow is a kernel that takes a while before it does what c does.
func slow(c *engine.Codelet, d time.Duration) *engine.Codelet {
	return codelet("slow "+c.Name, func(t *engine.TaskContext) error {
		time.Sleep(d)
		return c.CPU[0](t)
	})
}

// rendezvous is a kernel that waits until k kernels of the group have arrived,
// then does what c does.
func rendezvous(k int32, c *engine.Codelet) *engine.Codelet {
	var arrived atomic.Int32
	all := make(chan struct{})
	return codelet("meet "+c.Name, func(t *engine.TaskContext) error {
		if arrived.Add(1) == k {
			close(all)
		}
		select {
		case <-all:
			return c.CPU[0](t)
		case <-time.After(5 * time.Minute): // far more than a loaded machine needs
			return fmt.Errorf("%d of %d kernels met", arrived.Load(), k)
		}
	})
}

func hook(name string, fn func()) *engine.Codelet {
	return codelet(name, func(*engine.TaskContext) error { fn(); return nil })
}

// log is a list that kernels append to.
type log struct {
	mu    sync.Mutex
	items []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, fmt.Sprintf(format, args...))
}

func (l *log) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.items...)
}

func sum(xs []int64) (s int64) {
	for _, x := range xs {
		s += x
	}
	return s
}
