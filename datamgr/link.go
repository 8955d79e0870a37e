package datamgr

// Links: how bytes travel between nodes, and what has travelled.

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// Traffic counts the copies from one node to another, or between instances on one.
type Traffic struct {
	From, To      int
	Copies, Bytes int64
	Time          time.Duration // of the copies, one by one
}

// link is the way from one node to another: what went there, and what it costs.
type link struct {
	copies, bytes, time atomic.Int64
	way                 Way // fixed before data is registered
}

// add counts a copy.
func (l *link) add(bytes int64, t time.Duration) {
	l.copies.Add(1)
	l.bytes.Add(bytes)
	l.time.Add(int64(t))
}

// Way is the cost of a copy, in seconds.
type Way struct{ Latency, PerByte float64 }

// unmeasured is the assumed cost of copies on ways that were not measured: that of a card
// in a slot.
var unmeasured = Way{Latency: 10e-6, PerByte: 1.0 / (8 << 30)}

// SetWay says what copies from one node to another cost. Before data is registered.
// Pairs without a direct way cost what the way through main memory does.
func (g *Registry) SetWay(from, to int, w Way) { g.nodes[from].links[to].way = w }

// cost returns the time to copy the given bytes from a to b, in seconds.
func cost(a, b *node, bytes int64) float64 {
	if a == b {
		return 0
	}
	w := a.links[b.id].way
	if a.id != 0 && b.id != 0 && carrier(a, b) == nil {
		up, down := a.links[0].way, b.stop.links[b.id].way
		w = Way{up.Latency + down.Latency, up.PerByte + down.PerByte}
	}
	return w.Latency + float64(bytes)*w.PerByte
}

// CopyTime returns the time to copy the given bytes from one node to another, in seconds,
// as far as is known.
func (g *Registry) CopyTime(from, to int, bytes int64) float64 {
	return cost(g.nodes[from], g.nodes[to], bytes)
}

// Traffic returns what was copied between nodes, for those pairs where something
// was, in the order of the nodes.
func (g *Registry) Traffic() (all []Traffic) {
	for _, from := range g.nodes {
		for to, l := range from.links {
			if n := l.copies.Load(); n > 0 {
				all = append(all, Traffic{From: from.id, To: to, Copies: n, Bytes: l.bytes.Load(), Time: time.Duration(l.time.Load())})
			}
		}
	}
	return all
}

// streams are those of a device that copy, each used by one goroutine at a time.
type streams struct {
	mu   sync.Mutex
	idle []accel.Stream
}

// take returns a stream of n's device.
func (n *node) take() (accel.Stream, error) {
	n.streams.mu.Lock()
	if k := len(n.streams.idle); k > 0 {
		s := n.streams.idle[k-1]
		n.streams.idle = n.streams.idle[:k-1]
		n.streams.mu.Unlock()
		return s, nil
	}
	n.streams.mu.Unlock()
	return n.dev.NewStream()
}

func (n *node) give(s accel.Stream) {
	n.streams.mu.Lock()
	n.streams.idle = append(n.streams.idle, s)
	n.streams.mu.Unlock()
}

// closeStreams closes the streams; no copy may be under way.
func (n *node) closeStreams() {
	n.streams.mu.Lock()
	defer n.streams.mu.Unlock()
	for _, s := range n.streams.idle {
		_ = s.Close() // whatever failed was reported to whom it concerned
	}
	n.streams.idle = nil
}

// carrier is the node whose device copies between a and b; nil when there is none,
// and the way goes through main memory.
func carrier(a, b *node) *node {
	switch {
	case b.dev != nil && (a == b || b.dev.Reaches(a.mem)):
		return b
	case a.dev != nil && a.dev.Reaches(b.mem):
		return a
	}
	return nil
}

// direct reports whether bytes go from a to b without a stop.
func direct(a, b *node) bool { return a.id == 0 && b.id == 0 || carrier(a, b) != nil }

// stops reports whether bytes of d stop in its main instance on their way from a to
// b, since that is in main memory and there is no direct way.
func (d *Datum) stops(a, b *node) bool {
	m := d.main.Load()
	return m != nil && m.node.id == 0 && !direct(a, b)
}

// move copies the elements of box between two instances that hold them. The
// error is a *accel.LostError when a device is lost, and else says that this copy
// failed.
func (g *Registry) move(dst, src *instance, box *Box, size uintptr) error {
	if dst.d.object != nil {
		return g.moveObject(dst, src)
	}
	if dst.node.id == 0 && src.node.id == 0 {
		done := g.watch(dst.node, src.node, dst.d)
		copyBox(dst, src, box, size)
		done(int64(box.size()) * int64(size))
		return nil
	}
	t := betweenInstances(dst, src, box)
	c := t.describe(dst.at(box, size), src.at(box, size), size)
	return g.travel(dst.node, src.node, dst.d, &c)
}

// moveObject copies an object from one instance to another. One of the two may be on the
// disk. They are pinned, and nothing else writes either.
func (g *Registry) moveObject(dst, src *instance) error {
	d := dst.d
	o := d.object
	switch {
	case src.node.id != 0:
		data := make([]byte, o.packed)
		if err := g.travel(dst.node, src.node, d, bytesTo(unsafe.Pointer(unsafe.SliceData(data)), src.ptr, o.packed)); err != nil {
			return err
		}
		o.Assign(dst.ptr, o.New())
		return o.call("unpack", func() error { return o.Unpack(dst.ptr, data) })
	case dst.node.id == 0:
		o.Assign(dst.ptr, o.New())
		return o.duplicate(dst.ptr, src.ptr)
	}
	data, err := o.bytes(src.ptr)
	if err != nil {
		return err
	}
	n := int64(len(data))
	if n > dst.bytes {
		at, err := dst.node.mem.Alloc(n)
		if err != nil {
			return err
		}
		dst.node.mem.Free(dst.ptr, dst.bytes)
		dst.ptr, dst.bytes = at, n
	}
	if err := g.travel(dst.node, src.node, d, bytesTo(dst.ptr, unsafe.Pointer(unsafe.SliceData(data)), n)); err != nil {
		return err
	}
	o.packed = n
	if o.Size == nil {
		o.size.Store(max(n, int64(o.Type.Size())))
	}
	return nil
}

// bytesTo is a copy of bytes that lie side by side.
func bytesTo(dst, src unsafe.Pointer, bytes int64) *accel.Copy {
	c := &accel.Copy{Dst: accel.Place{Ptr: dst}, Src: accel.Place{Ptr: src}, Bytes: bytes}
	for k := range c.Count {
		c.Count[k] = 1
	}
	return c
}

// moveBuffer is move for buffers of the same shape on different nodes.
func (g *Registry) moveBuffer(to, from *node, dst, src *iface.Buffer) error {
	t := betweenBuffers(dst, src)
	c := t.describe(dst.Ptr, src.Ptr, dst.Elem.Size())
	if err := g.travel(to, from, nil, &c); err != nil {
		return err
	}
	to.needed.Add(c.Total())
	return nil
}

// carry copies c directly, and returns when that is done. No lock of a datum is held.
func (g *Registry) carry(to, from *node, c *accel.Copy) error {
	if c.Total() == 0 {
		return nil
	}
	n := carrier(from, to)
	for _, x := range []*node{from, to} {
		if e := x.lost.Load(); e != nil {
			return e
		}
	}
	c.Dst.Mem, c.Src.Mem = to.mem, from.mem
	var lost *accel.LostError
	s, err := n.take()
	if err == nil {
		for range 2 { // what fails once need not fail again
			err = s.Copy(c)
			if e := s.Sync(); err == nil {
				err = e
			}
			if err == nil || errors.As(err, &lost) {
				break
			}
		}
		n.give(s)
	}
	if err == nil {
		return nil
	}
	if lost := g.heard(err, n); lost != nil {
		return lost
	}
	var failed *accel.CopyError
	if !errors.As(err, &failed) {
		err = &accel.CopyError{From: from.mem.Name(), To: to.mem.Name(), Bytes: c.Total(), Err: err}
	}
	return err
}

// heard makes a loss known that err tells of, of the device of n if it does not say
// which, and returns it; nil: it tells of none. No lock is held.
func (g *Registry) heard(err error, n *node) *accel.LostError {
	var lost *accel.LostError
	if !errors.As(err, &lost) {
		return nil
	}
	g.lose(g.named(lost.Device, n), lost)
	return lost
}

// named is the node of a device by its name; n when there is no such.
func (g *Registry) named(device string, n *node) *node {
	for _, x := range g.nodes {
		if x.dev != nil && x.dev.Name() == device {
			return x
		}
	}
	return n
}

// describe turns t into a copy of rows: axes along which both sides lie side by
// side become one row, as far as they go.
func (t *transfer) describe(dst, src unsafe.Pointer, size uintptr) accel.Copy {
	c := *bytesTo(dst, src, int64(size))
	if t.empty {
		c.Bytes = 0
		return c
	}
	all := t.n
	n := all[:t.rank]
	for again := true; again; {
		again = false
		for k := range n {
			if n[k] != 1 && int64(t.ds[k])*int64(size) == c.Bytes && int64(t.ss[k])*int64(size) == c.Bytes {
				c.Bytes *= int64(n[k])
				n[k], again = 1, true
			}
		}
	}
	for k := range n {
		c.Count[k] = int64(n[k])
		if n[k] > 1 {
			c.DstStep[k], c.SrcStep[k] = int64(t.ds[k])*int64(size), int64(t.ss[k])*int64(size)
		}
	}
	return c
}

// Copies between memories without a direct way, of data that does not stop in main
// memory: piece by piece through a block there, which is the runtime's.

// relayBytes is the size of the block.
const relayBytes = 1 << 20

// relay is the block.
type relay struct {
	mu    sync.Mutex
	block []byte // nil before it is first used
}

// travel copies c, of data d (nil: private memory), counts it, and returns when that is
// done. No lock of a datum is held.
func (g *Registry) travel(to, from *node, d *Datum, c *accel.Copy) error {
	if !direct(from, to) {
		return g.relayed(to, from, d, c)
	}
	done := g.watch(to, from, d)
	if err := g.carry(to, from, c); err != nil {
		done(0)
		return err
	}
	done(c.Total())
	return nil
}

// relayed copies c by way of the block.
func (g *Registry) relayed(to, from *node, d *Datum, c *accel.Copy) error {
	r := &g.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.block == nil {
		r.block = make([]byte, relayBytes)
	}
	block := accel.Place{Ptr: unsafe.Pointer(unsafe.SliceData(r.block))}
	return inPieces(*c, relayBytes, func(c accel.Copy) error {
		down, up := c, c
		step := c.Bytes
		for k := len(c.Count) - 1; k >= 0; k-- {
			down.DstStep[k], up.SrcStep[k] = step, step
			step *= c.Count[k]
		}
		down.Dst, up.Src = block, block
		if err := g.travel(g.nodes[0], from, d, &down); err != nil {
			return err
		}
		return g.travel(to, g.nodes[0], d, &up)
	})
}

// inPieces calls fn for copies that together are c, each of limit bytes at most.
func inPieces(c accel.Copy, limit int64, fn func(accel.Copy) error) error {
	if c.Total() == 0 {
		return nil
	}
	if c.Total() <= limit {
		return fn(c)
	}
	first, second := c, c
	half := func(n int64, ds, ss int64) int64 {
		second.Dst.Ptr = unsafe.Add(c.Dst.Ptr, n*ds)
		second.Src.Ptr = unsafe.Add(c.Src.Ptr, n*ss)
		return n
	}
	cut := false
	for k, n := range c.Count {
		if n > 1 {
			first.Count[k] = half(n/2, c.DstStep[k], c.SrcStep[k])
			second.Count[k] = n - n/2
			cut = true
			break
		}
	}
	if !cut {
		first.Bytes = half(c.Bytes/2, 1, 1)
		second.Bytes = c.Bytes - c.Bytes/2
	}
	if err := inPieces(first, limit, fn); err != nil {
		return err
	}
	return inPieces(second, limit, fn)
}

// Snapshots: what a task reads and writes, before its kernel.

// Snapshot is what operands of a task were before its kernel, so that the kernel can run again.
// It lies in memory of the process, which no limit counts. The zero value has no operands.
type Snapshot struct{ saved []saved }

// saved is one operand of a snapshot.
type saved struct {
	h        *Handle
	node     *node
	now, was iface.Buffer
}

// Keep adds the content of b, an operand on a node whose handle is h. The task has it for
// itself until Release of the snapshot. An object is copied by its functions.
func (s *Snapshot) Keep(node int, h *Handle, b *iface.Buffer) error {
	k := saved{h: h, node: h.d.reg.nodes[node], now: *b}
	if o := h.d.object; o != nil {
		k.was.Ptr = o.New()
		if err := o.duplicate(k.was.Ptr, b.Ptr); err != nil {
			return err
		}
		s.saved = append(s.saved, k)
		return nil
	}
	if b.Len() == 0 || b.Ptr == nil {
		return nil
	}
	k.was.Desc = b.Desc
	k.was.Ptr = unsafe.Pointer(unsafe.SliceData(make([]uint64, (b.Bytes()+7)/8)))
	step := 1
	for i := int(b.Rank) - 1; i >= 0; i-- {
		k.was.Stride[i] = step
		step *= b.Dim[i]
	}
	if err := k.move(&k.was, &k.now, h.d.reg.nodes[0], k.node); err != nil {
		return err
	}
	s.saved = append(s.saved, k)
	return nil
}

// Restore makes all operands what they were. It may be called any number of times.
func (s *Snapshot) Restore() error {
	for i := range s.saved {
		k := &s.saved[i]
		o := k.h.d.object
		if o == nil {
			if err := k.move(&k.now, &k.was, k.node, k.h.d.reg.nodes[0]); err != nil {
				return err
			}
			continue
		}
		fresh := o.New()
		if err := o.duplicate(fresh, k.was.Ptr); err != nil {
			return err
		}
		o.Assign(k.now.Ptr, fresh)
	}
	return nil
}

// Release forgets the operands.
func (s *Snapshot) Release() {
	clear(s.saved)
	s.saved = s.saved[:0]
}

// move copies the elements between the operand and the snapshot.
func (k *saved) move(dst, src *iface.Buffer, to, from *node) error {
	if k.node.id == 0 {
		copyBuffer(dst, src)
		return nil
	}
	t := betweenBuffers(dst, src)
	c := t.describe(dst.Ptr, src.Ptr, dst.Elem.Size())
	return k.h.d.reg.travel(to, from, nil, &c)
}
