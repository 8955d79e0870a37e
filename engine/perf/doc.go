// Package perf learns how long tasks take, and predicts it.
//
// A Model is what a codelet declares: which kind of prediction it wants. The measurements
// of one codelet are a Table: for each architecture, implementation and variant of it, and
// each number of workers of a parallel task, one Entry for each footprint, that is for each
// combination of operand sizes, element types and chosen arguments. A Book holds the tables of one running program, and a Store the files in
// which they outlive it.
//
// Kinds of models, as in StarPU:
//
//	History     the median of the recent measurements with the same footprint
//	Regression  a·n^b, fitted to the entries in logarithmic space
//	NonLinear   a·n^b + c, the same with a constant start-up time
//	Multiple    a polynomial of the user's in parameters of the user's
//	Common      a function of the user's, with a factor for each architecture
//	PerArch     a function of the user's for each architecture
//
// The kinds that are fitted answer from the history of the very footprint where that is
// known better than the curve, and outside the sizes that were measured; else from the
// curve, which says so when it is extrapolated.
//
// # Concurrency
//
// Models are immutable. Books, tables and stores are safe for concurrent use. A Recorder
// belongs to one worker: it collects measurements without a shared lock, and adds them to
// the tables from time to time.
//
// # Files
//
// A file holds one codelet on one machine, as JSON with a version. Several processes may
// use a folder at once: each adds what it measured to the file as it is then, under a
// lock, and the new version replaces the old one by a rename. A file that cannot be read,
// or of a newer version, is never replaced.
package perf
