package engine

// Deterministic jobs: what tasks compute is the same, to the last bit, for every
// number of workers, policy and run, a Sequential runtime included.
//
// Only two things let the order in which tasks happen to run show in results:
//
//   - COMMUTE, whose neighbouring uses run in any order. In a deterministic job
//     they are RW for the order of accesses (datamgr.MergeOptions.InOrder), so
//     they run in the order of their submission.
//   - REDUX, where tasks add to whichever private copy is at hand. In a
//     deterministic job every contribution has its own copy, and copies are
//     combined in a fixed tree over the order of submission, whose leftmost leaf
//     is the value that the handle had before (package datamgr, redux_tree.go).
//
// What the program itself leaves open stays open: which of several tasks without
// order (TaskSpec.Unsequenced, Operand.Unordered) goes first, the order of
// submissions that race, the content of SCRATCH operands and of the elements
// that a W operand left unwritten, and what a kernel makes of the number of its
// worker. Kernels must not depend on those.

import (
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// fixes reports whether a deterministic job has to look after one of the operands.
func fixes(ops []Operand) bool {
	for i := range ops {
		if ops[i].Mode == iface.Commute || ops[i].Mode == iface.Redux {
			return true
		}
	}
	return false
}

// reserve numbers the contributions of a task of a deterministic job: a number
// for each REDUX operand, in their order. Submission lock held.
func (x *ext) reserve(ops []Operand) {
	for i := range ops {
		if ops[i].Mode == iface.Redux {
			x.redux = append(x.redux, ops[i].Handle.Reserve())
		}
	}
}

// contribute takes a private copy of h for the task and describes it in b: the
// one reserved for it, or that of the worker.
func (x *ext) contribute(h *datamgr.Handle, worker int, b *iface.Buffer) error {
	for i := range x.redux {
		if c := &x.redux[i]; c.Waits(h) {
			return c.Take(b)
		}
	}
	c, err := h.Contribute(worker, b)
	if err == nil {
		x.redux = append(x.redux, c)
	}
	return err
}
