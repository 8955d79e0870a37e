package datatest_test

import (
	"os"
	"testing"

	"github.com/starpush/starpush/engine/perf/perftest"
)

func TestMain(m *testing.M) {
	remove := perftest.Private()
	code := m.Run()
	remove()
	os.Exit(code)
}
