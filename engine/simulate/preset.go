package simulate

// Machines that have names.

import (
	"fmt"
	"strings"
)

// preset is a machine with a name.
type preset struct {
	name, doc string
	make      func() *Machine
}

// The figures are those of data sheets, times what kernels reach of them: seven tenths of the peak of double precision.
var presets = []preset{
	{"this", "this machine, as measured for a moment, and its performance models", thisMachine},
	{"h200x8", "a computer with 2 x 48 cores and 8 NVIDIA H200, NVLink between all of them", func() *Machine {
		return &Machine{Name: "h200x8", Computers: 1,
			CPU:     CPU{Workers: 96, NUMA: 1, Flops: 35e9, Bandwidth: 500e9, Overhead: 200e-9},
			Devices: []Devices{h200(8)}, Script: usualScript}
	}},
	{"numa64", "64 cores in 4 NUMA nodes", func() *Machine {
		return &Machine{Name: "numa64", Computers: 1,
			CPU: CPU{Workers: 16, NUMA: 4, Flops: 35e9, Bandwidth: 100e9, Overhead: 200e-9, Memory: 64 << 30, Link: Link{Latency: 500e-9, Bandwidth: 30e9}}, Script: usualScript}
	}},
	{"cluster1000x4", "1 000 computers with 64 cores and 4 NVIDIA H200 each, 400 Gbit/s between them", func() *Machine {
		return &Machine{Name: "cluster1000x4", Computers: 1000,
			CPU:     CPU{Workers: 64, NUMA: 1, Flops: 35e9, Bandwidth: 400e9, Overhead: 200e-9},
			Devices: []Devices{h200(4)}, Network: Link{Latency: 2e-6, Bandwidth: 50e9}, Script: usualScript}
	}},
}

// usualOverhead is what the runtime takes for a task.
const usualOverhead = 200e-9

// usualLook is how long workers look for tasks, at least.
const usualLook = 20e-6

var usualScript = Script{Submit: 200e-9, Skip: 50e-9}

func h200(n int) Devices {
	return Devices{Name: "gpu", Count: n, Units: 1, Flops: 45e12, Bandwidth: 4e12, Overhead: 5e-6, Memory: 141e9,
		Link: Link{Latency: 10e-6, Bandwidth: 50e9}, Peer: Link{Latency: 5e-6, Bandwidth: 400e9}}
}

// Presets returns the names of the machines that have one, each with a line about it.
func Presets() (names, docs []string) {
	for _, p := range presets {
		names, docs = append(names, p.name), append(docs, p.doc)
	}
	return names, docs
}

// Preset returns the machine with a name. The error lists the names.
func Preset(name string) (*Machine, error) {
	for _, p := range presets {
		if p.name == name {
			return p.make(), nil
		}
	}
	names, _ := Presets()
	return nil, fmt.Errorf("there is no machine named %q; there are %s, and files that end in .yaml or .yml", name, strings.Join(names, ", "))
}
