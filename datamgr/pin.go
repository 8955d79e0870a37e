package datamgr

// Operands that stay on a memory node of their own.

// Pin is the memory node where an operand stays while the task runs, wherever that
// is; the zero value is the node of the worker.
type Pin uint8

// PinTo returns the Pin for a memory node, which 0, main memory, is for any worker,
// and others for workers that use it.
func PinTo(node int) Pin {
	if node < 0 || node >= maxLayers {
		return ^Pin(0) // no such node
	}
	return Pin(1 + node)
}

// On returns op with its data pinned to a memory node, as PinTo says.
func (op Operand) On(node int) Operand {
	op.Pin = PinTo(node)
	return op
}

// Node returns the node; false: none was named.
func (p Pin) Node() (node int, ok bool) { return int(p) - 1, p != 0 }

// stays reports whether the operand is in main memory wherever the task runs.
func (op *Operand) stays() bool { return op.Pin == Pin(1) }

// node is where a task on the given node has the operand.
func (op *Operand) node(task int) int {
	if op.stays() {
		return 0
	}
	return task
}

// inMain reports whether a task on the given node has the operand in main memory.
func (op *Operand) inMain(node int) bool { return node == 0 || op.stays() }

// Apart returns two operands that share elements, of which one is written, and that
// would not be in one piece of memory on another node than main memory, because one
// of them stays there. ok is false when there are none.
func Apart(ops []Operand) (i, k int, ok bool) {
	for i := range ops {
		for k := range i {
			a, b := &ops[i], &ops[k]
			if a.stays() != b.stays() && a.placed() && b.placed() && (a.Mode != modeR || b.Mode != modeR) && a.Handle.Overlaps(b.Handle) {
				return i, k, true
			}
		}
	}
	return 0, 0, false
}
