//go:build !unix

package main

import (
	"errors"
	"time"
)

// cpuTime is the time that the threads of this process have run.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("CPU time is measured on Unix only")
}
