// Package accel describes the hardware below the data manager: memories and the
// devices that own them. It knows nothing of tasks or of registered data.
//
// A [Device] has a [Memory] and makes [Stream] values, on which copies and kernels begin
// in order; an [Event] is a moment in one. A [Driver] finds the devices of one kind.
// Packages below implement that: cpu (this process and main memory), numa (the other NUMA nodes), sim (machines that
// do not exist), disk (memory in a file), opencl, cuda. Package all is the table of those
// that look for hardware, and bus measures the links between memories. A program gives
// devices to engine.Options and hardly ever calls them itself.
//
// # Writing a driver
//
// What the interfaces say is all that the engine asks for; acceltest.Run holds a device
// against it. [Usage] counts what is allocated, [HostStream] is a stream for devices whose
// work is done when a call returns, and [Copy.Check] finds copies that no device can make.
// A device whose Arch is "cpu" is given kernels that are functions of this process, by
// Stream.Do; another one has a stream type of its own with methods by which kernels
// written for it are launched.
//
// # Concurrency and ownership
//
// Devices, memories and events are safe for concurrent use, a stream belongs to one
// goroutine at a time. The code that opens a device closes it, after its last
// use: a runtime does not close the devices it was given. Memory is freed with the size that
// it was allocated with, once no operation uses it any more.
//
// # Errors
//
//	*UnavailableError   there are no devices of a kind, and what would help
//	*NoMemoryError      an allocation does not fit; nothing else has changed
//	*CopyError          a copy failed: its destination holds anything
//	*KernelError        a kernel was not carried out: what it writes holds anything
//	*DeclinedError      a kernel was not begun: this device is not fit for it
//	*LostError          the device is gone, with what is in its memory; it stays
//	ErrClosed           the stream or the device was closed
//	ErrNotHere          functions of this process do not run on this device
//
// The engine acts upon them: it tries copies again, runs tasks elsewhere, and evicts data
// to make room. Any other error of a kernel is the kernel's own.
package accel

import (
	"fmt"
	"io"
	"unsafe"
)

// Memory is the storage of one memory node. Its methods are safe for
// concurrent use.
type Memory interface {
	// Name is the name of the node: "ram".
	Name() string
	// Alloc returns bytes of memory, aligned for every element type. Their
	// content is unspecified. It returns a *NoMemoryError when they do not fit, a
	// *LostError when the device is lost.
	//
	// When Host is false the address means something to streams of the device
	// only: it can be added to, and never be followed.
	Alloc(bytes int64) (unsafe.Pointer, error)
	// Free gives back what Alloc returned; bytes is what Alloc was given. Nothing
	// that uses it may be under way.
	Free(p unsafe.Pointer, bytes int64)
	// Allocated is the number of bytes allocated now.
	Allocated() int64
	// Peak is the largest value that Allocated had.
	Peak() int64
	// Capacity is the number of bytes that can be allocated in total.
	Capacity() int64
	// Host reports whether the program may follow addresses of this memory.
	Host() bool
}

// Source is bytes outside of all memories, such as those of a file. Calls of ReadAt may come
// at the same time.
type Source interface {
	io.ReaderAt
	// Changed returns an error once the bytes are not what they were when the source was
	// opened, as far as that can be seen.
	Changed() error
	io.Closer
}

// Lazy is a memory whose blocks may begin as the bytes of a source.
type Lazy interface {
	// AllocFrom is Alloc of a block that holds the bytes of src, from its first one on. They are
	// read when they are copied from the block, until they are overwritten there. Free closes
	// src; after an error the caller does.
	AllocFrom(src Source, bytes int64) (unsafe.Pointer, error)
}

// Device is one processor with its memory. Its methods are safe for concurrent
// use.
type Device interface {
	Name() string // "cpu", "opencl 0"; different for all devices of a machine
	Arch() string // what its kernels are written for: "cpu" (functions of this process), "opencl", "cuda"
	Units() int   // processing units that can run kernels at the same time
	Memory() Memory
	// NewStream makes a stream of the device.
	NewStream() (Stream, error)
	// Reaches reports whether streams of the device copy between its memory and m
	// directly. They do for main memory.
	Reaches(m Memory) bool
	// Close gives up what the device holds. Its streams are closed and nothing
	// uses its memory. A second call does nothing.
	Close() error
}

// CPUs is a Device that may be a NUMA node: its units are processors of the machine, whose
// kernels are those of CPU workers, and its memory is near them. A node without processors has 0 units.
type CPUs interface {
	Device
	// NUMA returns the number by which the operating system knows the node; false: the
	// device is none.
	NUMA() (number int, ok bool)
	// Processors returns the numbers of its processors; empty: none is known. The thread of worker i of
	// the device is bound to Processors[i % len(Processors)].
	Processors() []int
}

// AsNUMA returns d as a NUMA node; false: it is none.
func AsNUMA(d Device) (n CPUs, ok bool) {
	if n, ok = d.(CPUs); ok {
		_, ok = n.NUMA()
	}
	return n, ok
}

// Driver finds the devices of one kind.
type Driver interface {
	// Name is the name of the kind: "sim", "opencl", "cuda".
	Name() string
	// Open returns the devices that the machine has, ready to be used. The error
	// is an *UnavailableError when there is no way to any.
	Open() ([]Device, error)
}

// NoMemoryError says that an allocation does not fit a memory node.
type NoMemoryError struct {
	Node      string // name of the memory
	Want      int64  // bytes asked for
	Allocated int64  // bytes in use
	Capacity  int64  // bytes there are
	Largest   int64  // when the node refuses Want in one piece, however much is free: the most it gives out; else 0
	Err       error  // what the driver said; may be nil
}

func (e *NoMemoryError) Error() string {
	if e.Largest > 0 {
		return fmt.Sprintf("%s needed in one piece, and %s gives out %s at most", Bytes(e.Want), e.Node, Bytes(e.Largest))
	}
	if e.Want > e.Capacity {
		return fmt.Sprintf("%s needed, and %s has %s in total", Bytes(e.Want), e.Node, Bytes(e.Capacity))
	}
	return fmt.Sprintf("%s needed, and of the %s of %s %s are in use", Bytes(e.Want), Bytes(e.Capacity), e.Node, Bytes(e.Allocated))
}

// Unwrap returns what the driver said.
func (e *NoMemoryError) Unwrap() error { return e.Err }

// Bytes writes a number of bytes for people: "4 KiB", "1.5 GiB".
func Bytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v /= 1024
		u++
	}
	if v == float64(int64(v)) {
		return fmt.Sprintf("%d %s", int64(v), units[u])
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}
