package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

//go:embed scripts/*.spu
var scripts embed.FS

// viaScript measures a workload that a script submits. The script marks the
// measured part with start() and stop().
func viaScript(c *config, workers int) (measured, error) {
	text, err := scripts.ReadFile("scripts/" + c.workload + ".spu")
	if err != nil {
		return measured{}, err
	}
	elem := map[string]string{"s": "f32", "d": "f64"}[c.prec]
	src := strings.ReplaceAll(string(text), "TYPE", elem)

	var began, ended time.Time
	cfg, err := scriptConfig(c, &began, &ended)
	if err != nil {
		return measured{}, err
	}
	comp, err := lang.NewCompiler(*cfg)
	if err != nil {
		return measured{}, err
	}
	ctx := context.Background()
	prog, diags := comp.Compile(ctx, c.workload+".spu", []byte(src))
	if err := diags.Err(); err != nil {
		return measured{}, err
	}
	rt, err := engine.New(engine.Options{Workers: workers, Policy: c.sched, Deterministic: c.get("deterministic", 0) > 0})
	if err != nil {
		return measured{}, err
	}
	defer rt.Close()
	opts := []lang.Option{lang.Stdout(io.Discard)}
	defaults := map[string]int{"n": 100000, "h": 1024, "w": 16, "t": 1000, "frags": 1, "readers": 63, "nb": 16, "b": 320}
	for _, p := range prog.Params() {
		opts = append(opts, lang.Param(p.Name, c.get(p.Name, defaults[p.Name])))
	}
	inst, err := prog.Run(ctx, rt, opts...)
	if err != nil {
		return measured{}, err
	}
	if err := inst.Close(); err != nil {
		return measured{}, err
	}
	m := measured{elapsed: ended.Sub(began)}
	nb := c.get("nb", defaults["nb"])
	n := float64(nb) * float64(c.get("b", defaults["b"]))
	switch c.workload {
	case "stencil", "stencilhalo":
		m.tasks = c.get("w", defaults["w"]) * c.get("t", defaults["t"])
		m.extra = efficiency(c.get("ns", 0), m, workers)
	case "cholesky":
		m.tasks = nb * (nb + 1) * (nb + 2) / 6
		m.extra = n * n * n / 3 / m.elapsed.Seconds() / 1e9
	case "gemm":
		m.tasks = nb * nb * nb
		m.extra = 2 * n * n * n / m.elapsed.Seconds() / 1e9
	default:
		m.tasks = c.get("n", defaults["n"])
		if c.workload == "commute" || c.workload == "redux" {
			m.extra = float64(m.tasks) // the script asserts the sum
		}
	}
	return m, nil
}

// scriptConfig offers the scripts std/blas, a clock, the random operands and the
// stencil's kernels.
func scriptConfig(c *config, began, ended *time.Time) (*lang.Config, error) {
	mark := func(name string, at *time.Time) (*lang.Func, error) {
		return lang.NewFunc(name+"()", func(context.Context, []any) (any, error) {
			*at = time.Now()
			return nil, nil
		})
	}
	start, err := mark("start", began)
	if err != nil {
		return nil, err
	}
	stop, err := mark("stop", ended)
	if err != nil {
		return nil, err
	}
	draw, err := lang.NewFunc("draws(n: int, h: int) -> list[int]", func(_ context.Context, args []any) (any, error) {
		n, h := args[0].(int64), args[1].(int64)
		if n < 0 || h < 3 {
			return nil, fmt.Errorf("draws needs n of 0 or more and h of 3 or more, not %d and %d", n, h)
		}
		return draws(int(n), int(h)), nil
	})
	if err != nil {
		return nil, err
	}
	spin := spinner(c.get("ns", 0))
	var kernels []*lang.Codelet
	for _, sig := range []string{
		"mid(b: W vector[f32], l: R vector[f32], c: R vector[f32], r: R vector[f32])",
		"side(b: W vector[f32], c: R vector[f32], o: R vector[f32])",
		"point(b: W vector[f32], h: R vector[f32])",
	} {
		k, err := lang.NewCodelet(sig, lang.CPU(func(*lang.Task) error { spin(); return nil }))
		if err != nil {
			return nil, err
		}
		kernels = append(kernels, k)
	}
	return &lang.Config{
		Codelets: kernels,
		Funcs:    []*lang.Func{start, stop, draw},
		Modules:  stdlib.Modules(),
	}, nil
}
