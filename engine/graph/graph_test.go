package graph_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
)

func codelet(name string) *engine.Codelet {
	return &engine.Codelet{Name: name, CPU: []engine.Impl{func(*engine.TaskContext) error { panic("a plan ran a kernel") }}}
}

// plan records what fn submits.
func plan(t testing.TB, workers int, fn func(rt *engine.Runtime, j *engine.Job)) *graph.Graph {
	t.Helper()
	return record(t, workers, fn).Graph("test")
}

func record(t testing.TB, workers int, fn func(rt *engine.Runtime, j *engine.Job)) *graph.Recorder {
	t.Helper()
	r := graph.NewRecorder(nil)
	rt, err := engine.Machine{Workers: workers, PerfDir: t.TempDir()}.Planner(func(p *engine.PlannedTask) { r.Plan(p) })
	if err != nil {
		t.Fatal(err)
	}
	r.Machine(rt)
	j := rt.NewJob(t.Context(), engine.JobOptions{})
	fn(rt, j)
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBounds: cells, what handles have of them, and dependencies are products of what a
// program chooses; they are asked for before they are made, and the context is looked at.
func TestBounds(t *testing.T) {
	read := func(rt *engine.Runtime, j *engine.Job, kind iface.Kind, dims []int, mode iface.AccessMode, fs ...filter.Filter) {
		h, err := rt.RegisterFilled(engine.DataSpec{Kind: kind, Elem: iface.U8, Dims: dims}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fs {
			v, err := rt.Partition(h, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range v.Parts {
				if err := j.Submit(&engine.TaskSpec{Codelet: codelet("c"), Operands: []engine.Operand{{Handle: p, Mode: mode}}}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, fn := range map[string]func(rt *engine.Runtime, j *engine.Job){
		"parts that overlap": func(rt *engine.Runtime, j *engine.Job) {
			read(rt, j, iface.Vector, []int{2000}, iface.R, filter.BlocksHalo(1000, 490))
		},
		"parts that cross": func(rt *engine.Runtime, j *engine.Job) {
			read(rt, j, iface.Matrix, []int{500, 500}, iface.RW, filter.Rows(500, 0), filter.Cols(500, 0))
		},
		"a group behind many": func(rt *engine.Runtime, j *engine.Job) {
			h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Variable, Elem: iface.U8}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 1600 {
				mode := iface.R
				if i >= 800 {
					mode = iface.Commute
				}
				if err := j.Submit(&engine.TaskSpec{Codelet: codelet("c"), Operands: []engine.Operand{{Handle: h, Mode: mode}}}); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, 1, fn)
			var before, after runtime.MemStats
			asked := int64(0)
			runtime.ReadMemStats(&before)
			g, err := r.GraphWithin("test", graph.Bounds{Context: t.Context(), Room: func(n int64) error { asked += n; return nil }})
			runtime.ReadMemStats(&after)
			if err != nil || g == nil {
				t.Fatal(err)
			}
			if took := int64(after.TotalAlloc - before.TotalAlloc); asked < 1<<21 || took > 4*asked+int64(len(g.Tasks))*640 { // 2.6 with the race detector
				t.Errorf("%d bytes taken, and %d asked for", took, asked)
			}
			enough := errors.New("enough")
			for left := asked; left > 0; left /= 2 {
				rest := left - 1
				if _, err := r.GraphWithin("test", graph.Bounds{Room: func(n int64) error {
					if rest -= n; rest < 0 {
						return enough
					}
					return nil
				}}); err != enough {
					t.Errorf("with %d of %d bytes: %v", left-1, asked, err)
				}
			}
			ended, cancel := context.WithCancelCause(t.Context())
			cancel(enough)
			if _, err := r.GraphWithin("test", graph.Bounds{Context: ended}); err != enough {
				t.Errorf("the context has ended: %v", err)
			}
		})
	}
}

// TestDependenciesAreTheOrder holds the dependencies of random programs on
// overlapping views against what the access modes say of each pair of tasks.
func TestDependenciesAreTheOrder(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var tasks [][]engine.Operand
		var after [][]int
		g := plan(t, 1, func(rt *engine.Runtime, j *engine.Job) {
			var hs []*datamgr.Handle
			for range 2 {
				h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F32, Dims: []int{12, 12}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				hs = append(hs, h)
				for _, f := range []filter.Filter{filter.Rows(3, 0), filter.Cols(2, 0), filter.Tiles(2, 3, 0), filter.Rows(2, 1)} {
					v, err := rt.Partition(h, f)
					if err != nil {
						t.Fatal(err)
					}
					hs = append(hs, v.Parts...)
				}
			}
			c := codelet("c")
			var kept []*engine.Task
			for range 5 + rnd.IntN(30) {
				var ops []engine.Operand
				for range 1 + rnd.IntN(2) {
					o := engine.Operand{Handle: hs[rnd.IntN(len(hs))], Mode: []iface.AccessMode{iface.R, iface.R, iface.W, iface.RW, iface.Commute, iface.CommuteW}[rnd.IntN(6)]}
					if !slices.ContainsFunc(ops, func(p engine.Operand) bool { return p.Handle.Overlaps(o.Handle) }) {
						ops = append(ops, o)
					}
				}
				s := &engine.TaskSpec{Codelet: c, Operands: ops}
				var on []int
				if len(kept) > 0 && rnd.IntN(6) == 0 {
					on = append(on, rnd.IntN(len(kept)))
					s.After = []engine.Dependency{kept[on[0]]}
				}
				k, err := j.SubmitTask(s)
				if err != nil {
					t.Fatal(err)
				}
				kept, tasks, after = append(kept, k), append(tasks, ops), append(after, on)
			}
		})
		if len(g.Tasks) != len(tasks) {
			t.Fatalf("seed %d: %d tasks were recorded, want %d", seed, len(g.Tasks), len(tasks))
		}
		must := orders(tasks, after)
		got := make([][]bool, len(tasks))
		for i := range g.Tasks {
			got[i] = make([]bool, len(tasks))
			for _, d := range g.Tasks[i].Deps {
				got[i][d] = true
				for k, on := range got[d] {
					got[i][k] = got[i][k] || on
				}
			}
		}
		for i := range tasks {
			for k := range i {
				if must[i][k] != got[i][k] {
					t.Fatalf("seed %d: task %d after task %d: the graph says %v, the modes %v\n%v\n%v", seed, i, k, got[i][k], must[i][k], tasks[i], tasks[k])
				}
			}
		}
	}
}

// orders reports for each pair of tasks whether one comes after the other: by conflicting
// accesses, by explicit dependencies, or by way of other tasks.
func orders(tasks [][]engine.Operand, after [][]int) [][]bool {
	out := make([][]bool, len(tasks))
	for i := range tasks {
		out[i] = make([]bool, len(tasks))
		for k := range i {
			is := slices.Contains(after[i], k)
			for _, a := range tasks[i] {
				for _, b := range tasks[k] {
					same := a.Mode == b.Mode && (a.Mode == iface.R || a.Mode.Commutes())
					is = is || !same && a.Handle.Overlaps(b.Handle)
				}
			}
			if is {
				out[i][k] = true
				for x, on := range out[k] {
					out[i][x] = out[i][x] || on
				}
			}
		}
	}
	return out
}

// tiled is a graph of a tiled Cholesky factorisation.
func tiled(t testing.TB, n int) *graph.Graph {
	return plan(t, 2, func(rt *engine.Runtime, j *engine.Job) {
		a, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{n * 4, n * 4}, Name: "A"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := rt.Partition(a, filter.Tiles(n, n, 0))
		if err != nil {
			t.Fatal(err)
		}
		at := func(i, k int) *datamgr.Handle { h, _ := v.Part(i, k); return h }
		potrf, trsm, syrk, gemm := codelet("potrf"), codelet("trsm"), codelet("syrk"), codelet("gemm")
		submit := func(c *engine.Codelet, out *datamgr.Handle, in ...*datamgr.Handle) {
			ops := []engine.Operand{{Handle: out, Mode: iface.RW}}
			for _, h := range in {
				ops = append(ops, engine.Operand{Handle: h, Mode: iface.R})
			}
			if err := j.Submit(&engine.TaskSpec{Codelet: c, Operands: ops}); err != nil {
				t.Fatal(err)
			}
		}
		for k := range n {
			submit(potrf, at(k, k))
			for m := k + 1; m < n; m++ {
				submit(trsm, at(m, k), at(k, k))
			}
			for m := k + 1; m < n; m++ {
				submit(syrk, at(m, m), at(m, k))
				for i := k + 1; i < m; i++ {
					submit(gemm, at(m, i), at(m, k), at(i, k))
				}
			}
		}
	})
}

func TestMeasuresOfCholesky(t *testing.T) {
	g := tiled(t, 8)
	m := graph.Measure(g)
	if m.Tasks != 8*9*10/6 || m.Length != 3*8-2 {
		t.Errorf("%d tasks, %d on the longest path; want %d and %d", m.Tasks, m.Length, 8*9*10/6, 3*8-2)
	}
	if len(m.Critical) != m.Length || g.Tasks[m.Critical[0]].Codelet != "potrf" || g.Tasks[m.Critical[len(m.Critical)-1]].Codelet != "potrf" {
		t.Errorf("the path has %d tasks and should begin and end with potrf", len(m.Critical))
	}
	for k := 1; k < len(m.Critical); k++ {
		if !slices.Contains(g.Tasks[m.Critical[k]].Deps, m.Critical[k-1]) {
			t.Errorf("task %d of the path does not wait for the one before", k)
		}
	}
	for i := range g.Tasks {
		g.Tasks[i].Seconds = []float64{2, 3}
	}
	m = graph.Measure(g)
	if m.Path != 2*22 || m.Work != 240 || m.Unknown != 0 {
		t.Errorf("path %g of %g seconds, %d unknown", m.Path, m.Work, m.Unknown)
	}
	if m.Codelets[0].Name != "gemm" || m.Codelets[0].Tasks != 56 || m.Codelets[0].Seconds != 112 {
		t.Errorf("the most frequent codelet is %+v", m.Codelets[0])
	}
	s := graph.Simulate(g)
	if s.Seconds < 44 || s.Seconds > 240 {
		t.Errorf("two workers take %g seconds; between the path of 44 and all work of 240 is possible", s.Seconds)
	}
	checkSchedule(t, g, s)
	if want := int64(32 * 32 * 8); s.Peak[0] > want || s.Peak[0] < want/2 {
		t.Errorf("%d bytes were used at most; the matrix has %d", s.Peak[0], want)
	}
}

// checkSchedule reports tasks that run before what they wait for, or two on one
// worker at once.
func checkSchedule(t *testing.T, g *graph.Graph, s *graph.Schedule) {
	t.Helper()
	byWorker := map[int][]graph.Run{}
	for i := range g.Tasks {
		for _, d := range g.Tasks[i].Deps {
			if s.Runs[d].End > s.Runs[i].Start+1e-12 {
				t.Errorf("task %d starts at %g, before task %d ends at %g", i, s.Runs[i].Start, d, s.Runs[d].End)
			}
		}
		byWorker[s.Runs[i].Worker] = append(byWorker[s.Runs[i].Worker], s.Runs[i])
	}
	for w, runs := range byWorker {
		slices.SortFunc(runs, func(a, b graph.Run) int { return int(1e6 * (a.Start - b.Start)) })
		for k := 1; k < len(runs) && w >= 0; k++ {
			if runs[k].Start < runs[k-1].End-1e-12 {
				t.Errorf("worker %d runs two tasks at %g", w, runs[k].Start)
			}
		}
	}
}

// TestTransfersOfTwoMemories places a chain on a device whose data is in main memory:
// it goes there once, and its result comes back once.
func TestTransfersOfTwoMemories(t *testing.T) {
	g := plan(t, 2, func(rt *engine.Runtime, j *engine.Job) {
		x, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{100}, Name: "x"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := j.Submit(&engine.TaskSpec{Codelet: codelet("c"), Operands: []engine.Operand{{Handle: x, Mode: iface.RW}}}); err != nil {
				t.Fatal(err)
			}
		}
		a, err := j.Acquire(t.Context(), x, iface.R)
		if err != nil {
			t.Fatal(err)
		}
		a.Release()
	})
	g.Workers[1].Node = 1
	g.Nodes = append(g.Nodes, graph.Node{Name: "gpu"})
	g.Links = func(from, to int, bytes int64) float64 { return float64(bytes) / 800 }
	for i := range g.Tasks {
		g.Tasks[i].Seconds = []float64{10, 1}
	}
	s := graph.Simulate(g)
	if copies, bytes := s.Moved(); copies != 2 || bytes != 1600 {
		t.Errorf("%d copies of %d bytes, want 2 of 1600: %+v", copies, bytes, s.Transfers)
	}
	if s.Seconds != 1+5+1 {
		t.Errorf("it takes %g seconds, want 7: a copy, five tasks, a copy", s.Seconds)
	}
	if s.Peak[0] != 800 || s.Peak[1] != 800 {
		t.Errorf("memory: %v", s.Peak)
	}
	checkSchedule(t, g, s)
}

// Data without elements takes no memory, and nothing of it goes anywhere.
func TestNoElements(t *testing.T) {
	g := plan(t, 1, func(rt *engine.Runtime, j *engine.Job) {
		x, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{0, 5}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := rt.Partition(x, filter.Cols(2, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range append(v.Parts, x) {
			if err := j.Submit(&engine.TaskSpec{Codelet: codelet("c"), Operands: []engine.Operand{{Handle: h, Mode: iface.RW}}}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if s := graph.Simulate(g); s.Peak[0] != 0 {
		t.Errorf("%d bytes are in use", s.Peak[0])
	}
	if n := len(g.Tasks[2].Deps); n != 2 {
		t.Errorf("the third task waits for %d tasks, not for 2", n)
	}
}

// TestDrawings writes graphs of all sizes in all ways, and reads them again.
func TestDrawings(t *testing.T) {
	for _, n := range []int{1, 3, 8, 39} {
		g := tiled(t, n)
		for _, by := range graph.Units {
			for _, f := range graph.Formats {
				var b bytes.Buffer
				if err := graph.Write(&b, g, f, by); err != nil {
					t.Fatal(err)
				}
				text := b.String()
				switch f {
				case graph.SVG:
					checkSVG(t, fmt.Sprintf("%d by %s", n, by), text)
					if len(text) > 400e3 {
						t.Errorf("the picture of %d tasks by %s has %d bytes", len(g.Tasks), by, len(text))
					}
				case graph.JSON:
					var out struct {
						Tasks []struct {
							ID    int64
							After []int64
						}
					}
					if err := json.Unmarshal(b.Bytes(), &out); err != nil || len(out.Tasks) != len(g.Tasks) {
						t.Errorf("%d tasks by %s as json: %v, %d tasks", len(g.Tasks), by, err, len(out.Tasks))
					}
				default:
					if by == graph.ByTask && n == 8 && strings.Count(text, "potrf ") < 8 {
						t.Errorf("%s by %s does not show all tasks", f, by)
					}
				}
			}
		}
	}
	if err := graph.Write(io.Discard, &graph.Graph{}, "png", graph.ByTask); err == nil {
		t.Error("an unknown format was accepted")
	}
	if err := graph.Write(io.Discard, &graph.Graph{}, graph.Dot, "moon"); err == nil {
		t.Error("an unknown unit was accepted")
	}
	for name, want := range map[string]graph.Format{"a.dot": graph.Dot, "b.MMD": graph.Mermaid, "x/y.json": graph.JSON, "g.svg": graph.SVG} {
		if f, ok := graph.FormatOf(name); !ok || f != want {
			t.Errorf("%s is taken as %s", name, f)
		}
	}
}

// TestOddNames draws what is called by characters that pictures use themselves, or
// cannot hold.
func TestOddNames(t *testing.T) {
	odd := "a\x01\x1b[31m\x00\xff\r\n\t\u2028<&>\"'\\N#quot;</text>]]>`%s"
	g := &graph.Graph{Title: odd, Sites: []graph.Site{{File: odd, Line: 1}}, Notes: []graph.Note{{At: graph.Site{File: odd, Line: 1}, Text: odd}},
		Handles: []graph.Handle{{Name: odd, Type: odd}, {Name: "b"}},
		Tasks: []graph.Task{{ID: 1, Codelet: odd, Operands: []graph.Operand{{Mode: iface.R}, {Handle: 1, Mode: iface.W}}, Flops: math.Inf(1)},
			{ID: 2, Codelet: "c", Name: odd, Vars: odd, Operands: []graph.Operand{{Handle: 1, Mode: iface.R}}, Deps: []int32{0}}}}
	for _, by := range graph.Units {
		for _, f := range graph.Formats {
			var b bytes.Buffer
			if err := graph.Write(&b, g, f, by); err != nil {
				t.Errorf("%s by %s: %v", f, by, err)
				continue
			}
			text := b.String()
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Errorf("%s by %s has control characters, or is no UTF-8: %q", f, by, text)
			}
			switch f {
			case graph.SVG:
				checkSVG(t, "odd names by "+string(by), text)
			case graph.JSON:
				if !json.Valid(b.Bytes()) {
					t.Errorf("no JSON: %q", text)
				}
			case graph.Text:
				if n := strings.Count(text, "\n"); n != 3 {
					t.Errorf("2 nodes and a note by %s are %d lines: %q", by, n, text)
				}
			case graph.Mermaid:
				for _, l := range strings.Split(text, "\n") {
					if strings.HasPrefix(l, "  n0[") && (strings.Count(l, `"`) != 2 || strings.ContainsAny(l, "&<>`") || !strings.Contains(l, "#lt;#amp;#gt;#quot;'\\N#35;quot;")) {
						t.Errorf("by %s: %q", by, l)
					}
				}
			}
		}
	}
}

// TestCodeletsBehindLightTasks: a codelet before a chain of many light tasks precedes the
// codelets after the chain.
func TestCodeletsBehindLightTasks(t *testing.T) {
	g := &graph.Graph{Sites: []graph.Site{{Line: 1}, {Line: 2}}, Tasks: []graph.Task{{ID: 1, Codelet: "a"}}}
	for i := range int32(9) {
		g.Tasks = append(g.Tasks, graph.Task{ID: -1, Internal: "invalidate", Codelet: "(invalidate)", Site: -1, Deps: []int32{i}})
	}
	g.Tasks = append(g.Tasks, graph.Task{ID: 2, Codelet: "b", Site: 1, Deps: []int32{9}})
	var b bytes.Buffer
	if err := graph.Write(&b, g, graph.Text, graph.ByCodelet); err != nil {
		t.Fatal(err)
	}
	if want := "a\nb  after a\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// checkSVG reads a picture and looks for boxes of one row that lie upon each other.
func checkSVG(t *testing.T, what, text string) {
	t.Helper()
	type box struct{ x, w float64 }
	rows := map[string][]box{}
	d := xml.NewDecoder(strings.NewReader(text))
	inBox := false
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: the picture is no XML: %v", what, err)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range e.Attr {
			attr[a.Name.Local] = a.Value
		}
		switch e.Name.Local {
		case "g":
			inBox = attr["class"] == "b"
		case "rect":
			if inBox {
				var b box
				fmt.Sscan(attr["x"], &b.x)
				fmt.Sscan(attr["width"], &b.w)
				rows[attr["y"]] = append(rows[attr["y"]], b)
				inBox = false
			}
		}
	}
	boxes := 0
	for y, row := range rows {
		slices.SortFunc(row, func(a, b box) int { return int(a.x - b.x) })
		boxes += len(row)
		for k := 1; k < len(row); k++ {
			if row[k].x < row[k-1].x+row[k-1].w {
				t.Errorf("%s: boxes at y %s lie upon each other", what, y)
				break
			}
		}
	}
	if boxes == 0 || boxes > 1400 {
		t.Errorf("%s: %d boxes are drawn", what, boxes)
	}
}

// TestParts takes parts of a graph: what is left waits for what is left.
func TestParts(t *testing.T) {
	g := tiled(t, 4)
	last := g.From(len(g.Tasks) - 5)
	if len(last.Tasks) != 5 || last.Tasks[4].Codelet != "potrf" {
		t.Fatalf("the last 5 tasks are %d, the last one %s", len(last.Tasks), last.Tasks[len(last.Tasks)-1].Codelet)
	}
	if len(last.Tasks[4].Deps) == 0 {
		t.Error("the last task waits for nothing")
	}
	name := g.Handles[g.Tasks[0].Operands[0].Handle].Name
	for i := range g.Using(name).Tasks {
		x := g.Using(name)
		if !slices.ContainsFunc(x.Tasks[i].Operands, func(o graph.Operand) bool { return x.Handles[o.Handle].Name == name }) {
			t.Errorf("%s does not use %s", x.Tasks[i].Label(), name)
		}
	}
	if n := len(g.Using("A").Tasks); n != len(g.Tasks) {
		t.Errorf("%d of %d tasks use A or a part of it", n, len(g.Tasks))
	}
	if n := len(g.Using("B").Tasks); n != 0 {
		t.Errorf("%d tasks use what there is not", n)
	}
}

// TestSuccessors: the successors of a task are exactly the tasks that depend on it.
func TestSuccessors(t *testing.T) {
	g := tiled(t, 4)
	after := g.Successors()
	edges, back := 0, 0
	for i, next := range after {
		back += len(next)
		if !slices.IsSorted(next) {
			t.Errorf("those behind %s: %v", g.Tasks[i].Label(), next)
		}
		for _, k := range next {
			if !slices.Contains(g.Tasks[k].Deps, int32(i)) {
				t.Errorf("%s does not wait for %s", g.Tasks[k].Label(), g.Tasks[i].Label())
			}
		}
		edges += len(g.Tasks[i].Deps)
	}
	if len(after) != len(g.Tasks) || edges != back || edges == 0 || len(after[len(after)-1]) != 0 {
		t.Errorf("%d lists for %d tasks, %d of %d dependencies, %v behind the last", len(after), len(g.Tasks), back, edges, after[len(after)-1])
	}
	first := slices.Clone(after[1])
	after[0] = append(after[0], 99) // the lists belong to the caller and share no memory
	if !slices.Equal(after[1], first) {
		t.Error("two lists share memory")
	}
	if n := len((&graph.Graph{}).Successors()); n != 0 {
		t.Errorf("%d lists for no task", n)
	}
}

// TestSigns: a picture says what its dots and lines stand for, of those that it has.
func TestSigns(t *testing.T) {
	g := &graph.Graph{Title: "t", Handles: []graph.Handle{{Name: "x"}}, Sites: make([]graph.Site, 1),
		Tasks: []graph.Task{{ID: 1, Codelet: "a", Operands: []graph.Operand{{Mode: iface.W}}}, {ID: 2, Codelet: "b", Deps: []int32{0}}}}
	draw := func() string {
		var b strings.Builder
		if err := graph.Write(&b, g, graph.SVG, graph.ByTask); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if s := draw(); !strings.Contains(s, "lines go down, to what waits<") {
		t.Errorf("a picture of two tasks: %s", s)
	}
	g.Tasks = append(g.Tasks, graph.Task{ID: -1, Codelet: "(acquire)", Internal: "acquire", Deps: []int32{0, 1}},
		graph.Task{ID: 3, Codelet: "c", Deps: []int32{2}}, graph.Task{ID: 4, Codelet: "c", Deps: []int32{2}})
	if s := draw(); !strings.Contains(s, "a dot has no kernel: (acquire)") {
		t.Errorf("a picture with a dot: %s", s)
	}
}

// drawn reads a picture: its boxes by the height at which they are, and its lines.
type drawnBox struct {
	x, y, w float64
	text    string
}

func readSVG(t *testing.T, text string) (boxes []drawnBox, lines []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`<g class="b[^"]*"><title>[^<]*</title><rect x="([-\d]+)" y="([-\d]+)" width="(\d+)"[^>]*/><text[^>]*>([^<]*)</text>`).FindAllStringSubmatch(text, -1) {
		var b drawnBox
		fmt.Sscan(m[1], &b.x)
		fmt.Sscan(m[2], &b.y)
		fmt.Sscan(m[3], &b.w)
		b.text = m[4]
		boxes = append(boxes, b)
	}
	for _, m := range regexp.MustCompile(`<path class="e[^"]*"[^>]* d="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		lines = append(lines, m[1])
	}
	return boxes, lines
}

func draw(t *testing.T, g *graph.Graph, f graph.Format, by graph.Unit) string {
	t.Helper()
	var b strings.Builder
	if err := graph.Write(&b, g, f, by); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Graphs of more tasks than one reads box by box are folded: a row is one depth, a codelet
// one box in it, rows lie around one axis, and all lines go down.
func TestFolded(t *testing.T) {
	g := tiled(t, 9)
	depth := make([]int, len(g.Tasks))
	want := map[string]bool{}
	count, deepest := map[string]int{}, 0
	for i := range g.Tasks {
		x := &g.Tasks[i]
		for _, d := range x.Deps {
			more := 1
			if g.Tasks[d].Light() {
				more = 0
			}
			depth[i] = max(depth[i], depth[d]+more)
		}
		if !x.Light() {
			count[fmt.Sprintf("%d %s", depth[i], x.Codelet)]++
			deepest = max(deepest, depth[i])
		}
	}
	for k, n := range count {
		if n > 1 {
			k += fmt.Sprintf(" × %d", n)
		}
		want[k] = true
	}
	text := draw(t, g, graph.SVG, graph.ByTask)
	boxes, lines := readSVG(t, text)
	at := map[float64]int{} // rows, by height
	var ys []float64
	for _, b := range boxes {
		if _, ok := at[b.y]; !ok {
			at[b.y] = 0
			ys = append(ys, b.y)
		}
	}
	slices.Sort(ys)
	for k, y := range ys {
		at[y] = k
	}
	if len(ys) != deepest+1 || len(boxes) != len(want) {
		t.Errorf("%d rows and %d boxes, want %d and %d", len(ys), len(boxes), deepest+1, len(want))
	}
	lo, hi := map[float64]float64{}, map[float64]float64{}
	for _, b := range boxes {
		if k := fmt.Sprintf("%d %s", at[b.y], b.text); !want[k] {
			t.Errorf("row %d has a box %q", at[b.y], b.text)
		}
		if v, ok := lo[b.y]; !ok || b.x < v {
			lo[b.y] = b.x
		}
		hi[b.y] = max(hi[b.y], b.x+b.w)
	}
	axis := (lo[ys[0]] + hi[ys[0]]) / 2
	for _, y := range ys {
		if m := (lo[y] + hi[y]) / 2; math.Abs(m-axis) > 2 {
			t.Errorf("row %d lies around %g, the first one around %g", at[y], m, axis)
		}
	}
	for k := range deepest + 1 {
		if !strings.Contains(text, fmt.Sprintf(">depth %d<", k+1)) {
			t.Errorf("no row is called depth %d", k+1)
		}
	}
	checkLinesGoDown(t, "folded", lines)
}

func checkLinesGoDown(t *testing.T, what string, lines []string) {
	t.Helper()
	if len(lines) == 0 {
		t.Errorf("%s: no lines", what)
	}
	for _, l := range lines {
		last := -1.0
		for _, m := range regexp.MustCompile(`V(-?\d+)|(?:^M|[ C])(-?\d+) (-?\d+)(?:$|[VC])`).FindAllStringSubmatch(l, -1) {
			var y float64
			fmt.Sscan(cmp.Or(m[1], m[3]), &y)
			if y < last {
				t.Errorf("%s: a line goes up or aside: %s", what, l)
				break
			}
			last = y
		}
	}
}

// Rows that come again and again are drawn twice, counted, and drawn the last time; what
// repeats nowhere shares rows, which say so. All tasks are in the picture.
func TestFoldedRepeats(t *testing.T) {
	chain := func(n int, name func(i int) string) *graph.Graph {
		g := &graph.Graph{Title: "t"}
		for i := range n {
			x := graph.Task{ID: int64(i + 1), Codelet: name(i), Site: -1}
			if i > 0 {
				x.Deps = []int32{int32(i - 1)}
			}
			g.Tasks = append(g.Tasks, x)
		}
		return g
	}
	text := draw(t, chain(3001, func(i int) string { return []string{"a", "b", "c"}[i%3] }), graph.SVG, graph.ByTask)
	boxes, lines := readSVG(t, text)
	var got []string
	for _, b := range boxes {
		got = append(got, b.text)
	}
	if want := []string{"a", "b", "c", "a", "b", "c", "the 3 rows above, 997 times more: a × 997, b × 997, c × 997", "a", "b", "c", "a"}; !slices.Equal(got, want) {
		t.Errorf("boxes %q, want %q", got, want)
	}
	for _, want := range []string{">depth 6<", ">7 – 2 997<", ">depth 2 998<", "a grey box stands for rows that repeat those above"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	checkLinesGoDown(t, "a pattern", lines)

	// two inserts of one codelet are two rows of a pattern
	g := chain(100, func(int) string { return "a" })
	for i := range g.Tasks {
		g.Tasks[i].Site = int32(i % 2)
	}
	g.Sites = []graph.Site{{File: "s", Line: 1}, {File: "s", Line: 2}}
	for i := 0; i < 40; i++ { // and much beside it, which makes the picture a folded one
		g.Tasks = append(g.Tasks, graph.Task{ID: int64(200 + i), Codelet: "b", Site: -1})
	}
	if text := draw(t, g, graph.SVG, graph.ByTask); !strings.Contains(text, ">the 2 rows above, 46 times more: a × 92<") {
		t.Errorf("two inserts of one codelet: %s", text)
	}

	r := rand.New(rand.NewPCG(1, 2))
	text = draw(t, chain(3000, func(int) string { return string(rune('a' + r.IntN(12))) }), graph.SVG, graph.ByTask)
	boxes, lines = readSVG(t, text)
	checkLinesGoDown(t, "without a pattern", lines)
	checkSVG(t, "without a pattern", text)
	sum := 0
	for _, b := range boxes {
		n := 1
		if _, after, ok := strings.Cut(b.text, " × "); ok {
			fmt.Sscan(after, &n)
		}
		sum += n
	}
	if sum != 3000 || !strings.Contains(text, ">depths 1 – 50<") {
		t.Errorf("%d tasks are drawn, of 3000", sum)
	}
}

// A wide row is wrapped, and every box of it is drawn where no other one is.
// TestFoldedSays: a row of several depths is called that, and a legend that is cut says how
// many codelets it leaves out.
func TestFoldedSays(t *testing.T) {
	g := &graph.Graph{Title: "t"}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 400 {
		x := graph.Task{ID: int64(i + 1), Codelet: fmt.Sprintf("a_long_name_of_a_codelet_%d", r.IntN(40)), Site: int32(-1)}
		if i > 0 {
			x.Deps = []int32{int32(i - 1)}
		}
		g.Tasks = append(g.Tasks, x)
	}
	text := draw(t, g, graph.SVG, graph.ByTask)
	checkSVG(t, "says", text)
	if !strings.Contains(text, "a row is several depths") || !strings.Contains(text, "may wait for others of the row") || strings.Contains(text, "at the same depth") {
		t.Error("nothing about the rows")
	}
	legend := strings.Count(text, `width="12" height="12"`)
	if want := fmt.Sprintf(">and %d more<", 40-legend); !strings.Contains(text, want) {
		t.Errorf("no %q beside %d entries of a legend", want, legend)
	}
	if text := draw(t, tiled(t, 9), graph.SVG, graph.ByTask); strings.Contains(text, "more<") || strings.Contains(text, "several depths") {
		t.Error("a small graph says so, too")
	}
}

// TestManyStatements: a graph of many insert statements, and of much data updated in turn,
// takes time in proportion.
func TestManyStatements(t *testing.T) {
	const n = 200_000
	g := &graph.Graph{Title: "t"}
	for i := range n {
		g.Sites = append(g.Sites, graph.Site{File: "s", Line: i + 1})
		g.Tasks = append(g.Tasks, graph.Task{ID: int64(i + 1), Codelet: "a", Site: int32(i)})
	}
	start := time.Now()
	boxes, _ := readSVG(t, draw(t, g, graph.SVG, graph.ByTask))
	if len(boxes) != 1 || boxes[0].text != "a × 200 000" {
		t.Errorf("boxes %v", boxes)
	}
	if d := time.Since(start); d > 20*time.Second { // each statement was looked for among all others
		t.Errorf("%d statements took %v", n, d)
	}
}

func TestWrapped(t *testing.T) {
	g := &graph.Graph{Title: "t"}
	for i := range 100 {
		g.Tasks = append(g.Tasks, graph.Task{ID: int64(i + 1), Codelet: fmt.Sprintf("work%d", i), Site: -1})
	}
	text := draw(t, g, graph.SVG, graph.ByTask)
	boxes, _ := readSVG(t, text)
	ys := map[float64]bool{}
	right := 0.0
	for _, b := range boxes {
		ys[b.y] = true
		right = max(right, b.x+b.w)
	}
	if len(boxes) != 100 || len(ys) < 4 || right > 1800 || !strings.Contains(text, "one row, wrapped") {
		t.Errorf("%d boxes on %d lines, %g wide", len(boxes), len(ys), right)
	}
	checkSVG(t, "wrapped", text)
}

// TestFlowBetweenViews: a write through one view and a read through another view that
// crosses it make an edge between the two.
func TestFlowBetweenViews(t *testing.T) {
	g := plan(t, 1, func(rt *engine.Runtime, j *engine.Job) {
		x, err := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{12}, Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		halves, err := rt.Partition(x, filter.Blocks(2))
		if err != nil {
			t.Fatal(err)
		}
		thirds, err := rt.Partition(x, filter.Blocks(3))
		if err != nil {
			t.Fatal(err)
		}
		submit := func(h *datamgr.Handle, m iface.AccessMode) {
			if err := j.Submit(&engine.TaskSpec{Codelet: codelet("c"), Operands: []engine.Operand{{Handle: h, Mode: m}}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range halves.Parts {
			submit(h, iface.W)
		}
		for _, h := range thirds.Parts[:2] {
			submit(h, iface.R)
		}
		submit(thirds.Parts[2], iface.W)
		submit(x, iface.R)
	})
	got := draw(t, g, graph.Text, graph.ByHandle)
	want := strings.Join([]string{"x[0..6]", "x[6..12]", "x[0..4]   after x[0..6]", "x[4..8]   after x[0..6], x[6..12]", "x[8..12]", "x         after x[0..6], x[6..12], x[8..12]"}, "\n") + "\n"
	if got != want {
		t.Errorf("flows:\n%swant:\n%s", got, want)
	}
}
