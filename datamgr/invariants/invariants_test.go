package invariants

import "testing"

func TestViolated(t *testing.T) {
	defer func() {
		if got, want := recover(), "invariant violated: an epoch has -1 members"; got != want {
			t.Errorf("panic %v; want %q", got, want)
		}
	}()
	Violated("an epoch has %d members", -1)
}
