// Package numa is the NUMA nodes of this machine as devices: main memory and its
// processors, and each further node as a device whose units are processors and whose
// memory is near them.
//
//	m, err := numa.Open(0)                        // a worker for each processor
//	defer m.Close()                               // after the runtime
//	rt, err := engine.New(engine.Options{Workers: m.Workers, Processors: m.Processors, Devices: m.Devices})
//
// engine.Options.NUMA does the same. Without it main memory is one memory node, as it is
// on a machine with one NUMA node, and no data is copied between sockets.
//
// [Read] finds out what there is from the files of Linux in /sys, and leaves out what the
// process may not use: processors outside of its affinity mask, processors and memory
// outside of its cpuset, and processors that are offline. A node without memory lends its
// processors to the nearest node with memory. A node without processors, such as memory on
// a CXL card, is a device without units: data can be brought there, and no task runs there.
//
// Main memory is the first node with processors. Data in main memory is memory of the Go
// heap, whose pages lie where they are touched first. The memory of the other nodes is
// mapped by itself, and the system is asked by mbind to take its pages from the node.
// Where that is forbidden, as in some containers, pages lie where they are touched first,
// which is mostly by the workers of the node, whose threads are bound to its processors.
//
// The capacity of a device's memory is the smaller of what the node has and its share of the memory that
// the process may use, which a control group may limit (see cpu.New). Main memory is the rest.
package numa
