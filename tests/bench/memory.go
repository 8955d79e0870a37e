package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

// probeRow is one line of the memory table.
type probeRow struct {
	key, label string
	args       []string
	unit       string
	goal       float64
	value      func(r result) float64
	scale      bool // n follows the option n, which stands for 10 million tasks
}

func extra(r result) float64 { return r.Extra }

func perTask(r result) float64 { return r.USPerTask }

// memoryRows are the goals besides speed.
var memoryRows = []probeRow{
	{key: "stream", label: "resident at most, tasks streamed through the default window", args: []string{"stream"}, unit: "MiB", goal: 150, value: extra, scale: true},
	{key: "live", label: "a live task with three handles", args: []string{"live", "n=200000"}, unit: "bytes", goal: 256, value: extra},
	{key: "idle", label: "an idle runtime, of one CPU", args: []string{"idle", "ms=5000"}, unit: "%", goal: 0.1, value: extra},
	{key: "wake", label: "wake-up of a parked worker, median", args: []string{"wake", "n=200"}, unit: "µs", goal: 50, value: perTask},
	viewRow(100), viewRow(1000), viewRow(10_000), viewRow(100_000),
}

func viewRow(parts int) probeRow {
	n := strconv.Itoa(parts)
	return probeRow{key: "views-" + n, label: "declaring a view of " + n + " parts, a part", args: []string{"views", "n=" + n}, unit: "µs", goal: 0.5, value: perTask}
}

// memory measures what a runtime takes besides the time of tasks.
func memory(ctx context.Context, args []string) error {
	o, err := parseOptions(args, options{rounds: 3, n: 10_000_000, workers: 2})
	if err != nil {
		return err
	}
	sides, err := ours(o.workers)
	if err != nil {
		return err
	}
	return probe(ctx, os.Stdout, os.Stderr, o, sides[0])
}

// probe runs the rows of the memory table, each in processes of its own.
func probe(ctx context.Context, w, progress io.Writer, o *options, s *side) error {
	t := &table{title: "Memory, idleness and views", head: []string{"", "measured", "goal", "unit"}}
	enc := json.NewEncoder(w)
	for _, r := range memoryRows {
		if len(o.only) > 0 && !slices.Contains(o.only, r.key) {
			continue
		}
		args, label := r.args, r.label
		if r.scale {
			args = append(slices.Clone(args), "n="+strconv.Itoa(o.n))
			label = fmt.Sprintf("%s: %d", label, o.n)
		}
		var all []result
		for range o.rounds {
			fmt.Fprintf(progress, "\r%-60s", r.label)
			m, err := s.run(ctx, args...)
			if err != nil {
				return err
			}
			m.Workload = r.key
			all = append(all, m)
		}
		slices.SortFunc(all, func(a, b result) int { return cmp.Compare(r.value(a), r.value(b)) })
		m := all[len(all)/2]
		t.add(label, number(r.value(m)), number(r.goal), r.unit)
		if o.json {
			if err := enc.Encode(m); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(progress)
	if len(t.rows) == 0 {
		return fmt.Errorf("only= names no row of the table")
	}
	if o.json {
		return nil
	}
	t.notes = machineNotes(ctx, fmt.Sprintf("%d workers, medians of %d", o.workers, o.rounds))
	return t.write(w, o.markdown)
}
