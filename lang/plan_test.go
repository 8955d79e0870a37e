package lang_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/numa"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang"
)

// planOf plans a script for one worker.
func planOf(t *testing.T, src string, opts ...lang.Option) (*lang.Plan, string, error) {
	t.Helper()
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	prog, ds := comp.Compile(t.Context(), "p.spu", []byte(src))
	if prog == nil {
		t.Fatal(ds.Err())
	}
	var out bytes.Buffer
	p, err := prog.Plan(t.Context(), engine.Machine{Workers: 2, PerfDir: t.TempDir()}, append(opts, lang.Stdout(&out))...)
	return p, out.String(), err
}

// names writes the tasks of a plan: "set(x) add(x)".
func names(p *lang.Plan) string {
	var all []string
	for i := range p.Graph.Tasks {
		t := &p.Graph.Tasks[i]
		if t.Light() {
			continue
		}
		var ops []string
		for _, o := range t.Operands {
			ops = append(ops, p.Graph.Handles[o.Handle].Name)
		}
		all = append(all, t.Codelet+"("+strings.Join(ops, " ")+")")
	}
	return strings.Join(all, " ")
}

const steps = `
codelet set(x: W vector[f64], v: f64) { each i in x { x[i] = v } }
codelet add(x: RW vector[f64], v: f64) { each i in x { x[i] += v } }
codelet head(x: R vector[f64], y: W variable[f64]) { y = x[0] }
register x = vector[f64](1024Gi)
register y = variable[f64]()
partition x by blocks(4)
`

func TestPlan(t *testing.T) {
	for _, c := range []struct{ name, src, want, out, notes string }{
		{"data too large for any machine", `
for i in 0..4 { insert set(W x[i], 1.0) }
insert head(R x, W y)`, "set(x[0]) set(x[1]) set(x[2]) set(x[3]) head(x y)", "", ""},
		{"values print as unknown", `
insert set(W x, 1.0)
insert head(R x, W y)
let v = value(y)
print(v, f"{v:.2f} {1 + 1}", v > 0.0, len(x.n .. x.n + 3))
print(y)
acquire R x as a { print(a[3], a[0..2], len(a)) }
assert v == 7.0`, "set(x) head(x y)", "? ? 2 ? 3\nvariable[f64]: ?\n? ? 1099511627776\n", ""},
		{"both ways of an if, the longer is shown", `
insert set(W x, 1.0)
insert head(R x, W y)
if value(y) > 0.0 { insert add(RW x[0], 1.0) } else {
    insert add(RW x[1], 1.0)
    insert add(RW x[2], 1.0)
}`, "set(x) head(x y) add(x[1]) add(x[2])", "", "p.spu:9: `value(y) > 0.0` depends on a value that tasks compute; both ways were looked at"},
		{"a loop until a value is small", `
insert set(W x, 1.0)
let k = 0
let done = false
while k < 100 and not done {
    insert add(RW x, 1.0)
    insert head(R x, W y)
    k += 1
    if k % 3 == 0 { done = value(y) < 1.0 }
}
print(k, done)`, "set(x) " + strings.Repeat("add(x) head(x y) ", 3) + "add(x) head(x y)", "? 4 ?\n", "p.spu:10: how often this loop runs depends on a value that tasks compute: one more round is shown"},
		{"a break that a value decides", `
insert set(W x, 1.0)
for i in 0..10 {
    insert head(R x, W y)
    if value(y) > 3.0 { break }
}`, "set(x) head(x y) head(x y)", "", "p.spu:10: `value(y) > 3.0` depends on a value that tasks compute; both ways were looked at"},
		{"through functions, lists and arithmetic", `
func f(a: float) -> float { return a * 2.0 }
func g(a: float) -> int { if a > 0.0 { return 1 }
    return 2 }
insert set(W x, 1.0)
insert head(R x, W y)
let l = [1.0, 2.0]
let k = l[0] + f(3.0)
l[1] = f(value(y))
print(k, l, l[1], f(k), g(k))`, "set(x) head(x y)", "7.0 ? ? 14.0 1\n", ""},
		{"which data is not known", `
insert set(W x, 1.0)
insert head(R x, W y)
let k = int(value(y))
insert add(RW x[k], 1.0)`, "set(x) head(x y) add(x[1])", "", "p.spu:10: which data this task uses depends on a value that tasks compute"},
		{"how many is not known", `
insert set(W x, 1.0)
insert head(R x, W y)
let n = int(value(y) * 5.0)
for i in 0..n { insert add(RW x, float(i)) }
insert add(RW x, 0.5)`, "set(x) head(x y) add(x) add(x)", "", "p.spu:10: how often this loop runs depends on a value that tasks compute: one round is shown"},
		{"an error about unknown values ends the plan, and is none", `
insert set(W x, 1.0)
insert head(R x, W y)
let k = int(value(y)) + 99
insert add(RW x[k], 1.0)
insert add(RW x, 1.0)`, "set(x) head(x y)", "", "p.spu:10: the plan ends here: what follows depends on a value that tasks compute"},
		{"gates and after", `
let g = gate()
let a = insert set(W x, 1.0) with after = [g]
open(g)
insert set(W y0, 2.0) with after = [a]`, "set(x) set(y0)", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(steps, "register y =", "register y0 = vector[f64](4)\nregister y =", 1)
			if !strings.Contains(c.src, "y0") {
				src = steps
			}
			p, out, err := planOf(t, strings.TrimSpace(src)+c.src)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(p); got != strings.TrimSpace(c.want) {
				t.Errorf("planned  %s\nwant     %s", got, c.want)
			}
			if out != c.out {
				t.Errorf("printed %q, want %q", out, c.out)
			}
			var notes []string
			for _, n := range p.Graph.Notes {
				notes = append(notes, fmt.Sprintf("%v: %s", n.At, n.Text))
			}
			if got := strings.Join(notes, "\n"); got != c.notes {
				t.Errorf("notes:\n%s\nwant:\n%s", got, c.notes)
			}
			if (len(notes) == 0) != p.Graph.Exact() {
				t.Error("a plan is exact when it has no notes")
			}
		})
	}
}

// TestPlanFindsErrors of all ways, and says of each what a run would say.
func TestPlanFindsErrors(t *testing.T) {
	for _, c := range []struct{ src, code string }{
		{"insert set(W x[0], 1.0)\ninsert head(R x[1], W y)", "E0401"},
		{"for i in 0..=4 { insert set(W x[i], 1.0) }", "E0501"},
		{"insert set(W x, 1.0)\ninsert head(R x, W y)\nif value(y) > 0.0 { print(1) } else { insert set(W x[4], 1.0) }", "E0501"},
		{"insert set(W x, 1.0)\ninsert head(R x, W y)\nlet u = value(y)\ninsert set(W x[4], 1.0)", "E0501"},
		{"insert set(W x, 1.0)\ninsert head(R x, W y)\nprint(value(y))\nassert 1 == 2", "R0102"},
		{"let gs = [gate()]\ninsert set(W x, 1.0) with after = gs", "R0104"},
		{"insert set(W x, 1.0)\nacquire R x as a\nprint(a[4096Gi])\nrelease a", "R0105"},
	} {
		_, _, err := planOf(t, strings.TrimSpace(steps)+"\n"+c.src)
		var d *lang.Diagnostic
		if !errors.As(err, &d) || d.Code != c.code {
			t.Errorf("%s\ngives %v, want %s", c.src, err, c.code)
		}
	}
}

// TestPlanIsTheRun compares the tasks of a plan with those of a run of it.
func TestPlanIsTheRun(t *testing.T) {
	src := `
codelet set(x: W vector[f64], v: f64) { each i in x { x[i] = v } }
codelet dot(x: R vector[f64], acc: RW variable[f64]) { acc += sum i in x { x[i] * x[i] } }
register x = vector[f64](64)
register acc = variable[f64](reduce = sum)
partition x by blocks(4)
func round(v: float) { for b in 0..4 { insert set(W x[b], v)
        insert dot(R x[b], REDUX acc) } }
for k in 0..3 { round(float(k)) }
print(value(acc))
`
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	prog, ds := comp.Compile(t.Context(), "p.spu", []byte(src))
	if prog == nil {
		t.Fatal(ds.Err())
	}
	var out bytes.Buffer
	p, err := prog.Plan(t.Context(), engine.Machine{Workers: 1, PerfDir: t.TempDir()}, lang.Stdout(&out))
	if err != nil {
		t.Fatal(err)
	}
	journal := &engine.Journal{}
	rt := lang.Must(engine.New(engine.Options{Workers: 2, Listener: journal}))
	defer rt.Close()
	out.Reset()
	inst, err := p.Run(t.Context(), rt)
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "320.0\n" {
		t.Errorf("the run printed %q", out.String())
	}
	type task struct {
		codelet string
		line    int
		modes   string
	}
	var planned, ran []task
	for i := range p.Graph.Tasks {
		x := &p.Graph.Tasks[i]
		var modes []string
		for _, o := range x.Operands {
			modes = append(modes, o.Mode.String())
		}
		planned = append(planned, task{x.Codelet, p.Graph.SiteOf(x).Line, strings.Join(modes, " ")})
	}
	for _, e := range journal.Entries() {
		if e.Kind != engine.TaskSubmitted {
			continue
		}
		x := task{codelet: "(" + e.Internal + ")"}
		if e.Codelet != nil {
			x.codelet = e.Codelet.Name
		}
		if e.Origin.Site != nil {
			x.line = e.Origin.Site.Line
		}
		var modes []string
		for _, o := range e.Operands {
			modes = append(modes, o.Mode.String())
		}
		x.modes = strings.Join(modes, " ")
		ran = append(ran, x)
	}
	if !slices.Equal(planned, ran) {
		t.Errorf("planned %v\nran     %v", planned, ran)
	}
	if m := p.Measures(); m.Tasks != 25 || m.Length != 7 {
		t.Errorf("%d tasks, %d on the longest path; want 25 and 7", m.Tasks, m.Length)
	}
	var b bytes.Buffer
	if err := lang.Graph(&b, p, "mermaid", "codelet"); err != nil || !strings.Contains(b.String(), "set × 12") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestCheckPlanEnds whatever a script does, and leaves to runs what it cannot know.
// TestPlanOfValues: with the values that a run has read, a plan is of that run; with those of another script it is as without.
func TestPlanOfValues(t *testing.T) {
	const src = `
param least: float = 0.1
codelet set(x: W variable[f64], v: f64) { x = v }
codelet halve(x: RW variable[f64]) { x = x / 2.0 }
register x = variable[f64]()
insert set(W x, 1.0)
let k = 0
while value(x) > least {
    insert halve(RW x)
    k += 1
    if value(x) < 0.3 { insert halve(RW x) }
}
if k > 100 { insert set(W x, 0.0) }
`
	run := func(src string, opts ...lang.Option) (tasks int64, v *lang.Values) {
		rt := lang.Must(engine.New(engine.Options{Workers: 2}))
		defer rt.Close()
		prog, ds := lang.Must(lang.NewCompiler(lang.Config{})).Compile(t.Context(), "p.spu", []byte(src))
		if prog == nil {
			t.Fatal(ds.Err())
		}
		v = &lang.Values{}
		inst, err := prog.Run(t.Context(), rt, append(opts, lang.ReadValues(v))...)
		if err != nil {
			t.Fatal(err)
		}
		return inst.Stats().Done, v
	}
	for _, least := range []float64{0.01, 0.1, 0.9, 2} {
		tasks, v := run(src, lang.Param("least", least))
		for range 2 { // they are used from the start each time
			p, _, err := planOf(t, src, lang.Param("least", least), lang.ReadValues(v))
			if err != nil {
				t.Fatal(err)
			}
			if !p.Graph.Exact() || p.Paths != 1 || int64(p.Measures().Tasks) != tasks {
				t.Errorf("least = %g: %d tasks on %d paths, exact %v; the run had %d", least, p.Measures().Tasks, p.Paths, p.Graph.Exact(), tasks)
			}
		}
	}
	without, _, err := planOf(t, src)
	if err != nil {
		t.Fatal(err)
	}
	_, fewer := run(src, lang.Param("least", 0.9)) // ends before the plan asks
	_, elsewhere := run("\n\n" + src)              // at other places
	for name, v := range map[string]*lang.Values{"fewer": fewer, "elsewhere": elsewhere, "none": {}} {
		p, _, err := planOf(t, src, lang.ReadValues(v))
		if err != nil {
			t.Fatal(err)
		}
		if p.Graph.Exact() || name != "fewer" && names(p) != names(without) {
			t.Errorf("%s: %s, exact %v; without values %s", name, names(p), p.Graph.Exact(), names(without))
		}
	}
	_, numbers := run("register x = variable[f64](fill = 1)\nif value(x) > 3.0 { print(1) }")
	p, _, err := planOf(t, "register x = variable[i64](fill = 1)\nif value(x) > 300 { print(1) }", lang.ReadValues(numbers)) // at the same place
	if err != nil || p.Graph.Exact() {
		t.Errorf("values of another type: %v, exact %v", err, p.Graph.Exact())
	}
}

func TestCheckPlanEnds(t *testing.T) {
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	for src, code := range map[string]string{
		"while true { }": "",
		"codelet c(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\nregister x = vector[f64](4, fill = 0.0)\nwhile true { insert c(RW x) }": "",
		"extern x: vector[f64]\nprint(x.n)":      "",
		"param n: int\nprint(n)":                 "",
		"let l = [1, 2]\nlet k = 2\nprint(l[k])": "R0105",
	} {
		prog, ds := comp.Compile(t.Context(), "c.spu", []byte(src))
		if prog == nil {
			t.Fatal(ds.Err())
		}
		err := prog.CheckPlan(t.Context(), 1000)
		var d *lang.Diagnostic
		if code == "" && err != nil || code != "" && (!errors.As(err, &d) || d.Code != code) {
			t.Errorf("%s: %v, want %q", src, err, code)
		}
	}
}

// TestCheckPlanStops: a check says behind which limit it did not look.
func TestCheckPlanStops(t *testing.T) {
	const src = `codelet add(s: RW variable[f64]) { s += 1.0 }
register s = variable[f64](fill = 0)
insert add(RW s)
insert add(RW s)
if value(s) > 2.0 { insert add(RW s) } else { print("few") }
let n = 0
while n < 3 { n += 1 }
`
	for _, tt := range []struct {
		max   int64
		limit lang.Limits
		want  string
	}{
		{max: 1, want: "tasks 1 4"},
		{max: 2, want: "tasks 2 5"},
		{max: 4, want: "tasks 4 4"}, // three on the first way, one on the second
		{max: 5, want: ""},          // exactly
		{max: 0, want: ""},
		{max: 4, limit: lang.Limits{Tasks: 1}, want: "tasks 1 4"},
		{max: 4, limit: lang.Limits{Tasks: 3}, want: "tasks 4 4"},
	} {
		prog, ds := lang.Must(lang.NewCompiler(lang.Config{Limits: tt.limit})).Compile(t.Context(), "c.spu", []byte(src))
		if prog == nil {
			t.Fatal(ds.Err())
		}
		stopped, err := prog.CheckPlanTo(t.Context(), tt.max)
		got := ""
		if stopped != nil {
			got = fmt.Sprintf("%s %d %d", stopped.Kind, stopped.Limit, stopped.Span.Start.Line)
		}
		if err != nil || got != tt.want {
			t.Errorf("as far as %d tasks, %d allowed: stopped at %q, %v; want %q", tt.max, tt.limit.Tasks, got, err, tt.want)
		}
		if err := prog.CheckPlan(t.Context(), tt.max); err != nil {
			t.Errorf("as far as %d tasks: %v", tt.max, err)
		}
	}
}

// doubling is a chain of functions that call the one before twice, with its first one.
func doubling(params, args, first string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func f0(%s) %s\n", params, first)
	for k := 1; k <= 60; k++ {
		fmt.Fprintf(&b, "func f%d(%s) { f%d(%s); f%d(%s) }\n", k, params, k-1, args, k-1, args)
	}
	return b.String()
}

// TestCheckPlanDoubles: calls that do the same as before are made twice in a check, so
// that it comes to what follows 2^60 of them, and finds there, and in them, what it
// finds without.
func TestCheckPlanDoubles(t *testing.T) {
	const head = "codelet inc(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\ncodelet set(x: W vector[f64]) { each i in x { x[i] = 1.0 } }\n" +
		"codelet add(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] += x[0] } }\n" +
		"register x, y = vector[f64](4, fill = 0)\nregister z = vector[f64](4)\nlet k = 2\nlet l = [1, 2]\npartition v = x by blocks(2)\n"
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	for _, tt := range []struct{ name, src, code string }{
		{"data", doubling("v: vector[f64]", "v", "{ insert inc(RW v) }") + "f60(x)\nprint(l[k])", "R0105"},
		{"no arguments", doubling("", "", "{ insert inc(RW x) }") + "f60()\nprint(l[k])", "R0105"},
		{"views and numbers", doubling("v: view[vector[f64]], n: int, a: float", "v, n, a", "{ for i in 0..n { if a > 0.5 { insert inc(RW v[i]) } } }") + "f60(v, 2, 1.0)\nprint(l[k])", "R0105"},
		{"names of their own", doubling("n: int", "n", "{ let j = n\nwhile j > 0 { insert inc(RW x)\nj -= 1 } }") + "f60(3)\nprint(l[k])", "R0105"},
		{"the second call is another", "func f0(n: int) { insert inc(RW v[n]) }\nfunc f1(n: int) { f0(n); f0(n); f0(n); f0(n + 1) }\nf1(1)", "E0501"},
		{"the third round is another", "func f0(n: int) { insert inc(RW v[n]) }\nfor i in 0..3 { f0(i) }", "E0501"},
		{"read before it is written", doubling("v: vector[f64]", "v", "{ insert inc(RW v) }") + "f60(z)", "E0401"},
		{"written at first", doubling("v: vector[f64]", "v", "{ insert set(W v)\ninsert inc(RW v) }") + "f60(z)\nprint(l[k])", "R0105"},
		{"written by the call before", "func f0() { insert add(R x, RW y) }\nfunc f1() { f0(); f0(); f0() }\nf1()\ninvalidate x\nf1()", "E0402"},
		{"dropped in between", "func f0() { insert add(R x, RW y) }\nfunc f1() { f0(); f0(); invalidate x; f0() }\nf1()", "E0402"},
		{"places of a sequence", "func f0() { insert inc(RW x) with worker = workers(cpu)[0], order = 1 }\nfunc f1() { f0(); f0(); f0() }\nf1()", "E0705"},
		{"a global that changes", "let n = 0\nfunc f0() { insert inc(RW v[n])\nn += 1 }\nfunc f1() { f0(); f0(); f0() }\nf1()", "E0501"},
		{"a list that changes", "func f0(a: list[int]) { insert inc(RW v[a[0]])\na[0] += 1 }\nfunc f1(a: list[int]) { f0(a); f0(a); f0(a) }\nf1([0])", "E0501"},
		{"ways that are not known", "register s = variable[i64](fill = 1)\nlet n = value(s)\nfunc f0() { if n > 0 { insert inc(RW x) } else { insert inc(RW v[k]) } }\n" +
			"func f1() { f0(); f0(); f0() }\nf1()", "E0501"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			prog, ds := comp.Compile(t.Context(), "c.spu", []byte(head+tt.src+"\n"))
			if prog == nil {
				t.Fatal(ds.Err())
			}
			var d *lang.Diagnostic
			if err := prog.CheckPlan(t.Context(), 1<<16); !errors.As(err, &d) || d.Code != tt.code {
				t.Errorf("%v, want %s", err, tt.code)
			}
		})
	}
	for n := 1; n <= 4; n++ { // a plan has all of them
		p, _, err := planOf(t, head+"func f0() { insert inc(RW x) }\nfunc f1() { for i in 0..5 { f0() } }\nfor i in 0.."+fmt.Sprint(n)+" { f1() }")
		if err != nil || p.Measures().Tasks != 5*n {
			t.Errorf("%d tasks of %d, %v", p.Measures().Tasks, 5*n, err)
		}
	}
}

// TestCheckPlanWays: a check takes both ways of many unknown values, with a bounded
// number of extra steps.
func TestCheckPlanWays(t *testing.T) {
	for _, rounds := range []int{1, 1 << 19} {
		calls := 0
		probe := lang.Must(lang.NewFunc("probe()", func(context.Context, []any) (any, error) {
			calls++
			return nil, nil
		}))
		var b strings.Builder
		fmt.Fprintf(&b, "register s = variable[f64](fill = 0)\nlet l = [1, 2]\nlet k = 2\nfor i in 0..%d { probe() }\n", rounds)
		for i := range 60 {
			fmt.Fprintf(&b, "if value(s) > %d.0 { k += 1 } else { k -= 1 }\n", i)
		}
		b.WriteString("if value(s) > 60.0 { print(l[0]) } else { print(l[2]) }\n")
		prog, ds := lang.Must(lang.NewCompiler(lang.Config{Funcs: []*lang.Func{probe}})).Compile(t.Context(), "c.spu", []byte(b.String()))
		if prog == nil {
			t.Fatal(ds.Err())
		}
		var d *lang.Diagnostic
		if err := prog.CheckPlan(t.Context(), 0); !errors.As(err, &d) || d.Code != "R0105" {
			t.Errorf("%d rounds: %v", rounds, err)
		}
		if most := 10 << 20; rounds > 1 && calls > most || calls < 2*rounds {
			t.Errorf("%d rounds: %d calls", rounds, calls)
		}
	}
}

// TestCheckPlanCosts: statements that do more than compute count as many.
func TestCheckPlanCosts(t *testing.T) {
	for first, most := range map[string]int{
		"wait":                               1 << 18,
		"let _n = value(s)":                  1 << 18,
		"partition _p = x by blocks(2)":      1 << 16,
		"codelet_(x)":                        1 << 18,
		"if value(s) > 5.0 { }":              1 << 19, // on both ways
		"let _l = [value(s) for i in 0..64]": 1 << 13,
	} {
		calls := 0
		probe := lang.Must(lang.NewFunc("probe()", func(context.Context, []any) (any, error) {
			if calls++; calls > most {
				return nil, errors.New("too many")
			}
			return nil, nil
		}))
		comp := lang.Must(lang.NewCompiler(lang.Config{Funcs: []*lang.Func{probe}}))
		src := "register x = vector[f64](4, fill = 0)\nregister s = variable[f64](fill = 0)\nfunc codelet_(v: vector[f64]) { wait v }\n" +
			doubling("", "", "{\n"+first+"\nprobe()\n}") + "f60()"
		prog, ds := comp.Compile(t.Context(), "c.spu", []byte(src))
		if prog == nil {
			t.Fatal(ds.Err())
		}
		if err := prog.CheckPlan(t.Context(), 0); err != nil || calls == 0 {
			t.Errorf("%s: %v, %d calls", first, err, calls)
		}
	}
}

const externs = `
extern x: vector[f32]
extern A: matrix[i16]
extern s: variable[f64]
extern order: void
codelet use(x: RW vector[f32], s: R variable[f64], o: R void) { each i in x { x[i] += s } }
codelet rows(A: RW matrix[i16]) { each i, j in A { A[i, j] += 1 } }
partition x by blocks(4)
partition A by rows(2)
for i in 0..4 { insert use(RW x[i], R s, R order) }
for i in 0..A.rows // 8 { insert rows(RW A[i]) }
print(x.n, A.cols, value(s))
`

// Data that the host has not got yet is planned with its sizes, or its type where
// that is enough.
func TestPlanWithoutData(t *testing.T) {
	const large = 1 << (bits.UintSize - 24)
	x, a := lang.Bind("x", lang.Sizes[float32](large)), lang.Bind("A", lang.Sizes[int16](16, 3))
	p, out, err := planOf(t, externs, x, a)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(p), "use(x[0] s order) use(x[1] s order) use(x[2] s order) use(x[3] s order) rows(A[0]) rows(A[1])"; got != want {
		t.Errorf("tasks %s, want %s", got, want)
	}
	if out != fmt.Sprintf("%d 3 ?\n", large) {
		t.Errorf("printed %q", out)
	}
	mem := make([]float32, 8)
	if p, _, err = planOf(t, externs, a, lang.Bind("x", lang.VectorOf(mem)), lang.Bind("s", lang.Sizes[float64]())); err != nil || len(p.Graph.Tasks) < 6 {
		t.Errorf("with some data: %v", err)
	}

	for _, c := range []struct {
		opts []lang.Option
		want []string
	}{
		{nil, []string{"p.spu:2", "E0904", "`x` has no data, and a plan needs its sizes"}},
		{[]lang.Option{x}, []string{"p.spu:3", "`A` has no data, and a plan needs its sizes"}},
		{[]lang.Option{a, lang.Bind("x", lang.Sizes[float64](4))}, []string{"`x` is bound to a vector[f64]"}},
		{[]lang.Option{x, lang.Bind("A", lang.Sizes[int16](16))}, []string{"`A` is bound to a vector[i16]"}},
		{[]lang.Option{x, lang.Bind("A", lang.Sizes[int16](16, 3, 2))}, []string{"`A` is bound to a block[i16]"}},
		{[]lang.Option{x, lang.Bind("A", lang.Sizes[int16](16, 3, 2, 2))}, []string{"`A` is bound to a tensor[i16]"}},
		{[]lang.Option{x, lang.Bind("A", lang.Sizes[int16](16, 3, 2, 2, 1))}, []string{"`A` is bound to a tensor[i16, 5]"}},
		{[]lang.Option{x, lang.Bind("A", lang.Sizes[int16](1, 2, 3, 4, 5, 6, 7, 8, 9))}, []string{`Bind("A")`, "[1 2 3 4 5 6 7 8 9]", "three (a block), or 4 to 8 (a tensor)"}},
		{[]lang.Option{a, lang.Bind("x", lang.Sizes[float32](-1))}, []string{`Bind("x")`, "not negative"}},
		{[]lang.Option{a, lang.Bind("x", lang.Sizes[float32](3))}, []string{"E0505"}}, // fewer elements than parts
	} {
		_, _, err := planOf(t, externs, c.opts...)
		wantErr(t, err, c.want...)
	}
	_, _, err = planOf(t, externs)
	var d *lang.Diagnostic
	if !errors.As(err, &d) || len(d.Help) != 2 || !strings.Contains(d.Help[0], `lang.Bind("x", lang.Sizes[float32](n))`) || !strings.Contains(d.Help[1], `lang.Bind("A", lang.Sizes[int16](rows, cols))`) {
		t.Errorf("the help: %+v", d)
	}

	// a run needs memory, and says so; what was planned runs with it
	rt := newRuntime(t, engine.Options{Workers: 1})
	prog := compile(t, lang.Config{}, externs)
	_, err = prog.Run(t.Context(), rt, x, a)
	wantErr(t, err, "Sizes are for plans")
	_, err = p.Run(t.Context(), rt)
	wantErr(t, err, "Sizes are for plans")
}

// TestPlanLoadsWhatItSaves: the files that a script writes are not there when it is
// planned or checked, and their sizes are known all the same.
func TestPlanLoadsWhatItSaves(t *testing.T) {
	const head = `codelet step(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
register A = matrix[f64](3, 4, fill = 1)
save(A, "./a.npy")
`
	comp := lang.Must(lang.NewCompiler(lang.Config{Files: lang.Dir(t.TempDir())}))
	for _, tt := range []struct{ src, want string }{
		{"register B = matrix[i64](load = \"a.npy\")\npartition r = A by pick(0)\nfor i in 0..B.rows { insert step(RW r[i]) }\n", ""},
		{"register B = vector[f64](load = \"a.npy\")\n", "cannot load: a.npy: expected vector[f64], found size 3 x 4"},
		{"register B = matrix[f64](4, 4, load = \"a.npy\")\n", "expected matrix[f64] 4 x 4, found size 3 x 4"},
		{"register B = matrix[f64](load = \"b.npy\")\nsave(A, \"b.npy\")\n", "cannot load `b.npy`"},
	} {
		prog, diags := comp.Compile(context.Background(), "saved.spu", []byte(head+tt.src))
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		plan, err := prog.Plan(context.Background(), engine.Machine{Workers: 1})
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %v, want %q", tt.src, err, tt.want)
			}
		case err != nil || plan.Measures().Tasks != 3:
			t.Errorf("%q: %v, want 3 tasks", tt.src, err)
		}
	}
}

// Prints of a plan are marked from where an unknown value has decided what the script does.
func TestPlanMarksPrints(t *testing.T) {
	const head = "codelet halve(x: RW variable[f64]) { x *= 0.5 }\nregister x = variable[f64](fill = 1.0)\nlet k = 0\nprint(\"before\", value(x), k)\n"
	for _, tt := range []struct{ src, want string }{
		{"while value(x) > 0.1 { insert halve(RW x)\n k += 1 }\nprint(\"rounds\", k)\n", "before ? 0\n? rounds 1\n"},
		{"if value(x) > 0.1 { print(\"big\") } else { print(\"small\") }\nprint(k)\n", "before ? 0\n? big\n? 0\n"},
		{"for i in 0..int(value(x)) { print(i) }\n", "before ? 0\n? ?\n"},
		{"if k > 0 { print(\"big\") }\nassert value(x) > 0.0\nlet a = if value(x) > 1.0 then 1 else 2\nprint(a, k)\n", "before ? 0\n? 0\n"},
	} {
		var out bytes.Buffer
		if _, err := compile(t, lang.Config{}, head+tt.src).Plan(t.Context(), engine.Machine{Workers: 1}, lang.Stdout(&out)); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want {
			t.Errorf("%sprints\n%swant\n%s", tt.src, out.String(), tt.want)
		}
	}
}

func TestExpectations(t *testing.T) {
	src := `
codelet set(x: W vector[f64]) { each i in x { x[i] = 1.0 } }
register x = vector[f64](1024)
partition x by blocks(4)
for b in 0..4 { insert set(W x[b]) }
`
	for _, c := range []struct{ comment, code, label string }{
		{"# expect tasks == 4", "", ""},
		{"# expect tasks < 4", "R0102", "tasks is 4"},
		{"    # expect length <= 1", "", ""},
		{"# expect width >= 5", "R0102", "width is 4"},
		{"# expect transfers <= 0", "", ""},
		{"# expect bytes > 0", "R0102", "bytes is 0"},
		{"# expect peak(ram) <= 8Ki", "", ""},
		{"# expect peak(ram) <= 8_191", "R0102", "peak(ram) is 8192"},
		{"# expect peak(gpu(0)) <= 1", "", ""}, // there is none
		{"# expect seconds <= 0", "", ""},      // not known
		{"# expect peak(moon) <= 1", "E0105", ""},
		{"# expect nothing", "E0105", ""},
		{"# expect tasks <= many", "E0105", ""},
		{"# we expect tasks <= 1", "", ""},
		{"# expectations are low", "", ""},
	} {
		p, _, err := planOf(t, c.comment+src)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Expectations()
		var ds lang.Diagnostics
		if !errors.As(err, &ds) {
			if c.code != "" || err != nil {
				t.Errorf("%s: %v, want %s", c.comment, err, c.code)
			}
			continue
		}
		if len(ds) != 1 || ds[0].Code != c.code || ds[0].Label != c.label || ds[0].Span.Start.Line != 1 || !strings.Contains(c.comment, "expect") {
			t.Errorf("%s: %+v, want %s %q", c.comment, ds, c.code, c.label)
		}
	}
}

// TestExpectationsOfNUMA: a node without processors, such as a CXL card, has a peak, and a device behind
// it is no NUMA node.
func TestExpectationsOfNUMA(t *testing.T) {
	sys := fstest.MapFS{}
	for name, text := range map[string]string{
		"cpu/online": "0-3", "node/online": "0-2", "node/node0/cpulist": "0-1", "node/node1/cpulist": "2-3", "node/node2/cpulist": "",
		"node/node0/meminfo": "Node 0 MemTotal: 1048576 kB", "node/node1/meminfo": "Node 1 MemTotal: 1048576 kB", "node/node2/meminfo": "Node 2 MemTotal: 1048576 kB",
	} {
		sys["devices/system/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	topology := lang.Must(numa.Read(sys, numa.Limits{}))
	nodes := topology.Open(4)
	gpu := lang.Must(sim.New(sim.Options{Name: "sim 0", Capacity: 1 << 20}))
	t.Cleanup(func() {
		if err := errors.Join(nodes.Close(), gpu.Close()); err != nil {
			t.Error(err)
		}
	})
	for devices, all := range map[string][]accel.Device{"nodes": nodes.Devices, "and a device": append(slices.Clone(nodes.Devices), gpu)} {
		for _, c := range []struct{ figure, label string }{
			{"peak(numa(0))", "peak(numa(0)) is 8192"},
			{"peak(numa(1))", "peak(numa(1)) is 8192"},
			{"peak(numa(2))", "peak(numa(2)) is 0"},
			{"peak(numa(3))", ""}, // there is none
		} {
			src := "# expect " + c.figure + " == 7\n" + `
codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
register x = vector[f64](1024, fill = 1)
insert add(RW x @ numa(1))
`
			prog, ds := lang.Must(lang.NewCompiler(lang.Config{})).Compile(t.Context(), "p.spu", []byte(src))
			if prog == nil {
				t.Fatal(ds.Err())
			}
			p, err := prog.Plan(t.Context(), engine.Machine{Workers: nodes.Workers, Devices: all, PerfDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			label := ""
			var found lang.Diagnostics
			if err := p.Expectations(); errors.As(err, &found) {
				label = found[0].Label
			} else if err != nil {
				t.Error(err)
			}
			if label != c.label {
				t.Errorf("%s: %s: %q, want %q", devices, c.figure, label, c.label)
			}
		}
	}
}

// TestShortTasks: tasks are too short below 5 µs, or 20 µs if they are fastest on a device, as far as a plan knows how long they take.
func TestShortTasks(t *testing.T) {
	for _, c := range []struct {
		flops   float64   // of each of the 100 elements of a task, at 1 a nanosecond
		seconds []float64 // as measured, of two CPU workers and one of a device
		want    string    // in the note; "": no warning
	}{
		{40, nil, "below 5 µs"}, {60, nil, ""},
		{40, []float64{6e-6, 6e-6, 7e-6}, ""}, {60, []float64{4e-6, 4e-6, 7e-6}, "below 5 µs"},
		{60, []float64{1, 1, 7e-6}, "below 20 µs"}, {40, []float64{1, 1, 25e-6}, ""},
		{40, []float64{-1, -1, 4e-6}, "below 20 µs"},
	} {
		p, _, err := planOf(t, fmt.Sprintf("codelet set(x: W vector[f64]) with flops = %.1f * x.n { each i in x { x[i] = 1.0 } }\n"+
			"register x = vector[f64](6400)\npartition x by blocks(64)\nfor b in 0..64 { insert set(W x[b]) }\n", c.flops))
		if err != nil {
			t.Fatal(err)
		}
		p.Graph.Workers = []graph.Worker{{Name: "cpu 0", Kind: "cpu"}, {Name: "cpu 1", Kind: "cpu"}, {Name: "gpu", Kind: "gpu"}}
		for i := range p.Graph.Tasks {
			if t := &p.Graph.Tasks[i]; t.Internal == "" && c.seconds != nil {
				t.Seconds = c.seconds
			}
		}
		var notes []string
		for _, d := range p.Warnings() {
			if d.Code == "W1001" {
				notes = append(notes, d.Notes...)
			}
		}
		if all := strings.Join(notes, "\n"); (all == "") != (c.want == "") || !strings.Contains(all, c.want) {
			t.Errorf("%v flops, %v s: %q, want %q", c.flops, c.seconds, all, c.want)
		}
	}
}
