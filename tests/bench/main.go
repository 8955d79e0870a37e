// Command bench runs the workloads of the runtime benchmarks on starpush's Go
// API, or, with via=script, from a script, and prints one line of JSON:
//
//	go run ./tests/bench WORKLOAD [key=value ...]
//
//	independent  n=            n empty tasks, no data
//	chain        n=            n empty tasks, all RW on one 16-element vector
//	fanout       n=            1 writer and 63 readers of one vector, repeated
//	random       n= h=         n empty tasks, each R,R,RW on three of h handles (fixed LCG)
//	commute      n=            n tasks adding 1 to one variable, COMMUTE
//	redux        n=            n tasks adding 1 to one variable, REDUX
//	stencil      w= t= ns=     Task Bench stencil_1d: w points, t steps, each task spins ns nanoseconds
//	cholesky     nb= b= p=s|d  tiled Cholesky of an (nb*b)^2 matrix, tile b
//	gemm         nb= b= p=s|d  tiled C+=A*B of (nb*b)^2 matrices
//
// Every workload takes workers= (default 2), sched= (default lws) and via=go|script.
// Seconds run from the first submission to the end of the last task. The fields
// and the shapes are those of the peers' benchmarks, so that lines compare.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is one line of output.
type result struct {
	Runtime   string  `json:"runtime"`
	Workload  string  `json:"workload"`
	Workers   int     `json:"workers"`
	Tasks     int     `json:"tasks"`
	Seconds   float64 `json:"seconds"`
	USPerTask float64 `json:"us_per_task"`
	Extra     float64 `json:"extra"`
}

// config is the command line.
type config struct {
	workload string
	via      string
	sched    string
	prec     string
	ints     map[string]int
}

// get returns the integer key, or its default.
func (c *config) get(key string, def int) int {
	if v, ok := c.ints[key]; ok {
		return v
	}
	return def
}

// measured is what a workload reports.
type measured struct {
	tasks   int
	elapsed time.Duration
	extra   float64
}

var workloads = []string{"independent", "chain", "fanout", "random", "commute", "redux", "stencil", "cholesky", "gemm"}

func main() {
	c, err := parse(os.Args[1:])
	if err == nil {
		var r result
		if r, err = run(c); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func parse(args []string) (*config, error) {
	if len(args) == 0 || !slices.Contains(workloads, args[0]) {
		return nil, fmt.Errorf("usage: bench WORKLOAD [key=value ...], WORKLOAD one of %s", strings.Join(workloads, " "))
	}
	c := &config{workload: args[0], via: "go", sched: "lws", prec: "d", ints: map[string]int{}}
	for _, a := range args[1:] {
		key, value, ok := strings.Cut(a, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not key=value", a)
		}
		words := map[string]*string{"via": &c.via, "sched": &c.sched, "p": &c.prec}
		if w := words[key]; w != nil {
			*w = value
			continue
		}
		if !slices.Contains([]string{"n", "h", "w", "t", "ns", "nb", "b", "workers"}, key) {
			return nil, fmt.Errorf("no key %q", key)
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s needs a number of 0 or more, not %q", key, value)
		}
		c.ints[key] = n
	}
	if c.via != "go" && c.via != "script" {
		return nil, fmt.Errorf("via is go or script, not %q", c.via)
	}
	if c.prec != "s" && c.prec != "d" {
		return nil, fmt.Errorf("p is s or d, not %q", c.prec)
	}
	return c, nil
}

// run measures one workload.
func run(c *config) (result, error) {
	measure := viaGo
	if c.via == "script" {
		measure = viaScript
	}
	workers := c.get("workers", 2)
	m, err := measure(c, workers)
	if err != nil {
		return result{}, err
	}
	name := "starpush"
	if c.via == "script" {
		name = "starpush-script"
	}
	s := m.elapsed.Seconds()
	return result{
		Runtime: name, Workload: c.workload, Workers: workers, Tasks: m.tasks,
		Seconds: s, USPerTask: s / float64(max(m.tasks, 1)) * 1e6, Extra: m.extra,
	}, nil
}
