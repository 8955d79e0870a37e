package datamgr

import "github.com/starpush/starpush/datamgr/filter"

// Within reports whether all elements of h are elements of o.
func (h *Handle) Within(o *Handle) bool {
	return h.d == o.d && (h == o || o.box.has(&h.box))
}

// Waits reports whether w waits for something.
func (w *Waiter) Waits() bool { return w.pending.Load() != 0 }

// WaitsForNothing makes Waits say so, for a waiter whose submission found nothing to
// wait for: Settle(0) leaves the count as Arm set it, since hardly anybody asks.
func (w *Waiter) WaitsForNothing() { w.pending.Store(0) }

// PartitionHeld is Partition for whoever holds an access to h that was
// registered before: it does not mind that h has ended since for those that
// come later.
func (g *Registry) PartitionHeld(h *Handle, fs ...filter.Filter) (*View, error) {
	return g.partition(h, ViewOptions{}, true, fs)
}
