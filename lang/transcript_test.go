package lang_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang"
)

// A saved session, run as a script, prints what its entries gave.
func TestSessionScript(t *testing.T) {
	entries := []string{
		"let x = 1", "x + 1", "_ * 10", "let y = x", "let x = x + 0.5", "x  # the new one", `f"{x} and {y}"`,
		"func twice(n: int) -> int { return 2 * n }", "twice(y)", "func twice(n: float) -> float { return 2.0 * n }", "twice(x)",
		"codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }",
		"register v = vector[f64](4, fill = 0)", "partition v by blocks(2)", "insert inc(RW v[0])", "v",
		"register v = vector[f64](2, fill = 5)",
		"codelet inc(v: RW vector[f64]) { each i in v { v[i] += 10.0 } }",
		"for x in 0..2 { insert inc(RW v) with priority = x }", "v", "_", "print(v, x)", "v.n",
		`import "m.spu"`, "m.k", `import "m.spu" as m`, "m.sq(m.k)",
		"acquire R v as a { print(a[0]) }", "nothing", "let x = [x, 1.0]", "x[0]; x[1]",
	}
	rt := newRuntime(t, machines()[0].opt)
	cfg := testConfig(t, map[string]string{"m.spu": "let k = 3\nfunc sq(x: int) -> int { return x * x }\n"})
	var said bytes.Buffer
	s := newSession(t, cfg, rt, lang.Stdout(&said))
	ran := 0
	for _, e := range entries {
		res, err := s.Eval(context.Background(), e)
		if err != nil {
			if e != "nothing" {
				t.Fatalf("%s: %v", e, err)
			}
			continue
		}
		ran++
		if res.Value != "" {
			said.WriteString(strings.TrimSuffix(res.Value, "\n") + "\n")
		}
	}
	text, n := s.Script()
	if n != ran {
		t.Errorf("%d entries, want %d", n, ran)
	}
	var printed bytes.Buffer
	inst, err := compile(t, cfg, text).Run(context.Background(), rt, lang.Stdout(&printed))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := inst.Close(); err != nil {
		t.Error(err)
	}
	if printed.String() != said.String() {
		t.Errorf("the script\n%sprints\n%swant\n%s", text, printed.String(), said.String())
	}
	if out, err := lang.Format("saved.spu", []byte(text)); err != nil || string(out) != text {
		t.Errorf("not in canonical layout (%v):\n%s", err, text)
	}
}

// Entries that are repeated, as those that are measured are, stand in a loop, unless they
// declare something; the script does what the session did.
func TestSessionScriptRepeats(t *testing.T) {
	cfg := testConfig(t, nil)
	for _, c := range []struct {
		entry string
		times int
		want  string
	}{
		{"insert inc(RW v)", 2, "insert inc(RW v)\ninsert inc(RW v)\n"},
		{"insert inc(RW v)", 11, "# 11 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..11 {\n    insert inc(RW v)\n}\n"},
		{"for b in 0..2 { insert inc(RW v) }", 3, "# 3 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..3 {\n    for b in 0..2 { insert inc(RW v) }\n}\n"},
		{"n * 2 + len([1])", 11, "# 11 times in a row at the prompt, where :bench runs a statement 11 times and shows no value:\n# n * 2 + len([1])\n"},
		{"twice(n)", 11, "# 11 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..11 {\n    twice(n)\n}\n"},
		{"let a = 1", 3, "let a_1 = 1\nlet a_2 = 1\nlet a = 1\n"},
		{"n += 1; print(n)", 4, "# 4 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..4 {\n    n += 1\n    print(n)\n}\n"},
		{"unregister v; register v = vector[f64](4, fill = 1)", 3, ""},
	} {
		rt := newRuntime(t, machines()[0].opt)
		var said, printed bytes.Buffer
		s := newSession(t, cfg, rt, lang.Stdout(&said))
		entries := []string{"codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }", "register v = vector[f64](4, fill = 0)", "let n = 0", "func twice(k: int) -> int { insert inc(RW v); return 2 * k }"}
		for range c.times {
			entries = append(entries, c.entry)
		}
		for _, e := range append(entries, "acquire R v as a { print(a[0]) }", "print(n)") {
			if _, err := s.Eval(t.Context(), e); err != nil {
				t.Fatalf("%s: %v", e, err)
			}
		}
		text, n := s.Script()
		if !strings.Contains(text, c.want) || n != len(entries)+2 {
			t.Errorf("%d entries, want %q in\n%s", n, c.want, text)
		}
		inst, err := compile(t, cfg, text).Run(t.Context(), rt, lang.Stdout(&printed))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := inst.Close(); err != nil {
			t.Error(err)
		}
		if printed.String() != said.String() {
			t.Errorf("the script\n%sprints\n%swant\n%s", text, printed.String(), said.String())
		}
	}
}

// A script says where something was cancelled, also between entries that are the same.
func TestSessionScriptCancelled(t *testing.T) {
	s := newSession(t, testConfig(t, nil), newRuntime(t, machines()[0].opt))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for k := range 6 {
		if _, err := s.Eval(t.Context(), `f"{2}"`); err != nil {
			t.Fatal(err)
		}
		if k == 2 {
			if _, err := s.Eval(ended, "while true { }"); err == nil {
				t.Fatal("a cancelled entry ran")
			}
		}
	}
	text, n := s.Script()
	loop := "# 3 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..3 {\n    print(f\"{2}\")\n}\n"
	note := "# something was cancelled here: the session dropped tasks that run in this script, or an entry that is missing in it\n"
	if want := loop + note + loop; text != want || n != 6 {
		t.Errorf("%d entries\n%swant 6\n%s", n, text, want)
	}
}
