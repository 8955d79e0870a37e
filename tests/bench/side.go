package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/starpush/starpush/accel/cpu/blas"
)

// side is one runtime of the comparison: a program that takes a workload and
// key=value pairs and prints a line of JSON.
type side struct {
	name    string // "StarPU", "libgomp", "starpush", "script"
	variant string // the policy of StarPU, else ""
	program string
	args    []string // between the workload and its own
	env     []string
	lacks   []string // workloads that it does not have
	numbers []string // keys that it does not know: rows that set one are not for it
	// start runs the program and returns what it prints; nil: in a process.
	start func(ctx context.Context, env []string, program string, args ...string) ([]byte, error)
}

// has reports whether s can run the row.
func (s *side) has(r *row) bool {
	if slices.Contains(s.lacks, r.args[0]) {
		return false
	}
	for _, a := range r.args[1:] {
		key, _, _ := strings.Cut(a, "=")
		if slices.Contains(s.numbers, key) {
			return false
		}
	}
	return true
}

// run runs one measurement, in a process of its own.
func (s *side) run(ctx context.Context, args ...string) (result, error) {
	start := s.start
	if start == nil {
		start = outputEnv
	}
	out, err := start(ctx, s.env, s.program, slices.Concat(args[:1], s.args, args[1:])...)
	if err != nil {
		return result{}, err
	}
	return parseResult(out)
}

// parseResult finds the line of JSON in what a program printed.
func parseResult(out []byte) (result, error) {
	for line := range bytes.Lines(out) {
		if line = bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			return r, fmt.Errorf("%s: %w", line, err)
		}
		if r.Runtime == "" || r.Workload == "" || r.Tasks < 1 || r.Seconds < 0 {
			return r, fmt.Errorf("%s: not a measurement", line)
		}
		return r, nil
	}
	return result{}, fmt.Errorf("no line of JSON in %q", out)
}

// ours are starpush through the Go API and from a script: this program again.
func ours(workers int) ([]*side, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out []*side
	for _, via := range []string{"go", "script"} {
		name := map[string]string{"go": "starpush", "script": "script"}[via]
		s := &side{name: name, program: self, args: []string{"via=" + via, "workers=" + strconv.Itoa(workers)}, env: blasEnv()}
		if via == "script" {
			s.lacks = slices.Sorted(maps.Keys(probes))
		}
		out = append(out, s)
	}
	return out, nil
}

// blasEnv gives both sides the same BLAS: without threads of its own, since tasks
// are the parallelism, and with the kernels that ours uses. Alone, OpenBLAS would
// take those of 2004 on a processor that is newer than the library.
var blasEnv = sync.OnceValue(func() []string {
	env := []string{"OPENBLAS_NUM_THREADS=1"}
	if core := openBLASCore(blas.Default().Name()); core != "" {
		env = append(env, "OPENBLAS_CORETYPE="+core)
	}
	return env
})

// openBLASCore finds the processor in the name of a provider, such as
// "OpenBLAS 0.3.21 SkylakeX (libopenblas.so.0)"; "" if there is none.
func openBLASCore(name string) string {
	if w := strings.Fields(name); len(w) > 3 && w[0] == "OpenBLAS" {
		return w[2]
	}
	return ""
}

// starpuSides are the StarPU peer, once for each policy. home is an empty folder
// that keeps StarPU's calibration as long as the command runs.
func starpuSides(program, home string, workers int, policies []string, dense bool) []*side {
	lacks := []string{"stencilhalo", "limit"}
	if !dense {
		lacks = append(lacks, "cholesky", "gemm")
	}
	n := strconv.Itoa(workers)
	var out []*side
	for _, p := range policies {
		out = append(out, &side{
			name: "StarPU", variant: p, program: program, args: []string{"workers=" + n}, lacks: lacks, numbers: []string{"frags", "readers"},
			env: append([]string{"STARPU_SCHED=" + p, "STARPU_NCPU=" + n, "STARPU_SILENT=1", "STARPU_HOME=" + home}, blasEnv()...),
		})
	}
	return out
}

// openmpSide is the OpenMP peer.
func openmpSide(program string, workers int) *side {
	return &side{
		name: "libgomp", program: program, env: []string{"OMP_NUM_THREADS=" + strconv.Itoa(workers)},
		lacks: []string{"commute", "redux", "stencilhalo", "cholesky", "gemm", "limit"}, numbers: []string{"frags", "readers"},
	}
}
