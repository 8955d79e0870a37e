package lang_test

// Sessions without a terminal: a transcript of entries and what they give.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

func newSession(t testing.TB, cfg lang.Config, rt *engine.Runtime, opts ...lang.Option) *lang.Session {
	t.Helper()
	comp, err := lang.NewCompiler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := comp.NewSession(rt, opts...)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	return s
}

func TestSessionTranscript(t *testing.T) {
	for _, m := range machines() {
		t.Run(m.name, func(t *testing.T) {
			rt := newRuntime(t, m.opt)
			var out bytes.Buffer
			s := newSession(t, testConfig(t, map[string]string{"m.spu": "let k = 3\nfunc sq(x: int) -> int { return x * x }\n"}), rt, lang.Stdout(&out))
			for _, e := range []struct {
				src      string
				value    string
				inserted int
				err      string
				printed  string
			}{
				{"1 + 2", "3", 0, "", ""},
				{"_ * 2", "6", 0, "", ""},
				{"let a = 5; let b = a + 1", "", 0, "", ""},
				{"a + b", "11", 0, "", ""},
				{"let a = \"text\"", "", 0, "", ""},
				{"a", "text", 0, "", ""},
				{"func f(x: int) -> int { return x + b }", "", 0, "", ""},
				{"f(1)", "7", 0, "", ""},
				{"b = 10", "", 0, "", ""},
				{"f(1)", "11", 0, "", ""},
				{"func f(x: int) -> int { return 0 }\nf(3)", "0", 0, "", ""},
				{"register x = vector[i64](4, fill = 1)", "", 0, "", ""},
				{"codelet twice(v: RW vector[T]) { each i in v { v[i] *= 2 } }", "", 0, "", ""},
				{"insert twice(RW x)", "", 1, "", ""},
				{"for k in 0..3 { insert twice(RW x) }", "", 3, "", ""},
				{"x", "vector[i64] 4: 16 16 16 16", 0, "", ""},
				{"partition x by blocks(2)", "", 0, "", ""},
				{"insert twice(RW x[1])\nprint(x)", "", 1, "", "vector[i64] 4: 16 16 32 32\n"},
				{"y", "", 0, "E0201", ""},
				{"let z = 1 // 0", "", 0, "R0103", ""},
				{"z", "", 0, "E0205", ""},
				{"let z = 3\nz", "3", 0, "", ""},
				{"acquire R x as xs", "", 0, "", ""},
				{"xs[3]", "32", 0, "", ""},
				{"release xs", "", 0, "", ""},
				{"register x = vector[f32](2, fill = 0.5)", "", 0, "", ""},
				{"x", "vector[f32] 2: 0.5 0.5", 0, "", ""},
				{"import \"m.spu\" as m", "", 0, "", ""},
				{"m.sq(m.k)", "9", 0, "", ""},
				{"import \"m.spu\" as other", "", 0, "", ""},
				{"other.k", "3", 0, "", ""},
				{"print(\"a\")", "", 0, "", "a\n"},
				{"assert 1 == 2", "", 0, "R0102", ""},
				{"register v = variable[i64](fill = 0)\ninsert host_fail(RW v)", "", 1, "", ""},
				{"value(v)", "", 0, "R0101", ""},
				{"wait", "", 0, "", ""},
				{"invalidate v", "", 0, "", ""},
				{"if true {\n    print(1)\n} else {\n    print(2)\n}", "", 0, "", "1\n"},
				{"param q: int = 4\nq", "4", 0, "", ""},
				{"[k for k in 0..3]", "[0, 1, 2]", 0, "", ""},
				{"none", "", 0, "", ""},
			} {
				out.Reset()
				r, err := s.Eval(context.Background(), e.src)
				switch {
				case e.err == "" && err != nil:
					t.Errorf("%q: %v", e.src, err)
				case e.err != "" && (err == nil || !strings.Contains(err.Error(), e.err)):
					t.Errorf("%q: error %v, want %s", e.src, err, e.err)
				case r.Value != e.value || r.Inserted != e.inserted || out.String() != e.printed:
					t.Errorf("%q gave %q, %d tasks, printed %q; want %q, %d, %q", e.src, r.Value, r.Inserted, out.String(), e.value, e.inserted, e.printed)
				}
			}
		})
	}
}

func TestSessionNames(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	v := []float64{1, 2, 3}
	s := newSession(t, lang.Config{}, rt, lang.Bind("v", lang.VectorOf(v)))
	if _, err := s.Eval(context.Background(), "## how many\nlet n = 3\nregister m = matrix[f32](2, 3)\npartition p = m by rows(2)\n## squares\nfunc sq(x: int) -> int { return x * x }"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range s.Names() {
		got = append(got, fmt.Sprintf("%s %s %s (%s)", n.Kind, n.Name, n.Type, n.Detail))
	}
	want := []string{
		"handle m matrix[f32] (2 x 3; no value, or not everywhere; views: rows(2))",
		"let n int (3)",
		"view p view[matrix[f32]] (2 parts of m)",
		"func sq sq(x: int) -> int ()",
		"handle v vector[f64] (3 elements)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("names:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if txt, err := s.Show("v", 1, 3); err != nil || txt != "vector[f64] 1..3 of 3: 2.0 3.0" {
		t.Errorf("Show: %q, %v", txt, err)
	}
	if txt, err := s.Show("v", 0, -1); err != nil || txt != "vector[f64] 3: 1.0 2.0 3.0" {
		t.Errorf("Show: %q, %v", txt, err)
	}
	for _, name := range []string{"sq", "vector", "blocks", "priority", "print", "n", "pi", "f32"} {
		if doc, ok := s.Doc(name); !ok || doc == "" {
			t.Errorf("no documentation of %s", name)
		}
	}
	if doc, _ := s.Doc("sq"); !strings.Contains(doc, "squares") {
		t.Errorf("doc of sq: %s", doc)
	}
	if _, ok := s.Doc("nonsense"); ok {
		t.Error("documentation of nonsense")
	}
	if err := s.Reset(true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Eval(context.Background(), "m"); err == nil {
		t.Error("a handle survived Reset")
	}
	if r, err := s.Eval(context.Background(), "n"); err != nil || r.Value != "3" {
		t.Errorf("after Reset(true): %v, %v", r, err)
	}
	if err := s.Reset(false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Eval(context.Background(), "n"); err == nil {
		t.Error("a name survived Reset(false)")
	}
	if r, err := s.Eval(context.Background(), "v"); err != nil || r.Value != "vector[f64] 3: 1.0 2.0 3.0" {
		t.Errorf("bound data after Reset: %v, %v", r, err)
	}
}

func TestSessionComplete(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	s := newSession(t, testConfig(t, nil), rt)
	if _, err := s.Eval(context.Background(), "register value_x = vector[f32](4, fill = 0)\nlet count = 1\nregister mat = matrix[f32](2, 2, fill = 0)\npartition tiles_of = mat by tiles(2, 2)\ncodelet put(x: W vector[f32]) { each i in x { x[i] = 1.0 } }"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src  string
		want string // completions, in order; a trailing … allows more
	}{
		{"insert cl", "clip"},
		{"insert clip(", "RW COMMUTE REDUX"},
		{"insert put(", "W COMMUTE"},
		{"insert clip(RW va", "value_x"},
		{"mat.c", "cols col0 capacity"},
		{"tiles_of.", "count parts"},
		{"partition mat by ti", "tiles"},
		{"partition mat by ", "rows cols tiles axis stripes"},
		{"partition v = value_x by ", "blocks halves axis pick"},
		{"partition v = mat by rows(2) then ", "rows cols tiles axis pick stripes"},
		{"partition v = mat by pick(0) then ", "blocks halves axis pick"},
		{"partition w = tiles_of[0, 0] by ", "rows cols tiles axis pick stripes"},
		{"partition nowhere by ", "axis blocks cols entries halves nonzeros pick rows stripes tiles"},
		{"partition v = mat by rows(2) ", "then over"},
		{"partition v = mat by rows(2) then cols(2) o", "over"},
		{"partition v = mat by tiles(2, 2) over ", "grid("},
		{"partition v = mat by tiles(2, 2) over grid(2, 2) ", ""},
		{"register y = vector[f64](5, ow", "owner="},
		{"register y = variable[f64](ow", "owner="},
		{"register y = vector[", "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128 f16 bf16 bool"},
		{"register y = vector[f6", "f64"},
		{"register y = vector[f64](5, fi", "fill="},
		{"register y = vector[f64](5, l", "layout layout= len list= load= log log2"},
		{"register y = vector[f64](len(xs), fill = 0, r", "range re reduce= reducer round"},
		{"register y = vector[f64](5, fill = cou", "count"},
		{"register y = variable[f64](l", "layout layout= len log log2"},
		{"register y = matrix[f64](r", "range re reduce= reducer round rows="},
		{"register y = matrix[f64](max(1, r", "ram range range re reducer reducer register release return round"},
		{"register y = matrix[f64](rows = 2, co", "cols= complex conj cos count"},
		{"codelet f(x: R matrix[f", "f16 f32 f64"},
		{"insert clip(RW value_x, 0.0, 1.0) with pri", "priority"},
		{"hint mat with co", "coords"},
		{"acquire ", "R RW W"},
		{"let x: vec", "vector"},
		{"print(cou", "count"},
		{"regi", "register"},
		{"print(\"cou", ""},
		{"# cou", ""},
		{"print(value_x[0]) ; wai", "wait"},
	} {
		var got []string
		for _, x := range s.Complete(c.src, len(c.src)) {
			got = append(got, strings.ReplaceAll(x.Text, " ", ""))
		}
		want := strings.Fields(c.want)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q completes to %q, want %q", c.src, got, want)
		}
	}
	for _, x := range s.Complete("", 0) {
		if x.Text == "" || x.Kind == "" {
			t.Errorf("empty completion %+v", x)
		}
	}
}

func TestSessionIncomplete(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	s := newSession(t, lang.Config{}, rt)
	for src, want := range map[string]bool{"for i in 0..3 {": true, "print(1": true, "print(1)": false, "let a =": true, "": false, "x }": false} {
		if got := s.Incomplete(src); got != want {
			t.Errorf("Incomplete(%q) = %v", src, got)
		}
	}
}

func TestSessionCancel(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 2})
	s := newSession(t, lang.Config{}, rt)
	if _, err := s.Eval(context.Background(), "codelet inc(v: RW variable[i64]) { v += 1 }\nregister x = variable[i64](fill = 0)\nlet k = 7"); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
	if _, err := s.Eval(ctx, "while true { insert inc(RW x) }"); !errors.Is(err, stop) {
		t.Errorf("the entry ended with %v", err)
	}
	cancel(nil)
	if err := s.Wait(context.Background()); err != nil {
		t.Errorf("waiting for what was dropped: %v", err)
	}
	if r, err := s.Eval(context.Background(), "k"); err != nil || r.Value != "7" {
		t.Errorf("after the cancel: %v, %v", r, err)
	}
	if r, err := s.Eval(context.Background(), "invalidate x\nregister x = variable[i64](fill = 1)\ninsert inc(RW x)\nvalue(x)"); err != nil || r.Value != "2" {
		t.Errorf("after the cancel: %v, %v", r, err)
	}
}

// A session whose options are wrong, or that is closed, says so and does nothing else.
func TestSessionUnusable(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	closed := comp.NewSession(rt)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*lang.Session{"no runtime": comp.NewSession(nil), "no data": comp.NewSession(rt, lang.Bind("x", nil)), "closed": closed} {
		if _, err := s.Eval(context.Background(), "1"); err == nil {
			t.Errorf("%s: Eval worked", name)
		}
		s.Names()
		s.Complete("insert f(", 9)
		s.Complete("x.", 2)
		s.Doc("x")
		s.Show("x", 0, 1)
		s.Handle("x")
		s.Stats()
		s.Wait(context.Background())
		s.Reset(true)
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
}

// Each entry has the limits for itself.
func TestSessionLimits(t *testing.T) {
	ctx := t.Context()
	rt := newRuntime(t, machines()[0].opt)
	s := newSession(t, lang.Config{Limits: lang.Limits{Steps: 100, Tasks: 3, DataBytes: 2000, Output: 20, ScriptBytes: 4000}}, rt, lang.Stdout(io.Discard))
	for _, entry := range []string{
		"codelet nop(x: RW vector[f64]) { each i in x { x[i] = x[i] } }",
		"register a = vector[f64](10, fill = 0)",
		"for i in 0..3 { insert nop(RW a) }",
		"for i in 0..60 { }",
		"[i for i in 0..60][0]",
		`print("0123456789")`,
		"register b = vector[f64](10, fill = 0)",
	} {
		for range 3 {
			if _, err := s.Eval(ctx, entry); err != nil {
				t.Fatalf("%s: %v", entry, err)
			}
		}
	}
	for entry, kind := range map[string]string{
		"for i in 0..4 { insert nop(RW a) }":      "tasks",
		"for i in 0..101 { }":                     "steps",
		`print("012345678901234567890")`:          "output",
		"register c = vector[f64](130, fill = 0)": "data",
	} {
		_, err := s.Eval(ctx, entry)
		var limit *lang.LimitError
		if !errors.As(err, &limit) || limit.Kind != kind {
			t.Errorf("%s: %v, want the limit of %s", entry, err, kind)
		}
	}
}

// Parts of matrices and blocks are shown complete, and where nothing has been written "?".
func TestSessionShowPart(t *testing.T) {
	s := newSession(t, lang.Config{}, newRuntime(t, engine.Options{Workers: 1}))
	if _, err := s.Eval(t.Context(), `codelet clear(x: W matrix[f64]) { each i, j in x { x[i, j] = 0.5 } }
register A = matrix[f64](20, 30, list = [float(i) for i in 0..600])
register B = block[i32](3, 4, 5, fill = 7)
register T = tensor[u8](2, 3, 4, 5, fill = 9)
register C = matrix[f64](4, 4)
partition C by tiles(2, 2)
insert clear(W C[0, 1])
register D = matrix[f64](2, 2)
register v = vector[f64](6)
partition v by blocks(2)
let k = 3`); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		spans [][2]int
		want  string
	}{
		{"A", [][2]int{{0, 2}, {28, 30}}, "matrix[f64] 2 x 2 at [0..2, 28..30] of 20 x 30:\n  28.0 29.0\n  58.0 59.0"},
		{"A", [][2]int{{18, 50}, {3, 4}}, "matrix[f64] 2 x 1 at [18..20, 3..4] of 20 x 30:\n  543.0\n  573.0"},
		{"A", [][2]int{{5, 5}, {0, 1}}, "matrix[f64] 0 x 1 at [5..5, 0..1] of 20 x 30:"},
		{"B", [][2]int{{1, 3}, {0, 1}, {0, 2}}, "block[i32] 2 x 1 x 2 at [1..3, 0..1, 0..2] of 3 x 4 x 5:\n  x = 1:\n    7 7\n  x = 2:\n    7 7"},
		{"T", [][2]int{{1, 2}, {1, 3}, {2, 3}, {3, 9}}, "tensor[u8] 1 x 2 x 1 x 2 at [1..2, 1..3, 2..3, 3..5] of 2 x 3 x 4 x 5:\n  [1, 1]:\n    9 9\n  [1, 2]:\n    9 9"},
		{"T", [][2]int{{0, 1}, {3, 4}, {0, 1}, {0, 1}}, "there is no slab 3 of `T`: they count from 0 to 2"},
		{"C", [][2]int{{1, 3}, {1, 4}}, "matrix[f64] 2 x 3 at [1..3, 1..4] of 4 x 4:\n  ? 0.5 0.5\n  ? ?   ?"},
		{"D", [][2]int{{1, 2}, {0, 2}}, "matrix[f64] 1 x 2 at [1..2, 0..2] of 2 x 2:\n  ? ?"},
		{"A", [][2]int{{20, 21}, {0, 1}}, "there is no row 20 of `A`: they count from 0 to 19"},
		{"A", [][2]int{{0, 1}}, "takes two indices"},
		{"k", [][2]int{{0, 1}, {0, 1}}, "has no elements to choose from"},
		{"none", [][2]int{{0, 1}}, "no name none"},
	} {
		got, err := s.ShowPart(tt.name, tt.spans...)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
			t.Errorf("%s%v:\n%s\nwant\n%s", tt.name, tt.spans, got, tt.want)
		}
	}
	if got, err := s.Show("v", 1, 9); err != nil || got != "vector[f64] 1..6 of 6: ? ? ? ? ?" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestSessionInsideEntry: a call that would change a session under the entry that runs is
// refused, and has no effect.
func TestSessionInsideEntry(t *testing.T) {
	ctx := t.Context()
	var s *lang.Session
	var inside func() error
	var got error
	cfg := lang.Config{
		Funcs: []*lang.Func{lang.Must(lang.NewFunc("back() -> int", func(context.Context, []any) (any, error) { got = inside(); return 2, nil }))},
		Codelets: []*lang.Codelet{lang.Must(lang.NewCodelet("within(x: RW vector[f64])", lang.CPU(func(*lang.Task) error {
			got = inside()
			return nil
		})))},
	}
	for name, do := range map[string]func() error{
		"Eval":             func() error { _, err := s.Eval(ctx, "register x = vector[f64](1, fill = 0)"); return err },
		"Load":             func() error { _, err := s.Load(ctx, "a.spu", []byte("let k = 1")); return err },
		"Reset":            func() error { return s.Reset(false) },
		"Reset of handles": func() error { return s.Reset(true) },
		"SetDeterministic": func() error { return s.SetDeterministic(true) },
		"Close":            func() error { return s.Close() },
	} {
		for where, c := range map[string]struct{ entry, want string }{
			"function": {"for i in 0..1 { register y = vector[f64](2, fill = 1); acquire RW x as xs { xs[back()] = 5.0; xs[0] = 4.0 } }", "one at a time"},
			"kernel":   {"insert within(RW x)\nwait\nacquire RW x as xs { xs[0] = 4.0; xs[2] = 5.0 }", "inside a kernel"},
		} {
			t.Run(name+" in a "+where, func(t *testing.T) {
				rt := newRuntime(t, engine.Options{Workers: 1})
				home := []float64{1, 2, 3}
				var out bytes.Buffer
				s = lang.Must(lang.NewCompiler(cfg)).NewSession(rt, lang.Stdout(&out), lang.Bind("x", lang.VectorOf(home)))
				inside, got = do, nil
				for _, e := range []string{"let k = 7", c.entry, "print(x, k)"} {
					if _, err := s.Eval(ctx, e); err != nil {
						t.Errorf("%s: %v", e, err)
					}
				}
				wantErr(t, got, c.want)
				if want := "vector[f64] 3: 4.0 2.0 5.0 7\n"; out.String() != want {
					t.Errorf("printed %q, want %q", out.String(), want)
				}
				if err := s.Close(); err != nil || home[0] != 4 {
					t.Errorf("at the end %v, %v", err, home)
				}
				again := lang.Must(lang.NewCompiler(cfg)).NewSession(rt, lang.Bind("x", lang.VectorOf(home))) // the memory is not bound any more
				if _, err := again.Eval(ctx, "x"); err != nil {
					t.Error(err)
				}
				if err := again.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A nil context never ends, also where something fails.
func TestSessionNilContext(t *testing.T) {
	var none context.Context
	s := newSession(t, failingConfig(), newRuntime(t, engine.Options{Workers: 1}))
	_, err := s.Eval(none, "assert false")
	wantErr(t, err, "R0102")
	if _, err := s.Eval(none, "register x = variable[f64](fill = 0)\ninsert fail(RW x)"); err != nil {
		t.Error(err)
	}
	wantErr(t, s.Wait(none), "bad luck")
}

func failingConfig() lang.Config {
	return lang.Config{Codelets: []*lang.Codelet{lang.Must(lang.NewCodelet("fail(x: RW variable[f64])",
		lang.CPUFunc(func(*float64) error { return errors.New("bad luck") })))}}
}

// TestSetDeterministicAfterFailure: failures that were not reported yet are not lost when
// the session changes its mode.
func TestSetDeterministicAfterFailure(t *testing.T) {
	s := newSession(t, failingConfig(), newRuntime(t, engine.Options{Workers: 1}), lang.Stdout(io.Discard))
	if _, err := s.Eval(t.Context(), "register x = variable[f64](fill = 0)\ninsert fail(RW x)"); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(true); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.SetDeterministic(true), "bad luck")
	if err := s.SetDeterministic(true); err != nil {
		t.Error(err)
	}
}

// A function means the data that had the name when it was declared: that this one has
// ended is not the fault of its statement.
func TestSessionFunctionOfEndedData(t *testing.T) {
	s := newSession(t, lang.Config{}, newRuntime(t, engine.Options{Workers: 1}), lang.Stdout(io.Discard))
	for _, e := range []string{"register x = vector[f64](2, fill = 1)", "func show() { print(x) }", "show()", "register x = vector[f64](3, fill = 2)"} {
		if _, err := s.Eval(t.Context(), e); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
	}
	_, err := s.Eval(t.Context(), "show()")
	wantErr(t, err, "E0205", "<entry 2>:1:21", "this `x` ended when it was declared again")
	var d *lang.Diagnostic
	if !errors.As(err, &d) || len(d.Help) != 1 || d.Help[0] != "it means that of entry 1: declare what uses it here again" {
		t.Errorf("%+v", d)
	}
}
