package datamgr

// Where data lives that does not live in main memory: on a disk, or on a device.
//
// A disk takes data for which main memory has no room. With one, main memory is bounded
// like that of a device: tasks on CPU workers get instances there, all at once, and idle
// instances are evicted. The main instance of data that the runtime owns is on the disk
// then, and not in main memory; that of data with memory of the program stays where it is,
// and is not counted. A main instance takes no space on the disk where nothing was written
// to it.
//
// No task runs on a disk, so none waits for room there. A task that needs main memory
// waits for tasks that have all they need, or for copies, as on any node.

import (
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
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
	bytes := d.size()
	if s.Source == nil || !d.spills() || d.object != nil || d.content.Load() != nil || d.rank == 0 || bytes == 0 || d.span() != bytes {
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

// Homes on devices.
//
// Data may live in the memory of a device instead of main memory. Its home is then an instance
// like others that tasks use there, except that it holds all of the data and is never
// evicted: it is held from the registration on (see Placement.Hold), so no task waits for its memory.
// When the data ends, its value is copied there from wherever it is.

// checkHome reports that there is no memory node for the data of s, or that the data cannot
// live there.
func (g *Registry) checkHome(s *Spec) error {
	fail := func(format string, args ...any) error { return fmt.Errorf("datamgr: "+format, args...) }
	if last := s.Kind.Rank() - 1; last >= 0 && len(s.Step) > last && s.Step[last] != 1 && (s.Home == nil || s.Node != 0 || s.Capacity != nil) {
		return fail("neighbours of a %v can lie %d elements apart only in memory of the program in main memory, and without a capacity", s.Kind, s.Step[last])
	}
	switch n := s.Node; {
	case n == 0:
	case n < 0 || n >= len(g.nodes):
		return fail("data cannot live on memory node %d: there are %d, from 0", n, len(g.nodes))
	case g.nodes[n] == g.disk:
		return fail("data cannot live on the disk, where nothing runs: name main memory (0) or the node of a device")
	case s.Kind == iface.Object || s.Kind == iface.Void:
		return fail("%v data cannot live on a device: register it without Node", s.Kind)
	}
	return nil
}

// liveOn gives d, which is new, its home on n: at is memory of the program with those strides,
// or nil.
func (d *Datum) liveOn(n *node, at unsafe.Pointer, stride strides) (err error) {
	in := &instance{d: d, node: n, box: d.box, ptr: at, stride: stride, bytes: d.bytesOf(&d.box), layer: 1, pins: 1, holds: 1, given: at != nil}
	switch {
	case d.reg.Plans && !in.given:
		return nil
	case d.reg.Plans:
	case n.lost.Load() != nil:
		return n.lost.Load()
	case in.given:
		err = d.allocate() // a value may be copied there at any time
	default:
		in.ptr, err = n.allocHome(in.bytes)
	}
	if err != nil {
		return err
	}
	if in.given {
		d.root.valid, d.root.had = 1<<in.layer, n.mark()
	}
	d.deviceHome, d.mu.layers = in, []layer{{n, []*instance{in}}}
	if d.reg.Plans {
		return nil
	}
	n.list(in)
	if e := n.lost.Load(); e != nil { // perhaps before in was listed
		d.free()
		return e
	}
	return nil
}

// allocHome allocates memory that is not evicted. Idle instances make room for it.
func (n *node) allocHome(bytes int64) (unsafe.Pointer, error) {
	n.enter()
	defer n.leave()
	for n.room() < bytes && n.makeRoom() {
	}
	return n.alloc(bytes)
}

// livesOn reports whether handles of d with those rows are used on n in its home there.
func (d *Datum) livesOn(n *node, rows uint8) bool {
	in := d.deviceHome
	return in != nil && in.node == n && in.box.fits(rows)
}

// leaveHomeLocked ends the hold of the home on a device.
func (d *Datum) leaveHomeLocked() {
	if in := d.deviceHome; in != nil && !in.gone {
		in.pins--
		in.holds--
	}
}

// BringHome copies the value of h, a whole datum with a home, to its home, and frees idle
// instances elsewhere. Call it in a task that uses h.
func (h Managed) BringHome() error {
	d := h.d
	if d.deviceHome == nil {
		return h.Gather()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bringHomeLocked()
}

func (d *Datum) bringHomeLocked() error {
	in := d.deviceHome
	if e := in.node.lost.Load(); e != nil {
		return e
	}
	if err := d.fetchLocked(d.whole, in); err != nil {
		return err
	}
	d.dropLayersLocked()
	return nil
}

// closeHomes brings the data that lives on n back to its home, when the registry ends. It
// returns how many bytes could not be brought there, and why.
func (g *Registry) closeHomes(n *node) (bytes int64, err error) {
	for _, in := range n.instancesOf(g) {
		d := in.d
		if d.deviceHome != in {
			continue
		}
		d.mu.Lock()
		if in.given && n.lost.Load() == nil {
			if e := d.bringHomeLocked(); e != nil {
				bytes, err = bytes+in.bytes, e
			}
		}
		d.leaveHomeLocked()
		d.root.leaves(&d.box, func(f *fragment) { f.valid |= mainBit })
		if in.pins == 0 {
			d.removeLocked(in)
		}
		d.mu.Unlock()
	}
	return bytes, err
}
