package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// resident returns a line of Linux' status of this process in bytes: VmRSS is what
// is resident now, VmHWM the most that ever was.
func resident(line string) (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("resident memory is measured on Linux only: %w", err)
	}
	return statusBytes(text, line)
}

func statusBytes(text []byte, line string) (int64, error) {
	for l := range bytes.Lines(text) {
		value, ok := strings.CutPrefix(string(l), line+":")
		if !ok {
			continue
		}
		f := strings.Fields(value)
		if len(f) != 2 || f[1] != "kB" {
			break
		}
		n, err := strconv.ParseInt(f[0], 10, 64)
		return n << 10, err
	}
	return 0, fmt.Errorf("no size %s in the status of the process", line)
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
