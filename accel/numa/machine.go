package numa

// The machine: devices for its nodes.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/bus"
	"github.com/starpush/starpush/accel/cpu"
)

// Local returns the topology of this machine, as far as the process may use it: the
// calling thread must not be bound. It returns an error on other systems than Linux.
func Local() (*Topology, error) {
	processors, err := cpu.Processors()
	if err != nil {
		return nil, fmt.Errorf("numa: %w", err)
	}
	memory, err := allowedMemory()
	if err != nil {
		return nil, err
	}
	return Read(os.DirFS("/sys"), Limits{Processors: processors, Memory: memory}) // Bytes: as package cpu finds out
}

// allowedMemory returns the nodes from which the process may have memory; nil: it is not known.
func allowedMemory() ([]int, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, nil // as in some sandboxes; then nothing is known to be forbidden
	}
	for line := range strings.Lines(string(b)) {
		if list, ok := strings.CutPrefix(line, "Mems_allowed_list:"); ok {
			all, err := parseList(strings.TrimSpace(list))
			if err != nil {
				return nil, fmt.Errorf("numa: /proc/self/status: %w", err)
			}
			return all, nil
		}
	}
	return nil, nil
}

// Machine is a topology with its devices, as package engine wants them.
type Machine struct {
	Topology   *Topology
	Workers    int            // CPU workers in main memory
	Processors []int          // to which they are bound
	Devices    []accel.Device // the nodes but the first; the caller closes them
}

// Open opens the nodes of this machine for a number of workers, all told; 0 means one for
// each processor that the process may use, and GOMAXPROCS at most. Where there is one
// node, there are no devices.
func Open(workers int) (*Machine, error) {
	t, err := Local()
	if err != nil {
		return nil, err
	}
	if workers == 0 {
		workers = min(len(t.Processors()), runtime.GOMAXPROCS(0))
	}
	return t.Open(workers), nil
}

// Open is the function Open for a topology.
func (t *Topology) Open(workers int) *Machine {
	share := t.share(workers)
	m := &Machine{Topology: t, Workers: share[0], Processors: t.Nodes[0].Processors}
	for i := range t.Nodes[1:] {
		n := &t.Nodes[1+i]
		d := &Device{node: n, main: t.Nodes[0].Number, units: share[1+i]}
		d.mem = newMemory(d.Name(), n.Number, t.capacity(1+i))
		m.Devices = append(m.Devices, d)
	}
	return m
}

// Close closes the devices.
func (m *Machine) Close() (err error) {
	for _, d := range m.Devices {
		err = errors.Join(err, d.Close())
	}
	return err
}

// Usual figures of a link between two sockets, for nodes that are as far from each other as
// these mostly are.
const (
	usualDistance  = 21
	usualLatency   = 300 * time.Nanosecond
	usualBandwidth = 10e9 // of one processor that copies
)

// Bus returns what copies between the nodes should cost, by their distances: for programs
// that do not measure it (package bus).
func (m *Machine) Bus() *bus.Table {
	t := &bus.Table{Main: "ram"}
	name := func(i int) string {
		if i == 0 {
			return t.Main
		}
		return m.Devices[i-1].Name()
	}
	for i, a := range m.Topology.Nodes {
		for k, b := range m.Topology.Nodes {
			if i == k {
				continue
			}
			far := float64(usualDistance)
			if a.Distance != nil && b.Distance != nil { // a processor of either node may copy
				far = float64(max(a.Distance[k], b.Distance[i]))
			}
			far /= usualDistance
			t.Links = append(t.Links, bus.Link{From: name(i), To: name(k), Latency: time.Duration(float64(usualLatency) * far), Bandwidth: usualBandwidth / far})
		}
	}
	slices.SortFunc(t.Links, func(a, b bus.Link) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return t
}

// Device is a NUMA node other than main memory: its processors and its memory. It
// implements accel.CPUs.
type Device struct {
	node  *Node
	main  int // number of the node that is main memory
	units int
	mem   *memory
	mu    struct {
		sync.Mutex
		closed bool
	}
}

// Name is "numa" with the number of the node: "numa 1".
func (d *Device) Name() string { return fmt.Sprintf("numa %d", d.node.Number) }

// Arch implements accel.Device.
func (d *Device) Arch() string { return "cpu" }

// Units is how many workers the node gets; 0 for a node without processors.
func (d *Device) Units() int { return d.units }

// NUMA implements accel.CPUs.
func (d *Device) NUMA() (number int, ok bool) { return d.node.Number, true }

// Main returns the number by which the operating system knows the node that is main memory. Package
// engine asks for it: the memory of d is part of the memory of the machine, whose rest is main memory.
func (d *Device) Main() int { return d.main }

// Processors implements accel.CPUs.
func (d *Device) Processors() []int { return d.node.Processors }

// Model describes the node: its processors, and why its pages are not bound to it, if they are not.
func (d *Device) Model() string {
	text := "no processors"
	if n := len(d.node.Processors); n > 0 {
		text = "processors " + ListText(d.node.Processors)
	}
	if err := d.mem.unbound(); err != nil {
		text += "; pages are where they are first touched: " + err.Error()
	}
	return text
}

// Memory implements accel.Device.
func (d *Device) Memory() accel.Memory { return d.mem }

// Reaches implements accel.Device: all memory that processors can follow.
func (d *Device) Reaches(m accel.Memory) bool { return m != nil && m.Host() }

// NewStream implements accel.Device. Streams are of use after Close, too.
func (d *Device) NewStream() (accel.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return nil, accel.ErrClosed
	}
	return accel.HostStream{}, nil
}

// Close implements accel.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.mu.closed {
		d.mu.closed = true
		d.mem.close()
	}
	return nil
}

// ListText writes numbers as ParseList reads them: "0-3,8".
func ListText(all []int) string {
	var parts []string
	sorted := slices.Sorted(slices.Values(all))
	for i := 0; i < len(sorted); {
		k := i
		for k+1 < len(sorted) && sorted[k+1] == sorted[k]+1 {
			k++
		}
		part := fmt.Sprint(sorted[i])
		if k > i {
			part += fmt.Sprintf("-%d", sorted[k])
		}
		parts = append(parts, part)
		i = k + 1
	}
	return strings.Join(parts, ",")
}
