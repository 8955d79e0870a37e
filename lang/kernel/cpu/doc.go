// Package cpu is the back end for CPUs. It compiles lowered bodies to closures over the
// state of a run (machine).
//
// A loop whose rounds are independent runs in strips, as column-at-a-time engines of
// databases do: an operation works on several hundred rounds before the next operation
// starts. That shares the cost of dispatch, and the inner loops are plain loops over slices
// (loops.go), and the common ones have vector instructions (loops_amd64.s). Elements
// that are adjacent are used in place, without a copy. Conditions that differ between rounds
// become masks. strip.go has the compiler of strips, strip_expr.go, strip_bool.go and
// strip_access.go its parts.
//
// Other code runs one round at a time (scalar_stmt.go, scalar_expr.go). Arrays of a body are in
// array.go. plan.go estimates
// the cost of each way to run a loop and chooses the way, and the index along which strips
// run. A for runs in strips if its rounds are independent but for reductions (for.go): it
// has the bits and the fault of its rounds in order. A loop that its rounds may end runs in order;
// inside a strip it goes on while a round of the strip does. Loops with other ranges in each round share strips
// (ragged.go). Folds have an order that depends on the
// body and the sizes alone (fold.go).
//
// Faults panic with a *Fault, which Run returns as its error. Long runs look at their
// context between strips.
//
// Back ends for devices use an Evaluator to compute indices and ranges for the operands of
// a task before they start a kernel (demands.go).
package cpu
