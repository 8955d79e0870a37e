// Package invariants switches on checks of what the code relies on and cannot say with
// types. They cost too much, or fail too hard, for a normal build:
//
//	if invariants.Enabled && n < 0 {
//		invariants.Violated("an epoch has %d members", n)
//	}
//
// Without the build tag of the same name Enabled is a constant false, and the compiler
// leaves the check out.
package invariants

import "fmt"

// Violated panics: an invariant does not hold, which is a defect of the package that calls.
// Call it only where Enabled is true. The text says what was found.
func Violated(format string, args ...any) {
	panic("invariant violated: " + fmt.Sprintf(format, args...))
}
