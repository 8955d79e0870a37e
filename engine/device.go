package engine

// Devices: workers and memory beside the CPUs and main memory.

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/internal/isolate"
	"github.com/starpush/starpush/engine/sched"
)

// maxNodes bounds the number of memory nodes: sets of them are words.
const maxNodes = 64

// checkDevices checks the devices of o.
func (o *Options) checkDevices() error {
	n := 0
	most := maxNodes - 1
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
		case d.Units() <= 0 || d.Units() > MaxWorkers-n:
			return fmt.Errorf("engine: the device %s has %d units; there can be %d workers", d.Name(), d.Units(), MaxWorkers)
		}
		n += d.Units()
		names[d.Name()] = true
	}
	return nil
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
	rt.addDisk()
	rt.setWays()
}

// workersToBe is how many workers the options ask for.
func (o *Options) workersToBe() int {
	n := o.Workers
	for _, d := range o.Devices {
		n += d.Units()
	}
	return n
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
	named := map[string]int{}
	for k, d := range rt.devices {
		for range d.Units() {
			sub := rt.reg.Lock()
			w := newWorker(sub, rt, d, named[d.Name()], rt.nodeOf[k])
			sub.Unlock()
			w.lookahead = newLookahead(w)
			rt.workers = append(rt.workers, w)
			named[d.Name()]++
			var err error
			if err = w.addSlots(); err != nil {
				_ = rt.closeNodes()
				return fmt.Errorf("engine: the device %s: %w", d.Name(), err)
			}
		}
	}
	return nil
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

// begins says that a kernel begins to run where memory is bounded.
func (w *worker) begins() {
	w.lookahead.kernelBegins()
	w.rt.reg.KernelBegins(w.node)
}

// ends is the end of what begins began.
func (w *worker) ends() {
	w.lookahead.kernelEnds()
	w.rt.reg.KernelEnds(w.node)
}

// callOnDevice calls fn, the kernel of t, on the worker's stream and waits for what it has begun.
func (w *worker) callOnDevice(t *task, fn Impl) error {
	w.begins()
	defer w.ends() // also when the kernel ends the goroutine
	if w.arch == cpuArch {
		work := accel.Work{Name: t.codelet.Name, Flops: t.work()}
		for i := range t.operands() {
			d := t.operands()[i].Handle.Desc()
			work.Bytes += d.Bytes()
		}
		return w.stream.Do(work, func() error {
			if w.rt.opt.Poison {
				w.poison(t) // here: the device may be lost, and its memory gone, at any other time
			}
			return callKernel(fn, &w.tc, func(err error) { w.exit(t, err) })
		})
	}
	err := callKernel(fn, &w.tc, func(err error) {
		_ = w.stream.Sync()
		w.exit(t, err)
	})
	if e := w.stream.Sync(); err == nil {
		err = e
	}
	return err
}

// work is how many floating-point operations t takes; 0: not known.
func (t *task) work() float64 {
	if t.general && t.x.flops > 0 {
		return t.x.flops
	}
	if t.codelet.Flops == nil {
		return 0
	}
	var n float64
	isolate.Call(func() {
		var ds []iface.Desc
		n = t.flops(&ds)
	})
	return n
}

// Nodes describes the memory nodes; the first is main memory.
func (rt *Runtime) Nodes() []NodeInfo {
	all := []NodeInfo{nodeInfo(rt.device.Memory())}
	for k, d := range rt.devices {
		if rt.nodeOf[k] == len(all) {
			all = append(all, nodeInfo(d.Memory()))
			all[rt.nodeOf[k]].Allocated -= rt.reg.Kept(rt.nodeOf[k])
		}
	}
	if rt.limited {
		all = append(all, nodeInfo(rt.opt.Disk.Memory()))
	}
	return all
}

func nodeInfo(m accel.Memory) NodeInfo {
	return NodeInfo{Name: m.Name(), Capacity: m.Capacity(), Allocated: m.Allocated()}
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

// CopyTime predicts the seconds that a copy of the given size takes from one memory node
// to another.
func (rt *Runtime) CopyTime(from, to int, bytes int64) float64 {
	return rt.reg.CopyTime(from, to, bytes)
}

// transfer predicts how long it takes to bring what t reads to the node of worker w,
// in seconds.
func (rt *Runtime) transfer(t *task, w int) (seconds float64) {
	for _, op := range t.operands() {
		if op.Mode != iface.Scratch && op.Mode != iface.Redux && op.Mode.Reads() {
			seconds += managed(op.Handle).TransferTime(rt.workers[w].nodeFor(&op))
		}
	}
	return seconds
}

// missing is how many bytes of what t reads are not on the node of worker w.
func (rt *Runtime) missing(t *task, w int) (bytes int64) {
	for _, op := range t.operands() {
		if op.Mode != iface.Scratch && op.Mode != iface.Redux && op.Mode.Reads() {
			bytes += managed(op.Handle).Missing(rt.workers[w].nodeFor(&op))
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
