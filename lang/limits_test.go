package lang_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/lang"
)

const counted = `
codelet nop(x: RW vector[f64]) { each i in x { x[i] = x[i] } }
register x = vector[f64](10, fill = 0)
let kept = [0]
func step(n: int) -> int {
    let sum = 0
    for i in 0..n { sum += twice(i) }
    while sum > 100 { sum = sum // 2 }
    let parts = [2 * i for i in 0..n]
    register y = vector[f64](n, fill = 1)
    insert nop(RW x)
    insert nop(RW y)
    print(f"step {n}: {len(parts)}")
    return sum
}
func twice(n: int) -> int { return 2 * n }
func nothing() { }
func reenter(k: int) -> int { return again(k) }
insert nop(RW x)
print("begun")
`

// limitKinds sets one limit of each kind, as a limit and as a total.
var limitKinds = map[string]struct {
	each  func(int64) lang.Limits
	total func(int64) lang.Totals
}{
	"steps":  {func(n int64) lang.Limits { return lang.Limits{Steps: n} }, func(n int64) lang.Totals { return lang.Totals{Steps: n} }},
	"tasks":  {func(n int64) lang.Limits { return lang.Limits{Tasks: n} }, func(n int64) lang.Totals { return lang.Totals{Tasks: n} }},
	"data":   {func(n int64) lang.Limits { return lang.Limits{DataBytes: n} }, func(n int64) lang.Totals { return lang.Totals{DataBytes: n} }},
	"mem":    {func(n int64) lang.Limits { return lang.Limits{ScriptBytes: n} }, func(n int64) lang.Totals { return lang.Totals{ScriptBytes: n} }},
	"output": {func(n int64) lang.Limits { return lang.Limits{Output: n} }, func(n int64) lang.Totals { return lang.Totals{Output: n} }},
}

// least finds the smallest n from 1 for which ok holds, which holds for all above it.
func least(ok func(n int64) bool) int64 {
	lo, hi := int64(0), int64(1)
	for !ok(hi) {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// TestLimitsAreForEachCall: what run and call need is exact, calls begin to count anew,
// totals add them up to the unit, and a call from a host function is part of the one
// around it.
func TestLimitsAreForEachCall(t *testing.T) {
	ctx := context.Background()
	rt := newRuntime(t, engine.Options{Workers: 2})
	var inst *lang.Instance
	again := lang.Must(lang.NewFunc("again(k: int) -> int", func(ctx context.Context, args []any) (any, error) { return inst.Call(ctx, "step", args[0]) }))
	prog := compile(t, lang.Config{Funcs: []*lang.Func{again}}, counted)
	// calls starts an instance and makes n calls; it returns how many were good.
	calls := func(n int, opts ...lang.Option) (good int, err error) {
		var out bytes.Buffer
		inst, err = prog.Run(ctx, rt, append(opts, lang.Stdout(&out))...)
		if err != nil {
			return -1, err
		}
		defer inst.Close()
		for ; good < n; good++ {
			if _, err = inst.Call(ctx, "step", 7); err != nil {
				return good, err
			}
		}
		return good, nil
	}
	for kind, k := range limitKinds {
		t.Run(kind, func(t *testing.T) {
			run := least(func(n int64) bool { good, _ := calls(0, lang.WithLimits(k.each(n))); return good == 0 })
			both := least(func(n int64) bool { good, _ := calls(1, lang.WithLimits(k.each(n))); return good == 1 })
			if kind == "mem" {
				run = least(func(n int64) bool { good, _ := calls(0, lang.WithTotals(k.total(n))); return good == 0 })
			}
			// both is the larger of what the run and one call need; the total is their sum.
			sum := least(func(n int64) bool { good, _ := calls(1, lang.WithTotals(k.total(n))); return good == 1 })
			call := sum - run
			if call < 1 || both != max(run, call) {
				t.Fatalf("the run needs %d, a call %d, each of them at most %d", run, call, both)
			}
			if good, err := calls(20, lang.WithLimits(k.each(both))); good != 20 || err != nil {
				t.Errorf("with %d for each, %d calls were good: %v", both, good, err)
			}
			for _, x := range []struct {
				total int64
				good  int
			}{{run + 3*call, 3}, {run + 3*call - 1, 2}, {run + 4*call - 1, 3}} {
				good, err := calls(9, lang.WithLimits(k.each(both)), lang.WithTotals(k.total(x.total)))
				var limit *lang.LimitError
				if good != x.good || !errors.As(err, &limit) || limit.Kind != kind || !limit.Total || limit.Limit != x.total || limit.Span.IsZero() {
					t.Errorf("of a total of %d, %d calls were good, want %d: %v (%+v)", x.total, good, x.good, err, limit)
				}
				if _, err := inst.Call(ctx, "nothing"); err == nil {
					t.Error("a closed instance takes calls")
				}
			}
			// A failing call counts with its limit, and the next one has its own again.
			good, err := calls(1, lang.WithLimits(k.each(both-1)))
			var limit *lang.LimitError
			if good > 0 || !errors.As(err, &limit) || limit.Total || limit.Limit != both-1 {
				t.Errorf("with %d for each, %d calls were good: %v", both-1, good, err)
			}
		})
	}
	// reenter calls step through the host: it needs more than step alone.
	var out bytes.Buffer
	var err error
	steps := func(fn string) int64 {
		return least(func(n int64) bool {
			if inst, err = prog.Run(ctx, rt, lang.Stdout(&out), lang.WithLimits(lang.Limits{Steps: max(n, 5)})); err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			_, err := inst.Call(ctx, fn, 7)
			return err == nil
		})
	}
	if direct, nested := steps("step"), steps("reenter"); nested <= direct {
		t.Errorf("step needs %d steps, and %d through a host function", direct, nested)
	}
}

// TestTotalsOfSessions: entries add up, also those that fail, and Reset begins anew.
func TestTotalsOfSessions(t *testing.T) {
	ctx := context.Background()
	rt := newRuntime(t, engine.Options{Workers: 1})
	s := newSession(t, lang.Config{Totals: lang.Totals{Steps: 1000}}, rt, lang.WithLimits(lang.Limits{Steps: 400}), lang.WithTotals(lang.Totals{Steps: 1 << 40}))
	var limit *lang.LimitError
	for k, want := range []bool{false, false, true, true} {
		_, err := s.Eval(ctx, "while true { }")
		if !errors.As(err, &limit) || limit.Total != want || limit.Limit != map[bool]int64{false: 400, true: 1000}[want] {
			t.Errorf("entry %d: %v (%+v)", k, err, limit)
		}
	}
	if _, err := s.Eval(ctx, "let a = 1"); !errors.As(err, &limit) || !limit.Total {
		t.Errorf("behind the total: %v", err)
	}
	if err := s.Reset(false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Eval(ctx, "let a = 1"); err != nil {
		t.Errorf("after Reset: %v", err)
	}
}

// TestLimitsOfViews: views that cross cut data into as many pieces as the product of their
// parts. The pieces count as data before they are made, and in a check as steps.
func TestLimitsOfViews(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	for _, c := range []struct {
		name, src string
		some      bool // a check comes to its end
	}{
		{"crossing", "register b = block[u8](200, 200, 200)\npartition _v = b by axis(0, 200)\npartition _w = b by axis(1, 200)\npartition _x = b by axis(2, 200)", false},
		{"tiles across tiles", "register b = block[u8](200, 200, 200)\npartition _v = b by axis(0, 200) then axis(1, 200)\npartition _w = b by axis(1, 100) then axis(2, 200)", false},
		{"behind a pick", "register b = block[u8](10, 1000, 1000)\npartition _v = b by pick(0) then tiles(1000, 10)", true},
		{"more mentions than parts", "register m = matrix[u8](300, 300)\npartition _v = m by rows(300)\npartition _w = m by cols(300)\nfor _i in 0..100 { partition _x = m by rows(2) }", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog := compile(t, lang.Config{}, c.src)
			lim := lang.WithLimits(lang.Limits{DataBytes: 24 << 20})
			for what, err := range map[string]error{
				"run":   func() error { _, err := prog.Run(t.Context(), rt, lim); return err }(),
				"plan":  func() error { _, err := prog.Plan(t.Context(), engine.Machine{Workers: 1}, lim); return err }(),
				"check": prog.CheckPlan(t.Context(), 0, lim),
			} {
				var limit *lang.LimitError
				if !errors.As(err, &limit) || limit.Kind != "data" || limit.Span.IsZero() {
					t.Errorf("%s: %v", what, err)
				}
			}
			stopped, err := prog.CheckPlanTo(t.Context(), 0)
			if err != nil || (stopped == nil) != c.some || stopped != nil && stopped.Kind != "steps" {
				t.Errorf("a check without limits: stopped %v, %v", stopped, err)
			}
		})
	}
	// A run whose time is up while a view is cut ends.
	prog := compile(t, lang.Config{}, "register m = matrix[u8](2000, 2000)\nwhile true {\n    partition _v = m by tiles(200, 200)\n    partition _w = m by tiles(199, 199)\n}")
	_, err := prog.Run(t.Context(), rt, lang.WithLimits(lang.Limits{Timeout: 50 * time.Millisecond}))
	var limit *lang.LimitError
	if !errors.As(err, &limit) || limit.Kind != "timeout" {
		t.Errorf("%v", err)
	}
}

// A limit that was reached reads like any other diagnostic.
func TestLimitErrorIsDiagnostic(t *testing.T) {
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	_, err := compile(t, lang.Config{}, "let k = 0\nwhile true { k += 1 }\n").Run(t.Context(), rt, lang.WithLimits(lang.Limits{Steps: 100}))
	var limit *lang.LimitError
	var d *lang.Diagnostic
	if !errors.As(err, &limit) || !errors.As(err, &d) {
		t.Fatalf("%T: %v", err, err)
	}
	if want := "test.spu:2:7: error[R0111]: the run reached its limit: 100 steps"; limit.Error() != want || d.Error() != want || fmt.Sprintf("%v", limit) != want {
		t.Errorf("%q and %q, want %q", limit, d, want)
	}
	var a, b strings.Builder
	if err := errors.Join(limit.Render(&a, lang.Style{}), d.Render(&b, lang.Style{})); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() || !strings.Contains(a.String(), "2 | while true { k += 1 }") || !strings.Contains(a.String(), "`--limits steps=N` allows more") {
		t.Errorf("rendered\n%s and\n%s", a.String(), b.String())
	}
	if !errors.As(d, &limit) { // and back
		t.Error("the diagnostic has lost its cause")
	}
	total := &lang.LimitError{Kind: "tasks", Limit: 1, Total: true}
	if want := "error[R0111]: all calls together reached their limit: 1 task"; total.Error() != want {
		t.Errorf("%q, want %q", total, want)
	}
	var none *lang.LimitError
	if d = nil; none.As(&d) || d != nil {
		t.Error("nil is a diagnostic")
	}
}

// TestLimitsOfPlans: what a plan records and makes of it counts as memory, and its time has
// the limit of a run.
func TestLimitsOfPlans(t *testing.T) {
	const nop = "codelet nop(x: RW vector[u8]) { x[0] = 1 }\nregister x = vector[u8](3000, fill = 0)\n"
	for _, c := range []struct{ name, src, kind string }{
		{"tasks", nop + "while true { insert nop(RW x) }", "mem"},
		{"tasks in a list", nop + "let l = [insert nop(RW x) for i in 0..100_000]\nprint(len(l))", "mem"},
		{"held data", nop + "while true { acquire R x as a { print(a[0]) } }", "mem"},
		{"dependencies", nop + "partition x by blocks(1500, halo = 700)\nfor i in 0..1500 { insert nop(RW x[i]) }", "mem"},
		{"time", "while true { }", "timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog := compile(t, lang.Config{}, c.src)
			lim := lang.Limits{ScriptBytes: 4 << 20, Timeout: time.Hour}
			if c.kind == "timeout" {
				lim.Timeout = 20 * time.Millisecond
			}
			var limit *lang.LimitError
			_, err := prog.Plan(t.Context(), engine.Machine{Workers: 1}, lang.WithLimits(lim), lang.Stdout(io.Discard))
			if !errors.As(err, &limit) || limit.Kind != c.kind {
				t.Errorf("plan: %v", err)
			}
			if c.kind == "timeout" { // the rest is not recorded
				if err = prog.CheckPlan(t.Context(), 0, lang.WithLimits(lim)); !errors.As(err, &limit) || limit.Kind != c.kind {
					t.Errorf("check: %v", err)
				}
			}
		})
	}
}

// TestLimitsOfTasks: tasks that wait for the script count as memory where there are more
// of them than may be in flight, and what comes to its end in time does not.
func TestLimitsOfTasks(t *testing.T) {
	const nop = "codelet nop(x: RW variable[f64]) { x += 1.0 }\nregister x = variable[f64](fill = 0)\n"
	for _, o := range []engine.Options{{Workers: 1}, {Workers: 2}, {Sequential: true}} {
		rt := newRuntime(t, o)
		for src, kind := range map[string]string{
			nop + "let g = gate()\nfor i in 0..3000 { insert nop(RW x) with after = [g] }\nopen(g)\nprint(value(x))":                             "",
			nop + "let g = gate()\nfor i in 0..30_000 { insert nop(RW x) with after = [g] }\nopen(g)\nprint(value(x))":                           "mem",
			nop + "for k in 0..20 {\n    let g = gate()\n    for i in 0..3000 { insert nop(RW x) with after = [g] }\n    open(g)\n    wait x\n}": "",
			nop + "for i in 0..100_000 { insert nop(RW x) }\nprint(value(x))":                                                                    "",
			nop + "acquire RW x as a {\n    for i in 0..30_000 { insert nop(RW x) }\n    a[0] = 0.0\n}":                                          "mem",
			nop + "let g = gate()\ninsert nop(RW x) with after = [g]\nfor i in 0..30_000 { invalidate x }\nopen(g)":                              "mem",
		} {
			prog := compile(t, lang.Config{}, src)
			inst, err := prog.Run(t.Context(), rt, lang.WithLimits(lang.Limits{ScriptBytes: 8 << 20}), lang.Stdout(io.Discard))
			var limit *lang.LimitError
			if (err != nil) != (kind != "") || err != nil && (!errors.As(err, &limit) || limit.Kind != kind) {
				t.Errorf("%+v: %v, want %q:\n%s", o, err, kind, src)
			}
			if err == nil {
				inst.Close()
			}
		}
	}
}

// TestLimitsOfCopies: REDUX and SCRATCH operands take memory for each worker.
func TestLimitsOfCopies(t *testing.T) {
	const kernels = "codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\n" +
		"codelet use(y: RW variable[f64], x: SCRATCH vector[f64]) {\n    each i in x { x[i] = 1.0 }\n    y += x[0]\n}\n"
	for src, copies := range map[string]int64{
		kernels + "register x = vector[f64](1000, fill = 0)\nfor i in 0..9 { insert add(RW x) }":                                                       0,
		kernels + "register x = vector[f64](1000, reduce = sum)\nfor i in 0..9 { insert add(REDUX x) }":                                                1,
		kernels + "register x = vector[f64](1000, reduce = sum)\npartition x by blocks(2)\nfor i in 0..9 { for k in 0..2 { insert add(REDUX x[k]) } }": 1,
		kernels + "register y = variable[f64](fill = 0)\nregister x = vector[f64](1000)\nfor i in 0..9 { insert use(RW y, SCRATCH x) }":                1,
		kernels + "for i in 0..3 {\n    register x = vector[f64](1000, reduce = sum)\n    insert add(REDUX x)\n}":                                      3,
	} {
		prog := compile(t, lang.Config{}, src)
		var needs []int64
		for _, workers := range []int{1, 4} {
			rt := newRuntime(t, engine.Options{Workers: workers})
			needs = append(needs, least(func(n int64) bool {
				inst, err := prog.Run(t.Context(), rt, lang.WithLimits(lang.Limits{DataBytes: n}))
				if err == nil {
					inst.Close()
				}
				return err == nil
			}))
		}
		if more := needs[1] - needs[0]; more != 3*copies*8000 {
			t.Errorf("with 4 workers %d bytes more than with one, want %d:\n%s", more, 3*copies*8000, src)
		}
	}
}

// TestSourceLimit: a script and what it imports are refused before they are parsed
// when their text is longer than the host allows; entries of a session count alone.
func TestSourceLimit(t *testing.T) {
	module := "## A module.\nfunc one() -> int { return 1 }\n"
	script := "import \"m.spu\" as m\nprint(m.one())\n"
	files := lang.FSLoader(fstest.MapFS{"m.spu": {Data: []byte(module)}})
	both := int64(len(module) + len(script))
	for _, c := range []struct {
		name   string
		limits lang.Limits
		want   string // of the message; "" compiles
	}{
		{"none", lang.Limits{}, ""},
		{"both fit", lang.Limits{SourceBytes: both}, ""},
		{"the module does not", lang.Limits{SourceBytes: both - 1}, "with this module the script has 79 bytes, and the limit is 78"},
		{"the script does not", lang.Limits{SourceBytes: int64(len(script) - 1)}, "the script has 35 bytes, and the limit is 34"},
		{"little memory", lang.Limits{ScriptBytes: 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			comp, err := lang.NewCompiler(lang.Config{Loader: files, Limits: c.limits})
			if err != nil {
				t.Fatal(err)
			}
			_, ds := comp.Compile(context.Background(), "x.spu", []byte(script))
			said := ""
			if len(ds) > 0 {
				said = ds[0].Code + " " + ds[0].Message
			}
			if c.want == "" && said != "" || c.want != "" && said != "E0107 "+c.want {
				t.Errorf("%q, want %q", said, c.want)
			}
		})
	}

	s := newSession(t, lang.Config{Limits: lang.Limits{ScriptBytes: 32 << 20}}, newRuntime(t, engine.Options{Workers: 1}))
	for range 3 {
		if _, err := s.Eval(context.Background(), "let a = 1 "+strings.Repeat(" ", 100<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Eval(context.Background(), "let a = 1 "+strings.Repeat(" ", 200<<10)); err == nil || !strings.Contains(err.Error(), "the limit is 131072") {
		t.Errorf("an entry of 200 KiB: %v", err)
	}
}

// endless is a file system whose files say the same for ever; it counts those that are open.
type endless struct {
	text string
	open int
}

func (e *endless) Create(string) (io.WriteCloser, error) { return nil, fs.ErrPermission }

func (e *endless) Open(string) (fs.File, error) {
	e.open++
	return &endlessFile{of: e}, nil
}

type endlessFile struct {
	of *endless
	at int
}

func (f *endlessFile) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

func (f *endlessFile) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = f.of.text[f.at%len(f.of.text)]
		f.at++
	}
	return len(b), nil
}

func (f *endlessFile) Close() error {
	f.of.open--
	return nil
}

// TestLoadLimits: limits hold while a file is read that tells its sizes by its end,
// and files are closed whatever happens.
func TestLoadLimits(t *testing.T) {
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	for _, c := range []struct {
		kind, file, text, load string
		lim                    lang.Limits
	}{
		{"data", "a.csv", "1\n", "vector[f64](load = \"a.csv\")", lang.Limits{DataBytes: 1e6}},
		{"data", "a.csv", "1,", "matrix[i8](load = \"a.csv\")", lang.Limits{DataBytes: 1e6}},
		{"timeout", "a.csv", "\n", "vector[f64](load = \"a.csv\")", lang.Limits{Timeout: 50 * time.Millisecond}},
		{"timeout", "a.mtx", "%%MatrixMarket matrix array real general\n%", "matrix[f64](load = \"a.mtx\")", lang.Limits{Timeout: 50 * time.Millisecond}},
		{"data", "a.bin", "1", "vector[f64](1_000_000, load = \"a.bin\")", lang.Limits{DataBytes: 1e6}},
		{"", "a.bin", "1", "vector[f64](1_000_000_000_000_000_000, load = \"a.bin\")", lang.Limits{}},
	} {
		files := &endless{text: c.text}
		p := compile(t, lang.Config{Limits: c.lim, Files: files}, "register x = "+c.load+"\nprint(x)\n")
		inst, err := p.Run(t.Context(), rt, lang.Stdout(io.Discard))
		var l *lang.LimitError
		if errors.As(err, &l) != (c.kind != "") || l != nil && l.Kind != c.kind || err == nil {
			t.Errorf("%s: %v, want the limit %q", c.load, err, c.kind)
		}
		if inst != nil {
			inst.Close()
		}
		if files.open != 0 {
			t.Errorf("%s: %d files are open", c.load, files.open)
		}
	}
	// A file that fits is read to its end.
	files := &endless{text: strings.Repeat("1\n", 1<<16)}
	p := compile(t, lang.Config{Limits: lang.Limits{DataBytes: 800 + 1024}, Files: short{files}}, "register x = vector[f64](load = \"a.csv\")\nprint(x)\n")
	if _, err := p.Run(t.Context(), rt, lang.Stdout(io.Discard)); err != nil {
		t.Error(err)
	}
}

// short has files of 100 lines.
type short struct{ *endless }

func (s short) Open(name string) (fs.File, error) {
	f, err := s.endless.Open(name)
	return &shortFile{f, 200}, err
}

type shortFile struct {
	fs.File
	left int
}

func (f *shortFile) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.File.Read(b[:min(len(b), f.left)])
	f.left -= n
	return n, err
}

// MaxWorkers bounds the workers that run tasks of a run, the smaller of two counts, and
// fewer tasks at once are no error.
func TestMaxWorkersOfRun(t *testing.T) {
	for _, c := range []struct{ config, run int }{{2, 0}, {0, 2}, {2, 3}, {3, 2}} {
		var now, peak, met atomic.Int64
		meet := lang.Must(lang.NewCodelet("meet(x: RW vector[f64])", lang.CPUFunc(func(x []float64) {
			n := now.Add(1)
			for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
			}
			met.Add(1)
			enginetest.Eventually(t, "two have been here", func() bool { return met.Load() >= 2 })
			now.Add(-1)
		})))
		comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{meet}, Limits: lang.Limits{MaxWorkers: c.config}}))
		prog, diags := comp.Compile(context.Background(), "meet.spu",
			[]byte("extern codelet meet(x: RW vector[f64])\nregister x = vector[f64](200, fill = 0)\npartition x by blocks(200)\nfor k in 0..200 { insert meet(RW x[k]) }\n"))
		if diags.Err() != nil {
			t.Fatal(diags.Err())
		}
		rt := lang.Must(engine.New(engine.Options{Workers: 4}))
		inst, err := prog.Run(context.Background(), rt, lang.WithLimits(lang.Limits{MaxWorkers: c.run}))
		if err == nil {
			err = inst.Close()
		}
		if err != nil || peak.Load() != 2 {
			t.Errorf("%+v: %d workers at once, and %v", c, peak.Load(), err)
		}
		rt.Close()
	}
}

// A body that runs for long lets tasks of other runs with a weight run in between, and is
// still there afterwards.
func TestLongBodyGivesWay(t *testing.T) {
	const long = `
codelet long(x: RW vector[f64]) { %s }
register x = vector[f64](1, fill = 0)
insert long(RW x)
`
	const short = `
codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
register x = vector[f64](10, fill = 0)
for k in 0..10 { insert add(RW x) }
print(x)
`
	for name, body := range map[string]string{
		"sum":           "each k in x { x[k] = sum i in 0..1_000_000_000_000 { 1.0 / (float(i) + 1.0) } }",
		"for":           "for i in 0..1_000_000_000_000 { x[0] = x[0] * 0.5 + 1.0 }",
		"while":         "let k = 0.0; while k >= 0.0 { k += 1.0 }; x[0] = k",
		"while in each": "each k in x { while x[k] >= 0.0 { x[k] += 1.0 } }",
		"each":          "for i in 0..1_000_000_000_000 { each k in x { x[k] = sqrt(x[k]) } }",
	} {
		t.Run(name, func(t *testing.T) {
			rt := lang.Must(engine.New(engine.Options{Workers: 1}))
			defer rt.Close()
			comp := lang.Must(lang.NewCompiler(lang.Config{Limits: lang.Limits{Weight: 1}}))
			run := func(ctx context.Context, source string, o ...lang.Option) (*lang.Instance, error) {
				prog, diags := comp.Compile(context.Background(), "run.spu", []byte(source))
				if diags.Err() != nil {
					t.Fatal(diags.Err())
				}
				return prog.Run(ctx, rt, o...)
			}
			ctx, cancel := context.WithCancel(context.Background())
			hog := make(chan error, 1)
			go func() {
				inst, err := run(ctx, fmt.Sprintf(long, body))
				inst.Close()
				hog <- err
			}()
			enginetest.Eventually(t, "the long script runs", func() bool { return rt.Ready() > 0 })
			for range 5 {
				var out bytes.Buffer
				inst, err := run(context.Background(), short, lang.Stdout(&out))
				if err == nil {
					err = inst.Close()
				}
				if err != nil || strings.Count(out.String(), "10.0") != 10 {
					t.Errorf("%v: %s", err, out.String())
				}
			}
			if rt.Ready() == 0 {
				t.Error("the long body has ended")
			}
			cancel()
			if err := <-hog; !errors.Is(err, context.Canceled) {
				t.Errorf("the long body: %v", err)
			}
		})
	}
}
