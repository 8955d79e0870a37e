package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// options are the arguments of the commands.
type options struct {
	rounds, n, workers int
	only               []string
	policies           []string
	table              string // "", "overhead", "dense"
	dir                string // where pictures go
	ranks              []int  // how many, of the command ranks
	log                string // a file to which the command ranks adds its measurements
	markdown, json     bool
}

// defaultPolicies are the policies of StarPU that are tried: those for machines
// without accelerators, and two that use performance models.
var defaultPolicies = []string{"eager", "prio", "lws", "ws", "dmda", "dmdas"}

// peerOptions are the defaults of peers.
var peerOptions = options{rounds: 5, n: 100_000, workers: 2, policies: defaultPolicies}

// parseOptions reads the arguments of a command; o has its defaults.
func parseOptions(args []string, o options) (*options, error) {
	numbers := map[string]*int{"rounds": &o.rounds, "n": &o.n, "workers": &o.workers}
	lists := map[string]*[]string{"only": &o.only, "policies": &o.policies}
	flags := map[string]*bool{"md": &o.markdown, "json": &o.json}
	for _, a := range args {
		key, value, given := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case numbers[key] != nil:
			x, err := strconv.Atoi(value)
			if err != nil || x < 1 {
				return nil, fmt.Errorf("%s needs a number of 1 or more, not %q", key, value)
			}
			*numbers[key] = x
		case lists[key] != nil:
			if value == "" {
				return nil, fmt.Errorf("%s needs names with commas between them", key)
			}
			*lists[key] = strings.Split(value, ",")
		case flags[key] != nil:
			on, err := strconv.ParseBool(value)
			if given && err != nil {
				return nil, fmt.Errorf("%s is 0 or 1, not %q", key, value)
			}
			*flags[key] = on || !given
		case key == "table":
			if value != "overhead" && value != "dense" {
				return nil, fmt.Errorf("table is overhead or dense, not %q", value)
			}
			o.table = value
		case key == "dir" && o.dir != "" && value != "":
			o.dir = value
		case key == "log" && len(o.ranks) > 0 && value != "":
			o.log = value
		case key == "ranks" && len(o.ranks) > 0:
			o.ranks = nil
			for _, v := range strings.Split(value, ",") {
				n, err := strconv.Atoi(v)
				if err != nil || n < 1 {
					return nil, fmt.Errorf("ranks needs numbers of 1 or more with commas between them, not %q", value)
				}
				o.ranks = append(o.ranks, n)
			}
		default:
			return nil, fmt.Errorf("no key %q; there are rounds n workers only policies table md json, and ranks and log of the command ranks", key)
		}
	}
	return &o, nil
}

// wants reports whether the row is asked for.
func (o *options) wants(r *row) bool { return len(o.only) == 0 || slices.Contains(o.only, r.key) }

// scaled returns the row with the number of tasks that o asks for.
func (o *options) scaled(r row) *row {
	switch r.args[0] {
	case "stencil", "stencilhalo":
		r.args = append(slices.Clone(r.args), "w=16", "t="+strconv.Itoa(max(1, o.n/16)))
	case "cholesky", "gemm":
	default:
		r.args = append(slices.Clone(r.args), "n="+strconv.Itoa(o.n))
	}
	return &r
}

// peers compares starpush with the runtimes that the machine has.
func peers(ctx context.Context, args []string) error {
	o, err := parseOptions(args, peerOptions)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "starpu-home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	sides, notes, err := allSides(ctx, o, home)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(os.Stderr, n)
	}
	return compare(ctx, os.Stdout, os.Stderr, o, sides, notes)
}

// allSides builds the peers and returns them in front of starpush, with what to
// say about those that are not there.
func allSides(ctx context.Context, o *options, home string) (sides []*side, notes []string, err error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, nil, err
	}
	program, err := buildStarPU(ctx, dir)
	if program != "" {
		sides = starpuSides(program, home, o.workers, o.policies, err == nil)
	}
	program, err2 := buildOpenMP(ctx, dir)
	if program != "" {
		sides = append(sides, openmpSide(program, o.workers))
	}
	for _, e := range []error{err, err2} {
		var m *missing
		if errors.As(e, &m) {
			notes = append(notes, m.Error())
		} else if e != nil {
			return nil, nil, e
		}
	}
	own, err := ours(o.workers)
	return append(sides, own...), notes, err
}

// compare measures and prints what o asks for.
func compare(ctx context.Context, w, progress io.Writer, o *options, sides []*side, notes []string) error {
	var all []*row
	var overhead, dense []*row
	if o.table != "dense" {
		for _, r := range overheadRows {
			if o.wants(&r) {
				overhead = append(overhead, o.scaled(r))
			}
		}
	}
	if o.table != "overhead" {
		for _, r := range denseRows {
			if o.wants(&r) {
				dense = append(dense, o.scaled(r))
			}
		}
	}
	metg := o.table != "dense" && o.wants(&metgRow)
	if len(overhead)+len(dense) == 0 && !metg {
		return fmt.Errorf("no row of only=%s; there are %s", strings.Join(o.only, ","), strings.Join(rowKeys(), " "))
	}
	all = append(all, overhead...)
	for _, r := range dense {
		all = append(all, r, limitRow(r))
	}
	got, err := collect(ctx, progress, all, sides, o.rounds)
	if err != nil {
		return err
	}
	if metg {
		if err := collectMETG(ctx, progress, got, o, sides); err != nil {
			return err
		}
		overhead = append(overhead, &metgRow)
		all = append(all, &metgRow)
	}
	if o.json {
		if err := got.writeJSON(w, all, sides); err != nil {
			return err
		}
	} else {
		machine := machineNotes(ctx, fmt.Sprintf("%d workers, %d tasks, %d rounds in turn", o.workers, o.n, o.rounds))
		if len(overhead) > 0 {
			t := overheadTable(overhead, got)
			t.notes = append(append(t.notes, machine...), notes...)
			if err := t.write(w, o.markdown); err != nil {
				return err
			}
		}
		if len(dense) > 0 {
			t := denseTable(dense, got)
			t.notes = append(append(t.notes, machine...), notes...)
			if err := t.write(w, o.markdown); err != nil {
				return err
			}
		}
	}
	for key, err := range got.failed {
		if key.side == "starpush" || key.side == "script" {
			return fmt.Errorf("%s, %s: %w", key.side, key.row, err)
		}
	}
	return nil
}

func rowKeys() []string {
	var out []string
	for _, r := range overheadRows {
		out = append(out, r.key)
	}
	out = append(out, metgRow.key)
	for _, r := range denseRows {
		out = append(out, r.key)
	}
	return out
}

// writeJSON prints the medians of all sides and variants, one line each, in the
// shape of a single measurement; the workload is the row's key.
func (s *samples) writeJSON(w io.Writer, rows []*row, sides []*side) error {
	enc := json.NewEncoder(w)
	for _, r := range rows {
		for _, x := range sides {
			m, ok := median(s.all[keyOf(r, x)])
			if !ok {
				continue
			}
			if x.variant != "" {
				m.Runtime += "/" + x.variant
			}
			m.Workload = r.key
			if err := enc.Encode(m); err != nil {
				return err
			}
		}
	}
	return nil
}
