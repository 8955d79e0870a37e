package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// languageRow is one line of the table about the language.
type languageRow struct {
	row
	unit  string
	goal  string
	more  bool // more is better
	value func(r result) float64
}

func perSecond(r result) float64 { return float64(r.Tasks) / r.Seconds }

func nanoseconds(r result) float64 { return r.USPerTask * 1e3 }

func milliseconds(r result) float64 { return r.USPerTask / 1e3 }

// megabytes is the rate of a file whose size is extra.
func megabytes(r result) float64 { return r.Extra / 1e6 / r.Seconds }

// languageRows are the figures of compiler and interpreter, and of files. Tasks
// are statements, rounds, calls, inserts, processes and files.
var languageRows = []languageRow{
	{row{key: "parse", label: "parse", args: []string{"parse", "n=20000"}}, "statements/s", none, true, perSecond},
	{row{key: "check", label: "parse and check", args: []string{"check", "n=20000"}}, "statements/s", "50000", true, perSecond},
	{row{key: "compile", label: "compile 100 000 statements, first time", args: []string{"compile", "n=100000"}}, "s", "2", false, func(r result) float64 { return r.Seconds }},
	{row{key: "loop", label: "a round of an adding loop", args: []string{"loop", "n=2000000"}}, "ns", "starlark-go", false, nanoseconds},
	{row{key: "fib", label: "a call of fib", args: []string{"fib", "n=2000000"}}, "ns", "starlark-go", false, nanoseconds},
	{row{key: "insert", label: "an insert in a loop, without the engine", args: []string{"insert", "n=50000"}}, "ns", "300", false, nanoseconds},
	{row{key: "start", label: "starpush -e 'print(1)', start to end", args: []string{"start", "n=20"}}, "ms", "20", false, milliseconds},
	{row{key: "npy", label: "load .npy, 128 MiB of f64", args: []string{"npy"}}, "MB/s", "1000", true, megabytes},
	{row{key: "mtx", label: "load .mtx, 500 000 entries of f64", args: []string{"mtx"}}, "MB/s", "50", true, megabytes},
}

// language measures compiler and interpreter beside starlark-go.
func language(ctx context.Context, args []string) error {
	o, err := parseOptions(args, options{rounds: 5, n: 1, workers: 1})
	if err != nil {
		return err
	}
	dir, err := cacheDir()
	if err != nil {
		return err
	}
	own, err := ours(o.workers)
	if err != nil {
		return err
	}
	sides := own[:1]
	var notes []string
	program, err := buildStarlark(ctx, dir)
	var m *missing
	switch {
	case err == nil:
		sides = append(sides, starlarkSide(program))
	case errors.As(err, &m):
		notes = append(notes, m.Error())
		fmt.Fprintln(os.Stderr, m)
	default:
		return err
	}
	return languageTable(ctx, os.Stdout, os.Stderr, o, sides, notes)
}

// starlarkSide is the peer in starlark-go.
func starlarkSide(program string) *side {
	return &side{name: "starlark-go", program: program, lacks: []string{"insert", "npy", "mtx"}}
}

// languageTable measures and prints the rows that o asks for.
func languageTable(ctx context.Context, w, progress io.Writer, o *options, sides []*side, notes []string) error {
	var rows []*row
	for i := range languageRows {
		if o.wants(&languageRows[i].row) {
			rows = append(rows, &languageRows[i].row)
		}
	}
	if len(rows) == 0 {
		var keys []string
		for _, r := range languageRows {
			keys = append(keys, r.key)
		}
		return fmt.Errorf("no row of only=%s; there are %s", strings.Join(o.only, ","), strings.Join(keys, " "))
	}
	got, err := collect(ctx, progress, rows, sides, o.rounds)
	if err != nil {
		return err
	}
	t := &table{title: "The language", head: []string{"", "starpush", "starlark-go", "goal", "unit", "better by"}}
	enc := json.NewEncoder(w)
	for _, r := range languageRows {
		if !o.wants(&r.row) {
			continue
		}
		m, _, ok := got.best(r.key, "starpush")
		if !ok {
			return fmt.Errorf("%s: %w", r.key, got.failed[sampleKey{row: r.key, side: "starpush"}])
		}
		peer, _, hasPeer := got.best(r.key, "starlark-go")
		if o.json {
			m.Workload = r.key
			if err := enc.Encode(m); err != nil {
				return err
			}
			if hasPeer {
				if err := enc.Encode(peer); err != nil {
					return err
				}
			}
			continue
		}
		other, factor := none, none
		if hasPeer {
			other = number(r.value(peer))
			x := r.value(peer) / r.value(m)
			if r.more {
				x = 1 / x
			}
			factor = ratio(x)
		}
		t.add(r.label, number(r.value(m)), other, r.goal, r.unit, factor)
	}
	if o.json {
		return nil
	}
	t.notes = append(machineNotes(ctx, fmt.Sprintf("medians of %d, in turn", o.rounds)), notes...)
	return t.write(w, o.markdown)
}
