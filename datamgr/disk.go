package datamgr

// A disk takes data for which main memory has no room.
//
// With one, main memory is bounded like that of a device: tasks on CPU workers get
// instances there, all at once, and idle instances are evicted. The main instance of data
// that the runtime owns is on the disk then, and not in main memory; that of data with
// memory of the program stays where it is, and is not counted. A main instance takes no
// space on the disk where nothing was written to it.
//
// No task runs on a disk, so none waits for room there. A task that needs main memory
// waits for tasks that have all they need, or for copies, as on any node.

import (
	"github.com/starpush/starpush/accel"
)

// diskWay is the assumed cost of copies to and from a disk that was not measured.
var diskWay = Way{Latency: 100e-6, PerByte: 1.0 / (1 << 30)}

// AddDisk makes a disk known, after all devices, and returns the number of its node.
// Main memory is bounded by its capacity from then on; beside bounds what the program
// holds, and what is brought there from elsewhere as a whole: see PrepareAside.
func (g *Registry) AddDisk(dev accel.Device, beside int64) int {
	id := g.AddNode(dev)
	g.disk = g.nodes[id]
	g.disk.bounded, g.nodes[0].bounded = false, true
	g.aside = accel.NewHeap(g.mem.Name(), beside)
	for _, n := range g.nodes[:id] {
		n.links[id].way, g.disk.links[n.id].way = diskWay, diskWay
	}
	return id
}

// Bounded reports whether tasks wait for room on a node.
func (g *Registry) Bounded(node int) bool { return g.nodes[node].bounded }

// admitting returns the bounded nodes on which a task on the given node may have
// operands, in the order in which it gets room there: a task that has room in main memory
// never waits for room on a device.
func (g *Registry) admitting(on int) []*node {
	n, main := g.nodes[on], g.nodes[0]
	switch {
	case !n.bounded:
		return nil
	case on > 0 && main.bounded:
		return []*node{n, main}
	}
	return g.nodes[on : on+1]
}

// spills reports whether the main instance of d is, or will be, on the disk.
func (d *Datum) spills() bool {
	return d.reg.disk != nil && !d.home && (d.object == nil || d.object.Pack != nil)
}

// begin makes the main instance of d on the disk what the source of s holds, and reports false if it cannot.
func (d *Datum) begin(s *Spec) (bool, error) {
	bytes := d.desc.Bytes()
	if s.Source == nil || !d.spills() || d.object != nil || d.content.Load() != nil || d.desc.Rank == 0 || bytes == 0 || d.span() != bytes {
		return false, nil
	}
	mem, ok := d.reg.disk.mem.(accel.Lazy)
	if !ok {
		return false, nil
	}
	src := s.Source()
	if src == nil {
		return false, nil
	}
	p, err := mem.AllocFrom(src, bytes)
	if err != nil {
		_ = src.Close() // it was not read
		return false, err
	}
	d.mainAt(d.reg.disk, p, bytes)
	return true, nil
}

// inMainMemory reports whether h lies in place in main memory and stays there.
func (h *Handle) inMainMemory() bool { return h.how == inPlace && !h.d.spills() }

// saveLocked copies f from in, where it is only, to where it can stay: main memory, if
// it comes from a device and there is room without taking any from others, else the
// main instance.
func (d *Datum) saveLocked(f *fragment, in *instance) error {
	dst := d.main.Load()
	if d.spills() && in.node.id > 0 {
		if r := d.refugeLocked(f, in); r != nil {
			dst = r
		}
	}
	return d.copyLocked(f, in, dst)
}

// refugeLocked returns an instance in bounded main memory that can hold f, which is in
// another one, or nil.
func (d *Datum) refugeLocked(f *fragment, from *instance) *instance {
	n := d.reg.nodes[0]
	if in := d.findLocked(n, &f.box, 0); in != nil {
		return in
	}
	if !n.tryEnter() {
		return nil
	}
	defer n.leave()
	if n.room() < d.bytesOf(&f.box) || d.openLayerLocked(n, &f.box) < 0 {
		return nil // the lock stays taken: f is what it was
	}
	in, err := d.makeLocked(n, f.box)
	if err != nil || in == nil {
		return nil
	}
	for _, h := range from.users() {
		n.touch(in, h)
	}
	return in
}

// forget takes away what n holds of data that ends with the registry.
func (g *Registry) forget(n *node) {
	for _, in := range n.instancesOf(g) {
		if !in.d.spills() {
			continue
		}
		in.d.mu.Lock()
		if in.pins == 0 && !in.gone {
			in.d.removeLocked(in)
		}
		in.d.mu.Unlock()
	}
}
