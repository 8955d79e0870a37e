// Package bus measures how fast data travels between the memories of a machine:
// for each link and direction the latency and the bandwidth, from a few copies of a
// small and a large size. That takes some milliseconds a link, so a Store keeps the
// tables in files, one for each set of devices:
//
//	dir, err := bus.Folder(os.Getenv)
//	store, err := bus.NewStore(dir, perf.Machine(os.Getenv))
//	table, err := store.Get(cpu.New(0).Memory(), devices)   // from its file, or measured now
//	rt, err := engine.New(engine.Options{Devices: devices, Bus: table})
//
// The latency is what a copy of 64 bytes takes, the bandwidth what 8 MiB, or a quarter of
// the memory that is free, take beyond that; the median of seven counts. A Table does not
// change.
package bus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/accel"
)

// Link is a way from a memory to another.
type Link struct {
	From, To  string        // memories
	Latency   time.Duration // of the smallest copy
	Bandwidth float64       // in bytes a second; 0: too fast to measure
}

// Time returns how long a copy of bytes takes.
func (l Link) Time(bytes int64) time.Duration {
	if l.Bandwidth == 0 || bytes <= 0 {
		return l.Latency
	}
	const longest = float64(1 << 62)
	return l.Latency + time.Duration(min(float64(bytes)/l.Bandwidth*1e9+0.5, longest))
}

func (l Link) String() string {
	if l.Bandwidth == 0 {
		return fmt.Sprintf("%s to %s: %v", l.From, l.To, l.Latency)
	}
	return fmt.Sprintf("%s to %s: %v, %s/s", l.From, l.To, l.Latency, accel.Bytes(int64(min(l.Bandwidth, 1<<62))))
}

// Device says which device was measured. Another is measured anew. How much memory
// it gives away is not part of that: with some drivers it is what was free.
type Device struct {
	Name   string
	Arch   string
	Model  string // where the device tells, by a method Model
	Memory string
}

// Table holds the measurements of a machine.
type Table struct {
	Machine string
	Main    string // main memory
	Devices []Device
	Links   []Link    // by From, then To
	When    time.Time // it was measured, in seconds
}

// Link returns the direct link between two memories; false: there is none.
func (t *Table) Link(from, to string) (Link, bool) {
	i, ok := slices.BinarySearchFunc(t.Links, Link{From: from, To: to}, compare)
	if !ok {
		return Link{}, false
	}
	return t.Links[i], true
}

// Time returns how long a copy of bytes takes from one memory to another, by way of
// main memory if there is no direct link. It reports false if there is no way.
func (t *Table) Time(from, to string, bytes int64) (time.Duration, bool) {
	if from == to {
		return 0, true
	}
	if l, ok := t.Link(from, to); ok {
		return l.Time(bytes), true
	}
	up, ok := t.Link(from, t.Main)
	down, okDown := t.Link(t.Main, to)
	if !ok || !okDown {
		return 0, false
	}
	return up.Time(bytes) + down.Time(bytes), true
}

func compare(a, b Link) int {
	if c := strings.Compare(a.From, b.From); c != 0 {
		return c
	}
	return strings.Compare(a.To, b.To)
}

// describe says which devices these are.
func describe(devices []accel.Device) []Device {
	var all []Device
	for _, d := range devices {
		x := Device{Name: d.Name(), Arch: d.Arch(), Memory: d.Memory().Name()}
		if m, ok := d.(interface{ Model() string }); ok {
			x.Model = m.Model()
		}
		all = append(all, x)
	}
	return all
}
