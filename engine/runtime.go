package engine

// Runtime: how one is set up and ended, and what programs run on it without a job.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/numa"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// normal checks o and fills in the defaults.
func (o Options) normal() (Options, error) {
	switch {
	case o.Workers < 0 || o.Workers > MaxWorkers:
		return o, fmt.Errorf("engine: %d workers; the number is 1 to %d, or 0 for one per CPU", o.Workers, MaxWorkers)
	case o.Ahead > maxAhead:
		return o, fmt.Errorf("engine: data for %d tasks ahead; the most is %d", o.Ahead, maxAhead)
	case o.Queue < 0 || o.Queue > maxAhead:
		return o, fmt.Errorf("engine: %d kernels behind each other; the number is 1 to %d, or 0 for %d", o.Queue, maxAhead, DefaultQueue)
	case o.Window < 0:
		return o, fmt.Errorf("engine: window of %d tasks; it must be positive, or 0 for %d", o.Window, DefaultWindow)
	}
	if err := o.checkDevices(); err != nil {
		return o, err
	}
	if err := o.checkLimit(); err != nil {
		return o, err
	}
	if err := perf.Calibration(o.Calibrate).Check(); err != nil {
		return o, fmt.Errorf("engine: %w", err)
	}
	if o.Workers == 0 {
		o.Workers = max(1, min(runtime.GOMAXPROCS(0), MaxWorkers)-o.unitsOfNUMA())
	}
	if err := o.checkProcessors(); err != nil {
		return o, err
	}
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.Ahead == 0 {
		o.Ahead = DefaultAhead
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Policy == "" && o.NewPolicy == nil {
		o.Policy = sched.Default
		if len(o.Devices) > 0 {
			o.Policy = "dmdas" // knows what transfers and kernels take
		}
	}
	if o.NewPolicy == nil {
		if _, err := sched.Parse(o.Policy); err != nil {
			return o, fmt.Errorf("engine: %w", err)
		}
	}
	if o.Policy == "" {
		o.Policy = "user"
	}
	switch {
	case o.Plan != nil:
		o.Sequential, o.Verify, o.Poison, o.Profile, o.Calibrate = true, false, false, false, 0
		o.Listener = profileOnly{} // makes the events from which the plan is built
	case o.Sequential:
		o.Workers, o.Poison = 1, true
	}
	if o.Verify {
		o.Poison = false // verification has patterns of its own
	}
	return o, nil
}

// checkDevices checks the devices of o.
func (o *Options) checkDevices() error {
	n := 0
	most := maxNodes - 1
	others := "" // a device that is no NUMA node
	if o.Disk != nil {
		most--
	}
	if len(o.Devices) > most {
		return fmt.Errorf("engine: %d devices; there can be %d", len(o.Devices), most)
	}
	names := map[string]bool{}
	if o.Disk != nil {
		names[o.Disk.Name()] = true
	}
	for i, d := range o.Devices {
		switch {
		case d == nil:
			return fmt.Errorf("engine: device %d of Options.Devices is nil", i)
		case names[d.Name()]: // an error says by its name which one is lost
			return fmt.Errorf("engine: two devices are called %s; give each a name of its own", d.Name())
		case o.Sequential && o.Plan == nil:
			return fmt.Errorf("engine: a Sequential runtime runs everything on its submitter, and cannot have the device %s", d.Name())
		case isNUMA(d) && others != "":
			return fmt.Errorf("engine: the NUMA node %s comes after the device %s; its workers are CPU workers: put NUMA nodes first in Options.Devices", d.Name(), others)
		case isNUMA(d) && d.Units() == 0: // memory without processors
		case d.Units() <= 0 || d.Units() > MaxWorkers-n:
			return fmt.Errorf("engine: the device %s has %d units; there can be %d workers", d.Name(), d.Units(), MaxWorkers)
		}
		n += d.Units()
		names[d.Name()] = true
		if !isNUMA(d) {
			others = d.Name()
		}
	}
	return nil
}

// unitsOfNUMA is how many CPU workers the NUMA nodes in Devices have.
func (o *Options) unitsOfNUMA() (n int) {
	for _, d := range o.Devices {
		if isNUMA(d) {
			n += d.Units()
		}
	}
	return n
}

// openNUMA puts the NUMA nodes of the machine in front of the devices, if NUMA says so. The
// runtime closes the machine. nil: there are no such nodes.
func (o *Options) openNUMA() (*numa.Machine, error) {
	if !o.NUMA || o.Sequential || o.Plan != nil {
		return nil, nil
	}
	switch {
	case o.Processors != nil:
		return nil, errors.New("engine: Options.NUMA binds workers to the processors of their nodes: leave out Options.Processors")
	case o.unitsOfNUMA() > 0:
		return nil, errors.New("engine: Options.Devices has NUMA nodes: leave out Options.NUMA, which opens those of this machine")
	case o.Workers < 0 || o.Workers > MaxWorkers:
		return nil, nil // an error of normal
	}
	m, err := numa.Open(o.Workers)
	if err != nil {
		return nil, fmt.Errorf("engine: Options.NUMA: %w", err)
	}
	o.Workers, o.Processors, o.Devices = m.Workers, m.Processors, slices.Concat(m.Devices, o.Devices)
	if o.Bus == nil && len(m.Devices) > 0 {
		o.Bus = m.Bus()
	}
	return m, nil
}

// mainCapacity returns the bytes of main memory for package cpu: RAM, or what NUMA nodes of this machine in
// Devices leave of its memory; 0: all of it.
func (o *Options) mainCapacity() int64 {
	if o.RAM > 0 {
		return o.RAM
	}
	further := int64(0)
	for _, d := range o.Devices {
		if _, ok := d.(nodeOfMachine); ok {
			further += d.Memory().Capacity()
		}
	}
	if further == 0 {
		return 0
	}
	return max(0, cpu.New(0).Memory().Capacity()-further)
}

// nodeOfMachine is a NUMA node of this machine, and not a simulated one: numa.Device.
type nodeOfMachine interface {
	accel.CPUs
	Main() int // the number by which the operating system knows main memory
}

// checkProcessors checks that the program may use the processors of o.
func (o *Options) checkProcessors() error {
	if o.Processors == nil {
		return nil
	}
	may, err := cpu.Processors()
	switch {
	case err != nil:
		return fmt.Errorf("engine: Options.Processors: %w", err)
	case len(o.Processors) == 0:
		return errors.New("engine: Options.Processors is empty: leave it nil for workers on any processor")
	}
	for _, p := range o.Processors {
		if !slices.Contains(may, p) {
			return fmt.Errorf("engine: Options.Processors: this program may not use processor %d; it may use %v", p, may)
		}
	}
	return nil
}

// maxNodes bounds the number of memory nodes: sets of them are words.
const maxNodes = 64

// checkLimit checks RAM and Disk.
func (o *Options) checkLimit() error {
	if o.Plan != nil { // which takes no memory
		o.RAM, o.Disk = 0, nil
	}
	switch {
	case o.RAM < 0:
		return fmt.Errorf("engine: %d bytes of main memory; the number is positive, or 0 for no limit", o.RAM)
	case o.RAM == 0 && o.Disk == nil:
		return nil
	case o.RAM == 0:
		return fmt.Errorf("engine: the disk %s is for data that main memory has no room for: say how much it has in Options.RAM", o.Disk.Name())
	case o.Disk == nil:
		return fmt.Errorf("engine: main memory of %s needs a disk for the rest, Options.Disk", accel.Bytes(o.RAM))
	case o.Sequential:
		return fmt.Errorf("engine: a Sequential runtime is the reference, and has no limit of main memory")
	case o.Disk.Memory().Host() || slices.Contains(o.Devices, o.Disk):
		return fmt.Errorf("engine: the device %s cannot be the disk", o.Disk.Name())
	}
	return nil
}

// New starts a runtime. It returns an error when an option makes no sense.
func New(o Options) (*Runtime, error) {
	nodes, err := o.openNUMA()
	if err != nil {
		return nil, err
	}
	rt, err := newRuntime(o, nodes)
	if err != nil && nodes != nil {
		_ = nodes.Close() // not used any more
	}
	return rt, err
}

// newRuntime is New with the NUMA nodes of the machine, or nil.
func newRuntime(o Options, nodes *numa.Machine) (*Runtime, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	dev := cpu.New(o.mainCapacity())
	rt := &Runtime{opt: o, began: time.Now(), device: dev, reg: datamgr.NewRegistry(dev.Memory()), jobs: map[*Job]struct{}{}, sets: map[string]*sched.Set{}}
	rt.reg.Plans = o.Plan != nil
	rt.reg.Owner = rt
	if o.Verify {
		rt.verify = newVerifier()
	}
	rt.releasers.New = func() any { return &releaser{rt: rt, c: rt.reg.NewCompleter(), id: sched.Outside} }
	if o.Calibrate > 0 {
		if err := rt.openModels(); err != nil {
			return nil, err
		}
	}
	rt.listenToCopies()
	rt.gangs.cond.L = &rt.gangs.mu
	rt.openedNUMA = nodes
	rt.addDevices()
	if err := rt.newPolicy(); err != nil {
		return nil, err
	}
	if o.Profile {
		rt.profile = newProfiler(rt)
		if o.Listener == nil {
			rt.opt.Listener = profileOnly{}
		}
	}
	sub := rt.reg.Lock()
	rt.countListeners(sub)
	sub.Unlock()
	rt.openLanes()
	for i := range o.Workers {
		sub := rt.reg.Lock()
		w := newWorker(sub, rt, rt.device, i, 0)
		sub.Unlock()
		if rt.limited {
			w.lookahead = newLookahead(w)
		}
		rt.workers = append(rt.workers, w)
	}
	if err := rt.addDeviceWorkers(); err != nil {
		return nil, err
	}
	if rt.nodes > 1 && o.Plan == nil {
		rt.openPrefetchers()
	}
	if !o.Sequential {
		for _, w := range rt.workers {
			rt.group.Add(1)
			go w.loop()
		}
	}
	return rt, nil
}

// addDevices makes the memories of the devices known.
func (rt *Runtime) addDevices() {
	rt.reg.OnLoss(rt.lostNode)
	rt.archs = []string{cpuArch}
	for _, d := range rt.opt.Devices {
		rt.devices = append(rt.devices, d)
		if !slices.Contains(rt.archs, d.Arch()) {
			rt.archs = append(rt.archs, d.Arch())
		}
		rt.nodeOf = append(rt.nodeOf, rt.reg.AddNode(d))
	}
	rt.numa = numbersOfNUMA(rt.openedNUMA, rt.devices)
	rt.addDisk()
	rt.setWays()
}

// addDeviceWorkers makes the workers of the devices.
func (rt *Runtime) addDeviceWorkers() error {
	if rt.devices == nil {
		return nil
	}
	var cpus []int
	for w := range rt.workers {
		cpus = append(cpus, w)
	}
	rt.host = sched.NewSet(cpus...)
	named := map[string]int{cpuArch: len(cpus)}
	for k, d := range rt.devices {
		for unit := range d.Units() {
			sub := rt.reg.Lock()
			w := newWorker(sub, rt, d, named[kindOf(d)], rt.nodeOf[k])
			w.unit = unit
			sub.Unlock()
			w.lookahead = newLookahead(w)
			rt.workers = append(rt.workers, w)
			named[kindOf(d)]++
			var err error
			if err = w.addSlots(); err != nil {
				_ = rt.closeNodes()
				return fmt.Errorf("engine: the device %s: %w", d.Name(), err)
			}
		}
	}
	return nil
}

// numbersOfNUMA returns the numbers by which the operating system knows the nodes, main memory
// first; nil: main memory is one node. m is the machine that New opened, nil: none. Nodes of this
// machine know the number of main memory; beside simulated ones it is the lowest that none of them has.
func numbersOfNUMA(m *numa.Machine, devices []accel.Device) (all []int) {
	main, known := 0, m != nil
	if known {
		main = m.Topology.Nodes[0].Number
	}
	for _, d := range devices {
		n, ok := accel.AsNUMA(d)
		if !ok {
			continue
		}
		k, _ := n.NUMA()
		all = append(all, k)
		if of, ok := d.(nodeOfMachine); ok && !known {
			main, known = of.Main(), true
		}
	}
	if all == nil && !known {
		return nil
	}
	for !known && slices.Contains(all, main) {
		main++
	}
	return append([]int{main}, all...)
}

// addDisk makes the disk known, after all devices.
func (rt *Runtime) addDisk() {
	if rt.opt.Disk != nil {
		rt.limited = true
		rt.diskNode = rt.reg.AddDisk(rt.opt.Disk, cpu.New(0).Memory().Capacity())
	}
	rt.nodes = rt.reg.NumNodes()
}

// setWays tells the data what copies between nodes cost.
func (rt *Runtime) setWays() {
	t := rt.opt.Bus
	if t == nil {
		return
	}
	nodes := rt.Nodes()
	for from, a := range nodes {
		for to, b := range nodes {
			if l, ok := t.Link(a.Name, b.Name); ok {
				w := datamgr.Way{Latency: l.Latency.Seconds()}
				if l.Bandwidth > 0 {
					w.PerByte = 1 / l.Bandwidth
				}
				rt.reg.SetWay(from, to, w)
			}
		}
	}
}

// closeNodes brings data back to main memory and frees the memory of devices. All workers
// have ended. Data of the program that could not be saved is an error.
func (rt *Runtime) closeNodes() error {
	for _, w := range rt.workers {
		for _, s := range w.slots {
			_ = s.stream.Close() // what failed on it has failed its task
		}
	}
	bytes, err := rt.reg.CloseNodes()
	if bytes > 0 {
		return fmt.Errorf("engine: %s of data that was on devices only could not be saved: %w", accel.Bytes(bytes), err)
	}
	return nil
}

// Close waits for all tasks and callbacks, stops the workers and frees all data
// that has no host memory. When tasks are left that wait for closed gates or held
// data while nothing else goes on, it cancels them and returns a *StuckError.
// Later calls that submit or acquire return ErrClosed; Close itself may be
// called again. In a kernel or a callback of AcquireFunc it returns
// ErrWouldDeadlock. A *ModelError says that models were not saved.
func (rt *Runtime) Close() error {
	if rt.mayBeInKernel() || rt.inCallback() {
		return ErrWouldDeadlock
	}
	// once only, and others wait for it
	rt.closing.Do(func() {
		sub := rt.reg.Lock()
		rt.closed = true
		sub.Unlock()
		rt.progress() // callbacks that wait may have to give up
		rt.closeErr = rt.finish()
		rt.quit.Store(true)
		rt.closePrefetchers()
		rt.parking.wakeAll()
		close(rt.lanes.mu.over)
		rt.group.Wait()
		rt.closePolicies()
		rt.anyWorker(func(w *worker) bool { w.freeScratch(); return false })
		if err := rt.closeNodes(); err != nil {
			rt.closeErr = errors.Join(rt.closeErr, err)
		}
		if rt.openedNUMA != nil {
			rt.closeErr = errors.Join(rt.closeErr, rt.openedNUMA.Close())
		}
		if err := rt.pins.endAll(); err != nil {
			rt.closeErr = errors.Join(rt.closeErr, err)
		}
		if err := rt.saveModels(); err != nil {
			rt.closeErr = errors.Join(rt.closeErr, err)
		}
	})
	return rt.closeErr
}

// finish waits until no task and no callback is left, with force if need be.
func (rt *Runtime) finish() error {
	type state struct {
		live, ended  int64
		calls, holds int
	}
	var stuck *StuckError
	var forced state // what force was used on: it will not help twice
	seen := map[*Job]bool{}
	for first := true; ; first = false {
		var jobs []*Job
		var left, busy bool
		var now state
		err := rt.waitUntil(context.Background(), func(sub datamgr.Submission) bool {
			quiet := rt.isIdle(sub) // before the counts: what ends in between is seen
			jobs, left, busy, now = jobs[:0], false, false, state{calls: rt.calls, holds: len(rt.held)}
			for j := range rt.jobs {
				jobs = append(jobs, j)
				ended := j.ended.Load()
				now.live, now.ended = now.live+j.live, now.ended+ended
				left = left || j.live != ended
				busy = busy || j.calls > 0
			}
			for _, a := range rt.held {
				if !slices.Contains(jobs, a.job) { // closed while the data was waited for
					jobs = append(jobs, a.job)
				}
			}
			return !left && !busy || (first || now != forced) && quiet && !rt.callsGoOn(sub)
		})
		forced = now
		if stuck == nil && left {
			stuck = &StuckError{}
			for _, j := range jobs {
				stuck.Tasks = append(stuck.Tasks, j.Blocked()...)
			}
		}
		for _, j := range jobs {
			seen[j] = true
			j.abandon()
		}
		if left || busy {
			continue
		}
		for j := range seen {
			j.callbacks.Wait()
		}
		if stuck != nil {
			err = errors.Join(err, stuck)
		}
		return err
	}
}

// DiskNode returns the number of the disk among the memory nodes, the last; false: there
// is none.
func (rt *Runtime) DiskNode() (node int, ok bool) { return rt.diskNode, rt.limited }

// Running a function once on each worker.

// OnEachWorker runs fn once on each of the given workers, nil for all, on the
// worker's goroutine, and returns when that is done: for libraries that want to
// be set up in each thread. Those of devices are workers, too, whatever their
// architecture; WorkerInfo says what one is, and Runtime.Worker before. Among the
// tasks that are ready on a worker it comes first. It returns the errors and panics of fn, joined, each with its worker; a
// *NoWorkerError when there is no such worker; the cause of ctx when that ends
// before fn was started everywhere; ErrWouldDeadlock in a kernel or hook;
// ErrClosed.
func (rt *Runtime) OnEachWorker(ctx context.Context, workers []int, fn func(WorkerInfo) error) error {
	if rt.mayBeInKernel() {
		return ErrWouldDeadlock
	}
	if err := rt.open(); err != nil {
		return err
	}
	if workers == nil {
		for w := range rt.workers {
			workers = append(workers, w)
		}
	}
	if ctx == nil {
		ctx = context.Background()
	}
	j := rt.NewJob(ctx, JobOptions{})
	impl := []Impl{func(c *TaskContext) (err error) {
		w := rt.info(c.Worker())
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("engine: on worker %d: %w", w.ID, newPanic(v))
			}
		}()
		if err := fn(w); err != nil {
			return fmt.Errorf("engine: on worker %d: %w", w.ID, err)
		}
		return nil
	}}
	c := &Codelet{Name: "on each worker", Model: untimed, CPU: impl, On: map[string][]Impl{}}
	for _, arch := range rt.archs {
		if arch != cpuArch {
			c.On[arch] = impl
		}
	}
	var errs []error
	var tasks []*Task
	dropped := false
	seen := map[int]bool{}
	for _, w := range workers {
		if seen[w] {
			continue
		}
		seen[w] = true
		t, err := j.SubmitTask(&TaskSpec{Codelet: c, Workers: []int{w}, Priority: math.MaxInt32})
		if err != nil {
			j.Cancel(err)
			errs = append(errs, err)
			break
		}
		tasks = append(tasks, t)
	}
	for _, t := range tasks {
		_ = t.Wait(context.Background()) // when ctx ends the job drops what has not started
		var te *TaskError
		switch err := t.Err(); {
		case err == nil:
		case errors.As(err, &te) && te.Dropped:
			dropped = true
		case errors.As(err, &te):
			errs = append(errs, te.Cause)
		}
	}
	if dropped && ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(append(errs, j.Close())...)
}

// Main memory that devices copy from and to by themselves.

// AllocPinned returns main memory for data of the program (DataSpec.Home): from the first
// device that is an accel.Pinner, where copies need not be staged, else from the Go heap,
// aligned all the same. It is zero. free returns the memory. Call it when no data has the
// memory as its home any more, and before the device is closed; the memory must not be
// used afterwards. A second call of free does nothing.
func (rt *Runtime) AllocPinned(bytes int64) (p unsafe.Pointer, free func() error, err error) {
	if bytes < 0 {
		return nil, nil, fmt.Errorf("engine: AllocPinned of %d bytes", bytes)
	}
	if rt.Closed() {
		return nil, nil, ErrClosed
	}
	for _, d := range rt.devices {
		d, ok := d.(accel.Pinner)
		if !ok {
			continue
		}
		p, err := d.AllocPinned(bytes)
		if err != nil {
			return nil, nil, fmt.Errorf("engine: %s: %w", d.Name(), err)
		}
		clear(unsafe.Slice((*byte)(p), bytes))
		return p, sync.OnceValue(func() error { return d.FreePinned(p) }), nil
	}
	heap := accel.NewHeap("pinned", bytes) // whose Free leaves the rest to the collector
	p, err = heap.Alloc(bytes)
	return p, func() error { return nil }, err
}

// PinSlice makes the memory of s, such as that of data that is or will be registered with it,
// as fast to copy from and to devices as that of AllocPinned: a device that is an
// accel.Pinner copies it without a stage between. Without such a device it does nothing. unpin
// undoes it; call it when no data has the memory as its home any more, and before the device
// is closed. A second call of unpin does nothing, and Close of the runtime calls it for what
// is left. Until then the runtime keeps the memory alive.
//
// Pinning takes the time of some system calls, and memory that is not swapped: it is for slices
// of a megabyte and more that are copied often. Errors are those of the driver, for instance
// that pages of s are pinned already; and ErrClosed. It may be called while
// tasks use s.
func PinSlice[T iface.Go](rt *Runtime, s []T) (unpin func() error, err error) {
	if rt == nil {
		return nil, fmt.Errorf("engine: PinSlice[%T]: the runtime is nil; make one by engine.New", *new(T))
	}
	return rt.pins.pin(rt, unsafe.Pointer(unsafe.SliceData(s)), int64(len(s))*int64(unsafe.Sizeof(*new(T))))
}

// pin has the first device that can pin memory.
func (s *pins) pin(rt *Runtime, p unsafe.Pointer, bytes int64) (unpin func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed || rt.Closed() {
		return nil, ErrClosed
	}
	for _, d := range rt.devices {
		d, ok := d.(accel.Pinner)
		if !ok || bytes == 0 {
			continue
		}
		if err := d.Pin(p, bytes); err != nil {
			return nil, fmt.Errorf("engine: %s cannot pin %s: %w", d.Name(), accel.Bytes(bytes), err)
		}
		x := &pinnedMemory{p, d}
		if s.mu.live == nil {
			s.mu.live = map[*pinnedMemory]struct{}{}
		}
		s.mu.live[x] = struct{}{}
		return func() error { return s.unpin(x) }, nil
	}
	return func() error { return nil }, nil
}

func (s *pins) unpin(x *pinnedMemory) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.mu.live[x]; !ok {
		return nil
	}
	delete(s.mu.live, x)
	return x.dev.Unpin(x.p)
}

// endAll unpins what is left, for good.
func (s *pins) endAll() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closed = true
	for x := range s.mu.live {
		err = errors.Join(err, x.dev.Unpin(x.p))
	}
	s.mu.live = nil
	return err
}

// Running a codelet without a task.

// Call runs an implementation of c on the caller's goroutine, on buffers instead of data:
// no task, no order, no statistics. It is for codelets that serve as functions of a
// reduction. In the implementation Worker is always 0, and the operands have no handles.
// A panic of the implementation is a *PanicError.
func (c *Codelet) Call(ctx context.Context, bufs []*iface.Buffer, args []iface.Scalar) error {
	return c.call(ctx, bufs, args, nil)
}

// Call is c.Call, watched when the runtime has Options.Verify: an implementation
// that breaks the modes of the codelet is a *VerifyError, whose breaches have no
// handles.
func (rt *Runtime) Call(ctx context.Context, c *Codelet, bufs []*iface.Buffer, args []iface.Scalar) error {
	return c.call(ctx, bufs, args, rt.verify)
}

func (c *Codelet) call(ctx context.Context, bufs []*iface.Buffer, args []iface.Scalar, v *verifier) error {
	if c.bad != nil {
		return c.bad
	}
	if len(c.CPU) == 0 {
		return &NoImplementationError{Codelet: c}
	}
	if c.Modes != nil && len(c.Modes) != len(bufs) {
		return fmt.Errorf("engine: %s takes %d operands, and %d buffers are given", c.Name, len(c.Modes), len(bufs))
	}
	if c.Types != nil {
		if i := slices.Index(bufs, nil); i >= 0 {
			return fmt.Errorf("engine: %s is given no buffer as operand %d", c.Name, i)
		}
		if err := c.checkBuffers(bufs, args); err != nil {
			return err
		}
	}
	d := directs.Get().(*direct)
	d.job.mu.old = &generation{ctx: ctx}
	d.job.now.Store(d.job.mu.old)
	d.ops, d.tc.bufs, d.tc.set = d.ops[:0], d.tc.bufs[:0], d.tc.set[:0]
	for i, b := range bufs {
		m := iface.RW
		if c.Modes != nil {
			m = c.Modes[i]
		}
		d.ops = append(d.ops, Operand{Mode: m})
		d.tc.bufs, d.tc.set = append(d.tc.bufs, *b), append(d.tc.set, true)
	}
	d.t.codelet = c
	d.t.setArgs(args)
	d.t.setOperands(d.ops)
	fn := c.CPU[0]
	if v != nil {
		fn = v.verified(fn)
	}
	err := callKernel(fn, &d.tc, nil)
	directs.Put(d) // not when the implementation has ended the goroutine
	return err
}

// direct is what a call without a task needs. It is used again: the functions of
// a deterministic reduction are called once for each contribution.
type direct struct {
	job Job
	t   task
	w   worker
	tc  TaskContext
	ops []Operand
}

var directs = sync.Pool{New: func() any {
	d := &direct{}
	d.t.job, d.tc.t, d.tc.w = &d.job, &d.t, &d.w
	return d
}}
