package oracle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang"
)

// alone is in the message about what runs on several ranks do not have.
const alone = "possible on one rank only"

// runOnRanks runs prog on some ranks in this process, and returns how what one of them does differs from want. ok is false if the program uses
// what only runs on one rank have. Checkpoints are in dir; from is the one to go on from, or nil.
func runOnRanks(t testing.TB, prog *lang.Program, size int, want *Outcome, dir string, from *engine.Checkpoint) (bad string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var group sync.WaitGroup
	all := make([]string, size)
	for r, end := range cluster.Local(size) {
		group.Go(func() { all[r] = runAsRank(ctx, t, prog, end, want, dir, from) })
	}
	group.Wait()
	ok = true
	for r, b := range all {
		switch {
		case b == alone:
			ok = false
		case b != "" && bad == "":
			bad = fmt.Sprintf("rank %d of %d: %s", r, size, b)
		}
	}
	return bad, ok
}

func runAsRank(ctx context.Context, t testing.TB, prog *lang.Program, end cluster.Comm, want *Outcome, dir string, from *engine.Checkpoint) string {
	rt, stop := mode{workers: 1 + end.Rank()%2, policy: "lws"}.open(t)
	defer stop()
	if end.Rank() > 0 {
		from = nil
	}
	var out bytes.Buffer
	inst, err := prog.Start(ctx, rt, append(checkpoints(dir, from), lang.Stdout(&out), lang.Ranks(end))...)
	if err == nil {
		defer inst.Close()
	}
	if ctx.Err() != nil {
		return fmt.Sprintf("still running after %v", patience)
	}
	if err != nil && (strings.Contains(err.Error(), alone) || strings.Contains(err.Error(), "cluster:")) {
		return alone
	}
	if want.Err != nil { // tasks have other numbers, and another failure may come first
		var d *lang.Diagnostic
		switch {
		case err == nil && slices.Contains(want.Err.Codes, "R0104"):
			return alone // the task that never starts holds back tasks of its rank, and the script waits for others
		case err == nil:
			return fmt.Sprintf("no error, want %v in line %d", want.Err.Codes, want.Err.Line)
		case errors.As(err, &d) && d.Code == "R0109" && strings.Contains(err.Error(), "would wait for ever"): // another rank has noticed that
			if !slices.Contains(want.Err.Codes, "R0104") {
				return fmt.Sprintf("error %v, want %v in line %d", err, want.Err.Codes, want.Err.Line)
			}
		case slices.Contains(want.Err.Codes, "R0104") && strings.Contains(err.Error(), "R0104"): // or its tasks were cancelled for that, before this rank heard of it
		case errors.As(err, &d) && !slices.Contains(want.Err.Codes, d.Code):
			return fmt.Sprintf("error %v, want %v in line %d", err, want.Err.Codes, want.Err.Line)
		case errors.As(err, &d) && strings.HasPrefix(d.Code, "E"): // a fault of the script, the same on all ranks
			if bad := differ(want.Output, out.String()); bad != "" {
				return fmt.Sprintf("before error %s: %s", d.Code, bad)
			}
		}
		return ""
	}
	if err != nil {
		var d *lang.Diagnostic
		errors.As(err, &d)
		if want.Passed && (d.Code == "R0104" || d.Code == "R0109" && strings.Contains(err.Error(), "would wait for ever")) {
			return alone // tasks that commute run in their order on several ranks, so that those behind a closed gate hold back others
		}
		return fmt.Sprintf("error: %v %v", err, d.Notes)
	}
	if bad := differ(want.Output, out.String()); bad != "" {
		return bad
	}
	switch err := inst.Wait(ctx); {
	case (err == nil) != (want.AtEnd == nil):
		return fmt.Sprintf("ends with %v, want %+v", err, want.AtEnd)
	case ctx.Err() != nil:
		return fmt.Sprintf("still running after %v", patience)
	}
	for _, f := range want.Final {
		if f.Code == "" {
			if bad := wrongFinal(ctx, inst, f); bad != "" {
				return bad
			}
			continue
		}
		h, err := inst.Handle(f.Name)
		if err != nil {
			return err.Error()
		}
		if _, err := elements(ctx, h, f); err == nil {
			if strings.Contains(f.Code, "R0104") {
				continue // a task that never starts holds back those on its rank that write what it reads, and no others
			}
			return fmt.Sprintf("%s has a value, want %s", f.Name, f.Code)
		} else if errors.Is(err, context.DeadlineExceeded) {
			return err.Error()
		}
	}
	return ""
}

// TestRanks holds random programs, on several ranks, against the oracle. Tasks of some of them fail.
func TestRanks(t *testing.T) {
	end := time.Now().Add(*soak)
	ran, failed, went, n := 0, 0, 0, uint64(0)
	for ; n < programs || time.Now().Before(end); n++ {
		p := Generate(*seed + n)
		text := p.Text()
		want, reason := Run(p)
		if reason != "" {
			t.Fatal(reason)
		}
		comp := lang.Must(lang.NewCompiler(lang.Config{}))
		prog, ds := comp.Compile(context.Background(), "random.spu", []byte(text))
		if ds.Err() != nil {
			continue
		}
		sizes := []int{1, 2, 3, 4, 7}
		dir, remove := folder(t, want)
		bad, ok := runOnRanks(t, prog, sizes[n%5], want, dir, nil)
		if bad == "" && ok {
			bad = goOn(dir, want, func(want *Outcome, dir string, from *engine.Checkpoint) string {
				size := sizes[(n+n/5)%5]
				bad, ok := runOnRanks(t, prog, size, want, dir, from)
				if went++; bad == "" && !ok {
					bad = alone
				}
				return bad
			})
		}
		if remove(); bad != "" {
			t.Fatalf("program %d: %s\n%s", *seed+n, bad, text)
		}
		if ok {
			if ran++; want.Failed > 0 || want.Err != nil || want.AtEnd != nil {
				failed++
			}
		}
	}
	if t.Logf("%d of %d programs ran, something failed in %d, and %d went on from checkpoints", ran, n, failed, went); ran < int(n)/4 || failed < int(n)/50 || went < int(n)/100 {
		t.Error("too few programs ran on ranks, failed there, or went on from checkpoints")
	}
}
