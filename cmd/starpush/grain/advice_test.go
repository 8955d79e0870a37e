package grain_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/stdlib"
)

// clock makes every task of a run take the same time: what is said goes by that.
type clock struct {
	grain.Listener
	each time.Duration
}

func (c *clock) TaskEvent(e *engine.Event) {
	now := *e
	now.Time = time.Unix(1, 0)
	if e.Kind > engine.TaskStarted {
		now.Time = now.Time.Add(c.each)
	}
	c.Listener.TaskEvent(&now)
}

// run runs a script, and returns what it prints, what is advised and how many tasks it had.
func run(t *testing.T, script string, each time.Duration, workers int) (printed string, advice []string, tasks int64) {
	t.Helper()
	return runOn(t, script, each, workers, nil)
}

// runOn is run, where workers may pass for devices.
func runOn(t *testing.T, script string, each time.Duration, workers int, device func(worker int) bool) (printed string, advice []string, tasks int64) {
	t.Helper()
	comp := lang.Must(lang.NewCompiler(lang.Config{Modules: stdlib.Modules()}))
	prog, ds := comp.Compile(context.Background(), "s.spu", []byte(script))
	if len(ds) > 0 {
		t.Fatalf("%v\n%s", ds, script)
	}
	c := &clock{each: each}
	rt := lang.Must(engine.New(engine.Options{Workers: 2, Listener: c}))
	defer rt.Close()
	var out bytes.Buffer
	inst, err := prog.Run(context.Background(), rt, lang.Stdout(&out), lang.ObserveViews(c.View))
	if err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	defer inst.Close()
	advice = c.Advice(grain.Asked{Workers: workers, Duration: time.Duration.String, Numbers: interp.Computed, Device: device})
	return out.String(), advice, inst.Stats().Done
}

const codelets = `# what the scripts below insert
codelet number(A: W matrix[f64]) { each i, j in A { A[i, j] = float(A.row0 + i) - 0.5 * float(A.col0 + j) } }
codelet count(x: W vector[f64]) { each i in x { x[i] = float(x.offset + i) } }
codelet mul(A: R matrix[f64], x: R vector[f64], y: RW vector[f64]) {
    each i in y { y[i] += sum j in 0..x.n { A[i, j] * x[j] } }
}
codelet blur(x: R vector[f64], y: W vector[f64]) { each i in y { y[i] = x[i] - 2.0 * x[i + 1] + x[i + 2] } }
codelet weigh(x: RW vector[f64], w: R vector[f64]) { each i in x { x[i] *= w[i] } }
codelet add(x: R vector[f64], s: RW variable[f64]) { s += sum i in x { x[i] } }
codelet scale(x: RW vector[f64], a: f64) { each i in x { x[i] *= a } }
`

// what names the filters in a piece of advice.
var change = regexp.MustCompile("`(\\w+)` by `([^`]*)` instead of `([^`]*)`")

// TestApplied: the filters that are named are put into the script, which then checks, does
// the same, and has the number of tasks that was aimed at.
func TestApplied(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		each         time.Duration
		workers      int
		filters      string // that are named
	}{
		{"gemv, by rows", `
register A = matrix[f64](200, 32)
register x = vector[f64](32)
register y = vector[f64](200, fill = 0)
partition a = A by rows(200)
partition v = y by blocks(200)
insert count(W x)
for p in a.parts { insert number(W p) }
for b in 0..a.count { insert mul(R a[b], R x, RW v[b]) }
print(y)`, 2500 * time.Nanosecond, 2, "a rows(20), v blocks(20)"},
		{"gemv, by tiles", `
register A = matrix[f64](64, 32)
register x = vector[f64](32)
register y = vector[f64](64, fill = 0)
partition a = A by tiles(32, 16)
partition u = x by blocks(16)
partition v = y by blocks(32)
for p in a.parts { insert number(W p) }
for p in u.parts { insert count(W p) }
for i, j in grid(v.count, u.count) { insert mul(R a[i, j], R u[j], RW v[i]) }
print(y)`, 3750 * time.Nanosecond, 2, "a tiles(16, 8), u blocks(8), v blocks(16)"},
		{"gemm", `
import "std/blas" as blas
register A, B, C = matrix[f64](24, 24, fill = 0)
partition a = A by tiles(8, 8)
partition b = B by tiles(8, 8)
partition c = C by tiles(8, 8)
insert number(W A)
insert number(W B)
let n = c[0, 0].rows
for i, j, k in grid(24 // n, 24 // n, 24 // n) { insert blas.gemm(R a[i, k], R b[k, j], RW c[i, j]) }
print(C)`, 2500 * time.Nanosecond, 2, "a tiles(3, 3), b tiles(3, 3), c tiles(3, 3)"},
		{"a halo beside none", `
register u = vector[f64](802)
register y = vector[f64](800)
partition near = u by blocks(80, halo = 1)
partition own = y by blocks(80)
insert count(W u)
for b in 0..own.count { insert blur(R near[b], W own[b]) }
print(y)`, 2500 * time.Nanosecond, 2, "near blocks(8, halo = 1), own blocks(8)"},
		{"a halo beside what is inside", `
register u, y = vector[f64](802, fill = 0)
partition near = u by blocks(80, halo = 1)
partition own = y by blocks(80, inside = 1)
insert count(W u)
for b in 0..own.count { insert blur(R near[b], W own[b]) }
print(y)`, 2500 * time.Nanosecond, 2, "near blocks(8, halo = 1), own blocks(8, inside = 1)"},
		{"one operand, and a sum", `
register x = vector[f64](700)
register s = variable[f64](reduce = sum)
partition v = x by blocks(70)
for p in v.parts { insert count(W p) }
for p in v.parts { insert add(R p, REDUX s) }
print(value(s))`, 2500 * time.Nanosecond, 2, "v blocks(7)"},
		{"too few", `
register A = matrix[f64](200, 8, list = [float(i % 7) for i in 0..1600])
register x = vector[f64](8, list = [float(i) for i in 0..8])
register y = vector[f64](200, fill = 0)
partition a = A by rows(2)
partition v = y by blocks(2)
for b in 0..a.count { insert mul(R a[b], R x, RW v[b]) }
print(y)`, 10 * time.Second, 4, "a rows(8), v blocks(8)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := codelets + tt.script
			before, advice, tasks := run(t, script, tt.each, tt.workers)
			all := strings.Join(advice, "\n")
			found := change.FindAllStringSubmatch(all, -1)
			var filters []string
			for _, m := range found {
				filters = append(filters, m[1]+" "+m[2])
				old := regexp.MustCompile(`(partition ` + m[1] + ` = .* by )` + regexp.QuoteMeta(m[3]) + `\n`)
				if n := len(old.FindAllString(script, -1)); n != 1 {
					t.Fatalf("%d lines have %s by %s", n, m[1], m[3])
				}
				script = old.ReplaceAllString(script, "${1}"+m[2]+"\n")
			}
			slices.Sort(filters)
			if got := strings.Join(filters, ", "); got != tt.filters {
				t.Fatalf("%s\nwant %s", all, tt.filters)
			}
			after, _, now := run(t, script, tt.each, tt.workers)
			if after != before {
				t.Errorf("printed %s\nand before %s", after, before)
			}
			if fewer := tt.each < time.Millisecond; now == tasks || now < tasks != fewer {
				t.Errorf("%d tasks, and %d before", now, tasks)
			}
		})
	}
}

// TestNotKnown: no filter is named where other sizes might not fit, or mean something else.
func TestNotKnown(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"an operand as long as the parts", `
register x = vector[f64](800, fill = 1)
register w = vector[f64](8, fill = 2)
partition v = x by blocks(100)
for p in v.parts { insert weigh(RW p, R w) }
print(x)`},
		{"square parts of what is not square", `
codelet mirror(A: RW matrix[f64]) { each i, j in A { A[i, j] = max(A[i, j], float(A.cols - A.rows)) } }
register A = matrix[f64](800, 8, fill = 1)
partition a = A by rows(100)
for p in a.parts { insert mirror(RW p) }
print(A)`},
		{"given sizes", `
register x = vector[f64](200, fill = 1)
partition v = x by blocks(sizes = [if i % 2 == 0 then 1 else 3 for i in 0..100])
for p in v.parts { insert scale(RW p, 2.0) }
print(x)`},
		{"single elements beside parts", `
register x = vector[f64](100, fill = 1)
register s = vector[f64](100, fill = 0)
partition v = x by blocks(100)
partition e = s by pick(0)
for b in 0..100 { insert add(R v[b], RW e[b]) }
print(s)`},
		{"data of their own beside parts", `
register x = vector[f64](100, fill = 1)
register s = [variable[f64](fill = 0) for b in 0..100]
partition v = x by blocks(100)
for b in 0..100 { insert add(R v[b], RW s[b]) }
print(value(s[99]))`},
		{"parts that the script looks at", `
register x = vector[f64](100, fill = 1)
partition v = x by blocks(100)
for p in v.parts { insert scale(RW p, 2.0) }
print(v[99])`},
		{"parts of parts", `
register x = vector[f64](400, fill = 1)
partition v = x by blocks(2) then blocks(50)
for p in v.parts { insert scale(RW p, 2.0) }
print(x)`},
		{"numbers without a common divisor", `
register A = matrix[f64](70, 50, fill = 1)
register y = vector[f64](70, fill = 1)
register x = vector[f64](50, fill = 1)
partition a = A by tiles(7, 10)
partition v = y by blocks(7)
partition u = x by blocks(10)
for i, j in grid(7, 10) { insert mul(R a[i, j], R u[j], RW v[i]) }
print(y)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, advice, _ := run(t, codelets+tt.script, 2500*time.Nanosecond, 2)
			if len(advice) == 0 {
				t.Error("nothing is said at all")
			}
			for _, a := range advice {
				if !strings.Contains(a, "\n  let each task do more: ") || strings.Contains(a, " by `") {
					t.Error(a)
				}
			}
		})
	}
}

// TestSaid: the words.
func TestSaid(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		each         time.Duration
		want         []string
	}{
		{"nothing", "register x = vector[f64](8)\ninsert count(W x)\nprint(x)", time.Microsecond, nil},
		{"numbers besides", `
register x = vector[f64](128, fill = 1)
partition v = x by blocks(64)
for b in 0..v.count { insert scale(RW v[b], float(b)) }
print(x)`, 2500 * time.Nanosecond, []string{"s.spu:14  insert scale: 64 tasks of 2.5µs each are too short: a task costs some tenths of a microsecond besides its kernel, and 1 µs where it waits for others\n" +
			"  split `v` by `blocks(7)` instead of `blocks(64)`, and let loops run over as many parts: each task would take about 22.857µs\n" +
			"  numbers that `scale` is given besides must go along where they depend on the parts"}},
		{"two inserts, the same data", `
register x = vector[f64](128, fill = 1)
partition v = x by blocks(64)
for p in v.parts { insert scale(RW p, 2.0) }
for p in v.parts { insert scale(RW p, 2.0) }
print(x)`, 2500 * time.Nanosecond, []string{"s.spu:14  insert scale: 64 tasks of 2.5µs each are too short: a task costs some tenths of a microsecond besides its kernel, and 1 µs where it waits for others\n" +
			"  split `v` by `blocks(7)` instead of `blocks(64)`, and let loops run over as many parts: each task would take about 22.857µs",
			"s.spu:15  insert scale: 64 tasks of 2.5µs each are too short: a task costs some tenths of a microsecond besides its kernel, and 1 µs where it waits for others\n" +
				"  its data goes together with that of s.spu:14"}},
		{"one piece", "register x = vector[f64](128, fill = 1)\ninsert scale(RW x, 2.0)\nprint(x)", time.Second,
			[]string{"s.spu:12  insert scale: 1 task is too few for 2 workers: 1 task at a time, of 1s each\n" +
				"  `x` is one piece: if parts of it can be computed one by one, split it, as by `partition x by blocks(4)`, and insert a task for each"}},
		{"several pieces", "register x, w = vector[f64](128, fill = 1)\ninsert weigh(RW x, R w)\nprint(x)", time.Second,
			[]string{"s.spu:12  insert weigh: 1 task is too few for 2 workers: 1 task at a time, of 1s each\n" +
				"  if parts of its data can be computed one by one, split all data whose sizes must fit, and insert a task for each"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, advice, _ := run(t, codelets+tt.script, tt.each, 2); !slices.Equal(advice, tt.want) {
				t.Errorf("%s\nwant %s", strings.Join(advice, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestShortOn: tasks are too short below 5 µs on a CPU, and below 20 µs on a device.
func TestShortOn(t *testing.T) {
	const script = codelets + "register x = vector[f64](128, fill = 1)\npartition v = x by blocks(64)\nfor p in v.parts { insert scale(RW p, 2.0) }\nprint(x)"
	for _, c := range []struct {
		each   time.Duration
		device bool
		want   string // that is said; "": nothing
	}{
		{4 * time.Microsecond, false, "tenths of a microsecond"}, {6 * time.Microsecond, false, ""},
		{6 * time.Microsecond, true, "a task on a device costs some microseconds"}, {25 * time.Microsecond, true, ""},
	} {
		_, advice, _ := runOn(t, script, c.each, 2, func(int) bool { return c.device })
		if all := strings.Join(advice, "\n"); (all == "") != (c.want == "") || !strings.Contains(all, c.want) {
			t.Errorf("%v, on a device %v: %q, want %q", c.each, c.device, all, c.want)
		}
	}
}

// TestManyInserts: of many inserts those are named whose tasks took most, and finding out
// takes time in proportion to their number.
func TestManyInserts(t *testing.T) {
	var b strings.Builder
	b.WriteString(codelets + "register x = vector[f64](6000, fill = 1)\npartition x by blocks(100)\n")
	for range 50 {
		b.WriteString("for k in 0..100 { insert scale(RW x[k], 2.0) }\n")
	}
	b.WriteString("for t in 0..9 { for k in 0..100 { insert scale(RW x[k], 0.5) } }\n")
	_, advice, _ := run(t, b.String(), 3*time.Microsecond, 2)
	if len(advice) != 21 || advice[20] != "and 31 more inserts, whose tasks took less time together" {
		t.Fatalf("%d pieces of advice, the last %q", len(advice), advice[len(advice)-1])
	}
	for k, text := range advice[:20] { // the last one took most: it has the filters
		if full := strings.Contains(text, "instead of"); full != (k == 19) || !full && !strings.Contains(text, "goes together with that of s.spu:63") {
			t.Errorf("piece %d: %s", k, text)
		}
	}

	const n = 40_000
	b.Reset()
	fmt.Fprintf(&b, "%sregister x = vector[f64](%d, fill = 1)\npartition x by blocks(%d)\n", codelets, n, n)
	for k := range n {
		fmt.Fprintf(&b, "insert scale(RW x[%d], 2.0)\n", k)
	}
	start := time.Now()
	run(t, b.String(), 3*time.Microsecond, 2)
	if d := time.Since(start); d > 40*time.Second { // it took minutes when an insert looked at all others
		t.Errorf("advice on %d inserts took %v", n, d)
	}
}
