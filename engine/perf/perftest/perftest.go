// Package perftest keeps tests away from the performance models of the user that runs
// them: policies read those even when nothing is calibrated.
package perftest

import "os"

// Private names an empty folder for performance models, for this process and
// those that it starts, and returns a function that removes it.
func Private() (remove func()) {
	dir, err := os.MkdirTemp("", "starpush-perf")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("STARPUSH_PERF_DIR", dir); err != nil {
		panic(err)
	}
	return func() { os.RemoveAll(dir) }
}
