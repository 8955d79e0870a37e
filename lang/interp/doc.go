// Package interp runs checked scripts, for package lang. [Compile] turns the annotated tree of a
// [check.Program] into typed closures over slots: an expression of type int is a
// func(*frame) int64, so that numbers are never boxed; statements are closures
// that say how control goes on. A [Program] is immutable and shared by runs.
//
// A [Machine] is one run: the frames of the units, the job that its tasks belong
// to, the handles that its open blocks own. One goroutine uses it at a time; it
// holds no locks. Every insert statement keeps its task description, filled again
// at each execution, so that an insert in a loop allocates nothing here.
//
// Run-time errors travel as a private panic to the entry points of Machine
// ([Start], Call, Wait, Eval), which return them as diagnostics. On the way they
// pass the blocks, which release arrays and unregister handles. Panics of host
// functions are caught where they are called; any other panic that reaches an
// entry point becomes a diagnostic as well: nothing leaves the package.
//
// Each construct has its compiler, its code and its run-time errors in one file: data.go
// (register, invalidate, unregister, evict, prefetch, hint), view.go (partition), insert.go,
// acquire.go, wait.go, index.go, call.go. Errors that the engine returns become diagnostics
// in errors.go.
package interp
