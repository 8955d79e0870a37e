package repl

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no conversation leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
