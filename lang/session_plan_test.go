package lang_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang"
)

// tasksOf writes the tasks of a graph, and what the engine inserts, with their operands.
func tasksOf(g *graph.Graph) (out []string) {
	for i := range g.Tasks {
		t := &g.Tasks[i]
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s(%s) %s", t.Codelet, g.OperandText(t), t.Vars)))
	}
	return out
}

const sessionCodelets = `codelet set(x: W vector[f64], v: f64) { each i in x { x[i] = v } }
codelet add(x: RW vector[f64], v: f64) { each i in x { x[i] += v } }
codelet head(x: R vector[f64], y: W variable[f64]) { y = x[0] }
codelet into(x: R vector[f64], s: RW variable[f64]) { s += sum i in x { x[i] } }
codelet idle(x: RW vector[f64]) { each i in x { x[i] *= 1.0 } }
codelet clear(x: W matrix[f64]) { each i, j in x { x[i, j] = 0.0 } }
codelet grow(y: RW variable[f64]) { y *= 2.0 }`

// A plan of an entry goes by what the session holds now: values that tasks have computed,
// params, imports, views, and not by its text.
func TestSessionPlan(t *testing.T) {
	calls := 0
	tick := lang.Must(lang.NewFunc("tick() -> int", func(context.Context, []any) (any, error) {
		calls++
		return 3, nil
	}))
	for _, tt := range []struct{ name, before, src, want, notes string }{
		{"a value that is known", "register y = variable[f64](fill = 1)\nfor i in 0..3 { insert grow(RW y) }\nwait",
			"for i in 0..int(value(y)) { insert grow(RW y) }", "acquire 8*grow", ""},
		{"a loop until a value", "register x = vector[f64](4, fill = 1)\nregister y = variable[f64](fill = 5)\nlet k = 0\nwhile value(y) > 1.0 { insert head(R x, W y); k += 1 }",
			"for i in 0..k { insert add(RW x, value(y)) }", "acquire add", ""},
		{"a value that the plan changes", "register y = variable[f64](fill = 1)",
			"insert grow(RW y)\nif value(y) > 1.0 { insert grow(RW y) }", "grow acquire grow", "<plan>:2: `value(y) > 1.0` depends on a value that tasks compute; both ways were looked at"},
		{"of other data than it changes", "register x, y = vector[f64](4, fill = 2)\npartition x by blocks(2)",
			"insert set(W x[0], 1.0)\nacquire R x[1] as a { if a[0] < 3.0 { insert set(W y, a[0]) } }", "set acquire set", ""},
		{"elements", "register x = vector[f64](4, list = [1.0, 3.0, 5.0, 7.0])",
			"acquire RW x as a { a[1] = a[2]; if a[1] == 5.0 { insert set(W y, 1.0) } }\nregister y = vector[f64](2)", "", "E0205"},
		{"elements that are stored", "register x = vector[f64](4, list = [1.0, 3.0, 5.0, 7.0])\nregister y = vector[f64](2)",
			"acquire RW x as a { a[1] = a[2]; if a[1] == 5.0 { insert set(W y, 1.0) } else { insert add(RW y, 1.0) } }", "acquire set", ""},
		{"an array that is held", "register x = vector[f64](4, fill = 7)\nregister y = vector[f64](2)\nacquire RW x as xs\nxs[1] = 2.0",
			"if xs[1] == 2.0 and xs[0] == 7.0 { insert set(W y, xs[3]) }", "set", ""},
		{"contributions", "register x = vector[f64](4, fill = 2)\nregister s = variable[f64](reduce = sum)\ninsert into(R x, REDUX s)\ninsert into(R x, REDUX s)\nwait",
			"if value(s) == 16.0 { insert into(R x, REDUX s) }", "(reduce) acquire into", ""},
		{"part of the data has a value", "register x = vector[f64](4)\npartition x by blocks(2)\ninsert set(W x[0], 1.0)", "insert add(RW x[1], 1.0)", "", "E0401"},
		{"the other part", "register x = vector[f64](4)\npartition x by blocks(2)\ninsert set(W x[0], 1.0)", "insert add(RW x[0], 1.0)", "add", ""},
		{"no value any more", "register x = vector[f64](4, fill = 1)\ninvalidate x", "insert add(RW x, 1.0)", "", "E0402"},
		{"unregistered", "register x = vector[f64](4, fill = 1)\nlet w = x\nunregister x", "insert add(RW w, 1.0)", "", "E0403"},
		{"unregistered, with a layout on devices", "codelet turn(a: R matrix[f64], b: W matrix[f64]) { each i, j in b { b[i, j] = a[j, i] } }\nregister m, n = matrix[f64](4, 2, fill = 1, layout = layout(into = turn, from = turn, sizes = [2, 4]))\nlet w = m\nunregister m",
			"insert clear(W n)\nacquire R n as a { assert a[0, 0] == 0.0 }", "clear acquire", ""},
		{"a view that has ended", "register x = vector[f64](4, fill = 1)\npartition v = x by blocks(2)\nlet p = v[0]\nunpartition v", "insert add(RW p, 1.0)", "", "E0506"},
		{"views of views, lists and names that share data", "register xs = [vector[f64](8, fill = float(i)) for i in 0..2]\npartition v = xs[1] by blocks(2)\npartition v[1] by blocks(2)\nlet all = [v[1][0], xs[0]]\nlet same = all",
			"for h in same { insert add(RW h, 1.0) }\nacquire R all[0] as a { assert a[0] == 2.0 }", "2*add acquire", "!"},
		{"a sparse matrix and its slabs", "codelet bump(M: RW csr[f64]) { each k in M.val { M.val[k] += 1.0 } }\nregister A = csr[f64](4, 4, ptr = [0, 1, 2, 3, 4], col = [0, 1, 2, 3], fill = 1)\npartition A by rows(2)\npartition v = A by nonzeros(4)\npartition v[1].val by blocks(1)\nlet w = A.val",
			"insert add(RW w, 1.0)\ninsert add(RW A[1].val, 1.0)\ninsert add(RW v[3].val, 1.0)\ninsert add(RW v[1].val[0], 1.0)\ninsert bump(RW A[0])\nacquire R A.col as c { assert c[3] == 3 and v[3].row0 == 3 }\nunregister A", "4*add bump acquire unregister unregister unregister", ""},
		{"functions of entries", "register x = vector[f64](4, fill = 1)\nlet n = 2\nfunc twice(v: vector[f64]) { for i in 0..n { insert add(RW v, float(i)) } }\nn = 3", "twice(x)", "3*add", ""},
		{"an entry that failed in the middle", "register x = vector[f64](4, fill = 1); let z = 1 // 0", "insert add(RW x, 2.0)", "add", ""},
		{"tasks and gates", "register x = vector[f64](4, fill = 1)\nlet t = insert add(RW x, 1.0)\nlet g = gate()\nopen(g)", "wait t\nwait g\ninsert add(RW x, 1.0) with after = [t, g]", "add", ""},
		{"places of a sequence", "register x = vector[f64](4, fill = 1)\ninsert add(RW x, 1.0) with worker = workers(cpu)[0], order = 1", "insert add(RW x, 1.0) with worker = workers(cpu)[0], order = 2", "add", ""},
		{"params", "param n: int = 4", "register x = vector[f64](n, fill = 1)\nfor i in 0..n { insert add(RW x, 1.0) }", "6*add", ""},
		{"a module that is imported", "register x = vector[f64](4, fill = 1)", "import \"m.spu\" as m\nm.twice(x)", "2*bump", ""},
		{"and again", "import \"m.spu\"\nregister x = vector[f64](4, fill = 1)", "m.twice(x)\nimport \"m.spu\" as other\nother.twice(x)", "4*bump", ""},
		{"functions of the host are called for the entry alone", "let n = tick()\nregister x = vector[f64](4, fill = 1)", "for i in 0..n + tick() { insert add(RW x, 1.0) }", "6*add", ""},
		{"an expression", "register x = vector[f64](2, fill = 1)", "x", "acquire", ""},
		{"a name that is not there", "let a = 1", "b + a", "", "E0201"},
		{"a wrong index", "register x = vector[f64](4, fill = 1)\npartition x by blocks(2)", "for i in 0..3 { insert add(RW x[i], 1.0) }", "", "E0501"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(t, map[string]string{"m.spu": "codelet bump(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\nfunc twice(x: vector[f64]) { for i in 0..2 { insert bump(RW x) } }\n"})
			cfg.Funcs = append(cfg.Funcs, tick)
			s := newSession(t, cfg, newRuntime(t, engine.Options{Workers: 1}), lang.Stdout(io.Discard), lang.Param("n", 6))
			if _, err := s.Eval(t.Context(), sessionCodelets); err != nil {
				t.Fatal(err)
			}
			_, wrong := s.Eval(t.Context(), tt.before)
			if fails := strings.Contains(tt.before, "// 0"); fails != (wrong != nil) {
				t.Fatal(wrong)
			}
			before, names := calls, s.Names()
			done, _ := s.Graph()
			p, err := s.Plan(t.Context(), tt.src)
			if tt.want == "" && tt.notes != "" {
				wantErr(t, err, tt.notes)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got, notes []string
			for i := range p.Graph.Tasks {
				x := &p.Graph.Tasks[i]
				if x.Internal == "" && len(got) > 0 && strings.HasSuffix(got[len(got)-1], "*"+x.Codelet) {
					var n int
					fmt.Sscanf(got[len(got)-1], "%d*", &n)
					got[len(got)-1] = fmt.Sprintf("%d*%s", n+1, x.Codelet)
					continue
				} else if len(got) > 0 && got[len(got)-1] == x.Codelet {
					got[len(got)-1] = "2*" + x.Codelet
					continue
				}
				got = append(got, strings.Trim(x.Codelet, "()"))
			}
			for _, n := range p.Graph.Notes {
				notes = append(notes, fmt.Sprintf("%v: %s", n.At, n.Text))
			}
			if want := strings.ReplaceAll(tt.want, "(reduce)", "reduce"); strings.Join(got, " ") != want || tt.notes != "!" && strings.Join(notes, "\n") != tt.notes {
				t.Errorf("planned %q, notes %q\nwant    %q, notes %q", got, notes, tt.want, tt.notes)
			}
			if want := strings.Count(tt.src, "tick()"); calls-before != want || len(p.HostCalls) != want {
				t.Errorf("%d calls of the host, named %q", calls-before, p.HostCalls)
			}
			if now, _ := s.Graph(); !slices.EqualFunc(s.Names(), names, func(a, b lang.NameInfo) bool { return a == b }) || len(now.Tasks) > len(done.Tasks)+1 {
				t.Errorf("the session has changed: names %v, tasks %q", s.Names(), tasksOf(now))
			}
			if p.Graph.Exact() { // then it is what the entry does
				if _, err := s.Eval(t.Context(), tt.src); err != nil {
					t.Fatal(err)
				}
				now, _ := s.Graph()
				if ran := tasksOf(now)[len(tasksOf(done)):]; !slices.Equal(ran, tasksOf(p.Graph)) {
					t.Errorf("planned %q\nran     %q", tasksOf(p.Graph), ran)
				}
			}
		})
	}
}

// A plan leaves a closed session alone, and says so.
func TestSessionPlanUnusable(t *testing.T) {
	s := newSession(t, lang.Config{}, newRuntime(t, engine.Options{Workers: 1}))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Plan(t.Context(), "1"); err == nil {
		t.Error("a closed session made a plan")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = newSession(t, lang.Config{}, newRuntime(t, engine.Options{Workers: 1}))
	if _, err := s.Plan(ctx, "while true { }"); !errors.Is(err, context.Canceled) {
		t.Errorf("the plan of a loop without end gives %v", err)
	}
}

// The graph of a session is what it inserted: of entries that failed, too, as often as loops
// ran, whatever they went by, and each task with its number.
func TestSessionGraph(t *testing.T) {
	s := newSession(t, lang.Config{}, newRuntime(t, engine.Options{Workers: 1}), lang.Stdout(io.Discard))
	for _, e := range []string{
		sessionCodelets, "register x = vector[f64](8, fill = 1)\npartition x by blocks(2)\nregister y = variable[f64](fill = 1)",
		"while value(y) < 100.0 { insert grow(RW y) }", "for i in 0..3 { insert add(RW x[i], 1.0) }",
		"func f() { insert head(R x, W y) with name = \"first\", priority = 3 }\nf()",
	} {
		if _, err := s.Eval(t.Context(), e); err != nil && !strings.Contains(err.Error(), "E0501") {
			t.Fatal(err)
		}
	}
	if _, err := s.Show("y", 0, 1); err != nil { // it is no access of the session
		t.Fatal(err)
	}
	g, missing := s.Graph()
	counts := map[string]int{}
	var last int64
	for i := range g.Tasks {
		x := &g.Tasks[i]
		counts[x.Codelet]++
		if x.Internal == "" {
			if x.ID != last+1 {
				t.Errorf("task %d comes behind %d", x.ID, last)
			}
			last = x.ID
		}
	}
	n := len(g.Tasks)
	if want := (map[string]int{"grow": 7, "(acquire)": 8, "add": 2, "head": 1}); missing != 0 || !maps.Equal(counts, want) {
		t.Errorf("%v, %d missing; want %v", counts, missing, want)
	}
	if x := &g.Tasks[n-1]; x.Name != "first" || x.Priority != 3 || x.Call != "f()" || g.SiteOf(x).Line != 1 || g.OperandText(x) != "R x, W y" {
		t.Errorf("the last task is %+v, %s at %v", x, g.OperandText(x), g.SiteOf(x))
	}
	if x := &g.Tasks[n-2]; x.Vars != "i = 1" || g.OperandText(x) != "RW x[1]" {
		t.Errorf("the task before is %+v, %s", x, g.OperandText(x))
	}
	if err := s.Reset(false); err != nil {
		t.Fatal(err)
	}
	if g, _ := s.Graph(); len(g.Tasks) != 0 {
		t.Errorf("after Reset: %q", tasksOf(g))
	}
}

// A session remembers many tasks, and counts those that are more.
func TestSessionGraphIsBounded(t *testing.T) {
	s := newSession(t, lang.Config{}, newRuntime(t, engine.Options{Workers: 1}))
	if _, err := s.Eval(t.Context(), sessionCodelets+"\nregister y = variable[f64](fill = 1)\nfor i in 0..262149 { insert grow(RW y) }"); err != nil {
		t.Fatal(err)
	}
	if g, missing := s.Graph(); len(g.Tasks) != 1<<18 || missing != 5 {
		t.Errorf("%d tasks, %d missing", len(g.Tasks), missing)
	}
}
