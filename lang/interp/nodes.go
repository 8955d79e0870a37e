package interp

// Workers, kinds of devices and memory nodes as scripts name them.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/engine"
)

// devices is what a runtime has beside CPU workers and main memory.
type devices struct {
	workers []engine.WorkerInfo // all; nil when there are no devices
	names   []string            // of devices, in the order of their workers
	of      []engine.WorkerInfo // the first worker of each device
}

// newDevices looks at the workers of rt.
func newDevices(rt *engine.Runtime) *devices {
	d := &devices{}
	if len(rt.Nodes()) == 1 && !hasDevices(rt) {
		return d
	}
	for i := range rt.Workers() {
		w, err := rt.Worker(i)
		if err != nil {
			break
		}
		d.workers = append(d.workers, w)
		if !isCPU(w) && !slices.Contains(d.names, w.Kind) {
			d.names = append(d.names, w.Kind)
			d.of = append(d.of, w)
		}
	}
	return d
}

// hasDevices reports whether some worker is none of the CPU workers, which come first.
func hasDevices(rt *engine.Runtime) bool {
	w, err := rt.Worker(rt.Workers() - 1)
	return err == nil && !isCPU(w)
}

// isCPU reports whether w is a CPU worker, on whatever NUMA node.
func isCPU(w engine.WorkerInfo) bool { return w.Kind == "cpu" }

// isKind reports whether w belongs to a kind of the language. A simulated device,
// which runs CPU implementations in a memory of its own, stands for any device.
func isKind(w engine.WorkerInfo, kind DeviceKind) bool {
	switch {
	case isCPU(w):
		return kind == "cpu"
	case w.Arch == "cpu":
		return kind != "cpu"
	}
	return w.Arch == string(kind)
}

// ofKind lists the workers of a kind.
func (m *Machine) ofKind(kind DeviceKind) (out []int) {
	if m.devices.workers == nil {
		for w := 0; w < m.rt.Workers() && kind == "cpu"; w++ {
			out = append(out, w)
		}
		return out
	}
	for _, w := range m.devices.workers {
		if isKind(w, kind) {
			out = append(out, w.ID)
		}
	}
	return out
}

// ram is main memory, which is also the first NUMA node.
var ram = Node{Kind: "ram", Index: -1}

// node is the engine's number of a memory node; false: this machine has none.
func (m *Machine) node(n Node) (int, bool) {
	if n.Kind == "ram" {
		return 0, true
	}
	left := n.Index
	switch n.Kind {
	case "disk":
		k, ok := m.rt.DiskNode()
		return k, ok && n.Index == 0
	case "numa": // they are the first nodes
		k := int(min(n.Index, 1<<16))
		_, err := m.rt.NUMAOfNode(k)
		return k, err == nil
	}
	for _, w := range m.devices.of {
		if n.Kind != "gpu" && !isKind(w, DeviceKind(n.Kind)) {
			continue
		}
		if left == 0 {
			return w.Node, true
		}
		left--
	}
	return 0, false
}

// nodes lists the memory nodes.
func (m *Machine) nodes() (all []Node) {
	all = []Node{ram}
	seen := []int{0}
	for k := 1; ; k++ {
		if _, err := m.rt.NUMAOfNode(k); err != nil {
			break
		}
		seen = append(seen, k)
		all = append(all, Node{Kind: "numa", Index: int64(k)})
	}
	for k, w := range m.devices.of {
		if !slices.Contains(seen, w.Node) {
			seen = append(seen, w.Node)
			all = append(all, Node{Kind: "gpu", Index: int64(k)})
		}
	}
	if _, ok := m.rt.DiskNode(); ok {
		all = append(all, Node{Kind: "disk", Index: 0})
	}
	return all
}

// nodesIn returns the numbers of those nodes of v, a node or a list, that this
// machine has.
func (m *Machine) nodesIn(v any) (out []int) {
	for _, x := range items(v) {
		if n, ok := x.(Node); ok {
			if k, ok := m.node(n); ok {
				out = append(out, k)
			}
		}
	}
	return out
}

// restrict finds the workers on which a task may run where there are devices: those
// of the kinds, of the list, and of the devices that its operands stay on: operands
// that stay in main memory are the engine's business.
func (m *Machine) restrict(f *frame, s *insertSite, st *siteState) {
	o, spec := &s.opts, &st.spec
	spec.Workers = nil
	kinds, at := s.kinds, s.at
	if o.where != nil {
		kinds, at = nil, o.at["where"]
		for _, k := range items(o.where(f)) {
			if k, ok := k.(DeviceKind); ok {
				kinds = append(kinds, k)
			}
		}
	}
	var listed []any
	if o.worker != nil {
		at = o.at["worker"]
		if listed = items(o.worker(f)); len(listed) == 0 {
			m.noWorker(s, at, "the list of workers is empty")
		}
	}
	if kinds == nil && o.where == nil && listed == nil && !s.placed {
		return
	}
	st.workers = st.workers[:0]
	for _, w := range m.devices.workers {
		ok := kinds == nil && o.where == nil || slices.ContainsFunc(kinds, func(k DeviceKind) bool { return isKind(w, k) })
		ok = ok && (listed == nil || slices.Contains(listed, any(Worker(w.ID))))
		for k := range s.ops {
			ok = ok && (s.ops[k].node == nil || st.nodes[k] == 0 || st.nodes[k] == w.Node)
		}
		if ok {
			st.workers = append(st.workers, w.ID)
		}
	}
	switch {
	case len(st.workers) == 0 && s.placed:
		m.noWorker(s, s.at, "no worker is left that uses the memory after `@`")
	case len(st.workers) == 0:
		m.noWorker(s, at, "this run has no such worker", devicesOf(kinds)...)
	case len(st.workers) < len(m.devices.workers):
		spec.Workers = st.workers
	}
}

// machineText says what the run has: "2 CPU workers, sim 0".
func (m *Machine) machineText() string {
	cpus := m.rt.Workers()
	if m.devices.workers != nil {
		cpus = len(m.ofKind("cpu"))
	}
	return strings.Join(append([]string{plural(int64(cpus), "CPU worker")}, m.devices.names...), ", ")
}

// Presence describes the copies of some data on a memory node, in bytes.
type Presence struct {
	Node                       string // "ram", "gpu(0)"
	Array                      string // of a sparse matrix, the array that this is about: "val"
	Memory                     string // as its device calls it: "ram", "sim 0"
	Valid, Arriving, Allocated int64
	Parts                      int // of the view asked about, or of the default view, that are valid there
}

// Where says where the bytes of a handle or view are now, and how many parts it
// has.
func (m *Machine) Where(name string) (all []Presence, parts int, err error) {
	_, v := m.Lookup(name)
	var h *Handle
	var view *View
	switch x := v.(type) {
	case *Handle:
		h, view = x, x.deflt
	case *View:
		h, view = x.of, x
	default:
		return nil, 0, fmt.Errorf("`%s` is not registered data", name)
	}
	if view != nil && view.v.Ended() {
		view = nil
	}
	for i, d := range h.data() {
		array := ""
		if h.isSparse() {
			array = h.sparse.Format.Arrays[i].Name
		}
		some, err := m.presence(d)
		if err != nil {
			return nil, 0, err
		}
		for n := range some {
			some[n].Array = array
		}
		if view != nil {
			for k := range view.parts {
				part := view.parts[k].data()[i]
				at, err := m.job.Where(part.h)
				if err != nil {
					return nil, 0, err
				}
				d := part.h.Desc()
				for n, p := range at {
					if p.Valid >= d.Bytes() && p.Valid > 0 {
						some[n].Parts++
					}
				}
			}
			parts = len(view.parts)
		}
		all = append(all, some...)
	}
	return all, parts, nil
}

// presence returns where the data of the engine that h is lies, a row for each node.
func (m *Machine) presence(h *Handle) (all []Presence, err error) {
	at, err := m.job.Where(h.h)
	if err != nil {
		return nil, err
	}
	nodes, infos := m.nodes(), m.rt.Nodes()
	for k, p := range at {
		x := Presence{Memory: infos[k].Name, Valid: p.Valid, Arriving: p.Arriving, Allocated: p.Allocated}
		if k < len(nodes) {
			x.Node = nodes[k].String()
		}
		all = append(all, x)
	}
	return all, nil
}
