// Command bench measures starpush, beside its peers where the machine has them.
//
//	go run ./tests/bench peers    [key=value ...]   the peers' table; see below
//	go run ./tests/bench memory   [key=value ...]   memory, idleness and views
//	go run ./tests/bench growth   [key=value ...]   cost as the work grows, as pictures
//	go run ./tests/bench language [key=value ...] compiler, interpreter and files beside starlark-go
//	go run ./tests/bench kernels  [key=value ...] bodies of codelets beside the same loops in C
//	go run ./tests/bench ranks    [key=value ...] several processes beside StarPU-MPI
//	mpirun -n N bench rank WORKLOAD [key=value ...] a workload on N ranks, one line of JSON
//	go run ./tests/bench WORKLOAD [key=value ...] one measurement, one line of JSON
//
// peers builds the same workloads for StarPU and for gcc's OpenMP from
// tests/bench/peers, as far as the machine has them, runs all of them in turn
// and prints medians in one table. It takes rounds=, n=, workers=, only= (rows,
// with commas), policies= (of StarPU), table=overhead|dense, md=1 for a table in
// Markdown, json=1 for one line of JSON per cell. A command also reads --key=value
// and --json. memory, growth and language take the same where it makes sense; growth writes
// SVG files to tests/bench/results or to dir=. kernels takes rounds=, rows= (a regular
// expression for whole names), md= and json=.
//
// ranks runs Cholesky, heat and conjugate gradient on 1, 2 and 4 ranks of this machine beside StarPU-MPI, a chain of tasks
// over two ranks beside messages in C, and tasks that another rank runs. It builds what it needs from
// tests/bench/peers/starpu-mpi, and measures starpush alone where StarPU-MPI or its headers are missing. It takes rounds=,
// n= (tasks of a chain), workers= (on one rank; each of several has one), only=cholesky,heat,cg,chain,pruned,
// ranks=1,2,4, policies= (of StarPU), md=, json=, and log=FILE, to which it adds a line of JSON for each measurement
// and, as round 0, for each median. Results that differ between the sides are an error.
//
// Workloads, by default through engine's Go API, with via=script from a script:
//
//	independent  n=            n empty tasks, no data
//	chain        n=            n empty tasks, all RW on one 16-element vector
//	fanout       n= readers=   1 writer and 63 (or readers) readers of one vector, repeated
//	random       n= h= frags=  n empty tasks, each R,R,RW on three of h handles (fixed LCG), cut into frags fragments
//	commute      n=            n tasks adding 1 to one variable, COMMUTE
//	redux        n=            n tasks adding 1 to one variable, REDUX
//	stencil      w= t= ns=     Task Bench stencil_1d: w points, t steps, each task spins ns nanoseconds
//	stencilhalo  w= t= ns=     the same through views with a halo
//	cholesky     nb= b= p=s|d  tiled Cholesky of an (nb*b)^2 matrix, tile b
//	gemm         nb= b= p=s|d  tiled C+=A*B of (nb*b)^2 matrices
//
// and what has no script:
//
//	limit        n= nb= b= p=s|d   n products of tiles on every worker, of matrices of nb×nb, without a runtime
//	stream       n= h=         random with 10 million tasks; extra is the peak of resident memory, MiB
//	live         n= h=         n tasks of random that all wait, then run; extra is the memory of one, bytes
//	idle         ms=           a runtime without work for ms milliseconds; extra is its CPU time, percent
//	wake         n= ms=        tasks for workers that were parked for ms milliseconds: median time to a kernel's start
//	views        n= h=         views of n parts of each of h vectors; a part is a task
//	parse        n=            reading a script of n statements
//	check        n=            reading and checking it
//	compile      n=            all of it, in a process that has done nothing else
//	loop, fib    n=            n rounds of an adding loop, n calls of a function
//	insert       n=            submitting n tasks of random from a script, less the same from Go
//	start        n=            n processes starpush -e 'print(1)'
//	npy, mtx     n=            loading n elements, n entries; extra is the size of the file
//
// Every workload takes workers= (default 2), sched= (default lws), via=go|script and
// deterministic=1.
// Seconds run from the first submission to the end of the last task. The fields
// and the shapes are those of the peers' benchmarks, so that lines compare.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
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

// workloads run through the Go API and from a script.
var workloads = []string{"independent", "chain", "fanout", "random", "commute", "redux", "stencil", "stencilhalo", "cholesky", "gemm"}

// probes are measurements that have no script.
var probes = map[string]func(c *config, workers int) (measured, error){
	"limit":  limit,
	"stream": stream,
	"live":   live,
	"idle":   idle,
	"wake":   wake,
	"views":  views,

	"parse":   parseProbe,
	"check":   checkProbe,
	"compile": compileProbe,
	"loop":    callProbe(loopScript),
	"fib":     callProbe(fibScript),
	"insert":  insertProbe,
	"start":   startProbe,
	"npy":     npyProbe,
	"mtx":     mtxProbe,
}

// keys are the numbers that a workload may be given.
var keys = []string{"n", "h", "w", "t", "ns", "nb", "b", "workers", "frags", "readers", "ms", "deterministic"}

// commands run workloads, each in a process of its own, and print what came out.
var commands = map[string]func(ctx context.Context, args []string) error{
	"peers":    peers,
	"memory":   memory,
	"growth":   growth,
	"language": language,
	"kernels":  kernels,
	"ranks":    ranks,
	"rank":     rank,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ballast := make([]byte, 32<<20) // as in cmd/starpush
	defer runtime.KeepAlive(ballast)
	if err := doMain(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func doMain(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if command := commands[args[0]]; command != nil {
			return command(ctx, args[1:])
		}
	}
	c, err := parse(args)
	if err != nil {
		return err
	}
	r, err := run(c)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func parse(args []string) (*config, error) {
	if len(args) == 0 || !slices.Contains(workloads, args[0]) && probes[args[0]] == nil {
		return nil, fmt.Errorf("usage: bench COMMAND|WORKLOAD [key=value ...], COMMAND one of %s, WORKLOAD one of %s",
			strings.Join(slices.Sorted(maps.Keys(commands)), " "),
			strings.Join(append(slices.Clone(workloads), slices.Sorted(maps.Keys(probes))...), " "))
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
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("no key %q", key)
		}
		n, err := parseNumber(key, value)
		if err != nil {
			return nil, err
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

// parseNumber reads a number of a key.
func parseNumber(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s needs a number of 0 or more, not %q", key, value)
	}
	return n, nil
}

// run measures one workload.
func run(c *config) (result, error) {
	measure := viaGo
	if c.via == "script" {
		measure = viaScript
	}
	if probe := probes[c.workload]; probe != nil {
		if measure = probe; c.via == "script" {
			return result{}, fmt.Errorf("%s has no script", c.workload)
		}
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
