package simulate

// Machines that have names.

import (
	"fmt"
	"runtime"
	"strings"
	"time"
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

// thisMachine measures this machine for some hundredths of a second: operations of one core, and bytes of memory of all. Kernels that have performance
// models do not depend on it.
func thisMachine() *Machine {
	n := runtime.NumCPU()
	return &Machine{Name: "this", Computers: 1,
		CPU:    CPU{Workers: n, NUMA: 1, Flops: measureFlops(), Bandwidth: measureBandwidth(n), Overhead: 200e-9, Measured: true},
		Script: usualScript}
}

// fastest runs f a few times, each on n goroutines, and returns the least time.
func fastest(n int, f func(k int)) float64 {
	best := time.Duration(1 << 62)
	for range 5 {
		begin := time.Now()
		done := make(chan struct{}, n)
		for k := range n {
			go func() {
				f(k)
				done <- struct{}{}
			}()
		}
		for range n {
			<-done
		}
		best = min(best, time.Since(begin))
	}
	return max(best.Seconds(), 1e-9)
}

// measureFlops returns the operations a second of a loop of independent multiplications and additions.
func measureFlops() float64 {
	const rounds = 1 << 20
	sums := [4]float64{1, 2, 3, 4}
	s := fastest(1, func(int) {
		a, b, c, d := sums[0], sums[1], sums[2], sums[3]
		for range rounds {
			a, b, c, d = a*0.999999+1e-9, b*0.999999+1e-9, c*0.999999+1e-9, d*0.999999+1e-9
		}
		sums = [4]float64{a, b, c, d}
	})
	return 8 * rounds / s
}

// measureBandwidth returns the bytes a second that n goroutines copy together, read and written.
func measureBandwidth(n int) float64 {
	const bytes = 16 << 20
	from, to := make([][]byte, n), make([][]byte, n)
	for k := range n {
		from[k], to[k] = make([]byte, bytes), make([]byte, bytes)
	}
	s := fastest(n, func(k int) { copy(to[k], from[k]) })
	return 2 * bytes * float64(n) / s
}
