package repl

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/engine/perf/perftest"
)

// TestMain checks that no conversation leaves a goroutine behind.
func TestMain(m *testing.M) {
	remove := perftest.Private()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}
