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
