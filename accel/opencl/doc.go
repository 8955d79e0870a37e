// Package opencl is the devices that OpenCL drivers offer: graphics cards of all makers,
// and processors (PoCL). The library is looked for when devices are opened, so one binary
// runs on machines with and without it, and no header, compiler or cgo is needed to
// build.
//
//	devices, err := opencl.Driver{}.Open()
//
// # Memory
//
// Every device has a context of its own: a buffer takes memory on that device only, and a
// context that a kernel destroys affects no other device. OpenCL has no addresses that a
// program could add to, so Memory hands out addresses of a range that is reserved and
// never backed; a table leads from an address to the buffer and the offset. Dereferencing
// such an address is a fault and reaches no other data.
//
// Between two devices data goes through main memory: a buffer of one context means
// nothing to another.
//
// # Streams
//
// A stream is a command queue that executes in order. Copies with up to two steps are one
// command; what a rectangle cannot express becomes several. Waiting for an event of the
// same device is a barrier in the queue. An event of another device means nothing to the
// driver: what is begun behind such a Wait is kept by the stream and handed over by a
// goroutine of its own when the event has happened. OpenCL's user events would do that,
// and hang or crash in several drivers.
//
// # Kernels
//
// Kernels are OpenCL C, built for a device at run time:
//
//	p, err := stream.Device().Build(source, "-DT=float")
//	k, err := p.Kernel("scale")
//	err = stream.Launch(k, []int{n}, nil, opencl.Buf{Ptr: x, Elem: 4}, int64(n), float32(2))
//
// A kernel cannot be given an address inside a buffer, so a Buf fills two parameters: the
// buffer, and a long with the number of elements to skip:
//
//	kernel void scale(global T *x, long x0, long n, T a) {
//		long i = get_global_id(0);
//		if (i < n) x[x0 + i] *= a;
//	}
//
// Local gives a kernel memory of its work-groups, Scratch memory that stays with the
// stream for its next kernel. Arguments are checked against the kernel's parameters, as
// far as the driver describes them: a wrong number or type is an *ArgError and nothing is
// launched.
//
// # Errors
//
// A program that does not compile is a *BuildError with the compiler's log. A device that
// does not answer any more gives *accel.LostError for everything from then on.
package opencl
