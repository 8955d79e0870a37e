package datamgr

// Memory on other nodes that the program holds.
//
// Who waits for room waits for tasks and copies, which end by themselves. What the
// program holds does not: it may be waiting for the very task that wants its room.
// So it is in use, but nobody waits for it here, and who has nothing else to wait
// for gets an error.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Hold says that the program has the instances from now on, until Release.
func (p *Placement) Hold() {
	p.held = true
	for _, in := range p.pins {
		in.d.mu.Lock()
		in.holds++
		if n := in.node; n.bounded && !in.outside && in.pins == in.holds {
			n.mu.Lock()
			n.mu.pinned--
			n.mu.wake.Broadcast() // who waits for it need not any more
			n.mu.Unlock()
		}
		in.d.mu.Unlock()
	}
}

// unholdLocked undoes Hold for an instance of which holds was lowered.
func (in *instance) unholdLocked() {
	if n := in.node; n.bounded && !in.outside && in.pins == in.holds+1 {
		n.mu.Lock()
		n.mu.pinned++
		n.mu.Unlock()
	}
}

// Zero fills operand i, W, which is all of h and was prepared on another node than main
// memory. After an error the operands are released, and have what they had; but gone
// was only there, and is nowhere now.
func (p *Placement) Zero(i int, h *Handle) (gone []Box, err error) {
	in := p.at[i]
	if in == nil || h.bytes() == 0 {
		return nil, nil
	}
	g := h.d.reg
	mem := g.memoryAside()
	from, err := mem.Alloc(h.bytes())
	if err == nil {
		var dst, src iface.Buffer
		p.Buffer(i, h, &dst)
		h.Own(from, &src)
		clear(unsafe.Slice((*byte)(from), h.bytes()))
		err = g.moveBuffer(in.node, g.nodes[0], &dst, &src)
		mem.Free(from, h.bytes())
	}
	if err != nil {
		gone = p.giveUp()
	}
	return gone, err
}
