package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
)

// METG(50 %), the minimum effective task granularity of Task Bench (Slaughter et
// al., SC20): the length of the tasks at which half of the workers' time is useful
// work. Shorter tasks cost more to run than they do.
//
// With overhead o per task, the efficiency of tasks of length s is s / (s + o), so
// one run near 50 % tells o, which is the length wanted. Each round runs at
// the length that the rounds before say, and the answer is their median.

// collectMETG adds the row metg to s: us_per_task is the length in µs, extra the
// efficiency that the run had. Of a side's variants it takes the one that was
// best on stencil.
func collectMETG(ctx context.Context, progress io.Writer, got *samples, o *options, sides []*side) error {
	var candidates []*side
	for _, s := range sides {
		if !s.has(&metgRow) {
			continue
		}
		if _, best, ok := got.best("stencil", s.name); ok && s.variant != best {
			continue
		}
		candidates = append(candidates, s)
	}
	for round := range o.rounds + 1 { // the first one finds the place to look at
		for i, s := range candidates {
			fmt.Fprintf(progress, "\rMETG round %d of %d: %d of %d  ", round, o.rounds, i+1, len(candidates))
			key := keyOf(&metgRow, s)
			if got.failed[key] != nil {
				continue
			}
			estimates := got.all[key]
			length := 2000.0 // ns
			if m, ok := median(estimates); ok {
				length = m.USPerTask * 1e3
			}
			m, err := s.run(ctx, metgArgs(o, length)...)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				m.USPerTask, err = metg(m, length)
			}
			if err != nil {
				got.failed[key] = err
				fmt.Fprintf(progress, "\n%s %s, metg: %v\n", s.name, s.variant, err)
				continue
			}
			if round == 1 {
				estimates = nil // what the first one found was far from 50 %
			}
			got.all[key] = append(estimates, m)
		}
	}
	fmt.Fprintln(progress)
	return nil
}

// metgArgs is stencil with tasks of ns nanoseconds, and so few of them that it
// takes about a second where they are long.
func metgArgs(o *options, ns float64) []string {
	short := *o
	short.n = max(min(o.n, int(0.5e9*float64(o.workers)/ns)), min(o.n, 1024))
	return append(short.scaled(metgRow).args, "ns="+strconv.Itoa(int(math.Round(ns))))
}

// metg is the task length in µs at which the efficiency would be one half, from
// a run with tasks of length ns.
func metg(m result, ns float64) (float64, error) {
	if !(m.Extra > 0) {
		return 0, fmt.Errorf("efficiency %v with tasks of %v ns", m.Extra, ns)
	}
	// Not below what makes sense: where the submitter has a core of its own and
	// helps, efficiencies may pass 1. Nor where there is no answer: on a machine
	// that is busy with other things half of the time.
	return min(max(ns*(1-m.Extra)/m.Extra, 1), 1e6) / 1e3, nil
}
