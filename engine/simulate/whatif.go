package simulate

// Changes of a machine, for questions of the kind "what if".

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// With returns a copy of m with changes, such as "bandwidth=2,memory=0.5,gpu=3": a number of times what m has.
//
//	bandwidth  of all links and buses in a computer
//	latency    of those links
//	network    bandwidth of the network
//	memory     of devices, and of NUMA nodes
//	NAME       speed of the workers with that name: cpu, or devices
func (m *Machine) With(changes string) (*Machine, error) {
	x := *m
	x.Devices, x.Buses = slices.Clone(m.Devices), slices.Clone(m.Buses)
	for part := range strings.SplitSeq(changes, ",") {
		name, text, ok := strings.Cut(strings.TrimSpace(part), "=")
		by, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(by > 0) || math.IsInf(by, 0) {
			return nil, fmt.Errorf("%q should be NAME=TIMES, such as bandwidth=2 or memory=0.5; names are %s", part, strings.Join(m.changes(), ", "))
		}
		if !x.change(name, by) {
			return nil, fmt.Errorf("there is nothing named %q to change; there are %s", name, strings.Join(m.changes(), ", "))
		}
	}
	x.Name = m.Name + " with " + changes
	return &x, x.Check()
}

// changes lists the names that With takes.
func (m *Machine) changes() []string {
	names := []string{"bandwidth", "latency", "network", "memory", "cpu"}
	for i := range m.Devices {
		names = append(names, m.Devices[i].Name)
	}
	return names
}

// change changes what m has of a name; false: there is no such name.
func (m *Machine) change(name string, by float64) bool {
	links := []*Link{&m.CPU.Link}
	for i := range m.Devices {
		links = append(links, &m.Devices[i].Link, &m.Devices[i].Peer)
	}
	times := func(bytes int64) int64 { return int64(min(float64(bytes)*by, 1<<62)) }
	switch name {
	case "bandwidth":
		for _, l := range links {
			l.Bandwidth *= by
		}
		for i := range m.Buses {
			m.Buses[i].Bandwidth *= by
		}
	case "latency":
		for _, l := range links {
			l.Latency *= by
		}
	case "network":
		m.Network.Bandwidth *= by
	case "memory":
		m.CPU.Memory = times(m.CPU.Memory)
		for i := range m.Devices {
			m.Devices[i].Memory = times(m.Devices[i].Memory)
		}
	case "cpu":
		m.CPU.Speed = factor(m.CPU.Speed) * by
	default:
		i := slices.IndexFunc(m.Devices, func(d Devices) bool { return d.Name == name })
		if i < 0 {
			return false
		}
		m.Devices[i].Speed = factor(m.Devices[i].Speed) * by
	}
	return true
}
