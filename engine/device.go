package engine

// Devices: workers and memory beside the CPUs and main memory.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// maxNodes bounds the number of memory nodes: sets of them are words.
const maxNodes = 64

// bandwidth is how fast data is taken to travel between nodes, in bytes a second.
const bandwidth = 8 << 30

// checkDevices checks the devices of o.
func (o *Options) checkDevices() error {
	n := 0
	if len(o.Devices) >= maxNodes {
		return fmt.Errorf("engine: %d devices; there can be %d", len(o.Devices), maxNodes-1)
	}
	for _, d := range o.Devices {
		switch {
		case o.Sequential:
			return fmt.Errorf("engine: a Sequential runtime runs everything on its submitter, and cannot have the device %s", d.Name())
		case d.Arch() != "cpu":
			return fmt.Errorf("engine: the device %s runs kernels for %s, and codelets have implementations for CPUs only", d.Name(), d.Arch())
		case d.Units() <= 0 || d.Units() > MaxWorkers-n:
			return fmt.Errorf("engine: the device %s has %d units; there can be %d workers", d.Name(), d.Units(), MaxWorkers)
		}
		n += d.Units()
	}
	return nil
}

// addDevices makes the memories of the devices known.
func (rt *Runtime) addDevices() {
	for _, d := range rt.opt.Devices {
		rt.devices = append(rt.devices, d)
		rt.nodeOf = append(rt.nodeOf, rt.reg.AddNode(d.Memory()))
	}
}

// workersToBe is how many workers the options ask for.
func (o *Options) workersToBe() int {
	n := o.Workers
	for _, d := range o.Devices {
		n += d.Units()
	}
	return n
}

// addDeviceWorkers makes the workers of the devices, and who carries out hints.
func (rt *Runtime) addDeviceWorkers() {
	if rt.devices == nil {
		return
	}
	var cpus []int
	for w := range rt.workers {
		cpus = append(cpus, w)
	}
	rt.host = sched.NewSet(cpus...)
	named := map[string]int{}
	for k, d := range rt.devices {
		for range d.Units() {
			rt.workers = append(rt.workers, newWorker(rt, d, named[d.Name()], rt.nodeOf[k]))
			named[d.Name()]++
		}
	}
	rt.hints.open(rt)
}

// Nodes describes the memory nodes; the first is main memory.
func (rt *Runtime) Nodes() []NodeInfo {
	all := []NodeInfo{nodeInfo(rt.device.Memory())}
	for k, d := range rt.devices {
		if rt.nodeOf[k] == len(all) {
			all = append(all, nodeInfo(d.Memory()))
		}
	}
	return all
}

func nodeInfo(m accel.Memory) NodeInfo {
	return NodeInfo{Name: m.Name(), Capacity: m.Capacity(), Allocated: m.Allocated()}
}

// whereItFits takes the workers out of allowed, nil for all, on whose node the task
// does not fit even if it is alone there. Submission lock held.
func (rt *Runtime) whereItFits(s *TaskSpec, allowed *sched.Set) (*sched.Set, error) {
	if c := s.Codelet; c.Traits != nil && c.Traits.Nowhere {
		return allowed, nil
	}
	for _, op := range s.Operands {
		if !rt.reg.Owns(op.Handle) {
			return allowed, nil // an error that others find
		}
	}
	var none uint64 // nodes where it does not fit
	for n := 1; n < rt.reg.NumNodes(); n++ {
		if !rt.reg.Fits(s.Operands, n) {
			none |= 1 << n
		}
	}
	if none == 0 {
		return allowed, nil
	}
	var left []int
	for w := range rt.workers {
		if none&(1<<rt.workers[w].node) == 0 && (allowed == nil || allowed.Has(w)) {
			left = append(left, w)
		}
	}
	if left == nil {
		return nil, rt.tooLarge(s, allowed)
	}
	return rt.workerSet(left)
}

// onOneNode takes the workers out of ws, nil for all, that are not on the node of
// the first: kernels of a parallel task share memory. Submission lock not held.
func (rt *Runtime) onOneNode(ws []int) []int {
	if rt.devices == nil {
		return ws
	}
	if ws == nil {
		for w := range rt.workers {
			ws = append(ws, w)
		}
	}
	return slices.DeleteFunc(slices.Clone(ws), func(w int) bool {
		return w >= 0 && w < len(rt.workers) && ws[0] >= 0 && ws[0] < len(rt.workers) && rt.workers[w].node != rt.workers[ws[0]].node
	})
}

// missing is how many bytes of what t reads are not on the node of worker w.
func (rt *Runtime) missing(t *task, w int) (bytes int64) {
	for _, op := range t.operands() {
		if op.Mode != iface.Scratch && op.Mode != iface.Redux && op.Mode.Reads() {
			bytes += op.Handle.Missing(rt.workers[w].node)
		}
	}
	return bytes
}

// tooLarge is the error for a task that fits none of the nodes where it may run.
func (rt *Runtime) tooLarge(s *TaskSpec, allowed *sched.Set) error {
	e := &TooLargeError{Codelet: s.Codelet, Bytes: rt.reg.Needs(s.Operands)}
	nodes := rt.Nodes()
	for w := range rt.workers {
		if n := nodes[rt.workers[w].node]; allowed.Has(w) && !slices.Contains(e.Nodes, n) {
			e.Nodes = append(e.Nodes, n)
		}
	}
	return e
}

// TooLargeError says that the data of a task does not fit the memory of any worker
// that may run it.
type TooLargeError struct {
	Codelet *Codelet
	Bytes   int64      // that it needs at once
	Nodes   []NodeInfo // where it may run
}

func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("a task of %s needs %s at once", e.Codelet.Name, accel.Bytes(e.Bytes))
	for i, n := range e.Nodes {
		sep := ", and "
		if i > 0 {
			sep = ", "
		}
		text += fmt.Sprintf("%s%s has %s", sep, n.Name, accel.Bytes(n.Capacity))
	}
	return text + ": let it run on other workers, or work on smaller parts"
}
