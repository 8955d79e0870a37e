package lang_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/simulate"
	"github.com/starpush/starpush/lang"
)

// picky returns a codelet that takes no sizes.
func picky() *lang.Codelet {
	c, err := lang.NewCodelet("picky(x: RW vector[f64])", lang.CPU(func(*lang.Task) error { return nil }),
		lang.ShapeRule(func(lang.Shapes) error { return errors.New("the sizes are wrong") }))
	if err != nil {
		panic(err)
	}
	return c
}

// rankOf returns the runtime of one rank in this process, and a compiler for files in dir.
func rankOf(dir string, codelets ...*lang.Codelet) (*engine.Runtime, *lang.Compiler) {
	return lang.Must(engine.New(engine.Options{Workers: 2})), lang.Must(lang.NewCompiler(lang.Config{Files: lang.Dir(dir), Codelets: codelets}))
}

// onRanks runs a script on some ranks in this process, with options for each, and returns what each printed and how it ended.
func onRanks(t *testing.T, n int, dir, src string, more ...func(rank int) lang.Option) (printed []string, errs []error) {
	t.Helper()
	printed, errs = make([]string, n), make([]error, n)
	var group sync.WaitGroup
	for r, end := range cluster.Local(n) {
		group.Go(func() {
			rt, c := rankOf(dir, picky())
			defer rt.Close()
			p, diags := c.Compile(context.Background(), "t.spu", []byte(src))
			if err := diags.Err(); err != nil {
				errs[r] = err
				return
			}
			var out bytes.Buffer
			opts := []lang.Option{lang.Stdout(&out), lang.Ranks(end)}
			for _, o := range more {
				opts = append(opts, o(r))
			}
			i, err := p.Run(context.Background(), rt, opts...)
			if i != nil {
				err = errors.Join(err, i.Close())
			}
			errs[r] = err
			printed[r] = out.String()
		})
	}
	group.Wait()
	return printed, errs
}

// TestRanks runs scripts on several ranks: each prints what one alone prints.
func TestRanks(t *testing.T) {
	for _, test := range []struct{ name, src string }{
		{"views", `
codelet add(x: RW vector[f64], k: int) { each i in x { x[i] += float(k + i) } }
codelet total(x: R vector[f64], s: RW variable[f64]) { for i in 0..x.n { s += x[i] } }
register x = vector[f64](1000, fill = 1)
register s = variable[f64](fill = 0, reduce = sum)
partition x by blocks(7)
for k in 0..20 { for b in 0..7 { insert add(RW x[b], k) } }
for b in 0..7 { insert total(R x[b], REDUX s) }
print(value(s))
unpartition x
insert add(RW x, 3)
print(x)
`},
		{"with ranks", `
codelet add(x: RW vector[f64], k: int) { each i in x { x[i] += float(k + i) } }
register x = vector[f64](24, fill = 1)
partition x by blocks(6)
for k in 0..20 { for b in 0..6 { insert add(RW x[b], k) with rank = k + b, priority = b, ssend = b % 2 == 0 } }
let t = insert add(RW x[5], 2) with rank = 3
wait t
insert add(RW x[5], 2)
print(x)
`},
		{"owners", `
struct Body { mass: f64; owner: i32 }
codelet add(x: RW matrix[f64], k: int) { each i, j in x { x[i, j] += float(k + i * j) } }
codelet scale(x: RW vector[f64], v: R variable[f64]) { each i in x { x[i] *= v } }
codelet rows(A: R csr[f64], y: W vector[f64]) { each i in y { y[i] = A.val[i] + float(i) } }
let over = 2
register A, B = matrix[f64](12, 12, fill = 1, owner = 5)
register v = variable[f64](fill = 3, owner = over)
register b = vector[Body](6, mass = 1, owner = 7)
register S = csr[f64](2, 2, ptr = [0, 1, 2], col = [0, 1], val = [1.0, 2.0], owner = 1)
partition t = A by tiles(3, 4) over grid(2, over)
partition s = B by rows(3) then cols(2)
    over grid(3, 1)
partition b by blocks(3) over grid(2)
partition S by rows(2) over grid(4)
for i, j in grid(3, 4) { insert add(RW t[i, j], i + j) }
for i, j in grid(3, 2) { insert add(RW s[i, j], i - j) }
partition inner = s[1, 1] by rows(2)
insert add(RW inner[0], 7)
for i in 0..3 { insert scale(RW b[i].mass, R v) }
register y = vector[f64](2, owner = 3)
partition y by blocks(2)
for i in 0..2 { insert rows(R S[i], W y[i]) }
print(A, B, b.mass, b.owner, y)
`},
		{"sizes that tasks decide", `
codelet fill(x: W vector[i64], n: int) { x.n = n
    each i in x { x[i] = i * n } }
codelet append(x: R vector[i64], all: RW vector[i64]) {
    for i in 0..x.n {
        all.n += 1
        all[all.n - 1] = x[i]
    }
}
codelet longer(x: W vector[i64]) {
    x.n += 1
    each i in x { x[i] = 7 }
}
codelet rows(A: RW matrix[i64], n: int) {
    let old = A.rows
    A.rows = n
    for i in 0..n { for j in 0..A.cols { if i >= old { A[i, j] = i * 10 + j } } }
}
codelet add(x: RW vector[i64], k: int) { each i in x { x[i] += k } }
register x = vector[i64](2, capacity = 200, owner = 1)
register all = vector[i64](0, capacity = 100, owner = 2)
register A = matrix[i64](1, 3, capacity = 6, fill = 1)
print(x.n, all.n, A.rows)
for k in 0..9 {
    insert fill(W x, k % 4) with rank = k
    insert append(R x, RW all) with rank = 2 * k
    insert longer(W x) with rank = k + 1
    insert append(R x, RW all)
    insert rows(RW A, 1 + k % 6) with rank = k + 2
    if k % 3 == 1 { print(x.n, all.n, A.rows, x.capacity) }
}
partition all by blocks(4)
for b in 0..4 { insert add(RW all[b], b) with rank = b }
partition A by rows(3)
print(all.n, all[0].n, all[3].n, A[0].rows, A[2].rows)
unpartition all
unpartition A
insert append(R all, RW x) with rank = 3
acquire RW x as v { for i in 0..len(v) { v[i] = v[i] * 2 } }
print(x, all, A)
`},
		{"tasks after others", `
codelet add(x: RW vector[i64], k: int) { each i in x { x[i] += k } }
codelet total(x: R vector[i64], s: RW variable[i64]) { for i in 0..x.n { s += x[i] } }
register x = vector[i64](8, fill = 1)
register s = variable[i64](fill = 0)
partition x by blocks(4)
let go = gate()
let first = insert add(RW x[0], 1) with rank = 1, after = [go]
let second = insert add(RW x[1], 2) with rank = 2, after = [first, first]
let third = insert add(RW x[2], 3) with rank = 0, after = [first, second, go]
for k in 0..6 { insert add(RW x[3], k) with rank = k, after = [third, first] }
open(go)
wait third
insert total(R x, RW s) with after = [first, third]
print(s, x)
`},
		{"tasks and files", `
codelet twice(x: RW vector[f64]) { each i in x { x[i] *= 2.0 } }
register x, y = vector[f64](10, fill = 3)
let t = insert twice(RW x)
wait t
insert twice(RW y) with sync = true
wait x, y
save(x, "x.npy")
register z = vector[f64](load = "x.npy")
insert twice(RW z)
print(z, busy(z) and false)
wait
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			want, errs := onRanks(t, 1, t.TempDir(), test.src)
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			for _, n := range []int{2, 3, 4} {
				got, errs := onRanks(t, n, t.TempDir(), test.src)
				for r := range n {
					if errs[r] != nil || got[r] != want[0] {
						t.Errorf("rank %d of %d: %v\n%s\nwant\n%s", r, n, errs[r], got[r], want[0])
					}
				}
			}
		})
	}
}

// TestOwners: tasks run on the owners of their data, of a run and of a plan that is simulated.
func TestOwners(t *testing.T) {
	const src = `
extern codelet note(x: RW vector[f64], k: int)
register x = vector[f64](12, fill = 1)
register y, z = vector[f64](12, fill = 1, owner = 6)
partition parts = x by blocks(6) over grid(3)
partition y by blocks(2)
partition zs = z by blocks(2) over grid(9)
for i in 0..6 { insert note(RW parts[i], i) }
for i in 0..2 { insert note(RW y[i], 6 + i) }
for i in 0..2 { insert note(RW zs[i], 8 + i) }
insert note(RW z, 10)
insert note(RW y, 11) with rank = 1
`
	for _, test := range []struct {
		ranks int
		want  []int // the ranks of the tasks
	}{
		{1, []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{2, []int{0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1}},
		{4, []int{0, 1, 2, 0, 1, 2, 2, 2, 0, 1, 2, 1}},
	} {
		got := make([]int, len(test.want))
		var mu sync.Mutex
		var group sync.WaitGroup
		for r, end := range cluster.Local(test.ranks) {
			group.Go(func() {
				rt, err := engine.New(engine.Options{Workers: 1})
				if err != nil {
					t.Error(err)
					return
				}
				defer rt.Close()
				note := func(task *lang.Task) error {
					mu.Lock()
					got[lang.Arg[int](task, "k")] = r
					mu.Unlock()
					return nil
				}
				i, err := noting(t, note, src).Run(context.Background(), rt, lang.Ranks(end))
				if i != nil {
					err = errors.Join(err, i.Close())
				}
				if err != nil {
					t.Errorf("rank %d of %d: %v", r, test.ranks, err)
				}
			})
		}
		group.Wait()
		if !slices.Equal(got, test.want) {
			t.Errorf("%d ranks: tasks on %v, want %v", test.ranks, got, test.want)
		}
	}

	plan, err := noting(t, func(*lang.Task) error { return nil }, src).Plan(t.Context(), engine.Machine{Workers: 1, PerfDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := simulate.NewProgram(t.Context(), plan.Graph)
	if err != nil {
		t.Fatal(err)
	}
	for ranks, want := range map[int][]int64{1: {12}, 2: {8, 4}, 4: {3, 4, 5, 0}} {
		m := &simulate.Machine{Name: "m", Computers: ranks, CPU: simulate.CPU{Workers: 1, NUMA: 1, Flops: 1, Bandwidth: 1}, Network: simulate.Link{Bandwidth: 1}}
		r, err := simulate.Run(t.Context(), p, m, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int64, ranks)
		for _, w := range r.Workers {
			got[w.Computer] += w.Tasks
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d computers run %v tasks, want %v", ranks, got, want)
		}
	}
}

// noting compiles a script with the codelet note.
func noting(t *testing.T, note func(*lang.Task) error, src string) *lang.Program {
	codelet, err := lang.NewCodelet("note(x: RW vector[f64], k: int)", lang.CPU(note))
	if err != nil {
		t.Fatal(err)
	}
	c, err := lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{codelet}})
	if err != nil {
		t.Fatal(err)
	}
	p, diags := c.Compile(context.Background(), "t.spu", []byte(src))
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// whole returns all texts of an error of a script.
func whole(err error) string {
	text := err.Error()
	var list lang.Diagnostics
	var d *lang.Diagnostic
	if !errors.As(err, &list) && errors.As(err, &d) {
		list = append(list, *d)
	}
	for _, d := range list {
		for _, l := range d.Labels {
			text += "\n" + l.Text
		}
		text += "\n" + d.Label + "\n" + strings.Join(slices.Concat(d.Notes, d.Help), "\n")
	}
	return text
}

// TestRanksFail runs scripts that fail on one rank: all end with the same error, which names the rank if a task has failed, and is
// otherwise that of a run on one.
func TestRanksFail(t *testing.T) {
	const bad = `
codelet bad(x: RW vector[i64]) { each i in x { x[i] = 1 // (x[i] - 1) } }
codelet sum(x: R vector[i64], y: RW vector[i64]) { each i in x { y[i] += x[i] } }
register x, y, z = vector[i64](4, fill = 1)
insert sum(R x, RW z)
`
	for _, test := range []struct {
		name, src string
		want      []string
	}{
		{"a task", bad + "insert bad(RW y)\nwait\n", []string{"on rank 2: task `bad` failed"}},
		{"two tasks", bad + "insert bad(RW y)\ninsert bad(RW x)\nwait\n", []string{"on rank 2: task `bad` failed", "on rank 0: task `bad` failed"}},
		{"a task whose data is read", bad + "insert bad(RW y)\nprint(y)\n", []string{"on rank 2: task `bad` failed", "its result is needed here"}},
		{"data of a task that depends on it", bad + "insert bad(RW y)\ninsert sum(R y, RW z)\nprint(z)\n",
			[]string{"on rank 2: task `bad` failed", "`z` has no valid value either"}},
		{"wait for data", bad + "insert bad(RW y)\ninsert sum(R y, RW z)\nwait x, z\n", []string{"on rank 2: task `bad` failed"}},
		{"wait for data that was written again", bad + "insert bad(RW y)\ninsert sum(R x, RW z)\nunregister y\nwait x, z\nwait\n",
			[]string{"on rank 2: task `bad` failed"}},
		{"wait for a task", bad + "let t = insert bad(RW y)\nwait t\n", []string{"on rank 2: task `bad` failed"}},
		{"wait for a task that depends on it", bad + "insert bad(RW y)\nlet t = insert sum(R y, RW z)\nwait t\n", []string{"on rank 2: task `bad` failed"}},
		{"at once", bad + "insert bad(RW y) with sync = true\n", []string{"on rank 2: task `bad` failed"}},
		{"a part", bad + "partition y by blocks(4)\ninsert bad(RW y[2])\nprint(y[1])\nprint(y)\n", []string{"on rank 2: task `bad` failed"}},
		{"on a rank", bad + "insert bad(RW y) with rank = 1\nwait\n", []string{"on rank 1: task `bad` failed"}},
		{"on a rank that is not", bad + "let r = 7\ninsert bad(RW y) with rank = r\nprint(y)\n", []string{"on rank 1: task `bad` failed"}},
		{"below the ranks", bad + "let r = -1\ninsert bad(RW y) with rank = r\n", []string{"E0705", "rank is -1"}},
		{"a task that sets a size", bad + "codelet cut(x: RW vector[i64], n: int) {\n    x.n = n\n    x[0] = 1 // (x[0] - 1)\n}\nregister w = vector[i64](3, capacity = 9, fill = 1, owner = 1)\n" +
			"insert cut(RW w, 5)\nprint(w.n)\n", []string{"on rank 1: task `cut` failed"}},
		{"a size beyond the capacity", bad + "codelet cut(x: RW vector[i64], n: int) { x.n = n }\nregister w = vector[i64](3, capacity = 9, fill = 1, owner = 1)\n" +
			"insert cut(RW w, 10)\nprint(w)\n", []string{"on rank 1: task `cut` failed", "capacity is 9"}},
		{"an element beyond the size", bad + "codelet one(x: R variable[i64], y: RW variable[i64]) { y += x }\ncodelet cut(x: RW vector[i64], n: int) { x.n = n }\n" +
			"register w = vector[i64](3, capacity = 9, fill = 1, owner = 1)\nregister s = variable[i64](fill = 0, owner = 2)\ninsert cut(RW w, 2)\npartition v = w by pick(0)\ninsert one(R v[2], RW s)\nprint(value(s))\n",
			[]string{"on rank 2: task `one` failed"}},
		{"a task after it", bad + "let t = insert bad(RW y)\ninsert sum(R x, RW z) with rank = 0, after = [t]\nprint(z)\n",
			[]string{"on rank 2: task `bad` failed", "`z` has no valid value either"}},
		{"a task after one after it", bad + "let t = insert bad(RW y) with rank = 0\nlet u = insert sum(R x, RW z) with rank = 1, after = [t]\nregister w = vector[i64](4, fill = 1)\n" +
			"insert sum(R x, RW w) with rank = 2, after = [u]\nwait w\n", []string{"on rank 0: task `bad` failed"}},
		{"a wait for a task after it", bad + "let t = insert bad(RW y)\nlet u = insert sum(R x, RW z) with rank = 0, after = [t]\nwait u\n", []string{"on rank 2: task `bad` failed"}},
		{"a place in a sequence", bad + "insert sum(R x, RW z) with rank = 0, worker = workers(cpu)[0], order = 1\n", []string{"E0705", "on one rank only"}},
		{"on no number", bad + "insert bad(RW y) with rank = 1.5\n", []string{"E0703"}},
		{"by its owner", bad + "register w = vector[i64](4, fill = 1, owner = 1)\ninsert bad(RW w)\nprint(w)\n", []string{"on rank 1: task `bad` failed"}},
		{"by an owner that is not", bad + "register w = vector[i64](4, fill = 1, owner = 5)\npartition w by blocks(2)\ninsert bad(RW w[0])\nprint(w)\n", []string{"on rank 2: task `bad` failed"}},
		{"by a grid", bad + "partition y by blocks(4) over grid(2)\ninsert bad(RW y[3])\nprint(y)\n", []string{"on rank 1: task `bad` failed"}},
		{"by a grid that is not", bad + "partition y by blocks(4) over grid(4)\ninsert bad(RW y[3])\nprint(y)\n", []string{"on rank 0: task `bad` failed"}},
		{"below the owners", bad + "let r = -1\nregister w = vector[i64](4, owner = r)\n", []string{"E0705", "owner is -1"}},
		{"above the owners", bad + "let r = 9223372036854775807\nregister w = vector[i64](4, owner = r)\n", []string{"E0705", "no run has as many ranks"}},
		{"an empty grid", bad + "let r = 0\npartition y by blocks(4) over grid(r)\n", []string{"E0505", "at least one rank along each index"}},
		{"without order", bad + "insert sum(R x, RW y) with unordered = [y], rank = 1\n", []string{"E0705", "on one rank only"}},
		{"without any order", bad + "insert sum(R x, RW y) with sequential = false\n", []string{"E0705", "on one rank only"}},
		{"sizes", "extern codelet picky(x: RW vector[f64])\nregister a, b, c = vector[f64](4, fill = 1)\ninsert picky(RW c)\nprint(c)\n", []string{"E0702"}},
		{"a file", `
register x = vector[f64](4, fill = 1)
save(x, "no/x.npy")
`, []string{"no folder"}},
		{"a script", "register x = vector[f64](4)\nprint(value(x[5]))", []string{"E0401"}},
		{"a value that was dropped", bad + "register c = variable[i64](fill = 1)\nif value(c) == 1 { invalidate y }\ninsert sum(R y, RW z)\n", []string{"E0402"}},
		{"a part that was dropped", bad + "register c = variable[i64](fill = 1)\npartition y by blocks(2)\nif value(c) == 1 { invalidate y[1] }\ninsert sum(R y, RW z)\n", []string{"E0402"}},
		{"a prefetch of nothing", bad + "register c = variable[i64](fill = 1)\nif value(c) == 1 { invalidate y }\nprefetch y to gpu(0)\n", []string{"E0402"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, errs := onRanks(t, 3, t.TempDir(), test.src)
			for r, err := range errs {
				if err == nil {
					t.Fatalf("rank %d: no error", r)
				}
				for _, want := range test.want {
					if !strings.Contains(whole(err), want) {
						t.Errorf("rank %d: %s, want %s", r, whole(err), want)
					}
				}
				if a, b := whole(err), whole(errs[0]); a != b {
					t.Errorf("rank %d: %s\nand rank 0\n%s", r, a, b)
				}
			}
		})
	}
}

// TestRanksStuck: a value that the script waits for needs a task that waits for a gate, on this or another rank. The rank of the gate
// knows why, and the others hear of it.
func TestRanksStuck(t *testing.T) {
	const src = `
codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
codelet sum(x: R vector[f64], z: RW vector[f64]) { each i in z { z[i] += x[i] } }
register x = vector[f64](4, fill = 1, owner = 0)
register z = vector[f64](4, fill = 1, owner = 1)
func f(g: gate) {
    insert add(RW x) with after = [g]
    insert sum(R x, RW z)
}
f(gate())
`
	for name, end := range map[string]string{"print": "print(z)\n", "wait": "wait\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, errs := onRanks(t, 3, t.TempDir(), src+end)
			for r, err := range errs {
				var d *lang.Diagnostic
				if !errors.As(err, &d) {
					t.Errorf("rank %d: %v", r, err)
					continue
				}
				text := whole(err) // the other ranks may first hear of the value that does not come
				if r == 0 && (d.Code != "R0104" || !strings.Contains(text, "gate that is closed")) ||
					r > 0 && (!strings.Contains(text, "on rank 0:") || !strings.Contains(text, "R0104") && !strings.Contains(text, "closed gate")) {
					t.Errorf("rank %d: %s", r, text)
				}
			}
		})
	}
}

// TestRanksReport: rank 0 gets the figures of all ranks at the end of a run, also of one that fails on all of them; a panic of the host is an error of the
// run. A plan has the figures of the run, and without PlanRanks none.
func TestRanksReport(t *testing.T) {
	const good = `
codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
register x = vector[f64](12, fill = 1)
partition x by blocks(4)
for b in 0..4 { insert add(RW x[b]) }
print(x)
`
	report := func(all []*cluster.Report) func(int) lang.Option {
		return func(r int) lang.Option {
			return lang.ObserveRanks(func(got *cluster.Report) {
				if all[r] != nil {
					t.Errorf("rank %d: reported twice", r)
				}
				all[r] = got
			})
		}
	}
	for _, test := range []struct {
		name, src string
		tasks     int64
	}{
		{"a good run", good, 4},
		{"a failure", "codelet part(x: RW vector[i64]) { each i in x { x[i] = 1 // (x[i] - 1) } }\nregister x = vector[i64](4, fill = 3)\nregister y = vector[i64](4, fill = 1)\ninsert part(RW x)\nprint(x)\ninsert part(RW y)\nprint(y)\n", 2},
		{"an error of the script", good + "print([1][3])\n", 4},
	} {
		all := make([]*cluster.Report, 3)
		_, errs := onRanks(t, 3, t.TempDir(), test.src, report(all))
		first := all[0]
		if first == nil || first.Size != 3 || len(first.Ranks) != 3 {
			t.Errorf("%s: rank 0 gets %+v; %v", test.name, first, errs)
			continue
		}
		tasks := int64(0)
		for _, x := range first.Ranks {
			tasks += x.Tasks
			if x.Workers != 2 || x.Seconds <= 0 {
				t.Errorf("%s: %+v", test.name, x)
			}
		}
		if tasks != test.tasks || first.Sent().Messages == 0 {
			t.Errorf("%s: %d tasks, want %d; %+v", test.name, tasks, test.tasks, first)
		}
		for r, got := range all {
			if got == nil {
				t.Errorf("%s: rank %d gets nothing", test.name, r)
			}
		}
	}
	_, errs := onRanks(t, 2, t.TempDir(), good, func(int) lang.Option {
		return lang.ObserveRanks(func(*cluster.Report) { panic("no") })
	})
	for r, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "ObserveRanks") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	p, diags := lang.Must(lang.NewCompiler(lang.Config{})).Compile(t.Context(), "t.spu", []byte(good))
	if p == nil {
		t.Fatal(diags.Err())
	}
	for n, want := range map[int]int64{-1: 0, 0: 0, 1: 0, 3: 4, 4096: 4} {
		plan, err := p.Plan(t.Context(), engine.Machine{Workers: 1}, lang.PlanRanks(n))
		if err != nil {
			t.Fatal(err)
		}
		if (plan.Ranks != nil) != (want > 0) {
			t.Errorf("a plan for %d ranks has %+v", n, plan.Ranks)
		}
		got := int64(0)
		if plan.Ranks != nil {
			for _, x := range plan.Ranks.Ranks {
				got += x.Tasks
			}
		}
		if got != want || len(plan.Graph.Tasks) < 4 {
			t.Errorf("%d tasks on %d ranks, want %d; the graph has %d", got, n, want, len(plan.Graph.Tasks))
		}
	}
}
