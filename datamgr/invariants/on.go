//go:build invariants

package invariants

// Enabled reports whether invariants are checked.
const Enabled = true
