package datamgr

// Copies between memories without a direct way, of data that does not stop in main
// memory: piece by piece through a block there, which is the runtime's.

import (
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

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
