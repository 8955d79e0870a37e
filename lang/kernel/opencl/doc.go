// Package opencl is the back end for OpenCL devices. New splits a lowered body into kernels
// and writes them in OpenCL C; Kernels.Run starts them for the operands of a task.
//
// A loop whose rounds are independent is a kernel with a work-item for each round. The
// statements in between are kernels that one work-group runs together, with folds as trees
// over its work-items.
//
// A kernel cannot stop at a fault and report it. So New refuses a body that may fault in a
// way that depends on data, and Kernels.Launches checks, for the operands of each task, that
// all indices are in bounds, with an Evaluator of package cpu. If one may be out of bounds,
// a worker of the CPU runs the task and reports the fault, if there is one.
package opencl
