package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/starpush/starpush/accel/cpu/blas"
)

// overheadTable shows µs per task.
func overheadTable(rows []*row, got *samples) *table {
	t := &table{
		title: "Runtime overhead, µs per task",
		head:  []string{"workload", peerName(got, rows, "StarPU"), "libgomp", "starpush, Go API", "goal", "starpush, script", "goal", "StarPU / Go API", "StarPU / script"},
	}
	for _, r := range rows {
		peer, policy, hasPeer := got.best(r.key, "StarPU")
		gomp, _, hasGomp := got.best(r.key, "libgomp")
		api, _, hasAPI := got.best(r.key, "starpush")
		script, _, hasScript := got.best(r.key, "script")
		us := func(m result, ok bool) string {
			if !ok {
				return none
			}
			return number(m.USPerTask)
		}
		quotient := func(m result, ok bool) string {
			if !ok || !hasPeer || m.USPerTask == 0 {
				return none
			}
			return ratio(peer.USPerTask / m.USPerTask)
		}
		first := none
		if hasPeer {
			first = number(peer.USPerTask) + " " + policy
		}
		t.add(r.label, first, us(gomp, hasGomp),
			us(api, hasAPI), goal(r.goal[0]), us(script, hasScript), goal(r.goal[1]),
			quotient(api, hasAPI), quotient(script, hasScript))
	}
	t.notes = []string{"First submission to last end, empty kernels, medians. StarPU: the policy named, its best. libgomp runs tasks at once when many wait."}
	return t
}

// denseTable shows GFLOP/s.
func denseTable(rows []*row, got *samples) *table {
	t := &table{
		title: "Dense linear algebra, GFLOP/s",
		head:  []string{"workload", peerName(got, rows, "StarPU"), "starpush, Go API", "starpush, script", "limit", "of limit", "goal", "Go API / StarPU", "goal"},
	}
	for _, r := range rows {
		peer, policy, hasPeer := got.best(r.key, "StarPU")
		api, _, hasAPI := got.best(r.key, "starpush")
		script, _, hasScript := got.best(r.key, "script")
		limit, _, hasLimit := got.best(limitRow(r).key, "starpush")
		flops := func(m result, ok bool) string {
			if !ok {
				return none
			}
			return number(m.Extra)
		}
		first, share, quotient, ofLimit, ofPeer := none, none, none, none, none
		if hasPeer {
			first = number(peer.Extra) + " " + policy
		}
		if hasAPI && hasLimit {
			share = fmt.Sprintf("%.0f %%", 100*api.Extra/limit.Extra)
		}
		if hasAPI && hasPeer {
			quotient = ratio(api.Extra / peer.Extra)
		}
		if r.goal[1] > 0 {
			ofLimit = fmt.Sprintf("%.0f %%", 100*r.goal[1])
		}
		if r.goal[0] > 0 {
			ofPeer = ratio(r.goal[0])
		}
		t.add(r.label, first, flops(api, hasAPI), flops(script, hasScript), flops(limit, hasLimit), share, ofLimit, quotient, ofPeer)
	}
	t.notes = []string{"The limit: products of such matrices on all workers, without a runtime. BLAS on both sides: " + blas.Default().Name() + ", one thread a task."}
	return t
}

// goal writes a goal; 0 means none.
func goal(x float64) string {
	if x == 0 {
		return none
	}
	return number(x)
}

// peerName is the name of a side with the version that its measurements tell.
func peerName(got *samples, rows []*row, name string) string {
	for _, r := range rows {
		if m, _, ok := got.best(r.key, name); ok {
			if _, version, ok := strings.Cut(m.Runtime, "-"); ok {
				return name + " " + version
			}
		}
	}
	return name
}

// machineNotes say where and how the table was made.
func machineNotes(ctx context.Context, how string) []string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(text) {
			if key, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	compiler := ""
	if out, err := output(ctx, "gcc", "-dumpfullversion"); err == nil {
		compiler = ", gcc " + strings.TrimSpace(string(out))
	}
	return []string{fmt.Sprintf("%s, %d CPUs, %s, %s%s, %s.",
		model, runtime.NumCPU(), how, runtime.Version(), compiler, time.Now().Format(time.DateOnly))}
}
