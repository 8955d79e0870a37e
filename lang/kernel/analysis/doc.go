// Package analysis checks lowered bodies of codelets, and finds out what back ends may
// rely on.
//
// Check runs the checks that need a whole body: accesses that are certain to be out of
// bounds (bounds.go), rounds of an each that depend on each other (races.go), reads of W
// operands before anything is written to them (read_before_write.go), W operands with
// elements that no store reaches (unwritten.go), and operands that are not used. A check
// reports only what happens in every run that reaches the place.
//
// For the back ends, Independent and DependenceOf find out whether the rounds of a for
// depend on each other (dependence.go), and Rounds.Demands lists the conditions under which
// no round faults, so that rounds may run in another order or on a device that cannot
// report a fault (demands.go). MixedContribution finds contributions to a reduction that
// are computed in another type than that of the elements (contribution.go). KnownLimits has the
// smallest and largest values of ints, which may then be computed in fewer bits (limits.go).
//
// Most of it is arithmetic on indices: linear forms over the indices of loops and the sizes
// of operands (linear.go).
package analysis
