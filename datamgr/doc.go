// Package datamgr is the data manager: registered data, the views that cut it
// into parts, the order of accesses to it, and where its valid copies are.
//
// A datum is one registered piece of data. A Handle names a box of its index
// space; partitioning makes handles and moves nothing. A fragment is a piece of
// the datum that no view cuts. Two things hang on a fragment: the order of
// accesses (epochs) and the validity of copies. Nothing hangs on views, so
// overlapping parts, nested views and parents used beside their children are
// one case.
//
// Most of the package serves package engine and is used under the submission
// lock (Registry.Lock). What a program calls is Handle and View, whose methods
// are safe for concurrent use.
//
// A registry has one or more nodes: main memory, where every datum has its main
// instance, and the memories of devices, where tasks get instances of what they
// use. A fragment knows in which instances it is valid. A task gets all its
// memory on a node at once, fetches what it reads, and claims what it writes
// before its kernel starts; what is not valid anywhere else is written back to
// main memory when it is evicted. With one node there is none of that.
//
// With a disk, main memory is bounded like that of a device, and data that the runtime
// owns has its main instance on the disk (disk.go). What the program holds of such data
// lies beside main memory (aside.go), and contributions are data (redux_apart.go).
//
// Lock order: submission lock (Registry), then one datum's lock, then one node's
// lock, access lock or accumulator list. Nothing is held while a kernel runs, and
// none but the submission lock while bytes are copied. The turn to look for room
// on a node is no lock: who has it takes data's locks, and who waits for it has none
// of these.
package datamgr
