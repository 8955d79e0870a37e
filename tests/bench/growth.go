package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// study is one picture: workloads with one argument that grows.
type study struct {
	key, title string
	x          string // what the axis counts
	arg        string // the argument that grows
	values     []int
	tasks      int // at least
	lines      []studyLine
	logX, logY bool
	limit      float64 // the goal for the quotient of the table; 0: none
	against    string  // what the quotient is: "largest / smallest" or "largest / first"
}

// studyLine is one line of a picture.
type studyLine struct {
	name   string
	args   []string
	script bool
	per    func(x int) float64 // µs are divided by it; nil: 1
}

const (
	spreadOf   = "largest / smallest"
	againstOne = "largest / first"
)

// both are a workload through the Go API and from a script.
func both(args ...string) []studyLine {
	return []studyLine{{name: "Go API", args: args}, {name: "script", args: args, script: true}}
}

var studies = []study{
	{
		key: "readers", title: "Cost of a task against readers per write", x: "readers between two writers (fanout)",
		arg: "readers", values: []int{1, 4, 16, 64, 256, 1024, 4096, 16384}, lines: both("fanout"), logX: true,
		limit: 1.5, against: spreadOf,
	},
	{
		key: "live", title: "Cost of a task against live tasks", x: "tasks that wait at the same time (random, R R RW)",
		arg: "n", values: []int{1000, 4000, 16_000, 64_000, 250_000, 1_000_000}, lines: []studyLine{{name: "Go API", args: []string{"live"}}}, logX: true,
		limit: 1.5, against: spreadOf,
	},
	{
		key: "handles", title: "Cost of a task against handles", x: "handles in use (random, R R RW, a million tasks)",
		arg: "h", values: []int{16, 64, 256, 1024, 4096, 16384, 65536, 262144}, lines: both("random"), logX: true,
		tasks: 1_000_000, // each handle is used, and not only met for the first time
		limit: 1.5, against: spreadOf,
	},
	{
		key: "fragments", title: "Cost of a task against fragments of a handle", x: "fragments per handle (random, R R RW: three times as many accesses)",
		arg: "frags", values: []int{1, 2, 4, 8, 16, 32, 64}, logX: true, logY: true,
		lines: append(both("random"),
			studyLine{name: "Go API, per access", args: []string{"random"}, per: func(x int) float64 { return 3 * float64(x) }}),
	},
	{
		key: "workers", title: "Cost of a task against workers", x: "workers",
		arg: "workers", values: []int{1, 2, 3, 4, 5, 6, 7, 8},
		lines: []studyLine{
			{name: "independent", args: []string{"independent"}},
			{name: "chain", args: []string{"chain"}},
			{name: "fanout", args: []string{"fanout"}},
			{name: "random", args: []string{"random"}},
			{name: "commute", args: []string{"commute"}},
			{name: "redux", args: []string{"redux"}},
			{name: "stencil", args: []string{"stencil"}},
			{name: "stencil, halo", args: []string{"stencilhalo"}},
		},
		limit: 1.2, against: againstOne,
	},
}

// growth draws pictures of µs per task as one thing grows.
func growth(ctx context.Context, args []string) error {
	o, err := parseOptions(args, options{rounds: 5, n: 200_000, workers: 2, dir: filepath.Join("tests", "bench", "results")})
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(o.dir)); err != nil {
		return fmt.Errorf("%w: run this in the root of the repository, or give dir=", err)
	}
	sides, err := ours(o.workers)
	if err != nil {
		return err
	}
	return grow(ctx, os.Stdout, os.Stderr, o, studies, sides[0], sides[1])
}

// grow measures the studies that o asks for, writes their pictures to o.dir and
// prints how flat each line is.
func grow(ctx context.Context, w, progress io.Writer, o *options, all []study, api, script *side) error {
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	t := &table{title: "Growth, µs per task", head: []string{"picture", "line", "first", "last", "largest", "quotient", "goal", "of"}}
	drawn := 0
	for i := range all {
		st := &all[i]
		if len(o.only) > 0 && !slices.Contains(o.only, st.key) {
			continue
		}
		lines, err := st.measure(ctx, progress, o, api, script)
		if err != nil {
			return err
		}
		command := fmt.Sprintf("go run ./tests/bench growth only=%s rounds=%d n=%d workers=%d", st.key, o.rounds, o.n, o.workers)
		notes := machineNotes(ctx, fmt.Sprintf("medians of %d", o.rounds))
		p := &plot{
			title: st.title, desc: "Made by: " + command + "\n" + strings.Join(notes, "\n"),
			x: st.x, y: "µs per task", logX: st.logX, logY: st.logY, series: lines,
		}
		svg, err := p.write()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.dir, st.key+".svg"), svg, 0o666); err != nil {
			return err
		}
		drawn++
		for _, s := range lines {
			st.summarise(t, s)
		}
	}
	fmt.Fprintln(progress)
	if drawn == 0 {
		return fmt.Errorf("only= names no picture")
	}
	t.notes = machineNotes(ctx, fmt.Sprintf("%d tasks, medians of %d", o.n, o.rounds))
	return t.write(w, o.markdown)
}

// measure runs every point of every line, in turn, o.rounds times.
func (st *study) measure(ctx context.Context, progress io.Writer, o *options, api, script *side) ([]series, error) {
	type place struct {
		workload string
		script   bool
		x        int
	}
	at := func(l *studyLine, x int) place { return place{strings.Join(l.args, " "), l.script, x} }
	got := map[place][]result{}
	for round := range o.rounds {
		for _, l := range st.lines {
			s := api
			if l.script {
				s = script
			}
			for _, x := range st.values {
				key := at(&l, x)
				if len(got[key]) > round { // shown in two ways, measured once
					continue
				}
				fmt.Fprintf(progress, "\r%-10s round %d of %d: %-16s %-8d", st.key, round+1, o.rounds, l.name, x)
				m, err := s.run(ctx, st.args(o, &l, x)...)
				if err != nil {
					return nil, err
				}
				got[key] = append(got[key], m)
			}
		}
	}
	out := make([]series, len(st.lines))
	for i, l := range st.lines {
		out[i].name = l.name
		for _, x := range st.values {
			m, _ := median(got[at(&l, x)])
			y := m.USPerTask
			if l.per != nil {
				y /= l.per(x)
			}
			out[i].points = append(out[i].points, point{float64(x), y})
		}
	}
	return out, nil
}

// args is the command line of one point. Arguments given later win.
func (st *study) args(o *options, l *studyLine, x int) []string {
	most := *o
	most.n = max(o.n, st.tasks)
	r := most.scaled(row{args: l.args})
	return append(slices.Clone(r.args), st.arg+"="+strconv.Itoa(x))
}

// summarise adds a line to the table.
func (st *study) summarise(t *table, s series) {
	first, last := s.points[0].y, s.points[len(s.points)-1].y
	least, most := first, first
	for _, q := range s.points {
		least, most = min(least, q.y), max(most, q.y)
	}
	quotient, limit, of := none, none, none
	if st.limit > 0 {
		base := least
		if st.against == againstOne {
			base = first
		}
		quotient, limit, of = ratio(most/base), ratio(st.limit), st.against
	}
	t.add(st.key, s.name, number(first), number(last), number(most), quotient, limit, of)
}
