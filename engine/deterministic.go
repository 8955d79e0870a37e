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

import "github.com/starpush/starpush/datamgr/iface"

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

// contribute takes a private copy for operand i of t, REDUX, and describes it in
// the buffer: the one reserved for it, or that of the worker. When a function of
// the reduction ends the goroutine, the task has failed.
func (w *worker) contribute(t *task, i int) error {
	h, b := t.operands()[i].Handle, &w.tc.bufs[i]
	return callKernel(func(*TaskContext) error {
		if !t.general {
			_, err := h.Contribute(w.id, b) // the worker's, which is not given back
			return err
		}
		x := t.x
		for k := range x.redux {
			if c := &x.redux[k]; c.Waits(h) {
				return c.Take(b)
			}
		}
		c, err := h.Contribute(w.id, b)
		if err == nil {
			x.redux = append(x.redux, c)
		}
		return err
	}, nil, func(error) { w.exit(h.Exited("initialise")) })
}

// plant puts the numbered contributions of t, whose kernel has succeeded, in their
// trees, and ends t. It is called again when a function of a reduction ends the
// goroutine: that is no failure of t.
func (w *worker) plant(t *task, exiting bool) {
	for i := range t.x.redux {
		if c := &t.x.redux[i]; c.Taken() {
			_ = callKernel(func(*TaskContext) error { c.Plant(); return nil }, nil, func(error) { w.plant(t, true) })
		}
	}
	w.endUser(t, nil, nil)
	if exiting {
		w.rest()
	}
}
