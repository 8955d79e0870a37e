// Package datamgr is the data manager: registered data, the views that cut it into parts,
// the order of accesses to it, and where its valid copies are.
//
// A datum is one registered piece of data. A Handle names a box of its index space;
// partitioning makes handles and moves nothing. A fragment is a piece of the datum that
// no view cuts. A fragment carries the order of accesses (epochs) and the validity of
// copies. Views carry neither, so overlapping parts, nested views and parents used beside
// their children are one case.
//
// # For programs
//
// A program registers data, partitions it and uses it by package engine, and meets these
// types of this one:
//
//   - [Spec] describes data to register, [Reduction] how contributions (REDUX) are
//     combined, [Site] where something was done, for messages;
//   - [Handle] names data. Alive, Death, Desc, Type, Place, Strides, Parent, Root, Name, ID,
//     Site, Home, ReadOnly, Reduction, Unordered, Overlaps, Within, Inside and Same say what it is,
//     Initialised and InitialisedPart whether it has a value, Views and Fragments how it is
//     cut; SetName, SetUserData, SetCoordinates, SetUnordered, SetDiscardable and
//     SetOutOfCore change its properties;
//   - [View] has the parts of a handle: Parts, or Part by index;
//   - [Operand] is a handle with its access mode, [Presence] what a memory has of it;
//   - [ReductionError] says which function of a reduction failed;
//   - [Layout] says where each [Array] lies in data of several arrays;
//   - [Object] says how values of a Go type are handled, and [ObjectError] which of its functions failed.
//
// Their methods are safe for concurrent use. A Handle may be kept for ever; calls with
// one that has been unregistered return an error. tests/testdata/api/datamgr.txt lists
// these types with all their methods.
//
// All other types serve package engine, and do not check for mistakes of a program. The
// engine calls the methods of [Managed] on handles. Functions that need the submission
// lock take a [Submission], which [Registry.Lock] returns.
//
// # How it works
//
// A registry has one or more nodes: main memory, where every datum has its main instance,
// and the memories of devices, where tasks get instances of what they use. A fragment
// knows in which instances it is valid. A task gets all its memory on a node at once,
// fetches what it reads, and claims what it writes before its kernel starts; what is not
// valid anywhere else is written back to main memory when it is evicted. With one node
// there is none of that.
//
// With a disk, main memory is bounded like that of a device, and data that the runtime
// owns has its main instance on the disk (backing.go). Copies that the program holds of such
// data lie beside main memory (admit.go), and contributions are data (redux_data.go).
//
// Three handshakes between tasks that run and unordered accesses use no common lock. Their
// invariants, and the reason for each order of operations, are in merge.go.
//
// Lock order: submission lock (Registry), then one datum's lock, then one node's lock,
// access lock or accumulator list. Nothing is held while a kernel runs, and none but the
// submission lock while bytes are copied. The turn to look for room on a node is no lock:
// its owner takes data's locks, and a goroutine that waits for it holds none of these.
package datamgr
