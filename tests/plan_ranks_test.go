package tests

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// rankReports runs a program on some ranks in this process, and returns the report that each gets.
func rankReports(ctx context.Context, prog *lang.Program, size int, opts func(rank int) []lang.Option) ([]*cluster.Report, error) {
	reports, errs := make([]*cluster.Report, size), make([]error, size)
	var group sync.WaitGroup
	for r, end := range cluster.Local(size) {
		group.Go(func() {
			rt, err := engine.New(engine.Options{Workers: 1 + r%2})
			if err != nil {
				errs[r] = err
				return
			}
			inst, err := prog.Run(ctx, rt, append(slices.Clone(opts(r)), lang.Ranks(end), lang.ObserveRanks(func(got *cluster.Report) { reports[r] = got }))...)
			if err == nil {
				err = inst.Close()
			}
			errs[r] = errors.Join(err, rt.Close())
		})
	}
	group.Wait()
	return reports, errors.Join(errs...)
}

// withoutTimes leaves out what differs from run to run, and from a plan.
func withoutTimes(r *cluster.Report) cluster.Report {
	out := *r
	out.Ranks = slices.Clone(r.Ranks)
	for i := range out.Ranks {
		out.Ranks[i].Workers, out.Ranks[i].Busy, out.Ranks[i].Seconds = 0, 0, 0
	}
	return out
}

// TestPlansOfRanks plans every script for several ranks, and runs those whose plan is exact: each rank runs the tasks, sends and receives the messages and
// bytes that were predicted. All ranks get the same report.
func TestPlansOfRanks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scriptsDir, "*.spu"))
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d scripts: %v", len(files), err)
	}
	exact, open, refused, messages := 0, 0, 0, int64(0)
	for _, file := range files {
		name := filepath.Base(file)
		if name == "cholesky_mtx.spu" && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			opts := []lang.Option{lang.Stdout(io.Discard)}
			if file := matrixFiles[strings.TrimSuffix(name, ".spu")]; file != "" {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, filepath.Join(dir, "a.mtx"), string(text))
				opts = append(opts, lang.Param("file", "a.mtx"))
			}
			comp := lang.Must(lang.NewCompiler(lang.Config{Modules: stdlib.Modules(), Loader: lang.FSLoader(os.DirFS(scriptsDir)), Files: lang.Dir(dir)}))
			prog, ds := comp.Compile(t.Context(), name, src)
			if prog == nil {
				t.Fatal(ds.Err())
			}
			for _, size := range []int{2, 3, 4} {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				p, err := prog.Plan(ctx, engine.Machine{Workers: 2, PerfDir: t.TempDir()}, append(slices.Clone(opts), lang.PlanRanks(size))...)
				var got []*cluster.Report
				if err != nil || p.Graph.Exact() {
					var failed error
					got, failed = rankReports(ctx, prog, size, func(int) []lang.Option { return opts })
					if (err == nil) != (failed == nil) {
						t.Fatalf("%d ranks: the plan ends with %v, and the run with %v", size, err, failed)
					}
				}
				cancel()
				switch {
				case err != nil:
					refused++
					t.Logf("%d ranks: %v", size, err)
					continue
				case !p.Graph.Exact():
					open++
					if p.Ranks == nil || len(p.Graph.Notes) == 0 {
						t.Errorf("%d ranks: the plan says not where runs differ", size)
					}
					continue
				}
				exact++
				messages += p.Ranks.Sent().Messages
				for r := range got {
					if got[r] == nil || len(got[r].Ranks) != size {
						t.Fatalf("%d ranks: rank %d has the report %+v", size, r, got[r])
					}
					if diff := cmp.Diff(withoutTimes(p.Ranks), withoutTimes(got[r])); diff != "" {
						t.Errorf("%d ranks: rank %d reports other figures than the plan (-plan +run):\n%s", size, r, diff)
					}
				}
			}
		})
	}
	t.Logf("%d exact plans with %d messages, %d that are not exact, %d refused", exact, messages, open, refused)
	if !t.Failed() && (exact < 20 || messages < 1000 || open == 0) {
		t.Error("too few plans are exact, or none is not")
	}
}

// TestPlansOfRanksInSpec is TestPlansOfRanks for the programs of SPEC.md that run to their end.
func TestPlansOfRanksInSpec(t *testing.T) {
	doc, err := readDocument(specFile)
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[int]string{}
	for _, b := range doc.blocks { // what programs may import, before any runs
		if dirs[b.section] == "" {
			dirs[b.section] = t.TempDir()
		}
		if b.kind == "spu" && b.name != "" {
			writeFile(t, filepath.Join(dirs[b.section], b.name), b.text)
		}
	}
	compared, messages := 0, int64(0)
	for _, b := range doc.blocks {
		if b.kind != "spu" {
			continue
		}
		dir := dirs[b.section]
		comp := lang.Must(lang.NewCompiler(lang.Config{Modules: stdlib.Modules(), Loader: lang.FSLoader(os.DirFS(dir)), Files: absFiles{lang.Dir(dir)}}))
		prog, _ := comp.Compile(t.Context(), "example.spu", []byte(b.text))
		if prog == nil {
			continue
		}
		opts := []lang.Option{lang.Stdout(io.Discard), lang.WithCheckpoints(func(name string) (string, error) { return filepath.Join(dir, name), nil })}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		got, failed := rankReports(ctx, prog, 3, func(int) []lang.Option { return opts })
		p, err := prog.Plan(ctx, engine.Machine{Workers: 2, PerfDir: t.TempDir()}, append(opts, lang.PlanRanks(3))...)
		cancel()
		if err != nil || failed != nil || !p.Graph.Exact() {
			continue
		}
		compared++
		messages += p.Ranks.Sent().Messages
		if diff := cmp.Diff(withoutTimes(p.Ranks), withoutTimes(got[0])); diff != "" {
			t.Errorf("%s:%d: the run has other figures than the plan (-plan +run):\n%s", b.file, b.line, diff)
		}
	}
	if t.Logf("%d programs with %d messages", compared, messages); compared < 50 || messages < 100 {
		t.Error("too few plans are exact")
	}
}

// TestPlansOfBoundData: memory of the host gets the last value on all ranks, and a plan that knows its size only counts the messages for that.
func TestPlansOfBoundData(t *testing.T) {
	const script = `
struct P { a: f64; b: i32 }
extern x: vector[f64]
extern v: variable[f64]
extern s: vector[P]
codelet twice(x: RW vector[f64]) { each i in x { x[i] = 2 * x[i] } }
codelet once(v: RW variable[f64]) { v = v + 1 }
codelet move(s: RW vector[P]) { each i in s { s[i].a += 1; s[i].b += 1 } }
partition x by blocks(5)
for i in 0..5 { insert twice(RW x[i]) }
insert once(RW v) with rank = 1
insert move(RW s)
`
	prog, ds := lang.Must(lang.NewCompiler(lang.Config{})).Compile(t.Context(), "bound.spu", []byte(script))
	if prog == nil {
		t.Fatal(ds.Err())
	}
	bound := func(rank int) []lang.Option {
		type point struct {
			A float64
			B int32
		}
		return []lang.Option{lang.Bind("x", lang.VectorOf(make([]float64, 100))), lang.Bind("v", lang.VariableOf(new(float64))), lang.Bind("s", lang.Must(lang.StructsOf(make([]point, 7))))}
	}
	for _, size := range []int{2, 3, 4} {
		got, err := rankReports(t.Context(), prog, size, bound)
		if err != nil {
			t.Fatal(err)
		}
		for what, opts := range map[string][]lang.Option{"sizes": {lang.Bind("x", lang.Sizes[float64](100)), lang.Bind("s", lang.Sizes[float64](7))}, "memory": bound(0)} {
			p, err := prog.Plan(t.Context(), engine.Machine{Workers: 1}, append(opts, lang.PlanRanks(size))...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutTimes(p.Ranks), withoutTimes(got[0])); diff != "" {
				t.Errorf("%d ranks, %s: the run has other figures than the plan (-plan +run):\n%s", size, what, diff)
			}
		}
		if sent := got[0].Sent(); sent.Messages == 0 {
			t.Error("nothing was sent")
		}
	}
}

// TestPlansOfSizes: a plan knows the messages of data with a capacity as long as no task may have set its size. Then it says that it estimates them.
func TestPlansOfSizes(t *testing.T) {
	const script = `
codelet total(x: R vector[f64], s: RW variable[f64]) { for i in 0..x.n { s += x[i] } }
codelet twice(x: RW vector[f64]) { each i in x { x[i] *= 2.0 } }
codelet cut(x: RW vector[f64]) { x.n = 2 }
register x = vector[f64](10, capacity = 16, fill = 1)
register s = variable[f64](fill = 0)
partition x by blocks(4)
for i in 0..4 { insert twice(RW x[i]) }
insert total(R x, RW s)
`
	for _, more := range []string{"", "unpartition x\ninsert cut(RW x) with rank = 1\ninsert total(R x, RW s) with rank = 0\n"} {
		prog, ds := lang.Must(lang.NewCompiler(lang.Config{})).Compile(t.Context(), "sizes.spu", []byte(script+more))
		if prog == nil {
			t.Fatal(ds.Err())
		}
		for _, size := range []int{2, 3} {
			got, err := rankReports(t.Context(), prog, size, func(int) []lang.Option { return nil })
			if err != nil {
				t.Fatal(err)
			}
			p, err := prog.Plan(t.Context(), engine.Machine{Workers: 1}, lang.PlanRanks(size))
			if err != nil {
				t.Fatal(err)
			}
			if p.Graph.Exact() != (more == "") || p.Ranks.Estimated != (more != "") {
				t.Errorf("%d ranks: exact %v, estimated %v, with more %q", size, p.Graph.Exact(), p.Ranks.Estimated, more)
			}
			if diff := cmp.Diff(withoutTimes(p.Ranks), withoutTimes(got[0])); diff != "" && more == "" {
				t.Errorf("%d ranks: the run has other figures than the plan (-plan +run):\n%s", size, diff)
			}
			if a, b := p.Ranks.Sent().Messages, got[0].Sent().Messages; a != b || a == 0 {
				t.Errorf("%d ranks: %d messages, and %d in a plan", size, b, a)
			}
		}
	}
}
