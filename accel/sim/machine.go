package sim

// Machines: descriptions of what could be under the desk.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starpush/starpush/accel"
)

// Machine describes a machine by its number of CPU workers and its devices. It is a driver.
type Machine struct {
	Title   string // "cpu2gpu1"
	About   string // in words
	Workers int
	Devices []Options
	Real    bool // time passes; else the devices share a virtual clock
}

// Name implements accel.Driver.
func (m *Machine) Name() string { return "sim" }

// Open makes the devices, none on a machine without; they share a new clock.
func (m *Machine) Open() ([]accel.Device, error) {
	clock := newClock(m.Real)
	var all []accel.Device
	for _, o := range m.Devices {
		o.Clock = clock
		d, err := New(o)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// Properties of the presets' devices: round figures of real ones.
var (
	bus    = Link{Latency: 10 * time.Microsecond, Bandwidth: 12e9}
	bridge = Link{Latency: 5 * time.Microsecond, Bandwidth: 25e9}  // between devices
	socket = Link{Latency: 500 * time.Nanosecond, Bandwidth: 20e9} // between processors
	fast   = Cost{Fixed: 10 * time.Microsecond, Bandwidth: 500e9, Flops: 5e12}
)

// gpus returns n devices that reach each other; memory is the size of each in bytes.
func gpus(n int, capacity int64) []Options {
	name := func(i int) string { return fmt.Sprintf("sim %d", i) }
	var all []Options
	for i := range n {
		o := Options{Name: name(i), Capacity: capacity, Units: 1, Async: true, Late: 0.25, Main: bus, Kernel: fast, Seed: uint64(i)}
		for j := range n {
			if j != i {
				if o.Peers == nil {
					o.Peers = map[string]Link{}
				}
				o.Peers[name(j)] = bridge
			}
		}
		all = append(all, o)
	}
	return all
}

// presets are the machines that have names. Each call makes its own.
var presets = []func() Machine{
	func() Machine { return Machine{Title: "cpu4", About: "4 CPUs", Workers: 4} },
	func() Machine {
		return Machine{Title: "cpu2gpu1", About: "2 CPUs and a GPU with 1 GiB", Workers: 2, Devices: gpus(1, 1<<30)}
	},
	func() Machine {
		return Machine{Title: "cpu8gpu4", About: "8 CPUs and 4 GPUs with 1 GiB each, which reach each other", Workers: 8, Devices: gpus(4, 1<<30)}
	},
	func() Machine {
		return Machine{Title: "numa2", About: "2 NUMA nodes with 2 CPUs each", Workers: 2, Devices: []Options{
			{Name: "numa 1", NUMA: 1, Capacity: 4 << 30, Units: 2, Async: true, Main: socket},
		}}
	},
	func() Machine {
		return Machine{Title: "gpu4MiB", About: "a CPU and a GPU with 4 MiB", Workers: 1, Devices: gpus(1, 4<<20)}
	},
}

// Presets lists the machines that have names.
func Presets() []Machine {
	var all []Machine
	for _, p := range presets {
		all = append(all, p())
	}
	return all
}

// Preset returns a machine by its name. The error lists the names.
func Preset(name string) (*Machine, error) {
	for _, m := range Presets() {
		if m.Title == name {
			return &m, nil
		}
	}
	return nil, fmt.Errorf("there is no simulated machine %q; there are %s", name, presetNames())
}

// presetNames lists the machines, for messages.
func presetNames() string {
	var names []string
	for _, m := range Presets() {
		names = append(names, m.Title)
	}
	return strings.Join(names, ", ")
}

// Parse reads a machine as users write it: "sim:cpu2gpu1", or with settings for
// all devices "sim:cpu2gpu1:seed=3,clock=real". The settings are
//
//	seed=N       another order of what happens when
//	late=P       the part of the work that waits until somebody waits for it
//	jitter=P     everything takes up to that part longer
//	clock=real   time passes; clock=virtual: it is counted only
//	memory=N     bytes of each device
func Parse(text string) (*Machine, error) {
	kind, rest, _ := strings.Cut(text, ":")
	if kind != "sim" {
		return nil, fmt.Errorf("the machine %q: simulated machines are written sim:NAME; there are %s", text, presetNames())
	}
	name, settings, has := strings.Cut(rest, ":")
	m, err := Preset(name)
	if err != nil || !has {
		return m, err
	}
	for s := range strings.SplitSeq(settings, ",") {
		if err := m.set(s); err != nil {
			return nil, fmt.Errorf("the machine %q: %w", text, err)
		}
	}
	for _, o := range m.Devices {
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("the machine %q: %w", text, err)
		}
	}
	return m, nil
}

// set changes one setting of all devices.
func (m *Machine) set(text string) error {
	key, value, _ := strings.Cut(text, "=")
	var err error
	bad := func() error { return fmt.Errorf("%s cannot be %q", key, value) }
	switch key {
	case "seed":
		var n uint64
		if n, err = strconv.ParseUint(value, 10, 64); err != nil {
			return bad()
		}
		for i := range m.Devices {
			m.Devices[i].Seed += n * 1000 // the devices keep seeds of their own
		}
	case "late", "jitter":
		var p float64
		if p, err = strconv.ParseFloat(value, 64); err != nil {
			return bad()
		}
		for i := range m.Devices {
			if key == "late" {
				m.Devices[i].Late = p
			} else {
				m.Devices[i].Jitter = p
			}
		}
	case "memory":
		var n int64
		if n, err = strconv.ParseInt(value, 10, 64); err != nil {
			return bad()
		}
		for i := range m.Devices {
			m.Devices[i].Capacity = n
		}
	case "clock":
		if !slices.Contains([]string{"virtual", "real"}, value) {
			return bad()
		}
		m.Real = value == "real"
	default:
		return fmt.Errorf("there is no setting %q; there are seed, late, jitter, clock and memory", key)
	}
	return nil
}
