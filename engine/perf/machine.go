package perf

// Which machine a time belongs to.

import (
	"bufio"
	"os"
	"runtime"
	"strings"
)

// Machine names this machine for files: the value of STARPUSH_PERF_MACHINE, or the model
// of its CPU, so that equal nodes of a cluster and containers with random host names
// share measurements. If the model is not known, the host name is used. getenv is as
// os.Getenv.
func Machine(getenv func(string) string) string {
	if m := getenv("STARPUSH_PERF_MACHINE"); m != "" {
		return slug(m)
	}
	if m := cpuModel(); m != "" {
		return slug(m)
	}
	if m, err := os.Hostname(); err == nil && m != "" {
		return slug(runtime.GOARCH + "-" + m)
	}
	return slug(runtime.GOOS + "-" + runtime.GOARCH)
}

// cpuModel is the model of the CPU as Linux tells it, "" elsewhere.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.Join(strings.Fields(v), " ")
		}
	}
	return ""
}
