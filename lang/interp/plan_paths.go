package interp

// The paths of a plan: which ways are taken, one after the other, and when it is enough.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang/diag"
)

// maxPaths bounds the paths that are looked at. The last one goes all the ways that are
// left at once.
const maxPaths = 32

// PlanConfig says what a plan is for.
type PlanConfig struct {
	Config
	Machine engine.Machine
	Tasks   int64           // on all paths together; 0: no limit
	Steps   int64           // in a check, on a path and on all but the first of them together; 0: no limit
	Called  map[string]bool // takes the names of the host functions that are called; nil: nobody asks
	session *forked         // what a plan of an entry begins with; nil: of a script
	Check   bool            // only errors are wanted: tasks are not recorded, and calls that repeat others are left out
}

// Planned is what Plan found.
type Planned struct {
	Recorder *graph.Recorder // of the path with the most tasks
	Paths    int

	limit, left int64 // of the memory of the script
}

// Room counts memory for what is made of the recorded tasks; the error is a *LimitError.
func (p *Planned) Room(bytes int64) error {
	if bytes > p.left {
		return &LimitError{Kind: "mem", Limit: p.limit}
	}
	p.left -= bytes
	return nil
}

// Plan runs p, which CompilePlan made, without kernels, along each way that values
// unknown may make it go. An error is the first that some path ran into.
func Plan(ctx context.Context, p *Program, cfg *PlanConfig) (*Planned, error) {
	ctx = Context(ctx)
	out := &Planned{}
	tried := map[place][2]bool{}
	forced := map[place]bool{}
	todo := []map[place]bool{nil}
	var total, longest, spent int64
	loads, ended := map[string]bool{}, false
	for len(todo) > 0 {
		if cfg.Steps > 0 && spent > cfg.Steps {
			return nil, &LimitError{Kind: "steps", Limit: cfg.Steps}
		}
		if out.Paths == maxPaths {
			ended = true // what is left nobody looks at
			break
		}
		if out.Paths == maxPaths-1 || cfg.Steps > 0 && out.Paths > 1 && spent+longest > cfg.Steps {
			todo = []map[place]bool{together(todo)}
		}
		pl := &planning{loads: loads, saved: map[string]iface.Desc{}, called: cfg.Called, force: todo[0], tried: tried, count: map[place]int{}, noted: map[place]bool{}, prints: out.Paths == 0, check: cfg.Check, session: cfg.session}
		if out.Recorder != nil {
			pl.kept = out.Recorder.Len()
		}
		todo = todo[1:]
		out.Paths++
		if err := pl.run(ctx, p, cfg, &total); err != nil {
			return nil, err
		}
		ended = ended || pl.ended != nil
		if longest = max(longest, pl.steps); out.Paths > 1 {
			spent += pl.steps
		}
		if out.Recorder == nil || pl.rec.Len() > out.Recorder.Len() {
			out.Recorder, out.limit, out.left = pl.rec, pl.limit, pl.left
		}
		var left []place
		for at, ways := range tried {
			if ways[0] != ways[1] && !forced[at] {
				left = append(left, at)
			}
		}
		slices.SortFunc(left, func(a, b place) int { return cmp.Compare(a.at.Lo, b.at.Lo) })
		for _, at := range left {
			forced[at] = true
			todo = append(todo, map[place]bool{at: !tried[at][1]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.FileSizes)) {
		if !loads[name] && !ended {
			return nil, unusedSizes(name, loads)
		}
	}
	return out, nil
}

// together is the path that goes all the ways.
func together(ways []map[place]bool) map[place]bool {
	all := map[place]bool{}
	for _, w := range ways {
		maps.Copy(all, w)
	}
	return all
}

// unusedSizes is the error about sizes of a file that no statement of a plan loads.
func unusedSizes(name string, loads map[string]bool) error {
	d := &diag.Diagnostic{Code: "E0902", Severity: diag.Error, Message: fmt.Sprintf("sizes are given for the file `%s`, and the script loads no such file", name)}
	names := slices.Sorted(maps.Keys(loads))
	switch near, ok := diag.Nearest(name, names); {
	case ok:
		d.Help = []string{fmt.Sprintf("did you mean `%s`?", near)}
	case len(names) > 0:
		d.Help = []string{"it loads `" + strings.Join(names[:min(len(names), 5)], "`, `") + "`"}
	default:
		d.Help = []string{"sizes stand for files that a script names behind `load =`; leave them out"}
	}
	return d
}
