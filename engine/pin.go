package engine

// Operands that stay on a memory node while the task runs elsewhere.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr"
)

// nodeFor is where a task on the worker has an operand.
func (w *worker) nodeFor(op *Operand) int {
	if op.Pin == datamgr.PinTo(0) {
		return 0
	}
	return w.node
}

// pinned reports whether an operand has a node of its own.
func pinned(s *TaskSpec) bool {
	return slices.ContainsFunc(s.Operands, func(op Operand) bool { return op.Pin != 0 })
}

// takes reports whether the worker can use the operands where they are pinned.
func (w *worker) takes(s *TaskSpec) bool {
	for i := range s.Operands {
		switch n, ok := s.Operands[i].Pin.Node(); {
		case !ok || n == w.node:
		case n > 0, w.arch != cpuArch && !slices.Contains(s.Codelet.FromMain, i):
			return false
		}
	}
	return true
}

// checkApart refuses operands that share elements and could not share memory.
func (rt *Runtime) checkApart(s *TaskSpec) error {
	if !pinned(s) {
		return nil
	}
	i, k, bad := datamgr.Apart(s.Operands)
	if !bad {
		return nil
	}
	a, b := &s.Operands[i], &s.Operands[k]
	return &ModeError{Operand: i, Handle: a.Handle, Mode: a.Mode, Other: k,
		Message: fmt.Sprintf("%s shares elements with %s, one of them is written, and one of them only is pinned to main memory; pin both, or none", describe(a.Handle), describe(b.Handle))}
}

// PinError says that no worker that may run a task can use its operands where they
// are pinned.
type PinError struct {
	Operand int // the first pinned operand
	Node    NodeInfo
	Codelet *Codelet
}

func (rt *Runtime) pinError(s *TaskSpec) error {
	for i := range s.Operands {
		if n, ok := s.Operands[i].Pin.Node(); ok {
			return &PinError{Operand: i, Node: rt.Nodes()[n], Codelet: s.Codelet}
		}
	}
	return nil
}

func (e *PinError) Error() string {
	return fmt.Sprintf("operand %d of %s is pinned to %s, and no worker that may run the task can use it there; leave the pin out, or let the task run on other workers", e.Operand, e.Codelet.Name, e.Node.Name)
}
