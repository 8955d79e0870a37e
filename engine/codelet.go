package engine

// What a task does: codelets.

import (
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
)

// Impl is one implementation of a codelet on a CPU. It must not keep the
// context or its buffers after it returns, and must not wait for tasks or
// acquire data (those calls return ErrWouldDeadlock); it may submit tasks. An
// error or a panic fails the task.
type Impl func(*TaskContext) error

// Codelet is a kind of task: a name, its implementations, and what is promised
// about its operands. It is immutable once a task was submitted with it, and
// shared by any number of tasks and runtimes.
type Codelet struct {
	Name      string // in messages, traces and statistics; measured times are kept under it
	Signature string // in the language; "" when the language never sees it
	Doc       string // for those who look it up in a script; the engine does not look at it
	// Modes are the declared modes of the operands; nil: not checked. A
	// declared RW admits RW, COMMUTE and REDUX, the others only themselves.
	Modes []iface.AccessMode
	// Types declare what the operands and scalar arguments are; nil: not checked, and the
	// implementations see to it. Submission holds every task against them.
	Types *Types
	// Elems lists what the element-type parameter T of the signature may stand
	// for; nil: any element type. The engine does not look at it.
	Elems []iface.Elem
	// CPU holds the implementations. One is used for each task.
	CPU []Impl
	// On holds implementations for devices, by accel.Device.Arch: "opencl", "cuda".
	// They begin their work on TaskContext.Stream and return; the task ends when
	// that has. The pointers of their buffers mean something to the device only.
	// Tasks go to workers for which there is an implementation.
	On map[string][]Impl
	// FromMain lists the operands, counted from 0, that implementations for devices
	// can take in main memory, where tasks pin them (Operand.Pin): they are given the
	// pointer of the host then, and TaskContext.Node says so. Other operands that are
	// pinned there keep tasks on CPU workers. Implementations for the CPU take all.
	FromMain []int
	// Shape checks sizes and scalar arguments; it runs inside Submit, on the
	// submitter's goroutine, before anything else happens. Nil: not checked.
	// It should return a *ShapeError.
	Shape func(ops []iface.Desc, args []iface.Scalar) error
	// Flops estimates the work of one task; nil: unknown. It is called on workers,
	// after the kernel; a panic makes the work unknown.
	Flops func(ops []iface.Desc, args []iface.Scalar) float64
	Color int // in traces
	// Pure says that the implementations depend on nothing but operands and
	// arguments and do nothing but write operands, so that they may be run
	// again. Options.Verify does that, and is exact for pure codelets only; what a
	// device did not carry out (accel.KernelError) is run again elsewhere if it is
	// pure; and when a device is lost, only pure ones that it ran as functions of this
	// process are.
	Pure bool
	// Fold is what kernels do to the operands that they declare RW: "sum", "prod",
	// "min" or "max"; "" is none of these. The engine does not look at it.
	Fold string
	// Traits are what few codelets have; nil: nothing.
	Traits *Traits
	// Model predicts times; nil: the history of the codelet's tasks.
	Model *perf.Model
	// Kernel tells versions of the implementations from each other, by a hash, say:
	// measurements of one tell nothing of another. It is called once in a while,
	// and only where models are used. Nil: the name is enough.
	Kernel func() string

	fn  *goFunc // of a codelet of Go functions; else nil
	bad error   // what is wrong with these, if they are no kernels
}

// impls are the implementations for an architecture.
func (c *Codelet) impls(arch string) []Impl {
	if arch == cpuArch {
		return c.CPU
	}
	return c.On[arch]
}

// A Module is codelets that scripts import under one name, as in import "std/blas". Each
// has a Signature. The engine does not look at modules.
type Module struct {
	Doc      string // what it is for, for those who look it up in a script
	Codelets []*Codelet
}

// Site is a place in a program; see datamgr.Site.
type Site = datamgr.Site

// Operand is one piece of data that a task uses, and how.
type Operand = datamgr.Operand

// PinTo returns the Operand.Pin for a memory node, an index of Runtime.Nodes: the
// operand stays there while the task runs. In main memory any worker can use it
// whose implementation can (see Codelet.FromMain), elsewhere only workers of that
// node. Without a pin it goes where the task runs.
func PinTo(node int) datamgr.Pin { return datamgr.PinTo(node) }
