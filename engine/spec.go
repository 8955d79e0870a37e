package engine

// What Submit is given: operands, arguments, options, and where it came from.

import (
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// TaskSpec describes one task. Submit copies what it needs, so a caller may use
// one TaskSpec and its slices over and over. Only Codelet is needed.
type TaskSpec struct {
	Codelet  *Codelet
	Operands []Operand      // data, in the order in which kernels number it
	Args     []iface.Scalar // plain values, likewise
	// Priority, higher, makes the task run earlier and get a lock (COMMUTE, accesses without
	// order) earlier, as far as the policy promises that, see sched.Promise.
	Priority int
	Name     string  // in errors and traces; "" for none
	Color    int     // in traces; 0: the codelet's
	Flops    float64 // estimate of the work; 0: the codelet's
	Workers  []int   // workers that may run it; nil: all
	// After lists tasks, gates and tags that the task waits for, besides the order
	// that its operands give. When such a task failed or was cancelled, this
	// one is cancelled. A tag that was removed is a *TagError.
	After []Dependency
	// Unsequenced gives the task no order with other tasks through its
	// operands; it still excludes those that conflict with it.
	Unsequenced bool
	Origin      Origin // where the program does it, for errors and traces

	closure unsafe.Pointer // of a codelet that the functions of Job.Go share: which of them
}

// Dependency is what a task can wait for explicitly: a *Task, a *Gate or a *Tag.
type Dependency interface {
	// addSuccessor makes t wait; false: there is nothing to wait for.
	// Submission lock held.
	addSuccessor(t *task) bool
}

// Call is one call that was on the program's stack when a task was submitted.
// It is immutable and shared.
type Call struct {
	Parent *Call  // the call around it; nil: none
	Site   *Site  // of the call
	Text   string // as written: "cholesky(t, nt)"
}

// Origin says where a task was submitted. It is plain data, stored in the task.
type Origin struct {
	Site *Site    // nil: not known
	Call *Call    // innermost call; nil at top level
	Vars [2]int64 // values of Site.VarNames, such as loop variables
}
