package simulate

// Machines: what they are made of, and what is impossible.

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
)

// Machine is one or more computers that are alike, and what their parts do in a second. Times are in seconds, rates in bytes or
// operations a second, memories in bytes.
type Machine struct {
	Name      string
	Computers int // each is a rank; their data is dealt as engine/cluster does
	CPU       CPU
	Devices   []Devices
	Buses     []Bus
	Network   Link // to and from each computer, both ways at once
	Script    Script
	Unsteady  float64 // of a measured machine: how many times the shortest round of a measurement the median one took, at most; other work raises it. 0: not measured
}

// CPU is the processors of a computer.
type CPU struct {
	Workers   int     // of each NUMA node
	NUMA      int     // nodes; 1 is a computer with one memory
	Flops     float64 // operations a second of one worker, as kernels reach them
	Bandwidth float64 // of the memory of a NUMA node, for all of its workers together
	Overhead  float64 // of the runtime for each task
	Wake      float64 // until a worker that sleeps begins, once there is a task for it; of workers of devices, too
	Look      float64 // how long a worker without a task looks for one before it sleeps, likewise a script that waits for a value
	Clear     float64 // bytes a second of new data in main memory that are cleared before its first task; 0: they are clear
	Memory    int64   // of a NUMA node; 0: not bounded. The first is never bounded
	Link      Link    // between NUMA nodes
	Measured  bool    // times from performance models of workers with the name cpu hold, as far as there are any
	Speed     float64 // how many times faster kernels are than measured and estimated; 0 means 1
}

// Devices are devices that are alike.
type Devices struct {
	Name      string // "gpu"; with several, a number follows
	Count     int
	Units     int // kernels at the same time, on each
	Flops     float64
	Bandwidth float64 // of its memory
	Overhead  float64 // to start a kernel
	Memory    int64   // 0: not bounded
	Link      Link    // to and from main memory
	Bus       string  // that the links share; "" for none
	Peer      Link    // between two of these devices; no bandwidth: through main memory
	Measured  bool    // as of the CPU, for workers with the name of the device
	Speed     float64
}

// Link carries one copy at a time each way. The next one begins when the last byte of the one before was sent.
type Link struct {
	Latency   float64
	Bandwidth float64
}

// Bus is what links have in common.
type Bus struct {
	Name      string
	Bandwidth float64 // of all links together, each way
}

// Script is the program that submits the tasks.
type Script struct {
	Submit float64 // seconds for a task that this computer runs
	Skip   float64 // seconds for a task that another one runs
	Window int     // unfinished tasks above which it waits; 0 means engine.DefaultWindow
	Wait   float64 // seconds until it goes on, once a value that it waits for is there
	Shared bool    // it has no processor of its own: while all CPU workers have tasks, its time is taken from them in turn
}

// MachineError says what is impossible about a machine.
type MachineError struct {
	Where   string // the field, such as "devices[0].memory"
	Message string // what is wrong, and what to do
}

func (e *MachineError) Error() string { return e.Where + ": " + e.Message }

// limits of machines: more is a mistake.
const (
	maxComputers = 1 << 16
	maxWorkers   = 1 << 12 // of a computer
	maxNodes     = 60      // memories of a computer
)

// Check returns what is impossible about m, a *MachineError.
func (m *Machine) Check() error {
	bad := func(where, format string, args ...any) error {
		return &MachineError{where, fmt.Sprintf(format, args...)}
	}
	rate := func(where string, v float64) error {
		if !(v > 0) || math.IsInf(v, 0) {
			return bad(where, "%v a second is impossible; write a positive number, such as 20e9", v)
		}
		return nil
	}
	span := func(where string, v float64) error {
		if !(v >= 0) || v > 1e6 {
			return bad(where, "%v seconds are impossible; write a time such as 5us", v)
		}
		return nil
	}
	link := func(where string, l Link) error {
		if err := span(where+".latency", l.Latency); err != nil {
			return err
		}
		return rate(where+".bandwidth", l.Bandwidth)
	}
	number := func(where string, v, least, most int) error {
		if v < least || v > most {
			return bad(where, "%d is out of range; write a number from %d to %d", v, least, most)
		}
		return nil
	}
	maybe := func(where string, v float64) error {
		if v == 0 {
			return nil
		}
		return rate(where, v)
	}
	speed := func(where string, v float64) error {
		if v < 0 || math.IsNaN(v) || v > 1e9 {
			return bad(where, "%v is no factor; write a positive number, 1 for what was measured", v)
		}
		return nil
	}
	size := func(where string, v int64) error {
		if v < 0 {
			return bad(where, "%d bytes are impossible; write a size such as 80Gi, and leave it out for a memory without bounds", v)
		}
		return nil
	}
	c := &m.CPU
	checks := []error{
		number("computers", m.Computers, 1, maxComputers),
		number("cpu.workers", c.Workers, 1, maxWorkers), number("cpu.numa", c.NUMA, 1, maxNodes),
		rate("cpu.flops", c.Flops), rate("cpu.bandwidth", c.Bandwidth), span("cpu.overhead", c.Overhead), span("cpu.wake", c.Wake), span("cpu.look", c.Look), maybe("cpu.clear", c.Clear), size("cpu.memory", c.Memory), speed("cpu.speed", c.Speed),
		span("script.submit", m.Script.Submit), span("script.skip", m.Script.Skip), span("script.wait", m.Script.Wait), number("script.window", m.Script.Window, 0, 1<<30),
	}
	if c.NUMA > 1 {
		checks = append(checks, link("cpu.link", c.Link))
	}
	if m.Computers > 1 {
		checks = append(checks, link("network", m.Network))
	}
	buses := map[string]bool{}
	for i, b := range m.Buses {
		where := fmt.Sprintf("buses[%d]", i)
		switch {
		case b.Name == "":
			checks = append(checks, bad(where+".name", "a bus needs a name, by which devices refer to it"))
		case buses[b.Name]:
			checks = append(checks, bad(where+".name", "there is a bus %s already; choose another name", b.Name))
		}
		buses[b.Name] = true
		checks = append(checks, rate(where+".bandwidth", b.Bandwidth))
	}
	workers, nodes := c.Workers*max(c.NUMA, 1), c.NUMA
	names := map[string]bool{"cpu": true}
	for i := range m.Devices {
		d := &m.Devices[i]
		where := fmt.Sprintf("devices[%d]", i)
		switch {
		case d.Name == "" || strings.ContainsAny(d.Name, " \t\n,"):
			checks = append(checks, bad(where+".name", "devices need a name without blanks and commas, such as gpu"))
		case names[d.Name]:
			checks = append(checks, bad(where+".name", "there are workers named %s already; choose another name, or raise count", d.Name))
		}
		names[d.Name] = true
		checks = append(checks, number(where+".count", d.Count, 1, maxNodes), number(where+".units", d.Units, 1, 64),
			rate(where+".flops", d.Flops), rate(where+".bandwidth", d.Bandwidth), span(where+".overhead", d.Overhead), size(where+".memory", d.Memory), speed(where+".speed", d.Speed),
			link(where+".link", d.Link))
		if d.Peer != (Link{}) {
			checks = append(checks, link(where+".peer", d.Peer))
		}
		if d.Bus != "" && !buses[d.Bus] {
			checks = append(checks, bad(where+".bus", "there is no bus %s; add it under buses", d.Bus))
		}
		workers += d.Count * max(d.Units, 1)
		nodes += d.Count
	}
	checks = append(checks, number("the workers of a computer", workers, 1, maxWorkers), number("the memories of a computer", nodes, 1, maxNodes))
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

// Workers returns the number of workers of a computer.
func (m *Machine) Workers() int {
	n := m.CPU.Workers * m.CPU.NUMA
	for i := range m.Devices {
		n += m.Devices[i].Count * m.Devices[i].Units
	}
	return n
}

// Planner returns one computer of m for plans: its tasks are checked against the workers and memories that it has, and their times are
// those that were measured in the folder of performance models, where the machine has measured workers. The caller closes the devices.
func (m *Machine) Planner(perfDir string) (engine.Machine, error) {
	if err := m.Check(); err != nil {
		return engine.Machine{}, err
	}
	all := sim.Machine{Title: m.Name}
	for n := 1; n < m.CPU.NUMA; n++ {
		all.Devices = append(all.Devices, sim.Options{Name: fmt.Sprintf("numa %d", n), NUMA: n, Units: m.CPU.Workers, Capacity: m.CPU.Memory})
	}
	for i := range m.Devices {
		d := &m.Devices[i]
		for k := range d.Count {
			all.Devices = append(all.Devices, sim.Options{Name: d.title(k), Units: d.Units, Capacity: d.Memory,
				Main: sim.Link{Latency: time.Duration(d.Link.Latency * 1e9), Bandwidth: d.Link.Bandwidth}})
		}
	}
	devices, err := all.Open()
	return engine.Machine{Workers: m.CPU.Workers, Devices: devices, PerfDir: perfDir}, err
}

// title names device k of d.
func (d *Devices) title(k int) string {
	if d.Count == 1 {
		return d.Name
	}
	return fmt.Sprintf("%s%d", d.Name, k)
}
