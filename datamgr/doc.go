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
// Lock order: submission lock (Registry), then one datum's lock, then one
// access lock or one accumulator list. Nothing is held while a kernel runs, and
// none of the last three while bytes are copied.
package datamgr
