package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/accel/mpi"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// rankWorkloads are the workloads of rank, with the values of their parameters that are not given.
var rankWorkloads = map[string]map[string]int{
	"cholesky": {"nt": 20, "nb": 256, "p": 1, "q": 1},
	"heat":     {"n": 4096, "nb": 8, "t": 60},
	"cg":       {"n": 4096, "nb": 8, "t": 40},
	"chain":    {"n": 300, "bytes": 8},
	"pruned":   {"n": 19600},
}

// rankTraffic is what a run on several ranks sent, all ranks together, as its report has it.
type rankTraffic struct {
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
}

// rankConfig is the command line of rank.
type rankConfig struct {
	workload, via string
	ints          map[string]int
}

// parseRank reads the command line of rank.
func parseRank(args []string) (*rankConfig, error) {
	if len(args) == 0 || rankWorkloads[args[0]] == nil {
		return nil, fmt.Errorf("usage: mpirun -n N bench rank cholesky|heat|cg|chain|pruned [key=value ...]")
	}
	c := &rankConfig{workload: args[0], via: "script", ints: map[string]int{"workers": 1, "check": 1}}
	for key, value := range rankWorkloads[args[0]] {
		c.ints[key] = value
	}
	for _, a := range args[1:] {
		key, value, _ := strings.Cut(a, "=")
		if key == "via" && (value == "go" || value == "script") {
			c.via = value
			continue
		}
		if _, known := c.ints[key]; !known {
			return nil, fmt.Errorf("%s has no %q; there are %s", c.workload, a, strings.Join(slices.Sorted(maps.Keys(c.ints)), " "))
		}
		n, err := parseNumber(key, value)
		if err != nil {
			return nil, err
		}
		c.ints[key] = n
	}
	if c.via == "go" && c.workload != "pruned" {
		return nil, fmt.Errorf("%s runs from a script alone: leave via=go out", c.workload)
	}
	if c.ints["workers"] < 1 {
		return nil, fmt.Errorf("workers needs a number of 1 or more, not 0")
	}
	if c.workload == "chain" {
		c.ints["elements"] = c.ints["bytes"] / 8
	}
	return c, nil
}

// rank is one of several processes that mpirun has started, or the only one. It runs one workload of ranks from a script; rank 0
// prints a line of JSON, extra is the checksum, and with check=0 a second one with what was sent.
func rank(ctx context.Context, args []string) (err error) {
	c, err := parseRank(args)
	if err != nil {
		return err
	}
	var end cluster.Comm = alone{}
	if launch, ok := mpi.Launched(); ok && launch.Size != 1 {
		world, err := mpi.Init(ctx, mpi.Options{})
		if err != nil {
			return err
		}
		end = cluster.OverMPI(world.Comm())
		defer func() {
			if err == nil {
				err = world.Close(ctx)
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "bench: rank %d: %v\n", world.Rank(), err)
				world.Abort(2)
			}
		}()
		return runRank(ctx, c, end, os.Stdout)
	}
	return runRank(ctx, c, end, os.Stdout)
}

// alone is the end of the only rank.
type alone struct{}

func (alone) Rank() int                                   { return 0 }
func (alone) Size() int                                   { return 1 }
func (alone) Send(_, _ int, _ []byte, _ func(error))      { panic("one rank sends a message") }
func (alone) Ssend(_, _ int, _ []byte, _ func(error))     { panic("one rank sends a message") }
func (alone) Recv(_, _ int, _ []byte, _ func(int, error)) { panic("one rank receives a message") }

// runRank runs c on one rank, and prints on w if that is rank 0.
func runRank(ctx context.Context, c *rankConfig, end cluster.Comm, w io.Writer) error {
	rt, err := engine.New(engine.Options{Workers: c.ints["workers"], Policy: "lws"})
	if err != nil {
		return err
	}
	defer rt.Close()
	var m measured
	var sent rankTraffic
	name := "starpush"
	if c.via == "go" {
		m, err = prunedRank(ctx, c, rt, end)
	} else {
		name = "starpush-script"
		m, sent, err = rankScript(ctx, c, rt, end)
	}
	if err != nil || end.Rank() > 0 {
		return err
	}
	s := m.elapsed.Seconds()
	out := json.NewEncoder(w)
	err = out.Encode(result{
		Runtime: name, Workload: c.workload, Workers: c.ints["workers"], Tasks: m.tasks,
		Seconds: s, USPerTask: s / float64(max(m.tasks, 1)) * 1e6, Extra: m.extra,
	})
	if err == nil && c.ints["check"] == 0 {
		err = out.Encode(sent)
	}
	return err
}

// rankScript runs the script of c, which marks the measured part with start() and stop() and gives its result to checksum().
func rankScript(ctx context.Context, c *rankConfig, rt *engine.Runtime, end cluster.Comm) (m measured, sent rankTraffic, err error) {
	text, err := scripts.ReadFile("scripts/ranks_" + c.workload + ".spu")
	if err != nil {
		return m, sent, err
	}
	var began time.Time
	var funcs []*lang.Func
	for signature, call := range map[string]func(args []any){
		"start()":            func([]any) { began = time.Now() },
		"stop()":             func([]any) { m.elapsed = time.Since(began) },
		"checksum(x: float)": func(args []any) { m.extra = args[0].(float64) },
	} {
		f, err := lang.NewFunc(signature, func(_ context.Context, args []any) (any, error) {
			call(args)
			return nil, nil
		})
		if err != nil {
			return m, sent, err
		}
		funcs = append(funcs, f)
	}
	cfg := lang.Config{Funcs: funcs, Modules: stdlib.Modules()}
	if dir, err := cacheDir(); err == nil { // as the command keeps machine code
		cfg.KernelCache = filepath.Join(dir, "kernels")
	}
	comp, err := lang.NewCompiler(cfg)
	if err != nil {
		return m, sent, err
	}
	prog, diags := comp.Compile(ctx, "ranks_"+c.workload+".spu", text)
	if err := diags.Err(); err != nil {
		return m, sent, err
	}
	opts := []lang.Option{lang.Stdout(io.Discard)}
	c.ints["ranks"] = end.Size()
	for _, p := range prog.Params() {
		opts = append(opts, lang.Param(p.Name, c.ints[p.Name]))
	}
	if end.Size() > 1 {
		opts = append(opts, lang.Ranks(end), lang.ObserveRanks(func(r *cluster.Report) {
			t := r.Sent()
			sent = rankTraffic{t.Messages, t.Bytes}
		}))
	}
	inst, err := prog.Run(ctx, rt, opts...)
	if err == nil {
		err = inst.Close()
	}
	m.tasks = c.tasks()
	return m, sent, err
}

// tasks returns how many tasks the measured part has.
func (c *rankConfig) tasks() int {
	switch nb := c.ints["nb"]; c.workload {
	case "cholesky":
		nt := c.ints["nt"]
		return nt * (nt + 1) * (nt + 2) / 6
	case "heat":
		return nb * c.ints["t"]
	case "cg":
		sums := 1 + 2*c.ints["ranks"]
		return sums + nb + c.ints["t"]*(2*sums+nb*nb+6*nb)
	case "pruned":
		return c.ints["n"] / 196 * 196
	}
	return c.ints["n"]
}

// prunedRank inserts empty tasks of rank 1, whose data is there, and measures what that costs on this rank.
func prunedRank(ctx context.Context, c *rankConfig, rt *engine.Runtime, end cluster.Comm) (m measured, err error) {
	const tiles = 14
	j := cluster.NewJob(ctx, rt, end, cluster.Options{})
	defer func() {
		if closed := j.Close(); err == nil {
			err = closed
		}
	}()
	var parts [3][]*datamgr.Handle
	for i := range parts {
		h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{tiles, tiles}, Owner: 1 + 1}, func(*iface.Buffer) error { return nil })
		if err != nil {
			return m, err
		}
		v, err := rt.Partition(h, filter.TilesN([]int{tiles, tiles}, 0))
		if err != nil {
			return m, err
		}
		parts[i] = v.Parts
	}
	empty := &engine.Codelet{Name: "product", Modes: []iface.AccessMode{iface.R, iface.R, iface.RW}, CPU: []engine.Impl{func(*engine.TaskContext) error { return nil }}}
	task := &cluster.Task{TaskSpec: engine.TaskSpec{Codelet: empty, Operands: []engine.Operand{{Mode: iface.R}, {Mode: iface.R}, {Mode: iface.RW}}}}
	m.tasks = c.tasks()
	m.extra = float64(m.tasks)
	for range 2 { // the first time looks all of it up
		if err := j.Wait(ctx); err != nil {
			return m, err
		}
		began := time.Now()
		for k := range m.tasks {
			row, col, inner := k/tiles%tiles, k%tiles, k/(tiles*tiles)%tiles
			for i, at := range [3]int{row*tiles + inner, inner*tiles + col, row*tiles + col} {
				task.Operands[i].Handle = parts[i][at]
			}
			if err := j.Submit(task); err != nil {
				return m, err
			}
		}
		m.elapsed = time.Since(began)
	}
	return m, j.Wait(ctx)
}
